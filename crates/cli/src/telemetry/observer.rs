//! The subscriber: keeps track of open spans and writes them to the log and to the profile.
//!
//! Invariant: a span stays open until all its children are closed, so that spans nest.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::Value as Json;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_core::span::Current;

use super::fields::Fields;
use super::lines::Line;
use super::log::Log;
use super::profile::{Ending, Profile, Slice};

/// Prefix of the targets of our crates. Dependencies emit spans and events, too, which are of no interest.
const TARGETS: &str = "yuba";

thread_local! {
    /// Open spans that this thread has entered, innermost last.
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// The subscriber.
pub(super) struct Observer {
    log: Arc<Log>,
    profile: Option<Profile>,
    next: AtomicU64,
    open: Mutex<HashMap<u64, OpenSpan>>,
}

struct OpenSpan {
    metadata: &'static Metadata<'static>,
    fields: Fields,
    parent: Option<u64>,
    /// Number of handles and of open children.
    references: usize,
    since: Instant,
    /// Lane in the profile.
    lane: usize,
}

impl OpenSpan {
    fn slice(&self, id: u64, ending: Ending) -> Slice<'_> {
        Slice {
            id,
            name: self.metadata.name(),
            module: module(self.metadata),
            lane: self.lane,
            since: self.since,
            ending,
            fields: &self.fields.rest,
        }
    }
}

impl Observer {
    pub(super) fn new(log: Arc<Log>, profile: Option<Profile>) -> Observer {
        Observer { log, profile, next: AtomicU64::new(1), open: Mutex::default() }
    }

    /// Completes the profile. Open spans end now.
    pub(super) fn finish(&self) -> io::Result<()> {
        let Some(profile) = &self.profile else { return Ok(()) };
        let open = self.open();
        open.iter().for_each(|(id, span)| profile.close(&span.slice(*id, Ending::Unfinished)));
        profile.finish()
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, OpenSpan>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_logged(&self, level: &Level) -> bool {
        self.log.core_level().is_some_and(|least| *level <= least)
    }

    fn log(
        &self,
        metadata: &'static Metadata<'static>,
        message: &str,
        fields: &[(&'static str, Json)],
        elapsed: Option<&Json>,
    ) {
        let fields = fields.iter().map(|(name, value)| (*name, value));
        let fields: Vec<(&str, &Json)> = fields.chain(elapsed.map(|elapsed| ("elapsed_ms", elapsed))).collect();
        self.log.write(&Line { level: *metadata.level(), module: module(metadata), message, fields: &fields });
    }

    /// Drops a reference to a span; none are left if it closes. Its parent loses a reference then.
    fn release(&self, id: u64) -> bool {
        let mut open = self.open();
        let mut released = id;
        let mut is_closed = false;
        while let Some(span) = open.get_mut(&released) {
            span.references -= 1;
            if span.references > 0 {
                break;
            }
            let Some(span) = open.remove(&released) else { break };
            is_closed |= released == id;
            if let Some(profile) = &self.profile {
                profile.close(&span.slice(released, Ending::Finished));
            }
            if self.is_logged(span.metadata.level()) {
                let elapsed = Json::from((span.since.elapsed().as_secs_f64() * 1e6).round() / 1e3);
                let message = format!("{} finished", span.metadata.name());
                self.log(span.metadata, &message, &span.fields.rest, Some(&elapsed));
            }
            let Some(parent) = span.parent else { break };
            released = parent;
        }
        is_closed
    }
}

/// The name of the crate that a span or event is from, without its prefix; empty for the binary itself.
fn module(metadata: &'static Metadata<'static>) -> &'static str {
    let path = metadata.target().strip_prefix("yuba_").unwrap_or_default();
    path.split_once("::").map_or(path, |(name, _)| name)
}

impl Subscriber for Observer {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.enabled(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let is_profiled = self.profile.is_some() && metadata.is_span();
        metadata.target().starts_with(TARGETS) && (is_profiled || self.is_logged(metadata.level()))
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        match (&self.profile, self.log.core_level()) {
            (Some(_), _) => Some(LevelFilter::TRACE),
            (None, level) => Some(level.map_or(LevelFilter::OFF, LevelFilter::from_level)),
        }
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let metadata = attributes.metadata();
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let parent = match attributes.parent() {
            Some(parent) => Some(parent.into_u64()),
            None if attributes.is_contextual() => innermost(),
            None => None,
        };
        if self.is_logged(metadata.level()) {
            self.log(metadata, &format!("{} started", metadata.name()), &fields.rest, None);
        }
        let mut open = self.open();
        let parent = parent.filter(|parent| open.contains_key(parent));
        let lane_of_parent = parent.and_then(|parent| {
            let span = open.get_mut(&parent)?;
            span.references += 1;
            Some((parent, span.lane))
        });
        let lane = self.profile.as_ref().map_or(0, |profile| profile.open(id, lane_of_parent));
        let since = Instant::now();
        open.insert(id, OpenSpan { metadata, fields, parent, references: 1, since, lane });
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        if let Some(span) = self.open().get_mut(&span.into_u64()) {
            values.record(&mut span.fields);
        }
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.log(event.metadata(), &fields.message, &fields.rest, None);
    }

    fn enter(&self, span: &Id) {
        ENTERED.with_borrow_mut(|entered| entered.push(span.into_u64()));
    }

    fn exit(&self, span: &Id) {
        ENTERED.with_borrow_mut(|entered| {
            if let Some(at) = entered.iter().rposition(|id| *id == span.into_u64()) {
                entered.remove(at);
            }
        });
    }

    fn clone_span(&self, id: &Id) -> Id {
        if let Some(span) = self.open().get_mut(&id.into_u64()) {
            span.references += 1;
        }
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        self.release(id.into_u64())
    }

    fn current_span(&self) -> Current {
        let Some(id) = innermost() else { return Current::none() };
        match self.open().get(&id) {
            Some(span) => Current::new(Id::from_u64(id), span.metadata),
            None => Current::none(),
        }
    }
}

fn innermost() -> Option<u64> {
    ENTERED.with_borrow(|entered| entered.last().copied())
}
