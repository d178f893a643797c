//! The cache of capabilities of providers on disk: a provider of the same package need not be started to know them.
//!
//! A file has an index and the bytes of all types after it. Only the index is read; a type is read on demand. Files are
//! written under another name first, so a file is whole or missing; and an invalid one is treated as missing.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ecow::EcoString;
use prost::Message;
use prost::bytes::Bytes;
use sha2::{Digest as _, Sha256};

use crate::schema::{Described, Types};
use crate::wire::{Function, IdentitySchema, Protocol};

/// Changes with the format.
const MAGIC: &[u8; 16] = b"yuba schemas 01\n";
/// Bytes before the index: the magic and the length of the index.
const HEAD: usize = MAGIC.len() + 8;
/// Extension of files; unfinished files have a longer one.
const ENDING: &str = ".schemas";
/// Age after which the entry of a package is removed.
const OLD: Duration = Duration::from_secs(180 * 24 * 3600);
/// Age after which an unfinished file is removed: its writer was killed.
const UNFINISHED: Duration = Duration::from_secs(3600);
/// A longer index than this was not written by us.
const LONGEST_INDEX: u64 = 64 << 20;

/// All but the bytes of the types.
#[derive(Clone, PartialEq, Message)]
struct Index {
    #[prost(uint32, tag = 1)]
    protocol: u32,
    #[prost(bytes = "bytes", tag = 2)]
    provider: Bytes,
    #[prost(bytes = "bytes", optional, tag = 3)]
    meta: Option<Bytes>,
    #[prost(btree_map = "string, message", tag = 4)]
    functions: std::collections::BTreeMap<String, Function>,
    #[prost(btree_map = "string, message", tag = 5)]
    identities: std::collections::BTreeMap<String, IdentitySchema>,
    #[prost(bool, tag = 6)]
    plan_destroy: bool,
    #[prost(bool, tag = 7)]
    schema_optional: bool,
    #[prost(message, repeated, tag = 8)]
    resources: Vec<Entry>,
    #[prost(message, repeated, tag = 9)]
    data: Vec<Entry>,
    #[prost(message, repeated, tag = 10)]
    ephemeral: Vec<Entry>,
    /// Number of bytes after the index.
    #[prost(uint64, tag = 11)]
    bytes: u64,
}

/// Range of the bytes of a type, counted from the end of the index.
#[derive(Clone, PartialEq, Message)]
struct Entry {
    #[prost(string, tag = 1)]
    name: String,
    #[prost(uint64, tag = 2)]
    start: u64,
    #[prost(uint32, tag = 3)]
    length: u32,
}

/// The file for the provider of a package. The size of the executable is part of it, for users who replace the
/// executable and leave the package as it is.
pub(crate) fn file(directory: &Path, hash: &str, executable: &Path) -> PathBuf {
    let size = fs::metadata(executable).map_or(0, |data| data.len());
    let digest = Sha256::digest(format!("{hash} {size}"));
    let name: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    directory.join(format!("{name}{ENDING}"))
}

/// The cached capabilities, if any.
pub(crate) fn read(path: &Path) -> Option<Described> {
    let mut file = File::open(path).ok()?;
    let mut head = [0; HEAD];
    file.read_exact(&mut head).ok()?;
    let (magic, length) = head.split_at(MAGIC.len());
    let length = u64::from_le_bytes(length.try_into().ok()?);
    if magic != MAGIC || length > LONGEST_INDEX {
        return None;
    }
    let mut index = Vec::new();
    (&mut file).take(length).read_to_end(&mut index).ok()?;
    let index = Index::decode(Bytes::from(index)).ok()?;
    let start = HEAD as u64 + length;
    if file.metadata().ok()?.len() != start + index.bytes {
        return None;
    }
    let file = Arc::new(file);
    let types = |entries: Vec<Entry>| {
        let entries = entries.into_iter().map(|entry| {
            let is_inside = entry.start.checked_add(entry.length.into()).is_some_and(|end| end <= index.bytes);
            is_inside.then(|| (EcoString::from(entry.name), (start + entry.start, entry.length)))
        });
        Some(Types::File(file.clone(), entries.collect::<Option<_>>()?))
    };
    Some(Described {
        protocol: Protocol::from_number(index.protocol)?,
        provider: index.provider,
        meta: index.meta,
        functions: index.functions,
        identities: index.identities,
        plan_destroy: index.plan_destroy,
        schema_optional: index.schema_optional,
        resources: types(index.resources)?,
        data: types(index.data)?,
        ephemeral: types(index.ephemeral)?,
    })
}

/// Caches them.
pub(crate) fn write(path: &Path, described: &Described) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let mut blobs: Vec<Bytes> = Vec::new();
    let mut bytes = 0_u64;
    let mut entries = |types: &Types| -> Vec<Entry> {
        let Types::Memory(types) = types else { return Vec::new() };
        let entries = types.iter().map(|(name, blob)| {
            let length = u32::try_from(blob.len()).unwrap_or(u32::MAX);
            let entry = Entry { name: name.to_string(), start: bytes, length };
            bytes += blob.len() as u64;
            blobs.push(blob.clone());
            entry
        });
        entries.collect()
    };
    let (resources, data, ephemeral) =
        (entries(&described.resources), entries(&described.data), entries(&described.ephemeral));
    let index = Index {
        protocol: described.protocol.number(),
        provider: described.provider.clone(),
        meta: described.meta.clone(),
        functions: described.functions.clone(),
        identities: described.identities.clone(),
        plan_destroy: described.plan_destroy,
        schema_optional: described.schema_optional,
        resources,
        data,
        ephemeral,
        bytes,
    };
    let index = index.encode_to_vec();

    let mut random = [0_u8; 8];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{:016x}", u64::from_le_bytes(random)));
    let temporary = path.with_file_name(name);
    let written = || -> io::Result<()> {
        let mut out = io::BufWriter::with_capacity(1 << 18, File::create(&temporary)?);
        out.write_all(MAGIC)?;
        out.write_all(&(index.len() as u64).to_le_bytes())?;
        out.write_all(&index)?;
        for blob in &blobs {
            out.write_all(blob)?;
        }
        out.flush()?;
        drop(out);
        fs::rename(&temporary, path)
    };
    written().inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    })?;
    remove_old(directory);
    Ok(())
}

/// Removes old entries, and unfinished files of killed writers.
fn remove_old(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some((_, rest)) = name.to_str().and_then(|name| name.split_once(ENDING)) else { continue };
        let most = if rest.is_empty() { OLD } else { UNFINISHED };
        let age = entry.metadata().and_then(|data| data.modified()).ok().and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age > most) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::log::LogSink;
    use crate::schema::tests::{described, text};
    use crate::socket_dir::SocketDir;

    #[test]
    fn cached_schemas_are_found_again() {
        let dir = SocketDir::new(&std::env::temp_dir()).expect("because a directory for temporary files exists");
        let path = file(&dir.path().join("deep"), "h1:x", Path::new("/nowhere"));
        assert!(read(&path).is_none());
        for protocol in [Protocol::V5, Protocol::V6] {
            let one = described(protocol);
            write(&path, &one).expect("because the directory is ours");
            let other = read(&path).expect("because it was just written");
            let schema =
                |described: Described| text(&described.into_schema(&LogSink::off()).expect("because it is valid"));
            assert_eq!(schema(one), schema(other));
        }
        let names = fs::read_dir(dir.path().join("deep")).expect("because it was made");
        assert_eq!(names.count(), 1);

        let old = |name: &str| {
            let file = File::create(dir.path().join("deep").join(name)).expect("because the directory is ours");
            file.set_modified(SystemTime::now() - 2 * UNFINISHED).expect("because the file is ours");
        };
        old("a.schemas");
        old("a.schemas.1");
        old("other");
        write(&path, &described(Protocol::V6)).expect("because the directory is ours");
        let mut names: Vec<_> = fs::read_dir(dir.path().join("deep")).expect("because it was made").flatten().collect();
        names.retain(|entry| entry.path() != path);
        names.sort_by_key(fs::DirEntry::file_name);
        let names: Vec<_> = names.iter().map(fs::DirEntry::file_name).collect();
        assert_eq!(names, ["a.schemas", "other"]);

        let whole = fs::read(&path).expect("because it exists");
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).expect("because the directory is ours");
            assert!(read(&path).is_none(), "{length}");
        }
        assert_ne!(path, file(&dir.path().join("deep"), "h1:y", Path::new("/nowhere")));
    }
}
