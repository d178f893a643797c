//! Provider processes from the view of Yuba: all requests, all failures, and no leftovers.

#![cfg(unix)]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use futures_executor::block_on;
use yuba_addrs::ProviderSource;
use yuba_plugin::wire::Protocol;
use yuba_plugin::{Address, LogLevel, LogSink, Plugins, Reattach, Settings, Supply};
use yuba_provider::{
    ApplyRequest, BlockSchema, ImportBy, ImportRequest, Outcome, PlanRequest, Private, Problem, Provider, RawState,
    ReadRequest, UpgradeRequest,
};
use yuba_value::{Type, Value};

/// A directory with programs that are the test provider with something set, and the ids of all processes they became.
struct Place {
    directory: PathBuf,
    plugins: Plugins,
}

impl Place {
    fn new(name: &str) -> Place {
        Place::with(name, |_| {})
    }

    fn with(name: &str, set: impl FnOnce(&mut Settings)) -> Place {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).expect("because the directory is ours");
        let mut settings = Settings::new("1.12.6");
        settings.schema_cache = Some(directory.join("schemas"));
        set(&mut settings);
        Place { directory, plugins: Plugins::new(settings) }
    }

    /// The test provider with variables set.
    fn provider(&self, knobs: &str) -> Supply {
        let directory = self.directory.display();
        let program = env!("CARGO_BIN_EXE_yuba-testprovider");
        let script = format!(
            "#!/bin/sh\necho $$ >>'{directory}/pids'\nexport TESTING_DIR='{directory}/objects' {knobs}\nexec '{program}'\n"
        );
        let name = format!("provider{}", knobs.replace(|c: char| !c.is_alphanumeric(), "_"));
        let executable = self.directory.join(&name);
        if !executable.exists() {
            fs::write(&executable, script).expect("because the directory is ours");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(&executable, mode).expect("because the file is ours");
        }
        Supply::Package { executable, hash: Some(name.into()) }
    }

    fn start(&self, knobs: &str) -> Arc<dyn Provider> {
        let started = self.plugins.start(&who(), &self.provider(knobs));
        started.map_err(|problem| told(&problem)).expect("because it has a schema")
    }

    /// All processes there ever were.
    fn pids(&self) -> Vec<u32> {
        let text = fs::read_to_string(self.directory.join("pids")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }
}

impl Drop for Place {
    /// Nothing is left behind, whatever happened.
    fn drop(&mut self) {
        self.plugins.shutdown();
        if !std::thread::panicking() {
            assert!(self.pids().iter().all(|pid| !is_alive(*pid)), "a process is left");
        }
    }
}

fn is_alive(pid: u32) -> bool {
    // A process without a waiting parent still has an id.
    Path::new(&format!("/proc/{pid}")).exists()
}

fn who() -> ProviderSource {
    ProviderSource::parse("yuba/testing").expect("because it is a source")
}

fn told(problem: &Problem) -> String {
    format!("{}: {}", problem.diagnostic.summary, problem.diagnostic.explanation())
}

fn value<T>(outcome: Outcome<T>) -> T {
    let problems: Vec<String> = outcome.problems.iter().map(told).collect();
    assert!(problems.is_empty(), "{problems:?}");
    outcome.value.expect("because there are no problems")
}

/// An object of a block, with some attributes set.
fn object(schema: &BlockSchema, set: &[(&str, Value)]) -> Value {
    let empty = schema.empty_value();
    let attributes = empty.entries().unwrap_or_default().into_iter().map(|(name, value)| {
        let given = set.iter().find(|(given, _)| name == *given).map(|(_, value)| value.clone());
        (name, given.unwrap_or(value))
    });
    Value::object(attributes.collect())
}

fn wait_until(what: &dyn Fn() -> bool) {
    let began = Instant::now();
    while !what() && began.elapsed() < Duration::from_secs(40) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(what());
}

fn text(value: &str) -> Value {
    Value::string(value)
}

fn configured(place: &Place, knobs: &str) -> Arc<dyn Provider> {
    let provider = place.start(knobs);
    let config = object(&provider.schema().provider.block, &[("instance", text("i"))]);
    assert!(block_on(provider.validate_provider_config(config.clone())).is_empty());
    assert!(block_on(provider.configure(config)).is_empty());
    provider
}

fn plan_create(provider: &dyn Provider, config: &Value) -> Outcome<yuba_provider::PlanAnswer> {
    let ty = config.ty().clone();
    block_on(provider.plan(PlanRequest {
        kind: "testing_thing".into(),
        prior: Value::null(ty),
        proposed: config.clone(),
        config: config.clone(),
        prior_private: Private::new(),
        provider_meta: Value::null(Type::dynamic()),
        prior_identity: None,
    }))
}

#[test]
fn everything_can_be_asked_in_both_protocols() {
    let place = Place::new("everything");
    for protocol in ["5", "6"] {
        let provider = configured(&place, &format!("TESTING_PROTOCOL={protocol}"));
        everything(provider.as_ref());
    }
}

fn everything(provider: &dyn Provider) {
    let schema = provider.schema();
    let block = &schema.resources["testing_thing"].block;
    let config = object(block, &[("name", text("n")), ("any", Value::tuple(vec![Value::int(1), text("x")]))]);
    assert!(block_on(provider.validate_resource_config("testing_thing".into(), config.clone())).is_empty());
    let planned = value(plan_create(provider, &config));
    let applied = value(block_on(provider.apply(ApplyRequest {
        kind: "testing_thing".into(),
        prior: Value::null(block.implied_type().clone()),
        planned: planned.planned,
        config,
        planned_private: planned.private,
        provider_meta: Value::null(Type::dynamic()),
        planned_identity: planned.identity,
    })));
    let attribute = |object: &Value, name: &str| yuba_value::Path::new().attr(name).follow(object).expect("exists");
    assert_eq!(format!("{:?}", attribute(&applied.state, "any")), r#"tuple[1, "x"]"#);
    assert!(applied.identity.is_some());
    let id = attribute(&applied.state, "id").as_str().cloned().expect("because it is a text");

    let read = value(block_on(provider.read(ReadRequest {
        kind: "testing_thing".into(),
        prior: applied.state.clone(),
        private: applied.private,
        provider_meta: Value::null(Type::dynamic()),
        identity: applied.identity.clone(),
    })));
    assert!(read.state.raw_equals(&applied.state), "{:?}", read.state);

    let request = ImportRequest { kind: "testing_thing".into(), by: ImportBy::Id(id.clone()) };
    let imported = value(block_on(provider.import(request)));
    assert_eq!(imported.len(), 1);
    let by = ImportBy::Identity(applied.identity.expect("was checked"));
    let request = ImportRequest { kind: "testing_thing".into(), by };
    assert_eq!(value(block_on(provider.import(request))).len(), 1);

    let raw = RawState::Json(r#"{"id":"1","title":"old"}"#.into());
    let request = UpgradeRequest { kind: "testing_thing".into(), version: 0, raw };
    assert_eq!(format!("{:?}", attribute(&value(block_on(provider.upgrade_state(request))), "name")), r#""old""#);

    let block = &schema.ephemeral["testing_token"].block;
    assert!(block.ephemeral);
    let config = object(block, &[("name", text("t")), ("renew_ms", Value::int(5000))]);
    let opened = value(block_on(provider.open_ephemeral("testing_token".into(), config)));
    assert!(opened.renew_at.is_some());
    let renewed = value(block_on(provider.renew_ephemeral("testing_token".into(), opened.private)));
    assert!(block_on(provider.close_ephemeral("testing_token".into(), renewed.private)).is_empty());

    let call = |name: &str, args: Vec<Value>| match block_on(provider.call_function(name.into(), args)) {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("{:?}: {error}", error.arg),
    };
    assert_eq!(call("upper", vec![text("a")]), r#""A""#);
    assert_eq!(call("joined", vec![text("-"), text("a"), text("b")]), r#""a-b""#);
    assert_eq!(call("upper", vec![Value::unknown(Type::string())]), "unknown(string)");
    assert_eq!(call("instance", vec![]), r#""i""#);
    assert!(call("nothing", vec![]).contains("the provider yuba/testing has no such function"));
    assert!(value(block_on(provider.functions())).contains_key("instance"));
    assert!(block_on(provider.stop()).is_empty());
}

/// Diagnostics about an invalid provider.
fn check_bad(place: &Place, bad: &str, expect: &Expect) {
    let problem = place.plugins.schema(&who(), &place.provider(&format!("TESTING_BAD={bad}")));
    let text = problem.map_or_else(|problem| told(&problem), |_| "nothing".to_owned());
    expect.assert_eq(&text.replace(&place.directory.display().to_string(), "DIR"));
}

#[test]
fn processes_that_were_started_in_advance_are_used() {
    let place = Place::new("advance");
    let supply = place.provider("");
    place.plugins.prepare(&who(), &supply, 3);
    wait_until(&|| place.pids().len() == 3);
    let started = [place.start(""), place.start(""), place.start("")];
    for provider in &started {
        let config = provider.schema().provider.block.empty_value();
        assert!(block_on(provider.validate_provider_config(config)).is_empty());
    }
    assert_eq!(place.pids().len(), 3);
    let _fourth = place.start("");
    wait_until(&|| place.pids().len() == 4);
}

#[test]
fn a_limited_number_of_processes_starts_in_advance() {
    let place = Place::new("limited");
    let supply = place.provider("");
    place.plugins.prepare(&who(), &supply, 100);
    place.plugins.prepare_another(&who(), &supply);
    wait_until(&|| place.pids().len() == 10);
    place.plugins.shutdown();
    assert_eq!(place.pids().len(), 10);
}

#[test]
fn processes_that_are_still_starting_end_with_the_others() {
    let place = Place::new("starting");
    let delay = place.directory.join("delay");
    let supply = place.provider(&format!("TESTING_START_MS=$(cat '{}' 2>/dev/null)", delay.display()));
    assert!(place.plugins.schema(&who(), &supply).is_ok());
    fs::write(delay, "60000").expect("because the directory is ours");
    place.plugins.prepare(&who(), &supply, 3);
    wait_until(&|| place.pids().len() == 3);
    let begin = Instant::now();
    place.plugins.shutdown();
    assert!(begin.elapsed() < Duration::from_secs(10), "shutting down took {:?}", begin.elapsed());
    assert!(place.pids().iter().all(|pid| !is_alive(*pid)), "a process is left");
}

#[test]
fn bad_providers_are_explained_and_ended() {
    let place = Place::with("bad", |settings| settings.start_timeout = Duration::from_secs(20));
    check_bad(
        &place,
        "exit",
        &expect![[r#"
        Failed to load plugin schemas: Provider yuba/testing exited during startup, before the handshake (exit status 3). Its executable is DIR/providerTESTING_BAD_exit.

        The last lines of its log:

          the licence of this provider has expired

        Check that the executable is for this platform and that all its dependencies are installed."#]],
    );
    check_bad(
        &place,
        "garbage",
        &expect![[
            r#"Failed to load plugin schemas: The handshake with provider yuba/testing failed: it printed "Hello, I am a provider, I think?" instead of a handshake line. Its executable is DIR/providerTESTING_BAD_garbage. Check that the executable is a provider, and that it is for this platform."#
        ]],
    );
    check_bad(
        &place,
        "protocol4",
        &expect![[
            r#"Failed to load plugin schemas: The handshake with provider yuba/testing failed: it uses provider protocol "4", and Yuba supports only 5 and 6. Its executable is DIR/providerTESTING_BAD_protocol4. Use another version of the provider."#
        ]],
    );
    check_bad(
        &place,
        "cert",
        &expect![
            "Failed to load plugin schemas: Failed to connect to provider yuba/testing: the encrypted connection failed (invalid peer certificate: ApplicationVerificationFailure). Yuba accepts only the certificate that the provider announced, so another process may listen at its address."
        ],
    );
    check_bad(
        &place,
        "types",
        &expect![[
            r#"Failed to load plugin schemas: The schema of provider yuba/testing is invalid: in the resource type "symbols" in the attribute "behave" the type is not a type: there is no type "heap" that takes arguments (at byte 8). This is a bug in the provider. Use another version of the provider, and report the bug to its maintainers."#
        ]],
    );
    check_bad(
        &place,
        "panic",
        &expect![[r#"
        Failed to load plugin schemas: Provider yuba/testing crashed during GetProviderSchema (exit status 2). This is a bug in the provider. Changes that it was making may be incomplete.

        The last lines of its log:

          panic: runtime error: invalid memory address or nil pointer dereference

          goroutine 1 [running]:
          example.com/testing/internal/thing.(*resource).Create(0xc0001)
          	/src/internal/thing/resource.go:42 +0x1d
          main.main()
          	/src/main.go:17 +0x2b"#]],
    );
    check_bad(
        &place,
        "huge",
        &expect![
            "Failed to load plugin schemas: The response of provider yuba/testing to GetProviderSchema is larger than the limit of 256 MiB. Request less data at a time, or use another version of the provider."
        ],
    );
    let nowhere = Supply::Package { executable: place.directory.join("nowhere"), hash: None };
    let problem = place.plugins.schema(&who(), &nowhere).expect_err("because there is no program");
    assert!(told(&problem).contains("nowhere: No such file or directory"), "{}", told(&problem));
    assert_eq!(place.pids().len(), 7);
}

#[test]
fn providers_that_say_nothing_are_given_up() {
    let place = Place::with("silent", |settings| settings.start_timeout = Duration::from_millis(500));
    check_bad(
        &place,
        "silent",
        &expect![
            "Failed to load plugin schemas: Provider yuba/testing did not complete the handshake within 500 milliseconds and was stopped. Its executable is DIR/providerTESTING_BAD_silent. Check that the executable is a provider and that the machine is not overloaded."
        ],
    );
}

#[test]
fn providers_that_answer_nothing_are_given_up() {
    // Starting may take a while on a busy machine.
    let place = Place::with("deaf", |settings| settings.start_timeout = Duration::from_secs(4));
    check_bad(
        &place,
        "deaf",
        &expect![
            "Failed to load plugin schemas: Provider yuba/testing did not respond to GetProviderSchema within 8 seconds and was stopped. Check that the machine is not overloaded, or use another version of the provider."
        ],
    );
}

#[test]
fn malformed_responses_are_reported() {
    let place = Place::new("broken");
    let provider = place.start("TESTING_BAD=msgpack");
    let schema = provider.schema();
    let block = &schema.resources["testing_thing"].block;
    let outcome = plan_create(provider.as_ref(), &object(block, &[("name", text("n"))]));
    assert!(outcome.value.is_none());
    let told: Vec<String> = outcome.problems.iter().map(told).collect();
    expect!["Plugin error: Failed to read the planned object in the response of provider yuba/testing to PlanResourceChange: invalid MessagePack (at byte 1). This is a bug in the provider. Use another version of the provider, and report the bug to its maintainers."].assert_eq(&told.join("\n"));
}

#[test]
fn a_crash_is_reported_with_the_last_words() {
    let place = Place::new("crash");
    let provider = configured(&place, "");
    let schema = provider.schema();
    let block = &schema.resources["testing_thing"].block;
    let config = object(block, &[("name", text("n")), ("behave", text("crash_plan"))]);
    let outcome = plan_create(provider.as_ref(), &config);
    assert!(outcome.value.is_none());
    let told: Vec<String> = outcome.problems.iter().map(told).collect();
    expect![[r#"
        Plugin did not respond: Provider yuba/testing crashed during PlanResourceChange (exit status 2). This is a bug in the provider. Changes that it was making may be incomplete.

        The last lines of its log:

          panic: the test requested a crash on plan of n

          goroutine 1 [running]:
          example.com/testing/internal/thing.(*resource).Create(0xc0001)
          	/src/internal/thing/resource.go:42 +0x1d
          main.main()
          	/src/main.go:17 +0x2b"#]].assert_eq(&told.join("\n"));
    // Once is enough.
    let again = plan_create(provider.as_ref(), &config);
    let again: Vec<String> = again.problems.iter().map(self::told).collect();
    assert!(again.join("").ends_with("contains the last lines of its log."), "{again:?}");
    // Those that were not part of it go on.
    let other = configured(&place, "");
    assert!(plan_create(other.as_ref(), &object(block, &[("name", Value::string("n"))])).problems.is_empty());
}

#[test]
fn a_provider_that_hangs_up_is_reported_and_ended() {
    let place = Place::new("hangup");
    let provider = configured(&place, "");
    let block = &provider.schema().resources["testing_thing"].block;
    let config = object(block, &[("name", text("n")), ("behave", text("hangup_plan"))]);
    let outcome = plan_create(provider.as_ref(), &config);
    let told: Vec<String> = outcome.problems.iter().map(told).collect();
    expect!["Plugin did not respond: Failed to send PlanResourceChange to provider yuba/testing: it closed the connection. Check the log of the provider."].assert_eq(&told.join("\n"));
    assert!(place.pids().into_iter().any(is_alive));
}

/// A child of the provider holds its standard streams open.
#[test]
fn a_provider_that_ends_at_once_leaves_no_process_behind() {
    let place = Place::new("children");
    let began = Instant::now();
    let supply = place.provider("TESTING_BAD=exit; sleep 300 & echo $! >>${0%/*}/pids");
    let problem = place.plugins.schema(&who(), &supply).expect_err("because it ends at once");
    let told = told(&problem);
    assert!(told.contains("(exit status 3)") && told.contains("the licence of this provider has expired"), "{told}");
    assert!(began.elapsed() < Duration::from_secs(20));
    wait_until(&|| place.pids().len() == 2 && !place.pids().into_iter().any(is_alive));
}

#[test]
fn a_provider_cannot_defer_operations() {
    let place = Place::new("deferred");
    let provider = configured(&place, "");
    let schema = provider.schema();
    let block = &schema.resources["testing_thing"].block;
    let config = object(block, &[("name", text("n")), ("behave", text("defer_plan"))]);
    let told: Vec<String> = plan_create(provider.as_ref(), &config).problems.iter().map(told).collect();
    expect!["Provider deferred changes unexpectedly: Provider yuba/testing deferred PlanResourceChange to a later run (it gives no reason), although the request does not allow deferral. This is a bug in the provider. Values that are unknown until apply often cause this. Use -target to apply the objects that these values depend on first."].assert_eq(&told.join("\n"));
}

#[test]
fn what_a_provider_has_is_known_without_starting_it_again() {
    let place = Place::new("cache");
    let supply = place.provider("");
    let schema =
        |plugins: &Plugins| plugins.schema(&who(), &supply).map_err(|problem| told(&problem)).expect("has one");
    schema(&place.plugins);
    assert_eq!(place.pids().len(), 1);
    // The process that was asked is the first that is used.
    let first = configured(&place, "");
    assert_eq!(place.pids().len(), 1);
    let second = configured(&place, "");
    assert_eq!(place.pids().len(), 2);
    drop((first, second));

    let mut settings = Settings::new("1.12.6");
    settings.schema_cache = Some(place.directory.join("schemas"));
    let later = Plugins::new(settings);
    let kept = schema(&later);
    assert_eq!(place.pids().len(), 2);
    assert_eq!(kept.resources.keys().count(), 4);
    assert!(kept.resources.get("testing_nested").is_some_and(|schema| schema.block.blocks().len() == 5));
}

#[test]
fn connections_need_not_be_encrypted() {
    let place = Place::with("plain", |settings| settings.tls = false);
    configured(&place, "TESTING_PROTOCOL=5");
}

#[test]
fn logs_have_levels() {
    let logged = Arc::new(Mutex::new(Vec::new()));
    let inner = logged.clone();
    let sink = LogSink::new(LogLevel::Info, move |record| {
        inner.lock().expect("because no thread panics").push(format!(
            "{} {}: {}",
            record.level.name(),
            record.logger,
            record.message
        ));
    });
    let place = Place::with("logs", |settings| settings.log = sink);
    configured(&place, "TESTING_LOG=1");
    wait_until(&|| logged.lock().expect("because no thread panics").len() >= 5);
    let mut lines = logged.lock().expect("because no thread panics").clone();
    // They come over two streams.
    lines.sort_by_key(|line| line.contains("unexpected"));
    expect![[r#"
        INFO provider.providerTESTING_LOG_1: chatter at info
        WARN provider.providerTESTING_LOG_1: chatter at warn
        ERROR provider.providerTESTING_LOG_1: chatter at error
        WARN provider.providerTESTING_LOG_1: [WARN] chatter with a level in brackets
        WARN provider.providerTESTING_LOG_1: unexpected output on standard output: printed by accident"#]]
    .assert_eq(&lines.join("\n"));
}

/// An attached provider.
#[test]
fn providers_that_run_already_are_used_and_left_alone() {
    let place = Place::new("reattach");
    let mut child = Command::new(env!("CARGO_BIN_EXE_yuba-testprovider"))
        .env("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2")
        .env("PLUGIN_PROTOCOL_VERSIONS", "6")
        .env("PLUGIN_UNIX_SOCKET_DIR", &place.directory)
        .env("TESTING_DIR", place.directory.join("objects"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("because it was built");
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("because it is piped"));
    stdout.read_line(&mut line).expect("because it greets");
    let path = line.split('|').nth(3).expect("because it says where it listens");
    let mut reattach = Reattach { protocol: Protocol::V6, address: Address::Unix(path.into()), test: true };
    let start = |reattach: &Reattach| {
        let provider = place.plugins.start(&who(), &Supply::Reattach(reattach.clone()));
        let provider = provider.map_err(|problem| told(&problem)).expect("because it runs");
        let config = object(&provider.schema().provider.block, &[]);
        assert!(block_on(provider.validate_provider_config(config)).is_empty());
    };
    start(&reattach);
    place.plugins.shutdown();
    assert!(child.try_wait().expect("because it is ours").is_none());
    // One that is not part of a test is asked to end.
    reattach.test = false;
    start(&reattach);
    assert!(child.wait().expect("because it is ours").success());
}

/// Started again by the test below, as a program that is killed.
#[test]
fn a_program_that_is_killed() {
    if std::env::var_os("KILLED").is_none() {
        return;
    }
    let place = Place::new("killed");
    let _provider = configured(&place, "");
    fs::write(place.directory.join("ready"), "").expect("because the directory is ours");
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
#[cfg(target_os = "linux")]
fn processes_end_with_us_even_if_we_are_killed() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("killed");
    let _ = fs::remove_dir_all(&directory);
    let us = std::env::current_exe().expect("because it runs");
    let mut child = Command::new(us)
        .args(["--exact", "a_program_that_is_killed"])
        .env("KILLED", "1")
        .stdout(Stdio::null())
        .spawn()
        .expect("because it is a program");
    wait_until(&|| directory.join("ready").exists());
    let pids = fs::read_to_string(directory.join("pids")).expect("because a provider was started");
    let pid: u32 = pids.trim().parse().expect("because it is one process");
    assert!(is_alive(pid));
    let part = format!("-{}-", child.id());
    child.kill().expect("because it is ours");
    child.wait().expect("because it is ours");
    wait_until(&|| !is_alive(pid));
    let left = fs::read_dir(std::env::temp_dir()).expect("because there is one").flatten();
    assert!(left.map(|entry| entry.file_name()).all(|name| {
        let name = name.to_string_lossy();
        !(name.starts_with("yuba-plugin-") && name.contains(&part))
    }));
}
