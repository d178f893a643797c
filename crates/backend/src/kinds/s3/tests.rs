//! The store against a scripted host, which speaks S3, DynamoDB and STS as far as a test needs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value as Json, json};
use yuba_net::Environment;
use yuba_testkit::{Asked, Host, Reply};

use super::store::{Consistency, Layout, S3Store};
use crate::kit::arguments::Arguments;
use crate::kit::store::StoreErrorKind::{Conflict, Lasting, Transient};
use crate::kit::store::{LockCheck, LockId, Precondition, Store, StoreError, StoreVersion, UnlockRefusal, Write};
use crate::kit::{BackendEnvironment, Retries};
use crate::lock::{LockHolder, LockRefusal};

const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

/// Arguments that reach a host, with others on top.
fn arguments(host: &Host, more: &Json) -> Json {
    let url = host.url("");
    let mut all = json!({
        "bucket": "states", "key": "dir/x.tfstate", "region": "eu-west-1", "access_key": "AKIA", "secret_key": "hidden",
        "endpoints": { "s3": url, "dynamodb": url, "sts": url, "iam": url },
        "skip_credentials_validation": true, "skip_requesting_account_id": true,
    });
    if let (Some(all), Some(more)) = (all.as_object_mut(), more.as_object()) {
        all.extend(more.clone());
    }
    all
}

fn environment(variables: &[(&str, &str)]) -> BackendEnvironment {
    let variables: Environment = variables.iter().map(|(name, value)| (*name, *value)).collect();
    let retries = Retries { attempts: 3, pause: Duration::ZERO, longest: Duration::ZERO };
    BackendEnvironment { retries, ..BackendEnvironment::new(variables, "/nonexistent") }
}

fn try_open(arguments: &Json, variables: &[(&str, &str)]) -> Result<Arc<dyn Store>, String> {
    let schema = super::schema();
    let environment = environment(variables);
    let shown = |problems: yuba_syntax::Diagnostics| {
        let texts: Vec<String> =
            problems.iter().map(|problem| format!("{}: {}", problem.summary, problem.explanation())).collect();
        texts.join("\n")
    };
    let given = Arguments::of_json(&schema, arguments);
    let problems = super::check(&given);
    if problems.has_errors() {
        return Err(shown(problems));
    }
    let resolved = given.resolved(&schema, &environment.variables).map_err(shown)?;
    super::open(&resolved, &environment).map_err(shown)
}

fn open(host: &Host, more: &Json) -> Arc<dyn Store> {
    try_open(&arguments(host, more), &[]).expect("the arguments are right")
}

fn target(asked: &Asked) -> String {
    let action = asked.header("x-amz-target").map(|target| target.rsplit('.').next().unwrap_or_default().to_owned());
    format!("{} {}", asked.method, action.unwrap_or_else(|| asked.target.clone()))
}

fn holder() -> LockHolder {
    LockHolder { id: "our-id".to_owned(), ..LockHolder::ourselves("OperationTypeApply", &Environment::default()) }
}

fn error(status: u16, code: &str) -> Reply {
    Reply { status, ..Reply::ok(format!("<Error><Code>{code}</Code><Message>said.</Message></Error>")) }
}

fn written(store: &dyn Store, precondition: Precondition<'_>) -> Result<StoreVersion, StoreError> {
    let lock = LockId("our-id".to_owned());
    store.write("default", &Write { content: b"{}\n", precondition, lock: Some(&lock) })
}

#[test]
fn states_have_the_headers_that_arguments_ask_for() {
    let host = Host::start(|asked| match asked.method.as_str() {
        "GET" => Reply::ok("{}").with("ETag", "\"one\""),
        _ => Reply::ok("").with("ETag", "\"two\""),
    });
    let tags = json!({"b": "2 x", "a": "1"});
    let store = open(&host, &json!({"encrypt": true, "sse_customer_key": KEY, "acl": "private", "state_tags": tags}));
    let stored = store.read("w s").expect("it can be read").expect("it exists");
    assert_eq!((stored.version.0.as_str(), stored.content.as_slice()), ("\"one\"", &b"{}"[..]));
    assert_eq!(written(store.as_ref(), Precondition::Version(&stored.version)), Ok(StoreVersion("\"two\"".to_owned())));
    let kms =
        open(&host, &json!({"encrypt": true, "kms_key_id": "alias/x", "skip_s3_checksum": true, "use_lockfile": true}));
    kms.lock("default", &holder()).expect("it is free");
    let asked = host.asked();
    assert_eq!(
        asked.iter().map(target).collect::<Vec<_>>(),
        ["GET /states/env%3A/w%20s/dir/x.tfstate", "PUT /states/dir/x.tfstate", "PUT /states/dir/x.tfstate.tflock"]
    );
    let header = |at: usize, name: &str| asked[at].header(name).map(str::to_owned);
    for at in [0, 1] {
        assert_eq!(header(at, "x-amz-server-side-encryption-customer-key").as_deref(), Some(KEY));
        assert_eq!(
            header(at, "x-amz-server-side-encryption-customer-key-md5").as_deref(),
            Some("cLyPS3KoaSFGi/joRB3OUQ==")
        );
    }
    for (name, value) in [
        ("if-match", "\"one\""),
        ("content-type", "application/json"),
        ("x-amz-acl", "private"),
        ("x-amz-tagging", "a=1&b=2+x"),
        ("x-amz-checksum-sha256", "yj0WO6sFU4GCciYUBWjzvvfqrBh869doeOC2Pp5EI1Y="),
        ("x-amz-sdk-checksum-algorithm", "SHA256"),
    ] {
        assert_eq!(header(1, name).as_deref(), Some(value), "{name}");
    }
    assert_eq!(header(2, "x-amz-server-side-encryption").as_deref(), Some("aws:kms"));
    assert_eq!(header(2, "x-amz-server-side-encryption-aws-kms-key-id").as_deref(), Some("alias/x"));
    assert_eq!((header(2, "if-none-match").as_deref(), header(2, "x-amz-checksum-sha256")), (Some("*"), None));
    let lock = LockHolder::from_json(asked[2].body.as_bytes()).expect("it is a lock");
    assert_eq!((lock.path.as_str(), lock.id.as_str()), ("states/dir/x.tfstate", "our-id"));
    assert!(
        asked.iter().all(|asked| asked.header("authorization").is_some_and(|header| header.contains("/eu-west-1/s3/")))
    );
}

#[test]
fn responses_are_explained() {
    for (reply, expected) in [
        (error(404, "NoSuchBucket"), "the bucket \"states\" does not exist"),
        (
            error(403, "AccessDenied"),
            "the credentials need s3:GetObject on arn:aws:s3:::states/dir/x.tfstate and s3:ListBucket",
        ),
        (error(403, "InvalidAccessKeyId"), "the access key does not exist"),
        (error(403, "SignatureDoesNotMatch"), "the secret key does not belong to the access key"),
        (error(400, "ExpiredToken"), "the session token has expired"),
        (error(403, "RequestTimeTooSkewed"), "the clock of this machine is wrong"),
        (error(301, "PermanentRedirect").with("x-amz-bucket-region", "eu-north-1"), "set region = \"eu-north-1\""),
        (error(400, "InvalidRequest"), "set encrypt and sse_customer_key"),
        (
            Reply {
                status: 400,
                ..Reply::ok("<Error><Code>AuthorizationHeaderMalformed</Code><Region>us-west-2</Region></Error>")
            },
            "set region = \"us-west-2\"",
        ),
        (error(418, "Teapot"), "Teapot (418): said"),
    ] {
        let host = Host::start(move |_| reply.clone());
        let refused = open(&host, &json!({})).read("default").expect_err("the host refuses");
        assert!(refused.reason.contains(expected) && refused.reason.starts_with("GET http://"), "{refused}");
        assert!(refused.kind == Lasting && !refused.reason.contains("hidden"), "{refused}");
    }
    let host = Host::start(|_| error(503, "SlowDown").with("Retry-After", "7"));
    let slow = open(&host, &json!({})).read("default").expect_err("the host is slow");
    assert_eq!((slow.kind, slow.retry_after), (Transient, Some(Duration::from_secs(7))));
    let host = Host::start(|_| error(404, "NoSuchKey"));
    assert_eq!(open(&host, &json!({})).read("default"), Ok(None));
    let host = Host::start(|_| Reply::ok("damaged").with("x-amz-checksum-sha256", "AAAA"));
    assert!(open(&host, &json!({})).read("default").is_err_and(|error| error.reason.contains("SHA-256")));
}

#[test]
fn a_wrong_clock_is_corrected() {
    let host = Host::start(|asked| match asked.header("x-amz-date").is_some_and(|date| date.starts_with("2035")) {
        true => Reply::ok("{}"),
        false => error(403, "RequestTimeTooSkewed").with("Date", "Wed, 18 Apr 2035 14:40:19 GMT"),
    });
    let store = open(&host, &json!({}));
    let first = store.read("default").expect_err("the clock is wrong");
    assert!(first.kind == Transient && first.reason.contains("differs from that of the server by"), "{first}");
    assert!(store.read("default").expect("the clock is adjusted").is_some());
}

#[test]
fn servers_without_conditions_are_compared_before_writing() {
    let host = Host::start(|asked| match (asked.method.as_str(), asked.header("if-match")) {
        ("PUT", Some(_)) => error(501, "NotImplemented"),
        ("PUT", None) => Reply::ok("").with("ETag", "\"two\""),
        _ => Reply::ok("").with("ETag", "\"one\""),
    });
    let store = open(&host, &json!({}));
    let one = StoreVersion("\"one\"".to_owned());
    assert_eq!(written(store.as_ref(), Precondition::Version(&one)), Ok(StoreVersion("\"two\"".to_owned())));
    let refused = written(store.as_ref(), Precondition::Version(&StoreVersion("\"zero\"".to_owned())));
    assert!(refused.is_err_and(|error| error.kind == Conflict));
    let methods: Vec<String> = host.asked().iter().map(|asked| asked.method.clone()).collect();
    assert_eq!(methods, ["PUT", "HEAD", "PUT", "HEAD"]);
}

#[test]
fn a_refused_write_is_a_conflict_unless_it_arrived() {
    for (stored, arrived) in [("{}\n", true), ("{\"other\":1}", false)] {
        let host = Host::start(move |asked| match asked.method.as_str() {
            "PUT" => error(412, "PreconditionFailed"),
            _ => Reply::ok(stored).with("ETag", "\"new\""),
        });
        let result = written(open(&host, &json!({})).as_ref(), Precondition::Absent);
        match arrived {
            true => assert_eq!(result, Ok(StoreVersion("\"new\"".to_owned()))),
            false => assert!(result.is_err_and(|error| error.kind == Conflict)),
        }
    }
}

/// A table in memory with the operations of the store, and an object for the state.
fn table_host(rows: Arc<Mutex<std::collections::BTreeMap<String, Json>>>, state: &'static str) -> Host {
    Host::start(move |asked| {
        let mut rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
        let body: Json = serde_json::from_str(&asked.body).unwrap_or_default();
        let key = body
            .pointer("/Key/LockID/S")
            .or_else(|| body.pointer("/Item/LockID/S"))
            .and_then(Json::as_str)
            .unwrap_or_default();
        let refused = || Reply {
            status: 400,
            ..Reply::json("{\"__type\":\"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException\"}")
        };
        let condition = body.get("ConditionExpression").and_then(Json::as_str);
        match target(asked).as_str() {
            "POST GetItem" if body["ConsistentRead"] != json!(true) => error(400, "the read may be outdated"),
            "POST GetItem" => {
                Reply::json(&rows.get(key).map_or_else(|| "{}".to_owned(), |row| json!({ "Item": row }).to_string()))
            }
            "POST PutItem" if condition.is_some_and(|text| text != "attribute_not_exists(LockID)") => {
                error(400, "wrong")
            }
            "POST PutItem" if condition.is_some() && rows.contains_key(key) => refused(),
            "POST PutItem" => {
                rows.insert(key.to_owned(), body["Item"].clone());
                Reply::json("{}")
            }
            "POST DeleteItem" => {
                let wanted = body.pointer("/ExpressionAttributeValues/:info");
                if wanted.is_some() && condition != Some("Info = :info") {
                    return error(400, "wrong");
                }
                if wanted.is_some() && rows.get(key).map(|row| &row["Info"]) != wanted {
                    return refused();
                }
                rows.remove(key);
                Reply::json("{}")
            }
            put if put.starts_with("PUT") => Reply::ok("").with("ETag", "\"e\""),
            _ => Reply::ok(state).with("ETag", "\"e\""),
        }
    })
}

#[test]
fn a_table_has_locks_and_digests() {
    let rows = Arc::new(Mutex::new(std::collections::BTreeMap::new()));
    let host = table_host(Arc::clone(&rows), "{}\n");
    let store = open(&host, &json!({"dynamodb_table": "locks"}));
    let id = store.lock("default", &holder()).expect("it is free").expect("it has locks");
    assert_eq!(store.check_lock("default", &id), Ok(LockCheck::Held));
    // The response to the first attempt was lost.
    assert!(store.lock("default", &holder()).is_ok());
    let other = LockHolder { id: "other".to_owned(), ..holder() };
    match store.lock("default", &other) {
        Err(LockRefusal::Held { holder: Some(present), .. }) => assert_eq!(present.id, "our-id"),
        outcome => panic!("{outcome:?}"),
    }
    assert!(matches!(store.unlock("default", &LockId("other".to_owned())), Err(UnlockRefusal::OtherLock(Some(_)))));
    assert!(written(store.as_ref(), Precondition::Absent).is_ok());
    // The MD5 of "{}\n".
    let row = |name: &str| rows.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
    assert_eq!(
        row("states/dir/x.tfstate-md5").expect("it is written")["Digest"]["S"],
        "8a80554c91d9fca8acb82f023de02f11"
    );
    assert!(store.read("default").is_ok());
    assert!(store.unlock("default", &id).is_ok());
    assert!(matches!(store.check_lock("default", &id), Ok(LockCheck::Lost(_))));
    assert!(matches!(store.unlock("default", &id), Err(UnlockRefusal::NotLocked)));
    assert!(store.delete("default").is_ok() && row("states/dir/x.tfstate-md5").is_none());
}

#[test]
fn a_digest_that_was_not_written_is_written_later() {
    for writes_again in [true, false] {
        let rows = Arc::new(Mutex::new(std::collections::BTreeMap::new()));
        let table = table_host(Arc::clone(&rows), "{}\n");
        // One digest is refused, and objects are compared with the condition of the upload.
        let (refused, present) = (std::sync::atomic::AtomicBool::new(false), Mutex::new(None::<String>));
        let objects = Host::start(move |asked| {
            let mut present = present.lock().unwrap_or_else(PoisonError::into_inner);
            let holds = match asked.header("if-match") {
                Some(etag) => present.as_deref() == Some(etag),
                None => asked.header("if-none-match") == Some("*") && present.is_none(),
            };
            if !holds {
                return error(412, "PreconditionFailed");
            }
            let etag = format!("\"e{}\"", present.as_ref().map_or(1, |_| 2));
            *present = Some(etag.clone());
            Reply::ok("").with("ETag", &etag)
        });
        let relayed = table.address();
        let dynamodb = Host::start(move |asked| {
            let is_digest = asked.body.contains("Digest");
            if is_digest && !refused.swap(true, std::sync::atomic::Ordering::SeqCst) {
                return Reply { status: 400, ..Reply::json("{\"__type\":\"x#AccessDeniedException\"}") };
            }
            let client = yuba_net::http::HttpClient::new(Default::default());
            let url = yuba_net::http::Url::parse(&format!("http://{relayed}/")).expect("it is a URL");
            let mut request = yuba_net::http::Request {
                method: yuba_net::http::Method::POST,
                body: Some(asked.bytes.clone()),
                ..yuba_net::http::Request::new(url)
            };
            request = request.with_header("x-amz-target", asked.header("x-amz-target").unwrap_or_default());
            let response = client.get(&request).expect("the table responds");
            Reply { status: response.status, ..Reply::ok(response.body) }
        });
        let endpoints = json!({ "s3": objects.url(""), "dynamodb": dynamodb.url("") });
        let store = open(&objects, &json!({ "dynamodb_table": "locks", "endpoints": endpoints }));
        let id = store.lock("default", &holder()).expect("it is free").expect("it has locks");
        let failed = written(store.as_ref(), Precondition::Absent).expect_err("the digest is refused");
        assert!(failed.kind == Lasting && failed.reason.contains("its digest"), "{failed}");
        if writes_again {
            // The caller does not know the version of the state that it has uploaded.
            assert_eq!(written(store.as_ref(), Precondition::Absent), Ok(StoreVersion("\"e2\"".to_owned())));
            let known = StoreVersion("\"e2\"".to_owned());
            assert!(written(store.as_ref(), Precondition::Version(&known)).is_ok());
        }
        store.unlock("default", &id).expect("it is ours");
        let rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
        let digest = rows.get("states/dir/x.tfstate-md5").map(|row| row["Digest"]["S"].clone());
        assert_eq!(digest, Some(json!("8a80554c91d9fca8acb82f023de02f11")), "{writes_again}");
    }
}

#[test]
fn an_endpoint_with_a_password_is_shown_without_it() {
    let endpoints = json!({ "s3": "http://ann:hush@h.example:9/p" });
    let host = Host::start(|_| Reply::status(404));
    let store = open(&host, &json!({ "endpoints": endpoints }));
    assert_eq!(store.describe("default"), "s3://states/dir/x.tfstate at http://h.example:9/p");
}

#[test]
fn a_state_that_does_not_match_its_digest_is_an_error() {
    let digest = json!({"LockID": {"S": "x"}, "Digest": {"S": "0123456789abcdef0123456789abcdef"}});
    let rows = std::collections::BTreeMap::from([("states/dir/x.tfstate-md5".to_owned(), digest)]);
    let host = table_host(Arc::new(Mutex::new(rows)), "{}\n");
    let settings = yuba_net::aws::AwsSettings {
        access_key: Some("AKIA".to_owned()),
        secret_key: Some(yuba_net::Secret::new("s")),
        endpoints: [(yuba_net::aws::Service::S3, host.url("")), (yuba_net::aws::Service::DynamoDb, host.url(""))]
            .into(),
        ..Default::default()
    };
    let client = yuba_net::http::HttpClient::new(Default::default());
    let aws =
        yuba_net::aws::Aws::new(settings, &Environment::default(), client, Arc::new(|path: &_| std::fs::read(path)));
    let aws = aws.expect("credentials are arguments");
    let bucket = yuba_net::aws::Bucket::new(&aws, "states", Default::default()).expect("it is a bucket");
    let objects = super::object::Objects {
        aws: aws.clone(),
        bucket,
        encryption: super::object::Encryption::Bucket,
        acl: None,
        checksums: super::object::Checksums::Sha256,
    };
    let layout = Layout {
        key: "dir/x.tfstate".to_owned(),
        prefix: "env:".to_owned(),
        has_lock_objects: false,
        state_tags: Default::default(),
        lock_tags: Default::default(),
    };
    let short = Consistency { patience: Duration::from_secs(5), pause: Duration::from_millis(10) };
    let table = super::table::Table { aws, name: "locks".to_owned() };
    let store = S3Store::new(objects, Some(table), layout, Retries::default(), short);
    let refused = store.read("default").expect_err("it does not match");
    assert!(refused.kind == Lasting && host.asked().len() >= 4, "{refused}");
    for part in ["8a80554c91d9fca8acb82f023de02f11", "0123456789abcdef0123456789abcdef", "\"states/dir/x.tfstate-md5\""]
    {
        assert!(refused.reason.contains(part), "{refused}");
    }
}

#[test]
fn both_locks_share_an_id_and_are_released_together() {
    let host = Host::start(|asked| match target(asked).as_str() {
        "POST PutItem" => Reply { status: 400, ..Reply::json("{\"__type\":\"x#ConditionalCheckFailedException\"}") },
        "POST GetItem" => Reply::json("{\"Item\":{\"Info\":{\"S\":\"garbage <\"}}}"),
        "GET /states/dir/x.tfstate.tflock" => Reply::ok("{\"ID\":\"our-id\"}"),
        _ => Reply::ok(""),
    });
    let store = open(&host, &json!({"dynamodb_table": "locks", "use_lockfile": true}));
    match store.lock("default", &holder()) {
        Err(LockRefusal::Held { holder: Some(present), .. }) => {
            assert!(
                present.id.is_empty() && present.info.contains("9 bytes that are not lock JSON: garbage <"),
                "{}",
                present.info
            );
        }
        outcome => panic!("{outcome:?}"),
    }
    let targets: Vec<String> = host.asked().iter().map(target).collect();
    let lock = "/states/dir/x.tfstate.tflock";
    assert_eq!(
        targets,
        [
            format!("PUT {lock}"),
            "POST PutItem".to_owned(),
            "POST GetItem".to_owned(),
            format!("GET {lock}"),
            format!("DELETE {lock}")
        ]
    );
}

#[test]
fn workspaces_are_listed_page_by_page() {
    let host = Host::start(|asked| {
        let contents =
            |keys: &[&str]| keys.iter().map(|key| format!("<Contents><Key>{key}</Key></Contents>")).collect::<String>();
        match asked.target.contains("continuation-token=next%2F1") {
            false => Reply::ok(format!(
                "<ListBucketResult>{}<IsTruncated>true</IsTruncated><NextContinuationToken>next/1</NextContinuationToken></ListBucketResult>",
                contents(&[
                    "p/b/dir/x.tfstate",
                    "p/b/dir/x.tfstate.tflock",
                    "p/other/dir/y.tfstate",
                    "p/dir/x.tfstate"
                ])
            )),
            true => Reply::ok(format!(
                "<ListBucketResult>{}<IsTruncated>false</IsTruncated></ListBucketResult>",
                contents(&["p/a &amp; b/dir/x.tfstate"])
            )),
        }
    });
    let store = open(&host, &json!({"workspace_key_prefix": "p"}));
    assert_eq!(store.workspaces(), Ok(vec!["b".to_owned(), "a & b".to_owned()]));
    assert_eq!(host.asked()[0].target, "/states/?list-type=2&max-keys=1000&prefix=p%2F");
    let denied = Host::start(|_| error(403, "AccessDenied"));
    assert_eq!(open(&denied, &json!({})).workspaces(), Ok(Vec::new()));
    assert_eq!(
        open(&denied, &json!({})).describe("w"),
        format!("s3://states/env:/w/dir/x.tfstate at {}", denied.url(""))
    );
    assert!(
        open(&denied, &json!({"workspace_key_prefix": ""})).describe("w").starts_with("s3://states/w/dir/x.tfstate")
    );
}

#[test]
fn arguments_are_checked_with_the_titles_of_opentofu() {
    let host = Host::start(|asked| match asked.body.contains("GetCallerIdentity") {
        true => Reply::ok("<R><Arn>arn:aws:iam::123:user/x</Arn></R>"),
        false => error(403, "AccessDenied"),
    });
    let validated = json!({"skip_credentials_validation": false});
    for (more, expected) in [
        (json!({"bucket": ""}), "Invalid bucket value"),
        (json!({"key": "/x"}), "Invalid key value"),
        (json!({"key": "a/../b"}), ""),
        (json!({"region": "mars-1"}), "Invalid region value"),
        (json!({"region": "mars-1", "skip_region_validation": true}), ""),
        (json!({"region": null}), "Missing region value"),
        (json!({"kms_key_id": "x"}), "Invalid KMS Key ID"),
        (json!({"kms_key_id": "arn:aws:s3:::x"}), "Invalid KMS Key ARN"),
        (json!({"kms_key_id": "alias/x", "sse_customer_key": KEY}), "Invalid encryption configuration"),
        (json!({"sse_customer_key": "short"}), "Invalid sse_customer_key value"),
        (json!({"workspace_key_prefix": "/x"}), "Invalid workspace_key_prefix value"),
        (json!({"endpoint": "http://x"}), "Invalid Attribute Combination"),
        (json!({"allowed_account_ids": ["1"], "forbidden_account_ids": ["2"]}), "Invalid Attribute Combination"),
        (json!({"retry_mode": "legacy"}), "Invalid retry mode"),
        (json!({"assume_role": {"duration": "1h"}}), "Missing Required Value"),
        (json!({"assume_role": {"role_arn": "arn", "duration": "1m"}}), "Invalid Duration"),
        (json!({"assume_role": {"role_arn": "arn", "external_id": " "}}), "Invalid Value"),
        (json!({"assume_role": {"role_arn": "arn", "policy_arns": ["x"]}}), "Invalid ARN"),
        (
            json!({"assume_role": {"role_arn": "arn", "policy_arns": ["arn:aws:iam::1:role/x"]}}),
            "Invalid IAM Policy ARN",
        ),
        (json!({"assume_role": {"role_arn": "arn"}, "role_arn": "arn"}), "Conflicting Parameters"),
        (json!({"assume_role": {"role_arn": "arn:aws:iam::1:role/x"}}), "Cannot assume IAM Role"),
        (
            json!({"assume_role_with_web_identity": {"role_arn": "arn"}, "access_key": null, "secret_key": null}),
            "Assume Role With Web Identity",
        ),
        (json!({"access_key": null}), "No valid credential sources found"),
        (json!({"profile": "nope", "access_key": null, "secret_key": null}), "Invalid AWS configuration"),
        (json!({"bucket": "x--x-s3", "endpoints": null, "skip_region_validation": true}), "Invalid bucket value"),
        (validated.clone(), ""),
    ] {
        let opened = try_open(&arguments(&host, &more), &[]).map(drop);
        let said = opened.err().unwrap_or_default();
        assert_eq!(said.split(':').next().unwrap_or_default(), expected, "{more} {said}");
        assert!(!said.contains("hidden") && !said.contains(KEY), "{said}");
    }
    for (ids, is_allowed) in [
        (json!({"allowed_account_ids": ["123"]}), true),
        (json!({"forbidden_account_ids": ["123"]}), false),
        (json!({"allowed_account_ids": ["9"]}), false),
    ] {
        let mut more = validated.clone();
        more.as_object_mut().expect("it is an object").extend(ids.as_object().expect("it is an object").clone());
        let opened = try_open(&arguments(&host, &more), &[]).map(drop);
        assert_eq!(opened.is_ok(), is_allowed, "{opened:?}");
        assert!(is_allowed || opened.is_err_and(|said| said.starts_with("Invalid account ID")));
    }
    let warned = super::check(&Arguments::of_json(
        &super::schema(),
        &json!({"role_arn": "x", "force_path_style": true, "shared_credentials_file": "f"}),
    ));
    let titles: Vec<String> = warned.iter().map(|warning| warning.summary.to_string()).collect();
    assert_eq!(titles, ["Deprecated Parameter", "Deprecated Parameter", "Deprecated Parameters"]);
    let key = [("AWS_SSE_CUSTOMER_KEY", "short")];
    let said = try_open(&arguments(&host, &json!({})), &key).map(drop).expect_err("it is too short");
    assert!(said.starts_with("Invalid AWS_SSE_CUSTOMER_KEY value"), "{said}");
}

#[test]
fn a_table_that_is_throttled_leaves_no_lock_object() {
    let host = Host::start(|asked| match target(asked).as_str() {
        "POST PutItem" => {
            Reply { status: 400, ..Reply::json("{\"__type\":\"x#ProvisionedThroughputExceededException\"}") }
        }
        "GET /states/dir/x.tfstate.tflock" => Reply::ok("{\"ID\":\"our-id\"}"),
        _ => Reply::ok(""),
    });
    let store = open(&host, &json!({"dynamodb_table": "locks", "use_lockfile": true}));
    let refused = store.lock("default", &holder());
    assert!(matches!(&refused, Err(LockRefusal::Store(error)) if error.kind == Transient), "{refused:?}");
    assert_eq!(target(host.asked().last().expect("requests were sent")), "DELETE /states/dir/x.tfstate.tflock");
}

#[test]
fn a_page_of_a_proxy_is_not_a_missing_state() {
    let read = |reply: Reply| open(&Host::start(move |_| reply.clone()), &json!({})).read("default");
    assert!(read(error(404, "NoSuchKey")).is_ok_and(|found| found.is_none()));
    assert!(read(Reply::status(404)).is_ok_and(|found| found.is_none()));
    assert!(read(error(404, "NoSuchBucket")).is_err_and(|error| error.kind == Lasting));
    let page = Reply { status: 404, ..Reply::ok("<html>Not found</html>").with("Content-Type", "text/html") };
    assert!(read(page).is_err_and(|error| error.kind == Lasting));
}

#[test]
fn a_listing_without_end_is_an_error() {
    let list = "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken></ListBucketResult>";
    let host = Host::start(move |_| Reply::ok(list));
    let refused = open(&host, &json!({})).workspaces().expect_err("there is always another page");
    assert!(refused.reason.contains("repeats a page"), "{refused}");
    assert_eq!(host.asked().len(), 2);
}

#[test]
fn keys_and_tokens_do_not_follow_a_redirect() {
    let other = Host::start(|_| Reply::ok("{}"));
    let target = other.url("/states/dir/x.tfstate");
    let host = Host::start(move |_| Reply::status(307).with("Location", &target));
    let store = open(&host, &json!({"encrypt": true, "sse_customer_key": KEY, "token": "session"}));
    assert!(store.read("default").is_err_and(|error| error.kind == Lasting));
    assert!(written(store.as_ref(), Precondition::Absent).is_err());
    assert!(other.asked().is_empty(), "{:?}", other.asked());
    assert!(host.asked().iter().all(|asked| asked.header("x-amz-security-token") == Some("session")));
}

#[test]
fn an_unknown_authority_is_explained_with_the_arguments_of_the_backend() {
    let host = Host::start(|_| Reply::ok("{}"));
    let address = host.address();
    let tunnel = yuba_testkit::Tunnel::start(move |_| Some(yuba_testkit::Route::Plain(address)));
    let arguments = json!({ "endpoints": { "s3": "https://s3.example" }, "https_proxy": tunnel.url() });
    let refused = open(&host, &arguments).read("default").expect_err("the authority of the proxy is unknown");
    assert!(refused.reason.contains("set custom_ca_bundle or AWS_CA_BUNDLE to a file"), "{refused}");
}

#[test]
fn a_lock_object_of_another_process_is_neither_ours_nor_removed() {
    let host = Host::start(|_| Reply::ok("{\"ID\":\"other\",\"Who\":\"ann@h\"}"));
    let store = open(&host, &json!({"use_lockfile": true}));
    let id = LockId("our-id".to_owned());
    let refused = store.unlock("default", &id);
    assert!(matches!(&refused, Err(UnlockRefusal::OtherLock(Some(present))) if present.id == "other"), "{refused:?}");
    let check = store.check_lock("default", &id);
    assert!(matches!(&check, Ok(LockCheck::Lost(reason)) if reason.contains("ann@h (other)")), "{check:?}");
    assert!(host.asked().iter().all(|asked| asked.method == "GET"), "nothing is deleted");
}
