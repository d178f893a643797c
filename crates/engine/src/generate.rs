//! Configuration written for imported objects: `-generate-config-out`.

use std::fmt::Write as _;

use ecow::EcoString;
use yuba_addrs::{AbsProviderConfig, AbsResourceInstance, TemplateText};
use yuba_provider::BlockSchema;
use yuba_provider::schema::{Attribute, AttributeType, NestedAttribute, NestedBlock, Nesting};
use yuba_syntax::format::format;
use yuba_syntax::lexer::is_identifier;
use yuba_value::{Value, View, json};

/// Header of the file with all written blocks.
pub const FILE_HEADER: &str =
    "# __generated__ by Yuba\n# Please review these resources and move them into your main configuration files.\n";

/// The warning that generated configuration may look different in later versions.
pub fn experimental() -> yuba_syntax::Diagnostic {
    crate::diagnostics::config_generation_experimental()
}

/// A written block as it stands in the file, after an empty line; with the id of the object it was written for.
pub fn in_file(block: &str, id: Option<&str>) -> String {
    let from = id.filter(|id| !id.is_empty()).map(|id| format!(" from {}", yuba_value::quote::quote(id)));
    format!("\n# __generated__ by Yuba{}\n{block}\n", from.unwrap_or_default())
}

/// The block of a resource with the arguments of its object, formatted.
pub fn resource(addr: &AbsResourceInstance, arguments: &str, provider: &AbsProviderConfig) -> String {
    let (kind, name) = (&addr.resource.kind, &addr.resource.name);
    let source = &provider.provider.kind;
    let provider = match &provider.alias {
        Some(alias) => format!("provider = {source}.{alias}\n"),
        None if source != addr.resource.implied_provider() => format!("provider = {source}\n"),
        None => String::new(),
    };
    formatted(&format!("resource {} {} {{\n{provider}{arguments}}}", quoted(kind), quoted(name)))
}

/// The arguments for an object with a value, formatted. Omits attributes that only the provider sets, deprecated attributes
/// and secret values.
pub fn arguments(schema: &BlockSchema, value: &Value) -> String {
    let mut writer = Writer { out: String::new() };
    writer.block(schema, value);
    formatted(&writer.out)
}

fn formatted(text: &str) -> String {
    String::from_utf8(format(text.as_bytes())).unwrap_or_else(|_| text.to_owned())
}

fn quoted(text: &str) -> String {
    TemplateText(text).to_string()
}

struct Writer {
    out: String,
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn block(&mut self, schema: &BlockSchema, value: &Value) {
        for (name, attribute) in schema.attributes() {
            self.attribute(name, attribute, value);
        }
        for (name, nested) in schema.blocks() {
            if nested.block.deprecated.is_none()
                && let Some(value) = part(value, name)
            {
                self.nested_block(name, nested, &value);
            }
        }
    }

    fn attribute(&mut self, name: &str, attribute: &Attribute, object: &Value) {
        let is_read_only = attribute.computed && !attribute.optional;
        // Some providers have an "id" everywhere that is not really there.
        let is_id = name == "id" && attribute.computed && attribute.optional;
        if is_read_only || is_id || attribute.deprecated.is_some() {
            return;
        }
        let value = part(object, name);
        let nested = match &attribute.ty {
            AttributeType::Nested(nested) => nested,
            AttributeType::Plain(_) if attribute.required || attribute.optional => {
                let text = match &value {
                    Some(value) if attribute.sensitive || is_secret(value) => secret("null", attribute),
                    None if attribute.sensitive => secret("null", attribute),
                    Some(value) if is_empty_text(value) && attribute.optional => plain("null", attribute),
                    Some(value) => plain(&json_text(value).unwrap_or_else(|| expression(value)), attribute),
                    None => plain("null", attribute),
                };
                return self.line(&format!("{name} = {text}"));
            }
            AttributeType::Plain(_) => return,
        };
        if attribute.sensitive || object.marks().has_sensitive() || value.as_ref().is_some_and(is_secret_itself) {
            let empty = if matches!(nested.nesting, Nesting::List | Nesting::Set) { "[]" } else { "{}" };
            return self.line(&format!("{name} = {}", secret(empty, attribute)));
        }
        match value.filter(|value| !value.is_null()) {
            Some(value) => self.nested_attribute(name, nested, &value),
            None => self.line(&format!("{name} = {}", plain("null", attribute))),
        }
    }

    fn nested_attribute(&mut self, name: &str, nested: &NestedAttribute, value: &Value) {
        match nested.nesting {
            Nesting::Single | Nesting::Group => {
                self.line(&format!("{name} = {{"));
                self.attributes(nested, value);
                self.line("}");
            }
            Nesting::List | Nesting::Set => {
                self.line(&format!("{name} = ["));
                for item in items(value) {
                    if is_secret_itself(&item) {
                        self.line("{}, # sensitive");
                        continue;
                    }
                    self.line("{");
                    self.attributes(nested, &item);
                    self.line("},");
                }
                self.line("]");
            }
            Nesting::Map => {
                self.line(&format!("{name} = {{"));
                for (key, item) in value.unmark().0.entries().unwrap_or_default() {
                    let key = name_text(&key);
                    if is_secret_itself(&item) {
                        self.line(&format!("{key} = {{}} # sensitive"));
                        continue;
                    }
                    self.line(&format!("{key} = {{"));
                    self.attributes(nested, &item);
                    self.line("}");
                }
                self.line("}");
            }
        }
    }

    fn attributes(&mut self, nested: &NestedAttribute, value: &Value) {
        for (name, attribute) in &nested.attributes {
            self.attribute(name, attribute, value);
        }
    }

    fn nested_block(&mut self, name: &str, nested: &NestedBlock, value: &Value) {
        if value.is_null() {
            return;
        }
        if is_secret_itself(value) {
            return self.line(&format!("{name} {{}} # sensitive"));
        }
        let blocks: Vec<(String, Value)> = match nested.nesting {
            Nesting::Single | Nesting::Group => vec![(name.to_owned(), value.clone())],
            Nesting::List | Nesting::Set => items(value).into_iter().map(|item| (name.to_owned(), item)).collect(),
            Nesting::Map => {
                let entries = value.unmark().0.entries().unwrap_or_default();
                entries.into_iter().map(|(key, item)| (format!("{name} {}", quoted(&key)), item)).collect()
            }
        };
        for (header, value) in blocks {
            if is_secret_itself(&value) {
                self.line(&format!("{header} {{}} # sensitive"));
                continue;
            }
            self.line(&format!("{header} {{"));
            self.block(&nested.block, &value);
            self.line("}");
        }
    }
}

fn plain(text: &str, attribute: &Attribute) -> String {
    if attribute.write_only { format!("{text} # write-only") } else { text.to_owned() }
}

fn secret(text: &str, attribute: &Attribute) -> String {
    format!("{text} # sensitive{}", if attribute.write_only { " write-only" } else { "" })
}

/// Something in it must not be shown.
fn is_secret(value: &Value) -> bool {
    value.marks_deep().has_sensitive()
}

/// It must not be shown as a whole.
fn is_secret_itself(value: &Value) -> bool {
    value.marks().has_sensitive()
}

fn is_empty_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.is_empty())
}

/// An attribute of an object, if it is known.
fn part(object: &Value, name: &str) -> Option<Value> {
    let (object, _) = object.unmark();
    let View::Object(values) = object.view_ignoring_marks() else { return None };
    let at = object.ty().attrs()?.iter().position(|attr| attr.name == name)?;
    values.get(at).filter(|value| value.is_known()).cloned()
}

/// The elements of a list, a set or a tuple; what is not known is null.
fn items(value: &Value) -> Vec<Value> {
    let (value, _) = value.unmark();
    match value.view_ignoring_marks() {
        View::List(items) | View::Set(items) | View::Tuple(items) => {
            let known = |item: &Value| if item.is_known() { item.clone() } else { Value::null(item.ty().clone()) };
            items.iter().map(known).collect()
        }
        _ => Vec::new(),
    }
}

/// A text that is a JSON object or array is easier to read as what it means.
fn json_text(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let meaning = json::decode_implied(text).ok()?;
    Some(format!("jsonencode({})", expression(&meaning)))
}

fn name_text(name: &str) -> String {
    if is_identifier(name) { name.to_owned() } else { quoted(name) }
}

/// A value as an expression: maps and objects span several lines, other values one.
fn expression(value: &Value) -> String {
    let mut out = String::new();
    write_expression(value, 0, &mut out);
    out
}

/// Values of providers are not deeper than that.
const DEPTH: u32 = 500;

fn write_expression(value: &Value, depth: u32, out: &mut String) {
    let (value, _) = value.unmark();
    match value.view_ignoring_marks() {
        View::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        View::Number(number) => write!(out, "{number}").expect("because writing to a string works"),
        View::String(text) => out.push_str(&quoted(text)),
        View::List(_) | View::Set(_) | View::Tuple(_) if depth < DEPTH => {
            out.push('[');
            for (at, item) in items(&value).iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_expression(item, depth + 1, out);
            }
            out.push(']');
        }
        View::Map(_) | View::Object(_) if depth < DEPTH => {
            let entries: Vec<(EcoString, Value)> = value.entries().unwrap_or_default();
            let known: Vec<_> = entries.iter().filter(|(_, value)| value.is_known()).collect();
            out.push_str(if known.is_empty() { "{" } else { "{\n" });
            for (name, value) in known {
                write!(out, "{} = ", name_text(name)).expect("because writing to a string works");
                write_expression(value, depth + 1, out);
                out.push('\n');
            }
            out.push('}');
        }
        _ => out.push_str("null"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use yuba_addrs::{ModulePath, ProviderSource};
    use yuba_value::{Mark, Type};

    use super::*;
    use crate::testing;

    fn check(addr: &str, schema: &BlockSchema, alias: Option<&str>, value: &Value, expect: &Expect) {
        let source = ProviderSource::implied_for("t").expect("because it is well-formed");
        let provider =
            AbsProviderConfig { module: ModulePath::ROOT, provider: source, alias: alias.map(EcoString::from) };
        let text = resource(&testing::addr_of(addr), &arguments(schema, value), &provider);
        expect.assert_eq(&(text + "\n"));
    }

    fn object(entries: Vec<(&str, Value)>) -> Value {
        Value::object(entries.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    #[test]
    fn attributes_by_their_schema() {
        let string = Type::string;
        let schema = BlockSchema::new([
            ("id", Attribute { computed: true, ..Attribute::optional(string()) }),
            ("arn", Attribute::computed(string())),
            ("name", Attribute::required(string())),
            ("empty", Attribute::optional(string())),
            ("needed", Attribute::required(string())),
            ("unset", Attribute::optional(Type::number())),
            ("password", Attribute { sensitive: true, ..Attribute::optional(string()) }),
            ("secret", Attribute { write_only: true, sensitive: true, ..Attribute::optional(string()) }),
            ("once", Attribute { write_only: true, ..Attribute::optional(string()) }),
            ("old", Attribute { deprecated: Some("".into()), ..Attribute::optional(string()) }),
            ("policy", Attribute::optional(string())),
            ("list", Attribute::optional(Type::list(Type::number()))),
            ("map", Attribute::optional(Type::map(string()))),
            ("marked", Attribute::optional(Type::list(string()))),
            ("later", Attribute::optional(string())),
        ]);
        let value = object(vec![
            ("id", Value::string("i")),
            ("arn", Value::string("x")),
            ("name", Value::string("a \"b\" ${c}\n")),
            ("empty", Value::string("")),
            ("needed", Value::string("")),
            ("unset", Value::null(Type::number())),
            ("password", Value::string("p")),
            ("secret", Value::null(string())),
            ("once", Value::null(string())),
            ("old", Value::string("o")),
            ("policy", Value::string(" {\"b\": [1, {\"x-y\": null}], \"a\": {}} ")),
            ("list", Value::tuple(vec![Value::int(1), Value::int(2)])),
            ("map", object(vec![("k", Value::string("v")), ("a b", Value::string("w"))])),
            ("marked", Value::tuple(vec![Value::string("s").mark(Mark::Sensitive)])),
            ("later", Value::unknown(string())),
        ]);
        check(
            "t_x.y",
            &schema,
            None,
            &value,
            &expect![[r#"
                resource "t_x" "y" {
                  empty = null
                  later = null
                  list  = [1, 2]
                  map = {
                    "a b" = "w"
                    k     = "v"
                  }
                  marked   = null # sensitive
                  name     = "a \"b\" $${c}\n"
                  needed   = ""
                  once     = null # write-only
                  password = null # sensitive
                  policy = jsonencode({
                    a = {}
                    b = [1, {
                      x-y = null
                    }]
                  })
                  secret = null # sensitive write-only
                  unset  = null
                }
            "#]],
        );
    }

    #[test]
    fn blocks_and_nested_attributes() {
        let inner = || [("v", Attribute::optional(Type::string()))];
        let block = |nesting| NestedBlock { nesting, min: 0, max: 0, block: BlockSchema::new(inner()) };
        let nested = |nesting| Attribute {
            ty: AttributeType::Nested(NestedAttribute {
                nesting,
                attributes: inner().into_iter().map(|(name, schema)| (name.into(), schema)).collect(),
            }),
            ..Attribute::optional(Type::string())
        };
        let schema = BlockSchema::new([
            ("single", nested(Nesting::Single)),
            ("none", nested(Nesting::Single)),
            ("list", nested(Nesting::List)),
            ("map", nested(Nesting::Map)),
            ("hidden", Attribute { sensitive: true, ..nested(Nesting::List) }),
        ])
        .with_blocks([
            ("one", block(Nesting::Single)),
            ("absent", block(Nesting::Single)),
            ("many", block(Nesting::List)),
            ("named", block(Nesting::Map)),
        ]);
        let item = |text: &str| object(vec![("v", Value::string(text))]);
        let value = object(vec![
            ("single", item("a")),
            ("none", Value::null(item("").ty().clone())),
            ("list", Value::tuple(vec![item("b"), item("c").mark(Mark::Sensitive)])),
            ("map", object(vec![("k", item("d"))])),
            ("hidden", Value::tuple(vec![])),
            ("one", item("e")),
            ("absent", Value::null(item("").ty().clone())),
            ("many", Value::tuple(vec![item("f"), item("g")])),
            ("named", object(vec![("k.k", item("h"))])),
        ]);
        check(
            "other_x.y",
            &schema,
            Some("west"),
            &value,
            &expect![[r#"
                resource "other_x" "y" {
                  provider = t.west
                  hidden   = [] # sensitive
                  list = [
                    {
                      v = "b"
                    },
                    {}, # sensitive
                  ]
                  map = {
                    k = {
                      v = "d"
                    }
                  }
                  none = null
                  single = {
                    v = "a"
                  }
                  many {
                    v = "f"
                  }
                  many {
                    v = "g"
                  }
                  named "k.k" {
                    v = "h"
                  }
                  one {
                    v = "e"
                  }
                }
            "#]],
        );
    }

    #[test]
    fn blocks_in_the_file() {
        assert_eq!(in_file("x", Some("a\"b")), "\n# __generated__ by Yuba from \"a\\\"b\"\nx\n");
        assert_eq!(in_file("x", None), "\n# __generated__ by Yuba\nx\n");
    }
}
