//! The attributes in which a planned change differs, each with the expressions of the configuration that decide it.

use yuba_config::resource::{Resource, ResourceKey};
use yuba_eval::ModuleId;
use yuba_plan::{Action, ActionReason, ResourceChange};
use yuba_provider::{BlockSchema, expressions_at};
use yuba_value::{PathStep, Value, View};

use super::causes::{Owner, Site, Walk};
use super::shown::{self, Secrecy};
use super::{AttributeChange, Facts, PlannedChange, reasons};
use crate::state_json::schema_of;

/// Maximum number of attributes that are listed.
const MOST: usize = 100;

/// Paths in which two objects differ, with the values there.
struct Difference {
    path: Vec<PathStep>,
    before: Value,
    after: Value,
}

/// The explanation of a planned change.
pub(super) fn planned(facts: &Facts<'_>, change: &ResourceChange) -> PlannedChange {
    let module = facts.tree.find(&change.addr.module.module());
    let declared = module.and_then(|module| {
        let resource = facts.tree.node(module).module.resources.get(&ResourceKey::from(&change.addr.resource))?;
        Some((module, resource))
    });
    let mut planned = PlannedChange {
        deposed: change.deposed.as_ref().map(ToString::to_string),
        action: change.action,
        reason: reasons::reason(facts, change),
        moved_from: change.moved_from.as_ref().map(ToString::to_string),
        imported: change.importing.as_ref().map(|import| import.id.as_deref().unwrap_or_default().to_owned()),
        attributes: Vec::new(),
        omitted: 0,
        decided_later: Vec::new(),
        triggers: Vec::new(),
    };
    if let Some((module, resource)) = declared {
        planned.triggers = triggers(facts, change, module, resource);
    }
    if change.action.makes() && change.deposed.is_none() {
        attributes(facts, change, declared, &mut planned);
    }
    planned
}

fn site_of<'a>(change: &ResourceChange, module: ModuleId, resource: &'a Resource) -> Site<'a> {
    Site { module, instance: change.addr.module.clone(), owner: Owner::Resource(resource, change.addr.key.clone()) }
}

/// The expressions that decide the action, where it is not the values of attributes.
fn triggers(
    facts: &Facts<'_>,
    change: &ResourceChange,
    module: ModuleId,
    resource: &Resource,
) -> Vec<super::Expression> {
    let exprs = match change.reason {
        ActionReason::ReplaceByTriggers => resource.lifecycle.replace_triggered_by.as_slice(),
        _ => &[],
    };
    let site = site_of(change, module, resource);
    let mut walk = Walk::new(facts);
    exprs.iter().map(|expr| walk.expression(expr, &site, Secrecy::Open, &[])).collect()
}

fn attributes(
    facts: &Facts<'_>,
    change: &ResourceChange,
    declared: Option<(ModuleId, &Resource)>,
    planned: &mut PlannedChange,
) {
    let marked = |object: &Value| shown::marked(facts, &change.addr.resource, &change.provider.provider, object);
    let (before, after) = (marked(&change.before), marked(&change.after));
    let schemas = facts.schemas.schema(&change.provider.provider);
    let schema = schema_of(schemas.as_deref(), &change.addr.resource).map(|schema| &schema.block);
    let mut found = Vec::new();
    differences(&before, &after, &mut Vec::new(), &mut found);
    for Difference { path, before: old, after: new } in found {
        let decided = |schema: &BlockSchema| {
            let (module, resource) = declared?;
            Some((module, resource, expressions_at(&resource.body, schema, &path)))
        };
        let decided = schema.and_then(decided).filter(|(.., exprs)| !exprs.is_empty());
        if decided.is_none() && !new.is_known() && !forces(change, &path) {
            planned.decided_later.push(shown::path(&path));
            continue;
        }
        if planned.attributes.len() == MOST {
            planned.omitted += 1;
            continue;
        }
        let secrecy = Secrecy::at(&before, &path).with(Secrecy::at(&after, &path));
        let mut walk = Walk::new(facts);
        let expressions = decided.map_or_else(Vec::new, |(module, resource, exprs)| {
            let site = site_of(change, module, resource);
            exprs.iter().map(|found| walk.expression(&found.expr, &site, secrecy, &found.iterators)).collect()
        });
        planned.attributes.push(AttributeChange {
            path: shown::path(&path),
            before: shown::value(&old, secrecy),
            after: shown::value(&new, secrecy),
            forces_replacement: change.action.is_replace() && forces(change, &path),
            expressions,
        });
    }
    // Most readers look for the attributes that force a replacement.
    planned.attributes.sort_by_key(|attribute| !attribute.forces_replacement);
    if change.action == Action::NoOp {
        planned.decided_later.clear();
    }
}

/// Whether the provider named a path, or one around or inside it, as the reason of a replacement.
fn forces(change: &ResourceChange, path: &[PathStep]) -> bool {
    let is_same = |(a, b): (&PathStep, &PathStep)| match (a, b) {
        (PathStep::Attr(a), PathStep::Attr(b)) => a == b,
        (PathStep::Index(a), PathStep::Index(b)) => a.raw_equals(b),
        _ => false,
    };
    change.required_replace.iter().any(|required| required.0.iter().zip(path).all(is_same))
}

/// Collects where two values differ, as deep as both have members with the same kind of keys.
fn differences(before: &Value, after: &Value, path: &mut Vec<PathStep>, found: &mut Vec<Difference>) {
    let is_hidden = |value: &Value| value.marks().has_sensitive() || value.marks().has_ephemeral();
    if before.unmark_deep().0.raw_equals(&after.unmark_deep().0) {
        return;
    }
    let is_root = path.is_empty();
    let open = !is_hidden(before) && !is_hidden(after);
    match (open.then(|| members(before)).flatten(), open.then(|| members(after)).flatten()) {
        (Some(old), Some(new)) => pairs(&old, &new, path, found),
        // An object that is created: each attribute that has a value.
        (None, Some(new)) if is_root && before.is_null() => pairs(&[], &new, path, found),
        _ => found.push(Difference { path: path.clone(), before: before.clone(), after: after.clone() }),
    }
}

fn pairs(old: &[(PathStep, Value)], new: &[(PathStep, Value)], path: &mut Vec<PathStep>, found: &mut Vec<Difference>) {
    let same = |a: &PathStep, b: &PathStep| match (a, b) {
        (PathStep::Attr(a), PathStep::Attr(b)) => a == b,
        (PathStep::Index(a), PathStep::Index(b)) => a.raw_equals(b),
        _ => false,
    };
    let null = Value::null_dynamic();
    for (at, (step, value)) in new.iter().enumerate() {
        // Members of both stand at the same position in most cases.
        let before = old.get(at).filter(|(other, _)| same(other, step));
        let before = before.or_else(|| old.iter().find(|(other, _)| same(other, step)));
        if before.is_none() && value.is_known() && value.is_null() {
            continue;
        }
        path.push(step.clone());
        differences(before.map_or(&null, |(_, value)| value), value, path, found);
        path.pop();
    }
    for (at, (step, value)) in old.iter().enumerate() {
        let is_here = new.get(at).is_some_and(|(other, _)| same(other, step));
        if !is_here && new.iter().all(|(other, _)| !same(other, step)) {
            path.push(step.clone());
            differences(value, &null, path, found);
            path.pop();
        }
    }
}

/// The members of a value that has keys: attributes, elements of maps, positions of lists.
fn members(value: &Value) -> Option<Vec<(PathStep, Value)>> {
    let by_position = |items: &[Value]| {
        let key = |at: usize| PathStep::Index(Value::int(i64::try_from(at).unwrap_or(i64::MAX)));
        items.iter().enumerate().map(|(at, item)| (key(at), item.clone())).collect()
    };
    match value.view_ignoring_marks() {
        View::Object(items) => {
            let attributes = value.ty().attrs().unwrap_or_default().iter();
            Some(attributes.zip(items).map(|(attr, item)| (PathStep::Attr(attr.name.clone()), item.clone())).collect())
        }
        View::Map(items) => {
            Some(items.iter().map(|(key, item)| (PathStep::Index(Value::string(key.clone())), item.clone())).collect())
        }
        View::List(items) | View::Tuple(items) => Some(by_position(items)),
        _ => None,
    }
}

/// The explanation of the change of an output of the root module.
pub(super) fn of_output(
    change: &yuba_plan::OutputChange,
    declared: Option<&yuba_config::output::Output>,
    secrecy: Secrecy,
) -> PlannedChange {
    let attributes = match change.action {
        Action::NoOp => Vec::new(),
        _ => vec![AttributeChange {
            path: "value".to_owned(),
            before: shown::value(&change.before, secrecy),
            after: shown::value(&change.after, secrecy),
            forces_replacement: false,
            expressions: Vec::new(),
        }],
    };
    let reason = declared.is_none().then(|| super::PlannedReason {
        code: "",
        text: "The configuration does not declare it.".to_owned(),
        at: None,
    });
    PlannedChange {
        deposed: None,
        action: change.action,
        reason,
        moved_from: None,
        imported: None,
        attributes,
        omitted: 0,
        decided_later: Vec::new(),
        triggers: Vec::new(),
    }
}
