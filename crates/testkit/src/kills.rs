//! Parts of tests that kill applies at random moments: the sequence of moments, and what the next command reports about the killed run.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::{Run, Sandbox};

/// A sequence of kills. `YUBA_KILLS` is their number, `YUBA_CRASH_SEED` repeats the moments of an earlier run.
#[derive(Clone, Copy, Debug)]
pub struct Kills {
    /// Number of applies.
    pub count: u64,
    /// The seed of their moments.
    pub seed: u64,
}

impl Kills {
    /// The sequence that the environment asks for; otherwise this number with a new seed. The seed is printed, so that a failed test
    /// shows it.
    pub fn of_environment(count: u64) -> Kills {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seed = number("YUBA_CRASH_SEED").unwrap_or(now.as_secs());
        println!("YUBA_CRASH_SEED={seed}");
        Kills { count: number("YUBA_KILLS").unwrap_or(count), seed }
    }

    /// The random number at a position (SplitMix64).
    pub fn random(&self, position: u64) -> u64 {
        let mut bits = self.seed.wrapping_add(position.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }
}

/// What a command reports about an interrupted run whose journal it has completed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Instances whose operations were finished.
    pub finished: Vec<String>,
    /// Objects whose operations have no result: `ADDRESS`, or `ADDRESS (deposed object KEY)`.
    pub unknown: Vec<String>,
}

impl Recovery {
    /// The report in the output of a command, about resources of the type `testing_thing`.
    pub fn of(run: &Run) -> Recovery {
        let mut report = Recovery::default();
        let mut is_unknown = false;
        for line in run.to_string().lines() {
            let line = line.trim_start_matches(['│', ' ']);
            is_unknown |= line.contains("operations were in progress");
            let Some(item) = line.strip_prefix("- ").filter(|item| item.starts_with("testing_thing.")) else {
                continue;
            };
            // `ADDRESS (deposed object KEY) (ACTION)`
            match item.rsplit_once(" (").filter(|_| is_unknown) {
                Some((object, _)) => report.unknown.push(object.to_owned()),
                None => report.finished.push(item.to_owned()),
            }
        }
        report
    }

    /// Whether it names no object.
    pub fn is_empty(&self) -> bool {
        self.finished.is_empty() && self.unknown.is_empty()
    }

    /// Whether it says that the operation on an object has no result. `cbd3#2` is an object of `testing_thing.cbd[3]`.
    pub fn is_unknown(&self, id: &str) -> bool {
        let name = id.split('#').next().unwrap_or_default();
        let (kind, index) = name.split_at(name.len() - 1);
        let address = format!("testing_thing.{kind}[{index}]");
        self.unknown.iter().any(|object| *object == address || object.starts_with(&format!("{address} (")))
    }
}

impl Sandbox {
    /// Keeps a copy of the objects of the test provider, for [`Sandbox::restore_objects`].
    ///
    /// # Panics
    /// If the sandbox cannot be written.
    pub fn save_objects(&self) {
        copy(&self.world().join("objects"), &self.world().join("base"));
    }

    /// Only the objects of [`Sandbox::save_objects`] exist, and the record is empty.
    ///
    /// # Panics
    /// If the sandbox cannot be written.
    pub fn restore_objects(&self) {
        copy(&self.world().join("base"), &self.world().join("objects"));
        self.clear_record();
    }
}

fn copy(from: &Path, to: &Path) {
    // It may not exist yet.
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).expect("because the sandbox is writable");
    for entry in fs::read_dir(from).expect("because it exists").flatten() {
        fs::copy(entry.path(), to.join(entry.file_name())).expect("because the sandbox is writable");
    }
}
