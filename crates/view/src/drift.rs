//! Drift: as text for people with equal differences grouped, and as one JSON object.

use std::fmt::Write as _;

use yuba_addrs::ResourceMode;
use yuba_plan::drift::{ChangedAttribute, ChangedObject, Drift, DriftedObject};
use yuba_value::Value;

use crate::json_writer::{Members, key, list, text};
use crate::paint::{Paint, RED, Style, YELLOW};
use crate::table::{SENSITIVE, shown as write};

/// The version of the format of the JSON object.
pub const FORMAT_VERSION: &str = "1.0";

/// Longest value that the text shows in full.
const LONGEST: usize = 100;

/// The differences as text. Objects with equal differences are listed together.
pub fn render(drift: &Drift, style: Style) -> String {
    let paint = Paint::new(style);
    let mut out = String::new();
    if !drift.changed.is_empty() {
        let _ = writeln!(out, "{}\n", paint.bold("Changed outside of Yuba:"));
        for (lines, objects) in groups(&drift.changed) {
            for object in objects {
                let _ = writeln!(out, "  {} {}", paint.with(YELLOW, "~"), address(object));
            }
            let _ = writeln!(out, "{lines}");
        }
    }
    if !drift.deleted.is_empty() {
        let _ = writeln!(out, "{}\n", paint.bold("Deleted outside of Yuba:"));
        for object in &drift.deleted {
            let _ = writeln!(out, "  {} {}", paint.with(RED, "-"), address(object));
        }
        out.push('\n');
    }
    let ignored = match (drift.ignored.objects, drift.ignored.attributes) {
        (0, 0) => String::new(),
        (objects, attributes) => {
            format!(" Ignored by rules: {}, {}.", counted(objects, "object"), counted(attributes, "attribute"))
        }
    };
    let summary = match drift.is_any() {
        true => {
            let (changed, deleted) = (drift.changed.len(), drift.deleted.len());
            format!("Drift: {changed} changed, {deleted} deleted.")
        }
        false => "No drift. The real objects match the state.".to_owned(),
    };
    let _ = writeln!(out, "{}{ignored}", paint.bold(&summary));
    for rule in &drift.unmatched {
        let _ = writeln!(out, "The rule {rule:?} matches no object and no difference.");
    }
    out
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn address(object: &DriftedObject) -> String {
    match &object.deposed {
        Some(key) => format!("{} (deposed object {key})", object.addr),
        None => object.addr.to_string(),
    }
}

/// Objects by the text of their differences, in the order of the first object of each group.
fn groups(changed: &[ChangedObject]) -> Vec<(String, Vec<&DriftedObject>)> {
    let mut groups: Vec<(String, Vec<&DriftedObject>)> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for one in changed {
        let lines: String = one.attributes.iter().map(line).collect();
        match known.get(&lines) {
            Some(group) => {
                let group: &mut (String, Vec<&DriftedObject>) = &mut groups[*group];
                group.1.push(&one.object);
            }
            None => {
                known.insert(lines.clone(), groups.len());
                groups.push((lines, vec![&one.object]));
            }
        }
    }
    groups
}

fn line(attribute: &ChangedAttribute) -> String {
    let shown = |value: Option<&Value>| value.map_or_else(|| "(not set)".to_owned(), short);
    let (before, after) = (shown(attribute.before.as_ref()), shown(attribute.after.as_ref()));
    format!("      {}: {before} -> {after}\n", attribute.path)
}

/// A value as JSON on one line, cut where it is long.
fn short(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value);
    // A sensitive value is shown without quotes.
    let out = if value.marks().has_sensitive() { SENSITIVE.to_owned() } else { out };
    match out.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}...", &out[..at]),
        None => out,
    }
}

/// The differences as one JSON object, with its line end.
pub fn json(drift: &Drift) -> String {
    let mut out = String::new();
    let mut members = Members::open(&mut out);
    members.text("format_version", FORMAT_VERSION);
    members.bool("drift", drift.is_any());
    list(members.key("changed"), &drift.changed, |out, changed| {
        let mut members = object(out, &changed.object);
        list(members.key("attributes"), &changed.attributes, self::attribute);
        members.close();
        true
    });
    list(members.key("deleted"), &drift.deleted, |out, deleted| {
        object(out, deleted).close();
        true
    });
    let mut ignored = Members::open(members.key("ignored"));
    ignored.int("objects", drift.ignored.objects as u64);
    ignored.int("attributes", drift.ignored.attributes as u64);
    ignored.close();
    members.list_if_any("unmatched_rules", &drift.unmatched, |out, rule| text(out, rule));
    members.close();
    out.push('\n');
    out
}

fn attribute(out: &mut String, attribute: &ChangedAttribute) -> bool {
    let mut members = Members::open(out);
    members.text("path", &attribute.path);
    for (name, value) in [("before", &attribute.before), ("after", &attribute.after)] {
        if let Some(value) = value {
            write(members.key(name), value);
        }
    }
    members.close();
    true
}

/// Begins an object with the names of a drifted object.
fn object<'o>(out: &'o mut String, drifted: &DriftedObject) -> Members<'o> {
    let resource = &drifted.addr.resource;
    let mut members = Members::open(out);
    members.text("address", &drifted.addr.to_string());
    if !drifted.addr.module.is_root() {
        members.text("module_address", &drifted.addr.module.to_string());
    }
    members.text("mode", if resource.mode == ResourceMode::Managed { "managed" } else { "data" });
    members.text("type", &resource.kind);
    members.text("name", &resource.name);
    if let Some(index) = &drifted.addr.key {
        key(members.key("index"), index);
    }
    members.text("provider_name", &drifted.provider.provider.to_string());
    if let Some(key) = &drifted.deposed {
        members.text("deposed", key.as_str());
    }
    members
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use yuba_addrs::{AbsProviderConfig, AbsResourceInstance, ModulePath};
    use yuba_plan::drift::Ignored;
    use yuba_syntax::{SourceFile, Sources};
    use yuba_value::Mark;

    use super::*;

    fn drifted(address: &str) -> DriftedObject {
        let file = Sources::new().add(SourceFile::new("", address.as_bytes()));
        let addr = AbsResourceInstance::parse_text(file, address).expect("the address is valid");
        let provider = yuba_addrs::ProviderSource::parse("hashicorp/aws").expect("the address is valid");
        DriftedObject {
            addr,
            deposed: None,
            provider: AbsProviderConfig { module: ModulePath::ROOT, provider, alias: None },
        }
    }

    fn changed(address: &str, before: Value, after: Option<Value>) -> ChangedObject {
        let attributes = vec![ChangedAttribute { path: "tags.env".into(), before: Some(before), after }];
        ChangedObject { object: drifted(address), attributes }
    }

    fn example() -> Drift {
        let secret = |text: &str| Value::string(text).mark(Mark::Sensitive);
        Drift {
            changed: vec![
                changed("aws_x.a[0]", Value::string("prod"), Some(Value::string("dev"))),
                changed("aws_x.a[1]", Value::string("prod"), Some(Value::string("dev"))),
                changed("module.m.aws_x.b[\"k\"]", Value::string("x".repeat(200)), None),
                changed("aws_x.c", secret("hunter1"), Some(secret("hunter2"))),
            ],
            deleted: vec![drifted("aws_x.d")],
            ignored: Ignored { objects: 1, attributes: 2 },
            unmatched: vec!["aws_y:tags".into()],
        }
    }

    #[test]
    fn equal_differences_are_listed_once() {
        expect![[r#"
            Changed outside of Yuba:

              ~ aws_x.a[0]
              ~ aws_x.a[1]
                  tags.env: "prod" -> "dev"

              ~ module.m.aws_x.b["k"]
                  tags.env: "xx... -> (not set)

              ~ aws_x.c
                  tags.env: (sensitive value) -> (sensitive value)

            Deleted outside of Yuba:

              - aws_x.d

            Drift: 4 changed, 1 deleted. Ignored by rules: 1 object, 2 attributes.
            The rule "aws_y:tags" matches no object and no difference.
        "#]]
        .assert_eq(&render(&example(), Style::Plain).replace(&"x".repeat(99), "xx"));
        assert_eq!(render(&Drift::default(), Style::Plain), "No drift. The real objects match the state.\n");
    }

    #[test]
    fn programs_get_whole_values_without_secrets() {
        let json = json(&Drift { changed: example().changed.split_off(2), ..example() });
        expect![[r#"
            {"format_version":"1.0","drift":true,"changed":[{"address":"module.m.aws_x.b[\"k\"]","module_address":"module.m","mode":"managed","type":"aws_x","name":"b","index":"k","provider_name":"registry.opentofu.org/hashicorp/aws","attributes":[{"path":"tags.env","before":"xx"}]},{"address":"aws_x.c","mode":"managed","type":"aws_x","name":"c","provider_name":"registry.opentofu.org/hashicorp/aws","attributes":[{"path":"tags.env","before":"(sensitive value)","after":"(sensitive value)"}]}],"deleted":[{"address":"aws_x.d","mode":"managed","type":"aws_x","name":"d","provider_name":"registry.opentofu.org/hashicorp/aws"}],"ignored":{"objects":1,"attributes":2},"unmatched_rules":["aws_y:tags"]}
        "#]]
        .assert_eq(&json.replace(&"x".repeat(200), "xx"));
    }
}
