//! `yuba state show`: one object of the state.

use yuba_session::backend::Refusal;
use yuba_session::state;
use yuba_state::{Edit, State};
use yuba_syntax::{Diagnostic, Sources};
use yuba_value::quote::quote;

use crate::commands::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON_INTO};
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access::{self, SHOW_SENSITIVE, STATE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "state show",
    synopsis: "Show a resource in the state",
    usage: "[options] ADDRESS",
    about: "Shows the attributes of one resource instance as the state has them.",
    flags: &[
        STATE,
        SHOW_SENSITIVE,
        Flag::switch("json", "Write a JSON document with this instance alone. It has all values, sensitive or not."),
        JSON_INTO,
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Document,
    long_help: false,
    run: Run::Function(run),
};

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let [address] = args.positional.as_slice() else {
        return Err(Failure::usage("Invalid number of arguments", "Give the address of one resource instance."));
    };
    let flags = state_access::flags(args)?;
    let mut messages = Messages::silent(terminal, args)?;
    let work = |messages: &mut Messages<'_>| -> Result<(), Refusal> {
        let settings = Settings::new(args);
        let place = state_access::place(&settings, &flags)?;
        let hint = "Give the address of one resource instance. \"yuba state list\" shows what there is.";
        let addr = state::instance_address(address)
            .map_err(|_| Diagnostic::error(format!("Error parsing instance address {}", quote(address)), hint))?;
        state_access::check_configuration(&settings)?;
        let opened = place
            .look()
            .map_err(|problems| Diagnostic::error(format!("error loading state: {}", problems.joined()), ""))?;
        // With -json standard output has the document alone.
        messages.terminal().report_aside(&opened.notes, &Sources::new());
        if let Some(state) = &opened.state {
            state::missing_schemas(settings.providers(), state)?;
        }
        let state = state::required(opened.state)?;
        let found = state.get(&addr.containing()).and_then(|resource| {
            let instance = resource.instances.get(&addr.key)?;
            Some((resource, instance.provider_key.clone(), instance.current.clone()?))
        });
        let Some((resource, provider_key, object)) = found else {
            return Err(Diagnostic::error("No instance found for the given address", hint).into());
        };
        let mut alone = State::empty();
        alone.apply(Edit::SetObject {
            addr: addr.clone(),
            deposed: None,
            provider: resource.provider.clone(),
            provider_key,
            object: Some(object),
        });
        let title = "Failed to marshal state to json";
        let refuse = |why: &str| Diagnostic::error(title, format!("{addr} cannot be shown: {why}."));
        let json = || yuba_view::state_json::state(Some(&alone), &**settings.providers()).map_err(|why| refuse(&why));
        if messages.wants_json_file() {
            let document = json()?;
            messages.json_file(&format!("{document}\n"));
        }
        if args.is_on("json") {
            let document = json()?;
            messages.terminal().out(&format!("{document}\n"));
            return Ok(());
        }
        let look = messages.terminal().look(args.is_on("show-sensitive"));
        let text = yuba_view::state::render(&alone, &**settings.providers(), look)
            .map_err(|problems| state::under(title, &problems))?;
        messages.terminal().out(&text);
        Ok(())
    };
    let done = work(&mut messages);
    messages.conclude(done)
}
