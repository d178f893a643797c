//! ASCII armor: packets as base64 between two lines of dashes.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Padding may be missing.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The packets of the first armored block in a text. Fails if the text has no block, or one of another kind.
///
/// The checksum below the base64 is ignored, as RFC 9580 requires: what matters is signed.
pub(super) fn decode(text: &str, kind: &str) -> Result<Vec<u8>, String> {
    let mut lines = text.lines().map(str::trim);
    let found = lines.find_map(|line| line.strip_prefix("-----BEGIN PGP ")?.strip_suffix("-----"));
    let Some(found) = found else { return Err("it has no line \"-----BEGIN PGP ...\"".to_owned()) };
    if found != kind {
        return Err(format!("it contains a {found} instead of a {kind}"));
    }
    let mut base64 = String::with_capacity(text.len());
    for line in lines {
        if line.starts_with("-----END PGP ") {
            return BASE64.decode(base64).map_err(|error| format!("its base64 is invalid: {error}"));
        }
        // Headers have a colon, which base64 never has. The checksum begins with an equals sign.
        if !line.contains(':') && !line.starts_with('=') {
            base64.extend(line.split_ascii_whitespace());
        }
    }
    Err("it has no line \"-----END PGP ...\"".to_owned())
}
