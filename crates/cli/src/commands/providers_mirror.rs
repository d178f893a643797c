//! `yuba providers mirror`: copies packages into a directory.

use std::path::PathBuf;

use yuba_install::providers::mirroring::{MirrorEvent, Why};
use yuba_session::provider_install;

use super::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::json_into::JsonSettings;
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::signals::Cancel;
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "providers mirror",
    synopsis: "Save local copies of all required provider plugins",
    usage: "[options] <target-dir>",
    about: "Downloads the packages of all providers that the configuration requires into a directory. The CLI configuration \
            can use the directory as a filesystem mirror, to install providers without access to their registries.\n\n\
            The directory contains JSON index files too: a web server can publish it as a network mirror.",
    flags: &[
        Flag::list(
            "platform",
            "os_arch",
            "Platform to download packages for, like linux_amd64. Repeat the option for several platforms. The default is \
             the current platform.",
        ),
        JSON,
        JSON_INTO,
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(run),
};

/// Settings of `yuba providers mirror`.
struct MirrorSettings {
    target_dir: PathBuf,
    platforms: Vec<String>,
    json: JsonSettings,
    project: Settings,
}

impl MirrorSettings {
    fn resolve(args: &Args) -> Result<MirrorSettings, Failure> {
        let [dir] = args.positional.as_slice() else {
            return Err(Failure::usage(diagnostics::mirror_directory_expected()));
        };
        Ok(MirrorSettings {
            target_dir: dir.into(),
            platforms: args.list("platform"),
            json: JsonSettings::resolve(args)?,
            project: Settings::new(args),
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let MirrorSettings { target_dir, platforms, json, project } = MirrorSettings::resolve(args)?;
    let mut messages = Messages::new(terminal, &json)?;
    let cancel = Cancel::watch(&project);
    let report = provider_install::mirror(project.project(), None, &platforms, &target_dir, &mut |event| {
        tell(&mut messages, event);
    });
    if cancel.reported(&mut messages, "Mirroring of providers", &report.problems) {
        return Ok(1);
    }
    messages.report(&report);
    Ok(u8::from(report.problems.has_errors()))
}

fn tell(messages: &mut Messages<'_>, event: MirrorEvent) {
    let downloaded = match &event {
        MirrorEvent::Downloading(provider, version, platform) => {
            Some(format!("{} {version} for {platform}: downloading", provider.for_display()))
        }
        _ => None,
    };
    let (human, program) = match event {
        MirrorEvent::Skipped(provider) => {
            let text = format!("Skipping {} because it is built in to Yuba CLI", provider.for_display());
            (format!("- {text}"), text)
        }
        MirrorEvent::Mirroring(provider) => {
            let text = format!("Mirroring {}...", provider.for_display());
            (format!("- {text}"), text)
        }
        MirrorEvent::Selected(provider, version, why) => {
            let why = match why {
                Why::LockFile => "to match dependency lock file".to_owned(),
                Why::Constraints(constraints) => format!("to meet constraints {constraints}"),
                Why::Newest => "with no constraints".to_owned(),
            };
            let program = format!("Selected {} v{version} {why}", provider.for_display());
            (format!("  - Selected v{version} {why}"), program)
        }
        MirrorEvent::Downloading(provider, version, platform) => (
            format!("  - Downloading package for {platform}..."),
            format!("Downloading {} v{version} package for {platform}...", provider.for_display()),
        ),
        MirrorEvent::Authenticated(provider, version, platform, verdict) => (
            format!("  - Package authenticated: {verdict}"),
            format!("Package {} v{version} for {platform} authenticated: {verdict}", provider.for_display()),
        ),
    };
    messages.say(&format!("{human}\n"), &program);
    messages.terminal().flush();
    if let Some(what) = downloaded {
        messages.working(what);
    }
}
