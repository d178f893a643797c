//! The `language` block, and the versions of the language that a module is made for.

use std::sync::LazyLock;

use ecow::EcoString;
use yuba_addrs::{Feature, FeatureState, Version, VersionConstraints};
use yuba_syntax::{Attribute, Block, BodySchema, Diagnostic, Diagnostics, Expr, Severity, Span};
use yuba_value::convert::convert;
use yuba_value::{Type, Value};

use crate::constant::Decoding;
use crate::diagnostics;
use crate::file::{FileKind, ParsedConfigFile, is_tofu_only};
use crate::schema::schema;
use crate::terraform::CoreVersion;

/// The version of the language that Yuba supports.
pub const LANGUAGE_VERSION: &str = "1.12.6";

/// The only edition of the language.
pub const EDITION: &str = "tofu2024";

/// The `language` block.
#[derive(Clone, Debug, Default)]
pub struct Language {
    /// `edition`
    pub edition: Option<(EcoString, Span)>,
    /// `compatible_with { opentofu = ... }`
    pub compatible_with: Option<(EcoString, Span)>,
    /// Experiments that `experiments` turns on.
    pub experiments: Vec<(Feature, Span)>,
}

static SCHEMA: LazyLock<BodySchema> =
    LazyLock::new(|| schema(&[], &["edition", "experiments"], &[("compatible_with", &[])]));
static COMPATIBLE_WITH: LazyLock<BodySchema> = LazyLock::new(|| schema(&[], &["opentofu"], &[]));
static SNIFF_FILE: LazyLock<BodySchema> = LazyLock::new(|| schema(&[], &[], &[("terraform", &[]), ("language", &[])]));
static SNIFF_LANGUAGE: LazyLock<BodySchema> = LazyLock::new(|| schema(&[], &[], &[("compatible_with", &[])]));
static SNIFF_TERRAFORM: LazyLock<BodySchema> = LazyLock::new(|| schema(&[], &["required_version"], &[]));

/// A version constraint as written.
pub(crate) struct Constraint {
    /// The text; empty where the value is null.
    pub(crate) text: EcoString,
    /// None where the value is null: every version is allowed.
    pub(crate) constraints: Option<VersionConstraints>,
    /// All of the argument.
    pub(crate) span: Span,
}

/// Reads an argument that is a version constraint. An absent one (null) allows every version.
pub(crate) fn version_constraint(
    attribute: &Attribute,
    decoding: &Decoding<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Constraint> {
    let value = decoding.value(&attribute.expr, diagnostics)?;
    constraint_of_value(attribute, &value, diagnostics)
}

fn constraint_of_value(attribute: &Attribute, value: &Value, diagnostics: &mut Diagnostics) -> Option<Constraint> {
    let Ok(value) = convert(value, &Type::string()) else {
        diagnostics.push(diagnostics::version_not_string(&attribute.name, attribute.expr.span));
        return None;
    };
    let Some(text) = value.as_str() else {
        return Some(Constraint { text: "".into(), constraints: None, span: attribute.span });
    };
    match VersionConstraints::parse(text) {
        Ok(constraints) => {
            Some(Constraint { text: text.clone(), constraints: Some(constraints), span: attribute.span })
        }
        Err(error) => {
            diagnostics.push(diagnostics::version_syntax(&error, attribute.expr.span));
            None
        }
    }
}

/// Version settings of a file.
#[derive(Default)]
pub(crate) struct VersionCheck {
    /// Constraints on this program's language version.
    pub(crate) versions: Vec<CoreVersion>,
    /// The file is not for this version; then nothing else about the module is worth saying.
    pub(crate) incompatible: Diagnostics,
}

/// Checks the constraints on the language version, looking at as little as possible of a file that may be written in a
/// later language. `required_version` counts in files that are for OpenTofu only; in other files it applies to another tool.
pub(crate) fn check_versions(
    parsed: &ParsedConfigFile,
    decoding: &Decoding<'_>,
    diagnostics: &mut Diagnostics,
) -> VersionCheck {
    let mut check = VersionCheck::default();
    let tofu_only = is_tofu_only(&parsed.name);
    let (content, problems) = parsed.body.known_content(&SNIFF_FILE);
    diagnostics.extend(problems);
    for block in &content.blocks {
        if block.kind == "language" {
            let (content, problems) = block.body.known_content(&SNIFF_LANGUAGE);
            diagnostics.extend(problems);
            for nested in content.blocks_of("compatible_with") {
                let constraint = compatible_with(nested, decoding, diagnostics);
                check.add(constraint, diagnostics);
            }
        } else if tofu_only {
            let (content, problems) = block.body.known_content(&SNIFF_TERRAFORM);
            diagnostics.extend(problems);
            if let Some(attribute) = content.attribute("required_version") {
                let constraint = version_constraint(attribute, decoding, diagnostics);
                check.add(constraint, diagnostics);
            }
        }
    }
    check
}

impl VersionCheck {
    fn add(&mut self, constraint: Option<Constraint>, diagnostics: &mut Diagnostics) {
        let Some(Constraint { text, constraints: Some(constraints), span }) = constraint else { return };
        let mut allowed = true;
        for prerelease in constraints.prereleases() {
            diagnostics.push(diagnostics::prerelease_constraint(prerelease, span));
            allowed = false;
        }
        let version = Version::parse(LANGUAGE_VERSION).expect("because the constant is a version");
        if allowed && !constraints.allows(&version) {
            self.incompatible.push(diagnostics::incompatible_module(LANGUAGE_VERSION, span));
        }
        self.versions.push(CoreVersion { text, span });
    }
}

/// The constraint of a `compatible_with` block. Other tools may define arguments of their own in it.
fn compatible_with(block: &Block, decoding: &Decoding<'_>, diagnostics: &mut Diagnostics) -> Option<Constraint> {
    let (content, problems) = block.body.known_content(&COMPATIBLE_WITH);
    diagnostics.extend(problems);
    version_constraint(content.attribute("opentofu")?, decoding, diagnostics)
}

/// Decodes a `language` block. Whether the version fits was asked before.
pub(crate) fn decode(block: &Block, kind: FileKind, decoding: &Decoding<'_>) -> (Language, Diagnostics) {
    let mut language = Language::default();
    if kind == FileKind::Override {
        return (language, diagnostics::language_in_override(block.header_span).into());
    }
    let (content, mut diagnostics) = block.body.content(&SCHEMA);
    if let Some(attribute) = content.attribute("edition") {
        let expr = &attribute.expr;
        match expr.as_keyword() {
            Some(edition) if edition == EDITION => language.edition = Some((edition, expr.span)),
            Some(edition) => diagnostics.push(diagnostics::unsupported_edition(&edition, expr.span)),
            None => diagnostics.push(diagnostics::invalid_edition(expr.span)),
        }
    }
    if let Some(attribute) = content.attribute("experiments") {
        language.experiments = experiments(&attribute.expr, AskedIn::Language, &mut diagnostics);
    }
    for nested in content.blocks_of("compatible_with") {
        if let Some((_, first)) = &language.compatible_with {
            let first = decoding.location(*first);
            diagnostics.push(diagnostics::duplicate_compatible_with(&first, block.header_span));
            continue;
        }
        let Some(constraint) = compatible_with(nested, decoding, &mut diagnostics) else { continue };
        let before = Version::parse("1.11.0").expect("because the constant is a version");
        if constraint.constraints.as_ref().is_none_or(|constraints| constraints.allows(&before)) {
            diagnostics.push(diagnostics::ineffective_constraint(constraint.span));
        }
        language.compatible_with = Some((constraint.text, constraint.span));
    }
    (language, diagnostics)
}

/// The block whose `experiments` are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskedIn {
    /// `language`, which only this language has.
    Language,
    /// `terraform`, where published modules list keywords of other tools too.
    Terraform,
}

/// Reads the keywords of experiments. Keywords that are not experiments now are errors, except those that another tool
/// may define.
pub(crate) fn experiments(expr: &Expr, asked: AskedIn, diagnostics: &mut Diagnostics) -> Vec<(Feature, Span)> {
    let mut active = Vec::new();
    let mut refuse = |problem: Diagnostic, mistake: bool| {
        let severity = if mistake || asked == AskedIn::Language { problem.severity } else { Severity::Warning };
        diagnostics.push(problem.with_severity(severity));
    };
    let Some(items) = expr.as_list() else {
        refuse(diagnostics::list_expected(expr), false);
        return active;
    };
    for item in items {
        let Some(keyword) = item.as_keyword() else {
            refuse(diagnostics::experiment_not_keyword(item.span), false);
            continue;
        };
        match Feature::from_keyword(&keyword) {
            Some(row) if row.state == FeatureState::ActiveExperiment => active.push((row.feature, item.span)),
            Some(row) => refuse(diagnostics::experiment_concluded(row, item.span), true),
            None => refuse(diagnostics::unknown_experiment(&keyword, item.span), false),
        }
    }
    active
}

#[cfg(test)]
mod tests {
    use crate::testing::check_each;

    #[test]
    fn required_version_counts_in_tofu_files() {
        check_each(
            "main.tofu",
            "terraform {\n*\n}",
            &[
                (r#"required_version = "1""#, "2:1 Incompatible module"),
                (r#"required_version = "x""#, "2:20 Invalid version constraint"),
                (r#"required_version = ">= 1.0""#, ""),
                ("required_version = 1", "2:1 Incompatible module"),
                ("required_version = null", ""),
                ("required_version=foo", "2:18 Variables not allowed"),
                (r#"required_version="1.0-beta""#, "2:1 Invalid required_version constraint"),
                (r#"required_version=">= 1.13.0-beta1""#, "2:1 Invalid required_version constraint"),
                (r#"required_version="~> 1.12.0""#, ""),
                ("required_version=\"> 99\"\n foo=1", "2:1 Incompatible module"),
                (r#"required_version=["1"]"#, "2:18 Invalid version constraint"),
            ],
        );
    }

    #[test]
    fn required_version_means_nothing_in_tf_files() {
        check_each(
            "main.tf",
            "terraform {\n*\n}",
            &[(r#"required_version = "x""#, ""), (r#"required_version="> 99""#, "")],
        );
    }

    #[test]
    fn the_language_block() {
        check_each(
            "main.tf",
            "language {\n*\n}",
            &[
                ("", ""),
                ("edition = tofu2024", ""),
                (r#"edition = "tofu2024""#, "2:11 Invalid language edition"),
                ("edition = foo", "2:11 Unsupported language edition"),
                ("edition = tofu2025", "2:11 Unsupported language edition"),
                ("edition=TF2021", "2:9 Unsupported language edition"),
                ("edition=1", "2:9 Invalid language edition"),
                ("edition=a.b", "2:9 Invalid language edition"),
                ("experiments=[foo]", "2:14 Unknown experiment keyword"),
                ("experiments=[]", ""),
                ("experiments=foo", "2:13 Invalid expression"),
                (r#"experiments=["foo"]"#, "2:14 Invalid experiment keyword"),
                ("experiments=[a.b,1]", "2:14 Invalid experiment keyword; 2:18 Invalid experiment keyword"),
                ("foo=1", "2:1 Unsupported argument"),
                ("foo {}", "2:1 Unsupported block type"),
                ("compatible_with {}", ""),
                ("compatible_with {\n opentofu=\">= 1.12\"\n}", ""),
                ("compatible_with {\n opentofu=\">= 1.0\"\n}", "(3:2 Ineffective version constraint)"),
                ("compatible_with {\n opentofu=\"> 99\"\n}\n foo=1", "3:2 Incompatible module"),
                (
                    "compatible_with {\n opentofu=\"x\"\n}",
                    "3:11 Invalid version constraint; 3:11 Invalid version constraint",
                ),
                ("compatible_with {\n opentofu=1\n}", "3:2 Incompatible module"),
                ("compatible_with {\n opentofu=foo\n}", "3:11 Variables not allowed; 3:11 Variables not allowed"),
                (
                    "compatible_with {\n opentofu=\">= 1.12\"\n}\n compatible_with {\n opentofu=\">= 1.12\"\n}",
                    "1:1 Duplicate compatible_with block",
                ),
                (
                    r#"compatible_with "x" {}"#,
                    "2:17 Extraneous label for compatible_with; 2:17 Extraneous label for compatible_with",
                ),
                ("compatible_with {\n foo=1\n x {}\n opentofu=\">= 1.12\"\n}", ""),
                ("compatible_with {\n opentofu=\">=1.13.0-beta\"\n}", "3:2 Invalid required_version constraint"),
                ("edition=tofu2024\n edition=x", "3:2 Attribute redefined"),
            ],
        );
    }

    #[test]
    fn experiments() {
        check_each(
            "main.tf",
            "language {\n experiments = [*]\n}",
            &[
                ("dynamic_provider_for_each", "(2:17 Experimental feature is active)"),
                ("provider_collections, dynamic_provider_for_each", "(2:17 Experimental feature is active)"),
                ("symbol_libraries", "2:17 Experiment has concluded"),
                ("smoke_tests", "2:17 Experiment has concluded"),
                ("provider_colections", "2:17 Unknown experiment keyword"),
                (r#""provider_collections""#, "2:17 Invalid experiment keyword"),
                (
                    "provider_collections, nope",
                    "2:39 Unknown experiment keyword; (2:17 Experimental feature is active)",
                ),
            ],
        );
    }
}
