//! Resources by module instance, for JSON documents in which modules are nested.

use foldhash::HashMap;
use yuba_addrs::{ModuleInstance, ModuleStep};

use crate::json_writer::Members;

/// A module instance, what is in it, and the module instances below it.
struct Node<T> {
    address: String,
    resources: Vec<T>,
    children: Vec<usize>,
}

/// Module instances with their resources: the root, those with resources, and all between them and the root.
pub(crate) struct ModuleTree<T> {
    nodes: Vec<Node<T>>,
    /// By the node above and the last step.
    by_step: HashMap<(usize, ModuleStep), usize>,
    /// Node of the last resource: addresses come in order, so the next one is usually below the same node.
    last: usize,
    last_module: ModuleInstance,
}

impl<T> ModuleTree<T> {
    pub(crate) fn new() -> ModuleTree<T> {
        let root = Node { address: String::new(), resources: Vec::new(), children: Vec::new() };
        ModuleTree { nodes: vec![root], by_step: HashMap::default(), last: 0, last_module: ModuleInstance::ROOT }
    }

    /// Puts something into a module instance.
    pub(crate) fn add(&mut self, module: &ModuleInstance, resource: T) {
        if self.last_module != *module {
            self.last = self.find(module);
            self.last_module = module.clone();
        }
        if let Some(node) = self.nodes.get_mut(self.last) {
            node.resources.push(resource);
        }
    }

    /// The node of a module instance, created with its parents where it is missing. Takes one lookup per step, however
    /// deep modules are nested.
    fn find(&mut self, module: &ModuleInstance) -> usize {
        let mut at = 0;
        for (length, step) in module.steps().iter().enumerate() {
            let next = self.nodes.len();
            let found = *self.by_step.entry((at, step.clone())).or_insert(next);
            if found == next {
                let address = module.steps()[..=length].iter().cloned().collect::<ModuleInstance>().to_string();
                self.nodes.push(Node { address, resources: Vec::new(), children: Vec::new() });
                if let Some(above) = self.nodes.get_mut(at) {
                    above.children.push(next);
                }
            }
            at = found;
        }
        at
    }

    /// Writes the root module with everything below it. `sort` orders the resources of a module.
    pub(crate) fn write<E>(
        mut self,
        out: &mut String,
        sort: impl Fn(&mut Vec<T>),
        mut write: impl FnMut(&mut String, &T) -> Result<(), E>,
    ) -> Result<(), E> {
        self.nodes.iter_mut().for_each(|node| sort(&mut node.resources));
        self.write_node(0, out, &mut write)
    }

    fn write_node<E>(
        &self,
        at: usize,
        out: &mut String,
        write: &mut dyn FnMut(&mut String, &T) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut members = Members::open(out);
        let Some(node) = self.nodes.get(at) else {
            members.close();
            return Ok(());
        };
        let mut result = Ok(());
        members.list_if_any("resources", &node.resources, |out, resource| {
            if result.is_ok() {
                result = write(out, resource);
            }
        });
        result?;
        members.text_if_any("address", &node.address);
        let mut children = node.children.clone();
        children.sort_by(|a, b| self.address(*a).cmp(self.address(*b)));
        let mut result = Ok(());
        members.list_if_any("child_modules", children, |out, child| {
            if result.is_ok() {
                result = self.write_node(child, out, write);
            }
        });
        members.close();
        result
    }

    fn address(&self, at: usize) -> &str {
        self.nodes.get(at).map_or("", |node| &node.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str) -> ModuleStep {
        ModuleStep { name: name.into(), key: None }
    }

    fn written(tree: ModuleTree<u32>) -> String {
        let mut out = String::new();
        let number = |out: &mut String, number: &u32| -> Result<(), ()> {
            out.push_str(&number.to_string());
            Ok(())
        };
        tree.write(&mut out, |numbers| numbers.sort_unstable(), number).expect("because numbers can be written");
        out
    }

    #[test]
    fn modules_are_nested_in_whatever_order_they_come() {
        let module = |names: &[&str]| names.iter().map(|name| step(name)).collect::<ModuleInstance>();
        let mut tree = ModuleTree::new();
        tree.add(&module(&["b", "c"]), 4);
        tree.add(&module(&[]), 1);
        tree.add(&module(&["a"]), 3);
        tree.add(&module(&["b", "c"]), 2);
        let expect = concat!(
            r#"{"resources":[1],"child_modules":[{"resources":[3],"address":"module.a"},"#,
            r#"{"address":"module.b","child_modules":[{"resources":[2,4],"address":"module.b.module.c"}]}]}"#
        );
        assert_eq!(written(tree), expect);
    }

    /// With a look at all modules above for each step to a module, this would take minutes.
    #[test]
    fn a_deep_chain_takes_one_look_per_step() {
        let mut tree = ModuleTree::new();
        for depth in 1..=1000 {
            tree.add(&(0..depth).map(|_| step("m")).collect(), depth);
        }
        assert_eq!((tree.nodes.len(), tree.by_step.len()), (1001, 1000));
        assert_eq!(tree.address(3), "module.m.module.m.module.m");
    }
}
