//! SHA-256 of two messages at a time in one thread, with the instructions that x86 processors have for it.
//!
//! A round waits for the one before it, so a single message leaves the processor idle for half of the time. The rounds of a
//! second one fill the gaps: two messages take little more time than one. With a third one the registers do not suffice. Only
//! the compression is here; other processors use the crate `sha2`.

/// Minimum number of messages that makes this worthwhile.
pub(crate) const LANES: usize = 2;

/// Size of a block.
pub(crate) const BLOCK: usize = 64;

/// Intermediate state of a message.
pub(crate) type State = [u32; 8];

/// Initial state.
pub(crate) const START: State =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// Proof that the processor has the instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Engine(());

impl Engine {
    /// None if the processor does not have them.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn detect() -> Option<Engine> {
        use std::arch::is_x86_feature_detected as has;
        (has!("sha") && has!("ssse3") && has!("sse4.1")).then_some(Engine(()))
    }

    /// None if the processor does not have them.
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn detect() -> Option<Engine> {
        None
    }

    /// Takes blocks into as many states, as many of each as the shortest has; gives back how many.
    #[cfg(target_arch = "x86_64")]
    #[allow(
        unsafe_code,
        reason = "functions for certain processors can be called safely from functions for the same processors only. They \
                  take a third off the cpu that `init` needs with an unpacked mirror."
    )]
    pub(crate) fn compress<const N: usize>(self, states: [&mut State; N], messages: [&[u8]; N]) -> usize {
        // SAFETY: there is an `Engine` only where the processor has all of these instructions.
        unsafe { x86::compress(states, messages) }
    }

    /// Never called: there is no engine.
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn compress<const N: usize>(self, _: [&mut State; N], _: [&[u8]; N]) -> usize {
        0
    }
}

/// Padding of a message: a one, zeros and its length in bits, up to a whole block.
pub(crate) fn padding(length: u64) -> impl Iterator<Item = u8> {
    let beyond = (length % BLOCK as u64) as usize + 1 + 8;
    let zeros = beyond.next_multiple_of(BLOCK) - beyond;
    std::iter::once(0x80).chain(std::iter::repeat_n(0, zeros)).chain((length << 3).to_be_bytes())
}

/// The sum that a state amounts to at the end.
pub(crate) fn finish(state: &State) -> [u8; 32] {
    let mut sum = [0; 32];
    for (bytes, word) in sum.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    sum
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::State;

    /// The first bits of the fractional parts of the cube roots of the first primes.
    #[rustfmt::skip]
    const ROUNDS: [[u32; 4]; 16] = [
        [0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5], [0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5],
        [0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3], [0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174],
        [0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc], [0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da],
        [0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7], [0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967],
        [0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13], [0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85],
        [0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3], [0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070],
        [0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5], [0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3],
        [0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208], [0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2],
    ];

    /// Four words, the first one lowest.
    #[target_feature(enable = "sse2")]
    fn vector([a, b, c, d]: [u32; 4]) -> __m128i {
        _mm_set_epi32(d.cast_signed(), c.cast_signed(), b.cast_signed(), a.cast_signed())
    }

    /// A quarter of a block.
    #[target_feature(enable = "sse2")]
    fn load(bytes: &[u8; 16]) -> __m128i {
        let (low, high) = (u128::from_le_bytes(*bytes) as i64, (u128::from_le_bytes(*bytes) >> 64) as i64);
        _mm_set_epi64x(high, low)
    }

    /// The instructions want the words of a state in another order: A, B, E, F and C, D, G, H, the first one highest.
    #[target_feature(enable = "sse2")]
    fn split(&[a, b, c, d, e, f, g, h]: &State) -> (__m128i, __m128i) {
        (vector([f, e, b, a]), vector([h, g, d, c]))
    }

    #[target_feature(enable = "sse4.1")]
    fn join(abef: __m128i, cdgh: __m128i) -> State {
        let words =
            |v| [_mm_extract_epi32(v, 0), _mm_extract_epi32(v, 1), _mm_extract_epi32(v, 2), _mm_extract_epi32(v, 3)];
        let ([f, e, b, a], [h, g, d, c]) = (words(abef), words(cdgh));
        [a, b, c, d, e, f, g, h].map(i32::cast_unsigned)
    }

    #[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
    pub(super) fn compress<const N: usize>(states: [&mut State; N], messages: [&[u8]; N]) -> usize {
        let swap = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
        let mut abef = [_mm_setzero_si128(); N];
        let mut cdgh = abef;
        for n in 0..N {
            (abef[n], cdgh[n]) = split(states[n]);
        }
        let messages = messages.map(|message| message.as_chunks::<16>().0.as_chunks::<4>().0);
        let count = messages.iter().map(|message| message.len()).min().unwrap_or(0);
        #[allow(clippy::needless_range_loop, reason = "it is an index into each of several messages")]
        for at in 0..count {
            let before = (abef, cdgh);
            // Words of the message, sixteen at a time; the next sixteen replace them.
            let mut words = [[_mm_setzero_si128(); 4]; N];
            for n in 0..N {
                for quarter in 0..4 {
                    words[n][quarter] = _mm_shuffle_epi8(load(&messages[n][at][quarter]), swap);
                }
            }
            // Written out, so that all of these stay in registers.
            macro_rules! rounds {
                ($($four:literal)*) => { $(
                    let constants = vector(ROUNDS[$four]);
                    for n in 0..N {
                        let (first, second) = (words[n][$four % 4], words[n][($four + 1) % 4]);
                        let (third, fourth) = (words[n][($four + 2) % 4], words[n][($four + 3) % 4]);
                        let sum = _mm_add_epi32(first, constants);
                        cdgh[n] = _mm_sha256rnds2_epu32(cdgh[n], abef[n], sum);
                        abef[n] = _mm_sha256rnds2_epu32(abef[n], cdgh[n], _mm_shuffle_epi32(sum, 0b11_10));
                        if $four < 12 {
                            let next = _mm_sha256msg1_epu32(first, second);
                            let next = _mm_add_epi32(next, _mm_alignr_epi8(fourth, third, 4));
                            words[n][$four % 4] = _mm_sha256msg2_epu32(next, fourth);
                        }
                    }
                )* };
            }
            rounds!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
            for n in 0..N {
                abef[n] = _mm_add_epi32(abef[n], before.0[n]);
                cdgh[n] = _mm_add_epi32(cdgh[n], before.1[n]);
            }
        }
        for (n, state) in states.into_iter().enumerate() {
            *state = join(abef[n], cdgh[n]);
        }
        count
    }
}
