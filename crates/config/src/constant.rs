//! Arguments that are constants: read while decoding, with an evaluator lent by the caller.

use ecow::EcoString;
use yuba_addrs::Feature;
use yuba_syntax::expr::Literal;
use yuba_syntax::{Diagnostics, Expr, ExprKind, Sources, Span};
use yuba_value::convert::convert;
use yuba_value::{Type, Value};

use crate::diagnostics;

/// Evaluates expressions without references: names and calls in them are errors. Provided by the caller of a decoder,
/// because there is one evaluator and it lives above this crate.
pub trait ConstantEvaluator {
    /// The value, unknown where there are errors.
    fn value(&self, expr: &Expr) -> (Value, Diagnostics);
}

impl<F: Fn(&Expr) -> (Value, Diagnostics)> ConstantEvaluator for F {
    fn value(&self, expr: &Expr) -> (Value, Diagnostics) {
        self(expr)
    }
}

/// Context of decoding.
#[derive(Clone, Copy)]
pub struct Decoding<'a> {
    /// For the values of constant arguments.
    pub constants: &'a dyn ConstantEvaluator,
    /// For locations that messages mention.
    pub sources: &'a Sources,
    /// The module has opted in to symbol libraries: constants that refer to them are read later, when these are known.
    pub symbols: bool,
}

impl<'a> Decoding<'a> {
    /// For files of a module that has not opted in to symbol libraries, as far as is known.
    pub fn new(constants: &'a dyn ConstantEvaluator, sources: &'a Sources) -> Decoding<'a> {
        Decoding { constants, sources, symbols: false }
    }

    /// Whether an argument can only be read when symbol libraries are known.
    pub(crate) fn needs_symbols(&self, expr: &Expr) -> bool {
        self.symbols && refers_to_symbols(expr)
    }

    /// The value of an argument that was not read when its file was decoded; none where it is not known, which was
    /// reported with the library.
    pub(crate) fn later(&self, expr: &Expr, diagnostics: &mut Diagnostics) -> Option<Value> {
        let value = self.value(expr, diagnostics)?;
        value.is_wholly_known().then_some(value)
    }

    /// The same for an argument that must be a string.
    pub(crate) fn later_string(&self, expr: &Expr, diagnostics: &mut Diagnostics) -> Option<EcoString> {
        let value = self.later(expr, diagnostics)?;
        if !value.marks_deep().is_empty() {
            let detail = "it must not be sensitive, because it is shown";
            diagnostics.push(diagnostics::unsuitable_value(detail, expr.span));
            return None;
        }
        self.primitive(&value, expr, &Type::string(), diagnostics)?.as_str().cloned()
    }

    /// The value of an argument that must be a constant.
    pub(crate) fn value(&self, expr: &Expr, diagnostics: &mut Diagnostics) -> Option<Value> {
        let (value, problems) = self.constants.value(expr);
        let failed = problems.has_errors();
        diagnostics.extend(problems);
        (!failed).then_some(value)
    }

    /// The value of an argument that must be a constant string.
    pub(crate) fn string(&self, expr: &Expr, diagnostics: &mut Diagnostics) -> Option<EcoString> {
        self.converted(expr, &Type::string(), diagnostics)?.as_str().cloned()
    }

    /// The value of an argument that must be `true` or `false`.
    pub(crate) fn bool(&self, expr: &Expr, diagnostics: &mut Diagnostics) -> Option<bool> {
        self.converted(expr, &Type::bool(), diagnostics)?.as_bool()
    }

    /// A known value of a primitive type, not null.
    fn converted(&self, expr: &Expr, wanted: &Type, diagnostics: &mut Diagnostics) -> Option<Value> {
        let value = self.value(expr, diagnostics)?;
        self.primitive(&value, expr, wanted, diagnostics)
    }

    fn primitive(&self, value: &Value, expr: &Expr, wanted: &Type, diagnostics: &mut Diagnostics) -> Option<Value> {
        let problem = match convert(value, wanted) {
            Ok(value) if value.is_null() => "it must not be null".into(),
            Ok(value) if !value.is_known() => "it must be known".into(),
            Ok(value) => return Some(value),
            Err(error) => error.message,
        };
        diagnostics.push(diagnostics::unsuitable_value(&problem, self.start(expr)).within(expr.span));
        None
    }

    /// Location for messages about a value: the inside of a quoted string, or the lines of a heredoc without the
    /// markers.
    fn start(&self, expr: &Expr) -> Span {
        let source = self.sources.get(expr.span.file);
        let written = source.and_then(|source| source.bytes.get(expr.span.start as usize..expr.span.end as usize));
        match (&expr.kind, written) {
            (ExprKind::Literal(Literal::String(_)), Some([b'<', rest @ ..])) => {
                let first_line = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
                let last_line = rest.iter().rposition(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
                let at = |offset: usize| expr.span.start.saturating_add(1 + offset as u32).min(expr.span.end);
                Span { start: at(first_line), end: at(last_line), ..expr.span }
            }
            _ => diagnostics::start_of(expr),
        }
    }

    /// A location as text: `main.tf:3,1`.
    pub(crate) fn location(&self, span: Span) -> EcoString {
        match self.sources.get(span.file) {
            Some(source) => {
                let position = source.position(span.start as usize);
                ecow::eco_format!("{}:{},{}", source.name, position.line, position.column)
            }
            None => "another file".into(),
        }
    }
}

/// Whether an expression refers to symbol libraries.
pub(crate) fn refers_to_symbols(expr: &Expr) -> bool {
    let is_symbol = |root: &str| Feature::from_root_word(root).is_some();
    let is_function = |name: &str| name.split_once("::").is_some_and(|(root, _)| is_symbol(root));
    expr.variables().iter().any(|traversal| is_symbol(&traversal.root))
        || expr.functions().into_iter().any(|call| is_function(&call.name))
}
