//! `yuba import`: takes an object that exists into the state.

use std::cell::Cell;
use std::path::Path;

use yuba_addrs::{AbsResourceInstance, ResourceMode};
use yuba_eval::tree::Purpose;
use yuba_plan::{Event, Phase};
use yuba_session::clock::Tick;
use yuba_session::load::has_configuration;
use yuba_session::operation::{Operation, OperationRequest, Watch};
use yuba_syntax::{Diagnostic, Diagnostics, SourceFile, Sources};

use super::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::operate;
use crate::settings::{Settings, VAR, VAR_FILE, ask};
use crate::signals;
use crate::speaker::Speaker;
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

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let [address, id] = args.positional.as_slice() else {
        let required = "two arguments: the address of a resource instance and the ID of the object";
        return Err(Failure::usage(diagnostics::argument_count(required)));
    };
    let flags = state_access::flags(args)?;
    let mut settings = Settings::new(args);
    if let Some(dir) = args.text("config").filter(|dir| !dir.is_empty()) {
        settings.dir = dir.to_owned();
    }
    let parallelism = operate::parallelism(args)?;
    let mut speaker = Speaker::new(terminal, args)?;
    let addr = match address_of(address) {
        Ok(addr) => addr,
        Err((problems, sources)) => {
            speaker.report(&problems, &sources);
            return Ok(1);
        }
    };
    if !has_configuration(Path::new(&settings.dir)) {
        let detail = format!(
            "The directory {} has no configuration files. What is imported has to be declared; if it is declared \
             elsewhere, say where with -config.",
            settings.dir
        );
        let problem = Diagnostic::error("No Yuba configuration files", detail);
        speaker.report(&problem.into(), &Sources::new());
        return Ok(1);
    }
    let mut load = settings.request(Purpose::Use);
    load.test_dir = None;
    let request = OperationRequest {
        load,
        ask: if speaker.is_json() { None } else { ask(args) },
        state: flags,
        name: "OperationTypeInvalid",
        parallelism,
        validate: false,
    };
    let mut operation = match Operation::begin(request, &mut || speaker.waiting()) {
        Ok(operation) => operation,
        Err(refusal) => {
            speaker.report(&refusal.problems, &refusal.sources);
            return Ok(1);
        }
    };
    let mut notes = std::mem::take(&mut operation.notes);
    speaker.report(operation.about_encryption(), operation.sources());
    match operation.declares(&addr) {
        Err(problem) => notes.push(problem),
        Ok(()) => {
            let stop = signals::Stop::watch();
            let prepared = Cell::new(false);
            let events = |event: Event| tell(&speaker, &prepared, id, &event);
            let tick = || speaker.tick(stop.interrupt());
            let tick = Some(Tick { every: speaker.beat(), run: &tick });
            let watch = Watch { events: &events, interrupt: stop.interrupt(), tick };
            let (problems, unsaved) = operation.import(addr, id.as_str().into(), watch);
            speaker.rest(stop.interrupt());
            notes.extend(problems);
            if let Some(bytes) = unsaved {
                speaker.raw(&String::from_utf8_lossy(&bytes));
            }
        }
    }
    let (found, sources) = operation.end();
    notes.extend(found);
    if !notes.has_errors() {
        let title = "Import successful!";
        let more = "The objects shown above are in the state now, and Yuba manages them.";
        speaker.succeeded(title, more);
    }
    speaker.report(&notes, &sources);
    Ok(u8::from(notes.has_errors()))
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
    let detail = format!("{addr} is {kind}. Only managed resources have objects that can be imported.");
    Err((Diagnostic::error("Invalid target resource address", detail).into(), Sources::new()))
}

/// Importing on command has words of its own.
fn tell(speaker: &Speaker<'_>, prepared: &Cell<bool>, id: &str, event: &Event) {
    match event {
        Event::Started { addr, phase: Phase::PrepareImport, .. } => {
            speaker.bold_line(&format!("{addr}: Importing from ID {}...", yuba_value::quote::quote(id)));
            prepared.set(true);
        }
        Event::Started { addr, phase: Phase::Refresh, .. } if prepared.replace(false) => {
            speaker.bold_line(&format!("{addr}: Import prepared!"));
            speaker.bold_line(&format!("  Prepared {} for import", addr.resource.kind));
            speaker.event(event);
        }
        _ => speaker.event(event),
    }
}
