//! Reasons why an object of the state is no longer wanted.

use yuba_addrs::{AbsResourceInstance, InstanceKey};
use yuba_config::resource::{Repetition, ResourceKey};
use yuba_eval::{ConfigTree, Expansion, Live, ModuleInstanceId};
use yuba_plan::ActionReason;

/// Origin of the address of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// By a `moved` block.
    Moved,
    /// It was created or imported there, or a move was implied.
    Other,
}

/// Returns the reason why an instance is not among those that the configuration wants.
pub fn reason(addr: &AbsResourceInstance, arrival: Arrival, tree: &ConfigTree, live: &Live) -> ActionReason {
    let key = ResourceKey::from(&addr.resource);
    let block = tree.find(&addr.module.module()).and_then(|module| tree.node(module).module.resources.get(&key));
    let Some(block) = block else {
        return match arrival {
            Arrival::Moved => ActionReason::DeleteBecauseNoMoveTarget,
            Arrival::Other => ActionReason::DeleteBecauseNoResourceConfig,
        };
    };
    let mut at = ModuleInstanceId::ROOT;
    for (depth, step) in addr.module.steps().iter().enumerate() {
        let so_far = addr.module.steps().iter().take(depth + 1).cloned().collect();
        match live.find(&so_far) {
            Some(found) => at = found,
            None => {
                let disabled = matches!(live.call_expansion(at, &step.name), Some(Expansion::Enabled(false)));
                return match disabled && step.key.is_none() {
                    true => ActionReason::DeleteBecauseModuleEnabledFalse(u8::try_from(depth + 1).unwrap_or(u8::MAX)),
                    false => ActionReason::DeleteBecauseNoModule,
                };
            }
        }
    }
    let is_wanted = || live.resource_expansion(at, &key).is_some_and(|found| found.contains(addr.key.as_ref()));
    match (&addr.key, &block.repetition) {
        (None, Repetition::Enabled(_)) => ActionReason::DeleteBecauseEnabledFalse,
        (None, Repetition::Single) => ActionReason::None,
        (Some(InstanceKey::Int(_)), Repetition::Count(_)) if !is_wanted() => ActionReason::DeleteBecauseCountIndex,
        (Some(InstanceKey::String(_)), Repetition::ForEach(_)) if !is_wanted() => ActionReason::DeleteBecauseEachKey,
        (Some(InstanceKey::Int(_)), Repetition::Count(_)) | (Some(InstanceKey::String(_)), Repetition::ForEach(_)) => {
            ActionReason::None
        }
        _ => ActionReason::DeleteBecauseWrongRepetition,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::testing;

    #[test]
    fn every_reason() {
        let config = testing::config(
            r#"
//- main.tf
resource "t_x" "single" {}
resource "t_x" "count" { count = 2 }
resource "t_x" "each" { for_each = { a = 1 } }
resource "t_x" "off" {
  lifecycle { enabled = false }
}
module "one" { source = "./m" }
module "two" {
  source = "./m"
  count  = 1
}
module "off" {
  source = "./m"
  lifecycle { enabled = false }
}
//- m/main.tf
resource "t_x" "x" { count = 1 }
module "n" { source = "./n" }
//- m/n/main.tf
resource "t_x" "y" {}
"#,
        );
        let live = testing::expand(&config.tree);
        let mut out = String::new();
        for text in [
            "t_x.gone",
            "t_x.gone moved",
            "module.gone.t_x.x",
            "module.one.t_x.gone",
            "t_x.single",
            "t_x.single[0]",
            "t_x.single[\"a\"]",
            "t_x.count",
            "t_x.count[2]",
            "t_x.count[1]",
            "t_x.count[\"a\"]",
            "t_x.each",
            "t_x.each[0]",
            "t_x.each[\"b\"]",
            "t_x.off",
            "t_x.off moved",
            "t_x.off[0]",
            "module.one.t_x.x[1]",
            "module.one[0].t_x.x[0]",
            "module.two[1].t_x.x[0]",
            "module.two.t_x.x[0]",
            "module.off.t_x.x[0]",
            "module.off.module.n.t_x.y",
            "module.off[1].t_x.x[0]",
        ] {
            let (addr, moved) = text.split_once(' ').unwrap_or((text, ""));
            let arrival = if moved.is_empty() { Arrival::Other } else { Arrival::Moved };
            let reason = reason(&testing::addr_of(addr), arrival, &config.tree, &live);
            out += &format!("{text}: {}\n", reason.name());
        }
        expect![[r#"
            t_x.gone: delete_because_no_resource_config
            t_x.gone moved: delete_because_no_move_target
            module.gone.t_x.x: delete_because_no_resource_config
            module.one.t_x.gone: delete_because_no_resource_config
            t_x.single: 
            t_x.single[0]: delete_because_wrong_repetition
            t_x.single["a"]: delete_because_wrong_repetition
            t_x.count: delete_because_wrong_repetition
            t_x.count[2]: delete_because_count_index
            t_x.count[1]: 
            t_x.count["a"]: delete_because_wrong_repetition
            t_x.each: delete_because_wrong_repetition
            t_x.each[0]: delete_because_wrong_repetition
            t_x.each["b"]: delete_because_each_key
            t_x.off: delete_because_enabled_false
            t_x.off moved: delete_because_enabled_false
            t_x.off[0]: delete_because_wrong_repetition
            module.one.t_x.x[1]: delete_because_count_index
            module.one[0].t_x.x[0]: delete_because_no_module
            module.two[1].t_x.x[0]: delete_because_no_module
            module.two.t_x.x[0]: delete_because_no_module
            module.off.t_x.x[0]: delete_because_module_enabled_false
            module.off.module.n.t_x.y: delete_because_module_enabled_false
            module.off[1].t_x.x[0]: delete_because_no_module
        "#]]
        .assert_eq(&out);
    }
}
