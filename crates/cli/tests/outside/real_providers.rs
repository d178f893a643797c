//! Published Go providers go through their whole life: init, plan, apply, nothing to do, update, destroy; with three instances
//! of a provider configuration, each of which is a process of its own.
//!
//! Go builds the providers once, into the target directory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

use yuba_testkit::{Asked, Host, Reply, Run, Sandbox, platform};

/// A provider and what its life is about.
struct Real {
    source: &'static str,
    version: &'static str,
    package: Package,
    /// Arguments of the provider configuration; HOST is the address of the host of the test.
    settings: &'static str,
    /// Objects that exist three times, once for each instance, and change with `var.v`. Their name is `x`.
    object: Object,
    /// A call of one of its functions with the answer.
    call: Option<(&'static str, &'static str)>,
}

/// Source of the executable of a provider.
enum Package {
    /// By `go install`.
    Program(&'static str),
    /// By building the module, whose own requirements `go install` would not accept.
    Module(&'static str),
}

/// The type and the arguments.
enum Object {
    Managed(&'static str, &'static str),
    /// Data, and the parts of it that a managed resource stores.
    Data(&'static str, &'static str, &'static str),
}

const TIME: Real = Real {
    source: "hashicorp/time",
    version: "0.14.2",
    package: Package::Program("github.com/hashicorp/terraform-provider-time@v0.14.2"),
    settings: "",
    object: Object::Managed("time_offset", "base_rfc3339 = \"2026-01-01T00:00:00Z\"\n  offset_days = var.v"),
    call: Some(("provider::time::rfc3339_parse(\"2026-01-01T00:00:00Z\").year", "2026\n")),
};

const RANDOM: Real = Real {
    source: "hashicorp/random",
    version: "3.9.0",
    package: Package::Program(
        "github.com/terraform-providers/terraform-provider-random@v1.3.2-0.20260513075824-f8d869dc98d9",
    ),
    settings: "",
    object: Object::Managed("random_password", "length = 10 + var.v"),
    call: None,
};

const LOCAL: Real = Real {
    source: "hashicorp/local",
    version: "2.9.0",
    package: Package::Program(
        "github.com/terraform-providers/terraform-provider-local@v1.4.1-0.20260513075820-3561e410f9fe",
    ),
    settings: "",
    object: Object::Managed(
        "local_file",
        "filename = \"${path.module}/made-${each.key}.txt\"\n  content = \"${each.key} ${var.v}\"",
    ),
    call: Some(("provider::local::direxists(\".\")", "true\n")),
};

const NULL: Real = Real {
    source: "hashicorp/null",
    version: "2.1.2",
    package: Package::Program(
        "github.com/terraform-providers/terraform-provider-null@v1.0.1-0.20190430203517-8d3d85a60e20",
    ),
    settings: "",
    object: Object::Managed("null_resource", "triggers = { v = var.v }"),
    call: None,
};

const HTTP: Real = Real {
    source: "hashicorp/http",
    version: "1.2.0",
    package: Package::Program("github.com/terraform-providers/terraform-provider-http@v1.2.0"),
    settings: "",
    object: Object::Data(
        "http",
        "url = \"HOST/${each.key}/${var.v}\"\n  request_headers = { Accept = \"text/plain\" }",
        "body",
    ),
    call: None,
};

const ARCHIVE: Real = Real {
    source: "hashicorp/archive",
    version: "1.3.0",
    package: Package::Module("github.com/hashicorp/terraform-provider-archive@v1.3.0"),
    settings: "",
    object: Object::Data(
        "archive_file",
        "type = \"zip\"\n  output_path = \"${path.module}/${each.key}.zip\"\n  source {\n    filename = \"a.txt\"\n    \
         content = \"${each.key} ${var.v}\"\n  }\n  source {\n    filename = \"b.txt\"\n    content = \"b\"\n  }",
        "output_sha",
    ),
    call: None,
};

const RESTAPI: Real = Real {
    source: "Mastercard/restapi",
    version: "1.20.0",
    package: Package::Module("github.com/Mastercard/terraform-provider-restapi@v1.20.0"),
    settings: "uri = \"HOST\"\n  write_returns_object = true\n  headers = { X-Instance = each.key }",
    object: Object::Managed(
        "restapi_object",
        "path = \"/objects\"\n  data = jsonencode({ id = \"id-${each.key}\", v = tostring(var.v) })",
    ),
    call: None,
};

const ANSIBLE: Real = Real {
    source: "ansible/ansible",
    version: "1.3.0",
    package: Package::Module("github.com/ansible/terraform-provider-ansible@v1.3.0"),
    settings: "",
    object: Object::Managed(
        "ansible_host",
        "name = \"host-${each.key}\"\n  groups = [\"all\"]\n  variables = { v = var.v }",
    ),
    call: None,
};

impl Real {
    /// The part of its source after the namespace.
    fn name(&self) -> &'static str {
        self.source.rsplit_once('/').map_or(self.source, |(_, name)| name)
    }

    /// The source as it is written everywhere but in configurations.
    fn normal_source(&self) -> String {
        self.source.to_lowercase()
    }
}

/// The executable of a provider, built if it does not exist yet.
fn build(real: &Real) -> PathBuf {
    let name = real.name();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("providers").join(format!("{name}_{}", real.version));
    let program = target.join(format!("terraform-provider-{name}"));
    if program.exists() {
        return program;
    }
    let go = |command: &mut Command| -> Output {
        let output = command.env("GOBIN", &target).output().expect("because Go is on the PATH");
        assert!(
            output.status.success(),
            "Go cannot build {}: {}",
            real.source,
            String::from_utf8_lossy(&output.stderr)
        );
        output
    };
    match real.package {
        Package::Program(package) => drop(go(Command::new("go").args(["install", package]))),
        Package::Module(module) => {
            let told = go(Command::new("go").args(["mod", "download", "-json", module])).stdout;
            let told = String::from_utf8_lossy(&told);
            let line = told.lines().find_map(|line| line.trim().strip_prefix("\"Dir\": \"")?.strip_suffix("\","));
            let source = line.expect("because Go says where it has put the module");
            // Whole or not at all: another process may be about to use it.
            let unfinished = target.join("unfinished");
            go(Command::new("go").arg("build").arg("-o").arg(&unfinished).arg(".").current_dir(source));
            fs::rename(&unfinished, &program).expect("because it was built");
        }
    }
    program
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
            mirror.join("registry.opentofu.org").join(real.normal_source()).join(real.version).join(platform());
        fs::create_dir_all(&package).expect("because the sandbox is writable");
        let path = package.join(format!("terraform-provider-{}_v{}", real.name(), real.version));
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

/// A provider configuration for each of three keys, and an object of each.
fn configuration(real: &Real, host: &str) -> String {
    let (name, source) = (real.name(), real.source);
    let settings = real.settings.replace("HOST", host);
    let head = |kind: &str, arguments: &str| {
        format!(
            "{kind} \"x\" {{\n  for_each = local.keys\n  provider = {name}.by[each.key]\n  {}\n}}\n",
            arguments.replace("HOST", host)
        )
    };
    let object = match real.object {
        Object::Managed(kind, arguments) => {
            let ids = format!("output \"ids\" {{ value = {{ for key, one in {kind}.x : key => one.id }} }}\n");
            head(&format!("resource \"{kind}\""), arguments) + &ids
        }
        Object::Data(kind, arguments, attribute) => {
            let kept = format!(
                "resource \"terraform_data\" \"x\" {{\n  for_each = local.keys\n  \
                 input = data.{kind}.x[each.key].{attribute}\n}}\n"
            );
            head(&format!("data \"{kind}\""), arguments) + &kept
        }
    };
    format!(
        "//- main.tf\nterraform {{\n  required_providers {{\n    {name} = {{ source = \"{source}\" }}\n  }}\n}}\n\
         variable \"v\" {{ default = 1 }}\nlocals {{ keys = toset([\"a\", \"b\", \"c\"]) }}\n\
         provider \"{name}\" {{\n  alias    = \"by\"\n  for_each = local.keys\n  {settings}\n}}\n{object}"
    )
}

/// The life of three objects; `HOST` of the configuration is the host that is given.
fn lives(real: &Real, host: &str) -> Mirror {
    let program = build(real);
    let source = real.normal_source();
    let mirror = Mirror::new(real, &program, &configuration(real, host));
    let (init, _) = mirror.run(&["init", "-no-color"], 0);
    assert!(init.stdout.contains(&format!("- Installed {source} v{}", real.version)), "{init}");
    assert!(mirror.sandbox.read(".terraform.lock.hcl").contains(&format!("version = \"{}\"", real.version)));

    let (plan, started) = mirror.run(&["plan", "-no-color", "-detailed-exitcode", "-out=first"], 2);
    assert!(plan.stdout.contains("Plan: 3 to add, 0 to change, 0 to destroy."), "{plan}");
    assert_eq!(started, 3, "one process for each instance of the provider configuration");
    let (apply, started) = mirror.run(&["apply", "-no-color", "first"], 0);
    assert!(apply.stdout.contains("Apply complete! Resources: 3 added, 0 changed, 0 destroyed."), "{apply}");
    assert_eq!(started, 3, "one process for each instance of the provider configuration");
    let state = mirror.sandbox.read("terraform.tfstate");
    for key in ["a", "b", "c"] {
        let config = format!("provider[\\\"registry.opentofu.org/{source}\\\"].by[\\\"{key}\\\"]");
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
    mirror
}

fn http_lives() {
    let host =
        Host::start(|asked| Reply::ok(format!("you asked for {}", asked.path())).with("Content-Type", "text/plain"));
    lives(&HTTP, &host.url(""));
    for path in ["/a/1", "/b/1", "/c/1", "/a/2", "/b/2", "/c/2"] {
        assert!(host.count(path) > 0, "{path} was not asked for");
    }
}

fn archive_lives() {
    let mirror = lives(&ARCHIVE, "");
    for key in ["a", "b", "c"] {
        let archive = fs::read(mirror.sandbox.dir().join(format!("{key}.zip")));
        assert!(archive.is_ok_and(|bytes| bytes.starts_with(b"PK")), "there is no archive of {key}");
    }
}

/// A service that stores objects by their ids, and refuses requests from the wrong instance of the provider.
fn objects() -> impl Fn(&Asked) -> Reply {
    let kept: Mutex<BTreeMap<String, String>> = Mutex::default();
    move |asked| {
        let mut kept = kept.lock().expect("because no answer panics");
        let named = |id: &str| format!("/objects/{id}");
        let id = format!("id-{}", asked.header("x-instance").unwrap_or_default());
        let is_ours = asked.path() == "/objects" || asked.path() == named(&id);
        match asked.method.as_str() {
            _ if !is_ours => Reply::status(403),
            "POST" | "PUT" => {
                kept.insert(named(&id), asked.body.clone());
                Reply::json(&asked.body)
            }
            "DELETE" => kept.remove(asked.path()).map_or_else(|| Reply::status(404), |_| Reply::ok("")),
            _ => kept.get(asked.path()).map_or_else(|| Reply::status(404), |body| Reply::json(body)),
        }
    }
}

fn restapi_lives() {
    let host = Host::start(objects());
    lives(&RESTAPI, &host.url(""));
    let count = |method: &str| host.asked().iter().filter(|asked| asked.method == method).count();
    assert_eq!((count("POST"), count("PUT"), count("DELETE")), (3, 3, 3));
}

/// The providers by name, each with its whole life.
pub(crate) fn all() -> Vec<(&'static str, fn())> {
    let time = || drop(lives(&TIME, ""));
    let random = || drop(lives(&RANDOM, ""));
    let local = || drop(lives(&LOCAL, ""));
    let null = || drop(lives(&NULL, ""));
    let ansible = || drop(lives(&ANSIBLE, ""));
    vec![
        ("time", time),
        ("random", random),
        ("local", local),
        ("null", null),
        ("http", http_lives),
        ("archive", archive_lives),
        ("ansible", ansible),
        ("restapi", restapi_lives),
    ]
}
