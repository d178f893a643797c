//! The password file of PostgreSQL's clients: lines of `host:port:database:user:password`.

use std::path::{Path, PathBuf};

use yuba_net::{Environment, Secret};

use super::settings::{Server, is_open_to_others};
use crate::files::StateFiles;

/// The entries of a password file; empty if the file does not exist.
pub(super) struct PasswordFile {
    lines: Vec<Vec<String>>,
    /// Why it was ignored, as a sentence without the period.
    pub(super) ignored: Option<String>,
}

impl PasswordFile {
    /// Reads the named file or `.pgpass` in the home directory. A file that other users can read is ignored.
    pub(super) fn open(named: Option<&str>, environment: &Environment, files: &dyn StateFiles) -> PasswordFile {
        let none = |ignored| PasswordFile { lines: Vec::new(), ignored };
        let path = named.map(PathBuf::from).or_else(|| Some(environment.home()?.join(".pgpass")));
        let Some(path) = path else { return none(None) };
        if is_open_to_others(files, &path, 0o077) {
            let path = path.display();
            return none(Some(format!(
                "The password file {path} was ignored because other users can access it; run `chmod 600 {path}`"
            )));
        }
        match files.read(&path) {
            Ok(content) => PasswordFile { lines: fields(&content), ignored: None },
            Err(error) => none(named.map(|_| unreadable(&path, &error))),
        }
    }

    /// The password of the first line that matches.
    pub(super) fn find(&self, server: &Server, database: &str, user: &str) -> Option<Secret> {
        let port = server.port.to_string();
        let is_local = |field: &str| field == "localhost" && server.socket().is_some();
        let line = self.lines.iter().find(|line| {
            let [host, ports, databases, users, _] = line.as_slice() else { return false };
            let matches = |field: &String, value: &str| field == "*" || field == value;
            (matches(host, &server.name) || is_local(host))
                && matches(ports, &port)
                && matches(databases, database)
                && matches(users, user)
        })?;
        line.last().map(Secret::new)
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> String {
    format!("The password file {} was not read: {error}", path.display())
}

/// Lines of five fields. A backslash escapes a colon or a backslash.
fn fields(content: &[u8]) -> Vec<Vec<String>> {
    let text = String::from_utf8_lossy(content);
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let split = lines.map(|line| {
        let mut fields = vec![String::new()];
        let mut rest = line.chars();
        while let Some(character) = rest.next() {
            match character {
                ':' => fields.push(String::new()),
                other => {
                    let character = if other == '\\' { rest.next() } else { Some(other) };
                    fields.last_mut().expect("there is one from the beginning").extend(character);
                }
            }
        }
        fields
    });
    split.filter(|fields| fields.len() == 5).collect()
}
