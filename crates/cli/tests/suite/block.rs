//! Runs the blocks of a section and returns the text that each one should contain.

use std::fmt::Write as _;

use yuba_testkit::{Run, Sandbox};

use crate::chapter::{Block, Section};
use crate::condense::{
    brief_help, condensed, located_titles, messages, one_line, test_lines, test_messages, titles, without_ids,
};
use crate::script;

/// Sections whose files name this provider get it as a process; all others have only the built-in provider.
const TEST_PROVIDER: &str = "yuba/testing";

/// After the word of a fence: the block is for readers only, for the reason that follows.
const NOT_RUN: &str = " not run: ";

/// A reason shorter than this explains nothing.
const SHORTEST_REASON: usize = 8;

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_yuba"), "")
}

/// Expected content of each block of a section: the block itself where it has no observable output.
pub(crate) fn observe(section: &Section) -> Result<Vec<String>, String> {
    let asks_for_provider = section.blocks.iter().any(|block| block.body.contains(TEST_PROVIDER));
    let shared = if asks_for_provider { sandbox().with_test_provider() } else { sandbox() };
    let mut before: Option<&Block> = None;
    // The whole output of the commands of the last block that has some.
    let mut output = String::new();
    let mut observed = Vec::new();
    for (index, block) in section.blocks.iter().enumerate() {
        let input = |fence: &str| {
            let found = before.filter(|before| before.fence == fence);
            found.map(|before| before.body.as_bytes()).ok_or_else(|| format!("a {fence} block must come before"))
        };
        observed.push(match block.fence.as_str() {
            "console" => console(&block.body),
            "formatted" => {
                let run = sandbox().run_with(&["fmt", "-"], input("fmt")?);
                format!("{}{}", run.stdout, exit(&run, 0))
            }
            "diagnostics" => {
                let run = sandbox().run_with(&["fmt", "-no-color", "-"], input("hcl")?);
                format!("{}{}", located_titles(&run), exit(&run, 2))
            }
            "sh" if !block.body.lines().any(|line| line.starts_with("$ ")) => {
                script::run(&shared, &block.body, &mut output)
            }
            "sh" => commands(&shared, &block.body, shell, &mut output)?,
            "run" => commands(&shared, &block.body, operation, &mut output)?,
            "fmt" => block.body.clone(),
            "hcl" if section.blocks.get(index + 1).is_some_and(|next| next.fence == "diagnostics") => {
                block.body.clone()
            }
            "hcl" => configuration(&block.body),
            "text" | "json" => excerpt(&block.body, &output),
            fence => {
                // `file NAME`, or a word for syntax highlighting before it.
                let file = fence.strip_prefix("file ").or_else(|| Some(fence.split_once(" file ")?.1));
                match (file, fence.split_once(NOT_RUN)) {
                    (Some(name), _) => shared.write(name, &block.body),
                    (None, Some((_, reason))) if reason.len() >= SHORTEST_REASON => {}
                    _ => return Err(format!("line {}: no block is fenced with `{fence}`", block.lines.start)),
                }
                block.body.clone()
            }
        });
        before = Some(block);
    }
    Ok(observed)
}

/// A configuration of its own: canonical, and valid.
fn configuration(body: &str) -> String {
    let formatted = sandbox().run_with(&["fmt", "-"], body.as_bytes());
    let own = sandbox();
    own.write("main.tf", body);
    let run = own.run(&["validate", "-no-color"]);
    let report = if run.code == 0 { String::new() } else { run.to_string() };
    format!("{}{report}", if formatted.code == 0 { formatted.stdout } else { formatted.to_string() })
}

/// Lines of the output before, in their order. A line `...` stands for any lines.
fn excerpt(body: &str, output: &str) -> String {
    let output = without_ids(output);
    let mut lines = output.lines().map(str::trim_end);
    let mut observed = String::new();
    let mut is_gap = true;
    for line in body.lines() {
        let found = match line {
            "..." => true,
            line if is_gap => lines.any(|candidate| candidate == line),
            line => lines.next() == Some(line),
        };
        is_gap = line == "...";
        if !found {
            return format!("{observed}no line {line:?} here in the output:\n{output}");
        }
        let _ = writeln!(observed, "{line}");
    }
    observed
}

/// The line about an exit code, unless it is the expected one.
fn exit(run: &Run, expected: i32) -> String {
    if run.code == expected { String::new() } else { format!("exit {}\n", run.code) }
}

/// The line about an exit code, unless it is 1 after an error and 0 without one.
fn exit_after(run: &Run, shown: &str) -> String {
    let failed = shown.lines().any(|line| line.starts_with("Error: ") || line.starts_with("diagnostic: Error: "));
    exit(run, i32::from(failed))
}

fn console(body: &str) -> String {
    let mut observed = String::new();
    for expression in body.lines().filter_map(|line| line.strip_prefix("> ")) {
        let run = sandbox().run_with(&["console", "-no-color"], format!("{expression}\n").as_bytes());
        let shown = format!("{}{}", run.stdout, titles(&run));
        let _ = write!(observed, "> {expression}\n{shown}{}", exit_after(&run, &shown));
    }
    observed
}

/// A command's output as the block states it.
type Render = fn(&[&str], &Run) -> String;

/// The whole standard output, and titles of diagnostics.
fn shell(_: &[&str], run: &Run) -> String {
    format!("{}{}", brief_help(&run.stdout), titles(run))
}

/// The lines that matter, depending on the command.
fn operation(args: &[&str], run: &Run) -> String {
    let command = args.iter().find(|arg| !arg.starts_with('-'));
    let brief = matches!(command, Some(&("plan" | "apply" | "destroy" | "refresh" | "import" | "init")));
    let json = args.contains(&"-json");
    if command == Some(&"test") {
        if json { test_messages(&run.stdout) } else { test_lines(run) }
    } else if brief && json {
        messages(&run.stdout)
    } else if brief {
        condensed(run)
    } else if json && args.first() == Some(&"show") {
        titles(run)
    } else {
        format!("{}{}", without_ids(brief_help(&run.stdout)), titles(run))
    }
}

/// Runs the lines with `$ `. Lines with `| ` stay where the output of the command before has their text.
fn commands(sandbox: &Sandbox, body: &str, render: Render, output: &mut String) -> Result<String, String> {
    let mut observed = String::new();
    output.clear();
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
                    let _ = write!(output, "{}{}", run.stdout, run.stderr);
                    full = one_line(&format!("{}\n{}", run.stdout, run.stderr));
                    let shown = render(args, &run);
                    let end = if shown.is_empty() || shown.ends_with('\n') { "" } else { "\n" };
                    format!("{}{end}{}", shown, exit_after(&run, &shown))
                }
                _ => return Err(format!("no such command: {command}")),
            };
            let shown = shown.trim_end();
            let _ = writeln!(observed, "$ {command}{}{shown}", if shown.is_empty() { "" } else { "\n" });
        } else if let Some(text) = line.strip_prefix("| ") {
            let found = full.contains(&one_line(text));
            let _ = writeln!(observed, "{}", if found { line.to_owned() } else { format!("no {line}, but: {full}") });
        }
    }
    Ok(observed)
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
