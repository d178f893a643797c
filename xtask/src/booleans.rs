//! Boolean parameters: a call such as `check(value, true)` does not show what is true. An enum or a named function does.
//!
//! The number that each crate still has may only go down.

use std::collections::BTreeMap;

use crate::absences::{is_test_file, shipped_lines};

/// Boolean parameters that are left, by crate. Crates without a row have none.
const LEFT: [(&str, usize); 13] = [
    ("backend", 8),
    ("cli", 2),
    ("config", 1),
    ("engine", 1),
    ("eval", 9),
    ("install", 5),
    ("plugin", 2),
    ("provider", 3),
    ("session", 1),
    ("state", 1),
    ("syntax", 4),
    ("value", 13),
    ("view", 9),
];

/// Parameters that hold a boolean value of a user or of a format, rather than a choice of the caller.
const VALUES: [&str; 2] = ["value", "flag"];

/// Compares the number of boolean parameters of each crate with the table.
pub(crate) fn check(files: &[(String, String)], breaches: &mut Vec<String>) {
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, text) in files {
        let Some((owner, _)) = path.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/")) else { continue };
        if !is_test_file(path) && !["testkit", "testprovider"].contains(&owner) {
            let names = boolean_parameters(text).into_iter().map(|name| format!("{path}: {name}"));
            found.entry(owner).or_default().extend(names);
        }
    }
    for (owner, names) in &found {
        let left = LEFT.iter().find(|(name, _)| name == owner).map_or(0, |(_, left)| *left);
        if names.len() > left {
            let list = names.join("\n  ");
            breaches.push(format!(
                "crates/{owner}: {} boolean parameters, {left} are allowed; use an enum or a named function:\n  {list}",
                names.len()
            ));
        } else if names.len() < left {
            breaches.push(format!("xtask/src/booleans.rs: crate `{owner}` has {} left; lower the figure", names.len()));
        }
    }
}

/// Boolean parameters of functions, as `function(parameter)`.
fn boolean_parameters(text: &str) -> Vec<String> {
    let code: String = shipped_lines(text).flat_map(|(_, line)| [line, "\n"]).collect();
    let mut found = Vec::new();
    let mut rest = code.as_str();
    while let Some(start) = rest.find("fn ") {
        let is_word = !rest[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        rest = &rest[start + 3..];
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        rest = &rest[name.len()..];
        let open = if rest.starts_with('<') { bracketed(rest).0 } else { 0 };
        if !is_word || name.is_empty() || !rest[open..].starts_with('(') {
            continue;
        }
        let (_, parameters) = bracketed(&rest[open..]);
        for parameter in parameters.split(',') {
            if let Some((parameter, "bool")) = parameter.split_once(':').map(|(name, ty)| (name.trim(), ty.trim()))
                && !VALUES.contains(&parameter)
            {
                found.push(format!("{name}({parameter})"));
            }
        }
        rest = &rest[open..];
    }
    found
}

/// The length of the brackets that a text begins with, and the text between them without what is in brackets of any kind.
fn bracketed(text: &str) -> (usize, String) {
    let (mut depth, mut inside) = (0_usize, String::new());
    let mut previous = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            // The arrow of a function type.
            '>' if previous == '-' || previous == '=' => {}
            ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
            _ if depth == 1 => inside.push(c),
            _ => {}
        }
        if depth == 0 {
            return (at + c.len_utf8(), inside);
        }
        previous = c;
    }
    (text.len(), inside)
}

#[cfg(test)]
mod tests {
    use super::boolean_parameters;

    #[test]
    fn boolean_parameters_are_found() {
        for (text, expected) in [
            ("fn f(a: bool) {}", "f(a)"),
            ("fn f<T: Fn(bool) -> bool>(&self, a: T,\n    mut b: bool,\n) -> bool {\n    g(true)\n}", "f(mut b)"),
            ("fn f(value: bool, a: &dyn Fn(bool) -> bool, b: (bool, bool), c: Vec<bool>) {}", ""),
            ("// fn f(a: bool)\nstruct S { a: bool }\nfn g() { let h = |x: bool| x; }", ""),
            ("#[cfg(test)]\nmod tests {\n    fn f(a: bool) {}\n}\nfn g(x: u8, is_on: bool) {}", "g(is_on)"),
        ] {
            assert_eq!(boolean_parameters(text).join(" "), expected, "{text}");
        }
    }
}
