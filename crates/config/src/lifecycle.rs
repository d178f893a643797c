//! Arguments of the `lifecycle` block of a managed resource: one row each.
//!
//! All parts of an argument that this crate requires: its field, its row, the effect of an override file, and whether
//! its expression is evaluated. Conditions are blocks, and `enabled` determines the number of instances: both are
//! decoded with the resource.

use std::sync::{Arc, LazyLock};

use yuba_addrs::{Feature, ParseRefContext, Reference, Subject};
use yuba_syntax::{Attribute, BodySchema, Content, Diagnostics, Expr, Traversal};

use crate::check::CheckRule;
use crate::constant::Decoding;
use crate::diagnostics::blocks as diagnostics;
use crate::quoted::{self, Syntax, Wanted, unquote};
use crate::schema::schema;

/// The `lifecycle` block.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    /// `create_before_destroy`, if given.
    pub create_before_destroy: Option<bool>,
    /// `prevent_destroy`: any expression.
    pub prevent_destroy: Option<Arc<Expr>>,
    /// `destroy`, if given.
    pub destroy: Option<Arc<Expr>>,
    /// `ignore_changes`
    pub ignore_changes: IgnoreChanges,
    /// `replace_triggered_by`
    pub replace_triggered_by: Vec<Arc<Expr>>,
    /// `precondition` blocks.
    pub preconditions: Vec<CheckRule>,
    /// `postcondition` blocks.
    pub postconditions: Vec<CheckRule>,
}

/// Ignored changes.
#[derive(Clone, Debug, Default)]
pub enum IgnoreChanges {
    /// Every change counts.
    #[default]
    None,
    /// No change counts.
    All,
    /// Changes of these paths are ignored; the root is an attribute of the resource.
    Some(Vec<Traversal>),
}

/// Context of decoding an argument.
struct Reading<'r> {
    with: &'r Decoding<'r>,
    syntax: Syntax,
    problems: &'r mut Diagnostics,
}

/// An argument: its name, and how it is decoded.
struct Argument {
    name: &'static str,
    decode: fn(&mut Lifecycle, &Attribute, &mut Reading<'_>),
}

/// All arguments that only managed resources have, in the order in which they are decoded.
const ARGUMENTS: [Argument; 5] = [
    Argument {
        name: "create_before_destroy",
        // Given even where the value is wrong, so that nothing else is concluded from its absence.
        decode: |lifecycle, attribute, reading| {
            let value = reading.with.bool(&attribute.expr, reading.problems);
            lifecycle.create_before_destroy = Some(value.unwrap_or_default());
        },
    },
    Argument { name: "destroy", decode: |lifecycle, attribute, _| lifecycle.destroy = Some(attribute.expr.clone()) },
    Argument {
        name: "prevent_destroy",
        decode: |lifecycle, attribute, _| lifecycle.prevent_destroy = Some(attribute.expr.clone()),
    },
    Argument {
        name: "replace_triggered_by",
        decode: |lifecycle, attribute, reading| {
            lifecycle.replace_triggered_by = replace_triggered_by(attribute, reading.syntax, reading.problems);
        },
    },
    Argument {
        name: "ignore_changes",
        decode: |lifecycle, attribute, reading| {
            lifecycle.ignore_changes = ignore_changes(attribute, reading.problems);
        },
    },
];

/// Arguments of all resource modes. A later check reports arguments that a mode does not support.
pub(crate) static SCHEMA: LazyLock<BodySchema> = LazyLock::new(|| {
    let attributes: Vec<&str> = names().chain(["enabled"]).collect();
    schema(&[], &attributes, &[("precondition", &[]), ("postcondition", &[])])
});

/// Names of the arguments that only managed resources have.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ARGUMENTS.iter().map(|argument| argument.name)
}

impl Lifecycle {
    /// The lifecycle of a resource without the block. All of them share one.
    pub(crate) fn absent() -> Arc<Lifecycle> {
        static ABSENT: LazyLock<Arc<Lifecycle>> = LazyLock::new(Arc::default);
        Arc::clone(&ABSENT)
    }

    /// The arguments of a block.
    pub(crate) fn decode(
        content: &Content,
        with: &Decoding<'_>,
        syntax: Syntax,
        problems: &mut Diagnostics,
    ) -> Lifecycle {
        let mut lifecycle = Lifecycle::default();
        let mut reading = Reading { with, syntax, problems };
        for argument in &ARGUMENTS {
            if let Some(attribute) = content.attribute(argument.name) {
                (argument.decode)(&mut lifecycle, attribute, &mut reading);
            }
        }
        lifecycle
    }

    /// Takes over the arguments of an override file. Its conditions and triggers are ignored.
    pub(crate) fn override_with(&mut self, new: Lifecycle) {
        self.create_before_destroy = new.create_before_destroy.or(self.create_before_destroy);
        self.prevent_destroy = new.prevent_destroy.or(self.prevent_destroy.take());
        self.destroy = new.destroy.or(self.destroy.take());
        match (&self.ignore_changes, new.ignore_changes) {
            (_, IgnoreChanges::None) | (IgnoreChanges::All, _) => {}
            (_, IgnoreChanges::Some(places)) if places.is_empty() => {}
            (_, changes) => self.ignore_changes = changes,
        }
    }

    /// The expressions that are evaluated when the resource is planned: what they refer to is evaluated before.
    pub fn expressions(&self) -> impl Iterator<Item = &Arc<Expr>> {
        self.replace_triggered_by.iter().chain(&self.prevent_destroy)
    }
}

fn ignore_changes(attribute: &Attribute, problems: &mut Diagnostics) -> IgnoreChanges {
    if attribute.expr.as_keyword().as_deref() == Some("all") {
        return IgnoreChanges::All;
    }
    let mut places = Vec::new();
    let mut star = None;
    for item in quoted::list(&attribute.expr, problems) {
        if item.as_literal_string().is_some_and(|text| text == "*") {
            star = Some(item.span);
            problems.push(diagnostics::ignore_changes_star(attribute.expr.span));
            continue;
        }
        match unquote(item, Wanted::Reference, problems).to_traversal() {
            Ok(traversal) => places.push(traversal),
            Err(problem) => problems.extend(problem),
        }
    }
    match star {
        Some(star) => {
            if !places.is_empty() {
                problems.push(diagnostics::ignore_changes_mixed(star, attribute.expr.span));
            }
            IgnoreChanges::All
        }
        None => IgnoreChanges::Some(places),
    }
}

/// Reads names before it is known what the module declares: any type may be that of a resource.
pub(crate) struct AnyResource;

impl ParseRefContext for AnyResource {
    fn feature_enabled(&self, _: Feature) -> bool {
        false
    }
    fn has_any_managed_resource_of_type(&self, _: &str) -> bool {
        true
    }
    fn has_managed_resource(&self, _: &str, _: &str) -> bool {
        true
    }
}

/// Each item refers to exactly one resource, beside `count.index` and `each.key`.
fn replace_triggered_by(attribute: &Attribute, syntax: Syntax, problems: &mut Diagnostics) -> Vec<Arc<Expr>> {
    let mut exprs = Vec::new();
    let mut unreadable = false;
    for item in quoted::list(&attribute.expr, problems) {
        let item = match quoted::native(item, syntax) {
            // Quirk: after one item of JSON syntax that cannot be read the rest is ignored.
            Ok(_) if unreadable => continue,
            Ok(item) => item,
            Err(problem) => {
                unreadable = true;
                problems.extend(problem);
                continue;
            }
        };
        if !item.variables().into_iter().any(is_of_feature) {
            problems.extend(trigger_problems(&item, &AnyResource));
        }
        unreadable |= syntax == Syntax::Json && problems.has_errors();
        exprs.push(Arc::new(item));
    }
    exprs
}

/// Whether the first name belongs to an opt-in feature in some modules: what it means is known when all blocks are.
pub fn is_of_feature(traversal: &Traversal) -> bool {
    Feature::from_root_word(&traversal.root).is_some()
}

/// Errors in the form of an item of `replace_triggered_by`.
pub fn trigger_problems(item: &Expr, context: &dyn ParseRefContext) -> Diagnostics {
    let mut problems = Diagnostics::new();
    let at = item.span;
    let names = item.variables().into_iter().map(|traversal| Reference::parse(traversal, context));
    let calls = item.functions().into_iter().filter(|call| call.name.starts_with("provider::"));
    let calls = calls.filter_map(|call| Reference::parse_function(&call.name, call.name_span));
    let mut references = Vec::new();
    let mut failed = false;
    for (reference, found) in names.chain(calls) {
        failed |= found.has_errors();
        problems.extend(found.into_iter().map(|problem| problem.at(at)));
        references.extend(reference);
    }
    if failed {
        return problems;
    }
    let mut resources = 0;
    for reference in references {
        match reference.subject {
            Subject::Resource(_) | Subject::ResourceInstance(..) => resources += 1,
            Subject::Each(name) if name == "key" => {}
            Subject::Each(_) => problems.push(diagnostics::trigger_each(at)),
            Subject::Count(name) if name == "index" => {}
            Subject::Count(_) => problems.push(diagnostics::trigger_count(at)),
            _ => problems.push(diagnostics::trigger_reference(at)),
        }
    }
    match resources {
        0 => problems.push(diagnostics::trigger_without_resource(at)),
        1 => {}
        _ => problems.push(diagnostics::trigger_with_many_resources(at)),
    }
    problems
}
