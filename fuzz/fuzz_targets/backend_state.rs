//! Any bytes are the record of a backend or are ignored: a command finds its state, or says why it does not.
#![no_main]

use std::fs;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use yuba_eval::MemoryWorld;
use yuba_eval::tree::Purpose;
use yuba_session::backend::{StateFlags, find};
use yuba_session::load::LoadRequest;
use yuba_session::providers::InstalledProviders;

const CONFIGURATIONS: [&str; 3] =
    ["", "terraform {\n  backend \"local\" {\n    path = \"x\"\n  }\n}\n", "terraform {\n  backend \"inmem\" {\n  }\n}\n"];

fn request<'a>(dir: &'a str, data_dir: &'a Path, world: &'a MemoryWorld, providers: &'a InstalledProviders) -> LoadRequest<'a> {
    LoadRequest {
        dir,
        data_dir,
        world,
        providers,
        original_dir: None,
        workspace: "default",
        variables: &[],
        environment: &[],
        test_dir: None,
        purpose: Purpose::Look,
        snapshot: None,
    }
}

fuzz_target!(|bytes: &[u8]| {
    let dir = std::env::temp_dir().join(format!("fuzz-backend-{}", std::process::id()));
    let data_dir = dir.join(".terraform");
    fs::create_dir_all(&data_dir).expect("the directory is writable");
    fs::write(data_dir.join("terraform.tfstate"), bytes).expect("the directory is writable");
    let (world, providers) = (MemoryWorld::new(), InstalledProviders::built_in());
    for text in CONFIGURATIONS {
        fs::write(dir.join("main.tf"), text).expect("the directory is writable");
        let path = dir.to_str().expect("it is Unicode");
        if let Ok(place) = find(&request(path, &data_dir, &world, &providers), &StateFlags::default()) {
            let _ = place.backend();
        }
    }
});
