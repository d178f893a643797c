//! Resources by module instance, for JSON documents in which modules are nested.

use foldhash::HashMap;
use yuba_addrs::ModuleInstance;

use crate::json_writer::Members;

/// A module instance, what is in it, and the module instances below it.
struct Node<T> {
    address: String,
    resources: Vec<T>,
    children: Vec<usize>,
}

/// Module instances with what is in them: the root, and all that lie between it and others that hold something.
pub(crate) struct ModuleTree<T> {
    nodes: Vec<Node<T>>,
    by_module: HashMap<ModuleInstance, usize>,
    /// Where the last one went: what comes in order of addresses is put where its predecessor is.
    last: usize,
    last_module: ModuleInstance,
}

impl<T> ModuleTree<T> {
    pub(crate) fn new() -> ModuleTree<T> {
        let root = Node { address: String::new(), resources: Vec::new(), children: Vec::new() };
        ModuleTree {
            nodes: vec![root],
            by_module: std::iter::once((ModuleInstance::ROOT, 0)).collect(),
            last: 0,
            last_module: ModuleInstance::ROOT,
        }
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

    /// The node of a module instance, made with those above it where there is none.
    fn find(&mut self, module: &ModuleInstance) -> usize {
        if let Some(at) = self.by_module.get(module) {
            return *at;
        }
        let mut parent = 0;
        for length in 1..=module.steps().len() {
            let above: ModuleInstance = module.steps()[..length].iter().cloned().collect();
            parent = match self.by_module.get(&above) {
                Some(at) => *at,
                None => {
                    let at = self.nodes.len();
                    self.nodes.push(Node { address: above.to_string(), resources: Vec::new(), children: Vec::new() });
                    if let Some(node) = self.nodes.get_mut(parent) {
                        node.children.push(at);
                    }
                    self.by_module.insert(above, at);
                    at
                }
            };
        }
        parent
    }

    /// Writes the root module with all that is below it. `sort` brings the resources of a module into order.
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
