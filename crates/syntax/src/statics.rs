//! Reading expressions without evaluating them: what they refer to, and the forms that are syntax rather than value.

use ecow::EcoString;

use crate::expr::{CallExpr, Expr, ExprKind, Literal, ObjectItem, Traversal, TraversalStep};
use crate::source::Span;
use crate::{Diagnostics, diagnostics, parser};

impl Expr {
    /// Every reference in it, in order, except to names that a `for` inside of it defines.
    pub fn variables(&self) -> Vec<&Traversal> {
        let mut found = Vec::new();
        walk(self, &mut Vec::new(), &mut |expr, scopes| {
            if let ExprKind::Traversal(traversal) = &expr.kind
                && !scopes.contains(&&traversal.root)
            {
                found.push(traversal);
            }
        });
        found
    }

    /// Every call in it, outer ones before inner ones.
    pub fn functions(&self) -> Vec<&CallExpr> {
        let mut found = Vec::new();
        walk(self, &mut Vec::new(), &mut |expr, _| {
            if let ExprKind::Call(call) = &expr.kind {
                found.push(&**call);
            }
        });
        found
    }

    /// It as a reference, if it is nothing else. The words `true`, `false` and `null` are names here, and a string of
    /// JSON syntax is read as a reference.
    pub fn as_traversal(&self) -> Option<Traversal> {
        match &self.kind {
            ExprKind::Traversal(traversal) => Some(traversal.clone()),
            ExprKind::Literal(Literal::Null) => Some(name_traversal("null", self.span)),
            ExprKind::Literal(Literal::Bool(true)) => Some(name_traversal("true", self.span)),
            ExprKind::Literal(Literal::Bool(false)) => Some(name_traversal("false", self.span)),
            ExprKind::RelativeTraversal(source, steps) => {
                let source = source.as_traversal()?;
                let steps = source.steps.iter().chain(steps.iter()).cloned().collect();
                Some(Traversal { steps, span: self.span, ..source })
            }
            ExprKind::JsonString(string) => {
                // Quirk: offsets inside the string are counted from its quote.
                let (traversal, diagnostics) =
                    parser::parse_traversal_at(self.span.file, self.span.start, string.text.as_bytes());
                traversal.filter(|_| !diagnostics.has_errors())
            }
            _ => None,
        }
    }

    /// The expression as a reference, or the reason why it is not one.
    pub fn to_traversal(&self) -> Result<Traversal, Diagnostics> {
        self.as_traversal().ok_or_else(|| diagnostics::reference_required(self.span).into())
    }

    /// It as a single name, if it is nothing else.
    pub fn as_keyword(&self) -> Option<EcoString> {
        match &self.kind {
            ExprKind::Traversal(traversal) if traversal.steps.is_empty() => Some(traversal.root.clone()),
            ExprKind::Literal(_) | ExprKind::JsonString(_) => {
                self.as_traversal().filter(|traversal| traversal.steps.is_empty()).map(|traversal| traversal.root)
            }
            _ => None,
        }
    }

    /// It as a call, if it is nothing else. A string of JSON syntax is read as an expression.
    pub fn as_call(&self) -> Option<CallExpr> {
        match &self.kind {
            ExprKind::Call(call) => Some((**call).clone()),
            ExprKind::JsonString(string) => {
                let (expr, diagnostics) =
                    parser::parse_expression_at(self.span.file, self.span.start, string.text.as_bytes());
                if diagnostics.has_errors() { None } else { expr.as_call() }
            }
            _ => None,
        }
    }

    /// Its items, if it is written as a tuple.
    pub fn as_list(&self) -> Option<&[Expr]> {
        match &self.kind {
            ExprKind::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// Its items, if it is written as an object.
    pub fn as_map(&self) -> Option<&[ObjectItem]> {
        match &self.kind {
            ExprKind::Object(items) | ExprKind::JsonObject(items) => Some(items),
            _ => None,
        }
    }

    /// Its text, if it is a string without interpolation.
    pub fn as_literal_string(&self) -> Option<&EcoString> {
        match &self.kind {
            ExprKind::Literal(Literal::String(text)) => Some(text),
            ExprKind::JsonString(string) if string.template.is_none() => Some(&string.text),
            _ => None,
        }
    }

    /// First token of an expression, through operators, parentheses and interpolations.
    pub fn first_operand(&self) -> &Expr {
        let mut expr = self;
        loop {
            expr = match &expr.kind {
                ExprKind::Conditional(conditional) => &conditional.condition,
                ExprKind::Binary(binary) => &binary.left,
                ExprKind::Parens(inner) | ExprKind::TemplateJoin(inner) => inner,
                ExprKind::Template(parts) => match parts.first() {
                    Some(first) if !matches!(first.kind, ExprKind::Literal(_)) => first,
                    _ => return expr,
                },
                _ => return expr,
            };
        }
    }

    /// The part that messages about the expression as a whole point at: the first operand of operators, the name of a
    /// call, an opening bracket; all of it for short forms.
    pub fn start_span(&self) -> Span {
        let first = self.first_operand();
        match &first.kind {
            ExprKind::Index(index) => index.open_span,
            ExprKind::Call(call) => call.name_span.to(call.open_span),
            ExprKind::Unary(unary) => unary.op_span,
            ExprKind::Literal(Literal::String(_)) => first.text_span(),
            ExprKind::Template(parts) => parts.first().map_or(first.span, |part| part.span),
            ExprKind::Tuple(_) | ExprKind::Object(_) | ExprKind::JsonObject(_) => {
                Span { end: first.span.start + 1, ..first.span }
            }
            ExprKind::For(parts) => parts.open_span,
            ExprKind::Splat(splat) => splat.marker_span,
            _ => first.span,
        }
    }

    /// The inside of a quoted string, or the location behind it.
    fn text_span(&self) -> Span {
        let Span { file, start, end } = self.span;
        match end.saturating_sub(start) {
            0 | 1 => self.span,
            2 => Span { file, start: end, end },
            _ => Span { file, start: start + 1, end: end - 1 },
        }
    }
}

impl ObjectItem {
    /// The key as a reference, where an object is read as syntax: `aws.west = ...`, and a bare name.
    pub fn key_as_traversal(&self) -> Option<Traversal> {
        match &self.key.kind {
            ExprKind::Literal(Literal::String(name)) if self.key_is_bare_name => {
                Some(name_traversal(name, self.key.span))
            }
            _ => self.key.as_traversal(),
        }
    }
}

impl TraversalStep {
    /// Its location, with its dot or brackets.
    pub fn span(&self) -> Span {
        match self {
            TraversalStep::Attr { span, .. } | TraversalStep::Index { span, .. } => *span,
        }
    }
}

fn name_traversal(name: &str, span: Span) -> Traversal {
    Traversal { root: name.into(), root_span: span, steps: [].into(), span }
}

/// Visits an expression and all in it, outer before inner, with the names that are local there.
fn walk<'e>(expr: &'e Expr, scopes: &mut Vec<&'e EcoString>, visit: &mut dyn FnMut(&'e Expr, &[&'e EcoString])) {
    visit(expr, scopes);
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Traversal(_) | ExprKind::SplatItem | ExprKind::Invalid => {}
        ExprKind::RelativeTraversal(inner, _)
        | ExprKind::Parens(inner)
        | ExprKind::TemplateWrap(inner)
        | ExprKind::TemplateJoin(inner) => walk(inner, scopes, visit),
        ExprKind::Index(index) => {
            walk(&index.collection, scopes, visit);
            walk(&index.key, scopes, visit);
        }
        ExprKind::Call(call) => call.args.iter().for_each(|arg| walk(arg, scopes, visit)),
        ExprKind::Conditional(conditional) => {
            walk(&conditional.condition, scopes, visit);
            walk(&conditional.if_true, scopes, visit);
            walk(&conditional.if_false, scopes, visit);
        }
        ExprKind::Binary(binary) => {
            walk(&binary.left, scopes, visit);
            walk(&binary.right, scopes, visit);
        }
        ExprKind::Unary(unary) => walk(&unary.operand, scopes, visit),
        ExprKind::Template(parts) | ExprKind::Tuple(parts) => {
            parts.iter().for_each(|part| walk(part, scopes, visit));
        }
        ExprKind::Object(items) | ExprKind::JsonObject(items) => {
            for item in items.iter() {
                walk(&item.key, scopes, visit);
                walk(&item.value, scopes, visit);
            }
        }
        ExprKind::For(parts) => {
            walk(&parts.collection, scopes, visit);
            let outside = scopes.len();
            scopes.extend(parts.key_name.iter().chain([&parts.value_name]));
            if let Some(key) = &parts.key {
                walk(key, scopes, visit);
            }
            walk(&parts.value, scopes, visit);
            if let Some(condition) = &parts.condition {
                walk(condition, scopes, visit);
            }
            scopes.truncate(outside);
        }
        ExprKind::Splat(splat) => {
            walk(&splat.source, scopes, visit);
            walk(&splat.each, scopes, visit);
        }
        ExprKind::JsonString(string) => {
            if let Some((template, diagnostics)) = &string.template
                && !diagnostics.has_errors()
            {
                walk(template, scopes, visit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::FileId;
    use crate::parser::parse_expression;

    fn names(text: &str) -> String {
        let (expr, _) = parse_expression(FileId(0), text.as_bytes());
        expr.variables().iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn variables_are_names_not_defined_inside() {
        for (text, expected) in [
            ("a.b + c[0][d.e]", "a.b c[0] d.e"),
            ("[for k, v in x.y : \"${k}${v.z}${w}\" if u]", "x.y w u"),
            ("{for x in x : x => y...}", "x y"),
            ("a[*].b[c]", "a c"),
            ("{ a = b, (c) = d, e.f = g }", "b c d e.f g"),
            ("\"%{ for i in l }${i}${j}%{ endfor }\"", "l j"),
            ("f(a, true)", "a"),
            ("[for a in [for b in c : b] : b]", "c b"),
        ] {
            assert_eq!(names(text), expected, "{text}");
        }
    }

    #[test]
    fn functions_are_listed_from_outside_in() {
        let (expr, _) = parse_expression(FileId(0), b"f(g(1), [a::h()])");
        let names: Vec<&str> = expr.functions().iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["f", "g", "a::h"]);
    }

    #[test]
    fn static_forms() {
        let parse = |text: &str| parse_expression(FileId(0), text.as_bytes()).0;
        assert_eq!(parse("a.b[0]").as_traversal().map(|t| t.to_string()).as_deref(), Some("a.b[0]"));
        assert_eq!(parse("null.a").as_traversal().map(|t| t.to_string()).as_deref(), Some("null.a"));
        assert!(parse("(a)").as_traversal().is_none());
        assert!(parse("a[b]").to_traversal().is_err());
        assert_eq!(parse("any").as_keyword().as_deref(), Some("any"));
        assert_eq!(parse("true").as_keyword().as_deref(), Some("true"));
        assert!(parse("a.b").as_keyword().is_none() && parse("1").as_keyword().is_none());
        assert_eq!(parse("list(string)").as_call().map(|call| call.args.len()), Some(1));
        assert_eq!(parse("[1, 2]").as_list().map(<[_]>::len), Some(2));
        let object = parse("{ aws.a = 1, aws = 2, \"b\" = 3 }");
        let keys: Vec<Option<String>> = object
            .as_map()
            .unwrap_or_default()
            .iter()
            .map(|item| item.key_as_traversal().map(|t| t.to_string()))
            .collect();
        assert_eq!(keys, [Some("aws.a".to_owned()), Some("aws".to_owned()), None]);
    }
}
