//! `yuba providers`: the providers that each module requires.

use yuba_session::install::{self, RequirementTree};
use yuba_view::requirements::{self, Tree};

use super::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::Args;
use crate::settings::{Settings, TEST_DIR, VAR, VAR_FILE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "providers",
    synopsis: "Show the providers required for this configuration",
    usage: "[options]",
    about: "Shows the modules of the configuration as a tree, each with the providers and versions it requires. Also lists \
            the providers of the objects in the state.",
    flags: &[TEST_DIR, VAR, VAR_FILE],
    json: JsonForm::None,
    long_help: false,
    run: Run::Function(run),
};

/// Settings of `yuba providers`.
struct ProvidersSettings {
    project: Settings,
}

impl ProvidersSettings {
    fn resolve(args: &Args) -> Result<ProvidersSettings, Failure> {
        match args.positional.as_slice() {
            [] => Ok(ProvidersSettings { project: Settings::new(args) }),
            _ => Err(Failure::usage(diagnostics::no_arguments_expected())),
        }
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let ProvidersSettings { project } = ProvidersSettings::resolve(args)?;
    let (found, report) = install::requirements(project.project(), None);
    let Some((tree, of_state)) = found else { return Err(Failure::Failed(report.problems, report.sources)) };
    let drawn = requirements::render(&labelled(String::new(), tree));
    terminal.out(&format!("\nProviders required by configuration:\n{drawn}\n"));
    if !of_state.is_empty() {
        let list: String = of_state.iter().map(|provider| format!("    provider[{provider}]\n\n")).collect();
        terminal.out(&format!("Providers required by state:\n\n{list}"));
    }
    terminal.report(&report.problems, &report.sources);
    Ok(0)
}

fn labelled(label: String, tree: RequirementTree) -> Tree {
    let providers = tree.providers.into_iter().map(|(provider, constraints)| {
        let gap = if constraints.is_empty() { "" } else { " " };
        Tree { label: format!("provider[{provider}]{gap}{constraints}"), children: Vec::new() }
    });
    let children = tree.children.into_iter().map(|(label, child)| labelled(label.into(), child));
    Tree { label, children: providers.chain(children).collect() }
}
