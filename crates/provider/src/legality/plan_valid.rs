//! Whether a plan is one a provider may make: configured values as they are, and computed ones where nothing is configured.

use std::collections::BTreeMap;

use ecow::{EcoString, eco_format};
use yuba_value::{PathStep, Value, ops};

use super::values::{child, entries, entry, same};
use super::{Report, Violation, shown};
use crate::schema::{Attribute, AttributeType, BlockSchema, NestedAttribute, NestedBlock, Nesting};

/// Errors in a plan. All values conform to the schema and carry no marks; `prior` is null to create an object.
///
/// A provider may return the prior value instead of the configured one: it asserts then that both mean the same.
pub fn assert_plan_valid(schema: &BlockSchema, prior: &Value, config: &Value, planned: &Value) -> Vec<Violation> {
    let mut report = Report::default();
    block(schema, prior, config, planned, &mut report);
    report.violations
}

/// Whether the plan and the configuration agree that there is something to look into.
fn is_there(config: &Value, planned: &Value, report: &mut Report) -> bool {
    match (config.is_null(), planned.is_null()) {
        (false, true) => report.add(|| "it is planned to be absent, but the configuration has it".into()),
        (true, false) => report.add(|| "it is planned to be present, but the configuration does not have it".into()),
        (true, true) => {}
        (false, false) => return true,
    }
    false
}

fn block(schema: &BlockSchema, prior: &Value, config: &Value, planned: &Value, report: &mut Report) {
    if !is_there(config, planned, report) {
        return;
    }
    attributes(schema.attributes(), prior, config, planned, report);
    for (name, schema) in schema.blocks() {
        let (prior, config, planned) = (child(prior, name), child(config, name), child(planned, name));
        report.inside(PathStep::Attr(name.clone()), |report| {
            if planned.raw_equals(&config) {
            } else if !config.is_known() {
                report.add(|| eco_format!("{} is planned for blocks that are not known yet", shown(&planned)));
            } else if !planned.is_known() {
                report.add(|| "blocks cannot be unknown as a whole, only the attributes in them".into());
            } else {
                nested_block(schema, &prior, &config, &planned, report);
            }
        });
    }
}

fn nested_block(schema: &NestedBlock, prior: &Value, config: &Value, planned: &Value, report: &mut Report) {
    if matches!(schema.nesting, Nesting::Single | Nesting::Group) {
        return block(&schema.block, prior, config, planned, report);
    }
    if planned.is_null() {
        return report.add(|| "without blocks, an empty collection must be planned instead of null".into());
    }
    let check = |prior: Option<&Value>, config: &Value, planned: &Value, report: &mut Report| {
        if !planned.is_known() {
            return report.add(|| "a block cannot be unknown as a whole, only the attributes in it".into());
        }
        match prior {
            Some(prior) => block(&schema.block, prior, config, planned, report),
            None => block(&schema.block, &Value::null(planned.ty().clone()), config, planned, report),
        }
    };
    match schema.nesting {
        Nesting::Set => {
            // Elements of sets have no name, and a planned one can be part configured and part as it was: there is
            // nothing to compare it with.
            for item in planned.as_seq().unwrap_or_default().iter().filter(|item| !item.is_known()) {
                report.inside(PathStep::Index(item.clone()), |report| {
                    report.add(|| "a block cannot be unknown as a whole, only the attributes in it".into());
                });
            }
        }
        Nesting::Map => {
            let (planned_count, config_count) = (entries(planned).len(), entries(config).len());
            if planned.ty().is_map() && planned_count != config_count {
                return count_differs(planned_count, config_count, report);
            }
            by_key("block", prior, config, planned, report, check);
        }
        _ => by_position(prior, config, planned, report, check),
    }
}

fn count_differs(planned: usize, configured: usize, report: &mut Report) {
    report.add(|| eco_format!("the plan has {planned} of them, but the configuration has {configured}"));
}

fn by_position(
    prior: &Value,
    config: &Value,
    planned: &Value,
    report: &mut Report,
    check: impl Fn(Option<&Value>, &Value, &Value, &mut Report),
) {
    let (config, planned) = (config.as_seq().unwrap_or_default(), planned.as_seq().unwrap_or_default());
    if config.len() != planned.len() {
        return count_differs(planned.len(), config.len(), report);
    }
    let prior = prior.as_seq().unwrap_or_default();
    for (at, (config, planned)) in config.iter().zip(planned).enumerate() {
        let index = Value::int(i64::try_from(at).unwrap_or(i64::MAX));
        report.inside(PathStep::Index(index), |report| check(prior.get(at), config, planned, report));
    }
}

fn by_key(
    what: &str,
    prior: &Value,
    config: &Value,
    planned: &Value,
    report: &mut Report,
    check: impl Fn(Option<&Value>, &Value, &Value, &mut Report),
) {
    for (key, planned) in entries(planned) {
        match entry(config, key) {
            None => report.add(|| eco_format!("the plan has the {what} {key:?}, but the configuration does not")),
            Some(config) => report.inside(PathStep::Index(Value::string(key.clone())), |report| {
                check(entry(prior, key), config, planned, report);
            }),
        }
    }
    for (key, _) in entries(config) {
        if entry(planned, key).is_none() {
            report.add(|| eco_format!("the configuration has the {what} {key:?}, but the plan does not"));
        }
    }
}

fn attributes(
    schemas: &BTreeMap<EcoString, Attribute>,
    prior: &Value,
    config: &Value,
    planned: &Value,
    report: &mut Report,
) {
    for (name, schema) in schemas {
        let (planned, config) = (child(planned, name), child(config, name));
        if same(&planned, &config) {
            continue;
        }
        let prior = child(prior, name);
        let step = PathStep::Attr(name.clone());
        report.inside(step, |report| changed_attribute(schema, &prior, &config, &planned, report));
    }
}

/// An attribute that is planned to be something else than configured.
fn changed_attribute(schema: &Attribute, prior: &Value, config: &Value, planned: &Value, report: &mut Report) {
    let keeps_prior = !prior.is_null() && !config.is_null() && same(planned, prior);
    let may_compute = schema.computed && (!schema.optional || config.is_null());
    if keeps_prior || may_compute {
        return;
    }
    if config.is_null() && !planned.is_null() {
        return report.add(|| match schema.sensitive {
            true => "a sensitive value is planned, but the attribute is not computed".into(),
            false => eco_format!("{} is planned, but the attribute is not computed", shown(planned)),
        });
    }
    if !config.is_null() && planned.is_null() && schema.write_only {
        return;
    }
    if let AttributeType::Nested(nested) = &schema.ty {
        return nested_attribute(nested, prior, config, planned, report);
    }
    report.add(|| match (schema.sensitive, prior.is_null()) {
        (true, true) => "the sensitive value that is planned is not the configured one".into(),
        (true, false) => "the sensitive value that is planned is neither the configured one nor the prior one".into(),
        (false, true) => eco_format!("{} is planned, but {} is configured", shown(planned), shown(config)),
        (false, false) => eco_format!(
            "{} is planned, but {} is configured, and it was {} before",
            shown(planned),
            shown(config),
            shown(prior)
        ),
    });
}

fn nested_attribute(schema: &NestedAttribute, prior: &Value, config: &Value, planned: &Value, report: &mut Report) {
    if !is_there(config, planned, report) {
        return;
    }
    if !planned.is_known() {
        return report.add(|| "it is planned to be unknown, but it is configured".into());
    }
    let check = |prior: Option<&Value>, config: &Value, planned: &Value, report: &mut Report| {
        let nothing = Value::null(planned.ty().clone());
        attributes(&schema.attributes, prior.unwrap_or(&nothing), config, planned, report);
    };
    if matches!(schema.nesting, Nesting::Single | Nesting::Group) {
        return check(Some(prior), config, planned, report);
    }
    let count = |value: &Value| ops::length(value).unwrap_or_else(|_| Value::int(0));
    let (planned_count, config_count) = (count(planned), count(config));
    if schema.nesting == Nesting::Set {
        // Elements of sets have no name: only their number can be compared.
        if config_count.is_known() && !planned_count.range().may_include(&config_count) {
            counts_differ(&planned_count, &config_count, report);
        }
    } else if !planned_count.raw_equals(&config_count) {
        counts_differ(&planned_count, &config_count, report);
    } else if schema.nesting == Nesting::Map {
        by_key("element", prior, config, planned, report, check);
    } else {
        by_position(prior, config, planned, report, check);
    }
}

fn counts_differ(planned: &Value, config: &Value, report: &mut Report) {
    let text = |count: &Value| if count.is_known() { shown(count) } else { "an unknown number".into() };
    report.add(|| eco_format!("the plan has {} of them, but the configuration has {}", text(planned), text(config)));
}
