//! SHA-256 sums of files and of what is in memory, asked for by several threads: who waits for a sum helps, and takes two
//! messages at a time where there are two.
//!
//! Sums are most of what `init` costs with packages that are on this machine already. There are no threads of its own here:
//! a thread that requests a sum works, on its own message and on those of other threads, until it has its sum. Another thread
//! joins in when there is enough work for two.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, Read};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

use sha2::{Digest as _, Sha256};

use crate::sha256::{self, BLOCK, Engine, LANES, State};

/// Number of bytes of a file that are read at once: several of them fit into the cache next to a processor.
const CHUNK: usize = 64 << 10;

/// The same for files that are small, or where one is read at a time.
const SMALL_CHUNK: usize = 16 << 10;

/// From which length on a message is worth the trouble of doing it together.
const WORTH_IT: usize = 1 << 20;

/// Data to sum up.
#[derive(Debug)]
pub(crate) enum Message {
    /// Content of a file from the current position.
    File(File),
    /// So many bytes of what is in memory.
    Bytes(Arc<Vec<u8>>, usize),
}

impl Message {
    /// About how many bytes there are; a file may change at any time.
    fn size_hint(&self) -> usize {
        match self {
            Message::File(file) => {
                file.metadata().map_or(0, |found| usize::try_from(found.len()).unwrap_or(usize::MAX))
            }
            Message::Bytes(_, length) => *length,
        }
    }
}

static DESK: LazyLock<Option<Desk>> = LazyLock::new(|| {
    let hands = std::thread::available_parallelism().map_or(1, usize::from);
    Engine::detect().map(|engine| Desk::new(engine, hands))
});

/// The SHA-256 sum of a message.
pub(crate) fn sum(message: Message) -> io::Result<[u8; 32]> {
    Seat::take().sum(message)
}

/// A seat for a thread that will request a sum soon: other threads with messages wait, so that all messages are summed together.
/// There should be nothing but work between taking the seat and requesting the sum.
pub(crate) struct Seat<'a>(Option<&'a Desk>);

impl Seat<'static> {
    pub(crate) fn take() -> Seat<'static> {
        Seat(DESK.as_ref().inspect(|desk| desk.lock().expected += 1))
    }
}

impl Seat<'_> {
    /// The SHA-256 sum of a message.
    pub(crate) fn sum(self, message: Message) -> io::Result<[u8; 32]> {
        match self.0 {
            None => plain(message),
            Some(_) if message.size_hint() < WORTH_IT => plain(message),
            Some(desk) => {
                let ticket = desk.lock().ask(message);
                drop(self);
                desk.wait_for(ticket)
            }
        }
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        if let Some(desk) = self.0 {
            desk.lock().expected -= 1;
            desk.changed.notify_all();
        }
    }
}

/// One message at a time, for every processor.
fn plain(message: Message) -> io::Result<[u8; 32]> {
    match message {
        Message::Bytes(bytes, length) => Ok(Sha256::digest(&bytes[..length]).into()),
        Message::File(mut file) => {
            let (mut hasher, mut buffer) = (Sha256::new(), vec![0; SMALL_CHUNK]);
            loop {
                match fill(&mut file, &mut buffer)? {
                    0 => return Ok(hasher.finalize().into()),
                    length => hasher.update(&buffer[..length]),
                }
            }
        }
    }
}

/// Reads until there is no more room or no more to read.
pub(crate) fn fill(content: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match content.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// Room for a chunk, which begins in the middle of a page.
///
/// The system copies pages of files into it. Some processors (Zen 3) take five times as long for that when the target begins
/// a few bytes further in its page than the source in its own, as memory from an allocator often does.
struct Buffer {
    memory: Vec<u8>,
    start: usize,
}

impl Buffer {
    const PAGE: usize = 4096;

    fn new() -> Buffer {
        let memory = vec![0; CHUNK + 2 * Buffer::PAGE];
        let start = memory.as_ptr().align_offset(Buffer::PAGE) % Buffer::PAGE + Buffer::PAGE / 2;
        Buffer { memory, start }
    }

    fn bytes(&self) -> &[u8] {
        &self.memory[self.start..][..CHUNK]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..][..CHUNK]
    }
}

/// Meeting point of threads that need a sum.
struct Desk {
    engine: Engine,
    /// Maximum number of workers.
    hands: usize,
    state: Mutex<Open>,
    changed: Condvar,
}

#[derive(Default)]
struct Open {
    next_ticket: u64,
    /// Threads that may still request a sum.
    expected: usize,
    /// Unclaimed work.
    waiting: VecDeque<Lane>,
    /// Number of workers.
    working: usize,
    /// Results that were not collected yet.
    done: BTreeMap<u64, io::Result<[u8; 32]>>,
}

impl Open {
    fn ask(&mut self, message: Message) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.waiting.push_back(Lane::new(ticket, message));
        ticket
    }

    /// Whether there is something to do: as much as can be done at a time, or all there will be.
    fn is_enough(&self, lanes: usize) -> bool {
        lanes >= LANES || lanes > 0 && self.expected == 0
    }
}

impl Desk {
    fn new(engine: Engine, hands: usize) -> Desk {
        Desk { engine, hands, state: Mutex::default(), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sum for a ticket. The waiting thread works, too, unless other threads can take all the work.
    fn wait_for(&self, ticket: u64) -> io::Result<[u8; 32]> {
        let mut open = self.lock();
        loop {
            if let Some(result) = open.done.remove(&ticket) {
                return result;
            }
            let waiting = open.waiting.len();
            if open.is_enough(waiting) && (open.working == 0 || waiting >= LANES && open.working < self.hands) {
                open.working += 1;
                drop(open);
                self.work(ticket);
                open = self.lock();
                open.working -= 1;
                // Other threads continue with the remaining messages.
                self.changed.notify_all();
            } else {
                open = self.changed.wait(open).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Works until a ticket is done or there is not enough to do.
    fn work(&self, ticket: u64) {
        let mut lanes: Vec<Lane> = Vec::with_capacity(LANES);
        loop {
            let mut open = self.lock();
            while lanes.len() < LANES
                && let Some(lane) = open.waiting.pop_front()
            {
                lanes.push(lane);
            }
            if !open.is_enough(lanes.len()) || open.done.contains_key(&ticket) {
                for lane in lanes.into_iter().rev() {
                    open.waiting.push_front(lane);
                }
                return;
            }
            drop(open);
            for (ticket, result) in step(self.engine, &mut lanes) {
                self.lock().done.insert(ticket, result);
                self.changed.notify_all();
            }
        }
    }
}

/// Takes as much of all messages as is available of each of them; gives back the complete ones.
fn step(engine: Engine, lanes: &mut Vec<Lane>) -> Vec<(u64, io::Result<[u8; 32]>)> {
    let mut done = Vec::new();
    lanes.retain_mut(|lane| {
        let result = match lane.prepare() {
            Ok(true) => return true,
            Ok(false) => Ok(sha256::finish(&lane.state)),
            Err(error) => Err(error),
        };
        done.push((lane.ticket, result));
        false
    });
    let blocks = match lanes.as_mut_slice() {
        [] => 0,
        [one] => {
            let (state, message) = one.parts();
            engine.compress([state], [message])
        }
        [one, two, ..] => {
            let ((one, first), (two, second)) = (one.parts(), two.parts());
            engine.compress([one, two], [first, second])
        }
    };
    for lane in lanes {
        lane.at += blocks * BLOCK;
    }
    done
}

/// A message that is being summed up.
struct Lane {
    ticket: u64,
    state: State,
    /// Bytes of the message so far.
    length: u64,
    input: Input,
    /// Number of consumed bytes of the input.
    at: usize,
}

/// Next bytes to consume.
enum Input {
    /// A file, a chunk of it, and how much is in that.
    File(File, Buffer, usize),
    /// So many bytes of what is in memory: the whole message.
    Bytes(Arc<Vec<u8>>, usize),
    /// The end of a message and what belongs behind it: a block or two.
    End(Vec<u8>),
}

impl Lane {
    fn new(ticket: u64, message: Message) -> Lane {
        let (length, input) = match message {
            Message::File(file) => (0, Input::File(file, Buffer::new(), 0)),
            Message::Bytes(bytes, length) => (length as u64, Input::Bytes(bytes, length)),
        };
        Lane { ticket, state: sha256::START, length, input, at: 0 }
    }

    /// Sees to it that there is at least a block to take in; false at the end.
    fn prepare(&mut self) -> io::Result<bool> {
        if let Input::File(file, buffer, filled) = &mut self.input
            && self.at == *filled
        {
            *filled = fill(file, buffer.bytes_mut())?;
            self.length += *filled as u64;
            self.at = 0;
        }
        let rest = &self.input.bytes()[self.at..];
        if rest.len() < BLOCK && !matches!(self.input, Input::End(_)) {
            // Chunks are whole blocks, so there is no more to read.
            self.input = Input::End(rest.iter().copied().chain(sha256::padding(self.length)).collect());
            self.at = 0;
        }
        Ok(self.at < self.input.bytes().len())
    }

    fn parts(&mut self) -> (&mut State, &[u8]) {
        (&mut self.state, &self.input.bytes()[self.at..])
    }
}

impl Input {
    fn bytes(&self) -> &[u8] {
        match self {
            Input::File(_, buffer, filled) => &buffer.bytes()[..*filled],
            Input::Bytes(bytes, length) => &bytes[..*length],
            Input::End(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;

    fn file(content: &[u8]) -> Message {
        let sandbox = yuba_testkit::Sandbox::new("", "");
        sandbox.write("x", content);
        Message::File(File::open(sandbox.dir().join("x")).expect("it exists"))
    }

    fn content(length: usize, seed: usize) -> Vec<u8> {
        (0..length).map(|at| ((at + seed).wrapping_mul(0x9e37_79b9) >> 13) as u8).collect()
    }

    /// Asks for the sums of some contents at the same time, from a desk with some hands.
    fn check(lengths: &[usize], hands: usize) {
        let Some(engine) = Engine::detect() else { return };
        let desk = Desk::new(engine, hands);
        let sum = |message| {
            let ticket = desk.lock().ask(message);
            desk.wait_for(ticket).expect("it can be read")
        };
        std::thread::scope(|scope| {
            for (seed, length) in lengths.iter().enumerate() {
                let sum = &sum;
                scope.spawn(move || {
                    let content = content(*length, seed);
                    let expect: [u8; 32] = Sha256::digest(&content).into();
                    assert_eq!(sum(file(&content)), expect, "{length} in a file");
                    assert_eq!(plain(file(&content)).expect("it can be read"), expect, "{length} plain");
                    let mut memory = content;
                    memory.push(b'x');
                    let bytes = Message::Bytes(Arc::new(memory), *length);
                    assert_eq!(sum(bytes), expect, "{length} in memory");
                });
            }
        });
        let open = desk.lock();
        assert_eq!((open.working, open.waiting.len(), open.done.len()), (0, 0, 0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]
        #[test]
        fn sums_are_those_of_the_crate(
            lengths in prop::collection::vec(prop_oneof![0..200usize, 0..3 * CHUNK], 1..5),
            hands in 1..4usize,
        ) {
            check(&lengths, hands);
        }
    }

    #[test]
    fn every_end_of_a_message_is_right() {
        let around = |middle: usize| middle.saturating_sub(2)..middle + 3;
        for middle in [0, 55, 56, 63, BLOCK, 119, 2 * BLOCK, CHUNK, CHUNK + BLOCK, 2 * CHUNK] {
            let lengths: Vec<usize> = around(middle).collect();
            check(&lengths, 1);
            check(&lengths, 2);
        }
        (0..3 * BLOCK).for_each(|length| check(&[length], 1));
    }

    #[test]
    fn a_file_that_cannot_be_read_harms_no_other() {
        let sandbox = yuba_testkit::Sandbox::new("", "//- dir/x\n");
        let dir = || Message::File(File::open(sandbox.dir().join("dir")).expect("it exists"));
        let (good, expect) = (content(1 << 20, 0), Sha256::digest(content(1 << 20, 0)));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert!(sum(dir()).is_err()));
                scope.spawn(|| assert_eq!(sum(file(&good)).expect("it can be read")[..], expect[..]));
            }
        });
        let mut output = File::create(sandbox.dir().join("y")).expect("it can be made");
        output.write_all(b"abc").expect("it can be written");
        assert!(sum(Message::File(output)).is_err());
    }
}
