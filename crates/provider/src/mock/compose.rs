//! The object of a resource without its provider: what is configured, what the test says, and made-up values for the rest.

use std::collections::BTreeMap;

use ecow::EcoString;
use yuba_syntax::Diagnostic;
use yuba_value::{Value, convert};

use super::generate::Generator;
use crate::diagnostics;
use crate::problem::{Problem, ProblemLocation};
use crate::schema::{Attribute, BlockSchema, NestedBlock, Nesting};

type Parts = BTreeMap<EcoString, Value>;

/// Makes objects by schema.
pub(super) struct Composer {
    pub(super) generator: Generator,
    pub(super) problems: Vec<Problem>,
}

fn parts(value: &Value) -> Parts {
    match value.is_known() && !value.is_null() {
        true => value.entries().unwrap_or_default().into_iter().collect(),
        false => Parts::new(),
    }
}

impl Composer {
    fn report(&mut self, diagnostic: Diagnostic) {
        self.problems.push(Problem { diagnostic, location: ProblemLocation::Block });
    }

    /// The object of a block. `given` is what the test says; `prior` is the object as it was.
    pub(super) fn block(&mut self, schema: &BlockSchema, config: &Value, given: &Value, prior: &Value) -> Value {
        let (config, given, prior) = (parts(config), parts(given), parts(prior));
        let mut made = Vec::with_capacity(schema.attributes().len() + schema.blocks().len());
        for (name, attribute) in schema.attributes() {
            let value = self.attribute(name, attribute, config.get(name), given.get(name), prior.get(name));
            made.push((name.clone(), value));
        }
        for (name, block) in schema.blocks() {
            let value = self.nested(name, block, config.get(name), given.get(name), prior.get(name));
            made.push((name.clone(), value));
        }
        for name in given.keys() {
            if !schema.attributes().contains_key(name) && !schema.blocks().contains_key(name) {
                self.report(diagnostics::mock_field_unknown(name));
            }
        }
        Value::object(made)
    }

    fn attribute(
        &mut self,
        name: &EcoString,
        attribute: &Attribute,
        config: Option<&Value>,
        given: Option<&Value>,
        prior: Option<&Value>,
    ) -> Value {
        let ty = attribute.implied_type();
        let config = config.filter(|value| !value.is_null());
        let given = given.map(|value| self.given(name, attribute, config, value));
        if attribute.write_only {
            if given.is_some() {
                self.report(diagnostics::mock_field_write_only(name));
            }
            return Value::null(ty);
        }
        let is_set_by_provider_only = attribute.computed && !attribute.optional && !attribute.required;
        match (config.filter(|_| !is_set_by_provider_only), given) {
            (Some(value), _) => value.clone(),
            (None, Some(value)) => value,
            (None, None) if attribute.required => {
                self.report(diagnostics::mock_field_required(name));
                Value::null(ty)
            }
            (None, None) if attribute.computed => {
                // Unchanged values stay. They are generated all the same, so that later values do not depend on that.
                let made_up = self.generator.value(&ty);
                prior.filter(|value| !value.is_null() && value.is_wholly_known()).cloned().unwrap_or(made_up)
            }
            (None, None) => Value::null(ty),
        }
    }

    /// Values of the test, by the type of the attribute.
    fn given(&mut self, name: &EcoString, attribute: &Attribute, config: Option<&Value>, value: &Value) -> Value {
        if config.is_some() {
            self.report(diagnostics::mock_field_configured(name));
        }
        if !attribute.computed {
            self.report(diagnostics::mock_field_not_computed(name));
        }
        let ty = attribute.implied_type();
        convert::convert(value, &ty).unwrap_or_else(|error| {
            self.report(diagnostics::mock_field_type(name, &error));
            Value::null(ty)
        })
    }

    fn nested(
        &mut self,
        name: &EcoString,
        block: &NestedBlock,
        config: Option<&Value>,
        given: Option<&Value>,
        prior: Option<&Value>,
    ) -> Value {
        if let Some(value) = given.filter(|value| !value.ty().is_object()) {
            self.report(diagnostics::mock_block_not_object(name, value.ty()));
            return config.cloned().unwrap_or_else(|| block.empty_value());
        }
        let is_there = |value: &&Value| {
            let is_empty = value.as_seq().is_some_and(<[Value]>::is_empty)
                || (value.ty().is_map() && value.entries().is_some_and(|entries| entries.is_empty()));
            value.is_known() && !value.is_null() && !is_empty
        };
        let Some(config) = config.filter(is_there) else {
            if given.is_some() {
                self.report(diagnostics::mock_block_not_configured(name));
            }
            // The configuration determines the blocks, possibly later.
            return config.filter(|value| !value.is_known()).cloned().unwrap_or_else(|| block.empty_value());
        };
        let none = Value::null_dynamic();
        let given = given.unwrap_or(&none);
        let element = block.block.implied_type().clone();
        match block.nesting {
            Nesting::Single | Nesting::Group => self.block(&block.block, config, given, prior.unwrap_or(&none)),
            Nesting::Map => {
                let before = prior.map(parts).unwrap_or_default();
                let made: Vec<(EcoString, Value)> = parts(config)
                    .into_iter()
                    .map(|(key, value)| {
                        let was = before.get(&key).unwrap_or(&none);
                        let made = self.block(&block.block, &value, given, was);
                        (key, made)
                    })
                    .collect();
                if config.ty().is_object() { Value::object(made) } else { Value::map(element, made) }
            }
            Nesting::List | Nesting::Set => {
                let before = prior.and_then(Value::as_seq).unwrap_or_default();
                let made: Vec<Value> = config
                    .as_seq()
                    .unwrap_or_default()
                    .iter()
                    .enumerate()
                    .map(|(at, value)| {
                        let was = before.get(at).filter(|_| block.nesting == Nesting::List).unwrap_or(&none);
                        self.block(&block.block, value, given, was)
                    })
                    .collect();
                match block.nesting {
                    Nesting::Set => Value::set(element, made),
                    _ if config.ty().is_tuple() => Value::tuple(made),
                    _ => Value::list(element, made),
                }
            }
        }
    }
}
