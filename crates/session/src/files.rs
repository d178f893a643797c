//! The files of a configuration on the disk of this machine.

use std::fs;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use ecow::EcoString;
use yuba_syntax::files::Files;

/// Files on disk. Relative paths start in the working directory of a project.
#[derive(Clone, Debug)]
pub struct DiskFiles {
    root: PathBuf,
}

impl DiskFiles {
    /// Files seen from an absolute directory.
    pub fn new(root: impl Into<PathBuf>) -> DiskFiles {
        DiskFiles { root: root.into() }
    }
}

impl Files for DiskFiles {
    /// Fails for files over 4 GiB: spans have no offsets beyond that.
    fn read(&self, path: &str) -> io::Result<Arc<[u8]>> {
        let path = self.root.join(path);
        if fs::metadata(&path)?.len() > u64::from(u32::MAX) {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 4 GiB"));
        }
        fs::read(path).map(Arc::from)
    }
    /// Skips names that are not Unicode: configuration files have other names.
    fn names(&self, dir: &str) -> io::Result<Vec<EcoString>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.root.join(dir))? {
            let entry = entry?;
            if !entry.file_type()?.is_dir()
                && let Ok(name) = entry.file_name().into_string()
            {
                names.push(EcoString::from(name));
            }
        }
        names.sort_unstable();
        Ok(names)
    }
    fn is_dir(&self, path: &str) -> io::Result<bool> {
        Ok(fs::metadata(self.root.join(path))?.is_dir())
    }
    /// From the time of the last change and the size: the content is not read.
    fn version(&self, path: &str) -> io::Result<u64> {
        let found = fs::metadata(self.root.join(path))?;
        Ok(BuildHasherDefault::<DefaultHasher>::default().hash_one((found.modified()?, found.len())))
    }
    fn both(&self, first: &mut (dyn FnMut() + Send), second: &mut (dyn FnMut() + Send)) {
        // The parser limits nesting to what a stack of this size holds. Address space only.
        let thread = || std::thread::Builder::new().name("parser".to_owned()).stack_size(256 << 20);
        if std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1) {
            let mut begun = false;
            std::thread::scope(|scope| {
                begun = thread().spawn_scoped(scope, &mut *second).is_ok();
                first();
            });
            if begun {
                return;
            }
        } else {
            first();
        }
        second();
    }
    fn identity(&self, dir: &str) -> EcoString {
        let real = fs::canonicalize(self.root.join(dir)).ok().and_then(|path| path.into_os_string().into_string().ok());
        real.map_or_else(|| dir.into(), EcoString::from)
    }
}
