//! Evaluation of expressions, exactly as the language defines it for null, unknown and marked operands.
//!
//! An [`Evaluator`] visits the lowered expression once. Errors are collected and evaluation continues with an unknown
//! value, so that one run finds many. The errors of a sub-expression can be dropped: those of the side of a conditional
//! that was not chosen, of the unused operand of a logical operator, of `try` and `can`.

mod call;
mod conditional;
mod explain;
mod for_expr;
mod index;
mod json;
mod object;
mod operators;
mod splat;
mod symbol_call;
mod template;

use ecow::EcoString;
use yuba_syntax::expr::Literal;
use yuba_syntax::{Diagnostic, Diagnostics, Expr, ExprKind, Span, Traversal, TraversalStep};
use yuba_value::{Number, Value, View};

use crate::diagnostics;
use crate::functions::CallContext;
use yuba_syntax::suggestion::did_you_mean;

pub use explain::signature_text;
use index::{get_attr, index};

/// The results of an expression may not take more memory than this, roughly counted. Tests have less, to be quick.
pub(crate) const MEMORY_BUDGET: usize = if cfg!(test) { 4 << 20 } else { 512 << 20 };

/// Maximum number of iterations of all `for` expressions in an expression.
pub(crate) const MAX_ROUNDS: usize = if cfg!(test) { 50_000 } else { 2_000_000 };

/// A rough size of one element of a collection.
const ELEMENT_BYTES: usize = 64;

/// The names an expression can use, beside those of its own `for` expressions.
pub trait Variables {
    /// The value a name starts from, and how many of the name's steps have been taken to get there.
    fn get(&self, traversal: &Traversal) -> Option<(Value, usize)>;
    /// First names, for suggestions.
    fn names(&self) -> Vec<EcoString>;
}

/// No names at all.
pub struct NoVariables;

impl Variables for NoVariables {
    fn get(&self, _: &Traversal) -> Option<(Value, usize)> {
        None
    }
    fn names(&self) -> Vec<EcoString> {
        Vec::new()
    }
}

/// Evaluates an expression. Names are taken as they are; see [`crate::scope`] for the checks before.
pub fn evaluate(expr: &Expr, variables: &dyn Variables, context: CallContext<'_>) -> (Value, Diagnostics) {
    evaluate_with_locals(expr, variables, Vec::new(), context)
}

/// A message about an expression, with the values of the names in it.
pub(crate) fn explained(
    diagnostic: Diagnostic,
    expr: &Expr,
    variables: &dyn Variables,
    context: CallContext<'_>,
) -> Diagnostic {
    Evaluator::new(variables, Vec::new(), context).explain(diagnostic, expr)
}

/// Evaluates an expression inside of something that defines names; inner ones come last.
pub(crate) fn evaluate_with_locals(
    expr: &Expr,
    variables: &dyn Variables,
    locals: Vec<(EcoString, Value)>,
    context: CallContext<'_>,
) -> (Value, Diagnostics) {
    let mut evaluator = Evaluator::new(variables, locals, context);
    let value = evaluator.eval(expr);
    if let Some(reason) = evaluator.exhausted.take()
        && !has_errors(&evaluator.diagnostics)
    {
        evaluator.push(*reason);
    }
    let mut diagnostics = Diagnostics::new();
    diagnostics.extend(evaluator.diagnostics);
    (value, diagnostics)
}

/// Runs with enough stack for another level of nesting, whatever the thread it was called on has left.
pub(crate) fn with_stack<R>(work: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(128 << 10, 4 << 20, work)
}

/// One running evaluation.
pub(crate) struct Evaluator<'a> {
    variables: &'a dyn Variables,
    context: CallContext<'a>,
    /// Names of the `for` expressions around, innermost last.
    locals: Vec<(EcoString, Value)>,
    /// Items of the splats around, innermost last.
    splat_items: Vec<Value>,
    diagnostics: Vec<Diagnostic>,
    /// Above zero, diagnostics about values are not shown.
    quiet: u32,
    /// Bytes of the texts and elements that live at the moment, for [`MEMORY_BUDGET`].
    spent: usize,
    /// Rounds of `for`s so far, for [`MAX_ROUNDS`].
    rounds: usize,
    /// A budget was not enough: the evaluation as a whole fails, whatever `try` makes of it.
    exhausted: Option<Box<Diagnostic>>,
}

impl<'a> Evaluator<'a> {
    fn new(variables: &'a dyn Variables, locals: Vec<(EcoString, Value)>, context: CallContext<'a>) -> Evaluator<'a> {
        Evaluator {
            variables,
            context,
            locals,
            splat_items: Vec::new(),
            diagnostics: Vec::new(),
            quiet: 0,
            spent: 0,
            rounds: 0,
            exhausted: None,
        }
    }
}

impl Evaluator<'_> {
    pub(crate) fn eval(&mut self, expr: &Expr) -> Value {
        match &expr.kind {
            // The leaves need no stack to speak of.
            ExprKind::Literal(literal) => self.literal(literal, expr),
            ExprKind::Traversal(traversal) => self.traversal(traversal, expr),
            // After running out of a budget, further evaluation is useless.
            _ if self.exhausted.is_some() => Value::unknown_dynamic(),
            _ => {
                let before = self.spent;
                let value = with_stack(|| self.eval_inner(expr));
                self.settle(before, &value, expr);
                value
            }
        }
    }

    /// Updates the count of memory in use: the parts of a string or number are no longer needed after it is made, while
    /// the parts of a collection live on in it.
    fn settle(&mut self, before: usize, value: &Value, expr: &Expr) {
        let made_here = matches!(
            expr.kind,
            ExprKind::Call(_)
                | ExprKind::Template(_)
                | ExprKind::TemplateJoin(_)
                | ExprKind::Tuple(_)
                | ExprKind::Object(_)
        );
        let size = match value.member_limit() {
            0 => {
                self.spent = before;
                value.as_str().map_or(0, EcoString::len)
            }
            members => members * ELEMENT_BYTES,
        };
        if made_here {
            self.afford(size, expr.span);
        }
    }

    fn eval_inner(&mut self, expr: &Expr) -> Value {
        match &expr.kind {
            ExprKind::Literal(literal) => self.literal(literal, expr),
            ExprKind::Traversal(traversal) => self.traversal(traversal, expr),
            ExprKind::RelativeTraversal(source, steps) => {
                let value = self.eval(source);
                self.steps(value, steps, expr)
            }
            ExprKind::Index(e) => self.index(e, expr),
            ExprKind::Call(e) => self.call(e, expr),
            ExprKind::Conditional(e) => self.conditional(e, expr),
            ExprKind::Binary(e) => self.binary(e, expr),
            ExprKind::Unary(e) => self.unary(e, expr),
            ExprKind::Parens(inner) | ExprKind::TemplateWrap(inner) => self.eval(inner),
            ExprKind::Template(parts) => self.template(parts, expr),
            ExprKind::TemplateJoin(inner) => self.template_join(inner, expr),
            ExprKind::Tuple(items) => {
                let items: Vec<Value> = items.iter().map(|item| self.eval(item)).collect();
                Value::tuple(items)
            }
            ExprKind::Object(items) => self.object(items),
            ExprKind::JsonString(e) => self.json_string(e),
            ExprKind::JsonObject(items) => self.json_object(items, expr),
            ExprKind::For(e) => self.for_expr(e, expr),
            ExprKind::Splat(e) => self.splat(e, expr),
            ExprKind::SplatItem => self.splat_items.last().cloned().unwrap_or_else(Value::unknown_dynamic),
            ExprKind::Invalid => Value::unknown_dynamic(),
        }
    }

    fn literal(&mut self, literal: &Literal, expr: &Expr) -> Value {
        let value = literal_value(literal);
        if !value.is_known() {
            self.push(diagnostics::number_range(expr.span));
        }
        value
    }

    /// A name and the steps after it.
    fn traversal(&mut self, traversal: &Traversal, expr: &Expr) -> Value {
        match self.lookup(traversal) {
            Some((value, taken)) => {
                let steps = traversal.steps.get(taken..).unwrap_or_default();
                let (value, mut found) = self.apart(|evaluator| evaluator.steps(value, steps, expr));
                self.explain_symbol(traversal, &mut found);
                self.diagnostics.append(&mut found);
                value
            }
            None => {
                let mut names = self.variables.names();
                names.extend(self.locals.iter().map(|(name, _)| name.clone()));
                let suggestion = did_you_mean(&traversal.root, names.iter().map(EcoString::as_str));
                let diagnostic = diagnostics::unknown_variable(&traversal.root, &suggestion, traversal.root_span);
                self.report(diagnostic, expr);
                Value::unknown_dynamic()
            }
        }
    }

    fn lookup(&self, traversal: &Traversal) -> Option<(Value, usize)> {
        match self.locals.iter().rev().find(|(name, _)| *name == traversal.root) {
            Some((_, value)) => Some((value.clone(), 0)),
            None => self.variables.get(traversal),
        }
    }

    fn steps(&mut self, value: Value, steps: &[TraversalStep], expr: &Expr) -> Value {
        let mut value = value;
        for step in steps {
            match take_step(&value, step) {
                Ok(next) => value = next,
                Err(diagnostic) => {
                    self.report(*diagnostic, expr);
                    return Value::unknown_dynamic();
                }
            }
        }
        value
    }

    /// Runs a part of the evaluation. Returns its diagnostics instead of reporting them.
    fn apart<T>(&mut self, part: impl FnOnce(&mut Self) -> T) -> (T, Vec<Diagnostic>) {
        let reported = std::mem::take(&mut self.diagnostics);
        let result = part(self);
        (result, std::mem::replace(&mut self.diagnostics, reported))
    }

    /// Evaluates. Returns the diagnostics instead of reporting them.
    fn eval_apart(&mut self, expr: &Expr) -> (Value, Vec<Diagnostic>) {
        self.apart(|evaluator| evaluator.eval(expr))
    }

    /// Evaluates, and returns whether there are errors.
    fn eval_checked(&mut self, expr: &Expr) -> (Value, bool) {
        let (value, mut found) = self.eval_apart(expr);
        let failed = has_errors(&found);
        self.diagnostics.append(&mut found);
        (value, failed)
    }

    /// Pushes a diagnostic about `expr`, with what the names in it stand for.
    fn report(&mut self, diagnostic: Diagnostic, expr: &Expr) {
        let diagnostic = self.explain(diagnostic, expr);
        self.push(diagnostic);
    }

    fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Counts memory before its use. Returns false, with a diagnostic, if the limit is exceeded.
    fn afford(&mut self, bytes: usize, span: Span) -> bool {
        self.spent = self.spent.saturating_add(bytes);
        if self.spent <= MEMORY_BUDGET {
            return true;
        }
        self.give_up(diagnostics::result_too_large(span));
        false
    }
}

impl Evaluator<'_> {
    fn give_up(&mut self, reason: Diagnostic) {
        if self.exhausted.is_none() {
            self.push(reason.clone());
            self.exhausted = Some(Box::new(reason));
        }
    }

    /// Counts a further iteration of a `for`; reports an error and returns false when the limit is exceeded.
    fn another_round(&mut self, span: Span) -> bool {
        self.rounds += 1;
        if self.rounds > MAX_ROUNDS {
            self.give_up(diagnostics::too_many_rounds(span));
        }
        self.exhausted.is_none()
    }
}

fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(Diagnostic::is_error)
}

/// One step into a value.
pub(crate) fn take_step(value: &Value, step: &TraversalStep) -> Result<Value, Box<Diagnostic>> {
    match step {
        TraversalStep::Attr { name, span } => get_attr(value, name, *span),
        TraversalStep::Index { key, span } => index(value, &literal_value(key), *span),
    }
}

/// The value of a literal. Numbers have the precision of literals.
pub(crate) fn literal_value(literal: &Literal) -> Value {
    const PRECISION: u32 = 512;
    match literal {
        Literal::Null => Value::null_dynamic(),
        Literal::Bool(value) => Value::bool(*value),
        Literal::Int(value) => Value::number(Number::from_i64(*value).with_precision(PRECISION)),
        Literal::Number(text) => Number::parse(text).map_or_else(Value::unknown_dynamic, Value::number),
        Literal::String(text) => Value::string(text.clone()),
    }
}

/// Calls `visit` with key and value of each element of a known list, set, tuple, map or object without own marks;
/// of a set the key is the element itself.
fn each_element(collection: &Value, mut visit: impl FnMut(Value, &Value)) {
    let position = |at: usize| Value::int(i64::try_from(at).unwrap_or(i64::MAX));
    match collection.view_ignoring_marks() {
        View::List(items) | View::Tuple(items) => {
            items.iter().enumerate().for_each(|(at, item)| visit(position(at), item));
        }
        View::Set(items) => items.iter().for_each(|item| visit(item.clone(), item)),
        View::Map(items) => items.iter().for_each(|(key, item)| visit(Value::string(key.clone()), item)),
        View::Object(items) => {
            for (attr, item) in collection.ty().attrs().unwrap_or_default().iter().zip(items) {
                visit(Value::string(attr.name.clone()), item);
            }
        }
        View::Null | View::Unknown(_) | View::Bool(_) | View::Number(_) | View::String(_) => {}
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod secret_arguments;
#[cfg(test)]
pub(crate) mod tests;
