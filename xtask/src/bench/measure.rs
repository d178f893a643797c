//! One command, measured: wall time, cpu time and memory.
//!
//! A process reports cpu time and memory of all children together, so each command runs below a process of its own: the chore
//! `measure` of this executable. It can be used alone, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value as Json, json};

/// Interval at which memory is read.
const INTERVAL: Duration = Duration::from_millis(20);

/// Cost of a run of a command. Times are in seconds, memory in megabytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sample {
    pub(super) wall: f64,
    /// Of the command and all processes that it has started and waited for.
    pub(super) cpu: f64,
    /// Of the command alone.
    pub(super) own_cpu: f64,
    /// Peak of the command alone.
    pub(super) memory: f64,
    /// Peak of the command and the processes that it has started, together.
    pub(super) all_memory: f64,
    /// Processes that it has started itself, as far as they lived for some 20 milliseconds.
    pub(super) processes: u64,
    /// Exit code, or -1 for a signal.
    pub(super) code: i32,
    /// The time limit was exceeded and the command killed.
    pub(super) exceeded: bool,
}

/// One of the figures of a sample.
pub(super) type Figure = fn(&Sample) -> f64;

/// A command to measure.
#[derive(Clone, Debug)]
pub(super) struct Measured<'a> {
    pub(super) program: &'a Path,
    pub(super) args: Vec<String>,
    pub(super) dir: &'a Path,
    pub(super) env: &'a BTreeMap<String, String>,
    pub(super) limit: Duration,
}

impl Measured<'_> {
    /// Runs it once. Fails if it cannot be started.
    pub(super) fn run(&self) -> Result<Sample, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let output = Command::new(own)
            .args(["measure", &format!("--limit={}", self.limit.as_secs_f64()), "--"])
            .arg(self.program)
            .args(&self.args)
            .current_dir(self.dir)
            .envs(self.env)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        match serde_json::from_str(text.trim()) {
            Ok(json) if output.status.success() => Ok(Sample::from_json(&json)),
            _ => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    }
}

impl Sample {
    pub(super) fn to_json(&self) -> Json {
        json!({
            "wall": self.wall, "cpu": self.cpu, "own_cpu": self.own_cpu, "memory": self.memory,
            "all_memory": self.all_memory, "processes": self.processes, "code": self.code, "exceeded": self.exceeded,
        })
    }

    pub(super) fn from_json(json: &Json) -> Sample {
        let number = |name: &str| json[name].as_f64().unwrap_or_default();
        Sample {
            wall: number("wall"),
            cpu: number("cpu"),
            own_cpu: number("own_cpu"),
            memory: number("memory"),
            all_memory: number("all_memory"),
            processes: json["processes"].as_u64().unwrap_or_default(),
            code: json["code"].as_i64().and_then(|code| code.try_into().ok()).unwrap_or(-1),
            exceeded: json["exceeded"].as_bool().unwrap_or_default(),
        }
    }

    /// The least of each figure: repetitions differ by what else the machine does. Processes may be missed, so that is the greatest.
    pub(super) fn least(&self, other: &Sample) -> Sample {
        Sample {
            wall: self.wall.min(other.wall),
            cpu: self.cpu.min(other.cpu),
            own_cpu: self.own_cpu.min(other.own_cpu),
            memory: self.memory.min(other.memory),
            all_memory: self.all_memory.min(other.all_memory),
            processes: self.processes.max(other.processes),
            code: self.code,
            exceeded: self.exceeded,
        }
    }
}

/// Runs a command and prints its figures as JSON: `measure [--limit=SECONDS] [--output=FILE] -- COMMAND...`.
pub(crate) fn chore(args: &[String]) -> Result<String, String> {
    let usage = || "usage: cargo xtask measure [--limit=SECONDS] [--output=FILE] -- COMMAND...".to_owned();
    let split = args.iter().position(|arg| arg == "--").ok_or_else(usage)?;
    let (flags, command) = args.split_at(split);
    let [_, program, arguments @ ..] = command else { return Err(usage()) };
    let mut limit = Duration::from_secs(24 * 3600);
    let mut output: Option<PathBuf> = None;
    for flag in flags {
        match flag.split_once('=') {
            Some(("--limit", seconds)) => {
                limit = seconds.parse().ok().and_then(|s| Duration::try_from_secs_f64(s).ok()).ok_or_else(usage)?;
            }
            Some(("--output", path)) => output = Some(path.into()),
            _ => return Err(usage()),
        }
    }
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    if let Some(path) = output {
        command.stdout(File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?);
    }
    let sample = measure(&mut command, limit).map_err(|error| format!("{program}: {error}"))?;
    Ok(sample.to_json().to_string())
}

/// Runs a command in a process group of its own.
fn measure(command: &mut Command, limit: Duration) -> std::io::Result<Sample> {
    use std::os::unix::process::CommandExt as _;
    let start = Instant::now();
    let mut child = command.process_group(0).spawn()?;
    let (ended, exceeded) = (AtomicBool::new(false), AtomicBool::new(false));
    let id = child.id();
    let (peak, waited, children) = std::thread::scope(|scope| {
        let watching = scope.spawn(|| watch(id, start + limit, &ended, &exceeded));
        let children = wait_keeping(&mut child);
        let waited = start.elapsed();
        ended.store(true, Ordering::Relaxed);
        watching.thread().unpark();
        (watching.join().unwrap_or_default(), waited, children)
    });
    let status = child.wait()?;
    // Processes that a killed command has left behind.
    if exceeded.load(Ordering::Relaxed) {
        let _ = group(id).map(|group| killpg(group, Signal::SIGKILL));
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    let cpu = seconds(usage.user_time()) + seconds(usage.system_time());
    // The kernel's figure is exact, but it is the largest of all processes.
    let largest = usage.max_rss() as f64 / if cfg!(target_os = "macos") { 1e6 } else { 1e3 };
    let memory = if children > 0.0 && peak.own > 0.0 { peak.own } else { largest };
    Ok(Sample {
        wall: waited.as_secs_f64(),
        cpu,
        own_cpu: (cpu - children).max(0.0),
        memory,
        all_memory: peak.all.max(memory),
        processes: peak.children.len() as u64,
        code: status.code().unwrap_or(-1),
        exceeded: exceeded.load(Ordering::Relaxed),
    })
}

fn group(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().map(Pid::from_raw)
}

/// Waits for the end of a process without removing it, and returns the cpu time of its children, in seconds.
#[cfg(target_os = "linux")]
fn wait_keeping(child: &mut Child) -> f64 {
    use nix::sys::wait::{Id, WaitPidFlag, waitid};
    let Some(pid) = group(child.id()) else { return 0.0 };
    while waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) == Err(nix::errno::Errno::EINTR) {}
    std::fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(|stat| time_of_children(&stat)).unwrap_or(0.0)
}

/// Elsewhere the cpu time of children is not known apart.
#[cfg(not(target_os = "linux"))]
fn wait_keeping(child: &mut Child) -> f64 {
    let _ = child.wait();
    0.0
}

/// The cpu time of children that have ended, in `/proc/PID/stat`: fields 16 and 17, in hundredths of a second.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux has this file"))]
fn time_of_children(stat: &str) -> Option<f64> {
    // The second field, the name, is in parentheses and may contain anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(13);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / 100.0)
}

/// Peaks of memory, in megabytes.
#[derive(Default)]
struct Peak {
    own: f64,
    all: f64,
    /// All processes seen below the command.
    children: BTreeSet<u32>,
}

/// Reads memory while a process runs, and kills its process group at the deadline.
fn watch(id: u32, deadline: Instant, ended: &AtomicBool, exceeded: &AtomicBool) -> Peak {
    let mut peak = Peak::default();
    while !ended.load(Ordering::Relaxed) {
        if Instant::now() > deadline && !exceeded.swap(true, Ordering::Relaxed) {
            let _ = group(id).map(|group| killpg(group, Signal::SIGKILL));
        }
        if let Some(own) = memory(id, "VmHWM:") {
            peak.own = peak.own.max(own);
            let found = children(id);
            let others: f64 = found.iter().filter_map(|child| memory(*child, "VmRSS:")).sum();
            peak.children.extend(found);
            peak.all = peak.all.max(memory(id, "VmRSS:").unwrap_or_default() + others);
        }
        std::thread::park_timeout(INTERVAL);
    }
    peak
}

/// A figure of a process, in megabytes.
fn memory(id: u32, name: &str) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok().map(|kilobytes| kilobytes / 1000.0)
}

/// The running children of a process.
fn children(id: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|child| child.parse().ok()).collect::<Vec<u32>>())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Sample {
        measure(Command::new("sh").args(["-c", script]).stdout(Stdio::null()), limit).expect("because sh exists")
    }

    #[test]
    fn exit_codes_and_limits_are_reported() {
        let plenty = Duration::from_secs(60);
        let done = shell("exit 3", plenty);
        assert_eq!((done.code, done.exceeded), (3, false));
        let killed = shell("exec sleep 60", Duration::from_millis(50));
        assert_eq!((killed.code, killed.exceeded), (-1, true));
        assert!(killed.wall < 30.0 && killed.memory > 0.0);
    }

    #[test]
    fn figures_are_read_back() {
        let sample = Sample {
            wall: 1.5,
            cpu: 0.25,
            own_cpu: 0.2,
            memory: 12.0,
            all_memory: 40.0,
            processes: 2,
            code: 0,
            exceeded: false,
        };
        assert_eq!(Sample::from_json(&sample.to_json()), sample);
        let other = Sample { wall: 1.0, cpu: 0.5, ..sample.clone() };
        assert_eq!(sample.least(&other), Sample { wall: 1.0, ..sample });
    }

    #[test]
    fn the_time_of_children_is_found_behind_any_name() {
        let stat = "12 (a) b) S 1 12 12 0 -1 4194560 1 2 3 4 10 20 30 45 20 0 1 0 5";
        assert_eq!(time_of_children(stat), Some(0.75));
        assert_eq!(time_of_children("12"), None);
    }
}
