//! Any bytes are a CLI configuration or lead to diagnostics.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use yuba_install::cli_config;
use yuba_net::Environment;

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("fuzz-cli-config-{}.tfrc", std::process::id()));
    fs::write(&path, bytes).expect("the directory for temporary files is writable");
    let file = path.to_string_lossy().into_owned();
    let environment = [("TF_CLI_CONFIG_FILE", file), ("HOME", "/nowhere".to_owned()), ("X", "value".to_owned())];
    let (config, problems) = cli_config::load(&environment.into_iter().collect::<Environment>());
    let _ = format!("{config:?} {problems:?}");
    fs::remove_file(&path).expect("the file exists");
});
