//! Symbol libraries that are installed as modules are: from registries, hosts, repositories and paths.

use expect_test::expect;
use yuba_testkit::{Host, Reply, Sandbox};

use crate::modules::{archive, configured};
use crate::sandbox;

/// A registry with a library in two versions, and archives.
fn registry() -> Host {
    Host::start(|asked| match asked.path() {
        "/m/team/net/test/versions" => {
            Reply::json(r#"{"modules":[{"versions":[{"version":"1.0.0"},{"version":"1.1.0"},{"version":"2.0.0"}]}]}"#)
        }
        path if path.starts_with("/m/team/net/test/") => {
            let version = path.split('/').nth_back(1).unwrap_or_default();
            Reply::status(204).with("X-Terraform-Get", &format!("/files/{version}.tar.gz"))
        }
        path if path.starts_with("/files/") => {
            let version = path.trim_start_matches("/files/").trim_end_matches(".tar.gz");
            let text = format!("values {{\n  version = {version:?}\n  path = \"sub/\"\n}}\n");
            let sub =
                "symbols \"up\" {\n  source = \"../\"\n}\nvalues {\n  version = \"sub ${symbols.up.version}\"\n}\n";
            Reply::ok(archive(&[("a.sym.hcl", &text), ("sub/b.sym.hcl", sub)]))
        }
        _ => Reply::status(404),
    })
}

fn value(sandbox: &Sandbox, expression: &str) -> String {
    let run = sandbox.run_with(&["console"], format!("{expression}\n").as_bytes());
    assert!(run.code == 0, "{run}");
    run.stdout
}

#[test]
fn libraries_of_a_registry_are_installed_and_used() {
    let host = registry();
    let fixture = r#"
//- main.tf
symbols "net" {
  source  = "r.example/team/net/test"
  version = "~> 1.0"
}
symbols "local" {
  source = "./lib"
}
module "m" {
  source = "./m"
}
output "v" {
  value = "${symbols.net.version} ${symbols.local.v} ${module.m.v}"
}
//- lib/a.sym.hcl
symbols "sub" {
  source  = "r.example/team/net/test//sub"
  version = "1.0.0"
}
values {
  v = symbols.sub.version
}
//- m/main.tf
symbols "net" {
  source  = "r.example/team/net/test"
  version = "2.0.0"
}
output "v" {
  value = symbols.net.version
}
"#;
    let sandbox = configured(&host, fixture);
    let missing = sandbox.run(&["validate", "-no-color"]);
    expect![[r#"
        exit 1
        --- stderr

        Error: Symbol library not installed

          on main.tf line 1:
           1: symbols "net" {

        The symbol library "net" from r.example/team/net/test is not installed. Run
        "yuba init" to install all symbol libraries of this configuration.

        Error: Symbol library not installed

          on lib/a.sym.hcl line 1:
           1: symbols "sub" {

        The symbol library "sub" of symbol library "local" from
        r.example/team/net/test//sub is not installed. Run "yuba init" to install all
        symbol libraries of this configuration.
    "#]]
    .assert_eq(&missing.to_string());
    let run = sandbox.run(&["get", "-no-color"]);
    expect![[r#"
        exit 0
        --- stdout
        Downloading r.example/team/net/test 1.0.0 for symbols:local.symbols:sub...
        - symbols:local.symbols:sub in .terraform/modules/symbols@local.symbols@sub/sub
        Downloading r.example/team/net/test 1.1.0 for symbols:net...
        - symbols:net in .terraform/modules/symbols@net
        Downloading r.example/team/net/test 2.0.0 for m.symbols:net...
        - m.symbols:net in .terraform/modules/m.symbols@net
        - m in m
    "#]]
    .assert_eq(&run.to_string());
    expect![[r#"{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"m","Source":"./m","Dir":"m"},{"Key":"m.symbols:net","Source":"r.example/team/net/test","Version":"2.0.0","Dir":".terraform/modules/m.symbols@net"},{"Key":"symbols:local.symbols:sub","Source":"r.example/team/net/test//sub","Version":"1.0.0","Dir":".terraform/modules/symbols@local.symbols@sub/sub"},{"Key":"symbols:net","Source":"r.example/team/net/test","Version":"1.1.0","Dir":".terraform/modules/symbols@net"}]}"#]]
    .assert_eq(&sandbox.read(".terraform/modules/modules.json"));
    assert_eq!(host.count("/m/team/net/test/versions"), 1);
    // Installed libraries stay unchanged, and no host receives a request.
    let before = host.asked().len();
    expect!["exit 0\n"].assert_eq(&sandbox.run(&["get", "-no-color"]).to_string());
    let run = sandbox.run(&["init", "-no-color"]);
    assert!(run.code == 0 && !run.stdout.contains("Downloading"), "{run}");
    assert_eq!(value(&sandbox, "symbols.net.version"), "\"1.1.0\"\n");
    let run = sandbox.run(&["apply", "-auto-approve", "-no-color"]);
    assert!(run.stdout.contains("v = \"1.1.0 sub 1.0.0 2.0.0\""), "{run}");
    // A saved plan has the libraries in it.
    sandbox.write("main.tf", sandbox.read("main.tf").replace("value = \"", "value = \"now "));
    assert_eq!(sandbox.run(&["plan", "-no-color", "-out=p"]).code, 0);
    std::fs::rename(sandbox.dir().join(".terraform/modules"), sandbox.dir().join("away")).expect("it is ours");
    let run = sandbox.run(&["apply", "-no-color", "p"]);
    assert!(run.stdout.contains("v = \"now 1.1.0 sub 1.0.0 2.0.0\""), "{run}");
    std::fs::rename(sandbox.dir().join("away"), sandbox.dir().join(".terraform/modules")).expect("it is ours");
    assert_eq!(host.asked().len(), before);
    // A directory that was removed is installed again.
    std::fs::remove_dir_all(sandbox.dir().join(".terraform/modules/m.symbols@net")).expect("it is ours");
    let run = sandbox.run(&["validate", "-no-color"]);
    assert!(run.code == 1 && run.stderr.contains("Error: Symbol library not installed"), "{run}");
    let run = sandbox.run(&["init", "-no-color"]);
    assert!(run.stdout.contains("for m.symbols:net...") && !run.stdout.contains("for symbols:net"), "{run}");
    assert_eq!(sandbox.run(&["validate", "-no-color"]).code, 0);
    // Another version or source has to be installed first.
    sandbox.write("main.tf", sandbox.read("main.tf").replace("~> 1.0", ">= 2.0"));
    let run = sandbox.run(&["validate", "-no-color"]);
    assert!(run.stderr.contains("Error: Symbol library version requirements have changed"), "{run}");
    assert!(run.stderr.contains("on main.tf line 3") && run.stderr.contains("version 1.1.0"), "{run}");
    let run = sandbox.run(&["init", "-no-color"]);
    assert!(
        run.stdout
            .starts_with("Initializing modules...\nDownloading r.example/team/net/test 2.0.0 for symbols:net...\n"),
        "{run}"
    );
    assert!(run.code == 0 && !run.stdout.contains("for m.") && !run.stdout.contains(":sub"), "{run}");
    let run = sandbox.run(&["init", "-upgrade", "-no-color"]);
    assert!(run.stdout.starts_with("Upgrading modules...\nDownloading") && run.stdout.contains("for m.symbols:net..."));
    sandbox.write("main.tf", sandbox.read("main.tf").replace("net/test\"", "net/test//sub\""));
    let run = sandbox.run(&["validate", "-no-color"]);
    assert!(run.stderr.contains("Error: Symbol library source has changed"), "{run}");
    // A version that does not exist.
    sandbox.write("main.tf", sandbox.read("main.tf").replace(">= 2.0", ">= 3.0"));
    let run = sandbox.run(&["init", "-no-color"]);
    assert!(run.code == 1 && run.stderr.contains("Error: Unresolvable module version constraint"), "{run}");
    assert!(run.stderr.contains("The newest version is 2.0.0"), "{run}");
}

#[test]
fn libraries_come_from_archives_and_paths() {
    let host = registry();
    let sandbox = sandbox(
        "//- package/lib/x.sym.hcl\nsymbols \"other\" {\n  source = \"../other\"\n}\nvalues {\n  v = symbols.other.v\n}\n\
         //- package/other/y.sym.hcl\nvalues {\n  v = \"beside\"\n}\n",
    );
    let package = sandbox.dir().join("package").display().to_string();
    let url = host.url("/files/1.0.0.tar.gz");
    let main = format!(
        "symbols \"web\" {{\n  source = \"{url}\"\n}}\nsymbols \"sub\" {{\n  source = \"{url}//s*\"\n}}\n\
         symbols \"path\" {{\n  source = \"{package}//lib\"\n}}\n"
    );
    sandbox.write("main.tf", &main);
    let run = sandbox.run(&["init", "-no-color"]);
    assert!(run.code == 0 && run.stdout.contains("- symbols:path in .terraform/modules/symbols@path/lib\n"), "{run}");
    for (expression, expect) in
        [("symbols.web.version", "1.0.0"), ("symbols.sub.version", "sub 1.0.0"), ("symbols.path.v", "beside")]
    {
        assert_eq!(value(&sandbox, expression), format!("{expect:?}\n"), "{expression}");
    }
    // The sum of an archive is checked as for modules.
    sandbox.write("main.tf", main.replace(&url, &format!("{url}?checksum=md5:00000000000000000000000000000000")));
    let run = sandbox.run(&["init", "-no-color"]);
    assert!(run.code == 1 && run.stderr.contains("Error: Failed to download module"), "{run}");
    assert!(!sandbox.dir().join(".terraform/modules/symbols@web").exists(), "{run}");
}

#[test]
fn sources_of_libraries_are_checked_as_those_of_modules() {
    let host = registry();
    let check = |arguments: &str, title: &str| {
        let sandbox = configured(&host, &format!("//- main.tf\nsymbols \"a\" {{\n{arguments}\n}}\n"));
        let run = sandbox.run(&["init", "-no-color"]);
        assert!(run.code == 1 && run.stderr.contains(&format!("Error: {title}")), "{arguments}: {run}");
        assert!(!sandbox.dir().join(".terraform/modules/symbols@a").exists(), "{arguments}");
    };
    check("source = \"./a\"\nversion = \"1.0.0\"", "Invalid registry module source address");
    check("source = \"r.example/team/net/test\"\nversion = \"x\"", "Invalid version constraint");
    check("source = \"lib\"", "Invalid module source address");
    check("source = \"${path.module}/x\"", "Variables not allowed");
    check("source = \"r.example/team/other/test\"", "Module not found");
    check("source = \"r.example/team/net/test//none\"", "Module subdirectory not found");
    check(&format!("source = \"{}\"", host.url("/none.tar.gz")), "Failed to download module");
    // Nothing is downloaded for a module with errors.
    let before = host.asked().len();
    check("source = \"r.example/team/net/test\"\n}\nlocals {\n  x {}", "Unexpected \"x\" block");
    assert_eq!(host.asked().len(), before);
}

#[test]
fn a_library_stays_in_its_package() {
    let library = |source: &str| {
        let text = format!("symbols \"out\" {{\n  source = \"{source}\"\n}}\n");
        let sandbox = sandbox("//- package/in/y.sym.hcl\nvalues {\n}\n//- out/z.sym.hcl\nvalues {\n}\n");
        sandbox.write("package/x/x.sym.hcl", &text);
        sandbox.write("package/m/main.tf", &text);
        #[cfg(unix)]
        std::os::unix::fs::symlink("../../../out", sandbox.dir().join("package/x/link")).expect("it is ours");
        sandbox
    };
    let mut sources =
        vec![("../in", false), ("../../out", true), ("../../../../out", true), ("../../../../none", true)];
    if cfg!(unix) {
        sources.push(("../x/link", true));
    }
    for (source, escapes) in sources {
        let sandbox = library(source);
        let package = sandbox.dir().join("package").display().to_string();
        for block in ["symbols \"a\"", "module \"a\""] {
            let dir = if block.starts_with('s') { "x" } else { "m" };
            sandbox.write("main.tf", format!("{block} {{\n  source = \"{package}//{dir}\"\n}}\n"));
            let run = sandbox.run(&["init", "-no-color"]);
            let refused = run.stderr.contains("Error: Local symbol library path escapes package");
            assert!(refused == escapes && (run.code == 1) == escapes, "{source} of {block}: {run}");
        }
    }
}

#[test]
fn a_library_that_includes_itself_is_installed_once() {
    let sandbox = sandbox("");
    let package = sandbox.dir().join("package").display().to_string();
    let text = format!("symbols \"again\" {{\n  source = \"{package}\"\n}}\n");
    sandbox.write("package/x.sym.hcl", &text);
    sandbox.write("main.tf", &text);
    let run = sandbox.run(&["init", "-no-color"]);
    assert!(run.code == 1 && run.stderr.contains("Error: Symbol library includes itself"), "{run}");
    assert_eq!(run.stdout.matches("Downloading").count(), 1, "{run}");
}

#[test]
fn a_backend_can_use_an_installed_library() {
    let host = registry();
    let fixture = r#"
//- main.tf
symbols "net" {
  source = "r.example/team/net/test"
}
terraform {
  backend "local" {
    path = "${symbols.net.path}t.tfstate"
  }
}
output "v" {
  value = symbols.net.version
}
"#;
    let sandbox = configured(&host, fixture);
    let run = sandbox.run(&["init", "-no-color"]);
    assert!(run.code == 0 && run.stdout.contains("Initializing the backend..."), "{run}");
    assert_eq!(run.stdout.matches("Initializing modules...").count(), 1, "{run}");
    let run = sandbox.run(&["apply", "-auto-approve", "-no-color"]);
    assert!(run.code == 0 && sandbox.read("sub/t.tfstate").contains("2.0.0"), "{run}");
    // Again, with everything in place.
    let run = sandbox.run(&["init", "-no-color"]);
    assert!(run.code == 0 && !run.stdout.contains("Downloading"), "{run}");
}

#[test]
fn programs_see_defaults_and_messages_of_libraries() {
    let sandbox = sandbox(
        "//- main.tf\nsymbols \"l\" {\n  source = \"./l.tfsym.hcl\"\n}\nvariable \"x\" {\n  default    = { a = symbols.l.v }\n  \
         deprecated = symbols.l.v\n}\noutput \"o\" {\n  value      = 1\n  deprecated = \"${symbols.l.v}!\"\n}\n\
         //- l.tfsym.hcl\nvalues {\n  v = \"from the library\"\n}\n",
    );
    let json = sandbox.run(&["show", "-json", "-config"]).stdout;
    for part in [
        r#""default":{"a":"from the library"}"#,
        r#""deprecated":"from the library""#,
        r#""deprecated":"from the library!""#,
    ] {
        assert!(json.contains(part), "{part}: {json}");
    }
}
