//! As many at the same time as allowed, and never more.

use std::fs;

use crate::{finish, nothing_left, ok, sandbox, signal, start, uninstalled, wait_until};

/// Maximum number of simultaneous requests. Requests for other ids are not included.
fn most_at_once(s: &yuba_testkit::Sandbox, verb: &str, counts: impl Fn(&str) -> bool) -> i32 {
    let (mut now, mut most) = (0, 0);
    for line in s.record() {
        let mut words = line.split(' ');
        let (found, id) = (words.next().unwrap_or_default(), words.nth(1).unwrap_or_default());
        if counts(id) {
            now += if found.strip_prefix("begin-") == Some(verb) { 1 } else { -i32::from(found == verb) };
            most = most.max(now);
        }
    }
    most
}

#[test]
fn as_many_as_allowed() {
    let s = sandbox(
        6,
        "//- main.tf\nresource \"testing_thing\" \"a\" {\n  count  = 9\n  name   = \"a${count.index}\"\n  behave = \"slow_create\"\n}\n",
    );
    let s = s.env("TESTING_SLOW_MS", "150");
    for (flag, expected) in [("-parallelism=1", 1), ("-parallelism=3", 3), ("-parallelism=10", 9)] {
        s.clear_record();
        ok(&s, &["apply", "-auto-approve", flag]);
        assert_eq!(most_at_once(&s, "create", |_| true), expected, "{flag}");
        ok(&s, &["destroy", "-auto-approve"]);
    }
    nothing_left(&s);
}

#[test]
fn validation_goes_on_while_providers_answer() {
    let resource = |n: u32| {
        format!("resource \"testing_thing\" \"r{n}\" {{\n  name   = \"n{n}\"\n  behave = \"slow_validate\"\n}}\n")
    };
    let s = sandbox(6, &format!("//- main.tf\n{}", (10..40).map(resource).collect::<String>()));
    let s = s.env("TESTING_SLOW_MS", "300");
    ok(&s, &["validate"]);
    assert_eq!(most_at_once(&s, "validate", |_| true), 10);
    // Requests after those that were sent first overlap as well.
    for later in ["n2", "n3"] {
        let most = most_at_once(&s, "validate", |id| id.starts_with(later));
        assert!(most > 5, "{later}: {most} at the same time\n{}", s.record().join("\n"));
    }
    s.clear_record();
    ok(&s, &["plan", "-parallelism=4"]);
    assert_eq!(most_at_once(&s, "validate", |_| true), 4);
    nothing_left(&s);
}

#[test]
#[cfg(unix)]
fn all_provider_instances_start_while_the_configuration_is_validated() {
    let config = |behave: &str| {
        format!(
            "//- main.tf\nprovider \"testing\" {{\n}}\nprovider \"testing\" {{\n  alias = \"other\"\n}}\n\
             provider \"testing\" {{\n  alias = \"unused\"\n}}\n\
             resource \"testing_thing\" \"a\" {{\n  name   = \"a\"\n  behave = \"{behave}\"\n}}\n\
             resource \"testing_thing\" \"b\" {{\n  provider = testing.other\n  name     = \"b\"\n}}\n"
        )
    };
    let s = sandbox(6, &config("deaf_validate"));
    let child = start(&s, &["plan"]);
    wait_until("two processes run, although the first one does not answer", || s.provider_processes().len() == 2);
    signal(&child, "KILL");
    finish(child);
    wait_until("providers ended", || s.living_providers().is_empty());
    let s = sandbox(6, &config(""));
    for (args, processes) in [(&["validate"][..], 1), (&["plan", "-target=testing_thing.a"], 1), (&["plan"], 2)] {
        let before = s.provider_processes().len();
        ok(&s, args);
        assert_eq!(s.provider_processes().len() - before, processes, "{args:?}");
    }
    nothing_left(&s);
}

#[test]
#[cfg(unix)]
fn providers_without_a_block_are_configured_at_the_same_time() {
    let s = uninstalled(
        "//- main.tf\nresource \"testing_thing\" \"a\" {\n  name = \"a\"\n}\n\
         resource \"testing_thing\" \"b\" {\n  provider = other\n  name     = \"b\"\n}\n",
    );
    let of = |name: &str| format!("    {name} = {{ source = \"yuba/{name}\" }}\n");
    s.write(
        "required.tf",
        format!("terraform {{\n  required_providers {{\n{}{}  }}\n}}\n", of("testing"), of("other")),
    );
    // The same executable under another name.
    let packages = s.world().with_file_name("mirror").join("registry.opentofu.org/yuba");
    let version = "1.0.0".to_owned() + "/" + &yuba_testkit::platform();
    fs::create_dir_all(packages.join("other").join(&version)).expect("because the sandbox is writable");
    let executable = |name: &str| packages.join(name).join(&version).join(format!("terraform-provider-{name}_v1.0.0"));
    fs::copy(executable("testing"), executable("other")).expect("because the sandbox is writable");
    ok(&s, &["init"]);
    ok(&s, &["plan", "-out=saved"]);
    let before = s.provider_processes().len();
    let s = s.env("TESTING_START_MS", "60000");
    let child = start(&s, &["apply", "saved"]);
    wait_until("both processes run, although none has started", || s.provider_processes().len() - before == 2);
    signal(&child, "KILL");
    finish(child);
    wait_until("providers ended", || s.living_providers().is_empty());
}

#[test]
fn processes_for_applying_start_when_a_change_is_planned() {
    let config =
        |size: u32| format!("//- main.tf\nresource \"testing_thing\" \"a\" {{\n  name = \"a\"\n  size = {size}\n}}\n");
    let s = sandbox(6, &config(1));
    let apply = &["apply", "-auto-approve"][..];
    // Before objects are destroyed, they are read in a plan of its own.
    let destroy = &["destroy", "-auto-approve"][..];
    for (args, processes) in [(apply, 2), (apply, 1), (&["plan"], 1), (destroy, 3), (apply, 2)] {
        let before = s.provider_processes().len();
        ok(&s, args);
        assert_eq!(s.provider_processes().len() - before, processes, "{args:?}");
    }
    // The second process starts before the plan is approved.
    s.write("main.tf", config(2).trim_start_matches("//- main.tf\n"));
    let before = s.provider_processes().len();
    let mut command = s.command(&["apply"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
    let mut child = command.spawn().expect("because the program was built");
    wait_until("two processes run", || s.provider_processes().len() - before == 2);
    // The end of its input does not approve the plan.
    drop(child.stdin.take());
    finish(child);
    assert_eq!(s.provider_processes().len() - before, 2);
    nothing_left(&s);
}
