//! Instance keys: which of several instances of a resource, module or provider configuration.

use std::fmt;

use ecow::EcoString;
use yuba_syntax::expr::Literal;
use yuba_value::Number;

use crate::TemplateText;

/// Key of one of several instances. Numbers come before strings; where there is a choice, having no key comes before
/// both.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstanceKey {
    /// Of `count`.
    Int(i64),
    /// Of `for_each`.
    String(EcoString),
}

impl InstanceKey {
    /// Reads the key of an index step, or fails with the reason.
    pub fn from_literal(key: &Literal) -> Result<InstanceKey, &'static str> {
        match key {
            Literal::String(key) => Ok(InstanceKey::String(key.clone())),
            Literal::Int(key) => Ok(InstanceKey::Int(*key)),
            Literal::Number(text) => Number::parse(text)
                .and_then(|number| number.to_i64())
                .map(InstanceKey::Int)
                .ok_or("a number that selects an instance must be whole and of a reasonable size"),
            Literal::Null | Literal::Bool(_) => Err("it must be a string or a whole number"),
        }
    }
}

/// In brackets; a text as a quoted template that means itself.
impl fmt::Display for InstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstanceKey::Int(key) => write!(f, "[{key}]"),
            InstanceKey::String(key) => write!(f, "[{}]", TemplateText(key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_as_templates() {
        for (key, shown) in [
            ("", r#"[""]"#),
            ("a b", r#"["a b"]"#),
            ("\"\\\n\r\t", r#"["\"\\\n\r\t"]"#),
            ("${x} %{y} $ % $${", r#"["$${x} %%{y} $ % $$${"]"#),
            ("\u{7}\u{a0}é\u{e000}\u{10ffff}", r#"["\u0007\u00a0é\ue000\U0010ffff"]"#),
        ] {
            assert_eq!(InstanceKey::String(key.into()).to_string(), shown);
        }
        assert_eq!(InstanceKey::Int(-1).to_string(), "[-1]");
    }

    #[test]
    fn no_key_then_numbers_then_texts() {
        let text = |key: &str| Some(InstanceKey::String(key.into()));
        let mut keys = [text("b"), Some(InstanceKey::Int(10)), text("a"), None, Some(InstanceKey::Int(9))];
        keys.sort();
        assert_eq!(keys, [None, Some(InstanceKey::Int(9)), Some(InstanceKey::Int(10)), text("a"), text("b")]);
    }
}
