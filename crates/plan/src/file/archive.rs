//! The archive of a plan file: zip, with the names of entries that tools for plans know.
//!
//! Archives are not trusted. No entry is unpacked unless every byte of the archive belongs to one entry or to the directory,
//! and no more memory is used than [`Limits`] allow, whatever the archive claims about itself.

use std::collections::BTreeMap;
use std::io::{Cursor, Read as _, Write as _};

use ecow::EcoString;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::PLAN;

/// Entries by name.
pub(super) type Entries = BTreeMap<EcoString, Vec<u8>>;

/// Limits of an archive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) entries: usize,
    /// Bytes of all entries.
    pub(super) bytes: u64,
    /// Archives may unpack to this many bytes however small they are.
    pub(super) harmless: u64,
    /// Maximum ratio of the unpacked size to the size of the archive.
    pub(super) ratio: u64,
}

pub(super) const LIMITS: Limits = Limits { entries: 1_000_000, bytes: 1 << 32, harmless: 256 << 20, ratio: 200 };

/// Start of an archive.
const START: &[u8] = b"PK\x03\x04";
/// Start of the end record of an archive, and its length without a comment.
const END: (&[u8], usize) = (b"PK\x05\x06", 22);

/// Reason why bytes cannot be unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// They do not begin like an archive.
    NotAnArchive,
    /// They are an archive that is cut, changed or made up.
    Malformed,
    /// They are an archive that unpacks to too much.
    TooLarge,
}

/// Packs the plan, whose content is in pieces, and other entries, in this order. The error is a sentence part.
pub(super) fn pack<'e>(
    plan: &[&[u8]],
    entries: impl IntoIterator<Item = (&'e str, &'e [u8])>,
) -> Result<Vec<u8>, String> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let mut add = |name: &str, pieces: &[&[u8]]| {
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(1))
            .large_file(length as u64 >= u64::from(u32::MAX) / 2);
        writer.start_file(name, options).map_err(|error| error.to_string())?;
        pieces.iter().try_for_each(|piece| writer.write_all(piece)).map_err(|error| error.to_string())
    };
    if !plan.is_empty() {
        add(PLAN, plan)?;
    }
    entries.into_iter().try_for_each(|(name, content)| add(name, &[content]))?;
    Ok(writer.finish().map_err(|error| error.to_string())?.into_inner())
}

/// An archive that was opened; nothing is unpacked yet.
pub(super) struct Archive<'b> {
    bytes: &'b [u8],
    zip: ZipArchive<Cursor<&'b [u8]>>,
}

impl<'b> Archive<'b> {
    /// Reads the directory of an archive.
    pub(super) fn open(bytes: &'b [u8], limits: Limits) -> Result<Archive<'b>, Refused> {
        if !bytes.starts_with(START) {
            return Err(Refused::NotAnArchive);
        }
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(|_| Refused::Malformed)?;
        if zip.len() > limits.entries { Err(Refused::TooLarge) } else { Ok(Archive { bytes, zip }) }
    }

    /// So many bytes of an entry, or all of it, checked, if it is shorter; none if the entry does not exist.
    pub(super) fn beginning(&mut self, name: &str, most: u64) -> Result<Option<Vec<u8>>, Refused> {
        let Some(at) = self.zip.index_for_name(name) else { return Ok(None) };
        let entry = self.zip.by_index(at).map_err(|_| Refused::Malformed)?;
        let mut content = Vec::new();
        entry.take(most).read_to_end(&mut content).map_err(|_| Refused::Malformed)?;
        Ok(Some(content))
    }

    /// Unpacks all entries.
    pub(super) fn unpack(mut self, limits: Limits) -> Result<Entries, Refused> {
        self.check_layout()?;
        let length = self.bytes.len() as u64;
        let mut left = limits.harmless.max(length.saturating_mul(limits.ratio)).min(limits.bytes);
        let mut entries = Entries::new();
        for at in 0..self.zip.len() {
            let entry = self.zip.by_index(at).map_err(|_| Refused::Malformed)?;
            let (name, size) = (EcoString::from(entry.name()), entry.size());
            left = left.checked_sub(size).ok_or(Refused::TooLarge)?;
            let mut content = Vec::new();
            // The last read checks the sum of the entry.
            entry.take(size.saturating_add(1)).read_to_end(&mut content).map_err(|_| Refused::Malformed)?;
            if content.len() as u64 != size || entries.insert(name, content).is_some() {
                return Err(Refused::Malformed);
            }
        }
        Ok(entries)
    }

    /// One entry after the other, and the directory after them. Refuses two entries with one name, entries that share bytes,
    /// and bytes that belong to no entry.
    fn check_layout(&mut self) -> Result<(), Refused> {
        let end = self.bytes.len().checked_sub(END.1).and_then(|start| self.bytes.get(start..));
        if !end.is_some_and(|end| end.starts_with(END.0)) {
            return Err(Refused::Malformed);
        }
        let mut places = Vec::with_capacity(self.zip.len());
        for at in 0..self.zip.len() {
            let entry = self.zip.by_index_raw(at).map_err(|_| Refused::Malformed)?;
            if entry.encrypted() || entry.compression() != CompressionMethod::Deflated {
                return Err(Refused::Malformed);
            }
            let end = entry.data_start().checked_add(entry.compressed_size()).ok_or(Refused::Malformed)?;
            places.push((entry.header_start(), end));
        }
        places.sort_unstable();
        let mut next = 0;
        for (start, end) in places {
            if start != next {
                return Err(Refused::Malformed);
            }
            next = end;
        }
        let is_whole = self.zip.offset() == 0 && self.zip.central_directory_start() == next;
        if is_whole { Ok(()) } else { Err(Refused::Malformed) }
    }
}
