//! `yuba version`: the versions of Yuba, of the language and of the selected providers.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use yuba_install::lock_file::{self, LockFile};
use yuba_install::providers::platform::Platform;
use yuba_session::files::DiskFiles;
use yuba_syntax::Sources;
use yuba_view::json::JsonValue;

use super::{Command, JsonForm, Run};
use crate::exit::Outcome;
use crate::flags::{Args, Flag};
use crate::terminal::Terminal;

/// The release of OpenTofu whose language Yuba implements. `required_version` is compared with it, and state files contain it.
pub(crate) const LANGUAGE_LEVEL: &str = "1.12.6";

pub(crate) const COMMAND: Command = Command {
    name: "version",
    synopsis: "Show the versions of Yuba and of the language",
    usage: "[options]",
    about: "Shows the version of Yuba, the release of OpenTofu whose language it implements, and the \
            provider versions in the dependency lock file.",
    flags: &[
        Flag::switch("json", "Write a JSON object."),
        // `yuba -version` arrives here with the flag still in place.
        Flag::switch("version", ""),
        Flag::switch("v", ""),
    ],
    json: JsonForm::Document,
    long_help: false,
    run: Run::Function(run),
};

/// Settings of `yuba version`.
struct VersionSettings {
    /// `-json`
    json: bool,
    /// The name the executable was started with.
    program: Option<OsString>,
}

impl VersionSettings {
    fn resolve(args: &Args) -> VersionSettings {
        VersionSettings { json: args.is_on("json"), program: std::env::args_os().next() }
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let settings = VersionSettings::resolve(args);
    // Other commands report a lock file that cannot be read.
    let (locks, problems) = lock_file::read(&DiskFiles::new(""), lock_file::LOCK_FILE, &mut Sources::new());
    let locks = if problems.has_errors() { LockFile::default() } else { locks };
    let selected = locks.providers.iter().map(|(source, lock)| (source.to_string(), lock.version.to_string()));
    let mut selected: Vec<(String, String)> = selected.collect();
    selected.sort();
    let text = if settings.json { json(&selected) } else { human(&selected, settings.program.as_deref()) };
    terminal.out(&text);
    Ok(0)
}

fn human(selected: &[(String, String)], program: Option<&OsStr>) -> String {
    let own = env!("CARGO_PKG_VERSION");
    let mut text = if stands_in(program) {
        format!("OpenTofu v{LANGUAGE_LEVEL}\non {}\nspoken by Yuba v{own}\n", platform())
    } else {
        format!("Yuba v{own}\non {}\nlanguage level: OpenTofu v{LANGUAGE_LEVEL}\n", platform())
    };
    for (provider, version) in selected {
        text += &match version.as_str() {
            "0.0.0" => format!("+ provider {provider} (unversioned)\n"),
            version => format!("+ provider {provider} v{version}\n"),
        };
    }
    text
}

/// Whether the executable was started under the name of OpenTofu or Terraform. Tools parse the first line to check that the release
/// is new enough for them.
fn stands_in(program: Option<&OsStr>) -> bool {
    let name = program.and_then(|program| Path::new(program).file_stem()).and_then(OsStr::to_str);
    matches!(name, Some("tofu" | "terraform"))
}

fn json(selected: &[(String, String)]) -> String {
    let selected = selected.iter().map(|(provider, version)| (provider.as_str(), JsonValue::from(version.as_str())));
    let object = JsonValue::object([
        ("terraform_version", JsonValue::from(LANGUAGE_LEVEL)),
        ("yuba_version", JsonValue::from(env!("CARGO_PKG_VERSION"))),
        ("platform", JsonValue::from(platform())),
        ("provider_selections", JsonValue::object(selected)),
    ]);
    format!("{}\n", object.indented())
}

/// The platform as providers name it: `linux_amd64`.
pub(crate) fn platform() -> String {
    Platform::current().to_string()
}
