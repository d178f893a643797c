//! Content of a picture: the declared objects of a configuration, without the internal vertices between them in the
//! order of evaluation.

use std::collections::BTreeSet;

use yuba_addrs::{Resource as ResourceAddr, ResourceMode};
use yuba_eval::ConfigTree;
use yuba_eval::graph::{RefGraph, Vertex};

use super::reduce;

/// Kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A managed resource.
    Resource,
    /// A data resource.
    Data,
    /// An ephemeral resource.
    Ephemeral,
    /// A variable.
    Variable,
    /// A local value.
    Local,
    /// An output.
    Output,
    /// A provider configuration.
    Provider,
    /// A check.
    Check,
}

impl Kind {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Resource => "resource",
            Kind::Data => "data",
            Kind::Ephemeral => "ephemeral",
            Kind::Variable => "variable",
            Kind::Local => "local",
            Kind::Output => "output",
            Kind::Provider => "provider",
            Kind::Check => "check",
        }
    }
}

/// An object.
#[derive(Clone, Debug)]
pub struct Thing {
    /// Its name in its module.
    pub label: String,
    /// Its kind.
    pub kind: Kind,
    /// The module it is in, by number.
    pub group: u32,
}

/// A module.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its address; empty for the root.
    pub title: String,
    /// The calling module, which comes before it; none for the root.
    pub parent: Option<u32>,
}

/// Objects in modules, and for each object what it depends on.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// The objects.
    pub things: Vec<Thing>,
    /// For each object those it depends on.
    pub edges: Vec<Vec<u32>>,
    /// The modules.
    pub groups: Vec<Group>,
}

/// The picture of a configuration.
pub fn picture(graph: &RefGraph<'_>, tree: &ConfigTree) -> Picture {
    let mut picture = Picture::default();
    for (_, node) in tree.iter() {
        let title = if node.path.is_root() { String::new() } else { node.path.to_string() };
        picture.groups.push(Group { title, parent: node.parent.map(|parent| parent.0) });
    }
    let mut places: Vec<Option<u32>> = Vec::with_capacity(graph.nodes.len());
    for (node, unused) in graph.nodes.iter().zip(&graph.unused) {
        let (kind, label) = match node.vertex {
            Vertex::Variable(variable) => (Kind::Variable, format!("var.{}", variable.name)),
            Vertex::Local(local) => (Kind::Local, format!("local.{}", local.name)),
            Vertex::Output(output) => (Kind::Output, format!("output.{}", output.name)),
            Vertex::Check(check) => (Kind::Check, format!("check.{}", check.name)),
            Vertex::Provider(provider) if !unused => (Kind::Provider, format!("provider.{}", provider.key)),
            Vertex::Resource(resource) => {
                let kind = match resource.key.mode {
                    ResourceMode::Managed => Kind::Resource,
                    ResourceMode::Data => Kind::Data,
                    ResourceMode::Ephemeral => Kind::Ephemeral,
                };
                (kind, ResourceAddr::from(&resource.key).to_string())
            }
            Vertex::Provider(_) | Vertex::Input(_) | Vertex::Call | Vertex::Close => {
                places.push(None);
                continue;
            }
        };
        places.push(Some(picture.things.len() as u32));
        picture.things.push(Thing { label, kind, group: node.module.0 });
    }
    // A hidden vertex stands for its dependencies. Every vertex comes after its dependencies.
    let mut behind: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); graph.nodes.len()];
    picture.edges = vec![Vec::new(); picture.things.len()];
    for at in graph.components().into_iter().flatten() {
        let mut found = BTreeSet::new();
        for to in &graph.edges[at as usize] {
            match places[*to as usize] {
                Some(vertex) => {
                    found.insert(vertex);
                }
                None => found.extend(&behind[*to as usize]),
            }
        }
        match places[at as usize] {
            Some(vertex) => picture.edges[vertex as usize] = found.into_iter().filter(|to| *to != vertex).collect(),
            None => behind[at as usize] = found,
        }
    }
    reduce(&mut picture.edges);
    picture
}
