//! Files in zip archives that fit into memory are unpacked in one go, by a decompressor that is made for that and needs two
//! thirds of the time.
//!
//! Invariant: not more than [`MOST`] bytes are in memory for each of a few tables, whatever archives claim about
//! themselves and however many are unpacked at a time. Files that are larger, or differ from their declared size or checksum,
//! are left to the decompressor for streams.

use std::io::Read;
use std::sync::{Arc, Condvar, LazyLock, Mutex, PoisonError};

use libdeflater::Decompressor;
use zip::CompressionMethod;
use zip::read::ZipFile;

use crate::summing::{Message, Seat};

/// Maximum size of a file, packed and unpacked together.
const LARGEST: u64 = 64 << 20;

/// Buffers grow by this much, so that the next file usually fits into the rest. Unused space in it takes no memory.
const STEP: usize = 16 << 20;

/// Maximum size of the buffers of a table.
const MOST: usize = LARGEST as usize + 2 * STEP;

/// A file in memory.
pub(super) struct Whole {
    table: Table,
    length: usize,
    /// The SHA-256 sum, if it was asked for.
    pub(super) sum: Option<[u8; 32]>,
}

impl Whole {
    /// Its content.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.table.0.unpacked[..self.length]
    }
}

/// Whether the checksum of a file is computed while it is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Summing {
    Sha256,
    Skipped,
}

/// Reads a file of an archive and checks it. None if it is stored in another way, or damaged.
pub(super) fn inflate<R: Read>(mut entry: ZipFile<'_, R>, summing: Summing) -> Option<Whole> {
    let (packed, size) = (entry.compressed_size(), entry.size());
    if entry.encrypted()
        || entry.compression() != CompressionMethod::Deflated
        || packed.checked_add(size).is_none_or(|needed| needed > LARGEST)
    {
        return None;
    }
    let (packed, length) = (usize::try_from(packed).ok()?, usize::try_from(size).ok()?);
    let mut table = Table::take();
    let seat = (summing == Summing::Sha256).then(Seat::take);
    let (input, output) = table.0.slices(packed, length);
    entry.read_exact(input).ok()?;
    let found = Decompressor::new().deflate_decompress(input, output).ok()?;
    if found != length || crc32fast::hash(output) != entry.crc32() {
        return None;
    }
    let sum = match seat {
        Some(seat) => Some(seat.sum(Message::Bytes(Arc::clone(&table.0.unpacked), length)).ok()?),
        None => None,
    };
    Some(Whole { table, length, sum })
}

/// Room for a file, which is used for many of them one after the other: new memory is dear.
#[derive(Default)]
struct Buffers {
    packed: Vec<u8>,
    unpacked: Arc<Vec<u8>>,
}

impl Buffers {
    fn slices(&mut self, packed: usize, unpacked: usize) -> (&mut [u8], &mut [u8]) {
        // One was large for one file, the other would be for the next.
        if self.packed.len().max(packed) + self.unpacked.len().max(unpacked) > MOST {
            *self = Buffers::default();
        }
        if self.packed.len() < packed {
            self.packed = Vec::new();
            self.packed = vec![0; packed.next_multiple_of(STEP)];
        }
        // No other reference is left: the summing is complete.
        if Arc::get_mut(&mut self.unpacked).is_none_or(|memory| memory.len() < unpacked) {
            self.unpacked = Arc::default();
            self.unpacked = Arc::new(vec![0; unpacked.next_multiple_of(STEP)]);
        }
        let memory = Arc::get_mut(&mut self.unpacked).expect("because it is new or was looked at");
        (&mut self.packed[..packed], &mut memory[..unpacked])
    }
}

/// As many as there are processors, but at least two, so that sums can be made together.
static FREE: LazyLock<Mutex<Vec<Buffers>>> = LazyLock::new(|| {
    let count = std::thread::available_parallelism().map_or(2, |count| count.get().clamp(2, 4));
    Mutex::new((0..count).map(|_| Buffers::default()).collect())
});
static GIVEN_BACK: Condvar = Condvar::new();

/// A slot for work, released when it is dropped.
struct Table(Buffers);

impl Table {
    fn take() -> Table {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match free.pop() {
                Some(buffers) => return Table(buffers),
                None => free = GIVEN_BACK.wait(free).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push(std::mem::take(&mut self.0));
        GIVEN_BACK.notify_one();
    }
}
