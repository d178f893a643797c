//! Errors and warnings as data: collected while work goes on, rendered by `view`.
//!
//! The identity of a diagnostic is its [`Code`], declared once in the catalogue of a crate ([`catalogue!`](crate::catalogue)).
//! Codes and typed extras decide what callers do with a diagnostic. Its strings are for people only.

use std::fmt;

use ecow::{EcoString, eco_format};

use crate::Span;

/// Whether the operation can succeed in spite of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The operation fails.
    Error,
    /// The operation goes on.
    Warning,
}

/// The identity of one kind of diagnostic. Rows of a catalogue are the only values of this type.
#[derive(Debug)]
pub struct Code {
    /// Stable name in kebab case, unique across all catalogues: `provider-instance-not-declared`.
    pub id: &'static str,
    /// The severity unless a caller changes it.
    pub severity: Severity,
    /// The title, as OpenTofu prints it. Parts in braces stand for values: the constructor sets the full title.
    pub summary: &'static str,
    /// One sentence about when the diagnostic occurs, for `docs/diagnostics.md`.
    pub meaning: &'static str,
}

impl PartialEq for Code {
    fn eq(&self, other: &Code) -> bool {
        self.id == other.id
    }
}
impl Eq for Code {}

/// Declares the diagnostics of a crate or a part of it, one row for each code:
///
/// ```
/// yuba_syntax::catalogue! {
///     /// A file contains the same argument twice in one block.
///     ARGUMENT_REDEFINED = error "argument-redefined", "Attribute redefined";
///     /// A reference is written in quotes, as old versions of the language required.
///     pub QUOTED_REFERENCE = warning "quoted-reference", "Quoted references are deprecated";
/// }
/// assert_eq!(ARGUMENT_REDEFINED.id, "argument-redefined");
/// ```
///
/// A row is `pub(crate)` unless it starts with `pub`. The doc comment is the meaning of the code in `docs/diagnostics.md`.
#[macro_export]
macro_rules! catalogue {
    () => {};
    ($(#[doc = $meaning:literal])+ pub $name:ident = $severity:ident $id:literal, $summary:literal; $($rest:tt)*) => {
        $crate::catalogue!(@row [pub] $($meaning)+, $name, $severity, $id, $summary);
        $crate::catalogue!($($rest)*);
    };
    ($(#[doc = $meaning:literal])+ $name:ident = $severity:ident $id:literal, $summary:literal; $($rest:tt)*) => {
        $crate::catalogue!(@row [pub(crate)] $($meaning)+, $name, $severity, $id, $summary);
        $crate::catalogue!($($rest)*);
    };
    (@row [$($visibility:tt)+] $($meaning:literal)+, $name:ident, $severity:ident, $id:literal, $summary:literal) => {
        $(#[doc = $meaning])+
        $($visibility)+ static $name: $crate::Code = $crate::Code {
            id: $id,
            severity: $crate::catalogue!(@severity $severity),
            summary: $summary,
            meaning: concat!($($meaning),+),
        };
    };
    (@severity error) => { $crate::Severity::Error };
    (@severity warning) => { $crate::Severity::Warning };
}

/// One error or warning.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Its identity.
    pub code: &'static Code,
    /// The severity of this one.
    pub severity: Severity,
    /// The title, a phrase without full stop.
    pub summary: EcoString,
    /// The failure and its reason, in full sentences.
    pub detail: EcoString,
    /// Advice: one imperative sentence. Renderings print it after the detail.
    pub hint: Option<EcoString>,
    /// The exact location.
    pub subject: Option<Span>,
    /// A wider range that helps to understand the subject.
    pub context: Option<Span>,
    /// The object this is about, as an address (`with aws_instance.a,`).
    pub address: Option<EcoString>,
    /// Additional data. Boxed: most diagnostics do not have it.
    pub extra: Option<Box<Extra>>,
}

/// The values in a title and a detail, for callers that compare diagnostics. The strings themselves are for people only.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DiagnosticArguments {
    /// Values in the title.
    pub title: Vec<EcoString>,
    /// Values in the detail which are not in the title.
    pub detail: Vec<EcoString>,
}

impl DiagnosticArguments {
    const NONE: &'static DiagnosticArguments = &DiagnosticArguments { title: Vec::new(), detail: Vec::new() };
}

/// Additional data: the values it is about, and details of a failed evaluation.
#[derive(Clone, Debug, Default)]
pub struct Extra {
    /// The values that distinguish it from other diagnostics with its code.
    pub arguments: DiagnosticArguments,
    /// References in the failing expression and what they held: `("local.x", "is 5")`. Never shows sensitive content.
    pub values: Vec<(EcoString, EcoString)>,
    /// The function whose call failed.
    pub function_call: Option<FunctionCall>,
    /// An unknown value caused it.
    pub caused_by_unknown: bool,
    /// A sensitive value caused it.
    pub caused_by_sensitive: bool,
    /// Both sides of a failed comparison, as JSON.
    pub difference: Option<(EcoString, EcoString)>,
    /// It is the result of a `check` block.
    pub of_check: bool,
    /// It reports a failed assertion of a `check` block.
    pub failed_assertion: bool,
    /// The address of the object whose condition failed or is not known yet.
    pub condition_of: Option<EcoString>,
    /// It was an error before the `check` block around it made it a warning.
    pub was_error: bool,
    /// The first definition of an argument that is defined again. Renderings print its location.
    pub first_definition: Option<Span>,
    /// It applies only if the value of an `enabled` argument is true, which planning knows.
    pub depends_on_enabled: bool,
    /// A file is encrypted and the configuration does not set up encryption.
    pub lacks_encryption: bool,
    /// The deprecated object whose use it reports.
    pub deprecation: Option<DeprecatedUse>,
}

/// The use of a deprecated object. Settings select which of these uses are reported.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeprecatedUse {
    /// The address of the deprecated output, variable or attribute.
    pub source: EcoString,
    /// Identifies the declaration where several addresses lead to it, such as a variable of a module that is called twice.
    pub origin: EcoString,
    /// Whether a variable is set or a value is read.
    pub kind: DeprecatedKind,
    /// The deprecation message of its author.
    pub message: EcoString,
    /// It belongs to a module with a remote source.
    pub remote: bool,
    /// All modules on the path to the use have local sources, so the user can fix it in this working copy.
    pub fixable_here: bool,
}

/// The way in which a deprecated object is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeprecatedKind {
    /// A variable is set.
    Variable,
    /// A value is read: an output or an attribute.
    Value,
}

/// The function whose call failed, for the snippet's footer and for tools.
#[derive(Clone, Debug)]
pub struct FunctionCall {
    /// The name as written.
    pub called_as: EcoString,
    /// The signature: `join(separator, lists...)`.
    pub signature: Option<EcoString>,
}

impl Diagnostic {
    /// Whether it applies only if the value of an `enabled` argument is true.
    pub fn depends_on_enabled(&self) -> bool {
        self.extra.as_ref().is_some_and(|extra| extra.depends_on_enabled)
    }
    /// The deprecated object whose use it reports.
    pub fn deprecation(&self) -> Option<&DeprecatedUse> {
        self.extra.as_ref()?.deprecation.as_ref()
    }
    /// With the deprecated object whose use it reports.
    #[must_use]
    pub fn of_use(mut self, deprecation: DeprecatedUse) -> Diagnostic {
        self.extra.get_or_insert_default().deprecation = Some(deprecation);
        self
    }
    /// Whether it reports the use of a deprecated object.
    pub fn is_about_deprecation(&self) -> bool {
        self.deprecation().is_some()
    }
    /// Whether it reports a value for a deprecated variable.
    pub fn is_about_deprecated_variable(&self) -> bool {
        self.deprecation().is_some_and(|used| used.kind == DeprecatedKind::Variable)
    }
    /// A diagnostic with the severity and the title of its code, without a location.
    pub fn new(code: &'static Code, detail: impl Into<EcoString>) -> Diagnostic {
        Diagnostic::with_detail(code, detail.into())
    }
    /// Cold: the compiler moves the code that only reports an error away from the code that every run executes, so that
    /// a run maps fewer pages of the executable.
    #[cold]
    #[inline(never)]
    fn with_detail(code: &'static Code, detail: EcoString) -> Diagnostic {
        Diagnostic {
            code,
            severity: code.severity,
            summary: code.summary.into(),
            detail,
            hint: None,
            subject: None,
            context: None,
            address: None,
            extra: None,
        }
    }
    /// With a title that contains values ([`Diagnostic::naming`]). The summary of the code shows its form.
    #[must_use]
    pub fn titled(mut self, summary: impl Into<EcoString>) -> Diagnostic {
        self.summary = summary.into();
        self
    }
    /// With a value in its title that distinguishes it from other diagnostics with its code.
    #[must_use]
    pub fn naming(mut self, argument: impl fmt::Display) -> Diagnostic {
        self.extra.get_or_insert_default().arguments.title.push(eco_format!("{argument}"));
        self
    }
    /// With a value in its detail that distinguishes it from other diagnostics with its code.
    #[must_use]
    pub fn about(mut self, argument: impl fmt::Display) -> Diagnostic {
        self.extra.get_or_insert_default().arguments.detail.push(eco_format!("{argument}"));
        self
    }
    /// The values that distinguish it from other diagnostics with its code.
    pub fn arguments(&self) -> &DiagnosticArguments {
        self.extra.as_ref().map_or(DiagnosticArguments::NONE, |extra| &extra.arguments)
    }
    /// With another severity than its code has.
    #[must_use]
    pub fn with_severity(mut self, severity: Severity) -> Diagnostic {
        self.severity = severity;
        self
    }
    /// With one imperative sentence that says what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<EcoString>) -> Diagnostic {
        self.hint = Some(hint.into()).filter(|hint| !hint.is_empty());
        self
    }
    /// Whether it has this code.
    pub fn is(&self, code: &Code) -> bool {
        self.code == code
    }
    /// Detail and hint as one string, as renderings print it: in one paragraph, unless the detail has several lines.
    pub fn explanation(&self) -> EcoString {
        match &self.hint {
            None => self.detail.clone(),
            Some(hint) if self.detail.is_empty() => hint.clone(),
            Some(hint) if self.detail.lines().nth(1).is_some() => eco_format!("{}\n\n{hint}", self.detail),
            Some(hint) => eco_format!("{} {hint}", self.detail),
        }
    }
    /// At this location, if there is one.
    #[must_use]
    pub fn at(mut self, subject: impl Into<Option<Span>>) -> Diagnostic {
        self.subject = subject.into().or(self.subject);
        self
    }
    /// With a wider range around its location.
    #[must_use]
    pub fn within(mut self, context: Span) -> Diagnostic {
        self.context = Some(context);
        self
    }
    /// With the location of the first definition of an argument that is defined again.
    #[must_use]
    pub fn after(mut self, first: Span) -> Diagnostic {
        self.extra.get_or_insert_default().first_definition = Some(first);
        self
    }
    /// Equal for diagnostics that repeat each other, for sets of those already reported: same code, location and arguments. The address of the instance is not a
    /// part of it: instances share a block.
    pub fn key(&self) -> DiagnosticKey {
        DiagnosticKey {
            code: self.code.id,
            subject: self.subject,
            arguments: self.arguments().clone(),
            deprecation: self.deprecation().cloned(),
        }
    }
    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// The identity of one reported diagnostic ([`Diagnostic::key`]).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DiagnosticKey {
    code: &'static str,
    subject: Option<Span>,
    arguments: DiagnosticArguments,
    deprecation: Option<DeprecatedUse>,
}

/// Diagnostics in the order they were found.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// An empty collection.
    pub fn new() -> Diagnostics {
        Diagnostics::default()
    }
    /// Adds a diagnostic.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }
    /// Adds all diagnostics of another collection.
    pub fn extend(&mut self, other: impl IntoIterator<Item = Diagnostic>) {
        self.0.extend(other);
    }
    /// Whether it contains an error.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(Diagnostic::is_error)
    }
    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// Number of diagnostics.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// All errors as one string, for messages that can contain only one.
    pub fn joined(&self) -> String {
        let one = |problem: &Diagnostic| match problem.explanation() {
            detail if detail.is_empty() => problem.summary.to_string(),
            detail => format!("{}: {detail}", problem.summary),
        };
        let mut errors = self.0.iter().filter(|problem| problem.is_error());
        match errors.clone().count() {
            0 | 1 => errors.next().map(one).unwrap_or_default(),
            count => {
                let lines: String = errors.map(|problem| format!("\n- {}", one(problem))).collect();
                format!("{count} problems:\n{lines}")
            }
        }
    }
    /// Removes the diagnostics for which `wanted` is false.
    pub fn retain(&mut self, wanted: impl FnMut(&Diagnostic) -> bool) {
        self.0.retain(wanted);
    }
    /// The diagnostics in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }
}
impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Diagnostics {
        Diagnostics(vec![diagnostic])
    }
}

#[cfg(test)]
mod tests {
    use super::{Code, DeprecatedKind, DeprecatedUse, Diagnostic, Severity};
    use crate::{FileId, Span};

    const fn code(id: &'static str) -> Code {
        Code { id, severity: Severity::Error, summary: "One", meaning: "" }
    }
    static ONE: Code = code("one");
    static OTHER: Code = code("other");

    #[test]
    fn code_location_and_arguments_identify_a_diagnostic() {
        let at = Span::new(FileId(0), 1, 2);
        let one = || Diagnostic::new(&ONE, "Detail.").titled("Title of a").naming("a").about("b").at(at);
        let mut elsewhere = one();
        elsewhere.address = Some("x.y[0]".into());
        elsewhere.detail = "The same in other words.".into();
        elsewhere.summary = "Other title".into();
        assert_eq!(one().key(), elsewhere.hint("Do something.").key(), "strings and addresses are ignored");
        let used = DeprecatedUse {
            source: "var.a".into(),
            origin: "var.a".into(),
            kind: DeprecatedKind::Value,
            message: "".into(),
            remote: false,
            fixable_here: true,
        };
        let others = [
            Diagnostic { code: &OTHER, ..one() },
            one().at(Span::new(FileId(0), 1, 3)),
            one().naming("c"),
            one().about("c"),
            one().of_use(used),
            Diagnostic::new(&ONE, "Detail.").titled("Title of a").at(at),
        ];
        for other in others {
            assert_ne!(one().key(), other.key(), "{other:?}");
        }
    }
}
