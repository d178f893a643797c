//! The door to the outside: files, directories, time and randomness, as far as expressions can ask for them.

use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;

/// Access of evaluation to the machine it runs on. Paths are those of the user, already made absolute or relative to
/// the working directory by the caller.
pub trait World: Send + Sync {
    /// The bytes of a file.
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;
    /// The bytes of a file, part by part, for callers that do not need all of them at once.
    fn read_parts(&self, path: &str, visit: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        visit(&self.read(path)?);
        Ok(())
    }
    /// Kind of the file at a path; links are followed.
    fn kind(&self, path: &str) -> io::Result<FileKind>;
    /// The entries of a directory, sorted by name; links are not followed.
    fn list(&self, dir: &str) -> io::Result<Vec<DirEntry>>;
    /// The user's home directory.
    fn home_dir(&self) -> io::Result<String>;
    /// The directory relative paths start from, absolute.
    fn working_dir(&self) -> io::Result<String>;
    /// The current time.
    fn now(&self) -> WorldTime;
    /// Fills a buffer with random bytes fit for secrets.
    fn random(&self, buffer: &mut [u8]);
    /// Maximum nesting of `templatefile`; an error where the user's setting cannot be read.
    fn template_depth_limit(&self) -> Result<i64, String> {
        Ok(DEFAULT_TEMPLATE_DEPTH)
    }
}

/// Default maximum nesting of `templatefile`.
pub const DEFAULT_TEMPLATE_DEPTH: i64 = 1024;

/// A point in time: seconds since 1970-01-01T00:00:00Z and nanoseconds within the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorldTime {
    /// Seconds since the epoch.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanos: u32,
}

/// In RFC 3339 syntax, in UTC.
impl std::fmt::Display for WorldTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", yuba_value::functions::timestamp::Timestamp::from_unix(self.seconds, self.nanos))
    }
}

/// Kind of the file at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link; only in the entries of a directory.
    Link,
    /// A device node.
    Device,
    /// A named pipe.
    Pipe,
    /// A unix domain socket.
    Socket,
    /// Anything else.
    Other,
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// The name, without the directory.
    pub name: String,
    /// Its kind; links are not followed.
    pub kind: FileKind,
}

/// A world in memory, for tests: files in a table, a clock that stands still, randomness from a seed.
#[derive(Debug)]
pub struct MemoryWorld {
    files: BTreeMap<String, Vec<u8>>,
    working_dir: String,
    home_dir: Option<String>,
    now: WorldTime,
    seed: Mutex<u64>,
}

impl Default for MemoryWorld {
    fn default() -> MemoryWorld {
        MemoryWorld::new()
    }
}

impl MemoryWorld {
    /// No files; working directory `/work`, home `/home/user`, 2024-01-02T03:04:05Z.
    pub fn new() -> MemoryWorld {
        MemoryWorld {
            files: BTreeMap::new(),
            working_dir: "/work".to_owned(),
            home_dir: Some("/home/user".to_owned()),
            now: WorldTime { seconds: 1_704_164_645, nanos: 0 },
            seed: Mutex::new(0x9e37_79b9_7f4a_7c15),
        }
    }
    /// With a file; a relative path starts in the working directory.
    #[must_use]
    pub fn with_file(mut self, path: &str, content: impl Into<Vec<u8>>) -> MemoryWorld {
        let path = self.absolute(path);
        self.files.insert(path, content.into());
        self
    }
    /// With another time.
    #[must_use]
    pub fn at(mut self, now: WorldTime) -> MemoryWorld {
        self.now = now;
        self
    }
    /// Without a home directory.
    #[must_use]
    pub fn homeless(mut self) -> MemoryWorld {
        self.home_dir = None;
        self
    }

    fn absolute(&self, path: &str) -> String {
        let full = if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", self.working_dir) };
        let mut parts: Vec<&str> = Vec::new();
        for part in full.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        format!("/{}", parts.join("/"))
    }
}

impl World for MemoryWorld {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        match self.files.get(&self.absolute(path)) {
            Some(content) => Ok(content.clone()),
            None if self.kind(path)? == FileKind::Directory => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
    fn kind(&self, path: &str) -> io::Result<FileKind> {
        let path = self.absolute(path);
        if self.files.contains_key(&path) {
            return Ok(FileKind::File);
        }
        let prefix = if path == "/" { path.clone() } else { format!("{path}/") };
        let inside = |p: &String| p.starts_with(&prefix);
        if path == self.working_dir || self.files.keys().any(inside) {
            return Ok(FileKind::Directory);
        }
        Err(io::ErrorKind::NotFound.into())
    }
    fn list(&self, dir: &str) -> io::Result<Vec<DirEntry>> {
        if self.kind(dir)? != FileKind::Directory {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let dir = self.absolute(dir);
        let prefix = if dir == "/" { dir } else { format!("{dir}/") };
        let mut entries: Vec<DirEntry> = Vec::new();
        for path in self.files.keys() {
            let Some(rest) = path.strip_prefix(&prefix) else { continue };
            let (name, kind) = match rest.split_once('/') {
                Some((name, _)) => (name, FileKind::Directory),
                None => (rest, FileKind::File),
            };
            if !entries.iter().any(|e| e.name == name) {
                entries.push(DirEntry { name: name.to_owned(), kind });
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }
    fn home_dir(&self) -> io::Result<String> {
        self.home_dir.clone().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
    fn working_dir(&self) -> io::Result<String> {
        Ok(self.working_dir.clone())
    }
    fn now(&self) -> WorldTime {
        self.now
    }
    fn random(&self, buffer: &mut [u8]) {
        let mut state = self.seed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for byte in buffer {
            // xorshift64*: any sequence will do, as long as it is the same one every time.
            *state ^= *state >> 12;
            *state ^= *state << 25;
            *state ^= *state >> 27;
            *byte = (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 56) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_world_has_directories_where_files_are() {
        let world = MemoryWorld::new().with_file("a/b.txt", "b").with_file("/etc/c", "c");
        assert_eq!(world.read("./a/../a/b.txt").expect("it exists"), b"b");
        assert_eq!(world.kind("a").expect("it exists"), FileKind::Directory);
        assert_eq!(world.kind("nope").expect_err("not found").kind(), io::ErrorKind::NotFound);
        assert_eq!(world.read("a").expect_err("a directory").kind(), io::ErrorKind::IsADirectory);
        assert_eq!(world.list("/etc").expect("it exists"), [DirEntry { name: "c".into(), kind: FileKind::File }]);
        assert_eq!(world.list("/").expect("it exists").len(), 2);
    }

    #[test]
    fn randomness_is_the_same_every_time_and_moves_on() {
        let draw = |world: &MemoryWorld| {
            let mut buffer = [0; 8];
            world.random(&mut buffer);
            buffer
        };
        let (one, two) = (MemoryWorld::new(), MemoryWorld::new());
        let first = draw(&one);
        assert_eq!(first, draw(&two));
        assert_ne!(first, draw(&one));
    }
}
