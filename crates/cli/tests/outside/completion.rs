//! Completion in real shells: the Tab key in bash and zsh on a terminal, the completion engine of fish.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::Command;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use yuba_testkit::Sandbox;

/// Lines with the Tab key at their end, and the words that the shell then has.
const CASES: [(&str, &[&str]); 9] = [
    ("yuba worksp", &["yuba", "workspace"]),
    ("yuba state sh", &["yuba", "state", "show"]),
    ("yuba taint terraform_data.b\\[", &["yuba", "taint", "terraform_data.b[\"x y\"]"]),
    // zsh completes subscripts of its own after an unescaped bracket.
    (BRACKET, &["yuba", "taint", "terraform_data.b[\"x y\"]"]),
    ("yuba plan -target=module.m.", &["yuba", "plan", "-target=module.m.terraform_data.c"]),
    ("yuba plan -target module.m.", &["yuba", "plan", "-target", "module.m.terraform_data.c"]),
    ("yuba workspace select st", &["yuba", "workspace", "select", "staging"]),
    ("yuba plan -var-file=pr", &["yuba", "plan", "-var-file=prod.tfvars"]),
    ("yuba plan -var re", &["yuba", "plan", "-var", "region="]),
];

/// A line with an unescaped bracket.
const BRACKET: &str = "yuba taint terraform_data.b[";

/// A directory with objects, and `yuba` on the PATH that the result names.
fn applied() -> (Sandbox, String) {
    let sandbox = Sandbox::new(
        env!("CARGO_BIN_EXE_yuba"),
        r#"
//- main.tf
variable "region" { default = "east" }
resource "terraform_data" "b" { for_each = toset(["x y"]) }
module "m" { source = "./m" }
//- m/main.tf
resource "terraform_data" "c" {}
//- prod.tfvars
"#,
    );
    for args in [&["apply", "-auto-approve"][..], &["workspace", "new", "staging"], &["workspace", "select", "default"]]
    {
        let run = sandbox.run(args);
        assert_eq!(run.code, 0, "{run}");
    }
    let programs = sandbox.home().join("bin");
    std::fs::create_dir_all(&programs).expect("the home is writable");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_yuba"), programs.join("yuba")).expect("the home is writable");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    (sandbox, path)
}

/// Types a line, the Tab key, and a command before the line that prints its words. Returns what the terminal shows.
fn typed(sandbox: &Sandbox, path: &str, shell: &[&str], line: &str) -> String {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("the system has terminals");
    grantpt(&person).and_then(|()| unlockpt(&person)).expect("the terminal is ours");
    let name = ptsname(&person, Vec::new()).expect("it has a name").into_string().expect("it is a path");
    let terminal = || File::options().read(true).write(true).open(&name).expect("it was unlocked");
    let mut command = Command::new("setsid");
    command.arg("--ctty").args(shell).current_dir(sandbox.dir()).env_clear();
    command
        .env("PATH", path)
        .env("HOME", sandbox.home())
        .env("TERM", "dumb")
        .env("PS1", "$ ")
        .env("INPUTRC", "/dev/null");
    let mut child = command.stdin(terminal()).stdout(terminal()).stderr(terminal()).spawn().expect("the shell starts");
    drop(command);
    let mut person = File::from(person);
    let script = ["yuba completion ", shell[0]].concat();
    // The beginning of a line is Ctrl-A in both shells.
    let input = format!("source <({script})\n{line}\t\u{1}printf '<%s>' \nexit\n");
    person.write_all(input.as_bytes()).expect("the terminal takes input");
    let mut shown = Vec::new();
    // The end is an error where the other end is closed.
    let _ = person.read_to_end(&mut shown);
    child.wait().expect("the shell ends");
    String::from_utf8_lossy(&shown).into_owned()
}

fn check(shell: &[&str]) {
    let (sandbox, path) = applied();
    for (line, words) in CASES.into_iter().filter(|(line, _)| shell[0] != "zsh" || *line != BRACKET) {
        let expected: String = words.iter().map(|word| format!("<{word}>")).collect();
        let shown = typed(&sandbox, &path, shell, line);
        assert!(shown.contains(&expected), "{line}: {expected} is not in:\n{shown}");
    }
}

pub(crate) fn in_bash() {
    check(&["bash", "--norc", "--noprofile", "-i"]);
}

pub(crate) fn in_zsh() {
    check(&["zsh", "-f", "-i"]);
}

pub(crate) fn in_fish() {
    let (sandbox, path) = applied();
    for (line, words) in CASES {
        let script = format!("yuba completion fish | source; complete --do-complete '{line}'");
        let mut command = Command::new("fish");
        command.args(["--no-config", "-c", &script]).current_dir(sandbox.dir()).env_clear();
        let output = command.env("PATH", &path).env("HOME", sandbox.home()).output().expect("fish starts");
        let found = String::from_utf8_lossy(&output.stdout).into_owned();
        let found: Vec<&str> = found.lines().map(|line| line.split('\t').next().unwrap_or_default()).collect();
        assert_eq!(
            found,
            [*words.last().expect("each case has words")],
            "{line}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// Man pages are valid for the reader of man pages that checks most.
pub(crate) fn man_pages() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_yuba"), "");
    let run = sandbox.run(&["metadata", "commands", "-man=man1"]);
    assert_eq!(run.to_string(), "exit 0\n");
    let pages: Vec<_> =
        std::fs::read_dir(sandbox.dir().join("man1")).expect("the directory exists").flatten().collect();
    assert!(pages.len() > 30, "{} pages", pages.len());
    let mut lint = Command::new("mandoc");
    let output = lint
        .args(["-T", "lint", "-W", "warning"])
        .args(pages.iter().map(std::fs::DirEntry::path))
        .output()
        .expect("mandoc starts");
    let problems = String::from_utf8_lossy(&output.stdout).into_owned();
    // Pages have no date on purpose.
    let problems: Vec<&str> = problems.lines().filter(|line| !line.contains("missing date")).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let mut reader = Command::new("mandoc");
    let output =
        reader.args(["-T", "utf8"]).arg(sandbox.dir().join("man1/yuba-state-mv.1")).output().expect("mandoc starts");
    let text = String::from_utf8_lossy(&output.stdout).replace("\u{8}", "");
    assert!(
        text.contains("YUBA-STATE-MV(1)") && text.contains("--ddrryy--rruunn") || text.contains("-dry-run"),
        "{text}"
    );
}
