//! `yuba logout`: removes the saved token of a host.

use yuba_addrs::Hostname;
use yuba_net::credentials::CredentialsLocation;
use yuba_syntax::Sources;

use super::login::hostname;
use super::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, JSON, JSON_INTO};
use crate::json_into::JsonSettings;
use crate::messages::Messages;
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "logout",
    synopsis: "Remove locally-stored credentials for a remote host",
    usage: "[options] hostname",
    about: "Removes the token that \"yuba login\" saved for a host. The token stays valid until you revoke it on the host.",
    flags: &[JSON, JSON_INTO],
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(run),
};

/// Settings of `yuba logout`.
struct LogoutSettings {
    host: Hostname,
    json: JsonSettings,
    project: Settings,
}

impl LogoutSettings {
    fn resolve(args: &Args) -> Result<LogoutSettings, Failure> {
        Ok(LogoutSettings { host: hostname(args)?, json: JsonSettings::resolve(args)?, project: Settings::new(args) })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let LogoutSettings { host, json, project } = LogoutSettings::resolve(args)?;
    let mut messages = Messages::new(terminal, &json)?;
    let credentials = project.hosts().services().credentials();
    let place = match (credentials.location(&host), credentials.helper(), credentials.file()) {
        (CredentialsLocation::Elsewhere, ..) => {
            return Err(Failure::failed(diagnostics::manually_configured(&host, "log out")));
        }
        (CredentialsLocation::ByHelper, Some(helper), _) => {
            format!("from the configured {helper:?} credentials helper.")
        }
        (CredentialsLocation::InFile, _, Some(file)) => format!("from the following file:\n    {}", file.display()),
        _ => {
            let text = format!("No credentials for {host} are stored");
            messages.say(&format!("{text}.\n\n"), &text);
            return Ok(0);
        }
    };
    let text = format!("Removing the stored credentials for {host} {place}");
    messages.say(&format!("{text}\n\n"), &text);
    if let Err(reason) = credentials.store(&host, None) {
        messages.diagnostics(&diagnostics::token_not_removed(&reason).into(), &Sources::new());
        return Ok(1);
    }
    let success = messages.success(&format!("Yuba has removed the stored API token for {host}."));
    messages.say(&format!("{success}\n\n"), &format!("Yuba has removed the stored API token for {host}."));
    Ok(0)
}
