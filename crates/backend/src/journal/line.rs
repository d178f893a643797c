//! Lines of a journal. Each carries a checksum, so that one that was cut or changed is recognised.
//!
//! ```text
//! CHECKSUM H {"format":1,"lineage":"...","serial":3,"sha256":"..."}   the snapshot that the journal continues
//! CHECKSUM B 7 ["terraform_data.a","create"]                          operation 7 begins
//! CHECKSUM E 7 EDIT<TAB>EDIT                                          operation 7 is finished, with these edits
//! CHECKSUM E - EDIT                                                   edits of no operation
//! CHECKSUM X {...}                                                    lines as above, encrypted as the state is
//! CHECKSUM S {"serial":4,"sha256":"..."}                              a snapshot with everything so far is about to be saved
//! CHECKSUM R {"serial":7}                                             the final state could not be saved and is elsewhere
//! ```
//!
//! The checksum is a CRC-32 of what follows it, in hexadecimal. Edits are JSON without raw control characters, so neither a
//! line break nor a tab can be inside one.

use ecow::EcoString;
use serde_json::{Value as Json, json};
use yuba_state::Edit;

use crate::encryption::Sealing;

/// The version of this format.
const FORMAT: u64 = 1;

/// Number of an operation of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId(pub(crate) u32);

/// An operation that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalOperation {
    /// Address of its object.
    pub address: EcoString,
    /// Its action: `create`, `update`, `destroy`.
    pub action: EcoString,
}

/// A snapshot on disk, by its fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base {
    pub(crate) lineage: EcoString,
    pub(crate) serial: u64,
    /// Of the bytes of the file; empty when there is no file.
    pub(crate) sha256: String,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Line {
    Header(Base),
    Begin(OperationId, JournalOperation),
    Edits(Option<OperationId>, Vec<Edit>),
    Snapshot { serial: u64, sha256: String },
    Rescued { serial: u64 },
}

/// Appends a line.
pub(crate) fn push_line(out: &mut Vec<u8>, kind: u8, payload: &str) {
    debug_assert!(!payload.contains('\n'), "because a line is one line");
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&[kind, b' ']);
    checksum.update(payload.as_bytes());
    let checksum = checksum.finalize();
    for shift in (0..8).rev() {
        let digit = (checksum >> (shift * 4)) & 0xf;
        out.push(b"0123456789abcdef"[digit as usize]);
    }
    out.extend_from_slice(&[b' ', kind, b' ']);
    out.extend_from_slice(payload.as_bytes());
    out.push(b'\n');
}

pub(crate) fn push_header(out: &mut Vec<u8>, base: &Base) {
    let header =
        json!({ "format": FORMAT, "lineage": base.lineage.as_str(), "serial": base.serial, "sha256": base.sha256 });
    push_line(out, b'H', &header.to_string());
}

pub(crate) fn push_begin(out: &mut Vec<u8>, id: OperationId, operation: &JournalOperation) {
    let about = json!([operation.address.as_str(), operation.action.as_str()]);
    push_line(out, b'B', &format!("{} {about}", id.0));
}

pub(crate) fn push_edits(out: &mut Vec<u8>, id: Option<OperationId>, edits: &[Edit]) {
    let mut payload = match id {
        Some(id) => format!("{} ", id.0),
        None => "- ".to_owned(),
    };
    for (index, edit) in edits.iter().enumerate() {
        if index > 0 {
            payload.push('\t');
        }
        payload.push_str(&edit.to_json_line());
    }
    push_line(out, b'E', &payload);
}

pub(crate) fn push_snapshot(out: &mut Vec<u8>, serial: u64, sha256: &str) {
    push_line(out, b'S', &json!({ "serial": serial, "sha256": sha256 }).to_string());
}

pub(crate) fn push_rescued(out: &mut Vec<u8>, serial: u64) {
    push_line(out, b'R', &json!({ "serial": serial }).to_string());
}

/// Appends lines, encrypted like the state. Lines that cannot be encrypted are left out: then they
/// count as never written.
pub(crate) fn push_sealed(out: &mut Vec<u8>, sealing: &Sealing, lines: &[u8]) {
    if let Ok(sealed) = sealing.seal(lines, None)
        && let Ok(text) = std::str::from_utf8(&sealed)
    {
        push_line(out, b'X', text);
    }
}

/// Content of a journal.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pub(crate) lines: Vec<Line>,
    /// Damaged lines within the file. An unfinished last line is ignored: a killed writer leaves such a line.
    pub(crate) damaged: usize,
}

/// Reads the lines that are whole.
pub(crate) fn parse(bytes: &[u8], sealing: Option<&Sealing>) -> Lines {
    let mut found = Lines::default();
    let mut pieces = bytes.split(|byte| *byte == b'\n').peekable();
    while let Some(piece) = pieces.next() {
        // The rest after the last line break is empty or truncated.
        if pieces.peek().is_none() {
            break;
        }
        if let Some(sealed) = sealed_line(piece) {
            match sealing.and_then(|sealing| sealing.unseal(sealed, |_| false).ok()) {
                // Nothing is encrypted twice.
                Some(unsealed) => {
                    let inner = parse(&unsealed.content, None);
                    found.lines.extend(inner.lines);
                    found.damaged += inner.damaged;
                }
                None => found.damaged += 1,
            }
            continue;
        }
        match parse_line(piece) {
            Some(line) => found.lines.push(line),
            None => found.damaged += 1,
        }
    }
    found
}

/// The fingerprint of the snapshot that was about to be saved last; none if everything before the edits was saved.
pub(crate) fn last_announced(journal: &[u8], sealing: Option<&Sealing>) -> Option<String> {
    let mut lines = parse(journal, sealing).lines.into_iter().rev();
    lines.find_map(|line| if let Line::Snapshot { sha256, .. } = line { Some(sha256) } else { None })
}

/// Content of an encrypted line, if it is one and intact.
fn sealed_line(line: &[u8]) -> Option<&[u8]> {
    let line = std::str::from_utf8(line).ok()?;
    let (checksum, rest) = line.split_once(' ')?;
    let payload = rest.strip_prefix("X ")?;
    let whole = u32::from_str_radix(checksum, 16).ok()? == crc32fast::hash(rest.as_bytes());
    whole.then_some(payload.as_bytes())
}

fn parse_line(line: &[u8]) -> Option<Line> {
    let line = std::str::from_utf8(line).ok()?;
    let (checksum, rest) = line.split_once(' ')?;
    if checksum.len() != 8 || u32::from_str_radix(checksum, 16).ok()? != crc32fast::hash(rest.as_bytes()) {
        return None;
    }
    let (kind, payload) = rest.split_once(' ')?;
    match kind {
        "H" => parse_header(payload).map(Line::Header),
        "B" => {
            let (id, about) = payload.split_once(' ')?;
            let about: Json = serde_json::from_str(about).ok()?;
            let text = |index: usize| about.get(index).and_then(Json::as_str).map(EcoString::from);
            let operation = JournalOperation { address: text(0)?, action: text(1)? };
            Some(Line::Begin(OperationId(id.parse().ok()?), operation))
        }
        "E" => {
            let (id, edits) = payload.split_once(' ')?;
            let id = if id == "-" { None } else { Some(OperationId(id.parse().ok()?)) };
            let edits = edits.split('\t').filter(|edit| !edit.is_empty());
            let edits = edits.map(|edit| Edit::from_json_line(edit).ok()).collect::<Option<Vec<_>>>()?;
            Some(Line::Edits(id, edits))
        }
        "S" => {
            let snapshot: Json = serde_json::from_str(payload).ok()?;
            let sha256 = snapshot.get("sha256")?.as_str()?.to_owned();
            Some(Line::Snapshot { serial: snapshot.get("serial")?.as_u64()?, sha256 })
        }
        "R" => {
            let rescued: Json = serde_json::from_str(payload).ok()?;
            Some(Line::Rescued { serial: rescued.get("serial")?.as_u64()? })
        }
        _ => None,
    }
}

fn parse_header(payload: &str) -> Option<Base> {
    let header: Json = serde_json::from_str(payload).ok()?;
    if header.get("format")?.as_u64()? != FORMAT {
        return None;
    }
    Some(Base {
        lineage: header.get("lineage")?.as_str()?.into(),
        serial: header.get("serial")?.as_u64()?,
        sha256: header.get("sha256")?.as_str()?.to_owned(),
    })
}

/// The fingerprint of a snapshot; empty for no bytes.
pub(crate) fn fingerprint(bytes: &[u8]) -> String {
    let mut hash = Fingerprint::default();
    hash.add(bytes);
    hash.finish()
}

/// The same for bytes that come in pieces.
#[derive(Default)]
pub(crate) struct Fingerprint {
    hash: sha2::Sha256,
    /// Number of bytes.
    pub(crate) length: u64,
}

impl Fingerprint {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        use sha2::Digest as _;
        self.hash.update(bytes);
        self.length += bytes.len() as u64;
    }
    pub(crate) fn finish(self) -> String {
        use sha2::Digest as _;
        if self.length == 0 {
            return String::new();
        }
        self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
