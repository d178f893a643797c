//! Plans in files: the data saved with a plan, and the requirements for applying it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use yuba_addrs::{ProviderSource, Resource, ResourceMode};
use yuba_backend::{BackendConfiguration, BackendKind};
use yuba_config::select_files;
use yuba_eval::ConfigTree;
use yuba_eval::tree::{Manifest, Purpose};
use yuba_install::lock_file::{self, LockFile};
use yuba_plan::file::{self, PlanFile, PlanFiles, SavedBackend};
use yuba_plan::{Plan, ResourceChange};
use yuba_provider::{ProviderSchema, Providers};
use yuba_state::State;
use yuba_syntax::files::MemoryFiles;
use yuba_syntax::{Diagnostic, Diagnostics, Sources};

use crate::backend::{OpenState, Refusal};
use crate::load::Snapshot;
use crate::loaded::{LoadOptions, Loaded};
use crate::manifest::{parse_planned, planned_text};
use crate::operation::diagnostics;
use crate::project::Project;
use crate::providers::InstalledProviders;

/// The version of Yuba. Only this version reads the plans it writes.
const TOOL_VERSION: &str = env!("CARGO_PKG_VERSION");

/// A plan from a file.
pub struct SavedPlan {
    /// The plan.
    pub plan: Plan,
    /// The configuration it was made for.
    pub snapshot: Snapshot,
    /// The workspace it was made in.
    pub workspace: EcoString,
    pub(crate) schemas: BTreeMap<ProviderSource, ProviderSchema>,
    pub(crate) was_encrypted: bool,
    locks: LockFile,
    lineage: EcoString,
    serial: u64,
    /// The snapshot it was made from, where it is stale only if something that it has read has changed.
    pub(crate) snapshot_number: Option<u64>,
}

impl SavedPlan {
    /// Whether the working directory selects the same packages of providers.
    pub(crate) fn check_locks(&self, locks: &LockFile) -> Result<(), Diagnostic> {
        if self.locks.selects_same(locks) {
            return Ok(());
        }
        let sources: BTreeSet<&ProviderSource> = self.locks.providers.keys().chain(locks.providers.keys()).collect();
        let mut differences = EcoString::new();
        for source in sources {
            let difference = match (self.locks.providers.get(source), locks.providers.get(source)) {
                (Some(then), Some(now)) if then.version != now.version => {
                    eco_format!("the plan uses version {}, the lock file selects {}", then.version, now.version)
                }
                (Some(then), Some(now)) if then.hashes != now.hashes => {
                    eco_format!("the hashes of version {} differ", now.version)
                }
                (Some(then), None) => eco_format!("the plan uses version {}, the lock file has no entry", then.version),
                (None, Some(now)) => eco_format!("the lock file selects {}, the plan has no entry", now.version),
                _ => continue,
            };
            differences.push_str(&eco_format!("\n  - {source}: {difference}"));
        }
        Err(diagnostics::lock_file_differs(&differences))
    }

    /// Whether the selected workspace is the one that the plan was made in. OpenTofu applies such a plan to the state of another
    /// workspace if that has no state yet.
    pub fn check_workspace(&self, selected: &str) -> Result<(), Diagnostic> {
        match self.workspace == selected {
            true => Ok(()),
            false => Err(diagnostics::plan_of_other_workspace(&self.workspace, selected)),
        }
    }

    /// Whether the state is still the one that the plan was made from. With numbered snapshots, only whether it is the same state:
    /// what the plan has read is compared when it is locked.
    pub(crate) fn check_state(&self, state: Option<&State>, snapshot: Option<u64>) -> Result<(), Diagnostic> {
        let (lineage, serial) = identity(state);
        if !self.lineage.is_empty() && lineage != self.lineage {
            return Err(diagnostics::plan_of_other_state());
        }
        if self.snapshot_number.is_some() && snapshot.is_some() && (state.is_none() || lineage == self.lineage) {
            return Ok(());
        }
        if serial != self.serial || lineage != self.lineage {
            return Err(diagnostics::stale_plan());
        }
        Ok(())
    }
}

/// The lineage and the serial of a state.
fn identity(state: Option<&State>) -> (EcoString, u64) {
    state.map_or_else(Default::default, |state| (state.lineage.clone(), state.serial))
}

/// Everything that is saved with a plan.
pub(crate) fn contents(plan: Plan, loaded: &Loaded, backend: &BackendConfiguration, opened: &OpenState) -> PlanFile {
    let (lineage, serial) = identity(opened.state.as_ref());
    let project = &loaded.project;
    let libraries = loaded.libraries.iter().filter_map(|id| loaded.sources.get(*id));
    let schemas = needed_schemas(&plan, &loaded.tree, project.providers());
    let backend = SavedBackend {
        kind: backend.kind().into(),
        config: backend.arguments().to_json().to_string().into(),
        workspace: project.workspace().into(),
    };
    let lock_file = project.files().read(lock_file::LOCK_FILE).ok();
    let lock_file = lock_file.and_then(|bytes| std::str::from_utf8(&bytes).ok().map(EcoString::from));
    PlanFile {
        tool_version: TOOL_VERSION.into(),
        plan,
        modules: module_files(loaded),
        manifest: planned_text(&loaded.tree.manifest()).into(),
        libraries: libraries.map(|file| (EcoString::from(&*file.name), file.bytes.clone())).collect(),
        schemas,
        backend,
        lock_file: lock_file.unwrap_or_default(),
        lineage,
        serial,
        snapshot: opened.snapshot(),
    }
}

/// The configuration files of all modules, by the keys of the modules. Files with values of variables are not among them:
/// they may have ephemeral ones.
fn module_files(loaded: &Loaded) -> BTreeMap<EcoString, PlanFiles> {
    let mut by_dir: BTreeMap<&str, PlanFiles> = BTreeMap::new();
    for (_, file) in loaded.sources.iter() {
        let (dir, name) = file.name.rsplit_once('/').unwrap_or((".", &file.name));
        let selection = select_files([name]);
        let is_of_module = !selection.primary.is_empty() || !selection.overrides.is_empty();
        if is_of_module && !file.name.starts_with('<') {
            by_dir.entry(dir).or_default().insert(name.into(), file.bytes.clone());
        }
    }
    let files = |(_, node): (_, &yuba_eval::tree::ModuleNode)| {
        (Manifest::key(&node.path), by_dir.get(node.dir.as_str()).cloned().unwrap_or_default())
    };
    loaded.tree.iter().map(files).collect()
}

/// The schemas of all types that a plan or its configuration names.
fn needed_schemas(
    plan: &Plan,
    tree: &ConfigTree,
    providers: &dyn Providers,
) -> BTreeMap<ProviderSource, ProviderSchema> {
    let mut needed: BTreeMap<ProviderSource, BTreeSet<(ResourceMode, EcoString)>> = BTreeMap::new();
    let mut need = |source: &ProviderSource, resource: Option<&Resource>| {
        if InstalledProviders::is_built_in(source) {
            return;
        }
        if !needed.contains_key(source) {
            needed.insert(source.clone(), BTreeSet::new());
        }
        if let (Some(types), Some(resource)) = (needed.get_mut(source), resource) {
            types.insert((resource.mode, resource.kind.clone()));
        }
    };
    for (_, node) in tree.iter() {
        for key in node.module.providers.keys() {
            node.module.provider_for_local_name(&key.name).iter().for_each(|source| need(source, None));
        }
        for resource in node.module.resources.values() {
            let source = node.module.provider_of(resource);
            source.iter().for_each(|source| need(source, Some(&Resource::from(&resource.key))));
        }
    }
    for state in [&plan.prior_state, &plan.previous_state] {
        state.iter().for_each(|known| need(&known.provider.provider, Some(&known.addr.resource)));
    }
    let mut of_change = |change: &ResourceChange| need(&change.provider.provider, Some(&change.addr.resource));
    plan.changes.iter().chain(&plan.drift).for_each(&mut of_change);
    let found = needed.into_iter().filter_map(|(source, types)| {
        let whole = providers.schema(&source)?;
        Some((source, reduced(&whole, types)))
    });
    found.collect()
}

/// A schema with these types only.
fn reduced(whole: &ProviderSchema, types: BTreeSet<(ResourceMode, EcoString)>) -> ProviderSchema {
    let mut schema =
        ProviderSchema { provider: whole.provider.clone(), meta: whole.meta.clone(), ..ProviderSchema::default() };
    for (mode, kind) in types {
        let (from, to) = match mode {
            ResourceMode::Managed => (&whole.resources, &mut schema.resources),
            ResourceMode::Data => (&whole.data, &mut schema.data),
            ResourceMode::Ephemeral => (&whole.ephemeral, &mut schema.ephemeral),
        };
        if let Some(found) = from.get(&kind) {
            to.insert(kind.clone(), found.clone());
        }
        if let Some(identity) = whole.identities.get(&kind).filter(|_| mode == ResourceMode::Managed) {
            schema.identities.insert(kind, identity.clone());
        }
    }
    schema
}

/// Reason why a file could not be read as a plan.
pub(crate) enum PlanProblem {
    Unreadable(std::io::Error),
    Content(file::PlanFileError),
    Encrypted(Diagnostics),
    Configuration(String),
}

impl Project {
    /// Reads a plan from a file.
    pub fn read_plan(&self, path: &Path) -> Result<SavedPlan, Diagnostic> {
        saved_plan(path, self).map_err(|problem| match problem {
            PlanProblem::Unreadable(error) => diagnostics::plan_not_loaded(path, &error.to_string()),
            PlanProblem::Content(problem @ (file::PlanFileError::NotAPlan | file::PlanFileError::BrokenArchive)) => {
                diagnostics::plan_not_loaded(path, &problem.to_string())
            }
            PlanProblem::Content(problem) => diagnostics::plan_not_read(path, &problem.to_string()),
            PlanProblem::Encrypted(problems) => {
                diagnostics::plan_not_loaded(path, problems.joined().trim_end_matches('.'))
            }
            PlanProblem::Configuration(reason) => diagnostics::plan_not_read(path, &reason),
        })
    }
}

pub(crate) fn saved_plan(path: &Path, project: &Project) -> Result<SavedPlan, PlanProblem> {
    let mut bytes = fs::read(project.path(path)).map_err(PlanProblem::Unreadable)?;
    let was_encrypted = yuba_backend::encryption::is_encrypted_plan(&bytes);
    if was_encrypted {
        bytes = decrypted(&bytes, project).map_err(PlanProblem::Encrypted)?;
    }
    let contents = file::decode(&bytes, TOOL_VERSION).map_err(PlanProblem::Content)?;
    let manifest = parse_planned(&contents.manifest)
        .map_err(|reason| PlanProblem::Configuration(format!("the record of its modules is invalid: {reason}")))?;
    let mut files: BTreeMap<EcoString, Arc<[u8]>> = contents.libraries;
    for (key, module) in contents.modules {
        let Some(record) = manifest.modules.get(&key) else {
            let reason = format!("the record of its modules has no entry for the files of {key:?}");
            return Err(PlanProblem::Configuration(reason));
        };
        for (name, content) in module {
            let path = yuba_syntax::files::entry_path(&record.dir, &name);
            if files.get(&path).is_some_and(|other| *other != content) {
                return Err(PlanProblem::Configuration(format!("it has two versions of {path}")));
            }
            files.insert(path, content);
        }
    }
    let (locks, problems) = lock_file::parse("<saved-plan>", contents.lock_file.as_bytes(), &mut Sources::new());
    if problems.has_errors() {
        return Err(PlanProblem::Configuration("its lock file is invalid".to_owned()));
    }
    let backend = backend_of(&contents.backend, project).map_err(PlanProblem::Configuration)?;
    let given = contents.plan.variables.iter().filter(|(_, variable)| !variable.ephemeral);
    let snapshot = Snapshot {
        files: MemoryFiles::new(files),
        manifest,
        variables: given.map(|(name, variable)| (name.clone(), variable.value.clone())).collect(),
        backend: Some(backend),
    };
    Ok(SavedPlan {
        plan: contents.plan,
        snapshot,
        workspace: contents.backend.workspace,
        schemas: contents.schemas,
        locks,
        lineage: contents.lineage,
        serial: contents.serial,
        snapshot_number: contents.snapshot,
        was_encrypted,
    })
}

/// The backend whose state a plan changes.
fn backend_of(saved: &SavedBackend, project: &Project) -> Result<BackendConfiguration, String> {
    let SavedBackend { kind, config, .. } = saved;
    let row = project.backends().find(kind).filter(BackendKind::is_available);
    let Some(row) = row else {
        return Err(format!("its state is stored in the backend {kind:?}, which this version does not support"));
    };
    let arguments = serde_json::from_str(config)
        .map_err(|error| format!("the arguments of its backend {kind:?} are invalid: {error}"))?;
    Ok(BackendConfiguration::of_json(row, &arguments))
}

/// A plan that is encrypted as the configuration of the directory says.
fn decrypted(bytes: &[u8], project: &Project) -> Result<Vec<u8>, Diagnostics> {
    let encryption = match project.has_configuration() {
        false => crate::encryption::of_environment(project)?,
        true => match project.load(LoadOptions::new(Purpose::Look).without_tests()) {
            Ok(loaded) => crate::encryption::of(&loaded)?,
            Err(Refusal { problems, .. }) => return Err(problems),
        },
    };
    let Some(sealing) = &encryption.plan else { return Err(diagnostics::encrypted_plan().into()) };
    Ok(sealing.unseal(bytes, |_| false)?.content)
}
