//! `variable` blocks and `locals`.

use std::sync::{Arc, LazyLock};

use ecow::EcoString;
use yuba_syntax::lexer::is_identifier;
use yuba_syntax::{Attribute, Block, BodySchema, Diagnostics, Expr, ExprKind, Span, TraversalStep};
use yuba_value::convert::{Defaults, convert};
use yuba_value::{Type, Value};

use crate::check::{self, CheckRule};
use crate::constant::Decoding;
pub use crate::default_value::ignored_attributes;
use crate::diagnostics;
use crate::file::FileKind;
use crate::schema::schema;
use crate::type_expr::{NamedTypes, NoNamedTypes, TypeConstraint, needs_libraries, type_constraint};

/// A `variable` block.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The label.
    pub name: EcoString,
    /// For people.
    pub description: Option<EcoString>,
    /// The constraint as written, with optional attributes; `any` where none was given.
    pub constraint: Type,
    /// Defaults of optional attributes.
    pub type_defaults: Option<Arc<Defaults>>,
    /// `type`, if given.
    pub type_expr: Option<Arc<Expr>>,
    /// `type` names types or values of a library: [`Variable::resolve`] reads it when these are known.
    pub type_pending: bool,
    /// Whether a text from outside (command line, environment) is an expression or literal text.
    pub parsing: Parsing,
    /// The default, converted to the type; unknown where it is wrong.
    pub default: Option<Value>,
    /// `default` as written.
    pub default_expr: Option<Arc<Expr>>,
    /// `default` refers to a library: [`Variable::resolve`] reads it.
    pub default_pending: bool,
    /// `sensitive`, if given.
    pub sensitive: Option<bool>,
    /// `ephemeral`, if given.
    pub ephemeral: Option<bool>,
    /// `const`, if given.
    pub constant: Option<bool>,
    /// `nullable`, if given; true otherwise.
    pub nullable: Option<bool>,
    /// The author's message.
    pub deprecated: Option<EcoString>,
    /// `deprecated`, if it refers to a library: [`Variable::resolve`] reads it.
    pub deprecated_pending: Option<Arc<Expr>>,
    /// `validation` blocks.
    pub validations: Vec<CheckRule>,
    /// The block's header.
    pub span: Span,
}

/// Parsing of a string from outside as the variable's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsing {
    /// It is the value.
    Literal,
    /// It is an expression.
    Expression,
}

/// One argument of a `locals` block.
#[derive(Clone, Debug)]
pub struct Local {
    /// The name.
    pub name: EcoString,
    /// The value.
    pub expr: Arc<Expr>,
    /// All of the argument.
    pub span: Span,
}

static SCHEMA: LazyLock<BodySchema> = LazyLock::new(|| {
    schema(
        &[],
        &["description", "default", "type", "sensitive", "ephemeral", "const", "deprecated", "nullable"],
        &[("validation", &[])],
    )
});

/// Names that mean something else in a `module` block, so that a variable of the name could not be set there.
const RESERVED: [&str; 10] =
    ["source", "version", "count", "for_each", "depends_on", "providers", "_", "lifecycle", "locals", "provider"];

impl Variable {
    /// Whether null is a possible value.
    pub fn is_nullable(&self) -> bool {
        self.nullable.unwrap_or(true)
    }
    /// Whether it has no default, so that a value must be given.
    pub fn is_required(&self) -> bool {
        self.default.is_none()
    }
    /// The type of its values: the constraint, with optional attributes as ordinary ones.
    pub fn ty(&self) -> Type {
        self.constraint.without_optional()
    }

    /// Whether it is to be resolved when symbol libraries are known.
    pub fn is_pending(&self) -> bool {
        self.type_pending || self.default_pending || self.deprecated_pending.is_some()
    }

    /// Reads what refers to symbol libraries, now that these are known: `type`, `default` and `deprecated`.
    pub fn resolve(&mut self, decoding: &Decoding<'_>, named: &dyn NamedTypes) -> Diagnostics {
        let mut diagnostics = Diagnostics::new();
        if let Some(expr) = self.type_expr.clone().filter(|_| self.type_pending) {
            self.set_type(&expr, decoding, named, &mut diagnostics);
        }
        if let Some(expr) = self.deprecated_pending.take() {
            self.deprecated = decoding.later_string(&expr, &mut diagnostics);
            self.check_deprecated(expr.span, &mut diagnostics);
        }
        if (self.type_pending || self.default_pending)
            && let (Some(mut value), Some(expr)) = (self.default.take(), self.default_expr.clone())
        {
            if self.default_pending {
                value = decoding.later(&expr, &mut diagnostics).unwrap_or_else(Value::unknown_dynamic);
                value = self.visible_default(&value, expr.span, &mut diagnostics);
            }
            self.default = Some(self.checked_default(&value, &expr, &mut diagnostics));
        }
        (self.type_pending, self.default_pending) = (false, false);
        diagnostics
    }

    /// A default without marks. Only a sensitive variable can take it from a sensitive value.
    fn visible_default(&self, value: &Value, at: Span, diagnostics: &mut Diagnostics) -> Value {
        if value.marks_deep().has_sensitive() && self.sensitive != Some(true) {
            diagnostics.push(diagnostics::sensitive_default(at));
            return Value::unknown_dynamic();
        }
        value.unmark_deep().0
    }

    fn check_deprecated(&self, at: Span, diagnostics: &mut Diagnostics) {
        if self.deprecated.as_ref().is_some_and(|text| text.trim().is_empty()) {
            diagnostics.push(diagnostics::empty_deprecated_variable(at));
        }
    }

    fn set_type(
        &mut self,
        expr: &Arc<Expr>,
        decoding: &Decoding<'_>,
        named: &dyn NamedTypes,
        diagnostics: &mut Diagnostics,
    ) {
        let (constraint, parsing, problems) = variable_type(expr, decoding, named);
        diagnostics.extend(problems);
        self.constraint = constraint.ty;
        self.type_defaults = constraint.defaults.map(Arc::new);
        self.type_expr = Some(expr.clone());
        self.parsing = parsing;
    }

    /// The default with defaults of optional attributes, converted to the type; unknown if it does not fit.
    pub(crate) fn convert_default(&self, value: &Value) -> Result<Value, yuba_value::convert::ConvertError> {
        let value = match &self.type_defaults {
            Some(defaults) if !value.is_null() => defaults.apply(value),
            _ => value.clone(),
        };
        convert(&value, &self.constraint)
    }

    fn checked_default(&self, value: &Value, expr: &Expr, diagnostics: &mut Diagnostics) -> Value {
        let value = self.convert_default(value).unwrap_or_else(|error| {
            diagnostics.push(diagnostics::invalid_default(&error, expr.span));
            Value::unknown_dynamic()
        });
        diagnostics.extend(ignored_attributes(expr, &self.constraint));
        self.check_null(&value, expr.span, diagnostics);
        value
    }

    pub(crate) fn check_null(&self, value: &Value, at: Span, diagnostics: &mut Diagnostics) {
        if !self.is_nullable() && value.is_null() {
            diagnostics.push(diagnostics::null_default(at));
        }
    }

    /// Decodes `type`. A type that refers to symbol libraries stays pending until they are loaded.
    fn decode_type(&mut self, expr: &Arc<Expr>, decoding: &Decoding<'_>, diagnostics: &mut Diagnostics) {
        if needs_libraries(expr, decoding) {
            self.type_expr = Some(expr.clone());
            self.type_pending = true;
            self.parsing = Parsing::Expression;
        } else {
            self.set_type(expr, decoding, &NoNamedTypes, diagnostics);
        }
    }

    /// Decodes `deprecated`. A message that refers to symbol libraries stays pending until they are loaded.
    fn decode_deprecated(&mut self, expr: &Arc<Expr>, decoding: &Decoding<'_>, diagnostics: &mut Diagnostics) {
        if decoding.needs_symbols(expr) {
            self.deprecated_pending = Some(expr.clone());
        } else {
            self.deprecated = decoding.string(expr, diagnostics);
            self.check_deprecated(expr.span, diagnostics);
        }
    }

    /// Decodes `default`, after `type` and `nullable`. The value is converted if the type is known.
    fn decode_default(
        &mut self,
        expr: &Arc<Expr>,
        kind: FileKind,
        decoding: &Decoding<'_>,
        diagnostics: &mut Diagnostics,
    ) {
        self.default_pending = decoding.needs_symbols(expr);
        let value = match self.default_pending {
            true => None,
            false => decoding.value(expr, diagnostics),
        };
        let value = value.unwrap_or_else(Value::unknown_dynamic);
        self.default_expr = Some(expr.clone());
        let is_pending = self.type_pending || self.default_pending;
        let type_is_known = !is_pending && (kind == FileKind::Primary || self.type_expr.is_some());
        self.default = Some(if type_is_known {
            self.checked_default(&value, expr, diagnostics)
        } else {
            if !is_pending {
                self.check_null(&value, expr.span, diagnostics);
            }
            value
        });
    }
}

/// Decodes a `variable` block. In an override file a default without type stays as it is: it is converted when the
/// files are merged.
pub(crate) fn decode(block: &Block, kind: FileKind, decoding: &Decoding<'_>) -> (Variable, Diagnostics) {
    let (name, name_span) = block.labels.first().cloned().unwrap_or_default();
    let (content, mut diagnostics) = block.body.content(&SCHEMA);
    if !is_identifier(&name) {
        diagnostics.push(diagnostics::invalid_name("variable", &name, name_span));
    }
    if RESERVED.contains(&name.as_str()) {
        diagnostics.push(diagnostics::reserved_variable_name(&name, name_span));
    }
    let mut variable = Variable {
        name,
        description: None,
        constraint: Type::dynamic(),
        type_defaults: None,
        type_expr: None,
        type_pending: false,
        parsing: Parsing::Literal,
        default: None,
        default_expr: None,
        default_pending: false,
        sensitive: None,
        ephemeral: None,
        constant: None,
        nullable: None,
        deprecated: None,
        deprecated_pending: None,
        validations: Vec::new(),
        span: block.header_span,
    };
    let argument = |name: &str| content.attribute(name).map(|attribute| &attribute.expr);
    let flag = |name: &str, diagnostics: &mut Diagnostics| {
        argument(name).map(|expr| decoding.bool(expr, diagnostics).unwrap_or_default())
    };
    variable.description = argument("description").and_then(|expr| decoding.string(expr, &mut diagnostics));
    if let Some(expr) = argument("type") {
        variable.decode_type(expr, decoding, &mut diagnostics);
    }
    variable.sensitive = flag("sensitive", &mut diagnostics);
    if let Some(expr) = argument("deprecated") {
        variable.decode_deprecated(expr, decoding, &mut diagnostics);
    }
    variable.ephemeral = flag("ephemeral", &mut diagnostics);
    variable.nullable = flag("nullable", &mut diagnostics);
    variable.constant = flag("const", &mut diagnostics);
    if let Some(expr) = argument("default") {
        variable.decode_default(expr, kind, decoding, &mut diagnostics);
    }
    for rule in content.blocks_of("validation") {
        let (rule, problems) = decode_validation(rule, kind, &variable.name);
        diagnostics.extend(problems);
        variable.validations.push(rule);
    }
    (variable, diagnostics)
}

/// Reads `type`. Quoted names, an old form, are explained.
fn variable_type(
    expr: &Expr,
    decoding: &Decoding<'_>,
    named: &dyn NamedTypes,
) -> (TypeConstraint, Parsing, Diagnostics) {
    let any = TypeConstraint::any;
    if matches!(expr.kind, ExprKind::Template(_)) || is_quoted_literal(expr) {
        let mut diagnostics = Diagnostics::new();
        let text = decoding.value(expr, &mut diagnostics);
        let Some(text) = text.as_ref().and_then(Value::as_str) else {
            return (any(), Parsing::Expression, diagnostics);
        };
        diagnostics.push(diagnostics::types::quoted_type(text, expr.span));
        let parsing = if text == "string" { Parsing::Literal } else { Parsing::Expression };
        return (any(), parsing, diagnostics);
    }
    let list_or_map = |make: fn(Type) -> Type| {
        let constraint = TypeConstraint { ty: make(Type::dynamic()), defaults: None };
        (constraint, Parsing::Expression, Diagnostics::new())
    };
    match expr.as_keyword().as_deref() {
        Some("list") => return list_or_map(Type::list),
        Some("map") => return list_or_map(Type::map),
        _ => {}
    }
    let (constraint, diagnostics) = type_constraint(expr, decoding, named);
    if diagnostics.has_errors() {
        return (any(), Parsing::Expression, diagnostics);
    }
    let parsing = if constraint.ty.is_primitive() { Parsing::Literal } else { Parsing::Expression };
    (constraint, parsing, diagnostics)
}

/// A text in quotes in native syntax, without interpolation.
fn is_quoted_literal(expr: &Expr) -> bool {
    !matches!(expr.kind, ExprKind::JsonString(_)) && expr.as_literal_string().is_some()
}

/// A `validation` block: its condition must refer to the variable.
fn decode_validation(block: &Block, kind: FileKind, variable: &str) -> (CheckRule, Diagnostics) {
    let (rule, mut diagnostics) = check::decode_rule(block, kind);
    if let Some(condition) = &rule.condition {
        let looks_at_variable = condition.variables().iter().any(|reference| {
            reference.root == "var"
                && matches!(reference.steps.first(), Some(TraversalStep::Attr { name, .. }) if name == variable)
        });
        if !looks_at_variable {
            diagnostics.push(diagnostics::condition_without_variable(variable, condition.span));
        }
    }
    (rule, diagnostics)
}

/// Decodes a `locals` block.
pub(crate) fn decode_locals(block: &Block) -> (Vec<Local>, Diagnostics) {
    let (attributes, mut diagnostics) = block.body.just_attributes();
    let decode = |attribute: Attribute| {
        if !is_identifier(&attribute.name) {
            diagnostics.push(diagnostics::invalid_name("local value", &attribute.name, attribute.name_span));
        }
        Local { name: attribute.name, expr: attribute.expr, span: attribute.span }
    };
    let locals = attributes.into_iter().map(decode).collect();
    (locals, diagnostics)
}

#[cfg(test)]
mod tests {
    use crate::testing::check_each;

    #[test]
    fn defaults_fit_their_types() {
        check_each(
            "main.tf",
            "variable \"a\" {\n *\n}",
            &[
                ("type = string\n default = []", "3:12 Invalid default value for variable"),
                ("type = string\n default = 1", ""),
                ("type = number\n default = \"a\"", "3:12 Invalid default value for variable"),
                ("type = number\n default = \"1\"", ""),
                ("type = list(string)\n default = \"a\"", "3:12 Invalid default value for variable"),
                ("type = list(string)\n default = [1,true]", ""),
                ("type = map(number)\n default = {a=\"x\"}", "3:12 Invalid default value for variable"),
                ("type = object({a=string})\n default = {}", "3:12 Invalid default value for variable"),
                ("type = object({a=string})\n default = {a=1,b=2}", "(3:17 Object attribute is ignored)"),
                (
                    "type = object({a=object({b=string})})\n default = {a={b=1,c=2}}",
                    "(3:20 Object attribute is ignored)",
                ),
                (
                    "type = list(object({a=string}))\n default = [{a=1,x=2},{a=1,y=3}]",
                    "(3:18 Object attribute is ignored); (3:28 Object attribute is ignored)",
                ),
                ("type = map(object({a=string}))\n default = {k={a=1,x=2}}", "(3:20 Object attribute is ignored)"),
                ("type = tuple([string])\n default = [1,2]", "3:12 Invalid default value for variable"),
                ("type = tuple([object({a=string})])\n default = [{a=1,b=1}]", "(3:18 Object attribute is ignored)"),
                ("type = string\n default = null", ""),
                ("type = string\n default = foo", "3:12 Variables not allowed"),
                ("type = string\n default = foo.bar[0]", "3:12 Variables not allowed"),
                ("type = set(string)\n default = [\"a\",\"a\"]", ""),
                ("type = any\n default = {a=1}", ""),
                (
                    "type = object({a=string})\n default = {\"a\"=1,\"b\"=1,(c)=1,(\"d\")=2}",
                    "3:26 Variables not allowed; (3:19 Object attribute is ignored); (3:31 Object attribute is ignored)",
                ),
                ("type = object({a=optional(string,\"x\")})\n default = {b=1}", "(3:13 Object attribute is ignored)"),
                ("type = bool\n default = \"yes\"", "3:12 Invalid default value for variable"),
                ("type = bool\n default = \"true\"", ""),
                ("type = list(number)\n default = [\"1\",\"b\"]", "3:12 Invalid default value for variable"),
                ("type = object({})\n default = {a=1}", "(3:13 Object attribute is ignored)"),
            ],
        );
    }

    #[test]
    fn arguments_of_variables() {
        check_each(
            "main.tf",
            "variable \"a\" {\n *\n}",
            &[
                (r#"sensitive = "x""#, "2:15 Unsuitable value type"),
                ("sensitive = null", "2:14 Unsuitable value type"),
                ("sensitive = 1", "2:14 Unsuitable value type"),
                (r#"sensitive = "true""#, ""),
                ("sensitive = foo", "2:14 Variables not allowed"),
                ("ephemeral = []", "2:14 Unsuitable value type"),
                ("nullable = false\n default = null", "3:12 Invalid default value for variable"),
                ("nullable = false", ""),
                (r#"const = "abc""#, "2:11 Unsuitable value type"),
                ("const = true\n default = 1", ""),
                (r#"deprecated = """#, "2:15 Invalid `deprecated` value"),
                (r#"deprecated = "  ""#, "2:15 Invalid `deprecated` value"),
                ("deprecated = 1", ""),
                ("deprecated = null", "2:15 Unsuitable value type"),
                ("deprecated = foo", "2:15 Variables not allowed"),
                ("description = 1", ""),
                ("description = null", "2:16 Unsuitable value type"),
                ("description = []", "2:16 Unsuitable value type"),
                ("foo = 1", "2:2 Unsupported argument"),
                ("type {}", "2:2 Unsupported block type"),
                ("validation {}", "2:13 Missing required argument; 2:13 Missing required argument"),
                (
                    "validation {\n condition = true\n error_message = \"x\"\n}",
                    "3:14 Invalid validation expression; 3:14 Invalid variable validation condition",
                ),
                (
                    "validation {\n condition = var.b\n error_message = \"x\"\n}",
                    "3:14 Invalid variable validation condition",
                ),
                ("validation {\n condition = var.a != local.x\n error_message = \"x\"\n}", ""),
                ("validation {\n condition = var.a.b > 1\n error_message = 1\n}", ""),
                (
                    "validation \"x\" {\n condition = var.a\n error_message = \"x\"\n}",
                    "2:13 Extraneous label for validation",
                ),
                (
                    "validation {\n condition = var[\"a\"]\n error_message = \"x\"\n}",
                    "3:14 Invalid variable validation condition",
                ),
                ("default = 1\n default = 2", "3:2 Attribute redefined"),
                ("validation {\n condition = var.a\n error_message = var.b\n foo = 1\n}", "5:2 Unsupported argument"),
                ("sensitive = (1)", "2:15 Unsuitable value type"),
                ("sensitive = -1", "2:14 Unsuitable value type"),
                ("sensitive = {}", "2:14 Unsuitable value type"),
                (r#"sensitive = """#, "2:16 Unsuitable value type"),
            ],
        );
    }

    #[test]
    fn names_of_variables() {
        check_each(
            "main.tf",
            r#"variable "*" {}"#,
            &[
                ("source", "1:10 Invalid variable name"),
                ("lifecycle", "1:10 Invalid variable name"),
                ("_", "1:10 Invalid variable name"),
                ("provider", "1:10 Invalid variable name"),
                ("connection", ""),
                ("1a", "1:10 Invalid variable name"),
                ("a b", "1:10 Invalid variable name"),
                ("", "1:10 Invalid variable name"),
                ("é", ""),
                ("a-b", ""),
                ("-a", "1:10 Invalid variable name"),
            ],
        );
    }

    #[test]
    fn local_values() {
        check_each(
            "main.tf",
            "locals {\n*\n}",
            &[
                ("a=1\na=2", "3:1 Attribute redefined"),
                ("x {}", r#"2:1 Unexpected "x" block"#),
                ("a=1\nx {}\ny {}", r#"3:1 Unexpected "x" block"#),
                ("", ""),
                ("a=1\n}\nlocals {\n a=2", "5:2 Duplicate local value definition"),
            ],
        );
    }
}
