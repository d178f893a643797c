//! `yuba import`: takes an object that exists into the state.

use std::cell::Cell;

use yuba_addrs::{AbsResourceInstance, ResourceMode};
use yuba_eval::tree::Purpose;
use yuba_net::Environment;
use yuba_plan::{Event, Phase};
use yuba_session::{
    ConfigurationCheck, EarlyProcesses, LoadOptions, Loaded, LockOptions, Progress, Project, RemoteWorkspaces,
};
use yuba_syntax::{Diagnostics, SourceFile, Sources};

use super::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::operate::{self, Waiting, diagnostics};
use crate::operation_output::{OperationOutput, OutputSettings};
use crate::settings::{Prompts, VAR, VAR_FILE, project};
use crate::state_access::{self, BACKUP, IGNORE_REMOTE_VERSION, LOCK, LOCK_TIMEOUT, STATE_OUT, STATE_TO_CHANGE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "import",
    synopsis: "Associate existing infrastructure with a resource",
    usage: "[options] ADDR ID",
    about: "Imports an existing object into the state, so that Yuba manages it. ADDR is the address of a resource instance \
            that the configuration declares. ID is the identifier of the object; the provider defines its format.\n\n\
            The command only reads the object. The next plan shows the differences to the configuration. With \"import\" \
            blocks, a plan can import several objects and shows the imports before they happen.",
    flags: &[
        Flag::text("config", "path", "Directory of the configuration. The default is the current directory."),
        Flag::switch_off("input", "Do not prompt for values of variables."),
        Flag::text("parallelism", "10", "Number of operations that can run at the same time."),
        BACKUP,
        LOCK,
        LOCK_TIMEOUT,
        IGNORE_REMOTE_VERSION,
        STATE_TO_CHANGE,
        STATE_OUT,
        JSON,
        JSON_INTO,
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(run),
};

/// Settings of the command.
struct ImportSettings {
    address: String,
    id: String,
    project: Project,
    lock: LockOptions,
    prompts: Prompts,
    output: OutputSettings,
}

impl ImportSettings {
    fn resolve(args: &Args, environment: &Environment) -> Result<ImportSettings, Failure> {
        let [address, id] = args.positional.as_slice() else {
            return Err(Failure::Usage(diagnostics::import_arguments().into()));
        };
        let state = state_access::flags_of_change(args)?;
        let mut project = project(args);
        if let Some(dir) = args.text("config").filter(|dir| !dir.is_empty()) {
            project.dir = dir.to_owned();
        }
        let project = Project::new(project);
        let lock = LockOptions {
            operation: "OperationTypeInvalid",
            state,
            parallelism: operate::parallelism(args)?,
            check: ConfigurationCheck::Evaluated,
            remote: RemoteWorkspaces::Accepted,
            processes: EarlyProcesses::ForValidation,
        };
        Ok(ImportSettings {
            address: address.clone(),
            id: id.clone(),
            lock,
            prompts: Prompts::resolve(args, environment),
            output: OutputSettings::resolve(args, &project, None)?,
            project,
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let ImportSettings { address, id, project, lock, prompts, output } =
        ImportSettings::resolve(args, args.hosts.environment())?;
    let mut output = OperationOutput::new(terminal, output);
    let addr = match address_of(&address) {
        Ok(addr) => addr,
        Err((problems, sources)) => return operate::failed(&mut output, &problems, &sources),
    };
    if !project.has_configuration() {
        let problem = diagnostics::no_configuration_to_import_to(project.dir());
        return operate::failed(&mut output, &problem.into(), &Sources::new());
    }
    let options = LoadOptions::new(Purpose::Use).without_tests().asking(prompts.ask(&output));
    let loaded = project.load(options).and_then(Loaded::ready).and_then(Loaded::with_stored_variables);
    let loaded = match loaded {
        Ok(loaded) => loaded,
        Err(refusal) => return operate::failed(&mut output, &refusal.problems, &refusal.sources),
    };
    let mut waiting = Waiting::new(&output);
    let locked = loaded.lock(&lock, &mut waiting);
    let stop = waiting.into_stop();
    let locked = match locked {
        Ok(locked) => locked,
        Err(refusal) => return operate::failed(&mut output, &refusal.problems, &refusal.sources),
    };
    output.report(locked.encryption_warnings(), &loaded.sources);
    let prepared = Cell::new(false);
    let events = |event: Event| tell(&output, &prepared, &id, &event);
    let imported = operate::with_progress(&output, &stop, |progress| {
        locked.import(addr, id.as_str().into(), Progress { events: &events, ..progress })
    });
    let has_failed = imported.has_failed();
    if let Some(bytes) = &imported.unsaved {
        output.raw(&String::from_utf8_lossy(bytes));
    }
    if !has_failed {
        let title = "Import successful!";
        let more = "The objects shown above are in the state now, and Yuba manages them.";
        output.succeeded(title, more);
    }
    output.report(&imported.diagnostics, &loaded.sources);
    Ok(u8::from(has_failed))
}

fn address_of(text: &str) -> Result<AbsResourceInstance, (Diagnostics, Sources)> {
    let mut sources = Sources::new();
    let file = sources.add(SourceFile::new("<import-address>", text.as_bytes()));
    let addr = match AbsResourceInstance::parse_text(file, text) {
        Ok(addr) => addr,
        Err(problems) => return Err((problems, sources)),
    };
    let kind = match addr.resource.mode {
        ResourceMode::Managed => return Ok(addr),
        ResourceMode::Data => "a data resource",
        ResourceMode::Ephemeral => "an ephemeral resource",
    };
    Err((diagnostics::import_to_unmanaged(&addr.to_string(), kind).into(), Sources::new()))
}

/// Importing on command has words of its own.
fn tell(output: &OperationOutput<'_>, prepared: &Cell<bool>, id: &str, event: &Event) {
    match event {
        Event::Started { addr, phase: Phase::PrepareImport, .. } => {
            output.bold_line(&format!("{addr}: Importing from ID {}...", yuba_value::quote::quote(id)));
            prepared.set(true);
        }
        Event::Started { addr, phase: Phase::Refresh, .. } if prepared.replace(false) => {
            output.bold_line(&format!("{addr}: Import prepared!"));
            output.bold_line(&format!("  Prepared {} for import", addr.resource.kind));
            output.event(event);
        }
        _ => output.event(event),
    }
}
