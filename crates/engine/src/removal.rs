//! `removed` blocks: what becomes of objects whose resource or module was taken out of the configuration.

use ecow::eco_format;
use foldhash::HashMap;
use yuba_addrs::{ConfigResource, ModulePath, RemoveSubject};
use yuba_config::provisioner::Provisioner;
use yuba_config::removed::Removed;
use yuba_config::resource::ResourceKey;
use yuba_eval::ConfigTree;
use yuba_syntax::{Diagnostics, Span};

use crate::diagnostics::removed_object_still_declared;

/// All `removed` blocks of a configuration, by what they are about.
#[derive(Debug, Default)]
pub struct Removals<'a> {
    blocks: Vec<&'a Removed>,
    resources: HashMap<ConfigResource, Vec<u32>>,
    modules: HashMap<ModulePath, Vec<u32>>,
}

/// Settings of `removed` blocks for an object.
#[derive(Clone, Copy, Debug)]
pub struct Removal<'a> {
    /// It is destroyed; else it is forgotten.
    pub destroy: bool,
    /// Provisioners that run before it is destroyed.
    pub provisioners: &'a [Provisioner],
    /// The block.
    pub span: Span,
}

impl<'a> Removals<'a> {
    /// The blocks of all modules, and their errors: the objects that they name must no longer be declared.
    pub fn find(tree: &'a ConfigTree) -> (Removals<'a>, Diagnostics) {
        let (mut removals, mut problems) = (Removals::default(), Diagnostics::new());
        for (_, node) in tree.iter() {
            for block in &node.module.removed {
                let at = removals.blocks.len() as u32;
                let join = |path: &ModulePath| node.path.steps().iter().chain(path.steps()).cloned().collect();
                match &block.from.subject {
                    RemoveSubject::Module(path) => {
                        let path: ModulePath = join(path);
                        if tree.find(&path).is_some() {
                            problems.push(removed_object_still_declared("module", &eco_format!("{path}"), block.span));
                        }
                        removals.modules.entry(path).or_default().push(at);
                    }
                    RemoveSubject::Resource(resource) => {
                        let resource = resource.resource.clone().in_module(join(&resource.module));
                        let key = ResourceKey::from(&resource.resource);
                        let module = tree.find(&resource.module).map(|id| &tree.node(id).module);
                        if module.is_some_and(|module| module.resources.contains_key(&key)) {
                            problems.push(removed_object_still_declared(
                                "resource",
                                &eco_format!("{resource}"),
                                block.span,
                            ));
                        }
                        removals.resources.entry(resource).or_default().push(at);
                    }
                }
                removals.blocks.push(block);
            }
        }
        (removals, problems)
    }

    /// Settings of a removed block for its objects.
    pub fn of(&self, resource: &ConfigResource) -> Option<Removal<'a>> {
        let mut about: Vec<u32> = self.resources.get(resource).cloned().unwrap_or_default();
        if !self.modules.is_empty() {
            let steps = resource.module.steps();
            for len in 1..=steps.len() {
                let path: ModulePath = steps.iter().take(len).cloned().collect();
                about.extend(self.modules.get(&path).into_iter().flatten());
            }
        }
        // Quirk: the last block decides about destroying, the first one about provisioners.
        let (first, last) = (about.iter().min()?, about.iter().max()?);
        let block = |at: &u32| self.blocks.get(*at as usize).copied();
        let (first, last) = (block(first)?, block(last)?);
        Some(Removal { destroy: last.destroy, provisioners: &first.provisioners, span: last.span })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use yuba_syntax::FileId;

    use super::*;
    use crate::testing;

    fn check(fixture: &str, resources: &[&str], expect: &Expect) {
        let config = testing::config(fixture);
        let (removals, problems) = Removals::find(&config.tree);
        let mut out = String::new();
        for text in resources {
            let resource = ConfigResource::parse_text(FileId(0), text).expect("because it is well-formed");
            out += &match removals.of(&resource) {
                None => format!("{text}: nothing\n"),
                Some(removal) => {
                    let what = if removal.destroy { "destroy" } else { "forget" };
                    format!("{text}: {what}, {} provisioners\n", removal.provisioners.len())
                }
            };
        }
        expect.assert_eq(&(out + &testing::show(&problems, &config.sources)));
    }

    #[test]
    fn blocks_are_about_resources_and_whole_modules() {
        check(
            r#"
//- main.tf
module "here" { source = "./m" }
resource "t_x" "declared" {}
removed {
  from = t_x.gone
  lifecycle { destroy = true }
  provisioner "local-exec" {
    when    = destroy
    command = "x"
  }
}
removed {
  from = module.old
  lifecycle { destroy = false }
}
removed {
  from = module.old.module.deep.t_x.y
  lifecycle { destroy = true }
}
removed {
  from = t_x.declared
  lifecycle { destroy = false }
}
removed {
  from = module.here
  lifecycle { destroy = false }
}
//- m/main.tf
removed {
  from = t_x.inner
  lifecycle { destroy = false }
}
"#,
            &[
                "t_x.gone",
                "t_x.other",
                "module.old.t_x.y",
                "module.old.module.deep.t_x.y",
                "module.old.module.deep.t_x.z",
                "module.here.t_x.inner",
            ],
            &expect![[r#"
                t_x.gone: destroy, 1 provisioners
                t_x.other: nothing
                module.old.t_x.y: forget, 0 provisioners
                module.old.module.deep.t_x.y: destroy, 0 provisioners
                module.old.module.deep.t_x.z: forget, 0 provisioners
                module.here.t_x.inner: forget, 0 provisioners
                main.tf:19:1 error: Removed resource block still exists
                main.tf:23:1 error: Removed module block still exists
            "#]],
        );
    }
}
