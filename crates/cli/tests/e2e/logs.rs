//! `TF_LOG` and its relatives: what Yuba itself logs, in which form, and what is never in a log.

use serde_json::Value as Json;
use yuba_testkit::{Host, Reply, Sandbox};

use crate::sandbox;

const ONE: &str = "//- main.tf\nresource \"terraform_data\" \"a\" {}\n";

/// The lines of a log, without their times. Each begins with one.
#[track_caller]
fn lines(log: &str) -> Vec<String> {
    let without_time = |line: &str| {
        let (time, rest) = line.split_at(24.min(line.len()));
        let digits: String = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        assert_eq!(digits, "0000-00-00T00:00:00.000Z", "{line}");
        rest.trim_start_matches(' ').to_owned()
    };
    log.lines().map(without_time).collect()
}

fn logged(s: Sandbox, variables: &[(&str, &str)]) -> String {
    let s = variables.iter().fold(s, |s, (name, value)| s.env(name, value));
    let run = s.run(&["plan"]);
    assert_eq!(run.code, 0, "{run}");
    run.stderr
}

#[test]
fn levels_choose_lines() {
    assert_eq!(logged(sandbox(ONE), &[]), "");
    assert_eq!(logged(sandbox(ONE), &[("TF_LOG", "off")]), "");
    assert_eq!(logged(sandbox(ONE), &[("TF_LOG", "error"), ("TF_LOG_CORE", "trace")]), "");
    assert_eq!(logged(sandbox(ONE), &[("TF_LOG_PROVIDER", "trace")]), "", "only Yuba itself does something here");
    let info = lines(&logged(sandbox(ONE), &[("TF_LOG", "info")]));
    assert_eq!(info[0], format!("[INFO]  Yuba version: {}", env!("CARGO_PKG_VERSION")));
    assert!(info.contains(&"[INFO]  engine: plan started: mode=Normal".to_owned()), "{info:#?}");
    assert!(info.iter().all(|line| line.starts_with("[INFO]  ")), "{info:#?}");
    let debug = lines(&logged(sandbox(ONE), &[("TF_LOG_CORE", "DEBUG")]));
    assert!(
        debug.contains(&"[DEBUG] engine: plan instance started: address=terraform_data.a".to_owned()),
        "{debug:#?}"
    );
    let ended = "[DEBUG] engine: plan instance finished: address=terraform_data.a elapsed_ms=";
    assert!(debug.iter().any(|line| line.starts_with(ended)), "{debug:#?}");
    assert!(!debug.iter().any(|line| line.starts_with("[TRACE]")), "{debug:#?}");
}

#[test]
fn unknown_levels_are_reported_and_log_everything() {
    let log = logged(sandbox(ONE), &[("TF_LOG", "loud")]);
    let (first, rest) = log.split_once('\n').expect("because there are lines");
    let warning = "[WARN] Invalid log level: \"LOUD\". Defaulting to level: TRACE. Valid levels are: [TRACE DEBUG INFO WARN ERROR OFF]";
    assert_eq!(first, warning);
    assert!(lines(rest).iter().any(|line| line.starts_with("[TRACE]")), "{rest}");
}

#[test]
fn lines_can_be_json() {
    let log = logged(sandbox(ONE), &[("TF_LOG", "json")]);
    let lines: Vec<Json> = log.lines().map(|line| serde_json::from_str(line).expect("because it is JSON")).collect();
    let found = lines.iter().find(|line| line["@message"] == "plan instance started").expect("because it was planned");
    assert_eq!((&found["@level"], &found["@module"]), (&"debug".into(), &"engine".into()));
    assert_eq!(found["address"], "terraform_data.a");
    assert!(found["@timestamp"].as_str().is_some_and(|time| time.len() == 27 && time.ends_with('Z')), "{found}");
}

#[test]
fn a_file_gets_all_runs() {
    let s = sandbox(ONE).env("TF_LOG", "info").env("TF_LOG_PATH", "log.txt");
    let quiet = s.run(&["version"]);
    assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""));
    s.run(&["plan"]);
    let log = lines(&s.read("log.txt"));
    let started: Vec<&String> = log.iter().filter(|line| line.contains("command started")).collect();
    assert_eq!(started, ["[INFO]  command started: name=version", "[INFO]  command started: name=plan"]);
    let s = sandbox(ONE).env("TF_LOG_PATH", "missing/log.txt");
    assert!(s.run(&["version"]).stderr.starts_with("Error opening log file: "));
}

/// Values of variables, sensitive attributes and tokens of hosts are in no log and in no profile.
#[test]
fn secrets_are_not_logged() {
    const VALUE: &str = "marked-value";
    let fixture = r#"
//- main.tf
variable "a" {
  sensitive = true
}
variable "b" {}
resource "terraform_data" "a" {
  input = var.a
}
resource "terraform_data" "b" {
  input = { x = var.b }
}
output "c" {
  value     = terraform_data.a.output
  sensitive = true
}
"#;
    let s = sandbox(fixture).env("TF_LOG", "trace").env("TF_VAR_a", VALUE).env("TF_LOG_PATH", "log.txt");
    let given = format!("-var=b={VALUE}");
    for args in [
        &["validate"][..],
        &["plan", &given, "-out=plan", "-profile=p.json"],
        &["apply", "-profile=p.json", "plan"],
        &["destroy", "-auto-approve", &given, "-profile=p.json"],
    ] {
        let run = s.run(args);
        assert_eq!(run.code, 0, "{run}");
        assert!(!s.read("log.txt").contains(VALUE), "{args:?}");
        assert!(args == ["validate"] || !s.read("p.json").contains(VALUE), "{args:?}");
    }
    assert!(s.read("log.txt").contains("apply operation finished: address=terraform_data.a"));
}

#[test]
fn tokens_and_queries_are_not_logged() {
    const TOKEN: &str = "marked-token";
    let host = Host::start(|_| Reply::status(404));
    let registry = host.url("/modules/");
    let settings = format!(
        "host \"r.example\" {{\n  services = {{\n    \"modules.v1\" = {registry:?}\n  }}\n}}\ncredentials \"r.example\" {{\n  \
         token = {TOKEN:?}\n}}\n"
    );
    let package = host.url("/package.zip?signature=marked-signature");
    let modules =
        format!("module \"a\" {{\n  source = \"r.example/x/y/z\"\n}}\nmodule \"b\" {{\n  source = {package:?}\n}}\n");
    let s = sandbox(&format!("//- main.tf\n{modules}//- rc\n{settings}"));
    let s = s.env("TF_CLI_CONFIG_FILE", "rc").env("TF_LOG", "trace").env("TF_LOG_PATH", "log.txt");
    let run = s.run(&["init", "-profile=p.json"]);
    assert_eq!(run.code, 1, "{run}");
    let authorized = format!("Bearer {TOKEN}");
    assert!(host.asked().iter().any(|asked| asked.header("authorization") == Some(authorized.as_str())));
    assert!(host.asked().iter().any(|asked| asked.target.contains("marked-signature")), "{run}");
    for text in [s.read("log.txt"), s.read("p.json")] {
        assert!(text.contains("http request") && text.contains("/package.zip?..."), "{text}");
        assert!(!text.contains(TOKEN) && !text.contains("marked-signature"), "{text}");
    }
}
