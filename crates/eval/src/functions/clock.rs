//! Functions that ask for the time.

use yuba_value::{Type, Value};

use super::WorldFunction;
use crate::world::WorldTime;

/// The functions of this family.
pub(crate) fn functions() -> Vec<WorldFunction> {
    vec![
        WorldFunction::new(
            "timestamp",
            "Returns the current date and time in UTC, in RFC 3339 syntax.",
            [],
            Type::string(),
            |context, _, _| Ok(text(context.world.now())),
        )
        .unpredictable(),
        WorldFunction::new(
            "plantimestamp",
            "Returns the date and time when planning began, in UTC and RFC 3339 syntax.",
            [],
            Type::string(),
            |context, _, ty| Ok(context.plan_time.map_or_else(|| Value::unknown(ty.clone()), text)),
        )
        .nullable(),
    ]
}

fn text(time: WorldTime) -> Value {
    Value::string(time.to_string())
}
