//! The journal of a running apply in a table beside the states. OpenTofu does not look at it.
//!
//! Each append is one row and one transaction, on the session that holds the lock: a run that has lost its lock cannot append.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use super::Pg;
use super::errors::PgError;
use super::layout::{holds, is_duplicate};
use super::locks;
use super::session::{Session, field};
use crate::kit::store::{Appending, LeftJournal, RunState, ServerJournal, StoreError, StoreErrorKind};

/// Known facts about the table.
#[derive(Debug, Default)]
pub(super) struct Table {
    exists: AtomicBool,
    /// The role may not create or write it, so there are no journals on this server.
    is_denied: AtomicBool,
}

impl Table {
    fn deny(&self, error: &PgError) {
        if !self.is_denied.swap(true, Ordering::SeqCst) {
            let reason = error.reason();
            tracing::debug!(reason, "no journal on the server; the journal on this machine has all operations");
        }
    }
}

impl Pg {
    fn has_journal_table(&self, session: &Session) -> Result<bool, PgError> {
        let table = &self.journal_table;
        if !table.exists.load(Ordering::SeqCst) {
            let name = (&self.layout.journal as &(dyn tokio_postgres::types::ToSql + Sync), Type::TEXT);
            let exists = session.value("SELECT to_regclass($1) IS NOT NULL", &[name])?;
            table.exists.store(exists, Ordering::SeqCst);
        }
        Ok(table.exists.load(Ordering::SeqCst))
    }

    fn create_journal_table(&self, session: &Session) -> Result<(), PgError> {
        let statement = format!(
            "CREATE TABLE IF NOT EXISTS {} (state_table text NOT NULL, workspace text NOT NULL, number bigserial, \
             lines bytea NOT NULL, PRIMARY KEY (state_table, workspace, number))",
            self.layout.journal
        );
        match session.query(&statement, &[]) {
            Err(error) if !is_duplicate(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Appends lines. False if the session no longer holds the lock.
    fn append_to(
        &self,
        session: &Session,
        key: Option<i64>,
        (workspace, lines, mode): (&str, &[u8], Appending),
    ) -> Result<bool, PgError> {
        if !self.has_journal_table(session)? {
            self.create_journal_table(session)?;
        }
        let (journal, table) = (&self.layout.journal, &self.layout.table_name);
        let condition = key.map_or_else(|| "true".to_owned(), holds);
        let before = match mode {
            Appending::Continue => String::new(),
            Appending::Restart => {
                format!(
                    "WITH before AS (DELETE FROM {journal} WHERE state_table = $1 AND workspace = $2 AND {condition}) "
                )
            }
        };
        let statement = format!(
            "{before}INSERT INTO {journal} (state_table, workspace, lines) SELECT $1, $2, $3 WHERE {condition} RETURNING 1"
        );
        let parameters: [super::session::Parameter<'_>; 3] =
            [(&table, Type::TEXT), (&workspace, Type::TEXT), (&lines, Type::BYTEA)];
        Ok(!session.query(&statement, &parameters)?.is_empty())
    }

    /// Removes the journal of a workspace.
    pub(super) fn remove_journal(&self, session: &Session, workspace: &str) -> Result<(), PgError> {
        if !self.has_journal_table(session)? {
            return Ok(());
        }
        let statement = format!("DELETE FROM {} WHERE state_table = $1 AND workspace = $2", self.layout.journal);
        let parameters: [super::session::Parameter<'_>; 2] =
            [(&self.layout.table_name, Type::TEXT), (&workspace, Type::TEXT)];
        session.query(&statement, &parameters).map(drop)
    }

    fn read_journal(&self, session: &Session, workspace: &str) -> Result<Option<LeftJournal>, PgError> {
        if !self.has_journal_table(session)? {
            return Ok(None);
        }
        let statement = format!(
            "SELECT lines FROM {} WHERE state_table = $1 AND workspace = $2 ORDER BY number",
            self.layout.journal
        );
        let parameters: [super::session::Parameter<'_>; 2] =
            [(&self.layout.table_name, Type::TEXT), (&workspace, Type::TEXT)];
        let rows = session.query(&statement, &parameters)?;
        if rows.is_empty() {
            return Ok(None);
        }
        let mut lines = Vec::new();
        for row in &rows {
            lines.extend_from_slice(field::<&[u8]>(row, 0)?);
        }
        let keys = locks::keys(session, &self.layout, workspace)?;
        let ours = self.held_processes();
        let is_running = locks::holders(session, &keys)?.iter().any(|holder| !ours.contains(&holder.process));
        Ok(Some(LeftJournal { lines, run: if is_running { RunState::Running } else { RunState::Over } }))
    }
}

/// Whether the role lacks a permission for the table.
fn is_denied(error: &PgError) -> bool {
    error.is(&SqlState::INSUFFICIENT_PRIVILEGE) || error.is(&SqlState::READ_ONLY_SQL_TRANSACTION)
}

impl ServerJournal for Pg {
    fn read(&self, workspace: &str) -> Result<Option<LeftJournal>, StoreError> {
        let read = self.with_reader(workspace, |session| match self.read_journal(session, workspace) {
            Err(error) if is_denied(&error) => {
                self.journal_table.deny(&error);
                Ok(None)
            }
            done => done,
        });
        read.map_err(|error| self.failed("read the journal on", &error))
    }

    fn append(&self, workspace: &str, lines: &[u8], mode: Appending) -> Result<(), StoreError> {
        if self.journal_table.is_denied.load(Ordering::SeqCst) {
            return Ok(());
        }
        let held = self.held(workspace);
        let appended = match &held {
            Some(held) => self.append_to(&held.session, Some(held.key), (workspace, lines, mode)),
            None => self.with_reader(workspace, |session| self.append_to(session, None, (workspace, lines, mode))),
        };
        match appended {
            Ok(true) => Ok(()),
            Ok(false) => Err(StoreError::new(StoreErrorKind::LockLost, "the session no longer holds the lock")),
            Err(error) if is_denied(&error) => {
                self.journal_table.deny(&error);
                Ok(())
            }
            Err(error) if held.is_some() => Err(self.failed_under_lock("append to the journal on", &error)),
            Err(error) => Err(self.failed("append to the journal on", &error)),
        }
    }

    fn remove(&self, workspace: &str) -> Result<(), StoreError> {
        let removed = self.with_reader(workspace, |session| self.remove_journal(session, workspace));
        match removed {
            Err(error) if !is_denied(&error) => Err(self.failed("remove the journal on", &error)),
            _ => Ok(()),
        }
    }
}
