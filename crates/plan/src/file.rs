//! Plan files: a plan with everything that is needed to carry it out later, as bytes.
//!
//! A line that says what it is and in which version, the length and the SHA-256 of what follows, then everything else,
//! compressed. So a file that was cut or changed is recognised before anything in it is believed. What repeats (names,
//! types, modules, providers) is written once and numbered. Reading never panics, whatever the bytes.
//!
//! The format belongs to this version of the program only: a plan is made and soon carried out, and not kept.

mod codes;
mod plans;
mod reader;
mod states;
mod values;
mod writer;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read as _, Write as _};
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use sha2::{Digest, Sha256};

use crate::Plan;
use reader::Reader;
use writer::Writer;

/// What the first line begins with; the version of the format follows.
const MAGIC: &[u8] = b"yuba plan ";
/// The version of the format.
const VERSION: &str = "1";
/// How much a file may hold when it is unpacked.
const MAX_LENGTH: u64 = 1 << 32;

/// A plan with everything that is needed to carry it out.
#[derive(Clone, Debug)]
pub struct PlanFile {
    /// The version of the program that made it.
    pub tool_version: EcoString,
    /// The plan.
    pub plan: Plan,
    /// All files of the configuration by path: of all modules and symbol libraries.
    pub sources: BTreeMap<EcoString, Arc<[u8]>>,
    /// Which modules are installed where: the text of the manifest; empty where there is none.
    pub manifest: EcoString,
    /// Where the state is kept.
    pub backend: SavedBackend,
    /// The text of the lock file of providers; none where there is no such file.
    pub lock_file: Option<EcoString>,
    /// The lineage of the state it was made from.
    pub lineage: EcoString,
    /// The serial of that state: the plan is stale when it has changed.
    pub serial: u64,
}

/// Where the state of a plan is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedBackend {
    /// The type of the backend.
    pub kind: EcoString,
    /// Its configuration as JSON.
    pub config: EcoString,
    /// The workspace.
    pub workspace: EcoString,
}

/// Why bytes are no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// They are something else.
    NotAPlan,
    /// They are a plan of OpenTofu.
    OpenTofuPlan,
    /// They are a plan of another version of this program.
    OtherVersion(EcoString),
    /// They are a plan, but parts of it are missing or changed.
    Damaged,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NotAPlan => f.write_str("it is not a plan file"),
            Problem::OpenTofuPlan => f.write_str(
                "it is a plan file of OpenTofu, which only the program that made it can read; make a plan again with \
                 this program",
            ),
            Problem::OtherVersion(version) => write!(
                f,
                "it is a plan file of format {version}, and this program reads and writes format {VERSION} only; make \
                 a plan again"
            ),
            Problem::Damaged => f.write_str("it is a plan file that was cut or changed after it was written"),
        }
    }
}

impl std::error::Error for Problem {}

/// Bytes that do not mean what they should.
#[derive(Debug)]
struct Malformed;

type Read<T> = Result<T, Malformed>;

/// The bytes of a plan file.
pub fn encode(file: &PlanFile) -> Vec<u8> {
    let payload = payload(file);
    let mut out = Vec::with_capacity(payload.len() / 4 + 128);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(VERSION.as_bytes());
    out.push(b'\n');
    let header = out.len();
    out.extend_from_slice(&[0; 32]);
    out.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    let mut encoder = DeflateEncoder::new(out, Compression::fast());
    // Writing to a vector does not fail.
    let _ = encoder.write_all(&payload);
    let mut out = encoder.finish().unwrap_or_default();
    let digest = out.get(header + 32..).map(Sha256::digest);
    if let (Some(digest), Some(place)) = (digest, out.get_mut(header..header + 32)) {
        place.copy_from_slice(&digest);
    }
    out
}

/// Reads the bytes of a plan file.
pub fn decode(bytes: &[u8]) -> Result<PlanFile, Problem> {
    if bytes.starts_with(b"PK\x03\x04") {
        return Err(Problem::OpenTofuPlan);
    }
    let rest = bytes.strip_prefix(MAGIC).ok_or(Problem::NotAPlan)?;
    let end = rest.iter().take(32).position(|byte| *byte == b'\n').ok_or(Problem::NotAPlan)?;
    let (version, rest) = rest.split_at(end);
    if version != VERSION.as_bytes() {
        return Err(Problem::OtherVersion(eco_format!("{:?}", String::from_utf8_lossy(version))));
    }
    let payload = unpack(rest.get(1..).unwrap_or_default()).ok_or(Problem::Damaged)?;
    read_payload(&payload).map_err(|Malformed| Problem::Damaged)
}

/// What follows the first line.
fn unpack(bytes: &[u8]) -> Option<Vec<u8>> {
    let (digest, rest) = bytes.split_at_checked(32)?;
    if Sha256::digest(rest).as_slice() != digest {
        return None;
    }
    let (length, packed) = rest.split_first_chunk::<8>()?;
    let length = u64::from_le_bytes(*length);
    if length > MAX_LENGTH {
        return None;
    }
    let mut payload = Vec::new();
    DeflateDecoder::new(packed).take(length.saturating_add(1)).read_to_end(&mut payload).ok()?;
    (payload.len() as u64 == length).then_some(payload)
}

fn payload(file: &PlanFile) -> Vec<u8> {
    let PlanFile { tool_version, plan, sources, manifest, backend, lock_file, lineage, serial } = file;
    let mut writer = Writer::default();
    writer.text(tool_version);
    writer.count(sources.len());
    for (path, content) in sources {
        writer.text(path);
        writer.bytes(content);
    }
    writer.text(manifest);
    let SavedBackend { kind, config, workspace } = backend;
    [kind, config, workspace].into_iter().for_each(|text| writer.text(text));
    writer.option(lock_file.as_ref(), |writer, text| writer.text(text));
    writer.text(lineage);
    writer.number(*serial);
    plans::write(&mut writer, plan);
    writer.into_bytes()
}

fn read_payload(payload: &[u8]) -> Read<PlanFile> {
    let mut reader = Reader::new(payload);
    let tool_version = reader.text()?;
    let sources = reader.list(|reader| Ok((reader.text()?, Arc::from(reader.bytes()?))))?;
    let file = PlanFile {
        tool_version,
        sources: sources.into_iter().collect(),
        manifest: reader.text()?,
        backend: SavedBackend { kind: reader.text()?, config: reader.text()?, workspace: reader.text()? },
        lock_file: reader.option(Reader::text)?,
        lineage: reader.text()?,
        serial: reader.number()?,
        plan: plans::read(&mut reader)?,
    };
    reader.end()?;
    Ok(file)
}

#[cfg(test)]
mod tests;
