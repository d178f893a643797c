//! Output of `validate -json`.

use yuba_syntax::{Diagnostics, Sources};
use yuba_value::function::Signature;

use crate::diagnostic_json;
use crate::json::JsonValue;
use crate::snippet::Excerpts;

/// The version of this format.
const FORMAT_VERSION: &str = "1.0";

/// The result of a validation. `signature` finds the signature of a function by the name it was called by.
pub fn render(
    diagnostics: &Diagnostics,
    sources: &Sources,
    signature: &dyn Fn(&str) -> Option<Signature>,
) -> JsonValue {
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    let excerpts = Excerpts::new(sources);
    let rendered = diagnostics.iter().map(|diagnostic| diagnostic_json::render(diagnostic, &excerpts, signature));
    JsonValue::object([
        ("format_version", JsonValue::from(FORMAT_VERSION)),
        ("valid", JsonValue::Bool(errors == 0)),
        ("error_count", JsonValue::from(errors)),
        ("warning_count", JsonValue::from(diagnostics.len() - errors)),
        ("diagnostics", JsonValue::Array(rendered.collect())),
    ])
}

#[cfg(test)]
mod tests {
    use yuba_syntax::Severity;

    use super::*;

    #[test]
    fn errors_and_warnings_are_counted() {
        let mut diagnostics = Diagnostics::new();
        let check = |diagnostics: &Diagnostics, expected: &str| {
            assert_eq!(render(diagnostics, &Sources::new(), &|_| None).compact(), expected);
        };
        check(
            &diagnostics,
            r#"{"format_version":"1.0","valid":true,"error_count":0,"warning_count":0,"diagnostics":[]}"#,
        );
        diagnostics.push(crate::testing::diagnostic(Severity::Warning, "W", "w"));
        let warning = r#"{"severity":"warning","summary":"W","detail":"w","code":"test"}"#;
        let head = r#"{"format_version":"1.0","valid":true,"error_count":0,"warning_count":1,"diagnostics":["#;
        check(&diagnostics, &format!("{head}{warning}]}}"));
        diagnostics.push(crate::testing::diagnostic(Severity::Error, "E", "e"));
        let error = r#"{"severity":"error","summary":"E","detail":"e","code":"test"}"#;
        let head = r#"{"format_version":"1.0","valid":false,"error_count":1,"warning_count":1,"diagnostics":["#;
        check(&diagnostics, &format!("{head}{warning},{error}]}}"));
    }
}
