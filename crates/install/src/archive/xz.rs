//! The blocks of an xz archive: the memory that each needs to be unpacked.
//!
//! A block declares the size of its dictionary, up to 4 GiB, and a decompressor stores as much of the unpacked data in memory. The
//! library allocates the declared size, so the headers are read first.

use std::io::{self, BufRead, Read, Seek, SeekFrom};

/// Maximum size of a dictionary. `xz -9` has 64 MiB.
const LARGEST_DICTIONARY: u64 = 128 << 20;
/// The filter that compresses. Every block ends with it.
const LZMA2: u64 = 0x21;
/// How a stream begins.
const MAGIC: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];

/// Reads the headers of all blocks. Fails if the archive is damaged or, with [`io::ErrorKind::Unsupported`], if the dictionary of a block
/// is too large. The archive is read from its start afterwards.
pub(super) fn check_dictionaries(archive: &mut (impl BufRead + Seek)) -> io::Result<()> {
    archive.seek(SeekFrom::Start(0))?;
    while stream(archive)? {}
    archive.seek(SeekFrom::Start(0))?;
    Ok(())
}

fn invalid(reason: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason.into())
}

fn skip(archive: &mut impl Seek, bytes: u64) -> io::Result<()> {
    let bytes = i64::try_from(bytes).map_err(|_| invalid("a length in it is too large"))?;
    archive.seek_relative(bytes)
}

fn byte(archive: &mut impl Read) -> io::Result<u8> {
    let mut byte = [0];
    archive.read_exact(&mut byte)?;
    Ok(byte[0])
}

/// Reads a stream. Returns false at the end of the archive.
fn stream(archive: &mut (impl BufRead + Seek)) -> io::Result<bool> {
    // Streams can be padded with zeros.
    loop {
        match archive.fill_buf()?.first() {
            None => return Ok(false),
            Some(0) => archive.consume(1),
            Some(_) => break,
        }
    }
    let mut header = [0; 12];
    archive.read_exact(&mut header)?;
    if !header.starts_with(MAGIC) {
        return Err(invalid("it has data that is not part of a stream"));
    }
    // Types of checks come in groups of three with the same size: none, CRC32, CRC64, SHA-256.
    let check = match header[7] & 0x0f {
        0 => 0,
        kind => 4_u64 << ((u32::from(kind) - 1) / 3),
    };
    loop {
        match byte(archive)? {
            0 => break,
            size => block_header(archive, size)?,
        }
        let packed = chunks(archive)?;
        skip(archive, packed.next_multiple_of(4) - packed + check)?;
    }
    index(archive)?;
    Ok(true)
}

/// Reads the rest of the header of a block after its first byte.
fn block_header(archive: &mut impl Read, size: u8) -> io::Result<()> {
    let mut header = vec![0; (usize::from(size) + 1) * 4 - 1];
    archive.read_exact(&mut header)?;
    let mut rest = &header[..];
    let flags = byte(&mut rest)?;
    for is_present in [flags & 0x40 != 0, flags & 0x80 != 0] {
        if is_present {
            number(&mut rest)?;
        }
    }
    let mut last = None;
    for _ in 0..=(flags & 3) {
        let (filter, length) = (number(&mut rest)?, number(&mut rest)?);
        let (properties, after) = usize::try_from(length)
            .ok()
            .and_then(|length| rest.split_at_checked(length))
            .ok_or_else(|| invalid("the header of a block is too short"))?;
        last = Some((filter, properties));
        rest = after;
        if let (LZMA2, [size]) = (filter, properties) {
            check_dictionary(*size)?;
        }
    }
    match last {
        Some((LZMA2, [_])) => Ok(()),
        _ => Err(invalid("a block is compressed in another way than with LZMA2")),
    }
}

fn check_dictionary(encoded: u8) -> io::Result<()> {
    let size = match encoded {
        0..40 => (2 | u64::from(encoded & 1)) << (encoded / 2 + 11),
        _ => u64::MAX,
    };
    match size <= LARGEST_DICTIONARY {
        true => Ok(()),
        false => {
            let reason = format!("a block needs a dictionary of more than {LARGEST_DICTIONARY} bytes");
            Err(io::Error::new(io::ErrorKind::Unsupported, reason))
        }
    }
}

/// Skips the chunks of a block. Returns their size.
fn chunks(archive: &mut (impl Read + Seek)) -> io::Result<u64> {
    let mut size = 0;
    loop {
        let control = byte(archive)?;
        size += 1;
        let (header, length) = match control {
            0 => return Ok(size),
            1 | 2 => {
                let mut unpacked = [0; 2];
                archive.read_exact(&mut unpacked)?;
                (2, u64::from(u16::from_be_bytes(unpacked)) + 1)
            }
            3..0x80 => return Err(invalid("a chunk of a block has an unknown type")),
            0x80.. => {
                let mut sizes = [0; 4];
                archive.read_exact(&mut sizes)?;
                let packed = u64::from(u16::from_be_bytes([sizes[2], sizes[3]])) + 1;
                // From 0xC0 on, a byte of properties precedes the data.
                (4, packed + u64::from(control >= 0xc0))
            }
        };
        skip(archive, length)?;
        size += header + length;
    }
}

/// Skips the index after its first byte, and the end of the stream.
fn index(archive: &mut (impl Read + Seek)) -> io::Result<()> {
    let mut size = 1;
    let mut next = |archive: &mut _| -> io::Result<u64> {
        let (number, length) = counted(archive)?;
        size += length;
        Ok(number)
    };
    // Each takes two bytes at least, so the archive ends before the numbers get large.
    for _ in 0..next(archive)? {
        next(archive)?;
        next(archive)?;
    }
    skip(archive, u64::next_multiple_of(size, 4) - size + 4 + 12)
}

fn number(archive: &mut impl Read) -> io::Result<u64> {
    counted(archive).map(|(number, _)| number)
}

/// A number of variable length, and its length.
fn counted(archive: &mut impl Read) -> io::Result<(u64, u64)> {
    let mut number = 0;
    for at in 0..9 {
        let byte = byte(archive)?;
        number |= u64::from(byte & 0x7f) << (at * 7);
        if byte & 0x80 == 0 {
            return Ok((number, at + 1));
        }
    }
    Err(invalid("a number in it is too long"))
}
