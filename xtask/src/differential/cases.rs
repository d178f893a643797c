//! Runs multi-step cases with both tools, makes those that differ smaller, and writes them down.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::difference::{Difference, Explained, compare};
use super::observation::{AGAIN, observe};
use super::steps::{Action, Step};
use super::tool::Tool;

/// A case that differs in a way that has no reason.
pub(super) struct Found {
    pub(super) steps: Vec<Step>,
    pub(super) differences: Vec<Difference>,
}

/// Result of one case.
pub(super) struct Outcome {
    pub(super) reasons: Vec<usize>,
    pub(super) found: Option<Found>,
    /// Observations of each step: of Yuba, then of OpenTofu.
    pub(super) seen: Vec<[Value; 2]>,
}

/// The state that `terraform_remote_state` reads.
const OTHER: &str = r#"{"version":4,"terraform_version":"1.12.6","serial":1,"lineage":"other",
"outputs":{"x":{"value":"from there","type":"string"}},"resources":[],"check_results":null}"#;

/// Runs the steps of a case until one differs.
pub(super) fn run(tools: [&Tool; 2], folder: &Path, steps: &[Step], explained: &Explained) -> Outcome {
    let folders = [folder.join("ours"), folder.join("theirs")];
    folders.iter().for_each(|folder| prepare(folder));
    let mut reasons = Vec::new();
    let mut seen = Vec::new();
    let mut installed = None;
    for (index, step) in steps.iter().enumerate() {
        let install = must_install(&mut installed, step);
        let [ours, theirs] = [0, 1].map(|side| observe(tools[side], &folders[side], step, install));
        let source = source(step);
        let mut open = Vec::new();
        let mut ends = false;
        for difference in differences(&ours, &theirs) {
            match explained.reason(&difference, &source) {
                Some(reason) => {
                    ends |= explained.ends_case(reason);
                    reasons.push(reason);
                }
                None => open.push(difference),
            }
        }
        let states_differ = ours["state"] != theirs["state"];
        seen.push([ours, theirs]);
        if ends {
            break;
        }
        if !open.is_empty() {
            let found = Found { steps: steps[..=index].to_vec(), differences: open };
            return Outcome { reasons, found: Some(found), seen };
        }
        if states_differ {
            break;
        }
    }
    Outcome { reasons, found: None, seen }
}

/// Runs the steps of a case with one tool, regardless of their results.
pub(super) fn run_alone(tool: &Tool, folder: &Path, steps: &[Step]) -> Vec<Value> {
    prepare(folder);
    let mut installed = None;
    let mut run = |step| observe(tool, folder, step, must_install(&mut installed, step));
    steps.iter().map(&mut run).collect()
}

/// Makes an empty directory for a case.
fn prepare(folder: &Path) {
    let _ = fs::remove_dir_all(folder);
    let _ = fs::create_dir_all(folder);
    let _ = fs::write(folder.join("other.tfstate"), OTHER);
}

/// True where a step calls other modules or needs other providers than the step before.
fn must_install(installed: &mut Option<BTreeSet<String>>, step: &Step) -> bool {
    let calls = calls(step);
    let install = installed.as_ref() != Some(&calls) && (!calls.is_empty() || installed.is_some());
    *installed = Some(calls);
    install
}

/// Differences between Yuba's results and OpenTofu's in one step.
fn differences(ours: &Value, theirs: &Value) -> Vec<Difference> {
    let none = Value::Null;
    let mut found = Vec::new();
    for part in ["init", "plan", "document", "apply", "command", "list", "state"] {
        let side = |value: &'_ Value| value.get(part).unwrap_or(&none).clone();
        let (mut ours, mut theirs) = (side(ours), side(theirs));
        if let (Some(ours), Some(theirs)) = (ours.get_mut("events"), theirs.get_mut("events")) {
            super::lost_events::drop_lost_events(ours, theirs);
        }
        for field in ["diagnostics", "events"] {
            if let (Some(ours), Some(theirs)) = (ours.get_mut(field), theirs.get_mut(field)) {
                only(ours, theirs);
            }
        }
        found.extend(compare(part, &ours, &theirs));
    }
    found
}

/// Reduces two sorted lists to what only one of them has.
fn only(ours: &mut Value, theirs: &mut Value) {
    let (Some(left), Some(right)) = (ours.as_array(), theirs.as_array()) else { return };
    let text = |item: &'_ Value| item.as_str().unwrap_or_default().to_owned();
    let mut rest = right.clone();
    let mut first: Vec<&str> = Vec::new();
    for item in left {
        let same = |other: &Value| text(other).trim_start_matches(AGAIN) == text(item).trim_start_matches(AGAIN);
        let position = rest.iter().position(|other| other == item).or_else(|| rest.iter().position(same));
        match position {
            Some(position) => drop(rest.remove(position)),
            None => first.extend(item.as_str()),
        }
    }
    let second: Vec<&str> = rest.iter().filter_map(Value::as_str).collect();
    (*ours, *theirs) = (first.join("; ").into(), second.join("; ").into());
}

fn calls(step: &Step) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (folder, blocks) in &step.folders {
        for block in blocks.iter().filter(|b| b.kind == "module") {
            found.insert(format!("{folder}/{}", block.labels[0]));
        }
        for block in blocks.iter().filter(|b| b.kind == "resource" && b.labels[0] != "terraform_data") {
            found.insert(block.labels[0].clone());
        }
    }
    found
}

/// The configuration and command of a step as one text.
fn source(step: &Step) -> String {
    let mut text: String = step.folders.values().map(|blocks| super::block::native(blocks)).collect();
    let _ = write!(text, "{:?} {:?} json={}", step.action, step.flags, step.json);
    text
}

/// Makes a case smaller as long as it differs in the same way.
pub(super) fn shrink(tools: [&Tool; 2], folder: &Path, found: Found, explained: &Explained, allowed: usize) -> Found {
    let wanted: BTreeSet<(String, String)> = found.differences.iter().map(Difference::class).collect();
    let mut best = found;
    let mut attempts = 0;
    loop {
        let mut smaller = None;
        for candidate in candidates(&best.steps) {
            attempts += 1;
            if attempts > allowed {
                return best;
            }
            if let Some(found) = run(tools, folder, &candidate, explained).found
                && found.differences.iter().any(|d| wanted.contains(&d.class()))
            {
                smaller = Some(found);
                break;
            }
        }
        match smaller {
            Some(found) => best = found,
            None => return best,
        }
    }
}

/// Cases with one item removed each: a step, a flag, a block, an argument, a nested block.
fn candidates(steps: &[Step]) -> Vec<Vec<Step>> {
    let mut all = Vec::new();
    for index in 0..steps.len().saturating_sub(1) {
        let mut fewer = steps.to_vec();
        fewer.remove(index);
        all.push(fewer);
    }
    for (index, step) in steps.iter().enumerate() {
        for flag in 0..step.flags.len() {
            let mut fewer = steps.to_vec();
            fewer[index].flags.remove(flag);
            all.push(fewer);
        }
        if step.json {
            let mut native = steps.to_vec();
            native[index].json = false;
            all.push(native);
        }
    }
    let names: BTreeSet<(String, String, Vec<String>)> = steps
        .iter()
        .flat_map(|step| step.folders.iter())
        .flat_map(|(folder, blocks)| blocks.iter().map(|b| (folder.clone(), b.kind.clone(), b.labels.clone())))
        .collect();
    for (folder, kind, labels) in &names {
        let without = |change: &dyn Fn(&mut Vec<super::block::Block>)| {
            let mut fewer = steps.to_vec();
            for step in &mut fewer {
                if let Some(blocks) = step.folders.get_mut(folder) {
                    change(blocks);
                }
            }
            fewer
        };
        all.push(without(&|blocks| blocks.retain(|b| &b.kind != kind || &b.labels != labels)));
        if kind == "variable" {
            continue;
        }
        let same = |b: &&mut super::block::Block| &b.kind == kind && &b.labels == labels;
        for position in 0..3 {
            all.push(without(&|blocks| {
                for block in blocks.iter_mut().filter(same) {
                    if position < block.blocks.len() {
                        block.blocks.remove(position);
                    }
                }
            }));
            all.push(without(&|blocks| {
                for block in blocks.iter_mut().filter(same) {
                    if position < block.arguments.len() && block.arguments[position].0 != "source" {
                        block.arguments.remove(position);
                    }
                }
            }));
        }
    }
    let size = |steps: &[Step]| steps.iter().map(|s| source(s).len()).sum::<usize>();
    let whole = size(steps);
    all.retain(|fewer| size(fewer) < whole);
    all
}

/// Writes a case as directories, one for each step, with a script that runs them.
pub(super) fn keep(folder: &Path, steps: &[Step]) {
    let _ = fs::remove_dir_all(folder);
    let mut script = String::from(
        "#!/bin/sh -x\n# Usage: run.sh TOOL; works in ./work.\nrm -rf work; mkdir work; cp other.tfstate work\n",
    );
    for (index, step) in steps.iter().enumerate() {
        for (name, blocks) in &step.folders {
            let place = folder.join(format!("step{index}")).join(name);
            let _ = fs::create_dir_all(&place);
            let (file, text) = if step.json {
                ("main.tf.json", super::block::json_syntax(blocks))
            } else {
                ("main.tf", super::block::native(blocks))
            };
            let _ = fs::write(place.join(file), text);
        }
        let quoted: Vec<String> = step.flags.iter().map(|flag| format!("'{flag}'")).collect();
        let flags = quoted.join(" ");
        let _ = writeln!(script, "(cd work && find . -name 'main.tf*' -delete); cp -r step{index}/. work");
        if !calls(step).is_empty() {
            let _ = writeln!(script, "(cd work && $1 init -input=false >/dev/null)");
        }
        let line = match &step.action {
            Action::Plan => format!("$1 plan -out=plan {flags}"),
            Action::ApplySaved => format!("$1 plan -out=plan {flags} && $1 apply plan"),
            Action::Apply => format!("$1 apply -auto-approve {flags}"),
            Action::Other(words) => {
                format!("$1 {}", words.iter().map(|w| format!("'{w}'")).collect::<Vec<_>>().join(" "))
            }
        };
        let _ = writeln!(script, "(cd work && {line})");
    }
    let _ = fs::write(folder.join("other.tfstate"), OTHER);
    let _ = fs::write(folder.join("run.sh"), script);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn repeated_diagnostics_differ_from_those_of_one_tool() {
        let check = |ours: &[&str], theirs: &[&str]| {
            let (mut ours, mut theirs) = (json!(ours), json!(theirs));
            super::only(&mut ours, &mut theirs);
            (ours, theirs)
        };
        assert_eq!(check(&["w: a"], &["(again) w: a", "w: a"]), (json!(""), json!("(again) w: a")));
        assert_eq!(check(&["w: a", "w: a"], &["(again) w: a", "w: a"]), (json!(""), json!("")));
        assert_eq!(check(&[], &["w: a"]), (json!(""), json!("w: a")));
    }
}
