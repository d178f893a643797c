//! The `yuba` binary: argv, environment and terminals on one side, `yuba-session` and `yuba-view` on the other.
//!
//! The way through: [`dispatch`] finds the command in the table of [`commands`], [`flags`] parses its arguments by the
//! command's own table, the command turns them into its settings and does its work through [`terminal::Terminal`].
//! The result of a command becomes an exit code in [`exit`], and only there.
//!
//! Invariant: no language rule lives here.

mod allocator;
mod annotations;
mod commands;
mod completion;
mod crash;
mod deprecation;
mod diagnostics;
mod dispatch;
mod downloads;
mod durations;
mod exit;
mod flags;
mod help;
mod json_into;
mod lanes;
mod messages;
mod operate;
mod operation_output;
mod plan_views;
mod reading_progress;
mod reference;
mod settings;
mod signals;
mod state_access;
mod telemetry;
mod terminal;
mod typing;
mod ui;
mod words;

use std::process::ExitCode;

/// Room for recursion over deeply nested expressions. Address space only: pages are taken when they are touched.
const STACK_BYTES: usize = 256 << 20;

fn main() -> ExitCode {
    allocator::give_back_soon();
    crash::install_hook();
    let thread = std::thread::Builder::new().name("main".to_owned()).stack_size(STACK_BYTES);
    let code = match thread.spawn(dispatch::run) {
        Ok(running) => running.join().unwrap_or(crash::EXIT_CODE),
        // Address space is limited here; the stack of the process must suffice.
        Err(_) => dispatch::run(),
    };
    telemetry::finish();
    ExitCode::from(code)
}
