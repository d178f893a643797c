//! The real world: the file system, the clock and the randomness of this machine.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use yuba_eval::world::{DEFAULT_TEMPLATE_DEPTH, DirEntry, FileKind, World, WorldTime};
use yuba_net::Environment;

/// The environment variable that limits how deep templates include each other.
const TEMPLATE_DEPTH: &str = "TF_TEMPLATE_RECURSION_DEPTH";

/// This machine, seen from a working directory.
#[derive(Clone, Debug)]
pub struct SystemWorld {
    root: PathBuf,
    home: Option<PathBuf>,
    template_depth: Option<String>,
}

impl SystemWorld {
    /// This machine, seen from an absolute directory, by a user with a home directory.
    pub fn new(root: PathBuf, home: Option<PathBuf>, environment: &Environment) -> SystemWorld {
        SystemWorld { root, home, template_depth: environment.get(TEMPLATE_DEPTH).map(str::to_owned) }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }
}

/// Longer files are not read into memory.
const MAX_FILE: u64 = 1 << 30;
/// Devices and pipes may never end.
const MAX_STREAM: u64 = 64 << 20;

fn too_large(limit: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it is longer than {} MiB", limit >> 20))
}

/// The current time.
pub fn now() -> WorldTime {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => {
            WorldTime { seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX), nanos: since.subsec_nanos() }
        }
        // A clock before 1970: whole seconds will do.
        Err(before) => {
            WorldTime { seconds: i64::try_from(before.duration().as_secs()).map_or(i64::MIN, |s| -s - 1), nanos: 0 }
        }
    }
}

impl World for SystemWorld {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let file = fs::File::open(self.path(path))?;
        let info = file.metadata()?;
        let limit = if info.is_file() { MAX_FILE } else { MAX_STREAM };
        if info.is_file() && info.len() > limit {
            return Err(too_large(limit));
        }
        let mut content = Vec::new();
        file.take(limit + 1).read_to_end(&mut content)?;
        if content.len() as u64 > limit { Err(too_large(limit)) } else { Ok(content) }
    }
    fn read_parts(&self, path: &str, visit: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let mut file = fs::File::open(self.path(path))?;
        let endless = !file.metadata()?.is_file();
        let mut part = vec![0; 1 << 16];
        let mut total = 0;
        loop {
            let count = match file.read(&mut part) {
                Ok(0) => return Ok(()),
                Err(problem) if problem.kind() == io::ErrorKind::Interrupted => continue,
                count => count?,
            };
            visit(&part[..count]);
            total += count as u64;
            if endless && total > MAX_STREAM {
                return Err(too_large(MAX_STREAM));
            }
        }
    }
    fn kind(&self, path: &str) -> io::Result<FileKind> {
        Ok(kind_of(fs::metadata(self.path(path))?.file_type()))
    }
    fn list(&self, dir: &str) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(self.path(dir))? {
            let entry = entry?;
            // A name that is not Unicode cannot be written in the language.
            let Ok(name) = entry.file_name().into_string() else { continue };
            entries.push(DirEntry { name, kind: kind_of(entry.file_type()?) });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }
    fn home_dir(&self) -> io::Result<String> {
        let home = self.home.as_deref().filter(|home| !home.as_os_str().is_empty());
        home.and_then(Path::to_str)
            .map(str::to_owned)
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no home directory is set"))
    }
    fn working_dir(&self) -> io::Result<String> {
        if self.root.as_os_str().is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the working directory does not exist"));
        }
        let dir = self.root.to_str().map(str::to_owned);
        dir.ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "the name of the working directory is not Unicode")
        })
    }
    fn now(&self) -> WorldTime {
        now()
    }
    fn random(&self, buffer: &mut [u8]) {
        getrandom::fill(buffer).expect("because a system without randomness cannot run anything safely");
    }
    fn template_depth_limit(&self) -> Result<i64, String> {
        let Some(text) = &self.template_depth else { return Ok(DEFAULT_TEMPLATE_DEPTH) };
        text.parse().map_err(|_| {
            format!("the environment variable {TEMPLATE_DEPTH} must be a whole number, but it is {text:?}")
        })
    }
}

#[cfg(unix)]
fn kind_of(file_type: fs::FileType) -> FileKind {
    use std::os::unix::fs::FileTypeExt as _;
    if file_type.is_block_device() || file_type.is_char_device() {
        FileKind::Device
    } else if file_type.is_fifo() {
        FileKind::Pipe
    } else if file_type.is_socket() {
        FileKind::Socket
    } else {
        plain_kind_of(file_type)
    }
}

#[cfg(not(unix))]
fn kind_of(file_type: fs::FileType) -> FileKind {
    plain_kind_of(file_type)
}

fn plain_kind_of(file_type: fs::FileType) -> FileKind {
    if file_type.is_file() {
        FileKind::File
    } else if file_type.is_dir() {
        FileKind::Directory
    } else if file_type.is_symlink() {
        FileKind::Link
    } else {
        FileKind::Other
    }
}
