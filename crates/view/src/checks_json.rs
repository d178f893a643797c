//! Results of checks in JSON documents.

use yuba_addrs::{AbsResourceInstance, ConfigResource};
use yuba_state::{CheckKind, CheckObject, CheckResult};
use yuba_syntax::FileId;

use crate::json_writer::{Members, key, list};

/// All results, in order of addresses.
pub(crate) fn write(out: &mut String, results: &[CheckResult]) {
    let mut results: Vec<&CheckResult> = results.iter().collect();
    results.sort_by(|a, b| a.config_addr.cmp(&b.config_addr));
    list(out, results, |out, result| {
        let mut members = Members::open(out);
        block(members.key("address"), result);
        members.text("status", result.status.as_str());
        let mut objects: Vec<&CheckObject> = result.objects.iter().collect();
        objects.sort_by(|a, b| a.addr.cmp(&b.addr));
        members.list_if_any("instances", objects, |out, object| self::object(out, result.kind, object));
        members.close();
        true
    });
}

fn block(out: &mut String, result: &CheckResult) {
    let mut members = Members::open(out);
    let addr = result.config_addr.as_str();
    let kind = match result.kind {
        CheckKind::Resource => "resource",
        CheckKind::Output => "output_value",
        CheckKind::Check => "check",
        CheckKind::Variable => "var",
    };
    members.text("kind", kind);
    match ConfigResource::parse_text(FileId(0), addr) {
        Ok(ConfigResource { module, resource }) if result.kind == CheckKind::Resource => {
            members.text("mode", resource.mode.as_str());
            members.text_if_any("module", &module.to_string());
            members.text("name", &resource.name);
            members.text("to_display", addr);
            members.text("type", &resource.kind);
        }
        _ => {
            let (module, name) = named(addr);
            members.text_if_any("module", module);
            members.text("name", name);
            members.text("to_display", addr);
        }
    }
    members.close();
}

fn object(out: &mut String, kind: CheckKind, object: &CheckObject) {
    let mut members = Members::open(out);
    let mut addr = Members::open(members.key("address"));
    match AbsResourceInstance::parse_text(FileId(0), &object.addr) {
        Ok(instance) if kind == CheckKind::Resource => {
            if let Some(instance_key) = &instance.key {
                key(addr.key("instance_key"), instance_key);
            }
            addr.text_if_any("module", &instance.module.to_string());
        }
        _ => addr.text_if_any("module", named(&object.addr).0),
    }
    addr.text("to_display", &object.addr);
    addr.close();
    members.text("status", object.status.as_str());
    let mut messages: Vec<&str> = object.failure_messages.iter().map(|message| message.as_str()).collect();
    messages.sort_unstable();
    members.list_if_any("problems", messages, |out, message| {
        let mut problem = Members::open(out);
        problem.text("message", message);
        problem.close();
    });
    members.close();
}

/// Module and name of what is not a resource: `module.a["k"].output.name`.
fn named(addr: &str) -> (&str, &str) {
    let (before, name) = addr.rsplit_once('.').unwrap_or(("", addr));
    (before.rsplit_once('.').map_or("", |(module, _)| module), name)
}

#[cfg(test)]
mod tests {
    use yuba_state::CheckStatus;

    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let result = |kind, addr: &str, objects: &[(&str, &[&str])]| CheckResult {
            kind,
            config_addr: addr.into(),
            status: CheckStatus::Pass,
            objects: objects
                .iter()
                .map(|(addr, messages)| CheckObject {
                    addr: (*addr).into(),
                    status: CheckStatus::Fail,
                    failure_messages: messages.iter().map(|message| (*message).into()).collect(),
                })
                .collect(),
        };
        let results = [
            result(
                CheckKind::Resource,
                "module.a.data.t.b",
                &[("module.a[\"k.x\"].data.t.b[1]", &["z", "a"]), ("module.a[\"k.x\"].data.t.b[0]", &[])],
            ),
            result(CheckKind::Variable, "module.a.var.x", &[("module.a[\"k.x\"].var.x", &[])]),
            result(CheckKind::Output, "output.o", &[("output.o", &[])]),
            result(CheckKind::Check, "check.c", &[]),
        ];
        let mut out = String::new();
        write(&mut out, &results);
        let expect = [
            r#"[{"address":{"kind":"check","name":"c","to_display":"check.c"},"status":"pass"},"#,
            r#"{"address":{"kind":"resource","mode":"data","module":"module.a","name":"b","#,
            r#""to_display":"module.a.data.t.b","type":"t"},"status":"pass","instances":["#,
            r#"{"address":{"instance_key":0,"module":"module.a[\"k.x\"]","#,
            r#""to_display":"module.a[\"k.x\"].data.t.b[0]"},"status":"fail"},"#,
            r#"{"address":{"instance_key":1,"module":"module.a[\"k.x\"]","#,
            r#""to_display":"module.a[\"k.x\"].data.t.b[1]"},"status":"fail","#,
            r#""problems":[{"message":"a"},{"message":"z"}]}]},"#,
            r#"{"address":{"kind":"var","module":"module.a","name":"x","to_display":"module.a.var.x"},"#,
            r#""status":"pass","instances":[{"address":{"module":"module.a[\"k.x\"]","#,
            r#""to_display":"module.a[\"k.x\"].var.x"},"status":"fail"}]},"#,
            r#"{"address":{"kind":"output_value","name":"o","to_display":"output.o"},"status":"pass","#,
            r#""instances":[{"address":{"to_display":"output.o"},"status":"fail"}]}]"#,
        ];
        assert_eq!(out, expect.concat());
    }
}
