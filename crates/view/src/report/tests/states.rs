//! States to reports.

use super::*;
use crate::testing::linked;

#[test]
fn a_state_as_json() {
    let secret = Value::string("hidden-value").mark(Mark::Sensitive);
    let state = state_of(&[
        ("module.c.terraform_data.b[\"x\"]", Value::int(2)),
        ("terraform_data.a", Value::tuple(vec![secret, Value::string("a\nb")])),
    ]);
    let report = Report::of_state(&state, "default", &builtin(), None);
    let text = json::report(&report).replace(env!("CARGO_PKG_VERSION"), "VERSION");
    expect![[r#"
        {
          "format": "1.0",
          "subject": "state",
          "tool": "yuba VERSION",
          "workspace": "default",
          "counts": {
            "unchanged": 2
          },
          "modules": [
            {
              "path": "",
              "counts": {
                "unchanged": 1
              }
            },
            {
              "path": "module.c",
              "counts": {
                "unchanged": 1
              }
            }
          ],
          "types": [
            {
              "type": "terraform_data",
              "mode": "managed",
              "counts": {
                "unchanged": 2
              }
            }
          ],
          "outputs": [
            {
              "name": "o",
              "action": "no-op",
              "sensitive": true,
              "diff": {
                "t": "(sensitive value)",
                "s": true
              }
            }
          ],
          "graph": {
            "nodes": [
              {
                "id": "terraform_data.a",
                "label": "terraform_data.a"
              },
              {
                "id": "module.c.terraform_data.b",
                "label": "terraform_data.b",
                "module": "module.c"
              }
            ]
          },
          "resources": [
            {
              "address": "terraform_data.a",
              "mode": "managed",
              "type": "terraform_data",
              "name": "a",
              "provider": "terraform.io/builtin/terraform",
              "values": {
                "k": "block",
                "c": [
                  {
                    "n": "id",
                    "t": "\"i\"",
                    "p": true
                  },
                  {
                    "n": "input",
                    "k": "list",
                    "c": [
                      {
                        "n": 0,
                        "t": "(sensitive value)",
                        "s": true
                      },
                      {
                        "n": 1,
                        "k": "text",
                        "c": [
                          {
                            "t": "a"
                          },
                          {
                            "t": "b"
                          }
                        ]
                      }
                    ]
                  }
                ]
              }
            },
            {
              "address": "module.c.terraform_data.b[\"x\"]",
              "module": "module.c",
              "mode": "managed",
              "type": "terraform_data",
              "name": "b",
              "key": "x",
              "provider": "terraform.io/builtin/terraform",
              "values": {
                "k": "block",
                "c": [
                  {
                    "n": "id",
                    "t": "\"i\"",
                    "p": true
                  },
                  {
                    "n": "input",
                    "t": "2"
                  }
                ]
              }
            }
          ]
        }"#]]
    .assert_eq(&crate::json::indent(&text));
    let report = Report::of_state(&state, "default", &RecordedSchemas::default(), None);
    assert!(report.resources.iter().all(|one| one.problem.is_some() && one.values == DiffNode::default()));
}

#[test]
fn a_state_has_what_only_its_configuration_knows() {
    let root = r#"
variable "on" { default = false }
locals { off = !true }
resource "terraform_data" "a" {
  lifecycle { enabled = var.on }
}
resource "terraform_data" "b" {
  lifecycle { enabled = !var.on }
}
resource "terraform_data" "later" {
  lifecycle { enabled = terraform_data.b.id == "x" }
}
module "m" {
  source = "./m"
  lifecycle { enabled = local.off }
}
"#;
    let module = "resource \"terraform_data\" \"in\" {\n  lifecycle { enabled = false }\n}\n";
    let (tree, files, _) = linked([(".", root), ("m", module)], "");
    let (world, schemas) = (MemoryWorld::new(), builtin());
    let env =
        EvalEnv { world: &world, workspace: "default", original_dir: None, providers: &schemas, sources: Some(&files) };
    let variables = [("on".into(), Value::bool(false))].into_iter().collect();
    let evaluation = yuba_eval::Evaluation::new(&tree, env, yuba_eval::EvalMode::Values(&variables));
    let (file, _) = files.iter().find(|(_, file)| &*file.name == "main.tf").expect("because it was read");
    let at = yuba_syntax::Span { file, start: 40, end: 41 };
    let used = yuba_syntax::diagnostic::Extra { deprecation: Some(deprecated_use()), ..Default::default() };
    let mut old = crate::testing::diagnostic(yuba_syntax::Severity::Warning, "Old", "Use another.").at(at);
    old.extra = Some(Box::new(used));
    let other = crate::testing::diagnostic(yuba_syntax::Severity::Warning, "Other", "Not about that.");
    let mut diagnostics = yuba_syntax::Diagnostics::new();
    diagnostics.extend([old, other]);
    let configuration =
        StateConfiguration { tree: &tree, files: &files, evaluation: &evaluation, diagnostics: &diagnostics };
    let state = state_of(&[("terraform_data.b", Value::int(2))]);
    let report = Report::of_state(&state, "default", &schemas, Some(&configuration));
    let disabled: Vec<String> = report
        .disabled
        .iter()
        .map(|one| {
            format!("{} {}:{}", one.address, one.file.as_deref().unwrap_or_default(), one.line.unwrap_or_default())
        })
        .collect();
    assert_eq!(disabled, ["terraform_data.a main.tf:5", "module.m main.tf:15"]);
    let [warning] = report.warnings.as_slice() else {
        panic!("one is about a deprecated object: {:?}", report.warnings)
    };
    assert_eq!(
        (warning.summary.as_str(), warning.line, warning.deprecated.as_deref()),
        ("Old", Some(3), Some("module.m.o"))
    );
    let text = json::report(&report);
    assert!(text.contains(r#""disabled":[{"address":"terraform_data.a","file":"main.tf","line":5}"#), "{text}");
    assert!(text.contains(r#""line":3,"deprecated":"module.m.o"}"#), "{text}");
}
