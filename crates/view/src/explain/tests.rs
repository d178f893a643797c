//! Configurations, states and plans in, explanations out.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use yuba_eval::graph::References;
use yuba_eval::inputs::{GivenAt, prepare};
use yuba_eval::{EvalEnv, EvalMode, MemoryWorld};
use yuba_plan::{ActionReason, OutputChange, ResourceChange};
use yuba_value::{EcoString, Mark, Path, Type, Value};

use super::*;
use crate::plan::Look;
use crate::testing::{builtin, change, linked, object, output, plan, state_of};

/// A configuration: the root module, a module in `./m`, and a file of values.
struct Case {
    root: &'static str,
    module: &'static str,
    values: &'static str,
    state: State,
    changes: Vec<ResourceChange>,
    outputs: Vec<OutputChange>,
}

impl Default for Case {
    fn default() -> Case {
        let state = State::empty();
        Case { root: "", module: "", values: "", state, changes: Vec::new(), outputs: Vec::new() }
    }
}

impl Case {
    fn with<T>(&self, run: impl FnOnce(&Facts<'_>) -> T) -> T {
        let (tree, sources, inputs) = linked([(".", self.root), ("m", self.module)], self.values);
        let mut variables: BTreeMap<EcoString, Value> = BTreeMap::new();
        for (name, variable) in &tree.root().module.variables {
            let given = inputs.value(variable).map(|(value, ..)| value);
            variables.insert(name.clone(), prepare(variable, given, GivenAt::Nowhere).0);
        }
        let (world, schemas) = (MemoryWorld::new(), builtin());
        let env = EvalEnv {
            world: &world,
            workspace: "default",
            original_dir: None,
            providers: &schemas,
            sources: Some(&sources),
        };
        let references = References::read(&tree, env);
        let evaluation = Evaluation::new(&tree, env, EvalMode::Values(&variables));
        let planned = plan(self.changes.clone(), self.outputs.clone());
        run(&Facts {
            tree: &tree,
            sources: &sources,
            graph: &references.graph,
            arguments: &references.arguments,
            inputs: &inputs,
            evaluation: &evaluation,
            schemas: &schemas,
            state: &self.state,
            plan: (!self.changes.is_empty() || !self.outputs.is_empty()).then_some(&planned),
        })
    }

    fn check(&self, address: &str, expected: &Expect) {
        let shown = self.with(|facts| match explain(facts, address) {
            Ok(found) => text(&found, Look::default()),
            Err(problem) => format!("{problem:?}\n"),
        });
        expected.assert_eq(&shown);
    }
}

/// A `terraform_data` object.
fn data(input: Value, triggers: Value) -> Value {
    object([("id", Value::string("i")), ("input", input.clone()), ("output", input), ("triggers_replace", triggers)])
}

fn text_value(text: &str) -> Value {
    Value::string(text)
}

const CHAIN: &str = r#"variable "release" {
  default = "v1"
}
variable "team" {
  default = "core"
}
locals {
  tag = "${var.release}-${var.team}"
}
resource "terraform_data" "base" {
  input = "x"
}
resource "terraform_data" "web" {
  input            = { tag = local.tag, base = terraform_data.base.output }
  triggers_replace = var.release
}
output "web" {
  value = terraform_data.web.output
}
"#;

fn replaced() -> Case {
    let before = data(object([("base", text_value("x")), ("tag", text_value("v1-core"))]), text_value("v1"));
    let after = object([
        ("id", Value::unknown(Type::string())),
        ("input", object([("base", text_value("y")), ("tag", text_value("v2-core"))])),
        ("output", Value::unknown_dynamic()),
        ("triggers_replace", text_value("v2")),
    ]);
    let mut web = change("terraform_data.web", Action::DeleteThenCreate, before, after);
    web.reason = ActionReason::ReplaceBecauseCannotUpdate;
    web.required_replace = vec![Path::new().attr("triggers_replace")];
    let base = change(
        "terraform_data.base",
        Action::Update,
        data(text_value("x"), Value::null_dynamic()),
        data(text_value("y"), Value::null_dynamic()),
    );
    Case {
        root: CHAIN,
        values: "release = \"v2\"\n",
        state: state_of(&[("terraform_data.web", text_value("x"))]),
        changes: vec![base, web],
        ..Case::default()
    }
}

#[test]
fn a_replacement_leads_to_the_variable() {
    replaced().check(
        "terraform_data.web",
        &expect![[r#"
            terraform_data.web will be replaced: destroyed, then created
              declared at main.tf:13

            Why
              The provider cannot change triggers_replace in place. (main.tf:13)

            Changes
              triggers_replace: "v1" -> "v2"  forces replacement
                = var.release  (main.tf:15)
                  var.release is "v2", from terraform.tfvars:1
              input.base: "x" -> "y"
                = terraform_data.base.output  (main.tf:14)
                  terraform_data.base.output changes from "x" to "y"; the resource will be updated in place
              input.tag: "v1-core" -> "v2-core"
                = local.tag  (main.tf:14)
                  local.tag is "v2-core"
                    = "${var.release}-${var.team}"  (main.tf:8)
                      var.release is "v2", from terraform.tfvars:1
                      var.team is "core", the default at main.tf:5
              Decided by the provider during apply: id, output

            Provider
              provider["terraform.io/builtin/terraform"]
              The resource has no provider argument. Its type terraform_data implies the provider.  (main.tf:13)

            State
              terraform_data.web
                depended on nothing when it was last applied

            Used by
              output.web  (main.tf:17)
        "#]],
    );
}

#[test]
fn variables_locals_and_outputs_are_explained() {
    let case = replaced();
    case.check(
        "local.tag",
        &expect![[r#"
        local.tag is a local value
          declared at main.tf:8
          value: "v2-core"

        Value
          = "${var.release}-${var.team}"  (main.tf:8)
            var.release is "v2", from terraform.tfvars:1
            var.team is "core", the default at main.tf:5

        Used by
          terraform_data.web  (main.tf:13)
          1 directly, 2 in total
    "#]],
    );
    case.check(
        "var.release",
        &expect![[r#"
        var.release is a variable
          declared at main.tf:1
          value: "v2"

        Value
          The file terraform.tfvars sets it in line 1.

        Used by
          local.tag  (main.tf:8)
          terraform_data.web  (main.tf:13)
          2 directly, 3 in total
    "#]],
    );
    case.check(
        "var.team",
        &expect![[r#"
        var.team is a variable
          declared at main.tf:4
          value: "core"

        Value
          The default sets it (main.tf:5).

        Used by
          local.tag  (main.tf:8)
          1 directly, 3 in total
    "#]],
    );
    case.check(
        "output.web",
        &expect![[r#"
        output.web is an output
          declared at main.tf:17

        Value
          = terraform_data.web.output  (main.tf:18)
            terraform_data.web.output is known after apply; the resource will be replaced: destroyed, then created

        Used by
          nothing
    "#]],
    );
    case.check(
        "terraform_data.wbe",
        &expect![[r#"
        Unknown(Some("terraform_data.web"))
    "#]],
    );
    case.check(
        "terraform_data",
        &expect![[r#"
        Invalid
    "#]],
    );
}

const MODULES: &str = r#"variable "sites" {
  default = { a = "1", b = "2" }
}
variable "on" {
  default = false
}
provider "terraform" {
  alias = "other"
}
module "site" {
  source    = "./m"
  for_each  = var.sites
  size      = each.value
  providers = { terraform = terraform.other }
}
module "off" {
  source = "./m"
  size   = "3"
  lifecycle {
    enabled = var.on
  }
}
output "sizes" {
  value = module.site["a"].size
}
"#;

const MODULE: &str = r#"variable "size" {}
resource "terraform_data" "disk" {
  count = 2
  input = "${var.size}-${count.index}"
}
output "size" {
  value = terraform_data.disk[0].output
}
"#;

fn sites() -> Case {
    let created = |at: &str, size: &str| {
        let after = object([
            ("id", Value::unknown(Type::string())),
            ("input", text_value(size)),
            ("output", Value::unknown_dynamic()),
            ("triggers_replace", Value::null_dynamic()),
        ]);
        change(at, Action::Create, Value::null_dynamic(), after)
    };
    Case {
        root: MODULES,
        module: MODULE,
        changes: vec![
            created("module.site[\"a\"].terraform_data.disk[0]", "1-0"),
            created("module.site[\"a\"].terraform_data.disk[1]", "1-1"),
        ],
        ..Case::default()
    }
}

#[test]
fn modules_lead_to_their_calls() {
    let case = sites();
    case.check(
        "module.site[\"a\"].terraform_data.disk[0]",
        &expect![[r#"
            module.site["a"].terraform_data.disk[0] will be created
              declared at m/main.tf:2

            Why
              The configuration declares it, and the state has no object for it.
              (m/main.tf:2)

            Changes
              input: "1-0"
                = "${var.size}-${count.index}"  (m/main.tf:4)
                  module.site["a"].var.size is "1"
                    = each.value  (main.tf:13)
                      each.value is "1"
                        = var.sites  (main.tf:12)
                          var.sites is { a = "1", b = "2" }, the default at main.tf:2
                  count.index is 0
                    = 2  (m/main.tf:3)
              Decided by the provider during apply: id, output

            Instances come from
              module.site, key "a": for_each is { a = "1", b = "2" }
                = var.sites  (main.tf:12)
                  var.sites is { a = "1", b = "2" }, the default at main.tf:2
              module.site["a"].terraform_data.disk, key 0: count is 2
                = 2  (m/main.tf:3)

            Provider
              provider["terraform.io/builtin/terraform"].other  (main.tf:7)
              The resource has no provider argument. Its type terraform_data implies the provider.  (m/main.tf:2)
              The providers argument of module.site passes it.  (main.tf:14)

            Used by
              module.site.output.size  (m/main.tf:6)
              1 directly, 2 in total
        "#]],
    );
    case.check(
        "module.site.terraform_data.disk",
        &expect![[r#"
            module.site.terraform_data.disk has 2 instances
              declared at m/main.tf:2

            Instances
              module.site["a"].terraform_data.disk[0] will be created
              module.site["a"].terraform_data.disk[1] will be created

            Instances come from
              module.site: for_each is { a = "1", b = "2" }
                = var.sites  (main.tf:12)
                  var.sites is { a = "1", b = "2" }, the default at main.tf:2
              module.site.terraform_data.disk: count is 2
                = 2  (m/main.tf:3)

            Provider
              provider["terraform.io/builtin/terraform"].other  (main.tf:7)
              The resource has no provider argument. Its type terraform_data implies the provider.  (m/main.tf:2)
              The providers argument of module.site passes it.  (main.tf:14)

            Used by
              module.site.output.size  (m/main.tf:6)
              1 directly, 2 in total
        "#]],
    );
}

#[test]
fn disabled_objects_lead_to_the_argument() {
    let case = sites();
    case.check(
        "module.off.terraform_data.disk",
        &expect![[r#"
        module.off.terraform_data.disk is disabled: lifecycle.enabled of module.off is false
          enabled at main.tf:20
          declared at m/main.tf:2

        Instances come from
          module.off: enabled is false
            = var.on  (main.tf:20)
              var.on is false, the default at main.tf:5
          module.off.terraform_data.disk: count is 2
            = 2  (m/main.tf:3)

        Provider
          provider["terraform.io/builtin/terraform"]
          The resource has no provider argument. Its type terraform_data implies the provider.  (m/main.tf:2)
          module.off inherits the default configuration of its caller.  (main.tf:16)

        Used by
          module.off.output.size  (m/main.tf:6)
    "#]],
    );
    case.check(
        "module.off",
        &expect![[r#"
        module.off is disabled: lifecycle.enabled is false
          enabled at main.tf:20
          declared at main.tf:16

        Instances come from
          module.off: enabled is false
            = var.on  (main.tf:20)
              var.on is false, the default at main.tf:5

        Used by
          nothing
    "#]],
    );
    case.check(
        "output.sizes",
        &expect![[r#"
        output.sizes is an output
          declared at main.tf:23

        Value
          = module.site["a"].size  (main.tf:24)
            module.site["a"].size
              = terraform_data.disk[0].output  (m/main.tf:7)
                module.site["a"].terraform_data.disk[0].output is known after apply; the resource will be created

        Used by
          nothing
    "#]],
    );
}

#[test]
fn an_object_without_configuration_is_explained_from_plan_and_state() {
    let gone = |reason| {
        let mut gone = change(
            "terraform_data.old",
            Action::Delete,
            data(text_value("x"), Value::null_dynamic()),
            Value::null_dynamic(),
        );
        gone.reason = reason;
        gone
    };
    let case = Case {
        root: "locals {\n  x = 1\n}\nremoved {\n  from = terraform_data.old\n}\n",
        state: state_of(&[("terraform_data.old", text_value("x"))]),
        changes: vec![gone(ActionReason::DeleteBecauseNoResourceConfig)],
        ..Case::default()
    };
    case.check(
        "terraform_data.old",
        &expect![[r#"
        terraform_data.old will be destroyed
          not declared in the configuration

        Why
          The configuration does not declare terraform_data.old. (main.tf:4)

        Provider
          provider["terraform.io/builtin/terraform"]
          The state records it. The configuration does not declare the resource.

        State
          terraform_data.old
            depended on nothing when it was last applied

        Used by
          nothing
    "#]],
    );
    let state_only = Case { changes: Vec::new(), ..case };
    state_only.check(
        "terraform_data.old",
        &expect![[r#"
        terraform_data.old is in the state
          not declared in the configuration

        Provider
          provider["terraform.io/builtin/terraform"]
          The state records it. The configuration does not declare the resource.

        State
          terraform_data.old
            depended on nothing when it was last applied

        Used by
          nothing
    "#]],
    );
}

const SECRETS: &str = r#"variable "password" {
  default   = "hunter2"
  sensitive = true
}
locals {
  token  = sensitive("hunter3")
  user   = "app"
  secret = "${local.user}:${var.password}"
  list   = [local.token, "plain"]
  mixed  = [terraform_data.a.id, sensitive("hunter6")]
}
resource "terraform_data" "a" {
  input = local.secret
}
resource "terraform_data" "b" {
  input = local.list
}
output "o" {
  value     = "hunter4-${local.user}"
  sensitive = true
}
"#;

#[test]
fn secrets_are_in_no_part_of_an_explanation() {
    let secret = |text: &str| text_value(text).mark(Mark::Sensitive);
    let created =
        |at: &str, input: Value| change(at, Action::Create, Value::null_dynamic(), data(input, Value::null_dynamic()));
    let mut changed = output("o", Action::Update, text_value("hunter5"), text_value("hunter4-app"));
    changed.sensitive = true;
    let case = Case {
        root: SECRETS,
        changes: vec![
            created("terraform_data.a", secret("app:hunter2")),
            created("terraform_data.b", Value::tuple(vec![secret("hunter3"), text_value("plain")])),
        ],
        outputs: vec![changed],
        ..Case::default()
    };
    let addresses = case.with(addresses);
    assert_eq!(addresses.len(), 9, "{addresses:?}");
    for address in &addresses {
        let (people, programs) = case.with(|facts| {
            let found = explain(facts, address).expect("because the address is known");
            (text(&found, Look { show_sensitive: true, ..Look::default() }), json(&found).indented())
        });
        assert!(!people.contains("hunter") && !programs.contains("hunter"), "{address}:\n{people}\n{programs}");
    }
    case.check(
        "terraform_data.a",
        &expect![[r#"
            terraform_data.a will be created
              declared at main.tf:12

            Why
              The configuration declares it, and the state has no object for it.
              (main.tf:12)

            Changes
              id: "i"
                The provider decides it.
              input: (sensitive value)
                = local.secret  (main.tf:13)
                  local.secret is (sensitive value)
                    = (expression with literals, not shown because it is sensitive)  (main.tf:8)
                      local.user is (sensitive value)
                        = (expression with literals, not shown because it is sensitive)  (main.tf:7)
                      var.password is (sensitive value), the default at main.tf:2
              output: (sensitive value)
                The provider decides it.

            Provider
              provider["terraform.io/builtin/terraform"]
              The resource has no provider argument. Its type terraform_data implies the provider.  (main.tf:12)

            Used by
              local.mixed  (main.tf:10)
        "#]],
    );
}

#[test]
fn a_program_reads_the_same() {
    let case = replaced();
    let document = case.with(|facts| explain(facts, "terraform_data.web").map(|found| json(&found).compact()));
    let document = document.expect("because the object is planned");
    for part in [
        r#""address":"terraform_data.web","kind":"resource instance""#,
        r#""actions":["delete","create"],"reason":{"code":"replace_because_cannot_update""#,
        r#""path":"triggers_replace","before":"\"v1\"","after":"\"v2\"","forces_replacement":true"#,
        r#""name":"var.release","kind":"variable","value":"\"v2\"","given":{"by":"file","location":{"filename":"terraform.tfvars","line":1}"#,
        r#""name":"terraform_data.base.output","kind":"resource","value":null,"given":null,"effect":{"actions":["update"],"attribute":"changes","before":"\"x\"","after":"\"y\""}"#,
    ] {
        assert!(document.contains(part), "{part}\n{document}");
    }
}
