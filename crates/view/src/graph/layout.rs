//! Positions in a picture: dependencies of a node are to its left, and each module has a rectangle of its own with the
//! rectangles of the modules it calls inside.
//!
//! Columns are by the longest path to a node without dependencies. Modules are stacked, so that their rectangles never
//! overlap; in each, the nodes of a column are ordered by the positions of their neighbours. Linear in nodes and edges,
//! but for sorting.

use super::picture::Picture;
use super::ranks;

/// A rectangle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rect {
    /// Its left side.
    pub x: f64,
    /// Its upper side.
    pub y: f64,
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
}

impl Rect {
    /// The vertical middle.
    pub fn middle(&self) -> f64 {
        self.y + self.height / 2.0
    }
    /// Its right side.
    pub fn right(&self) -> f64 {
        self.x + self.width
    }
    /// Its lower side.
    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }
}

/// Positions of all nodes.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// The nodes.
    pub things: Vec<Rect>,
    /// The modules; the root is everything.
    pub groups: Vec<Rect>,
}

/// Width of a letter of a label.
pub const LETTER: f64 = 7.3;
/// The longest label that is shown whole, in letters.
pub const MAX_LETTERS: usize = 44;
const THING_HEIGHT: f64 = 26.0;
const ROW: f64 = 38.0;
const PADDING: f64 = 14.0;
const TITLE: f64 = 22.0;
const COLUMN_GAP: f64 = 56.0;
const SWEEPS: usize = 4;

/// Lays a picture out.
pub fn layout(picture: &Picture) -> Layout {
    let count = picture.things.len();
    let columns = ranks(&picture.edges).unwrap_or_else(|| vec![0; count]);
    let depths = depths(picture);
    let deepest = depths.iter().copied().max().unwrap_or(0);
    let mut layout =
        Layout { things: vec![Rect::default(); count], groups: vec![Rect::default(); picture.groups.len()] };
    place_columns(picture, &columns, deepest, &mut layout);
    // Nodes of a module in one column, in order.
    let mut order: Vec<u32> = (0..count as u32).collect();
    let position = |at: &u32| (picture.things[*at as usize].group, columns[*at as usize]);
    order.sort_by_key(position);
    let neighbours = neighbours(picture);
    place_rows(picture, &columns, &order, &mut layout);
    for _ in 0..SWEEPS {
        let wish = |at: &u32| {
            let near = &neighbours[*at as usize];
            let sum: f64 = near.iter().map(|to| layout.things[*to as usize].middle()).sum();
            if near.is_empty() { layout.things[*at as usize].middle() } else { sum / near.len() as f64 }
        };
        let wishes: Vec<f64> = (0..count as u32).map(|at| wish(&at)).collect();
        order.sort_by(|a, b| {
            position(a)
                .cmp(&position(b))
                .then_with(|| wishes[*a as usize].total_cmp(&wishes[*b as usize]))
                .then(a.cmp(b))
        });
        place_rows(picture, &columns, &order, &mut layout);
    }
    surround(picture, &depths, deepest, &mut layout);
    layout
}

/// Number of modules around each module. Callers come before the modules they call.
fn depths(picture: &Picture) -> Vec<u32> {
    let mut depths = Vec::with_capacity(picture.groups.len());
    for group in &picture.groups {
        depths.push(group.parent.and_then(|parent| depths.get(parent as usize)).map_or(0, |depth| depth + 1));
    }
    depths
}

fn neighbours(picture: &Picture) -> Vec<Vec<u32>> {
    let mut found = vec![Vec::new(); picture.things.len()];
    for (from, to) in picture.edges.iter().enumerate() {
        for to in to {
            found[from].push(*to);
            found[*to as usize].push(from as u32);
        }
    }
    found
}

fn place_columns(picture: &Picture, columns: &[u32], deepest: u32, layout: &mut Layout) {
    let mut widths: Vec<f64> = Vec::new();
    for (thing, column) in picture.things.iter().zip(columns) {
        let column = *column as usize;
        if widths.len() <= column {
            widths.resize(column + 1, 0.0);
        }
        let letters = thing.label.chars().count().min(MAX_LETTERS);
        widths[column] = widths[column].max(letters as f64 * LETTER + 20.0);
    }
    let inset = PADDING * f64::from(deepest + 1);
    let mut starts = Vec::with_capacity(widths.len());
    let mut x = inset;
    for width in &widths {
        starts.push(x);
        x += width + COLUMN_GAP + 2.0 * PADDING * f64::from(deepest);
    }
    for (rect, column) in layout.things.iter_mut().zip(columns) {
        let column = *column as usize;
        (rect.x, rect.width, rect.height) = (starts[column], widths[column], THING_HEIGHT);
    }
}

/// Stacks nodes and modules. `order` contains the nodes of each module by column.
fn place_rows(picture: &Picture, columns: &[u32], order: &[u32], layout: &mut Layout) {
    let groups = picture.groups.len();
    let mut rows = vec![0_usize; groups];
    let runs = || {
        order.chunk_by(|a, b| {
            let position = |at: &u32| (picture.things[*at as usize].group, columns[*at as usize]);
            position(a) == position(b)
        })
    };
    for run in runs() {
        let group = picture.things[run[0] as usize].group as usize;
        rows[group] = rows[group].max(run.len());
    }
    // From the innermost outwards: how high each is.
    let mut heights: Vec<f64> = rows.iter().map(|rows| *rows as f64 * ROW).collect();
    for group in (0..groups).rev() {
        heights[group] += PADDING + if group == 0 { PADDING } else { TITLE };
        if let Some(parent) = picture.groups[group].parent {
            heights[parent as usize] += heights[group] + PADDING;
        }
    }
    // From the outermost inwards: where each is.
    let mut next_inside = vec![0.0; groups];
    for group in 0..groups {
        let top = match picture.groups[group].parent {
            None => 0.0,
            Some(parent) => {
                let top = next_inside[parent as usize];
                next_inside[parent as usize] = top + heights[group] + PADDING;
                top
            }
        };
        layout.groups[group].y = top;
        layout.groups[group].height = heights[group];
        let head = if group == 0 { PADDING } else { TITLE };
        next_inside[group] = top + head + rows[group] as f64 * ROW;
    }
    for run in runs() {
        let group = picture.things[run[0] as usize].group as usize;
        let head = if group == 0 { PADDING } else { TITLE };
        let free = (rows[group] - run.len()) as f64 * ROW / 2.0;
        for (row, at) in run.iter().enumerate() {
            layout.things[*at as usize].y =
                layout.groups[group].y + head + free + row as f64 * ROW + (ROW - THING_HEIGHT) / 2.0;
        }
    }
}

/// Makes modules as wide as what is inside.
fn surround(picture: &Picture, depths: &[u32], deepest: u32, layout: &mut Layout) {
    let mut spans: Vec<Option<(f64, f64)>> = vec![None; picture.groups.len()];
    let widen = |span: &mut Option<(f64, f64)>, (left, right): (f64, f64)| {
        let (old_left, old_right) = span.unwrap_or((left, right));
        *span = Some((old_left.min(left), old_right.max(right)));
    };
    for (thing, rect) in picture.things.iter().zip(&layout.things) {
        widen(&mut spans[thing.group as usize], (rect.x, rect.right()));
    }
    for group in (0..picture.groups.len()).rev() {
        let title = picture.groups[group].title.chars().count() as f64 * LETTER;
        let start = PADDING * f64::from(deepest + 1);
        let (left, right) = spans[group].unwrap_or((start, start));
        let (left, right) = (left, right.max(left + title));
        if let Some(parent) = picture.groups[group].parent {
            widen(&mut spans[parent as usize], (left, right));
        }
        // A module with more nested modules needs more space around it.
        let around = PADDING * f64::from(deepest + 1 - depths[group]);
        layout.groups[group].x = left - around;
        layout.groups[group].width = right - left + 2.0 * around;
    }
}
