//! Files to another machine, in the words that `scp -t` understands there.
//!
//! `C<mode> <size> <name>` announces a file, whose bytes and a zero follow; `D<mode> 0 <name>` enters a directory and `E`
//! leaves it. The other side responds with a zero, or with another byte and a line with the error.

use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::path::Path;

use ecow::{EcoString, eco_format};

/// Deeper directories are not sent: links may lead in circles.
const DEPTH: usize = 128;

/// Reason why a file was not sent.
pub(super) enum Failure {
    /// The other side is gone; it may have said why elsewhere.
    Gone,
    /// The error.
    Message(EcoString),
}

impl From<io::Error> for Failure {
    fn from(problem: io::Error) -> Failure {
        match problem.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => Failure::Gone,
            _ => Failure::Message(eco_format!("{problem}")),
        }
    }
}

/// A conversation with `scp -t`.
pub(super) struct Scp<R, W> {
    pub(super) answers: R,
    pub(super) wire: W,
}

impl<R: BufRead, W: Write> Scp<R, W> {
    /// Waits until the other side is ready.
    pub(super) fn greet(&mut self) -> Result<(), Failure> {
        self.hear()
    }

    /// Sends a file.
    pub(super) fn file(&mut self, name: &str, size: u64, content: &mut dyn Read) -> Result<(), Failure> {
        if name.is_empty() || name.contains(['\n', '/']) {
            return Err(Failure::Message(eco_format!("{name:?} is not a valid file name on the machine")));
        }
        writeln!(self.wire, "C0644 {size} {name}")?;
        self.hear()?;
        let sent = io::copy(&mut content.take(size), &mut self.wire)?;
        if sent < size {
            return Err(Failure::Message(eco_format!("{name:?} became shorter during the transfer")));
        }
        self.wire.write_all(&[0])?;
        self.hear()
    }

    /// Sends what is in a directory.
    pub(super) fn entries(&mut self, dir: &Path) -> Result<(), Failure> {
        self.entries_below(dir, 0)
    }

    /// Sends a directory.
    pub(super) fn directory(&mut self, name: &str, dir: &Path) -> Result<(), Failure> {
        self.directory_below(name, dir, 0)
    }

    fn directory_below(&mut self, name: &str, dir: &Path, depth: usize) -> Result<(), Failure> {
        if name.contains(['\n', '/']) || depth > DEPTH {
            return Err(Failure::Message(eco_format!(
                "failed to send {}: its name or its nesting depth is not supported",
                dir.display()
            )));
        }
        writeln!(self.wire, "D0755 0 {name}")?;
        self.hear()?;
        self.entries_below(dir, depth + 1)?;
        writeln!(self.wire, "E")?;
        self.hear()
    }

    fn entries_below(&mut self, dir: &Path, depth: usize) -> Result<(), Failure> {
        let unreadable =
            |problem: io::Error| Failure::Message(eco_format!("failed to read {}: {problem}", dir.display()));
        let mut entries =
            std::fs::read_dir(dir).and_then(Iterator::collect::<io::Result<Vec<_>>>).map_err(unreadable)?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let unreadable =
                |problem: io::Error| Failure::Message(eco_format!("failed to read {}: {problem}", path.display()));
            let name = entry.file_name();
            let name = name.to_string_lossy();
            // Through links.
            let found = std::fs::metadata(&path).map_err(unreadable)?;
            if found.is_dir() {
                self.directory_below(&name, &path, depth)?;
            } else {
                let mut file = File::open(&path).map_err(unreadable)?;
                self.file(&name, found.len(), &mut file)?;
            }
        }
        Ok(())
    }

    fn hear(&mut self) -> Result<(), Failure> {
        self.wire.flush()?;
        let mut code = [0];
        self.answers.read_exact(&mut code)?;
        if code[0] == 0 {
            return Ok(());
        }
        let mut line = Vec::new();
        (&mut self.answers).take(4096).read_until(b'\n', &mut line)?;
        Err(Failure::Message(String::from_utf8_lossy(&line).trim().into()))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::{Command, Stdio};

    use expect_test::{Expect, expect};

    use super::*;
    use crate::provisioners::room::Room;

    /// The error for a reply of the remote scp.
    fn check(answers: &[u8], size: u64, content: &str, expect: &Expect) {
        let mut scp = Scp { answers, wire: Vec::new() };
        let result = scp.greet().and_then(|()| scp.file("name", size, &mut content.as_bytes()));
        let result = match result {
            Ok(()) => "done".into(),
            Err(Failure::Gone) => "gone".into(),
            Err(Failure::Message(problem)) => problem,
        };
        expect.assert_eq(&format!("{:?} {result}", String::from_utf8_lossy(&scp.wire)));
    }

    #[test]
    fn files_are_announced_and_acknowledged() {
        check(b"\0\0\0", 4, "text", &expect![[r#""C0644 4 name\ntext\0" done"#]]);
        check(b"\0\x01scp: no room\n", 4, "text", &expect![[r#""C0644 4 name\n" scp: no room"#]]);
        check(b"\0\0\0", 5, "text", &expect![[r#""C0644 5 name\ntext" "name" became shorter during the transfer"#]]);
        check(b"\0\0\0", 3, "text", &expect![[r#""C0644 3 name\ntex\0" done"#]]);
        check(b"", 4, "text", &expect![[r#""" gone"#]]);
    }

    #[test]
    fn directories_arrive() {
        let room = Room::new(&std::env::temp_dir()).expect("because the directory for temporary files is writable");
        let (from, to) = (room.path().join("from"), room.path().join("to"));
        for dir in [&from.join("empty"), &from.join("deep"), &to] {
            std::fs::create_dir_all(dir).expect("because the room is ours");
        }
        for (name, text) in [("from/a b", "1"), ("from/deep/ä", "2"), ("from/z", "")] {
            room.write(name, text).expect("because the room is ours");
        }
        std::os::unix::fs::symlink("deep", from.join("link")).expect("because the room is ours");
        let child =
            Command::new("scp").args(["-r", "-t", "-d"]).arg(&to).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = child else {
            println!("skipped: no scp on this machine");
            return;
        };
        let (wire, answers) = (child.stdin.take(), child.stdout.take());
        let mut scp = Scp {
            answers: io::BufReader::new(answers.expect("because it is piped")),
            wire: wire.expect("because it is piped"),
        };
        let result =
            scp.greet().and_then(|()| scp.entries(&from)).and_then(|()| scp.directory("copy", &from.join("deep")));
        assert!(result.is_ok());
        drop(scp);
        assert!(child.wait().is_ok_and(|status| status.success()));
        let mut found = Vec::new();
        list(&to, &to, &mut found);
        expect!["a b=1 | copy/ | copy/ä=2 | deep/ | deep/ä=2 | empty/ | link/ | link/ä=2 | z="]
            .assert_eq(&found.join(" | "));
    }

    fn list(root: &Path, dir: &Path, found: &mut Vec<String>) {
        let mut paths: Vec<_> =
            std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            match std::fs::read_to_string(&path) {
                Ok(text) => found.push(format!("{shown}={text}")),
                Err(_) => {
                    found.push(format!("{shown}/"));
                    list(root, &path, found);
                }
            }
        }
    }
}
