//! Concurrent runs of `init`, and interrupted runs of `init` and similar commands: nothing is half installed.

use std::io::{Cursor, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use yuba_testkit::{Host, Reply, Sandbox, platform};

use crate::sandbox;

/// An archive with a program that is large enough to take a moment.
fn package() -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().unix_permissions(0o755);
    writer.start_file("terraform-provider-null_v1.0.0", options).expect("because memory can be written");
    let mut number = 1_u32;
    let noise = std::iter::repeat_with(|| {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        number.to_be_bytes()[0]
    });
    let content: Vec<u8> = noise.take(4 << 20).collect();
    writer.write_all(&content).expect("because memory can be written");
    writer.finish().expect("because memory can be written").into_inner()
}

/// A mirror with one provider, and a module beside it. While it stalls, packages begin and do not end.
fn mirror(stalls: &Arc<AtomicBool>) -> Host {
    let (package, stalls) = (package(), Arc::clone(stalls));
    Host::start(move |asked| match asked.path() {
        "/mirror/example.com/x/null/index.json" => Reply::json(r#"{"versions": {"1.0.0": {}}}"#),
        "/mirror/example.com/x/null/1.0.0.json" => {
            Reply::json(&format!(r#"{{"archives": {{"{}": {{"url": "/package.zip"}}}}}}"#, platform()))
        }
        "/package.zip" | "/module.zip" | "/registry/x/null/versions" if stalls.load(Ordering::SeqCst) => Reply::stall(),
        "/package.zip" => Reply::ok(package.clone()),
        _ => Reply::status(404),
    })
}

const PROVIDER: &str =
    "terraform {\n  required_providers {\n    null = {\n      source = \"example.com/x/null\"\n    }\n  }\n}\n";

fn prepared(host: &Host, configuration: &str) -> Sandbox {
    let url = host.url("/mirror/");
    let registry = host.url("/registry/");
    let settings = format!(
        "provider_installation {{\n  network_mirror {{\n    url = {url:?}\n  }}\n}}\nhost \"example.com\" {{\n  services = {{\n    \
         \"providers.v1\" = {registry:?}\n  }}\n}}\n"
    );
    sandbox(&format!("//- main.tf\n{configuration}//- rc\n{settings}")).env("TF_CLI_CONFIG_FILE", "rc")
}

/// Every process succeeds.
fn all_succeed(children: Vec<Child>) {
    for child in children {
        let output = child.wait_with_output().expect("because it was started");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

fn start(sandbox: &Sandbox, args: &[&str]) -> Child {
    let mut command = sandbox.command(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("because the program was built")
}

/// All files below a directory but locks, which stay.
fn files(dir: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&entry.path())),
            _ => found.push(entry.path().display().to_string()),
        }
    }
    found.retain(|name| !name.ends_with(".lock"));
    found
}

/// Starts a command, and sends it a signal when it asks for something that it will not get.
#[cfg(unix)]
fn stop(sandbox: &Sandbox, host: &Host, args: &[&str], path: &str, signal: &str) -> std::process::Output {
    let before = host.count(path);
    let child = start(sandbox, args);
    let begin = Instant::now();
    while host.count(path) == before {
        assert!(begin.elapsed() < Duration::from_secs(60), "{path} is not asked for");
        std::thread::sleep(Duration::from_millis(5));
    }
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()));
    child.wait_with_output().expect("because it was started")
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_nothing_half_installed() {
    let stalls = Arc::new(AtomicBool::new(true));
    let host = mirror(&stalls);
    let module = format!("module \"m\" {{\n  source = {:?}\n}}\n", host.url("/module.zip"));
    let net_mirror = format!("-net-mirror={}", host.url("/mirror/"));
    for (what, args, configuration, path) in [
        ("Provider installation", &["init"][..], PROVIDER, "/package.zip"),
        ("Module installation", &["init"], module.as_str(), "/module.zip"),
        ("Module installation", &["get"], module.as_str(), "/module.zip"),
        ("Locking of providers", &["providers", "lock", &net_mirror], PROVIDER, "/package.zip"),
        ("Mirroring of providers", &["providers", "mirror", "copy"], PROVIDER, "/registry/x/null/versions"),
    ] {
        let sandbox = prepared(&host, configuration);
        let temporary = sandbox.dir().join("temporary");
        std::fs::create_dir(&temporary).expect("because the sandbox is writable");
        let sandbox = sandbox.env("TMPDIR", &temporary.display().to_string());
        let output = stop(&sandbox, &host, args, path, "-INT");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let expected = format!("{what} was canceled by an interrupt signal.\n");
        assert!(said.contains("Interrupt received.") && said.ends_with(&expected), "{args:?}: {said}");
        assert!(!said.contains("Error:"), "{said}");
        for dir in [".terraform", "copy", "temporary"] {
            assert_eq!(files(&sandbox.dir().join(dir)), [] as [&str; 0], "{args:?}");
        }
        assert!(!sandbox.dir().join(".terraform.lock.hcl").exists());
    }
    // One that is killed cannot clean up; the next one does.
    let sandbox = prepared(&host, PROVIDER);
    stop(&sandbox, &host, &["init"], "/package.zip", "-KILL");
    let unfinished = sandbox.dir().join(".terraform/providers/.unfinished");
    assert!(unfinished.is_dir());
    stalls.store(false, Ordering::SeqCst);
    let run = sandbox.run(&["init"]);
    assert_eq!(run.code, 0, "{run}");
    assert!(!unfinished.exists());
}

#[test]
fn processes_that_race_for_a_cache_all_win() {
    let host = mirror(&Arc::default());
    let cache = sandbox("");
    std::fs::create_dir(cache.dir().join("cache")).expect("because the sandbox is writable");
    let shared = cache.dir().join("cache");
    let sandboxes: Vec<Sandbox> =
        (0..4).map(|_| prepared(&host, PROVIDER).env("TF_PLUGIN_CACHE_DIR", &shared.display().to_string())).collect();
    all_succeed(sandboxes.iter().map(|sandbox| start(sandbox, &["init"])).collect());
    let package = format!("example.com/x/null/1.0.0/{}", platform());
    let program = "terraform-provider-null_v1.0.0";
    assert_eq!(files(&shared), [shared.join(&package).join(program).display().to_string()]);
    let locks: Vec<String> = sandboxes.iter().map(|sandbox| sandbox.read(".terraform.lock.hcl")).collect();
    assert!(locks.iter().all(|lock| *lock == locks[0] && lock.contains("h1:")), "{locks:?}");
    for sandbox in &sandboxes {
        let installed = sandbox.dir().join(".terraform/providers").join(&package).join(program);
        assert_eq!(std::fs::metadata(installed).map(|file| file.len()).ok(), Some(4 << 20));
    }
}

#[cfg(unix)]
#[test]
fn working_directories_share_what_was_unpacked_once() {
    use std::os::unix::fs::MetadataExt as _;
    let shared = sandbox("");
    let (mirror, caches) = (shared.dir().join("mirror"), shared.dir().join("caches"));
    let archive = mirror.join(format!("example.com/x/null/terraform-provider-null_1.0.0_{}.zip", platform()));
    std::fs::create_dir_all(archive.parent().expect("it has one")).expect("because the sandbox is writable");
    std::fs::write(&archive, package()).expect("because the sandbox is writable");
    let rc = format!("provider_installation {{\n  filesystem_mirror {{\n    path = {mirror:?}\n  }}\n}}\n");
    let fresh = || {
        let fresh = sandbox(&format!("//- main.tf\n{PROVIDER}//- rc\n{rc}")).env("TF_CLI_CONFIG_FILE", "rc");
        fresh.env("XDG_CACHE_HOME", &caches.display().to_string())
    };
    let program = |sandbox: &Sandbox| {
        let package = format!("example.com/x/null/1.0.0/{}/terraform-provider-null_v1.0.0", platform());
        let found = std::fs::metadata(sandbox.dir().join(".terraform/providers").join(package));
        found.expect("because it is installed").ino()
    };
    // Those that begin at the same time may have it from the archive, all of them.
    let first: Vec<Sandbox> = (0..4).map(|_| fresh()).collect();
    all_succeed(first.iter().map(|sandbox| start(sandbox, &["init"])).collect());
    let later: Vec<Sandbox> = (0..4).map(|_| fresh()).collect();
    all_succeed(later.iter().map(|sandbox| start(sandbox, &["init"])).collect());
    let inode = program(&later[0]);
    assert!(later.iter().all(|sandbox| program(sandbox) == inode));
    assert!(first.iter().any(|sandbox| program(sandbox) == inode));
    assert!(first.iter().chain(&later).all(|s| s.read(".terraform.lock.hcl") == first[0].read(".terraform.lock.hcl")));
    assert!(!caches.join("yuba/kept/.unfinished").exists());
    let alone = fresh().env("YUBA_KEEP_PACKAGES", "off");
    assert_eq!(alone.run(&["init"]).code, 0);
    assert_ne!(program(&alone), inode);
}
