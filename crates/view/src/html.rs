//! A report as one HTML file that needs nothing else: no network, no other file, no provider.
//!
//! The page is the JSON form of the report with a script and a style sheet. The script builds everything from text nodes. A content
//! security policy in the page allows this script and this style sheet by their hashes and nothing else: no request, no other script, no
//! markup from text.

use std::fmt::Write as _;
use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use sha2::{Digest as _, Sha256};

use crate::graph::layers::layers;
use crate::json_writer::{Members, list};
use crate::report::{self, ChangeRisk, Report, ReportGraph, ReportSubject};

/// The script, in the order in which its parts refer to each other when they run.
const SCRIPT: [&str; 12] = [
    include_str!("html/page/dom.js"),
    include_str!("html/page/actions.js"),
    include_str!("html/page/diff.js"),
    include_str!("html/page/filter.js"),
    include_str!("html/page/list.js"),
    include_str!("html/page/rows.js"),
    include_str!("html/page/facets.js"),
    include_str!("html/page/panels.js"),
    include_str!("html/page/graph.js"),
    include_str!("html/page/live.js"),
    include_str!("html/page/main.js"),
    include_str!("html/page/start.js"),
];
const STYLE: &str = include_str!("html/page/style.css");
const BODY: &str = include_str!("html/page/body.html");

/// Reports up to this size are stored as they are: people and tools can read them in the file.
const STORED_PLAIN: usize = 16 * 1024;

/// Number of removed or replaced objects that a page names if its script does not run.
const NAMED_WITHOUT_SCRIPT: usize = 100;

/// The page as a file.
pub fn file(report: &Report) -> String {
    let data = data(report);
    let (form, stored) = if data.len() <= STORED_PLAIN { ("json", data) } else { ("deflate", packed(&data)) };
    let block =
        format!("<script type=\"application/octet-stream\" id=\"report\" data-form=\"{form}\">{stored}</script>\n");
    document(Kind::File, &format!("{}{block}", without_script(&summary(report)))).html
}

/// The page that a server sends. It follows a run, and requests the report from the server.
pub fn live() -> Document {
    document(Kind::Live, "")
}

/// The report in JSON, with positions for its graph. No text in it can end the element that contains it.
pub fn data(report: &Report) -> String {
    with_positions(&report::json::report(report), &dependencies(&report.graph))
}

/// A page.
#[derive(Clone, Debug)]
pub struct Document {
    /// The document.
    pub html: String,
    /// Its content security policy, which the document contains too.
    pub policy: String,
}

/// Kinds of pages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A file: it makes no request at all.
    File,
    /// A page that makes requests to its server.
    Live,
}

fn document(kind: Kind, more: &str) -> Document {
    let (script, style) = (script(), compact(STYLE));
    let (connect, attributes) = match kind {
        Kind::File => ("", ""),
        Kind::Live => (" connect-src 'self';", " data-live=\"yes\""),
    };
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:;{connect} base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        hash(&script),
        hash(&style)
    );
    let mut html = String::with_capacity(script.len() + style.len() + more.len() + 8 * 1024);
    let _ = write!(
        html,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>Yuba report</title>\n<style>{style}</style>\n</head>\n<body{attributes}>\n\
         {}{more}<script>{script}</script>\n</body>\n</html>\n",
        compact(BODY),
    );
    Document { html, policy }
}

/// Lines for readers without scripts: the totals, and what is removed or replaced.
fn summary(report: &Report) -> Vec<String> {
    if report.subject == ReportSubject::State {
        return vec![format!("State: {} objects, {} outputs.", report.resources.len(), report.outputs.len())];
    }
    let totals = &report.totals;
    let mut lines =
        vec![format!("Plan: {} to add, {} to change, {} to destroy.", totals.add, totals.change, totals.destroy)];
    let high = || report.changes.iter().filter(|change| change.risk == ChangeRisk::High);
    let line = |change: &report::ReportChange| format!("{}: {}", change.action.word(), change.address.display());
    lines.extend(high().take(NAMED_WITHOUT_SCRIPT).map(line));
    lines
}

fn without_script(summary: &[String]) -> String {
    let lines: Vec<String> = summary.iter().map(|line| format!("<p>{}</p>\n", escaped(line))).collect();
    format!("<noscript>\n{}<p>The details require JavaScript.</p>\n</noscript>\n", lines.concat())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// For each node of a graph its dependencies.
fn dependencies(graph: &ReportGraph) -> Vec<Vec<u32>> {
    let mut edges = vec![Vec::new(); graph.nodes.len()];
    for (from, to) in &graph.edges {
        edges[*from as usize].push(*to);
    }
    edges
}

fn with_positions(json: &str, edges: &[Vec<u32>]) -> String {
    let mut out = String::with_capacity(json.len() + edges.len() * 8 + 64);
    let mut members = Members::open(&mut out);
    members.raw("report", json);
    if !edges.is_empty() {
        let found = layers(edges);
        let mut layout = Members::open(members.key("layout"));
        list(layout.key("layers"), found.columns, |out, column| write!(out, "{column}").is_ok());
        list(layout.key("rows"), found.rows, |out, row| write!(out, "{row}").is_ok());
        layout.close();
    }
    members.close();
    // Inside of JSON the letter is part of strings only.
    if out.contains('<') { out.replace('<', "\\u003c") } else { out }
}

fn packed(data: &str) -> String {
    let mut encoder = DeflateEncoder::new(Vec::with_capacity(data.len() / 8), Compression::new(6));
    let written = encoder.write_all(data.as_bytes()).and_then(|()| encoder.finish());
    STANDARD.encode(written.expect("because memory takes everything"))
}

/// The script without comments and indentation, in a scope of its own.
fn script() -> String {
    let parts: Vec<String> = SCRIPT.iter().map(|part| compact(part)).collect();
    format!("(() => {{\"use strict\";\n{}}})();\n", parts.concat())
}

/// Lines without indentation, and without lines of comments. No string of the sources spans lines.
fn compact(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    for line in source.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// The source expression of a content security policy for an element with this text.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests;
