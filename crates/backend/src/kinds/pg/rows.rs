//! `layout = "resources"` of the backend `pg`: a row for each object of a state, so that runs lock and write only what they
//! change. `docs/state-postgresql.md` says why no update is lost.
//!
//! Sessions of the server are the fence: a run is registered with the session that has its locks, and functions in the database
//! write only for a run of their own session that has not ended.

mod changes;
mod estate;
mod grants;
mod locks;
mod past;
mod reading;
mod running;
mod schema;
mod sealing;
mod state;
mod unsaved;

use std::fmt;
use std::sync::Arc;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use yuba_syntax::Diagnostics;

use super::Pg;
use super::errors::PgError;
use super::layout::quoted;
use super::session::{Session, field};
use crate::diagnostics;
use crate::encryption::Sealing;
use crate::files::StateFiles;
use crate::kit::store::{StoreError, StoreErrorKind};
use crate::kit::workspaces::WorkspaceRemoval;
use crate::kit::{BackendEnvironment, ObjectStorage};
use crate::store::{Backend, EstateWorkspace, StateStore};
use crate::workspace::DEFAULT_WORKSPACE;
use state::RowState;

/// Environment variables that name the commit of the configuration, in this order.
const COMMIT_VARIABLES: &[&str] =
    &["YUBA_COMMIT", "GITHUB_SHA", "CI_COMMIT_SHA", "BUILD_SOURCEVERSION", "BITBUCKET_COMMIT", "GIT_COMMIT"];

/// Names of its tables.
pub(super) const TABLES: &[&str] = &[
    "yuba_check_history",
    "yuba_checks",
    "yuba_commits",
    "yuba_history",
    "yuba_locks",
    "yuba_objects",
    "yuba_operations",
    "yuba_output_history",
    "yuba_outputs",
    "yuba_replaced_states",
    "yuba_runs",
    "yuba_schema",
    "yuba_workspaces",
];

/// Why a connection cannot hold locks.
const POOLED: &str = "the connection goes through a pooler that changes the session between transactions, such as PgBouncer \
                      with pool_mode = transaction. Connect to the server directly, or use pool_mode = session";

/// Start of the row that stands for a workspace of this layout in the table of layout `state`.
pub(super) const MARKER: &str = "{\"version\":5,\"yuba_layout\":\"resources\"";

/// The whole of that row. OpenTofu refuses its version.
fn marker() -> String {
    let text =
        "Yuba stores this workspace as rows of the tables yuba_*. Set layout = \\\"resources\\\" in the backend block.";
    format!("{MARKER},\"note\":\"{text}\"}}")
}

/// States in rows.
pub(super) struct Rows {
    pg: Arc<Pg>,
    /// The schema, quoted.
    schema: String,
    environment: BackendEnvironment,
    /// The commit of the configuration, where the environment or a repository names it.
    commit: String,
    /// `history_days`
    history_days: Option<i32>,
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// A backend over rows.
struct RowBackend {
    rows: Arc<Rows>,
    files: Arc<dyn StateFiles>,
    sealing: Option<Sealing>,
}

impl ObjectStorage for Rows {
    fn backend(
        self: Arc<Self>,
        files: &Arc<dyn StateFiles>,
        _environment: &BackendEnvironment,
        sealing: Option<Sealing>,
    ) -> Box<dyn Backend> {
        Box::new(RowBackend { rows: self, files: Arc::clone(files), sealing })
    }
}

impl Rows {
    /// Prepares the tables over a connection.
    pub(super) fn open(
        pg: Arc<Pg>,
        environment: &BackendEnvironment,
        history_days: Option<i32>,
    ) -> Result<Rows, Diagnostics> {
        let named = COMMIT_VARIABLES
            .iter()
            .find_map(|name| environment.variables.get(name).filter(|commit| !commit.is_empty()));
        let named = named.map(str::to_owned);
        let commit = named.or_else(|| (environment.source_commit)()).unwrap_or_default().chars().take(64).collect();
        let rows =
            Rows { schema: quoted(&pg.layout.schema), pg, environment: environment.clone(), commit, history_days };
        let prepared = rows.with_session(|session| rows.prepare(session));
        match prepared {
            Ok(()) => Ok(rows),
            Err(error) => {
                let failed = rows.pg.failed("prepare the tables of layout = \"resources\" on", &error);
                Err(diagnostics::pg_not_connected(&failed).into())
            }
        }
    }

    /// A session that no other thread uses.
    fn session(&self) -> Result<Arc<Session>, PgError> {
        let free = super::locked(&self.pg.free).take();
        match free.filter(|session| !session.is_closed() && Arc::strong_count(session) == 1) {
            Some(session) => Ok(session),
            None => Session::open(&self.pg.settings, &self.pg.runtime).map(Arc::new),
        }
    }

    /// A session that holds nothing is free for other requests.
    fn give_back(&self, session: Arc<Session>) {
        if !session.is_closed() {
            super::locked(&self.pg.free).get_or_insert(session);
        }
    }

    /// Location of a workspace, for messages.
    fn describe(&self, workspace: &str) -> String {
        format!("\"{workspace}\" in the resources of {} of {}", self.pg.layout.shown(), self.pg.server())
    }

    /// A failure in words. Codes that start with YB come from the functions of the schema.
    fn failed(&self, request: &str, error: &PgError) -> StoreError {
        let kind = match error {
            PgError::Server(server) => match server.code.code() {
                "YB001" | "YB006" => Some(StoreErrorKind::LockLost),
                "YB003" | "YB004" | "YB005" => Some(StoreErrorKind::Conflict),
                _ => None,
            },
            PgError::RunEnded => Some(StoreErrorKind::LockLost),
            _ => None,
        };
        if error.is(&SqlState::from_code("YB002")) {
            return StoreError::lasting(POOLED);
        }
        let failed = self.pg.failed(request, error);
        let hint = match error {
            PgError::Server(server) if server.code == SqlState::QUERY_CANCELED => {
                ". Raise statement_timeout for this role, for example with options=-cstatement_timeout=0 in conn_str"
            }
            PgError::Server(server) if server.code.code() == "YB006" => ". Use the version of Yuba that migrated them",
            _ => "",
        };
        StoreError { kind: kind.unwrap_or(failed.kind), reason: failed.reason + hint, ..failed }
    }

    /// Repeats a request with a new session while its failure may pass.
    fn retrying<T>(&self, mut request: impl FnMut() -> Result<T, PgError>) -> Result<T, PgError> {
        let retries = self.environment.retries;
        let mut attempt = 0;
        loop {
            attempt += 1;
            match request() {
                Err(error) if error.may_pass() && attempt < retries.attempts => {
                    tracing::debug!(attempt, reason = error.reason(), "repeating a request");
                    std::thread::sleep(retries.pause_after(attempt, None));
                }
                done => return done,
            }
        }
    }

    fn workspace_id(&self, session: &Session, workspace: &str) -> Result<Option<i64>, PgError> {
        let statement = format!("SELECT id FROM {}.yuba_workspaces WHERE state_table = $1 AND name = $2", self.schema);
        let rows = session.query(&statement, &[(&self.pg.layout.table_name, Type::TEXT), (&workspace, Type::TEXT)])?;
        rows.first().map(|row| field(row, 0)).transpose()
    }

    /// The id of a workspace, which is registered if it is new.
    fn registered(&self, session: &Session, workspace: &str) -> Result<i64, PgError> {
        if let Some(id) = self.workspace_id(session, workspace)? {
            return Ok(id);
        }
        let statement = format!(
            "INSERT INTO {}.yuba_workspaces (state_table, name) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            self.schema
        );
        session.query(&statement, &[(&self.pg.layout.table_name, Type::TEXT), (&workspace, Type::TEXT)])?;
        let id = self.workspace_id(session, workspace)?;
        id.ok_or_else(|| PgError::Refused("the workspace was deleted at the same time".to_owned()))
    }

    /// Names of the workspaces that have a state.
    fn names(&self, session: &Session) -> Result<Vec<String>, PgError> {
        let statement = format!(
            "SELECT name FROM {}.yuba_workspaces WHERE state_table = $1 AND lineage IS NOT NULL ORDER BY name",
            self.schema
        );
        let rows = session.query(&statement, &[(&self.pg.layout.table_name, Type::TEXT)])?;
        rows.iter().map(|row| field(row, 0)).collect()
    }

    fn with_session<T>(&self, mut work: impl FnMut(&Session) -> Result<T, PgError>) -> Result<T, PgError> {
        self.retrying(|| {
            let session = self.session()?;
            let done = work(&session);
            self.give_back(session);
            done
        })
    }

    /// Removes a workspace with its history, unless a run holds locks in it.
    fn delete(&self, session: &Session, workspace: &str) -> Result<(), PgError> {
        let Some(id) = self.workspace_id(session, workspace)? else { return Ok(()) };
        session.batch("BEGIN")?;
        match self.delete_rows(session, (id, workspace)) {
            Ok(()) => session.batch("COMMIT"),
            Err(error) => {
                let _ = session.batch("ROLLBACK");
                Err(error)
            }
        }
    }

    fn delete_rows(&self, session: &Session, (id, workspace): (i64, &str)) -> Result<(), PgError> {
        let statement = format!("SELECT {}.yuba_delete($1, $2)", self.schema);
        let holders: Option<String> =
            session.value(&statement, &[(&schema::version(), Type::INT4), (&id, Type::INT8)])?;
        if let Some(holders) = holders {
            return Err(PgError::Refused(format!("a run of {holders} holds locks in it")));
        }
        session.query("SELECT set_config('yuba.layout', 'resources', true)", &[])?;
        let marker = format!("DELETE FROM {} WHERE name = $1 AND starts_with(data, $2)", self.pg.layout.table);
        session.query(&marker, &[(&workspace, Type::TEXT), (&MARKER, Type::TEXT)]).map(drop)
    }
}

impl RowBackend {
    fn state(&self, workspace: &str) -> RowState {
        let workspace = if workspace.is_empty() { DEFAULT_WORKSPACE } else { workspace };
        RowState::new(Arc::clone(&self.rows), Arc::clone(&self.files), self.sealing.clone(), workspace)
    }

    fn listed(&self) -> Result<Vec<String>, Diagnostics> {
        self.rows.with_session(|session| self.rows.names(session)).map_err(|error| {
            let failed = self.rows.failed("list the workspaces on", &error);
            diagnostics::store_workspaces_not_listed(&self.rows.describe(DEFAULT_WORKSPACE), &failed).into()
        })
    }
}

impl Backend for RowBackend {
    fn workspaces(&self) -> Result<Vec<String>, Diagnostics> {
        let mut names = self.listed()?;
        names.retain(|name| name != DEFAULT_WORKSPACE);
        names.insert(0, DEFAULT_WORKSPACE.to_owned());
        Ok(names)
    }

    fn open(&self, workspace: &str) -> Result<Box<dyn StateStore>, Diagnostics> {
        let mut state = self.state(workspace);
        if !state.is_default() && !self.listed()?.iter().any(|name| name == workspace) {
            state.begin_empty()?;
        }
        Ok(Box::new(state))
    }

    fn existing(&self, workspace: &str) -> Result<Box<dyn StateStore>, Diagnostics> {
        Ok(Box::new(self.state(workspace)))
    }

    fn has_workspaces(&self) -> bool {
        true
    }

    fn grants(&self, prefix: Option<&str>) -> Option<String> {
        Some(self.rows.grants(prefix.unwrap_or(&self.rows.pg.layout.schema)))
    }

    fn estate(&self) -> Option<Result<Vec<EstateWorkspace>, Diagnostics>> {
        let listed = self.rows.with_session(|session| self.rows.estate(session));
        Some(listed.map_err(|error| {
            let failed = self.rows.failed("list the workspaces on", &error);
            diagnostics::store_workspaces_not_listed(&self.rows.pg.server(), &failed).into()
        }))
    }

    fn delete_workspace(&self, workspace: &str, _removal: WorkspaceRemoval) -> Result<(), Diagnostics> {
        if workspace.is_empty() || workspace == DEFAULT_WORKSPACE {
            return Err(diagnostics::default_workspace_stays().into());
        }
        self.rows.with_session(|session| self.rows.delete(session, workspace)).map_err(|error| {
            let failed = self.rows.failed("delete the workspace on", &error);
            diagnostics::store_workspace_not_deleted(workspace, &self.rows.describe(workspace), &failed).into()
        })
    }
}
