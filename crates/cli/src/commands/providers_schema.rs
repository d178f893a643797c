//! `yuba providers schema`: what providers know, for programs.

use yuba_eval::tree::Purpose;
use yuba_provider::Providers as _;
use yuba_session::show;
use yuba_view::provider_json;

use super::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag};
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "providers schema",
    synopsis: "Show schemas for the providers used in the configuration",
    usage: "[options] -json",
    about: "Writes a JSON document with the schemas of all providers that the configuration and the objects in the state \
            need: their resources, data and functions, with all arguments.",
    flags: &[Flag::switch("json", "Write JSON. This option is required."), VAR, VAR_FILE],
    json: JsonForm::Document,
    long_help: false,
    run: Run::Function(run),
};

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    if !args.positional.is_empty() {
        let detail = "This command takes no arguments. Did you mean to use -chdir?";
        return Err(Failure::usage("Too many command line arguments", detail));
    }
    if !args.is_on("json") {
        let detail = "Schemas are shown as JSON only: \"yuba providers schema\" needs -json.";
        return Err(Failure::usage("Output only in json is allowed", detail));
    }
    let settings = Settings::new(args);
    let mut request = settings.request(Purpose::Use);
    request.test_dir = None;
    let (mut configuration, sources, notes) =
        show::with_providers(&request).map_err(|refusal| Failure::Failed(refusal.problems, refusal.sources))?;
    terminal.report_aside(&notes, &configuration.sources);
    let providers = settings.providers();
    let problems = providers.check(&mut configuration);
    if problems.has_errors() {
        return Err(Failure::Failed(problems, configuration.sources));
    }
    // Whoever asks for nothing else wants to know what providers have now.
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
