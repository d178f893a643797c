//! Evaluates many expressions at once with both tools.
//!
//! Each expression is a file of its own, so that the errors of `validate -json` and `plan -json` belong to one
//! expression each. Those that fail are compared by the titles of their errors and removed; the other ones are compared
//! by the planned value, its unknown and sensitive parts, and the text that the console prints.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::difference::{Difference, compare};
use super::expressions::UNKNOWN;
use super::tool::{Answer, Tool};

/// An expression, and the type constraint of a module's variable that it is passed through.
#[derive(Clone)]
pub(super) struct Sample {
    pub(super) expression: String,
    pub(super) constraint: Option<String>,
}

/// A difference and the expression it was seen with.
pub(super) struct Finding {
    pub(super) sample: Sample,
    pub(super) difference: Difference,
}

/// Compares all samples of a batch, working in `folder`.
pub(super) fn run(tools: [&Tool; 2], folder: &Path, samples: &[Sample]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let folders = [folder.join("ours"), folder.join("theirs")];
    for (tool, folder) in tools.iter().zip(&folders) {
        write(folder, samples);
        if samples.iter().any(|s| s.constraint.is_some()) {
            tool.run(folder, &["init", "-no-color"], None);
        }
    }
    let mut left: BTreeSet<usize> = (0..samples.len()).collect();
    for phase in ["validate", "plan"] {
        // Errors can hide other errors: a file that cannot be parsed, a failed module call.
        for _ in 0..20 {
            let answers: Vec<Answer> = tools
                .iter()
                .zip(&folders)
                .map(|(tool, folder)| match phase {
                    "validate" => tool.run(folder, &["validate", "-json"], None),
                    _ => tool.run(folder, &["plan", "-json", "-out=plan", "-input=false"], None),
                })
                .collect();
            let [ours, theirs] = [errors(&answers[0]), errors(&answers[1])];
            let failed: BTreeSet<usize> = ours.keys().chain(theirs.keys()).copied().collect();
            for &index in &failed {
                let [ours, theirs] =
                    [&ours, &theirs].map(|side| side.get(&index).cloned().unwrap_or_default().join("; "));
                if index == usize::MAX {
                    findings.push(finding(
                        &Sample { expression: "(batch)".to_owned(), constraint: None },
                        "batch",
                        &ours,
                        &theirs,
                    ));
                } else if ours != theirs {
                    findings.push(finding(&samples[index], "errors", &ours, &theirs));
                }
            }
            if failed.is_empty() {
                for (answer, side) in answers.iter().zip(["ours", "theirs"]) {
                    if answer.crashed() {
                        findings.push(finding(&samples[0], "crash", &format!("{side}: {}", answer.stderr), ""));
                    }
                }
                break;
            }
            for index in failed {
                left.remove(&index);
                for folder in &folders {
                    let _ = fs::remove_file(folder.join(file(index)));
                }
            }
        }
    }
    planned(tools, &folders, samples, &left, &mut findings);
    printed(tools, &folders, samples, &left, &mut findings);
    findings
}

fn finding(sample: &Sample, aspect: &str, ours: &str, theirs: &str) -> Finding {
    Finding { sample: sample.clone(), difference: Difference::new(aspect, ours, theirs) }
}

fn file(index: usize) -> String {
    format!("e{index:04}.tf")
}

/// The configuration file of a sample.
pub(super) fn text(index: usize, sample: &Sample) -> String {
    let expression = &sample.expression;
    match &sample.constraint {
        None => format!("resource \"terraform_data\" \"e{index:04}\" {{\n  input = {expression}\n}}\n"),
        Some(_) => format!(
            "module \"e{index:04}\" {{\n  source = \"./m{index:04}\"\n  v = {expression}\n}}\n\
             resource \"terraform_data\" \"e{index:04}\" {{\n  input = module.e{index:04}.v\n}}\n"
        ),
    }
}

/// Declarations that all expressions of a batch may refer to.
pub(super) fn surroundings() -> String {
    let mut base = String::from(
        "resource \"terraform_data\" \"known\" {\n  input = \"<$${a}|%%{ if true }$${b}%%{ endif }>\"\n}\n",
    );
    for (name, value) in UNKNOWN {
        let _ = write!(base, "resource \"terraform_data\" \"{name}\" {{\n  input = {value}\n}}\n");
    }
    base
}

fn write(folder: &Path, samples: &[Sample]) {
    let _ = fs::remove_dir_all(folder);
    let _ = fs::create_dir_all(folder);
    let _ = fs::write(folder.join("base.tf"), surroundings());
    for (index, sample) in samples.iter().enumerate() {
        let _ = fs::write(folder.join(file(index)), text(index, sample));
        if let Some(constraint) = &sample.constraint {
            let module = folder.join(format!("m{index:04}"));
            let _ = fs::create_dir_all(&module);
            let _ = fs::write(
                module.join("main.tf"),
                format!("variable \"v\" {{\n  type = {constraint}\n}}\noutput \"v\" {{\n  value = var.v\n}}\n"),
            );
        }
    }
}

/// Titles of errors by expression; those that belong to none stand under `usize::MAX`.
fn errors(answer: &Answer) -> BTreeMap<usize, Vec<String>> {
    let mut found: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for diagnostic in answer.diagnostics().into_iter().filter(|d| d.severity == "error") {
        let number = [&diagnostic.file, &diagnostic.address, &diagnostic.title].iter().find_map(|text| number(text));
        let title = match number {
            Some(index) => diagnostic.title.replace(&format!("e{index:04}"), "e"),
            None => diagnostic.title,
        };
        found.entry(number.unwrap_or(usize::MAX)).or_default().push(title);
    }
    found
}

/// The number of the sample that a file name, an address or a title names.
fn number(text: &str) -> Option<usize> {
    text.match_indices(['e', 'm']).find_map(|(at, _)| text.get(at + 1..at + 5)?.parse().ok())
}

/// Compares the values in the plan.
fn planned(
    tools: [&Tool; 2],
    folders: &[PathBuf; 2],
    samples: &[Sample],
    left: &BTreeSet<usize>,
    findings: &mut Vec<Finding>,
) {
    let [ours, theirs] = [0, 1].map(|side| {
        let answer = tools[side].run(&folders[side], &["show", "-json", "plan"], None);
        let plan: Value = serde_json::from_str(&answer.stdout).unwrap_or_default();
        let mut values: BTreeMap<String, Value> = BTreeMap::new();
        for change in plan["resource_changes"].as_array().into_iter().flatten() {
            let change = (&change["address"], &change["change"]);
            let part = |name: &str| change.1[name]["input"].clone();
            values.insert(
                change.0.as_str().unwrap_or_default().to_owned(),
                json!({"after": part("after"), "unknown": part("after_unknown"), "sensitive": part("after_sensitive")}),
            );
        }
        values
    });
    for &index in left {
        let address = format!("terraform_data.e{index:04}");
        let none = Value::Null;
        let [ours, theirs] = [&ours, &theirs].map(|side| side.get(&address).unwrap_or(&none));
        if let Some(mut difference) = compare("value", ours, theirs).into_iter().next() {
            difference.ours = ours.to_string();
            difference.theirs = theirs.to_string();
            difference.path = String::new();
            findings.push(Finding { sample: samples[index].clone(), difference });
        }
    }
}

/// Compares what the console prints, of values and of their types.
fn printed(
    tools: [&Tool; 2],
    folders: &[PathBuf; 2],
    samples: &[Sample],
    left: &BTreeSet<usize>,
    findings: &mut Vec<Finding>,
) {
    let [ours, theirs] = [0, 1].map(|side| console(tools[side], &folders[side], samples, left));
    for &index in left.iter().filter(|&&index| samples[index].constraint.is_none()) {
        for aspect in ["text", "type"] {
            let none = String::new();
            let [ours, theirs] = [&ours, &theirs].map(|side| side.get(&(index, aspect)).unwrap_or(&none));
            if ours != theirs {
                findings.push(finding(&samples[index], aspect, ours, theirs));
            }
        }
    }
}

fn console(
    tool: &Tool,
    folder: &Path,
    samples: &[Sample],
    left: &BTreeSet<usize>,
) -> BTreeMap<(usize, &'static str), String> {
    let mut wanted: Vec<(usize, &'static str)> = left
        .iter()
        .filter(|&&index| samples[index].constraint.is_none())
        .flat_map(|&index| [(index, "text"), (index, "type")])
        .collect();
    let mut found = BTreeMap::new();
    // The console ends at the first error: the rest is for another one.
    while !wanted.is_empty() {
        let mut input = String::new();
        for (index, aspect) in &wanted {
            let expression = &samples[*index].expression;
            let _ = match *aspect {
                "text" => writeln!(input, "{expression}\n\"@@@@\""),
                _ => writeln!(input, "type({expression})\n\"@@@@\""),
            };
        }
        let answer = tool.run(folder, &["console"], Some(&input));
        let parts: Vec<&str> = answer.stdout.split("\"@@@@\"\n").collect();
        let done = parts.len() - 1;
        for (key, part) in wanted.iter().zip(&parts[..done]) {
            found.insert(*key, part.trim_end().to_owned());
        }
        if done < wanted.len() {
            let titles: Vec<String> = answer.diagnostics().into_iter().map(|d| d.title).collect();
            found.insert(wanted[done], format!("error: {}", titles.join("; ")));
        }
        wanted.drain(..(done + 1).min(wanted.len()));
    }
    found
}
