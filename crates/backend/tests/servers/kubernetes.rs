//! `backend "kubernetes"` on a real API server: the suite, the objects that OpenTofu was observed to write, permissions and
//! certificates.

use std::io::Write as _;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use libtest_mimic::{Failed, Trial};
use serde_json::{Value as Json, json};
use yuba_backend::kit::Retries;
use yuba_backend::{BackendConfiguration, BackendEnvironment, Backends, LockRefusal, Storage, WorkspaceRemoval};
use yuba_net::Environment;
use yuba_state::State;
use yuba_testkit::Relay;
use yuba_testkit::servers::{Kubernetes, is_installed, is_required, kubernetes};

use crate::Started;
use crate::subject::{Lazy, Machine, OUTAGE, Subject, unique};
use crate::suite::{add, locked, numbers, read};

struct OnKubernetes {
    server: Kubernetes,
    relay: Relay,
}

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

fn start() -> Option<OnKubernetes> {
    let server = kubernetes()?;
    let relay = Relay::to(server.address());
    Some(OnKubernetes { server, relay })
}

impl OnKubernetes {
    fn object(&self, path: &str) -> Json {
        let answer = self.server.ask("GET", path, "");
        serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("{path}: {}", answer.body))
    }

    fn put(&self, path: &str, object: &Json) -> u16 {
        self.server.ask("PUT", path, &object.to_string()).status
    }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).and_then(|()| encoder.finish()).expect("memory takes every byte")
}

impl Subject for OnKubernetes {
    fn kind(&self) -> &'static str {
        "kubernetes"
    }
    fn arguments(&self, state: &str) -> Json {
        let mut arguments = json!({ "secret_suffix": state, "config_path": self.server.kubeconfig() });
        // An outage hits the connections of one test only.
        if state.starts_with(OUTAGE) {
            arguments["host"] = json!(format!("https://127.0.0.1:{}", self.relay.port()));
        }
        arguments
    }
    fn workspace(&self) -> &'static str {
        "feature-x.1.2"
    }
    fn overwrite(&self, state: &str, content: &[u8]) -> bool {
        let path = format!("{SECRETS}/tfstate-default-{state}");
        let mut secret = self.object(&path);
        // The last content is not even compressed.
        let payload = if content.starts_with(b"\0") { content.to_vec() } else { gzip(content) };
        secret["data"]["tfstate"] = json!(STANDARD.encode(payload));
        self.put(&path, &secret) == 200
    }
    fn interrupt(&self) -> bool {
        self.relay.cut();
        true
    }
    fn resume(&self) {
        self.relay.resume();
    }
}

pub(crate) fn subjects() -> Vec<Lazy> {
    let start = || start().map(|started| Arc::new(started) as Started);
    vec![Lazy::new("kubernetes", "kube-apiserver", is_present(), start)]
}

fn is_present() -> bool {
    is_installed("kube-apiserver") && is_installed("etcd")
}

/// The server of the tests below. They do not stop it.
static SERVER: LazyLock<Option<OnKubernetes>> = LazyLock::new(start);

type Test = fn(&OnKubernetes);

pub(crate) fn trials() -> Vec<Trial> {
    let tests: &[(&str, Test)] = &[
        ("objects are those of OpenTofu", objects_are_those_of_opentofu),
        ("missing permissions are named", missing_permissions_are_named),
        ("a role as the message says is enough", a_role_is_enough),
        ("a missing namespace is named", a_missing_namespace_is_named),
        ("a state that is too large is refused", a_state_that_is_too_large_is_refused),
        ("certificates are verified", certificates_are_verified),
        ("clients identify themselves by certificates", clients_identify_themselves_by_certificates),
        ("a rejected token of a plugin is renewed", a_rejected_token_of_a_plugin_is_renewed),
        ("objects of other programs are not deleted", objects_of_other_programs_are_not_deleted),
        ("workspaces of many pages are listed", workspaces_of_many_pages_are_listed),
    ];
    let is_ignored = !is_present() && !is_required("kube-apiserver");
    let trial = |(name, test): &(&str, Test)| {
        let test = *test;
        let missing = || Failed::from("kube-apiserver is required by YUBA_REQUIRE and missing");
        let run = move || SERVER.as_ref().map(test).ok_or_else(missing);
        Trial::test(format!("kubernetes: {name}"), run).with_ignored_flag(is_ignored)
    };
    tests.iter().map(trial).collect()
}

/// The store of arguments.
fn opened(arguments: &Json) -> Result<Arc<dyn yuba_backend::kit::store::Store>, String> {
    let data_dir = std::env::temp_dir().join(unique("yuba-kubernetes"));
    let variables = Environment::new([], Some(data_dir.join("home")), data_dir.clone());
    let retries = Retries { attempts: 2, pause: Duration::from_millis(10), longest: Duration::from_millis(10) };
    let backends = Backends::new(BackendEnvironment { retries, ..BackendEnvironment::new(variables, &data_dir) });
    let kind = backends.find("kubernetes").expect("it is a row of the table");
    match backends.open(&BackendConfiguration::of_json(kind, arguments)) {
        Ok(Storage::Store(store)) => Ok(store),
        Ok(_) => unreachable!("it is not a file"),
        Err(problems) => Err(problems.iter().map(|problem| problem.detail.to_string()).collect()),
    }
}

/// The reason why the default workspace cannot be read.
fn unreadable(arguments: &Json) -> Option<String> {
    match opened(arguments) {
        Ok(store) => store.read("default").err().map(|error| error.reason),
        Err(reason) => Some(reason),
    }
}

fn objects_are_those_of_opentofu(on: &OnKubernetes) {
    let name = unique("layout");
    let machine = Machine::new(on, &name);
    let first = add(&machine, "default", 1);
    assert_eq!(first.serial, 2, "the first state is empty");
    let (secret_path, lease_path) =
        (format!("{SECRETS}/tfstate-default-{name}"), format!("{LEASES}/lock-tfstate-default-{name}"));
    let secret = on.object(&secret_path);
    let labels = json!({
        "app.kubernetes.io/managed-by": "terraform", "tfstate": "true", "tfstateSecretSuffix": name, "tfstateWorkspace": "default",
    });
    assert_eq!(secret["metadata"]["labels"], labels);
    assert_eq!(secret["metadata"]["annotations"], json!({ "encoding": "gzip" }));
    assert_eq!(secret["type"], "Opaque");
    assert_eq!(
        secret["data"].as_object().map(|data| data.keys().cloned().collect::<Vec<_>>()),
        Some(vec!["tfstate".to_owned()])
    );
    let payload = STANDARD.decode(secret["data"]["tfstate"].as_str().expect("it is a string")).expect("it is Base64");
    assert!(payload.starts_with(b"\x1f\x8b"), "it is gzip");
    let free = on.object(&lease_path);
    assert_eq!(
        (&free["spec"], &free["metadata"]["labels"], &free["metadata"]["annotations"]),
        (&json!({}), &labels, &Json::Null)
    );
    let mut store = machine.open("default");
    let id = store.try_lock(machine.holder()).unwrap_or_else(|refusal| panic!("{refusal:?}")).id;
    let held = on.object(&lease_path);
    assert_eq!(held["spec"], json!({ "holderIdentity": id }));
    let info = held["metadata"]["annotations"]["app.terraform.io/lock-info"]
        .as_str()
        .expect("the holder is described")
        .to_owned();
    let fields = ["ID", "Operation", "Info", "Who", "Version", "Created", "Path"];
    let places: Vec<Option<usize>> = fields.iter().map(|field| info.find(&format!("\"{field}\":"))).collect();
    assert!(places.is_sorted() && places.iter().all(Option::is_some), "{info}");
    assert!(info.contains(&id) && info.ends_with("\"Path\":\"\"}"), "{info}");
    store.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
    // A Secret that another program has created without a state is used.
    let other = unique("prepared");
    let prepared = json!({ "metadata": { "name": format!("tfstate-default-{other}"), "labels": { "team": "a" } } });
    assert_eq!(on.server.ask("POST", SECRETS, &prepared.to_string()).status, 201);
    add(&Machine::new(on, &other), "default", 1);
    assert_eq!(on.object(&format!("{SECRETS}/tfstate-default-{other}"))["metadata"]["labels"], json!({ "team": "a" }));
    // A workspace goes with its Secret and its Lease.
    add(&machine, "gone", 1);
    machine
        .backend()
        .delete_workspace("gone", WorkspaceRemoval::Forced)
        .unwrap_or_else(|problems| panic!("{problems:?}"));
    for path in [format!("{SECRETS}/tfstate-gone-{name}"), format!("{LEASES}/lock-tfstate-gone-{name}")] {
        assert_eq!(on.server.ask("GET", &path, "").status, 404, "{path}");
    }
}

fn missing_permissions_are_named(on: &OnKubernetes) {
    let arguments = |token: &str| json!({ "secret_suffix": unique("denied"), "config_path": on.server.kubeconfig(), "token": token });
    let reason = unreadable(&arguments(on.server.token_of_a_stranger())).expect("the stranger may do nothing");
    for part in
        ["403 Forbidden", "User \"stranger\"", "the verb \"get\" on the resource \"secrets\"", "kubectl create role"]
    {
        assert!(reason.contains(part), "{reason}");
    }
    let store = opened(&arguments(on.server.token_of_a_stranger())).expect("nothing is sent yet");
    let listed = store.workspaces().expect_err("the stranger may do nothing");
    assert!(listed.reason.contains("the verb \"list\""), "{listed}");
    let holder = yuba_backend::LockHolder::ourselves("OperationTypeApply", &Environment::default());
    match store.lock("default", &holder) {
        Err(LockRefusal::Store(error)) => assert!(
            error.reason.contains("the resource \"leases\" of the API group \"coordination.k8s.io\""),
            "{error}"
        ),
        outcome => panic!("{outcome:?}"),
    }
    let reason = unreadable(&arguments("a-wrong-token")).expect("no user has the token");
    assert!(reason.contains("401 Unauthorized") && !reason.contains("a-wrong-token"), "{reason}");
}

/// The rules that the message names are all that the backend needs.
fn a_role_is_enough(on: &OnKubernetes) {
    let namespace = unique("limited");
    let create = |path: &str, object: &Json| {
        let answer = on.server.ask("POST", path, &object.to_string());
        assert_eq!(answer.status, 201, "{}", answer.body);
    };
    create("/api/v1/namespaces", &json!({ "metadata": { "name": namespace } }));
    let rbac = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}");
    let rules = json!([
        { "apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "create", "update", "delete"] },
        { "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update", "delete"] },
    ]);
    create(&format!("{rbac}/roles"), &json!({ "metadata": { "name": "state" }, "rules": rules }));
    let binding = json!({
        "metadata": { "name": "state" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "state" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "stranger" }],
    });
    create(&format!("{rbac}/rolebindings"), &binding);
    struct Limited<'a>(&'a OnKubernetes, String);
    impl Subject for Limited<'_> {
        fn kind(&self) -> &'static str {
            "kubernetes"
        }
        fn arguments(&self, state: &str) -> Json {
            let server = &self.0.server;
            json!({
                "secret_suffix": state, "namespace": self.1, "config_path": server.kubeconfig(), "token": server.token_of_a_stranger(),
            })
        }
    }
    let subject = Limited(on, namespace);
    let name = unique("limited");
    let arguments = subject.arguments(&name);
    // The server learns of a new role within moments.
    let until = std::time::Instant::now() + Duration::from_secs(20);
    while unreadable(&arguments).is_some() && std::time::Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    let machine = Machine::new(&subject, &name);
    add(&machine, "default", 1);
    add(&machine, "other", 2);
    assert_eq!(machine.backend().workspaces().unwrap_or_else(|problems| panic!("{problems:?}")), ["default", "other"]);
    machine
        .backend()
        .delete_workspace("other", WorkspaceRemoval::Forced)
        .unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(numbers(Some(&read(machine.open("default").as_mut()))), [1]);
}

fn a_missing_namespace_is_named(on: &OnKubernetes) {
    let arguments =
        json!({ "secret_suffix": "x", "namespace": "no-such-namespace", "config_path": on.server.kubeconfig() });
    let store = opened(&arguments).expect("nothing is sent yet");
    let holder = yuba_backend::LockHolder::ourselves("OperationTypeApply", &Environment::default());
    match store.lock("default", &holder) {
        Err(LockRefusal::Store(error)) => {
            assert!(error.reason.contains("The namespace \"no-such-namespace\" does not exist"), "{error}");
        }
        outcome => panic!("{outcome:?}"),
    }
}

fn a_state_that_is_too_large_is_refused(on: &OnKubernetes) {
    let name = unique("too-large");
    let machine = Machine::new(on, &name);
    add(&machine, "default", 1);
    // Numbers of a generator: they cannot be compressed below the limits of the server.
    for bytes in [1_500_000_usize, 6_000_000] {
        let mut store = locked(&machine, "default");
        let mut state: State = read(store.as_mut());
        let mut seed = 88_172_645_463_325_252_u64;
        let mut random = String::with_capacity(bytes);
        while random.len() < bytes {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            random.push_str(&STANDARD.encode(seed.to_le_bytes())[..8]);
        }
        let line = format!(
            r#"{{"edit":"set_object","addr":"terraform_data.big","provider":"provider[\"terraform.io/builtin/terraform\"]","object":{{"schema_version":0,"attributes":{{"id":"{random}"}},"sensitive_attributes":[]}}}}"#
        );
        state.apply(yuba_state::Edit::from_json_line(&line).expect("it is well-formed"));
        let problems = store.write(&mut state).expect_err("a Secret has 1 MiB at most");
        let text: String = problems.iter().map(|problem| problem.detail.to_string()).collect();
        assert!(text.contains("A Secret stores at most 1048576 bytes"), "{text}");
        store.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
    }
    assert_eq!(numbers(Some(&read(machine.open("default").as_mut()))), [1], "the state before is still there");
}

fn certificates_are_verified(on: &OnKubernetes) {
    let (url, token, certificate) = (on.server.url(), on.server.token(), on.server.certificate());
    let authority = std::fs::read_to_string(&certificate.authority).expect("it was made");
    let with = |more: Json| {
        let mut arguments = json!({ "secret_suffix": "tls", "host": url, "token": token });
        for (name, value) in more.as_object().into_iter().flatten() {
            arguments[name] = value.clone();
        }
        unreadable(&arguments)
    };
    assert_eq!(with(json!({ "cluster_ca_certificate": authority })), None);
    assert_eq!(with(json!({ "insecure": true })), None);
    let reason = with(json!({})).expect("the machine does not know the authority");
    assert!(reason.contains("unknown authority") && reason.contains("cluster_ca_certificate"), "{reason}");
    // 127.0.0.2 reaches the same machine, and the certificate is not for it.
    let config = std::fs::read_to_string(on.server.kubeconfig()).expect("it was written");
    let file = on.server.directory().join(unique("named"));
    let by_name = |name: &str| {
        std::fs::write(&file, config.replace("    server:", &format!("    tls-server-name: {name}\n    server:")))
            .expect("it is ours");
        unreadable(&json!({ "secret_suffix": "tls", "config_path": file }))
    };
    assert_eq!(by_name("localhost"), None);
    let reason = by_name("other.example").expect("the certificate is for another name");
    assert!(reason.contains("other.example") && reason.contains("tls-server-name"), "{reason}");
}

fn clients_identify_themselves_by_certificates(on: &OnKubernetes) {
    let (certificate, key) = on.server.client_certificate();
    let authority = std::fs::read_to_string(&on.server.certificate().authority).expect("it was made");
    let arguments = json!({
        "secret_suffix": "by-certificate", "host": on.server.url(), "cluster_ca_certificate": authority,
        "client_certificate": certificate, "client_key": key,
    });
    assert_eq!(unreadable(&arguments), None);
    // The same certificate from a plugin.
    let status = json!({ "clientCertificateData": certificate, "clientKeyData": key });
    let output = json!({ "kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": status });
    let file = on.server.directory().join("credential.json");
    std::fs::write(&file, output.to_string()).expect("the directory is ours");
    let exec = json!([{ "api_version": "client.authentication.k8s.io/v1", "command": "cat", "args": [file] }]);
    let arguments = json!({
        "secret_suffix": "by-plugin", "host": on.server.url(), "cluster_ca_certificate": authority, "exec": exec,
    });
    assert_eq!(unreadable(&arguments), None);
    let anonymous = json!({ "secret_suffix": "x", "host": on.server.url(), "cluster_ca_certificate": authority });
    let reason = unreadable(&anonymous).expect("anonymous users may do nothing");
    assert!(reason.contains("system:anonymous") || reason.contains("401"), "{reason}");
}

fn a_rejected_token_of_a_plugin_is_renewed(on: &OnKubernetes) {
    let authority = std::fs::read_to_string(&on.server.certificate().authority).expect("it was made");
    let file = on.server.directory().join(unique("token.json"));
    let write = |token: &str| {
        let output = json!({ "kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1beta1", "status": { "token": token } });
        std::fs::write(&file, output.to_string()).expect("the directory is ours");
    };
    write("old-token");
    let exec = json!([{ "api_version": "client.authentication.k8s.io/v1beta1", "command": "cat", "args": [file] }]);
    let arguments = json!({
        "secret_suffix": "renewed", "host": on.server.url(), "cluster_ca_certificate": authority, "exec": exec,
    });
    let store = opened(&arguments).expect("nothing is sent yet");
    let error = store.read("default").expect_err("the server does not know the token");
    assert!(error.reason.contains("401"), "{error}");
    write(on.server.token());
    assert_eq!(store.read("default").map(|state| state.is_none()), Ok(true));
}

fn objects_of_other_programs_are_not_deleted(on: &OnKubernetes) {
    let name = unique("foreign");
    let machine = Machine::new(on, &name);
    let secret = json!({ "metadata": { "name": format!("tfstate-theirs-{name}") }, "stringData": { "password": "x" } });
    assert_eq!(on.server.ask("POST", SECRETS, &secret.to_string()).status, 201);
    let problems = machine.backend().delete_workspace("theirs", WorkspaceRemoval::Forced).expect_err("it has no label");
    assert!(problems.iter().any(|problem| problem.detail.contains("tfstate=true")), "{problems:?}");
    assert_eq!(on.server.ask("GET", &format!("{SECRETS}/tfstate-theirs-{name}"), "").status, 200);
}

fn workspaces_of_many_pages_are_listed(on: &OnKubernetes) {
    let name = unique("pages");
    for number in 0..260 {
        let labels =
            json!({ "tfstate": "true", "tfstateSecretSuffix": name, "tfstateWorkspace": format!("w{number:03}") });
        let secret = json!({ "metadata": { "name": format!("tfstate-w{number:03}-{name}"), "labels": labels } });
        assert_eq!(on.server.ask("POST", SECRETS, &secret.to_string()).status, 201);
    }
    let store = opened(&on.arguments(&name)).expect("nothing is sent yet");
    let listed = store.workspaces().expect("the server responds");
    assert_eq!((listed.len(), listed[0].as_str(), listed[259].as_str()), (260, "w000", "w259"));
}
