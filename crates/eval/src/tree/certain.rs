//! Instances that exist whatever values variables have: their errors are found before anything is planned.

use foldhash::{HashMap, HashMapExt as _};
use yuba_config::provider::ProviderKey;
use yuba_config::resource::Repetition;
use yuba_syntax::expr::CallExpr;
use yuba_syntax::{Expr, Span};
use yuba_value::ops::length;
use yuba_value::{Type, Value, convert};

use super::{ConfigTree, ModuleId};
use crate::constant::evaluate_alone;
use crate::functions::FunctionTable;

/// Modules that certainly have an instance, and whether a called module uses the provider instance that its call
/// selects.
pub(super) struct Certain {
    modules: Vec<bool>,
    /// By called module and the key in its call: whether a resource that uses the key certainly has an instance. Keys that
    /// no resource uses are missing.
    uses: HashMap<(ModuleId, Span), bool>,
}

/// Instances that evaluate the key of a provider instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyUse {
    /// One that certainly exists.
    Certain,
    /// Instances of resources, which planning finds.
    Possible,
    /// No resource uses the key, so it must be valid as soon as the called module has an instance.
    ByModule,
}

impl Certain {
    pub(super) fn of(tree: &ConfigTree) -> Certain {
        let mut modules: Vec<bool> = Vec::with_capacity(tree.len());
        let mut uses = HashMap::new();
        for (id, node) in tree.iter() {
            let outer = node.parent.is_none_or(|parent| modules.get(parent.0 as usize).copied().unwrap_or_default());
            let own = outer && tree.call(id).is_none_or(|call| has_instances(&call.repetition));
            modules.push(own);
            let mut chosen: HashMap<ProviderKey, Option<(ModuleId, Span)>> = HashMap::new();
            for resource in node.module.resources.values() {
                if resource.provider.as_ref().is_some_and(|reference| reference.instance.is_some()) {
                    continue;
                }
                let by_call = *chosen.entry(super::providers::provider_key(resource)).or_insert_with_key(|key| {
                    let source = tree.resolve_provider(id, key, None)?.key?;
                    Some((source.call?, source.expr.span))
                });
                if let Some(key) = by_call {
                    *uses.entry(key).or_insert(false) |= own && has_instances(&resource.repetition);
                }
            }
        }
        Certain { modules, uses }
    }

    /// Whether a module certainly has an instance.
    pub(super) fn module(&self, id: ModuleId) -> bool {
        self.modules.get(id.0 as usize).copied().unwrap_or_default()
    }

    /// Instances that evaluate the key of a provider instance in the call of a module.
    pub(super) fn call_key(&self, called: ModuleId, key: Span) -> KeyUse {
        match self.uses.get(&(called, key)) {
            Some(true) => KeyUse::Certain,
            Some(false) => KeyUse::Possible,
            None if self.module(called) => KeyUse::Certain,
            None => KeyUse::ByModule,
        }
    }
}

/// Whether a block has an instance for each instance of its module, as far as constants show.
pub(super) fn has_instances(repetition: &Repetition) -> bool {
    match repetition {
        Repetition::Single => true,
        Repetition::Count(expr) => {
            let number = fixed(expr).and_then(|value| convert::convert(&value, &Type::number()).ok());
            number.is_some_and(|number| number.as_number().and_then(|number| number.to_i64()).is_some_and(|n| n > 0))
        }
        Repetition::ForEach(expr) => {
            let length = fixed(expr).and_then(|value| length(&value).ok());
            length.and_then(|length| length.as_number()?.to_i64()).is_some_and(|n| n > 0)
        }
        Repetition::Enabled(expr) => {
            let value = fixed(expr).and_then(|value| convert::convert(&value, &Type::bool()).ok());
            value.and_then(|value| value.as_bool()) == Some(true)
        }
    }
}

/// The value of an expression that refers to nothing and does not depend on the outside, if it has one.
fn fixed(expr: &Expr) -> Option<Value> {
    let functions = FunctionTable::library();
    let is_pure = |call: &&CallExpr| functions.get(&call.name).is_some();
    if !expr.variables().is_empty() || !expr.functions().iter().all(is_pure) {
        return None;
    }
    let (value, problems) = evaluate_alone(expr, functions);
    let (value, _) = value.unmark();
    (!problems.has_errors() && value.is_known()).then_some(value)
}
