//! `-profile`: spans as a file of trace events, which Perfetto and chrome://tracing open.
//!
//! Asynchronous work overlaps, but viewers expect that the events of a thread nest. So the "threads" of the file are lanes: a
//! span is in the lane of its parent if it is the only open child there, otherwise in a lane of its own.
//!
//! Invariant: the file is a complete JSON document after every write, however the process ends.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Map, Value as Json, json};

/// Size of the buffer that is written at once.
const BUFFER: usize = 64 << 10;
const END: &[u8] = b"\n]}\n";

/// End of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Finished,
    /// The process ends before the span.
    Unfinished,
}

/// A span that ends now.
pub(super) struct Slice<'a> {
    pub(super) id: u64,
    pub(super) name: &'static str,
    pub(super) module: &'static str,
    pub(super) lane: usize,
    pub(super) since: Instant,
    pub(super) ending: Ending,
    pub(super) fields: &'a [(&'static str, Json)],
}

/// A profile that is being written.
pub(super) struct Profile {
    start: Instant,
    writer: Mutex<Writer>,
}

struct Writer {
    file: File,
    /// Offset of the next event, which overwrites the end of the document.
    offset: u64,
    buffer: Vec<u8>,
    lanes: Lanes,
    failure: Option<io::Error>,
    is_finished: bool,
}

impl Profile {
    /// Creates the file, or empties it. Fails unless it can be written at any position.
    pub(super) fn create(path: &Path, command: &str) -> io::Result<Profile> {
        let mut file = File::create(path)?;
        file.seek(SeekFrom::Start(0))?;
        let name = json!({ "name": format!("yuba {command}") });
        let first = metadata("process_name", 0, &name);
        let buffer = format!("{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{first}").into_bytes();
        let lanes = Lanes::default();
        let mut writer = Writer { file, offset: 0, buffer, lanes, failure: None, is_finished: false };
        writer.flush()?;
        Ok(Profile { start: Instant::now(), writer: Mutex::new(writer) })
    }

    /// The lane of a new span, which has this parent in this lane.
    pub(super) fn open(&self, id: u64, parent: Option<(u64, usize)>) -> usize {
        let mut writer = self.writer();
        let known = writer.lanes.0.len();
        let lane = writer.lanes.open(id, parent);
        if lane == known {
            let name = if lane == 0 { "main".to_owned() } else { format!("concurrent {lane}") };
            writer.push(&metadata("thread_name", lane, &json!({ "name": name })));
            writer.push(&metadata("thread_sort_index", lane, &json!({ "sort_index": lane })));
        }
        lane
    }

    /// Writes a span that ends now.
    pub(super) fn close(&self, slice: &Slice<'_>) {
        let mut writer = self.writer();
        // Taken under the lock: spans that close one after the other have ends in this order.
        let end = self.start.elapsed().as_nanos();
        let begin = slice.since.saturating_duration_since(self.start).as_nanos();
        if slice.ending == Ending::Finished {
            writer.lanes.close(slice.id, slice.lane);
        }
        writer.push(&event(slice, begin, end.saturating_sub(begin)));
    }

    /// Writes the rest. Later spans are dropped. Fails if the file could not be written, now or before.
    pub(super) fn finish(&self) -> io::Result<()> {
        let mut writer = self.writer();
        if writer.is_finished {
            return Ok(());
        }
        let written = writer.flush();
        writer.is_finished = true;
        writer.failure.take().map_or(written, Err)
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writer {
    fn push(&mut self, event: &str) {
        if self.is_finished || self.failure.is_some() {
            return;
        }
        self.buffer.extend_from_slice(b",\n");
        self.buffer.extend_from_slice(event.as_bytes());
        if self.buffer.len() >= BUFFER {
            self.failure = self.flush().err();
        }
    }

    /// Writes the buffer over the end of the document, and the end after it, with one call.
    fn flush(&mut self) -> io::Result<()> {
        let length = self.buffer.len();
        self.buffer.extend_from_slice(END);
        self.file.seek(SeekFrom::Start(self.offset))?;
        self.file.write_all(&self.buffer)?;
        self.offset += length as u64;
        self.buffer.clear();
        Ok(())
    }
}

/// The number of a lane as a thread. Viewers reserve the number 0.
fn thread(lane: usize) -> usize {
    lane + 1
}

/// Describes a process or a lane.
fn metadata(name: &str, lane: usize, args: &Json) -> String {
    json!({ "ph": "M", "name": name, "pid": std::process::id(), "tid": thread(lane), "args": args }).to_string()
}

/// A complete event. Times are in nanoseconds here and in microseconds there.
fn event(slice: &Slice<'_>, begin: u128, duration: u128) -> String {
    let mut args: Map<String, Json> =
        slice.fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    if slice.ending == Ending::Unfinished {
        args.insert("unfinished".to_owned(), true.into());
    }
    let microseconds = |nanoseconds: u128| format!("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
    let category = if slice.module.is_empty() { "cli" } else { slice.module };
    format!(
        "{{\"ph\":\"X\",\"name\":{name},\"cat\":\"{category}\",\"pid\":{pid},\"tid\":{lane},\"ts\":{ts},\"dur\":{dur},\"args\":{args}}}",
        name = Json::from(slice.name),
        pid = std::process::id(),
        lane = thread(slice.lane),
        ts = microseconds(begin),
        dur = microseconds(duration),
        args = Json::Object(args),
    )
}

/// Open spans by lane, innermost last.
#[derive(Default)]
struct Lanes(Vec<Vec<u64>>);

impl Lanes {
    /// Puts a span above its parent if that position is free, otherwise into the first empty lane.
    fn open(&mut self, id: u64, parent: Option<(u64, usize)>) -> usize {
        let above = parent.filter(|(parent, lane)| self.0.get(*lane).is_some_and(|lane| lane.last() == Some(parent)));
        let lane = match above {
            Some((_, lane)) => lane,
            None => self.0.iter().position(Vec::is_empty).unwrap_or(self.0.len()),
        };
        if lane == self.0.len() {
            self.0.push(Vec::new());
        }
        self.0[lane].push(id);
        lane
    }

    fn close(&mut self, id: u64, lane: usize) {
        let Some(open) = self.0.get_mut(lane) else { return };
        debug_assert_eq!(open.last(), Some(&id), "children close before their parents");
        open.retain(|other| *other != id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_spans_are_in_different_lanes() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.open(1, None), 0);
        assert_eq!(lanes.open(2, Some((1, 0))), 0, "the first child is above its parent");
        assert_eq!(lanes.open(3, Some((1, 0))), 1, "the second one overlaps the first");
        assert_eq!(lanes.open(4, Some((3, 1))), 1);
        assert_eq!(lanes.open(5, Some((1, 0))), 2);
        lanes.close(2, 0);
        assert_eq!(lanes.open(6, Some((1, 0))), 0, "the position above the parent is free again");
        lanes.close(4, 1);
        lanes.close(3, 1);
        assert_eq!(lanes.open(7, None), 1, "empty lanes are used again");
    }

    #[test]
    fn the_file_is_complete_after_every_write() {
        let path = std::env::temp_dir().join(format!("yuba-profile-{}.json", std::process::id()));
        let profile = Profile::create(&path, "plan").expect("because the directory can be written");
        let read = || {
            let text = std::fs::read_to_string(&path).expect("because it was written");
            let document: Json = serde_json::from_str(&text).expect("because it is complete");
            document["traceEvents"].as_array().map_or(0, Vec::len)
        };
        assert_eq!(read(), 1);
        let slice =
            |id, ending| Slice { id, name: "x", module: "", lane: 0, since: Instant::now(), ending, fields: &[] };
        for id in 0..2000 {
            profile.open(id, None);
            profile.close(&slice(id, Ending::Finished));
        }
        let written = read();
        assert!(written > 100 && written < 2003, "{written}: some of it is in the buffer");
        profile.open(2000, None);
        profile.close(&slice(2000, Ending::Unfinished));
        profile.finish().expect("because the file can be written");
        assert_eq!(read(), 2004);
        profile.close(&slice(2000, Ending::Finished));
        profile.finish().expect("because nothing is written");
        assert_eq!(read(), 2004, "nothing is recorded after the end");
        let _ = std::fs::remove_file(&path);
    }
}
