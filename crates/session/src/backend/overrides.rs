//! `-backend-config`: arguments of the backend that stand elsewhere than in its block.

use yuba_backend::BackendConfiguration;
use yuba_backend::kit::arguments::{ArgumentSchema, Arguments};
use yuba_provider::decode;
use yuba_syntax::files::Files;
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
    files: &dyn Files,
    sources: &mut Sources,
) -> Result<BackendConfiguration, Diagnostics> {
    let schema = block.schema();
    let mut arguments = block.arguments().clone();
    let mut problems = Diagnostics::new();
    for flag in flags.iter().filter(|flag| !flag.is_empty()) {
        let found = match flag.split_once('=') {
            None => file(flag, &schema, files, sources).map(|found| arguments.overridden_by(&found)),
            Some((name, text)) => match schema.type_of(name) {
                Some(ty) => value(name, text, &ty, sources).map(|value| arguments.with(name, &value)),
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
fn file(
    path: &str,
    schema: &ArgumentSchema,
    files: &dyn Files,
    sources: &mut Sources,
) -> Result<Arguments, Diagnostics> {
    let bytes = files.read(path).map_err(|error| diagnostics::backend_file_not_read(path, &error))?;
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

#[cfg(test)]
mod tests {
    use serde_json::json;
    use yuba_backend::fake::FAKE;

    use super::*;

    fn block() -> BackendConfiguration {
        BackendConfiguration::of_json(FAKE, &json!({ "bucket": "written", "region": "eu" }))
    }

    fn with(flags: &[&str]) -> Result<serde_json::Value, Vec<String>> {
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        match overridden(&block(), &flags, &crate::files::DiskFiles::new("/"), &mut Sources::new()) {
            Ok(found) => Ok(found.arguments().to_json()),
            Err(problems) => {
                Err(problems.iter().map(|problem| format!("{}: {}", problem.summary, problem.detail)).collect())
            }
        }
    }

    #[test]
    fn flags_set_arguments_of_any_type() {
        let found = with(&[
            "",
            "bucket=first",
            "bucket=given=really",
            "max_retries=5",
            "use_lockfile=true",
            "allowed=[\"a\", \"b\"]",
            "endpoints={ s3 = \"http://localhost\" }",
        ]);
        let expected = json!({
            "access_key": null, "allowed": ["a", "b"], "bucket": "given=really", "endpoints": { "s3": "http://localhost" },
            "key": null, "max_retries": 5, "region": "eu", "use_lockfile": true, "workspaces": null,
        });
        assert_eq!(found, Ok(expected.clone()));
        // The next init reads the record of this one.
        assert_eq!(BackendConfiguration::of_json(FAKE, &expected).arguments().to_json(), expected);
    }

    #[test]
    fn files_set_arguments_and_blocks() {
        let sandbox = yuba_testkit::Sandbox::new(
            "",
            "//- a.tfbackend\nbucket = \"a\"\nendpoints = { s3 = \"http://a\" }\nworkspaces {\n  prefix = \"p-\"\n}\n\
             //- b.json\n{\"bucket\": \"b\", \"max_retries\": 3}\n//- c.tfbackend\nnope = 1\n",
        );
        let path = |name: &str| sandbox.dir().join(name).display().to_string();
        let found = with(&[&path("a.tfbackend"), &path("b.json"), "key=k"]).expect("the files are well-formed");
        assert_eq!((&found["bucket"], &found["key"], &found["max_retries"]), (&json!("b"), &json!("k"), &json!(3)));
        assert_eq!((&found["endpoints"]["s3"], &found["workspaces"]["prefix"]), (&json!("http://a"), &json!("p-")));
        let wrong = with(&[&path("c.tfbackend")]).expect_err("there is no such argument");
        assert!(wrong[0].starts_with("Unsupported argument"), "{wrong:?}");
        let wrong = with(&[&path("none")]).expect_err("there is no such file");
        assert!(wrong[0].starts_with("Failed to read file"), "{wrong:?}");
    }

    #[test]
    fn wrong_flags_are_refused_without_their_values() {
        let wrong =
            with(&["nope=1", "max_retries=hush", "allowed=[", "use_lockfile=maybe"]).expect_err("all are wrong");
        assert_eq!(wrong.len(), 4, "{wrong:?}");
        assert!(wrong.iter().all(|problem| !problem.contains("hush")), "{wrong:?}");
    }
}
