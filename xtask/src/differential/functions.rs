//! Calls of every pure function, with arguments that suit their parameters and some that do not.

use serde_json::Value;

use super::expressions::expression;
use super::literals;
use super::random::Random;
use super::shapes::{Shape, shape};

/// Functions whose result is not determined by the arguments alone.
const IMPURE: [&str; 8] =
    ["timestamp", "plantimestamp", "uuid", "bcrypt", "rsadecrypt", "pathexpand", "abspath", "templatefile"];

struct Signature {
    name: String,
    returns: Value,
    parameters: Vec<(String, Value)>,
    variadic: Option<Value>,
}

/// The pure functions of the language, as the peer lists them.
pub(super) struct Functions(Vec<Signature>);

/// A random primitive type.
pub(super) fn primitive(random: &mut Random) -> Shape {
    [Shape::Text, Shape::Text, Shape::Number, Shape::Bool][random.below(4)].clone()
}

impl Functions {
    /// Reads the output of `metadata functions -json`.
    pub(super) fn read(json: &Value) -> Functions {
        let mut signatures = Vec::new();
        for (name, entry) in json["function_signatures"].as_object().into_iter().flatten() {
            if name.contains("::") || name.starts_with("file") || IMPURE.contains(&name.as_str()) {
                continue;
            }
            let parameters = entry["parameters"].as_array().cloned().unwrap_or_default();
            signatures.push(Signature {
                name: name.clone(),
                returns: entry["return_type"].clone(),
                parameters: parameters
                    .iter()
                    .map(|p| (p["name"].as_str().unwrap_or_default().to_owned(), p["type"].clone()))
                    .collect(),
                variadic: entry.get("variadic_parameter").map(|p| p["type"].clone()),
            });
        }
        Functions(signatures)
    }

    /// Number of functions.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// A call of the function with this index.
    pub(super) fn call_number(&self, random: &mut Random, index: usize, depth: usize) -> String {
        let signature = &self.0[index % self.0.len()];
        self.call(random, signature, depth)
    }

    /// A call whose result has, or may have, this type.
    pub(super) fn call_returning(&self, random: &mut Random, wanted: &Shape, depth: usize) -> String {
        let fits = |s: &&Signature| match (&s.returns, wanted) {
            (Value::String(word), Shape::Text) => word == "string" || word == "dynamic",
            (Value::String(word), Shape::Number) => word == "number" || word == "dynamic",
            (Value::String(word), Shape::Bool) => word == "bool" || word == "dynamic",
            (Value::String(word), _) => word == "dynamic",
            (Value::Array(parts), Shape::List(_)) => parts[0] == "list",
            (Value::Array(parts), Shape::Set(_)) => parts[0] == "set",
            (Value::Array(parts), Shape::Map(_)) => parts[0] == "map",
            _ => false,
        };
        let suited: Vec<&Signature> = self.0.iter().filter(fits).collect();
        if suited.is_empty() {
            return literals::string(random);
        }
        let signature = suited[random.below(suited.len())];
        self.call(random, signature, depth)
    }

    fn call(&self, random: &mut Random, signature: &Signature, depth: usize) -> String {
        let mut arguments = Vec::new();
        let common = shape(random, 1);
        for (name, kind) in &signature.parameters {
            arguments.push(self.argument(random, signature, name, kind, &common, depth));
        }
        if let Some(kind) = &signature.variadic {
            let most = if signature.name == "range" { 4 } else { 5 };
            for _ in 0..random.below(most) {
                arguments.push(self.argument(random, signature, "", kind, &common, depth));
            }
        }
        if random.chance(1) {
            arguments.pop();
        }
        if random.chance(1) {
            arguments.push(literals::number(random));
        }
        if signature.variadic.is_some() && random.chance(8) && !arguments.is_empty() {
            return format!("{}([{}]...)", signature.name, arguments.join(", "));
        }
        format!("{}({})", signature.name, arguments.join(", "))
    }

    fn argument(
        &self,
        random: &mut Random,
        signature: &Signature,
        name: &str,
        kind: &Value,
        common: &Shape,
        depth: usize,
    ) -> String {
        let function = signature.name.as_str();
        if function == "templatestring" && name == "data" {
            return "terraform_data.known.input".to_owned();
        }
        if random.chance(75)
            && let Some(text) = literals::suited(random, function, name)
        {
            return if random.chance(5) { format!("sensitive({text})") } else { text };
        }
        if kind == "number" && random.chance(80) {
            // Large numbers as sizes and counts make both tools run out of memory: that is not a question of the
            // language.
            return (random.below(12) as i64 - 2).to_string();
        }
        let wanted = match (function, name) {
            ("concat" | "setproduct" | "coalescelist" | "flatten" | "one" | "reverse" | "slice" | "element", _)
            | ("index" | "contains" | "sum", "list")
                if kind != "number" =>
            {
                if function == "sum" {
                    Shape::List(Box::new(Shape::Number))
                } else {
                    collection(random, common)
                }
            }
            ("merge" | "keys" | "values" | "lookup", "" | "inputMap" | "mapping") => {
                if random.chance(50) {
                    Shape::Map(Box::new(common.clone()))
                } else {
                    object(random, common)
                }
            }
            ("lookup", "key") => return format!("\"{}\"", literals::name(random)),
            ("templatestring", "vars") => {
                Shape::Object(vec![("a".to_owned(), common.clone()), ("b".to_owned(), Shape::Text)])
            }
            ("zipmap", "values") => collection(random, common),
            ("range", _) => return random.word(&["0", "1", "3", "-2", "10", "0.5", "1.5"]),
            (_, _) if kind == "dynamic" && random.chance(60) => common.clone(),
            _ => Shape::read(kind, random),
        };
        expression(random, self, &wanted, depth)
    }
}

fn collection(random: &mut Random, common: &Shape) -> Shape {
    match random.below(4) {
        0 => Shape::Set(Box::new(common.clone())),
        1 => Shape::Tuple(vec![common.clone(), shape(random, 1)]),
        _ => Shape::List(Box::new(common.clone())),
    }
}

fn object(random: &mut Random, common: &Shape) -> Shape {
    Shape::Object((0..random.below(3)).map(|_| (literals::name(random), common.clone())).collect())
}
