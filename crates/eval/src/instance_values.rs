//! `count.index`, `each.key` and `each.value` of the instance that an expression is evaluated for.

use yuba_addrs::InstanceKey;
use yuba_config::resource::Repetition;
use yuba_value::{Type, Value};

/// The instance of the object around an expression, for `count` and `each`.
#[derive(Clone, Debug, Default)]
pub struct InstanceValues {
    /// `count.index`
    pub count_index: Option<Value>,
    /// `each.key`
    pub each_key: Option<Value>,
    /// `each.value`
    pub each_value: Option<Value>,
}

impl InstanceValues {
    /// Any instance of an object.
    pub fn unknown(repetition: &Repetition) -> InstanceValues {
        match repetition {
            Repetition::Single | Repetition::Enabled(_) => InstanceValues::default(),
            Repetition::Count(_) => {
                InstanceValues { count_index: Some(Value::unknown(Type::number())), ..InstanceValues::default() }
            }
            Repetition::ForEach(_) => InstanceValues {
                count_index: None,
                each_key: Some(Value::unknown(Type::string())),
                each_value: Some(Value::unknown_dynamic()),
            },
        }
    }
    /// From the key of an instance.
    pub fn of_key(key: Option<&InstanceKey>) -> InstanceValues {
        match key {
            None => InstanceValues::default(),
            Some(InstanceKey::Int(at)) => {
                InstanceValues { count_index: Some(Value::int(*at)), ..InstanceValues::default() }
            }
            Some(InstanceKey::String(key)) => InstanceValues {
                count_index: None,
                each_key: Some(Value::string(key.clone())),
                each_value: Some(Value::unknown_dynamic()),
            },
        }
    }
    /// Any instance of an object about whose repetition nothing is known.
    pub fn any() -> InstanceValues {
        InstanceValues {
            count_index: Some(Value::unknown(Type::number())),
            each_key: Some(Value::unknown(Type::string())),
            each_value: Some(Value::unknown_dynamic()),
        }
    }
}
