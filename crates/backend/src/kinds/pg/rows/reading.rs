//! Reading a state from its rows, in one snapshot.

use std::borrow::Cow;

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use yuba_state::{ObjectRow, OutputRow, ResourceRow, RowReader, State};
use yuba_syntax::Diagnostics;

use super::{MARKER, Rows, schema};
use crate::encryption::Sealing;
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
    pub(super) fn read(
        &self,
        session: &Session,
        workspace: &str,
        sealing: Option<&Sealing>,
    ) -> Result<Snapshot, ReadFailure> {
        // The snapshot begins after the lock of the table, so no migration takes place in between or after it.
        session.batch(&format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; LOCK TABLE {}.yuba_schema IN ACCESS SHARE MODE",
            self.schema
        ))?;
        let read = self.read_snapshot(session, workspace, sealing);
        let ended = session.batch("COMMIT");
        let snapshot = read?;
        ended?;
        Ok(snapshot)
    }

    fn read_snapshot(
        &self,
        session: &Session,
        workspace: &str,
        sealing: Option<&Sealing>,
    ) -> Result<Snapshot, ReadFailure> {
        let tables = &self.schema;
        let statement = format!(
            "SELECT v.version, w.id, w.lineage, w.serial::text, w.revision \
             FROM (SELECT max(version) AS version FROM {tables}.yuba_schema) v \
             LEFT JOIN {tables}.yuba_workspaces w ON w.state_table = $1 AND w.name = $2"
        );
        let parameters: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 2] =
            [(&self.pg.layout.table_name, Type::TEXT), (&workspace, Type::TEXT)];
        let rows = session.query(&statement, &parameters)?;
        let version = rows.first().map_or(Ok(None), |row| field::<Option<i32>>(row, 0))?.unwrap_or_default();
        if version != schema::version() {
            return Err(schema::newer(&self.schema, version).into());
        }
        let row = rows.first().ok_or_else(|| PgError::Refused("the server returned no row".to_owned()))?;
        let Some(id) = field::<Option<i64>>(row, 1)? else {
            return Ok(Snapshot { is_elsewhere: self.is_elsewhere(session, workspace)?, ..Snapshot::default() });
        };
        let (lineage, serial): (Option<String>, String) = (field(row, 2)?, field(row, 3)?);
        let (revision, left) = (field(row, 4)?, self.left_runs(session, id)?);
        let Some(lineage) = lineage else {
            let is_elsewhere = self.is_elsewhere(session, workspace)?;
            return Ok(Snapshot { id: Some(id), revision, left, is_elsewhere, ..Snapshot::default() });
        };
        let mut reader = RowReader::default();
        self.read_objects(session, id, &mut reader, sealing)?;
        self.read_others(session, id, &mut reader, sealing)?;
        let serial = serial.parse().unwrap_or_default();
        let (state, warnings) = reader.finish(&lineage, serial).map_err(ReadFailure::Content)?;
        Ok(Snapshot { state: Some(state), warnings, id: Some(id), revision, left, is_elsewhere: false })
    }

    fn read_objects(
        &self,
        session: &Session,
        id: i64,
        reader: &mut RowReader,
        sealing: Option<&Sealing>,
    ) -> Result<(), ReadFailure> {
        let statement = format!(
            "SELECT module, mode, type, name, provider, instance_key::text, deposed, provider_key::text, status, \
             dependencies::text, object::text FROM {}.yuba_objects WHERE workspace = $1 ORDER BY resource COLLATE \"C\"",
            self.schema
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
            let object = ObjectRow {
                resource,
                key: field::<Option<&str>>(&row, 5)?.map(Into::into),
                deposed: text(&row, 6)?.into(),
                provider_key: field::<Option<&str>>(&row, 7)?.map(Into::into),
                status: status.into(),
                dependencies: text(&row, 9)?.into(),
                object: unsealed(text(&row, 10)?, sealing)?,
            };
            reader.object(&object).map_err(ReadFailure::Content)?;
        }
        Ok(())
    }

    fn read_others(
        &self,
        session: &Session,
        id: i64,
        reader: &mut RowReader,
        sealing: Option<&Sealing>,
    ) -> Result<(), ReadFailure> {
        let schema = &self.schema;
        let outputs = format!(
            "SELECT name, value::text, type::text, sensitive, deprecated FROM {schema}.yuba_outputs WHERE workspace = $1"
        );
        for row in session.query(&outputs, &[(&id, Type::INT8)])? {
            reader.output(&OutputRow {
                name: text(&row, 0)?.into(),
                value: unsealed(text(&row, 1)?, sealing)?,
                ty: text(&row, 2)?.into(),
                sensitive: field(&row, 3)?,
                deprecated: text(&row, 4)?.into(),
            });
        }
        let checks = format!(
            "SELECT result::text FROM {schema}.yuba_checks WHERE workspace = $1 ORDER BY position, config COLLATE \"C\""
        );
        for row in session.query(&checks, &[(&id, Type::INT8)])? {
            reader.check(text(&row, 0)?).map_err(ReadFailure::Content)?;
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

    /// What runs that were interrupted had finished and begun.
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

/// A content that may be encrypted.
fn unsealed<'c>(content: &'c str, sealing: Option<&Sealing>) -> Result<Cow<'c, str>, ReadFailure> {
    let Some(sealing) = sealing else {
        let is_sealed = content.starts_with("{\"meta\":") && crate::encryption::is_encrypted(content.as_bytes());
        // The reader of states says what is missing.
        let problems = if is_sealed { yuba_state::read(content.as_bytes()).err() } else { None };
        return problems.map_or(Ok(Cow::Borrowed(content)), |problems| Err(ReadFailure::Content(problems)));
    };
    let unsealed =
        sealing.unseal(content.as_bytes(), |_| true).map_err(|problem| ReadFailure::Content(problem.into()))?;
    Ok(Cow::Owned(String::from_utf8_lossy(&unsealed.content).into_owned()))
}
