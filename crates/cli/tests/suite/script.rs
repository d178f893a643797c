//! Runs `sh` blocks without a prompt: scripts that a reader can copy, as the README has them.

use std::path::Path;
use std::process::{Command, Stdio};

use yuba_testkit::Sandbox;

/// Stands in for cargo: `cargo run --release -- ARGS` runs the binary of the test, as it would run the one it has built.
const CARGO: &str = "#!/bin/sh\n[ \"$1 $2 $3\" = 'run --release --' ] || { echo \"cargo $*: not a command of this test\" >&2; exit 1; }\n\
                     shift 3\nexec yuba \"$@\"\n";

/// Tools that a script runs and a machine may lack.
pub(crate) fn tools(body: &str) -> impl Iterator<Item = &'static str> {
    let runs = |tool: &str| {
        body.lines()
            .flat_map(|line| line.split(['|', ';']))
            .any(|part| part.split(' ').find(|word| !word.is_empty()) == Some(tool))
    };
    ["tofu", "jq"].into_iter().filter(move |tool| runs(tool))
}

/// Runs a script in the directory of the section. It has to succeed: what is observed is the script itself, or its failure.
pub(crate) fn run(sandbox: &Sandbox, body: &str, output: &mut String) -> String {
    if body.contains("examples/") {
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples"), &sandbox.dir().join("examples"));
    }
    let programs = sandbox.home().join("bin");
    std::fs::create_dir_all(&programs).expect("because the sandbox is writable");
    let yuba = Path::new(env!("CARGO_BIN_EXE_yuba"));
    let links = [
        (programs.join("yuba"), format!("#!/bin/sh\nexec '{}' \"$@\"\n", yuba.display())),
        (programs.join("cargo"), CARGO.to_owned()),
    ];
    for (path, text) in links {
        std::fs::write(&path, text).expect("because the sandbox is writable");
        executable(&path);
    }
    let mut command = Command::new("sh");
    command.args(["-eu", "-c", body]).current_dir(sandbox.dir()).env_clear().stdin(Stdio::null());
    for (name, value) in sandbox.command(&[]).get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    let mut path = std::ffi::OsString::from(&programs);
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    command.env("PATH", path).env("USER", "reader");
    let done = command.output().expect("because every system of the tests has a shell");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    *output = format!("{}{}", text(&done.stdout), text(&done.stderr));
    for (path, name) in [(sandbox.dir(), "<dir>"), (sandbox.home(), "<home>")] {
        *output = output.replace(&path.display().to_string(), name);
    }
    match done.status.code() {
        Some(0) => body.to_owned(),
        code => format!("{body}exit {}\n{output}", code.unwrap_or(-1)),
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("because the sandbox is writable");
    for entry in std::fs::read_dir(from).expect("because the repository has the directory").flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let kind = path.extension().and_then(|extension| extension.to_str());
        if path.is_dir() && !entry.file_name().to_string_lossy().starts_with('.') {
            copy(&path, &target);
        } else if matches!(kind, Some("tf" | "tftpl" | "hcl")) {
            std::fs::copy(&path, &target).expect("because the sandbox is writable");
        }
    }
}

#[cfg(unix)]
fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("because the sandbox is writable");
}

#[cfg(not(unix))]
fn executable(_: &Path) {}
