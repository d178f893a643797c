//! Archives: tar with gzip, and Debian packages. The same files give the same bytes.

use std::io::Write as _;

use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};

use super::files::PackedFile;

/// A gzip file without name and time.
pub(super) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder: GzEncoder<Vec<u8>> = GzBuilder::new().write(Vec::new(), Compression::best());
    encoder.write_all(content).expect("memory can be written");
    encoder.finish().expect("memory can be written")
}

/// A tar archive with the files below a directory, and with the directories. `time` is the time of all entries, in seconds since 1970.
pub(super) fn tar(top: &str, files: &[PackedFile], time: u64) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut known = Vec::new();
    for file in files {
        let path = format!("{top}/{}", file.path);
        for (at, _) in path.match_indices('/') {
            let directory = format!("{}/", &path[..at]);
            if !known.contains(&directory) {
                add(&mut builder, &directory, &[], 0o755, time);
                known.push(directory);
            }
        }
        add(&mut builder, &path, &file.content, file.mode, time);
    }
    builder.into_inner().expect("memory can be written")
}

fn add(builder: &mut tar::Builder<Vec<u8>>, path: &str, content: &[u8], mode: u32, time: u64) {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(if path.ends_with('/') { tar::EntryType::Directory } else { tar::EntryType::Regular });
    header.set_mode(mode);
    header.set_size(content.len() as u64);
    header.set_mtime(time);
    header.set_uid(0);
    header.set_gid(0);
    header.set_username("root").expect("the name is short");
    header.set_groupname("root").expect("the name is short");
    builder.append_data(&mut header, path, content).expect("memory can be written");
}

/// A Debian package: an `ar` archive of a version, the archive of control files and the archive of files.
pub(super) fn deb(control: &str, files: &[PackedFile], time: u64) -> Vec<u8> {
    let sums: String = files.iter().map(|file| format!("{}  {}\n", file.md5(), file.path)).collect();
    let control = [PackedFile::text("control", control), PackedFile::text("md5sums", &sums)];
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", gzip(&tar(".", &control, time))),
        ("data.tar.gz", gzip(&tar(".", files, time))),
    ];
    let mut package = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let (mode, size) = ("100644", content.len());
        writeln!(package, "{name:<16}{time:<12}{:<6}{:<6}{mode:<8}{size:<10}`", 0, 0).expect("memory can be written");
        package.extend(&content);
        if content.len() % 2 == 1 {
            package.push(b'\n');
        }
    }
    package
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::super::files::PackedFile;
    use super::{deb, gzip, tar};

    fn listed(tar: &[u8]) -> Vec<String> {
        let mut archive = tar::Archive::new(tar);
        let entries = archive.entries().expect("because it is an archive");
        let shown = entries.map(|entry| {
            let entry = entry.expect("because it is an entry");
            let path = entry.path().expect("because it is a path").display().to_string();
            format!("{:o} {path} {}", entry.header().mode().expect("because it is a number"), entry.size())
        });
        shown.collect()
    }

    fn files() -> Vec<PackedFile> {
        vec![PackedFile::executable("bin/yuba", b"binary".to_vec()), PackedFile::text("share/doc/yuba/LICENSE", "text")]
    }

    #[test]
    fn archives_have_directories_and_modes() {
        let expected = [
            "755 top/ 0",
            "755 top/bin/ 0",
            "755 top/bin/yuba 6",
            "755 top/share/ 0",
            "755 top/share/doc/ 0",
            "755 top/share/doc/yuba/ 0",
            "644 top/share/doc/yuba/LICENSE 4",
        ];
        assert_eq!(listed(&tar("top", &files(), 7)), expected);
    }

    #[test]
    fn the_same_files_give_the_same_bytes() {
        assert_eq!(gzip(&tar("top", &files(), 7)), gzip(&tar("top", &files(), 7)));
        assert_eq!(deb("Package: yuba\n", &files(), 7), deb("Package: yuba\n", &files(), 7));
    }

    #[test]
    fn a_debian_package_has_three_members() {
        let package = deb("Package: yuba\n", &files(), 7);
        let mut rest = package.strip_prefix(b"!<arch>\n").expect("because it is an ar archive");
        let mut names = Vec::new();
        while !rest.is_empty() {
            let (header, content) = rest.split_at(60);
            let header = String::from_utf8_lossy(header).into_owned();
            assert!(header.ends_with("`\n"), "{header:?}");
            let size: usize = header[48..58].trim().parse().expect("because it is a number");
            if header.starts_with("control") {
                let mut text = Vec::new();
                flate2::read::GzDecoder::new(&content[..size]).read_to_end(&mut text).expect("because it is gzip");
                let text = String::from_utf8_lossy(&text).into_owned();
                assert!(text.contains("Package: yuba") && text.contains("  bin/yuba\n"), "{text}");
            }
            names.push(header[..16].trim().to_owned());
            rest = &content[size + size % 2..];
        }
        assert_eq!(names, ["debian-binary", "control.tar.gz", "data.tar.gz"]);
    }
}
