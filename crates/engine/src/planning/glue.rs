//! glue
use yuba_addrs::AbsResourceInstance;
use yuba_config::removed::Removed;
use yuba_plan::{Importing, Reason};
use yuba_provider::ImportBy;
pub(crate) struct Import;
impl Import {
    pub(crate) fn request(&self) -> Option<(ImportBy, Importing)> {
        None
    }
}
pub(crate) struct Removals;
impl Removals {
    pub(crate) fn find(&self, _: &AbsResourceInstance) -> Option<&'static Removed> {
        None
    }
}
pub(crate) fn reason(_: &AbsResourceInstance) -> Reason {
    Reason::None
}
