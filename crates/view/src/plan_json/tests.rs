//! A plan made by hand and what OpenTofu writes about the same.

use std::sync::Arc;

use yuba_plan::{Action, ActionReason, RelevantAttribute};
use yuba_state::{Edit, Object, Output, State};
use yuba_value::{Mark, Number, Path, Type, Value};

use super::*;
use crate::testing::{addr, builtin, change, object, output, plan as made, provider, tree};

const CONFIG: &str = r#"
variable "s" {
  sensitive = true
  default   = "sec"
}
resource "terraform_data" "new" {
  input            = { s = var.s, l = [1, 2.5] }
  triggers_replace = "y"
}
moved {
  from = terraform_data.old
  to   = terraform_data.new
}
output "o" {
  value     = terraform_data.new.output
  sensitive = true
}
output "k" {
  value      = "k"
  deprecated = "d"
}
"#;

fn data(id: Value, input: Value, output: Value, triggers: Value) -> Value {
    object([("id", id), ("input", input), ("output", output), ("triggers_replace", triggers)])
}

fn input(secret: Value) -> Value {
    let half = Number::parse("2.5").expect("because it is a number");
    object([("l", Value::tuple(vec![Value::int(1), Value::number(half)])), ("s", secret)])
}

fn stored(state: &mut State, at: &str, value: &Value) {
    let schema = builtin().schema(&provider().provider).expect("because it is built in");
    let ty = schema.resources["terraform_data"].block.implied_type().clone();
    let object = Some(Arc::new(Object::encode(value, &ty, 0).expect("because it is known")));
    state.apply(Edit::SetObject { addr: addr(at), deposed: None, provider: provider(), provider_key: None, object });
}

#[test]
fn a_plan() {
    let (id, text, null) = (|| Value::string("i"), |text: &str| Value::string(text), Value::null_dynamic);
    let marked = || input(text("sec").mark(Mark::Sensitive));
    let before = data(id(), marked(), input(text("sec")), text("x"));
    let ty = input(text("sec")).ty().clone();
    let after = data(Value::unknown(Type::string()), marked(), Value::unknown(ty.clone()), text("y"));
    let gone = data(id(), null(), null(), null());
    let mut deleted = change("terraform_data.gone[0]", Action::Delete, gone.clone(), Value::null(gone.ty().clone()));
    deleted.reason = ActionReason::DeleteBecauseNoResourceConfig;
    let mut replaced = change("terraform_data.new", Action::DeleteThenCreate, before.clone(), after);
    replaced.moved_from = Some(Box::new(addr("terraform_data.old")));
    replaced.reason = ActionReason::ReplaceBecauseCannotUpdate;
    replaced.required_replace = vec![Path::new().attr("triggers_replace")];
    let mut deprecated = output("k", Action::Update, text("k"), text("k"));
    deprecated.deprecated = "d".into();
    let mut hidden = output("o", Action::Update, input(text("sec")), Value::unknown(ty));
    hidden.sensitive = true;
    let data_gone = change("data.terraform_remote_state.x", Action::Delete, gone.clone(), null());
    let mut plan = made(vec![data_gone, deleted, replaced], vec![deprecated, hidden]);
    let resource = addr("terraform_data.new");
    plan.relevant = vec![RelevantAttribute { resource, path: Path::new().attr("output") }];
    let mut state = State::empty();
    stored(&mut state, "terraform_data.gone[0]", &gone);
    stored(&mut state, "terraform_data.new", &before);
    for (name, value, sensitive, deprecated) in [("k", text("k"), false, "d"), ("o", input(text("sec")), true, "")] {
        let output = Some(Output { value, sensitive, deprecated: deprecated.into() });
        state.apply(Edit::SetOutput { name: name.into(), output });
    }
    plan.prior_state = Arc::new(state);
    let expect = [
        r#"{"format_version":"1.2","terraform_version":"1.12.6","variables":{"s":{"value":"sec"}},"#,
        r#""planned_values":{"outputs":{"k":{"sensitive":false,"deprecated":"d","type":"string","value":"k"},"o":{"sensitive":true}},"root_module":{"resources":[{"address":"terraform_data.new","mode":"managed","type":"terraform_data","name":"new","provider_name":"terraform.io/builtin/terraform","schema_version":0,"values":{"input":{"l":[1,2.5],"s":"sec"},"triggers_replace":"y"},"sensitive_values":{"input":{"l":[false,false],"s":true},"output":{}}}]}},"#,
        r#""resource_changes":[{"address":"terraform_data.gone[0]","mode":"managed","type":"terraform_data","name":"gone","index":0,"provider_name":"terraform.io/builtin/terraform","change":{"actions":["delete"],"before":{"id":"i","input":null,"output":null,"triggers_replace":null},"after":null,"after_unknown":{},"before_sensitive":{},"after_sensitive":false},"action_reason":"delete_because_no_resource_config"},{"address":"terraform_data.new","previous_address":"terraform_data.old","mode":"managed","type":"terraform_data","name":"new","provider_name":"terraform.io/builtin/terraform","change":{"actions":["delete","create"],"before":{"id":"i","input":{"l":[1,2.5],"s":"sec"},"output":{"l":[1,2.5],"s":"sec"},"triggers_replace":"x"},"after":{"input":{"l":[1,2.5],"s":"sec"},"triggers_replace":"y"},"after_unknown":{"id":true,"input":{"l":[false,false]},"output":true},"before_sensitive":{"input":{"l":[false,false],"s":true},"output":{"l":[false,false]}},"after_sensitive":{"input":{"l":[false,false],"s":true},"output":{}},"replace_paths":[["triggers_replace"]]},"action_reason":"replace_because_cannot_update"}],"#,
        r#""output_changes":{"k":{"actions":["update"],"before":"k","after":"k","after_unknown":false,"before_sensitive":false,"after_sensitive":false},"o":{"actions":["update"],"before":{"l":[1,2.5],"s":"sec"},"after_unknown":true,"before_sensitive":true,"after_sensitive":true}},"#,
        r#""prior_state":{"format_version":"1.0","terraform_version":"1.12.6","values":{"outputs":{"k":{"sensitive":false,"deprecated":"d","value":"k","type":"string"},"o":{"sensitive":true,"value":{"l":[1,2.5],"s":"sec"},"type":["object",{"l":["tuple",["number","number"]],"s":"string"}]}},"root_module":{"resources":[{"address":"terraform_data.gone[0]","mode":"managed","type":"terraform_data","name":"gone","index":0,"provider_name":"terraform.io/builtin/terraform","schema_version":0,"values":{"id":"i","input":null,"output":null,"triggers_replace":null},"sensitive_values":{}},{"address":"terraform_data.new","mode":"managed","type":"terraform_data","name":"new","provider_name":"terraform.io/builtin/terraform","schema_version":0,"values":{"id":"i","input":{"l":[1,2.5],"s":"sec"},"output":{"l":[1,2.5],"s":"sec"},"triggers_replace":"x"},"sensitive_values":{"input":{"l":[false,false],"s":true},"output":{"l":[false,false]}}}]}}},"#,
        r#""configuration":{"provider_config":{"terraform":{"name":"terraform","full_name":"terraform.io/builtin/terraform"}},"root_module":{"outputs":{"k":{"deprecated":"d","expression":{"constant_value":"k"}},"o":{"sensitive":true,"expression":{"references":["terraform_data.new.output","terraform_data.new"]}}},"resources":[{"address":"terraform_data.new","mode":"managed","type":"terraform_data","name":"new","provider_config_key":"terraform","expressions":{"input":{"references":["var.s"]},"triggers_replace":{"constant_value":"y"}},"schema_version":0}],"variables":{"s":{"default":"sec","sensitive":true}}}},"#,
        r#""relevant_attributes":[{"resource":"terraform_data.new","attribute":["output"]}],"#,
        r#""timestamp":"2026-01-02T03:04:05Z","errored":false}"#,
    ];
    let shown = super::plan(&plan, &tree([(".", CONFIG)]), &builtin()).expect("because there are schemas");
    assert_eq!(shown, expect.concat());
}

#[test]
fn moves_without_changes_and_deposed_objects() {
    let value = || data(Value::string("i"), Value::int(1), Value::int(1), Value::null_dynamic());
    let mut moved = change("terraform_data.b", Action::NoOp, value(), value());
    moved.moved_from = Some(Box::new(addr("terraform_data.a")));
    let mut deposed = change("terraform_data.b", Action::Delete, value(), Value::null_dynamic());
    deposed.deposed = Some(yuba_state::DeposedKey::new(0xabc));
    deposed.importing = Some(Box::new(yuba_plan::Importing { id: Some("<".into()), ..Default::default() }));
    let mut plan = made(vec![moved.clone(), deposed], Vec::new());
    plan.drift = vec![moved];
    let shown = super::plan(&plan, &tree([(".", "")]), &builtin()).expect("because there are schemas");
    let expect = [
        r#"{"format_version":"1.2","terraform_version":"1.12.6","planned_values":{"root_module":{"resources":[{"address":"terraform_data.b","mode":"managed","type":"terraform_data","name":"b","provider_name":"terraform.io/builtin/terraform","schema_version":0,"values":{"id":"i","input":1,"output":1,"triggers_replace":null},"sensitive_values":{}}]}},"#,
        r#""resource_changes":[{"address":"terraform_data.b","previous_address":"terraform_data.a","mode":"managed","type":"terraform_data","name":"b","provider_name":"terraform.io/builtin/terraform","change":{"actions":["no-op"],"before":{"id":"i","input":1,"output":1,"triggers_replace":null},"after":{"id":"i","input":1,"output":1,"triggers_replace":null},"after_unknown":{},"before_sensitive":{},"after_sensitive":{}}},"#,
        r#"{"address":"terraform_data.b","mode":"managed","type":"terraform_data","name":"b","provider_name":"terraform.io/builtin/terraform","deposed":"00000abc","change":{"actions":["delete"],"before":{"id":"i","input":1,"output":1,"triggers_replace":null},"after":null,"after_unknown":{},"before_sensitive":{},"after_sensitive":false,"importing":{"id":"\u003c"}}}],"#,
        r#""configuration":{"root_module":{}},"timestamp":"2026-01-02T03:04:05Z","errored":false}"#,
    ];
    assert_eq!(shown, expect.concat());
    plan.mode = Mode::RefreshOnly;
    let shown = super::plan(&plan, &tree([(".", "")]), &builtin()).expect("because there are schemas");
    assert!(shown.contains(r#","resource_drift":[{"address":"terraform_data.b","previous_address":"#));
}
