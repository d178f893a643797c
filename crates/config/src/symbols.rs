//! `symbols` blocks and symbol libraries: values, types and functions that modules share.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use ecow::EcoString;
use yuba_addrs::{ModuleSource, VersionConstraints};
use yuba_syntax::lexer::is_identifier;
use yuba_syntax::{Block, Body, BodySchema, Diagnostic, Diagnostics, Expr, Span};

use crate::constant::Decoding;
use crate::diagnostics::symbols as diagnostics;
use crate::file::FileKind;
use crate::language::{self, Language};
use crate::schema::{nothing_required, schema};
use crate::variable::Local;

/// A `symbols` block.
#[derive(Clone, Debug)]
pub struct SymbolsCall {
    /// The label.
    pub name: EcoString,
    /// `source`, as modules have it. Missing only where the block overrides another one.
    pub source: Option<(EcoString, Span)>,
    /// `version`: constraints, not read yet.
    pub version: Option<(EcoString, Span)>,
    /// The block's header.
    pub span: Span,
    /// The label.
    pub name_span: Span,
}

impl SymbolsCall {
    /// Source of the library, and the constraints on its version; none without `source`.
    pub fn address(&self) -> Result<Option<(ModuleSource, Option<VersionConstraints>)>, Box<Diagnostic>> {
        let constraints = match &self.version {
            Some((text, at)) => match VersionConstraints::parse(text) {
                Ok(constraints) => Some(constraints),
                Err(_) => return Err(Box::new(diagnostics::invalid_version(text, *at))),
            },
            None => None,
        };
        let Some((text, at)) = &self.source else { return Ok(None) };
        let parsed = match constraints.is_some() {
            true => ModuleSource::parse_registry(text),
            false => ModuleSource::parse(text),
        };
        parsed.map(|source| Some((source, constraints))).map_err(|problem| Box::new(problem.at(*at)))
    }
}

/// Declarations in the files of a symbol library, not evaluated.
#[derive(Clone, Debug, Default)]
pub struct Library {
    /// Arguments of `values` blocks.
    pub values: BTreeMap<EcoString, Local>,
    /// `typedef` blocks.
    pub typedefs: BTreeMap<EcoString, TypeDef>,
    /// `function` blocks.
    pub functions: BTreeMap<EcoString, FunctionDef>,
    /// `symbols` blocks: libraries this one builds on.
    pub symbols: BTreeMap<EcoString, SymbolsCall>,
    /// The `language` block.
    pub language: Option<Language>,
}

/// A `typedef` block.
#[derive(Clone, Debug)]
pub struct TypeDef {
    /// The label.
    pub name: EcoString,
    /// `type`: a type constraint, not read yet.
    pub constraint: Option<Arc<Expr>>,
    /// For people.
    pub description: Option<EcoString>,
    /// The block's header.
    pub span: Span,
}

/// A `function` block.
#[derive(Clone, Debug)]
pub struct FunctionDef {
    /// The label.
    pub name: EcoString,
    /// `parameter` blocks, in order. Only the last one can be variadic.
    pub parameters: Vec<Parameter>,
    /// `return`: refers to the parameters as `param.name`.
    pub result: Option<Arc<Expr>>,
    /// For people.
    pub description: Option<EcoString>,
    /// The block's header.
    pub span: Span,
}

/// A `parameter` block.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The label.
    pub name: EcoString,
    /// `type`: a type constraint, not read yet; without it anything is taken.
    pub constraint: Option<Arc<Expr>>,
    /// It takes all arguments from here on.
    pub variadic: bool,
    /// For people.
    pub description: Option<EcoString>,
    /// The block's header.
    pub span: Span,
}

static SCHEMA: LazyLock<BodySchema> = LazyLock::new(|| schema(&["source"], &["version"], &[]));
static OVERRIDE: LazyLock<BodySchema> = LazyLock::new(|| nothing_required(&SCHEMA));
static LIBRARY: LazyLock<BodySchema> = LazyLock::new(|| {
    let blocks: [(&str, &[&str]); 5] =
        [("values", &[]), ("typedef", &["name"]), ("function", &["name"]), ("symbols", &["name"]), ("language", &[])];
    schema(&[], &[], &blocks)
});
static TYPEDEF: LazyLock<BodySchema> = LazyLock::new(|| schema(&["type"], &["description"], &[]));
static FUNCTION: LazyLock<BodySchema> =
    LazyLock::new(|| schema(&["return"], &["description"], &[("parameter", &["name"])]));
static PARAMETER: LazyLock<BodySchema> = LazyLock::new(|| schema(&[], &["type", "variadic", "description"], &[]));

/// Decodes a block with one label.
pub(crate) fn decode(block: &Block, kind: FileKind, with: &Decoding<'_>) -> (Option<SymbolsCall>, Diagnostics) {
    let [(name, name_span)] = block.labels.as_slice() else { return (None, Diagnostics::new()) };
    let (content, mut problems) = block.body.content(if kind == FileKind::Override { &OVERRIDE } else { &SCHEMA });
    check_name("symbols block", name, *name_span, &mut problems);
    let mut text = |name: &str| {
        let attribute = content.attribute(name)?;
        Some((with.string(&attribute.expr, &mut problems)?, attribute.expr.span))
    };
    let (source, version) = (text("source"), text("version"));
    let call = SymbolsCall { name: name.clone(), source, version, span: block.header_span, name_span: *name_span };
    (Some(call), problems)
}

/// Decodes the files of one symbol library.
pub fn decode_library<'b>(files: impl IntoIterator<Item = &'b Body>, with: &Decoding<'_>) -> (Library, Diagnostics) {
    let mut library = Library::default();
    let mut problems = Diagnostics::new();
    let mut language_span = None;
    for file in files {
        let (content, found) = file.content(&LIBRARY);
        problems.extend(found);
        for block in &content.blocks {
            match block.kind.as_str() {
                "values" => values(block, &mut library, with, &mut problems),
                "typedef" => {
                    let Some(typedef) = typedef(block, with, &mut problems) else { continue };
                    let first = library.typedefs.get(&typedef.name).map(|first| first.span);
                    if is_new("typedef", &typedef.name, first, typedef.span, with, &mut problems) {
                        library.typedefs.insert(typedef.name.clone(), typedef);
                    }
                }
                "function" => {
                    let Some(function) = function(block, with, &mut problems) else { continue };
                    let first = library.functions.get(&function.name).map(|first| first.span);
                    if is_new("function", &function.name, first, function.span, with, &mut problems) {
                        library.functions.insert(function.name.clone(), function);
                    }
                }
                "symbols" => {
                    let (call, found) = decode(block, FileKind::Primary, with);
                    problems.extend(found);
                    let Some(call) = call else { continue };
                    let first = library.symbols.get(&call.name).map(|first| first.span);
                    if is_new("symbols block", &call.name, first, call.span, with, &mut problems) {
                        library.symbols.insert(call.name.clone(), call);
                    }
                }
                _ => match language_span {
                    Some(first) => {
                        let (first, at) = (with.location(first), block.header_span);
                        problems.push(diagnostics::second_language(&first, at));
                    }
                    None => {
                        let (language, found) = language::decode(block, FileKind::Primary, with);
                        problems.extend(found);
                        language_span = Some(block.header_span);
                        library.language = Some(language);
                    }
                },
            }
        }
    }
    (library, problems)
}

fn check_name(object: &str, name: &str, at: Span, problems: &mut Diagnostics) {
    if !is_identifier(name) {
        problems.push(crate::diagnostics::invalid_name(object, name, at));
    }
}

fn is_new(
    object: &str,
    name: &str,
    first: Option<Span>,
    at: Span,
    with: &Decoding<'_>,
    problems: &mut Diagnostics,
) -> bool {
    if let Some(first) = first {
        problems.push(diagnostics::duplicate(object, name, &with.location(first), at));
    }
    first.is_none()
}

fn values(block: &Block, library: &mut Library, with: &Decoding<'_>, problems: &mut Diagnostics) {
    let (attributes, found) = block.body.just_attributes();
    problems.extend(found);
    for attribute in attributes {
        check_name("value", &attribute.name, attribute.name_span, problems);
        let first = library.values.get(&attribute.name).map(|first| first.span);
        if is_new("value", &attribute.name, first, attribute.name_span, with, problems) {
            let value = Local { name: attribute.name.clone(), expr: attribute.expr, span: attribute.span };
            library.values.insert(attribute.name, value);
        }
    }
}

fn typedef(block: &Block, with: &Decoding<'_>, problems: &mut Diagnostics) -> Option<TypeDef> {
    let [(name, name_span)] = block.labels.as_slice() else { return None };
    let (content, found) = block.body.content(&TYPEDEF);
    problems.extend(found);
    check_name("typedef", name, *name_span, problems);
    Some(TypeDef {
        name: name.clone(),
        constraint: content.attribute("type").map(|attribute| attribute.expr.clone()),
        description: content.attribute("description").and_then(|attribute| with.string(&attribute.expr, problems)),
        span: block.header_span,
    })
}

fn function(block: &Block, with: &Decoding<'_>, problems: &mut Diagnostics) -> Option<FunctionDef> {
    let [(name, name_span)] = block.labels.as_slice() else { return None };
    let (content, found) = block.body.content(&FUNCTION);
    problems.extend(found);
    check_name("function", name, *name_span, problems);
    let mut parameters: Vec<Parameter> = Vec::new();
    for inner in &content.blocks {
        let Some(parameter) = parameter(inner, with, problems) else { continue };
        if let Some(variadic) = parameters.iter().find(|before| before.variadic) {
            problems.push(diagnostics::parameter_after_variadic(&variadic.name, parameter.span));
        }
        let first = parameters.iter().find(|before| before.name == parameter.name).map(|first| first.span);
        if is_new("parameter", &parameter.name, first, parameter.span, with, problems) {
            parameters.push(parameter);
        }
    }
    Some(FunctionDef {
        name: name.clone(),
        parameters,
        result: content.attribute("return").map(|attribute| attribute.expr.clone()),
        description: content.attribute("description").and_then(|attribute| with.string(&attribute.expr, problems)),
        span: block.header_span,
    })
}

fn parameter(block: &Block, with: &Decoding<'_>, problems: &mut Diagnostics) -> Option<Parameter> {
    let [(name, name_span)] = block.labels.as_slice() else { return None };
    let (content, found) = block.body.content(&PARAMETER);
    problems.extend(found);
    check_name("parameter", name, *name_span, problems);
    let variadic = content.attribute("variadic").and_then(|attribute| with.bool(&attribute.expr, problems));
    Some(Parameter {
        name: name.clone(),
        constraint: content.attribute("type").map(|attribute| attribute.expr.clone()),
        variadic: variadic.unwrap_or_default(),
        description: content.attribute("description").and_then(|attribute| with.string(&attribute.expr, problems)),
        span: block.header_span,
    })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::testing::{check, check_override, problems};

    fn check_library(text: &str, expect: &Expect) {
        let mut shown = String::new();
        let found = problems(text, |file, with| {
            let (library, found) = decode_library([&file.body], with);
            for function in library.functions.values() {
                let names: Vec<String> = function
                    .parameters
                    .iter()
                    .map(|parameter| format!("{}{}", parameter.name, if parameter.variadic { "..." } else { "" }))
                    .collect();
                shown += &format!("{}({})\n", function.name, names.join(", "));
            }
            let names = library.values.keys().chain(library.typedefs.keys()).chain(library.symbols.keys());
            shown += &names.map(EcoString::as_str).collect::<Vec<_>>().join(" ");
            found
        });
        expect.assert_eq(&format!("{shown}\n{found}"));
    }

    #[test]
    fn symbols_blocks_name_a_source() {
        check(
            r#"
symbols "a" {
  source = "./x.tfsym.hcl"
}
symbols "b" {
  source = "../dir"
}
symbols "0" {
  source  = "registry/x"
  version = "1"
}
symbols "c" {
}
symbols "d" {
  source  = var.x
  version = []
}
"#,
            &expect![[r#"
                8:9 Error: Invalid symbols block name
                12:13 Error: Missing required argument
                15:13 Error: Variables not allowed
                16:13 Error: Unsuitable value type
            "#]],
        );
        check_override("symbols \"a\" {\n}\n", &expect![[""]]);
    }

    #[test]
    fn libraries_have_values_types_and_functions() {
        check_library(
            r#"
language {}
values {
  a = 1
  b = symbols.other.x
}
values {
  c = value.a
}
typedef "t" {
  type        = object({ a = string })
  description = "An object."
}
function "join" {
  parameter "separator" {
    type = string
  }
  parameter "items" {
    type        = string
    variadic    = true
    description = "Strings to join."
  }
  return = join(param.separator, param.items)
}
symbols "other" {
  source = "./other.tfsym.hcl"
}
"#,
            &expect![[r#"
                join(separator, items...)
                a b c t other
            "#]],
        );
        check_library(
            r#"
values {
  a = 1
}
values {
  a = 2
  block {}
}
typedef "t" {
}
typedef "t" {
  type = string
}
function "0" {
  parameter "rest" {
    variadic = true
  }
  parameter "rest" {
    variadic = "perhaps"
    other    = 1
  }
}
function "0" {
  return = 1
}
language {}
language {}
resource "a" "b" {}
"#,
            &expect![[r#"
                0(rest...)
                a t
                28:1 Error: Unsupported block type
                7:3 Error: Unexpected "block" block
                6:3 Error: Duplicate value
                9:13 Error: Missing required argument
                11:1 Error: Duplicate typedef
                14:14 Error: Missing required argument
                14:10 Error: Invalid function name
                20:5 Error: Unsupported argument
                19:17 Error: Unsuitable value type
                18:3 Error: Invalid variadic parameter
                18:3 Error: Duplicate parameter
                23:10 Error: Invalid function name
                23:1 Error: Duplicate function
                27:1 Error: Duplicate language block
            "#]],
        );
        check_library(
            r#"{"values": {"a": "${value.b}"}, "function": {"f": {"parameter": {"p": {"type": "string"}}, "return": "${param.p}"}}}"#,
            &expect![[r#"
                f(p)
                a
            "#]],
        );
    }
}
