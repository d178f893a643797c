//! The store against a bucket that follows the published API: conditions, encryption headers, pages and refusals.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};
use yuba_net::Environment;
use yuba_net::http::Url;
use yuba_testkit::{Asked, Host, Reply};

use super::{clean, open, schema};
use crate::diagnostics;
use crate::kit::BackendEnvironment;
use crate::kit::arguments::Arguments;
use crate::kit::store::{LockCheck, LockId, Precondition, Store, StoreErrorKind, StoreVersion, UnlockRefusal, Write};
use crate::lock::{LockHolder, LockRefusal};

const KEY: [u8; 32] = [7; 32];

fn environment(variables: &[(&str, &str)]) -> BackendEnvironment {
    let variables: Environment = variables.iter().copied().collect();
    BackendEnvironment::new(variables, "data")
}

fn opened(arguments: &Json, variables: &[(&str, &str)]) -> Result<Arc<dyn Store>, Vec<&'static str>> {
    let environment = environment(variables);
    let resolved = Arguments::of_json(&schema(), arguments).resolved(&schema(), &environment.variables);
    let resolved = resolved.expect("all arguments are strings");
    open(&resolved, &environment).map_err(|problems| problems.iter().map(|problem| problem.code.id).collect())
}

fn store(host: &Host, more: &Json) -> Arc<dyn Store> {
    let mut arguments = json!({
        "bucket": "b", "prefix": "/env/", "access_token": "hush", "storage_custom_endpoint": host.url("/storage/v1/"),
    });
    for (name, value) in more.as_object().expect("it is an object") {
        arguments[name] = value.clone();
    }
    opened(&arguments, &[]).expect("the arguments are right")
}

fn query(asked: &Asked) -> BTreeMap<String, String> {
    let url = Url::parse(&format!("http://h{}", asked.target)).expect("it is a path");
    url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

fn refusal(status: u16, reason: &str, message: &str) -> Reply {
    let error = json!({ "code": status, "message": message, "errors": [{ "reason": reason, "message": message }] });
    Reply { status, ..Reply::json(&json!({ "error": error }).to_string()) }
}

/// A bucket: objects with their generations and keys.
#[derive(Default)]
struct Bucket {
    objects: BTreeMap<String, (u64, String, Option<String>)>,
    generation: u64,
    /// The response to the next upload is lost.
    loses_response: bool,
}

impl Bucket {
    fn answer(&mut self, asked: &Asked) -> Reply {
        if asked.header("authorization") != Some("Bearer hush") {
            return refusal(401, "authError", "Invalid Credentials");
        }
        let query = query(asked);
        let sha256 = asked.header("x-goog-encryption-key-sha256").map(str::to_owned);
        let is_key_complete = asked.header("x-goog-encryption-algorithm") == Some("AES256")
            && asked.header("x-goog-encryption-key") == Some(BASE64.encode(KEY).as_str())
            && sha256.as_deref() == Some(BASE64.encode(Sha256::digest(KEY)).as_str());
        if sha256.is_some() && !is_key_complete {
            return refusal(400, "customerEncryptionKeyIsIncorrect", "The key is wrong.");
        }
        let path = asked.path().replace("%2F", "/").replace("%20", " ");
        if asked.method == "POST" && path == "/upload/storage/v1/b/b/o" {
            return self.upload(asked, &query, sha256);
        }
        let Some(name) = path.strip_prefix("/storage/v1/b/b/o/") else {
            return match path == "/storage/v1/b/b/o" && asked.method == "GET" {
                true => self.list(&query),
                false => refusal(404, "notFound", "The specified bucket does not exist."),
            };
        };
        let Some((generation, content, key)) = self.objects.get(name) else {
            return refusal(404, "notFound", &format!("No such object: b/{name}"));
        };
        let is_media = query.get("alt").map(String::as_str) == Some("media");
        match asked.method.as_str() {
            "GET" if is_media && *key != sha256 => {
                refusal(400, "resourceIsEncryptedWithCustomerEncryptionKey", "The object is encrypted.")
            }
            "GET" if is_media => Reply::ok(content.clone()).with("X-Goog-Generation", &generation.to_string()),
            "GET" => Reply::json(&json!({ "generation": generation.to_string() }).to_string()),
            "DELETE" if query.get("ifGenerationMatch").is_some_and(|wanted| *wanted != generation.to_string()) => {
                refusal(412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.")
            }
            "DELETE" => {
                self.objects.remove(name);
                Reply::status(204)
            }
            _ => Reply::status(405),
        }
    }

    fn upload(&mut self, asked: &Asked, query: &BTreeMap<String, String>, key: Option<String>) -> Reply {
        let (Some(name), Some(wanted)) = (query.get("name"), query.get("ifGenerationMatch")) else {
            return refusal(400, "required", "The request has no name or no condition.");
        };
        let is_expected = query.get("uploadType").map(String::as_str) == Some("media")
            && asked.header("content-type") == Some("text/plain; charset=utf-8");
        let present = self.objects.get(name).map_or(0, |(generation, ..)| *generation);
        if !is_expected {
            return refusal(400, "invalid", "The upload is of another type.");
        }
        if present.to_string() != *wanted {
            return refusal(412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.");
        }
        self.generation += 1000;
        let kms = query.get("kmsKeyName").map(|key| format!("kms:{key}"));
        let shown = kms.clone().map_or_else(|| asked.body.clone(), |kms| format!("{kms} {}", asked.body));
        self.objects.insert(name.clone(), (self.generation, shown, key));
        match std::mem::take(&mut self.loses_response) {
            true => Reply::status(503),
            false => Reply::json(&json!({ "generation": self.generation.to_string() }).to_string()),
        }
    }

    /// Pages of two objects.
    fn list(&self, query: &BTreeMap<String, String>) -> Reply {
        let prefix = query.get("prefix").map(String::as_str).unwrap_or_default();
        let below = |name: &&String| name.strip_prefix(prefix).is_some_and(|rest| !rest.contains('/'));
        let names: Vec<&String> = self.objects.keys().filter(below).collect();
        let start: usize = query.get("pageToken").and_then(|token| token.parse().ok()).unwrap_or(0);
        let items: Vec<Json> = names.iter().skip(start).take(2).map(|name| json!({ "name": name })).collect();
        let mut listing = json!({ "items": items });
        if names.len() > start + 2 {
            listing["nextPageToken"] = json!((start + 2).to_string());
        }
        Reply::json(&listing.to_string())
    }
}

fn bucket() -> (Arc<Mutex<Bucket>>, Host) {
    let bucket = Arc::new(Mutex::new(Bucket::default()));
    let shared = Arc::clone(&bucket);
    (bucket, Host::start(move |asked| shared.lock().unwrap_or_else(PoisonError::into_inner).answer(asked)))
}

fn put(
    store: &dyn Store,
    workspace: &str,
    content: &str,
    precondition: Precondition<'_>,
) -> Result<StoreVersion, StoreErrorKind> {
    let write = Write { content: content.as_bytes(), precondition, lock: None };
    store.write(workspace, &write).map_err(|error| error.kind)
}

fn holder() -> LockHolder {
    LockHolder::ourselves("OperationTypeApply", &Environment::default())
}

#[test]
fn states_are_written_over_the_generation_that_was_read() {
    let (_, host) = bucket();
    let store = store(&host, &json!({}));
    assert_eq!(store.read("default"), Ok(None));
    let first = put(store.as_ref(), "default", "one", Precondition::Absent).expect("there is no state");
    assert_eq!(put(store.as_ref(), "default", "two", Precondition::Absent), Err(StoreErrorKind::Conflict));
    let second = put(store.as_ref(), "default", "two", Precondition::Version(&first)).expect("it is the present one");
    assert_eq!(put(store.as_ref(), "default", "three", Precondition::Version(&first)), Err(StoreErrorKind::Conflict));
    let stored = store.read("default").expect("it is readable").expect("it exists");
    assert_eq!((stored.content.as_slice(), &stored.version), (&b"two"[..], &second));
}

#[test]
fn workspaces_are_listed_over_several_pages() {
    let (bucket, host) = bucket();
    let store = store(&host, &json!({}));
    for workspace in ["default", "a", "b c", "d"] {
        assert!(put(store.as_ref(), workspace, "{}", Precondition::Absent).is_ok());
    }
    assert!(store.lock("a", &holder()).is_ok());
    for other in ["env/deeper/x.tfstate", "other/y.tfstate", "env/.tfstate", "env/notes.txt"] {
        bucket.lock().expect("no test panics").objects.insert(other.to_owned(), (1, String::new(), None));
    }
    let mut names = store.workspaces().expect("the bucket exists");
    names.sort();
    assert_eq!(names, ["a", "b c", "d", "default"]);
    assert!(store.delete("b c").is_ok() && store.delete("b c").is_ok(), "a deletion can be repeated");
    assert_eq!(store.workspaces().map(|names| names.len()), Ok(3));
}

#[test]
fn the_generation_of_the_lock_object_is_the_lock_id() {
    let (bucket, host) = bucket();
    let store = store(&host, &json!({}));
    let id = store.lock("default", &holder()).expect("it is free").expect("there are locks");
    let written = bucket.lock().expect("no test panics").objects["env/default.tflock"].1.clone();
    assert!(written.contains(r#""Path":"gs://b/env/default.tflock""#), "{written}");
    let refused = store.lock("default", &holder());
    let Err(LockRefusal::Held { holder: Some(present), .. }) = refused else { panic!("{refused:?}") };
    assert_eq!((present.id.as_str(), present.operation.as_str()), (id.0.as_str(), "OperationTypeApply"));
    assert_eq!(store.check_lock("default", &id), Ok(LockCheck::Held));
    let other = LockId("999".to_owned());
    assert!(matches!(store.unlock("default", &other), Err(UnlockRefusal::OtherLock(Some(held))) if held.id == id.0));
    assert!(matches!(store.check_lock("default", &other), Ok(LockCheck::Lost(reason)) if reason.contains(&id.0)));
    let text = store.unlock("default", &LockId("c514b178".to_owned())).expect_err("it is not a number");
    assert!(matches!(text, UnlockRefusal::Failed(error) if error.reason.contains("is a number")));
    assert!(store.unlock("default", &id).is_ok());
    assert!(matches!(store.unlock("default", &id), Err(UnlockRefusal::NotLocked)));
    assert!(matches!(store.check_lock("default", &id), Ok(LockCheck::Lost(reason)) if reason.contains("was deleted")));
}

#[test]
fn a_lock_is_deleted_on_the_condition_of_its_generation() {
    let (_, host) = bucket();
    let store = store(&host, &json!({}));
    let id = store.lock("default", &holder()).expect("it is free").expect("there are locks");
    assert!(store.unlock("default", &id).is_ok());
    let deletion = host.asked().into_iter().find(|asked| asked.method == "DELETE").expect("it is deleted");
    assert_eq!(query(&deletion).get("ifGenerationMatch"), Some(&id.0));
    // A server that ignores the condition.
    let careless = Host::start(|asked| match asked.method.as_str() {
        "GET" => Reply::ok("{\"ID\":\"theirs\"}").with("X-Goog-Generation", "7"),
        _ => Reply::status(204),
    });
    let refused = self::store(&careless, &json!({})).unlock("default", &LockId("6".to_owned()));
    assert!(matches!(&refused, Err(UnlockRefusal::OtherLock(Some(held))) if held.id == "7"), "{refused:?}");
    assert!(careless.asked().iter().all(|asked| asked.method == "GET"), "nothing is deleted");
}

#[test]
fn a_lock_whose_response_was_lost_is_ours() {
    let (bucket, host) = bucket();
    let store = store(&host, &json!({}));
    bucket.lock().expect("no test panics").loses_response = true;
    let ours = holder();
    let lost = store.lock("default", &ours);
    assert!(matches!(&lost, Err(LockRefusal::Store(error)) if error.kind == StoreErrorKind::Transient), "{lost:?}");
    let id = store.lock("default", &ours).expect("the object has our id").expect("there are locks");
    assert_eq!(id.0, "1000");
    assert!(matches!(store.lock("default", &holder()), Err(LockRefusal::Held { .. })), "another process is refused");
    assert!(store.unlock("default", &id).is_ok());
}

#[test]
fn a_lock_object_with_garbage_can_be_removed_by_its_generation() {
    let (bucket, host) = bucket();
    let store = store(&host, &json!({}));
    let garbage = (42, "<html>hello".to_owned(), None);
    bucket.lock().expect("no test panics").objects.insert("env/default.tflock".to_owned(), garbage);
    let refused = store.lock("default", &holder());
    let Err(LockRefusal::Held { holder: Some(present), .. }) = refused else { panic!("{refused:?}") };
    assert_eq!((present.id.as_str(), present.path.as_str()), ("42", "gs://b/env/default.tflock"));
    assert!(present.info.contains("unknown process") && present.info.contains("11 bytes"), "{}", present.info);
    assert!(store.unlock("default", &LockId("42".to_owned())).is_ok());
}

#[test]
fn a_supplied_key_goes_with_states_but_not_with_locks() {
    let (bucket, host) = bucket();
    let store = store(&host, &json!({ "encryption_key": BASE64.encode(KEY) }));
    assert!(put(store.as_ref(), "default", "one", Precondition::Absent).is_ok());
    let id = store.lock("default", &holder()).expect("it is free").expect("there are locks");
    let sealed = |name: &str| bucket.lock().expect("no test panics").objects[name].2.is_some();
    assert!(sealed("env/default.tfstate") && !sealed("env/default.tflock"));
    assert!(matches!(store.read("default"), Ok(Some(stored)) if stored.content == b"one"));
    assert!(store.unlock("default", &id).is_ok());
    let without = self::store(&host, &json!({}));
    let error = without.read("default").expect_err("the key is missing");
    assert!(error.reason.contains("Set \"encryption_key\" to it"), "{error}");
    assert!(!format!("{store:?}").contains(&BASE64.encode(KEY)));
}

#[test]
fn a_managed_key_is_named_by_writes_of_states() {
    let (bucket, host) = bucket();
    let name = "projects/p/locations/eu/keyRings/r/cryptoKeys/k";
    let store = store(&host, &json!({ "kms_encryption_key": name }));
    assert!(put(store.as_ref(), "default", "one", Precondition::Absent).is_ok());
    assert!(store.lock("default", &holder()).is_ok());
    let content = |name: &str| bucket.lock().expect("no test panics").objects[name].1.clone();
    assert_eq!(content("env/default.tfstate"), format!("kms:{name} one"));
    assert!(!content("env/default.tflock").starts_with("kms:"));
}

#[test]
fn refusals_say_what_to_do() {
    let cases = [
        (refusal(401, "authError", "Invalid Credentials"), "GOOGLE_OAUTH_ACCESS_TOKEN are not renewed"),
        (refusal(403, "forbidden", "x does not have access."), "require storage.objects.get on bucket \"b\""),
        (
            refusal(403, "forbidden", "Permission denied on Cloud KMS key."),
            "roles/cloudkms.cryptoKeyEncrypterDecrypter",
        ),
        (refusal(404, "notFound", "The specified bucket does not exist."), "bucket \"b\" does not exist. Create it"),
        (refusal(400, "customerEncryptionKeyIsIncorrect", "The key is wrong."), "another key than \"encryption_key\""),
        (Reply::status(307).with("Location", "http://elsewhere/"), "not sent to another host"),
        (refusal(429, "rateLimitExceeded", "Slow down"), "\"429 Too Many Requests\": Slow down"),
        (refusal(503, "backendError", "Try later"), "Try later"),
        (refusal(403, "rateLimitExceeded", "Too fast"), "Too fast"),
        (Reply::ok("<html>").with("Content-Type", "text/html"), "the endpoint is not Cloud Storage"),
    ];
    for (reply, text) in cases {
        let is_transient = matches!(reply.status, 429 | 503) || text == "Too fast";
        let host = Host::start(move |_| reply.clone());
        let error = store(&host, &json!({})).read("default").expect_err("the host refuses");
        assert!(error.reason.contains(text), "{error}");
        assert!(error.reason.starts_with("GET http://127.0.0.1:") && !error.reason.contains("hush"), "{error}");
        assert_eq!(error.kind == StoreErrorKind::Transient, is_transient, "{error}");
    }
    let host = Host::start(|_| refusal(429, "rateLimitExceeded", "Slow down").with("Retry-After", "7"));
    let version = StoreVersion("1".to_owned());
    let write = Write { content: b"x", precondition: Precondition::Version(&version), lock: None };
    let error = store(&host, &json!({})).write("default", &write).expect_err("the host is busy");
    assert!(error.reason.contains("one write per second"), "{error}");
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
    let host = Host::start(|_| refusal(403, "forbidden", "no"));
    let error = store(&host, &json!({})).write("default", &write).expect_err("the host refuses");
    assert!(error.reason.contains("storage.objects.create and storage.objects.delete on bucket \"b\""), "{error}");
    let error = store(&host, &json!({})).workspaces().expect_err("the host refuses");
    assert!(error.reason.contains("storage.objects.list on bucket \"b\""), "{error}");
}

#[test]
fn only_cloud_storage_says_that_an_object_does_not_exist() {
    let text = |text: &str| Reply { status: 404, ..Reply::ok(text) };
    let cases = [
        (refusal(404, "notFound", "No such object: b/x"), true),
        (text("No such object: b/x").with("Content-Type", "text/html"), true),
        (Reply::status(404).with("X-GUploader-UploadID", "u"), true),
        (text("<html>not here</html>").with("Content-Type", "text/html"), false),
        (text("404 page not found"), false),
        (Reply::status(404), false),
    ];
    for (reply, is_absent) in cases {
        let answer = reply.clone();
        let host = Host::start(move |_| answer.clone());
        assert_eq!(store(&host, &json!({})).read("default").ok(), is_absent.then_some(None), "{reply:?}");
    }
}

#[test]
fn an_emulator_gets_no_token() {
    let host = Host::start(|asked| match asked.header("authorization") {
        None => Reply::json("{}"),
        Some(_) => Reply::status(400),
    });
    let name = host.name();
    let emulated =
        opened(&json!({ "bucket": "b", "access_token": "hush" }), &[("STORAGE_EMULATOR_HOST", name.as_str())]);
    assert_eq!(emulated.expect("it is complete").workspaces(), Ok(Vec::new()));
}

#[test]
fn wrong_arguments_have_the_titles_of_opentofu() {
    let both = json!({ "bucket": "b", "encryption_key": "k", "kms_encryption_key": "n", "access_token": "t" });
    let cases = [
        (both, vec![], &diagnostics::GCS_ENCRYPTION_KEY_CONFLICT),
        (
            json!({ "bucket": "b", "encryption_key": "k", "access_token": "t" }),
            vec![("GOOGLE_KMS_ENCRYPTION_KEY", "n")],
            &diagnostics::GCS_ENCRYPTION_KEY_CONFLICT,
        ),
        (json!({ "bucket": "b", "credentials": "nope" }), vec![], &diagnostics::GCS_CREDENTIALS_INVALID),
        (json!({ "bucket": "b" }), vec![("GOOGLE_CREDENTIALS", "nope")], &diagnostics::GCS_CREDENTIALS_INVALID),
        (json!({ "bucket": "b", "credentials": "{}" }), vec![], &diagnostics::GCS_CREDENTIALS_UNUSABLE),
        (
            json!({ "bucket": "b", "access_token": "t", "encryption_key": "n!" }),
            vec![],
            &diagnostics::GCS_ENCRYPTION_KEY_INVALID,
        ),
        (
            json!({ "bucket": "b", "access_token": "t", "encryption_key": "YWJj" }),
            vec![],
            &diagnostics::GCS_ENCRYPTION_KEY_INVALID,
        ),
        (
            json!({ "bucket": "b", "access_token": "t", "storage_custom_endpoint": "ftp://x" }),
            vec![],
            &diagnostics::GCS_ENDPOINT_INVALID,
        ),
    ];
    for (arguments, variables, code) in cases {
        let refused = opened(&arguments, &variables).map(drop).expect_err("the arguments are wrong");
        assert_eq!(refused, [code.id], "{arguments}");
    }
    // An access token wins over credentials, which are not even read.
    assert!(opened(&json!({ "bucket": "b", "credentials": "nope", "access_token": "t" }), &[]).is_ok());
}

#[test]
fn prefixes_are_joined_as_opentofu_joins_them() {
    for (prefix, expected) in [
        ("", "gs://b/default.tfstate"),
        ("env", "gs://b/env/default.tfstate"),
        ("/env/", "gs://b/env/default.tfstate"),
        ("a//b/", "gs://b/a/b/default.tfstate"),
        ("a/./b/../c", "gs://b/a/c/default.tfstate"),
        ("..", "gs://b/../default.tfstate"),
    ] {
        let store = opened(&json!({ "bucket": "b", "prefix": prefix, "access_token": "t" }), &[]);
        assert_eq!(store.expect("it is complete").describe("default"), expected);
    }
    assert_eq!(clean("../../x/.."), "../..");
    let custom = json!({ "bucket": "b", "access_token": "t", "storage_custom_endpoint": "http://h:1/storage/v1/" });
    let store = opened(&custom, &[]).expect("it is complete");
    assert_eq!(store.describe("w"), "gs://b/w.tfstate at http://h:1", "buckets of other servers have other names");
}
