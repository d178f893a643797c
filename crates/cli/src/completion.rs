//! Completion of command lines: the shell passes the line up to the cursor, and the response lists what can follow.
//!
//! All shells use one protocol, the one of `complete -C` in bash: the environment variables `COMP_LINE` and `COMP_POINT` contain the
//! line and the cursor. `YUBA_COMPLETE` names the shell that reads the response. Commands and flags come from the tables that
//! parse them, so a flag cannot exist without completion.
//!
//! Invariant: completion changes no file, starts no process, sends nothing, prints no diagnostics and ends after [`LIMIT`].

mod candidates;
pub(crate) mod install;
mod line;
mod scripts;
mod sources;
mod values;

use std::sync::Arc;
use std::time::Duration;

use yuba_install::Hosts;
use yuba_net::Environment;

use candidates::Candidate;
use line::Line;
pub(crate) use scripts::{SHELLS, script};

/// The longest time that a user waits for values from the configuration and the state.
const LIMIT: Duration = Duration::from_secs(2);

/// The stack of the thread that reads the configuration.
const STACK_BYTES: usize = 64 << 20;

/// A request of a shell.
pub(crate) struct Request {
    line: String,
    shell: Shell,
    /// The word that bash replaces, as it splits lines.
    bash_word: Option<String>,
}

/// The shell that reads the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Request {
    /// The request in the environment of the process.
    pub(crate) fn of_process() -> Option<Request> {
        let line = std::env::var("COMP_LINE").ok()?;
        let point = std::env::var("COMP_POINT").ok().and_then(|point| point.parse().ok()).unwrap_or(line.len());
        let line = line.get(..point.min(line.len())).map_or_else(|| line.clone(), str::to_owned);
        let shell = match std::env::var("YUBA_COMPLETE").as_deref() {
            Ok("zsh") => Shell::Zsh,
            Ok("fish") => Shell::Fish,
            _ => Shell::Bash,
        };
        // `complete -C` passes the name of the command, the word to replace and the word before it.
        let bash_word = std::env::args().nth(2).filter(|_| shell == Shell::Bash);
        Some(Request { line, shell, bash_word })
    }

    /// The response: a candidate per line, in the form that the shell reads.
    pub(crate) fn answer(self, environment: Environment) -> String {
        let line = Line::parse(&self.line);
        let (send, receive) = std::sync::mpsc::channel();
        let words = line.clone();
        let thread = std::thread::Builder::new().name("completion".to_owned()).stack_size(STACK_BYTES);
        let started = thread.spawn(move || {
            let hosts = Arc::new(Hosts::new(environment));
            // The receiver is gone if the time is up.
            let _ = send.send(candidates::of(&words, &hosts));
        });
        let found = started.ok().and_then(|_| receive.recv_timeout(LIMIT).ok()).unwrap_or_default();
        found.iter().map(|candidate| self.render(&line, candidate) + "\n").collect()
    }

    fn render(&self, line: &Line, candidate: &Candidate) -> String {
        let Candidate { text, help, ends_word } = candidate;
        match self.shell {
            Shell::Bash => {
                let quoted = line.current.quoted(text);
                // Bash splits words at "=" and ":" too, and replaces only the last part.
                let word = self.bash_word.as_deref().unwrap_or(&line.current.raw);
                let before = line.current.raw.strip_suffix(word).unwrap_or_default();
                let rest = quoted.strip_prefix(before).unwrap_or(&quoted);
                format!("{rest}{}", if *ends_word && line.current.quote.is_none() { " " } else { "" })
            }
            Shell::Zsh => format!("{}\t{text}\t{help}", u8::from(*ends_word)),
            Shell::Fish => format!("{text}\t{help}"),
        }
    }
}
