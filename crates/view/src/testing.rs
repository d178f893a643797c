//! Plans made by hand, for tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use yuba_addrs::{AbsProviderConfig, AbsResourceInstance, ModulePath, ProviderSource};
use yuba_plan::{Action, ExecGraph, Mode, OutputChange, Plan, Reason, ResourceChange};
use yuba_state::State;
use yuba_syntax::FileId;
use yuba_value::Value;

pub(crate) fn addr(text: &str) -> AbsResourceInstance {
    AbsResourceInstance::parse_text(FileId(0), text).expect("because it is well-formed")
}

pub(crate) fn provider() -> AbsProviderConfig {
    AbsProviderConfig { module: ModulePath::ROOT, provider: ProviderSource::builtin("terraform"), alias: None }
}

pub(crate) fn change(at: &str, action: Action, before: Value, after: Value) -> ResourceChange {
    ResourceChange {
        addr: addr(at),
        previous_addr: addr(at),
        deposed: None,
        provider: provider(),
        provider_key: None,
        action,
        reason: Reason::None,
        before,
        after,
        private: [].into(),
        identity: None,
        required_replace: Vec::new(),
        importing: None,
        generated_config: None,
    }
}

pub(crate) fn output(name: &str, action: Action, before: Value, after: Value) -> OutputChange {
    OutputChange {
        name: name.into(),
        action,
        before,
        after,
        sensitive: false,
        sensitive_before: false,
        deprecated: "".into(),
        deprecated_before: "".into(),
    }
}

pub(crate) fn plan(changes: Vec<ResourceChange>, outputs: Vec<OutputChange>) -> Plan {
    let state = Arc::new(State::empty());
    Plan {
        mode: Mode::Normal,
        targets: Vec::new(),
        excludes: Vec::new(),
        force_replace: Vec::new(),
        variables: BTreeMap::new(),
        changes,
        drift: Vec::new(),
        relevant: Vec::new(),
        outputs,
        checks: Vec::new(),
        previous_state: Arc::clone(&state),
        prior_state: state,
        exec: ExecGraph::default(),
        timestamp: "2026-01-02T03:04:05Z".into(),
        errored: false,
        workspace: "default".into(),
    }
}

/// An object of attributes.
pub(crate) fn object<const N: usize>(attributes: [(&str, Value); N]) -> Value {
    Value::object(attributes.into_iter().map(|(name, value)| (name.into(), value)).collect())
}
