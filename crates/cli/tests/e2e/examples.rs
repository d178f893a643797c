//! The examples work, and the documentation shows them as they are.

use std::path::{Path, PathBuf};

use yuba_testkit::{Run, Sandbox};

use crate::sandbox;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn symbol_libraries() {
    let page = std::fs::read_to_string(root().join("docs/symbol-libraries.md")).expect("the page exists");
    let sandbox = sandbox("");
    for name in ["main.tf", "network/subnet.sym.hcl", "network/tags.sym.hcl", "network/sizes.tfsym.hcl"] {
        let text = std::fs::read_to_string(root().join("examples/symbols").join(name)).expect("the example exists");
        assert!(page.contains(&format!("```file {name}\n{text}```")), "{name} is shown as it is");
        sandbox.write(name, &text);
    }
    let expressions = "symbols::network::cidr({ number = 7 })\n\
                       symbols::network::cidr(var.subnets[\"db\"])\n\
                       symbols::network::tags(\"x\", { y = 1 })\n\
                       symbols.network.base\n\
                       symbols.network.bas\n";
    expect_test::expect![[r#"
        exit 1
        --- stdout
        "10.20.7.0/24"
        "10.20.32.0/20"
        {
          "name" = "x"
          "y" = "1"
        }
        "10.20.0.0/16"
        --- stderr

        Error: Reference to undefined symbol

          on <console-input> line 1:
           1: symbols.network.bas

        This is a reference to the block symbols "network" at main.tf:1, whose
        library network has no value named "bas". Did you mean "base"?

    "#]]
    .assert_eq(&sandbox.run_with(&["console", "-no-color"], expressions.as_bytes()).to_string());
}

/// A sandbox with the files of an example.
fn example(name: &str) -> Sandbox {
    let sandbox = sandbox("");
    let top = root().join("examples").join(name);
    let mut work = vec![top.clone()];
    while let Some(dir) = work.pop() {
        for entry in std::fs::read_dir(&dir).expect("the example exists").flatten() {
            let path = entry.path();
            let kind = path.extension().and_then(|extension| extension.to_str());
            if path.is_dir() {
                work.push(path);
            } else if matches!(kind, Some("tf" | "tftpl" | "hcl")) {
                let inside = path.strip_prefix(&top).expect("because it was found below").to_string_lossy();
                sandbox.write(&inside, std::fs::read(&path).expect("because it was found"));
            }
        }
    }
    sandbox
}

/// The summaries of what a command did.
fn summaries(run: &Run) -> Vec<&str> {
    let lines = run.stdout.lines().chain(run.stderr.lines());
    lines
        .filter(|line| line.contains(" complete! ") || line.starts_with("No changes") || line.starts_with("Error"))
        .collect()
}

#[track_caller]
fn check(sandbox: &Sandbox, args: &str, expected: &[&str]) {
    let args: Vec<&str> = args.split(' ').collect();
    let run = sandbox.run(&args);
    assert_eq!(summaries(&run), expected, "{run}");
}

const NOTHING: &str = "No changes. Your infrastructure matches the configuration.";

#[test]
fn tour() {
    let sandbox = example("tour");
    check(&sandbox, "apply -auto-approve", &["Apply complete! Resources: 3 added, 0 changed, 0 destroyed."]);
    assert!(sandbox.read("site/index.html").contains("<h1>Welcome</h1>"));
    assert_eq!(sandbox.read("site/pages.txt"), "site/about.html\nsite/index.html\n");
    check(&sandbox, "plan", &[NOTHING]);
    check(
        &sandbox,
        "apply -auto-approve -var list=false",
        &["Apply complete! Resources: 0 added, 0 changed, 1 destroyed."],
    );
    check(&sandbox, "destroy -auto-approve", &["Destroy complete! Resources: 2 destroyed."]);
    assert!(!sandbox.dir().join("site/index.html").exists());
}

#[test]
fn the_picture_of_the_tour() {
    let picture = std::fs::read_to_string(root().join("docs/tour.svg")).expect("the picture exists");
    assert_eq!(example("tour").run(&["graph", "-svg"]).stdout, picture);
}

#[test]
fn provider_for_each() {
    let sandbox = example("provider-for-each");
    check(&sandbox, "apply -auto-approve", &["Apply complete! Resources: 2 added, 0 changed, 0 destroyed."]);
    check(&sandbox, r#"plan -var regions=["west"]"#, &["Error: Provider instance not present"]);
    check(
        &sandbox,
        r#"apply -auto-approve -var retired=["east"]"#,
        &["Apply complete! Resources: 0 added, 0 changed, 1 destroyed."],
    );
    check(&sandbox, r#"plan -var regions=["west"]"#, &[NOTHING]);
    check(&sandbox, "destroy -auto-approve", &["Destroy complete! Resources: 1 destroyed."]);
}

#[test]
fn dynamic_providers() {
    let sandbox = example("dynamic-providers");
    check(
        &sandbox,
        "-chdir=platform apply -auto-approve",
        &["Apply complete! Resources: 0 added, 0 changed, 0 destroyed."],
    );
    let added = "Apply complete! Resources: 2 added, 0 changed, 0 destroyed.";
    check(&sandbox, "-chdir=app apply -auto-approve", &[added]);
    assert!(sandbox.read("app/terraform.tfstate").contains(r#".by_region[\"east\"]"#));
    check(&sandbox, "-chdir=app plan", &[NOTHING]);
    check(&sandbox, "-chdir=app destroy -auto-approve", &["Destroy complete! Resources: 2 destroyed."]);
}

#[test]
fn provider_collections() {
    let sandbox = example("provider-collections");
    check(&sandbox, "apply -auto-approve", &["Apply complete! Resources: 2 added, 0 changed, 0 destroyed."]);
    assert!(sandbox.read("terraform.tfstate").contains(r#".by_region[\"west\"]"#));
    check(&sandbox, r#"plan -var regions=["west"]"#, &["Error: Provider instance not declared"]);
    check(&sandbox, "destroy -auto-approve", &["Destroy complete! Resources: 2 destroyed."]);
}

#[test]
fn deprecation() {
    let sandbox = example("deprecation");
    let warnings = |args: &[&str]| sandbox.run(args).stdout.matches("Warning: ").count();
    assert_eq!(warnings(&["plan"]), 2);
    assert_eq!(warnings(&["plan", "-deprecation=module:none"]), 0);
    check(&sandbox, "apply -auto-approve", &["Apply complete! Resources: 1 added, 0 changed, 0 destroyed."]);
    let text = sandbox.read("main.tf").replace("who = var.name", "names = [var.name]");
    sandbox.write("main.tf", text.replace("greeting.text", "greeting.texts[0]"));
    check(&sandbox, "plan", &[NOTHING]);
    assert_eq!(warnings(&["plan"]), 0);
}

#[test]
fn enabled() {
    let sandbox = example("enabled");
    check(&sandbox, "apply -auto-approve", &["Apply complete! Resources: 2 added, 0 changed, 0 destroyed."]);
    let production = sandbox.run(&["apply", "-auto-approve", "-var", "stage=production"]);
    let changed = "Apply complete! Resources: 1 added, 1 changed, 1 destroyed.";
    assert_eq!(summaries(&production), [changed], "{production}");
    assert!(production.stdout.contains("(because enabled is false)"));
    assert!(
        production.stdout.ends_with("debug = \"off\"\nreports = [\n  \"Report on app in production\",\n]\n"),
        "{production}"
    );
    check(&sandbox, "plan -var stage=production", &[NOTHING]);
}

#[test]
fn tests_of_a_module_with_provider_instances() {
    let run = example("provider-for-each-tests").run(&["test", "-no-color"]);
    expect_test::expect![[r#"
        exit 0
        --- stdout
        tests/regions.tftest.hcl... pass
          run "initial_create"... pass
          run "disable_b"... pass
          run "remove_b"... pass

        Success! 3 passed, 0 failed.
    "#]]
    .assert_eq(&run.to_string());
}
