//! Corresponding elements of two sequences.

use std::collections::{HashMap, HashSet};

use super::node::Node;

/// Number of pairs of elements that are compared at most. Beyond that only unique elements are compared.
const MAX_PAIRS: usize = 1 << 22;

/// Calls `visit` for every element of two sequences: with both positions where elements correspond, and with one of them
/// where an element is on one side only. `alike` says which different elements are worth being shown as one that changed.
pub(crate) fn align<T>(
    before: &[T],
    after: &[T],
    key: impl Fn(&T) -> String,
    alike: impl Fn(&T, &T) -> bool,
    mut visit: impl FnMut(Option<usize>, Option<usize>),
) {
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut number = |item: &T| {
        let next = numbers.len() as u32;
        *numbers.entry(key(item)).or_insert(next)
    };
    let old: Vec<u32> = before.iter().map(&mut number).collect();
    let new: Vec<u32> = after.iter().map(&mut number).collect();
    let common = common(&old, &new);
    let alike = |b: usize, a: usize| b < before.len() && a < after.len() && alike(&before[b], &after[a]);
    let within = |at: usize, len: usize| (at < len).then_some(at);
    let (mut b, mut a) = (0, 0);
    let mut rest = common.as_slice();
    while b < old.len() || a < new.len() || !rest.is_empty() {
        let next = rest.first();
        while b < old.len() && next != Some(&old[b]) {
            // Quirk: an element that is among the common ones is still paired with another one here and below, if it
            // comes next and the two are alike.
            if alike(b, a) && next != new.get(a) {
                visit(Some(b), Some(a));
                a += 1;
            } else {
                visit(Some(b), None);
            }
            b += 1;
        }
        while a < new.len() && next != Some(&new[a]) {
            if alike(b, a) {
                visit(Some(b), Some(a));
                b += 1;
            } else {
                visit(None, Some(a));
            }
            a += 1;
        }
        if !rest.is_empty() {
            if b < old.len() || a < new.len() {
                visit(within(b, old.len()), within(a, new.len()));
            }
            (b, a) = (b + 1, a + 1);
            rest = &rest[1..];
        }
    }
}

/// A longest sequence of elements that both have in this order.
fn common(old: &[u32], new: &[u32]) -> Vec<u32> {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (prefix, old, new) = (&old[..start], &old[start..], &new[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let suffix = &old[old.len() - end..];
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    let middle = match old.len().saturating_mul(new.len()) {
        0 => Vec::new(),
        pairs if pairs <= MAX_PAIRS => longest(old, new),
        _ => unique(old, new),
    };
    [prefix, &middle, suffix].concat()
}

/// By the lengths of all common sequences of beginnings.
fn longest(old: &[u32], new: &[u32]) -> Vec<u32> {
    let width = old.len() + 1;
    let mut lengths = vec![0_u32; width * (new.len() + 1)];
    for (y, b) in new.iter().enumerate() {
        for (x, a) in old.iter().enumerate() {
            lengths[(y + 1) * width + x + 1] = if a == b {
                lengths[y * width + x] + 1
            } else {
                lengths[(y + 1) * width + x].max(lengths[y * width + x + 1])
            };
        }
    }
    let mut found = Vec::new();
    let (mut x, mut y) = (old.len(), new.len());
    while x > 0 && y > 0 {
        if old[x - 1] == new[y - 1] {
            found.push(old[x - 1]);
            (x, y) = (x - 1, y - 1);
        } else if lengths[y * width + x - 1] > lengths[(y - 1) * width + x] {
            x -= 1;
        } else {
            y -= 1;
        }
    }
    found.reverse();
    found
}

/// Of the elements that both have once: a longest sequence that is in the same order in both.
fn unique(old: &[u32], new: &[u32]) -> Vec<u32> {
    let once = |items: &[u32]| {
        let mut places: HashMap<u32, Option<usize>> = HashMap::new();
        for (at, item) in items.iter().enumerate() {
            places.entry(*item).and_modify(|index| *index = None).or_insert(Some(at));
        }
        places
    };
    let (in_old, in_new) = (once(old), once(new));
    let places = old.iter().filter(|item| in_old[*item].is_some());
    let places: Vec<(u32, usize)> =
        places.filter_map(|item| Some((*item, in_new.get(item).copied().flatten()?))).collect();
    // Piles of increasing position; each entry knows the top of the pile before it.
    let mut tops: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = Vec::with_capacity(places.len());
    for (at, (_, index)) in places.iter().enumerate() {
        let pile = tops.partition_point(|top| places[*top].1 < *index);
        previous.push(pile.checked_sub(1).map(|pile| tops[pile]));
        match tops.get_mut(pile) {
            Some(top) => *top = at,
            None => tops.push(at),
        }
    }
    let mut found = Vec::new();
    let mut at = tops.last().copied();
    while let Some(entry) = at {
        found.push(places[entry].0);
        at = previous[entry];
    }
    found.reverse();
    found
}

/// For each element of the first set its position in the second one, if it has it.
pub(super) fn matches(before: &[Node], after: &[Node]) -> Vec<Option<usize>> {
    let key = |item: &Node| {
        let mut key = String::from(if item.sensitive { "s" } else { "" });
        item.fingerprint(&mut key);
        key
    };
    let places = after.iter().enumerate().filter(|(_, item)| !item.is_unknown());
    let mut places: HashMap<String, usize> = places.map(|(at, item)| (key(item), at)).collect();
    before.iter().map(|item| places.remove(&key(item))).collect()
}

/// Two texts of several lines that have a line in common.
pub(super) fn share_a_line(before: &Node, after: &Node) -> bool {
    let (Some(before), Some(after)) = (before.as_text(), after.as_text()) else { return false };
    if !before.contains('\n') && !after.contains('\n') {
        return false;
    }
    let lines: HashSet<&str> = before.split('\n').collect();
    after.split('\n').any(|line| lines.contains(line))
}
