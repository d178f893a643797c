//! The HTML report in a real browser: `show -html` and the page of `-ui`.

mod large;
mod secrets;
mod serving;

use yuba_testkit::servers::{Browser, ColorScheme, chromium};
use yuba_testkit::{Run, Sandbox};

/// Tests by name.
pub(crate) fn all() -> Vec<(&'static str, fn())> {
    vec![
        ("opens, filters and follows permalinks", opens_filters_and_follows_permalinks),
        ("10,000 changes appear and filter at once", large::ten_thousand_changes),
        ("what is destroyed is on the first screen", destroys_are_on_the_first_screen),
        ("keyboard and screen readers", keyboard_and_screen_readers),
        ("light, dark, narrow and on paper", light_dark_narrow_and_on_paper),
        ("hostile texts stay texts, and nothing leaves the page", hostile_texts_stay_texts),
        ("no secret is in the file", secrets::no_secret_is_in_the_file),
        ("graph leads to the diff", graph_leads_to_the_diff),
        ("a state", a_state),
        ("a state with its configuration", a_state_with_its_configuration),
        ("deposed objects and warnings", deposed_objects_and_warnings),
        ("graph with other distances, open modules and zoom", graph_with_distances_and_zoom),
        ("on paper", on_paper),
        ("a page follows an apply", serving::a_page_follows_an_apply),
        ("a page follows a run that fails", serving::a_page_follows_a_run_that_fails),
        ("a page without a plan plans", serving::a_page_without_a_plan_plans),
        ("a saved plan is served until the user stops", serving::a_saved_plan_is_served),
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
