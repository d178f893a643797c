//! Logs (`TF_LOG` and its relatives) and profiles (`-profile`): the one `tracing` subscriber of the process.
//!
//! Library crates open spans and emit events; they read neither the environment nor this module. [`Telemetry::start`] reads the
//! environment once and installs a subscriber only where a log or a profile is wanted. Otherwise every span and event of the
//! process costs one load of a static.
//!
//! Invariant: no value of the configuration, of the state or of a request is a field of a span or event. Fields are addresses,
//! paths, method names, counts and URLs without query and user.

mod diagnostics;
mod fields;
mod lines;
mod log;
mod observer;
mod profile;

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use tracing::{Dispatch, dispatcher};
use yuba_plugin::LogSink;

use self::log::Log;
use self::observer::Observer;
use self::profile::Profile;
use crate::exit::Failure;
use crate::flags::Args;
use crate::settings::environment;

/// The log of this process. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Telemetry {
    log: Arc<Log>,
}

impl Telemetry {
    /// Opens the log that the environment asks for and the profile that the flags ask for, and installs the subscriber if there
    /// is a reader for spans. Fails if the profile cannot be written.
    pub(crate) fn start(command: &str, args: &Args) -> Result<Telemetry, Failure> {
        let profile = match args.text("profile") {
            Some(path) => {
                let create = Profile::create(Path::new(path), command);
                Some(create.map_err(|error| diagnostics::profile_not_writable(path, &error))?)
            }
            None => None,
        };
        let log = Arc::new(Log::new(environment));
        if profile.is_some() {
            end_profile_on_signals();
        }
        if profile.is_some() || log.core_level().is_some() {
            let observer = Observer::new(Arc::clone(&log), profile);
            // The only other way to have a subscriber is to have installed one here before.
            let _ = dispatcher::set_global_default(Dispatch::new(observer));
        }
        tracing::info!("Yuba version: {}", env!("CARGO_PKG_VERSION"));
        tracing::info!(command, flags = %flag_names(args), "CLI command");
        Ok(Telemetry { log })
    }

    /// Target of the logs of providers.
    pub(crate) fn provider_sink(&self) -> LogSink {
        log::provider_sink(&self.log)
    }
}

/// Names of the flags that were given. Their values may be secret.
fn flag_names(args: &Args) -> String {
    args.iter().map(|(name, _)| format!("-{name}")).collect::<Vec<_>>().join(" ")
}

/// Completes the profile, if there is one: open spans end now. Nothing is recorded afterwards.
pub(crate) fn finish() {
    dispatcher::get_default(|dispatch| {
        let Some(observer) = dispatch.downcast_ref::<Observer>() else { return };
        if let Err(error) = observer.finish() {
            let _ = writeln!(std::io::stderr().lock(), "Failed to write the profile: {error}.");
        }
    });
}

/// A signal that ends the process completes the profile first.
#[cfg(unix)]
fn end_profile_on_signals() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else { return };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            // A command that handles signals ends by itself.
            if !crate::signals::are_handled() {
                finish();
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        }
    });
}

#[cfg(not(unix))]
fn end_profile_on_signals() {}
