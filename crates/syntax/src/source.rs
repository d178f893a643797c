//! Source files, and locations in them.

use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation;

/// A file known to a [`Sources`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// A byte range in a file. Lines and columns are computed on demand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// A range of bytes.
    pub fn new(file: FileId, start: usize, end: usize) -> Span {
        Span { file, start: start as u32, end: end as u32 }
    }
    /// From the start of one to the end of the other.
    #[must_use]
    pub fn to(self, end: Span) -> Span {
        Span { file: self.file, start: self.start.min(end.start), end: self.end.max(end.end) }
    }
    /// The empty range at the start.
    #[must_use]
    pub fn at_start(self) -> Span {
        Span { end: self.start, ..self }
    }
    /// The empty range at the end.
    #[must_use]
    pub fn at_end(self) -> Span {
        Span { start: self.end, ..self }
    }
    /// Whether it covers no bytes.
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }
}

/// Line and column, both from 1; columns count grapheme clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in grapheme clusters, from 1.
    pub column: usize,
    /// Offset in bytes.
    pub byte: usize,
}

/// One file: its name as shown to people, its bytes as they are on disk.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Name as shown to people.
    pub name: Arc<str>,
    /// Content. Not always valid UTF-8: the lexer reports where it is not.
    pub bytes: Arc<[u8]>,
    /// Offset at which each line starts.
    lines: Arc<[u32]>,
}

impl SourceFile {
    /// A file.
    pub fn new(name: impl Into<Arc<str>>, bytes: impl Into<Arc<[u8]>>) -> SourceFile {
        let bytes = bytes.into();
        let mut lines = vec![0];
        lines.extend(bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i as u32 + 1));
        SourceFile { name: name.into(), bytes, lines: lines.into() }
    }
    /// The text of a range; bytes that are not UTF-8 show as replacement characters.
    pub fn text(&self, start: usize, end: usize) -> std::borrow::Cow<'_, str> {
        let end = end.min(self.bytes.len());
        String::from_utf8_lossy(&self.bytes[start.min(end)..end])
    }
    /// Line and column of a byte offset.
    pub fn position(&self, offset: usize) -> Position {
        let offset = offset.min(self.bytes.len());
        let line = self.lines.partition_point(|start| *start as usize <= offset).max(1);
        let mut start = self.lines[line - 1] as usize;
        if line == 1 && self.bytes.starts_with(b"\xef\xbb\xbf") {
            // The byte order mark takes no column.
            start = 3.min(offset);
        }
        let column = match std::str::from_utf8(&self.bytes[start..offset]) {
            Ok(text) if text.is_ascii() => text.len() + 1 - text.matches("\r\n").count(),
            Ok(text) => text.graphemes(true).count() + 1,
            Err(_) => self.text(start, offset).graphemes(true).count() + 1,
        };
        // Quirk: in JSON syntax a tab is two columns wide.
        let tabs = match self.name.ends_with(".json") {
            true => self.bytes[start..offset].iter().filter(|b| **b == b'\t').count(),
            false => 0,
        };
        Position { line, column: column + tabs, byte: offset }
    }
    /// The bytes of a line (from 1), without its line end.
    pub fn line(&self, line: usize) -> Option<std::borrow::Cow<'_, str>> {
        let start = *self.lines.get(line.checked_sub(1)?)? as usize;
        let end = self.lines.get(line).map_or(self.bytes.len(), |next| *next as usize - 1);
        let text = self.text(start, end);
        Some(match text {
            std::borrow::Cow::Borrowed(t) => t.strip_suffix('\r').unwrap_or(t).into(),
            std::borrow::Cow::Owned(t) => t.strip_suffix('\r').map(str::to_owned).unwrap_or(t).into(),
        })
    }
    /// The line (from 1) that a byte offset is on; cheap however long the line is.
    pub fn line_at(&self, offset: usize) -> usize {
        self.lines.partition_point(|start| *start as usize <= offset).max(1)
    }
    /// The bytes that a line (from 1) covers, without its `\n`; empty past the last line.
    pub fn line_range(&self, line: usize) -> std::ops::Range<usize> {
        let length = self.bytes.len();
        let start = |line: usize| self.lines.get(line.wrapping_sub(1)).map(|start| *start as usize);
        start(line).unwrap_or(length)..start(line + 1).map_or(length, |next| next - 1)
    }
    /// Number of lines, including a last one without end.
    pub fn line_count(&self) -> usize {
        self.lines.len()
    }
}

/// All files of one run.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<SourceFile>,
}

impl Sources {
    /// No files.
    pub fn new() -> Sources {
        Sources::default()
    }
    /// Adds a file.
    pub fn add(&mut self, file: SourceFile) -> FileId {
        self.files.push(file);
        FileId(self.files.len() as u32 - 1)
    }
    /// Gives an id new content. Trees of the old content must no longer be used with these sources.
    pub fn replace(&mut self, id: FileId, file: SourceFile) {
        if let Some(known) = self.files.get_mut(id.0 as usize) {
            *known = file;
        }
    }
    /// The file of an id.
    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }
    /// All files with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files.iter().enumerate().map(|(i, f)| (FileId(i as u32), f))
    }
}

#[cfg(test)]
mod tests {
    use super::SourceFile;

    #[test]
    fn columns_count_characters_as_people_see_them() {
        for (name, text, offset, expected) in [
            ("a.tf", "ab\ncd", 4, (2, 2)),
            ("a.tf", "e\u{301}x", 3, (1, 2)),
            ("a.tf", "\u{feff}x", 3, (1, 1)),
            ("a.tf", "a\r\nb", 3, (2, 1)),
            ("a.tf", "\tx", 1, (1, 2)),
            ("a.tf.json", "\tx", 1, (1, 3)),
            ("a.tf", "x", 9, (1, 2)),
        ] {
            let at = SourceFile::new(name, text.as_bytes()).position(offset);
            assert_eq!((at.line, at.column), expected, "{text:?}");
        }
    }
}
