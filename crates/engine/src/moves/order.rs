//! Order of statements: a statement follows those that it continues, and those that move objects into its source.

use yuba_eval::graph::components;

use super::Statement;
use super::index::{End, Index, Relation};

/// Groups of statements that depend on each other, each after those it depends on.
pub(super) fn groups(list: &[Statement], index: &Index) -> Vec<Vec<u32>> {
    let mut edges: Vec<Vec<u32>> = vec![Vec::new(); list.len()];
    for (at, statement) in list.iter().enumerate() {
        for (subject, is_to) in [(&statement.from, false), (&statement.to, true)] {
            let at = at as u32;
            let this = End { statement: at, is_to };
            index.related(statement, subject, |other, relation| {
                if other.statement == at {
                    return;
                }
                match relation {
                    // It goes on from where the other one ends.
                    Relation::Same if !this.is_to && other.is_to => edges[at as usize].push(other.statement),
                    Relation::Same => {}
                    // A move into the target of another one is handled after it, a move in its source before it.
                    Relation::Around if other.is_to => connect(list, &mut edges, at, other.statement),
                    Relation::Around => connect(list, &mut edges, other.statement, at),
                }
            });
        }
    }
    for edges in &mut edges {
        edges.sort_unstable();
        edges.dedup();
    }
    components(&edges)
}

/// One statement depends on another, by nesting. If only keys of a module change, then a statement inside of it is inside of
/// both ends: it comes later.
fn connect(list: &[Statement], edges: &mut [Vec<u32>], from: u32, to: u32) {
    let (a, b) = (&list[from as usize], &list[to as usize]);
    if a.declared.steps().len() < b.declared.steps().len() && a.is_module_reindex() {
        return;
    }
    edges[from as usize].push(to);
}
