//! Events of planning and applying, for observers.

use ecow::EcoString;
use yuba_addrs::AbsResourceInstance;
use yuba_state::DeposedKey;

use crate::change::Action;

/// Running action on one object of a resource instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// It is read again.
    Refresh,
    /// A data resource is read.
    Read,
    /// An import is looked up while planning.
    PrepareImport,
    /// An import is recorded while applying.
    Import,
    /// A change is made: create, update, delete, or forget.
    Apply(Action),
    /// An ephemeral resource is opened.
    Open,
    /// An ephemeral resource is renewed.
    Renew,
    /// An ephemeral resource is closed.
    Close,
}

/// Reason why an ephemeral resource cannot be opened while planning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferral {
    /// Its configuration has unknown values.
    UnknownConfiguration,
    /// Something that it depends on changes.
    PendingDependencies,
}

/// An event. The observer adds the time.
#[derive(Clone, Debug)]
pub enum Event {
    /// Something begins.
    Started {
        /// With what.
        addr: AbsResourceInstance,
        /// With which object of it, if not the current one.
        deposed: Option<DeposedKey>,
        /// The operation.
        phase: Phase,
        /// The attribute by which people know the object, and its value, if there is one: `id` or `name`.
        id: Option<(EcoString, EcoString)>,
    },
    /// It is done.
    Finished {
        /// With what.
        addr: AbsResourceInstance,
        /// With which object of it, if not the current one.
        deposed: Option<DeposedKey>,
        /// The operation.
        phase: Phase,
        /// The attribute by which people know the object, and its value, if there is one.
        id: Option<(EcoString, EcoString)>,
        /// Whether it went well.
        ok: bool,
    },
    /// An ephemeral resource is opened while applying, not while planning.
    Deferred {
        /// The instance.
        addr: AbsResourceInstance,
        /// Reason why it cannot be opened yet.
        why: Deferral,
    },
    /// A provisioner begins.
    ProvisionStarted {
        /// For which instance.
        addr: AbsResourceInstance,
        /// Its type.
        provisioner: EcoString,
    },
    /// A provisioner says something.
    ProvisionOutput {
        /// For which instance.
        addr: AbsResourceInstance,
        /// Its type.
        provisioner: EcoString,
        /// Text, with or without line ends.
        text: EcoString,
    },
    /// A provisioner is done.
    ProvisionFinished {
        /// For which instance.
        addr: AbsResourceInstance,
        /// Its type.
        provisioner: EcoString,
        /// Whether it went well.
        ok: bool,
    },
}
