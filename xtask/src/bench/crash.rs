//! The crash test: applies are killed, and operations that the provider had finished are looked for in the state.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::run::Run;
use super::tool::{Env, Tool};
use crate::bench::results::Losses;

/// Resources of the configuration.
pub(super) const RESOURCES: u64 = 3_000;
/// Duration of each operation: the apply is long enough for tools that save at intervals.
const CALL_MS: &str = "100";
/// The earliest and the latest kill, in finished operations.
const KILLED_AFTER: (u64, u64) = (50, 2_950);
/// Time for an apply to reach the moment of its kill.
const PATIENCE: Duration = Duration::from_secs(240);
/// Interval at which the record of the provider is read.
const INTERVAL: Duration = Duration::from_millis(2);

/// Kills applies of each tool at the same moments, counted in finished operations.
pub(super) fn measure(run: &mut Run<'_>) -> Result<(), String> {
    let config = format!(
        "terraform {{\n  required_providers {{\n    testing = {{\n      source = \"yuba/testing\"\n    }}\n  }}\n}}\n\n\
         resource \"testing_thing\" \"x\" {{\n  count = {RESOURCES}\n  name  = \"thing-${{count.index}}\"\n}}\n"
    );
    let files = [("main.tf".to_owned(), config)];
    for kill in 0..run.options.kills {
        let moment = moment(run.options.seed, kill);
        for index in 0..run.tools.len() {
            let Some(tool) = run.tools.get(index) else { continue };
            let directory = run.scratch.directory(&format!("crash-{}", tool.name), &files)?;
            let world = directory.join(".bench/world").display().to_string();
            let env = run.scratch.env(&directory, &[("TESTING_DIR", &world), ("TESTING_CALL_MS", CALL_MS)]);
            let lost = Victim { tool, directory: &directory, env: &env, world: Path::new(&world) }.die(moment)?;
            eprintln!("crash    {:9} after {moment} operations: {} of {} lost", tool.name, lost.lost, lost.finished);
            let all = run.results.losses.entry(tool.name.to_owned()).or_default();
            all.kills += lost.kills;
            all.finished += lost.finished;
            all.lost += lost.lost;
            all.unnamed += lost.unnamed;
            let _ = fs::remove_dir_all(directory);
        }
    }
    let seed = run.options.seed;
    run.fact("Seed of the crash test", &seed.to_string());
    run.fact("Provider of the crash test", &format!("TESTING_CALL_MS={CALL_MS}"));
    Ok(())
}

/// The number of finished operations after which a process is killed.
fn moment(seed: u64, kill: u64) -> u64 {
    let mut bits = seed.wrapping_add(kill.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let (first, last) = KILLED_AFTER;
    first + (bits ^ (bits >> 31)) % (last - first)
}

/// An apply that is killed.
struct Victim<'v> {
    tool: &'v Tool,
    directory: &'v Path,
    env: &'v Env,
    world: &'v Path,
}

impl Victim<'_> {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.tool.path);
        command.args(args).current_dir(self.directory).envs(self.env).stdin(Stdio::null());
        command
    }

    fn text(&self, args: &[&str]) -> Result<String, String> {
        let output = self.command(args).output().map_err(|error| error.to_string())?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
    }

    /// Objects that the provider has created and recorded on disk.
    fn created(&self) -> BTreeSet<String> {
        let record = fs::read_to_string(self.world.join("record")).unwrap_or_default();
        let whole = record.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().filter_map(created).map(str::to_owned).collect()
    }

    /// Applies, is killed after this many operations, and counts what the next commands know.
    fn die(&self, moment: u64) -> Result<Losses, String> {
        let init = self.command(&["init"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !init.is_ok_and(|status| status.success()) {
            return Err(format!("{} init failed in {}", self.tool.name, self.directory.display()));
        }
        let mut apply = self.command(&["apply", "-auto-approve"]);
        let mut child = apply.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(|error| error.to_string())?;
        let finished = self.wait_and_kill(&mut child, moment)?;
        self.end_providers();
        // The next command may complete the state. Its diagnostics name objects in lists.
        let report = self.text(&["plan", "-refresh=false"])?;
        let named: BTreeSet<&str> = report.lines().filter_map(named).collect();
        let state = self.text(&["state", "pull"])?;
        let known = ids(&state);
        let lost: Vec<&String> = finished.iter().filter(|id| !known.contains(*id)).collect();
        let unnamed = lost.iter().filter(|id| !address(id).is_some_and(|address| named.contains(address.as_str())));
        Ok(Losses {
            kills: 1,
            finished: finished.len() as u64,
            lost: lost.len() as u64,
            unnamed: unnamed.count() as u64,
        })
    }

    /// Kills the process when the provider has finished enough operations; those operations.
    fn wait_and_kill(&self, child: &mut Child, moment: u64) -> Result<BTreeSet<String>, String> {
        let start = Instant::now();
        loop {
            let created = self.created();
            let has_ended = child.try_wait().map_err(|error| error.to_string())?.is_some();
            if created.len() as u64 >= moment || has_ended || start.elapsed() > PATIENCE {
                let _ = child.kill();
                let _ = child.wait();
                return match has_ended || start.elapsed() > PATIENCE {
                    true => Err(format!("{} apply ended or stalled before {moment} operations", self.tool.name)),
                    false => Ok(created),
                };
            }
            std::thread::sleep(INTERVAL);
        }
    }

    /// Providers may outlive the killed process.
    fn end_providers(&self) {
        let processes = fs::read_to_string(self.world.join("processes")).unwrap_or_default();
        for id in processes.lines().filter_map(|line| line.parse().ok()) {
            let provider = fs::read_link(format!("/proc/{id}/exe")).unwrap_or_default();
            if provider.to_string_lossy().contains("terraform-provider-testing") {
                let _ = kill(Pid::from_raw(id), Signal::SIGKILL);
            }
        }
    }
}

/// The id in a line of the record: `create KIND ID INSTANCE PROCESS`.
fn created(line: &str) -> Option<&str> {
    line.strip_prefix("create ")?.split(' ').nth(1)
}

/// The address in an item of a list of a diagnostic: `- testing_thing.x[3] (create)`.
fn named(line: &str) -> Option<&str> {
    let item = line.trim_start_matches(['│', ' ']).strip_prefix("- ")?;
    item.starts_with("testing_thing.").then(|| item.split(' ').next().unwrap_or(item))
}

/// The address of an object: `thing-3#1` belongs to `testing_thing.x[3]`.
fn address(id: &str) -> Option<String> {
    let number = id.strip_prefix("thing-")?.split('#').next()?;
    Some(format!("testing_thing.x[{number}]"))
}

/// Ids of objects in a state.
fn ids(state: &str) -> BTreeSet<String> {
    let start = state.find('{').unwrap_or_default();
    let mut json = serde_json::Deserializer::from_str(state.get(start..).unwrap_or_default()).into_iter();
    let state: serde_json::Value = json.next().and_then(Result::ok).unwrap_or_default();
    let resources = state["resources"].as_array().into_iter().flatten();
    let instances = resources.flat_map(|resource| resource["instances"].as_array().into_iter().flatten());
    instances.filter_map(|instance| instance["attributes"]["id"].as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_depend_on_the_seed_and_lie_in_the_run() {
        let moments = |seed| (0..20).map(|kill| moment(seed, kill)).collect::<Vec<_>>();
        assert_eq!(moments(1), moments(1));
        assert_ne!(moments(1), moments(2));
        assert!(moments(3).iter().all(|moment| (KILLED_AFTER.0..KILLED_AFTER.1).contains(moment)));
    }

    #[test]
    fn objects_are_found_in_records_reports_and_states() {
        assert_eq!(created("create testing_thing thing-3#1 - 77"), Some("thing-3#1"));
        assert_eq!(created("begin-create testing_thing thing-3 - 77"), None);
        assert_eq!(named("│   - testing_thing.x[3] (create)"), Some("testing_thing.x[3]"));
        assert_eq!(named("  # testing_thing.x[3] will be created"), None);
        assert_eq!(address("thing-3#1").as_deref(), Some("testing_thing.x[3]"));
        let state = "{\"resources\": [{\"instances\": [{\"attributes\": {\"id\": \"a\"}}, {\"attributes\": {}}]}]}\nWarning: x\n";
        assert_eq!(ids(state), BTreeSet::from(["a".to_owned()]));
        assert!(ids("").is_empty());
    }
}
