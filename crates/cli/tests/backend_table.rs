//! `init` and the commands around it with every change of backend: from none to one, from one to another, back to none, with every
//! flag, with prompts answered in every way, and with one and with several workspaces on both sides.
//!
//! `backend_table.txt` has the outcomes of OpenTofu 1.12.6. To observe them again, set `YUBA_TABLE_PEER` to the path of the
//! `tofu` executable and run this test: it writes the file instead of comparing.
//!
//! A scenario is a list of steps: see [`Stage::step`]. The outcome has the titles, prompts and status lines of each command
//! in their order, its exit code, and at the end the record of `init` and the content of every state.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use yuba_testkit::{Host, Reply, Sandbox};

static SCENARIOS: LazyLock<String> = LazyLock::new(|| {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/backend_scenarios.txt");
    std::fs::read_to_string(path).expect("because the scenarios are beside the test")
});

/// A server that stores states by path, with locks, as the `http` backend expects it.
struct StateServer {
    host: Host,
    states: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
}

#[derive(Default)]
struct Shelf {
    states: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    locks: Mutex<BTreeMap<String, String>>,
}

impl StateServer {
    fn start() -> StateServer {
        let shelf = Shelf::default();
        let states = Arc::clone(&shelf.states);
        let host = Host::start(move |asked| {
            let path = asked.path().to_owned();
            let mut states = shelf.states.lock().expect("because no thread panics with it");
            let mut locks = shelf.locks.lock().expect("because no thread panics with it");
            match asked.method.as_str() {
                _ if path.starts_with("/broken") => Reply::status(403),
                "GET" => states.get(&path).map_or_else(|| Reply::status(404), |content| Reply::ok(content.clone())),
                "POST" => {
                    states.insert(path, asked.body.clone().into_bytes());
                    Reply::status(200)
                }
                "DELETE" => {
                    states.remove(&path);
                    Reply::status(200)
                }
                "LOCK" => match locks.get(&path) {
                    Some(holder) => Reply { status: 423, ..Reply::ok(holder.clone()) },
                    None => {
                        locks.insert(path, asked.body.clone());
                        Reply::status(200)
                    }
                },
                "UNLOCK" => {
                    locks.remove(&path);
                    Reply::status(200)
                }
                _ => Reply::status(405),
            }
        });
        StateServer { host, states }
    }
}

/// A working directory in which a scenario is played.
struct Stage {
    sandbox: Sandbox,
    server: StateServer,
    told: String,
}

impl Stage {
    fn new(program: &str) -> Stage {
        let sandbox = Sandbox::new(program, "//- main.tf\noutput \"o\" {\n  value = 1\n}\n");
        Stage { sandbox, server: StateServer::start(), told: String::new() }
    }

    /// Does one step:
    /// - `backend none` or `backend KIND NAME=VALUE ...` writes the block. `SERVER` stands for the URL of the state server.
    /// - `file PATH TEXT` writes a file, `remove PATH` removes one.
    /// - `state PATH OUTPUT SERIAL` writes a state file, `remote NAME OUTPUT SERIAL` a state of the server. States with the same
    ///   output have the same lineage.
    /// - `env NAME=VALUE` sets an environment variable for the next command.
    /// - `run ARGUMENTS` runs the program, `run ARGUMENTS < ANSWER, ANSWER` with answers to its prompts.
    fn step(&mut self, step: &str, env: &mut Vec<(String, String)>) {
        let (verb, rest) = step.split_once(' ').unwrap_or((step, ""));
        let rest = rest.replace("SERVER", &self.server.host.url(""));
        let words: Vec<&str> = rest.split(' ').collect();
        match (verb, words.as_slice()) {
            ("backend", ["none"]) => self.sandbox.write("backend.tf", ""),
            ("backend", [kind, arguments @ ..]) => {
                let mut text = format!("terraform {{\n  backend \"{kind}\" {{\n");
                for argument in arguments {
                    let (name, value) = argument.split_once('=').expect("because scenarios are well-formed");
                    let _ = match value.strip_prefix('!') {
                        Some(expression) => writeln!(text, "    {name} = {expression}"),
                        None => writeln!(text, "    {name} = \"{value}\""),
                    };
                }
                self.sandbox.write("backend.tf", text + "  }\n}\n");
            }
            ("file", [path, ..]) => {
                self.sandbox.write(path, rest[path.len()..].trim().replace("\\n", "\n") + "\n");
            }
            ("remove", [path]) => {
                let path = self.sandbox.dir().join(path);
                let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
            }
            ("state", [path, output, serial]) => self.sandbox.write(path, state(output, serial)),
            ("remote", [name, output, serial]) => {
                let mut states = self.server.states.lock().expect("because no thread panics with it");
                states.insert(format!("/{name}"), state(output, serial).into_bytes());
            }
            ("env", [_, ..]) => {
                let (name, value) = rest.split_once('=').expect("because scenarios are well-formed");
                env.push((name.to_owned(), value.to_owned()));
            }
            ("run", _) => {
                let (command, answers) = rest.split_once(" < ").unwrap_or((&rest, ""));
                let answers: Vec<&str> = answers.split(", ").filter(|answer| !answer.is_empty()).collect();
                let shown = step.replace(&self.server.host.url(""), "SERVER");
                let _ = writeln!(self.told, "$ {}", shown.strip_prefix("run ").unwrap_or_default());
                self.run(command, &answers, env);
                env.clear();
            }
            _ => panic!("no such step: {step}"),
        }
    }

    /// Runs a command. Each prompt gets the next answer; after the last one standard input ends.
    fn run(&mut self, command: &str, answers: &[&str], env: &[(String, String)]) {
        let mut words: Vec<&str> = command.split(' ').collect();
        words.insert(words.len().min(if words[0] == "workspace" || words[0] == "state" { 2 } else { 1 }), "-no-color");
        let mut command = self.sandbox.command(&words);
        command.envs(env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("because the program was built");
        let mut stdin = child.stdin.take();
        let mut stdout = child.stdout.take().expect("because it is a pipe");
        let mut stderr = child.stderr.take().expect("because it is a pipe");
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            text
        });
        let (mut text, mut piece, mut answers) = (String::new(), [0; 4096], answers.iter());
        while let Ok(length @ 1..) = stdout.read(&mut piece) {
            text.push_str(&String::from_utf8_lossy(&piece[..length]));
            if text.ends_with("Enter a value: ") {
                match (answers.next(), &mut stdin) {
                    (Some(answer), Some(pipe)) => {
                        let _ = pipe.write_all(format!("{answer}\n").as_bytes());
                    }
                    _ => stdin = None,
                }
            }
        }
        let code = child.wait().ok().and_then(|status| status.code()).unwrap_or(-1);
        let errors = errors.join().expect("because reading does not panic");
        for line in notable(&text).into_iter().chain(notable(&errors)) {
            let _ = writeln!(self.told, "  {}", self.plain(&line));
        }
        let _ = writeln!(self.told, "  exit {code}");
    }

    /// A line without what differs from run to run.
    fn plain(&self, line: &str) -> String {
        let line =
            line.replace(&self.server.host.url(""), "SERVER").replace("OpenTofu", "Yuba").replace("tofu ", "yuba ");
        match line.find("/tmp").or_else(|| line.find("/private")).zip(line.rfind('/')) {
            Some((from, to)) if from < to => format!("{}TEMP{}", &line[..from], &line[to..]),
            _ => line,
        }
    }

    /// The files after all steps.
    fn conclude(mut self) -> String {
        let record = std::fs::read(self.sandbox.dir().join(".terraform/terraform.tfstate")).unwrap_or_default();
        let record: serde_json::Value = serde_json::from_slice(&record).unwrap_or_default();
        let mut backend = record["backend"].clone();
        // The URL has another port in every run.
        if backend.to_string().contains(&self.server.host.url("")) {
            backend["hash"] = "HASH".into();
        }
        let _ = writeln!(self.told, "record {}", self.plain(&backend.to_string()));
        let selected = std::fs::read_to_string(self.sandbox.dir().join(".terraform/environment")).unwrap_or_default();
        if !selected.is_empty() {
            let _ = writeln!(self.told, "selected {}", selected.trim());
        }
        let mut paths = Vec::new();
        state_files(&self.sandbox.dir(), Path::new(""), &mut paths);
        paths.sort();
        for path in paths {
            let content = std::fs::read(self.sandbox.dir().join(&path)).unwrap_or_default();
            let _ = writeln!(self.told, "{} {}", path.display(), condensed(&content));
        }
        for (path, content) in self.server.states.lock().expect("because no thread panics with it").iter() {
            let _ = writeln!(self.told, "SERVER{path} {}", condensed(content));
        }
        self.told
    }
}

/// State files below a directory, as far as a user would see them.
fn state_files(root: &Path, below: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(root.join(below)).into_iter().flatten().flatten() {
        let path = below.join(entry.file_name());
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() && !name.starts_with('.') {
            state_files(root, &path, found);
        } else if name.contains(".tfstate") && !name.starts_with('.') {
            found.push(path);
        }
    }
}

fn state(output: &str, serial: &str) -> String {
    format!(
        "{{\"version\":4,\"terraform_version\":\"1.12.6\",\"serial\":{serial},\"lineage\":\"{output}\",\
         \"outputs\":{{\"o\":{{\"value\":\"{output}\",\"type\":\"string\"}}}},\"resources\":[],\"check_results\":null}}"
    )
}

/// The output and the lineage of a state. A lineage that the program has made up is not shown.
fn condensed(content: &[u8]) -> String {
    if content.is_empty() {
        return "is empty".to_owned();
    }
    let state: serde_json::Value = serde_json::from_slice(content).unwrap_or_default();
    let lineage = state["lineage"].as_str().unwrap_or_default();
    let lineage = if lineage.contains('-') { "new" } else { lineage };
    format!("o={} lineage={lineage}", state["outputs"]["o"]["value"])
}

/// The titles, prompts and status lines of an output. Messages in JSON count as lines.
fn notable(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(message) = serde_json::from_str::<serde_json::Value>(line).ok().filter(|json| json.is_object()) {
            found.extend(of_json(&message));
            continue;
        }
        let line = line.trim().trim_start_matches(['│', '╷', '╵', ' ']);
        let begins = [
            "Error: ",
            "Warning: ",
            "Initializing the backend",
            "Do you ",
            "Destination state ",
            "Previous (type ",
            "New      (type ",
            "The currently selected workspace",
            "Enter a value:",
            "Backend configuration changed!",
            "OpenTofu detected that the backend",
            "Yuba detected that the backend",
            "OpenTofu has detected you're",
            "Yuba has detected you're",
            "Successfully ",
            "Created and ",
            "Switched to ",
            "Deleted ",
            "No changes.",
            "Apply complete!",
            "Plan: ",
            "Acquiring ",
        ];
        let is_end = line.ends_with("has been successfully initialized!");
        let is_name = matches!(line, "address" | "lock_id");
        // It is part of a description.
        if line.starts_with("Do you want to overwrite the state in") {
            continue;
        }
        if is_end || is_name || begins.iter().any(|begin| line.starts_with(begin)) {
            found.push(line.to_owned());
        }
    }
    found
}

fn of_json(message: &serde_json::Value) -> Option<String> {
    let text = message["@message"].as_str()?.lines().next().unwrap_or_default();
    let (level, kind) = (message["@level"].as_str()?, message["type"].as_str());
    let own_words = ["You may now", "Backend configuration changed!"];
    let text = match own_words.iter().find(|begin| text.starts_with(*begin)) {
        Some(begin) => format!("{begin}..."),
        None => text.to_owned(),
    };
    match kind {
        Some("version") => None,
        Some(kind) => Some(format!("{level} {kind}: {text}")),
        None => Some(format!("{level}: {text}")),
    }
}

/// Scenarios by name, in the order of the file.
fn scenarios() -> Vec<(&'static str, Vec<&'static str>)> {
    let named = SCENARIOS.split("\n## ").skip(1).map(|section| {
        let mut lines = section.lines();
        let name = lines.next().unwrap_or_default();
        (name, lines.filter(|line| !line.is_empty()).collect())
    });
    named.collect()
}

fn table(program: &str) -> BTreeMap<&'static str, String> {
    let (next, scenarios) = (AtomicUsize::new(0), scenarios());
    let found = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some((name, steps)) = scenarios.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut stage = Stage::new(program);
                    let mut env = Vec::new();
                    steps.iter().for_each(|step| stage.step(step, &mut env));
                    found.lock().expect("because no thread panics with it").insert(*name, stage.conclude());
                }
            });
        }
    });
    found.into_inner().expect("because no thread panics with it")
}

/// The outcome that Yuba has on purpose where OpenTofu's differs; each rule states its reason.
fn wanted(name: &str, observed: &str) -> String {
    // A copy has the lineage of its source, so that plans and backups stay valid. The lineage is called like the output.
    let mut wanted = observed.to_owned();
    for output in ["one", "two"] {
        wanted = wanted.replace(&format!("o=\"{output}\" lineage=new"), &format!("o=\"{output}\" lineage={output}"));
    }
    // Local states that were not copied stay where they are. OpenTofu leaves only their backups.
    let is_refused = ["none to local, no", "none to local, maybe twice", "none to local, other state there, no"];
    if is_refused.contains(&name) || name.starts_with("none to http, several workspaces") {
        wanted = with_kept(&wanted, "terraform.tfstate");
    }
    // The file is its own destination. OpenTofu compares only the spelling of paths, and empties it.
    if name == "none to local with the same path in other words" {
        wanted = with_kept(&wanted, "terraform.tfstate");
    }
    if name == "none to http, several workspaces, first yes then no" {
        wanted = with_kept(&wanted, "terraform.tfstate.d/w/terraform.tfstate");
    }
    match name {
        // OpenTofu's error has an empty first line.
        "none to local, local state is broken" => {
            wanted.replace("backend...\n  exit 1", "backend...\n  Error: Error reading local state\n  exit 1")
        }
        // `plan` names the error, which `init` would only repeat.
        "unknown argument" => {
            wanted.replace("Backend initialization required, please run \"yuba init\"", "Unsupported argument")
        }
        // OpenTofu leaves the record, and refuses the next command because of it.
        "to none, reconfigure" => {
            let record = wanted.lines().find(|line| line.starts_with("record ")).unwrap_or_default().to_owned();
            wanted.replace(&record, "record null")
        }
        // The title does not contain the reason. -reconfigure ignores the record.
        "record that cannot be read" => {
            let reason = ": decoding CLI state file version failed: unexpected end of JSON input";
            let failed = "  Error: Failed to load state\n  exit 1\nrecord null";
            let done = "  Successfully configured the backend \"local\"! Yuba will automatically\n  Yuba has been successfully \
                        initialized!\n  exit 0\nrecord {\"config\":{\"path\":\"a.tfstate\",\"workspace_dir\":null},\
                        \"hash\":2985648108,\"type\":\"local\"}";
            wanted.replace(reason, "").replace(failed, done)
        }
        _ => wanted,
    }
}

/// A table in which a state file was not emptied after its state was written to the backup.
fn with_kept(table: &str, path: &str) -> String {
    let (emptied, backup) = (format!("\n{path} is empty"), format!("\n{path}.backup "));
    match table.contains(&emptied) {
        true => table.replace(&emptied, "").replace(&backup, &format!("\n{path} ")),
        false => table.to_owned(),
    }
}

#[test]
fn every_change_of_backend_does_what_opentofu_does() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/backend_table.txt");
    let scenarios = scenarios();
    if let Ok(peer) = std::env::var("YUBA_TABLE_PEER") {
        let found = table(&peer);
        let text: String = scenarios.iter().map(|(name, _)| format!("## {name}\n{}\n", found[name])).collect();
        std::fs::write(path, text).expect("because the tests are writable");
        return;
    }
    let text = std::fs::read_to_string(path).expect("because the table is beside the test");
    let expected: BTreeMap<&str, &str> =
        text.split("## ").skip(1).filter_map(|section| section.split_once('\n')).collect();
    let found = table(env!("CARGO_BIN_EXE_yuba"));
    assert_eq!(expected.len(), scenarios.len());
    let mut differences = String::new();
    for (name, _) in scenarios {
        let (wanted, is) = (wanted(name, expected[name].trim_end()), found[name].trim_end());
        if wanted != is {
            let diff = similar::TextDiff::from_lines(wanted.as_str(), is);
            let _ = writeln!(differences, "## {name}\n{}", diff.unified_diff().context_radius(30));
        }
    }
    assert!(differences.is_empty(), "\n{differences}");
}
