//! `yuba test`: runs the test files of a module.

mod diagnostics;
mod test_output;

use std::thread::sleep;
use std::time::Duration;

use yuba_eval::validate::PARALLELISM;
use yuba_session::load::DEFAULT_TEST_DIR;
use yuba_session::test::{Affected, Stop, Suite, TestEvent, TestRequest, TestStatus, Watcher};
use yuba_session::{Project, ProjectSettings};
use yuba_value::EcoString;

use super::{Command, JsonForm, Run};
use crate::annotations::FORMAT;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON_INTO};
use crate::settings::{VAR, VAR_FILE, project};
use crate::signals;
use crate::terminal::Terminal;
use test_output::{TestOutput, TestOutputSettings};

/// Interval for polling files.
const LOOK_EVERY: Duration = Duration::from_millis(250);

pub(crate) const COMMAND: Command = Command {
    name: "test",
    synopsis: "Execute integration tests for OpenTofu modules",
    usage: "[options]",
    about: "Runs the tests of the current module: the \"run\" blocks of the .tftest.hcl, .tftest.json, .tofutest.hcl and \
            .tofutest.json files in the current directory and in the directory \"tests\". Each run plans or applies a \
            module and checks its assertions.\n\n\
            Runs create real objects unless the tests use mocks. Yuba destroys the objects at the end of each file. It lists \
            objects that it fails to destroy and writes their state to errored_test.tfstate.\n\n\
            The exit code is 0 if all tests pass, and 1 if not.",
    flags: &[
        Flag::list("filter", "testfile", "Run only this test file. Repeat the option for several files."),
        FORMAT,
        Flag::switch("json", "Write results as lines of JSON."),
        JSON_INTO,
        Flag::text("junit-xml", "path", "Write results to a file as JUnit XML too."),
        Flag::text(
            "parallel",
            "n",
            "Number of test files that can run at the same time. The default is the number of processors. Only files that \
             create no remote objects run in parallel: those that use only mocks and the built-in provider.",
        ),
        Flag::text("parallelism", "10", "Number of operations of one run that can run at the same time."),
        Flag::text("seed", "n", "Seed of the values that mocks generate. The default is 0."),
        Flag::text(
            "test-directory",
            "path",
            "Directory of test files, in addition to the current directory. The default is \"tests\".",
        ),
        VAR,
        VAR_FILE,
        Flag::switch("verbose", "Show the plan or the state of each run."),
        Flag::switch(
            "watch",
            "Watch the directory and rerun affected tests when a file changes. Press Ctrl-C to stop.",
        ),
    ],
    json: JsonForm::Document,
    long_help: true,
    run: Run::Function(run),
};

/// Settings of the command.
struct TestSettings {
    project: ProjectSettings,
    filter: Vec<String>,
    parallel: usize,
    parallelism: usize,
    seed: u64,
    verbose: bool,
    watch: bool,
    output: TestOutputSettings,
}

impl TestSettings {
    /// Quirk: positional arguments have no effect.
    fn resolve(args: &Args) -> Result<TestSettings, Failure> {
        let number = |name: &str, least: u64| -> Result<Option<u64>, Failure> {
            let Some(text) = args.text(name) else { return Ok(None) };
            match text.parse::<u64>() {
                Ok(number) if number >= least => Ok(Some(number)),
                _ => Err(Failure::Usage(diagnostics::invalid_number(name, least, text).into())),
            }
        };
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let parallel = number("parallel", 1)?.map_or(processors, size);
        let parallelism = number("parallelism", 1)?.map_or(PARALLELISM, size);
        let seed = number("seed", 0)?.unwrap_or(0);
        let mut project = project(args);
        project.test_dir.get_or_insert_with(|| DEFAULT_TEST_DIR.to_owned());
        Ok(TestSettings {
            project,
            filter: args.iter().filter(|(name, _)| *name == "filter").map(|(_, value)| value.to_owned()).collect(),
            parallel,
            parallelism,
            seed,
            verbose: args.is_on("verbose"),
            watch: args.is_on("watch"),
            output: TestOutputSettings::resolve(args)?,
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let TestSettings { project, filter, parallel, parallelism, seed, verbose, watch, output } =
        TestSettings::resolve(args)?;
    let project = Project::new(project);
    let mut output = TestOutput::new(terminal, output);
    let stop = signals::Stop::watch();
    let request = TestRequest {
        project: &project,
        filter: &filter,
        verbose,
        parallel,
        parallelism,
        seed,
        stop: Stop::new(stop.interrupt(), stop.now_flag()),
    };
    if !watch {
        return Ok(once(&mut output, &request, None).0);
    }
    let mut only: Option<Vec<EcoString>> = None;
    loop {
        let (code, mut watcher) = once(&mut output, &request, only.as_deref());
        output.waiting();
        only = loop {
            if stop.interrupt().is_raised() {
                return Ok(code);
            }
            sleep(LOOK_EVERY);
            match watcher.look() {
                Affected::Nothing => {}
                Affected::Files(files) => break Some(files),
                Affected::Everything => break None,
            }
        };
    }
}

/// Runs the tests once. The exit code, and a watcher that notices later changes.
fn once(output: &mut TestOutput<'_>, request: &TestRequest<'_>, only: Option<&[EcoString]>) -> (u8, Watcher) {
    let project = request.project;
    let (mut suite, notes) = match Suite::load(request) {
        Ok(loaded) => loaded,
        Err(refusal) => {
            output.report(None, None, &refusal.problems, &refusal.sources);
            return (1, Watcher::new(&refusal.sources, project));
        }
    };
    let watcher = Watcher::new(&suite.sources, project);
    if let Some(only) = only {
        suite.select(|name| only.iter().any(|wanted| wanted == name));
    }
    output.report(None, None, &notes, &suite.sources);
    output.begin(&suite);
    let status = suite.run(request, &mut |message| {
        let stuck = matches!(message.event, TestEvent::Stuck(_));
        output.message(&message, &suite, project.providers());
        if stuck {
            // The runs do not end, and everything is reported.
            output.finish();
            crate::telemetry::finish();
            std::process::exit(1);
        }
    });
    if request.stop.asked.count() > 1 {
        return (1, watcher);
    }
    let written = output.conclusion(status);
    (u8::from(status != TestStatus::Pass || !written), watcher)
}
