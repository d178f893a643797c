//! `yuba providers mirror`: copies packages into a directory.

use std::path::Path;

use yuba_install::providers::mirroring::{Event, Why};
use yuba_session::provider_install;

use super::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::signals::Cancel;
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "providers mirror",
    synopsis: "Save local copies of all required provider plugins",
    usage: "[options] <target-dir>",
    about: "Copies the packages of all providers that the configuration needs from their registries into a directory. With \
            that directory as a mirror in the CLI configuration, providers can be installed without the registries.\n\n\
            The directory also gets index files in JSON: published by a web server, it is a network mirror.",
    flags: &[
        Flag::list(
            "platform",
            "os_arch",
            "Copy packages for a platform, like linux_amd64. Give the option several times for several platforms; without \
             it, packages for this one are copied.",
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

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let [dir] = args.positional.as_slice() else {
        let detail = "The providers mirror command needs one argument: the directory to copy packages into.";
        return Err(Failure::usage("Wrong number of arguments", detail));
    };
    let platforms: Vec<String> =
        args.iter().filter(|(name, _)| *name == "platform").map(|(_, value)| value.to_owned()).collect();
    let settings = Settings::new(args);
    let mut messages = Messages::new(terminal, args)?;
    let cancel = Cancel::watch(&settings);
    let report = provider_install::mirror(settings.project(), None, &platforms, Path::new(dir), &mut |event| {
        tell(&mut messages, event);
    });
    if cancel.tell(&mut messages, "Mirroring of providers", report.problems.has_errors()) {
        return Ok(1);
    }
    messages.report(&report);
    Ok(u8::from(report.problems.has_errors()))
}

fn tell(messages: &mut Messages<'_>, event: Event) {
    let (human, program) = match event {
        Event::Skipped(provider) => {
            let text = format!("Skipping {} because it is built in to Yuba CLI", provider.for_display());
            (format!("- {text}"), text)
        }
        Event::Mirroring(provider) => {
            let text = format!("Mirroring {}...", provider.for_display());
            (format!("- {text}"), text)
        }
        Event::Selected(provider, version, why) => {
            let why = match why {
                Why::LockFile => "to match dependency lock file".to_owned(),
                Why::Constraints(constraints) => format!("to meet constraints {constraints}"),
                Why::Newest => "with no constraints".to_owned(),
            };
            let program = format!("Selected {} v{version} {why}", provider.for_display());
            (format!("  - Selected v{version} {why}"), program)
        }
        Event::Downloading(provider, version, platform) => (
            format!("  - Downloading package for {platform}..."),
            format!("Downloading {} v{version} package for {platform}...", provider.for_display()),
        ),
        Event::Authenticated(provider, version, platform, verdict) => (
            format!("  - Package authenticated: {verdict}"),
            format!("Package {} v{version} for {platform} authenticated: {verdict}", provider.for_display()),
        ),
    };
    messages.say(&format!("{human}\n"), &program);
    messages.terminal().flush();
}
