//! Earlier versions of a state: those of one object, and the whole state as it was at a time.

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use yuba_state::{ObjectRow, ResourceRow, RowReader, State};

use super::Rows;
use super::reading::{Moment, ReadFailure, text};
use super::sealing::{Seal, object_parts};
use crate::kinds::pg::errors::PgError;
use crate::kinds::pg::session::{Session, field};
use crate::store::{ObjectVersion, StateCommit};
use crate::timestamp::UtcTime;

/// A time as a statement returns it.
fn utc(column: &str) -> String {
    format!("to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
}

impl Rows {
    /// The state of a workspace as it was at a time. None before its first commit.
    pub(super) fn read_at(
        &self,
        session: &Session,
        time: UtcTime,
        seal: Seal<'_>,
    ) -> Result<Option<State>, ReadFailure> {
        self.in_snapshot(session, || {
            let Some(id) = self.workspace_id(session, seal.workspace)? else { return Ok(None) };
            let schema = &self.schema;
            let statement = format!(
                "SELECT c.revision, c.serial::text, c.lineage, w.pruned \
                 FROM {schema}.yuba_workspaces w LEFT JOIN {schema}.yuba_commits c ON c.workspace = w.id AND c.revision = ( \
                     SELECT max(b.revision) FROM {schema}.yuba_commits b \
                     WHERE b.workspace = w.id AND b.committed <= $2::text::timestamptz) \
                 WHERE w.id = $1"
            );
            let rows = session.query(&statement, &[(&id, Type::INT8), (&time.to_string(), Type::TEXT)])?;
            let Some(row) = rows.first() else { return Ok(None) };
            let pruned: i64 = field(row, 3)?;
            let revision = field::<Option<i64>>(row, 0)?.filter(|revision| *revision >= pruned);
            let Some(revision) = revision else {
                return if pruned > 0 { Err(not_stored(time).into()) } else { Ok(None) };
            };
            let lineage: Option<String> = field(row, 2)?;
            let mut reader = RowReader::default();
            self.read_objects(session, (id, Moment::Revision(revision)), &mut reader, seal)?;
            self.read_others(session, (id, Moment::Revision(revision)), &mut reader, seal)?;
            let serial = text(row, 1)?.parse().unwrap_or_default();
            let (state, _) = reader.finish(&lineage.unwrap_or_default(), serial).map_err(ReadFailure::Content)?;
            Ok(Some(state))
        })
    }

    /// All stored versions of the objects of an instance, oldest first.
    pub(super) fn versions(
        &self,
        session: &Session,
        address: &str,
        seal: Seal<'_>,
    ) -> Result<Vec<ObjectVersion>, ReadFailure> {
        let schema = &self.schema;
        let columns = "workspace, address, deposed, status, object, version, run, module, mode, type, name, instance_key, provider";
        let (since, until) = (utc("b.committed"), utc("e.committed"));
        let statement = format!(
            "SELECT nullif(v.deposed, ''), v.status, v.object::text, \
                 v.version, {since}, r.who, r.operation, r.source_commit, v.run, \
                 v.ended, {until}, q.who, q.operation, q.source_commit, v.ended_run, \
                 v.module, v.mode, v.type, v.name, v.instance_key::text, v.provider \
             FROM (SELECT {columns}, NULL::bigint AS ended, NULL::text AS ended_run FROM {schema}.yuba_objects \
                   UNION ALL SELECT {columns}, ended, ended_run FROM {schema}.yuba_history) v \
             LEFT JOIN {schema}.yuba_commits b ON b.workspace = v.workspace AND b.revision = v.version \
             LEFT JOIN {schema}.yuba_commits e ON e.workspace = v.workspace AND e.revision = v.ended \
             LEFT JOIN {schema}.yuba_runs r ON r.id = v.run LEFT JOIN {schema}.yuba_runs q ON q.id = v.ended_run \
             WHERE v.workspace = $1 AND v.address = $2 AND v.status <> 'empty' ORDER BY v.version, v.deposed"
        );
        self.in_snapshot(session, || {
            let Some(id) = self.workspace_id(session, seal.workspace)? else { return Ok(Vec::new()) };
            let rows = session.query(&statement, &[(&id, Type::INT8), (&address, Type::TEXT)])?;
            rows.iter()
                .map(|row| {
                    let deposed: Option<String> = field(row, 0)?;
                    let what = ObjectRow {
                        resource: ResourceRow {
                            module: text(row, 15)?.into(),
                            mode: text(row, 16)?.into(),
                            kind: text(row, 17)?.into(),
                            name: text(row, 18)?.into(),
                            provider: text(row, 20)?.into(),
                        },
                        key: field::<Option<&str>>(row, 19)?.map(Into::into),
                        deposed: deposed.as_deref().unwrap_or_default().into(),
                        ..ObjectRow::default()
                    };
                    Ok(ObjectVersion {
                        is_tainted: text(row, 1)? == "tainted",
                        object: seal.unseal(&object_parts(&what), text(row, 2)?)?.into_owned(),
                        begin: commit(row, 3)?.unwrap_or_default(),
                        end: commit(row, 9)?,
                        deposed: deposed.clone(),
                    })
                })
                .collect()
        })
    }
}

/// The commit in six columns. None where its revision is null.
fn commit(row: &Row, at: usize) -> Result<Option<StateCommit>, PgError> {
    let Some(revision) = field::<Option<i64>>(row, at)? else { return Ok(None) };
    let column = |index| field::<Option<String>>(row, at + index).map(Option::unwrap_or_default);
    Ok(Some(StateCommit {
        revision,
        time: UtcTime::parse(&column(1)?),
        who: column(2)?,
        operation: column(3)?,
        source_commit: column(4)?,
        run: column(5)?,
    }))
}

fn not_stored(time: UtcTime) -> PgError {
    PgError::Refused(format!("the history before {time} was removed, see yuba_prune and history_days"))
}
