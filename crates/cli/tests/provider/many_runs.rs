//! Many applies with providers that crash and a Yuba that is killed: no orphan, no lost object, nothing left behind.

use std::collections::BTreeSet;

use yuba_testkit::Sandbox;

use crate::{apply, deeds, finish, no_changes, ok, sandbox, signal, start, wait_until};

/// Number of disturbed applies.
const RUNS: u64 = 100;

/// Four rows of three objects: each names the one before, so its creation starts after that one exists.
const ROWS: &str = r#"
//- main.tf
variable "round" {
  default = "0"
}
resource "testing_thing" "a" {
  count = 4
  name  = "a${count.index}"
  value = var.round
}
resource "testing_thing" "b" {
  count = 4
  name  = "b${count.index}"
  value = testing_thing.a[count.index].id
  kind  = var.round
}
resource "testing_thing" "c" {
  count = 4
  name  = "c${count.index}"
  value = testing_thing.b[count.index].id
  tags  = { round = var.round }
}
"#;

/// Ids of the objects in the state.
fn known(s: &Sandbox) -> BTreeSet<String> {
    let text = ok(s, &["state", "pull"]).stdout.replace("\": ", "\":");
    let ids = text.split("\"id\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    ids.filter(|id| id.contains('#')).map(str::to_owned).collect()
}

/// Objects whose creation was answered: an object that depends on them was begun afterwards. They must not be lost.
fn answered(record: &[String]) -> BTreeSet<String> {
    let mut made: BTreeSet<String> = BTreeSet::new();
    let mut sure = BTreeSet::new();
    for line in record {
        let mut words = line.split(' ');
        let (Some(verb), Some(_), Some(id)) = (words.next(), words.next(), words.next()) else { continue };
        match verb {
            "create" => drop(made.insert(id.to_owned())),
            "delete" => {
                made.remove(id);
                sure.remove(id);
            }
            "begin-create" => {
                // `b2` needs `a2`, `c2` needs `b2`.
                let before = match id.get(..1) {
                    Some("b") => "a",
                    Some("c") => "b",
                    _ => continue,
                };
                let number = id.trim_start_matches(['b', 'c']).split('#').next().unwrap_or_default();
                let needed = format!("{before}{number}#");
                sure.extend(made.iter().filter(|id| id.starts_with(&needed)).cloned());
            }
            _ => {}
        }
    }
    sure
}

#[test]
fn nothing_is_lost_and_nothing_is_left() {
    let s = sandbox(6, ROWS);
    // Chance that is the same every time.
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let mut chance = move |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    let mut record = Vec::new();
    for run in 0..RUNS {
        let round = format!("-var=round={}", run / 4);
        let args = ["apply", "-auto-approve", "-refresh=false", &round];
        match run % 3 {
            // The provider dies at one of the changes, if there are so many.
            0 | 1 => {
                let at = (1 + chance(10)).to_string();
                let mut command = s.command(&args);
                command.env("TESTING_CRASH_AT", at);
                let output = command.output().expect("because the program was built");
                assert!(output.status.code().is_some_and(|code| code < 2), "run {run}: {output:?}");
            }
            // Yuba dies at some moment.
            _ => {
                let mut child = start(&s, &args);
                let lines = usize::try_from(chance(24)).unwrap_or_default();
                let over = |child: &mut std::process::Child| !matches!(child.try_wait(), Ok(None));
                wait_until("the request is in progress", || s.record().len() >= lines || over(&mut child));
                if !over(&mut child) {
                    signal(&child, "KILL");
                }
                finish(child);
            }
        }
        wait_until("providers ended", || s.living_providers().is_empty());
        record.extend(s.record());
        s.clear_record();
        let (known, sure) = (known(&s), answered(&record));
        let lost: Vec<_> = sure.difference(&known).collect();
        assert!(lost.is_empty(), "run {run} lost {lost:?}");
    }
    // All is well again after one quiet run, and nothing that exists is unknown but what was being made when the
    // process died that made it.
    apply(&s);
    no_changes(&s);
    let exists: BTreeSet<String> = s.objects().into_iter().collect();
    let known = known(&s);
    assert!(known.is_subset(&exists), "{known:?} of {exists:?}");
    deeds(&s);
    ok(&s, &["destroy", "-auto-approve"]);
    assert_eq!(s.living_providers(), [] as [u32; 0]);
    crate::tidied(&s);
    let leftovers: Vec<String> = std::fs::read_dir(s.dir())
        .expect("because it exists")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !["main.tf", "required.tf", ".terraform", ".terraform.lock.hcl"].contains(&name.as_str()))
        .filter(|name| !name.starts_with("terraform.tfstate"))
        .collect();
    assert_eq!(leftovers, [] as [&str; 0]);
}
