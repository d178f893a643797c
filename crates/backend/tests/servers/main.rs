//! One suite over every backend, on real servers.
//!
//! Each server has a file of its own that starts it and says which arguments reach it ([`Subject`]). The suite in `suite.rs` runs
//! identically over all of them. Tests of a server that is not installed report themselves as ignored, with the server in
//! their name; `YUBA_REQUIRE=postgresql,moto` makes that a failure.

mod azurite;
mod consul;
mod cuts;
mod gcs;
mod http;
mod kubernetes;
mod local_memory;
mod pg;
mod pg_cuts;
mod pg_rows;
mod pg_runs;
mod pg_simulator;
mod s3;
mod subject;
mod suite;
mod tfe;
mod tfe_api;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};

use subject::{Lazy, Subject};

/// All backends on all servers.
fn subjects() -> Vec<Lazy> {
    let mut all = Vec::new();
    all.extend(gcs::subjects());
    all.extend(consul::subjects());
    all.extend(http::subjects());
    all.extend(local_memory::subjects());
    all.extend(kubernetes::subjects());
    all.extend(pg::subjects());
    all.extend(s3::subjects());
    all.extend(azurite::subjects());
    all.extend(tfe::subjects());
    all
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for lazy in subjects() {
        let lazy = Arc::new(lazy);
        let cuts = lazy.has_cuts.then_some((cuts::NAME, cuts::a_cut_at_any_request_loses_nothing as suite::Test));
        for (name, test) in suite::TESTS.iter().copied().chain(cuts) {
            let subject = Arc::clone(&lazy);
            let run = move || {
                let started = subject.get();
                let Some(started) = started else {
                    return Err(format!("{} is required by YUBA_REQUIRE and missing", subject.server).into());
                };
                test(started.as_ref());
                Ok(())
            };
            let is_ignored = !lazy.is_installed && !lazy.is_required();
            trials.push(Trial::test(format!("{}: {name}", lazy.name), run).with_ignored_flag(is_ignored));
        }
    }
    trials.extend(consul::trials());
    trials.extend(kubernetes::trials());
    trials.extend(pg::trials());
    trials.extend(pg_rows::trials());
    trials.extend(tfe_api::trials());
    let conclusion = libtest_mimic::run(&arguments, trials);
    subject::stop_all();
    conclusion.exit_code()
}

/// A subject that the suite runs over.
pub(crate) type Started = Arc<dyn Subject>;
