//! `yuba providers schema`: the schemas of providers as JSON.

use yuba_provider::Providers as _;
use yuba_session::show;
use yuba_view::provider_json;

use super::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag};
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "providers schema",
    synopsis: "Show schemas for the providers used in the configuration",
    usage: "[options] -json",
    about: "Writes a JSON document with the schemas of all providers that the configuration and the state require: their \
            resources, data sources and functions, with all arguments.",
    flags: &[Flag::switch("json", "Write JSON. This option is required."), VAR, VAR_FILE],
    json: JsonForm::Document,
    long_help: false,
    run: Run::Function(run),
};

/// Settings of `yuba providers schema`.
struct SchemaSettings {
    project: Settings,
}

impl SchemaSettings {
    fn resolve(args: &Args) -> Result<SchemaSettings, Failure> {
        if !args.positional.is_empty() {
            return Err(Failure::usage(diagnostics::no_arguments_expected_to_show()));
        }
        match args.is_on("json") {
            true => Ok(SchemaSettings { project: Settings::new(args) }),
            false => Err(Failure::usage(diagnostics::schemas_need_json())),
        }
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let SchemaSettings { project: settings } = SchemaSettings::resolve(args)?;
    let (mut configuration, sources, notes) = show::with_providers(settings.project())
        .map_err(|refusal| Failure::Failed(refusal.problems, refusal.sources))?;
    terminal.report_aside(&notes, &configuration.sources);
    let providers = settings.providers();
    let problems = providers.check(&configuration.tree, &mut configuration.sources);
    if problems.has_errors() {
        return Err(Failure::Failed(problems, configuration.sources));
    }
    // The schemas of the installed providers, not those in the cache.
    sources.iter().for_each(|source| drop(providers.schema(source)));
    providers.renew_schemas();
    let mut found = Vec::new();
    for source in sources {
        match providers.schema(&source) {
            Some(schemas) => found.push((source, schemas)),
            None => {
                let mut problems = providers.failures();
                if !problems.has_errors() {
                    problems.push(yuba_eval::missing_provider(&source));
                }
                return Err(Failure::Failed(problems, configuration.sources));
            }
        }
    }
    let document = provider_json::schemas(found.iter().map(|(source, schemas)| (source, &**schemas)));
    terminal.out(&format!("{document}\n"));
    Ok(0)
}
