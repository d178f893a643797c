//! Provisioners: what runs beside a resource, here or on another machine.
//!
//! Each runs in a thread of its own; see [`relay`] for how it talks to the engine.

mod arguments;
mod lines;
mod local_exec;
mod relay;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ecow::{EcoString, eco_format};
use yuba_engine::{ProvisionOrder, Provisioned, Provisioners};

use arguments::Arguments;

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
                kind => Err(eco_format!("There is no provisioner \"{kind}\".")),
            }
        })
    }
}
