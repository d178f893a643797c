//! Keys of provider instances, and `for_each` expressions that will lose elements together.

use ecow::EcoString;
use yuba_config::similar;
use yuba_syntax::Expr;
use yuba_value::{Type, convert};

use crate::constant::constant;

/// The key, if the expression refers to nothing.
pub(super) fn constant_key(key: &Expr) -> Option<EcoString> {
    if !key.variables().is_empty() || !key.functions().is_empty() {
        return None;
    }
    let (value, problems) = constant(key);
    if problems.has_errors() {
        return None;
    }
    convert::convert(&value, &Type::string()).ok()?.as_str().cloned()
}

/// Whether the `for_each` of a block is that of the provider it uses, so that an element that is removed takes the provider
/// of the objects that are to be destroyed with it. A constant key is not removed together with an element.
pub(super) fn too_similar(own: &Expr, of_provider: &Expr, key: &Expr) -> bool {
    !key.variables().is_empty() && similar::too_similar(own, of_provider)
}
