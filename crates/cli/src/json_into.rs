//! `-json` and `-json-into`: where a command writes JSON.

use std::fs::File;
use std::io::Write as _;

use crate::diagnostics;
use crate::exit::Failure;
use crate::flags::Args;

/// Target of the JSON output of a command.
#[derive(Clone, Debug)]
pub(crate) struct JsonSettings {
    /// `-json`: standard output contains JSON instead of text.
    pub(crate) is_on: bool,
    /// `-json-into`: the file that contains JSON while standard output contains text.
    file: Option<String>,
}

impl JsonSettings {
    /// The values of both flags. Fails if both are set.
    pub(crate) fn resolve(args: &Args) -> Result<JsonSettings, Failure> {
        let settings = JsonSettings { is_on: args.is_on("json"), file: args.non_empty("json-into").map(str::to_owned) };
        match settings.is_on && settings.file.is_some() {
            true => Err(Failure::usage(diagnostics::json_flags_conflict())),
            false => Ok(settings),
        }
    }
}

/// The open file of `-json-into`.
pub(crate) struct JsonInto(File);

impl JsonInto {
    /// Opens the file, if the flag is set.
    pub(crate) fn open(settings: &JsonSettings) -> Result<Option<JsonInto>, Failure> {
        let Some(name) = &settings.file else { return Ok(None) };
        let mut options = File::options();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(name) {
            Ok(file) => Ok(Some(JsonInto(file))),
            Err(error) => Err(Failure::usage(diagnostics::json_file_not_written(name, &error))),
        }
    }

    /// Writes some text. A failure does not stop the command.
    pub(crate) fn write(&mut self, text: &str) {
        let _ = self.0.write_all(text.as_bytes());
    }
}
