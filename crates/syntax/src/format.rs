//! The formatter: source text to the same text in the one canonical style.
//!
//! Three steps over the token stream, each linear. [`pieces`] drops the whitespace and rewrites what has a better
//! spelling (block labels in quotes, `"${x}"` as `x`, the type keywords of old). [`layout`] decides how many spaces stand
//! before each piece: indentation by brackets, one space or none between neighbours, `=` and trailing comments aligned
//! over consecutive lines. Then everything is written out once.
//!
//! Line breaks and comments are the author's: no line is split, joined, added or removed.

mod label;
mod layout;
mod pieces;

use crate::lexer::{self, LexMode};
use crate::token::Token;

/// The canonical form of a file of configuration in native syntax.
///
/// The file must parse without errors: the caller has checked it and can report them to the author. The result of text
/// that does not parse is unspecified (it is some text, without panic).
pub fn format(source: &[u8]) -> Vec<u8> {
    format_tokens(source, &lexer::lex(source, LexMode::Config))
}

/// Like [`format`], for a caller that has the tokens of the file already.
pub fn format_tokens(source: &[u8], tokens: &[Token]) -> Vec<u8> {
    let mut pieces = pieces::collect(source, tokens);
    layout::arrange(&mut pieces);
    pieces.write()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;
    use crate::token::TokenKind;

    fn check(source: &str, want: Expect) {
        let formatted = String::from_utf8(format(source.as_bytes())).expect("because the source is UTF-8");
        want.assert_eq(&formatted);
        assert_eq!(String::from_utf8_lossy(&format(formatted.as_bytes())), formatted, "not stable");
    }

    #[test]
    fn indentation_follows_brackets_per_line() {
        check(
            "a {\nb {\n\tc = [\n1,\n  [\n2,\n],\n    ]\nd = f({\nx = 1\n})\ne = (1\n+ 2)\n}\n      # end\n   }\n",
            expect![[r#"
                a {
                  b {
                    c = [
                      1,
                      [
                        2,
                      ],
                    ]
                    d = f({
                      x = 1
                    })
                    e = (1
                    + 2)
                  }
                  # end
                }
            "#]],
        );
    }

    #[test]
    fn closing_more_than_one_line_opened_returns_level_by_level() {
        check(
            "a = f([{\nb = 1\n}, {\nc = [\n2\n]}])\nd = [[\n1\n],\n[2]\n]\n",
            expect![[r#"
                a = f([{
                  b = 1
                  }, {
                  c = [
                    2
                ] }])
                d = [[
                  1
                  ],
                  [2]
                ]
            "#]],
        );
    }

    #[test]
    fn spaces_between_neighbours() {
        check(
            "a=b+-c*( d - - e )/-1\nf = !  g&&h||[ - 1,-2 ] [0]== -3 ? -x:y\ni = [for k , v in [1]:v if k!=2]\n\
             j = { for a in(b) :a=>a... }\nk = n :: f ( 1 , x ... ) . y [ * ] . z . 0\nl = {}\nm = { }\nn = {a=1,b:2}\n",
            expect![[r#"
                a = b + -c * (d - -e) / -1
                f = !g && h || [-1, -2][0] == -3 ? -x : y
                i = [for k, v in [1] : v if k != 2]
                j = { for a in(b) : a => a... }
                k = n::f(1, x...).y[*].z.0
                l = {}
                m = {}
                n = { a = 1, b : 2 }
            "#]],
        );
    }

    #[test]
    fn templates_keep_their_text() {
        check(
            "a = \"x  ${  b }  %{ if c }y%{else}z%{ endif  }\"\nb = \"${ {a=1}[\"a\"] }-${f( {} )}\"\nc = <<-EOT\n   x ${ y+1 }\n  \
             %{ for z in  w ~}\n${z}\n%{ endfor ~}\n   EOT\nd = f(<<A\n  t\nA\n,   1)\n",
            expect![[r#"
                a = "x  ${b}  %{if c}y%{else}z%{endif}"
                b = "${ { a = 1 }["a"]}-${f({})}"
                c = <<-EOT
                   x ${y + 1}
                  %{for z in w~}
                ${z}
                %{endfor~}
                   EOT
                d = f(<<A
                  t
                A
                , 1)
            "#]],
        );
    }

    #[test]
    fn assignments_and_comments_align_in_runs_of_lines() {
        check(
            "a = 1 # one\nlonger = 2 // two\n# between\nb = 3\n\nc = [ # opens\n  1, # first\n  22, # second\n]\nd = 1 /* inline */\n\
             ef = 2 /* last */ # end\ng {} # block\nh = { x = 1 } # object",
            expect![[r#"
                a      = 1 # one
                longer = 2 // two
                # between
                b = 3

                c = [ # opens
                  1,  # first
                  22, # second
                ]
                d  = 1 /* inline */
                ef = 2 /* last */ # end
                g {}              # block
                h = { x = 1 }     # object"#]],
        );
    }

    #[test]
    fn columns_are_grapheme_clusters() {
        check(
            "é = 1\ne\u{301}e = 2\nabc = \"👨‍👩‍👧 क्ष\" # c\nd = 1 # d\n",
            expect![[r#"
                é   = 1
                ée  = 2
                abc = "👨‍👩‍👧 क्ष" # c
                d   = 1      # d
            "#]],
        );
    }

    #[test]
    fn labels_are_quoted_in_canonical_spelling() {
        check(
            "resource foo /* x */ bar /* kept */ {\n}\na \"\\u0007\\u200b\\u00a0\\u00e9\" \"e\\u0301\" \"\\t$$%\" \"\" \"$${x}\" {}\n\
             b /* y */ \"c\" {}\nd /* z */ {}\n",
            expect![[r#"
                resource "foo" "bar" /* kept */ {
                }
                a "\u0007\u200b\u00a0é" "é" "\t$$%" "" "$${x}" {}
                b "c" {}
                d /* z */ {}
            "#]],
        );
    }

    #[test]
    fn lone_interpolations_lose_their_quotes() {
        check(
            "a = \"${b}\"\nc = \"${~ b.c[\"x${d}\"] ~}\"\nd = \"${a}${b}\"\ne = \"x${a}\"\nf = [\"${a}\"]\ng = \"${\n  a\n}\"\n\
             h = \"${\n a ? b\n : c}\"\ni = \"${(\n a)}\"\nj { k = \"${ l }\" }\nm = \"${a}\" == \"${b}\"\nn = \"${\"${a}\"}\"\n",
            expect![[r#"
                a = b
                c = b.c["x${d}"]
                d = "${a}${b}"
                e = "x${a}"
                f = ["${a}"]
                g = a
                h = (a ? b
                : c)
                i = (
                a)
                j { k = l }
                m = "${a}" == "${b}"
                n = a
            "#]],
        );
    }

    /// OpenTofu takes the quotes off these as well, and leaves a file that does not parse.
    #[test]
    fn lone_interpolations_stay_valid_over_line_ends() {
        check(
            "a = \"${ # c\n x }\"\nb = \"${ (x)\n+(y) }\"\nc = \"${ x # d\n }\"\n",
            expect![[r#"
                a = ( # c
                x)
                b = ((x)
                + (y))
                c = x # d

            "#]],
        );
    }

    #[test]
    fn old_type_constraints_are_rewritten_in_variables_only() {
        check(
            "variable \"a\" {\n  type = \"string\"\n}\nvariable \"b\" { type = \"list\" }\nvariable \"c\" { type = list }\n\
             variable \"d\" {\n type = /*x*/ \"map\" # y\n x {\n type = map\n }\n}\nvariable \"e\" { type = \"number\" }\n\
             variable \"f\" { type = \"${list}\" }\nx \"g\" { type = set }\ntype = list\n",
            expect![[r#"
                variable "a" {
                  type = string
                }
                variable "b" { type = list(string) }
                variable "c" { type = list(any) }
                variable "d" {
                  type = /*x*/ map(string) # y
                  x {
                    type = map
                  }
                }
                variable "e" { type = "number" }
                variable "f" { type = "${list}" }
                x "g" { type = set }
                type = list
            "#]],
        );
    }

    #[test]
    fn ends_of_lines_and_of_the_file_are_preserved() {
        let check = |source: &str, want: &str| assert_eq!(String::from_utf8_lossy(&format(source.as_bytes())), want);
        check("a=1\r\n  bb = 2 # c\r\n\r\n", "a  = 1\r\nbb = 2 # c\r\n\r\n");
        check("\u{feff}a=1 \n", "a = 1\n");
        check("\u{feff}", "   ");
        check("a=1 \t", "a = 1  ");
        check("  \n\n\n", "\n\n\n");
        check("", "");
    }

    /// Configuration texts of all shapes that the formatter distinguishes, without any style.
    fn body(depth: u32) -> BoxedStrategy<String> {
        let space = prop_oneof![Just(""), Just(" "), Just("  "), Just("\t"), Just(" /* c */ ")];
        let end = prop_oneof![Just("\n"), Just(" # c\n"), Just("//\n\n"), Just("\r\n"), Just(" /* x\n y */\n")];
        let item = prop_oneof![
            4 => ("[a-z]{1,6}|type", space.clone(), expression(2)).prop_map(|(name, s, e)| format!("{name}{s}={s}{e}")),
            1 => Just("# whole line".to_owned()),
            1 => ("[a-z]{1,3}|variable", prop_oneof![Just("x"), Just("\"y-z\""), Just("\"\\u00e9\" z")], body_of(depth))
                .prop_map(|(name, labels, body)| format!("{name} {labels}{body}")),
        ];
        prop::collection::vec((space, item, end), 0..5)
            .prop_map(|items| items.into_iter().map(|(s, i, e)| format!("{s}{i}{e}")).collect())
            .boxed()
    }

    fn body_of(depth: u32) -> BoxedStrategy<String> {
        let empty = prop_oneof![Just("{}".to_owned()), expression(1).prop_map(|e| format!("{{ a={e} }}"))];
        match depth {
            0 => empty.boxed(),
            _ => prop_oneof![empty, body(depth - 1).prop_map(|body| format!(" {{\n{body} }}"))].boxed(),
        }
    }

    fn expression(depth: u32) -> BoxedStrategy<String> {
        let leaf = prop_oneof![
            "[a-z]{1,3}|in|list|-1|!x|\"te  xt\"|\"list\"|1[.]5",
            Just("<<EOT\n  text ${ x }\nEOT\n".to_owned()).prop_map(|h| format!("[{h}]")),
        ];
        leaf.prop_recursive(depth, 8, 3, |inner| {
            let gap = prop_oneof![Just(""), Just(" "), Just("\n"), Just(" # c\n")];
            prop_oneof![
                inner.clone().prop_map(|e| format!("\"${{{e}}}\"")),
                inner.clone().prop_map(|e| format!("\"${{ {e}\n}}\"")),
                inner.clone().prop_map(|e| format!("\"a${{ {e}}} %{{if x}}$${{ %{{ endif }}\"")),
                (inner.clone(), gap.clone()).prop_map(|(e, g)| format!("({g}{e}{g})")),
                (inner.clone(), inner.clone(), gap.clone()).prop_map(|(a, b, g)| format!("[{g}{a},{g}{b}{g}]")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}  ==-{b}")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{\nx={a} # c\nyy: {b}\n}}")),
                (inner.clone(), inner).prop_map(|(a, b)| format!("f( {a} ,{b}... )[0]")),
            ]
        })
        .boxed()
    }

    #[test]
    fn digits_and_dots_do_not_grow_together() {
        for source in ["a = 1. 5\n", "a = 1 .5\n", "a = 1. 1. 50\n", "a = b.0.1\n", "a = b.0 .c\n"] {
            let formatted = format(source.as_bytes());
            assert_eq!(significant(&formatted), significant(source.as_bytes()), "{source}");
        }
    }

    /// Kinds and texts of everything but whitespace.
    fn significant(source: &[u8]) -> Vec<(TokenKind, &[u8])> {
        let tokens = lexer::lex(source, LexMode::Config);
        tokens
            .iter()
            .map(|t| (t.kind, &source[t.start as usize..t.end as usize]))
            .filter(|(_, t)| !t.trim_ascii().is_empty())
            .collect()
    }

    proptest! {
        #[test]
        fn formatting_twice_changes_nothing(source in body(2)) {
            let once = format(source.as_bytes());
            let twice = format(&once);
            prop_assert_eq!(String::from_utf8_lossy(&twice), String::from_utf8_lossy(&once));
        }

        #[test]
        fn only_spaces_change_where_nothing_is_rewritten(source in expression(3)) {
            let source = format!("a   =[ {source} ]\n");
            let formatted = format(source.as_bytes());
            prop_assert_eq!(significant(&formatted), significant(source.as_bytes()));
        }

        #[test]
        fn any_text_gets_through(source in "[a-z =\"${}()\\[\\]\n#/*<E,.:?-]{0,60}") {
            format(source.as_bytes());
        }
    }
}
