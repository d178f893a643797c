//! Each server that is installed starts, answers, and stops. Those that are missing report their tests as ignored.
//!
//! `YUBA_REQUIRE=postgresql,moto` makes the absence of these servers a failure.

mod http_lock;
mod moto;
mod others;
mod postgresql;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use yuba_testkit::servers::{is_installed, is_required};

/// The test, ignored where its server is missing. The server is part of the name.
fn needs(server: &'static str, name: &str, test: fn()) -> Trial {
    let present = is_installed(server);
    let run = move || {
        if !present {
            return Err(format!("{server} is required by YUBA_REQUIRE and missing").into());
        }
        test();
        Ok(())
    };
    Trial::test(format!("needs {server}: {name}"), run).with_ignored_flag(!present && !is_required(server))
}

/// A test of a server that the crate itself contains.
fn always(name: &str, test: fn()) -> Trial {
    Trial::test(format!("http_lock_server: {name}"), move || {
        test();
        Ok(())
    })
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = vec![
        always("stores, locks and refuses like a state server", http_lock::stores_and_locks),
        always("checks passwords and digests", http_lock::checks_passwords_and_digests),
        always("shows the faults that a test asks for", http_lock::shows_faults),
        needs("postgresql", "answers, survives a kill, freezes and is removed", postgresql::lives_and_dies),
        needs("moto", "serves S3, DynamoDB and KMS", moto::serves),
        needs("fake-gcs-server", "creates buckets and objects", others::fake_gcs_serves),
        needs("azurite", "answers over HTTP", others::azurite_serves_http),
        needs("azurite", "answers over TLS", others::azurite_serves_https),
        needs("consul", "reads and writes keys", others::consul_serves),
        needs("vault-transit", "encrypts and decrypts", others::vault_transit_serves),
        needs("versitygw", "refuses requests without signature", others::versitygw_serves),
        needs("minio", "refuses requests without signature", others::minio_serves),
        needs("kube-apiserver", "stores secrets across a restart", others::kubernetes_serves),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}
