//! Lines about plans and events.

use expect_test::{Expect, expect};
use yuba_plan::Event;
use yuba_value::Value;

use super::*;
use crate::events::json;
use crate::testing::{addr, change, object, output, plan as made};

/// Lines without what they all have.
fn check(lines: &str, expect: &Expect) {
    let shown = lines.replace(r#","@module":"tofu.ui","@timestamp":"T""#, "").replace(r#"{"@level":"info","#, "{");
    expect.assert_eq(&shown);
}

#[test]
fn a_plan() {
    let value = || object([("id", Value::string("x"))]);
    let null = Value::null_dynamic;
    let mut moved = change("module.m[\"a\"].terraform_data.new", Action::NoOp, value(), value());
    moved.moved_from = Some(Box::new(addr("terraform_data.old[0]")));
    let mut replaced = change("terraform_data.r[\"<\"]", Action::DeleteThenCreate, value(), value());
    replaced.reason = ActionReason::ReplaceBecauseCannotUpdate;
    let mut imported = change("terraform_data.i", Action::NoOp, value(), value());
    imported.importing = Some(Box::new(Importing { id: Some("i-1".into()), ..Importing::default() }));
    imported.generated_config = Some("resource {}\n".into());
    let mut forgotten = change("terraform_data.f", Action::Forget, value(), null());
    forgotten.reason = ActionReason::ForgotBecauseDestroyFalseInConfig;
    let changes = vec![
        change("data.terraform_remote_state.gone", Action::Delete, value(), null()),
        change("terraform_data.same", Action::NoOp, value(), value()),
        moved,
        replaced,
        imported,
        forgotten,
    ];
    let mut old = output("old", Action::NoOp, Value::int(1), Value::int(1));
    (old.deprecated, old.sensitive) = ("use new".into(), true);
    let mut planned = made(changes, vec![output("new", Action::Create, null(), Value::int(1)), old]);
    planned.drift.push(change("terraform_data.d", Action::Update, value(), value()));
    planned.drift.push(change("terraform_data.e", Action::NoOp, value(), value()));
    check(
        &plan(&planned, "T"),
        &expect![[r#"
        {"@message":"terraform_data.d: Drift detected (update)","change":{"resource":{"addr":"terraform_data.d","module":"","resource":"terraform_data.d","implied_provider":"terraform","resource_type":"terraform_data","resource_name":"d","resource_key":null},"action":"update"},"type":"resource_drift"}
        {"@message":"module.m[\"a\"].terraform_data.new: Plan to move","change":{"resource":{"addr":"module.m[\"a\"].terraform_data.new","module":"module.m[\"a\"]","resource":"terraform_data.new","implied_provider":"terraform","resource_type":"terraform_data","resource_name":"new","resource_key":null},"previous_resource":{"addr":"terraform_data.old[0]","module":"","resource":"terraform_data.old[0]","implied_provider":"terraform","resource_type":"terraform_data","resource_name":"old","resource_key":0},"action":"move"},"type":"planned_change"}
        {"@message":"terraform_data.r[\"<\"]: Plan to replace","change":{"resource":{"addr":"terraform_data.r[\"<\"]","module":"","resource":"terraform_data.r[\"<\"]","implied_provider":"terraform","resource_type":"terraform_data","resource_name":"r","resource_key":"\u003c"},"action":"replace","reason":"cannot_update"},"type":"planned_change"}
        {"@message":"terraform_data.i: Plan to import","change":{"resource":{"addr":"terraform_data.i","module":"","resource":"terraform_data.i","implied_provider":"terraform","resource_type":"terraform_data","resource_name":"i","resource_key":null},"action":"import","importing":{"id":"i-1"},"generated_config":"resource {}\n"},"type":"planned_change"}
        {"@message":"terraform_data.f: Plan to remove","change":{"resource":{"addr":"terraform_data.f","module":"","resource":"terraform_data.f","implied_provider":"terraform","resource_type":"terraform_data","resource_name":"f","resource_key":null},"action":"remove","reason":"forgot_because_lifecycle_destroy_in_config"},"type":"planned_change"}
        {"@message":"Plan: 1 to import, 1 to add, 0 to change, 1 to destroy, 1 to forget.","changes":{"add":1,"change":0,"import":1,"remove":1,"forget":1,"operation":"plan"},"type":"change_summary"}
        {"@message":"Outputs: 2","outputs":{"new":{"sensitive":false,"action":"create"},"old":{"sensitive":true,"deprecated":"use new","action":"noop"}},"type":"outputs"}
    "#]],
    );
}

#[test]
fn events() {
    let at = || addr("terraform_data.a[1]");
    let id = || Some(("id".into(), "i-1".into()));
    let start = |phase| Event::Started { addr: at(), deposed: None, phase, id: id() };
    let end = |phase, ok| Event::Finished { addr: at(), deposed: None, phase, id: id(), ok };
    let exec = || "local-exec".into();
    let events = [
        start(Phase::Refresh),
        end(Phase::Refresh, true),
        end(Phase::Refresh, false),
        end(Phase::Read, false),
        start(Phase::Apply(Action::Delete)),
        end(Phase::Apply(Action::Delete), true),
        end(Phase::Apply(Action::Create), false),
        start(Phase::Apply(Action::NoOp)),
        start(Phase::Import),
        Event::Finished { addr: at(), deposed: None, phase: Phase::Read, id: None, ok: true },
        start(Phase::Open),
        end(Phase::Open, false),
        end(Phase::Close, true),
        Event::ProvisionStarted { addr: at(), provisioner: exec() },
        Event::ProvisionOutput { addr: at(), provisioner: exec(), text: "a<b \r\n\n  c".into() },
        Event::ProvisionFinished { addr: at(), provisioner: exec(), ok: false },
    ];
    let lines: String = events.iter().map(|one| json(one, 64, "T")).collect();
    let lines = lines + &progress(&at(), Phase::Apply(Action::Update), 3605, "T");
    let resource = r#""resource":{"addr":"terraform_data.a[1]","module":"","resource":"terraform_data.a[1]","implied_provider":"terraform","resource_type":"terraform_data","resource_name":"a","resource_key":1}"#;
    check(
        &lines.replace(resource, "R"),
        &expect![[r#"
        {"@message":"terraform_data.a[1]: Refreshing state... [id=i-1]","hook":{R,"id_key":"id","id_value":"i-1"},"type":"refresh_start"}
        {"@message":"terraform_data.a[1]: Refresh complete [id=i-1]","hook":{R,"id_key":"id","id_value":"i-1"},"type":"refresh_complete"}
        {"@message":"terraform_data.a[1]: Destroying... [id=i-1]","hook":{R,"action":"delete","id_key":"id","id_value":"i-1"},"type":"apply_start"}
        {"@message":"terraform_data.a[1]: Destruction complete after 1m4s [id=i-1]","hook":{R,"action":"delete","id_key":"id","id_value":"i-1","elapsed_seconds":64},"type":"apply_complete"}
        {"@message":"terraform_data.a[1]: Creation errored after 1m4s","hook":{R,"action":"create","elapsed_seconds":64},"type":"apply_errored"}
        {"@message":"terraform_data.a[1]: Refresh complete after 1m4s","hook":{R,"action":"read","elapsed_seconds":64},"type":"apply_complete"}
        {"@message":"terraform_data.a[1]: Opening...","hook":{R,"Msg":"Opening..."},"type":"ephemeral_action_started"}
        {"@message":"terraform_data.a[1]: Close complete","hook":{R,"Msg":"Close complete"},"type":"ephemeral_action_complete"}
        {"@message":"terraform_data.a[1]: Provisioning with 'local-exec'...","hook":{R,"provisioner":"local-exec"},"type":"provision_start"}
        {"@message":"terraform_data.a[1]: (local-exec): a<b","hook":{R,"provisioner":"local-exec","output":"a<b"},"type":"provision_progress"}
        {"@message":"terraform_data.a[1]: (local-exec):   c","hook":{R,"provisioner":"local-exec","output":"  c"},"type":"provision_progress"}
        {"@message":"terraform_data.a[1]: (local-exec) Provisioning errored","hook":{R,"provisioner":"local-exec"},"type":"provision_errored"}
        {"@message":"terraform_data.a[1]: Still modifying... [1h0m5s elapsed]","hook":{R,"action":"update","elapsed_seconds":3605},"type":"apply_progress"}
    "#]],
    );
}

#[test]
fn summaries_and_outputs_of_an_apply() {
    let counts = MessageCounts { add: 1, change: 2, import: 3, remove: 4, forget: 5 };
    assert_eq!(
        [OperationKind::Plan, OperationKind::Apply, OperationKind::Destroy].map(|operation| counts.sentence(operation)),
        [
            "Plan: 3 to import, 1 to add, 2 to change, 4 to destroy, 5 to forget.",
            "Apply complete! Resources: 3 imported, 1 added, 2 changed, 4 destroyed, 5 forgotten.",
            "Destroy complete! Resources: 4 destroyed.",
        ]
    );
    assert_eq!(
        MessageCounts::default().sentence(OperationKind::Apply),
        "Apply complete! Resources: 0 added, 0 changed, 0 destroyed."
    );
    let output = |value, sensitive, deprecated: &str| Output { value, sensitive, deprecated: deprecated.into() };
    let all = BTreeMap::from([
        ("a".into(), output(Value::tuple(vec![Value::string("<")]), false, "no")),
        ("b".into(), output(Value::int(1), true, "")),
    ]);
    check(
        &outputs(&all, "T"),
        &expect![[r#"
        {"@message":"Outputs: 2","outputs":{"a":{"sensitive":false,"deprecated":"no","type":["tuple",["string"]],"value":["\u003c"]},"b":{"sensitive":true,"type":"number"}},"type":"outputs"}
    "#]],
    );
    check(
        &log("Stopping operation...", "T"),
        &expect![[r#"
        {"@message":"Stopping operation...","type":"log"}
    "#]],
    );
}
