//! References and keywords where they are syntax rather than value: without quotes today, in quotes in very old
//! configurations, and always in a string in JSON syntax.

use ecow::EcoString;
use yuba_syntax::expr::Literal;
use yuba_syntax::{Body, Diagnostics, Expr, ExprKind, Span, Traversal, parser, reference_required};

use crate::diagnostics::blocks as diagnostics;

/// The expected kind of reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Reference,
    Keyword,
}

/// An expression that is a reference or keyword, if it is anything useful.
pub(crate) enum Unquoted<'e> {
    /// It had no quotes.
    AsWritten(&'e Expr),
    /// Content of the quotes, and the location of the quotes.
    Quoted(Option<Traversal>, Span),
}

impl Unquoted<'_> {
    /// It as a reference, if it is nothing else.
    pub(crate) fn as_traversal(&self) -> Option<Traversal> {
        match self {
            Unquoted::AsWritten(expr) => expr.as_traversal(),
            Unquoted::Quoted(traversal, _) => traversal.clone(),
        }
    }
    /// It as a single name, if it is nothing else.
    pub(crate) fn as_keyword(&self) -> Option<EcoString> {
        self.as_traversal().filter(|traversal| traversal.steps.is_empty()).map(|traversal| traversal.root)
    }
    /// The string as a reference, or the reason why it is not one.
    pub(crate) fn to_traversal(&self) -> Result<Traversal, Diagnostics> {
        match self {
            Unquoted::AsWritten(expr) => expr.to_traversal(),
            Unquoted::Quoted(Some(traversal), _) => Ok(traversal.clone()),
            Unquoted::Quoted(None, span) => Err(reference_required(*span).into()),
        }
    }
}

/// Whether it is a string of native syntax: text in quotes, not only an interpolation.
pub(crate) fn is_quoted(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Literal(Literal::String(_)) | ExprKind::Template(_))
}

/// Takes the quotes off, with a warning.
pub(crate) fn unquote<'e>(expr: &'e Expr, wanted: Wanted, problems: &mut Diagnostics) -> Unquoted<'e> {
    let ExprKind::Literal(Literal::String(text)) = &expr.kind else { return Unquoted::AsWritten(expr) };
    let after_quote = expr.span.start.saturating_add(1);
    let (traversal, found) = parser::parse_traversal_at(expr.span.file, after_quote, text.as_bytes());
    problems.extend(found);
    problems.push(match wanted {
        Wanted::Reference => crate::diagnostics::quoted_reference(expr.span),
        Wanted::Keyword => diagnostics::quoted_keyword(expr.span),
    });
    Unquoted::Quoted(traversal, expr.span)
}

/// The items of an argument that must be written as a list.
pub(crate) fn list<'e>(expr: &'e Expr, problems: &mut Diagnostics) -> &'e [Expr] {
    expr.as_list().unwrap_or_else(|| {
        problems.push(crate::diagnostics::list_expected(expr));
        &[]
    })
}

/// Syntax of a file. JSON has no references, only strings that contain them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    Native,
    Json,
}

impl Syntax {
    /// The syntax of a body as it stands in a file.
    pub(crate) fn of(body: &Body) -> Syntax {
        match body {
            Body::Json(_) => Syntax::Json,
            _ => Syntax::Native,
        }
    }
}

/// An expression of native syntax. JSON has it in a string, whose template sequences mean nothing here.
pub(crate) fn native(expr: &Expr, syntax: Syntax) -> Result<Expr, Diagnostics> {
    native_of(expr, syntax, |text| text)
}

/// The same for the reference to a provider, which JSON may have as the only interpolation of a template too.
pub(crate) fn native_provider(expr: &Expr, syntax: Syntax) -> Result<Expr, Diagnostics> {
    native_of(expr, syntax, |text| {
        let interpolated = text.trim().strip_prefix("${").and_then(|text| text.strip_suffix('}'));
        interpolated.unwrap_or(text)
    })
}

fn native_of(expr: &Expr, syntax: Syntax, inner: impl Fn(&str) -> &str) -> Result<Expr, Diagnostics> {
    match (&expr.kind, syntax) {
        (ExprKind::JsonString(string), _) => {
            let text = inner(&string.text).as_bytes();
            // Quirk: offsets inside the string are counted from its quote.
            let (inner, problems) = parser::parse_expression_at(expr.span.file, expr.span.start, text);
            if problems.has_errors() { Err(problems) } else { Ok(inner) }
        }
        (_, Syntax::Json) => Err(diagnostics::expected_string(expr.span).into()),
        (_, Syntax::Native) => Ok(expr.clone()),
    }
}
