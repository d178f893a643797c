//! Differences of a report as lines of text, as a plan shows them.

use ecow::EcoString;
use yuba_value::quote;

use super::{DiffKind, DiffMark, DiffNode, NodeName, SENSITIVE};
use crate::change::render::attribute_name;
use crate::diagnostic::visible_in_line;
use crate::paint::{GREEN, GREY, Paint, RED, YELLOW};

/// Treatment of parts that do not change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unchanged {
    /// The number of hidden parts is shown, and those that identify an object.
    #[default]
    Counted,
    /// Only changes are shown.
    Omitted,
}

/// A line of a difference.
pub(super) struct DiffLine {
    pub(super) mark: DiffMark,
    /// The same, or for lines of a new or removed string the mark of the string.
    pub(super) whole: DiffMark,
    /// Nesting: 0 for attributes of the object.
    pub(super) level: usize,
    pub(super) text: String,
}

/// The lines between the braces of an object.
pub(super) fn lines(object: &DiffNode, unchanged: Unchanged, paint: Paint) -> Vec<DiffLine> {
    let mut writer = Writer { out: Vec::new(), unchanged, paint };
    if object.sensitive {
        writer.note(object.note.as_deref().unwrap_or("At least one attribute is sensitive."), 0);
    } else {
        writer.members(object, 0);
    }
    writer.out
}

/// The lines of a value with a name: `name = value`.
pub(super) fn named_lines(name: &str, node: &DiffNode, unchanged: Unchanged, paint: Paint) -> Vec<DiffLine> {
    let mut writer = Writer { out: Vec::new(), unchanged, paint };
    writer.value(node, format!("{name} = "), "", 0);
    writer.out
}

/// The sign at the left, coloured.
pub(super) fn sign(mark: DiffMark, paint: Paint) -> String {
    let colour = match mark {
        DiffMark::Same => return " ".to_owned(),
        DiffMark::Added => GREEN,
        DiffMark::Removed => RED,
        DiffMark::Changed => YELLOW,
    };
    paint.with(colour, mark.sign()).into_owned()
}

/// Lines as a plan shows them: signs are right before their part.
pub(super) fn indented(lines: &[DiffLine], paint: Paint) -> String {
    let mut out = String::new();
    for line in lines {
        out.extend(std::iter::repeat_n("    ", line.level + 1));
        out.push_str("  ");
        out.push_str(&sign(line.mark, paint));
        out.push(' ');
        out.push_str(&line.text);
        out.push('\n');
    }
    out
}

struct Writer {
    out: Vec<DiffLine>,
    unchanged: Unchanged,
    paint: Paint,
}

impl Writer {
    fn line(&mut self, mark: DiffMark, level: usize, text: String) {
        self.out.push(DiffLine { mark, whole: mark, level, text });
    }

    fn note(&mut self, text: &str, level: usize) {
        let text = self.paint.with(GREY, &format!("# {text}")).into_owned();
        self.line(DiffMark::Same, level, text);
    }

    /// The parts of a value with names or positions, and the number of hidden ones.
    fn members(&mut self, node: &DiffNode, level: usize) {
        let name = |child: &DiffNode| match (&child.name, node.kind) {
            (Some(NodeName::Text(name)), DiffKind::Map) => Some(quote(name)),
            (Some(NodeName::Text(name)), _) => Some(attribute_name(name)),
            _ => None,
        };
        let is_shown = |child: &&DiffNode| self.unchanged == Unchanged::Counted || child.mark != DiffMark::Same;
        let shown: Vec<(Option<EcoString>, &DiffNode)> =
            node.children.iter().filter(is_shown).map(|child| (name(child), child)).collect();
        let in_columns = shown.iter().filter(|(_, child)| child.kind != DiffKind::Block);
        let width = in_columns.filter_map(|(name, _)| Some(name.as_ref()?.chars().count())).max().unwrap_or_default();
        let mut had_attributes = false;
        for (name, child) in shown {
            match name {
                Some(name) if child.kind == DiffKind::Block => {
                    if std::mem::take(&mut had_attributes) {
                        self.line(DiffMark::Same, level, String::new());
                    }
                    let label = child.label.as_ref().map(|label| format!("{} ", quote(label))).unwrap_or_default();
                    self.value(child, format!("{name} {label}"), "", level);
                }
                Some(name) => {
                    had_attributes = true;
                    self.value(child, format!("{name:<width$} = "), "", level);
                }
                None => self.value(child, String::new(), ",", level),
            }
        }
        if node.hidden > 0 && self.unchanged == Unchanged::Counted {
            let (part, plural) = match node.kind {
                DiffKind::List | DiffKind::Set | DiffKind::Map => ("element", "elements"),
                _ => ("value", "values"),
            };
            let part = if node.hidden == 1 { part } else { plural };
            self.note(&format!("({} unchanged {part} hidden)", node.hidden), level);
        }
    }

    fn suffix(&self, node: &DiffNode) -> String {
        let mut out = String::new();
        if let Some(note) = &node.note {
            out.push_str(&format!(" {}", self.paint.with(GREY, &format!("# {note}"))));
        }
        if node.forces {
            out.push_str(&format!(" {}", self.paint.with(RED, "# forces replacement")));
        }
        out
    }

    fn arrow(&self) -> String {
        format!(" {} ", self.paint.with(YELLOW, "->"))
    }

    /// A value after a prefix such as `name = `, and what follows it.
    fn value(&mut self, node: &DiffNode, prefix: String, end: &str, level: usize) {
        let note = self.suffix(node);
        if node.sensitive && node.kind != DiffKind::Block {
            return self.line(node.mark, level, format!("{prefix}{SENSITIVE}{end}{note}"));
        }
        let (open, close) = match node.kind {
            DiffKind::Value => return self.simple(node, prefix, end, level),
            DiffKind::Object | DiffKind::Map | DiffKind::Block => ("{", "}"),
            DiffKind::List | DiffKind::Set => ("[", "]"),
            DiffKind::Text => return self.text(node, &prefix, end, level),
        };
        let after = match node.mark {
            _ if node.unknown => format!("{}(known after apply)", self.arrow()),
            DiffMark::Removed if node.kind != DiffKind::Block && !prefix.is_empty() => {
                format!(" {}", self.paint.with(GREY, "-> null"))
            }
            _ => String::new(),
        };
        let (function, function_end) = if node.json { ("jsonencode(", ")") } else { ("", "") };
        let is_empty = node.children.is_empty() && node.hidden == 0 && !node.sensitive;
        if is_empty {
            return self.line(
                node.mark,
                level,
                format!("{prefix}{function}{open}{close}{function_end}{after}{end}{note}"),
            );
        }
        self.line(node.mark, level, format!("{prefix}{function}{open}{note}"));
        if node.sensitive {
            self.note("At least one attribute in this block is sensitive.", level + 1);
        } else {
            self.members(node, level + 1);
        }
        self.line(DiffMark::Same, level, format!("{close}{function_end}{after}{end}"));
    }

    fn simple(&mut self, node: &DiffNode, prefix: String, end: &str, level: usize) {
        let (note, arrow) = (self.suffix(node), self.arrow());
        if let [old, new] = node.children.as_slice() {
            if old.kind == DiffKind::Value && old.children.is_empty() {
                let old = old.before.as_deref().unwrap_or(SENSITIVE);
                return self.value(
                    &DiffNode { mark: node.mark, ..new.clone() },
                    format!("{prefix}{old}{arrow}"),
                    end,
                    level,
                );
            }
            let old = DiffNode { mark: node.mark, forces: node.forces, ..old.clone() };
            if let (DiffKind::Value, true, Some(after)) = (new.kind, new.children.is_empty(), &new.after) {
                return self.value(&old, prefix, &format!("{arrow}{after}{end}"), level);
            }
            self.value(&old, prefix, arrow.trim_end(), level);
            return self.value(&DiffNode { mark: DiffMark::Same, ..new.clone() }, String::new(), end, level);
        }
        let text = match (&node.before, &node.after) {
            (Some(before), Some(after)) => format!("{before}{arrow}{after}"),
            // Elements of lists and sets are removed without a value instead of them.
            (Some(before), None) if prefix.is_empty() => before.to_string(),
            (Some(before), None) => format!("{before} {}", self.paint.with(GREY, "-> null")),
            (None, Some(after)) => after.to_string(),
            (None, None) => "null".to_owned(),
        };
        self.line(node.mark, level, format!("{prefix}{text}{end}{note}"));
    }

    fn text(&mut self, node: &DiffNode, prefix: &str, end: &str, level: usize) {
        self.line(node.mark, level, format!("{prefix}<<-EOT{}", self.suffix(node)));
        for line in &node.children {
            if line.hidden > 0 {
                if self.unchanged == Unchanged::Counted {
                    let plural = if line.hidden == 1 { "line" } else { "lines" };
                    self.note(&format!("({} unchanged {plural} hidden)", line.hidden), level + 1);
                }
                continue;
            }
            if line.mark == DiffMark::Same && node.mark == DiffMark::Changed && self.unchanged == Unchanged::Omitted {
                continue;
            }
            let text = line.after.as_ref().or(line.before.as_ref()).map(EcoString::as_str).unwrap_or_default();
            // Every line of a new or removed text has the mark of the text.
            let mark = if node.mark == DiffMark::Changed { line.mark } else { DiffMark::Same };
            let whole = if node.mark == DiffMark::Changed { mark } else { node.mark };
            self.out.push(DiffLine { mark, whole, level: level + 1, text: visible_in_line(text).into_owned() });
        }
        let after = match node.mark {
            _ if node.unknown => format!("{}(known after apply)", self.arrow()),
            DiffMark::Removed => format!(" {}", self.paint.with(GREY, "-> null")),
            _ => String::new(),
        };
        self.line(DiffMark::Same, level, format!("EOT{after}{end}"));
    }
}
