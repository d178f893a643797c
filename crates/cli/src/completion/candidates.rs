//! Candidates that can follow a line: subcommands, flags and values.

use std::path::Path;
use std::sync::Arc;

use yuba_install::Hosts;

use super::line::Line;
use super::sources;
use super::values::{self, Values};
use crate::commands::{COMMANDS, Command, Run};
use crate::flags::{self, COMMON, Flag, Kind};
use crate::help;

/// A word that can stand at the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// The whole word, without quotes.
    pub(super) text: String,
    /// A short description; empty for values.
    pub(super) help: String,
    /// The word is complete: a space follows.
    pub(super) ends_word: bool,
}

impl Candidate {
    fn word(text: impl Into<String>, help: &str) -> Candidate {
        Candidate { text: text.into(), help: first_sentence(help), ends_word: true }
    }
    /// A word to which the user adds something.
    fn open(text: impl Into<String>, help: &str) -> Candidate {
        Candidate { ends_word: false, ..Candidate::word(text, help) }
    }
}

/// All candidates whose text starts with the word at the cursor. Shells read a candidate per line, and control characters can do more
/// on a terminal, so names with such characters are left out.
pub(super) fn of(line: &Line, hosts: &Arc<Hosts>) -> Vec<Candidate> {
    let typed = line.current.text.as_str();
    let mut found = all(line, hosts);
    found.retain(|candidate| candidate.text.starts_with(typed) && !candidate.text.contains(char::is_control));
    found
}

fn all(line: &Line, hosts: &Arc<Hosts>) -> Vec<Candidate> {
    let typed = line.current.text.as_str();
    let global = line.words.iter().take_while(|word| word.starts_with('-')).count();
    for word in &line.words[..global] {
        if let Some(directory) = word.strip_prefix("-chdir=") {
            // Completion shows nothing if the directory does not exist.
            if std::env::set_current_dir(directory).is_err() {
                return Vec::new();
            }
        }
    }
    let words = &line.words[global..];
    if words.is_empty() && typed.starts_with('-') {
        return global_options(typed);
    }
    let named = COMMANDS.iter().copied().filter(|command| {
        let mut given = words.iter();
        command.name.split(' ').all(|word| given.next().is_some_and(|given| given == word))
    });
    let Some(command) = named.max_by_key(|command| command.name.len()) else {
        return if words.is_empty() { below("") } else { Vec::new() };
    };
    let given = &words[command.name.split(' ').count()..];
    let mut found = Vec::new();
    if given.is_empty() {
        found.extend(below(&format!("{} ", command.name)));
    }
    if let Run::Function(_) = command.run {
        found.extend(of_command(command, given, typed, hosts));
    }
    found
}

/// Commands one level below a prefix.
fn below(prefix: &str) -> Vec<Candidate> {
    let names = COMMANDS.iter().filter_map(|command| Some((command.name.strip_prefix(prefix)?, command.synopsis)));
    names.filter(|(name, _)| !name.contains(' ')).map(|(name, synopsis)| Candidate::word(name, synopsis)).collect()
}

fn global_options(typed: &str) -> Vec<Candidate> {
    if let Some(path) = typed.strip_prefix("-chdir=") {
        return files(path, Entries::Directories).into_iter().map(|found| with_prefix("-chdir=", found)).collect();
    }
    let option = |(option, about): (&str, &str)| match option.split_once('=') {
        Some((name, _)) => Candidate::open(format!("{name}="), about),
        None => Candidate::word(option, about),
    };
    help::GLOBAL.into_iter().map(option).collect()
}

/// Flags, values of flags and arguments of a command.
fn of_command(command: &'static Command, given: &[String], typed: &str, hosts: &Arc<Hosts>) -> Vec<Candidate> {
    let flags = || command.flags.iter().chain(COMMON);
    let find = |word: &str| {
        let name = word.strip_prefix('-').map(|name| name.strip_prefix('-').unwrap_or(name))?;
        flags().find(|flag| flag.name == name)
    };
    let takes_next =
        |word: &String| find(word).is_some_and(|flag| !matches!(flag.kind, Kind::Switch(_) | Kind::Optional(_)));
    let ask = |values| of_values(values, typed, command, given, hosts);
    if let Some(flag) = given.last().filter(|word| takes_next(word)).and_then(|word| find(word)) {
        return ask(values::of_flag(flag).unwrap_or(Values::Any));
    }
    if let Some((name, value)) = typed.split_once('=').filter(|_| typed.starts_with('-')) {
        let Some(flag) = find(name) else { return Vec::new() };
        let found = of_values(values::of_flag(flag).unwrap_or(Values::Any), value, command, given, hosts);
        return found.into_iter().map(|candidate| with_prefix(&format!("{name}="), candidate)).collect();
    }
    if typed.starts_with('-') {
        let dashes = if typed.starts_with("--") { "--" } else { "-" };
        return flags().filter(|flag| !flag.help.is_empty()).map(|flag| of_flag(dashes, flag)).collect();
    }
    values::of_arguments(command).map_or_else(Vec::new, ask)
}

fn of_flag(dashes: &str, flag: &Flag) -> Candidate {
    match flag.kind {
        Kind::Switch(false) | Kind::Optional(_) => Candidate::word(format!("{dashes}{}", flag.name), flag.help),
        Kind::Switch(true) => Candidate::word(format!("{dashes}{}=false", flag.name), flag.help),
        Kind::Text(_) | Kind::List(_) => Candidate::open(format!("{dashes}{}=", flag.name), flag.help),
    }
}

fn of_values(
    values: Values,
    typed: &str,
    command: &'static Command,
    given: &[String],
    hosts: &Arc<Hosts>,
) -> Vec<Candidate> {
    let plain = |names: Vec<String>| names.into_iter().map(|name| Candidate::word(name, "")).collect();
    let source = || sources::Source::new(command, given, hosts);
    match values {
        Values::Any => Vec::new(),
        Values::File => files(typed, Entries::All),
        Values::Directory => files(typed, Entries::Directories),
        Values::Words(words) => plain(words.iter().map(|word| (*word).to_owned()).collect()),
        Values::Target => plain(source().targets()),
        Values::InState => plain(source().in_state()),
        Values::Declared => plain(source().declared()),
        Values::Workspace => plain(source().workspaces()),
        Values::Output => plain(source().outputs()),
        Values::Provider => plain(source().providers()),
        Values::Explained if has_argument(command, given) => files(typed, Entries::All),
        Values::Explained => explained(&source()),
        Values::Variable => {
            source().variables().into_iter().map(|name| Candidate::open(format!("{name}="), "")).collect()
        }
    }
}

/// Whether an argument stands before the word at the cursor.
fn has_argument(command: &'static Command, given: &[String]) -> bool {
    flags::parse(command.flags, given).is_ok_and(|args| !args.positional.is_empty())
}

/// Objects that can be explained, then diagnostic codes with their titles.
fn explained(source: &sources::Source) -> Vec<Candidate> {
    let objects = source.explained().into_iter().map(|name| Candidate::word(name, ""));
    let codes = yuba_view::codes::all().map(|row| Candidate {
        text: row.id.to_owned(),
        help: row.title.into_owned(),
        ends_word: true,
    });
    objects.chain(codes).collect()
}

fn with_prefix(prefix: &str, candidate: Candidate) -> Candidate {
    Candidate { text: format!("{prefix}{}", candidate.text), ..candidate }
}

/// The entries of a directory that are candidates.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entries {
    All,
    Directories,
}

/// Paths that start with what is typed. Hidden ones only if the dot is typed.
fn files(typed: &str, entries: Entries) -> Vec<Candidate> {
    let (shown, start) =
        typed.rsplit_once('/').map_or(("", typed), |(directory, start)| (&typed[..=directory.len()], start));
    let home = std::env::home_dir();
    let directory = match (shown.strip_prefix("~/"), &home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ if shown.is_empty() => Path::new(".").to_owned(),
        _ => Path::new(shown).to_owned(),
    };
    let mut found: Vec<Candidate> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_hidden = name.starts_with('.') && !start.starts_with('.');
            match entry.path().is_dir() {
                _ if is_hidden => None,
                true => Some(Candidate::open(format!("{shown}{name}/"), "")),
                false => (entries == Entries::All).then(|| Candidate::word(format!("{shown}{name}"), "")),
            }
        })
        .collect();
    found.sort_by(|a, b| a.text.cmp(&b.text));
    found
}

/// The first sentence of a description, without its full stop.
fn first_sentence(help: &str) -> String {
    let first = help.split_once(". ").map_or(help, |(first, _)| first);
    first.trim_end_matches('.').to_owned()
}
