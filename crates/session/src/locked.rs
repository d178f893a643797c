//! The second phase: the state is open and locked, the configuration is validated and the variables have values.
//!
//! The lock is released when the value goes: by [`Locked::end`], which reports failures, or by any other way out.

use std::ops::{Deref, DerefMut};

use ecow::EcoString;
use yuba_addrs::AbsResourceInstance;
use yuba_backend::BackendConfiguration;
use yuba_config::resource::ResourceKey;
use yuba_engine::PlanOptions;
use yuba_eval::graph::References;
use yuba_eval::outlives_planning;
use yuba_provider::Providers;
use yuba_state::State;
use yuba_syntax::{Diagnostic, Diagnostics};

use crate::applied::Applied;
use crate::backend::{LockWait, OpenFailure, OpenState, Refusal, StateFlags, state_location};
use crate::encryption::Encryption;
use crate::loaded::Loaded;
use crate::operation::variables::WithoutValue;
use crate::operation::{Progress, diagnostics};
use crate::prepared::Prepared;
use crate::validate::{EarlyProcesses, Validation};
use crate::workspaces::retitled;

/// Whether the whole configuration must be valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigurationCheck {
    /// It is validated before the state is locked.
    Full,
    /// Only the evaluated part must be valid: an imported object may be declared only in part.
    Evaluated,
}

/// Settings for locking a state for an operation.
pub struct LockOptions {
    /// The operation, as other processes see it in the lock.
    pub operation: &'static str,
    /// Flags about the state and its lock.
    pub state: StateFlags,
    /// Number of operations that run at the same time.
    pub parallelism: usize,
    /// Whether the whole configuration must be valid.
    pub check: ConfigurationCheck,
    /// Effect of a workspace whose operations run on a server.
    pub remote: RemoteWorkspaces,
    /// Provider processes that start while the configuration is validated.
    pub processes: EarlyProcesses,
}

/// Effect of a selected workspace whose operations run on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteWorkspaces {
    /// The operation is refused.
    Refused,
    /// The operation runs in this process anyway.
    Accepted,
}

/// A valid configuration with its state, open and locked.
pub struct Locked<'l> {
    pub(crate) loaded: &'l Loaded,
    pub(crate) prepared: Prepared<'l>,
    pub(crate) held: HeldState,
    pub(crate) encryption: Encryption,
    /// The backend that stores the state.
    pub(crate) backend: BackendConfiguration,
    /// Warnings so far.
    pub(crate) warnings: Diagnostics,
    /// Deprecated variables that module calls set. A plan finds them itself, unless it destroys everything.
    pub(crate) deprecated_arguments: Diagnostics,
}

impl Loaded {
    /// The configuration, which must not have errors, after checking that its providers are selected and installed. A
    /// missing provider makes [`Loaded::lock`] fail.
    pub fn ready(self) -> Result<Loaded, Refusal> {
        let mut loaded = self.valid_with_backend()?;
        let found = loaded.project.providers().check(&loaded.tree, &mut loaded.sources);
        loaded.diagnostics.extend(found);
        Ok(loaded)
    }

    /// Prepares the variables, validates the configuration, and opens and locks its state. `waiting` follows a lock that takes
    /// long.
    pub fn lock(&self, options: &LockOptions, waiting: &mut dyn LockWait) -> Result<Locked<'_>, Refusal> {
        let (prepared, mut warnings, deprecated_arguments) = self.prepare(options)?;
        let (mut opened, encryption, backend) = match self.open(options, waiting) {
            Ok(opened) => opened,
            Err(found) => {
                warnings.extend(found);
                return Err(self.refuse(warnings));
            }
        };
        warnings.extend(std::mem::take(&mut opened.notes));
        let providers = self.project.providers();
        if let Some(state) = &mut opened.state {
            providers.adopt(&self.tree, state);
        }
        providers.set_encryption(encryption.clone());
        let held = HeldState(Some(opened));
        Ok(Locked { loaded: self, prepared, held, encryption, backend, warnings, deprecated_arguments })
    }

    /// Prepares the variables and validates the configuration. The other parts of the result are warnings, and warnings about
    /// deprecated variables that calls set.
    fn prepare(&self, options: &LockOptions) -> Result<(Prepared<'_>, Diagnostics, Diagnostics), Refusal> {
        let linked = self.linked();
        let mut warnings = self.diagnostics.clone();
        let (variables, found) = linked.root_variables(WithoutValue::Refused);
        warnings.extend(found);
        if warnings.has_errors() {
            return Err(self.refuse(warnings));
        }
        let (references, deprecated_arguments) = match options.check == ConfigurationCheck::Full && !self.is_snapshot {
            true => self.validated(options, &mut warnings),
            false => (linked.references(), Diagnostics::new()),
        };
        match warnings.has_errors() {
            true => Err(self.refuse(warnings)),
            false => {
                let prepared = Prepared::new(linked, variables, references, options.parallelism);
                Ok((prepared, warnings, deprecated_arguments))
            }
        }
    }

    /// Opens and locks the state.
    fn open(
        &self,
        options: &LockOptions,
        waiting: &mut dyn LockWait,
    ) -> Result<(OpenState, Encryption, BackendConfiguration), Diagnostics> {
        let location = state_location(self, &options.state)?;
        let check_execution = || match options.remote {
            RemoteWorkspaces::Refused => location.check_execution(),
            RemoteWorkspaces::Accepted => Ok(()),
        };
        check_execution()?;
        let opened = location.open(options.operation, &options.state, waiting).map_err(|failure| match failure {
            OpenFailure::Locked(problems) => retitled(problems, "error loading state: workspaces not supported"),
            OpenFailure::Unreadable(problems, _) => problems,
        })?;
        // Opening may have created the workspace: the server decides then where its operations run. The open state is closed when
        // it goes out of scope.
        check_execution()?;
        Ok((opened, location.encryption, location.configuration))
    }

    /// Validates the configuration. Adds its errors to `warnings`, or the warnings that planning does not repeat. The result
    /// is its reference graph, and warnings about deprecated variables that calls set.
    fn validated(&self, options: &LockOptions, warnings: &mut Diagnostics) -> (References<'_>, Diagnostics) {
        let (parallelism, processes) = (options.parallelism, options.processes);
        let (mut found, references) = Validation { linked: self.linked(), parallelism, processes }.check();
        // Planning reports more about objects that depend on `enabled`, and nothing about modules that are not enabled.
        if found.iter().any(|problem| problem.is_error() && !problem.depends_on_enabled()) {
            warnings.extend(found);
            return (references, Diagnostics::new());
        }
        warnings.extend(found.iter().filter(|problem| outlives_planning(problem)).cloned().collect::<Vec<_>>());
        found.retain(Diagnostic::is_about_deprecated_variable);
        (references, found)
    }

    /// Whether it declares the resource that an object is imported to.
    fn declares(&self, addr: &AbsResourceInstance) -> Result<(), Diagnostic> {
        let Some(module) = self.tree.find(&addr.module.module()) else {
            return Err(diagnostics::import_into_undeclared_module(addr));
        };
        match self.tree.node(module).module.resources.contains_key(&ResourceKey::from(&addr.resource)) {
            true => Ok(()),
            false => Err(diagnostics::import_into_undeclared_resource(addr)),
        }
    }
}

impl<'l> Locked<'l> {
    /// Warnings about the encryption of the state. Commands that plan without applying report them first.
    pub fn encryption_warnings(&self) -> &Diagnostics {
        &self.encryption.notes
    }

    /// The state as it was read.
    pub fn state(&self) -> State {
        self.held.state.clone().unwrap_or_else(State::empty)
    }

    /// Starts providers here instead of in the project.
    pub fn set_providers(&mut self, providers: &'l dyn Providers) {
        self.prepared.providers = providers;
    }

    /// Reads the state again, after other runs have changed it.
    pub(crate) fn reread(&mut self) -> Result<(), Diagnostics> {
        self.held.read()?;
        self.warnings.extend(std::mem::take(&mut self.held.notes));
        if let Some(state) = &mut self.held.state {
            self.loaded.project.providers().adopt(&self.loaded.tree, state);
        }
        Ok(())
    }

    /// Reads all objects again and saves the result, without changing anything else.
    pub fn refresh(mut self, options: &PlanOptions, progress: Progress<'_>) -> Applied {
        if self.state().iter().next().is_none() {
            self.warnings.push(diagnostics::nothing_to_refresh());
        }
        self.plan(options, progress).save_refreshed()
    }

    /// Takes an object that exists into the state, and saves the state. The object is only read.
    pub fn import(mut self, addr: AbsResourceInstance, id: EcoString, progress: Progress<'_>) -> Applied {
        match self.loaded.declares(&addr) {
            Ok(()) => self.plan(&PlanOptions::import(addr, id), progress).save_imported(),
            Err(problem) => {
                let mut diagnostics = std::mem::take(&mut self.warnings);
                diagnostics.push(problem);
                Applied::not_begun(self, diagnostics)
            }
        }
    }

    /// Releases the lock. Returns the diagnostics of a failure.
    pub fn end(self) -> Diagnostics {
        self.held.release()
    }
}

/// An open state, which is unlocked when the value is dropped.
pub(crate) struct HeldState(Option<OpenState>);

impl HeldState {
    fn release(mut self) -> Diagnostics {
        self.0.take().map(OpenState::close).unwrap_or_default()
    }
}

impl Drop for HeldState {
    fn drop(&mut self) {
        // A caller that ignores the failures has reported more important ones.
        drop(self.0.take().map(OpenState::close));
    }
}

impl Deref for HeldState {
    type Target = OpenState;
    fn deref(&self) -> &OpenState {
        self.0.as_ref().expect("because only `release` takes it, with the value itself")
    }
}

impl DerefMut for HeldState {
    fn deref_mut(&mut self) -> &mut OpenState {
        self.0.as_mut().expect("because only `release` takes it, with the value itself")
    }
}
