//! Tests that need a program or a permission which a machine may lack: Go, OpenTofu, git, mounts.
//!
//! Each test whose tool is missing reports itself as ignored, with the reason in its name. `YUBA_REQUIRE` lists the tools
//! whose absence is a failure: `YUBA_REQUIRE=go,git`.

mod azure_cloud;
mod azurerm;
mod backend_records;
mod clear_text;
#[cfg(unix)]
mod completion;
mod encryption;
mod full_disk;
mod gcs;
mod git;
mod html;
mod interchange;
mod real_providers;
mod records;
mod release;
mod remote_states;
mod tfe;

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
    #[cfg(unix)]
    for (tool, name, test) in [
        ("bash", "completion in bash", completion::in_bash as fn()),
        ("zsh", "completion in zsh", completion::in_zsh),
        ("fish", "completion in fish", completion::in_fish),
        ("mandoc", "man pages are valid", completion::man_pages),
    ] {
        let present = has_program(tool) && (!matches!(tool, "bash" | "zsh") || has_program("setsid"));
        trials.push(needs(tool, present, name, test));
    }
    for (name, test) in real_providers::all() {
        trials.push(needs("go", go, &format!("life of the provider {name}"), test));
    }
    for (name, test) in interchange::all() {
        trials.push(needs("tofu", tofu, &format!("both apply in turns: {name}"), test));
    }
    for (name, test) in gcs::all() {
        let present = tofu && yuba_testkit::servers::is_installed("fake-gcs-server");
        trials.push(needs("tofu and fake-gcs-server", present, &format!("backend \"gcs\": {name}"), test));
    }
    for (name, test) in backend_records::all() {
        trials.push(needs("tofu", tofu, &format!("both accept the record of a backend: {name}"), test));
    }
    let [has_consul, has_vault] = ["consul", "vault-transit"].map(yuba_testkit::servers::is_installed);
    trials.push(needs("tofu", tofu, "one remote state: http", remote_states::on_http));
    let with_consul = tofu && has_consul;
    trials.push(needs("tofu and consul", with_consul, "one remote state: consul", remote_states::on_consul));
    let gzip = remote_states::on_consul_with_gzip;
    trials.push(needs("tofu and consul", with_consul, "one remote state: consul with gzip", gzip));
    let on_remote = remote_states::on_tfe_with_the_remote_backend;
    trials.push(needs("tofu", tofu, "one remote state: remote", on_remote));
    trials.push(needs("tofu", tofu, "one remote state: cloud", remote_states::on_tfe_with_a_cloud_block));
    for (name, test) in tfe::all() {
        trials.push(needs("tofu", tofu, &format!("one TFE server: {name}"), test));
    }
    let has_moto = yuba_testkit::servers::is_installed("moto");
    for (name, test) in [
        ("s3 with lock objects", remote_states::on_s3_with_lock_objects as fn()),
        ("s3 with a lock table", remote_states::on_s3_with_a_lock_table),
        ("s3 with both locks", remote_states::on_s3_with_both_locks),
    ] {
        trials.push(needs("tofu and moto", tofu && has_moto, &format!("one remote state: {name}"), test));
    }
    let aws_kms = encryption::with_aws_kms;
    trials.push(needs("tofu and moto", tofu && has_moto, "both encrypt: key provider aws_kms", aws_kms));
    let openbao = encryption::with_openbao;
    trials.push(needs("tofu and vault-transit", tofu && has_vault, "both encrypt: key provider openbao", openbao));
    let external = encryption::with_an_external_method;
    let has_python = has_program("python3");
    trials.push(needs("tofu and python3", tofu && has_python, "both encrypt: method external", external));
    let has_postgresql = yuba_testkit::servers::is_installed("postgresql");
    trials.push(needs("sh", has_program("sh"), "no clear text with the local backend", clear_text::on_local));
    trials.push(needs("sh", has_program("sh"), "no clear text with the http backend", clear_text::on_http));
    trials.push(needs("postgresql", has_postgresql, "no clear text with the pg backend", clear_text::on_pg));
    for (name, server, test) in [
        ("s3", "moto", clear_text::on_s3 as fn()),
        ("gcs", "fake-gcs-server", clear_text::on_gcs),
        ("azurerm", "azurite", clear_text::on_azurerm),
    ] {
        let present = yuba_testkit::servers::is_installed(server);
        trials.push(needs(server, present, &format!("no clear text with the {name} backend"), test));
    }
    trials.push(needs(
        "sh",
        has_program("sh"),
        "clear text is found where nothing is encrypted",
        clear_text::the_search_works,
    ));
    for (name, test) in [
        ("both apply in turns", azurerm::both_apply_in_turns as fn()),
        ("locks exclude each other", azurerm::locks_exclude_each_other),
    ] {
        let present = tofu && azurerm::is_available();
        trials.push(needs("tofu,azurite", present, &format!("states in azurerm: {name}"), test));
    }
    let has_kubernetes = tofu && ["kube-apiserver", "etcd"].into_iter().all(yuba_testkit::servers::is_installed);
    for (name, test) in [
        ("one remote state: kubernetes", remote_states::on_kubernetes as fn()),
        ("both write the same objects: kubernetes", remote_states::objects_of_kubernetes),
    ] {
        trials.push(needs("tofu and kube-apiserver", has_kubernetes, name, test));
    }
    for (name, test) in html::all() {
        trials.push(needs("chromium", yuba_testkit::servers::has_chromium(), &format!("HTML report: {name}"), test));
    }
    let records = records::records_of_libraries_are_tolerated;
    trials.push(needs("tofu", tofu, "records of symbol libraries are tolerated", records));
    trials.push(needs("git", git, "repositories are modules", git::repositories_are_modules));
    trials.push(needs("git", git, "repositories are symbol libraries", git::repositories_are_libraries));
    let full_disk = full_disk::loses_nothing_and_taints_nothing;
    trials.push(needs("mount", full_disk::can_mount(), "a full disk loses nothing and taints nothing", full_disk));
    let has_binary = release::binary().is_some();
    for (name, test) in [
        ("packages of a release", release::packages_are_installed_used_and_removed as fn()),
        ("the script that installs a release", release::the_script_installs_what_its_checksum_confirms),
    ] {
        trials.push(needs("YUBA_RELEASE_BINARY", has_binary, name, test));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
