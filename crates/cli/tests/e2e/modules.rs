//! Modules from a host and from repositories of this machine, and logins.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;

use expect_test::expect;
use yuba_testkit::{Host, Reply, Sandbox};

use crate::sandbox;

/// A tar archive with one file, uncompressed but for the wrapping that gzip demands.
fn package(text: &str) -> Vec<u8> {
    archive(&[("main.tf", text)])
}

/// A tar archive of files, uncompressed but for the wrapping that gzip demands.
pub(crate) fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut tar = Vec::new();
    for (name, text) in files {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..107].copy_from_slice(b"0000644");
        header[124..135].copy_from_slice(format!("{:011o}", text.len()).as_bytes());
        header[156] = b'0';
        header[257..265].copy_from_slice(b"ustar\x0000");
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        tar.extend(header);
        tar.extend(text.as_bytes());
        tar.resize(tar.len().div_ceil(512) * 512, 0);
    }
    tar.resize(tar.len() + 1024, 0);
    // One block that is stored, with its checksum.
    let mut gzip = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    let length = u16::try_from(tar.len()).expect("it is small");
    gzip.extend(length.to_le_bytes());
    gzip.extend((!length).to_le_bytes());
    let crc = !tar.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    });
    gzip.extend(&tar);
    gzip.extend(crc.to_le_bytes());
    gzip.extend(u32::from(length).to_le_bytes());
    gzip
}

/// A registry with one module in two versions; the first demands the second as a child from an archive.
fn registry() -> Host {
    Host::start(|asked| match asked.path() {
        "/m/team/net/test/versions" => Reply::json(
            r#"{"modules":[{"versions":[{"version":"1.0.0"},{"version":"1.1.0"},{"version":"2.0.0-beta1"}]}]}"#,
        ),
        "/m/team/net/test/1.0.0/download" | "/m/team/net/test/1.1.0/download" => {
            let version = asked.path().split('/').nth_back(1).unwrap_or_default();
            Reply::status(204).with("X-Terraform-Get", &format!("/files/{version}.tar.gz"))
        }
        "/files/1.0.0.tar.gz" => Reply::ok(package("output \"v\" { value = \"one\" }\n")),
        "/files/1.1.0.tar.gz" => Reply::ok(package("output \"v\" { value = \"one point one\" }\n")),
        _ => Reply::status(404),
    })
}

pub(crate) fn configured(host: &Host, fixture: &str) -> Sandbox {
    let sandbox = sandbox(fixture);
    let base = host.url("/m/");
    let rc = format!(
        "host \"r.example\" {{ services = {{ \"modules.v1\" = \"{base}\" }} }}\ncredentials \"by-hand.example\" {{ token = \"x\" }}\n"
    );
    std::fs::write(sandbox.home().join(".tofurc"), rc).expect("it is ours");
    sandbox
}

#[test]
fn modules_of_a_registry_are_installed_and_used() {
    let host = registry();
    let fixture = r#"
//- main.tf
module "a" {
  source  = "r.example/team/net/test"
  version = "1.0.0"
}
module "b" {
  source = "./b"
}
output "v" {
  value = "${module.a.v}, ${module.b.v}"
}
//- b/main.tf
module "c" {
  source  = "r.example/team/net/test"
  version = "~> 1.0"
}
output "v" {
  value = module.c.v
}
"#;
    let sandbox = configured(&host, fixture);
    let run = sandbox.run(&["get", "-no-color"]);
    expect![[r#"
        exit 0
        --- stdout
        Downloading r.example/team/net/test 1.0.0 for a...
        - a in .terraform/modules/a
        - b in b
        Downloading r.example/team/net/test 1.1.0 for b.c...
        - b.c in .terraform/modules/b.c
    "#]]
    .assert_eq(&run.to_string());
    expect![[r#"{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"a","Source":"r.example/team/net/test","Version":"1.0.0","Dir":".terraform/modules/a"},{"Key":"b","Source":"./b","Dir":"b"},{"Key":"b.c","Source":"r.example/team/net/test","Version":"1.1.0","Dir":".terraform/modules/b.c"}]}"#]]
    .assert_eq(&sandbox.read(".terraform/modules/modules.json"));
    assert_eq!(host.count("/m/team/net/test/versions"), 1);
    // Installed modules stay unchanged, and no host receives a request.
    let before = host.asked().len();
    expect!["exit 0\n"].assert_eq(&sandbox.run(&["get", "-no-color"]).to_string());
    let run = sandbox.run(&["init", "-no-color"]);
    assert!(run.code == 0 && !run.stdout.contains("Downloading"), "{run}");
    assert_eq!(host.asked().len(), before);
    let run = sandbox.run_with(&["console"], b"module.a.v\n");
    assert_eq!(run.stdout, "\"one\"\n", "{run}");
    // Another version is downloaded; so is everything with -upgrade.
    sandbox.write("main.tf", sandbox.read("main.tf").replace("\"1.0.0\"", "\"1.1.0\""));
    let run = sandbox.run(&["init", "-no-color"]);
    assert!(
        run.stdout.contains(
            "Initializing modules...\nDownloading r.example/team/net/test 1.1.0 for a...\n- a in .terraform/modules/a\n"
        ),
        "{run}"
    );
    assert!(!run.stdout.contains("for b.c"), "{run}");
    let run = sandbox.run(&["init", "-upgrade", "-no-color"]);
    assert!(run.stdout.contains("Upgrading modules...\nDownloading") && run.stdout.contains("for b.c..."), "{run}");
    // A version that is nowhere.
    sandbox.write("main.tf", sandbox.read("main.tf").replace("\"1.1.0\"", "\">= 2.0.0\""));
    let run = sandbox.run(&["init", "-no-color"]);
    assert!(run.code == 1 && run.stderr.contains("Error: Unresolvable module version constraint"), "{run}");
    assert!(run.stderr.contains("The newest version is 1.1.0"), "{run}");
}

#[test]
fn a_module_that_is_called_again_is_not_downloaded_again() {
    let host = registry();
    let call = |name: &str, version: &str| {
        format!("module \"{name}\" {{\n  source  = \"r.example/team/net/test\"\n  version = \"{version}\"\n}}\n")
    };
    let (a, b) = (call("a", "1.0.0"), call("b", "1.1.0"));
    let sandbox = configured(&host, &format!("//- main.tf\n{a}{b}"));
    assert_eq!(sandbox.run(&["init", "-no-color"]).code, 0);
    // The module is removed from the configuration, then called again.
    sandbox.write("main.tf", &a);
    assert_eq!(sandbox.run(&["init", "-no-color"]).code, 0);
    sandbox.write("main.tf", format!("{a}{b}"));
    let asked = host.asked().len();
    let run = sandbox.run(&["plan", "-no-color"]);
    assert!(run.code == 0 && host.asked().len() == asked, "{run}");
    // Deleted modules are not recorded.
    std::fs::remove_dir_all(sandbox.dir().join(".terraform/modules/b")).expect("it is ours");
    sandbox.write("main.tf", &a);
    assert_eq!(sandbox.run(&["init", "-no-color"]).code, 0);
    assert!(!sandbox.read(".terraform/modules/modules.json").contains("1.1.0"));
}

#[test]
fn a_prerelease_is_taken_where_it_alone_is_wanted() {
    let host = Host::start(|asked| match asked.path() {
        "/m/team/net/test/versions" => Reply::json(
            r#"{"modules":[{"versions":[{"version":"1.0.0"},{"version":"2.0.0-beta1"},{"version":"2.0.0-beta2"}]}]}"#,
        ),
        path if path.ends_with("/download") => Reply::status(204).with("X-Terraform-Get", "/x.tar.gz"),
        "/x.tar.gz" => Reply::ok(package("output \"v\" { value = 1 }\n")),
        _ => Reply::status(404),
    });
    let check = |constraint: &str, expect: &str| {
        let call = "module \"a\" {\n  source  = \"r.example/team/net/test\"\n";
        let sandbox = configured(&host, &format!("//- main.tf\n{call}  version = \"{constraint}\"\n}}\n"));
        let run = sandbox.run(&["get", "-no-color"]);
        assert!(run.to_string().contains(expect), "{constraint}: {run}");
    };
    check("2.0.0-beta1", "Downloading r.example/team/net/test 2.0.0-beta1 for a...");
    check("=2.0.0-beta1", "Downloading r.example/team/net/test 2.0.0-beta1 for a...");
    check("<= 2.0.0-beta1", "Downloading r.example/team/net/test 1.0.0 for a...");
    for none in [">= 2.0.0-beta1", "~> 2.0.0-beta1", "2.0.0-beta1, != 1.0.0"] {
        check(none, "Error: Unresolvable module version constraint");
    }
}

#[test]
fn failed_downloads_are_reported() {
    let host = registry();
    let check = |source: &str, title: &str| {
        let sandbox = configured(&host, &format!("//- main.tf\nmodule \"a\" {{\n  source = \"{source}\"\n}}\n"));
        let run = sandbox.run(&["init", "-no-color"]);
        assert!(run.code == 1 && run.stderr.contains(&format!("Error: {title}")), "{source}: {run}");
        assert!(!sandbox.dir().join(".terraform/modules/a").exists(), "{source}");
    };
    check("r.example/team/other/test", "Module not found");
    check("r.example/team/net/test//sub", "Module subdirectory not found");
    check(&host.url("/files/9.9.9.tar.gz"), "Failed to download module");
    check(&host.url("/files/1.0.0.tar.gz//sub"), "Failed to expand subdir globs");
    check("s3::https://s3.amazonaws.com/bucket/x.zip", "Failed to download module");
    check("git::https://127.0.0.1:1/x.git?ref=-x", "Failed to download module");
}

#[test]
fn a_local_source_stays_in_its_package() {
    let sandbox = sandbox("//- package/x/main.tf\nmodule \"out\" {\n  source = \"../../elsewhere\"\n}\n");
    let package = sandbox.dir().join("package").display().to_string();
    sandbox.write("main.tf", format!("module \"a\" {{\n  source = \"{package}//x\"\n}}\n"));
    let run = sandbox.run(&["init", "-no-color"]);
    assert!(run.code == 1 && run.stderr.contains("Error: Local module path escapes module package"), "{run}");
    // A root module that needs what was beside it.
    let sandbox = crate::sandbox(
        "//- package/x/main.tf\nmodule \"b\" {\n  source = \"../y\"\n}\n//- package/y/main.tf\n//- new/.keep\n",
    );
    let source = format!("-from-module={}//x", sandbox.dir().join("package").display());
    std::fs::remove_file(sandbox.dir().join("new/.keep")).expect("it is ours");
    let run = sandbox.run(&["-chdir=new", "init", "-no-color", &source]);
    assert!(run.code == 1 && run.stderr.contains("Error: Root module references parent directory"), "{run}");
}

#[test]
fn a_directory_begins_with_a_module() {
    let host = registry();
    let sandbox = configured(&host, "");
    let source = host.url("/files/1.0.0.tar.gz");
    let run = sandbox.run(&["init", "-no-color", &format!("-from-module={source}")]);
    assert!(run.code == 0, "{run}");
    assert!(run.stdout.starts_with(&format!("Copying configuration from {source:?}...\n\n")), "{run}");
    assert_eq!(sandbox.read("main.tf"), "output \"v\" { value = \"one\" }\n");
    assert!(!sandbox.dir().join(".terraform/init-from-module").exists());
    let again = sandbox.run(&["init", "-no-color", &format!("-from-module={source}")]);
    assert!(again.code == 1 && again.stderr.contains("The working directory already contains files"), "{again}");
    let other = configured(&host, "//- readme.txt\n");
    let run = other.run(&["init", "-no-color", &format!("-from-module={source}")]);
    assert!(run.code == 1 && run.stderr.contains("Can't populate non-empty directory"), "{run}");
}

#[test]
fn errors_in_the_cli_configuration_are_reported() {
    let sandbox = sandbox("//- main.tf\n");
    std::fs::write(sandbox.home().join(".tofurc"), "credentials {").expect("it is ours");
    let run = sandbox.run(&["init", "-no-color"]);
    assert!(run.code == 0, "{run}");
    expect![[r#"
        There are some problems with the CLI configuration:

        Error: Error parsing <home>/.tofurc: At 1:13: this brace is never closed

        As a result of the above problems, Yuba may not behave as intended.


    "#]]
    .assert_eq(&run.stderr);
    assert_eq!(sandbox.run(&["version"]).stderr, run.stderr);
    // Also a missing file; machine-readable output stays as it is. -chdir does not lead to another file.
    sandbox.write("other/main.tf", "");
    sandbox.write("here.tfrc", "");
    let named = |name: &str| {
        let mut command = sandbox.command(&["-chdir=other", "validate", "-json"]);
        let output = command.env("TF_CLI_CONFIG_FILE", name).output().expect("it can be started");
        assert!(output.stdout.starts_with(b"{") && output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert_eq!(named("here.tfrc"), "");
    expect![[r#"
        There are some problems with the CLI configuration:

        Warning: Unable to open CLI configuration file

        The CLI configuration file nowhere.tfrc does not exist. Yuba continues
        without CLI configuration.
    "#]]
    .assert_eq(&named("nowhere.tfrc"));
}

/// Logs in to a host as a browser does. Returns the standard output of the command.
fn log_in(sandbox: &Sandbox, variables: &[(&str, &str)]) -> String {
    let mut command = sandbox.command(&["login", "-no-color", "h.example"]);
    command.envs(variables.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it was built");
    child.stdin.take().expect("it is a pipe").write_all(b"yes\n").expect("it is read");
    let mut reader = BufReader::new(child.stdout.take().expect("it is a pipe"));
    let mut said = String::new();
    let page = loop {
        let mut line = String::new();
        assert!(reader.read_line(&mut line).is_ok_and(|length| length > 0), "no page in {said}");
        said.push_str(&line);
        if line.contains("redirect_uri") {
            break line;
        }
    };
    let argument = |name: &str| {
        let rest = page.split(&format!("{name}=")).nth(1).unwrap_or_default();
        rest.split(['&', '\n']).next().unwrap_or_default().to_owned()
    };
    let port = argument("redirect_uri")
        .split("%3A")
        .nth(2)
        .unwrap_or_default()
        .split("%2F")
        .next()
        .unwrap_or_default()
        .to_owned();
    let mut browser = TcpStream::connect(format!("127.0.0.1:{port}")).expect("it waits");
    let request = format!("GET /login?code=c0de&state={} HTTP/1.1\r\nHost: localhost\r\n\r\n", argument("state"));
    browser.write_all(request.as_bytes()).expect("it is read");
    let mut answer = String::new();
    browser.read_to_string(&mut answer).expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    reader.read_to_string(&mut said).expect("it is text");
    assert!(child.wait().is_ok_and(|status| status.success()), "{said}");
    said
}

#[test]
fn login_and_logout() {
    let host = Host::start(|asked| match asked.path() {
        "/token" => Reply::json(r#"{"access_token": "t0ken"}"#),
        _ => Reply::status(404),
    });
    let sandbox = sandbox("");
    let rc = format!(
        "host \"h.example\" {{ services = {{ \"login.v1\" = {{ client = \"cli\", authz = \"{}\", token = \"{}\" }} }} }}\nhost \"n.example\" {{}}\ncredentials \"by-hand.example\" {{ token = \"x\" }}\n",
        host.url("/authz"),
        host.url("/token")
    );
    std::fs::write(sandbox.home().join(".tofurc"), rc).expect("it is ours");
    let said = log_in(&sandbox, &[]);
    assert!(said.starts_with("Yuba will request an API token for h.example using OAuth.\n\n"), "{said}");
    assert!(said.contains("Success! Yuba has obtained and saved an API token.\n") && !said.contains("t0ken"), "{said}");
    let file = sandbox.home().join(".terraform.d/credentials.tfrc.json");
    let kept = || std::fs::read_to_string(&file).unwrap_or_default();
    assert!(kept().contains("\"token\": \"t0ken\""), "{}", kept());
    let run = sandbox.run(&["logout", "-no-color", "h.example"]);
    expect![[r#"
        exit 0
        --- stdout
        Removing the stored credentials for h.example from the following file:
            <home>/.terraform.d/credentials.tfrc.json

        Success! Yuba has removed the stored API token for h.example.

    "#]]
    .assert_eq(&run.to_string());
    assert!(!kept().contains("t0ken"));
    // No next steps for pipelines.
    let said = log_in(&sandbox, &[("TF_IN_AUTOMATION", "1")]);
    assert!(said.contains("Success! Yuba has obtained and saved an API token.\n"), "{said}");
    assert!(!said.contains("You may now") && !said.contains("run \"yuba"), "{said}");
    let run = sandbox.run(&["logout", "h.example"]);
    assert!(run.code == 0 && !kept().contains("t0ken"), "{run}");
    for (args, expect) in [
        (&["logout", "h.example"][..], "No credentials for h.example are stored."),
        (&["logout", "by-hand.example"], "Credentials for by-hand.example are manually configured"),
        (&["login", "n.example"], "Host does not support Yuba tokens API"),
        (&["login", "-input=false", "h.example"], "Login is an interactive command"),
        (&["login", "-json", "h.example"], "\"@message\":\"Error: Login is an interactive command\""),
        (&["login", "h.example"], "Login cancelled"),
        (&["login", "not a host"], "Invalid hostname"),
        (&["login"], "Unexpected argument"),
    ] {
        let run = sandbox.run(args);
        assert!(run.to_string().contains(expect), "{args:?}: {run}");
    }
}
