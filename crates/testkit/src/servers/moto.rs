//! moto: S3, DynamoDB, KMS and STS in one process and in memory.

use super::directory::Directory;
use super::http::{Answer, request};
use super::process::{Launch, Server};
use super::program::program;

/// A running moto. It verifies no signature: any access key and secret key will do. A restart loses the data.
#[derive(Debug)]
pub struct Moto {
    server: Server,
}

/// Starts moto. `None` if `moto_server` is not installed.
///
/// # Panics
/// If the server does not start.
pub fn moto() -> Option<Moto> {
    let program = program("moto_server")?;
    let launch = |port: u16| Launch::new("moto_server", program.clone(), &["-H", "127.0.0.1", "-p", &port.to_string()]);
    let ready = |port| request(port, "GET", "/moto-api/data.json", &[], "").is_some_and(|answer| answer.status == 200);
    Some(Moto { server: Server::start(Directory::new("moto"), launch, ready) })
}

impl Moto {
    /// The endpoint of every service.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// Creates a bucket in us-east-1.
    ///
    /// # Panics
    /// If the server refuses.
    pub fn create_bucket(&self, name: &str) {
        self.s3("PUT", &format!("/{name}"), "");
    }

    /// Turns on versioning of a bucket.
    ///
    /// # Panics
    /// If the server refuses.
    pub fn enable_versioning(&self, bucket: &str) {
        let body = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
        self.s3("PUT", &format!("/{bucket}?versioning"), body);
    }

    /// Creates a DynamoDB table whose hash key is the string attribute `LockID`.
    ///
    /// # Panics
    /// If the server refuses.
    pub fn create_lock_table(&self, name: &str) {
        let key = r#""KeySchema":[{"AttributeName":"LockID","KeyType":"HASH"}]"#;
        let attributes = r#""AttributeDefinitions":[{"AttributeName":"LockID","AttributeType":"S"}]"#;
        let body = format!(r#"{{"TableName":"{name}",{key},{attributes},"BillingMode":"PAY_PER_REQUEST"}}"#);
        self.dynamodb("CreateTable", &body);
    }

    /// Every item of a DynamoDB table, as the JSON of a `Scan`.
    ///
    /// # Panics
    /// If the server refuses.
    pub fn scan(&self, table: &str) -> String {
        self.dynamodb("Scan", &format!(r#"{{"TableName":"{table}"}}"#)).body
    }

    /// Creates a symmetric KMS key and returns its id.
    ///
    /// # Panics
    /// If the server refuses.
    pub fn create_kms_key(&self) -> String {
        let answer = self.call("kms", "TrentService.CreateKey", "application/x-amz-json-1.1", "{}");
        let (_, rest) = answer.body.split_once(r#""KeyId":"#).expect("because the response names the key");
        rest.trim_start().trim_start_matches('"').split('"').next().unwrap_or_default().to_owned()
    }

    /// Sends a request to S3 that has to succeed. `target` is `/BUCKET/KEY`, percent-encoded.
    ///
    /// # Panics
    /// If the status is not 2xx.
    pub fn s3(&self, method: &str, target: &str, body: &str) -> Answer {
        self.successful("s3", method, target, &[], body)
    }

    /// Sends a request to S3 with more headers and returns the response, whatever its status.
    ///
    /// # Panics
    /// If the server does not respond.
    pub fn ask_s3(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.ask("s3", method, target, headers, body)
    }

    /// Calls an operation of DynamoDB, such as `GetItem`.
    ///
    /// # Panics
    /// If the status is not 2xx.
    pub fn dynamodb(&self, operation: &str, body: &str) -> Answer {
        self.call("dynamodb", &format!("DynamoDB_20120810.{operation}"), "application/x-amz-json-1.0", body)
    }

    /// Forgets everything.
    ///
    /// # Panics
    /// If the server refuses.
    pub fn reset(&self) {
        self.successful("s3", "POST", "/moto-api/reset", &[], "");
    }

    fn call(&self, service: &str, target: &str, kind: &str, body: &str) -> Answer {
        self.successful(service, "POST", "/", &[("X-Amz-Target", target), ("Content-Type", kind)], body)
    }

    fn successful(&self, service: &str, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let answer = self.ask(service, method, target, headers, body);
        assert!((200..300).contains(&answer.status), "{method} {target}: {} {}", answer.status, answer.body);
        answer
    }

    /// moto finds the service in the credential scope of the signature.
    fn ask(&self, service: &str, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let scope = format!("AKIATEST/20260101/us-east-1/{service}/aws4_request");
        let signature = format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0");
        let headers = [&[("Authorization", signature.as_str())], headers].concat();
        let answer = request(self.server.port(), method, target, &headers, body);
        answer.unwrap_or_else(|| panic!("{method} {target}: no response of moto"))
    }
}

impl std::ops::Deref for Moto {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}
