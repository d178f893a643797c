//! The end of a zip archive: how many entries it claims to have.

use std::io::{self, Read, Seek, SeekFrom};

/// Length of the last record without its comment, and of the longest comment.
const END: u64 = 22;
const LONGEST_COMMENT: u64 = 0xffff;
/// Length of the record before it that says where the large record is.
const LOCATOR: usize = 20;
/// Offset of the number of entries in the large record.
const LARGE_COUNT: u64 = 32;

/// The number of entries that an archive claims to have, if its end can be found. The archive is read from its start afterwards.
pub(super) fn claimed_entries(archive: &mut (impl Read + Seek)) -> io::Result<Option<u64>> {
    let length = archive.seek(SeekFrom::End(0))?;
    let start = length.saturating_sub(END + LONGEST_COMMENT + LOCATOR as u64);
    archive.seek(SeekFrom::Start(start))?;
    let mut tail = Vec::new();
    archive.by_ref().take(length - start).read_to_end(&mut tail)?;
    let claimed = match tail.windows(4).rposition(|bytes| bytes == b"PK\x05\x06") {
        Some(end) => in_end(archive, &tail, end)?,
        None => None,
    };
    archive.seek(SeekFrom::Start(0))?;
    Ok(claimed)
}

fn in_end(archive: &mut (impl Read + Seek), tail: &[u8], end: usize) -> io::Result<Option<u64>> {
    let Some(count) = tail.get(end + 10..end + 12).and_then(|bytes| bytes.try_into().ok()).map(u16::from_le_bytes)
    else {
        return Ok(None);
    };
    let locator = end.checked_sub(LOCATOR).and_then(|start| tail.get(start..end));
    let locator = locator.filter(|locator| locator.starts_with(b"PK\x06\x07"));
    let Some(at) = locator.and_then(|locator| locator.get(8..16)?.try_into().ok()).map(u64::from_le_bytes) else {
        return Ok(Some(u64::from(count)));
    };
    let mut large = [0; 8];
    archive.seek(SeekFrom::Start(at.saturating_add(LARGE_COUNT)))?;
    match archive.read_exact(&mut large) {
        Ok(()) => Ok(Some(u64::from_le_bytes(large).max(u64::from(count)))),
        Err(_) => Ok(Some(u64::from(count))),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn claimed(bytes: Vec<u8>) -> Option<u64> {
        let mut archive = Cursor::new(bytes);
        let claimed = claimed_entries(&mut archive).expect("memory can be read");
        assert_eq!(archive.position(), 0);
        claimed
    }

    #[test]
    fn the_number_of_entries_is_read_from_the_end() {
        let end = |count: u16, comment: &[u8]| {
            let mut end = b"PK\x05\x06\0\0\0\0".to_vec();
            end.extend(count.to_le_bytes());
            end.extend(count.to_le_bytes());
            end.extend([0; 8]);
            end.extend((comment.len() as u16).to_le_bytes());
            end.extend(comment);
            end
        };
        assert_eq!(claimed(Vec::new()), None);
        assert_eq!(claimed(b"no archive".to_vec()), None);
        assert_eq!(claimed(end(3, b"")), Some(3));
        assert_eq!(claimed(end(4, &[b'x'; 0xffff])), Some(4));
        assert_eq!(claimed(b"PK\x05\x06".to_vec()), None);
        let mut large = b"PK\x06\x06".to_vec();
        large.extend([0; 28]);
        large.extend(5_000_000_u64.to_le_bytes());
        large.extend([0; 16]);
        let at = 0_u64;
        large.extend(b"PK\x06\x07\0\0\0\0");
        large.extend(at.to_le_bytes());
        large.extend([0; 4]);
        large.extend(end(0xffff, b""));
        assert_eq!(claimed(large), Some(5_000_000));
    }
}
