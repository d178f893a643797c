//! Objects that are another object with a few attributes laid over or under it, built on the first access.
//!
//! A configuration that collects attributes step by step (`merge(local.before, { more = … })`) has an object of each
//! size on the way, and mostly only the last one is looked at. Writing all of them out takes time and memory in the
//! square of their number.

use std::sync::{Arc, OnceLock};

use super::{Compound, Items, Plain, Repr, Value};
use crate::{ObjectAttr, Type};

/// Objects with fewer attributes than this are written out at once.
const WORTH_IT: usize = 32;

/// Maximum number of attributes of a layer.
const MAX_LAYER: usize = 16;

/// A known object without marks inside.
pub(super) struct Layered {
    layer: Arc<Compound>,
    /// Whether attributes of the layer override attributes of the same name in the inner object, or the reverse.
    wins: bool,
    /// The layers inside this one, if any.
    inner: Option<Arc<Layered>>,
    /// The large object inside all layers.
    ground: Arc<Compound>,
    /// Number of attributes in the layers and the large object, repeated names counted again.
    laid: usize,
    whole: OnceLock<Arc<Compound>>,
}

impl Layered {
    /// The attributes of both, those of `over` counting where both have one of the same name; `None` if one of them is
    /// not known or has marks inside, or if it is not worth it.
    pub(super) fn new(under: &Plain, over: &Plain) -> Option<Layered> {
        let (under, over) = (Large::of(under)?, Large::of(over)?);
        let wins = under.laid() >= over.laid();
        let (large, layer) = if wins { (under, over) } else { (over, under) };
        let size = layer.laid();
        if layer.inner.is_some() || size > MAX_LAYER || large.laid() < WORTH_IT {
            return None;
        }
        // The object is written out when the layers are as large as the ground: so the work for each layer is the same
        // on average, and an access never costs much more than the object is large.
        let large = if large.laid() + size > 2 * large.ground.len() + WORTH_IT { large.written_out() } else { large };
        let laid = large.laid() + size;
        let Large { inner, ground } = large;
        Some(Layered { layer: layer.ground, wins, inner, ground, laid, whole: OnceLock::new() })
    }

    /// Maximum number of its attributes.
    pub(super) fn laid(&self) -> usize {
        self.laid
    }

    /// The object, written out.
    pub(super) fn whole(&self) -> &Arc<Compound> {
        self.whole.get_or_init(|| {
            let mut ground = &self.ground;
            // Layers over the ground, the outermost first; layers under it, the outermost last.
            let (mut above, mut below) = (Vec::new(), Vec::new());
            let mut next = Some(self);
            while let Some(layered) = next {
                if let Some(whole) = layered.whole.get() {
                    ground = whole;
                    break;
                }
                if layered.wins { &mut above } else { &mut below }.push(&layered.layer);
                next = layered.inner.as_deref();
            }
            let parts = above.into_iter().chain([ground]).chain(below.into_iter().rev());
            let mut attrs: Vec<(&ObjectAttr, &Value)> = parts.flat_map(|part| part.attributes()).collect();
            // Stable, so that the first one of a name is the one that counts.
            attrs.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
            attrs.dedup_by(|(later, _), (first, _)| later.name == first.name);
            let ty = Type::object_with_optional(attrs.iter().map(|(attr, _)| (*attr).clone()));
            Arc::new(Compound::seq(ty, attrs.into_iter().map(|(_, value)| value.clone()).collect()))
        })
    }
}

/// An object as the inside of a layer.
struct Large {
    inner: Option<Arc<Layered>>,
    ground: Arc<Compound>,
}

impl Large {
    fn of(plain: &Plain) -> Option<Large> {
        match &plain.0 {
            Repr::Layered(layered) => Some(match layered.whole.get() {
                Some(whole) => Large { inner: None, ground: whole.clone() },
                None => Large { inner: Some(layered.clone()), ground: layered.ground.clone() },
            }),
            Repr::Compound(c) if c.ty.is_object() && !c.has_unknown && !c.has_marks => {
                Some(Large { inner: None, ground: c.clone() })
            }
            _ => None,
        }
    }
    fn laid(&self) -> usize {
        self.inner.as_ref().map_or(self.ground.len(), |layered| layered.laid)
    }
    fn written_out(self) -> Large {
        let ground = self.inner.map_or(self.ground, |layered| layered.whole().clone());
        Large { inner: None, ground }
    }
}

impl Compound {
    /// Names, types and values of an object.
    fn attributes(&self) -> impl Iterator<Item = (&ObjectAttr, &Value)> {
        let items: &[Value] = match &self.items {
            Items::Seq(items) => items,
            Items::Map(_) => &[],
        };
        self.ty.attrs().unwrap_or_default().iter().zip(items)
    }
}

/// Many layers lie on each other: they are dropped one after the other instead of one inside the other.
impl Drop for Layered {
    fn drop(&mut self) {
        let mut next = self.inner.take();
        while let Some(mut layered) = next.and_then(Arc::into_inner) {
            next = layered.inner.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use ecow::eco_format;
    use proptest::prelude::*;

    use super::*;
    use crate::function::Function;
    use crate::{EcoString, functions};

    fn object(entries: &[(EcoString, i64)]) -> Value {
        Value::object(entries.iter().map(|(name, n)| (name.clone(), Value::int(*n))).collect())
    }

    fn ground(size: i64) -> Vec<(EcoString, i64)> {
        (0..size).map(|i| (eco_format!("g{i}"), -i)).collect()
    }

    fn merged(args: &[Value]) -> Value {
        static MERGE: LazyLock<Function> =
            LazyLock::new(|| functions::all().into_iter().find(|f| f.signature.name == "merge").expect("merge exists"));
        MERGE.call(args).expect("objects can be merged")
    }

    /// Objects, each laid over the previous one: returns the last one, and the number of those that were written out for it.
    fn chain(length: usize) -> (Value, usize) {
        let mut all = vec![object(&ground(40))];
        for i in 0..length {
            let layer = object(&[(eco_format!("k{i}"), 1), ("n".into(), i as i64)]);
            all.push(merged(&[all[i].clone(), layer]));
        }
        let written = |v: &&Value| matches!(&v.plain.0, Repr::Layered(l) if l.whole.get().is_some());
        let count = all.iter().filter(written).count();
        (all.pop().expect("at least the ground"), count)
    }

    #[test]
    fn only_few_of_many_are_written_out() {
        let (last, written) = chain(3000);
        assert!((1..=10).contains(&written), "{written}");
        assert_eq!(last.ty().attrs().map(<[_]>::len), Some(40 + 3000 + 1));
        assert_eq!(last.entries().and_then(|e| e.last().map(|(k, v)| format!("{k} {v:?}"))).as_deref(), Some("n 2999"));
    }

    #[test]
    fn many_layers_do_not_exhaust_the_stack() {
        // One large object inside, so that it is never time to write out what lies on it.
        let mut value = object(&ground(300_000));
        for i in 0..200_000 {
            value = merged(&[value, object(&[(eco_format!("g{i}"), 1)])]);
        }
        assert!(matches!(&value.plain.0, Repr::Layered(l) if l.whole.get().is_none()));
        assert_eq!(value.ty().attrs().map(<[_]>::len), Some(300_000));
    }

    proptest! {
        #[test]
        fn layers_are_as_if_written_out_at_once(
            size in 30i64..50,
            steps in prop::collection::vec((any::<bool>(), prop::collection::vec((0i64..60, any::<i64>()), 0..20), any::<bool>()), 1..30),
        ) {
            let mut entries = ground(size);
            let mut value = object(&entries);
            for (wins, step, look) in steps {
                let step: Vec<_> = step.into_iter().map(|(k, n)| (eco_format!("g{k}"), n)).collect();
                (entries, value) = match wins {
                    true => ([entries, step.clone()].concat(), merged(&[value, object(&step)])),
                    false => ([step.clone(), entries].concat(), merged(&[object(&step), value])),
                };
                if look {
                    let expected = object(&entries);
                    prop_assert_eq!(value.ty(), expected.ty());
                }
            }
            let expected = object(&entries);
            prop_assert_eq!(value.ty(), expected.ty());
            prop_assert_eq!(format!("{value:?}"), format!("{expected:?}"));
        }
    }
}
