//! Archives that are right, and archives that want to do harm.

use std::io::Cursor;

use yuba_testkit::Sandbox;
use zip::write::SimpleFileOptions;

use super::*;

enum Entry {
    File(&'static str, &'static str),
    Link(&'static str, &'static str),
    Dir(&'static str),
    Same(&'static str, &'static str),
}
use Entry::{Dir, File as Plain, Link, Same};

fn zip_of(entries: &[Entry]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default();
    for entry in entries {
        match entry {
            Plain(path, text) => {
                writer.start_file(*path, options.unix_permissions(0o755)).expect("in memory");
                writer.write_all(text.as_bytes()).expect("in memory");
            }
            Link(path, target) => writer.add_symlink(*path, *target, options).expect("in memory"),
            Dir(path) => writer.add_directory(*path, options).expect("in memory"),
            Same(..) => panic!("zip archives cannot contain it"),
        }
    }
    writer.finish().expect("in memory").into_inner()
}

fn tar_of(entries: &[Entry]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for entry in entries {
        let mut header = tar::Header::new_ustar();
        header.set_mode(0o755);
        let (path, text) = match entry {
            Plain(path, text) => (path, *text),
            Link(path, target) => {
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_link_name(target).expect("it fits");
                (path, "")
            }
            Dir(path) => {
                header.set_entry_type(tar::EntryType::Directory);
                (path, "")
            }
            Same(path, target) => {
                header.set_entry_type(tar::EntryType::Link);
                // The same with targets.
                header.as_mut_bytes()[157..157 + target.len()].copy_from_slice(target.as_bytes());
                (path, "")
            }
        };
        // The library itself refuses hostile paths.
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(text.len() as u64);
        header.set_cksum();
        builder.append(&header, text.as_bytes()).expect("in memory");
    }
    builder.into_inner().expect("in memory")
}

/// Unpacks the same entries from every kind of archive; returns the files or the error.
fn check(entries: &[Entry], expect: &str) {
    let gz = |bytes: Vec<u8>| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(&bytes).and_then(|()| encoder.finish()).expect("in memory")
    };
    let bz = |bytes: Vec<u8>| {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
        encoder.write_all(&bytes).and_then(|()| encoder.finish()).expect("in memory")
    };
    let tar = tar_of(entries);
    let kinds = [
        (Format::Zip, zip_of(entries)),
        (Format::Tar, tar.clone()),
        (Format::TarGz, gz(tar.clone())),
        (Format::TarBz2, bz(tar)),
    ];
    check_kinds(&kinds, expect);
}

fn check_kinds(kinds: &[(Format, Vec<u8>)], expect: &str) {
    for (format, bytes) in kinds {
        let format = *format;
        let sandbox = Sandbox::new("", "");
        sandbox.write("archive", bytes);
        let (archive, into) = (sandbox.dir().join("archive"), sandbox.dir().join("into"));
        if format != Format::Tar {
            assert_eq!(Format::sniff(&archive), Ok(format));
        }
        let limits = Limits { entries: 4, bytes: 100 };
        let actual = match unpack(&archive, format, &into, limits) {
            Ok(()) => list(&into, ""),
            Err(error) => {
                assert!(!into.exists(), "{format:?}: something was left behind");
                error.to_string()
            }
        };
        assert_eq!(actual.trim_end(), expect, "{format:?}");
    }
}

fn list(dir: &Path, prefix: &str) -> String {
    let mut names: Vec<_> = fs::read_dir(dir).expect("it exists").flatten().collect();
    names.sort_by_key(fs::DirEntry::file_name);
    let mut text = String::new();
    for entry in names {
        let (path, name) = (entry.path(), format!("{prefix}{}", entry.file_name().to_string_lossy()));
        match fs::read_link(&path) {
            Ok(target) => text.push_str(&format!("{name}->{} ", target.display())),
            Err(_) if path.is_dir() => text.push_str(&list(&path, &format!("{name}/"))),
            Err(_) => text.push_str(&format!("{name}={} ", fs::read_to_string(&path).expect("it is text"))),
        }
    }
    text
}

#[test]
fn valid_archives_are_unpacked() {
    check(&[Dir("d/"), Plain("./d/a", "1"), Link("d/up", "../b"), Plain("b", "2")], "b=2 d/a=1 d/up->../b");
    check(&[], "the archive is damaged: it is empty");
}

#[test]
fn a_file_under_a_second_name_is_unpacked_twice() {
    let check = |entries: &[Entry], expect: &str| check_kinds(&[(Format::Tar, tar_of(entries))], expect);
    check(&[Plain("d/a", "1"), Same("b", "d/a")], "b=1 d/a=1");
    check(&[Plain("a", "1"), Same("b", "./a"), Same("c", "b")], "a=1 b=1 c=1");
    let missing = "the archive is damaged: b is the same file as a, which is not before it";
    check(&[Same("b", "a"), Plain("a", "1")], missing);
    check(&[Dir("a/"), Same("b", "a")], missing);
    check(&[Link("a", "c"), Plain("c", "1"), Same("b", "a")], missing);
    check(&[Same("b", "../a")], "the archive is refused: the path \"../a\" in it leads out of it");
    check(&[Same("b", "/etc/passwd")], "the archive is refused: the path \"/etc/passwd\" in it leads out of it");
    let large = "0123456789012345678901234567890123456789";
    check(
        &[Plain("a", large), Same("b", "a"), Same("c", "a")],
        "the archive is refused: its files have more than 100 bytes",
    );
}

/// A tar archive with the file "a", made by another program.
fn xz_archive() -> Vec<u8> {
    use base64::Engine as _;
    let text = "/Td6WFoAAATm1rRGAgAhARYAAAB0L+Wj4Cf/AFRdADCAM1AYaImDAdzibiEFRld82HL+/YrTwHbLjAH8uiYLZYgTMZ\
             VtJ44E682/eqzAtQ8/oxs8R/EKPzK9PBfUbm0JjZ1Id3r0qKikH4REEyy7H4UnAADeQVp/MDZZPAABcIBQAAAALGac\
             srHEZ/sCAAAAAARZWg==";
    base64::engine::general_purpose::STANDARD.decode(text).expect("it is Base64")
}

fn unpacked_xz(bytes: &[u8]) -> String {
    let sandbox = Sandbox::new("", "");
    sandbox.write("archive", bytes);
    let (archive, into) = (sandbox.dir().join("archive"), sandbox.dir().join("into"));
    assert_eq!(Format::sniff(&archive), Ok(Format::TarXz));
    match unpack(&archive, Format::TarXz, &into, Limits::default()) {
        Ok(()) => list(&into, ""),
        Err(error) => error.to_string(),
    }
}

#[test]
fn xz_is_known() {
    assert_eq!(unpacked_xz(&xz_archive()), "a=1 ");
    // Several streams with padding between them.
    let padded = [xz_archive(), vec![0; 8], xz_archive(), vec![0; 4]].concat();
    assert_eq!(unpacked_xz(&padded), "a=1 ");
}

#[test]
fn dictionaries_of_xz_archives_are_limited() {
    let with_dictionary = |stream: &mut [u8], size: u8| {
        assert_eq!(stream[12..17], [2, 0, 0x21, 1, 0x16]);
        stream[16] = size;
        let sum = crc32fast::hash(&stream[12..20]);
        stream[20..24].copy_from_slice(&sum.to_le_bytes());
    };
    let refused = "the archive is refused: a block needs a dictionary of more than 134217728 bytes";
    for (size, expect) in [(30, "a=1 "), (31, refused), (40, refused), (255, refused)] {
        let mut archive = xz_archive();
        with_dictionary(&mut archive, size);
        assert_eq!(unpacked_xz(&archive), expect, "{size}");
        // In a later stream.
        let both = [xz_archive(), archive].concat();
        assert_eq!(unpacked_xz(&both), expect, "{size}");
    }
    assert!(unpacked_xz(&[xz_archive(), b"rubbish, rubbish".to_vec()].concat()).contains("not part of a stream"));
    let whole = xz_archive();
    // The index and the end are not needed to unpack it.
    for at in 6..whole.len() / 2 {
        assert!(unpacked_xz(&whole[..at]).starts_with("the archive is damaged"), "{at}");
    }
}

#[test]
fn nothing_leads_out() {
    check(&[Plain("../x", "1")], "the archive is refused: the path \"../x\" in it leads out of it");
    check(&[Plain("a/../../x", "1")], "the archive is refused: the path \"a/../../x\" in it leads out of it");
    check(&[Plain("/x", "1")], "the archive is refused: the path \"/x\" in it leads out of it");
    check(&[Link("l", "../x")], "the archive is refused: the link l to ../x leads out of it");
    check(&[Link("l", "/etc")], "the archive is refused: the link l to /etc leads out of it");
    check(&[Link("d/l", "../../x")], "the archive is refused: the link d/l to ../../x leads out of it");
    check(&[Link("l", "d/../x")], "the archive is refused: the link l to d/../x goes up after it went down");
    check(&[Link("l", "."), Link("l/m", "..")], "the archive is refused: l/m is within the link l");
}

#[test]
fn nothing_is_written_through_links() {
    let sandbox = Sandbox::new("", "");
    sandbox.write("archive", tar_of(&[Link("l", "d"), Plain("l/x", "1")]));
    let into = sandbox.dir().join("into");
    let unpacked = unpack(&sandbox.dir().join("archive"), Format::Tar, &into, Limits::default());
    assert!(matches!(unpacked, Err(ArchiveError::Hostile(_))) && !into.exists(), "{unpacked:?}");
}

#[test]
fn bombs_are_refused() {
    let long: &'static str = "0123456789".repeat(11).leak();
    check(&[Plain("a", long)], "the archive is refused: its files have more than 100 bytes");
    check(
        &[Dir("a/"), Dir("b/"), Dir("c/"), Dir("d/"), Dir("e/")],
        "the archive is refused: it has more than 4 entries",
    );
}

/// A tar archive of raw entries: type, size in the header, content.
fn raw_tar(entries: &[(u8, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (kind, content) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_path("x").expect("it fits");
        header.set_entry_type(tar::EntryType::new(*kind));
        header.set_size(content.len() as u64);
        header.set_cksum();
        bytes.extend(header.as_bytes());
        bytes.extend(*content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.extend([0; 1024]);
    bytes
}

#[test]
fn metadata_of_tar_entries_is_limited() {
    let check = |entries: &[(u8, &[u8])], limits: Limits, expect: &str| {
        let sandbox = Sandbox::new("", "");
        sandbox.write("archive", raw_tar(entries));
        let into = sandbox.dir().join("into");
        let unpacked = unpack(&sandbox.dir().join("archive"), Format::Tar, &into, limits);
        let actual = match unpacked {
            Ok(()) => list(&into, ""),
            Err(error) => error.to_string().replace(&into.display().to_string(), "into"),
        };
        assert_eq!(actual, expect);
    };
    let name = vec![b'n'; 1000];
    let large = vec![b'n'; 1 << 20];
    let refused = "the archive is refused: an entry has more than 1048576 bytes of metadata";
    for kind in *b"LKx" {
        check(&[(kind, &large), (b'0', b"1")], Limits::default(), refused);
    }
    // Together.
    check(&[(b'L', &large[..600_000]), (b'K', &large[..600_000]), (b'2', b"")], Limits::default(), refused);
    check(&[(b'L', b"long"), (b'0', b"1")], Limits::default(), "long=1 ");
    check(&[(b'g', b"12 comment=x\n"), (b'0', b"1")], Limits::default(), "x=1 ");
    // What is not unpacked counts, too.
    let few = Limits { entries: 2, bytes: 100 };
    let many = "the archive is refused: it has more than 2 entries";
    check(&[(b'g', b""), (b'g', b""), (b'0', b"1")], few, many);
    let bytes = "the archive is refused: its files have more than 100 bytes";
    check(&[(b'g', &name), (b'0', b"1")], few, bytes);
    check(&[(b'5', &name)], few, bytes);
}

#[test]
fn errors_shorten_names() {
    let sandbox = Sandbox::new("", "");
    let name = format!("../{}", "n".repeat(1000));
    sandbox.write("archive", raw_tar(&[(b'L', name.as_bytes()), (b'0', b"1")]));
    let unpacked = unpack(&sandbox.dir().join("archive"), Format::Tar, &sandbox.dir().join("into"), Limits::default());
    let expect = format!("the archive is refused: the path \"../{}...\" in it leads out of it", "n".repeat(197));
    assert_eq!(unpacked.expect_err("it leads out").to_string(), expect);
}

#[test]
fn links_in_memory_are_limited() {
    let sandbox = Sandbox::new("", "");
    let target = vec![b't'; 90];
    sandbox.write("archive", raw_tar(&[(b'K', &target), (b'2', b""), (b'K', &target), (b'2', b"")]));
    let limits = Limits { entries: 10, bytes: 100 };
    let unpacked = unpack(&sandbox.dir().join("archive"), Format::Tar, &sandbox.dir().join("into"), limits);
    let expect = "the archive is refused: its files have more than 100 bytes";
    assert_eq!(unpacked.expect_err("they are too large").to_string(), expect);
}

#[test]
fn special_files_and_rubbish_are_refused() {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(tar::EntryType::Fifo);
    header.set_path("pipe").expect("it fits");
    header.set_cksum();
    let mut pipe = header.as_bytes().to_vec();
    pipe.extend([0; 1024]);
    let rubbish = b"PK\x03\x04 but not really".to_vec();
    for (format, bytes) in [
        (Format::Tar, pipe),
        (Format::Zip, rubbish.clone()),
        (Format::TarGz, rubbish.clone()),
        (Format::TarXz, rubbish),
    ] {
        let sandbox = Sandbox::new("", "");
        sandbox.write("archive", bytes);
        let into = sandbox.dir().join("into");
        let unpacked = unpack(&sandbox.dir().join("archive"), format, &into, Limits::default());
        assert!(unpacked.is_err() && !into.exists(), "{format:?}");
    }
}

#[test]
fn damaged_archives_are_explained() {
    let sandbox = Sandbox::new("", "");
    let (path, into) = (sandbox.dir().join("damaged"), sandbox.dir().join("into"));
    let whole = zip_of(&[Plain("a", "some text, some text, some text"), Dir("d"), Link("d/x", "../a")]);
    let mut reasons = std::collections::BTreeSet::new();
    let mut try_it = |bytes: &[u8]| {
        std::fs::write(&path, bytes).expect("it can be written");
        match unpack(&path, Format::Zip, &into, Limits::default()) {
            Ok(()) => std::fs::remove_dir_all(&into).expect("it exists"),
            Err(error) => drop(reasons.insert(error.to_string())),
        }
        assert!(!into.exists());
    };
    for at in 0..whole.len() {
        try_it(&whole[..at]);
        let mut changed = whole.clone();
        changed[at] ^= 0xff;
        try_it(&changed);
    }
    let reasons: Vec<String> = reasons.into_iter().collect();
    assert!(!reasons.iter().any(|reason| reason.ends_with("i/o error")), "{reasons:#?}");
}

#[test]
fn files_are_summed_up_as_they_are_written() {
    let sums = |entries: &[Entry]| {
        let sandbox = Sandbox::new("", "");
        sandbox.write("archive", zip_of(entries));
        let into = sandbox.dir().join("into");
        let sums = unpack_summed(&sandbox.dir().join("archive"), &into, Limits::default());
        let sums = sums.expect("it is right");
        let on_disk = sums.keys().map(|path| (path.clone(), Sha256::digest(fs::read(into.join(path)).expect("there"))));
        assert_eq!(on_disk.map(|(path, sum)| (path, sum.into())).collect::<Sums>(), sums);
        list(&into, "")
    };
    // More than is written at once.
    let long: &'static str = "0123456789abcdef".repeat(20_000).leak();
    let files = sums(&[Dir("d/"), Plain("./d/long", long), Plain("empty", ""), Plain("b", "2")]);
    assert_eq!(files, format!("b=2 d/long={long} empty= "));
}

#[test]
fn a_link_is_summed_up_as_its_target() {
    let sandbox = Sandbox::new("", "");
    sandbox.write("archive", zip_of(&[Plain("b", "2"), Link("l", "b")]));
    let into = sandbox.dir().join("into");
    let sums = unpack_summed(&sandbox.dir().join("archive"), &into, Limits::default()).expect("it is right");
    let expect = [("b", "2"), ("l", "b")];
    assert_eq!(sums, Sums::from(expect.map(|(name, text)| (PathBuf::from(name), Sha256::digest(text).into()))));
    assert_eq!(list(&into, ""), "b=2 l=b ");
}

#[test]
fn a_wrong_checksum_is_noticed() {
    let mut bytes = zip_of(&[Plain("a", "some text that is long enough")]);
    // In the local header and in the directory at the end.
    let sum = crc32fast::hash(b"some text that is long enough").to_le_bytes();
    let places: Vec<usize> = (0..bytes.len() - 4).filter(|at| bytes[*at..].starts_with(&sum)).collect();
    assert_eq!(places.len(), 2);
    places.iter().for_each(|at| bytes[*at] ^= 1);
    let sandbox = Sandbox::new("", "");
    sandbox.write("archive", bytes);
    let into = sandbox.dir().join("into");
    let unpacked = unpack(&sandbox.dir().join("archive"), Format::Zip, &into, Limits::default());
    let error = unpacked.expect_err("the checksum is wrong").to_string();
    assert_eq!(error, "the archive is damaged: a file in it does not match its checksum");
    assert!(!into.exists());
}

#[test]
fn a_file_that_is_not_as_large_as_it_claims_is_unpacked_as_it_is() {
    let text: &'static str = "some text that is long enough, ".repeat(40).leak();
    for claimed in [0_u32, 7, 2000, 63 << 20, u32::MAX - 1] {
        let mut bytes = zip_of(&[Plain("a", text)]);
        let size = (text.len() as u32).to_le_bytes();
        let places: Vec<usize> = (0..bytes.len() - 4).filter(|at| bytes[*at..].starts_with(&size)).collect();
        assert_eq!(places.len(), 2);
        places.iter().for_each(|at| bytes[*at..][..4].copy_from_slice(&claimed.to_le_bytes()));
        let sandbox = Sandbox::new("", "");
        sandbox.write("archive", bytes);
        let into = sandbox.dir().join("into");
        let sums = unpack_summed(&sandbox.dir().join("archive"), &into, Limits::default());
        let expect = Sums::from([(PathBuf::from("a"), Sha256::digest(text).into())]);
        assert_eq!(sums.expect("it is right"), expect, "{claimed}");
        assert_eq!(fs::read_to_string(into.join("a")).expect("it exists"), text);
    }
}

#[test]
fn archives_that_are_unpacked_together_do_not_mix() {
    std::thread::scope(|scope| {
        for letter in ["a", "b", "c", "d", "e", "f"] {
            scope.spawn(move || {
                // Some are larger than the previous ones, some smaller.
                let long: &'static str =
                    letter.repeat((1 << 20) + usize::from(letter.as_bytes()[0] % 3) * (3 << 20)).leak();
                let sandbox = Sandbox::new("", "");
                sandbox.write("archive", zip_of(&[Plain("x", long), Plain("y", letter)]));
                let into = sandbox.dir().join("into");
                let sums = unpack_summed(&sandbox.dir().join("archive"), &into, Limits::default());
                let sum = |text: &str| <[u8; 32]>::from(Sha256::digest(text));
                let expect = Sums::from([(PathBuf::from("x"), sum(long)), (PathBuf::from("y"), sum(letter))]);
                assert_eq!(sums.expect("it is right"), expect);
                assert!(fs::read_to_string(into.join("x")).expect("it exists") == long);
            });
        }
    });
}
