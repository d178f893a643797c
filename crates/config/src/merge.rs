//! Files become a module: duplicates found, override files merged.

use std::collections::btree_map::Entry;

use ecow::{EcoString, eco_format};
use foldhash::HashMap;
use yuba_addrs::{Feature, ResourceMode};
use yuba_syntax::{Diagnostics, FileId, Span};

use crate::constant::Decoding;
use crate::diagnostics;
use crate::file::{self, File, ParsedConfigFile};
use crate::module::Module;
use crate::overriding;
use crate::resource::Resource;
use crate::test_file;

/// Decodes the files of a directory and puts them together.
pub(crate) fn decode_module(
    dir: EcoString,
    files: &[ParsedConfigFile],
    decoding: &Decoding<'_>,
) -> (Module, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let mut incompatible = Diagnostics::new();
    let first = files.first().map_or(FileId::default(), |file| file.file);
    let mut module = Module { dir, span: Span::new(first, 0, 0), ..Module::default() };
    let (mut primary, mut overrides) = (Vec::new(), Vec::new());
    let (tests, files): (Vec<_>, Vec<_>) = files.iter().partition(|parsed| file::is_test(&parsed.name));
    let (last, first): (Vec<_>, Vec<_>) = files.into_iter().partition(|parsed| parsed.is_override);
    for parsed in first.into_iter().chain(last) {
        let (mut file, problems) = file::decode(parsed, decoding);
        diagnostics.extend(problems);
        incompatible.extend(std::mem::take(&mut file.incompatible));
        if file.is_override { overrides.push(file) } else { primary.push(file) }
    }
    for parsed in tests {
        let (test, problems) = test_file::decode(&parsed.body, decoding);
        diagnostics.extend(parsed.diagnostics.clone());
        diagnostics.extend(problems);
        module.tests.insert(parsed.name.clone(), test);
    }
    let mut merging =
        Merging { module: &mut module, decoding, diagnostics: &mut diagnostics, imported: HashMap::default() };
    merging.requirements(&mut primary, &mut overrides);
    primary.into_iter().for_each(|file| merging.append(file));
    overrides.into_iter().for_each(|file| merging.override_with(file));
    merging.features();
    (module, if incompatible.is_empty() { diagnostics } else { incompatible })
}

/// So many earlier blocks a duplicate is compared with.
const MAX_DUPLICATES: usize = 10;

/// A module that files are being put into.
pub(crate) struct Merging<'a> {
    pub(crate) module: &'a mut Module,
    pub(crate) decoding: &'a Decoding<'a>,
    pub(crate) diagnostics: &'a mut Diagnostics,
    /// Where instances are imported to, by address.
    imported: HashMap<EcoString, Vec<Span>>,
}

impl Merging<'_> {
    /// `required_providers` first: what providers other blocks are about depends on it.
    fn requirements(&mut self, primary: &mut [File], overrides: &mut [File]) {
        for requirements in primary.iter_mut().flat_map(|file| file.settings.requirements.drain(..)) {
            match (self.module.requirements.span, requirements.span) {
                (Some(first), Some(second)) => {
                    let place = self.decoding.place(first);
                    self.diagnostics.push(diagnostics::duplicate_requirements(&place, second));
                }
                _ => self.module.requirements = requirements,
            }
        }
        for requirements in overrides.iter_mut().flat_map(|file| file.settings.requirements.drain(..)) {
            self.module.requirements.providers.extend(requirements.providers);
        }
    }

    /// Adds an ordinary file.
    fn append(&mut self, mut file: File) {
        self.common(&mut file);
        let settings = std::mem::take(&mut file.settings);
        for backend in settings.backends {
            match &self.module.backend {
                Some(first) => {
                    let place = self.decoding.place(first.span);
                    self.diagnostics.push(diagnostics::duplicate_backend(&place, backend.span));
                }
                None => self.module.backend = Some(backend),
            }
        }
        for cloud in settings.clouds {
            match &self.module.cloud {
                Some(first) => {
                    let place = self.decoding.place(first.span);
                    self.diagnostics.push(diagnostics::duplicate_cloud(&place, cloud.span));
                }
                None => self.module.cloud = Some(cloud),
            }
        }
        // Quirk: said again for every file after.
        if let (Some(backend), Some(cloud)) = (&self.module.backend, &self.module.cloud) {
            let place = self.decoding.place(cloud.span);
            self.diagnostics.push(diagnostics::backend_and_cloud(&place, backend.span));
        }
        for config in std::mem::take(&mut file.providers) {
            match self.module.providers.entry(config.key.clone()) {
                Entry::Occupied(first) => {
                    let place = self.decoding.place(first.get().span);
                    self.diagnostics.push(diagnostics::duplicate_provider(&config.key, &place, config.span));
                }
                Entry::Vacant(entry) => {
                    entry.insert(config);
                }
            }
        }
        for meta in settings.provider_metas {
            let Some(provider) = self.module.provider_for_local_name(&meta.provider) else { continue };
            let (name, span) = (meta.provider.clone(), meta.span);
            if let Some(first) = self.module.provider_metas.insert(provider, meta) {
                let place = self.decoding.place(first.span);
                self.diagnostics.push(diagnostics::duplicate_provider_meta(&name, &place, span));
            }
        }
        for encryption in settings.encryptions {
            match &self.module.encryption {
                Some(first) => {
                    let place = self.decoding.place(first.span);
                    self.diagnostics.push(diagnostics::duplicate_encryption_block(&place, encryption.span));
                }
                None => self.module.encryption = Some(encryption),
            }
        }
        self.append_named(&mut file);
        self.append_objects(file);
    }

    /// Variables, local values, outputs, module calls: of two of the same name the later one counts.
    fn append_named(&mut self, file: &mut File) {
        for variable in std::mem::take(&mut file.variables) {
            let (name, span) = (variable.name.clone(), variable.span);
            if let Some(first) = self.module.variables.insert(name.clone(), variable) {
                let place = self.decoding.place(first.span);
                let summary = "Duplicate variable declaration";
                self.diagnostics.push(diagnostics::duplicate(summary, "variable", &name, &place, span));
            }
        }
        for local in std::mem::take(&mut file.locals) {
            let (name, span) = (local.name.clone(), local.span);
            if let Some(first) = self.module.locals.insert(name.clone(), local) {
                let place = self.decoding.place(first.span);
                let summary = "Duplicate local value definition";
                self.diagnostics.push(diagnostics::duplicate(summary, "local value", &name, &place, span));
            }
        }
        for output in std::mem::take(&mut file.outputs) {
            let (name, span) = (output.name.clone(), output.span);
            if let Some(first) = self.module.outputs.insert(name.clone(), output) {
                let place = self.decoding.place(first.span);
                let summary = "Duplicate output definition";
                self.diagnostics.push(diagnostics::duplicate(summary, "output", &name, &place, span));
            }
        }
        for call in std::mem::take(&mut file.calls) {
            let (name, span) = (call.name.clone(), call.span);
            if let Some(first) = self.module.calls.insert(name.clone(), call) {
                let place = self.decoding.place(first.span);
                let summary = "Duplicate module call";
                self.diagnostics.push(diagnostics::duplicate(summary, "module call", &name, &place, span));
            }
        }
        for library in std::mem::take(&mut file.symbols) {
            let (name, span) = (library.name.clone(), library.span);
            if let Some(first) = self.module.symbols.insert(name.clone(), library) {
                let place = self.decoding.place(first.span);
                let summary = "Duplicate symbols declaration";
                self.diagnostics.push(diagnostics::duplicate(summary, "symbol library", &name, &place, span));
            }
        }
    }

    /// Resources, checks, and statements about addresses: of two of the same name the first one counts.
    fn append_objects(&mut self, file: File) {
        for resource in file.resources {
            self.add_resource(resource);
        }
        for (check, data) in file.checks {
            if data.is_some_and(|data| !self.add_resource(data)) {
                continue;
            }
            match self.module.checks.entry(check.name.clone()) {
                Entry::Occupied(first) => {
                    let place = self.decoding.place(first.get().span);
                    self.diagnostics.push(diagnostics::duplicate_check(&check.name, &place, check.span));
                }
                Entry::Vacant(entry) => {
                    entry.insert(check);
                }
            }
        }
        self.module.moved.extend(file.moved);
        for import in file.imports {
            if let Some(instance) = &import.to.instance {
                let address = eco_format!("{instance}");
                let earlier = self.imported.entry(address.clone()).or_default();
                // Quirk: said once for every earlier one; not without limit.
                for first in earlier.iter().take(MAX_DUPLICATES) {
                    let place = self.decoding.place(*first);
                    self.diagnostics.push(diagnostics::duplicate_import(&address, &place, import.span));
                }
                earlier.push(import.span);
            }
            self.module.imports.push(import);
        }
        self.module.removed.extend(file.removed);
    }

    /// Adds a resource; false if there is one of the same name.
    fn add_resource(&mut self, resource: Resource) -> bool {
        match self.module.resources.entry(resource.key.clone()) {
            Entry::Occupied(first) => {
                let place = self.decoding.place(first.get().span);
                let what = match resource.key.mode {
                    ResourceMode::Managed => "resource",
                    ResourceMode::Data => "data",
                    ResourceMode::Ephemeral => "ephemeral resource",
                };
                self.diagnostics.push(diagnostics::duplicate_resource(what, &resource.key, &place, resource.span));
                false
            }
            Entry::Vacant(entry) => {
                entry.insert(resource);
                true
            }
        }
    }

    /// What does not depend on the kind of the file.
    fn common(&mut self, file: &mut File) {
        self.module.core_versions.append(&mut file.versions);
        for language in file.languages.drain(..) {
            let merged = &mut self.module.language;
            merged.edition = merged.edition.take().or(language.edition);
            merged.compatible_with = merged.compatible_with.take().or(language.compatible_with);
            for (feature, span) in &language.experiments {
                self.module.features.enable(*feature, *span);
            }
            merged.experiments.extend(language.experiments);
        }
        for (feature, span) in file.opted_in.drain(..) {
            self.module.features.enable(feature, span);
        }
    }

    /// Merges an override file.
    fn override_with(&mut self, mut file: File) {
        self.common(&mut file);
        overriding::apply(self, file);
    }

    /// What depends on the features that the whole module has opted in to.
    fn features(&mut self) {
        self.diagnostics.extend(self.module.features.experiments_warning());
        if !self.module.features.contains(Feature::ProviderCollections) {
            let aliases = self.module.requirements.providers.values().flat_map(|required| &required.aliases);
            for alias in aliases.filter(|alias| alias.all_instances) {
                self.diagnostics.push(diagnostics::collection_alias(alias.span));
            }
        }
    }
}
