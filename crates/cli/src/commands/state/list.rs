//! `yuba state list`: the addresses of the resource instances in the state.

use yuba_session::backend::{Refusal, StateFlags};
use yuba_session::state::{self, Addresses, Unmatched};
use yuba_view::json::JsonValue;

use crate::commands::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::json_into::JsonSettings;
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access::{self, STATE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "state list",
    synopsis: "List resources in the state",
    usage: "[options] [address...]",
    about: "Lists the addresses of the resource instances in the state, one per line. With arguments, lists the instances \
            at these addresses: all instances in a module and its child modules, all instances of a resource, or one \
            instance. An address that is not in the state is an error.",
    flags: &[
        STATE,
        Flag::text("id", "ID", "List only instances whose \"id\" attribute has this value."),
        JSON,
        JSON_INTO,
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(run),
};

/// Settings of `yuba state list`.
struct ListSettings {
    addresses: Vec<String>,
    id: Option<String>,
    state: StateFlags,
    json: JsonSettings,
    project: Settings,
}

impl ListSettings {
    fn resolve(args: &Args) -> Result<ListSettings, Failure> {
        Ok(ListSettings {
            addresses: args.positional.clone(),
            id: args.non_empty("id").map(str::to_owned),
            state: state_access::flags(args)?,
            json: JsonSettings::resolve(args)?,
            project: Settings::new(args),
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let settings = ListSettings::resolve(args)?;
    let mut messages = Messages::new(terminal, &settings.json)?;
    let done = list(&mut messages, &settings);
    messages.conclude(done)
}

fn list(messages: &mut Messages<'_>, settings: &ListSettings) -> Result<(), Refusal> {
    let location = state_access::location(&settings.project, &settings.state)?;
    let opened = location.look().map_err(|problems| state::under(&diagnostics::COMMAND_STATE_UNREADABLE, &problems))?;
    messages.note(&opened.notes);
    let state = state::required(opened.state)?;
    let addresses = match settings.addresses.as_slice() {
        [] => state.instances().map(|(addr, _, _)| addr).collect(),
        given => Addresses::select(&state, given, Unmatched::Fail)?,
    };
    for addr in addresses {
        let object = state.instance(&addr).and_then(|instance| instance.current.as_ref());
        if settings.id.as_ref().is_none_or(|id| object.is_some_and(|object| state::has_id(object, id))) {
            let addr = addr.to_string();
            messages.say_with(&format!("{addr}\n"), &addr, vec![("type", JsonValue::from("resource_address"))]);
        }
    }
    Ok(())
}
