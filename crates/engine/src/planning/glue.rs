//! glue
use yuba_addrs::AbsResourceInstance;
use yuba_plan::{Importing, Reason};
use yuba_provider::ImportBy;
pub(super) struct Selected;
impl Selected {
    pub(super) fn includes(&self, _: u32) -> bool {
        true
    }
    pub(super) fn selects(&self, _: u32, _: &AbsResourceInstance) -> bool {
        true
    }
    pub(super) fn selects_orphan(&self, _: &AbsResourceInstance) -> bool {
        true
    }
}
pub(super) struct Import;
impl Import {
    pub(super) fn request(&self) -> Option<(ImportBy, Importing)> {
        None
    }
}
pub(super) struct Moves;
impl Moves {
    pub(super) fn old<'a>(&'a self, addr: &'a AbsResourceInstance) -> &'a AbsResourceInstance {
        addr
    }
}
pub(super) fn reason(_: &AbsResourceInstance) -> Reason {
    Reason::None
}
