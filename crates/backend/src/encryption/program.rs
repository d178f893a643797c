//! Conversations with processes that provide keys or encrypt: a header, one request, one response, all in JSON.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

/// Limit for one conversation.
const PATIENCE: Duration = Duration::from_secs(60);
/// Size limit of the standard error of a process.
const MAX_COMPLAINT: u64 = 1 << 20;
/// Size limit of a header.
const MAX_HEADER: u64 = 1 << 16;

/// Request to an external process.
pub(super) struct Conversation<'c> {
    /// Name of the process in messages: `the external key provider ./keys.py`.
    pub(super) name: String,
    /// The executable and its arguments.
    pub(super) command: &'c [String],
    /// The magic string that the header of the process must contain.
    pub(super) magic: &'static str,
    /// The request.
    pub(super) input: Vec<u8>,
    /// Size limit of the response, in bytes.
    pub(super) limit: u64,
}

impl Conversation<'_> {
    fn failed(&self, reason: &str) -> String {
        format!("{}: {reason}", self.name)
    }

    /// Starts the process and returns its response. The error is a sentence that contains no key.
    pub(super) fn run(self) -> Result<Json, String> {
        let program = self.command.first().map(String::as_str).unwrap_or_default();
        let mut child = Command::new(program)
            .args(self.command.get(1..).unwrap_or_default())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| self.failed(&format!("it cannot be started: {error}")))?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let complaints = std::thread::spawn(move || {
            let mut text = Vec::new();
            if let Some(stderr) = stderr {
                let _ = stderr.take(MAX_COMPLAINT).read_to_end(&mut text);
            }
            String::from_utf8_lossy(&text).trim().to_owned()
        });
        let (input, magic, limit) = (self.input.clone(), self.magic, self.limit);
        // Writing and reading take place at the same time: a process may do either first.
        std::thread::spawn(move || {
            if let Some(mut stdin) = stdin {
                // A process that needs no input may have exited already.
                let _ = stdin.write_all(&input);
            }
        });
        let (sender, answers) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let _ = sender.send(answer(stdout, magic, limit));
        });
        let started = Instant::now();
        let said = answers.recv_timeout(PATIENCE);
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if said.is_ok() && started.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(5))
                }
                _ => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break None;
                }
            }
        };
        let complaint = || match complaints.join() {
            Ok(text) if !text.is_empty() => format!(". Its standard error:\n{text}"),
            _ => String::new(),
        };
        match status {
            None => return Err(self.failed(&format!("it took longer than a minute{}", complaint()))),
            Some(status) if !status.success() => {
                return Err(self.failed(&format!("it failed ({status}){}", complaint())));
            }
            Some(_) => {}
        }
        said.map_err(|_| self.failed("its output cannot be read"))?.map_err(|reason| self.failed(&reason))
    }
}

/// The response after the header.
fn answer(stdout: Option<ChildStdout>, magic: &str, limit: u64) -> Result<Json, String> {
    let Some(stdout) = stdout else { return Err("it has no pipes".to_owned()) };
    let mut reader = BufReader::new(stdout);
    let mut header = Vec::new();
    let unreadable = |error: std::io::Error| format!("it cannot be read: {error}");
    (&mut reader).take(MAX_HEADER).read_until(b'\n', &mut header).map_err(unreadable)?;
    let header: Json = serde_json::from_slice(&header).map_err(|_| "its first line is not JSON")?;
    if header.get("magic").and_then(Json::as_str) != Some(magic)
        || header.get("version").and_then(Json::as_u64) != Some(1)
    {
        return Err(format!("its first line does not contain the magic \"{magic}\" and the version 1"));
    }
    let mut answer = Vec::new();
    reader.take(limit + 1).read_to_end(&mut answer).map_err(unreadable)?;
    if answer.len() as u64 > limit {
        return Err(format!("its output is larger than {limit} bytes"));
    }
    serde_json::from_slice(&answer).map_err(|_| "its output is not JSON".to_owned())
}
