//! The `remote` backend and the `cloud` block with the real executable, on the TFE server of `testkit`.

use libtest_mimic::Trial;
use yuba_testkit::servers::{Fault, Mode, On, TfeServer, TfeVariable, tfe_server};
use yuba_testkit::{Run, Sandbox};

use crate::{fails, flowing, needs, ok, yuba};

pub(crate) fn trials() -> Vec<Trial> {
    let all: [(&str, fn()); 15] = [
        ("life of a state with a cloud block", life_with_a_cloud_block),
        ("life of a state with the remote backend", life_with_the_remote_backend),
        ("workspaces by prefix", workspaces_by_prefix),
        ("workspaces by tags", workspaces_by_tags),
        ("init names the first workspace", init_names_the_first_workspace),
        ("operations of remote workspaces are refused", operations_of_remote_workspaces_are_refused),
        ("versions of workspaces are checked", versions_of_workspaces_are_checked),
        ("import uses variables of the workspace", import_uses_variables_of_the_workspace),
        ("flags that a cloud block does not have", flags_that_a_cloud_block_does_not_have),
        ("local states move to a cloud block and back", local_states_move_to_a_cloud_block_and_back),
        ("several workspaces move to tags", several_workspaces_move_to_tags),
        ("workspaces of a prefix move to tags", workspaces_of_a_prefix_move_to_tags),
        ("a state moves to a prefix", a_state_moves_to_a_prefix),
        ("a state that cannot be saved is not lost", a_state_that_cannot_be_saved_is_not_lost),
        ("other configurations read outputs", other_configurations_read_outputs),
    ];
    all.into_iter().map(|(name, test)| needs(&[], &format!("tfe: {name}"), test)).collect()
}

const RESOURCE: &str = "variable \"v\" {\n  default = \"1\"\n}\nresource \"terraform_data\" \"x\" {\n  input = var.v\n}\noutput \"o\" {\n  \
                        value = terraform_data.x.output\n}\n";

fn cloud(server: &TfeServer, workspaces: &str) -> String {
    let (host, organization) = (server.name(), server.organization());
    format!(
        "terraform {{\n  cloud {{\n    hostname = {host:?}\n    organization = {organization:?}\n    workspaces {{\n      {workspaces}\n    }}\n  }}\n}}\n"
    )
}

fn remote(server: &TfeServer, workspaces: &str) -> String {
    cloud(server, workspaces).replace("cloud {", "backend \"remote\" {")
}

/// A working directory with these settings and a resource, for `ann`.
fn sandbox(server: &TfeServer, settings: &str) -> Sandbox {
    let sandbox = yuba(&format!("//- main.tf\n{settings}\n{RESOURCE}"));
    sandbox.write("cli.tfrc", server.cli_configuration("ann"));
    let path = sandbox.dir().join("cli.tfrc").display().to_string();
    sandbox.env("TF_CLI_CONFIG_FILE", &path)
}

fn configure(sandbox: &Sandbox, settings: &str) {
    sandbox.write("main.tf", format!("{settings}\n{RESOURCE}"));
}

/// Runs a command with lines to read, which must succeed.
#[track_caller]
fn answered(sandbox: &Sandbox, args: &[&str], lines: &str) -> Run {
    let run = sandbox.run_with(args, lines.as_bytes());
    assert_eq!(run.code, 0, "{args:?} failed: {run}");
    run
}

#[track_caller]
fn serial(server: &TfeServer, workspace: &str) -> Option<u64> {
    let found = server.workspace(workspace)?;
    let state: serde_json::Value = serde_json::from_slice(found.state()?).expect("because it is a state");
    state["serial"].as_u64()
}

fn life_with_a_cloud_block() {
    let server = tfe_server();
    let dir = sandbox(&server, &cloud(&server, "name = \"app\""));
    fails(&dir, &["plan"], &["Cloud backend initialization required"]);
    let run = ok(&dir, &["init"]);
    let said = flowing(&run.to_string());
    assert!(
        said.contains("Initializing cloud backend...")
            && said.contains("Cloud backend has been successfully initialized!"),
        "{said}"
    );
    assert_eq!(server.names(), ["app"]);
    assert_eq!(dir.read(".terraform/environment"), "app");
    ok(&dir, &["apply", "-auto-approve"]);
    assert_eq!(serial(&server, "app"), Some(1));
    assert!(server.workspace("app").is_some_and(|found| found.lock.is_none()));
    assert_eq!(ok(&dir, &["output", "-raw", "o"]).stdout, "1");
    ok(&dir, &["plan", "-detailed-exitcode"]);
    ok(&dir, &["apply", "-auto-approve", "-var=v=2"]);
    assert_eq!(ok(&dir, &["state", "list"]).stdout, "terraform_data.x\n");
    ok(&dir, &["state", "rm", "terraform_data.x"]);
    ok(&dir, &["plan", "-out=p"]);
    ok(&dir, &["apply", "p"]);
    ok(&dir, &["destroy", "-auto-approve"]);
    assert_eq!(ok(&dir, &["workspace", "show"]).stdout, "app\n");
    fails(&dir, &["workspace", "new", "other"], &["workspaces not supported"]);
    fails(&dir, &["workspace", "delete", "app"], &["is your active workspace"]);
    let logged = dir.env("TF_LOG", "trace");
    let run = ok(&logged, &["apply", "-auto-approve"]);
    assert!(run.stderr.contains("current-state-version") && !run.stderr.contains("token-ann"), "{}", run.stderr);
}

fn life_with_the_remote_backend() {
    let server = tfe_server();
    let dir = sandbox(&server, &remote(&server, "name = \"app\""));
    ok(&dir, &["init"]);
    ok(&dir, &["apply", "-auto-approve"]);
    assert_eq!(serial(&server, "app"), Some(1));
    fails(&dir, &["workspace", "list"], &["Error loading workspaces", "a single state"]);
    let pulled = ok(&dir, &["state", "pull"]).stdout;
    let newer = pulled.replace("\"serial\": 1,", "\"serial\": 7,").replace("\"serial\":1,", "\"serial\":7,");
    assert_ne!(newer, pulled);
    dir.write("pulled.json", newer);
    ok(&dir, &["state", "push", "pulled.json"]);
    // A state that replaces another one gets the serial after its own.
    assert_eq!(serial(&server, "app"), Some(8));
    dir.write("old.json", pulled);
    assert_ne!(dir.run(&["state", "push", "old.json"]).code, 0);
    ok(&dir, &["state", "push", "-force", "old.json"]);
    assert_eq!(serial(&server, "app"), Some(2));
    let lock = ("users".to_owned(), "user-bob".to_owned(), "Locked by OpenTofu".to_owned());
    server.change("app", |workspace| workspace.lock = Some(lock));
    fails(&dir, &["plan"], &["Error acquiring the state lock", "acme/app"]);
    fails(&dir, &["force-unlock", "-force", "wrong"], &["Failed to unlock state"]);
    ok(&dir, &["force-unlock", "-force", "acme/app"]);
    ok(&dir, &["plan"]);
    // -backend-config is for backend blocks.
    configure(&dir, &remote(&server, "name = \"app\"").replace("organization = \"acme\"", ""));
    fails(&dir, &["init", "-input=false", "-reconfigure"], &["required field is not set"]);
    ok(&dir, &["init", "-reconfigure", "-backend-config=organization=acme"]);
    ok(&dir, &["plan"]);
}

fn workspaces_by_prefix() {
    let server = tfe_server();
    let dir = sandbox(&server, &remote(&server, "prefix = \"app-\""));
    // Quirk: the first init fails, and its record lets `workspace new` work.
    fails(&dir, &["init", "-input=false"], &["No existing workspaces."]);
    ok(&dir, &["workspace", "new", "dev"]);
    ok(&dir, &["workspace", "new", "prod"]);
    assert_eq!(server.names(), ["app-dev", "app-prod"]);
    ok(&dir, &["init"]);
    ok(&dir, &["apply", "-auto-approve"]);
    assert_eq!((serial(&server, "app-dev"), serial(&server, "app-prod")), (None, Some(1)));
    assert_eq!(flowing(&ok(&dir, &["workspace", "list"]).stdout), "dev * prod");
    ok(&dir, &["workspace", "select", "dev"]);
    fails(&dir, &["workspace", "select", "default"], &["default"]);
    fails(&dir, &["workspace", "delete", "prod"], &["Workspace is not empty"]);
    ok(&dir, &["workspace", "delete", "-force", "prod"]);
    assert_eq!(server.names(), ["app-dev"]);
    ok(&dir, &["workspace", "select", "-or-create", "new"]);
    assert_eq!(server.names(), ["app-dev", "app-new"]);
    let other = sandbox(&server, &remote(&server, "prefix = \"app-\""));
    fails(&other, &["init", "-input=false"], &["Currently selected workspace \"default\" does not exist"]);
    answered(&other, &["init"], "2\n");
    assert_eq!(ok(&other, &["workspace", "show"]).stdout, "new\n");
}

fn workspaces_by_tags() {
    let server = tfe_server();
    server.create("unrelated");
    server.create("net-a");
    server.change("net-a", |workspace| workspace.tags = vec!["net".to_owned(), "x".to_owned()]);
    let dir = sandbox(&server, &cloud(&server, "tags = [\"net\"]"));
    ok(&dir, &["init", "-input=false"]);
    assert_eq!(ok(&dir, &["workspace", "show"]).stdout, "net-a\n");
    ok(&dir, &["workspace", "new", "net-b"]);
    assert_eq!(server.workspace("net-b").expect("because it was created").tags, ["net"]);
    assert_eq!(flowing(&ok(&dir, &["workspace", "list"]).stdout), "net-a * net-b");
    ok(&dir, &["apply", "-auto-approve"]);
    ok(&dir, &["workspace", "select", "net-a"]);
    fails(&dir, &["workspace", "delete", "net-b"], &["Workspace is not empty"]);
    ok(&dir, &["workspace", "delete", "-force", "net-b"]);
    assert_eq!(server.names(), ["unrelated", "net-a"]);
    // The block selects other workspaces: no state moves.
    configure(&dir, &cloud(&server, "tags = [\"net\", \"y\"]"));
    fails(&dir, &["plan"], &["Cloud backend initialization required"]);
    let run = answered(&dir, &["init"], "net-c\n");
    assert!(run.to_string().contains("Cloud backend configuration has changed."), "{run}");
    assert_eq!(server.workspace("net-c").expect("because it was created").tags, ["net", "y"]);
    let elsewhere = sandbox(&server, &cloud(&server, "tags = [\"net\"]")).env("TF_WORKSPACE", "unrelated");
    fails(&elsewhere, &["init"], &["Invalid workspace selection"]);
}

fn init_names_the_first_workspace() {
    let server = tfe_server();
    let dir = sandbox(&server, &cloud(&server, "tags = [\"net\"]\n project = \"Platform\""));
    fails(&dir, &["init", "-input=false"], &["No existing workspaces."]);
    let run = dir.run_with(&["init"], b"\n");
    assert!(run.code == 1 && run.to_string().contains("Couldn't create initial workspace: no name provided"), "{run}");
    let run = answered(&dir, &["init"], "first\n");
    assert!(run.to_string().contains("No workspaces found."), "{run}");
    assert_eq!((server.names(), server.projects().len()), (vec!["first".to_owned()], 2));
    ok(&dir, &["apply", "-auto-approve"]);
    assert_eq!(serial(&server, "first"), Some(1));
}

fn operations_of_remote_workspaces_are_refused() {
    let server = tfe_server();
    for (settings, mode) in
        [(cloud(&server, "name = \"app\""), Mode::Remote), (remote(&server, "name = \"app\""), Mode::Agent)]
    {
        server.set_mode(mode);
        let dir = sandbox(&server, &settings);
        ok(&dir, &["init"]);
        server.change("app", |workspace| workspace.mode = mode);
        for args in [&["plan"][..], &["apply", "-auto-approve"], &["destroy", "-auto-approve"], &["refresh"]] {
            fails(
                &dir,
                args,
                &["Remote operations not supported", "Set the execution mode of the workspace to \"local\""],
            );
        }
        assert!(server.workspace("app").is_some_and(|found| found.lock.is_none()));
        ok(&dir, &["state", "pull"]);
        ok(&dir, &["output"]);
        ok(&dir, &["show"]);
        let forced = dir.env("TF_FORCE_LOCAL_BACKEND", "1");
        ok(&forced, &["plan"]);
    }
    server.without_operations();
    let dir = sandbox(&server, &cloud(&server, "name = \"app\""));
    ok(&dir, &["init"]);
    ok(&dir, &["plan"]);
}

fn versions_of_workspaces_are_checked() {
    let server = tfe_server();
    let cases = [
        (cloud(&server, "name = \"app\""), "Incompatible TF version"),
        (remote(&server, "name = \"app\""), "OpenTofu version mismatch"),
    ];
    for (settings, title) in cases {
        let dir = sandbox(&server, &settings);
        ok(&dir, &["init"]);
        ok(&dir, &["apply", "-auto-approve"]);
        server.change("app", |workspace| {
            workspace.mode = Mode::Remote;
            workspace.version = "1.9.3".to_owned();
        });
        fails(&dir, &["state", "mv", "terraform_data.x", "terraform_data.y"], &[title, "1.9.3".trim_end_matches(".3")]);
        fails(&dir, &["taint", "terraform_data.x"], &[title]);
        let run = ok(&dir, &["state", "mv", "-ignore-remote-version", "terraform_data.x", "terraform_data.y"]);
        assert!(run.to_string().contains(title), "{run}");
        ok(&dir, &["state", "list"]);
        for version in ["1.12.0", "latest"] {
            server.change("app", |workspace| workspace.version = version.to_owned());
            ok(&dir, &["state", "rm", "-dry-run", "terraform_data.y"]);
        }
        server.change("app", |workspace| workspace.mode = Mode::Local);
        ok(&dir, &["destroy", "-auto-approve"]);
    }
}

fn import_uses_variables_of_the_workspace() {
    let server = tfe_server();
    let dir = sandbox(&server, &cloud(&server, "name = \"app\""));
    dir.write(
        "more.tf",
        "variable \"id\" {}\nvariable \"secret\" {\n  default = \"\"\n}\noutput \"id\" {\n  value = var.id\n}\n",
    );
    ok(&dir, &["init"]);
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
        workspace.variables = vec![variable("id", "[\"a\"]", true, false), variable("secret", "hush", false, true)];
    });
    let run = ok(&dir, &["import", "terraform_data.x", "some-id"]);
    assert!(run.to_string().contains("Value for var.secret unavailable"), "{run}");
    assert_eq!(ok(&dir, &["output", "-json", "id"]).stdout.trim(), "[\"a\"]");
    ok(&dir, &["state", "rm", "terraform_data.x"]);
    ok(&dir, &["import", "-var=id=flag", "-var=secret=s", "terraform_data.x", "some-id"]);
    assert_eq!(ok(&dir, &["output", "-raw", "id"]).stdout, "flag");
    server.change("app", |workspace| workspace.variables[0].value = "var.other".to_owned());
    fails(&dir, &["import", "terraform_data.x", "some-id"], &["Invalid expression for var.id"]);
}

fn flags_that_a_cloud_block_does_not_have() {
    let server = tfe_server();
    let settings = cloud(&server, "name = \"app\"");
    let dir = sandbox(&server, &settings);
    for flag in ["-reconfigure", "-migrate-state", "-force-copy", "-backend-config=organization=other"] {
        fails(&dir, &["init", flag], &["Invalid command-line option"]);
    }
    ok(&dir, &["init"]);
    fails(&dir, &["init", "-reconfigure"], &["Invalid command-line option"]);
    ok(&dir, &["init", "-migrate-state"]);
    configure(&dir, &format!("{settings}\nterraform {{\n  backend \"local\" {{}}\n}}"));
    fails(&dir, &["init"], &["cloud"]);
    configure(&dir, "terraform {\n  backend \"cloud\" {}\n}");
    fails(&dir, &["init"], &["Unsupported backend type", "cloud"]);
    for kind in ["oss", "cos"] {
        configure(&dir, &format!("terraform {{\n  backend {kind:?} {{}}\n}}"));
        fails(&dir, &["init"], &["does not support the backend", "Use OpenTofu with this backend"]);
    }
    configure(&dir, &settings.replace(&server.name(), "localhost:1"));
    fails(&dir, &["init"], &["Failed to request discovery document"]);
    let without_token = sandbox(&server, &settings);
    without_token.write("cli.tfrc", server.cli_configuration("ann").replace("token-ann", ""));
    fails(&without_token, &["init"], &["Required token could not be found", "yuba login"]);
    without_token.write("cli.tfrc", server.cli_configuration("ann").replace("token-ann", "wrong"));
    let run = fails(&without_token, &["init"], &["Failed to read organization \"acme\""]);
    assert!(!run.to_string().contains("wrong"), "{run}");
}

fn local_states_move_to_a_cloud_block_and_back() {
    let server = tfe_server();
    let dir = sandbox(&server, "");
    ok(&dir, &["init"]);
    ok(&dir, &["apply", "-auto-approve"]);
    let settings = cloud(&server, "name = \"app\"");
    configure(&dir, &settings);
    fails(
        &dir,
        &["init", "-input=false"],
        &["Can't ask approval for state migration when interactive input is disabled."],
    );
    fails(&dir, &["init", "-migrate-state"], &["Invalid command-line option"]);
    let run = answered(&dir, &["init"], "yes\n");
    assert!(run.to_string().contains("Do you wish to proceed?"), "{run}");
    assert_eq!(serial(&server, "app"), Some(1));
    ok(&dir, &["plan", "-detailed-exitcode"]);
    configure(&dir, "");
    fails(&dir, &["plan"], &["Backend initialization required"]);
    fails(&dir, &["init"], &["Backend configuration changed"]);
    let run = answered(&dir, &["init", "-migrate-state"], "yes\n");
    assert!(run.to_string().contains("Migrating from cloud backend to local state."), "{run}");
    ok(&dir, &["plan", "-detailed-exitcode"]);
    assert_eq!(ok(&dir, &["workspace", "show"]).stdout, "default\n");
    // Both have a state now, and "no" keeps that of the server.
    ok(&dir, &["apply", "-auto-approve", "-var=v=2"]);
    configure(&dir, &settings);
    let run = answered(&dir, &["init"], "yes\nno\n");
    assert!(run.to_string().contains("Do you want to copy existing state to cloud backend?"), "{run}");
    assert_eq!(ok(&dir, &["output", "-raw", "o"]).stdout, "1");
}

/// A local directory whose workspaces have states of their own.
fn with_local_workspaces(server: &TfeServer) -> Sandbox {
    let dir = sandbox(server, "");
    ok(&dir, &["init"]);
    ok(&dir, &["apply", "-auto-approve", "-var=v=default"]);
    for name in ["dev", "prod"] {
        ok(&dir, &["workspace", "new", name]);
        ok(&dir, &["apply", "-auto-approve", &format!("-var=v={name}")]);
    }
    dir
}

fn several_workspaces_move_to_tags() {
    let server = tfe_server();
    let dir = with_local_workspaces(&server);
    configure(&dir, &cloud(&server, "tags = [\"net\"]"));
    let run = dir.run_with(&["init"], b"main\n1\nno-asterisk\n");
    assert!(run.code == 1 && run.to_string().contains("The pattern must have an '*'"), "{run}");
    let run = answered(&dir, &["init"], "main\n1\nnet-*\n");
    assert!(run.to_string().contains("Migration complete! Your workspaces are as follows:"), "{run}");
    assert_eq!(server.names(), ["net-main", "net-dev", "net-prod"]);
    assert_eq!(ok(&dir, &["workspace", "show"]).stdout, "net-prod\n");
    assert_eq!(ok(&dir, &["output", "-raw", "o"]).stdout, "prod");
    ok(&dir, &["workspace", "select", "net-main"]);
    assert_eq!(ok(&dir, &["output", "-raw", "o"]).stdout, "default");
    // One workspace of several.
    let single = with_local_workspaces(&server);
    configure(&single, &cloud(&server, "name = \"single\""));
    let run = single.run_with(&["init"], b"no\n");
    assert!(run.code == 1 && run.to_string().contains("Migration aborted by user."), "{run}");
    answered(&single, &["init"], "yes\n");
    assert_eq!(ok(&single, &["output", "-raw", "o"]).stdout, "prod");
}

fn workspaces_of_a_prefix_move_to_tags() {
    let server = tfe_server();
    let dir = sandbox(&server, &remote(&server, "prefix = \"app-\""));
    dir.run(&["init", "-input=false"]);
    for name in ["dev", "prod"] {
        ok(&dir, &["workspace", "new", name]);
        ok(&dir, &["apply", "-auto-approve", &format!("-var=v={name}")]);
    }
    configure(&dir, &cloud(&server, "tags = [\"net\"]"));
    let run = answered(&dir, &["init"], "yes\n");
    assert!(run.to_string().contains("Migrating from backend \"remote\" to cloud backend."), "{run}");
    assert_eq!(server.workspace("app-dev").expect("because it was created").tags, ["net"]);
    assert_eq!(ok(&dir, &["workspace", "show"]).stdout, "app-prod\n");
    ok(&dir, &["plan", "-detailed-exitcode", "-var=v=prod"]);
}

fn a_state_moves_to_a_prefix() {
    let server = tfe_server();
    let dir = sandbox(&server, "");
    ok(&dir, &["init"]);
    ok(&dir, &["apply", "-auto-approve"]);
    configure(&dir, &remote(&server, "prefix = \"app-\""));
    let run = answered(&dir, &["init"], "main\nyes\n");
    assert!(run.to_string().contains("only allows named workspaces!"), "{run}");
    assert_eq!((server.names(), serial(&server, "app-main")), (vec!["app-main".to_owned()], Some(1)));
    assert_eq!(ok(&dir, &["workspace", "show"]).stdout, "main\n");
    ok(&dir, &["plan", "-detailed-exitcode"]);
    configure(&dir, "");
    ok(&dir, &["init", "-force-copy"]);
    assert_eq!(flowing(&ok(&dir, &["workspace", "list"]).stdout), "default * main");
}

fn a_state_that_cannot_be_saved_is_not_lost() {
    let server = tfe_server();
    let dir = sandbox(&server, &cloud(&server, "name = \"app\""));
    ok(&dir, &["init"]);
    server.fail(On::Path("POST", "/state-versions"), Fault::Status(403, None), usize::MAX);
    fails(&dir, &["apply", "-auto-approve"], &["Failed to save state", "errored.tfstate"]);
    server.clear_faults();
    ok(&dir, &["state", "push", "errored.tfstate"]);
    ok(&dir, &["plan", "-detailed-exitcode"]);
    // The upload fails: the server has a state version without content, which is not a state.
    server.fail(On::Method("PUT"), Fault::Status(403, None), usize::MAX);
    fails(&dir, &["apply", "-auto-approve", "-var=v=2"], &["Failed to save state", "errored.tfstate"]);
    server.clear_faults();
    ok(&dir, &["state", "push", "errored.tfstate"]);
    ok(&dir, &["plan", "-detailed-exitcode", "-var=v=2"]);
}

fn other_configurations_read_outputs() {
    let server = tfe_server();
    let dir = sandbox(&server, &cloud(&server, "name = \"app\""));
    ok(&dir, &["init"]);
    ok(&dir, &["apply", "-auto-approve", "-var=v=shared"]);
    let host = server.name();
    let reader = sandbox(&server, "");
    reader.write(
        "more.tf",
        format!(
            "data \"terraform_remote_state\" \"remote\" {{\n  backend = \"remote\"\n  config = {{\n    hostname = {host:?}\n    organization = \
             \"acme\"\n    workspaces = {{ name = \"app\" }}\n  }}\n}}\ndata \"terraform_remote_state\" \"cloud\" {{\n  backend = \"cloud\"\n  \
             workspace = \"app\"\n  config = {{\n    hostname = {host:?}\n    organization = \"acme\"\n    workspaces = {{ name = \"app\" \
             }}\n  }}\n}}\noutput \"both\" {{\n  value = [data.terraform_remote_state.remote.outputs.o, \
             data.terraform_remote_state.cloud.outputs.o]\n}}\n"
        ),
    );
    ok(&reader, &["init"]);
    ok(&reader, &["apply", "-auto-approve"]);
    assert_eq!(ok(&reader, &["output", "-json", "both"]).stdout.trim(), "[\"shared\",\"shared\"]");
}
