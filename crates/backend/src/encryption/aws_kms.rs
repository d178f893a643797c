//! Key provider `aws_kms`: data keys of AWS KMS.

use std::fmt;
use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value as Json, json};
use yuba_net::aws::{Aws, AwsFailure, Partition, Service};
use yuba_net::http::{Method, Request, Url};
use yuba_provider::{Attribute, BlockSchema, NestedBlock, Nesting};
use yuba_value::Type;

use super::services::{DataKey, KeyService, KeyServiceKind};
use crate::aws;
use crate::kit::arguments::{Argument, ArgumentSchema, Arguments};
use crate::kit::requests::respond;
use crate::kit::store::StoreErrorKind;
use crate::kit::{BackendEnvironment, Retries};

/// The row of this service.
pub(super) const AWS_KMS: KeyServiceKind = KeyServiceKind { name: "aws_kms", schema, open };

/// Kinds of data keys that KMS creates.
const KEY_SPECS: [&str; 2] = ["AES_256", "AES_128"];

fn schema() -> ArgumentSchema {
    let text = |name| Argument::optional(name, Type::string());
    let texts = |name| Argument::optional(name, Type::list(Type::string()));
    let switch = |name| Argument::optional(name, Type::bool());
    let shared = crate::kinds::s3_roles().into_iter();
    let own = [
        Argument::required("kms_key_id", Type::string()),
        Argument::required("key_spec", Type::string()),
        text("access_key").secret(),
        text("secret_key").secret(),
        text("token").secret(),
        text("profile"),
        text("region"),
        text("sts_region"),
        Argument::optional("max_retries", Type::number()),
        text("retry_mode"),
        switch("skip_credentials_validation"),
        switch("skip_requesting_account_id"),
        switch("skip_metadata_api_check"),
        text("http_proxy").or_empty(),
        text("https_proxy").or_empty(),
        text("no_proxy"),
        switch("insecure"),
        switch("use_dualstack_endpoint"),
        switch("use_fips_endpoint"),
        text("custom_ca_bundle").from_environment(&["AWS_CA_BUNDLE"]),
        text("ec2_metadata_service_endpoint").from_environment(&["AWS_EC2_METADATA_SERVICE_ENDPOINT"]),
        text("ec2_metadata_service_endpoint_mode").from_environment(&["AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"]),
        texts("shared_credentials_files"),
        texts("shared_config_files"),
        texts("allowed_account_ids"),
        texts("forbidden_account_ids"),
    ];
    let endpoints = ["iam", "sts"].map(|name| (name, Attribute::optional(Type::string())));
    let endpoints = NestedBlock { nesting: Nesting::Single, min: 0, max: 1, block: BlockSchema::new(endpoints) };
    ArgumentSchema::new(own.into_iter().chain(shared)).with_blocks([("endpoints", endpoints)])
}

fn open(arguments: &Arguments, environment: &BackendEnvironment) -> Result<Arc<dyn KeyService>, String> {
    let text = |name: &str| arguments.text(name).map(String::from).unwrap_or_default();
    let key_spec = text("key_spec");
    if !KEY_SPECS.contains(&key_spec.as_str()) {
        return Err(format!("key_spec is \"{key_spec}\"; it can be {}", KEY_SPECS.join(" or ")));
    }
    if arguments.text("region").is_none() && !aws::has_region(&environment.variables) {
        return Err("set the argument region, or the environment variable AWS_REGION or AWS_DEFAULT_REGION".to_owned());
    }
    check(arguments)?;
    let connected = aws::connect(arguments, environment).map_err(|problem| problem.explanation().to_string())?;
    let retries = aws::retries(arguments, environment);
    let arguments = arguments.clone();
    Ok(Arc::new(AwsKms {
        aws: connected,
        key_id: text("kms_key_id"),
        key_spec,
        retries,
        arguments,
        checked: OnceLock::new(),
    }))
}

/// Errors in arguments of the right types.
fn check(arguments: &Arguments) -> Result<(), String> {
    let are_set = |names: [&str; 2]| names.iter().all(|name| !arguments.get(name).is_null());
    if are_set(["allowed_account_ids", "forbidden_account_ids"]) {
        return Err("set only one of allowed_account_ids and forbidden_account_ids".to_owned());
    }
    if let Some(mode) = arguments.text("retry_mode").filter(|mode| !matches!(mode.as_str(), "standard" | "adaptive")) {
        return Err(format!("retry_mode is \"{mode}\"; it can be \"standard\" or \"adaptive\""));
    }
    let mut problems = yuba_syntax::Diagnostics::new();
    crate::kinds::check_s3_roles(arguments, &mut problems);
    match problems.iter().next() {
        Some(problem) => Err(problem.explanation().trim_end_matches('.').to_owned()),
        None => Ok(()),
    }
}

struct AwsKms {
    aws: Aws,
    key_id: String,
    key_spec: String,
    retries: Retries,
    arguments: Arguments,
    /// Whether the account of the credentials was checked, and why it cannot be used.
    checked: OnceLock<Result<(), String>>,
}

impl fmt::Debug for AwsKms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwsKms").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

impl AwsKms {
    /// Checks credentials and account, before the first key is requested.
    fn check_account(&self) -> Result<(), String> {
        let check = || {
            aws::check_account(&self.arguments, &self.aws).map_err(|problems| {
                let texts: Vec<String> = problems.iter().map(|problem| problem.explanation().to_string()).collect();
                texts.join(" ").trim_end_matches('.').to_owned()
            })
        };
        self.checked.get_or_init(check).clone()
    }

    /// Calls an operation of KMS. Failures that may pass are repeated.
    fn call(&self, operation: &'static str, body: &Json) -> Result<Json, String> {
        self.check_account()?;
        let mut failed = 0;
        loop {
            let (reason, pause) = match self.call_once(operation, body)? {
                Attempt::Done(response) => return Ok(response),
                Attempt::MayPass(reason) => {
                    failed += 1;
                    (reason, self.retries.pause_after(failed, None))
                }
            };
            if failed >= self.retries.attempts {
                return Err(reason);
            }
            std::thread::sleep(pause);
        }
    }

    fn call_once(&self, operation: &'static str, body: &Json) -> Result<Attempt, String> {
        let endpoint = self.aws.endpoint(Service::Kms);
        let name = format!("KMS {operation} at {}", endpoint.url);
        let url = Url::parse(&format!("{}/", endpoint.url))
            .map_err(|error| format!("{name}: the endpoint is not a URL: {error}"))?;
        let request = Request { method: Method::POST, body: Some(body.to_string().into_bytes()), ..Request::new(url) }
            .with_header("content-type", "application/x-amz-json-1.1")
            .with_header("x-amz-target", format!("TrentService.{operation}"));
        let request = self.aws.sign(request, Service::Kms).map_err(|error| format!("{name}: {error}"))?;
        let response = match respond(self.aws.client(), request) {
            Ok(response) => response,
            Err(error) if error.kind == StoreErrorKind::Transient => {
                return Ok(Attempt::MayPass(format!("{name}: {error}")));
            }
            Err(error) => return Err(format!("{name}: {error}")),
        };
        if !response.is_success() {
            let failure = AwsFailure::of(&response);
            let is_adjusted = failure.is_about_clocks() && self.aws.adjust_clock(&response);
            let advice = self.advice(&failure, operation).or_else(|| failure.advice(&response));
            let advice = advice.map(|advice| format!("; {advice}")).unwrap_or_default();
            let reason = format!("{name}: {}{advice}", failure.shown(&response));
            return match response.may_pass() || failure.may_pass() || is_adjusted {
                true => Ok(Attempt::MayPass(reason)),
                false => Err(reason),
            };
        }
        let json = serde_json::from_slice(&response.body).map_err(|_| format!("{name}: the response is not JSON"))?;
        Ok(Attempt::Done(json))
    }

    fn advice(&self, failure: &AwsFailure, operation: &str) -> Option<String> {
        let key = &self.key_id;
        Some(match failure.code.as_str() {
            "NotFoundException" => {
                let region = self.aws.region().unwrap_or_default();
                format!("the key \"{key}\" does not exist in the region {region}; check kms_key_id and region")
            }
            "AccessDeniedException" => {
                let partition = Partition::of_region(self.aws.region().unwrap_or_default()).id;
                format!("the credentials need kms:{operation} on the key \"{key}\" (partition {partition})")
            }
            "DisabledException" | "KMSInvalidStateException" => format!("the key \"{key}\" is not enabled"),
            "IncorrectKeyException" => format!("the data was encrypted with another key than \"{key}\""),
            "InvalidCiphertextException" => "the stored data key is damaged or belongs to another key".to_owned(),
            _ => return None,
        })
    }
}

/// The end of one request.
enum Attempt {
    Done(Json),
    MayPass(String),
}

fn bytes(response: &Json, name: &str) -> Result<Vec<u8>, String> {
    let text = response.get(name).and_then(Json::as_str);
    let decoded = text.and_then(|text| BASE64.decode(text).ok()).filter(|bytes| !bytes.is_empty());
    decoded.ok_or_else(|| format!("the response of KMS has no {name}"))
}

impl KeyService for AwsKms {
    fn new_key(&self) -> Result<DataKey, String> {
        let response = self.call("GenerateDataKey", &json!({"KeyId": self.key_id, "KeySpec": self.key_spec}))?;
        let (key, blob) = (bytes(&response, "Plaintext")?, bytes(&response, "CiphertextBlob")?);
        let metadata = json!({ "ciphertext_blob": BASE64.encode(blob) }).to_string().into_bytes();
        Ok(DataKey { key, metadata })
    }

    fn known_key(&self, metadata: &[u8]) -> Result<Vec<u8>, String> {
        let stored: Json = serde_json::from_slice(metadata).unwrap_or_default();
        let blob = stored.get("ciphertext_blob").and_then(Json::as_str).filter(|blob| !blob.is_empty());
        let blob = blob.ok_or("the metadata of the encrypted data has no ciphertext_blob")?;
        let response = self.call("Decrypt", &json!({"KeyId": self.key_id, "CiphertextBlob": blob}))?;
        bytes(&response, "Plaintext")
    }
}

#[cfg(test)]
mod tests {
    use yuba_net::Environment;
    use yuba_testkit::{Host, Reply};

    use super::*;

    fn opened(host: &Host, more: &Json) -> Result<Arc<dyn KeyService>, String> {
        let mut all = json!({"kms_key_id": "alias/x", "key_spec": "AES_256", "region": "us-east-1", "access_key": "A",
            "secret_key": "hidden", "skip_credentials_validation": true, "endpoints": {"sts": host.url("")}});
        all.as_object_mut().expect("it is an object").extend(more.as_object().expect("it is an object").clone());
        let variables: Environment = [("AWS_ENDPOINT_URL_KMS", host.url(""))].into_iter().collect();
        let retries = Retries { attempts: 3, pause: std::time::Duration::ZERO, longest: std::time::Duration::ZERO };
        let environment = BackendEnvironment { retries, ..BackendEnvironment::new(variables, "/nonexistent") };
        let schema = schema();
        let arguments = Arguments::of_json(&schema, &all).resolved(&schema, &environment.variables);
        open(&arguments.expect("no variable is wrong"), &environment)
    }

    #[test]
    fn data_keys_are_created_and_decrypted() {
        let host = Host::start(|asked| match asked.header("x-amz-target") {
            Some("TrentService.GenerateDataKey") if asked.body == r#"{"KeyId":"alias/x","KeySpec":"AES_256"}"# => {
                Reply::json(r#"{"Plaintext":"a2V5","CiphertextBlob":"YmxvYg=="}"#)
            }
            Some("TrentService.Decrypt") if asked.body == r#"{"CiphertextBlob":"YmxvYg==","KeyId":"alias/x"}"# => {
                Reply::json(r#"{"Plaintext":"a2V5"}"#)
            }
            _ => Reply::status(400),
        });
        let service = opened(&host, &json!({})).expect("the arguments are right");
        let key = service.new_key().expect("the host responds");
        assert_eq!(
            (key.key.as_slice(), key.metadata.as_slice()),
            (&b"key"[..], &br#"{"ciphertext_blob":"YmxvYg=="}"#[..])
        );
        assert_eq!(service.known_key(&key.metadata).as_deref(), Ok(&b"key"[..]));
        assert!(service.known_key(b"{}").is_err_and(|reason| reason.contains("no ciphertext_blob")));
        let signed = host
            .asked()
            .iter()
            .all(|asked| asked.header("authorization").is_some_and(|header| header.contains("/us-east-1/kms/")));
        assert!(signed);
    }

    #[test]
    fn refusals_are_explained_and_wrong_arguments_refused() {
        let host = Host::start(|_| Reply {
            status: 400,
            ..Reply::json(r#"{"__type":"NotFoundException","message":"no key."}"#)
        });
        let reason = opened(&host, &json!({}))
            .expect("the arguments are right")
            .new_key()
            .map(drop)
            .expect_err("it does not exist");
        assert!(
            reason.contains(
                "NotFoundException (400): no key; the key \"alias/x\" does not exist in the region us-east-1"
            ),
            "{reason}"
        );
        assert!(!reason.contains("hidden") && host.asked().len() == 1, "{reason}");
        let host = Host::start(|_| Reply { status: 400, ..Reply::json(r#"{"__type":"ThrottlingException"}"#) });
        assert!(opened(&host, &json!({"max_retries": 2})).expect("the arguments are right").new_key().is_err());
        assert_eq!(host.asked().len(), 2);
        for (more, expected) in [
            (json!({"key_spec": "RSA"}), "AES_256 or AES_128"),
            (json!({"region": null}), "AWS_REGION"),
            (json!({"retry_mode": "x"}), "standard"),
            (json!({"assume_role": {"role_arn": "arn", "duration": "1m"}}), "between 15m and 12h"),
            (json!({"allowed_account_ids": ["1"], "forbidden_account_ids": ["2"]}), "only one of"),
        ] {
            let reason = opened(&host, &more).map(drop).expect_err("it is wrong");
            assert!(reason.contains(expected), "{more} {reason}");
        }
        let host = Host::start(|_| Reply::ok("<R><Arn>arn:aws:iam::123:user/x</Arn></R>"));
        let other = opened(&host, &json!({"skip_credentials_validation": false, "allowed_account_ids": ["9"]}));
        assert!(other.expect("the arguments are right").new_key().is_err_and(|reason| reason.contains("\"123\"")));
    }
}
