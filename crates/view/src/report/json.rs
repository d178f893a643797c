//! A report as JSON: `show -report-json`, and the data of HTML pages.
//!
//! Members without content are left out: empty texts and lists, zero, false. The members of an object:
//!
//! - top level: `format`, `subject`, `tool`, `workspace`, `mode`, `timestamp`, `errored`, `applyable`, `counts`, `totals`, `modules`,
//!   `types`, `changes`, `groups`, `drift`, `outputs`, `checks`, `warnings`, `graph`, and
//!   `resources` and `disabled` (`address`, `file`, `line`) of a state.
//! - `changes` and `drift`: `address`, `deposed`, `module`, `mode`, `type`, `name`, `key`, `provider`, `provider_alias`,
//!   `provider_key`, `action`, `order`, `reason` (`code`, `text`), `moved_from`, `import`, `generated`, `forces`, `risk`, `dependents`,
//!   `dependents_total`, `depends`, `depends_total` (totals only where the lists are shortened), `group`, `disabled`, `relevant`, `diff`.
//! - differences and values: `n` name or position, `l` label of a block, `a` action (` ` is left out), `k` kind (`value` is left out),
//!   `b` before, `t` after, `f` forces replacement, `s` sensitive, `u` unknown, `j` the value is a string that contains JSON,
//!   `p` only the provider sets it, `w` remark, `c` parts, `h` number of unchanged parts (for a line: of unchanged lines) left out.
//! - `graph`: `nodes` are resources without instance keys: `id`, `label`, `module`, `changes` (indexes), `action`; `edges` are pairs of
//!   indexes of nodes: the first depends on the second.

use std::fmt::Write as _;

use ecow::EcoString;
use yuba_addrs::InstanceKey;
use yuba_plan::Mode;

use super::{
    ChangeAction, ChangeCounts, DiffKind, DiffMark, DiffNode, Links, NodeName, Report, ReportAddress, ReportChange,
    ReportCheck, ReportGraph, ReportOutput, ReportResource, ReportSubject, ReportWarning,
};
use crate::json_writer::{Members, key, list, text};

/// The version of the format.
pub const FORMAT: &str = "1.0";

/// A report as one line of JSON, escaped so that it can stand in HTML.
pub fn report(report: &Report) -> String {
    let mut out = String::new();
    let mut members = Members::open(&mut out);
    members.text("format", FORMAT);
    members.text("subject", if report.subject == ReportSubject::Plan { "plan" } else { "state" });
    members.text("tool", &report.tool);
    members.text_if_any("workspace", &report.workspace);
    if report.subject == ReportSubject::Plan {
        members.text(
            "mode",
            match report.mode {
                Mode::Normal => "normal",
                Mode::Destroy => "destroy",
                Mode::RefreshOnly => "refresh-only",
            },
        );
        members.text_if_any("timestamp", &report.timestamp);
        members.bool("errored", report.errored);
        members.bool("applyable", report.applyable);
        totals(members.key("totals"), report);
    }
    counts(members.key("counts"), &report.counts);
    members.list_if_any("modules", &report.modules, |out, module| {
        let mut members = Members::open(out);
        members.text("path", &module.path);
        counts(members.key("counts"), &module.counts);
        members.close();
    });
    members.list_if_any("types", &report.types, |out, of_type| {
        let mut members = Members::open(out);
        members.text("type", &of_type.kind);
        members.text("mode", of_type.mode.as_str());
        counts(members.key("counts"), &of_type.counts);
        members.close();
    });
    members.list_if_any("changes", &report.changes, change);
    members.list_if_any("groups", &report.groups, |out, group| {
        let mut members = Members::open(out);
        indexes(&mut members, "members", &group.members);
        members.text("action", group.action.word());
        members.text("type", &group.kind);
        node(members.key("diff"), &group.diff);
        members.close();
    });
    members.list_if_any("drift", &report.drift, change);
    members.list_if_any("outputs", &report.outputs, output);
    members.list_if_any("checks", &report.checks, check);
    members.list_if_any("warnings", &report.warnings, warning);
    if !report.graph.nodes.is_empty() {
        graph(members.key("graph"), &report.graph);
    }
    members.list_if_any("resources", &report.resources, resource);
    members.list_if_any("disabled", &report.disabled, |out, disabled| {
        let mut members = Members::open(out);
        members.text("address", &disabled.address);
        optional(&mut members, "file", &disabled.file);
        number(&mut members, "line", disabled.line.unwrap_or_default());
        members.close();
    });
    members.close();
    out
}

fn number(members: &mut Members<'_>, name: &str, count: usize) {
    if count > 0 {
        let _ = write!(members.key(name), "{count}");
    }
}

fn counts(out: &mut String, counts: &ChangeCounts) {
    let mut members = Members::open(out);
    for (name, count) in [
        ("create", counts.create),
        ("update", counts.update),
        ("replace", counts.replace),
        ("destroy", counts.destroy),
        ("forget", counts.forget),
        ("read", counts.read),
        ("import", counts.import),
        ("move", counts.moved),
        ("unchanged", counts.unchanged),
    ] {
        number(&mut members, name, count);
    }
    members.close();
}

fn totals(out: &mut String, report: &Report) {
    let totals = &report.totals;
    let mut members = Members::open(out);
    for (name, count) in [
        ("add", totals.add),
        ("change", totals.change),
        ("destroy", totals.destroy),
        ("import", totals.import),
        ("forget", totals.forget),
    ] {
        let _ = write!(members.key(name), "{count}");
    }
    members.close();
}

fn address(members: &mut Members<'_>, address: &ReportAddress) {
    let instance_key = |members: &mut Members<'_>, name: &str, value: &Option<InstanceKey>| {
        if let Some(value) = value {
            key(members.key(name), value);
        }
    };
    members.text("address", &address.text);
    optional(members, "deposed", &address.deposed);
    members.text_if_any("module", &address.module);
    members.text("mode", address.mode.as_str());
    members.text("type", &address.kind);
    members.text("name", &address.name);
    instance_key(members, "key", &address.key);
    members.text("provider", &address.provider);
    optional(members, "provider_alias", &address.provider_alias);
    instance_key(members, "provider_key", &address.provider_key);
}

fn optional(members: &mut Members<'_>, name: &str, value: &Option<EcoString>) {
    if let Some(value) = value {
        members.text(name, value);
    }
}

fn indexes(members: &mut Members<'_>, name: &str, items: &[u32]) {
    members.list_if_any(name, items, |out, index| {
        let _ = write!(out, "{index}");
    });
}

fn links(members: &mut Members<'_>, name: &str, total: &str, links: &Links) {
    indexes(members, name, &links.changes);
    if links.total > links.changes.len() {
        number(members, total, links.total);
    }
}

fn change(out: &mut String, change: &ReportChange) {
    let mut members = Members::open(out);
    address(&mut members, &change.address);
    members.text("action", change.action.word());
    if let Some(order) = change.order {
        members.text("order", order.word());
    }
    if let Some(reason) = &change.reason {
        let mut inner = Members::open(members.key("reason"));
        inner.text("code", reason.code);
        inner.text("text", &reason.text);
        inner.close();
    }
    optional(&mut members, "moved_from", &change.moved_from);
    optional(&mut members, "import", &change.import);
    optional(&mut members, "generated", &change.generated);
    members.list_if_any("forces", &change.forces, |out, path| text(out, path));
    members.text("risk", change.risk.word());
    links(&mut members, "dependents", "dependents_total", &change.dependents);
    links(&mut members, "depends", "depends_total", &change.depends);
    if let Some(group) = change.group {
        members.int("group", group.into());
    }
    members.bool_if_true("disabled", change.disabled);
    members.bool_if_true("relevant", change.relevant);
    node(members.key("diff"), &change.diff);
    members.close();
}

/// A part of a difference.
pub(crate) fn node(out: &mut String, part: &DiffNode) {
    let mut members = Members::open(out);
    match &part.name {
        Some(NodeName::Text(name)) => members.text("n", name),
        Some(NodeName::Index(index)) => members.int("n", (*index).into()),
        None => {}
    }
    optional(&mut members, "l", &part.label);
    if part.mark != DiffMark::Same {
        members.text("a", part.mark.sign());
    }
    if part.kind != DiffKind::Value {
        members.text("k", part.kind.word());
    }
    optional(&mut members, "b", &part.before);
    optional(&mut members, "t", &part.after);
    members.bool_if_true("f", part.forces);
    members.bool_if_true("s", part.sensitive);
    members.bool_if_true("u", part.unknown);
    members.bool_if_true("j", part.json);
    members.bool_if_true("p", part.computed);
    optional(&mut members, "w", &part.note);
    if !part.children.is_empty() {
        list(members.key("c"), &part.children, |out, child| {
            node(out, child);
            true
        });
    }
    if part.hidden > 0 {
        members.int("h", part.hidden.into());
    }
    members.close();
}

fn output(out: &mut String, output: &ReportOutput) {
    let mut members = Members::open(out);
    members.text("name", &output.name);
    members.text("action", output.action.word());
    members.bool_if_true("sensitive", output.sensitive);
    node(members.key("diff"), &output.diff);
    members.close();
}

fn check(out: &mut String, check: &ReportCheck) {
    let mut members = Members::open(out);
    members.text("address", &check.address);
    members.text("status", check.status);
    members.list_if_any("messages", &check.messages, |out, message| text(out, message));
    members.close();
}

fn warning(out: &mut String, warning: &ReportWarning) {
    let mut members = Members::open(out);
    members.text("summary", &warning.summary);
    members.text_if_any("detail", &warning.detail);
    optional(&mut members, "address", &warning.address);
    optional(&mut members, "file", &warning.file);
    number(&mut members, "line", warning.line.unwrap_or_default());
    optional(&mut members, "deprecated", &warning.deprecated);
    members.close();
}

fn graph(out: &mut String, graph: &ReportGraph) {
    let mut members = Members::open(out);
    members.list_if_any("nodes", &graph.nodes, |out, node| {
        let mut members = Members::open(out);
        members.text("id", &node.id);
        members.text("label", &node.label);
        members.text_if_any("module", &node.module);
        indexes(&mut members, "changes", &node.changes);
        if node.action != ChangeAction::NoOp || !node.changes.is_empty() {
            members.text("action", node.action.word());
        }
        members.close();
    });
    members.list_if_any("edges", &graph.edges, |out, (from, to)| {
        let _ = write!(out, "[{from},{to}]");
    });
    members.close();
}

fn resource(out: &mut String, resource: &ReportResource) {
    let mut members = Members::open(out);
    address(&mut members, &resource.address);
    members.bool_if_true("tainted", resource.tainted);
    match &resource.problem {
        Some(problem) => members.text("problem", problem),
        None => node(members.key("values"), &resource.values),
    }
    members.close();
}
