//! All workspaces of a database that are stored with `layout = "resources"`, in all of its schemas.

use tokio_postgres::types::Type;

use super::reading::text;
use super::{Rows, schema};
use crate::kinds::pg::errors::PgError;
use crate::kinds::pg::layout::quoted;
use crate::kinds::pg::session::{Session, field};
use crate::store::{EstateOperation, EstateWorkspace};
use crate::timestamp::UtcTime;

impl Rows {
    /// The workspaces that this role can read, by schema, table and name.
    pub(super) fn estate(&self, session: &Session) -> Result<Vec<EstateWorkspace>, PgError> {
        session.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        let listed = self.schemas(session).and_then(|schemas| {
            let mut found = Vec::new();
            for schema in schemas {
                self.workspaces_of(session, &schema, &mut found)?;
            }
            Ok(found)
        });
        let ended = session.batch("COMMIT");
        let found = listed?;
        ended.map(|()| found)
    }

    /// Schemas with tables that this role can read.
    fn schemas(&self, session: &Session) -> Result<Vec<String>, PgError> {
        let statement = "SELECT n.nspname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                         WHERE c.relname = 'yuba_schema' AND c.relkind = 'r' AND has_schema_privilege(n.oid, 'USAGE') \
                             AND has_table_privilege(c.oid, 'SELECT') ORDER BY n.nspname";
        session.query(statement, &[])?.iter().map(|row| field(row, 0)).collect()
    }

    fn workspaces_of(&self, session: &Session, name: &str, found: &mut Vec<EstateWorkspace>) -> Result<(), PgError> {
        let schema = quoted(name);
        let version: Option<i32> = session.value(&format!("SELECT max(version) FROM {schema}.yuba_schema"), &[])?;
        if version != Some(schema::version()) {
            // Other versions of Yuba have other tables.
            return Ok(());
        }
        let statement = format!(
            "SELECT w.state_table, w.name, w.serial::text, \
                 (SELECT count(*) FROM {schema}.yuba_objects o WHERE o.workspace = w.id AND o.status <> 'empty'), \
                 (SELECT count(*) FROM {schema}.yuba_outputs o WHERE o.workspace = w.id), \
                 (SELECT count(*) FROM {schema}.yuba_locks l JOIN {schema}.yuba_runs r ON r.id = l.run \
                     WHERE l.workspace = w.id AND {schema}.yuba_alive(r.process, r.session_key)), \
                 p.address, p.action, to_char(p.started AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'), p.result, p.who \
             FROM {schema}.yuba_workspaces w \
             LEFT JOIN LATERAL (SELECT * FROM {schema}.operations q WHERE q.state_table = w.state_table AND q.workspace = w.name \
                                ORDER BY q.started DESC LIMIT 1) p ON true \
             WHERE w.lineage IS NOT NULL ORDER BY w.state_table, w.name"
        );
        for row in session.query(&statement, &[] as &[(&(dyn tokio_postgres::types::ToSql + Sync), Type)])? {
            let address: Option<String> = field(&row, 6)?;
            let last = match address {
                None => None,
                Some(address) => Some(EstateOperation {
                    address,
                    action: text(&row, 7)?.to_owned(),
                    started: UtcTime::parse(text(&row, 8)?),
                    result: text(&row, 9)?.to_owned(),
                    who: text(&row, 10)?.to_owned(),
                }),
            };
            found.push(EstateWorkspace {
                schema: name.to_owned(),
                table: text(&row, 0)?.to_owned(),
                workspace: text(&row, 1)?.to_owned(),
                serial: text(&row, 2)?.parse().unwrap_or_default(),
                objects: field(&row, 3)?,
                outputs: field(&row, 4)?,
                locks: field(&row, 5)?,
                last,
            });
        }
        Ok(())
    }
}
