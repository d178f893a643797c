//! The diagnostics about provider processes and their responses.

use std::path::Path;
use std::time::Duration;

use ecow::{EcoString, eco_format};
use yuba_addrs::ProviderSource;
use yuba_provider::{Problem, ProblemLocation};
use yuba_syntax::Diagnostic;

use crate::last_words::is_panic;
use crate::process::StartFailure;
use crate::settings::Address;
use crate::wire::{CallError, GrpcCode, MESSAGE_LIMIT};

yuba_syntax::catalogue! {
    /// The environment variable TF_REATTACH_PROVIDERS is malformed.
    REATTACH_INVALID = error "reattach-invalid", "Invalid TF_REATTACH_PROVIDERS";
    /// The process of a provider does not start, or exits before the handshake.
    PROVIDER_START_FAILED = error "provider-start-failed", "Failed to instantiate provider";
    /// The connection to a provider process fails.
    PROVIDER_CONNECTION_FAILED = error "provider-connection-failed", "Failed to instantiate provider";
    /// A provider does not support encrypted connections.
    PROVIDER_WITHOUT_CERTIFICATE = error "provider-without-certificate", "Failed to instantiate provider";
    /// The schema of a provider cannot be loaded, because the provider does not start or reports an error.
    PROVIDER_SCHEMA_UNAVAILABLE = error "provider-schema-unavailable", "Failed to load plugin schemas";
    /// The schema of a provider is inconsistent.
    PROVIDER_SCHEMA_INVALID = error "provider-schema-invalid", "Failed to load plugin schemas";
    /// A provider does not respond in time.
    PROVIDER_TIMED_OUT = error "provider-timed-out", "Plugin did not respond";
    /// The process of a provider exits during a request.
    PROVIDER_CRASHED = error "provider-crashed", "Plugin did not respond";
    /// A provider process is not reachable.
    PROVIDER_UNREACHABLE = error "provider-unreachable", "Plugin did not respond";
    /// A request to a provider is cancelled.
    PROVIDER_REQUEST_CANCELLED = error "provider-request-cancelled", "Request cancelled";
    /// A provider does not implement a request.
    PROVIDER_METHOD_UNSUPPORTED = error "provider-method-unsupported", "Unsupported plugin method";
    /// A request to a provider, or its response, is larger than the limit.
    PROVIDER_MESSAGE_TOO_LARGE = error "provider-message-too-large", "Plugin error";
    /// A provider responds with an error of the protocol.
    PROVIDER_REQUEST_FAILED = error "provider-request-failed", "Plugin error";
    /// A value cannot be encoded for a provider.
    PROVIDER_REQUEST_NOT_ENCODED = error "provider-request-not-encoded", "Plugin error";
    /// A value in the response of a provider is malformed.
    PROVIDER_RESPONSE_MALFORMED = error "provider-response-malformed", "Plugin error";
    /// A provider does not have a resource, data source or ephemeral resource type.
    PROVIDER_TYPE_UNKNOWN = error "provider-type-unknown", "Plugin error";
    /// A provider does not declare the identity of a resource type.
    IDENTITY_SCHEMA_MISSING = error "identity-schema-missing", "No identity schema found";
    /// A provider returns no identity when it upgrades a stored one.
    UPGRADED_IDENTITY_MISSING = error "upgraded-identity-missing", "Provider returned no identity after upgrade";
    /// A provider returns a value for a write-only attribute.
    WRITE_ONLY_VALUE_RETURNED = error "write-only-value-returned", "Invalid provider response";
    /// A provider defers a request although deferral is not allowed.
    DEFERRAL_NOT_ALLOWED = error "deferral-not-allowed", "Provider deferred changes unexpectedly";
    /// A provider reports that it cannot stop.
    PROVIDER_STOP_FAILED = warning "provider-stop-failed", "Provider did not stop";
}

const PROVIDER_BUG: &str = "This is a bug in the provider.";
const REPORT_PROVIDER_BUG: &str = "Use another version of the provider, and report the bug to its maintainers.";

pub(crate) fn invalid_reattach(reason: &str) -> Diagnostic {
    Diagnostic::new(
        &REATTACH_INVALID,
        eco_format!("The environment variable TF_REATTACH_PROVIDERS is invalid: {reason}."),
    )
    .hint("Unset it, or set it to the value that the provider printed when it was started.")
}

/// A problem of the block that a request was made for.
fn about_block(diagnostic: Diagnostic) -> Box<Problem> {
    Box::new(Problem { diagnostic, location: ProblemLocation::Block })
}

fn nowhere(diagnostic: Diagnostic) -> Box<Problem> {
    Box::new(Problem::nowhere(diagnostic))
}

fn with_last_words(mut detail: String, words: Option<String>) -> EcoString {
    if let Some(words) = words {
        detail += "\n\nThe last lines of its log:\n\n";
        words.lines().for_each(|line| detail += &format!("{}{line}\n", if line.is_empty() { "" } else { "  " }));
    }
    detail.trim_end().into()
}

/// A provider process did not start.
pub(crate) fn start_failed(who: &ProviderSource, executable: &Path, failure: StartFailure) -> Box<Problem> {
    let who = who.for_display();
    let program = executable.display();
    let (detail, hint) = match failure {
        StartFailure::Spawn(error) => (
            eco_format!("Failed to start provider {who}: {program}: {error}."),
            "Run \"yuba init\" to install it again, or check the executable if you built it yourself.",
        ),
        StartFailure::Exited(how, words) => (
            with_last_words(
                format!(
                    "Provider {who} exited during startup, before the handshake ({how}). Its executable is {program}."
                ),
                words,
            ),
            "Check that the executable is for this platform and that all its dependencies are installed.",
        ),
        StartFailure::NoHandshake(error, words) => (
            with_last_words(
                format!("The handshake with provider {who} failed: {}. Its executable is {program}.", error.reason),
                words,
            ),
            error.hint,
        ),
        StartFailure::Silent(patience, words) => (
            with_last_words(
                format!(
                    "Provider {who} did not complete the handshake within {} and was stopped. Its executable is {program}.",
                    seconds(patience)
                ),
                words,
            ),
            "Check that the executable is a provider and that the machine is not overloaded.",
        ),
    };
    nowhere(Diagnostic::new(&PROVIDER_START_FAILED, detail).hint(hint))
}

fn seconds(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{} milliseconds", time.as_millis()),
        1 => "1 second".into(),
        many => format!("{many} seconds"),
    }
}

/// The connection to a provider process failed.
pub(crate) fn no_connection(who: &ProviderSource, address: Option<&Address>, reason: &str) -> Box<Problem> {
    let at = address.map(|address| format!(" at {address}")).unwrap_or_default();
    let detail = eco_format!("Failed to connect to provider {}{at}: {reason}.", who.for_display());
    nowhere(Diagnostic::new(&PROVIDER_CONNECTION_FAILED, detail))
}

/// The certificate of a provider is not the announced one, or the encrypted connection failed.
pub(crate) fn encryption_failed(
    who: &ProviderSource,
    address: Option<&Address>,
    error: &std::io::Error,
) -> Box<Problem> {
    let reason = format!(
        "the encrypted connection failed ({error}). Yuba accepts only the certificate that the provider announced, so \
         another process may listen at its address"
    );
    no_connection(who, address, &reason)
}

/// The connection must be encrypted, and the provider has no certificate.
pub(crate) fn no_certificate(who: &ProviderSource) -> Box<Problem> {
    let detail = eco_format!(
        "Provider {} did not present a certificate for the encrypted connection. It was built with a library that is too \
         old to support encryption.",
        who.for_display()
    );
    let hint = "Use a newer version of the provider, or set the environment variable TF_DISABLE_PLUGIN_TLS=1 to disable \
        encryption.";
    nowhere(Diagnostic::new(&PROVIDER_WITHOUT_CERTIFICATE, detail).hint(hint))
}

/// Provider processes cannot be started at all.
pub(crate) fn cannot_start(who: &ProviderSource, reason: &str) -> Box<Problem> {
    let detail = eco_format!("Failed to start provider {}: {reason}.", who.for_display());
    nowhere(Diagnostic::new(&PROVIDER_START_FAILED, detail))
}

/// The schema cannot be loaded, for the reason of another problem.
pub(crate) fn no_schema(problem: Problem) -> Box<Problem> {
    let Diagnostic { detail, hint, .. } = problem.diagnostic;
    nowhere(Diagnostic::new(&PROVIDER_SCHEMA_UNAVAILABLE, detail).hint(hint.unwrap_or_default()))
}

pub(crate) fn invalid_schema(who: &ProviderSource, reason: &str) -> Box<Problem> {
    let detail = eco_format!("The schema of provider {} is invalid: {reason}. {PROVIDER_BUG}", who.for_display());
    nowhere(Diagnostic::new(&PROVIDER_SCHEMA_INVALID, detail).hint(REPORT_PROVIDER_BUG))
}

/// A provider process runs, but does not respond.
pub(crate) fn no_answer(who: &ProviderSource, call: &str, patience: Duration) -> Box<Problem> {
    let detail = eco_format!(
        "Provider {} did not respond to {call} within {} and was stopped.",
        who.for_display(),
        seconds(patience)
    );
    let hint = "Check that the machine is not overloaded, or use another version of the provider.";
    about_block(Diagnostic::new(&PROVIDER_TIMED_OUT, detail).hint(hint))
}

/// A call failed because the process exited.
pub(crate) fn crashed(who: &ProviderSource, call: &str, how: &str, words: Option<String>) -> Box<Problem> {
    let panicked = words.as_deref().and_then(|words| words.lines().next()).is_some_and(is_panic);
    let text = format!(
        "Provider {} {} during {call} ({how}). {PROVIDER_BUG} Changes that it was making may be incomplete.",
        who.for_display(),
        if panicked { "crashed" } else { "exited" },
    );
    let hint = match words {
        Some(_) => "",
        None => "Set TF_LOG_PROVIDER=trace to see more of its log.",
    };
    about_block(Diagnostic::new(&PROVIDER_CRASHED, with_last_words(text, words)).hint(hint))
}

/// A call failed because the process exited, as an earlier one did.
pub(crate) fn crashed_too(who: &ProviderSource, call: &str, how: &str) -> Box<Problem> {
    let detail = eco_format!(
        "Provider {} exited during {call} ({how}). The error of the first failed request contains the last lines of its \
         log.",
        who.for_display()
    );
    about_block(Diagnostic::new(&PROVIDER_CRASHED, detail))
}

/// A call failed although the process runs.
pub(crate) fn call_failed(who: &ProviderSource, call: &str, error: &CallError) -> Box<Problem> {
    let who = who.for_display();
    let limit = MESSAGE_LIMIT >> 20;
    about_block(match error {
        CallError::Broken(_) | CallError::Status(GrpcCode::UNAVAILABLE, _) => {
            Diagnostic::new(&PROVIDER_UNREACHABLE, eco_format!("Failed to send {call} to provider {who}: {error}."))
                .hint("Check the log of the provider.")
        }
        CallError::Status(GrpcCode::CANCELLED, _) => {
            Diagnostic::new(&PROVIDER_REQUEST_CANCELLED, eco_format!("Provider {who} cancelled {call}."))
        }
        CallError::Status(GrpcCode::UNIMPLEMENTED, _) => {
            Diagnostic::new(&PROVIDER_METHOD_UNSUPPORTED, eco_format!("Provider {who} does not support {call}."))
                .hint("Use a newer version of the provider.")
        }
        CallError::AnswerTooLarge => Diagnostic::new(
            &PROVIDER_MESSAGE_TOO_LARGE,
            eco_format!("The response of provider {who} to {call} is larger than the limit of {limit} MiB."),
        )
        .hint("Request less data at a time, or use another version of the provider."),
        CallError::RequestTooLarge => Diagnostic::new(
            &PROVIDER_MESSAGE_TOO_LARGE,
            eco_format!("The request {call} to provider {who} is larger than the limit of {limit} MiB."),
        )
        .hint("Make the values in the configuration smaller."),
        CallError::Status(..) => Diagnostic::new(
            &PROVIDER_REQUEST_FAILED,
            eco_format!("Provider {who} responded to {call} with an error: {error}."),
        ),
    })
}

/// Yuba exits while a request is pending.
pub(crate) fn cancelled(who: &ProviderSource) -> Box<Problem> {
    let detail = eco_format!("The request to provider {} was cancelled, because Yuba is exiting.", who.for_display());
    about_block(Diagnostic::new(&PROVIDER_REQUEST_CANCELLED, detail))
}

/// A value cannot be encoded.
pub(crate) fn cannot_send(who: &ProviderSource, what: &str, reason: &str) -> Box<Problem> {
    let detail = eco_format!("{what} cannot be sent to provider {}: {reason}.", who.for_display());
    let hint = "This is a bug in Yuba: report it.";
    about_block(Diagnostic::new(&PROVIDER_REQUEST_NOT_ENCODED, detail).hint(hint))
}

/// A value in a response cannot be decoded.
pub(crate) fn cannot_read(who: &ProviderSource, call: &str, what: &str, reason: &str) -> Box<Problem> {
    let detail = eco_format!(
        "Failed to read {what} in the response of provider {} to {call}: {reason}. {PROVIDER_BUG}",
        who.for_display()
    );
    about_block(Diagnostic::new(&PROVIDER_RESPONSE_MALFORMED, detail).hint(REPORT_PROVIDER_BUG))
}

/// A type that the schema does not have.
pub(crate) fn unknown_type(who: &ProviderSource, what: &str, kind: &str) -> Box<Problem> {
    let detail = eco_format!("Provider {} does not have a {what} type {kind:?}.", who.for_display());
    about_block(Diagnostic::new(&PROVIDER_TYPE_UNKNOWN, detail))
}

pub(crate) fn no_identity_schema(who: &ProviderSource, kind: &str) -> Box<Problem> {
    let detail = eco_format!("Provider {} does not support identities for the type {kind:?}.", who.for_display());
    nowhere(Diagnostic::new(&IDENTITY_SCHEMA_MISSING, detail))
}

pub(crate) fn no_identity(who: &ProviderSource, kind: &str) -> Box<Problem> {
    let detail = eco_format!(
        "Provider {} returned neither an identity nor an error when it upgraded the stored identity of an object of the \
         type {kind:?}. {PROVIDER_BUG}",
        who.for_display()
    );
    nowhere(Diagnostic::new(&UPGRADED_IDENTITY_MISSING, detail).hint(REPORT_PROVIDER_BUG))
}

/// A write-only attribute has a value in a response.
pub(crate) fn write_only_value(who: &ProviderSource, kind: &str, path: &str) -> Problem {
    let detail = eco_format!(
        "Provider {} returned a value for the write-only attribute {path:?} of the type {kind:?}. {PROVIDER_BUG}",
        who.for_display()
    );
    Problem::nowhere(Diagnostic::new(&WRITE_ONLY_VALUE_RETURNED, detail).hint(REPORT_PROVIDER_BUG))
}

/// A provider defers a request to a later run.
pub(crate) fn deferred(who: &ProviderSource, call: &str, reason: &str) -> Problem {
    let detail = eco_format!(
        "Provider {} deferred {call} to a later run ({reason}), although the request does not allow deferral. \
         {PROVIDER_BUG} Values that are unknown until apply often cause this.",
        who.for_display()
    );
    let hint = "Use -target to apply the objects that these values depend on first.";
    *about_block(Diagnostic::new(&DEFERRAL_NOT_ALLOWED, detail).hint(hint))
}

/// A provider reports that it cannot stop.
pub(crate) fn stop_failed(who: &ProviderSource, reason: &str) -> Problem {
    let detail = eco_format!("Provider {} failed to stop its pending requests: {reason}", who.for_display());
    Problem::nowhere(Diagnostic::new(&PROVIDER_STOP_FAILED, detail))
}

/// A provider responds to the request for its schema with an error.
pub(crate) fn schema_refused(who: &ProviderSource, problem: &Problem) -> Box<Problem> {
    let summary = &problem.diagnostic.summary;
    let explanation = problem.diagnostic.explanation();
    let colon = if explanation.is_empty() { "" } else { ": " };
    let detail = eco_format!(
        "Provider {} responded to the request for its schema with an error: {summary}{colon}{explanation}",
        who.for_display()
    );
    nowhere(Diagnostic::new(&PROVIDER_SCHEMA_UNAVAILABLE, detail))
}
