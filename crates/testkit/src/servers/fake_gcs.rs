//! fake-gcs-server: Google Cloud Storage in memory.

use super::directory::Directory;
use super::http::{Answer, request};
use super::process::{Launch, Server};
use super::program::program;

/// A running fake-gcs-server. It accepts any token. A restart loses the data.
#[derive(Debug)]
pub struct FakeGcs {
    server: Server,
}

/// Starts fake-gcs-server. `None` if it is not installed.
///
/// # Panics
/// If the server does not start.
pub fn fake_gcs() -> Option<FakeGcs> {
    let program = program("fake-gcs-server")?;
    let launch = |port: u16| {
        let (port, address, url) = (port.to_string(), format!("127.0.0.1:{port}"), format!("http://127.0.0.1:{port}"));
        let listen = ["-scheme", "http", "-host", "127.0.0.1", "-port", &port, "-backend", "memory"];
        let names = ["-public-host", &address, "-external-url", &url];
        Launch::new("fake-gcs-server", program.clone(), &[listen.as_slice(), &names].concat())
    };
    let ready =
        |port| request(port, "GET", "/_internal/healthcheck", &[], "").is_some_and(|answer| answer.status == 200);
    Some(FakeGcs { server: Server::start(Directory::new("fake-gcs"), launch, ready) })
}

impl FakeGcs {
    /// The value of `storage_custom_endpoint`.
    pub fn endpoint(&self) -> String {
        format!("http://{}/storage/v1/", self.server.address())
    }

    /// Creates a bucket.
    ///
    /// # Panics
    /// If the server refuses.
    pub fn create_bucket(&self, name: &str) {
        let body = format!(r#"{{"name":"{name}"}}"#);
        let answer = self.ask("POST", "/storage/v1/b?project=p", &body);
        assert_eq!(answer.status, 200, "{}", answer.body);
    }

    /// Sends a request to the JSON API, with a body of JSON.
    ///
    /// # Panics
    /// If the server does not respond.
    pub fn ask(&self, method: &str, target: &str, body: &str) -> Answer {
        let headers = [("Content-Type", "application/json")];
        let answer = request(self.server.port(), method, target, &headers, body);
        answer.unwrap_or_else(|| panic!("{method} {target}: no response of fake-gcs-server"))
    }
}

impl std::ops::Deref for FakeGcs {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}
