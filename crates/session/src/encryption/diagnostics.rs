//! Catalogue of the diagnostics of the encryption configuration. No text contains values: passphrases and keys are among them.

use ecow::{EcoString, eco_format};
use yuba_backend::encryption::services::key_services;
use yuba_syntax::{Diagnostic, Span};

yuba_syntax::catalogue! {
    /// The encryption configuration has a method `unencrypted`.
    UNENCRYPTED_METHOD = warning "unencrypted-method", "Unencrypted method configured";
    /// A target with `enforced` uses a method that does not encrypt.
    UNENCRYPTED_METHOD_FORBIDDEN = error "unencrypted-method-forbidden", "Unencrypted method is forbidden";
    /// The `method` argument of an encryption target does not refer to a method.
    ENCRYPTION_METHOD_REFERENCE_INVALID = error "encryption-method-reference-invalid", "Invalid encryption method identifier";
    /// An encryption target refers to a method that is not declared.
    ENCRYPTION_METHOD_NOT_DECLARED = error "encryption-method-not-declared", "Reference to undeclared encryption method";
    /// The `keys` or `chain` argument does not refer to a key provider.
    KEY_PROVIDER_EXPECTED = error "key-provider-expected", "Expected key_provider value";
    /// A key provider depends on itself.
    KEY_PROVIDER_CYCLE = error "key-provider-cycle", "Circular reference detected";
    /// The encryption configuration refers to a key provider that is not declared.
    KEY_PROVIDER_NOT_DECLARED = error "key-provider-not-declared", "Reference to undeclared key provider";
    /// An argument of an encryption method or a key provider has the wrong type.
    ENCRYPTION_ARGUMENT_TYPE = error "encryption-argument-type", "Unsuitable value type";
    /// The arguments of a key provider are not valid.
    KEY_PROVIDER_ARGUMENTS_INVALID = error "key-provider-arguments-invalid", "Unable to build encryption key data";
    /// A required argument of a key provider is missing.
    KEY_PROVIDER_ARGUMENT_MISSING = error "key-provider-argument-missing", "Missing required argument";
    /// The type of a key provider does not exist.
    KEY_PROVIDER_TYPE_UNKNOWN = error "key-provider-type-unknown", "Error fetching key_provider \"{type}\"";
    /// The type of an encryption method does not exist.
    ENCRYPTION_METHOD_TYPE_UNKNOWN = error "encryption-method-type-unknown", "Error fetching encryption method \"{type}\"";
}

/// A problem in the environment variable with the encryption configuration. Its text is not shown, as it may contain secrets.
pub(super) fn in_environment(variable: &str, problem: Diagnostic) -> Diagnostic {
    let detail = eco_format!("In the environment variable {variable}: {}", problem.detail);
    Diagnostic { detail, subject: None, context: None, ..problem }
}

pub(super) fn unencrypted_method(span: Span) -> Diagnostic {
    let detail =
        "The method \"unencrypted\" can store states and plans in clear text. It is intended for migrations only.";
    Diagnostic::new(&UNENCRYPTED_METHOD, detail).hint("Remove the method when the migration is done.").at(span)
}

pub(super) fn unencrypted_method_forbidden(target: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("\"enforced\" is set for the {target}, which forbids the method \"unencrypted\".");
    Diagnostic::new(&UNENCRYPTED_METHOD_FORBIDDEN, detail).at(span)
}

pub(super) fn invalid_method_reference(span: Span) -> Diagnostic {
    let detail = "\"method\" must refer to a method, such as method.aes_gcm.example.";
    Diagnostic::new(&ENCRYPTION_METHOD_REFERENCE_INVALID, detail).at(span)
}

pub(super) fn undeclared_method(kind: &str, name: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("The encryption configuration has no block method {kind:?} {name:?}.");
    Diagnostic::new(&ENCRYPTION_METHOD_NOT_DECLARED, detail).at(span)
}

pub(super) fn keys_expected(span: Span) -> Diagnostic {
    let detail = "\"keys\" must refer to a key provider, such as key_provider.pbkdf2.example, or be an object with the \
                  attributes encryption_key and decryption_key, which are lists of bytes.";
    Diagnostic::new(&KEY_PROVIDER_EXPECTED, detail).at(span)
}

pub(super) fn chain_expected(span: Span) -> Diagnostic {
    let detail = "\"chain\" must refer to another key provider, such as key_provider.external.example.";
    Diagnostic::new(&KEY_PROVIDER_EXPECTED, detail).at(span)
}

pub(super) fn key_provider_cycle(kind: &str, name: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("key_provider.{kind}.{name} depends on itself, directly or through other key providers.");
    Diagnostic::new(&KEY_PROVIDER_CYCLE, detail).at(span)
}

pub(super) fn undeclared_key_provider(kind: &str, name: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("The encryption configuration has no block key_provider {kind:?} {name:?}.");
    Diagnostic::new(&KEY_PROVIDER_NOT_DECLARED, detail).at(span)
}

/// An argument of another type than `expected`: `a string`.
pub(super) fn unsuitable_argument(name: &str, expected: &str, span: Span) -> Diagnostic {
    Diagnostic::new(&ENCRYPTION_ARGUMENT_TYPE, eco_format!("{name:?} must be {expected}.")).at(span)
}

pub(super) fn unknown_hash_function(block: &EcoString, span: Span) -> Diagnostic {
    let detail = eco_format!("The hash function of {block} must be \"sha256\" or \"sha512\".");
    Diagnostic::new(&KEY_PROVIDER_ARGUMENTS_INVALID, detail).at(span)
}

pub(super) fn missing_key_provider_argument(block: &EcoString, argument: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("{block} requires the argument {argument:?}.");
    Diagnostic::new(&KEY_PROVIDER_ARGUMENT_MISSING, detail).at(span)
}

pub(super) fn key_provider_not_opened(block: &EcoString, reason: &str, span: Span) -> Diagnostic {
    Diagnostic::new(&KEY_PROVIDER_ARGUMENTS_INVALID, eco_format!("{block}: {reason}")).at(span)
}

pub(super) fn passphrase_and_chain(block: &EcoString, span: Span) -> Diagnostic {
    let detail = eco_format!("{block} sets both \"passphrase\" and \"chain\".");
    Diagnostic::new(&KEY_PROVIDER_ARGUMENTS_INVALID, detail).hint("Remove one of them.").at(span)
}

pub(super) fn unknown_key_provider_type(kind: &str, span: Span) -> Diagnostic {
    let mut known: Vec<&str> = ["external", "pbkdf2"].into_iter().chain(key_services()).collect();
    known.sort_unstable();
    let similar = yuba_syntax::suggestion::did_you_mean(kind, known.iter().copied());
    let detail = eco_format!("Key provider type {kind:?} does not exist.{similar}");
    Diagnostic::new(&KEY_PROVIDER_TYPE_UNKNOWN, detail)
        .titled(eco_format!("Error fetching key_provider {kind:?}"))
        .hint(eco_format!("Key providers are: {}.", known.join(", ")))
        .at(span)
}

pub(super) fn unknown_method_type(kind: &str, span: Span) -> Diagnostic {
    Diagnostic::new(&ENCRYPTION_METHOD_TYPE_UNKNOWN, eco_format!("Encryption method type {kind:?} does not exist."))
        .titled(eco_format!("Error fetching encryption method {kind:?}"))
        .hint("Methods are: aes_gcm, external, unencrypted.")
        .at(span)
}
