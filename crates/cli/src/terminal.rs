//! Standard output and standard error: colors, widths, and closed pipes.

use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::time::Duration;

use yuba_net::Environment;
use yuba_syntax::{Diagnostics, Severity, Sources};
use yuba_view::annotations::{RepositoryPath, github};
use yuba_view::diagnostic::{self, Frame, Style};
use yuba_view::live::Size;
use yuba_view::plan::Look;

use crate::annotations;
use crate::exit::Failure;
use crate::flags::Args;

mod colors;
mod live;

use colors::{ColorChoice, OutputKind};
use live::{LiveDisplay, LiveStream};

/// Width of text if the output is not a terminal.
const DEFAULT_WIDTH: usize = 78;

/// Number of lines of a terminal that does not say how many it has.
const DEFAULT_ROWS: usize = 24;

/// Settings for diagnostics, from flags of every command.
pub(crate) struct DisplaySettings {
    no_color: bool,
    diagnostics: diagnostic::Options,
    annotations: Option<RepositoryPath>,
}

impl DisplaySettings {
    /// The values of the flags.
    pub(crate) fn resolve(args: &Args) -> Result<DisplaySettings, Failure> {
        Ok(DisplaySettings {
            annotations: annotations::resolve(args)?,
            no_color: args.is_on("no-color"),
            diagnostics: diagnostic::Options {
                compact_warnings: args.is_on("compact-warnings"),
                consolidate_warnings: args.is_on("consolidate-warnings"),
                consolidate_errors: args.is_on("consolidate-errors"),
                ..diagnostic::Options::default()
            },
        })
    }
}

/// The two output streams of the process.
pub(crate) struct Terminal {
    stdout: Stream,
    stderr: Stream,
    diagnostics: diagnostic::Options,
    /// Text after each diagnostic.
    diagnostic_end: &'static str,
    /// Control sequences move the cursor, and no log lines come between.
    moves_cursor: bool,
    /// `-format=github`: every diagnostic is written as a workflow command, too.
    annotations: Option<RepositoryPath>,
    /// `TF_IN_AUTOMATION`
    in_automation: bool,
    /// Standard output goes to the log of a pipeline.
    is_pipeline: bool,
    /// Standard output is a terminal.
    is_terminal: bool,
    /// Standard error is a terminal.
    is_error_terminal: bool,
    /// The live display at the end of the terminal, and its stream.
    live: LiveDisplay,
    live_stream: LiveStream,
    /// Number of rows that were written to the terminal.
    rows: usize,
}

struct Stream {
    file: File,
    colour: bool,
    width: usize,
    /// Lines of a terminal.
    height: Option<usize>,
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
    pub(crate) fn new(environment: &Environment) -> Terminal {
        let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
        let term = environment.get("TERM");
        let choice = ColorChoice::of(environment);
        let colour = |is_terminal: bool| {
            choice.applies_to(match is_terminal {
                true if term == Some("dumb") => OutputKind::DumbTerminal,
                true => OutputKind::Terminal,
                false => OutputKind::Other,
            })
        };
        // Pipes and files get frames, as OpenTofu writes them, whether or not they get colors.
        let has_frame = environment.get("NO_COLOR").is_none() && !(stderr.is_terminal() && term == Some("dumb"));
        let frame = if has_frame { Frame::Drawn } else { Frame::Omitted };
        let in_automation = environment.get("TF_IN_AUTOMATION").is_some();
        Terminal {
            in_automation,
            is_pipeline: colors::is_pipeline(environment),
            is_terminal: stdout.is_terminal(),
            // Runs in automation get lines even if their output is a terminal. So do runs that log to it: a log line in a frame would move
            // the frame.
            moves_cursor: term.is_some_and(|term| term != "dumb") && !in_automation && !logs_to_terminal(environment),
            live: LiveDisplay::default(),
            live_stream: LiveStream::Stdout,
            is_error_terminal: stderr.is_terminal(),
            rows: 0,
            stdout: Stream {
                colour: colour(stdout.is_terminal()),
                width: width(terminal_size::terminal_size_of(&stdout)),
                height: height(terminal_size::terminal_size_of(&stdout)),
                file: File::Stdout(stdout),
                used: false,
                failed: None,
            },
            stderr: Stream {
                colour: colour(stderr.is_terminal()),
                width: width(terminal_size::terminal_size_of(&stderr)),
                height: height(terminal_size::terminal_size_of(&stderr)),
                file: File::Stderr(stderr),
                used: false,
                failed: None,
            },
            diagnostics: diagnostic::Options { frame, ..diagnostic::Options::default() },
            diagnostic_end: "",
            annotations: None,
        }
    }

    /// Prints an empty line after each diagnostic from here on.
    pub(crate) fn space_diagnostics(&mut self) {
        self.diagnostic_end = "\n";
    }

    /// Applies the flags that every command has.
    pub(crate) fn configure(&mut self, settings: &DisplaySettings) {
        self.annotations.clone_from(&settings.annotations);
        self.diagnostics = diagnostic::Options { frame: self.diagnostics.frame, ..settings.diagnostics };
        if settings.no_color {
            self.disable_colour();
        }
    }

    /// Writes no colors and no frames from here on.
    pub(crate) fn disable_colour(&mut self) {
        self.diagnostics.frame = Frame::Omitted;
        self.stdout.colour = false;
        self.stderr.colour = false;
    }

    /// Writes data to standard output, as it is.
    pub(crate) fn out(&mut self, text: &str) {
        self.out_bytes(text.as_bytes());
    }

    /// Writes data to standard output that need not be text.
    pub(crate) fn out_bytes(&mut self, bytes: &[u8]) {
        self.clear_live();
        self.count_rows(bytes);
        self.stdout.write(bytes);
    }

    /// Counts the rows that a text takes on the terminal.
    fn count_rows(&mut self, bytes: &[u8]) {
        if self.stdout.height.is_some() {
            let width = self.stdout.width.max(1);
            self.rows +=
                bytes.split_inclusive(|byte| *byte == b'\n').map(|line| line.len().div_ceil(width + 1)).sum::<usize>();
        }
    }

    /// Number of rows that were written to the terminal so far. Control sequences count as characters, so it can be too high.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Replaces the live display, which other output removes.
    pub(crate) fn show_live(&mut self, lines: &[String]) {
        self.stdout.flush();
        self.live.replace(lines, self.live_stream, self.live_style());
    }

    /// Shows the time that work takes which reports nothing until it is done. Other output removes the display. Without a live display
    /// this does nothing.
    pub(crate) fn watch(&mut self, lines: impl Fn(Duration, Size) -> Vec<String> + Send + 'static) {
        if self.redraws() {
            self.stdout.flush();
            self.live.watch(self.live_stream, self.live_style(), lines);
        }
    }

    /// Writes a line every ten seconds while work takes long in which other processes can prompt. Other output ends that.
    pub(crate) fn remind(&mut self, line: impl Fn(Duration) -> String + Send + 'static) {
        if self.redraws() {
            self.stdout.flush();
            self.live.remind(self.live_stream, line);
        }
    }

    /// The live display is on standard error from here on: standard output is for data.
    pub(crate) fn show_live_aside(&mut self) {
        self.live_stream = LiveStream::Stderr;
    }

    fn live_style(&self) -> Style {
        match self.live_stream {
            LiveStream::Stdout => self.style(),
            LiveStream::Stderr if self.stderr.colour => Style::Coloured,
            LiveStream::Stderr => Style::Plain,
        }
    }

    /// Removes the live display. Returns whether there was one.
    fn clear_live(&mut self) -> bool {
        self.live.clear(self.live_stream)
    }

    /// The size of the terminal with the live display now: the user may have changed it.
    pub(crate) fn size(&self) -> Size {
        self.live_stream.size()
    }

    /// Whether anything was written to standard output.
    pub(crate) fn has_written(&self) -> bool {
        self.stdout.used
    }

    /// Writes talk to standard error, as it is.
    pub(crate) fn err(&mut self, text: &str) {
        if self.clear_live() {
            self.stdout.flush();
        }
        self.count_rows(text.as_bytes());
        self.stderr.write(text.as_bytes());
    }

    /// Shows diagnostics: errors on standard error, warnings on standard output, as OpenTofu does.
    pub(crate) fn report(&mut self, diagnostics: &Diagnostics, sources: &Sources) {
        let style = if self.stderr.colour { Style::Coloured } else { Style::Plain };
        let end = self.diagnostic_end;
        for (severity, text) in
            diagnostic::render_all(diagnostics, sources, style, self.stderr.width, &self.diagnostics)
        {
            match severity {
                Severity::Error => self.err(&format!("{text}{end}")),
                Severity::Warning => self.out(&format!("{text}{end}")),
            }
        }
        if let Some(repository) = &self.annotations {
            let lines = github::render(diagnostics, sources, repository);
            self.annotate(&lines);
        }
    }

    /// Where annotations of files begin, if they are requested.
    pub(crate) fn annotations(&self) -> Option<&RepositoryPath> {
        self.annotations.as_ref()
    }

    /// Writes workflow commands. They go to standard error, so that files with the text of a plan do not contain them.
    pub(crate) fn annotate(&mut self, lines: &str) {
        self.err(lines);
    }

    /// Shows diagnostics on standard error without colors, before the arguments are parsed.
    pub(crate) fn report_plain(&mut self, diagnostics: &Diagnostics) {
        let width = self.stderr.width;
        let options = diagnostic::Options { frame: Frame::Omitted, ..self.diagnostics };
        for (_, text) in diagnostic::render_all(diagnostics, &Sources::new(), Style::Plain, width, &options) {
            self.err(&text);
        }
    }

    /// The same where standard output is for data: warnings go to standard error too.
    pub(crate) fn report_aside(&mut self, diagnostics: &Diagnostics, sources: &Sources) {
        let style = if self.stderr.colour { Style::Coloured } else { Style::Plain };
        let end = self.diagnostic_end;
        for (_, text) in diagnostic::render_all(diagnostics, sources, style, self.stderr.width, &self.diagnostics) {
            self.err(&format!("{text}{end}"));
        }
    }

    /// Settings for plans and states on standard output.
    pub(crate) fn look(&self) -> Look {
        let style = if self.stdout.colour { yuba_view::Style::Coloured } else { yuba_view::Style::Plain };
        Look { style, width: self.stdout.width, ..Look::default() }
    }

    /// Style of text on standard output.
    pub(crate) fn style(&self) -> Style {
        if self.stdout.colour { Style::Coloured } else { Style::Plain }
    }

    /// Whether there is a live display: its stream is a terminal with control sequences.
    pub(crate) fn redraws(&self) -> bool {
        self.moves_cursor
            && match self.live_stream {
                LiveStream::Stdout => self.is_terminal && self.stdout.colour,
                LiveStream::Stderr => self.is_error_terminal && self.stderr.colour,
            }
    }

    /// Whether standard output gets summaries with durations: it is a terminal or the log of a pipeline. Tools that compare the output of
    /// runs read pipes and files, which get none.
    pub(crate) fn shows_summaries(&self) -> bool {
        self.is_pipeline || (self.is_terminal && !self.in_automation)
    }

    /// Whether messages about next steps are shown: a person reads them, not a pipeline.
    pub(crate) fn shows_next_steps(&self) -> bool {
        !self.in_automation
    }

    /// Shows what was written to standard output so far.
    pub(crate) fn flush(&mut self) {
        self.stdout.flush();
    }

    /// Width of standard output.
    pub(crate) fn width(&self) -> usize {
        self.stdout.width
    }

    /// Lines of standard output, if it is a terminal.
    pub(crate) fn height(&self) -> Option<usize> {
        self.stdout.height
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
        self.clear_live();
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

/// Whether log lines are written to standard error.
fn logs_to_terminal(environment: &Environment) -> bool {
    let is_set = |name| environment.get(name).is_some_and(|value| value != "off");
    ["TF_LOG", "TF_LOG_CORE", "TF_LOG_PROVIDER"].into_iter().any(is_set) && !is_set("TF_LOG_PATH")
}

fn size(size: Option<(terminal_size::Width, terminal_size::Height)>) -> Size {
    let rows = size.map_or(0, |(_, terminal_size::Height(rows))| usize::from(rows));
    Size { columns: width(size), rows: if rows == 0 { DEFAULT_ROWS } else { rows } }
}

fn width(size: Option<(terminal_size::Width, terminal_size::Height)>) -> usize {
    match size {
        Some((terminal_size::Width(columns), _)) if columns > 0 => usize::from(columns),
        _ => DEFAULT_WIDTH,
    }
}

/// Lines of a terminal whose size is known.
fn height(size: Option<(terminal_size::Width, terminal_size::Height)>) -> Option<usize> {
    size.map(|(_, terminal_size::Height(lines))| usize::from(lines)).filter(|lines| *lines > 0)
}
