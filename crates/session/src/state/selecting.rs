//! From addresses on the command line to what they mean in a state.

use yuba_addrs::{AbsResourceInstance, Target, TargetSubject};
use yuba_state::{Attributes, Object, State};
use yuba_syntax::{Diagnostic, Diagnostics, SourceFile, Sources};

use crate::backend::Refusal;
use crate::diagnostics;

/// Addresses as they were given, so that messages can point into them.
#[derive(Debug, Default)]
pub struct Addresses {
    sources: Sources,
    problems: Diagnostics,
}

impl Addresses {
    /// Reads an address. Errors are collected for [`Addresses::finish`].
    pub(super) fn read(&mut self, text: &str) -> Option<TargetSubject> {
        let file = self.sources.add(SourceFile::new("", text.as_bytes()));
        match Target::parse_text(file, text) {
            Ok(target) => Some(target.subject),
            Err(problems) => {
                self.problems.extend(problems);
                None
            }
        }
    }

    /// Errors of all addresses.
    pub(super) fn finish(self) -> Result<(), Refusal> {
        match self.problems.has_errors() {
            true => Err(Refusal { problems: self.problems, sources: self.sources }),
            false => Ok(()),
        }
    }

    pub(super) fn complain(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }

    /// The instances at all addresses, in the order of the addresses.
    pub fn select(state: &State, given: &[String], unmatched: Unmatched) -> Result<Vec<AbsResourceInstance>, Refusal> {
        let mut addresses = Addresses::default();
        let mut selected = Vec::new();
        for text in given {
            let Some(subject) = addresses.read(text) else { continue };
            let before = selected.len();
            let exists = match &subject {
                TargetSubject::Instance(instance) => {
                    selected.extend(state.instance(instance).map(|_| instance.clone()));
                    selected.len() > before
                }
                TargetSubject::Resource(addr) => {
                    let resource = state.get(addr);
                    let keys = resource.into_iter().flat_map(|resource| resource.instances.keys());
                    selected.extend(keys.map(|key| addr.clone().instance(key.clone())));
                    resource.is_some()
                }
                TargetSubject::Module(module) => {
                    let mut found = false;
                    for resource in state.iter().filter(|resource| module.contains(&resource.addr.module)) {
                        found = true;
                        let keys = resource.instances.keys();
                        selected.extend(keys.map(|key| resource.addr.clone().instance(key.clone())));
                    }
                    found
                }
            };
            if !exists && unmatched == Unmatched::Fail {
                addresses.complain(diagnostics::not_in_state(&subject));
            }
        }
        addresses.finish()?;
        Ok(selected)
    }
}

/// Behaviour of [`Addresses::select`] for an address that is not in the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmatched {
    /// It fails.
    Fail,
    /// It ignores the address.
    Ignore,
}

/// Whether the attribute `id` of an object is this.
pub fn has_id(object: &Object, id: &str) -> bool {
    match &object.attributes {
        Attributes::Flat(attributes) => attributes.get("id").is_some_and(|found| found == id),
        Attributes::Json(json) => {
            let attributes: serde_json::Value = serde_json::from_str(json.as_str()).unwrap_or_default();
            attributes.get("id").and_then(serde_json::Value::as_str) == Some(id)
        }
    }
}
