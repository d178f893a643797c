//! Requests and failures of the backend against scripted hosts. The suite over all backends runs on Azurite.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value as Json, json};
use yuba_net::Environment;
use yuba_net::credentials::Credentials;
use yuba_net::discovery::Services;
use yuba_net::http::{ClientOptions, HttpClient, HttpSettings, Proxies};
use yuba_net::trust::{Authorities, TlsSettings};
use yuba_syntax::Diagnostics;
use yuba_testkit::{Asked, Host, Reply, Route, Tunnel};

use super::*;
use crate::kit::BackendEnvironment;
use crate::kit::arguments::Arguments;

const KEY: &str = "a2V5";
const BLOB: &str = "/states/dir%2Fprod";

/// The backend with these arguments, over a host that answers for all names.
fn opened(
    more: &Json,
    variables: &[(&str, &str)],
    answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
) -> (Result<Arc<dyn Store>, Diagnostics>, Host) {
    let host = Host::start(answer);
    let address = host.address();
    let tunnel = Tunnel::start(move |_| Some(Route::Plain(address)));
    let authorities = Authorities::Only(tunnel.authority().as_bytes().to_vec());
    let options = ClientOptions {
        tls: TlsSettings { authorities, ..TlsSettings::default() },
        proxies: Some(Proxies { https: Some(tunnel.url()), ..Proxies::default() }),
        ..ClientOptions::default()
    };
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let variables = Environment::new(variables, None, std::env::temp_dir());
    let credentials = Arc::new(Credentials::new(Default::default(), &variables));
    let client = HttpClient::new(HttpSettings { retries: 0, ..HttpSettings::default() }).with_options(options);
    let services = Arc::new(Services::new(client, credentials, Default::default()));
    let environment = BackendEnvironment::new(variables, std::env::temp_dir()).with_services(&services);
    let mut given = json!({"storage_account_name": "acme", "container_name": "states", "key": "dir/prod"});
    for (name, value) in more.as_object().into_iter().flatten() {
        given[name] = value.clone();
    }
    let arguments = Arguments::of_json(&schema(), &given).resolved(&schema(), &environment.variables);
    (arguments.and_then(|arguments| open(&arguments, &environment)), host)
}

fn store(more: &Json, answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> (Arc<dyn Store>, Host) {
    let mut all = json!({"access_key": KEY});
    for (name, value) in more.as_object().into_iter().flatten() {
        all[name] = value.clone();
    }
    let (store, host) = opened(&all, &[], answer);
    (store.unwrap_or_else(|problems| panic!("{problems:?}")), host)
}

fn refused(status: u16, code: &str, message: &str) -> Reply {
    let body =
        format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{message}\nRequestId:1</Message></Error>");
    Reply { status, ..Reply::ok(body) }.with("x-ms-error-code", code)
}

/// The reason for which a read fails.
fn read_failure(more: &Json, reply: Reply) -> StoreError {
    let (store, _host) = store(more, move |_| reply.clone());
    store.read("default").expect_err("because the server refuses")
}

#[test]
fn failures_say_what_to_do() {
    let check = |reply: Reply, expected: &str| {
        let error = read_failure(&json!({}), reply);
        assert_eq!((error.kind, error.reason.as_str()), (StoreErrorKind::Lasting, expected));
    };
    let blob = "GET https://acme.blob.core.windows.net/states/dir%2Fprod: the server responded";
    check(
        refused(404, "ContainerNotFound", "The specified container does not exist."),
        &format!(
            "{blob} \"404 Not Found\", ContainerNotFound: The specified container does not exist. Create the container \"states\" in storage \
             account \"acme\", or check container_name"
        ),
    );
    check(
        refused(403, "AuthorizationPermissionMismatch", "This request is not authorized."),
        &format!(
            "{blob} \"403 Forbidden\", AuthorizationPermissionMismatch: This request is not authorized. Assign the role \"Storage Blob Data \
             Contributor\" on the container to the identity; a new assignment takes some minutes to take effect"
        ),
    );
    check(
        refused(403, "AuthenticationFailed", "Server failed to authenticate the request."),
        &format!(
            "{blob} \"403 Forbidden\", AuthenticationFailed: Server failed to authenticate the request. Check that access_key is a current key \
             of the storage account"
        ),
    );
    let skewed = refused(403, "AuthenticationFailed", "No.").with("Date", "Sun, 06 Nov 1994 08:49:37 GMT");
    let error = read_failure(&json!({}), skewed).reason;
    assert!(error.ends_with("that of the server Sun, 06 Nov 1994 08:49:37 GMT. Set the clock"), "{error}");
    let busy = read_failure(&json!({}), refused(503, "ServerBusy", "Later.").with("Retry-After", "7"));
    assert_eq!((busy.kind, busy.retry_after), (StoreErrorKind::Transient, Some(std::time::Duration::from_secs(7))));
}

#[test]
fn only_the_service_says_that_a_blob_does_not_exist() {
    let absent = [refused(404, "BlobNotFound", "no"), Reply::status(404).with("x-ms-request-id", "1")];
    let page = || Reply { status: 404, ..Reply::ok("<html>not here</html>").with("Content-Type", "text/html") };
    let other = [page(), Reply { status: 404, ..Reply::ok("404 page not found") }, Reply::status(404)];
    for (replies, is_absent) in [(&absent[..], true), (&other[..], false)] {
        for reply in replies {
            let answer = reply.clone();
            let (store, _host) = store(&json!({}), move |_| answer.clone());
            assert_eq!(store.read("default").ok(), is_absent.then_some(None), "{reply:?}");
        }
    }
}

#[test]
fn a_signature_is_sent_and_never_shown() {
    let sas = "?sv=2022-11-02&se=2020-01-01T00:00:00Z&sig=hidden%2Bsig%3D";
    let arguments = json!({"access_key": null, "sas_token": sas});
    let (store, host) = opened(&arguments, &[], |_| refused(403, "AuthenticationFailed", "No."));
    let store = store.unwrap_or_else(|problems| panic!("{problems:?}"));
    let error = store.read("default").expect_err("because the server refuses").reason;
    assert!(
        error.ends_with("AuthenticationFailed: No. The SAS token expired at 2020-01-01T00:00:00Z. Create a new one"),
        "{error}"
    );
    assert!(
        !error.contains("hidden") && !format!("{store:?} {}", store.describe("default")).contains("hidden"),
        "{error}"
    );
    assert_eq!(host.asked()[0].target, format!("{BLOB}{sas}"));
    assert_eq!(host.asked()[0].header("authorization"), None);
    store.workspaces().expect_err("because the server refuses");
    assert_eq!(
        host.asked()[1].target,
        format!("/states?restype=container&comp=list&prefix=dir%2Fprodenv%3A&{}", &sas[1..])
    );
}

#[test]
fn workspaces_are_listed_page_by_page() {
    let page = |names: &[&str], next: &str| {
        let blobs: String = names.iter().map(|name| format!("<Blob><Name>{name}</Name></Blob>")).collect();
        Reply::ok(format!(
            "<EnumerationResults><Blobs>{blobs}</Blobs><NextMarker>{next}</NextMarker></EnumerationResults>"
        ))
    };
    let (store, host) =
        store(&json!({}), move |asked| match (asked.method.as_str(), asked.target.split_once("&marker=")) {
            ("HEAD", _) => Reply::ok("state"),
            (_, None) => page(&["dir/prodenv:b", "dir/prodenv:x/y", "dir/prodenv:"], "2!a b"),
            (_, Some((_, "2%21a+b" | "2!a+b" | "2%21a%20b"))) => page(&["dir/prodenv:a"], ""),
            _ => Reply::status(400),
        });
    assert_eq!(store.workspaces(), Ok(vec!["b".to_owned(), "a".to_owned(), "default".to_owned()]));
    assert_eq!(host.asked().len(), 3);
    assert_eq!(store.describe("b"), "https://acme.blob.core.windows.net/states/dir%2Fprodenv:b");
}

#[test]
fn tokens_and_keys_of_customers_are_sent() {
    let key = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
    let arguments = json!({
        "use_azuread_auth": true, "client_secret": "s", "client_id": "app", "tenant_id": "tenant", "customer_provided_key": key,
    });
    let (store, host) = opened(&arguments, &[], |asked| match asked.header("host") {
        Some("login.microsoftonline.com") => Reply::json(r#"{"access_token":"for blobs","expires_in":3599}"#),
        _ => Reply::ok("{}").with("Content-MD5", "sum").with("ETag", "\"1\""),
    });
    let stored = store.unwrap_or_else(|problems| panic!("{problems:?}")).read("default");
    let expected = Stored { content: b"{}".to_vec(), version: StoreVersion("md5:sum".to_owned()) };
    assert_eq!(stored, Ok(Some(expected)));
    let asked = host.asked();
    assert!(asked[0].body.contains("scope=https%3A%2F%2Fstorage.azure.com%2F.default"), "{}", asked[0].body);
    let header = |name: &str| asked[1].header(name);
    assert_eq!((header("authorization"), header("x-ms-version")), (Some("Bearer for blobs"), Some("2019-07-07")));
    assert_eq!((header("x-ms-encryption-key"), header("x-ms-encryption-algorithm")), (Some(key), Some("AES256")));
    // Computed with openssl.
    assert_eq!(header("x-ms-encryption-key-sha256"), Some("hhAJ7E1Zn6sfQKvHbm+JiAz/WDPHnFSMmfkEXxkc2Qs="));
}

#[test]
fn the_access_key_is_requested_once_with_the_identity() {
    let arguments = json!({
        "resource_group_name": "group", "subscription_id": "sub", "client_secret": "s", "client_id": "app", "tenant_id": "tenant",
    });
    let (store, host) = opened(&arguments, &[], |asked| match asked.header("host") {
        Some("login.microsoftonline.com") => Reply::json(r#"{"access_token":"for the manager","expires_in":3599}"#),
        Some("management.azure.com") => Reply::json(r#"{"keys":[{"value":"a2V5"}]}"#),
        _ => Reply::ok("{}"),
    });
    let store = store.unwrap_or_else(|problems| panic!("{problems:?}"));
    assert!(host.asked().is_empty(), "opening sends no request");
    store.read("default").expect("because the host responds");
    store.read("default").expect("because the host responds");
    let hosts: Vec<String> = host.asked().iter().filter_map(|asked| asked.header("host").map(str::to_owned)).collect();
    let blobs = "acme.blob.core.windows.net";
    assert_eq!(hosts, ["login.microsoftonline.com", "management.azure.com", blobs, blobs]);
    assert!(host.asked()[2].header("authorization").is_some_and(|value| value.starts_with("SharedKey acme:")));
}

#[test]
fn a_lock_without_holder_says_how_to_break_it() {
    let (store, _host) = store(&json!({}), |asked| match asked.method.as_str() {
        "HEAD" => Reply::ok("x").with("x-ms-lease-status", "locked").with("x-ms-meta-TerraformLockID", "Z2FyYmFnZQ=="),
        _ => refused(409, "LeaseAlreadyPresent", "There is already a lease present."),
    });
    let holder = LockHolder::ourselves("OperationTypeApply", &Environment::default());
    match store.lock("default", &holder) {
        Err(LockRefusal::Held { holder: Some(holder), .. }) => {
            assert_eq!(holder.path, "https://acme.blob.core.windows.net/states/dir%2Fprod");
            let expected = "the blob has a lease, and the value of its metadata \"terraformlockid\" is not a lock. If no run holds it, break \
                            the lease with `az storage blob lease break`";
            assert_eq!(holder.info, expected);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_lease_is_released_when_its_holder_cannot_be_written() {
    let (store, host) =
        store(&json!({}), |asked| match (asked.method.as_str(), asked.target.split_once('?').map(|parts| parts.1)) {
            ("HEAD", _) => Reply::ok("x").with("x-ms-lease-status", "locked"),
            (_, Some("comp=metadata")) => refused(403, "AuthorizationPermissionMismatch", "No."),
            _ => Reply::status(201),
        });
    let holder = LockHolder::ourselves("OperationTypeApply", &Environment::default());
    assert!(matches!(store.lock("default", &holder), Err(LockRefusal::Store(_))));
    let last = host.asked().pop().expect("because requests were sent");
    assert_eq!(
        (last.header("x-ms-lease-action"), last.header("x-ms-lease-id")),
        (Some("release"), Some(holder.id.as_str()))
    );
}

#[test]
fn a_lease_is_taken_described_and_released_under_its_id() {
    let described = Arc::new(std::sync::Mutex::new(String::new()));
    let written = Arc::clone(&described);
    let (store, host) = store(&json!({}), move |asked| {
        let mut written = written.lock().expect("no test panics");
        if asked.target.contains("comp=metadata") {
            *written = asked.header("x-ms-meta-terraformlockid").unwrap_or_default().to_owned();
        }
        match asked.method.as_str() {
            "HEAD" => Reply::ok("x").with("x-ms-lease-status", "locked").with("x-ms-meta-terraformlockid", &written),
            _ => Reply::status(201),
        }
    });
    let holder = LockHolder::ourselves("OperationTypeApply", &Environment::default());
    let id = store.lock("default", &holder).expect("it is free").expect("there are locks");
    let other = store.unlock("default", &LockId("00000000-0000-0000-0000-000000000000".to_owned()));
    assert!(matches!(&other, Err(UnlockRefusal::OtherLock(Some(present))) if present.id == holder.id), "{other:?}");
    assert!(store.unlock("default", &id).is_ok());
    let changes: Vec<Asked> = host.asked().into_iter().filter(|asked| asked.method == "PUT").collect();
    let change = |asked: &Asked| {
        let lease = asked.header("x-ms-lease-id").or(asked.header("x-ms-proposed-lease-id")).map(str::to_owned);
        (asked.header("x-ms-lease-action").unwrap_or("metadata").to_owned(), lease)
    };
    let expected = ["acquire", "metadata", "metadata", "release"];
    let expected = expected.map(|action| (action.to_owned(), Some(holder.id.clone())));
    assert_eq!(changes.iter().map(change).collect::<Vec<_>>(), expected);
}

#[test]
fn a_write_without_its_lease_has_lost_the_lock() {
    for code in ["LeaseLost", "LeaseIdMismatchWithBlobOperation", "LeaseNotPresentWithBlobOperation"] {
        let (store, _host) = store(&json!({}), move |asked| match asked.method.as_str() {
            "HEAD" => Reply::ok("").with("ETag", "\"1\""),
            _ => refused(412, code, "No."),
        });
        let lock = LockId("id".to_owned());
        let write = Write { content: b"{}", precondition: Precondition::Absent, lock: Some(&lock) };
        let error = store.write("default", &write).expect_err("the lease is gone");
        assert_eq!(error.kind, StoreErrorKind::LockLost, "{code}: {error}");
    }
}

#[test]
fn a_lost_lease_is_noticed() {
    let lost = |code: &'static str| {
        let (store, host) = store(&json!({}), move |_| Reply::status(412).with("x-ms-error-code", code));
        let check = store.check_lock("default", &LockId("id".to_owned())).expect("because the code is known");
        assert_eq!(host.asked()[0].header("x-ms-lease-id"), Some("id"));
        check
    };
    let broken = LockCheck::Lost("the lease of the blob was broken".to_owned());
    assert_eq!(lost("LeaseNotPresentWithBlobOperation"), broken);
    assert_eq!(lost("LeaseLost"), broken);
    let taken = LockCheck::Lost("another process has the lease of the blob".to_owned());
    assert_eq!(lost("LeaseIdMismatchWithBlobOperation"), taken);
}

#[test]
fn writes_keep_metadata_and_name_the_lease() {
    static IS_OTHER: AtomicBool = AtomicBool::new(false);
    let (store, host) = store(&json!({}), |asked| match asked.method.as_str() {
        "HEAD" => {
            let sum = if IS_OTHER.load(Ordering::SeqCst) { "other" } else { "sum" };
            Reply::ok("old").with("ETag", "\"7\"").with("Content-MD5", sum).with("x-ms-meta-Owner", "ann")
        }
        _ => Reply::status(201).with("Content-MD5", "new"),
    });
    let (version, lock) = (StoreVersion("md5:sum".to_owned()), LockId("lease".to_owned()));
    let write = Write { content: b"{}", precondition: Precondition::Version(&version), lock: Some(&lock) };
    assert_eq!(store.write("default", &write), Ok(StoreVersion("md5:new".to_owned())));
    let put = host.asked().pop().expect("because requests were sent");
    assert_eq!((put.method.as_str(), put.target.as_str(), put.body.as_str()), ("PUT", BLOB, "{}"));
    let headers = [
        ("if-match", "\"7\""),
        ("x-ms-lease-id", "lease"),
        ("x-ms-meta-owner", "ann"),
        ("x-ms-blob-type", "BlockBlob"),
        ("x-ms-blob-content-type", "application/json"),
    ];
    for (name, value) in headers {
        assert_eq!(put.header(name), Some(value), "{name}");
    }
    IS_OTHER.store(true, Ordering::SeqCst);
    assert_eq!(store.write("default", &write).expect_err("because it has changed").kind, StoreErrorKind::Conflict);
    assert_eq!(host.asked().len(), 3, "nothing is written");
}

#[test]
fn arguments_are_checked() {
    let codes = |more: Json, variables: &[(&str, &str)]| -> Vec<&'static str> {
        let problems = opened(&more, variables, |_| Reply::status(500)).0.expect_err("because an argument is wrong");
        problems.iter().map(|problem| problem.code.id).collect()
    };
    assert_eq!(codes(json!({"access_key": "***"}), &[]), ["azure-argument-invalid"]);
    assert_eq!(codes(json!({"access_key": KEY, "environment": "german"}), &[]), ["azure-environment-unknown"]);
    assert_eq!(codes(json!({"access_key": KEY, "storage_account_name": "A.b"}), &[]), ["azure-account-invalid"]);
    assert_eq!(codes(json!({"access_key": KEY, "container_name": "a--b"}), &[]), ["azure-container-invalid"]);
    assert_eq!(codes(json!({"access_key": KEY, "key": ".."}), &[]), ["azure-argument-invalid"]);
    assert_eq!(
        codes(json!({"access_key": KEY, "timeout_seconds": -1, "customer_provided_key": "eA=="}), &[]),
        ["azure-argument-invalid", "azure-argument-invalid"]
    );
    let host = json!({"access_key": KEY, "metadata_host": "h.example"});
    assert_eq!(codes(host, &[("ARM_ENVIRONMENT", "public")]), ["azure-arguments-conflict"]);
    assert_eq!(codes(json!({"use_cli": false}), &[]).last(), Some(&"azure-identity-missing"));
    let identity = [("ARM_CLIENT_SECRET", "s"), ("ARM_CLIENT_ID", "app"), ("ARM_TENANT_ID", "tenant")];
    assert_eq!(codes(json!({}), &identity), ["azure-resource-group-missing", "azure-subscription-missing"]);
    let deprecated = json!({"endpoint": "x", "msi_endpoint": "y"});
    let warnings = check(&Arguments::of_json(&schema(), &deprecated));
    assert_eq!(warnings.iter().map(|warning| warning.code.id).collect::<Vec<_>>(), ["azure-argument-deprecated"; 2]);
    assert!(!warnings.has_errors());
}
