//! Random expressions of a wanted type: mostly right, sometimes deliberately wrong.

use super::functions::Functions;
use super::literals;
use super::random::Random;
use super::shapes::{Shape, shape};

/// Names of values that a plan does not know yet, with their types; `batch` declares them.
pub(super) const UNKNOWN: [(&str, &str); 5] = [
    ("text", "\"a\""),
    ("number", "1"),
    ("list", "[\"a\", \"b\"]"),
    ("map", "{ a = \"x\", b = \"y\" }"),
    ("object", "{ a = \"x\", b = 2, c = [true] }"),
];

/// A constant of this type, without functions and references: for defaults.
pub(super) fn constant(random: &mut Random, wanted: &Shape, depth: usize) -> String {
    if random.chance(5) {
        return "null".to_owned();
    }
    if random.chance(5) {
        let other = shape(random, depth.min(1));
        return constant(random, &other, 0);
    }
    let item = |random: &mut Random, inner: &Shape| constant(random, inner, depth.saturating_sub(1));
    match wanted {
        Shape::Text => literals::string(random).replace("$${", "$ {").replace("%%{", "% {"),
        Shape::Number => literals::number(random),
        Shape::Bool => random.word(&["true", "false", "\"true\""]),
        Shape::List(inner) | Shape::Set(inner) => {
            list(&(0..random.below(3)).map(|_| item(random, inner)).collect::<Vec<_>>())
        }
        Shape::Map(inner) => object((0..random.below(3)).map(|i| (format!("k{i}"), item(random, inner))).collect()),
        Shape::Tuple(items) => list(&items.iter().map(|inner| item(random, inner)).collect::<Vec<_>>()),
        Shape::Object(attributes) => {
            let mut items = Vec::new();
            for (name, inner) in attributes {
                if !random.chance(10) {
                    items.push((name.clone(), item(random, inner)));
                }
            }
            object(items)
        }
    }
}

fn list(items: &[String]) -> String {
    format!("[{}]", items.join(", "))
}

fn object(items: Vec<(String, String)>) -> String {
    let items: Vec<String> = items.into_iter().map(|(name, value)| format!("{name} = {value}")).collect();
    format!("{{{}}}", items.join(", "))
}

/// A random expression that should have this type and nests about this deep.
pub(super) fn expression(random: &mut Random, functions: &Functions, wanted: &Shape, depth: usize) -> String {
    if random.chance(3) {
        let other = shape(random, 2);
        return expression(random, functions, &other, depth);
    }
    if random.chance(2) {
        return "null".to_owned();
    }
    if random.chance(4) {
        return unknown(random, wanted);
    }
    if depth == 0 {
        return leaf(random, functions, wanted);
    }
    match random.below(20) {
        0..=3 => leaf(random, functions, wanted),
        4..=9 => functions.call_returning(random, wanted, depth - 1),
        10 => {
            let condition = expression(random, functions, &Shape::Bool, depth - 1);
            let yes = expression(random, functions, wanted, depth - 1);
            let no = expression(random, functions, wanted, depth - 1);
            format!("({condition} ? {yes} : {no})")
        }
        11 => format!("sensitive({})", expression(random, functions, wanted, depth - 1)),
        12 => indexed(random, functions, wanted, depth - 1),
        13 => format!("try({}, {})", expression(random, functions, wanted, depth - 1), leaf(random, functions, wanted)),
        14 => format!("({})", expression(random, functions, wanted, depth - 1)),
        _ => composed(random, functions, wanted, depth - 1),
    }
}

/// A value of this type that only apply knows.
fn unknown(random: &mut Random, wanted: &Shape) -> String {
    let name = match wanted {
        Shape::Text => random.word(&["text", "text", "number"]),
        Shape::Number => "number".to_owned(),
        Shape::Bool => return "terraform_data.object.output.c[0]".to_owned(),
        Shape::List(_) | Shape::Set(_) | Shape::Tuple(_) => "list".to_owned(),
        Shape::Map(_) => "map".to_owned(),
        Shape::Object(_) => "object".to_owned(),
    };
    let value =
        if random.chance(20) { "terraform_data.text.id".to_owned() } else { format!("terraform_data.{name}.output") };
    match wanted {
        Shape::List(_) if random.chance(50) => format!("tolist({value})"),
        Shape::Set(_) => format!("toset({value})"),
        Shape::Map(_) if random.chance(50) => format!("tomap({value})"),
        _ => value,
    }
}

fn leaf(random: &mut Random, functions: &Functions, wanted: &Shape) -> String {
    match wanted {
        Shape::Text => literals::string(random),
        Shape::Number => literals::number(random),
        Shape::Bool => random.word(&["true", "false"]),
        _ => composed(random, functions, wanted, 0),
    }
}

/// An element or attribute taken out of a collection that is made for it.
fn indexed(random: &mut Random, functions: &Functions, wanted: &Shape, depth: usize) -> String {
    let one = expression(random, functions, wanted, depth.min(1));
    let two = expression(random, functions, wanted, depth.min(1));
    let name = literals::name(random);
    match random.below(6) {
        0 => format!("[{one}, {two}][{}]", random.word(&["0", "1", "2", "-1", "\"1\"", "0.5"])),
        1 => format!("{{ {name} = {one}, z = {two} }}.{name}"),
        2 => format!("{{ {name} = {one}, z = {two} }}[\"{}\"]", random.word(&["z", "a", "missing"])),
        3 => format!("[{{ {name} = {one} }}, {{ {name} = {two} }}][*].{name}[{}]", random.below(3)),
        4 => format!("tolist([{one}, {two}])[{}]", random.below(3)),
        _ => format!("tomap({{ {name} = {one}, z = {two} }}).{}", random.word(&["z", "a", "b"])),
    }
}

fn composed(random: &mut Random, functions: &Functions, wanted: &Shape, depth: usize) -> String {
    match wanted {
        Shape::Text => template(random, functions, depth),
        Shape::Number => arithmetic(random, functions, depth),
        Shape::Bool => logic(random, functions, depth),
        Shape::List(inner) => sequence(random, functions, inner, depth),
        Shape::Set(inner) => format!("toset({})", sequence(random, functions, inner, depth)),
        Shape::Map(inner) => {
            let items = (0..random.below(4))
                .map(|i| (key(random, i), expression(random, functions, inner, depth.saturating_sub(1))))
                .collect();
            let text = object(items);
            match random.below(4) {
                0 => text,
                1 => {
                    format!("{{ for k, v in {text} : {} => v }}", random.word(&["k", "upper(k)", "\"x\"", "\"x${k}\""]))
                }
                _ => format!("tomap({text})"),
            }
        }
        Shape::Tuple(items) => {
            let item = |inner| expression(random, functions, inner, depth.saturating_sub(1));
            list(&items.iter().map(item).collect::<Vec<_>>())
        }
        Shape::Object(attributes) => object(
            attributes
                .iter()
                .map(|(name, inner)| (name.clone(), expression(random, functions, inner, depth.saturating_sub(1))))
                .collect(),
        ),
    }
}

fn key(random: &mut Random, index: usize) -> String {
    match random.below(8) {
        0 => format!("\"k {index}\""),
        1 => format!("(upper(\"k{index}\"))"),
        2 => format!("\"${{1 + {index}}}\""),
        3 => index.to_string(),
        4 => literals::name(random),
        _ => format!("k{index}"),
    }
}

fn sequence(random: &mut Random, functions: &Functions, inner: &Shape, depth: usize) -> String {
    let items: Vec<String> =
        (0..random.below(4)).map(|_| expression(random, functions, inner, depth.saturating_sub(1))).collect();
    let text = list(&items);
    match random.below(9) {
        0 => format!("[for v in {text} : v]"),
        1 => format!("[for i, v in {text} : v if i {} 1]", random.word(&["!=", "<", ">=", "=="])),
        2 => format!("[for k, v in {{ b = {text}, a = [] }} : v if length(v) > 0]"),
        3 => format!("{text}[*]"),
        4 => format!("tolist({text})"),
        5 => format!("{{ for i, v in {text} : \"k${{i % 2}}\" => v... }}"),
        _ => text,
    }
}

fn template(random: &mut Random, functions: &Functions, depth: usize) -> String {
    let part = |random: &mut Random| {
        let wanted = if random.chance(85) { super::functions::primitive(random) } else { shape(random, 1) };
        expression(random, functions, &wanted, depth.saturating_sub(1))
    };
    match random.below(7) {
        0 => format!("\"${{{}}}\"", part(random)),
        1 => format!("\"<${{{}}}|${{{}}}>\"", part(random), part(random)),
        2 => format!(
            "\"%{{ if {} }}yes%{{ else }}${{{}}}%{{ endif }}\"",
            expression(random, functions, &Shape::Bool, 1),
            part(random)
        ),
        3 => format!("\"%{{ for v in [{}, {}] }}${{v}},%{{ endfor }}\"", part(random), part(random)),
        4 => format!("\"a ~ %{{~ if true ~}}  ${{~ {} ~}}  %{{~ endif ~}} b\"", part(random)),
        5 => format!("\"%{{ for k, v in {{ x = {} }} }}${{k}}=${{v}}%{{ endfor }}\"", part(random)),
        _ => literals::string(random),
    }
}

fn arithmetic(random: &mut Random, functions: &Functions, depth: usize) -> String {
    let left = expression(random, functions, &Shape::Number, depth);
    if random.chance(12) {
        return format!("-{left}");
    }
    let right = expression(random, functions, &Shape::Number, depth.saturating_sub(1));
    format!("({left} {} {right})", random.word(&["+", "-", "*", "/", "%"]))
}

fn logic(random: &mut Random, functions: &Functions, depth: usize) -> String {
    match random.below(4) {
        0 => format!("!{}", expression(random, functions, &Shape::Bool, depth)),
        1 => {
            let left = expression(random, functions, &Shape::Bool, depth);
            let right = expression(random, functions, &Shape::Bool, depth);
            format!("({left} {} {right})", random.word(&["&&", "||"]))
        }
        2 => {
            let left = expression(random, functions, &Shape::Number, depth);
            let right = expression(random, functions, &Shape::Number, depth);
            format!("({left} {} {right})", random.word(&["<", "<=", ">", ">="]))
        }
        _ => {
            let wanted = shape(random, 2);
            let left = expression(random, functions, &wanted, depth);
            let right = expression(random, functions, &wanted, depth);
            format!("({left} {} {right})", random.word(&["==", "!="]))
        }
    }
}
