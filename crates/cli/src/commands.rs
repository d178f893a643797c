//! The table of commands. One file per command: its flags, its settings, one function that does it.

use crate::exit::Outcome;
use crate::flags::{Args, Flag};
use crate::terminal::Terminal;

mod completion;
mod console;
mod doctor;
mod drift;
mod estate;
mod explain;
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
    /// Arguments after the name in the usage line.
    pub(crate) usage: &'static str,
    /// Description, in paragraphs separated by an empty line.
    pub(crate) about: &'static str,
    /// Its own flags; [`crate::flags::COMMON`] come on top.
    pub(crate) flags: &'static [Flag],
    /// Output with `-json`.
    pub(crate) json: JsonForm,
    /// Its help is long: a usage error shows how to get the help instead of the help itself.
    pub(crate) long_help: bool,
    /// Implementation.
    pub(crate) run: Run,
}

/// Machine-readable output of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonForm {
    /// Nothing: it has no `-json`.
    None,
    /// One message per line, also for errors in the arguments.
    Messages,
    /// Something of its own.
    Document,
}

/// Implementation of a command.
#[derive(Clone, Copy)]
pub(crate) enum Run {
    /// Its work.
    Function(fn(&mut Terminal, &Args) -> Outcome),
    /// Nothing: it groups the commands whose names start with its name.
    Subcommands,
}

impl Command {
    /// Whether an empty line follows each of its diagnostics. Quirk: OpenTofu prints it for all commands but these.
    pub(crate) fn spaces_diagnostics(&self) -> bool {
        let dense = [
            "validate",
            "show",
            "output",
            "test",
            "doctor",
            "drift",
            "providers schema",
            "metadata functions",
            "estate list",
            "state history",
            "state list",
            "state query",
        ];
        !dense.contains(&self.name) && !OPERATIONS.contains(&self.name)
    }
}

/// Commands that plan or apply.
const OPERATIONS: [&str; 5] = ["plan", "apply", "destroy", "refresh", "ui"];

/// All commands, in the order of the help.
pub(crate) const COMMANDS: &[&Command] = &[
    &plan::APPLY,
    &completion::COMMAND,
    &console::COMMAND,
    &plan::DESTROY_COMMAND,
    &doctor::COMMAND,
    &drift::COMMAND,
    &estate::GROUP,
    &estate::list::COMMAND,
    &explain::COMMAND,
    &fmt::COMMAND,
    &force_unlock::COMMAND,
    &get::COMMAND,
    &graph::COMMAND,
    &import::COMMAND,
    &init::COMMAND,
    &login::COMMAND,
    &logout::COMMAND,
    &metadata::GROUP,
    &metadata::COMMANDS,
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
    &state::at::COMMAND,
    &state::history::COMMAND,
    &state::list::COMMAND,
    &state::mv::COMMAND,
    &state::pg_grants::COMMAND,
    &state::pull::COMMAND,
    &state::push::COMMAND,
    &state::query::COMMAND,
    &state::replace_provider::COMMAND,
    &state::rm::COMMAND,
    &state::show::COMMAND,
    &taint::TAINT,
    &test::COMMAND,
    &plan::UI,
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
        assert!(!NOT_YET.iter().any(|name| names.contains(name)), "a command is both listed and hidden");
        for command in COMMANDS {
            let mut flags: Vec<&str> = command.flags.iter().chain(COMMON).map(|flag| flag.name).collect();
            flags.sort_unstable();
            assert!(flags.is_sorted_by(|a, b| a < b), "a flag of {} is declared twice: {flags:?}", command.name);
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
