//! `yuba login`: requests a token from a host and saves it.

use std::process::{Command as Program, Stdio};

use yuba_addrs::Hostname;
use yuba_install::Hosts;
use yuba_install::login::{CodeFlow, OAuth, Way, user_of, way};
use yuba_net::Secret;
use yuba_net::credentials::CredentialsLocation;
use yuba_net::http::Url;
use yuba_syntax::{Diagnostic, Diagnostics, Sources};

use super::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::json_into::JsonSettings;
use crate::messages::Messages;
use crate::settings::{Settings, environment, may_ask};
use crate::terminal::Terminal;
use crate::typing::{self, Unseen};

pub(crate) const COMMAND: Command = Command {
    name: "login",
    synopsis: "Obtain and save credentials for a remote host",
    usage: "[options] hostname",
    about: "Requests a token from a host, such as a private registry, in your browser. Saves it in plain text in the file \
            credentials.tfrc.json of your configuration directory, or with the credentials helper if one is configured.",
    flags: &[Flag::switch_off("input", "Fail instead of prompting."), JSON, JSON_INTO],
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(run),
};

const LINE: &str = "\n---------------------------------------------------------------------------------\n\n";

/// Settings of `yuba login`.
struct LoginSettings {
    host: Hostname,
    json: JsonSettings,
    project: Settings,
}

impl LoginSettings {
    fn resolve(args: &Args) -> Result<LoginSettings, Failure> {
        let host = hostname(args)?;
        let json = JsonSettings::resolve(args)?;
        // The command prompts a person, and JSON output has no prompts.
        if !may_ask(args) || json.is_on {
            return Err(Failure::failed(diagnostics::login_not_interactive()));
        }
        Ok(LoginSettings { host, json, project: Settings::new(args) })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let LoginSettings { host, json, project } = LoginSettings::resolve(args)?;
    let mut messages = Messages::new(terminal, &json)?;
    match login(&mut messages, project.hosts(), &host) {
        Ok(()) => Ok(0),
        Err(problems) => {
            messages.diagnostics(&problems, &Sources::new());
            Ok(1)
        }
    }
}

/// The host given as the only argument.
pub(super) fn hostname(args: &Args) -> Result<Hostname, Failure> {
    let [given] = args.positional.as_slice() else { return Err(Failure::usage(diagnostics::one_host_expected())) };
    Hostname::parse(given).map_err(|reason| Failure::failed(diagnostics::hostname_invalid(given, &reason)))
}

fn login(messages: &mut Messages<'_>, hosts: &Hosts, host: &Hostname) -> Result<(), Diagnostics> {
    let services = hosts.services();
    let found = services.host(host).map_err(|error| diagnostics::discovery_failed(host, error.reason()))?;
    let mut problems = Diagnostics::new();
    let way = way(&found).map_err(|reason| diagnostics::login_not_possible(host, &reason));
    if services.credentials().location(host) == CredentialsLocation::Elsewhere {
        problems.push(diagnostics::manually_configured(host, "log in"));
    }
    let way = match way {
        Ok(way) if problems.is_empty() => way,
        Ok(_) => return Err(problems),
        Err(problem) => {
            problems.push(problem);
            return Err(problems);
        }
    };
    let token = match &way {
        Way::Code(oauth) => by_code(messages, hosts, host, oauth)?,
        Way::Page { page, service } => by_page(messages, hosts, host, page, service)?,
    };
    services.credentials().store(host, Some(&token)).map_err(|reason| diagnostics::token_not_saved(&reason))?;
    messages.show(LINE);
    let success = messages.success("Yuba has obtained and saved an API token.");
    let more = format!("Commands use it to authenticate to {host}.");
    messages.say(&format!("{success}\n\n{more}\n\n"), &format!("Yuba has obtained and saved an API token. {more}"));
    Ok(())
}

/// Prompts for approval to request a token.
fn consent(messages: &mut Messages<'_>, hosts: &Hosts, host: &Hostname, means: &str) -> Result<(), Diagnostic> {
    let mut text = format!("Yuba will request an API token for {host} using {means}.\n\n");
    if means == "OAuth" {
        text.push_str("This requires a browser on this machine: it passes the response of the host to Yuba.\n\n");
    }
    text.push_str(&storage(hosts, host, "If login is successful, Yuba will store the token"));
    messages.say(&text, text.trim());
    match messages.confirm("Do you want to proceed?", "Only 'yes' will be accepted to confirm.") {
        Ok(true) => Ok(()),
        Ok(false) | Err(_) => Err(diagnostics::login_cancelled()),
    }
}

fn storage(hosts: &Hosts, host: &Hostname, start: &str) -> String {
    let credentials = hosts.services().credentials();
    match (credentials.location(host), credentials.helper(), credentials.file()) {
        (CredentialsLocation::ByHelper, Some(helper), _) => {
            format!("{start} in the configured {helper:?} credentials helper\nfor use by subsequent commands.\n\n")
        }
        (_, _, Some(file)) => format!(
            "{start} in plain text in the following file\nfor use by subsequent commands:\n    {}\n\n",
            file.display()
        ),
        _ => String::new(),
    }
}

fn by_code(messages: &mut Messages<'_>, hosts: &Hosts, host: &Hostname, oauth: &OAuth) -> Result<Secret, Diagnostic> {
    consent(messages, hosts, host, "OAuth")?;
    let flow = CodeFlow::start(oauth).map_err(|reason| diagnostics::login_server_not_started(&reason))?;
    show_page(messages, host, "login", &flow.page());
    let text = "Yuba will now wait for the host to signal that login was successful.";
    messages.say(&format!("{text}\n\n"), text);
    messages.terminal().flush();
    flow.finish(hosts.services().client()).map_err(|reason| diagnostics::token_not_obtained(&reason))
}

fn by_page(
    messages: &mut Messages<'_>,
    hosts: &Hosts,
    host: &Hostname,
    page: &Url,
    service: &Url,
) -> Result<Secret, Diagnostic> {
    consent(messages, hosts, host, "your browser")?;
    messages.show(LINE);
    show_page(messages, host, "tokens", page);
    messages.show(LINE);
    let text = "Generate a token using your browser, and copy-paste it into this prompt.";
    messages.say(&format!("{text}\n\n"), text);
    let text = storage(hosts, host, "Yuba will store the token");
    messages.say(&text, text.trim());
    let prompt = messages.bold(&format!("Token for {host}:"));
    let unseen = Unseen::begin();
    messages.terminal().out(&format!("{prompt}\n  {} ", "Enter a value:"));
    messages.terminal().flush();
    let line = typing::line().map_err(|error| diagnostics::token_not_read(&error))?.unwrap_or_default();
    drop(unseen);
    messages.terminal().out("\n");
    if line.trim().is_empty() {
        return Err(diagnostics::token_not_entered());
    }
    let token = Secret::new(line.trim());
    match user_of(hosts.services().client(), service, &token) {
        Ok(Some(name)) => {
            let text = format!("Retrieved token for user {name}");
            messages.say(&format!("\n{text}\n\n"), &text);
            Ok(token)
        }
        Ok(None) => Err(diagnostics::token_invalid(host)),
        Err(reason) => Err(diagnostics::token_user_unknown(&reason)),
    }
}

fn show_page(messages: &mut Messages<'_>, host: &Hostname, name: &str, page: &Url) {
    let text = match open_browser(page) {
        true => format!(
            "Yuba must now open a web browser to the {name} page for {host}.\n\nIf a browser does not open this \
             automatically, open the following URL to proceed:\n    {page}\n\n"
        ),
        false => format!("Open the following URL to access the {name} page for {host}:\n    {page}\n\n"),
    };
    messages.say(&text, text.trim());
    messages.terminal().flush();
}

/// Opens a page where there is a desktop.
fn open_browser(page: &Url) -> bool {
    let (program, is_desktop) = match std::env::consts::OS {
        "macos" => ("open", true),
        _ => ("xdg-open", environment("DISPLAY").or_else(|| environment("WAYLAND_DISPLAY")).is_some()),
    };
    let mut command = Program::new(program);
    command.arg(page.as_str()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    is_desktop && command.status().is_ok_and(|status| status.success())
}
