//! Credential flows against hosts that check every request: token endpoint, IAM Credentials API, STS, metadata server.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value as Json, json};
use yuba_testkit::{Asked, Host, Reply};

use super::{CLOUD_PLATFORM, GoogleSettings, GoogleTokenSource, Impersonate, ReadFile, find, path_or_content};
use crate::http::{HttpClient, HttpSettings, Url};
use crate::{Environment, Secret};

const STORAGE: &str = "https://www.googleapis.com/auth/devstorage.full_control";

fn no_files() -> ReadFile {
    files(&[])
}

fn files(contents: &[(&str, String)]) -> ReadFile {
    let contents: BTreeMap<String, String> =
        contents.iter().map(|(path, content)| ((*path).to_owned(), content.clone())).collect();
    Arc::new(move |path: &Path| {
        let found = contents.get(path.to_str().unwrap_or_default());
        found.map(|content| content.clone().into_bytes()).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    })
}

fn client() -> HttpClient {
    HttpClient::new(HttpSettings { retries: 0, ..HttpSettings::default() })
}

fn settings(credentials: Option<&Json>) -> GoogleSettings {
    let credentials = credentials.map(|json| Secret::new(json.to_string()));
    GoogleSettings { credentials, scopes: vec![STORAGE, CLOUD_PLATFORM], ..GoogleSettings::default() }
}

fn source(credentials: &Json) -> GoogleTokenSource {
    let found = find(&settings(Some(credentials)), &Environment::default(), &client(), no_files());
    found.expect("the credentials are complete")
}

fn refusal(credentials: &Json) -> String {
    let found = find(&settings(Some(credentials)), &Environment::default(), &client(), no_files());
    found.map(drop).expect_err("the credentials are refused").reason
}

fn form(asked: &Asked) -> BTreeMap<String, String> {
    let url = Url::parse(&format!("http://form/?{}", asked.body)).expect("it is a query");
    url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

fn query(asked: &Asked) -> BTreeMap<String, String> {
    let query = asked.target.split_once('?').map(|(_, query)| query).unwrap_or_default();
    form(&Asked { body: query.to_owned(), ..Asked::default() })
}

/// A refusal that names the first error.
fn wrong(reason: &str) -> Reply {
    Reply { status: 400, ..Reply::json(&json!({ "error": "test", "error_description": reason }).to_string()) }
}

fn granted(token: &str, seconds: u64) -> Reply {
    Reply::json(&json!({ "access_token": token, "expires_in": seconds, "token_type": "Bearer" }).to_string())
}

/// A service account with a new key, and the host that knows its public key.
struct Account {
    pem: String,
    public: Vec<u8>,
}

impl Account {
    fn new() -> Account {
        let key = KeyPair::generate(KeySize::Rsa2048).expect("there is randomness");
        let der: Pkcs8V1Der<'static> = key.as_der().expect("it is a key");
        let body = STANDARD.encode(der.as_ref());
        let lines: Vec<&str> = (0..body.len()).step_by(64).map(|at| &body[at..body.len().min(at + 64)]).collect();
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.join("\n"));
        Account { pem, public: key.public_key().as_ref().to_vec() }
    }

    fn file(&self, token_uri: &str) -> Json {
        json!({
            "type": "service_account", "project_id": "p", "private_key_id": "key-1", "private_key": self.pem,
            "client_email": "robot@p.iam.gserviceaccount.com", "token_uri": token_uri,
        })
    }
}

/// Header and claims of a token whose signature is valid.
fn verified(token: &str, public: &[u8]) -> Option<(Json, Json)> {
    let (signed, signature) = token.rsplit_once('.')?;
    let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public).verify(signed.as_bytes(), &signature).ok()?;
    let (header, claims) = signed.split_once('.')?;
    let part = |text: &str| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok();
    Some((part(header)?, part(claims)?))
}

/// A token endpoint that accepts signed assertions only.
fn token_endpoint(public: Vec<u8>, scope: String, seconds: u64) -> Host {
    Host::start(move |asked| {
        let fields = form(asked);
        if asked.method != "POST" || asked.header("content-type") != Some("application/x-www-form-urlencoded") {
            return wrong("it is not a form");
        }
        if fields.get("grant_type").map(String::as_str) != Some("urn:ietf:params:oauth:grant-type:jwt-bearer") {
            return wrong("the grant type is another one");
        }
        let Some((header, claims)) = fields.get("assertion").and_then(|token| verified(token, &public)) else {
            return wrong("the signature is not valid");
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs();
        let (issued, expires) = (claims["iat"].as_u64().unwrap_or(0), claims["exp"].as_u64().unwrap_or(0));
        let audience = format!("http://{}/token", asked.header("host").unwrap_or_default());
        let is_valid = header == json!({ "alg": "RS256", "typ": "JWT", "kid": "key-1" })
            && claims["iss"] == "robot@p.iam.gserviceaccount.com"
            && claims["scope"] == scope.as_str()
            && claims["aud"] == audience.as_str()
            && issued <= now
            && now - issued < 60
            && expires - issued == 3600;
        if is_valid { granted("from-assertion", seconds) } else { wrong("the claims are not valid") }
    })
}

#[test]
fn a_service_account_exchanges_a_signed_assertion_once_per_hour() {
    let account = Account::new();
    let host = token_endpoint(account.public.clone(), format!("{STORAGE} {CLOUD_PLATFORM}"), 3600);
    let source = source(&account.file(&host.url("/token")));
    for _ in 0..3 {
        assert_eq!(source.token().expect("the assertion is valid").reveal(), "from-assertion");
    }
    assert_eq!(host.count("/token"), 1, "the token is used until it expires");
}

#[test]
fn tokens_that_expire_soon_are_renewed() {
    let account = Account::new();
    let host = token_endpoint(account.public.clone(), format!("{STORAGE} {CLOUD_PLATFORM}"), 200);
    let source = source(&account.file(&host.url("/token")));
    assert!(source.token().is_ok() && source.token().is_ok());
    assert_eq!(host.count("/token"), 2);
}

#[test]
fn another_key_is_refused_and_explained() {
    let (account, other) = (Account::new(), Account::new());
    let host = token_endpoint(other.public, String::new(), 3600);
    let error = source(&account.file(&host.url("/token"))).token().expect_err("the signature is of another key");
    assert!(error.reason.contains("the signature is not valid") && !error.may_pass, "{error}");
    assert!(error.reason.starts_with(&format!("POST {}", host.url("/token"))), "{error}");
    let body = json!({ "error": "invalid_grant", "error_description": "Invalid JWT Signature." }).to_string();
    let host = Host::start(move |_| Reply { status: 400, ..Reply::json(&body) });
    let error = source(&account.file(&host.url("/token"))).token().expect_err("the host refuses");
    assert!(error.reason.contains("invalid_grant: Invalid JWT Signature. The key or the service account"), "{error}");
    let busy = Host::start(|_| Reply::status(503));
    let error = source(&account.file(&busy.url("/token"))).token().expect_err("the host is busy");
    assert!(error.may_pass, "{error}");
}

#[test]
fn a_service_account_of_another_universe_signs_its_tokens_itself() {
    let account = Account::new();
    let mut file = account.file("http://127.0.0.1:1/never");
    file["universe_domain"] = json!("example.cloud");
    let token = source(&file).token().expect("no request is sent");
    let (header, claims) = verified(token.reveal(), &account.public).expect("the signature is valid");
    assert_eq!(header["kid"], "key-1");
    assert_eq!((&claims["sub"], &claims["iss"]), (&claims["iss"], &json!("robot@p.iam.gserviceaccount.com")));
    assert_eq!(claims["scope"], format!("{STORAGE} {CLOUD_PLATFORM}").as_str());
    assert_eq!(claims.get("aud"), None);
    let other = GoogleSettings { universe_domain: Some("other.cloud".to_owned()), ..settings(Some(&file)) };
    let refused = find(&other, &Environment::default(), &client(), no_files()).map(drop).expect_err("they differ");
    assert!(refused.reason.contains("\"example.cloud\"") && refused.reason.contains("\"other.cloud\""), "{refused}");
}

#[test]
fn a_user_exchanges_a_refresh_token() {
    let host = Host::start(|asked| {
        let expected = [
            ("client_id", "id"),
            ("client_secret", "hush"),
            ("grant_type", "refresh_token"),
            ("refresh_token", "again"),
        ];
        let is_same = form(asked).iter().map(|(name, value)| (name.as_str(), value.as_str())).eq(expected);
        if is_same && asked.method == "POST" { granted("of-user", 3599) } else { wrong("the form is another one") }
    });
    let file = json!({
        "type": "authorized_user", "client_id": "id", "client_secret": "hush", "refresh_token": "again",
        "token_uri": host.url("/token"), "quota_project_id": "billed",
    });
    let source = source(&file);
    assert_eq!(source.token().expect("the form is right").reveal(), "of-user");
    assert_eq!(source.quota_project(), Some("billed"));
    let printed = format!("{source:?} {:?}", settings(Some(&file)));
    assert!(!printed.contains("hush") && !printed.contains("again"), "{printed}");
}

#[test]
fn default_credentials_are_searched_in_order() {
    let host = Host::start(|asked| match form(asked).get("refresh_token") {
        Some(refresh) => granted(refresh, 3600),
        None => wrong("it is not a form"),
    });
    let user = |refresh: &str| {
        json!({ "type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": refresh,
            "token_uri": host.url("/token") })
        .to_string()
    };
    let read = files(&[
        ("/home/ann/.config/gcloud/application_default_credentials.json", user("well-known")),
        ("/keys/file.json", user("variable")),
    ]);
    let token = |variables: &[(&str, &str)], settings: &GoogleSettings| {
        let environment: Environment = variables.iter().copied().collect();
        let source = find(settings, &environment, &client(), Arc::clone(&read))?;
        source.token().map(|token| token.reveal().to_owned())
    };
    let home = ("HOME", "/home/ann");
    assert_eq!(token(&[home], &settings(None)).as_deref(), Ok("well-known"));
    let variable = ("GOOGLE_APPLICATION_CREDENTIALS", "/keys/file.json");
    assert_eq!(token(&[home, variable], &settings(None)).as_deref(), Ok("variable"));
    let fixed = GoogleSettings { access_token: Some(Secret::new("fixed")), ..settings(None) };
    assert_eq!(token(&[home, variable], &fixed).as_deref(), Ok("fixed"));
    let missing = token(&[home, ("GOOGLE_APPLICATION_CREDENTIALS", "/keys/none.json")], &settings(None));
    assert!(missing.is_err_and(|error| error.reason.contains("/keys/none.json of GOOGLE_APPLICATION_CREDENTIALS")));
}

#[test]
fn the_metadata_server_is_asked_with_its_header() {
    let host = Host::start(|asked| {
        let is_right = asked.method == "GET"
            && asked.header("metadata-flavor") == Some("Google")
            && asked.path() == "/computeMetadata/v1/instance/service-accounts/default/token"
            && query(asked).get("scopes") == Some(&format!("{STORAGE},{CLOUD_PLATFORM}"))
            && asked.header("authorization").is_none();
        if is_right { granted("of-machine", 3000).with("Metadata-Flavor", "Google") } else { wrong("it is another") }
    });
    let named: Environment = [("GCE_METADATA_HOST", host.name())].into_iter().collect();
    let source = find(&settings(None), &named, &client(), no_files()).expect("it is found");
    assert_eq!(source.token().expect("the request is right").reveal(), "of-machine");
    let other = Host::start(|_| granted("of-stranger", 3000));
    let named: Environment = [("GCE_METADATA_HOST", other.name())].into_iter().collect();
    let source = find(&settings(None), &named, &client(), no_files()).expect("it is found");
    let error = source.token().expect_err("another server responds");
    assert!(error.reason.contains("without the header \"Metadata-Flavor: Google\""), "{error}");
}

#[test]
fn a_token_is_used_until_it_expires_if_it_cannot_be_renewed() {
    for (seconds, works) in [(60, true), (1, false)] {
        let count = std::sync::atomic::AtomicUsize::new(0);
        let host = Host::start(move |_| match count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 => granted("first", seconds).with("Metadata-Flavor", "Google"),
            _ => Reply::status(503),
        });
        let named: Environment = [("GCE_METADATA_HOST", host.name())].into_iter().collect();
        let source = find(&settings(None), &named, &client(), no_files()).expect("it is found");
        let end = SystemTime::now() + std::time::Duration::from_millis(1_100);
        assert_eq!(source.token().expect("the server responds").reveal(), "first");
        while !works && SystemTime::now() < end {
            std::thread::yield_now();
        }
        match source.token() {
            Ok(token) => assert!(works && token.reveal() == "first"),
            Err(error) => assert!(!works && error.may_pass, "{error}"),
        }
        assert_eq!(host.asked().len(), 2, "it is renewed early");
    }
}

/// The IAM Credentials API, for callers with a token.
fn iam(caller: &'static str, delegates: Json, scope: Json, lifetime: &'static str) -> Host {
    Host::start(move |asked| {
        let mut expected = json!({ "lifetime": lifetime, "scope": scope });
        if !delegates.is_null() {
            expected["delegates"] = delegates.clone();
        }
        let path = "/v1/projects/-/serviceAccounts/target@p.iam.gserviceaccount.com:generateAccessToken";
        if asked.method != "POST" || asked.path() != path {
            return wrong("the method is another one");
        }
        if asked.header("authorization") != Some(&format!("Bearer {caller}")) {
            return Reply::status(401);
        }
        if asked.header("content-type") != Some("application/json")
            || serde_json::from_str::<Json>(&asked.body).ok() != Some(expected)
        {
            return wrong(&format!("the body is another one: {}", asked.body));
        }
        Reply::json(r#"{"accessToken":"of-target","expireTime":"2999-01-01T00:00:00Z"}"#)
    })
}

#[test]
fn a_service_account_is_impersonated_through_delegates() {
    let read_write = "https://www.googleapis.com/auth/devstorage.read_write";
    let host = iam("fixed", json!(["projects/-/serviceAccounts/a@p"]), json!([read_write]), "3600s");
    let target = Impersonate {
        account: "target@p.iam.gserviceaccount.com".to_owned(),
        delegates: vec!["a@p".to_owned()],
        scopes: vec![read_write],
        endpoint: Some(host.url("")),
    };
    let settings = GoogleSettings {
        access_token: Some(Secret::new("fixed")),
        impersonate: Some(target.clone()),
        ..settings(None)
    };
    let source = find(&settings, &Environment::default(), &client(), no_files()).expect("it is complete");
    assert_eq!(source.token().expect("the request is right").reveal(), "of-target");
    assert!(source.token().is_ok() && host.asked().len() == 1, "the token lasts");
    // The credentials of the caller get the scope of the IAM API only.
    let account = Account::new();
    let endpoint = token_endpoint(account.public.clone(), CLOUD_PLATFORM.to_owned(), 3600);
    let host = iam("from-assertion", Json::Null, json!([read_write]), "3600s");
    let target = Impersonate { delegates: Vec::new(), endpoint: Some(host.url("")), ..target };
    let file = account.file(&endpoint.url("/token"));
    let settings = GoogleSettings { impersonate: Some(target), ..self::settings(Some(&file)) };
    let source = find(&settings, &Environment::default(), &client(), no_files()).expect("it is complete");
    assert_eq!(source.token().expect("the requests are right").reveal(), "of-target");
}

#[test]
fn denied_impersonation_names_the_role() {
    let body = r#"{"error":{"code":403,"message":"Permission 'iam.serviceAccounts.getAccessToken' denied","status":"PERMISSION_DENIED"}}"#;
    let host = Host::start(move |_| Reply { status: 403, ..Reply::json(body) });
    let target = Impersonate { account: "t@p".to_owned(), endpoint: Some(host.url("")), ..Impersonate::default() };
    let access_token = Some(Secret::new("hush"));
    let settings = GoogleSettings { access_token, impersonate: Some(target), ..settings(None) };
    let source = find(&settings, &Environment::default(), &client(), no_files()).expect("it is complete");
    let error = source.token().expect_err("it is denied");
    assert!(error.reason.contains("getAccessToken' denied") && error.reason.contains("serviceAccountTokenCreator"));
    assert!(!error.reason.contains("hush") && !error.may_pass, "{error}");
}

#[test]
fn a_file_can_describe_impersonation() {
    let account = Account::new();
    let endpoint = token_endpoint(account.public.clone(), CLOUD_PLATFORM.to_owned(), 3600);
    let host =
        iam("from-assertion", json!(["projects/-/serviceAccounts/d@p"]), json!([STORAGE, CLOUD_PLATFORM]), "3600s");
    let file = json!({
        "type": "impersonated_service_account",
        "service_account_impersonation_url":
            host.url("/v1/projects/-/serviceAccounts/target@p.iam.gserviceaccount.com:generateAccessToken"),
        "delegates": ["projects/-/serviceAccounts/d@p"],
        "source_credentials": account.file(&endpoint.url("/token")),
    });
    assert_eq!(source(&file).token().expect("the requests are right").reveal(), "of-target");
    let nested = (0..10).fold(account.file("http://h/"), |inner, _| {
        json!({ "type": "impersonated_service_account", "service_account_impersonation_url": "http://h/",
            "source_credentials": inner })
    });
    assert!(refusal(&nested).contains("more than 5 credentials impersonate each other"));
}

/// The Security Token Service, for subject tokens of a workload identity pool.
fn sts(scope: &'static str) -> Host {
    Host::start(move |asked| {
        let expected = [
            ("audience", "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x"),
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ("scope", scope),
            ("subject_token", "from-elsewhere"),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:jwt"),
        ];
        let fields = form(asked);
        let is_same = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).eq(expected);
        if is_same { granted("federated", 3600) } else { wrong(&format!("the form is another one: {fields:?}")) }
    })
}

fn external(sts: &Host, credential_source: &Json) -> Json {
    json!({
        "type": "external_account",
        "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": sts.url("/v1/token"),
        "credential_source": credential_source,
    })
}

#[test]
fn a_workload_identity_is_exchanged_from_a_file_or_a_url() {
    let both = "https://www.googleapis.com/auth/devstorage.full_control https://www.googleapis.com/auth/cloud-platform";
    let host = sts(both);
    let read = files(&[
        ("/var/token", "from-elsewhere\n".to_owned()),
        ("/var/token.json", json!({ "id": "from-elsewhere" }).to_string()),
    ]);
    let provider = Host::start(|asked| match asked.header("metadata") {
        Some("true") => Reply::json(r#"{"access_token":"from-elsewhere"}"#),
        _ => Reply::status(400),
    });
    let sources = [
        json!({ "file": "/var/token" }),
        json!({ "file": "/var/token.json", "format": { "type": "json", "subject_token_field_name": "id" } }),
        json!({ "url": provider.url("/identity"), "headers": { "Metadata": "true" },
            "format": { "type": "json", "subject_token_field_name": "access_token" } }),
    ];
    for subject in sources {
        let settings = settings(Some(&external(&host, &subject)));
        let source = find(&settings, &Environment::default(), &client(), Arc::clone(&read)).expect("it is complete");
        assert_eq!(source.token().expect("the exchange is right").reveal(), "federated", "{subject}");
    }
    // As a service account, with a lifetime of its own.
    let host = sts(CLOUD_PLATFORM);
    let target = iam("federated", Json::Null, json!([STORAGE, CLOUD_PLATFORM]), "1200s");
    let mut file = external(&host, &json!({ "file": "/var/token" }));
    file["service_account_impersonation_url"] =
        json!(target.url("/v1/projects/-/serviceAccounts/target@p.iam.gserviceaccount.com:generateAccessToken"));
    file["service_account_impersonation"] = json!({ "token_lifetime_seconds": 1200 });
    let source = find(&settings(Some(&file)), &Environment::default(), &client(), read).expect("it is complete");
    assert_eq!(source.token().expect("the exchanges are right").reveal(), "of-target");
}

#[test]
fn credentials_that_cannot_be_used_are_named() {
    let host = sts("");
    let cases = [
        (json!({ "type": "gdch_service_account" }), "the type \"gdch_service_account\" is not supported"),
        (json!({}), "\"type\" is missing"),
        (json!({ "type": "service_account", "private_key": "x", "client_email": "e" }), "not an RSA key"),
        (json!({ "type": "authorized_user", "client_id": "i", "client_secret": "s" }), "\"refresh_token\" is missing"),
        (external(&host, &json!({ "executable": { "command": "x" } })), "with \"executable\" is not supported"),
        (external(&host, &json!({})), "neither \"file\" nor \"url\""),
        (external(&host, &json!({ "file": "x", "format": { "type": "xml" } })), "the format \"xml\""),
    ];
    for (file, reason) in cases {
        let refused = refusal(&file);
        assert!(refused.contains(reason), "{refused}");
    }
    let text = GoogleSettings { credentials: Some(Secret::new("[1]")), ..settings(None) };
    let refused = find(&text, &Environment::default(), &client(), no_files()).map(drop).expect_err("it is a list");
    assert!(refused.reason.contains("is not a JSON object"), "{refused}");
}

#[test]
fn secrets_do_not_follow_redirects() {
    let other = Host::start(|_| granted("stolen", 3600));
    let target = other.url("/token");
    let host = Host::start(move |_| Reply::status(307).with("Location", &target));
    let file = json!({ "type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "r",
        "token_uri": host.url("/token") });
    let error = source(&file).token().expect_err("a redirect is not a token");
    assert!(error.reason.contains("307"), "{error}");
    assert!(other.asked().is_empty());
}

#[test]
fn arguments_are_paths_or_contents() {
    let read = files(&[("/keys/a.json", "{\"a\":1}".to_owned()), ("/home/ann/b.json", "b".to_owned())]);
    let environment: Environment = [("HOME", "/home/ann")].into_iter().collect();
    let content =
        |value: &str| path_or_content(&Secret::new(value), &environment, &read).map(|text| text.reveal().to_owned());
    for (value, expected) in
        [("/keys/a.json", "{\"a\":1}"), ("~/b.json", "b"), ("{\"type\":\"x\"}", "{\"type\":\"x\"}"), ("nope", "nope")]
    {
        assert_eq!(content(value).expect("it is read or taken as it is"), expected);
    }
    let denied: ReadFile = Arc::new(|_| Err(io::Error::from(io::ErrorKind::PermissionDenied)));
    assert!(path_or_content(&Secret::new("/keys/a.json"), &environment, &denied).is_err());
}
