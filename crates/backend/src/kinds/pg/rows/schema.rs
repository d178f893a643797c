//! The tables of `layout = "resources"`: their version, their creation and forward migrations.

use tokio_postgres::types::Type;

use super::Rows;
use crate::kinds::pg::errors::PgError;
use crate::kinds::pg::layout::needing;
use crate::kinds::pg::session::{Session, field};

/// The statements that lead from each version to the next one. A version that was released is never changed.
const MIGRATIONS: &[&str] = &[include_str!("schema_1.sql")];

/// The version of the tables that this client uses.
pub(super) fn version() -> i32 {
    i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX)
}

/// The refusal of tables that a later version has migrated.
pub(super) fn newer(schema: &str, version: i32) -> PgError {
    let ours = self::version();
    PgError::Refused(format!(
        "the tables in the schema {schema} have version {version}, and this version of Yuba supports versions up to {ours}. \
         Use a newer version of Yuba"
    ))
}

/// The oldest version of PostgreSQL that has what the tables use.
const OLDEST: u32 = 14;

/// The lock of a migration: the characters `yuba`.
const MIGRATION_LOCK: i64 = 0x7975_6261;

/// State of the tables in a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    Version(i32),
    /// Tables without the one that says their version.
    WithoutVersion,
}

impl Rows {
    /// Creates or migrates the tables, where this version has newer ones, and protects the table of the other layout.
    pub(super) fn prepare(&self, session: &Session) -> Result<(), PgError> {
        let is_current = self.check(self.found(session)?)?;
        if is_current && !self.lacks_guard(session)? {
            return Ok(());
        }
        session.batch("BEGIN")?;
        match self.migrate(session) {
            Ok(()) => session.batch("COMMIT"),
            Err(error) => {
                let _ = session.batch("ROLLBACK");
                let permission = format!("CREATE on the schema {}, or an owner who runs `yuba init` once", self.schema);
                Err(needing(error, &permission))
            }
        }
    }

    fn migrate(&self, session: &Session) -> Result<(), PgError> {
        let server: String = session.value("SHOW server_version", &[])?;
        if server
            .split('.')
            .next()
            .and_then(|major| major.trim().parse::<u32>().ok())
            .is_some_and(|major| major < OLDEST)
        {
            return Err(PgError::Refused(format!(
                "layout = \"resources\" requires PostgreSQL {OLDEST} or later, and the server has version {server}"
            )));
        }
        session.query(&format!("SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"), &[])?;
        // Another process may have migrated while this one waited.
        let found = self.found(session)?;
        if self.check(found)? {
            return self.guard(session);
        }
        if let Found::Version(_) = found {
            // Waits for transactions of other clients, which check the version first. Their later ones fail.
            session.batch(&format!("LOCK TABLE {}.yuba_schema IN ACCESS EXCLUSIVE MODE", self.schema))?;
        }
        let from = if let Found::Version(version) = found { usize::try_from(version).unwrap_or_default() } else { 0 };
        for (at, statements) in MIGRATIONS.iter().enumerate().skip(from) {
            session.batch(&statements.replace("{s}", &self.schema))?;
            let version = format!("UPDATE {}.yuba_schema SET version = {}, changed = now()", self.schema, at + 1);
            session.batch(&version)?;
        }
        self.guard(session)
    }

    /// Protects rows that mark workspaces in the table of the other layout. A role that does not own the table leaves it: the
    /// content of these rows cannot be read as a state in any case.
    fn guard(&self, session: &Session) -> Result<(), PgError> {
        let (schema, table) = (&self.schema, &self.pg.layout.table);
        if self.lacks_guard(session)? {
            session.batch(&format!(
                "CREATE OR REPLACE TRIGGER yuba_guard BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW \
                 EXECUTE FUNCTION {schema}.yuba_guard()"
            ))?;
        }
        Ok(())
    }

    /// Whether a table that this role owns has no guard. Another `table_name` of the same schema gets its own.
    fn lacks_guard(&self, session: &Session) -> Result<bool, PgError> {
        let lacks = "SELECT EXISTS (SELECT FROM pg_class c WHERE c.oid = to_regclass($1) AND pg_has_role(c.relowner, 'USAGE') \
                     AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname = 'yuba_guard'))";
        session.value(lacks, &[(&self.pg.layout.table, Type::TEXT)])
    }

    fn found(&self, session: &Session) -> Result<Found, PgError> {
        // Names that did not exist are cached by the server until the next transaction, so tables are looked up in the catalog.
        let asked = "SELECT bool_or(tablename = 'yuba_schema') IS TRUE, bool_or(tablename = 'yuba_workspaces') IS TRUE \
                     FROM pg_tables WHERE schemaname = $1";
        let rows = session.query(asked, &[(&self.pg.layout.schema, Type::TEXT)])?;
        let exists = |at| rows.first().map_or(Ok(false), |row| field::<bool>(row, at));
        if !exists(0)? {
            return Ok(if exists(1)? { Found::WithoutVersion } else { Found::Nothing });
        }
        let statement = format!("SELECT max(version) FROM {}.yuba_schema", self.schema);
        let version: Option<i32> = session.value(&statement, &[])?;
        Ok(version.map_or(Found::WithoutVersion, Found::Version))
    }

    /// Whether the tables are those of this version. Fails for tables that it must not touch.
    fn check(&self, found: Found) -> Result<bool, PgError> {
        let ours = version();
        match found {
            Found::Version(version) if version == ours => Ok(true),
            Found::Version(version) if (1..ours).contains(&version) => Ok(false),
            Found::Nothing => Ok(false),
            Found::Version(version) => Err(newer(&self.schema, version)),
            Found::WithoutVersion => Err(PgError::Refused(format!(
                "the schema {} has the table yuba_workspaces, and {}.yuba_schema does not say its version. The tables were created \
                 or restored in part: restore all of them, or set another schema_name",
                self.schema, self.schema
            ))),
        }
    }
}
