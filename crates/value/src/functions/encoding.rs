//! Texts in other notations: Base64, gzip, character sets, URLs.

use std::io::Read;

use base64::Engine;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use ecow::{EcoString, eco_format};

use super::charset::Charset;
use crate::function::{Function, FunctionError, Param, Reason, Result};
use crate::{Type, Value};

/// This family's rows of the table.
pub(crate) fn functions() -> Vec<Function> {
    let text = |name, description| Param::new(name, Type::string(), description);
    vec![
        Function::new(
            "base64decode",
            "Decodes a Base64 string to a UTF-8 string.",
            [text("str", "The Base64 string.").marked()],
            Type::string(),
            |args, _| base64decode(&args[0]),
        ),
        Function::new(
            "base64encode",
            "Encodes the UTF-8 bytes of a string in Base64.",
            [text("str", "The string to encode.")],
            Type::string(),
            |args, _| Ok(Value::string(STANDARD.encode(argument(args, 0)))),
        ),
        Function::new(
            "base64gunzip",
            "Decompresses a gzip-compressed UTF-8 string in Base64.",
            [text("str", "The compressed string in Base64.").marked()],
            Type::string(),
            |args, _| base64gunzip(&args[0]),
        ),
        Function::new(
            "base64gzip",
            "Compresses a string with gzip and encodes the result in Base64.",
            [text("str", "The string to compress.")],
            Type::string(),
            |args, _| Ok(Value::string(STANDARD.encode(super::gzip::compress(argument(args, 0).as_bytes())))),
        ),
        Function::new(
            "textdecodebase64",
            "Decodes a Base64 string to a string in a given character set.",
            [
                text("source", "The Base64 string."),
                text("encoding", "The IANA name of the character set, like `UTF-16LE`."),
            ],
            Type::string(),
            |args, _| {
                let (name, charset) = find_charset(argument(args, 1))?;
                let bytes = decode_base64(argument(args, 0)).map_err(|problem| FunctionError::arg(0, problem))?;
                let decoded = charset.decode(&bytes).ok_or_else(|| {
                    FunctionError::arg(0, eco_format!("the bytes it stands for are not valid text in {name}"))
                })?;
                Ok(Value::string(decoded))
            },
        ),
        Function::new(
            "textencodebase64",
            "Encodes a string in a given character set, and the result in Base64.",
            [
                text("string", "The string to encode."),
                text("encoding", "The IANA name of the character set, like `UTF-16LE`."),
            ],
            Type::string(),
            |args, _| {
                let (name, charset) = find_charset(argument(args, 1))?;
                let bytes = charset.encode(argument(args, 0)).ok_or_else(|| {
                    FunctionError::arg(0, eco_format!("the string has characters that do not exist in {name}"))
                })?;
                Ok(Value::string(STANDARD.encode(bytes)))
            },
        ),
        Function::new(
            "urldecode",
            "Decodes a URL-encoded string.",
            [text("str", "The encoded string.")],
            Type::string(),
            |args, _| urldecode(argument(args, 0)),
        ),
        Function::new(
            "urlencode",
            "Encodes a string for the query of a URL.",
            [text("str", "The string to encode.")],
            Type::string(),
            |args, _| Ok(Value::string(urlencode(argument(args, 0)))),
        ),
    ]
}

fn argument(args: &[Value], index: usize) -> &str {
    args.get(index).and_then(Value::as_str).map_or("", EcoString::as_str)
}

// ---- Base64 -----------------------------------------------------------------------------------------------------

/// Reads standard Base64 with padding; line breaks are skipped and unused bits ignored.
pub(super) fn decode_base64(text: &str) -> std::result::Result<Vec<u8>, EcoString> {
    const ENGINE: GeneralPurpose =
        GeneralPurpose::new(&alphabet::STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));
    let decoded =
        if text.contains(['\r', '\n']) { ENGINE.decode(text.replace(['\r', '\n'], "")) } else { ENGINE.decode(text) };
    decoded.map_err(|problem| match problem {
        base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => {
            eco_format!("invalid Base64 symbol at offset {at}")
        }
        _ => "the Base64 text is incomplete or wrongly padded".into(),
    })
}

fn base64decode(value: &Value) -> Result {
    let (value, marks) = value.unmark();
    let text = value.as_str().map_or("", EcoString::as_str);
    let bytes = decode_base64(text).map_err(|_| {
        FunctionError::new(Reason::open(eco_format!("failed to decode Base64 data {}", marks.redact(text))))
    })?;
    let text = String::from_utf8(bytes)
        .map_err(|_| FunctionError::new("the decoded bytes are not valid UTF-8, so they cannot be a string"))?;
    Ok(Value::string(text).with_marks(&marks))
}

/// Unpacked texts longer than this are taken for an attack.
const MAX_UNPACKED: u64 = 64 << 20;

fn base64gunzip(value: &Value) -> Result {
    let (value, marks) = value.unmark();
    let text = value.as_str().map_or("", EcoString::as_str);
    let bytes = decode_base64(text).map_err(|_| {
        FunctionError::new(Reason::open(eco_format!("failed to decode Base64 data {}", marks.redact(text))))
    })?;
    let mut unpacked = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes.as_slice())
        .take(MAX_UNPACKED + 1)
        .read_to_end(&mut unpacked)
        .map_err(|problem| FunctionError::new(eco_format!("the data is not valid gzip: {problem}")))?;
    if unpacked.len() as u64 > MAX_UNPACKED {
        return Err(FunctionError::new(Reason::open(eco_format!(
            "the unpacked text would be longer than {} MiB",
            MAX_UNPACKED >> 20
        ))));
    }
    let text = String::from_utf8(unpacked)
        .map_err(|_| FunctionError::new("the unpacked bytes are not valid UTF-8, so they cannot be a string"))?;
    Ok(Value::string(text).with_marks(&marks))
}

fn find_charset(name: &str) -> Result<(&'static str, Charset)> {
    Charset::find(name).ok_or_else(|| {
        FunctionError::arg(1, eco_format!("{name:?} is not the IANA name or alias of a supported character set"))
    })
}

// ---- URLs -------------------------------------------------------------------------------------------------------

fn urlencode(text: &str) -> EcoString {
    let mut out = EcoString::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            _ => out.push_str(&eco_format!("%{byte:02X}")),
        }
    }
    out
}

fn urldecode(text: &str) -> Result {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
                let (Some(high), Some(low)) = (digit(at), digit(at + 1)) else {
                    let escape = String::from_utf8_lossy(&bytes[at - 1..bytes.len().min(at + 2)]);
                    return Err(FunctionError::new(eco_format!("{escape:?} is not a valid URL escape")));
                };
                out.push((high << 4 | low) as u8);
                at += 2;
            }
            _ => out.push(byte),
        }
    }
    let text = String::from_utf8(out)
        .map_err(|_| FunctionError::new("the decoded bytes are not valid UTF-8, so they cannot be a string"))?;
    Ok(Value::string(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, args: &[&str], expect: &str) {
        let function = functions().into_iter().find(|f| f.signature.name == name).expect("it is in the table");
        let args: Vec<Value> = args.iter().map(|arg| Value::string(*arg)).collect();
        let text = match function.call(&args) {
            Ok(value) => value.as_str().cloned().unwrap_or_default(),
            Err(error) => eco_format!("{:?} {}", error.arg, error.message()),
        };
        assert_eq!(text, expect, "{name}");
    }

    #[test]
    fn base64() {
        check("base64encode", &["héllo"], "aMOpbGxv");
        check("base64decode", &["aMOp\r\nbGxv"], "héllo");
        check("base64decode", &["aGVsbG9="], "hello");
        check("base64decode", &["aGVsbG8"], "None failed to decode Base64 data \"aGVsbG8\"");
        check("base64decode", &["/w=="], "None the decoded bytes are not valid UTF-8, so they cannot be a string");
        check("base64gunzip", &["H4sIAAAAAAAA/8pIzcnJVyjPL8pJAQAAAP//AQAA//+FEUoNCwAAAA=="], "hello world");
        check("base64gunzip", &["aGk="], "None the data is not valid gzip: unexpected end of file");
    }

    #[test]
    fn secrets_are_not_shown() {
        let function =
            functions().into_iter().find(|f| f.signature.name == "base64decode").expect("it is in the table");
        let error = function.call(&[Value::string("?").mark(crate::Mark::Sensitive)]).expect_err("not Base64");
        assert_eq!(error.message(), "failed to decode Base64 data (sensitive value)");
    }

    #[test]
    fn a_small_text_does_not_unpack_to_fill_the_memory() {
        let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let zeros = vec![0; 1 << 20];
        for _ in 0..130 {
            std::io::Write::write_all(&mut bomb, &zeros).expect("memory");
        }
        let bomb = STANDARD.encode(bomb.finish().expect("memory"));
        check("base64gunzip", &[&bomb], "None the unpacked text would be longer than 64 MiB");
    }

    #[test]
    fn character_sets() {
        check("textencodebase64", &["ab€", "UTF-16LE"], "YQBiAKwg");
        check("textencodebase64", &["a", "utf-16"], "/v8AYQ==");
        check("textencodebase64", &["é", " Latin1 "], "6Q==");
        check("textencodebase64", &["ß", "cp437"], "4Q==");
        check("textencodebase64", &["日本", "Shift_JIS"], "k/qWew==");
        check("textencodebase64", &["a中~", "hz-gb-2312"], "YX57VlB+fg==");
        check(
            "textencodebase64",
            &["€", "ascii"],
            "Some(1) \"ascii\" is not the IANA name or alias of a supported character set",
        );
        check(
            "textencodebase64",
            &["€", "us-ascii"],
            "Some(0) the string has characters that do not exist in US-ASCII",
        );
        check("textdecodebase64", &["YQBiAKwg", "UTF-16LE"], "ab€");
        check("textdecodebase64", &["wvDx", "IBM037"], "B01");
        check(
            "textdecodebase64",
            &["AA==", "UTF-16BE"],
            "Some(0) the bytes it stands for are not valid text in UTF-16BE",
        );
    }

    #[test]
    fn urls() {
        check("urlencode", &["a b&c=é/~*"], "a+b%26c%3D%C3%A9%2F~%2A");
        check("urldecode", &["a+b%26c%3D%C3%A9"], "a b&c=é");
        check("urldecode", &["100%"], "None \"%\" is not a valid URL escape");
        check("urldecode", &["%ff"], "None the decoded bytes are not valid UTF-8, so they cannot be a string");
    }
}
