//! The gzip format, written byte for byte as OpenTofu writes it: a result of `base64gzip` that a provider stores must
//! not change because another tool made it.

mod blocks;
mod huffman;
mod matches;

use blocks::Writer;

/// Compresses some bytes.
pub(super) fn compress(bytes: &[u8]) -> Vec<u8> {
    // Deflate, no flags, no time, no hints, unknown operating system.
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let mut writer = Writer::default();
    matches::compress(bytes, &mut writer);
    // Quirk: the data is flushed before it is finished, which leaves an empty block.
    writer.stored(&[]);
    writer.flush();
    writer.stored_last(&[]);
    writer.flush();
    out.extend(writer.into_bytes());
    let mut checksum = flate2::Crc::new();
    checksum.update(bytes);
    out.extend(checksum.sum().to_le_bytes());
    out.extend((bytes.len() as u32).to_le_bytes());
    out
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use base64::Engine;

    use super::*;

    #[test]
    fn bytes_are_those_of_opentofu() {
        for (text, expect) in [
            ("", "H4sIAAAAAAAA/wAAAP//AQAA//8AAAAAAAAAAA=="),
            ("hello world", "H4sIAAAAAAAA/8pIzcnJVyjPL8pJAQAAAP//AQAA//+FEUoNCwAAAA=="),
        ] {
            assert_eq!(base64::engine::general_purpose::STANDARD.encode(compress(text.as_bytes())), expect);
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]
        #[test]
        fn what_was_compressed_can_be_unpacked(words in proptest::collection::vec("[a-d]{1,40}|[ -~]{0,9}", 0..400), times in 1usize..40) {
            let text = words.concat().repeat(times);
            let mut back = String::new();
            flate2::read::MultiGzDecoder::new(compress(text.as_bytes()).as_slice()).read_to_string(&mut back).expect("valid gzip");
            proptest::prop_assert_eq!(back, text);
        }
    }
}
