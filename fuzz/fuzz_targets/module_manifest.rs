//! Any bytes are a record of installed modules or are refused; a written record reads back as the same modules.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use yuba_session::manifest::{MANIFEST, read_manifest, write_manifest};
use yuba_session::{Project, ProjectSettings};

fuzz_target!(|bytes: &[u8]| {
    let dir = std::env::temp_dir().join(format!("fuzz-manifest-{}", std::process::id()));
    let project = Project::new(ProjectSettings::bare(&dir));
    let file = project.path(project.data_dir().join(MANIFEST));
    fs::create_dir_all(file.parent().expect("it is in a directory")).expect("the directory is writable");
    fs::write(&file, bytes).expect("the directory is writable");
    if let Ok(manifest) = read_manifest(&project) {
        write_manifest(&project, &manifest).expect("the directory is writable");
        let again = read_manifest(&project).expect("a written record can be read");
        assert_eq!(again, manifest);
    }
});
