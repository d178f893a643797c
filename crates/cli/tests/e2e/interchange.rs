//! A working directory that is shared with OpenTofu: what one of them has applied, the other one finds in order.

use std::process::Command;

use crate::sandbox;
use yuba_testkit::Sandbox;

/// Configurations, each for another part of the state.
const CONFIGURATIONS: [&str; 20] = [
    r#"resource "terraform_data" "a" {}"#,
    r#"resource "terraform_data" "a" { input = "x" }"#,
    r#"resource "terraform_data" "a" { input = { list = [1, 2.5, null], nested = { ok = true } } }"#,
    r#"resource "terraform_data" "a" { input = toset(["b", "a"]) }"#,
    r#"resource "terraform_data" "a" { input = tomap({ k = "v" }) }"#,
    r#"resource "terraform_data" "a" { input = 123456789012345678901234567890 }"#,
    r#"resource "terraform_data" "a" { input = "umlaut: äöü <&> \u2028 \" \\ \n" }"#,
    r#"resource "terraform_data" "a" { input = sensitive("secret") }"#,
    r#"resource "terraform_data" "a" { input = { open = 1, hidden = sensitive([1, 2]) } }"#,
    r#"resource "terraform_data" "a" { triggers_replace = ["x", 1] }"#,
    r#"resource "terraform_data" "a" { count = 3 }"#,
    r#"resource "terraform_data" "a" { for_each = toset(["x", "y z", "quote\""]) }"#,
    "resource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" { input = terraform_data.a.id }",
    "resource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" {\n  lifecycle { create_before_destroy = true }\n  \
     depends_on = [terraform_data.a]\n}",
    "output \"text\" { value = \"x\" }\noutput \"list\" { value = [1, \"a\", null] }\noutput \"map\" { value = tomap({ a = 1 }) }",
    "output \"hidden\" {\n  value = \"x\"\n  sensitive = true\n}",
    "output \"set\" { value = toset([3, 1, 2]) }\noutput \"nothing\" { value = null }",
    "resource \"terraform_data\" \"a\" {\n  input = 1\n  lifecycle {\n    postcondition {\n      condition = self.input == 1\n      \
     error_message = \"no\"\n    }\n  }\n}",
    "check \"c\" {\n  assert {\n    condition = terraform_data.a.id != \"\"\n    error_message = \"no\"\n  }\n}\nresource \"terraform_data\" \"a\" {}",
    "variable \"n\" {\n  default = 2\n  validation {\n    condition = var.n > 1\n    error_message = \"small\"\n  \
     }\n}\nresource \"terraform_data\" \"a\" { input = var.n }",
];

/// Runs OpenTofu where the other program runs.
fn tofu(sandbox: &Sandbox, args: &[&str]) -> (i32, String) {
    let mut command = Command::new("tofu");
    command
        .args(args)
        .arg("-no-color")
        .current_dir(sandbox.dir())
        .env("HOME", sandbox.home())
        .env("CHECKPOINT_DISABLE", "1");
    let output = command.output().expect("because it is there");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
}

/// Lineage and serial of the state.
fn identity(sandbox: &Sandbox) -> (String, u64) {
    let state = sandbox.read("terraform.tfstate");
    let field = |name: &str| {
        let line = state.lines().find(|line| line.trim_start().starts_with(&format!("\"{name}\"")));
        let value = line.and_then(|line| line.split_once(": ")).map_or("", |(_, value)| value);
        value.trim_matches(|c| c == ',' || c == '"').to_owned()
    };
    (field("lineage"), field("serial").parse().unwrap_or(0))
}

#[test]
fn both_find_in_order_what_the_other_one_has_applied() {
    if Command::new("tofu").arg("version").output().is_err() {
        println!("skipped: there is no tofu on the PATH");
        return;
    }
    let plan = ["plan", "-detailed-exitcode", "-input=false"];
    let apply = ["apply", "-auto-approve", "-input=false"];
    for configuration in CONFIGURATIONS {
        let fixture = format!("//- main.tf\n{configuration}\n");
        // They apply, we find nothing to do; and applying again changes nothing.
        let theirs = sandbox(&fixture);
        assert_eq!(tofu(&theirs, &["init"]).0, 0, "{configuration}");
        assert_eq!(tofu(&theirs, &apply).0, 0, "{configuration}");
        let before = identity(&theirs);
        let run = theirs.run(&plan);
        assert_eq!(run.code, 0, "{configuration}\n{run}");
        assert_eq!(theirs.run(&apply).code, 0, "{configuration}");
        assert_eq!(identity(&theirs), before, "{configuration}");
        // We apply, they find nothing to do.
        let ours = sandbox(&fixture);
        assert_eq!(ours.run(&["init"]).code, 0, "{configuration}");
        assert_eq!(ours.run(&apply).code, 0, "{configuration}");
        let before = identity(&ours);
        assert_eq!(tofu(&ours, &["init"]).0, 0, "{configuration}");
        let (code, text) = tofu(&ours, &plan);
        assert_eq!(code, 0, "{configuration}\n{text}");
        assert_eq!(tofu(&ours, &apply).0, 0, "{configuration}");
        assert_eq!(identity(&ours), before, "{configuration}");
        // A change goes on with the same lineage.
        ours.write("more.tf", "output \"more\" { value = \"more\" }\n");
        assert_eq!(tofu(&ours, &apply).0, 0, "{configuration}");
        assert_eq!(identity(&ours), (before.0.clone(), before.1 + 1), "{configuration}");
        assert_eq!(ours.run(&plan).code, 0, "{configuration}");
    }
}
