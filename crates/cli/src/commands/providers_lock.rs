//! `yuba providers lock`: checksums of packages for other platforms.

use yuba_install::providers::locking::{Change, Event};
use yuba_session::provider_install::{self, LockRequest};

use super::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::signals::Cancel;
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "providers lock",
    synopsis: "Write out dependency locks for the configured providers",
    usage: "[options] [providers...]",
    about: "Adds checksums to the dependency lock file, .terraform.lock.hcl, so that the providers of the configuration can \
            be installed on other platforms too. \"yuba init\" knows the checksums for the platform at hand only, where \
            packages come from a mirror.\n\n\
            Packages come from the registries of the providers, whatever the CLI configuration says. Without arguments \
            all providers of the configuration are locked.",
    flags: &[
        Flag::text("fs-mirror", "dir", "Take packages from a directory that is a mirror instead of registries."),
        Flag::text("net-mirror", "url", "Take packages from a network mirror instead of registries."),
        Flag::list(
            "platform",
            "os_arch",
            "Add checksums for a platform, like linux_amd64. Give the option several times for several platforms; \
             without it, checksums for this one are added.",
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
    let text = |name: &str| args.text(name).filter(|text| !text.is_empty()).map(str::to_owned);
    let request = LockRequest {
        platforms: args.iter().filter(|(name, _)| *name == "platform").map(|(_, value)| value.to_owned()).collect(),
        fs_mirror: text("fs-mirror").map(Into::into),
        net_mirror: text("net-mirror"),
        providers: args.positional.clone(),
    };
    if request.fs_mirror.is_some() && request.net_mirror.is_some() {
        let detail = "-fs-mirror and -net-mirror exclude each other: packages come from one place.";
        return Err(Failure::usage("Invalid installation method options", detail));
    }
    let settings = Settings::new(args);
    let mut messages = Messages::new(terminal, args)?;
    let cancel = Cancel::watch(&settings);
    let (done, report) =
        provider_install::lock(settings.project(), None, &request, &mut |event| tell(&mut messages, event));
    if cancel.tell(&mut messages, "Locking of providers", report.problems.has_errors()) {
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
    if is_new {
        human += &format!("\n{more}\n\n");
        program += &format!(" {}", more.replace('\n', " ").trim_end_matches('.'));
    }
    messages.say(&human, &program);
    Ok(0)
}

fn tell(messages: &mut Messages<'_>, event: Event) {
    let text = match event {
        Event::Fetching(provider, version, platform) => {
            format!("Fetching {} {version} for {platform}...", provider.for_display())
        }
        Event::Retrieved(provider, version, platform, verdict, keys) => {
            let keys = if keys.is_empty() { keys } else { format!(", key ID {keys}") };
            format!("Retrieved {} {version} for {platform} ({verdict}{keys})", provider.for_display())
        }
        Event::Obtained(provider, platform, change) => {
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
}
