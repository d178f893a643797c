//! The arguments of module calls.

use ecow::EcoString;
use foldhash::{HashMap, HashMapExt};
use yuba_syntax::body::AttributeSchema;
use yuba_syntax::{Attribute, BodySchema, Diagnostics};

use crate::tree::{ConfigTree, ModuleId};

/// The arguments of all calls, by called module and name.
#[derive(Default)]
pub struct CallArguments(HashMap<ModuleId, HashMap<EcoString, Attribute>>);

impl CallArguments {
    /// The argument that a call gives to a variable of the called module.
    pub fn get(&self, module: ModuleId, name: &str) -> Option<&Attribute> {
        self.0.get(&module)?.get(name)
    }

    /// Reads the arguments of all calls: each must be for a variable of the called module, and required ones must be
    /// set.
    pub fn read(tree: &ConfigTree) -> (CallArguments, Diagnostics) {
        let mut arguments = CallArguments(HashMap::with_capacity(tree.len()));
        let mut problems = Diagnostics::new();
        for (id, node) in tree.iter() {
            let Some(call) = tree.call(id) else { continue };
            let attributes = node
                .module
                .variables
                .values()
                .map(|variable| AttributeSchema { name: variable.name.clone(), required: variable.default.is_none() });
            let schema = BodySchema { attributes: attributes.collect(), blocks: Vec::new() };
            let (content, found) = call.body.content(&schema);
            problems.extend(found);
            arguments.0.insert(id, content.attributes.into_iter().map(|a| (a.name.clone(), a)).collect());
        }
        (arguments, problems)
    }
}
