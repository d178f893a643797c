//! Arguments of the benchmark.

use std::path::{Path, PathBuf};

use super::shapes::SHAPES;
use crate::tidy::root;

const USAGE: &str = "\
usage: cargo xtask bench [--peer PATH] [--bin PATH] [OPTIONS]

  --peer PATH      The OpenTofu executable to compare with.
  --bin PATH       The Yuba executable. Default: the release build of this source tree.
  --test-provider PATH  The provider for tests. Default: the release build of this source tree.
  --publish        Write docs/benchmarks.md, its charts and the table of the README.
  --render         Write them from docs/benchmarks/results.json without measuring.
  --quick          Small sizes, one repetition, few kills.
  --parts LIST     Parts to measure: startup,fmt,shapes,cloud,estate,crash. Default: all.
  --shapes LIST    Generated shapes to measure: flat,foreach,modules,locals. Default: all.
  --sizes LIST     Sizes of generated shapes. Default: 1000,5000,20000,100000.
  --limit SECONDS  Time after which a command of OpenTofu is killed. Default: 60.
  --minutes N      Time after which OpenTofu runs no further steps of generated shapes. Default: 20.
  --kills N        Applies of each tool that the crash test kills. Default: 6.
  --seed N         Seed of the moments of these kills. Default: 1.
  --json FILE      Write the results to a file.
  --compare FILE   Compare with the results in a file.";

/// Figures to measure, and the destination of results.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Options {
    pub(super) peer: Option<PathBuf>,
    pub(super) bin: Option<PathBuf>,
    pub(super) test_provider: Option<PathBuf>,
    pub(super) publish: bool,
    pub(super) render: bool,
    pub(super) quick: bool,
    pub(super) parts: Vec<String>,
    pub(super) shapes: Vec<String>,
    pub(super) sizes: Vec<usize>,
    /// In seconds.
    pub(super) limit: f64,
    pub(super) minutes: f64,
    pub(super) kills: u64,
    pub(super) seed: u64,
    pub(super) json: Option<PathBuf>,
    pub(super) compare: Option<PathBuf>,
    /// The command line, for the page.
    pub(super) command: String,
}

/// Parts of the benchmark.
const PARTS: [&str; 6] = ["startup", "fmt", "shapes", "cloud", "estate", "crash"];

impl Options {
    pub(super) fn parse(args: &[String]) -> Result<Options, String> {
        let mut options = Options {
            peer: None,
            bin: None,
            test_provider: None,
            publish: false,
            render: false,
            quick: args.iter().any(|arg| arg == "--quick"),
            parts: PARTS.map(str::to_owned).into(),
            shapes: SHAPES.map(|shape| shape.name.to_owned()).into(),
            sizes: vec![1_000, 5_000, 20_000, 100_000],
            limit: 60.0,
            minutes: 20.0,
            kills: 6,
            seed: 1,
            json: None,
            compare: None,
            command: String::new(),
        };
        if options.quick {
            (options.sizes, options.limit, options.kills) = (vec![200, 1_000], 20.0, 2);
        }
        let mut rest = args.iter();
        while let Some(flag) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| format!("{flag} requires a value\n\n{USAGE}"));
            match flag.as_str() {
                "--quick" => {}
                "--publish" => options.publish = true,
                "--render" => options.render = true,
                "--peer" => options.peer = Some(value()?.into()),
                "--bin" => options.bin = Some(value()?.into()),
                "--test-provider" => options.test_provider = Some(value()?.into()),
                "--json" => options.json = Some(value()?.into()),
                "--compare" => options.compare = Some(value()?.into()),
                "--parts" => options.parts = list(value()?, &PARTS)?,
                "--shapes" => options.shapes = list(value()?, &SHAPES.map(|shape| shape.name))?,
                "--sizes" => options.sizes = value()?.split(',').map(number).collect::<Result<_, _>>()?,
                "--limit" => options.limit = number(value()?)?,
                "--minutes" => options.minutes = number(value()?)?,
                "--kills" => options.kills = number(value()?)?,
                "--seed" => options.seed = number(value()?)?,
                _ => return Err(format!("unknown argument {flag}\n\n{USAGE}")),
            }
        }
        options.sizes.sort_unstable();
        options.sizes.dedup();
        options.command = command(args);
        Ok(options)
    }

    pub(super) fn has_part(&self, part: &str) -> bool {
        self.parts.iter().any(|wanted| wanted == part)
    }
}

/// The command line that repeats a run. Files for results are not part of it. Executables are named by their path in the sources,
/// and executables elsewhere by their name, which the shell looks up.
fn command(args: &[String]) -> String {
    let mut words = vec!["cargo xtask bench".to_owned()];
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--json" | "--compare" => drop(args.next()),
            "--bin" | "--test-provider" | "--peer" => {
                words.push(arg.clone());
                words.extend(args.next().map(|path| executable(Path::new(path))));
            }
            _ => words.push(arg.clone()),
        }
    }
    words.join(" ")
}

/// An executable as a word of a command line, without directories of this machine.
fn executable(path: &Path) -> String {
    let inside = if path.is_relative() { Some(path) } else { path.strip_prefix(root()).ok() };
    match (inside, path.file_name()) {
        (Some(inside), _) => inside.display().to_string(),
        (None, Some(name)) => format!("$(command -v {})", name.display()),
        (None, None) => path.display().to_string(),
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text:?} is not a valid number\n\n{USAGE}"))
}

fn list(text: &str, known: &[&str]) -> Result<Vec<String>, String> {
    let words: Vec<String> = text.split(',').map(str::to_owned).collect();
    match words.iter().find(|word| !known.contains(&word.as_str())) {
        Some(word) => Err(format!("{word:?} is not one of {}\n\n{USAGE}", known.join(", "))),
        None => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_replace_defaults() {
        let options = parse("--quick --bin /opt/yuba --peer /opt/tofu --sizes 500,100 --shapes flat --publish")
            .expect("because it is valid");
        assert_eq!((options.sizes, options.shapes, options.kills), (vec![100, 500], vec!["flat".to_owned()], 2));
        assert!(options.publish && options.peer.is_some());
        assert_eq!(
            options.command,
            "cargo xtask bench --quick --bin $(command -v yuba) --peer $(command -v tofu) --sizes 500,100 --shapes flat --publish"
        );
        let inside = root().join("target/release/yuba").display().to_string();
        let options = parse(&format!("--bin {inside} --test-provider target/debug/provider --json results.json"));
        assert_eq!(
            options.map(|options| options.command).as_deref(),
            Ok("cargo xtask bench --bin target/release/yuba --test-provider target/debug/provider")
        );
    }

    #[test]
    fn invalid_arguments_are_named() {
        let fails =
            |line: &str, words: &str| assert!(parse(line).is_err_and(|error| error.starts_with(words)), "{line}");
        fails("--sizes ten", "\"ten\" is not a valid number");
        fails("--shapes round", "\"round\" is not one of flat, foreach, modules, locals");
        fails("--json", "--json requires a value");
        fails("--fast", "unknown argument --fast");
    }
}
