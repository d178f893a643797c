//! Function calls: arguments, expansion, `try` and `can`.

use ecow::{EcoString, eco_format};
use yuba_addrs::SymbolFunction;
use yuba_syntax::expr::{CallExpr, Literal};
use yuba_syntax::{Diagnostic, Expr, ExprKind, Span};
use yuba_value::function::{FunctionError, Signature};
use yuba_value::{Type, Value, convert};

use super::{Evaluator, signature_text};
use crate::diagnostics;
use crate::functions::{Builtin, OtherFunctions};
use yuba_syntax::suggestion::closest;

/// An argument: an expression, or an element of the expanded last one.
pub(super) enum Argument<'e> {
    Expr(&'e Expr),
    Element(Value, &'e Expr),
}

/// Properties of the function that the checks of a call require.
pub(super) trait Interface {
    /// Number of required arguments.
    fn required(&self) -> usize;
    /// The name of a parameter that must be given.
    fn required_name(&self, at: usize) -> Option<&str>;
    /// Whether there may be more arguments.
    fn is_variadic(&self) -> bool;
    /// `join(separator, lists...)`
    fn text(&self) -> EcoString;
}

impl Interface for Signature {
    fn required(&self) -> usize {
        self.params.len()
    }
    fn required_name(&self, at: usize) -> Option<&str> {
        self.params.get(at).map(|param| param.name.as_ref())
    }
    fn is_variadic(&self) -> bool {
        self.variadic.is_some()
    }
    fn text(&self) -> EcoString {
        signature_text(self)
    }
}

/// The called function.
#[derive(Clone, Copy)]
enum Callee<'f> {
    Builtin(&'f Builtin),
    Other(&'f dyn OtherFunctions),
}

impl Evaluator<'_> {
    pub(super) fn call(&mut self, e: &CallExpr, expr: &Expr) -> Value {
        if let Some((library, function)) = self.symbol_function(e) {
            return self.call_symbol(e, expr, library, function);
        }
        let Some(function) = self.context.functions.get(&e.name) else {
            if let Some(others) = self.context.others
                && let Some(signature) = others.signature(&e.name)
            {
                return self.call_function(e, expr, &signature, Callee::Other(others));
            }
            let diagnostic = self.unknown_function(e, expr.span);
            self.report(diagnostic, expr);
            return Value::unknown_dynamic();
        };
        self.call_function(e, expr, function.signature(), Callee::Builtin(function))
    }

    fn call_function(&mut self, e: &CallExpr, expr: &Expr, signature: &Signature, function: Callee<'_>) -> Value {
        let mut args: Vec<Argument<'_>> = e.args.iter().map(Argument::Expr).collect();
        let mut of_expanded = Vec::new();
        if e.expand_last
            && let Some(Argument::Expr(last)) = args.pop()
        {
            let (items, found) = self.apart(|evaluator| evaluator.expand(last, e, expr, signature));
            of_expanded = found;
            match items {
                Ok(items) => args.extend(items.into_iter().map(|item| Argument::Element(item, last))),
                Err(unknown) => {
                    self.diagnostics.append(&mut of_expanded);
                    return unknown;
                }
            }
        }
        if let Some(diagnostic) = self.wrong_count(e, expr.span, signature, &args) {
            // Quirk: diagnostics of an expanded argument are not reported beside this.
            let diagnostic = self.in_call(diagnostic, &e.name, signature);
            self.report(diagnostic, expr);
            return Value::unknown_dynamic();
        }
        self.diagnostics.append(&mut of_expanded);
        let function = match function {
            Callee::Builtin(function) => function,
            Callee::Other(others) => {
                return self.invoke(e, expr, signature, &args, |values, _| others.call(&e.name, values));
            }
        };
        match function {
            Builtin::Can(_) => self.can(&args),
            Builtin::Try(_) => self.try_each(e, expr, signature, &args),
            Builtin::Pure(f) => self.invoke(e, expr, signature, &args, |values, _| f.call(values)),
            Builtin::World(f) => self.invoke(e, expr, signature, &args, |values, s| f.call(&s.context, values)),
        }
    }

    /// The elements of the argument before `...`; the result of the call where there is an error or they are not known.
    pub(super) fn expand(
        &mut self,
        last: &Expr,
        e: &CallExpr,
        expr: &Expr,
        signature: &dyn Interface,
    ) -> Result<Vec<Value>, Value> {
        let (value, failed) = self.eval_checked(last);
        if failed {
            return Err(Value::unknown_dynamic());
        }
        let is_sequence = value.ty().is_tuple() || value.ty().is_list() || value.ty().is_set();
        let diagnostic = if value.is_null() && (is_sequence || value.ty().is_dynamic()) {
            diagnostics::expanding_null(last.span, expr.span)
        } else if value.ty().is_dynamic() || (is_sequence && !value.is_known()) {
            return Err(Value::unknown_dynamic().with_marks(value.marks()));
        } else if let Some(items) = value.as_seq() {
            return Ok(items.iter().map(|item| item.with_marks(value.marks())).collect());
        } else {
            diagnostics::expanding_type(&value.ty().friendly_name(), last.span, expr.span)
        };
        let diagnostic = self.in_call(diagnostic, &e.name, signature);
        self.report(diagnostic, last);
        Err(Value::unknown_dynamic())
    }

    pub(super) fn wrong_count(
        &self,
        e: &CallExpr,
        call: Span,
        signature: &dyn Interface,
        args: &[Argument<'_>],
    ) -> Option<Diagnostic> {
        let wanted = signature.required();
        if let Some(missing) = signature.required_name(args.len()) {
            let least = if signature.is_variadic() { "at least " } else { "" };
            let detail = eco_format!(
                "The function {:?} takes {least}{} but {} given: the value for {:?} is missing.",
                e.name,
                arguments(wanted),
                were(args.len()),
                missing
            );
            return Some(diagnostics::not_enough_arguments(detail, e.close_span, call));
        }
        let extra = args.get(wanted).filter(|_| !signature.is_variadic())?;
        let detail =
            eco_format!("The function {:?} takes only {} but {} given.", e.name, arguments(wanted), were(args.len()));
        Some(diagnostics::too_many_arguments(detail, self.arg_span(extra), call))
    }

    /// Evaluates and converts the arguments, then calls.
    fn invoke(
        &mut self,
        e: &CallExpr,
        expr: &Expr,
        signature: &Signature,
        args: &[Argument<'_>],
        run: impl FnOnce(&[Value], &Self) -> yuba_value::function::Result,
    ) -> Value {
        let mut values = Vec::with_capacity(args.len());
        let mut is_wrong = false;
        for (at, arg) in args.iter().enumerate() {
            let (value, source) = self.argument(arg, &mut is_wrong);
            let Some(param) = signature.params.get(at).or(signature.variadic.as_ref()) else { continue };
            values.push(if param.ty.is_dynamic() || *value.ty() == param.ty {
                value
            } else {
                convert::convert(&value, &param.ty).unwrap_or_else(|reason| {
                    let at = self.arg_span(arg);
                    let diagnostic =
                        diagnostics::invalid_argument(&e.name, &param.name, &reason.located_in(&value), at, expr.span);
                    let diagnostic = self.in_call(diagnostic, &e.name, signature);
                    self.report(diagnostic, source);
                    is_wrong = true;
                    Value::unknown(param.ty.clone())
                })
            });
        }
        if is_wrong {
            return Value::unknown_dynamic();
        }
        match run(&values, self) {
            Ok(value) => value,
            Err(error) => {
                self.call_error(&error, e, expr, signature, args);
                Value::unknown_dynamic()
            }
        }
    }

    /// The value of an argument and its expression. Sets `is_wrong` if there are errors.
    pub(super) fn argument<'e>(&mut self, argument: &Argument<'e>, is_wrong: &mut bool) -> (Value, &'e Expr) {
        match argument {
            Argument::Expr(source) => {
                let (value, failed) = self.eval_checked(source);
                *is_wrong |= failed;
                (value, source)
            }
            Argument::Element(value, source) => (value.clone(), source),
        }
    }

    fn call_error(
        &mut self,
        error: &FunctionError,
        e: &CallExpr,
        expr: &Expr,
        signature: &Signature,
        args: &[Argument<'_>],
    ) {
        let reason = error.message().trim_end_matches('.');
        let param = error.arg.and_then(|at| signature.params.get(at).or(signature.variadic.as_ref()));
        let arg = error.arg.and_then(|at| args.get(at));
        let (diagnostic, about) = match (param, arg) {
            (Some(param), Some(arg)) => {
                let (Argument::Expr(source) | Argument::Element(_, source)) = arg;
                let diagnostic =
                    diagnostics::invalid_argument(&e.name, &param.name, reason, self.arg_span(arg), expr.span);
                (diagnostic, *source)
            }
            (Some(param), None) => {
                let mut diagnostic = diagnostics::invalid_argument(&e.name, &param.name, reason, expr.span, expr.span);
                diagnostic.context = None;
                (diagnostic, expr)
            }
            (None, _) => {
                let start = e.name_span.to(e.open_span);
                let diagnostic = match error.is_template_limit() {
                    true => diagnostics::templates_too_deep(&e.name, reason, start, expr.span),
                    false => diagnostics::call_failed(&e.name, reason, start, expr.span),
                };
                (diagnostic, expr)
            }
        };
        let diagnostic = self.in_call(diagnostic, &e.name, signature);
        self.report(diagnostic, about);
    }

    /// Whether the expression evaluates.
    fn can(&mut self, args: &[Argument<'_>]) -> Value {
        let Some(arg) = args.first() else { return Value::bool(false) };
        let (value, diags) = self.eval_quietly(arg);
        if super::has_errors(&diags) {
            Value::bool(false)
        } else if value.is_wholly_known() {
            Value::bool(true)
        } else {
            Value::unknown(Type::bool())
        }
    }

    /// The first expression that evaluates.
    fn try_each(&mut self, e: &CallExpr, expr: &Expr, signature: &Signature, args: &[Argument<'_>]) -> Value {
        let mut reasons = EcoString::new();
        for arg in args {
            let (value, diags) = self.eval_quietly(arg);
            if !super::has_errors(&diags) {
                return if value.is_wholly_known() { value } else { Value::unknown_dynamic() };
            }
            for diagnostic in diags {
                let location = diagnostic.subject.and_then(|span| self.location(span));
                let location = location.map(|p| format!(" (at {p})")).unwrap_or_default();
                reasons.push_str(&eco_format!("- {}{location}\n  {}\n", diagnostic.summary, diagnostic.explanation()));
            }
        }
        let message = match args {
            [] => "at least one expression must be given".into(),
            _ => {
                eco_format!("none of the expressions could be evaluated:\n{reasons}\nAt least one of them must succeed")
            }
        };
        self.call_error(&FunctionError::new(message), e, expr, signature, args);
        Value::unknown_dynamic()
    }

    fn eval_quietly(&mut self, arg: &Argument<'_>) -> (Value, Vec<Diagnostic>) {
        match arg {
            Argument::Expr(source) => {
                self.quiet += 1;
                let answer = self.eval_apart(source);
                self.quiet -= 1;
                answer
            }
            Argument::Element(value, _) => (value.clone(), Vec::new()),
        }
    }

    /// `name:line,column-column`
    fn location(&self, span: Span) -> Option<String> {
        crate::template::location(self.context.sources, span)
    }

    pub(super) fn arg_span(&self, arg: &Argument<'_>) -> Span {
        match arg {
            Argument::Expr(source) => self.start_span(source),
            Argument::Element(_, source) => source.span,
        }
    }

    /// The part of an expression that messages about it as an argument point at. Where a text begins is in its source.
    fn start_span(&self, expr: &Expr) -> Span {
        let first = expr.first_operand();
        match &first.kind {
            ExprKind::Literal(Literal::String(text)) => self.content_span(first.span, text),
            _ => first.start_span(),
        }
    }

    /// The text between the quotes of a string, or between the first and the last line of a heredoc. Where it is empty,
    /// the location behind it.
    fn content_span(&self, span: Span, text: &str) -> Span {
        let file = self.context.sources.and_then(|sources| sources.get(span.file));
        let source = file.and_then(|file| file.bytes.get(span.start as usize..span.end as usize)).unwrap_or_default();
        let line_ends = || source.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        let (start, end) = match (source.first(), line_ends().next(), line_ends().next_back()) {
            (Some(b'"'), ..) => (1, source.len().saturating_sub(1)),
            (Some(b'<'), Some(first), Some(last)) if first < last => {
                let line = |text: &[u8]| text.iter().position(|byte| *byte == b'\n').unwrap_or_default();
                // Less what is taken away of its indentation.
                (first + line(&source[first..]).saturating_sub(line(text.as_bytes())), last)
            }
            (Some(b'<'), ..) => (0, 0),
            _ => return span,
        };
        match start < end {
            true => Span { start: span.start + start as u32, end: span.start + end as u32, ..span },
            false => Span { start: span.end, ..span },
        }
    }

    pub(super) fn unknown_function(&self, e: &CallExpr, call: Span) -> Diagnostic {
        let names = || self.context.functions.names();
        let suggest = |name: &str, prefix: &str| {
            closest(name, names()).map(|name| format!(" Did you mean \"{prefix}{name}\"?")).unwrap_or_default()
        };
        match e.name.rsplit_once("::") {
            None => diagnostics::unknown_function(&e.name, &suggest(&e.name, ""), e.name_span, call),
            Some(("core", name)) => {
                diagnostics::unknown_core_function(name, &suggest(name, "core::"), e.name_span, call)
            }
            Some((namespace, name)) if namespace == "core" || namespace.starts_with("core::") => {
                diagnostics::unknown_core_function(name, "", e.name_span, call)
            }
            Some((namespace, _)) if namespace == "provider" || namespace.starts_with("provider::") => {
                diagnostics::provider_function_here(&e.name, e.name_span, call)
            }
            Some(_) if SymbolFunction::parse(&e.name).is_some() => {
                crate::symbols::unknown_function(&e.name, e.name_span, call)
            }
            Some(_) => diagnostics::unknown_namespace(&e.name, e.name_span, call),
        }
    }
}

fn arguments(count: usize) -> EcoString {
    match count {
        0 => "no arguments".into(),
        1 => "1 argument".into(),
        n => eco_format!("{n} arguments"),
    }
}

fn were(count: usize) -> EcoString {
    match count {
        0 => "none was".into(),
        1 => "1 was".into(),
        n => eco_format!("{n} were"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::expression::tests::check;

    #[test]
    fn arguments_are_checked() {
        check(
            &[
                "upper(\"a\")",
                "core::upper(\"a\")",
                "upper()",
                "upper(1, 2)",
                "max()",
                "upper([])",
                "upper(null)",
                "max(1, 2, 3)",
                "max([1, 2]...)",
                "max(1, [2]...)",
                "max(null...)",
                "max(5...)",
                "max(u_list...)",
                "upper({}.x)",
                "parseint(\"x\", 10)",
                "element([], 0)",
                "upper((\"a\" == 1 ? [] : [[]])[0])",
                "upper(five.x)",
                "length(five)",
            ],
            &expect![[r#"
                upper("a") => "A"
                core::upper("a") => "A"
                upper() => ! Not enough function arguments at `)`
                upper(1, 2) => ! Too many function arguments at `2`
                max() => ! Error in function call at `max(`
                upper([]) => ! Invalid function argument at `[`
                upper(null) => ! Invalid function argument at `null`
                max(1, 2, 3) => 3
                max([1, 2]...) => 2
                max(1, [2]...) => 2
                max(null...) => ! Invalid expanding argument value at `null`
                max(5...) => ! Invalid expanding argument value at `5`
                max(u_list...) => unknown(any)
                upper({}.x) => ! Unsupported attribute at `.x`
                parseint("x", 10) => ! Invalid function argument at `x`
                element([], 0) => ! Error in function call at `element(`
                upper(("a" == 1 ? [] : [[]])[0]) => ! Invalid function argument at `("a" == 1 ? [] : [[]])[0]`
                upper(five.x) => ! Unsupported attribute at `.x`; five is 5
                length(five) => ! Error in function call at `length(`; five is 5
            "#]],
        );
    }

    #[test]
    fn unknown_functions() {
        check(
            &[
                "uppr(1)",
                "core::uppr(1)",
                "other::f(1)",
                "core::a::b(1)",
                "provider::a::f(1)",
                "plantimestamp(1)",
                "type(1)",
            ],
            &expect![[r#"
                uppr(1) => ! Call to unknown function at `uppr`
                core::uppr(1) => ! Call to unknown function at `core::uppr`
                other::f(1) => ! Unknown function namespace at `other::f`
                core::a::b(1) => ! Call to unknown function at `core::a::b`
                provider::a::f(1) => ! Call to unknown function at `provider::a::f`
                plantimestamp(1) => ! Too many function arguments at `1`
                type(1) => ! Call to unknown function at `type`
            "#]],
        );
    }

    #[test]
    fn try_and_can() {
        check(
            &[
                "try({}.x, 1)",
                "try({}.x, {}.y)",
                "try()",
                "try(u_string, 1)",
                "try([u_string], 1)",
                "try(secret, 1)",
                "try([{}.x, 2]...)",
                "can({}.x)",
                "can(1)",
                "can(u_string)",
                "can(secret)",
                "can()",
                "can(1, 2)",
                "[for x in [1, {a = 2}] : try(x.a, x)]",
            ],
            &expect![[r#"
                try({}.x, 1) => 1
                try({}.x, {}.y) => ! Error in function call at `try(`
                try() => ! Error in function call at `try(`
                try(u_string, 1) => unknown(any)
                try([u_string], 1) => unknown(any)
                try(secret, 1) => (sensitive)
                try([{}.x, 2]...) => ! Unsupported attribute at `.x`
                can({}.x) => false
                can(1) => true
                can(u_string) => unknown(bool)
                can(secret) => true
                can() => ! Not enough function arguments at `)`
                can(1, 2) => ! Too many function arguments at `2`
                [for x in [1, {a = 2}] : try(x.a, x)] => tuple[1, 2]
            "#]],
        );
    }
}
