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
    check(
        "yuba state ",
        &["at", "history", "list", "mv", "pg-grants", "pull", "push", "query", "replace-provider", "rm", "show"],
    );
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

/// The Tab key sends nothing to a backend.
#[test]
fn backends_of_other_machines_are_not_asked() {
    let host = yuba_testkit::Host::start(move |_| yuba_testkit::Reply::status(404));
    let text = format!(
        "//- main.tf\nresource \"terraform_data\" \"a\" {{}}\nterraform {{\n  backend \"http\" {{\n    address = \"{}\"\n  }}\n}}\n",
        host.url("/state")
    );
    let remote = sandbox(&text);
    assert_eq!(remote.run(&["init"]).code, 0);
    let before = host.asked().len();
    assert_eq!(candidates(&remote, "yuba state show "), Vec::<String>::new());
    assert_eq!(candidates(&remote, "yuba workspace select "), Vec::<String>::new());
    assert_eq!(candidates(&remote, "yuba plan -target="), ["-target=terraform_data.a"]);
    assert_eq!(host.asked().len(), before);
}

/// The Tab key runs no program that the configuration or the environment names.
#[test]
fn programs_of_the_encryption_do_not_run() {
    let key = r#"key_provider "external" "k" { command = ["sh", "-c", "touch ran"] }"#;
    let method = r#"method "aes_gcm" "m" { keys = key_provider.external.k }"#;
    let external = r#"method "external" "m" {
      encrypt_command = ["sh", "-c", "touch ran"]
      decrypt_command = ["sh", "-c", "touch ran"]
    }"#;
    let files = |encryption: &str| {
        format!(
            "//- main.tf\nresource \"terraform_data\" \"a\" {{}}\nterraform {{\n  encryption {{\n{encryption}\n  }}\n}}\n\
             //- terraform.tfstate\n{{\"meta\":{{}},\"encrypted_data\":\"AAAA\",\"encryption_version\":\"v0\"}}\n"
        )
    };
    let state = "state { method = method.aes_gcm.m }";
    let encrypted = [
        format!("{key}\n{method}\n{state}"),
        format!("{key}\n{method}\nplan {{ method = method.aes_gcm.m }}"),
        format!("{external}\nstate {{ method = method.external.m }}"),
    ];
    for encryption in encrypted {
        let sandbox = sandbox(&files(&encryption));
        assert_eq!(candidates(&sandbox, "yuba state show "), Vec::<String>::new());
        assert_eq!(candidates(&sandbox, "yuba workspace select "), Vec::<String>::new());
        assert_eq!(candidates(&sandbox, "yuba plan -target="), ["-target=terraform_data.a"]);
        assert!(!sandbox.dir().join("ran").exists(), "{encryption}");
        // The command itself does run it.
        sandbox.run(&["state", "list"]);
        assert!(sandbox.dir().join("ran").exists(), "{encryption}");
    }
    let empty = sandbox("//- main.tf\n");
    let mut command = empty.command(&[]);
    command.env("TF_ENCRYPTION", format!("{key}\n{method}\n{state}"));
    let output = command.env("COMP_LINE", "yuba state show ").env("YUBA_COMPLETE", "fish").output();
    assert!(output.expect("the program starts").stdout.is_empty() && !empty.dir().join("ran").exists());
}

/// A state that is encrypted with a passphrase has names.
#[test]
fn a_passphrase_needs_no_program() {
    let sandbox = sandbox(
        r#"
//- main.tf
terraform {
  encryption {
    key_provider "pbkdf2" "k" {
      passphrase = "a long passphrase"
      iterations = 200000
    }
    method "aes_gcm" "m" { keys = key_provider.pbkdf2.k }
    state { method = method.aes_gcm.m }
  }
}
resource "terraform_data" "a" {}
"#,
    );
    assert_eq!(sandbox.run(&["apply", "-auto-approve"]).code, 0);
    assert_eq!(candidates(&sandbox, "yuba state show "), ["terraform_data.a"]);
}

/// A name of a file is one word in every quote, whatever it contains.
#[cfg(unix)]
#[test]
fn names_of_files_run_nothing() {
    let sandbox = sandbox("");
    let name = "a'; touch PWNED; '$(touch PWNED)`touch PWNED`\" b.tfplan";
    sandbox.write(name, "");
    sandbox.write("a\nb.tfplan", "");
    sandbox.write("a\u{1b}[2Jb.tfplan", "");
    assert_eq!(candidates(&sandbox, "yuba show a"), [name]);
    for quote in ["", "'", "\""] {
        let line = format!("yuba show {quote}a");
        let mut command = sandbox.command(&["yuba", "a", "show"]);
        let output = command.env("COMP_LINE", &line).env("COMP_POINT", line.len().to_string()).output();
        let answer = String::from_utf8(output.expect("the program starts").stdout).expect("candidates are UTF-8");
        let script = format!("printf %s {quote}{}{quote}", answer.trim_end_matches('\n'));
        let mut shell = std::process::Command::new("sh");
        let printed = shell.arg("-c").arg(&script).current_dir(sandbox.dir()).output().expect("there is a shell");
        assert_eq!(String::from_utf8_lossy(&printed.stdout), name, "{script}");
        assert!(!sandbox.dir().join("PWNED").exists());
    }
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
