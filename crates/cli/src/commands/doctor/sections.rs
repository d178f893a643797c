//! The sections of the report.

use std::io::IsTerminal as _;
use std::path::Path;

use yuba_install::cli_config::{CliConfig, FileSource, Location};
use yuba_session::Project;
use yuba_session::doctor::{FileFacts, LockFacts, ProjectExamination, ProviderFacts, ProviderInstall};
use yuba_view::facts::{Fact, FactValue, Section};

use super::environment::{self, Redaction};
use crate::commands::version::{LANGUAGE_LEVEL, platform};
use crate::terminal::Terminal;

/// All sections, in order.
pub(super) fn all(
    project: &Project,
    found: &ProjectExamination,
    terminal: &Terminal,
    redaction: &Redaction,
) -> Vec<Section> {
    vec![
        Section { key: "versions", title: "Versions", facts: versions(redaction) },
        Section { key: "directory", title: "Directory", facts: directory(found, redaction) },
        Section { key: "configuration", title: "Configuration", facts: configuration(found) },
        Section {
            key: "cli_configuration",
            title: "CLI configuration",
            facts: cli_configuration(project.hosts().config(), found, redaction),
        },
        Section {
            key: "environment",
            title: "Environment variables",
            facts: environment::facts(project.environment(), redaction),
        },
        Section { key: "providers", title: "Providers", facts: found.providers.iter().map(provider).collect() },
        Section { key: "backend", title: "Backend", facts: backend(found) },
        Section { key: "workspace", title: "Workspace", facts: workspace(project) },
        Section { key: "state", title: "State", facts: state(found, redaction) },
        Section { key: "caches", title: "Caches", facts: caches(found, redaction) },
        Section { key: "terminal", title: "Terminal", facts: of_terminal(terminal) },
    ]
}

fn versions(redaction: &Redaction) -> Vec<Fact> {
    let mut facts = vec![
        Fact::new("yuba", env!("CARGO_PKG_VERSION")),
        Fact::new("language", format!("OpenTofu {LANGUAGE_LEVEL}")),
        Fact::new("platform", platform()),
    ];
    let system = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok();
    facts.extend(system.map(|release| Fact::new("kernel", release.trim().to_owned())));
    let program = std::env::current_exe().ok();
    facts.extend(program.map(|program| Fact::new("executable", redaction.path(&program))));
    facts
}

fn directory(found: &ProjectExamination, redaction: &Redaction) -> Vec<Fact> {
    vec![
        Fact::new("path", redaction.path(&found.root.path)),
        Fact::new("permissions", permissions(&found.root)),
        Fact::new("data_directory", file(&found.data_dir, redaction)),
    ]
}

/// A path with its permissions in brackets.
fn file(file: &FileFacts, redaction: &Redaction) -> String {
    format!("{} ({})", redaction.path(Path::new(&file.shown)), permissions(file))
}

fn permissions(file: &FileFacts) -> String {
    if !file.exists {
        return "does not exist".to_owned();
    }
    let mode = file.mode.map_or_else(String::new, |mode| format!("{mode:04o}, "));
    format!("{mode}{}", if file.is_writable { "writable" } else { "not writable" })
}

fn configuration(found: &ProjectExamination) -> Vec<Fact> {
    let facts = &found.configuration;
    vec![
        Fact::new("files", facts.files.clone()),
        Fact::new("variable_files", facts.variable_files.clone()),
        Fact::new("test_files", facts.tests),
        Fact::new("module_calls", facts.modules),
        Fact::new("installed_modules", facts.installed_modules),
        Fact::new("errors", facts.errors),
        Fact::new("warnings", facts.warnings),
    ]
}

fn cli_configuration(config: &CliConfig, found: &ProjectExamination, redaction: &Redaction) -> Vec<Fact> {
    let mut files = Vec::new();
    for read in &config.files {
        let reason = match read.source {
            FileSource::Variable(name) => format!("named by {name}"),
            FileSource::Default => "default file".to_owned(),
            FileSource::Directory => "in the configuration directory".to_owned(),
        };
        let result = if read.was_read { "" } else { ", not found or not readable" };
        files.push(format!("{} ({reason}{result})", redaction.path(&read.path)));
    }
    let mut facts = vec![Fact::new("files", files)];
    if let Some(dir) = &config.plugin_cache_dir {
        facts.push(Fact::new("provider_cache", redaction.path(dir)));
    }
    let methods = config.provider_installation.as_ref().map(|installation| {
        let method = |location: &Location| match location {
            Location::Direct => "direct",
            Location::FilesystemMirror(_) => "filesystem_mirror",
            Location::NetworkMirror(_) => "network_mirror",
            Location::OciMirror(_) => "oci_mirror",
        };
        installation.methods.iter().map(|one| method(&one.location).to_owned()).collect::<Vec<_>>()
    });
    facts.push(match methods {
        Some(methods) => Fact::new("provider_installation", methods),
        None => Fact::new("provider_installation", "default"),
    });
    let overrides = config.provider_installation.iter().flat_map(|installation| &installation.dev_overrides);
    facts.extend(overrides.map(|(provider, dir)| Fact::named(format!("override of {provider}"), redaction.path(dir))));
    facts.push(Fact::new("hosts_with_credentials", config.credentials.len()));
    facts.push(match &found.credentials {
        Some(stored) => Fact::new("credentials_file", file(stored, redaction)),
        None => Fact::new("credentials_file", "none"),
    });
    facts.push(Fact::new("credentials_helper", FactValue::Flag(config.credentials_helper.is_some())));
    facts
}

fn provider(facts: &ProviderFacts) -> Fact {
    let install = match facts.install {
        ProviderInstall::BuiltIn => "built in",
        ProviderInstall::Installed => "yes",
        ProviderInstall::Missing => "no",
        ProviderInstall::Damaged => "damaged",
        ProviderInstall::NotSelected => "not selected",
        ProviderInstall::DevOverride => "development override",
        ProviderInstall::Attached => "attached to a process",
    };
    let required = match facts.required.as_deref() {
        None => "no",
        Some("") => "any version",
        Some(constraints) => constraints,
    };
    let all = vec![
        Fact::new("required", required),
        Fact::new("locked", facts.locked.as_deref().unwrap_or("no")),
        Fact::new("installed", install),
    ];
    Fact::named(facts.provider.for_display(), all)
}

fn backend(found: &ProjectExamination) -> Vec<Fact> {
    let backend = &found.backend;
    let mut facts = vec![
        Fact::new("type", backend.configured.as_deref().unwrap_or("local (default)")),
        Fact::new("arguments_set", backend.arguments.clone()),
        Fact::new("initialized_type", backend.recorded.as_deref().unwrap_or("none")),
        Fact::new("is_initialized", FactValue::Flag(backend.is_initialized)),
    ];
    facts.push(match backend.is_reachable {
        Some(reachable) => Fact::new("reachable", FactValue::Flag(reachable)),
        None => Fact::new("reachable", "not checked (-check-backend)"),
    });
    facts
}

fn workspace(project: &Project) -> Vec<Fact> {
    let selected = project.selected();
    vec![
        Fact::new("name", selected.name.as_str()),
        Fact::new("selected_by", if selected.is_overridden { "TF_WORKSPACE" } else { "data directory" }),
    ]
}

fn state(found: &ProjectExamination, redaction: &Redaction) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(stored) = &found.state.file {
        facts.push(Fact::new("file", file(stored, redaction)));
        facts.push(Fact::new("size_in_bytes", stored.size));
        facts.push(match &found.state.lock {
            Some(lock) => Fact::new("lock", of_lock(lock)),
            None => Fact::new("lock", "free"),
        });
    }
    facts.push(Fact::new("journal_left_behind", FactValue::Flag(found.state.has_journal)));
    facts.push(Fact::new("unsaved_state", FactValue::Flag(found.state.has_errored_state)));
    facts
}

fn of_lock(lock: &LockFacts) -> Vec<Fact> {
    let mut facts = vec![Fact::new("held", FactValue::Flag(lock.is_held))];
    if !lock.id.is_empty() {
        facts.push(Fact::new("id", lock.id.as_str()));
        facts.push(Fact::new("operation", lock.operation.as_str()));
    }
    facts.extend(lock.pid.map(|pid| Fact::new("process", u64::from(pid))));
    facts.extend(lock.age.map(|age| Fact::new("age_in_seconds", age.as_secs())));
    let running = lock.is_running();
    facts.push(running.map_or_else(
        || Fact::new("process_is_running", "unknown"),
        |running| Fact::new("process_is_running", FactValue::Flag(running)),
    ));
    facts
}

fn caches(found: &ProjectExamination, redaction: &Redaction) -> Vec<Fact> {
    let fact = |cache: &yuba_session::doctor::CacheFacts| {
        let text = match &cache.file {
            None => "no directory".to_owned(),
            Some(cached) if cached.exists && !cache.is_used => format!("{}, not used", file(cached, redaction)),
            Some(cached) => file(cached, redaction),
        };
        Fact::new(cache.name, text)
    };
    found.caches.iter().map(fact).collect()
}

fn of_terminal(terminal: &Terminal) -> Vec<Fact> {
    vec![
        Fact::new("input_is_terminal", FactValue::Flag(std::io::stdin().is_terminal())),
        Fact::new("output_is_terminal", FactValue::Flag(std::io::stdout().is_terminal())),
        Fact::new("errors_are_terminal", FactValue::Flag(std::io::stderr().is_terminal())),
        Fact::new("width", terminal.width()),
        Fact::new("colors", FactValue::Flag(terminal.style() == yuba_view::diagnostic::Style::Coloured)),
    ]
}
