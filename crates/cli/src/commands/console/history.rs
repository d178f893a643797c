//! The history of the console across sessions: a file that only its user can read.
//!
//! Lines are recorded as they are typed, never their values. A line that starts with a space is not recorded. Failures are ignored: the
//! console works without a history.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use yuba_net::Environment;

/// Number of lines that are read and stored.
const LINES: usize = 1000;

/// Longest line that is recorded, in bytes.
const LONGEST: usize = 4096;

/// The history of a user.
pub(super) struct History {
    path: Option<PathBuf>,
    last: String,
}

impl History {
    /// The history in the user's directory for such files; none without a home directory.
    pub(super) fn of_user(environment: &Environment) -> History {
        let path = environment.state_home().map(|home| home.join("yuba").join("console_history"));
        History { path, last: String::new() }
    }

    /// The recorded lines, oldest first. Shortens a file that has grown too long, and makes it private.
    pub(super) fn lines(&mut self) -> Vec<String> {
        let Some(path) = &self.path else { return Vec::new() };
        // Lines that are not UTF-8 text were not written by the console.
        let text = fs::read(path).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
        let all: Vec<String> = text.lines().map(str::to_owned).collect();
        let recent = all[all.len().saturating_sub(LINES)..].to_vec();
        if recent.len() < all.len() {
            let _ = replace(path, &(recent.join("\n") + "\n"));
        } else if !all.is_empty() {
            make_private(path);
        }
        self.last = recent.last().cloned().unwrap_or_default();
        recent
    }

    /// Records a line. Returns whether it belongs to the history.
    pub(super) fn record(&mut self, line: &str) -> bool {
        let is_recorded = !line.trim().is_empty()
            && !line.starts_with(char::is_whitespace)
            && line.len() <= LONGEST
            && !line.contains(char::is_control)
            && line != self.last;
        if let Some(path) = self.path.as_ref().filter(|_| is_recorded) {
            self.last = line.to_owned();
            let _ = append(path, line);
        }
        is_recorded
    }
}

/// Appends a line in one write, so that lines of two consoles do not mix.
fn append(path: &Path, line: &str) -> std::io::Result<()> {
    if let Some(dir) = path.parent() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(dir)?;
    }
    private(File::options().append(true).create(true)).open(path)?.write_all(format!("{line}\n").as_bytes())
}

/// Replaces the file as a whole.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let new = path.with_extension("new");
    private(File::options().write(true).create(true).truncate(true)).open(&new)?.write_all(text.as_bytes())?;
    fs::rename(new, path)
}

/// New files are for their user alone.
fn private(options: &mut fs::OpenOptions) -> &mut fs::OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

#[cfg(unix)]
fn make_private(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    if fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0) {
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o600));
    }
}

#[cfg(not(unix))]
fn make_private(_: &Path) {}

#[cfg(test)]
mod tests {
    use super::*;

    fn user() -> (yuba_testkit::Sandbox, Environment) {
        let sandbox = yuba_testkit::Sandbox::new("", "");
        let home = sandbox.home().to_str().expect("the path is UTF-8").to_owned();
        (sandbox, [("HOME", home)].into_iter().collect())
    }

    #[test]
    fn lines_are_recorded_across_sessions() {
        let (sandbox, environment) = user();
        let mut history = History::of_user(&environment);
        assert_eq!(history.lines(), Vec::<String>::new());
        for (line, is_recorded) in
            [("1 + 1", true), ("1 + 1", false), (" secret", false), ("", false), ("var.x", true), ("a\u{7}", false)]
        {
            assert_eq!(history.record(line), is_recorded, "{line:?}");
        }
        assert!(!history.record(&"x".repeat(LONGEST + 1)));
        assert_eq!(History::of_user(&environment).lines(), ["1 + 1", "var.x"]);
        let path = sandbox.home().join(".local/state/yuba/console_history");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).expect("it exists").permissions().mode() & 0o777;
            assert_eq!(mode(&path), 0o600);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("the test owns the file");
            History::of_user(&environment).lines();
            assert_eq!(mode(&path), 0o600);
        }
        let long: String = (0..LINES + 5).map(|number| format!("{number}\n")).collect();
        fs::write(&path, long).expect("the test owns the file");
        let lines = History::of_user(&environment).lines();
        assert_eq!((lines.len(), lines[0].as_str()), (LINES, "5"));
        assert_eq!(fs::read_to_string(&path).map(|text| text.lines().count()).ok(), Some(LINES));
    }

    #[test]
    fn without_a_home_directory_there_is_no_file() {
        let mut history = History::of_user(&Environment::default());
        assert_eq!(history.lines(), Vec::<String>::new());
        assert!(history.record("1"));
    }
}
