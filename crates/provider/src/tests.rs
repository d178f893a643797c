//! Bodies decoded by schema. Expectations agree with what hcldec, dynblock and blocktoattr of OpenTofu answer.

use expect_test::{Expect, expect};
use yuba_value::{View, ops};

use crate::testing::{Kind, Literals, parse, problems, schema, show};
use crate::{decode, diagnostics, references};

/// Non-empty values, errors, and references.
fn check(kind: Kind, text: &str, expect: Expect) {
    let schema = schema(kind);
    let (file, sources) = parse(text);
    let (value, diagnostics) = decode(&file.body, &schema, &mut Literals);
    let mut out = String::new();
    for (name, item) in value.entries().unwrap_or_default() {
        let absent = match item.view_ignoring_marks() {
            View::Null => true,
            View::List([]) | View::Set([]) | View::Tuple([]) | View::Map([]) | View::Object([]) => true,
            View::Object(_) if name == "group" => ops::get_attr(&item, "a").is_ok_and(|a| a.is_null()),
            _ => false,
        };
        if !absent {
            out += &format!("{name} = {}\n", show(&item));
        }
    }
    out += &problems(&diagnostics, &sources);
    let mut names: Vec<_> = references(&file.body, &schema).into_iter().map(|traversal| traversal.root).collect();
    names.sort();
    expect.assert_eq(&format!("{out}refs {}\n", names.join(" ")));
}

#[test]
fn attributes_and_blocks_become_what_the_schema_says() {
    check(
        Kind::Legacy,
        r#"name = 5
tags = { a = 1 }
single {
  a = "x"
}
list {
  a = "1"
  deep {
    c = 1
  }
}
map "k" {
  a = list[0]
}
any_list {
  v = [1]
}
any_list {
}
any_map "m" {
  v = "x"
}
any_set {
  v = 1
}
any_set {
  v = "x"
}
"#,
        expect![[r#"
            any_list = tuple[{v=tuple[1]} {v=null}]
            any_map = {m={v="x"}}
            any_set = set[{v="1"} {v="x"}]
            list = [{a="1" b=null deep=[{c="1"}]}]
            map = map{k={a="a" b=null deep=[]}}
            name = "5"
            single = {a="x" b=null deep=[]}
            tags = map{a="1"}
            refs list
        "#]],
    );
}

#[test]
fn what_the_schema_does_not_allow_is_reported() {
    check(
        Kind::Legacy,
        r#"list {}
list { a = 1 }
list { a = 2 }
single { a = 1 }
single { a = 2 }
map "k" { a = 1 }
map "k" { a = 2 }
map { a = 3 }
nope = 1
wrong {}
name = []
tags = "x"
"#,
        expect![[r#"
            list = [{a=null b=null deep=[]} {a="1" b=null deep=[]} {a="2" b=null deep=[]}]
            map = map{k={a="1" b=null deep=[]}}
            name = ?string
            single = {a="1" b=null deep=[]}
            tags = ?map of string
            10:1-10:6 Unsupported block type
            11:8-11:10 Incorrect attribute value type
            12:8-12:11 Incorrect attribute value type
            1:6-1:6 Missing required argument
            3:8-3:8 Too many list blocks
            5:1-5:7 Duplicate single block
            7:1-7:8 Duplicate map block
            8:5-8:6 Missing key for map
            9:1-9:5 Unsupported argument
            refs 
        "#]],
    );
}

#[test]
fn dynamic_blocks_are_expanded() {
    check(
        Kind::Legacy,
        r#"dynamic "list" {
  for_each = list
  content {
    a = list.value
    b = list.key
  }
}
dynamic "map" {
  for_each = map
  iterator = it
  labels = [it.key]
  content {
    a = it.value
    dynamic "deep" {
      for_each = list
      content {
        c = it.key
      }
    }
    dynamic "deep" {
      for_each = [it.value]
      content {
        c = deep.value
      }
    }
  }
}
"#,
        expect![[r#"
            list = [{a="a" b=0 deep=[]} {a="b" b=1 deep=[]}]
            map = map{k={a="v" b=null deep=[{c="k"} {c="k"} {c="v"}]}}
            refs list list map
        "#]],
    );
}

#[test]
fn unknown_and_marked_collections_reach_the_blocks() {
    check(
        Kind::Legacy,
        r#"dynamic "list" {
  for_each = unknown
  content {
    a = list.value
    nope = 1
  }
}
dynamic "single" {
  for_each = unknown
  content {
    a = single.value
    deep {
      c = 1
    }
  }
}
dynamic "set" {
  for_each = secret
  content {
    a = set.value
  }
}
dynamic "any_list" {
  for_each = secret
  content {
    v = any_list.value
  }
}
dynamic "map" {
  for_each = unknown
  labels = ["x"]
  content {
    nope = 1
  }
}
dynamic "rule" {
  for_each = unknown
  content {
    port = 1
  }
}
"#,
        expect![[r#"
            any_list = tuple[{v=!"s"}]
            list = ?list of object
            map = ?map of object
            rule = [{port=?number sub=null}]
            set = !set[{a="s" b=null deep=[]}]
            single = {a=?string b=null deep=?list of object}
            5:5-5:9 Unsupported argument
            refs secret secret unknown unknown unknown unknown
        "#]],
    );
}

#[test]
fn nested_attributes_are_converted() {
    check(
        Kind::Modern,
        r#"need = 1
one {
}
some { v = 1 }
some { v = "a" }
dynamic "any_list" {
  for_each = secret
  content {
    v = 1
  }
}
nested = [{ x = 1 }, { x = "a", y = 2, z = 3 }]
"#,
        expect![[r#"
            any_list = tuple[!{v=!1}]
            need = 1
            nested = [{x="1" y=null} {x="a" y=2}]
            one = {v=null}
            some = set[{v="1"} {v="a"}]
            refs secret
        "#]],
    );
}

#[test]
fn counts_and_types_of_blocks_are_checked() {
    check(
        Kind::Modern,
        r#"nested = [{ y = 1 }]
one {}
one {}
some { v = [] }
any_set { v = [] }
any_set { v = "x" }
"#,
        expect![[r#"
            any_set = ?dynamic
            nested = ?list of object
            one = {v=null}
            some = set[{v=tuple[]}]
            1:1-1:1 Insufficient some blocks
            1:1-1:1 Missing required argument
            1:10-1:21 Incorrect attribute value type
            3:1-3:4 Duplicate one block
            5:11-5:11 Unconsistent argument types in any_set blocks
            refs 
        "#]],
    );
}

#[test]
fn messages_about_blocks_have_the_words_that_tests_of_providers_look_for() {
    for (problem, words) in [
        (diagnostics::insufficient_blocks("b", 2), "At least 2 \"b\" blocks are required"),
        (diagnostics::too_many_blocks("b", 1), "No more than 1 \"b\" blocks are allowed"),
        (diagnostics::duplicate_block("b"), "Only one block of type \"b\" is allowed"),
        (diagnostics::missing_block("b"), "A block of type \"b\" is required here"),
    ] {
        assert!(problem.detail.contains(words), "{}", problem.detail);
    }
}

#[test]
fn errors_in_dynamic_blocks_are_reported() {
    check(
        Kind::Modern,
        r#"need = "x"
dynamic "nope" {
  for_each = list
  content {}
}
dynamic "list" {
  content {}
}
dynamic "list" {
  for_each = list
}
dynamic "list" {
  for_each = list
  content {}
  content {}
}
dynamic "list" {
  for_each = nothing
  content {}
}
dynamic "list" {
  for_each = 1
  content {}
}
dynamic "list" {
  for_each = list
  iterator = a.b
  content {}
}
dynamic "list" {
  for_each = list
  iterator = "x"
  content {}
}
dynamic "list" {
  for_each = list
  labels = []
  content {}
}
dynamic "map" {
  for_each = list
  content {}
}
dynamic "map" {
  for_each = list
  labels = []
  content {}
}
dynamic "map" {
  for_each = list
  labels = ["a", "b"]
  content {}
}
dynamic "map" {
  for_each = ["a"]
  labels = [nothing]
  content {}
}
dynamic "map" {
  for_each = ["a"]
  labels = [[]]
  content {}
}
dynamic "map" {
  for_each = ["a"]
  labels = "x"
  content {}
}
dynamic "map" {
  for_each = ["a"]
  labels = [secret]
  content {}
}
dynamic {}
"#,
        expect![[r#"
            need = ?number
            15:3-15:10 Extraneous dynamic content block
            18:14-18:21 Invalid dynamic for_each value
            1:1-1:1 Insufficient some blocks
            1:1-1:1 Missing one block
            1:8-1:11 Incorrect attribute value type
            22:14-22:15 Invalid dynamic for_each value
            27:14-27:17 Invalid dynamic iterator name
            2:9-2:15 Unsupported block type
            32:14-32:17 Invalid expression
            37:3-37:9 Unsupported argument
            40:15-40:15 Missing required argument
            46:12-46:14 Insufficient dynamic block labels
            51:18-51:21 Extraneous dynamic block label
            56:13-56:20 Invalid dynamic block label
            61:13-61:15 Invalid dynamic block label
            66:13-66:14 Invalid expression
            6:16-6:16 Missing required argument
            71:13-71:19 Invalid dynamic block label
            74:9-74:10 Missing type for dynamic
            9:16-9:16 Missing dynamic content block
            refs list list list list list list list list nothing nothing secret
        "#]],
    );
}

#[test]
fn lists_of_objects_may_be_written_as_blocks() {
    check(
        Kind::Legacy,
        r#"rule {
  port = 1
  sub {
    z = 1
  }
  sub {
    z = list
  }
}
rule {
  port = "x"
  nope = 1
}
must {
  q = 1
}
dynamic "must" {
  for_each = list
  content {
    q = must.value
  }
}
"#,
        expect![[r#"
            must = set[{q="1"} {q="a"} {q="b"}]
            rule = [{port=1 sub=set[{z="1"} {z=?string}]} {port=?number sub=null}]
            11:10-11:13 Incorrect attribute value type
            12:3-12:7 Unsupported argument
            7:9-7:13 Incorrect attribute value type
            refs list list
        "#]],
    );
}

#[test]
fn lists_of_objects_may_be_written_as_attributes() {
    check(
        Kind::Legacy,
        r#"rule = [{ port = 1, sub = [] }]
must = nothing
"#,
        expect![[r#"
            rule = [{port=1 sub=set[]}]
            refs nothing
        "#]],
    );
}

#[test]
fn json_bodies_are_decoded_alike() {
    check(
        Kind::Legacy,
        r#"{"name": "n", "rule": [{"port": 1, "sub": []}], "single": {"a": "x", "deep": [{"c": "1"}, {"c": "2"}]}, "map": {"k": {"a": "1"}, "l": {"b": 2}},
 "dynamic": {"list": {"for_each": ["p", "q"], "content": {"a": "z"}}, "rule": {"for_each": [], "content": {}}}, "nope": 1}
"#,
        expect![[r#"
            list = [{a="z" b=null deep=[]} {a="z" b=null deep=[]}]
            map = map{k={a="1" b=null deep=[]} l={a=null b=2 deep=[]}}
            name = "n"
            rule = [{port=1 sub=set[]}]
            single = {a="x" b=null deep=[{c="1"} {c="2"}]}
            1:142-1:143 Missing required argument
            2:113-2:119 Extraneous JSON object property
            2:71-2:77 Unsupported block type
            refs 
        "#]],
    );
}

#[test]
fn json_dynamic_blocks_may_be_arrays() {
    check(
        Kind::Legacy,
        r#"{"list": [{"a": "1"}, {"a": "2"}, {"a": "3"}], "dynamic": {"set": [{"for_each": ["p"], "content": {"a": "1"}}, {"for_each": [], "content": []}], "bad": {}}}
"#,
        expect![[r#"
            list = [{a="1" b=null deep=[]} {a="2" b=null deep=[]} {a="3" b=null deep=[]}]
            set = set[{a="1" b=null deep=[]}]
            1:142-1:143 Missing dynamic content block
            1:146-1:151 Unsupported block type
            1:44-1:45 Too many list blocks
            refs 
        "#]],
    );
}
