//! Numbers anywhere inside of a value.

use super::{Number, Repr, Value};

impl Value {
    /// Whether a number in it passes a test.
    pub fn has_number(&self, test: &dyn Fn(&Number) -> bool) -> bool {
        if let Repr::Number(number) = &self.plain.0 {
            return test(number);
        }
        let mut found = false;
        self.plain.for_each_child(|child| found = found || child.has_number(test));
        found
    }

    /// With plain zeros where it has negative ones, which arithmetic makes: providers and plans know one zero.
    #[must_use]
    pub fn without_negative_zero(&self) -> Value {
        let is_negative_zero = |number: &Number| number.is_zero() && number.is_negative();
        if self.has_number(&is_negative_zero) { with_one_zero(self) } else { self.clone() }
    }

    /// Whether any part of it is a number. Equal numbers can differ in their text.
    pub fn has_numbers(&self) -> bool {
        self.has_number(&|_| true)
    }
}

impl Value {
    /// With machine floats where it has numbers that are exactly that: their text is the shortest one for a machine float, as
    /// it is for what providers and plan files give back.
    #[must_use]
    pub fn with_machine_floats(&self) -> Value {
        let is_machine_float = |number: &Number| number.as_machine_float().is_some();
        if self.has_number(&is_machine_float) { with_floats(self) } else { self.clone() }
    }
}

fn with_floats(value: &Value) -> Value {
    match &value.plain.0 {
        Repr::Number(number) => match number.as_machine_float() {
            Some(float) => Value::number(float).with_marks(&value.marks),
            None => value.clone(),
        },
        _ => Value::from(value.plain.map_children(&mut with_floats)).with_marks(&value.marks),
    }
}

fn with_one_zero(value: &Value) -> Value {
    match &value.plain.0 {
        Repr::Number(number) if number.is_zero() => Value::int(0).with_marks(&value.marks),
        _ => Value::from(value.plain.map_children(&mut with_one_zero)).with_marks(&value.marks),
    }
}
