//! The core of Vault with the transit engine: stands for OpenBao.

use super::directory::Directory;
use super::http::{Answer, request};
use super::process::{Launch, Server};
use super::program::program;

/// A running Vault, with the transit engine mounted at `transit/`. A restart loses the keys and the mount.
#[derive(Debug)]
pub struct VaultTransit {
    server: Server,
}

/// The root token.
const TOKEN: &str = "root-of-a-test";

/// Starts Vault and mounts the transit engine. `None` if `vault-transit` is not installed.
///
/// # Panics
/// If the server does not start.
pub fn vault_transit() -> Option<VaultTransit> {
    let program = program("vault-transit")?;
    let launch = |port: u16| Launch::new("vault-transit", program.clone(), &[&format!("127.0.0.1:{port}"), TOKEN]);
    let ready = |port| request(port, "GET", "/v1/sys/health", &[], "").is_some_and(|answer| answer.status == 200);
    let vault = VaultTransit { server: Server::start(Directory::new("vault-transit"), launch, ready) };
    vault.successful("POST", "/v1/sys/mounts/transit", r#"{"type":"transit"}"#);
    Some(vault)
}

impl VaultTransit {
    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// A root token.
    pub fn token(&self) -> &'static str {
        TOKEN
    }

    /// Creates an AES-256 key.
    ///
    /// # Panics
    /// If the server refuses.
    pub fn create_key(&self, name: &str) {
        self.successful("POST", &format!("/v1/transit/keys/{name}"), r#"{"type":"aes256-gcm96"}"#);
    }

    /// Sends a request with the root token.
    ///
    /// # Panics
    /// If the server does not respond.
    pub fn ask(&self, method: &str, target: &str, body: &str) -> Answer {
        let answer = request(self.server.port(), method, target, &[("X-Vault-Token", TOKEN)], body);
        answer.unwrap_or_else(|| panic!("{method} {target}: no response of vault-transit"))
    }

    fn successful(&self, method: &str, target: &str, body: &str) {
        let answer = self.ask(method, target, body);
        assert!((200..300).contains(&answer.status), "{method} {target}: {} {}", answer.status, answer.body);
    }
}

impl std::ops::Deref for VaultTransit {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}
