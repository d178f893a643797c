//! The names an expression refers to, found without evaluating it.

use yuba_syntax::expr::CallExpr;
use yuba_syntax::{Expr, ExprKind, Traversal, TraversalStep};

/// Calls `visit` for every name in the expression that does not belong to a `for` inside it, in source order.
pub fn each_traversal<'e>(expr: &'e Expr, visit: &mut dyn FnMut(&'e Traversal)) {
    Walk { locals: Vec::new(), traversal: visit, call: &mut |_| {}, relative: &mut |_, _| {} }.walk(expr);
}

/// Calls `visit` for every function call in the expression.
pub fn each_call<'e>(expr: &'e Expr, visit: &mut dyn FnMut(&'e CallExpr)) {
    Walk { locals: Vec::new(), traversal: &mut |_| {}, call: visit, relative: &mut |_, _| {} }.walk(expr);
}

/// Calls `visit` for every attribute or element of an expression that is not a name: `f(x).a`, `b[key].c`.
pub(crate) fn each_relative<'e>(expr: &'e Expr, visit: &mut dyn FnMut(&'e Expr, &'e [TraversalStep])) {
    Walk { locals: Vec::new(), traversal: &mut |_| {}, call: &mut |_| {}, relative: visit }.walk(expr);
}

struct Walk<'e, 'v> {
    locals: Vec<&'e str>,
    traversal: &'v mut dyn FnMut(&'e Traversal),
    call: &'v mut dyn FnMut(&'e CallExpr),
    relative: &'v mut dyn FnMut(&'e Expr, &'e [TraversalStep]),
}

impl<'e> Walk<'e, '_> {
    fn walk(&mut self, expr: &'e Expr) {
        crate::expression::with_stack(|| self.walk_inner(expr));
    }

    fn walk_inner(&mut self, expr: &'e Expr) {
        match &expr.kind {
            ExprKind::Literal(_) | ExprKind::SplatItem | ExprKind::Invalid => {}
            ExprKind::Traversal(traversal) => {
                if !self.locals.contains(&traversal.root.as_str()) {
                    (self.traversal)(traversal);
                }
            }
            ExprKind::RelativeTraversal(source, steps) => {
                (self.relative)(source, steps);
                self.walk(source);
            }
            ExprKind::Index(index) => {
                self.walk(&index.collection);
                self.walk(&index.key);
            }
            ExprKind::Call(call) => {
                (self.call)(call);
                call.args.iter().for_each(|arg| self.walk(arg));
            }
            ExprKind::Conditional(c) => {
                self.walk(&c.condition);
                self.walk(&c.if_true);
                self.walk(&c.if_false);
            }
            ExprKind::Binary(binary) => {
                self.walk(&binary.left);
                self.walk(&binary.right);
            }
            ExprKind::Unary(unary) => self.walk(&unary.operand),
            ExprKind::Parens(inner) | ExprKind::TemplateWrap(inner) | ExprKind::TemplateJoin(inner) => self.walk(inner),
            ExprKind::Template(parts) | ExprKind::Tuple(parts) => parts.iter().for_each(|part| self.walk(part)),
            ExprKind::JsonString(string) => {
                // Names in an invalid template mean nothing; the errors are reported when it is evaluated.
                let right = string.template.iter().filter(|(_, problems)| !problems.has_errors());
                right.for_each(|(template, _)| self.walk(template));
            }
            ExprKind::Object(items) | ExprKind::JsonObject(items) => {
                for item in items.iter() {
                    self.walk(&item.key);
                    self.walk(&item.value);
                }
            }
            ExprKind::For(each) => {
                self.walk(&each.collection);
                let outer = self.locals.len();
                self.locals.extend(each.key_name.as_deref());
                self.locals.push(&each.value_name);
                each.key.iter().for_each(|key| self.walk(key));
                self.walk(&each.value);
                each.condition.iter().for_each(|condition| self.walk(condition));
                self.locals.truncate(outer);
            }
            ExprKind::Splat(splat) => {
                self.walk(&splat.source);
                self.walk(&splat.each);
            }
        }
    }
}
