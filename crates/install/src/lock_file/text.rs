//! A lock file as text, in the one form in which it is written.

use std::fmt::Write as _;

use yuba_addrs::TemplateText;

use super::LockFile;

/// The header is OpenTofu's, so that the file does not change when both tools are used.
const HEADER: &str =
    "# This file is maintained automatically by \"tofu init\".\n# Manual edits may be lost in future updates.\n";

/// The text of a lock file.
pub(super) fn text(locks: &LockFile) -> String {
    let mut text = HEADER.to_owned();
    for (provider, lock) in &locks.providers {
        let constraints = lock.constraints.to_string();
        // Equals signs stand below each other.
        let gap = if constraints.is_empty() { "" } else { "    " };
        // Writing to a text does not fail.
        let _ = writeln!(
            text,
            "\nprovider \"{provider}\" {{\n  version{gap} = {}",
            TemplateText(&lock.version.to_string())
        );
        if !constraints.is_empty() {
            let _ = writeln!(text, "  constraints = {}", TemplateText(&constraints));
        }
        if !lock.hashes.is_empty() {
            text.push_str("  hashes = [\n");
            for hash in &lock.hashes {
                let _ = writeln!(text, "    {},", TemplateText(hash));
            }
            text.push_str("  ]\n");
        }
        text.push_str("}\n");
    }
    text
}
