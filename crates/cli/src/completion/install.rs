//! `-install-autocomplete` and `-uninstall-autocomplete`: one line in the startup file of each shell of the user.
//!
//! The files are those that OpenTofu edits. The line ends with a mark, so installing again replaces it and uninstalling removes nothing
//! else.

use std::io;
use std::path::{Path, PathBuf};

use super::scripts;

/// The end of each line that we write.
const MARK: &str = " # yuba completion";

/// The change to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Install,
    Uninstall,
}

/// A startup file of a shell.
struct Startup {
    shell: &'static str,
    file: PathBuf,
}

/// Changes the startup files. The result lists a message per shell, or the reason for a failure.
pub(crate) fn run(change: Change, home: &Path, config: &Path, program: &Path) -> Result<Vec<String>, String> {
    let found = startup_files(home, config);
    if found.is_empty() {
        return Err(format!(
            "Found no startup file of a shell in {}: .bashrc, .bash_profile, .bash_login, .profile, .zshrc or the directory of fish.",
            home.display()
        ));
    }
    let mut messages = Vec::new();
    for startup in found {
        let file = startup.file.display();
        let changed = startup.apply(change, program).map_err(|error| format!("Failed to change {file}: {error}."))?;
        let shell = startup.shell;
        messages.push(match (change, changed) {
            (Change::Install, true) => {
                format!("Installed completion for {shell} in {file}. Start a new shell to use it.")
            }
            (Change::Install, false) => format!("Completion for {shell} is already installed in {file}."),
            (Change::Uninstall, true) => format!("Removed completion for {shell} from {file}."),
            (Change::Uninstall, false) => format!("Completion for {shell} is not installed in {file}."),
        });
    }
    Ok(messages)
}

/// The first startup file of bash that exists, the one of zsh, and the directory of fish.
fn startup_files(home: &Path, config: &Path) -> Vec<Startup> {
    let bash: &[&str] = match cfg!(target_os = "macos") {
        true => &[".bash_profile"],
        false => &[".bashrc", ".bash_profile", ".bash_login", ".profile"],
    };
    let bash = bash.iter().map(|name| home.join(name)).find(|file| file.is_file());
    let zsh = Some(home.join(".zshrc")).filter(|file| file.is_file());
    let fish = Some(config.join("fish")).filter(|directory| directory.is_dir());
    let fish = fish.map(|directory| directory.join("completions/yuba.fish"));
    let all = [("bash", bash), ("zsh", zsh), ("fish", fish)];
    all.into_iter().filter_map(|(shell, file)| Some(Startup { shell, file: file? })).collect()
}

impl Startup {
    /// Returns whether the file has changed.
    fn apply(&self, change: Change, program: &Path) -> io::Result<bool> {
        let text = match std::fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        if self.shell == "fish" {
            return self.apply_to_fish(change, &text);
        }
        let line = format!("{}{MARK}", self.line(program));
        let installed: Vec<&str> = text.lines().filter(|line| line.ends_with(MARK)).collect();
        match change {
            Change::Install if installed == [line.as_str()] => return Ok(false),
            Change::Uninstall if installed.is_empty() => return Ok(false),
            _ => {}
        }
        let mut kept: String = text.split_inclusive('\n').filter(|line| !line.trim_end().ends_with(MARK)).collect();
        if change == Change::Install {
            if !kept.is_empty() && !kept.ends_with('\n') {
                kept.push('\n');
            }
            kept.push_str(&line);
            kept.push('\n');
        }
        replace(&self.file, &kept)?;
        Ok(true)
    }

    /// Fish loads a file per command: the whole file is ours.
    fn apply_to_fish(&self, change: Change, text: &str) -> io::Result<bool> {
        let script = scripts::script("fish").unwrap_or_default();
        match change {
            Change::Install if text == script => Ok(false),
            Change::Install => {
                std::fs::create_dir_all(self.file.parent().unwrap_or(Path::new(".")))?;
                replace(&self.file, script).map(|()| true)
            }
            Change::Uninstall if text.is_empty() => Ok(false),
            Change::Uninstall => std::fs::remove_file(&self.file).map(|()| true),
        }
    }

    /// The line without the mark.
    fn line(&self, program: &Path) -> String {
        let program = format!("'{}'", program.display().to_string().replace('\'', "'\\''"));
        match self.shell {
            // Other shells read .profile too, so the line is valid in all of them.
            "bash" => format!("[ -n \"$BASH_VERSION\" ] && [ -x {program} ] && eval \"$({program} completion bash)\""),
            _ => format!("[[ -x {program} ]] && source <({program} completion zsh)"),
        }
    }
}

/// Replaces a file by renaming, with its permissions. Links stay links.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let file = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let mut temporary = file.clone().into_os_string();
    temporary.push(format!(".{}.tmp", std::process::id()));
    std::fs::write(&temporary, text)?;
    if let Ok(metadata) = std::fs::metadata(&file) {
        std::fs::set_permissions(&temporary, metadata.permissions())?;
    }
    std::fs::rename(&temporary, &file)
}
