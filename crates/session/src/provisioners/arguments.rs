//! Arguments of provisioner and connection blocks by name, as strings, flags, lists and maps.

use ecow::EcoString;
use yuba_value::Value;

/// The arguments of a block. Those that are null count as not written.
pub(super) struct Arguments {
    fields: Vec<(EcoString, Value)>,
}

impl Arguments {
    pub(super) fn new(block: &Value) -> Arguments {
        let mut fields = block.entries().unwrap_or_default();
        fields.retain(|(_, value)| !value.is_null());
        Arguments { fields }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    pub(super) fn text(&self, name: &str) -> Option<&EcoString> {
        self.get(name)?.as_str()
    }

    /// A text with at least one character.
    pub(super) fn filled(&self, name: &str) -> Option<&EcoString> {
        self.text(name).filter(|text| !text.is_empty())
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.get(name)?.as_bool()
    }

    /// The elements of a list: none for null ones.
    pub(super) fn texts(&self, name: &str) -> Option<Vec<Option<EcoString>>> {
        Some(self.get(name)?.as_seq()?.iter().map(|item| item.as_str().cloned()).collect())
    }

    /// The elements of a map that are not null.
    pub(super) fn pairs(&self, name: &str) -> Vec<(EcoString, EcoString)> {
        let entries = self.get(name).and_then(Value::entries).unwrap_or_default();
        entries.into_iter().filter_map(|(key, value)| Some((key, value.as_str()?.clone()))).collect()
    }
}
