//! Contents of rows, encrypted one by one. The encrypted text starts with the row that it belongs to, so a content that was copied
//! to another row is refused.

use std::borrow::Cow;

use yuba_state::{ObjectRow, OutputRow};
use yuba_syntax::Diagnostics;

use super::reading::ReadFailure;
use crate::diagnostics;
use crate::encryption::Sealing;

/// The encryption of the rows of a workspace.
#[derive(Clone, Copy)]
pub(super) struct Seal<'s> {
    pub(super) sealing: Option<&'s Sealing>,
    pub(super) table: &'s str,
    pub(super) workspace: &'s str,
}

/// The row of an object, in the columns that say what it is.
pub(super) fn object_parts<'r>(row: &'r ObjectRow<'_>) -> [&'r str; 8] {
    let resource = &row.resource;
    let key = row.key.as_deref().unwrap_or_default();
    ["object", &resource.module, &resource.mode, &resource.kind, &resource.name, key, &row.deposed, &resource.provider]
}

/// The row of an output.
pub(super) fn output_parts<'r>(row: &'r OutputRow<'_>) -> [&'r str; 2] {
    ["output", &row.name]
}

impl Seal<'_> {
    /// A line that names a row.
    fn line(&self, parts: &[&str]) -> String {
        let all: Vec<&str> = [self.table, self.workspace].into_iter().chain(parts.iter().copied()).collect();
        format!("{}\n", serde_json::Value::from(all))
    }

    /// A content as it is stored: encrypted if that is configured.
    pub(super) fn seal(&self, parts: &[&str], content: &str) -> Result<String, Diagnostics> {
        match self.sealing.filter(|sealing| !sealing.is_clear() && !content.is_empty()) {
            Some(sealing) => {
                let bound = self.line(parts) + content;
                let sealed = sealing.seal(bound.as_bytes(), None)?;
                Ok(String::from_utf8_lossy(&sealed).into_owned())
            }
            None => Ok(content.to_owned()),
        }
    }

    /// A content that may be encrypted.
    pub(super) fn unseal<'c>(&self, parts: &[&str], content: &'c str) -> Result<Cow<'c, str>, ReadFailure> {
        let is_sealed = content.starts_with("{\"meta\":") && crate::encryption::is_encrypted(content.as_bytes());
        let Some(sealing) = self.sealing else {
            // The reader of states says what is missing.
            let problems = if is_sealed { yuba_state::read(content.as_bytes()).err() } else { None };
            return problems.map_or(Ok(Cow::Borrowed(content)), |problems| Err(ReadFailure::Content(problems)));
        };
        let unsealed =
            sealing.unseal(content.as_bytes(), |_| true).map_err(|problem| ReadFailure::Content(problem.into()))?;
        if !is_sealed {
            return Ok(Cow::Borrowed(content));
        }
        // Every run that seals with a salt of its own costs later runs the derivation of a key.
        sealing.seal_like(content.as_bytes());
        let text = String::from_utf8_lossy(&unsealed.content);
        match text.strip_prefix(&self.line(parts)) {
            Some(content) => Ok(Cow::Owned(content.to_owned())),
            None => Err(ReadFailure::Content(diagnostics::pg_row_swapped(&parts.join(" "), self.workspace).into())),
        }
    }
}
