//! Tests of applying with the fake provider.

mod forged;

use expect_test::{Expect, expect};
use futures_util::FutureExt as _;
use yuba_plan::{Action, Event, Phase};
use yuba_provider::fake::{FakeWorld, Fault};
use yuba_state::{Edit, State};
use yuba_syntax::{Diagnostic, Diagnostics};

use super::{ApplyDoors, Recorder, apply};
use crate::diagnostics::OBJECT_NOT_STORABLE;
use crate::interrupt::{Clock, Interrupt};
use crate::planning::plan;
use crate::request::{Context, PlanOptions};
use crate::testing::{self, NoProvisioners};

struct Nothing;

impl Recorder for Nothing {
    fn begin(&mut self, _: &str, _: Action) -> u64 {
        0
    }
    fn finish(&mut self, _: u64, _: &[Edit]) {}
    fn append(&mut self, _: &[Edit]) {}
    fn hand_over(&mut self) -> Result<(), Diagnostics> {
        Ok(())
    }
    fn flush(&mut self) -> Result<(), Diagnostics> {
        Ok(())
    }
    fn due(&self) -> bool {
        false
    }
    fn checkpoint(&mut self, _: &mut State) -> Result<(), Diagnostics> {
        Ok(())
    }
}

#[track_caller]
fn check(text: &str, expect: &Expect) {
    expect.assert_eq(&run(text));
}

/// Requests to the provider for a configuration without variables, and the outputs after it.
fn run(text: &str) -> String {
    run_all(text, &FakeWorld::new(), false)
}

fn run_all(text: &str, fake: &FakeWorld, then_destroy: bool) -> String {
    run_with(text, fake, then_destroy, &mut Nothing)
}

fn run_with(text: &str, fake: &FakeWorld, then_destroy: bool, recorder: &mut dyn Recorder) -> String {
    let out = with_context(text, fake, |context, config| {
        let run = (config, fake);
        let (mut out, state) = plan_and_apply(context, run, State::empty(), &PlanOptions::default(), recorder);
        if let (true, Some(state)) = (then_destroy, state) {
            out += "destroy\n";
            let options = PlanOptions { mode: yuba_plan::Mode::Destroy, ..PlanOptions::default() };
            out += &plan_and_apply(context, run, state, &options, recorder).0;
        }
        out
    });
    assert_eq!(fake.open_tokens().len(), 0, "everything was closed");
    out
}

fn with_context<T>(text: &str, fake: &FakeWorld, work: impl FnOnce(Context<'_>, &testing::Config) -> T) -> T {
    let config = testing::config(text);
    testing::with_context(&config, fake, &Interrupt::new(), |context| {
        work(Context { clock: &Hurry, ..context }, &config)
    })
}

/// Polls to the end.
fn finish<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut task = std::task::Context::from_waker(std::task::Waker::noop());
    for _ in 0..1000 {
        if let std::task::Poll::Ready(answer) = future.as_mut().poll(&mut task) {
            return answer;
        }
    }
    panic!("it hangs");
}

fn plan_and_apply(
    context: Context<'_>,
    (config, fake): (&testing::Config, &FakeWorld),
    state: State,
    options: &PlanOptions,
    recorder: &mut dyn Recorder,
) -> (String, Option<State>) {
    let (planned, problems) = finish(plan(context, state, options));
    let mut out = testing::show(&problems, &config.sources);
    out += "plan:\n";
    fake.take_log().iter().for_each(|line| out += &format!("  {line}\n"));
    let Some(planned) = planned.filter(|planned| !planned.errored) else {
        return (out, None);
    };
    for attribute in &planned.relevant {
        out += &format!("  from {} {:?}\n", attribute.resource, attribute.path);
    }
    let doors = ApplyDoors { recorder, provisioners: &NoProvisioners, random: &|| 1 };
    let applied = finish(apply(context, &planned, doors));
    out += &testing::show(&applied.problems, &config.sources);
    out += "apply:\n";
    fake.take_log().iter().for_each(|line| out += &format!("  {line}\n"));
    for (name, output) in &applied.state.outputs {
        out += &format!("{name} = {:?}\n", output.value);
    }
    (out, Some(applied.state))
}

#[test]
fn an_ephemeral_resource_that_is_not_enabled_is_not_opened() {
    let config = |on: bool| {
        format!(
            r#"
ephemeral "fake_token" "e" {{
  name = "t"
  lifecycle {{ enabled = {on} }}
}}
resource "fake_thing" "x" {{
  name = "x"
  size = ephemeralasnull(ephemeral.fake_token.e) == null ? 1 : 2
}}
locals {{ is_null = ephemeral.fake_token.e == null }}
output "is_null" {{ value = ephemeralasnull(local.is_null) }}
"#
        )
    };
    check(
        &config(false),
        &expect![[r#"
        plan:
          configure 
          plan x
        apply:
          configure 
          plan x
          create x
          created x
        is_null = true
    "#]],
    );
    check(
        &config(true),
        &expect![[r#"
            plan:
              configure 
              open t
              plan x
              close t
            apply:
              configure 
              open t
              plan x
              create x
              created x
              close t
        "#]],
    );
}

/// Each instance has its own configuration, which may depend on other objects; data and ephemeral resources choose too.
#[test]
fn provider_instances_are_configured_one_by_one() {
    check(
        r#"
resource "fake_thing" "t" { name = "t" }
provider "fake" {
  alias    = "by"
  for_each = { a = "1", b = "2", unused = "3" }
  region   = "${each.key}-${each.value}-${fake_thing.t.name}"
}
resource "fake_thing" "x" {
  for_each = toset(["a", "b"])
  provider = fake.by[each.key]
  name     = "x-${each.key}"
  password = ephemeral.fake_token.e.name
}
data "fake_lookup" "d" {
  provider = fake.by["b"]
  name     = "d"
}
ephemeral "fake_token" "e" {
  provider = fake.by["a"]
  name     = "e"
}
output "regions" { value = [for x in fake_thing.x : x.region] }
"#,
        &expect![[r#"
            plan:
              configure 
              plan t
              configure a-1-t
              configure b-2-t
              configure unused-3-t
              open e
              data d
              plan x-a
              plan x-b
              close e
            apply:
              configure 
              plan t
              create t
              created t
              configure a-1-t
              configure b-2-t
              configure unused-3-t
              open e
              plan x-a
              create x-a
              created x-a
              plan x-b
              create x-b
              created x-b
              close e
            regions = tuple["a-1-t", "b-2-t"]
        "#]],
    );
}

/// The configuration no longer has instances, and its only one cannot destroy an object that is no longer wanted.
#[test]
fn what_could_not_be_destroyed_still_belongs_to_the_provider_instance_that_made_it() {
    let fake = FakeWorld::new().with_faults(|line| (line == "delete x-b").then_some(Fault::Fail));
    let step = |text: &str, state| {
        with_context(text, &fake, |context, config| {
            plan_and_apply(context, (config, &fake), state, &PlanOptions::default(), &mut Nothing).1
        })
        .expect("because planning succeeds")
    };
    let made = step(
        r#"
provider "fake" {
  alias    = "by"
  for_each = toset(["a", "b"])
  region   = each.key
}
resource "fake_thing" "x" {
  for_each = toset(["a", "b"])
  provider = fake.by[each.key]
  name     = "x-${each.key}"
}
"#,
        State::empty(),
    );
    let left = step(
        r#"
provider "fake" {
  alias  = "by"
  region = "single"
}
resource "fake_thing" "x" {
  for_each = toset(["a"])
  provider = fake.by
  name     = "x-${each.key}"
}
"#,
        made,
    );
    let owners = left.instances().map(|(addr, _, instance)| format!("{addr}: {:?}\n", instance.provider_key));
    expect![[r#"
        fake_thing.x["a"]: None
        fake_thing.x["b"]: Some(String("b"))
    "#]]
    .assert_eq(&owners.collect::<String>());
}

/// An instance that cannot be configured is an error, whatever uses it.
#[test]
fn a_wrong_configuration_of_one_instance_is_found() {
    check(
        r#"
provider "fake" {
  alias    = "by"
  for_each = { a = { region = "r" }, b = {} }
  region   = each.value.region
}
resource "fake_thing" "x" {
  provider = fake.by["a"]
  name     = "x"
}
"#,
        &expect![[r#"
            main.tf:5:24 error: Unsupported attribute
            plan:
              configure r
        "#]],
    );
}

#[test]
fn an_ephemeral_resource_that_only_an_output_of_the_root_module_uses_is_not_opened_again() {
    check(
        r#"
ephemeral "fake_token" "e" { name = "t" }
resource "fake_thing" "x" { name = "x" }
output "o" { value = [fake_thing.x.id == "", ephemeralasnull(ephemeral.fake_token.e.name)] }
"#,
        &expect![[r#"
            plan:
              configure 
              open t
              plan x
              close t
            apply:
              configure 
              plan x
              create x
              created x
            o = tuple[false, null(any)]
        "#]],
    );
}

/// A caller sees all that the block of an output says about its value, whatever else the block says.
#[test]
fn every_combination_of_marks_of_an_output_reaches_its_users() {
    for marks in 0..8 {
        let (sensitive, ephemeral, deprecated) = (marks & 1 != 0, marks & 2 != 0, marks & 4 != 0);
        for value in [r#""secret""#, "fake_thing.y.name", "fake_thing.y.id"] {
            let about = if deprecated { "deprecated = \"old\"" } else { "" };
            let text = format!(
                r#"
//- main.tf
module "m" {{ source = "./m" }}
resource "fake_thing" "x" {{ name = module.m.s }}
output "o" {{ value = ephemeralasnull(module.m.s) }}
//- m/main.tf
resource "fake_thing" "y" {{ name = "y" }}
output "s" {{
  value     = {value}
  sensitive = {sensitive}
  ephemeral = {ephemeral}
  {about}
}}
"#
            );
            let reported = run(&text);
            let reports = |summary: &str| reported.contains(summary);
            assert_eq!(reports("Output refers to sensitive values"), sensitive, "{text}\n{reported}");
            assert_eq!(reports("Ephemeral value used in non-ephemeral context"), ephemeral, "{text}\n{reported}");
            assert_eq!(reports("Value derived from a deprecated source"), deprecated, "{text}\n{reported}");
        }
    }
}

/// One interrupt each time the run makes no more progress.
fn run_interrupted(text: &str, fault: Fault) -> String {
    let config = testing::config(text);
    let hangs = move |line: &str| (line == "create b").then_some(fault);
    let fake = FakeWorld::new().with_faults(hangs);
    let interrupt = Interrupt::new();
    testing::with_context(&config, &fake, &interrupt, |context| {
        apply_interrupted(Context { clock: &Hurry, parallelism: 2, ..context }, &fake)
    })
}

fn apply_interrupted(context: Context<'_>, fake: &FakeWorld) -> String {
    let options = PlanOptions::default();
    let (planned, _) = plan(context, State::empty(), &options).now_or_never().expect("because nothing is slow");
    let planned = planned.expect("because the configuration is right");
    fake.take_log();
    let doors = ApplyDoors { recorder: &mut Nothing, provisioners: &NoProvisioners, random: &|| 1 };
    let mut applying = std::pin::pin!(apply(context, &planned, doors));
    let mut out = String::new();
    let mut task = std::task::Context::from_waker(std::task::Waker::noop());
    let applied = loop {
        // Requests of one round may be answered in the next.
        let first = applying.as_mut().poll(&mut task);
        match if first.is_ready() { first } else { applying.as_mut().poll(&mut task) } {
            std::task::Poll::Ready(applied) => break applied,
            std::task::Poll::Pending => {
                out += &format!("asked to stop after {}\n", fake.take_log().join(", "));
                assert!(context.interrupt.raise() < 3, "it does not stop");
            }
        }
    };
    out += &format!("then {}\n", fake.take_log().join(", "));
    for problem in applied.problems.iter() {
        out += &format!("{}: {}\n", problem.summary, problem.detail);
    }
    for (addr, ..) in applied.state.instances() {
        out += &format!("in the state: {addr}\n");
    }
    out
}

/// Time flies.
struct Hurry;

impl Clock for Hurry {
    fn now(&self) -> i64 {
        0
    }
    fn until(&self, _: i64) -> std::pin::Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(std::future::ready(()))
    }
}

const THREE: &str = r#"
resource "fake_thing" "a" { name = "a" }
resource "fake_thing" "b" { name = "b" }
resource "fake_thing" "c" { name = fake_thing.b.name }
"#;

#[test]
fn providers_are_asked_to_stop_and_results_are_saved() {
    expect![[r#"
        asked to stop after configure , plan a, create a, created a, plan b, create b
        then failed b
        Fake failure: It was not possible to create "b".
        in the state: fake_thing.a
    "#]]
    .assert_eq(&run_interrupted(THREE, Fault::Hang));
}

#[test]
fn the_second_interrupt_waits_for_nothing() {
    expect![[r#"
        asked to stop after configure , plan a, create a, created a, plan b, create b
        asked to stop after 
        then 
        Operation canceled: The run was stopped before its operations ended. Finished changes are in the state.

        The results of these operations are unknown:
          - fake_thing.b (create)
        Check these objects. Add an object that exists to the state with "yuba import".
        in the state: fake_thing.a
    "#]]
    .assert_eq(&run_interrupted(THREE, Fault::Deaf));
}

#[test]
fn what_stays_open_is_renewed_while_others_work() {
    let text = r#"
ephemeral "fake_token" "e" {
  name     = "t"
  renew_at = 5
}
resource "fake_thing" "x" {
  name     = "x"
  password = ephemeral.fake_token.e.value
  behave   = "slow_create"
}
"#;
    expect![[r#"
        plan:
          configure 
          open t
          plan x
          close t
        apply:
          configure 
          open t
          plan x
          create x
          renew t
          created x
          close t
    "#]]
    .assert_eq(&run_all(text, &FakeWorld::new(), false));
}

#[test]
fn providers_that_need_ephemeral_resources_get_them_for_the_end_too() {
    let text = r#"
ephemeral "fake_token" "e" { name = "t" }
data "fake_lookup" "d" { name = "d" }
provider "fake" {
  alias  = "a"
  region = "${ephemeral.fake_token.e.name}-${data.fake_lookup.d.name}"
}
resource "fake_thing" "x" {
  provider = fake.a
  name     = "x"
}
"#;
    expect![[r#"
        plan:
          configure 
          open t
          data d
          configure t-d
          plan x
          close t
        apply:
          configure 
          open t
          configure t-d
          plan x
          create x
          created x
          close t
        destroy
        plan:
          configure 
          open t
          data d
          configure t-d
          read x
          plan x
          close t
          configure 
          open t
          configure t-d
          plan x
          close t
        apply:
          configure 
          open t
          data d
          configure t-d
          delete x
          deleted x
          close t
    "#]]
    .assert_eq(&run_all(text, &FakeWorld::new(), true));
}

#[test]
fn what_a_module_says_to_its_provider() {
    let text = r#"
//- main.tf
terraform {
  provider_meta "fake" { tag = "root" }
}
module "m" { source = "./m" }
resource "fake_thing" "x" { name = "x" }
//- m/main.tf
terraform {
  provider_meta "fake" { tag = "m" }
}
resource "fake_thing" "y" { name = "y" }
"#;
    expect![[r#"
        plan:
          configure 
          meta root
          plan x
          meta m
          plan y
        apply:
          configure 
          meta root
          plan x
          create x
          created x
          meta m
          plan y
          create y
          created y
    "#]]
    .assert_eq(&run_all(text, &FakeWorld::new(), false));
}

/// Writes down what a journal would hold.
struct Lines(String);

impl Lines {
    fn edits(&mut self, what: &str, edits: &[Edit]) {
        for edit in edits {
            let Edit::SetObject { addr, object: Some(object), .. } = edit else { continue };
            self.0 += &format!("{what} {addr} {:?}\n", object.status);
        }
    }
}

impl Recorder for Lines {
    fn begin(&mut self, addr: &str, _: Action) -> u64 {
        self.0 += &format!("begin {addr}\n");
        0
    }
    fn finish(&mut self, _: u64, edits: &[Edit]) {
        self.edits("finish", edits);
    }
    fn append(&mut self, edits: &[Edit]) {
        self.edits("append", edits);
    }
    fn hand_over(&mut self) -> Result<(), Diagnostics> {
        Ok(())
    }
    fn flush(&mut self) -> Result<(), Diagnostics> {
        Ok(())
    }
    fn due(&self) -> bool {
        false
    }
    fn checkpoint(&mut self, _: &mut State) -> Result<(), Diagnostics> {
        Ok(())
    }
}

#[test]
fn a_kill_during_provisioners_leaves_a_tainted_object_and_an_unfinished_operation() {
    let text = r#"
resource "fake_thing" "plain" {
  name = "p"
}
resource "fake_thing" "x" {
  name = fake_thing.plain.name
  provisioner "local-exec" {
    command = "true"
  }
}
"#;
    let mut lines = Lines(String::new());
    run_with(text, &FakeWorld::new(), false, &mut lines);
    expect![[r"
        begin fake_thing.plain
        finish fake_thing.plain Ready
        begin fake_thing.x
        append fake_thing.x Tainted
        finish fake_thing.x Ready
    "]]
    .assert_eq(&lines.0);
}

fn full_disk() -> Diagnostic {
    Diagnostic::new(&OBJECT_NOT_STORABLE, "The disk is full.").titled("Full")
}

/// Saves edits until the disk is full.
struct Full {
    hand_overs: usize,
    flushes: usize,
    lines: Lines,
}

impl Full {
    fn count(left: &mut usize) -> Result<(), Diagnostics> {
        match left.checked_sub(1) {
            Some(less) => *left = less,
            None => return Err(full_disk().into()),
        }
        Ok(())
    }
}

impl Recorder for Full {
    fn begin(&mut self, addr: &str, action: Action) -> u64 {
        self.lines.begin(addr, action)
    }
    fn finish(&mut self, operation: u64, edits: &[Edit]) {
        self.lines.finish(operation, edits);
    }
    fn append(&mut self, edits: &[Edit]) {
        self.lines.append(edits);
    }
    fn hand_over(&mut self) -> Result<(), Diagnostics> {
        Full::count(&mut self.hand_overs)
    }
    fn flush(&mut self) -> Result<(), Diagnostics> {
        Full::count(&mut self.flushes)
    }
    fn due(&self) -> bool {
        true
    }
    fn checkpoint(&mut self, _: &mut State) -> Result<(), Diagnostics> {
        Ok(())
    }
}

/// Events, journal and state of a run whose disk fills up, for objects with and without `create_before_destroy`.
fn on_a_full_disk(hand_overs: usize, flushes: usize) -> String {
    let first = r#"
resource "fake_thing" "a" { name = "a" }
resource "fake_thing" "b" {
  name = fake_thing.a.name
  lifecycle { create_before_destroy = true }
}
resource "fake_thing" "c" { name = fake_thing.b.name }
"#;
    let fake = FakeWorld::new();
    with_context(first, &fake, |context, _| {
        let options = PlanOptions::default();
        let mut recorder = Full { hand_overs: 99, flushes: 99, lines: Lines(String::new()) };
        let mut state = State::empty();
        let reported = std::cell::RefCell::new(String::new());
        let events = |event| {
            if let Event::Finished { addr, ok, phase: Phase::Apply(_), .. } = event {
                *reported.borrow_mut() += &format!("{addr} {}\n", if ok { "is complete" } else { "failed" });
            }
        };
        let context = Context { events: &events, ..context };
        let replace = PlanOptions {
            force_replace: vec![
                yuba_addrs::AbsResourceInstance::parse_text(yuba_syntax::FileId(0), "fake_thing.b")
                    .expect("it is an address"),
            ],
            ..PlanOptions::default()
        };
        for options in [&options, &replace] {
            let (planned, _) = plan(context, state, options).now_or_never().expect("because nothing is slow");
            let planned = planned.expect("because the configuration is right");
            reported.borrow_mut().clear();
            recorder.lines.0.clear();
            let doors = ApplyDoors { recorder: &mut recorder, provisioners: &NoProvisioners, random: &|| 1 };
            let applied = apply(context, &planned, doors).now_or_never().expect("because nothing is slow");
            for problem in applied.problems.iter() {
                *reported.borrow_mut() += &format!("{}: {}\n", problem.summary, problem.detail);
            }
            state = applied.state;
            (recorder.hand_overs, recorder.flushes) = (hand_overs, flushes);
        }
        let mut out = reported.into_inner() + &recorder.lines.0;
        for (addr, _, instance) in state.instances() {
            out += &format!("{addr}: {} deposed, current: {}\n", instance.deposed.len(), instance.current.is_some());
        }
        out
    })
}

#[test]
fn operations_that_are_not_on_disk_are_incomplete_and_nothing_new_begins() {
    expect![[r#"
        fake_thing.b failed
        Full: The disk is full.

        These operations ended, but the storage of the state does not have their results:
          - fake_thing.b (create)
        begin fake_thing.b
        finish fake_thing.b Ready
        fake_thing.a: 0 deposed, current: true
        fake_thing.b: 1 deposed, current: true
        fake_thing.c: 0 deposed, current: true
    "#]]
    .assert_eq(&on_a_full_disk(99, 0));
}

#[test]
fn an_operation_that_cannot_be_noted_does_not_begin() {
    expect![[r#"
        Full: The disk is full.
        begin fake_thing.b
        fake_thing.a: 0 deposed, current: true
        fake_thing.b: 0 deposed, current: true
        fake_thing.c: 0 deposed, current: true
    "#]]
    .assert_eq(&on_a_full_disk(0, 99));
}
