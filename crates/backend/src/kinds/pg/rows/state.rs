//! The state of one workspace in rows: what is known of it, its locks, and saving it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ecow::EcoString;
use yuba_addrs::AbsResourceInstance;
use yuba_state::{Output, RowKey, State};
use yuba_syntax::Diagnostics;

use tokio_postgres::types::Type;

use super::changes::{Changes, Committed, First, Head, OperationColumns};
use super::locks::{LockColumns, Locked, Request};
use super::reading::{ReadFailure, Snapshot};
use super::running::Running;
use super::sealing::Seal;
use super::{MARKER, POOLED, Rows, marker, schema};
use crate::diagnostics;
use crate::encryption::Sealing;
use crate::files::StateFiles;
use crate::journal::Journal;
use crate::journal::line::fingerprint;
use crate::kinds::pg::errors::PgError;
use crate::kinds::pg::session::Session;
use crate::kit::store::{LockId, StoreError, StoreErrorKind, UnlockRefusal};
use crate::lock::{LockHolder, LockRefusal};
use crate::store::{
    LockOutcome, ObjectVersion, Reading, Reservation, Saved, StatePart, StateSelector, StateStore, SuccessorCheck,
    WayBack, compared, number, pushed,
};
use crate::timestamp::UtcTime;
use crate::workspace::DEFAULT_WORKSPACE;

/// The longest wait for one run that has locks.
const WAIT: Duration = Duration::from_millis(1000);

/// Part of the state that a run has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Nothing: it looks, or goes without locks.
    Nothing,
    /// The rows that it changes, once they are known; requests for locks are repeated for this time.
    Part(Duration),
    /// The whole state.
    Whole,
}

/// A run of this process.
#[derive(Debug)]
struct Run {
    holder: LockHolder,
    /// Whether the database knows it.
    is_registered: bool,
    /// Number of its next commit.
    commits: i64,
}

/// Whether a state may take the place of one with the other layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takeover {
    Refused,
    Allowed,
}

/// The state of a workspace.
pub(super) struct RowState {
    pub(super) rows: Arc<Rows>,
    pub(super) files: Arc<dyn StateFiles>,
    pub(super) sealing: Option<Sealing>,
    pub(super) workspace: String,
    pub(super) location: String,
    id: Option<i64>,
    /// The session of the run, or of the last request.
    session: Option<Arc<Session>>,
    pub(super) scope: Scope,
    run: Option<Run>,
    /// The state as this process knows it; outer none before the first read.
    pub(super) known: Option<Option<State>>,
    /// The revision of the snapshot that was read.
    since: i64,
    /// The last revision that this process knows of.
    revision: i64,
    /// The serial of that.
    pub(super) serial: u64,
    /// Whether the database has a state of this workspace.
    exists: bool,
    /// A run that has locks which this one waits for.
    awaited: Option<String>,
    /// Whether the run has locks. It does not wait for further ones then.
    has_locks: bool,
    /// Lineage and serial of the state that a running apply continues.
    started: Option<(EcoString, u64)>,
}

impl RowState {
    pub(super) fn new(
        rows: Arc<Rows>,
        files: Arc<dyn StateFiles>,
        sealing: Option<Sealing>,
        workspace: &str,
    ) -> RowState {
        RowState {
            location: rows.describe(workspace),
            rows,
            files,
            sealing,
            workspace: workspace.to_owned(),
            id: None,
            session: None,
            scope: Scope::Nothing,
            run: None,
            known: None,
            since: 0,
            revision: 0,
            serial: 0,
            exists: false,
            awaited: None,
            has_locks: false,
            started: None,
        }
    }

    pub(super) fn is_default(&self) -> bool {
        self.workspace == DEFAULT_WORKSPACE
    }

    /// The revision of the snapshot that was read.
    pub(super) fn since(&self) -> i64 {
        self.since
    }

    /// The id of the run.
    pub(super) fn run_id(&self) -> Option<&str> {
        self.run.as_ref().map(|run| run.holder.id.as_str())
    }

    /// The file for changes that could not be saved.
    pub(super) fn unsaved_path(&self) -> PathBuf {
        let name: String = fingerprint(self.location.as_bytes()).chars().take(16).collect();
        self.rows.environment.journals(&self.workspace).join(format!("{name}.unsaved"))
    }

    /// Writes the first state of a workspace, so that it is listed.
    pub(super) fn begin_empty(&mut self) -> Result<(), Diagnostics> {
        let holder = LockHolder::ourselves("init", &self.rows.environment.variables);
        self.try_lock(holder).map_err(|refusal| diagnostics::lock_refused(&self.location, &refusal))?;
        let begun = match self.read()?.state {
            Some(_) => Ok(()),
            None => self.write(&mut State::empty()).map(drop),
        };
        begun.and(self.unlock())
    }

    /// The session of this state. A run that was registered moves to a new session with its locks, unless another run has taken them.
    pub(super) fn session(&mut self) -> Result<Arc<Session>, PgError> {
        if let Some(session) = self.session.as_ref().filter(|session| !session.is_closed()) {
            return Ok(Arc::clone(session));
        }
        let session = self.rows.session()?;
        if let (Some(run), Some(id)) = (self.run.as_ref().filter(|run| run.is_registered), self.id) {
            self.prepare(&session, &run.holder)?;
            self.rows.begin_run(&session, id, &run.holder)?;
        }
        self.session = Some(Arc::clone(&session));
        Ok(session)
    }

    /// Repeats a request while its failure may pass.
    pub(super) fn retrying<T>(
        &mut self,
        mut request: impl FnMut(&mut RowState) -> Result<T, PgError>,
    ) -> Result<T, PgError> {
        let retries = self.rows.environment.retries;
        let mut attempt = 0;
        loop {
            attempt += 1;
            match request(self) {
                Err(error) if error.may_pass() && attempt < retries.attempts => {
                    tracing::debug!(attempt, reason = error.reason(), "repeating a request");
                    std::thread::sleep(retries.pause_after(attempt, None));
                }
                done => return done,
            }
        }
    }

    /// The session and the workspace of a registered run, which begins here if no run has begun.
    fn running(&mut self) -> Result<(Arc<Session>, i64), PgError> {
        if self.run.is_none() {
            let holder = LockHolder::ourselves("change", &self.rows.environment.variables);
            self.run = Some(Run { holder, is_registered: false, commits: 0 });
        }
        let session = self.session()?;
        let id = match self.id {
            Some(id) => id,
            None => {
                let id = self.rows.registered(&session, &self.workspace)?;
                self.id = Some(id);
                id
            }
        };
        if let Some(run) = self.run.as_ref().filter(|run| !run.is_registered) {
            self.rows.check_session(&session)?;
            self.prepare(&session, &run.holder)?;
            self.rows.begin_run(&session, id, &run.holder)?;
            self.run.iter_mut().for_each(|run| run.is_registered = true);
        }
        Ok((session, id))
    }

    /// Settings of the session of a run: other clients see what it does, and the server does not end it while it is idle.
    fn prepare(&self, session: &Session, holder: &LockHolder) -> Result<(), PgError> {
        crate::kinds::pg::locks::prepare(session, &self.rows.pg.settings.application.during(&holder.operation))
    }

    /// Takes locks, once.
    fn take(&mut self, since: Option<i64>, wanted: &LockColumns, request: Request) -> Result<Reservation, LockRefusal> {
        self.awaited = None;
        let taken = self.retrying(|state| {
            let (session, id) = state.running()?;
            let Some(run) = &state.run else { return Err(PgError::Refused("no run has begun".to_owned())) };
            state.rows.take_locks(&session, (id, &run.holder.id, since), wanted, request)
        });
        match taken {
            Ok(Locked::Taken) => {
                self.has_locks = true;
                Ok(Reservation::Held)
            }
            Ok(Locked::Stale(addresses)) => {
                self.has_locks |= request == Request::Plan;
                Ok(Reservation::Stale(addresses.unwrap_or_default()))
            }
            Ok(Locked::Held(held)) => {
                self.has_locks &= request == Request::Rows;
                self.awaited = held.keys().next().cloned();
                let session = self
                    .session()
                    .map_err(|error| LockRefusal::Store(self.rows.failed("lock the state on", &error)))?;
                Err(self.rows.refusal(&session, &held))
            }
            Err(error) => Err(LockRefusal::Store(self.rows.failed("lock the state on", &error))),
        }
    }

    /// Takes the locks for rows that a command without a plan changes, and waits for them as long as the user allows.
    fn lock_rows(&mut self, keys: &BTreeSet<RowKey>) -> Result<(), Diagnostics> {
        let Scope::Part(patience) = self.scope else { return Ok(()) };
        let part = StatePart { writes: keys.iter().filter_map(selector).collect(), ..StatePart::default() };
        let wanted = LockColumns::of(&part);
        let until = Instant::now() + patience;
        loop {
            match self.take(Some(self.since), &wanted, Request::Rows) {
                Ok(Reservation::Held) => return Ok(()),
                Ok(Reservation::Stale(addresses)) => {
                    let reason = match addresses.is_empty() {
                        true => "the history since it was read is no longer stored".to_owned(),
                        false => format!("another run has changed {}", addresses.join(", ")),
                    };
                    let error = StoreError::new(StoreErrorKind::Conflict, reason);
                    return Err(diagnostics::store_not_written(&self.location, &error).into());
                }
                Err(refusal) if refusal.may_pass() && !self.has_locks && Instant::now() < until => {
                    self.wait_for_holder(until.saturating_duration_since(Instant::now()));
                }
                Err(refusal) => return Err(diagnostics::lock_refused(&self.location, &refusal).into()),
            }
        }
    }

    /// Writes rows as a state has them. With each key, whether its row exists.
    pub(super) fn commit(
        &mut self,
        keys: &BTreeMap<RowKey, bool>,
        state: &State,
        numbering: &Numbering,
        operations: &OperationColumns,
        takeover: Takeover,
    ) -> Result<Committed, SaveFailure> {
        let changes = Changes::of(keys, state, self.seal()).map_err(SaveFailure::Content)?;
        let is_first = !self.exists && (numbering.creates || !changes.is_empty());
        let lineage = (is_first || numbering.lineage).then(|| state.lineage.to_string());
        if changes.is_empty() && operations.is_empty() && lineage.is_none() {
            return Ok(Committed { revision: self.revision, serial: self.serial, statements: 0 });
        }
        let committed = self.retrying(|this| {
            let (session, workspace) = this.running()?;
            let rows = Arc::clone(&this.rows);
            let Some(run) = &this.run else { return Err(PgError::Refused("no run has begun".to_owned())) };
            let head = Head {
                schema: &rows.schema,
                workspace,
                run: &run.holder.id,
                number: run.commits + 1,
                since: this.since,
                expected: numbering.expected.then_some(this.revision),
                is_locked: this.scope != Scope::Nothing,
                lineage: lineage.as_deref(),
                serial: numbering.serial.map(|serial| serial.to_string()),
            };
            let workspace = this.workspace.clone();
            let mark = |session: &Session| rows.mark(session, &workspace, takeover);
            let first: Option<First<'_>> = if is_first { Some(&mark) } else { None };
            changes.commit(&session, &head, operations, first)
        });
        let committed = committed.map_err(|error| SaveFailure::Store(self.failed_to_write(&error)))?;
        if let Some(run) = &mut self.run {
            run.commits += committed.statements;
        }
        (self.revision, self.serial) = (committed.revision, committed.serial);
        self.exists |= is_first;
        Ok(committed)
    }

    pub(super) fn failed_to_write(&self, error: &PgError) -> StoreError {
        let failed = self.rows.failed("write the state on", error);
        let has_locks = self.scope != Scope::Nothing;
        match error {
            PgError::Broken(_) if has_locks => StoreError { kind: StoreErrorKind::LockLost, ..failed },
            _ => failed,
        }
    }

    pub(super) fn not_saved(&self, failure: SaveFailure) -> Diagnostics {
        match failure {
            SaveFailure::Store(error) if error.reason.ends_with(OTHER_LAYOUT) => {
                diagnostics::pg_other_layout(&self.location).into()
            }
            SaveFailure::Store(error) => diagnostics::store_not_written(&self.location, &error).into(),
            SaveFailure::Content(problems) => problems,
        }
    }

    /// Saves the rows in which a state differs from the known one.
    fn save(&mut self, state: &mut State, numbering: &Numbering, takeover: Takeover) -> Result<(), Diagnostics> {
        let empty = State::empty();
        let known = self.known.as_ref().and_then(Option::as_ref).unwrap_or(&empty);
        let keys: BTreeMap<RowKey, bool> =
            known.rows_that_differ(state).into_iter().map(|key| (key.clone(), known.has_row(&key))).collect();
        self.lock_rows(&keys.keys().cloned().collect())?;
        let none = OperationColumns::default();
        let committed =
            self.commit(&keys, state, numbering, &none, takeover).map_err(|failure| self.not_saved(failure))?;
        state.serial = committed.serial;
        self.keep(state.clone());
        Ok(())
    }

    pub(super) fn keep(&mut self, state: State) {
        self.started = Some((state.lineage.clone(), state.serial));
        self.known = Some(Some(state));
    }

    fn ensure_known(&mut self) -> Result<(), Diagnostics> {
        if self.known.is_none() {
            self.read()?;
        }
        Ok(())
    }

    /// Whether commits require the whole state as it was read: without locks, the state is protected as a whole.
    fn numbering(&self) -> Numbering {
        Numbering { expected: !matches!(self.scope, Scope::Part(_)), ..Numbering::default() }
    }

    /// Whether the run still has its locks.
    pub(super) fn check_run(&mut self) -> Result<(), StoreError> {
        let lost = |reason: &str| StoreError::new(StoreErrorKind::LockLost, reason);
        let Some(id) = self.run.as_ref().filter(|run| run.is_registered).map(|run| run.holder.id.clone()) else {
            return Ok(());
        };
        let open = self.retrying(|state| {
            let session = state.session()?;
            state.rows.is_open(&session, &id)
        });
        match open {
            Ok(true) => Ok(()),
            Ok(false) => Err(lost("another process has ended this run")),
            Err(error) => Err(self.failed_to_write(&error)),
        }
    }

    /// The encryption of the rows of this state.
    fn seal(&self) -> Seal<'_> {
        let table = &self.rows.pg.layout.table_name;
        Seal { sealing: self.sealing.as_ref(), table, workspace: &self.workspace }
    }

    fn snapshot_of(&mut self) -> Result<Snapshot, Diagnostics> {
        self.reading(|state, session| state.rows.read(session, &state.workspace, state.seal()))
    }

    /// Reads from the database, and repeats it while its failure may pass.
    fn reading<T>(
        &mut self,
        mut read: impl FnMut(&RowState, &Session) -> Result<T, ReadFailure>,
    ) -> Result<T, Diagnostics> {
        let mut content = None;
        let read = self.retrying(|state| {
            let session = state.session()?;
            match read(state, &session) {
                Ok(found) => Ok(Some(found)),
                Err(ReadFailure::Server(error)) => Err(error),
                Err(ReadFailure::Content(problems)) => {
                    content = Some(problems);
                    Ok(None)
                }
            }
        });
        match read {
            Ok(Some(found)) => Ok(found),
            Ok(None) => Err(content.unwrap_or_default()),
            Err(error) => {
                Err(diagnostics::store_not_read(&self.location, &self.rows.failed("read the state on", &error)).into())
            }
        }
    }
}

/// The end of the reason for a refused write over a state with the other layout.
pub(super) const OTHER_LAYOUT: &str = "the table has a state of this workspace with layout = \"state\"";

/// Serial and lineage of a commit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Numbering {
    /// The whole state must be as it was read.
    pub(super) expected: bool,
    /// The lineage of the state replaces the stored one.
    pub(super) lineage: bool,
    /// The serial; the next one without.
    pub(super) serial: Option<u64>,
    /// The state begins to exist, even if it has no content.
    pub(super) creates: bool,
}

/// Reason why a state was not saved.
#[derive(Debug)]
pub(super) enum SaveFailure {
    Store(StoreError),
    Content(Diagnostics),
}

/// The lock of a row. Results of checks and resources without instances need none.
fn selector(key: &RowKey) -> Option<StateSelector> {
    match key {
        RowKey::Object(addr, _) => Some(StateSelector::Instance(addr.clone())),
        RowKey::Resource(addr) => Some(StateSelector::Resource(addr.clone())),
        RowKey::Output(name) => Some(StateSelector::Output(name.clone())),
        RowKey::Check(_) => None,
    }
}

impl Rows {
    /// Puts the row that stands for a workspace of this layout into the table of the other layout. A state there is replaced
    /// only by a command that has read it, and a copy stays.
    fn mark(&self, session: &Session, workspace: &str, takeover: Takeover) -> Result<(), PgError> {
        let (schema, table) = (&self.schema, &self.pg.layout.table);
        if takeover == Takeover::Refused && self.is_elsewhere(session, workspace)? {
            return Err(PgError::Refused(OTHER_LAYOUT.to_owned()));
        }
        session.query("SELECT set_config('yuba.layout', 'resources', true)", &[])?;
        let keep = format!(
            "INSERT INTO {schema}.yuba_replaced_states (state_table, name, data) \
             SELECT $1, name, data FROM {table} WHERE name = $2 AND NOT starts_with(data, $3)"
        );
        session.query(
            &keep,
            &[(&self.pg.layout.table_name, Type::TEXT), (&workspace, Type::TEXT), (&MARKER, Type::TEXT)],
        )?;
        let put =
            format!("INSERT INTO {table} (name, data) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET data = $2");
        session.query(&put, &[(&workspace, Type::TEXT), (&marker(), Type::TEXT)]).map(drop)
    }

    /// Fails if the connection changes its session between transactions. A second connection makes a pooler give the session of
    /// the first one away.
    fn check_session(&self, session: &Session) -> Result<(), PgError> {
        if session.is_direct()? {
            return Ok(());
        }
        let other = Session::open(&self.pg.settings, &self.pg.runtime)?;
        other.batch("BEGIN")?;
        other.query("SELECT pg_backend_pid()", &[])?;
        let now: i32 = session.value("SELECT pg_backend_pid()", &[])?;
        let _ = other.batch("ROLLBACK");
        let theirs: i32 = other.value("SELECT pg_backend_pid()", &[])?;
        if now != session.process.0 || theirs != other.process.0 {
            return Err(PgError::Refused(POOLED.to_owned()));
        }
        Ok(())
    }
}

impl StateStore for RowState {
    fn try_lock(&mut self, holder: LockHolder) -> Result<LockOutcome, LockRefusal> {
        if self.scope != Scope::Nothing {
            return Err(LockRefusal::Ours);
        }
        let id = holder.id.clone();
        self.begin(holder, Scope::Whole);
        match self.take(None, &LockColumns::whole(), Request::Rows) {
            Ok(_) => Ok(LockOutcome { id, left_behind: None }),
            Err(refusal) => {
                self.abandon("refused");
                Err(refusal)
            }
        }
    }

    fn try_lock_part(&mut self, holder: LockHolder, patience: Duration) -> Result<LockOutcome, LockRefusal> {
        if self.scope != Scope::Nothing {
            return Err(LockRefusal::Ours);
        }
        let id = holder.id.clone();
        self.begin(holder, Scope::Part(patience));
        Ok(LockOutcome { id, left_behind: None })
    }

    fn reserve(&mut self, since: Option<u64>, part: &StatePart) -> Result<Reservation, LockRefusal> {
        let since = since.map_or(self.since, |since| i64::try_from(since).unwrap_or(i64::MAX));
        match self.scope {
            Scope::Part(_) => self.take(Some(since), &LockColumns::of(part), Request::Plan),
            Scope::Whole => Ok(Reservation::Held),
            // Without locks a plan is stale if anything has changed.
            Scope::Nothing if since == self.since => Ok(Reservation::Held),
            Scope::Nothing => Ok(Reservation::Stale(Vec::new())),
        }
    }

    fn wait_for_holder(&mut self, limit: Duration) -> bool {
        let Some(run) = self.awaited.take() else { return false };
        let limit = limit.min(WAIT);
        // Without a session the next request for the locks says why.
        self.session().and_then(|session| self.rows.wait_for(&session, &run, limit)).is_ok()
    }

    fn snapshot(&self) -> Option<u64> {
        u64::try_from(self.since).ok()
    }

    fn unlock(&mut self) -> Result<(), Diagnostics> {
        let scope = std::mem::replace(&mut self.scope, Scope::Nothing);
        let Some(run) = self.run.take() else { return Ok(()) };
        if !run.is_registered {
            return Ok(());
        }
        let id = LockId(run.holder.id);
        let session = self.session.clone().filter(|session| !session.is_closed());
        let ended = match session {
            Some(session) => {
                let ended = self.rows.end_run(&session, &id.0, "done");
                self.retain(&session);
                ended
            }
            // The run ends with its session, in any case.
            None => self.rows.with_session(|session| self.rows.end_run(session, &id.0, "done")),
        };
        let refusal = match ended {
            Ok(true) => return Ok(()),
            Ok(false) => UnlockRefusal::NotLocked,
            Err(error) => UnlockRefusal::Failed(self.rows.failed("release the lock on", &error)),
        };
        self.session = None;
        match scope {
            Scope::Nothing => Ok(()),
            _ => Err(diagnostics::store_not_unlocked(&self.location, &id, &refusal).into()),
        }
    }

    fn force_unlock(&mut self, id: &str) -> Result<(), Diagnostics> {
        let lock = LockId(id.to_owned());
        let rows = Arc::clone(&self.rows);
        let workspace = self.workspace.clone();
        let ended = rows.with_session(|session| {
            let Some(workspace) = rows.workspace_id(session, &workspace)? else { return Ok(Err(None)) };
            let holders = rows.lock_holders(session, workspace)?;
            if !holders.iter().any(|holder| holder == id) {
                let holder = holders.first().map(|run| rows.holder(session, run, &[])).transpose()?;
                return Ok(Err(holder.flatten()));
            }
            match rows.end_absent(session, id)? {
                None => Ok(Ok(())),
                Some(process) => {
                    let holder = rows.holder(session, id, &[])?;
                    let who = holder.map_or_else(String::new, |holder| format!(" of {} ({})", holder.who, holder.info));
                    Err(PgError::Refused(format!(
                        "the database session of the run{who} still exists, so the run may still change objects. Stop that process. \
                         If it is unreachable, end its session with `SELECT pg_terminate_backend({process})` first"
                    )))
                }
            }
        });
        let refusal = match ended {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(None)) => return Err(diagnostics::store_not_locked(&self.location).into()),
            Ok(Err(Some(holder))) => UnlockRefusal::OtherLock(Some(Box::new(holder))),
            Err(error) => UnlockRefusal::Failed(rows.failed("release the lock on", &error)),
        };
        Err(diagnostics::store_not_force_unlocked(&self.location, &lock, &refusal).into())
    }

    fn read(&mut self) -> Result<Reading, Diagnostics> {
        let snapshot = self.snapshot_of()?;
        (self.since, self.revision) = (snapshot.revision, snapshot.revision);
        // A workspace that was deleted and created again since is another one.
        self.id = snapshot.id.or(self.id);
        let mut diagnostics = snapshot.warnings;
        if snapshot.is_elsewhere {
            diagnostics.push(diagnostics::pg_state_elsewhere(&self.location));
        }
        self.exists = snapshot.state.is_some();
        self.serial = snapshot.state.as_ref().map_or(0, |state| state.serial);
        self.started = snapshot.state.as_ref().map(|state| (state.lineage.clone(), state.serial));
        self.known = Some(snapshot.state);
        let left = snapshot.left;
        let mut recovered = None;
        if !left.is_empty() {
            let is_run = self.scope != Scope::Nothing;
            let found = self.retrying(|state| {
                let session = state.session()?;
                let recovered = state.rows.recovered(&session, &left)?;
                // A role that may only read reports them again.
                if is_run && let Err(error) = state.rows.acknowledge(&session, &left) {
                    tracing::debug!(reason = error.reason(), "interrupted runs are reported again");
                }
                Ok(recovered)
            });
            recovered = found.unwrap_or_default();
        }
        if let Some(unsaved) = self.save_unsaved(&mut diagnostics) {
            recovered = Some(unsaved);
        }
        Ok(Reading { state: self.known.clone().flatten(), diagnostics, recovered })
    }

    fn outputs(&mut self) -> Result<Option<BTreeMap<EcoString, Output>>, Diagnostics> {
        self.reading(|state, session| state.rows.read_outputs_of(session, state.seal()))
    }

    fn at(&mut self, time: UtcTime) -> Option<Result<Option<State>, Diagnostics>> {
        Some(self.reading(|state, session| state.rows.read_at(session, time, state.seal())))
    }

    fn history(&mut self, addr: &AbsResourceInstance) -> Option<Result<Vec<ObjectVersion>, Diagnostics>> {
        let address = addr.to_string();
        Some(self.reading(|state, session| state.rows.versions(session, &address, state.seal())))
    }

    fn write(&mut self, state: &mut State) -> Result<Saved, Diagnostics> {
        self.ensure_known()?;
        let known = self.known.as_ref().and_then(Option::as_ref);
        let saved = compared(state, known);
        let is_new = known.is_none();
        number(state, known, saved);
        if saved == Saved::Changed || is_new {
            let serial = is_new.then_some(state.serial);
            let numbering = Numbering { serial, creates: true, ..self.numbering() };
            self.save(state, &numbering, Takeover::Refused)?;
        }
        Ok(saved)
    }

    fn push(&mut self, state: &State, check: SuccessorCheck) -> Result<Saved, Diagnostics> {
        self.ensure_known()?;
        let (mut state, saved) = pushed(state, self.known.as_ref().and_then(Option::as_ref), check)?;
        let numbering = Numbering { expected: true, lineage: true, serial: Some(state.serial), creates: true };
        self.save(&mut state, &numbering, Takeover::Allowed)?;
        Ok(saved)
    }

    fn replace(&mut self, state: &State, check: SuccessorCheck) -> Result<Saved, Diagnostics> {
        self.ensure_known()?;
        let Some(known) = self.known.as_ref().and_then(Option::as_ref) else { return self.push(state, check) };
        let (mut state, saved) = pushed(state, Some(known), check)?;
        if saved == Saved::Unchanged && state.serial == known.serial && state.lineage == known.lineage {
            return Ok(Saved::Unchanged);
        }
        // As with other stores on servers: a state that replaces another one gets the serial after its own.
        state.serial = state.serial.saturating_add(1);
        let numbering = Numbering { expected: true, lineage: true, serial: Some(state.serial), creates: true };
        self.save(&mut state, &numbering, Takeover::Allowed)?;
        Ok(saved)
    }

    fn journal<'a>(&'a mut self, start: &mut State) -> Result<Box<dyn Journal + 'a>, Diagnostics> {
        self.ensure_known()?;
        let known = self.known.as_ref().and_then(Option::as_ref);
        let as_known = match known {
            Some(known) => known.same_content(start),
            None => start.is_empty(),
        };
        if !as_known {
            self.write(start)?;
        } else if let Some(known) = known {
            start.lineage = known.lineage.clone();
            start.serial = known.serial;
        }
        if start.lineage.is_empty() {
            start.lineage = crate::process::new_uuid().into();
        }
        self.started = Some((start.lineage.clone(), start.serial));
        Ok(Box::new(Running::new(self, start.clone())))
    }

    fn whereabouts(&self) -> String {
        self.location.clone()
    }

    fn way_back(&mut self) -> WayBack {
        let present = self.snapshot_of().ok().and_then(|snapshot| snapshot.state);
        match (present, &self.started) {
            (Some(present), Some((lineage, serial))) if present.lineage == *lineage && present.serial > *serial => {
                WayBack::Merge { path: self.location.clone(), serial: present.serial }
            }
            _ => WayBack::Push { in_the_way: None },
        }
    }
}

impl RowState {
    fn begin(&mut self, holder: LockHolder, scope: Scope) {
        self.run = Some(Run { holder, is_registered: false, commits: 0 });
        self.scope = scope;
        self.has_locks = false;
        // The session of a run is its own.
        self.session = None;
    }

    /// Removes old history, as `history_days` says. Its failure changes nothing for the run.
    fn retain(&self, session: &Session) {
        let (Some(days), Some(id)) = (self.rows.history_days, self.id) else { return };
        let statement = format!("SELECT {}.yuba_retain($1, $2, $3)", self.rows.schema);
        let retained =
            session.query(&statement, &[(&schema::version(), Type::INT4), (&id, Type::INT8), (&days, Type::INT4)]);
        if let Err(error) = retained {
            tracing::warn!(reason = error.reason(), "history that is older than history_days was not removed");
        }
    }

    /// Ends a run that has got no locks.
    fn abandon(&mut self, outcome: &str) {
        self.scope = Scope::Nothing;
        let run = self.run.take().filter(|run| run.is_registered);
        if let (Some(run), Some(session)) = (run, &self.session) {
            let _ = self.rows.end_run(session, &run.holder.id, outcome);
        }
    }
}

/// Dropping a state always ends the session of its run, so that other runs can lock the state.
impl Drop for RowState {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else { return };
        match self.run.take().filter(|run| run.is_registered) {
            // Without locks nothing says that the run has ended.
            Some(run) if self.scope == Scope::Nothing => drop(self.rows.end_run(&session, &run.holder.id, "done")),
            Some(_) => drop(session),
            None => self.rows.give_back(session),
        }
    }
}
