//! The licences of the crates in the binary, from the files in their sources.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::crates::LinkedCrate;

/// Beginnings of names of files with licences and attributions.
const NAMES: [&str; 6] = ["licen", "copying", "copyright", "notice", "unlicense", "patents"];

/// Endings of files that are not texts of licences although they are called so.
const CODE: [&str; 8] = ["rs", "c", "h", "py", "toml", "json", "go", "sh"];

/// Depth below a crate of the licences of bundled C libraries.
const DEPTH: usize = 4;

/// One text with all licences: a list of the crates, then each different text once, with the crates that it belongs to.
///
/// Fails for a crate that neither has a file nor a declared licence.
pub(super) fn document(crates: &[LinkedCrate]) -> Result<String, String> {
    let foreign: Vec<&LinkedCrate> = crates.iter().filter(|linked| linked.is_foreign).collect();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut list = String::new();
    for linked in &foreign {
        let name = format!("{} {}", linked.name, linked.version);
        let files = files(&linked.directory);
        if files.is_empty() && linked.licence.starts_with("see ") {
            return Err(format!("{name}: the crate declares no licence and contains no licence file"));
        }
        let remark = if files.is_empty() { " (declared in its manifest; it contains no licence file)" } else { "" };
        list.push_str(&format!("{name}: {}{remark}\n", linked.licence));
        for file in files {
            let text = fs::read_to_string(&file).unwrap_or_default().replace("\r\n", "\n");
            let text = text.trim().to_owned();
            let users = texts.entry(text).or_default();
            if users.last() != Some(&name) {
                users.push(name.clone());
            }
        }
    }
    texts.remove("");
    let mut document = "Third-party licences\n\nThe binary of Yuba contains the Rust standard library (MIT OR Apache-2.0) and these crates:\n\n".to_owned();
    document.push_str(&list);
    let mut texts: Vec<_> = texts.into_iter().collect();
    texts.sort_by(|one, other| one.1.cmp(&other.1));
    for (text, users) in texts {
        document.push_str(&format!("\n{}\n{}\n\n{text}\n", "=".repeat(80), users.join(", ")));
    }
    Ok(document)
}

/// The files with licences in a directory and a few levels below, in order.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(directory, DEPTH, &mut found);
    found.sort();
    found
}

fn collect(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().to_lowercase());
        let is_named = NAMES.iter().any(|start| name.starts_with(start));
        if path.is_dir() {
            // Directories of tests hold data with licences of their own, none of which is compiled.
            if depth > 1 && !name.contains("test") {
                collect(&path, depth - 1, found);
            }
        } else if is_named && !path.extension().is_some_and(|extension| CODE.iter().any(|code| extension == *code)) {
            found.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::super::crates::LinkedCrate;
    use super::document;

    fn linked(top: &std::path::Path, name: &str, files: &[(&str, &str)], licence: &str) -> LinkedCrate {
        let directory: PathBuf = top.join(name);
        fs::create_dir_all(&directory).expect("because the directory is ours");
        for (path, text) in files {
            let path = directory.join(path);
            fs::create_dir_all(path.parent().expect("because it has one")).expect("because the directory is ours");
            fs::write(path, text).expect("because the directory is ours");
        }
        let (version, name, licence) = ("1.0.0".to_owned(), name.to_owned(), licence.to_owned());
        LinkedCrate {
            name,
            version,
            licence,
            directory,
            repository: None,
            is_foreign: true,
            checksum: None,
            uses: Vec::new(),
        }
    }

    #[test]
    fn equal_texts_are_written_once_and_bundled_sources_are_found() {
        let top = std::env::temp_dir().join(format!("yuba-licences-{}", std::process::id()));
        let crates = [
            linked(&top, "a", &[("LICENSE", "Text A\n"), ("license.rs", "code")], "MIT"),
            linked(
                &top,
                "b",
                &[("LICENSE-MIT", "Text A\r\n"), ("c_src/lib/COPYING", "Text B"), ("tests/LICENSE", "Text C")],
                "MIT",
            ),
            linked(&top, "c", &[], "ISC"),
        ];
        let text = document(&crates).expect("because all have licences");
        assert_eq!(text.matches("Text A").count(), 1, "{text}");
        assert!(text.contains("a 1.0.0, b 1.0.0\n\nText A"), "{text}");
        assert!(text.contains("b 1.0.0\n\nText B") && !text.contains("Text C") && !text.contains("code"), "{text}");
        assert!(text.contains("c 1.0.0: ISC (declared in its manifest"), "{text}");
        assert!(document(&[linked(&top, "d", &[], "see its licence file")]).is_err());
        let _ = fs::remove_dir_all(&top);
    }
}
