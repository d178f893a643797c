//! Completion without a shell: the answers to requests, and the edits of startup files.

use yuba_testkit::{Run, Sandbox};

use crate::sandbox;

/// A sandbox with declared objects, objects in the state and two workspaces.
fn applied() -> Sandbox {
    let sandbox = sandbox(
        r#"
//- main.tf
variable "region" { default = "east" }
resource "terraform_data" "a" {}
resource "terraform_data" "b" { for_each = toset(["x y"]) }
module "m" { source = "./m" }
output "region" { value = var.region }
//- new.tf
//- m/main.tf
resource "terraform_data" "c" {}
//- prod.tfvars
//- later/main.tf
resource "terraform_data" "later" {}
"#,
    );
    assert_eq!(sandbox.run(&["apply", "-auto-approve"]).code, 0);
    assert_eq!(sandbox.run(&["workspace", "new", "staging"]).code, 0);
    assert_eq!(sandbox.run(&["workspace", "select", "default"]).code, 0);
    sandbox.write("new.tf", "resource \"terraform_data\" \"new\" {}\n");
    sandbox
}

/// The candidates for a line, without descriptions.
fn candidates(sandbox: &Sandbox, line: &str) -> Vec<String> {
    let mut command = sandbox.command(&[]);
    let output = command.env("COMP_LINE", line).env("YUBA_COMPLETE", "fish").output().expect("the program starts");
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{line}");
    let text = String::from_utf8(output.stdout).expect("candidates are UTF-8");
    text.lines().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn commands_and_flags() {
    let sandbox = sandbox("");
    let check = |line: &str, expected: &[&str]| assert_eq!(candidates(&sandbox, line), expected, "{line}");
    check("yuba sta", &["state"]);
    check("yuba state ", &["list", "mv", "pull", "push", "query", "replace-provider", "rm", "show"]);
    check("yuba providers ", &["lock", "mirror", "schema"]);
    check("yuba -ch", &["-chdir="]);
    check("yuba plan -target", &["-target=", "-target-file="]);
    check("yuba plan --det", &["--detailed-exitcode"]);
    check("yuba plan -lock", &["-lock=false", "-lock-timeout="]);
    check("yuba graph -type=plan-", &["-type=plan-refresh-only", "-type=plan-destroy"]);
    check("yuba completion ", &["bash", "zsh", "fish"]);
    check("yuba nothing ", &[]);
    check("yuba plan -unknown=", &[]);
}

#[test]
fn names_of_the_configuration_and_the_state() {
    let sandbox = applied();
    let check = |line: &str, expected: &[&str]| assert_eq!(candidates(&sandbox, line), expected, "{line}");
    let all =
        ["module.m", "module.m.terraform_data.c", "terraform_data.a", "terraform_data.b", "terraform_data.b[\"x y\"]"];
    check("yuba state show ", &all);
    let mut targets = all.map(|name| format!("-target={name}")).to_vec();
    targets.push("-target=terraform_data.new".to_owned());
    assert_eq!(candidates(&sandbox, "yuba plan -target="), targets);
    check("yuba taint 'terraform_data.b[\"", &["terraform_data.b[\"x y\"]"]);
    check("yuba import terraform_data.n", &["terraform_data.new"]);
    check("yuba workspace select ", &["default", "staging"]);
    check("yuba output ", &["region"]);
    check("yuba plan -var re", &["region="]);
    check("yuba plan -var-file=p", &["-var-file=prod.tfvars"]);
    check("yuba apply terraform.tfstate.", &["terraform.tfstate.d/"]);
    check("yuba state replace-provider ", &["terraform.io/builtin/terraform"]);
    check("yuba -chdir=later plan -target terr", &["terraform_data.later"]);
    check("yuba -chdir=nowhere plan -target terr", &[]);
}

/// Completion never prints diagnostics, whatever the directory contains.
#[test]
fn broken_configurations_have_no_candidates() {
    let broken = sandbox("//- main.tf\nresource \"terraform_data\" {\n//- terraform.tfstate\n{");
    assert_eq!(candidates(&broken, "yuba state show "), Vec::<String>::new());
    assert_eq!(candidates(&broken, "yuba plan -target="), Vec::<String>::new());
}

/// A backend that does not respond delays the prompt by two seconds at most.
#[test]
fn a_backend_that_does_not_respond_is_abandoned() {
    let stalls = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let is_stalled = std::sync::Arc::clone(&stalls);
    let host = yuba_testkit::Host::start(move |_| match is_stalled.load(std::sync::atomic::Ordering::Relaxed) {
        true => yuba_testkit::Reply::stall(),
        false => yuba_testkit::Reply::status(404),
    });
    let text = format!(
        "//- main.tf\nterraform {{\n  backend \"http\" {{\n    address = \"{}\"\n  }}\n}}\n",
        host.url("/state")
    );
    let stalled = sandbox(&text);
    assert_eq!(stalled.run(&["init"]).code, 0);
    stalls.store(true, std::sync::atomic::Ordering::Relaxed);
    let before = host.asked().len();
    let start = std::time::Instant::now();
    assert_eq!(candidates(&stalled, "yuba state show "), Vec::<String>::new());
    assert!(host.asked().len() > before && start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

/// In bash a candidate replaces the part of the word after "=" and ":".
#[test]
fn bash_gets_the_part_that_it_replaces() {
    let sandbox = applied();
    let answer = |line: &str, word: &str| {
        let mut command = sandbox.command(&["yuba", word, "before"]);
        let output = command.env("COMP_LINE", line).env("COMP_POINT", line.len().to_string()).output();
        String::from_utf8(output.expect("the program starts").stdout).expect("candidates are UTF-8")
    };
    assert_eq!(answer("yuba plan -target=module.m.", "module.m."), "module.m.terraform_data.c \n");
    assert_eq!(answer("yuba taint terraform_data.b[", "terraform_data.b["), "terraform_data.b\\[\\\"x\\ y\\\"\\] \n");
    assert_eq!(answer("yuba taint 'terraform_data.b[", "terraform_data.b["), "terraform_data.b[\"x y\"]\n");
    assert_eq!(answer("yuba plan -var-f", "-var-f"), "-var-file=\n");
}

fn files(sandbox: &Sandbox) -> [String; 2] {
    [".bashrc", ".zshrc"].map(|name| std::fs::read_to_string(sandbox.home().join(name)).expect("the file exists"))
}

#[test]
fn startup_files_are_edited_once_and_restored() {
    let sandbox = sandbox("");
    let home = sandbox.home();
    std::fs::write(home.join(".bashrc"), "alias a=b").expect("the home is writable");
    std::fs::write(home.join(".zshrc"), "").expect("the home is writable");
    std::fs::create_dir_all(home.join(".config/fish")).expect("the home is writable");
    let fish = home.join(".config/fish/completions/yuba.fish");
    let run = |flag: &str| -> Run { sandbox.run(&[flag]) };
    let installed = run("-install-autocomplete");
    assert_eq!(
        installed.stdout,
        "Installed completion for bash in <home>/.bashrc. Start a new shell to use it.\n\
         Installed completion for zsh in <home>/.zshrc. Start a new shell to use it.\n\
         Installed completion for fish in <home>/.config/fish/completions/yuba.fish. Start a new shell to use it.\n"
    );
    let edited = files(&sandbox);
    assert!(
        edited[0].starts_with("alias a=b\n[ -n \"$BASH_VERSION\" ] && ") && edited[0].ends_with(" # yuba completion\n"),
        "{edited:?}"
    );
    assert!(fish.is_file());
    let again = run("--install-autocomplete");
    assert!(again.code == 0 && again.stdout.starts_with("Completion for bash is already installed in "), "{again}");
    assert_eq!(files(&sandbox), edited);
    // A line of another version is replaced.
    std::fs::write(home.join(".zshrc"), "old line # yuba completion\n").expect("the home is writable");
    run("-install-autocomplete");
    assert_eq!(files(&sandbox), edited);
    let removed = run("-uninstall-autocomplete");
    assert!(removed.code == 0 && removed.stdout.starts_with("Removed completion for bash from "), "{removed}");
    assert_eq!(files(&sandbox), ["alias a=b\n", ""]);
    assert!(!fish.exists());
    assert!(run("-uninstall-autocomplete").stdout.starts_with("Completion for bash is not installed in "));
}

#[test]
fn a_home_without_shells_is_an_error() {
    let run = sandbox("").run(&["-install-autocomplete"]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(run.stderr.starts_with("Found no startup file of a shell in <home>"), "{run}");
}

#[test]
fn shells_without_a_script_are_refused() {
    let run = sandbox("").run(&["completion", "tcsh"]);
    assert!(run.code == 1 && run.stderr.contains("Error: Unsupported shell"), "{run}");
    assert!(sandbox("").run(&["completion"]).stderr.contains("Error: Invalid number of arguments"));
}
