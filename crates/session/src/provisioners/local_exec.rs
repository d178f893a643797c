//! `local-exec`: a command on this machine.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::Command;

use ecow::{EcoString, eco_format};
use yuba_value::quote::quote;

use super::arguments::Arguments;
use super::host::Host;
use super::process::{self, Ending, Process};
use super::relay::Voice;

/// So many bytes at the end of the output are repeated when the command fails.
const TAIL: usize = 8 * 1024;

/// Runs a command.
pub(super) fn run(config: &Arguments, host: &Host, voice: &Voice) -> Result<(), EcoString> {
    let Some(command) = config.filled("command") else {
        return Err("The command must be a non-empty string.".into());
    };
    let mut words = match config.texts("interpreter") {
        Some(words) if !words.is_empty() => words.into_iter().flatten().collect(),
        _ if cfg!(windows) => vec!["cmd".into(), "/C".into()],
        _ => vec![EcoString::from("/bin/sh"), "-c".into()],
    };
    words.push(command.clone());
    if config.flag("quiet").unwrap_or(false) {
        voice.say("local-exec: Executing: Suppressed by quiet=true");
    } else {
        let quoted: Vec<EcoString> = words.iter().map(|word| quote(word)).collect();
        voice.say(eco_format!("Executing: [{}]", quoted.join(" ")));
    }
    let mut tail = VecDeque::new();
    let hear = |part: &[u8]| {
        tail.extend(part);
        tail.drain(..tail.len().saturating_sub(TAIL));
    };
    let ending = begin(config, host, &words).and_then(|process| {
        process.watch(voice, hear).map_err(|problem| eco_format!("failed to wait for it: {problem}"))
    });
    let problem = match ending {
        Ok(Ending::Exit(status)) if status.success() => return Ok(()),
        Ok(Ending::Exit(status)) => process::describe(status),
        Ok(Ending::Stopped) => "it was interrupted".into(),
        Err(problem) => problem,
    };
    let output = String::from_utf8_lossy(tail.make_contiguous());
    let output = output.trim_start_matches(char::REPLACEMENT_CHARACTER);
    // Scripts and tests of providers look for these words.
    let what = eco_format!("Error running command '{command}': {problem}. Output:");
    Err(if output.is_empty() { what } else { eco_format!("{what} {output}") })
}

fn begin(config: &Arguments, host: &Host, words: &[EcoString]) -> Result<Process, EcoString> {
    let program = &words[0];
    let mut command = Command::new(find(program, host)?);
    command.args(words[1..].iter().map(EcoString::as_str));
    #[cfg(unix)]
    std::os::unix::process::CommandExt::arg0(&mut command, program.as_str());
    if let Some(dir) = config.filled("working_dir") {
        let path = host.path(dir);
        if !path.is_dir() {
            return Err(eco_format!("the working directory {} does not exist", quote(dir)));
        }
        command.current_dir(path);
    } else if let Some(dir) = host.working_dir() {
        command.current_dir(dir);
    }
    for (name, text) in config.pairs("environment") {
        command.env(name.as_str(), text.as_str());
    }
    process::start(command).map_err(|problem| eco_format!("failed to run {}: {problem}", quote(program)))
}

/// Path of an executable: from our own `PATH`, whatever environment the command gets.
fn find(program: &str, host: &Host) -> Result<PathBuf, EcoString> {
    if cfg!(windows) || program.contains('/') {
        return Ok(program.into());
    }
    let found = host
        .search_path()
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(program))
        .find(|path| !program.is_empty() && is_executable(path));
    found.ok_or_else(|| eco_format!("the executable {} is not in the PATH", quote(program)))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

#[cfg(all(test, unix))]
mod tests {
    use std::cell::RefCell;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use expect_test::{Expect, expect};
    use yuba_engine::{ProvisionOrder, Provisioners as _};
    use yuba_value::Value;

    use super::*;
    use crate::provisioners::LocalProvisioners;

    fn order(config: &str) -> ProvisionOrder {
        let config = yuba_value::json::decode_implied(config).expect("because tests write JSON");
        ProvisionOrder { kind: "local-exec".into(), config, connection: Value::null_dynamic(), hidden: None }
    }

    fn check(config: &str, expect: &Expect) {
        let said = RefCell::new(String::new());
        let output = |text: EcoString| *said.borrow_mut() += &format!("| {text}\n");
        let door = LocalProvisioners::of_tests(Arc::default());
        let result = futures_executor::block_on(door.run(order(config), &output));
        let result = result.map_or_else(|problem| format!("failed: {problem}\n"), |()| "done\n".to_owned());
        expect.assert_eq(&(said.into_inner() + &result));
    }

    #[test]
    fn commands_say_what_they_do() {
        check(
            r#"{"command": "echo out; echo err >&2; printf 'rest\t\"'"}"#,
            &expect![[r#"
                | Executing: ["/bin/sh" "-c" "echo out; echo err >&2; printf 'rest\t\"'"]
                | out
                | err
                | rest	"
                done
            "#]],
        );
        check(
            r#"{"command": "cat; echo \"$A$B\"; pwd", "quiet": true, "working_dir": "/", "environment": {"A": "1", "B": null}}"#,
            &expect![[r#"
                | local-exec: Executing: Suppressed by quiet=true
                | 1
                | /
                done
            "#]],
        );
        check(
            r#"{"command": "text", "interpreter": ["echo", "a b", null], "environment": {"PATH": "/nowhere"}}"#,
            &expect![[r#"
                | Executing: ["echo" "a b" "text"]
                | a b text
                done
            "#]],
        );
        check(
            r#"{"command": "(sleep 0.05; echo late) & exec >&- 2>&-; sleep 0.1", "quiet": true}"#,
            &expect![[r#"
                | local-exec: Executing: Suppressed by quiet=true
                | late
                done
            "#]],
        );
    }

    #[test]
    fn failures_say_how_it_ended() {
        check(
            r#"{"command": "echo text; exit 3", "quiet": true}"#,
            &expect![[r#"
                | local-exec: Executing: Suppressed by quiet=true
                | text
                failed: Error running command 'echo text; exit 3': exit status 3. Output: text

            "#]],
        );
        check(
            r#"{"command": ""}"#,
            &expect![[r#"
            failed: The command must be a non-empty string.
        "#]],
        );
        check(
            r#"{"command": "kill -9 $$"}"#,
            &expect![[r#"
            | Executing: ["/bin/sh" "-c" "kill -9 $$"]
            failed: Error running command 'kill -9 $$': signal SIGKILL. Output:
        "#]],
        );
        check(
            r#"{"command": "x", "working_dir": "/nowhere"}"#,
            &expect![[r#"
            | Executing: ["/bin/sh" "-c" "x"]
            failed: Error running command 'x': the working directory "/nowhere" does not exist. Output:
        "#]],
        );
        check(
            r#"{"command": "x", "interpreter": ["no-such-program"]}"#,
            &expect![[r#"
            | Executing: ["no-such-program" "x"]
            failed: Error running command 'x': the executable "no-such-program" is not in the PATH. Output:
        "#]],
        );
        check(
            r#"{"command": "x", "interpreter": ["./no-such-program"]}"#,
            &expect![[r#"
            | Executing: ["./no-such-program" "x"]
            failed: Error running command 'x': failed to run "./no-such-program": No such file or directory (os error 2). Output:
        "#]],
        );
    }

    #[test]
    fn only_the_end_of_long_output_is_repeated() {
        let said = RefCell::new(0);
        let door = LocalProvisioners::of_tests(Arc::default());
        let command = r#"{"command": "yes äöü | head -n 20000; exit 1"}"#;
        let result = futures_executor::block_on(door.run(order(command), &|_| *said.borrow_mut() += 1));
        let problem = result.expect_err("because the command fails");
        assert_eq!(said.into_inner(), 20001);
        assert!(problem.len() < TAIL + 200 && problem.ends_with("äöü\n"), "{}", problem.len());
    }

    #[test]
    fn a_stop_ends_the_command_and_all_it_started() {
        let stop = Arc::new(AtomicBool::new(false));
        let door = LocalProvisioners::of_tests(Arc::clone(&stop));
        let pid = RefCell::new(None);
        let output = |text: EcoString| {
            if let Ok(number) = text.parse::<i32>() {
                *pid.borrow_mut() = Some(number);
                stop.store(true, Ordering::Relaxed);
            }
        };
        let command = r#"{"command": "sh -c 'trap \"\" TERM; echo $$; sleep 100; sleep 100'"}"#;
        let problem = futures_executor::block_on(door.run(order(command), &output));
        assert!(problem.is_err_and(|problem| problem.contains("it was interrupted")));
        let pid = pid.into_inner().expect("because the command said it");
        // Killed, and sooner or later reaped by the process that adopted it.
        let begun = std::time::Instant::now();
        while std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(begun.elapsed().as_secs() < 20, "it still runs");
            std::thread::yield_now();
        }
    }
}
