//! Tests of test files.

use expect_test::{Expect, expect};
use yuba_syntax::{FileId, Sources};

use super::*;
use crate::decode_module;
use crate::file::ParsedConfigFile;
use crate::testing::{constants, parse, problems};

fn check_test(text: &str, expect: &Expect) {
    expect.assert_eq(&problems(text, |file, with| {
        let (file, mut found) = decode(&file.body, with);
        if !found.has_errors() {
            let module = Module::default();
            found.extend(file.validate(|_| &module));
        }
        found
    }));
}

#[test]
fn whole_files() {
    check_test(
        r#"
variables {
  a = 1
  b = var.x
}
provider "x" {
  alias    = "y"
  for_each = var.a
}
mock_provider "x" {
  alias = "z"
  mock_resource "a" {
    defaults = { id = "1" }
  }
  mock_data "a" {
    defaults = {}
  }
  override_resource {
    target = a.b
    values = { id = "2" }
  }
  override_data {
    target = module.m.data.a.b
  }
}
override_module {
  target  = module.m.module.n
  outputs = { a = [1] }
}
run "one" {
  command = plan
  plan_options {
    mode    = refresh-only
    refresh = true
    replace = [a.b]
    target  = [a.c, "a.d"]
  }
  variables {
    a = run.zero.x
  }
  module {
    source = "./sub"
  }
  providers = {
    x = x.y
  }
  assert {
    condition     = output.a == 1
    error_message = "no"
  }
  expect_failures = [var.a, output.b, check.c, a.b, data.a.b[0], a.b["x"], ephemeral.a.b]
}
run "two" {
  module {
    source  = "hashicorp/consul/aws"
    version = "~> 1.0"
  }
}
"#,
        &expect![[r#"
            36:21 Warning: Quoted references are deprecated
        "#]],
    );
}

#[test]
fn errors_in_files() {
    check_test(
        r#"
variables {}
variables {}
run "0" {}
run {}
provider "X" {}
mock_provider "X" {
  other = 1
}
mock_provider "x" {
  for_each = {}
}
mock_provider "x" {}
mock_provider "x" {}
mock_provider "x" {
  alias = "0"
  mock_resource "a" {
    defaults = []
  }
  mock_resource "b" {}
  mock_resource "b" {}
  mock_data "b" {}
  override_resource {
    target = a.b
  }
  override_data {
    target = a.b
  }
  override_module {}
}
mock_provider "x" {
  alias = var.x
}
override_resource {
  target = a.b[0]
  values = "x"
}
override_data {
  target = module.m
  values = { a = var.x }
}
override_module {
  target  = a.b
  outputs = f(x)
}
override_module {
  target = module.m[0]
}
override_resource {
  target = "a.b"
}
override_resource {
}
resource "a" "b" {}
"#,
        &expect![[r#"
            5:5 Error: Missing name for run
            54:1 Error: Unsupported block type
            3:1 Error: Multiple "variables" blocks
            4:5 Error: Invalid run block name
            6:1 Error: Invalid provider local name
            8:3 Error: Unsupported argument
            7:1 Error: Invalid provider local name
            11:14 Error: Alias required when using "for_each"
            14:1 Error: Duplicated `mock_provider` block
            29:3 Error: Unsupported block type
            16:11 Error: Invalid mock provider configuration alias
            18:5 Error: Object expected
            15:1 Error: Duplicated `mock_resource` block
            15:1 Error: Duplicated `override_data` block
            32:11 Error: Variables not allowed
            32:11 Error: Invalid mock provider configuration alias
            35:15 Error: Resource instance address with keys is not allowed
            36:3 Error: Object expected
            39:12 Error: Module address is not allowed
            40:18 Error: Variables not allowed
            43:13 Error: Module address expected
            44:13 Error: Function calls not allowed
            47:20 Error: Module instance address with keys is not allowed
            50:12 Error: Invalid expression
            52:19 Error: Missing required argument
        "#]],
    );
}

#[test]
fn errors_in_runs() {
    check_test(
        r#"
run "a" {
  command         = "plan"
  expect_failures = a.b
  providers       = []
  plan_options {
    mode    = refresh-only
    refresh = false
    replace = [1]
  }
  plan_options {
    mode    = nonsense
    refresh = "perhaps"
    target  = a.b
    other   = 1
  }
  variables {}
  variables {}
  module {
    source  = "./x"
    version = "1.0"
  }
  module {
    source = "modules/x/"
  }
  module {}
  module {
    source = var.x
  }
  assert {
    condition = true
  }
  other {}
}
run "b" {
  plan_options {}
  plan_options {}
  module {
    source = "./x"
  }
  module {
    source = "./y"
  }
  providers = {
    a = b
    a = c
  }
}
"#,
        &expect![[r#"
            33:3 Error: Unsupported block type
            9:16 Error: Invalid expression
            8:5 Error: Incompatible plan options
            15:5 Error: Unsupported argument
            12:15 Error: Invalid "mode" keyword
            13:16 Error: Unsuitable value type
            14:15 Error: Invalid expression
            18:3 Error: Multiple "variables" blocks
            20:5 Error: Invalid registry module source address
            24:5 Error: Invalid module source address
            26:3 Error: Missing "source" attribute for module block
            28:14 Error: Variables not allowed
            30:10 Error: Missing required argument
            31:17 Error: Invalid assert expression
            3:21 Error: Invalid "command" keyword
            5:21 Error: Invalid expression
            4:21 Error: Invalid expression
            37:3 Error: Multiple "plan_options" blocks
            41:3 Error: Multiple "module" blocks
            46:9 Error: Duplicate provider address
        "#]],
    );
}

#[test]
fn what_validate_finds() {
    check_test(
        r#"
override_resource {
  target = a.b
}
override_data {
  target = a.b
}
override_resource {
  target = a.c
}
override_module {
  target = module.m
}
override_module {
  target = module.m
}
run "a" {
  expect_failures = [module.m, path.module, local.x, a, each.key, self, run.b, module.m.x]
  override_data {
    target = data.a.b
  }
  override_data {
    target = data.a.b
  }
  override_module {
    target = module.m
  }
}
"#,
        &expect![[r#"
            6:12 Error: Duplicated `override_data` block
            15:12 Error: Duplicated `override_module` block
            18:22 Error: Invalid `expect_failures` reference
            18:32 Error: Invalid `expect_failures` reference
            18:45 Error: Invalid `expect_failures` reference
            18:54 Error: Invalid reference
            18:57 Error: Invalid `expect_failures` reference
            18:67 Error: Invalid `expect_failures` reference
            18:80 Error: Invalid `expect_failures` reference
            23:14 Error: Duplicated `override_data` block
        "#]],
    );
}

#[test]
fn json() {
    check_test(
        r#"{
  "run": {"a": {"command": "plan", "expect_failures": ["var.a"], "assert": {"condition": "${output.a}", "error_message": "x"}},
          "b": {"command": "nonsense", "plan_options": {"refresh": "perhaps", "mode": "refresh-only"}}},
  "override_resource": [{"target": "a.b", "values": {"a": "${x}"}}, {"target": "a b"}]
}"#,
        &expect![[r#"
            3:68 Error: Unsuitable value type
            3:57 Error: Incompatible plan options
            3:28 Error: Invalid "command" keyword
            4:80 Error: Invalid expression
        "#]],
    );
}

/// Errors between the module's provider blocks and a test file.
fn check_providers(module: &str, test: &str, expect: &Expect) {
    let sources = Sources::new();
    let with = Decoding::new(&constants, &sources);
    let file = ParsedConfigFile {
        name: "main.tf".into(),
        file: FileId(0),
        body: parse(module).body,
        diagnostics: Diagnostics::new(),
        is_override: false,
    };
    let (module, found) = decode_module(".", &[file], &with);
    assert!(!found.has_errors());
    expect.assert_eq(&problems(test, |file, with| decode(&file.body, with).0.validate_providers(&[&module])));
}

#[test]
fn test_providers_match_those_of_the_module() {
    let module = "terraform {\n required_providers {\n  x = {\n   source = \"a/x\"\n   configuration_aliases = [x.in]\n  \
                  }\n }\n}\nprovider \"x\" {\n alias = \"many\"\n for_each = var.x\n}\nprovider \"x\" {\n alias = \"one\"\n}\n";
    check_providers(
        module,
        "mock_provider \"x\" {\n alias = \"many\"\n for_each = var.x\n}\nprovider \"x\" {\n alias = \"one\"\n}\n",
        &expect![[""]],
    );
    check_providers(
        module,
        "mock_provider \"x\" {\n alias = \"many\"\n}\nprovider \"x\" {\n alias = \"one\"\n for_each = {}\n}\n\
         provider \"x\" {\n alias = \"in\"\n for_each = {}\n}\nprovider \"x\" {\n alias = \"own\"\n for_each = {}\n}\n",
        &expect![[r#"
            10:13 Error: Invalid provider configuration in test file
            6:13 Error: Invalid provider configuration in test file
            14:13 Error: Invalid provider configuration in test file
            1:1 Error: Invalid provider configuration in test file
        "#]],
    );
    check_providers(
        module,
        "mock_provider \"x\" {\n alias = \"many\"\n for_each = var.x\n}\nrun \"a\" {\n providers = {\n  x.one = x.many\n  \
         x = x.many[\"a\"]\n }\n}\n",
        &expect![[r#"
            7:11 Error: Invalid provider configuration reference
            8:7 Error: Invalid provider configuration reference
        "#]],
    );
}
