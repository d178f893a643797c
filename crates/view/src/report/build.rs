//! From a plan to a report.

use ecow::{EcoString, eco_format};
use foldhash::HashMap;
use yuba_addrs::{AbsProviderConfig, AbsResourceInstance, InstanceKey};
use yuba_eval::ConfigTree;
use yuba_eval::graph::RefGraph;
use yuba_plan::{Action, ActionReason, Importing, OutputChange, Plan, PlannedWarning, ResourceChange};
use yuba_provider::Providers;
use yuba_state::{CheckResult, DeposedKey};
use yuba_syntax::{SourceFile, Sources};
use yuba_value::{Path, PathStep, Value};

use super::counts::Counting;
use super::secrets::Secrets;
use super::tree::{DiffKind, DiffMark, DiffNode, Kept, NodeName, of_block, of_values};
use super::{
    ChangeAction, Links, PlanTotals, ReplaceOrder, Report, ReportAddress, ReportChange, ReportCheck, ReportOutput,
    ReportReason, ReportSubject, ReportWarning, UNKNOWN, copies, groups, relations,
};
use crate::change::node::Data;
use crate::change::{Change, Node, Paths, Step};
use crate::plan::{Relevant, comment, deprecation_note, is_shown};
use crate::state_json::{KnownSchemas, schema_of};

/// Tool and version.
pub(super) const TOOL: &str = concat!("yuba ", env!("CARGO_PKG_VERSION"));

/// The sources of a report of a plan.
#[derive(Clone, Copy)]
pub struct PlanSources<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The configuration of the plan.
    pub tree: &'a ConfigTree,
    /// The references of the configuration. Without them the report has the dependencies that the state records.
    pub graph: &'a RefGraph<'a>,
    /// The files of the configuration.
    pub files: &'a Sources,
    /// The schemas of the providers.
    pub schemas: &'a dyn Providers,
}

impl Report {
    /// A report of a plan, without sensitive values.
    pub fn of_plan(from: &PlanSources<'_>) -> Report {
        let plan = from.plan;
        let mut schemas = KnownSchemas::new(from.schemas);
        let mut secrets = Secrets::default();
        let mut report = Report {
            subject: ReportSubject::Plan,
            tool: TOOL.into(),
            workspace: plan.workspace.clone(),
            mode: plan.mode,
            timestamp: plan.timestamp.clone(),
            errored: plan.errored,
            applyable: plan.can_apply(),
            ..Report::default()
        };
        let mut counting = Counting::default();
        let mut shown: Vec<&ResourceChange> = Vec::new();
        for change in &plan.changes {
            if is_shown(change) {
                let built = change_of(change, None, &mut schemas, &mut secrets);
                counting.change(&built);
                report.changes.push(built);
                shown.push(change);
            } else if change.action == Action::NoOp {
                let resource = &change.addr.resource;
                counting.unchanged(&module(&change.addr), resource.mode, &resource.kind);
            }
        }
        counting.finish(&mut report);
        report.totals = PlanTotals::of(&report.changes);
        report.drift = drift(plan, &mut schemas, &mut secrets);
        report.outputs = plan.outputs.iter().filter_map(|output| output_of(output, &mut secrets)).collect();
        report.checks = checks(&plan.checks);
        report.warnings = warnings(&plan.warnings, from.files);
        groups::find(&mut report);
        relations::of_plan(&mut report, from, &shown);
        secrets.remove_from(&mut report);
        report
    }
}

fn module(addr: &AbsResourceInstance) -> EcoString {
    if addr.module.is_root() { EcoString::new() } else { eco_format!("{}", addr.module) }
}

/// The parts of an address.
pub(super) fn address(
    addr: &AbsResourceInstance,
    deposed: Option<&DeposedKey>,
    provider: &AbsProviderConfig,
    provider_key: Option<&InstanceKey>,
) -> ReportAddress {
    ReportAddress {
        text: eco_format!("{addr}"),
        deposed: deposed.map(|key| key.as_str().into()),
        module: module(addr),
        mode: addr.resource.mode,
        kind: addr.resource.kind.clone(),
        name: addr.resource.name.clone(),
        key: addr.key.clone(),
        provider: eco_format!("{}", provider.provider),
        provider_alias: provider.alias.clone(),
        provider_key: provider_key.cloned(),
    }
}

/// A change. `relevant` are the paths of attributes that the configuration depends on.
fn change_of<'p>(
    change: &'p ResourceChange,
    relevant: Option<Paths<'p>>,
    schemas: &mut KnownSchemas<'_>,
    secrets: &mut Secrets,
) -> ReportChange {
    let provider = schemas.provider(&change.provider.provider);
    let schema = schema_of(provider.as_deref(), &change.addr.resource).map(|schema| &schema.block);
    let (before, after) = match schema {
        Some(schema) => (Node::of_block(&change.before, schema), Node::of_block(&change.after, schema)),
        None => (Node::from(Data::Null), Node::from(Data::Null)),
    };
    secrets.collect(&before);
    secrets.collect(&after);
    let whole = Change { replace: Paths::new(&change.required_replace), ..Change::new(Some(&before), Some(&after)) };
    let (mut diff, mut is_relevant) = (without_schema(change), relevant.is_some());
    if let Some(schema) = schema {
        let kept = if change.importing.is_some() { Kept::Shown } else { Kept::Counted };
        diff = of_block(&whole.by_block(schema), schema, kept);
        is_relevant =
            relevant.is_some_and(|relevant| Change { relevant, ..whole.clone() }.by_block(schema).step != Step::Keep);
    }
    copies::hide(&mut diff, &[&before, &after]);
    mark_replaced(&mut diff, &change.required_replace);
    let (action, order) = action(change.action);
    let forces = match action {
        ChangeAction::Replace => change.required_replace.iter().map(|path| shown_path(path, &before, &after)).collect(),
        _ => Vec::new(),
    };
    ReportChange {
        address: address(&change.addr, change.deposed.as_ref(), &change.provider, change.provider_key.as_ref()),
        action,
        order,
        reason: reason(change, &forces),
        moved_from: change.moved_from.as_ref().map(|from| eco_format!("{from}")),
        import: change.importing.as_ref().map(|importing| import(importing, secrets)),
        generated: change.generated_config.clone(),
        forces,
        risk: action.risk(),
        dependents: Links::default(),
        depends: Links::default(),
        group: None,
        disabled: matches!(
            change.reason,
            ActionReason::DeleteBecauseEnabledFalse | ActionReason::DeleteBecauseModuleEnabledFalse(_)
        ),
        relevant: is_relevant,
        diff,
    }
}

/// The difference of an object whose schema is not available: which of its values are sensitive is unknown.
fn without_schema(change: &ResourceChange) -> DiffNode {
    let mark = match (change.before.is_null(), change.after.is_null()) {
        (true, false) => DiffMark::Added,
        (false, true) => DiffMark::Removed,
        _ if change.action == Action::NoOp => DiffMark::Same,
        _ => DiffMark::Changed,
    };
    let note = Some(eco_format!("The schema of {} is not available.", change.addr.resource.kind));
    DiffNode { kind: DiffKind::Block, mark, sensitive: true, note, ..DiffNode::default() }
}

/// Marks whole attributes that force a replacement. For attributes of any type the difference does not do that.
fn mark_replaced(diff: &mut DiffNode, paths: &[Path]) {
    for path in paths {
        let [PathStep::Attr(attribute)] = path.0.as_slice() else { continue };
        let is_it =
            |node: &&mut DiffNode| node.name.as_ref().is_some_and(|name| *name == NodeName::Text(attribute.clone()));
        if let Some(node) = diff.children.iter_mut().find(is_it) {
            node.forces = true;
        }
    }
}

fn action(action: Action) -> (ChangeAction, Option<ReplaceOrder>) {
    match action {
        Action::NoOp => (ChangeAction::NoOp, None),
        Action::Create => (ChangeAction::Create, None),
        Action::Read => (ChangeAction::Read, None),
        Action::Update => (ChangeAction::Update, None),
        Action::DeleteThenCreate => (ChangeAction::Replace, Some(ReplaceOrder::DestroyFirst)),
        Action::CreateThenDelete => (ChangeAction::Replace, Some(ReplaceOrder::CreateFirst)),
        Action::ForgetThenCreate => (ChangeAction::Replace, Some(ReplaceOrder::ForgetFirst)),
        Action::Delete => (ChangeAction::Destroy, None),
        Action::Forget => (ChangeAction::Forget, None),
    }
}

/// The reason as people read it above a change.
fn reason(change: &ResourceChange, forces: &[EcoString]) -> Option<ReportReason> {
    let code = change.reason.name();
    let text: EcoString = match change.reason {
        ActionReason::None => return None,
        ActionReason::ReplaceBecauseTainted => "it is tainted".into(),
        ActionReason::ReplaceByRequest => "as requested with -replace".into(),
        ActionReason::ReplaceByTriggers => "due to changes in replace_triggered_by".into(),
        ActionReason::ReplaceBecauseCannotUpdate if forces.is_empty() => "the provider cannot update it".into(),
        ActionReason::ReplaceBecauseCannotUpdate => {
            eco_format!("the provider cannot update {}", forces.join(", "))
        }
        ActionReason::ForgotBecauseDestroyFalseInState => {
            "because lifecycle.destroy = false was configured before this resource was removed from the configuration"
                .into()
        }
        ActionReason::ForgotBecauseDestroyFalseInConfig => {
            "because lifecycle.destroy = false is set in the configuration".into()
        }
        _ => comment::reason(change)?.into(),
    };
    Some(ReportReason { code, text })
}

/// A path in an object as text. It ends before keys and elements of sensitive values.
fn shown_path(path: &Path, before: &Node, after: &Node) -> EcoString {
    let mut out = EcoString::new();
    let (mut before, mut after) = (Some(before), Some(after));
    for step in &path.0 {
        if [before, after].iter().flatten().any(|node| node.sensitive) {
            break;
        }
        let (name, index) = match step {
            PathStep::Attr(name) => (Some(name.as_str()), None),
            PathStep::Index(key) if !key.marks().is_empty() => break,
            PathStep::Index(key) => {
                (key.as_str().map(EcoString::as_str), key.as_number().and_then(yuba_value::Number::to_u64))
            }
        };
        match (step, name, index) {
            (PathStep::Attr(_), Some(name), _) if out.is_empty() => out.push_str(name),
            (PathStep::Attr(_), Some(name), _) => out.push_str(&eco_format!(".{name}")),
            (_, Some(key), _) => out.push_str(&eco_format!("[{}]", yuba_value::quote(key))),
            (_, None, Some(index)) => out.push_str(&eco_format!("[{index}]")),
            // An element of a set is its own key.
            (_, None, None) => {
                out.push_str("[...]");
                break;
            }
        }
        let next = |node: Option<&'_ Node>| -> Option<usize> {
            let node = node?;
            match (name, index) {
                (Some(name), _) => node.as_members()?.binary_search_by(|(key, _)| key.as_str().cmp(name)).ok(),
                (None, index) => {
                    usize::try_from(index?).ok().filter(|at| node.as_sequence().is_some_and(|s| *at < s.len()))
                }
            }
        };
        let (b, a) = (next(before), next(after));
        before = child(before, b);
        after = child(after, a);
    }
    out
}

fn child(node: Option<&Node>, at: Option<usize>) -> Option<&Node> {
    let (node, at) = (node?, at?);
    match node.as_members() {
        Some(members) => members.get(at).map(|(_, node)| node),
        None => node.as_sequence()?.get(at),
    }
}

fn import(importing: &Importing, secrets: &mut Secrets) -> EcoString {
    if let Some(id) = importing.id.as_ref().filter(|id| !id.is_empty()) {
        return id.clone();
    }
    match &importing.identity {
        Some(identity) if !importing.unknown => identity_text(identity, secrets),
        _ => UNKNOWN.into(),
    }
}

fn identity_text(identity: &Value, secrets: &mut Secrets) -> EcoString {
    let node = Node::of(identity);
    secrets.collect(&node);
    let Some(members) = node.as_members().filter(|_| !node.sensitive) else { return super::SENSITIVE.into() };
    let mut out = EcoString::new();
    for (name, value) in members {
        let value = of_values(None, Some(value));
        let gap = if out.is_empty() { "" } else { ", " };
        out.push_str(&eco_format!("{gap}{name} = {}", value.after.unwrap_or_else(|| "{...}".into())));
    }
    out
}

/// Changes outside of Yuba, with all their attributes.
fn drift(plan: &Plan, schemas: &mut KnownSchemas<'_>, secrets: &mut Secrets) -> Vec<ReportChange> {
    let relevant = Relevant::of(plan);
    let mut out = Vec::new();
    for change in plan.drift.iter().filter(|change| is_shown(change)) {
        let built = change_of(change, relevant.paths(change), schemas, secrets);
        out.push(ReportChange { reason: None, disabled: false, ..built });
    }
    out
}

fn output_of(output: &OutputChange, secrets: &mut Secrets) -> Option<ReportOutput> {
    let node = |value: &Value| {
        let node = Node::of(value);
        Node { sensitive: node.sensitive || output.sensitive || output.sensitive_before, ..node }
    };
    let (before, after) = (node(&output.before), node(&output.after));
    secrets.collect(&before);
    secrets.collect(&after);
    let step = Change::new(Some(&before), Some(&after)).by_look().step;
    let mut diff = of_values(Some(&before), Some(&after));
    let note = deprecation_note(output);
    let action = match step {
        Step::Keep if note.is_some() => ChangeAction::Update,
        Step::Keep => return None,
        Step::Create => ChangeAction::Create,
        Step::Update => ChangeAction::Update,
        Step::Delete => ChangeAction::Destroy,
    };
    if step == Step::Keep {
        (diff.mark, diff.note) = (DiffMark::Changed, note.map(EcoString::from));
    }
    Some(ReportOutput {
        name: output.name.clone(),
        action,
        sensitive: diff.sensitive,
        diff: DiffNode { forces: false, ..diff },
    })
}

/// The results of all objects of checks.
pub(super) fn checks(results: &[CheckResult]) -> Vec<ReportCheck> {
    let mut out = Vec::new();
    for result in results {
        if result.objects.is_empty() {
            let (address, status) = (result.config_addr.clone(), result.status.as_str());
            out.push(ReportCheck { address, status, messages: Vec::new() });
        }
        out.extend(result.objects.iter().map(|object| ReportCheck {
            address: object.addr.clone(),
            status: object.status.as_str(),
            messages: object.failure_messages.clone(),
        }));
    }
    out
}

fn warnings(warnings: &[PlannedWarning], files: &Sources) -> Vec<ReportWarning> {
    let files: HashMap<&str, &SourceFile> = files.iter().map(|(_, file)| (&*file.name, file)).collect();
    let some = |text: &EcoString| (!text.is_empty()).then(|| text.clone());
    let line = |warning: &PlannedWarning| Some(files.get(warning.file.as_str())?.line_at(warning.start as usize));
    let build = |warning: &PlannedWarning| ReportWarning {
        summary: warning.summary.clone(),
        detail: warning.detail.clone(),
        address: some(&warning.address),
        file: some(&warning.file),
        line: line(warning),
        deprecated: some(&warning.deprecated.source),
    };
    warnings.iter().map(build).collect()
}
