//! Configurations and states for tests, from short texts.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use ecow::EcoString;
use yuba_addrs::{AbsProviderConfig, AbsResourceInstance, ConfigResource, ModulePath, ProviderSource};
use yuba_config::resource::Repetition;
use yuba_config::{Decoding, Module, ParsedConfigFile, decode_module};
use yuba_eval::graph::References;
use yuba_eval::tree::Link;
use yuba_eval::tree::{Manifest, ModuleFiles, Purpose};
use yuba_eval::{ConfigTree, EvalEnv, Expansion, Inputs, Live, MemoryWorld, WorldTime};
use yuba_provider::fake::FakeWorld;
use yuba_provider::mock::Substitutions;
use yuba_state::{Edit, Object, State};
use yuba_syntax::{Diagnostics, FileId, Severity, SourceFile, Sources, parser};
use yuba_testkit::{File, parse_fixture};
use yuba_value::{Value, View};

use crate::interrupt::{Interrupt, NoTime};
use crate::request::Context;
use crate::walk::provision::{ProvisionOrder, Provisioned, Provisioners};

/// A configuration, and the texts it was read from.
pub(crate) struct Config {
    pub(crate) tree: ConfigTree,
    pub(crate) sources: Sources,
}

struct Files {
    files: Vec<File>,
    sources: Sources,
}

impl ModuleFiles for Files {
    fn module(&mut self, dir: &str) -> Option<(Arc<Module>, Diagnostics)> {
        let mut parsed = Vec::new();
        for file in &self.files {
            let (of, name) = file.path.rsplit_once('/').unwrap_or((".", &file.path));
            if of != dir {
                continue;
            }
            let id = self.sources.add(SourceFile::new(file.path.as_str(), file.text.as_bytes()));
            let result = parser::parse_config(id, file.text.as_bytes()).1;
            let (body, diagnostics) = (result.body, result.diagnostics);
            parsed.push(ParsedConfigFile { name: name.into(), file: id, body, diagnostics, is_override: false });
        }
        if parsed.is_empty() {
            return None;
        }
        let decoding = Decoding::new(&yuba_eval::constant, &self.sources);
        let (module, problems) = decode_module(dir, &parsed, &decoding);
        Some((Arc::new(module), problems))
    }
    fn sources(&self) -> Option<&Sources> {
        Some(&self.sources)
    }
}

/// Links a configuration; a text without `//- path` lines is `main.tf`.
pub(crate) fn config(fixture: &str) -> Config {
    let whole = if fixture.contains("//- ") { fixture.to_owned() } else { format!("//- main.tf\n{fixture}") };
    let mut files = Files { files: parse_fixture(&whole), sources: Sources::new() };
    let (world, inputs, manifest) = (MemoryWorld::default(), Inputs::default(), Manifest::default());
    let options = Link {
        root_dir: ".",
        world: &world,
        workspace: "default",
        original_dir: None,
        inputs: &inputs,
        manifest: &manifest,
        purpose: Purpose::Use,
    };
    let (tree, problems) = yuba_eval::link(&mut files, &options);
    let problems = problems.into_all();
    assert!(!problems.has_errors(), "{}", show(&problems, &files.sources));
    Config { tree, sources: files.sources }
}

/// Inputs of planning and applying for a configuration without variables.
pub(crate) fn with_context<T>(
    config: &Config,
    fake: &FakeWorld,
    interrupt: &Interrupt,
    work: impl FnOnce(Context<'_>) -> T,
) -> T {
    let world = MemoryWorld::default();
    let env = EvalEnv {
        world: &world,
        workspace: "default",
        original_dir: None,
        providers: fake,
        sources: Some(&config.sources),
    };
    work(Context {
        tree: &config.tree,
        references: &References::read(&config.tree, env),
        env,
        variables: &BTreeMap::new(),
        substitutions: Substitutions::none(),
        events: &|_| {},
        interrupt,
        clock: &NoTime,
        plan_time: WorldTime { seconds: 1_700_000_000, nanos: 0 },
        parallelism: 1,
    })
}

/// Nothing is done after an object was created.
pub(crate) struct NoProvisioners;

impl Provisioners for NoProvisioners {
    fn run<'p>(&'p self, _: ProvisionOrder, _: &'p dyn Fn(EcoString)) -> Provisioned<'p> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// All instances, of a configuration whose `count`, `for_each` and `enabled` are constants.
pub(crate) fn expand(tree: &ConfigTree) -> Live {
    let live = Live::for_plan(None);
    for (id, node) in tree.iter() {
        for at in live.instances(id) {
            for (name, call) in &node.module.calls {
                if let Some(child) = node.children.get(name) {
                    live.expand_call(at, name, *child, expansion(&call.repetition));
                }
            }
            for (key, resource) in &node.module.resources {
                live.expand_resource(at, key, expansion(&resource.repetition));
            }
        }
    }
    live
}

fn expansion(repetition: &Repetition) -> Expansion {
    let value = |expr| {
        let (value, problems) = yuba_eval::constant(expr);
        assert!(!problems.has_errors(), "not a constant");
        value
    };
    match repetition {
        Repetition::Single => Expansion::Single,
        Repetition::Count(expr) => match value(expr).view_ignoring_marks() {
            View::Number(count) => Expansion::Count(count.to_u64().unwrap_or_default()),
            _ => panic!("count is not a number"),
        },
        Repetition::Enabled(expr) => Expansion::Enabled(matches!(value(expr).view_ignoring_marks(), View::Bool(true))),
        Repetition::ForEach(expr) => {
            let value = value(expr);
            let View::Object(values) = value.view_ignoring_marks() else { panic!("for_each is not an object") };
            let names = value.ty().attrs().unwrap_or_default().iter().map(|attr| attr.name.clone());
            Expansion::ForEach(Arc::new(names.zip(values.iter().cloned()).collect()))
        }
    }
}

/// A state: each line is an address, with `< a.b c.d` after it for what it depends on.
pub(crate) fn state(lines: &str) -> State {
    let mut state = State::empty();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (addr, dependencies) = line.split_once('<').unwrap_or((line, ""));
        let addr = addr_of(addr.trim());
        let empty = Value::object(Vec::new());
        let mut object = Object::encode(&empty, empty.ty(), 0).expect("because it is empty");
        let config = |text| ConfigResource::parse_text(FileId(0), text).expect("because it is well-formed");
        object.dependencies = dependencies.split_whitespace().map(config).collect();
        let provider =
            ProviderSource::implied_for(addr.resource.implied_provider()).expect("because it is well-formed");
        let provider = AbsProviderConfig { module: ModulePath::ROOT, provider, alias: None };
        let object = Some(Arc::new(object));
        state.apply(Edit::SetObject { addr, deposed: None, provider, provider_key: None, object });
    }
    state
}

pub(crate) fn addr_of(text: &str) -> AbsResourceInstance {
    AbsResourceInstance::parse_text(FileId(0), text).expect("because it is well-formed")
}

/// Each message as `file:line:column severity: summary`.
pub(crate) fn show(problems: &Diagnostics, sources: &Sources) -> String {
    let mut out = String::new();
    for problem in problems.iter() {
        if let Some((file, span)) = problem.subject.and_then(|span| Some((sources.get(span.file)?, span))) {
            let at = file.position(span.start as usize);
            write!(out, "{}:{}:{} ", file.name, at.line, at.column).expect("because writing to a string works");
        }
        let severity = if problem.severity == Severity::Error { "error" } else { "warning" };
        writeln!(out, "{severity}: {}", problem.summary).expect("because writing to a string works");
    }
    out
}
