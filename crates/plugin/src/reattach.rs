//! Providers attached to running processes, such as a debugger or the test of a provider: `TF_REATTACH_PROVIDERS`.

use std::collections::BTreeMap;

use ecow::{EcoString, eco_format};
use serde_json::Value as Json;
use yuba_addrs::ProviderSource;
use yuba_syntax::Diagnostic;

use crate::diagnostics;
use crate::settings::Address;
use crate::wire::Protocol;

/// A provider that runs already.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reattach {
    /// Its protocol version.
    pub protocol: Protocol,
    /// Its address.
    pub address: Address,
    /// It ends by itself; otherwise it is asked to end when it is no longer needed.
    pub test: bool,
}

/// Reads the variable `TF_REATTACH_PROVIDERS`: a JSON object of providers by source.
pub fn reattached(env: &str) -> Result<BTreeMap<ProviderSource, Reattach>, Diagnostic> {
    if env.is_empty() {
        return Ok(BTreeMap::new());
    }
    read(env).map_err(|reason| diagnostics::invalid_reattach(&reason))
}

/// The error is part of a sentence.
fn read(env: &str) -> Result<BTreeMap<ProviderSource, Reattach>, EcoString> {
    let json: Json = serde_json::from_str(env).map_err(|error| eco_format!("it is not valid JSON ({error})"))?;
    let Json::Object(providers) = json else { return Err("it is not a JSON object of providers by source".into()) };
    providers
        .into_iter()
        .map(|(source, described)| {
            let about = |reason: EcoString| eco_format!("provider {source:?}: {reason}");
            let parsed = ProviderSource::parse(&source).map_err(|error| {
                let explanation = error.diagnostic().explanation();
                eco_format!("{source:?} is not the source of a provider: {}", explanation.trim_end_matches('.'))
            })?;
            let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
            let transport = text(&described["Protocol"]);
            if transport != "grpc" {
                return Err(about(eco_format!("\"Protocol\" is {transport:?}, and only \"grpc\" is supported")));
            }
            // Libraries of providers did not say it at first, and those spoke protocol 5.
            let number = described["ProtocolVersion"].as_u64().filter(|number| *number != 0).unwrap_or(5);
            let protocol = u32::try_from(number).ok().and_then(Protocol::from_number);
            let Some(protocol) = protocol else {
                return Err(about(eco_format!("\"ProtocolVersion\" is {number}, and only 5 and 6 are supported")));
            };
            let address = &described["Addr"];
            let address = Address::parse(&text(&address["Network"]), &text(&address["String"]))
                .map_err(|reason| about(eco_format!("\"Addr\" is invalid, because {reason}")))?;
            let test = described["Test"].as_bool().unwrap_or(false);
            Ok((parsed, Reattach { protocol, address, test }))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(env: &str, expect: &Expect) {
        expect.assert_eq(&match reattached(env) {
            Ok(found) => found.iter().map(|(source, how)| format!("{source}: {how:?}\n")).collect::<String>(),
            Err(problem) => format!("{}: {}\n", problem.summary, problem.detail),
        });
    }

    #[test]
    fn providers_that_run_already() {
        check("", &expect![[""]]);
        check(
            r#"{"time": {"Protocol": "grpc", "ProtocolVersion": 6, "Pid": 1, "Test": true, "Addr": {"Network": "unix", "String": "/tmp/s"}},
                "example.com/a/b": {"Protocol": "grpc", "Addr": {"Network": "tcp", "String": "127.0.0.1:5"}}}"#,
            &expect![[r#"
                example.com/a/b: Reattach { protocol: V5, address: Tcp(127.0.0.1:5), test: false }
                registry.opentofu.org/hashicorp/time: Reattach { protocol: V6, address: Unix("/tmp/s"), test: true }
            "#]],
        );
    }

    #[test]
    fn errors_are_reported() {
        let start = "Invalid TF_REATTACH_PROVIDERS: ";
        let problem = |env: &str| match reattached(env) {
            Ok(_) => "nothing".to_owned(),
            Err(problem) => format!("{}: {}", problem.summary, problem.detail),
        };
        for (env, part) in [
            ("{", "it is not valid JSON"),
            ("[]", "not a JSON object"),
            (r#"{"a/b/c/d": {}}"#, "\"a/b/c/d\" is not the source"),
            (r#"{"a": {"Protocol": "netrpc"}}"#, "provider \"a\": \"Protocol\" is \"netrpc\""),
            (r#"{"a": {"Protocol": "grpc", "ProtocolVersion": 4}}"#, "\"ProtocolVersion\" is 4"),
            (r#"{"a": {"Protocol": "grpc"}}"#, "the network \"\" is neither"),
            (r#"{"a": {"Protocol": "grpc", "Addr": {"Network": "tcp", "String": "x"}}}"#, "\"x\" is not an address"),
        ] {
            let problem = problem(env);
            assert!(problem.starts_with(start) && problem.contains(part), "{env}: {problem}");
        }
    }
}
