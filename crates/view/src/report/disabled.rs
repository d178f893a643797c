//! Resources and modules that a configuration disables with `enabled = false`.

use ecow::eco_format;
use yuba_config::resource::Repetition;
use yuba_eval::ModuleId;
use yuba_syntax::expr::Expr;
use yuba_value::Type;
use yuba_value::convert::convert;

use super::{DisabledObject, StateConfiguration};
use yuba_addrs::Resource;

/// Disabled objects in the order of the modules. An `enabled` argument whose value depends on a resource or on the key of an instance is
/// not evaluated.
pub(super) fn find(configuration: &StateConfiguration<'_>) -> Vec<DisabledObject> {
    let tree = configuration.tree;
    let mut found = Vec::new();
    let mut off: Vec<ModuleId> = Vec::new();
    for (id, node) in tree.iter() {
        if let Some(parent) = node.parent {
            let is_off = match tree.call(id).map(|call| &call.repetition) {
                _ if off.contains(&parent) => true,
                Some(Repetition::Enabled(expr)) if is_false(configuration, expr, parent) => {
                    found.push(object(configuration, eco_format!("{}", node.path), expr));
                    true
                }
                _ => false,
            };
            if is_off {
                off.push(id);
                continue;
            }
        }
        for (key, resource) in &node.module.resources {
            if let Repetition::Enabled(expr) = &resource.repetition
                && is_false(configuration, expr, id)
            {
                let address = eco_format!("{}", Resource::from(key).in_module(node.path.clone()));
                found.push(object(configuration, address, expr));
            }
        }
    }
    found
}

fn object(configuration: &StateConfiguration<'_>, address: ecow::EcoString, expr: &Expr) -> DisabledObject {
    let file = configuration.files.get(expr.span.file);
    DisabledObject {
        address,
        file: file.map(|file| file.name.as_ref().into()),
        line: file.map(|file| file.line_at(expr.span.start as usize)),
    }
}

/// Whether a value is known without any resource, and false. A sensitive value is not looked at.
fn is_false(configuration: &StateConfiguration<'_>, expr: &Expr, module: ModuleId) -> bool {
    let (value, problems) = configuration.evaluation.scope(module).eval(expr);
    if problems.has_errors() || !value.is_wholly_known() || !value.marks().is_empty() {
        return false;
    }
    convert(&value, &Type::bool()).is_ok_and(|value| value.as_bool() == Some(false))
}
