//! Events while planning and applying: for each a line for people and a line of JSON.

use std::fmt::Write as _;

use yuba_plan::{Deferral, Event, Phase};

use crate::json::JsonValue;
use crate::machine::{failed, finished, hook, provision, started};
use crate::paint::{Paint, Style};
use crate::progress::{duration, id_suffix, shown, verbs};

/// The line about an event, without line end; several lines for the output of a provisioner. None where there is nothing
/// to say. `seconds` is how long it took, for the end of something.
pub fn line(event: &Event, seconds: u64, style: Style) -> Option<String> {
    let paint = Paint::new(style);
    match event {
        Event::Started { addr, deposed, phase, id } => {
            let text = format!("{}: {}{}", shown(addr, deposed.as_ref()), verbs(*phase)?.start, id_suffix(id.as_ref()));
            Some(paint.bold(&text).into_owned())
        }
        // Quirk: only the first line shows that an object is deposed.
        Event::Finished { addr, phase, id, ok: true, .. } => {
            let end = verbs(*phase)?.end?;
            let id = id_suffix(id.as_ref());
            let text = match phase {
                Phase::Import => format!("{addr}: {end}{id}"),
                _ => format!("{addr}: {end} after {}{id}", duration(seconds)),
            };
            Some(paint.bold(&text).into_owned())
        }
        Event::Finished { ok: false, .. } | Event::ProvisionFinished { .. } => None,
        Event::Deferred { addr, why } => {
            let why = match why {
                Deferral::UnknownConfiguration => "unknown configuration",
                Deferral::PendingDependencies => "pending dependencies",
            };
            Some(paint.bold(&format!("{addr}: Deferred due to {why}")).into_owned())
        }
        Event::ProvisionStarted { addr, provisioner } => {
            Some(paint.bold(&format!("{addr}: Provisioning with '{provisioner}'...")).into_owned())
        }
        Event::ProvisionOutput { addr, provisioner, text } => {
            let head = format!("{addr} ({provisioner}):");
            let head = paint.bold(&head);
            let mut out = String::new();
            for line in text.split(['\n', '\r']).map(str::trim_end).filter(|line| !line.is_empty()) {
                let gap = if out.is_empty() { "" } else { "\n" };
                let _ = write!(out, "{gap}{head} {line}");
            }
            Some(out)
        }
    }
}

/// Something that happens. `elapsed` is since it began, in seconds.
pub fn json(event: &Event, elapsed: u64, timestamp: &str) -> String {
    match event {
        Event::Started { addr, phase, id, .. } => started(addr, *phase, id.as_ref(), timestamp),
        Event::Finished { addr, phase, id, ok: true, .. } => finished(addr, *phase, id.as_ref(), elapsed, timestamp),
        Event::Finished { addr, phase, ok: false, .. } => failed(addr, *phase, elapsed, timestamp),
        // Quirk: only the text output contains it.
        Event::Deferred { .. } => String::new(),
        Event::ProvisionStarted { addr, provisioner } => {
            let message = format!("{addr}: Provisioning with '{provisioner}'...");
            hook("provision_start", &message, provision(addr, provisioner), timestamp)
        }
        Event::ProvisionOutput { addr, provisioner, text } => {
            let mut out = String::new();
            for text in text.split(['\n', '\r']).map(str::trim_end).filter(|text| !text.is_empty()) {
                let mut members = provision(addr, provisioner);
                members.push(("output", JsonValue::from(text)));
                out += &hook("provision_progress", &format!("{addr}: ({provisioner}): {text}"), members, timestamp);
            }
            out
        }
        Event::ProvisionFinished { addr, provisioner, ok } => {
            let (kind, word) = if *ok { ("provision_complete", "complete") } else { ("provision_errored", "errored") };
            let message = format!("{addr}: ({provisioner}) Provisioning {word}");
            hook(kind, &message, provision(addr, provisioner), timestamp)
        }
    }
}
