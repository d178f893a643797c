//! Real objects and the record of operations: files in a directory that survive every process.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Result, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Objects as files, and the record of deeds. Without a directory everything is forgotten at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    directory: Option<PathBuf>,
}

impl Record {
    pub(crate) fn new(directory: Option<PathBuf>) -> Result<Record> {
        if let Some(directory) = &directory {
            std::fs::create_dir_all(directory.join("objects"))?;
        }
        Ok(Record { directory })
    }

    /// A line with the process in the file `processes`.
    pub(crate) fn started(&self) -> Result<()> {
        self.line("processes", &format!("{}\n", std::process::id()))
    }

    /// A line `VERB KIND ID INSTANCE PROCESS`; on disk when this returns.
    pub(crate) fn note(&self, verb: &str, kind: &str, id: &str, instance: &str) -> Result<()> {
        let shown = |text: &str| if text.is_empty() { "-".to_owned() } else { text.replace([' ', '\n'], "_") };
        let line = format!("{verb} {} {} {} {}\n", shown(kind), shown(id), shown(instance), std::process::id());
        self.line("record", &line)
    }

    fn line(&self, file: &str, line: &str) -> Result<()> {
        let Some(directory) = &self.directory else { return Ok(()) };
        let mut file = OpenOptions::new().create(true).append(true).open(directory.join(file))?;
        // One write: lines of several processes do not mix.
        file.write_all(line.as_bytes())?;
        file.sync_data()
    }

    /// Makes an object: its id is the name and the first free number.
    pub(crate) fn create(&self, name: &str, content: impl Fn(&str) -> String) -> Result<String> {
        for number in 1_u64.. {
            let id = format!("{name}#{number}");
            let Some(path) = self.path(&id) else { return Ok(id) };
            let written = self.written(&content(&id))?;
            let linked = std::fs::hard_link(&written, path);
            std::fs::remove_file(written)?;
            match linked {
                Ok(()) => return Ok(id),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    pub(crate) fn write(&self, id: &str, content: &str) -> Result<()> {
        let Some(path) = self.path(id) else { return Ok(()) };
        std::fs::rename(self.written(content)?, path)
    }

    /// A file with a content, beside the objects. It becomes an object in one step: a process that is killed leaves none that is
    /// half made.
    fn written(&self, content: &str) -> Result<PathBuf> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = self.directory.clone().unwrap_or_default().join(name);
        std::fs::write(&path, content)?;
        Ok(path)
    }

    /// Whether it existed.
    pub(crate) fn delete(&self, id: &str) -> Result<bool> {
        match self.path(id).map(std::fs::remove_file) {
            None | Some(Ok(())) => Ok(true),
            Some(Err(error)) if error.kind() == ErrorKind::NotFound => Ok(false),
            Some(Err(error)) => Err(error),
        }
    }

    /// Data of an object.
    pub(crate) fn read(&self, id: &str) -> Result<Found> {
        match self.path(id).map(std::fs::read_to_string) {
            None => Ok(Found::Forgotten),
            Some(Ok(text)) => Ok(Found::There(text)),
            Some(Err(error)) if error.kind() == ErrorKind::NotFound => Ok(Found::Gone),
            Some(Err(error)) => Err(error),
        }
    }

    fn path(&self, id: &str) -> Option<PathBuf> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._#-".contains(c);
        let name: String = id.chars().map(|c| if plain(c) { c } else { '_' }).collect();
        self.directory.as_deref().map(|directory: &Path| directory.join("objects").join(name))
    }
}

pub(crate) enum Found {
    There(String),
    Gone,
    /// It has no own state: the caller's value is the object.
    Forgotten,
}
