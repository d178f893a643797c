//! Planned removals that applying a limited plan leaves alone.
//!
//! Where a block is part of a limited run, all its objects that are no longer wanted are planned to end, those of
//! removed module instances included. Applying ends an object only if the options select its address, or if a planned
//! change waits for its end.
// Quirk: the plan shows removals that applying it does not carry out.

use foldhash::{HashMap, HashSet};
use yuba_addrs::{AbsResource, ConfigResource, ModuleInstance};
use yuba_plan::{Action, Mode, Plan, ResourceChange};

use super::{Links, Named, Targets};

/// Positions of the changes of a plan that are not made. `dependencies` returns what a changed object depends on.
pub fn left_alone<D: AsRef<[ConfigResource]>>(
    plan: &Plan,
    targets: &Targets,
    dependencies: impl Fn(&AbsResource) -> Option<D>,
) -> HashSet<u32> {
    if targets.is_empty() || plan.mode != Mode::Normal {
        return HashSet::default();
    }
    let ends = |action| matches!(action, Action::Delete | Action::Forget);
    let named = Named::new(targets);
    let (selected, others): (Vec<_>, Vec<_>) =
        plan.changes.iter().filter(|change| ends(change.action)).partition(|change| named.selects(&change.addr));
    if others.is_empty() {
        return HashSet::default();
    }
    let resources = |changes: &[&ResourceChange]| -> HashSet<AbsResource> {
        changes.iter().map(|change| change.addr.containing()).collect()
    };
    let links = Links::new(&plan.prior_state, named.direction());
    let mut reached: HashSet<AbsResource> = match named.excluding {
        true => HashSet::default(),
        false => awaited(plan, &resources(&others), dependencies).into_iter().collect(),
    };
    let roots = match named.excluding {
        // Dependencies of an excluded object stay with it.
        true => resources(&others),
        // Dependents of an object end before it.
        false => resources(&selected).union(&reached).cloned().collect(),
    };
    reached.extend(links.reachable(roots.into_iter().collect()));
    let skipped = |change: &ResourceChange| {
        let reached = || reached.contains(&change.addr.containing());
        match named.selects(&change.addr) {
            true => named.excluding && reached(),
            false => named.excluding || !reached(),
        }
    };
    let changes = plan.changes.iter().enumerate().filter(|(_, change)| ends(change.action));
    changes.filter(|(_, change)| skipped(change)).map(|(position, _)| position as u32).collect()
}

/// Resources that end and that a changed object depends on. Objects in different instances of one module have nothing to do
/// with each other.
fn awaited<D: AsRef<[ConfigResource]>>(
    plan: &Plan,
    ending: &HashSet<AbsResource>,
    dependencies: impl Fn(&AbsResource) -> Option<D>,
) -> Vec<AbsResource> {
    let mut by_config: HashMap<ConfigResource, Vec<&AbsResource>> = HashMap::default();
    for resource in ending {
        by_config.entry(resource.config()).or_default().push(resource);
    }
    let changing = |action| !matches!(action, Action::NoOp | Action::Delete | Action::Forget | Action::Read);
    let changed: HashSet<AbsResource> =
        plan.changes.iter().filter(|change| changing(change.action)).map(|change| change.addr.containing()).collect();
    let mut found = Vec::new();
    // Resources of other modules are reached as a whole, so once is enough.
    let mut whole: HashSet<(ConfigResource, Option<ModuleInstance>)> = HashSet::default();
    for resource in changed {
        let Some(dependencies) = dependencies(&resource) else { continue };
        let own = resource.module.module();
        for dependency in dependencies.as_ref() {
            let Some(objects) = by_config.get(dependency) else { continue };
            let within = (dependency.module == own).then(|| resource.module.clone());
            if !whole.insert((dependency.clone(), within.clone())) {
                continue;
            }
            let reached = objects.iter().filter(|object| within.as_ref().is_none_or(|within| object.module == *within));
            found.extend(reached.map(|object| (*object).clone()));
        }
    }
    found
}
