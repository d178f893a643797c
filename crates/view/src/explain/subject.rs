//! From an address to the explanation of the object it names.

use std::collections::BTreeSet;

use yuba_addrs::{AbsResourceInstance, InstanceKey, ModuleInstance, ModulePath, Resource};
use yuba_config::resource::{Repetition, ResourceKey};
use yuba_eval::ModuleId;
use yuba_eval::graph::Vertex;
use yuba_plan::Action;
use yuba_syntax::FileId;
use yuba_syntax::suggestion::closest;
use yuba_value::Type;
use yuba_value::convert::convert;

use super::causes::{self, Owner, Site, Walk, argument, call_location, given};
use super::instances::{address, is_in, is_meant, key_text};
use super::shown::{self, Secrecy};
use super::{Disabled, Explanation, Facts, InstanceSummary, changes, dependents, providing, recorded};

/// PlannedReason why an address is not explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotExplained {
    /// It is not an address.
    Invalid,
    /// Neither the configuration nor the state nor the plan has the object. A similar address.
    Unknown(Option<String>),
}

/// The object that an address names.
enum Subject {
    Resource(ModuleInstance, Resource, Option<InstanceKey>),
    Variable(ModuleInstance, String),
    Local(ModuleInstance, String),
    Output(ModuleInstance, String),
    Module(ModuleInstance),
}

/// The explanation of the object at an address.
pub fn explain(facts: &Facts<'_>, given: &str) -> Result<Explanation, NotExplained> {
    let subject = parse(given).ok_or(NotExplained::Invalid)?;
    let found = match &subject {
        Subject::Resource(module, resource, key) => of_resource(facts, module, resource, key.as_ref()),
        Subject::Variable(module, name) => of_variable(facts, module, name),
        Subject::Local(module, name) => of_local(facts, module, name),
        Subject::Output(module, name) => of_output(facts, module, name),
        Subject::Module(module) => of_module(facts, module),
    };
    found.ok_or_else(|| {
        let known = addresses(facts);
        NotExplained::Unknown(closest(given.trim(), known.iter().map(String::as_str)).map(str::to_owned))
    })
}

/// All addresses that can be explained, without keys of module instances for objects of the configuration.
pub fn addresses(facts: &Facts<'_>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (_, node) in facts.tree.iter() {
        let mut add = |name: String| {
            names.insert(shown::in_module(&node.path, &name).to_string());
        };
        node.module.variables.keys().for_each(|name| add(format!("var.{name}")));
        node.module.locals.keys().for_each(|name| add(format!("local.{name}")));
        node.module.outputs.keys().for_each(|name| add(format!("output.{name}")));
        node.module.resources.keys().for_each(|key| add(Resource::from(key).to_string()));
        node.module.calls.keys().for_each(|name| add(format!("module.{name}")));
    }
    names.extend(facts.state.instances().map(|(addr, ..)| addr.to_string()));
    names.extend(facts.plan.iter().flat_map(|plan| &plan.changes).map(|change| change.addr.to_string()));
    names
}

fn parse(given: &str) -> Option<Subject> {
    let given = given.trim();
    let parts = segments(given);
    let calls = parts.chunks(2).take_while(|pair| pair.len() == 2 && pair[0] == "module").count();
    let (calls, rest) = parts.split_at(calls * 2);
    let module = match calls.is_empty() {
        true => ModuleInstance::ROOT,
        false => ModuleInstance::parse_text(FileId::default(), &calls.join(".")).ok()?,
    };
    match rest {
        [] if !calls.is_empty() => Some(Subject::Module(module)),
        [root, name] if is_name(name) && *root == "var" => Some(Subject::Variable(module, (*name).to_owned())),
        [root, name] if is_name(name) && *root == "local" => Some(Subject::Local(module, (*name).to_owned())),
        [root, name] if is_name(name) && *root == "output" => Some(Subject::Output(module, (*name).to_owned())),
        _ => {
            let addr = AbsResourceInstance::parse_text(FileId::default(), given).ok()?;
            Some(Subject::Resource(addr.module, addr.resource, addr.key))
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.contains('[')
}

/// The parts of an address between dots, each with the keys behind it.
fn segments(text: &str) -> Vec<&str> {
    let (mut found, mut start, mut is_quoted, mut depth, mut is_escaped) = (Vec::new(), 0, false, 0_usize, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '[' if !is_quoted => depth += 1,
            ']' if !is_quoted => depth = depth.saturating_sub(1),
            '.' if !is_quoted && depth == 0 => {
                found.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&text[start..]);
    found
}

fn of_resource(
    facts: &Facts<'_>,
    module: &ModuleInstance,
    resource: &Resource,
    key: Option<&InstanceKey>,
) -> Option<Explanation> {
    let path = module.module();
    let id = facts.tree.find(&path);
    let declared = id.and_then(|id| facts.tree.node(id).module.resources.get(&ResourceKey::from(resource)));
    // An address without a key means all instances, unless there is one without a key only.
    let key = key.map(Some);
    let is_it = |addr: &AbsResourceInstance| is_meant(addr, module, resource, key);
    let changes: Vec<_> = facts.plan.into_iter().flat_map(|plan| &plan.changes).filter(|c| is_it(&c.addr)).collect();
    let objects: Vec<_> = facts.state.instances().filter(|(addr, ..)| is_it(addr)).collect();
    if declared.is_none() && changes.is_empty() && objects.is_empty() {
        return None;
    }
    let all: BTreeSet<AbsResourceInstance> =
        changes.iter().map(|change| change.addr.clone()).chain(objects.iter().map(|(addr, ..)| addr.clone())).collect();
    let single = match (all.len(), all.first()) {
        (1, Some(addr)) => Some(addr.clone()),
        _ => None,
    };
    let mut found = Explanation {
        address: single.as_ref().map_or_else(
            || address(module, resource).to_string() + &key.flatten().map(ToString::to_string).unwrap_or_default(),
            ToString::to_string,
        ),
        kind: kind_of(resource, single.as_ref()),
        declared: declared.and_then(|resource| shown::location(facts, resource.span)),
        ..Explanation::default()
    };
    let instance = single.as_ref().map_or_else(|| module.clone(), |addr| addr.module.clone());
    let instance_key = single.as_ref().and_then(|addr| addr.key.clone()).or_else(|| key.flatten().cloned());
    if single.is_some() {
        found.changes = changes.iter().map(|change| changes::planned(facts, change)).collect();
        found.recorded = objects.iter().flat_map(|(addr, _, instance)| recorded::objects(addr, instance)).collect();
    } else {
        found.instances = all
            .iter()
            .map(|addr| InstanceSummary {
                address: addr.to_string(),
                action: changes.iter().find(|c| c.addr == *addr && c.deposed.is_none()).map(|change| change.action),
            })
            .collect();
    }
    found.repetition = around(facts, &instance);
    let provider_key = changes
        .iter()
        .find_map(|change| change.provider_key.clone())
        .or_else(|| objects.iter().find_map(|(_, _, instance)| instance.provider_key.clone()))
        .filter(|_| single.is_some());
    if let (Some(id), Some(declared)) = (id, declared) {
        let object = address(&instance, resource).to_string();
        let site = Site { module: id, instance: instance.clone(), owner: Owner::Nothing };
        found.repetition.push(repetition(
            facts,
            object,
            &declared.repetition,
            instance_key.as_ref(),
            &site,
            found.declared.clone(),
        ));
        found.provider =
            providing::of_resource(facts, id, &instance, declared, (instance_key.as_ref(), provider_key.as_ref()));
        let at = facts.graph.resources.get(&(id, declared.key.clone()));
        found.dependents = Some(dependents::of_vertices(facts, at.map(std::slice::from_ref).unwrap_or_default()));
    } else if let Some((_, resource, _)) = objects.first() {
        found.provider = Some(providing::recorded(resource.provider.to_string(), provider_key.as_ref()));
    }
    if declared.is_none() {
        let dependents = found.dependents.get_or_insert_default();
        dependents.recorded = dependents::recorded(facts, &path, resource);
    }
    let is_gone = changes.iter().all(|change| change.action == Action::Delete);
    if declared.is_some() && is_gone {
        found.disabled = disabled(&found);
    }
    Some(found)
}

/// The kind of object in the words of the reader: of a resource, or of its only instance.
fn kind_of(resource: &Resource, single: Option<&AbsResourceInstance>) -> &'static str {
    match (single, resource.mode) {
        (_, yuba_addrs::ResourceMode::Data) => "data source",
        (_, yuba_addrs::ResourceMode::Ephemeral) => "ephemeral resource",
        (Some(_), _) => "resource instance",
        (None, _) => "resource",
    }
}

/// The first `enabled` argument that is false, of the object or of a module around it.
fn disabled(found: &Explanation) -> Option<Disabled> {
    let off =
        found.repetition.iter().find(|one| one.argument == Some("enabled") && one.value.as_deref() == Some("false"))?;
    Some(Disabled { object: off.object.clone(), at: off.expressions.first().and_then(|expr| expr.at.clone()) })
}

/// The arguments that decide the instances of the modules around an object, the outermost first.
fn around(facts: &Facts<'_>, instance: &ModuleInstance) -> Vec<super::RepetitionUse> {
    let mut found = Vec::new();
    let mut outer = ModuleInstance::ROOT;
    let mut path = ModulePath::ROOT;
    for step in instance.steps() {
        path = path.child(step.name.clone());
        let inner = outer.child(step.name.clone(), step.key.clone());
        let called = facts.tree.find(&path);
        if let Some(id) = called
            && let Some(call) = facts.tree.call(id)
            && let Some(parent) = facts.tree.node(id).parent
        {
            let site = Site { module: parent, instance: outer.clone(), owner: Owner::Nothing };
            let object = shown::in_module(&outer, &format!("module.{}", step.name)).to_string();
            let at = call_location(facts, id);
            found.push(repetition(facts, object, &call.repetition, step.key.as_ref(), &site, at));
        }
        outer = inner;
    }
    found
}

fn repetition(
    facts: &Facts<'_>,
    object: String,
    repetition: &Repetition,
    key: Option<&InstanceKey>,
    site: &Site<'_>,
    declared: Option<super::FileLine>,
) -> super::RepetitionUse {
    let argument = argument(repetition);
    let value = argument.and_then(|(_, expr)| causes::known(facts, expr, site.module));
    let value = value.map(|value| match repetition {
        Repetition::Enabled(_) => convert(&value, &Type::bool()).unwrap_or(value),
        _ => value,
    });
    let secrecy = Secrecy::of(value.as_ref());
    let mut walk = Walk::new(facts);
    super::RepetitionUse {
        object,
        argument: argument.map(|(name, _)| name),
        key: key.map(key_text),
        declared,
        value: value.map(|value| shown::value(&value, secrecy)),
        expressions: argument.into_iter().map(|(_, expr)| walk.expression(expr, site, secrecy, &[])).collect(),
    }
}

/// The module of an instance, and its scope.
fn site<'a>(facts: &Facts<'a>, instance: &ModuleInstance) -> Option<Site<'a>> {
    let module = facts.tree.find(&instance.module())?;
    Some(Site { module, instance: instance.clone(), owner: Owner::Nothing })
}

fn vertices(facts: &Facts<'_>, module: ModuleId, is_it: impl Fn(&Vertex<'_>) -> bool) -> Vec<u32> {
    let nodes = facts.graph.nodes.iter().enumerate();
    nodes.filter(|(_, node)| node.module == module && is_it(&node.vertex)).map(|(at, _)| at as u32).collect()
}

fn of_variable(facts: &Facts<'_>, module: &ModuleInstance, name: &str) -> Option<Explanation> {
    let site = site(facts, module)?;
    let variable = facts.tree.node(site.module).module.variables.get(name)?;
    let mut cause = Walk::new(facts).variable(&variable.name, &site, Secrecy::Open);
    let at = vertices(facts, site.module, |vertex| matches!(vertex, Vertex::Variable(found) if found.name == name));
    Some(Explanation {
        address: cause.name.clone(),
        kind: "variable",
        declared: shown::location(facts, variable.span),
        value: cause.value.take(),
        definition: std::mem::take(&mut cause.expressions),
        given: cause.given.take().or_else(|| Some(given(facts, variable))),
        repetition: around(facts, module),
        dependents: Some(dependents::of_vertices(facts, &at)),
        ..Explanation::default()
    })
}

fn of_local(facts: &Facts<'_>, module: &ModuleInstance, name: &str) -> Option<Explanation> {
    let site = site(facts, module)?;
    let local = facts.tree.node(site.module).module.locals.get(name)?;
    let mut cause = Walk::new(facts).local(&local.name, &site, Secrecy::Open);
    let at = vertices(facts, site.module, |vertex| matches!(vertex, Vertex::Local(found) if found.name == name));
    Some(Explanation {
        address: cause.name.clone(),
        kind: "local value",
        declared: shown::location(facts, local.span),
        value: cause.value.take(),
        definition: std::mem::take(&mut cause.expressions),
        repetition: around(facts, module),
        dependents: Some(dependents::of_vertices(facts, &at)),
        ..Explanation::default()
    })
}

fn of_output(facts: &Facts<'_>, module: &ModuleInstance, name: &str) -> Option<Explanation> {
    let planned = || facts.plan.filter(|_| module.is_root())?.outputs.iter().find(|output| output.name == name);
    let recorded = || facts.state.outputs.get(name).filter(|_| module.is_root());
    let site = site(facts, module)?;
    let declared = facts.tree.node(site.module).module.outputs.get(name);
    if declared.is_none() && planned().is_none() && recorded().is_none() {
        return None;
    }
    let secrecy = declared.map_or(Secrecy::Open, |output| Secrecy::declared([output.sensitive, output.ephemeral]));
    let mut found = Explanation {
        address: shown::in_module(module, &format!("output.{name}")).to_string(),
        kind: "output",
        repetition: around(facts, module),
        ..Explanation::default()
    };
    if let Some(output) = declared {
        found.declared = shown::location(facts, output.span);
        let expr = output.value.iter();
        found.definition = expr.map(|expr| Walk::new(facts).expression(expr, &site, secrecy, &[])).collect();
        found.value = output
            .value
            .as_ref()
            .and_then(|expr| causes::known(facts, expr, site.module))
            .map(|v| shown::value(&v, secrecy));
        let at = vertices(facts, site.module, |vertex| matches!(vertex, Vertex::Output(found) if found.name == name));
        found.dependents = Some(dependents::of_vertices(facts, &at));
    }
    if let Some(change) = planned() {
        let secrecy = secrecy.with(Secrecy::declared([Some(change.sensitive), Some(change.sensitive_before)]));
        found.value = Some(shown::value(&change.after, secrecy));
        found.changes.push(changes::of_output(change, declared, secrecy));
        // The expression belongs to the change.
        if let Some(attribute) = found.changes.iter_mut().flat_map(|change| &mut change.attributes).next() {
            attribute.expressions = std::mem::take(&mut found.definition);
        }
    } else if let Some(output) = recorded() {
        found.value =
            Some(shown::value(&output.value, secrecy.with(Secrecy::declared([Some(output.sensitive), None]))));
    }
    Some(found)
}

fn of_module(facts: &Facts<'_>, module: &ModuleInstance) -> Option<Explanation> {
    let id = facts.tree.find(&module.module());
    let in_it = |addr: &AbsResourceInstance| {
        let depth = module.steps().len();
        addr.module.steps().len() >= depth && is_in(&addr.module.steps().iter().take(depth).cloned().collect(), module)
    };
    let changes: Vec<_> = facts.plan.into_iter().flat_map(|plan| &plan.changes).filter(|c| in_it(&c.addr)).collect();
    let in_state = facts.state.instances().map(|(addr, ..)| addr).filter(in_it);
    let all: BTreeSet<AbsResourceInstance> = changes.iter().map(|change| change.addr.clone()).chain(in_state).collect();
    if id.is_none() && all.is_empty() {
        return None;
    }
    let mut found = Explanation {
        address: module.to_string(),
        kind: "module",
        declared: id.and_then(|id| call_location(facts, id)),
        repetition: around(facts, module),
        ..Explanation::default()
    };
    found.instances = all
        .into_iter()
        .map(|addr| InstanceSummary {
            action: changes.iter().find(|c| c.addr == addr && c.deposed.is_none()).map(|change| change.action),
            address: addr.to_string(),
        })
        .collect();
    if let Some(id) = id {
        found.disabled = disabled(&found);
        let at = vertices(facts, id, |vertex| matches!(vertex, Vertex::Close | Vertex::Output(_)));
        let mut dependents = dependents::of_vertices(facts, &at);
        let inside = format!("{}.", facts.tree.node(id).path);
        dependents.direct.retain(|(name, _)| !name.starts_with(&inside));
        found.dependents = Some(dependents);
    }
    Some(found)
}
