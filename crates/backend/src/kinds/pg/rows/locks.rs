//! Runs and their locks.
//!
//! All locks that a run needs are taken in one transaction, which holds the row of the workspace: two runs cannot wait for each
//! other. A lock counts as long as its run has not ended and the session that has taken it exists.

use std::collections::BTreeMap;

use tokio_postgres::types::Type;

use super::Rows;
use super::reading::text;
use crate::kinds::pg::errors::PgError;
use crate::kinds::pg::session::{Session, field};
use crate::lock::{LockHolder, LockRefusal};
use crate::store::{StatePart, StateSelector};
use crate::timestamp::UtcTime;

/// Instances of one resource that are locked one by one. Of more of them the resource is locked as a whole.
const SINGLE: usize = 200;
/// Addresses in a message.
const SHOWN: usize = 5;

/// Locks as columns of a statement.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LockColumns {
    config: Vec<String>,
    resource: Vec<Option<String>>,
    address: Vec<Option<String>>,
    exclusive: Vec<bool>,
}

/// The result of a request for locks.
#[derive(Debug)]
pub(super) enum Locked {
    Taken,
    /// Other runs have locks that exclude it.
    Held {
        run: String,
        addresses: Vec<String>,
    },
    /// Objects that have changed since the snapshot.
    Stale(Vec<String>),
}

impl LockColumns {
    /// The lock of a whole state.
    pub(super) fn whole() -> LockColumns {
        LockColumns { config: vec![String::new()], resource: vec![None], address: vec![None], exclusive: vec![true] }
    }

    /// Locks of a part, in order of addresses.
    pub(super) fn of(part: &StatePart) -> LockColumns {
        let mut rows: BTreeMap<(String, Option<String>, Option<String>), bool> = BTreeMap::new();
        for (selectors, exclusive) in [(&part.writes, true), (&part.reads, false)] {
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            for selector in selectors {
                *counts.entry(columns(selector).0).or_default() += 1;
            }
            for selector in selectors {
                let (config, resource, address) = columns(selector);
                let is_many = counts.get(&config).is_some_and(|count| *count > SINGLE);
                let row = if is_many { (config, None, None) } else { (config, resource, address) };
                rows.entry(row).or_insert(exclusive);
            }
        }
        let mut columns = LockColumns::default();
        for ((config, resource, address), exclusive) in rows {
            columns.config.push(config);
            columns.resource.push(resource);
            columns.address.push(address);
            columns.exclusive.push(exclusive);
        }
        columns
    }
}

fn columns(selector: &StateSelector) -> (String, Option<String>, Option<String>) {
    match selector {
        StateSelector::Config(config) => (config.to_string(), None, None),
        StateSelector::Resource(resource) => (resource.config().to_string(), Some(resource.to_string()), None),
        StateSelector::Instance(instance) => {
            let resource = instance.containing().to_string();
            (instance.config().to_string(), Some(resource), Some(instance.to_string()))
        }
        StateSelector::Output(name) => (format!("output.{name}"), None, None),
    }
}

impl Rows {
    /// Registers a run of a session.
    pub(super) fn begin_run(&self, session: &Session, workspace: i64, holder: &LockHolder) -> Result<(), PgError> {
        let statement = format!("SELECT {}.yuba_begin($1, $2, $3, $4, $5, $6, $7)", self.schema);
        session.query(
            &statement,
            &[
                (&holder.id, Type::TEXT),
                (&workspace, Type::INT8),
                (&holder.operation, Type::TEXT),
                (&holder.who, Type::TEXT),
                (&holder.info, Type::TEXT),
                (&holder.version, Type::TEXT),
                (&self.commit, Type::TEXT),
            ],
        )?;
        Ok(())
    }

    /// Whether a run still has its locks, and this session.
    pub(super) fn is_open(&self, session: &Session, run: &str) -> Result<bool, PgError> {
        let statement = format!(
            "SELECT EXISTS (SELECT FROM {}.yuba_runs WHERE id = $1 AND ended IS NULL AND process = pg_backend_pid())",
            self.schema
        );
        session.value(&statement, &[(&run, Type::TEXT)])
    }

    /// Takes locks for a run, all or none. `left` gets the runs that have ended without saying so.
    pub(super) fn take_locks(
        &self,
        session: &Session,
        (workspace, run, since): (i64, &str, Option<i64>),
        wanted: &LockColumns,
        left: &mut Vec<String>,
    ) -> Result<Locked, PgError> {
        let statement =
            format!("SELECT outcome, run, address FROM {}.yuba_lock($1, $2, $3, $4, $5, $6, $7)", self.schema);
        let rows = session.query(
            &statement,
            &[
                (&workspace, Type::INT8),
                (&run, Type::TEXT),
                (&since, Type::INT8),
                (&wanted.config, Type::TEXT_ARRAY),
                (&wanted.resource, Type::TEXT_ARRAY),
                (&wanted.address, Type::TEXT_ARRAY),
                (&wanted.exclusive, Type::BOOL_ARRAY),
            ],
        )?;
        let (mut held, mut stale) = (None, Vec::new());
        let mut addresses = Vec::new();
        for row in &rows {
            let (outcome, run, address) = (text(row, 0)?, text(row, 1)?, text(row, 2)?);
            match outcome {
                "left" => left.push(run.to_owned()),
                "held" => {
                    held.get_or_insert_with(|| run.to_owned());
                    if held.as_deref() == Some(run) && !address.is_empty() {
                        addresses.push(address.to_owned());
                    }
                }
                "stale" => stale.push(address.to_owned()),
                _ => {}
            }
        }
        addresses.sort();
        stale.sort();
        Ok(match held {
            Some(run) => Locked::Held { run, addresses },
            None if !stale.is_empty() => Locked::Stale(stale),
            None => Locked::Taken,
        })
    }

    /// A run as the holder of locks of these objects.
    pub(super) fn holder(
        &self,
        session: &Session,
        run: &str,
        addresses: &[String],
    ) -> Result<Option<LockHolder>, PgError> {
        let statement = format!(
            "SELECT operation, who, info, version, process, source_commit, \
             to_char(started AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') FROM {}.yuba_runs WHERE id = $1",
            self.schema
        );
        let rows = session.query(&statement, &[(&run, Type::TEXT)])?;
        let Some(row) = rows.first() else { return Ok(None) };
        let process: i32 = field(row, 4)?;
        let commit = match text(row, 5)? {
            "" => String::new(),
            commit => format!(", commit {commit}"),
        };
        let path = match addresses.len() {
            0 => "the whole state".to_owned(),
            count if count > SHOWN => format!("{} and {} more objects", addresses[..SHOWN].join(", "), count - SHOWN),
            _ => addresses.join(", "),
        };
        Ok(Some(LockHolder {
            id: run.to_owned(),
            operation: text(row, 0)?.to_owned(),
            who: text(row, 1)?.to_owned(),
            info: format!("{}, server process {process}{commit}", text(row, 2)?),
            version: text(row, 3)?.to_owned(),
            created: UtcTime::parse(text(row, 6)?),
            path,
        }))
    }

    /// The refusal that names who has the locks.
    pub(super) fn refusal(&self, session: &Session, run: &str, addresses: &[String]) -> LockRefusal {
        match self.holder(session, run, addresses) {
            Ok(holder) => LockRefusal::Held { holder: holder.map(Box::new), pid: None },
            Err(error) => LockRefusal::Store(self.failed("ask who holds the lock on", &error)),
        }
    }

    /// Ends a run; its session can no longer write. False if it has ended already.
    pub(super) fn end_run(&self, session: &Session, run: &str, outcome: &str) -> Result<bool, PgError> {
        let statement = format!("SELECT {}.yuba_end($1, $2)", self.schema);
        session.value(&statement, &[(&run, Type::TEXT), (&outcome, Type::TEXT)])
    }

    /// Ids of the runs that hold locks in a workspace.
    pub(super) fn lock_holders(&self, session: &Session, workspace: i64) -> Result<Vec<String>, PgError> {
        let schema = &self.schema;
        let statement = format!(
            "SELECT DISTINCT r.id FROM {schema}.yuba_runs r JOIN {schema}.yuba_locks l ON l.run = r.id \
             WHERE r.workspace = $1 AND r.ended IS NULL"
        );
        session.query(&statement, &[(&workspace, Type::INT8)])?.iter().map(|row| field(row, 0)).collect()
    }

    /// Ends the session of a run, so that a request of it that is on its way fails.
    pub(super) fn end_session(&self, session: &Session, run: &str) -> Result<(), PgError> {
        let schema = &self.schema;
        let statement = format!(
            "SELECT pg_terminate_backend(a.pid) FROM {schema}.yuba_runs r JOIN pg_stat_activity a ON a.pid = r.process \
             AND a.backend_start = r.process_started WHERE r.id = $1 AND a.pid <> pg_backend_pid()"
        );
        session.query(&statement, &[(&run, Type::TEXT)]).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_instances_are_one_lock() {
        let instance = |n: i64| {
            let line = format!(
                r#"{{"edit":"set_object","addr":"terraform_data.r[{n}]","provider":"provider[\"terraform.io/builtin/terraform\"]"}}"#
            );
            match yuba_state::Edit::from_json_line(&line) {
                Ok(yuba_state::Edit::SetObject { addr, .. }) => StateSelector::Instance(addr),
                other => panic!("{other:?}"),
            }
        };
        let part = |count| StatePart { writes: (0..count).map(instance).collect(), ..StatePart::default() };
        assert_eq!(LockColumns::of(&part(3)).address, [0, 1, 2].map(|n| Some(format!("terraform_data.r[{n}]"))));
        let many = LockColumns::of(&part(201));
        assert_eq!((many.config.len(), &many.resource, &many.exclusive), (1, &vec![None], &vec![true]));
        // What is written is not locked again because it is read.
        let both = StatePart { reads: part(2).writes, writes: part(2).writes };
        assert_eq!(LockColumns::of(&both).exclusive, [true, true]);
    }
}
