//! The record of a backend in `.terraform/terraform.tfstate`: each tool accepts what the other has written, without another `init`.

use yuba_testkit::{Host, Reply, Sandbox};

/// A `backend` block with what stands beside it, and the flags of `init`.
struct Case {
    name: &'static str,
    files: &'static str,
    init: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

const fn case(name: &'static str, files: &'static str, init: &'static [&'static str]) -> Case {
    Case { name, files, init, environment: &[] }
}

const CASES: &[Case] = &[
    case(
        "all arguments",
        "terraform {\n  backend \"local\" {\n    path = \"a\"\n    workspace_dir = \"w\"\n  }\n}\n",
        &[],
    ),
    case("no arguments", "terraform {\n  backend \"local\" {}\n}\n", &[]),
    case("-backend-config", "terraform {\n  backend \"local\" {}\n}\n", &["-backend-config=path=b"]),
    case(
        "-backend-config over the block",
        "terraform {\n  backend \"local\" {\n    path = \"a \\\"é\\\" \\\\ \\n\\t\"\n  }\n}\n",
        &["-backend-config=path=b"],
    ),
    Case {
        name: "a variable of the environment",
        files: "variable \"p\" {}\nterraform {\n  backend \"local\" {\n    path = \"${var.p}.tfstate\"\n  }\n}\n",
        init: &["-backend-config=workspace_dir=w"],
        environment: &[("TF_VAR_p", "from-environment")],
    },
    case(
        "maps and numbers",
        "terraform {\n  backend \"http\" {\n    address = \"SERVER/s\"\n    headers = { X-A = \"1\", X-B = \"two \\\"q\\\"\" }\n    \
         retry_max = 3\n  }\n}\n",
        &["-backend-config=update_method=PUT"],
    ),
    case("in memory", "terraform {\n  backend \"inmem\" {}\n}\n", &[]),
];

/// Tests by name.
pub(crate) fn all() -> Vec<(&'static str, impl FnOnce() + Send + 'static)> {
    CASES.iter().map(|case| (case.name, move || accepted(case))).collect()
}

fn accepted(case: &Case) {
    for yuba_begins in [true, false] {
        // There is no state, whatever was written.
        let host = Host::start(|asked| Reply::status(if asked.method == "GET" { 404 } else { 200 }));
        let resource = "resource \"terraform_data\" \"x\" {}\n";
        let fixture = format!("//- main.tf\n{resource}{}", case.files.replace("SERVER", &host.url("")));
        let mut sandbox = Sandbox::new(env!("CARGO_BIN_EXE_yuba"), &fixture);
        for (name, value) in case.environment {
            sandbox = sandbox.env(name, value);
        }
        let run = |is_yuba: bool, args: &[&str]| {
            let mut command = match is_yuba {
                true => sandbox.command(args),
                false => {
                    let mut tofu = sandbox.command_of("tofu", args);
                    tofu.envs(case.environment.iter().copied());
                    tofu
                }
            };
            let output = command.output().expect("because both can be started");
            let who = if is_yuba { "yuba" } else { "tofu" };
            assert!(output.status.success(), "{}: {who} {args:?}: {output:?}", case.name);
        };
        run(yuba_begins, &[&["init", "-input=false"], case.init].concat());
        let record = sandbox.read(".terraform/terraform.tfstate");
        run(!yuba_begins, &["plan", "-input=false"]);
        run(!yuba_begins, &["init", "-input=false"]);
        run(!yuba_begins, &["apply", "-auto-approve", "-input=false"]);
        run(yuba_begins, &["plan", "-input=false"]);
        let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("because records are JSON");
        assert_eq!(json(&record), json(&sandbox.read(".terraform/terraform.tfstate")), "{}", case.name);
    }
}
