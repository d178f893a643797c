//! Settings of `plan`, `apply`, `destroy` and `refresh`, resolved once from flags and environment.

use std::path::PathBuf;

use yuba_engine::PlanOptions;
use yuba_eval::validate::PARALLELISM;
use yuba_net::Environment;
use yuba_plan::Mode;
use yuba_session::backend::StateFlags;
use yuba_session::{ConfigurationCheck, EarlyProcesses, ForgottenInstances, LockOptions, RemoteWorkspaces};
use yuba_syntax::Sources;
use yuba_syntax::files::Files;

use super::{addresses, diagnostics};
use crate::exit::Failure;
use crate::flags::Args;
use crate::settings::Prompts;
use crate::state_access;

/// A command that plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Shows or saves the plan.
    Plan,
    /// Applies the plan.
    Apply,
    /// Destroys all objects.
    Destroy,
    /// Refreshes the state.
    Refresh,
}

impl Kind {
    /// The name of the operation in the lock of the state.
    fn operation(self) -> &'static str {
        match self {
            Kind::Plan => "OperationTypePlan",
            Kind::Apply | Kind::Destroy => "OperationTypeApply",
            Kind::Refresh => "OperationTypeRefresh",
        }
    }
}

/// Settings of a command that plans.
pub(super) struct OperationSettings {
    pub(super) kind: Kind,
    pub(super) plan: PlanOptions,
    pub(super) state: StateFlags,
    pub(super) parallelism: usize,
    pub(super) prompts: Prompts,
    /// `-auto-approve`
    pub(super) auto_approve: bool,
    /// `-suppress-forget-errors`
    pub(super) forgotten: ForgottenInstances,
    /// The plan file that is applied.
    pub(super) saved_plan: Option<PathBuf>,
    /// `-out`
    pub(super) out: Option<PathBuf>,
    /// `-generate-config-out`
    pub(super) generated: Option<PathBuf>,
    /// `-detailed-exitcode`
    pub(super) detailed_exit_code: bool,
}

impl OperationSettings {
    /// Resolves the settings of a command. Flags that contradict each other are refused.
    /// Reads the files of `-target-file` and `-exclude-file`.
    pub(super) fn resolve(
        args: &Args,
        environment: &Environment,
        files: &dyn Files,
        kind: Kind,
    ) -> Result<OperationSettings, Failure> {
        check_arguments(args, kind)?;
        let path = |flag: &str| {
            let given = args.table_has(flag).then(|| args.text(flag)).flatten();
            given.filter(|path| !path.is_empty()).map(PathBuf::from)
        };
        let is_on = |flag: &str| args.table_has(flag) && args.is_on(flag);
        let (out, generated) = (path("out"), path("generate-config-out"));
        let mut plan = PlanOptions {
            mode: match (is_on("destroy") || kind == Kind::Destroy, is_on("refresh-only")) {
                (true, _) => Mode::Destroy,
                (_, true) => Mode::RefreshOnly,
                (false, false) => Mode::Normal,
            },
            refresh: args.is_on("refresh"),
            relevant: kind == Kind::Plan && out.is_some(),
            generate_config: generated.is_some(),
            ..PlanOptions::default()
        };
        read_addresses(args, files, &mut plan)?;
        if kind == Kind::Refresh {
            // The command accepts the options of a plan, and uses the targets only.
            (plan.mode, plan.refresh) = (Mode::Normal, true);
            plan.force_replace.clear();
        }
        Ok(OperationSettings {
            kind,
            plan,
            parallelism: parallelism(args)?,
            state: state_access::flags(args)?,
            prompts: Prompts::resolve(args, environment),
            auto_approve: is_on("auto-approve"),
            forgotten: match is_on("suppress-forget-errors") {
                true => ForgottenInstances::Accepted,
                false => ForgottenInstances::Error,
            },
            saved_plan: args.positional.first().map(PathBuf::from),
            out,
            generated,
            detailed_exit_code: is_on("detailed-exitcode"),
        })
    }

    /// Settings for locking the state.
    pub(super) fn lock_options(&self) -> LockOptions {
        LockOptions {
            operation: self.kind.operation(),
            state: self.state.clone(),
            parallelism: self.parallelism,
            check: ConfigurationCheck::Full,
            remote: RemoteWorkspaces::Refused,
            // A part of the configuration may use a part of the provider instances.
            processes: match self.plan.mode == Mode::Normal
                && self.plan.targets.is_empty()
                && self.plan.excludes.is_empty()
            {
                true => EarlyProcesses::ForPlan,
                false => EarlyProcesses::ForValidation,
            },
        }
    }
}

/// Refuses arguments and modes that the command does not support.
fn check_arguments(args: &Args, kind: Kind) -> Result<(), Failure> {
    let refuse = |problem: yuba_syntax::Diagnostic| Err(Failure::Usage(problem.into()));
    let changes = matches!(kind, Kind::Apply | Kind::Destroy);
    if changes && args.is_on("json") && !args.is_on("auto-approve") && args.positional.is_empty() {
        return refuse(diagnostics::approval_required_with_json());
    }
    match (kind, args.positional.len()) {
        (Kind::Apply, 2..) => return refuse(diagnostics::several_plan_files()),
        (Kind::Plan | Kind::Destroy | Kind::Refresh, 1..) => return refuse(diagnostics::takes_no_arguments()),
        _ => {}
    }
    if kind == Kind::Destroy && args.is_on("destroy") && args.text("destroy").is_some() {
        return refuse(diagnostics::destroys_anyway());
    }
    Ok(())
}

/// Reads the addresses in flags, and refuses modes that contradict each other.
fn read_addresses(args: &Args, files: &dyn Files, plan: &mut PlanOptions) -> Result<(), Failure> {
    let addresses::InvalidFlags { mut problems, sources } = addresses::read(args, files, plan);
    let in_files = problems.iter().any(|problem| problem.subject.is_some());
    if plan.mode == Mode::Destroy && args.is_on("refresh-only") {
        problems.push(diagnostics::destroy_with_refresh_only());
    } else if plan.mode == Mode::RefreshOnly && !plan.refresh {
        problems.push(diagnostics::refresh_only_without_refresh());
    }
    match problems.has_errors() {
        false => Ok(()),
        true if in_files => Err(Failure::Failed(problems, sources)),
        true => Err(Failure::Usage(problems)),
    }
}

/// `-parallelism`: number of operations that run at the same time.
pub(crate) fn parallelism(args: &Args) -> Result<usize, Failure> {
    let Some(text) = args.text("parallelism") else { return Ok(PARALLELISM) };
    match text.parse::<i64>().map(usize::try_from) {
        Ok(Ok(0)) => Ok(PARALLELISM),
        Ok(Ok(count)) => Ok(count),
        Ok(Err(_)) => Err(Failure::Failed(diagnostics::negative_parallelism(text).into(), Sources::new())),
        Err(_) => Err(Failure::Usage(diagnostics::parallelism_not_a_number(text).into())),
    }
}
