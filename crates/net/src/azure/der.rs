//! A reader of DER, as far as PKCS#12 files need it: definite lengths, tags of one byte.

/// A boolean, which is skipped only.
pub(super) const INTEGER: u8 = 0x02;
/// A string of bytes.
pub(super) const OCTET_STRING: u8 = 0x04;
/// An object identifier.
pub(super) const OBJECT_IDENTIFIER: u8 = 0x06;
/// A sequence.
pub(super) const SEQUENCE: u8 = 0x30;
/// The first constructed element with a meaning of its context.
pub(super) const CONTEXT_0: u8 = 0xa0;
/// The first primitive element with a meaning of its context.
pub(super) const CONTEXT_0_PRIMITIVE: u8 = 0x80;

/// The elements that are left to read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Reads bytes from their beginning.
    pub(super) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }

    /// Whether all elements are read.
    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The tag of the next element.
    pub(super) fn peek(self) -> Option<u8> {
        self.0.first().copied()
    }

    /// Tag and content of the next element.
    pub(super) fn any(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        // Longer tags do not occur in these files.
        if tag & 0x1f == 0x1f {
            return None;
        }
        let (&first, mut rest) = rest.split_first()?;
        let length = match first {
            0..=0x7f => usize::from(first),
            0x81..=0x84 => {
                let (bytes, after) = rest.split_at_checked(usize::from(first & 0x7f))?;
                rest = after;
                bytes
                    .iter()
                    .try_fold(0_usize, |length, byte| length.checked_mul(256)?.checked_add(usize::from(*byte)))?
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }

    /// The content of the next element, if it has this tag.
    pub(super) fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        match self.peek() {
            Some(found) if found == tag => self.any().map(|(_, content)| content),
            _ => None,
        }
    }

    /// The elements of the next element, if it has this tag.
    pub(super) fn enter(&mut self, tag: u8) -> Option<Reader<'a>> {
        self.expect(tag).map(Reader)
    }

    /// The next element as a number that is not negative.
    pub(super) fn number(&mut self) -> Option<u32> {
        let bytes = self.expect(INTEGER)?;
        if bytes.is_empty() || bytes.len() > 5 || bytes[0] & 0x80 != 0 {
            return None;
        }
        bytes.iter().try_fold(0_u32, |number, byte| number.checked_mul(256)?.checked_add(u32::from(*byte)))
    }

    /// The bytes of a string. BER splits long ones into parts.
    pub(super) fn octets(&mut self, tag: u8) -> Option<Vec<u8>> {
        match self.peek()? {
            found if found == tag => self.any().map(|(_, content)| content.to_vec()),
            found if found == tag | 0x20 => {
                let mut parts = self.enter(found)?;
                let mut all = Vec::new();
                while !parts.is_empty() {
                    all.extend_from_slice(parts.expect(OCTET_STRING)?);
                }
                Some(all)
            }
            _ => None,
        }
    }
}

/// An object identifier with dots, for messages.
pub(super) fn dotted(oid: &[u8]) -> String {
    let mut numbers = Vec::new();
    let mut number: u64 = 0;
    for byte in oid {
        number = number.wrapping_shl(7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            numbers.push(number);
            number = 0;
        }
    }
    if let Some(first) = numbers.first_mut() {
        let area = (*first / 40).min(2);
        *first -= area * 40;
        numbers.insert(0, area);
    }
    let texts: Vec<String> = numbers.iter().map(u64::to_string).collect();
    texts.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_shown_with_dots() {
        assert_eq!(dotted(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0d]), "1.2.840.113549.1.5.13");
        assert_eq!(dotted(&[]), "");
    }

    #[test]
    fn damaged_elements_are_not_read() {
        for bytes in
            [&[0x30][..], &[0x30, 0x05, 0x00], &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff], &[0x30, 0x80], &[0x1f, 0x81]]
        {
            assert!(Reader::new(bytes).any().is_none(), "{bytes:?}");
        }
        assert_eq!(Reader::new(&[0x02, 0x01, 0xff]).number(), None);
        assert_eq!(Reader::new(&[0x02, 0x02, 0x08, 0x00]).number(), Some(2048));
        assert_eq!(
            Reader::new(&[0x24, 0x06, 0x04, 0x01, 0x61, 0x04, 0x01, 0x62]).octets(OCTET_STRING),
            Some(b"ab".to_vec())
        );
    }
}
