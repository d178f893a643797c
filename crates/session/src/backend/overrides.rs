//! `-backend-config`: arguments of the backend that stand elsewhere than in its block.

use std::collections::BTreeMap;

use ecow::eco_format;
use yuba_provider::decode;
use yuba_syntax::{Diagnostic, Diagnostics, SourceFile, Sources, json, parser};

use super::settings::{BackendSettings, arguments_of, schema_of};
use crate::providers::Constants;

/// A backend with what the flags say instead of its block: `name=value`, or the name of a file with arguments. Later ones
/// win, and one that is empty says nothing.
pub(crate) fn overridden(
    block: &BackendSettings,
    flags: &[String],
    sources: &mut Sources,
) -> Result<BackendSettings, Diagnostics> {
    let kind = block.kind();
    let names = arguments_of(kind).unwrap_or_default();
    let mut arguments: BTreeMap<&str, String> = BTreeMap::new();
    let written = block.arguments();
    for name in names {
        arguments.extend(written[*name].as_str().map(|text| (*name, text.to_owned())));
    }
    let mut problems = Diagnostics::new();
    for flag in flags.iter().filter(|flag| !flag.is_empty()) {
        match flag.split_once('=') {
            None => match file(flag, names, sources) {
                Ok(found) => arguments.extend(found),
                Err(found) => problems.extend(found),
            },
            Some((given, value)) => match names.iter().find(|name| **name == given) {
                Some(name) => drop(arguments.insert(name, value.to_owned())),
                None => problems.push(Diagnostic::error(
                    "Invalid backend configuration argument",
                    eco_format!("The backend {kind:?} has no argument {given:?}, which the command line gives it."),
                )),
            },
        }
    }
    let settings = BackendSettings::new(kind, |name| arguments.get(name).cloned()).unwrap_or_default();
    problems.extend(settings.check());
    if problems.has_errors() { Err(problems) } else { Ok(settings) }
}

/// The arguments in a file.
fn file<'n>(path: &str, names: &[&'n str], sources: &mut Sources) -> Result<Vec<(&'n str, String)>, Diagnostics> {
    let bytes = std::fs::read(path).map_err(|error| {
        let detail = eco_format!("The file {path} with arguments of the backend could not be read: {error}.");
        Diagnostic::error("Failed to read file", detail)
    })?;
    let id = sources.add(SourceFile::new(path, bytes.clone()));
    let parsed = match path.ends_with(".json") {
        true => json::parse_config(id, &bytes),
        false => parser::parse_config(id, &bytes).1,
    };
    let mut problems = parsed.diagnostics;
    if problems.has_errors() {
        return Err(problems);
    }
    let (value, found) = decode(&parsed.body, &schema_of(names), &mut Constants);
    problems.extend(found);
    if problems.has_errors() {
        return Err(problems);
    }
    let argument = |name: &&'n str| Some((*name, yuba_value::ops::get_attr(&value, name).ok()?.as_str()?.to_string()));
    Ok(names.iter().filter_map(argument).collect())
}
