//! Project chores: `cargo xtask tidy` checks the rules of the house, `cargo xtask conformance` and `cargo xtask bench`
//! measure the release binary against OpenTofu, `cargo xtask servers` installs the servers that tests start.

mod absences;
mod booleans;
mod catalogue;
mod conformance;
mod dependencies;
mod differential;
mod recipes;
mod servers;
mod tidy;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.first().map(String::as_str) {
        Some("tidy") => tidy::run(),
        Some("diagnostics") => catalogue::write(),
        Some("conformance") => conformance::run(&args[1..]),
        Some("bench") => conformance::bench(&args[1..]),
        Some("servers") => servers::run(&args[1..]),
        Some("differential") => differential::run(&args[1..]),
        _ => Err("usage: cargo xtask tidy | diagnostics | conformance [SUITE...] | bench [ARGS...] | servers install|list | differential --peer PATH ..."
            .to_owned()),
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
