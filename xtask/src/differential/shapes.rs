//! The types that random expressions are made for.

use super::random::Random;

/// A type that an expression should have.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    Text,
    Number,
    Bool,
    List(Box<Shape>),
    Set(Box<Shape>),
    Map(Box<Shape>),
    Object(Vec<(String, Shape)>),
    Tuple(Vec<Shape>),
}

/// A random type that nests at most this deep.
pub(super) fn shape(random: &mut Random, depth: usize) -> Shape {
    match random.below(if depth == 0 { 6 } else { 12 }) {
        0..=2 => Shape::Text,
        3 | 4 => Shape::Number,
        5 => Shape::Bool,
        6 | 7 => Shape::List(Box::new(shape(random, depth - 1))),
        8 => Shape::Set(Box::new(shape(random, depth - 1))),
        9 => Shape::Map(Box::new(shape(random, depth - 1))),
        10 => Shape::Object(attributes(random, depth)),
        _ => Shape::Tuple((0..random.below(4)).map(|_| shape(random, depth - 1)).collect()),
    }
}

fn attributes(random: &mut Random, depth: usize) -> Vec<(String, Shape)> {
    let names = ["a", "b", "c", "name", "size"];
    let first = random.below(names.len());
    (0..random.below(4)).map(|i| (names[(first + i) % names.len()].to_owned(), shape(random, depth - 1))).collect()
}

impl Shape {
    /// Reads a type as `metadata functions -json` writes it; `dynamic` becomes any type.
    pub(super) fn read(json: &serde_json::Value, random: &mut Random) -> Shape {
        if let Some(word) = json.as_str() {
            return match word {
                "string" => Shape::Text,
                "number" => Shape::Number,
                "bool" => Shape::Bool,
                _ => shape(random, 2),
            };
        }
        let inner = |random: &mut Random| Box::new(Shape::read(&json[1], random));
        match json[0].as_str() {
            Some("list") => Shape::List(inner(random)),
            Some("set") => Shape::Set(inner(random)),
            Some("map") => Shape::Map(inner(random)),
            _ => shape(random, 2),
        }
    }

    /// The type constraint that a variable of this type has, with some attributes optional.
    pub(super) fn constraint(&self, random: &mut Random) -> String {
        if random.chance(6) {
            return "any".to_owned();
        }
        match self {
            Shape::Text => "string".to_owned(),
            Shape::Number => "number".to_owned(),
            Shape::Bool => "bool".to_owned(),
            Shape::List(inner) => format!("list({})", inner.constraint(random)),
            Shape::Set(inner) => format!("set({})", inner.constraint(random)),
            Shape::Map(inner) => format!("map({})", inner.constraint(random)),
            Shape::Tuple(items) => {
                format!("tuple([{}])", items.iter().map(|i| i.constraint(random)).collect::<Vec<_>>().join(", "))
            }
            Shape::Object(attributes) => {
                let mut parts: Vec<String> = Vec::new();
                for (name, shape) in attributes {
                    parts.push(format!("{name} = {}", optional(random, shape)));
                }
                if random.chance(30) {
                    let extra = super::shapes::shape(random, 1);
                    parts.push(format!("extra = {}", optional(random, &extra)));
                }
                format!("object({{{}}})", parts.join(", "))
            }
        }
    }
}

fn optional(random: &mut Random, shape: &Shape) -> String {
    let constraint = shape.constraint(random);
    match random.below(6) {
        0 => format!("optional({constraint})"),
        1 => format!("optional({constraint}, {})", super::expressions::constant(random, shape, 1)),
        2 => format!("optional({constraint}, null)"),
        _ => constraint,
    }
}
