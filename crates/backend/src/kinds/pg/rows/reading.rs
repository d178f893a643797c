//! Reading a state from its rows, in one snapshot.

use std::collections::BTreeMap;

use ecow::EcoString;
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use yuba_state::{ObjectRow, Output, OutputRow, ResourceRow, RowReader, State};
use yuba_syntax::Diagnostics;

use super::sealing::{Seal, object_parts, output_parts};
use super::{MARKER, Rows, schema};
use crate::journal::{JournalOperation, Recovered};
use crate::kinds::pg::errors::PgError;
use crate::kinds::pg::session::{Session, field};

/// A state as one snapshot shows it.
#[derive(Default)]
pub(super) struct Snapshot {
    pub(super) state: Option<State>,
    pub(super) warnings: Diagnostics,
    /// The workspace, if it is registered.
    pub(super) id: Option<i64>,
    /// Number of the last commit in it.
    pub(super) revision: i64,
    /// Runs whose sessions are gone and that no command has reported yet.
    pub(super) left: Vec<String>,
    /// The table of the other layout has a state of this workspace.
    pub(super) is_elsewhere: bool,
}

/// Which versions of rows are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Now,
    /// Those that this commit has left.
    Revision(i64),
}

/// Why a snapshot has no state.
pub(super) enum ReadFailure {
    Server(PgError),
    /// Rows are not those of a state.
    Content(Diagnostics),
}

impl From<PgError> for ReadFailure {
    fn from(error: PgError) -> ReadFailure {
        ReadFailure::Server(error)
    }
}

impl Rows {
    /// Reads a state in one transaction, which sees one moment.
    pub(super) fn read(&self, session: &Session, workspace: &str, seal: Seal<'_>) -> Result<Snapshot, ReadFailure> {
        self.in_snapshot(session, || self.read_snapshot(session, workspace, seal))
    }

    /// Reads in one transaction, which sees one moment.
    pub(super) fn in_snapshot<T>(
        &self,
        session: &Session,
        read: impl FnOnce() -> Result<T, ReadFailure>,
    ) -> Result<T, ReadFailure> {
        // The snapshot begins after the lock of the table, so no migration takes place in between or after it.
        session.batch(&format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; LOCK TABLE {}.yuba_schema IN ACCESS SHARE MODE",
            self.schema
        ))?;
        let read = self.check_version(session).and_then(|()| read());
        let ended = session.batch("COMMIT");
        let found = read?;
        ended?;
        Ok(found)
    }

    fn read_snapshot(&self, session: &Session, workspace: &str, seal: Seal<'_>) -> Result<Snapshot, ReadFailure> {
        let schema = &self.schema;
        let statement = format!(
            "SELECT id, lineage, serial::text, revision FROM {schema}.yuba_workspaces WHERE state_table = $1 AND name = $2"
        );
        let parameters: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 2] =
            [(&self.pg.layout.table_name, Type::TEXT), (&workspace, Type::TEXT)];
        let rows = session.query(&statement, &parameters)?;
        let Some(row) = rows.first() else {
            return Ok(Snapshot { is_elsewhere: self.is_elsewhere(session, workspace)?, ..Snapshot::default() });
        };
        let (id, lineage, serial): (i64, Option<String>, String) = (field(row, 0)?, field(row, 1)?, field(row, 2)?);
        let (revision, left) = (field(row, 3)?, self.left_runs(session, id)?);
        let Some(lineage) = lineage else {
            let is_elsewhere = self.is_elsewhere(session, workspace)?;
            return Ok(Snapshot { id: Some(id), revision, left, is_elsewhere, ..Snapshot::default() });
        };
        let mut reader = RowReader::default();
        self.read_objects(session, (id, Moment::Now), &mut reader, seal)?;
        self.read_others(session, (id, Moment::Now), &mut reader, seal)?;
        let serial = serial.parse().unwrap_or_default();
        let (state, warnings) = reader.finish(&lineage, serial).map_err(ReadFailure::Content)?;
        Ok(Snapshot { state: Some(state), warnings, id: Some(id), revision, left, is_elsewhere: false })
    }

    fn check_version(&self, session: &Session) -> Result<(), ReadFailure> {
        let statement = format!("SELECT coalesce(max(version), 0) FROM {}.yuba_schema", self.schema);
        let version: i32 = session.value(&statement, &[])?;
        match version == schema::version() {
            true => Ok(()),
            false => Err(schema::newer(&self.schema, version).into()),
        }
    }

    /// The rows of a table at a moment, with these columns.
    fn rows_at(&self, moment: Moment, (table, history): (&str, &str), columns: &str) -> String {
        let schema = &self.schema;
        match moment {
            Moment::Now => format!("{schema}.{table}"),
            Moment::Revision(at) => format!(
                "(SELECT {columns} FROM {schema}.{table} WHERE version <= {at} \
                  UNION ALL SELECT {columns} FROM {schema}.{history} WHERE version <= {at} AND ended > {at}) past"
            ),
        }
    }

    pub(super) fn read_objects(
        &self,
        session: &Session,
        (id, moment): (i64, Moment),
        reader: &mut RowReader,
        seal: Seal<'_>,
    ) -> Result<(), ReadFailure> {
        let columns = "workspace, resource, module, mode, type, name, provider, instance_key, deposed, provider_key, status, \
                       dependencies, object";
        let statement = format!(
            "SELECT module, mode, type, name, provider, instance_key::text, deposed, provider_key::text, status, \
             dependencies::text, object::text FROM {} WHERE workspace = $1 ORDER BY resource COLLATE \"C\"",
            self.rows_at(moment, ("yuba_objects", "yuba_history"), columns)
        );
        for row in session.query(&statement, &[(&id, Type::INT8)])? {
            let resource = ResourceRow {
                module: text(&row, 0)?.into(),
                mode: text(&row, 1)?.into(),
                kind: text(&row, 2)?.into(),
                name: text(&row, 3)?.into(),
                provider: text(&row, 4)?.into(),
            };
            let status = text(&row, 8)?;
            if status == "empty" {
                reader.resource(&resource);
                continue;
            }
            let mut object = ObjectRow {
                resource,
                key: field::<Option<&str>>(&row, 5)?.map(Into::into),
                deposed: text(&row, 6)?.into(),
                provider_key: field::<Option<&str>>(&row, 7)?.map(Into::into),
                status: status.into(),
                dependencies: text(&row, 9)?.into(),
                object: Default::default(),
            };
            let content = seal.unseal(&object_parts(&object), text(&row, 10)?)?;
            object.object = content;
            reader.object(&object).map_err(ReadFailure::Content)?;
        }
        Ok(())
    }

    /// The outputs of a state. None if it does not exist.
    pub(super) fn read_outputs_of(
        &self,
        session: &Session,
        seal: Seal<'_>,
    ) -> Result<Option<BTreeMap<EcoString, Output>>, ReadFailure> {
        self.in_snapshot(session, || {
            let statement = format!(
                "SELECT id FROM {}.yuba_workspaces WHERE state_table = $1 AND name = $2 AND lineage IS NOT NULL",
                self.schema
            );
            let rows = session.query(&statement, &[(&seal.table, Type::TEXT), (&seal.workspace, Type::TEXT)])?;
            let Some(row) = rows.first() else { return Ok(None) };
            let mut reader = RowReader::default();
            self.read_outputs(session, (field(row, 0)?, Moment::Now), &mut reader, seal)?;
            let (state, _) = reader.finish("", 0).map_err(ReadFailure::Content)?;
            Ok(Some(state.outputs))
        })
    }

    pub(super) fn read_others(
        &self,
        session: &Session,
        (id, moment): (i64, Moment),
        reader: &mut RowReader,
        seal: Seal<'_>,
    ) -> Result<(), ReadFailure> {
        self.read_outputs(session, (id, moment), reader, seal)?;
        let checks = format!(
            "SELECT result::text FROM {} WHERE workspace = $1 ORDER BY position, config COLLATE \"C\"",
            self.rows_at(moment, ("yuba_checks", "yuba_check_history"), "workspace, config, position, result")
        );
        for row in session.query(&checks, &[(&id, Type::INT8)])? {
            reader.check(text(&row, 0)?).map_err(ReadFailure::Content)?;
        }
        Ok(())
    }

    fn read_outputs(
        &self,
        session: &Session,
        (id, moment): (i64, Moment),
        reader: &mut RowReader,
        seal: Seal<'_>,
    ) -> Result<(), ReadFailure> {
        let columns = "workspace, name, value, type, sensitive, deprecated";
        let outputs = format!(
            "SELECT name, value::text, type::text, sensitive, deprecated FROM {} WHERE workspace = $1",
            self.rows_at(moment, ("yuba_outputs", "yuba_output_history"), columns)
        );
        for row in session.query(&outputs, &[(&id, Type::INT8)])? {
            let mut output = OutputRow {
                name: text(&row, 0)?.into(),
                value: Default::default(),
                ty: text(&row, 2)?.into(),
                sensitive: field(&row, 3)?,
                deprecated: text(&row, 4)?.into(),
            };
            output.value = seal.unseal(&output_parts(&output), text(&row, 1)?)?;
            reader.output(&output);
        }
        Ok(())
    }

    /// Runs that lost their session, and that no command has reported yet.
    fn left_runs(&self, session: &Session, id: i64) -> Result<Vec<String>, PgError> {
        let schema = &self.schema;
        let statement = format!(
            "SELECT id FROM {schema}.yuba_runs WHERE workspace = $1 AND NOT reported \
             AND (ended IS NOT NULL OR NOT {schema}.yuba_alive(process, session_key))"
        );
        session.query(&statement, &[(&id, Type::INT8)])?.iter().map(|row| field(row, 0)).collect()
    }

    /// Notes that these runs are reported to a user. The next command does not report them again.
    pub(super) fn acknowledge(&self, session: &Session, runs: &[String]) -> Result<(), PgError> {
        let statement = format!("UPDATE {}.yuba_runs SET reported = true WHERE id = ANY ($1)", self.schema);
        session.query(&statement, &[(&runs, Type::TEXT_ARRAY)]).map(drop)
    }

    /// Operations that interrupted runs had finished and begun.
    pub(super) fn recovered(&self, session: &Session, runs: &[String]) -> Result<Option<Recovered>, PgError> {
        let statement = format!(
            "SELECT address, action, finished IS NOT NULL FROM {}.yuba_operations WHERE run = ANY ($1) ORDER BY started, number",
            self.schema
        );
        let mut recovered = Recovered { saved: true, is_in_state: true, ..Recovered::default() };
        let mut under_way = Vec::new();
        for row in session.query(&statement, &[(&runs, Type::TEXT_ARRAY)])? {
            let (address, action) = (text(&row, 0)?, text(&row, 1)?);
            match field(&row, 2)? {
                true => {
                    recovered.edits += 1;
                    recovered.addresses.push(address.into());
                }
                false => under_way.push(JournalOperation { address: address.into(), action: action.into() }),
            }
        }
        recovered.set_under_way(under_way);
        Ok((!recovered.is_nothing()).then_some(recovered))
    }

    /// Whether the table of the other layout has a state of this workspace.
    pub(super) fn is_elsewhere(&self, session: &Session, workspace: &str) -> Result<bool, PgError> {
        let statement = format!(
            "SELECT EXISTS (SELECT FROM {} WHERE name = $1 AND data LIKE '%\"resources\":[{{%' AND NOT starts_with(data, $2))",
            self.pg.layout.table
        );
        session.value(&statement, &[(&workspace, Type::TEXT), (&MARKER, Type::TEXT)])
    }
}

/// A column that is text.
pub(super) fn text(row: &Row, index: usize) -> Result<&str, PgError> {
    field(row, index)
}
