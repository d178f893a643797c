//! Environment variables, the directory of the process and the user's directories as a value, read once by the caller.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::machine::MachineAccess;

/// Environment variables by name. A variable that is empty counts as not set, unless the method says otherwise.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    /// The directory in which relative paths of variables and of the CLI configuration start; empty if it is unknown.
    directory: PathBuf,
    /// The home directory by the system's records, where no variable names one.
    home: Option<PathBuf>,
    /// The directory for temporary files, where no variable names one.
    temporary: Option<PathBuf>,
    machine: MachineAccess,
}

/// Names only: values may be credentials.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

/// The path that starts in a directory, unless it is absolute already, without `.` in between.
pub fn absolute(directory: &Path, path: impl AsRef<Path>) -> PathBuf {
    directory.join(path).components().collect()
}

impl Environment {
    /// These variables, for a user with this home directory on a system with this directory for temporary files.
    pub fn new(
        variables: impl IntoIterator<Item = (String, String)>,
        home: Option<PathBuf>,
        temporary: PathBuf,
    ) -> Environment {
        let variables = variables.into_iter().collect();
        let (directory, temporary) = (PathBuf::new(), Some(temporary));
        Environment { variables, directory, home, temporary, machine: MachineAccess::Refused }
    }

    /// The same for a process that was started in this directory.
    #[must_use]
    pub fn in_directory(self, directory: impl Into<PathBuf>) -> Environment {
        Environment { directory: directory.into(), ..self }
    }

    /// A path of the CLI configuration, absolute: relative ones start in the directory of the process.
    pub fn absolute(&self, path: impl AsRef<Path>) -> PathBuf {
        absolute(&self.directory, path)
    }

    /// With access to the services that a cloud offers to this machine at link-local addresses. Without it they are not asked, so a test
    /// that runs in this process never obtains the credentials of the machine.
    #[must_use]
    pub fn on_this_machine(mut self) -> Environment {
        self.machine = MachineAccess::Allowed;
        self
    }

    pub(crate) fn machine(&self) -> MachineAccess {
        self.machine
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The user's home directory.
    pub fn home(&self) -> Option<PathBuf> {
        self.path("HOME").or_else(|| self.home.clone()).filter(|home| !home.as_os_str().is_empty())
    }

    /// The directory for temporary files.
    pub fn temporary(&self) -> PathBuf {
        let named = || self.path("TMPDIR").unwrap_or_else(|| PathBuf::from("/tmp"));
        self.temporary.clone().unwrap_or_else(named)
    }

    /// The value of a variable that is a path.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from)
    }

    /// The user's directory for one kind of cache, whose content is trusted. None where another user can write to it. The
    /// directory around it is created with mode 0700.
    pub fn cache(&self, kind: &str) -> Option<PathBuf> {
        let all = self.cache_home()?.join("yuba");
        own::make(&all).ok()?;
        let cache = all.join(kind);
        (own::is_own(&all) && (!cache.exists() || own::is_own(&cache))).then_some(cache)
    }

    /// The user's directory for caches of all tools.
    pub fn cache_home(&self) -> Option<PathBuf> {
        self.user_directory("XDG_CACHE_HOME", ".cache")
    }

    /// The user's directory for data that tools store for themselves, such as histories.
    pub fn state_home(&self) -> Option<PathBuf> {
        self.user_directory("XDG_STATE_HOME", ".local/state")
    }

    /// The absolute directory that a variable names, or one in the home directory.
    fn user_directory(&self, name: &str, below_home: &str) -> Option<PathBuf> {
        let absolute = |name: &str| self.path(name).filter(|path| path.is_absolute());
        absolute(name).or_else(|| absolute("HOME").map(|home| home.join(below_home)))
    }

    /// The directory of [`Environment::cache`], if it exists and only this user can write to it. Creates nothing.
    pub fn existing_cache(&self, kind: &str) -> Option<PathBuf> {
        let all = self.cache_home()?.join("yuba");
        let cache = all.join(kind);
        (own::is_own(&all) && own::is_own(&cache)).then_some(cache)
    }

    /// Whether a variable turns something off.
    pub fn is_off(&self, name: &str) -> bool {
        self.get(name).is_some_and(is_off)
    }

    /// The value of a variable that is a positive number; any other value is ignored.
    pub fn positive(&self, name: &str) -> Option<u32> {
        self.get(name)?.parse().ok().filter(|number| *number > 0)
    }

    /// Variables by their names after a prefix.
    pub fn with_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.given_with_prefix(prefix).filter(|(_, value)| !value.is_empty())
    }

    /// Variables by their names after a prefix, with those that are empty.
    pub fn given_with_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let begin = self.variables.range(prefix.to_owned()..).take_while(move |(name, _)| name.starts_with(prefix));
        begin.map(move |(name, value)| (&name[prefix.len()..], value.as_str()))
    }
}

/// Directories that only this user can write to.
mod own {
    use std::fs;
    use std::io;
    use std::path::Path;

    /// Creates a directory and its missing parents with mode 0700.
    pub(super) fn make(dir: &Path) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(dir)
    }

    /// Whether a directory belongs to this user and other users cannot write to it.
    #[cfg(unix)]
    pub(super) fn is_own(dir: &Path) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        let user = nix::unistd::geteuid().as_raw();
        fs::metadata(dir).is_ok_and(|found| found.is_dir() && found.uid() == user && found.mode() & 0o022 == 0)
    }

    /// Elsewhere the directories of a user are the user's own.
    #[cfg(not(unix))]
    pub(super) fn is_own(dir: &Path) -> bool {
        dir.is_dir()
    }
}

/// Whether the value of a variable turns something off.
pub fn is_off(value: &str) -> bool {
    matches!(value, "0" | "false" | "no" | "off")
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Environment {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Environment { variables, ..Environment::default() }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::Environment;

    #[test]
    fn caches_that_others_can_write_to_are_ignored() {
        let sandbox = yuba_testkit::Sandbox::new("", "");
        let caches = sandbox.dir().join("caches");
        let environment: Environment =
            [("XDG_CACHE_HOME", caches.to_str().expect("it is Unicode").to_owned())].into_iter().collect();
        let sums = environment.cache("sums").expect("it is made");
        let mode = |path: &std::path::Path| fs::metadata(path).expect("it exists").permissions().mode() & 0o777;
        assert_eq!(mode(&caches.join("yuba")), 0o700);
        fs::create_dir(&sums).expect("it is ours");
        let allow = |path: &std::path::Path, mode: u32| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
        };
        for (mode, usable) in [(0o755, true), (0o775, false), (0o757, false), (0o700, true)] {
            allow(&sums, mode);
            assert_eq!(environment.cache("sums").is_some(), usable, "{mode:o}");
        }
        allow(&caches.join("yuba"), 0o777);
        assert_eq!(environment.cache("sums"), None);
        allow(&caches.join("yuba"), 0o700);
        if nix::unistd::geteuid().is_root() {
            std::os::unix::fs::chown(&sums, Some(12_345), None).expect("root may");
            assert_eq!(environment.cache("sums"), None);
        }
    }
}
