//! Facts about the machine and the sources, for the reader of the results.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::results::Facts;
use crate::tidy::root;

/// Everything that figures depend on, as far as the system reports it.
pub(super) fn facts(scratch: &Path) -> Facts {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut facts = Facts::new();
    let mut add = |name: &str, value: Option<String>| {
        facts.extend(value.filter(|value| !value.is_empty()).map(|value| (name.to_owned(), value)));
    };
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let model = field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    add("Processor", Some(format!("{cores} x {model}")));
    let kilobytes =
        field(&read("/proc/meminfo"), "MemTotal").and_then(|text| text.strip_suffix(" kB")?.parse::<u64>().ok());
    add("Memory", kilobytes.map(|kilobytes| format!("{} GB", (kilobytes as f64 / 1e6).round())));
    add("System", output(Command::new("uname").arg("-sr")));
    add("File system", output(Command::new("stat").args(["-f", "-c", "%T"]).arg(scratch)));
    add("Compiler", output(Command::new("rustc").arg("--version")));
    add("Date", output(Command::new("date").args(["-u", "+%Y-%m-%d"])));
    add("Revision", output(Command::new("git").current_dir(root()).args(["rev-parse", "--short=12", "HEAD"])));
    facts
}

/// `name : value` in a file of the kernel.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim() == name).then(|| value.trim().to_owned())
    })
}

fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_kernel_are_found() {
        let text = "processor\t: 0\nmodel name\t: Test CPU\nMemTotal:       24000 kB\n";
        assert_eq!(field(text, "model name").as_deref(), Some("Test CPU"));
        assert_eq!(field(text, "MemTotal").as_deref(), Some("24000 kB"));
        assert_eq!(field(text, "model"), None);
    }
}
