//! Diagnostics of `doctor` about the environment.

use yuba_syntax::Diagnostic;

yuba_syntax::catalogue! {
    /// The name of an environment variable is close to one that Yuba reads, and Yuba does not read it.
    DOCTOR_VARIABLE_MISSPELLED = warning "doctor-variable-misspelled", "Environment variable is not used";
}

pub(super) fn variable_misspelled(name: &str, close: &str) -> Diagnostic {
    let detail = format!("Yuba does not read the environment variable {name}.");
    Diagnostic::new(&DOCTOR_VARIABLE_MISSPELLED, detail).hint(format!("Did you mean {close}?"))
}
