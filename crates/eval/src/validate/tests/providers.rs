//! What is asked of providers while a configuration is validated.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use ecow::{EcoString, eco_format};
use expect_test::expect;
use yuba_addrs::{AbsProviderConfig, ProviderSource};
use yuba_provider::{
    Answer, Attribute, BlockSchema, Callee, ConfigurationOf, Outcome, Problem, Provider, ProviderSchema, Providers,
    Schema,
};
use yuba_syntax::Diagnostic;
use yuba_value::function::{self, FunctionError, Param, Signature};
use yuba_value::{Path, Type, Value};

use super::found_with;

/// Has the function `half`, and resources whose `name` must not be "bad". Writes down calls and answers, which take a while.
#[derive(Default)]
struct Halves {
    calls: Arc<Mutex<Vec<String>>>,
    validations: Arc<Mutex<String>>,
}

/// Answers when it is asked for the second time.
fn later<T: Send + 'static>(answer: impl FnOnce() -> T + Send + 'static) -> Answer<'static, T> {
    let mut asked = false;
    let mut answer = Some(answer);
    Box::pin(std::future::poll_fn(move |_| match (std::mem::replace(&mut asked, true), answer.take()) {
        (true, Some(answer)) => Poll::Ready(answer()),
        (_, kept) => {
            answer = kept;
            Poll::Pending
        }
    }))
}

fn half(args: &[Value]) -> function::Result {
    match args.first().and_then(|value| value.as_number()).and_then(yuba_value::Number::to_i64) {
        Some(number) if number % 2 == 0 => Ok(Value::int(number / 2)),
        Some(1) => Ok(Value::string("none")),
        Some(_) => Err(FunctionError::arg(0, "is odd")),
        None => Err(FunctionError::new("is no number")),
    }
}

impl Providers for Halves {
    fn schema(&self, provider: &ProviderSource) -> Option<Arc<ProviderSchema>> {
        schema(provider)
    }
    fn start(&self, config: &AbsProviderConfig) -> Result<Arc<dyn Provider>, Box<Problem>> {
        self.unconfigured(&config.provider)
    }
    fn unconfigured(&self, _: &ProviderSource) -> Result<Arc<dyn Provider>, Box<Problem>> {
        unreachable!("everything is answered without a process")
    }
    fn call_function(&self, callee: &Callee, name: EcoString, args: Vec<Value>) -> Answer<'_, function::Result> {
        assert!(matches!(callee, Callee::Unconfigured(provider) if provider.kind == "p") && name == "half");
        self.calls.lock().expect("because nothing panics").push(format!("{args:?}"));
        later(move || half(&args))
    }
    fn functions(&self, _: &Callee) -> Answer<'_, Outcome<BTreeMap<EcoString, Signature>>> {
        unreachable!("nothing is configured")
    }
    fn validate(&self, _: &ProviderSource, of: ConfigurationOf, config: Value) -> Answer<'_, Vec<Problem>> {
        let entries = config.entries().unwrap_or_default();
        let name = entries.first().and_then(|(_, name)| name.as_str()).map_or("?".to_owned(), ToString::to_string);
        *self.validations.lock().expect("because nothing panics") += &format!("+{name} ");
        let is_bad = |(name, value): &(EcoString, Value)| {
            name == "name" && value.as_str().is_some_and(|text| text == "bad") && config.is_deeply_unmarked()
        };
        let path = Path::new().attr("name");
        let problem = || Problem::at(Diagnostic::error("Bad name", eco_format!("{of:?}")), path.clone());
        let found: Vec<Problem> = entries.iter().filter(|entry| is_bad(entry)).map(|_| problem()).collect();
        let log = self.validations.clone();
        later(move || {
            *log.lock().expect("because nothing panics") += &format!("={name} ");
            found
        })
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
        The required_providers of this module have no provider with the local name "q".
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
            "+10 +11 +12 +13 +14 +15 +16 +17 +18 +19 =10 +20 =11 +21 =12 +22 =13 =14 =15 =16 =17 =18 =19 =20 =21 =22 "
        ],
        &expect![""],
    );
}
