//! A plan file with any changes to its content, and a checksum that is right, is refused, or does nothing that it does not
//! show.
#![no_main]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::future::Future;
use std::io::{Cursor, Read as _, Write as _};
use std::path::Path;
use std::pin::Pin;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use sha2::{Digest as _, Sha256};
use yuba_engine::{Interrupt, PlanOptions, ProvisionOrder, Provisioners};
use yuba_eval::tree::Purpose;
use yuba_plan::{Action, Event, Phase};
use yuba_session::backend::StateFlags;
use yuba_session::load::Snapshot;
use yuba_session::{
    ConfigurationCheck, EarlyProcesses, ForgottenInstances, LoadOptions, Loaded, LockOptions, Progress, Project,
    ProjectSettings, RemoteWorkspaces,
};
use yuba_value::EcoString;

const FIRST: &str = "resource \"terraform_data\" \"a\" {\n  count = 2\n}\nresource \"terraform_data\" \"b\" {\n  input = terraform_data.a[0].id\n}\n";
const SECOND: &str = "locals {\n  x = 1\n}\nresource \"terraform_data\" \"a\" {\n  triggers_replace = local.x\n}\nresource \"terraform_data\" \"c\" {\n  input = terraform_data.a.id\n}\noutput \"o\" {\n  value = terraform_data.c.id\n}\n";

struct NoProvisioners;

impl Provisioners for NoProvisioners {
    fn run<'p>(
        &'p self,
        _: ProvisionOrder,
        _: &'p dyn Fn(EcoString),
    ) -> Pin<Box<dyn Future<Output = Result<(), EcoString>> + 'p>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

fn load(project: &Project, snapshot: Option<&Snapshot>) -> Option<Loaded> {
    project.load(LoadOptions::new(Purpose::Use).of_snapshot(snapshot)).and_then(Loaded::ready).ok()
}

fn lock_options() -> LockOptions {
    LockOptions {
        operation: "fuzz",
        state: StateFlags::default(),
        parallelism: 2,
        check: ConfigurationCheck::Full,
        remote: RemoteWorkspaces::Refused,
        processes: EarlyProcesses::ForValidation,
    }
}

/// A plan that is not forged.
struct Honest {
    project: Project,
    /// The entries of its archive.
    entries: BTreeMap<String, Vec<u8>>,
    /// The state file that the plan was made from.
    state: Vec<u8>,
}

static HONEST: OnceLock<Honest> = OnceLock::new();

fn honest() -> Honest {
    let dir = std::env::temp_dir().join(format!("fuzz-apply-{}", std::process::id()));
    fs::create_dir_all(&dir).expect("the directory for temporary files is writable");
    let project = Project::new(ProjectSettings::bare(&dir));
    let progress = Progress { events: &|_| {}, interrupt: &Interrupt::new(), tick: None };
    for (text, applies) in [(FIRST, true), (SECOND, false)] {
        fs::write(dir.join("main.tf"), text).expect("the directory is writable");
        let loaded = load(&project, None).expect("the configuration is valid");
        let Ok(locked) = loaded.lock(&lock_options(), &mut || {}) else { panic!("the state can be locked") };
        let mut planned = locked.plan(&PlanOptions::default(), progress);
        assert!(!planned.has_failed());
        match applies {
            true => assert!(!planned.apply(ForgottenInstances::Error, &NoProvisioners, progress).has_failed()),
            false => {
                planned.save(Path::new("plan")).expect("the directory is writable");
                planned.end();
            }
        }
    }
    let bytes = fs::read(dir.join("plan")).expect("it was saved");
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).expect("it is an archive");
    let mut entries = BTreeMap::new();
    for at in 0..archive.len() {
        let mut entry = archive.by_index(at).expect("it exists");
        let mut content = Vec::new();
        entry.read_to_end(&mut content).expect("it is whole");
        entries.insert(entry.name().to_owned(), content);
    }
    let state = fs::read(dir.join("terraform.tfstate")).expect("it was applied");
    Honest { project, entries, state }
}

/// Writes the archive with a checksum that is right.
fn sealed(mut entries: BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let plan = entries.remove("tfplan").unwrap_or_default();
    let line = plan.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let payload = plan.get(line + 32..).unwrap_or_default();
    let mut hasher = Sha256::new();
    let parts = entries.iter().flat_map(|(name, content)| [name.as_bytes(), content.as_slice()]);
    for part in parts.chain([payload]) {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let plan = [&plan[..line], &hasher.finalize()[..], payload].concat();
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let all = entries.iter().map(|(name, content)| (name.as_str(), content.as_slice()));
    for (name, content) in std::iter::once(("tfplan", plan.as_slice())).chain(all) {
        writer.start_file(name, zip::write::SimpleFileOptions::default()).expect("memory can be written");
        writer.write_all(content).expect("memory can be written");
    }
    writer.finish().expect("memory can be written").into_inner()
}

/// Edits of three bytes each: which entry and what kind, where, and what.
fn forged(honest: &Honest, edits: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut entries = honest.entries.clone();
    for edit in edits.chunks_exact(3) {
        let [choice, offset, byte] = *edit else { continue };
        let name = match choice % 8 {
            0 => "tfstate",
            1 => "tfconfig/m-/main.tf",
            _ => "tfplan",
        };
        let Some(content) = entries.get_mut(name) else { continue };
        let at = (usize::from(choice >> 5) << 8 | usize::from(offset)) % content.len().max(1);
        match choice >> 3 & 3 {
            0 => content.insert(at, byte),
            1 if at < content.len() => drop(content.remove(at)),
            _ => content.iter_mut().skip(at).take(1).for_each(|old| *old = byte),
        }
    }
    entries
}

fuzz_target!(|edits: &[u8]| {
    let honest = HONEST.get_or_init(honest);
    let project = &honest.project;
    fs::write(project.path("terraform.tfstate"), &honest.state).expect("the directory is writable");
    fs::write(project.path("plan"), sealed(forged(honest, edits))).expect("the directory is writable");
    let Ok(saved) = project.read_plan(Path::new("plan")) else { return };
    let Some(loaded) = load(project, Some(&saved.snapshot)) else { return };
    let Ok(locked) = loaded.lock(&lock_options(), &mut || {}) else { return };
    let changes = saved.plan.changes.clone();
    let Ok(planned) = locked.resume(saved) else { return };
    let done = RefCell::new(Vec::new());
    let events = |event: Event| {
        if let Event::Started { addr, phase: Phase::Apply(action), .. } = event {
            done.borrow_mut().push((addr, action));
        }
    };
    planned.apply(
        ForgottenInstances::Error,
        &NoProvisioners,
        Progress { events: &events, interrupt: &Interrupt::new(), tick: None },
    );
    for (addr, action) in done.take() {
        let is_planned = changes.iter().any(|change| {
            let fits = match action {
                Action::Delete | Action::Forget => change.action.ends(),
                _ => change.action.makes(),
            };
            change.addr == addr && fits
        });
        assert!(is_planned, "{addr} {action:?} is not planned");
    }
});
