//! The kinds of values that flags and arguments take.

use yuba_view::report::views::ShownAction;

use crate::commands::Command;
use crate::flags::{Flag, Kind};

/// The values that a flag or an argument takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// Any string: numbers, durations, names of new objects.
    Any,
    /// A file.
    File,
    /// A directory.
    Directory,
    /// One of these words.
    Words(&'static [&'static str]),
    /// A module, a resource or an instance, declared or in the state.
    Target,
    /// A module, a resource or an instance in the state.
    InState,
    /// A managed resource of the configuration.
    Declared,
    /// A workspace.
    Workspace,
    /// An output in the state.
    Output,
    /// A variable of the root module, followed by `=`.
    Variable,
    /// A provider that the state refers to.
    Provider,
    /// A diagnostic code or an object of the configuration or the state; after it a file.
    Explained,
}

/// The values of a flag; `None` for an unknown flag, which a test refuses.
pub(super) fn of_flag(flag: &Flag) -> Option<Values> {
    Some(match flag.name {
        _ if matches!(flag.kind, Kind::Switch(_)) => Values::Words(&["true", "false"]),
        "sarif" => Values::File,
        _ if matches!(flag.kind, Kind::Optional(_)) => Values::Any,
        "only" => Values::Words(&ShownAction::WORDS),
        "format" => Values::Words(&["text", "github"]),
        "state"
        | "state-out"
        | "backup"
        | "backup-out"
        | "out"
        | "plan"
        | "var-file"
        | "target-file"
        | "exclude-file"
        | "ignore-file"
        | "json-into"
        | "html"
        | "junit-xml"
        | "profile"
        | "generate-config-out"
        | "filter"
        | "backend-config" => Values::File,
        "config" | "test-directory" | "module" | "fs-mirror" | "plugin-dir" | "man" | "markdown" => Values::Directory,
        "target" | "exclude" | "ignore" => Values::Target,
        "replace" => Values::InState,
        "var" => Values::Variable,
        "type" => Values::Words(&["plan", "plan-refresh-only", "plan-destroy", "apply"]),
        "deprecation" => Values::Words(&["module:all", "module:local", "module:none", "provider:all", "provider:none"]),
        "module-deprecation-warnings" => Values::Words(&["all", "local", "none"]),
        "lockfile" => Values::Words(&["readonly"]),
        "prefix" | "columns" | "id" | "lock-timeout" | "module-depth" | "net-mirror" | "parallel" | "parallelism"
        | "platform" | "seed" | "from-module" => Values::Any,
        _ => return None,
    })
}

/// The values of the arguments of commands that take some.
const ARGUMENTS: &[(&str, Values)] = &[
    ("apply", Values::File),
    ("completion", Values::Words(&super::SHELLS)),
    ("explain", Values::Explained),
    ("fmt", Values::File),
    ("force-unlock", Values::Any),
    ("import", Values::Declared),
    ("login", Values::Any),
    ("logout", Values::Any),
    ("output", Values::Output),
    ("providers lock", Values::Any),
    ("providers mirror", Values::Directory),
    ("show", Values::File),
    ("state at", Values::Any),
    ("state history", Values::InState),
    ("state list", Values::InState),
    ("state mv", Values::InState),
    ("state push", Values::File),
    ("state query", Values::Any),
    ("state replace-provider", Values::Provider),
    ("state rm", Values::InState),
    ("state show", Values::InState),
    ("taint", Values::InState),
    ("ui", Values::File),
    ("untaint", Values::InState),
    ("validate", Values::Directory),
    ("workspace delete", Values::Workspace),
    ("workspace new", Values::Any),
    ("workspace select", Values::Workspace),
];

/// The values of the arguments of a command.
pub(super) fn of_arguments(command: &Command) -> Option<Values> {
    ARGUMENTS.iter().find(|(name, _)| *name == command.name).map(|(_, values)| *values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::{COMMANDS, Run};
    use crate::flags::COMMON;

    #[test]
    fn every_flag_has_a_kind_of_values() {
        for command in COMMANDS {
            for flag in command.flags.iter().chain(COMMON) {
                assert!(of_flag(flag).is_some(), "-{} of {}", flag.name, command.name);
            }
        }
    }

    #[test]
    fn every_command_with_arguments_has_a_kind_of_values() {
        for command in COMMANDS.iter().filter(|command| matches!(command.run, Run::Function(_))) {
            let has_arguments = command
                .usage
                .split(' ')
                .any(|word| !word.is_empty() && word != "[options]" && !word.starts_with('-') && word != "|");
            assert_eq!(of_arguments(command).is_some(), has_arguments, "{}", command.name);
        }
    }
}
