//! The record of installed modules, `.terraform/modules/modules.json`, in OpenTofu's format.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ecow::eco_format;
use yuba_addrs::{ModuleSource, Version};
use yuba_eval::tree::{Installed, Manifest};
use yuba_syntax::Diagnostic;
use yuba_value::{Value, json as value_json};

use crate::diagnostics;
use crate::project::Project;

/// File that records installed modules, in the data directory of a working directory.
pub const MANIFEST: &str = "modules/modules.json";

/// Reads the record of installed modules. It is empty if the file does not exist.
pub fn read_manifest(project: &Project) -> Result<Manifest, Diagnostic> {
    let path = project.data_dir().join(MANIFEST);
    let text = match project.files().read(&path.to_string_lossy()) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Manifest::default()),
        Err(error) => return Err(diagnostics::manifest_unreadable(&path, &error.to_string())),
    };
    parse_manifest(&text).map_err(|reason| diagnostics::manifest_unreadable(&path, &reason))
}

/// Writes the record of installed modules, unless it says so already. A reader sees the old or the new
/// record, never a part of it.
pub fn write_manifest(project: &Project, manifest: &Manifest) -> Result<(), Diagnostic> {
    let shown = project.data_dir().join(MANIFEST);
    let path = project.path(&shown);
    let text = manifest_text(manifest);
    if fs::read(&path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    let _span = tracing::debug_span!("write file", path = %path.display(), bytes = text.len()).entered();
    let write = || {
        let parent = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        fs::create_dir_all(&parent)?;
        let new = parent.join("modules.json.new");
        fs::write(&new, &text)?;
        fs::rename(&new, &path)
    };
    write().map_err(|error| diagnostics::manifest_not_written(&shown, &error))
}

fn parse_manifest(text: &[u8]) -> Result<Manifest, String> {
    if text.is_empty() {
        return Ok(Manifest::default());
    }
    let text = std::str::from_utf8(text).map_err(|_| "it is not valid UTF-8".to_owned())?;
    let root = value_json::decode_implied(text).map_err(|error| error.to_string())?;
    let modules = attribute(&root, "Modules");
    records(modules.as_ref().and_then(Value::as_seq).unwrap_or_default())
}

/// Reads the record of modules in a plan file: a list without anything around it.
pub(crate) fn parse_planned(text: &str) -> Result<Manifest, String> {
    let root = value_json::decode_implied(text).map_err(|error| error.to_string())?;
    records(root.as_seq().unwrap_or_default())
}

fn records(list: &[Value]) -> Result<Manifest, String> {
    let mut manifest = Manifest::default();
    for record in list {
        let field = |name: &str| attribute(record, name).and_then(|value| value.as_str().cloned()).unwrap_or_default();
        let (key, source, version) = (field("Key"), field("Source"), field("Version"));
        let version = match version.as_str() {
            "" => None,
            text => Some(Version::parse(text).map_err(|_| format!("{text:?} is not a valid version"))?),
        };
        let source = match source.as_str() {
            "" => source,
            // Old records have sources as they were written.
            text => ModuleSource::parse(text).map_or(source.clone(), |parsed| eco_format!("{parsed}")),
        };
        let installed = Installed { source, version, dir: field("Dir") };
        if manifest.modules.insert(key.clone(), installed).is_some() {
            return Err(format!("it has two entries for the module {key:?}"));
        }
    }
    Ok(manifest)
}

/// An attribute of an object.
fn attribute(object: &Value, name: &str) -> Option<Value> {
    object.entries()?.into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

fn manifest_text(manifest: &Manifest) -> String {
    match manifest.modules.is_empty() {
        true => "{\"Modules\":null}".to_owned(),
        false => format!("{{\"Modules\":{}}}", list_text(manifest, |source| Some(source))),
    }
}

/// The record of modules in a plan file. Modules without source have no such member there.
pub(crate) fn planned_text(manifest: &Manifest) -> String {
    list_text(manifest, |source| Some(source).filter(|source| !source.is_empty()))
}

fn list_text(manifest: &Manifest, written: impl Fn(&str) -> Option<&str>) -> String {
    let quote = |text: &str| value_json::quote(text);
    let records: Vec<String> = manifest
        .modules
        .iter()
        .map(|(key, installed)| {
            let version = installed.version.as_ref().map(|v| format!(",\"Version\":{}", quote(&v.to_string())));
            let source = written(&installed.source).map(|source| format!(",\"Source\":{}", quote(source)));
            format!(
                "{{\"Key\":{}{}{},\"Dir\":{}}}",
                quote(key),
                source.unwrap_or_default(),
                version.unwrap_or_default(),
                quote(&installed.dir)
            )
        })
        .collect();
    format!("[{}]", records.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_of_modules_is_read_and_written_as_opentofu_does() {
        let text = concat!(
            r#"{"Modules":[{"Key":"","Source":"","Dir":"."},"#,
            r#"{"Key":"a","Source":"./a","Dir":"a"},"#,
            r#"{"Key":"a.r","Source":"registry.opentofu.org/acme/bar/random","Version":"1.0.0","Dir":".terraform/modules/a.r"}]}"#
        );
        let manifest = parse_manifest(text.as_bytes()).expect("it is well-formed");
        assert_eq!(manifest_text(&manifest), text);
        let planned = planned_text(&manifest);
        assert!(planned.starts_with(r#"[{"Key":"","Dir":"."},{"Key":"a","Source":"./a","Dir":"a"},"#), "{planned}");
        assert_eq!(parse_planned(&planned), Ok(manifest));
        assert!(parse_planned("[").is_err() && parse_planned("{}") == Ok(Manifest::default()));
        let old = parse_manifest(br#"{"Modules":[{"Key":"r","Source":"acme/bar/random","Dir":"x"}]}"#);
        let old = old.expect("it is well-formed");
        assert_eq!(old.modules["r"].source, "registry.opentofu.org/acme/bar/random");
        assert_eq!(parse_manifest(b""), Ok(Manifest::default()));
        for wrong in [
            &b"{"[..],
            b"\xff",
            br#"{"Modules":[{"Key":"a"},{"Key":"a"}]}"#,
            br#"{"Modules":[{"Key":"a","Version":"x"}]}"#,
        ] {
            assert!(parse_manifest(wrong).is_err(), "{}", String::from_utf8_lossy(wrong));
        }
        for odd in [&b"[]"[..], b"null", b"{}", br#"{"Modules":[1]}"#, br#"{"Modules":{"a":1}}"#] {
            let _ = parse_manifest(odd);
        }
    }
}
