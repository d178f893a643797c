//! `yuba test`: runs the test files of a module.

mod teller;

use std::thread::sleep;
use std::time::Duration;

use yuba_eval::tree::Purpose;
use yuba_eval::validate::PARALLELISM;
use yuba_session::load::DEFAULT_TEST_DIR;
use yuba_session::test::{Affected, Event, Status, Stop, Suite, TestRequest, Watcher};
use yuba_value::EcoString;

use super::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON_INTO};
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::signals;
use crate::terminal::Terminal;
use teller::Teller;

/// How often files are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

pub(crate) const COMMAND: Command = Command {
    name: "test",
    synopsis: "Execute integration tests for OpenTofu modules",
    usage: "[options]",
    about: "Runs the tests of the current module: the \"run\" blocks of the files that end with .tftest.hcl or \
            .tofutest.hcl (or the same with .json), here and in the directory \"tests\", one after the other. Each run \
            plans or applies the module, or another one, and checks its assertions.\n\n\
            What the runs create is real, except where the tests use mocks, and is destroyed at the end of each file. \
            What could not be destroyed is listed, and its state is kept in errored_test.tfstate.\n\n\
            The exit code is 0 if all tests passed, and 1 if not.",
    flags: &[
        Flag::list("filter", "testfile", "Run only this test file. The option can be given several times."),
        Flag::switch("json", "Write the results as lines of JSON, for programs."),
        JSON_INTO,
        Flag::text("junit-xml", "path", "Write the results to a file as JUnit XML, too."),
        Flag::text(
            "parallel",
            "n",
            "How many test files run at the same time; as many as there are processors if not given. Only files whose \
             objects nobody else can see run beside others: those with mocks, and with what is built in.",
        ),
        Flag::text("parallelism", "10", "How many operations of one run may happen at the same time."),
        Flag::text("seed", "n", "Values that mocks make up are the same for the same number; 0 if not given."),
        Flag::text(
            "test-directory",
            "path",
            "The directory of test files, beside the current one; \"tests\" if not given.",
        ),
        VAR,
        VAR_FILE,
        Flag::switch("verbose", "Show the plan or the state of each run, too."),
        Flag::switch("watch", "Stay, and run again what a saved file affects, until Ctrl-C is pressed."),
    ],
    json: JsonForm::Document,
    long_help: true,
    run: Run::Function(run),
};

/// What the flags say.
struct Options {
    filter: Vec<String>,
    parallel: usize,
    parallelism: usize,
    seed: u64,
}

fn options(args: &Args) -> Result<Options, Failure> {
    // Quirk: arguments that are no flags have no effect.
    let number = |name: &str, least: u64| -> Result<Option<u64>, Failure> {
        let Some(text) = args.text(name) else { return Ok(None) };
        match text.parse::<u64>() {
            Ok(number) if number >= least => Ok(Some(number)),
            _ => {
                let detail = format!("-{name} needs a whole number of at least {least}, and {text:?} is none.");
                Err(Failure::usage("Invalid argument", detail))
            }
        }
    };
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Ok(Options {
        filter: args.iter().filter(|(name, _)| *name == "filter").map(|(_, value)| value.to_owned()).collect(),
        parallel: number("parallel", 1)?.map_or(processors, size),
        parallelism: number("parallelism", 1)?.map_or(PARALLELISM, size),
        seed: number("seed", 0)?.unwrap_or(0),
    })
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let options = options(args)?;
    let settings = Settings::new(args);
    let mut teller = Teller::new(terminal, args)?;
    let stop = signals::Stop::watch();
    if !args.is_on("watch") {
        return Ok(once(&mut teller, args, &settings, &options, &stop, None).0);
    }
    let mut only: Option<Vec<EcoString>> = None;
    loop {
        let (code, mut watcher) = once(&mut teller, args, &settings, &options, &stop, only.as_deref());
        teller.waiting();
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

/// Runs the tests once. The exit code, and who knows what changes after.
fn once(
    teller: &mut Teller<'_>,
    args: &Args,
    settings: &Settings,
    options: &Options,
    stop: &signals::Stop,
    only: Option<&[EcoString]>,
) -> (u8, Watcher) {
    let mut load = settings.request(Purpose::Look);
    load.test_dir = Some(settings.test_dir.as_deref().unwrap_or(DEFAULT_TEST_DIR));
    let (dir, test_dir) = (load.dir, load.test_dir);
    let request = TestRequest {
        load,
        filter: &options.filter,
        verbose: args.is_on("verbose"),
        parallel: options.parallel,
        parallelism: options.parallelism,
        seed: options.seed,
        providers: &**settings.providers(),
        stop: Stop::new(stop.interrupt(), stop.now_flag()),
    };
    let (mut suite, notes) = match Suite::load(&request) {
        Ok(loaded) => loaded,
        Err(refusal) => {
            teller.report(None, None, &refusal.problems, &refusal.sources);
            return (1, Watcher::new(&refusal.sources, dir, test_dir));
        }
    };
    let watcher = Watcher::new(&suite.sources, dir, test_dir);
    if let Some(only) = only {
        suite.select(|name| only.iter().any(|wanted| wanted == name));
    }
    teller.report(None, None, &notes, &suite.sources);
    teller.begin(&suite);
    let status = suite.run(&request, &mut |message| {
        let stuck = matches!(message.event, Event::Stuck(_));
        teller.message(&message, &suite, &**settings.providers());
        if stuck {
            // What is under way does not end, and everything is said.
            teller.finish();
            std::process::exit(1);
        }
    });
    if stop.interrupt().count() > 1 {
        return (1, watcher);
    }
    let written = teller.conclusion(status);
    (u8::from(status != Status::Pass || !written), watcher)
}
