//! Any bytes are an archive or are refused: nothing is written beside the directory it is unpacked to, no link leads out of
//! it, and nothing is left of what is refused.
#![no_main]

use std::fs;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use yuba_install::archive::{Format, Limits, unpack, unpack_summed};

/// No link leads out of a directory.
fn check(dir: &Path, root: &Path) {
    for entry in fs::read_dir(dir).expect("it is a directory") {
        let path = entry.expect("it can be read").path();
        let found = fs::symlink_metadata(&path).expect("it exists");
        if found.is_symlink() {
            // A dangling link stays dangling.
            if let Ok(target) = fs::canonicalize(&path) {
                assert!(target.starts_with(root), "{} leads to {}", path.display(), target.display());
            }
        } else if found.is_dir() {
            check(&path, root);
        } else {
            assert!(found.is_file(), "{} is something else", path.display());
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    let format = match choice % 5 {
        0 | 1 => Format::Zip,
        2 | 3 => Format::Tar,
        _ => Format::TarGz,
    };
    let place = std::env::temp_dir().join(format!("fuzz-archive-{}", std::process::id()));
    // A run that was broken off may have left it.
    let _ = fs::remove_dir_all(&place);
    fs::create_dir(&place).expect("the directory for temporary files is writable");
    let (archive, into) = (place.join("archive"), place.join("into"));
    fs::write(&archive, bytes).expect("the directory is writable");
    let limits = Limits { entries: 100, bytes: 1 << 20 };
    let unpacked = match choice {
        0..128 if format == Format::Zip => unpack_summed(&archive, &into, limits).map(drop),
        _ => unpack(&archive, format, &into, limits),
    };
    match unpacked {
        Ok(()) => check(&into, &fs::canonicalize(&into).expect("it exists")),
        Err(error) => assert!(!into.exists(), "something is left although {error}"),
    }
    let names = fs::read_dir(&place).expect("it exists").count();
    assert!(names <= 2, "something was written elsewhere");
    fs::remove_dir_all(&place).expect("it is ours");
});
