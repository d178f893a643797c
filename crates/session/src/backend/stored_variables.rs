//! Values for variables of the root module that a server stores with the workspace.

use std::collections::BTreeMap;

use ecow::EcoString;
use yuba_backend::{StoredVariable, ValueSyntax};
use yuba_syntax::{Diagnostic, Diagnostics, FileId, parser};
use yuba_value::{Type, Value};

use super::{Refusal, StateFlags, diagnostics, state_location};
use crate::loaded::Loaded;

impl Loaded {
    /// With the values that the server of the backend stores for variables of the root module, where the command line, files and
    /// the environment set none. Quirk: a server stores them for operations of its own, and OpenTofu reads them for `import` only.
    pub fn with_stored_variables(mut self) -> Result<Loaded, Refusal> {
        let root = &self.tree.root().module;
        let has_server = root.cloud.is_some() || root.backend.as_ref().is_some_and(|backend| backend.kind == "remote");
        if !has_server || self.is_snapshot {
            return Ok(self);
        }
        let location = state_location(&self, &StateFlags::default()).map_err(|problems| self.refuse(problems))?;
        let stored = location.backend().variables(&location.workspace).map_err(|problems| self.refuse(problems))?;
        let declared = &self.tree.root().module.variables;
        let (mut values, mut problems) = (BTreeMap::new(), Diagnostics::new());
        for variable in stored {
            let name = EcoString::from(variable.name.as_str());
            if declared.contains_key(&name) && !self.inputs.has(&name) {
                let (value, found) = value_of(&variable);
                problems.extend(found);
                values.insert(name, value);
            }
        }
        self.diagnostics.extend(problems);
        self.inputs = std::mem::take(&mut self.inputs).with_stored(values);
        self.valid()
    }
}

/// A stored value. It is unknown if the server does not return it.
fn value_of(variable: &StoredVariable) -> (Value, Option<Diagnostic>) {
    let name = variable.name.as_str();
    match (&variable.value, variable.syntax) {
        (None, ValueSyntax::Literal) => {
            (Value::unknown(Type::string()), Some(diagnostics::stored_value_unavailable(name)))
        }
        (None, ValueSyntax::Hcl) => (Value::unknown_dynamic(), Some(diagnostics::stored_value_unavailable(name))),
        (Some(text), ValueSyntax::Literal) => (Value::string(text.as_str()), None),
        (Some(text), ValueSyntax::Hcl) => {
            let (parsed, problems) = parser::parse_expression(FileId::default(), text.as_bytes());
            if problems.has_errors() {
                return (Value::unknown_dynamic(), Some(diagnostics::stored_value_invalid(name)));
            }
            match yuba_eval::constant(&parsed) {
                (value, problems) if !problems.has_errors() => (value, None),
                _ => (Value::unknown_dynamic(), Some(diagnostics::stored_value_invalid(name))),
            }
        }
    }
}
