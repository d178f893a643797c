//! With encryption configured, no file and no request contains an attribute in clear text, however a command ends.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use yuba_testkit::servers::{Fault, HttpLockServer, On, PostgreSql, fake_gcs, http_lock_server, moto, postgresql};
use yuba_testkit::{Relay, Run, Sandbox};

use crate::azure_cloud::Cloud;

/// Values of a sensitive and of a plain attribute.
const SECRET: &str = "zq-sensitive-7f3a91c2d4";
const PLAIN: &str = "zq-plain-b81e60a5f9";

const ENCRYPTION: &str = r#"
terraform {
  encryption {
    key_provider "pbkdf2" "k" {
      passphrase = "a passphrase that is long enough"
    }
    method "aes_gcm" "m" {
      keys = key_provider.pbkdf2.k
    }
    state {
      method   = method.aes_gcm.m
      enforced = true
    }
    plan {
      method   = method.aes_gcm.m
      enforced = true
    }
  }
}
"#;

/// The values come from the environment, so that no file of the configuration contains them.
const CONFIGURATION: &str = r#"
//- main.tf
variable "secret" {
  sensitive = true
}
variable "plain" {}
variable "round" {
  default = 0
}
resource "terraform_data" "secret" {
  input = "${var.secret} ${var.round}"
}
resource "terraform_data" "plain" {
  input = { deep = ["${var.plain} ${var.round}"] }
}
resource "terraform_data" "last" {
  depends_on       = [terraform_data.secret, terraform_data.plain]
  triggers_replace = var.round
  provisioner "local-exec" {
    command = "while [ -e hold ]; do touch held; sleep 0.02; done; test ! -e fail"
  }
}
output "secret" {
  value     = terraform_data.secret.output
  sensitive = true
}
output "plain" {
  value = terraform_data.plain.output
}
//- tests/main.tftest.hcl
run "kept" {
  module {
    source = "./kept"
  }
}
//- kept/main.tf
variable "secret" {
  sensitive = true
}
variable "plain" {}
resource "terraform_data" "kept" {
  input = [var.secret, var.plain]
  provisioner "local-exec" {
    when    = destroy
    command = "exit 1"
  }
}
"#;

/// Location of the state.
#[derive(Clone, Copy)]
enum Place<'s> {
    Local,
    Http(&'s HttpLockServer),
    Pg(&'s PostgreSql),
    /// A server behind a relay that records what it gets.
    Relayed(&'s Relay),
}

const DATABASE: &str = "tofu_state";

impl Place<'_> {
    /// Lets no more writes succeed.
    fn fail(self, sandbox: &Sandbox) {
        match self {
            Place::Local => sandbox.write("terraform.tfstate", "not a state"),
            Place::Http(server) => server.fail(On::Method("POST"), Fault::Status(403, None), usize::MAX),
            Place::Pg(server) => server.kill(),
            Place::Relayed(relay) => relay.cut(),
        }
    }

    fn mend(self, sandbox: &Sandbox) {
        match self {
            Place::Local => {
                std::fs::remove_file(sandbox.dir().join("terraform.tfstate")).expect("because it was written");
            }
            Place::Http(server) => server.clear_faults(),
            Place::Pg(server) => server.restart(),
            Place::Relayed(relay) => relay.resume(),
        }
    }

    /// Releases the lock of a process that was killed, with the id that the error names. PostgreSQL and the file system release it
    /// themselves.
    fn break_lock(self, sandbox: &Sandbox) {
        if let Place::Http(_) | Place::Relayed(_) = self {
            let refused = failed(sandbox, &["plan", "-no-color"].map(str::to_owned)).to_string();
            let id = refused.lines().find_map(|line| line.trim_start_matches(['│', ' ']).strip_prefix("ID:"));
            let id = id.unwrap_or_else(|| panic!("no lock is named: {refused}")).trim();
            done(sandbox, &["force-unlock", "-force", id]);
        }
    }

    /// Everything that was sent to the server, or that it has.
    fn search(self, found: &mut Vec<String>) {
        match self {
            Place::Local => {}
            Place::Http(server) => {
                for logged in server.log() {
                    search(&logged.to_string(), &logged.request.bytes, found);
                    search(&logged.to_string(), logged.request.target.as_bytes(), found);
                }
            }
            Place::Relayed(relay) => {
                relay.sent().iter().for_each(|sent| search("sent", sent, found));
            }
            Place::Pg(server) => {
                let tables = "select query_to_xml(format('select * from %I.%I', table_schema, table_name), true, false, '') \
                              from information_schema.tables where table_schema not in ('pg_catalog', 'information_schema')";
                search("tables", server.sql(DATABASE, tables).as_bytes(), found);
            }
        }
    }
}

fn prepared(more: &str) -> Sandbox {
    prepared_in(more, &[])
}

/// With environment variables of its own.
fn prepared_in(more: &str, environment: &[(&str, String)]) -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_yuba"), &format!("{CONFIGURATION}\n//- more.tf\n{more}\n"));
    let temporary = temporary(&sandbox);
    std::fs::create_dir(&temporary).expect("because the sandbox is new");
    let temporary = temporary.display().to_string();
    let sandbox = sandbox.env("TMPDIR", &temporary).env("TF_VAR_secret", SECRET).env("TF_VAR_plain", PLAIN);
    let sandbox = environment.iter().fold(sandbox, |sandbox, (name, value)| sandbox.env(name, value));
    done(&sandbox, &["init", "-no-color"]);
    sandbox
}

fn temporary(sandbox: &Sandbox) -> PathBuf {
    sandbox.dir().with_file_name("temporary")
}

fn done(sandbox: &Sandbox, args: &[&str]) -> Run {
    let run = sandbox.run(args);
    assert_eq!(run.code, 0, "{args:?}: {run}");
    run
}

fn apply(round: u32) -> Vec<String> {
    ["apply", "-no-color", "-auto-approve"]
        .map(str::to_owned)
        .into_iter()
        .chain([format!("-var=round={round}")])
        .collect()
}

fn failed(sandbox: &Sandbox, args: &[String]) -> Run {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let run = sandbox.run(&args);
    assert_eq!(run.code, 1, "{args:?}: {run}");
    run
}

/// An apply that has made the first two resources and waits.
fn held(sandbox: &Sandbox, round: u32) -> Child {
    sandbox.write("hold", "");
    let _ = std::fs::remove_file(sandbox.dir().join("held"));
    let args = apply(round);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut command = sandbox.command(&args);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().expect("because it was built");
    let until = Instant::now() + Duration::from_secs(60);
    while !sandbox.dir().join("held").exists() {
        assert!(Instant::now() < until, "the apply does not reach its last resource");
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

fn let_go(sandbox: &Sandbox) {
    std::fs::remove_file(sandbox.dir().join("hold")).expect("because it was written");
}

/// The forms in which a marker can be stored: as it is, and in Base64 at each of the three offsets.
fn forms(marker: &str) -> Vec<String> {
    let mut forms = vec![marker.to_owned()];
    for offset in 0..3 {
        let padded = [vec![b'x'; offset], marker.as_bytes().to_vec()].concat();
        let encoded = base64(&padded);
        // Letters that depend on bytes before or after the marker are left out.
        let begin = (offset * 4).div_ceil(3);
        let end = padded.len() * 4 / 3;
        forms.push(encoded[begin..end].to_owned());
        forms.push(encoded[begin..end].replace('+', "-").replace('/', "_"));
    }
    forms
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number = chunk.iter().fold(0u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = LETTERS[(number >> (18 - 6 * place)) as usize & 63] as char;
            text.push(if place <= chunk.len() { letter } else { '=' });
        }
    }
    text
}

/// Locations of a marker in bytes, archives and compressed parts unpacked.
fn search(name: &str, bytes: &[u8], found: &mut Vec<String>) {
    for marker in [SECRET, PLAIN] {
        for form in forms(marker) {
            if bytes.windows(form.len()).any(|part| part == form.as_bytes()) {
                found.push(format!("{name}: {form}"));
            }
        }
    }
    if bytes.starts_with(b"PK") {
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).expect("because it is an archive");
        for index in 0..archive.len() {
            let mut entry = archive.by_index(index).expect("because it is listed");
            let (inner, mut content) = (format!("{name}!{}", entry.name()), Vec::new());
            entry.read_to_end(&mut content).expect("because the archive is complete");
            search(&inner, &content, found);
        }
    }
    for at in (0..bytes.len().saturating_sub(2)).filter(|at| bytes[*at..].starts_with(&[0x1f, 0x8b, 8])) {
        let mut content = Vec::new();
        // Bytes that only look like gzip give an error or a few bytes.
        let _ = flate2::read::GzDecoder::new(&bytes[at..]).take(64 << 20).read_to_end(&mut content);
        if !content.is_empty() {
            search(&format!("{name}@gzip"), &content, found);
        }
    }
}

fn search_files(directory: &Path, found: &mut Vec<String>, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("because it exists").flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => search_files(&path, found, files),
            Ok(kind) if kind.is_file() => {
                let bytes = std::fs::read(&path).expect("because it is ours");
                search(&path.display().to_string(), &bytes, found);
                files.push(path);
            }
            _ => {}
        }
    }
}

/// Content of the working directory, the home directory, the temporary directory and the requests. Returns the names of
/// files.
fn leaks(sandbox: &Sandbox, place: Place<'_>) -> (Vec<String>, Vec<String>) {
    let (mut found, mut files) = (Vec::new(), Vec::new());
    for directory in [sandbox.dir(), sandbox.home(), temporary(sandbox)] {
        search_files(&directory, &mut found, &mut files);
    }
    place.search(&mut found);
    let names =
        files.iter().filter_map(|path| path.strip_prefix(sandbox.dir()).ok()).map(|path| path.display().to_string());
    (found, names.collect())
}

/// Findings after a command, and the file that the command has left.
struct Stage {
    after: &'static str,
    file: &'static str,
    found: Vec<String>,
}

/// Runs everything that writes: applies that succeed, fail and are killed, a backend that fails, a plan, a test.
fn run_everything(sandbox: &Sandbox, place: Place<'_>) -> Vec<Stage> {
    let mut stages = Vec::new();
    let mut check = |after: &'static str, file: &'static str| {
        let (found, files) = leaks(sandbox, place);
        assert!(files.iter().any(|name| name.contains(file)), "after {after}: no {file} in {files:?}");
        stages.push(Stage { after, file, found });
    };
    let state = if matches!(place, Place::Local) { "terraform.tfstate" } else { ".terraform" };
    let round = |round: u32| apply(round);
    done(sandbox, &round(1).iter().map(String::as_str).collect::<Vec<_>>());
    check("an apply", state);
    sandbox.write("fail", "");
    failed(sandbox, &round(2));
    check("a failed apply", state);
    std::fs::remove_file(sandbox.dir().join("fail")).expect("because it was written");

    let mut child = held(sandbox, 3);
    child.kill().and_then(|()| child.wait()).expect("because it runs");
    let_go(sandbox);
    check("a killed apply", "journal");
    place.break_lock(sandbox);
    done(sandbox, &["plan", "-no-color", "-out=saved.tfplan", "-var=round=4"]);
    check("a saved plan", "saved.tfplan");
    done(sandbox, &["apply", "-no-color", "saved.tfplan"]);

    let mut child = held(sandbox, 5);
    place.fail(sandbox);
    let_go(sandbox);
    assert!(!child.wait().expect("because it was started").success());
    place.mend(sandbox);
    check("a backend that fails", "errored.tfstate");
    let run = sandbox.run(&["test", "-no-color"]);
    assert!(run.to_string().contains("errored_test.tfstate"), "{run}");
    check("a test that leaves objects", "errored_test.tfstate");
    if let Place::Relayed(_) = place {
        // The run before could not release its lock.
        place.break_lock(sandbox);
    }
    done(sandbox, &round(6).iter().map(String::as_str).collect::<Vec<_>>());
    check("an apply that completes the state", state);
    stages.push(migrated(sandbox));
    stages
}

/// Migrates the state to a server that has another one. The prompt appears while the search looks at all files.
fn migrated(sandbox: &Sandbox) -> Stage {
    let server = http_lock_server();
    let backend = format!(
        "terraform {{\n backend \"http\" {{\n address = {0:?}\n lock_address = {0:?}\n unlock_address = {0:?}\n }}\n}}\n",
        server.url("/state")
    );
    let encryption = match sandbox.read("more.tf").contains("encryption") {
        true => ENCRYPTION,
        false => "",
    };
    let more = format!("{backend}{encryption}");
    let other = prepared(&more);
    done(&other, &apply(7).iter().map(String::as_str).collect::<Vec<_>>());
    sandbox.write("more.tf", &more);
    let mut command = sandbox.command(&["init", "-no-color", "-migrate-state"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("because it was built");
    let mut asked = Vec::new();
    let mut output = child.stdout.take().expect("because it is a pipe");
    let mut chunk = [0; 4096];
    while !String::from_utf8_lossy(&asked).contains("Enter a value:") {
        match output.read(&mut chunk) {
            Ok(length @ 1..) => asked.extend_from_slice(&chunk[..length]),
            end => panic!("no prompt: {end:?}\n{}", String::from_utf8_lossy(&asked)),
        }
    }
    let (mut found, _) = leaks(sandbox, Place::Http(&server));
    child.stdin.take().expect("because it is a pipe").write_all(b"yes\n").expect("because it waits");
    let _ = output.read_to_end(&mut asked);
    let ended = child.wait_with_output().expect("because it was started");
    let said = format!("{}{}", String::from_utf8_lossy(&asked), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{said}");
    search("output", said.as_bytes(), &mut found);
    let (after, _) = leaks(sandbox, Place::Http(&server));
    found.extend(after);
    let left = std::fs::read_dir(temporary(sandbox)).expect("because it exists").flatten().map(|entry| entry.path());
    assert_eq!(left.collect::<Vec<_>>(), Vec::<PathBuf>::new());
    Stage { after: "a migration", file: "temporary/yuba-migration-", found }
}

/// Fails if the search has found anything.
fn check_nothing_found(stages: &[Stage]) {
    for Stage { after, found, .. } in stages {
        assert!(found.is_empty(), "after {after}: {found:?}");
    }
}

pub(crate) fn on_local() {
    check_nothing_found(&run_everything(&prepared(ENCRYPTION), Place::Local));
}

pub(crate) fn on_http() {
    let server = http_lock_server();
    let url = server.url("/state");
    let arguments =
        format!("address = \"{url}\"\n lock_address = \"{url}\"\n unlock_address = \"{url}\"\n retry_max = 0");
    let backend = format!("terraform {{\n backend \"http\" {{\n {arguments}\n }}\n}}\n");
    check_nothing_found(&run_everything(&prepared(&format!("{backend}{ENCRYPTION}")), Place::Http(&server)));
    let sent = server.log().iter().filter(|logged| logged.request.body.contains("encrypted_data")).count();
    assert!(sent >= 4, "{:?}", server.log_lines());
}

pub(crate) fn on_pg() {
    let server = postgresql().expect("because it is installed");
    server.create_database(DATABASE);
    let backend = format!("terraform {{\n backend \"pg\" {{\n conn_str = \"{}\"\n }}\n}}\n", server.url(DATABASE));
    check_nothing_found(&run_everything(&prepared(&format!("{backend}{ENCRYPTION}")), Place::Pg(&server)));
    let stored = server.sql(DATABASE, "select data from terraform_remote_state.states");
    assert!(stored.contains("encrypted_data"), "{stored}");
}

fn on_relayed(relay: &Relay, backend: &str, environment: &[(&str, String)]) {
    let sandbox = prepared_in(&format!("{backend}{ENCRYPTION}"), environment);
    check_nothing_found(&run_everything(&sandbox, Place::Relayed(relay)));
    let sent = relay.sent();
    let sealed = sent.iter().filter(|sent| String::from_utf8_lossy(sent).contains("encrypted_data")).count();
    assert!(sealed > 0, "no encrypted state was sent");
}

pub(crate) fn on_s3() {
    let server = moto().expect("because it is installed");
    server.create_bucket("states");
    server.create_lock_table("locks");
    let relay = Relay::to(server.address());
    let url = format!("http://{}", relay.address());
    let backend = format!(
        "terraform {{\n backend \"s3\" {{\n bucket = \"states\"\n key = \"k\"\n region = \"us-east-1\"\n access_key = \"A\"\n \
         secret_key = \"S\"\n use_lockfile = true\n dynamodb_table = \"locks\"\n max_retries = 1\n use_path_style = true\n \
         skip_credentials_validation = true\n skip_requesting_account_id = true\n endpoints = {{ s3 = {url:?}, dynamodb = {url:?} }}\n \
         }}\n}}\n"
    );
    on_relayed(&relay, &backend, &[]);
}

pub(crate) fn on_gcs() {
    let server = fake_gcs().expect("because it is installed");
    server.create_bucket("states");
    let relay = Relay::to(server.address());
    let backend = format!(
        "terraform {{\n backend \"gcs\" {{\n bucket = \"states\"\n prefix = \"p\"\n access_token = \"any\"\n \
         storage_custom_endpoint = \"http://{}/storage/v1/\"\n }}\n}}\n",
        relay.address()
    );
    on_relayed(&relay, &backend, &[]);
}

pub(crate) fn on_azurerm() {
    let (cloud, relay) = Cloud::start();
    let backend = "terraform {\n backend \"azurerm\" {\n storage_account_name = \"devstoreaccount1\"\n container_name = \"states\"\n \
                   key = \"k\"\n snapshot = true\n }\n}\n";
    on_relayed(&relay, backend, &cloud.variables());
}

/// Without encryption the same search finds both values in every file, in the entries of the plan, in requests and in encoded text.
pub(crate) fn the_search_works() {
    for Stage { after, file, found } in run_everything(&prepared(""), Place::Local) {
        for marker in [SECRET, PLAIN] {
            let is_found = |found: &String| found.contains(file) && found.ends_with(marker);
            assert!(found.iter().any(is_found), "after {after}, {marker} in {file}: {found:?}");
        }
    }
    let server = http_lock_server();
    let place = Place::Http(&server);
    let backend = format!("terraform {{\n backend \"http\" {{\n address = \"{}\"\n }}\n}}\n", server.url("/state"));
    let sandbox = prepared(&backend);
    assert_eq!(leaks(&sandbox, place).0, Vec::<String>::new());
    let args = apply(1);
    done(&sandbox, &args.iter().map(String::as_str).collect::<Vec<_>>());
    let state = server.state("/state").expect("because it was applied");
    sandbox.write("encoded", base64(&state));
    let mut compressed = flate2::write::GzEncoder::new(b"before".to_vec(), flate2::Compression::default());
    compressed.write_all(&state).expect("because memory takes every byte");
    sandbox.write("compressed", compressed.finish().expect("because memory takes every byte"));
    let (found, _) = leaks(&sandbox, place);
    for place in ["POST /state", "/encoded: ", "/compressed@gzip: "] {
        assert!(found.iter().filter(|found| found.contains(place)).count() >= 2, "{place}: {found:?}");
    }
}
