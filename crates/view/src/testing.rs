//! Plans and diagnostics made by hand, for tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use yuba_addrs::{AbsProviderConfig, AbsResourceInstance, ModulePath, ProviderSource};
use yuba_config::{Decoding, Module, ParsedConfigFile, decode_module};
use yuba_eval::inputs::VarFile;
use yuba_eval::tree::{Link, Manifest, ModuleFiles, Purpose};
use yuba_eval::{ConfigTree, Inputs, MemoryWorld, link};
use yuba_plan::{Action, ActionReason, ExecGraph, Mode, OutputChange, Plan, ResourceChange};
use yuba_provider::RecordedSchemas;
use yuba_provider::builtin::TERRAFORM;
use yuba_state::{Edit, Object, Output, State};
use yuba_syntax::{Code, Diagnostic, Diagnostics, FileId, Severity, SourceFile, Sources, parser};
use yuba_value::Value;

/// The code of all diagnostics in tests that do not depend on codes.
static CODE: Code = Code { id: "test", severity: Severity::Error, summary: "", meaning: "" };
/// Another one.
pub(crate) static OTHER_CODE: Code = Code { id: "other-test", severity: Severity::Error, summary: "", meaning: "" };

pub(crate) fn diagnostic(severity: Severity, summary: &str, detail: &str) -> Diagnostic {
    Diagnostic::new(&CODE, detail).titled(summary).with_severity(severity)
}

pub(crate) fn addr(text: &str) -> AbsResourceInstance {
    AbsResourceInstance::parse_text(FileId(0), text).expect("because it is well-formed")
}

pub(crate) fn provider() -> AbsProviderConfig {
    AbsProviderConfig { module: ModulePath::ROOT, provider: ProviderSource::builtin("terraform"), alias: None }
}

pub(crate) fn change(at: &str, action: Action, before: Value, after: Value) -> ResourceChange {
    ResourceChange {
        addr: addr(at),
        moved_from: None,
        deposed: None,
        provider: provider(),
        provider_key: None,
        action,
        reason: ActionReason::None,
        before,
        after,
        private: [].into(),
        identity: None,
        required_replace: Vec::new(),
        importing: None,
        generated_config: None,
    }
}

pub(crate) fn output(name: &str, action: Action, before: Value, after: Value) -> OutputChange {
    OutputChange {
        name: name.into(),
        action,
        before,
        after,
        sensitive: false,
        sensitive_before: false,
        deprecated: "".into(),
        deprecated_before: "".into(),
    }
}

pub(crate) fn plan(changes: Vec<ResourceChange>, outputs: Vec<OutputChange>) -> Plan {
    let state = Arc::new(State::empty());
    Plan {
        mode: Mode::Normal,
        targets: Vec::new(),
        excludes: Vec::new(),
        force_replace: Vec::new(),
        variables: BTreeMap::new(),
        changes,
        drift: Vec::new(),
        relevant: Vec::new(),
        outputs,
        checks: Vec::new(),
        previous_state: Arc::clone(&state),
        prior_state: state,
        exec: ExecGraph::default(),
        timestamp: "2026-01-02T03:04:05Z".into(),
        errored: false,
        workspace: "default".into(),
        warnings: Vec::new(),
    }
}

/// An object of attributes.
pub(crate) fn object<const N: usize>(attributes: [(&str, Value); N]) -> Value {
    Value::object(attributes.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

/// The schema of the built-in provider.
pub(crate) fn builtin() -> RecordedSchemas {
    RecordedSchemas::new(BTreeMap::new())
}

/// A state of `terraform_data` resources with these inputs, and one output.
pub(crate) fn state_of(inputs: &[(&str, Value)]) -> State {
    let mut state = State::empty();
    let value = object([("a", Value::string("<"))]);
    let output = Output { value, sensitive: true, deprecated: "no".into() };
    state.apply(Edit::SetOutput { name: "o".into(), output: Some(output) });
    let schema = TERRAFORM.resources.get("terraform_data").expect("because it is built in");
    for (at, input) in inputs {
        let value = object([
            ("id", Value::string("i")),
            ("input", input.clone()),
            ("output", Value::null_dynamic()),
            ("triggers_replace", Value::null_dynamic()),
        ]);
        let object = Object::encode(&value, schema.block.implied_type(), 0).expect("because it is known");
        let object = Some(Arc::new(object));
        state.apply(Edit::SetObject {
            addr: addr(at),
            deposed: None,
            provider: provider(),
            provider_key: None,
            object,
        });
    }
    state
}

/// Files in memory: directory and text of its only file.
pub(crate) struct Memory {
    files: BTreeMap<&'static str, &'static str>,
    sources: Sources,
}

impl ModuleFiles for Memory {
    fn module(&mut self, dir: &str) -> Option<(Arc<Module>, Diagnostics)> {
        let text = self.files.get(dir)?;
        let name = if dir == "." { "main.tf".to_owned() } else { format!("{dir}/main.tf") };
        let file = self.sources.add(SourceFile::new(name, text.as_bytes()));
        let parsed = parser::parse_config(file, text.as_bytes()).1;
        let (body, diagnostics) = (parsed.body, parsed.diagnostics);
        let parsed = ParsedConfigFile { name: "main.tf".into(), file, body, diagnostics, is_override: false };
        let decoding = Decoding::new(&yuba_eval::constant, &self.sources);
        let (module, problems) = decode_module(dir, &[parsed], &decoding);
        Some((Arc::new(module), problems))
    }
    fn sources(&self) -> Option<&Sources> {
        Some(&self.sources)
    }
}

/// A module of one file.
pub(crate) fn one_module(text: &'static str) -> Arc<Module> {
    let mut memory = Memory { files: BTreeMap::from([(".", text)]), sources: Sources::new() };
    let (module, problems) = memory.module(".").expect("because it exists");
    assert!(!problems.has_errors(), "{problems:?}");
    module
}

/// The tree of modules in directories.
pub(crate) fn tree<const N: usize>(files: [(&'static str, &'static str); N]) -> ConfigTree {
    linked(files, "").0
}

/// The same with a file of values, `terraform.tfvars`. Also the sources and the values.
pub(crate) fn linked<const N: usize>(
    files: [(&'static str, &'static str); N],
    values: &str,
) -> (ConfigTree, Sources, Inputs) {
    let mut memory = Memory { files: files.into_iter().collect(), sources: Sources::new() };
    let (world, manifest) = (MemoryWorld::new(), Manifest::default());
    let values = [VarFile { name: "terraform.tfvars", bytes: values.as_bytes() }];
    let (inputs, _) = Inputs::collect(&mut memory.sources, [], &values, &[]);
    let options = Link {
        root_dir: ".",
        world: &world,
        workspace: "default",
        original_dir: None,
        inputs: &inputs,
        manifest: &manifest,
        purpose: Purpose::Use,
    };
    let (tree, problems) = link(&mut memory, &options);
    let problems = problems.into_all();
    assert!(!problems.has_errors(), "{problems:?}");
    (tree, memory.sources, inputs)
}
