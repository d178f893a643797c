//! A page with 10,000 changes: its size, and the time that it takes.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use yuba_testkit::Sandbox;
use yuba_testkit::servers::chromium;

use super::{found, page, quiet, sandbox, search, yes};

/// The best of several attempts in milliseconds: another process may delay some of them.
fn best(attempts: u32, mut run: impl FnMut() -> f64) -> f64 {
    (0..attempts).map(|_| run()).fold(f64::INFINITY, f64::min)
}

/// A plan of 10,000 changes: creations, updates in strings of several lines and in maps, replacements and removals.
fn large() -> Sandbox {
    let sandbox = sandbox(
        r##"
//- main.tf
variable "step" { default = 1 }
resource "terraform_data" "changed" {
  count = 6000
  input = {
    name = "server-${count.index}"
    size = count.index % 7
    text = "#!/bin/sh\necho ${count.index}\n# step ${var.step}\nexit 0\n"
    tags = { team = "t${count.index % 5}", step = "${var.step}" }
  }
}
resource "terraform_data" "replaced" {
  count            = 2000
  triggers_replace = { step = var.step, at = count.index }
  input            = "machine ${count.index}"
}
resource "terraform_data" "gone" { count = var.step == 1 ? 1000 : 0 }
resource "terraform_data" "new" {
  count = var.step == 1 ? 0 : 1000
  input = { name = "new-${count.index}", text = "a\nb\n${count.index}" }
}
"##,
    );
    yes(&sandbox.run(&["apply", "-auto-approve", "-concise"]));
    yes(&sandbox.run(&["plan", "-var=step=2", "-out=p.tfplan", "-concise"]));
    sandbox
}

/// The cpu time of a command in seconds, the best of three.
fn cpu(sandbox: &Sandbox, args: &str) -> f64 {
    best(3, || {
        let run = sandbox.shell(&["sh", "-c"], &format!("{} {args} > out.txt && times", env!("CARGO_BIN_EXE_yuba")));
        yes(&run);
        // The second line has the times of child processes: 0m1.25s 0m0.10s
        let line = run.stdout.lines().nth(1).unwrap_or_default();
        let seconds = |word: &str| {
            let (minutes, seconds) = word.trim_end_matches('s').split_once('m').expect("it has minutes");
            minutes.parse::<f64>().unwrap_or_default() * 60.0 + seconds.parse::<f64>().expect("it is a number")
        };
        line.split_whitespace().map(seconds).sum()
    })
}

pub(super) fn ten_thousand_changes() {
    let Some(browser) = chromium() else { return };
    let sandbox = large();
    let (html, document) = (cpu(&sandbox, "show -html=report.html p.tfplan"), cpu(&sandbox, "show -json p.tfplan"));
    assert!(html <= document * 3.0, "{html} s of cpu for HTML, {document} s for JSON");
    page(&sandbox, &browser, &["p.tfplan"]);
    let json = sandbox.run(&["show", "-json", "p.tfplan"]).stdout;
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(json.as_bytes()).expect("memory takes everything");
    let stored = encoder.finish().expect("memory takes everything").len() * 4 / 3;
    let size = std::fs::metadata(sandbox.dir().join("report.html")).expect("it is written").len() as usize;
    assert!(size * 2 <= stored * 3, "{size} bytes of HTML, {stored} bytes of plan");
    let wall = best(5, || {
        browser.run("location.reload()");
        browser.wait_for("document.body.dataset.ready");
        browser.run("return performance.getEntriesByName('shown')[0].startTime").as_f64().unwrap_or(f64::INFINITY)
    });
    assert!(wall < 1000.0, "first view after {wall} ms");
    let timed = "const s = document.getElementById('search'); const t = performance.now(); s.value = arguments[0]; \
                 s.dispatchEvent(new Event('input')); document.body.offsetHeight; return performance.now() - t";
    let mut times = vec![format!(
        "first view {wall:.0} ms; {size} bytes, plan {stored} bytes; cpu {html:.2} s, JSON {document:.2} s"
    )];
    // The first filter comes before the page has indexed anything.
    let never = serde_json::json!({ "source": "window.requestIdleCallback = () => {}" });
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", &never);
    let cold = best(5, || {
        browser.run("location.reload()");
        browser.wait_for("document.body.dataset.ready");
        browser.run_with(timed, &["server-77"]).as_f64().unwrap_or(f64::INFINITY)
    });
    assert_eq!(found(&browser), "11 of 10,000 changes");
    assert!(cold < 100.0, "the first filter takes {cold} ms");
    times.push(format!("first filter {cold:.0} ms"));
    for (query, expected) in [
        ("server-77", "11 of 10,000 changes"),
        ("attr:tags.step", "6,000 of 10,000 changes"),
        ("action:create -new", "0 of 10,000 changes"),
        ("terraform_data.changed[5999]", "1 of 10,000 changes"),
        ("action:destroy", "1,000 of 10,000 changes in 1 row"),
    ] {
        let mut wall = f64::INFINITY;
        let time = best(5, || {
            search(&browser, "");
            let before = browser.worked();
            wall = browser.run_with(timed, &[query]).as_f64().unwrap_or_default().min(wall);
            browser.worked() - before
        });
        assert_eq!(found(&browser), expected, "{query}");
        assert!(time < 100.0 && wall < 100.0, "{query}: {time} ms of work, {wall} ms");
        times.push(format!("{query}: {time:.0} ms of work, {wall:.0} ms"));
    }
    // Only rows near the visible part have elements, also after a jump to the last one.
    search(&browser, "");
    browser.run("location.hash = '#terraform_data.changed[5998]'");
    browser.wait_for("document.querySelector('.target')");
    let visible =
        "const r = document.querySelector('.target').getBoundingClientRect(); return r.top >= 0 && r.top < innerHeight";
    browser.wait_for(&format!("(() => {{ {visible} }})()"));
    let elements = browser.run("return document.querySelectorAll('#list .item').length").as_u64();
    assert!(elements.is_some_and(|count| count < 1500), "{elements:?}");
    if std::env::var_os("YUBA_TIMES").is_some() {
        eprintln!("{}", times.join("\n"));
    }
    quiet(&browser);
}
