//! Unpacking untrusted archives.
//!
//! Invariant: nothing is written outside of the directory, no link leads out of it, and the limits hold whatever an archive
//! claims about itself. Where unpacking fails there is no directory.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};

use flate2::bufread::{DeflateDecoder, MultiGzDecoder};
use sha2::{Digest as _, Sha256};
use zip::CompressionMethod;
use zip::result::ZipError;

use self::whole::{Summing, Whole};
use crate::summing::fill;

/// The kinds of archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `.zip`
    Zip,
    /// `.tar`
    Tar,
    /// `.tar.gz` and `.tgz`
    TarGz,
    /// `.tar.bz2`
    TarBz2,
    /// `.tar.xz` and `.txz`
    TarXz,
}

impl Format {
    /// The kind of an archive by how it begins.
    pub fn sniff(archive: &Path) -> Result<Format, String> {
        let mut start = [0; 6];
        let mut length = 0;
        let mut file =
            File::open(archive).map_err(|error| format!("{} could not be read: {error}", archive.display()))?;
        while let Ok(more @ 1..) = file.read(&mut start[length..]) {
            length += more;
        }
        match &start[..length] {
            [b'P', b'K', 3 | 5 | 7, ..] => Ok(Format::Zip),
            [0x1f, 0x8b, ..] => Ok(Format::TarGz),
            [0xfd, b'7', b'z', b'X', b'Z', 0] => Ok(Format::TarXz),
            [b'B', b'Z', b'h', ..] => Ok(Format::TarBz2),
            _ => {
                Err("the package is neither a zip archive nor a tar archive compressed with gzip, xz or bzip2"
                    .to_owned())
            }
        }
    }
}

/// Limits of an archive.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Files, directories and links.
    pub entries: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { entries: 500_000, bytes: 8 << 30 }
    }
}

/// An archive that becomes this large may be small when packed.
const HARMLESS: u64 = 256 << 20;
/// Maximum ratio of unpacked to packed size for larger archives.
const RATIO: u64 = 200;
/// Number of bytes of an archive that are read at once.
const INPUT: usize = 64 << 10;
/// Number of bytes of a file that are written at once. Linux allocates larger buffers much more slowly: it has pieces
/// of this size available.
const OUTPUT: usize = 32 << 10;
/// The longest target of a link.
const LONGEST_LINK: u64 = 4096;
/// Maximum size of the headers, long names and extended attributes before the content of an entry of a tar archive. They are read
/// into memory.
const METADATA: u64 = 1 << 20;
/// Number of characters of a name that an error shows.
const SHOWN: usize = 200;

/// Reason why an archive cannot be unpacked.
#[derive(Debug)]
pub enum ArchiveError {
    /// It is broken.
    Malformed(String),
    /// It could do harm.
    Hostile(String),
    /// Nothing can be read or written here.
    Io(String),
}

impl fmt::Display for ArchiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArchiveError::Malformed(reason) => write!(f, "the archive is damaged: {reason}"),
            ArchiveError::Hostile(reason) => write!(f, "the archive is refused: {reason}"),
            ArchiveError::Io(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for ArchiveError {}

/// The files of an archive by their paths, with their SHA-256 sums.
pub type Sums = BTreeMap<PathBuf, [u8; 32]>;

/// Unpacks an archive into a directory that must not exist.
pub fn unpack(archive: &Path, format: Format, into: &Path, limits: Limits) -> Result<(), ArchiveError> {
    start(archive, format, into, limits, None).map(drop)
}

/// Unpacks a zip archive into a directory that must not exist, and sums up the files on the way.
///
/// Quirk: a link becomes a file with its target in it, as in the hash of every other tool.
pub fn unpack_summed(archive: &Path, into: &Path, limits: Limits) -> Result<Sums, ArchiveError> {
    start(archive, Format::Zip, into, limits, Some(Sums::new())).map(Option::unwrap_or_default)
}

fn start(
    archive: &Path,
    format: Format,
    into: &Path,
    limits: Limits,
    sums: Option<Sums>,
) -> Result<Option<Sums>, ArchiveError> {
    let unreadable =
        |error: io::Error| ArchiveError::Io(format!("the archive {} could not be read: {error}", archive.display()));
    let file = File::open(archive).map_err(unreadable)?;
    let packed = file.metadata().map_err(unreadable)?.len();
    fs::create_dir(into).map_err(|error| unwritable(into, &error))?;
    let unpacker = Unpacker {
        root: into,
        limits,
        packed,
        entries: 0,
        ignored: 0,
        bytes: 0,
        links: BTreeMap::new(),
        sums,
        buffer: vec![0; OUTPUT],
    };
    let mut file = BufReader::with_capacity(INPUT, file);
    let unpacked = match format {
        Format::Zip => unpacker.zip(file),
        Format::Tar => unpacker.tar(file),
        Format::TarGz => unpacker.tar(MultiGzDecoder::new(file)),
        Format::TarBz2 => unpacker.tar(bzip2::bufread::MultiBzDecoder::new(file)),
        Format::TarXz => xz::check_dictionaries(&mut file)
            .map_err(|error| match error.kind() {
                io::ErrorKind::Unsupported => ArchiveError::Hostile(error.to_string()),
                _ => malformed(&error),
            })
            .and_then(|()| unpacker.tar(lzma_rust2::XzReader::new(file, true))),
    };
    if unpacked.is_err() {
        let _ = fs::remove_dir_all(into);
    }
    unpacked
}

fn unwritable(path: &Path, error: &io::Error) -> ArchiveError {
    ArchiveError::Io(format!("{} could not be written: {error}", shown(path)))
}

/// A path for an error. Archives can contain paths of any length.
fn shown(path: &Path) -> String {
    shortened(&path.display().to_string())
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}...", &name[..at]),
        None => name.to_owned(),
    }
}

/// A reader that fails after a number of bytes.
struct Metered<'a, R> {
    inner: R,
    /// Number of bytes that can still be read.
    left: &'a Cell<u64>,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.left.get()).unwrap_or(usize::MAX).min(buffer.len());
        if left == 0 && !buffer.is_empty() {
            return Err(io::Error::other("a limit is exceeded"));
        }
        let length = self.inner.read(&mut buffer[..left])?;
        self.left.set(self.left.get() - length as u64);
        Ok(length)
    }
}

fn malformed(error: &dyn fmt::Display) -> ArchiveError {
    ArchiveError::Malformed(error.to_string())
}

fn broken_zip(error: ZipError) -> ArchiveError {
    match error {
        ZipError::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => malformed(&"it ends too early"),
        ZipError::Io(error) => malformed(&error),
        error => malformed(&error),
    }
}

struct Unpacker<'a> {
    root: &'a Path,
    limits: Limits,
    packed: u64,
    entries: u64,
    /// Entries that are not unpacked.
    ignored: u64,
    bytes: u64,
    /// Created after all other entries, so that no file is written through them.
    links: BTreeMap<PathBuf, PathBuf>,
    /// Of the files so far, if the caller needs it.
    sums: Option<Sums>,
    buffer: Vec<u8>,
}

impl Unpacker<'_> {
    fn zip(mut self, mut file: BufReader<File>) -> Result<Option<Sums>, ArchiveError> {
        // Before the list of entries is read, which takes memory for each.
        let claimed = directory::claimed_entries(&mut file).map_err(|error| malformed(&error))?;
        self.check_entries(claimed.unwrap_or(0))?;
        let mut archive = zip::ZipArchive::new(file).map_err(broken_zip)?;
        self.check_entries(archive.len() as u64)?;
        for index in 0..archive.len() {
            let entry = archive.by_index_raw(index).map_err(broken_zip)?;
            let mode = entry.unix_mode().unwrap_or(0o644);
            let path = inner_path(entry.name())?;
            match mode & 0o170_000 {
                0o120_000 => {
                    let mut target = String::new();
                    let read = content(entry)?.take(LONGEST_LINK).read_to_string(&mut target);
                    read.map_err(|error| malformed(&error))?;
                    match self.sums.is_some() {
                        true => {
                            check_link(&path, Path::new(&target))?;
                            self.file(&path, mode, &mut target.as_bytes())?;
                        }
                        false => self.link(path, PathBuf::from(target))?,
                    }
                }
                _ if entry.is_dir() => self.directory(&path)?,
                0 | 0o100_000 => match self.whole(entry) {
                    Some(whole) => self.file_at_once(&path, mode, &whole)?,
                    None => {
                        let entry = archive.by_index_raw(index).map_err(broken_zip)?;
                        self.file(&path, mode, &mut content(entry)?)?;
                    }
                },
                _ => return Err(special(&path)),
            }
        }
        self.finish()
    }

    fn tar(mut self, input: impl Read) -> Result<Option<Sums>, ArchiveError> {
        let left = Cell::new(METADATA);
        let mut archive = tar::Archive::new(Metered { inner: input, left: &left });
        let mut entries = archive.entries().map_err(|error| malformed(&error))?;
        loop {
            // Reading the next entry skips the padding of this one and reads metadata into memory.
            left.set(METADATA);
            let Some(entry) = entries.next() else { break };
            let mut entry = entry.map_err(|error| match left.get() {
                0 => ArchiveError::Hostile(format!("an entry has more than {METADATA} bytes of metadata")),
                _ => malformed(&error),
            })?;
            left.set(u64::MAX);
            self.tar_entry(&mut entry)?;
            self.skip(&mut entry)?;
        }
        self.finish()
    }

    fn tar_entry(&mut self, entry: &mut tar::Entry<'_, impl Read>) -> Result<(), ArchiveError> {
        let kind = entry.header().entry_type();
        if kind.is_pax_global_extensions() || kind.is_pax_local_extensions() {
            return self.count_ignored();
        }
        let path = entry.path().map_err(|error| malformed(&error))?;
        let Some(path) = path.to_str() else {
            return Err(ArchiveError::Malformed(format!("the name {} is not Unicode", shown(&path))));
        };
        let path = inner_path(path)?;
        let mode = entry.header().mode().unwrap_or(0o644);
        if kind.is_dir() {
            self.directory(&path)
        } else if kind.is_symlink() {
            let target = entry.link_name().map_err(|error| malformed(&error))?.unwrap_or_default().into_owned();
            self.link(path, target)
        } else if kind.is_hard_link() {
            let target = entry.link_name().map_err(|error| malformed(&error))?.unwrap_or_default();
            self.same_file(&path, mode, &inner_path(&target.to_string_lossy())?)
        } else if kind.is_file() || kind.is_contiguous() || kind.is_gnu_sparse() {
            self.file(&path, mode, entry)
        } else {
            Err(special(&path))
        }
    }

    /// Skips what is left of an entry. It counts like the bytes of files.
    fn skip(&mut self, content: &mut dyn Read) -> Result<(), ArchiveError> {
        loop {
            let length = fill(content, &mut self.buffer).map_err(|error| malformed(&error))?;
            if length == 0 {
                return Ok(());
            }
            self.bytes += length as u64;
            self.check(self.bytes)?;
        }
    }

    /// Counts an entry that is not unpacked.
    fn count_ignored(&mut self) -> Result<(), ArchiveError> {
        self.ignored += 1;
        self.check_entries(self.entries + self.ignored)
    }

    fn count(&mut self) -> Result<(), ArchiveError> {
        self.entries += 1;
        self.check_entries(self.entries + self.ignored)
    }

    /// Whether so many entries are not too many.
    fn check_entries(&self, entries: u64) -> Result<(), ArchiveError> {
        if entries > self.limits.entries {
            return Err(ArchiveError::Hostile(format!("it has more than {} entries", self.limits.entries)));
        }
        Ok(())
    }

    fn directory(&mut self, path: &Path) -> Result<(), ArchiveError> {
        self.count()?;
        let path = self.root.join(path);
        fs::create_dir_all(&path).map_err(|error| unwritable(&path, &error))
    }

    /// Whether so many bytes of all files are not too many.
    fn check(&self, bytes: u64) -> Result<(), ArchiveError> {
        if bytes > self.limits.bytes {
            return Err(ArchiveError::Hostile(format!("its files have more than {} bytes", self.limits.bytes)));
        }
        if bytes > HARMLESS && bytes / RATIO > self.packed {
            let reason =
                format!("its files are more than {RATIO} times as large as the archive, as if to fill the disk");
            return Err(ArchiveError::Hostile(reason));
        }
        Ok(())
    }

    /// Makes a file with the directories that it is in.
    fn create(&mut self, path: &Path, mode: u32) -> Result<(PathBuf, File), ArchiveError> {
        self.count()?;
        if path.as_os_str().is_empty() {
            return Err(ArchiveError::Malformed("it has a file without a name".to_owned()));
        }
        let path = self.root.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| unwritable(parent, &error))?;
        }
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode & 0o777 | 0o600);
        #[cfg(not(unix))]
        let _ = mode;
        let output = options.open(&path).map_err(|error| unwritable(&path, &error))?;
        Ok((path, output))
    }

    fn file(&mut self, name: &Path, mode: u32, content: &mut dyn Read) -> Result<(), ArchiveError> {
        let (path, mut output) = self.create(name, mode)?;
        let mut hasher = self.sums.is_some().then(Sha256::new);
        loop {
            let length = fill(content, &mut self.buffer).map_err(|error| malformed(&error))?;
            if length == 0 {
                break;
            }
            self.bytes += length as u64;
            self.check(self.bytes)?;
            let piece = &self.buffer[..length];
            if let Some(hasher) = &mut hasher {
                hasher.update(piece);
            }
            output.write_all(piece).map_err(|error| unwritable(&path, &error))?;
        }
        if let (Some(sums), Some(hasher)) = (&mut self.sums, hasher) {
            sums.insert(name.to_owned(), hasher.finalize().into());
        }
        Ok(())
    }

    /// A file with the content of another one that came before it. No link is made before the end, so none is followed.
    fn same_file(&mut self, name: &Path, mode: u32, other: &Path) -> Result<(), ArchiveError> {
        let path = self.root.join(other);
        if !path.symlink_metadata().is_ok_and(|found| found.is_file()) || name == other {
            let reason = format!("{} is the same file as {}, which is not before it", shown(name), shown(other));
            return Err(ArchiveError::Malformed(reason));
        }
        let mut content = File::open(&path).map_err(|error| unwritable(&path, &error))?;
        self.file(name, mode, &mut content)
    }

    /// A file of a zip archive in memory, if it fits there and is not too large for the limits.
    fn whole<R: Read>(&mut self, entry: zip::read::ZipFile<'_, R>) -> Option<Whole> {
        self.check(self.bytes.checked_add(entry.size())?).ok()?;
        whole::inflate(entry, if self.sums.is_some() { Summing::Sha256 } else { Summing::Skipped })
    }

    fn file_at_once(&mut self, name: &Path, mode: u32, whole: &Whole) -> Result<(), ArchiveError> {
        let (path, mut output) = self.create(name, mode)?;
        self.bytes += whole.bytes().len() as u64;
        for piece in whole.bytes().chunks(OUTPUT) {
            output.write_all(piece).map_err(|error| unwritable(&path, &error))?;
        }
        if let (Some(sums), Some(sum)) = (&mut self.sums, whole.sum) {
            sums.insert(name.to_owned(), sum);
        }
        Ok(())
    }

    /// Records a link.
    fn link(&mut self, path: PathBuf, target: PathBuf) -> Result<(), ArchiveError> {
        self.count()?;
        check_link(&path, &target)?;
        // They are in memory until the end.
        self.bytes += (path.as_os_str().len() + target.as_os_str().len()) as u64;
        self.check(self.bytes)?;
        self.links.insert(path, target);
        Ok(())
    }

    fn finish(self) -> Result<Option<Sums>, ArchiveError> {
        if self.entries == 0 {
            return Err(ArchiveError::Malformed("it is empty".to_owned()));
        }
        for (path, target) in &self.links {
            // Whether a path is a link depends on the file system: "L" can be "l".
            let parents = path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty());
            for parent in parents {
                if self.root.join(parent).symlink_metadata().is_ok_and(|found| found.is_symlink()) {
                    let reason = format!("{} is within the link {}", shown(path), shown(parent));
                    return Err(ArchiveError::Hostile(reason));
                }
            }
            let path = self.root.join(path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(|error| unwritable(parent, &error))?;
            }
            if path.symlink_metadata().is_ok() {
                return Err(ArchiveError::Hostile(format!("{} occurs twice, once as a link", shown(&path))));
            }
            #[cfg(unix)]
            std::os::unix::fs::symlink(target, &path).map_err(|error| unwritable(&path, &error))?;
            #[cfg(not(unix))]
            return Err(ArchiveError::Io(format!(
                "links like {} are not possible here: {}",
                shown(&path),
                shown(target)
            )));
        }
        Ok(self.sums)
    }
}

/// Refuses links that lead out of an archive. A target may go up and then down, but never up again: then what it means would
/// depend on other links.
fn check_link(path: &Path, target: &Path) -> Result<(), ArchiveError> {
    let refused =
        |reason: &str| Err(ArchiveError::Hostile(format!("the link {} to {} {reason}", shown(path), shown(target))));
    let mut depth = path.components().count().saturating_sub(1);
    let mut goes_down = false;
    for component in target.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(_) => goes_down = true,
            Component::ParentDir if goes_down => return refused("goes up after it went down"),
            Component::ParentDir if depth == 0 => return refused("leads out of it"),
            Component::ParentDir => depth -= 1,
            Component::RootDir | Component::Prefix(_) => return refused("leads out of it"),
        }
    }
    if target.as_os_str().is_empty() {
        return refused("leads nowhere");
    }
    Ok(())
}

/// Content of an entry of a zip archive, checked at its end.
fn content<'a, R: Read + 'a>(entry: zip::read::ZipFile<'a, R>) -> Result<Checked<Box<dyn Read + 'a>>, ArchiveError> {
    if entry.encrypted() {
        return Err(ArchiveError::Malformed(format!("{:?} in it is encrypted", shortened(entry.name()))));
    }
    let expected = entry.crc32();
    let inner: Box<dyn Read + 'a> = match entry.compression() {
        CompressionMethod::Stored => Box::new(entry),
        CompressionMethod::Deflated => Box::new(DeflateDecoder::new(BufReader::with_capacity(INPUT, entry))),
        other => {
            return Err(ArchiveError::Malformed(format!(
                "{:?} in it is compressed with {other:?}",
                shortened(entry.name())
            )));
        }
    };
    Ok(Checked { inner, found: crc32fast::Hasher::new(), expected })
}

/// Fails at the end if the sum is not what is expected.
struct Checked<R> {
    inner: R,
    found: crc32fast::Hasher,
    expected: u32,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.found.update(&buffer[..length]);
        if length == 0 && !buffer.is_empty() && self.found.clone().finalize() != self.expected {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a file in it does not match its checksum"));
        }
        Ok(length)
    }
}

fn special(path: &Path) -> ArchiveError {
    ArchiveError::Hostile(format!("{} is neither a file nor a directory nor a link", shown(path)))
}

/// A path in an archive, cleaned; refused if it leads elsewhere.
fn inner_path(name: &str) -> Result<PathBuf, ArchiveError> {
    let outside = || ArchiveError::Hostile(format!("the path {:?} in it leads out of it", shortened(name)));
    if name.contains('\0') || (cfg!(windows) && name.contains(['\\', ':'])) {
        return Err(outside());
    }
    let mut path = PathBuf::new();
    for component in Path::new(name).components() {
        match component {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            _ => return Err(outside()),
        }
    }
    Ok(path)
}

mod directory;
mod whole;
mod xz;

#[cfg(test)]
mod tests;
