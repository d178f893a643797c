//! OpenTofu and Yuba use one remote state: each sees what the other has applied, and respects the lock of the other.

use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use yuba_testkit::Sandbox;
use yuba_testkit::servers::{
    Consul, HttpLockServer, Kubernetes, Moto, TfeServer, consul, http_lock_server, kubernetes, moto, tfe_server,
};

/// A backend on a server.
trait Remote {
    /// The `backend` block.
    fn block(&self) -> String;
    /// The ID of the lock that a process holds now.
    fn lock_id(&self) -> Option<String>;
    fn has_workspaces(&self) -> bool;
    /// A CLI configuration that both tools use.
    fn cli_configuration(&self) -> Option<String> {
        None
    }
    /// Hundreds of incompressible strings in a large state.
    fn large(&self) -> usize {
        90
    }
    /// Names of two workspaces.
    fn names(&self) -> [&'static str; 2] {
        ["dev-1", "dev_2"]
    }
}

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

/// Two working directories with the same configuration.
struct Pair<'r> {
    remote: &'r dyn Remote,
    yuba: Sandbox,
    tofu: Sandbox,
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
  input = { v = var.v, large = [for n in range(var.size) : [for m in range(100) : sha512("${n} ${m}")]] }
}
resource "terraform_data" "wait" {
  triggers_replace = var.v
  provisioner "local-exec" {
    command = "while [ -e hold ]; do sleep 0.05; done"
  }
}
"#;

impl Pair<'_> {
    fn new(remote: &dyn Remote) -> Pair<'_> {
        let fixture = format!("//- main.tf\nterraform {{\n{}\n}}\n{CONFIGURATION}", remote.block());
        let sandbox = || {
            let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_yuba"), &fixture);
            let Some(text) = remote.cli_configuration() else { return sandbox };
            sandbox.write("cli.tfrc", text);
            let path = sandbox.dir().join("cli.tfrc").display().to_string();
            sandbox.env("TF_CLI_CONFIG_FILE", &path)
        };
        let pair = Pair { remote, yuba: sandbox(), tofu: sandbox() };
        pair.done(Who::Yuba, &["init"]);
        pair.done(Who::Tofu, &["init"]);
        pair
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
                let mut tofu = self.tofu.command_of("tofu", args);
                if self.remote.cli_configuration().is_some() {
                    tofu.env("TF_CLI_CONFIG_FILE", self.tofu.dir().join("cli.tfrc"));
                }
                tofu
            }
        }
    }

    fn output(&self, who: Who, args: &[&str]) -> (bool, String) {
        let output: Output =
            self.command(who, args).stdin(Stdio::null()).output().expect("because both can be started");
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    fn done(&self, who: Who, args: &[&str]) -> String {
        let (is_success, text) = self.output(who, args);
        assert!(is_success, "{who:?} {args:?}\n{text}");
        text
    }

    fn apply(&self, who: Who, args: &[&str]) {
        let mut all = vec!["apply", "-auto-approve", "-no-color", "-lock-timeout=60s"];
        all.extend(args);
        self.done(who, &all);
    }

    /// Consul refuses locks for some seconds after one was broken. OpenTofu does not wait for that, whatever `-lock-timeout` says.
    fn apply_after_break(&self, who: Who, argument: &str) {
        let until = Instant::now() + Duration::from_secs(30);
        while who == Who::Tofu && Instant::now() < until {
            let (is_success, text) = self.output(who, &["apply", "-auto-approve", "-no-color", argument]);
            if is_success {
                return;
            }
            assert!(text.contains("Error acquiring the state lock"), "{text}");
        }
        self.apply(who, &[argument]);
    }

    fn sees_no_change(&self, who: Who, args: &[&str]) {
        let mut all = vec!["plan", "-detailed-exitcode", "-no-color", "-lock-timeout=60s"];
        all.extend(args);
        self.done(who, &all);
    }

    /// An apply that holds the lock until the file `hold` is removed.
    fn holding(&self, who: Who, v: &str) -> (Child, String) {
        self.sandbox(who).write("hold", "");
        let mut command = self.command(who, &["apply", "-auto-approve", "-no-color", &format!("-var=v={v}")]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("because both can be started");
        (child, self.lock_of(who))
    }

    /// The lock, as soon as a process has taken it.
    fn lock_of(&self, who: Who) -> String {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(id) = self.remote.lock_id() {
                return id;
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
fn take_turns(remote: &dyn Remote) {
    let pair = Pair::new(remote);
    for (first, v) in [(Who::Yuba, 2), (Who::Tofu, 4)] {
        let second = first.other();
        let [one, two] = [v, v + 1].map(|v| format!("-var=v={v}"));
        pair.apply(first, &[&one]);
        pair.sees_no_change(second, &[&one]);
        pair.apply(second, &[&two]);
        pair.sees_no_change(first, &[&two]);
        // States of several chunks.
        let size = format!("-var=size={}", remote.large());
        pair.apply(first, &[&two, &size]);
        pair.sees_no_change(second, &[&two, &size]);
        pair.apply(second, &[&two]);
        pair.sees_no_change(first, &[&two]);
    }
    let [ours, theirs] = [Who::Yuba, Who::Tofu].map(|who| pair.done(who, &["state", "pull"]));
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("because it is JSON");
    assert_eq!(json(&ours), json(&theirs));
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
        assert_eq!(remote.lock_id(), None);
        pair.apply_after_break(breaker, &format!("-var=v={v}"));
        pair.sees_no_change(holder, &[&format!("-var=v={v}")]);
    }
    if remote.has_workspaces() {
        workspaces(&pair);
    }
}

fn workspaces(pair: &Pair<'_>) {
    for (first, name) in [Who::Yuba, Who::Tofu].into_iter().zip(pair.remote.names()) {
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
    }
}

struct Http(HttpLockServer);

impl Remote for Http {
    fn block(&self) -> String {
        let url = self.0.url("/state");
        format!(
            "backend \"http\" {{\n address = \"{url}\"\n lock_address = \"{url}\"\n unlock_address = \"{url}\"\n username = \"ann\"\n \
             password = \"pw\"\n}}"
        )
    }
    fn lock_id(&self) -> Option<String> {
        let lock: serde_json::Value = serde_json::from_str(&self.0.lock("/state")?).ok()?;
        lock["ID"].as_str().map(str::to_owned)
    }
    fn has_workspaces(&self) -> bool {
        false
    }
}

/// The TFE server with the `remote` backend or the `cloud` block.
struct Tfe(TfeServer, &'static str);

impl Remote for Tfe {
    fn block(&self) -> String {
        let Tfe(server, header) = self;
        let (host, organization) = (server.name(), server.organization());
        format!(
            "{header} {{\n hostname = {host:?}\n organization = {organization:?}\n workspaces {{\n name = \"app\"\n }}\n}}"
        )
    }
    fn lock_id(&self) -> Option<String> {
        self.0.workspace("app")?.lock.map(|_| format!("{}/app", self.0.organization()))
    }
    fn has_workspaces(&self) -> bool {
        false
    }
    fn cli_configuration(&self) -> Option<String> {
        Some(self.0.cli_configuration("ann"))
    }
}

pub(crate) fn on_tfe_with_the_remote_backend() {
    take_turns(&Tfe(tfe_server(), "backend \"remote\""));
}

pub(crate) fn on_tfe_with_a_cloud_block() {
    take_turns(&Tfe(tfe_server(), "cloud"));
}

struct OnConsul(Consul, &'static str);

impl Remote for OnConsul {
    fn block(&self) -> String {
        let (address, gzip) = (self.0.address(), self.1);
        format!("backend \"consul\" {{\n address = \"{address}\"\n path = \"tofu/proj\"\n gzip = {gzip}\n}}")
    }
    fn lock_id(&self) -> Option<String> {
        // The description comes after the lock itself when OpenTofu takes it.
        let answer = self.0.ask("GET", "/v1/kv/tofu/proj/.lockinfo?raw", "");
        let lock: serde_json::Value = serde_json::from_str(&answer.body).ok()?;
        lock["ID"].as_str().map(str::to_owned)
    }
    fn has_workspaces(&self) -> bool {
        true
    }
}

/// S3 with more arguments of the block.
struct OnMoto(Moto, &'static str);

impl Remote for OnMoto {
    fn block(&self) -> String {
        let (url, more) = (self.0.url(), self.1);
        format!(
            "backend \"s3\" {{\n bucket = \"states\"\n key = \"dir/x.tfstate\"\n region = \"us-east-1\"\n access_key = \"AKIATEST\"\n \
             secret_key = \"secret\"\n endpoints = {{ s3 = \"{url}\", dynamodb = \"{url}\", sts = \"{url}\" }}\n use_path_style = true\n \
             {more}\n}}"
        )
    }
    fn lock_id(&self) -> Option<String> {
        let lock = match self.1.contains("use_lockfile") {
            true => self.0.ask_s3("GET", "/states/dir/x.tfstate.tflock", &[], "").body,
            false => {
                let row = r#"{"TableName":"locks","Key":{"LockID":{"S":"states/dir/x.tfstate"}}}"#;
                let item: serde_json::Value = serde_json::from_str(&self.0.dynamodb("GetItem", row).body).ok()?;
                item["Item"]["Info"]["S"].as_str()?.to_owned()
            }
        };
        let lock: serde_json::Value = serde_json::from_str(&lock).ok()?;
        lock["ID"].as_str().map(str::to_owned)
    }
    fn has_workspaces(&self) -> bool {
        true
    }
}

struct OnKubernetes(Kubernetes);

const SECRET: &str = "/api/v1/namespaces/default/secrets/tfstate-default-proj";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases/lock-tfstate-default-proj";

impl OnKubernetes {
    fn object(&self, path: &str) -> serde_json::Value {
        serde_json::from_str(&self.0.ask("GET", path, "").body).expect("because the API responds JSON")
    }

    /// Everything about an object that does not depend on time and chance.
    fn shape(&self, path: &str) -> serde_json::Value {
        let mut object = self.object(path);
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.retain(|name, _| {
                !matches!(name.as_str(), "uid" | "resourceVersion" | "creationTimestamp" | "managedFields")
            });
        }
        if let Some(data) = object["data"].as_object_mut() {
            data.values_mut().for_each(|value| *value = serde_json::Value::Null);
        }
        object
    }
}

impl Remote for OnKubernetes {
    fn block(&self) -> String {
        let config = self.0.kubeconfig();
        format!(
            "backend \"kubernetes\" {{\n secret_suffix = \"proj\"\n config_path = {config:?}\n labels = {{ team = \"a\" }}\n}}"
        )
    }
    fn lock_id(&self) -> Option<String> {
        self.object(LEASE)["spec"]["holderIdentity"].as_str().map(str::to_owned)
    }
    fn has_workspaces(&self) -> bool {
        true
    }
    fn large(&self) -> usize {
        // A Secret has 1 MiB at most.
        40
    }
    fn names(&self) -> [&'static str; 2] {
        ["dev-1", "dev.2"]
    }
}

pub(crate) fn on_kubernetes() {
    take_turns(&OnKubernetes(kubernetes().expect("because it is installed")));
}

/// Both tools create the same objects and the same serial with the first apply. Deleted workspaces leave nothing.
pub(crate) fn objects_of_kubernetes() {
    let remote = OnKubernetes(kubernetes().expect("because it is installed"));
    let pair = Pair::new(&remote);
    let mut seen = Vec::new();
    for who in [Who::Tofu, Who::Yuba] {
        for path in [SECRET, LEASE] {
            remote.0.ask("DELETE", path, "");
        }
        pair.apply(who, &[]);
        let state: serde_json::Value =
            serde_json::from_str(&pair.done(who, &["state", "pull"])).expect("because it is JSON");
        seen.push((remote.shape(SECRET), remote.shape(LEASE), state["serial"].as_u64()));
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0].2, Some(2));
    for who in [Who::Tofu, Who::Yuba] {
        pair.done(who, &["workspace", "new", "gone"]);
        pair.done(who, &["workspace", "select", "default"]);
        pair.done(who, &["workspace", "delete", "gone"]);
        for path in [SECRET, LEASE] {
            assert_eq!(
                remote.0.ask("GET", &path.replace("default-proj", "gone-proj"), "").status,
                404,
                "{who:?} {path}"
            );
        }
    }
}

fn on_moto(more: &'static str) {
    let server = moto().expect("because it is installed");
    server.create_bucket("states");
    server.create_lock_table("locks");
    take_turns(&OnMoto(server, more));
}

pub(crate) fn on_s3_with_lock_objects() {
    on_moto("use_lockfile = true\n encrypt = true\n workspace_key_prefix = \"ws\"");
}

pub(crate) fn on_s3_with_a_lock_table() {
    on_moto("dynamodb_table = \"locks\"");
}

pub(crate) fn on_s3_with_both_locks() {
    on_moto("use_lockfile = true\n dynamodb_table = \"locks\"");
}

pub(crate) fn on_http() {
    take_turns(&Http(http_lock_server().with_password("ann", "pw")));
}

pub(crate) fn on_consul() {
    take_turns(&OnConsul(consul().expect("because it is installed"), "false"));
}

pub(crate) fn on_consul_with_gzip() {
    take_turns(&OnConsul(consul().expect("because it is installed"), "true"));
}
