//! From flags and environment to the project that a command works on.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use yuba_eval::inputs::Ask;
use yuba_install::Hosts;
use yuba_net::Environment;
use yuba_session::backend::{BackendEnvironment, Backends};
use yuba_session::load::{DEFAULT_TEST_DIR, VariableFlag};
use yuba_session::providers::{InstalledProviders, ProviderSettings};
use yuba_session::workspaces::Selected;
use yuba_session::{Project, ProjectSettings};

use crate::flags::{Args, Flag};
use crate::operation_output::OperationOutput;
use crate::telemetry::Telemetry;
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

/// Settings of a command that works in the working directory and needs nothing else.
pub(crate) struct Settings {
    project: Project,
}

impl Settings {
    /// For the working directory.
    pub(crate) fn new(args: &Args) -> Settings {
        Settings { project: Project::new(project(args)) }
    }

    /// The working directory.
    pub(crate) fn project(&self) -> &Project {
        &self.project
    }

    /// The workspace that is selected.
    pub(crate) fn selected(&self) -> &Selected {
        self.project.selected()
    }

    /// All providers there are.
    pub(crate) fn providers(&self) -> &InstalledProviders {
        self.project.providers()
    }

    /// Clients for hosts, and the CLI configuration.
    pub(crate) fn hosts(&self) -> &Arc<Hosts> {
        self.project.hosts()
    }
}

/// The project of the working directory, as the flags and the environment say. This is the only place that asks the process
/// for its directory.
pub(crate) fn project(args: &Args) -> ProjectSettings {
    let hosts = Arc::clone(&args.hosts);
    let environment = hosts.environment().clone();
    let data_dir = environment.path("TF_DATA_DIR").unwrap_or_else(|| PathBuf::from(".terraform"));
    let variables = args.iter().filter_map(|(name, value)| match name {
        "var" => Some(VariableFlag::Var(value.to_owned())),
        "var-file" => Some(VariableFlag::File(value.to_owned())),
        _ => None,
    });
    let test_dir = args.text("test-directory").unwrap_or(DEFAULT_TEST_DIR);
    ProjectSettings {
        // A working directory that is gone has no name: paths stay relative then.
        root: std::env::current_dir().unwrap_or_default(),
        dir: ".".to_owned(),
        original_dir: args.original_dir.clone(),
        home: std::env::home_dir(),
        providers: provider_settings(&data_dir, &environment, hosts.clone(), &args.telemetry),
        data_dir,
        environment,
        hosts,
        variables: variables.collect(),
        test_dir: Some(test_dir.to_owned()).filter(|dir| !dir.is_empty()),
    }
}

/// Settings for finding and starting providers, from the environment and the CLI configuration.
fn provider_settings(
    data_dir: &Path,
    environment: &Environment,
    hosts: Arc<Hosts>,
    telemetry: &Telemetry,
) -> ProviderSettings {
    let mut backends = BackendEnvironment::new(environment.clone(), data_dir).with_services(hosts.services());
    backends.source_commit =
        Arc::new(|| std::env::current_dir().ok().and_then(|directory| yuba_session::source_commit(&directory)));
    let mut settings = ProviderSettings::new(data_dir);
    settings.backends = Arc::new(Backends::new(backends));
    settings.plugins.environment = environment.clone();
    settings.plugins.schema_cache = environment.cache("schemas");
    settings.hosts = Some(hosts);
    settings.plugins.tls = environment.get("TF_DISABLE_PLUGIN_TLS").is_none();
    settings.plugins.log = telemetry.provider_sink();
    settings.reattach = environment.get("TF_REATTACH_PROVIDERS").unwrap_or_default().to_owned();
    settings
}

/// A text of the environment that is not empty.
pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Whether a command may ask the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prompts {
    /// It may.
    Enabled,
    /// `-input=false` or `TF_INPUT` forbids it.
    Disabled,
}

impl Prompts {
    /// As the flags and the environment say.
    pub(crate) fn resolve(args: &Args, environment: &Environment) -> Prompts {
        match environment.is_off("TF_INPUT") || !args.is_on("input") {
            true => Prompts::Disabled,
            false => Prompts::Enabled,
        }
    }

    /// Asks for values of variables, unless prompts are disabled or the output is for tools.
    pub(crate) fn ask(self, output: &OperationOutput<'_>) -> Option<Ask> {
        (self == Prompts::Enabled && !output.is_json()).then(prompt_for_values)
    }
}

/// Whether asking is not switched off.
pub(crate) fn may_ask(args: &Args) -> bool {
    Prompts::resolve(args, args.hosts.environment()) == Prompts::Enabled
}

/// Asks for values of variables, unless asking is switched off.
pub(crate) fn ask(args: &Args) -> Option<Ask> {
    may_ask(args).then(prompt_for_values)
}

/// Asks for values of variables and takes a line of standard input for each. Once standard input has ended, it asks no more.
fn prompt_for_values() -> Ask {
    let ended = AtomicBool::new(false);
    Box::new(move |variable| {
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
    })
}
