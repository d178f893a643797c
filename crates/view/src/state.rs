//! A state as people read it.

use yuba_addrs::AbsResourceInstance;
use yuba_state::State;
use yuba_syntax::Diagnostics;

use crate::plan::{Look, Schemas};

/// All objects and outputs.
pub fn render(state: &State, schemas: Schemas<'_>, look: Look) -> Result<String, Diagnostics> {
    let _ = (state, schemas, look);
    Ok(String::new())
}

/// The current object of one instance; nothing if there is none.
pub fn render_instance(
    state: &State,
    addr: &AbsResourceInstance,
    schemas: Schemas<'_>,
    look: Look,
) -> Result<Option<String>, Diagnostics> {
    let _ = (state, addr, schemas, look);
    Ok(None)
}
