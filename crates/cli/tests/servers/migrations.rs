//! States and workspaces move between every two backends on real servers, and `terraform_remote_state` reads each of them.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::Trial;
use serde_json::{Value as Json, json};
use yuba_testkit::Sandbox;
use yuba_testkit::servers::{consul, fake_gcs, http_lock_server, is_installed, kubernetes, moto, postgresql};

use crate::azure_cloud::Cloud;
use crate::over_http::S3_CREDENTIALS;
use crate::{needs, ok};

/// Names of backends with the servers that they need.
const PLACES: [(&str, &[&str]); 8] = [
    ("local", &[]),
    ("http", &[]),
    ("pg", &["postgresql"]),
    ("s3", &["moto"]),
    ("gcs", &["fake-gcs-server"]),
    ("azurerm", &["azurite"]),
    ("consul", &["consul"]),
    ("kubernetes", &["kube-apiserver"]),
];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials: Vec<Trial> = PLACES
        .iter()
        .enumerate()
        .skip(1)
        .map(|(at, (name, servers))| {
            let test = move || between(name, &PLACES[..at]);
            needs(servers, &format!("states move between {name} and all backends before it"), test)
        })
        .collect();
    trials.push(needs(&["moto"], "deprecated arguments of a remote state are reported", deprecated_arguments_warn));
    trials
}

/// Moves states from a backend to each of the installed ones, and back.
fn between(name: &str, others: &[(&str, &[&str])]) {
    let place = Place::start(name);
    for (other, _) in others.iter().filter(|(_, servers)| servers.iter().all(|server| is_installed(server))) {
        let other = Place::start(other);
        moves(&place, &other);
        moves(&other, &place);
    }
}

/// Arguments of a backend, as expressions by name.
type Expressions = Vec<(&'static str, String)>;

/// A backend on a server that runs.
struct Place {
    name: &'static str,
    has_workspaces: bool,
    /// The arguments for a state of its own, as expressions.
    arguments: Box<dyn Fn(&str) -> Expressions>,
    environment: Vec<(&'static str, String)>,
    /// Runs until it is dropped.
    _server: Box<dyn Any>,
}

impl Place {
    fn new(name: &'static str, server: impl Any, arguments: impl Fn(&str) -> Expressions + 'static) -> Place {
        Place {
            name,
            has_workspaces: true,
            arguments: Box::new(arguments),
            environment: Vec::new(),
            _server: Box::new(server),
        }
    }

    fn start(name: &str) -> Place {
        match name {
            "local" => {
                let directory = Sandbox::new("", "");
                let below = directory.dir();
                let path = move |state: &str, end: &str| format!("{:?}", below.join(format!("{state}{end}")));
                Place::new("local", directory, move |state| {
                    vec![("path", path(state, ".tfstate")), ("workspace_dir", path(state, ".d"))]
                })
            }
            "http" => {
                let server = http_lock_server();
                let base = server.url("/");
                let place = Place::new("http", server, move |state| {
                    ["address", "lock_address", "unlock_address"]
                        .map(|name| (name, format!("\"{base}{state}\"")))
                        .into()
                });
                Place { has_workspaces: false, ..place }
            }
            "pg" => {
                let server = postgresql().expect("because it is installed");
                server.create_database("tofu_state");
                let url = server.url("tofu_state");
                Place::new("pg", server, move |state| {
                    vec![("conn_str", format!("{url:?}")), ("schema_name", format!("{state:?}"))]
                })
            }
            "s3" => Place::s3(),
            "gcs" => {
                let server = fake_gcs().expect("because it is installed");
                server.create_bucket("states");
                let endpoint = format!("{:?}", server.endpoint());
                Place::new("gcs", server, move |state| {
                    let texts = [("bucket", "states"), ("prefix", state), ("access_token", "any")];
                    let texts = texts.map(|(name, text)| (name, format!("{text:?}")));
                    texts.into_iter().chain([("storage_custom_endpoint", endpoint.clone())]).collect()
                })
            }
            "azurerm" => {
                let (cloud, _) = Cloud::start();
                let environment = cloud.variables().into();
                let place = Place::new("azurerm", cloud, |state| {
                    let texts =
                        [("storage_account_name", "devstoreaccount1"), ("container_name", "states"), ("key", state)];
                    texts.map(|(name, text)| (name, format!("{text:?}"))).into()
                });
                Place { environment, ..place }
            }
            "consul" => {
                let server = consul().expect("because it is installed");
                let address = format!("{:?}", server.address());
                Place::new("consul", server, move |state| {
                    vec![("address", address.clone()), ("scheme", "\"http\"".into()), ("path", format!("{state:?}"))]
                })
            }
            _ => {
                let server = kubernetes().expect("because it is installed");
                let config = format!("{:?}", server.kubeconfig());
                Place::new("kubernetes", server, move |state| {
                    vec![("config_path", config.clone()), ("secret_suffix", format!("{:?}", state.replace('_', "-")))]
                })
            }
        }
    }

    fn s3() -> Place {
        let server = moto().expect("because it is installed");
        server.create_bucket("states");
        server.create_lock_table("locks");
        let url = server.url();
        let place = Place::new("s3", server, move |state| {
            let texts = [("bucket", "states"), ("key", state), ("region", "us-east-1"), ("dynamodb_table", "locks")];
            let on = ["use_lockfile", "use_path_style", "skip_credentials_validation", "skip_requesting_account_id"];
            let texts = texts.map(|(name, text)| (name, format!("{text:?}")));
            let endpoints = ("endpoints", format!("{{ s3 = {url:?}, dynamodb = {url:?} }}"));
            texts.into_iter().chain(on.map(|name| (name, "true".to_owned()))).chain([endpoints]).collect()
        });
        let environment = S3_CREDENTIALS.map(|(name, value)| (name, value.to_owned())).into();
        Place { environment, ..place }
    }

    fn lines(&self, state: &str) -> String {
        let arguments = (self.arguments)(state);
        arguments.iter().map(|(name, value)| format!("    {name} = {value}\n")).collect()
    }

    fn block(&self, state: &str) -> String {
        format!("terraform {{\n  backend {:?} {{\n{}  }}\n}}\n", self.name, self.lines(state))
    }

    fn data(&self, name: &str, state: &str, workspace: &str) -> String {
        let workspace = match self.has_workspaces {
            true => format!("  workspace = {workspace:?}\n"),
            false => String::new(),
        };
        format!(
            "data \"terraform_remote_state\" {name:?} {{\n  backend = {:?}\n{workspace}  config = {{\n{}  }}\n  defaults = {{\n    \
             plain = \"none\"\n    extra = \"from the defaults\"\n  }}\n}}\n",
            self.name,
            self.lines(state)
        )
    }

    fn workspaces(&self) -> &'static [&'static str] {
        if self.has_workspaces { &["default", "blue"] } else { &["default"] }
    }
}

/// A state with everything that could change on the way: types, sensitive values, dependencies, a deposed object.
fn state(name: &str, serial: u64) -> String {
    let object = |id: &str| {
        json!({ "schema_version": 0, "attributes": { "id": id, "input": { "type": ["map", "number"], "value": { "n": 1.5 } },
                "output": { "type": ["map", "number"], "value": { "n": 1.5 } }, "triggers_replace": null },
                "sensitive_attributes": [[{ "type": "get_attr", "value": "input" }]] })
    };
    let mut deposed = object("old");
    deposed["deposed"] = json!("00c0ffee");
    let resource = |name: &str, instances: Json| {
        json!({ "mode": "managed", "type": "terraform_data", "name": name,
                "provider": "provider[\"terraform.io/builtin/terraform\"]", "instances": instances })
    };
    let mut last = object("last");
    last["dependencies"] = json!(["terraform_data.first"]);
    let state = json!({
        "version": 4, "terraform_version": "1.12.6", "serial": serial, "lineage": format!("lineage-of-{name}"),
        "outputs": {
            "plain": { "value": name, "type": "string" },
            "secret": { "value": ["ä", null], "type": ["tuple", ["string", "string"]], "sensitive": true },
        },
        "resources": [resource("first", json!([object("first"), deposed])), resource("last", json!([last]))],
        "check_results": null,
    });
    state.to_string()
}

fn pulled(s: &Sandbox) -> Json {
    serde_json::from_str(&ok(s, &["state", "pull"]).stdout).expect("because it is a state")
}

/// Moves the states of one backend to another one.
fn moves(from: &Place, to: &Place) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("moved_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst));
    let label = format!("{} to {}", from.name, to.name);
    let environment = from.environment.iter().chain(&to.environment);
    let s = environment.fold(crate::yuba(""), |s, (name, value)| s.env(name, value));
    s.write("backend.tf", from.block(&name));
    ok(&s, &["init", "-input=false"]);
    let mut before = Vec::new();
    for (serial, workspace) in (7..).zip(from.workspaces()) {
        if *workspace != "default" {
            ok(&s, &["workspace", "new", workspace]);
        }
        s.write("pushed.json", state(workspace, serial));
        ok(&s, &["state", "push", "pushed.json"]);
        before.push((*workspace, pulled(&s)));
    }
    assert_eq!(before[0].1["outputs"]["plain"]["value"], "default");
    if from.has_workspaces {
        ok(&s, &["workspace", "select", "default"]);
    }

    s.write("backend.tf", to.block(&name));
    ok(&s, &["init", "-input=false", "-migrate-state", "-force-copy"]);
    // A backend with a single state gets that of the selected workspace.
    before.retain(|(workspace, _)| to.workspaces().contains(workspace));
    for (workspace, state) in &before {
        if to.has_workspaces {
            ok(&s, &["workspace", "select", workspace]);
        }
        assert_eq!(pulled(&s), *state, "{label}: {workspace}");
    }
    if to.has_workspaces {
        let listed = ok(&s, &["workspace", "list"]).stdout;
        let mut names: Vec<&str> = listed.lines().map(|line| line.trim_matches(['*', ' '])).collect();
        names.retain(|name| !name.is_empty());
        names.sort_unstable();
        let mut expected: Vec<&str> = before.iter().map(|(workspace, _)| *workspace).collect();
        expected.sort_unstable();
        assert_eq!(names, expected, "{label}");
    }
    is_read(from, &name, from.workspaces(), &label);
    is_read(to, &name, &before.iter().map(|(workspace, _)| *workspace).collect::<Vec<_>>(), &label);
}

/// Data sources read all states of a backend. Defaults take the place of missing outputs, not of a missing state.
fn is_read(place: &Place, state: &str, workspaces: &[&str], label: &str) {
    let s = place.environment.iter().fold(crate::yuba(""), |s, (name, value)| s.env(name, value));
    let mut configuration = String::new();
    for workspace in workspaces {
        configuration += &place.data(workspace, state, workspace);
        let outputs = format!("data.terraform_remote_state.{workspace}.outputs");
        configuration += &format!(
            "output {workspace:?} {{\n  value = [{outputs}.plain, {outputs}.extra, jsonencode({outputs}.secret)]\n  \
             sensitive = true\n}}\n"
        );
    }
    s.write("main.tf", configuration);
    ok(&s, &["init", "-input=false"]);
    ok(&s, &["apply", "-auto-approve", "-input=false"]);
    let outputs: Json = serde_json::from_str(&ok(&s, &["output", "-json"]).stdout).expect("because it is JSON");
    for workspace in workspaces {
        let expected = json!([workspace, "from the defaults", "[\"ä\",null]"]);
        assert_eq!(outputs[workspace]["value"], expected, "{label}: {} {workspace}", place.name);
    }
    if place.has_workspaces {
        s.write("absent.tf", place.data("absent", state, "absent"));
        crate::fails(&s, &["plan", "-input=false"], &["Unable to find remote state", "\"absent\""]);
    }
}

/// OpenTofu reports them for data sources, and not for the `backend` block.
fn deprecated_arguments_warn() {
    let place = Place::s3();
    let s = place.environment.iter().fold(crate::yuba(""), |s, (name, value)| s.env(name, value));
    s.write("backend.tf", place.block("other"));
    ok(&s, &["init", "-input=false"]);
    s.write("pushed.json", state("other", 1));
    ok(&s, &["state", "push", "pushed.json"]);
    std::fs::remove_dir_all(s.dir().join(".terraform")).expect("because it was written");
    let old = |text: String| text.replace("use_path_style", "force_path_style");
    s.write("backend.tf", old(place.block("own")));
    s.write("main.tf", old(place.data("other", "other", "default")));
    let run = ok(&s, &["init", "-input=false"]);
    assert!(!run.to_string().contains("Deprecated"), "{run}");
    for args in [&["validate"][..], &["plan", "-input=false"]] {
        let run = ok(&s, args);
        let said = crate::flowing(&run.to_string());
        assert_eq!(said.matches("Warning: Deprecated Parameter").count(), 1, "{args:?}: {run}");
        assert!(said.contains("force_path_style") && said.contains("use_path_style"), "{args:?}: {run}");
        assert!(said.contains("data \"terraform_remote_state\" \"other\""), "{args:?}: {run}");
    }
}
