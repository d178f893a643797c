//! Any bytes are the record of a backend or are ignored: a command finds its state, or reports why it does not.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use yuba_session::backend::{StateFlags, find};
use yuba_session::{Project, ProjectSettings};

const CONFIGURATIONS: [&str; 3] = [
    "",
    "terraform {\n  backend \"local\" {\n    path = \"x\"\n  }\n}\n",
    "terraform {\n  backend \"inmem\" {\n  }\n}\n",
];

fuzz_target!(|bytes: &[u8]| {
    let dir = std::env::temp_dir().join(format!("fuzz-backend-{}", std::process::id()));
    let project = Project::new(ProjectSettings::bare(&dir));
    let data_dir = project.path(project.data_dir());
    fs::create_dir_all(&data_dir).expect("the directory is writable");
    fs::write(data_dir.join("terraform.tfstate"), bytes).expect("the directory is writable");
    for text in CONFIGURATIONS {
        fs::write(dir.join("main.tf"), text).expect("the directory is writable");
        if let Ok(location) = find(&project, &StateFlags::default()) {
            let _ = location.backend();
        }
    }
});
