//! Values of the variables of the root module, as expressions see them.

use std::collections::BTreeMap;

use ecow::EcoString;
use yuba_config::variable::Variable;
use yuba_engine::RootVariable;
use yuba_eval::inputs::{GivenAt, GivenBy, prepare, required};
use yuba_syntax::Diagnostics;
use yuba_value::Value;

use crate::loaded::Loaded;

/// Treatment of variables that have neither a value nor a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WithoutValue {
    /// They are errors.
    Refused,
    /// They are left out.
    LeftOut,
}

/// Values of all variables of the root module. The second part of the result are values that were given and cannot be read,
/// values for variables that are not declared, and variables without value where these are refused. Values that a variable
/// does not accept are in its [`RootVariable::problems`].
pub(crate) fn root_variables(
    loaded: &Loaded,
    without_value: WithoutValue,
) -> (BTreeMap<EcoString, RootVariable>, Diagnostics) {
    let declared = &loaded.tree.root().module.variables;
    let mut problems = loaded.inputs.undeclared(declared, &loaded.sources);
    let mut variables = BTreeMap::new();
    for (name, variable) in declared {
        let (given, span) = match loaded.inputs.value(variable) {
            Some((value, span, found)) => {
                let failed = found.has_errors();
                problems.extend(found);
                if failed {
                    if variable.default.is_none() && without_value == WithoutValue::Refused {
                        problems.push(required(variable));
                    }
                    continue;
                }
                (Some(value), span)
            }
            None if variable.default.is_none() => {
                if without_value == WithoutValue::Refused {
                    problems.push(required(variable));
                }
                continue;
            }
            None => (None, None),
        };
        let place = loaded.inputs.given_at(variable, span, &loaded.sources);
        let by = || loaded.inputs.given_by(variable).unwrap_or(GivenBy::Answer);
        variables.insert(name.clone(), root_variable(variable, given, place, by));
    }
    (variables, problems)
}

/// A variable with the value given for it, or with its default.
pub(crate) fn root_variable(
    variable: &Variable,
    given: Option<Value>,
    place: GivenAt<'_>,
    by: impl FnOnce() -> GivenBy,
) -> RootVariable {
    let (value, problems) = prepare(variable, given.clone(), place);
    let is_set = given.as_ref().is_some_and(|given| !given.is_null());
    RootVariable { value, given, given_by: is_set.then(by), problems }
}
