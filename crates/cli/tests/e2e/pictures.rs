//! The picture of a terminal in the README shows what the binary prints. `cargo xtask pictures` writes it.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use yuba_testkit::Sandbox;

use crate::sandbox;

/// The configuration in the picture.
const FIXTURE: &str = r#"
//- main.tf
variable "region" {
  default = "eu-central-1"
}

resource "terraform_data" "service" {
  input = "https://${var.region}.example.com"
}

output "endpoint" {
  value = terraform_data.service.output
}
"#;

/// The end of the prompt for approval.
const PROMPT: &[u8] = b"Enter a value:";

/// Width of a character and height of a line.
const CELL: (f64, usize) = (7.8, 17);

/// Runs a command on a terminal and answers its prompt. Returns what the terminal receives.
fn on_terminal(sandbox: &Sandbox, args: &[&str], answer: &str) -> String {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("the system has terminals");
    grantpt(&person).and_then(|()| unlockpt(&person)).expect("the terminal is ours");
    let name = ptsname(&person, Vec::new()).expect("it has a name").into_string().expect("it is a path");
    let terminal = || File::options().read(true).write(true).open(&name).expect("it was unlocked");
    let mut command = sandbox.command(args);
    command.env("TERM", "xterm").env("COLUMNS", "90");
    let mut child =
        command.stdin(terminal()).stdout(terminal()).stderr(terminal()).spawn().expect("the program starts");
    // The program has the only other ends of the terminal.
    drop(command);
    let mut person = File::from(person);
    let (mut shown, mut byte) = (Vec::new(), [0]);
    // The end is an error where the other end is closed.
    while person.read(&mut byte).is_ok_and(|count| count == 1) {
        shown.push(byte[0]);
        if shown.ends_with(PROMPT) {
            person.write_all(format!("{answer}\n").as_bytes()).expect("the terminal takes input");
        }
    }
    assert!(child.wait().expect("the program ends").success());
    String::from_utf8_lossy(&shown).replace('\r', "")
}

/// The text without identifiers that differ in each run.
fn stable(text: &str) -> String {
    let mut stable = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("[id=") {
        let (_, next) = after.split_once(']').unwrap_or(("", after));
        let _ = write!(stable, "{before}[id=...]");
        rest = next;
    }
    stable + rest
}

/// A picture of lines with colours.
fn svg(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let (width, height) = (680, lines.len() * CELL.1 + 56);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <style>text{{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d5dae1;white-space:pre}}.b{{font-weight:bold}}\
         .g{{fill:#7fd88f}}.r{{fill:#f47983}}.y{{fill:#e5c07b}}.c{{fill:#6cc4d8}}.d{{fill:#8b949e}}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#1c2128\"/>\n\
         <g fill=\"#444c56\"><circle cx=\"20\" cy=\"18\" r=\"6\"/><circle cx=\"40\" cy=\"18\" r=\"6\"/><circle cx=\"60\" cy=\"18\" r=\"6\"/></g>\n"
    );
    for (index, line) in lines.iter().enumerate() {
        let y = 50 + index * CELL.1;
        let mut column = 0;
        for (classes, part) in parts(line) {
            let (length, indent) = (part.chars().count(), part.len() - part.trim_start().len());
            let part = part.trim();
            if !part.is_empty() {
                let x = 18.0 + CELL.0 * (column + indent) as f64;
                let width = CELL.0 * part.chars().count() as f64;
                let text = part.replace('&', "&amp;").replace('<', "&lt;");
                let class = if classes.is_empty() { String::new() } else { format!(" class=\"{classes}\"") };
                let _ = writeln!(
                    svg,
                    "<text x=\"{x:.1}\" y=\"{y}\" textLength=\"{width:.1}\" xml:space=\"preserve\"{class}>{text}</text>"
                );
            }
            column += length;
        }
    }
    svg + "</svg>\n"
}

/// The parts of a line with one style each, and the classes of the style.
fn parts(line: &str) -> Vec<(String, String)> {
    let mut parts = Vec::new();
    let mut classes = String::new();
    for (index, piece) in line.split("\u{1b}[").enumerate() {
        let mut text = piece;
        if index > 0 {
            let (codes, rest) = piece.split_once('m').expect("the binary sends colours only");
            text = rest;
            classes.clear();
            for code in codes.split(';') {
                classes.push_str(match code {
                    "0" | "" => "",
                    "1" => "b ",
                    "31" => "r ",
                    "32" => "g ",
                    "33" => "y ",
                    "36" => "c ",
                    "2" | "90" => "d ",
                    other => panic!("no class for colour {other}"),
                });
            }
        }
        if !text.is_empty() {
            parts.push((classes.trim_end().to_owned(), text.to_owned()));
        }
    }
    parts
}

#[test]
fn the_picture_of_a_terminal() {
    let sandbox = sandbox(FIXTURE);
    let shown = format!("\u{1b}[1m$ yuba apply\u{1b}[0m\n{}\n", on_terminal(&sandbox, &["apply"], "yes").trim_end());
    let picture = svg(&stable(&shown));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/terminal.svg");
    if std::env::var_os("YUBA_BLESS").is_some() {
        std::fs::write(&path, &picture).expect("the repository is writable");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == picture, "docs/terminal.svg is outdated: run `cargo xtask pictures`");
}
