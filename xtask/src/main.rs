//! Project chores. `cargo xtask` without arguments lists them.

mod absences;
mod backends;
mod bench;
mod booleans;
mod catalogue;
mod conformance;
mod dependencies;
mod differential;
mod docs;
mod lengths;
mod links;
mod recipes;
mod release;
mod servers;
mod spelling;
mod tidy;
mod tokens;
mod walks;
mod wording;

use std::process::ExitCode;

/// A chore: its name, its arguments, what it does, and the function.
type Chore = (&'static str, &'static str, &'static str, fn(&[String]) -> Result<String, String>);

/// All chores, in the order of the help.
const CHORES: &[Chore] = &[
    ("tidy", "", "Check the rules of CONTRIBUTING.md that a compiler does not check. A part of the tests.", |_| {
        tidy::run()
    }),
    ("diagnostics", "", "Write docs/diagnostics.md from the catalogues of diagnostics.", |_| catalogue::write()),
    ("backends", "", "Write the lists of backends in docs/backends.md and docs/SUMMARY.md from docs/backends.", |_| {
        backends::write()
    }),
    ("docs", "[--check]", "Write docs/commands, check all links and render the book to target/book.", docs::run),
    ("man", "DIR", "Write the man pages to a directory.", docs::man),
    ("pictures", "", "Write the pictures of the documentation from real output.", docs::pictures),
    ("servers", "install | list", "Install the servers that tests start, or list them.", servers::run),
    (
        "release",
        "prepare|build|verify|tag",
        "Set a version, build packages, install them for a test, tag.",
        release::run,
    ),
    ("conformance", "[SUITE...]", "Compare the release binary with recorded results of OpenTofu.", conformance::run),
    (
        "bench",
        "[--peer PATH] ...",
        "Measure the release binary, alone or beside OpenTofu. `--publish` writes docs/benchmarks.md.",
        bench::run,
    ),
    ("measure", "-- COMMAND...", "Print the time, cpu time and memory of a command as JSON.", bench::measure),
    ("differential", "--peer PATH ...", "Compare random cases with OpenTofu.", differential::run),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let name = args.first().map(String::as_str);
    let result = match CHORES.iter().find(|chore| Some(chore.0) == name) {
        Some((_, _, _, chore)) => chore(&args[1..]),
        None if matches!(name, None | Some("help" | "-h" | "-help" | "--help")) => Ok(help()),
        None => Err(format!("unknown chore {}\n\n{}", name.unwrap_or_default(), help())),
    };
    match result {
        Ok(message) => {
            println!("{message}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn help() -> String {
    let mut text = "usage: cargo xtask CHORE [ARGUMENTS]\n".to_owned();
    let longest = CHORES.iter().map(|(name, arguments, ..)| name.len() + arguments.len()).max().unwrap_or_default() + 1;
    for (name, arguments, about, _) in CHORES {
        text.push_str(&format!("\n  {:longest$}  {about}", format!("{name} {arguments}")));
    }
    text
}
