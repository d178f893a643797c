//! Plans as JSON documents: `show -json` of a plan file.

use ecow::EcoString;
use yuba_addrs::{AbsResourceInstance, ResourceMode};
use yuba_eval::ConfigTree;
use yuba_plan::{Action, Mode, OutputChange, Plan, ResourceChange};
use yuba_provider::Providers;
use yuba_state::{DeposedKey, State};
use yuba_value::{Value, View};

use crate::json_writer::{Members, list, text};
use crate::module_tree::ModuleTree;
use crate::state_json::{KnownSchemas, no_schema, resource_members, schema_of};
use crate::values_json::{Shape, known, path, sensitive, unknown};
use crate::{checks_json, config_json, machine, state_json};

/// The version of the format of plans.
pub const FORMAT_VERSION: &str = "1.2";

/// A plan with the configuration it was made from, or why it cannot be shown: a sentence part.
pub fn plan(plan: &Plan, tree: &ConfigTree, schemas: &dyn Providers) -> Result<String, EcoString> {
    let mut schemas = KnownSchemas::new(schemas);
    let mut out = String::new();
    let mut members = Members::open(&mut out);
    members.text("format_version", FORMAT_VERSION);
    members.text("terraform_version", yuba_state::WRITER_VERSION);
    members.if_written("variables", |out| variables(out, plan, tree));
    planned_values(members.key("planned_values"), plan, &mut schemas)?;
    let drift = plan.drift.iter().filter(|change| change.action != Action::NoOp || plan.mode == Mode::RefreshOnly);
    changes(&mut members, "resource_drift", plan, drift, &mut schemas, drift_identities)?;
    changes(&mut members, "resource_changes", plan, plan.changes.iter(), &mut schemas, planned_identities)?;
    if !plan.outputs.is_empty() {
        let mut outputs = Members::open(members.key("output_changes"));
        for change in &plan.outputs {
            output_change(outputs.key(&change.name), change);
        }
        outputs.close();
    }
    let prior = prior_state(plan, tree);
    if !prior.is_empty() {
        state_json::write(members.key("prior_state"), Some(&prior), &mut schemas)?;
    }
    config_json::write(members.key("configuration"), tree, &mut schemas)?;
    let mut relevant: Vec<(String, &yuba_value::Path)> =
        plan.relevant.iter().map(|attribute| (attribute.resource.to_string(), &attribute.path)).collect();
    relevant.sort_by(|a, b| a.0.cmp(&b.0));
    members.list_if_any("relevant_attributes", relevant, |out, (resource, attribute)| {
        let mut members = Members::open(out);
        members.text("resource", &resource);
        path(members.key("attribute"), attribute);
        members.close();
    });
    if !plan.checks.is_empty() {
        checks_json::write(members.key("checks"), &plan.checks);
    }
    members.text_if_any("timestamp", &plan.timestamp);
    members.bool("errored", plan.errored);
    members.close();
    Ok(out)
}

/// The state before the changes as OpenTofu shows it: with the outputs that are known already.
fn prior_state(plan: &Plan, tree: &ConfigTree) -> State {
    let outputs = &tree.root().module.outputs;
    let mut state = match plan.mode {
        Mode::Destroy => State::clone(&plan.prior_state),
        _ => plan.known_state(|name| outputs.get(name).is_some_and(|output| output.sensitive == Some(true))),
    };
    state.terraform_version = yuba_state::WRITER_VERSION.into();
    state
}

/// Values of variables of the root module: those given, and defaults of the other variables. Returns whether there are any.
fn variables(out: &mut String, plan: &Plan, tree: &ConfigTree) -> bool {
    let declared = tree.root().module.variables.iter();
    let defaults = declared.filter_map(|(name, variable)| Some((name, variable.default.as_ref()?)));
    let given = plan.variables.iter().filter(|(_, variable)| !variable.ephemeral);
    let mut values: std::collections::BTreeMap<&EcoString, &Value> = defaults.collect();
    values.extend(given.map(|(name, variable)| (name, &variable.value)));
    let mut members = Members::open(out);
    for (name, value) in &values {
        let mut member = Members::open(members.key(name));
        member.if_written("value", |out| known(out, value));
        member.close();
    }
    members.close();
    !values.is_empty()
}

fn planned_values(out: &mut String, plan: &Plan, schemas: &mut KnownSchemas<'_>) -> Result<(), EcoString> {
    let mut members = Members::open(out);
    let mut outputs = plan.outputs.iter().filter(|change| change.action != Action::Delete).peekable();
    if outputs.peek().is_some() {
        let mut outputs_out = Members::open(members.key("outputs"));
        for change in outputs {
            let mut member = Members::open(outputs_out.key(&change.name));
            member.bool("sensitive", change.sensitive);
            member.text_if_any("deprecated", &change.deprecated);
            if change.after.is_wholly_known() {
                // An output that does not change has the type it had.
                let ty = if change.action == Action::NoOp { change.before.ty() } else { change.after.ty() };
                member.raw("type", &yuba_value::json::encode_type(ty));
                known(member.key("value"), &change.after);
            }
            member.close();
        }
        outputs_out.close();
    }
    let mut tree = ModuleTree::new();
    for change in &plan.changes {
        let is_there = change.deposed.is_none() && change.action != Action::Delete;
        if is_there && change.addr.resource.mode != ResourceMode::Ephemeral {
            tree.add(&change.addr.module, (change.addr.to_string(), change));
        }
    }
    let by_address = |changes: &mut Vec<(String, &ResourceChange)>| changes.sort_by(|a, b| a.0.cmp(&b.0));
    tree.write(members.key("root_module"), by_address, |out, (addr, change)| {
        planned_resource(out, addr, change, schemas)
    })?;
    members.close();
    Ok(())
}

fn planned_resource(
    out: &mut String,
    addr: &str,
    change: &ResourceChange,
    schemas: &mut KnownSchemas<'_>,
) -> Result<(), EcoString> {
    let (resource, source) = (&change.addr.resource, &change.provider.provider);
    let provider = schemas.provider(source);
    let schema = schema_of(provider.as_deref(), resource).ok_or_else(|| no_schema(&change.addr, source))?;
    let mut members = Members::open(out);
    members.text("address", addr);
    resource_members(&mut members, resource, change.addr.key.as_ref(), source);
    members.int("schema_version", schema.version);
    if matches!(change.after.view_ignoring_marks(), View::Object(_)) {
        members.if_written("values", |out| {
            let start = out.len();
            known(out, &change.after);
            &out[start..] != "{}"
        });
    }
    // Quirk: attributes that the schema declares sensitive are not listed here.
    sensitive(members.key("sensitive_values"), &change.after, Shape::Any);
    let identities = provider.as_ref().and_then(|provider| provider.identities.get(&resource.kind));
    if let (Some(identity), Some(identities)) = (planned_identity(change), identities) {
        known(members.key("identity"), identity);
        members.int("identity_schema_version", identities.version);
    }
    members.close();
    Ok(())
}

fn planned_identity(change: &ResourceChange) -> Option<&Value> {
    change.identity.as_ref().filter(|identity| !identity.is_null() && identity.is_wholly_known())
}

/// Changes of resources, left out if empty.
fn changes<'p>(
    members: &mut Members<'_>,
    name: &str,
    plan: &Plan,
    changes: impl Iterator<Item = &'p ResourceChange>,
    schemas: &mut KnownSchemas<'_>,
    identities: Identities,
) -> Result<(), EcoString> {
    // The removal of a data resource from the state is not reported.
    let is_told =
        |change: &&ResourceChange| change.addr.resource.mode != ResourceMode::Data || change.action != Action::Delete;
    let mut changes: Vec<&ResourceChange> = changes.filter(is_told).collect();
    changes.sort_by(|a, b| a.addr.cmp(&b.addr).then_with(|| a.deposed.cmp(&b.deposed)));
    let mut result = Ok(());
    members.list_if_any(name, changes, |out, change| {
        if result.is_ok() {
            result = resource_change(out, plan, change, schemas, identities);
        }
    });
    result
}

fn resource_change(
    out: &mut String,
    plan: &Plan,
    change: &ResourceChange,
    schemas: &mut KnownSchemas<'_>,
    identities: Identities,
) -> Result<(), EcoString> {
    let (resource, source) = (&change.addr.resource, &change.provider.provider);
    let provider = schemas.provider(source);
    let schema = schema_of(provider.as_deref(), resource).ok_or_else(|| no_schema(&change.addr, source))?;
    let mut members = Members::open(out);
    members.shown("address", &change.addr);
    if let Some(from) = &change.moved_from {
        members.shown("previous_address", from);
    }
    members.text_if_any("module_address", &change.addr.module.to_string());
    resource_members(&mut members, resource, change.addr.key.as_ref(), source);
    if let Some(deposed) = &change.deposed {
        members.text("deposed", deposed.as_str());
    }
    let mut inner = Members::open(members.key("change"));
    actions(&mut inner, change.action);
    inner.if_written("before", |out| known(out, &change.before));
    inner.if_written("after", |out| known(out, &change.after));
    let after_unknown = inner.key("after_unknown");
    if change.after.is_wholly_known() {
        after_unknown.push_str("{}");
    } else {
        unknown(after_unknown, &change.after);
    }
    sensitive(inner.key("before_sensitive"), &change.before, Shape::of(&schema.block));
    sensitive(inner.key("after_sensitive"), &change.after, Shape::of(&schema.block));
    inner.list_if_any("replace_paths", &change.required_replace, path);
    if let Some(importing) = &change.importing {
        inner.raw("importing", &machine::importing_json(importing).compact());
    }
    inner.text_if_any("generated_config", change.generated_config.as_deref().unwrap_or_default());
    if provider.as_ref().is_some_and(|provider| provider.identities.contains_key(&resource.kind)) {
        identities(&mut inner, plan, change);
    }
    inner.close();
    members.text_if_any("action_reason", change.reason.name());
    members.close();
    Ok(())
}

/// Writes the identities of an object before and after a change.
type Identities = fn(&mut Members<'_>, &Plan, &ResourceChange);

fn planned_identities(members: &mut Members<'_>, plan: &Plan, change: &ResourceChange) {
    stored_identity(members, "before_identity", &plan.prior_state, &change.addr, change.deposed.as_ref());
    if let Some(identity) = planned_identity(change) {
        known(members.key("after_identity"), identity);
    }
}

/// Outside changes are the difference between the states before and after refreshing.
fn drift_identities(members: &mut Members<'_>, plan: &Plan, change: &ResourceChange) {
    let was_at = change.moved_from.as_deref().unwrap_or(&change.addr);
    stored_identity(members, "before_identity", &plan.previous_state, was_at, change.deposed.as_ref());
    stored_identity(members, "after_identity", &plan.prior_state, &change.addr, change.deposed.as_ref());
}

fn stored_identity(
    members: &mut Members<'_>,
    name: &str,
    state: &State,
    addr: &AbsResourceInstance,
    deposed: Option<&DeposedKey>,
) {
    let object = state.instance(addr).and_then(|instance| instance.object(deposed));
    if let Some(identity) = object.and_then(|object| object.identity.as_ref()) {
        members.raw(name, identity.json.as_str());
    }
}

fn actions(members: &mut Members<'_>, action: Action) {
    list(members.key("actions"), action.names(), |out, name| {
        text(out, name);
        true
    });
}

fn output_change(out: &mut String, change: &OutputChange) {
    let mut members = Members::open(out);
    actions(&mut members, change.action);
    members.if_written("before", |out| known(out, &change.before));
    members.if_written("after", |out| known(out, &change.after));
    let after_unknown = members.key("after_unknown");
    if change.after.is_wholly_known() {
        after_unknown.push_str("false");
    } else {
        unknown(after_unknown, &change.after);
    }
    // Quirk: both members show whether it is hidden before or after.
    members.bool("before_sensitive", change.sensitive);
    members.bool("after_sensitive", change.sensitive);
    members.close();
}

#[cfg(test)]
mod tests;
