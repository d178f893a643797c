//! Every construct and every complaint.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::source::SourceFile;

/// Diagnostics as `title @line:column-line:column`.
fn show_diags(text: &[u8], diags: &Diagnostics) -> String {
    let file = SourceFile::new("test", text);
    let location = |offset: u32| {
        let at = file.position(offset as usize);
        format!("{}:{}", at.line, at.column)
    };
    let show = |d: &Diagnostic| {
        let span = d.subject.map(|s| format!(" @{}-{}", location(s.start), location(s.end)));
        format!("! {}{}\n", d.summary, span.unwrap_or_default())
    };
    diags.iter().map(show).collect()
}

/// One expression per line: its tree, and its errors.
fn check_lines(lines: &str, expect: Expect) {
    let mut out = String::new();
    for line in lines.lines().filter(|line| !line.is_empty()) {
        let line = line.replace('⏎', "\n");
        let (expr, diags) = parse_expression(FileId(0), line.as_bytes());
        out += &format!("{expr}\n{}", show_diags(line.as_bytes(), &diags));
    }
    expect.assert_eq(&out);
}

fn check_templates(texts: &[&str], expect: Expect) {
    let mut out = String::new();
    for text in texts {
        let (expr, diags) = parse_template(FileId(0), text.as_bytes());
        out += &format!("{expr}\n{}", show_diags(text.as_bytes(), &diags));
    }
    expect.assert_eq(&out);
}

fn show_body(body: &Body, indent: usize, out: &mut String) {
    let Body::Native(body) = body else { return };
    for attribute in &body.attributes {
        *out += &format!("{:indent$}{} = {}\n", "", attribute.name, attribute.expr);
    }
    for block in &body.blocks {
        let labels: String = block.labels.iter().map(|(label, _)| format!(" {label:?}")).collect();
        *out += &format!("{:indent$}{}{labels}:\n", "", block.kind);
        show_body(&block.body, indent + 2, out);
    }
}

fn check_configs(texts: &[&str], expect: Expect) {
    let mut out = String::new();
    for text in texts {
        let (tree, file) = parse_config(FileId(0), text.as_bytes());
        assert_eq!(tree.text(text.as_bytes()), text.as_bytes());
        show_body(&file.body, 0, &mut out);
        out += &show_diags(text.as_bytes(), &file.diagnostics);
    }
    expect.assert_eq(&out);
}

#[test]
fn literals_and_references() {
    check_lines(
        r#"
1
1.50
123456789012345678901234567890
true
null
a
a.b.c
a.0.b
a["k"][0].c
a[b]
a[b.c][0]
(a).b
"x".y
a.*.b.0
a[*].b[0].c
a[*][*]
a.*.b[0]
f(a).b[*]
a[null]
"#,
        expect![[r#"
            1
            1.50
            123456789012345678901234567890
            true
            null
            a
            a.b.c
            a[0].b
            a["k"][0].c
            (index a b)
            (get (index a b.c) [0])
            (get (paren a) .b)
            (get "x" .y)
            (splat a (get * .b[0]))
            (splat a (get * .b[0].c))
            (splat a (splat * *))
            (get (splat a (get * .b)) [0])
            (splat (get (call f a) .b) *)
            a[null]
        "#]],
    );
}

#[test]
fn operators_by_precedence_from_left_to_right() {
    check_lines(
        r#"
1 + 2 * 3 - 4
a && b || c && d
a == b != c
1 < 2 == 3 >= 4
-a + !b
-a.b[0]
--1
!a ? b : c ? d : e
(1 + 2) * 3
a % b / c
"#,
        expect![[r#"
            (Subtract (Add 1 (Multiply 2 3)) 4)
            (Or (And a b) (And c d))
            (NotEqual (Equal a b) c)
            (Equal (Less 1 2) (GreaterEqual 3 4))
            (Add (Negate a) (Not b))
            (Negate a.b[0])
            (Negate (Negate 1))
            (? (Not a) b (? c d e))
            (Multiply (paren (Add 1 2)) 3)
            (Divide (Modulo a b) c)
        "#]],
    );
}

#[test]
fn calls_and_collections() {
    check_lines(
        r#"
f()
f(a, b,)
f(a...)
provider::x::f(a)
f(⏎ a,⏎ b⏎)
[]
[1, 2,]
[⏎ 1,⏎ 2⏎]
{}
{ a = 1, b : 2 }
{⏎ a = 1⏎ "b" = 2⏎ (c) = 3⏎⏎}
{ a.b = 1, true = 2, "${x}" = 3, 4 = 5 }
[for x in y : x]
[for k, v in y : "${k}" if v]
{for k, v in y : k => v...}
{⏎for x in y :⏎ x => x if x⏎}
"#,
        expect![[r#"
            (call f)
            (call f a b)
            (call f a...)
            (call provider::x::f a)
            (call f a b)
            (tuple)
            (tuple 1 2)
            (tuple 1 2)
            (object)
            (object "a" = 1 "b" = 2)
            (object "a" = 1 "b" = 2 (paren c) = 3)
            (object a.b? = 1 "true" = 2 (wrap x) = 3 4 = 5)
            (for x in y : x)
            (for k, v in y : (wrap k) if v)
            (for k, v in y : k => v...)
            (for x in y : x => x if x)
        "#]],
    );
}

#[test]
fn templates_in_quotes() {
    check_lines(
        r#"
""
"a"
"a\n\t\"\\\u00e9\U0001F600"
"${a}"
"${a} b"
"$${a} %%{b} $ % $$ $"
"a ${~ b ~} c"
"%{ if a }x%{ else }y%{ endif }"
"%{ if a }${b}%{ endif }"
"%{ for k, v in a ~} ${k} %{~ endfor }"
"a${"b${c}"}"
"#,
        expect![[r#"
            ""
            "a"
            "a\n\t\"\\é😀"
            (wrap a)
            (template a " b")
            "${a} %{b} $ % $$ $"
            (template "a" b "c")
            (template (? a "x" "y"))
            (template (? a (template b) ""))
            (template (join (for k, v in a : (template "" k ""))))
            (template "a" (template "b" c))
        "#]],
    );
}

#[test]
fn heredocs() {
    check_lines(
        r"
<<E⏎a⏎  b⏎E⏎
<<E⏎E⏎
<<E⏎${a}⏎E⏎
<<-E⏎    a⏎⏎      b ${c}⏎  ⏎    E⏎
<<-E⏎  ${a}⏎    b⏎  E⏎
<<-E⏎    ${~ a ~}   ⏎   b⏎E⏎
<<E⏎\n $${x}⏎E⏎
",
        expect![[r#"
            "a\n  b\n"
            ""
            (template a "\n")
            (template "a\n\n  b " c "\n  \n")
            (template "" a "\n  b\n")
            (template "" a "   b\n")
            "\\n ${x}\n"
        "#]],
    );
}

#[test]
fn bare_templates() {
    check_templates(
        &[
            "",
            "hello ${name}!\n",
            "${a}",
            "%{ for x in y ~}\n- ${x}\n%{ endfor ~}\nend",
            "\"quotes\" and \\n are text $",
        ],
        expect![[r#"
            ""
            (template "hello " name "!\n")
            (wrap a)
            (template (join (for x in y : (template "- " x "\n"))) "end")
            "\"quotes\" and \\n are text $"
        "#]],
    );
}

#[test]
fn line_ends_in_brackets_mean_nothing() {
    check_configs(
        &["a = (1\n  + 2)\nb = [\n  # c\n  1 // d\n]\nc = f(\n1\n)\n"],
        expect![[r#"
        a = (paren (Add 1 2))
        b = (tuple 1)
        c = (call f 1)
    "#]],
    );
    check_lines(
        "a⏎+ b",
        expect![[r#"
        (Add a b)
    "#]],
    );
}

#[test]
fn complaints_about_expressions() {
    check_lines(
        r#"
+
1 +
a b
a.
a.0.1
a.*.*
a.*.b.0.1
a[1
a[*
(1
f(1
f(1 2)
f(a... b)
a::1()
a::b
[1
[1 2]
{a
{a = 1
{a b = 1}
{a, b}
{a = 1 b = 2}
a ? b
1.2.3
'x'
a & b | c
a;
"a
"\q \u12 \ud800"
"#,
        expect![[r#"
            <invalid>
            ! Invalid expression @1:1-1:2
            1
            ! Missing expression @1:4-1:4
            a
            ! Extra characters after expression @1:3-1:4
            <invalid>
            ! Invalid attribute name @1:3-1:3
            (index a <invalid>)
            ! Invalid legacy index syntax @1:3-1:6
            a
            ! Nested splat expression not allowed @1:5-1:6
            (splat a (index (get * .b) <invalid>))
            ! Invalid legacy index syntax @1:3-1:4
            a[1]
            ! Missing close bracket on index @1:4-1:4
            (splat a *)
            ! Missing close bracket on splat index @1:4-1:4
            (paren 1)
            ! Unbalanced parentheses @1:3-1:3
            (call f 1)
            ! Unterminated function call @1:1-1:3
            (call f 1)
            ! Missing argument separator @1:5-1:6
            (call f a...)
            ! Missing closing parenthesis @1:4-1:7
            <invalid>
            ! Missing function name @1:4-1:5
            <invalid>
            ! Missing open parenthesis @1:5-1:5
            (tuple 1)
            ! Unterminated tuple constructor expression @1:1-1:2
            (tuple 1)
            ! Missing item separator @1:4-1:5
            (object)
            ! Unterminated object constructor expression @1:1-1:2
            (object "a" = 1)
            ! Unterminated object constructor expression @1:1-1:2
            (object)
            ! Missing key/value separator @1:4-1:5
            (object)
            ! Missing attribute value @1:3-1:4
            (object "a" = 1)
            ! Missing attribute separator @1:8-1:9
            a
            ! Missing false expression in conditional @1:6-1:6
            <invalid>
            ! Invalid number literal @1:1-1:6
            <invalid>
            ! Invalid character @1:1-1:2
            ! Invalid expression @1:1-1:2
            a
            ! Unsupported operator @1:3-1:4
            ! Unsupported operator @1:7-1:8
            ! Extra characters after expression @1:3-1:4
            a
            ! Invalid character @1:2-1:3
            ! Extra characters after expression @1:2-1:3
            "a"
            ! Unterminated template string @1:3-1:3
            "q \\u12 \\ud800"
            ! Invalid escape sequence @1:2-1:4
            ! Invalid escape sequence @1:5-1:9
            ! Invalid escape sequence @1:10-1:16
        "#]],
    );
}

#[test]
fn complaints_about_for() {
    check_lines(
        r#"
[for 1 in a : b]
[for k, 1 in a : b]
[for x a : b]
[for x in a b]
[for x in a : b => c]
[for x in a : b...]
{for x in a : b}
[for x in a : b c]
"#,
        expect![[r#"
            <invalid>
            ! Invalid 'for' expression @1:6-1:7
            <invalid>
            ! Invalid 'for' expression @1:9-1:10
            <invalid>
            ! Invalid 'for' expression @1:8-1:9
            <invalid>
            ! Invalid 'for' expression @1:13-1:14
            (for x in a : b => c)
            ! Invalid 'for' expression @1:15-1:16
            (for x in a : b...)
            ! Invalid 'for' expression @1:16-1:19
            (for x in a : b)
            ! Invalid 'for' expression @1:15-1:16
            (for x in a : b)
            ! Invalid 'for' expression @1:17-1:18
        "#]],
    );
}

#[test]
fn complaints_about_templates() {
    check_templates(
        &[
            "${a",
            "${a b}",
            "${a:b}",
            "%{ if a }",
            "%{ for x in a }",
            "%{ endif }",
            "%{ if a }%{ else }%{ else }%{ endif }",
            "%{ if a }%{ endfor }",
            "%{ for a in b }%{ else }%{ endfor }",
            "%{ for 1 in b }",
            "%{ fro x }",
            "%{ 1 }",
            "%{ if a b }%{ endif }",
        ],
        expect![[r#"
            (wrap a)
            ! Unclosed template interpolation sequence @1:1-1:3
            (wrap a)
            ! Extra characters after interpolation expression @1:5-1:6
            (wrap a)
            ! Extra characters after interpolation expression @1:4-1:5
            (template <invalid>)
            ! Unexpected end of template @1:10-1:10
            (template <invalid>)
            ! Unexpected end of template @1:16-1:16
            (template <invalid>)
            ! Unexpected endif directive @1:1-1:11
            (template <invalid> <invalid>)
            ! Unexpected else directive @1:19-1:28
            ! Unexpected endif directive @1:28-1:38
            (template <invalid>)
            ! Unexpected endfor directive @1:10-1:21
            (template <invalid> <invalid>)
            ! Unexpected else directive @1:16-1:25
            ! Unexpected endfor directive @1:25-1:36
            ""
            ! Invalid 'for' directive @1:8-1:9
            ""
            ! Invalid template control keyword @1:4-1:7
            ""
            ! Invalid template directive @1:4-1:5
            (template (? a "" ""))
            ! Extra characters in if marker @1:9-1:10
        "#]],
    );
    check_lines(
        r#""${a"#,
        expect![[r#"
        (wrap a)
        ! Unclosed template interpolation sequence @1:2-1:4
    "#]],
    );
    check_lines(
        r#""${"a"#,
        expect![[r#"
        (wrap "a")
        ! Unterminated template string @1:6-1:6
    "#]],
    );
}

#[test]
fn configuration() {
    check_configs(
        &["\u{feff}# c\na = 1\nb \"x\" y {\n  c = d\n  e {}\n  f { g = h }\n}\r\n/* i */ j = <<E\nk\nE\n"],
        expect![[r#"
            a = 1
            j = "k\n"
            b "x" "y":
              c = d
              e:
              f:
                g = h
        "#]],
    );
}

#[test]
fn complaints_about_bodies() {
    check_configs(
        &[
            "a = 1\na = 2\n",
            "a = 1 b = 2\nc = 3\n",
            "a = 1, b = 2\n",
            "a\nb = 1\n",
            "\"a\" = 1\n",
            "= 1\n",
            "a {\n",
            "a { b = 1, c = 2 }\n",
            "a { b = 1\n}\n",
            "a { b = 1",
            "a { b {} }\n",
            "a { b }\n",
            "a { b = 1 c }\n",
            "a \"b\"\n{}\n",
            "a \"b\" = {}\n",
            "a b 1 {}\n",
            "a {} b {}\n",
            "a \"x${y}\" {}\n",
            "a \"x\n",
            "a = \nb = 2\n",
        ],
        expect![[r#"
            a = 1
            ! Attribute redefined @2:1-2:2
            a = 1
            c = 3
            ! Missing newline after argument @1:7-1:8
            a = 1
            ! Unexpected comma after argument @1:6-1:7
            b = 1
            ! Argument or block definition required @1:1-1:2
            ! Invalid argument name @1:1-1:2
            ! Argument or block definition required @1:1-1:2
            a:
            ! Unclosed configuration block @1:3-1:4
            a:
              b = 1
            ! Invalid single-argument block definition @1:10-1:11
            a:
              b = 1
            ! Invalid single-argument block definition @1:10-2:1
            a:
              b = 1
            ! Unclosed configuration block @1:3-1:4
            a:
            ! Argument definition required @1:5-1:8
            a:
            ! Argument or block definition required @1:5-1:6
            a:
              b = 1
            ! Invalid single-argument block definition @1:11-1:12
            a "b":
            ! Invalid block definition @1:6-2:1
            a "b":
            ! Invalid block definition @1:7-1:8
            a "b":
            ! Invalid block definition @1:5-1:6
            a:
            ! Missing newline after block definition @1:6-1:7
            a "x${ ... }":
            ! Invalid string literal @1:5-1:7
            a "x":
            ! Invalid multi-line string @1:5-2:1
            ! Invalid string literal @1:5-2:1
            a = <invalid>
            b = 2
            ! Invalid expression @1:5-2:1
        "#]],
    );
}

#[test]
fn references_on_their_own() {
    let mut out = String::new();
    for text in ["a", "a.b[0][\"k\"]", "1", "a.*", "a[*]", "a[b]", "a[0", "a.", "a b"] {
        let (traversal, diags) = parse_traversal(FileId(0), text.as_bytes());
        let traversal = traversal.map(|t| t.to_string()).unwrap_or_default();
        out += &format!("{traversal}\n{}", show_diags(text.as_bytes(), &diags));
    }
    expect![[r#"
        a
        a.b[0]["k"]

        ! Variable name required @1:1-1:2
        a
        ! Attribute name required @1:3-1:4
        a
        ! Attribute name required @1:3-1:4
        a
        ! Index value required @1:3-1:4
        a[0]
        ! Unclosed index brackets @1:4-1:4
        a
        ! Attribute name required @1:3-1:3
        a
        ! Invalid character @1:3-1:4
    "#]]
    .assert_eq(&out);
}

#[test]
fn the_tree_shows_what_belongs_together() {
    let text = "a = 1 + b.c[0] # d\ne \"f\" {\n  g = \"${h}\"\n}\n";
    let (tree, _) = parse_config(FileId(0), text.as_bytes());
    expect![[r#"
        File
          Attribute
            Binary
              Literal "1"
              Index
                Attr
                  Name "b"
                Literal "0"
          Block
            Label "\"f\""
            Attribute
              Template
                Interpolation
                  Name "h"
    "#]]
    .assert_eq(&tree.debug_text(text.as_bytes()));
    assert_eq!(tree.children(0).count(), 2);
}

#[test]
fn strings_are_in_normal_form_c() {
    let (expr, _) = parse_expression(FileId(0), "\"e\u{301}\"".as_bytes());
    assert_eq!(expr.as_literal_string().map(|text| text.as_str()), Some("\u{e9}"));
}

#[test]
fn nesting_without_end_is_one_complaint() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{a=", "}"),
        ("f(", ")"),
        ("-", ""),
        ("!", ""),
        ("a ? ", " : 2"),
        ("a ? 1 : ", ""),
        ("\"${", "}\""),
        ("[for x in ", " : x]"),
        ("a[", "]"),
        ("1+", ""),
        ("1*1+", ""),
        ("<<E\n${", "}\nE\n"),
    ] {
        let text = format!("x = {}1{}\n", open.repeat(10_000), close.repeat(10_000));
        let (tree, file) = parse_config(FileId(0), text.as_bytes());
        let first = file.diagnostics.iter().next().map(|d| d.summary.as_str());
        let expected = ["Expression nested too deeply", "Expression too long"];
        assert!(first.is_some_and(|summary| expected.contains(&summary)), "{open}: {first:?}");
        assert_eq!(file.diagnostics.len(), 1, "{open}");
        assert_eq!(tree.text(text.as_bytes()), text.as_bytes());
    }
    for (text, expected) in
        [("a[b]", "Expression too long"), ("[*]", "Expression nested too deeply"), ("[b]", "Expression too long")]
    {
        let text = format!("x{}", text.strip_prefix('a').unwrap_or(text).repeat(10_000));
        let (_, diags) = parse_expression(FileId(0), text.as_bytes());
        assert_eq!(diags.iter().map(|d| d.summary.as_str()).collect::<Vec<_>>(), [expected]);
    }
    let text = "%{if a}".repeat(10_000) + &"%{endif}".repeat(10_000);
    assert_eq!(parse_template(FileId(0), text.as_bytes()).1.len(), 1);
    let text = "a {\n".repeat(10_000) + &"}\n".repeat(10_000);
    assert_eq!(parse_config(FileId(0), text.as_bytes()).1.diagnostics.len(), 1);
}

proptest! {
    #[test]
    fn any_bytes_can_be_parsed(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        parse_everything(&bytes)?;
    }

    #[test]
    fn likely_text_can_be_parsed(
        text in r#"(a|b| |for |if |in |else|endif|[\[\](){}.,:?=+*!"'\n]|<<E\n|\nE\n|\$\{|%\{|\.\.\.|=>|\[\*\]|1|::){0,40}"#
    ) {
        parse_everything(text.as_bytes())?;
    }
}

fn parse_everything(bytes: &[u8]) -> Result<(), TestCaseError> {
    let (tree, _) = parse_config(FileId(0), bytes);
    prop_assert_eq!(tree.text(bytes), bytes);
    prop_assert_eq!(tree.nodes.first().map(|root| root.size as usize), Some(tree.nodes.len()));
    for node in 0..tree.nodes.len() {
        let parent = tree.nodes[node];
        for child in tree.children(node) {
            let child = tree.nodes[child];
            prop_assert!(child.first >= parent.first && child.end <= parent.end);
        }
    }
    parse_expression(FileId(0), bytes);
    parse_template(FileId(0), bytes);
    parse_traversal(FileId(0), bytes);
    crate::json::parse_config(FileId(0), bytes);
    Ok(())
}
