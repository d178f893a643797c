//! The functions that take regular expressions.

use super::arguments::{MAX_TEXT, too_long};
use crate::function::{Function, FunctionError, Param, Result};
use crate::regex::{Match, Regex, RegexError};
use crate::{EcoString, Type, Value, eco_format};

/// This family's rows of the table.
pub(crate) fn functions() -> Vec<Function> {
    let pattern = || Param::new("pattern", Type::string(), "A regular expression in RE2 syntax.");
    let string = || Param::new("string", Type::string(), "The string to search.");
    vec![
        Function::new(
            "regex",
            "Searches a string for a regular expression and returns the first match: its text, or a tuple or an object of \
             its capture groups. It is an error if there is no match.",
            [pattern(), string()],
            Type::dynamic(),
            regex,
        )
        .typed(regex_type),
        Function::new(
            "regexall",
            "Searches a string for a regular expression and returns the list of all matches that do not overlap.",
            [pattern(), string()],
            Type::list(Type::dynamic()),
            regexall,
        )
        .typed(|args| Ok(Type::list(regex_type(args)?))),
        Function::new(
            "replace",
            "Replaces every occurrence of a substring. A part written between slashes is a regular expression, and \
             the replacement can then refer to its capture groups.",
            [
                Param::new("str", Type::string(), "The string to search."),
                Param::new("substr", Type::string(), "The substring to replace, or a regular expression between slashes."),
                Param::new("replace", Type::string(), "The replacement."),
            ],
            Type::string(),
            replace,
        ),
    ]
}

fn compile(pattern: &str) -> Result<Regex> {
    Regex::compile(pattern).map_err(|error| FunctionError::arg(0, invalid(&error)))
}
fn invalid(error: &RegexError) -> EcoString {
    eco_format!("invalid regular expression: {error}")
}

/// The type of one match: the groups decide.
fn regex_type(args: &[Value]) -> Result<Type> {
    let Some(pattern) = args[0].as_str() else { return Ok(Type::dynamic()) };
    let regex = compile(pattern)?;
    let groups = regex.group_names();
    let named = groups.iter().flatten().count();
    if groups.is_empty() {
        Ok(Type::string())
    } else if named == 0 {
        Ok(Type::tuple(vec![Type::string(); groups.len()]))
    } else if named == groups.len() {
        Ok(Type::object(groups.iter().flatten().map(|name| (name.clone(), Type::string()))))
    } else {
        let message = "invalid regular expression: either all of its capture groups have names or none of them";
        Err(FunctionError::arg(0, message))
    }
}

/// One match as a value of the type that [`regex_type`] promised.
fn match_value(regex: &Regex, found: &Match, text: &str, ty: &Type) -> Value {
    let group = |index: usize| match found.text(index, text) {
        Some(text) => Value::string(text),
        // The group stands in a part of the pattern that took no part in the match.
        None => Value::null(Type::string()),
    };
    if ty.is_tuple() {
        Value::tuple((1..=regex.group_names().len()).map(group).collect())
    } else if ty.is_object() {
        let names = regex.group_names().iter().enumerate();
        Value::object(names.filter_map(|(i, name)| Some((name.clone()?, group(i + 1)))).collect())
    } else {
        group(0)
    }
}

fn texts(args: &[Value]) -> Option<(&EcoString, &EcoString)> {
    Some((args[0].as_str()?, args[1].as_str()?))
}

fn regex(args: &[Value], ty: &Type) -> Result {
    let Some((pattern, text)) = texts(args) else { return Ok(Value::unknown(ty.clone())) };
    let regex = compile(pattern)?;
    match regex.captures(text) {
        Some(found) => Ok(match_value(&regex, &found, text, ty)),
        None => Err(FunctionError::new("the pattern does not match any part of the string")),
    }
}

fn regexall(args: &[Value], ty: &Type) -> Result {
    let (Some((pattern, text)), Some(element)) = (texts(args), ty.element()) else {
        return Ok(Value::unknown(ty.clone()));
    };
    let regex = compile(pattern)?;
    let items = regex.captures_all(text).map(|found| match_value(&regex, &found, text, element)).collect();
    Ok(Value::list(element.clone(), items))
}

fn replace(args: &[Value], ty: &Type) -> Result {
    let (Some((text, part)), Some(with)) = (texts(args), args[2].as_str()) else {
        return Ok(Value::unknown(ty.clone()));
    };
    match part.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
        Some(pattern) => {
            let regex = Regex::compile(pattern).map_err(|error| FunctionError::new(invalid(&error)))?;
            regex.replace_all(text, with, MAX_TEXT).map(Value::string).ok_or_else(too_long)
        }
        None => {
            let growth = with.len().saturating_sub(part.len());
            if growth > 0 && growth.saturating_mul(text.matches(part.as_str()).count()) > MAX_TEXT {
                return Err(too_long());
            }
            Ok(Value::string(text.replace(part.as_str(), with)))
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(name: &str, args: &[&str], expect: &Expect) {
        let function = functions().into_iter().find(|f| f.signature.name == name).expect("a function of this family");
        let args: Vec<Value> = args.iter().map(|text| Value::from(*text)).collect();
        let text = match function.call(&args) {
            Ok(value) => format!("{value:?}"),
            Err(error) => format!("error {:?}: {error}", error.arg),
        };
        expect.assert_eq(&text);
    }

    #[test]
    fn groups_shape_the_result() {
        check("regex", &["[a-z]+", "53453453.345345aaabbbccc23454"], &expect![[r#""aaabbbccc""#]]);
        check("regex", &["(\\d+)-(\\d+)(x)?", "a 12-34"], &expect![[r#"tuple["12", "34", null(string)]"#]]);
        check("regex", &["(?P<y>\\d+)(?P<z>a)?", "12"], &expect![[r#"{y="12", z=null(string)}"#]]);
        check(
            "regex",
            &["(?P<a>x)(y)", "xy"],
            &expect![
                "error Some(0): invalid regular expression: either all of its capture groups have names or none of them"
            ],
        );
        check("regex", &["a+", "b"], &expect!["error None: the pattern does not match any part of the string"]);
        check(
            "regex",
            &["a(", "b"],
            &expect!["error Some(0): invalid regular expression: a closing ) is missing in a("],
        );
        check("regexall", &["[a-z]+", "1234abcd5678efgh9"], &expect![[r#"["abcd", "efgh"]"#]]);
        check("regexall", &["(a)(b)?", "aab"], &expect![[r#"[tuple["a", null(string)], tuple["a", "b"]]"#]]);
        check("regexall", &["x", "y"], &expect!["[]"]);
    }

    #[test]
    fn replaces_texts_and_patterns() {
        check("replace", &["1 + 2 + 3", "+", "-"], &expect![[r#""1 - 2 - 3""#]]);
        check("replace", &["hello world", "/(w)(.*d)/", "$2$1"], &expect![[r#""hello orldw""#]]);
        check("replace", &["abc", "", "-"], &expect![[r#""-a-b-c-""#]]);
        check("replace", &["a/b", "/", "|"], &expect![[r#""a|b""#]]);
        check("replace", &["ab", "//", "-"], &expect![[r#""-a-b-""#]]);
        check(
            "replace",
            &["ab", "/(/", ""],
            &expect!["error None: invalid regular expression: a closing ) is missing in ("],
        );
    }

    #[test]
    fn the_type_is_known_before_the_text() {
        let function = |name: &str| functions().into_iter().find(|f| f.signature.name == name).expect("of this family");
        let unknown = Value::unknown(Type::string());
        let call = |name: &str, pattern: Value| function(name).call(&[pattern, unknown.clone()]).expect("no error");
        expect!["unknown(tuple([string]))!"].assert_eq(&format!("{:?}", call("regex", Value::from("(a)"))));
        expect!["unknown(list(string))!"].assert_eq(&format!("{:?}", call("regexall", Value::from("a"))));
        expect!["unknown(any)"].assert_eq(&format!("{:?}", call("regex", unknown.clone())));
        expect!["unknown(list(any))!"].assert_eq(&format!("{:?}", call("regexall", unknown.clone())));
    }
}
