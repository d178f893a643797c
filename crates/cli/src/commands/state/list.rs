//! `yuba state list`: the addresses of what is in the state.

use yuba_session::backend::Refusal;
use yuba_session::state::{self, Addresses};
use yuba_view::json::Json;

use crate::commands::{Command, JsonForm, Run};
use crate::exit::Outcome;
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access::{self, STATE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "state list",
    synopsis: "List resources in the state",
    usage: "[options] [address...]",
    about: "Lists the resource instances of the state, one address a line. With addresses only what they mean is listed: \
            a module with all below it, a resource with all its instances, or an instance. An address that means nothing \
            is an error.",
    flags: &[
        STATE,
        Flag::text("id", "ID", "List only instances whose attribute \"id\" is this."),
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
    let flags = state_access::flags(args)?;
    let mut messages = Messages::new(terminal, args)?;
    let work = |messages: &mut Messages<'_>| -> Result<(), Refusal> {
        let place = state_access::place(&Settings::new(args), &flags)?;
        let opened = place.look().map_err(|problems| state::under("Error refreshing the state", &problems))?;
        messages.note(&opened.notes);
        let state = state::required(opened.state)?;
        let addresses = match args.positional.is_empty() {
            true => state.instances().map(|(addr, _, _)| addr).collect(),
            false => Addresses::select(&state, &args.positional, false)?,
        };
        let id = args.text("id").filter(|id| !id.is_empty());
        for addr in addresses {
            let object = state.instance(&addr).and_then(|instance| instance.current.as_ref());
            if id.is_none_or(|id| object.is_some_and(|object| state::has_id(object, id))) {
                let addr = addr.to_string();
                messages.say_with(&format!("{addr}\n"), &addr, vec![("type", Json::from("resource_address"))]);
            }
        }
        Ok(())
    };
    let done = work(&mut messages);
    messages.conclude(done)
}
