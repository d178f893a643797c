//! The catalogue of what can be wrong with moves.

use std::collections::BTreeMap;

use ecow::{EcoString, eco_format};
use yuba_addrs::AbsResource;
use yuba_syntax::{Diagnostic, Sources, Span};

use super::Moveable;

yuba_syntax::catalogue! {
    /// Both addresses of a moved block are the same.
    REDUNDANT_MOVE = error "redundant-move", "Redundant move statement";
    /// The configuration still declares the source of a moved block.
    MOVED_OBJECT_STILL_EXISTS = error "moved-object-still-exists", "Moved object still exists";
    /// Two moved blocks have the same source or the same destination.
    AMBIGUOUS_MOVE = error "ambiguous-move", "Ambiguous move statements";
    /// Moved blocks form a cycle.
    CYCLIC_MOVES = error "cyclic-moves", "Cyclic dependency in move statements";
    /// Objects cannot move, because the state contains other objects at their new addresses.
    BLOCKED_MOVES = warning "blocked-moves", "Unresolved resource instance address changes";
    /// -target or -exclude leaves out objects that move.
    MOVED_OBJECTS_EXCLUDED = error "moved-objects-excluded", "Moved resource instances excluded by targeting";
}

/// A location as text: `main.tf:3,1`.
pub(super) fn location(sources: Option<&Sources>, span: Span) -> EcoString {
    match sources.and_then(|sources| sources.get(span.file)) {
        Some(file) => {
            let position = file.position(span.start as usize);
            eco_format!("{}:{},{}", file.name, position.line, position.column)
        }
        None => "another location".into(),
    }
}

pub(super) fn redundant(from: &Moveable, at: Span) -> Diagnostic {
    Diagnostic::new(&REDUNDANT_MOVE, eco_format!("Both addresses of this block are {from}."))
        .hint("Remove the block, or correct one of its addresses.")
        .at(at)
}

pub(super) fn still_exists(from: &Moveable, to: &Moveable, declared: Option<&str>, at: Span) -> Diagnostic {
    let (noun, short) = from.noun();
    let declared = declared.map(|location| eco_format!(" at {location}")).unwrap_or_default();
    let detail = eco_format!("This block moves {from} to {to}, but the {noun} {from} is still declared{declared}.");
    Diagnostic::new(&MOVED_OBJECT_STILL_EXISTS, detail)
        .hint(eco_format!("Declare the {short} as {to} instead, or remove this block."))
        .at(at)
}

pub(super) fn two_targets(
    from: &Moveable,
    first: &Moveable,
    second: &Moveable,
    location: &str,
    at: Span,
) -> Diagnostic {
    let (noun, short) = from.noun();
    let detail = eco_format!(
        "The block at {location} moves {from} to {first}, but this block moves it to {second}. A {noun} can only move to one \
         {short}."
    );
    Diagnostic::new(&AMBIGUOUS_MOVE, detail).hint("Remove one of the blocks.").at(at)
}

pub(super) fn two_sources(to: &Moveable, first: &Moveable, second: &Moveable, location: &str, at: Span) -> Diagnostic {
    let (noun, short) = to.noun();
    let detail = eco_format!(
        "The block at {location} moves {first} to {to}, but this block moves {second} to the same address. Only one {short} can \
         move to a {noun}."
    );
    Diagnostic::new(&AMBIGUOUS_MOVE, detail).hint("Remove one of the blocks.").at(at)
}

pub(super) fn cycle(lines: &str) -> Diagnostic {
    Diagnostic::new(&CYCLIC_MOVES, eco_format!("These moved blocks form a cycle:{lines}"))
        .hint("Remove one of the blocks, so that the chain ends at an address that the configuration declares.")
}

pub(super) fn blocked(blocked: &BTreeMap<Moveable, Moveable>) -> Diagnostic {
    let lines: String = blocked.iter().map(|(from, to)| format!("\n  - {from} could not move to {to}")).collect();
    let detail = eco_format!(
        "Objects of the state cannot move, because the state contains other objects at their new addresses:{lines}\n\nThe \
         plan destroys the objects that cannot move."
    );
    Diagnostic::new(&BLOCKED_MOVES, detail)
        .hint("To preserve them, change their addresses with the \"yuba state\" commands, then plan again.")
}

/// Reports moved objects that -exclude leaves out of the plan.
pub(super) fn excluded(resources: &[AbsResource]) -> Diagnostic {
    left_out(resources, "exclude", "the -exclude options leave some of them out", "remove")
}

/// Reports moved objects that -target does not include in the plan.
pub(super) fn not_targeted(resources: &[AbsResource]) -> Diagnostic {
    left_out(resources, "target", "the -target options do not include all of them", "add")
}

fn left_out(resources: &[AbsResource], option: &str, problem: &str, remedy: &str) -> Diagnostic {
    let lines: String = resources.iter().map(|resource| format!("\n  -{option}={:?}", resource.to_string())).collect();
    let detail = eco_format!(
        "Objects of the state have new addresses in the configuration. A plan must include these objects and their \
         dependencies, but {problem}.\n\nPlan without -{option}, or {remedy} these options:{lines}"
    );
    Diagnostic::new(&MOVED_OBJECTS_EXCLUDED, detail)
}
