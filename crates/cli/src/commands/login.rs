//! `yuba login`: gets a token for a host, and keeps it.

use std::process::{Command as Program, Stdio};

use yuba_addrs::Hostname;
use yuba_install::Hosts;
use yuba_install::login::{CodeFlow, NoWay, OAuth, Way, user_of, way};
use yuba_net::Secret;
use yuba_net::credentials::Kept;
use yuba_net::http::Url;
use yuba_syntax::{Diagnostic, Diagnostics, Sources};

use super::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::messages::Messages;
use crate::settings::{Settings, environment, may_ask};
use crate::terminal::Terminal;
use crate::typing::{self, Unseen};

pub(crate) const COMMAND: Command = Command {
    name: "login",
    synopsis: "Obtain and save credentials for a remote host",
    usage: "[options] hostname",
    about: "Gets a token for a host that has services for Yuba, such as a private registry, by means of your browser, and \
            saves it in plain text in the file credentials.tfrc.json of your configuration directory, unless a credentials \
            helper is configured.",
    flags: &[Flag::switch_off("input", "Fail instead of asking."), JSON, JSON_INTO],
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(run),
};

const LINE: &str = "\n---------------------------------------------------------------------------------\n\n";

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let host = hostname(args)?;
    // Answers are wanted from a person, and what a program reads has no place for questions.
    if !may_ask(args) || args.is_on("json") {
        let detail = "This command asks questions and shows a page in a browser, so it cannot run with input switched off.\n\n\
                      Where nobody can answer, write the token into a CLI configuration file or into an environment \
                      variable TF_TOKEN_...";
        return Err(Failure::failed("Login is an interactive command", detail));
    }
    let settings = Settings::new(args);
    let mut messages = Messages::new(terminal, args)?;
    match login(&mut messages, settings.hosts(), &host) {
        Ok(()) => Ok(0),
        Err(problems) => {
            messages.diagnostics(&problems, &Sources::new());
            Ok(1)
        }
    }
}

/// The host that is named.
pub(super) fn hostname(args: &Args) -> Result<Hostname, Failure> {
    let [given] = args.positional.as_slice() else {
        let detail = "This command needs exactly one argument: the host, for example registry.example.com.";
        return Err(Failure::usage("Unexpected argument", detail));
    };
    Hostname::parse(given).map_err(|reason| {
        Failure::failed("Invalid hostname", format!("The hostname {given:?} is not possible: {reason}."))
    })
}

fn login(messages: &mut Messages<'_>, hosts: &Hosts, host: &Hostname) -> Result<(), Diagnostics> {
    let services = hosts.services();
    let found = services.host(host).map_err(|error| {
        Diagnostic::error(format!("Service discovery failed for {host}"), format!("{}.", capital(error.reason())))
    })?;
    let mut problems = Diagnostics::new();
    let way = way(&found).map_err(|reason| no_way(host, &reason));
    if services.credentials().kept(host) == Kept::Elsewhere {
        let detail = "The credentials for this host are in a CLI configuration file that was written by hand. To log in, revoke \
                      them and remove their block from that file first.";
        problems.push(Diagnostic::error(format!("Credentials for {host} are manually configured"), detail));
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
    services.credentials().store(host, Some(&token)).map_err(|reason| {
        Diagnostic::error(
            "Failed to save API token",
            format!("The host gave a token, but it could not be kept: {reason}."),
        )
    })?;
    messages.show(LINE);
    let success = messages.success("Yuba has obtained and saved an API token.");
    let more = format!("It is used from now on whenever a command has to show {host} who you are.");
    messages.say(&format!("{success}\n\n{more}\n\n"), &format!("Yuba has obtained and saved an API token. {more}"));
    Ok(())
}

fn no_way(host: &Hostname, reason: &NoWay) -> Diagnostic {
    let (summary, detail) = match reason {
        NoWay::NotOffered => {
            ("Host does not support Yuba tokens API", format!("The host {host} does not give tokens."))
        }
        NoWay::TooNew => (
            "Host does not support Yuba tokens API",
            format!("The host {host} gives tokens in a way that is newer than this version of Yuba."),
        ),
        NoWay::OtherGrants => (
            "Host does not support Yuba login",
            format!("The host {host} offers no way of OAuth that this version of Yuba knows."),
        ),
        NoWay::Wrong(reason) => {
            ("Host does not support Yuba login", format!("One cannot log in to the host {host}: {reason}."))
        }
    };
    Diagnostic::error(summary, detail)
}

/// Asks whether it is all right.
fn consent(messages: &mut Messages<'_>, hosts: &Hosts, host: &Hostname, means: &str) -> Result<(), Diagnostic> {
    let mut text = format!("Yuba will request an API token for {host} using {means}.\n\n");
    if means == "OAuth" {
        text.push_str(
            "This works only where your browser runs on this machine: it brings the answer of the host to Yuba.\n\n",
        );
    }
    text.push_str(&storage(hosts, host, "If login is successful, Yuba will store the token"));
    messages.say(&text, text.trim());
    match messages.confirm("Do you want to proceed?", "Only 'yes' will be accepted to confirm.") {
        true => Ok(()),
        false => Err(Diagnostic::error("Login cancelled", "Nothing was done, because it was not confirmed.")),
    }
}

fn storage(hosts: &Hosts, host: &Hostname, start: &str) -> String {
    let credentials = hosts.services().credentials();
    match (credentials.kept(host), credentials.helper(), credentials.file()) {
        (Kept::ByHelper, Some(helper), _) => {
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
    let flow = CodeFlow::start(oauth).map_err(|reason| {
        let detail =
            format!("The browser has to bring an answer to this machine, but nobody can wait for it: {reason}.");
        Diagnostic::error("Can't start temporary login server", detail)
    })?;
    show_page(messages, host, "login", &flow.page());
    let text = "Yuba will now wait for the host to signal that login was successful.";
    messages.say(&format!("{text}\n\n"), text);
    messages.terminal().flush();
    flow.finish(hosts.services().client()).map_err(|reason| {
        Diagnostic::error("Failed to obtain auth token", format!("The host did not give a token: {reason}."))
    })
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
    let line = typing::line()
        .map_err(|error| Diagnostic::error("Failed to retrieve token", format!("{error}.")))?
        .unwrap_or_default();
    drop(unseen);
    messages.terminal().out("\n");
    if line.trim().is_empty() {
        return Err(Diagnostic::error("Failed to retrieve token", "No token was given."));
    }
    let token = Secret::new(line.trim());
    match user_of(hosts.services().client(), service, &token) {
        Ok(Some(name)) => {
            let text = format!("Retrieved token for user {name}");
            messages.say(&format!("\n{text}\n\n"), &text);
            Ok(token)
        }
        Ok(None) => Err(Diagnostic::error("Token is invalid", format!("The host {host} does not accept this token."))),
        Err(reason) => {
            let detail = format!("Whose token it is could not be asked for: {reason}.");
            Err(Diagnostic::error("Failed to retrieve user account details", detail))
        }
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

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
