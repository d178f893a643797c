//! Building a server in a copy of its Go module.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::table::{GoModule, Replaced, Row};
use super::{Place, successful};

/// Copies the module out of the module cache, adapts its `go.mod`, and builds the executable. Go verifies each module by its checksum.
pub(super) fn install(row: &Row, module: &GoModule, place: &Place) -> Result<(), String> {
    let copy = place.files(row);
    remove(&copy)?;
    let result = build(row, module, place, &copy);
    // Sources of a failed build stay, to be looked at.
    result.and_then(|()| remove(&copy))
}

fn build(row: &Row, module: &GoModule, place: &Place, copy: &Path) -> Result<(), String> {
    let outside = place.files(row).with_extension("empty");
    fs::create_dir_all(&outside).map_err(|error| error.to_string())?;
    let source = download(&format!("{}@v{}", module.module, row.version), &outside)?;
    copy_tree(&source, copy).map_err(|error| format!("copying {}: {error}", source.display()))?;
    for (file, text, replacement) in module.edits {
        edit(&copy.join(file), text, replacement)?;
    }
    if let Some(main) = module.main {
        let package = copy.join(module.package);
        fs::create_dir_all(&package).map_err(|error| error.to_string())?;
        fs::write(package.join("main.go"), main).map_err(|error| error.to_string())?;
    }
    let go =
        |arguments: &[String]| successful(Command::new("go").args(arguments).env("GOWORK", "off").current_dir(copy));
    let mut changes = vec!["mod".to_owned(), "edit".to_owned()];
    for replaced in replaced_by_directories(&module_file(copy)?) {
        changes.push(match module.replaced {
            Replaced::ByRequired => format!("-dropreplace={replaced}"),
            Replaced::ByFirstOf(versions) => {
                format!("-replace={replaced}={replaced}@{}", first_of(&replaced, versions, &outside)?)
            }
        });
    }
    changes.extend(module.require.iter().map(|module| format!("-require={module}")));
    if changes.len() > 2 {
        go(&changes)?;
    }
    remove(&outside)?;
    let program = place.program(row).display().to_string();
    let words = ["build", "-mod=mod", "-buildvcs=false", "-o", &program, module.package];
    go(&words.map(str::to_owned))
}

/// Downloads a module into the module cache and returns its directory. Go runs outside of any module, where no `go.mod` interferes.
fn download(module: &str, outside: &Path) -> Result<PathBuf, String> {
    let mut go = Command::new("go");
    go.args(["mod", "download", "-json", module]).env("GOWORK", "off").current_dir(outside);
    let output = go.output().map_err(|error| format!("go: {error}"))?;
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    match answer["Dir"].as_str().filter(|_| output.status.success()) {
        Some(directory) => Ok(PathBuf::from(directory)),
        None => {
            let error = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(format!("go mod download {module} failed: {}{error}", answer["Error"].as_str().unwrap_or_default()))
        }
    }
}

/// The first version that downloads and verifies.
fn first_of<'a>(module: &str, versions: &[&'a str], outside: &Path) -> Result<&'a str, String> {
    let mut failures = Vec::new();
    for version in versions {
        match download(&format!("{module}@{version}"), outside) {
            Ok(_) => return Ok(version),
            Err(message) => failures.push(message),
        }
    }
    Err(failures.join("\n"))
}

/// The file `go.mod` as JSON.
fn module_file(copy: &Path) -> Result<serde_json::Value, String> {
    let output = Command::new("go").args(["mod", "edit", "-json"]).env("GOWORK", "off").current_dir(copy).output();
    let output = output.map_err(|error| format!("go: {error}"))?;
    serde_json::from_slice(&output.stdout).map_err(|error| format!("go mod edit -json: {error}"))
}

/// The modules that `go.mod` replaces by directories: a replacement without version.
fn replaced_by_directories(module: &serde_json::Value) -> Vec<String> {
    let replaced = module["Replace"].as_array().into_iter().flatten();
    let local = replaced.filter(|replaced| replaced["New"]["Version"].is_null());
    local.filter_map(|replaced| replaced["Old"]["Path"].as_str().map(str::to_owned)).collect()
}

fn edit(file: &Path, text: &str, replacement: &str) -> Result<(), String> {
    let old = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    if !old.contains(text) {
        return Err(format!("{} does not contain \"{text}\"", file.display()));
    }
    fs::write(file, old.replace(text, replacement)).map_err(|error| format!("{}: {error}", file.display()))
}

/// Copies a directory. Files of the module cache are read-only, the copies are not.
fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
            fs::set_permissions(&target, fs::Permissions::from_mode(0o644))?;
        }
    }
    Ok(())
}

fn remove(directory: &Path) -> Result<(), String> {
    match fs::remove_dir_all(directory) {
        Err(error) if directory.exists() => Err(format!("{}: {error}", directory.display())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::replaced_by_directories;

    #[test]
    fn only_replacements_by_directories_are_changed() {
        let file = serde_json::json!({"Replace": [
            {"Old": {"Path": "example.com/api"}, "New": {"Path": "./api"}},
            {"Old": {"Path": "example.com/fork"}, "New": {"Path": "example.com/other", "Version": "v1.0.0"}},
        ]});
        assert_eq!(replaced_by_directories(&file), ["example.com/api"]);
        assert!(replaced_by_directories(&serde_json::json!({"Replace": null})).is_empty());
    }
}
