//! Numbers, truth values and texts, and what becomes of them: texts of several lines line by line, texts that hold JSON
//! as what they hold.

use std::fmt::Write as _;

use ecow::EcoString;
use yuba_value::quote;

use super::compare::{Change, Diff, Shape};
use super::node::{Data, Node};
use super::render::{Options, indent};
use super::sequence::align;
use super::{Step, json_text};
use crate::diagnostic::visible_in_line;
use crate::paint::GREY;

/// Form of a string for people.
enum Reading<'a> {
    Null,
    Line(&'a str),
    /// Without white space around it.
    Lines(&'a str),
    Json(Node),
}

impl Reading<'_> {
    fn of(node: Option<&Node>) -> Reading<'_> {
        let Some(text) = node.and_then(Node::as_text) else { return Reading::Null };
        match json_text::parse(text) {
            Some(json) => Reading::Json(json),
            None if text.contains('\n') => Reading::Lines(text.trim()),
            None => Reading::Line(text),
        }
    }
    fn simple(&self, options: Options) -> EcoString {
        match self {
            Reading::Null => options.paint.with(GREY, "null").as_ref().into(),
            Reading::Line(text) | Reading::Lines(text) => quote(text),
            Reading::Json(_) => EcoString::new(),
        }
    }
    fn lines(&self) -> Vec<&str> {
        match self {
            // Quirk: a missing string is the line `null`, as is seen where it is replaced by several lines.
            Reading::Null => vec!["null"],
            Reading::Line(text) | Reading::Lines(text) => text.split('\n').collect(),
            Reading::Json(_) => Vec::new(),
        }
    }
}

impl Diff<'_> {
    pub(super) fn write_atom(&self, out: &mut String, before: Option<&Node>, after: Option<&Node>, options: Options) {
        let shown = |node: Option<&Node>| match node.map(|node| &node.data) {
            Some(Data::Bool(value)) => if *value { "true" } else { "false" }.into(),
            Some(Data::Number(number)) => number.clone(),
            _ => options.paint.with(GREY, "null").as_ref().into(),
        };
        let note = self.replace_note(options);
        let _ = match self.step {
            Step::Create => write!(out, "{}{note}", shown(after)),
            Step::Keep => write!(out, "{}{note}", shown(before)),
            Step::Delete => write!(out, "{}{}{note}", shown(before), options.null_suffix(self.step)),
            Step::Update => write!(out, "{} {} {}{note}", shown(before), options.arrow(), shown(after)),
        };
    }

    pub(super) fn write_text(
        &self,
        out: &mut String,
        before: Option<&Node>,
        after: Option<&Node>,
        level: usize,
        options: Options,
    ) {
        let note = self.replace_note(options);
        let null = options.null_suffix(self.step);
        let one = match self.step {
            Step::Create | Step::Keep => after,
            Step::Delete => before,
            Step::Update => return self.write_text_change(out, before, after, level, options),
        };
        match Reading::of(one) {
            Reading::Json(json) => {
                let (before, after) = (self.step != Step::Create, self.step != Step::Delete);
                self.write_json(out, before.then_some(&json), after.then_some(&json), level, options);
            }
            // Null that becomes null would look silly.
            Reading::Null => {
                let _ = write!(out, "{}{note}", Reading::Null.simple(options));
            }
            Reading::Line(text) => {
                let _ = write!(out, "{}{null}{note}", quote(text));
            }
            Reading::Lines(text) => {
                let lines = text.split('\n').map(|line| (Step::Keep, line));
                self.write_heredoc(out, lines, level, options);
            }
        }
    }

    fn write_text_change(
        &self,
        out: &mut String,
        before: Option<&Node>,
        after: Option<&Node>,
        level: usize,
        options: Options,
    ) {
        match (Reading::of(before), Reading::of(after)) {
            (Reading::Json(before), Reading::Json(after)) => {
                self.write_json(out, Some(&before), Some(&after), level, options);
            }
            (Reading::Json(_), _) | (_, Reading::Json(_)) => {
                let part = |step, before, after| {
                    let shape = Shape::Atom { before, after, is_text: true };
                    Box::new(Diff { step, replace: false, shape })
                };
                let (before, after) = (part(Step::Delete, before, None), part(Step::Create, None, after));
                Diff { step: self.step, replace: self.replace, shape: Shape::Other { before, after } }
                    .write(out, level, options);
            }
            (before @ (Reading::Null | Reading::Line(_)), after @ (Reading::Null | Reading::Line(_))) => {
                let (before, after) = (before.simple(options), after.simple(options));
                let _ = write!(out, "{before} {} {after}{}", options.arrow(), self.replace_note(options));
            }
            (before, after) => {
                let (before, after) = (before.lines(), after.lines());
                let mut lines = Vec::with_capacity(before.len().max(after.len()));
                align(
                    &before,
                    &after,
                    |line| (*line).to_owned(),
                    |_, _| false,
                    |b, a| {
                        let line = match (b, a) {
                            (Some(b), Some(_)) => (Step::Keep, before[b]),
                            (Some(b), None) => (Step::Delete, before[b]),
                            (None, a) => (Step::Create, a.map_or("", |a| after[a])),
                        };
                        lines.push(line);
                    },
                );
                self.write_heredoc(out, lines.into_iter(), level, options);
            }
        }
    }

    fn write_heredoc<'t>(
        &self,
        out: &mut String,
        lines: impl Iterator<Item = (Step, &'t str)>,
        level: usize,
        options: Options,
    ) {
        let _ = writeln!(out, "<<-EOT{}", self.replace_note(options));
        for (step, line) in lines {
            indent(out, level + 1);
            let line = if options.visible { visible_in_line(line) } else { line.into() };
            let _ = writeln!(out, "{}{line}", options.symbol(step));
        }
        indent(out, level);
        let _ = write!(out, "{}EOT{}", options.symbol(Step::Keep), options.null_suffix(self.step));
    }

    fn write_json(
        &self,
        out: &mut String,
        before: Option<&Node>,
        after: Option<&Node>,
        level: usize,
        options: Options,
    ) {
        let diff = Change { implicit: false, ..Change::new(before, after) }.by_look();
        let spacing_only = diff.step == Step::Keep && self.step == Step::Update;
        let inside = Options { no_null: true, show_kept: options.show_kept || spacing_only, ..options.inside() };
        let replace = if spacing_only { String::new() } else { self.replace_note(options) };
        let spacing = match (spacing_only, self.replace) {
            (false, _) => "",
            (true, false) => " # whitespace changes",
            (true, true) => " # whitespace changes force replacement",
        };
        let mut content = String::new();
        diff.write(&mut content, level + 1, inside);
        if !content.contains('\n') {
            let _ = write!(out, "jsonencode({content}){spacing}{replace}");
            return;
        }
        let step = if self.step == Step::Update && !spacing_only { Step::Update } else { Step::Keep };
        let _ = writeln!(out, "jsonencode({spacing}");
        indent(out, level + 1);
        let _ = writeln!(out, "{}{content}{replace}", options.symbol(step));
        indent(out, level);
        let _ = write!(out, "{}){}", options.symbol(Step::Keep), options.null_suffix(self.step));
    }
}
