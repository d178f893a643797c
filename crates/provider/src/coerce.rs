//! Values made to conform to a schema, where there is no body to decode.

use ecow::{EcoString, eco_format};
use yuba_value::convert::{ConvertError, convert};
use yuba_value::{Path, Type, Value, View};

use crate::schema::{BlockSchema, NestedBlock, Nesting};

impl BlockSchema {
    /// The value as an object of this schema: attributes are converted, and what is missing is null or empty.
    pub fn coerce(&self, value: &Value) -> Result<Value, ConvertError> {
        coerce_block(self, value, &Path::new())
    }

    /// An object with all attributes unknown.
    pub fn unknown_value(&self) -> Value {
        let attrs = self.implied_type().attrs().unwrap_or_default();
        Value::structure(
            self.implied_type().clone(),
            attrs.iter().map(|attr| Value::unknown(attr.ty.clone())).collect(),
        )
    }
}

fn failed<T>(path: &Path, message: impl Into<EcoString>) -> Result<T, ConvertError> {
    Err(ConvertError { path: path.clone(), message: message.into() })
}

fn coerce_block(schema: &BlockSchema, value: &Value, path: &Path) -> Result<Value, ConvertError> {
    let ty = schema.implied_type();
    match value.view_ignoring_marks() {
        View::Null => return Ok(Value::null(ty.clone()).with_marks(value.marks())),
        View::Unknown(_) => return Ok(Value::unknown(ty.clone()).with_marks(value.marks())),
        _ => {}
    }
    let Some(given) = value.ty().attrs() else { return failed(path, "an object is required") };
    let is_known = |name: &EcoString| ty.attr_index(name).is_some();
    if let Some(unexpected) = given.iter().find(|attr| !is_known(&attr.name)) {
        return failed(path, eco_format!("there is no attribute {:?}", unexpected.name));
    }
    let get = |name: &str| match value.view_ignoring_marks() {
        View::Object(items) => value.ty().attr_index(name).and_then(|at| items.get(at)),
        _ => None,
    };
    let mut items = Vec::with_capacity(given.len());
    for (name, attribute) in schema.attributes() {
        let item = match get(name) {
            Some(item) => convert(item, &attribute.spec_type()).map_err(|mut error| {
                let steps = std::mem::take(&mut error.path.0);
                error.path = path.attr(name);
                error.path.0.extend(steps);
                error
            })?,
            None if attribute.computed || attribute.optional => Value::null(attribute.implied_type()),
            None => return failed(path, eco_format!("the attribute {name:?} is required")),
        };
        items.push((name.clone(), item));
    }
    for (name, nested) in schema.blocks() {
        let item = match get(name) {
            None => nested.empty_value(),
            Some(item) => coerce_nested(nested, item, &path.attr(name))?,
        };
        items.push((name.clone(), item));
    }
    Ok(Value::object(items).with_marks(value.marks()))
}

fn coerce_nested(nested: &NestedBlock, value: &Value, path: &Path) -> Result<Value, ConvertError> {
    if matches!(nested.nesting, Nesting::Single | Nesting::Group) {
        return coerce_block(&nested.block, value, path);
    }
    let element = nested.block.implied_type();
    let collection = || match nested.nesting {
        Nesting::Set => Type::set(element.clone()),
        Nesting::Map => Type::map(element.clone()),
        _ => Type::list(element.clone()),
    };
    let coerced = match value.view_ignoring_marks() {
        View::Null => Value::null(collection()),
        View::Unknown(_) => Value::unknown(collection()),
        View::Map(_) | View::Object(_) if nested.nesting == Nesting::Map => {
            let mut items = Vec::new();
            for (key, item) in value.entries().unwrap_or_default() {
                let path = path.index(Value::string(key.clone()));
                items.push((key, coerce_block(&nested.block, &item, &path)?));
            }
            match items.is_empty() {
                true => nested.empty_value(),
                false if nested.is_heterogeneous() => Value::object(items),
                false => Value::map(element.clone(), items),
            }
        }
        View::List(given) | View::Tuple(given) | View::Set(given) if nested.nesting != Nesting::Map => {
            let mut items = Vec::new();
            for (at, item) in (0i64..).zip(given) {
                items.push(coerce_block(&nested.block, item, &path.index(Value::int(at)))?);
            }
            match nested.nesting {
                _ if items.is_empty() => nested.empty_value(),
                Nesting::Set => Value::set(element.clone(), items),
                _ if nested.is_heterogeneous() => Value::tuple(items),
                _ => Value::list(element.clone(), items),
            }
        }
        _ => {
            return failed(
                path,
                if nested.nesting == Nesting::Map { "a map is required" } else { "a list is required" },
            );
        }
    };
    Ok(coerced.with_marks(value.marks()))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use yuba_syntax::{FileId, parser};

    use super::*;
    use crate::decode::{EvalExpr, LocalNames};
    use crate::diagnostics::path_text;
    use crate::schema::Attribute;
    use crate::testing::{Literals, show};

    fn check(text: &str, expect: Expect) {
        let inner = || BlockSchema::new([("a", Attribute::required(Type::string()))]);
        let schema = BlockSchema::new([
            ("name", Attribute::optional(Type::string())),
            ("need", Attribute::required(Type::number())),
        ])
        .with_blocks([
            ("list", NestedBlock::new(Nesting::List, inner())),
            ("map", NestedBlock::new(Nesting::Map, inner())),
            ("single", NestedBlock::new(Nesting::Single, inner())),
        ]);
        let (expr, _) = parser::parse_expression(FileId::default(), text.as_bytes());
        let value = Literals.eval(&expr, &LocalNames::default()).0;
        expect.assert_eq(&match schema.coerce(&value) {
            Ok(value) => show(&value),
            Err(error) => format!("{}: {}", path_text(&error.path), error.message),
        });
    }

    #[test]
    fn values_are_made_to_conform() {
        check("{ need = \"1\" }", expect!["{list=[] map=map{} name=null need=1 single=null}"]);
        check(
            "{ need = 1, name = 2, list = [{ a = 3 }], map = { k = { a = 4 } }, single = { a = true } }",
            expect![[r#"{list=[{a="3"}] map=map{k={a="4"}} name="2" need=1 single={a="true"}}"#]],
        );
        check("null", expect!["null"]);
        check("[]", expect![": an object is required"]);
        check("{}", expect![[r#": the attribute "need" is required"#]]);
        check("{ need = 1, more = 2 }", expect![[r#": there is no attribute "more""#]]);
        check("{ need = 1, list = [{}] }", expect![[r#".list[0]: the attribute "a" is required"#]]);
        check("{ need = 1, list = 5 }", expect![".list: a list is required"]);
        check("{ need = [] }", expect![".need: number required, but this is tuple"]);
    }
}
