//! Whether a result is what was planned: what was known came true, what was unknown became something that fits.

use std::collections::HashMap;

use ecow::eco_format;
use yuba_value::convert::{conformance_error, mismatch_message};
use yuba_value::{Path, PathStep, Value, View};

use super::values::{Content, child, entries, entry, fingerprint, same};
use super::{Report, Violation, shown};
use crate::schema::{Attribute, AttributeType, BlockSchema, NestedBlock, Nesting};

/// Errors in an object after a planned change. Both conform to the schema; marks say which values must not be shown.
pub fn assert_object_compatible(schema: &BlockSchema, planned: &Value, actual: &Value) -> Vec<Violation> {
    let mut report = Report::default();
    object(schema, planned, actual, &mut report);
    report.violations
}

/// Errors in a planned value, whatever its schema; it is at `path` of an object.
pub fn assert_value_compatible(planned: &Value, actual: &Value, path: Path) -> Vec<Violation> {
    let mut report = Report { path, ..Report::default() };
    attribute(Sensitivity::OfMarks, planned, actual, &mut report);
    report.violations
}

fn object(schema: &BlockSchema, planned: &Value, actual: &Value, report: &mut Report) {
    let what = |report: &Report| if report.path.is_empty() { "the object " } else { "" };
    match (planned.is_null(), actual.is_null()) {
        (true, true) => return,
        (true, false) => {
            let what = what(report);
            return report.add(|| eco_format!("{what}was planned to be absent, but is present now"));
        }
        (false, true) => {
            let what = what(report);
            return report.add(|| eco_format!("{what}was planned to be present, but is absent now"));
        }
        (false, false) => {}
    }
    for (name, schema) in schema.attributes() {
        let (planned, actual) = (child(planned, name), child(actual, name));
        let step = PathStep::Attr(name.clone());
        report.inside(step, |report| attribute(Sensitivity::of(schema), &planned, &actual, report));
    }
    for (name, schema) in schema.blocks() {
        let (planned, actual) = (child(planned, name), child(actual, name));
        let step = PathStep::Attr(name.clone());
        report.inside(step, |report| nested_block(schema, &planned, &actual, report));
    }
}

/// Reason why a value is sensitive.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sensitivity {
    /// The schema of its attribute.
    OfSchema,
    /// Its marks only.
    OfMarks,
}

impl Sensitivity {
    fn of(schema: &Attribute) -> Sensitivity {
        if schema.sensitive { Sensitivity::OfSchema } else { Sensitivity::OfMarks }
    }
}

fn attribute(sensitivity: Sensitivity, planned: &Value, actual: &Value, report: &mut Report) {
    let by_marks = sensitivity == Sensitivity::OfMarks;
    if by_marks && planned.is_deeply_unmarked() && actual.is_deeply_unmarked() {
        return value(planned, actual, report);
    }
    let ((planned, planned_marks), (actual, actual_marks)) = (planned.unmark_deep(), actual.unmark_deep());
    if by_marks && !planned_marks.has_sensitive() && !actual_marks.has_sensitive() {
        return value(&planned, &actual, report);
    }
    if !report.passes(|trial| value(&planned, &actual, trial)) {
        report.add(|| "this sensitive value is not what was planned".into());
    }
}

fn nested_block(schema: &NestedBlock, planned: &Value, actual: &Value, report: &mut Report) {
    let block = &schema.block;
    match schema.nesting {
        Nesting::Single | Nesting::Group => {
            // An unknown number of blocks can turn out to be zero.
            if planned.is_known() || !actual.is_null() {
                object(block, planned, actual, report);
            }
        }
        _ if !planned.is_known() || planned.is_null() || !actual.is_known() || actual.is_null() => {}
        Nesting::List => {
            let (planned, actual) = (planned.as_seq().unwrap_or_default(), actual.as_seq().unwrap_or_default());
            if planned.len() != actual.len() {
                return count_changed(planned.len(), actual.len(), report);
            }
            for (at, (planned, actual)) in (0i64..).zip(planned.iter().zip(actual)) {
                let step = PathStep::Index(Value::int(at));
                report.inside(step, |report| object(block, planned, actual, report));
            }
        }
        Nesting::Map => {
            let (before, after) = (entries(planned), entries(actual));
            if planned.ty().is_map() && before.len() != after.len() {
                return count_changed(before.len(), after.len(), report);
            }
            for (key, planned) in before {
                match entry(actual, key) {
                    None => report.add(|| eco_format!("the block with key {key:?} was planned, but is missing")),
                    Some(actual) => {
                        let step = PathStep::Index(Value::string(key.clone()));
                        report.inside(step, |report| object(block, planned, actual, report));
                    }
                }
            }
            for (key, _) in after {
                if entry(planned, key).is_none() {
                    report.add(|| eco_format!("a block with key {key:?} exists that was not planned"));
                }
            }
        }
        Nesting::Set => {
            let content = Content::Block(block);
            set(Some(content), planned, actual, report, |planned, actual, report| {
                object(block, planned, actual, report);
            });
            let counts = (planned.as_seq().unwrap_or_default().len(), actual.as_seq().unwrap_or_default().len());
            if counts.0 < counts.1 {
                count_changed(counts.0, counts.1, report);
            }
        }
    }
}

fn count_changed(planned: usize, actual: usize, report: &mut Report) {
    report.add(|| eco_format!("{planned} blocks were planned, but there are {actual} now"));
}

fn value(planned: &Value, actual: &Value, report: &mut Report) {
    if planned.ty().is_dynamic() {
        return;
    }
    if actual.ty() != planned.ty() && conformance_error(actual.ty(), planned.ty()).is_some() {
        let why = || mismatch_message(actual.ty(), planned.ty());
        return report.add(|| eco_format!("the value is of the wrong type: {}", why()));
    }
    if !planned.is_known() {
        if !planned.range().may_include(actual) {
            report.add(|| eco_format!("{} is not among what was planned: {}", shown(actual), shown(planned)));
        }
        return;
    }
    match (planned.is_null(), actual.is_null()) {
        (true, true) => return,
        (false, true) => return report.add(|| eco_format!("{} was planned, but it is null now", shown(planned))),
        (true, false) => return report.add(|| eco_format!("null was planned, but it is {} now", shown(actual))),
        (false, false) => {}
    }
    if !actual.is_known() {
        return report.add(|| "it was known in the plan, but is unknown now".into());
    }
    match (planned.view_ignoring_marks(), actual.view_ignoring_marks()) {
        (View::List(before), View::List(after)) | (View::Tuple(before), View::Tuple(after)) => {
            for (at, planned) in (0i64..).zip(before) {
                match usize::try_from(at).ok().and_then(|at| after.get(at)) {
                    None => report.add(|| eco_format!("element {at} was planned, but is missing")),
                    Some(actual) => {
                        report.inside(PathStep::Index(Value::int(at)), |report| value(planned, actual, report));
                    }
                }
            }
            for at in before.len()..after.len() {
                report.add(|| eco_format!("element {at} exists, but was not planned"));
            }
        }
        (View::Map(before), View::Map(after)) => {
            for (key, planned) in before {
                match entry(actual, key) {
                    None => report.add(|| eco_format!("element {key:?} was planned, but is missing")),
                    Some(actual) => {
                        let step = PathStep::Index(Value::string(key.clone()));
                        report.inside(step, |report| value(planned, actual, report));
                    }
                }
            }
            for (key, _) in after {
                if entry(planned, key).is_none() {
                    report.add(|| eco_format!("element {key:?} exists, but was not planned"));
                }
            }
        }
        (View::Object(before), View::Object(after)) => {
            let attrs = planned.ty().attrs().unwrap_or_default();
            for (attr, (planned, actual)) in attrs.iter().zip(before.iter().zip(after)) {
                report.inside(PathStep::Attr(attr.name.clone()), |report| value(planned, actual, report));
            }
        }
        (View::Set(before), View::Set(after)) => {
            set(None, planned, actual, report, value);
            if before.len() < after.len() {
                report.add(|| eco_format!("{} elements were planned, but there are {} now", before.len(), after.len()));
            }
        }
        _ => {
            if !planned.raw_equals(actual) {
                report.add(|| eco_format!("{} was planned, but it is {} now", shown(planned), shown(actual)));
            }
        }
    }
}

/// Elements of sets have no name: each must be compatible with an element on the other side.
///
/// Equal elements are found first, by fingerprint. Of what is left only those are compared that agree in the attributes
/// that are known in all planned elements.
fn set(
    content: Option<Content<'_>>,
    planned: &Value,
    actual: &Value,
    report: &mut Report,
    check: impl Fn(&Value, &Value, &mut Report),
) {
    let (before, after) = (planned.as_seq().unwrap_or_default(), actual.as_seq().unwrap_or_default());
    let (mut before_met, mut after_met) = (vec![false; before.len()], vec![false; after.len()]);

    let whole = groups(after, |item| fingerprint([item]));
    for (planned, met) in before.iter().zip(&mut before_met) {
        let group = whole.get(&fingerprint([planned])).map(Vec::as_slice).unwrap_or_default();
        for at in group {
            if let (Some(actual), Some(actual_met)) = (after.get(*at), after_met.get_mut(*at))
                && planned.is_wholly_known()
                && same(planned, actual)
            {
                (*met, *actual_met) = (true, true);
            }
        }
    }

    let mut lonely = after_met.iter().filter(|met| !**met).count();
    if lonely > 0 || before_met.contains(&false) {
        let names = telling_attributes(content, before);
        let project = |item: &Value| fingerprint(&names.iter().map(|name| child(item, name)).collect::<Vec<_>>());
        let candidates = groups(after, project);
        // An element with a partner is still available while an element of the other side is alone.
        let alone_first = [false, true];
        for round in alone_first {
            for (planned, met) in before.iter().zip(&mut before_met) {
                if *met != round || (round && lonely == 0) {
                    continue;
                }
                let group = candidates.get(&project(planned)).map(Vec::as_slice).unwrap_or_default();
                for at in group {
                    let (Some(actual), Some(actual_met)) = (after.get(*at), after_met.get_mut(*at)) else { continue };
                    if *met && *actual_met {
                        continue;
                    }
                    if report.passes(|trial| check(planned, actual, trial)) {
                        lonely -= usize::from(!*actual_met);
                        (*met, *actual_met) = (true, true);
                    }
                    if *met && lonely == 0 {
                        break;
                    }
                }
            }
        }
    }

    let mut missing = false;
    for (planned, _) in before.iter().zip(&before_met).filter(|(_, met)| !**met) {
        missing = true;
        report.add(|| eco_format!("the planned element {} is missing", shown(planned)));
    }
    if missing {
        return;
    }
    for (actual, _) in after.iter().zip(&after_met).filter(|(_, met)| !**met) {
        report.add(|| eco_format!("the element {} exists, but was not planned", shown(actual)));
    }
}

fn groups(items: &[Value], key: impl Fn(&Value) -> u64) -> HashMap<u64, Vec<usize>> {
    let mut groups: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, item) in items.iter().enumerate() {
        groups.entry(key(item)).or_default().push(at);
    }
    groups
}

/// Attributes of primitive types that are known in all elements: compatible elements agree in them.
fn telling_attributes<'v>(content: Option<Content<'v>>, elements: &'v [Value]) -> Vec<&'v str> {
    let Some(attrs) = elements.first().and_then(|first| first.ty().attrs()) else { return Vec::new() };
    if elements.iter().any(|element| element.is_null() || !element.is_known()) {
        return Vec::new();
    }
    let is_attribute = |name: &str| match content {
        None => true,
        Some(content) => content.attributes().get(name).is_some_and(is_plain),
    };
    attrs
        .iter()
        .filter(|attr| attr.ty.is_primitive() && is_attribute(&attr.name))
        .filter(|attr| elements.iter().all(|element| child(element, &attr.name).is_known()))
        .map(|attr| attr.name.as_str())
        .collect()
}

fn is_plain(attribute: &Attribute) -> bool {
    matches!(attribute.ty, AttributeType::Plain(_))
}
