//! Providers of test files: which provider each of their blocks is for, and whether the runs agree about it.

use std::collections::BTreeMap;

use ecow::{EcoString, eco_format};
use yuba_addrs::{Feature, ParseRefContext, ProviderSource};
use yuba_config::Module;
use yuba_config::provider::ProviderKey;
use yuba_config::test_file::{ObjectArgument, TestFile, TestRun};
use yuba_syntax::{Diagnostics, Expr, Sources};
use yuba_value::{Type, Value};

use super::{ConfigTree, diagnostics};
use crate::constant::{ConstantNames, Each, constant_with};

/// The providers that names stand for, as far as a module says something about them.
type Types = BTreeMap<EcoString, ProviderSource>;

/// Checks the test files of the root module.
pub(super) fn check(tree: &ConfigTree) -> Diagnostics {
    let module = &tree.root().module;
    let types = types_of(module);
    let mut problems = Diagnostics::new();
    for (name, file) in &module.tests {
        let own = |run: &TestRun| tree.runs.get(&(name.clone(), run.name.clone())).filter(|_| run.module.is_some());
        let mut tested: Vec<&Module> = file.runs.iter().filter_map(own).map(|tree| &*tree.root().module).collect();
        if tested.is_empty() || file.runs.iter().any(|run| run.module.is_none()) {
            tested.push(module);
        }
        problems.extend(file.validate_providers(&tested));
        let (matched, passed) = assign(name, file, &types, tree);
        for (run, passed) in file.runs.iter().zip(&passed) {
            if run.module.is_none() {
                check_run(name, file, run, module, &matched, passed, &mut problems);
            }
        }
    }
    problems
}

/// Errors in the objects of blocks of test files, whatever the instances of a provider are.
pub(super) fn check_objects(tree: &ConfigTree, sources: Option<&Sources>) -> Diagnostics {
    let node = tree.root();
    let module = &*node.module;
    let opted_in = module.feature_enabled(Feature::SymbolLibraries);
    let symbols = opted_in.then_some((module as &dyn ParseRefContext, &*node.symbols));
    let mut problems = Diagnostics::new();
    let mut check = |argument: &ObjectArgument, each: Each<'_>| {
        let names = ConstantNames { symbols, each, sources };
        argument.value(&|expr: &Expr| constant_with(expr, &names), &mut problems);
    };
    let (key, value) = (Value::unknown(Type::string()), Value::unknown_dynamic());
    for file in module.tests.values() {
        for mock in file.mock_providers.values() {
            let each = match mock.for_each {
                Some(_) => Each::Instance { key: &key, value: &value },
                None => Each::WithoutForEach,
            };
            mock.objects().for_each(|object| check(object, each));
        }
        file.override_objects().for_each(|object| check(object, Each::Nothing));
    }
    problems
}

fn types_of(module: &Module) -> Types {
    let required = module.requirements.providers.iter();
    let mut types: Types = required.map(|(name, required)| (name.clone(), required.provider.clone())).collect();
    for key in module.providers.keys() {
        if let (false, Some(provider)) = (types.contains_key(&key.name), default_type(&key.name)) {
            types.insert(key.name.clone(), provider);
        }
    }
    types
}

fn default_type(name: &str) -> Option<ProviderSource> {
    ProviderSource::parse(name).ok()
}

/// The provider of the blocks of a file: the first run that uses a name decides. And for each run, the providers of the
/// pairs of its `providers`, in the file and in the tested module.
fn assign(
    name: &EcoString,
    file: &TestFile,
    of_root: &Types,
    tree: &ConfigTree,
) -> (Types, Vec<Vec<(ProviderSource, ProviderSource)>>) {
    let is_declared = |name: &EcoString| {
        let first = ProviderKey { name: name.clone(), alias: None };
        file.providers.range(first..).next().is_some_and(|(key, _)| key.name == *name)
    };
    let mut matched = Types::new();
    let mut passed = Vec::with_capacity(file.runs.len());
    for run in &file.runs {
        let own = run.module.as_ref().and_then(|_| tree.runs.get(&(name.clone(), run.name.clone())));
        let own = own.map(|tree| types_of(&tree.root().module));
        let types = own.as_ref().unwrap_or(of_root);
        let mut pairs = Vec::with_capacity(run.providers.len());
        for pair in &run.providers {
            let child = &pair.in_child.key.name;
            let parent = &pair.in_parent.key.name;
            let Some(of_child) = types.get(child).cloned().or_else(|| default_type(child)) else { continue };
            let of_parent = matched.get(parent).unwrap_or(&of_child).clone();
            if is_declared(parent) {
                matched.entry(parent.clone()).or_insert_with(|| of_parent.clone());
            }
            pairs.push((of_parent, of_child));
        }
        if run.providers.is_empty() {
            for (name, provider) in types.iter().filter(|(name, _)| is_declared(name)) {
                matched.entry(name.clone()).or_insert_with(|| provider.clone());
            }
        }
        passed.push(pairs);
    }
    for key in file.providers.keys() {
        if let (false, Some(provider)) = (matched.contains_key(&key.name), default_type(&key.name)) {
            matched.insert(key.name.clone(), provider);
        }
    }
    (matched, passed)
}

/// A run of the root module must use the providers of the root module.
fn check_run(
    name: &str,
    file: &TestFile,
    run: &TestRun,
    module: &Module,
    matched: &Types,
    passed: &[(ProviderSource, ProviderSource)],
    problems: &mut Diagnostics,
) {
    if !run.providers.is_empty() {
        for (pair, (given, wanted)) in run.providers.iter().zip(passed).filter(|(_, (given, wanted))| given != wanted) {
            let own = &pair.in_parent.key.name;
            let span = pair.in_parent.name_span;
            problems.push(diagnostics::test_provider_type((own, name, given), (&pair.in_child.key.name, wanted), span));
        }
        return;
    }
    let required = module.requirements.providers.values().flat_map(|required| {
        let plain = ProviderKey { name: required.name.clone(), alias: None };
        let aliases = required.aliases.iter().map(|alias| alias.key.clone());
        std::iter::once(plain).chain(aliases).map(|key| (key, Some(required.provider.clone())))
    });
    let types = types_of(module);
    let blocks = module.providers.keys().map(|key| (key.clone(), types.get(&key.name).cloned()));
    for (key, wanted) in required.chain(blocks) {
        if let (Some(block), Some(given), Some(wanted)) = (file.providers.get(&key), matched.get(&key.name), wanted)
            && *given != wanted
        {
            let shown = match &key.alias {
                Some(alias) => eco_format!("{}.{alias}", key.name),
                None => key.name.clone(),
            };
            problems.push(diagnostics::test_provider_type((&shown, name, given), (&shown, &wanted), block.span));
        }
    }
}
