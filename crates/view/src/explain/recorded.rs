//! Objects in the state, as an explanation lists them.

use yuba_addrs::AbsResourceInstance;
use yuba_state::{Instance, Status};

use super::Recorded;

/// The objects of an instance: the current one, then deposed ones.
pub(super) fn objects(addr: &AbsResourceInstance, instance: &Instance) -> Vec<Recorded> {
    let object = |(deposed, object): (Option<&yuba_state::DeposedKey>, &std::sync::Arc<yuba_state::Object>)| Recorded {
        address: addr.to_string(),
        deposed: deposed.map(ToString::to_string),
        is_tainted: object.status == Status::Tainted,
        creates_before_destroy: object.create_before_destroy,
        is_kept: object.skip_destroy,
        dependencies: object.dependencies.iter().map(ToString::to_string).collect(),
    };
    instance.objects().map(object).collect()
}
