//! Appliers and planners of `layout = "resources"` on PostgreSQL, one request at a time: a scheduler decides by its seed whose request
//! the server gets next, and which connections and processes end. The results are compared with a model of the store.
//!
//! Each actor has a connection of its own that stops in front of the server. The scheduler goes on when every actor has a request
//! there, waits in the server or has ended, so that the order of requests depends on nothing but the seed.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use yuba_backend::kit::Retries;
use yuba_backend::{LockRefusal, Reservation};

use crate::pg::{DATABASE, Pg};
use crate::pg_rows::{Model, OBJECTS, count, counted, next, one_run, part, store_objects};
use crate::subject::{Abilities, Machine, Subject, unique};
use crate::suite::{locked, read};

/// The most actors of a round.
const ACTORS: usize = 8;
/// A request that takes longer waits in the server for another one.
const BLOCKED: Duration = Duration::from_millis(60);

/// What an actor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Ended,
    /// It will send a request, or end.
    Thinking,
    /// Its request waits for the scheduler.
    Asking,
    /// The server has its request.
    Waiting(Instant),
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Passes,
    /// The connection breaks before the server gets it.
    LosesRequest,
    /// The connection breaks before the actor gets the response.
    LosesResponse,
}

struct Actor {
    step: Step,
    granted: Option<Fate>,
    /// Its process has ended: it reaches the server no more.
    is_dead: bool,
    /// Connections whose end the server has not noticed yet.
    closing: u32,
}

/// Where requests wait.
struct Gate {
    actors: Mutex<Vec<Actor>>,
    changed: Condvar,
}

impl Gate {
    fn new() -> Gate {
        let actor = || Actor { step: Step::Ended, granted: None, is_dead: false, closing: 0 };
        Gate { actors: Mutex::new((0..ACTORS).map(|_| actor()).collect()), changed: Condvar::new() }
    }

    fn actors(&self) -> MutexGuard<'_, Vec<Actor>> {
        self.actors.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn change(&self, actor: usize, change: impl FnOnce(&mut Actor)) {
        change(&mut self.actors()[actor]);
        self.changed.notify_all();
    }

    /// Waits for the decision of the scheduler.
    fn ask(&self, actor: usize) -> Fate {
        self.change(actor, |actor| actor.step = Step::Asking);
        let mut actors = self.actors();
        loop {
            if let Some(fate) = actors[actor].granted.take() {
                return fate;
            }
            actors = self.changed.wait(actors).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }
}

/// The connections of one actor.
struct Wire<'p> {
    pg: &'p Pg,
    port: u16,
}

impl<'p> Wire<'p> {
    fn start(pg: &'p Pg, gate: &Arc<Gate>, actor: usize) -> Wire<'p> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
        let (port, server) = (listener.local_addr().expect("it is bound").port(), pg.server.port());
        let gate = Arc::clone(gate);
        // The thread ends with the process.
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if gate.actors()[actor].is_dead {
                    continue;
                }
                let gate = Arc::clone(&gate);
                std::thread::spawn(move || connect(&gate, actor, client, server));
            }
        });
        Wire { pg, port }
    }
}

impl Subject for Wire<'_> {
    fn kind(&self) -> &'static str {
        "pg"
    }
    fn arguments(&self, state: &str) -> Json {
        let mut arguments = self.pg.arguments(state);
        arguments["conn_str"] = format!("postgres://tofu@127.0.0.1:{}/{DATABASE}?sslmode=disable", self.port).into();
        arguments
    }
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }
    fn retries(&self) -> Retries {
        Retries { attempts: 3, pause: Duration::from_millis(1), longest: Duration::from_millis(1) }
    }
}

fn connect(gate: &Arc<Gate>, actor: usize, mut client: TcpStream, server: u16) {
    let mut server = TcpStream::connect(("127.0.0.1", server)).expect("the server runs");
    let deaf = Arc::new(Mutex::new(false));
    let responses = {
        let ends = (server.try_clone().expect("it is open"), client.try_clone().expect("it is open"));
        let (gate, deaf) = (Arc::clone(gate), Arc::clone(&deaf));
        std::thread::spawn(move || respond(&gate, actor, ends.0, ends.1, &deaf))
    };
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = client.read(&mut buffer) {
        let request = &buffer[..length];
        // The end of a session has no response, and the rest of a long request needs no decision.
        let is_end = request == [b'X', 0, 0, 0, 4];
        let is_rest = matches!(gate.actors()[actor].step, Step::Waiting(_));
        let fate = if is_end || is_rest { Fate::Passes } else { gate.ask(actor) };
        if fate == Fate::LosesRequest {
            break;
        }
        *deaf.lock().expect("nothing panics while it is held") = fate == Fate::LosesResponse;
        if server.write_all(request).is_err() {
            break;
        }
    }
    gate.change(actor, |actor| actor.closing += 1);
    let _ = server.shutdown(Shutdown::Write);
    // The server frees what the session holds before it closes the connection.
    let _ = responses.join();
    let _ = client.shutdown(Shutdown::Both);
    gate.change(actor, |actor| {
        actor.closing -= 1;
        if let Step::Waiting(_) = actor.step {
            actor.step = Step::Thinking;
        }
    });
}

fn respond(gate: &Gate, actor: usize, mut server: TcpStream, mut client: TcpStream, deaf: &Mutex<bool>) {
    let mut buffer = vec![0; 1 << 16];
    let mut tail = Vec::new();
    while let Ok(length @ 1..) = server.read(&mut buffer) {
        tail.extend_from_slice(&buffer[..length]);
        tail.drain(..tail.len().saturating_sub(6));
        // The server is ready for the next request.
        let is_whole = tail.len() == 6 && tail.starts_with(&[b'Z', 0, 0, 0, 5]);
        let is_deaf = *deaf.lock().expect("nothing panics while it is held");
        if is_whole {
            // Before the actor can notice, and end.
            gate.change(actor, |actor| {
                if let Step::Waiting(_) = actor.step {
                    actor.step = Step::Thinking;
                }
            });
        }
        if is_whole && is_deaf {
            let _ = client.shutdown(Shutdown::Both);
        }
        if !is_deaf && client.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
}

/// Ends the step of an actor in any case.
struct Ending<'g>(&'g Gate, usize);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.change(self.1, |actor| actor.step = Step::Ended);
    }
}

fn steps(actors: &[Actor]) -> Vec<Step> {
    actors.iter().map(|actor| actor.step).collect()
}

/// Decides until all actors have ended. The number of decisions.
fn schedule(gate: &Gate, random: &mut u64, label: &str) -> usize {
    let begun = Instant::now();
    let mut decisions = 0;
    let mut actors = gate.actors();
    loop {
        let is_settled = actors.iter().all(|actor| match actor.step {
            Step::Thinking => false,
            Step::Waiting(since) => since.elapsed() >= BLOCKED,
            Step::Asking | Step::Ended => actor.closing == 0,
        });
        let asking: Vec<usize> = (0..ACTORS).filter(|at| actors[*at].step == Step::Asking).collect();
        if is_settled && actors.iter().all(|actor| actor.step == Step::Ended) {
            return decisions;
        }
        if !is_settled || asking.is_empty() {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "{label}: the actors wait for each other: {:?}",
                steps(&actors)
            );
            let waited = gate.changed.wait_timeout(actors, Duration::from_millis(2));
            actors = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
            continue;
        }
        let at = asking[usize::try_from(next(random) % asking.len() as u64).expect("it is small")];
        let fate = match next(random) % 40 {
            0 | 1 => Fate::LosesRequest,
            2 | 3 => Fate::LosesResponse,
            _ => Fate::Passes,
        };
        let actor = &mut actors[at];
        actor.is_dead |= fate != Fate::Passes && next(random).is_multiple_of(3);
        actor.step = if fate == Fate::LosesRequest { Step::Thinking } else { Step::Waiting(Instant::now()) };
        actor.granted = Some(fate);
        decisions += 1;
        gate.changed.notify_all();
    }
}

/// Counts writes without a lock and writes over locks of live runs, in a sequence that no rollback takes back.
const WATCH: &str = "
create sequence violations;
create function watch() returns trigger language plpgsql as $f$
declare row yuba_objects := coalesce(new, old);
begin
    if not exists (select from yuba_locks l join yuba_runs r on r.id = l.run
                   where r.process = pg_backend_pid() and r.ended is null and l.exclusive
                       and (l.config = '' or l.config = row.config and (l.address is null or l.address = row.address)))
        or exists (select from yuba_locks l join yuba_runs r on r.id = l.run
                   where r.process <> pg_backend_pid() and r.ended is null and yuba_alive(r.process, r.session_key)
                       and (l.config = '' or l.config = row.config and (l.address is null or l.address = row.address)))
    then perform nextval('violations'); end if;
    return row;
end $f$;
create trigger watch before insert or update or delete on yuba_objects for each row execute function watch();
";

/// Rounds of two to eight actors. `YUBA_ROUNDS` is their number, `YUBA_CRASH_SEED` repeats the decisions.
pub(crate) fn simulated_runs_follow_the_model(pg: &Pg) {
    let variable = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let rounds = variable("YUBA_ROUNDS").unwrap_or(25);
    let seed = variable("YUBA_CRASH_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    println!("YUBA_CRASH_SEED={seed}");
    let name = unique("simulated");
    let first = Machine::new(pg, &name);
    store_objects(&first);
    pg.server.sql(
        DATABASE,
        &format!(
            "set search_path = \"{name}\"; {}",
            WATCH
                .replace("yuba_", &format!("\"{name}\".yuba_"))
                .replace("'violations'", &format!("'\"{name}\".violations'"))
        ),
    );
    let gate = Arc::new(Gate::new());
    let wires: Vec<Wire<'_>> = (0..ACTORS).map(|actor| Wire::start(pg, &gate, actor)).collect();
    let model: Model = Mutex::new((0..OBJECTS).map(|n| (n, (0, 0))).collect());
    let (mut decisions, mut planned) = (0, [0_u64; 2]);
    for round in 0..rounds {
        let label = format!("seed {seed}, round {round}");
        let mut random = seed.wrapping_add(round).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let count = 2 + usize::try_from(next(&mut random) % 7).expect("it is small");
        let scripts: Vec<u64> = (0..count).map(|_| next(&mut random)).collect();
        gate.actors().iter_mut().for_each(|actor| actor.is_dead = false);
        std::thread::scope(|scope| {
            let actors: Vec<_> = scripts
                .into_iter()
                .enumerate()
                .map(|(at, script)| {
                    gate.change(at, |actor| actor.step = Step::Thinking);
                    let (gate, wire, name, model) = (&gate, &wires[at], &name, &model);
                    scope.spawn(move || {
                        let _ending = Ending(gate, at);
                        act(wire, name, model, script)
                    })
                })
                .collect();
            decisions += schedule(&gate, &mut random, &label);
            for actor in actors {
                match actor.join().expect("an actor has found no violation") {
                    Some(Reservation::Held) => planned[0] += 1,
                    Some(Reservation::Stale(_)) => planned[1] += 1,
                    None => {}
                }
            }
        });
        check(&first, &model, &label);
        let violations = format!("select is_called from \"{name}\".violations");
        assert_eq!(pg.server.sql(DATABASE, &violations), "f", "{label}: a write without its lock");
    }
    println!("{rounds} rounds, {decisions} decisions, {planned:?} saved plans applied and refused");
}

/// The state is within the model, and nothing is locked.
fn check(machine: &Machine, model: &Model, label: &str) {
    let mut store = locked(machine, "default");
    let state = read(store.as_mut());
    let mut model = model.lock().expect("nothing panics while it is held");
    for (n, (least, most)) in model.iter_mut() {
        let found = count(&state, &format!("a.r[{n}]"));
        assert!(
            (*least..=*most).contains(&found),
            "{label}: object {n} was changed {found} times, not {least} to {most}"
        );
        (*least, *most) = (found, found);
    }
    store.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
}

/// One actor: an applier, a planner, or an applier of a saved plan. For the latter, whether its plan was applied.
fn act(wire: &Wire<'_>, name: &str, model: &Model, script: u64) -> Option<Reservation> {
    let mut random = script | 1;
    // A dead process opens no backend.
    let machine = Machine::opened(wire, name).ok()?;
    match script % 4 {
        0 => {
            // Snapshots do not go back.
            let mut last: BTreeMap<u64, u64> = BTreeMap::new();
            for _ in 0..3 {
                let state = machine.backend().existing("default").ok()?.read().ok()?.state?;
                for n in 0..OBJECTS {
                    let found = count(&state, &format!("a.r[{n}]"));
                    assert!(last.insert(n, found).is_none_or(|before| before <= found), "a snapshot goes back");
                }
            }
            None
        }
        1 => saved_plan(&machine, model, &mut random),
        _ => {
            one_run(&machine, model, &mut random);
            None
        }
    }
}

/// Plans to copy what one object says of another, and applies that later if nothing it depends on has changed.
fn saved_plan(machine: &Machine, model: &Model, random: &mut u64) -> Option<Reservation> {
    let (source, target) = (next(random) % OBJECTS, next(random) % OBJECTS);
    let (source_name, target_name) = (format!("a.r[{source}]"), format!("a.r[{target}]"));
    let mut planner = machine.backend().existing("default").ok()?;
    let planned = planner.read().ok()?.state?;
    let since = planner.snapshot();
    // Other runs go on while the plan is a file.
    for _ in 0..next(random) % 6 {
        planner.read().ok()?;
    }
    drop(planner);
    let mut store = machine.backend().existing("default").ok()?;
    store.try_lock_part(machine.holder(), Duration::ZERO).ok()?;
    let mut state = store.read().ok()?.state?;
    let mut attempts = 0;
    let reserved = loop {
        match store.reserve(since, &part(&[&source_name], &[&target_name])) {
            Ok(reserved) => break reserved,
            Err(LockRefusal::Held { .. }) if attempts < 40 => attempts += 1,
            Err(_) => return None,
        }
    };
    if reserved != Reservation::Held {
        let _ = store.unlock();
        return Some(reserved);
    }
    // The plan applies exactly: what it has read is what the state has, before and after its commit.
    let read_before = (count(&planned, &source_name), count(&planned, &target_name));
    let mut journal = store.journal(&mut state).ok()?;
    model.lock().expect("nothing panics while it is held").entry(target).or_default().1 += 1;
    journal.append(&[counted(&target_name, read_before.1 + 1)]);
    journal.flush().ok()?;
    model.lock().expect("nothing panics while it is held").entry(target).or_default().0 += 1;
    state.apply(counted(&target_name, read_before.1 + 1));
    let looked = machine.backend().existing("default").ok()?.read();
    journal.close(&mut state).ok()?;
    if let Ok(now) = looked
        && source != target
        // The locks were held all the time.
        && store.unlock().is_ok()
    {
        assert_eq!(
            count(&now.state?, &source_name),
            read_before.0,
            "what a plan has read has changed before its commit"
        );
    }
    Some(reserved)
}
