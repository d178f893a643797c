//! The plan itself.

use std::sync::Arc;

use yuba_addrs::{Target, TargetSubject};
use yuba_state::{CheckObject, CheckResult, DeposedKey, State};
use yuba_syntax::Span;
use yuba_syntax::diagnostic::{DeprecatedKind, DeprecatedUse};

use super::codes::Code;
use super::reader::Reader;
use super::steps::{self, Step};
use super::writer::Writer;
use super::{Malformed, Read};
use crate::{
    Action, ExecGraph, Importing, OutputChange, Plan, PlannedVariable, PlannedWarning, RelevantAttribute,
    ResourceChange,
};

/// The plan without its states, which are entries of the archive.
pub(super) fn write(writer: &mut Writer, plan: &Plan, steps: &[Step]) {
    let Plan {
        mode,
        targets,
        excludes,
        force_replace,
        variables,
        changes,
        drift,
        relevant,
        outputs,
        checks,
        previous_state: _,
        prior_state: _,
        exec: _,
        timestamp,
        errored,
        workspace,
        warnings,
    } = plan;
    writer.byte(mode.code());
    writer.list(targets, write_target);
    writer.list(excludes, write_target);
    writer.list(force_replace, Writer::instance);
    writer.count(variables.len());
    for (name, variable) in variables {
        writer.name(name);
        writer.value(&variable.value);
        writer.flag(variable.ephemeral);
    }
    writer.list(changes, write_change);
    writer.list(drift, write_change);
    writer.list(relevant, |writer, attribute| {
        writer.instance(&attribute.resource);
        writer.path(&attribute.path);
    });
    writer.list(outputs, write_output);
    writer.list(checks, write_check);
    steps::write(writer, steps);
    writer.text(timestamp);
    writer.flag(*errored);
    writer.text(workspace);
    writer.list(warnings, write_warning);
}

/// A plan with the states given, and the steps that its graph is made of.
pub(super) fn read(
    reader: &mut Reader<'_>,
    (prior_state, previous_state): (Arc<State>, Arc<State>),
) -> Read<(Plan, Vec<Step>)> {
    let mode = Code::from_code(reader.byte()?)?;
    let targets = reader.list(read_target)?;
    let excludes = reader.list(read_target)?;
    let force_replace = reader.list(Reader::instance)?;
    let variables = reader.list(|reader| {
        let name = reader.name()?;
        Ok((name, PlannedVariable { value: reader.value()?, ephemeral: reader.flag()? }))
    })?;
    let changes = reader.list(read_change)?;
    let drift = reader.list(read_change)?;
    let relevant =
        reader.list(|reader| Ok(RelevantAttribute { resource: reader.instance()?, path: reader.path()? }))?;
    let outputs = reader.list(read_output)?;
    let checks = reader.list(read_check)?;
    let steps = steps::read(reader)?;
    let plan = Plan {
        mode,
        targets,
        excludes,
        force_replace,
        variables: variables.into_iter().collect(),
        changes,
        drift,
        relevant,
        outputs,
        checks,
        previous_state,
        prior_state,
        exec: ExecGraph::default(),
        timestamp: reader.text()?,
        errored: reader.flag()?,
        workspace: reader.text()?,
        warnings: reader.list(read_warning)?,
    };
    Ok((plan, steps))
}

fn write_warning(writer: &mut Writer, warning: &PlannedWarning) {
    let PlannedWarning { summary, detail, address, file, start, end, deprecated } = warning;
    let DeprecatedUse { source, origin, kind, message, remote, fixable_here } = deprecated;
    for text in [summary, detail, address, file, source, origin, message] {
        writer.text(text);
    }
    writer.number(u64::from(*start));
    writer.number(u64::from(*end));
    for flag in [*kind == DeprecatedKind::Variable, *remote, *fixable_here] {
        writer.flag(flag);
    }
}

fn read_warning(reader: &mut Reader<'_>) -> Read<PlannedWarning> {
    let (summary, detail, address, file) = (reader.text()?, reader.text()?, reader.text()?, reader.text()?);
    let (source, origin, message) = (reader.text()?, reader.text()?, reader.text()?);
    let (start, end) = (reader.small()?, reader.small()?);
    let kind = if reader.flag()? { DeprecatedKind::Variable } else { DeprecatedKind::Value };
    let deprecated =
        DeprecatedUse { source, origin, kind, message, remote: reader.flag()?, fixable_here: reader.flag()? };
    Ok(PlannedWarning { summary, detail, address, file, start, end, deprecated })
}

fn write_target(writer: &mut Writer, target: &Target) {
    match &target.subject {
        TargetSubject::Module(module) => {
            writer.byte(0);
            writer.module(module);
        }
        TargetSubject::Resource(resource) => {
            writer.byte(1);
            writer.abs_resource(resource);
        }
        TargetSubject::Instance(instance) => {
            writer.byte(2);
            writer.instance(instance);
        }
    }
}

fn read_target(reader: &mut Reader<'_>) -> Read<Target> {
    let subject = match reader.byte()? {
        0 => TargetSubject::Module(reader.module()?),
        1 => TargetSubject::Resource(reader.abs_resource()?),
        2 => TargetSubject::Instance(reader.instance()?),
        _ => return Err(Malformed),
    };
    Ok(Target { subject, span: Span::default() })
}

fn write_change(writer: &mut Writer, change: &ResourceChange) {
    let ResourceChange {
        addr,
        moved_from,
        deposed,
        provider,
        provider_key,
        action,
        reason,
        before,
        after,
        private,
        identity: planned_identity,
        required_replace,
        importing,
        generated_config,
    } = change;
    writer.instance(addr);
    writer.option(moved_from.as_deref(), Writer::instance);
    writer.option(deposed.as_ref(), |writer, key| writer.text(key.as_str()));
    writer.provider(provider);
    writer.key(provider_key.as_ref());
    writer.byte(action.code());
    writer.byte(reason.code());
    writer.value(before);
    // A value that stays the same is written once.
    let changed = *action != Action::NoOp || !before.raw_equals(after);
    writer.option(changed.then_some(after), Writer::value);
    writer.bytes(private);
    writer.option(planned_identity.as_ref(), Writer::value);
    writer.list(required_replace, Writer::path);
    writer.option(importing.as_deref(), |writer, importing| {
        let Importing { id, identity, unknown } = importing;
        writer.option(id.as_deref(), Writer::text);
        writer.option(identity.as_ref(), Writer::value);
        writer.flag(*unknown);
    });
    writer.option(generated_config.as_deref(), Writer::text);
}

fn read_change(reader: &mut Reader<'_>) -> Read<ResourceChange> {
    let addr = reader.instance()?;
    let moved_from = reader.option(Reader::instance)?.map(Box::new);
    let deposed = reader.option(|reader| DeposedKey::parse(&reader.text()?).ok_or(Malformed))?;
    let (provider, provider_key) = (reader.provider()?, reader.key()?);
    let (action, reason) = (Code::from_code(reader.byte()?)?, Code::from_code(reader.byte()?)?);
    let before = reader.value()?;
    let after = reader.option(Reader::value)?.unwrap_or_else(|| before.clone());
    let private = reader.bytes()?.into();
    let planned_identity = reader.option(Reader::value)?;
    let required_replace = reader.list(Reader::path)?;
    let importing = reader.option(|reader| {
        let (id, identity) = (reader.option(Reader::text)?, reader.option(Reader::value)?);
        Ok(Box::new(Importing { id, identity, unknown: reader.flag()? }))
    })?;
    Ok(ResourceChange {
        addr,
        moved_from,
        deposed,
        provider,
        provider_key,
        action,
        reason,
        before,
        after,
        private,
        identity: planned_identity,
        required_replace,
        importing,
        generated_config: reader.option(Reader::text)?,
    })
}

fn write_output(writer: &mut Writer, change: &OutputChange) {
    let OutputChange { name, action, before, after, sensitive, sensitive_before, deprecated, deprecated_before } =
        change;
    writer.name(name);
    writer.byte(action.code());
    writer.value(before);
    writer.value(after);
    writer.flag(*sensitive);
    writer.flag(*sensitive_before);
    writer.text(deprecated);
    writer.text(deprecated_before);
}

fn read_output(reader: &mut Reader<'_>) -> Read<OutputChange> {
    Ok(OutputChange {
        name: reader.name()?,
        action: Code::from_code(reader.byte()?)?,
        before: reader.value()?,
        after: reader.value()?,
        sensitive: reader.flag()?,
        sensitive_before: reader.flag()?,
        deprecated: reader.text()?,
        deprecated_before: reader.text()?,
    })
}

fn write_check(writer: &mut Writer, check: &CheckResult) {
    let CheckResult { kind, config_addr, status, objects } = check;
    writer.byte(kind.code());
    writer.text(config_addr);
    writer.byte(status.code());
    writer.list(objects, |writer, object| {
        let CheckObject { addr, status, failure_messages } = object;
        writer.text(addr);
        writer.byte(status.code());
        writer.list(failure_messages, |writer, message| writer.text(message));
    });
}

fn read_check(reader: &mut Reader<'_>) -> Read<CheckResult> {
    Ok(CheckResult {
        kind: Code::from_code(reader.byte()?)?,
        config_addr: reader.text()?,
        status: Code::from_code(reader.byte()?)?,
        objects: reader.list(|reader| {
            Ok(CheckObject {
                addr: reader.text()?,
                status: Code::from_code(reader.byte()?)?,
                failure_messages: reader.list(Reader::text)?,
            })
        })?,
    })
}
