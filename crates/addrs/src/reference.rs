//! References: a dotted name in an expression, read as the address of something in the module.

use std::fmt;
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use yuba_syntax::expr::Literal;
use yuba_syntax::{Diagnostic, Diagnostics, FileId, Span, Traversal, TraversalStep, parser};
use yuba_value::quote;

use crate::diagnostics;
use crate::features::{Feature, FeatureState, ParseRefContext};
use crate::function::{ProviderFunction, SymbolFunction};
use crate::instance::InstanceKey;
use crate::resource::{Resource, ResourceMode};

/// Target of a name, and the steps that lead there.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The referenced object.
    pub subject: Subject,
    /// Location of the steps that lead to the subject; `None` where the name is too short.
    pub span: Option<Span>,
    /// Number of steps of the traversal that lead to the value of the whole object: all instances of a resource or
    /// module, where the subject is one of them.
    pub value_steps: usize,
    /// Number of steps of the traversal that lead to the subject.
    pub subject_steps: usize,
    /// All steps of the traversal; none for a function.
    pub steps: Arc<[TraversalStep]>,
}

/// Targets of names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// `var.name`
    Variable(EcoString),
    /// `local.name`
    Local(EcoString),
    /// `count.name`
    Count(EcoString),
    /// `each.name`
    Each(EcoString),
    /// `path.name`
    Path(EcoString),
    /// `terraform.name` or `tofu.name`
    Terraform(TerraformAlias, EcoString),
    /// `self`
    SelfObject,
    /// `type.name`, `data.type.name`, `ephemeral.type.name`, `resource.type.name`: all its instances.
    Resource(Resource),
    /// One instance of a resource, or an attribute of a resource without instance keys.
    ResourceInstance(Resource, Option<InstanceKey>),
    /// `module.name`: all its instances.
    Module(EcoString),
    /// `module.name[key]`
    ModuleInstance(EcoString, InstanceKey),
    /// `module.name.output` or `module.name[key].output`
    ModuleOutput(EcoString, Option<InstanceKey>, EcoString),
    /// `provider::name::function`, called as a function.
    ProviderFunction(ProviderFunction),
    /// `symbols.library.name`: what a block of an opt-in feature declares.
    Symbol(Symbol),
    /// `symbols::library::name`, called as a function.
    SymbolFunction(SymbolFunction),
    /// `output.name`, in tests.
    Output(EcoString),
    /// `check.name`, in tests.
    Check(EcoString),
    /// `run.name`, in tests.
    Run(EcoString),
}

/// A reference whose root word belongs to an opt-in feature: `symbols.library.name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Symbol {
    /// The feature.
    pub feature: Feature,
    /// The label of the block.
    pub library: EcoString,
    /// The symbol in it; none for all of it.
    pub name: Option<EcoString>,
}

/// By which of its two names the object with facts about the run was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TerraformAlias {
    /// `terraform`
    Terraform,
    /// `tofu`
    Tofu,
}

impl TerraformAlias {
    /// The name as written.
    pub fn as_str(self) -> &'static str {
        match self {
            TerraformAlias::Terraform => "terraform",
            TerraformAlias::Tofu => "tofu",
        }
    }
}

impl Reference {
    /// Reads a name. An invalid one yields diagnostics; a reference may still come back so that further errors are
    /// found.
    pub fn parse(traversal: &Traversal, context: &dyn ParseRefContext) -> (Option<Reference>, Diagnostics) {
        let mut diagnostics = Diagnostics::new();
        let reference = Parser { traversal, context, diagnostics: &mut diagnostics }.parse();
        (reference, diagnostics)
    }
    /// Reads a name in a test, where `output`, `check` and `run` have a meaning too.
    pub fn parse_in_test(traversal: &Traversal, context: &dyn ParseRefContext) -> (Option<Reference>, Diagnostics) {
        let mut diagnostics = Diagnostics::new();
        let mut parser = Parser { traversal, context, diagnostics: &mut diagnostics };
        let reference = match traversal.root.as_str() {
            "output" => Some(parser.single(Subject::Output)),
            "check" => Some(parser.single(Subject::Check)),
            "run" => Some(parser.single(Subject::Run)),
            _ => parser.parse(),
        };
        (reference, diagnostics)
    }
    /// Reads a text that is a name.
    pub fn parse_text(file: FileId, text: &str, context: &dyn ParseRefContext) -> (Option<Reference>, Diagnostics) {
        match parser::parse_traversal(file, text.as_bytes()) {
            (Some(traversal), problems) if !problems.has_errors() => Reference::parse(&traversal, context),
            (_, problems) => (None, problems),
        }
    }
    /// Reads a text that is a name in a test.
    pub fn parse_text_in_test(
        file: FileId,
        text: &str,
        context: &dyn ParseRefContext,
    ) -> (Option<Reference>, Diagnostics) {
        match parser::parse_traversal(file, text.as_bytes()) {
            (Some(traversal), problems) if !problems.has_errors() => Reference::parse_in_test(&traversal, context),
            (_, problems) => (None, problems),
        }
    }
    /// Reads the name of a called function as a reference to a function of a provider or of an opt-in feature; `None`
    /// for other functions.
    pub fn parse_function(name: &str, span: Span) -> Option<(Option<Reference>, Diagnostics)> {
        let subject = match SymbolFunction::parse(name) {
            Some(function) => Subject::SymbolFunction(function),
            None => match ProviderFunction::parse(name)? {
                Ok(function) => Subject::ProviderFunction(function),
                Err(problem) => return Some((None, problem.at(span).into())),
            },
        };
        let reference =
            Reference { subject, span: Some(span), value_steps: 0, subject_steps: 0, steps: Arc::default() };
        Some((Some(reference), Diagnostics::new()))
    }
    /// The steps after the subject.
    pub fn remaining(&self) -> &[TraversalStep] {
        self.steps.get(self.subject_steps..).unwrap_or_default()
    }
    /// Advice for referring to the resource that the root word of a feature hides; empty unless there is one with this
    /// name.
    pub fn resource_hint(&self, context: &dyn ParseRefContext) -> EcoString {
        let Subject::Symbol(Symbol { feature, library, .. }) = &self.subject else { return EcoString::new() };
        let root_word = feature.root_word();
        if !context.has_managed_resource(root_word, library) {
            return EcoString::new();
        }
        let rest: EcoString = self.steps.iter().skip(1).map(|step| eco_format!("{}", Step(step))).collect();
        eco_format!(
            "\n\nDid you intend to refer to resource {} {}? If so, use the \"resource.\" prefix:\n    \
             resource.{root_word}.{library}{rest}",
            quote(root_word),
            quote(library),
        )
    }
    /// The error that no block declares the library of a symbol; nothing for other subjects.
    ///
    /// Only where a resource of that name exists does the message speak of resources.
    pub fn undefined_symbol(&self, context: &dyn ParseRefContext) -> Option<Diagnostic> {
        let (feature, library) = match &self.subject {
            Subject::Symbol(symbol) => (symbol.feature, &symbol.library),
            Subject::SymbolFunction(SymbolFunction { feature, library: Some(library), .. }) => (*feature, library),
            _ => return None,
        };
        let FeatureState::Selectable { block_type, noun, .. } = feature.row().state else { return None };
        let hint = self.resource_hint(context);
        Some(diagnostics::library_not_declared((noun, block_type), library, &hint, self.span))
    }
}

/// A step as it is written.
struct Step<'a>(&'a TraversalStep);

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            TraversalStep::Attr { name, .. } => write!(f, ".{name}"),
            TraversalStep::Index { key, .. } => match InstanceKey::from_literal(key) {
                Ok(key) => write!(f, "{key}"),
                Err(_) => match key {
                    Literal::Number(text) => write!(f, "[{text}]"),
                    Literal::Bool(given) => write!(f, "[{given}]"),
                    _ => f.write_str("[null]"),
                },
            },
        }
    }
}

struct Parser<'a> {
    traversal: &'a Traversal,
    context: &'a dyn ParseRefContext,
    diagnostics: &'a mut Diagnostics,
}

impl Parser<'_> {
    fn parse(&mut self) -> Option<Reference> {
        let root = self.traversal.root.as_str();
        match root {
            "var" => Some(self.single(Subject::Variable)),
            "local" => Some(self.single(Subject::Local)),
            "count" => Some(self.single(Subject::Count)),
            "each" => Some(self.single(Subject::Each)),
            "path" => Some(self.single(Subject::Path)),
            "terraform" => Some(self.single(|name| Subject::Terraform(TerraformAlias::Terraform, name))),
            "tofu" => Some(self.single(|name| Subject::Terraform(TerraformAlias::Tofu, name))),
            "self" => Some(Reference {
                subject: Subject::SelfObject,
                span: Some(self.traversal.root_span),
                value_steps: 0,
                subject_steps: 0,
                steps: self.traversal.steps.clone(),
            }),
            "module" => self.module(),
            "data" => self.prefixed_resource(ResourceMode::Data, "the data source type and the name of the data block"),
            "ephemeral" => {
                self.prefixed_resource(ResourceMode::Ephemeral, "the ephemeral resource type and the resource's name")
            }
            "resource" => self.prefixed_resource(ResourceMode::Managed, "the resource type and the resource's name"),
            "template" | "lazy" | "arg" => {
                self.diagnostics.push(diagnostics::reserved_name(root, self.traversal.root_span));
                None
            }
            _ => match Feature::from_root_word(root) {
                Some(feature) if self.belongs_to(feature) => self.symbol(feature),
                _ => self.resource(ResourceMode::Managed, 0),
            },
        }
    }

    /// Whether the root word means the feature in this module. Without an opt-in it means a resource type where the
    /// module has such resources; otherwise the feature gives the better explanation of what is missing.
    fn belongs_to(&self, feature: Feature) -> bool {
        self.context.feature_enabled(feature) || !self.context.has_any_managed_resource_of_type(&self.traversal.root)
    }

    /// `symbols.library` or `symbols.library.name`
    fn symbol(&mut self, feature: Feature) -> Option<Reference> {
        let root_span = self.traversal.root_span;
        let steps = self.traversal.steps.clone();
        let (library, mut span) = match steps.first() {
            Some(TraversalStep::Attr { name, span }) => (name.clone(), root_span.to(*span)),
            step => {
                let at = step.map_or(root_span, step_span);
                self.diagnostics.push(diagnostics::library_label_missing(&self.traversal.root, at));
                return None;
            }
        };
        let (mut name, mut count) = (None, 1);
        if let Some(TraversalStep::Attr { name: found, span: found_span }) = steps.get(1) {
            name = Some(found.clone());
            span = span.to(*found_span);
            count = 2;
        }
        let subject = Subject::Symbol(Symbol { feature, library, name });
        Some(Reference { subject, span: Some(span), value_steps: count, subject_steps: count, steps })
    }

    /// `root.name`
    fn single(&mut self, subject: impl FnOnce(EcoString) -> Subject) -> Reference {
        let (root, root_span) = (self.traversal.root.clone(), self.traversal.root_span);
        match self.traversal.steps.first() {
            Some(TraversalStep::Attr { name, span }) => Reference {
                subject: subject(name.clone()),
                span: Some(root_span.to(*span)),
                value_steps: 1,
                subject_steps: 1,
                steps: self.traversal.steps.clone(),
            },
            step => {
                self.diagnostics.push(match step {
                    Some(step) => diagnostics::index_of_named_object(&root, step_span(step)),
                    None => diagnostics::named_object_alone(&root, root_span),
                });
                // Quirk: the name is still a reference to the attribute without a name, which is a second error
                // wherever it is looked up.
                let (subject, steps) = (subject(EcoString::new()), self.traversal.steps.clone());
                Reference { subject, span: None, value_steps: 0, subject_steps: 0, steps }
            }
        }
    }

    /// `data.type.name` and the like.
    fn prefixed_resource(&mut self, mode: ResourceMode, names: &str) -> Option<Reference> {
        if self.traversal.steps.len() < 2 {
            let Traversal { root, span, .. } = self.traversal;
            self.diagnostics.push(diagnostics::resource_names_missing(root, names, *span));
            return None;
        }
        self.resource(mode, 1)
    }

    /// `type.name`, where `skip` steps stand before the name of the type if there is a prefix.
    fn resource(&mut self, mode: ResourceMode, skip: usize) -> Option<Reference> {
        let steps = &self.traversal.steps;
        let kind = match skip.checked_sub(1).map(|at| &steps[at]) {
            None => self.traversal.root.clone(),
            Some(TraversalStep::Attr { name, .. }) => name.clone(),
            Some(step) => {
                self.diagnostics.push(diagnostics::name_missing(&self.traversal.root, step_span(step)));
                return None;
            }
        };
        let (name, name_span) = match steps.get(skip) {
            Some(TraversalStep::Attr { name, span }) => (name.clone(), *span),
            step => {
                let at = step.map_or(self.traversal.span, step_span);
                self.diagnostics.push(diagnostics::referred_resource_name_missing(mode, &kind, at));
                return None;
            }
        };
        let span = self.traversal.root_span.to(name_span);
        let value_steps = skip + 1;
        let resource = Resource { mode, kind, name };
        let (subject, subject_steps, span) = match steps.get(value_steps) {
            None => (Subject::Resource(resource), value_steps, span),
            Some(TraversalStep::Attr { .. }) => (Subject::ResourceInstance(resource, None), value_steps, span),
            Some(TraversalStep::Index { key, span: key_span }) => {
                let key = self.instance_key(key, "resource", *key_span)?;
                (Subject::ResourceInstance(resource, Some(key)), value_steps + 1, span.to(*key_span))
            }
        };
        Some(Reference { subject, span: Some(span), value_steps, subject_steps, steps: steps.clone() })
    }

    /// `module.name`, `module.name[key]`, `module.name.output`, `module.name[key].output`
    fn module(&mut self) -> Option<Reference> {
        let reference = self.single(Subject::Module);
        let (Subject::Module(name), Some(mut span)) = (reference.subject.clone(), reference.span) else { return None };
        let mut steps = self.traversal.steps.iter().skip(1);
        let mut step = steps.next();
        let mut key = None;
        let mut subject_steps = 1;
        if let Some(TraversalStep::Index { key: literal, span: key_span }) = step {
            key = Some(self.instance_key(literal, "module", *key_span)?);
            span = span.to(*key_span);
            subject_steps += 1;
            step = steps.next();
        }
        let subject = match (step, key) {
            (None, None) => return Some(reference),
            (None, Some(key)) => Subject::ModuleInstance(name, key),
            (Some(TraversalStep::Attr { name: output, span: output_span }), key) => {
                span = span.to(*output_span);
                subject_steps += 1;
                Subject::ModuleOutput(name, key, output.clone())
            }
            (Some(step), _) => {
                self.diagnostics.push(diagnostics::index_of_module_instance(step_span(step)));
                return None;
            }
        };
        let steps = self.traversal.steps.clone();
        Some(Reference { subject, span: Some(span), value_steps: 1, subject_steps, steps })
    }

    fn instance_key(&mut self, key: &Literal, what: &str, span: Span) -> Option<InstanceKey> {
        match InstanceKey::from_literal(key) {
            Ok(key) => Some(key),
            Err(reason) => {
                self.diagnostics.push(diagnostics::instance_key(what, reason, span));
                None
            }
        }
    }
}

fn step_span(step: &TraversalStep) -> Span {
    match step {
        TraversalStep::Attr { span, .. } | TraversalStep::Index { span, .. } => *span,
    }
}

/// The subject as it is written.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Variable(name) => write!(f, "var.{name}"),
            Subject::Local(name) => write!(f, "local.{name}"),
            Subject::Count(name) => write!(f, "count.{name}"),
            Subject::Each(name) => write!(f, "each.{name}"),
            Subject::Path(name) => write!(f, "path.{name}"),
            Subject::Terraform(alias, name) => write!(f, "{}.{name}", alias.as_str()),
            Subject::SelfObject => f.write_str("self"),
            Subject::Resource(resource) | Subject::ResourceInstance(resource, None) => write!(f, "{resource}"),
            Subject::ResourceInstance(resource, Some(key)) => write!(f, "{resource}{key}"),
            Subject::Module(name) => write!(f, "module.{name}"),
            Subject::ModuleInstance(name, key) => write!(f, "module.{name}{key}"),
            Subject::ModuleOutput(name, None, output) => write!(f, "module.{name}.{output}"),
            Subject::ModuleOutput(name, Some(key), output) => write!(f, "module.{name}{key}.{output}"),
            Subject::ProviderFunction(function) => write!(f, "{function}"),
            Subject::Symbol(symbol) => {
                write!(f, "{}.{}", symbol.feature.root_word(), symbol.library)?;
                symbol.name.iter().try_for_each(|name| write!(f, ".{name}"))
            }
            Subject::SymbolFunction(function) => write!(f, "{function}"),
            Subject::Output(name) => write!(f, "output.{name}"),
            Subject::Check(name) => write!(f, "check.{name}"),
            Subject::Run(name) => write!(f, "run.{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::features::Baseline;

    /// A module that opted in or not, and the names of its resources of type "symbols".
    struct Module(bool, &'static [&'static str]);

    impl ParseRefContext for Module {
        fn feature_enabled(&self, feature: Feature) -> bool {
            self.0 && feature == Feature::SymbolLibraries
        }
        fn has_any_managed_resource_of_type(&self, kind: &str) -> bool {
            kind == "symbols" && !self.1.is_empty()
        }
        fn has_managed_resource(&self, kind: &str, name: &str) -> bool {
            kind == "symbols" && self.1.contains(&name)
        }
    }

    type Parse = fn(FileId, &str, &dyn ParseRefContext) -> (Option<Reference>, Diagnostics);

    fn check_in(parse: Parse, context: &dyn ParseRefContext, names: &[&str], expect: &Expect) {
        let mut out = String::new();
        for name in names {
            let (reference, diagnostics) = parse(FileId(0), name, context);
            out += name;
            if let Some(r) = reference {
                let at = r.span.map_or("", |s| &name[s.start as usize..s.end as usize]);
                out += &format!(" -> {} at {at:?} value {} subject {}", r.subject, r.value_steps, r.subject_steps);
            }
            for d in diagnostics.iter() {
                let at = d.subject.map_or("", |s| &name[s.start as usize..s.end as usize]);
                out += &format!(" ! {} at {at:?}", d.summary);
            }
            out.push('\n');
        }
        expect.assert_eq(&out);
    }

    fn check(names: &[&str], expect: &Expect) {
        check_in(Reference::parse_text, &Baseline, names, expect);
    }

    #[test]
    fn names_become_addresses() {
        check(
            &[
                "var.a.b",
                "self.x",
                "aws_x.y",
                "aws_x.y.z",
                "aws_x.y[0].z",
                "resource.template.x",
                "data.a.b[\"k\"]",
                "ephemeral.a.b.c",
                "module.m",
                "module.m[1]",
                "module.m.out.x",
                "module.m[\"k\"].out",
                "tofu.workspace",
            ],
            &expect![[r#"
                var.a.b -> var.a at "var.a" value 1 subject 1
                self.x -> self at "self" value 0 subject 0
                aws_x.y -> aws_x.y at "aws_x.y" value 1 subject 1
                aws_x.y.z -> aws_x.y at "aws_x.y" value 1 subject 1
                aws_x.y[0].z -> aws_x.y[0] at "aws_x.y[0]" value 1 subject 2
                resource.template.x -> template.x at "resource.template.x" value 2 subject 2
                data.a.b["k"] -> data.a.b["k"] at "data.a.b[\"k\"]" value 2 subject 3
                ephemeral.a.b.c -> ephemeral.a.b at "ephemeral.a.b" value 2 subject 2
                module.m -> module.m at "module.m" value 1 subject 1
                module.m[1] -> module.m[1] at "module.m[1]" value 1 subject 2
                module.m.out.x -> module.m.out at "module.m.out" value 1 subject 2
                module.m["k"].out -> module.m["k"].out at "module.m[\"k\"].out" value 1 subject 3
                tofu.workspace -> tofu.workspace at "tofu.workspace" value 1 subject 1
            "#]],
        );
    }

    #[test]
    fn errors_are_explained() {
        check(
            &[
                "var",
                "var[0]",
                "foo",
                "foo[0].y",
                "data.x",
                "data[0].x.y",
                "template.x",
                "a.b[true]",
                "a.b[1.5]",
                "module",
                "module.a[0][1]",
                "ephemeral",
            ],
            &expect![[r#"
                var -> var. at "" value 0 subject 0 ! Invalid reference at "var"
                var[0] -> var. at "" value 0 subject 0 ! Invalid reference at "[0]"
                foo ! Invalid reference at "foo"
                foo[0].y ! Invalid reference at "[0]"
                data.x ! Invalid reference at "data.x"
                data[0].x.y ! Invalid reference at "[0]"
                template.x ! Reserved symbol name at "template"
                a.b[true] ! Index value required at "true"
                a.b[1.5] ! Invalid index key at "[1.5]"
                module ! Invalid reference at "module"
                module.a[0][1] ! Invalid reference at "[1]"
                ephemeral ! Invalid reference at "ephemeral"
            "#]],
        );
    }

    #[test]
    fn an_opted_in_module_reads_symbols_everywhere() {
        let names = ["symbols.a.v.w", "symbols.a", "symbols.a[0]", "symbols.s.v", "resource.symbols.s.id", "symbols"];
        check_in(
            Reference::parse_text,
            &Module(true, &["s"]),
            &names,
            &expect![[r#"
                symbols.a.v.w -> symbols.a.v at "symbols.a.v" value 2 subject 2
                symbols.a -> symbols.a at "symbols.a" value 1 subject 1
                symbols.a[0] -> symbols.a at "symbols.a" value 1 subject 1
                symbols.s.v -> symbols.s.v at "symbols.s.v" value 2 subject 2
                resource.symbols.s.id -> symbols.s at "resource.symbols.s" value 2 subject 2
                symbols ! Invalid reference at "symbols"
            "#]],
        );
        check_in(
            Reference::parse_text,
            &Module(false, &["s"]),
            &names,
            &expect![[r#"
                symbols.a.v.w -> symbols.a at "symbols.a" value 1 subject 1
                symbols.a -> symbols.a at "symbols.a" value 1 subject 1
                symbols.a[0] -> symbols.a[0] at "symbols.a[0]" value 1 subject 2
                symbols.s.v -> symbols.s at "symbols.s" value 1 subject 1
                resource.symbols.s.id -> symbols.s at "resource.symbols.s" value 2 subject 2
                symbols ! Invalid reference at "symbols"
            "#]],
        );
    }

    #[test]
    fn an_undefined_library_is_explained() {
        let explain = |context: &Module, name: &str| {
            let (reference, _) = Reference::parse_text(FileId(0), name, context);
            let problem = reference.and_then(|reference| reference.undefined_symbol(context));
            problem.map_or("none".to_owned(), |problem| format!("{}: {}", problem.summary, problem.detail))
        };
        // Neither a block nor a resource: as if opted in.
        expect![[r#"Reference to undefined symbol library: There is no symbols block named "serverless" defined in this module."#]]
            .assert_eq(&explain(&Module(false, &[]), "symbols.serverless.some_value"));
        // The resource is spoken of only where it exists.
        expect![[
            r#"Reference to undefined symbol library: There is no symbols block named "b" defined in this module."#
        ]]
        .assert_eq(&explain(&Module(true, &["a"]), "symbols.b.some_value"));
        expect![[r#"
            Reference to undefined symbol library: There is no symbols block named "a" defined in this module.

            Did you intend to refer to resource "symbols" "a"? If so, use the "resource." prefix:
                resource.symbols.a.some_value["k"][0].x"#]]
        .assert_eq(&explain(&Module(true, &["a"]), "symbols.a.some_value[\"k\"][0].x"));
        // Not opted in, but there are such resources: the language without the feature.
        assert_eq!(explain(&Module(false, &["a"]), "symbols.nope.x"), "none");
    }

    #[test]
    fn tests_refer_to_outputs_checks_and_runs() {
        let names = ["output.a.b", "check.c", "run.r.out", "run", "var.a", "symbols.a.v"];
        check_in(
            Reference::parse_text_in_test,
            &Module(true, &[]),
            &names,
            &expect![[r#"
                output.a.b -> output.a at "output.a" value 1 subject 1
                check.c -> check.c at "check.c" value 1 subject 1
                run.r.out -> run.r at "run.r" value 1 subject 1
                run -> run. at "" value 0 subject 0 ! Invalid reference at "run"
                var.a -> var.a at "var.a" value 1 subject 1
                symbols.a.v -> symbols.a.v at "symbols.a.v" value 2 subject 2
            "#]],
        );
    }

    #[test]
    fn functions_of_symbol_libraries() {
        let parse = |name: &str| {
            let span = Span::new(FileId(0), 0, name.len());
            match Reference::parse_function(name, span) {
                None => "none".to_owned(),
                Some((Some(reference), _)) => format!("{:?} {}", reference.subject, reference.subject),
                Some((None, problems)) => problems.iter().map(|problem| problem.summary.to_string()).collect(),
            }
        };
        assert!(parse("symbols::lib::f").starts_with("SymbolFunction("));
        assert!(parse("symbols::lib::f").ends_with("symbols::lib::f"));
        assert!(parse("symbols::f").ends_with("library: None, name: \"f\" }) symbols::f"));
        assert_eq!(parse("symbols::a::b::c"), "none");
        assert_eq!(parse("core::upper"), "none");
        assert_eq!(parse("provider::x"), "Unable to parse provider function");
    }
}
