//! Any text evaluates in the console to a value or to diagnostics, and neither panics when shown.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use yuba_eval::MemoryWorld;
use yuba_session::console::{ConsoleAnswer, ConsoleSession};
use yuba_session::{Project, ProjectSettings};

fuzz_target!(|text: &str| {
    let world = MemoryWorld::new()
        .with_file("a.tmpl", "hello ${name}")
        .with_file("loop.tmpl", "${templatefile(\"loop.tmpl\", {})}");
    let project = Project::new(ProjectSettings::bare(std::env::temp_dir())).with_world(Arc::new(world));
    let mut session = ConsoleSession::new(project);
    match session.evaluate(text) {
        ConsoleAnswer::Value(value, _) => drop(yuba_view::value::format_value(&value)),
        ConsoleAnswer::Failed(diagnostics) => {
            let options = yuba_view::diagnostic::Options::default();
            let style = yuba_view::diagnostic::Style::Plain;
            drop(yuba_view::diagnostic::render_all(&diagnostics, session.sources(), style, 80, &options));
        }
        _ => {}
    }
});
