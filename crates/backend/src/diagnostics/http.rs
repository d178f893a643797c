//! Diagnostics about arguments of the http backend. Values of headers and URLs may be credentials and are not shown.

use ecow::eco_format;
use yuba_syntax::Diagnostic;

yuba_syntax::catalogue! {
    /// An argument of the `http` backend has a value that no request can use.
    HTTP_ARGUMENT_INVALID = error "http-argument-invalid", "Invalid backend configuration argument";
    /// The `address` argument of the `http` backend is not an http or https URL.
    HTTP_ADDRESS_SCHEME = error "http-address-scheme", "address must be HTTP or HTTPS";
    /// The `lock_address` argument of the `http` backend is not an http or https URL.
    HTTP_LOCK_ADDRESS_SCHEME = error "http-lock-address-scheme", "lockAddress must be HTTP or HTTPS";
    /// The `unlock_address` argument of the `http` backend is not an http or https URL.
    HTTP_UNLOCK_ADDRESS_SCHEME = error "http-unlock-address-scheme", "unlockAddress must be HTTP or HTTPS";
    /// The `http` backend has a client certificate and no private key for it.
    HTTP_CERTIFICATE_WITHOUT_KEY = error "http-certificate-without-key",
        "client_certificate_pem is set but client_private_key_pem is not";
    /// The `http` backend has a private key and no client certificate for it.
    HTTP_KEY_WITHOUT_CERTIFICATE = error "http-key-without-certificate",
        "client_private_key_pem is set but client_certificate_pem is not";
    /// The `client_ca_certificate_pem` argument of the `http` backend contains no certificate.
    HTTP_AUTHORITIES_INVALID = error "http-authorities-invalid", "failed to append certs";
    /// The client certificate of the `http` backend cannot be used.
    HTTP_IDENTITY_INVALID = error "http-identity-invalid", "cannot load client certificate";
}

pub(crate) fn http_header_name(name: &str) -> Diagnostic {
    let detail = eco_format!(
        "The argument \"headers\" of the http backend contains the name \"{name}\". A name has at least one character and consists \
         of A-Z, a-z, 0-9, \"-\" and \"_\"."
    );
    Diagnostic::new(&HTTP_ARGUMENT_INVALID, detail)
}

pub(crate) fn http_header_value(name: &str) -> Diagnostic {
    let detail = eco_format!(
        "The value of the header \"{name}\" in the argument \"headers\" of the http backend is blank, or contains characters that are \
         not printable ASCII."
    );
    Diagnostic::new(&HTTP_ARGUMENT_INVALID, detail)
}

pub(crate) fn http_header_reserved(name: &str) -> Diagnostic {
    let detail = eco_format!(
        "The argument \"headers\" of the http backend sets \"{name}\". The backend sets this header itself."
    );
    Diagnostic::new(&HTTP_ARGUMENT_INVALID, detail)
}

pub(crate) fn http_header_with_user(name: &str) -> Diagnostic {
    let detail = eco_format!("The http backend has both a \"username\" and the header \"{name}\". Remove one of them.");
    Diagnostic::new(&HTTP_ARGUMENT_INVALID, detail)
}

pub(crate) fn http_not_whole(name: &str) -> Diagnostic {
    let detail =
        eco_format!("The argument \"{name}\" of the http backend must be a whole number that is not negative.");
    Diagnostic::new(&HTTP_ARGUMENT_INVALID, detail)
}

pub(crate) fn http_method_invalid(name: &str, method: &str) -> Diagnostic {
    let detail =
        eco_format!("The argument \"{name}\" of the http backend is \"{method}\", which is not a valid HTTP method.");
    Diagnostic::new(&HTTP_ARGUMENT_INVALID, detail)
}

pub(crate) fn http_address_invalid(name: &str, reason: &str) -> Diagnostic {
    let detail = eco_format!("The argument \"{name}\" of the http backend is not a valid URL: {reason}.");
    Diagnostic::new(&HTTP_ARGUMENT_INVALID, detail)
}

pub(crate) fn http_address_scheme(name: &str) -> Diagnostic {
    let code = match name {
        "lock_address" => &HTTP_LOCK_ADDRESS_SCHEME,
        "unlock_address" => &HTTP_UNLOCK_ADDRESS_SCHEME,
        _ => &HTTP_ADDRESS_SCHEME,
    };
    let detail =
        eco_format!("The argument \"{name}\" of the http backend must start with \"http://\" or \"https://\".");
    Diagnostic::new(code, detail)
}

pub(crate) fn http_certificate_without_key() -> Diagnostic {
    let detail = "The http backend needs the private key of the client certificate.";
    Diagnostic::new(&HTTP_CERTIFICATE_WITHOUT_KEY, detail)
        .hint("Set client_private_key_pem or TF_HTTP_CLIENT_PRIVATE_KEY_PEM.")
}

pub(crate) fn http_key_without_certificate() -> Diagnostic {
    let detail = "The http backend needs the client certificate of the private key.";
    Diagnostic::new(&HTTP_KEY_WITHOUT_CERTIFICATE, detail)
        .hint("Set client_certificate_pem or TF_HTTP_CLIENT_CERTIFICATE_PEM.")
}

pub(crate) fn http_authorities_invalid(reason: &str) -> Diagnostic {
    let detail =
        eco_format!("The argument \"client_ca_certificate_pem\" of the http backend cannot be used: {reason}.");
    Diagnostic::new(&HTTP_AUTHORITIES_INVALID, detail)
}

pub(crate) fn http_identity_invalid(reason: &str) -> Diagnostic {
    let detail = eco_format!("The http backend cannot use its client certificate: {reason}.");
    Diagnostic::new(&HTTP_IDENTITY_INVALID, detail)
}
