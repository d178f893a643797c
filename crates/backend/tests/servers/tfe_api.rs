//! Requests of the `remote` backend and the `cloud` block to a server that checks every one of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::Trial;
use serde_json::{Map, Value as Json, json};
use yuba_addrs::Hostname;
use yuba_net::Environment;
use yuba_net::credentials::{CredentialSources, Credentials, HostCredentials};
use yuba_net::discovery::Services;
use yuba_net::http::{HttpClient, HttpSettings};
use yuba_testkit::servers::{Fault, Mode, On, TfeServer, TfeVariable, tfe_server};

use yuba_backend::kit::Retries;
use yuba_backend::kit::store::{LockCheck, LockId, Precondition, Store, StoreErrorKind, UnlockRefusal, Write};
use yuba_backend::kit::workspaces::{Execution, Naming, Snapshots, StoredVariable, ValueSyntax};
use yuba_backend::{BackendConfiguration, BackendEnvironment, Backends, LockHolder, LockRefusal, Storage};

const STATE: &[u8] = br#"{"version":4,"terraform_version":"1.12.6","serial":1,"lineage":"one","outputs":{},"resources":[],"check_results":null}"#;
const NEXT: &[u8] = br#"{"version":4,"terraform_version":"1.12.6","serial":2,"lineage":"one","outputs":{},"resources":[],"check_results":null}"#;
const OTHER: &[u8] = br#"{"version":4,"terraform_version":"1.12.6","serial":2,"lineage":"two","outputs":{},"resources":[],"check_results":null}"#;

/// All tests.
pub(crate) fn trials() -> Vec<Trial> {
    let all: [(&str, fn()); 18] = [
        ("hosts organizations and tokens are checked first", hosts_organizations_and_tokens_are_checked_first),
        ("the environment completes a cloud block", the_environment_completes_a_cloud_block),
        ("the cloud block needs a recent api", the_cloud_block_needs_a_recent_api),
        ("workspaces are created with tags project and version", workspaces_are_created_with_tags_project_and_version),
        (
            "names do not include the prefix, and lists have pages",
            a_prefix_is_no_part_of_names_here_and_lists_have_pages,
        ),
        ("only the api gets the token", only_the_api_gets_the_token),
        ("a state follows the one that was read", a_state_follows_the_one_that_was_read),
        ("old servers take the state in the document", old_servers_take_the_state_in_the_document),
        ("locks name their holder and belong to a process", locks_name_their_holder_and_belong_to_a_process),
        ("a lock of a run or of another user stays", a_lock_of_a_run_or_of_another_user_stays),
        ("a lock whose response is lost is recognised", a_lock_whose_response_is_lost_is_recognised),
        ("a release without response leaves other locks alone", a_release_without_response_leaves_other_locks_alone),
        ("paths of contents are in no message", paths_of_contents_are_in_no_message),
        ("transient failures are distinguished", transient_failures_are_distinguished),
        ("operations run where the workspace says", operations_run_where_the_workspace_says),
        ("variables of remote workspaces are read", variables_of_remote_workspaces_are_read),
        ("workspaces with objects are deleted by force only", workspaces_with_objects_are_deleted_by_force_only),
        ("the server decides about snapshots", the_server_decides_about_snapshots),
    ];
    let trial = |(name, test): (&str, fn())| {
        Trial::test(format!("TFE API: {name}"), move || {
            test();
            Ok(())
        })
    };
    all.into_iter().map(trial).collect()
}

/// A server and an environment in which the token of `ann` is known.
struct Setting {
    server: TfeServer,
    variables: Vec<(String, String)>,
}

impl Setting {
    fn new() -> Setting {
        Setting { server: tfe_server(), variables: Vec::new() }
    }

    fn with(mut self, name: &str, value: &str) -> Setting {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    fn backends(&self) -> Backends {
        let host = Hostname::parse(&self.server.name()).expect("it is a name with a port");
        let token = json!({ "token": "token-ann" });
        let configured = HostCredentials(token.as_object().cloned().unwrap_or_default());
        let sources =
            CredentialSources { configured: BTreeMap::from([(host.clone(), configured)]), ..Default::default() };
        let variables = Environment::new(self.variables.clone(), None, std::env::temp_dir());
        let service = Json::from(self.server.api());
        let services: Map<String, Json> =
            ["tfe.v2", "tfe.v2.1", "state.v2"].map(|name| (name.to_owned(), service.clone())).into_iter().collect();
        let credentials = Arc::new(Credentials::new(sources, &variables));
        let client = HttpClient::new(HttpSettings::default());
        let services = Arc::new(Services::new(client, credentials, BTreeMap::from([(host, services)])));
        let pause = Duration::from_millis(1);
        let retries = Retries { attempts: 3, pause, longest: pause };
        Backends::new(BackendEnvironment { services, retries, ..BackendEnvironment::new(variables, "data") })
    }

    /// Opens a backend with these arguments besides the host and the organization. The error has the titles.
    fn open(&self, kind: &str, more: &Json) -> Result<Arc<dyn Store>, Vec<String>> {
        let mut arguments = json!({ "hostname": self.server.name(), "organization": "acme" });
        for (name, value) in more.as_object().into_iter().flatten() {
            arguments[name] = value.clone();
        }
        let backends = self.backends();
        let kind = backends.find(kind).expect("it is in the table");
        match backends.open(&BackendConfiguration::of_json(kind, &arguments)) {
            Ok(Storage::Store(store)) => Ok(store),
            Ok(_) => panic!("it is a server"),
            Err(problems) => Err(problems.iter().map(|problem| problem.summary.to_string()).collect()),
        }
    }

    fn cloud(&self) -> Arc<dyn Store> {
        self.open("cloud", &json!({ "workspaces": { "name": "app" } })).unwrap_or_else(|titles| panic!("{titles:?}"))
    }

    fn remote(&self) -> Arc<dyn Store> {
        self.open("remote", &json!({ "workspaces": { "name": "app" } })).unwrap_or_else(|titles| panic!("{titles:?}"))
    }
}

fn prepare(store: &dyn Store, workspace: &str) {
    let service = store.workspace_service().expect("workspaces are objects of the server");
    service.prepare(workspace).unwrap_or_else(|error| panic!("{error}"));
}

fn holder() -> LockHolder {
    LockHolder { who: "ann@box".to_owned(), ..LockHolder::ourselves("OperationTypeApply", &Environment::default()) }
}

fn lock(store: &dyn Store, workspace: &str) -> LockId {
    store.lock(workspace, &holder()).expect("it is free").expect("the server has locks")
}

fn write(
    store: &dyn Store,
    content: &[u8],
    precondition: Precondition<'_>,
    lock: Option<&LockId>,
) -> Result<String, StoreErrorKind> {
    let write = Write { content, precondition, lock };
    store.write("default", &write).map(|version| version.0).map_err(|error| error.kind)
}

fn hosts_organizations_and_tokens_are_checked_first() {
    let setting = Setting::new();
    let workspaces = json!({ "name": "app" });
    let titles = |kind: &str, arguments: &Json| setting.open(kind, arguments).map(drop);
    let failed = |title: String| Err(vec![title]);
    let host = setting.server.name();
    assert_eq!(titles("remote", &json!({ "workspaces": workspaces })), Ok(()));
    assert_eq!(titles("cloud", &json!({ "workspaces": workspaces })), Ok(()));
    for kind in ["remote", "cloud"] {
        assert_eq!(
            titles(kind, &json!({ "workspaces": workspaces, "hostname": null })),
            failed(format!("Hostname is required for the {kind} backend"))
        );
        assert_eq!(
            titles(kind, &json!({ "workspaces": workspaces, "organization": "other" })),
            failed(format!("Failed to read organization \"other\" at host {host}"))
        );
        assert_eq!(
            titles(kind, &json!({ "workspaces": workspaces, "token": "wrong" })),
            failed(format!("Failed to read organization \"acme\" at host {host}"))
        );
        assert_eq!(titles(kind, &json!({})), failed("Invalid workspaces configuration".to_owned()));
    }
    assert_eq!(
        titles("remote", &json!({ "workspaces": { "name": "a", "prefix": "b" } })),
        failed("Invalid workspaces configuration".to_owned())
    );
    assert_eq!(
        titles("cloud", &json!({ "workspaces": { "name": "a", "tags": ["b"] } })),
        failed("Invalid workspaces configuration".to_owned())
    );
    let backends = setting.backends();
    let kind = backends.find("cloud").expect("it is in the table");
    let arguments = json!({ "hostname": "localhost:1", "organization": "acme", "workspaces": { "name": "app" } });
    let problems = backends.open(&BackendConfiguration::of_json(kind, &arguments)).expect_err("there is no such host");
    assert!(problems.iter().any(|problem| problem.summary.starts_with("Failed to request discovery document")));
}

fn the_environment_completes_a_cloud_block() {
    let setting = Setting::new();
    let host = setting.server.name();
    let setting = setting.with("TF_CLOUD_HOSTNAME", &host).with("TF_CLOUD_ORGANIZATION", "acme");
    let setting = setting.with("TF_WORKSPACE", "app").with("TF_CLOUD_PROJECT", "Platform");
    let nothing = json!({ "hostname": null, "organization": null });
    assert_eq!(setting.open("cloud", &nothing).map(drop), Err(vec!["Invalid workspace selection".to_owned()]));
    setting.server.create("app");
    let store = setting.open("cloud", &nothing).unwrap_or_else(|titles| panic!("{titles:?}"));
    assert_eq!(store.workspaces(), Ok(vec!["app".to_owned()]));
    let other = json!({ "workspaces": { "name": "other" } });
    assert_eq!(setting.open("cloud", &other).map(drop), Err(vec!["Invalid workspaces configuration".to_owned()]));
    let tagged = json!({ "workspaces": { "tags": ["net"] } });
    assert_eq!(setting.open("cloud", &tagged).map(drop), Err(vec!["Invalid workspace selection".to_owned()]));
    setting.server.change("app", |workspace| workspace.tags.push("net".to_owned()));
    // The project has to exist for a list.
    assert!(setting.open("cloud", &tagged).is_ok());
}

fn the_cloud_block_needs_a_recent_api() {
    let setting = Setting::new();
    for version in [None, Some("2.4"), Some("nonsense")] {
        setting.server.set_api_version(version);
        let titles = setting.open("cloud", &json!({ "workspaces": { "name": "app" } })).map(drop);
        assert_eq!(titles, Err(vec!["Unsupported cloud backend version".to_owned()]), "{version:?}");
        assert!(setting.open("remote", &json!({ "workspaces": { "name": "app" } })).is_ok());
    }
}

fn workspaces_are_created_with_tags_project_and_version() {
    let setting = Setting::new();
    let arguments = json!({ "workspaces": { "tags": ["net", "prod"], "project": "Platform" } });
    let store = setting.open("cloud", &arguments).unwrap_or_else(|titles| panic!("{titles:?}"));
    assert_eq!(store.workspaces(), Ok(Vec::new()));
    prepare(store.as_ref(), "one");
    let created = setting.server.workspace("one").expect("it was created");
    assert_eq!(
        (created.tags.as_slice(), created.version.as_str()),
        (&["net".to_owned(), "prod".to_owned()][..], "1.12.6")
    );
    assert_eq!(setting.server.projects(), ["Default Project", "Platform"]);
    assert_ne!(created.project, "prj-default");
    // An existing workspace gets the tags that it lacks.
    setting.server.create("two");
    prepare(store.as_ref(), "two");
    assert_eq!(setting.server.workspace("two").expect("it was created").tags, ["net", "prod"]);
    setting.server.create("unrelated");
    // The second one is in another project.
    assert_eq!(store.workspaces(), Ok(vec!["one".to_owned()]));
    let service = store.workspace_service().expect("workspaces are objects of the server");
    assert_eq!(service.naming(), Naming::Tags(vec!["net".to_owned(), "prod".to_owned()]));
    assert_eq!(
        service.prepare("default").expect_err("the server has no default workspace").kind,
        StoreErrorKind::NoDefaultWorkspace
    );
}

fn a_prefix_is_no_part_of_names_here_and_lists_have_pages() {
    let setting = Setting::new();
    setting.server.set_page_size(2);
    for name in ["app-a", "app-b", "other-app-c", "app-d", "app-e"] {
        setting.server.create(name);
    }
    let store = setting.open("remote", &json!({ "workspaces": { "prefix": "app-" } })).expect("it opens");
    assert_eq!(store.workspaces(), Ok(["a", "b", "d", "e"].map(str::to_owned).to_vec()));
    assert_eq!(store.describe("a"), format!("acme/app-a on {}", setting.server.name()));
    prepare(store.as_ref(), "new");
    assert!(setting.server.names().contains(&"app-new".to_owned()));
    store.delete("new").expect("it exists");
    assert!(!setting.server.names().contains(&"app-new".to_owned()));
    let single = setting.remote();
    assert_eq!(single.workspaces().expect_err("there is one state").kind, StoreErrorKind::NoWorkspaces);
}

fn only_the_api_gets_the_token() {
    let setting = Setting::new();
    let store = setting.remote();
    prepare(store.as_ref(), "default");
    let id = lock(store.as_ref(), "default");
    write(store.as_ref(), STATE, Precondition::Absent, Some(&id)).expect("the lock is held");
    assert_eq!(store.read("default").expect("the server responds").expect("the state exists").content, STATE);
    let archived = setting.server.archive_asked();
    assert_eq!(archived.iter().map(|asked| asked.method.as_str()).collect::<Vec<_>>(), ["PUT", "GET"]);
    assert!(archived.iter().all(|asked| asked.header("authorization").is_none()));
    let shown = format!("{store:?}{}", setting.server.log_lines().join(" "));
    assert!(!shown.contains("token-ann"), "{shown}");
}

fn a_state_follows_the_one_that_was_read() {
    let setting = Setting::new();
    let (ours, theirs) = (setting.cloud(), setting.cloud());
    let put = |store: &dyn Store, content: &[u8], precondition: Precondition<'_>, id: Option<&LockId>| {
        let write = Write { content, precondition, lock: id };
        store.write("app", &write)
    };
    prepare(ours.as_ref(), "app");
    let id = lock(ours.as_ref(), "app");
    let first = put(ours.as_ref(), STATE, Precondition::Absent, Some(&id)).expect("the lock is held");
    let stale = put(ours.as_ref(), NEXT, Precondition::Absent, Some(&id)).expect_err("there is a state");
    assert_eq!(stale.kind, StoreErrorKind::Conflict);
    let second = put(ours.as_ref(), NEXT, Precondition::Version(&first), Some(&id)).expect("it follows");
    assert_eq!(theirs.read("app").expect("the server responds").expect("the state exists").version, second);
    // A state that the caller has accepted replaces the other one by force: a lower serial, another lineage.
    let third = put(theirs.as_ref(), OTHER, Precondition::Version(&second), Some(&id)).expect("the user is the same");
    assert_eq!(
        setting.server.workspace("app").and_then(|found| found.state().map(<[u8]>::to_vec)),
        Some(OTHER.to_vec())
    );
    let fourth = put(theirs.as_ref(), STATE, Precondition::Version(&third), Some(&id));
    assert!(fourth.is_ok(), "{fourth:?}");
    let stale = put(ours.as_ref(), NEXT, Precondition::Version(&second), Some(&id)).expect_err("it was replaced");
    assert_eq!(stale.kind, StoreErrorKind::Conflict);
    // Without a lock the server refuses every state.
    ours.unlock("app", &id).expect("it is held");
    assert!(put(theirs.as_ref(), NEXT, Precondition::Version(&fourth.expect("it was written")), None).is_err());
}

fn old_servers_take_the_state_in_the_document() {
    let setting = Setting::new();
    setting.server.with_inline_states();
    let store = setting.remote();
    prepare(store.as_ref(), "default");
    let id = lock(store.as_ref(), "default");
    write(store.as_ref(), STATE, Precondition::Absent, Some(&id)).expect("the lock is held");
    assert_eq!(store.read("default").expect("the server responds").expect("the state exists").content, STATE);
    assert!(setting.server.archive_asked().iter().all(|asked| asked.method == "GET"));
}

fn locks_name_their_holder_and_belong_to_a_process() {
    let setting = Setting::new();
    let (ours, theirs) = (setting.remote(), setting.remote());
    prepare(ours.as_ref(), "default");
    let id = lock(ours.as_ref(), "default");
    assert_eq!(id.0, "acme/app");
    match theirs.lock("default", &holder()) {
        Err(LockRefusal::Held { holder: Some(holder), .. }) => {
            assert_eq!((holder.id.as_str(), holder.who.as_str()), ("acme/app", "ann@box"));
            assert_eq!(holder.operation, "OperationTypeApply");
        }
        outcome => panic!("{outcome:?}"),
    }
    assert_eq!(ours.check_lock("default", &id), Ok(LockCheck::Held));
    // The other process has the same token, so the server would accept its request.
    assert!(matches!(theirs.unlock("default", &LockId("wrong".to_owned())), Err(UnlockRefusal::OtherLock(Some(_)))));
    theirs.unlock("default", &id).expect("force");
    assert!(matches!(ours.check_lock("default", &id), Ok(LockCheck::Lost(_))));
    let taken = lock(theirs.as_ref(), "default");
    assert!(matches!(ours.check_lock("default", &id), Ok(LockCheck::Lost(reason)) if reason.contains("ann@box")));
    let lost = write(ours.as_ref(), STATE, Precondition::Absent, Some(&id));
    // The server accepts a state of the same user. The watch of a running apply notices the lost lock.
    assert!(lost.is_ok());
    assert!(matches!(ours.unlock("default", &id), Err(UnlockRefusal::OtherLock(Some(_)))));
    assert!(setting.server.workspace("app").is_some_and(|found| found.lock.is_some()), "the other lock stays");
    theirs.unlock("default", &taken).expect("it is held");
    assert!(matches!(theirs.unlock("default", &id), Err(UnlockRefusal::NotLocked)));
}

fn a_lock_of_a_run_or_of_another_user_stays() {
    let setting = Setting::new();
    let store = setting.remote();
    prepare(store.as_ref(), "default");
    let run = ("runs".to_owned(), "run-7".to_owned(), String::new());
    setting.server.change("app", |workspace| workspace.lock = Some(run));
    match store.lock("default", &holder()) {
        Err(LockRefusal::Held { holder: Some(holder), .. }) => assert_eq!(holder.who, "run run-7 of the server"),
        outcome => panic!("{outcome:?}"),
    }
    setting.server.change("app", |workspace| workspace.lock = None);
    let id = lock(store.as_ref(), "default");
    setting.server.without_reasons();
    let bob = ("users".to_owned(), "user-bob".to_owned(), String::new());
    setting.server.change("app", |workspace| workspace.lock = Some(bob));
    assert_eq!(write(store.as_ref(), STATE, Precondition::Absent, Some(&id)), Err(StoreErrorKind::Conflict));
    assert!(matches!(store.unlock("default", &id), Err(UnlockRefusal::OtherLock(Some(_)))));
    assert!(setting.server.workspace("app").is_some_and(|found| found.lock.is_some()));
}

fn a_lock_whose_response_is_lost_is_recognised() {
    let setting = Setting::new();
    let store = setting.remote();
    prepare(store.as_ref(), "default");
    setting.server.fail(On::Path("POST", "/actions/lock"), Fault::CloseAfter, 1);
    let holder = holder();
    assert!(
        matches!(store.lock("default", &holder), Err(LockRefusal::Store(error)) if error.kind == StoreErrorKind::Transient)
    );
    assert!(store.lock("default", &holder).is_ok_and(|id| id.is_some()));
}

fn a_release_without_response_leaves_other_locks_alone() {
    let setting = Setting::new();
    setting.server.without_reasons();
    let store = setting.remote();
    prepare(store.as_ref(), "default");
    let id = lock(store.as_ref(), "default");
    setting.server.fail(On::Path("POST", "/actions/unlock"), Fault::CloseAfter, 1);
    assert!(matches!(store.unlock("default", &id), Err(UnlockRefusal::Failed(_))));
    // Another process with the same token takes the lock, and the server does not say so.
    let other = setting.remote();
    lock(other.as_ref(), "default");
    match store.unlock("default", &id) {
        Err(UnlockRefusal::Failed(error)) => {
            assert!(error.kind == StoreErrorKind::Lasting && error.reason.contains("force-unlock acme/app"), "{error}");
        }
        outcome => panic!("{outcome:?}"),
    }
    assert!(setting.server.workspace("app").is_some_and(|workspace| workspace.lock.is_some()));
    // A lock whose requests had no response is released where the server returns reasons.
    let setting = Setting::new();
    let store = setting.remote();
    prepare(store.as_ref(), "default");
    setting.server.fail(On::Path("POST", "/actions/lock"), Fault::CloseAfter, 1);
    let holder = holder();
    assert!(store.lock("default", &holder).is_err());
    store.abandon_lock("default", &holder).expect("the lock is that of this process");
    assert!(setting.server.workspace("app").is_some_and(|workspace| workspace.lock.is_none()));
}

fn paths_of_contents_are_in_no_message() {
    let setting = Setting::new();
    let store = setting.remote();
    prepare(store.as_ref(), "default");
    let id = lock(store.as_ref(), "default");
    for (fault, times) in [(Fault::Status(403, None), 1), (Fault::CloseBefore, 3)] {
        setting.server.fail(On::Method("PUT"), fault, times);
        let refused =
            store.write("default", &Write { content: STATE, precondition: Precondition::Absent, lock: Some(&id) });
        let error = refused.expect_err("the upload fails");
        assert!(error.reason.contains("/...: ") && !error.reason.contains("/object/"), "{error}");
    }
}

fn transient_failures_are_distinguished() {
    let setting = Setting::new();
    let store = setting.remote();
    prepare(store.as_ref(), "default");
    let path = On::Path("GET", "/current-state-version");
    for (status, kind) in [
        (429, StoreErrorKind::Transient),
        (500, StoreErrorKind::Transient),
        (503, StoreErrorKind::Transient),
        (401, StoreErrorKind::Lasting),
        (403, StoreErrorKind::Lasting),
        (422, StoreErrorKind::Lasting),
    ] {
        setting.server.fail(path.clone(), Fault::Status(status, Some("7")), 1);
        let error = store.read("default").expect_err("the server fails");
        assert_eq!(error.kind, kind, "{status}: {error}");
        assert!(!error.reason.contains("token-ann"));
        let expected = (kind == StoreErrorKind::Transient).then(|| Duration::from_secs(7));
        assert_eq!(error.retry_after, expected, "{status}");
    }
    setting.server.fail(path, Fault::Html, 1);
    let error = store.read("default").expect_err("it is a login page");
    assert!(error.kind == StoreErrorKind::Lasting && error.reason.contains("HTML"), "{error}");
    assert_eq!(store.read("default"), Ok(None));
    // An upload is repeated on its own: the state version exists already.
    let id = lock(store.as_ref(), "default");
    setting.server.fail(On::Method("PUT"), Fault::Status(503, None), 2);
    assert!(write(store.as_ref(), STATE, Precondition::Absent, Some(&id)).is_ok());
}

fn operations_run_where_the_workspace_says() {
    let setting = Setting::new();
    let modes = [(Mode::Local, None), (Mode::Remote, Some("remote")), (Mode::Agent, Some("agent"))];
    for (mode, expected) in modes {
        setting.server.create(expected.unwrap_or("local"));
        setting.server.change(expected.unwrap_or("local"), |workspace| workspace.mode = mode);
    }
    let arguments = || json!({ "workspaces": { "tags": ["x"] } });
    let store = setting.open("cloud", &arguments()).expect("it opens");
    let service = store.workspace_service().expect("workspaces are objects of the server");
    for (_, expected) in modes {
        let mode = expected.map(|mode| Execution::Remote { mode: mode.to_owned() }).unwrap_or(Execution::Local);
        assert_eq!(service.execution(expected.unwrap_or("local")), Ok(mode));
    }
    assert_eq!(service.execution("missing"), Ok(Execution::Local));
    // The version counts where operations run on the server.
    assert_eq!(service.version_mismatch("local"), Ok(None));
    let mismatch = service.version_mismatch("remote").expect("it exists").expect("1.10.0 is not 1.12.6");
    assert_eq!((mismatch.title, mismatch.remote.as_str()), ("Incompatible TF version", "~> 1.10.0"));
    let forced = Setting { server: setting.server, ..Setting::new() }.with("TF_FORCE_LOCAL_BACKEND", "1");
    let store = forced.open("cloud", &arguments()).expect("it opens");
    assert_eq!(store.workspace_service().expect("as before").execution("remote"), Ok(Execution::Local));
    forced.server.without_operations();
    let free = Setting { server: forced.server, ..Setting::new() };
    let store = free.open("cloud", &arguments()).expect("it opens");
    assert_eq!(store.workspace_service().expect("as before").execution("remote"), Ok(Execution::Local));
}

fn variables_of_remote_workspaces_are_read() {
    let setting = Setting::new();
    let variable = |key: &str, value: &str, hcl, sensitive, category: &str| TfeVariable {
        key: key.to_owned(),
        value: value.to_owned(),
        category: category.to_owned(),
        hcl,
        sensitive,
    };
    let store = setting.remote();
    prepare(store.as_ref(), "default");
    setting.server.change("app", |workspace| {
        workspace.variables = vec![
            variable("text", "plain", false, false, "terraform"),
            variable("list", "[1, 2]", true, false, "terraform"),
            variable("secret", "hush", false, true, "terraform"),
            variable("PATH", "/bin", false, false, "env"),
        ];
    });
    let variables = |store: &dyn Store| store.workspace_service().map(|service| service.variables("default"));
    assert_eq!(variables(store.as_ref()), Some(Ok(Vec::new())), "the mode is local");
    setting.server.change("app", |workspace| workspace.mode = Mode::Remote);
    let stored = |name: &str, value: Option<&str>, syntax| StoredVariable {
        name: name.to_owned(),
        value: value.map(str::to_owned),
        syntax,
    };
    let expected = vec![
        stored("text", Some("plain"), ValueSyntax::Literal),
        stored("list", Some("[1, 2]"), ValueSyntax::Hcl),
        stored("secret", None, ValueSyntax::Literal),
    ];
    assert_eq!(variables(setting.remote().as_ref()), Some(Ok(expected)));
}

fn workspaces_with_objects_are_deleted_by_force_only() {
    let setting = Setting::new();
    let store = setting.open("cloud", &json!({ "workspaces": { "tags": ["x"] } })).expect("it opens");
    prepare(store.as_ref(), "one");
    let id = lock(store.as_ref(), "one");
    let content = br#"{"version":4,"terraform_version":"1.12.6","serial":1,"lineage":"l","outputs":{},"resources":[{"mode":"managed","type":"terraform_data","name":"x","provider":"provider[\"terraform.io/builtin/terraform\"]","instances":[]}],"check_results":null}"#;
    let write = Write { content, precondition: Precondition::Absent, lock: Some(&id) };
    store.write("one", &write).expect("the lock is held");
    let service = store.workspace_service().expect("workspaces are objects of the server");
    assert!(service.delete_if_safe("one").is_err(), "it is locked");
    store.unlock("one", &id).expect("it is held");
    let refused = service.delete_if_safe("one").expect_err("it manages objects");
    assert!(refused.reason.contains("manages resources"), "{refused}");
    store.delete("one").expect("force");
    service.delete_if_safe("one").expect("a workspace that does not exist is deleted");
    prepare(store.as_ref(), "two");
    service.delete_if_safe("two").expect("it has no state");
    assert_eq!(setting.server.names(), Vec::<String>::new());
}

fn the_server_decides_about_snapshots() {
    let setting = Setting::new();
    assert_eq!(setting.remote().snapshots(), Snapshots::Usual);
    let store = setting.cloud();
    prepare(store.as_ref(), "app");
    assert_eq!(store.snapshots(), Snapshots::None);
    setting.server.set_interval(30);
    let id = lock(store.as_ref(), "app");
    let write = Write { content: STATE, precondition: Precondition::Absent, lock: Some(&id) };
    store.write("app", &write).expect("the lock is held");
    assert_eq!(store.read("app").map(|stored| stored.is_some()), Ok(true));
    assert_eq!(store.snapshots(), Snapshots::AtMostEvery(Duration::from_secs(30)));
    let in_run = setting.with("TFE_RUN_ID", "run-1");
    assert_eq!(in_run.remote().snapshots(), Snapshots::None);
}
