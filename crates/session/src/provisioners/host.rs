//! The machine that provisioners run on, as a project sees it.

use std::path::{Path, PathBuf};

use super::connection::SshAgent;
use crate::project::Project;

/// Directories and tools of the machine that provisioners run on.
#[derive(Clone, Debug)]
pub(super) struct Host {
    /// The working directory.
    root: PathBuf,
    home: Option<PathBuf>,
    /// `PATH`
    search_path: String,
    /// Available if `SSH_AUTH_SOCK` is set.
    pub(super) ssh_agent: SshAgent,
    /// The directory for temporary files.
    temporary: PathBuf,
}

impl Host {
    pub(super) fn of(project: &Project) -> Host {
        let environment = project.environment();
        let temporary = ["TMPDIR", "TEMP", "TMP"].iter().find_map(|name| environment.path(name));
        Host {
            root: project.root().to_owned(),
            home: project.home().map(Path::to_owned),
            search_path: environment.get("PATH").unwrap_or_default().to_owned(),
            ssh_agent: environment.get("SSH_AUTH_SOCK").map_or(SshAgent::Missing, |_| SshAgent::Available),
            temporary: temporary.unwrap_or_else(|| PathBuf::from("/tmp")),
        }
    }

    /// Resolves a path: relative ones start in the working directory.
    pub(super) fn path(&self, shown: &str) -> PathBuf {
        self.root.join(shown)
    }

    /// The directory in which commands run, or none for that of the process.
    pub(super) fn working_dir(&self) -> Option<&Path> {
        Some(&*self.root).filter(|root| !root.as_os_str().is_empty())
    }

    pub(super) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    pub(super) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// The directories in which executables are looked up.
    pub(super) fn search_path(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let separator = if cfg!(windows) { ';' } else { ':' };
        self.search_path.split(separator).map(PathBuf::from)
    }

    /// The machine that tests run on.
    #[cfg(test)]
    pub(super) fn of_tests() -> Host {
        let settings = crate::project::ProjectSettings {
            environment: std::env::vars().collect(),
            home: std::env::home_dir(),
            ..crate::project::ProjectSettings::bare("")
        };
        Host::of(&Project::new(settings))
    }
}
