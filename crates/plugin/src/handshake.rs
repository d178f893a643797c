//! The handshake: the environment of a new provider, and the one line it responds with.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use ecow::{EcoString, eco_format};

use crate::settings::Address;
use crate::wire::Protocol;

/// Shows a provider process that a person did not start it.
pub(crate) const MAGIC_COOKIE: (&str, &str) =
    ("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2");

/// The version of the handshake itself.
const HANDSHAKE_VERSION: &str = "1";

/// A longer string than this in the field of a certificate is one: some old providers put other values there.
const CERTIFICATE_AT_LEAST: usize = 50;

/// The environment of a provider.
pub(crate) fn environment() -> [(&'static str, &'static str); 4] {
    [MAGIC_COOKIE, ("PLUGIN_MIN_PORT", "10000"), ("PLUGIN_MAX_PORT", "25000"), ("PLUGIN_PROTOCOL_VERSIONS", "5,6")]
}

/// The data of the handshake line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Handshake {
    pub(crate) protocol: Protocol,
    pub(crate) address: Address,
    /// The certificate that it will show, if the connection is to be encrypted.
    pub(crate) certificate: Option<Vec<u8>>,
}

/// Reason why a handshake failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HandshakeError {
    /// A sentence part.
    pub(crate) reason: EcoString,
    /// Advice; may be empty.
    pub(crate) hint: &'static str,
}

const NEWER_LIBRARY: &str = "Use a version of the provider that was built with a current plugin library.";
const OTHER_VERSION: &str = "Use another version of the provider.";
const PROVIDER_BUG: &str = "This is a bug in the provider: report it to its maintainers.";

/// Reads the line `1|6|unix|/path|grpc|certificate`.
pub(crate) fn read(line: &str) -> Result<Handshake, HandshakeError> {
    let failed = |reason, hint| Err(HandshakeError { reason, hint });
    let parts: Vec<&str> = line.trim().split('|').collect();
    let [handshake, protocol, network, address, rest @ ..] = parts.as_slice() else {
        return failed(
            eco_format!("it printed {:?} instead of a handshake line", shortened(line.trim())),
            "Check that the executable is a provider, and that it is for this platform.",
        );
    };
    if *handshake != HANDSHAKE_VERSION {
        let given = shortened(handshake);
        let reason = eco_format!("it uses handshake version {given:?}, and Yuba supports only {HANDSHAKE_VERSION}");
        return failed(reason, NEWER_LIBRARY);
    }
    let known = protocol.parse().ok().and_then(Protocol::from_number);
    let Some(protocol) = known else {
        let given = shortened(protocol);
        let reason = eco_format!("it uses provider protocol {given:?}, and Yuba supports only 5 and 6");
        return failed(reason, OTHER_VERSION);
    };
    let address = match Address::parse(network, address) {
        Ok(address) => address,
        Err(reason) => return failed(eco_format!("its address is invalid, because {reason}"), PROVIDER_BUG),
    };
    let transport = rest.first().copied().unwrap_or("netrpc");
    if transport != "grpc" {
        let reason = eco_format!("it uses transport {:?}, and Yuba supports only \"grpc\"", shortened(transport));
        return failed(reason, NEWER_LIBRARY);
    }
    let certificate = match rest.get(1).filter(|text| text.len() > CERTIFICATE_AT_LEAST) {
        None => None,
        Some(text) => match STANDARD_NO_PAD.decode(text.trim_end_matches('=')) {
            Ok(certificate) => Some(certificate),
            Err(error) => return failed(eco_format!("its certificate is malformed ({error})"), PROVIDER_BUG),
        },
    };
    Ok(Handshake { protocol, address, certificate })
}

/// At most 120 characters of the output of another process.
fn shortened(text: &str) -> &str {
    text.char_indices().nth(120).map_or(text, |(at, _)| text.get(..at).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(lines: &[&str], expect: &Expect) {
        let answers = lines.iter().map(|line| match read(line) {
            Ok(handshake) => {
                let certificate = handshake.certificate.map(|bytes| bytes.len());
                format!("{:?} {:?} {certificate:?}\n", handshake.protocol, handshake.address)
            }
            Err(error) => format!("! {}. {}\n", error.reason, error.hint),
        });
        expect.assert_eq(&answers.collect::<String>());
    }

    #[test]
    fn lines_are_read() {
        let certificate = "A".repeat(64);
        check(
            &[
                "1|6|unix|/tmp/plugin1|grpc|",
                &format!("1|5|tcp|127.0.0.1:10000|grpc|{certificate}\n"),
                &format!("1|5|unix|/s|grpc|{certificate}|true"),
                "1|6|unix|/s|grpc|extra",
            ],
            &expect![[r#"
                V6 Unix("/tmp/plugin1") None
                V5 Tcp(127.0.0.1:10000) Some(48)
                V5 Unix("/s") Some(48)
                V6 Unix("/s") None
            "#]],
        );
    }

    #[test]
    fn other_lines_are_explained() {
        let bad_certificate = format!("1|6|unix|/s|grpc|{}", "!".repeat(60));
        check(
            &[
                "usage: it [flags]",
                "",
                "2|6|unix|/s|grpc|",
                "1|4|unix|/s|netrpc",
                "1|x|unix|/s|grpc",
                "1|5|unix|/s",
                "1|5|udp|x|grpc",
                "1|5|tcp|localhost|grpc",
                &bad_certificate,
            ],
            &expect![[r#"
                ! it printed "usage: it [flags]" instead of a handshake line. Check that the executable is a provider, and that it is for this platform.
                ! it printed "" instead of a handshake line. Check that the executable is a provider, and that it is for this platform.
                ! it uses handshake version "2", and Yuba supports only 1. Use a version of the provider that was built with a current plugin library.
                ! it uses provider protocol "4", and Yuba supports only 5 and 6. Use another version of the provider.
                ! it uses provider protocol "x", and Yuba supports only 5 and 6. Use another version of the provider.
                ! it uses transport "netrpc", and Yuba supports only "grpc". Use a version of the provider that was built with a current plugin library.
                ! its address is invalid, because the network "udp" is neither "unix" nor "tcp". This is a bug in the provider: report it to its maintainers.
                ! its address is invalid, because "localhost" is not an address with a port. This is a bug in the provider: report it to its maintainers.
                ! its certificate is malformed (Invalid symbol 33, offset 0.). This is a bug in the provider: report it to its maintainers.
            "#]],
        );
    }
}
