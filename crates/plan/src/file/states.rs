//! The two states of a plan. They have nearly all in common, so the second is told by what is different in it.

use std::sync::Arc;

use yuba_addrs::{AbsResourceInstance, InstanceKey, KeyMap};
use yuba_state::{Edit, Instance, Object, Resource, State};

use super::reader::Reader;
use super::writer::Writer;
use super::{Malformed, Read};

const SAME: u8 = 0;
const DIFFERENT: u8 = 1;
const WHOLE: u8 = 2;

pub(super) fn write(writer: &mut Writer, prior: &Arc<State>, previous: &Arc<State>) {
    write_state(writer, prior);
    if Arc::ptr_eq(prior, previous) {
        return writer.byte(SAME);
    }
    match differences(prior, previous) {
        Some(edits) => {
            writer.byte(DIFFERENT);
            writer.text(&previous.lineage);
            writer.number(previous.serial);
            writer.list(&edits, |writer, edit| writer.text(&edit.to_json_line()));
        }
        None => {
            writer.byte(WHOLE);
            write_state(writer, previous);
        }
    }
}

pub(super) fn read(reader: &mut Reader<'_>) -> Read<(Arc<State>, Arc<State>)> {
    let prior = Arc::new(read_state(reader)?);
    let previous = match reader.byte()? {
        SAME => Arc::clone(&prior),
        DIFFERENT => {
            let mut state = State::clone(&prior);
            state.lineage = reader.text()?;
            state.serial = reader.number()?;
            for _ in 0..reader.count()? {
                state.apply(Edit::from_json_line(&reader.text()?).map_err(|_| Malformed)?);
            }
            Arc::new(state)
        }
        WHOLE => Arc::new(read_state(reader)?),
        _ => return Err(Malformed),
    };
    Ok((prior, previous))
}

fn write_state(writer: &mut Writer, state: &State) {
    let mut text = Vec::new();
    yuba_state::write_compact(state, &mut text);
    writer.bytes(&text);
}

fn read_state(reader: &mut Reader<'_>) -> Read<State> {
    let (state, _) = yuba_state::read(reader.bytes()?).map_err(|_| Malformed)?;
    Ok(state)
}

/// What has to be done to one state so that it is the other; none where edits cannot tell it.
pub(super) fn differences(from: &State, to: &State) -> Option<Vec<Edit>> {
    let mut edits = Vec::new();
    let mut olds = from.iter().peekable();
    let mut news = to.iter().peekable();
    loop {
        match (olds.peek(), news.peek()) {
            (None, None) => break,
            (Some(old), new) if new.is_none_or(|new| old.addr < new.addr) => {
                resource_differences(Some(old), None, &mut edits);
                olds.next();
            }
            (old, Some(new)) if old.is_none_or(|old| new.addr < old.addr) => {
                resource_differences(None, Some(new), &mut edits);
                news.next();
            }
            (old, new) => {
                resource_differences(old.copied(), new.copied(), &mut edits);
                olds.next();
                news.next();
            }
        }
    }
    for name in from.outputs.keys().filter(|name| !to.outputs.contains_key(*name)) {
        edits.push(Edit::SetOutput { name: name.clone(), output: None });
    }
    for (name, output) in to.outputs.iter().filter(|(name, output)| from.outputs.get(*name) != Some(output)) {
        edits.push(Edit::SetOutput { name: name.clone(), output: Some(output.clone()) });
    }
    if from.check_results != to.check_results {
        edits.push(Edit::SetCheckResults(to.check_results.clone()));
    }
    let mut made = from.clone();
    edits.iter().cloned().for_each(|edit| made.apply(edit));
    made.same_content(to).then_some(edits)
}

fn resource_differences(old: Option<&Resource>, new: Option<&Resource>, edits: &mut Vec<Edit>) {
    let Some(resource) = new.or(old) else { return };
    if let (Some(old), Some(new)) = (old, new)
        && old.provider != new.provider
    {
        edits.push(Edit::SetProvider { resource: new.addr.clone(), provider: new.provider.clone() });
    }
    let none = KeyMap::new();
    let olds = old.map_or(&none, |resource| &resource.instances);
    let news = new.map_or(&none, |resource| &resource.instances);
    let mut set = |key: &Option<InstanceKey>, instance: &Instance, deposed, object: Option<&Arc<Object>>| {
        let addr: AbsResourceInstance = resource.addr.clone().instance(key.clone());
        edits.push(Edit::SetObject {
            addr,
            deposed,
            provider: resource.provider.clone(),
            provider_key: instance.provider_key.clone(),
            object: object.cloned(),
        });
    };
    // New objects first: a resource without objects goes away, and with it what was said about it.
    for (key, instance) in news {
        let before = olds.get(key);
        if before.is_some_and(|before| before == instance) {
            continue;
        }
        for (deposed, object) in instance.objects() {
            set(key, instance, deposed.cloned(), Some(object));
        }
    }
    for (key, instance) in olds {
        let after = news.get(key);
        for (deposed, _) in instance.objects() {
            if after.is_none_or(|after| after.object(deposed).is_none()) {
                set(key, after.unwrap_or(instance), deposed.cloned(), None);
            }
        }
    }
}
