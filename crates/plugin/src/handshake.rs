//! The handshake: what a provider is told when it is started, and the one line it answers with.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use ecow::{EcoString, eco_format};

use crate::settings::Address;
use crate::wire::Protocol;

/// Shows a program that it was not started by a person.
pub(crate) const MAGIC_COOKIE: (&str, &str) =
    ("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2");

/// The version of the handshake itself.
const HANDSHAKE_VERSION: &str = "1";

/// Longer texts than this in the place of a certificate are one: some old providers have something else there.
const CERTIFICATE_AT_LEAST: usize = 50;

/// What a provider is told by its environment.
pub(crate) fn environment() -> [(&'static str, &'static str); 4] {
    [MAGIC_COOKIE, ("PLUGIN_MIN_PORT", "10000"), ("PLUGIN_MAX_PORT", "25000"), ("PLUGIN_PROTOCOL_VERSIONS", "5,6")]
}

/// What a provider says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Handshake {
    pub(crate) protocol: Protocol,
    pub(crate) address: Address,
    /// The certificate that it will show, if the connection is to be encrypted.
    pub(crate) certificate: Option<Vec<u8>>,
}

/// Reads the line `1|6|unix|/path|grpc|certificate`. What is wrong is a sentence about "it", the provider, and a hint.
pub(crate) fn read(line: &str) -> Result<Handshake, EcoString> {
    let parts: Vec<&str> = line.trim().split('|').collect();
    let [handshake, protocol, network, address, rest @ ..] = parts.as_slice() else {
        return Err(eco_format!(
            "It printed {:?} where a provider says how it can be reached. The program may not be a provider, or may \
             be one for another platform",
            shortened(line.trim())
        ));
    };
    if *handshake != HANDSHAKE_VERSION {
        return Err(eco_format!(
            "It greets with version {:?} of the handshake, and only version {HANDSHAKE_VERSION} is understood. A \
             version of the provider that was built with a current library is needed",
            shortened(handshake)
        ));
    }
    let known = protocol.parse().ok().and_then(Protocol::from_number);
    let Some(protocol) = known else {
        return Err(eco_format!(
            "It speaks version {:?} of the provider protocol, and only versions 5 and 6 are understood. Choose another \
             version of the provider",
            shortened(protocol)
        ));
    };
    let address = Address::parse(network, address)
        .map_err(|reason| eco_format!("It says where it listens, but {reason}. This is a bug in the provider"))?;
    let transport = rest.first().copied().unwrap_or("netrpc");
    if transport != "grpc" {
        return Err(eco_format!(
            "It wants to be called over {:?}, and only \"grpc\" is understood. A version of the provider that was built \
             with a current library is needed",
            shortened(transport)
        ));
    }
    let certificate = match rest.get(1).filter(|text| text.len() > CERTIFICATE_AT_LEAST) {
        None => None,
        Some(text) => Some(STANDARD_NO_PAD.decode(text.trim_end_matches('=')).map_err(|error| {
            eco_format!("The certificate it shows cannot be read ({error}). This is a bug in the provider")
        })?),
    };
    Ok(Handshake { protocol, address, certificate })
}

/// The beginning of what somebody else printed.
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
            Err(reason) => format!("! {reason}\n"),
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
                ! It printed "usage: it [flags]" where a provider says how it can be reached. The program may not be a provider, or may be one for another platform
                ! It printed "" where a provider says how it can be reached. The program may not be a provider, or may be one for another platform
                ! It greets with version "2" of the handshake, and only version 1 is understood. A version of the provider that was built with a current library is needed
                ! It speaks version "4" of the provider protocol, and only versions 5 and 6 are understood. Choose another version of the provider
                ! It speaks version "x" of the provider protocol, and only versions 5 and 6 are understood. Choose another version of the provider
                ! It wants to be called over "netrpc", and only "grpc" is understood. A version of the provider that was built with a current library is needed
                ! It says where it listens, but the network "udp" is neither "unix" nor "tcp". This is a bug in the provider
                ! It says where it listens, but "localhost" is not an address with a port. This is a bug in the provider
                ! The certificate it shows cannot be read (Invalid symbol 33, offset 0.). This is a bug in the provider
            "#]],
        );
    }
}
