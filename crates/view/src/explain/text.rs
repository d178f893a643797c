//! An explanation for people: one headline, then short sections.

use std::fmt::Write as _;

use yuba_plan::Action;

use super::instances::phrase;
use super::{
    AttributeChange, Cause, Effect, Explanation, Expression, FileLine, Given, Part, PlannedChange, ProviderUse,
    Recorded, RepetitionUse,
};
use crate::paint::{CYAN, GREEN, GREY, Paint, RED, YELLOW};
use crate::plan::Look;
use crate::wrap::wrap;

/// Maximum number of names in a list.
const MOST: usize = 20;

/// An explanation as text.
pub fn text(explanation: &Explanation, look: Look) -> String {
    let mut page = Page { out: String::new(), paint: look.paint(), width: look.width };
    page.headline(explanation);
    for change in &explanation.changes {
        page.change(change);
    }
    page.definition(explanation);
    page.instances(explanation);
    page.repetition(&explanation.repetition);
    if let Some(provider) = &explanation.provider {
        page.provider(provider);
    }
    page.recorded(&explanation.recorded);
    page.dependents(explanation);
    page.out
}

struct Page {
    out: String,
    paint: Paint,
    width: usize,
}

impl Page {
    fn line(&mut self, depth: usize, text: &str) {
        let indent = "  ".repeat(depth);
        let _ = writeln!(self.out, "{indent}{text}");
    }

    /// A sentence or list that breaks at the width of the terminal.
    fn paragraph(&mut self, depth: usize, text: &str) {
        let width = self.width.saturating_sub(1 + 2 * depth).max(20);
        for line in wrap(text, width).lines() {
            self.line(depth, line);
        }
    }

    fn section(&mut self, title: &str) {
        let _ = writeln!(self.out, "\n{}", self.paint.bold(title));
    }

    fn at(&self, at: Option<&FileLine>) -> String {
        at.map_or_else(String::new, |at| self.paint.with(GREY, &format!("  ({}:{})", at.file, at.line)).into_owned())
    }

    fn headline(&mut self, explanation: &Explanation) {
        let address = self.paint.bold(&explanation.address).into_owned();
        let is_resource = !matches!(explanation.kind, "variable" | "local value" | "output" | "module");
        let main = explanation.changes.iter().find(|change| change.deposed.is_none());
        let text = match (&explanation.disabled, main) {
            (Some(off), change) => {
                let state = match change {
                    Some(change) => self.paint.bold_in(colour(change.action), phrase(change.action)).into_owned(),
                    None => "is disabled".to_owned(),
                };
                let of = if off.object == explanation.address { String::new() } else { format!(" of {}", off.object) };
                format!("{state}: lifecycle.enabled{of} is false")
            }
            (None, Some(change)) if explanation.kind == "output" => match change.action {
                Action::NoOp => "does not change".to_owned(),
                Action::Create => "will be added".to_owned(),
                Action::Delete => "will be removed".to_owned(),
                _ => "will change".to_owned(),
            },
            (None, Some(change)) => self.paint.bold_in(colour(change.action), phrase(change.action)).into_owned(),
            (None, None) if !explanation.recorded.is_empty() => "is in the state".to_owned(),
            (None, None) if !explanation.instances.is_empty() => {
                let instances = explanation.instances.len();
                match explanation.kind {
                    "module" => format!("has {}", count(instances, "resource instance", "resource instances")),
                    _ => format!("has {}", count(instances, "instance", "instances")),
                }
            }
            (None, None) if is_resource && explanation.declared.is_some() => "has no instances".to_owned(),
            (None, None) => format!("is {} {}", article(explanation.kind), explanation.kind),
        };
        self.line(0, &format!("{address} {text}"));
        if let Some(at) = explanation.disabled.as_ref().and_then(|off| off.at.as_ref()) {
            self.line(1, &format!("enabled at {}:{}", at.file, at.line));
        }
        match &explanation.declared {
            Some(at) => self.line(1, &format!("declared at {}:{}", at.file, at.line)),
            None if is_resource => self.line(1, "not declared in the configuration"),
            None => {}
        }
        if let Some(value) = &explanation.value {
            self.line(1, &format!("value: {value}"));
        }
    }

    fn change(&mut self, change: &PlannedChange) {
        if let Some(key) = &change.deposed {
            self.section(&format!("Deposed object {key} {}", phrase(change.action)));
        } else if change.reason.is_some() || change.moved_from.is_some() || change.imported.is_some() {
            self.section("Why");
        }
        if let Some(reason) = &change.reason {
            let at = reason.at.as_ref().map(|at| format!(" ({}:{})", at.file, at.line)).unwrap_or_default();
            self.paragraph(1, &format!("{}{at}", reason.text));
        }
        if let Some(from) = &change.moved_from {
            self.line(1, &format!("Moved from {from}."));
        }
        match change.imported.as_deref() {
            Some("") => self.line(1, "Imported."),
            Some(id) => self.line(1, &format!("Imported by the ID {}.", yuba_value::quote(id))),
            None => {}
        }
        for trigger in &change.triggers {
            self.expression(1, trigger);
        }
        if !change.attributes.is_empty() || !change.decided_later.is_empty() {
            self.section("Changes");
        }
        for attribute in &change.attributes {
            self.attribute(attribute);
        }
        if change.omitted > 0 {
            self.line(
                1,
                &format!("{} are not listed.", count(change.omitted, "further attribute", "further attributes")),
            );
        }
        if !change.decided_later.is_empty() {
            let names = listed(&change.decided_later);
            self.paragraph(1, &format!("Decided by the provider during apply: {names}"));
        }
    }

    fn attribute(&mut self, attribute: &AttributeChange) {
        let AttributeChange { path, before, after, .. } = attribute;
        let forces = match attribute.forces_replacement {
            true => self.paint.with(RED, "  forces replacement").into_owned(),
            false => String::new(),
        };
        let values = match (before.as_str(), after.as_str()) {
            ("null", after) => after.to_owned(),
            (before, after) => format!("{before} -> {after}"),
        };
        self.line(1, &format!("{}: {values}{forces}", self.paint.bold(path)));
        if attribute.expressions.is_empty() {
            let who = if after == "null" { "The configuration no longer sets it." } else { "The provider decides it." };
            self.line(2, who);
        }
        for expression in &attribute.expressions {
            self.expression(2, expression);
        }
    }

    /// An expression with its location, then what it refers to.
    fn expression(&mut self, depth: usize, expression: &Expression) {
        let text =
            expression.text.as_deref().unwrap_or("(expression with literals, not shown because it is sensitive)");
        let at = self.at(expression.at.as_ref());
        let text = self.paint.with(CYAN, text).into_owned();
        self.line(depth, &format!("= {text}{at}"));
        for cause in &expression.causes {
            self.cause(depth + 1, cause);
        }
    }

    fn cause(&mut self, depth: usize, cause: &Cause) {
        let mut text = cause.name.clone();
        if let Some(value) = &cause.value {
            let _ = write!(text, " is {value}");
        }
        if let Some(given) = &cause.given
            && let Some(source) = source(given)
        {
            let _ = write!(text, ", {source}");
        }
        if let Some(effect) = &cause.effect {
            text += &self.effect(effect);
        }
        if cause.is_repeated {
            text.push_str(" (see above)");
        }
        self.line(depth, &text);
        for expression in &cause.expressions {
            self.expression(depth + 1, expression);
        }
    }

    fn effect(&self, effect: &Effect) -> String {
        let action = effect.action.filter(|action| *action != Action::NoOp);
        let action = action.map(|action| self.paint.with(colour(action), phrase(action)).into_owned());
        let part = match &effect.part {
            Part::Whole => None,
            Part::KnownLater => Some("is known after apply".to_owned()),
            Part::Changes(before, after) if before == "null" => Some(format!("becomes {after}")),
            Part::Changes(before, after) => Some(format!("changes from {before} to {after}")),
            Part::Same(value) => Some(format!("is {value}")),
        };
        match (part, action) {
            (Some(part), Some(action)) => format!(" {part}; the resource {action}"),
            (Some(part), None) => format!(" {part}"),
            (None, Some(action)) => format!(": the resource {action}"),
            (None, None) => ": the resource does not change".to_owned(),
        }
    }

    fn definition(&mut self, explanation: &Explanation) {
        let source = explanation.given.as_ref().and_then(source_sentence);
        if explanation.definition.is_empty() && source.is_none() {
            return;
        }
        self.section("Value");
        if let Some(source) = source {
            self.line(1, &source);
        }
        for expression in &explanation.definition {
            self.expression(1, expression);
        }
    }

    fn instances(&mut self, explanation: &Explanation) {
        if explanation.instances.is_empty() {
            return;
        }
        self.section(if explanation.kind == "module" { "Resource instances" } else { "Instances" });
        for instance in explanation.instances.iter().take(MOST) {
            let action = instance.action.map(|action| format!(" {}", phrase(action))).unwrap_or_default();
            self.line(1, &format!("{}{action}", instance.address));
        }
        if explanation.instances.len() > MOST {
            let more = explanation.instances.len() - MOST;
            self.line(1, &format!("and {}", count(more, "further instance", "further instances")));
        }
    }

    fn repetition(&mut self, all: &[RepetitionUse]) {
        let deciding: Vec<&RepetitionUse> =
            all.iter().filter(|one| one.argument.is_some() || one.key.is_some()).collect();
        if deciding.is_empty() {
            return;
        }
        self.section("Instances come from");
        for one in deciding {
            let key = one.key.as_ref().map(|key| format!(", key {key}")).unwrap_or_default();
            let Some(argument) = one.argument else {
                self.line(1, &format!("{}{key}: the configuration sets no count or for_each", one.object));
                continue;
            };
            let value = one.value.as_ref().map(|value| format!(" is {value}")).unwrap_or_default();
            self.line(1, &format!("{}{key}: {argument}{value}", one.object));
            for expression in &one.expressions {
                self.expression(2, expression);
            }
        }
    }

    fn provider(&mut self, provider: &ProviderUse) {
        self.section("Provider");
        let key = provider.key.as_ref().map(|key| format!("[{key}]")).unwrap_or_default();
        let at = match &provider.declared {
            Some(_) => self.at(provider.declared.as_ref()),
            None => String::new(),
        };
        self.line(1, &format!("{}{key}{at}", provider.address));
        for (sentence, at) in &provider.route {
            let at = self.at(at.as_ref());
            self.line(1, &format!("{sentence}{at}"));
        }
        if let Some(expression) = &provider.key_expression {
            self.line(1, "The instance is selected by:");
            self.expression(2, expression);
        }
        if let Some(expression) = &provider.for_each {
            self.line(1, "The instances of the configuration are:");
            self.expression(2, expression);
        }
    }

    fn recorded(&mut self, objects: &[Recorded]) {
        if objects.is_empty() {
            return;
        }
        self.section("State");
        for object in objects {
            let mut notes = Vec::new();
            notes.extend(object.deposed.as_ref().map(|key| format!("deposed object {key}")));
            notes.extend(object.is_tainted.then(|| "tainted".to_owned()));
            notes.extend(object.creates_before_destroy.then(|| "create_before_destroy".to_owned()));
            notes.extend(object.is_kept.then(|| "lifecycle.destroy is false".to_owned()));
            let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
            self.line(1, &format!("{}{notes}", object.address));
            match object.dependencies.is_empty() {
                true => self.line(2, "depended on nothing when it was last applied"),
                false => self.paragraph(2, &format!("depended on: {}", listed(&object.dependencies))),
            }
        }
    }

    fn dependents(&mut self, explanation: &Explanation) {
        let Some(dependents) = &explanation.dependents else { return };
        self.section("Used by");
        if dependents.direct.is_empty() && dependents.recorded.is_empty() {
            self.line(1, "nothing");
            return;
        }
        for (name, at) in dependents.direct.iter().take(MOST) {
            let at = self.at(at.as_ref());
            self.line(1, &format!("{name}{at}"));
        }
        if dependents.direct.len() > MOST {
            let more = dependents.direct.len() - MOST;
            self.line(1, &format!("and {}", count(more, "further object", "further objects")));
        }
        if dependents.total > dependents.direct.len() {
            let direct = dependents.direct.len();
            self.line(1, &format!("{direct} directly, {} in total", dependents.total));
        }
        if !dependents.recorded.is_empty() {
            self.paragraph(1, &format!("in the state: {}", listed(&dependents.recorded)));
        }
    }
}

fn colour(action: Action) -> &'static str {
    match action {
        Action::NoOp | Action::Forget => GREY,
        Action::Create => GREEN,
        Action::Read => CYAN,
        Action::Update => YELLOW,
        Action::Delete | Action::DeleteThenCreate | Action::CreateThenDelete | Action::ForgetThenCreate => RED,
    }
}

fn source(given: &Given) -> Option<String> {
    Some(match given {
        Given::Default(Some(at)) => format!("the default at {}:{}", at.file, at.line),
        Given::Default(None) => "the default".to_owned(),
        Given::File(at) => format!("from {}:{}", at.file, at.line),
        Given::Flag => "from the option -var".to_owned(),
        Given::Environment(name) => format!("from the environment variable {name}"),
        Given::Prompt => "from the prompt or the workspace".to_owned(),
        Given::Plan => "as saved in the plan".to_owned(),
        Given::Missing => "which has no value".to_owned(),
        Given::Call => return None,
    })
}

fn source_sentence(given: &Given) -> Option<String> {
    Some(match given {
        Given::Default(Some(at)) => format!("The default sets it ({}:{}).", at.file, at.line),
        Given::Default(None) => "The default sets it.".to_owned(),
        Given::File(at) => format!("The file {} sets it in line {}.", at.file, at.line),
        Given::Flag => "The option -var sets it.".to_owned(),
        Given::Environment(name) => format!("The environment variable {name} sets it."),
        Given::Prompt => "A prompt or the workspace sets it.".to_owned(),
        Given::Plan => "The saved plan contains it.".to_owned(),
        Given::Missing => "It has neither a value nor a default.".to_owned(),
        Given::Call => "The module call sets it:".to_owned(),
    })
}

fn listed(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(MOST).map(String::as_str).collect();
    let more = match names.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {}", count(more, "other object", "other objects")),
    };
    shown.join(", ") + &more
}

fn count(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn article(kind: &str) -> &'static str {
    if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}
