//! Tests that need a program or a permission which a machine may lack: Go, OpenTofu, git, mounts.
//!
//! Each test whose tool is missing reports itself as ignored, with the reason in its name. `YUBA_REQUIRE` lists the tools
//! whose absence is a failure: `YUBA_REQUIRE=go,git`.

mod full_disk;
mod git;
mod interchange;
mod kubernetes;
mod real_providers;
mod records;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use yuba_testkit::has_program;

/// The test, ignored where its tool is missing. The tool is part of the name.
fn needs(tool: &str, present: bool, name: &str, test: impl FnOnce() + Send + 'static) -> Trial {
    let required = std::env::var("YUBA_REQUIRE").is_ok_and(|list| list.split(',').any(|listed| listed == tool));
    let tool_name = tool.to_owned();
    let run = move || {
        if !present {
            return Err(format!("{tool_name} is required by YUBA_REQUIRE and missing").into());
        }
        test();
        Ok(())
    };
    Trial::test(format!("needs {tool}: {name}"), run).with_ignored_flag(!present && !required)
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let [go, tofu, git] = ["go", "tofu", "git"].map(has_program);
    let mut trials = Vec::new();
    for (name, test) in real_providers::all() {
        trials.push(needs("go", go, &format!("life of the provider {name}"), test));
    }
    for (name, test) in interchange::all() {
        trials.push(needs("tofu", tofu, &format!("both apply in turns: {name}"), test));
    }
    let has_kubernetes = tofu && ["kube-apiserver", "etcd"].into_iter().all(yuba_testkit::servers::is_installed);
    let kubernetes = kubernetes::one_state_for_both;
    trials.push(needs("tofu and kube-apiserver", has_kubernetes, "one remote state: kubernetes", kubernetes));
    let records = records::records_of_libraries_are_tolerated;
    trials.push(needs("tofu", tofu, "records of symbol libraries are tolerated", records));
    trials.push(needs("git", git, "repositories are modules", git::repositories_are_modules));
    trials.push(needs("git", git, "repositories are symbol libraries", git::repositories_are_libraries));
    let full_disk = full_disk::loses_nothing_and_taints_nothing;
    trials.push(needs("mount", full_disk::can_mount(), "a full disk loses nothing and taints nothing", full_disk));
    libtest_mimic::run(&arguments, trials).exit_code()
}
