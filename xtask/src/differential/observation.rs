//! Runs a step with one tool and reduces what happened to a document that two tools can be compared by.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::block::{Argument, json_syntax, native};
use super::steps::{Action, Step};
use super::tool::{Answer, Diagnostic, Tool};

/// The beginning of a diagnostic that another one of the same run says already.
pub(super) const AGAIN: &str = "(again) ";

/// Runs a step in `folder`; `install` where the module calls may have changed.
pub(super) fn observe(tool: &Tool, folder: &Path, step: &Step, install: bool) -> Value {
    write(folder, step);
    let mut seen = Map::new();
    let mut random = BTreeSet::new();
    random_values(&read_state(folder), &mut random);
    if install {
        let answer = tool.run(folder, &["init", "-input=false", "-no-color"], None);
        record(&mut seen, "init", &answer);
    }
    let flags: Vec<&str> = step.flags.iter().map(String::as_str).collect();
    let _ = fs::remove_file(folder.join("plan"));
    match &step.action {
        Action::Plan | Action::ApplySaved => {
            let mut args = vec!["plan", "-json", "-input=false", "-out=plan", "-detailed-exitcode"];
            args.extend(&flags);
            let answer = tool.run(folder, &args, None);
            record(&mut seen, "plan", &answer);
            if folder.join("plan").exists() {
                let shown = tool.run(folder, &["show", "-json", "plan"], None);
                seen.insert("document".to_owned(), normal(serde_json::from_str(&shown.stdout).unwrap_or_default()));
            }
            if step.action == Action::ApplySaved && answer.code != 1 {
                record(&mut seen, "apply", &tool.run(folder, &["apply", "-json", "plan"], None));
            }
        }
        Action::Apply => {
            let mut args = vec!["apply", "-json", "-input=false", "-auto-approve"];
            args.extend(&flags);
            record(&mut seen, "apply", &tool.run(folder, &args, None));
        }
        Action::Other(words) => {
            let args: Vec<&str> = words.iter().map(String::as_str).collect();
            let answer = tool.run(folder, &args, None);
            record(&mut seen, "command", &answer);
            let printed = serde_json::from_str(&answer.stdout).map(normal);
            if words[0] == "state" && words[1] == "list" {
                seen.insert("list".to_owned(), json!(answer.stdout));
            } else if words[0] != "validate" {
                seen.insert("document".to_owned(), printed.unwrap_or_default());
            }
        }
    }
    let state = read_state(folder);
    random_values(&state, &mut random);
    seen.insert("state".to_owned(), normal(state));
    let mut seen = Value::Object(seen);
    hide_random_values(&mut seen, &random);
    drop_old_dependencies(&mut seen, &declared(step, "", ""));
    seen
}

fn read_state(folder: &Path) -> Value {
    let text = fs::read_to_string(folder.join("terraform.tfstate")).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Values of attributes of a state that differ from run to run. Short ones are left out: they may occur anywhere.
fn random_values(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, inner) in fields {
                match inner.as_str() {
                    Some(text) if RANDOM.contains(&key.as_str()) && text.len() >= 5 => {
                        found.insert(text.to_owned());
                    }
                    _ => random_values(inner, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|inner| random_values(inner, found)),
        _ => {}
    }
}

/// Replaces random values wherever they occur in texts, as other objects may be made from them.
fn hide_random_values(value: &mut Value, random: &BTreeSet<String>) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(|inner| hide_random_values(inner, random)),
        Value::Array(items) => items.iter_mut().for_each(|inner| hide_random_values(inner, random)),
        Value::String(text) => {
            // The longest first: one value may be the beginning of another one.
            let mut values: Vec<&String> = random.iter().filter(|value| text.contains(value.as_str())).collect();
            values.sort_by_key(|value| std::cmp::Reverse(value.len()));
            for value in values {
                *text = text.replace(value.as_str(), "RANDOM");
            }
        }
        _ => {}
    }
}

/// The resources of the configuration, without instance keys.
fn declared(step: &Step, folder: &str, path: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for block in step.folders.get(folder).into_iter().flatten() {
        match block.kind.as_str() {
            "resource" => drop(found.insert(format!("{path}{}.{}", block.labels[0], block.labels[1]))),
            "module" => {
                let source = block.arguments.iter().find(|(name, _)| name == "source");
                if let Some((_, Argument::Text(source))) = source {
                    let next = format!("{path}module.{}.", block.labels[0]);
                    found.extend(declared(step, source.trim_start_matches(['.', '/']), &next));
                }
            }
            _ => {}
        }
    }
    found
}

/// Removes dependencies on undeclared objects from a document: the time of their removal does not matter, and OpenTofu
/// makes it depend on the rest of the graph of a run.
fn drop_old_dependencies(value: &mut Value, declared: &BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for name in ["dependencies", "depends_on"] {
                if let Some(items) = fields.get_mut(name).and_then(Value::as_array_mut) {
                    items.retain(|item| {
                        item.as_str().is_none_or(|text| text.starts_with("data.") || declared.contains(text))
                    });
                    if items.is_empty() {
                        fields.remove(name);
                    }
                }
            }
            fields.values_mut().for_each(|inner| drop_old_dependencies(inner, declared));
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| drop_old_dependencies(inner, declared)),
        _ => {}
    }
}

fn record(seen: &mut Map<String, Value>, name: &str, answer: &Answer) {
    let mut events: Vec<String> = answer.lines().iter().filter_map(event).collect();
    events.sort();
    let found = answer.diagnostics();
    let repeated = |at: usize| found[..at].iter().any(|before| found[at].repeats(before));
    let shown = |(at, d): (usize, &Diagnostic)| {
        let again = if repeated(at) { AGAIN } else { "" };
        format!("{again}{}: {}", d.severity, mask(&d.title).replace("Yuba", "OpenTofu"))
    };
    let mut diagnostics: Vec<String> = found.iter().enumerate().map(shown).collect();
    diagnostics.sort();
    let mut entry = json!({"code": answer.code, "diagnostics": diagnostics, "events": events});
    if answer.crashed() {
        entry["crash"] = json!(answer.stderr);
    }
    seen.insert(name.to_owned(), entry);
}

/// A line of `-json` output that reports a planned or completed action.
fn event(line: &Value) -> Option<String> {
    let kind = line["type"].as_str()?;
    let detail = match kind {
        "planned_change" | "resource_drift" => &line["change"],
        "apply_start" | "apply_complete" | "apply_errored" | "provision_start" | "provision_complete"
        | "provision_errored" | "refresh_start" | "refresh_complete" => &line["hook"],
        "change_summary" => &line["changes"],
        "outputs" => &line["outputs"],
        _ => return None,
    };
    let mut detail = normal(detail.clone());
    if let Some(fields) = detail.as_object_mut() {
        for skipped in ["elapsed_seconds", "id_value", "id_key", "output"] {
            fields.remove(skipped);
        }
        if let Some(address) = fields.get("resource").map(|resource| resource["addr"].clone()) {
            fields.insert("resource".to_owned(), address);
        }
    }
    Some(format!("{kind} {detail}"))
}

fn write(folder: &Path, step: &Step) {
    for (name, blocks) in &step.folders {
        let place = if name.is_empty() { folder.to_owned() } else { folder.join(name) };
        let _ = fs::create_dir_all(&place);
        let _ = fs::remove_file(place.join("main.tf"));
        let _ = fs::remove_file(place.join("main.tf.json"));
        let (file, text) = if step.json { ("main.tf.json", json_syntax(blocks)) } else { ("main.tf", native(blocks)) };
        let _ = fs::write(place.join(file), text);
    }
}

/// Attributes with random values, and with hashes of contents that may be random.
const RANDOM: [&str; 13] = [
    "id",
    "hex",
    "dec",
    "b64_std",
    "b64_url",
    "private",
    "content_md5",
    "content_sha1",
    "content_sha256",
    "content_sha512",
    "content_base64sha256",
    "content_base64sha512",
    "content_base64",
];

/// A document without what differs from run to run: ids, times, and orders that mean nothing.
fn normal(value: Value) -> Value {
    match value {
        Value::String(text) => json!(mask(&text)),
        Value::Array(items) => {
            let items: Vec<Value> = items.into_iter().map(normal).collect();
            let keys: Vec<Option<String>> = items.iter().map(identity).collect();
            if !items.is_empty() && keys.iter().all(Option::is_some) {
                let mut map = Map::new();
                for (key, item) in keys.into_iter().zip(items) {
                    let mut key = key.unwrap_or_default();
                    while map.contains_key(&key) {
                        key.push('+');
                    }
                    map.insert(key, item);
                }
                return Value::Object(map);
            }
            Value::Array(items)
        }
        Value::Object(fields) => {
            let mut out = Map::new();
            for (key, value) in fields {
                if ["lineage", "serial", "terraform_version", "timestamp", "version"].contains(&key.as_str())
                    && !value.is_object()
                {
                    continue;
                }
                let mut value = normal(value);
                if key == "sensitive_attributes" && value.is_array() {
                    value = named_paths(&value);
                }
                if ["dependencies", "depends_on", "relevant_attributes", "failure_messages"].contains(&key.as_str())
                    && let Some(items) = value.as_array_mut()
                {
                    items.sort_by_key(Value::to_string);
                }
                if RANDOM.contains(&key.as_str()) && value.is_string() {
                    value = json!("RANDOM");
                }
                if ["deposed", "deposed_key"].contains(&key.as_str()) && value.is_string() {
                    value = json!("DEPOSED");
                }
                out.insert(key, value);
            }
            Value::Object(out)
        }
        other => other,
    }
}

/// Paths of a state by their names, so that they are compared one by one.
fn named_paths(paths: &Value) -> Value {
    let step = |step: &Value| match step["value"].as_str() {
        Some(name) => name.to_owned(),
        None => step["value"]["value"].to_string(),
    };
    let name = |path: &Value| path.as_array().into_iter().flatten().map(step).collect::<Vec<_>>().join("/");
    paths.as_array().into_iter().flatten().map(|path| (name(path), json!(true))).collect::<Map<_, _>>().into()
}

/// Identity of an item of a list whose order means nothing.
fn identity(item: &Value) -> Option<String> {
    let text = |name: &str| item.get(name).map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
    if let Some(address) = text("address").filter(|_| item.is_object()) {
        return Some(format!("#{address}{}", text("deposed").unwrap_or_default()));
    }
    if let Some(address) = text("config_addr").or_else(|| text("object_addr")) {
        return Some(format!("#{address}"));
    }
    if let (Some(mode), Some(kind), Some(name)) = (text("mode"), text("type"), text("name")) {
        return Some(format!("#{}.{mode}.{kind}.{name}", text("module").unwrap_or_default()));
    }
    if item.get("schema_version").is_some() && item.get("attributes").is_some() {
        return Some(format!("#{}{}", text("index_key").unwrap_or_default(), text("deposed").unwrap_or_default()));
    }
    None
}

/// A text with identifiers replaced.
fn mask(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(candidate) = rest.get(..36)
            && is_uuid(candidate)
        {
            out.push_str("UUID");
            rest = &rest[36..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

fn is_uuid(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn random_values_are_hidden_in_derived_values() {
        let state = json!({"attributes": {"id": "QArS_A", "hex": "400ad2fc", "keepers": {"k": "fixed"}}});
        let mut random = std::collections::BTreeSet::new();
        super::random_values(&state, &mut random);
        let mut shown = json!({"outputs": ["{\"id\":\"QArS_A\"}", "fixed"]});
        super::hide_random_values(&mut shown, &random);
        assert_eq!(shown, json!({"outputs": ["{\"id\":\"RANDOM\"}", "fixed"]}));
    }

    #[test]
    fn identifiers_and_orders_are_taken_out() {
        let one = json!({"serial": 1, "list": [{"address": "b", "v": "x 0f8fad5b-d9cb-469f-a165-70867728950e"}, {"address": "a"}]});
        assert_eq!(
            super::normal(one),
            json!({"list": {"#a": {"address": "a"}, "#b": {"address": "b", "v": "x UUID"}}})
        );
    }
}
