//! Conversion between text and bytes in the character sets that IANA has names for.

mod tables;

/// A way to write text in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Charset {
    Ascii,
    Utf8,
    /// Two bytes per unit. With `mark`, a byte order mark is written, and obeyed when reading.
    Utf16 {
        little: bool,
        mark: bool,
    },
    /// One byte per character; see `tables`.
    Single(&'static str),
    /// Several bytes per character, as the web platform does it.
    Multi(&'static encoding_rs::Encoding),
    HzGb2312,
}

impl Charset {
    /// Finds a character set by name or alias, whatever the case of its letters. Also gives its official name.
    pub(super) fn find(name: &str) -> Option<(&'static str, Charset)> {
        let name = name.trim().to_lowercase();
        let found = tables::CHARSETS.iter().find(|(_, aliases, _)| aliases.split(' ').any(|alias| alias == name))?;
        Some((found.0, found.2))
    }

    /// The bytes of a text; `None` if it has characters that the set lacks.
    pub(super) fn encode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Charset::Ascii => text.is_ascii().then(|| text.as_bytes().to_vec()),
            Charset::Utf8 => Some(text.as_bytes().to_vec()),
            Charset::Utf16 { little, mark } => {
                let units = mark.then_some(0xfeff).into_iter().chain(text.encode_utf16());
                Some(units.flat_map(|unit| if little { unit.to_le_bytes() } else { unit.to_be_bytes() }).collect())
            }
            Charset::Single(table) => {
                let mut bytes_of: Vec<(char, u8)> = single_byte_chars(table).zip(0..=255).collect();
                bytes_of.sort_unstable();
                let byte = |c: char| {
                    let at = bytes_of.partition_point(|(other, _)| *other < c);
                    bytes_of.get(at).filter(|found| found.0 == c && c != '\u{fffd}').map(|found| found.1)
                };
                text.chars().map(byte).collect()
            }
            Charset::Multi(encoding) => {
                let (bytes, _, lossy) = encoding.encode(text);
                (!lossy).then(|| bytes.into_owned())
            }
            Charset::HzGb2312 => encode_hz(text),
        }
    }

    /// The text of some bytes; `None` if they mean nothing.
    pub(super) fn decode(self, bytes: &[u8]) -> Option<String> {
        let text = match self {
            Charset::Ascii => String::from_utf8(bytes.to_vec()).ok().filter(|text| text.is_ascii())?,
            Charset::Utf8 => String::from_utf8(bytes.to_vec()).ok()?,
            Charset::Utf16 { little, mark } => {
                let (bytes, little) = match (mark, bytes) {
                    (true, [0xff, 0xfe, rest @ ..]) => (rest, true),
                    (true, [0xfe, 0xff, rest @ ..]) => (rest, false),
                    _ => (bytes, little),
                };
                let mut pairs = bytes.chunks_exact(2);
                let unit = |pair: &[u8]| {
                    let pair = [pair[0], pair[1]];
                    if little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) }
                };
                let text = char::decode_utf16(pairs.by_ref().map(unit)).collect::<Result<String, _>>().ok()?;
                pairs.remainder().is_empty().then_some(text)?
            }
            Charset::Single(table) => {
                let chars: Vec<char> = single_byte_chars(table).collect();
                bytes.iter().map(|byte| chars.get(usize::from(*byte)).copied()).collect::<Option<String>>()?
            }
            Charset::Multi(encoding) => {
                encoding.decode_without_bom_handling_and_without_replacement(bytes)?.into_owned()
            }
            Charset::HzGb2312 => decode_hz(bytes)?,
        };
        // Quirk: the replacement character counts as a failure even where the bytes really spell it.
        (!text.contains('\u{fffd}')).then_some(text)
    }
}

fn single_byte_chars(table: &str) -> impl Iterator<Item = char> {
    let ascii = if table.chars().count() == 256 { 0 } else { 128 };
    (0..ascii).map(char::from).chain(table.chars())
}

/// GB 2312 in seven bits: `~{` and `~}` enclose characters of two bytes, a tilde is doubled.
fn encode_hz(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut wide = false;
    let mut buffer = [0; 4];
    for c in text.chars() {
        if c.is_ascii() {
            // Quirk: a tilde does not switch back to single bytes.
            if c != '~' && wide {
                out.extend_from_slice(b"~}");
                wide = false;
            }
            out.extend_from_slice(if c == '~' { b"~~" } else { c.encode_utf8(&mut buffer).as_bytes() });
            continue;
        }
        let (bytes, _, lossy) = encoding_rs::GBK.encode(c.encode_utf8(&mut buffer));
        let &[first @ 0xa1..=0xfd, second @ 0xa1..=0xfe] = bytes.as_ref() else { return None };
        if lossy {
            return None;
        }
        if !wide {
            out.extend_from_slice(b"~{");
            wide = true;
        }
        out.extend([first & 0x7f, second & 0x7f]);
    }
    Some(out)
}

fn decode_hz(bytes: &[u8]) -> Option<String> {
    let mut out = String::with_capacity(bytes.len());
    let mut wide = false;
    let mut rest = bytes;
    loop {
        rest = match rest {
            [] => return Some(out),
            [b'~', b'{', rest @ ..] => {
                wide = true;
                rest
            }
            [b'~', b'}', rest @ ..] => {
                wide = false;
                rest
            }
            [b'~', b'~', rest @ ..] => {
                out.push('~');
                rest
            }
            [b'~', b'\n', rest @ ..] => rest,
            [b'~' | 0x80..=0xff, ..] => return None,
            [byte, rest @ ..] if !wide => {
                out.push(char::from(*byte));
                rest
            }
            [first @ 0x21..=0x7d, second @ 0x21..=0x7e, rest @ ..] => {
                let pair = [first | 0x80, second | 0x80];
                out.push_str(&encoding_rs::GBK.decode_without_bom_handling_and_without_replacement(&pair)?);
                rest
            }
            _ => return None,
        }
    }
}
