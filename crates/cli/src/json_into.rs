//! `-json-into`: a file that gets as JSON what is shown to people.

use std::fs::File;
use std::io::Write as _;

use crate::exit::Failure;
use crate::flags::Args;

/// An open file.
pub(crate) struct JsonInto(File);

impl JsonInto {
    /// Opens the file, if one is wanted.
    pub(crate) fn open(args: &Args) -> Result<Option<JsonInto>, Failure> {
        let Some(name) = args.text("json-into").filter(|name| !name.is_empty()) else { return Ok(None) };
        if args.is_on("json") {
            let detail = "-json and -json-into exclude each other: choose one of them.";
            return Err(Failure::usage("Invalid output format", detail));
        }
        let mut options = File::options();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(name) {
            Ok(file) => Ok(Some(JsonInto(file))),
            Err(error) => {
                let detail = format!("The file {name:?} of -json-into cannot be written: {error}.");
                Err(Failure::usage("Invalid argument", detail))
            }
        }
    }

    /// Writes some text. That it cannot be written is no reason to stop.
    pub(crate) fn write(&mut self, text: &str) {
        let _ = self.0.write_all(text.as_bytes());
    }
}
