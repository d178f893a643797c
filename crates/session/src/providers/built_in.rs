//! The provider that is built in, with the ids and states of this machine.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Poll, Waker};

use ecow::{EcoString, eco_format};
use yuba_backend::encryption::Sealing;
use yuba_backend::kit::arguments::Arguments;
use yuba_backend::{BackendConfiguration, Backends};
use yuba_provider::builtin::{self, RemoteOutput, RemoteState, StateReader, Terraform};
use yuba_provider::contract::ready;
use yuba_provider::{Answer, EvalExpr, LocalNames, Outcome, Problem, ProblemLocation, ProviderSchema};
use yuba_syntax::{Diagnostic, Diagnostics, Expr, Severity};
use yuba_value::{Path, Value};

use crate::backend::diagnostics;
use crate::encryption::Encryption;

/// Its schema.
pub(super) static SCHEMA: LazyLock<Arc<ProviderSchema>> = LazyLock::new(|| Arc::new(builtin::TERRAFORM.clone()));

/// Creates one that reads remote states with this encryption.
pub(super) fn start(encryption: Encryption, backends: Arc<Backends>) -> Terraform {
    Terraform::new(Arc::new(new_id), Arc::new(OtherStates { encryption, backends })).with_constants(constants)
}

/// A new random UUID.
pub fn new_id() -> EcoString {
    let mut bytes = [0_u8; 16];
    // Ids are not secret: a failure of the random source is ignored.
    let _ = getrandom::fill(&mut bytes);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = |part: &[u8]| part.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    eco_format!(
        "{}-{}-{}-{}-{}",
        hex(&bytes[..4]),
        hex(&bytes[4..6]),
        hex(&bytes[6..8]),
        hex(&bytes[8..10]),
        hex(&bytes[10..])
    )
}

fn constants() -> Box<dyn EvalExpr> {
    Box::new(Constants)
}

/// Evaluates expressions that refer to nothing.
pub(crate) struct Constants;

impl EvalExpr for Constants {
    fn eval(&mut self, expr: &Expr, _: &LocalNames) -> (Value, Diagnostics) {
        yuba_eval::constant(expr)
    }
}

/// States that other configurations have stored.
struct OtherStates {
    encryption: Encryption,
    backends: Arc<Backends>,
}

type Outputs = Option<BTreeMap<EcoString, RemoteOutput>>;

impl StateReader for OtherStates {
    fn check(&self, backend: &str, config: &Value) -> Vec<Problem> {
        match self.configuration(backend, config) {
            // Warnings too. Quirk: those about a backend block are not shown, as in OpenTofu.
            Ok(configuration) => {
                let in_body = |problem: Diagnostic| match problem.severity {
                    Severity::Warning => Problem { diagnostic: problem, location: ProblemLocation::Block },
                    Severity::Error => Problem::at(problem, Path::new()),
                };
                configuration.check().into_iter().map(in_body).collect()
            }
            Err(problem) => vec![*problem],
        }
    }

    fn outputs(&self, request: RemoteState) -> Answer<'_, Outcome<Outputs>> {
        let configuration = match self.configuration(&request.backend, &request.config) {
            Ok(configuration) => configuration,
            Err(problem) => return ready(Outcome::failed(*problem)),
        };
        let (backends, sealing) = (self.backends.clone(), self.encryption.of_remote(&request.address).cloned());
        let workspace = request.workspace.clone();
        let is_file = configuration.is_file();
        let read = move || read(&backends, &configuration, sealing, &workspace);
        match is_file {
            true => ready(read()),
            // A store over the network blocks, and other tasks wait for this thread.
            false => Box::pin(on_a_thread(read)),
        }
    }
}

impl OtherStates {
    /// The backend that a data source names, with its arguments.
    fn configuration(&self, backend: &str, config: &Value) -> Result<BackendConfiguration, Box<Problem>> {
        let Some(kind) = self.backends.find(backend) else {
            let problem = diagnostics::remote_state_backend_unknown(backend, &self.backends);
            return Err(Box::new(Problem::at(problem, Path::new().attr("backend"))));
        };
        // The arguments of a backend that is not available are not known.
        if !kind.is_available() {
            return Ok(BackendConfiguration::of_json(kind, &Default::default()));
        }
        let invalid = |reason: &str| {
            let problem = diagnostics::remote_state_arguments_invalid(backend, reason);
            Box::new(Problem::at(problem, Path::new().attr("config")))
        };
        let arguments = Arguments::of_object(&(kind.schema)(), config).map_err(|reason| invalid(&reason))?;
        let configuration = BackendConfiguration::of_json(kind, &Default::default()).with(arguments);
        match configuration.missing(&self.backends.environment.variables).first() {
            Some(name) => Err(invalid(&format!("the argument {name:?} is required"))),
            None => Ok(configuration),
        }
    }
}

fn read(
    backends: &Backends,
    configuration: &BackendConfiguration,
    sealing: Option<Sealing>,
    workspace: &str,
) -> Outcome<Outputs> {
    let storage = backends.open(configuration);
    let store = storage.and_then(|storage| backends.backend(&storage, sealing).existing(workspace));
    match store.and_then(|mut store| store.outputs()) {
        Err(problems) => Outcome::failed_with(problems.into_iter().map(Problem::nowhere).collect()),
        Ok(outputs) => Outcome::ok(outputs.map(|outputs| {
            let output = |(name, output): (&EcoString, &yuba_state::Output)| {
                let value = RemoteOutput {
                    value: output.value.clone(),
                    sensitive: output.sensitive,
                    deprecated: output.deprecated.clone(),
                };
                (name.clone(), value)
            };
            outputs.iter().map(output).collect()
        })),
    }
}

/// The result of a thread, and the task that waits for it.
type Handover<T> = Arc<Mutex<(Option<T>, Option<Waker>)>>;

/// The result of work that blocks, which is done on a thread of its own.
fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> impl Future<Output = T> + Send {
    let handover: Handover<T> = Arc::new(Mutex::new((None, None)));
    let theirs = Arc::clone(&handover);
    std::thread::spawn(move || {
        let result = work();
        let mut handover = super::lock(&theirs);
        handover.0 = Some(result);
        if let Some(waker) = handover.1.take() {
            waker.wake();
        }
    });
    std::future::poll_fn(move |context| {
        let mut handover = super::lock(&handover);
        handover.1 = Some(context.waker().clone());
        handover.0.take().map_or(Poll::Pending, Poll::Ready)
    })
}
