//! The graphs of plan, destroy and apply, with the names that OpenTofu gives to what is in them.

use std::collections::{BTreeMap, HashMap};

use yuba_addrs::{AbsResourceInstance, ConfigResource, Resource as ResourceAddr};
use yuba_config::resource::ResourceKey;
use yuba_eval::graph::{RefGraph, Vertex};
use yuba_eval::{ConfigTree, ModuleId};
use yuba_plan::{Action, Plan};
use yuba_state::State;

use super::{Graph, Shape};

/// A graph that is being made.
struct Builder<'a> {
    tree: &'a ConfigTree,
    graph: Graph,
    /// Providers by name, with everything that uses them.
    providers: BTreeMap<String, (u32, Vec<u32>)>,
    /// Resources of the configuration.
    resources: HashMap<ConfigResource, u32>,
    /// Vertices that can be left out without dependents, while applying.
    kinds: HashMap<u32, Kind>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A value for other vertices: needed if one of them refers to it.
    Value,
    /// An output of the root module: stays, and refers to values.
    Result,
    /// Stays, with all it refers to.
    Check,
    /// Resources and modules: needed if instances or values are.
    Expand,
    /// One instance of a resource.
    Instance,
    Provider,
    Other,
}

/// Planned vertices, in order.
pub fn planning(graph: &RefGraph<'_>, tree: &ConfigTree, state: &State) -> Graph {
    let mut builder = Builder::new(tree);
    builder.configuration(graph, CheckReports::Shown);
    builder.leftovers(state);
    builder.finish()
}

/// Destroyed vertices, in order.
pub fn destroying(tree: &ConfigTree, state: &State) -> Graph {
    let mut builder = Builder::new(tree);
    let mut by_resource: HashMap<ConfigResource, Vec<u32>> = HashMap::new();
    let mut dependencies: Vec<(u32, Vec<ConfigResource>)> = Vec::new();
    for (addr, resource, instance) in state.instances() {
        let config = resource.addr.config();
        let at = builder.instance(&addr, " (destroy)", &config);
        builder.use_provider(at, &resource.provider.to_string());
        if let Some(object) = &instance.current {
            dependencies.push((at, object.dependencies.iter().cloned().collect()));
        }
        by_resource.entry(config).or_default().push(at);
    }
    for (at, needs) in dependencies {
        for first in needs.iter().filter_map(|config| by_resource.get(config)).flatten() {
            builder.graph.connect(*first, at);
        }
    }
    let mut closed: HashMap<ModuleId, u32> = HashMap::new();
    for (id, node) in tree.iter().filter(|(_, node)| node.parent.is_some()) {
        let close = builder.graph.add(format!("{} (close)", node.path), "", Shape::Plain);
        closed.insert(id, close);
        if let Some(outer) = node.parent.and_then(|parent| closed.get(&parent)) {
            builder.graph.connect(*outer, close);
        }
    }
    for name in tree.root().module.variables.keys() {
        builder.root_variable(name);
    }
    for name in tree.root().module.outputs.keys() {
        builder.graph.add(format!("output.{name} (expand)"), "", Shape::Plain);
    }
    builder.gone_outputs(state);
    builder.finish()
}

/// Actions of a plan, in order.
pub fn applying(graph: &RefGraph<'_>, tree: &ConfigTree, state: &State, plan: Option<&Plan>) -> Graph {
    let mut builder = Builder::new(tree);
    builder.configuration(graph, CheckReports::Hidden);
    builder.gone_outputs(state);
    if let Some(plan) = plan {
        builder.changes(plan);
    }
    builder.prune();
    builder.finish()
}

/// Whether the graph has a vertex for the report of each check.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CheckReports {
    Shown,
    Hidden,
}

impl<'a> Builder<'a> {
    fn new(tree: &'a ConfigTree) -> Builder<'a> {
        Builder {
            tree,
            graph: Graph::default(),
            providers: BTreeMap::new(),
            resources: HashMap::new(),
            kinds: HashMap::new(),
        }
    }

    /// All objects that the configuration declares. The subjects of checks are known in the plan only.
    fn configuration(&mut self, graph: &RefGraph<'_>, reports_of_checks: CheckReports) {
        let mut vertices = Vec::with_capacity(graph.nodes.len());
        let mut reports = Vec::new();
        for (at, node) in graph.nodes.iter().enumerate() {
            let path = &self.tree.node(node.module).path;
            let inside = |name: String| if path.is_root() { name } else { format!("{path}.{name}") };
            let (name, kind) = match node.vertex {
                Vertex::Variable(variable) => {
                    (inside(format!("var.{} (expand, reference)", variable.name)), Kind::Value)
                }
                Vertex::Input(variable) => (inside(format!("var.{} (expand, input)", variable.name)), Kind::Value),
                Vertex::Local(local) => (inside(format!("local.{} (expand)", local.name)), Kind::Value),
                Vertex::Output(output) => {
                    let kind = if path.is_root() { Kind::Result } else { Kind::Value };
                    (inside(format!("output.{} (expand)", output.name)), kind)
                }
                Vertex::Check(check) => (inside(format!("check.{} (expand)", check.name)), Kind::Check),
                Vertex::Call => (format!("{path} (expand)"), Kind::Expand),
                Vertex::Close => (format!("{path} (close)"), Kind::Other),
                Vertex::Provider(_) if graph.unused[at] => {
                    vertices.push(None);
                    continue;
                }
                Vertex::Provider(_) => {
                    let vertex = self.provider(graph.name(at as u32, self.tree).to_string());
                    vertices.push(Some(vertex));
                    continue;
                }
                Vertex::Resource(resource) => {
                    let config = config_of(self.tree, node.module, &resource.key);
                    let vertex = self.graph.add(format!("{config} (expand)"), config.to_string(), Shape::Box);
                    self.kinds.insert(vertex, Kind::Expand);
                    self.resources.insert(config, vertex);
                    if let Some(resolved) = self.tree.resource_provider(node.module, resource) {
                        self.use_provider(vertex, &self.tree.provider_address(&resolved).to_string());
                    }
                    vertices.push(Some(vertex));
                    continue;
                }
            };
            let vertex = self.graph.add(name, "", Shape::Plain);
            self.kinds.insert(vertex, kind);
            vertices.push(Some(vertex));
            match node.vertex {
                Vertex::Variable(variable) if path.is_root() => {
                    let given = self.root_variable(&variable.name);
                    self.graph.connect(vertex, given);
                }
                Vertex::Check(check) if reports_of_checks == CheckReports::Shown => {
                    let report = self.graph.add(inside(format!("check.{} (report)", check.name)), "", Shape::Plain);
                    self.graph.connect(vertex, report);
                    reports.extend(check.data.as_ref().map(|data| (node.module, data.clone(), report)));
                }
                _ => {}
            }
        }
        for (from, to) in vertices.iter().zip(&graph.edges) {
            for to in to.iter().filter_map(|to| vertices[*to as usize]) {
                if let Some(from) = from {
                    self.graph.connect(*from, to);
                }
            }
        }
        for (module, data, report) in reports {
            if let Some(data) = self.resources.get(&config_of(self.tree, module, &data)) {
                self.graph.connect(*data, report);
            }
        }
    }

    fn root_variable(&mut self, name: &str) -> u32 {
        let name = format!("var.{name}");
        self.graph.add(name.clone(), name, Shape::Note)
    }

    fn provider(&mut self, name: String) -> u32 {
        if let Some((at, _)) = self.providers.get(&name) {
            return *at;
        }
        let at = self.graph.add(name.clone(), name.clone(), Shape::Diamond);
        self.kinds.insert(at, Kind::Provider);
        self.providers.insert(name, (at, Vec::new()));
        at
    }

    fn use_provider(&mut self, user: u32, name: &str) {
        let at = self.provider(name.to_owned());
        self.graph.connect(user, at);
        if let Some((_, users)) = self.providers.get_mut(name) {
            users.push(user);
        }
    }

    fn instance(&mut self, addr: &AbsResourceInstance, what: &str, config: &ConfigResource) -> u32 {
        let at = self.graph.add(format!("{addr}{what}"), config.to_string(), Shape::Box);
        self.kinds.insert(at, Kind::Instance);
        at
    }

    /// Objects that are only in the state.
    fn leftovers(&mut self, state: &State) {
        for (addr, resource, instance) in state.instances() {
            let config = resource.addr.config();
            if !self.resources.contains_key(&config) && instance.current.is_some() {
                let at = self.instance(&addr, " (orphan)", &config);
                self.use_provider(at, &resource.provider.to_string());
            }
            for (deposed, _) in instance.objects() {
                if let Some(key) = deposed {
                    let at = self.instance(&addr, &format!(" (deposed {key})"), &config);
                    self.use_provider(at, &resource.provider.to_string());
                }
            }
        }
        self.gone_outputs(state);
    }

    fn gone_outputs(&mut self, state: &State) {
        let declared = &self.tree.root().module.outputs;
        for name in state.outputs.keys().filter(|name| !declared.contains_key(*name)) {
            let name = format!("output.{name} (destroy)");
            self.graph.add(name.clone(), name, Shape::Note);
        }
    }

    /// The changes of a plan: each instance comes after its resource, and who refers to the resource waits for them.
    fn changes(&mut self, plan: &Plan) {
        let mut instances: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut destroyed: HashMap<ConfigResource, Vec<u32>> = HashMap::new();
        let mut dependencies = Vec::new();
        for change in plan.changes.iter().filter(|change| change.action != Action::NoOp) {
            let config = change.addr.containing().config();
            let provider = change.provider.to_string();
            let is_replaced = change.action.is_replace();
            let mut made = None;
            if change.action != Action::Delete {
                let at = self.instance(&change.addr, "", &config);
                if let Some(resource) = self.resources.get(&config) {
                    self.graph.connect(at, *resource);
                    instances.entry(*resource).or_default().push(at);
                }
                self.use_provider(at, &provider);
                made = Some(at);
            }
            if is_replaced || change.action == Action::Delete {
                let what = match &change.deposed {
                    Some(key) => format!(" (destroy deposed {key})"),
                    None => " (destroy)".to_owned(),
                };
                let at = self.instance(&change.addr, &what, &config);
                self.use_provider(at, &provider);
                match made {
                    Some(made) if change.action == Action::CreateThenDelete => self.graph.connect(at, made),
                    Some(made) => self.graph.connect(made, at),
                    None => {}
                }
                let object = plan.prior_state.instance(&change.addr).and_then(|instance| instance.current.as_ref());
                if let Some(object) = object.filter(|_| change.deposed.is_none()) {
                    dependencies.push((at, object.dependencies.clone()));
                }
                destroyed.entry(config).or_default().push(at);
            }
        }
        for (at, needs) in dependencies {
            for first in needs.iter().filter_map(|config| destroyed.get(config)).flatten() {
                self.graph.connect(*first, at);
            }
        }
        for (from, to) in self.graph.edges.iter_mut().enumerate() {
            let own: Vec<u32> = to.iter().filter_map(|to| instances.get(to)).flatten().copied().collect();
            let is_own = |at: &u32| *at as usize == from;
            // An instance does not wait for the other instances of its resource.
            if self.kinds.get(&(from as u32)) != Some(&Kind::Instance) && !own.iter().any(is_own) {
                to.extend(own);
            }
        }
    }

    /// Leaves out what no instance, output of the root module or check needs.
    fn prune(&mut self) {
        let count = self.graph.vertices.len();
        let mut users: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (from, to) in (0..).zip(&self.graph.edges) {
            for to in to {
                users[*to as usize].push(from);
            }
        }
        let kind = |at: u32| self.kinds.get(&at).copied().unwrap_or(Kind::Other);
        let mut stays = vec![true; count];
        let mut work: Vec<u32> = (0..count as u32).collect();
        while let Some(at) = work.pop() {
            let needed = |user: &&u32| {
                stays[**user as usize]
                    && match (kind(at), kind(**user)) {
                        (Kind::Value, user) => user != Kind::Other,
                        (Kind::Provider, user) => matches!(user, Kind::Expand | Kind::Instance),
                        (_, Kind::Result | Kind::Other) => false,
                        (_, _) => true,
                    }
            };
            let can_go = matches!(kind(at), Kind::Value | Kind::Expand | Kind::Provider);
            if can_go && stays[at as usize] && users[at as usize].iter().find(needed).is_none() {
                stays[at as usize] = false;
                work.extend(&self.graph.edges[at as usize]);
            }
        }
        let providers = std::mem::take(&mut self.providers);
        let mut new = vec![0; count];
        let mut next = 0;
        for (at, stays) in stays.iter().enumerate() {
            new[at] = next;
            next += u32::from(*stays);
        }
        for (name, (at, users)) in providers {
            if stays[at as usize] {
                let users = users.into_iter().filter(|user| stays[*user as usize]);
                let users = users.map(|user| new[user as usize]).collect();
                self.providers.insert(name, (new[at as usize], users));
            }
        }
        self.graph.retain(&stays);
    }

    /// Providers end after all that use them, and everything ends with the root.
    fn finish(mut self) -> Graph {
        for (name, (at, users)) in std::mem::take(&mut self.providers) {
            let close = self.graph.add(format!("{name} (close)"), "", Shape::Plain);
            self.graph.connect(close, at);
            for user in users {
                self.graph.connect(close, user);
            }
        }
        let count = self.graph.vertices.len() as u32;
        let root = self.graph.add("root", "", Shape::Plain);
        for at in 0..count {
            self.graph.connect(root, at);
        }
        self.graph.reduce();
        self.graph
    }
}

fn config_of(tree: &ConfigTree, module: ModuleId, key: &ResourceKey) -> ConfigResource {
    ConfigResource { module: tree.node(module).path.clone(), resource: ResourceAddr::from(key) }
}
