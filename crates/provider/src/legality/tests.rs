//! Rules by example: objects are written as blocks, `u()` is unknown.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use yuba_value::{Type, Value, View};

use super::*;
use crate::decode;
use crate::schema::{Attribute, AttributeType, BlockSchema, NestedAttribute, NestedBlock, Nesting};
use crate::testing::{Literals, parse, show};

fn schema() -> BlockSchema {
    let both = || Attribute { computed: true, ..Attribute::optional(Type::string()) };
    let inner = || {
        [
            ("a", Attribute::optional(Type::string())),
            ("c", Attribute::computed(Type::string())),
            ("oc", both()),
            ("s", Attribute { sensitive: true, ..Attribute::optional(Type::string()) }),
        ]
    };
    let nested = |nesting, computed| {
        let attributes: BTreeMap<_, _> = inner().into_iter().map(|(name, schema)| (name.into(), schema)).collect();
        let ty = AttributeType::Nested(NestedAttribute { nesting, attributes });
        Attribute { ty, computed, ..Attribute::optional(Type::dynamic()) }
    };
    let block = |nesting| NestedBlock::new(nesting, BlockSchema::new(inner()));
    let any =
        BlockSchema::new([("v", Attribute::optional(Type::dynamic())), ("c", Attribute::computed(Type::string()))]);
    BlockSchema::new([
        ("name", Attribute::optional(Type::string())),
        ("id", Attribute::computed(Type::string())),
        ("color", both()),
        ("secret", Attribute { sensitive: true, ..Attribute::optional(Type::string()) }),
        ("wo", Attribute { write_only: true, ..Attribute::optional(Type::string()) }),
        ("tags", Attribute::optional(Type::map(Type::string()))),
        ("ports", Attribute::optional(Type::set(Type::number()))),
        ("n_single", nested(Nesting::Single, false)),
        ("n_list", nested(Nesting::List, false)),
        ("n_set", nested(Nesting::Set, false)),
        ("n_map", nested(Nesting::Map, false)),
        ("n_made", nested(Nesting::List, true)),
    ])
    .with_blocks([
        ("single", block(Nesting::Single)),
        ("list", block(Nesting::List)),
        ("set", block(Nesting::Set)),
        ("map", block(Nesting::Map)),
        ("group", block(Nesting::Group)),
        ("any", NestedBlock::new(Nesting::List, any)),
    ])
}

/// A text as an object; `-` is null.
fn object(schema: &BlockSchema, text: &str) -> Value {
    if text == "-" {
        return Value::null(schema.implied_type().clone());
    }
    let (file, _) = parse(text);
    let (value, problems) = decode(&file.body, schema, &mut Literals);
    assert!(!problems.has_errors(), "{problems:?}");
    value
}

/// Non-empty values.
fn content(value: &Value) -> String {
    if value.is_null() || !value.is_known() {
        return show(value) + "\n";
    }
    let mut out = String::new();
    for (name, item) in value.entries().unwrap_or_default() {
        let absent = match item.view_ignoring_marks() {
            View::Null | View::List([]) | View::Set([]) | View::Tuple([]) | View::Map([]) => true,
            View::Object(items) => name == "group" && items.iter().all(Value::is_null),
            _ => false,
        };
        if !absent {
            out += &format!("{name} = {}\n", show(&item).replace(" s=null", ""));
        }
    }
    out
}

fn check_proposed(prior: &str, config: &str, expect: Expect) {
    let schema = schema();
    let (prior, config) = (object(&schema, prior), object(&schema, config));
    let proposed = proposed_new(&schema, &prior, &config);
    expect.assert_eq(&content(&proposed));
    let violations = assert_plan_valid(&schema, &prior, &config, &proposed);
    assert!(violations.is_empty(), "what is proposed may be planned: {violations:?}");
}

#[test]
fn nothing_is_proposed_for_nothing() {
    check_proposed("-", "-", expect![["null\n"]]);
    check_proposed("-", "", expect![""]);
}

#[test]
fn computed_values_stay_and_configured_ones_win() {
    check_proposed(
        "name = \"old\"\nid = \"i\"\ncolor = \"red\"\ntags = { a = 1 }",
        "name = \"new\"",
        expect![[r#"
            color = "red"
            id = "i"
            name = "new"
        "#]],
    );
    check_proposed(
        "color = \"red\"\nid = \"i\"",
        "color = u()\nname = u()",
        expect![[r#"
            color = ?string
            id = "i"
            name = ?string
        "#]],
    );
    check_proposed("-", "color = \"red\"", expect![["color = \"red\"\n"]]);
}

#[test]
fn blocks_are_matched_by_position() {
    check_proposed(
        "single {\n a = 1\n c = 2\n oc = 3\n}\ngroup {\n c = 4\n}\nlist {\n a = 5\n c = 6\n}\nlist {\n c = 7\n}\n\
         map \"x\" {\n c = 8\n}\nmap \"y\" {\n c = 9\n}\nany {\n v = [1]\n c = 10\n}",
        "single {\n a = 11\n}\nlist {\n a = 12\n}\nmap \"y\" {\n oc = 13\n}\nmap \"z\" {\n}\nany {\n v = 14\n}\nany {\n}",
        expect![[r#"
            any = tuple[{c="10" v=14} {c=null v=null}]
            group = {a=null c="4" oc=null}
            list = [{a="12" c="6" oc=null}]
            map = map{y={a=null c="9" oc="13"} z={a=null c=null oc=null}}
            single = {a="11" c="2" oc="3"}
        "#]],
    );
    check_proposed("single {\n c = 1\n}\nlist {\n c = 1\n}", "", expect![""]);
    check_proposed(
        "list {\n c = 1\n}",
        "dynamic \"list\" {\n for_each = u()\n content {}\n}",
        expect![[r#"
            list = ?list of object
        "#]],
    );
}

#[test]
fn elements_of_sets_are_matched_by_configured_attributes() {
    check_proposed(
        "set {\n a = 1\n c = 2\n}\nset {\n a = 3\n c = 4\n oc = 5\n}\nset {\n a = 6\n c = 7\n}",
        "set {\n a = 6\n}\nset {\n a = 3\n}\nset {\n a = 8\n}\nset {\n a = 1\n oc = 9\n}",
        expect![[r#"
            set = set[{a="1" c=null oc="9"} {a="3" c="4" oc="5"} {a="6" c="7" oc=null} {a="8" c=null oc=null}]
        "#]],
    );
    check_proposed(
        "n_set = [{ a = 1, c = 2 }, { a = 3, c = 4 }]",
        "n_set = [{ a = 3 }, { a = u() }]",
        expect![[r#"
            n_set = set[{a="3" c="4" oc=null} {a=?string c=null oc=null}]
        "#]],
    );
    // Two that fit: the first one, and each only once.
    check_proposed(
        "set {\n a = 1\n c = 1\n}\nset {\n a = 1\n c = 2\n}",
        "set {\n a = 1\n}\nset {\n a = 1\n oc = 5\n}",
        expect![[r#"
            set = set[{a="1" c="1" oc=null} {a="1" c=null oc="5"}]
        "#]],
    );
}

#[test]
fn nested_attributes_are_found_again_too() {
    check_proposed(
        "n_single = { a = 1, c = 2 }\nn_list = [{ c = 3 }, { c = 4 }]\nn_map = { x = { c = 5 } }",
        "n_single = { a = 6 }\nn_list = [{ a = 7 }]\nn_map = { x = { oc = 8 }, y = { a = 9 } }",
        expect![[r#"
            n_list = [{a="7" c="3" oc=null}]
            n_map = map{x={a=null c="5" oc="8"} y={a="9" c=null oc=null}}
            n_single = {a="6" c="2" oc=null}
        "#]],
    );
    check_proposed(
        "n_single = { c = 2 }\nn_list = [{ c = 3 }]",
        "n_list = u()",
        expect![[r#"
            n_list = ?list of object
        "#]],
    );
}

#[test]
fn what_the_provider_made_stays_and_what_was_configured_goes() {
    check_proposed(
        "n_made = [{ c = 1, oc = 2 }]",
        "",
        expect![[r#"
            n_made = [{a=null c="1" oc="2"}]
        "#]],
    );
    check_proposed("n_made = [{ a = 1, c = 2 }]", "", expect![""]);
}

#[test]
fn what_a_data_resource_will_have_is_unknown() {
    let schema = schema();
    let config = object(
        &schema,
        "name = 1\nsingle {}\nlist {\n a = 1\n}\nset {\n a = 1\n}\nn_list = [{ a = 1 }]\nany {\n v = [1]\n}",
    );
    expect![[r#"
        any = tuple[{c=?string v=tuple[1]}]
        color = ?string
        group = {a=null c=?string oc=?string}
        id = ?string
        list = [{a="1" c=?string oc=?string}]
        n_list = [{a="1" c=?string oc=?string}]
        n_made = ?list of object
        name = "1"
        set = set[{a="1" c=null oc=null}]
        single = {a=null c=?string oc=?string}
    "#]]
    .assert_eq(&content(&planned_unknown(&schema, &config)));
}

fn texts(violations: &[Violation]) -> String {
    violations.iter().map(|violation| format!("{}\n", violation.text(""))).collect()
}

fn check_plan(prior: &str, config: &str, planned: &str, expect: Expect) {
    let schema = schema();
    let [prior, config, planned] = [prior, config, planned].map(|text| object(&schema, text));
    expect.assert_eq(&texts(&assert_plan_valid(&schema, &prior, &config, &planned)));
}

#[test]
fn plans_follow_the_configuration() {
    check_plan("-", "name = 1", "name = 1\nid = u()\ncolor = \"red\"", expect![""]);
    check_plan(
        "-",
        "color = 1",
        "color = u()",
        expect![[r#"
        .color: unknown(string) is planned, but "1" is configured
    "#]],
    );
    check_plan("-", "name = 1", "-", expect!["it is planned to be absent, but the configuration has it\n"]);
    check_plan("-", "-", "", expect!["it is planned to be present, but the configuration does not have it\n"]);
    check_plan(
        "-",
        "",
        "name = 1\nsecret = 2",
        expect![[r#"
        .name: "1" is planned, but the attribute is not computed
        .secret: a sensitive value is planned, but the attribute is not computed
    "#]],
    );
    check_plan("name = 1", "name = 2", "name = 1", expect![""]);
    check_plan(
        "name = 1",
        "name = 2",
        "name = 3",
        expect![[r#"
        .name: "3" is planned, but "2" is configured, and it was "1" before
    "#]],
    );
    check_plan(
        "secret = 1",
        "secret = 2",
        "secret = 3",
        expect![[r#"
        .secret: the sensitive value that is planned is neither the configured one nor the prior one
    "#]],
    );
    check_plan("-", "wo = 1", "", expect![""]);
    check_plan(
        "-",
        "name = 1",
        "",
        expect![[r#"
        .name: null(string) is planned, but "1" is configured
    "#]],
    );
}

#[test]
fn plans_have_the_blocks_of_the_configuration() {
    check_plan(
        "-",
        "single {}\nlist {\n a = 1\n}\nmap \"x\" {}",
        "single {\n c = u()\n}\nlist {\n a = 2\n}\nmap \"y\" {}\nset {\n a = 9\n}",
        expect![[r#"
            .list[0].a: "2" is planned, but "1" is configured
            .map: the plan has the block "y", but the configuration does not
            .map: the configuration has the block "x", but the plan does not
        "#]],
    );
    check_plan("-", "list {}", "", expect![[".list: the plan has 0 of them, but the configuration has 1\n"]]);
    check_plan(
        "-",
        "single {}",
        "",
        expect![[r#"
        .single: it is planned to be absent, but the configuration has it
    "#]],
    );
    let unknown = "dynamic \"list\" {\n for_each = u()\n content {}\n}";
    check_plan("-", unknown, unknown, expect![""]);
    check_plan(
        "-",
        unknown,
        "list {}",
        expect![[r#"
        .list: [{a=null(string), c=null(string), oc=null(string), s=null(string)}] is planned for blocks that are not known yet
    "#]],
    );
    check_plan(
        "-",
        "list {}",
        unknown,
        expect![[r#"
        .list: blocks cannot be unknown as a whole, only the attributes in them
    "#]],
    );
}

#[test]
fn plans_have_the_nested_attributes_of_the_configuration() {
    check_plan(
        "-",
        "n_single = { a = 1 }\nn_list = [{ a = 1 }]\nn_map = { x = { a = 1 } }\nn_set = [{ a = 1 }]",
        "n_single = { a = 1, c = 2 }\nn_list = [{ a = 2 }]\nn_map = { y = { a = 1 } }\nn_set = [{ a = 1 }, { a = 2 }]",
        expect![[r#"
            .n_list[0].a: "2" is planned, but "1" is configured
            .n_map: the plan has the element "y", but the configuration does not
            .n_map: the configuration has the element "x", but the plan does not
            .n_set: the plan has 2 of them, but the configuration has 1
        "#]],
    );
    check_plan(
        "-",
        "n_list = [{}]\nn_single = {}",
        "n_list = [{}, {}]\nn_single = u()",
        expect![[r#"
        .n_list: the plan has 2 of them, but the configuration has 1
        .n_single: it is planned to be unknown, but it is configured
    "#]],
    );
    check_plan("-", "n_list = u()", "n_list = u()", expect![""]);
    check_plan(
        "-",
        "n_list = u()",
        "n_list = [{}]",
        expect![[r#"
        .n_list: the plan has 1 of them, but the configuration has an unknown number
    "#]],
    );
}

fn check_compatible(planned: &str, actual: &str, expect: Expect) {
    let schema = schema();
    let [planned, actual] = [planned, actual].map(|text| object(&schema, text));
    expect.assert_eq(&texts(&assert_object_compatible(&schema, &planned, &actual)));
}

#[test]
fn what_was_planned_comes_true() {
    check_compatible("name = 1\nid = u()", "name = 1\nid = 2", expect![""]);
    check_compatible("-", "", expect!["the object was planned to be absent, but is present now\n"]);
    check_compatible("", "-", expect!["the object was planned to be present, but is absent now\n"]);
    check_compatible(
        "name = 1\nsecret = 1\ntags = { a = 1, b = u() }\nports = [1, 2]",
        "secret = 2\ntags = { b = 2, c = 3 }\nports = [2, 3, 4]\ncolor = 5",
        expect![[r#"
            .color: null was planned, but it is "5" now
            .name: "1" was planned, but it is null now
            .ports: the planned element 1 is missing
            .ports: 2 elements were planned, but there are 3 now
            .secret: this sensitive value is not what was planned
            .tags: element "a" was planned, but is missing
            .tags: element "c" exists, but was not planned
        "#]],
    );
    check_compatible("ports = [1, u(), u()]", "ports = [1, 7]", expect![""]);
    check_compatible(
        "ports = [1]",
        "ports = [1, 7]",
        expect![[r#"
        .ports: the element 7 exists, but was not planned
        .ports: 1 elements were planned, but there are 2 now
    "#]],
    );
}

#[test]
fn planned_blocks_come_true() {
    check_compatible(
        "single {\n c = u()\n}\nlist {\n a = 1\n}\nmap \"x\" {}\nany {\n v = 1\n}",
        "single {\n c = 1\n}\nlist {\n a = 2\n}\nmap \"y\" {}\nany {\n v = 2\n}",
        expect![[r#"
            .any[0].v: 1 was planned, but it is 2 now
            .list[0].a: "1" was planned, but it is "2" now
            .map: the block with key "x" was planned, but is missing
            .map: a block with key "y" exists that was not planned
        "#]],
    );
    check_compatible(
        "list {}\nmap \"x\" {}",
        "",
        expect![[r#"
        .list: 1 blocks were planned, but there are 0 now
        .map: 1 blocks were planned, but there are 0 now
    "#]],
    );
    check_compatible("dynamic \"list\" {\n for_each = u()\n content {}\n}", "list {}", expect![""]);
    check_compatible(
        "set {\n a = 1\n c = u()\n}\nset {\n a = 2\n c = u()\n}",
        "set {\n a = 1\n c = 5\n}\nset {\n a = 2\n c = 5\n}",
        expect![""],
    );
    check_compatible(
        "set {\n a = 1\n c = u()\n}\nset {\n a = 2\n c = u()\n}",
        "set {\n a = 1\n c = 5\n}\nset {\n a = 3\n c = 5\n}",
        expect![[r#"
            .set: the planned element {a="2", c=unknown(string), oc=null(string), s=null(string)} is missing
        "#]],
    );
}

#[test]
fn refinements_come_true() {
    let planned = Value::unknown(Type::string()).refine().not_null().prefix("ab-").done();
    let check = |actual: Value, expect: Expect| {
        expect.assert_eq(&texts(&assert_value_compatible(&planned, &actual, Path::new().attr("id"))));
    };
    check(Value::string("ab-1"), expect![""]);
    check(
        Value::null(Type::string()),
        expect![[r#"
        .id: null(string) is not among what was planned: unknown(string)! prefix "ab-"
    "#]],
    );
    check(
        Value::string("x"),
        expect![[r#"
        .id: "x" is not among what was planned: unknown(string)! prefix "ab-"
    "#]],
    );
    check(
        Value::int(1),
        expect![[r#"
        .id: the value is of the wrong type: string required, but this is number
    "#]],
    );
}

#[test]
fn large_sets_take_no_longer_than_their_size() {
    let block = |text: &str| NestedBlock::new(Nesting::Set, object_schema(text));
    let schema = BlockSchema::new::<&str>([]).with_blocks([("set", block("a"))]);
    let element =
        |at: i64, c: Value| Value::object(vec![("a".into(), Value::string(format!("{at}"))), ("c".into(), c)]);
    let ty = Type::object([("a".into(), Type::string()), ("c".into(), Type::string())]);
    let set = |c: &dyn Fn(i64) -> Value| {
        let items = (0..20_000).map(|at| element(at, c(at))).collect();
        Value::object(vec![("set".into(), Value::set(ty.clone(), items))])
    };
    let (config, planned) = (set(&|_| Value::null(Type::string())), set(&|_| Value::unknown(Type::string())));
    let actual = set(&|at| Value::string(format!("c{at}")));
    assert!(assert_object_compatible(&schema, &planned, &actual).is_empty());
    assert!(proposed_new(&schema, &actual, &config).raw_equals(&actual));
}

fn object_schema(name: &str) -> BlockSchema {
    BlockSchema::new([(name, Attribute::optional(Type::string())), ("c", Attribute::computed(Type::string()))])
}

#[test]
fn objects_of_the_old_library_get_their_form() {
    let schema = schema();
    let ty = schema.implied_type();
    let items = ty.attrs().unwrap_or_default().iter().map(|attr| match attr.name.as_str() {
        "list" | "set" | "single" => Value::unknown(attr.ty.clone()),
        _ => Value::null(attr.ty.clone()),
    });
    let value = Value::structure(ty.clone(), items.collect());
    let normal = normalize_legacy(&schema, &value);
    expect![[r#"
        list = [{a=?string c=?string oc=?string s=?string}]
        set = set[{a=?string c=?string oc=?string s=?string}]
        single = {a=?string c=?string oc=?string s=?string}
    "#]]
    .assert_eq(&content(&normal));
    let groups = child(&normal, "group");
    assert!(!groups.is_null() && child(&normal, "map").is_null());
    assert!(normalize_legacy(&schema, &Value::null(ty.clone())).is_null());
}
