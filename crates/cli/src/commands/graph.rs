//! `yuba graph`: what depends on what.

use std::path::Path;

use yuba_eval::tree::Purpose;
use yuba_session::graph::{Objects, draw};
use yuba_syntax::Sources;
use yuba_view::graph::{layout, objects, picture, svg};

use super::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag};
use crate::settings::{Settings, VAR, VAR_FILE};
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

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    if !args.positional.is_empty() {
        return Err(Failure::usage(diagnostics::no_arguments_expected()));
    }
    let plan = args.text("plan").filter(|path| !path.is_empty()).map(Path::new);
    let kind = match args.text("type").filter(|kind| !kind.is_empty()) {
        None if plan.is_some() => "apply",
        None => "plan",
        Some(kind @ ("plan" | "plan-refresh-only" | "plan-destroy" | "apply")) => kind,
        Some(kind @ ("eval" | "validate")) => return Err(Failure::failed(diagnostics::graph_type_removed(kind))),
        Some(kind) => return Err(Failure::failed(diagnostics::graph_type_unknown(kind))),
    };
    let draw_cycles = args.is_on("draw-cycles");
    let drawing = |found: &Objects<'_>| -> String {
        if args.is_on("svg") {
            let picture = picture::picture(found.graph, found.tree);
            return svg::svg(&picture, &layout::layout(&picture));
        }
        let graph = match kind {
            "plan-destroy" => objects::destroying(found.tree, found.state),
            "apply" => objects::applying(found.graph, found.tree, found.state, found.plan),
            _ => objects::planning(found.graph, found.tree, found.state),
        };
        graph.dot(draw_cycles)
    };
    let settings = Settings::new(args);
    let drawn = draw(&settings.request(Purpose::Use), plan, draw_cycles, &drawing);
    let (drawn, notes) = drawn.map_err(|refusal| Failure::Failed(refusal.problems, refusal.sources))?;
    terminal.report_aside(&notes, &Sources::new());
    terminal.out(&drawn);
    Ok(0)
}
