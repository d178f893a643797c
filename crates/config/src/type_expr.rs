//! Type constraints: expressions read as types.

use ecow::{EcoString, eco_format};
use yuba_addrs::Feature;
use yuba_syntax::expr::CallExpr;
use yuba_syntax::{Diagnostic, Diagnostics, Expr, Span};
use yuba_value::convert::{Defaults, convert};
use yuba_value::{ObjectAttr, Type, Value};

use crate::constant::Decoding;
use crate::diagnostics::types;

/// Value of a type constraint: a type, which may have optional attributes, and defaults for these.
#[derive(Clone, Debug)]
pub struct TypeConstraint {
    /// The type.
    pub ty: Type,
    /// Defaults of optional attributes; none where no attribute has one.
    pub defaults: Option<Defaults>,
}

impl TypeConstraint {
    fn plain(ty: Type) -> TypeConstraint {
        TypeConstraint { ty, defaults: None }
    }
    /// `any`
    pub fn any() -> TypeConstraint {
        TypeConstraint::plain(Type::dynamic())
    }
}

/// Types that have a name of their own: `symbols::lib::t()`.
pub trait NamedTypes {
    /// The type a call stands for; none where the call is not of this kind.
    fn resolve(&self, call: &CallExpr) -> Option<(TypeConstraint, Diagnostics)>;
}

/// There are no named types.
pub struct NoNamedTypes;

impl NamedTypes for NoNamedTypes {
    fn resolve(&self, _: &CallExpr) -> Option<(TypeConstraint, Diagnostics)> {
        None
    }
}

/// Types are not nested deeper than this.
const MAX_DEPTH: u32 = 1000;

/// Reads an expression as a type constraint: `list(string)`, `object({ a = optional(number, 1) })`, `any`. A string of
/// JSON syntax is read as an expression.
pub fn type_constraint(expr: &Expr, decoding: &Decoding<'_>, named: &dyn NamedTypes) -> (TypeConstraint, Diagnostics) {
    let mut reader = Reader { decoding, named, diagnostics: Diagnostics::new(), depth: 0 };
    let constraint = reader.read(expr);
    (constraint, reader.diagnostics)
}

/// Whether a type constraint calls for a named type, or has a default that refers to a library, so that it can only be read
/// where libraries are known.
pub(crate) fn needs_libraries(expr: &Expr, decoding: &Decoding<'_>) -> bool {
    let is_named =
        |call: &CallExpr| call.name.split_once("::").is_some_and(|(root, _)| Feature::from_root_word(root).is_some());
    match expr.as_call() {
        Some(call) => {
            let in_argument = |arg: &Expr| arg.functions().into_iter().any(is_named) || decoding.needs_symbols(arg);
            is_named(&call) || call.args.iter().any(in_argument)
        }
        None => false,
    }
}

struct Reader<'a> {
    decoding: &'a Decoding<'a>,
    named: &'a dyn NamedTypes,
    diagnostics: Diagnostics,
    depth: u32,
}

impl Reader<'_> {
    fn fail(&mut self, problem: Diagnostic) -> TypeConstraint {
        self.diagnostics.push(problem);
        TypeConstraint::any()
    }

    fn read(&mut self, expr: &Expr) -> TypeConstraint {
        if self.depth >= MAX_DEPTH {
            return self.fail(types::type_too_deep(MAX_DEPTH, expr.span));
        }
        self.depth += 1;
        let constraint = stacker::maybe_grow(64 << 10, 1 << 20, || self.read_inner(expr));
        self.depth -= 1;
        constraint
    }

    fn read_inner(&mut self, expr: &Expr) -> TypeConstraint {
        if let Some(keyword) = expr.as_keyword() {
            return match keyword.as_str() {
                "bool" => TypeConstraint::plain(Type::bool()),
                "string" => TypeConstraint::plain(Type::string()),
                "number" => TypeConstraint::plain(Type::number()),
                "any" => TypeConstraint::any(),
                "list" | "map" | "set" | "object" | "tuple" => {
                    self.fail(types::type_needs_argument(&keyword, expr.span))
                }
                _ => self.fail(types::unknown_type(&keyword, expr.span)),
            };
        }
        let Some(call) = expr.as_call() else {
            return self.fail(types::not_a_type(expr.span));
        };
        if let Some((constraint, problems)) = self.named.resolve(&call) {
            self.diagnostics.extend(problems);
            return constraint;
        }
        let args_span = call.open_span.to(call.close_span);
        match call.name.as_str() {
            "bool" | "string" | "number" | "any" => self.fail(types::type_takes_no_arguments(&call.name, args_span)),
            "list" | "set" | "map" | "object" | "tuple" => match &*call.args {
                [arg] => self.constructed(&call.name, arg, expr.span),
                [] => self.fail(types::type_needs_argument(&call.name, args_span).within(args_span)),
                [_, extra @ ..] => {
                    let at = match extra {
                        [first, .., last] => first.span.to(last.span),
                        _ => extra.first().map_or(args_span, |only| only.span),
                    };
                    self.fail(types::type_needs_argument(&call.name, at).within(args_span))
                }
            },
            "optional" => self.fail(types::optional_outside_object(call.name_span)),
            name => self.fail(types::unknown_type_constructor(name, expr.span)),
        }
    }

    fn constructed(&mut self, name: &str, arg: &Expr, whole: Span) -> TypeConstraint {
        match name {
            "list" => self.collection(arg, Type::list),
            "set" => self.collection(arg, Type::set),
            "map" => self.collection(arg, Type::map),
            "object" => self.object(arg, whole),
            _ => self.tuple(arg, whole),
        }
    }

    fn collection(&mut self, element: &Expr, make: fn(Type) -> Type) -> TypeConstraint {
        let element = self.read(element);
        let ty = make(element.ty);
        let defaults =
            element.defaults.map(|defaults| Defaults::new(ty.clone(), Vec::new(), vec![("".into(), defaults)]));
        TypeConstraint { ty, defaults }
    }

    fn tuple(&mut self, arg: &Expr, whole: Span) -> TypeConstraint {
        let Some(elements) = arg.as_list() else {
            return self.fail(types::tuple_type_needs_elements(arg.span).within(whole));
        };
        let mut types = Vec::with_capacity(elements.len());
        let mut children = Vec::new();
        for (at, element) in elements.iter().enumerate() {
            let element = self.read(element);
            types.push(element.ty);
            children.extend(element.defaults.map(|defaults| (eco_format!("{at}"), defaults)));
        }
        with_defaults(Type::tuple(types), Vec::new(), children)
    }

    fn object(&mut self, arg: &Expr, whole: Span) -> TypeConstraint {
        let Some(items) = arg.as_map() else {
            return self.fail(types::object_type_needs_attributes(arg.span).within(whole));
        };
        let mut attrs: Vec<ObjectAttr> = Vec::with_capacity(items.len());
        let mut names = std::collections::HashSet::with_capacity(items.len());
        let mut values = Vec::new();
        let mut children = Vec::new();
        for item in items {
            let name = item.key_as_traversal().filter(|key| key.steps.is_empty()).map(|key| key.root);
            let Some(name) = name else {
                self.fail(types::quoted_attribute_name(item.key.span).within(whole));
                continue;
            };
            if names.contains(&name) {
                self.fail(types::duplicate_attribute(&name, item.key.span).within(whole));
                continue;
            }
            let Some(attr) = self.attribute(&item.value) else { continue };
            names.insert(name.clone());
            values.extend(attr.default.map(|value| (name.clone(), value)));
            children.extend(attr.constraint.defaults.map(|defaults| (name.clone(), defaults)));
            attrs.push(ObjectAttr { name, ty: attr.constraint.ty, optional: attr.optional });
        }
        with_defaults(Type::object_with_optional(attrs), values, children)
    }

    /// The type of an attribute, with what `optional` says about it.
    fn attribute(&mut self, expr: &Expr) -> Option<Attribute> {
        let Some(call) = expr.as_call().filter(|call| call.name == "optional") else {
            return Some(Attribute { constraint: self.read(expr), optional: false, default: None });
        };
        let args_span = call.open_span.to(call.close_span);
        let Some(ty) = call.args.first() else {
            self.fail(types::optional_without_type(args_span).within(expr.span));
            return None;
        };
        let (mut optional, mut default) = (false, None);
        match &*call.args {
            [_] => optional = true,
            [_, given] => {
                default = self.decoding.value(given, &mut self.diagnostics).map(|value| (value, given));
                optional = default.is_some();
            }
            _ => {
                self.fail(types::optional_with_extra_arguments(args_span).within(expr.span));
            }
        }
        let constraint = self.read(ty);
        let default = default.and_then(|(value, given)| match convert(&value, &constraint.ty) {
            Ok(value) => Some(value),
            Err(error) => {
                self.diagnostics.push(types::invalid_optional_default(&error, given.span));
                None
            }
        });
        Some(Attribute { constraint, optional, default })
    }
}

struct Attribute {
    constraint: TypeConstraint,
    optional: bool,
    default: Option<Value>,
}

fn with_defaults(ty: Type, values: Vec<(EcoString, Value)>, children: Vec<(EcoString, Defaults)>) -> TypeConstraint {
    let defaults = Defaults::new(ty.clone(), values, children);
    TypeConstraint { ty, defaults: (!defaults.is_empty()).then_some(defaults) }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_each;

    #[test]
    fn types_are_read_and_their_errors_found() {
        check_each(
            "main.tf",
            r#"variable "a" { type = * }"#,
            &[
                ("string", ""),
                (r#""string""#, "1:23 Invalid quoted type constraints"),
                (r#""list""#, "1:23 Invalid quoted type constraints"),
                (r#""map""#, "1:23 Invalid quoted type constraints"),
                (r#""foo""#, "1:23 Invalid legacy variable type hint"),
                ("list", ""),
                ("map", ""),
                ("set", "1:23 Invalid type specification"),
                ("object", "1:23 Invalid type specification"),
                ("tuple", "1:23 Invalid type specification"),
                ("any", ""),
                ("bool", ""),
                ("foo", "1:23 Invalid type specification"),
                ("null", "1:23 Invalid type specification"),
                ("true", "1:23 Invalid type specification"),
                ("123", "1:23 Invalid type specification"),
                ("[string]", "1:23 Invalid type specification"),
                ("{a=string}", "1:23 Invalid type specification"),
                ("string()", "1:29 Invalid type specification"),
                ("any()", "1:26 Invalid type specification"),
                ("list()", "1:27 Invalid type specification"),
                ("list(string,number)", "1:35 Invalid type specification"),
                ("list(string,number,bool)", "1:35 Invalid type specification"),
                ("map(any)", ""),
                ("set(foo)", "1:27 Invalid type specification"),
                ("object()", "1:29 Invalid type specification"),
                ("object(string)", "1:30 Invalid type specification"),
                ("object({a=string, a=number})", "1:41 Invalid type specification"),
                (r#"object({"a"=string})"#, "1:31 Invalid type specification"),
                ("object({(a)=string})", "1:31 Invalid type specification"),
                ("object({a.b=string})", "1:31 Invalid type specification"),
                ("object({a=optional()})", "1:41 Invalid type specification"),
                ("object({a=optional(string,1,2)})", "1:41 Invalid type specification"),
                (r#"object({a=optional(number,"x")})"#, "1:49 Invalid default value for optional attribute"),
                ("object({a=optional(number,foo)})", "1:49 Variables not allowed"),
                (r#"object({a=optional(list(string),["x",1])})"#, ""),
                ("tuple()", "1:28 Invalid type specification"),
                ("tuple(string)", "1:29 Invalid type specification"),
                ("tuple([])", ""),
                ("tuple([string,foo])", "1:37 Invalid type specification"),
                ("optional(string)", "1:23 Invalid type specification"),
                ("foo(string)", "1:23 Invalid type specification"),
                ("list(optional(string))", "1:28 Invalid type specification"),
                ("a.b", "1:23 Invalid type specification"),
                ("a::b(string)", "1:23 Invalid type specification"),
                ("list(list(list(string)))", ""),
                (r#"object({a=object({b=optional(string,"x")})})"#, ""),
                ("(string)", "1:23 Invalid type specification"),
                ("list((string))", "1:28 Invalid type specification"),
                ("object([string])", "1:30 Invalid type specification"),
                ("object({a=optional(object({b=string}),{})})", "1:61 Invalid default value for optional attribute"),
                ("object({a=optional(object({b=optional(string)}),{})})", ""),
                ("map(object({a=optional(number,1)}))", ""),
                ("optional", "1:23 Invalid type specification"),
                ("provider::a::b(string)", "1:23 Invalid type specification"),
            ],
        );
    }

    #[test]
    fn json_has_types_in_strings() {
        check_each(
            "main.tf.json",
            r#"{"variable": {"a": {"type": "*"}}}"#,
            &[
                ("string", ""),
                ("list", ""),
                ("map", ""),
                ("list(string)", ""),
                ("object({a=string})", ""),
                ("foo", "1:29 Invalid type specification"),
                (r#""string""#, "1:40 Missing attribute seperator comma; 1:20 Incorrect JSON value type"),
                ("list(", "1:29 Invalid type specification"),
                ("", "1:29 Invalid type specification"),
                (r#"object({a=optional(number,\"x\")})"#, "1:55 Invalid default value for optional attribute"),
                ("a b", "1:29 Invalid type specification"),
                ("any()", "1:32 Invalid type specification"),
                ("list(string,number)", "1:41 Invalid type specification"),
                ("tuple", "1:29 Invalid type specification"),
                ("optional(string)", "1:29 Invalid type specification"),
                (r#"object({\"a\"=string})"#, "1:37 Invalid type specification"),
            ],
        );
    }
}
