//! The pure functions of the language, one file per family.
//!
//! Each family has `pub(crate) fn functions() -> Vec<Function>`; [`all`] is the table.

mod arguments;
mod charset;
pub mod cidr;
pub mod collection;
pub mod conversion;
pub mod crypto;
pub mod csv;
pub mod datetime;
pub mod encoding;
pub mod format;
mod gzip;
mod identity;
pub mod json;
mod letters;
pub mod mapping;
pub mod number;
pub mod path;
pub mod pattern;
mod rsa;
pub mod sensitivity;
pub mod sequence;
pub mod set;
pub mod string;
pub mod timestamp;
pub mod yaml;

use crate::function::Function;

/// All pure functions, in no particular order.
pub fn all() -> Vec<Function> {
    let mut table = Vec::with_capacity(128);
    table.extend(cidr::functions());
    table.extend(collection::functions());
    table.extend(conversion::functions());
    table.extend(crypto::functions());
    table.extend(csv::functions());
    table.extend(datetime::functions());
    table.extend(encoding::functions());
    table.extend(format::functions());
    table.extend(mapping::functions());
    table.extend(json::functions());
    table.extend(number::functions());
    table.extend(path::functions());
    table.extend(pattern::functions());
    table.extend(sensitivity::functions());
    table.extend(sequence::functions());
    table.extend(set::functions());
    table.extend(string::functions());
    table.extend(yaml::functions());
    table
}

/// Calls by name and their results as text: one line per call.
#[cfg(test)]
mod testing {
    use std::fmt::Write;

    use expect_test::Expect;

    use crate::{EcoString, Type, Value};

    pub(super) fn check(calls: &[(&str, Vec<Value>)], expect: &Expect) {
        let table = super::all();
        let mut out = String::new();
        for (name, args) in calls {
            let function = table.iter().find(|f| f.signature.name == *name).expect("the function exists");
            let shown: Vec<String> = args.iter().map(|v| shorten(format!("{v:?}"))).collect();
            let answer = match function.call(args) {
                Ok(value) => shorten(format!("{value:?}")),
                Err(error) => match error.arg {
                    Some(index) => format!("error in argument {index}: {error}"),
                    None => format!("error: {error}"),
                },
            };
            writeln!(out, "{name}({}) = {answer}", shown.join(", ")).expect("writing to a string works");
        }
        expect.assert_eq(&out);
    }

    fn shorten(text: String) -> String {
        if text.chars().count() <= 200 { text } else { text.chars().take(60).chain("...".chars()).collect() }
    }

    pub(super) fn s(text: &str) -> Value {
        Value::string(text)
    }
    pub(super) fn n(number: i64) -> Value {
        Value::int(number)
    }
    pub(super) fn list(items: impl IntoIterator<Item = Value>) -> Value {
        let items: Vec<Value> = items.into_iter().collect();
        Value::list(items.first().map_or_else(Type::dynamic, |v| v.ty().clone()), items)
    }
    pub(super) fn set(items: impl IntoIterator<Item = Value>) -> Value {
        let items: Vec<Value> = items.into_iter().collect();
        Value::set(items.first().map_or_else(Type::dynamic, |v| v.ty().clone()), items)
    }
    pub(super) fn tuple(items: impl IntoIterator<Item = Value>) -> Value {
        Value::tuple(items.into_iter().collect())
    }
    pub(super) fn map<const N: usize>(items: [(&str, Value); N]) -> Value {
        let element = items.first().map_or_else(Type::dynamic, |(_, v)| v.ty().clone());
        Value::map(element, items.into_iter().map(|(k, v)| (EcoString::from(k), v)).collect())
    }
    pub(super) fn obj<const N: usize>(items: [(&str, Value); N]) -> Value {
        Value::object(items.into_iter().map(|(k, v)| (EcoString::from(k), v)).collect())
    }
    pub(super) fn unknown(ty: Type) -> Value {
        Value::unknown(ty)
    }
    /// A list of one text and one null.
    pub(super) fn nulls() -> Value {
        list([s("a"), Value::null(Type::string())])
    }
}
