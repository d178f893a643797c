//! What can go wrong with provider processes and what they answer.

use std::path::Path;

use ecow::{EcoString, eco_format};
use yuba_addrs::ProviderSource;
use yuba_provider::{Place, Problem};
use yuba_syntax::Diagnostic;

use crate::last_words::is_panic;
use crate::process::StartFailure;
use crate::settings::Address;
use crate::wire::{CallError, Code, MESSAGE_LIMIT};

pub(crate) fn invalid_reattach(reason: &str) -> Diagnostic {
    let detail = eco_format!(
        "The environment variable TF_REATTACH_PROVIDERS names providers that run already, but {reason}. Unset it to have \
         providers started, or copy what the provider printed when it was started."
    );
    Diagnostic::error("Invalid TF_REATTACH_PROVIDERS", detail)
}

/// About the whole block that a request was made for.
fn about_block(summary: &str, detail: EcoString) -> Box<Problem> {
    Box::new(Problem { diagnostic: Diagnostic::error(summary, detail), place: Place::Block })
}

fn with_last_words(mut detail: String, words: Option<String>) -> EcoString {
    if let Some(words) = words {
        detail += "\n\nIts last words were:\n\n";
        words.lines().for_each(|line| detail += &format!("{}{line}\n", if line.is_empty() { "" } else { "  " }));
    }
    detail.trim_end().into()
}

/// A provider did not start.
pub(crate) fn start_failed(who: &ProviderSource, executable: &Path, failure: StartFailure) -> Box<Problem> {
    let who = who.for_display();
    let program = executable.display();
    let detail = match failure {
        StartFailure::Spawn(error) => eco_format!(
            "The provider {who} could not be started: {program}: {error}. Run \"yuba init\" to install it again, or \
             check the program if you built it yourself."
        ),
        StartFailure::Exited(how, words) => {
            let text = format!(
                "The provider {who} ended right after it was started ({how}), before it said how it can be reached. The \
                 program is {program}; it may be one for another platform, or it may need something of this machine."
            );
            with_last_words(text, words)
        }
        StartFailure::NoHandshake(reason, words) => with_last_words(
            format!("The provider {who} could not be reached. {reason}. The program is {program}."),
            words,
        ),
        StartFailure::Silent(patience, words) => {
            let text = format!(
                "The provider {who} was started, but did not say within {} how it can be reached, so it was stopped. The \
                 program is {program}; the machine may be too busy, or the program may not be a provider.",
                seconds(patience)
            );
            with_last_words(text, words)
        }
    };
    Box::new(Problem::nowhere(Diagnostic::error("Failed to instantiate provider", detail)))
}

fn seconds(time: std::time::Duration) -> String {
    match time.as_secs() {
        0 => format!("{} milliseconds", time.as_millis()),
        1 => "a second".into(),
        many => format!("{many} seconds"),
    }
}

/// A provider was started or is said to run, but there is no connection to it.
pub(crate) fn no_connection(who: &ProviderSource, address: Option<&Address>, reason: &str) -> Box<Problem> {
    let at = address.map(|address| format!(" at {address}")).unwrap_or_default();
    let detail = eco_format!("There is no connection to the provider {}{at}: {reason}.", who.for_display());
    Box::new(Problem::nowhere(Diagnostic::error("Failed to instantiate provider", detail)))
}

/// The connection must be encrypted, and the provider did not say how.
pub(crate) fn no_certificate(who: &ProviderSource) -> Box<Problem> {
    let detail = eco_format!(
        "The provider {} was asked to encrypt the connection, and showed no certificate. It was built with a library \
         that is too old for that: choose a newer version of the provider. In an emergency, the environment variable \
         TF_DISABLE_PLUGIN_TLS=1 turns encryption off.",
        who.for_display()
    );
    Box::new(Problem::nowhere(Diagnostic::error("Failed to instantiate provider", detail)))
}

/// Nothing can be started here at all.
pub(crate) fn cannot_start(who: &ProviderSource, reason: &str) -> Box<Problem> {
    let detail = eco_format!("The provider {} could not be started: {reason}.", who.for_display());
    Box::new(Problem::nowhere(Diagnostic::error("Failed to instantiate provider", detail)))
}

/// What a provider has could not be found out, for the reason that another problem tells.
pub(crate) fn no_schema(problem: Problem) -> Box<Problem> {
    let detail = problem.diagnostic.detail;
    Box::new(Problem::nowhere(Diagnostic {
        summary: "Failed to load plugin schemas".into(),
        detail,
        ..problem.diagnostic
    }))
}

/// What a provider says about itself makes no sense.
pub(crate) fn invalid_schema(who: &ProviderSource, reason: &str) -> Box<Problem> {
    let detail = eco_format!(
        "The provider {} describes what it has in a way that makes no sense: {reason}. This is a bug in the provider: \
         choose another version of it, and tell its maintainers.",
        who.for_display()
    );
    Box::new(Problem::nowhere(Diagnostic::error("Failed to load plugin schemas", detail)))
}

/// A provider is there, but does not answer.
pub(crate) fn no_answer(who: &ProviderSource, call: &str, patience: std::time::Duration) -> Box<Problem> {
    let detail = eco_format!(
        "The provider {} was asked {call} and did not answer within {}, so it was stopped. The machine may be too busy; \
         otherwise choose another version of the provider.",
        who.for_display(),
        seconds(patience)
    );
    about_block("Plugin did not respond", detail)
}

/// A call failed because the process is gone.
pub(crate) fn crashed(who: &ProviderSource, call: &str, how: &str, words: Option<String>) -> Box<Problem> {
    let panicked = words.as_deref().and_then(|words| words.lines().next()).is_some_and(is_panic);
    let text = format!(
        "The provider {} {} while it was working on {call} ({how}). This is a bug in the provider; what it was doing may \
         be half done.{}",
        who.for_display(),
        if panicked { "crashed" } else { "ended" },
        match words {
            Some(_) => "",
            None => " It said nothing about it; with TF_LOG_PROVIDER=trace more may be seen.",
        }
    );
    about_block("Plugin did not respond", with_last_words(text, words))
}

/// A call failed because the process is gone, as another one before.
pub(crate) fn crashed_too(who: &ProviderSource, call: &str, how: &str) -> Box<Problem> {
    let detail = eco_format!(
        "The provider {} ended while it was working on {call} ({how}). What it said last is told with the first request \
         that failed for this reason.",
        who.for_display()
    );
    about_block("Plugin did not respond", detail)
}

/// A call failed although the process is there.
pub(crate) fn call_failed(who: &ProviderSource, call: &str, error: &CallError) -> Box<Problem> {
    let who = who.for_display();
    match error {
        CallError::Broken(_) | CallError::Status(Code::UNAVAILABLE, _) => {
            let detail = eco_format!(
                "The provider {who} could not be reached for {call}: {error}. It may have ended; its logs may tell more."
            );
            about_block("Plugin did not respond", detail)
        }
        CallError::Status(Code::CANCELLED, _) => {
            about_block("Request cancelled", eco_format!("The provider {who} cancelled {call}."))
        }
        CallError::Status(Code::UNIMPLEMENTED, _) => {
            let detail =
                eco_format!("The provider {who} cannot do {call}. A newer version of the provider may be able to.");
            about_block("Unsupported plugin method", detail)
        }
        CallError::AnswerTooLarge => {
            let detail = eco_format!(
                "The provider {who} answered {call} with more than {} MiB, which is not read. Ask for less at a time if \
                 you can, or choose another version of the provider.",
                MESSAGE_LIMIT >> 20
            );
            about_block("Plugin error", detail)
        }
        CallError::RequestTooLarge => {
            let detail = eco_format!(
                "The request {call} to the provider {who} has more than {} MiB, which is not sent. Make the values in the \
                 configuration smaller.",
                MESSAGE_LIMIT >> 20
            );
            about_block("Plugin error", detail)
        }
        CallError::Status(..) => {
            about_block("Plugin error", eco_format!("The provider {who} answered {call} with an error: {error}."))
        }
    }
}

/// We are ending while something was still asked.
pub(crate) fn cancelled(who: &ProviderSource) -> Box<Problem> {
    let detail = eco_format!("The provider {} was not waited for, because the program is ending.", who.for_display());
    about_block("Request cancelled", detail)
}

/// A value cannot be sent.
pub(crate) fn cannot_send(who: &ProviderSource, what: &str, reason: &str) -> Box<Problem> {
    let detail = eco_format!(
        "{what} cannot be sent to the provider {}: {reason}. This is a bug in Yuba: please report it.",
        who.for_display()
    );
    about_block("Plugin error", detail)
}

/// A value that came back cannot be read.
pub(crate) fn cannot_read(who: &ProviderSource, call: &str, what: &str, reason: &str) -> Box<Problem> {
    let detail = eco_format!(
        "The provider {} answered {call}, but {what} in the answer cannot be read: {reason}. This is a bug in the \
         provider.",
        who.for_display()
    );
    about_block("Plugin error", detail)
}

/// A type that the schema does not have.
pub(crate) fn unknown_type(who: &ProviderSource, what: &str, kind: &str) -> Box<Problem> {
    let detail = eco_format!("The provider {} has no {what} type {kind:?}.", who.for_display());
    about_block("Plugin error", detail)
}

pub(crate) fn no_identity_schema(who: &ProviderSource, kind: &str) -> Box<Problem> {
    let detail = eco_format!(
        "The provider {} does not say what identifies objects of the type {kind:?}, so these have no identity.",
        who.for_display()
    );
    Box::new(Problem::nowhere(Diagnostic::error("No identity schema found", detail)))
}

pub(crate) fn no_identity(who: &ProviderSource, kind: &str) -> Box<Problem> {
    let detail = eco_format!(
        "The provider {} was given the stored identity of an object of the type {kind:?} and answered with none, without \
         saying why. This is a bug in the provider.",
        who.for_display()
    );
    Box::new(Problem::nowhere(Diagnostic::error("Provider returned no identity after upgrade", detail)))
}

/// A write-only attribute has a value in an answer.
pub(crate) fn write_only_value(who: &ProviderSource, kind: &str, path: &str) -> Problem {
    let detail = eco_format!(
        "The provider {} gave back a value for the write-only attribute {path:?} of the type {kind:?}, where there must \
         never be one. This is a bug in the provider.",
        who.for_display()
    );
    Problem::nowhere(Diagnostic::error("Invalid provider response", detail))
}

/// The provider wants to be asked again in a later run.
pub(crate) fn deferred(who: &ProviderSource, call: &str, reason: &str) -> Problem {
    let detail = eco_format!(
        "The provider {} put off {call} to a later run ({reason}), although it was told that this is not possible here. \
         This is a bug in the provider. Values that are unknown until apply are often the reason: apply what they depend \
         on first, with -target.",
        who.for_display()
    );
    *about_block("Provider deferred changes unexpectedly", detail)
}

/// A provider that was asked to come to an end says that it cannot.
pub(crate) fn stop_failed(who: &ProviderSource, reason: &str) -> Problem {
    let detail = eco_format!("The provider {} could not stop what it is doing: {reason}", who.for_display());
    Problem::nowhere(Diagnostic::warning("Provider did not stop", detail))
}

/// A provider was asked what it has and answered with an error.
pub(crate) fn schema_refused(who: &ProviderSource, problem: &Problem) -> Box<Problem> {
    let Diagnostic { summary, detail, .. } = &problem.diagnostic;
    let colon = if detail.is_empty() { "" } else { ": " };
    let detail = eco_format!("The provider {} does not say what it has: {summary}{colon}{detail}", who.for_display());
    Box::new(Problem::nowhere(Diagnostic::error("Failed to load plugin schemas", detail)))
}
