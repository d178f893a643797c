//! Plans and states to reports.

mod markdown;
mod properties;
mod states;
mod views;

use expect_test::{Expect, expect};
use yuba_addrs::AbsResourceInstance;
use yuba_eval::graph::{RefGraph, References};
use yuba_eval::{ConfigTree, EvalEnv, MemoryWorld};
use yuba_plan::{Action, ActionReason, Importing, Plan, PlannedWarning, ResourceChange};
use yuba_provider::RecordedSchemas;
use yuba_state::{CheckKind, CheckObject, CheckResult, CheckStatus, DeposedKey};
use yuba_syntax::diagnostic::DeprecatedKind;
use yuba_syntax::{DeprecatedUse, SourceFile, Sources};
use yuba_value::{Mark, Path, Type, Value};

use super::*;
use crate::testing::{addr, builtin, change, object, output, plan, state_of, tree};

pub(super) fn data(id: Value, input: Value) -> Value {
    let output = if id.is_known() { input.clone() } else { Value::unknown_dynamic() };
    object([("id", id), ("input", input), ("output", output), ("triggers_replace", Value::null_dynamic())])
}

pub(super) fn old(input: Value) -> Value {
    data(Value::string("i"), input)
}

pub(super) fn new(input: Value) -> Value {
    data(Value::unknown(Type::string()), input)
}

pub(super) fn null() -> Value {
    Value::null_dynamic()
}

pub(super) fn deprecated_use() -> DeprecatedUse {
    DeprecatedUse {
        source: "module.m.o".into(),
        origin: "".into(),
        kind: DeprecatedKind::Value,
        message: "".into(),
        remote: false,
        fixable_here: true,
    }
}

/// A report without references of the configuration.
pub(super) fn report_of(plan: &Plan) -> Report {
    let (tree, files) = (tree([(".", "")]), Sources::new());
    report_in(plan, &tree, &RefGraph::default(), &files)
}

fn report_in(plan: &Plan, tree: &ConfigTree, graph: &RefGraph<'_>, files: &Sources) -> Report {
    Report::of_plan(&PlanSources { plan, tree, graph, files, schemas: &builtin() })
}

/// The difference in JSON of the only change.
fn check_diff(change: ResourceChange, expect: &Expect) {
    let report = report_of(&plan(vec![change], Vec::new()));
    let mut out = String::new();
    json::node(&mut out, &report.changes[0].diff);
    expect.assert_eq(&out);
}

fn update(before: Value, after: Value) -> ResourceChange {
    change("terraform_data.a", Action::Update, old(before), data(Value::string("i"), after))
}

#[test]
fn a_plan_as_json() {
    let mut replaced =
        change("module.m[0].terraform_data.r[\"k\"]", Action::DeleteThenCreate, old(Value::int(1)), new(Value::int(2)));
    replaced.reason = ActionReason::ReplaceBecauseCannotUpdate;
    replaced.required_replace = vec![Path::new().attr("input")];
    let mut gone = change("terraform_data.g[3]", Action::Delete, old(Value::int(1)), null());
    gone.reason = ActionReason::DeleteBecauseCountIndex;
    gone.deposed = DeposedKey::parse("0000abcd");
    let mut moved = change("terraform_data.m", Action::NoOp, old(Value::int(1)), old(Value::int(1)));
    moved.moved_from = Some(Box::new(addr("terraform_data.before")));
    let mut imported = change("terraform_data.i", Action::Update, old(Value::int(1)), old(Value::int(2)));
    imported.importing = Some(Box::new(Importing { id: Some("i-1".into()), identity: None, unknown: false }));
    let same = change("terraform_data.same", Action::NoOp, old(Value::int(1)), old(Value::int(1)));
    let mut plan = plan(
        vec![replaced, gone, imported, moved, same],
        vec![output("o", Action::Update, Value::int(1), Value::unknown_dynamic())],
    );
    plan.drift = vec![update(Value::int(1), Value::int(3))];
    plan.checks = vec![CheckResult {
        kind: CheckKind::Check,
        config_addr: "check.c".into(),
        status: CheckStatus::Fail,
        objects: vec![CheckObject {
            addr: "check.c".into(),
            status: CheckStatus::Fail,
            failure_messages: vec!["not well".into()],
        }],
    }];
    plan.warnings = vec![PlannedWarning {
        summary: "Deprecated".into(),
        detail: "Use another.".into(),
        address: "".into(),
        file: "main.tf".into(),
        start: 4,
        end: 5,
        deprecated: deprecated_use(),
    }];
    let mut files = Sources::new();
    files.add(SourceFile::new("main.tf", b"a\nb\nc\n".as_slice()));
    let report = report_in(&plan, &tree([(".", "")]), &RefGraph::default(), &files);
    let text = json::report(&report).replace(env!("CARGO_PKG_VERSION"), "VERSION");
    expect![[r#"
        {
          "format": "1.0",
          "subject": "plan",
          "tool": "yuba VERSION",
          "workspace": "default",
          "mode": "normal",
          "timestamp": "2026-01-02T03:04:05Z",
          "errored": false,
          "applyable": true,
          "totals": {
            "add": 1,
            "change": 1,
            "destroy": 2,
            "import": 1,
            "forget": 0
          },
          "counts": {
            "update": 1,
            "replace": 1,
            "destroy": 1,
            "import": 1,
            "move": 1,
            "unchanged": 1
          },
          "modules": [
            {
              "path": "module.m[0]",
              "counts": {
                "replace": 1
              }
            },
            {
              "path": "",
              "counts": {
                "update": 1,
                "destroy": 1,
                "import": 1,
                "move": 1,
                "unchanged": 1
              }
            }
          ],
          "types": [
            {
              "type": "terraform_data",
              "mode": "managed",
              "counts": {
                "update": 1,
                "replace": 1,
                "destroy": 1,
                "import": 1,
                "move": 1,
                "unchanged": 1
              }
            }
          ],
          "changes": [
            {
              "address": "module.m[0].terraform_data.r[\"k\"]",
              "module": "module.m[0]",
              "mode": "managed",
              "type": "terraform_data",
              "name": "r",
              "key": "k",
              "provider": "terraform.io/builtin/terraform",
              "action": "replace",
              "order": "destroy-first",
              "reason": {
                "code": "replace_because_cannot_update",
                "text": "the provider cannot update input"
              },
              "forces": [
                "input"
              ],
              "risk": "high",
              "diff": {
                "a": "~",
                "k": "block",
                "c": [
                  {
                    "n": "id",
                    "a": "~",
                    "b": "\"i\"",
                    "t": "(known after apply)",
                    "u": true,
                    "p": true
                  },
                  {
                    "n": "input",
                    "a": "~",
                    "b": "1",
                    "t": "2",
                    "f": true
                  },
                  {
                    "n": "output",
                    "a": "~",
                    "b": "1",
                    "t": "(known after apply)",
                    "u": true,
                    "p": true
                  }
                ]
              }
            },
            {
              "address": "terraform_data.g[3]",
              "deposed": "0000abcd",
              "mode": "managed",
              "type": "terraform_data",
              "name": "g",
              "key": 3,
              "provider": "terraform.io/builtin/terraform",
              "action": "destroy",
              "reason": {
                "code": "delete_because_count_index",
                "text": "because index [3] is out of range for count"
              },
              "risk": "high",
              "diff": {
                "a": "-",
                "k": "block",
                "c": [
                  {
                    "n": "id",
                    "a": "-",
                    "b": "\"i\"",
                    "p": true
                  },
                  {
                    "n": "input",
                    "a": "-",
                    "b": "1"
                  },
                  {
                    "n": "output",
                    "a": "-",
                    "b": "1",
                    "p": true
                  }
                ]
              }
            },
            {
              "address": "terraform_data.i",
              "mode": "managed",
              "type": "terraform_data",
              "name": "i",
              "provider": "terraform.io/builtin/terraform",
              "action": "update",
              "import": "i-1",
              "risk": "medium",
              "diff": {
                "a": "~",
                "k": "block",
                "c": [
                  {
                    "n": "id",
                    "t": "\"i\"",
                    "p": true
                  },
                  {
                    "n": "input",
                    "a": "~",
                    "b": "1",
                    "t": "2"
                  },
                  {
                    "n": "output",
                    "a": "~",
                    "b": "1",
                    "t": "2",
                    "p": true
                  }
                ]
              }
            },
            {
              "address": "terraform_data.m",
              "mode": "managed",
              "type": "terraform_data",
              "name": "m",
              "provider": "terraform.io/builtin/terraform",
              "action": "no-op",
              "moved_from": "terraform_data.before",
              "risk": "low",
              "diff": {
                "k": "block",
                "c": [
                  {
                    "n": "id",
                    "t": "\"i\"",
                    "p": true
                  }
                ],
                "h": 2
              }
            }
          ],
          "drift": [
            {
              "address": "terraform_data.a",
              "mode": "managed",
              "type": "terraform_data",
              "name": "a",
              "provider": "terraform.io/builtin/terraform",
              "action": "update",
              "risk": "medium",
              "diff": {
                "a": "~",
                "k": "block",
                "c": [
                  {
                    "n": "id",
                    "t": "\"i\"",
                    "p": true
                  },
                  {
                    "n": "input",
                    "a": "~",
                    "b": "1",
                    "t": "3"
                  },
                  {
                    "n": "output",
                    "a": "~",
                    "b": "1",
                    "t": "3",
                    "p": true
                  }
                ]
              }
            }
          ],
          "outputs": [
            {
              "name": "o",
              "action": "update",
              "diff": {
                "a": "~",
                "b": "1",
                "t": "(known after apply)",
                "u": true
              }
            }
          ],
          "checks": [
            {
              "address": "check.c",
              "status": "fail",
              "messages": [
                "not well"
              ]
            }
          ],
          "warnings": [
            {
              "summary": "Deprecated",
              "detail": "Use another.",
              "file": "main.tf",
              "line": 3,
              "deprecated": "module.m.o"
            }
          ],
          "graph": {
            "nodes": [
              {
                "id": "module.m.terraform_data.r",
                "label": "terraform_data.r",
                "module": "module.m",
                "changes": [
                  0
                ],
                "action": "replace"
              },
              {
                "id": "terraform_data.g",
                "label": "terraform_data.g",
                "changes": [
                  1
                ],
                "action": "destroy"
              },
              {
                "id": "terraform_data.i",
                "label": "terraform_data.i",
                "changes": [
                  2
                ],
                "action": "update"
              },
              {
                "id": "terraform_data.m",
                "label": "terraform_data.m",
                "changes": [
                  3
                ],
                "action": "no-op"
              }
            ]
          }
        }"#]]
    .assert_eq(&crate::json::indent(&text));
}

#[test]
fn differences() {
    let string = |text: &str| Value::string(text);
    let secret = |text: &str| Value::string(text).mark(Mark::Sensitive);
    // Strings of several lines, of which only the surroundings of a change are shown.
    let lines = |last: &str| string(&((1..=9).map(|n| format!("line {n}\n")).collect::<String>() + last));
    check_diff(
        update(lines("x"), lines("y")),
        &expect![[
            r#"{"a":"~","k":"block","c":[{"n":"id","t":"\"i\"","p":true},{"n":"input","a":"~","k":"text","c":[{"h":6},{"t":"line 7"},{"t":"line 8"},{"t":"line 9"},{"a":"-","b":"x"},{"a":"+","t":"y"}]},{"n":"output","a":"~","k":"text","p":true,"c":[{"h":6},{"t":"line 7"},{"t":"line 8"},{"t":"line 9"},{"a":"-","b":"x"},{"a":"+","t":"y"}]}]}"#
        ]],
    );
    // JSON, and its formatting.
    check_diff(
        update(string(r#"{"a":1,"b":2}"#), string(r#"{"a":1,"b":3}"#)),
        &expect![[
            r#"{"a":"~","k":"block","c":[{"n":"id","t":"\"i\"","p":true},{"n":"input","a":"~","k":"object","j":true,"c":[{"n":"b","a":"~","b":"2","t":"3"}],"h":1},{"n":"output","a":"~","k":"object","j":true,"p":true,"c":[{"n":"b","a":"~","b":"2","t":"3"}],"h":1}]}"#
        ]],
    );
    check_diff(
        update(string("[1]"), string("[ 1 ]")),
        &expect![[
            r#"{"a":"~","k":"block","c":[{"n":"id","t":"\"i\"","p":true},{"n":"input","a":"~","k":"list","j":true,"w":"only whitespace changes","h":1},{"n":"output","a":"~","k":"list","j":true,"p":true,"w":"only whitespace changes","h":1}]}"#
        ]],
    );
    // Lists, and a value that changes its type.
    let list = |items: &[&str]| Value::tuple(items.iter().map(|item| Value::string(*item)).collect());
    check_diff(
        update(list(&["a", "b"]), list(&["b", "c"])),
        &expect![[
            r#"{"a":"~","k":"block","c":[{"n":"id","t":"\"i\"","p":true},{"n":"input","a":"~","k":"list","c":[{"n":0,"a":"-","b":"\"a\""},{"n":1,"a":"+","t":"\"c\""}],"h":1},{"n":"output","a":"~","k":"list","p":true,"c":[{"n":0,"a":"-","b":"\"a\""},{"n":1,"a":"+","t":"\"c\""}],"h":1}]}"#
        ]],
    );
    check_diff(
        update(Value::int(1), list(&["b"])),
        &expect![[
            r#"{"a":"~","k":"block","c":[{"n":"id","t":"\"i\"","p":true},{"n":"input","a":"~","c":[{"a":"-","b":"1"},{"a":"+","k":"list","c":[{"n":0,"a":"+","t":"\"b\""}]}]},{"n":"output","a":"~","p":true,"c":[{"a":"-","b":"1"},{"a":"+","k":"list","c":[{"n":0,"a":"+","t":"\"b\""}]}]}]}"#
        ]],
    );
    // Sensitive before, after, inside.
    check_diff(
        update(secret("one"), string("two")),
        &expect![[
            r#"{"a":"~","k":"block","c":[{"n":"id","t":"\"i\"","p":true},{"n":"input","a":"~","b":"(sensitive value)","t":"(sensitive value)","s":true,"w":"will no longer be marked as sensitive"},{"n":"output","a":"~","b":"(sensitive value)","t":"(sensitive value)","s":true,"p":true,"w":"will no longer be marked as sensitive"}]}"#
        ]],
    );
    let inside = |inner: Value| object([("plain", Value::int(1)), ("secret", inner)]);
    check_diff(
        update(inside(secret("one")), inside(secret("two"))),
        &expect![[
            r#"{"a":"~","k":"block","c":[{"n":"id","t":"\"i\"","p":true},{"n":"input","a":"~","k":"object","c":[{"n":"secret","a":"~","b":"(sensitive value)","t":"(sensitive value)","s":true}],"h":1},{"n":"output","a":"~","k":"object","p":true,"c":[{"n":"secret","a":"~","b":"(sensitive value)","t":"(sensitive value)","s":true}],"h":1}]}"#
        ]],
    );
    // Unknown, after something with parts.
    check_diff(
        update(list(&["a"]), Value::unknown_dynamic()),
        &expect![[
            r#"{"a":"~","k":"block","c":[{"n":"id","t":"\"i\"","p":true},{"n":"input","a":"~","k":"list","t":"(known after apply)","u":true,"c":[{"n":0,"a":"-","b":"\"a\""}]},{"n":"output","a":"~","k":"list","t":"(known after apply)","u":true,"p":true,"c":[{"n":0,"a":"-","b":"\"a\""}]}]}"#
        ]],
    );
}

#[test]
fn paths_that_force_a_replacement_end_before_sensitive_parts() {
    let map = |text: &str| Value::map(Type::string(), vec![(text.into(), Value::string(text))]).mark(Mark::Sensitive);
    let inside = |text: &str| object([("open", Value::string(text)), ("shut", map(text))]);
    let mut one = change("terraform_data.a", Action::CreateThenDelete, old(inside("key-one")), new(inside("key-two")));
    let shut = Path::new().attr("input").attr("shut").index(Value::string("key-one"));
    one.required_replace =
        vec![shut, Path::new().attr("input").attr("open"), Path::new().attr("input").index(Value::int(0))];
    let report = report_of(&plan(vec![one], Vec::new()));
    assert_eq!(report.changes[0].forces, ["input.shut", "input.open", "input[0]"]);
}

#[test]
fn equal_differences_are_a_group() {
    let at = |n: i64| format!("terraform_data.a[{n}]");
    let mut changes = Vec::new();
    for n in 0..3 {
        let id = Value::string(format!("id-{n}"));
        changes.push(change(&at(n), Action::Update, data(id.clone(), Value::int(1)), data(id, Value::int(2))));
    }
    changes.push(change(&at(3), Action::Update, old(Value::int(1)), data(Value::string("i"), Value::int(7))));
    // Objects that are destroyed have different ids, which the provider has chosen.
    for n in 4..6 {
        changes.push(change(&at(n), Action::Delete, data(Value::string(format!("id-{n}")), Value::int(1)), null()));
    }
    let report = report_of(&plan(changes, Vec::new()));
    let members: Vec<&[u32]> = report.groups.iter().map(|group| group.members.as_slice()).collect();
    assert_eq!(members, [[0, 1, 2].as_slice(), &[4, 5]]);
    assert_eq!(
        report.changes.iter().map(|change| change.group).collect::<Vec<_>>(),
        [Some(0), Some(0), Some(0), None, Some(1), Some(1)]
    );
    assert!(
        report
            .groups
            .iter()
            .all(|group| !json::report(&report).is_empty() && !format!("{:?}", group.diff).contains("id-"))
    );
}

/// The addresses of the direct dependents of each change.
fn dependents(report: &Report) -> Vec<(String, Vec<String>)> {
    let name = |at: u32| report.changes[at as usize].address.text.to_string();
    let of = |change: &ReportChange| {
        let dependents: Vec<String> = change.dependents.changes.iter().map(|at| name(*at)).collect();
        (change.address.text.to_string(), dependents)
    };
    report.changes.iter().map(of).filter(|(_, dependents)| !dependents.is_empty()).collect()
}

#[test]
fn dependents_follow_values_and_stay_in_their_module_instance() {
    let root = r#"
locals {
  name = terraform_data.base.id
}
resource "terraform_data" "base" {}
resource "terraform_data" "user" {
  count = 2
  input = local.name
}
module "m" {
  source   = "./m"
  for_each = toset(["a", "b"])
  name     = terraform_data.user[0].id
}
resource "terraform_data" "last" {
  input = module.m["a"].out
}
"#;
    let module = r#"
variable "name" {}
resource "terraform_data" "x" {
  input = var.name
}
resource "terraform_data" "y" {
  input = terraform_data.x.id
}
output "out" {
  value = terraform_data.y.id
}
"#;
    let tree = tree([(".", root), ("m", module)]);
    let (world, schemas, files) = (MemoryWorld::new(), builtin(), Sources::new());
    let env = EvalEnv { world: &world, workspace: "default", original_dir: None, providers: &schemas, sources: None };
    let references = References::read(&tree, env);
    let names = [
        "terraform_data.base",
        "terraform_data.last",
        "terraform_data.user[0]",
        "terraform_data.user[1]",
        "module.m[\"a\"].terraform_data.x",
        "module.m[\"a\"].terraform_data.y",
        "module.m[\"b\"].terraform_data.x",
        "module.m[\"b\"].terraform_data.y",
    ];
    let changes = names.map(|name| change(name, Action::Create, null(), new(Value::int(1))));
    let plan = plan(changes.to_vec(), Vec::new());
    let report = report_in(&plan, &tree, &references.graph, &files);
    let expect = expect![[r#"
        [
            (
                "terraform_data.base",
                [
                    "terraform_data.user[0]",
                    "terraform_data.user[1]",
                ],
            ),
            (
                "terraform_data.user[0]",
                [
                    "module.m[\"a\"].terraform_data.x",
                    "module.m[\"b\"].terraform_data.x",
                ],
            ),
            (
                "terraform_data.user[1]",
                [
                    "module.m[\"a\"].terraform_data.x",
                    "module.m[\"b\"].terraform_data.x",
                ],
            ),
            (
                "module.m[\"a\"].terraform_data.x",
                [
                    "module.m[\"a\"].terraform_data.y",
                ],
            ),
            (
                "module.m[\"a\"].terraform_data.y",
                [
                    "terraform_data.last",
                ],
            ),
            (
                "module.m[\"b\"].terraform_data.x",
                [
                    "module.m[\"b\"].terraform_data.y",
                ],
            ),
            (
                "module.m[\"b\"].terraform_data.y",
                [
                    "terraform_data.last",
                ],
            ),
        ]"#]];
    expect.assert_eq(&format!("{:#?}", dependents(&report)));
    let edges: Vec<String> = (report.graph.edges.iter())
        .map(|(from, to)| {
            format!("{} -> {}", report.graph.nodes[*from as usize].id, report.graph.nodes[*to as usize].id)
        })
        .collect();
    let expect = expect![[r#"
        terraform_data.last -> module.m.terraform_data.y
        terraform_data.user -> terraform_data.base
        module.m.terraform_data.x -> terraform_data.user
        module.m.terraform_data.y -> module.m.terraform_data.x"#]];
    expect.assert_eq(&edges.join("\n"));
}

/// With a link for each pair this would need 100 million of them.
#[test]
fn many_dependents_are_counted() {
    let tree = tree([(
        ".",
        "resource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" {\n  input = terraform_data.a[*].id\n}\n",
    )]);
    let (world, schemas, files) = (MemoryWorld::new(), builtin(), Sources::new());
    let env = EvalEnv { world: &world, workspace: "default", original_dir: None, providers: &schemas, sources: None };
    let references = References::read(&tree, env);
    let of = |name: &str, n: u32| -> ResourceChange {
        let instance: AbsResourceInstance = addr(&format!("terraform_data.{name}[{n}]"));
        ResourceChange { addr: instance, ..change("terraform_data.x", Action::Create, null(), new(Value::int(1))) }
    };
    let changes = (0..10_000).map(|n| of("a", n)).chain((0..10_000).map(|n| of("b", n))).collect();
    let report = report_in(&plan(changes, Vec::new()), &tree, &references.graph, &files);
    assert_eq!(report.changes[9_999].dependents.total, 10_000);
    assert_eq!(report.changes[9_999].dependents.changes.len(), MAX_LINKS);
    assert_eq!(report.changes[10_000].depends.total, 10_000);
    assert_eq!(report.groups.len(), 1);
}
