//! Events of a running operation, and its interrupt.

use yuba_engine::Interrupt;
use yuba_plan::Event;

use crate::clock::Tick;

/// Receives the events of an operation and may interrupt it.
#[derive(Clone, Copy)]
pub struct Progress<'a> {
    /// Receives each event.
    pub events: &'a dyn Fn(Event),
    /// Raised to stop the operation: no new steps begin.
    pub interrupt: &'a Interrupt,
    /// Called at intervals while the operation waits.
    pub tick: Option<Tick<'a>>,
}
