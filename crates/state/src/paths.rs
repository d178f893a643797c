//! Paths to sensitive attributes as JSON: lists of steps, a step being `get_attr` with a name or `index` with a key.

use std::borrow::Cow;

use ecow::EcoString;
use yuba_syntax::Diagnostics;
use yuba_value::{Path, PathStep, Type, Value, json as values};

use crate::diagnostics;
use crate::json::{Fault, Reader, Result};
use crate::object::RawJson;
use crate::writer::Writer;

pub(crate) fn write(writer: &mut Writer<'_>, paths: &[Path]) {
    writer.array(|writer| {
        for path in paths {
            writer.item();
            writer.array(|writer| path.0.iter().for_each(|step| write_step(writer, step)));
        }
    });
}

fn write_step(writer: &mut Writer<'_>, step: &PathStep) {
    writer.item();
    writer.object(|writer| {
        writer.key("type");
        match step {
            PathStep::Attr(name) => {
                writer.text("get_attr");
                writer.key("value");
                writer.text(name);
            }
            PathStep::Index(key) => {
                writer.text("index");
                writer.key("value");
                // Keys are texts and numbers, or elements of a set, none of which has anything that JSON has not.
                let key = key.unmark_deep().0;
                let json = values::encode(&key, &Type::dynamic()).unwrap_or_else(|_| "null".into());
                writer.raw(&RawJson::trusted(json));
            }
        }
    });
}

/// Reads the paths. Invalid paths are reported and skipped.
pub(crate) fn read(raw: &str, problems: &mut Diagnostics) -> Vec<Path> {
    let mut paths = Vec::new();
    let read = read_list(&mut Reader::new(raw), &mut paths, problems);
    if let Err(fault) = read {
        problems.push(diagnostics::path_steps(&fault));
    }
    paths
}

const FIELD: &str = "resources.instances.sensitive_attributes";

fn read_list(reader: &mut Reader<'_>, paths: &mut Vec<Path>, problems: &mut Diagnostics) -> Result<()> {
    reader.array(FIELD, |reader| {
        let mut steps = Vec::new();
        let mut bad = None;
        reader.array(FIELD, |reader| {
            let (mut kind, mut value) = (Cow::Borrowed(""), None);
            reader.object(FIELD, |reader, key| {
                if key.eq_ignore_ascii_case("type") {
                    kind = reader.string(FIELD)?;
                } else if key.eq_ignore_ascii_case("value") {
                    value = Some(reader.raw()?);
                } else {
                    reader.skip()?;
                }
                Ok(())
            })?;
            match read_step(&kind, value.unwrap_or("null")) {
                Ok(step) => steps.push(step),
                Err(problem) => bad = bad.take().or(Some(problem)),
            }
            Ok(())
        })?;
        match bad {
            None => paths.push(Path(steps)),
            Some(problem) => problems.push(problem),
        }
        Ok(())
    })
}

fn read_step(kind: &str, value: &str) -> std::result::Result<PathStep, yuba_syntax::Diagnostic> {
    match kind {
        "get_attr" => match Reader::new(value).string(FIELD) {
            Ok(name) => Ok(PathStep::Attr(EcoString::from(name))),
            Err(Fault::Type { found, .. }) => Err(diagnostics::attribute_name_type(&found)),
            Err(_) => Err(diagnostics::attribute_name_malformed()),
        },
        "index" => values::decode(value.as_bytes(), &Type::dynamic())
            .map(PathStep::Index)
            .map_err(|error| diagnostics::index_key(&error.message)),
        kind => Err(diagnostics::path_step_kind(kind)),
    }
}

/// Whether two lists hold the same paths in the same order.
pub(crate) fn equal(a: &[Path], b: &[Path]) -> bool {
    let same = |(a, b): (&PathStep, &PathStep)| match (a, b) {
        (PathStep::Attr(a), PathStep::Attr(b)) => a == b,
        (PathStep::Index(a), PathStep::Index(b)) => Value::raw_equals(a, b),
        _ => false,
    };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0.len() == b.0.len() && a.0.iter().zip(&b.0).all(same))
}
