//! Fixtures are JSON: a schema, a value before and one after. In a schema a name has a type, or an object that says
//! what it is; in values `(unknown)` is not known and `{"(sensitive)": x}` must not be shown.

use expect_test::{Expect, expect};
use yuba_provider::schema::AttributeType;
use yuba_provider::{Attribute, BlockSchema, NestedAttribute, NestedBlock, Nesting};
use yuba_value::{Path, Type, Value, json};

use super::node::Data;
use super::{Change, Node, Options, Paths, json_text};
use crate::paint::{Paint, Style};

fn node(text: &str) -> Node {
    let mut array = json_text::parse(&format!("[{text}]")).expect("because fixtures are well-formed");
    let Data::Sequence(items) = &mut array.data else { return array };
    mark(items.remove(0))
}

fn mark(mut node: Node) -> Node {
    node.data = match node.data {
        Data::Text(text) if text == "(unknown)" => Data::Unknown,
        Data::Sequence(items) => Data::Sequence(items.into_iter().map(mark).collect()),
        Data::Members(mut members) => {
            if members.first().is_some_and(|(name, _)| name == "(sensitive)") {
                return Node { sensitive: true, ..mark(members.remove(0).1) };
            }
            Data::Members(members.into_iter().map(|(name, item)| (name, mark(item))).collect())
        }
        data => data,
    };
    node
}

fn text(node: &Node) -> String {
    match &node.data {
        Data::Text(text) => format!("{text:?}"),
        Data::Sequence(items) => format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(",")),
        Data::Members(items) => {
            let items = items.iter().map(|(name, item)| format!("{name:?}:{}", text(item)));
            format!("{{{}}}", items.collect::<Vec<_>>().join(","))
        }
        _ => "null".to_owned(),
    }
}

fn nesting(node: &Node) -> Nesting {
    match node.as_text().map(|text| text.as_str()) {
        Some("list") => Nesting::List,
        Some("set") => Nesting::Set,
        Some("map") => Nesting::Map,
        Some("group") => Nesting::Group,
        _ => Nesting::Single,
    }
}

fn attribute(node: &Node) -> Attribute {
    if let Some(attributes) = node.member("attributes") {
        let members = attributes.as_members().unwrap_or_default().iter();
        let attributes = members.map(|(name, item)| (name.clone(), attribute(item))).collect();
        let nested = NestedAttribute { nesting: node.member("nested").map_or(Nesting::Single, nesting), attributes };
        let ty = AttributeType::Nested(nested);
        return Attribute { ty, sensitive: node.member("sensitive").is_some(), ..Attribute::optional(Type::dynamic()) };
    }
    let ty = node.member("type").unwrap_or(node);
    let ty = json::decode_type(text(ty).as_bytes()).expect("because fixtures have types");
    let (sensitive, write_only) = (node.member("sensitive").is_some(), node.member("write_only").is_some());
    Attribute { sensitive, write_only, ..Attribute::optional(ty) }
}

fn schema(node: &Node) -> BlockSchema {
    let members = node.as_members().unwrap_or_default();
    let (blocks, attributes): (Vec<_>, Vec<_>) = members.iter().partition(|(_, item)| item.member("block").is_some());
    let attributes = attributes.iter().map(|(name, item)| (name.clone(), attribute(item)));
    let block = |item: &Node| {
        let nesting = item.member("block").map_or(Nesting::Single, nesting);
        NestedBlock::new(nesting, item.member("of").map(schema).unwrap_or_default())
    };
    BlockSchema::new(attributes).with_blocks(blocks.iter().map(|(name, item)| (name.clone(), block(item))))
}

fn path(node: &Node) -> Path {
    node.as_sequence().unwrap_or_default().iter().fold(Path::new(), |path, step| match &step.data {
        Data::Text(name) => path.attr(name),
        Data::Number(index) => path.index(Value::int(index.parse().unwrap_or_default())),
        _ => path,
    })
}

fn render_with(schema_text: &str, before: &str, after: &str, replace: &str, look: &str) -> String {
    let schema = schema(&node(schema_text));
    let (before, after) = (node(before), node(after));
    let replace: Vec<Path> = node(replace).as_sequence().unwrap_or_default().iter().map(path).collect();
    let change = Change { replace: Paths::new(&replace), ..Change::new(Some(&before), Some(&after)) };
    let mut options = Options { show_sensitive: look.contains("sensitive"), ..Options::new(Paint::new(Style::Plain)) };
    options.show_kept = look.contains("kept");
    options.no_symbols = look.contains("plain");
    let mut out = String::new();
    change.by_block(&schema).write(&mut out, 0, options);
    out
}

fn check(schema: &str, before: &str, after: &str, expect: &Expect) {
    expect.assert_eq(&render_with(schema, before, after, "[]", ""));
}

#[test]
fn attributes() {
    check(
        r#"{"a": "string", "id": "string", "same": "number", "gone": "bool"}"#,
        r#"{"a": "x", "id": "i", "same": 1, "gone": true}"#,
        r#"{"a": "y", "id": "i", "same": 1, "gone": null}"#,
        &expect![[r#"
            {
                  ~ a    = "x" -> "y"
                  - gone = true -> null
                    id   = "i"
                    # (1 unchanged attribute hidden)
                }"#]],
    );
}

#[test]
fn parts_of_collections() {
    check(
        r#"{"l": ["list", "string"], "s": ["set", "number"], "m": ["map", "string"], "o": ["list", ["object", {"a": "string", "b": "string"}]]}"#,
        r#"{"l": ["1", "2", "3", "4", "5", "6"], "s": [1, 2], "m": {"a": "x", "bb": "y"}, "o": [{"a": "1", "b": "2"}]}"#,
        r#"{"l": ["1", "2", "4", "5", "6", "7"], "s": [2, 3], "m": {"bb": "z", "c": "(unknown)"}, "o": [{"a": "1", "b": "3"}, {"a": "(unknown)", "b": null}]}"#,
        &expect![[r#"
            {
                  ~ l = [
                        # (1 unchanged element hidden)
                        "2",
                      - "3",
                        "4",
                        # (1 unchanged element hidden)
                        "6",
                      + "7",
                    ]
                  ~ m = {
                      - "a"  = "x" -> null
                      ~ "bb" = "y" -> "z"
                      + "c"  = (known after apply)
                    }
                  ~ o = [
                      ~ {
                          ~ b = "2" -> "3"
                            # (1 unchanged attribute hidden)
                        },
                      + {
                          + a = (known after apply)
                        },
                    ]
                  ~ s = [
                      - 1,
                      + 3,
                        # (1 unchanged element hidden)
                    ]
                }"#]],
    );
}

#[test]
fn texts() {
    check(
        r#"{"h": "string", "j": "string", "k": "string", "w": "string", "empty": "string"}"#,
        r#"{"h": "a\nb\nc", "j": "{\"a\":1,\"l\":[1,2]}", "k": "x", "w": "{\"a\":1}", "empty": null}"#,
        r#"{"h": "a\nc\nd\n", "j": "{\"a\":2,\"l\":[1,2,3]}", "k": "[true]", "w": "{ \"a\": 1 }", "empty": ""}"#,
        &expect![[r#"
            {
                  ~ h = <<-EOT
                        a
                      - b
                        c
                      + d
                    EOT
                  ~ j = jsonencode(
                      ~ {
                          ~ a = 1 -> 2
                          ~ l = [
                                # (1 unchanged element hidden)
                                2,
                              + 3,
                            ]
                        }
                    )
                  ~ k = "x" -> jsonencode(
                        [
                          + true,
                        ]
                    )
                  ~ w = jsonencode( # whitespace changes
                        {
                            a = 1
                        }
                    )
                }"#]],
    );
}

#[test]
fn secrets() {
    check(
        r#"{"p": {"type": "string", "sensitive": true}, "q": "string", "r": "string", "w": {"type": "string", "write_only": true}}"#,
        r#"{"p": {"(sensitive)": "x"}, "q": "same", "r": {"(sensitive)": "old"}, "w": null}"#,
        r#"{"p": {"(sensitive)": "y"}, "q": {"(sensitive)": "same"}, "r": "new", "w": null}"#,
        &expect![[r#"
            {
                  ~ p = (sensitive value)
                  # Warning: this attribute value will be marked as sensitive and will not
                  # display in UI output after applying this change. The value is unchanged.
                  ~ q = (sensitive value)
                  # Warning: this attribute value will no longer be marked as sensitive
                  # after applying this change.
                  ~ r = (sensitive value)
                  ~ w = (write-only attribute)
                }"#]],
    );
}

#[test]
fn blocks() {
    let schema = r#"{"id": "string", "one": {"block": "single", "of": {"a": "string"}},
        "many": {"block": "list", "of": {"a": "string", "b": "number"}}, "any": {"block": "set", "of": {"a": "string"}},
        "by": {"block": "map", "of": {"a": "string"}}}"#;
    check(
        schema,
        r#"{"id": "i", "one": null, "many": [{"a": "x", "b": 1}, {"a": "y", "b": 2}], "any": [{"a": "1"}, {"a": "2"}], "by": {"k": {"a": "x"}}}"#,
        r#"{"id": "i", "one": {"a": "(unknown)"}, "many": [{"a": "x", "b": 2}, {"a": "y", "b": 2}], "any": [{"a": "2"}, {"a": "3"}], "by": {}}"#,
        &expect![[r#"
            {
                    id = "i"

                  - any {
                      - a = "1" -> null
                    }
                  + any {
                      + a = "3"
                    }

                  - by "k" {
                      - a = "x" -> null
                    }

                  ~ many {
                      ~ b = 1 -> 2
                        # (1 unchanged attribute hidden)
                    }

                  + one {
                      + a = (known after apply)
                    }

                    # (2 unchanged blocks hidden)
                }"#]],
    );
    // The blocks are unknown.
    check(
        schema,
        r#"{"id": "i", "one": null, "many": [{"a": "x", "b": 1}], "any": [], "by": {}}"#,
        r#"{"id": "i", "one": null, "many": "(unknown)", "any": "(unknown)", "by": {}}"#,
        &expect![[r#"
            {
                    id = "i"

                  + any (known after apply)

                  ~ many {
                      ~ a = "x" -> (known after apply)
                      ~ b = 1 -> (known after apply)
                    } -> (known after apply)
                }"#]],
    );
}

#[test]
fn nested_attributes() {
    check(
        r#"{"n": {"nested": "map", "attributes": {"a": "string", "b": "number"}}, "l": {"nested": "list", "attributes": {"a": "string"}}}"#,
        r#"{"n": {"k": {"a": "x", "b": 1}, "gone": {"a": "y", "b": 2}}, "l": [{"a": "1"}]}"#,
        r#"{"n": {"k": {"a": "z", "b": 1}, "new": "(unknown)"}, "l": "(unknown)"}"#,
        &expect![[r#"
            {
                  ~ l = [
                      - {
                          - a = "1" -> null
                        },
                    ] -> (known after apply)
                  ~ n = {
                      - "gone" = {
                          - a = "y" -> null
                          - b = 2 -> null
                        },
                      ~ "k" = {
                          ~ a = "x" -> "z"
                            # (1 unchanged attribute hidden)
                        },
                      + "new" = (known after apply)
                    }
                }"#]],
    );
}

#[test]
fn reasons_for_replacement() {
    let expect = expect![[r#"
        {
              ~ a = "x" -> "y" # forces replacement
              ~ d = 1 -> 2
              ~ l = [
                  - "1" # forces replacement,
                  + "2" # forces replacement,
                ]
              ~ s = [
                  - { # forces replacement
                      - x = "1" -> null
                    },
                  + { # forces replacement
                      + x = "2"
                    },
                ]

              ~ b { # forces replacement
                  ~ x = "1" -> "2"
                }
            }"#]];
    expect.assert_eq(&render_with(
        r#"{"a": "string", "l": ["list", "string"], "s": {"nested": "set", "attributes": {"x": "string"}}, "d": "dynamic", "b": {"block": "list", "of": {"x": "string"}}}"#,
        r#"{"a": "x", "l": ["1"], "s": [{"x": "1"}], "d": 1, "b": [{"x": "1"}]}"#,
        r#"{"a": "y", "l": ["2"], "s": [{"x": "2"}], "d": 2, "b": [{"x": "2"}]}"#,
        r#"[["a"], ["l", 0], ["s"], ["d"], ["b"]]"#,
        "",
    ));
}

#[test]
fn long_lists_are_compared_in_reasonable_time() {
    let list = |shift: usize| format!("{:?}", (0..30_000).map(|i| (i * 7 + shift).to_string()).collect::<Vec<_>>());
    let (before, after) = (format!("{{\"l\": {}}}", list(0)), format!("{{\"l\": {}}}", list(1)));
    let text = render_with(r#"{"l": ["list", "string"]}"#, &before, &after, "[]", "");
    assert_eq!(text.lines().count(), 60_004);
}
