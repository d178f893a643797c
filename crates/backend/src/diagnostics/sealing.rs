//! Diagnostics about encryption. They never show keys or passphrases.

use ecow::eco_format;
use yuba_syntax::Diagnostic;

yuba_syntax::catalogue! {
    /// An external key provider fails to return keys.
    ENCRYPTION_KEY_NOT_FETCHED = error "encryption-key-not-fetched", "Unable to fetch encryption key data";
    /// A key provider has arguments that no key can be built from.
    ENCRYPTION_KEY_NOT_BUILT = error "encryption-key-not-built", "Unable to build encryption key data";
    /// An encryption method has a key of the wrong length.
    ENCRYPTION_METHOD_INVALID = error "encryption-method-invalid", "Invalid method configuration";
    /// A state or plan cannot be encrypted.
    ENCRYPTION_FAILED = error "encryption-failed", "Encryption failed";
    /// An encrypted state or plan is damaged.
    DECRYPTION_IMPOSSIBLE = error "decryption-impossible", "Unable to decrypt";
    /// A state or plan is in clear text although the configuration requires encryption.
    UNENCRYPTED_PAYLOAD = error "unencrypted-payload", "Encountered unencrypted payload without unencrypted method configured";
    /// No configured method decrypts a state or plan.
    DECRYPTION_FAILED = error "decryption-failed", "Decryption failed for all provided methods";
}

pub(crate) fn key_unavailable(reason: &str) -> Diagnostic {
    Diagnostic::new(&ENCRYPTION_KEY_NOT_FETCHED, reason)
}

pub(crate) fn key_not_built(provider: &str, reason: &str) -> Diagnostic {
    Diagnostic::new(&ENCRYPTION_KEY_NOT_BUILT, eco_format!("Failed to build a key with {provider}: {reason}."))
}

pub(crate) fn invalid_method(reason: &str) -> Diagnostic {
    Diagnostic::new(&ENCRYPTION_METHOD_INVALID, reason)
}

pub(crate) fn encryption_failed(name: &str, reason: &str) -> Diagnostic {
    let detail = eco_format!("Failed to encrypt the {name}: {reason}. Nothing was written.");
    Diagnostic::new(&ENCRYPTION_FAILED, detail)
}

pub(crate) fn undecryptable(name: &str, reason: &str) -> Diagnostic {
    Diagnostic::new(&DECRYPTION_IMPOSSIBLE, eco_format!("The encrypted {name} cannot be used: {reason}."))
}

pub(crate) fn in_clear_text(name: &str) -> Diagnostic {
    let detail = eco_format!(
        "The {name} is not encrypted, but the configuration requires encryption. To encrypt an existing {name}, allow clear \
         text while migrating:\n\n  method \"unencrypted\" \"migrate\" {{}}\n\n  {name} {{\n    method = (the current method)\n    \
         fallback {{\n      method = method.unencrypted.migrate\n    }}\n  }}"
    );
    Diagnostic::new(&UNENCRYPTED_PAYLOAD, detail).hint("Apply with this configuration, then remove the fallback.")
}

pub(crate) fn not_decrypted(name: &str, reasons: &[String]) -> Diagnostic {
    let reasons: String = reasons.iter().map(|reason| format!("\n  - {reason}")).collect();
    let detail = eco_format!("No method of the configuration decrypts the {name}:{reasons}");
    Diagnostic::new(&DECRYPTION_FAILED, detail)
        .hint("If keys or methods have changed, add the old ones in a \"fallback\" block.")
}
