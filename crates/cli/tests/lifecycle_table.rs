//! Lifecycle arguments, conditions and provisioners, crossed with the location of their block and with every operation.
//!
//! `lifecycle_table.txt` has the outcomes of OpenTofu 1.12.6. To observe them again, set `YUBA_TABLE_PEER` to the path of
//! the `tofu` executable and run this test: it writes the file instead of comparing.
//!
//! An outcome is independent of the location as far as possible: addresses lose modules and keys, and equal lines are
//! counted. So locations with the same outcome share one line, and a location that behaves differently is visible.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use yuba_testkit::Sandbox;

/// Name, and what the block of the resource has besides its arguments. `LIFECYCLE` stands in `lifecycle`.
struct Feature {
    name: &'static str,
    lifecycle: &'static str,
    block: &'static str,
    /// Other blocks of the same module.
    beside: &'static str,
}

const fn lifecycle(name: &'static str, lifecycle: &'static str) -> Feature {
    Feature { name, lifecycle, block: "", beside: "" }
}

const fn block(name: &'static str, block: &'static str) -> Feature {
    Feature { name, lifecycle: "", block, beside: "" }
}

const fn beside(name: &'static str, beside: &'static str) -> Feature {
    Feature { name, lifecycle: "", block: "", beside }
}

const FEATURES: [Feature; 20] = [
    lifecycle("nothing", ""),
    lifecycle("prevent_destroy", "prevent_destroy = true"),
    lifecycle("prevent_destroy by variable", "prevent_destroy = var.v != \"3\""),
    lifecycle("create_before_destroy", "create_before_destroy = true"),
    lifecycle("ignore_changes", "ignore_changes = [input]"),
    lifecycle("ignore_changes all", "ignore_changes = all"),
    lifecycle("replace_triggered_by", "replace_triggered_by = [terraform_data.before.input]"),
    lifecycle("destroy false", "destroy = false"),
    lifecycle("precondition", "precondition {\n condition = var.v != \"2\"\n error_message = \"no\"\n}"),
    lifecycle("postcondition", "postcondition {\n condition = self.input != \"2\"\n error_message = \"no\"\n}"),
    lifecycle(
        "postcondition after apply",
        "postcondition {\n condition = self.output != \"2\"\n error_message = \"no\"\n}",
    ),
    block("provisioner", "provisioner \"local-exec\" {\n command = \"true\"\n}"),
    block("failing provisioner", "provisioner \"local-exec\" {\n command = \"false ${var.w}\"\n}"),
    block(
        "failing provisioner, continue",
        "provisioner \"local-exec\" {\n command = \"false\"\n on_failure = continue\n}",
    ),
    block("destroy provisioner", "provisioner \"local-exec\" {\n when = destroy\n command = \"true\"\n}"),
    block("failing destroy provisioner", "provisioner \"local-exec\" {\n when = destroy\n command = \"false\"\n}"),
    Feature {
        name: "failing provisioner and postcondition",
        lifecycle: "postcondition {\n condition = self.output == \"2\"\n error_message = \"no\"\n}",
        block: "provisioner \"local-exec\" {\n command = \"false\"\n}",
        beside: "",
    },
    beside("check", "check \"c\" {\n assert {\n condition = var.v != \"2\"\n error_message = \"no\"\n }\n}"),
    beside(
        "output precondition",
        "output \"o\" {\n value = 1\n precondition {\n condition = var.v != \"2\"\n error_message = \"no\"\n }\n}",
    ),
    beside(
        "variable validation",
        "variable \"checked\" {\n default = 1\n validation {\n condition = var.v != \"2\" || var.checked == 0\n error_message = \"no\"\n }\n}",
    ),
];

/// Location of the block: the calls around it from the outside, and the repetition of the resource.
struct Place {
    name: &'static str,
    calls: &'static [&'static str],
    own: &'static str,
    /// `-target` and the like name this.
    target: &'static str,
    /// `-replace` names this.
    instance: &'static str,
}

const fn place(
    name: &'static str,
    calls: &'static [&'static str],
    own: &'static str,
    target: &'static str,
    instance: &'static str,
) -> Place {
    Place { name, calls, own, target, instance }
}

const COUNT: &str = "count = var.n ? 2 : 0";
const FOR_EACH: &str = "for_each = var.n ? toset([\"a\", \"b\"]) : toset([])";
const ENABLED: &str = "lifecycle {\n enabled = var.n\n}";
const X: &str = "terraform_data.x";

const PLACES: [Place; 10] = [
    place("root", &[], "", X, X),
    place("root count", &[], COUNT, X, "terraform_data.x[1]"),
    place("root for_each", &[], FOR_EACH, X, "terraform_data.x[\"b\"]"),
    place("root enabled", &[], ENABLED, X, X),
    place("module", &[""], "", "module.m", "module.m.terraform_data.x"),
    place("nested", &["", ""], "", "module.m.module.m", "module.m.module.m.terraform_data.x"),
    place("module count", &[COUNT], "", "module.m", "module.m[1].terraform_data.x"),
    place("module for_each", &[FOR_EACH], "", "module.m", "module.m[\"b\"].terraform_data.x"),
    place("module enabled", &[ENABLED], "", "module.m", "module.m.terraform_data.x"),
    place("nested count", &[FOR_EACH, COUNT], "", "module.m", "module.m[\"b\"].module.m[1].terraform_data.x"),
];

/// Commands after a first apply. `T` stands for the target, `I` for one instance, `RUN` for a plan that is saved and applied.
const OPERATIONS: [(&str, &str); 18] = [
    ("no change", "apply -auto-approve"),
    ("change", "apply -auto-approve -var v=2"),
    ("replace", "apply -auto-approve -var r=2"),
    ("-replace", "apply -auto-approve -replace=I"),
    ("-replace with change", "apply -auto-approve -replace=I -var v=2"),
    ("trigger", "apply -auto-approve -var t=2"),
    ("-target with change", "apply -auto-approve -target=T -var v=2"),
    ("-target with replacement", "apply -auto-approve -target=T -var r=2"),
    ("-exclude with change", "apply -auto-approve -exclude=T -var v=2"),
    ("-refresh-only with change", "apply -auto-approve -refresh-only -var v=2"),
    ("saved plan with change", "RUN -var v=2"),
    ("fewer instances", "apply -auto-approve -var n=false"),
    ("plan -destroy", "plan -destroy"),
    ("destroy", "destroy -auto-approve"),
    ("destroy -target", "destroy -auto-approve -target=T"),
    ("destroy -exclude", "destroy -auto-approve -exclude=T"),
    ("saved plan to destroy", "RUN -destroy"),
    ("destroy with change", "destroy -auto-approve -var v=3"),
];

const VARIABLES: &str = r#"variable "n" {
  default = true
}
variable "v" {
  default = "1"
}
variable "r" {
  default = "1"
}
variable "t" {
  default = "1"
}
variable "w" {
  default = "1"
}
"#;

fn write_configuration(sandbox: &Sandbox, feature: &Feature, place: &Place) {
    let mut folder = String::new();
    for call in place.calls {
        let arguments = "  n = var.n\n  v = var.v\n  r = var.r\n  t = var.t\n  w = var.w\n";
        let text = format!("{VARIABLES}module \"m\" {{\n  source = \"./m\"\n{arguments}{call}\n}}\n");
        sandbox.write(&format!("{folder}main.tf"), text);
        folder.push_str("m/");
    }
    let (enabled, own) = match place.own == ENABLED {
        true => ("enabled = var.n\n", ""),
        false => ("", place.own),
    };
    let text = format!(
        "{VARIABLES}resource \"terraform_data\" \"before\" {{\n  input = var.t\n}}\n\
         resource \"terraform_data\" \"x\" {{\n  {own}\n  input = var.v\n  triggers_replace = var.r\n  \
         lifecycle {{\n{enabled}{}\n}}\n{}\n}}\n\
         resource \"terraform_data\" \"after\" {{\n  input = \"fixed\"\n  depends_on = [terraform_data.x]\n}}\n{}\n",
        feature.lifecycle, feature.block, feature.beside
    );
    sandbox.write(&format!("{folder}main.tf"), text);
}

/// All outcomes of a feature in a location: first the apply that creates the objects, then each operation on them.
fn outcomes(program: &str, feature: &Feature, place: &Place) -> Vec<(&'static str, String)> {
    let sandbox = Sandbox::new(program, "");
    write_configuration(&sandbox, feature, place);
    let init = sandbox.run(&["init", "-no-color"]);
    assert_eq!(init.code, 0, "{}: {}: {init}", feature.name, place.name);
    let mut found =
        vec![("plan", outcome(&sandbox, &["plan"])), ("apply", outcome(&sandbox, &["apply", "-auto-approve"]))];
    let state = sandbox.read("terraform.tfstate");
    for (name, command) in OPERATIONS {
        sandbox.write("terraform.tfstate", &state);
        let words: Vec<String> = command
            .split(' ')
            .map(|word| match word.split_once('=') {
                Some((flag, "T")) => format!("{flag}={}", place.target),
                Some((flag, "I")) => format!("{flag}={}", place.instance),
                _ => word.to_owned(),
            })
            .collect();
        let args: Vec<&str> = words.iter().map(String::as_str).collect();
        let shown = match args.split_first() {
            Some((&"RUN", rest)) => {
                let planned = outcome(&sandbox, &[&["plan", "-out=saved"], rest].concat());
                match sandbox.dir().join("saved").exists() && !planned.starts_with("exit 1") {
                    true => format!("{planned}; {}", outcome(&sandbox, &["apply", "saved"])),
                    false => planned,
                }
            }
            _ => outcome(&sandbox, &args),
        };
        found.push((name, shown));
    }
    found
}

/// Result of a command, in one line.
fn outcome(sandbox: &Sandbox, args: &[&str]) -> String {
    let args: Vec<&str> = args.iter().copied().chain(["-no-color", "-input=false"]).collect();
    // Behind a flag, the saved plan would count as several arguments.
    let args = match args.as_slice() {
        ["apply", "saved", ..] => vec!["apply", "-no-color", "-input=false", "saved"],
        _ => args,
    };
    let run = sandbox.run(&args);
    let mut lines: BTreeMap<String, u32> = BTreeMap::new();
    let mut count = |line: String| *lines.entry(line).or_default() += 1;
    for line in run.stdout.lines().chain(run.stderr.lines()).map(str::trim) {
        let line = line.trim_start_matches(['│', '╷', '╵', ' ']);
        let is_summary = ["Plan: ", "Apply complete!", "Destroy complete!", "No changes.", "Error: ", "Warning: "];
        if line.starts_with("# (") && line.contains(" unchanged ") {
            continue;
        }
        if line.starts_with("# ") || is_summary.iter().any(|start| line.starts_with(start)) {
            count(without_place(line.trim_start_matches("# ")));
        } else if line.contains("Provisioning with") {
            count(without_place(line));
        }
    }
    let mut text = format!("exit {}", run.code);
    for (line, times) in lines {
        let _ = write!(text, "; {line}");
        if times > 1 {
            let _ = write!(text, " (x{times})");
        }
    }
    let _ = write!(text, "; state: {}", state(sandbox));
    text
}

/// An address without modules and keys.
fn without_place(line: &str) -> String {
    let words = line.split(' ').map(|word| {
        let end = word.trim_start_matches(|c: char| c != '[');
        let bare = match word.find("terraform_data.") {
            Some(at) => &word[at..],
            None if word.starts_with("module.") => return "MODULE".to_owned(),
            None if word.starts_with("[") && end.contains(']') => return "[KEY]".to_owned(),
            None => return word.to_owned(),
        };
        match bare.find('[') {
            Some(at) => format!("{}{}", &bare[..at], bare.rfind(']').map_or("", |end| &bare[end + 1..])),
            None => bare.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The objects of the state with their condition, and the results of conditions.
fn state(sandbox: &Sandbox) -> String {
    let text = std::fs::read_to_string(sandbox.dir().join("terraform.tfstate")).unwrap_or_default();
    let state: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let mut objects: BTreeMap<String, u32> = BTreeMap::new();
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    for resource in list(&state["resources"]) {
        for instance in list(&resource["instances"]) {
            let mut name = resource["name"].as_str().unwrap_or_default().to_owned();
            for (key, word) in [("status", " tainted"), ("deposed", " deposed"), ("create_before_destroy", " cbd")] {
                if !instance[key].is_null() {
                    name.push_str(word);
                }
            }
            let input = &instance["attributes"]["input"]["value"];
            *objects.entry(format!("{name}={}", input.as_str().unwrap_or("none"))).or_default() += 1;
        }
    }
    let counted = |(name, times): (&String, &u32)| match times {
        1 => name.clone(),
        times => format!("{name} (x{times})"),
    };
    let mut text = objects.iter().map(counted).collect::<Vec<_>>().join(", ");
    let mut checks: BTreeMap<String, u32> = BTreeMap::new();
    for result in list(&state["check_results"]) {
        let whole = format!("{} {}", result["object_kind"], result["status"]);
        *checks.entry(whole.replace('"', "")).or_default() += 1;
        for object in list(&result["objects"]) {
            *checks.entry(format!("object {}", object["status"]).replace('"', "")).or_default() += 1;
        }
    }
    if !checks.is_empty() {
        let _ = write!(text, "; checks: {}", checks.iter().map(counted).collect::<Vec<_>>().join(", "));
    }
    text
}

/// The whole table: a heading per feature and operation, and the locations that share an outcome.
fn table(program: &str) -> String {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(feature) = FEATURES.get(at / PLACES.len()) else { break };
                    let outcomes = outcomes(program, feature, &PLACES[at % PLACES.len()]);
                    found.lock().expect("because no thread panics with it").insert(at, outcomes);
                }
            });
        }
    });
    let found = found.into_inner().expect("because no thread panics with it");
    let mut text = String::new();
    for (at, feature) in FEATURES.iter().enumerate() {
        let first = at * PLACES.len();
        for (operation, (name, _)) in found[&first].iter().enumerate() {
            let _ = writeln!(text, "## {}: {name}", feature.name);
            let mut shared: Vec<(&str, Vec<&str>)> = Vec::new();
            for (number, place) in PLACES.iter().enumerate() {
                let outcome = found[&(first + number)][operation].1.as_str();
                match shared.iter_mut().find(|(other, _)| *other == outcome) {
                    Some((_, places)) => places.push(place.name),
                    None => shared.push((outcome, vec![place.name])),
                }
            }
            for (outcome, places) in shared {
                let _ = writeln!(text, "{}\n  {outcome}", places.join(", "));
            }
        }
    }
    text
}

/// Outcomes by feature, operation and location.
fn outcomes_of(table: &str) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for section in table.split("## ").skip(1) {
        let mut lines = section.lines();
        let name = lines.next().unwrap_or_default();
        while let (Some(places), Some(outcome)) = (lines.next(), lines.next()) {
            for place in places.split(", ") {
                found.insert((name.to_owned(), place.to_owned()), outcome.trim().to_owned());
            }
        }
    }
    found
}

/// The outcome that Yuba has on purpose where OpenTofu's differs; each rule states its reason.
fn wanted((section, place): &(String, String), observed: &str) -> String {
    let observed = observed.replace("the OpenTofu state", "the Yuba state");
    let (feature, operation) = section.split_once(": ").unwrap_or_default();
    let in_module = place.contains("module") || place.contains("nested");
    match (feature, operation) {
        // The call of a disabled module is in the configuration.
        (_, "fewer instances") if place == "module enabled" => {
            observed.replace("(because MODULE is not in configuration)", "(because MODULE is not enabled)")
        }
        // The plan says that what depends on the forgotten object is destroyed. OpenTofu does not do it.
        ("destroy false", "destroy -target") if !in_module => observed.replace("state: after=fixed, ", "state: "),
        // Conditions of module outputs count although nothing refers to the output. Values outside of the run stay unknown.
        ("output precondition", operation) if in_module => {
            let is_limited = operation.contains("-target") || operation.contains("-exclude");
            let times = usize::from(!is_limited && !operation.starts_with("destroy"));
            observed.replacen("object unknown", "object pass", times).replacen("output unknown", "output pass", times)
        }
        _ => observed,
    }
}

#[test]
fn every_lifecycle_feature_matches_opentofu_in_every_location() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/lifecycle_table.txt");
    if let Ok(peer) = std::env::var("YUBA_TABLE_PEER") {
        std::fs::write(path, table(&peer)).unwrap();
        return;
    }
    let expected = outcomes_of(&std::fs::read_to_string(path).unwrap());
    let found = outcomes_of(&table(env!("CARGO_BIN_EXE_yuba")));
    assert_eq!(expected.len(), FEATURES.len() * PLACES.len() * (OPERATIONS.len() + 2));
    let mut differences = String::new();
    for (case, observed) in &expected {
        let (wanted, is) = (wanted(case, observed), found.get(case).map_or("nothing", String::as_str));
        if wanted != is {
            let _ = writeln!(differences, "{} @ {}\n  OpenTofu {wanted}\n  Yuba     {is}", case.0, case.1);
        }
    }
    assert!(differences.is_empty(), "\n{differences}");
}
