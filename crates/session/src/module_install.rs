//! Installing the modules of a configuration while it is linked.

mod diagnostics;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use yuba_addrs::{ModuleSource, RegistryModule, RemoteModule, Version, VersionConstraints, without_secrets};
use yuba_analysis::ModuleReader;
use yuba_config::Module;
use yuba_eval::symbols::{LibraryFiles, UnreadableLibrary};
use yuba_eval::tree::{Installed, Manifest, ModuleFiles, Wanted};
use yuba_install::modules::{Fetcher, PackageLocation, Registry, RegistryError, copy_directory, find_subdir};
use yuba_syntax::{Diagnostic, Diagnostics, Sources};

use crate::diagnostics::without_location;
use crate::install::{InitEvent, Versions};
use crate::project::Project;

/// Installs modules.
pub(crate) struct Installer<'a> {
    project: &'a Project,
    /// The directory in which modules are installed, as messages show it.
    data_dir: PathBuf,
    /// Install existing modules again.
    pub(crate) upgrade: bool,
    /// Receives progress events.
    pub(crate) emit: &'a mut dyn FnMut(InitEvent),
    tools: Option<(Registry, Fetcher)>,
}

impl<'a> Installer<'a> {
    pub(crate) fn new(project: &'a Project, versions: Versions, emit: &'a mut dyn FnMut(InitEvent)) -> Installer<'a> {
        Installer {
            project,
            data_dir: project.data_dir().to_owned(),
            upgrade: versions == Versions::Newest,
            emit,
            tools: None,
        }
    }

    /// Location of a package on this machine.
    fn path(&self, package: &Path) -> PathBuf {
        self.project.path(package)
    }
}

/// Treatment of modules that are not installed.
pub(crate) enum Missing<'m, 'a> {
    /// Problems are reported.
    Told,
    /// Only the need for an installation is recorded.
    Noted {
        /// Whether there is anything.
        any: &'m mut bool,
        /// Whether a symbol library of the root module is among it.
        of_root: &'m mut bool,
        /// Installed modules are installed again, too.
        upgrade: bool,
    },
    /// Missing modules are installed.
    Brought(&'m mut Installer<'a>),
}

/// The directories of modules, and what is done about those that are missing.
pub(crate) struct Directories<'d, 'm, 'a> {
    pub(crate) reader: &'d mut ModuleReader,
    pub(crate) manifest: &'d Manifest,
    pub(crate) missing: Missing<'m, 'a>,
    /// A directory below its caller's, reported after it is read.
    awaited: Option<(EcoString, EcoString)>,
}

impl<'d, 'm, 'a> Directories<'d, 'm, 'a> {
    pub(crate) fn new(
        reader: &'d mut ModuleReader,
        manifest: &'d Manifest,
        missing: Missing<'m, 'a>,
    ) -> Directories<'d, 'm, 'a> {
        Directories { reader, manifest, missing, awaited: None }
    }
}

impl ModuleFiles for Directories<'_, '_, '_> {
    fn install(&mut self, wanted: &Wanted<'_>) -> Option<(Option<Installed>, Diagnostics)> {
        let key = wanted.key;
        let recorded = self.manifest.modules.get(key).filter(|recorded| is_right(self.reader, recorded, wanted));
        match &mut self.missing {
            Missing::Told => None,
            Missing::Noted { upgrade, .. } if wanted.dir.is_some() || (recorded.is_some() && !*upgrade) => None,
            Missing::Noted { any, of_root, .. } => {
                **any = true;
                **of_root |= key.starts_with("symbols:");
                Some((None, Diagnostics::new()))
            }
            Missing::Brought(installer) => match (recorded.filter(|_| !installer.upgrade), wanted.dir) {
                (Some(recorded), _) => Some((Some(recorded.clone()), Diagnostics::new())),
                (None, Some(dir)) => {
                    self.awaited = Some((key.clone(), dir.into()));
                    None
                }
                (None, None) => Some(installer.install(wanted)),
            },
        }
    }
    fn found(&mut self, dir: &str) {
        if let (Some((path, awaited)), Missing::Brought(installer)) = (self.awaited.take(), &mut self.missing)
            && awaited == dir
        {
            (installer.emit)(InitEvent::Module { path, dir: awaited });
        }
    }
    fn module(&mut self, dir: &str) -> Option<(Arc<Module>, Diagnostics)> {
        self.reader.module(dir)
    }
    fn library(&mut self, path: &str) -> Result<LibraryFiles, UnreadableLibrary> {
        self.reader.library(path)
    }
    fn identity(&mut self, dir: &str) -> EcoString {
        self.reader.identity(dir)
    }
    fn sources(&self) -> Option<&Sources> {
        self.reader.sources()
    }
}

/// Whether what is recorded is what is wanted, and is still there.
fn is_right(reader: &ModuleReader, recorded: &Installed, wanted: &Wanted<'_>) -> bool {
    let version_is_right = match (&recorded.version, wanted.constraints) {
        (Some(version), Some(constraints)) => constraints.allows(version),
        (_, None) => true,
        (None, Some(_)) => false,
    };
    let is_there = match wanted.dir {
        Some(dir) => recorded.dir == dir,
        None => reader.files().is_dir(&recorded.dir).unwrap_or_default(),
    };
    recorded.source == eco_format!("{}", wanted.source) && version_is_right && is_there
}

impl Installer<'_> {
    /// Installs a module, or fails with the reason.
    fn install(&mut self, wanted: &Wanted<'_>) -> (Option<Installed>, Diagnostics) {
        let mut problems = Diagnostics::new();
        let key = wanted.key;
        let package = self.data_dir.join("modules").join(Manifest::package_dir(key).as_str());
        if let Err(problem) = clear(self.project, &package) {
            return (None, problem.into());
        }
        let found = match wanted.source {
            ModuleSource::Registry(module) => self.bring_registry(key, module, wanted, &package, &mut problems),
            ModuleSource::Remote(remote) => self.bring_package(key, remote, wanted, &package),
            ModuleSource::Local(_) => Err(Box::new(diagnostics::unreadable_directory(&package))),
        };
        match found {
            Ok((version, dir)) => {
                (self.emit)(InitEvent::Module { path: key.clone(), dir: dir.clone() });
                (Some(Installed { source: eco_format!("{}", wanted.source), version, dir }), problems)
            }
            Err(problem) => {
                problems.push(*problem);
                problems.extend(clear(self.project, &package).err());
                (None, problems)
            }
        }
    }

    fn tools(&mut self) -> &mut (Registry, Fetcher) {
        self.tools.get_or_insert_with(|| (self.project.hosts().module_registry(), self.project.hosts().fetcher()))
    }

    fn bring_package(
        &mut self,
        key: &EcoString,
        remote: &RemoteModule,
        wanted: &Wanted<'_>,
        package: &Path,
    ) -> Result<(Option<Version>, EcoString), Box<Diagnostic>> {
        let package_shown = without_secrets(&remote.package);
        (self.emit)(InitEvent::Downloading { path: key.clone(), package: package_shown, version: None });
        let path = self.path(package);
        let (_, fetcher) = self.tools();
        fetcher
            .fetch(&remote.package, &path)
            .map_err(|reason| diagnostics::not_downloaded(wanted, &remote.package, &reason))?;
        let subdir = remote.subdir.as_deref().unwrap_or_default();
        let below = find_subdir(&path, subdir).map_err(|reason| diagnostics::no_subdir_match(wanted, &reason))?;
        self.inside(wanted, package, &below).map(|dir| (None, dir))
    }

    fn bring_registry(
        &mut self,
        key: &EcoString,
        module: &RegistryModule,
        wanted: &Wanted<'_>,
        package: &Path,
        problems: &mut Diagnostics,
    ) -> Result<(Option<Version>, EcoString), Box<Diagnostic>> {
        let (registry, _) = self.tools();
        let versions = registry.versions(module).map_err(|error| match error {
            RegistryError::NotFound => diagnostics::no_such_module(module, wanted),
            RegistryError::Invalid => diagnostics::invalid_answer(module, wanted),
            RegistryError::Failed(reason) => diagnostics::no_versions_known(module, wanted, &reason),
        })?;
        let version = select_version(&versions, module, wanted, problems)?;
        let without_subdir = RegistryModule { subdir: None, ..module.clone() };
        (self.emit)(InitEvent::Downloading {
            path: key.clone(),
            package: eco_format!("{without_subdir}"),
            version: Some(eco_format!("{version}")),
        });
        let path = self.path(package);
        let (registry, fetcher) = self.tools();
        let location = registry
            .location(module, &version.to_string())
            .map_err(|reason| diagnostics::no_location(module, &version, wanted, &reason))?;
        let (fetched, subdir, from) = match &location {
            PackageLocation::Indirect(remote) => {
                (fetcher.fetch(&remote.package, &path), remote.subdir.clone(), remote.package.clone())
            }
            PackageLocation::Direct(direct) => {
                let from = yuba_net::http::shown(&direct.url);
                (fetcher.fetch_archive(direct, &path), direct.subdir.clone(), from.into())
            }
        };
        fetched.map_err(|reason| diagnostics::not_downloaded(wanted, &from, &reason))?;
        let subdir = subdir.unwrap_or_default();
        if !path.join(subdir.as_str()).is_dir() {
            return Err(Box::new(diagnostics::no_subdir(wanted, &subdir)));
        }
        self.inside(wanted, package, Path::new(subdir.as_str())).map(|dir| (Some(version), dir))
    }

    /// The directory of a module in its package, which must not lead out of it.
    fn inside(&self, wanted: &Wanted<'_>, package: &Path, below: &Path) -> Result<EcoString, Box<Diagnostic>> {
        let dir = if below.as_os_str().is_empty() { package.to_owned() } else { package.join(below) };
        let real = |shown: &Path| fs::canonicalize(self.path(shown)).ok();
        match (real(package), real(&dir)) {
            (Some(root), Some(real)) if real.starts_with(&root) && real.is_dir() => {}
            (Some(_), Some(real)) if real.is_dir() => return Err(Box::new(diagnostics::leads_out(wanted, below))),
            _ => return Err(Box::new(diagnostics::no_subdir(wanted, &below.to_string_lossy()))),
        }
        match dir.to_str() {
            Some(dir) => Ok(dir.into()),
            None => Err(Box::new(diagnostics::unreadable_directory(&dir))),
        }
    }
}

fn clear(project: &Project, package: &Path) -> Result<(), Diagnostic> {
    let path = project.path(package);
    let removed = match fs::symlink_metadata(&path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    };
    removed.map_err(|error| diagnostics::not_removed(package, &error))
}

/// The newest version that is wanted. A pre-release is taken only if it alone is wanted: `2.0.0-beta1`.
fn select_version(
    versions: &[String],
    module: &RegistryModule,
    wanted: &Wanted<'_>,
    problems: &mut Diagnostics,
) -> Result<Version, Box<Diagnostic>> {
    let any = VersionConstraints::default();
    let constraints = wanted.constraints.unwrap_or(&any);
    let mut newest: Option<Version> = None;
    let mut selected: Option<Version> = None;
    for text in versions {
        let Ok(version) = Version::parse(text) else {
            problems.push(diagnostics::invalid_version(module, wanted, text));
            continue;
        };
        if version.is_prerelease() && constraints.exact() != Some(&version) {
            continue;
        }
        if constraints.allows(&version) && selected.as_ref().is_none_or(|other| version > *other) {
            selected = Some(version.clone());
        }
        if newest.as_ref().is_none_or(|other| version > *other) {
            newest = Some(version);
        }
    }
    match (selected, newest) {
        (Some(selected), _) => Ok(selected),
        (None, Some(newest)) => Err(Box::new(diagnostics::no_version(module, wanted, &newest))),
        (None, None) => Err(Box::new(diagnostics::no_versions(module, wanted))),
    }
}

/// Copies a module into an empty directory, to become a root module there.
pub(crate) fn copy_root(project: &Project, source: &str) -> Result<(), Diagnostic> {
    let dir = Path::new(project.dir());
    let is_relative = source == "." || source == ".." || source.starts_with("./") || source.starts_with("../");
    let absolute = match is_relative {
        true => yuba_net::environment::absolute(project.root(), source).into_os_string().into_string().ok(),
        false => None,
    };
    let text = absolute.as_deref().unwrap_or(source);
    let source = ModuleSource::parse(text).map_err(|error| error.diagnostic())?;
    let temporary = project.data_dir().join("init-from-module");
    clear(project, &temporary)?;
    let (key, name) = ("root".into(), "module.root".into());
    let span = yuba_syntax::Span::default();
    let wanted = Wanted { key: &key, name: &name, source: &source, constraints: None, dir: None, span };
    let mut silent = |_: InitEvent| {};
    let mut installer =
        Installer { data_dir: temporary.clone(), ..Installer::new(project, Versions::Installed, &mut silent) };
    let (installed, mut problems) = installer.install(&wanted);
    let copied = match installed {
        Some(installed) => copy_directory(&project.path(installed.dir.as_str()), &project.path(dir))
            .map_err(|reason| diagnostics::root_not_copied(text, &reason)),
        None => {
            problems.retain(Diagnostic::is_error);
            let first = problems.into_iter().next();
            let problem = first.unwrap_or_else(|| diagnostics::root_not_copied(text, "the package is empty"));
            Err(without_location(problem))
        }
    };
    let _ = clear(project, &temporary);
    copied?;
    match above(project, &source) {
        Some(instead) => Err(diagnostics::root_needs_parent(text, &instead)),
        None => Ok(()),
    }
}

/// The address of a module that a copied root module expects beside itself, where it was in its package.
fn above(project: &Project, source: &ModuleSource) -> Option<String> {
    let (module, _) = project.reader(None, None).module(project.dir())?;
    let (package, subdir) = match source {
        ModuleSource::Registry(module) => {
            (eco_format!("{}", RegistryModule { subdir: None, ..module.clone() }), module.subdir.clone())
        }
        ModuleSource::Remote(remote) => (remote.package.clone(), remote.subdir.clone()),
        ModuleSource::Local(_) => return None,
    };
    let subdir = subdir?;
    module.calls.values().find_map(|call| {
        let (value, _) = yuba_eval::constant(call.source.as_ref()?);
        let relative = value.as_str().filter(|text| text.starts_with("../"))?;
        let mut parts: Vec<&str> = subdir.split('/').collect();
        for part in relative.split('/') {
            match part {
                "." | "" => {}
                ".." => drop(parts.pop()?),
                part => parts.push(part),
            }
        }
        Some(format!("{package}//{}", parts.join("/")))
    })
}
