//! Flags with the conventions of Go (`-var x`, `-var=x`, `--var`), parsed by the table of a command.
//!
//! The same table gives the help text, so that a flag cannot exist without being documented.

use std::sync::Arc;

use yuba_install::Hosts;
use yuba_syntax::suggestion::closest;

use crate::deprecation::DeprecationChoice;
use crate::telemetry::Telemetry;

/// `-json`
pub(crate) const JSON: Flag = Flag::switch("json", "Write messages as lines of JSON.");
/// `-json-into`
pub(crate) const JSON_INTO: Flag =
    Flag::text("json-into", "out.json", "Write JSON to a file, in addition to text on standard output.");

/// One row of a command's table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flag {
    /// Name without dashes.
    pub(crate) name: &'static str,
    /// The kind of its value.
    pub(crate) kind: Kind,
    /// Its description in the help, in full sentences.
    pub(crate) help: &'static str,
}

/// The kind of value that a flag takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing, or `=true` / `=false`; absent it has this value.
    Switch(bool),
    /// A string; the last one counts. The placeholder for it in the help.
    Text(&'static str),
    /// A string that can be repeated. The placeholder for it in the help.
    List(&'static str),
    /// A string after `=`, or nothing. The placeholder for it in the help.
    Optional(&'static str),
}

impl Flag {
    /// A switch that is off unless given.
    pub(crate) const fn switch(name: &'static str, help: &'static str) -> Flag {
        Flag { name, kind: Kind::Switch(false), help }
    }
    /// A switch that is on unless given as `=false`.
    pub(crate) const fn switch_off(name: &'static str, help: &'static str) -> Flag {
        Flag { name, kind: Kind::Switch(true), help }
    }
    /// A string.
    pub(crate) const fn text(name: &'static str, value: &'static str, help: &'static str) -> Flag {
        Flag { name, kind: Kind::Text(value), help }
    }
    /// A string after `=`, which can be left out.
    pub(crate) const fn optional(name: &'static str, value: &'static str, help: &'static str) -> Flag {
        Flag { name, kind: Kind::Optional(value), help }
    }
    /// A string that can be given several times.
    pub(crate) const fn list(name: &'static str, value: &'static str, help: &'static str) -> Flag {
        Flag { name, kind: Kind::List(value), help }
    }
}

/// The flags that every command has.
pub(crate) const COMMON: &[Flag] = &[
    Flag::switch("no-color", "Disable colors. The environment variable NO_COLOR disables them for all commands."),
    Flag::switch(
        "compact-warnings",
        "If there are warnings and no errors, show only the title and the location of each warning.",
    ),
    Flag::switch_off("consolidate-warnings", "Show each warning instead of combining similar warnings."),
    Flag::switch("consolidate-errors", "Combine similar errors."),
    Flag::switch("concise", "Disable progress messages."),
    Flag::text(
        "deprecation",
        "module:all",
        "Deprecation warnings to show. For variables and outputs: \"module:all\", \"module:local\" (only uses in local \
         modules) or \"module:none\". For attributes of resources: \"provider:all\" or \"provider:none\". For one module \
         or output: its address and \":all\" or \":none\". Repeat the option to combine them.",
    ),
    Flag::text("module-deprecation-warnings", "all", ""),
    Flag::text(
        "profile",
        "FILE",
        "Write a trace of this run to a file: how long each phase, resource instance, provider call and request takes. \
         Perfetto and chrome://tracing open it.",
    ),
];

/// The parsed arguments of a command. Each command resolves them once into its settings.
#[derive(Clone)]
pub(crate) struct Args {
    table: &'static [Flag],
    given: Vec<(&'static str, String)>,
    /// Arguments that are not flags.
    pub(crate) positional: Vec<String>,
    /// The directory the process was started in, if `-chdir` changed it.
    pub(crate) original_dir: Option<String>,
    /// Access to hosts, with the settings of the CLI configuration.
    pub(crate) hosts: Arc<Hosts>,
    /// The log of the process.
    pub(crate) telemetry: Telemetry,
}

impl Args {
    /// The same arguments, where flags may also stand after other arguments. Commands of OpenTofu do not accept this.
    pub(crate) fn permuted(&self) -> Result<Args, String> {
        let mut all = self.clone();
        let mut rest = std::mem::take(&mut all.positional);
        while !rest.is_empty() {
            let behind = parse(self.table, &rest.split_off(1))?;
            all.positional.append(&mut rest);
            all.given.extend(behind.given);
            rest = behind.positional;
        }
        Ok(all)
    }
    /// Whether a switch is on, given or by default.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        let flag = self.table.iter().chain(COMMON).find(|flag| flag.name == name);
        debug_assert!(flag.is_some_and(|flag| matches!(flag.kind, Kind::Switch(_))), "{name} is not a switch");
        self.text(name).map_or(flag.is_some_and(|flag| flag.kind == Kind::Switch(true)), |value| value == "true")
    }
    /// Whether the command has a flag.
    pub(crate) fn table_has(&self, name: &str) -> bool {
        self.table.iter().any(|flag| flag.name == name)
    }
    /// The last value of a flag, if it was given.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.iter().filter(|(given, _)| *given == name).last().map(|(_, value)| value)
    }
    /// The last value of a flag, if it was given and is not empty.
    pub(crate) fn non_empty(&self, name: &str) -> Option<&str> {
        self.text(name).filter(|value| !value.is_empty())
    }
    /// All values of a flag, in the order they were given.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        self.iter().filter(|(given, _)| *given == name).map(|(_, value)| value.to_owned()).collect()
    }
    /// The deprecation warnings to show. The error is a message about an invalid value.
    pub(crate) fn deprecation(&self) -> Result<DeprecationChoice, String> {
        let mut choice = DeprecationChoice::default();
        for (name, value) in self.iter() {
            match name {
                "deprecation" => choice.take(value)?,
                "module-deprecation-warnings" => choice.take_module(name, value)?,
                _ => {}
            }
        }
        Ok(choice)
    }
    /// All flags in the order they were given.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.given.iter().map(|(name, value)| (*name, value.as_str()))
    }
}

/// Parses the arguments of a command. The error is a message about the first invalid argument.
pub(crate) fn parse(table: &'static [Flag], args: &[String]) -> Result<Args, String> {
    let given = args.iter().filter_map(|arg| common_anywhere(arg)).collect();
    let mut parsed = Args {
        table,
        given,
        positional: Vec::new(),
        original_dir: None,
        hosts: Arc::default(),
        telemetry: Telemetry::default(),
    };
    let mut rest = args.iter().filter(|arg| common_anywhere(arg).is_none());
    while let Some(arg) = rest.next() {
        let Some(dashed) = arg.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
            parsed.positional.push(arg.clone());
            break;
        };
        let text = dashed.strip_prefix('-').unwrap_or(dashed);
        if text.is_empty() {
            break;
        }
        if text.starts_with(['-', '=']) {
            return Err(format!("bad flag syntax: {arg}"));
        }
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let Some(flag) = table.iter().chain(COMMON).find(|flag| flag.name == name) else {
            return Err(undefined(table, name));
        };
        let value = match (flag.kind, value) {
            (Kind::Switch(_), None) => "true".to_owned(),
            (Kind::Switch(_), Some(value)) => parse_bool(value)
                .ok_or_else(|| format!("invalid boolean value {value:?} for -{name}: parse error"))?
                .to_string(),
            (_, Some(value)) => value.to_owned(),
            (Kind::Optional(_), None) => String::new(),
            (_, None) => rest.next().ok_or_else(|| format!("flag needs an argument: -{name}"))?.clone(),
        };
        parsed.given.push((flag.name, value));
    }
    parsed.positional.extend(rest.cloned());
    Ok(parsed)
}

/// Quirk: in their plain form the common flags count wherever they stand, even after positional arguments.
fn common_anywhere(arg: &str) -> Option<(&'static str, String)> {
    let (name, value) = match arg.strip_prefix('-')?.split_once('=') {
        Some((name @ ("consolidate-warnings" | "consolidate-errors"), value @ ("true" | "false"))) => (name, value),
        Some(_) => return None,
        None => (&arg[1..], "true"),
    };
    let flag = COMMON.iter().find(|flag| flag.name == name && matches!(flag.kind, Kind::Switch(_)))?;
    Some((flag.name, value.to_owned()))
}

fn undefined(table: &[Flag], name: &str) -> String {
    let names = table.iter().chain(COMMON).map(|flag| flag.name);
    match closest(name, names) {
        Some(close) => format!("flag provided but not defined: -{name}\nDid you mean -{close}?"),
        None => format!("flag provided but not defined: -{name}"),
    }
}

/// The spellings that Go's `strconv.ParseBool` accepts.
fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Flag] = &[
        Flag::switch("json", ""),
        Flag::switch_off("list", ""),
        Flag::text("state", "path", ""),
        Flag::list("var", "'a=b'", ""),
        Flag::optional("markdown", "BYTES", ""),
    ];

    fn check(args: &[&str], expected: &str) {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let got = match parse(TABLE, &args) {
            Ok(parsed) => {
                let given: Vec<String> = parsed.iter().map(|(name, value)| format!("{name}={value}")).collect();
                format!("{} | {}", given.join(" "), parsed.positional.join(" "))
            }
            Err(message) => message,
        };
        assert_eq!(got, expected, "{args:?}");
    }

    #[test]
    fn go_flag_forms() {
        check(&[], " | ");
        check(
            &["-json", "--list=false", "-var", "a=1", "-var=b=2", "--state=x"],
            "json=true list=false var=a=1 var=b=2 state=x | ",
        );
        check(&["-json=F", "x", "-json"], "json=false | x -json");
        check(&["-var", "-json"], "var=-json | ");
        check(&["--", "-json"], " | -json");
        check(&["-", "-json"], " | - -json");
        check(&["-markdown", "-markdown=5", "x"], "markdown= markdown=5 | x");
        check(&["x", "-no-color", "-consolidate-warnings=false"], "no-color=true consolidate-warnings=false | x");
        check(&["--no-color=0"], "no-color=false | ");
        check(&["-deprecation", "none"], "deprecation=none | ");
    }

    #[test]
    fn flags_after_other_arguments() {
        let args = ["-json", "x", "-state", "s", "y", "-list=false"].map(str::to_owned);
        let parsed = parse(TABLE, &args).and_then(|args| args.permuted()).expect("because the flags exist");
        assert_eq!(parsed.positional, ["x", "y"]);
        assert_eq!((parsed.is_on("json"), parsed.is_on("list"), parsed.text("state")), (true, false, Some("s")));
        let args = ["--", "-x", "-bad"].map(str::to_owned);
        let refused = parse(TABLE, &args).and_then(|args| args.permuted());
        assert_eq!(refused.err().as_deref(), Some("flag provided but not defined: -bad"));
    }

    #[test]
    fn go_flag_errors() {
        check(&["-x"], "flag provided but not defined: -x");
        check(&["--jsno=1"], "flag provided but not defined: -jsno\nDid you mean -json?");
        check(&["-state"], "flag needs an argument: -state");
        check(&["-json=maybe"], "invalid boolean value \"maybe\" for -json: parse error");
        check(&["---json"], "bad flag syntax: ---json");
        check(&["-=x"], "bad flag syntax: -=x");
    }

    #[test]
    fn switches_have_defaults() {
        let args = parse(TABLE, &[]).expect("because the expectations have no unknown flags");
        assert!(!args.is_on("json") && args.is_on("list") && args.is_on("consolidate-warnings"));
    }
}
