//! Exec plugins, with shell scripts as plugins.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::super::credentials::Renewal;
use super::{Directory, connect, used};

const V1: &str = "client.authentication.k8s.io/v1";
const V1BETA1: &str = "client.authentication.k8s.io/v1beta1";

fn credential(version: &str, status: &Json) -> String {
    json!({ "kind": "ExecCredential", "apiVersion": version, "status": status }).to_string()
}

fn with_plugin(version: &str, command: &Path) -> Json {
    json!({
        "host": "https://h.example",
        "exec": [{ "api_version": version, "command": command, "args": ["a b", ""], "env": { "GREETING": "hello" } }],
    })
}

/// The failure of a plugin.
fn failure(arguments: &Json) -> String {
    let connection = connect(arguments, &[], Path::new("/nonexistent")).expect("the plugin runs later");
    let request = yuba_net::http::Request::new(connection.base.clone());
    connection.credentials.applied(request).expect_err("the plugin fails")
}

#[test]
fn a_plugin_gets_arguments_and_environment_and_returns_a_token() {
    let directory = Directory::new();
    let log = directory.0.join("log").display().to_string();
    let answer = credential(V1, &json!({ "token": "t1" }));
    let script = directory
        .script("plugin", &format!("echo \"$#|$1|$2|$GREETING|$KUBERNETES_EXEC_INFO\" >> {log}\necho '{answer}'"));
    let connection = connect(&with_plugin(V1, &script), &[], Path::new("/nonexistent")).expect("it is complete");
    assert_eq!(used(&connection), "https://h.example/ token t1");
    assert_eq!(used(&connection), "https://h.example/ token t1");
    let ran = std::fs::read_to_string(&log).expect("the plugin has written it");
    assert_eq!(ran.lines().count(), 1, "the token does not expire");
    let info = ran.trim_end().strip_prefix("2|a b||hello|").expect("two arguments and a variable arrive");
    let expected = json!({ "kind": "ExecCredential", "apiVersion": V1, "spec": { "interactive": false } });
    assert_eq!(serde_json::from_str::<Json>(info).expect("it is JSON"), expected);
    // A token that the server rejects is asked for again.
    assert_eq!(connection.credentials.rejected(), Renewal::Possible);
    assert_eq!(used(&connection), "https://h.example/ token t1");
    assert_eq!(std::fs::read_to_string(&log).expect("it exists").lines().count(), 2);
}

#[test]
fn an_expired_token_is_replaced() {
    let directory = Directory::new();
    let log = directory.0.join("log").display().to_string();
    for (time, runs) in [("2020-01-01T00:00:00Z", 2), ("2199-01-01T00:00:00+02:00", 1)] {
        let _ = std::fs::remove_file(&log);
        let answer = credential(V1BETA1, &json!({ "token": "t", "expirationTimestamp": time }));
        let script = directory.script("plugin", &format!("echo run >> {log}\necho '{answer}'"));
        let connection =
            connect(&with_plugin(V1BETA1, &script), &[], Path::new("/nonexistent")).expect("it is complete");
        used(&connection);
        used(&connection);
        assert_eq!(std::fs::read_to_string(&log).expect("it exists").lines().count(), runs, "{time}");
    }
}

#[test]
fn a_plugin_of_a_file_gets_the_cluster_and_returns_a_certificate() {
    let directory = Directory::new();
    let log = directory.0.join("info").display().to_string();
    let answer = credential(V1, &json!({ "clientCertificateData": "C", "clientKeyData": "K" }));
    directory.script("bin/plugin", &format!("printf %s \"$KUBERNETES_EXEC_INFO\" > {log}\necho '{answer}'"));
    let file = directory.write(
        "config",
        &format!(
            "current-context: c
clusters:
- name: c
  cluster:
    server: https://h.example
    tls-server-name: n.example
    extensions:
    - name: client.authentication.k8s.io/exec
      extension: {{audience: a}}
users:
- name: u
  user:
    exec: {{apiVersion: {V1}, command: bin/plugin, interactiveMode: IfAvailable, provideClusterInfo: true}}
contexts:
- name: c
  context: {{cluster: c, user: u}}
"
        ),
    );
    let connection = connect(&json!({ "config_path": file }), &[], Path::new("/nonexistent")).expect("it is complete");
    assert_eq!(used(&connection), "https://h.example/ certificate");
    let info: Json = serde_json::from_str(&std::fs::read_to_string(&log).expect("it exists")).expect("it is JSON");
    let cluster =
        json!({ "server": "https://h.example", "tls-server-name": "n.example", "config": { "audience": "a" } });
    assert_eq!(info["spec"], json!({ "interactive": false, "cluster": cluster }));
    // A token of the configuration is used instead of the plugin.
    let connection =
        connect(&json!({ "config_path": file, "token": "t" }), &[], Path::new("/nonexistent")).expect("it is complete");
    assert_eq!(used(&connection), "https://h.example/ token t");
}

#[test]
fn a_plugin_that_has_worked_before_may_work_again() {
    use crate::kit::store::StoreErrorKind::{Lasting, Transient};
    let directory = Directory::new();
    let log = directory.0.join("ran").display().to_string();
    let answer = credential(V1, &json!({ "token": "t", "expirationTimestamp": "2020-01-01T00:00:00Z" }));
    let script = directory.script("plugin", &format!("[ -e {log} ] && exit 3\ntouch {log}\necho '{answer}'"));
    let request = || yuba_net::http::Request::new("https://h.example/".parse().expect("it is a URL"));
    let connection = connect(&with_plugin(V1, &script), &[], Path::new("/nonexistent")).expect("it is complete");
    assert_eq!(used(&connection), "https://h.example/ token t");
    assert!(connection.credentials.applied(request()).is_err());
    assert_eq!(connection.credentials.failure(), Transient);
    let connection = connect(&with_plugin(V1, &script), &[], Path::new("/nonexistent")).expect("it is complete");
    assert!(connection.credentials.applied(request()).is_err());
    assert_eq!(connection.credentials.failure(), Lasting);
}

#[test]
fn failures_name_the_plugin_and_no_secret() {
    let directory = Directory::new();
    let fails = |output: &str, expected: &str| {
        let script = directory.script("plugin", &format!("echo '{output}'"));
        let error = failure(&with_plugin(V1, &script));
        assert!(error.contains("plugin failed") && error.contains(expected) && !error.contains("SECRET"), "{error}");
    };
    fails("SECRET", "not JSON");
    fails("{}", "not an ExecCredential");
    fails(&credential(V1BETA1, &json!({ "token": "SECRET" })), "\"client.authentication.k8s.io/v1beta1\"");
    fails(&credential(V1, &json!({})), "neither a token nor a certificate");
    fails(&credential(V1, &json!({ "clientKeyData": "SECRET" })), "not both");
    fails(&credential(V1, &json!({ "token": "SECRET", "expirationTimestamp": "soon" })), "expirationTimestamp");
    let script = directory.script("plugin", "exit 3");
    let error = failure(&with_plugin(V1, &script));
    assert!(error.contains("exit status: 3"), "{error}");
    let error = failure(&with_plugin(V1, &directory.0.join("missing")));
    assert!(error.contains("cannot be started"), "{error}");
    let plain = json!({ "host": "http://h.example", "exec": [{ "api_version": V1, "command": "x" }] });
    let error =
        connect(&plain, &[], Path::new("/nonexistent")).expect_err("its token would be readable on the network");
    assert!(error.contains("not https"), "{error}");
}
