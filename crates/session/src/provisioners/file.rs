//! `file`: files and directories to another machine.

use std::fs::File;
use std::path::PathBuf;

use ecow::{EcoString, eco_format};
use yuba_value::quote::quote;

use super::arguments::Arguments;
use super::connection::Connection;
use super::host::Host;
use super::relay::Voice;
use super::ssh::{Progress, Session, Upload};

/// Copies.
pub(super) fn run(config: &Arguments, connection: &Connection, host: &Host, voice: &Voice) -> Result<(), EcoString> {
    let Some(destination) = config.filled("destination") else {
        return Err("The destination must be a non-empty string.".into());
    };
    let failed = |problem: EcoString| eco_format!("Failed to write {} on the machine: {problem}.", quote(destination));
    if let Some(content) = config.text("content") {
        let mut session = Session::open(connection, host, voice, Progress::Silent)?;
        return session.upload(destination, content.len() as u64, &mut content.as_bytes()).map_err(failed);
    }
    let Some(source) = config.filled("source") else {
        return Err("One of \"source\" and \"content\" must be set.".into());
    };
    let unreadable = |problem: std::io::Error| eco_format!("Failed to read the source {}: {problem}.", quote(source));
    let path = expand(source, host)?;
    // Before the machine is bothered.
    let found = path.metadata().map_err(unreadable)?;
    let file = if found.is_dir() { None } else { Some(File::open(&path).map_err(unreadable)?) };
    let mut session = Session::open(connection, host, voice, Progress::Silent)?;
    match file {
        Some(mut file) => session.upload(destination, found.len(), &mut file),
        None => {
            let scope = if source.ends_with('/') { Upload::Entries } else { Upload::Directory };
            session.upload_dir(destination, &path, scope)
        }
    }
    .map_err(failed)
}

/// `~` is the home directory.
fn expand(path: &str, host: &Host) -> Result<PathBuf, EcoString> {
    match path.strip_prefix('~') {
        None => Ok(host.path(path)),
        Some(rest) if rest.is_empty() || rest.starts_with('/') => match host.home() {
            Some(home) => Ok(home.join(rest.trim_start_matches('/'))),
            None => Err(eco_format!("Failed to find the source {}: the user has no home directory.", quote(path))),
        },
        Some(_) => Err(eco_format!(
            "The source {} refers to the home directory of another user. Use an absolute path.",
            quote(path)
        )),
    }
}
