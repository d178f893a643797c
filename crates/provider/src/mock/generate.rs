//! Generated values: by type, the same for the same seed.

use ecow::EcoString;
use yuba_value::{Type, TypeKind, Value};

/// Length of generated strings: minimum, and exclusive maximum.
const LENGTHS: (u64, u64) = (4, 16);
const CHARACTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ1234567890";
/// Types can be nested this deep; what is deeper is null.
const MAX_DEPTH: u32 = 100;

/// Makes values up, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Generator {
    state: u64,
}

impl Generator {
    /// Of a seed, for something with a name.
    pub(super) fn new(seed: u64, name: &str) -> Generator {
        // FNV-1a: the values of a test must not change with the version of Yuba.
        let state = name.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Generator { state }
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn text(&mut self) -> EcoString {
        let (least, end) = LENGTHS;
        let length = least + self.next() % (end - least);
        let count = CHARACTERS.len() as u64;
        (0..length).map(|_| char::from(CHARACTERS[usize::try_from(self.next() % count).unwrap_or(0)])).collect()
    }

    /// A value of a type: texts differ, numbers are zero, collections are empty.
    pub(super) fn value(&mut self, ty: &Type) -> Value {
        self.value_at(ty, 0)
    }

    fn value_at(&mut self, ty: &Type, depth: u32) -> Value {
        if depth > MAX_DEPTH {
            return Value::null(ty.clone());
        }
        match ty.kind() {
            TypeKind::Number => Value::int(0),
            TypeKind::Bool => Value::bool(false),
            TypeKind::String => Value::string(self.text()),
            TypeKind::List(element) => Value::list(element.clone(), Vec::new()),
            TypeKind::Set(element) => Value::set(element.clone(), Vec::new()),
            TypeKind::Map(element) => Value::map(element.clone(), Vec::new()),
            TypeKind::Object(attrs) => {
                let made = attrs.iter().map(|attr| {
                    let value = match attr.optional {
                        true => Value::null(attr.ty.clone()),
                        false => self.value_at(&attr.ty, depth + 1),
                    };
                    (attr.name.clone(), value)
                });
                Value::object(made.collect())
            }
            TypeKind::Tuple(elements) => Value::tuple(elements.iter().map(|ty| self.value_at(ty, depth + 1)).collect()),
            TypeKind::Dynamic => Value::null_dynamic(),
        }
    }
}
