//! `yuba providers lock`: checksums of packages for other platforms.

use yuba_install::providers::locking::{Change, LockEvent};
use yuba_session::provider_install::{self, LockRequest};

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
    name: "providers lock",
    synopsis: "Write out dependency locks for the configured providers",
    usage: "[options] [providers...]",
    about: "Adds checksums for other platforms to the dependency lock file .terraform.lock.hcl. If packages come from a \
            mirror, \"yuba init\" adds the checksums for the current platform only.\n\n\
            The command downloads packages from the registries of the providers and ignores the installation methods in \
            the CLI configuration. Without arguments, it locks all providers of the configuration.",
    flags: &[
        Flag::text("fs-mirror", "dir", "Use a directory with a mirror instead of registries."),
        Flag::text("net-mirror", "url", "Use a network mirror instead of registries."),
        Flag::list(
            "platform",
            "os_arch",
            "Platform to add checksums for, like linux_amd64. Repeat the option for several platforms. The default is the \
             current platform.",
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

/// Settings of `yuba providers lock`.
struct LockSettings {
    request: LockRequest,
    json: JsonSettings,
    project: Settings,
}

impl LockSettings {
    fn resolve(args: &Args) -> Result<LockSettings, Failure> {
        let request = LockRequest {
            platforms: args.list("platform"),
            fs_mirror: args.non_empty("fs-mirror").map(Into::into),
            net_mirror: args.non_empty("net-mirror").map(str::to_owned),
            providers: args.positional.clone(),
        };
        if request.fs_mirror.is_some() && request.net_mirror.is_some() {
            return Err(Failure::usage(diagnostics::mirror_flags_conflict()));
        }
        Ok(LockSettings { request, json: JsonSettings::resolve(args)?, project: Settings::new(args) })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let LockSettings { request, json, project } = LockSettings::resolve(args)?;
    let mut messages = Messages::new(terminal, &json)?;
    let cancel = Cancel::watch(&project);
    let (done, report) =
        provider_install::lock(project.project(), None, &request, &mut |event| tell(&mut messages, event));
    if cancel.reported(&mut messages, "Locking of providers", &report.problems) {
        return Ok(1);
    }
    messages.report(&report);
    let Some(is_new) = done.filter(|_| !report.problems.has_errors()) else { return Ok(1) };
    let (what, more) = match is_new {
        false => ("Yuba has validated the lock file and found no need for changes.", ""),
        true => (
            "Yuba has updated the lock file.",
            "Review the changes in .terraform.lock.hcl and then commit to your\nversion control system to retain the new \
             checksums.",
        ),
    };
    let success = messages.terminal().coloured("1;32", "Success!");
    let mut human = format!("\n{success} {}\n", messages.bold(what));
    let mut program = format!("Success! {what}");
    if is_new && messages.terminal().shows_next_steps() {
        human += &format!("\n{more}\n\n");
        program += &format!(" {}", more.replace('\n', " ").trim_end_matches('.'));
    }
    messages.say(&human, &program);
    Ok(0)
}

fn tell(messages: &mut Messages<'_>, event: LockEvent) {
    let fetched = match &event {
        LockEvent::Fetching(provider, version, platform) => {
            Some(format!("{} {version} for {platform}: fetching", provider.for_display()))
        }
        _ => None,
    };
    let text = match event {
        LockEvent::Fetching(provider, version, platform) => {
            format!("Fetching {} {version} for {platform}...", provider.for_display())
        }
        LockEvent::Retrieved(provider, version, platform, verdict, keys) => {
            let keys = if keys.is_empty() { keys } else { format!(", key ID {keys}") };
            format!("Retrieved {} {version} for {platform} ({verdict}{keys})", provider.for_display())
        }
        LockEvent::Obtained(provider, platform, change) => {
            let change = match change {
                Change::Provider => {
                    "This was a new provider and the checksums for this platform are now tracked in the lock file"
                }
                Change::Hashes => "Additional checksums for this platform are now tracked in the lock file",
                Change::Nothing => "All checksums for this platform were already tracked in the lock file",
            };
            format!("Obtained {} checksums for {platform}; {change}", provider.for_display())
        }
    };
    messages.say(&format!("- {text}\n"), &text);
    messages.terminal().flush();
    if let Some(what) = fetched {
        messages.working(what);
    }
}
