//! A state file before its format is known: which version it is, and what to do with it.

use std::borrow::Cow;

use yuba_addrs::Version;
use yuba_syntax::Diagnostics;

use crate::json::{Fault, Reader, Result};
use crate::model::State;
use crate::{diagnostics, legacy, v4};

/// Reads a state file of any format version. The diagnostics beside a state are warnings.
///
/// An empty file is an error here: whether it means that there is no state yet is the caller's to say.
pub fn read(bytes: &[u8]) -> std::result::Result<(State, Diagnostics), Diagnostics> {
    if bytes.is_empty() {
        return Err(diagnostics::empty_file().into());
    }
    if bytes.starts_with(b"tfstate") {
        return Err(diagnostics::binary_format().into());
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    };
    if let Some((state, problems)) = v4::read_at_once(&text) {
        return if problems.has_errors() { Err(problems) } else { Ok((state, problems)) };
    }
    let head = match Head::read(&text) {
        Ok(head) => head,
        Err(fault) => {
            let mut problems = Diagnostics::from(diagnostics::not_recognised(&fault));
            if !matches!(fault, Fault::Type { field: "version", .. }) {
                problems.push(diagnostics::maybe_encrypted());
            }
            return Err(problems);
        }
    };
    let loaded = match head.version {
        None if Head::is_encrypted(&text) == Ok(true) => return Err(diagnostics::encrypted().into()),
        None => return Err(diagnostics::version_missing().into()),
        Some(0) => return Err(diagnostics::version_zero().into()),
        Some(version @ 1..=3) => legacy::read(&text, version),
        Some(4) => v4::read(&text),
        Some(version) => {
            let writer = head.writer.filter(|writer| Version::parse(writer).is_ok());
            return Err(diagnostics::version_too_new(version, writer.as_deref()).into());
        }
    };
    match loaded {
        Ok((state, problems)) if !problems.has_errors() => Ok((state, problems)),
        Ok((_, problems)) => Err(problems),
        Err(problem) => Err(problem.into()),
    }
}

/// Metadata of the file.
struct Head<'t> {
    version: Option<u64>,
    writer: Option<Cow<'t, str>>,
}

impl<'t> Head<'t> {
    /// Reads the whole text, so that what comes after can rely on its being JSON.
    fn read(text: &'t str) -> Result<Head<'t>> {
        let mut head = Head { version: None, writer: None };
        let mut bad_version = None;
        let mut reader = Reader::new(text);
        let object = reader.peek() == Some(b'{');
        if !object {
            reader.skip()?;
            reader.end()?;
            let mut reader = Reader::new(text);
            return if reader.null()? { Ok(head) } else { Err(Fault::Type { field: "", found: reader.kind().into() }) };
        }
        reader.object("", |reader, key| {
            if key.eq_ignore_ascii_case("version") {
                let mut value = reader.clone();
                reader.skip()?;
                match value.integer("version") {
                    Ok(version) => head.version = version.or(head.version),
                    Err(fault) => bad_version = Some(fault),
                }
            } else if key.eq_ignore_ascii_case("terraform_version") {
                let mut value = reader.clone();
                reader.skip()?;
                head.writer = value.string("terraform_version").ok();
            } else {
                reader.skip()?;
            }
            Ok(())
        })?;
        reader.end()?;
        bad_version.map_or(Ok(head), Err)
    }

    /// Whether the whole is encrypted, in which case there is a version of that instead.
    fn is_encrypted(text: &str) -> Result<bool> {
        let mut encrypted = false;
        let mut reader = Reader::new(text);
        reader.object("", |reader, key| {
            if key.eq_ignore_ascii_case("encryption_version") {
                encrypted = !reader.string("encryption_version")?.is_empty();
            } else {
                reader.skip()?;
            }
            Ok(())
        })?;
        reader.end()?;
        Ok(encrypted)
    }
}
