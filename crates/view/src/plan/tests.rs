//! Plans of a few objects.

use expect_test::{Expect, expect};
use yuba_plan::{Action, ActionReason, Importing, Mode, Plan, RelevantAttribute, ResourceChange};
use yuba_state::DeposedKey;
use yuba_value::{Path, Type, Value};

use super::{Look, next_steps, render, summary_line};
use crate::testing::{addr, builtin, change, object, output, plan};

fn data(id: Value, input: Value) -> Value {
    let output = if id.is_known() { input.clone() } else { Value::unknown_dynamic() };
    object([("id", id), ("input", input), ("output", output), ("triggers_replace", Value::null_dynamic())])
}

fn old(input: i64) -> Value {
    data(Value::string("i"), Value::int(input))
}

fn new(input: i64) -> Value {
    data(Value::unknown(Type::string()), Value::int(input))
}

fn null() -> Value {
    Value::null_dynamic()
}

fn check(plan: &Plan, expect: &Expect) {
    expect.assert_eq(&render(plan, &builtin(), Look::default()));
}

fn check_resource(change: ResourceChange, expect: &Expect) {
    let text = render(&plan(vec![change], Vec::new()), &builtin(), Look::default());
    let start = text.find("\n  # ").unwrap_or_default();
    // The summary shows where the left margin is.
    let end = text.find(" to add").unwrap_or(text.len());
    expect.assert_eq(&text[start..end]);
}

#[test]
fn a_whole_plan() {
    let changes = vec![
        change("terraform_data.a", Action::Create, null(), new(1)),
        change("terraform_data.b", Action::Update, old(1), old(2)),
        change("terraform_data.c", Action::NoOp, old(1), old(1)),
        change("terraform_data.d[0]", Action::Delete, old(1), null()),
    ];
    let mut secret = output("secret", Action::Create, null(), Value::string("x"));
    secret.sensitive = true;
    let outputs = vec![
        output("o", Action::Update, Value::int(1), Value::unknown_dynamic()),
        output("same", Action::NoOp, Value::int(1), Value::int(1)),
        secret,
    ];
    let plan = plan(changes, outputs);
    check(
        &plan,
        &expect![[r#"

        Yuba used the selected providers to generate the following execution
        plan. Resource actions are indicated with the following symbols:
          + create
          ~ update in-place (current -> planned)
          - destroy

        Yuba will perform the following actions:

          # terraform_data.a will be created
          + resource "terraform_data" "a" {
              + id     = (known after apply)
              + input  = 1
              + output = (known after apply)
            }

          # terraform_data.b will be updated in-place
          ~ resource "terraform_data" "b" {
                id     = "i"
              ~ input  = 1 -> 2
              ~ output = 1 -> 2
            }

          # terraform_data.d[0] will be destroyed
          - resource "terraform_data" "d" {
              - id     = "i" -> null
              - input  = 1 -> null
              - output = 1 -> null
            }

        Plan: 1 to add, 1 to change, 1 to destroy.

        Changes to Outputs:
          ~ o      = 1 -> (known after apply)
          + secret = (sensitive value)
    "#]],
    );
    expect!["Plan: 1 to add, 1 to change, 1 to destroy."].assert_eq(&summary_line(&plan));
}

#[test]
fn nothing_to_do() {
    let mut empty = plan(Vec::new(), Vec::new());
    check(
        &empty,
        &expect![[r#"

            No changes. Your infrastructure matches the configuration.

            Yuba found no differences between the configuration and remote objects. The
            plan contains no actions.
        "#]],
    );
    empty.mode = Mode::Destroy;
    check(
        &empty,
        &expect![[r#"

            No changes. No objects need to be destroyed.

            The state contains no objects, or all of them were deleted outside of Yuba.
        "#]],
    );
    empty.errored = true;
    check(
        &empty,
        &expect![[r#"

        Planning failed. Yuba encountered an error while generating this plan.

    "#]],
    );
}

#[test]
fn only_outputs() {
    check(
        &plan(Vec::new(), vec![output("o", Action::Create, null(), Value::int(1))]),
        &expect![[r#"

        Changes to Outputs:
          + o = 1

        You can apply this plan to save these new output values to the Yuba state. No
        real infrastructure changes.
    "#]],
    );
}

#[test]
fn changes_outside() {
    let mut drifted = plan(vec![change("terraform_data.b", Action::Create, null(), new(1))], Vec::new());
    drifted.drift.push(change("terraform_data.a", Action::Update, old(1), old(2)));
    // Nothing depends on it.
    expect!["false"].assert_eq(&render(&drifted, &builtin(), Look::default()).contains("Note:").to_string());
    let resource = addr("terraform_data.a");
    drifted.relevant.push(RelevantAttribute { resource, path: Path::new().attr("output") });
    check(
        &drifted,
        &expect![[r#"

            Note: Objects have changed outside of Yuba

            Remote objects differ from the state of the last "yuba apply". These
            differences can affect the plan:

              # terraform_data.a has changed
              ~ resource "terraform_data" "a" {
                    id     = "i"
                  ~ output = 1 -> 2
                    # (1 unchanged attribute hidden)
                }


            The plan below can revert these differences or react to them. To keep them,
            change the configuration accordingly or list the attributes in
            ignore_changes.

            ─────────────────────────────────────────────────────────────────────────────

            Yuba used the selected providers to generate the following execution
            plan. Resource actions are indicated with the following symbols:
              + create

            Yuba will perform the following actions:

              # terraform_data.b will be created
              + resource "terraform_data" "b" {
                  + id     = (known after apply)
                  + input  = 1
                  + output = (known after apply)
                }

            Plan: 1 to add, 0 to change, 0 to destroy.
        "#]],
    );
    drifted.changes.clear();
    drifted.mode = Mode::RefreshOnly;
    check(
        &drifted,
        &expect![[r#"

            Note: Objects have changed outside of Yuba

            Remote objects differ from the state of the last "yuba apply". These
            differences can affect the plan:

              # terraform_data.a has changed
              ~ resource "terraform_data" "a" {
                    id     = "i"
                  ~ input  = 1 -> 2
                  ~ output = 1 -> 2
                }


            A refresh-only plan does not revert these differences. Apply it to store the
            new values in the state. No remote object changes.
        "#]],
    );
}

#[test]
fn reasons_and_notes() {
    let base = || change("terraform_data.a[0]", Action::Delete, object([("id", Value::string("i"))]), null());
    check_resource(
        ResourceChange {
            reason: ActionReason::DeleteBecauseCountIndex,
            deposed: DeposedKey::parse("deadbeef"),
            ..base()
        },
        &expect![[r#"

              # terraform_data.a[0] (deposed object deadbeef) will be destroyed
              # (because index [0] is out of range for count)
              # (left over from a partially-failed replacement of this instance)
              - resource "terraform_data" "a" {
                  - id = "i" -> null
                }

            Plan: 0"#]],
    );
    check_resource(
        ResourceChange { action: Action::Forget, ..base() },
        &expect![[r#"

              # terraform_data.a[0] will be removed from the Yuba state but will not be destroyed
              . resource "terraform_data" "a" {
                id = "i"
            }

            Plan: 0"#]],
    );
    let moved =
        || ResourceChange { moved_from: Some(Box::new(addr("terraform_data.b"))), after: base().before, ..base() };
    check_resource(
        ResourceChange { action: Action::NoOp, ..moved() },
        &expect![[r#"

              # terraform_data.b has moved to terraform_data.a[0]
                resource "terraform_data" "a" {
                    id = "i"
                }

            Plan: 0"#]],
    );
    let importing = Some(Box::new(Importing { id: Some("x".into()), ..Importing::default() }));
    check_resource(
        ResourceChange {
            action: Action::DeleteThenCreate,
            reason: ActionReason::ReplaceBecauseTainted,
            importing,
            ..moved()
        },
        &expect![[r#"

              # terraform_data.a[0] is tainted, so it must be replaced
              # (moved from terraform_data.b)
              # (imported from "x")
              # Warning: this will destroy the imported resource
            -/+ resource "terraform_data" "a" {
                    id = "i"
                }

            Plan: 1 to import, 1"#]],
    );
    let identity = Some(object([("account", Value::int(1)), ("name", Value::string("a,{b"))]));
    let importing = Some(Box::new(Importing { identity, ..Importing::default() }));
    check_resource(
        ResourceChange {
            action: Action::NoOp,
            importing,
            generated_config: Some("x".into()),
            moved_from: None,
            ..moved()
        },
        &expect![[r#"

              # terraform_data.a[0] will be imported
              # (config will be generated)
              # imported using resource identity: {
              #   "account": 1,
              #   "name": "a,{b"
              # }
                resource "terraform_data" "a" {
                    id = "i"
                }

            Plan: 1 to import, 0"#]],
    );
}

#[test]
fn what_to_do_next() {
    let look = Look { width: 40, ..Look::default() };
    expect![[r#"

        ───────────────────────────────────────

        Yuba wrote generated configuration to
        gen.tf. Review and edit the file before
        you commit it to version control.

        Note: You didn't use the -out option to
        save this plan, so "yuba apply" creates
        a new plan, which can contain other
        actions.
    "#]]
    .assert_eq(&next_steps(None, Some("gen.tf"), look));
    expect![[r#"

        ───────────────────────────────────────

        Saved the plan to: p

        To perform exactly these actions, run
        the following command to apply:
            yuba apply "p"
    "#]]
    .assert_eq(&next_steps(Some("p"), None, look));
    expect![[r#"

        ───────────────────────────────────────

        Saved the plan to:
        /tmp/a/directory/with/a/long/name/plan.out

        To perform exactly these actions, run
        the following command to apply:
            yuba apply "/tmp/a/directory/with/a/long/name/plan.out"
    "#]]
    .assert_eq(&next_steps(Some("/tmp/a/directory/with/a/long/name/plan.out"), None, look));
}

#[test]
fn many_changes() {
    let changes = (0..20_000).map(|at| change(&format!("terraform_data.a[{at}]"), Action::Create, null(), new(at)));
    let text = render(&plan(changes.collect(), Vec::new()), &builtin(), Look::default());
    assert_eq!(text.matches("will be created").count(), 20_000);
}
