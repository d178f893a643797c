//! Environment variables that change behaviour: names, and values that are neither secret nor personal.

use std::path::{Path, PathBuf};

use yuba_net::Environment;
use yuba_session::doctor::{Area, Finding, redacted};
use yuba_syntax::suggestion::closest;
use yuba_view::facts::Fact;

use super::diagnostics;

/// Whether the value of a variable is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// It is.
    Value,
    /// It is, as a path without the home directory.
    Path,
    /// Only the name is.
    Name,
}

/// Variables that Yuba reads, except those of backends and clouds.
const VARIABLES: &[(&str, Shown)] = &[
    ("CI", Shown::Value),
    ("CLICOLOR", Shown::Value),
    ("CLICOLOR_FORCE", Shown::Value),
    ("FORCE_COLOR", Shown::Value),
    ("GITHUB_ACTIONS", Shown::Value),
    ("GITLAB_CI", Shown::Value),
    ("HTTPS_PROXY", Shown::Name),
    ("HTTP_PROXY", Shown::Name),
    ("KUBECONFIG", Shown::Name),
    ("NO_COLOR", Shown::Value),
    ("NO_PROXY", Shown::Name),
    ("SSH_ASKPASS", Shown::Name),
    ("SSH_AUTH_SOCK", Shown::Name),
    ("SSL_CERT_DIR", Shown::Path),
    ("SSL_CERT_FILE", Shown::Path),
    ("TERM", Shown::Value),
    ("TERRAFORM_CONFIG", Shown::Path),
    ("TF_CLI_ARGS", Shown::Name),
    ("TF_CLI_CONFIG_FILE", Shown::Path),
    ("TF_CLOUD_HOSTNAME", Shown::Name),
    ("TF_CLOUD_ORGANIZATION", Shown::Name),
    ("TF_CLOUD_PROJECT", Shown::Name),
    ("TF_DATA_DIR", Shown::Path),
    ("TF_DISABLE_PLUGIN_TLS", Shown::Value),
    ("TF_ENCRYPTION", Shown::Name),
    ("TF_FORCE_LOCAL_BACKEND", Shown::Value),
    ("TF_INPUT", Shown::Value),
    ("TF_IN_AUTOMATION", Shown::Value),
    ("TF_LOG", Shown::Value),
    ("TF_LOG_CORE", Shown::Value),
    ("TF_LOG_PATH", Shown::Path),
    ("TF_LOG_PROVIDER", Shown::Value),
    ("TF_PLUGIN_CACHE_DIR", Shown::Path),
    ("TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE", Shown::Value),
    ("TF_PROVIDER_DOWNLOAD_RETRY", Shown::Value),
    ("TF_REATTACH_PROVIDERS", Shown::Name),
    ("TF_REGISTRY_CLIENT_TIMEOUT", Shown::Value),
    ("TF_REGISTRY_DISCOVERY_RETRY", Shown::Value),
    ("TF_TEMPLATE_RECURSION_DEPTH", Shown::Value),
    ("TF_WORKSPACE", Shown::Name),
    ("TMPDIR", Shown::Path),
    ("XDG_CACHE_HOME", Shown::Path),
    ("XDG_CONFIG_HOME", Shown::Path),
    ("XDG_DATA_HOME", Shown::Path),
    ("XDG_STATE_HOME", Shown::Path),
    ("YUBA_KEEP_PACKAGES", Shown::Value),
];

/// Starts of the names of variables that Yuba or its backends read. Values may be secret.
const PREFIXES: [&str; 11] = [
    "ARM_",
    "AWS_",
    "CONSUL_",
    "GOOGLE_",
    "KUBERNETES_",
    "KUBE_",
    "PG",
    "TF_CLI_ARGS_",
    "TF_HTTP_",
    "TF_TOKEN_",
    "TF_VAR_",
];

/// Starts of the names of variables that providers and other tools read.
const OF_OTHERS: [&str; 2] = ["TF_ACC", "TF_LOG_"];

/// The variables that are set.
pub(super) fn facts(environment: &Environment, redaction: &Redaction) -> Vec<Fact> {
    let mut facts = Vec::new();
    for (name, value) in environment.given_with_prefix("") {
        let upper = name.to_uppercase();
        // Tools agree on both spellings for proxies only.
        let listed = if upper.ends_with("_PROXY") { &upper } else { name };
        let known = VARIABLES.iter().find(|(variable, _)| *variable == listed).map(|(_, shown)| *shown);
        let has_prefix = PREFIXES.iter().chain(&OF_OTHERS).any(|prefix| name.starts_with(prefix));
        let Some(shown) = known.or_else(|| has_prefix.then_some(Shown::Name)) else { continue };
        let text = match shown {
            _ if value.is_empty() => "(empty)".to_owned(),
            Shown::Value => value.chars().filter(|c| !c.is_control()).take(60).collect(),
            Shown::Path => redaction.path(Path::new(value)),
            Shown::Name => "(not shown)".to_owned(),
        };
        facts.push(Fact::named(name, text));
    }
    facts
}

/// Warnings about variables whose names are close to one that Yuba reads.
pub(super) fn misspelled(environment: &Environment) -> Vec<Finding> {
    let known = || VARIABLES.iter().map(|(name, _)| *name).filter(|name| name.starts_with("TF_"));
    let mut findings = Vec::new();
    for (rest, _) in environment.given_with_prefix("TF_") {
        let name = format!("TF_{rest}");
        let is_known = known().any(|variable| variable == name)
            || PREFIXES.iter().chain(&OF_OTHERS).any(|prefix| name.starts_with(prefix));
        if let Some(close) = closest(&name, known()).filter(|_| !is_known) {
            let diagnostic = diagnostics::variable_misspelled(&name, close);
            findings.push(Finding { area: Area::Own, diagnostic, location: None });
        }
    }
    findings
}

/// Replaces the home directory and the name of the user in texts.
pub(super) struct Redaction {
    home: Option<PathBuf>,
    user: Option<String>,
}

impl Redaction {
    pub(super) fn new(environment: &Environment) -> Redaction {
        let user = ["USER", "LOGNAME"].into_iter().find_map(|name| environment.get(name)).map(str::to_owned);
        Redaction { home: environment.home(), user }
    }

    /// A path without the home directory.
    pub(super) fn path(&self, path: &Path) -> String {
        redacted(path, self.home.as_ref(), self.user.as_deref())
    }

    /// A text without the home directory, and with the name of the user replaced as in paths.
    pub(super) fn text(&self, text: &str) -> String {
        let home = self.home.as_ref().and_then(|home| home.to_str()).filter(|home| home.len() > 1);
        let text = home.map_or_else(|| text.to_owned(), |home| without_home(text, home));
        match self.user.as_deref().filter(|user| !user.is_empty() && *user != "root") {
            Some(user) => without_steps(&text, user),
            None => text,
        }
    }
}

/// Replaces a directory at the start of paths.
fn without_home(text: &str, home: &str) -> String {
    let start = format!("{home}/");
    let mut pieces = text.split(start.as_str());
    let mut replaced = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        // "/srv/root/x" is not in "/root".
        let is_start = !replaced.ends_with(|c: char| c.is_alphanumeric() || "-_./\\".contains(c));
        replaced += if is_start { "~" } else { home };
        replaced.push('/');
        replaced += piece;
    }
    replaced
}

/// Replaces a name that is a step of a path.
fn without_steps(text: &str, name: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        let is_step = before.chars().next_back().or(replaced.chars().next_back()).is_some_and(is_separator)
            && after.chars().next().is_none_or(|c| is_separator(c) || !(c.is_alphanumeric() || "-_.".contains(c)));
        replaced.push_str(before);
        replaced.push_str(if is_step { "USER" } else { name });
        rest = after;
    }
    replaced + rest
}

fn is_separator(c: char) -> bool {
    matches!(c, '/' | '\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn values_that_can_be_secret_are_not_shown() {
        let environment = environment(&[
            ("AWS_SECRET_ACCESS_KEY", "hunter2"),
            ("EDITOR", "vi"),
            ("HOME", "/home/ann"),
            ("TF_CLI_ARGS_plan", "-var=password=hunter2"),
            ("TF_DATA_DIR", "/home/ann/data"),
            ("TF_LOG", "debug"),
            ("TF_LOG_PROVIDER_AWS", "hunter2"),
            ("TF_TOKEN_example_com", "hunter2"),
            ("TF_VAR_password", "hunter2"),
            ("TF_WORKSPACE", ""),
            ("https_proxy", "http://ann:hunter2@proxy:3128"),
        ]);
        let facts = facts(&environment, &Redaction::new(&environment));
        let section = yuba_view::facts::Section { key: "environment", title: "Environment", facts };
        expect_test::expect![[r"
            Environment
              AWS_SECRET_ACCESS_KEY  (not shown)
              TF_CLI_ARGS_plan       (not shown)
              TF_DATA_DIR            ~/data
              TF_LOG                 debug
              TF_LOG_PROVIDER_AWS    (not shown)
              TF_TOKEN_example_com   (not shown)
              TF_VAR_password        (not shown)
              TF_WORKSPACE           (empty)
              https_proxy            (not shown)

        "]]
        .assert_eq(&yuba_view::facts::text(&[section], &str::to_owned));
    }

    #[test]
    fn texts_have_neither_the_home_directory_nor_the_user() {
        let redaction = Redaction::new(&environment(&[("HOME", "/home/ann"), ("USER", "ann")]));
        for (text, expected) in [
            ("See /home/ann/infra/main.tf.", "See ~/infra/main.tf."),
            ("/srv/ann/main.tf:3", "/srv/USER/main.tf:3"),
            ("/srv/ann: not found", "/srv/USER: not found"),
            ("\"/srv/ann\" and /mnt/ann/ann/x", "\"/srv/USER\" and /mnt/USER/USER/x"),
            ("/srv/anna/joann and channel", "/srv/anna/joann and channel"),
        ] {
            assert_eq!(redaction.text(text), expected);
        }
        let root = Redaction::new(&environment(&[("HOME", "/root"), ("USER", "root")]));
        assert_eq!(root.text("/srv/root/x"), "/srv/root/x");
    }

    #[test]
    fn only_names_close_to_a_known_one_are_misspelled() {
        let environment = environment(&[("TF_ACC_LOG", ""), ("TF_DATADIR", "x"), ("TF_SOMETHING_ELSE", "x")]);
        let found: Vec<String> =
            misspelled(&environment).iter().map(|finding| finding.diagnostic.explanation().to_string()).collect();
        assert_eq!(found, ["Yuba does not read the environment variable TF_DATADIR. Did you mean TF_DATA_DIR?"]);
    }
}
