//! Meaning of the first name of an opt-in feature, wherever a reference can occur.

use std::sync::Arc;

use yuba_addrs::ProviderSource;
use yuba_provider::{Attribute, BlockSchema, ProviderSchema, Schema, builtin};
use yuba_value::Type;

use super::found_with;
use crate::testing::Lenient;

/// Has a resource type of the name, beside the built-in provider.
fn schemas(provider: &ProviderSource) -> Option<Arc<ProviderSchema>> {
    if provider.is_builtin() {
        return Some(Arc::new(builtin::TERRAFORM.clone()));
    }
    let block = BlockSchema::new([
        ("v", Attribute::optional(Type::string())),
        ("number", Attribute::optional(Type::number())),
        ("set", Attribute::optional(Type::set(Type::string()))),
        ("bool", Attribute::optional(Type::bool())),
    ]);
    let schema = Schema { version: 0, block };
    let all =
        ProviderSchema { provider: schema.clone(), resources: [("symbols", schema)].into(), ..Default::default() };
    Some(Arc::new(all))
}

/// Files that a location requires.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// A value, known or not.
    Any,
    /// A value that is known before anything is planned.
    Static,
    /// A constant. In a module that has not opted in nothing changes, messages included.
    Constant,
    /// A resource.
    Resource,
}

/// Every location of a reference: its name, its files, and a file with `@.` for the first two names.
const PLACES: &[(&str, Kind, &str)] = &[
    ("local", Kind::Any, "locals { x = @.v }"),
    ("template", Kind::Any, "locals { x = \"a ${@.v} b\" }"),
    ("for expression", Kind::Any, "locals { x = [for x in @.set : x if @.bool] }"),
    ("splat", Kind::Any, "locals { x = @.set[*] }"),
    ("index", Kind::Any, "locals { x = { \"./m\" = 1 }[@.v] }"),
    ("function", Kind::Any, "locals { x = upper(@.v) }"),
    ("output", Kind::Any, "output \"x\" { value = @.v }"),
    (
        "output precondition",
        Kind::Any,
        "output \"x\" {\n value = 1\n precondition {\n condition = @.bool\n error_message = \"no\"\n }\n}",
    ),
    (
        "rule of a variable",
        Kind::Any,
        "variable \"x\" {\n validation {\n condition = var.x == @.v\n error_message = \"no\"\n }\n}",
    ),
    ("default", Kind::Constant, "variable \"x\" { default = { a = [\"${@.v}\"] } }"),
    ("default of an attribute", Kind::Constant, "variable \"x\" { type = object({ a = optional(string, @.v) }) }"),
    ("message of a variable", Kind::Constant, "variable \"x\" { deprecated = @.v }"),
    ("message of an output", Kind::Constant, "output \"x\" {\n value = 1\n deprecated = \"Use ${@.v}.\"\n}"),
    ("message", Kind::Any, "variable \"x\" {\n validation {\n condition = var.x == 1\n error_message = @.v\n }\n}"),
    ("argument", Kind::Any, "resource \"terraform_data\" \"x\" { input = @.v }"),
    ("data argument", Kind::Any, "data \"terraform_remote_state\" \"x\" {\n backend = \"local\"\n workspace = @.v\n}"),
    ("count", Kind::Any, "resource \"terraform_data\" \"x\" { count = @.number }"),
    ("for_each", Kind::Any, "resource \"terraform_data\" \"x\" { for_each = @.set }"),
    ("enabled", Kind::Any, "resource \"terraform_data\" \"x\" {\n lifecycle { enabled = @.bool }\n}"),
    ("depends_on", Kind::Resource, "resource \"terraform_data\" \"x\" { depends_on = [@] }"),
    ("output depends_on", Kind::Resource, "output \"x\" {\n value = 1\n depends_on = [@]\n}"),
    (
        "replace_triggered_by",
        Kind::Resource,
        "resource \"terraform_data\" \"x\" {\n lifecycle { replace_triggered_by = [@] }\n}",
    ),
    (
        "replace_triggered_by attribute",
        Kind::Resource,
        "resource \"terraform_data\" \"x\" {\n lifecycle { replace_triggered_by = [@.v] }\n}",
    ),
    ("prevent_destroy", Kind::Any, "resource \"terraform_data\" \"x\" {\n lifecycle { prevent_destroy = @.bool }\n}"),
    (
        "precondition",
        Kind::Any,
        "resource \"terraform_data\" \"x\" {\n lifecycle {\n precondition {\n condition = @.bool\n error_message = \"no\"\n }\n }\n}",
    ),
    (
        "postcondition",
        Kind::Any,
        "resource \"terraform_data\" \"x\" {\n lifecycle {\n postcondition {\n condition = @.bool\n error_message = \"no\"\n }\n }\n}",
    ),
    ("provisioner", Kind::Any, "resource \"terraform_data\" \"x\" {\n provisioner \"local-exec\" { command = @.v }\n}"),
    (
        "connection",
        Kind::Any,
        "resource \"terraform_data\" \"x\" {\n connection { host = @.v }\n provisioner \"remote-exec\" { inline = [\"x\"] }\n}",
    ),
    ("module argument", Kind::Any, "module \"m\" {\n source = \"./m\"\n a = @.v\n}"),
    ("module count", Kind::Any, "module \"m\" {\n source = \"./m\"\n count = @.number\n}"),
    ("module for_each", Kind::Any, "module \"m\" {\n source = \"./m\"\n for_each = @.set\n}"),
    ("module enabled", Kind::Any, "module \"m\" {\n source = \"./m\"\n lifecycle { enabled = @.bool }\n}"),
    ("module depends_on", Kind::Resource, "module \"m\" {\n source = \"./m\"\n depends_on = [@]\n}"),
    ("module source", Kind::Static, "module \"m\" { source = @.v }"),
    (
        "provider argument",
        Kind::Any,
        "provider \"symbols\" {\n alias = \"x\"\n v = @.v\n}\nresource \"symbols\" \"x\" { provider = symbols.x }",
    ),
    ("provider for_each", Kind::Static, "provider \"symbols\" {\n alias = \"x\"\n for_each = @.set\n}"),
    ("check", Kind::Any, "check \"c\" {\n assert {\n condition = @.bool\n error_message = \"no\"\n }\n}"),
    ("import", Kind::Any, "import {\n to = terraform_data.x\n id = @.v\n}\nresource \"terraform_data\" \"x\" {}"),
    (
        "import for_each",
        Kind::Any,
        "import {\n for_each = @.set\n to = terraform_data.x[each.key]\n id = each.key\n}\nresource \"terraform_data\" \"x\" { for_each = @.set }",
    ),
];

const OPT_IN: &str = "symbols \"s\" { source = \"./lib.tfsym.hcl\" }\n";
const RESOURCE: &str = "resource \"symbols\" \"res\" {}\n";
const LIBRARY: &str = "--- lib.tfsym.hcl\nvalues {\n  v = \"./m\"\n  number = 1\n  set = toset([])\n  bool = true\n}\n";
const UNDEFINED: &str = "Reference to undefined symbol library";

fn found(header: &str, location: &str, name: &str) -> String {
    let content = location.replace('@', name);
    let fixture =
        format!("\n--- main.tf\n{header}{content}\n--- m/main.tf\nvariable \"a\" {{ default = 1 }}\n{LIBRARY}");
    found_with(&fixture, true, &Lenient(schemas))
}

#[test]
fn a_first_name_means_the_same_everywhere() {
    let mut wrong = String::new();
    for (name, kind, location) in PLACES {
        let mut expect = |what: &str, got: String, holds: &dyn Fn(&str) -> bool| {
            if !holds(&got) {
                wrong.push_str(&format!("{name}: {what}:\n{got}\n"));
            }
        };
        let uses = location.matches('@').count();
        let undefined = |got: &str| got.matches(" error: ").count() <= uses && got.contains(UNDEFINED);
        let hinted = |got: &str| undefined(got) && got.contains("    resource.symbols.res");
        let silent = |got: &str| got.is_empty();
        let both = format!("{OPT_IN}{RESOURCE}");
        match kind {
            // These declarations are not resources.
            Kind::Resource => {
                expect("a library", found(&both, location, "symbols.s"), &|got| !got.contains(UNDEFINED));
                if name.starts_with("replace") {
                    let refused =
                        |got: &str| got.contains("error: Invalid reference in replace_triggered_by expression");
                    expect("a library", found(&both, location, "symbols.s"), &refused);
                }
            }
            _ => expect("a library", found(&both, location, "symbols.s"), &silent),
        }
        expect("a hidden resource", found(&both, location, "symbols.res"), &hinted);
        expect("nothing, opted in", found(&both, location, "symbols.nope"), &undefined);
        let refused =
            |got: &str| got.matches(" error: ").count() == uses && got.contains("error: Variables not allowed");
        if *kind == Kind::Constant {
            expect("nothing, not opted in", found("", location, "symbols.nope"), &refused);
            expect("a resource, not opted in", found(RESOURCE, location, "symbols.res"), &refused);
            expect("a resource with prefix", found(&both, location, "resource.symbols.res"), &refused);
        } else {
            expect("nothing, not opted in", found("", location, "symbols.nope"), &|got| {
                undefined(got) || location.contains("resource \"symbols\"")
            });
        }
        let not_there =
            |got: &str| !got.is_empty() && !got.contains("symbol library") && !got.contains("symbols block");
        // Whether a name in prevent_destroy is declared is seen when there are values.
        if *name != "prevent_destroy" {
            expect("no such resource, not opted in", found(RESOURCE, location, "symbols.nope"), &not_there);
        }
        if !matches!(kind, Kind::Static | Kind::Constant) {
            expect("a resource, not opted in", found(RESOURCE, location, "symbols.res"), &silent);
            expect("a resource with prefix", found(&both, location, "resource.symbols.res"), &silent);
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn conditions_of_a_resource_of_that_type_may_use_the_library() {
    let rule = "resource \"symbols\" \"s\" {\n lifecycle {\n precondition {\n condition = @.bool\n error_message = \"no\"\n }\n }\n}";
    assert_eq!(found(OPT_IN, rule, "symbols.s"), "");
    assert!(found("", rule, "symbols.s").contains("error: Invalid reference in precondition"));
    assert!(found(OPT_IN, rule, "resource.symbols.s").contains("error: Invalid reference in precondition"));
}
