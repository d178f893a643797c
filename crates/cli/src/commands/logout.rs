//! `yuba logout`: forgets the token for a host.

use yuba_net::credentials::Kept;
use yuba_syntax::{Diagnostic, Sources};

use super::login::hostname;
use super::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, JSON, JSON_INTO};
use crate::messages::Messages;
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "logout",
    synopsis: "Remove locally-stored credentials for a remote host",
    usage: "[options] hostname",
    about: "Removes the token that \"yuba login\" saved for a host. The host does not learn of that: the token is valid until \
            you revoke it there.",
    flags: &[JSON, JSON_INTO],
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(run),
};

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let host = hostname(args)?;
    let settings = Settings::new(args);
    let mut messages = Messages::new(terminal, args)?;
    let credentials = settings.hosts().services().credentials();
    let place = match (credentials.kept(&host), credentials.helper(), credentials.file()) {
        (Kept::Elsewhere, ..) => {
            let detail = "The credentials for this host are in a CLI configuration file that was written by hand. To log out, \
                          revoke them and remove their block from that file.";
            return Err(Failure::failed(&format!("Credentials for {host} are manually configured"), detail));
        }
        (Kept::ByHelper, Some(helper), _) => format!("from the configured {helper:?} credentials helper."),
        (Kept::InFile, _, Some(file)) => format!("from the following file:\n    {}", file.display()),
        _ => {
            let text = format!("No credentials for {host} are stored");
            messages.say(&format!("{text}.\n\n"), &text);
            return Ok(0);
        }
    };
    let text = format!("Removing the stored credentials for {host} {place}");
    messages.say(&format!("{text}\n\n"), &text);
    if let Err(reason) = credentials.store(&host, None) {
        let problem =
            Diagnostic::error("Failed to remove API token", format!("The token could not be removed: {reason}."));
        messages.diagnostics(&problem.into(), &Sources::new());
        return Ok(1);
    }
    let success = messages.success(&format!("Yuba has removed the stored API token for {host}."));
    messages.say(&format!("{success}\n\n"), &format!("Yuba has removed the stored API token for {host}."));
    Ok(0)
}
