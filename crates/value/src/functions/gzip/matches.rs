//! Finds repetitions: deflate with lazy matching at the usual level.

use super::blocks::{Token, Writer};

/// Maximum distance of a repetition.
const WINDOW: usize = 1 << 15;
/// Shorter repetitions are not looked for.
const MIN_MATCH: usize = 4;
const MAX_MATCH: usize = 258;
/// Repetitions of fewer bytes must not lie further back than this.
const MAX_SHORT_DISTANCE: usize = 4096;
/// A match of this length is not compared to one that starts a byte later.
const LAZY: usize = 16;
/// A match of this length is taken at once.
const NICE: usize = 128;
/// Maximum number of earlier positions to try.
const TRIES: usize = 128;
/// Tokens per block.
const BLOCK_TOKENS: usize = 1 << 14;
const HASH_BITS: u32 = 17;

struct Compressor<'a> {
    bytes: &'a [u8],
    writer: &'a mut Writer,
    tokens: Vec<Token>,
    index: usize,
    /// Bytes before this have left the window.
    base: usize,
    /// Start of the current block; unknown once that has left the window.
    block_start: Option<usize>,
    /// The last position of each hash, plus one.
    head: Vec<usize>,
    /// The previous position of the same hash, plus one, for the positions in the window.
    previous: Vec<usize>,
    /// The last position of the current hash, plus one.
    chain: usize,
    length: usize,
    distance: usize,
    /// The byte before the index is not written yet.
    pending: bool,
}

/// Compresses some bytes into blocks, none of which is marked as the last.
pub(super) fn compress(bytes: &[u8], writer: &mut Writer) {
    let mut compressor = Compressor {
        bytes,
        writer,
        tokens: Vec::with_capacity(BLOCK_TOKENS),
        index: 0,
        base: 0,
        block_start: Some(0),
        head: vec![0; 1 << HASH_BITS],
        previous: vec![0; WINDOW],
        chain: 0,
        length: MIN_MATCH - 1,
        distance: 0,
        pending: false,
    };
    // The window is two halves long and moves on by one half when it has been worked through.
    let mut end = bytes.len().min(2 * WINDOW);
    while end < bytes.len() {
        compressor.run(end, Input::Continues);
        compressor.block_start = compressor.block_start.filter(|start| start - compressor.base >= WINDOW);
        compressor.base += WINDOW;
        end = bytes.len().min(compressor.base + 2 * WINDOW);
    }
    compressor.run(end, Input::Ends);
}

/// Bytes after those that are compressed now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    Continues,
    Ends,
}

impl Compressor<'_> {
    /// Works until few bytes are left before `end`, or none if it is the end of everything.
    fn run(&mut self, end: usize, input: Input) {
        loop {
            let ahead = end - self.index;
            if ahead < MIN_MATCH + MAX_MATCH && input == Input::Continues {
                return;
            }
            if ahead == 0 {
                if std::mem::take(&mut self.pending) {
                    self.tokens.push(Token::Literal(self.bytes[self.index - 1]));
                }
                if !self.tokens.is_empty() {
                    self.write_block();
                }
                return;
            }
            if ahead >= MIN_MATCH {
                self.chain = self.insert(self.index);
            }
            let (last_length, last_distance) = (self.length, self.distance);
            self.length = MIN_MATCH - 1;
            self.distance = 0;
            let oldest = self.index.saturating_sub(WINDOW).max(self.base);
            if self.chain > oldest && ahead > last_length && last_length < LAZY {
                self.find(ahead.min(MAX_MATCH));
            }
            if last_length >= MIN_MATCH && self.length <= last_length {
                // The match that starts at the byte before is at least as good.
                self.tokens.push(Token::Match { length: last_length as u16, distance: last_distance as u16 });
                let after = self.index + last_length - 1;
                for position in self.index + 1..after {
                    if end - position >= MIN_MATCH {
                        self.insert(position);
                    }
                }
                self.index = after;
                self.pending = false;
                self.length = MIN_MATCH - 1;
                if self.tokens.len() == BLOCK_TOKENS {
                    self.write_block();
                }
            } else {
                if self.pending {
                    self.tokens.push(Token::Literal(self.bytes[self.index - 1]));
                    if self.tokens.len() == BLOCK_TOKENS {
                        self.write_block();
                    }
                }
                self.index += 1;
                self.pending = true;
            }
        }
    }

    /// Inserts a position and returns the last position with the same start, plus one.
    fn insert(&mut self, position: usize) -> usize {
        let mut four = [0; 4];
        four.copy_from_slice(&self.bytes[position..position + 4]);
        let hash = u32::from_be_bytes(four).wrapping_mul(0x1e35_a7bd) >> (32 - HASH_BITS);
        let last = std::mem::replace(&mut self.head[hash as usize], position + 1);
        self.previous[position % WINDOW] = last;
        last
    }

    fn find(&mut self, most: usize) {
        let here = &self.bytes[self.index..self.index + most];
        let nice = NICE.min(most);
        let mut position = self.chain - 1;
        for _ in 0..TRIES {
            if self.bytes[position + self.length] == here[self.length] {
                let same = self.bytes[position..].iter().zip(here).take_while(|(a, b)| a == b).count();
                let distance = self.index - position;
                if same > self.length && (same > MIN_MATCH || distance <= MAX_SHORT_DISTANCE) {
                    self.length = same;
                    self.distance = distance;
                    if same >= nice {
                        return;
                    }
                }
            }
            if self.index - position == WINDOW {
                return;
            }
            match self.previous[position % WINDOW].checked_sub(1) {
                Some(earlier) if earlier >= self.base && earlier + WINDOW >= self.index => position = earlier,
                _ => return,
            }
        }
    }

    /// Quirk: in the lazy scheme the block ends at the index, also when the byte before it is not written yet.
    fn write_block(&mut self) {
        let bytes = self.block_start.map(|start| &self.bytes[start..self.index]);
        self.writer.block(&self.tokens, bytes);
        self.block_start = Some(self.index);
        self.tokens.clear();
    }
}
