//! Meaning of the first name of an opt-in feature in backends, in encryption and in test files. The table for the other
//! locations is beside validation.

use std::fmt::Write as _;

use yuba_testkit::Sandbox;

use crate::sandbox;

/// Files and commands that a location requires.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// A value, known or not.
    Any,
    /// A value that is known before anything is planned.
    Static,
    /// A value of the test.
    Test,
    /// A constant. In a module that has not opted in nothing changes, messages included.
    Constant,
    /// A resource.
    Resource,
}

/// Files of a location: the module and the test, with `@` for the first two names.
struct Place(&'static str, Kind, &'static str, &'static str);

const MOCKS: &str = "mock_provider \"testing\" {}\nmock_provider \"testing\" {\n alias = \"plain\"\n}\n";

const PLACES: &[Place] = &[
    Place("backend", Kind::Static, "terraform {\n backend \"local\" { path = @.value }\n}", ""),
    Place(
        "encryption key",
        Kind::Static,
        "terraform {\n encryption {\n key_provider \"pbkdf2\" \"k\" { passphrase = @.value }\n method \"aes_gcm\" \"m\" { keys = key_provider.pbkdf2.k }\n state { method = method.aes_gcm.m }\n }\n}",
        "",
    ),
    Place(
        "encryption setting",
        Kind::Static,
        "terraform {\n encryption {\n key_provider \"pbkdf2\" \"k\" {\n passphrase = \"0123456789abcdef\"\n salt_length = length(@.value) * 2\n }\n method \"aes_gcm\" \"m\" { keys = key_provider.pbkdf2.k }\n state {\n method = method.aes_gcm.m\n }\n }\n}",
        "",
    ),
    Place(
        "assertion",
        Kind::Any,
        "",
        "^run \"r\" {\n assert {\n condition = @.value != \"z\"\n error_message = \"no\"\n }\n}",
    ),
    Place(
        "assertion message",
        Kind::Any,
        "variable \"y\" { default = 1 }",
        "^run \"r\" {\n assert {\n condition = var.y == 1\n error_message = \"no ${@.value}\"\n }\n}",
    ),
    Place("file variables", Kind::Test, "variable \"x\" {}", "^variables {\n x = @.value\n}\nrun \"r\" {}"),
    Place("run variables", Kind::Test, "variable \"x\" {}", "^run \"r\" {\n variables {\n x = \"${@.value}\"\n }\n}"),
    Place(
        "provider argument",
        Kind::Any,
        "resource \"testing_item\" \"t\" { name = \"t\" }",
        "provider \"testing\" { instance = @.value }\nprovider \"testing\" { alias = \"plain\" }\nrun \"r\" {}",
    ),
    Place(
        "provider for_each",
        Kind::Static,
        "provider \"testing\" {\n alias = \"by\"\n for_each = toset([\"k\"])\n}",
        "provider \"testing\" { alias = \"plain\" }\nprovider \"testing\" {\n alias = \"by\"\n for_each = toset([@.value])\n}\nrun \"r\" {}",
    ),
    Place(
        "mock for_each",
        Kind::Static,
        "provider \"testing\" {\n alias = \"by\"\n for_each = toset([\"k\"])\n}",
        "^mock_provider \"testing\" {\n alias = \"by\"\n for_each = toset([@.value])\n}\nrun \"r\" {}",
    ),
    Place(
        "mock defaults",
        Kind::Constant,
        "resource \"testing_item\" \"t\" { name = \"t\" }",
        "mock_provider \"testing\" {\n mock_resource \"testing_item\" { defaults = { id = @.value } }\n}\nmock_provider \"testing\" { alias = \"plain\" }\nrun \"r\" {}",
    ),
    Place(
        "override in a mock",
        Kind::Constant,
        "resource \"testing_item\" \"t\" { name = \"t\" }",
        "mock_provider \"testing\" {\n override_resource {\n target = testing_item.t\n values = { id = @.value }\n }\n}\nmock_provider \"testing\" { alias = \"plain\" }\nrun \"r\" {}",
    ),
    Place(
        "override of a resource",
        Kind::Constant,
        "resource \"testing_item\" \"t\" { name = \"t\" }",
        "^override_resource {\n target = testing_item.t\n values = { id = @.value }\n}\nrun \"r\" {}",
    ),
    Place(
        "override of a module",
        Kind::Constant,
        "module \"m\" { source = \"./m\" }",
        "^run \"r\" {\n override_module {\n target = module.m\n outputs = { o = @.value }\n }\n}",
    ),
    Place("expect_failures", Kind::Resource, "", "^run \"r\" {\n command = plan\n expect_failures = [@]\n}"),
];

const OPT_IN: &str = "symbols \"s\" { source = \"./lib.tfsym.hcl\" }\n";
const RESOURCE: &str = "provider \"testing\" { alias = \"plain\" }\nresource \"symbols\" \"res\" {\n  provider = testing.plain\n  name = \"n\"\n  value = \"v\"\n}\n";
const UNDEFINED: &str = "Error: Reference to undefined symbol library";

/// Diagnostics about a reference in a location.
fn said(s: &Sandbox, header: &str, Place(_, _, main, test): &Place, name: &str) -> String {
    let mut test = test.replace('^', MOCKS).replace('@', name);
    // Without the resource there is no block for the alias.
    let mut main = format!("{header}{}", main.replace('@', name));
    if !header.contains("plain") {
        main.push_str("\nprovider \"testing\" { alias = \"plain\" }\n");
    }
    s.write("main.tf", main);
    if test.is_empty() {
        test = "run \"r\" {}".to_owned();
    }
    s.write("main.tftest.hcl", test.as_str());
    let command: &[&str] = if test == "run \"r\" {}" { &["init", "-reconfigure", "-input=false"] } else { &["test"] };
    let run = s.run(command);
    let text = format!("{}{}", run.stdout, run.stderr);
    if run.code == 0 { String::new() } else { text }
}

#[test]
fn a_first_name_means_the_same_in_backends_and_tests() {
    let s = sandbox(
        6,
        "//- m/main.tf\noutput \"o\" { value = 1 }\n//- lib.tfsym.hcl\nvalues {\n  value = \"0123456789abcdef\"\n}\n",
    );
    let mut wrong = String::new();
    for place in PLACES {
        let Place(name, kind, ..) = place;
        let mut expect = |what: &str, got: String, holds: &dyn Fn(&str) -> bool| {
            if !holds(&got) {
                let _ = writeln!(wrong, "--- {name}: {what}:\n{got}");
            }
        };
        let undefined = |got: &str| got.matches("Error: ").count() == 1 && got.contains(UNDEFINED);
        let hinted = |got: &str| undefined(got) && got.contains("    resource.symbols.res");
        let silent = |got: &str| got.is_empty();
        let refused = |got: &str| !got.is_empty() && !got.contains("symbol library") && !got.contains("symbols block");
        let constant = |got: &str| got.contains("Error: Variables not allowed") && refused(got);
        let both = format!("{OPT_IN}{RESOURCE}");
        match kind {
            Kind::Resource => expect("a library", said(&s, &both, place, "symbols.s"), &|got| {
                got.contains("Error: Invalid `expect_failures` reference") && !got.contains(UNDEFINED)
            }),
            _ => expect("a library", said(&s, &both, place, "symbols.s"), &silent),
        }
        expect("a hidden resource", said(&s, &both, place, "symbols.res"), &hinted);
        expect("nothing, opted in", said(&s, &both, place, "symbols.nope"), &undefined);
        let nothing = said(&s, "", place, "symbols.nope");
        expect("nothing, not opted in", nothing, if *kind == Kind::Constant { &constant } else { &undefined });
        expect("no such resource, not opted in", said(&s, RESOURCE, place, "symbols.nope"), &refused);
        let resource = said(&s, RESOURCE, place, "symbols.res");
        let prefixed = said(&s, &both, place, "resource.symbols.res");
        let holds: &dyn Fn(&str) -> bool = match kind {
            Kind::Any => &silent,
            Kind::Constant => &constant,
            Kind::Static | Kind::Test => &refused,
            // It is a reference to the resource, which does not fail.
            Kind::Resource => &|got| got.contains("Error: Missing expected failure") && refused(got),
        };
        expect("a resource, not opted in", resource, holds);
        expect("a resource with prefix", prefixed, holds);
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
