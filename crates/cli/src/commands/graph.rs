//! `yuba graph`: what depends on what.

mod diagnostics;

use std::path::PathBuf;

use yuba_session::Project;
use yuba_session::graph::{Cycles, Objects};
use yuba_syntax::{Diagnostic, Sources};
use yuba_view::graph::{layout, objects, picture, svg};

use super::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag};
use crate::settings::{VAR, VAR_FILE, project};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "graph",
    synopsis: "Generate a Graphviz graph of the steps in an operation",
    usage: "[options]",
    about: "Writes the dependency graph of the configuration in the DOT language of Graphviz.\n\n\
            With -svg it writes a picture that browsers can show: each module in its own frame, and dependencies to the \
            left of their dependents.",
    flags: &[
        Flag::text("plan", "tfplan", "Use a saved plan and its configuration."),
        Flag::switch("svg", "Write a picture in SVG."),
        Flag::switch("draw-cycles", "Highlight cycles in red instead of failing."),
        Flag::text(
            "type",
            "plan",
            "Type of graph: plan, plan-refresh-only, plan-destroy or apply. The default is plan, or apply with -plan.",
        ),
        Flag::text("module-depth", "n", "No effect. For compatibility only."),
        Flag::switch("verbose", ""),
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::None,
    long_help: false,
    run: Run::Function(run),
};

/// The kind of graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GraphType {
    Plan,
    PlanDestroy,
    Apply,
}

/// Settings of the command.
struct GraphSettings {
    plan: Option<PathBuf>,
    graph: GraphType,
    svg: bool,
    cycles: Cycles,
}

impl GraphSettings {
    fn resolve(args: &Args) -> Result<GraphSettings, Failure> {
        if !args.positional.is_empty() {
            return Err(Failure::Usage(diagnostics::takes_no_arguments().into()));
        }
        let plan = args.text("plan").filter(|path| !path.is_empty()).map(PathBuf::from);
        let failed = |problem: Diagnostic| Err(Failure::Failed(problem.into(), Sources::new()));
        let graph = match args.text("type").filter(|kind| !kind.is_empty()) {
            None if plan.is_some() => GraphType::Apply,
            None | Some("plan" | "plan-refresh-only") => GraphType::Plan,
            Some("plan-destroy") => GraphType::PlanDestroy,
            Some("apply") => GraphType::Apply,
            Some(kind @ ("eval" | "validate")) => return failed(diagnostics::type_no_longer_available(kind)),
            Some(kind) => return failed(diagnostics::unsupported_type(kind)),
        };
        let cycles = if args.is_on("draw-cycles") { Cycles::Drawn } else { Cycles::Refused };
        Ok(GraphSettings { plan, graph, svg: args.is_on("svg"), cycles })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let settings = GraphSettings::resolve(args)?;
    let drawing = |found: &Objects<'_>| -> String {
        if settings.svg {
            let picture = picture::picture(found.graph, found.tree);
            return svg::svg(&picture, &layout::layout(&picture));
        }
        let graph = match settings.graph {
            GraphType::PlanDestroy => objects::destroying(found.tree, found.state),
            GraphType::Apply => objects::applying(found.graph, found.tree, found.state, found.plan),
            GraphType::Plan => objects::planning(found.graph, found.tree, found.state),
        };
        if settings.cycles == Cycles::Drawn { graph.dot_with_cycles() } else { graph.dot() }
    };
    let drawn = Project::new(project(args)).draw(settings.plan.as_deref(), settings.cycles, &drawing);
    let (drawn, warnings) = drawn.map_err(|refusal| Failure::Failed(refusal.problems, refusal.sources))?;
    terminal.report_aside(&warnings, &Sources::new());
    terminal.out(&drawn);
    Ok(0)
}
