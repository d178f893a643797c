//! `yuba version`: which Yuba this is, and which language it speaks.

use yuba_view::json::Json;

use super::{Command, Run};
use crate::exit::Outcome;
use crate::flags::{Args, Flag};
use crate::terminal::Terminal;

/// The release of OpenTofu whose language this is. It answers `required_version` and stands in state files.
pub(crate) const LANGUAGE_LEVEL: &str = "1.12.6";

pub(crate) const COMMAND: Command = Command {
    name: "version",
    synopsis: "Show the version of Yuba and the language it speaks",
    usage: "[options]",
    about: "Shows the version of Yuba and the release of OpenTofu whose language it speaks.",
    flags: &[
        Flag::switch("json", "Show the same as a JSON object."),
        // `yuba -version` arrives here with the flag still in place.
        Flag::switch("version", ""),
        Flag::switch("v", ""),
    ],
    run: Run::Function(run),
};

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let text = if args.is_on("json") { json() } else { human() };
    terminal.out(&text);
    Ok(0)
}

fn human() -> String {
    format!("Yuba v{}\non {}\nlanguage level: OpenTofu v{LANGUAGE_LEVEL}\n", env!("CARGO_PKG_VERSION"), platform())
}

fn json() -> String {
    let object = Json::object([
        ("terraform_version", Json::from(LANGUAGE_LEVEL)),
        ("yuba_version", Json::from(env!("CARGO_PKG_VERSION"))),
        ("platform", Json::from(platform())),
        ("provider_selections", Json::object([])),
    ]);
    format!("{}\n", object.indented())
}

/// The platform as providers name it: `linux_amd64`.
pub(crate) fn platform() -> String {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        os => os,
    };
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        arch => arch,
    };
    format!("{os}_{arch}")
}
