//! Dependencies: as text in the DOT language, and as a picture.

pub mod layers;
pub mod layout;
pub mod objects;
pub mod picture;
pub mod svg;

use std::fmt::Write as _;

use yuba_eval::graph::components;
use yuba_value::quote::quote;

/// Attributes of a node in DOT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A resource.
    Box,
    /// A provider.
    Diamond,
    /// A value.
    Note,
    /// Known by its edges only.
    Plain,
}

impl Shape {
    fn name(self) -> Option<&'static str> {
        match self {
            Shape::Box => Some("box"),
            Shape::Diamond => Some("diamond"),
            Shape::Note => Some("note"),
            Shape::Plain => None,
        }
    }
}

/// Something in a graph.
#[derive(Clone, Debug)]
pub struct GraphVertex {
    /// Its identifier.
    pub name: String,
    /// Its label.
    pub label: String,
    /// Its shape.
    pub shape: Shape,
}

/// Nodes, and for each its dependencies.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The nodes.
    pub vertices: Vec<GraphVertex>,
    /// For each those it depends on.
    pub edges: Vec<Vec<u32>>,
}

impl Graph {
    /// Adds something.
    pub fn add(&mut self, name: impl Into<String>, label: impl Into<String>, shape: Shape) -> u32 {
        self.vertices.push(GraphVertex { name: name.into(), label: label.into(), shape });
        self.edges.push(Vec::new());
        self.vertices.len() as u32 - 1
    }

    /// The first depends on the second.
    pub fn connect(&mut self, from: u32, to: u32) {
        if from != to {
            self.edges[from as usize].push(to);
        }
    }

    /// Removes all other nodes.
    pub fn retain(&mut self, stays: &[bool]) {
        let mut new = vec![None; self.vertices.len()];
        let mut count = 0;
        for (at, stays) in stays.iter().enumerate() {
            if *stays {
                new[at] = Some(count);
                count += 1;
            }
        }
        let (vertices, edges) = (std::mem::take(&mut self.vertices), std::mem::take(&mut self.edges));
        for (at, (vertex, to)) in vertices.into_iter().zip(edges).enumerate() {
            if new[at].is_some() {
                self.vertices.push(vertex);
                self.edges.push(to.into_iter().filter_map(|to| new[to as usize]).collect());
            }
        }
    }

    /// Removes edges that follow from other edges.
    pub fn reduce(&mut self) {
        reduce(&mut self.edges);
    }

    /// Renders the graph in the DOT language, as OpenTofu does.
    pub fn dot(&self) -> String {
        self.dot_with(Vec::new())
    }

    /// Renders the graph in the DOT language. The edges of cycles are drawn again in red.
    pub fn dot_with_cycles(&self) -> String {
        let red = |(from, to)| {
            format!("{} -> {} [color = \"red\", penwidth = \"2.0\"]", self.quoted_name(from), self.quoted_name(to))
        };
        self.dot_with(self.cycles().map(red).collect())
    }

    fn quoted_name(&self, at: u32) -> String {
        format!("\"[root] {}\"", self.vertices[at as usize].name.replace('"', "\\\""))
    }

    fn dot_with(&self, more: Vec<String>) -> String {
        let mut out = "digraph {\n\tcompound = \"true\"\n\tnewrank = \"true\"\n\tsubgraph \"root\" {\n".to_owned();
        let name = |at: u32| self.quoted_name(at);
        let mut lines: Vec<(&str, String)> = Vec::new();
        for (vertex, at) in self.vertices.iter().zip(0..) {
            if let Some(shape) = vertex.shape.name() {
                let line = format!("{} [label = {}, shape = \"{shape}\"]", name(at), quote(&vertex.label));
                lines.push((&vertex.name, line));
            }
        }
        lines.sort();
        for (_, line) in lines {
            let _ = writeln!(out, "\t\t{line}");
        }
        let mut lines: Vec<String> = Vec::new();
        for (from, to) in (0..).zip(&self.edges) {
            lines.extend(to.iter().map(|to| format!("{} -> {}", name(from), name(*to))));
        }
        lines.extend(more);
        lines.sort();
        for line in lines {
            let _ = writeln!(out, "\t\t{line}");
        }
        out + "\t}\n}\n\n"
    }

    /// Edges between visible nodes that are part of cycles.
    fn cycles(&self) -> impl Iterator<Item = (u32, u32)> {
        let is_visible = |at: u32| self.vertices[at as usize].shape != Shape::Plain;
        let mut found = Vec::new();
        for component in components(&self.edges).iter().filter(|component| component.len() > 1) {
            let mut members = component.clone();
            members.sort_unstable();
            for from in component {
                let inside = self.edges[*from as usize].iter().filter(|to| members.binary_search(to).is_ok());
                found.extend(inside.map(|to| (*from, *to)).filter(|(from, to)| is_visible(*from) && is_visible(*to)));
            }
        }
        found.into_iter()
    }
}

/// Removes edges that follow from other edges. A graph with cycles does not change.
pub(crate) fn reduce(edges: &mut [Vec<u32>]) {
    for to in edges.iter_mut() {
        to.sort_unstable();
        to.dedup();
    }
    let Some(ranks) = ranks(edges) else { return };
    let mut seen = vec![u32::MAX; edges.len()];
    let mut work = Vec::new();
    for at in 0..edges.len() {
        let mut to = std::mem::take(&mut edges[at]);
        // Vertices far from the end come first: only from there other vertices can be reached.
        to.sort_by_key(|to| std::cmp::Reverse(ranks[*to as usize]));
        let lowest = to.last().map_or(0, |to| ranks[*to as usize]);
        to.retain(|to| {
            if seen[*to as usize] == at as u32 {
                return false;
            }
            work.push(*to);
            while let Some(next) = work.pop() {
                if seen[next as usize] != at as u32 {
                    seen[next as usize] = at as u32;
                    if ranks[next as usize] > lowest {
                        work.extend(&edges[next as usize]);
                    }
                }
            }
            true
        });
        edges[at] = to;
    }
}

/// For each node the length of the longest path to a node without dependencies; `None` if the graph has cycles.
pub(crate) fn ranks(edges: &[Vec<u32>]) -> Option<Vec<u32>> {
    let mut ranks = vec![0; edges.len()];
    for component in components(edges) {
        let [at] = component.as_slice() else { return None };
        let below = edges[*at as usize].iter().map(|to| ranks[*to as usize] + 1).max();
        ranks[*at as usize] = below.unwrap_or(0);
    }
    Some(ranks)
}

#[cfg(test)]
mod tests;
