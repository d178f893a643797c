//! PostgreSQL.

use std::time::{Duration, Instant};

use yuba_testkit::servers::postgresql;

pub(crate) fn lives_and_dies() {
    let postgres = postgresql().expect("because it is installed");
    let directory = postgres.directory().to_owned();
    postgres.create_database("tofu_state");
    postgres.sql("tofu_state", "create table t (a int, b text); insert into t values (1, 'x'), (2, 'y')");
    assert_eq!(postgres.sql("tofu_state", "select * from t order by a"), "1|x\n2|y");
    assert_eq!(postgres.sql("postgres", "show ssl"), if postgres.certificate().is_some() { "on" } else { "off" });

    // The backend of an open connection dies with the server, whatever it does.
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| postgres.sql("postgres", "select pg_sleep(600)"));
        let sleepers = "select count(*) from pg_stat_activity where query = 'select pg_sleep(600)'";
        wait_until(|| postgres.sql("postgres", sleepers) == "1");
        postgres.kill();
        assert!(sleeper.join().is_err(), "the statement fails with the server");
    });
    assert!(std::net::TcpStream::connect(postgres.address()).is_err(), "a killed server refuses connections");
    postgres.restart();
    assert_eq!(postgres.sql("tofu_state", "select count(*) from t"), "2");

    postgres.stop();
    std::thread::scope(|scope| {
        let question = scope.spawn(|| postgres.sql("postgres", "select 7"));
        std::thread::sleep(Duration::from_millis(300));
        assert!(!question.is_finished(), "a frozen server answers nothing");
        postgres.resume();
        assert_eq!(question.join().expect("because the server goes on"), "7");
    });

    let port = postgres.port();
    drop(postgres);
    assert!(!directory.exists());
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
}

fn wait_until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "the condition does not come true");
        std::thread::sleep(Duration::from_millis(20));
    }
}
