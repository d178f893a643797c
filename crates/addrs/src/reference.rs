//! References: a dotted name in an expression, read as the address of something in the module.

use std::fmt;

use ecow::{EcoString, eco_format};
use yuba_syntax::expr::Literal;
use yuba_syntax::{Diagnostic, Diagnostics, Span, Traversal, TraversalStep};
use yuba_value::Number;

/// What a name refers to, and which of its steps lead there.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The thing referred to.
    pub subject: Subject,
    /// Where the part of the name stands that leads to the subject; `None` where the name is too short to have one.
    pub span: Option<Span>,
    /// How many steps of the traversal lead to the value of the whole thing: all instances of a resource or module,
    /// where the subject is one of them.
    pub value_steps: usize,
    /// How many steps of the traversal lead to the subject.
    pub subject_steps: usize,
}

/// What a name can refer to.
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

/// A resource in its module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Resource {
    /// Managed, data or ephemeral.
    pub mode: ResourceMode,
    /// The resource type.
    pub kind: EcoString,
    /// The name in the module.
    pub name: EcoString,
}

/// Managed, data or ephemeral.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceMode {
    /// A `resource` block.
    Managed,
    /// A `data` block.
    Data,
    /// An `ephemeral` block.
    Ephemeral,
}

impl ResourceMode {
    /// The adjective in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            ResourceMode::Managed => "managed",
            ResourceMode::Data => "data",
            ResourceMode::Ephemeral => "ephemeral",
        }
    }
}

/// Which of several instances.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstanceKey {
    /// Of `count`.
    Int(i64),
    /// Of `for_each`.
    String(EcoString),
}

/// `provider::name::function` or `provider::name::alias::function`
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProviderFunction {
    /// The provider's local name.
    pub provider: EcoString,
    /// The alias of its configuration.
    pub alias: Option<EcoString>,
    /// The function.
    pub function: EcoString,
}

impl ProviderFunction {
    /// Reads a function name; `None` if it is not in the `provider` namespace, an error if it has too few or too many
    /// parts.
    pub fn parse(name: &str) -> Option<Result<ProviderFunction, EcoString>> {
        let parts: Vec<&str> = name.split("::").collect();
        let function = match parts.as_slice() {
            ["provider"] => return None,
            ["provider", provider, function] => {
                ProviderFunction { provider: (*provider).into(), alias: None, function: (*function).into() }
            }
            ["provider", provider, alias, function] => ProviderFunction {
                provider: (*provider).into(),
                alias: Some((*alias).into()),
                function: (*function).into(),
            },
            ["provider", ..] => {
                return Some(Err(eco_format!(
                    "The name {name:?} does not say which provider's function is meant: write \
                     provider::<name>::<function> or provider::<name>::<alias>::<function>."
                )));
            }
            _ => return None,
        };
        Some(Ok(function))
    }
}

impl fmt::Display for ProviderFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "provider::{}::", self.provider)?;
        if let Some(alias) = &self.alias {
            write!(f, "{alias}::")?;
        }
        f.write_str(&self.function)
    }
}

impl Reference {
    /// Reads a name. Where it is wrong there are diagnostics; a reference may still come back so that further
    /// mistakes are found.
    pub fn parse(traversal: &Traversal) -> (Option<Reference>, Diagnostics) {
        let mut diagnostics = Diagnostics::new();
        let reference = Parser { traversal, diagnostics: &mut diagnostics }.parse();
        (reference, diagnostics)
    }
    /// Reads the name of a called function as a reference to a provider's function; `None` for other functions.
    pub fn parse_function(name: &str, span: Span) -> Option<(Option<Reference>, Diagnostics)> {
        Some(match ProviderFunction::parse(name)? {
            Ok(function) => {
                let subject = Subject::ProviderFunction(function);
                let reference = Reference { subject, span: Some(span), value_steps: 0, subject_steps: 0 };
                (Some(reference), Diagnostics::new())
            }
            Err(detail) => (None, Diagnostic::error("Unable to parse provider function", detail).at(span).into()),
        })
    }
}

struct Parser<'a> {
    traversal: &'a Traversal,
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
            }),
            "module" => self.module(),
            "data" => self.prefixed_resource(ResourceMode::Data, "the data source type and the name of the data block"),
            "ephemeral" => {
                self.prefixed_resource(ResourceMode::Ephemeral, "the ephemeral resource type and the resource's name")
            }
            "resource" => self.prefixed_resource(ResourceMode::Managed, "the resource type and the resource's name"),
            "template" | "lazy" | "arg" => {
                let detail = eco_format!(
                    "The name {root:?} is kept free for a later version of the language. If a provider has a resource \
                     type of this name, write \"resource.{root}\" to refer to it."
                );
                self.error("Reserved symbol name", detail, self.traversal.root_span);
                None
            }
            _ => self.resource(ResourceMode::Managed, 0),
        }
    }

    fn error(&mut self, summary: &'static str, detail: impl Into<EcoString>, span: Span) {
        self.diagnostics.push(Diagnostic::error(summary, detail).at(span));
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
            },
            step => {
                let (detail, span) = match step {
                    Some(step) => (
                        eco_format!("The {root:?} object has named attributes only; write {root}.<name>."),
                        step_span(step),
                    ),
                    None => (
                        eco_format!(
                            "The {root:?} object has no value of its own; write {root}.<name> for one of its attributes."
                        ),
                        root_span,
                    ),
                };
                self.error("Invalid reference", detail, span);
                // Quirk: the name still counts as a reference to the attribute without a name, which is a second
                // mistake wherever it is looked up.
                Reference { subject: subject(EcoString::new()), span: None, value_steps: 0, subject_steps: 0 }
            }
        }
    }

    /// `data.type.name` and the like.
    fn prefixed_resource(&mut self, mode: ResourceMode, names: &str) -> Option<Reference> {
        if self.traversal.steps.len() < 2 {
            let root = &self.traversal.root;
            let detail = eco_format!("After {root:?} there must be two names, separated by dots: {names}.");
            self.error("Invalid reference", detail, self.traversal.span);
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
                let detail = eco_format!("After {:?} there must be a dot and a name.", self.traversal.root);
                self.error("Invalid reference", detail, step_span(step));
                return None;
            }
        };
        let what = match mode {
            ResourceMode::Managed => "resource type",
            ResourceMode::Data => "data source type",
            ResourceMode::Ephemeral => "ephemeral resource type",
        };
        let detail = || eco_format!("After the {what} {kind:?} there must be a dot and the name of the resource.");
        let (name, name_span) = match steps.get(skip) {
            Some(TraversalStep::Attr { name, span }) => (name.clone(), *span),
            Some(step) => {
                self.error("Invalid reference", detail(), step_span(step));
                return None;
            }
            None => {
                self.error("Invalid reference", detail(), self.traversal.span);
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
        Some(Reference { subject, span: Some(span), value_steps, subject_steps })
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
                let detail =
                    "One instance of a module has named output values only; write a dot and the output's name.";
                self.error("Invalid reference", detail, step_span(step));
                return None;
            }
        };
        Some(Reference { subject, span: Some(span), value_steps: 1, subject_steps })
    }

    fn instance_key(&mut self, key: &Literal, what: &str, span: Span) -> Option<InstanceKey> {
        let reason = match key {
            Literal::String(key) => return Some(InstanceKey::String(key.clone())),
            Literal::Int(key) => return Some(InstanceKey::Int(*key)),
            Literal::Number(text) => match Number::parse(text).and_then(|n| n.to_i64()) {
                Some(key) => return Some(InstanceKey::Int(key)),
                None => "a number that selects an instance must be whole and of a reasonable size",
            },
            Literal::Null | Literal::Bool(_) => "it must be a string or a whole number",
        };
        self.error("Invalid index key", eco_format!("This key cannot select an instance of a {what}: {reason}."), span);
        None
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
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mode {
            ResourceMode::Managed => {}
            ResourceMode::Data => f.write_str("data.")?,
            ResourceMode::Ephemeral => f.write_str("ephemeral.")?,
        }
        write!(f, "{}.{}", self.kind, self.name)
    }
}

impl fmt::Display for InstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstanceKey::Int(key) => write!(f, "[{key}]"),
            InstanceKey::String(key) => write!(f, "[{key:?}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// Steps as text: `.name` and `[key]`; a key in quotes is a string, otherwise a number or `true`.
    fn traversal(text: &str) -> Traversal {
        let span = |start: usize, end: usize| Span::new(yuba_syntax::FileId(0), start, end);
        let end = text.find(['.', '[']).unwrap_or(text.len());
        let mut steps = Vec::new();
        let mut at = end;
        while at < text.len() {
            let rest = &text[at + 1..];
            if text[at..].starts_with('.') {
                let len = rest.find(['.', '[']).unwrap_or(rest.len());
                steps.push(TraversalStep::Attr { name: rest[..len].into(), span: span(at, at + 1 + len) });
                at += 1 + len;
            } else {
                let len = rest.find(']').expect("the bracket is closed");
                let key = match rest[..len].strip_prefix('"') {
                    Some(key) => Literal::String(key.trim_end_matches('"').into()),
                    None if &rest[..len] == "true" => Literal::Bool(true),
                    None => rest[..len].parse().map_or_else(|_| Literal::Number(rest[..len].into()), Literal::Int),
                };
                steps.push(TraversalStep::Index { key, span: span(at, at + 2 + len) });
                at += 2 + len;
            }
        }
        Traversal { root: text[..end].into(), root_span: span(0, end), steps: steps.into(), span: span(0, text.len()) }
    }

    fn check(names: &[&str], expect: &Expect) {
        let mut out = String::new();
        for name in names {
            let (reference, diagnostics) = Reference::parse(&traversal(name));
            out += name;
            if let Some(r) = reference {
                let at = r.span.map_or(String::new(), |s| name[s.start as usize..s.end as usize].to_owned());
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
    fn mistakes_are_explained() {
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
                a.b[true] ! Invalid index key at "[true]"
                a.b[1.5] ! Invalid index key at "[1.5]"
                module ! Invalid reference at "module"
                module.a[0][1] ! Invalid reference at "[1]"
                ephemeral ! Invalid reference at "ephemeral"
            "#]],
        );
    }

    #[test]
    fn provider_functions_have_two_or_three_names() {
        let parse = |name: &str| match ProviderFunction::parse(name) {
            None => "none".to_owned(),
            Some(Ok(f)) => f.to_string(),
            Some(Err(_)) => "error".to_owned(),
        };
        assert_eq!(parse("upper"), "none");
        assert_eq!(parse("provider"), "none");
        assert_eq!(parse("core::upper"), "none");
        assert_eq!(parse("provider::a"), "error");
        assert_eq!(parse("provider::a::f"), "provider::a::f");
        assert_eq!(parse("provider::a::b::f"), "provider::a::b::f");
        assert_eq!(parse("provider::a::b::c::f"), "error");
    }
}
