//! Differences as text.

use std::fmt::Write as _;

use ecow::EcoString;
use yuba_syntax::lexer::is_identifier;
use yuba_value::quote;

use super::Step;
use super::compare::{Blocks, Described, Diff, Shape};
use crate::paint::{GREEN, GREY, Paint, RED, YELLOW};

/// Settings for showing a difference.
#[derive(Clone, Copy)]
pub(crate) struct Options {
    pub(crate) paint: Paint,
    pub(crate) show_sensitive: bool,
    /// Without symbols at the left.
    pub(crate) no_symbols: bool,
    /// Removed values are not followed by `-> null`.
    pub(crate) no_null: bool,
    /// Unchanged values are shown too.
    pub(crate) show_kept: bool,
    /// It is the reason for a replacement, independent of the difference.
    pub(crate) replace: bool,
    /// Control characters in lines of a string are shown as signs.
    pub(crate) visible: bool,
}

impl Options {
    /// Options that hide sensitive values.
    pub(crate) fn new(paint: Paint) -> Options {
        Options {
            paint,
            show_sensitive: false,
            no_symbols: false,
            no_null: false,
            show_kept: false,
            replace: false,
            visible: false,
        }
    }
    /// For what is inside.
    pub(super) fn inside(self) -> Options {
        Options { replace: false, ..self }
    }

    pub(super) fn symbol(self, step: Step) -> String {
        if self.no_symbols {
            return String::new();
        }
        let symbol = match step {
            Step::Keep => return "    ".to_owned(),
            Step::Create => self.paint.with(GREEN, "+"),
            Step::Update => self.paint.with(YELLOW, "~"),
            Step::Delete => self.paint.with(RED, "-"),
        };
        format!("  {symbol} ")
    }
    pub(super) fn null_suffix(self, step: Step) -> String {
        if self.no_null || step != Step::Delete {
            return String::new();
        }
        format!(" {}", self.paint.with(GREY, "-> null"))
    }
    pub(super) fn replace_note(self) -> String {
        if !self.replace {
            return String::new();
        }
        format!(" {}", self.paint.with(RED, "# forces replacement"))
    }
    pub(super) fn arrow(self) -> String {
        self.paint.with(YELLOW, "->").into_owned()
    }
}

pub(super) fn indent(out: &mut String, level: usize) {
    out.extend(std::iter::repeat_n("    ", level));
}

/// A name as it would be written in the language.
pub(crate) fn attribute_name(name: &str) -> EcoString {
    if is_identifier(name) { name.into() } else { quote(name) }
}

/// Attributes that are shown even if they do not change, so that people know what they are looking at.
pub(crate) fn is_important(name: &str) -> bool {
    matches!(name, "id" | "name" | "tags")
}

impl Diff<'_> {
    pub(super) fn replace_note(&self, options: Options) -> String {
        Options { replace: self.replace || options.replace, ..options }.replace_note()
    }

    /// At a level of indentation; the first line has no indentation and the last one no line end.
    pub(crate) fn write(&self, out: &mut String, level: usize, options: Options) {
        let (note, null) = (self.replace_note(options), options.null_suffix(self.step));
        match &self.shape {
            Shape::Atom { before, after, is_text: false } => self.write_atom(out, *before, *after, options),
            Shape::Atom { before, after, is_text: true } => self.write_text(out, *before, *after, level, options),
            Shape::List { items, described } => self.write_list(out, items, *described, level, options),
            Shape::Set { items, described } => self.write_set(out, items, *described, level, options),
            Shape::Map { items, described } => self.write_map(out, items, *described, level, options),
            Shape::Object { items, described } => self.write_object(out, items, *described, level, options),
            Shape::Block { attributes, blocks } => self.write_block(out, attributes, blocks, level, options),
            Shape::Sensitive { is_block: true, .. } => write_secret_block(out, &note, level, options),
            Shape::Sensitive { inner, .. } if options.show_sensitive => inner.write(out, level, options),
            Shape::Sensitive { .. } => {
                let _ = write!(out, "(sensitive value){null}{note}");
            }
            Shape::Unknown { before: None } => {
                let _ = write!(out, "(known after apply){note}");
            }
            Shape::Unknown { before: Some(before) } => {
                before.write(out, level, Options { no_null: true, ..options });
                let _ = write!(out, " -> (known after apply){note}");
            }
            Shape::Other { before, after } => {
                let options = Options { no_null: true, ..options };
                before.write(out, level, options);
                let _ = write!(out, " {} ", options.arrow());
                after.write(out, level, options);
            }
            Shape::WriteOnly => {
                let _ = write!(out, "(write-only attribute){note}{null}");
            }
        }
    }

    /// The comment line before it.
    fn write_warning(&self, out: &mut String, level: usize, options: Options) {
        let Shape::Sensitive { inner, before, after, is_block } = &self.shape else { return };
        if before == after || matches!(inner.step, Step::Create | Step::Delete) {
            return;
        }
        let what = if *is_block { "block" } else { "attribute value" };
        let (first, second) = match before {
            true => ("will no longer be marked as sensitive", "after applying this change."),
            false => ("will be marked as sensitive and will not", "display in UI output after applying this change."),
        };
        let unchanged = if inner.step == Step::Keep && !is_block { " The value is unchanged." } else { "" };
        let warning = options.paint.with(YELLOW, "Warning");
        indent(out, level);
        let _ = writeln!(out, "  # {warning}: this {what} {first}");
        indent(out, level);
        let _ = writeln!(out, "  # {second}{unchanged}");
    }

    fn write_list(&self, out: &mut String, items: &[Diff<'_>], described: Described, level: usize, options: Options) {
        let (note, null) = (self.replace_note(options), options.null_suffix(self.step));
        if items.is_empty() {
            let _ = write!(out, "[]{null}{note}");
            return;
        }
        let _ = writeln!(out, "[{note}");
        let changed = Options { no_null: true, ..options.inside() };
        let kept = Options { show_kept: true, ..options.inside() };
        let mut hidden = 0;
        let mut show_next = false;
        for (at, item) in items.iter().enumerate() {
            let is_kept = item.step == Step::Keep;
            if is_kept && !show_next && !options.show_kept {
                hidden += 1;
                continue;
            }
            show_next = false;
            let mut item_options = changed;
            if described != Described::NestedAttribute {
                // The elements right before and after a change show where in the list it is.
                if hidden > 1 {
                    write_hidden(out, "element", hidden - 1, level + 1, options);
                }
                if hidden > 0 {
                    items[at - 1].write_element(out, level + 1, kept, kept);
                }
                hidden = 0;
                show_next = !is_kept;
                if is_kept {
                    item_options = kept;
                }
            }
            item.write_element(out, level + 1, item_options, item_options);
        }
        write_hidden(out, "element", hidden, level + 1, options);
        close(out, "]", &null, level, options);
    }

    fn write_set(&self, out: &mut String, items: &[Diff<'_>], described: Described, level: usize, options: Options) {
        let nested = described == Described::NestedAttribute;
        // Each element of a nested one has the comment.
        let note = if nested { options.replace_note() } else { self.replace_note(options) };
        let null = options.null_suffix(self.step);
        if items.is_empty() {
            let _ = write!(out, "[]{null}{note}");
            return;
        }
        let _ = writeln!(out, "[{note}");
        let inside = Options { no_null: true, replace: self.replace && nested, ..options };
        let mut hidden = 0;
        for item in items {
            if item.step == Step::Keep && !options.show_kept {
                hidden += 1;
                continue;
            }
            item.write_element(out, level + 1, inside, options);
        }
        write_hidden(out, "element", hidden, level + 1, options);
        close(out, "]", &null, level, options);
    }

    /// A line of a list or set.
    fn write_element(&self, out: &mut String, level: usize, options: Options, warning: Options) {
        self.write_warning(out, level, warning);
        indent(out, level);
        out.push_str(&options.symbol(self.step));
        self.write(out, level, options);
        out.push_str(",\n");
    }

    fn write_map(
        &self,
        out: &mut String,
        items: &[(EcoString, Diff<'_>)],
        described: Described,
        level: usize,
        options: Options,
    ) {
        let nested = described == Described::NestedAttribute;
        let note = if nested { options.replace_note() } else { self.replace_note(options) };
        let null = options.null_suffix(self.step);
        if items.is_empty() {
            let _ = write!(out, "{{}}{null}{note}");
            return;
        }
        let _ = writeln!(out, "{{{note}");
        let inside =
            Options { no_null: self.step == Step::Delete || nested, replace: self.replace && nested, ..options };
        let keys: Vec<EcoString> = items.iter().map(|(key, _)| quote(key)).collect();
        let width = if nested { 0 } else { width(&keys) };
        let mut hidden = 0;
        for (key, (_, item)) in keys.iter().zip(items) {
            if item.step == Step::Keep && !options.show_kept {
                hidden += 1;
                continue;
            }
            let comma = if matches!(item.shape, Shape::Object { .. }) { "," } else { "" };
            item.write_member(out, key, width, comma, level + 1, inside);
        }
        write_hidden(out, "element", hidden, level + 1, options);
        close(out, "}", &null, level, options);
    }

    fn write_object(
        &self,
        out: &mut String,
        items: &[(EcoString, Diff<'_>)],
        described: Described,
        level: usize,
        options: Options,
    ) {
        let (note, null) = (self.replace_note(options), options.null_suffix(self.step));
        if items.is_empty() {
            let _ = write!(out, "{{}}{null}{note}");
            return;
        }
        let _ = writeln!(out, "{{{note}");
        write_attributes(
            out,
            items,
            level + 1,
            Options { no_null: described != Described::NestedAttribute, ..options.inside() },
        );
        close(out, "}", &null, level, options);
    }

    fn write_block(
        &self,
        out: &mut String,
        attributes: &[(EcoString, Diff<'_>)],
        blocks: &[Blocks<'_>],
        level: usize,
        options: Options,
    ) {
        let note = self.replace_note(options);
        if attributes.is_empty() && blocks.is_empty() {
            let _ = write!(out, "{{}}{note}");
            return;
        }
        let _ = writeln!(out, "{{{note}");
        write_attributes(out, attributes, level + 1, options.inside());
        let mut hidden = 0;
        for group in blocks {
            let mut needs_gap = !attributes.is_empty();
            for (label, block) in &group.items {
                let step = group.step(block);
                if step == Step::Keep && !options.show_kept {
                    hidden += 1;
                    continue;
                }
                if std::mem::take(&mut needs_gap) {
                    out.push('\n');
                }
                let inside = Options { replace: group.replace, ..options };
                group.write_one(out, label.as_ref(), block, step, level + 1, inside);
            }
        }
        if hidden > 0 {
            out.push('\n');
            write_hidden(out, "block", hidden, level + 1, options);
        }
        close(out, "}", "", level, options);
    }

    /// A line with a name and a value.
    fn write_member(&self, out: &mut String, name: &str, width: usize, comma: &str, level: usize, options: Options) {
        self.write_warning(out, level, options);
        indent(out, level);
        let _ = write!(out, "{}{name:<width$} = ", options.symbol(self.step));
        self.write(out, level, options);
        out.push_str(comma);
        out.push('\n');
    }
}

impl Blocks<'_> {
    /// Sensitivity of all of them applies to each of them.
    pub(crate) fn is_secret(&self, block: &Diff<'_>) -> bool {
        match block.step {
            Step::Create => self.sensitive_after,
            Step::Delete => self.sensitive_before,
            Step::Update | Step::Keep => self.sensitive_before || self.sensitive_after,
        }
    }
    pub(crate) fn step(&self, block: &Diff<'_>) -> Step {
        let changes = self.is_secret(block) && self.sensitive_before != self.sensitive_after;
        if block.step == Step::Keep && changes { Step::Update } else { block.step }
    }
    fn write_one(
        &self,
        out: &mut String,
        label: Option<&EcoString>,
        block: &Diff<'_>,
        step: Step,
        level: usize,
        options: Options,
    ) {
        let secret = self.is_secret(block).then(|| Diff {
            step,
            replace: block.replace,
            shape: Shape::Sensitive {
                inner: Box::new(block.clone()),
                before: self.sensitive_before,
                after: self.sensitive_after,
                is_block: true,
            },
        });
        let block = secret.as_ref().unwrap_or(block);
        block.write_warning(out, level, options);
        indent(out, level);
        out.push_str(&options.symbol(step));
        out.push_str(&attribute_name(&self.name));
        if let Some(label) = label {
            let _ = write!(out, " {}", quote(label));
        }
        out.push(' ');
        block.write(out, level, options);
        out.push('\n');
    }
}

fn write_attributes(out: &mut String, items: &[(EcoString, Diff<'_>)], level: usize, options: Options) {
    let names: Vec<EcoString> = items.iter().map(|(name, _)| attribute_name(name)).collect();
    let width = width(&names);
    let mut hidden = 0;
    for (name, (plain_name, item)) in names.iter().zip(items) {
        let important = is_important(plain_name);
        if item.step == Step::Keep && !options.show_kept && !important {
            hidden += 1;
            continue;
        }
        let options = Options { show_kept: options.show_kept || important, ..options };
        item.write_member(out, name, width, "", level, options);
    }
    write_hidden(out, "attribute", hidden, level, options);
}

/// Quirk: names are as wide as they have bytes.
fn width(names: &[EcoString]) -> usize {
    names.iter().map(|name| name.len()).max().unwrap_or_default()
}

fn write_hidden(out: &mut String, what: &str, count: usize, level: usize, options: Options) {
    if count == 0 {
        return;
    }
    indent(out, level);
    let plural = if count == 1 { "" } else { "s" };
    let note = format!("# ({count} unchanged {what}{plural} hidden)");
    let _ = writeln!(out, "{}{}", options.symbol(Step::Keep), options.paint.with(GREY, &note));
}

fn close(out: &mut String, bracket: &str, null: &str, level: usize, options: Options) {
    indent(out, level);
    let _ = write!(out, "{}{bracket}{null}", options.symbol(Step::Keep));
}

fn write_secret_block(out: &mut String, note: &str, level: usize, options: Options) {
    let _ = writeln!(out, "{{{note}");
    for line in [
        "  # At least one attribute in this block is (or was) sensitive,\n",
        "  # so its contents will not be displayed.\n",
    ] {
        indent(out, level);
        out.push_str(&options.symbol(Step::Keep));
        out.push_str(line);
    }
    close(out, "}", "", level, options);
}
