//! From arguments of a backend or key provider to credentials and connections of AWS.

mod policies;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use yuba_net::aws::{
    AssumeRole, Aws, AwsConnection, AwsError, AwsSettings, Cryptography, FileReader, MetadataAddress, MetadataSettings,
    MetadataUse, Service, SharedFiles, Stack, WebIdentity,
};
use yuba_net::trust::Verification;
use yuba_net::{Environment, Secret};
use yuba_syntax::{Diagnostic, Diagnostics};

use crate::diagnostics;
use crate::kit::arguments::Arguments;
use crate::kit::{BackendEnvironment, Retries};
pub(crate) use policies::{arn_resource, duration, is_key_id, is_key_resource};

/// Attempts of a request without another setting.
const USUAL_ATTEMPTS: u32 = 5;
/// Attempts where `max_retries` is zero and the environment says nothing: those of the SDK.
const SDK_ATTEMPTS: u32 = 3;

/// Credentials and endpoints that arguments and environment name. It sends no request.
pub(crate) fn connect(arguments: &Arguments, environment: &BackendEnvironment) -> Result<Aws, Diagnostic> {
    let variables = &environment.variables;
    let files = Arc::clone(&environment.files);
    let read: FileReader = Arc::new(move |path: &Path| files.read(path));
    let failed = |error: AwsError| diagnostics::aws_failed(&error);
    let client = connection(arguments).client(environment.services.client(), variables, &*read).map_err(failed)?;
    let settings = settings(arguments, variables)?;
    Aws::new(settings, variables, client, read).map_err(failed)
}

/// Whether the environment names a region.
pub(crate) fn has_region(variables: &Environment) -> bool {
    ["AWS_REGION", "AWS_DEFAULT_REGION"].iter().any(|name| variables.get(name).is_some())
}

fn connection(arguments: &Arguments) -> AwsConnection {
    let text = |name: &str| arguments.text(name).map(String::from);
    AwsConnection {
        ca_bundle: text("custom_ca_bundle"),
        verification: if arguments.is_on("insecure") { Verification::Skipped } else { Verification::Full },
        http_proxy: text("http_proxy"),
        https_proxy: text("https_proxy"),
        no_proxy: text("no_proxy"),
    }
}

fn settings(arguments: &Arguments, variables: &Environment) -> Result<AwsSettings, Diagnostic> {
    let text = |name: &str| arguments.text(name).map(String::from);
    let texts = |name: &str| -> Vec<String> { arguments.texts(name).into_iter().map(String::from).collect() };
    let from_variable = |files: Vec<String>, variable: &str| match files.is_empty() {
        true => variables.get(variable).map(str::to_owned).into_iter().collect(),
        false => files,
    };
    let old: Vec<String> = text("shared_credentials_file").into_iter().collect();
    let credentials = from_variable(texts("shared_credentials_files"), "AWS_SHARED_CREDENTIALS_FILE");
    let files = SharedFiles {
        credentials: if credentials.is_empty() { old } else { credentials },
        // Quirk: the name differs from that of the SDK, which works too.
        config: from_variable(texts("shared_config_files"), "AWS_SHARED_CONFIG_FILE"),
    };
    let usage = match arguments.get("skip_metadata_api_check").as_bool() {
        None => MetadataUse::ByEnvironment,
        Some(true) => MetadataUse::Off,
        Some(false) => MetadataUse::On,
    };
    let mode = text("ec2_metadata_service_endpoint_mode").and_then(|mode| MetadataAddress::parse(&mode));
    let metadata =
        MetadataSettings { endpoint: text("ec2_metadata_service_endpoint"), address: mode.unwrap_or_default(), usage };
    Ok(AwsSettings {
        region: text("region"),
        access_key: text("access_key"),
        secret_key: arguments.secret("secret_key"),
        token: arguments.secret("token"),
        profile: text("profile"),
        files,
        roles: role(arguments).into_iter().collect(),
        web_identity: web_identity(arguments, variables)?,
        metadata,
        endpoints: endpoints(arguments, variables),
        sts_region: text("sts_region"),
        stack: if arguments.is_on("use_dualstack_endpoint") { Stack::Dual } else { Stack::Single },
        cryptography: match arguments.is_on("use_fips_endpoint") {
            true => Cryptography::Fips,
            false => Cryptography::Standard,
        },
    })
}

/// Endpoints that arguments or variables for single services name, with the variables that only OpenTofu has.
fn endpoints(arguments: &Arguments, variables: &Environment) -> BTreeMap<Service, String> {
    let nested = arguments.object("endpoints");
    let services = [
        (Service::S3, "s3", "endpoint", ["AWS_ENDPOINT_URL_S3", "AWS_S3_ENDPOINT"]),
        (Service::Iam, "iam", "iam_endpoint", ["AWS_ENDPOINT_URL_IAM", "AWS_IAM_ENDPOINT"]),
        (Service::Sts, "sts", "sts_endpoint", ["AWS_ENDPOINT_URL_STS", "AWS_STS_ENDPOINT"]),
        (Service::DynamoDb, "dynamodb", "dynamodb_endpoint", ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_DYNAMODB_ENDPOINT"]),
    ];
    let found = services.into_iter().filter_map(|(service, name, old, names)| {
        let nested = nested.as_ref().and_then(|endpoints| endpoints.text(name)).filter(|url| !url.is_empty());
        let variable = || names.iter().find_map(|name| variables.get(name)).map(str::to_owned);
        let url = nested.or_else(|| arguments.text(old)).map(String::from).or_else(variable)?;
        Some((service, url))
    });
    found.collect()
}

fn role(arguments: &Arguments) -> Option<AssumeRole> {
    let strings = |values: Vec<ecow::EcoString>| values.into_iter().map(String::from).collect();
    if let Some(role) = arguments.object("assume_role") {
        let text = |name: &str| role.text(name).map(String::from);
        return Some(AssumeRole {
            arn: text("role_arn").unwrap_or_default(),
            duration: text("duration").and_then(|text| duration(&text).ok()),
            external_id: text("external_id"),
            policy: text("policy").map(|policy| policy.trim().to_owned()),
            policy_arns: strings(role.texts("policy_arns")),
            session_name: text("session_name"),
            source_identity: None,
            tags: role.text_map("tags"),
            transitive_tags: strings(role.texts("transitive_tag_keys")),
        });
    }
    let text = |name: &str| arguments.text(name).map(String::from);
    Some(AssumeRole {
        arn: text("role_arn")?,
        duration: arguments.whole("assume_role_duration_seconds").map(std::time::Duration::from_secs),
        external_id: text("external_id"),
        policy: text("assume_role_policy"),
        policy_arns: strings(arguments.texts("assume_role_policy_arns")),
        session_name: text("session_name"),
        source_identity: None,
        tags: arguments.text_map("assume_role_tags"),
        transitive_tags: strings(arguments.texts("assume_role_transitive_tag_keys")),
    })
}

fn web_identity(arguments: &Arguments, variables: &Environment) -> Result<Option<WebIdentity>, Diagnostic> {
    let Some(role) = arguments.object("assume_role_with_web_identity") else { return Ok(None) };
    let text = |name: &str, variable: &str| {
        let given = role.text(name).filter(|text| !text.is_empty()).map(String::from);
        given.or_else(|| variables.get(variable).map(str::to_owned))
    };
    let token = text("web_identity_token", "AWS_WEB_IDENTITY_TOKEN").map(Secret::new);
    let token_file = text("web_identity_token_file", "AWS_WEB_IDENTITY_TOKEN_FILE");
    let Some(arn) = text("role_arn", "AWS_ROLE_ARN") else {
        let reason = "Set role_arn in \"assume_role_with_web_identity\", or the environment variable AWS_ROLE_ARN.";
        return Err(diagnostics::web_identity_incomplete(reason));
    };
    if token.is_none() && token_file.is_none() {
        let reason = "Set web_identity_token or web_identity_token_file in \"assume_role_with_web_identity\".";
        return Err(diagnostics::web_identity_incomplete(reason));
    }
    Ok(Some(WebIdentity {
        arn,
        duration: role.text("duration").and_then(|text| duration(&text).ok()),
        policy: role.text("policy").map(String::from),
        policy_arns: role.texts("policy_arns").into_iter().map(String::from).collect(),
        session_name: text("session_name", "AWS_ROLE_SESSION_NAME"),
        token,
        token_file,
    }))
}

/// Obtains credentials and, unless arguments say otherwise, checks them and their account.
pub(crate) fn check_account(arguments: &Arguments, aws: &Aws) -> Result<(), Diagnostics> {
    let failed = |error| Diagnostics::from(diagnostics::aws_failed(&error));
    let allowed = arguments.texts("allowed_account_ids");
    let forbidden = arguments.texts("forbidden_account_ids");
    let account = match arguments.is_on("skip_credentials_validation") {
        false => aws.identity().map_err(failed)?.account,
        true => {
            aws.credentials().map_err(failed)?;
            match (allowed.is_empty() && forbidden.is_empty(), arguments.is_on("skip_requesting_account_id")) {
                (false, false) => aws.account().map_err(failed)?,
                _ => String::new(),
            }
        }
    };
    let is_refused =
        forbidden.iter().any(|id| *id == account) || (!allowed.is_empty() && !allowed.iter().any(|id| *id == account));
    if is_refused { Err(diagnostics::account_refused(&account).into()) } else { Ok(()) }
}

/// Retries that arguments ask for.
pub(crate) fn retries(arguments: &Arguments, environment: &BackendEnvironment) -> Retries {
    let attempts = match arguments.whole("max_retries") {
        None => USUAL_ATTEMPTS,
        Some(0) => environment.variables.positive("AWS_MAX_ATTEMPTS").unwrap_or(SDK_ATTEMPTS),
        Some(attempts) => u32::try_from(attempts).unwrap_or(u32::MAX),
    };
    Retries { attempts, ..environment.retries }
}
