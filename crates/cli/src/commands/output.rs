//! `yuba output`: the output values of the last apply.

use yuba_session::backend::Refusal;
use yuba_state::Output;
use yuba_syntax::{Diagnostic, Diagnostics, Sources};
use yuba_value::{Type, Value, quote::quote};
use yuba_view::{outputs, state_json};

use super::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON_INTO};
use crate::json_into::JsonInto;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access::{self, SHOW_SENSITIVE, STATE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "output",
    synopsis: "Show output values from your root module",
    usage: "[options] [NAME]",
    about: "Shows the output values of the root module as the state has them: all of them, or the one with a name. A \
            sensitive value is shown only if it is asked for by name.",
    flags: &[
        STATE,
        SHOW_SENSITIVE,
        Flag::switch("json", "Write JSON: the value of one output, or all outputs with their types."),
        JSON_INTO,
        Flag::switch("raw", "Write the value of one string, number or bool as it is, without quotes and line end."),
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Document,
    long_help: true,
    run: Run::Function(run),
};

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    if args.positional.len() > 1 {
        let detail = "Give the name of one output, or no name for all of them.";
        return Err(Failure::usage("Unexpected argument", detail));
    }
    let name = args.positional.first().map(String::as_str).filter(|name| !name.is_empty());
    if args.is_on("raw") && args.is_on("json") {
        let detail = "-raw and -json exclude each other: choose one of them.";
        return Err(Failure::usage("Invalid output format", detail));
    }
    if args.is_on("raw") && name.is_none() {
        return Err(Failure::usage("Output name required", "-raw writes one value: give the name of an output."));
    }
    let mut into = JsonInto::open(args)?;
    let flags = state_access::flags(args)?;
    let work = || -> Result<_, Refusal> {
        let place = state_access::place(&Settings::new(args), &flags)?;
        Ok(place.look().map_err(plain)?)
    };
    let opened = work().map_err(|refusal| Failure::Failed(refusal.problems, refusal.sources))?;
    terminal.report_aside(&opened.notes, &Sources::new());
    let outputs = opened.state.map(|state| state.outputs).unwrap_or_default();
    let one = |name: &str| -> Result<&Output, Failure> {
        outputs.get(name).ok_or_else(|| {
            let detail = "The state has no output of this name. One that has been added to the configuration is in the state \
                          only after \"yuba apply\".";
            Failure::failed(&format!("Output {} not found", quote(name)), detail)
        })
    };
    let json = || match name {
        Some(name) => one(name).map(state_json::one_output),
        None => Ok(state_json::all_outputs(&outputs)),
    };
    if let Some(into) = &mut into {
        into.write(&json()?);
    }
    if args.is_on("json") {
        terminal.out(&json()?);
    } else if outputs.is_empty() {
        terminal.report(&no_outputs().into(), &Sources::new());
    } else if args.is_on("raw") {
        let name = name.unwrap_or_default();
        terminal.out(&raw(name, &one(name)?.value)?);
    } else {
        let text = match name {
            Some(name) => outputs::render_one(one(name)?),
            None => outputs::render(&outputs, args.is_on("show-sensitive")),
        };
        terminal.out(&text);
    }
    Ok(0)
}

/// Quirk: of one problem alone all there is to say is in the title.
fn plain(problems: Diagnostics) -> Diagnostics {
    match problems.iter().filter(|problem| problem.is_error()).count() {
        1 => Diagnostic::error(problems.joined(), "").into(),
        _ => problems,
    }
}

fn no_outputs() -> Diagnostic {
    // People and scripts know this text.
    let detail = "The state file either has no outputs defined, or all the defined outputs are empty. Please define an \
                  output in your configuration with the `output` keyword and run `yuba refresh` for it to become \
                  available. If you are using interpolation, please verify the interpolated value is not empty. You can \
                  use the `yuba console` command to assist.";
    Diagnostic::warning("No outputs found", detail)
}

fn raw(name: &str, value: &Value) -> Result<String, Failure> {
    let title = "Unsupported value for raw output";
    let refuse = |why: String| Failure::failed(title, why);
    let text = yuba_value::convert::convert(value, &Type::string()).map_err(|_| {
        refuse(format!(
            "-raw can write strings, numbers and bools, but the output {} is {}. Use -json for values of other types.",
            quote(name),
            value.ty().friendly_name()
        ))
    })?;
    match text.as_str() {
        Some(text) => Ok(text.to_string()),
        None => Err(refuse(format!("The output {} is null, which -raw cannot write.", quote(name)))),
    }
}
