//! Output of providers on their standard streams goes to the log, with its level, and nowhere else.

use crate::{apply, nothing_left, ok, sandbox};

const ONE: &str = "//- main.tf\nresource \"testing_thing\" \"a\" {\n  name = \"a\"\n}\n";

#[test]
fn lines_of_providers_have_levels() {
    let s = sandbox(6, ONE).env("TESTING_LOG", "1");
    let quiet = ok(&s, &["plan"]);
    assert!(!quiet.to_string().contains("chatter"), "{quiet}");

    let log = |s: yuba_testkit::Sandbox, name: &str, level: &str| {
        let s = s.env(name, level);
        let run = ok(&s, &["plan"]);
        let lines: Vec<String> =
            run.stderr.lines().filter(|line| line.contains("chatter")).map(str::to_owned).collect();
        (s, lines)
    };
    let (s, lines) = log(s, "TF_LOG_PROVIDER", "WARN");
    let has = |lines: &[String], level: &str, text: &str| {
        lines.iter().any(|line| line.contains(&format!("[{level}]")) && line.contains(text))
    };
    assert!(has(&lines, "WARN", "chatter at warn") && has(&lines, "ERROR", "chatter at error"), "{lines:#?}");
    assert!(has(&lines, "WARN", "chatter with a level in brackets"), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.contains("chatter at info")), "{lines:#?}");

    let (s, lines) = log(s, "TF_LOG_PROVIDER", "TRACE");
    assert!(has(&lines, "TRACE", "chatter at trace") && has(&lines, "DEBUG", "chatter without a level"), "{lines:#?}");

    let s = s.env("TF_LOG_PATH", "log.txt");
    let run = apply(&s);
    assert!(!run.to_string().contains("chatter"), "{run}");
    assert!(s.read("log.txt").contains("chatter at warn"));
    nothing_left(&s);
}

#[test]
fn it_works_without_certificates_too() {
    let s = sandbox(6, ONE).env("TF_DISABLE_PLUGIN_TLS", "1");
    apply(&s);
    nothing_left(&s);
}
