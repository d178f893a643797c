//! Messages for tools during plan and apply: one line of JSON for each event.
//!
//! Every function returns whole lines with their line ends, and no line where there is nothing to report.

mod words;

use std::collections::BTreeMap;

use ecow::EcoString;
use yuba_addrs::{AbsResourceInstance, ResourceMode};
use yuba_plan::{Action, ActionReason, Importing, Mode, OutputChange, Phase, Plan, ResourceChange};
use yuba_state::Output;

use crate::json::JsonValue;
use crate::json_writer::{Members, key};
use crate::messages_json::{MessageLevel, line};
use crate::values_json::known;
use words::{action, noun, reason, verb};

/// Number of planned or completed actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageCounts {
    /// Objects created.
    pub add: usize,
    /// Objects updated.
    pub change: usize,
    /// Objects imported.
    pub import: usize,
    /// Objects destroyed.
    pub remove: usize,
    /// Objects that are no longer managed.
    pub forget: usize,
}

/// Operation of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// Planned actions.
    Plan,
    /// Completed actions.
    Apply,
    /// Destroyed objects.
    Destroy,
}

impl MessageCounts {
    /// Changes of a plan.
    pub fn of(plan: &Plan) -> MessageCounts {
        let mut counts = MessageCounts::default();
        for change in plan.changes.iter().filter(|change| is_told(change)) {
            counts.import += usize::from(change.importing.is_some());
            match change.action {
                Action::Create => counts.add += 1,
                Action::Update => counts.change += 1,
                Action::Delete => counts.remove += 1,
                Action::Forget => counts.forget += 1,
                Action::DeleteThenCreate | Action::CreateThenDelete => {
                    counts.add += 1;
                    counts.remove += 1;
                }
                Action::ForgetThenCreate => {
                    counts.add += 1;
                    counts.forget += 1;
                }
                Action::NoOp | Action::Read => {}
            }
        }
        counts
    }

    /// As a sentence.
    pub fn sentence(self, operation: OperationKind) -> String {
        let MessageCounts { add, change, import, remove, forget } = self;
        let part = |count: usize, words: &str| if count > 0 { format!("{count} {words}") } else { String::new() };
        match operation {
            OperationKind::Plan => {
                let (import, forget) = (part(import, "to import, "), part(forget, "to forget"));
                let comma = if forget.is_empty() { "" } else { ", " };
                format!("Plan: {import}{add} to add, {change} to change, {remove} to destroy{comma}{forget}.")
            }
            OperationKind::Apply => {
                let (import, forget) = (part(import, "imported, "), part(forget, "forgotten"));
                let comma = if forget.is_empty() { "" } else { ", " };
                format!(
                    "Apply complete! Resources: {import}{add} added, {change} changed, {remove} destroyed{comma}{forget}."
                )
            }
            OperationKind::Destroy => format!("Destroy complete! Resources: {remove} destroyed."),
        }
    }
}

/// The removal of a data resource from the state is not reported.
fn is_told(change: &ResourceChange) -> bool {
    let mode = change.addr.resource.mode;
    mode != ResourceMode::Ephemeral && !(mode == ResourceMode::Data && change.action == Action::Delete)
}

/// A message with text for people.
pub fn log(message: &str, timestamp: &str) -> String {
    line(MessageLevel::Info, message, timestamp, vec![("type", JsonValue::from("log"))])
}

/// A whole plan: what changed outside, what will change, how much that is, and the outputs.
pub fn plan(plan: &Plan, timestamp: &str) -> String {
    let mut out = String::new();
    for change in &plan.drift {
        // A mere move is among the changes, except if there are no other changes.
        if change.action != Action::NoOp || plan.mode == Mode::RefreshOnly {
            out += &drift(change, timestamp);
        }
    }
    for change in plan.changes.iter().filter(|change| is_told(change)) {
        if change.action != Action::NoOp || change.moved_from.is_some() || change.importing.is_some() {
            out += &planned_change(change, timestamp);
        }
    }
    out += &summary(MessageCounts::of(plan), OperationKind::Plan, timestamp);
    if !plan.outputs.is_empty() {
        out += &planned_outputs(&plan.outputs, timestamp);
    }
    out
}

/// The changes of a plan that was saved and is now applied.
pub fn planned_changes(plan: &Plan, timestamp: &str) -> String {
    let made = plan.changes.iter().filter(|change| is_told(change) && change.action != Action::NoOp);
    made.map(|change| planned_change(change, timestamp)).collect()
}

/// A change that will be made.
pub fn planned_change(change: &ResourceChange, timestamp: &str) -> String {
    let message = format!("{}: Plan to {}", change.addr, word(change));
    let members = vec![("change", change_json(change)), ("type", JsonValue::from("planned_change"))];
    line(MessageLevel::Info, &message, timestamp, members)
}

/// A change that was made outside.
pub fn drift(change: &ResourceChange, timestamp: &str) -> String {
    let message = format!("{}: Drift detected ({})", change.addr, word(change));
    let members = vec![("change", change_json(change)), ("type", JsonValue::from("resource_drift"))];
    line(MessageLevel::Info, &message, timestamp, members)
}

/// Number of planned or completed actions.
pub fn summary(counts: MessageCounts, operation: OperationKind, timestamp: &str) -> String {
    let name = match operation {
        OperationKind::Plan => "plan",
        OperationKind::Apply => "apply",
        OperationKind::Destroy => "destroy",
    };
    let changes = JsonValue::object([
        ("add", JsonValue::from(counts.add)),
        ("change", JsonValue::from(counts.change)),
        ("import", JsonValue::from(counts.import)),
        ("remove", JsonValue::from(counts.remove)),
        ("forget", JsonValue::from(counts.forget)),
        ("operation", JsonValue::from(name)),
    ]);
    let members = vec![("changes", changes), ("type", JsonValue::from("change_summary"))];
    line(MessageLevel::Info, &counts.sentence(operation), timestamp, members)
}

/// The outputs of a plan.
pub fn planned_outputs(changes: &[OutputChange], timestamp: &str) -> String {
    let outputs = changes.iter().map(|change| {
        let mut members = vec![("sensitive", JsonValue::Bool(change.sensitive))];
        if !change.deprecated.is_empty() {
            members.push(("deprecated", JsonValue::from(change.deprecated.as_str())));
        }
        members.push(("action", JsonValue::from(action(change.action))));
        (change.name.to_string(), JsonValue::object(members))
    });
    all_outputs(outputs.collect(), timestamp)
}

/// The outputs of a state. Values that must not be shown are left out.
pub fn outputs(outputs: &BTreeMap<EcoString, Output>, timestamp: &str) -> String {
    let outputs = outputs.iter().map(|(name, output)| {
        let mut members = vec![("sensitive", JsonValue::Bool(output.sensitive))];
        if !output.deprecated.is_empty() {
            members.push(("deprecated", JsonValue::from(output.deprecated.as_str())));
        }
        members.push(("type", JsonValue::Raw(yuba_value::json::encode_type(output.value.ty()))));
        if !output.sensitive {
            let mut value = String::new();
            known(&mut value, &output.value);
            members.push(("value", JsonValue::Raw(value)));
        }
        (name.to_string(), JsonValue::object(members))
    });
    all_outputs(outputs.collect(), timestamp)
}

fn all_outputs(outputs: Vec<(String, JsonValue)>, timestamp: &str) -> String {
    let message = format!("Outputs: {}", outputs.len());
    line(
        MessageLevel::Info,
        &message,
        timestamp,
        vec![("outputs", JsonValue::Object(outputs)), ("type", JsonValue::from("outputs"))],
    )
}

/// Something takes its time. `elapsed` is since it began, in seconds.
pub fn progress(addr: &AbsResourceInstance, phase: Phase, elapsed: u64, timestamp: &str) -> String {
    let Some(done) = applied(phase) else { return String::new() };
    let message = format!("{addr}: Still {}... [{} elapsed]", verb(done).to_lowercase(), duration(elapsed));
    let members = vec![("resource", resource(addr)), ("action", JsonValue::from(action(done))), seconds(elapsed)];
    hook("apply_progress", &message, members, timestamp)
}

type Id = (EcoString, EcoString);

pub(crate) fn started(addr: &AbsResourceInstance, phase: Phase, id: Option<&Id>, timestamp: &str) -> String {
    let mut members = vec![("resource", resource(addr))];
    match phase {
        Phase::Refresh => {
            members.extend(id_members(id));
            hook("refresh_start", &format!("{addr}: Refreshing state...{}", id_text(id)), members, timestamp)
        }
        Phase::Open => ephemeral("ephemeral_action_started", addr, "Opening...", timestamp),
        Phase::Renew => ephemeral("ephemeral_action_started", addr, "Renewing...", timestamp),
        Phase::Close => ephemeral("ephemeral_action_started", addr, "Closing...", timestamp),
        Phase::PrepareImport | Phase::Import => String::new(),
        Phase::Read | Phase::Apply(_) => {
            let Some(done) = applied(phase) else { return String::new() };
            members.push(("action", JsonValue::from(action(done))));
            members.extend(id_members(id));
            hook("apply_start", &format!("{addr}: {}...{}", verb(done), id_text(id)), members, timestamp)
        }
    }
}

pub(crate) fn finished(
    addr: &AbsResourceInstance,
    phase: Phase,
    id: Option<&Id>,
    elapsed: u64,
    timestamp: &str,
) -> String {
    match phase {
        Phase::Refresh => {
            let mut members = vec![("resource", resource(addr))];
            members.extend(id_members(id));
            hook("refresh_complete", &format!("{addr}: Refresh complete{}", id_text(id)), members, timestamp)
        }
        Phase::Open => ephemeral("ephemeral_action_complete", addr, "Open complete", timestamp),
        Phase::Renew => ephemeral("ephemeral_action_complete", addr, "Renew complete", timestamp),
        Phase::Close => ephemeral("ephemeral_action_complete", addr, "Close complete", timestamp),
        Phase::PrepareImport | Phase::Import => String::new(),
        Phase::Read | Phase::Apply(_) => {
            let Some(done) = applied(phase) else { return String::new() };
            let mut members = vec![("resource", resource(addr)), ("action", JsonValue::from(action(done)))];
            members.extend(id_members(id));
            members.push(seconds(elapsed));
            let message = format!("{addr}: {} complete after {}{}", noun(done), duration(elapsed), id_text(id));
            hook("apply_complete", &message, members, timestamp)
        }
    }
}

pub(crate) fn failed(addr: &AbsResourceInstance, phase: Phase, elapsed: u64, timestamp: &str) -> String {
    match phase {
        // A diagnostic reports why the read failed.
        Phase::Refresh | Phase::Read | Phase::Open => String::new(),
        Phase::Renew | Phase::Close | Phase::PrepareImport | Phase::Import => {
            finished(addr, phase, None, elapsed, timestamp)
        }
        Phase::Apply(_) => {
            let Some(done) = applied(phase) else { return String::new() };
            let members =
                vec![("resource", resource(addr)), ("action", JsonValue::from(action(done))), seconds(elapsed)];
            let message = format!("{addr}: {} errored after {}{}", noun(done), duration(elapsed), id_text(None));
            hook("apply_errored", &message, members, timestamp)
        }
    }
}

/// The action of a phase that is reported as a change; `None` for other phases.
fn applied(phase: Phase) -> Option<Action> {
    match phase {
        Phase::Read => Some(Action::Read),
        Phase::Apply(Action::NoOp | Action::Forget) => None,
        Phase::Apply(action) => Some(action),
        _ => None,
    }
}

pub(crate) fn hook(kind: &str, message: &str, members: Vec<(&str, JsonValue)>, timestamp: &str) -> String {
    line(
        MessageLevel::Info,
        message,
        timestamp,
        vec![("hook", JsonValue::object(members)), ("type", JsonValue::from(kind))],
    )
}

fn ephemeral(kind: &str, addr: &AbsResourceInstance, message: &str, timestamp: &str) -> String {
    let members = vec![("resource", resource(addr)), ("Msg", JsonValue::from(message))];
    hook(kind, &format!("{addr}: {message}"), members, timestamp)
}

pub(crate) fn provision(addr: &AbsResourceInstance, provisioner: &str) -> Vec<(&'static str, JsonValue)> {
    vec![("resource", resource(addr)), ("provisioner", JsonValue::from(provisioner))]
}

fn id_text(id: Option<&Id>) -> String {
    match id {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => format!(" [{key}={value}]"),
        _ => String::new(),
    }
}

fn id_members(id: Option<&Id>) -> Vec<(&'static str, JsonValue)> {
    let Some((key, value)) = id else { return Vec::new() };
    let members = [("id_key", key), ("id_value", value)].into_iter().filter(|(_, text)| !text.is_empty());
    members.map(|(name, text)| (name, JsonValue::from(text.as_str()))).collect()
}

fn seconds(elapsed: u64) -> (&'static str, JsonValue) {
    ("elapsed_seconds", JsonValue::Int(i64::try_from(elapsed).unwrap_or(i64::MAX)))
}

/// As Go writes it: `1h0m5s`.
pub(crate) fn duration(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

fn resource(addr: &AbsResourceInstance) -> JsonValue {
    let local = AbsResourceInstance { module: yuba_addrs::ModuleInstance::ROOT, ..addr.clone() };
    let resource_key = addr.key.as_ref().map_or(JsonValue::Null, |instance| {
        let mut out = String::new();
        key(&mut out, instance);
        JsonValue::Raw(out)
    });
    JsonValue::object([
        ("addr", JsonValue::from(addr.to_string())),
        ("module", JsonValue::from(addr.module.to_string())),
        ("resource", JsonValue::from(local.to_string())),
        ("implied_provider", JsonValue::from(addr.resource.implied_provider())),
        ("resource_type", JsonValue::from(addr.resource.kind.as_str())),
        ("resource_name", JsonValue::from(addr.resource.name.as_str())),
        ("resource_key", resource_key),
    ])
}

/// Action of a change: for moves and imports without other changes, that one.
fn word(change: &ResourceChange) -> &'static str {
    match action(change.action) {
        "noop" if change.moved_from.is_some() => "move",
        "noop" if change.importing.is_some() => "import",
        word => word,
    }
}

fn change_json(change: &ResourceChange) -> JsonValue {
    let mut members = vec![("resource", resource(&change.addr))];
    if let Some(from) = &change.moved_from {
        members.push(("previous_resource", resource(from)));
    }
    members.push(("action", JsonValue::from(word(change))));
    if change.reason != ActionReason::None {
        members.push(("reason", JsonValue::from(reason(change.reason))));
    }
    if let Some(importing) = &change.importing {
        members.push(("importing", importing_json(importing)));
    }
    if let Some(config) = change.generated_config.as_deref().filter(|config| !config.is_empty()) {
        members.push(("generated_config", JsonValue::from(config)));
    }
    JsonValue::object(members)
}

/// Identifier of an imported object, as far as it is known.
pub(crate) fn importing_json(importing: &Importing) -> JsonValue {
    let mut out = String::new();
    let mut members = Members::open(&mut out);
    match (&importing.id, &importing.identity) {
        (Some(id), _) => members.text_if_any("id", id),
        (None, Some(identity)) => members.if_written("identity", |out| known(out, identity)),
        (None, None) => {}
    }
    members.close();
    JsonValue::Raw(out)
}

#[cfg(test)]
mod tests;
