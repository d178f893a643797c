//! A directory of its own, and commands run in it with a clean environment.

use std::ffi::OsStr;
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{NO_METADATA, parse_fixture};

/// A fresh directory with the files of a fixture, removed when dropped.
#[derive(Debug)]
pub struct Sandbox {
    program: PathBuf,
    root: PathBuf,
    env: Vec<(String, String)>,
}

/// Result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Exit code; -1 if a signal ended it.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

static COUNTER: AtomicU32 = AtomicU32::new(0);

impl Sandbox {
    /// A sandbox for a program with the files of a fixture.
    ///
    /// # Panics
    /// If the directory cannot be made.
    pub fn new(program: impl Into<PathBuf>, fixture: &str) -> Sandbox {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("yuba-test-{}-{number}", std::process::id()));
        let sandbox = Sandbox { program: program.into(), root, env: Vec::new() };
        std::fs::create_dir_all(sandbox.home()).expect("because the directory for temporary files is writable");
        std::fs::create_dir_all(sandbox.dir()).expect("because the directory for temporary files is writable");
        for file in parse_fixture(fixture) {
            sandbox.write(&file.path, &file.text);
        }
        sandbox
    }

    /// The working directory of the commands.
    pub fn dir(&self) -> PathBuf {
        self.root.join("work")
    }

    /// Directory of the sandbox.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The home directory of the commands.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Sets an environment variable for the commands.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Sandbox {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Writes a file.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.dir().join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("because the sandbox is writable");
        }
        std::fs::write(path, text).expect("because the sandbox is writable");
    }

    /// Reads a file.
    ///
    /// # Panics
    /// If it cannot be read.
    pub fn read(&self, path: &str) -> String {
        let bytes = std::fs::read(self.dir().join(path)).expect("because the test reads an existing file");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The command with a clean environment, to be run by the caller.
    pub fn command(&self, args: &[&str]) -> Command {
        self.command_of(&self.program, args)
    }

    /// A command of another program with the same environment, to be run by the caller.
    pub fn command_of(&self, program: impl AsRef<OsStr>, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.dir()).env_clear();
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        // Expectations are readable without colors. Tests about colors set this variable to an empty value.
        command.env("HOME", self.home()).env("LANG", "C.UTF-8").env("NO_COLOR", "1").envs(NO_METADATA);
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs the program with nothing to read.
    pub fn run(&self, args: &[&str]) -> Run {
        self.run_with(args, b"")
    }

    /// Runs the program with this on standard input.
    ///
    /// # Panics
    /// If the program cannot be started.
    pub fn run_with(&self, args: &[&str], stdin: &[u8]) -> Run {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("because the program was built");
        let mut pipe = child.stdin.take().expect("because it is a pipe");
        let stdin = stdin.to_vec();
        // A thread of its own: the program may write before it has read everything. It may also not read at all.
        let writer = std::thread::spawn(move || drop(pipe.write_all(&stdin)));
        let output = child.wait_with_output().expect("because the program was started");
        writer.join().expect("because writing does not panic");
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: self.without_paths(&output.stdout),
            stderr: self.without_paths(&output.stderr),
        }
    }

    /// Runs a script with a shell, with the program as `$YUBA`.
    ///
    /// # Panics
    /// If the shell cannot be started.
    pub fn shell(&self, words: &[&str], script: &str) -> Run {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(script).current_dir(self.dir()).stdin(Stdio::null());
        command
            .env("YUBA", &self.program)
            .env("HOME", self.home())
            .env("NO_COLOR", "1")
            .envs(NO_METADATA)
            .env_remove("TF_CLI_CONFIG_FILE");
        let output = command.output().expect("because the shell is installed");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Run { code: output.status.code().unwrap_or(-1), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// Text with the sandbox's own paths named `<dir>` and `<home>`.
    fn without_paths(&self, bytes: &[u8]) -> String {
        let show = |path: &Path| path.display().to_string();
        let text = String::from_utf8_lossy(bytes);
        text.replace(&show(&self.dir()), "<dir>").replace(&show(&self.home()), "<home>")
    }
}

/// Whether a program is on the PATH.
pub fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(name).is_file())
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // A directory left behind does no harm.
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "exit {}", self.code)?;
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                let end = if text.ends_with('\n') { "" } else { "<no line end>\n" };
                write!(f, "--- {name}\n{text}{end}")?;
            }
        }
        Ok(())
    }
}
