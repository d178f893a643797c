//! Runs the outside measures, where they are available, on the release binary.
//!
//! The cases are not part of this repository: `YUBA_CONFORMANCE` names their folder (default `../shared/conformance`). Where they are
//! missing the chore says so and succeeds.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tidy::root;

/// The share of cases, in percent, below which a suite counts as failed.
const BARS: [(&str, f64); 7] = [
    ("expr", 99.5),
    ("fmt", 99.8),
    ("hcl-json", 98.0),
    ("plan", 97.0),
    ("state", 97.0),
    ("test", 97.0),
    ("validate", 97.0),
];

/// Runs the suites given (default: those this version must pass).
pub(crate) fn run(args: &[String]) -> Result<String, String> {
    let Some(script) = script("YUBA_CONFORMANCE", "../shared/conformance", "run.py") else {
        return Ok("conformance: skipped, the cases are not here (set YUBA_CONFORMANCE to their folder)".to_owned());
    };
    let binary = release_binary()?;
    let suites: Vec<&str> = if args.is_empty() {
        BARS.iter().map(|(name, _)| *name).collect()
    } else {
        args.iter().map(String::as_str).collect()
    };
    let mut report = Vec::new();
    for suite in suites {
        let output = Command::new("python3")
            .arg(&script)
            .arg("--bin")
            .arg(&binary)
            .args(["--suite", suite, "--known"])
            .arg(root().join("conformance/known-differences.jsonl"))
            .output()
            .map_err(|e| format!("conformance: cannot run python3: {e}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let percent = percentage(&text, suite).ok_or_else(|| {
            format!("conformance: no result for {suite}\n{text}{}", String::from_utf8_lossy(&output.stderr))
        })?;
        let bar = BARS.iter().find(|(name, _)| *name == suite).map_or(0.0, |(_, bar)| *bar);
        if percent < bar {
            return Err(format!("conformance: {suite} at {percent} %, the bar is {bar} %\n{text}"));
        }
        report.push(text.trim().to_owned());
    }
    Ok(report.join("\n"))
}

fn script(variable: &str, default: &str, file: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(variable).map_or_else(|| root().join(default), PathBuf::from);
    let script = folder.join(file);
    script.is_file().then_some(script)
}

fn release_binary() -> Result<PathBuf, String> {
    let status = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["build", "--release", "--package", "yuba-cli"])
        .status()
        .map_err(|e| format!("cannot run cargo: {e}"))?;
    if !status.success() {
        return Err("the release build failed".to_owned());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(Path::new(&target).join("release/yuba"))
}

/// Finds `SUITE: matched/total (percent)` in the runner's output.
fn percentage(text: &str, suite: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.trim_start().starts_with(&format!("{suite}:")))?;
    // The last number counts wanted differences as equal.
    let before = line.rsplit_once('%')?.0;
    let number = before.rsplit(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    number.parse().ok()
}
