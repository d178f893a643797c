//! Functions that need randomness.

use yuba_value::function::{FunctionError, Param, Reason, Result};
use yuba_value::functions::crypto::format_uuid;
use yuba_value::{EcoString, Type, Value, eco_format};

use super::{CallContext, WorldFunction};

/// The functions of this family.
pub(crate) fn functions() -> Vec<WorldFunction> {
    vec![
        WorldFunction::new(
            "bcrypt",
            "Returns a salted hash of a password.",
            [Param::new("str", Type::string(), "The password, of at most 72 bytes.")],
            Type::string(),
            bcrypt,
        )
        .variadic(Param::new(
            "cost",
            Type::number(),
            "Cost of checking the hash: each increment doubles it. The default is 10.",
        ))
        .unpredictable(),
        WorldFunction::new("uuid", "Returns a random UUID.", [], Type::string(), |context, _, _| {
            let mut bytes = [0; 16];
            context.world.random(&mut bytes);
            Ok(Value::string(format_uuid(&bytes)))
        })
        .unpredictable(),
    ]
}

const DEFAULT_COST: i64 = 10;
const MIN_COST: i64 = 4;
const MAX_COST: i64 = 20;
const MAX_PASSWORD: usize = 72;

fn bcrypt(context: &CallContext<'_>, args: &[Value], _: &Type) -> Result {
    let password = args.first().and_then(Value::as_str).map_or("", EcoString::as_str);
    let mut cost = match args.get(1) {
        None => DEFAULT_COST,
        Some(cost) => cost
            .as_number()
            .and_then(yuba_value::Number::to_i64)
            .ok_or_else(|| FunctionError::new("the cost must be a whole number"))?,
    };
    if args.len() > 2 {
        return Err(FunctionError::new("only one cost can be given"));
    }
    if password.len() > MAX_PASSWORD {
        return Err(FunctionError::new(Reason::open(eco_format!(
            "passwords of more than {MAX_PASSWORD} bytes are not supported"
        ))));
    }
    // Quirk: a cost that is too small means the usual one.
    if cost < MIN_COST {
        cost = DEFAULT_COST;
    }
    if cost > MAX_COST {
        return Err(FunctionError::new(eco_format!("the cost must not be more than {MAX_COST}, and {cost} was given")));
    }
    let mut salt = [0; 16];
    context.world.random(&mut salt);
    let hash = bcrypt::hash_with_salt(password, cost as u32, salt)
        .map_err(|problem| FunctionError::new(eco_format!("the password cannot be hashed: {problem}")))?;
    Ok(Value::string(hash.format_for_version(bcrypt::Version::TwoA)))
}
