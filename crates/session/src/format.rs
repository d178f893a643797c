//! `fmt`: files in, the same files in canonical form out.
//!
//! It replaces files on disk, so it reads them there, including those whose names are not Unicode. Unsaved buffers are formatted
//! with [`format_text`].

use std::fs;
use std::path::{Component, Path, PathBuf};

use yuba_syntax::format::format_tokens;
use yuba_syntax::parser::parse_config;
use yuba_syntax::{Diagnostics, FileId, SourceFile, Sources};

use crate::diagnostics as say;
use crate::replace::replace;

/// Endings of the files that have a canonical form.
pub const ENDINGS: &[&str] = &[".tf", ".tofu", ".tfvars", ".tftest.hcl", ".tofutest.hcl"];

/// Targets to format, and the output of the result.
#[derive(Clone, Debug)]
pub struct FormatRequest {
    /// Files, and directories whose files are meant.
    pub targets: Vec<PathBuf>,
    /// Base of relative targets; names of files are shown relative to it.
    pub directory: PathBuf,
    /// Directories within directories too.
    pub recursive: bool,
    /// Files that change are written.
    pub write: bool,
}

/// A file without syntax errors, and its canonical form.
#[derive(Clone, Debug)]
pub struct Formatted {
    /// The name of the file as people are to see it.
    pub name: String,
    /// Its text before.
    pub source: Vec<u8>,
    /// Its text in canonical form.
    pub result: Vec<u8>,
}

impl Formatted {
    /// Whether the file was not in canonical form.
    pub fn is_changed(&self) -> bool {
        self.source != self.result
    }
}

/// Errors, with the files that they occurred in.
#[derive(Debug, Default)]
pub struct Problems {
    /// Diagnostics for the user.
    pub diagnostics: Diagnostics,
    /// The files that the diagnostics point into.
    pub sources: Sources,
}

/// Formats files one by one, in the order of the targets and of their names, and hands each result over at once.
///
/// A file with syntax errors stays unchanged. Problems with one file do not stop formatting of the other files; a
/// target that does not exist ends the command.
pub fn format(request: &FormatRequest, each: &mut dyn FnMut(Formatted)) -> Problems {
    let mut work = Work { request, each, problems: Problems::default() };
    for target in &request.targets {
        let path = request.directory.join(target);
        let name = relative(&request.directory, &path);
        match fs::metadata(&path) {
            Err(error) => {
                work.problems.diagnostics.push(say::no_such_target(&name, &error));
                break;
            }
            Ok(metadata) if metadata.is_dir() => work.directory(&path),
            Ok(_) if has_canonical_form(&name) => work.file(&path),
            Ok(_) => work.problems.diagnostics.push(say::not_formattable(&name, ENDINGS)),
        }
    }
    work.problems
}

/// Formats a text that is not from a file, such as standard input.
pub fn format_text(name: &str, source: Vec<u8>) -> Result<Formatted, Problems> {
    let mut problems = Problems::default();
    match canonical(name, source, &mut problems) {
        Some(formatted) => Ok(formatted),
        None => Err(problems),
    }
}

/// One request on its way.
struct Work<'a> {
    request: &'a FormatRequest,
    each: &'a mut dyn FnMut(Formatted),
    problems: Problems,
}

impl Work<'_> {
    fn directory(&mut self, path: &Path) {
        let listed = fs::read_dir(path).and_then(|entries| {
            let entries = entries.map(|entry| entry.and_then(|e| Ok((e.file_name(), e.file_type()?.is_dir()))));
            entries.collect::<Result<Vec<_>, _>>()
        });
        let mut entries = match listed {
            Ok(entries) => entries,
            Err(error) => {
                let name = relative(&self.request.directory, path);
                return self.problems.diagnostics.push(say::unreadable_directory(&name, &error));
            }
        };
        entries.sort();
        for (entry, is_directory) in entries {
            let name = entry.to_string_lossy();
            if is_ignored(&name) {
                continue;
            }
            if !is_directory && has_canonical_form(&name) {
                self.file(&path.join(&entry));
            } else if is_directory && self.request.recursive {
                self.directory(&path.join(&entry));
            }
        }
    }

    fn file(&mut self, path: &Path) {
        let name = relative(&self.request.directory, path);
        let source = match fs::File::open(path) {
            Err(error) => return self.problems.diagnostics.push(say::unopenable_file(&name, &error)),
            Ok(file) => read(file),
        };
        let source = match source {
            Ok(source) => source,
            Err(error) => return self.problems.diagnostics.push(say::unreadable_file(&name, &error)),
        };
        let Some(formatted) = canonical(&name, source, &mut self.problems) else { return };
        let written = match self.request.write && formatted.is_changed() {
            true => replace(path, &formatted.result),
            false => Ok(()),
        };
        // A file that cannot be written is still one that is not in canonical form.
        (self.each)(formatted);
        if let Err(error) = written {
            self.problems.diagnostics.push(say::unwritable_file(&name, &error));
        }
    }
}

fn read(mut file: fs::File) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut source = Vec::with_capacity(file.metadata()?.len() as usize + 1);
    file.read_to_end(&mut source)?;
    match u32::try_from(source.len()) {
        Ok(_) => Ok(source),
        Err(_) => Err(std::io::Error::other("it has 4 GiB or more")),
    }
}

/// The canonical form of a text. Returns none and records the errors where the text has syntax errors.
fn canonical(name: &str, source: Vec<u8>, problems: &mut Problems) -> Option<Formatted> {
    // Most files have no errors and are not added to the sources: only their diagnostics would point at them.
    let place = FileId(problems.sources.iter().count() as u32);
    let (tree, parsed) = parse_config(place, &source);
    if parsed.diagnostics.has_errors() {
        problems.sources.add(SourceFile::new(name, source.as_slice()));
        problems.diagnostics.extend(parsed.diagnostics);
        return None;
    }
    let result = format_tokens(&source, &tree.tokens);
    Some(Formatted { name: name.to_owned(), source, result })
}

/// Whether a file of this name has a canonical form.
fn has_canonical_form(name: &str) -> bool {
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Whether a directory listing passes over this name: hidden files and what editors leave behind.
fn is_ignored(name: &str) -> bool {
    name.starts_with('.') || name.ends_with('~') || (name.starts_with('#') && name.ends_with('#'))
}

/// The shortest way from a directory to a path, by their names alone.
fn relative(directory: &Path, path: &Path) -> String {
    let (from, to) = (clean(directory), clean(path));
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    // Nothing in common: another volume, or one of them is not absolute.
    if common == 0 && !from.is_empty() {
        return path.display().to_string();
    }
    let up = from[common..].iter().map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(to[common..].iter().copied()).collect();
    if way.as_os_str().is_empty() { ".".to_owned() } else { way.display().to_string() }
}

/// The components of a path without `.` and, as far as it goes, without `..`.
fn clean(path: &Path) -> Vec<Component<'_>> {
    let mut parts: Vec<Component<'_>> = Vec::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(parts.last(), Some(Component::Normal(_))) => drop(parts.pop()),
            Component::ParentDir if matches!(parts.last(), Some(Component::RootDir)) => {}
            part => parts.push(part),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_relative_to_the_directory() {
        let check = |path: &str, expected: &str| {
            let directory = Path::new("/w/d");
            assert_eq!(relative(directory, &directory.join(path)), expected, "{path}");
        };
        check("a.tf", "a.tf");
        check("./m/../a.tf", "a.tf");
        check("/w/d/m/a.tf", "m/a.tf");
        check("../x/a.tf", "../x/a.tf");
        check("/x/a.tf", "../../x/a.tf");
        check(".", ".");
    }

    #[test]
    fn directories_pass_over_hidden_and_editor_files() {
        for name in [".a.tf", ".terraform", "a.tf~", "#a.tf#"] {
            assert!(is_ignored(name), "{name}");
        }
        for name in ["a.tf", "#a.tf", "a#", "~a.tf"] {
            assert!(!is_ignored(name), "{name}");
        }
    }

    #[test]
    fn endings_with_a_canonical_form() {
        for name in ["a.tf", "a.tofu", "a.tfvars", "a.tftest.hcl", "a.tofutest.hcl", "a.auto.tfvars"] {
            assert!(has_canonical_form(name), "{name}");
        }
        for name in ["a.tf.json", "a.hcl", "tf", "a.tfmock.hcl", "a.tofuvars"] {
            assert!(!has_canonical_form(name), "{name}");
        }
    }
}
