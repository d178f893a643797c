//! Codes of few bits for frequent symbols.

/// The code of one symbol: bits in the order they are written, and how many.
#[derive(Clone, Copy, Default)]
pub(super) struct Code {
    pub(super) bits: u16,
    pub(super) length: u8,
}

fn code(bits: u16, length: u8) -> Code {
    Code { bits: (bits << (16 - length)).reverse_bits(), length }
}

/// The codes of literals and lengths in blocks without a table.
pub(super) fn fixed_literals() -> Vec<Code> {
    (0..286u16)
        .map(|symbol| match symbol {
            0..144 => code(symbol + 48, 8),
            144..256 => code(symbol + 400 - 144, 9),
            256..280 => code(symbol - 256, 7),
            _ => code(symbol + 192 - 280, 8),
        })
        .collect()
}

/// The codes of distances in blocks without a table.
pub(super) fn fixed_distances() -> Vec<Code> {
    (0..30).map(|symbol| code(symbol, 5)).collect()
}

/// Number of bits of the symbols.
pub(super) fn bit_length(codes: &[Code], frequencies: &[u32]) -> usize {
    frequencies.iter().zip(codes).map(|(frequency, code)| *frequency as usize * usize::from(code.length)).sum()
}

/// The best codes of at most `max_bits` for symbols of these frequencies.
pub(super) fn codes(frequencies: &[u32], max_bits: usize) -> Vec<Code> {
    let mut codes = vec![Code::default(); frequencies.len()];
    let mut symbols: Vec<(u32, usize)> =
        frequencies.iter().enumerate().filter(|(_, f)| **f != 0).map(|(symbol, f)| (*f, symbol)).collect();
    if symbols.len() <= 2 {
        for (index, (_, symbol)) in symbols.iter().enumerate() {
            codes[*symbol] = code(index as u16, 1);
        }
        return codes;
    }
    symbols.sort_unstable();
    let frequencies: Vec<u32> = symbols.iter().map(|(frequency, _)| *frequency).collect();
    let mut next = 0u16;
    let mut rest = symbols.len();
    for (length, count) in counts(&frequencies, max_bits).into_iter().enumerate() {
        next <<= 1;
        // The most frequent ones are at the end.
        let chunk = &mut symbols[rest - count..rest];
        rest -= count;
        chunk.sort_unstable_by_key(|(_, symbol)| *symbol);
        for (_, symbol) in chunk {
            codes[*symbol] = code(next, length as u8);
            next += 1;
        }
    }
    codes
}

/// One list of the package-merge algorithm, which is only as long as it was needed so far.
#[derive(Clone, Copy)]
struct Level {
    last: u32,
    next_leaf: u32,
    next_pair: u32,
    needed: usize,
    /// Number of used leaves of this level and of those below.
    leaves: [usize; 16],
}

/// Number of symbols with codes of 0, 1, 2, ... bits. Frequencies are sorted, and there are at least three.
///
/// This is package-merge that looks at as few packages as possible: a level asks the one below for a pair of packages
/// only when a pair would be cheaper than its own next leaf. The choice among equally good results is a part of the
/// format here, so pairs win ties.
fn counts(frequencies: &[u32], max_bits: usize) -> Vec<usize> {
    const NONE: u32 = i32::MAX as u32;
    let symbols = frequencies.len();
    let leaf = |index: usize| frequencies.get(index).copied().unwrap_or(NONE);
    let top = max_bits.min(symbols - 1);
    let start = Level { last: leaf(1), next_leaf: leaf(2), next_pair: leaf(0) + leaf(1), needed: 0, leaves: [0; 16] };
    let mut levels = [start; 17];
    for (index, level) in levels.iter_mut().enumerate().take(16) {
        level.leaves[index] = 2;
    }
    levels[0].leaves[0] = 0;
    levels[1].next_pair = NONE;
    levels[top].needed = 2 * symbols - 4;
    let mut at = top;
    loop {
        let below = levels[at - 1].leaves;
        let level = &mut levels[at];
        if level.next_pair == NONE && level.next_leaf == NONE {
            // The list is used up, so the level above gets no pair either.
            level.needed = 0;
            levels[at + 1].next_pair = NONE;
            at += 1;
            continue;
        }
        let before = level.last;
        let mut used_pair = false;
        if level.next_leaf < level.next_pair {
            level.last = level.next_leaf;
            level.leaves[at] += 1;
            level.next_leaf = leaf(level.leaves[at]);
        } else {
            level.last = level.next_pair;
            level.leaves[..at].copy_from_slice(&below[..at]);
            used_pair = true;
        }
        level.needed -= 1;
        let (needed, pair) = (level.needed, before.saturating_add(level.last));
        if used_pair {
            levels[at - 1].needed = 2;
        }
        if needed == 0 {
            if at == top {
                break;
            }
            levels[at + 1].next_pair = pair;
            at += 1;
        } else {
            while levels[at - 1].needed > 0 {
                at -= 1;
            }
        }
    }
    let leaves = levels[top].leaves;
    let mut counts = vec![0];
    counts.extend((1..=top).rev().map(|level| leaves[level] - leaves[level - 1]));
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn codes_fill_the_space_exactly(frequencies in proptest::collection::vec(0u32..5_000, 3..286)) {
            let used = frequencies.iter().filter(|f| **f > 0).count();
            let codes = codes(&frequencies, 15);
            let space: f64 = codes.iter().filter(|c| c.length > 0).map(|c| 0.5f64.powi(i32::from(c.length))).sum();
            proptest::prop_assert!(used < 2 || space == 1.0);
            proptest::prop_assert!(codes.iter().all(|code| code.length <= 15));
        }
    }
}
