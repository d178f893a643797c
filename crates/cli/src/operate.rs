//! What `plan`, `apply`, `destroy` and `refresh` have in common: from flags to a plan, what is shown and asked on the way,
//! and what is said at the end.

use std::collections::HashSet;
use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use yuba_addrs::{AbsResourceInstance, ResourceMode, Target};
use yuba_engine::PlanOptions;
use yuba_engine::targets::{Targets, parse_file, parse_option};
use yuba_eval::tree::Purpose;
use yuba_eval::validate::PARALLELISM;
use yuba_plan::{Mode, Plan};
use yuba_session::backend::StateFlags;
use yuba_session::clock::Tick;
use yuba_session::operation::{Operation, OperationRequest, Report, SavedPlan, Watch, read_plan};
use yuba_session::provisioners::LocalProvisioners;
use yuba_syntax::{Diagnostic, Diagnostics, SourceFile, Sources, Span};
use yuba_value::EcoString;

use crate::exit::{Failure, Outcome};
use crate::flags::Args;
use crate::settings::{Settings, ask, may_ask};
use crate::signals;
use crate::speaker::Speaker;
use crate::state_access;
use crate::terminal::Terminal;

/// Which command it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Changes are shown.
    Plan,
    /// Changes are made.
    Apply,
    /// Everything is destroyed.
    Destroy,
    /// The state is brought up to date.
    Refresh,
}

/// What the flags say.
struct Options {
    plan: PlanOptions,
    state: StateFlags,
    parallelism: usize,
    auto_approve: bool,
    /// Forgotten objects are no error.
    tolerant: bool,
}

pub(crate) fn run(terminal: &mut Terminal, args: &Args, kind: Kind) -> Outcome {
    let options = options(args, kind)?;
    let settings = Settings::new(args);
    let mut speaker = Speaker::new(terminal, args)?;
    match (kind, args.positional.first()) {
        (Kind::Apply, Some(path)) => apply_saved(&mut speaker, args, &settings, &options, Path::new(path)),
        _ => work(&mut speaker, args, &settings, &options, kind),
    }
}

/// What is wrong with a place for configuration of imported objects.
fn cannot_generate(path: &str, mode: Mode) -> Option<Diagnostic> {
    if path.is_empty() {
        return None;
    }
    if mode != Mode::Normal {
        let detail = "-generate-config-out writes configuration for what a plan imports. Plans with -destroy or \
                      -refresh-only import nothing.";
        return Some(Diagnostic::error("Invalid generate-config-out flag", detail));
    }
    let detail = format!("There is a file {path} already. Choose another one for the configuration to be written to.");
    Path::new(path).exists().then(|| Diagnostic::error("Target generated file already exists", detail))
}

/// Makes a plan, and does what the command is for.
fn work(speaker: &mut Speaker<'_>, args: &Args, settings: &Settings, options: &Options, kind: Kind) -> Outcome {
    let name = match kind {
        Kind::Plan => "OperationTypePlan",
        Kind::Apply | Kind::Destroy => "OperationTypeApply",
        Kind::Refresh => "OperationTypeRefresh",
    };
    let mut load = settings.request(Purpose::Use);
    load.test_dir = None;
    let request = OperationRequest {
        load,
        ask: if speaker.is_json() { None } else { ask(args) },
        state: options.state.clone(),
        name,
        parallelism: options.parallelism,
        validate: true,
    };
    if options.plan.mode != Mode::Destroy && !yuba_session::load::has_configuration(Path::new(&settings.dir)) {
        let detail = match kind {
            Kind::Plan => {
                "There are no configuration files here. Without any, everything would be destroyed: if that is what \
                           you want, use \"yuba plan -destroy\". Otherwise go to a directory with .tf files."
            }
            _ => {
                "There are no configuration files here. Without any, everything would be destroyed: if that is what you \
                  want, use \"yuba destroy\". Otherwise go to a directory with .tf files."
            }
        };
        return failed(speaker, &Diagnostic::error("No configuration files", detail).into(), &Sources::new());
    }
    let generated = args.table_has("generate-config-out").then(|| args.text("generate-config-out")).flatten();
    if let Some(problem) = generated.and_then(|path| cannot_generate(path, options.plan.mode)) {
        return failed(speaker, &problem.into(), &Sources::new());
    }
    // Quirk: reading objects again changes the state as well, and nobody is warned.
    if kind != Kind::Refresh {
        tell_overrides(speaker, settings);
    }
    let began = Operation::begin(request, &mut || speaker.waiting());
    let mut operation = match began {
        Ok(operation) => operation,
        Err(refusal) => return failed(speaker, &refusal.problems, &refusal.sources),
    };
    if matches!(kind, Kind::Plan | Kind::Refresh) {
        speaker.report(operation.about_encryption(), operation.sources());
    }
    if kind == Kind::Refresh && operation.state().iter().next().is_none() {
        let detail = "The state has no objects yet, so there is nothing to read again.";
        operation.notes.push(Diagnostic::warning("Empty or non-existent state", detail));
    }
    let stop = signals::Stop::watch();
    let (plan, problems) = {
        let events = |event| speaker.event(&event);
        let tick = || speaker.tick(stop.interrupt());
        let tick = Some(Tick { every: speaker.beat(), run: &tick });
        operation.plan(&options.plan, Watch { events: &events, interrupt: stop.interrupt(), tick })
    };
    speaker.rest(stop.interrupt());
    let mut notes = std::mem::take(&mut operation.notes);
    notes.extend(problems);
    let said = uses(&notes);
    let Some(plan) = plan else {
        return close(speaker, operation, notes, 1);
    };
    if kind == Kind::Plan {
        return planned(speaker, args, settings, operation, plan, notes);
    }
    let has_failed = notes.has_errors() || plan.errored;
    let is_empty = plan.changes.is_empty() && plan.outputs.is_empty();
    if kind != Kind::Refresh && !(has_failed && is_empty) {
        speaker.plan(&plan, &**settings.providers());
    }
    if has_failed {
        return close(speaker, operation, notes, 1);
    }
    if kind == Kind::Refresh {
        let report = operation.keep(&plan);
        return applied(speaker, operation, report, notes, kind);
    }
    if !options.auto_approve && plan.can_apply() {
        speaker.report(&std::mem::take(&mut notes), operation.sources());
        if !approved(speaker, args, &plan, &stop)? {
            return close(speaker, operation, notes, 1);
        }
    } else {
        // Checks are made again while applying; what they say then is what counts.
        notes = without_checks(notes, plan.mode);
    }
    change(speaker, operation, &plan, notes, (kind, options.tolerant), &stop, &said)
}

/// Drops the results of checks that applying reports again. With -refresh-only it repeats failed assertions only.
fn without_checks(mut notes: Diagnostics, mode: Mode) -> Diagnostics {
    notes.retain(|problem| {
        let Some(extra) = &problem.extra else { return true };
        !extra.of_check || mode == Mode::RefreshOnly && !extra.failed_assertion
    });
    notes
}

/// Keeps and shows a plan that is not applied. What could be planned before something went wrong is kept and shown too.
fn planned(
    speaker: &mut Speaker<'_>,
    args: &Args,
    settings: &Settings,
    operation: Operation<'_>,
    mut plan: Plan,
    mut notes: Diagnostics,
) -> Outcome {
    let named = |flag| args.text(flag).filter(|path| !path.is_empty());
    let (out, generated) = (named("out"), named("generate-config-out"));
    if let Some(path) = out {
        plan = match operation.save_plan(plan, Path::new(path)) {
            Ok(plan) => plan,
            Err(problem) => {
                notes.push(problem);
                return close(speaker, operation, notes, 1);
            }
        };
    }
    let generated = generated.filter(|_| plan.changes.iter().any(|change| change.generated_config.is_some()));
    if let Some(problem) = generated.and_then(|path| write_generated(&plan, Path::new(path))) {
        notes.push(problem);
        return close(speaker, operation, notes, 1);
    }
    speaker.plan(&plan, &**settings.providers());
    let changes = plan.can_apply();
    let code = match notes.has_errors() || plan.errored {
        true => 1,
        false if changes && args.is_on("detailed-exitcode") => 2,
        false => 0,
    };
    let code = close(speaker, operation, notes, code)?;
    if code != 1 && changes {
        speaker.next_steps(out, generated);
    }
    Ok(code)
}

/// Uses of deprecated things, by message and place.
type Uses = HashSet<Option<(EcoString, Option<Span>)>>;

fn use_of(problem: &Diagnostic) -> Option<(EcoString, Option<Span>)> {
    problem.deprecation().map(|_| (problem.detail.clone(), problem.subject))
}

/// What planning said about deprecated things, which applying does not repeat.
fn uses(problems: &Diagnostics) -> Uses {
    problems.iter().map(use_of).filter(Option::is_some).collect()
}

/// Makes the changes of a plan.
fn change(
    speaker: &mut Speaker<'_>,
    mut operation: Operation<'_>,
    plan: &Plan,
    mut notes: Diagnostics,
    (kind, tolerant): (Kind, bool),
    stop: &signals::Stop,
    said: &Uses,
) -> Outcome {
    let mut report = {
        let events = |event| speaker.event(&event);
        let tick = || speaker.tick(stop.interrupt());
        let tick = Some(Tick { every: speaker.beat(), run: &tick });
        let provisioners = LocalProvisioners::new(stop.now_flag());
        speaker.expect(plan);
        operation.apply(plan, &provisioners, Watch { events: &events, interrupt: stop.interrupt(), tick })
    };
    speaker.rest(stop.interrupt());
    let problems = std::mem::take(&mut report.problems);
    notes.extend(problems.into_iter().filter(|problem| !said.contains(&use_of(problem))));
    let targets = Targets { targets: plan.targets.clone(), excludes: plan.excludes.clone() };
    let went_well = !notes.has_errors();
    notes.extend(targets.apply_warnings());
    if plan.mode == Mode::Destroy && report.counts.forgotten > 0 && went_well && !tolerant {
        let detail = "Everything else was destroyed, but these objects were only forgotten, because their lifecycle says so: \
                      they still exist and are not managed any more. With -suppress-forget-errors this is no error.";
        notes.push(Diagnostic::error("Destroy was successful but left behind forgotten instances", detail));
    }
    applied(speaker, operation, report, notes, kind)
}

/// Tells what came of it.
fn applied(
    speaker: &mut Speaker<'_>,
    operation: Operation<'_>,
    report: Report,
    mut notes: Diagnostics,
    kind: Kind,
) -> Outcome {
    notes.extend(report.problems);
    if let Some(bytes) = report.unsaved {
        speaker.raw(&String::from_utf8_lossy(&bytes));
    }
    let code = u8::from(notes.has_errors());
    let code = close(speaker, operation, notes, code)?;
    if code == 0 {
        speaker.applied(&report.counts, kind == Kind::Destroy, kind == Kind::Refresh, &report.outputs);
    }
    Ok(code)
}

/// Applies a plan from a file.
fn apply_saved(speaker: &mut Speaker<'_>, args: &Args, settings: &Settings, options: &Options, path: &Path) -> Outcome {
    let saved: SavedPlan = match read_plan(path, &settings.request(Purpose::Use)) {
        Ok(saved) => saved,
        Err(problem) => return failed(speaker, &problem.into(), &Sources::new()),
    };
    let workspace = saved.workspace.to_string();
    let mut load = settings.request(Purpose::Use);
    load.test_dir = None;
    load.snapshot = Some(&saved.snapshot);
    if load.workspace != workspace {
        load.workspace = &workspace;
    }
    let request = OperationRequest {
        load,
        ask: if speaker.is_json() { None } else { ask(args) },
        state: options.state.clone(),
        name: "OperationTypeApply",
        parallelism: options.parallelism,
        validate: true,
    };
    tell_overrides(speaker, settings);
    let operation = match Operation::begin(request, &mut || speaker.waiting()) {
        Ok(operation) => operation,
        Err(refusal) => return failed(speaker, &refusal.problems, &refusal.sources),
    };
    if let Err(problems) = operation.check_fresh(&saved) {
        return close(speaker, operation, problems, 1);
    }
    if saved.plan.errored {
        let detail = "The plan was saved although making it failed, so that it can be looked at. Mend what was wrong and make \
                      a new plan.";
        let problem = Diagnostic::error("Cannot apply incomplete plan", detail);
        return close(speaker, operation, problem.into(), 1);
    }
    speaker.saved_plan(&saved.plan);
    let contradictions = operation.contradictions();
    if contradictions.has_errors() {
        return close(speaker, operation, contradictions, 1);
    }
    let stop = signals::Stop::watch();
    let notes = operation.repeated_warnings(&saved.plan);
    let said = uses(&notes);
    change(speaker, operation, &saved.plan, notes, (Kind::Apply, options.tolerant), &stop, &said)
}

/// Lets others at the state, and tells what there is to tell.
fn close(speaker: &mut Speaker<'_>, operation: Operation<'_>, mut notes: Diagnostics, code: u8) -> Outcome {
    let (found, sources) = operation.end();
    notes.extend(found);
    let code = if notes.has_errors() { 1 } else { code };
    speaker.report(&notes, &sources);
    Ok(code)
}

/// Says that providers under development are used, before anything else is said.
fn tell_overrides(speaker: &mut Speaker<'_>, settings: &Settings) {
    if let Some(warning) = settings.providers().overrides_warning() {
        speaker.report(&warning.into(), &Sources::new());
    }
}

fn failed(speaker: &mut Speaker<'_>, problems: &Diagnostics, sources: &Sources) -> Outcome {
    speaker.report(problems, sources);
    Ok(1)
}

/// Asks whether the changes shall be made.
fn approved(speaker: &mut Speaker<'_>, args: &Args, plan: &Plan, stop: &signals::Stop) -> Result<bool, Failure> {
    if !may_ask(args) {
        let detail = "Nobody can be asked whether the changes shall be made. Use -auto-approve, or apply a saved plan.";
        return Err(Failure::failed("Cannot apply without approval", detail));
    }
    let (question, more) = match plan.mode {
        Mode::Destroy => (
            "Do you really want to destroy all resources?",
            "Yuba will destroy everything it manages here, as shown above. This cannot be undone.\n  Only 'yes' will be \
             accepted to confirm.",
        ),
        Mode::RefreshOnly => (
            "Would you like to update the state to reflect these detected changes?",
            "Yuba will write the changes shown above to the state without changing anything else.\n  Only 'yes' will be \
             accepted to confirm.",
        ),
        Mode::Normal => (
            "Do you want to perform these actions?",
            "Yuba will perform the actions described above.\n  Only 'yes' will be accepted to approve.",
        ),
    };
    speaker.raw(&format!("\n{}\n  {more}\n\n  {} ", speaker.bold(question), speaker.bold("Enter a value:")));
    let _ = std::io::stdout().flush();
    let answer = line(stop);
    speaker.raw("\n");
    if answer.is_none() && !stop.interrupt().is_raised() {
        let detail = "Standard input ended before the question was answered. Use -auto-approve, or apply a saved plan.";
        return Err(Failure::failed("error asking for approval: EOF", detail));
    }
    if answer.is_some_and(|line| line.trim() == "yes") {
        return Ok(true);
    }
    speaker.raw(match plan.mode {
        Mode::Destroy => "\nDestroy cancelled.\n",
        Mode::Normal | Mode::RefreshOnly => "\nApply cancelled.\n",
    });
    Ok(false)
}

/// A line from standard input, unless it ends or somebody asks to stop before.
fn line(stop: &signals::Stop) -> Option<String> {
    let (sender, answers) = std::sync::mpsc::channel();
    // It may wait for ever: nobody waits for it.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line).unwrap_or(0);
        let _ = sender.send((read > 0).then_some(line));
    });
    loop {
        match answers.recv_timeout(Duration::from_millis(50)) {
            Ok(line) => return line,
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) if stop.interrupt().is_raised() => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Writes configuration for imported objects that have none.
fn write_generated(plan: &Plan, path: &Path) -> Option<Diagnostic> {
    let failed = |error: std::io::Error| {
        let detail =
            format!("The configuration for imported objects could not be written to {}: {error}.", path.display());
        Diagnostic::error("Failed to write generated configuration", detail)
    };
    let mut file = match std::fs::File::options().write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(error) => return Some(failed(error)),
    };
    let mut text = yuba_engine::generate::FILE_HEADER.to_owned();
    for change in &plan.changes {
        if let Some(block) = &change.generated_config {
            let id = change.importing.as_ref().and_then(|importing| importing.id.as_deref());
            text += &yuba_engine::generate::in_file(block, id);
        }
    }
    file.write_all(text.as_bytes()).err().map(failed)
}

/// From flags to options; what makes no sense is refused.
fn options(args: &Args, kind: Kind) -> Result<Options, Failure> {
    let changes = matches!(kind, Kind::Apply | Kind::Destroy);
    if changes && args.is_on("json") && !args.is_on("auto-approve") && args.positional.is_empty() {
        let detail = "Nobody can be asked with -json whether the changes shall be made. Use -auto-approve, or apply a saved \
                      plan.";
        return Err(Failure::usage("Plan file or auto-approve required", detail));
    }
    let usage = |summary: &str, detail: &str| Failure::usage(summary, detail);
    let most = usize::from(kind == Kind::Apply);
    if args.positional.len() > most {
        let detail = match kind {
            Kind::Apply => "At most one plan file can be given.",
            _ => "This command takes no arguments. Did you mean to use -chdir?",
        };
        return Err(usage("Too many command line arguments", detail));
    }
    let destroys = args.is_on("destroy") || kind == Kind::Destroy;
    let refresh_only = args.is_on("refresh-only");
    let refresh = args.is_on("refresh");
    if kind == Kind::Destroy && args.is_on("destroy") && args.text("destroy").is_some() {
        let detail = "The command destroys anyway: leave -destroy out.";
        return Err(usage("Invalid mode option", detail));
    }
    let mut plan = PlanOptions {
        mode: match (destroys, refresh_only) {
            (true, _) => Mode::Destroy,
            (_, true) => Mode::RefreshOnly,
            (false, false) => Mode::Normal,
        },
        refresh,
        relevant: kind == Kind::Plan && args.text("out").is_some_and(|path| !path.is_empty()),
        generate_config: args.table_has("generate-config-out")
            && args.text("generate-config-out").is_some_and(|path| !path.is_empty()),
        ..PlanOptions::default()
    };
    addresses(args, &mut plan, destroys && refresh_only)?;
    if kind == Kind::Refresh {
        // The command takes the options of a plan, and has a use only for targets.
        (plan.mode, plan.refresh) = (Mode::Normal, true);
        plan.force_replace.clear();
    }
    let parallelism = parallelism(args)?;
    let state = state_access::flags(args)?;
    let auto_approve = changes && args.is_on("auto-approve");
    let tolerant = args.table_has("suppress-forget-errors") && args.is_on("suppress-forget-errors");
    Ok(Options { plan, state, parallelism, auto_approve, tolerant })
}

/// Addresses of objects that options name, and what contradicts them.
fn addresses(args: &Args, plan: &mut PlanOptions, two_modes: bool) -> Result<(), Failure> {
    let mut sources = Sources::new();
    let mut problems = Diagnostics::new();
    let has = |names: [&str; 2]| args.iter().any(|(name, _)| names.contains(&name));
    let contradicts = has(["target", "target-file"]) && has(["exclude", "exclude-file"]);
    if contradicts {
        let detail = "-target and -exclude exclude each other: choose one of them.";
        problems.push(Diagnostic::error("Invalid combination of arguments", detail));
    }
    for (name, text) in args.iter().filter(|_| !contradicts) {
        let (found, wrong) = match name {
            "target" | "exclude" => parse_option(name, &[text]),
            "target-file" | "exclude-file" => read_targets(&mut sources, Path::new(text), name),
            _ => continue,
        };
        problems.extend(wrong);
        match name {
            "target" | "target-file" => plan.targets.extend(found),
            _ => plan.excludes.extend(found),
        }
    }
    let in_files = problems.iter().any(|problem| problem.subject.is_some());
    for (_, text) in args.iter().filter(|(name, _)| *name == "replace") {
        // What is shown of such an address is its text.
        let file = Sources::new().add(SourceFile::new("<replace>", text.as_bytes()));
        match AbsResourceInstance::parse_text(file, text) {
            Ok(addr) if addr.resource.mode != ResourceMode::Managed => {
                problems.push(invalid_replace(text, "Only managed resources can be replaced."));
            }
            Ok(addr) => plan.force_replace.push(addr),
            Err(found) => {
                let reasons: Vec<_> = found.iter().map(|problem| problem.detail.to_string()).collect();
                problems.push(invalid_replace(text, &reasons.join(" ")));
            }
        }
    }
    if two_modes {
        let detail = "-destroy and -refresh-only exclude each other: choose one of them.";
        problems.push(Diagnostic::error("Incompatible plan mode options", detail));
    } else if plan.mode == Mode::RefreshOnly && !plan.refresh {
        let detail =
            "With -refresh-only nothing is done but reading what exists, so -refresh=false makes no sense with it.";
        problems.push(Diagnostic::error("Incompatible refresh options", detail));
    }
    match problems.has_errors() {
        false => Ok(()),
        true if in_files => Err(Failure::Failed(problems, sources)),
        true => Err(Failure::Usage(problems)),
    }
}

/// How many things are done at the same time; ten unless something is said.
pub(crate) fn parallelism(args: &Args) -> Result<usize, Failure> {
    let Some(text) = args.text("parallelism") else { return Ok(PARALLELISM) };
    match text.parse::<i64>().map(usize::try_from) {
        Ok(Ok(0)) => Ok(PARALLELISM),
        Ok(Ok(count)) => Ok(count),
        Ok(Err(_)) => {
            let detail = format!("-parallelism must be a number above zero, and {text} is none.");
            Err(Failure::failed("Invalid parallelism value", detail))
        }
        Err(_) => {
            let detail = format!("invalid value {text:?} for flag -parallelism: it must be a whole number");
            Err(Failure::usage("Failed to parse command-line flags", detail))
        }
    }
}

/// What is wrong with the address of `-replace`.
fn invalid_replace(text: &str, reason: &str) -> Diagnostic {
    Diagnostic::error(format!("Invalid force-replace address {text:?}"), reason)
}

/// Addresses from a file.
fn read_targets(sources: &mut Sources, path: &Path, flag: &str) -> (Vec<Target>, Diagnostics) {
    match std::fs::read(path) {
        Ok(bytes) => {
            let file = sources.add(SourceFile::new(path.display().to_string(), bytes.as_slice()));
            parse_file(file, &bytes)
        }
        Err(error) => {
            let detail = format!("The file {} of -{flag} cannot be read: {error}.", path.display());
            (Vec::new(), Diagnostic::error("Failed to read file", detail).into())
        }
    }
}
