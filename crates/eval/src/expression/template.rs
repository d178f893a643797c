//! Templates: texts with interpolations and directives.

use ecow::EcoString;
use yuba_syntax::Expr;
use yuba_value::{Marks, Type, Value, View, convert};

use super::Evaluator;
use crate::diagnostics;

/// Maximum length of the known prefix of an unknown result.
const LONGEST_PREFIX: usize = 128;

impl Evaluator<'_> {
    pub(super) fn template(&mut self, parts: &[Expr], expr: &Expr) -> Value {
        let mut failed = false;
        let mut text = EcoString::new();
        let mut known = true;
        let mut marks = Marks::NONE;
        for part in parts {
            let (value, part_failed) = self.eval_checked(part);
            failed |= part_failed;
            if value.is_null() {
                self.report(diagnostics::null_in_template(part.span, expr.span), part);
                failed = true;
                continue;
            }
            marks = marks.union(value.marks());
            if !value.is_known() {
                known = false;
                continue;
            }
            let (value, _) = value.unmark();
            match convert::convert(&value, &Type::string()) {
                Ok(value) => {
                    // Once something is unknown only the text before it counts.
                    if known && !failed {
                        let piece = value.as_str().map_or("", |s| s.as_str());
                        match self.afford(piece.len(), expr.span) {
                            true => text.push_str(piece),
                            false => failed = true,
                        }
                    }
                }
                Err(reason) => {
                    let diagnostic = diagnostics::not_text_in_template(&reason.to_string(), part.span, expr.span);
                    self.report(diagnostic, part);
                    failed = true;
                }
            }
        }
        let result = if known {
            Value::string(text)
        } else {
            let refine = Value::unknown(Type::string()).refine().not_null();
            match text.as_str() {
                "" => refine,
                _ if failed => refine,
                text => refine.prefix(&text[..text.floor_char_boundary(LONGEST_PREFIX)]),
            }
            .done()
        };
        result.with_marks(&marks)
    }

    /// The texts of a `%{ for }`, joined.
    pub(super) fn template_join(&mut self, tuple: &Expr, expr: &Expr) -> Value {
        let tuple = self.eval(tuple);
        let unknown = || Value::unknown(Type::string());
        let View::Tuple(items) = tuple.view_ignoring_marks() else { return unknown().with_marks(tuple.marks()) };
        let mut marks = tuple.marks().clone();
        let mut text = EcoString::new();
        for item in items {
            if item.is_null() {
                self.report(diagnostics::null_in_template_for(expr.span), expr);
                continue;
            }
            if item.ty().is_dynamic() {
                return unknown().with_marks(tuple.marks());
            }
            let item = match convert::convert(item, &Type::string()) {
                Ok(item) => item,
                Err(reason) => {
                    self.report(diagnostics::not_text_in_template_for(&reason.to_string(), expr.span), expr);
                    continue;
                }
            };
            let Some(piece) = item.as_str() else { return unknown().with_marks(tuple.marks()) };
            marks = marks.union(item.marks());
            if !self.afford(piece.len(), expr.span) {
                return unknown().with_marks(&marks);
            }
            text.push_str(piece);
        }
        Value::string(text).with_marks(&marks)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::expression::tests::check;

    #[test]
    fn parts_are_joined() {
        check(
            &[
                "\"a${five}b\"",
                "\"${five}\"",
                "\"a${true}\"",
                "\"${[1]}x\"",
                "\"a${null}\"",
                "\"a${secret}\"",
                "\"ab-${u_string}c\"",
                "\"${u_string}\"",
                "\"a${u_any}${[]}\"",
                "\"%{ if five > 3 }yes%{ else }no%{ endif }\"",
                "\"%{ for x in [1, 2] }<${x}>%{ endfor }\"",
                "\"%{ for x in s_list }${x}%{ endfor }\"",
                "\"%{ for x in [secret] }${x}%{ endfor }\"",
                "\"%{ for x in u_list }${x}%{ endfor }\"",
                "\"%{ if u_bool }a%{ endif }\"",
            ],
            &expect![[r#"
                "a${five}b" => "a5b"
                "${five}" => 5
                "a${true}" => "atrue"
                "${[1]}x" => ! Invalid template interpolation value at `[1]`
                "a${null}" => ! Invalid template interpolation value at `null`
                "a${secret}" => (sensitive)
                "ab-${u_string}c" => unknown(string)! prefix "ab-"
                "${u_string}" => unknown(string)
                "a${u_any}${[]}" => ! Invalid template interpolation value at `[]`
                "%{ if five > 3 }yes%{ else }no%{ endif }" => "yes"
                "%{ for x in [1, 2] }<${x}>%{ endfor }" => "<1><2>"
                "%{ for x in s_list }${x}%{ endfor }" => (sensitive)
                "%{ for x in [secret] }${x}%{ endfor }" => (sensitive)
                "%{ for x in u_list }${x}%{ endfor }" => unknown(string)!
                "%{ if u_bool }a%{ endif }" => unknown(string)!
            "#]],
        );
    }

    #[test]
    fn template_functions() {
        check(
            &[
                "templatefile(\"hello.tmpl\", {name = \"you\"})",
                "templatefile(\"hello.tmpl\", {})",
                "templatefile(\"hello.tmpl\", {name = secret})",
                "templatefile(\"list.tmpl\", {xs = [1, 2]})",
                "templatefile(\"loop.tmpl\", {})",
                "templatefile(\"broken.tmpl\", {})",
                "templatefile(\"none.tmpl\", {})",
                "templatestring(\"$${x}\", {x = [1]})",
                "templatestring(\"$${x} $${upper(x)}\", {x = \"a\"})",
                "templatestring(\"a\", [])",
                "templatestring(\"a\", {\"b c\" = 1})",
                "templatestring(\"$${x.y}\", {x = 1})",
                "templatestring(u_string, {})",
                "templatestring(\"$${secret}\", {})",
            ],
            &expect![[r#"
                templatefile("hello.tmpl", {name = "you"}) => "Hello, you!"
                templatefile("hello.tmpl", {}) => ! Invalid function argument at `{`
                templatefile("hello.tmpl", {name = secret}) => (sensitive)
                templatefile("list.tmpl", {xs = [1, 2]}) => "1,\n2,\n"
                templatefile("loop.tmpl", {}) => ! Error in function call at `templatefile(`
                templatefile("broken.tmpl", {}) => ! Error in function call at `templatefile(`
                templatefile("none.tmpl", {}) => ! Invalid function argument at `none.tmpl`
                templatestring("$${x}", {x = [1]}) => tuple[1]
                templatestring("$${x} $${upper(x)}", {x = "a"}) => "a A"
                templatestring("a", []) => ! Invalid function argument at `[`
                templatestring("a", {"b c" = 1}) => ! Invalid function argument at `{`
                templatestring("$${x.y}", {x = 1}) => ! Error in function call at `templatestring(`
                templatestring(u_string, {}) => unknown(any)
                templatestring("$${secret}", {}) => ! Invalid function argument at `{`
            "#]],
        );
    }
}
