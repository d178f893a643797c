//! Several projects in one process: directories, environments and workspaces do not mix, and locks are released on every path.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use yuba_engine::{Interrupt, PlanOptions, ProvisionOrder, Provisioners};
use yuba_eval::tree::Purpose;
use yuba_eval::{MemoryWorld, WorldTime};
use yuba_net::Environment;
use yuba_session::backend::{StateFlags, StateLocation};
use yuba_session::{
    ConfigurationCheck, EarlyProcesses, ForgottenInstances, LoadOptions, Loaded, LockOptions, Progress, Project,
    ProjectSettings, RemoteWorkspaces,
};
use yuba_state::{Output, State};
use yuba_testkit::Sandbox;

const CONFIGURATION: &str = r#"
//- main.tf
variable "name" {}
output "name" {
  value = "${var.name} in ${terraform.workspace} of ${basename(path.cwd)}: ${file("${path.module}/text")}"
}
resource "terraform_data" "a" {
  input = var.name
}
"#;

struct NoProvisioners;

impl Provisioners for NoProvisioners {
    fn run<'p>(
        &'p self,
        _: ProvisionOrder,
        _: &'p dyn Fn(ecow::EcoString),
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<(), ecow::EcoString>> + 'p>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

fn project(dir: &Path, variables: &[(&str, &str)]) -> Project {
    let environment: Environment = variables.iter().copied().collect();
    Project::new(ProjectSettings { environment, ..ProjectSettings::bare(dir) })
}

fn load(project: &Project) -> Loaded {
    let loaded = project.load(LoadOptions::new(Purpose::Use)).and_then(Loaded::ready);
    loaded.unwrap_or_else(|refusal| panic!("{:?}", refusal.problems))
}

fn lock() -> LockOptions {
    LockOptions {
        operation: "test",
        state: StateFlags::default(),
        parallelism: 10,
        check: ConfigurationCheck::Full,
        remote: RemoteWorkspaces::Refused,
        processes: EarlyProcesses::ForPlan,
    }
}

/// Applies the configuration; the value of its output.
fn apply(project: &Project) -> String {
    let progress = Progress { events: &|_| {}, interrupt: &Interrupt::new(), tick: None };
    let loaded = load(project);
    let locked = loaded.lock(&lock(), &mut || {}).unwrap_or_else(|refusal| panic!("{:?}", refusal.problems));
    let planned = locked.plan(&PlanOptions::default(), progress);
    let applied = planned.apply(ForgottenInstances::Error, &NoProvisioners, progress);
    assert!(!applied.has_failed(), "{:?}", applied.diagnostics);
    applied.outputs["name"].value.as_str().map(ToString::to_string).unwrap_or_default()
}

#[test]
fn projects_of_one_process_do_not_mix() {
    let sandboxes = [Sandbox::new("", CONFIGURATION), Sandbox::new("", CONFIGURATION)];
    let names = sandboxes.each_ref().map(|sandbox| sandbox.dir().file_name().expect("it has a name").to_owned());
    sandboxes[0].write("text", "one");
    sandboxes[1].write("text", "two");
    let first = project(&sandboxes[0].dir(), &[("TF_VAR_name", "x")]);
    let second = project(&sandboxes[1].dir(), &[("TF_VAR_name", ""), ("TF_WORKSPACE", "other")]);
    let told = std::thread::scope(|scope| {
        let both = [scope.spawn(|| apply(&first)), scope.spawn(|| apply(&second))];
        both.map(|thread| thread.join().expect("it does not panic"))
    });
    let [one, two] = names.map(|name| name.to_string_lossy().into_owned());
    assert_eq!(told, [format!("x in default of {one}: one"), format!(" in other of {two}: two")]);
    assert!(sandboxes[0].dir().join("terraform.tfstate").exists());
    assert!(sandboxes[1].dir().join("terraform.tfstate.d/other/terraform.tfstate").exists());
    assert!(!sandboxes[1].dir().join("terraform.tfstate").exists());
}

#[test]
fn an_abandoned_lock_is_released() {
    let sandbox = Sandbox::new("", CONFIGURATION);
    sandbox.write("text", "");
    let project = project(&sandbox.dir(), &[("TF_VAR_name", "x")]);
    let loaded = load(&project);
    // Its file names the holder as long as the lock is held.
    let is_locked = || sandbox.dir().join(".terraform.tfstate.lock.info").exists();
    let locked = loaded.lock(&lock(), &mut || {}).unwrap_or_else(|refusal| panic!("{:?}", refusal.problems));
    assert!(is_locked());
    drop(locked);
    assert!(!is_locked());
    let locked = loaded.lock(&lock(), &mut || {}).unwrap_or_else(|refusal| panic!("{:?}", refusal.problems));
    let progress = Progress { events: &|_| {}, interrupt: &Interrupt::new(), tick: None };
    let planned = locked.plan(&PlanOptions::default(), progress);
    assert!(is_locked());
    drop(planned);
    assert!(!is_locked(), "a plan that is dropped holds no lock");
}

#[test]
fn packages_of_providers_are_those_of_the_project() {
    let package = format!(
        ".terraform/providers/registry.opentofu.org/hashicorp/null/1.2.3/{}/terraform-provider-null",
        yuba_install::providers::platform::Platform::current()
    );
    let lock = "provider \"registry.opentofu.org/hashicorp/null\" {\n  version = \"1.2.3\"\n}\n";
    let sandboxes = [Sandbox::new("", ""), Sandbox::new("", "")];
    for sandbox in &sandboxes {
        sandbox.write(".terraform.lock.hcl", lock);
    }
    sandboxes[0].write(&package, "#!/bin/sh");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(sandboxes[0].dir().join(&package), executable).expect("it was written");
    let found = sandboxes.each_ref().map(|sandbox| {
        let providers = yuba_session::providers::ProviderSettings::new(".terraform");
        let project = Project::new(ProjectSettings { providers, ..ProjectSettings::bare(sandbox.dir()) });
        let packages = &project.providers().selection().packages;
        let package = packages.values().next().expect("the lock file selects one");
        package.as_ref().map(|package| package.executable.clone()).map_err(|problem| problem.reason().to_string())
    });
    assert_eq!(found[0], Ok(sandboxes[0].dir().join(&package)));
    let missing = "there is no package for registry.opentofu.org/hashicorp/null 1.2.3 cached in .terraform/providers";
    assert_eq!(found[1], Err(missing.to_owned()));
}

#[test]
fn backups_are_named_by_the_clock_of_the_project() {
    let sandbox = Sandbox::new("", "");
    let world = MemoryWorld::new().at(WorldTime { seconds: 1_700_000_000, nanos: 0 });
    let project = project(&sandbox.dir(), &[]).with_world(Arc::new(world));
    let location = StateLocation::file(PathBuf::from("a.tfstate"), None, project.backends());
    let location = location.with_backup_of_its_own(&project);
    for name in ["one", "two"] {
        let mut opened = location.open("test", &StateFlags::default(), &mut || {}).expect("nothing holds the lock");
        let mut state = opened.state.take().unwrap_or_else(State::empty);
        let value = yuba_value::Value::string(name);
        state.outputs.insert(name.into(), Output { value, sensitive: false, deprecated: "".into() });
        opened.save(&mut state).expect("the sandbox can be written");
        assert!(opened.close().is_empty());
    }
    let backup = std::fs::read(sandbox.dir().join("a.tfstate.1700000000.backup")).expect("it is a copy of the first");
    let (state, _) = yuba_state::read(&backup).expect("it is a state");
    assert_eq!(state.outputs.keys().collect::<Vec<_>>(), ["one"]);
}
