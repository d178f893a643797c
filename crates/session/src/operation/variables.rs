//! Values of the variables of the root module, as expressions see them.

use std::collections::BTreeMap;

use ecow::EcoString;
use yuba_config::variable::Variable;
use yuba_engine::RootVariable;
use yuba_eval::inputs::{GivenAt, GivenBy, Inputs, prepare, required};
use yuba_syntax::{Diagnostics, Sources};
use yuba_value::Value;

/// Treatment of variables that have neither a value nor a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WithoutValue {
    /// They are errors.
    Refused,
    /// They are left out.
    LeftOut,
}

/// Values of all variables that a root module declares. The second part of the result are values that were given and cannot
/// be read, values for variables that are not declared, and variables without value where these are refused. Values that a
/// variable does not accept are in its [`RootVariable::problems`].
pub(crate) fn root_variables(
    declared: &BTreeMap<EcoString, Variable>,
    inputs: &Inputs,
    sources: &Sources,
    without_value: WithoutValue,
) -> (BTreeMap<EcoString, RootVariable>, Diagnostics) {
    let mut problems = inputs.undeclared(declared, sources);
    let mut variables = BTreeMap::new();
    for (name, variable) in declared {
        let (given, span) = match inputs.value(variable) {
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
        let place = inputs.given_at(variable, span, sources);
        let by = || inputs.given_by(variable).unwrap_or(GivenBy::Answer);
        variables.insert(name.clone(), root_variable(variable, given, place, by));
    }
    (variables, problems)
}

/// Values of all variables that a root module declares, where these values are known already, with their sources.
pub(crate) fn known_variables(
    declared: &BTreeMap<EcoString, Variable>,
    known: &BTreeMap<EcoString, (Value, GivenBy)>,
) -> BTreeMap<EcoString, RootVariable> {
    let variable = |(name, variable): (&EcoString, &Variable)| {
        let (given, by) = known.get(name).cloned().unzip();
        (name.clone(), root_variable(variable, given, GivenAt::Nowhere, || by.unwrap_or(GivenBy::Answer)))
    };
    declared.iter().map(variable).collect()
}

/// Adds the variables that have no value yet: their values are unknown.
pub(crate) fn add_unknown(declared: &BTreeMap<EcoString, Variable>, variables: &mut BTreeMap<EcoString, RootVariable>) {
    for (name, variable) in declared {
        variables.entry(name.clone()).or_insert_with(|| {
            let unknown = Some(Value::unknown(variable.constraint.clone()));
            let prepared = root_variable(variable, unknown, GivenAt::Nowhere, || GivenBy::Answer);
            RootVariable { given: None, given_by: None, problems: Diagnostics::new(), ..prepared }
        });
    }
}

/// A variable with the value given for it, or with its default.
fn root_variable(
    variable: &Variable,
    given: Option<Value>,
    place: GivenAt<'_>,
    by: impl FnOnce() -> GivenBy,
) -> RootVariable {
    let (value, problems) = prepare(variable, given.clone(), place);
    let is_set = given.as_ref().is_some_and(|given| !given.is_null());
    RootVariable { value, given, given_by: is_set.then(by), problems }
}
