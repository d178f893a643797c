//! Consul as one agent in development mode.

use super::directory::Directory;
use super::http::{Answer, request};
use super::ports::free_port;
use super::process::{Launch, Server};
use super::program::program;

/// A running Consul agent without access control. A restart loses the data.
#[derive(Debug)]
pub struct Consul {
    server: Server,
}

/// Starts Consul. `None` if it is not installed.
///
/// # Panics
/// If the server does not start.
pub fn consul() -> Option<Consul> {
    let program = program("consul")?;
    let launch = |port: u16| {
        let ports = [port, free_port(), free_port(), free_port()].map(|port| port.to_string());
        let mut arguments = vec!["agent", "-dev", "-bind", "127.0.0.1", "-client", "127.0.0.1"];
        arguments.extend(["-dns-port", "-1", "-grpc-port", "-1", "-grpc-tls-port", "-1", "-log-level", "warn"]);
        let flags = ["-http-port", "-server-port", "-serf-lan-port", "-serf-wan-port"];
        arguments.extend(flags.into_iter().zip(&ports).flat_map(|(flag, port)| [flag, port.as_str()]));
        Launch::new("consul", program.clone(), &arguments)
    };
    // The agent answers before it has elected itself, and refuses writes until then.
    let ready = |port| {
        let leader = request(port, "GET", "/v1/status/leader", &[], "");
        leader.is_some_and(|answer| answer.status == 200 && answer.body.len() > 2)
            && request(port, "GET", "/v1/kv/?keys", &[], "").is_some_and(|answer| matches!(answer.status, 200 | 404))
    };
    Some(Consul { server: Server::start(Directory::new("consul"), launch, ready) })
}

impl Consul {
    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// Every key.
    pub fn keys(&self) -> String {
        self.ask("GET", "/v1/kv/?keys", "").body
    }

    /// Sends a request to the API.
    ///
    /// # Panics
    /// If the server does not respond.
    pub fn ask(&self, method: &str, target: &str, body: &str) -> Answer {
        let answer = request(self.server.port(), method, target, &[], body);
        answer.unwrap_or_else(|| panic!("{method} {target}: no response of consul"))
    }
}

impl std::ops::Deref for Consul {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}
