//! Packets and the fields in them.

/// A packet: its type and its fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet<'a> {
    /// The type, such as 2 for a signature.
    pub(super) tag: u8,
    /// The fields.
    pub(super) body: &'a [u8],
}

/// All packets. Fails for lengths that only packets of encrypted messages have, and for a packet that is cut off.
pub(super) fn packets(bytes: &[u8]) -> Result<Vec<Packet<'_>>, String> {
    let mut reader = Reader(bytes);
    let mut found = Vec::new();
    while !reader.0.is_empty() {
        found.push(packet(&mut reader)?);
    }
    Ok(found)
}

fn packet<'a>(reader: &mut Reader<'a>) -> Result<Packet<'a>, String> {
    let header = reader.u8()?;
    let (tag, length) = match header {
        0xC0.. => {
            let length = match reader.u8()? {
                short @ 0..192 => usize::from(short),
                first @ 192..224 => ((usize::from(first) - 192) << 8) + usize::from(reader.u8()?) + 192,
                255 => reader.length()?,
                224..255 => return Err("a packet has an unsupported partial length".to_owned()),
            };
            (header & 0x3F, length)
        }
        0x80..0xC0 => {
            let length = match header & 3 {
                0 => usize::from(reader.u8()?),
                1 => usize::from(reader.u16()?),
                2 => reader.length()?,
                _ => return Err("a packet has an unsupported indeterminate length".to_owned()),
            };
            ((header >> 2) & 0xF, length)
        }
        _ => return Err("its packets are malformed".to_owned()),
    };
    Ok(Packet { tag, body: reader.take(length)? })
}

/// Bytes that are still to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    /// The next bytes. Fails if there are fewer.
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or("a packet is shorter than it declares")?;
        self.0 = rest;
        Ok(taken)
    }

    /// All bytes that are left.
    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    pub(super) fn u8(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }

    pub(super) fn u16(&mut self) -> Result<u16, String> {
        let bytes = self.take(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    pub(super) fn u32(&mut self) -> Result<u32, String> {
        let bytes = self.take(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// A length of four bytes.
    pub(super) fn length(&mut self) -> Result<usize, String> {
        usize::try_from(self.u32()?).map_err(|_| "a packet is too long".to_owned())
    }

    /// A multiprecision integer, big-endian and without leading zeros.
    pub(super) fn integer(&mut self) -> Result<&'a [u8], String> {
        let bits = usize::from(self.u16()?);
        let bytes = self.take(bits.div_ceil(8))?;
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        Ok(&bytes[zeros..])
    }
}
