//! Plan files: a plan with everything that is needed to show it or to carry it out later, as bytes.
//!
//! A zip archive with the entries that tools for plans know: `tfplan`, `tfstate`, `tfstate-prev`, `tfconfig/...` and
//! `.terraform.lock.hcl`. The content of `tfplan` is our own: a line that says what it is, in which version, and which version
//! of Yuba made it; the SHA-256 of everything in the archive; the changes and the steps of the plan. Repeated parts
//! (names, types, modules, providers) are written once and numbered. Reading never panics, whatever the bytes.
//!
//! The format belongs to one version of Yuba only: a plan is applied soon after it is made, and not archived.

mod archive;
mod codes;
mod plans;
mod reader;
mod schemas;
mod steps;
mod values;
mod writer;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use sha2::{Digest, Sha256};
use yuba_addrs::ProviderSource;
use yuba_provider::ProviderSchema;
use yuba_state::State;

use crate::{ExecGraph, Plan};
use archive::{Archive, Entries, LIMITS, Refused};
use reader::Reader;
use steps::Step;
use writer::Writer;

/// Start of the first line of `tfplan`; the versions of the format and of Yuba follow.
const MAGIC: &str = "yuba plan ";
/// The version of the format.
const VERSION: &str = "3";
/// Maximum length of the first line.
const LONGEST_LINE: usize = 128;
/// Maximum number of bytes to read of a plan of another tool, to identify the tool.
const MOST_OF_OTHERS: u64 = 64 << 20;

const PLAN: &str = "tfplan";
const STATE: &str = "tfstate";
const PREVIOUS_STATE: &str = "tfstate-prev";
const MANIFEST: &str = "tfconfig/modules.json";
const MODULE: &str = "tfconfig/m-";
const LOCK_FILE: &str = ".terraform.lock.hcl";

/// Files by name.
pub type PlanFiles = BTreeMap<EcoString, Arc<[u8]>>;

/// A plan with everything that is needed to carry it out.
#[derive(Clone, Debug)]
pub struct PlanFile {
    /// The version of Yuba that made it.
    pub tool_version: EcoString,
    /// The plan.
    pub plan: Plan,
    /// The configuration files of all modules, by the keys of the modules in the manifest.
    pub modules: BTreeMap<EcoString, PlanFiles>,
    /// Directories and sources of the modules: JSON text.
    pub manifest: EcoString,
    /// The files of symbol libraries, by path.
    pub libraries: PlanFiles,
    /// Schemas of the providers, as far as showing the plan needs them. Descriptions and functions are not saved.
    pub schemas: BTreeMap<ProviderSource, ProviderSchema>,
    /// The backend of the state.
    pub backend: SavedBackend,
    /// The text of the lock file of providers; empty where the file does not exist.
    pub lock_file: EcoString,
    /// The lineage of the state it was made from.
    pub lineage: EcoString,
    /// The serial of that state: the plan is stale when it has changed.
    pub serial: u64,
    /// Number of the snapshot of that state, where the plan is stale only if something that it has read has changed.
    pub snapshot: Option<u64>,
}

/// The backend of the state of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedBackend {
    /// The type of the backend.
    pub kind: EcoString,
    /// Its configuration as JSON.
    pub config: EcoString,
    /// The workspace.
    pub workspace: EcoString,
}

/// Reason why bytes cannot be read as a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanFileError {
    /// They are something else.
    NotAPlan,
    /// They are a plan of OpenTofu or Terraform, of this version if it is known.
    OtherProgram(Option<EcoString>),
    /// They are a plan of another format.
    OtherFormat(EcoString),
    /// They are a plan of another version of Yuba: that version, and this one.
    OtherVersion(EcoString, EcoString),
    /// The archive is damaged: parts of it are missing or changed.
    BrokenArchive,
    /// They are a plan, but parts of it are missing or changed.
    Damaged,
    /// They are a plan that would use too much memory.
    TooLarge,
    /// They are a plan whose steps are not those of its changes.
    OtherOperations,
}

impl fmt::Display for PlanFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanFileError::NotAPlan => f.write_str("the file is not a plan file"),
            PlanFileError::OtherProgram(version) => {
                f.write_str("the plan file was written by OpenTofu or Terraform")?;
                if let Some(version) = version {
                    write!(f, " {version}")?;
                }
                f.write_str(". Only the tool that wrote a plan file can read it")
            }
            PlanFileError::OtherFormat(format) => {
                write!(f, "the plan file has format {format}, and this version of Yuba reads format {VERSION} only")
            }
            PlanFileError::OtherVersion(theirs, ours) => {
                write!(f, "the plan file was written by Yuba {theirs}, and this is Yuba {ours}")
            }
            PlanFileError::BrokenArchive => f.write_str("the file is a zip archive that was cut or changed"),
            PlanFileError::Damaged => f.write_str("the plan file was cut or changed after Yuba wrote it"),
            PlanFileError::TooLarge => write!(
                f,
                "the plan file unpacks to more than {} times its size, or to more than {} GiB",
                LIMITS.ratio,
                LIMITS.bytes >> 30
            ),
            PlanFileError::OtherOperations => f.write_str(
                "the operations in the plan file differ from its planned changes, so it was changed after Yuba wrote it",
            ),
        }
    }
}

impl std::error::Error for PlanFileError {}

/// Bytes that do not mean what they should.
#[derive(Debug)]
struct Malformed;

type Read<T> = Result<T, Malformed>;

impl From<Malformed> for PlanFileError {
    fn from(Malformed: Malformed) -> PlanFileError {
        PlanFileError::Damaged
    }
}

impl From<Refused> for PlanFileError {
    fn from(refused: Refused) -> PlanFileError {
        match refused {
            Refused::NotAnArchive => PlanFileError::NotAPlan,
            Refused::Malformed => PlanFileError::Damaged,
            Refused::TooLarge => PlanFileError::TooLarge,
        }
    }
}

/// The bytes of a plan file. The error is a sentence part.
pub fn encode(file: &PlanFile) -> Result<Vec<u8>, String> {
    // The steps of a large plan are not kept while it is packed.
    let payload = payload(file, &steps::of_graph(&file.plan.exec, &file.plan.changes));
    packed(file, &payload)
}

/// The bytes of a plan file with these steps, whatever the graph of the plan says.
#[cfg(test)]
fn encode_with(file: &PlanFile, steps: &[Step]) -> Result<Vec<u8>, String> {
    packed(file, &payload(file, steps))
}

/// The archive of a plan file.
fn packed(file: &PlanFile, payload: &[u8]) -> Result<Vec<u8>, String> {
    let entries = entries(file);
    let others = || entries.iter().map(|(name, content)| (name.as_str(), &**content));
    let head = format!("{MAGIC}{VERSION} {}\n", file.tool_version);
    let sum = digest(others(), payload);
    archive::pack(&[head.as_bytes(), &sum, payload], others())
}

/// Reads the bytes of a plan file that this version of Yuba made.
pub fn decode(bytes: &[u8], tool_version: &str) -> Result<PlanFile, PlanFileError> {
    let mut archive = match Archive::open(bytes, LIMITS) {
        Err(Refused::NotAnArchive) if bytes.starts_with(MAGIC.as_bytes()) => {
            // Earlier formats were not archives.
            let (format, _) = versions(bytes).ok_or(PlanFileError::NotAPlan)?;
            return Err(PlanFileError::OtherFormat(format));
        }
        Err(Refused::Malformed) => return Err(PlanFileError::BrokenArchive),
        opened => opened?,
    };
    let start = archive.beginning(PLAN, LONGEST_LINE as u64)?.ok_or(PlanFileError::NotAPlan)?;
    if !start.starts_with(MAGIC.as_bytes()) {
        let whole = archive.beginning(PLAN, MOST_OF_OTHERS)?.unwrap_or_default();
        return Err(PlanFileError::OtherProgram(version_of_other(&whole)));
    }
    let (format, version) = versions(&start).ok_or(PlanFileError::Damaged)?;
    if format != VERSION {
        return Err(PlanFileError::OtherFormat(format));
    }
    if version != tool_version {
        return Err(PlanFileError::OtherVersion(version, tool_version.into()));
    }
    let mut entries = archive.unpack(LIMITS)?;
    let plan = entries.remove(PLAN).unwrap_or_default();
    let line = plan.iter().position(|byte| *byte == b'\n').ok_or(PlanFileError::Damaged)?;
    let (expected, payload) =
        plan.get(line + 1..).and_then(|rest| rest.split_at_checked(32)).ok_or(PlanFileError::Damaged)?;
    let others = entries.iter().map(|(name, content)| (name.as_str(), content.as_slice()));
    if digest(others, payload) != expected {
        return Err(PlanFileError::Damaged);
    }
    read_file(payload, entries, version)
}

/// The versions of the format and of Yuba in the first line, in a form that can be shown.
fn versions(bytes: &[u8]) -> Option<(EcoString, EcoString)> {
    let rest = bytes.strip_prefix(MAGIC.as_bytes())?;
    let end = rest.iter().take(LONGEST_LINE).position(|byte| *byte == b'\n')?;
    let line = std::str::from_utf8(rest.get(..end)?).ok()?;
    let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || ".-+".contains(c));
    let (format, version) = line.split_once(' ').unwrap_or((line, ""));
    (is_plain(format) && is_plain(version)).then(|| (format.into(), version.into()))
}

/// The version of OpenTofu or Terraform in a plan of theirs: field 14 of a protocol buffer.
fn version_of_other(bytes: &[u8]) -> Option<EcoString> {
    const VERSION_FIELD: u64 = 14;
    let mut reader = Reader::new(bytes);
    loop {
        let tag = reader.number().ok()?;
        match (tag >> 3, tag & 7) {
            (VERSION_FIELD, 2) => {
                let text = reader.text().ok()?;
                let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || ".-+".contains(c));
                return (is_plain && text.len() < LONGEST_LINE).then_some(text);
            }
            (_, 0) => drop(reader.number().ok()?),
            (_, 1) => (0..8).try_for_each(|_| reader.byte().map(drop)).ok()?,
            (_, 2) => drop(reader.bytes().ok()?),
            (_, 5) => (0..4).try_for_each(|_| reader.byte().map(drop)).ok()?,
            _ => return None,
        }
    }
}

/// The sum of everything in an archive.
fn digest<'c>(entries: impl Iterator<Item = (&'c str, &'c [u8])>, payload: &[u8]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    for (name, content) in entries {
        add(name.as_bytes());
        add(content);
    }
    add(payload);
    hasher.finalize().into()
}

/// The content of an entry that is packed.
enum Part<'f> {
    /// Text of a state, which two entries may share.
    State(Arc<Vec<u8>>),
    /// A part of the plan file as it is in memory.
    Known(&'f [u8]),
}

impl std::ops::Deref for Part<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Part::State(text) => text,
            Part::Known(bytes) => bytes,
        }
    }
}

/// All entries of an archive but the plan itself.
fn entries(file: &PlanFile) -> BTreeMap<EcoString, Part<'_>> {
    let state = |state: &State| {
        let mut text = Vec::new();
        yuba_state::write_compact(state, &mut text);
        Arc::new(text)
    };
    let (prior, previous) = (&file.plan.prior_state, &file.plan.previous_state);
    let prior_text = state(prior);
    let previous_text = if Arc::ptr_eq(prior, previous) { Arc::clone(&prior_text) } else { state(previous) };
    let mut entries = BTreeMap::from([
        (STATE.into(), Part::State(prior_text)),
        (PREVIOUS_STATE.into(), Part::State(previous_text)),
        (MANIFEST.into(), Part::Known(file.manifest.as_bytes())),
        (LOCK_FILE.into(), Part::Known(file.lock_file.as_bytes())),
    ]);
    for (key, files) in &file.modules {
        let named = |name: &EcoString| eco_format!("{MODULE}{key}/{name}");
        entries.extend(files.iter().map(|(name, bytes)| (named(name), Part::Known(bytes))));
    }
    entries
}

fn payload(file: &PlanFile, steps: &[Step]) -> Vec<u8> {
    let PlanFile {
        tool_version: _,
        plan,
        modules: _,
        manifest: _,
        libraries,
        schemas,
        backend,
        lock_file: _,
        lineage,
        serial,
        snapshot,
    } = file;
    let mut writer = Writer::default();
    writer.count(libraries.len());
    for (path, content) in libraries {
        writer.text(path);
        writer.bytes(content);
    }
    schemas::write(&mut writer, schemas);
    let SavedBackend { kind, config, workspace } = backend;
    [kind, config, workspace].into_iter().for_each(|text| writer.text(text));
    writer.text(lineage);
    writer.number(*serial);
    writer.number(snapshot.map_or(0, |snapshot| snapshot.saturating_add(1)));
    plans::write(&mut writer, plan, steps);
    writer.into_bytes()
}

fn read_file(payload: &[u8], mut entries: Entries, tool_version: EcoString) -> Result<PlanFile, PlanFileError> {
    let mut take = |name: &str| entries.remove(name).ok_or(Malformed);
    let (prior, previous) = (take(STATE)?, take(PREVIOUS_STATE)?);
    let state = |text: &[u8]| yuba_state::read(text).map(|(state, _)| Arc::new(state)).map_err(|_| Malformed);
    let prior_state = state(&prior)?;
    let previous_state = if prior == previous { Arc::clone(&prior_state) } else { state(&previous)? };
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).map(EcoString::from).map_err(|_| Malformed);
    let (manifest, lock_file) = (text(take(MANIFEST)?)?, text(take(LOCK_FILE)?)?);
    let mut modules: BTreeMap<EcoString, PlanFiles> = BTreeMap::new();
    for (name, content) in entries {
        let (key, file) = name.strip_prefix(MODULE).and_then(|rest| rest.rsplit_once('/')).ok_or(Malformed)?;
        modules.entry(key.into()).or_default().insert(file.into(), content.into());
    }
    let mut reader = Reader::new(payload);
    let libraries = reader.list(|reader| Ok((reader.text()?, Arc::from(reader.bytes()?))))?;
    let schemas = schemas::read(&mut reader)?;
    let backend = SavedBackend { kind: reader.text()?, config: reader.text()?, workspace: reader.text()? };
    let (lineage, serial) = (reader.text()?, reader.number()?);
    let snapshot = u64::checked_sub(reader.number()?, 1);
    let (mut plan, steps) = plans::read(&mut reader, (prior_state, previous_state))?;
    reader.end()?;
    // A plan that was not finished has no steps.
    plan.exec = match plan.errored {
        true if steps.is_empty() => ExecGraph::default(),
        true => return Err(PlanFileError::OtherOperations),
        false => steps::into_graph(steps, &plan.changes).map_err(|Malformed| PlanFileError::OtherOperations)?,
    };
    let libraries = libraries.into_iter().collect();
    Ok(PlanFile {
        tool_version,
        plan,
        modules,
        manifest,
        libraries,
        schemas,
        backend,
        lock_file,
        lineage,
        serial,
        snapshot,
    })
}

#[cfg(test)]
mod tests;
