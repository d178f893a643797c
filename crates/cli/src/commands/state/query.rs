//! `yuba state query`: resource instances of the state, filtered and projected with expressions.

use yuba_session::backend::{Refusal, StateFlags};
use yuba_session::state::{self, Query, QueryResult, Secrets, Unevaluated};
use yuba_view::table::{self, Titles};

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
    name: "state query",
    synopsis: "Filter resources in the state with an expression",
    usage: "[options] [EXPR]",
    about: "Shows the resource instances in the state for which an expression is true, as a table. Without an expression, shows all of \
            them.\n\n\
            The expression and the columns can refer to address, module, mode, type, name, key, provider, provider_key, deposed, \
            status, dependencies and values. values are the attributes, for example values.tags.env. All functions can be \
            called.\n\n\
            An instance for which the expression has an error, such as a missing attribute, does not match. Sensitive values are \
            not shown.",
    flags: &[
        Flag::text(
            "columns",
            "a,b",
            "Expressions to show, separated by commas. The default is \"address,provider,status\".",
        ),
        Flag::switch("json", "Write a list of objects with the columns."),
        JSON_INTO,
        Flag::switch("no-headers", "Omit the titles of the columns."),
        SHOW_SENSITIVE,
        STATE,
        Flag::switch("strict", "Fail if the expression or a column has an error for an instance."),
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Document,
    long_help: false,
    run: Run::Function(run),
};

/// Columns without `-columns`.
const DEFAULT_COLUMNS: &str = "address,provider,status";

/// Settings of `yuba state query`.
struct QuerySettings {
    filter: Option<String>,
    columns: String,
    titles: Titles,
    secrets: Secrets,
    unevaluated: Unevaluated,
    state: StateFlags,
    json: JsonSettings,
    project: Settings,
}

impl QuerySettings {
    fn resolve(args: &Args) -> Result<QuerySettings, Failure> {
        let args = &args.permuted().map_err(|message| Failure::usage(diagnostics::invalid_flags(message)))?;
        let filter = match args.positional.as_slice() {
            [] => None,
            [filter] => Some(filter.clone()),
            _ => return Err(Failure::usage(diagnostics::argument_count("at most one argument: an expression"))),
        };
        Ok(QuerySettings {
            filter,
            columns: args.text("columns").unwrap_or(DEFAULT_COLUMNS).to_owned(),
            titles: if args.is_on("no-headers") { Titles::Omitted } else { Titles::Shown },
            secrets: if args.is_on("show-sensitive") { Secrets::Plain } else { Secrets::Marked },
            unevaluated: if args.is_on("strict") { Unevaluated::Failed } else { Unevaluated::Skipped },
            state: state_access::flags(args)?,
            json: JsonSettings::resolve(args)?,
            project: Settings::new(args),
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let settings = QuerySettings::resolve(args)?;
    let mut messages = Messages::silent(terminal, &settings.json)?;
    let done = query(&mut messages, &settings);
    messages.conclude(done)
}

fn query(messages: &mut Messages<'_>, settings: &QuerySettings) -> Result<(), Refusal> {
    let query = Query::parse(settings.filter.as_deref(), &settings.columns)?;
    let location = state_access::location(&settings.project, &settings.state)?;
    let opened = location.look().map_err(|problems| state::under(&diagnostics::COMMAND_STATE_UNREADABLE, &problems))?;
    // Standard output contains the table alone.
    messages.terminal().report_aside(&opened.notes, query.sources());
    let state = state::required(opened.state)?;
    let project = settings.project.project();
    let (secrets, unevaluated) = (settings.secrets, settings.unevaluated);
    let found = query.run(&state, project.providers(), project.world(), unevaluated, secrets)?;
    if messages.wants_json_file() {
        messages.json_file(&table::json(&found.columns, &found.rows));
    }
    let text = match settings.json.is_on {
        true => table::json(&found.columns, &found.rows),
        false if found.rows.is_empty() => String::new(),
        false => table::render(&found.columns, &found.rows, settings.titles),
    };
    messages.terminal().out(&text);
    for note in notes(&found) {
        messages.terminal().err(&format!("{note}\n"));
    }
    Ok(())
}

/// Notes about what the table does not show.
fn notes(found: &QueryResult) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(first) = &found.first_skipped {
        let instances =
            if found.skipped == 1 { "1 instance".to_owned() } else { format!("{} instances", found.skipped) };
        let address = first.address.as_deref().unwrap_or_default();
        notes.push(format!(
            "Note: the expression has an error for {instances}, which do not match. The first is {address}: {}. Use -strict to fail \
             instead.",
            first.summary
        ));
    }
    if !found.without_schema.is_empty() {
        let names = found.without_schema.iter().map(|provider| provider.for_display().to_string()).collect::<Vec<_>>();
        notes.push(format!(
            "Note: values of {} are not shown, because the schema that marks sensitive attributes is not available. Run \
             \"yuba init\", or use -show-sensitive.",
            names.join(", ")
        ));
    }
    notes.into_iter().map(|note| yuba_view::wrap::wrap(&note, 78)).collect()
}
