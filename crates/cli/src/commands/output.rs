//! `yuba output`: the output values of the last apply.

use yuba_session::backend::{Refusal, StateFlags};
use yuba_state::Output;
use yuba_syntax::{Diagnostics, Sources};
use yuba_value::{Type, Value};
use yuba_view::{outputs, state_json};

use super::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON_INTO};
use crate::json_into::{JsonInto, JsonSettings};
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access::{self, SHOW_SENSITIVE, STATE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "output",
    synopsis: "Show output values from your root module",
    usage: "[options] [NAME]",
    about: "Shows the output values of the root module that are stored in the state: all of them, or the one with the given \
            name. A sensitive value is shown only with its name or with -show-sensitive.",
    flags: &[
        STATE,
        SHOW_SENSITIVE,
        Flag::switch("json", "Write JSON: the value of one output, or all outputs with their types."),
        JSON_INTO,
        Flag::switch("raw", "Write the value of one string, number or bool without quotes and without a line break."),
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Document,
    long_help: true,
    run: Run::Function(run),
};

/// Settings of `yuba output`.
struct OutputSettings {
    name: Option<String>,
    format: Format,
    /// `-show-sensitive`
    show_sensitive: bool,
    state: StateFlags,
    json: JsonSettings,
    project: Settings,
}

/// The form of the values on standard output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Text,
    Json,
    Raw,
}

impl OutputSettings {
    fn resolve(args: &Args) -> Result<OutputSettings, Failure> {
        if args.positional.len() > 1 {
            return Err(Failure::usage(diagnostics::too_many_outputs()));
        }
        let name = args.positional.first().filter(|name| !name.is_empty()).cloned();
        let format = match (args.is_on("raw"), args.is_on("json")) {
            (true, true) => return Err(Failure::usage(diagnostics::raw_and_json())),
            (true, false) if name.is_none() => return Err(Failure::usage(diagnostics::output_name_required())),
            (true, false) => Format::Raw,
            (false, true) => Format::Json,
            (false, false) => Format::Text,
        };
        Ok(OutputSettings {
            name,
            format,
            show_sensitive: args.is_on("show-sensitive"),
            json: JsonSettings::resolve(args)?,
            state: state_access::flags(args)?,
            project: Settings::new(args),
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let settings = OutputSettings::resolve(args)?;
    let mut into = JsonInto::open(&settings.json)?;
    let look = || -> Result<_, Refusal> {
        Ok(state_access::location(&settings.project, &settings.state)?.look().map_err(plain)?)
    };
    let opened = look().map_err(|refusal| Failure::Failed(refusal.problems, refusal.sources))?;
    terminal.report_aside(&opened.notes, &Sources::new());
    let outputs = opened.state.map(|state| state.outputs).unwrap_or_default();
    let one = |name: &str| -> Result<&Output, Failure> {
        outputs.get(name).ok_or_else(|| Failure::failed(diagnostics::output_not_found(name)))
    };
    let name = settings.name.as_deref();
    let json = || match name {
        Some(name) => one(name).map(state_json::one_output),
        None => Ok(state_json::all_outputs(&outputs)),
    };
    if let Some(into) = &mut into {
        into.write(&json()?);
    }
    let text = match (settings.format, name) {
        (Format::Json, _) => json()?,
        _ if outputs.is_empty() => {
            terminal.report(&diagnostics::no_outputs().into(), &Sources::new());
            return Ok(0);
        }
        (Format::Raw, name) => raw(name.unwrap_or_default(), &one(name.unwrap_or_default())?.value)?,
        (Format::Text, Some(name)) => outputs::render_one(one(name)?),
        (Format::Text, None) if settings.show_sensitive => outputs::render_sensitive(&outputs),
        (Format::Text, None) => outputs::render(&outputs),
    };
    terminal.out(&text);
    Ok(0)
}

/// Quirk: the title of a single problem contains all of it.
fn plain(problems: Diagnostics) -> Diagnostics {
    match problems.iter().filter(|problem| problem.is_error()).count() {
        1 => diagnostics::output_state_unreadable(&problems).into(),
        _ => problems,
    }
}

fn raw(name: &str, value: &Value) -> Result<String, Failure> {
    let text = yuba_value::convert::convert(value, &Type::string()).map_err(|_| {
        Failure::failed(diagnostics::raw_type_unsupported(name, &value.ty().friendly_name().to_string()))
    })?;
    match text.as_str() {
        Some(text) => Ok(text.to_string()),
        None => Err(Failure::failed(diagnostics::raw_null_unsupported(name))),
    }
}
