//! Diagnostics for reviews: workflow commands of GitHub Actions, and SARIF documents.

pub mod github;
pub mod sarif;

/// Directory of the working directory in its repository, with which reported file names begin; empty at the root of the
/// repository.
#[derive(Clone, Debug, Default)]
pub struct RepositoryPath(pub String);

impl RepositoryPath {
    /// The path of a file in the repository, with `/` between names and without `.` and `..` where that is possible.
    fn of(&self, file: &str) -> String {
        let is_absolute = file.starts_with('/');
        let prefix = if is_absolute { "" } else { self.0.as_str() };
        let mut parts: Vec<&str> = Vec::new();
        for part in prefix.split('/').chain(file.split(['/', '\\'])) {
            match part {
                "" | "." => {}
                ".." if parts.last().is_some_and(|last| *last != "..") => {
                    parts.pop();
                }
                part => parts.push(part),
            }
        }
        format!("{}{}", if is_absolute { "/" } else { "" }, parts.join("/"))
    }
}

#[cfg(test)]
mod tests;
