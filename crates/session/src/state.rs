//! Operations on a state without planning: looking up, moving, removing and marking objects.
//!
//! Everything here works on a state in memory. Opening and saving it is the business of [`crate::backend`].

mod changing;
mod history;
mod moving;
mod querying;
mod selecting;
mod transferring;

use yuba_addrs::{AbsResourceInstance, ProviderSource};
use yuba_eval::tree::Purpose;
use yuba_provider::Providers as _;
use yuba_state::State;
use yuba_syntax::{Diagnostic, SourceFile, Sources};

pub use changing::{Marked, StateRemoval, TaintMark, replace_provider, resources_of, set_tainted, with_provider};
pub(crate) use history::changes;
pub use history::{ChangeKind, ObjectChange};
pub use moving::{StateMove, StateMoves, move_objects};
pub use querying::{NAMES as QUERY_NAMES, Query, QueryResult, Secrets, Unevaluated};
pub use selecting::{Addresses, Unmatched, has_id};
pub use transferring::{read_file, read_given};

pub use crate::diagnostics::under;

use crate::backend::Refusal;
use crate::diagnostics;
use crate::loaded::{LoadOptions, Loaded};
use crate::project::Project;
use crate::providers::InstalledProviders;

/// A state that must exist.
pub fn required(state: Option<State>) -> Result<State, Refusal> {
    state.ok_or_else(|| diagnostics::no_state().into())
}

/// Reads the address of an instance that was given as an argument.
pub fn instance_address(text: &str) -> Result<AbsResourceInstance, Refusal> {
    let mut sources = Sources::new();
    let file = sources.add(SourceFile::new("", text.as_bytes()));
    AbsResourceInstance::parse_text(file, text).map_err(|problems| Refusal { problems, sources })
}

/// Providers of a state whose schemas are not available.
pub fn missing_schemas(providers: &InstalledProviders, state: &State) -> Result<(), Diagnostic> {
    let mut missing: Vec<&ProviderSource> = Vec::new();
    for resource in state.iter() {
        let provider = &resource.provider.provider;
        if !missing.contains(&provider) && providers.schema(provider).is_none() {
            missing.push(provider);
        }
    }
    missing.sort();
    match providers.failures().into_iter().next() {
        Some(failure) => Err(failure),
        None if missing.is_empty() => Ok(()),
        None => Err(diagnostics::no_schemas(&missing)),
    }
}

/// Loads the whole configuration beside a state and fails with its errors. Commands that show, exchange or change the state
/// check it first: a module may require another version, and schemas of its providers may be needed.
pub fn usable_configuration(project: &Project, purpose: Purpose) -> Result<(), Refusal> {
    match project.has_configuration() {
        true => project.load(LoadOptions::new(purpose)).and_then(Loaded::valid).map(drop),
        false => Ok(()),
    }
}
