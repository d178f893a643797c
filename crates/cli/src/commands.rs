//! The table of commands. One file per command: its flags, its settings, one function that does it.

use crate::exit::Outcome;
use crate::flags::{Args, Flag};
use crate::terminal::Terminal;

mod console;
mod fmt;
mod force_unlock;
mod get;
mod graph;
mod import;
mod init;
mod login;
mod logout;
mod metadata;
mod output;
mod plan;
mod providers;
mod providers_lock;
mod providers_mirror;
mod providers_schema;
mod show;
mod state;
mod taint;
mod test;
pub(crate) mod validate;
pub(crate) mod version;
mod workspace;

/// One row of the table.
pub(crate) struct Command {
    /// The words after `yuba`, separated by one space.
    pub(crate) name: &'static str,
    /// One line for the list of commands.
    pub(crate) synopsis: &'static str,
    /// What follows the name in the usage line.
    pub(crate) usage: &'static str,
    /// What it does, in paragraphs separated by an empty line.
    pub(crate) about: &'static str,
    /// Its own flags; [`crate::flags::COMMON`] come on top.
    pub(crate) flags: &'static [Flag],
    /// What it writes with `-json`.
    pub(crate) json: JsonForm,
    /// Its help is long: a usage error shows how to get the help instead of the help itself.
    pub(crate) long_help: bool,
    /// What it does.
    pub(crate) run: Run,
}

/// What a command writes for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonForm {
    /// Nothing: it has no `-json`.
    None,
    /// A message a line, also about mistakes in the arguments.
    Messages,
    /// Something of its own.
    Document,
}

/// What a command does.
#[derive(Clone, Copy)]
pub(crate) enum Run {
    /// Its work.
    Function(fn(&mut Terminal, &Args) -> Outcome),
    /// Nothing: it groups the commands whose names start with its name.
    Subcommands,
}

/// All commands, in the order of the help.
pub(crate) const COMMANDS: &[&Command] = &[
    &plan::APPLY,
    &console::COMMAND,
    &plan::DESTROY_COMMAND,
    &fmt::COMMAND,
    &force_unlock::COMMAND,
    &get::COMMAND,
    &graph::COMMAND,
    &import::COMMAND,
    &init::COMMAND,
    &login::COMMAND,
    &logout::COMMAND,
    &metadata::GROUP,
    &metadata::FUNCTIONS,
    &output::COMMAND,
    &plan::PLAN,
    &providers::COMMAND,
    &providers_lock::COMMAND,
    &providers_mirror::COMMAND,
    &providers_schema::COMMAND,
    &plan::REFRESH_COMMAND,
    &show::COMMAND,
    &state::GROUP,
    &state::list::COMMAND,
    &state::mv::COMMAND,
    &state::pull::COMMAND,
    &state::push::COMMAND,
    &state::replace_provider::COMMAND,
    &state::rm::COMMAND,
    &state::show::COMMAND,
    &taint::TAINT,
    &test::COMMAND,
    &taint::UNTAINT,
    &validate::COMMAND,
    &version::COMMAND,
    &workspace::GROUP,
    &workspace::delete::COMMAND,
    &workspace::list::COMMAND,
    &workspace::new::COMMAND,
    &workspace::select::COMMAND,
    &workspace::show::COMMAND,
];

/// Other names of commands.
pub(crate) const ALIASES: &[(&str, &str)] =
    &[("state ls", "state list"), ("state move", "state mv"), ("state remove", "state rm")];

/// The commands of the main workflow, listed first.
pub(crate) const PRIMARY: &[&str] = &["init", "validate", "plan", "apply", "destroy"];

/// Commands of OpenTofu that this version does not have yet.
pub(crate) const NOT_YET: &[&str] = &["env", "push"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::COMMON;

    #[test]
    fn names_are_unique_and_sorted() {
        let names: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
        assert!(!NOT_YET.iter().any(|name| names.contains(name)), "a command is both there and not there");
        for command in COMMANDS {
            let mut flags: Vec<&str> = command.flags.iter().chain(COMMON).map(|flag| flag.name).collect();
            flags.sort_unstable();
            assert!(flags.is_sorted_by(|a, b| a < b), "a flag of {} is there twice: {flags:?}", command.name);
            assert_eq!(flags.contains(&"json"), command.json != JsonForm::None, "{}", command.name);
        }
    }

    #[test]
    fn groups_exist_and_have_members() {
        for command in COMMANDS {
            let members = COMMANDS.iter().filter(|c| c.name.starts_with(&format!("{} ", command.name))).count();
            assert!(members > 0 || !matches!(command.run, Run::Subcommands), "{}", command.name);
            if let Some((group, _)) = command.name.rsplit_once(' ') {
                assert!(COMMANDS.iter().any(|c| c.name == group), "{group}");
            }
        }
    }
}
