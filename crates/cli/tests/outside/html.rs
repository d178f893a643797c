//! The HTML report in a real browser: `show -html` and the page of `-ui`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Stdio};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use yuba_testkit::servers::{Browser, ColorScheme, chromium};
use yuba_testkit::{Run, Sandbox};

/// Tests by name.
pub(crate) fn all() -> Vec<(&'static str, fn())> {
    vec![
        ("opens, filters and follows permalinks", opens_filters_and_follows_permalinks),
        ("10,000 changes appear and filter at once", ten_thousand_changes),
        ("what is destroyed is on the first screen", destroys_are_on_the_first_screen),
        ("keyboard and screen readers", keyboard_and_screen_readers),
        ("light, dark, narrow and on paper", light_dark_narrow_and_on_paper),
        ("hostile texts stay texts, and nothing leaves the page", hostile_texts_stay_texts),
        ("no secret is in the file", no_secret_is_in_the_file),
        ("graph leads to the diff", graph_leads_to_the_diff),
        ("a state", a_state),
        ("a state with its configuration", a_state_with_its_configuration),
        ("deposed objects and warnings", deposed_objects_and_warnings),
        ("graph with other distances, open modules and zoom", graph_with_distances_and_zoom),
        ("on paper", on_paper),
        ("a page follows an apply", a_page_follows_an_apply),
        ("a page follows a run that fails", a_page_follows_a_run_that_fails),
        ("a page without a plan plans", a_page_without_a_plan_plans),
        ("a saved plan is served until the user stops", a_saved_plan_is_served),
    ]
}

fn yes(run: &Run) {
    assert_eq!(run.code, 0, "{run}");
}

/// The page of a plan or a state, opened and complete.
fn page(sandbox: &Sandbox, browser: &Browser, args: &[&str]) {
    yes(&sandbox.run(&[&["show", "-html=report.html"], args].concat()));
    browser.requests();
    browser.open_file(&sandbox.dir().join("report.html"));
    browser.wait_for("document.body.dataset.ready");
}

fn sandbox(fixture: &str) -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_yuba"), fixture)
}

/// A plan with each action, in modules.
fn planned() -> Sandbox {
    let sandbox = sandbox(
        r#"
//- main.tf
variable "step" {
  default = 1
  type    = number
}
locals { two = var.step == 2 }
resource "terraform_data" "kept" { input = "same" }
resource "terraform_data" "updated" {
  count = 12
  input = local.two ? { text = "a\nnew\nc", list = [1, 3] } : { text = "a\nold\nc", list = [1, 2] }
}
resource "terraform_data" "replaced" {
  input            = terraform_data.kept.id
  triggers_replace = var.step
}
resource "terraform_data" "gone" { count = local.two ? 0 : 1 }
resource "terraform_data" "new" { count = local.two ? 1 : 0 }
resource "terraform_data" "before" { count = local.two ? 0 : 1 }
module "app" {
  source   = "./app"
  for_each = toset(["web", "api"])
  value    = terraform_data.replaced.id
  step     = var.step
}
output "url" { value = "step ${var.step}" }
output "password" {
  value     = "hunter2-${var.step}"
  sensitive = true
}
check "small" {
  assert {
    condition     = var.step < 2
    error_message = "The step is not small."
  }
}
//- app/main.tf
variable "value" {}
variable "step" {}
resource "terraform_data" "in" { input = { value = var.value, step = var.step } }
"#,
    );
    yes(&sandbox.run(&["apply", "-auto-approve"]));
    let text = sandbox.read("main.tf");
    let moved = "moved {\n  from = terraform_data.before[0]\n  to = terraform_data.after\n}\nresource \"terraform_data\" \"after\" {}\n";
    sandbox.write(
        "main.tf",
        text.replace("resource \"terraform_data\" \"before\" { count = local.two ? 0 : 1 }\n", moved),
    );
    yes(&sandbox.run(&["plan", "-var=step=2", "-out=p.tfplan"]));
    sandbox
}

fn found(browser: &Browser) -> String {
    browser.text("return document.getElementById('found').textContent")
}

fn search(browser: &Browser, text: &str) {
    let script =
        "const s = document.getElementById('search'); s.value = arguments[0]; s.dispatchEvent(new Event('input'));";
    browser.run_with(script, &[text]);
}

/// Addresses of the rows, with their number where identical diffs are one row.
fn rows(browser: &Browser) -> String {
    browser.text("return [...document.querySelectorAll('#list .toggle .address')].map(e => e.textContent).join('\\n')")
}

fn quiet(browser: &Browser) {
    assert_eq!(browser.console(), Vec::<String>::new());
}

fn opens_filters_and_follows_permalinks() {
    let Some(browser) = chromium() else { return };
    let sandbox = planned();
    page(&sandbox, &browser, &["p.tfplan"]);
    assert_eq!(
        browser.text("return document.querySelector('.sentence').textContent"),
        "2 to add, 14 to change, 2 to destroy."
    );
    let risk = browser.text("return document.querySelector('.risk').innerText");
    for part in ["terraform_data.gone[0]", "terraform_data.replaced", "triggers_replace forces the replacement"] {
        assert!(risk.contains(part), "{part}: {risk}");
    }
    // What removes objects comes first, identical diffs are one row.
    let all = rows(&browser);
    let lines: Vec<&str> = all.lines().collect();
    assert_eq!(lines[..2], ["terraform_data.gone[0]", "terraform_data.replaced"], "{all}");
    assert!(all.contains("terraform_data × 12"), "{all}");
    for (query, addresses) in [
        ("action:destroy", "terraform_data.gone[0]"),
        ("attr:triggers_replace", "terraform_data.replaced"),
        ("module:module.app[\"web\"]", "module.app[\"web\"].terraform_data.in"),
        ("is:moved", "terraform_data.after"),
        ("type:terraform -action:update -action:create -is:moved -action:replace", "terraform_data.gone[0]"),
        ("gone", "terraform_data.gone[0]"),
    ] {
        search(&browser, query);
        assert_eq!(rows(&browser), addresses, "{query}");
    }
    search(&browser, "nothing has this text");
    assert_eq!(found(&browser), "0 of 18 changes");
    assert_eq!(browser.run("return document.getElementById('empty').hidden"), false);
    browser.run("document.getElementById('clear').click()");
    assert!(found(&browser).starts_with("18 changes"), "{}", found(&browser));
    browser.run("[...document.querySelectorAll('.facet')].find(e => e.textContent.includes('Replace')).click()");
    assert_eq!(rows(&browser), "terraform_data.replaced");
    assert_eq!(browser.text("return location.hash"), "#?action=replace");
    // A permalink to a row that the filter hides, with a key in quotes.
    browser.run("location.hash = '#' + encodeURIComponent('module.app[\"web\"].terraform_data.in')");
    browser.wait_for("document.querySelector('.target')");
    let target = browser.text("return document.querySelector('.target').innerText");
    assert!(target.contains("module.app[\"web\"].terraform_data.in") && target.contains("step = 1 → 2"), "{target}");
    // A permalink to a member of a group opens the group.
    browser.run("location.hash = '#terraform_data.updated[7]'");
    browser.wait_for("document.querySelector('.target .times')");
    let target = browser.text("return document.querySelector('.target').innerText");
    assert!(target.contains("terraform_data.updated[11]"), "{target}");
    let lines = "return [...document.querySelectorAll('.target .text .line')].map(e => e.textContent.trim()).join('|')";
    assert_eq!(browser.text(lines), "a|-removed old|+added new|c");
    // Filters in the address of the page.
    let file = sandbox.dir().join("report.html");
    browser.open("about:blank");
    browser.open(&format!("file://{}#?action=destroy&q=gone", file.display()));
    browser.wait_for("document.body.dataset.ready");
    assert_eq!(rows(&browser), "terraform_data.gone[0]");
    quiet(&browser);
}

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

fn ten_thousand_changes() {
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
    let shown = best(3, || {
        let before = browser.worked();
        browser.run("location.reload()");
        browser.wait_for("document.body.dataset.ready");
        browser.worked() - before
    });
    assert!(shown < 1000.0, "first view after {shown} ms of work");
    let timed = "const s = document.getElementById('search'); const t = performance.now(); s.value = arguments[0]; \
                 s.dispatchEvent(new Event('input')); document.body.offsetHeight; return performance.now() - t";
    let mut times = vec![format!(
        "first view {shown:.0} ms of work, {wall:.0} ms; {size} bytes, plan {stored} bytes; cpu {html:.2} s, JSON {document:.2} s"
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

fn destroys_are_on_the_first_screen() {
    let Some(browser) = chromium() else { return };
    let sandbox = sandbox(
        r#"
//- main.tf
variable "after" { default = false }
resource "terraform_data" "many" { count = var.after ? 5000 : 0 }
resource "terraform_data" "zz_gone" { count = var.after ? 0 : 3 }
"#,
    );
    yes(&sandbox.run(&["apply", "-auto-approve"]));
    yes(&sandbox.run(&["plan", "-var=after=true", "-out=p.tfplan"]));
    page(&sandbox, &browser, &["p.tfplan"]);
    for (width, height) in [(1400, 1000), (1024, 700), (400, 800)] {
        browser.resize(width, height);
        let script = "return JSON.stringify([...document.querySelectorAll('.risk a')].map(e => [e.textContent, \
                      e.getBoundingClientRect().bottom < innerHeight]))";
        let expected: Vec<String> = (0..3).map(|at| format!("[\"terraform_data.zz_gone[{at}]\",true]")).collect();
        assert_eq!(browser.text(script), format!("[{}]", expected.join(",")), "{width} x {height}");
    }
    quiet(&browser);
}

fn keyboard_and_screen_readers() {
    let Some(browser) = chromium() else { return };
    page(&planned(), &browser, &["p.tfplan"]);
    let focus = || browser.text("return document.activeElement.innerText || document.activeElement.id");
    browser.press(&["Tab", "Enter"]);
    assert_eq!(browser.text("return document.activeElement.id"), "search", "the first stop skips to the list");
    browser.press(&["r", "e", "p", "l", "Tab"]);
    assert_eq!(rows(&browser), "terraform_data.replaced");
    browser.press(&["/"]);
    browser.press(&["Escape"]);
    assert!(found(&browser).starts_with("18 changes"), "{}", found(&browser));
    browser.press(&["j"]);
    assert!(focus().contains("terraform_data.gone[0]"), "{}", focus());
    browser.press(&["j", "Right"]);
    assert_eq!(browser.text("return document.activeElement.getAttribute('aria-expanded')"), "true");
    assert!(focus().contains("terraform_data.replaced"), "{}", focus());
    browser.press(&["Left", "k", "Enter"]);
    assert!(focus().contains("terraform_data.gone[0]"), "{}", focus());
    assert_eq!(browser.text("return document.activeElement.getAttribute('aria-expanded')"), "true");
    browser.press(&["?"]);
    assert_eq!(browser.run("return document.getElementById('help').open"), true);
    browser.press(&["Escape"]);
    browser.run("document.getElementById('tab-changes').focus()");
    browser.press(&["Right"]);
    assert_eq!(browser.text("return document.activeElement.id"), "tab-outputs");
    assert_eq!(browser.run("return document.getElementById('panel-outputs').hidden"), false);
    let tree = browser.devtools("Accessibility.getFullAXTree", &serde_json::json!({}));
    let names: Vec<String> = tree["nodes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|node| node["ignored"] == false && node["role"]["value"] == "button")
        .map(|node| node["name"]["value"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert!(!names.is_empty() && names.iter().all(|name| !name.trim().is_empty()), "each button has a name: {names:?}");
    assert!(names.iter().any(|name| name.contains("Destroy")), "signs have words: {names:?}");
    quiet(&browser);
}

fn light_dark_narrow_and_on_paper() {
    let Some(browser) = chromium() else { return };
    page(&planned(), &browser, &["p.tfplan"]);
    let ground = || browser.text("return getComputedStyle(document.body).backgroundColor");
    browser.prefer(ColorScheme::Light);
    assert_eq!(ground(), "rgb(251, 251, 250)");
    browser.prefer(ColorScheme::Dark);
    assert_eq!(ground(), "rgb(20, 23, 26)");
    browser.run("document.getElementById('theme').click()");
    assert_eq!(ground(), "rgb(251, 251, 250)", "the button overrides the system");
    let overflow = "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
    for width in [320, 400, 700, 1400] {
        browser.resize(width, 900);
        browser.run("document.querySelectorAll('#list .toggle[aria-expanded=false]').forEach(e => e.click())");
        assert_eq!(browser.run(overflow), 0, "{width} pixels");
    }
    let printed = "dispatchEvent(new Event('beforeprint')); \
                   const found = ['changes', 'outputs', 'checks'].map(name => !document.getElementById('panel-' + name).hidden); \
                   const open = document.querySelectorAll('#list .diff').length; \
                   dispatchEvent(new Event('afterprint')); return JSON.stringify([found, open > 4])";
    browser.run("document.getElementById('close-all').click()");
    assert_eq!(browser.text(printed), "[[true,true,true],true]");
    assert_eq!(browser.run("return document.getElementById('panel-outputs').hidden"), true);
    assert_eq!(browser.run("return document.querySelectorAll('#list .diff').length"), 0);
    quiet(&browser);
}

fn hostile_texts_stay_texts() {
    let Some(browser) = chromium() else { return };
    let sandbox = sandbox(
        r#"
//- main.tf
locals { evil = "</script><script>window.hacked=1</script><img src='http://127.0.0.1:1/x' onerror='window.hacked=1'>" }
resource "terraform_data" "a" {
  for_each = toset(["<img src=x onerror=window.hacked=1>", "javascript:alert(1)", "module.x \" y", "%00%zz", "a\u202eb"])
  input    = { (each.key) = local.evil, lines = "${local.evil}\n<b>bold</b>", json = jsonencode({ x = local.evil }) }
}
output "o" { value = local.evil }
"#,
    );
    yes(&sandbox.run(&["plan", "-out=p.tfplan"]));
    page(&sandbox, &browser, &["p.tfplan"]);
    browser.run("document.getElementById('open-all').click()");
    for tab in ["outputs", "graph", "changes"] {
        browser.run_with("document.getElementById('tab-' + arguments[0]).click()", &[tab]);
    }
    let links = "const all = [...document.querySelectorAll('#list .tool[href]')]; all.forEach(a => a.click()); return all.length";
    assert_eq!(browser.run(links), 5);
    assert_eq!(browser.run("return window.hacked === undefined"), true);
    assert_eq!(browser.run("return document.querySelectorAll('img, main b:not(.address b), main script').length"), 0);
    let text = browser.text("return document.getElementById('list').innerText");
    assert!(text.contains("<b>bold</b>") && text.contains("</script><script>window.hacked=1</script>"), "{text}");
    let file = format!("file://{}", sandbox.dir().join("report.html").display());
    let requests: Vec<String> =
        browser.requests().into_iter().filter(|url| url.split('#').next() != Some(&file)).collect();
    assert_eq!(requests, Vec::<String>::new());
    // The policy of the page stops what a script would try.
    let refused =
        browser.run_async("try { await fetch('http://127.0.0.1:1/'); return 'sent' } catch { return 'refused' }");
    assert_eq!(refused, "refused");
    let markup = browser
        .run("try { document.createElement('p').innerHTML = '<b>x</b>'; return 'set' } catch { return 'refused' }");
    assert_eq!(markup, "refused");
}

/// The text that a page holds: the file, and the report in it.
fn content(browser: &Browser) -> String {
    let script = "const block = document.getElementById('report'); \
                  if (block.dataset.form !== 'deflate') return block.textContent; \
                  const bytes = Uint8Array.from(atob(block.textContent), letter => letter.charCodeAt(0)); \
                  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))).text()";
    browser.run_async(script).as_str().expect("it is text").to_owned()
}

/// Random numbers from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    /// A secret of letters that nothing else has, so that single letters are found.
    fn secret(&mut self, length: u64) -> String {
        (0..length).filter_map(|_| char::from_u32('а' as u32 + self.below(32) as u32)).collect()
    }
}

/// Whether a text has a letter of a secret.
fn has_secret(text: &str) -> bool {
    text.contains("\\u04") || text.chars().any(|c| ('а'..='я').contains(&c))
}

/// Secrets of 1 to 40 letters from a seed at many positions: variables, outputs, parts of objects, keys of maps, elements of sets, lines,
/// JSON.
fn no_secret_is_in_the_file() {
    let Some(browser) = chromium() else { return };
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for filler in [0, 0, 0, 400] {
        // Short ones in each round: they are found by other rules than long ones.
        let mut secrets = (0_u64..).map(|at| random_secret(&mut random, at));
        let mut next = || secrets.next().expect("there is always another one");
        let sandbox = sandbox(&format!(
            r#"
//- main.tf
variable "v" {{
  default   = "{a}"
  sensitive = true
}}
variable "step" {{ default = 1 }}
locals {{
  whole = sensitive({{ a = "{b}", b = ["{c}"] }})
  part  = {{ open = "plain", closed = sensitive("{d}") }}
  key   = sensitive("{e}")
}}
resource "terraform_data" "one" {{ input = var.v }}
resource "terraform_data" "two" {{ input = local.whole }}
resource "terraform_data" "three" {{ input = local.part }}
resource "terraform_data" "four" {{ input = {{ (nonsensitive("open")) = "x-${{local.key}}\nline" }} }}
resource "terraform_data" "five" {{ input = jsonencode({{ k = sensitive("{f}") }}) }}
resource "terraform_data" "six" {{ input = toset([sensitive("{g}"), "open"]) }}
resource "terraform_data" "seven" {{ triggers_replace = "${{var.v}}-${{var.step}}" }}
resource "terraform_data" "filler" {{ count = {filler} }}
check "told" {{
  assert {{
    condition     = var.v == "other"
    error_message = "The value is ${{var.v}}."
  }}
}}
output "o" {{
  value     = "{h}"
  sensitive = true
}}
"#,
            a = next(),
            b = next(),
            c = next(),
            d = next(),
            e = next(),
            f = next(),
            g = next(),
            h = next(),
        ));
        let value = format!("-var=v={}", next());
        yes(&sandbox.run(&["plan", "-out=create.tfplan"]));
        yes(&sandbox.run(&["apply", "create.tfplan"]));
        yes(&sandbox.run(&["plan", "-var=step=2", &value, "-out=update.tfplan"]));
        yes(&sandbox.run(&["plan", "-destroy", "-out=destroy.tfplan"]));
        for shown in [&["create.tfplan"][..], &["update.tfplan"], &["destroy.tfplan"], &[]] {
            page(&sandbox, &browser, shown);
            let content = content(&browser);
            assert!(content.contains("terraform_data.three"), "the report has its objects");
            assert!(!has_secret(&content), "{shown:?}: {content}");
            assert!(!has_secret(&sandbox.read("report.html")), "{shown:?}");
        }
    }
    quiet(&browser);
}

/// A secret: every other one has at most five letters.
fn random_secret(random: &mut Random, at: u64) -> String {
    let longest = if at.is_multiple_of(2) { 5 } else { 40 };
    let length = 1 + random.below(longest);
    random.secret(length)
}

fn graph_leads_to_the_diff() {
    let Some(browser) = chromium() else { return };
    page(&planned(), &browser, &["p.tfplan"]);
    browser.press(&["g"]);
    assert_eq!(browser.run("return document.getElementById('panel-graph').hidden"), false);
    let labels = || {
        browser.text("return [...document.querySelectorAll('.node > text:last-child')].map(e => e.textContent).sort().join('\\n')")
    };
    let all = labels();
    for label in ["terraform_data.updated × 12", "terraform_data.replaced", "module.app.terraform_data.in × 2"] {
        assert!(all.lines().any(|line| line == label), "{label}: {all}");
    }
    browser.run("document.getElementById('collapse').click()");
    assert!(labels().lines().any(|line| line == "module.app (1)"), "{}", labels());
    // Dependencies are on the left.
    let x = |name: &str| {
        let script = "return [...document.querySelectorAll('.node')].find(e => e.querySelector('title').textContent === arguments[0]).getBoundingClientRect().x";
        browser.run_with(script, &[name]).as_f64().expect("it is a number")
    };
    assert!(x("terraform_data.replaced") < x("module.app"));
    browser.run_with(
        "const s = document.getElementById('graph-search'); s.value = arguments[0]; s.focus()",
        &["app.terraform_data"],
    );
    browser.press(&["Enter"]);
    browser.wait_for("document.querySelector('.node.picked')");
    let inspector = browser.text("return document.getElementById('inspector').innerText");
    assert!(inspector.contains("module.app[\"api\"].terraform_data.in"), "{inspector}");
    assert!(inspector.contains("terraform_data.replaced"), "{inspector}");
    browser.run("[...document.querySelectorAll('#inspector a')].find(e => e.textContent.includes('api')).click()");
    browser.wait_for("document.querySelector('.target')");
    assert_eq!(browser.run("return document.getElementById('panel-changes').hidden"), false);
    // From a row to its node.
    browser.run("location.hash = '#terraform_data.replaced'");
    browser.wait_for("document.querySelector('.target').innerText.includes('terraform_data.replaced')");
    browser.run("[...document.querySelectorAll('.target .tool')].find(e => e.textContent.includes('Graph')).click()");
    browser.wait_for("document.querySelector('.node.picked')");
    quiet(&browser);
}

fn a_state() {
    let Some(browser) = chromium() else { return };
    let sandbox = planned();
    page(&sandbox, &browser, &[]);
    assert_eq!(browser.text("return document.getElementById('title').textContent"), "State");
    search(&browser, "module.app[\"api\"]");
    assert_eq!(rows(&browser), "module.app[\"api\"].terraform_data.in");
    browser.run("document.querySelector('#list .toggle').click()");
    let body = browser.text("return document.querySelector('#list .body').innerText");
    assert!(body.contains("step = 1"), "{body}");
    browser.run("document.getElementById('tab-outputs').click()");
    let outputs = browser.text("return document.getElementById('panel-outputs').innerText");
    assert!(
        outputs.contains("step 1") && outputs.contains("(sensitive value)") && !outputs.contains("hunter2"),
        "{outputs}"
    );
    quiet(&browser);
}

fn a_state_with_its_configuration() {
    let Some(browser) = chromium() else { return };
    let sandbox = sandbox(
        r#"
//- main.tf
provider "terraform" {
  alias    = "by"
  for_each = toset(["eu", "us"])
}
resource "terraform_data" "site" {
  for_each = toset(["eu", "us"])
  provider = terraform.by[each.key]
}
resource "terraform_data" "plain" {}
resource "terraform_data" "off" {
  lifecycle { enabled = false }
}
module "old" {
  source = "./old"
}
module "none" {
  source = "./old"
  lifecycle { enabled = false }
}
resource "terraform_data" "user" { input = module.old.name }
//- old/main.tf
output "name" {
  value      = "x"
  deprecated = "Use other."
}
"#,
    );
    yes(&sandbox.run(&["apply", "-auto-approve"]));
    page(&sandbox, &browser, &[]);
    let text = |id: &str| browser.run_with("return document.getElementById(arguments[0]).innerText", &[id]).to_string();
    browser.run("document.getElementById('tab-disabled').click()");
    let disabled = text("panel-disabled");
    for part in ["terraform_data.off", "module.none", "main.tf:11", "main.tf:18"] {
        assert!(disabled.contains(part), "{part}: {disabled}");
    }
    browser.run("document.getElementById('tab-warnings').click()");
    let warnings = text("panel-warnings");
    for part in ["deprecated: module.old.name", "Use other.", "main.tf:20"] {
        assert!(warnings.contains(part), "{part}: {warnings}");
    }
    browser.run("document.getElementById('tab-changes').click()");
    browser.run(
        "[...document.querySelectorAll('.facet')].find(e => e.textContent.startsWith('terraform.by[us]')).click()",
    );
    assert_eq!(rows(&browser), "terraform_data.site[\"us\"]");
    assert!(browser.text("return location.hash").contains("provider="), "the filter is part of the address");
    browser.run("document.getElementById('clear').click()");
    search(&browser, "provider:by[eu]");
    assert_eq!(rows(&browser), "terraform_data.site[\"eu\"]");
    let tags = browser.text("return document.querySelector('#list .tags').innerText");
    assert!(tags.contains("provider [\"eu\"]"), "{tags}");
    // A state file does not belong to the configuration of the directory.
    page(&sandbox, &browser, &["terraform.tfstate"]);
    assert_eq!(browser.run("return document.getElementById('tab-disabled').hidden"), true);
    quiet(&browser);
}

fn deposed_objects_and_warnings() {
    let Some(browser) = chromium() else { return };
    let sandbox = sandbox(
        r#"
//- main.tf
variable "step" { default = 1 }
resource "terraform_data" "a" {
  input = "step ${var.step}"
}
module "old" { source = "./old" }
output "o" { value = module.old.name }
//- old/main.tf
output "name" {
  value      = "x"
  deprecated = "Use other."
}
"#,
    );
    yes(&sandbox.run(&["apply", "-auto-approve"]));
    // An object that an interrupted replacement has left.
    let mut state: serde_json::Value = serde_json::from_str(&sandbox.read("terraform.tfstate")).expect("it is JSON");
    let instances = state["resources"][0]["instances"].as_array_mut().expect("it has instances");
    let mut left = instances[0].clone();
    left["deposed"] = "0000abcd".into();
    instances.push(left);
    sandbox.write("terraform.tfstate", state.to_string());
    yes(&sandbox.run(&["plan", "-var=step=3", "-out=p.tfplan"]));
    page(&sandbox, &browser, &["p.tfplan"]);
    search(&browser, "is:deposed");
    let deposed = rows(&browser);
    assert!(deposed.starts_with("terraform_data.a (deposed ") && !deposed.contains('\n'), "{deposed}");
    // The link of a deposed object opens it, not the current object of the instance.
    search(&browser, "");
    let links = "return JSON.stringify([...document.querySelectorAll('#list .tool[href]')].map(e => decodeURIComponent(e.hash.slice(1))).sort())";
    assert_eq!(browser.text(links), format!("[\"terraform_data.a\",\"{deposed}\"]"));
    for (address, sign) in [("terraform_data.a", "Update"), (deposed.as_str(), "Destroy")] {
        browser.run_with("location.hash = '#' + encodeURIComponent(arguments[0])", &[address]);
        let shown = format!("document.querySelector('.target .badge')?.textContent.includes('{sign}')");
        browser.wait_for(&shown);
        assert_eq!(browser.run("return document.querySelectorAll('.target').length"), 1);
    }
    browser.run("document.getElementById('tab-warnings').click()");
    let warnings = browser.text("return document.getElementById('panel-warnings').innerText");
    assert!(warnings.contains("deprecated: module.old.name") && warnings.contains("main.tf:6"), "{warnings}");
    // The state has both objects.
    page(&sandbox, &browser, &[]);
    search(&browser, "is:deposed");
    assert_eq!(rows(&browser), deposed);
    quiet(&browser);
}

fn graph_with_distances_and_zoom() {
    let Some(browser) = chromium() else { return };
    let sandbox = sandbox(
        r#"
//- main.tf
variable "step" { default = 1 }
resource "terraform_data" "changed" { input = var.step }
resource "terraform_data" "near" { triggers_replace = terraform_data.changed.id }
resource "terraform_data" "far" { triggers_replace = terraform_data.near.id }
module "m" {
  source = "./m"
  value  = terraform_data.changed.id
}
//- m/main.tf
variable "value" {}
resource "terraform_data" "one" { triggers_replace = var.value }
resource "terraform_data" "two" { triggers_replace = var.value }
"#,
    );
    yes(&sandbox.run(&["apply", "-auto-approve"]));
    yes(&sandbox.run(&["plan", "-var=step=2", "-out=p.tfplan"]));
    page(&sandbox, &browser, &["p.tfplan"]);
    browser.press(&["g"]);
    let nodes = || {
        browser.text("return [...document.querySelectorAll('.node > title')].map(e => e.textContent).sort().join(' ')")
    };
    let hops = |value: &str| {
        browser.run_with(
            "const h = document.getElementById('hops'); h.value = arguments[0]; h.dispatchEvent(new Event('change'))",
            &[value],
        );
        nodes()
    };
    assert_eq!(hops("0"), "terraform_data.changed");
    let one = hops("1");
    assert!(one.contains("terraform_data.near") && !one.contains("terraform_data.far"), "{one}");
    assert!(hops("2").contains("terraform_data.far"), "{}", nodes());
    hops("all");
    browser.run("document.getElementById('collapse').click()");
    assert!(!nodes().contains("module.m.terraform_data.one"), "{}", nodes());
    browser.run("document.getElementById('expand').click()");
    assert!(nodes().contains("module.m.terraform_data.one"), "{}", nodes());
    let width = || {
        browser.run("return document.querySelector('.node').getBoundingClientRect().width").as_f64().unwrap_or_default()
    };
    let before = width();
    browser.run("document.getElementById('zoom-in').click()");
    let larger = width();
    assert!(larger > before * 1.2, "{before} {larger}");
    browser.run("document.getElementById('zoom-out').click()");
    browser.run("document.getElementById('zoom-out').click()");
    assert!(width() < before, "{before} {}", width());
    browser.run("document.getElementById('zoom-fit').click()");
    let inside = "const c = document.getElementById('canvas').getBoundingClientRect(); \
                  return [...document.querySelectorAll('.node')].every(e => e.getBoundingClientRect().right <= c.right + 1)";
    assert_eq!(browser.run(inside), true);
    quiet(&browser);
}

/// The page as a printer gets it: paper is white in a dark browser, controls are not printed, diffs are.
fn on_paper() {
    let Some(browser) = chromium() else { return };
    page(&planned(), &browser, &["p.tfplan"]);
    browser.prefer(ColorScheme::Dark);
    let print = serde_json::json!({"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]});
    browser.devtools("Emulation.setEmulatedMedia", &print);
    let ground = browser.text("return getComputedStyle(document.body).backgroundColor");
    assert_eq!(ground, "rgb(255, 255, 255)");
    for control in ["filters", "search", "tabs", "theme"] {
        let shown = browser.run_with("return document.getElementById(arguments[0]).offsetParent !== null", &[control]);
        assert_eq!(shown, false, "{control} is not printed");
    }
    let pdf = browser.devtools("Page.printToPDF", &serde_json::json!({"printBackground": true}));
    let pdf = pdf["data"].as_str().expect("it is a document");
    assert!(pdf.starts_with("JVBER"), "it is a PDF");
    // The page is as it was.
    browser.run("dispatchEvent(new Event('afterprint'))");
    quiet(&browser);
}

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

fn a_page_follows_an_apply() {
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

fn a_page_follows_a_run_that_fails() {
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

fn a_page_without_a_plan_plans() {
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

fn a_saved_plan_is_served() {
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
