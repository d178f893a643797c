//! Changed rows as columns of one statement, which writes all of them or none.

use std::collections::BTreeMap;

use tokio_postgres::types::Type;
use yuba_state::{ObjectRow, OutputRow, ResourceRow, RowKey, State, check_row};
use yuba_syntax::Diagnostics;

use super::sealing::{Seal, object_parts, output_parts};
use crate::journal::OperationId;
use crate::kinds::pg::errors::PgError;
use crate::kinds::pg::session::{Parameter, Session, field};

/// The key that a row of a resource without instances has instead of a deposed key.
const EMPTY: &str = "empty";
/// Bytes of one statement, about. More are written with several statements in one transaction.
const STATEMENT: usize = 16 << 20;

/// Identity and preconditions of a commit.
pub(super) struct Head<'h> {
    pub(super) schema: &'h str,
    pub(super) workspace: i64,
    pub(super) run: &'h str,
    /// Number of the commit in the run: a commit whose response was lost is not made twice.
    pub(super) number: i64,
    /// Rows that other runs wrote after this revision are not overwritten.
    pub(super) since: i64,
    /// The whole state must have this revision.
    pub(super) expected: Option<i64>,
    /// The run has locks, and takes those of further rows.
    pub(super) is_locked: bool,
    pub(super) lineage: Option<&'h str>,
    pub(super) serial: Option<String>,
}

/// First step of a transaction.
pub(super) type First<'f> = &'f dyn Fn(&Session) -> Result<(), PgError>;

/// The result of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Committed {
    pub(super) revision: i64,
    pub(super) serial: u64,
    /// How many statements it took.
    pub(super) statements: i64,
}

/// Rows of objects, by column.
#[derive(Default)]
struct ObjectColumns {
    op: Vec<&'static str>,
    address: Vec<String>,
    deposed: Vec<String>,
    resource: Vec<String>,
    config: Vec<String>,
    module: Vec<String>,
    mode: Vec<String>,
    kind: Vec<String>,
    name: Vec<String>,
    key: Vec<Option<String>>,
    provider: Vec<String>,
    provider_key: Vec<Option<String>>,
    status: Vec<String>,
    dependencies: Vec<String>,
    object: Vec<String>,
}

/// Rows of outputs, by column.
#[derive(Default)]
struct OutputColumns {
    op: Vec<&'static str>,
    name: Vec<String>,
    value: Vec<String>,
    ty: Vec<String>,
    sensitive: Vec<bool>,
    deprecated: Vec<String>,
}

/// Rows of checks, by column.
#[derive(Default)]
struct CheckColumns {
    op: Vec<&'static str>,
    config: Vec<String>,
    position: Vec<i32>,
    result: Vec<String>,
}

/// Operations that have begun or ended.
#[derive(Clone, Debug, Default)]
pub(super) struct OperationColumns {
    pub(super) begun: Vec<i64>,
    pub(super) address: Vec<String>,
    pub(super) action: Vec<String>,
    finished: Vec<i64>,
    result: Vec<&'static str>,
}

impl OperationColumns {
    /// Notes the end of an operation.
    pub(super) fn end(&mut self, operation: OperationId, result: &'static str) {
        self.finished.push(i64::from(operation.0));
        self.result.push(result);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.begun.is_empty() && self.finished.is_empty()
    }
}

/// One statement.
#[derive(Default)]
struct Batch {
    objects: ObjectColumns,
    outputs: OutputColumns,
    checks: CheckColumns,
    bytes: usize,
}

/// Changed rows, as statements of one transaction.
pub(super) struct Changes {
    batches: Vec<Batch>,
}

impl Changes {
    /// Rows with these keys as a state has them; with each key, whether its row exists in the database.
    pub(super) fn of(keys: &BTreeMap<RowKey, bool>, state: &State, seal: Seal<'_>) -> Result<Changes, Diagnostics> {
        let mut changes = Changes { batches: vec![Batch::default()] };
        for (key, existed) in keys {
            let op = match (existed, state.has_row(key)) {
                (false, true) => "insert",
                (true, true) => "update",
                (true, false) => "delete",
                (false, false) => continue,
            };
            if changes.batches.last().is_none_or(|batch| batch.bytes > STATEMENT) {
                changes.batches.push(Batch::default());
            }
            let Some(batch) = changes.batches.last_mut() else { continue };
            batch.add(op, key, state, seal)?;
        }
        Ok(changes)
    }

    /// Whether there is nothing to write.
    pub(super) fn is_empty(&self) -> bool {
        self.batches.iter().all(|batch| batch.bytes == 0)
    }

    /// Writes all of it in one transaction, after `first` if there is something to do in it.
    pub(super) fn commit(
        &self,
        session: &Session,
        head: &Head<'_>,
        operations: &OperationColumns,
        first: Option<First<'_>>,
    ) -> Result<Committed, PgError> {
        let is_alone = first.is_none() && self.batches.len() == 1;
        if is_alone {
            return self.batches[0].commit(session, head, 0, operations);
        }
        session.batch("BEGIN")?;
        match self.commit_all(session, head, operations, first) {
            Ok(committed) => session.batch("COMMIT").map(|()| committed),
            Err(error) => {
                let _ = session.batch("ROLLBACK");
                Err(error)
            }
        }
    }

    fn commit_all(
        &self,
        session: &Session,
        head: &Head<'_>,
        operations: &OperationColumns,
        first: Option<First<'_>>,
    ) -> Result<Committed, PgError> {
        if let Some(first) = first {
            first(session)?;
        }
        let none = OperationColumns::default();
        let mut committed = Committed { revision: 0, serial: 0, statements: 0 };
        for (at, batch) in self.batches.iter().enumerate() {
            let operations = if at == 0 { operations } else { &none };
            committed = batch.commit(session, head, i64::try_from(at).unwrap_or_default(), operations)?;
        }
        committed.statements = i64::try_from(self.batches.len()).unwrap_or(1);
        Ok(committed)
    }
}

impl Batch {
    fn add(&mut self, op: &'static str, key: &RowKey, state: &State, seal: Seal<'_>) -> Result<(), Diagnostics> {
        match key {
            RowKey::Object(addr, deposed) => {
                let columns = &mut self.objects;
                let (address, resource, config) =
                    (addr.to_string(), addr.containing().to_string(), addr.config().to_string());
                self.bytes += 3 * address.len() + 32;
                columns.put(
                    op,
                    address,
                    deposed.as_ref().map_or_else(String::new, |key| key.to_string()),
                    resource,
                    config,
                );
                let row = state.object_row(addr, deposed.as_ref()).unwrap_or_default();
                let object = seal.seal(&object_parts(&row), &row.object)?;
                self.bytes += object.len() + row.dependencies.len();
                columns.fill(row, object);
            }
            RowKey::Resource(addr) => {
                let resource = addr.to_string();
                self.bytes += 3 * resource.len() + 32;
                let columns = &mut self.objects;
                columns.put(op, resource.clone(), EMPTY.to_owned(), resource, addr.config().to_string());
                let resource = state.get(addr).map(ResourceRow::of).unwrap_or_default();
                let row =
                    ObjectRow { resource, status: EMPTY.into(), dependencies: "[]".into(), ..ObjectRow::default() };
                columns.fill(row, "{}".to_owned());
            }
            RowKey::Output(name) => {
                let columns = &mut self.outputs;
                let row = state.outputs.get(name).map(|output| OutputRow::of(name, output));
                columns.op.push(op);
                columns.name.push(name.to_string());
                let (mut value, mut ty) = ("null".to_owned(), "null".to_owned());
                if let Some(row) = &row {
                    (value, ty) = (seal.seal(&output_parts(row), &row.value)?, row.ty.to_string());
                }
                self.bytes += name.len() + value.len() + ty.len() + 32;
                columns.value.push(value);
                columns.ty.push(ty);
                columns.sensitive.push(row.as_ref().is_some_and(|row| row.sensitive));
                columns.deprecated.push(row.map(|row| row.deprecated.into_owned()).unwrap_or_default());
            }
            RowKey::Check(addr) => {
                let mut results = state.check_results.iter().flatten().enumerate();
                let found = results.find(|(_, result)| result.config_addr == *addr);
                let result = found.map_or_else(|| "null".to_owned(), |(_, result)| check_row(result));
                self.bytes += addr.len() + result.len() + 32;
                self.checks.op.push(op);
                self.checks.config.push(addr.to_string());
                self.checks.position.push(found.map_or(0, |(at, _)| i32::try_from(at).unwrap_or(i32::MAX)));
                self.checks.result.push(result);
            }
        }
        Ok(())
    }

    fn commit(
        &self,
        session: &Session,
        head: &Head<'_>,
        at: i64,
        operations: &OperationColumns,
    ) -> Result<Committed, PgError> {
        let (objects, outputs, checks) = (&self.objects, &self.outputs, &self.checks);
        let number = head.number + at;
        // Later statements of one transaction continue the first one.
        let expected = head.expected.map(|expected| expected + at);
        let (version, lineage) = (super::schema::version(), head.lineage.filter(|_| at == 0));
        let parameters: Vec<Parameter<'_>> = vec![
            (&version, Type::INT4),
            (&head.workspace, Type::INT8),
            (&head.run, Type::TEXT),
            (&number, Type::INT8),
            (&head.since, Type::INT8),
            (&expected, Type::INT8),
            (&head.is_locked, Type::BOOL),
            (&lineage, Type::TEXT),
            (&head.serial, Type::TEXT),
            (&objects.op, Type::TEXT_ARRAY),
            (&objects.address, Type::TEXT_ARRAY),
            (&objects.deposed, Type::TEXT_ARRAY),
            (&objects.resource, Type::TEXT_ARRAY),
            (&objects.config, Type::TEXT_ARRAY),
            (&objects.module, Type::TEXT_ARRAY),
            (&objects.mode, Type::TEXT_ARRAY),
            (&objects.kind, Type::TEXT_ARRAY),
            (&objects.name, Type::TEXT_ARRAY),
            (&objects.key, Type::TEXT_ARRAY),
            (&objects.provider, Type::TEXT_ARRAY),
            (&objects.provider_key, Type::TEXT_ARRAY),
            (&objects.status, Type::TEXT_ARRAY),
            (&objects.dependencies, Type::TEXT_ARRAY),
            (&objects.object, Type::TEXT_ARRAY),
            (&outputs.op, Type::TEXT_ARRAY),
            (&outputs.name, Type::TEXT_ARRAY),
            (&outputs.value, Type::TEXT_ARRAY),
            (&outputs.ty, Type::TEXT_ARRAY),
            (&outputs.sensitive, Type::BOOL_ARRAY),
            (&outputs.deprecated, Type::TEXT_ARRAY),
            (&checks.op, Type::TEXT_ARRAY),
            (&checks.config, Type::TEXT_ARRAY),
            (&checks.position, Type::INT4_ARRAY),
            (&checks.result, Type::TEXT_ARRAY),
            (&operations.begun, Type::INT8_ARRAY),
            (&operations.address, Type::TEXT_ARRAY),
            (&operations.action, Type::TEXT_ARRAY),
            (&operations.finished, Type::INT8_ARRAY),
            (&operations.result, Type::TEXT_ARRAY),
        ];
        let list: Vec<String> = (1..=parameters.len()).map(|at| format!("${at}")).collect();
        let statement = format!("SELECT revision, serial FROM {}.yuba_commit({})", head.schema, list.join(", "));
        let rows = session.query(&statement, &parameters)?;
        let row = rows.first().ok_or_else(|| PgError::Refused("the server returned no row".to_owned()))?;
        let serial: String = field(row, 1)?;
        Ok(Committed { revision: field(row, 0)?, serial: serial.parse().unwrap_or_default(), statements: 1 })
    }
}

impl ObjectColumns {
    fn put(&mut self, op: &'static str, address: String, deposed: String, resource: String, config: String) {
        self.op.push(op);
        self.address.push(address);
        self.deposed.push(deposed);
        self.resource.push(resource);
        self.config.push(config);
    }

    fn fill(&mut self, row: ObjectRow<'_>, object: String) {
        let ObjectRow { resource, key, provider_key, status, dependencies, .. } = row;
        self.module.push(resource.module.into_owned());
        self.mode.push(resource.mode.into_owned());
        self.kind.push(resource.kind.into_owned());
        self.name.push(resource.name.into_owned());
        self.key.push(key.map(std::borrow::Cow::into_owned));
        self.provider.push(resource.provider.into_owned());
        self.provider_key.push(provider_key.map(std::borrow::Cow::into_owned));
        self.status.push(status.into_owned());
        self.dependencies.push(dependencies.into_owned());
        self.object.push(object);
    }
}
