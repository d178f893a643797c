//! The `depends_on` argument: a list of references.

use yuba_syntax::{Diagnostics, Expr, ExprKind, Traversal, parser};

use crate::diagnostics;

/// Reads a list of references. In quotes they still work, with a warning.
pub(crate) fn decode(expr: &Expr) -> (Vec<Traversal>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let mut references = Vec::new();
    let Some(items) = expr.as_list() else {
        diagnostics.push(diagnostics::list_expected(expr));
        return (references, diagnostics);
    };
    for item in items {
        if let Some(reference) = unquoted(item, &mut diagnostics) {
            references.extend(reference);
            continue;
        }
        match item.to_traversal() {
            Ok(reference) => references.push(reference),
            Err(problems) => diagnostics.extend(problems),
        }
    }
    (references, diagnostics)
}

/// What a text in quotes refers to, in native syntax; none if it is no such text.
fn unquoted(expr: &Expr, diagnostics: &mut Diagnostics) -> Option<Option<Traversal>> {
    if matches!(expr.kind, ExprKind::JsonString(_)) {
        return None;
    }
    let text = expr.as_literal_string()?;
    let (reference, problems) = parser::parse_traversal_at(expr.span.file, expr.span.start + 1, text.as_bytes());
    diagnostics.extend(problems);
    diagnostics.push(diagnostics::quoted_reference(expr.span));
    if reference.is_none() {
        diagnostics.push(diagnostics::blocks::not_a_reference(expr.span));
    }
    Some(reference.map(|reference| Traversal { span: expr.span, ..reference }))
}
