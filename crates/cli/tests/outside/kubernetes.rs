//! OpenTofu and Yuba use one state in Kubernetes: each sees what the other has applied, and a lock of one keeps the other out.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use yuba_testkit::Sandbox;
use yuba_testkit::servers::{Kubernetes, kubernetes};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Yuba,
    Tofu,
}

impl Who {
    fn other(self) -> Who {
        if self == Who::Yuba { Who::Tofu } else { Who::Yuba }
    }
}

/// The provisioner waits as long as there is a file `hold`.
const CONFIGURATION: &str = r#"
variable "v" {
  default = "1"
}
variable "size" {
  default = 1
}
resource "terraform_data" "x" {
  input = { v = var.v, large = [for n in range(var.size) : "${n} ${strrev(n)}"] }
}
resource "terraform_data" "wait" {
  triggers_replace = var.v
  provisioner "local-exec" {
    command = "while [ -e hold ]; do sleep 0.05; done"
  }
}
output "o" {
  value = var.v
}
"#;

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

/// Two working directories with the same configuration, and the server with their state.
struct Pair {
    server: Kubernetes,
    yuba: Sandbox,
    tofu: Sandbox,
}

impl Pair {
    fn new() -> Pair {
        let server = kubernetes().expect("because it is installed");
        let config = server.kubeconfig().display().to_string();
        let block = format!("backend \"kubernetes\" {{\n secret_suffix = \"proj\"\n config_path = \"{config}\"\n labels = {{ team = \"a\" }}\n}}");
        let fixture = format!("//- main.tf\nterraform {{\n{block}\n}}\n{CONFIGURATION}");
        let sandbox = || Sandbox::new(env!("CARGO_BIN_EXE_yuba"), &fixture);
        Pair { server, yuba: sandbox(), tofu: sandbox() }
    }

    fn sandbox(&self, who: Who) -> &Sandbox {
        match who {
            Who::Yuba => &self.yuba,
            Who::Tofu => &self.tofu,
        }
    }

    fn command(&self, who: Who, args: &[&str]) -> Command {
        match who {
            Who::Yuba => self.yuba.command(args),
            Who::Tofu => {
                let mut tofu = Command::new("tofu");
                tofu.args(args).current_dir(self.tofu.dir()).env_clear();
                tofu.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", self.tofu.home());
                tofu
            }
        }
    }

    fn output(&self, who: Who, args: &[&str]) -> (bool, String) {
        let output = self.command(who, args).stdin(Stdio::null()).output().expect("because both can be started");
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    fn done(&self, who: Who, args: &[&str]) -> String {
        let (is_success, text) = self.output(who, args);
        assert!(is_success, "{who:?} {args:?}\n{text}");
        text
    }

    fn apply(&self, who: Who, args: &[&str]) {
        self.done(who, &[&["apply", "-auto-approve", "-no-color"][..], args].concat());
    }

    fn sees_no_change(&self, who: Who, args: &[&str]) {
        self.done(who, &[&["plan", "-detailed-exitcode", "-no-color"][..], args].concat());
    }

    fn object(&self, path: &str) -> Json {
        serde_json::from_str(&self.server.ask("GET", path, "").body).expect("because the API responds JSON")
    }

    /// The ID of the lock that a process holds now.
    fn lock_id(&self) -> Option<String> {
        let lease = self.object(&format!("{LEASES}/lock-tfstate-default-proj"));
        lease["spec"]["holderIdentity"].as_str().map(str::to_owned)
    }

    /// Everything about an object that does not depend on time and chance.
    fn shape(&self, path: &str) -> Json {
        let mut object = self.object(path);
        if let Some(metadata) = object["metadata"].as_object_mut() {
            for name in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
                metadata.remove(name);
            }
        }
        if let Some(data) = object["data"].as_object_mut() {
            data.values_mut().for_each(|value| *value = Json::Null);
        }
        object
    }

    /// An apply that holds the lock until the file `hold` is removed.
    fn holding(&self, who: Who, v: &str) -> (Child, String) {
        self.sandbox(who).write("hold", "");
        let mut command = self.command(who, &["apply", "-auto-approve", "-no-color", &format!("-var=v={v}")]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("because both can be started");
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(id) = self.lock_id() {
                return (child, id);
            }
            assert!(Instant::now() < until, "{who:?} takes no lock");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn let_go(&self, who: Who) {
        std::fs::remove_file(self.sandbox(who).dir().join("hold")).expect("because it was written");
    }
}

/// Both apply in turns, hold locks, break locks, and use workspaces.
pub(crate) fn one_state_for_both() {
    let pair = Pair::new();
    first_objects(&pair);
    for (first, v) in [(Who::Yuba, 2), (Who::Tofu, 4)] {
        let second = first.other();
        let [one, two] = [v, v + 1].map(|v| format!("-var=v={v}"));
        pair.apply(first, &[&one]);
        pair.sees_no_change(second, &[&one]);
        // Large for a state, and still small enough for a Secret.
        pair.apply(second, &[&two, "-var=size=20000"]);
        pair.sees_no_change(first, &[&two, "-var=size=20000"]);
    }
    let [ours, theirs] = [Who::Yuba, Who::Tofu].map(|who| pair.done(who, &["state", "pull"]));
    let json = |text: &str| serde_json::from_str::<Json>(text).expect("because it is JSON");
    assert_eq!(json(&ours), json(&theirs));
    locks(&pair);
    workspaces(&pair);
}

/// The objects after the first apply of each are the same, and so is the serial.
fn first_objects(pair: &Pair) {
    let paths = [format!("{SECRETS}/tfstate-default-proj"), format!("{LEASES}/lock-tfstate-default-proj")];
    let mut seen = Vec::new();
    for who in [Who::Tofu, Who::Yuba] {
        pair.done(who, &["init", "-no-color"]);
        pair.apply(who, &[]);
        let state: Json = serde_json::from_str(&pair.done(who, &["state", "pull"])).expect("because it is JSON");
        seen.push((pair.shape(&paths[0]), pair.shape(&paths[1]), state["serial"].clone()));
        if who == Who::Tofu {
            for path in &paths {
                assert_eq!(pair.server.ask("DELETE", path, "").status, 200);
            }
        }
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0].2, Json::from(2));
}

fn locks(pair: &Pair) {
    for (holder, v) in [(Who::Yuba, "6"), (Who::Tofu, "7")] {
        let (mut child, id) = pair.holding(holder, v);
        let (is_success, text) = pair.output(holder.other(), &["apply", "-auto-approve", "-no-color", "-var=v=8"]);
        assert!(!is_success && text.contains("Error acquiring the state lock") && text.contains(&id), "{id}: {text}");
        pair.let_go(holder);
        assert!(child.wait().expect("because it was started").success(), "{holder:?}");
        pair.sees_no_change(holder.other(), &[&format!("-var=v={v}")]);
    }
    for (holder, v) in [(Who::Yuba, "9"), (Who::Tofu, "10")] {
        let (mut child, id) = pair.holding(holder, v);
        child.kill().and_then(|()| child.wait()).expect("because it runs");
        pair.let_go(holder);
        let breaker = holder.other();
        pair.done(breaker, &["force-unlock", "-force", &id]);
        assert_eq!(pair.lock_id(), None);
        pair.apply(breaker, &[&format!("-var=v={v}")]);
        pair.sees_no_change(holder, &[&format!("-var=v={v}")]);
    }
}

fn workspaces(pair: &Pair) {
    for (first, name) in [(Who::Yuba, "dev-1"), (Who::Tofu, "dev.2")] {
        let second = first.other();
        pair.done(first, &["workspace", "new", name]);
        pair.apply(first, &["-var=v=in-workspace"]);
        let listed = pair.done(second, &["workspace", "list"]);
        assert!(listed.contains(name), "{second:?}: {listed}");
        pair.done(second, &["workspace", "select", name]);
        pair.sees_no_change(second, &["-var=v=in-workspace"]);
        pair.done(second, &["workspace", "select", "default"]);
        pair.done(first, &["workspace", "select", "default"]);
        pair.done(second, &["workspace", "delete", "-force", name]);
        let listed = pair.done(first, &["workspace", "list"]);
        assert!(!listed.contains(name), "{first:?}: {listed}");
        for path in [format!("{SECRETS}/tfstate-{name}-proj"), format!("{LEASES}/lock-tfstate-{name}-proj")] {
            assert_eq!(pair.server.ask("GET", &path, "").status, 404, "{path}");
        }
    }
}
