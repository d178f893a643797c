//! The reference of the command line, generated from the tables of commands and flags: Markdown, man pages and JSON.

use std::fmt::Write as _;

use yuba_view::json::JsonValue;

use crate::commands::{COMMANDS, Command, Run};
use crate::flags::{COMMON, Flag, Kind};
use crate::help;

mod man;
mod markdown;

pub(crate) use man::pages as man_pages;
pub(crate) use markdown::pages as markdown_pages;

/// A generated file.
pub(crate) struct Page {
    /// Name of the file in its directory.
    pub(crate) file: String,
    /// Its content.
    pub(crate) text: String,
}

/// Environment variables of every command, for `yuba(1)` and the index of the Markdown pages.
const ENVIRONMENT: [(&str, &str); 18] = [
    ("TF_CLI_ARGS", "Arguments to insert after the name of every command."),
    ("TF_CLI_ARGS_NAME", "Arguments to insert after the name of one command, for example TF_CLI_ARGS_plan."),
    ("TF_CLI_CONFIG_FILE", "The only CLI configuration file to read."),
    ("TF_DATA_DIR", "Data directory of the working directory. The default is .terraform."),
    ("TF_INPUT", "Disable prompts if the value is \"false\" or \"0\"."),
    ("TF_IN_AUTOMATION", "Omit messages about the next command if the value is not empty."),
    ("TF_LOG", "Write a log of this level to standard error: TRACE, DEBUG, INFO, WARN, ERROR, OFF or JSON."),
    ("TF_LOG_PATH", "File to append the log to instead of standard error."),
    ("TF_PLUGIN_CACHE_DIR", "Directory of the shared provider cache."),
    ("TF_TOKEN_HOST", "Token of a host, with \"_\" for dots and \"__\" for dashes in the host name."),
    ("TF_VAR_NAME", "Value of a variable of the root module."),
    ("TF_WORKSPACE", "Workspace to use instead of the selected one."),
    (
        "NO_COLOR",
        "Disable colors if the value is not empty. Of the variables for colors, the first one that applies decides.",
    ),
    (
        "FORCE_COLOR",
        "Disable colors everywhere if the value is \"false\" or \"0\". Any other value enables them in pipes and files, too.",
    ),
    ("CLICOLOR_FORCE", "Enable colors in pipes and files, too, unless the value is \"false\" or \"0\"."),
    ("CLICOLOR", "Disable colors everywhere if the value is \"false\" or \"0\"."),
    (
        "GITHUB_ACTIONS",
        "Enable colors in pipes and files, because logs of this service show them, and show the summary of init.",
    ),
    ("GITLAB_CI", "The same for logs of GitLab."),
];

/// The options that the help of a command lists.
fn options(flags: &'static [Flag]) -> impl Iterator<Item = (String, &'static Flag)> {
    flags.iter().filter(|flag| !flag.help.is_empty()).map(|flag| (help::spelled(flag), flag))
}

/// The usage line of a command.
fn usage(command: &Command) -> String {
    format!("yuba [global options] {} {}", command.name, command.usage).trim_end().to_owned()
}

/// Output of `yuba metadata commands -json`.
pub(crate) fn json() -> JsonValue {
    let commands = COMMANDS.iter().map(|command| {
        let common: &[Flag] = if let Run::Function(_) = command.run { COMMON } else { &[] };
        let arguments = command.flags.iter().chain(common).filter(|flag| !flag.help.is_empty());
        let members = [
            ("summary", JsonValue::from(command.synopsis)),
            ("usage", JsonValue::from(usage(command))),
            ("description", JsonValue::from(command.about)),
            ("options", JsonValue::Array(arguments.map(flag).collect())),
        ];
        (command.name, JsonValue::object(members))
    });
    JsonValue::object([("format_version", JsonValue::from("1.0")), ("commands", JsonValue::object(commands))])
}

fn flag(flag: &Flag) -> JsonValue {
    let (kind, placeholder) = match flag.kind {
        Kind::Switch(_) => ("switch", None),
        Kind::Text(placeholder) => ("value", Some(placeholder)),
        Kind::List(placeholder) => ("repeatable", Some(placeholder)),
        Kind::Optional(placeholder) => ("optional-value", Some(placeholder)),
    };
    let mut members = vec![("name", JsonValue::from(flag.name)), ("kind", JsonValue::from(kind))];
    if flag.kind == Kind::Switch(true) {
        members.push(("default", JsonValue::from("true")));
    }
    members.extend(placeholder.map(|text| ("placeholder", JsonValue::from(text))));
    members.push(("description", JsonValue::from(flag.help)));
    JsonValue::object(members)
}
