//! Records that survive a kill of this process: the states of files that create real objects, in the data directory of
//! the working directory, until everything is destroyed.
//!
//! The next test run reports leftover objects. Tests with mocks and built-in providers leave nothing and write nothing.

use std::path::{Path, PathBuf};

use ecow::EcoString;
use yuba_engine::Recorder;
use yuba_plan::Action;
use yuba_state::{Edit, State};
use yuba_syntax::Diagnostics;

use super::diagnostics;
use super::leftovers::objects;
use super::sealing::TestSealing;
use crate::project::Project;
use crate::replace::write_private;

/// The directory, below that of the working directory's data.
const DIRECTORY: &str = "test-states";

/// File of the state of a test while it runs.
#[derive(Clone, Debug)]
pub(super) struct RecordPaths {
    /// The working directory, in which the other paths start.
    root: PathBuf,
    state: PathBuf,
    /// Objects that are being created, a line each.
    begun: PathBuf,
    sealing: TestSealing,
}

impl RecordPaths {
    /// For a file of tests and one of its modules.
    pub(super) fn new(project: &Project, file: &str, module: &str, sealing: TestSealing) -> RecordPaths {
        let plain = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '-', "_");
        let name = format!("{}-{}-{}", std::process::id(), plain(file), plain(module));
        let dir = project.data_dir().join(DIRECTORY);
        RecordPaths {
            root: project.root().to_owned(),
            state: dir.join(format!("{name}.tfstate")),
            begun: dir.join(format!("{name}.begun")),
            sealing,
        }
    }

    /// Saves a state.
    pub(super) fn keep(&self, state: &State) -> Result<(), Diagnostics> {
        let mut bytes = Vec::new();
        yuba_state::write(state, &mut bytes);
        self.write(&self.state, bytes, Some((state.serial, &state.lineage)))
    }

    /// Records the objects that are being created.
    fn begin(&self, addresses: &[EcoString]) -> Result<(), Diagnostics> {
        let lines: String = addresses.iter().map(|addr| format!("{addr}\n")).collect();
        self.write(&self.begun, lines.into_bytes(), None)
    }

    fn write(&self, path: &Path, content: Vec<u8>, state: Option<(u64, &str)>) -> Result<(), Diagnostics> {
        let bytes = self.sealing.seal(content, state)?;
        let target = self.root.join(path);
        let dir = target.parent().unwrap_or(&self.root);
        let written = std::fs::create_dir_all(dir).and_then(|()| write_private(&target, &bytes));
        written.map_err(|error| diagnostics::state_not_kept(path, &error).into())
    }

    /// Nothing is left.
    pub(super) fn forget(&self) {
        let _ = std::fs::remove_file(self.root.join(&self.state));
        let _ = std::fs::remove_file(self.root.join(&self.begun));
        if let Some(dir) = self.state.parent() {
            // The directory may contain other files.
            let _ = std::fs::remove_dir(self.root.join(dir));
        }
    }
}

/// Records the changes of a run, if they are real.
pub(super) struct Record {
    state: State,
    paths: Option<RecordPaths>,
    begun: Vec<EcoString>,
    dirty: bool,
}

impl Record {
    pub(super) fn new(state: State, paths: Option<RecordPaths>) -> Record {
        Record { state, paths, begun: Vec::new(), dirty: false }
    }

    fn write(&mut self) -> Result<(), Diagnostics> {
        let Some(paths) = &self.paths else { return Ok(()) };
        if std::mem::take(&mut self.dirty) {
            paths.keep(&self.state)?;
        }
        Ok(())
    }

    fn take(&mut self, edits: &[Edit]) {
        if self.paths.is_some() {
            for edit in edits {
                self.state.apply(edit.clone());
            }
            self.dirty = true;
        }
    }
}

impl Recorder for Record {
    fn begin(&mut self, addr: &str, _: Action) -> u64 {
        if self.paths.is_some() {
            self.begun.push(addr.into());
            self.dirty = true;
        }
        0
    }
    fn finish(&mut self, _: u64, edits: &[Edit]) {
        self.take(edits);
    }
    fn append(&mut self, edits: &[Edit]) {
        self.take(edits);
    }
    fn hand_over(&mut self) -> Result<(), Diagnostics> {
        if let Some(paths) = &self.paths {
            paths.begin(&self.begun)?;
        }
        self.write()
    }
    fn flush(&mut self) -> Result<(), Diagnostics> {
        self.write()
    }
    fn due(&self) -> bool {
        self.dirty
    }
    fn checkpoint(&mut self, _: &mut State) -> Result<(), Diagnostics> {
        Ok(())
    }
}

/// Warnings about leftovers of killed tests.
pub(super) fn left_behind(project: &Project, sealing: &TestSealing) -> Diagnostics {
    let mut problems = Diagnostics::new();
    let mut names: Vec<String> = std::fs::read_dir(project.path(project.data_dir().join(DIRECTORY)))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.ends_with(".tfstate"))
        .collect();
    names.sort_unstable();
    for name in names {
        let pid = name.split('-').next().and_then(|pid| pid.parse::<u32>().ok());
        if pid.is_some_and(is_running) {
            continue;
        }
        let shown = project.data_dir().join(DIRECTORY).join(&name);
        let path = project.path(&shown);
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let Some(bytes) = sealing.unseal(bytes) else {
            problems.push(diagnostics::encrypted_state_left(&shown));
            continue;
        };
        let state = yuba_state::read(&bytes).map(|(state, _)| state).unwrap_or_else(|_| State::empty());
        let mut exist: Vec<String> = objects(&state).iter().map(|(addr, _)| format!("  - {addr}")).collect();
        let begun = std::fs::read(path.with_extension("begun")).ok().and_then(|bytes| sealing.unseal(bytes));
        let begun = String::from_utf8(begun.unwrap_or_default()).unwrap_or_default();
        for addr in begun.lines() {
            if !exist.contains(&format!("  - {addr}")) {
                exist.push(format!("  - {addr} (was being changed)"));
            }
        }
        if exist.is_empty() {
            continue;
        }
        problems.push(diagnostics::objects_left(&shown, &exist));
    }
    problems
}

#[cfg(unix)]
fn is_running(pid: u32) -> bool {
    let Ok(pid) = i32::try_from(pid) else { return false };
    match nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None) {
        Ok(()) => true,
        Err(error) => error == nix::errno::Errno::EPERM,
    }
}

#[cfg(not(unix))]
fn is_running(_: u32) -> bool {
    false
}
