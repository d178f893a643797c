//! Properties of evaluation that hold for any expression.

use proptest::prelude::*;

use super::tests::outcome;

/// Expressions made of all constructs; most are wrong in some way.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "null",
        "true",
        "1",
        "-0.5",
        "\"a\"",
        "\"\"",
        "[]",
        "{}",
        "u_any",
        "u_bool",
        "u_number",
        "u_string",
        "u_list",
        "u_map",
        "u_object",
        "u_objects",
        "secret",
        "s_list",
        "s_true",
        "five",
        "object",
        "x",
        "1e400",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(5, 40, 4, |inner| {
        let op = prop::sample::select(vec!["+", "-", "*", "/", "%", "==", "!=", "<", ">=", "&&", "||"]);
        let function = prop::sample::select(vec![
            "upper",
            "length",
            "keys",
            "try",
            "can",
            "max",
            "concat",
            "merge",
            "tolist",
            "toset",
            "tomap",
            "tostring",
            "sensitive",
            "nonsensitive",
            "lookup",
            "element",
            "flatten",
            "coalesce",
            "templatestring",
        ]);
        prop_oneof![
            (inner.clone(), op, inner.clone()).prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            (function, prop::collection::vec(inner.clone(), 0..3)).prop_map(|(f, a)| format!("{f}({})", a.join(", "))),
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{a = {a}, ({b}) = 1}}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[for x in {a} : {b}]")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("{{for k, x in {a} : {b} => x... if {c}}}")),
            inner.clone().prop_map(|a| format!("({a})[*].a")),
            inner.clone().prop_map(|a| format!("({a}).a")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[{b}]")),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| format!("\"a${{{a}}}%{{ for x in {b} }}${{x}}%{{ endfor }}\"")),
            inner.clone().prop_map(|a| format!("!{a}")),
            inner.prop_map(|a| format!("max({a}...)")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn evaluation_never_panics(text in expression()) {
        outcome(&text);
    }

    /// The result of a sensitive operand is sensitive, except after `nonsensitive`, or if only its shape is used.
    #[test]
    fn secrets_are_never_shown(text in expression()) {
        prop_assume!(!text.contains("nonsensitive"));
        let shown = outcome(&text);
        prop_assert!(!shown.to_lowercase().contains("s3cret"), "{} => {}", text, shown);
    }
}
