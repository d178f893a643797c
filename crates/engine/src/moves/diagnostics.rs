//! What can be wrong with moves.

use std::collections::BTreeMap;

use ecow::{EcoString, eco_format};
use yuba_addrs::AbsResource;
use yuba_syntax::{Diagnostic, Sources, Span};

use super::Moveable;

/// A place as text: `main.tf:3,1`.
pub(super) fn place(sources: Option<&Sources>, span: Span) -> EcoString {
    match sources.and_then(|sources| sources.get(span.file)) {
        Some(file) => {
            let position = file.position(span.start as usize);
            eco_format!("{}:{},{}", file.name, position.line, position.column)
        }
        None => "another place".into(),
    }
}

pub(super) fn redundant(from: &Moveable, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "Both addresses of this statement are {from}. Nothing moves from an address to itself, so the statement can be \
         removed; or one of the addresses is not the one that was meant."
    );
    Diagnostic::error("Redundant move statement", detail).at(at)
}

pub(super) fn still_exists(from: &Moveable, to: &Moveable, declared: Option<&str>, at: Span) -> Diagnostic {
    let (noun, short) = from.noun();
    let declared = declared.map(|place| eco_format!(" at {place}")).unwrap_or_default();
    let detail = eco_format!(
        "According to this statement {from} moved to {to}, but the {noun} {from} is still declared{declared}. An object \
         cannot be at both addresses.\n\nDeclare the {short} as {to} instead, or remove this statement."
    );
    Diagnostic::error("Moved object still exists", detail).at(at)
}

pub(super) fn two_targets(from: &Moveable, first: &Moveable, second: &Moveable, place: &str, at: Span) -> Diagnostic {
    let (noun, short) = from.noun();
    let detail = eco_format!(
        "The statement at {place} says that {from} moved to {first}, but according to this one it moved to {second}.\n\n\
         A {noun} can only move to one {short}: remove one of the statements."
    );
    Diagnostic::error("Ambiguous move statements", detail).at(at)
}

pub(super) fn two_sources(to: &Moveable, first: &Moveable, second: &Moveable, place: &str, at: Span) -> Diagnostic {
    let (noun, short) = to.noun();
    let detail = eco_format!(
        "The statement at {place} says that {first} moved to {to}, but according to this one {second} moved there.\n\nOnly \
         one {short} can have become a {noun}: remove one of the statements."
    );
    Diagnostic::error("Ambiguous move statements", detail).at(at)
}

pub(super) fn cycle(lines: &str) -> Diagnostic {
    let detail = eco_format!(
        "These statements lead in a circle, so there is no last address for objects to move to:{lines}\n\nA chain of moves \
         has to end at an address that no other statement starts from; usually that is what the configuration declares \
         now."
    );
    Diagnostic::error("Cyclic dependency in move statements", detail)
}

pub(super) fn blocked(blocked: &BTreeMap<Moveable, Moveable>) -> Diagnostic {
    let lines: String = blocked.iter().map(|(from, to)| format!("\n  - {from} could not move to {to}")).collect();
    let detail = eco_format!(
        "The configuration says that some objects of the state have new addresses, but there are other objects at these \
         addresses already:{lines}\n\nThe plan is to destroy the objects that could not move. If that is not right, sort \
         out the addresses with the \"state\" commands first, then plan again."
    );
    Diagnostic::warning("Unresolved resource instance address changes", detail)
}

pub(super) fn left_out(resources: &[AbsResource], excluding: bool) -> Diagnostic {
    let option = if excluding { "exclude" } else { "target" };
    let lines: String = resources.iter().map(|resource| format!("\n  -{option}={:?}", resource.to_string())).collect();
    let (problem, remedy) = match excluding {
        true => ("the -exclude options leave some of them out", "remove these"),
        false => ("the -target options do not cover all of them", "add these"),
    };
    let detail = eco_format!(
        "Objects of the state have other addresses in the current configuration. For a correct plan they have to be part \
         of it, but {problem}.\n\nEither plan without -{option}, or {remedy} options:{lines}\n\nWhat these objects depend \
         on then becomes part of the plan, too."
    );
    Diagnostic::error("Moved resource instances excluded by targeting", detail)
}
