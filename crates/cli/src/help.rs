//! Help texts, generated from the tables of commands and flags.

use std::fmt::Write as _;

use yuba_view::wrap::wrap;

use crate::commands::{COMMANDS, Command, PRIMARY};
use crate::flags::{COMMON, Flag, Kind};

/// Column at which help wraps.
const WIDTH: usize = 79;

/// The options before the subcommand.
pub(crate) const GLOBAL: [(&str, &str); 5] = [
    ("-chdir=DIR", "Switch to this directory before running the subcommand."),
    ("-help", "Show this help, or the help of the given subcommand."),
    ("-version", "Show the version, like the \"version\" subcommand."),
    ("-install-autocomplete", "Install completion for bash, zsh and fish in their startup files."),
    ("-uninstall-autocomplete", "Remove completion from the startup files."),
];

/// Output of `yuba -help`.
pub(crate) fn main() -> String {
    let mut text = "Usage: yuba [global options] <subcommand> [args]\n\n".to_owned();
    let top_level: Vec<&Command> = COMMANDS.iter().copied().filter(|command| !command.name.contains(' ')).collect();
    let longest = top_level.iter().map(|command| command.name.len()).max().unwrap_or(0).max("-chdir=DIR".len());
    let widest = GLOBAL.iter().map(|(option, _)| option.len()).max().unwrap_or(0);
    let (main, other): (Vec<&Command>, Vec<&Command>) =
        top_level.into_iter().partition(|command| PRIMARY.contains(&command.name));
    for (title, commands) in [("Main commands", main), ("All other commands", other)] {
        if commands.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{title}:");
        for command in commands {
            let _ = writeln!(text, "  {:longest$}  {}", command.name, command.synopsis);
        }
        text.push('\n');
    }
    text.push_str("Global options (use these before the subcommand, if any):\n");
    for (option, help) in GLOBAL {
        let _ = writeln!(text, "  {option:widest$}  {help}");
    }
    text
}

/// Output of `yuba <command> -help`.
pub(crate) fn command(command: &Command) -> String {
    let mut text = format!("Usage: yuba [global options] {} {}", command.name, command.usage).trim_end().to_owned();
    text.push_str("\n\n");
    for paragraph in command.about.split("\n\n") {
        indented(&mut text, 2, paragraph);
        text.push('\n');
    }
    let subcommands = subcommands(command);
    if !subcommands.is_empty() {
        text.push_str("Subcommands:\n");
        let longest = subcommands.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, subcommand) in &subcommands {
            let _ = writeln!(text, "    {name:longest$}    {}", subcommand.synopsis);
        }
        return text;
    }
    let flags: Vec<(String, &Flag)> = command
        .flags
        .iter()
        .chain(COMMON)
        .filter(|flag| !flag.help.is_empty())
        .map(|flag| (spelled(flag), flag))
        .collect();
    let longest = flags.iter().map(|(spelling, _)| spelling.len()).max().unwrap_or(0);
    text.push_str("Options:\n");
    for (spelling, flag) in flags {
        let column = longest + 4;
        let _ = write!(text, "\n  {spelling:longest$}  ");
        let mut help = String::new();
        indented(&mut help, column, flag.help);
        text.push_str(help.trim_start());
    }
    text
}

/// The commands below a command: the last word of their names, and their rows.
pub(crate) fn subcommands(command: &Command) -> Vec<(&'static str, &'static Command)> {
    let prefix = format!("{} ", command.name);
    COMMANDS.iter().copied().filter_map(|c| Some((c.name.strip_prefix(&prefix)?, c))).collect()
}

/// A flag as a user would type it.
pub(crate) fn spelled(flag: &Flag) -> String {
    match flag.kind {
        Kind::Switch(false) => format!("-{}", flag.name),
        Kind::Switch(true) => format!("-{}=false", flag.name),
        Kind::Text(value) => format!("-{}={value}", flag.name),
        Kind::List(value) => format!("-{} {value}", flag.name),
        Kind::Optional(value) => format!("-{}[={value}]", flag.name),
    }
}

fn indented(text: &mut String, column: usize, paragraph: &str) {
    for line in wrap(paragraph, WIDTH - column).lines() {
        let _ = writeln!(text, "{:column$}{line}", "");
    }
}
