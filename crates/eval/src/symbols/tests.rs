//! Libraries from texts, and what modules make of them.

use std::sync::Arc;

use ecow::EcoString;
use expect_test::{Expect, expect};
use yuba_addrs::ProviderSource;
use yuba_provider::{Attribute, BlockSchema, ProviderSchema, Schema};
use yuba_syntax::parser::parse_expression;
use yuba_syntax::{Diagnostics, SourceFile, Sources};
use yuba_value::Type;

use crate::inputs::Inputs;
use crate::module_scope::EvalEnv;
use crate::static_eval::{StaticCache, StaticEnv, StaticUse, Statics};
use crate::testing::{Lenient, now};
use crate::tree::tests::{Memory, run, shown};
use crate::tree::{Link, Manifest, ModuleId, Purpose, link};
use crate::validate::{PARALLELISM, ValidateEnv, validate};
use crate::world::MemoryWorld;

/// Links a configuration; shows all of each message.
fn check_link(fixture: &str, expect: &Expect) {
    expect.assert_eq(&linked(fixture, &[]));
}

/// Links a configuration and evaluates expressions in its root module.
fn check(fixture: &str, expressions: &[&str], expect: &Expect) {
    expect.assert_eq(&linked(fixture, expressions));
}

fn linked(fixture: &str, expressions: &[&str]) -> String {
    let world = MemoryWorld::new();
    let inputs = Inputs::default();
    let mut memory = Memory::new(fixture);
    let options = Link {
        root_dir: ".",
        world: &world,
        workspace: "default",
        original_dir: None,
        inputs: &inputs,
        manifest: &Manifest::default(),
        purpose: Purpose::Use,
    };
    let (tree, problems) = link(&mut memory, &options);
    let mut out = rendered(&problems.into_all(), &memory.sources);
    for text in expressions {
        let file = memory.sources.add(SourceFile::new("<expression>", text.as_bytes()));
        let (expr, problems) = parse_expression(file, text.as_bytes());
        assert!(problems.is_empty(), "{text}");
        let env = StaticEnv {
            world: &world,
            workspace: "default",
            original_dir: None,
            inputs: &inputs,
            sources: Some(&memory.sources),
        };
        let cache = StaticCache::default();
        let statics = Statics::new(&tree, env, &cache);
        let (value, problems) = statics.evaluate(ModuleId::ROOT, &expr, &StaticUse::new("test", expr.span));
        out += &match problems.has_errors() {
            true => format!("{text} => {}", rendered(&problems, &memory.sources)),
            false => format!("{text} => {value:?}\n"),
        };
    }
    out
}

/// Messages with all of their details.
fn rendered(problems: &Diagnostics, sources: &Sources) -> String {
    let mut out = String::new();
    for problem in problems.iter() {
        out += &shown(&problem.clone().into(), sources);
        let explanation = problem.explanation();
        out.extend(explanation.lines().skip(1).filter(|line| !line.is_empty()).map(|line| format!("    {line}\n")));
    }
    out
}

const LIBRARY: &str = r#"
--- main.tf
symbols "lib" {
  source = "./lib.tfsym.hcl"
}
--- lib.tfsym.hcl
symbols "more" {
  source = "./more"
}
values {
  region = "eu-${symbols.more.side}"
  zones  = [for z in ["a", "b"] : symbols::zone(z)]
  all    = { region = value.region, count = length(value.zones) }
}
function "zone" {
  parameter "letter" {
    type = string
  }
  return = "${value.region}-1${param.letter}"
}
function "tags" {
  parameter "base" {
    type = symbols::base()
  }
  parameter "more" {
    type     = map(string)
    variadic = true
  }
  return = merge({ team = param.base.team, tier = param.base.tier }, param.more...)
}
function "twice" {
  parameter "x" {}
  return = symbols::more::double(param.x)
}
typedef "base" {
  type = object({ team = string, tier = optional(string, "dev") })
}
--- more/a.sym.hcl
values {
  side = "west"
}
--- more/b.sym.hcl
function "double" {
  parameter "n" {
    type = number
  }
  return = param.n * 2
}
"#;

#[test]
fn values_and_functions_of_libraries() {
    check(
        LIBRARY,
        &[
            "symbols.lib.region",
            "symbols.lib.zones[1]",
            "symbols.lib.all.count",
            "keys(symbols.lib)",
            "symbols::lib::zone(3)",
            "symbols::lib::tags({ team = \"a\" })",
            "symbols::lib::tags({ team = \"a\", tier = \"prod\" }, { x = 1 }, { y = true })",
            "symbols::lib::twice(\"4\")",
            "symbols::lib::twice([1, 2]...)",
            "symbols::lib::twice([21]...)",
            "[for symbols in [1] : symbols]",
            "try(symbols::lib::twice(\"x\"), 0)",
            "templatestring(\"<$${symbols::lib::twice(2)}>\", {})",
            "symbols::lib::twice(sensitive(2))",
        ],
        &expect![[r#"
            symbols.lib.region => "eu-west"
            symbols.lib.zones[1] => "eu-west-1b"
            symbols.lib.all.count => 2
            keys(symbols.lib) => tuple["all", "region", "zones"]
            symbols::lib::zone(3) => "eu-west-13"
            symbols::lib::tags({ team = "a" }) => {team="a", tier="dev"}
            symbols::lib::tags({ team = "a", tier = "prod" }, { x = 1 }, { y = true }) => {team="a", tier="prod", x="1", y="true"}
            symbols::lib::twice("4") => 8
            symbols::lib::twice([1, 2]...) => error <expression>:1,21 Too many function arguments: The function "symbols::lib::twice" takes only 1 argument but 2 were given.
            symbols::lib::twice([21]...) => 42
            [for symbols in [1] : symbols] => tuple[1]
            try(symbols::lib::twice("x"), 0) => 0
            templatestring("<$${symbols::lib::twice(2)}>", {}) => "<4>"
            symbols::lib::twice(sensitive(2)) => (sensitive)
        "#]],
    );
}

#[test]
fn errors_in_the_use_of_libraries() {
    check(
        LIBRARY,
        &[
            "symbols.lib.regio",
            "symbols.lib.twice",
            "symbols.lib.base",
            "symbols.nope.x",
            "symbols.lib.region.x",
            "symbols",
            "symbols::lib::zones(1)",
            "symbols::lib::base()",
            "symbols::nope::f()",
            "symbols::twice(1)",
            "symbols::lib::zone()",
            "symbols::lib::zone(1, 2)",
            "symbols::lib::zone([])",
            "symbols::lib::tags({})",
            "symbols::lib::tags({ team = \"x\" }, 1)",
            "symbols::lib::twice(\"x\")",
            "symbols::a::b::c()",
            "false ? symbols::lib::nope() : 1",
        ],
        &expect![[r#"
            symbols.lib.regio => error <expression>:1,1 Reference to undefined symbol: This is a reference to the block symbols "lib" at main.tf:1, whose library lib.tfsym.hcl has no value named "regio". Did you mean "region"?
            symbols.lib.twice => error <expression>:1,1 Reference to undefined symbol: This is a reference to the block symbols "lib" at main.tf:1, whose library lib.tfsym.hcl has no value named "twice". To call the function of this name, write symbols::lib::twice(...).
            symbols.lib.base => error <expression>:1,1 Reference to undefined symbol: This is a reference to the block symbols "lib" at main.tf:1, whose library lib.tfsym.hcl has no value named "base". To use the type of this name in a type constraint, write type = symbols::lib::base().
            symbols.nope.x => error <expression>:1,1 Reference to undefined symbol library: There is no symbols block named "nope" defined in this module.
            symbols.lib.region.x => error <expression>:1,19 Unsupported attribute: This is a string, which has no attributes.
                The expression was understood as a reference to the block symbols "lib" at main.tf:1, whose library is lib.tfsym.hcl.
            symbols => error <expression>:1,1 Invalid reference: A dot and the label of a symbols block are required after "symbols".
            symbols::lib::zones(1) => error <expression>:1,1 Call to unknown function: The symbol library lib.tfsym.hcl, included at main.tf:1, has no function named "zones". To use the value of this name, write symbols.lib.zones.
            symbols::lib::base() => error <expression>:1,1 Call to unknown function: The symbol library lib.tfsym.hcl, included at main.tf:1, has no function named "base". To use the type of this name in a type constraint, write type = symbols::lib::base().
            symbols::nope::f() => error <expression>:1,1 Reference to undefined symbol library: There is no symbols block named "nope" defined in this module.
            symbols::twice(1) => error <expression>:1,1 Reference to undefined symbol: Only the symbol library itself can call its functions and types as symbols::twice(...). Did you mean symbols::lib::twice(...)?
            symbols::lib::zone() => error <expression>:1,20 Not enough function arguments: The function "symbols::lib::zone" takes 1 argument but none was given: the value for "letter" is missing.
            symbols::lib::zone(1, 2) => error <expression>:1,23 Too many function arguments: The function "symbols::lib::zone" takes only 1 argument but 2 were given.
            symbols::lib::zone([]) => error <expression>:1,20 Invalid function argument: The value of the parameter "letter" is not valid: string required, but this is tuple (the function is defined at lib.tfsym.hcl:9).
            symbols::lib::tags({}) => error <expression>:1,20 Invalid function argument: The value of the parameter "base" is not valid: attribute "team" is required (the function is defined at lib.tfsym.hcl:15).
            symbols::lib::tags({ team = "x" }, 1) => error <expression>:1,36 Invalid function argument: The value of the parameter "more" is not valid: map of string required, but this is number (the function is defined at lib.tfsym.hcl:15).
            symbols::lib::twice("x") => error <expression>:1,1 Error in function call: The function "symbols::lib::twice" failed: lib.tfsym.hcl:27,34-41: Invalid function argument; The value of the parameter "n" is not valid: a number is required (the function is defined at more/b.sym.hcl:1).
            symbols::a::b::c() => error <expression>:1,1 Unknown function namespace: There is no function named "symbols::a::b::c". The namespace "core" contains the built-in functions, "provider" those of providers.
            false ? symbols::lib::nope() : 1 => error <expression>:1,9 Call to unknown function: The symbol library lib.tfsym.hcl, included at main.tf:1, has no function named "nope".
        "#]],
    );
}

#[test]
fn errors_in_libraries() {
    check_link(
        r#"
--- main.tf
symbols "a" {
  source = "./a.tfsym.hcl"
}
--- a.tfsym.hcl
values {
  a = var.x
  b = value.nope
  c = value.b.c
  d = param.x
  e = file("x")
  f = timestamp()
  g = provider::x::y()
  h = symbols.nope.x
  i = symbols::nope()
  j = symbols::other::f()
  k = value
  l = aws_x.y
}
function "f" {
  parameter "p" {
    type = symbols::nope()
  }
  return = param.q + value.zz
}
"#,
        &expect![[r#"
            error a.tfsym.hcl:17,12 Reference to undeclared type: There is no type named "nope" in this library.
            error a.tfsym.hcl:2,7 Invalid reference in symbol library: A symbol library does not depend on the module that uses it, so it cannot refer to "var". It can use value.<name> for its own values, and symbols.<library>.<name> for values of libraries that it includes.
            error a.tfsym.hcl:3,7 Reference to undeclared value: There is no value named "nope" in this library.
            error a.tfsym.hcl:5,7 Invalid reference in symbol library: param.<name> is available only in the "return" argument of a function.
            error a.tfsym.hcl:6,7 Impure function in symbol library: The function "file" reads files, the clock or random numbers. The symbols of a library depend only on the library. Call it in the module, and pass the result to a function of the library.
            error a.tfsym.hcl:7,7 Impure function in symbol library: The function "timestamp" reads files, the clock or random numbers. The symbols of a library depend only on the library. Call it in the module, and pass the result to a function of the library.
            error a.tfsym.hcl:8,7 Provider function in symbol library: A symbol library has no providers, so it cannot call "provider::x::y".
            error a.tfsym.hcl:9,7 Reference to undefined symbol library: There is no symbols block named "nope" defined in this library.
            error a.tfsym.hcl:10,7 Call to unknown function: The symbol library a.tfsym.hcl has no function named "nope".
            error a.tfsym.hcl:11,7 Reference to undefined symbol library: There is no symbols block named "other" defined in this library.
            error a.tfsym.hcl:12,7 Invalid reference: A dot and the name of a value must follow "value".
            error a.tfsym.hcl:13,7 Invalid reference in symbol library: A symbol library does not depend on the module that uses it, so it cannot refer to "aws_x". It can use value.<name> for its own values, and symbols.<library>.<name> for values of libraries that it includes.
            error a.tfsym.hcl:19,12 Reference to undeclared parameter: There is no parameter named "q" in the function "f".
            error a.tfsym.hcl:19,22 Reference to undeclared value: There is no value named "zz" in this library.
        "#]],
    );
    check_link(
        r#"
--- main.tf
symbols "a" {
  source = "./a.tfsym.hcl"
}
locals {
  x = 1
}
module "m" {
  source = symbols.a.a
}
--- a.tfsym.hcl
values {
  a = upper([])
  b = templatestring("$${file(\"x\")}", {})
}
function "f" {
  parameter "p" {
    type = object({ a = string })
  }
  return = param.p.b
}
"#,
        &expect![[r#"
            error a.tfsym.hcl:9,19 Unsupported attribute: This object does not have an attribute named "b".
            error a.tfsym.hcl:2,13 Invalid function argument: The value of the parameter "str" is not valid: string required, but this is tuple.
            error a.tfsym.hcl:3,7 Error in function call: The function "templatestring" failed: template:1,3-7: Call to unknown function; There is no function named "file".
            error main.tf:8,12 Unable to compute static value: module.m.source depends on symbols.a.a which is not available
        "#]],
    );
}

#[test]
fn nothing_depends_on_itself() {
    check_link(
        r#"
--- main.tf
symbols "a" {
  source = "./a.tfsym.hcl"
}
--- a.tfsym.hcl
values {
  a = value.b
  b = symbols::f(1)
  c = value.c
}
function "f" {
  parameter "p" {}
  return = symbols::g() + value.a
}
function "g" {
  return = true ? 1 : symbols::g()
}
typedef "t" {
  type = list(symbols::u())
}
typedef "u" {
  type = object({ t = symbols::t() })
}
"#,
        &expect![[r#"
            error a.tfsym.hcl:17,23 Circular reference: symbols::t() depends on itself:
                  - symbols::t() (a.tfsym.hcl:13) uses symbols::u()
                  - symbols::u() (a.tfsym.hcl:16) uses symbols::t()
                Symbol libraries do not support recursion, so this type has no result.
            error a.tfsym.hcl:3,7 Circular reference: symbols::f() depends on itself:
                  - symbols::f() (a.tfsym.hcl:6) uses value.a
                  - value.a (a.tfsym.hcl:2) uses value.b
                  - value.b (a.tfsym.hcl:3) uses symbols::f()
                Symbol libraries do not support recursion, so this function has no result.
            error a.tfsym.hcl:11,23 Circular reference: symbols::g() depends on itself:
                  - symbols::g() (a.tfsym.hcl:10) uses symbols::g()
                Symbol libraries do not support recursion, so this function has no result.
            error a.tfsym.hcl:4,7 Circular reference: value.c depends on itself:
                  - value.c (a.tfsym.hcl:4) uses value.c
                Symbol libraries do not support recursion, so this value has no result.
        "#]],
    );
    check_link(
        r#"
--- main.tf
symbols "a" {
  source = "./a.tfsym.hcl"
}
symbols "b" {
  source = "./dir/b.tfsym.hcl"
}
symbols "missing" {
  source = "./nope"
}
--- a.tfsym.hcl
values {
  x = symbols.b.y
}
symbols "b" {
  source = "./dir/b.tfsym.hcl"
}
--- dir/b.tfsym.hcl
symbols "a" {
  source = "../a.tfsym.hcl"
}
symbols "b" {
  source = "./b.tfsym.hcl"
}
"#,
        &expect![[r#"
            error dir/b.tfsym.hcl:2,12 Symbol library includes itself: The symbol library a.tfsym.hcl includes itself:
                  - a.tfsym.hcl includes dir/b.tfsym.hcl (a.tfsym.hcl:4)
                  - dir/b.tfsym.hcl includes a.tfsym.hcl (dir/b.tfsym.hcl:1)
                Move the shared symbols to a library of their own.
            error dir/b.tfsym.hcl:5,12 Symbol library includes itself: The symbol library dir/b.tfsym.hcl includes itself:
                  - dir/b.tfsym.hcl includes dir/b.tfsym.hcl (dir/b.tfsym.hcl:4)
                Move the shared symbols to a library of their own.
            error main.tf:8,12 Unreadable symbol library: Failed to read the symbol library "missing" at nope: there is nothing.
        "#]],
    );
}

#[test]
fn a_library_is_read_once() {
    let blocks: String = (0..20).map(|i| format!("symbols \"s{i}\" {{\n  source = \"./l.tfsym.hcl\"\n}}\n")).collect();
    let mut memory = Memory::new(&format!("--- main.tf\n{blocks}--- l.tfsym.hcl\nvalues {{\n}}\n"));
    let (tree, problems) = run(&mut memory, &[], &Manifest::default(), Purpose::Use);
    assert_eq!((tree.root().symbols.len(), problems.as_str(), memory.reads), (20, "", 2));
}

#[test]
fn calls_that_take_forever_are_stopped() {
    let mut text = String::from("function \"f0\" {\n  return = 1\n}\n");
    for i in 1..60 {
        text += &format!("function \"f{i}\" {{\n  return = symbols::f{0}() + symbols::f{0}()\n}}\n", i - 1);
    }
    let fixture = format!("--- main.tf\nsymbols \"a\" {{\n  source = \"./a\"\n}}\n--- a/a.sym.hcl\n{text}");
    let out = linked(&fixture, &["symbols::a::f59()"]);
    assert!(out.contains("Too many iterations"), "{out}");
}

#[test]
fn types_of_libraries_in_variables() {
    check(
        r#"
--- main.tf
symbols "lib" {
  source = "./lib.tfsym.hcl"
}
variable "a" {
  type    = list(symbols::lib::server())
  default = [{ name = "x" }]
  const   = true
}
variable "b" {
  type    = symbols::lib::id()
  default = 5
}
--- lib.tfsym.hcl
typedef "server" {
  type = object({ name = string, id = optional(symbols::id(), 7) })
}
typedef "id" {
  type = string
}
"#,
        &["var.a", "var.b"],
        &expect![[r#"
            var.a => [{id="7", name="x"}]
            var.b => "5"
        "#]],
    );
    check_link(
        r#"
--- main.tf
symbols "lib" {
  source = "./lib.tfsym.hcl"
}
variable "a" {
  type = symbols::lib::servr()
}
variable "b" {
  type = symbols::nope::x()
}
variable "c" {
  type = list(symbols::lib::server(string))
}
variable "d" {
  type    = symbols::lib::server()
  default = {}
}
variable "e" {
  type = symbols::server()
}
variable "f" {
  type = symbols::lib::x()
}
--- lib.tfsym.hcl
typedef "server" {
  type = object({ name = string })
}
values {
  x = 1
}
"#,
        &expect![[r#"
            error main.tf:5,10 Reference to undefined type: The symbol library lib.tfsym.hcl, included at main.tf:1, has no typedef named "servr". Did you mean "server"?
            error main.tf:8,10 Reference to undefined symbol library: There is no symbols block named "nope" defined in this module.
            error main.tf:11,35 Invalid type specification: The type symbols::lib::server(), defined at lib.tfsym.hcl:1, does not accept arguments.
            error main.tf:15,13 Invalid default value for variable: The default does not match the type of the variable: attribute "name" is required.
            error main.tf:18,10 Reference to undefined symbol: Only the symbol library itself can call its functions and types as symbols::server(...). Did you mean symbols::lib::server(...)?
            error main.tf:21,10 Reference to undefined type: The symbol library lib.tfsym.hcl, included at main.tf:1, has no typedef named "x". To use the value of this name, write symbols.lib.x.
        "#]],
    );
}

#[test]
fn types_have_a_limit() {
    let mut text = String::from("typedef \"t0\" {\n  type = object({ a = string, b = string })\n}\n");
    for i in 1..30 {
        text += &format!(
            "typedef \"t{i}\" {{\n  type = object({{ a = symbols::t{0}(), b = symbols::t{0}() }})\n}}\n",
            i - 1
        );
    }
    let fixture = format!("--- main.tf\nsymbols \"a\" {{\n  source = \"./a\"\n}}\n--- a/a.sym.hcl\n{text}");
    assert!(linked(&fixture, &[]).contains("Invalid type specification"));
}

/// Diagnostics of validation with a provider that has a resource type named `symbols`.
fn check_validate(fixture: &str, expect: &Expect) {
    let world = MemoryWorld::new();
    let inputs = Inputs::default();
    let mut memory = Memory::new(fixture);
    let (tree, problems) = run(&mut memory, &[], &Manifest::default(), Purpose::Use);
    assert_eq!(problems, "");
    let block = BlockSchema::new([("id", Attribute::computed(Type::string()))]);
    let resources = [(EcoString::from("symbols"), Schema { version: 0, block })].into();
    let schema = Arc::new(ProviderSchema { resources, ..ProviderSchema::default() });
    let schemas = |_: &ProviderSource| Some(Arc::clone(&schema));
    let eval = EvalEnv {
        world: &world,
        workspace: "default",
        original_dir: None,
        providers: &Lenient(schemas),
        sources: Some(&memory.sources),
    };
    let references = crate::graph::References::read(&tree, eval);
    let env = ValidateEnv { eval, references: &references, inputs: &inputs, parallelism: PARALLELISM };
    let problems = now(validate(&tree, &env));
    expect.assert_eq(&rendered(&problems, &memory.sources));
}

#[test]
fn each_module_decides_what_the_word_means() {
    let library = "--- lib.tfsym.hcl\nvalues {\n  v = { a = 1 }\n}\n";
    let block = "symbols \"s\" {\n  source = \"./lib.tfsym.hcl\"\n}\n";
    // The root module has the block, the child only a resource.
    check_validate(
        &format!(
            "--- main.tf\n{block}locals {{\n  x = symbols.s.v.a\n}}\nmodule \"m\" {{\n  source = \"./m\"\n}}\n{library}\
             --- m/main.tf\nresource \"symbols\" \"s\" {{}}\nlocals {{\n  x = symbols.s.id\n  y = symbols.s.v\n}}\n"
        ),
        &expect![[r#"
            error m/main.tf:4,16 Unsupported attribute: This object does not have an argument, block or computed attribute "v".
        "#]],
    );
    // Only a resource: nothing is new.
    check_validate(
        "--- main.tf\nresource \"symbols\" \"s\" {}\nlocals {\n  x = symbols.nope.x\n}\n",
        &expect![[r#"
            error main.tf:3,7 Reference to undeclared resource: There is no managed resource "symbols" "nope" in the root module.
        "#]],
    );
    // Both: the block wins.
    check_validate(
        &format!(
            "--- main.tf\n{block}resource \"symbols\" \"s\" {{}}\nresource \"symbols\" \"t\" {{}}\nlocals {{\n  \
             a = symbols.s.v.a\n  b = resource.symbols.s.id\n  c = symbols.s.id[0].x\n  d = symbols.t.id[\"x\"]\n  \
             e = resource.symbols.s.v\n  f = symbols.s.v.b\n}}\n{library}"
        ),
        &expect![[r#"
            error main.tf:9,7 Reference to undefined symbol: This is a reference to the block symbols "s" at main.tf:1, whose library lib.tfsym.hcl has no value named "id".
                Did you intend to refer to resource "symbols" "s"? If so, use the "resource." prefix:
                    resource.symbols.s.id[0].x
            error main.tf:10,7 Reference to undefined symbol library: There is no symbols block named "t" defined in this module.
                Did you intend to refer to resource "symbols" "t"? If so, use the "resource." prefix:
                    resource.symbols.t.id["x"]
            error main.tf:11,25 Unsupported attribute: This object does not have an argument, block or computed attribute "v".
            error main.tf:12,18 Unsupported attribute: This object does not have an attribute named "b".
                The expression was understood as a reference to the block symbols "s" at main.tf:1, whose library is lib.tfsym.hcl.
        "#]],
    );
    // Neither.
    check_validate(
        "--- main.tf\nlocals {\n  x = symbols.s.v\n}\n",
        &expect![[r#"
        error main.tf:2,7 Reference to undefined symbol library: There is no symbols block named "s" defined in this module.
    "#]],
    );
}

#[test]
fn functions_that_call_each_other_are_tried_once() {
    use std::fmt::Write as _;
    let mut library = String::from("function \"f0\" {\n  parameter \"p\" { type = number }\n  return = param.p\n}\n");
    for at in 1..2_000 {
        let before = at - 1;
        let call = format!("symbols::f{before}(param.p + 1)");
        let result = if at < 100 { format!("{call} + {call}") } else { call };
        let text = "function \"fAT\" {\n  parameter \"p\" { type = number }\n  return = RESULT\n}\n";
        let _ = write!(library, "{}", text.replace("AT", &at.to_string()).replace("RESULT", &result));
    }
    let fixture =
        format!("--- main.tf\nsymbols \"l\" {{\n  source = \"./l.tfsym.hcl\"\n}}\n--- l.tfsym.hcl\n{library}");
    check(
        &fixture,
        &["symbols::l::f3(1)"],
        &expect![[r#"
        symbols::l::f3(1) => 32
    "#]],
    );
}

#[test]
fn what_a_value_does_not_have_is_said_to_be_of_a_library() {
    check(
        "--- main.tf\nsymbols \"s\" {\n  source = \"./l.tfsym.hcl\"\n}\n--- l.tfsym.hcl\nvalues {\n  v = { a = 1 }\n}\n",
        &[
            "symbols.s.v.b",
            "symbols.s.v[\"b\"]",
            "symbols.s.v.a.c",
            "try(symbols.s.v.b, 1)",
            "[for symbols in [{ s = { v = 1 } }] : symbols.s.x]",
        ],
        &expect![[r#"
            symbols.s.v.b => error <expression>:1,12 Unsupported attribute: This object does not have an attribute named "b".
                The expression was understood as a reference to the block symbols "s" at main.tf:1, whose library is l.tfsym.hcl.
            symbols.s.v["b"] => error <expression>:1,12 Invalid index: This object has no attribute named "b".
                The expression was understood as a reference to the block symbols "s" at main.tf:1, whose library is l.tfsym.hcl.
            symbols.s.v.a.c => error <expression>:1,14 Unsupported attribute: This is a number, which has no attributes.
                The expression was understood as a reference to the block symbols "s" at main.tf:1, whose library is l.tfsym.hcl.
            try(symbols.s.v.b, 1) => 1
            [for symbols in [{ s = { v = 1 } }] : symbols.s.x] => error <expression>:1,48 Unsupported attribute: This object does not have an attribute named "x".
        "#]],
    );
}
