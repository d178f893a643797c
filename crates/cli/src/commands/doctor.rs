//! `yuba doctor`: what Yuba finds on this machine and in the working directory, and problems with it.

mod diagnostics;
mod environment;
mod sections;

use std::fmt::Write as _;

use yuba_session::Project;
use yuba_session::doctor::{Area, Contact, Finding, ProjectExamination};
use yuba_syntax::Severity;
use yuba_view::facts;
use yuba_view::json::JsonValue;

use super::{Command, JsonForm, Run};
use crate::diagnostics as common;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag};
use crate::settings::{VAR, VAR_FILE, project};
use crate::terminal::Terminal;

use environment::Redaction;

pub(crate) const COMMAND: Command = Command {
    name: "doctor",
    synopsis: "Show what Yuba finds in this directory, and problems",
    usage: "[options]",
    about: "Shows the versions, files, settings, providers, backend and caches that Yuba finds, then the problems and what to do \
            about them. The output is safe for bug reports: it contains the names of files, providers, environment variables and the \
            workspace, but no values of variables, arguments or credentials.\n\n\
            The command changes nothing, starts no provider and does not use the network unless -check-backend is set. The \
            exit code is 1 if there are errors, otherwise 0.",
    flags: &[
        Flag::switch("check-backend", "Also read the state from the backend, which can use the network."),
        Flag::switch("json", "Write a JSON object."),
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Document,
    long_help: false,
    run: Run::Function(run),
};

/// The version of the format of the JSON object.
const FORMAT_VERSION: &str = "1.0";

/// Number of problems of the configuration that the text lists. The JSON object has all of them.
const LISTED: usize = 10;

/// Settings of `yuba doctor`.
struct DoctorSettings {
    /// `-json`
    json: bool,
    /// `-check-backend`
    contact: Contact,
    project: Project,
}

impl DoctorSettings {
    fn resolve(args: &Args) -> Result<DoctorSettings, Failure> {
        if !args.positional.is_empty() {
            return Err(Failure::usage(common::no_arguments_expected()));
        }
        Ok(DoctorSettings {
            json: args.is_on("json"),
            contact: if args.is_on("check-backend") { Contact::Backend } else { Contact::None },
            project: Project::new(project(args)),
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let settings = DoctorSettings::resolve(args)?;
    let environment = settings.project.environment();
    let redaction = Redaction::new(environment);
    let mut examination = settings.project.examine(settings.contact);
    examination.findings.extend(environment::misspelled(environment));
    let sections = sections::all(&settings.project, &examination, terminal, &redaction);
    let errors = examination.findings.iter().filter(|finding| finding.diagnostic.is_error()).count();
    if settings.json {
        let mut members = vec![("format_version".to_owned(), JsonValue::from(FORMAT_VERSION))];
        if let JsonValue::Object(sections) = facts::json(&sections) {
            members.extend(sections);
        }
        let problems = examination.findings.iter().map(|finding| problem_json(finding, &redaction));
        members.push(("problems".to_owned(), JsonValue::Array(problems.collect())));
        terminal.out(&format!("{}\n", JsonValue::Object(members).indented()));
    } else {
        let mut text = facts::text(&sections, &|title| terminal.bold(title));
        text += &problems(&examination, terminal, &redaction);
        terminal.out(&text);
    }
    Ok(u8::from(errors > 0))
}

/// The problems as text, with their number.
fn problems(examination: &ProjectExamination, terminal: &Terminal, redaction: &Redaction) -> String {
    let all = &examination.findings;
    if all.is_empty() {
        return "No problems found.\n".to_owned();
    }
    let mut text = format!("{}\n", terminal.bold("Problems"));
    let mut listed = 0;
    for finding in all {
        if finding.area == Area::Configuration {
            listed += 1;
            if listed > LISTED {
                continue;
            }
        }
        let (word, colour) = match finding.diagnostic.severity {
            Severity::Error => ("Error: ", "31"),
            Severity::Warning => ("Warning: ", "33"),
        };
        let location = finding.location.as_ref().map_or_else(String::new, |at| format!(" ({})", redaction.text(at)));
        let _ = writeln!(text, "  {}{}{location}", terminal.coloured(colour, word), finding.diagnostic.summary);
        let explanation = match finding.area {
            Area::Own => redaction.text(&finding.diagnostic.explanation()),
            area => advice(area).to_owned(),
        };
        for line in yuba_view::wrap::wrap(&explanation, 74).lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    if listed > LISTED {
        let _ = writeln!(text, "  {} further problems in the configuration", listed - LISTED);
    }
    let errors = all.iter().filter(|finding| finding.diagnostic.is_error()).count();
    let _ = writeln!(text, "\n{}, {}.", counted(errors, "error"), counted(all.len() - errors, "warning"));
    text
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// The command that shows the details, which may quote values.
fn advice(area: Area) -> &'static str {
    match area {
        Area::Own => "",
        Area::CliConfiguration => "Run \"yuba version\" to see the details.",
        Area::Configuration => "Run \"yuba validate\" to see the details.",
        Area::Backend => "Run \"yuba state list\" to see the details.",
    }
}

fn problem_json(finding: &Finding, redaction: &Redaction) -> JsonValue {
    let problem = &finding.diagnostic;
    let severity = if problem.is_error() { "error" } else { "warning" };
    let mut members = vec![
        ("severity", JsonValue::from(severity)),
        ("code", JsonValue::from(problem.code.id)),
        ("summary", JsonValue::from(problem.summary.as_str())),
    ];
    members.extend(finding.location.as_deref().map(|at| ("location", JsonValue::from(redaction.text(at)))));
    match finding.area {
        Area::Own => {
            members.push(("detail", JsonValue::from(redaction.text(&problem.detail))));
            let hint = problem.hint.as_deref().map(|hint| redaction.text(hint));
            members.extend(hint.map(|hint| ("hint", JsonValue::from(hint))));
        }
        area => members.push(("hint", JsonValue::from(advice(area)))),
    }
    JsonValue::object(members)
}
