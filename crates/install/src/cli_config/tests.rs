//! Files of the user, read together.

use std::path::Path;

use expect_test::{Expect, expect};
use yuba_testkit::Sandbox;

use super::*;

/// Reads the files of a fixture as those of a home directory; what they say, and their errors.
fn check(fixture: &str, variables: &[(&str, &str)], expect: &Expect) {
    let sandbox = Sandbox::new("", fixture);
    let home = sandbox.dir().display().to_string();
    let variables = variables.iter().map(|(name, value)| (*name, value.replace("~", &home)));
    let environment: Environment = variables.chain([("HOME", home.clone())]).collect();
    let (config, problems) = load(&environment);
    let mut text = String::new();
    if let Some(dir) = &config.plugin_cache_dir {
        text.push_str(&format!("cache {} {}\n", dir.display(), config.plugin_cache_may_break_lock_file));
    }
    for (host, services) in &config.hosts {
        text.push_str(&format!("host {host} {}\n", Json::Object(services.clone())));
    }
    for (host, HostCredentials(object)) in &config.credentials {
        text.push_str(&format!("credentials {host} {}\n", Json::Object(object.clone())));
    }
    if let Some(helper) = &config.credentials_helper {
        text.push_str(&format!("helper {} {:?}\n", helper.kind, helper.args));
    }
    if config.registry_retries.is_some() || config.registry_timeout.is_some() {
        text.push_str(&format!("registry {:?} {:?}\n", config.registry_retries, config.registry_timeout));
    }
    if let Some(installation) = &config.provider_installation {
        for (provider, path) in &installation.dev_overrides {
            text.push_str(&format!("override {provider} {}\n", path.display()));
        }
        for method in &installation.methods {
            text.push_str(&format!("{:?} +{:?} -{:?}\n", method.location, method.include, method.exclude));
        }
    }
    for known in &config.oci_credentials {
        text.push_str(&format!("oci {} {:?}\n", known.prefix, known.login));
    }
    for problem in problems.iter() {
        text.push_str(&format!("{:?}: {} / {}\n", problem.severity, problem.summary, problem.detail));
    }
    expect.assert_eq(&text.replace(&home, "~"));
}

#[test]
fn relative_paths_start_in_the_directory_of_the_process() {
    let text = "provider_installation {\n  dev_overrides { \"example.com/a/b\" = \"./builds/b\" }\n}\n";
    let sandbox = Sandbox::new("", &format!("//- .tofurc\n{text}"));
    let environment: Environment = [("HOME", sandbox.dir().display().to_string())].into_iter().collect();
    let (config, problems) = load(&environment.in_directory("/start"));
    assert!(problems.is_empty(), "{problems:?}");
    let overrides = config.provider_installation.map(|installation| installation.dev_overrides);
    let paths: Vec<PathBuf> = overrides.into_iter().flat_map(BTreeMap::into_values).collect();
    assert_eq!(paths, [Path::new("/start/builds/b")]);
}

#[test]
fn all_files_count() {
    check(
        r#"
//- .tofurc
plugin_cache_dir = "$HOME/cache"
disable_checkpoint = true
host "a.example" {
  services = { "modules.v1" = "https://b.example/" }
}
credentials "a.example" { token = "one" }
credentials_helper "vault" { args = ["-x", "y"] }
provider_installation {
  dev_overrides { "example.com/a/b" = "/dev/b" }
  filesystem_mirror {
    path    = "/mirror"
    include = ["example.com/*/*"]
  }
  direct { exclude = ["example.com/*/*"] }
}
oci_credentials "reg.example/x" {
  username = "u"
  password = "p"
}
//- .terraform.d/more.tfrc
credentials "b.example" { token = "two" }
//- .terraform.d/credentials.tfrc.json
{"credentials": {"c.example": {"token": "three"}}}
//- .terraform.d/ignored.txt
{
//- cache/.keep
"#,
        &[("TF_REGISTRY_DISCOVERY_RETRY", "7"), ("TF_REGISTRY_CLIENT_TIMEOUT", "x")],
        &expect![[r#"
            cache ~/cache false
            host a.example {"modules.v1":"https://b.example/"}
            credentials a.example {"token":"one"}
            credentials b.example {"token":"two"}
            credentials c.example {"token":"three"}
            helper vault ["-x", "y"]
            registry Some(7) None
            override example.com/a/b /dev/b
            FilesystemMirror("/mirror") +["example.com/*/*"] -[]
            Direct +[] -["example.com/*/*"]
            oci reg.example/x Basic("u", (secret))
        "#]],
    );
}

#[test]
fn the_environment_names_another_file_and_the_cache() {
    check(
        r#"
//- .tofurc
credentials "a.example" { token = "one" }
//- other.rc
credentials "b.example" { token = "two" }
//- .terraform.d/more.tfrc
credentials "c.example" { token = "three" }
"#,
        &[("TF_CLI_CONFIG_FILE", "~/other.rc"), ("TF_PLUGIN_CACHE_DIR", "~")],
        &expect![[r#"
            cache ~ false
            credentials b.example {"token":"two"}
        "#]],
    );
    check(
        "//- .terraformrc\ncredentials \"old.example\" { token = \"t\" }",
        &[],
        &expect![[r#"
        credentials old.example {"token":"t"}
    "#]],
    );
    check(
        "//- opentofu/tofurc\nhost \"x.example\" {}",
        &[("XDG_CONFIG_HOME", "~")],
        &expect![[r#"
        host x.example {}
    "#]],
    );
    check(
        "",
        &[("TF_CLI_CONFIG_FILE", "~/nowhere")],
        &expect![[r#"
            Warning: Unable to open CLI configuration file / The CLI configuration file ~/nowhere does not exist. Yuba continues without CLI configuration.
        "#]],
    );
}

#[test]
fn errors_are_reported_and_the_rest_applies() {
    check(
        r#"
//- .tofurc
plugin_cache_dir = "/nowhere/at/all"
plugin_cache_dri = "x"
credentials "not a host" { token = "t" }
credentials "a.example" { token = "one" }
host = "x"
provider_installation {
  direct {}
  dev_overrides {}
  filesystem_mirror {}
  smoke_signals {}
  oci_mirror { repository_template = "x.example/${region}" }
  oci_mirror { repository_template = "x.example/${type}" }
}
provider_installation {}
oci_credentials "r.example/X" { username = "u" }
oci_default_credentials { docker_credentials_helper = "a/b" }
//- .terraform.d/broken.tfrc
credentials "x" {
"#,
        &[],
        &expect![[r#"
            cache /nowhere/at/all false
            credentials a.example {"token":"one"}
            Direct +[] -[]
            Warning: Unknown CLI configuration setting / ~/.tofurc, at 2:1: ignoring "plugin_cache_dri", which is neither a setting nor a block.
            Error: The credentials "not a host" block has an invalid hostname: it may have letters, digits and inner dashes only / 
            Error: Error parsing ~/.tofurc: At 5:1: "host" must be a block with one label / 
            Error: Invalid provider_installation method block / The block dev_overrides at 8:3 is invalid: it must be the first block, because it takes precedence over them.
            Error: Invalid provider_installation method block / The block filesystem_mirror at 9:3 is invalid: the argument "path" is required.
            Error: Invalid provider_installation method block / The block smoke_signals at 10:3 is invalid: the installation method "smoke_signals" is not supported; the supported methods are direct, filesystem_mirror, network_mirror, oci_mirror and dev_overrides.
            Error: Invalid oci_mirror repository template / The repository_template of the block oci_mirror at 11:3 is invalid: "region" is not supported here; use "hostname", "namespace" and "type" without further expressions.
            Error: Invalid oci_mirror repository template / The repository_template of the block oci_mirror at 12:3 is invalid: it must contain "${hostname}", unless "include" selects exactly one hostname.
            Error: No more than one provider_installation block may be specified / 
            Error: Invalid oci_credentials block / The block oci_credentials at 15:1 is wrong: "X" is not the name of a repository: it may have lower-case letters, digits, and ".", "_", "-" between them.
            Error: Invalid oci_default_credentials block / The block oci_default_credentials at 16:1 is wrong: "a/b" cannot be part of the name of an executable.
            Error: Error parsing ~/.terraform.d/broken.tfrc: At 1:17: this brace is never closed / 
            Error: The specified plugin cache dir /nowhere/at/all cannot be opened: No such file or directory (os error 2) / 
        "#]],
    );
}

#[test]
fn protocols_of_registries_are_set_once_per_file() {
    check(
        r#"
//- .tofurc
registry_protocols {
  retry_count             = 3
  request_timeout_seconds = "x"
}
registry_protocols {
  retry_count = 5
}
//- .terraform.d/more.tfrc
registry_protocols {
  request_timeout_seconds = 7
}
"#,
        &[],
        &expect![[r#"
            registry Some(3) Some(7s)
            Error: Duplicate registry_protocols block / ~/.tofurc already has this block at 1:1. Yuba uses the first one.
            Error: Invalid registry_protocols block / ~/.tofurc, at 1:1: "request_timeout_seconds" needs a whole number, not a string.
        "#]],
    );
}

#[test]
fn tokens_come_from_all_sources_and_are_stored_privately() {
    use yuba_net::Secret;
    use yuba_net::credentials::{Credentials, CredentialsLocation};
    let fixture = r#"
//- .tofurc
credentials "by-hand.example" { token = "hand" }
credentials_helper "test" { args = ["--flag"] }
//- .terraform.d/credentials.tfrc.json
{"disable_checkpoint": true, "credentials": {"File.Example": {"token": "file"}}}
//- .terraform.d/plugins/terraform-credentials-test
#!/bin/sh
case "$2" in
get) [ "$3" = helped.example ] && echo '{"token": "helped '"$1"'"}' || echo '{}' ;;
store) cat > "$(dirname "$0")/stored-$3" ;;
forget) echo "cannot forget" >&2; exit 1 ;;
esac
"#;
    let sandbox = Sandbox::new("", fixture);
    let home = sandbox.dir();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let program = home.join(".terraform.d/plugins/terraform-credentials-test");
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }
    let variables = [("HOME", home.display().to_string()), ("TF_TOKEN_xn____caf__dma_example", "env".into())];
    let environment: Environment = variables.into_iter().collect();
    let (config, problems) = load(&environment);
    assert!(problems.is_empty(), "{problems:?}");
    let host = |name: &str| Hostname::parse(name).expect("it is a hostname");
    let credentials = Credentials::new(config.credential_sources(), &environment);
    let token = |name: &str| credentials.token(&host(name)).map(|token| token.reveal().to_owned());
    assert_eq!(token("by-hand.example").as_deref(), Some("hand"));
    assert_eq!(token("file.example").as_deref(), Some("file"));
    assert_eq!(token("helped.example").as_deref(), Some("helped --flag"));
    assert_eq!(token("other.example"), None);
    assert_eq!(token("café.example").as_deref(), Some("env"));
    let kept = |name: &str| credentials.location(&host(name));
    assert_eq!(
        [kept("by-hand.example"), kept("file.example"), kept("new.example")],
        [CredentialsLocation::Elsewhere, CredentialsLocation::InFile, CredentialsLocation::ByHelper]
    );
    let secret = Secret::new("s3cret");
    assert!(credentials.store(&host("by-hand.example"), Some(&secret)).is_err());
    assert_eq!(credentials.store(&host("new.example"), Some(&secret)), Ok(()));
    assert_eq!(sandbox.read(".terraform.d/plugins/stored-new.example"), r#"{"token":"s3cret"}"#);
    assert!(credentials.store(&host("new.example"), None).is_err_and(|reason| reason.contains("cannot forget")));
    assert_eq!(credentials.store(&host("file.example"), Some(&secret)), Ok(()));
    let file = sandbox.read(".terraform.d/credentials.tfrc.json");
    expect![[r#"
        {
          "credentials": {
            "file.example": {
              "token": "s3cret"
            }
          },
          "disable_checkpoint": true
        }"#]]
    .assert_eq(&file);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode =
            fs::metadata(home.join(".terraform.d/credentials.tfrc.json")).map(|m| m.permissions().mode() & 0o777);
        assert_eq!(mode.ok(), Some(0o600));
    }
    assert!(!format!("{config:?}").contains("hand\"}"), "a token is printed");
}
