//! The choice of colors: flags and environment variables in their order of precedence.

use yuba_net::Environment;

/// Whether an output gets colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColorChoice {
    /// No output does.
    Never,
    /// Terminals do.
    Terminals,
    /// All outputs do: terminals, pipes and files.
    Always,
}

impl ColorChoice {
    /// The choice of the environment. The first of these that is set decides: `NO_COLOR`, `FORCE_COLOR`, `CLICOLOR_FORCE`,
    /// `CLICOLOR`, then the logs of pipelines, which show colors. `-no-color` is applied later and disables colors in any case.
    pub(super) fn of(environment: &Environment) -> ColorChoice {
        if environment.get("NO_COLOR").is_some() {
            return ColorChoice::Never;
        }
        let is_off = |value: &str| value == "0" || value == "false";
        match (environment.get("FORCE_COLOR"), environment.get("CLICOLOR_FORCE"), environment.get("CLICOLOR")) {
            (Some(forced), ..) if is_off(forced) => ColorChoice::Never,
            (Some(_), ..) => ColorChoice::Always,
            (_, Some(forced), _) if !is_off(forced) => ColorChoice::Always,
            (.., Some(value)) if is_off(value) => ColorChoice::Never,
            _ if is_pipeline(environment) => ColorChoice::Always,
            _ => ColorChoice::Terminals,
        }
    }

    /// Whether an output gets colors. A terminal that understands no control sequences gets none.
    pub(super) fn applies_to(self, kind: OutputKind) -> bool {
        match (self, kind) {
            (ColorChoice::Never, _) | (_, OutputKind::DumbTerminal) => false,
            (ColorChoice::Terminals, OutputKind::Terminal) | (ColorChoice::Always, _) => true,
            (ColorChoice::Terminals, OutputKind::Other) => false,
        }
    }
}

/// The kind of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputKind {
    /// A terminal.
    Terminal,
    /// A terminal with `TERM=dumb`.
    DumbTerminal,
    /// A pipe or a file.
    Other,
}

/// Whether the output goes to the log of GitHub Actions or GitLab CI, which show colors.
pub(super) fn is_pipeline(environment: &Environment) -> bool {
    ["GITHUB_ACTIONS", "GITLAB_CI"].into_iter().any(|name| environment.get(name).is_some() && !environment.is_off(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precedence_of_variables() {
        use ColorChoice::{Always, Never, Terminals};
        for (variables, expected) in [
            ("", Terminals),
            ("NO_COLOR=", Terminals),
            ("NO_COLOR=1", Never),
            ("NO_COLOR=0", Never),
            ("NO_COLOR=1 FORCE_COLOR=1", Never),
            ("NO_COLOR=1 CLICOLOR_FORCE=1 GITHUB_ACTIONS=true", Never),
            ("FORCE_COLOR=1", Always),
            ("FORCE_COLOR=3", Always),
            ("FORCE_COLOR=true", Always),
            ("FORCE_COLOR=", Terminals),
            ("FORCE_COLOR=0", Never),
            ("FORCE_COLOR=false", Never),
            ("FORCE_COLOR=0 CLICOLOR_FORCE=1", Never),
            ("FORCE_COLOR=0 GITHUB_ACTIONS=true", Never),
            ("FORCE_COLOR=1 CLICOLOR=0", Always),
            ("CLICOLOR_FORCE=1", Always),
            ("CLICOLOR_FORCE=1 CLICOLOR=0", Always),
            ("CLICOLOR_FORCE=0", Terminals),
            ("CLICOLOR_FORCE=0 CLICOLOR=0", Never),
            ("CLICOLOR_FORCE=0 GITHUB_ACTIONS=true", Always),
            ("CLICOLOR=0", Never),
            ("CLICOLOR=0 GITLAB_CI=true", Never),
            ("CLICOLOR=1", Terminals),
            ("GITHUB_ACTIONS=true", Always),
            ("GITHUB_ACTIONS=", Terminals),
            ("GITHUB_ACTIONS=false", Terminals),
            ("GITLAB_CI=true", Always),
            ("CI=true", Terminals),
        ] {
            let environment: Environment = variables.split_whitespace().filter_map(|one| one.split_once('=')).collect();
            assert_eq!(ColorChoice::of(&environment), expected, "{variables}");
        }
    }

    #[test]
    fn terminals_pipes_and_terminals_without_control_sequences() {
        use OutputKind::{DumbTerminal, Other, Terminal};
        let table = [(ColorChoice::Never, [false; 3]), (ColorChoice::Terminals, [true, false, false])];
        for (choice, expected) in table.into_iter().chain([(ColorChoice::Always, [true, false, true])]) {
            assert_eq!([Terminal, DumbTerminal, Other].map(|kind| choice.applies_to(kind)), expected, "{choice:?}");
        }
    }
}
