//! Views of plans and the live display on terminals of several sizes, as a person sees them.

use yuba_testkit::Sandbox;

use crate::pane::{Pane, PaneSize};
use crate::sandbox;

const SIZES: [PaneSize; 3] = [(80, 24), (100, 30), (200, 50)];

/// Many changes, three objects that are destroyed, and more warnings than a screen has rows.
fn many() -> Sandbox {
    let checks: String = (0..25)
        .map(|at| {
            format!(
                "check \"c{at}\" {{\n  assert {{\n    condition     = !var.after\n    error_message = \"Number {at} does not hold.\"\n  }}\n}}\n"
            )
        })
        .collect();
    let sandbox = sandbox(
        r#"
//- main.tf
variable "after" { default = false }
resource "terraform_data" "many" { count = var.after ? 5000 : 0 }
resource "terraform_data" "gone" { count = var.after ? 0 : 3 }
module "app" {
  source = "./app"
  after  = var.after
}
//- app/main.tf
variable "after" {}
resource "terraform_data" "replaced" { triggers_replace = var.after }
"#,
    );
    let sandbox = sandbox.env("NO_COLOR", "").env("TF_IN_AUTOMATION", "");
    sandbox.write("checks.tf", checks);
    let run = sandbox.run(&["apply", "-auto-approve"]);
    assert_eq!(run.code, 0, "{run}");
    sandbox
}

#[track_caller]
fn shows_destroys(pane: &Pane, what: &str) {
    let (visible, _) = pane.rows();
    for wanted in [
        "Objects at risk: 3 destroyed, 1 replaced",
        "- terraform_data.gone[2]",
        "-/+ module.app.terraform_data.replaced",
    ] {
        assert!(visible.iter().any(|row| row.contains(wanted)), "{what}: {wanted} is not visible: {visible:#?}");
    }
    let totals = visible.iter().filter(|row| row.starts_with("Plan: 5001 to add, 0 to change, 4 to destroy.")).count();
    assert!(totals >= 1, "{what}: {visible:#?}");
}

#[test]
fn destroys_are_visible_at_the_end_of_every_view() {
    let sandbox = many();
    for (at, size) in SIZES.into_iter().enumerate() {
        let args: &[&str] =
            if at == 0 { &["plan", "-var=after=true", "-out=p.tfplan"] } else { &["plan", "-var=after=true"] };
        let mut pane = Pane::start(&sandbox, args, size);
        assert_eq!(pane.end(), 0, "{}", pane.written());
        // The warnings alone are longer than the screen.
        assert!(pane.written().matches("Check block assertion failed").count() >= 25);
        shows_destroys(&pane, &format!("plan {size:?}"));
        for view in
            [&[][..], &["-summary"], &["-tree"], &["-group"], &["-only=create,destroy,replace"], &["-only-changed"]]
        {
            let args = [&["show"], view, &["p.tfplan"]].concat();
            let mut pane = Pane::start(&sandbox, &args, size);
            assert_eq!(pane.end(), 0, "{}", pane.written());
            shows_destroys(&pane, &format!("{args:?} {size:?}"));
        }
        let args = ["plan", "-summary", "-var=after=true"];
        let mut pane = Pane::start(&sandbox, &args, size);
        assert_eq!(pane.end(), 0, "{}", pane.written());
        shows_destroys(&pane, &format!("{args:?} {size:?}"));
    }
}

#[test]
fn destroys_are_visible_above_the_prompt() {
    let sandbox = many();
    for size in SIZES {
        let mut pane = Pane::start(&sandbox, &["apply", "-var=after=true"], size);
        pane.wait_for(Some("Enter a value:"));
        shows_destroys(&pane, &format!("{size:?}"));
        pane.type_in("no\n");
        assert_eq!(pane.end(), 1, "{}", pane.written());
    }
}

#[test]
fn views_do_not_wrap() {
    let sandbox = many();
    let run = sandbox.run(&["plan", "-var=after=true", "-out=p.tfplan"]);
    assert_eq!(run.code, 0, "{run}");
    for size in SIZES {
        for view in ["-summary", "-tree"] {
            let mut pane = Pane::start(&sandbox, &["show", view, "p.tfplan"], size);
            assert_eq!(pane.end(), 0, "{}", pane.written());
            let (visible, above) = pane.rows();
            // A row that is full was wrapped.
            let wide = above.iter().chain(&visible).find(|row| row.chars().count() >= size.0);
            assert_eq!(wide, None, "{view} {size:?}");
        }
    }
}

#[test]
fn a_short_plan_shows_its_objects_once() {
    let sandbox = sandbox("//- main.tf\nvariable \"on\" { default = true }\nresource \"terraform_data\" \"a\" { count = var.on ? 1 : 0 }\n")
        .env("NO_COLOR", "");
    assert_eq!(sandbox.run(&["apply", "-auto-approve"]).code, 0);
    let mut pane = Pane::start(&sandbox, &["plan", "-var=on=false"], (100, 50));
    assert_eq!(pane.end(), 0, "{}", pane.written());
    assert!(!pane.written().contains("Objects at risk"), "{}", pane.written());
}

#[test]
fn frames_follow_the_size_of_the_terminal() {
    let sandbox = sandbox(
        r#"
//- main.tf
resource "terraform_data" "a_resource_with_a_name_that_is_as_long_as_names_in_modules_of_others_are" {
  count = 30
  provisioner "local-exec" { command = "while [ ! -e go ]; do sleep 0.05; done" }
}
"#,
    )
    .env("NO_COLOR", "");
    let mut pane = Pane::start(&sandbox, &["apply", "-auto-approve", "-parallelism=30"], (200, 40));
    let frame =
        |rows: &[String]| rows.iter().filter(|row| row.contains(": Provisioning with") && row.contains(" [")).count();
    // A frame has at most 16 lines: two of them are counts.
    pane.wait_until(|pane| {
        let (visible, _) = pane.rows();
        frame(&visible) == 14 && visible.iter().any(|row| row.starts_with("0 of 30 done, 30 running ["))
    });
    pane.resize((60, 12));
    let before = pane.position();
    // Two frames: the first one removes what was drawn for the larger terminal.
    let frames = |pane: &Pane| pane.written()[before..].matches("30 running [").count();
    pane.wait_until(|pane| frames(pane) >= 3 && pane.written().ends_with('\n'));
    let written = pane.written();
    let last = written.rsplit("\x1b[J").next().expect("it has a frame");
    let lines: Vec<&str> = last.lines().collect();
    assert!(lines.len() <= 7, "half of the terminal: {lines:#?}");
    let plain = |line: &str| line.replace("\x1b[2m", "").replace("\x1b[0m", "").trim_end().chars().count();
    assert!(lines.iter().all(|line| plain(line) < 60), "{lines:#?}");
    sandbox.write("go", "");
    assert_eq!(pane.end(), 0, "{}", pane.written());
    let (visible, _) = pane.rows();
    assert!(visible.iter().any(|row| row.starts_with("Apply complete! Resources: 30 added")), "{visible:#?}");
    assert!(!visible.iter().any(|row| row.contains(" running [")), "the last frame is removed: {visible:#?}");
}

#[test]
fn tests_show_runs_and_the_time() {
    let sandbox = sandbox(
        r#"
//- main.tf
resource "terraform_data" "slow" {
  provisioner "local-exec" { command = "while [ ! -e go ]; do sleep 0.05; done" }
}
//- a.tftest.hcl
run "first" {
  command = plan
}
run "second" {}
"#,
    )
    .env("NO_COLOR", "");
    let mut pane = Pane::start(&sandbox, &["test"], (100, 30));
    pane.wait_for(Some("1 of 2 runs done, 0 of 1 files [1s elapsed], not done: a.tftest.hcl"));
    sandbox.write("go", "");
    assert_eq!(pane.end(), 0, "{}", pane.written());
    let (visible, _) = pane.rows();
    assert!(!visible.iter().any(|row| row.contains(" elapsed]")), "the last frame is removed: {visible:#?}");
    assert!(visible.iter().any(|row| row.contains("2 passed, 0 failed")), "{visible:#?}");
}

/// Objects that refer to each other.
fn applied() -> Sandbox {
    let sandbox = sandbox(
        r#"
//- main.tf
resource "terraform_data" "a" { count = 3 }
resource "terraform_data" "b" { input = terraform_data.a[0].id }
"#,
    )
    .env("NO_COLOR", "");
    assert_eq!(sandbox.run(&["apply", "-auto-approve"]).code, 0);
    sandbox
}

#[test]
fn drift_and_explain_show_progress_beside_their_data() {
    let sandbox = applied();
    for args in [&["drift"][..], &["explain", "terraform_data.b"]] {
        let mut pane = Pane::start(&sandbox, args, (100, 30));
        assert_eq!(pane.end(), 0, "{}", pane.written());
        let (visible, above) = pane.rows();
        let left = above.iter().chain(&visible).any(|row| row.contains("Refreshing state"));
        assert!(!left, "no frame stays: {visible:#?}");
    }
    // Automation gets no frames.
    let sandbox = sandbox.env("TF_IN_AUTOMATION", "1");
    let mut pane = Pane::start(&sandbox, &["drift"], (100, 30));
    assert_eq!(pane.end(), 0, "{}", pane.written());
    assert!(!pane.written().contains("\x1b[J") && !pane.written().contains("Refresh"), "{}", pane.written());
}

#[test]
fn durations_of_earlier_runs_give_the_rest() {
    let sandbox = sandbox(
        r#"
//- main.tf
variable "round" { default = 1 }
resource "terraform_data" "slow" {
  count            = 2
  triggers_replace = var.round
  provisioner "local-exec" { command = "sleep 1.2" }
}
"#,
    )
    .env("NO_COLOR", "");
    let durations = || std::fs::read_to_string(sandbox.dir().join(".terraform/yuba-durations")).unwrap_or_default();
    assert_eq!(sandbox.run(&["apply", "-auto-approve"]).code, 0);
    assert_eq!(durations(), "", "a directory that is not initialized stays as it is");
    std::fs::create_dir(sandbox.dir().join(".terraform")).expect("it is new");
    assert_eq!(sandbox.run(&["apply", "-auto-approve", "-var=round=2"]).code, 0);
    let recorded = durations();
    let words: Vec<&str> = recorded.trim_end().split(' ').collect();
    assert_eq!(words[..3], ["terraform_data", "create", "2"], "{recorded}");
    assert!(words[3].parse::<u32>().is_ok_and(|millis| (1000..10_000).contains(&millis)), "{recorded}");
    // The estimate comes before the first operation has finished.
    sandbox.write(".terraform/yuba-durations", "terraform_data create 3 60000\n");
    let mut pane = Pane::start(&sandbox, &["apply", "-auto-approve", "-var=round=3"], (100, 30));
    pane.wait_for(Some(" elapsed, about 5"));
    assert!(!pane.written().contains("Creation complete"), "{}", pane.written());
    assert_eq!(pane.end(), 0, "{}", pane.written());
}
