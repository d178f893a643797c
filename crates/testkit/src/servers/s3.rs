//! Servers of S3 that verify signatures: versitygw and MinIO. Creating buckets needs a signature and is left to the caller.

use super::directory::Directory;
use super::http::request;
use super::process::{Launch, Server};
use super::program::program;

/// A running server of S3 in us-east-1, with its data in files.
#[derive(Debug)]
pub struct S3Server {
    server: Server,
}

/// Access key of the root account.
const ACCESS_KEY: &str = "AKIATESTTESTTEST";

/// Secret key of the root account.
const SECRET_KEY: &str = "secret-of-a-test-server";

/// Starts versitygw. `None` if it is not installed.
///
/// # Panics
/// If the server does not start.
pub fn versitygw() -> Option<S3Server> {
    let program = program("versitygw")?;
    let directory = Directory::new("versitygw");
    let data = directory.file("data");
    std::fs::create_dir(&data).expect("because the directory of the server is writable");
    let launch = |port: u16| {
        let address = format!("127.0.0.1:{port}");
        let account = ["--access", ACCESS_KEY, "--secret", SECRET_KEY, "--region", "us-east-1", "--port", &address];
        Launch::new("versitygw", program.clone(), &[account.as_slice(), &["posix", &data]].concat())
    };
    // A request without signature is refused, which is an answer too.
    let ready = |port| request(port, "GET", "/", &[], "").is_some();
    Some(S3Server { server: Server::start(directory, launch, ready) })
}

/// Starts MinIO, with a key for `aws:kms` encryption. It enforces customer keys (SSE-C) over plain HTTP as S3 does: it refuses them.
/// `None` if it is not installed.
///
/// # Panics
/// If the server does not start.
pub fn minio() -> Option<S3Server> {
    let program = program("minio")?;
    let directory = Directory::new("minio");
    let (data, certificates) = (directory.file("data"), directory.file("certs"));
    let launch = |port: u16| {
        let address = format!("127.0.0.1:{port}");
        let arguments = ["server", &data, "--address", &address, "--certs-dir", &certificates];
        Launch::new("minio", program.clone(), &arguments)
            .env("MINIO_ROOT_USER", ACCESS_KEY)
            .env("MINIO_ROOT_PASSWORD", SECRET_KEY)
            .env("MINIO_KMS_SECRET_KEY", KMS_KEY)
            .env("MINIO_BROWSER", "off")
    };
    // A server that is still starting answers 503. A request without signature is refused.
    let ready = |port| request(port, "PUT", "/ready", &[], "").is_some_and(|answer| answer.status == 403);
    Some(S3Server { server: Server::start(directory, launch, ready) })
}

/// Name and base64 of a key of 32 zero bytes.
const KMS_KEY: &str = "test-key:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

impl S3Server {
    /// The endpoint.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// Access key of the root account.
    pub fn access_key(&self) -> &'static str {
        ACCESS_KEY
    }

    /// Secret key of the root account.
    pub fn secret_key(&self) -> &'static str {
        SECRET_KEY
    }
}

impl std::ops::Deref for S3Server {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}
