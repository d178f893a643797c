//! A small deterministic generator of random numbers (SplitMix64): a seed gives the same cases on every machine.

/// The state of the generator.
#[derive(Clone)]
pub(super) struct Random(u64);

impl Random {
    /// A generator for one case: equal seeds and numbers give equal sequences, different ones unrelated sequences.
    pub(super) fn new(seed: u64, number: u64) -> Random {
        let mut random = Random(seed ^ number.wrapping_mul(0xd134_2543_de82_ef95));
        random.next();
        random
    }

    /// The next 64 random bits.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `limit`, or 0 where the limit is 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { usize::try_from(self.next() % limit as u64).unwrap_or_default() }
    }

    /// True in `percent` of 100 calls.
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of the items, which must not be empty.
    pub(super) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// One of the words as a string of its own.
    pub(super) fn word(&mut self, words: &[&str]) -> String {
        (*self.pick(words)).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn equal_seeds_give_equal_numbers_and_other_cases_other_ones() {
        let draw = |seed, number| (0..8).map(|_| 0).scan(Random::new(seed, number), |r, _| Some(r.next())).collect();
        let first: Vec<u64> = draw(1, 1);
        assert_eq!(first, draw(1, 1));
        assert_ne!(first, draw(1, 2));
        assert_ne!(first, draw(2, 1));
    }
}
