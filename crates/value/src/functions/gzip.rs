//! The gzip format, written byte for byte as OpenTofu writes it.

use std::io::Write;

/// Compresses some bytes.
pub(super) fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
}
