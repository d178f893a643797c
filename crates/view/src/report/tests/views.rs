//! Views of a plan as text.

use expect_test::{Expect, expect};
use yuba_plan::{Action, ActionReason, Plan, ResourceChange};
use yuba_value::{Path, Value};

use super::*;
use crate::plan::Look;
use crate::report::views::{DIGEST_LINES, PlanForm, PlanView, ShownAction, digest, render};
use crate::testing::{change, output, plan};

/// A plan with modules, instances, replacements and outputs.
pub(super) fn estate() -> Plan {
    let mut changes: Vec<ResourceChange> = Vec::new();
    for n in 0..3 {
        let id = Value::string(format!("id-{n}"));
        let (before, after) = (data(id.clone(), Value::int(1)), data(id, Value::int(2)));
        changes.push(change(&format!("terraform_data.web[{n}]"), Action::Update, before, after));
    }
    changes.push(change("terraform_data.fresh", Action::Create, null(), new(Value::string("one\ntwo"))));
    let mut gone = change("terraform_data.gone[\"x\"]", Action::Delete, old(Value::int(1)), null());
    gone.reason = ActionReason::DeleteBecauseEachKey;
    changes.push(gone);
    let mut replaced = change(
        "module.network[\"eu\"].terraform_data.base",
        Action::DeleteThenCreate,
        old(Value::string("a")),
        new(Value::string("b")),
    );
    replaced.reason = ActionReason::ReplaceBecauseCannotUpdate;
    replaced.required_replace = vec![Path::new().attr("input")];
    changes.push(replaced);
    for n in 0..7 {
        changes.push(change(
            &format!("module.many[{n}].module.inner.terraform_data.leaf"),
            Action::Create,
            null(),
            new(Value::int(5)),
        ));
    }
    changes.push(change("data.terraform_data.read", Action::Read, null(), new(Value::int(1))));
    plan(changes, vec![output("o", Action::Update, Value::int(1), Value::int(2))])
}

fn view(form: PlanForm, only: &[&str], unchanged: Unchanged) -> PlanView {
    PlanView { form, only: only.iter().filter_map(|word| ShownAction::parse(word)).collect(), unchanged }
}

fn check(view: &PlanView, width: usize, expect: &Expect) {
    let text = render(&report_of(&estate()), view, Look { width, ..Look::default() });
    let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or_default();
    assert!(longest <= width, "{longest} columns\n{text}");
    expect.assert_eq(&text);
}

#[test]
fn summary() {
    check(
        &view(PlanForm::Summary, &[], Unchanged::Counted),
        80,
        &expect![[r#"

        Module                       destroy  replace  update  create  read
        (root module)                      1        -       3       1     1
        module.network["eu"]               -        1       -       -     -
        module.many[0].module.inner        -        -       -       1     -
        module.many[1].module.inner        -        -       -       1     -
        module.many[2].module.inner        -        -       -       1     -
        module.many[3].module.inner        -        -       -       1     -
        module.many[4].module.inner        -        -       -       1     -
        module.many[5].module.inner        -        -       -       1     -
        module.many[6].module.inner        -        -       -       1     -
        Total                              1        1       3       8     1

        Resource type        destroy  replace  update  create  read
        data.terraform_data        -        -       -       -     1
        terraform_data             1        1       3       8     -
        Total                      1        1       3       8     1

        Objects at risk: 1 destroyed, 1 replaced
            - terraform_data.gone["x"]  (because key ["x"] is not in for_each map)
          -/+ module.network["eu"].terraform_data.base  (the provider cannot update …

        Plan: 9 to add, 3 to change, 2 to destroy.
    "#]],
    );
    check(
        &view(PlanForm::Summary, &["replace", "read"], Unchanged::Counted),
        100,
        &expect![[r#"

        Module                replace  read
        module.network["eu"]        1     -
        (root module)               -     1
        Total                       1     1

        Resource type        replace  read
        data.terraform_data        -     1
        terraform_data             1     -
        Total                      1     1

        Showing 2 of 14 changes.

        Objects at risk: 1 destroyed, 1 replaced
            - terraform_data.gone["x"]  (because key ["x"] is not in for_each map)
          -/+ module.network["eu"].terraform_data.base  (the provider cannot update input)

        Plan: 9 to add, 3 to change, 2 to destroy.
    "#]],
    );
}

#[test]
fn tree_of_modules() {
    check(
        &view(PlanForm::Tree, &[], Unchanged::Counted),
        80,
        &expect![[r#"

        (root module)                                -1 -/+1 ~3 +8 <=1
        ├── terraform_data.web (3 objects)           ~3
        ├── terraform_data.fresh                     +1
        ├── terraform_data.gone                      -1
        ├── data.terraform_data.read                 <=1
        ├── module.network["eu"]                     -/+1
        │   └── terraform_data.base                  -/+1
        └── module.many (7 instances)                +7
            └── module.inner                         +7
                └── terraform_data.leaf (7 objects)  +7

        Objects at risk: 1 destroyed, 1 replaced
            - terraform_data.gone["x"]  (because key ["x"] is not in for_each map)
          -/+ module.network["eu"].terraform_data.base  (the provider cannot update …

        Plan: 9 to add, 3 to change, 2 to destroy.
    "#]],
    );
}

#[test]
fn groups() {
    check(
        &view(PlanForm::Groups, &[], Unchanged::Counted),
        100,
        &expect![[r#"

          # 3 instances of terraform_data will be updated in-place
          #   terraform_data.web[0-2]
          ~ resource "terraform_data" {
              ~ input  = 1 -> 2
              ~ output = 1 -> 2
            } # applies to 3 instances

          # terraform_data.fresh will be created
          + resource "terraform_data" "fresh" {
              + id     = (known after apply)
              + input  = <<-EOT
                    one
                    two
                EOT
              + output = (known after apply)
            }

          # terraform_data.gone["x"] will be destroyed
          # (because key ["x"] is not in for_each map)
          - resource "terraform_data" "gone" {
              - id     = "i" -> null
              - input  = 1 -> null
              - output = 1 -> null
            }

          # module.network["eu"].terraform_data.base must be replaced
          # (the provider cannot update input)
        -/+ resource "terraform_data" "base" {
              ~ id     = "i" -> (known after apply)
              ~ input  = "a" -> "b" # forces replacement
              ~ output = "a" -> (known after apply)
            }

          # 7 instances of terraform_data will be created
          #   module.many[0].module.inner.terraform_data.leaf
          #   module.many[1].module.inner.terraform_data.leaf
          #   module.many[2].module.inner.terraform_data.leaf
          #   module.many[3].module.inner.terraform_data.leaf
          #   module.many[4].module.inner.terraform_data.leaf
          #   module.many[5].module.inner.terraform_data.leaf
          #   module.many[6].module.inner.terraform_data.leaf
          + resource "terraform_data" {
              + id     = (known after apply)
              + input  = 5
              + output = (known after apply)
            } # applies to 7 instances

          # data.terraform_data.read will be read during apply
         <= data "terraform_data" "read" {
                # The schema of terraform_data is not available.
            }

        Changes to Outputs:
          ~ o = 1 -> 2

        Objects at risk: 1 destroyed, 1 replaced
            - terraform_data.gone["x"]  (because key ["x"] is not in for_each map)
          -/+ module.network["eu"].terraform_data.base  (the provider cannot update input)

        Plan: 9 to add, 3 to change, 2 to destroy.
    "#]],
    );
}

#[test]
fn selected_actions() {
    check(
        &view(PlanForm::List, &["destroy", "replace"], Unchanged::Counted),
        100,
        &expect![[r#"

          # terraform_data.gone["x"] will be destroyed
          # (because key ["x"] is not in for_each map)
          - resource "terraform_data" "gone" {
              - id     = "i" -> null
              - input  = 1 -> null
              - output = 1 -> null
            }

          # module.network["eu"].terraform_data.base must be replaced
          # (the provider cannot update input)
        -/+ resource "terraform_data" "base" {
              ~ id     = "i" -> (known after apply)
              ~ input  = "a" -> "b" # forces replacement
              ~ output = "a" -> (known after apply)
            }

        Showing 2 of 14 changes.

        Objects at risk: 1 destroyed, 1 replaced
            - terraform_data.gone["x"]  (because key ["x"] is not in for_each map)
          -/+ module.network["eu"].terraform_data.base  (the provider cannot update input)

        Plan: 9 to add, 3 to change, 2 to destroy.
    "#]],
    );
    check(
        &view(PlanForm::List, &["update", "replace"], Unchanged::Omitted),
        200,
        &expect![[r#"

          # terraform_data.web[0] will be updated in-place
          ~ resource "terraform_data" "web" {
              ~ input  = 1 -> 2
              ~ output = 1 -> 2
            }

          # terraform_data.web[1] will be updated in-place
          ~ resource "terraform_data" "web" {
              ~ input  = 1 -> 2
              ~ output = 1 -> 2
            }

          # terraform_data.web[2] will be updated in-place
          ~ resource "terraform_data" "web" {
              ~ input  = 1 -> 2
              ~ output = 1 -> 2
            }

          # module.network["eu"].terraform_data.base must be replaced
          # (the provider cannot update input)
        -/+ resource "terraform_data" "base" {
              ~ id     = "i" -> (known after apply)
              ~ input  = "a" -> "b" # forces replacement
              ~ output = "a" -> (known after apply)
            }

        Showing 4 of 14 changes.

        Objects at risk: 1 destroyed, 1 replaced
            - terraform_data.gone["x"]  (because key ["x"] is not in for_each map)
          -/+ module.network["eu"].terraform_data.base  (the provider cannot update input)

        Plan: 9 to add, 3 to change, 2 to destroy.
    "#]],
    );
}

#[test]
fn differences_as_text() {
    let list = |items: &[&str]| Value::tuple(items.iter().map(|item| Value::string(*item)).collect());
    let changes = vec![
        update(Value::string("a\nb\nc"), Value::string("a\nx\nc")),
        update(Value::string("{\"a\":1,\"b\":2}"), Value::string("{\"a\":1,\"b\":[3]}")),
        update(list(&["a", "b"]), list(&["b"])),
        update(Value::int(1), list(&["b"])),
        update(list(&["b"]), Value::int(1)),
        update(list(&["b"]), Value::unknown_dynamic()),
        update(Value::string("s").mark(Mark::Sensitive), Value::string("t")),
        change("terraform_data.a", Action::Delete, old(object([("k", Value::string("v\u{1b}[31m"))])), null()),
    ];
    let changes: Vec<ResourceChange> = changes
        .into_iter()
        .map(|change| ResourceChange {
            after: without_output(&change.after),
            before: without_output(&change.before),
            ..change
        })
        .collect();
    let report = report_of(&plan(changes, Vec::new()));
    let text = render(&report, &view(PlanForm::List, &[], Unchanged::Counted), Look::default());
    expect![[r#"

          # terraform_data.a will be updated in-place
          ~ resource "terraform_data" "a" {
                id    = "i"
              ~ input = <<-EOT
                    a
                  - b
                  + x
                    c
                EOT
            }

          # terraform_data.a will be updated in-place
          ~ resource "terraform_data" "a" {
                id    = "i"
              ~ input = jsonencode({
                  ~ b = 2 -> [
                      + 3,
                    ]
                    # (1 unchanged value hidden)
                })
            }

          # terraform_data.a will be updated in-place
          ~ resource "terraform_data" "a" {
                id    = "i"
              ~ input = [
                  - "a",
                    # (1 unchanged element hidden)
                ]
            }

          # terraform_data.a will be updated in-place
          ~ resource "terraform_data" "a" {
                id    = "i"
              ~ input = 1 -> [
                  + "b",
                ]
            }

          # terraform_data.a will be updated in-place
          ~ resource "terraform_data" "a" {
                id    = "i"
              ~ input = [
                  - "b",
                ] -> 1
            }

          # terraform_data.a will be updated in-place
          ~ resource "terraform_data" "a" {
                id    = "i"
              ~ input = [
                  - "b",
                ] -> (known after apply)
            }

          # terraform_data.a will be updated in-place
          ~ resource "terraform_data" "a" {
                id    = "i"
              ~ input = (sensitive value) # will no longer be marked as sensitive
            }

          # terraform_data.a will be destroyed
          - resource "terraform_data" "a" {
              - id    = "i" -> null
              - input = {
                  - k = "v\x1b[31m" -> null
                } -> null
            }

        Objects at risk: 1 destroyed
            - terraform_data.a

        Plan: 0 to add, 7 to change, 1 to destroy.
    "#]]
    .assert_eq(&text);
}

/// The output of the resource repeats its input.
fn without_output(value: &Value) -> Value {
    if value.is_null() {
        return value.clone();
    }
    let attribute = |name: &str| Path::new().attr(name).follow(value).unwrap_or_else(null);
    object([("id", attribute("id")), ("input", attribute("input")), ("output", null()), ("triggers_replace", null())])
}

/// Thousands of changes do not push the destroyed objects from the screen.
#[test]
fn destroyed_objects_are_on_the_last_screen() {
    let mut changes: Vec<ResourceChange> = (0..5_000)
        .map(|n| {
            let addr = addr(&format!("module.m[{}].terraform_data.a{}[{n}]", n % 70, n % 300));
            let input = Value::string(format!("input {n}"));
            ResourceChange { addr, ..change("terraform_data.x", Action::Create, null(), new(input)) }
        })
        .collect();
    for n in 0..3 {
        let at = changes.len() / 2 + n;
        changes[at] = change(&format!("terraform_data.lost[{n}]"), Action::Delete, old(Value::int(1)), null());
    }
    let report = report_of(&plan(changes, Vec::new()));
    for width in [80, 100, 200] {
        for form in [PlanForm::List, PlanForm::Groups, PlanForm::Summary, PlanForm::Tree] {
            let text = render(&report, &view(form, &[], Unchanged::Counted), Look { width, ..Look::default() });
            let lines: Vec<&str> = text.lines().collect();
            let screen = lines[lines.len().saturating_sub(24)..].join("\n");
            let visible = (0..3).filter(|n| screen.contains(&format!("- terraform_data.lost[{n}]"))).count();
            assert_eq!(visible, 3, "{form:?} at {width} columns:\n{screen}");
            if form == PlanForm::Summary || form == PlanForm::Tree {
                assert!(lines.len() < 700, "{} lines", lines.len());
            }
        }
    }
}

#[test]
fn many_risks_are_counted() {
    let gone = |n: usize| change(&format!("terraform_data.gone[{n}]"), Action::Delete, old(Value::int(1)), null());
    let report = report_of(&plan((0..100).map(gone).collect(), Vec::new()));
    let text = digest(&report, DIGEST_LINES, Look::default());
    assert_eq!(text.lines().count(), DIGEST_LINES + 2, "{text}");
    assert!(text.contains("... and 81 other objects"), "{text}");
}
