//! The tree of modules of a plan, with their resources and counts.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr as _;
use yuba_addrs::ResourceMode;

use super::tables::{pad, shortened};
use super::views::counts_text;
use super::{ChangeCounts, ReportChange};
use crate::paint::GREY;
use crate::plan::Look;

/// Number of instances of a module that have branches of their own. More of them share one branch.
const INSTANCES: usize = 5;

/// A module with what is in it.
#[derive(Default)]
struct Branch {
    /// `module.name`; empty for the root module.
    call: String,
    /// The instance key in brackets.
    key: String,
    /// Number of instances, if they share the branch.
    instances: usize,
    resources: Vec<(String, ChangeCounts, usize)>,
    places: foldhash::HashMap<String, usize>,
    children: Vec<Branch>,
    child_places: foldhash::HashMap<(String, String), usize>,
}

impl Branch {
    fn child(&mut self, call: &str, key: &str) -> &mut Branch {
        let next = self.children.len();
        let at = *self.child_places.entry((call.to_owned(), key.to_owned())).or_insert(next);
        if at == next {
            let (call, key) = (call.to_owned(), key.to_owned());
            self.children.push(Branch { call, key, instances: 1, ..Branch::default() });
        }
        &mut self.children[at]
    }

    fn resource(&mut self, name: &str, counts: &ChangeCounts, objects: usize) {
        let next = self.resources.len();
        let at = *self.places.entry(name.to_owned()).or_insert(next);
        if at == next {
            self.resources.push((name.to_owned(), ChangeCounts::default(), 0));
        }
        if let Some((_, sum, number)) = self.resources.get_mut(at) {
            *sum = sum.plus(counts);
            *number += objects;
        }
    }

    fn total(&self) -> ChangeCounts {
        let own = self.resources.iter().fold(ChangeCounts::default(), |sum, (_, counts, _)| sum.plus(counts));
        self.children.iter().fold(own, |sum, child| sum.plus(&child.total()))
    }

    /// Many instances of one module become one branch.
    fn merge_instances(&mut self) {
        let mut number: foldhash::HashMap<String, usize> = foldhash::HashMap::default();
        for child in &self.children {
            *number.entry(child.call.clone()).or_default() += 1;
        }
        for child in std::mem::take(&mut self.children) {
            let many = number.get(&child.call).is_some_and(|number| *number > INSTANCES);
            match self.children.iter_mut().rfind(|other| many && other.call == child.call) {
                Some(other) => other.absorb(child),
                None if many => self.children.push(Branch { key: String::new(), ..child }),
                None => self.children.push(child),
            }
        }
        self.children.iter_mut().for_each(Branch::merge_instances);
    }

    fn absorb(&mut self, other: Branch) {
        self.instances += other.instances;
        for (name, counts, objects) in &other.resources {
            self.resource(name, counts, *objects);
        }
        for child in other.children {
            match self.child_places.get(&(child.call.clone(), child.key.clone())) {
                Some(at) => {
                    if let Some(own) = self.children.get_mut(*at) {
                        own.absorb(Branch { instances: 0, ..child });
                    }
                }
                None => {
                    self.child_places.insert((child.call.clone(), child.key.clone()), self.children.len());
                    self.children.push(child);
                }
            }
        }
    }
}

/// A line of the tree.
struct TreeLine {
    guide: String,
    label: String,
    counts: ChangeCounts,
}

/// Writes the tree, with an empty line below it.
pub(super) fn write(out: &mut String, changes: &[(u32, &ReportChange)], look: Look) {
    let mut root = Branch::default();
    for (_, change) in changes {
        let address = &change.address;
        let mut at = &mut root;
        for (call, key) in steps(&address.module) {
            at = at.child(&call, &key);
        }
        let prefix = if address.mode == ResourceMode::Data { "data." } else { "" };
        let mut counts = ChangeCounts::default();
        counts.add(change);
        at.resource(&format!("{prefix}{}.{}", address.kind, address.name), &counts, 1);
    }
    root.merge_instances();
    let mut lines = vec![TreeLine { guide: String::new(), label: "(root module)".to_owned(), counts: root.total() }];
    collect(&root, "", &mut lines);
    let paint = look.paint();
    let widest = |of: &dyn Fn(&TreeLine) -> usize| lines.iter().map(of).max().unwrap_or_default();
    let counts = widest(&|line| counts_text(&line.counts, paint).1);
    let room = look.width.saturating_sub(counts + 3).max(24);
    let width = widest(&|line| line.guide.width() + line.label.width()).min(room);
    for line in &lines {
        let label = shortened(&line.label, width.saturating_sub(line.guide.width()).max(8));
        let label = pad(&label, width.saturating_sub(line.guide.width()));
        let _ = writeln!(out, "{}{label}  {}", paint.with(GREY, &line.guide), counts_text(&line.counts, paint).0);
    }
    out.push('\n');
}

fn collect(branch: &Branch, indent: &str, lines: &mut Vec<TreeLine>) {
    let count = branch.resources.len() + branch.children.len();
    let mut at = 0;
    let mut guides = || {
        at += 1;
        if at == count { ("└── ", "    ") } else { ("├── ", "│   ") }
    };
    for (name, counts, objects) in &branch.resources {
        let (guide, _) = guides();
        let label = if *objects > 1 { format!("{name} ({objects} objects)") } else { name.clone() };
        lines.push(TreeLine { guide: format!("{indent}{guide}"), label, counts: *counts });
    }
    for child in &branch.children {
        let (guide, below) = guides();
        let label = match child.instances {
            0 | 1 => format!("{}{}", child.call, child.key),
            instances => format!("{} ({instances} instances)", child.call),
        };
        lines.push(TreeLine { guide: format!("{indent}{guide}"), label, counts: child.total() });
        collect(child, &format!("{indent}{below}"), lines);
    }
}

/// The steps of a module address: the call and the instance key in brackets, or an empty string.
fn steps(module: &str) -> Vec<(String, String)> {
    let mut parts: Vec<String> = vec![String::new()];
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for c in module.chars() {
        if c == '.' && depth == 0 {
            parts.push(String::new());
            continue;
        }
        match c {
            _ if quoted => {
                quoted = escaped || c != '"';
                escaped = c == '\\' && !escaped;
            }
            '"' => quoted = true,
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    let names = parts.chunks_exact(2).map(|pair| pair[1].as_str());
    let split = |name: &str| match name.split_once('[') {
        Some((name, key)) => (format!("module.{name}"), format!("[{key}")),
        None => (format!("module.{name}"), String::new()),
    };
    names.map(split).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_addresses_have_steps() {
        let step = |call: &str, key: &str| (call.to_owned(), key.to_owned());
        assert_eq!(steps(""), []);
        assert_eq!(steps("module.a[0].module.b"), [step("module.a", "[0]"), step("module.b", "")]);
        assert_eq!(
            steps("module.a[\"x.y]\\\".module.z\"].module.b"),
            [step("module.a", "[\"x.y]\\\".module.z\"]"), step("module.b", "")]
        );
    }
}
