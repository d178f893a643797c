//! The pages of `docs/commands`: an index, and a page for each command with its subcommands.

use std::path::Path;

use super::*;

/// The first line of each page.
const NOTE: &str = "<!-- Generated from the tables of the binary by `cargo xtask docs`. Change the tables instead. -->";

/// All pages. A page links the guide of its command, if the parent of the directory contains one.
pub(crate) fn pages(directory: &Path) -> Vec<Page> {
    let top_level = COMMANDS.iter().copied().filter(|command| !command.name.contains(' '));
    let guides = directory.parent().unwrap_or(Path::new(".."));
    let page = |command: &Command| {
        let guide = format!("{}.md", command.name);
        let guide = guides.join(&guide).is_file().then_some(guide);
        Page { file: format!("{}.md", command.name), text: page(command, guide) }
    };
    let mut pages = vec![Page { file: "README.md".to_owned(), text: index() }];
    pages.extend(top_level.map(page));
    pages
}

fn index() -> String {
    let mut text = format!(
        "{NOTE}\n\n# Commands\n\n`yuba [global options] <subcommand> [args]`\n\nOptions start with one or two dashes. A value \
         follows after `=` or as the next argument. [The command line](../cli.md) describes logs, versions and exit codes.\n\n"
    );
    text.push_str("| Command | Effect |\n|---|---|\n");
    for command in COMMANDS {
        let anchor = command.name.split_once(' ').map_or(String::new(), |_| format!("#yuba-{}", slug(command.name)));
        let file = command.name.split(' ').next().unwrap_or_default();
        let _ = writeln!(text, "| [`{}`]({file}.md{anchor}) | {}. |", command.name, escaped(command.synopsis));
    }
    text.push_str("\n## Global options\n\n| Option | Effect |\n|---|---|\n");
    for (option, help) in help::GLOBAL {
        let _ = writeln!(text, "| `{option}` | {} |", escaped(help));
    }
    text.push_str("\n## Options of every command\n\n");
    table(&mut text, COMMON);
    text.push_str("\n## Environment variables\n\n| Variable | Effect |\n|---|---|\n");
    for (name, help) in ENVIRONMENT {
        let _ = writeln!(text, "| `{name}` | {} |", escaped(help));
    }
    text
}

fn page(command: &Command, guide: Option<String>) -> String {
    let mut text = format!("{NOTE}\n\n# yuba {}\n\n", command.name);
    describe(&mut text, command);
    if let Some(guide) = guide {
        let _ = writeln!(text, "\nThe guide [{}](../{guide}) has examples.", guide.trim_end_matches(".md"));
    }
    for (_, subcommand) in help::subcommands(command) {
        let _ = write!(text, "\n## yuba {}\n\n", subcommand.name);
        describe(&mut text, subcommand);
    }
    text
}

fn describe(text: &mut String, command: &Command) {
    let _ = writeln!(text, "{}.\n\n`{}`\n\n{}", escaped(command.synopsis), usage(command), escaped(command.about));
    if let Run::Function(_) = command.run {
        text.push('\n');
        table(text, command.flags);
        text.push_str("\nEvery command also has the [common options](README.md#options-of-every-command).\n");
    }
}

fn table(text: &mut String, flags: &'static [Flag]) {
    let mut rows = options(flags).peekable();
    if rows.peek().is_some() {
        text.push_str("| Option | Effect |\n|---|---|\n");
    }
    for (spelling, flag) in rows {
        let _ = writeln!(text, "| `{spelling}` | {} |", escaped(flag.help));
    }
}

/// The anchor that a heading gets.
fn slug(name: &str) -> String {
    name.replace(' ', "-")
}

/// Text without the meaning that Markdown gives to its characters.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '*' | '<' | '|' | '[' | '`') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
