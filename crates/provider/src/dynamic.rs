//! `dynamic` blocks: one block of their type for each element of a collection.

use std::sync::LazyLock;

use ecow::EcoString;
use yuba_syntax::body::{AttributeSchema, BlockSchema as BlockHeader};
use yuba_syntax::{Block, Body, BodySchema, Content, Expr, Span};
use yuba_value::convert::convert;
use yuba_value::{Type, Value, View};

use crate::decode::{Decoder, LocalNames, Part};
use crate::diagnostics::{self, LabelProblem};

/// A block as written, or made by a `dynamic` block.
pub(crate) struct ExpandedBlock {
    pub(crate) kind: EcoString,
    pub(crate) labels: Vec<EcoString>,
    pub(crate) header_span: Span,
    pub(crate) part: Part,
}

/// A `dynamic` block after everything about it as a whole was looked at.
struct Generator {
    kind: EcoString,
    header_span: Span,
    for_each: Value,
    iterator: EcoString,
    labels: Vec<Expr>,
    content: Body,
}

/// Of blocks without labels.
static UNLABELLED: LazyLock<BodySchema> = LazyLock::new(|| schema(&[("for_each", true), ("iterator", false)]));
/// Of blocks with labels.
static LABELLED: LazyLock<BodySchema> =
    LazyLock::new(|| schema(&[("for_each", true), ("iterator", false), ("labels", true)]));
/// For callers that only look at expressions.
pub(crate) static ANY: LazyLock<BodySchema> =
    LazyLock::new(|| schema(&[("for_each", false), ("iterator", false), ("labels", false)]));

fn schema(attributes: &[(&str, bool)]) -> BodySchema {
    let attribute = |(name, required): &(&str, bool)| AttributeSchema { name: (*name).into(), required: *required };
    BodySchema {
        attributes: attributes.iter().map(attribute).collect(),
        blocks: vec![BlockHeader { kind: "content".into(), labels: Vec::new() }],
    }
}

impl Decoder<'_> {
    /// The blocks with `dynamic` ones replaced by what they make.
    pub(crate) fn expand(&mut self, blocks: Vec<Block>, wanted: &BodySchema, around: &Part) -> Vec<ExpandedBlock> {
        let mut expanded = Vec::with_capacity(blocks.len());
        for block in blocks {
            if block.kind == "dynamic" {
                self.expand_dynamic(&block, wanted, around, &mut expanded);
            } else {
                expanded.push(ExpandedBlock {
                    kind: block.kind,
                    labels: block.labels.into_iter().map(|(label, _)| label).collect(),
                    header_span: block.header_span,
                    // Marks of the collection reach blocks in blocks too: the iterator's value has lost them.
                    part: Part { body: block.body, ..around.clone() },
                });
            }
        }
        expanded
    }

    fn expand_dynamic(&mut self, block: &Block, wanted: &BodySchema, around: &Part, into: &mut Vec<ExpandedBlock>) {
        let Some((kind, kind_span)) = block.labels.first() else { return };
        let Some(header) = wanted.blocks.iter().find(|header| header.kind == *kind && header.kind != "dynamic") else {
            self.diagnostics.push(diagnostics::unsupported_block_type(kind).at(*kind_span));
            return;
        };
        let Some(generator) = self.generator(block, header, around) else { return };
        let (for_each, marks) = generator.for_each.unmark();
        let marks = around.marks.union(&marks);
        let mut make = |decoder: &mut Decoder<'_>, key: Value, value: Value, unknown: bool| {
            let each = Value::object(vec![("key".into(), key), ("value".into(), value)]);
            let locals = around.locals.with(generator.iterator.clone(), each);
            let Some(labels) = decoder.labels(&generator.labels, &locals) else { return };
            into.push(ExpandedBlock {
                kind: generator.kind.clone(),
                labels,
                header_span: generator.header_span,
                part: Part {
                    body: generator.content.clone(),
                    locals,
                    marks: marks.clone(),
                    unknown: around.unknown || unknown,
                },
            });
        };
        match for_each.view_ignoring_marks() {
            View::Unknown(_) => make(self, Value::unknown_dynamic(), Value::unknown_dynamic(), true),
            View::Set(items) => items.iter().for_each(|item| make(self, item.clone(), item.clone(), false)),
            View::List(items) | View::Tuple(items) => {
                for (index, item) in (0i64..).zip(items) {
                    make(self, Value::int(index), item.clone(), false);
                }
            }
            _ => {
                for (key, item) in for_each.entries().unwrap_or_default() {
                    make(self, Value::string(key), item, false);
                }
            }
        }
    }

    fn generator(&mut self, block: &Block, header: &BlockHeader, around: &Part) -> Option<Generator> {
        let wanted = if header.labels.is_empty() { &UNLABELLED } else { &LABELLED };
        let (content, problems) = block.body.content(wanted);
        let failed = problems.has_errors();
        self.diagnostics.extend(problems);
        if failed {
            return None;
        }
        let iterator = self.iterator(&content, header)?;
        let for_each = self.for_each(&content, around)?;
        let labels = self.label_exprs(&content, header)?;
        let mut contents = content.blocks.into_iter();
        let Some(body) = contents.next() else {
            self.diagnostics.push(diagnostics::missing_dynamic_content().at(content.missing_span));
            return None;
        };
        if let Some(second) = contents.next() {
            self.diagnostics.push(diagnostics::extraneous_dynamic_content().at(second.header_span));
            return None;
        }
        Some(Generator {
            kind: header.kind.clone(),
            header_span: block.header_span,
            for_each,
            iterator,
            labels,
            content: body.body,
        })
    }

    fn iterator(&mut self, content: &Content, header: &BlockHeader) -> Option<EcoString> {
        let Some(attribute) = content.attribute("iterator") else { return Some(header.kind.clone()) };
        match attribute.expr.to_traversal() {
            Ok(traversal) if traversal.steps.is_empty() => Some(traversal.root),
            Ok(traversal) => {
                self.diagnostics.push(diagnostics::invalid_iterator_name().at(traversal.span));
                None
            }
            Err(problems) => {
                self.diagnostics.extend(problems);
                None
            }
        }
    }

    fn for_each(&mut self, content: &Content, around: &Part) -> Option<Value> {
        let expr = &content.attribute("for_each")?.expr;
        let (value, problems) = self.eval.eval(expr, &around.locals);
        let failed = problems.has_errors();
        self.diagnostics.extend(problems);
        if failed {
            return None;
        }
        let problem = if value.is_null() {
            diagnostics::null_for_each()
        } else if !value.can_iterate() && !value.ty().is_dynamic() {
            diagnostics::for_each_not_iterable(value.ty())
        } else {
            return Some(value);
        };
        let problem = self.eval.explain(problem.at(expr.span), expr, &around.locals);
        self.diagnostics.push(problem);
        None
    }

    fn label_exprs(&mut self, content: &Content, header: &BlockHeader) -> Option<Vec<Expr>> {
        let Some(attribute) = content.attribute("labels") else { return Some(Vec::new()) };
        let Some(exprs) = attribute.expr.as_list() else {
            self.diagnostics.push(diagnostics::labels_not_a_list().at(attribute.expr.start_span()));
            return None;
        };
        let count = header.labels.len();
        if let Some(first_too_many) = exprs.get(count) {
            let problem = diagnostics::extraneous_dynamic_label(&header.kind, count);
            self.diagnostics.push(problem.at(first_too_many.span));
            return None;
        }
        if exprs.len() < count {
            let problem = diagnostics::insufficient_dynamic_labels(&header.kind, count);
            self.diagnostics.push(problem.at(attribute.expr.span));
            return None;
        }
        Some(exprs.to_vec())
    }

    fn labels(&mut self, exprs: &[Expr], locals: &LocalNames) -> Option<Vec<EcoString>> {
        exprs.iter().map(|expr| self.label(expr, locals)).collect()
    }

    fn label(&mut self, expr: &Expr, locals: &LocalNames) -> Option<EcoString> {
        let (value, problems) = self.eval.eval(expr, locals);
        let failed = problems.has_errors();
        self.diagnostics.extend(problems);
        if failed {
            return None;
        }
        let problem = match convert(&value, &Type::string()) {
            Err(error) => LabelProblem::NotString(error.message),
            Ok(label) if label.is_null() => LabelProblem::Null,
            Ok(label) if !label.is_known() => LabelProblem::Unknown,
            Ok(label) if !label.marks().is_empty() => LabelProblem::Marked,
            Ok(label) => return label.as_str().cloned(),
        };
        let problem = diagnostics::invalid_dynamic_label(problem).at(expr.span);
        let problem = self.eval.explain(problem, expr, locals);
        self.diagnostics.push(problem);
        None
    }
}
