//! Tests of mocks.

use expect_test::{Expect, expect};
use yuba_value::Type;

use super::*;
use crate::schema::{Attribute, NestedBlock, Nesting};

fn schema() -> BlockSchema {
    let both = Attribute { computed: true, ..Attribute::optional(Type::string()) };
    let secret = Attribute { write_only: true, ..Attribute::optional(Type::string()) };
    let inner =
        BlockSchema::new([("size", Attribute::required(Type::number())), ("at", Attribute::computed(Type::string()))]);
    BlockSchema::new([
        ("id", Attribute::computed(Type::string())),
        ("name", Attribute::required(Type::string())),
        ("zone", both),
        ("note", Attribute::optional(Type::string())),
        ("secret", secret),
        ("tags", Attribute::computed(Type::map(Type::string()))),
        ("count", Attribute::computed(Type::number())),
    ])
    .with_blocks([("disk", NestedBlock::new(Nesting::List, inner))])
}

fn object(members: &[(&str, Value)]) -> Value {
    Value::object(members.iter().map(|(name, value)| (EcoString::from(*name), value.clone())).collect())
}

/// Result for a configuration, values of a test and an earlier object.
fn check(config: &[(&str, Value)], given: &[(&str, Value)], prior: &[(&str, Value)], expect: Expect) {
    let mut composer = Composer { generator: Generator::new(0, "a.b"), problems: Vec::new() };
    let made = composer.block(&schema(), &object(config), &object(given), &object(prior));
    let mut text = yuba_value::json::encode_plain(&made).map_or_else(|_| "unknown".to_owned(), |text| text.to_string());
    for problem in composer.problems {
        text += &format!("\n{:?} {}", problem.diagnostic.severity, problem.diagnostic.summary);
    }
    expect.assert_eq(&text);
}

#[test]
fn objects_are_made_of_three_sources() {
    let name = ("name", Value::string("n"));
    check(
        std::slice::from_ref(&name),
        &[],
        &[],
        expect![[
            r#"{"count":0,"disk":[],"id":"gsM6tt4C","name":"n","note":null,"secret":null,"tags":{},"zone":"gD431ZyloZn"}"#
        ]],
    );
    let disk = object(&[("size", Value::int(1))]);
    let disks = ("disk", Value::list(disk.ty().clone(), vec![disk]));
    check(
        &[name.clone(), ("zone", Value::string("z")), disks],
        &[("id", Value::int(5)), ("disk", object(&[("at", Value::string("x"))]))],
        &[],
        expect![[
            r#"{"count":0,"disk":[{"at":"x","size":1}],"id":"5","name":"n","note":null,"secret":null,"tags":{},"zone":"z"}"#
        ]],
    );
    check(
        &[name],
        &[],
        &[("id", Value::string("was")), ("note", Value::string("was"))],
        expect![[
            r#"{"count":0,"disk":[],"id":"was","name":"n","note":null,"secret":null,"tags":{},"zone":"gD431ZyloZn"}"#
        ]],
    );
}

#[test]
fn what_tests_cannot_say() {
    check(
        &[("zone", Value::string("z"))],
        &[
            ("zone", Value::string("y")),
            ("note", Value::string("y")),
            ("secret", Value::string("y")),
            ("count", Value::string("y")),
            ("disk", object(&[])),
            ("other", Value::string("y")),
        ],
        &[],
        expect![[r#"
            {"count":null,"disk":[],"id":"gsM6tt4C","name":null,"note":"y","secret":null,"tags":{},"zone":"z"}
            Error Invalid mock/override field `count`
            Error Invalid mock/override field `name`
            Error Non-computed field `note` is not allowed to be overridden
            Error Non-computed field `secret` is not allowed to be overridden
            Warning Encountered override for write-only attribute `secret`
            Error Invalid mock/override field `zone`
            Error Invalid override for block field `disk`
            Error Invalid override for block field `other`"#]],
    );
}
