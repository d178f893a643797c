//! From flags and environment to what reading a configuration needs.

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use yuba_eval::inputs::{Ask, ENVIRONMENT_PREFIX};
use yuba_eval::tree::Purpose;
use yuba_install::Hosts;
use yuba_net::is_off;
use yuba_session::SystemWorld;
use yuba_session::load::{DEFAULT_TEST_DIR, LoadRequest, VariableFlag, selected_workspace};
use yuba_session::providers::{OurProviders, ProviderSettings};
use yuba_session::workspaces::Selected;

use crate::flags::{Args, Flag};
use crate::typing::{self, Unseen};

/// `-var`
pub(crate) const VAR: Flag =
    Flag::list("var", "'foo=bar'", "Set a variable of the root module. Repeat the option to set several variables.");
/// `-var-file`
pub(crate) const VAR_FILE: Flag = Flag::list(
    "var-file",
    "filename",
    "Load variable values from a file, in addition to terraform.tfvars and *.auto.tfvars.",
);
/// `-test-directory`
pub(crate) const TEST_DIR: Flag =
    Flag::text("test-directory", "path", "Directory of test files in the configuration. The default is \"tests\".");

/// What reading a configuration needs.
pub(crate) struct Settings {
    /// The directory of the root module.
    pub(crate) dir: String,
    /// Where things are kept that belong to the working directory.
    pub(crate) data_dir: PathBuf,
    /// The directory of test files; none if they do not count.
    pub(crate) test_dir: Option<String>,
    original_dir: Option<String>,
    selected: Selected,
    environment: Vec<(String, String)>,
    variables: Vec<VariableFlag>,
    providers: Arc<OurProviders>,
    hosts: Arc<Hosts>,
}

impl Settings {
    /// For the working directory.
    pub(crate) fn new(args: &Args) -> Settings {
        let data_dir = environment("TF_DATA_DIR").map_or_else(|| PathBuf::from(".terraform"), PathBuf::from);
        let variables = args.iter().filter_map(|(name, value)| match name {
            "var" => Some(VariableFlag::Var(value.to_owned())),
            "var-file" => Some(VariableFlag::File(value.to_owned())),
            _ => None,
        });
        let is_variable = |(name, value): (OsString, OsString)| {
            let name = name.into_string().ok().filter(|name| name.starts_with(ENVIRONMENT_PREFIX))?;
            Some((name, value.into_string().ok()?))
        };
        let test_dir = args.text("test-directory").unwrap_or(DEFAULT_TEST_DIR);
        let hosts = Arc::clone(&args.hosts);
        Settings {
            dir: ".".to_owned(),
            selected: match environment("TF_WORKSPACE") {
                Some(name) => Selected { name, is_overridden: true },
                None => Selected { name: selected_workspace(&data_dir), is_overridden: false },
            },
            test_dir: Some(test_dir.to_owned()).filter(|dir| !dir.is_empty()),
            original_dir: args.original_dir.clone(),
            environment: std::env::vars_os().filter_map(is_variable).collect(),
            variables: variables.collect(),
            providers: Arc::new(OurProviders::new(provider_settings(&data_dir, hosts.clone()))),
            data_dir,
            hosts,
        }
    }

    /// The workspace that is selected.
    pub(crate) fn selected(&self) -> &Selected {
        &self.selected
    }

    /// All providers there are.
    pub(crate) fn providers(&self) -> &Arc<OurProviders> {
        &self.providers
    }

    /// How to speak to hosts, and what the CLI configuration says.
    pub(crate) fn hosts(&self) -> &Arc<Hosts> {
        &self.hosts
    }

    /// The request to read it.
    pub(crate) fn request(&self, purpose: Purpose) -> LoadRequest<'_> {
        LoadRequest {
            dir: &self.dir,
            data_dir: &self.data_dir,
            world: &SystemWorld,
            providers: &self.providers,
            original_dir: self.original_dir.as_deref(),
            workspace: &self.selected.name,
            variables: &self.variables,
            environment: &self.environment,
            test_dir: self.test_dir.as_deref(),
            purpose,
            snapshot: None,
        }
    }
}

/// How providers are dealt with, as the environment and the CLI configuration say.
fn provider_settings(data_dir: &Path, hosts: Arc<Hosts>) -> ProviderSettings {
    let mut settings = ProviderSettings::new(data_dir);
    settings.plugins.schema_cache = hosts.environment().cache("schemas");
    settings.hosts = Some(hosts);
    settings.plugins.tls = environment("TF_DISABLE_PLUGIN_TLS").is_none();
    settings.plugins.log = crate::logging::of_providers();
    settings.reattach = environment("TF_REATTACH_PROVIDERS").unwrap_or_default();
    settings
}

/// A text of the environment that is not empty.
pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Whether asking is not switched off.
pub(crate) fn may_ask(args: &Args) -> bool {
    !environment("TF_INPUT").is_some_and(|value| is_off(&value)) && args.is_on("input")
}

/// Asks for values of variables and takes a line of standard input for each, unless asking is switched off. Once standard input
/// has ended, it asks no more.
pub(crate) fn ask(args: &Args) -> Option<Ask> {
    if !may_ask(args) {
        return None;
    }
    let ended = AtomicBool::new(false);
    Some(Box::new(move |variable| {
        if ended.load(Ordering::Relaxed) {
            return None;
        }
        let mut prompt = format!("var.{}\n", variable.name);
        if let Some(description) = variable.description.as_deref().filter(|text| !text.is_empty()) {
            for line in description.lines() {
                prompt.push_str(&format!("  {line}\n"));
            }
        }
        if let Some(message) = &variable.deprecated {
            prompt.push_str(&format!("  Variable is marked as deprecated with the following message: {message}\n"));
        }
        prompt.push_str("\n  Enter a value: ");
        let unseen = (variable.sensitive == Some(true)).then(Unseen::begin);
        let mut stderr = std::io::stderr();
        stderr.write_all(prompt.as_bytes()).and_then(|()| stderr.flush()).ok()?;
        let line = typing::line().ok()?;
        ended.store(line.is_none(), Ordering::Relaxed);
        // A terminal shows the end of the line that was typed, unless it shows nothing.
        let is_shown = std::io::stdin().is_terminal() && !unseen.is_some_and(|unseen| unseen.is_active());
        if line.is_none() || !is_shown {
            let _ = stderr.write_all(b"\n");
        }
        line
    }))
}
