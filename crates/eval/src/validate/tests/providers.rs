//! What is asked of providers while a configuration is validated.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use expect_test::expect;
use yuba_addrs::ProviderSource;
use yuba_provider::{Attribute, BlockSchema, Problem, Provider, ProviderSchema, Schema};
use yuba_syntax::Diagnostic;
use yuba_value::function::{self, FunctionError, Param, Signature};
use yuba_value::{Path, Type, Value};

use super::found_with;
use crate::diagnostics::OPERATION_FAILED;
use crate::provider_functions::{AskProviders, Asked, ConfigurationOf, Opinion};

/// Has the function `half`, and resources whose `name` must not be "bad".
struct Halves;

impl AskProviders for Halves {
    fn has(&self, provider: &ProviderSource) -> bool {
        provider.kind == "p"
    }
    fn call(&self, asked: Asked<'_>, function: &EcoString, args: Vec<Value>) -> function::Result {
        assert!(matches!(asked, Asked::Unconfigured(provider) if provider.kind == "p") && function == "half");
        match args.first().and_then(|value| value.as_number()).and_then(yuba_value::Number::to_i64) {
            Some(number) if number % 2 == 0 => Ok(Value::int(number / 2)),
            Some(1) => Ok(Value::string("none")),
            Some(_) => Err(FunctionError::arg(0, "is odd")),
            None => Err(FunctionError::new("is no number")),
        }
    }
    fn functions(&self, _: &Arc<dyn Provider>) -> Result<BTreeMap<EcoString, Signature>, Vec<Problem>> {
        unreachable!("nothing is configured")
    }
    fn validate(&self, _: &ProviderSource, of: ConfigurationOf, config: Value) -> Opinion {
        let entries = config.entries().unwrap_or_default();
        let is_bad = |(name, value): &(EcoString, Value)| {
            name == "name" && value.as_str().is_some_and(|text| text == "bad") && config.is_deeply_unmarked()
        };
        let path = Path::new().attr("name");
        let problem =
            || Problem::at(Diagnostic::new(&OPERATION_FAILED, eco_format!("{of:?}")).titled("Bad name"), path.clone());
        let found = entries.iter().filter(|entry| is_bad(entry)).map(|_| problem()).collect();
        Box::new(move || found)
    }
}

fn schema(provider: &ProviderSource) -> Option<Arc<ProviderSchema>> {
    let half = Signature::new("half", "", vec![Param::new("number", Type::number(), "")], Type::number());
    let named = BlockSchema::new([("name", Attribute::optional(Type::string()))]);
    let schema = Schema { version: 0, block: named };
    let all = ProviderSchema {
        provider: schema.clone(),
        resources: [("p_r", schema)].into(),
        functions: BTreeMap::from([("half".into(), half)]),
        ..ProviderSchema::default()
    };
    (provider.kind == "p").then(|| Arc::new(all))
}

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
        Call to function "provider::p::half" failed: the provider's answer is not of the type that its schema promises: number required, but this is string. This is a bug in the provider, which should be reported to those who make it.
        main.tf:19:15 error: Function not found in provider
        The provider has no function "halv". Did you mean "half"?
        main.tf:20:15 error: Unknown function provider
        The required_providers of this module contain no provider with the local name "q".
        main.tf:29:10 error: Bad name
        Resource(Managed, "p_r")
        main.tf:33:14 error: Bad name
        Resource(Managed, "p_r")
    "#]]
    .assert_eq(&found_with(fixture, true, &schema, Some(&Halves)));
}

/// Writes down when it is asked and when it is waited for.
#[derive(Default)]
struct Thoughtful(Rc<RefCell<String>>);

impl AskProviders for Thoughtful {
    fn has(&self, provider: &ProviderSource) -> bool {
        Halves.has(provider)
    }
    fn call(&self, asked: Asked<'_>, function: &EcoString, args: Vec<Value>) -> function::Result {
        Halves.call(asked, function, args)
    }
    fn functions(&self, provider: &Arc<dyn Provider>) -> Result<BTreeMap<EcoString, Signature>, Vec<Problem>> {
        Halves.functions(provider)
    }
    fn validate(&self, provider: &ProviderSource, of: ConfigurationOf, config: Value) -> Opinion {
        let entries = config.entries().unwrap_or_default();
        let name = entries.first().and_then(|(_, name)| name.as_str()).map_or("?".to_owned(), ToString::to_string);
        *self.0.borrow_mut() += &format!("+{name} ");
        let (log, opinion) = (self.0.clone(), Halves.validate(provider, of, config));
        Box::new(move || {
            *log.borrow_mut() += &format!("={name} ");
            opinion()
        })
    }
}

#[test]
fn providers_think_about_resources_that_do_not_depend_on_each_other_at_the_same_time() {
    let start = "--- main.tf\nterraform {\n required_providers {\n p = { source = \"x/p\" }\n }\n}\n";
    let check = |resources: &str, order: &expect_test::Expect, found: &expect_test::Expect| {
        let provider = Thoughtful::default();
        found.assert_eq(&found_with(&format!("{start}{resources}"), false, &schema, Some(&provider)));
        order.assert_eq(&provider.0.borrow());
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
            "+10 +11 +12 +13 +14 +15 +16 +17 +18 +19 =10 +20 =11 +21 =12 +22 =13 =14 =15 =16 =17 =18 =19 =20 =21 =22 "
        ],
        &expect![""],
    );
}
