//! Names of the schema, the tables and the locks, as OpenTofu has them, and their creation.

use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use super::errors::PgError;
use super::session::{Session, field};
use crate::kit::arguments::Arguments;

/// The sequence is shared by all schemas of a database, so that row ids and with them locks are unique.
const SEQUENCE: &str = "public.global_states_id_seq";
/// The table of journals, which OpenTofu does not know.
pub(super) const JOURNAL: &str = "yuba_journal";
/// Attempts to create objects that another process may be creating at the same time.
const ATTEMPTS: u32 = 5;

/// Where states are in a database.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) schema: String,
    pub(super) table_name: String,
    index: String,
    creates_schema: bool,
    creates_table: bool,
    creates_index: bool,
    /// The table of states, qualified and quoted.
    pub(super) table: String,
    /// The table of journals, qualified and quoted.
    pub(super) journal: String,
}

impl Layout {
    pub(super) fn new(arguments: &Arguments) -> Layout {
        let text = |name: &str| arguments.text(name).map(String::from).unwrap_or_default();
        let (schema, table_name) = (text("schema_name"), text("table_name"));
        let qualified = |name: &str| format!("{}.{}", quoted(&schema), quoted(name));
        Layout {
            table: qualified(&table_name),
            journal: qualified(JOURNAL),
            index: text("index_name"),
            creates_schema: !arguments.is_on("skip_schema_creation"),
            creates_table: !arguments.is_on("skip_table_creation"),
            creates_index: !arguments.is_on("skip_index_creation"),
            schema,
            table_name,
        }
    }

    /// The lock of states that have no row yet: minus FNV-1 of the names of schema and table.
    pub(super) fn creation_lock(&self) -> i64 {
        let names = format!("{}\0{}", self.schema, self.table_name);
        let hash = names.bytes().fold(2_166_136_261_u32, |hash, byte| hash.wrapping_mul(16_777_619) ^ u32::from(byte));
        -i64::from(hash)
    }

    /// The location for messages: `schema.table`.
    pub(super) fn shown(&self) -> String {
        let shown = |name: &str| match name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)) {
            true => name.to_owned(),
            false => quoted(name),
        };
        format!("{}.{}", shown(&self.schema), shown(&self.table_name))
    }

    /// Creates what is missing. Unlike `CREATE ... IF NOT EXISTS`, this needs no permission where nothing is missing.
    pub(super) fn prepare(&self, session: &Session) -> Result<(), PgError> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            match self.create_missing(session) {
                // Another process has created the same object at the same time.
                Err(error) if attempt < ATTEMPTS && is_duplicate(&error) => {}
                done => return done,
            }
        }
    }

    fn create_missing(&self, session: &Session) -> Result<(), PgError> {
        if !(self.creates_schema || self.creates_table || self.creates_index) {
            return Ok(());
        }
        let index = format!("{}.{}", quoted(&self.schema), quoted(&self.index));
        let asked = "SELECT to_regnamespace($1) IS NOT NULL, to_regclass($2) IS NOT NULL, to_regclass($3) IS NOT NULL, \
                     to_regclass($4) IS NOT NULL";
        let schema = quoted(&self.schema);
        let names = [&schema, &SEQUENCE.to_owned(), &self.table, &index];
        let names = names.map(|name| (name as &(dyn tokio_postgres::types::ToSql + Sync), Type::TEXT));
        let rows = session.query(asked, &names)?;
        let exists = |column| rows.first().map_or(Ok(false), |row| field::<bool>(row, column));
        let table = &self.table;
        let create = |statement: String, permission: String| {
            session.query(&statement, &[]).map(drop).map_err(|error| needing(error, &permission))
        };
        if self.creates_schema && !exists(0)? {
            let permission = "CREATE on the database, or create the schema and set skip_schema_creation = true";
            create(format!("CREATE SCHEMA IF NOT EXISTS {}", quoted(&self.schema)), permission.to_owned())?;
        }
        if self.creates_table && !exists(2)? {
            if !exists(1)? {
                let permission = "CREATE on the schema \"public\", where the sequence global_states_id_seq belongs";
                create(format!("CREATE SEQUENCE IF NOT EXISTS {SEQUENCE} AS bigint"), permission.to_owned())?;
            }
            let columns =
                format!("id bigint NOT NULL DEFAULT nextval('{SEQUENCE}') PRIMARY KEY, name text UNIQUE, data text");
            let permission =
                format!("CREATE on the schema {} and USAGE on the sequence {SEQUENCE}", quoted(&self.schema));
            create(format!("CREATE TABLE IF NOT EXISTS {table} ({columns})"), permission)?;
        }
        if self.creates_index && !exists(3)? {
            let index = quoted(&self.index);
            let permission = format!("ownership of the table {table}, or set skip_index_creation = true");
            create(format!("CREATE UNIQUE INDEX IF NOT EXISTS {index} ON {table} (name)"), permission)?;
        }
        Ok(())
    }
}

/// An identifier for a statement.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A refusal with the permission that is needed.
pub(super) fn needing(error: PgError, permission: &str) -> PgError {
    match error.is(&SqlState::INSUFFICIENT_PRIVILEGE) {
        true => PgError::Refused(format!("{}. The role needs {permission}", error.reason())),
        false => error,
    }
}

/// Whether an object was created by another process in the meantime.
pub(super) fn is_duplicate(error: &PgError) -> bool {
    let codes = [&SqlState::UNIQUE_VIOLATION, &SqlState::DUPLICATE_TABLE, &SqlState::DUPLICATE_SCHEMA];
    codes.iter().any(|code| error.is(code)) || error.is(&SqlState::DUPLICATE_OBJECT)
}

/// A condition on rows of `pg_locks`: the advisory lock with this key, in this database.
pub(super) fn is_lock(key: i64) -> String {
    let bits = key.cast_unsigned();
    let (high, low) = (bits >> 32, bits & 0xffff_ffff);
    format!(
        "(locktype = 'advisory' AND granted AND classid = {high} AND objid = {low} AND objsubid = 1 AND \
         database = (SELECT oid FROM pg_database WHERE datname = current_database()))"
    )
}

/// A condition: the session that runs the statement holds the lock with this key.
pub(super) fn holds(key: i64) -> String {
    format!("EXISTS (SELECT FROM pg_locks WHERE pid = pg_backend_pid() AND {})", is_lock(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_creation_lock_is_that_of_opentofu() {
        let named = |schema: &str, table: &str| Layout {
            schema: schema.to_owned(),
            table_name: table.to_owned(),
            index: String::new(),
            creates_schema: false,
            creates_table: false,
            creates_index: false,
            table: String::new(),
            journal: String::new(),
        };
        // Go's hash/fnv New32 of the same bytes.
        assert_eq!(named("terraform_remote_state", "states").creation_lock(), -3_797_183_428);
        assert_ne!(named("a", "b").creation_lock(), named("b", "a").creation_lock());
    }

    #[test]
    fn identifiers_cannot_leave_their_quotes() {
        assert_eq!(quoted(r#"a"; DROP TABLE x; --"#), r#""a""; DROP TABLE x; --""#);
    }

    #[test]
    fn keys_are_split_as_the_server_splits_them() {
        assert!(is_lock(5).contains("classid = 0 AND objid = 5 "));
        assert!(is_lock(-1).contains("classid = 4294967295 AND objid = 4294967295 "));
    }
}
