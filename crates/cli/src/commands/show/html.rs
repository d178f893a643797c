//! `yuba show -html=FILE`: a report of a plan or a state as one HTML file.

use std::path::Path;

use yuba_view::html;
use yuba_view::report::Report;

use super::{Shown, diagnostics};
use crate::exit::Failure;
use crate::settings::Settings;

/// Writes the page.
pub(super) fn write(shown: &Shown, path: &Path, settings: &Settings) -> Result<(), Failure> {
    let report = report(shown, settings).ok_or_else(|| Failure::usage(diagnostics::report_of_configuration()))?;
    std::fs::write(path, html::file(&report))
        .map_err(|error| Failure::failed(diagnostics::report_not_written(path, &error)))
}

/// The report of a plan or a state; none of a configuration.
fn report(shown: &Shown, settings: &Settings) -> Option<Report> {
    Some(match shown {
        Shown::State(state, origin) => super::report_of_state(state.as_ref(), *origin, settings),
        Shown::Plan(found) => super::report(found),
        Shown::Configuration(_) | Shown::Module(_) | Shown::Markdown(_) => return None,
    })
}
