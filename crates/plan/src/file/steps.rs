//! The steps of the execution graph as plan files name them: by the addresses of what they work on.
//!
//! Invariant: a graph that was read does exactly what the changes of its plan say. Every change that makes or ends an
//! object is named by one step, with its action, and no step names anything else.

use ecow::EcoString;
use foldhash::{HashMap, HashSet};
use yuba_addrs::AbsResourceInstance;
use yuba_state::DeposedKey;

use super::codes::Code;
use super::reader::Reader;
use super::writer::Writer;
use super::{Malformed, Read};
use crate::{Action, ExecGraph, Op, ResourceChange};

/// A step and the steps that it waits for, by their positions in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) work: Work,
    pub(super) after: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// An object of the configuration is evaluated. For a resource, these instances are created, read or changed.
    Evaluate { object: EcoString, changes: Vec<(AbsResourceInstance, Action)> },
    /// An object ends.
    End { addr: AbsResourceInstance, deposed: Option<DeposedKey>, action: Action },
    /// Other steps wait for it.
    Join,
    /// Other steps wait for it, even if the steps before it failed.
    Settle,
}

/// Whether a step evaluates the resource of a change and makes the object of the change. An object whose configuration was
/// only just generated cannot be changed: its plan must be made again.
fn makes(change: &ResourceChange) -> bool {
    change.action.makes() && change.deposed.is_none() && change.generated_config.is_none()
}

fn ends(change: &ResourceChange) -> bool {
    change.action.ends() && change.generated_config.is_none()
}

/// The address of the resource block of a change.
fn block(change: &ResourceChange) -> EcoString {
    ecow::eco_format!("{}", change.addr.containing().config())
}

/// The steps of a graph.
pub(super) fn of_graph(graph: &ExecGraph, changes: &[ResourceChange]) -> Vec<Step> {
    let mut by_block: HashMap<EcoString, Vec<(AbsResourceInstance, Action)>> = HashMap::default();
    for change in changes.iter().filter(|change| makes(change)) {
        // Most blocks have one instance, and there can be many of them.
        let of_block = by_block.entry(block(change)).or_insert_with(|| Vec::with_capacity(1));
        of_block.push((change.addr.clone(), change.action));
    }
    let mut work = |at: usize, op: &Op| match op {
        Op::Evaluate(_) => {
            let object = graph.objects.get(at).cloned().unwrap_or_default();
            let changes = by_block.remove(&object).unwrap_or_default();
            Work::Evaluate { object, changes }
        }
        Op::Destroy(position) => {
            let change = &changes[*position as usize];
            Work::End { addr: change.addr.clone(), deposed: change.deposed.clone(), action: change.action }
        }
        Op::Join => Work::Join,
        Op::Settle => Work::Settle,
    };
    let after = |at: usize| graph.waits_for(at as u32).to_vec();
    graph.ops.iter().enumerate().map(|(at, op)| Step { work: work(at, op), after: after(at) }).collect()
}

/// The graph that steps make up. An error if they are not exactly the steps of the changes.
pub(super) fn into_graph(steps: Vec<Step>, changes: &[ResourceChange]) -> Read<ExecGraph> {
    let mut positions: HashMap<(&AbsResourceInstance, Option<&DeposedKey>), u32> = HashMap::default();
    for (position, change) in changes.iter().enumerate() {
        if positions.insert((&change.addr, change.deposed.as_ref()), position as u32).is_some() {
            return Err(Malformed);
        }
    }
    let find = |addr: &AbsResourceInstance, deposed: Option<&DeposedKey>, action: Action| {
        let position = positions.get(&(addr, deposed)).copied().ok_or(Malformed)?;
        if changes[position as usize].action == action { Ok(position) } else { Err(Malformed) }
    };
    // Remaining steps of each change.
    let mut makes: Vec<bool> = changes.iter().map(makes).collect();
    let mut ends: Vec<bool> = changes.iter().map(ends).collect();
    let do_once = |open: &mut Vec<bool>, position: u32| {
        if std::mem::take(&mut open[position as usize]) { Ok(()) } else { Err(Malformed) }
    };
    let mut names: HashSet<EcoString> = HashSet::default();
    let mut graph = ExecGraph::default();
    let (count, mut objects) = (steps.len(), Vec::new());
    for (at, step) in steps.into_iter().enumerate() {
        let mut name = EcoString::new();
        graph.ops.push(match step.work {
            Work::Evaluate { object, changes: named } => {
                for (addr, action) in named {
                    let position = find(&addr, None, action)?;
                    do_once(&mut makes, position)?;
                    if block(&changes[position as usize]) != object {
                        return Err(Malformed);
                    }
                }
                if object.is_empty() || !names.insert(object.clone()) {
                    return Err(Malformed);
                }
                name = object;
                Op::Evaluate(at as u32)
            }
            Work::End { addr, deposed, action } => {
                let position = find(&addr, deposed.as_ref(), action)?;
                do_once(&mut ends, position)?;
                Op::Destroy(position)
            }
            Work::Join => Op::Join,
            Work::Settle => Op::Settle,
        });
        objects.push(name);
        if step.after.iter().any(|other| *other as usize >= count) {
            return Err(Malformed);
        }
        graph.targets.extend(step.after);
        graph.ends.push(u32::try_from(graph.targets.len()).map_err(|_| Malformed)?);
    }
    if makes.contains(&true) || ends.contains(&true) || !graph.stuck().is_empty() {
        return Err(Malformed);
    }
    Ok(graph.naming(objects))
}

pub(super) fn write(writer: &mut Writer, steps: &[Step]) {
    writer.list(steps, |writer, step| {
        match &step.work {
            Work::Evaluate { object, changes } => {
                writer.byte(0);
                writer.text(object);
                writer.list(changes, |writer, (addr, action)| {
                    writer.instance(addr);
                    writer.byte(action.code());
                });
            }
            Work::End { addr, deposed, action } => {
                writer.byte(1);
                writer.instance(addr);
                writer.option(deposed.as_ref(), |writer, key| writer.text(key.as_str()));
                writer.byte(action.code());
            }
            Work::Join => writer.byte(2),
            Work::Settle => writer.byte(3),
        }
        writer.list(&step.after, |writer, other| writer.number(u64::from(*other)));
    });
}

pub(super) fn read(reader: &mut Reader<'_>) -> Read<Vec<Step>> {
    reader.list(|reader| {
        let work = match reader.byte()? {
            0 => Work::Evaluate {
                object: reader.text()?,
                changes: reader.list(|reader| Ok((reader.instance()?, Code::from_code(reader.byte()?)?)))?,
            },
            1 => Work::End {
                addr: reader.instance()?,
                deposed: reader.option(|reader| DeposedKey::parse(&reader.text()?).ok_or(Malformed))?,
                action: Code::from_code(reader.byte()?)?,
            },
            2 => Work::Join,
            3 => Work::Settle,
            _ => return Err(Malformed),
        };
        Ok(Step { work, after: reader.list(Reader::small)? })
    })
}
