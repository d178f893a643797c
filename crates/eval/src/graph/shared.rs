//! The reference graph of a configuration, built once and shared by validation, planning and applying.

use std::borrow::Cow;

use yuba_config::provider::ProviderKey;
use yuba_syntax::Diagnostics;

use super::{CallArguments, RefGraph, build};
use crate::module_scope::{EvalEnv, EvalMode, Evaluation};
use crate::tree::{ConfigTree, ModuleId};

/// The arguments of all module calls and the graph of all references. It depends on the configuration and on the schemas of
/// its providers only.
pub struct References<'a> {
    /// The arguments of all module calls.
    pub arguments: CallArguments,
    /// Arguments that their modules do not declare, and required ones that are missing.
    pub invalid_arguments: Diagnostics,
    /// The graph; empty where arguments are invalid.
    pub graph: RefGraph<'a>,
}

impl<'a> References<'a> {
    /// Reads the arguments of a configuration and builds its graph.
    pub fn read(tree: &'a ConfigTree, env: EvalEnv<'a>) -> References<'a> {
        let (arguments, invalid_arguments) = CallArguments::read(tree);
        let graph = match invalid_arguments.has_errors() {
            true => RefGraph::default(),
            false => build(&Evaluation::new(tree, env, EvalMode::Types), &arguments, &[]),
        };
        References { arguments, invalid_arguments, graph }
    }

    /// The graph in which these provider configurations are used as well, by objects of a state for example. It is built
    /// again only where the configuration itself does not use one of them.
    pub fn with_used<'r>(
        &'r self,
        evaluation: &Evaluation<'a>,
        used: &[(ModuleId, ProviderKey)],
    ) -> Cow<'r, RefGraph<'a>> {
        let is_used = |(module, key): &(ModuleId, ProviderKey)| {
            let at = self.graph.providers.get(&(*module, key.clone()));
            at.is_none_or(|at| !self.graph.unused[*at as usize])
        };
        match used.iter().all(is_used) {
            true => Cow::Borrowed(&self.graph),
            false => Cow::Owned(build(evaluation, &self.arguments, used)),
        }
    }
}
