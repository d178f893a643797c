//! Published Go providers go through their whole life: init, plan, apply, nothing to do, update, destroy; with three instances
//! of a provider configuration, each of which is a process of its own.
//!
//! Needs `go` on the PATH, which builds the providers once into the target directory; without it the test says so and does
//! nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use yuba_testkit::{Run, Sandbox, platform};

/// A provider, how Go names it, resources that change with `var.v`, and a call of one of its functions with the answer.
struct Real {
    name: &'static str,
    version: &'static str,
    package: &'static str,
    resource: &'static str,
    arguments: &'static str,
    call: Option<(&'static str, &'static str)>,
}

const PROVIDERS: [Real; 4] = [
    Real {
        name: "time",
        version: "0.14.2",
        package: "github.com/hashicorp/terraform-provider-time@v0.14.2",
        resource: "time_offset",
        arguments: "base_rfc3339 = \"2026-01-01T00:00:00Z\"\n  offset_days = var.v",
        call: Some(("provider::time::rfc3339_parse(\"2026-01-01T00:00:00Z\").year", "2026\n")),
    },
    Real {
        name: "random",
        version: "3.9.0",
        package: "github.com/terraform-providers/terraform-provider-random@v1.3.2-0.20260513075824-f8d869dc98d9",
        resource: "random_password",
        arguments: "length = 10 + var.v",
        call: None,
    },
    Real {
        name: "local",
        version: "2.9.0",
        package: "github.com/terraform-providers/terraform-provider-local@v1.4.1-0.20260513075820-3561e410f9fe",
        resource: "local_file",
        arguments: "filename = \"${path.module}/made-${each.key}.txt\"\n  content = \"${each.key} ${var.v}\"",
        call: Some(("provider::local::direxists(\".\")", "true\n")),
    },
    Real {
        name: "null",
        version: "2.1.2",
        package: "github.com/terraform-providers/terraform-provider-null@v1.0.1-0.20190430203517-8d3d85a60e20",
        resource: "null_resource",
        arguments: "triggers = { v = var.v }",
        call: None,
    },
];

/// The program of a provider, built when it is not there yet. None if it cannot be had here, which is printed.
fn build(real: &Real) -> Option<PathBuf> {
    let target =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("providers").join(format!("{}_{}", real.name, real.version));
    let program = target.join(format!("terraform-provider-{}", real.name));
    if program.exists() {
        return Some(program);
    }
    let output = Command::new("go").args(["install", real.package]).env("GOBIN", &target).output();
    match output {
        Err(error) => println!("skipped: {} needs Go, which cannot be started: {error}", real.name),
        Ok(output) if !output.status.success() => {
            println!("skipped: Go cannot build {}: {}", real.package, String::from_utf8_lossy(&output.stderr));
        }
        Ok(_) => return Some(program),
    }
    None
}

/// A mirror whose providers write down their process when they start.
struct Mirror {
    sandbox: Sandbox,
    record: PathBuf,
}

impl Mirror {
    fn new(real: &Real, program: &Path, configuration: &str) -> Mirror {
        let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_yuba"), configuration);
        let (mirror, record) = (sandbox.home().join("mirror"), sandbox.home().join("record"));
        let package =
            mirror.join("registry.opentofu.org/hashicorp").join(real.name).join(real.version).join(platform());
        fs::create_dir_all(&package).expect("because the sandbox is writable");
        let path = package.join(format!("terraform-provider-{}_v{}", real.name, real.version));
        let script = format!("#!/bin/sh\necho $$ >> {}\nexec {} \"$@\"\n", record.display(), program.display());
        fs::write(&path, script).expect("because the sandbox is writable");
        make_executable(&path);
        let settings = sandbox.home().join(".tofurc");
        let text = format!("provider_installation {{\n  filesystem_mirror {{\n    path = {mirror:?}\n  }}\n}}\n");
        fs::write(settings, text).expect("because the sandbox is writable");
        Mirror { sandbox, record }
    }

    /// Runs a command, which has to end like this; and says how many processes of the provider it started. None is left.
    fn run(&self, args: &[&str], code: i32) -> (Run, usize) {
        let _ = fs::remove_file(&self.record);
        let run = self.sandbox.run(args);
        assert_eq!(run.code, code, "{args:?}\n{run}");
        let record = fs::read_to_string(&self.record).unwrap_or_default();
        let processes: BTreeSet<&str> = record.lines().collect();
        for process in &processes {
            let left = Path::new("/proc").join(process).join("exe");
            assert!(fs::read_link(left).is_err(), "the process {process} is left behind by {args:?}");
        }
        (run, processes.len())
    }
}

#[cfg(unix)]
fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("because the file is ours");
}

#[cfg(not(unix))]
fn make_executable(_: &Path) {}

fn lives(real: &Real) {
    let Some(program) = build(real) else { return };
    let Real { name, version, resource, arguments, .. } = real;
    let configuration = format!(
        "//- main.tf\nterraform {{\n  required_providers {{\n    {name} = {{ source = \"hashicorp/{name}\" }}\n  }}\n}}\n\
         variable \"v\" {{ default = 1 }}\nlocals {{ keys = toset([\"a\", \"b\", \"c\"]) }}\n\
         provider \"{name}\" {{\n  alias    = \"by\"\n  for_each = local.keys\n}}\n\
         resource \"{resource}\" \"x\" {{\n  for_each = local.keys\n  provider = {name}.by[each.key]\n  {arguments}\n}}\n\
         output \"ids\" {{ value = {{ for key, one in {resource}.x : key => one.id }} }}\n"
    );
    let mirror = Mirror::new(real, &program, &configuration);
    let (init, _) = mirror.run(&["init", "-no-color"], 0);
    assert!(init.stdout.contains(&format!("- Installed hashicorp/{name} v{version}")), "{init}");
    assert!(mirror.sandbox.read(".terraform.lock.hcl").contains(&format!("version = \"{version}\"")));

    let (plan, started) = mirror.run(&["plan", "-no-color", "-detailed-exitcode", "-out=first"], 2);
    assert!(plan.stdout.contains("Plan: 3 to add, 0 to change, 0 to destroy."), "{plan}");
    assert_eq!(started, 3, "one process for each instance of the provider configuration");
    let (apply, started) = mirror.run(&["apply", "-no-color", "first"], 0);
    assert!(apply.stdout.contains("Apply complete! Resources: 3 added, 0 changed, 0 destroyed."), "{apply}");
    assert_eq!(started, 3, "one process for each instance of the provider configuration");
    let state = mirror.sandbox.read("terraform.tfstate");
    for key in ["a", "b", "c"] {
        let config = format!("provider[\\\"registry.opentofu.org/hashicorp/{name}\\\"].by[\\\"{key}\\\"]");
        assert!(state.contains(&config), "{key} is not in\n{state}");
    }

    let (same, started) = mirror.run(&["plan", "-no-color", "-detailed-exitcode"], 0);
    assert!(same.stdout.contains("No changes. Your infrastructure matches the configuration."), "{same}");
    assert_eq!(started, 3, "one process for each instance of the provider configuration");
    let (_, started) = mirror.run(&["output", "-json"], 0);
    assert_eq!(started, 0, "outputs need no provider");
    if let Some((call, answer)) = real.call {
        let run = mirror.sandbox.run_with(&["console"], call.as_bytes());
        assert!(run.code == 0 && run.stdout.ends_with(&format!("\n{answer}")), "{run}");
    }
    let (update, _) = mirror.run(&["apply", "-no-color", "-auto-approve", "-var=v=2"], 0);
    let counts = [" 0 added, 3 changed, 0 destroyed.", " 3 added, 0 changed, 3 destroyed."];
    assert!(counts.iter().any(|counts| update.stdout.contains(counts)), "{update}");
    mirror.run(&["plan", "-no-color", "-detailed-exitcode", "-var=v=2"], 0);
    let (destroy, _) = mirror.run(&["destroy", "-no-color", "-auto-approve", "-var=v=2"], 0);
    assert!(destroy.stdout.contains("Destroy complete! Resources: 3 destroyed."), "{destroy}");
    assert!(mirror.sandbox.read("terraform.tfstate").contains("\"resources\": []"));
}

#[test]
fn time_lives() {
    lives(&PROVIDERS[0]);
}

#[test]
fn random_lives() {
    lives(&PROVIDERS[1]);
}

#[test]
fn local_lives() {
    lives(&PROVIDERS[2]);
}

#[test]
fn null_lives() {
    lives(&PROVIDERS[3]);
}
