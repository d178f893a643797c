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
use crate::module_call::{self, Collections};
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
    let symbols = files.iter().any(|parsed| file::has_symbols(&parsed.body));
    let decoding = &Decoding { symbols, ..*decoding };
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
    module.resources.sort();
    (module, if incompatible.is_empty() { diagnostics } else { incompatible })
}

/// So many earlier blocks a duplicate is compared with.
const MAX_DUPLICATES: usize = 10;

/// A module that files are being put into.
pub(crate) struct Merging<'a> {
    pub(crate) module: &'a mut Module,
    pub(crate) decoding: &'a Decoding<'a>,
    pub(crate) diagnostics: &'a mut Diagnostics,
    /// Import targets of instances, by address.
    imported: HashMap<EcoString, Vec<Span>>,
}

impl Merging<'_> {
    /// `required_providers` first: what providers other blocks are about depends on it.
    fn requirements(&mut self, primary: &mut [File], overrides: &mut [File]) {
        for requirements in primary.iter_mut().flat_map(|file| file.settings.requirements.drain(..)) {
            match (self.module.requirements.span, requirements.span) {
                (Some(first), Some(second)) => {
                    let location = self.decoding.location(first);
                    self.diagnostics.push(diagnostics::duplicate_requirements(&location, second));
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
                    let location = self.decoding.location(first.span);
                    self.diagnostics.push(diagnostics::duplicate_backend(&location, backend.span));
                }
                None => self.module.backend = Some(backend),
            }
        }
        for cloud in settings.clouds {
            match &self.module.cloud {
                Some(first) => {
                    let location = self.decoding.location(first.span);
                    self.diagnostics.push(diagnostics::duplicate_cloud(&location, cloud.span));
                }
                None => self.module.cloud = Some(cloud),
            }
        }
        // Quirk: said again for every file after.
        if let (Some(backend), Some(cloud)) = (&self.module.backend, &self.module.cloud) {
            let location = self.decoding.location(cloud.span);
            self.diagnostics.push(diagnostics::backend_and_cloud(&location, backend.span));
        }
        for config in std::mem::take(&mut file.providers) {
            match self.module.providers.entry(config.key.clone()) {
                Entry::Occupied(first) => {
                    let location = self.decoding.location(first.get().span);
                    self.diagnostics.push(diagnostics::duplicate_provider(&config.key, &location, config.span));
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
                let location = self.decoding.location(first.span);
                self.diagnostics.push(diagnostics::duplicate_provider_meta(&name, &location, span));
            }
        }
        for encryption in settings.encryptions {
            match &self.module.encryption {
                Some(first) => {
                    let location = self.decoding.location(first.span);
                    self.diagnostics.push(diagnostics::duplicate_encryption_block(&location, encryption.span));
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
                let location = self.decoding.location(first.span);
                self.diagnostics.push(diagnostics::duplicate_variable(&name, &location, span));
            }
        }
        for local in std::mem::take(&mut file.locals) {
            let (name, span) = (local.name.clone(), local.span);
            if let Some(first) = self.module.locals.insert(name.clone(), local) {
                let location = self.decoding.location(first.span);
                self.diagnostics.push(diagnostics::duplicate_local_value(&name, &location, span));
            }
        }
        for output in std::mem::take(&mut file.outputs) {
            let (name, span) = (output.name.clone(), output.span);
            if let Some(first) = self.module.outputs.insert(name.clone(), output) {
                let location = self.decoding.location(first.span);
                self.diagnostics.push(diagnostics::duplicate_output(&name, &location, span));
            }
        }
        for call in std::mem::take(&mut file.calls) {
            let (name, span) = (call.name.clone(), call.span);
            if let Some(first) = self.module.calls.insert(name.clone(), call) {
                let location = self.decoding.location(first.span);
                self.diagnostics.push(diagnostics::duplicate_module_call(&name, &location, span));
            }
        }
        for library in std::mem::take(&mut file.symbols) {
            let (name, span) = (library.name.clone(), library.span);
            if let Some(first) = self.module.symbols.insert(name.clone(), library) {
                let location = self.decoding.location(first.span);
                self.diagnostics.push(diagnostics::duplicate_symbols_block(&name, &location, span));
            }
        }
    }

    /// Resources, checks, and statements about addresses: of two of the same name the first one counts.
    fn append_objects(&mut self, file: File) {
        for resource in file.resources {
            self.add_resource(resource);
        }
        for (check, data) in file.checks {
            if data.is_some_and(|data| !self.add_resource(Box::new(data))) {
                continue;
            }
            match self.module.checks.entry(check.name.clone()) {
                Entry::Occupied(first) => {
                    let location = self.decoding.location(first.get().span);
                    self.diagnostics.push(diagnostics::duplicate_check(&check.name, &location, check.span));
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
                    let location = self.decoding.location(*first);
                    self.diagnostics.push(diagnostics::duplicate_import(&address, &location, import.span));
                }
                earlier.push(import.span);
            }
            self.module.imports.push(import);
        }
        self.module.removed.extend(file.removed);
    }

    /// Adds a resource; false if there is one of the same name.
    fn add_resource(&mut self, resource: Box<Resource>) -> bool {
        let (key, span) = (resource.key.clone(), resource.span);
        let Err(first) = self.module.resources.insert(resource) else { return true };
        let location = self.decoding.location(first.span);
        let what = match key.mode {
            ResourceMode::Managed => "resource",
            ResourceMode::Data => "data",
            ResourceMode::Ephemeral => "ephemeral resource",
        };
        self.diagnostics.push(diagnostics::duplicate_resource(what, &key, &location, span));
        false
    }

    /// Checks that do not depend on the kind of the file.
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

    /// Checks that depend on the features that the whole module has opted in to.
    fn features(&mut self) {
        self.diagnostics.extend(self.module.features.experiments_warning());
        let collections = match self.module.features.contains(Feature::ProviderCollections) {
            true => Collections::Allowed,
            false => Collections::Refused,
        };
        for call in self.module.calls.values() {
            self.diagnostics.extend(module_call::check_collections(&call.providers, collections));
        }
        if collections == Collections::Refused {
            let aliases = self.module.requirements.providers.values().flat_map(|required| &required.aliases);
            for alias in aliases.filter(|alias| alias.all_instances) {
                self.diagnostics.push(diagnostics::collection_alias(alias.span));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use yuba_addrs::{Feature, ParseRefContext};

    use crate::testing::{check_all, module};

    #[test]
    fn modules_opt_in_by_block_or_keyword() {
        let (plain, _) = module(&[("main.tf", r#"resource "symbols" "a" {}"#)]);
        assert!(!plain.feature_enabled(Feature::SymbolLibraries));
        assert!(plain.has_any_managed_resource_of_type("symbols") && plain.has_managed_resource("symbols", "a"));
        assert!(!plain.has_any_managed_resource_of_type("symbol") && !plain.has_managed_resource("symbols", "b"));
        let (library, problems) = module(&[("main.tf", "symbols \"a\" {\n source = \"./a\"\n}")]);
        assert!(library.feature_enabled(Feature::SymbolLibraries), "{problems:?}");
        let experiments = "language {\n experiments = [provider_collections]\n}";
        let aliases = "terraform {\n required_providers {\n a = { configuration_aliases = [a.b[*]] }\n}\n}";
        let (_, problems) = module(&[("a.tf", experiments), ("b.tf", aliases), ("c.tf", experiments)]);
        assert_eq!(problems, ["a.tf:2:17 Warning: Experimental feature is active"]);
        let (_, problems) = module(&[("b.tf", aliases)]);
        assert_eq!(problems, ["b.tf:3:33 Error: Invalid expression"]);
    }

    #[test]
    fn nothing_else_is_said_about_a_module_for_another_version() {
        let incompatible = "terraform {\n required_version = \"> 99\"\n}";
        let (_, problems) = module(&[("a.tf", "nonsense {}\n("), ("b.tofu", incompatible)]);
        assert_eq!(problems, ["b.tofu:2:2 Error: Incompatible module"]);
    }

    #[test]
    fn providers_are_required_or_implied() {
        let (module, _) = module(&[(
            "main.tf",
            r#"
            terraform {
              required_providers {
                cloud = { source = "example.com/acme/cloud" }
              }
            }
            resource "cloud_server" "a" {}
            resource "terraform_data" "b" {}
            data "other_thing" "c" { provider = cloud.x }
            "#,
        )]);
        let providers = module.resources.values().map(|r| module.provider_of(r).map(|p| p.to_string()));
        let expect = ["example.com/acme/cloud", "example.com/acme/cloud", "terraform.io/builtin/terraform"];
        let providers: Vec<String> = providers.map(Option::unwrap_or_default).collect();
        assert_eq!(providers, expect);
    }

    proptest! {
        #[test]
        fn no_text_stops_the_program(text in r#"(variable|terraform|language|resource|module|symbols|[a-z.]{1,9}|"[a-z$]{0,4}"|[\[\](){}=\n,*]|optional|object| ){0,60}"#) {
            module(&[("main.tf", &text), ("o_override.tf", &text), ("j.tf.json", &text), ("t.tftest.hcl", &text)]);
        }
    }

    #[test]
    fn the_same_declaration_twice() {
        check_all(
            "main.tf",
            &[
                (
                    r#"variable "a" {}
variable "a" {}"#,
                    "2:1 Duplicate variable declaration",
                ),
                (
                    r#"module "a" {
 source="./x"
}
module "a" {
 source="./x"
}"#,
                    "4:1 Duplicate module call",
                ),
                (
                    r#"resource "terraform_data" "a" {}
resource "terraform_data" "a" {}"#,
                    r#"2:1 Duplicate resource "terraform_data" configuration"#,
                ),
                (
                    r#"data "terraform_remote_state" "a" {}
data "terraform_remote_state" "a" {}"#,
                    r#"2:1 Duplicate data "terraform_remote_state" configuration"#,
                ),
                (
                    r#"ephemeral "x" "a" {}
ephemeral "x" "a" {}"#,
                    r#"2:1 Duplicate ephemeral resource "x" configuration"#,
                ),
                (
                    r#"check "a" {
 data "terraform_remote_state" "a" {}
 assert {
 condition=data.terraform_remote_state.a.x
 error_message=""
}
}
data "terraform_remote_state" "a" {}"#,
                    r#"2:2 Duplicate data "terraform_remote_state" configuration"#,
                ),
                (
                    r#"check "a" {
 assert {
 condition=var.x
 error_message=""
}
}
check "a" {
 assert {
 condition=var.x
 error_message=""
}
}"#,
                    r#"7:1 Duplicate check "a" configuration"#,
                ),
                (
                    r#"provider "terraform" {}
provider "terraform" {}"#,
                    "2:1 Duplicate provider configuration",
                ),
                (
                    r#"provider "terraform" {
 alias="a"
}
provider "terraform" {
 alias="a"
}"#,
                    "4:1 Duplicate provider configuration",
                ),
                (
                    r#"import {
 to=terraform_data.a
 id="x"
}
import {
 to=terraform_data.a
 id="x"
}
import {
 to=terraform_data.a
 id="x"
}
resource "terraform_data" "a" {}"#,
                    r#"5:1 Duplicate import configuration for "terraform_data.a"; 9:1 Duplicate import configuration for "terraform_data.a"; 9:1 Duplicate import configuration for "terraform_data.a""#,
                ),
                (
                    r#"import {
 to=terraform_data.a[0]
 id="x"
}
import {
 to=terraform_data.a["x"]
 id="x"
}
import {
 to=terraform_data.a["x"]
 id="y"
}
resource "terraform_data" "a" {}"#,
                    r#"9:1 Duplicate import configuration for "terraform_data.a[\"x\"]""#,
                ),
                (
                    r#"variable "a" {}
variable "a" {}
variable "a" {}"#,
                    "2:1 Duplicate variable declaration; 3:1 Duplicate variable declaration",
                ),
            ],
        );
    }
}
