//! Diagnostics as people read them: in a frame and with colors, or plain.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;

use ecow::EcoString;
use yuba_syntax::diagnostic::{DeprecatedKind, FunctionCall};
use yuba_syntax::{Diagnostic, Diagnostics, Severity, Sources};

use crate::change::{self, Change, Node};
pub use crate::paint::Style;
use crate::paint::{GREY, Paint, RED, YELLOW};
use crate::snippet::{Excerpts, Snippet};
use crate::wrap::wrap;

/// Which diagnostics are shown, and how much of each.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// If there are warnings and no errors, only title and location of each warning are shown.
    pub compact_warnings: bool,
    /// Warnings with the same code and the same values in title and detail are shown as one.
    pub consolidate_warnings: bool,
    /// Errors with the same code and the same values in the title are shown as one.
    pub consolidate_errors: bool,
    /// The frame of diagnostics without colors. Diagnostics with colors always have it.
    pub frame: Frame,
}

/// The rule at the left of a diagnostic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Frame {
    /// Diagnostics without colors have no frame.
    #[default]
    Omitted,
    /// Diagnostics without colors have a frame, too.
    Drawn,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            compact_warnings: false,
            consolidate_warnings: true,
            consolidate_errors: false,
            frame: Frame::default(),
        }
    }
}

/// Longest line of code that is shown in full, in bytes; of longer ones only the part around the highlight.
const MAX_CODE_LINE: usize = 500;

/// Number of diagnostics that are shown. More than that are usually one error many times.
const MAX_SHOWN: usize = 1000;

/// All diagnostics in the order people read them: warnings first, then by place. The text of each ends a line.
pub fn render_all(
    diagnostics: &Diagnostics,
    sources: &Sources,
    style: Style,
    width: usize,
    options: &Options,
) -> Vec<(Severity, String)> {
    let excerpts = Excerpts::new(sources);
    let mut groups = consolidate(sorted(diagnostics, sources), options);
    if options.compact_warnings && !groups.is_empty() && groups.iter().all(|group| !group.first.is_error()) {
        return vec![(Severity::Warning, compact(&groups, &excerpts, style))];
    }
    let render_group = |group: &Group<'_>| match group.note(&excerpts) {
        Some(note) => {
            let mut noted = group.first.clone();
            let explanation = noted.explanation();
            let gap = if explanation.is_empty() { "" } else { "\n\n" };
            noted.detail = format!("{explanation}{gap}{note}").into();
            noted.hint = None;
            (noted.severity, render_framed(&noted, &excerpts, style, options.frame, width))
        }
        None => (group.first.severity, render_framed(group.first, &excerpts, style, options.frame, width)),
    };
    let excess = groups.len().saturating_sub(MAX_SHOWN);
    if excess > 0 {
        // Warnings are dropped first, so that errors stay visible.
        let warnings = groups.iter().filter(|group| !group.first.is_error()).count();
        groups.drain(warnings - excess.min(warnings)..warnings);
        groups.truncate(MAX_SHOWN);
    }
    let mut shown: Vec<(Severity, String)> = groups.iter().map(render_group).collect();
    if excess > 0 {
        shown.push((Severity::Error, format!("\n({excess} more diagnostics are not shown)\n")));
    }
    shown
}

/// One diagnostic, wrapped to a width (0: not wrapped). It has a frame if it has colors.
pub fn render(diagnostic: &Diagnostic, excerpts: &Excerpts<'_>, style: Style, width: usize) -> String {
    render_framed(diagnostic, excerpts, style, Frame::Omitted, width)
}

fn render_framed(diagnostic: &Diagnostic, excerpts: &Excerpts<'_>, style: Style, frame: Frame, width: usize) -> String {
    let paint = Paint::new(style);
    let is_framed = style == Style::Coloured || frame == Frame::Drawn;
    let (title, colour) = match diagnostic.severity {
        Severity::Error => ("Error: ", RED),
        Severity::Warning => ("Warning: ", YELLOW),
    };
    let mut text = String::new();
    if !is_framed {
        text.push('\n');
    }
    let _ = writeln!(text, "{}{}\n", paint.bold_in(colour, title), paint.bold(&visible(&diagnostic.summary)));
    write_code(&mut text, diagnostic, excerpts, paint);
    // The rule at the left and one free column need room, the plain style just the free column.
    let width = width.saturating_sub(if is_framed { 3 } else { 1 });
    let detail = excerpts.detail(diagnostic);
    if !detail.is_empty() {
        for line in visible(&detail).split('\n') {
            // Indented lines are preformatted.
            let wrapped = if width == 0 || line.starts_with(' ') { line.into() } else { Cow::Owned(wrap(line, width)) };
            let _ = writeln!(text, "{wrapped}");
        }
    }
    if !is_framed {
        return text;
    }
    if diagnostic.subject.is_none() && diagnostic.address.is_none() && detail.is_empty() {
        // Quirk: in the frame of OpenTofu two empty lines follow a title that stands alone.
        text.push('\n');
    }
    boxed(&text, colour, paint)
}

/// Draws the rule at the left of a text.
fn boxed(text: &str, colour: &str, paint: Paint) -> String {
    let mut out = format!("{}\n", paint.with(colour, "╷"));
    let rule = paint.with(colour, "│");
    for line in text.lines() {
        // Quirk: OpenTofu writes the space on empty lines too.
        let _ = writeln!(out, "{rule} {line}");
    }
    let _ = writeln!(out, "{}", paint.with(colour, "╵"));
    out
}

fn write_code(text: &mut String, diagnostic: &Diagnostic, excerpts: &Excerpts<'_>, paint: Paint) {
    if let Some(address) = &diagnostic.address {
        let _ = writeln!(text, "  with {},", visible(address));
    }
    let (Some((filename, line)), Some(snippet)) =
        (excerpts.line(diagnostic), excerpts.snippet(diagnostic, MAX_CODE_LINE))
    else {
        if diagnostic.address.is_some() {
            text.push('\n');
        }
        return;
    };
    let context = snippet.context.as_ref().map_or_else(String::new, |context| format!(", in {}", visible(context)));
    let _ = writeln!(text, "  on {} line {line}{context}:", visible(filename));
    write_lines(text, &snippet, paint);
    write_values(text, diagnostic, paint);
    write_difference(text, diagnostic, paint);
    text.push('\n');
}

fn write_lines(text: &mut String, snippet: &Snippet, paint: Paint) {
    let mut offset = 0;
    for (index, line) in snippet.code.split('\n').enumerate() {
        let (start, end) = (snippet.highlight_start, snippet.highlight_end);
        let inside = |at: usize| at.clamp(offset, offset + line.len()) - offset;
        let (from, to) = (inside(start), inside(end).max(inside(start)));
        let _ = write!(text, "{:4}: {}", snippet.start_line + index, visible_in_line(&line[..from]));
        if from < to {
            text.push_str(&paint.with("4", &visible_in_line(&line[from..to])));
        }
        text.push_str(&visible_in_line(&line[to..]));
        text.push('\n');
        offset += line.len() + 1;
    }
}

fn write_values(text: &mut String, diagnostic: &Diagnostic, paint: Paint) {
    let Some(extra) = &diagnostic.extra else { return };
    let call = extra.function_call.as_ref().and_then(|call| Some((call, parameters(call)?)));
    if extra.values.is_empty() && call.is_none() {
        return;
    }
    let _ = writeln!(text, "    {}", paint.with(GREY, "├────────────────"));
    let rule = paint.with(GREY, "│");
    if let Some((call, parameters)) = call {
        let name = visible_in_line(&call.called_as);
        let _ = writeln!(text, "    {rule} while calling {}{parameters}", paint.bold(&name));
    }
    let mut values: Vec<_> = extra.values.iter().collect();
    values.sort();
    for (name, statement) in values {
        let (name, statement) = (visible_in_line(name), visible_in_line(statement));
        let _ = writeln!(text, "    {rule} {} {statement}", paint.bold(&name));
    }
}

/// Writes the difference between the two sides of a comparison.
fn write_difference(text: &mut String, diagnostic: &Diagnostic, paint: Paint) {
    let Some((before, after)) = diagnostic.extra.as_ref().and_then(|extra| extra.difference.as_ref()) else { return };
    let node = |json: &str| yuba_value::json::decode_implied(json).ok().map(|value| Node::of(&value));
    let (Some(before), Some(after)) = (node(before), node(after)) else { return };
    let mut difference = String::new();
    // The lines carry colours of their own, so control characters of the values are replaced where these are written.
    let options = change::Options { visible: true, ..change::Options::new(paint) };
    Change::new(Some(&before), Some(&after)).by_look().write(&mut difference, 0, options);
    let rule = paint.with(GREY, "│");
    let _ = writeln!(text, "    {}", paint.with(GREY, "├────────────────"));
    let _ = writeln!(text, "    {rule} {}", paint.bold("Diff: "));
    for (at, line) in difference.lines().enumerate() {
        let indent = if at == 0 { "    " } else { "" };
        let _ = writeln!(text, "    {rule} {indent}{line}");
    }
}

/// `(separator, lists...)` of the signature `join(separator, lists...)`.
fn parameters(call: &FunctionCall) -> Option<&str> {
    let signature = call.signature.as_ref()?;
    signature.find('(').map(|open| &signature[open..])
}

/// A string in which control characters and marks for text direction are replaced by visible signs, so that a
/// configuration cannot draw on the screen of users who read its errors.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_bad = |c: char| is_control(c) && c != '\n' && c != '\t';
    if !text.contains(is_bad) {
        return text.into();
    }
    text.replace("\r\n", "\n").chars().map(|c| if is_bad(c) { picture(c) } else { c }).collect::<String>().into()
}

/// The same for text that must stay on one line.
pub(crate) fn visible_in_line(text: &str) -> Cow<'_, str> {
    let is_bad = |c: char| is_control(c) && c != '\t';
    if !text.contains(is_bad) {
        return text.into();
    }
    text.chars().map(|c| if is_bad(c) { picture(c) } else { c }).collect::<String>().into()
}

fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The sign for a control character: the Unicode block "Control Pictures" has one for each of the old ones.
fn picture(c: char) -> char {
    match c {
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\x7f' => '\u{2421}',
        _ => char::REPLACEMENT_CHARACTER,
    }
}

/// Diagnostics that are shown as the first of them.
struct Group<'a> {
    first: &'a Diagnostic,
    others: Vec<&'a Diagnostic>,
}

/// Number of locations that a folded warning lists.
const MAX_PLACES: usize = 100;

impl Group<'_> {
    fn note(&self, excerpts: &Excerpts<'_>) -> Option<String> {
        if self.first.is_about_deprecation() {
            return self.uses(excerpts);
        }
        let noun = if self.first.is_error() { "error" } else { "warning" };
        match self.others.len() {
            0 => None,
            1 => Some(format!("(and one more similar {noun} elsewhere)")),
            count => Some(format!("(and {count} more similar {noun}s elsewhere)")),
        }
    }

    /// Number and locations of the uses of a deprecated object; none for a single location, in whatever number of
    /// instances.
    fn uses(&self, excerpts: &Excerpts<'_>) -> Option<String> {
        let mut uses = vec![self.first];
        for used in &self.others {
            // They are sorted by location.
            if uses.last().is_some_and(|last| last.subject != used.subject) {
                uses.push(used);
            }
        }
        if uses.len() < 2 {
            return None;
        }
        let mut places: Vec<String> = Vec::new();
        for (filename, line) in uses.iter().filter_map(|used| excerpts.line(used)) {
            places.push(format!("{filename}:{line}"));
        }
        places.dedup();
        let left_out = places.len().saturating_sub(MAX_PLACES);
        places.truncate(MAX_PLACES);
        let more = if left_out == 0 { String::new() } else { format!(" and {left_out} more locations") };
        Some(format!("{} uses: {}{more}", uses.len(), places.join(", ")))
    }
}

/// The identity that folded diagnostics share.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Sameness<'a> {
    severity: Severity,
    code: &'static str,
    /// The values in the title.
    named: &'a [EcoString],
    subject: FoldedSubject<'a>,
}

/// The subject that folded diagnostics share. A warning never hides a message that differs from its own.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum FoldedSubject<'a> {
    /// Errors share their code and the values in their title only.
    Any,
    /// Declaration and message of something deprecated.
    Deprecated(DeprecatedKind, &'a str, &'a str),
    /// The values in the detail.
    Arguments(&'a [EcoString]),
}

fn sameness(diagnostic: &Diagnostic) -> Sameness<'_> {
    let subject = match (diagnostic.severity, diagnostic.deprecation()) {
        (Severity::Error, _) => FoldedSubject::Any,
        (Severity::Warning, Some(used)) => FoldedSubject::Deprecated(used.kind, &used.origin, &used.message),
        (Severity::Warning, None) => FoldedSubject::Arguments(&diagnostic.arguments().detail),
    };
    let named = &diagnostic.arguments().title;
    Sameness { severity: diagnostic.severity, code: diagnostic.code.id, named, subject }
}

fn sorted<'a>(diagnostics: &'a Diagnostics, sources: &Sources) -> Vec<&'a Diagnostic> {
    let mut sorted: Vec<&Diagnostic> = diagnostics.iter().collect();
    sorted.sort_by_cached_key(|diagnostic| {
        let location = diagnostic.subject.map(|subject| {
            let name = sources.get(subject.file).map_or("", |file| &file.name);
            (name.matches('/').count(), name.to_owned(), subject.start, subject.end)
        });
        (diagnostic.is_error(), location)
    });
    sorted
}

fn consolidate<'a>(diagnostics: Vec<&'a Diagnostic>, options: &Options) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut known: BTreeMap<Sameness<'a>, usize> = BTreeMap::new();
    for diagnostic in diagnostics {
        let wanted = match diagnostic.severity {
            Severity::Error => options.consolidate_errors,
            Severity::Warning => options.consolidate_warnings,
        };
        // Diagnostics without a location are not combined, as nothing else would distinguish them. Neither are results of checks, each of
        // which has its own subject.
        let of_check = diagnostic.extra.as_ref().is_some_and(|extra| extra.of_check);
        if wanted && diagnostic.subject.is_some() && !of_check {
            match known.entry(sameness(diagnostic)) {
                Entry::Occupied(group) => {
                    groups[*group.get()].others.push(diagnostic);
                    continue;
                }
                Entry::Vacant(new) => drop(new.insert(groups.len())),
            }
        }
        groups.push(Group { first: diagnostic, others: Vec::new() });
    }
    groups
}

fn compact(groups: &[Group<'_>], excerpts: &Excerpts<'_>, style: Style) -> String {
    let paint = Paint::new(style);
    let mut text = format!("\n{}\n\n", paint.bold_in(YELLOW, "Warnings:"));
    for group in groups {
        let _ = writeln!(text, "- {}", visible(&group.first.summary));
        if group.first.is_about_deprecation()
            && let Some(uses) = group.uses(excerpts)
        {
            let _ = writeln!(text, "  {}", visible(&uses));
        } else if let Some((filename, line)) = excerpts.line(group.first) {
            let more = match group.others.len() {
                count if count > 0 && !group.first.is_about_deprecation() => format!(" (and {count} more)"),
                _ => String::new(),
            };
            let _ = writeln!(text, "  on {} line {line}{more}", visible(filename));
        }
    }
    text.push_str("\nTo see the full warning notes, run Yuba without -compact-warnings.\n");
    text
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use yuba_syntax::diagnostic::Extra;
    use yuba_syntax::{SourceFile, Span};

    use super::*;
    use crate::testing;

    /// `«subject»` marks the subject of a diagnostic, `‹context›` its context.
    fn diagnostic(severity: Severity, summary: &str, detail: &str, code: &str) -> (Diagnostic, Sources) {
        let mut plain = String::new();
        let mut marks = BTreeMap::new();
        for c in code.chars() {
            if "«»‹›".contains(c) {
                marks.insert(c, plain.len());
            } else {
                plain.push(c);
            }
        }
        let mut sources = Sources::new();
        let file = sources.add(SourceFile::new("main.tf", plain.into_bytes()));
        let span = |from, to| Some(Span::new(file, *marks.get(&from)?, *marks.get(&to)?));
        let mut diagnostic = testing::diagnostic(severity, summary, detail);
        diagnostic.subject = span('«', '»');
        diagnostic.context = span('‹', '›');
        (diagnostic, sources)
    }

    fn check(code: &str, expect: &Expect) {
        let (diagnostic, sources) = diagnostic(Severity::Error, "Bad example", "Do this.", code);
        expect.assert_eq(&render(&diagnostic, &Excerpts::new(&sources), Style::Plain, 78));
    }

    fn warning(summary: &str, detail: &str) -> Diagnostic {
        testing::diagnostic(Severity::Warning, summary, detail).naming(summary).about(detail)
    }

    /// Control sequences as text.
    fn shown(text: &str) -> String {
        text.replace('\x1b', "^")
    }

    #[test]
    fn the_line_of_the_subject_is_shown() {
        check(
            "a = 1\nb = «2»\nc = 3\n",
            &expect![[r#"

            Error: Bad example

              on main.tf line 2:
               2: b = 2

            Do this.
        "#]],
        );
    }

    #[test]
    fn the_context_adds_lines_and_empty_lines_count() {
        check(
            "a = ‹f(\n\n  «2»,\n)›\nc = 3\n",
            &expect![[r#"

            Error: Bad example

              on main.tf line 3:
               1: a = f(
               2: 
               3:   2,
               4: )

            Do this.
        "#]],
        );
    }

    #[test]
    fn a_subject_with_its_line_end_shows_the_next_line_too() {
        check(
            "b =« \n»}\n",
            &expect![[r#"

            Error: Bad example

              on main.tf line 1:
               1: b = 
               2: }

            Do this.
        "#]],
        );
        check(
            "b =« \n»\n}\n",
            &expect![[r#"

            Error: Bad example

              on main.tf line 1:
               1: b = 

            Do this.
        "#]],
        );
        check(
            "b =«»",
            &expect![[r#"

            Error: Bad example

              on main.tf line 1:
               1: b =

            Do this.
        "#]],
        );
        check(
            "",
            &expect![[r#"

            Error: Bad example

            Do this.
        "#]],
        );
    }

    #[test]
    fn the_block_around_the_subject_is_named() {
        check(
            "resource \"a\" \"b\\\"c\" {\n  b = «2»\n}\n",
            &expect![[r#"

            Error: Bad example

              on main.tf line 2, in resource "a" "b\"c":
               2:   b = 2

            Do this.
        "#]],
        );
        check(
            "x = 1\n«locals» {\n  b = 2\n}\n",
            &expect![[r#"

            Error: Bad example

              on main.tf line 2:
               2: locals {

            Do this.
        "#]],
        );
        check(
            "locals {\n  b =« \n»}\n",
            &expect![[r#"

            Error: Bad example

              on main.tf line 2, in locals:
               2:   b = 
               3: }

            Do this.
        "#]],
        );
        check(
            "locals {\n  b = 1\n}\nx = «2»\n",
            &expect![[r#"

            Error: Bad example

              on main.tf line 4:
               4: x = 2

            Do this.
        "#]],
        );
    }

    #[test]
    fn values_and_the_call_stand_below_the_code() {
        let (mut diagnostic, sources) = diagnostic(Severity::Error, "Bad", "Detail.", "a = «join(local.x, var.y)»\n");
        diagnostic.address = Some("aws_instance.a[0]".into());
        diagnostic.extra = Some(Box::new(Extra {
            values: vec![("var.y".into(), "is \"a\"".into()), ("local.x".into(), "is 5".into())],
            function_call: Some(FunctionCall {
                called_as: "core::join".into(),
                signature: Some("join(separator, lists...)".into()),
            }),
            ..Extra::default()
        }));
        let excerpts = Excerpts::new(&sources);
        expect![[r#"

            Error: Bad

              with aws_instance.a[0],
              on main.tf line 1:
               1: a = join(local.x, var.y)
                ├────────────────
                │ while calling core::join(separator, lists...)
                │ local.x is 5
                │ var.y is "a"

            Detail.
        "#]]
        .assert_eq(&render(&diagnostic, &excerpts, Style::Plain, 78));
        expect![[r#"
            ^[31m╷^[0m
            ^[31m│^[0m ^[1;31mError: ^[0m^[1mBad^[0m
            ^[31m│^[0m 
            ^[31m│^[0m   with aws_instance.a[0],
            ^[31m│^[0m   on main.tf line 1:
            ^[31m│^[0m    1: a = ^[4mjoin(local.x, var.y)^[0m
            ^[31m│^[0m     ^[90m├────────────────^[0m
            ^[31m│^[0m     ^[90m│^[0m while calling ^[1mcore::join^[0m(separator, lists...)
            ^[31m│^[0m     ^[90m│^[0m ^[1mlocal.x^[0m is 5
            ^[31m│^[0m     ^[90m│^[0m ^[1mvar.y^[0m is "a"
            ^[31m│^[0m 
            ^[31m│^[0m Detail.
            ^[31m╵^[0m
        "#]]
        .assert_eq(&shown(&render(&diagnostic, &excerpts, Style::Coloured, 78)));
    }

    #[test]
    fn a_difference_keeps_its_colours_and_shows_control_characters_of_values() {
        let (mut diagnostic, sources) = diagnostic(Severity::Error, "Bad", "", "a = «x == y»\n");
        let before = r#"{"a":1,"k\u001b":true,"s":"one\u001b[2J","t":"x\u001b[31m\ny\u202e"}"#;
        let after = r#"{"a":2,"k\u001b":true,"s":"two","t":"x\u001b[31m\nz\r"}"#;
        let difference = Some((before.into(), after.into()));
        diagnostic.extra = Some(Box::new(Extra { difference, ..Extra::default() }));
        let excerpts = Excerpts::new(&sources);
        expect![[r#"
            ^[31m╷^[0m
            ^[31m│^[0m ^[1;31mError: ^[0m^[1mBad^[0m
            ^[31m│^[0m 
            ^[31m│^[0m   on main.tf line 1:
            ^[31m│^[0m    1: a = ^[4mx == y^[0m
            ^[31m│^[0m     ^[90m├────────────────^[0m
            ^[31m│^[0m     ^[90m│^[0m ^[1mDiff: ^[0m
            ^[31m│^[0m     ^[90m│^[0m     {
            ^[31m│^[0m     ^[90m│^[0m       ^[33m~^[0m a       = 1 ^[33m->^[0m 2
            ^[31m│^[0m     ^[90m│^[0m       ^[33m~^[0m s       = "one\x1b[2J" ^[33m->^[0m "two"
            ^[31m│^[0m     ^[90m│^[0m       ^[33m~^[0m t       = <<-EOT
            ^[31m│^[0m     ^[90m│^[0m             x␛[31m
            ^[31m│^[0m     ^[90m│^[0m           ^[31m-^[0m y�
            ^[31m│^[0m     ^[90m│^[0m           ^[32m+^[0m z
            ^[31m│^[0m     ^[90m│^[0m         EOT
            ^[31m│^[0m     ^[90m│^[0m         ^[90m# (1 unchanged attribute hidden)^[0m
            ^[31m│^[0m     ^[90m│^[0m     }
            ^[31m│^[0m 
            ^[31m╵^[0m
        "#]]
        .assert_eq(&shown(&render(&diagnostic, &excerpts, Style::Coloured, 78)));
        let plain = render(&diagnostic, &excerpts, Style::Plain, 78);
        assert!(!plain.contains(is_control_but_line_end), "{plain:?}");
    }

    fn is_control_but_line_end(c: char) -> bool {
        is_control(c) && c != '\n'
    }

    #[test]
    fn details_are_wrapped_but_preformatted_lines_are_not() {
        let detail = "This sentence is longer than one line.\n\n  this line stays as long as it is\nEnd.";
        let (diagnostic, sources) = diagnostic(Severity::Warning, "Long", detail, "");
        let excerpts = Excerpts::new(&sources);
        expect![[r#"

            Warning: Long

            This sentence is
            longer than one line.

              this line stays as long as it is
            End.
        "#]]
        .assert_eq(&render(&diagnostic, &excerpts, Style::Plain, 22));
        expect![[r#"
            ^[33m╷^[0m
            ^[33m│^[0m ^[1;33mWarning: ^[0m^[1mLong^[0m
            ^[33m│^[0m 
            ^[33m│^[0m This sentence is
            ^[33m│^[0m longer than one
            ^[33m│^[0m line.
            ^[33m│^[0m 
            ^[33m│^[0m   this line stays as long as it is
            ^[33m│^[0m End.
            ^[33m╵^[0m
        "#]]
        .assert_eq(&shown(&render(&diagnostic, &excerpts, Style::Coloured, 22)));
    }

    #[test]
    fn control_characters_become_visible() {
        check(
            "a = «\"\u{1b}[31m\u{9b}\u{202e}\"» # \r x\r\n",
            &expect![[r#"

            Error: Bad example

              on main.tf line 1:
               1: a = "␛[31m��" # ␍ x

            Do this.
        "#]],
        );
        assert_eq!(visible("a\tb\r\nc\x07"), "a\tb\nc␇");
    }

    #[test]
    fn very_long_lines_are_cut_around_the_highlight() {
        let code = format!("{}«x»{}", "a".repeat(10_000), "b".repeat(10_000));
        let (diagnostic, sources) = diagnostic(Severity::Error, "Bad", "", &code);
        let text = render(&diagnostic, &Excerpts::new(&sources), Style::Plain, 78);
        assert!(text.contains("aaaxbbb") && text.len() < 1200, "{text}");
    }

    #[test]
    fn warnings_come_first_and_equal_ones_as_one() {
        let mut all = Diagnostics::new();
        let mut sources = Sources::new();
        let file = sources.add(SourceFile::new("a.tf", &b"x\ny\nz\n"[..]));
        for start in [4, 0, 2] {
            all.push(warning("Old", "Use new.").at(Span::new(file, start, start + 1)));
        }
        let show = |all: &Diagnostics, options: Options| {
            let rendered = render_all(all, &sources, Style::Plain, 78, &options);
            rendered.into_iter().map(|(_, text)| text).collect::<String>()
        };
        let compact = Options { compact_warnings: true, ..Options::default() };
        expect![[r#"

            Warnings:

            - Old
              on a.tf line 1 (and 2 more)

            To see the full warning notes, run Yuba without -compact-warnings.
        "#]]
        .assert_eq(&show(&all, compact));
        all.push(testing::diagnostic(Severity::Error, "Broken", "").at(Span::new(file, 0, 1)));
        expect![[r#"

            Warning: Old

              on a.tf line 1:
               1: x

            Use new.

            (and 2 more similar warnings elsewhere)

            Error: Broken

              on a.tf line 1:
               1: x

        "#]]
        .assert_eq(&show(&all, compact));
        let other = warning("Old", "Use newer.").at(Span::new(file, 0, 1));
        let other_code = Diagnostic { code: &testing::OTHER_CODE, ..warning("Old", "Use new.") };
        for (other, shown) in [(other, 2), (other_code.at(Span::new(file, 0, 1)), 2)] {
            let mut both = all.clone();
            both.push(other);
            assert_eq!(show(&both, Options::default()).matches("Warning: Old").count(), shown);
        }
        let argument = warning("Old", "Use new.").about("b").at(Span::new(file, 0, 1));
        let rewritten = Diagnostic { detail: "Use the new one.".into(), ..warning("Old", "Use new.") };
        for (other, shown) in [(argument, 2), (rewritten.at(Span::new(file, 0, 1)), 1)] {
            let mut both = all.clone();
            both.push(other);
            assert_eq!(show(&both, Options::default()).matches("Warning: Old").count(), shown);
        }
        let apart = Options { consolidate_warnings: false, ..Options::default() };
        assert_eq!(show(&all, apart).matches("Warning: Old").count(), 3);
        for _ in 0..2 * MAX_SHOWN {
            all.push(warning("Many", ""));
        }
        let many = render_all(&all, &sources, Style::Plain, 78, &Options::default());
        assert_eq!(many.len(), MAX_SHOWN + 1);
        assert!(many[MAX_SHOWN - 1].1.contains("Error: Broken"));
        assert_eq!(many[MAX_SHOWN].1, format!("\n({} more diagnostics are not shown)\n", MAX_SHOWN + 2));
    }
}
