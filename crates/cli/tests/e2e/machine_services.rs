//! Programs that tests start do not ask the metadata service of the machine: it could give them credentials.

use yuba_testkit::{NO_METADATA, Sandbox};

use crate::sandbox;

/// Hosts of the requests in a debug log.
fn hosts(log: &str) -> Vec<String> {
    let urls = log.lines().filter_map(|line| line.split_once("HTTP request: ")?.1.split_once("://"));
    urls.map(|(_, rest)| rest.split(['/', ' ']).next().unwrap_or_default().to_owned()).collect()
}

/// `init` with a backend whose only possible credentials are those of the machine.
#[track_caller]
fn check(backend: &str, variables: &[(&str, &str)]) {
    let fixture = format!("//- main.tf\nterraform {{\n  backend {backend}\n}}\n");
    let s = sandbox(&fixture).env("TF_LOG", "debug");
    let s = variables.iter().fold(s, |s, (name, value)| s.env(name, value));
    let run = s.run(&["init", "-input=false"]);
    assert_eq!(run.code, 1, "{run}");
    let hosts = hosts(&run.stderr);
    assert!(!hosts.is_empty(), "the service of the machine is asked: {run}");
    assert!(hosts.iter().all(|host| host == "127.0.0.1:1"), "{hosts:?}: {run}");
}

#[test]
fn metadata_services_are_replaced_by_an_address_without_a_server() {
    let s3 = "\"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n    region = \"us-east-1\"\n    skip_metadata_api_check = false\n  }";
    check(s3, &[]);
    check("\"gcs\" {\n    bucket = \"b\"\n  }", &[]);
    let azurerm = "\"azurerm\" {\n    storage_account_name = \"aaa\"\n    container_name = \"ccc\"\n    key = \"k\"\n    use_msi = true\n    \
                   use_cli = false\n    use_azuread_auth = true\n    tenant_id = \"00000000-0000-0000-0000-000000000000\"\n  }";
    check(azurerm, &[]);
}

#[test]
fn every_process_of_a_sandbox_has_the_variables() {
    let s = Sandbox::new("env", "");
    let direct = s.run(&[]).stdout;
    let of_other = s.command_of("env", &[]).output().expect("because env is installed").stdout;
    let of_shell = s.shell(&["sh", "-c"], "env").stdout;
    for (name, value) in NO_METADATA {
        let line = format!("{name}={value}");
        for output in [direct.as_str(), &String::from_utf8_lossy(&of_other), &of_shell] {
            assert!(output.lines().any(|one| one == line), "{line} is not in {output}");
        }
    }
}
