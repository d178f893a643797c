//! `remote-exec`: scripts on another machine.

use ecow::{EcoString, eco_format};
use yuba_value::quote::quote;

use super::arguments::Arguments;
use super::connection::{Connection, Platform};
use super::host::Host;
use super::relay::Voice;
use super::ssh::{Progress, Session, quoted};

const SHEBANG: &[u8] = b"#!/bin/sh\n";

/// Runs scripts.
pub(super) fn run(config: &Arguments, connection: &Connection, host: &Host, voice: &Voice) -> Result<(), EcoString> {
    let scripts = collect(config, host)?;
    let mut session = Session::open(connection, host, voice, Progress::Reported)?;
    for mut script in scripts {
        if connection.platform == Platform::Unix && !script.starts_with(b"#!") {
            script.splice(..0, SHEBANG.iter().copied());
        }
        let path = connection.script_path.replace("%RAND%", &random().to_string());
        session
            .upload(&path, script.len() as u64, &mut script.as_slice())
            .map_err(|problem| upload_failed(&problem))?;
        if connection.platform == Platform::Unix {
            session.quietly(&format!("chmod 0777 {}", quoted(&path))).map_err(|problem| upload_failed(&problem))?;
        }
        let result = session.aloud(&path);
        // Output of scripts may be secret. If it cannot be removed, the work is done nonetheless.
        if !voice.stopped() {
            let _ = session.upload(&path, 0, &mut std::io::empty());
        }
        result.map_err(|problem| eco_format!("The script {} failed: {problem}.", quote(&path)))?;
    }
    Ok(())
}

fn upload_failed(problem: &str) -> EcoString {
    eco_format!("Failed to copy a script to the machine: {problem}.")
}

fn collect(config: &Arguments, host: &Host) -> Result<Vec<Vec<u8>>, EcoString> {
    if let Some(lines) = config.texts("inline") {
        let mut script = String::new();
        for line in lines {
            match line {
                Some(line) if !line.is_empty() => script += &format!("{line}\n"),
                _ => return Err("A command in \"inline\" is null or empty.".into()),
            }
        }
        return match script.is_empty() {
            true => Err("\"inline\" contains no commands.".into()),
            false => Ok(vec![script.into_bytes()]),
        };
    }
    let mut names = config.texts("scripts").unwrap_or_default();
    if let Some(name) = config.text("script") {
        names.insert(0, Some(name.clone()));
    }
    let read = |name: Option<EcoString>| {
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return Err("The path of a script is null or empty.".into());
        };
        match std::fs::read(host.path(&name)) {
            Ok(script) if script.is_empty() => Err(eco_format!("The script {} is empty.", quote(&name))),
            Ok(script) => Ok(script),
            Err(problem) => Err(eco_format!("Failed to read the script {}: {problem}.", quote(&name))),
        }
    };
    names.into_iter().map(read).collect()
}

fn random() -> u32 {
    let mut bytes = [0; 4];
    let _ = getrandom::fill(&mut bytes);
    u32::from_le_bytes(bytes) >> 1
}
