//! Results that the database does not have, in a file of this machine: one JSON line that says what they continue, then one edit
//! in each line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use tokio_postgres::types::Type;
use yuba_state::{Edit, RowKey, State};
use yuba_syntax::Diagnostics;

use super::changes::OperationColumns;
use super::state::{Numbering, RowState, SaveFailure, Scope, Takeover};
use crate::diagnostics;
use crate::files::{Access, directory_of, write_new};
use crate::journal::Recovered;
use crate::journal::recovery::Addresses;

/// The version of this format.
const FORMAT: u64 = 1;

/// The content of such a file.
struct Unsaved {
    lineage: String,
    since: i64,
    run: String,
    edits: Vec<Edit>,
}

impl RowState {
    /// Writes edits that the database does not have, and returns the file. They replace earlier ones of the same run, which are among them.
    pub(super) fn keep_unsaved(&self, state: &State, edits: &[Edit]) -> Result<Option<PathBuf>, Diagnostics> {
        if edits.is_empty() {
            return Ok(None);
        }
        let path = self.unsaved_path();
        let head = json!({
            "format": FORMAT, "lineage": state.lineage.as_str(), "since": self.since(), "run": self.run_id().unwrap_or_default()
        });
        let mut content = head.to_string();
        for edit in edits {
            content.push('\n');
            content.push_str(&edit.to_json_line());
        }
        content.push('\n');
        let mut bytes = content.into_bytes();
        if let Some(sealing) = self.sealing.as_ref().filter(|sealing| !sealing.is_clear()) {
            bytes = sealing.seal(&bytes, None)?;
        }
        let write = || {
            self.files.create_directory(directory_of(&path))?;
            write_new(self.files.as_ref(), &path, &bytes, Access::Private).map(drop)
        };
        match write() {
            Ok(()) => Ok(Some(path)),
            Err(error) => Err(diagnostics::journal_not_written(&path, Path::new(&self.location), &error).into()),
        }
    }

    /// Removes the file after its edits are saved.
    pub(super) fn forget_unsaved(&self) {
        let path = self.unsaved_path();
        if self.files.exists(&path).unwrap_or(false) {
            let _ = self.files.remove(&path);
        }
    }

    fn read_unsaved(&self) -> Result<Option<Unsaved>, String> {
        let path = self.unsaved_path();
        if !self.files.exists(&path).map_err(|error| error.to_string())? {
            return Ok(None);
        }
        let mut bytes = self.files.read(&path).map_err(|error| error.to_string())?;
        if let Some(sealing) = &self.sealing {
            bytes = sealing.unseal(&bytes, |_| true).map_err(|problem| problem.explanation().to_string())?.content;
        }
        let text = String::from_utf8(bytes).map_err(|_| "the file is not text".to_owned())?;
        let mut lines = text.lines();
        let head: Json = lines.next().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
        if head["format"] != FORMAT {
            return Err("the file is damaged, or a newer version of Yuba wrote it".to_owned());
        }
        let edits = lines.map(|line| Edit::from_json_line(line).map_err(|error| format!("a line is damaged: {error}")));
        Ok(Some(Unsaved {
            lineage: head["lineage"].as_str().unwrap_or_default().to_owned(),
            since: head["since"].as_i64().unwrap_or_default(),
            run: head["run"].as_str().unwrap_or_default().to_owned(),
            edits: edits.collect::<Result<_, _>>()?,
        }))
    }

    /// Saves what an earlier run could not save, if none of these objects has changed since. Otherwise says where it is.
    pub(super) fn save_unsaved(&mut self, said: &mut Diagnostics) -> Option<Recovered> {
        let path = self.unsaved_path();
        let unsaved = match self.read_unsaved() {
            Ok(unsaved) => unsaved?,
            Err(reason) => {
                said.push(diagnostics::pg_unsaved_changes(&self.location, &path, &reason, &[]));
                return None;
            }
        };
        let mut addresses = Addresses::default();
        addresses.extend(&unsaved.edits);
        let addresses = addresses.ordered;
        let reason = match self.complete(&unsaved) {
            Ok(()) => {
                self.forget_unsaved();
                let edits = unsaved.edits.len();
                return Some(Recovered { edits, addresses, saved: true, ..Recovered::default() });
            }
            Err(reason) => reason,
        };
        let shown: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        said.push(diagnostics::pg_unsaved_changes(&self.location, &path, &reason, &shown));
        None
    }

    fn complete(&mut self, unsaved: &Unsaved) -> Result<(), String> {
        let known = self.known.clone().flatten();
        if self.scope == Scope::Nothing {
            return Err("this command does not lock the state".to_owned());
        }
        if known.as_ref().is_some_and(|known| known.lineage != unsaved.lineage) {
            return Err("they belong to a state of another lineage".to_owned());
        }
        let mut state = known.unwrap_or_else(State::empty);
        state.lineage = unsaved.lineage.as_str().into();
        let mut keys: BTreeMap<RowKey, bool> = BTreeMap::new();
        for edit in &unsaved.edits {
            let mut more = BTreeSet::new();
            state.rows_of_edit(edit, &mut more);
            for key in more {
                let exists = state.has_row(&key);
                keys.entry(key).or_insert(exists);
            }
            state.apply(edit.clone());
        }
        if self.changed_since(unsaved, &keys)? {
            return Err("another run has changed these objects since".to_owned());
        }
        let committed =
            self.commit(&keys, &state, &Numbering::default(), &OperationColumns::default(), Takeover::Refused);
        match committed {
            Ok(committed) => {
                state.serial = committed.serial;
                self.keep(state);
                Ok(())
            }
            Err(SaveFailure::Store(error)) => Err(error.reason),
            Err(SaveFailure::Content(problems)) => Err(problems.joined().to_string()),
        }
    }

    /// Whether rows have changed after an earlier run wrote them last.
    fn changed_since(&mut self, unsaved: &Unsaved, keys: &BTreeMap<RowKey, bool>) -> Result<bool, String> {
        let mut names: Vec<String> = Vec::new();
        for key in keys.keys() {
            match key {
                RowKey::Object(addr, _) => names.push(addr.to_string()),
                RowKey::Output(name) => names.push(format!("output.{name}")),
                RowKey::Resource(addr) => names.push(addr.to_string()),
                RowKey::Check(_) => {}
            }
        }
        let schema = self.rows.schema.clone();
        let (table, workspace) = (self.rows.pg.layout.table_name.clone(), self.workspace.clone());
        let statement = format!(
            "SELECT EXISTS (SELECT FROM ( \
                 SELECT o.address, o.version, o.run FROM {schema}.yuba_objects o WHERE o.workspace = w.id \
                 UNION ALL SELECT h.address, h.ended, h.ended_run FROM {schema}.yuba_history h WHERE h.workspace = w.id \
                 UNION ALL SELECT 'output.' || o.name, o.version, o.run FROM {schema}.yuba_outputs o WHERE o.workspace = w.id \
                 UNION ALL SELECT 'output.' || h.name, h.ended, h.ended_run FROM {schema}.yuba_output_history h \
                     WHERE h.workspace = w.id \
             ) c WHERE c.version > $3 AND c.run <> $4 AND c.address = ANY ($5)) \
             FROM {schema}.yuba_workspaces w WHERE w.state_table = $1 AND w.name = $2"
        );
        let changed = self.retrying(|state| {
            let session = state.session()?;
            let rows = session.query(
                &statement,
                &[
                    (&table, Type::TEXT),
                    (&workspace, Type::TEXT),
                    (&unsaved.since, Type::INT8),
                    (&unsaved.run, Type::TEXT),
                    (&names, Type::TEXT_ARRAY),
                ],
            )?;
            rows.first().map_or(Ok(false), |row| crate::kinds::pg::session::field(row, 0))
        });
        changed.map_err(|error| error.reason().to_owned())
    }
}
