//! Diagnostics about arguments of the kubernetes backend.

use ecow::eco_format;
use yuba_syntax::Diagnostic;

yuba_syntax::catalogue! {
    /// An argument of the `kubernetes` backend has a value that cannot be used.
    KUBERNETES_ARGUMENT_INVALID = error "kubernetes-argument-invalid", "Invalid backend configuration argument";
    /// Arguments, environment variables and kubeconfig files do not describe a connection to an API server of Kubernetes.
    KUBERNETES_NOT_CONFIGURED = error "kubernetes-not-configured", "Failed to initialize kubernetes configuration";
}

pub(crate) fn kubernetes_suffix_missing() -> Diagnostic {
    let detail = "The argument \"secret_suffix\" of the kubernetes backend must not be empty.";
    Diagnostic::new(&KUBERNETES_ARGUMENT_INVALID, detail)
}

pub(crate) fn kubernetes_suffix_invalid(reason: &str) -> Diagnostic {
    let detail = eco_format!("The argument \"secret_suffix\" of the kubernetes backend cannot be used: {reason}.");
    Diagnostic::new(&KUBERNETES_ARGUMENT_INVALID, detail)
}

pub(crate) fn kubernetes_not_configured(reason: &str) -> Diagnostic {
    let detail = eco_format!("The kubernetes backend cannot connect to an API server: {reason}.");
    Diagnostic::new(&KUBERNETES_NOT_CONFIGURED, detail)
}
