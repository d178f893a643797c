//! The provider that is built in: `terraform.io/builtin/terraform`.

mod functions;
mod provider;
mod remote_state;
mod terraform_data;

use std::sync::LazyLock;

use yuba_addrs::ResourceMode;
use yuba_value::Value;

use crate::problem::Problem;
use crate::schema::ProviderSchema;
use crate::schemas::Schemas;

pub use functions::{call_function, expression, signatures};
pub use provider::{EvaluatorFactory, IdSource, RemoteOutput, RemoteState, StateReader, Terraform};

/// The schema of the built-in provider.
pub static TERRAFORM: LazyLock<ProviderSchema> = LazyLock::new(|| ProviderSchema {
    resources: Schemas::from([("terraform_data", terraform_data::schema())]),
    data: Schemas::from([("terraform_remote_state", remote_state::schema())]),
    functions: signatures().iter().map(|signature| (signature.name.as_ref().into(), signature.clone())).collect(),
    ..ProviderSchema::default()
});

/// Diagnostics of the provider about the configuration of a resource, decoded by its schema.
pub fn validate_resource_config(mode: ResourceMode, kind: &str, config: &Value) -> Vec<Problem> {
    let (config, _) = config.unmark_deep();
    if config.is_null() || !config.is_known() {
        return Vec::new();
    }
    match (mode, kind) {
        (ResourceMode::Managed, "terraform_data") => terraform_data::validate(&config),
        (ResourceMode::Data, "terraform_remote_state") => remote_state::validate(&config),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use yuba_syntax::Diagnostics;

    use super::*;
    use crate::decode;
    use crate::testing::{Literals, parse, problems};

    fn check(mode: ResourceMode, text: &str, expect: Expect) {
        let (kind, schemas) = match mode {
            ResourceMode::Managed => ("terraform_data", &TERRAFORM.resources),
            _ => ("terraform_remote_state", &TERRAFORM.data),
        };
        let schema = schemas.get(kind).expect("the schema exists");
        let (file, sources) = parse(text);
        let (value, mut diagnostics) = decode(&file.body, &schema.block, &mut Literals);
        if !diagnostics.has_errors() {
            let found = validate_resource_config(mode, kind, &value);
            diagnostics = Diagnostics::new();
            diagnostics.extend(found.into_iter().map(|problem| problem.in_body(&file.body, None)));
        }
        expect.assert_eq(&problems(&diagnostics, &sources));
    }

    #[test]
    fn terraform_data_is_checked() {
        let check = |text, expect| check(ResourceMode::Managed, text, expect);
        check("input = { a = 1 }\ntriggers_replace = [1]\n", expect![""]);
        check(
            "id = \"x\"\noutput = 1\n",
            expect![[r#"
                - "id" attribute is read-only
                - "output" attribute is read-only
            "#]],
        );
        check(
            "foo = 1\ninput {}\ndynamic \"foo\" {\n  for_each = []\n  content {}\n}\n",
            expect![[r#"
                1:1-1:4 Unsupported argument
                2:1-2:6 Unsupported block type
                3:9-3:14 Unsupported block type
            "#]],
        );
    }

    #[test]
    fn terraform_remote_state_is_checked() {
        let check = |text, expect| check(ResourceMode::Data, text, expect);
        check("backend = \"local\"\nconfig = { path = \"a\" }\n", expect![""]);
        check(
            "",
            expect![[r#"
                1:1-1:1 Missing required argument
            "#]],
        );
        // The available backends and their arguments are known to the crate that reads their states.
        check("backend = \"nope\"\n", expect![""]);
        check(
            "backend = null\n",
            expect![[r#"
                1:11-1:15 Invalid backend configuration
            "#]],
        );
        check(
            "backend = \"local\"\nconfig = \"x\"\ndefaults = \"x\"\n",
            expect![[r#"
                2:10-2:13 Invalid backend configuration
                3:12-3:15 Invalid default values
            "#]],
        );
        check(
            "backend = \"local\"\nconfig = { path = 1 }\nworkspace = []\n",
            expect![[r#"
                3:13-3:15 Incorrect attribute value type
            "#]],
        );
    }
}
