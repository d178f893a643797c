//! OpenTofu and Yuba share states in Azurite: neither plans changes after an apply of the other, and each respects the
//! locks of the other.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use yuba_testkit::servers::is_installed;
use yuba_testkit::{Run, Sandbox};

use crate::azure_cloud::Cloud;

/// The backend. The first program that is run creates nothing in it: the test creates the container.
const CONFIGURATION: &str = r#"
terraform {
  backend "azurerm" {
    storage_account_name = "devstoreaccount1"
    container_name       = "states"
    key                  = "dir/prod.tfstate"
    snapshot             = true
  }
}
variable "v" { default = "1" }
variable "pause" { default = "0" }
resource "terraform_data" "x" {
  input = var.v
  provisioner "local-exec" { command = "sleep ${var.pause}" }
}
output "v" { value = var.v }
"#;

pub(crate) fn is_available() -> bool {
    is_installed("azurite")
}

/// A directory on a machine of its own.
fn machine(cloud: &Cloud) -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_yuba"), &format!("//- main.tf\n{CONFIGURATION}"));
    cloud.variables().iter().fold(sandbox, |sandbox, (name, value)| sandbox.env(name, value))
}

fn tofu(cloud: &Cloud, sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut tofu = sandbox.command_of("tofu", args);
    tofu.envs(cloud.variables()).env("TF_CLI_ARGS", "-no-color");
    tofu
}

/// Runs a command and returns what it printed. Panics unless it succeeds.
fn done(mut command: Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("because the program can be started");
    let printed = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{printed}", output.status);
    printed
}

fn yuba(sandbox: &Sandbox, args: &[&str]) -> String {
    let Run { code, stdout, stderr } = sandbox.run(args);
    assert_eq!(code, 0, "yuba {args:?}\n{stdout}{stderr}");
    format!("{stdout}{stderr}")
}

/// JSON without white space.
fn compact(json: &str) -> String {
    json.split_whitespace().collect()
}

/// Yuba and OpenTofu take turns, with workspaces.
pub(crate) fn both_apply_in_turns() {
    let (cloud, _) = Cloud::start();
    let (ours, theirs) = (machine(&cloud), machine(&cloud));
    yuba(&ours, &["init"]);
    let begun = yuba(&ours, &["state", "pull"]);
    assert!(compact(&begun).contains("\"serial\":1,"), "OpenTofu begins with an empty state of serial 1: {begun}");
    yuba(&ours, &["apply", "-auto-approve"]);
    done(tofu(&cloud, &theirs, &["init"]));
    done(tofu(&cloud, &theirs, &["plan", "-detailed-exitcode"]));
    done(tofu(&cloud, &theirs, &["apply", "-auto-approve", "-var=v=2"]));
    yuba(&ours, &["plan", "-detailed-exitcode", "-var=v=2"]);
    let (our_state, their_state) = (yuba(&ours, &["state", "pull"]), done(tofu(&cloud, &theirs, &["state", "pull"])));
    assert_eq!(compact(&our_state), compact(&their_state));

    yuba(&ours, &["workspace", "new", "made-by-yuba"]);
    yuba(&ours, &["apply", "-auto-approve", "-var=v=3"]);
    done(tofu(&cloud, &theirs, &["workspace", "new", "made-by-tofu"]));
    let listed = "default\n* made-by-tofu\n  made-by-yuba";
    assert!(done(tofu(&cloud, &theirs, &["workspace", "list"])).contains(listed));
    assert!(yuba(&ours, &["workspace", "list"]).contains("default\n  made-by-tofu\n* made-by-yuba"));
    done(tofu(&cloud, &theirs, &["workspace", "select", "made-by-yuba"]));
    done(tofu(&cloud, &theirs, &["plan", "-detailed-exitcode", "-var=v=3"]));
    yuba(&ours, &["workspace", "select", "default"]);
    done(tofu(&cloud, &theirs, &["workspace", "select", "default"]));
    // It has snapshots, which OpenTofu cannot delete.
    yuba(&ours, &["workspace", "delete", "-force", "made-by-yuba"]);
    assert!(!done(tofu(&cloud, &theirs, &["workspace", "list"])).contains("made-by-yuba"));
}

/// A lock of one refuses the other, which shows its holder and can release it.
pub(crate) fn locks_exclude_each_other() {
    let (cloud, _) = Cloud::start();
    let (ours, theirs) = (machine(&cloud), machine(&cloud));
    yuba(&ours, &["init"]);
    done(tofu(&cloud, &theirs, &["init"]));
    // The commands below poll, and may have the lock for a moment.
    let apply = ["apply", "-auto-approve", "-var=pause=90", "-lock-timeout=60s", "-no-color"];

    let mut running = Killed(
        ours.command(&apply).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("because it can be started"),
    );
    let id = refused(&mut || tofu(&cloud, &theirs, &["plan"]), "state blob is already locked");
    running.kill();
    done(tofu(&cloud, &theirs, &["force-unlock", "-force", &id]));
    done(tofu(&cloud, &theirs, &["plan"]));

    let mut command = tofu(&cloud, &theirs, &apply[..4]);
    let mut running =
        Killed(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("because it can be started"));
    let id = refused(&mut || ours.command(&["plan", "-no-color"]), "Error acquiring the state lock");
    running.kill();
    let wrong = ours.run(&["force-unlock", "-force", "11111111-2222-3333-4444-555555555555"]);
    assert_ne!(wrong.code, 0, "{wrong:?}");
    yuba(&ours, &["force-unlock", "-force", &id]);
    yuba(&ours, &["plan"]);
}

/// A process that ends with its test.
struct Killed(Child);

impl Killed {
    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Repeats a command until a lock refuses it, and returns the ID of the lock.
fn refused(command: &mut dyn FnMut() -> Command, expected: &str) -> String {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let output = command().stdin(Stdio::null()).output().expect("because the program can be started");
        let printed = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        // Lines may begin with the frame of a diagnostic.
        let line =
            |name: &str| printed.lines().find_map(|line| line.split_once(name).map(|(_, rest)| rest.trim().to_owned()));
        if let Some(id) = line(" ID: ") {
            assert!(printed.contains(expected), "{printed}");
            let path = "https://devstoreaccount1.blob.core.windows.net/states/dir%2Fprod.tfstate";
            assert_eq!(line(" Path: ").as_deref(), Some(path), "{printed}");
            assert_eq!(line(" Operation: ").as_deref(), Some("OperationTypeApply"), "{printed}");
            return id;
        }
        assert!(Instant::now() < until, "the lock does not refuse: {printed}");
        std::thread::sleep(Duration::from_millis(200));
    }
}
