//! `yuba state show`: one object of the state.

use yuba_addrs::AbsResourceInstance;
use yuba_session::backend::{Refusal, StateFlags};
use yuba_session::state;
use yuba_state::{Edit, State};
use yuba_syntax::Sources;

use crate::commands::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON_INTO};
use crate::json_into::JsonSettings;
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access::{self, SHOW_SENSITIVE, STATE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "state show",
    synopsis: "Show a resource in the state",
    usage: "[options] ADDRESS",
    about: "Shows the attributes of one resource instance in the state.",
    flags: &[
        STATE,
        SHOW_SENSITIVE,
        Flag::switch("json", "Write a JSON document with this instance. It contains sensitive values too."),
        JSON_INTO,
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Document,
    long_help: false,
    run: Run::Function(run),
};

/// Settings of `yuba state show`.
struct ShowSettings {
    address: String,
    /// `-show-sensitive`
    show_sensitive: bool,
    state: StateFlags,
    json: JsonSettings,
    project: Settings,
}

impl ShowSettings {
    fn resolve(args: &Args) -> Result<ShowSettings, Failure> {
        let [address] = args.positional.as_slice() else {
            let required = "exactly one argument: the address of a resource instance";
            return Err(Failure::usage(diagnostics::argument_count(required)));
        };
        Ok(ShowSettings {
            address: address.clone(),
            show_sensitive: args.is_on("show-sensitive"),
            state: state_access::flags(args)?,
            json: JsonSettings::resolve(args)?,
            project: Settings::new(args),
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let settings = ShowSettings::resolve(args)?;
    let mut messages = Messages::silent(terminal, &settings.json)?;
    let done = show(&mut messages, &settings);
    messages.conclude(done)
}

fn show(messages: &mut Messages<'_>, settings: &ShowSettings) -> Result<(), Refusal> {
    let project = &settings.project;
    let location = state_access::location(project, &settings.state)?;
    let addr = state::instance_address(&settings.address)
        .map_err(|_| diagnostics::shown_address_invalid(&settings.address))?;
    state_access::check_configuration(project)?;
    let opened = location.look().map_err(|problems| diagnostics::shown_state_unreadable(&problems))?;
    // With -json standard output contains the document alone.
    messages.terminal().report_aside(&opened.notes, &Sources::new());
    if let Some(state) = &opened.state {
        state::missing_schemas(project.providers(), state)?;
    }
    let state = state::required(opened.state)?;
    let alone = state_with(&state, &addr).ok_or_else(diagnostics::shown_instance_not_found)?;
    let json = || {
        let document = yuba_view::state_json::state(Some(&alone), project.providers());
        document.map_err(|reason| diagnostics::instance_not_rendered(&addr, &reason))
    };
    if messages.wants_json_file() {
        let document = json()?;
        messages.json_file(&format!("{document}\n"));
    }
    if settings.json.is_on {
        let document = json()?;
        messages.terminal().out(&format!("{document}\n"));
        return Ok(());
    }
    let look = yuba_view::plan::Look { show_sensitive: settings.show_sensitive, ..messages.terminal().look() };
    let text = yuba_view::state::render(&alone, project.providers(), look)
        .map_err(|problems| state::under(&diagnostics::INSTANCE_NOT_RENDERED, &problems))?;
    messages.terminal().out(&text);
    Ok(())
}

/// A state that contains the current object of one resource instance only.
fn state_with(state: &State, addr: &AbsResourceInstance) -> Option<State> {
    let resource = state.get(&addr.containing())?;
    let instance = resource.instances.get(&addr.key)?;
    let mut alone = State::empty();
    alone.apply(Edit::SetObject {
        addr: addr.clone(),
        deposed: None,
        provider: resource.provider.clone(),
        provider_key: instance.provider_key.clone(),
        object: Some(instance.current.clone()?),
    });
    Some(alone)
}
