//! OpenTofu and Yuba on one server with the TFE API: records of `init`, workspaces, deletion, versions, variables.

use std::process::{Command, Stdio};

use yuba_testkit::Sandbox;
use yuba_testkit::servers::{Mode, TfeServer, TfeVariable, tfe_server};

pub(crate) fn all() -> [(&'static str, fn()); 6] {
    [
        ("a directory of one tool works with the other", records),
        ("workspaces by tags", workspaces_by_tags),
        ("workspaces by prefix", workspaces_by_prefix),
        ("the same requests are refused", refusals),
        ("the same versions are refused", versions),
        ("import reads the same variables", variables),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Yuba,
    Tofu,
}

const BOTH: [Who; 2] = [Who::Yuba, Who::Tofu];

/// A working directory that both tools use.
struct Directory(Sandbox);

impl Directory {
    fn new(server: &TfeServer, settings: &str) -> Directory {
        let fixture = format!(
            "//- main.tf\n{settings}\nvariable \"v\" {{\n  default = \"1\"\n}}\nresource \"terraform_data\" \"x\" {{\n  input = var.v\n}}\n\
             output \"o\" {{\n  value = {{ text = var.v, list = [1, true] }}\n}}\noutput \"s\" {{\n  value = \
             var.v\n  sensitive = true\n}}\n"
        );
        let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_yuba"), &fixture);
        sandbox.write("cli.tfrc", server.cli_configuration("ann"));
        let path = sandbox.dir().join("cli.tfrc").display().to_string();
        Directory(sandbox.env("TF_CLI_CONFIG_FILE", &path))
    }

    fn output(&self, who: Who, args: &[&str]) -> (bool, String) {
        let mut command = match who {
            Who::Yuba => self.0.command(args),
            Who::Tofu => {
                let mut tofu = Command::new("tofu");
                tofu.args(args).current_dir(self.0.dir()).env_clear().env("HOME", self.0.home());
                tofu.env("PATH", std::env::var_os("PATH").unwrap_or_default());
                tofu.env("TF_CLI_CONFIG_FILE", self.0.dir().join("cli.tfrc"));
                tofu
            }
        };
        let output = command.stdin(Stdio::null()).output().expect("because both can be started");
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.success(), text.replace(['│', '╷', '╵'], " ").split_whitespace().collect::<Vec<_>>().join(" "))
    }

    #[track_caller]
    fn done(&self, who: Who, args: &[&str]) -> String {
        let (is_success, text) = self.output(who, args);
        assert!(is_success, "{who:?} {args:?}: {text}");
        text
    }

    /// Both fail with this title.
    #[track_caller]
    fn both_fail(&self, args: &[&str], title: &str) {
        for who in BOTH {
            let (is_success, text) = self.output(who, args);
            assert!(!is_success && text.contains(title), "{who:?} {args:?}: {text}");
        }
    }
}

fn cloud(server: &TfeServer, workspaces: &str) -> String {
    let (host, organization) = (server.name(), server.organization());
    format!(
        "terraform {{\n  cloud {{\n    hostname = {host:?}\n    organization = {organization:?}\n    workspaces {{\n      {workspaces}\n    }}\n  }}\n}}\n"
    )
}

fn remote(server: &TfeServer, workspaces: &str) -> String {
    cloud(server, workspaces).replace("cloud {", "backend \"remote\" {")
}

fn records() {
    let server = tfe_server();
    let all = [
        cloud(&server, "name = \"one\""),
        remote(&server, "name = \"two\""),
        cloud(&server, "tags = [\"b\", \"a\"]\n project = \"Platform\""),
    ];
    server.create("three");
    server.change("three", |workspace| workspace.tags = vec!["a".to_owned(), "b".to_owned()]);
    for settings in all {
        for (first, second) in [(Who::Yuba, Who::Tofu), (Who::Tofu, Who::Yuba)] {
            let directory = Directory::new(&server, &settings.replace("\n project = \"Platform\"", ""));
            directory.done(first, &["init", "-input=false"]);
            let record = directory.0.read(".terraform/terraform.tfstate");
            directory.done(second, &["apply", "-auto-approve", "-no-color"]);
            directory.done(first, &["plan", "-detailed-exitcode"]);
            directory.done(second, &["init", "-input=false"]);
            let again = directory.0.read(".terraform/terraform.tfstate");
            let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("because it is JSON");
            assert_eq!(json(&record)["backend"], json(&again)["backend"], "{first:?}");
            // OpenTofu reads outputs from the server, which has them from the writer.
            let outputs = BOTH.map(|who| json(&directory.done(who, &["output", "-json"])));
            assert_eq!(outputs[0], outputs[1]);
            directory.done(first, &["plan", "-out=p", "-var=v=2"]);
            directory.done(first, &["apply", "p"]);
            directory.done(second, &["destroy", "-auto-approve", "-var=v=2"]);
        }
    }
}

fn workspaces_by_tags() {
    let server = tfe_server();
    server.set_page_size(1);
    let directory = Directory::new(&server, &cloud(&server, "tags = [\"net\"]"));
    directory.both_fail(&["init", "-input=false"], "No existing workspaces.");
    server.create("net-a");
    server.change("net-a", |workspace| workspace.tags.push("net".to_owned()));
    directory.done(Who::Yuba, &["init", "-input=false"]);
    directory.done(Who::Tofu, &["workspace", "new", "net-b"]);
    directory.done(Who::Yuba, &["workspace", "new", "net-c"]);
    let listed = BOTH.map(|who| directory.done(who, &["workspace", "list"]));
    assert_eq!(listed[0], listed[1]);
    let [ours, theirs] = ["net-c", "net-b"].map(|name| server.workspace(name).expect("because it was created"));
    assert_eq!((&ours.tags, &ours.project, &ours.version), (&theirs.tags, &theirs.project, &theirs.version));
    directory.done(Who::Tofu, &["apply", "-auto-approve"]);
    directory.done(Who::Yuba, &["workspace", "select", "net-a"]);
    directory.both_fail(&["workspace", "delete", "net-c"], "Workspace is not empty");
    directory.done(Who::Yuba, &["workspace", "delete", "-force", "net-c"]);
    directory.done(Who::Tofu, &["workspace", "delete", "net-b"]);
    assert_eq!(server.names(), ["net-a"]);
}

fn workspaces_by_prefix() {
    let server = tfe_server();
    let directory = Directory::new(&server, &remote(&server, "prefix = \"app-\""));
    directory.both_fail(&["init", "-input=false"], "No existing workspaces.");
    directory.done(Who::Yuba, &["workspace", "new", "dev"]);
    directory.done(Who::Tofu, &["apply", "-auto-approve"]);
    directory.done(Who::Tofu, &["workspace", "new", "prod"]);
    let [ours, theirs] = ["app-dev", "app-prod"].map(|name| server.workspace(name).expect("because it was created"));
    assert_eq!(ours.version, theirs.version);
    let listed = BOTH.map(|who| directory.done(who, &["workspace", "list"]));
    assert_eq!(listed[0], listed[1]);
    directory.done(Who::Yuba, &["workspace", "select", "dev"]);
    directory.done(Who::Yuba, &["plan", "-detailed-exitcode"]);
    directory.done(Who::Yuba, &["workspace", "delete", "prod"]);
    assert_eq!(server.names(), ["app-dev"]);
}

fn refusals() {
    let server = tfe_server();
    let settings = cloud(&server, "name = \"app\"");
    let directory = Directory::new(&server, &settings);
    directory.both_fail(&["plan"], "Cloud backend initialization required");
    for flag in ["-reconfigure", "-migrate-state", "-backend-config=organization=x"] {
        directory.both_fail(&["init", flag], "Invalid command-line option");
    }
    let of = |from: &str, to: &str| Directory::new(&server, &settings.replace(from, to));
    let organization = format!("organization = {:?}", server.organization());
    of("name = \"app\"", "").both_fail(&["init"], "Invalid workspaces configuration");
    of("name = \"app\"", "name = \"a\"\ntags = [\"b\"]").both_fail(&["init"], "Invalid workspaces configuration");
    of(&organization, "").both_fail(&["init"], "Invalid or missing required argument");
    of("\"acme\"", "\"other\"").both_fail(&["init"], "Failed to read organization \"other\" at host");
    of("cloud {", "backend \"remote\" {").both_fail(&["plan"], "Backend initialization required");
    of(&format!("hostname = {:?}", server.name()), "")
        .both_fail(&["init"], "Hostname is required for the cloud backend");
    server.set_api_version(Some("2.4"));
    directory.both_fail(&["init"], "Unsupported cloud backend version");
    server.set_api_version(Some("2.5"));
    directory.0.write("cli.tfrc", server.cli_configuration("ann").replace("token-ann", ""));
    directory.both_fail(&["init"], "Required token could not be found");
}

fn versions() {
    let server = tfe_server();
    for (settings, title) in [
        (cloud(&server, "name = \"app\""), "Incompatible TF version"),
        (remote(&server, "name = \"app\""), "OpenTofu version mismatch"),
    ] {
        let directory = Directory::new(&server, &settings);
        directory.done(Who::Tofu, &["init"]);
        directory.done(Who::Yuba, &["apply", "-auto-approve"]);
        server.change("app", |workspace| {
            workspace.mode = Mode::Remote;
            workspace.version = "1.9.3".to_owned();
        });
        directory.both_fail(&["state", "rm", "terraform_data.x"], title);
        for who in BOTH {
            let text = directory.done(who, &["state", "rm", "-dry-run", "-ignore-remote-version", "terraform_data.x"]);
            assert!(text.contains(title), "{who:?}: {text}");
        }
        server.change("app", |workspace| workspace.mode = Mode::Local);
        directory.done(Who::Tofu, &["destroy", "-auto-approve"]);
    }
}

fn variables() {
    let server = tfe_server();
    let directory = Directory::new(&server, &cloud(&server, "name = \"app\""));
    directory.0.write("more.tf", "variable \"id\" {}\noutput \"id\" {\n  value = var.id\n}\n");
    directory.done(Who::Yuba, &["init"]);
    server.change("app", |workspace| {
        workspace.mode = Mode::Remote;
        workspace.version = "latest".to_owned();
        let variable = |key: &str, value: &str, hcl: bool, sensitive: bool| TfeVariable {
            key: key.to_owned(),
            value: value.to_owned(),
            category: "terraform".to_owned(),
            hcl,
            sensitive,
        };
        workspace.variables = vec![variable("id", "{ a = [1] }", true, false), variable("v", "hush", false, true)];
    });
    for who in BOTH {
        let text = directory.done(who, &["import", "-no-color", "terraform_data.x", "some-id"]);
        assert!(text.contains("Value for var.v unavailable"), "{who:?}: {text}");
        directory.done(who, &["state", "rm", "terraform_data.x"]);
    }
    server.change("app", |workspace| workspace.variables[0].value = "var.x".to_owned());
    directory.both_fail(&["import", "-no-color", "terraform_data.x", "some-id"], "Invalid expression for var.id");
}
