//! Advisory locks of states, as OpenTofu takes them: by the id of the row, and by the creation lock while there is no row.
//!
//! PostgreSQL frees a lock when the session that holds it ends, and stores nothing about it. Who holds it is what the server
//! knows of that session.

use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::types::Type;

use super::application::Application;
use super::errors::PgError;
use super::layout::{Layout, is_lock};
use super::session::{Session, field};
use crate::kit::store::LockId;
use crate::lock::LockHolder;
use crate::timestamp::UtcTime;

/// Attempts to lock a row while other processes test the creation lock, which takes them a moment.
const ATTEMPTS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(50);

/// A lock that this process holds.
#[derive(Clone)]
pub(super) struct Held {
    pub(super) id: LockId,
    pub(super) workspace: String,
    pub(super) key: i64,
    pub(super) session: Arc<Session>,
}

/// Result of an attempt to lock a state.
pub(super) enum Attempt {
    /// The session holds the lock with this key.
    Taken(i64),
    /// Another session holds the lock with this key.
    Refused(i64),
}

/// Tries to lock a state on a session that holds no lock. Both tools exclude each other, also while they create states: the
/// lock of a row counts only while no session holds the creation lock.
pub(super) fn try_lock(session: &Session, layout: &Layout, workspace: &str) -> Result<Attempt, PgError> {
    let creation = layout.creation_lock();
    // The test of the creation lock ends with the statement.
    let lock_row = format!(
        "SELECT id, pg_try_advisory_lock(id), pg_try_advisory_xact_lock({creation}) FROM {} WHERE name = $1",
        layout.table
    );
    let mut attempt = 0;
    loop {
        attempt += 1;
        let rows = session.query(&lock_row, &[(&workspace, Type::TEXT)])?;
        let Some(row) = rows.first() else {
            match lock_creation(session, layout, workspace)? {
                Some(attempt) => return Ok(attempt),
                None if attempt < ATTEMPTS => continue,
                None => return Ok(Attempt::Refused(creation)),
            }
        };
        let (id, is_locked, is_settled): (i64, bool, bool) = (field(row, 0)?, field(row, 1)?, field(row, 2)?);
        match (is_locked, is_settled) {
            (true, true) => return Ok(Attempt::Taken(id)),
            (false, _) => return Ok(Attempt::Refused(id)),
            (true, false) => {
                release(session, id)?;
                if attempt >= ATTEMPTS {
                    return Ok(Attempt::Refused(creation));
                }
                std::thread::sleep(PAUSE);
            }
        }
    }
}

/// Tries to take the creation lock. None if another process has created the row in the meantime.
fn lock_creation(session: &Session, layout: &Layout, workspace: &str) -> Result<Option<Attempt>, PgError> {
    let creation = layout.creation_lock();
    if !session.value::<bool>(&format!("SELECT pg_try_advisory_lock({creation})"), &[])? {
        return Ok(Some(Attempt::Refused(creation)));
    }
    let is_there = format!("SELECT EXISTS (SELECT FROM {} WHERE name = $1)", layout.table);
    if session.value::<bool>(&is_there, &[(&workspace, Type::TEXT)])? {
        release(session, creation)?;
        return Ok(None);
    }
    Ok(Some(Attempt::Taken(creation)))
}

/// Releases a lock. Returns false unless the session holds it.
pub(super) fn release(session: &Session, key: i64) -> Result<bool, PgError> {
    session.value(&format!("SELECT pg_advisory_unlock({key})"), &[])
}

/// Settings of a session that takes a lock: the server frees the lock of a dead client after about a minute, does not end the
/// session because it is idle, and shows other clients the application name.
pub(super) fn prepare(session: &Session, application: &str) -> Result<(), PgError> {
    let settings = "SELECT set_config(name, value, false) FROM (VALUES ('tcp_keepalives_idle', '30'), \
                    ('tcp_keepalives_interval', '10'), ('tcp_keepalives_count', '3'), ('idle_session_timeout', '0'), \
                    ('application_name', $1)) AS wanted (name, value) JOIN pg_settings USING (name)";
    match session.query(settings, &[(&application, Type::TEXT)]) {
        Err(error @ PgError::Broken(_)) => Err(error),
        Err(error) => {
            tracing::debug!(reason = error.reason(), "the server does not accept settings of the lock session");
            Ok(())
        }
        Ok(_) => Ok(()),
    }
}

/// A session that holds a lock.
#[derive(Clone, Debug)]
pub(super) struct Holder {
    /// The process of the server.
    pub(super) process: i32,
    /// When the session started, in seconds since 1970, where this role may see it.
    started: Option<i64>,
    started_at: Option<String>,
    role: Option<String>,
    application: Option<String>,
    client: Option<String>,
}

impl Holder {
    /// The id that users see: the process of the server and when it started, which no later session has.
    pub(super) fn id(&self) -> LockId {
        match self.started {
            Some(started) => id_of((self.process, started)),
            None => LockId(self.process.to_string()),
        }
    }

    /// Whether an id names this session.
    pub(super) fn is(&self, id: &LockId) -> bool {
        let is_process = || id.0.split('-').next() == Some(self.process.to_string().as_str());
        *id == self.id() || self.started.is_none() && is_process()
    }

    /// The session in words: `server process 4711, role "ann", client 10.0.0.1:5000, application "psql"`.
    pub(super) fn in_words(&self) -> String {
        let mut words = format!("server process {}", self.process);
        for (what, value) in [("role", &self.role), ("application", &self.application)] {
            if let Some(value) = value.as_ref().filter(|value| !value.is_empty()) {
                words += &format!(", {what} \"{value}\"");
            }
        }
        if let Some(client) = &self.client {
            words += &format!(", client {client}");
        }
        words
    }

    /// As the holder of a lock. Sessions of Yuba name their user, host and process.
    pub(super) fn to_lock_holder(&self, key: i64) -> LockHolder {
        let ours = self.application.as_deref().and_then(Application::parse);
        let (who, process, operation) = match ours {
            Some(ours) => (ours.who, format!("pid {}, ", ours.pid), ours.operation),
            None => (self.role.clone().unwrap_or_default(), String::new(), String::new()),
        };
        LockHolder {
            id: self.id().0,
            operation,
            info: format!("{process}{}", self.in_words()),
            who,
            version: String::new(),
            created: self.started_at.as_deref().and_then(UtcTime::parse),
            path: key.to_string(),
        }
    }
}

/// The id of a lock that a session holds.
pub(super) fn id_of((process, started): (i32, i64)) -> LockId {
    LockId(format!("{process}-{started}"))
}

/// Sessions that hold one of these locks.
pub(super) fn holders(session: &Session, keys: &[i64]) -> Result<Vec<Holder>, PgError> {
    let conditions: Vec<String> = keys.iter().map(|key| is_lock(*key)).collect();
    let asked = format!(
        "SELECT lock.pid, floor(extract(epoch FROM backend_start))::bigint, \
         to_char(backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'), usename::text, application_name, \
         CASE WHEN client_addr IS NULL THEN NULL ELSE host(client_addr) || ' port ' || client_port END \
         FROM (SELECT DISTINCT pid FROM pg_locks WHERE {}) AS lock LEFT JOIN pg_stat_activity USING (pid)",
        conditions.join(" OR ")
    );
    let rows = session.query(&asked, &[])?;
    let holder = |row| {
        Ok(Holder {
            process: field(row, 0)?,
            started: field(row, 1)?,
            started_at: field(row, 2)?,
            role: field(row, 3)?,
            application: field(row, 4)?,
            client: field(row, 5)?,
        })
    };
    rows.iter().map(holder).collect()
}

/// Keys of the locks that exclude other sessions from a state: the creation lock, and that of its row.
pub(super) fn keys(session: &Session, layout: &Layout, workspace: &str) -> Result<Vec<i64>, PgError> {
    let row = format!("SELECT id FROM {} WHERE name = $1", layout.table);
    let rows = session.query(&row, &[(&workspace, Type::TEXT)])?;
    let mut keys = vec![layout.creation_lock()];
    if let Some(row) = rows.first() {
        keys.push(field(row, 0)?);
    }
    Ok(keys)
}
