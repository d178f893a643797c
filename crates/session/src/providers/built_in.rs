//! The provider that is built in, with the ids and states of this machine.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use ecow::{EcoString, eco_format};
use yuba_backend::{Backend as _, Disk, Local, LocalSettings};
use yuba_provider::builtin::{self, RemoteOutput, RemoteState, StateReader, Terraform};
use yuba_provider::contract::ready;
use yuba_provider::{Answer, EvalExpr, LocalNames, Outcome, Problem, ProviderSchema};
use yuba_syntax::{Diagnostics, Expr};
use yuba_value::Value;

use crate::diagnostics;
use crate::encryption::Encryption;

/// What it has.
pub(super) static SCHEMA: LazyLock<Arc<ProviderSchema>> = LazyLock::new(|| Arc::new(builtin::TERRAFORM.clone()));

/// Makes one, which reads states of others that are encrypted as said.
pub(super) fn start(encryption: Encryption) -> Terraform {
    Terraform::new(Arc::new(new_id), Arc::new(LocalStates { encryption })).with_constants(constants)
}

/// A new random UUID.
pub fn new_id() -> EcoString {
    let mut bytes = [0_u8; 16];
    // Without randomness there is nothing to do but to go on with what there is: ids are not secret.
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

/// States that others have stored on this machine.
struct LocalStates {
    encryption: Encryption,
}

impl StateReader for LocalStates {
    fn outputs(&self, request: RemoteState) -> Answer<'_, Outcome<Option<BTreeMap<EcoString, RemoteOutput>>>> {
        ready(read(&request, &self.encryption))
    }
}

fn read(request: &RemoteState, encryption: &Encryption) -> Outcome<Option<BTreeMap<EcoString, RemoteOutput>>> {
    // It ends with the process, so nobody else has left a state there.
    if request.backend == "inmem" {
        return Outcome::ok(None);
    }
    if request.backend != "local" {
        let problem = diagnostics::remote_state_not_available(&request.address, &request.backend);
        return Outcome::failed(Problem::nowhere(problem));
    }
    let path = |name: &str| {
        let value = request.config.entries()?.into_iter().find(|(key, _)| key == name)?.1;
        value.as_str().map(|path| PathBuf::from(path.as_str()))
    };
    let settings =
        LocalSettings { path: path("path"), workspace_directory: path("workspace_dir"), ..LocalSettings::default() };
    let sealing = encryption.of_remote(&request.address).cloned();
    let backend = Local::new(Arc::new(Disk), settings).encrypted(sealing);
    let found = backend.open(&request.workspace).and_then(|mut store| store.read());
    match found {
        Err(problems) => Outcome::failed_with(problems.into_iter().map(Problem::nowhere).collect()),
        Ok(reading) => Outcome::ok(reading.state.map(|state| {
            let output = |(name, output): (&EcoString, &yuba_state::Output)| {
                let value = RemoteOutput {
                    value: output.value.clone(),
                    sensitive: output.sensitive,
                    deprecated: output.deprecated.clone(),
                };
                (name.clone(), value)
            };
            state.outputs.iter().map(output).collect()
        })),
    }
}
