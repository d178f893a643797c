//! The address of an `import` block, whose instance keys can be calculated.

use std::sync::Arc;

use ecow::EcoString;
use yuba_syntax::expr::Literal;
use yuba_syntax::{Diagnostics, Expr, ExprKind, Span, Traversal, TraversalStep, parser};

use crate::diagnostics;
use crate::resource::{AbsResourceInstance, ConfigResource};

/// Target address of an import.
#[derive(Clone, Debug)]
pub struct ImportTarget {
    /// The block of the resource.
    pub config: ConfigResource,
    /// The instance, where all keys are constant.
    pub instance: Option<AbsResourceInstance>,
    /// The whole address.
    pub span: Span,
    root: (EcoString, Span),
    steps: Vec<ImportStep>,
}

#[derive(Clone, Debug)]
enum ImportStep {
    /// A name or a constant key.
    Static(TraversalStep),
    /// A key that must be evaluated.
    Key(Arc<Expr>),
}

impl ImportTarget {
    /// Reads an address. A string of JSON syntax is read as the address it contains.
    pub fn parse(to: &Expr) -> Result<ImportTarget, Diagnostics> {
        match &to.kind {
            ExprKind::JsonString(string) => {
                // Quirk: columns count from the quote, so they are one too low.
                let (inner, problems) =
                    parser::parse_expression_at(to.span.file, to.span.start, string.text.as_bytes());
                if problems.has_errors() { Err(problems) } else { ImportTarget::parse_native(&inner) }
            }
            ExprKind::JsonObject(_) => Err(diagnostics::import_target_not_string(to.span)),
            _ => ImportTarget::parse_native(to),
        }
    }

    fn parse_native(to: &Expr) -> Result<ImportTarget, Diagnostics> {
        let mut steps = Vec::new();
        let mut expr = to;
        let root = loop {
            match &expr.kind {
                ExprKind::Index(index) => {
                    steps.push(ImportStep::Key(Arc::new(index.key.clone())));
                    expr = &index.collection;
                }
                ExprKind::RelativeTraversal(source, relative) => {
                    steps.extend(relative.iter().rev().cloned().map(ImportStep::Static));
                    expr = source;
                }
                ExprKind::Traversal(traversal) => {
                    steps.extend(traversal.steps.iter().rev().cloned().map(ImportStep::Static));
                    break (traversal.root.clone(), traversal.root_span);
                }
                _ => return Err(diagnostics::import_target_not_address(expr.span)),
            }
        };
        steps.reverse();
        let is_static = steps.iter().all(|step| matches!(step, ImportStep::Static(_)));
        let names = steps.iter().filter_map(|step| match step {
            ImportStep::Static(step) => Some(step.clone()),
            ImportStep::Key(_) => None,
        });
        let instance = AbsResourceInstance::parse(&traversal(&root, names.collect(), to.span))?;
        let config = instance.config();
        Ok(ImportTarget { config, instance: is_static.then_some(instance), span: to.span, root, steps })
    }

    /// The keys that must be evaluated, in order.
    pub fn dynamic_keys(&self) -> impl Iterator<Item = &Arc<Expr>> {
        self.steps.iter().filter_map(|step| match step {
            ImportStep::Static(_) => None,
            ImportStep::Key(key) => Some(key),
        })
    }

    /// The instance, given what each key evaluates to. All errors in keys are reported.
    pub fn resolve(
        &self,
        mut key: impl FnMut(&Expr) -> Result<Literal, Diagnostics>,
    ) -> Result<AbsResourceInstance, Diagnostics> {
        let mut steps = Vec::with_capacity(self.steps.len());
        let mut problems = Diagnostics::new();
        for step in &self.steps {
            match step {
                ImportStep::Static(step) => steps.push(step.clone()),
                ImportStep::Key(expr) => match key(expr) {
                    Ok(key) => steps.push(TraversalStep::Index { key, span: expr.span }),
                    Err(problem) => problems.extend(problem),
                },
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        AbsResourceInstance::parse(&traversal(&self.root, steps, self.span))
    }
}

fn traversal(root: &(EcoString, Span), steps: Vec<TraversalStep>, span: Span) -> Traversal {
    Traversal { root: root.0.clone(), root_span: root.1, steps: steps.into(), span }
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use expect_test::expect;
    use yuba_syntax::FileId;

    use super::*;
    use crate::target::tests::check;

    struct Shown(ImportTarget);

    impl fmt::Display for Shown {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{}", self.0.config)?;
            match &self.0.instance {
                Some(instance) => write!(f, " = {instance}"),
                None => {
                    let mut next = 0;
                    let resolved = self.0.resolve(|_| {
                        next += 1;
                        Ok(Literal::Int(next))
                    });
                    match resolved {
                        Ok(instance) => write!(f, " ~ {instance}"),
                        Err(problems) => problems.iter().try_for_each(|problem| write!(f, " ~ {}", problem.summary)),
                    }
                }
            }
        }
    }

    #[test]
    fn keys_may_be_expressions() {
        let parse = |file: FileId, text: &str| {
            let (expr, problems) = parser::parse_expression_at(file, 0, text.as_bytes());
            if problems.has_errors() { Err(problems) } else { ImportTarget::parse(&expr).map(Shown) }
        };
        check(
            parse,
            &[
                "a.b",
                "a.b[0]",
                "resource.a.b[\"k\"]",
                "a.b[each.key]",
                "module.m[var.x].a.b[upper(\"x\")]",
                "module.m[0].a.b[each.key]",
                "module.m",
                "a",
                "a.b.c",
                "f(a.b)",
                "(a.b)",
                "a.b[*]",
                "f(a)[each.key]",
                "a[each.key].b",
            ],
            &expect![[r#"
                a.b -> a.b = a.b
                a.b[0] -> a.b = a.b[0]
                resource.a.b["k"] -> a.b = a.b["k"]
                a.b[each.key] -> a.b ~ a.b[1]
                module.m[var.x].a.b[upper("x")] -> module.m.a.b ~ module.m[1].a.b[2]
                module.m[0].a.b[each.key] -> module.m.a.b ~ module.m[0].a.b[1]
                module.m ! Invalid address at "module.m"
                a ! Invalid address at "a"
                a.b.c ! Invalid address at ".c"
                f(a.b) ! Invalid import address expression at "f(a.b)"
                (a.b) ! Invalid import address expression at "(a.b)"
                a.b[*] ! Invalid import address expression at "a.b[*]"
                f(a)[each.key] ! Invalid import address expression at "f(a)"
                a[each.key].b -> a.b ~ Invalid address
            "#]],
        );
    }
}
