//! Requests to providers while a configuration is validated.

use expect_test::expect;

use super::found_with;
use crate::testing::Halves;

#[test]
fn functions_of_providers_are_called() {
    let fixture = r#"
--- main.tf
terraform {
  required_providers {
    p = { source = "x/p" }
  }
}
variable "v" {
  sensitive = true
}
locals {
  good      = provider::p::half("8") == 4 ? 1 : tonumber("not called")
  unknown   = provider::p::half(var.v)
  odd       = provider::p::half(7)
  null      = provider::p::half(null)
  kind      = provider::p::half([])
  many      = provider::p::half(1, 2)
  few       = provider::p::half()
  wrong     = provider::p::half(1)
  caught    = try(provider::p::half(7), 0)
  half_typo = provider::p::halv(1)
  nobody    = provider::q::half(1)
}
provider "p" {
  alias = "other"
}
locals {
  configured = provider::p::other::only_then(1, "x")
}
resource "p_r" "r" {
  name = "bad"
}
resource "p_r" "s" {
  provider = p.other
  name     = provider::p::half(6) == 3 ? "bad" : ""
}
"#;
    expect![[r#"
        main.tf:12:33 error: Invalid function argument
        Invalid value for "number" parameter: is odd.
        main.tf:13:33 error: Invalid function argument
        Invalid value for "number" parameter: argument must not be null.
        main.tf:14:33 error: Invalid function argument
        Invalid value for "number" parameter: number required, but this is tuple.
        main.tf:15:36 error: Too many function arguments
        The function "provider::p::half" takes only 1 argument but 2 were given.
        main.tf:16:33 error: Not enough function arguments
        The function "provider::p::half" takes 1 argument but none was given: the value for "number" is missing.
        main.tf:17:15 error: Error in function call
        Call to function "provider::p::half" failed: the result does not have the type in the schema of the function: number required, but this is string. Report this bug to the maintainers of the provider.
        main.tf:19:15 error: Function not found in provider
        The provider has no function "halv". Did you mean "half"?
        main.tf:20:15 error: Unknown function provider
        The required_providers of this module contain no provider with the local name "q".
        main.tf:29:10 error: Bad name
        Resource(Managed, "p_r")
        main.tf:33:14 error: Bad name
        Resource(Managed, "p_r")
    "#]]
    .assert_eq(&found_with(fixture, true, &Halves::default()));
}

#[test]
fn calls_of_an_expression_are_made_together_and_each_once() {
    let fixture = |locals: &str| {
        let start = "--- main.tf\nterraform {\n required_providers {\n p = { source = \"x/p\" }\n }\n}\n";
        format!("{start}locals {{\n{locals}\n}}\n")
    };
    let check = |locals: &str, calls: usize| {
        let provider = Halves::default();
        assert_eq!(found_with(&fixture(locals), true, &provider), "");
        assert_eq!(provider.calls.lock().expect("because nothing panics").len(), calls, "{locals}");
    };
    check("  a = [for n in range(100) : provider::p::half(2 * n)]", 100);
    check("  a = [for n in range(100) : provider::p::half(2 * (n % 10))]", 10);
    check("  a = provider::p::half(provider::p::half(provider::p::half(80)))", 3);
    check("  a = provider::p::half(80)\n  b = provider::p::half(local.a) + local.a", 2);
    // The chain is evaluated from its end first.
    let chain: String =
        (1..20).map(|n| format!("  l{n} = provider::p::half(2 * local.l{})\n", n + 1)).collect::<String>()
            + "  l20 = 4";
    check(&chain, 1);
}

#[test]
fn providers_think_about_resources_that_do_not_depend_on_each_other_at_the_same_time() {
    let start = "--- main.tf\nterraform {\n required_providers {\n p = { source = \"x/p\" }\n }\n}\n";
    let check = |resources: &str, order: &expect_test::Expect, found: &expect_test::Expect| {
        let provider = Halves::default();
        found.assert_eq(&found_with(&format!("{start}{resources}"), false, &provider));
        order.assert_eq(&provider.validations.lock().expect("because nothing panics"));
    };
    let resources = r#"
resource "p_r" "a" { name = "a" }
resource "p_r" "b" { name = "bad" }
resource "p_r" "c" { name = "${p_r.b.name}, which depends on what is wrong" }
resource "p_r" "d" { name = p_r.a.name }
resource "p_r" "e" { name = "e" }
"#;
    check(
        resources,
        &expect!["+a +bad =a =bad +? +e =? =e "],
        &expect![[r#"
            main.tf:8:29 error: Bad name
        "#]],
    );
    let many: String = (10..23).map(|n| format!("resource \"p_r\" \"r{n}\" {{ name = \"{n}\" }}\n")).collect();
    check(
        &many,
        &expect![
            "+10 +11 +12 +13 +14 +15 +16 +17 +18 +19 =10 =11 =12 =13 =14 =15 =16 =17 =18 =19 +20 =20 +21 =21 +22 =22 "
        ],
        &expect![""],
    );
}
