//! Diagnostics about arguments of the consul backend.

use std::io;
use std::path::Path;

use ecow::eco_format;
use yuba_syntax::Diagnostic;

yuba_syntax::catalogue! {
    /// An argument or environment variable of the `consul` backend has a value that cannot be used.
    CONSUL_ARGUMENT_INVALID = error "consul-argument-invalid", "Invalid backend configuration argument";
    /// The `consul` backend has a client certificate without its private key, or a private key without its certificate.
    CONSUL_CERTIFICATE_INCOMPLETE = error "consul-certificate-incomplete", "both client cert and client key must be provided";
    /// The address of Consul is a Unix socket, which this version does not support.
    CONSUL_SOCKET_UNSUPPORTED = error "consul-socket-unsupported", "Backend not available";
}

pub(crate) fn consul_path_missing() -> Diagnostic {
    Diagnostic::new(&CONSUL_ARGUMENT_INVALID, "The argument \"path\" of the consul backend must not be empty.")
}

pub(crate) fn consul_path_invalid(path: &str) -> Diagnostic {
    let detail = eco_format!(
        "The argument \"path\" of the consul backend is \"{path}\". Keys of Consul do not start with a slash."
    );
    Diagnostic::new(&CONSUL_ARGUMENT_INVALID, detail)
}

pub(crate) fn consul_path_relative(path: &str) -> Diagnostic {
    let detail = eco_format!(
        "The argument \"path\" of the consul backend is \"{path}\". Requests cannot name keys with the segment \".\" or \"..\"."
    );
    Diagnostic::new(&CONSUL_ARGUMENT_INVALID, detail).hint("Remove the segment from the path.")
}

pub(crate) fn consul_switch_invalid(variable: &str) -> Diagnostic {
    let detail = eco_format!("The environment variable {variable} must be \"true\" or \"false\".");
    Diagnostic::new(&CONSUL_ARGUMENT_INVALID, detail).hint(eco_format!("Change or unset {variable}."))
}

pub(crate) fn consul_scheme_unknown(scheme: &str) -> Diagnostic {
    let detail = eco_format!("The consul backend supports the schemes \"http\" and \"https\", not \"{scheme}\".");
    Diagnostic::new(&CONSUL_ARGUMENT_INVALID, detail)
}

pub(crate) fn consul_address_invalid(reason: &str) -> Diagnostic {
    let detail = eco_format!("The address of the consul backend is not valid: {reason}.");
    Diagnostic::new(&CONSUL_ARGUMENT_INVALID, detail).hint("Check \"address\" and CONSUL_HTTP_ADDR.")
}

pub(crate) fn consul_file_unreadable(what: &str, file: &Path, error: &io::Error) -> Diagnostic {
    let detail = eco_format!("Failed to read {}, which {what} of the consul backend names: {error}.", file.display());
    Diagnostic::new(&CONSUL_ARGUMENT_INVALID, detail)
}

pub(crate) fn consul_certificate_invalid(reason: &str) -> Diagnostic {
    let detail = eco_format!("The consul backend cannot use its certificates: {reason}.");
    Diagnostic::new(&CONSUL_ARGUMENT_INVALID, detail).hint("Check \"ca_file\", \"cert_file\" and \"key_file\".")
}

pub(crate) fn consul_certificate_incomplete() -> Diagnostic {
    let detail = "The consul backend needs both the certificate of the client and its private key.";
    Diagnostic::new(&CONSUL_CERTIFICATE_INCOMPLETE, detail).hint("Set both \"cert_file\" and \"key_file\".")
}

pub(crate) fn consul_socket() -> Diagnostic {
    let detail = "This version of Yuba does not connect to Consul through a Unix socket.";
    Diagnostic::new(&CONSUL_SOCKET_UNSUPPORTED, detail).hint("Set \"address\" to a host and a port.")
}
