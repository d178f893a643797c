//! `backend "pg"`: states in a table of PostgreSQL, laid out and locked as OpenTofu does it.
//!
//! A lock belongs to a session of the server. Everything that is written under a lock is written by its session, so a run
//! whose session has ended can no longer write. Sessions are opened when they are needed: usually one for a run.

mod application;
mod connect;
mod connection_string;
mod errors;
mod journal;
mod layout;
mod locks;
mod passwords;
mod rows;
mod session;
mod settings;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use yuba_net::http::HttpClient;
use yuba_syntax::Diagnostics;
use yuba_value::Value;

use crate::diagnostics;
use crate::kit::arguments::{Argument, ArgumentSchema, Arguments};
use crate::kit::store::{
    LockCheck, LockId, Precondition, ServerJournal, Store, StoreError, StoreErrorKind, StoreVersion, Stored,
    UnlockRefusal, Write,
};
use crate::kit::{BackendEnvironment, Storage};
use crate::lock::{LockHolder, LockRefusal};
use errors::PgError;
use layout::{Layout, holds};
use locks::{Attempt, Held, Holder};
use session::{Parameter, Session, field};
use settings::Settings;

pub(super) fn schema() -> ArgumentSchema {
    let text = |name| Argument::optional(name, yuba_value::Type::string());
    let switch = |name| Argument::optional(name, yuba_value::Type::bool()).default_to(Value::bool(false));
    ArgumentSchema::new([
        text("conn_str")
            .from_environment(&["PG_CONN_STR"])
            .secret()
            .described("The connection string: a postgres:// URL, or pairs of name=value."),
        text("schema_name")
            .from_environment(&["PG_SCHEMA_NAME"])
            .default_to(Value::string("terraform_remote_state"))
            .described("The schema of the table, which is created if it does not exist."),
        switch("skip_schema_creation")
            .from_environment(&["PG_SKIP_SCHEMA_CREATION"])
            .described("The schema exists already and is not created."),
        text("table_name")
            .from_environment(&["PG_TABLE_NAME"])
            .default_to(Value::string("states"))
            .described("The table of states, which is created if it does not exist."),
        switch("skip_table_creation")
            .from_environment(&["PG_SKIP_TABLE_CREATION"])
            .described("The table exists already and is not created."),
        text("index_name")
            .from_environment(&["PG_INDEX_NAME"])
            .default_to(Value::string("states_by_name"))
            .described("The index of workspace names, which is created if it does not exist."),
        switch("skip_index_creation")
            .from_environment(&["PG_SKIP_INDEX_CREATION"])
            .described("The index exists already and is not created."),
        text("layout").own().from_environment(&["YUBA_PG_LAYOUT"]).default_to(Value::string("state")).described(
            "\"state\" stores a state as a whole, as OpenTofu does. \"resources\" stores a row for each object.",
        ),
        Argument::optional("history_days", yuba_value::Type::number())
            .own()
            .from_environment(&["YUBA_PG_HISTORY_DAYS"])
            .described(
                "With layout = \"resources\", runs remove earlier versions of objects after this number of days.",
            ),
    ])
}

/// A connection string is read when the backend is opened, because the environment is part of it.
pub(super) fn check(arguments: &Arguments) -> Diagnostics {
    if let Some(layout) = arguments.text("layout").filter(|layout| !["state", "resources"].contains(&&**layout)) {
        return diagnostics::pg_layout_unknown(&layout).into();
    }
    let days = arguments.get("history_days");
    if !days.is_null() && history_days(arguments).is_none() {
        return diagnostics::pg_history_days_invalid().into();
    }
    let is_reserved = arguments.text("table_name").is_some_and(|name| is_reserved_table(&name));
    match is_reserved {
        true => diagnostics::pg_table_reserved(&arguments.text("table_name").unwrap_or_default()).into(),
        false => Diagnostics::new(),
    }
}

/// `history_days`, if it is a number of days.
fn history_days(arguments: &Arguments) -> Option<i32> {
    arguments.whole("history_days").and_then(|days| i32::try_from(days).ok()).filter(|days| (1..=36_500).contains(days))
}

/// Whether Yuba has a table of this name for itself.
fn is_reserved_table(name: &str) -> bool {
    name == layout::JOURNAL || rows::TABLES.contains(&name)
}

pub(super) fn open(arguments: &Arguments, environment: &BackendEnvironment) -> Result<Storage, Diagnostics> {
    let store = connect_to(arguments, environment)?;
    match store.content {
        Content::Objects => {
            Ok(Storage::Objects(Arc::new(rows::Rows::open(store, environment, history_days(arguments))?)))
        }
        Content::States => Ok(Storage::Store(store)),
    }
}

fn connect_to(arguments: &Arguments, environment: &BackendEnvironment) -> Result<Arc<Pg>, Diagnostics> {
    let connection_string = arguments.text("conn_str").unwrap_or_default();
    let settings = settings::read(&connection_string, &environment.variables, environment.files.as_ref())
        .map_err(|reason| diagnostics::pg_not_configured(&reason))?;
    let store = Pg {
        layout: Layout::new(arguments),
        runtime: environment.services.client().clone(),
        settings,
        free: Mutex::default(),
        locks: Mutex::default(),
        broken: Mutex::default(),
        journal_table: journal::Table::default(),
        content: match arguments.text("layout").as_deref() {
            Some("resources") => Content::Objects,
            _ => Content::States,
        },
    };
    let mut attempt = 0;
    loop {
        attempt += 1;
        match store.prepare() {
            Err(error) if error.kind == StoreErrorKind::Transient && attempt < environment.retries.attempts => {
                std::thread::sleep(environment.retries.pause_after(attempt, None));
            }
            Err(error) => return Err(diagnostics::pg_not_connected(&error).into()),
            Ok(()) => return Ok(Arc::new(store)),
        }
    }
}

/// States in a table.
struct Pg {
    settings: Settings,
    layout: Layout,
    runtime: HttpClient,
    /// A session that holds no lock.
    free: Mutex<Option<Arc<Session>>>,
    locks: Mutex<Vec<Held>>,
    /// Sessions that broke while they took a lock.
    broken: Mutex<Vec<LockId>>,
    journal_table: journal::Table,
    content: Content,
}

/// Kind of data in the tables of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// `layout = "state"`
    States,
    /// `layout = "resources"`
    Objects,
}

/// Settings contain passwords.
impl fmt::Debug for Pg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pg").field("layout", &self.layout).finish_non_exhaustive()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pg {
    fn prepare(&self) -> Result<(), StoreError> {
        let session = self.session().map_err(|error| self.failed("connect to", &error))?;
        self.layout.prepare(&session).map_err(|error| self.failed("create the table of states on", &error))
    }

    /// A session that holds no lock.
    fn session(&self) -> Result<Arc<Session>, PgError> {
        let mut free = locked(&self.free);
        match free.as_ref().filter(|session| !session.is_closed()) {
            Some(session) => Ok(Arc::clone(session)),
            None => {
                let session = Arc::new(Session::open(&self.settings, &self.runtime)?);
                *free = Some(Arc::clone(&session));
                Ok(session)
            }
        }
    }

    fn held(&self, workspace: &str) -> Option<Held> {
        locked(&self.locks).iter().find(|held| held.workspace == workspace).cloned()
    }

    /// Server processes of the locks that this store holds.
    fn held_processes(&self) -> Vec<i32> {
        locked(&self.locks).iter().map(|held| held.session.process.0).collect()
    }

    /// Reads with the session of the lock, if there is one that is alive, or another.
    fn with_reader<T>(&self, workspace: &str, read: impl FnOnce(&Session) -> Result<T, PgError>) -> Result<T, PgError> {
        let held = self.held(workspace).filter(|held| !held.session.is_closed());
        let session = match held {
            Some(held) => held.session,
            None => self.session()?,
        };
        read(&session)
    }

    /// `postgres://host:port/database`, without user, password and parameters.
    fn server(&self) -> String {
        let servers: Vec<String> = self.settings.servers.iter().map(settings::Server::shown).collect();
        let database = self.settings.database.as_deref().unwrap_or(&self.settings.user);
        format!("postgres://{}/{database}", servers.join(","))
    }

    /// A failure in words: the request, the server, its reason and what to do.
    fn failed(&self, request: &str, error: &PgError) -> StoreError {
        let kind = if error.may_pass() { StoreErrorKind::Transient } else { StoreErrorKind::Lasting };
        let hint = self.hint(error).map(|hint| format!(". {hint}")).unwrap_or_default();
        StoreError::new(kind, format!("failed to {request} {}: {}{hint}", self.server(), error.reason()))
    }

    /// The same for the session of a lock, which is lost if the session is.
    fn failed_under_lock(&self, request: &str, error: &PgError) -> StoreError {
        let failed = self.failed(request, error);
        match error {
            PgError::Broken(_) => StoreError { kind: StoreErrorKind::LockLost, ..failed },
            _ => failed,
        }
    }

    fn hint(&self, error: &PgError) -> Option<String> {
        let PgError::Server(server) = error else { return None };
        let (table, user) = (&self.layout.table, &self.settings.user);
        if server.code == SqlState::INSUFFICIENT_PRIVILEGE && self.content == Content::Objects {
            let schema = layout::quoted(&self.layout.schema);
            return Some(format!(
                "The role \"{user}\" needs more permissions on the tables yuba_* of the schema {schema}. `yuba state pg-grants`, run by \
                 their owner, writes them"
            ));
        }
        if server.code == SqlState::INSUFFICIENT_PRIVILEGE {
            let grants = format!("SELECT, INSERT, UPDATE and DELETE on {table}, and USAGE on its schema and sequence");
            return Some(format!("The role \"{user}\" needs {grants}"));
        }
        if server.code == SqlState::UNDEFINED_TABLE || server.code == SqlState::INVALID_SCHEMA_NAME {
            return Some(format!("Create {table}, or let `yuba init` create it without skip_table_creation"));
        }
        let is_read_only = server.code == SqlState::READ_ONLY_SQL_TRANSACTION;
        is_read_only.then(|| "The server is a standby or read-only. Connect to the primary server".to_owned())
    }

    /// Why a write under a lock changed no row.
    fn why_not_written(&self, session: &Session, key: Option<i64>) -> StoreError {
        let held = key.map(|key| session.value::<bool>(&format!("SELECT {}", holds(key)), &[]));
        match held {
            Some(Err(error)) => self.failed_under_lock("write the state on", &error),
            Some(Ok(false)) => StoreError::new(StoreErrorKind::LockLost, "the session no longer holds the lock"),
            Some(Ok(true)) | None => {
                StoreError::new(StoreErrorKind::Conflict, "the row of the state has changed since it was read")
            }
        }
    }

    /// The session and the lock for a write.
    fn writer(&self, workspace: &str, lock: Option<&LockId>) -> Result<(Arc<Session>, Option<i64>), StoreError> {
        let Some(id) = lock else {
            // A command with -lock=false beside one that holds the lock, or without any.
            return Ok((self.session().map_err(|error| self.failed("connect to", &error))?, None));
        };
        match self.held(workspace).filter(|held| held.id == *id) {
            Some(held) => Ok((held.session, Some(held.key))),
            None => Err(StoreError::new(StoreErrorKind::LockLost, format!("this process does not hold the lock {id}"))),
        }
    }

    fn refusal(&self, session: &Session, key: i64) -> LockRefusal {
        match locks::holders(session, &[key]) {
            Err(error) => LockRefusal::Store(self.failed("ask who holds the lock on", &error)),
            Ok(holders) if holders.iter().any(|holder| self.ends_broken_attempt(session, holder)) => {
                LockRefusal::Store(StoreError::transient(
                    "the server ends the session of an earlier attempt to lock it",
                ))
            }
            // Without a holder the lock was freed in the meantime.
            Ok(holders) => {
                let holder = holders.first().map(|holder| Box::new(holder.to_lock_holder(key)));
                LockRefusal::Held { holder, pid: None }
            }
        }
    }

    /// Ends a session of this process that broke while it took the lock, and that lives on for the server.
    fn ends_broken_attempt(&self, session: &Session, holder: &Holder) -> bool {
        let is_ours = locked(&self.broken).iter().any(|id| holder.is(id));
        is_ours && session.value::<bool>(&format!("SELECT pg_terminate_backend({})", holder.process), &[]).is_ok()
    }

    /// Ends a session that holds the lock of a state, for a user who names it.
    fn force_unlock(&self, workspace: &str, id: &LockId) -> Result<(), UnlockRefusal> {
        let failed = |error: PgError| UnlockRefusal::Failed(self.failed("release the lock on", &error));
        let session = self.session().map_err(failed)?;
        let keys = locks::keys(&session, &self.layout, workspace).map_err(failed)?;
        let holders = locks::holders(&session, &keys).map_err(failed)?;
        // Quirk: OpenTofu reports success if no session holds the lock.
        let Some(first) = holders.first() else { return Ok(()) };
        match holders.iter().find(|holder| holder.is(id)) {
            None => {
                let key = keys.last().copied().unwrap_or_default();
                Err(UnlockRefusal::OtherLock(Some(Box::new(first.to_lock_holder(key)))))
            }
            Some(holder) => self.end_session(&session, holder),
        }
    }

    fn end_session(&self, session: &Session, holder: &Holder) -> Result<(), UnlockRefusal> {
        let process = holder.process;
        let ended = session.value::<bool>(&format!("SELECT pg_terminate_backend({process})"), &[]);
        match ended {
            // False means that the session has ended already.
            Ok(_) => Ok(()),
            Err(error) => {
                let who = holder.in_words();
                let advice = "Stop that client, or ask a superuser to run";
                let reason = format!(
                    "a live session holds the lock ({who}), and it cannot be ended: {}. {advice} \
                     `SELECT pg_terminate_backend({process})`",
                    error.reason()
                );
                Err(UnlockRefusal::Failed(StoreError::lasting(reason)))
            }
        }
    }

    /// Frees a lock whose session broke for this process and may live on for the server.
    fn end_broken(&self, held: &Held) {
        let ended = self.session().and_then(|session| {
            let holders = locks::holders(&session, &[held.key])?;
            match holders.iter().any(|holder| holder.is(&held.id)) {
                true => session.value::<bool>(&format!("SELECT pg_terminate_backend({})", held.session.process.0), &[]),
                false => Ok(true),
            }
        });
        if let Err(error) = ended {
            tracing::debug!(reason = error.reason(), "the server frees the lock when it notices the broken connection");
        }
    }
}

impl Store for Pg {
    fn workspaces(&self) -> Result<Vec<String>, StoreError> {
        let listed = self.session().and_then(|session| {
            let rows = session.query(&format!("SELECT name FROM {} WHERE name IS NOT NULL", self.layout.table), &[])?;
            rows.iter().map(|row| field(row, 0)).collect()
        });
        listed.map_err(|error| self.failed("list the states on", &error))
    }

    fn read(&self, workspace: &str) -> Result<Option<Stored>, StoreError> {
        let statement = format!("SELECT coalesce(data, ''), xmin::text FROM {} WHERE name = $1", self.layout.table);
        let read = self.with_reader(workspace, |session| {
            let rows = session.query(&statement, &[(&workspace, Type::TEXT)])?;
            let stored = |row| {
                let (content, version): (String, String) = (field(row, 0)?, field(row, 1)?);
                Ok(Stored { content: content.into_bytes(), version: StoreVersion(version) })
            };
            rows.first().map(stored).transpose()
        });
        let stored = read.map_err(|error| self.failed("read the state on", &error))?;
        match stored.as_ref().is_some_and(|stored: &Stored| stored.content.starts_with(rows::MARKER.as_bytes())) {
            true => Err(StoreError::lasting(
                "the workspace is stored with layout = \"resources\". Set layout = \"resources\" in the backend block and run \
                 `yuba init`. To move it back, set another schema_name or table_name and run `yuba init -migrate-state`",
            )),
            false => Ok(stored),
        }
    }

    /// The version is the transaction that wrote the row. The statement compares it, and that the session holds the lock.
    fn write(&self, workspace: &str, write: &Write<'_>) -> Result<StoreVersion, StoreError> {
        let content = std::str::from_utf8(write.content)
            .map_err(|_| StoreError::lasting("the content is not valid UTF-8, and the column \"data\" is text"))?;
        let (session, key) = self.writer(workspace, write.lock)?;
        let (table, condition) = (&self.layout.table, key.map_or_else(|| "true".to_owned(), holds));
        let content: Parameter<'_> = (&content, Type::TEXT);
        let written = match write.precondition {
            Precondition::Absent => {
                let statement = format!(
                    "INSERT INTO {table} (name, data) SELECT $1, $2 WHERE {condition} ON CONFLICT (name) DO NOTHING \
                     RETURNING xmin::text"
                );
                session.query(&statement, &[(&workspace, Type::TEXT), content])
            }
            Precondition::Version(version) => {
                let statement = format!(
                    "UPDATE {table} SET data = $2 WHERE name = $1 AND xmin::text = $3 AND {condition} RETURNING xmin::text"
                );
                session.query(&statement, &[(&workspace, Type::TEXT), content, (&version.0, Type::TEXT)])
            }
        };
        let under_lock = |error: &PgError| match key {
            Some(_) => self.failed_under_lock("write the state on", error),
            None => self.failed("write the state on", error),
        };
        let rows = written.map_err(|error| under_lock(&error))?;
        match rows.first() {
            Some(row) => field(row, 0).map(StoreVersion).map_err(|error| under_lock(&error)),
            None => Err(self.why_not_written(&session, key)),
        }
    }

    fn delete(&self, workspace: &str) -> Result<(), StoreError> {
        let statement = format!("DELETE FROM {} WHERE name = $1", self.layout.table);
        let deleted = self.with_reader(workspace, |session| {
            session.query(&statement, &[(&workspace, Type::TEXT)])?;
            self.remove_journal(session, workspace)
        });
        deleted.map_err(|error| self.failed("delete the state on", &error))
    }

    fn lock(&self, workspace: &str, holder: &LockHolder) -> Result<Option<LockId>, LockRefusal> {
        let failed = |error: PgError| LockRefusal::Store(self.failed("lock the state on", &error));
        // The session of a lock holds no other lock: a second attempt by the same session would succeed.
        let free = locked(&self.free).take();
        let session = match free.filter(|session| !session.is_closed()) {
            Some(session) => session,
            None => Arc::new(Session::open(&self.settings, &self.runtime).map_err(failed)?),
        };
        let application = self.settings.application.during(&holder.operation);
        let attempt =
            locks::prepare(&session, &application).and_then(|()| locks::try_lock(&session, &self.layout, workspace));
        match attempt {
            // The session may hold the lock although the response was lost. It ends here, and the lock with it.
            Err(error) => {
                locked(&self.broken).push(locks::id_of(session.process));
                Err(failed(error))
            }
            Ok(Attempt::Refused(key)) => {
                let refusal = self.refusal(&session, key);
                locked(&self.free).get_or_insert(session);
                Err(refusal)
            }
            Ok(Attempt::Taken(key)) => {
                let id = locks::id_of(session.process);
                let held = Held { id: id.clone(), workspace: workspace.to_owned(), key, session };
                locked(&self.locks).push(held);
                Ok(Some(id))
            }
        }
    }

    fn unlock(&self, workspace: &str, id: &LockId) -> Result<(), UnlockRefusal> {
        let held = {
            let mut locks = locked(&self.locks);
            let position = locks.iter().position(|held| held.workspace == workspace && held.id == *id);
            position.map(|position| locks.remove(position))
        };
        let Some(held) = held else { return self.force_unlock(workspace, id) };
        match locks::release(&held.session, held.key) {
            Ok(true) => {
                locked(&self.free).get_or_insert(held.session);
                Ok(())
            }
            Ok(false) => Err(UnlockRefusal::NotLocked),
            // The server frees the lock with the session.
            Err(_) => {
                self.end_broken(&held);
                Err(UnlockRefusal::NotLocked)
            }
        }
    }

    /// The lock of a session without response has ended with the session.
    fn abandon_lock(&self, _: &str, _: &LockHolder) -> Result<(), UnlockRefusal> {
        Err(UnlockRefusal::NotLocked)
    }

    fn check_lock(&self, workspace: &str, id: &LockId) -> Result<LockCheck, StoreError> {
        let Some(held) = self.held(workspace).filter(|held| held.id == *id) else {
            return Ok(LockCheck::Lost("this process no longer has it".to_owned()));
        };
        match held.session.value::<bool>(&format!("SELECT {}", holds(held.key)), &[]) {
            Ok(true) => Ok(LockCheck::Held),
            Ok(false) => Ok(LockCheck::Lost("the session no longer holds it".to_owned())),
            Err(error @ PgError::Broken(_)) => Ok(LockCheck::Lost(format!("{}, which frees the lock", error.reason()))),
            Err(error) => Err(self.failed("check the lock on", &error)),
        }
    }

    fn server_journal(&self) -> Option<&dyn ServerJournal> {
        Some(self)
    }

    fn describe(&self, workspace: &str) -> String {
        format!("\"{workspace}\" in {} of {}", self.layout.shown(), self.server())
    }
}
