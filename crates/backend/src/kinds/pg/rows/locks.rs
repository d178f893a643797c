//! Runs and their locks.
//!
//! All locks that a run needs are taken in one transaction, which holds the row of the workspace: two runs cannot wait for each
//! other. A lock counts as long as its run has not ended and the session that has taken it exists.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use tokio_postgres::types::Type;

use super::reading::text;
use super::{Rows, schema};
use crate::kinds::pg::errors::PgError;
use crate::kinds::pg::session::{Session, field};
use crate::lock::{LockHolder, LockRefusal};
use crate::store::{StatePart, StateSelector};
use crate::timestamp::UtcTime;

/// Instances of one resource that are locked one by one. Of more of them the resource is locked as a whole.
const SINGLE: usize = 200;
/// Addresses of one holder in a message.
const SHOWN: usize = 20;
/// Holders in a message.
const HOLDERS: usize = 10;

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
    /// Other runs have locks that exclude it: their ids with the addresses.
    Held(BTreeMap<String, Vec<String>>),
    /// Objects that have changed since the snapshot. None where the history that says so is no longer stored.
    Stale(Option<Vec<String>>),
}

/// Kind of a request for locks. It determines the effect on the run if the request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Locks of a plan. The run loses its locks if other runs exclude it, and gets them even if the plan is stale.
    Plan,
    /// Locks of rows that are about to be written.
    Rows,
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
    /// Registers a run of a session, or moves it to this session. Fails if it has ended.
    pub(super) fn begin_run(&self, session: &Session, workspace: i64, holder: &LockHolder) -> Result<(), PgError> {
        let statement = format!("SELECT {}.yuba_begin($1, $2, $3, $4, $5, $6, $7, $8)", self.schema);
        let is_open: bool = session.value(
            &statement,
            &[
                (&schema::version(), Type::INT4),
                (&holder.id, Type::TEXT),
                (&workspace, Type::INT8),
                (&holder.operation, Type::TEXT),
                (&holder.who, Type::TEXT),
                (&holder.info, Type::TEXT),
                (&holder.version, Type::TEXT),
                (&self.commit, Type::TEXT),
            ],
        )?;
        if is_open { Ok(()) } else { Err(PgError::RunEnded) }
    }

    /// Whether a run still has its locks, and this session.
    pub(super) fn is_open(&self, session: &Session, run: &str) -> Result<bool, PgError> {
        let statement = format!(
            "SELECT EXISTS (SELECT FROM {}.yuba_runs WHERE id = $1 AND ended IS NULL AND process = pg_backend_pid())",
            self.schema
        );
        session.value(&statement, &[(&run, Type::TEXT)])
    }

    /// Takes locks for a run, all or none.
    pub(super) fn take_locks(
        &self,
        session: &Session,
        (workspace, run, since): (i64, &str, Option<i64>),
        wanted: &LockColumns,
        request: Request,
    ) -> Result<Locked, PgError> {
        let statement =
            format!("SELECT outcome, run, address FROM {}.yuba_lock($1, $2, $3, $4, $5, $6, $7, $8, $9)", self.schema);
        let mode = match request {
            Request::Plan => "plan",
            Request::Rows => "rows",
        };
        let rows = session.query(
            &statement,
            &[
                (&schema::version(), Type::INT4),
                (&workspace, Type::INT8),
                (&run, Type::TEXT),
                (&since, Type::INT8),
                (&mode, Type::TEXT),
                (&wanted.config, Type::TEXT_ARRAY),
                (&wanted.resource, Type::TEXT_ARRAY),
                (&wanted.address, Type::TEXT_ARRAY),
                (&wanted.exclusive, Type::BOOL_ARRAY),
            ],
        )?;
        let mut held: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let (mut stale, mut is_pruned) = (Vec::new(), false);
        for row in &rows {
            let (outcome, run, address) = (text(row, 0)?, text(row, 1)?, text(row, 2)?);
            match outcome {
                "held" => {
                    let addresses = held.entry(run.to_owned()).or_default();
                    addresses.extend((!address.is_empty()).then(|| address.to_owned()));
                }
                "stale" => stale.push(address.to_owned()),
                "pruned" => is_pruned = true,
                _ => {}
            }
        }
        held.values_mut().for_each(|addresses| addresses.sort());
        stale.sort();
        Ok(match (is_pruned, stale.is_empty()) {
            _ if !held.is_empty() => Locked::Held(held),
            (true, _) => Locked::Stale(None),
            (false, false) => Locked::Stale(Some(stale)),
            (false, true) => Locked::Taken,
        })
    }

    /// Waits until a run has ended, for at most this time.
    pub(super) fn wait_for(&self, session: &Session, run: &str, limit: Duration) -> Result<(), PgError> {
        let statement = format!("SELECT {}.yuba_wait($1, $2)", self.schema);
        let limit = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX).max(1);
        session.query(&statement, &[(&run, Type::TEXT), (&limit, Type::INT4)]).map(drop)
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
        Ok(Some(LockHolder {
            id: run.to_owned(),
            operation: text(row, 0)?.to_owned(),
            who: text(row, 1)?.to_owned(),
            info: format!("{}, server process {process}{commit}", text(row, 2)?),
            version: text(row, 3)?.to_owned(),
            created: UtcTime::parse(text(row, 6)?),
            path: shown(addresses),
        }))
    }

    /// The holder of locks that a refusal names: the first run, with the other ones in its information.
    pub(super) fn holders(
        &self,
        session: &Session,
        held: &BTreeMap<String, Vec<String>>,
    ) -> Result<Option<LockHolder>, PgError> {
        let mut first: Option<LockHolder> = None;
        for (run, addresses) in held.iter().take(HOLDERS) {
            let Some(holder) = self.holder(session, run, addresses)? else { continue };
            let Some(first) = &mut first else {
                first = Some(holder);
                continue;
            };
            let since = holder.created.map(|time| format!(" since {time}")).unwrap_or_default();
            let LockHolder { id, operation, who, path, .. } = holder;
            let _ = write!(first.info, "; also locked: {path} by {who} ({operation}{since}, ID {id})");
        }
        if let (Some(first), more @ 1..) = (&mut first, held.len().saturating_sub(HOLDERS)) {
            let _ = write!(first.info, "; {more} more {} objects", if more == 1 { "run locks" } else { "runs lock" });
        }
        Ok(first)
    }

    /// The refusal that names who has the locks.
    pub(super) fn refusal(&self, session: &Session, held: &BTreeMap<String, Vec<String>>) -> LockRefusal {
        match self.holders(session, held) {
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

    /// Ends a run whose session is gone. The server process of its session if it still exists.
    pub(super) fn end_absent(&self, session: &Session, run: &str) -> Result<Option<i32>, PgError> {
        session.value(&format!("SELECT {}.yuba_force($1)", self.schema), &[(&run, Type::TEXT)])
    }
}

/// Locked addresses in a message.
fn shown(addresses: &[String]) -> String {
    match addresses.len() {
        0 => "the whole state".to_owned(),
        count if count > SHOWN => format!("{} and {} more objects", addresses[..SHOWN].join(", "), count - SHOWN),
        _ => addresses.join(", "),
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
        // A row that is written and read is locked once.
        let both = StatePart { reads: part(2).writes, writes: part(2).writes };
        assert_eq!(LockColumns::of(&both).exclusive, [true, true]);
    }
}
