//! `s3` on moto (S3, DynamoDB and STS), versitygw and MinIO.

use std::sync::Arc;

use md5::{Digest as _, Md5};
use serde_json::{Value as Json, json};
use yuba_net::aws::{Aws, AwsSettings, Service};
use yuba_net::http::{HttpClient, HttpSettings, Method, Request, Url};
use yuba_net::{Environment, Secret};
use yuba_testkit::Relay;
use yuba_testkit::servers::{Moto, S3Server, is_installed, minio, moto, versitygw};

use crate::Started;
use crate::subject::{Abilities, Lazy, OUTAGE, Subject};

const BUCKET: &str = "states";
const TABLE: &str = "locks";

fn arguments(url: &str, access_key: &str, secret_key: &str, state: &str) -> Json {
    json!({
        "bucket": BUCKET,
        "key": format!("dir/{state}.tfstate"),
        "region": "us-east-1",
        "access_key": access_key,
        "secret_key": secret_key,
        "endpoints": { "s3": url, "dynamodb": url, "sts": url },
        "use_path_style": true,
        "encrypt": false,
    })
}

/// The URL of the server for a state: through the relay where its test has an outage.
fn url(server: &str, relay: &Relay, state: &str) -> String {
    match state.starts_with(OUTAGE) {
        true => format!("http://{}", relay.address()),
        false => server.to_owned(),
    }
}

fn with(mut arguments: Json, more: &Json) -> Json {
    if let (Some(all), Some(more)) = (arguments.as_object_mut(), more.as_object()) {
        all.extend(more.clone());
    }
    arguments
}

/// Locks on moto.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Locks {
    Objects,
    Table,
    Both,
}

struct OnMoto {
    server: Moto,
    relay: Relay,
    locks: Locks,
}

fn on_moto(locks: Locks) -> Option<Started> {
    let server = moto()?;
    server.create_bucket(BUCKET);
    server.create_lock_table(TABLE);
    let relay = Relay::to(server.address());
    Some(Arc::new(OnMoto { server, relay, locks }))
}

impl Subject for OnMoto {
    fn kind(&self) -> &'static str {
        "s3"
    }
    fn arguments(&self, state: &str) -> Json {
        let arguments = arguments(&url(&self.server.url(), &self.relay, state), "AKIATEST", "secret", state);
        with(
            arguments,
            &match self.locks {
                Locks::Objects => json!({ "use_lockfile": true, "workspace_key_prefix": "" }),
                Locks::Table => json!({ "dynamodb_table": TABLE }),
                Locks::Both => json!({ "use_lockfile": true, "dynamodb_table": TABLE }),
            },
        )
    }
    fn server_of(&self, _state: &str) -> Option<String> {
        Some(self.server.address())
    }
    fn overwrite(&self, state: &str, content: &[u8]) -> bool {
        put(&self.server.url(), ("AKIATEST", "secret"), &format!("/{BUCKET}/dir/{state}.tfstate"), content);
        // A state that does not match its digest is another error, after ten seconds.
        if self.locks != Locks::Objects {
            let digest: String = Md5::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
            let row = format!("{BUCKET}/dir/{state}.tfstate-md5");
            let item = json!({ "TableName": TABLE, "Item": { "LockID": { "S": row }, "Digest": { "S": digest } } });
            self.server.dynamodb("PutItem", &item.to_string());
        }
        true
    }
    fn interrupt(&self) -> bool {
        self.relay.cut();
        true
    }
    fn resume(&self) {
        self.relay.resume();
    }
}

/// A server that verifies signatures.
struct Signed {
    server: S3Server,
    relay: Relay,
}

/// A signed PUT that has to succeed.
fn put(server: &str, (access_key, secret_key): (&str, &str), path: &str, body: &[u8]) {
    let settings = AwsSettings {
        region: Some("us-east-1".to_owned()),
        access_key: Some(access_key.to_owned()),
        secret_key: Some(Secret::new(secret_key)),
        ..AwsSettings::default()
    };
    let client = HttpClient::new(HttpSettings::default());
    let aws = Aws::new(settings, &Environment::default(), client, Arc::new(|path: &_| std::fs::read(path)));
    let aws = aws.expect("credentials are arguments");
    let url = Url::parse(&format!("{server}{path}")).expect("it is a URL");
    let request = Request { method: Method::PUT, body: Some(body.to_vec()), ..Request::new(url) };
    let request = aws.sign(request, Service::S3).expect("credentials are arguments");
    let response = aws.client().get(&request).expect("the server answers");
    assert!(response.is_success(), "{} {}", response.status, String::from_utf8_lossy(&response.body));
}

impl Signed {
    fn put(&self, path: &str, body: &[u8]) {
        put(&self.server.url(), (self.server.access_key(), self.server.secret_key()), path, body);
    }
}

fn signed(server: S3Server) -> Started {
    let relay = Relay::to(server.address());
    let server = Signed { server, relay };
    server.put(&format!("/{BUCKET}"), b"");
    Arc::new(server)
}

impl Subject for Signed {
    fn kind(&self) -> &'static str {
        "s3"
    }
    fn arguments(&self, state: &str) -> Json {
        let url = url(&self.server.url(), &self.relay, state);
        let arguments = arguments(&url, self.server.access_key(), self.server.secret_key(), state);
        with(
            arguments,
            &json!({
                "use_lockfile": true,
                "skip_credentials_validation": true,
                "skip_requesting_account_id": true,
                "state_tags": { "team": "a b" },
            }),
        )
    }
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }
    fn server_of(&self, _state: &str) -> Option<String> {
        Some(self.server.address())
    }
    fn overwrite(&self, state: &str, content: &[u8]) -> bool {
        self.put(&format!("/{BUCKET}/dir/{state}.tfstate"), content);
        true
    }
    fn interrupt(&self) -> bool {
        self.relay.cut();
        true
    }
    fn resume(&self) {
        self.relay.resume();
    }
}

pub(crate) fn subjects() -> Vec<Lazy> {
    let is_moto = is_installed("moto");
    [
        Lazy::new("s3 on moto with lock objects", "moto", is_moto, || on_moto(Locks::Objects)),
        Lazy::new("s3 on moto with a lock table", "moto", is_moto, || on_moto(Locks::Table)),
        Lazy::new("s3 on moto with both", "moto", is_moto, || on_moto(Locks::Both)),
        Lazy::new("s3 on versitygw", "versitygw", is_installed("versitygw"), || versitygw().map(signed)),
        Lazy::new("s3 on minio", "minio", is_installed("minio"), || minio().map(signed)),
    ]
    .map(Lazy::with_cuts)
    .into()
}
