//! `checksum=sha256:...` and `checksum=file:...`: what a downloaded file must be.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256, Sha512};

/// A checksum that a file must have.
pub(super) struct Checksum {
    kind: Kind,
    expected: String,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Md5,
    Sha1,
    Sha256,
    Sha512,
}

impl Checksum {
    /// Reads `kind:hex`, or just the digits, whose length determines the kind.
    pub(super) fn parse(given: &str) -> Result<Checksum, String> {
        let lower = given.to_ascii_lowercase();
        let (kind, digits) = match lower.split_once(':') {
            Some(("md5", digits)) => (Some(Kind::Md5), digits),
            Some(("sha1", digits)) => (Some(Kind::Sha1), digits),
            Some(("sha256", digits)) => (Some(Kind::Sha256), digits),
            Some(("sha512", digits)) => (Some(Kind::Sha512), digits),
            Some((kind, _)) => return Err(format!("the checksum type {kind:?} is not supported")),
            None => (None, lower.as_str()),
        };
        let by_length = match digits.len() {
            32 => Kind::Md5,
            40 => Kind::Sha1,
            64 => Kind::Sha256,
            128 => Kind::Sha512,
            _ => return Err(format!("the checksum {given:?} does not have the digits of any kind of checksum")),
        };
        let kind = kind.unwrap_or(by_length);
        if kind as u8 != by_length as u8 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(format!("the checksum {given:?} is malformed"));
        }
        Ok(Checksum { kind, expected: digits.to_owned() })
    }

    /// The checksum that a list has for a file. A list is the output of a tool like `sha256sum`, with or without the kind of
    /// checksum in front, or one checksum alone.
    pub(super) fn listed(list: &str, name: &str) -> Option<Checksum> {
        list.lines().find_map(|line| {
            let line = line.trim();
            if let Some((kind, rest)) = line.split_once(" (") {
                let (listed, digits) = rest.rsplit_once(") = ")?;
                return Self::parse(&format!("{}:{}", kind.to_ascii_lowercase(), digits.trim()))
                    .ok()
                    .filter(|_| is_name(listed, name));
            }
            match line.split_once(char::is_whitespace) {
                Some((digits, listed)) => {
                    let listed = listed.trim_start();
                    let listed = listed.strip_prefix('*').unwrap_or(listed);
                    Self::parse(digits).ok().filter(|_| is_name(listed, name))
                }
                None => Self::parse(line).ok(),
            }
        })
    }

    /// Compares it with that of a file.
    pub(super) fn check(&self, file: &Path) -> Result<(), String> {
        let unreadable = |error: io::Error| format!("{} could not be read: {error}", file.display());
        let mut input = File::open(file).map_err(unreadable)?;
        let found = match self.kind {
            Kind::Md5 => digest::<md5::Md5>(&mut input),
            Kind::Sha1 => digest::<sha1::Sha1>(&mut input),
            Kind::Sha256 => digest::<Sha256>(&mut input),
            Kind::Sha512 => digest::<Sha512>(&mut input),
        };
        let found = found.map_err(unreadable)?;
        if found == self.expected {
            return Ok(());
        }
        Err(format!("the checksum of what was downloaded is {found}, but it should be {}", self.expected))
    }
}

/// Whether an entry of a list is about the file, which may be in the directory of the list by name only.
fn is_name(listed: &str, name: &str) -> bool {
    listed.strip_prefix("./").unwrap_or(listed) == name
}

/// The checksum of everything that can be read, in hexadecimal digits.
pub(super) fn digest<D: Digest>(input: &mut dyn Read) -> io::Result<String> {
    let mut hasher = D::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => hasher.update(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_read_and_compared() {
        let file = std::env::temp_dir().join(format!("checksum-{}", std::process::id()));
        std::fs::write(&file, "abc").expect("the directory for temporary files is writable");
        let check = |given: &str| Checksum::parse(given).and_then(|checksum| checksum.check(&file));
        let right = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(check(&format!("sha256:{right}")), Ok(()));
        assert_eq!(check(right), Ok(()));
        assert_eq!(check("MD5:900150983CD24FB0D6963F7D28E17F72"), Ok(()));
        assert_eq!(check("a9993e364706816aba3e25717850c26c9cd0d89d"), Ok(()));
        assert!(check(&right.replace('b', "c")).is_err_and(|reason| reason.contains("should be")));
        for wrong in ["x", "file:x", "sha256:00", "crc:00", &format!("md5:{right}"), &"g".repeat(64)] {
            assert!(Checksum::parse(wrong).is_err(), "{wrong}");
        }
        let list = |list: &str| Checksum::listed(list, "a.zip").map(|checksum| checksum.check(&file).is_ok());
        let wrong = right.replace('b', "c");
        for (text, expected) in [
            (format!("{wrong}  b.zip\n{right}  a.zip\n"), Some(true)),
            (format!("{right}  b.zip\n{wrong} *./a.zip\n"), Some(false)),
            (format!("SHA256 (b.zip) = {wrong}\nSHA256 (a.zip) = {right}\n"), Some(true)),
            (format!("\n{right}\n"), Some(true)),
            (format!("{right}  dir/a.zip\nMD5 (a.zip) = {right}\n"), None),
            ("a.zip\n".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(list(&text), expected, "{text}");
        }
        let _ = std::fs::remove_file(file);
    }
}
