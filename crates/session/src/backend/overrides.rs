//! `-backend-config`: arguments of the backend that stand elsewhere than in its block.

use yuba_backend::kit::arguments::{ArgumentSchema, Arguments};
use yuba_backend::BackendConfiguration;
use yuba_provider::decode;
use yuba_syntax::{Diagnostics, SourceFile, Sources, json, parser};
use yuba_value::convert::convert;
use yuba_value::{Type, Value};

use super::diagnostics;
use crate::providers::Constants;

/// A backend with what the flags say instead of its block: `name=value`, or the name of a file with arguments. Later ones
/// win, and one that is empty says nothing.
pub(crate) fn overridden(
    block: &BackendConfiguration,
    flags: &[String],
    sources: &mut Sources,
) -> Result<BackendConfiguration, Diagnostics> {
    let schema = block.schema();
    let mut arguments = block.arguments().clone();
    let mut problems = Diagnostics::new();
    for flag in flags.iter().filter(|flag| !flag.is_empty()) {
        let found = match flag.split_once('=') {
            None => file(flag, &schema, sources).map(|found| arguments.overridden_by(&found)),
            Some((name, text)) => match schema.type_of(name) {
                Some(ty) => value(name, text, &ty, sources).map(|value| arguments.with(name, value)),
                None => Err(diagnostics::unknown_backend_argument(block.kind(), name).into()),
            },
        };
        match found {
            Ok(found) => arguments = found,
            Err(found) => problems.extend(found),
        }
    }
    let configured = block.with(arguments);
    problems.extend(configured.check());
    if problems.has_errors() { Err(problems) } else { Ok(configured) }
}

/// The value of a flag: a string where the argument is a string, number or bool, otherwise an expression.
fn value(name: &str, text: &str, ty: &Type, sources: &mut Sources) -> Result<Value, Diagnostics> {
    let value = match ty.is_primitive() {
        true => Value::string(text),
        false => {
            let file = sources.add(SourceFile::new(format!("<value for -backend-config={name}>"), text.as_bytes()));
            let (parsed, problems) = parser::parse_expression(file, text.as_bytes());
            if problems.has_errors() {
                return Err(problems);
            }
            let (value, problems) = yuba_eval::constant(&parsed);
            if problems.has_errors() {
                return Err(problems);
            }
            value
        }
    };
    convert(&value, ty).map_err(|error| diagnostics::invalid_backend_argument(name, &error.message).into())
}

/// The arguments in a file.
fn file(path: &str, schema: &ArgumentSchema, sources: &mut Sources) -> Result<Arguments, Diagnostics> {
    let bytes = std::fs::read(path).map_err(|error| diagnostics::backend_file_not_read(path, &error))?;
    let id = sources.add(SourceFile::new(path, bytes.clone()));
    let parsed = match path.ends_with(".json") {
        true => json::parse_config(id, &bytes),
        false => parser::parse_config(id, &bytes).1,
    };
    let mut problems = parsed.diagnostics;
    if problems.has_errors() {
        return Err(problems);
    }
    let (value, found) = decode(&parsed.body, schema.block(), &mut Constants);
    problems.extend(found);
    if problems.has_errors() { Err(problems) } else { Ok(Arguments::new(value)) }
}
