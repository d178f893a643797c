//! Functions of providers: how they are found and called.
//!
//! A call is looked up in the results of the run. If the result is missing, the driver must make the call, and its
//! value is unknown until then.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ecow::EcoString;
use foldhash::HashMap;
use yuba_addrs::{AbsProviderConfig, ProviderFunction, ProviderSource};
use yuba_config::provider::ProviderKey;
use yuba_provider::{Callee, EvalExpr, LocalNames, Problem, Provider, builtin};
use yuba_syntax::suggestion::did_you_mean;
use yuba_syntax::{Diagnostics, Expr, Span};
use yuba_value::function::{self, FunctionError, Param, Signature};
use yuba_value::{Type, Value};

use crate::constant::constant;
use crate::functions::OtherFunctions;
use crate::live::{Live, ModuleInstanceId};
use crate::module_scope::{EvalMode, ModuleScope};
use crate::tree::{ModuleId, ResolvedProvider};
use crate::validate::diagnostics;

/// Provider instances that have been configured while a configuration is planned or applied.
#[derive(Default)]
pub(crate) struct LiveProviders(HashMap<(AbsProviderConfig, Option<EcoString>), Arc<dyn Provider>>);

impl fmt::Debug for LiveProviders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

impl LiveProviders {
    pub(crate) fn insert(&mut self, config: AbsProviderConfig, key: Option<EcoString>, provider: Arc<dyn Provider>) {
        self.0.insert((config, key), provider);
    }
    pub(crate) fn get(&self, config: AbsProviderConfig, key: Option<EcoString>) -> Option<Arc<dyn Provider>> {
        self.0.get(&(config, key)).cloned()
    }
}

/// Result of looking up a function of a provider.
enum Found {
    /// It exists.
    Function(Signature),
    /// It may exist once the provider is configured.
    Maybe,
    /// It does not exist; other functions do.
    Missing(Vec<EcoString>),
    /// Whether it exists is unknown.
    Failed(Vec<Problem>),
}

/// Takes anything, and is never called: stands for a function that only the configured provider has.
fn anything(name: &EcoString) -> Signature {
    let param = Param::new("args", Type::dynamic(), "").null().unknown().dynamic();
    Signature {
        variadic: Some(param),
        never_null: false,
        ..Signature::new(name.to_string(), "", Vec::new(), Type::dynamic())
    }
}

impl<'a> ModuleScope<'a> {
    /// The provider that the module calls by a name.
    fn required(&self, function: &ProviderFunction) -> Option<&'a ProviderSource> {
        let module = &self.evaluation().tree().node(self.module()).module;
        module.requirements.providers.get(&function.provider).map(|required| &required.provider)
    }

    fn resolved(&self, function: &ProviderFunction) -> Option<ResolvedProvider> {
        let key = ProviderKey { name: function.provider.clone(), alias: function.alias.clone() };
        self.evaluation().tree().resolve_provider(self.module(), &key, None)
    }

    /// The configured instance that handles the call, if one exists.
    fn configured(&self, function: &ProviderFunction) -> Option<Arc<dyn Provider>> {
        let EvalMode::Live(live) = self.evaluation().mode() else { return None };
        let resolved = self.resolved(function)?;
        let key = self.instance_key(live, &resolved);
        live.provider(self.evaluation().tree().provider_address(&resolved), key)
    }

    /// The key of the instance that a call passes to the module. Its errors are reported at the call.
    fn instance_key(&self, live: &Live, resolved: &ResolvedProvider) -> Option<EcoString> {
        let source = resolved.key.as_ref()?;
        let mut child: ModuleInstanceId = self.instance_of_module();
        while Some(live.module(child)) != source.call {
            child = live.parent(child)?;
        }
        let scope = self.evaluation().scope_at(live, live.parent(child)?).of_instance(live.call_values(child));
        scope.provider_instance_key(&source.expr).0
    }

    fn find_function(&self, function: &ProviderFunction, provider: &ProviderSource) -> Option<Found> {
        let schemas = self.evaluation().provider_schema(provider)?;
        if let Some(signature) = schemas.functions.get(&function.function) {
            return Some(Found::Function(signature.clone()));
        }
        let missing = |functions: &BTreeMap<EcoString, Signature>| Found::Missing(functions.keys().cloned().collect());
        if provider.is_builtin() {
            return Some(missing(&schemas.functions));
        }
        if let Some(provider) = self.configured(function) {
            return Some(match self.evaluation().calls.functions(Callee::Configured(provider)) {
                None => Found::Maybe,
                Some(Ok(functions)) => match functions.get(&function.function) {
                    Some(signature) => Found::Function(signature.clone()),
                    None => missing(&functions),
                },
                Some(Err(problems)) => Found::Failed(problems),
            });
        }
        let is_configured = self.resolved(function).is_some_and(|resolved| resolved.block.is_some());
        Some(if is_configured { Found::Maybe } else { missing(&schemas.functions) })
    }

    /// Errors in a reference to a function.
    pub(crate) fn check_function(&self, function: &ProviderFunction, span: Option<Span>) -> Diagnostics {
        let found = self.required(function).and_then(|provider| self.find_function(function, provider));
        match found {
            None => diagnostics::unknown_function_provider(&function.provider, span).into(),
            Some(Found::Missing(others)) => {
                let hint = did_you_mean(&function.function, others.iter().map(EcoString::as_str));
                diagnostics::missing_provider_function(&function.function, &hint, span).into()
            }
            Some(Found::Failed(problems)) => {
                let mut found = Diagnostics::new();
                found.extend(problems.into_iter().map(|problem| problem.diagnostic));
                found
            }
            Some(Found::Function(_) | Found::Maybe) => Diagnostics::new(),
        }
    }
}

/// Functions of the providers that the module requires.
impl OtherFunctions for ModuleScope<'_> {
    fn signature(&self, name: &str) -> Option<Signature> {
        let function = ProviderFunction::parse(name)?.ok()?;
        match self.find_function(&function, self.required(&function)?)? {
            Found::Function(signature) => Some(signature),
            Found::Maybe => Some(anything(&function.function)),
            Found::Missing(_) | Found::Failed(_) => None,
        }
    }

    fn call(&self, name: &str, args: &[Value]) -> function::Result {
        let unknown = || Ok(Value::unknown_dynamic());
        let Some(Ok(called)) = ProviderFunction::parse(name) else { return unknown() };
        let Some(provider) = self.required(&called) else { return unknown() };
        if provider.is_builtin() {
            return builtin::call_function(&called.function, args, &mut ConstantExpr).unwrap_or_else(unknown);
        }
        let signature = match self.find_function(&called, provider) {
            Some(Found::Function(signature)) => signature,
            Some(Found::Maybe) => {
                let marks = args.iter().fold(yuba_value::Marks::NONE, |all, arg| all.union(&arg.marks_deep()));
                return Ok(Value::unknown_dynamic().with_marks(&marks));
            }
            _ => return unknown(),
        };
        let result = |_: &[Value]| Ok(signature.result.clone());
        function::call(&signature, args, result, |args, ty| {
            let callee = match self.configured(&called) {
                Some(provider) => Callee::Configured(provider),
                None => Callee::Unconfigured(provider.clone()),
            };
            let Some(result) = self.evaluation().calls.function(callee, &called.function, args) else {
                return Ok(Value::unknown(ty.clone()));
            };
            let value = result?;
            match yuba_value::convert::conformance_error(value.ty(), ty) {
                Some(reason) if !ty.is_dynamic() => Err(FunctionError::new(ecow::eco_format!(
                    "the result does not have the type in the schema of the function: {reason}. Report this bug to the \
                     maintainers of the provider"
                ))),
                _ => Ok(value),
            }
        })
    }
}

/// Evaluates expressions that refer to nothing.
struct ConstantExpr;

impl EvalExpr for ConstantExpr {
    fn eval(&mut self, expr: &Expr, _: &LocalNames) -> (Value, Diagnostics) {
        constant(expr)
    }
}

/// The block that must be configured before a function of the provider can be called.
pub(crate) fn provider_block(
    tree: &crate::tree::ConfigTree,
    module: ModuleId,
    function: &ProviderFunction,
) -> Option<(ModuleId, ProviderKey)> {
    let required = tree.node(module).module.requirements.providers.get(&function.provider)?;
    let key = ProviderKey { name: required.name.clone(), alias: function.alias.clone() };
    let resolved = tree.resolve_provider(module, &key, None)?;
    Some((resolved.module, resolved.block?))
}
