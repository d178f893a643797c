//! One of the two tools: how it is started and which parts of its output are compared.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// A diagnostic, without its words beyond the title.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Diagnostic {
    pub(super) severity: String,
    pub(super) title: String,
    pub(super) file: String,
    pub(super) address: String,
    pub(super) line: u64,
}

/// Result of a command.
pub(super) struct Answer {
    pub(super) code: i32,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// An executable and the CLI configuration it runs with.
pub(super) struct Tool {
    pub(super) path: PathBuf,
    pub(super) cli_config: PathBuf,
}

impl Tool {
    /// Runs the tool in a directory until it ends.
    pub(super) fn run(&self, folder: &Path, args: &[&str], input: Option<&str>) -> Answer {
        let mut command = Command::new(&self.path);
        command
            .current_dir(folder)
            .args(args)
            .env("TF_CLI_CONFIG_FILE", &self.cli_config)
            .env("TF_IN_AUTOMATION", "1")
            .env("CHECKPOINT_DISABLE", "1")
            .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(e) => return Answer { code: -1, stdout: String::new(), stderr: format!("cannot start: {e}") },
        };
        let pipe = child.stdin.take();
        let writer = input.map(str::to_owned).zip(pipe).map(|(text, mut pipe)| {
            std::thread::spawn(move || {
                // A tool that ended at an error reads no further: its output so far is the result.
                let _ = pipe.write_all(text.as_bytes());
            })
        });
        let output = child.wait_with_output();
        if let Some(writer) = writer {
            let _ = writer.join();
        }
        match output {
            Ok(output) => Answer {
                code: output.status.code().unwrap_or(-1),
                stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
                stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            },
            Err(e) => Answer { code: -1, stdout: String::new(), stderr: e.to_string() },
        }
    }
}

impl Diagnostic {
    /// Whether this says nothing that the other one does not say. The address is missing where a tool validates.
    pub(super) fn repeats(&self, other: &Diagnostic) -> bool {
        let same_address = self.address == other.address || self.address.is_empty() || other.address.is_empty();
        let place = |it: &Diagnostic| (it.severity.clone(), it.title.clone(), it.file.clone(), it.line);
        same_address && self.line > 0 && place(self) == place(other)
    }
}

impl Answer {
    /// The lines of `-json` output.
    pub(super) fn lines(&self) -> Vec<Value> {
        self.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The diagnostics of `validate -json` or of a stream of JSON lines, sorted.
    pub(super) fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut found: Vec<Diagnostic> = Vec::new();
        if let Ok(whole) = serde_json::from_str::<Value>(&self.stdout) {
            found.extend(whole["diagnostics"].as_array().into_iter().flatten().map(read));
        }
        found.extend(self.lines().iter().filter(|line| line["type"] == "diagnostic").map(|l| read(&l["diagnostic"])));
        if found.is_empty() && self.code != 0 {
            found.extend(titles(&self.stderr).chain(titles(&self.stdout)));
        }
        found.sort();
        found
    }

    /// True where the tool ended by a defect of its own.
    pub(super) fn crashed(&self) -> bool {
        self.code < 0 || self.code > 2 || self.stderr.contains("panicked at") || self.stderr.contains("OPENTOFU CRASH")
    }
}

fn read(json: &Value) -> Diagnostic {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Diagnostic {
        severity: text(&json["severity"]),
        title: text(&json["summary"]),
        file: text(&json["range"]["filename"]),
        address: text(&json["address"]),
        line: json["range"]["start"]["line"].as_u64().unwrap_or_default(),
    }
}

/// A line without escape codes for colours.
fn plain(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

/// Titles of diagnostics for people.
fn titles(text: &str) -> impl Iterator<Item = Diagnostic> + '_ {
    text.lines().filter_map(|line| {
        let line = plain(line);
        let line = line.trim_start_matches(['│', '╷', ' ']);
        let title = line.strip_prefix("Error: ")?;
        Some(Diagnostic {
            severity: "error".to_owned(),
            title: title.trim().to_owned(),
            file: String::new(),
            address: String::new(),
            line: 0,
        })
    })
}
