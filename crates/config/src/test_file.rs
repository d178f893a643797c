//! Test files: `.tftest.hcl`, `.tofutest.hcl` and their JSON forms.

mod mock;
mod run;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use ecow::EcoString;
use yuba_syntax::{Block, Body, BodySchema, Diagnostics, Expr, Span};

use crate::Module;
use crate::constant::Decoding;
use crate::diagnostics::tests as diagnostics;
use crate::provider::{self, ProviderConfig, ProviderKey};
use crate::schema::schema;

pub use mock::{
    MOCK_SUFFIXES, MockProvider, MockResource, Mocks, ObjectArgument, OverrideModule, OverrideResource, decode_mocks,
};
pub use run::{PlanMode, PlanOptions, TestCommand, TestModule, TestRun};

/// A test file.
#[derive(Clone, Debug, Default)]
pub struct TestFile {
    /// The `variables` block.
    pub variables: Option<VariablesBlock>,
    /// `provider` blocks.
    pub providers: BTreeMap<ProviderKey, ProviderConfig>,
    /// `mock_provider` blocks.
    pub mock_providers: BTreeMap<ProviderKey, MockProvider>,
    /// `override_resource` and `override_data` blocks.
    pub override_resources: Vec<OverrideResource>,
    /// `override_module` blocks.
    pub override_modules: Vec<OverrideModule>,
    /// `run` blocks, in the order they run.
    pub runs: Vec<TestRun>,
}

/// A `variables` block.
#[derive(Clone, Debug)]
pub struct VariablesBlock {
    /// The values, not evaluated.
    pub values: BTreeMap<EcoString, Arc<Expr>>,
    /// The block's header.
    pub span: Span,
}

static SCHEMA: LazyLock<BodySchema> = LazyLock::new(|| {
    schema(
        &[],
        &[],
        &[
            ("run", &["name"]),
            ("provider", &["name"]),
            ("variables", &[]),
            ("override_resource", &[]),
            ("override_data", &[]),
            ("override_module", &[]),
            ("mock_provider", &["name"]),
        ],
    )
});

/// Decodes the content of a test file.
pub fn decode(body: &Body, with: &Decoding<'_>) -> (TestFile, Diagnostics) {
    let (content, mut problems) = body.content(&SCHEMA);
    let mut file = TestFile::default();
    for block in &content.blocks {
        match block.kind.as_str() {
            "run" => {
                let (run, found) = run::decode(block, with);
                file.runs.extend(run.filter(|_| !found.has_errors()));
                problems.extend(found);
            }
            "variables" => variables(block, "test file", &mut file.variables, with, &mut problems),
            "provider" => {
                let (provider, found) = provider::decode(block, with);
                problems.extend(found);
                // Quirk: of two blocks with one address the last one counts.
                file.providers.extend(provider.map(|provider| (provider.key.clone(), provider)));
            }
            "override_module" => file.override_modules.extend(mock::decode_module(block, with, &mut problems)),
            "mock_provider" => {
                let Some(mock) = mock::decode_provider(block, with, &mut problems) else { continue };
                if file.mock_providers.contains_key(&mock.key) {
                    problems.push(diagnostics::duplicate_mock_provider(&mock.key, mock.span));
                } else {
                    file.mock_providers.insert(mock.key.clone(), mock);
                }
            }
            _ => {
                let resource = mock::decode_resource(block, mock::Within::Else, with, &mut problems);
                file.override_resources.extend(resource);
            }
        }
    }
    (file, problems)
}

/// Decodes a `variables` block, of which there can be one.
fn variables(
    block: &Block,
    what: &str,
    slot: &mut Option<VariablesBlock>,
    with: &Decoding<'_>,
    problems: &mut Diagnostics,
) {
    if let Some(first) = slot {
        problems.push(diagnostics::second_block("variables", what, &with.location(first.span), block.header_span));
        return;
    }
    let (attributes, found) = block.body.just_attributes();
    problems.extend(found);
    let values = attributes.into_iter().map(|attribute| (attribute.name, attribute.expr)).collect();
    *slot = Some(VariablesBlock { values, span: block.header_span });
}

impl TestFile {
    /// The objects that `override_*` blocks of the file and its runs give.
    pub fn override_objects(&self) -> impl Iterator<Item = &ObjectArgument> {
        let of_runs = self.runs.iter().flat_map(|run| &run.override_resources);
        let resources = self.override_resources.iter().chain(of_runs).filter_map(|known| known.values.as_ref());
        let of_runs = self.runs.iter().flat_map(|run| &run.override_modules);
        let modules = self.override_modules.iter().chain(of_runs).filter_map(|known| known.outputs.as_ref());
        resources.chain(modules)
    }

    /// Errors in a file, without its runs, beside those of decoding.
    pub fn validate_overrides(&self) -> Diagnostics {
        mock::duplicates(&self.override_resources, &self.override_modules)
    }

    /// Errors in a file and its runs beside those of decoding; `tested` is the module of a run.
    pub fn validate<'m>(&self, tested: impl Fn(&TestRun) -> &'m Module) -> Diagnostics {
        let mut problems = self.validate_overrides();
        for run in &self.runs {
            problems.extend(run.validate(tested(run)));
        }
        problems
    }

    /// Errors in the provider configurations of a file as substitutes for those of the modules that its runs test.
    pub fn validate_providers(&self, modules: &[&Module]) -> Diagnostics {
        let mut problems = Diagnostics::new();
        let real = self.providers.values().map(|config| (&config.key, &config.for_each, config.span));
        let mocks = self.mock_providers.values().map(|mock| (&mock.key, &mock.for_each, mock.span));
        for (key, for_each, span) in real.chain(mocks) {
            let aliases = || modules.iter().filter_map(|module| module.requirements.alias(key));
            let (collected, passed_in) =
                (aliases().any(|alias| alias.all_instances), aliases().any(|alias| !alias.all_instances));
            let mut blocks = modules.iter().filter_map(|module| module.providers.get(key));
            let (many, one) = (blocks.clone().any(|b| b.for_each.is_some()), blocks.any(|b| b.for_each.is_none()));
            match for_each {
                None if many => problems.push(diagnostics::test_provider_lacks_for_each(key, span)),
                None if collected => problems.push(diagnostics::test_provider_for_collection(key, span)),
                Some(for_each) if one => problems.push(diagnostics::test_provider_has_for_each(key, for_each.span)),
                Some(for_each) if passed_in => {
                    problems.push(diagnostics::test_provider_for_alias_has_for_each(key, for_each.span));
                }
                Some(for_each) if !many && !collected => {
                    problems.push(diagnostics::test_only_for_each(key, for_each.span))
                }
                _ => {}
            }
        }
        for passed in self.runs.iter().flat_map(|run| &run.providers) {
            for reference in [&passed.in_child, &passed.in_parent] {
                if reference.instance.is_some() {
                    problems.push(diagnostics::instance_key_in_run(reference.span));
                }
            }
            if passed.in_parent.instance.is_some() {
                continue;
            }
            let key = &passed.in_parent.key;
            let real = self.providers.get(key).and_then(|config| config.for_each.as_ref());
            let mock = self.mock_providers.get(key).and_then(|mock| mock.for_each.as_ref());
            if real.or(mock).is_some() {
                problems.push(diagnostics::many_instances_in_run(key, passed.in_parent.span));
            }
        }
        problems
    }
}

#[cfg(test)]
mod tests;
