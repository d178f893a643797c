//! A terminal of a size, as a person sees it: control sequences move the cursor, long lines wrap, and what is above the first row is
//! gone.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use yuba_testkit::Sandbox;

/// Time after which a test fails that waits for a text.
const PATIENCE: Duration = Duration::from_secs(120);

/// Columns and rows.
pub(crate) type PaneSize = (usize, usize);

/// A command on a terminal.
pub(crate) struct Pane {
    child: Child,
    person: File,
    size: PaneSize,
    /// Everything that was written.
    seen: Vec<u8>,
}

impl Pane {
    /// Starts a command whose input and outputs are a terminal of a size.
    pub(crate) fn start(sandbox: &Sandbox, args: &[&str], size: PaneSize) -> Pane {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("the system has terminals");
        grantpt(&person).and_then(|()| unlockpt(&person)).expect("the terminal is ours");
        let name = ptsname(&person, Vec::new()).expect("it has a name").into_string().expect("it is a path");
        let terminal = File::options().read(true).write(true).open(name).expect("it was unlocked");
        let another = || terminal.try_clone().expect("it can be shared");
        let pane_size = |(columns, rows): PaneSize| {
            let (ws_col, ws_row) = (columns as u16, rows as u16);
            tcsetwinsize(&person, Winsize { ws_col, ws_row, ws_xpixel: 0, ws_ypixel: 0 }).expect("it is a terminal");
        };
        pane_size(size);
        let mut command = sandbox.command(args);
        command.env("TERM", "xterm").stdin(another()).stdout(another()).stderr(Stdio::from(another()));
        let child = command.spawn().expect("the program starts");
        // The program has the only other end of the terminal.
        drop((command, terminal));
        Pane { child, person: File::from(person), size, seen: Vec::new() }
    }

    /// Reads until the terminal has shown a text, or until the end for no text.
    pub(crate) fn wait_for(&mut self, text: Option<&str>) {
        let start = Instant::now();
        let mut piece = [0; 65536];
        while text.is_none_or(|text| !self.written().contains(text)) {
            assert!(start.elapsed() < PATIENCE, "{text:?} does not appear: {}", self.written());
            // The end is an error where the other end is closed.
            match self.person.read(&mut piece) {
                Ok(0) | Err(_) => {
                    assert!(text.is_none(), "{text:?} does not appear: {}", self.written());
                    return;
                }
                Ok(length) => self.seen.extend_from_slice(&piece[..length]),
            }
        }
    }

    /// Reads until a condition holds, which is checked after each piece of output.
    pub(crate) fn wait_until(&mut self, is_met: impl Fn(&Pane) -> bool) {
        let start = Instant::now();
        let mut piece = [0; 65536];
        while !is_met(self) {
            assert!(start.elapsed() < PATIENCE, "the condition is not met: {}", self.written());
            let length = self.person.read(&mut piece).expect("the command writes more");
            self.seen.extend_from_slice(&piece[..length]);
        }
    }

    /// Everything that was written, with control sequences.
    pub(crate) fn written(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    /// Types a text.
    pub(crate) fn type_in(&mut self, text: &str) {
        self.person.write_all(text.as_bytes()).expect("it can be written");
    }

    /// Changes the size of the terminal. The rows that are visible stay as they are.
    pub(crate) fn resize(&mut self, size: PaneSize) {
        let (ws_col, ws_row) = (size.0 as u16, size.1 as u16);
        tcsetwinsize(&self.person, Winsize { ws_col, ws_row, ws_xpixel: 0, ws_ypixel: 0 }).expect("it is a terminal");
        self.size = size;
    }

    /// Number of bytes that were written.
    pub(crate) fn position(&self) -> usize {
        self.seen.len()
    }

    /// Waits for the end of the command. Its exit code.
    pub(crate) fn end(&mut self) -> i32 {
        self.wait_for(None);
        self.child.wait().expect("it ends").code().unwrap_or(-1)
    }

    /// The rows that are visible now, and all rows above them.
    pub(crate) fn rows(&self) -> (Vec<String>, Vec<String>) {
        let mut all = screen(&self.written(), self.size);
        let visible = all.split_off(all.len().saturating_sub(self.size.1));
        (visible, all)
    }
}

/// All rows of a terminal, the oldest first.
pub(crate) fn screen(written: &str, (columns, height): PaneSize) -> Vec<String> {
    let (mut rows, mut row, mut column, mut rest) = (vec![Vec::new()], 0_usize, 0, written);
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\n' => row += 1,
            '\r' => column = 0,
            '\x1b' => {
                // The rest of a sequence may be on its way.
                let Some(end) = rest.find(|c: char| c.is_ascii_alphabetic()) else { break };
                let (sequence, after) = rest.split_at(end + 1);
                rest = after;
                let number = sequence[1..end].parse::<usize>().unwrap_or(1);
                match &sequence[end..] {
                    "m" => {}
                    // The cursor stops at the first visible row.
                    "A" => row = row.saturating_sub(number).max(rows.len().saturating_sub(height)),
                    "J" => {
                        rows.truncate(row + 1);
                        rows[row].truncate(column);
                    }
                    "K" => rows[row].truncate(column),
                    other => panic!("unexpected control sequence {other}"),
                }
            }
            c => {
                if column == columns {
                    (row, column) = (row + 1, 0);
                    if row == rows.len() {
                        rows.push(Vec::new());
                    }
                }
                let line: &mut Vec<char> = &mut rows[row];
                line.resize(line.len().max(column + 1), ' ');
                line[column] = c;
                column += 1;
            }
        }
        if row == rows.len() {
            rows.push(Vec::new());
        }
    }
    rows.into_iter().map(|row| row.into_iter().collect()).collect()
}

#[test]
fn a_pane_wraps_moves_and_clears() {
    assert_eq!(screen("abcdef\r\nx\x1b[1A\r\x1b[JY", (4, 5)), ["abcd", "Y"]);
    assert_eq!(screen("1\r\n2\r\n3\x1b[9A\rtop", (4, 2)), ["1", "top", "3"]);
}
