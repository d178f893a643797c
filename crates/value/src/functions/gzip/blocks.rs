//! Writes blocks: as they are, with the fixed codes, or with a table of codes, whichever is shortest.

use super::huffman::{self, Code};

/// A byte, or a repetition of earlier bytes.
#[derive(Clone, Copy)]
pub(super) enum Token {
    Literal(u8),
    Match { length: u16, distance: u16 },
}

const END_OF_BLOCK: usize = 256;
const FIRST_LENGTH: usize = 257;
const LITERALS: usize = 286;
const DISTANCES: usize = 30;
const MAX_STORED: usize = 65_535;
/// The order in which the code lengths of the table's own codes are written.
const TABLE_ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// The class of a number from 0, in which each power of two has as many classes as `per_power` says, and the number of
/// bits that select a number of the class.
fn class(number: u32, per_power: u32) -> (usize, u32) {
    if number < 2 * per_power {
        return (number as usize, 0);
    }
    let extra = number.ilog2() - per_power.ilog2();
    ((extra * per_power + (number >> extra)) as usize, extra)
}

/// Class, extra bits and how many, of the length of a match.
fn length_class(length: u16) -> (usize, u32, u32) {
    // The longest has a class of its own.
    if length == 258 {
        return (28, 0, 0);
    }
    let number = u32::from(length) - 3;
    let (class, extra) = class(number, 4);
    (class, number & ((1 << extra) - 1), extra)
}

/// Class, extra bits and how many, of the distance of a match.
fn distance_class(distance: u16) -> (usize, u32, u32) {
    let number = u32::from(distance.wrapping_sub(1));
    let (class, extra) = class(number, 2);
    (class, number & ((1 << extra) - 1), extra)
}

/// Bits on their way to bytes.
#[derive(Default)]
pub(super) struct Writer {
    out: Vec<u8>,
    bits: u64,
    count: u32,
}

impl Writer {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    fn write(&mut self, bits: u32, count: u32) {
        self.bits |= u64::from(bits) << self.count;
        self.count += count;
        while self.count >= 8 {
            self.out.push(self.bits as u8);
            self.bits >>= 8;
            self.count -= 8;
        }
    }
    fn write_code(&mut self, code: Code) {
        self.write(u32::from(code.bits), u32::from(code.length));
    }
    /// Fills up the last byte.
    pub(super) fn flush(&mut self) {
        if self.count > 0 {
            self.write(0, 8 - self.count);
        }
    }

    /// A block of bytes as they are.
    pub(super) fn stored(&mut self, bytes: &[u8]) {
        self.write(0, 3);
        self.stored_bytes(bytes);
    }

    /// The last block: bytes as they are.
    pub(super) fn stored_last(&mut self, bytes: &[u8]) {
        self.write(1, 3);
        self.stored_bytes(bytes);
    }

    fn stored_bytes(&mut self, bytes: &[u8]) {
        self.flush();
        self.write(bytes.len() as u32, 16);
        self.write(!bytes.len() as u32 & 0xffff, 16);
        self.out.extend_from_slice(bytes);
    }

    /// A block of tokens, which stand for these bytes if that is still known.
    pub(super) fn block(&mut self, tokens: &[Token], bytes: Option<&[u8]>) {
        let mut literals = [0u32; LITERALS];
        let mut distances = [0u32; DISTANCES];
        let mut extra = 0;
        literals[END_OF_BLOCK] = 1;
        for token in tokens {
            match *token {
                Token::Literal(byte) => literals[usize::from(byte)] += 1,
                Token::Match { length, distance } => {
                    let (length, distance) = (length_class(length), distance_class(distance));
                    literals[FIRST_LENGTH + length.0] += 1;
                    distances[distance.0] += 1;
                    extra += (length.2 + distance.2) as usize;
                }
            }
        }
        let used = |frequencies: &[u32]| frequencies.iter().rposition(|f| *f != 0).map_or(0, |last| last + 1);
        if used(&distances) == 0 {
            // A table must have at least one.
            distances[0] = 1;
        }
        let storable = bytes.filter(|bytes| bytes.len() <= MAX_STORED);
        if storable.is_none() {
            // It is the same for both codings; only a comparison with a stored block needs it.
            extra = 0;
        }
        let literal_codes = huffman::codes(&literals, 15);
        let distance_codes = huffman::codes(&distances, 15);
        let table = Table::new(&literal_codes[..used(&literals)], &distance_codes[..used(&distances)]);
        let fixed = (huffman::fixed_literals(), huffman::fixed_distances());
        let size = |literal_codes: &[Code], distance_codes: &[Code]| {
            huffman::bit_length(literal_codes, &literals) + huffman::bit_length(distance_codes, &distances) + extra
        };
        let fixed_size = 3 + size(&fixed.0, &fixed.1);
        let table_size = table.size + size(&literal_codes, &distance_codes);
        if let Some(bytes) = storable.filter(|bytes| (bytes.len() + 5) * 8 < fixed_size.min(table_size)) {
            return self.stored(bytes);
        }
        if table_size < fixed_size {
            table.write(self);
            self.tokens(tokens, &literal_codes, &distance_codes);
        } else {
            self.write(2, 3);
            self.tokens(tokens, &fixed.0, &fixed.1);
        }
    }

    fn tokens(&mut self, tokens: &[Token], literals: &[Code], distances: &[Code]) {
        for token in tokens {
            match *token {
                Token::Literal(byte) => self.write_code(literals[usize::from(byte)]),
                Token::Match { length, distance } => {
                    let (class, bits, count) = length_class(length);
                    self.write_code(literals[FIRST_LENGTH + class]);
                    self.write(bits, count);
                    let (class, bits, count) = distance_class(distance);
                    self.write_code(distances[class]);
                    self.write(bits, count);
                }
            }
        }
        self.write_code(literals[END_OF_BLOCK]);
    }
}

/// The lengths of all codes of a block, themselves coded.
struct Table {
    literals: usize,
    distances: usize,
    /// Symbols with their extra bits and how many.
    runs: Vec<(usize, u32, u32)>,
    codes: Vec<Code>,
    /// Number of written code lengths.
    written: usize,
    /// Bits, with the block's header.
    size: usize,
}

impl Table {
    fn new(literals: &[Code], distances: &[Code]) -> Table {
        let lengths: Vec<u8> = literals.iter().chain(distances).map(|code| code.length).collect();
        let mut runs = Vec::new();
        for run in lengths.chunk_by(|a, b| a == b) {
            let mut count = run.len();
            let length = usize::from(run[0]);
            if length == 0 {
                while count >= 11 {
                    let part = count.min(138);
                    runs.push((18, part as u32 - 11, 7));
                    count -= part;
                }
                if count >= 3 {
                    runs.push((17, count as u32 - 3, 3));
                    count = 0;
                }
            } else {
                runs.push((length, 0, 0));
                count -= 1;
                while count >= 3 {
                    let part = count.min(6);
                    runs.push((16, part as u32 - 3, 2));
                    count -= part;
                }
            }
            runs.extend(std::iter::repeat_n((length, 0, 0), count));
        }
        let mut frequencies = [0u32; 19];
        for (symbol, _, _) in &runs {
            frequencies[*symbol] += 1;
        }
        let codes = huffman::codes(&frequencies, 7);
        let written = TABLE_ORDER.iter().rposition(|symbol| frequencies[*symbol] != 0).map_or(4, |at| (at + 1).max(4));
        let extra: usize = runs.iter().map(|(_, _, count)| *count as usize).sum();
        let size = 3 + 5 + 5 + 4 + 3 * written + huffman::bit_length(&codes, &frequencies) + extra;
        Table { literals: literals.len(), distances: distances.len(), runs, codes, written, size }
    }

    fn write(&self, writer: &mut Writer) {
        writer.write(4, 3);
        writer.write(self.literals as u32 - 257, 5);
        writer.write(self.distances as u32 - 1, 5);
        writer.write(self.written as u32 - 4, 4);
        for symbol in &TABLE_ORDER[..self.written] {
            writer.write(u32::from(self.codes[*symbol].length), 3);
        }
        for (symbol, bits, count) in &self.runs {
            writer.write_code(self.codes[*symbol]);
            writer.write(*bits, *count);
        }
    }
}
