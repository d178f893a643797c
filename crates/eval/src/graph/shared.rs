//! The reference graph of a configuration, built once and shared by validation, planning and applying.

use std::borrow::Cow;

use yuba_config::provider::ProviderKey;
use yuba_syntax::Diagnostics;

use super::build::{Index, build, extend};
use super::{CallArguments, RefGraph};
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
    /// Positions of the objects of each module.
    modules: Vec<Index<'a>>,
}

impl<'a> References<'a> {
    /// Reads the arguments of a configuration and builds its graph.
    pub fn read(tree: &'a ConfigTree, env: EvalEnv<'a>) -> References<'a> {
        let (arguments, invalid_arguments) = CallArguments::read(tree);
        let (graph, modules) = match invalid_arguments.has_errors() {
            true => (RefGraph::default(), Vec::new()),
            false => build(&Evaluation::new(tree, env, EvalMode::Types), &arguments),
        };
        References { arguments, invalid_arguments, graph, modules }
    }

    /// The graph in which these provider configurations are used as well, by objects of a state for example. Where the
    /// configuration does not use one of them, this is a copy to which their references are added. Nothing else is read again.
    pub fn with_used<'r>(
        &'r self,
        evaluation: &Evaluation<'a>,
        used: &[(ModuleId, ProviderKey)],
    ) -> Cow<'r, RefGraph<'a>> {
        let providers = used.iter().filter_map(|provider| self.graph.providers.get(provider).copied());
        let unused: Vec<u32> = providers.filter(|at| self.graph.unused[*at as usize]).collect();
        match unused.is_empty() {
            true => Cow::Borrowed(&self.graph),
            false => Cow::Owned(extend(evaluation, self.graph.clone(), &self.modules, &unused)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use yuba_addrs::ProviderSource;
    use yuba_config::provider::ProviderKey;
    use yuba_provider::{Attribute, BlockSchema, ProviderSchema, Schema};
    use yuba_value::Type;

    use super::References;
    use crate::inputs::Inputs;
    use crate::module_scope::{EvalEnv, EvalMode, Evaluation};
    use crate::testing::Lenient;
    use crate::tree::tests::Memory;
    use crate::tree::{Link, Manifest, ModuleId, Purpose, link};
    use crate::world::MemoryWorld;

    const FIXTURE: &str = r#"--- main.tf
terraform {
  required_providers {
    p = { source = "example/p" }
    q = { source = "example/q" }
  }
}
locals { a = "x" }
provider "p" { name = local.a }
provider "p" { alias = "other" }
provider "q" { name = provider::p::f(2) }
resource "p_r" "a" { provider = p.other }
resource "p_r" "b" { provider = p.other }
"#;

    thread_local! {
        static SCHEMAS_READ: Cell<usize> = const { Cell::new(0) };
    }

    fn schema(provider: &ProviderSource) -> Option<Arc<ProviderSchema>> {
        SCHEMAS_READ.set(SCHEMAS_READ.get() + 1);
        let schema = Schema { version: 0, block: BlockSchema::new([("name", Attribute::optional(Type::string()))]) };
        let resources = [("p_r", schema.clone())].into();
        let all = ProviderSchema { provider: schema, resources, ..ProviderSchema::default() };
        ["p", "q"].contains(&provider.kind.as_str()).then(|| Arc::new(all))
    }

    #[test]
    fn a_provider_that_only_the_state_uses_is_added_to_the_same_graph() {
        let mut files = Memory::new(FIXTURE);
        let (world, inputs, manifest) = (MemoryWorld::default(), Inputs::default(), Manifest::default());
        let options = Link {
            root_dir: ".",
            world: &world,
            workspace: "default",
            original_dir: None,
            inputs: &inputs,
            manifest: &manifest,
            purpose: Purpose::Use,
        };
        let (tree, problems) = link(&mut files, &options);
        assert!(!problems.into_all().has_errors());
        let providers = Lenient(schema);
        let env =
            EvalEnv { world: &world, workspace: "default", original_dir: None, providers: &providers, sources: None };
        let references = References::read(&tree, env);
        let evaluation = Evaluation::new(&tree, env, EvalMode::Types);
        let key = |name: &str| ProviderKey { name: name.into(), alias: None };
        let used = |name: &str| (ModuleId::ROOT, key(name));
        let other = (ModuleId::ROOT, ProviderKey { name: "p".into(), alias: Some("other".into()) });
        assert!(matches!(references.with_used(&evaluation, &[other]), std::borrow::Cow::Borrowed(_)));

        SCHEMAS_READ.set(0);
        let graph = references.with_used(&evaluation, &[used("q")]);
        assert_eq!(SCHEMAS_READ.get(), 2, "only the two provider configurations are read");
        let edges = |name: &str| {
            let at = graph.providers[&used(name)] as usize;
            let edges: Vec<_> = graph.edges[at].iter().map(|to| graph.name(*to, &tree)).collect();
            (graph.unused[at], edges.join(" "))
        };
        let provider = "provider[\"registry.opentofu.org/example/p\"]".to_owned();
        assert_eq!(edges("q"), (false, provider), "its function belongs to a provider configuration");
        assert_eq!(edges("p"), (false, "local.a (expand)".to_owned()));
        let unchanged = |name: &str| references.graph.unused[references.graph.providers[&used(name)] as usize];
        assert!(unchanged("p") && unchanged("q"), "the graph of the configuration stays as it is");
    }
}
