//! `run` blocks.

use std::sync::LazyLock;

use ecow::EcoString;
use yuba_addrs::{ModuleSource, Reference, Subject};
use yuba_syntax::lexer::is_identifier;
use yuba_syntax::{Attribute, Block, BodySchema, Diagnostics, Span, Traversal};

use super::mock::{self, OverrideModule, OverrideResource};
use super::{VariablesBlock, variables};
use crate::check::{self, CheckRule};
use crate::constant::Decoding;
use crate::depends_on;
use crate::diagnostics::{blocks, tests as diagnostics};
use crate::file::FileKind;
use crate::language::version_constraint;
use crate::module::Module;
use crate::module_call::{Collections, PassedProvider, check_collections, decode_providers};
use crate::quoted::Syntax;
use crate::schema::schema;

/// A `run` block.
#[derive(Clone, Debug)]
pub struct TestRun {
    /// The label.
    pub name: EcoString,
    /// `command`
    pub command: TestCommand,
    /// The `plan_options` block.
    pub options: PlanOptions,
    /// The `variables` block.
    pub variables: Option<VariablesBlock>,
    /// `providers`: what the tested module calls them, and what they are in the test file.
    pub providers: Vec<PassedProvider>,
    /// `assert` blocks.
    pub asserts: Vec<CheckRule>,
    /// The `module` block: what is tested instead of the module the file belongs to.
    pub module: Option<TestModule>,
    /// `expect_failures`
    pub expect_failures: Vec<Traversal>,
    /// `override_resource` and `override_data` blocks.
    pub override_resources: Vec<OverrideResource>,
    /// `override_module` blocks.
    pub override_modules: Vec<OverrideModule>,
    /// The block's header.
    pub span: Span,
    /// The label.
    pub name_span: Span,
}

/// Command of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TestCommand {
    /// Plan and apply.
    #[default]
    Apply,
    /// Only plan.
    Plan,
}

/// Planning options of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanMode {
    /// Make reality like the configuration.
    #[default]
    Normal,
    /// Only look at reality.
    RefreshOnly,
}

/// A `plan_options` block.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// `mode`
    pub mode: PlanMode,
    /// `refresh`
    pub refresh: bool,
    /// `replace`
    pub replace: Vec<Traversal>,
    /// `target`
    pub target: Vec<Traversal>,
    /// The block's header, if there is one.
    pub span: Option<Span>,
}

/// A `module` block.
#[derive(Clone, Debug)]
pub struct TestModule {
    /// `source`
    pub source: ModuleSource,
    /// `version`
    pub version: Option<(EcoString, Span)>,
    /// The block's header.
    pub span: Span,
    /// All of the `source` argument.
    pub source_span: Span,
}

impl Default for PlanOptions {
    fn default() -> PlanOptions {
        PlanOptions { mode: PlanMode::Normal, refresh: true, replace: Vec::new(), target: Vec::new(), span: None }
    }
}

static SCHEMA: LazyLock<BodySchema> = LazyLock::new(|| {
    let blocks: [(&str, &[&str]); 7] = [
        ("plan_options", &[]),
        ("assert", &[]),
        ("variables", &[]),
        ("module", &[]),
        ("override_resource", &[]),
        ("override_data", &[]),
        ("override_module", &[]),
    ];
    schema(&[], &["command", "providers", "expect_failures"], &blocks)
});
static PLAN_OPTIONS: LazyLock<BodySchema> =
    LazyLock::new(|| schema(&[], &["mode", "refresh", "replace", "target"], &[]));
static MODULE: LazyLock<BodySchema> = LazyLock::new(|| schema(&[], &["source", "version"], &[]));

/// Decodes a block with one label.
pub(super) fn decode(block: &Block, with: &Decoding<'_>) -> (Option<TestRun>, Diagnostics) {
    let [(name, name_span)] = block.labels.as_slice() else { return (None, Diagnostics::new()) };
    let (content, mut problems) = block.body.content(&SCHEMA);
    if !is_identifier(name) {
        problems.push(crate::diagnostics::invalid_name("run block", name, *name_span));
    }
    let mut run = TestRun {
        name: name.clone(),
        command: TestCommand::Apply,
        options: PlanOptions::default(),
        variables: None,
        providers: Vec::new(),
        asserts: Vec::new(),
        module: None,
        expect_failures: Vec::new(),
        override_resources: Vec::new(),
        override_modules: Vec::new(),
        span: block.header_span,
        name_span: *name_span,
    };
    for inner in &content.blocks {
        decode_inner(inner, &mut run, with, &mut problems);
    }
    if let Some(attribute) = content.attribute("command") {
        match attribute.expr.as_keyword().as_deref() {
            Some("apply") => {}
            Some("plan") => run.command = TestCommand::Plan,
            _ => problems.push(blocks::invalid_keyword("command", "apply, plan", attribute.expr.span)),
        }
    }
    if let Some(attribute) = content.attribute("providers") {
        run.providers = decode_providers(attribute, Syntax::of(&block.body), with, &mut problems);
        problems.extend(check_collections(&run.providers, Collections::Refused));
    }
    run.expect_failures = references(content.attribute("expect_failures"), &mut problems);
    (Some(run), problems)
}

fn decode_inner(block: &Block, run: &mut TestRun, with: &Decoding<'_>, problems: &mut Diagnostics) {
    let at = block.header_span;
    match block.kind.as_str() {
        "assert" => {
            let (rule, found) = check::decode_rule(block, FileKind::Primary);
            run.asserts.extend(Some(rule).filter(|_| !found.has_errors()));
            problems.extend(found);
        }
        "plan_options" => match run.options.span {
            Some(first) => {
                problems.push(diagnostics::second_block("plan_options", "run block", &with.location(first), at));
            }
            None => run.options = plan_options(block, with, problems).unwrap_or_default(),
        },
        "variables" => variables(block, "run block", &mut run.variables, with, problems),
        "module" => {
            if let Some(first) = &run.module {
                let first = with.location(first.span);
                problems.push(diagnostics::second_block("module", "run block", &first, at));
            }
            if let Some(module) = test_module(block, with, problems) {
                run.module = Some(module);
            }
        }
        "override_module" => run.override_modules.extend(mock::decode_module(block, with, problems)),
        _ => run.override_resources.extend(mock::decode_resource(block, mock::Within::Else, with, problems)),
    }
}

fn references(attribute: Option<&Attribute>, problems: &mut Diagnostics) -> Vec<Traversal> {
    let Some(attribute) = attribute else { return Vec::new() };
    let (references, found) = depends_on::decode(&attribute.expr);
    problems.extend(found);
    references
}

fn plan_options(block: &Block, with: &Decoding<'_>, problems: &mut Diagnostics) -> Option<PlanOptions> {
    let (content, mut found) = block.body.content(&PLAN_OPTIONS);
    let mut options = PlanOptions { span: Some(block.header_span), ..PlanOptions::default() };
    if let Some(attribute) = content.attribute("mode") {
        match attribute.expr.as_keyword().as_deref() {
            Some("normal") => {}
            Some("refresh-only") => options.mode = PlanMode::RefreshOnly,
            _ => found.push(blocks::invalid_keyword("mode", "normal, refresh-only", attribute.expr.span)),
        }
    }
    let refresh = content.attribute("refresh");
    if let Some(attribute) = refresh {
        options.refresh = with.bool(&attribute.expr, &mut found).unwrap_or_default();
    }
    options.replace = references(content.attribute("replace"), &mut found);
    options.target = references(content.attribute("target"), &mut found);
    if let (Some(refresh), false, PlanMode::RefreshOnly) = (refresh, options.refresh, options.mode) {
        found.push(diagnostics::refresh_only_without_refresh(refresh.span));
    }
    let failed = found.has_errors();
    problems.extend(found);
    Some(options).filter(|_| !failed)
}

fn test_module(block: &Block, with: &Decoding<'_>, problems: &mut Diagnostics) -> Option<TestModule> {
    let (content, mut found) = block.body.content(&MODULE);
    let version = content.attribute("version");
    let constraint = version.and_then(|attribute| version_constraint(attribute, with, &mut found));
    let mut source = None;
    match content.attribute("source") {
        Some(attribute) => {
            if let Some(raw) = with.string(&attribute.expr, &mut found) {
                let parsed = match version {
                    Some(_) => ModuleSource::parse_registry(&raw),
                    None => ModuleSource::parse(&raw),
                };
                match parsed {
                    Ok(parsed) => source = Some((parsed, attribute.span)),
                    Err(error) => found.push(error.at(attribute.span)),
                }
            }
        }
        None => found.push(diagnostics::module_without_source(block.header_span)),
    }
    let failed = found.has_errors();
    problems.extend(found);
    let (source, source_span) = source.filter(|_| !failed)?;
    let version = constraint.map(|constraint| (constraint.text, constraint.span));
    Some(TestModule { source, version, span: block.header_span, source_span })
}

/// Reads an item of `expect_failures`.
fn expected(traversal: &Traversal, tested: &Module) -> (Option<Reference>, Diagnostics) {
    match traversal.root.as_str() {
        // Quirk: "run" is the type of a resource here, unlike in assertions.
        "run" => Reference::parse(traversal, tested),
        _ => Reference::parse_in_test(traversal, tested),
    }
}

impl TestRun {
    /// Expected failures, with their locations.
    pub fn expected_failures(&self, tested: &Module) -> Vec<(Reference, Span)> {
        let found = self.expect_failures.iter().map(|traversal| (expected(traversal, tested).0, traversal.span));
        found.filter_map(|(reference, span)| Some((reference?, span))).collect()
    }

    /// Errors in a run of a module beside those of decoding.
    pub fn validate(&self, tested: &Module) -> Diagnostics {
        let mut problems = Diagnostics::new();
        for traversal in &self.expect_failures {
            let (reference, found) = expected(traversal, tested);
            let failed = found.has_errors();
            problems.extend(found);
            let Some(reference) = reference.filter(|_| !failed) else { continue };
            if let Subject::Symbol(symbol) = &reference.subject
                && !tested.symbols.contains_key(&symbol.library)
            {
                problems.extend(reference.undefined_symbol(tested));
                continue;
            }
            let can_fail = matches!(
                reference.subject,
                Subject::Output(_)
                    | Subject::Variable(_)
                    | Subject::Check(_)
                    | Subject::Resource(_)
                    | Subject::ResourceInstance(..)
            );
            if !can_fail {
                let subject = ecow::eco_format!("{}", reference.subject);
                problems.push(diagnostics::cannot_fail(&subject, reference.span.unwrap_or(traversal.span)));
            }
        }
        problems.extend(mock::duplicates(&self.override_resources, &self.override_modules));
        problems
    }
}
