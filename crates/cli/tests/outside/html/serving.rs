//! Pages that the program serves while it runs.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use yuba_testkit::Sandbox;
use yuba_testkit::servers::chromium;

use super::{planned, quiet, rows, sandbox, search, yes};

/// The command while it runs, with the address of its page.
fn serving(sandbox: &Sandbox, args: &[&str]) -> (Child, String) {
    let mut command = sandbox.command(args);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program was built");
    let mut lines = BufReader::new(child.stderr.take().expect("it is a pipe")).lines();
    let url = lines.find_map(|line| {
        let line = line.expect("it is text");
        line.split(' ').find(|word| word.starts_with("http://127.0.0.1:")).map(str::to_owned)
    });
    // The rest must be read, or the program waits.
    std::thread::spawn(move || lines.for_each(drop));
    (child, url.expect("it prints its address"))
}

pub(super) fn a_page_follows_an_apply() {
    let Some(browser) = chromium() else { return };
    let sandbox = sandbox(
        r#"
//- main.tf
resource "terraform_data" "slow" {
  input = "x"
  provisioner "local-exec" { command = "while [ ! -e go ]; do sleep 0.05; done; echo went" }
}
resource "terraform_data" "fast" { count = 3 }
output "password" {
  value     = "hunter2"
  sensitive = true
}
"#,
    );
    let (mut child, url) = serving(&sandbox, &["apply", "-auto-approve", "-ui"]);
    browser.open(&url);
    browser.wait_for("document.getElementById('run-now').innerText.includes('terraform_data.slow')");
    browser
        .wait_for("document.getElementById('run-log').innerText.includes('terraform_data.fast[2]: Creation complete')");
    browser.wait_for("document.body.dataset.ready");
    browser.run("document.getElementById('tab-changes').click()");
    assert!(rows(&browser).contains("terraform_data.slow"), "{}", rows(&browser));
    sandbox.write("go", "");
    browser.wait_for("document.getElementById('run-state').textContent.startsWith('Finished')");
    let log = browser.text("return document.getElementById('run-log').textContent");
    assert!(log.contains("went") && log.contains("Apply complete!") && !log.contains("hunter2"), "{log}");
    let status = child.wait().expect("it ends");
    assert!(status.success(), "{status}");
    // The page stays usable after the end.
    search(&browser, "fast[1]");
    assert!(rows(&browser).contains("terraform_data.fast[1]"), "{}", rows(&browser));
    let origin = url.split('/').take(3).collect::<Vec<_>>().join("/");
    let others: Vec<String> = browser.requests().into_iter().filter(|asked| !asked.starts_with(&origin)).collect();
    assert_eq!(others, Vec::<String>::new());
    quiet(&browser);
}

pub(super) fn a_page_follows_a_run_that_fails() {
    let Some(browser) = chromium() else { return };
    let sandbox = sandbox(
        r#"
//- main.tf
resource "terraform_data" "bad" {
  provisioner "local-exec" { command = "while [ ! -e go ]; do sleep 0.05; done; exit 3" }
}
"#,
    );
    let (mut child, url) = serving(&sandbox, &["apply", "-auto-approve", "-ui"]);
    browser.open(&url);
    browser.wait_for("document.getElementById('run-now')?.innerText.includes('terraform_data.bad')");
    browser.wait_for("document.getElementById('run-count').textContent === '0 of 1 operations done'");
    sandbox.write("go", "");
    browser.wait_for("document.getElementById('run-state').textContent.startsWith('Finished with errors')");
    let log = browser.text("return document.getElementById('run-log').textContent");
    assert!(log.contains("local-exec provisioner error"), "{log}");
    let marked = browser.run("return document.querySelectorAll('#run-log .log-error').length").as_u64();
    assert!(marked.is_some_and(|count| count > 0), "errors are marked: {log}");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(1));
    quiet(&browser);
}

pub(super) fn a_page_without_a_plan_plans() {
    let Some(browser) = chromium() else { return };
    let sandbox = planned();
    let (mut child, url) = serving(&sandbox, &["ui", "-var=step=2"]);
    browser.open(&url);
    browser.wait_for("document.body.dataset.ready");
    browser.run("document.getElementById('tab-changes').click()");
    assert!(rows(&browser).contains("terraform_data.gone[0]"), "{}", rows(&browser));
    assert!(child.try_wait().expect("it is ours").is_none(), "the page stays");
    yes(&sandbox.shell(&["sh", "-c"], &format!("kill -INT {}", child.id())));
    let status = child.wait().expect("it ends");
    assert!(status.success(), "{status}");
    quiet(&browser);
}

pub(super) fn a_saved_plan_is_served() {
    let Some(browser) = chromium() else { return };
    let sandbox = planned();
    let (mut child, url) = serving(&sandbox, &["ui", "p.tfplan"]);
    browser.open(&url);
    browser.wait_for("document.body.dataset.ready");
    assert!(rows(&browser).contains("terraform_data.gone[0]"), "{}", rows(&browser));
    assert_eq!(browser.run("return document.getElementById('tab-run').hidden"), true);
    assert!(child.try_wait().expect("it is ours").is_none(), "the page stays");
    let pid = child.id().to_string();
    yes(&sandbox.shell(&["sh", "-c"], &format!("kill -INT {pid}")));
    let status = child.wait().expect("it ends");
    assert!(status.success(), "{status}");
    quiet(&browser);
}
