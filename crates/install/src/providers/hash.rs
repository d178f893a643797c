//! By what packages are recognized: `h1:` is a hash of the files in a package, `zh:` one of its archive.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ecow::{EcoString, eco_format};
use sha2::{Digest as _, Sha256};

use crate::summing::{self, Message};

/// Maximum nesting of directories of a package.
const MAX_DEPTH: usize = 64;

/// The hash `h1:` of an unpacked package: of the names and contents of all its files.
pub fn of_dir(dir: &Path) -> io::Result<EcoString> {
    sums(dir).map(of_sums)
}

/// The SHA-256 sums of the files of an unpacked package.
pub(crate) fn sums(dir: &Path) -> io::Result<Vec<(String, [u8; 32])>> {
    files(dir)?.into_iter().map(|name| sum(&dir.join(&name)).map(|sum| (name, sum))).collect()
}

/// The hash `h1:` of files with their SHA-256 sums, by name with slashes.
pub fn of_sums<N: AsRef<str> + Ord>(sums: impl IntoIterator<Item = (N, [u8; 32])>) -> EcoString {
    let mut sums: Vec<(N, [u8; 32])> = sums.into_iter().collect();
    sums.sort();
    let mut list = String::new();
    for (name, sum) in &sums {
        // Writing to a text does not fail.
        let _ = writeln!(list, "{}  {}", hex(sum), name.as_ref());
    }
    eco_format!("h1:{}", STANDARD.encode(Sha256::digest(list)))
}

/// The hash `zh:` of an archive.
pub fn of_archive(path: &Path) -> io::Result<EcoString> {
    Ok(of_archive_sum(&sum(path)?))
}

/// The hash `zh:` of an archive with a SHA-256 sum.
pub fn of_archive_sum(sum: &[u8; 32]) -> EcoString {
    eco_format!("zh:{}", hex(sum))
}

/// The SHA-256 sum of a file.
pub fn sum(path: &Path) -> io::Result<[u8; 32]> {
    summing::sum(Message::File(File::open(path)?))
}

/// Lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// A SHA-256 sum in hexadecimal digits.
pub fn parse_sum(text: &str) -> Option<[u8; 32]> {
    let digits: Vec<u8> =
        text.chars().map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    (digits.len() == 64).then(|| bytes.try_into().ok())?
}

/// The files of a package, with slashes between the parts of their names. Links to directories are not followed: such a
/// package cannot be hashed.
pub(crate) fn files(dir: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut open = vec![(PathBuf::from(dir), String::new(), 0)];
    while let Some((dir, prefix, depth)) = open.pop() {
        if depth > MAX_DEPTH {
            return Err(io::Error::other("its directories are nested too deep"));
        }
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            let name = entry.file_name().into_string().map_err(|_| io::Error::other("a file name is not Unicode"))?;
            if name.contains('\n') {
                return Err(io::Error::other("a file name has a line break"));
            }
            let name = format!("{prefix}{name}");
            match entry.file_type()?.is_dir() {
                true => open.push((entry.path(), format!("{name}/"), depth + 1)),
                false => found.push(name),
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_go() {
        // printf 'hello' etc., hashed with golang.org/x/mod/sumdb/dirhash.
        assert_eq!(of_sums::<&str>([]), "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        let sandbox =
            yuba_testkit::Sandbox::new("", "//- package/a\nthis is not a real plugin\n//- package/sub/b\nb\n");
        let dir = sandbox.dir().join("package");
        fs::rename(dir.join("a"), dir.join("terraform-provider-template_v2.1.0_x4")).expect("it exists");
        fs::remove_dir_all(dir.join("sub")).expect("it exists");
        assert_eq!(of_dir(&dir).expect("it can be read"), "h1:e7YvVlRZlaZJ8ED5KnH0dAg0kPL0nAU7eEoCAZ/sOos=");
        fs::write(dir.join("abc"), "abc").expect("it can be written");
        let sum = sum(&dir.join("abc")).expect("it can be read");
        assert_eq!(parse_sum(&hex(&sum)), Some(sum));
        assert_eq!(of_archive_sum(&sum), "zh:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!((parse_sum("xx"), parse_sum("ab"), parse_sum("é")), (None, None, None));
    }
}
