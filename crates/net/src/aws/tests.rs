//! Signatures by the published examples, and each source of credentials against a host of this machine.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use yuba_testkit::{Asked, Host, Reply, Sandbox};

use super::sign::{Scope, sign};
use super::*;
use crate::http::{HttpSettings, Method, Url};

const SUITE_TOKEN: &str = "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";

/// One signature of the published examples.
struct Example {
    method: Method,
    url: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: &'static str,
    token: Option<&'static str>,
    signature: &'static str,
}

const SUITE: Example = Example {
    method: Method::GET,
    url: "https://example.amazonaws.com/",
    headers: &[],
    body: "",
    token: None,
    signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
};

fn signature(example: &Example, service: &str, secret: &str, date: &str) -> String {
    let credentials = AwsCredentials {
        access_key: "AKIDEXAMPLE".to_owned(),
        secret_key: Secret::new(secret),
        token: example.token.map(Secret::new),
        expires: None,
    };
    let mut request = Request::new(Url::parse(example.url).expect("it is a URL"));
    request.method = example.method.clone();
    request.body = (!example.body.is_empty()).then(|| example.body.as_bytes().to_vec());
    for (name, value) in example.headers {
        request = request.with_header(*name, *value);
    }
    let moment = Moment::parse_rfc3339(date).expect("it is a moment");
    let signed = sign(request, &credentials, Scope { service, region: "us-east-1", moment });
    let header = signed.headers.iter().find(|(name, _)| name == "authorization").expect("it is signed");
    header.1.rsplit_once("Signature=").expect("it has a signature").1.to_owned()
}

/// Signatures of the "AWS Signature Version 4 test suite".
#[test]
fn signatures_of_the_test_suite() {
    let form: &[(&str, &str)] = &[("Content-Type", "application/x-www-form-urlencoded")];
    let examples = [
        SUITE,
        Example {
            url: "https://example.amazonaws.com/?Param2=value2&Param1=value1",
            signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            ..SUITE
        },
        Example {
            url: "https://example.amazonaws.com/?\u{1234}=bar",
            signature: "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04",
            ..SUITE
        },
        Example {
            headers: &[("My-Header1", " value1"), ("My-Header2", " \"a   b   c\"")],
            signature: "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
            ..SUITE
        },
        Example {
            headers: &[("My-Header1", "value2"), ("My-Header1", "value2"), ("My-Header1", "value1")],
            signature: "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
            ..SUITE
        },
        Example {
            method: Method::POST,
            signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
            ..SUITE
        },
        Example {
            method: Method::POST,
            headers: form,
            body: "Param1=value1",
            signature: "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
            ..SUITE
        },
        Example {
            method: Method::POST,
            token: Some(SUITE_TOKEN),
            signature: "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
            ..SUITE
        },
    ];
    for example in examples {
        let secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
        let found = signature(&example, "service", secret, "2015-08-30T12:36:00Z");
        assert_eq!(found, example.signature, "{} {}", example.method, example.url);
    }
}

/// Signatures of the examples in the documentation of S3.
#[test]
fn signatures_of_the_examples_of_s3() {
    let bucket = Example { url: "https://examplebucket.s3.amazonaws.com/test.txt", ..SUITE };
    let examples = [
        Example {
            headers: &[("Range", "bytes=0-9")],
            signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
            ..bucket
        },
        Example {
            method: Method::PUT,
            url: "https://examplebucket.s3.amazonaws.com/test%24file.text",
            headers: &[("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
            body: "Welcome to Amazon S3.",
            signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
            token: None,
        },
        Example {
            url: "https://examplebucket.s3.amazonaws.com/?lifecycle",
            signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
            ..SUITE
        },
        Example {
            url: "https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J",
            signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
            ..SUITE
        },
    ];
    for example in examples {
        let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
        let found = signature(&example, "s3", secret, "2013-05-24T00:00:00Z");
        assert_eq!(found, example.signature, "{} {}", example.method, example.url);
    }
}

const CREDENTIALS: &str = "<Credentials><AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>s</SecretAccessKey>\
                           <SessionToken>t</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials>";

fn client() -> HttpClient {
    let fast = std::time::Duration::from_millis(1);
    HttpClient::new(HttpSettings { backoff: fast, retries: 0, ..HttpSettings::default() })
}

/// Credentials of a configuration with these variables and files.
fn connect(settings: AwsSettings, variables: &[(&str, &str)], files: &[(&str, &str)]) -> Result<Aws, AwsError> {
    let environment: Environment = variables.iter().map(|(name, value)| (*name, *value)).collect();
    let files: HashMap<String, String> =
        files.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
    let read = move |path: &Path| match files.get(&path.display().to_string()) {
        Some(text) => Ok(text.as_bytes().to_vec()),
        None => Err(io::Error::from(io::ErrorKind::NotFound)),
    };
    Aws::new(settings, &environment, client(), Arc::new(read))
}

fn key(aws: &Result<Aws, AwsError>) -> String {
    match aws.as_ref().map_err(Clone::clone).and_then(Aws::credentials) {
        Ok(found) => {
            let token = found.token.map(|token| format!(" {}", token.reveal())).unwrap_or_default();
            format!("{} {}{token}", found.access_key, found.secret_key.reveal())
        }
        Err(error) => format!("{:?}: {}", error.kind, error.reason),
    }
}

fn form(asked: &Asked) -> HashMap<String, String> {
    let url = Url::parse(&format!("http://x/?{}", asked.body)).expect("it is a form");
    url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

#[test]
fn arguments_come_before_the_environment_and_files() {
    let files = [
        (
            "/h/.aws/credentials",
            "[default]\naws_access_key_id=FILE\naws_secret_access_key=f\n[p]\naws_access_key_id=P\naws_secret_access_key=p\naws_session_token=t",
        ),
        ("/other", "[default]\naws_access_key_id=OTHER\naws_secret_access_key=o"),
    ];
    let home = ("HOME", "/h");
    let keys = [home, ("AWS_ACCESS_KEY_ID", "ENV"), ("AWS_SECRET_ACCESS_KEY", "e"), ("AWS_SESSION_TOKEN", "t")];
    let given =
        AwsSettings { access_key: Some("ARG".into()), secret_key: Some(Secret::new("a")), ..Default::default() };
    assert_eq!(key(&connect(given, &keys, &files)), "ARG a");
    assert_eq!(key(&connect(AwsSettings::default(), &keys, &files)), "ENV e t");
    assert_eq!(key(&connect(AwsSettings::default(), &[home], &files)), "FILE f");
    assert_eq!(key(&connect(AwsSettings::default(), &[home, ("AWS_PROFILE", "p")], &files)), "P p t");
    assert_eq!(
        key(&connect(AwsSettings::default(), &[home, ("AWS_SHARED_CREDENTIALS_FILE", "/other")], &files)),
        "OTHER o"
    );
    let profile = AwsSettings { profile: Some("p".into()), ..Default::default() };
    assert_eq!(key(&connect(profile, &keys, &files)), "P p t");
    let named = SharedFiles { credentials: vec!["/other".into()], ..SharedFiles::default() };
    assert_eq!(key(&connect(AwsSettings { files: named, ..Default::default() }, &[home], &files)), "OTHER o");
    let half = AwsSettings { access_key: Some("ARG".into()), ..Default::default() };
    assert!(key(&connect(half, &keys, &files)).starts_with("NoCredentials: access_key and secret_key"));
    let missing = AwsSettings { profile: Some("nope".into()), ..Default::default() };
    assert!(key(&connect(missing, &keys, &files)).starts_with("Configuration: the profile \"nope\""));
    let off = [home, ("AWS_EC2_METADATA_DISABLED", "true")];
    assert!(key(&connect(AwsSettings::default(), &off, &[])).contains("metadata service of EC2 instances is disabled"));
}

#[test]
fn roles_are_assumed_one_after_the_other_and_renewed() {
    let count = Arc::new(AtomicUsize::new(0));
    let issued = Arc::clone(&count);
    let host = Host::start(move |_| {
        let number = issued.fetch_add(1, Ordering::SeqCst);
        // The first pair is about to expire, so that the next use renews it.
        let end = if number < 2 { Moment::now().plus(60).rfc3339() } else { "2099-01-01T00:00:00Z".to_owned() };
        Reply::ok(format!(
            "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>K{number}</AccessKeyId><SecretAccessKey>s</SecretAccessKey>\
             <SessionToken>t</SessionToken><Expiration>{end}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
        ))
    });
    let tags = [("team".to_owned(), "a b".to_owned())].into();
    let first = AssumeRole { arn: "arn:aws:iam::1:role/a".into(), ..AssumeRole::default() };
    let second = AssumeRole {
        arn: "arn:aws:iam::2:role/b".into(),
        duration: Some(Duration::from_secs(3600)),
        external_id: Some("ext".into()),
        policy: Some("{}".into()),
        policy_arns: vec!["arn:aws:iam::2:policy/p".into()],
        session_name: Some("me".into()),
        source_identity: Some("ann".into()),
        tags,
        transitive_tags: vec!["team".into()],
    };
    let settings = AwsSettings {
        access_key: Some("AKIA".into()),
        secret_key: Some(Secret::new("s")),
        region: Some("eu-west-1".into()),
        roles: vec![first, second],
        endpoints: [(Service::Sts, host.url(""))].into(),
        ..AwsSettings::default()
    };
    let aws = connect(settings, &[], &[]);
    assert_eq!((key(&aws), key(&aws), key(&aws)), ("K1 s t".into(), "K3 s t".into(), "K3 s t".into()));
    let asked = host.asked();
    let forms: Vec<_> = asked.iter().map(form).collect();
    let signed_by = |at: usize| {
        let header = asked[at].header("authorization").expect("it is signed");
        header.split(['=', '/']).nth(1).expect("it has a key").to_owned()
    };
    assert_eq!((asked.len(), signed_by(0), signed_by(1)), (4, "AKIA".into(), "K0".into()));
    assert!(asked[1].header("authorization").is_some_and(|header| header.contains("/eu-west-1/sts/aws4_request")));
    assert_eq!(forms[0]["DurationSeconds"], "900");
    assert!(forms[0]["RoleSessionName"].starts_with("yuba-"));
    for (name, value) in [
        ("Action", "AssumeRole"),
        ("RoleArn", "arn:aws:iam::2:role/b"),
        ("DurationSeconds", "3600"),
        ("ExternalId", "ext"),
        ("Policy", "{}"),
        ("PolicyArns.member.1.arn", "arn:aws:iam::2:policy/p"),
        ("RoleSessionName", "me"),
        ("SourceIdentity", "ann"),
        ("Tags.member.1.Key", "team"),
        ("Tags.member.1.Value", "a b"),
        ("TransitiveTagKeys.member.1", "team"),
    ] {
        assert_eq!(forms[1].get(name).map(String::as_str), Some(value), "{name}");
    }
}

#[test]
fn refused_roles_and_wrong_clocks_are_explained() {
    let host = Host::start(|asked| match form(asked)["Action"].as_str() {
        "AssumeRole" => Reply {
            status: 403,
            ..Reply::ok(
                "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not allowed.</Message></Error></ErrorResponse>",
            )
        },
        _ if asked.header("x-amz-date").is_some_and(|date| date.starts_with("2035")) => {
            Reply::ok("<R><Arn>arn:aws:sts::123:assumed-role/x/y</Arn></R>")
        }
        _ => Reply {
            status: 403,
            ..Reply::ok("<ErrorResponse><Error><Code>RequestTimeTooSkewed</Code></Error></ErrorResponse>")
        }
        .with("Date", "Wed, 18 Apr 2035 14:40:19 GMT"),
    });
    let settings = AwsSettings {
        access_key: Some("AKIA".into()),
        secret_key: Some(Secret::new("hidden")),
        endpoints: [(Service::Sts, host.url(""))].into(),
        ..AwsSettings::default()
    };
    let role = AssumeRole { arn: "arn:aws:iam::1:role/a".into(), ..AssumeRole::default() };
    let refused = connect(AwsSettings { roles: vec![role], ..settings.clone() }, &[], &[]);
    let said = key(&refused);
    assert!(
        said.starts_with("AssumeRole: failed to assume the role arn:aws:iam::1:role/a: STS AssumeRole at http://"),
        "{said}"
    );
    assert!(said.ends_with("AccessDenied (403): not allowed") && !said.contains("hidden"), "{said}");
    let identity = connect(settings, &[], &[]).and_then(|aws| aws.identity()).expect("the clock is adjusted");
    assert_eq!((identity.account.as_str(), host.asked().len()), ("123", 3));
}

#[test]
fn web_identities_are_exchanged_without_signature() {
    let host = Host::start(|_| Reply::ok(format!("<R>{CREDENTIALS}</R>")));
    let sts = ("AWS_ENDPOINT_URL_STS", host.url(""));
    let variables = [
        (sts.0, sts.1.as_str()),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/token"),
        ("AWS_ROLE_ARN", "arn:env"),
        ("AWS_ROLE_SESSION_NAME", "ci"),
    ];
    assert_eq!(key(&connect(AwsSettings::default(), &variables, &[("/token", "jwt")])), "ASIA s t");
    let role = WebIdentity { arn: "arn:arg".into(), token: Some(Secret::new("inline")), ..WebIdentity::default() };
    let settings = AwsSettings { web_identity: Some(role), ..AwsSettings::default() };
    assert_eq!(key(&connect(settings, &variables[..1], &[])), "ASIA s t");
    let asked = host.asked();
    assert!(asked.iter().all(|asked| asked.header("authorization").is_none()));
    let forms: Vec<_> = asked.iter().map(form).collect();
    assert_eq!((forms[0]["WebIdentityToken"].as_str(), forms[0]["RoleArn"].as_str()), ("jwt", "arn:env"));
    assert_eq!((forms[1]["WebIdentityToken"].as_str(), forms[1]["RoleArn"].as_str()), ("inline", "arn:arg"));
    assert_eq!((forms[0]["RoleSessionName"].as_str(), forms[0].get("DurationSeconds")), ("ci", None));
    let gone = key(&connect(AwsSettings::default(), &variables, &[]));
    assert!(gone.starts_with("WebIdentity: failed to read the web identity token /token"), "{gone}");
}

#[test]
fn profiles_lead_to_roles_programs_and_refusals() {
    let host = Host::start(|_| Reply::ok(format!("<R>{CREDENTIALS}</R>")));
    let config = "[profile base]\naws_access_key_id=BASE\naws_secret_access_key=b\n\
                  [profile role]\nrole_arn=arn:role\nsource_profile=base\nexternal_id=x\nduration_seconds=7200\n\
                  [profile self]\nrole_arn=arn:self\nsource_profile=self\naws_access_key_id=SELF\naws_secret_access_key=s\n\
                  [profile loop]\nrole_arn=arn:loop\nsource_profile=loop2\n[profile loop2]\nrole_arn=arn:loop2\nsource_profile=loop\n\
                  [profile env]\nrole_arn=arn:env\ncredential_source=Environment\n\
                  [profile mfa]\nrole_arn=arn:mfa\nsource_profile=base\nmfa_serial=arn:device\n\
                  [profile norole]\nsource_profile=base\n\
                  [profile process]\ncredential_process=printf '{\"Version\":1,\"AccessKeyId\":\"PROC\",\"SecretAccessKey\":\"'$SECRET'\"}'\n\
                  [profile broken]\ncredential_process=echo hidden; exit 3\n\
                  [profile login]\nlogin_session=arn:x\n";
    let endpoint = host.url("");
    let variables = [
        ("HOME", "/h"),
        ("AWS_ENDPOINT_URL", endpoint.as_str()),
        ("AWS_ACCESS_KEY_ID", "ENV"),
        ("AWS_SECRET_ACCESS_KEY", "e"),
        ("SECRET", "p"),
        ("PATH", "/usr/bin:/bin"),
    ];
    let of = |profile: &str| {
        let settings = AwsSettings { profile: Some(profile.into()), ..AwsSettings::default() };
        key(&connect(settings, &variables, &[("/h/.aws/config", config)]))
    };
    let last = |name: &str| form(host.asked().last().expect("it was asked")).get(name).cloned();
    let signer = || {
        host.asked().last().and_then(|asked| Some(asked.header("authorization")?.split(['=', '/']).nth(1)?.to_owned()))
    };
    assert_eq!(
        (of("role"), last("DurationSeconds"), last("ExternalId"), signer()),
        ("ASIA s t".into(), Some("7200".into()), Some("x".into()), Some("BASE".into()))
    );
    assert_eq!((of("self"), signer()), ("ASIA s t".into(), Some("SELF".into())));
    assert_eq!((of("env"), signer()), ("ASIA s t".into(), Some("ENV".into())));
    assert_eq!(of("process"), "PROC p");
    assert!(of("loop").contains("are each other's source_profile"));
    assert!(of("mfa").contains("requires a code of an MFA device"));
    assert!(of("norole").contains("has source_profile and requires role_arn"));
    assert!(of("login").contains("aws login"));
    let broken = of("broken");
    assert!(broken.contains("ended with exit status: 3") && !broken.contains("hidden"), "{broken}");
}

#[test]
fn sso_tokens_are_read_and_renewed() {
    let host = Host::start(|asked| match asked.path() {
        "/token" => Reply::json("{\"accessToken\":\"new\",\"expiresIn\":3600,\"refreshToken\":\"r2\"}"),
        _ => {
            let token = asked.header("x-amz-sso_bearer_token").unwrap_or_default();
            Reply::json(&format!(
                "{{\"roleCredentials\":{{\"accessKeyId\":\"SSO\",\"secretAccessKey\":\"{token}\",\"expiration\":4070908800000}}}}"
            ))
        }
    });
    let sandbox = Sandbox::new("", "");
    let home = sandbox.dir().display().to_string();
    let cache = sandbox.dir().join(".aws/sso/cache");
    std::fs::create_dir_all(&cache).expect("it is ours");
    let config = "[profile new]\nsso_session=corp\nsso_account_id=1\nsso_role_name=dev\n[sso-session corp]\nsso_region=us-east-1\nsso_start_url=https://x\n\
                  [profile old]\nsso_start_url=https://old\nsso_region=us-east-1\nsso_account_id=1\nsso_role_name=dev\n";
    std::fs::write(sandbox.dir().join(".aws/config"), config).expect("it is ours");
    let name = |text: &str| {
        let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes());
        cache.join(format!("{}.json", super::sign::hex(hash.as_ref())))
    };
    let endpoint = host.url("");
    let of = |profile: &str| {
        let environment: Environment = [("HOME", home.as_str()), ("AWS_ENDPOINT_URL", &endpoint)].into_iter().collect();
        let settings = AwsSettings { profile: Some(profile.into()), ..AwsSettings::default() };
        key(&Aws::new(settings, &environment, client(), Arc::new(|path: &Path| std::fs::read(path))))
    };
    assert!(of("old").contains("run `aws sso login --profile old`"));
    std::fs::write(name("https://old"), "{\"accessToken\":\"tok\",\"expiresAt\":\"2099-01-01T00:00:00UTC\"}")
        .expect("it is ours");
    assert_eq!(of("old"), "SSO tok");
    let expired = "{\"accessToken\":\"x\",\"expiresAt\":\"2020-01-01T00:00:00Z\",\"refreshToken\":\"r\",\"clientId\":\"i\",\"clientSecret\":\"c\",\"region\":\"kept\"}";
    std::fs::write(name("corp"), expired).expect("it is ours");
    assert_eq!(of("new"), "SSO new");
    let stored = std::fs::read_to_string(name("corp")).expect("it is stored");
    assert!(stored.contains("\"refreshToken\":\"r2\"") && stored.contains("\"region\":\"kept\""), "{stored}");
    assert_eq!((of("new"), host.count("/token")), ("SSO new".into(), 1));
}

#[test]
fn instances_and_containers_have_credentials() {
    let host = Host::start(|asked| {
        let credentials = |key: &str| {
            Reply::json(&format!(
                "{{\"Code\":\"Success\",\"AccessKeyId\":\"{key}\",\"SecretAccessKey\":\"s\",\"Token\":\"t\",\"Expiration\":\"2099-01-01T00:00:00Z\"}}"
            ))
        };
        match (asked.method.as_str(), asked.path(), asked.header("x-aws-ec2-metadata-token")) {
            ("PUT", "/latest/api/token", _) => Reply::ok("tok"),
            ("GET", "/latest/meta-data/iam/security-credentials/", Some("tok")) => Reply::ok("web"),
            ("GET", "/latest/meta-data/iam/security-credentials/web", Some("tok")) => credentials("EC2"),
            ("GET", "/task", _) if asked.header("authorization") == Some("Bearer x") => credentials("TASK"),
            _ => Reply::status(404),
        }
    });
    let (endpoint, task) = (host.url(""), host.url("/task"));
    let variables = [("AWS_EC2_METADATA_SERVICE_ENDPOINT", endpoint.as_str())];
    assert_eq!(key(&connect(AwsSettings::default(), &variables, &[])), "EC2 s t");
    let off = MetadataSettings { usage: MetadataUse::Off, ..MetadataSettings::default() };
    assert!(
        key(&connect(AwsSettings { metadata: off, ..Default::default() }, &variables, &[])).contains("is disabled")
    );
    let on =
        MetadataSettings { usage: MetadataUse::On, endpoint: Some(endpoint.clone()), ..MetadataSettings::default() };
    let disabled = [("AWS_EC2_METADATA_DISABLED", "true")];
    assert_eq!(key(&connect(AwsSettings { metadata: on, ..Default::default() }, &disabled, &[])), "EC2 s t");
    let variables =
        [("AWS_CONTAINER_CREDENTIALS_FULL_URI", task.as_str()), ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/t")];
    assert_eq!(key(&connect(AwsSettings::default(), &variables, &[("/t", "Bearer x")])), "TASK s t");
    let remote = [("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://192.0.2.1/x")];
    assert!(key(&connect(AwsSettings::default(), &remote, &[])).contains("only addresses of this machine"));
}

#[test]
fn endpoints_come_from_arguments_variables_and_profiles() {
    let config = [("/h/.aws/config", "[default]\nendpoint_url=http://profile/\nregion=eu-north-1\n")];
    let of = |settings: AwsSettings, variables: &[(&str, &str)]| {
        let variables: Vec<_> = variables.iter().copied().chain([("HOME", "/h")]).collect();
        let aws = connect(settings, &variables, &config).expect("nothing is asked");
        (aws.endpoint(Service::S3).url, aws.endpoint(Service::Kms).url, aws.endpoint(Service::Kms).region)
    };
    let texts = |s3: &str, kms: &str, region: &str| (s3.to_owned(), kms.to_owned(), region.to_owned());
    let none = AwsSettings::default();
    assert_eq!(of(none.clone(), &[]), texts("http://profile", "http://profile", "eu-north-1"));
    let variables = [("AWS_ENDPOINT_URL_S3", "s3.local"), ("AWS_REGION", "us-west-2")];
    assert_eq!(of(none.clone(), &variables), texts("https://s3.local", "http://profile", "us-west-2"));
    let ignored = [("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true"), ("AWS_ENDPOINT_URL", "http://x")];
    let usual = texts("https://s3.eu-north-1.amazonaws.com", "https://kms.eu-north-1.amazonaws.com", "eu-north-1");
    assert_eq!(of(none, &ignored), usual);
    let given = AwsSettings { endpoints: [(Service::S3, "http://arg".to_owned())].into(), ..Default::default() };
    assert_eq!(of(given, &variables), texts("http://arg", "http://profile", "us-west-2"));
}
