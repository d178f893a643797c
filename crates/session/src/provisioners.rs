//! Provisioners: what runs beside a resource, here or on another machine.
//!
//! Each runs in a thread of its own; see [`relay`] for how it talks to the engine.

mod arguments;
mod connection;
mod file;
mod host;
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
use host::Host;

use crate::project::Project;

/// The provisioners there are: `local-exec`, `remote-exec` and `file`.
#[derive(Debug)]
pub struct LocalProvisioners {
    host: Arc<Host>,
    stop_now: Arc<AtomicBool>,
}

impl LocalProvisioners {
    /// Provisioners of a project, which end their commands as soon as the flag is set.
    pub fn new(project: &Project, stop_now: Arc<AtomicBool>) -> LocalProvisioners {
        LocalProvisioners { host: Arc::new(Host::of(project)), stop_now }
    }

    #[cfg(test)]
    fn of_tests(stop_now: Arc<AtomicBool>) -> LocalProvisioners {
        LocalProvisioners { host: Arc::new(Host::of_tests()), stop_now }
    }
}

impl Provisioners for LocalProvisioners {
    fn run<'p>(&'p self, order: ProvisionOrder, output: &'p dyn Fn(EcoString)) -> Provisioned<'p> {
        let host = Arc::clone(&self.host);
        relay::run(Arc::clone(&self.stop_now), output, move |voice| {
            let config = Arguments::new(&order.config);
            match order.kind.as_str() {
                "local-exec" => local_exec::run(&config, &host, voice),
                "remote-exec" => remote_exec::run(&config, &connection(&order, &host)?, &host, voice),
                "file" => file::run(&config, &connection(&order, &host)?, &host, voice),
                kind => Err(eco_format!("Provisioner \"{kind}\" does not exist.")),
            }
        })
    }
}

fn connection(order: &ProvisionOrder, host: &Host) -> Result<Connection, EcoString> {
    if order.connection.is_null() {
        return Err("The provisioner requires a \"connection\" block.".into());
    }
    Connection::new(&Arguments::new(&order.connection), host.ssh_agent)
}
