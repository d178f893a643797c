//! Killed applies on backends over HTTP. Their servers cannot know that a process is gone: a lock stays, is named, and is released by
//! `force-unlock`. The journal is on the machine of the run.

use std::sync::atomic::Ordering;

use libtest_mimic::Trial;
use yuba_testkit::servers::{http_lock_server, moto};

use crate::kills::{Figures, Journal, Locks, Target};
use crate::needs;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        needs(&["moto"], "killed applies lose nothing: s3 with lock objects", on_s3),
        needs(&[], "killed applies lose nothing: http", on_http),
    ]
}

fn on_s3() {
    let server = moto().expect("because it is installed");
    server.create_bucket("states");
    let url = server.url();
    let backend = move |state: &str| {
        format!(
            "terraform {{\n  backend \"s3\" {{\n    bucket = \"states\"\n    key = {state:?}\n    region = \"us-east-1\"\n    \
             use_lockfile = true\n    use_path_style = true\n    skip_credentials_validation = true\n    \
             skip_requesting_account_id = true\n    skip_metadata_api_check = true\n    endpoints = {{\n      s3 = {url:?}\n    \
             }}\n  }}\n}}\n"
        )
    };
    let credentials = [("AWS_ACCESS_KEY_ID", "AKIATEST"), ("AWS_SECRET_ACCESS_KEY", "secret")];
    let environment = credentials.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    check(&Target { backend: Box::new(backend), environment, locks: Locks::Left, journal: Journal::Local });
}

fn on_http() {
    let server = http_lock_server();
    let backend = move |state: &str| {
        let url = server.url(&format!("/{state}"));
        format!(
            "terraform {{\n  backend \"http\" {{\n    address = {url:?}\n    lock_address = {url:?}\n    unlock_address = {url:?}\n  \
             }}\n}}\n"
        )
    };
    check(&Target { backend: Box::new(backend), environment: Vec::new(), locks: Locks::Left, journal: Journal::Local });
}

fn check(target: &Target) {
    let figures: Figures = crate::kills::run(target);
    let lost = figures.lost.lock().expect("because nothing panics while it is held");
    assert!(lost.is_empty(), "{figures}\n{}", lost.join("\n"));
    let [killed, stuck] = [&figures.killed, &figures.stuck].map(|counter| counter.load(Ordering::Relaxed));
    assert!(killed > figures.runs / 2 && stuck <= killed, "{figures}");
}
