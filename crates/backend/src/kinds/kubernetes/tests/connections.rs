//! kubeconfig files, service accounts and arguments. Expectations are the rules of client-go 0.35, which OpenTofu 1.12.6 uses.

use std::path::Path;

use serde_json::json;
use yuba_net::trust::{Authorities, Verification};

use super::{Directory, connect, used};

const FIRST: &str = "
apiVersion: v1
kind: Config
current-context: one
clusters:
- name: one
  cluster: {server: 'https://one.example:6443'}
- name: plain
  cluster: {server: 'http://plain.example'}
users:
- name: ann
  user: {token: first}
- name: bob
  user: {username: bob, password: 'secret word'}
contexts:
- name: one
  context: {cluster: one, user: ann, namespace: ignored}
- name: plain
  context: {cluster: plain, user: ann}
- name: broken
  context: {cluster: gone, user: ann}
";

const SECOND: &str = "
current-context: two
clusters:
- name: one
  cluster: {server: 'https://other.example'}
- name: two
  cluster: {server: 'https://two.example/prefix/'}
users:
- name: ann
  user: {token: second, username: never}
- name: file
  user: {tokenFile: tokens/t}
contexts:
- name: two
  context: {cluster: two, user: file}
";

/// No file exists.
const NOWHERE: &str = "/nonexistent/service-account";

#[test]
fn files_are_merged_and_the_first_counts() {
    let directory = Directory::new();
    let one = directory.write("one", FIRST).display().to_string();
    let two = directory.write("sub/two", SECOND).display().to_string();
    directory.write("sub/tokens/t", "from a file\n");
    let missing = directory.0.join("missing").display().to_string();
    let all = json!([one, missing, two]);
    let check = |arguments: serde_json::Value, variables: &[(&str, &str)]| {
        connect(&arguments, variables, Path::new(NOWHERE)).map(|connection| used(&connection))
    };
    assert_eq!(check(json!({ "config_paths": all }), &[]).as_deref(), Ok("https://one.example:6443/ token first"));
    let by_context = |name: &str| check(json!({ "config_paths": all, "config_context": name }), &[]);
    assert_eq!(by_context("two").as_deref(), Ok("https://two.example/prefix/ token from a file"));
    assert_eq!(by_context("plain").as_deref(), Ok("http://plain.example/"), "no credential without TLS");
    let error = by_context("gone").expect_err("there is no such context");
    assert!(
        error.contains("the context \"gone\" does not exist") && error.contains("\"one\", \"plain\", \"two\""),
        "{error}"
    );
    let error = by_context("broken").expect_err("there is no such cluster");
    assert!(error.contains("the cluster \"gone\" does not exist"), "{error}");
    let chosen = json!({ "config_path": two, "config_context_cluster": "one", "config_context_auth_info": "ann" });
    let error = check(chosen, &[]).expect_err("the user has two methods");
    assert!(error.contains("both a token and a password"), "{error}");
    let variables = [("KUBE_CONFIG_PATHS", format!("{one}:{two}"))];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    assert_eq!(check(json!({}), &variables).as_deref(), Ok("https://one.example:6443/ token first"));
    // One path wins over several, also if the environment sets it.
    let path = [("KUBE_CONFIG_PATH", two.as_str()), ("KUBE_CTX_AUTH_INFO", "file"), ("KUBECONFIG", one.as_str())];
    assert_eq!(
        check(json!({ "config_paths": [one] }), &path).as_deref(),
        Ok("https://two.example/prefix/ token from a file")
    );
    let user = json!({ "config_path": one, "config_context_auth_info": "bob" });
    assert_eq!(check(user, &[]).as_deref(), Ok("https://one.example:6443/ user bob:secret word"));
}

#[test]
fn arguments_win_over_files() {
    let directory = Directory::new();
    let file = directory.write("config", FIRST).display().to_string();
    let home = directory.0.display().to_string();
    let variables = [("HOME", home.as_str()), ("KUBE_TOKEN", "of the environment")];
    let connection =
        connect(&json!({ "config_path": "~/config", "host": "https://other.example" }), &variables, Path::new(NOWHERE));
    assert_eq!(
        connection.map(|connection| used(&connection)).as_deref(),
        Ok("https://other.example/ token of the environment")
    );
    let error = |arguments: serde_json::Value| connect(&arguments, &[], Path::new(NOWHERE)).expect_err("it is refused");
    let both = error(json!({ "config_path": file, "username": "u", "password": "p" }));
    assert!(both.contains("both a token and a user"), "{both}");
    assert!(error(json!({ "config_path": "~other/config" })).contains("home directory of another user"));
    assert!(error(json!({ "config_path": file, "client_certificate": "x" })).contains("has no key"));
    let invalid = error(json!({ "config_path": file, "cluster_ca_certificate": "x" }));
    assert!(invalid.contains("no valid PEM certificate"), "{invalid}");
    assert!(error(json!({})).contains("no API server is configured"));
    let missing = error(json!({ "config_path": "/nonexistent/config" }));
    assert!(missing.contains("/nonexistent/config does not exist"), "{missing}");
    // Static settings work without a file, or with one that does not exist.
    for path in [json!(null), json!("/nonexistent/config")] {
        let arguments = json!({ "config_path": path, "host": "h.example:6443", "insecure": true, "username": "u", "password": "p" });
        let connection = connect(&arguments, &[], Path::new(NOWHERE)).expect("it is complete");
        assert_eq!(used(&connection), "https://h.example:6443/ user u:p");
        assert_eq!(connection.options.tls.verification, Verification::Skipped);
    }
    let plain =
        connect(&json!({ "host": "h.example", "token": "t" }), &[], Path::new(NOWHERE)).expect("it is complete");
    assert_eq!(used(&plain), "http://h.example/ token t");
}

#[test]
fn clusters_and_users_have_further_settings() {
    let directory = Directory::new();
    let pem = rcgen::generate_simple_self_signed(["ca.example".to_owned()]).expect("it can be made");
    directory.write("ca.crt", &pem.cert.pem());
    directory.write("key.pem", &pem.signing_key.serialize_pem());
    let data = |text: &str| base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text);
    let config = |cluster: &str, user: &str| {
        directory.write(
            "config",
            &format!(
                "current-context: c\nclusters:\n- name: c\n  cluster:\n    server: https://h.example\n{cluster}\nusers:\n- name: u\n  \
                 user:\n{user}\ncontexts:\n- name: c\n  context: {{cluster: c, user: u}}\n"
            ),
        )
    };
    let connect_to =
        |cluster: &str, user: &str| connect(&json!({ "config_path": config(cluster, user) }), &[], Path::new(NOWHERE));
    let authority = "    certificate-authority: ca.crt\n    tls-server-name: ca.example\n    proxy-url: http://u:p@proxy.example:3128";
    let certificate = data(&pem.cert.pem());
    let user = format!(
        "    client-certificate-data: {certificate}\n    client-key: key.pem\n    as: root\n    as-groups: [a, b]\n    as-user-extra: {{a/b: [c]}}"
    );
    let connection = connect_to(authority, &user).expect("all files exist");
    let tls = &connection.options.tls;
    assert!(matches!(&tls.authorities, Authorities::Only(found) if *found == pem.cert.pem().into_bytes()));
    assert_eq!(tls.host_name.as_deref(), Some("ca.example"));
    assert!(tls.identity.as_ref().is_some_and(|identity| identity.key == pem.signing_key.serialize_pem().into_bytes()));
    assert_eq!(
        connection.options.proxies.as_ref().and_then(|proxies| proxies.https.as_deref()),
        Some("http://u:p@proxy.example:3128/")
    );
    let headers: Vec<String> = connection.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    assert_eq!(
        headers,
        ["Impersonate-User: root", "Impersonate-Group: a", "Impersonate-Group: b", "Impersonate-Extra-a%2Fb: c"]
    );
    let refused = |cluster: &str, user: &str, expected: &str| {
        let error = connect_to(cluster, user).expect_err("it is refused");
        assert!(error.contains(expected), "{error}");
    };
    refused("    proxy-url: socks5://proxy.example", "    {}", "SOCKS");
    refused(
        "    insecure-skip-tls-verify: true\n    certificate-authority: ca.crt",
        "    {}",
        "insecure-skip-tls-verify",
    );
    refused("    certificate-authority: gone.crt", "    {}", "gone.crt");
    refused("    certificate-authority: ca.crt\n    certificate-authority-data: eA==", "    {}", "both set");
    refused("    certificate-authority-data: '%'", "    {}", "not valid Base64");
    refused("", "    token: 123", "Write its value in quotes");
    refused("", "    auth-provider: {name: oidc}", "auth-provider \"oidc\"");
    refused("", &format!("    client-certificate-data: {certificate}"), "has no key");
    refused("", "    tokenFile: gone", "tokenFile");
    refused("", "    exec: {command: x}", "apiVersion is missing");
    refused("", "    exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}", "v1alpha1");
    refused(
        "",
        "    exec: {command: x, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Always}",
        "requires a terminal",
    );
    let broken = directory.write("broken", "clusters: [").display().to_string();
    let error = connect(&json!({ "config_path": broken }), &[], Path::new(NOWHERE)).expect_err("it is not YAML");
    assert!(error.contains("broken") && error.contains("not valid YAML"), "{error}");
}

#[test]
fn pods_use_their_service_account() {
    let directory = Directory::new();
    let account = directory.0.join("account");
    let variables = [("KUBERNETES_SERVICE_HOST", "fd00::1"), ("KUBERNETES_SERVICE_PORT", "443")];
    let error = connect(&json!({ "in_cluster_config": true }), &variables, &account).expect_err("there is no token");
    assert!(error.contains("token of the service account"), "{error}");
    let error = connect(&json!({ "in_cluster_config": true }), &[], &account).expect_err("it is not a pod");
    assert!(error.contains("KUBERNETES_SERVICE_HOST"), "{error}");
    directory.write("account/token", "first\n");
    // Without any kubeconfig file the pod is noticed.
    for arguments in [json!({ "in_cluster_config": true }), json!({})] {
        directory.write("account/token", "first\n");
        let connection = connect(&arguments, &variables, &account).expect("it is a pod");
        assert_eq!(used(&connection), "https://[fd00::1]/ token first");
        // The token file is replaced while the process runs and can be missing for a moment.
        directory.write("account/token", "second\n");
        assert_eq!(used(&connection), "https://[fd00::1]/ token second");
        std::fs::remove_file(account.join("token")).expect("it was written");
        assert_eq!(used(&connection), "https://[fd00::1]/ token second");
    }
    directory.write("account/token", "first\n");
    let ours =
        connect(&json!({ "in_cluster_config": true, "token": "ours" }), &variables, &account).expect("it is a pod");
    assert_eq!(used(&ours), "https://[fd00::1]/ token ours");
}
