//! `import` blocks: which objects that exist already become instances of resources.
//!
//! [`check_targets`] says before planning which blocks are about resources that do not exist. While planning,
//! [`ResolvedImport::of`] evaluates the blocks of a resource before its instances are planned. Afterwards [`Imports::check`]
//! says which instances they were for that do not exist.

mod diagnostics;

pub(crate) use diagnostics::already_managed;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use ecow::EcoString;
use yuba_addrs::{AbsResourceInstance, ProviderSource};
use yuba_config::import::Import;
use yuba_config::resource::ResourceKey;
use yuba_eval::static_eval::for_each;
use yuba_eval::{ConfigTree, Expansion, InstanceValues, Live, ModuleInstanceId, ModuleScope};
use yuba_plan::Importing;
use yuba_provider::{ImportBy, ProviderSchema};
use yuba_state::State;
use yuba_syntax::expr::Literal;
use yuba_syntax::{Diagnostics, Expr, Sources, Span};
use yuba_value::{Type, Value, View, convert};

/// An object to import, and where to.
#[derive(Clone, Debug)]
pub struct RequestedImport {
    /// Identifier for the provider.
    pub by: ImportBy,
    /// The block that says so; none for the command line.
    pub span: Option<Span>,
}

impl RequestedImport {
    /// The request to the provider, and its description in the plan. An empty id requests nothing.
    pub fn request(&self) -> Option<(ImportBy, Importing)> {
        let importing = match &self.by {
            // Quirk: this is neither an import nor an error.
            ImportBy::Id(id) if id.is_empty() && self.span.is_some() => return None,
            ImportBy::Id(id) => Importing { id: Some(id.clone()), ..Importing::default() },
            ImportBy::Identity(identity) => Importing { identity: Some(identity.clone()), ..Importing::default() },
        };
        Some((self.by.clone(), importing))
    }
}

/// The imports of a run, by the instances they are for.
#[derive(Clone, Debug, Default)]
pub struct Imports {
    by_addr: BTreeMap<AbsResourceInstance, RequestedImport>,
}

/// Blocks whose resource is not declared, with configuration to be written for those where that is possible.
#[derive(Debug, Default)]
pub struct Undeclared<'a> {
    /// Blocks that configuration can be written for, with their addresses.
    pub generate: Vec<(AbsResourceInstance, &'a Import)>,
}

/// Whether a plan writes configuration for imports without a resource block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// It does, for resources of the root module.
    Enabled,
    /// Each resource must be declared.
    Disabled,
}

/// Returns the resources of `import` blocks that configuration is written for, and errors for all other undeclared
/// resources.
pub fn check_targets(tree: &ConfigTree, generation: Generation) -> (Undeclared<'_>, Diagnostics) {
    let (mut undeclared, mut problems) = (Undeclared::default(), Diagnostics::new());
    for import in &tree.root().module.imports {
        let config = &import.to.config;
        let module = tree.find(&config.module).map(|id| &tree.node(id).module);
        if module.is_some_and(|module| module.resources.contains_key(&ResourceKey::from(&config.resource))) {
            continue;
        }
        problems.push(match (&import.to.instance, generation) {
            (_, Generation::Disabled) => diagnostics::without_config(config, Some(import.span)),
            (Some(instance), Generation::Enabled)
                if module.is_some() && instance.module.is_root() && instance.key.is_none() =>
            {
                undeclared.generate.push((instance.clone(), import));
                continue;
            }
            (Some(instance), Generation::Enabled) if module.is_none() || !instance.module.is_root() => {
                diagnostics::generate_in_module(instance, import.span)
            }
            (None, Generation::Enabled) if module.is_none() => diagnostics::generate_in_module(config, import.span),
            (Some(instance), Generation::Enabled) => diagnostics::generate_with_key(instance, import.span),
            (None, Generation::Enabled) => diagnostics::generate_with_key(config, import.span),
        });
    }
    (undeclared, problems)
}

/// The provider that imports, for blocks that identify objects by identity.
#[derive(Clone, Copy)]
pub struct ImportProvider<'a> {
    /// The import.
    pub source: &'a ProviderSource,
    /// Its values.
    pub schema: &'a ProviderSchema,
}

/// The objects that an `import` block is for.
pub struct ResolvedImport {
    objects: Vec<(AbsResourceInstance, ImportBy)>,
    problems: Diagnostics,
}

impl ResolvedImport {
    /// Evaluates a block. The scope is that of the root module.
    pub fn of(import: &Import, scope: &ModuleScope<'_>, provider: Option<ImportProvider<'_>>) -> ResolvedImport {
        let (mut objects, mut problems) = (Vec::new(), Diagnostics::new());
        let instances = match &import.for_each {
            None => vec![InstanceValues::default()],
            Some(expr) => {
                let (value, found) = scope.eval_used(expr);
                problems.extend(found);
                if !problems.has_errors() {
                    problems.extend(check_for_each(&value, expr.span));
                }
                if problems.has_errors() {
                    return ResolvedImport { objects, problems };
                }
                elements(&value)
            }
        };
        for values in instances {
            match resolve(import, &scope.clone().of_instance(values), provider) {
                Ok((addr, by, found)) => {
                    problems.extend(found);
                    objects.push((addr, by));
                }
                Err(found) => problems.extend(found),
            }
        }
        ResolvedImport { objects, problems }
    }
}

impl Imports {
    /// Adds the objects of a block, and reports those that another block is for.
    pub fn add(&mut self, import: &Import, resolved: ResolvedImport, sources: Option<&Sources>) -> Diagnostics {
        let mut problems = resolved.problems;
        for (addr, by) in resolved.objects {
            match self.by_addr.entry(addr) {
                Entry::Vacant(entry) => {
                    entry.insert(RequestedImport { by, span: Some(import.span) });
                }
                Entry::Occupied(first) => {
                    // Quirk: the location is that of the first block.
                    let at = first.get().span.unwrap_or(import.span);
                    problems.push(diagnostics::duplicate(first.key(), sources, at, import.span));
                }
            }
        }
        problems
    }
    /// Imports requested on the command line.
    pub fn asked(objects: &[(AbsResourceInstance, EcoString)]) -> Imports {
        let imported = |id: &EcoString| RequestedImport { by: ImportBy::Id(id.clone()), span: None };
        Imports { by_addr: objects.iter().map(|(addr, id)| (addr.clone(), imported(id))).collect() }
    }

    /// Whether the command line requests an import to an instance.
    pub fn is_asked(&self, addr: &AbsResourceInstance) -> bool {
        self.by_addr.get(addr).is_some_and(|imported| imported.span.is_none())
    }

    /// The import for an instance. An existing object is not imported again: the block stays as a record.
    pub fn get(&self, addr: &AbsResourceInstance, state: &State) -> Option<&RequestedImport> {
        self.by_addr.get(addr).filter(|_| state.instance(addr).is_none())
    }
    /// An import that needs no instance in the configuration: that is written for it.
    pub fn settle(&mut self, addr: &AbsResourceInstance) {
        self.by_addr.remove(addr);
    }
    /// Whether there are no imports.
    pub fn is_empty(&self) -> bool {
        self.by_addr.is_empty()
    }

    /// Reports imports for instances that do not exist. A plan with errors does not know all instances.
    /// A block for a disabled instance waits; the command line imports an object now, so a disabled instance is an error.
    pub fn check(&self, live: &Live, instances: Instances) -> Diagnostics {
        let mut problems = Diagnostics::new();
        for (addr, imported) in &self.by_addr {
            match presence(addr, live) {
                Presence::There => {}
                Presence::Unknown if instances == Instances::Incomplete => {}
                Presence::Disabled => problems.push(match imported.span {
                    Some(block) => diagnostics::waits(addr, block),
                    None => diagnostics::disabled(addr),
                }),
                Presence::Missing | Presence::Unknown => problems.push(diagnostics::without_config(addr, None)),
            }
        }
        problems
    }
}

/// Whether a plan has found all instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instances {
    /// The plan has found all of them.
    Complete,
    /// Errors excluded some of them from the plan.
    Incomplete,
}

enum Presence {
    There,
    Disabled,
    Missing,
    /// It was not found out which instances there are.
    Unknown,
}

/// Whether an instance exists, or would if it were enabled.
fn presence(addr: &AbsResourceInstance, live: &Live) -> Presence {
    let mut at = ModuleInstanceId::ROOT;
    for (depth, step) in addr.module.steps().iter().enumerate() {
        let so_far = addr.module.steps().iter().take(depth + 1).cloned().collect();
        match (live.find(&so_far), live.call_expansion(at, &step.name)) {
            (Some(found), _) => at = found,
            (None, Some(Expansion::Enabled(false))) if step.key.is_none() => return Presence::Disabled,
            (None, Some(_)) => return Presence::Missing,
            (None, None) => return Presence::Unknown,
        }
    }
    match live.resource_expansion(at, &ResourceKey::from(&addr.resource)) {
        Some(found) if found.contains(addr.key.as_ref()) => Presence::There,
        Some(Expansion::Enabled(false)) if addr.key.is_none() => Presence::Disabled,
        Some(_) => Presence::Missing,
        None => Presence::Unknown,
    }
}

/// Unlike elsewhere a tuple will do.
fn check_for_each(value: &Value, span: Span) -> Diagnostics {
    if !value.ty().is_tuple() || value.is_null() || !value.is_known() {
        return for_each::check(value, span);
    }
    // Marks matter as they do elsewhere.
    let (_, marks) = value.unmark();
    for_each::check(&Value::object(Vec::new()).with_marks(&marks), span)
}

/// Value of `each` for each element of a known value.
fn elements(value: &Value) -> Vec<InstanceValues> {
    let instance =
        |key: Value, value: Value| InstanceValues { count_index: None, each_key: Some(key), each_value: Some(value) };
    match value.view_ignoring_marks() {
        View::Set(items) => items.iter().map(|item| instance(item.clone(), item.clone())).collect(),
        View::Tuple(items) => (0_i64..).zip(items).map(|(at, item)| instance(Value::int(at), item.clone())).collect(),
        _ => {
            let entries = value.unmark().0.entries().unwrap_or_default();
            entries.into_iter().map(|(key, item)| instance(Value::string(key), item)).collect()
        }
    }
}

fn resolve(
    import: &Import,
    scope: &ModuleScope<'_>,
    provider: Option<ImportProvider<'_>>,
) -> Result<(AbsResourceInstance, ImportBy, Diagnostics), Diagnostics> {
    let mut warnings = Diagnostics::new();
    let addr = match &import.to.instance {
        Some(addr) => addr.clone(),
        None => import.to.resolve(|expr| key(scope, expr, &mut warnings))?,
    };
    let by = match (&import.id, &import.identity) {
        (Some(expr), _) => {
            let value = argument(scope, expr, "id", &Type::string(), &mut warnings)?;
            ImportBy::Id(value.as_str().cloned().unwrap_or_default())
        }
        (None, Some(expr)) => {
            let schema = provider.and_then(|provider| provider.schema.identities.get(&addr.resource.kind));
            let Some(schema) = schema else {
                let source = provider.map(|provider| provider.source);
                return Err(diagnostics::no_identity(&addr, source, expr.span).into());
            };
            ImportBy::Identity(argument(scope, expr, "identity", &schema.object.spec_type(), &mut warnings)?)
        }
        (None, None) => ImportBy::Id(EcoString::new()),
    };
    Ok((addr, by, warnings))
}

/// The value of a key in the address.
fn key(scope: &ModuleScope<'_>, expr: &Expr, warnings: &mut Diagnostics) -> Result<Literal, Diagnostics> {
    let (value, found) = scope.eval_used(expr);
    if found.has_errors() {
        return Err(found);
    }
    warnings.extend(found);
    let (plain, marks) = value.unmark();
    let reason = if !plain.is_known() {
        "it is known only after apply, but must be known when the plan is made"
    } else if plain.is_null() {
        "it is null"
    } else if marks.has_sensitive() {
        "it is sensitive, and would be shown in addresses"
    } else if marks.has_ephemeral() {
        "it is ephemeral, and would be shown in addresses"
    } else {
        match (plain.as_str(), plain.as_number()) {
            (Some(text), _) => return Ok(Literal::String(text.clone())),
            (_, Some(number)) => {
                let text = ecow::eco_format!("{number}");
                return Ok(number.to_i64().map_or(Literal::Number(text.as_str().into()), Literal::Int));
            }
            (None, None) => "it is neither a string nor a number",
        }
    };
    Err(diagnostics::key(reason, expr.span).into())
}

/// The value of `id` or `identity`, without marks.
fn argument(
    scope: &ModuleScope<'_>,
    expr: &Expr,
    name: &str,
    ty: &Type,
    warnings: &mut Diagnostics,
) -> Result<Value, Diagnostics> {
    let (value, mut found) = scope.eval_used(expr);
    if found.has_errors() {
        if let Err(reason) = convert::convert(&value.unmark_deep().0, ty) {
            found.push(diagnostics::incorrect_type(&reason, expr.span));
        }
        return Err(found);
    }
    warnings.extend(found);
    let marks = value.marks_deep();
    let value = convert::convert(&value, ty).map_err(|reason| diagnostics::incorrect_type(&reason, expr.span))?;
    let reason = if value.is_null() {
        "it is null"
    } else if !value.is_wholly_known() {
        "it depends on something that is known only after apply, so the object cannot be looked at when the plan is made"
    } else if marks.has_sensitive() {
        "it is sensitive, and would be shown"
    } else if marks.has_ephemeral() {
        "it is ephemeral, and would be stored"
    } else {
        return Ok(value.unmark_deep().0);
    };
    Err(diagnostics::argument(name, reason, expr.span).into())
}

#[cfg(test)]
mod tests;
