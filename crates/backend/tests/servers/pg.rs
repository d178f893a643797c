//! `backend "pg"` on PostgreSQL: the suite, and what is particular to it.

use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use serde_json::{Value as Json, json};
use yuba_backend::kit::Retries;
use yuba_backend::{BackendConfiguration, BackendEnvironment, Backends, LockRefusal};
use yuba_net::Environment;
use yuba_testkit::Relay;
use yuba_testkit::servers::{PostgreSql, is_installed, is_required, postgresql};

use crate::Started;
use crate::subject::{Abilities, Lazy, Machine, OUTAGE, Subject, unique};
use crate::suite::{add, edit, locked, numbers, read, write};

pub(crate) const DATABASE: &str = "tofu_state";

pub(crate) struct Pg {
    pub(crate) server: PostgreSql,
    relay: Relay,
    users: Users,
    layout: &'static str,
}

/// Who uses a server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Users {
    /// Tests that run at the same time.
    Many,
    /// One test, which may stop it.
    One,
}

pub(crate) fn start(users: Users, layout: &'static str) -> Option<Pg> {
    let server = postgresql()?;
    server.create_database(DATABASE);
    let relay = Relay::to(format!("127.0.0.1:{}", server.port()));
    Some(Pg { server, relay, users, layout })
}

impl Subject for Pg {
    fn kind(&self) -> &'static str {
        "pg"
    }
    fn arguments(&self, state: &str) -> Json {
        let mut url = self.server.url(DATABASE);
        if self.users == Users::Many && state.starts_with(OUTAGE) {
            url = url.replace(&format!(":{}/", self.server.port()), &format!(":{}/", self.relay.port()));
        }
        json!({ "conn_str": url, "schema_name": state, "layout": self.layout })
    }
    fn abilities(&self) -> Abilities {
        // With rows, only a run whose session is gone is ended by force.
        Abilities { server_journal: true, force_unlock: self.layout == "state", ..Abilities::default() }
    }
    fn overwrite(&self, state: &str, content: &[u8]) -> bool {
        if self.layout != "state" {
            return false;
        }
        // The column is text.
        let Some(text) = std::str::from_utf8(content).ok().filter(|text| !text.contains('\0')) else { return false };
        self.server.sql(DATABASE, &format!("update \"{state}\".states set data = $text${text}$text$"));
        true
    }
    fn interrupt(&self) -> bool {
        match self.users {
            Users::One => self.server.kill(),
            Users::Many => self.relay.cut(),
        }
        true
    }
    fn resume(&self) {
        match self.users {
            Users::One => self.server.restart(),
            Users::Many => self.relay.resume(),
        }
    }
}

pub(crate) fn subjects() -> Vec<Lazy> {
    let of_states: fn() -> Option<Started> = || start(Users::Many, "state").map(|pg| Arc::new(pg) as Started);
    let of_rows: fn() -> Option<Started> = || start(Users::Many, "resources").map(|pg| Arc::new(pg) as Started);
    let is_there = is_installed("postgresql");
    vec![
        Lazy::new("pg on PostgreSQL", "postgresql", is_there, of_states),
        Lazy::new("pg with rows on PostgreSQL", "postgresql", is_there, of_rows),
    ]
}

/// The server of the tests below. They do not stop it.
static SERVER: LazyLock<Option<Pg>> = LazyLock::new(|| start(Users::Many, "state"));

type Test = fn(&Pg);

/// Tests with a server that others use too, and those that stop theirs.
pub(crate) fn trials() -> Vec<Trial> {
    let shared: &[(&str, Test)] = &[
        ("two writers take turns 100 times", two_writers_take_turns),
        ("a connection that breaks at any request loses nothing", |pg| {
            crate::pg_cuts::a_cut_at_any_request_loses_nothing(pg, pg.server.port(), "state");
        }),
        ("two machines create a state one after the other", two_machines_create_a_state),
        ("a lock that its session lost refuses writes", a_lock_that_its_session_lost_refuses_writes),
        ("a live session without its lock refuses writes", a_live_session_without_its_lock_refuses_writes),
        ("a refused lock names the session of another program", a_refused_lock_names_another_program),
        ("a wrong password is named and not shown", a_wrong_password_is_named),
        ("a missing database is named", a_missing_database_is_named),
        ("a missing permission is named", a_missing_permission_is_named),
        ("a role without CREATE uses an existing table", a_role_without_create_uses_an_existing_table),
        ("certificates are verified as sslmode says", certificates_are_verified),
        ("a client certificate identifies the role", a_client_certificate_identifies),
        ("the socket and settings of the server are used", the_socket_is_used),
    ];
    let own: &[(&str, Test)] = &[
        ("an outage loses nothing on a server of its own", |pg| crate::suite::an_outage_loses_nothing(pg)),
        ("a server that restarts during a run ends its lock", a_restart_ends_the_lock),
        ("a server that does not respond is noticed", a_frozen_server_delays),
    ];
    let is_ignored = !is_installed("postgresql") && !is_required("postgresql");
    let trial = |name: &str, run: Box<dyn FnOnce() -> Result<(), libtest_mimic::Failed> + Send>| {
        Trial::test(format!("pg on PostgreSQL: {name}"), run).with_ignored_flag(is_ignored)
    };
    let missing = || libtest_mimic::Failed::from("postgresql is required by YUBA_REQUIRE and missing");
    let mut all = Vec::new();
    for (name, test) in shared {
        let run = move || SERVER.as_ref().map(test).ok_or_else(missing);
        all.push(trial(name, Box::new(run)));
    }
    for (name, test) in own {
        let run = move || start(Users::One, "state").as_ref().map(test).ok_or_else(missing);
        all.push(trial(name, Box::new(run)));
    }
    all
}

/// The problem with a connection string, in words. None if the backend opens.
pub(crate) fn refused(arguments: &Json, variables: &[(&str, &str)]) -> Option<String> {
    let data_dir = std::env::temp_dir().join(unique("yuba-pg"));
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let variables = Environment::new(variables, Some(data_dir.join("home")), data_dir.clone());
    let retries = Retries { attempts: 2, pause: Duration::from_millis(10), longest: Duration::from_millis(10) };
    let environment = BackendEnvironment { retries, ..BackendEnvironment::new(variables, &data_dir) };
    let backends = Backends::new(environment);
    let kind = backends.find("pg").expect("it is a row of the table");
    let opened = backends.open(&BackendConfiguration::of_json(kind, arguments));
    opened.err().map(|problems| problems.iter().map(|problem| problem.detail.to_string()).collect())
}

/// The connection string with other parts.
fn connection(pg: &Pg, user: &str, database: &str, parameters: &str) -> String {
    format!("postgres://{user}@127.0.0.1:{}/{database}?{parameters}", pg.server.port())
}

fn two_writers_take_turns(pg: &Pg) {
    let name = unique("turns");
    let machines = [Machine::new(pg, &name), Machine::new(pg, &name)];
    add(&machines[0], "default", 0);
    std::thread::scope(|scope| {
        for (writer, machine) in machines.iter().enumerate() {
            scope.spawn(move || (0..100).for_each(|round| drop(add(machine, "default", 1 + round * 2 + writer))));
        }
    });
    let state = read(machines[0].open("default").as_mut());
    assert_eq!(numbers(Some(&state)), (0..=200).collect::<Vec<_>>());
    assert_eq!(state.serial, 201);
}

/// Without a row there is one lock for the whole table.
fn two_machines_create_a_state(pg: &Pg) {
    let name = unique("create");
    let (one, two) = (Machine::new(pg, &name), Machine::new(pg, &name));
    let mut first = locked(&one, "default");
    let mut second = two.open("default");
    assert!(matches!(second.try_lock(two.holder()), Err(LockRefusal::Held { holder: Some(_), .. })));
    let mut state = read(first.as_mut());
    state.apply(edit(1));
    write(first.as_mut(), &mut state);
    // The row exists now, and the creation lock is still held.
    assert!(matches!(second.try_lock(two.holder()), Err(LockRefusal::Held { holder: Some(_), .. })));
    first.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
    second.try_lock(two.holder()).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    // Another workspace is created while the lock of the row is held.
    add(&one, "other", 2);
    let mut state = read(second.as_mut());
    state.apply(edit(3));
    write(second.as_mut(), &mut state);
    drop(second);
    assert_eq!(numbers(Some(&read(one.open("default").as_mut()))), [1, 3]);
}

fn a_lock_that_its_session_lost_refuses_writes(pg: &Pg) {
    let name = unique("gone");
    let machine = Machine::new(pg, &name);
    add(&machine, "default", 1);
    let mut store = machine.open("default");
    let id = store.try_lock(machine.holder()).unwrap_or_else(|refusal| panic!("{refusal:?}")).id;
    let mut state = read(store.as_mut());
    state.apply(edit(2));
    let process = id.split('-').next().expect("the id begins with the process");
    pg.server.sql(DATABASE, &format!("select pg_terminate_backend({process})"));
    let problems = store.write(&mut state).expect_err("the session is gone");
    assert!(problems.iter().any(|problem| problem.code.id == "state-lock-lost"), "{problems:?}");
    assert!(store.unlock().is_err());
    assert_eq!(numbers(Some(&read(machine.open("default").as_mut()))), [1]);
    add(&machine, "default", 3);
}

fn a_live_session_without_its_lock_refuses_writes(pg: &Pg) {
    let name = unique("unlocked");
    let machine = Machine::new(pg, &name);
    add(&machine, "default", 1);
    // The first write releases the lock of its own session.
    let function = "returns trigger language plpgsql as $$ begin perform pg_advisory_unlock_all(); return new; end $$";
    pg.server.sql(
        DATABASE,
        &format!(
            "create function \"{name}\".release() {function}; \
             create trigger release after update on \"{name}\".states for each row execute function \"{name}\".release()"
        ),
    );
    let mut store = locked(&machine, "default");
    let mut state = read(store.as_mut());
    state.apply(edit(2));
    write(store.as_mut(), &mut state);
    state.apply(edit(4));
    let problems = store.write(&mut state).expect_err("the session does not hold the lock");
    assert!(problems.iter().any(|problem| problem.code.id == "state-lock-lost"), "{problems:?}");
    assert_eq!(numbers(Some(&read(machine.open("default").as_mut()))), [1, 2]);
}

fn a_refused_lock_names_another_program(pg: &Pg) {
    let name = unique("psql");
    let machine = Machine::new(pg, &name);
    add(&machine, "default", 1);
    let sql = format!(
        "set application_name = 'a test'; select pg_advisory_lock(id) from \"{name}\".states where name = 'default'; \
         select pg_sleep(3)"
    );
    std::thread::scope(|scope| {
        let holder = scope.spawn(|| pg.server.sql(DATABASE, &sql));
        let until = Instant::now() + Duration::from_secs(20);
        let refused = loop {
            let mut store = machine.open("default");
            match store.try_lock(machine.holder()) {
                Err(LockRefusal::Held { holder: Some(holder), .. }) => break holder,
                Ok(_) if Instant::now() < until => drop(store.unlock()),
                outcome => panic!("{outcome:?}"),
            }
        };
        assert!(refused.info.starts_with("server process "), "{refused:?}");
        for part in ["role \"tofu\"", "application \"a test\"", "client 127.0.0.1 port "] {
            assert!(refused.info.contains(part), "{refused:?}");
        }
        assert!(refused.created.is_some() && refused.pid().is_none(), "{refused:?}");
        // An id of something else does not end that session; its own does.
        let mut store = machine.open("default");
        assert!(store.force_unlock("1-1").is_err());
        store.force_unlock(&refused.id).unwrap_or_else(|problems| panic!("{problems:?}"));
        drop(locked(&machine, "default"));
        assert!(holder.join().is_err(), "the session was ended");
    });
}

fn a_wrong_password_is_named(pg: &Pg) {
    pg.server.sql(DATABASE, "create role pwuser login password 'right'; grant create on database tofu_state to pwuser");
    pg.server.sql(DATABASE, "grant create on schema public to pwuser");
    let schema = unique("password");
    let with =
        |user: &str| json!({ "conn_str": connection(pg, user, DATABASE, "sslmode=disable"), "schema_name": schema });
    let message = refused(&with("pwuser:wr0ng%20one"), &[]).expect("the password is wrong");
    assert!(message.contains("28P01") && message.contains("127.0.0.1:"), "{message}");
    assert!(!message.contains("wr0ng"), "{message}");
    let message = refused(&with("pwuser"), &[]).expect("there is no password");
    assert!(message.contains("PGPASSWORD"), "{message}");
    assert_eq!(refused(&with("pwuser:right"), &[]), None);
    assert_eq!(refused(&with("pwuser"), &[("PGPASSWORD", "right")]), None);
}

fn a_missing_database_is_named(pg: &Pg) {
    let message = refused(&json!({ "conn_str": connection(pg, "tofu", "no such", "sslmode=disable") }), &[]);
    let message = message.expect("there is no such database");
    assert!(message.contains("3D000") && message.contains("CREATE DATABASE \"no such\""), "{message}");
    let message = refused(&json!({ "conn_str": "postgres://tofu@127.0.0.1:1/x?sslmode=disable" }), &[]);
    assert!(message.expect("nothing listens there").contains("127.0.0.1:1"));
}

fn a_missing_permission_is_named(pg: &Pg) {
    pg.server.sql(DATABASE, "create role nothing login password 'x'");
    let arguments = json!({
        "conn_str": connection(pg, "nothing:x", DATABASE, "sslmode=disable"), "schema_name": unique("denied")
    });
    let message = refused(&arguments, &[]).expect("the role may not create schemas");
    assert!(message.contains("42501") && message.contains("CREATE on the database"), "{message}");
}

/// OpenTofu needs skip_* arguments here, because it creates everything that may exist.
fn a_role_without_create_uses_an_existing_table(pg: &Pg) {
    let name = unique("granted");
    let owner = Machine::new(pg, &name);
    add(&owner, "default", 1);
    pg.server.sql(
        DATABASE,
        &format!(
            "create role granted login password 'x'; grant usage on schema \"{name}\" to granted; grant select, insert, \
             update, delete on \"{name}\".states to granted; grant usage on sequence public.global_states_id_seq to granted"
        ),
    );
    struct Granted<'a>(&'a Pg);
    impl Subject for Granted<'_> {
        fn kind(&self) -> &'static str {
            "pg"
        }
        fn arguments(&self, state: &str) -> Json {
            json!({ "conn_str": connection(self.0, "granted:x", DATABASE, "sslmode=disable"), "schema_name": state })
        }
    }
    let machine = Machine::new(&Granted(pg), &name);
    add(&machine, "default", 2);
    // A run has its journal on this machine only, because the role cannot create the table.
    crate::suite::interrupted_run(&machine);
    let journals = format!("select count(*) from pg_tables where schemaname = '{name}' and tablename = 'yuba_journal'");
    assert_eq!(pg.server.sql(DATABASE, &journals), "0");
    let restarted = machine.restarted(&Granted(pg), &name);
    let recovered = locked(&restarted, "default").read().unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(numbers(recovered.state.as_ref()), [1, 2, 10]);
}

fn a_client_certificate_identifies(pg: &Pg) {
    let Some(certificate) = pg.server.certificate() else { return };
    let schema = unique("certified");
    pg.server
        .sql(DATABASE, &format!("create role certified login; create schema \"{schema}\" authorization certified"));
    let authority = certificate.authority.display().to_string();
    let (own, own_key) = certificate.client("certified");
    let (other, other_key) = certificate.client("stranger");
    let with = |more: &str| {
        let parameters = format!("sslmode=verify-full&sslrootcert={authority}{more}");
        let url = connection(pg, "certified", DATABASE, &parameters);
        refused(&json!({ "conn_str": url, "schema_name": schema, "skip_schema_creation": true }), &[])
    };
    let pair = |certificate: &Path, key: &Path| format!("&sslcert={}&sslkey={}", certificate.display(), key.display());
    assert_eq!(with(&pair(&own, &own_key)), None);
    let message = with("").expect("the server requires a certificate");
    assert!(message.contains("certificate"), "{message}");
    let message = with(&pair(&other, &other_key)).expect("it belongs to another role");
    assert!(message.contains("certified"), "{message}");
    assert!(with(&pair(&own, &other_key)).is_some(), "the key belongs to another certificate");
}

fn certificates_are_verified(pg: &Pg) {
    let Some(certificate) = pg.server.certificate() else { return };
    let authority = certificate.authority.display().to_string();
    let schema = unique("tls");
    let with = |host: &str, parameters: &str| {
        let url = format!("postgres://tofu@{host}:{}/{DATABASE}?{parameters}", pg.server.port());
        refused(&json!({ "conn_str": url, "schema_name": schema }), &[])
    };
    assert_eq!(with("127.0.0.1", ""), None, "require is the default and verifies nothing");
    assert_eq!(with("127.0.0.1", &format!("sslmode=verify-full&sslrootcert={authority}")), None);
    // The host of the certificate is 127.0.0.1 or localhost, and 127.0.0.2 reaches the same server.
    let by_name = |mode: &str| {
        let string = format!(
            "host=db.example hostaddr=127.0.0.1 port={} user=tofu dbname={DATABASE} sslmode={mode} sslrootcert={authority}",
            pg.server.port()
        );
        refused(&json!({ "conn_str": string, "schema_name": schema }), &[])
    };
    let message = by_name("verify-full").expect("the certificate is for another host");
    assert!(message.contains("not valid for the host \"db.example\""), "{message}");
    assert_eq!(by_name("verify-ca"), None);
    let message = with("127.0.0.1", "sslmode=verify-full").expect("the machine does not know the authority");
    assert!(message.contains("unknown authority"), "{message}");
    let message = with("127.0.0.1", "sslmode=verify-ca").expect("the machine does not know the authority");
    assert!(message.contains("sslrootcert"), "{message}");
    // Another authority, also with the default mode, because there is a file.
    let other = certificate.certificate.display().to_string();
    let message = with("127.0.0.1", &format!("sslrootcert={other}")).expect("it has not signed the certificate");
    assert!(message.contains("authority") || message.contains("certificate"), "{message}");
    // The connection is encrypted.
    let machine = Machine::new(&Encrypted(pg), &schema);
    let held = locked(&machine, "default");
    let count = "select count(*) from pg_stat_ssl join pg_stat_activity using (pid) where ssl and usename = 'tofu'";
    assert_ne!(pg.server.sql(DATABASE, count), "0");
    drop(held);
}

struct Encrypted<'a>(&'a Pg);

impl Subject for Encrypted<'_> {
    fn kind(&self) -> &'static str {
        "pg"
    }
    fn arguments(&self, state: &str) -> Json {
        json!({ "conn_str": connection(self.0, "tofu", DATABASE, ""), "schema_name": state })
    }
}

fn the_socket_is_used(pg: &Pg) {
    let (directory, port) = (pg.server.directory().display().to_string(), pg.server.port().to_string());
    let schema = unique("socket");
    let string = "user=tofu dbname=tofu_state application_name='by socket' search_path=nowhere";
    let variables = [("PGHOST", directory.as_str()), ("PGPORT", &port)];
    assert_eq!(refused(&json!({ "conn_str": string, "schema_name": schema }), &variables), None);
    let message = refused(&json!({ "conn_str": "user=tofu dbname=tofu_state no_such_setting=1" }), &variables);
    assert!(message.is_some_and(|message| message.contains("no_such_setting")));
    let message =
        refused(&json!({ "conn_str": "user=tofu dbname=tofu_state target_session_attrs=standby" }), &variables);
    assert!(message.is_some_and(|message| message.contains("not a standby")));
}

fn a_restart_ends_the_lock(pg: &Pg) {
    let name = unique("restart");
    let machine = Machine::new(pg, &name);
    add(&machine, "default", 1);
    let mut store = locked(&machine, "default");
    let mut state = read(store.as_mut());
    let mut journal = store.journal(&mut state).unwrap_or_else(|problems| panic!("{problems:?}"));
    let operation = |n: usize| yuba_backend::JournalOperation {
        address: format!("terraform_data.r[{n}]").into(),
        action: "create".into(),
    };
    let first = journal.begin(operation(2));
    journal.hand_over().unwrap_or_else(|problems| panic!("{problems:?}"));
    pg.server.restart();
    journal.finish(first, &[edit(2)]);
    state.apply(edit(2));
    journal.flush().unwrap_or_else(|problems| panic!("{problems:?}"));
    let problems = journal.hand_over().expect_err("nothing new starts without the lock");
    assert!(problems.iter().any(|problem| problem.code.id == "state-lock-lost"), "{problems:?}");
    journal.close(&mut state).expect_err("the state is not written without the lock");
    drop(store);
    // The finished operation is in the journal of this machine, and the next run completes the state from it.
    let restarted = machine.restarted(pg, &name);
    let reading = locked(&restarted, "default").read().unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(numbers(reading.state.as_ref()), [1, 2]);
}

fn a_frozen_server_delays(pg: &Pg) {
    let name = unique("frozen");
    let machine = Machine::new(pg, &name);
    add(&machine, "default", 1);
    let mut store = locked(&machine, "default");
    let mut state = read(store.as_mut());
    state.apply(edit(2));
    pg.server.stop();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            pg.server.resume();
        });
        write(store.as_mut(), &mut state);
    });
    drop(store);
    assert_eq!(numbers(Some(&read(machine.open("default").as_mut()))), [1, 2]);
}
