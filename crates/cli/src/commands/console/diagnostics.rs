//! Diagnostics of `console` about its flags and its input.

use std::fmt::Display;

use yuba_syntax::Diagnostic;

yuba_syntax::catalogue! {
    /// `console` has arguments.
    CONSOLE_ARGUMENTS = error "console-arguments", "Too many command line arguments";
    /// `console` is used with `-json`.
    CONSOLE_WITH_JSON = error "console-with-json", "Output only in json is not allowed";
    /// `console` is used with an option of OpenTofu that this version does not support.
    CONSOLE_OPTION_NOT_SUPPORTED = error "console-option-not-supported", "Option not available yet";
    /// `console` cannot read standard input.
    CONSOLE_INPUT_UNREADABLE = error "console-input-unreadable", "Failed to read input";
    /// The input of `console` is not UTF-8 text.
    CONSOLE_INPUT_NOT_UTF8 = error "console-input-not-utf8", "Invalid character encoding";
    /// `console` cannot use the terminal.
    CONSOLE_TERMINAL_UNUSABLE = error "console-terminal-unusable", "Console failed";
}

pub(super) fn takes_no_arguments() -> Diagnostic {
    Diagnostic::new(&CONSOLE_ARGUMENTS, "The console takes no arguments.")
        .hint("Type expressions at its prompt or pipe them into it.")
}

pub(super) fn json_not_supported() -> Diagnostic {
    let detail = "The console does not support -json.";
    Diagnostic::new(&CONSOLE_WITH_JSON, detail)
        .hint("Use the function jsonencode, or \"yuba output -json\", to get JSON.")
}

pub(super) fn option_not_supported(name: &str) -> Diagnostic {
    let detail = format!("The console of this version of Yuba does not support -{name}, which OpenTofu has.");
    Diagnostic::new(&CONSOLE_OPTION_NOT_SUPPORTED, detail).hint("Remove the option.")
}

pub(super) fn input_unreadable(error: &dyn Display) -> Diagnostic {
    Diagnostic::new(&CONSOLE_INPUT_UNREADABLE, format!("Failed to read standard input: {error}."))
}

pub(super) fn input_not_utf8() -> Diagnostic {
    Diagnostic::new(&CONSOLE_INPUT_NOT_UTF8, "The input contains bytes that are not UTF-8 text.")
}

pub(super) fn terminal_unusable(error: &dyn Display) -> Diagnostic {
    Diagnostic::new(&CONSOLE_TERMINAL_UNUSABLE, format!("Failed to use the terminal: {error}."))
}
