//! Shortens the output of a command to the lines that a section of the suite states.

use std::fmt::Write as _;

use yuba_testkit::Run;

/// Standard output; of a help text only its first line.
pub(crate) fn brief_help(stdout: &str) -> &str {
    let first = stdout.lines().next().unwrap_or_default();
    if first.starts_with("Usage: ") { &stdout[..first.len() + 1] } else { stdout }
}

/// The messages of `-json` lines about changes, outputs and diagnostics.
pub(crate) fn messages(lines: &str) -> String {
    let types =
        ["planned_change", "change_summary", "outputs", "diagnostic"].map(|name| format!("\"type\":\"{name}\""));
    let told = lines.lines().filter(|line| types.iter().any(|name| line.contains(name)));
    let message = |line: &str| Some(line.split_once("\"@message\":\"")?.1.split_once("\",\"@module\"")?.0.to_owned());
    told.filter_map(message).fold(String::new(), |all, text| all + &without_ids(&text.replace("\\\"", "\"")) + "\n")
}

/// Of the output of `test`: a line per file and run, titles of diagnostics, objects that remain, the summary.
pub(crate) fn test_lines(run: &Run) -> String {
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

/// Type and message of each line of `test -json`.
pub(crate) fn test_messages(lines: &str) -> String {
    let part = |line: &str, before: &str, after: &str| Some(line.split_once(before)?.1.split_once(after)?.0.to_owned());
    let told = lines.lines().filter_map(|line| {
        let kind = part(line, "\"type\":\"", "\"}").filter(|kind| !kind.starts_with("version"))?;
        Some(format!("{kind}: {}\n", part(line, "\"@message\":\"", "\",\"@")?.replace("\\\"", "\"")))
    });
    told.collect()
}

/// Text with `<id>` for every UUID.
pub(crate) fn without_ids(text: &str) -> String {
    let is_id = |word: &str| word.len() == 36 && word.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    let parts = text.split_inclusive(|c: char| !c.is_ascii_hexdigit() && c != '-');
    parts.fold(String::new(), |all, part| match part.char_indices().next_back() {
        Some((end, _)) if is_id(&part[..end]) => all + "<id>" + &part[end..],
        _ => all + part,
    })
}

/// Text with one space between words, without the frame of diagnostics.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().filter(|word| !matches!(*word, "│" | "╷" | "╵")).collect::<Vec<_>>().join(" ")
}

/// Of the output of an operation: a line per object, the summary, outputs, and titles of diagnostics.
pub(crate) fn condensed(run: &Run) -> String {
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
pub(crate) fn titles(run: &Run) -> String {
    let lines = run.stderr.lines().map(|line| line.strip_prefix("│ ").unwrap_or(line));
    let titles = lines.filter(|line| line.starts_with("Error: ") || line.starts_with("Warning: "));
    titles.fold(String::new(), |all, line| all + line.trim_end() + "\n")
}

/// `line 3: Error: title`, a line each.
pub(crate) fn located_titles(run: &Run) -> String {
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
