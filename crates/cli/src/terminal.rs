//! Standard output and standard error: colors, widths, and closed pipes.

use std::io::{ErrorKind, IsTerminal as _, Write as _};

use yuba_syntax::{Diagnostics, Severity, Sources};
use yuba_view::diagnostic::{self, Style};
use yuba_view::plan::Look;

use crate::flags::Args;

/// Width of text if the output is not a terminal.
const DEFAULT_WIDTH: usize = 78;

/// How diagnostics are shown, as the flags of every command say.
pub(crate) struct DisplaySettings {
    no_color: bool,
    diagnostics: diagnostic::Options,
}

impl DisplaySettings {
    /// The values of the flags.
    pub(crate) fn resolve(args: &Args) -> DisplaySettings {
        DisplaySettings {
            no_color: args.is_on("no-color"),
            diagnostics: diagnostic::Options {
                compact_warnings: args.is_on("compact-warnings"),
                consolidate_warnings: args.is_on("consolidate-warnings"),
                consolidate_errors: args.is_on("consolidate-errors"),
            },
        }
    }
}

/// The two output streams of the process.
pub(crate) struct Terminal {
    stdout: Stream,
    stderr: Stream,
    diagnostics: diagnostic::Options,
    redraws: bool,
}

struct Stream {
    file: File,
    colour: bool,
    width: usize,
    /// Something was written.
    used: bool,
    /// The reader has gone or the device is full: nothing more is written.
    failed: Option<std::io::Error>,
}

enum File {
    Stdout(std::io::Stdout),
    Stderr(std::io::Stderr),
}

impl Terminal {
    /// The streams of this process, before any flag is known.
    pub(crate) fn new() -> Terminal {
        let colour_wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
        Terminal {
            redraws: stdout.is_terminal() && !dumb,
            stdout: Stream {
                colour: colour_wanted && stdout.is_terminal(),
                width: width(terminal_size::terminal_size_of(&stdout)),
                file: File::Stdout(stdout),
                used: false,
                failed: None,
            },
            stderr: Stream {
                colour: colour_wanted && stderr.is_terminal(),
                width: width(terminal_size::terminal_size_of(&stderr)),
                file: File::Stderr(stderr),
                used: false,
                failed: None,
            },
            diagnostics: diagnostic::Options::default(),
        }
    }

    /// Applies the flags that every command has.
    pub(crate) fn configure(&mut self, settings: &DisplaySettings) {
        if settings.no_color {
            self.disable_colour();
        }
        self.diagnostics = settings.diagnostics;
    }

    /// Writes no colours from here on.
    pub(crate) fn disable_colour(&mut self) {
        self.stdout.colour = false;
        self.stderr.colour = false;
    }

    /// Writes data to standard output, as it is.
    pub(crate) fn out(&mut self, text: &str) {
        self.out_bytes(text.as_bytes());
    }

    /// Writes data to standard output that need not be text.
    pub(crate) fn out_bytes(&mut self, bytes: &[u8]) {
        self.stdout.write(bytes);
    }

    /// Whether anything was written to standard output.
    pub(crate) fn has_written(&self) -> bool {
        self.stdout.used
    }

    /// Writes talk to standard error, as it is.
    pub(crate) fn err(&mut self, text: &str) {
        self.stderr.write(text.as_bytes());
    }

    /// Shows diagnostics: errors on standard error, warnings on standard output, as OpenTofu does.
    pub(crate) fn report(&mut self, diagnostics: &Diagnostics, sources: &Sources) {
        self.report_with(diagnostics, sources, "");
    }

    /// The same, with an empty line after each.
    pub(crate) fn report_spaced(&mut self, diagnostics: &Diagnostics, sources: &Sources) {
        self.report_with(diagnostics, sources, "\n");
    }

    /// Shows diagnostics on standard error without colors, before the arguments are parsed.
    pub(crate) fn report_plain(&mut self, diagnostics: &Diagnostics) {
        let width = self.stderr.width;
        for (_, text) in diagnostic::render_all(diagnostics, &Sources::new(), Style::Plain, width, &self.diagnostics) {
            self.err(&text);
        }
    }

    /// The same where standard output is for data: warnings go to standard error too.
    pub(crate) fn report_aside(&mut self, diagnostics: &Diagnostics, sources: &Sources) {
        let style = if self.stderr.colour { Style::Coloured } else { Style::Plain };
        for (_, text) in diagnostic::render_all(diagnostics, sources, style, self.stderr.width, &self.diagnostics) {
            self.err(&text);
        }
    }

    /// How plans and states are shown on standard output.
    pub(crate) fn look(&self) -> Look {
        let style = if self.stdout.colour { yuba_view::Style::Coloured } else { yuba_view::Style::Plain };
        Look { style, width: self.stdout.width, ..Look::default() }
    }

    fn report_with(&mut self, diagnostics: &Diagnostics, sources: &Sources, end: &str) {
        let style = if self.stderr.colour { Style::Coloured } else { Style::Plain };
        for (severity, text) in
            diagnostic::render_all(diagnostics, sources, style, self.stderr.width, &self.diagnostics)
        {
            match severity {
                Severity::Error => self.err(&format!("{text}{end}")),
                Severity::Warning => self.out(&format!("{text}{end}")),
            }
        }
    }

    /// How texts on standard output are drawn.
    pub(crate) fn style(&self) -> Style {
        if self.stdout.colour { Style::Coloured } else { Style::Plain }
    }

    /// Whether what was written to standard output can be written over.
    pub(crate) fn redraws(&self) -> bool {
        self.redraws
    }

    /// Shows what was written to standard output so far.
    pub(crate) fn flush(&mut self) {
        self.stdout.flush();
    }

    /// How wide standard output is.
    pub(crate) fn width(&self) -> usize {
        self.stdout.width
    }

    /// In bold letters, where standard output can show them.
    pub(crate) fn bold(&self, text: &str) -> String {
        if self.stdout.colour { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// In a colour, by its number, where standard output can show it.
    pub(crate) fn coloured(&self, code: &str, text: &str) -> String {
        if self.stdout.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Prints a line that reports success.
    pub(crate) fn success(&mut self, text: &str) {
        let title = if self.stdout.colour { "\x1b[32m\x1b[1mSuccess!\x1b[0m" } else { "Success!" };
        let line = yuba_view::wrap::wrap(&format!("{title} {text}"), self.stdout.width.saturating_sub(1));
        self.out(&format!("{line}\n"));
    }

    /// Flushes; an output that could not be written is an error unless its reader just left.
    pub(crate) fn finish(&mut self, code: u8) -> u8 {
        self.stdout.flush();
        match self.stdout.failed.take() {
            Some(error) if error.kind() != ErrorKind::BrokenPipe => {
                self.err(&format!("\nError: Failed to write output\n\nFailed to write to standard output: {error}.\n"));
                code.max(1)
            }
            _ => code,
        }
    }
}

impl Stream {
    fn write(&mut self, bytes: &[u8]) {
        self.used = true;
        if self.failed.is_none() {
            self.failed = match &mut self.file {
                File::Stdout(file) => file.write_all(bytes),
                File::Stderr(file) => file.write_all(bytes),
            }
            .err();
        }
    }
    fn flush(&mut self) {
        if self.failed.is_none() {
            self.failed = match &mut self.file {
                File::Stdout(file) => file.flush(),
                File::Stderr(file) => file.flush(),
            }
            .err();
        }
    }
}

fn width(size: Option<(terminal_size::Width, terminal_size::Height)>) -> usize {
    match size {
        Some((terminal_size::Width(columns), _)) if columns > 0 => usize::from(columns),
        _ => DEFAULT_WIDTH,
    }
}
