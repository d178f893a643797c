//! States as short texts, for tests: `t.a <dependency>` is an instance with a current object, `t.a!` one with a deposed one.

use std::fmt::Write as _;
use std::sync::Arc;

use yuba_addrs::{AbsProviderConfig, AbsResourceInstance, ConfigResource};
use yuba_syntax::FileId;

use crate::{Attributes, DeposedKey, Edit, Object, RawJson, State, Status};

pub(crate) const PROVIDER: &str = "provider[\"terraform.io/builtin/terraform\"]";

pub(crate) fn state(text: &str) -> State {
    let mut state = State::empty();
    for line in text.split('|').map(str::trim) {
        let (addr, rest) = line.split_once(' ').unwrap_or((line, ""));
        let dependencies = rest.trim_matches(['<', '>']).split(", ").filter(|text| !text.is_empty());
        let dependencies = dependencies.map(|text| ConfigResource::parse_text(FileId(0), text).expect("a dependency"));
        let attributes = Attributes::Json(RawJson::parse("{}").expect("because it is JSON"));
        let deposed = addr.ends_with('!').then(|| DeposedKey::new(1));
        state.apply(Edit::SetObject {
            addr: AbsResourceInstance::parse_text(FileId(0), addr.trim_end_matches('!')).expect("an address"),
            deposed,
            provider: AbsProviderConfig::parse_text(FileId(0), PROVIDER).expect("a provider"),
            provider_key: None,
            object: Some(Arc::new(Object::new(0, attributes).with_dependencies(dependencies))),
        });
    }
    state
}

pub(crate) fn listing(state: &State) -> String {
    let mut out = String::new();
    for (addr, _, instance) in state.instances() {
        for (deposed, object) in instance.objects() {
            let _ = write!(out, "{addr}");
            if let Some(key) = deposed {
                let _ = write!(out, " deposed {key}");
            }
            if object.status == Status::Tainted {
                out.push_str(" tainted");
            }
            if !object.dependencies.is_empty() {
                let shown: Vec<String> = object.dependencies.iter().map(ToString::to_string).collect();
                let _ = write!(out, " <{}>", shown.join(", "));
            }
            out.push('\n');
        }
    }
    out
}
