//! Texts as the language writes them.

use std::fmt;

use yuba_value::quote::is_printable;

/// A text as a quoted template that means just that.
#[derive(Clone, Copy, Debug)]
pub struct TemplateText<'a>(pub &'a str);

impl fmt::Display for TemplateText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        let mut chars = self.0.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '$' | '%' if chars.peek() == Some(&'{') => write!(f, "{c}{c}")?,
                c if is_printable(c) => write!(f, "{c}")?,
                c if u32::from(c) < 0x1_0000 => write!(f, "\\u{:04x}", u32::from(c))?,
                c => write!(f, "\\U{:08x}", u32::from(c))?,
            }
        }
        f.write_str("\"")
    }
}
