//! One text with many files.

/// One file of a fixture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Path relative to the root of the fixture.
    pub path: String,
    /// Content.
    pub text: String,
}

/// The files of a fixture. Text before the first `//- path` line must be empty.
///
/// # Panics
/// If there is text before the first path: the test is wrong.
pub fn parse_fixture(fixture: &str) -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    for line in fixture.split_inclusive('\n') {
        if let Some(path) = line.strip_prefix("//- ") {
            files.push(File { path: path.trim().to_owned(), text: String::new() });
        } else if let Some(file) = files.last_mut() {
            file.text.push_str(line);
        } else {
            assert!(line.trim().is_empty(), "text before the first `//- path` line: {line:?}");
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_split_at_paths() {
        let files = parse_fixture("\n//- a.tf\nx = 1\n\n//- d/b.tf\ny = 2");
        let shown: Vec<String> = files.iter().map(|file| format!("{}={:?}", file.path, file.text)).collect();
        assert_eq!(shown, [r#"a.tf="x = 1\n\n""#, r#"d/b.tf="y = 2""#]);
    }
}
