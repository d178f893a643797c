//! Runs the executable specification: every block of `suite/*.md` and of the pages in `docs/` that has an answer.
//!
//! - `console`: lines with `> ` are expressions, the lines after each are what `yuba console` answers; of a mistake only
//!   the title counts (`Error: ...`).
//! - `fmt` followed by `formatted`: input and output of `yuba fmt -`.
//! - `hcl` followed by `diagnostics`: a file and the mistakes in it, by line and title.
//! - `sh` with lines starting with `$ yuba`: commands and their standard output, in one directory per section, after the files
//!   that `file NAME` blocks of the section describe.
//! - `run`: the same, but of init and whatever plans only what matters is compared: a line per object, the summary,
//!   outputs, titles of problems. A line `| text` says that the answer has this text, wherever its lines break. With
//!   `-json` that is a message per change and problem, and nothing of `show`.
//!   Words may be quoted; `< FILE` at the end is standard input; `$ grep a|b FILE` shows the lines of a file with one of the words.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use yuba_testkit::{Run, Sandbox};

#[test]
fn every_section_of_the_specification_holds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut failures = String::new();
    let mut blocks = 0;
    for folder in ["suite", "docs"] {
        let mut chapters: Vec<PathBuf> =
            std::fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
        chapters.sort();
        for chapter in chapters.iter().filter(|path| path.extension().is_some_and(|e| e == "md")) {
            let text = std::fs::read_to_string(chapter).unwrap();
            for section in sections(&text) {
                blocks += section.blocks.len();
                if let Err(difference) = check(&section) {
                    let file = chapter.file_name().unwrap().to_string_lossy();
                    let _ = writeln!(failures, "--- {file}: {}\n{difference}", section.name);
                }
            }
        }
    }
    assert!(blocks > 50, "the specification has {blocks} blocks: was it found?");
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn the_page_on_functions_names_all_of_them() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/functions.md")).unwrap();
    let table = sandbox().run(&["metadata", "functions", "-json"]).stdout;
    let names: Vec<&str> = table.split("\"core::").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(names.len(), 121);
    for name in names {
        assert!(page.contains(&format!("| `{name}(")), "docs/functions.md lacks {name}");
    }
}

/// A heading and the code blocks below it.
struct Section<'a> {
    name: &'a str,
    blocks: Vec<(&'a str, String)>,
}

fn sections(text: &str) -> Vec<Section<'_>> {
    let mut sections = vec![Section { name: "", blocks: Vec::new() }];
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let section = sections.last_mut().expect("there is always a section");
        if let Some(language) = line.strip_prefix("```") {
            let body: String =
                lines.by_ref().take_while(|line| *line != "```").fold(String::new(), |all, line| all + line + "\n");
            section.blocks.push((language, body));
        } else if let Some(name) = line.strip_prefix("## ") {
            sections.push(Section { name, blocks: Vec::new() });
        }
    }
    sections
}

/// Whoever asks for this provider gets it, as a process. All others have the built-in one only.
const TEST_PROVIDER: &str = "yuba/testing";

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_yuba"), "")
}

fn check(section: &Section<'_>) -> Result<(), String> {
    let asks_for_provider = section.blocks.iter().any(|(_, body)| body.contains(TEST_PROVIDER));
    let shared = if asks_for_provider { sandbox().with_test_provider() } else { sandbox() };
    let mut before = ("", "");
    for (language, body) in &section.blocks {
        match (before.0, *language) {
            (_, "console") => check_console(body)?,
            ("fmt", "formatted") => {
                let run = sandbox().run_with(&["fmt", "-"], before.1.as_bytes());
                compare(body, &run.stdout)?;
            }
            ("hcl", "diagnostics") => {
                let run = sandbox().run_with(&["fmt", "-no-color", "-"], before.1.as_bytes());
                compare(body, &located_titles(&run))?;
            }
            (_, "sh") if body.contains("$ yuba") => check_commands(&shared, body)?,
            (_, "run") => check_runs(&shared, body)?,
            (_, language) => {
                if let Some(name) = language.strip_prefix("file ") {
                    shared.write(name, body);
                }
            }
        }
        before = (language, body);
    }
    Ok(())
}

fn check_console(body: &str) -> Result<(), String> {
    let mut answered = String::new();
    for expression in body.lines().filter_map(|line| line.strip_prefix("> ")) {
        let run = sandbox().run_with(&["console", "-no-color"], format!("{expression}\n").as_bytes());
        let _ = writeln!(answered, "> {expression}\n{}{}", run.stdout, titles(&run)).map(|()| answered.pop());
    }
    compare(body, &answered)
}

fn check_commands(sandbox: &Sandbox, body: &str) -> Result<(), String> {
    let mut answered = String::new();
    for command in body.lines().filter_map(|line| line.strip_prefix("$ yuba ")) {
        let args: Vec<&str> = command.split_whitespace().collect();
        let run = sandbox.run(&args);
        let output = format!("{}{}", brief_help(&run.stdout), titles(&run));
        let _ =
            write!(answered, "$ yuba {command}\n{}{}", output.trim_end(), if output.is_empty() { "" } else { "\n" });
    }
    compare(body.trim_end(), answered.trim_end())
}

/// Of a help that follows a mistake only the first line.
fn brief_help(stdout: &str) -> &str {
    let first = stdout.lines().next().unwrap_or_default();
    if first.starts_with("Usage: ") { &stdout[..first.len() + 1] } else { stdout }
}

fn check_runs(sandbox: &Sandbox, body: &str) -> Result<(), String> {
    let mut answered = String::new();
    let mut full = String::new();
    for line in body.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            let words = words(command);
            let args: Vec<&str> = words.iter().map(String::as_str).collect();
            let shown = match args.as_slice() {
                ["grep", wanted, file] => {
                    let text = sandbox.read(file);
                    let has = |line: &&str| wanted.split('|').any(|word| line.contains(word));
                    text.lines().filter(has).fold(String::new(), |all, line| all + line.trim() + "\n")
                }
                ["yuba", args @ ..] => {
                    let (args, run) = match args {
                        [args @ .., "<", file] => (args, sandbox.run_with(args, sandbox.read(file).as_bytes())),
                        args => (args, sandbox.run(args)),
                    };
                    full = one_line(&format!("{}\n{}", run.stdout, run.stderr));
                    let command = args.iter().find(|arg| !arg.starts_with('-'));
                    let brief =
                        matches!(command, Some(&("plan" | "apply" | "destroy" | "refresh" | "import" | "init")));
                    let json = args.contains(&"-json");
                    if command == Some(&"test") {
                        if json { test_messages(&run.stdout) } else { test_lines(&run) }
                    } else if brief && json {
                        messages(&run.stdout)
                    } else if brief {
                        condensed(&run)
                    } else if json && args.first() == Some(&"show") {
                        titles(&run)
                    } else {
                        format!("{}{}", without_ids(brief_help(&run.stdout)), titles(&run))
                    }
                }
                _ => return Err(format!("no such command: {command}")),
            };
            let _ = writeln!(answered, "$ {command}\n{}", shown.trim_end()).map(|()| {
                if shown.trim_end().is_empty() {
                    answered.pop();
                }
            });
        } else if let Some(text) = line.strip_prefix("| ") {
            let found = full.contains(&one_line(text));
            let _ = writeln!(answered, "{}", if found { line.to_owned() } else { format!("no {line}, but: {full}") });
        }
    }
    compare(body.trim_end(), answered.trim_end())
}

/// Of the lines of a machine: what they say about changes and problems.
fn messages(lines: &str) -> String {
    let types =
        ["planned_change", "change_summary", "outputs", "diagnostic"].map(|name| format!("\"type\":\"{name}\""));
    let told = lines.lines().filter(|line| types.iter().any(|name| line.contains(name)));
    let message = |line: &str| Some(line.split_once("\"@message\":\"")?.1.split_once("\",\"@module\"")?.0.to_owned());
    told.filter_map(message).fold(String::new(), |all, text| all + &without_ids(&text.replace("\\\"", "\"")) + "\n")
}

/// Of what tests say: a line per file and run, titles of problems, what is left, the summary.
fn test_lines(run: &Run) -> String {
    let words = ["pass", "fail", "skip", "pending"].map(|word| format!("... {word}"));
    let starts = ["Error: ", "Warning: ", "Success!", "Failure!", "Executed ", "  - "];
    let mut shown = String::new();
    for line in run.stdout.lines().chain(run.stderr.lines()) {
        let text = line.strip_prefix("│ ").unwrap_or(line).trim_end();
        if words.iter().any(|word| text.ends_with(word)) || starts.iter().any(|start| text.starts_with(start)) {
            let _ = writeln!(shown, "{text}");
        }
    }
    shown
}

/// The same of lines for programs: type and message.
fn test_messages(lines: &str) -> String {
    let part = |line: &str, before: &str, after: &str| Some(line.split_once(before)?.1.split_once(after)?.0.to_owned());
    let told = lines.lines().filter_map(|line| {
        let kind = part(line, "\"type\":\"", "\"}").filter(|kind| !kind.starts_with("version"))?;
        Some(format!("{kind}: {}\n", part(line, "\"@message\":\"", "\",\"@")?.replace("\\\"", "\"")))
    });
    told.collect()
}

/// Text with `<id>` for every UUID.
fn without_ids(text: &str) -> String {
    let is_id = |word: &str| word.len() == 36 && word.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    let parts = text.split_inclusive(|c: char| !c.is_ascii_hexdigit() && c != '-');
    parts.fold(String::new(), |all, part| match part.char_indices().next_back() {
        Some((end, _)) if is_id(&part[..end]) => all + "<id>" + &part[end..],
        _ => all + part,
    })
}

/// Words of a command line, with quotes.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in command.chars() {
        match (quote, c) {
            (None, ' ') => words.push(String::new()),
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => words.last_mut().expect("there is always a word").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Text with one space between words, however it was broken into lines and framed.
fn one_line(text: &str) -> String {
    text.split_whitespace().filter(|word| !matches!(*word, "│" | "╷" | "╵")).collect::<Vec<_>>().join(" ")
}

/// Of what an operation says: a line per object, the summary, outputs, and titles of problems.
fn condensed(run: &Run) -> String {
    let mut shown = String::new();
    let mut outputs = false;
    let stderr = run.stderr.lines().filter(|line| !line.contains("Enter a value:") && !line.starts_with("var."));
    for line in run.stdout.lines().chain(stderr) {
        let text = line.strip_prefix("│ ").unwrap_or(line).trim_end();
        let object = text.starts_with("  # ") && !text.ends_with("hidden)");
        let starts = ["Plan: ", "No changes.", "Apply complete!", "Destroy complete!", "Import successful!"];
        let summary = starts.iter().any(|start| text.starts_with(start));
        let title = text.starts_with("Error: ") || text.starts_with("Warning: ");
        outputs = outputs && !title || text == "Outputs:";
        if object || summary || title || outputs && !text.is_empty() {
            let _ = writeln!(shown, "{}", if object { &text[2..] } else { text });
        }
    }
    shown
}

/// `Error: title`, a line each.
fn titles(run: &Run) -> String {
    let lines = run.stderr.lines().map(|line| line.strip_prefix("│ ").unwrap_or(line));
    let titles = lines.filter(|line| line.starts_with("Error: ") || line.starts_with("Warning: "));
    titles.fold(String::new(), |all, line| all + line.trim_end() + "\n")
}

/// `line 3: Error: title`, a line each.
fn located_titles(run: &Run) -> String {
    let mut located = String::new();
    let mut title = None;
    for line in run.stderr.lines().map(|line| line.strip_prefix("│ ").unwrap_or(line)) {
        if line.starts_with("Error: ") || line.starts_with("Warning: ") {
            title = Some(line.trim_end());
        } else if let (Some((_, place)), Some(found)) = (line.split_once(" line "), title) {
            let number: String = place.chars().take_while(char::is_ascii_digit).collect();
            let _ = writeln!(located, "line {number}: {found}");
            title = None;
        }
    }
    located
}

fn compare(expected: &str, got: &str) -> Result<(), String> {
    if expected == got { Ok(()) } else { Err(format!("expected:\n{expected}got:\n{got}")) }
}
