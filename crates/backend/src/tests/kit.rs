//! The table of backends and their arguments.

use serde_json::json;
use yuba_net::Environment;
use yuba_value::Value;

use super::*;
use crate::fake::FAKE;
use crate::kinds::BACKENDS;
use crate::kit::arguments::Arguments;
use crate::{BackendConfiguration, BackendEnvironment, Backends, Storage};

fn environment(variables: &[(&str, &str)]) -> Environment {
    variables.iter().copied().collect()
}

fn fake(arguments: &serde_json::Value) -> BackendConfiguration {
    BackendConfiguration::of_json(FAKE, arguments)
}

#[test]
fn the_table_names_every_backend_once() {
    let mut names: Vec<&str> = BACKENDS.iter().map(|kind| kind.name).collect();
    assert!(names.is_sorted());
    names.dedup();
    assert_eq!(names.len(), BACKENDS.len());
    let backends = Backends::new(BackendEnvironment::new(Environment::default(), "data"));
    for kind in BACKENDS.iter().filter(|kind| !kind.is_available()) {
        let refused =
            backends.open(&BackendConfiguration::of_json(*kind, &json!({}))).expect_err("it is not available");
        assert!(refused.iter().all(|problem| problem.is(&crate::BACKEND_UNSUPPORTED)), "{kind:?}");
    }
    let first = ["consul", "http", "inmem", "local"];
    assert!(first.iter().all(|name| backends.find(name).is_some_and(|kind| kind.is_available())));
}

#[test]
fn arguments_of_any_type_are_stored_and_read() {
    let stored = json!({
        "access_key": "AKIA", "allowed": ["a", "b"], "bucket": "b", "endpoints": { "s3": "http://localhost" },
        "key": null, "max_retries": 5, "region": null, "use_lockfile": true, "workspaces": { "prefix": "p-" },
    });
    let configuration = fake(&stored);
    assert_eq!(configuration.arguments().to_json(), stored);
    let arguments = configuration.arguments();
    assert_eq!((arguments.whole("max_retries"), arguments.is_on("use_lockfile")), (Some(5), true));
    assert_eq!(arguments.texts("allowed"), ["a", "b"]);
    let inside = |name: &str, argument: &str| arguments.object(name).and_then(|inside| inside.text(argument));
    assert_eq!(inside("endpoints", "s3").as_deref(), Some("http://localhost"));
    assert_eq!(inside("workspaces", "prefix").as_deref(), Some("p-"));
    // A record of another version is ignored.
    let other = fake(&json!({ "bucket": "b", "max_retries": "7", "use_lockfile": [], "gone": 1 }));
    let other = other.arguments();
    assert_eq!((other.whole("max_retries"), other.is_on("use_lockfile")), (Some(7), false));
}

#[test]
fn the_environment_gives_what_the_configuration_leaves_out() {
    let schema = fake(&json!({})).schema();
    let set = environment(&[("FAKE_DEFAULT_REGION", "eu"), ("FAKE_RETRIES", "3"), ("FAKE_BUCKET", "from-environment")]);
    let configuration = fake(&json!({ "bucket": "b", "region": "" }));
    let resolved = configuration.arguments().resolved(&schema, &set).expect("the values have the right types");
    let text = |name: &str| resolved.text(name).map(|text| text.to_string());
    assert_eq!(text("bucket").as_deref(), Some("b"));
    assert_eq!(text("region").as_deref(), Some("eu"));
    assert_eq!(text("key").as_deref(), Some("terraform.tfstate"));
    assert_eq!(resolved.whole("max_retries"), Some(3));
    assert_eq!(configuration.arguments().to_json()["max_retries"], json!(null), "the record has no environment in it");

    assert_eq!(fake(&json!({})).missing(&environment(&[])), ["bucket"]);
    assert!(fake(&json!({})).missing(&set).is_empty());
    let wrong = fake(&json!({})).arguments().resolved(&schema, &environment(&[("FAKE_RETRIES", "many")]));
    let problems = wrong.expect_err("it is not a number");
    assert_eq!(problems.len(), 1);
}

#[test]
fn credentials_are_not_printed() {
    let configuration = fake(&json!({ "bucket": "b", "access_key": "hush" }));
    assert!(configuration.schema().is_secret("access_key") && !configuration.schema().is_secret("bucket"));
    let environment = BackendEnvironment::new(environment(&[("FAKE_ACCESS_KEY", "hush")]), "data");
    let backends = Backends::new(environment).with(&[FAKE]);
    let storage = backends.open(&configuration).expect("it opens");
    let printed =
        format!("{configuration:?} {backends:?} {storage:?} {:?}", configuration.arguments().secret("access_key"));
    assert!(!printed.contains("hush") && printed.contains("access_key"), "{printed}");
}

#[test]
fn locations_are_compared_with_their_defaults() {
    let one = fake(&json!({ "bucket": "b" }));
    assert!(one.is_same_location(&fake(&json!({ "bucket": "b", "key": "terraform.tfstate", "region": "" }))));
    assert!(!one.is_same_location(&fake(&json!({ "bucket": "b", "key": "other" }))));
    let local = |path: serde_json::Value| BackendConfiguration::of_json(crate::kinds::LOCAL, &json!({ "path": path }));
    assert!(local(json!(null)).is_same_location(&local(json!("terraform.tfstate"))));
    assert!(!local(json!("a")).is_same_location(&local(json!("b"))) && !local(json!(null)).is_same_location(&one));
    assert_eq!(
        (local(json!("a")).location().as_str(), one.location().as_str()),
        ("the file a", "the backend \"fake\"")
    );
    let storage = Backends::new(BackendEnvironment::new(Environment::default(), "data")).open(&local(json!("a")));
    let is_file =
        |settings: &LocalSettings| settings.path == Some("a".into()) && settings.workspace_directory.is_some();
    assert!(matches!(storage, Ok(Storage::Files(ref settings)) if is_file(settings)));
}

#[test]
fn objects_that_users_write_are_checked_by_the_schema() {
    let schema = fake(&json!({})).schema();
    let object = |entries: &[(&str, Value)]| {
        Value::object(entries.iter().map(|(name, value)| ((*name).into(), value.clone())).collect())
    };
    let arguments = Arguments::of_object(&schema, &object(&[("max_retries", Value::string("4"))])).expect("it fits");
    assert_eq!(arguments.whole("max_retries"), Some(4));
    assert!(Arguments::of_object(&schema, &object(&[("nope", Value::string("4"))])).is_err());
    assert!(Arguments::of_object(&schema, &object(&[("max_retries", Value::string("x"))])).is_err());
}

#[test]
fn states_in_memory_are_shared_by_all_copies_of_a_storage() {
    let backends = Backends::new(BackendEnvironment::new(Environment::default(), "data"));
    let kind = backends.find("inmem").expect("it is in the table");
    let storage = backends.open(&BackendConfiguration::of_json(kind, &json!({}))).expect("memory opens");
    let open = |name: &str| backends.backend(&storage.clone(), None).open(name).expect("there is room");
    let mut state = state_of([1]);
    assert!(open("default").write(&mut state).is_ok());
    assert_eq!(numbers(open("").read().expect("memory can be read").state.as_ref()), [1]);
    let mut running = open("default");
    let mut journal = running.journal(&mut state).expect("nothing is written");
    let id = begin(journal.as_mut(), 2);
    journal.finish(id, &[edit(2)]);
    state.apply(edit(2));
    assert!(journal.due() && !journal.wants_checkpoint() && journal.flush().is_ok());
    assert!(journal.close(&mut state).is_ok() && state.serial == 2);

    let locked = BackendConfiguration::of_json(kind, &json!({ "lock_id": "abc" }));
    let storage = backends.open(&locked).expect("memory opens");
    let mut store = backends.backend(&storage, None).open("default").expect("there is room");
    let refused = store.try_lock(ourselves("test"));
    assert!(matches!(refused, Err(crate::LockRefusal::Held { holder: Some(holder), .. }) if holder.id == "abc"));
    assert!(
        store.force_unlock("abd").is_err() && store.force_unlock("abc").is_ok() && store.force_unlock("abc").is_err()
    );
    assert!(store.try_lock(ourselves("test")).is_ok());
}
