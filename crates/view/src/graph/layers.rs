//! Columns and rows of a graph of any size, for a page that shows parts of it.
//!
//! The column of a node is the next one after the highest column of its dependencies; nodes of a cycle share a column. The rows of a column are
//! ordered by the rows of their neighbours. Linear in nodes and edges, except for sorting.

use yuba_eval::graph::components;

/// Columns and rows of all nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layers {
    /// For each node its column. Dependencies are in lower columns.
    pub columns: Vec<u32>,
    /// For each node its position in its column. Zero is the middle of the column.
    pub rows: Vec<f32>,
}

const SWEEPS: usize = 6;

/// Columns and rows for nodes, given the dependencies of each node.
pub fn layers(edges: &[Vec<u32>]) -> Layers {
    let dependents = reversed(edges);
    let columns = columns(edges, &dependents);
    let rows = rows(edges, &dependents, &columns);
    Layers { columns, rows }
}

fn reversed(edges: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut found = vec![Vec::new(); edges.len()];
    for (from, to) in (0..).zip(edges) {
        for to in to {
            found[*to as usize].push(from);
        }
    }
    found
}

fn columns(edges: &[Vec<u32>], dependents: &[Vec<u32>]) -> Vec<u32> {
    let mut columns: Vec<u32> = vec![0; edges.len()];
    let mut numbers = vec![u32::MAX; edges.len()];
    // Components come after those that they depend on.
    for (number, component) in (0..).zip(components(edges)) {
        for at in &component {
            numbers[*at as usize] = number;
        }
        let mut column = 0;
        for at in &component {
            for to in edges[*at as usize].iter().filter(|to| numbers[**to as usize] != number) {
                column = column.max(columns[*to as usize] + 1);
            }
        }
        for at in component {
            columns[at as usize] = column;
        }
    }
    // A node without dependencies is beside its nearest dependent: its arrows are short.
    for at in 0..edges.len() {
        let nearest = dependents[at].iter().map(|from| columns[*from as usize]).min();
        if let (true, Some(nearest)) = (edges[at].is_empty(), nearest) {
            columns[at] = nearest.saturating_sub(1);
        }
    }
    columns
}

fn rows(edges: &[Vec<u32>], dependents: &[Vec<u32>], columns: &[u32]) -> Vec<f32> {
    let count = columns.iter().max().map_or(0, |last| *last as usize + 1);
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); count];
    for (at, column) in (0..).zip(columns) {
        members[*column as usize].push(at);
    }
    let mut rows = vec![0.0; edges.len()];
    let number = |members: &[u32], rows: &mut [f32]| {
        let middle = (members.len() as f32 - 1.0) / 2.0;
        for (row, at) in members.iter().enumerate() {
            rows[*at as usize] = row as f32 - middle;
        }
    };
    for column in &members {
        number(column, &mut rows);
    }
    for sweep in 0..SWEEPS {
        let to_the_right = sweep % 2 == 0;
        for step in 0..count {
            let column = &mut members[if to_the_right { step } else { count - 1 - step }];
            let near = if to_the_right { edges } else { dependents };
            let mut wishes: Vec<(f32, u32)> =
                column.iter().map(|at| (wish(&near[*at as usize], *at, &rows), *at)).collect();
            wishes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            *column = wishes.into_iter().map(|(_, at)| at).collect();
            number(column, &mut rows);
        }
    }
    rows
}

/// The mean row of the neighbours; the row of the node itself if it has no neighbour.
fn wish(near: &[u32], at: u32, rows: &[f32]) -> f32 {
    match near {
        [] => rows[at as usize],
        near => near.iter().map(|to| rows[*to as usize]).sum::<f32>() / near.len() as f32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_in_lower_columns() {
        // 0 <- 1 <- 2, 3 <- 2
        let found = layers(&[vec![], vec![0], vec![1, 3], vec![]]);
        assert_eq!(found.columns, [0, 1, 2, 1]);
    }

    #[test]
    fn nodes_of_a_cycle_share_a_column() {
        let found = layers(&[vec![1], vec![0, 2], vec![], vec![0]]);
        assert_eq!(found.columns, [1, 1, 0, 2]);
    }

    #[test]
    fn neighbours_have_near_rows() {
        // Two chains that are numbered crosswise: 0 <- 3, 1 <- 2.
        let found = layers(&[vec![], vec![], vec![1], vec![0]]);
        assert_eq!(found.rows[0], found.rows[3]);
        assert_eq!(found.rows[1], found.rows[2]);
        assert_ne!(found.rows[0], found.rows[1]);
    }

    #[test]
    fn a_large_graph_takes_linear_work() {
        // A hub with 50,000 dependents, and a chain of 50,000: quadratic work would not end.
        let mut edges: Vec<Vec<u32>> = vec![vec![]];
        edges.extend((0..50_000).map(|_| vec![0]));
        edges.extend((0..50_000).map(|at| vec![50_000 + at]));
        let found = layers(&edges);
        assert_eq!(found.columns[100_000], 50_001);
        assert!(found.rows.iter().all(|row| row.is_finite()));
    }
}
