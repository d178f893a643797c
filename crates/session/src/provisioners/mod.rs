//! Provisioners: what runs beside a resource, here or on another machine.
//!
//! Each runs in a thread of its own; see [`relay`] for how it talks to the engine.

mod arguments;
mod connection;
mod file;
mod lines;
mod local_exec;
mod process;
mod relay;
mod remote_exec;
mod room;
mod scp;
mod settings;
mod ssh;
#[cfg(all(test, unix))]
mod ssh_tests;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ecow::{EcoString, eco_format};
use yuba_engine::{ProvisionOrder, Provisioned, Provisioners};

use arguments::Arguments;
use connection::Connection;

/// The provisioners there are: `local-exec`, `remote-exec` and `file`.
#[derive(Debug)]
pub struct LocalProvisioners {
    stop_now: Arc<AtomicBool>,
}

impl LocalProvisioners {
    /// Provisioners that end what they run as soon as the flag is set.
    pub fn new(stop_now: Arc<AtomicBool>) -> LocalProvisioners {
        LocalProvisioners { stop_now }
    }
}

impl Provisioners for LocalProvisioners {
    fn run<'p>(&'p self, order: ProvisionOrder, output: &'p dyn Fn(EcoString)) -> Provisioned<'p> {
        relay::run(Arc::clone(&self.stop_now), output, move |voice| {
            let config = Arguments::new(&order.config);
            match order.kind.as_str() {
                "local-exec" => local_exec::run(&config, voice),
                "remote-exec" => remote_exec::run(&config, &connection(&order)?, voice),
                "file" => file::run(&config, &connection(&order)?, voice),
                kind => Err(eco_format!("There is no provisioner \"{kind}\".")),
            }
        })
    }
}

fn connection(order: &ProvisionOrder) -> Result<Connection, EcoString> {
    if order.connection.is_null() {
        return Err("There is no \"connection\" block that says how to reach the machine.".into());
    }
    let agent_runs = std::env::var_os("SSH_AUTH_SOCK").is_some_and(|path| !path.is_empty());
    Connection::new(&Arguments::new(&order.connection), agent_runs)
}
