//! Binary output: numbers in as few bytes as possible, and repeated values once.

use std::hash::Hash;

use ecow::EcoString;
use foldhash::HashMap;
use yuba_addrs::{
    AbsProviderConfig, AbsResource, AbsResourceInstance, InstanceKey, ModuleInstance, Resource, ResourceMode,
};
use yuba_value::{Mark, Marks, Type};

#[derive(Default)]
pub(super) struct Writer {
    out: Vec<u8>,
    names: Table<EcoString>,
    pub(super) types: Table<Type>,
    marks: Table<Marks>,
    modules: Table<ModuleInstance>,
    providers: Table<AbsProviderConfig>,
}

/// Written values, by number.
pub(super) struct Table<T>(HashMap<T, u64>);

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table(HashMap::default())
    }
}

impl<T: Clone + Eq + Hash> Table<T> {
    /// The number of something, counted from 1.
    pub(super) fn get(&self, thing: &T) -> Option<u64> {
        self.0.get(thing).copied()
    }
    /// Gives it the next number.
    pub(super) fn add(&mut self, thing: &T) {
        let next = self.0.len() as u64 + 1;
        self.0.insert(thing.clone(), next);
    }
}

impl Writer {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.out
    }
    pub(super) fn byte(&mut self, byte: u8) {
        self.out.push(byte);
    }
    pub(super) fn flag(&mut self, flag: bool) {
        self.byte(u8::from(flag));
    }
    /// Seven bits to a byte, the lowest first.
    pub(super) fn number(&mut self, number: u64) {
        let mut rest = number;
        while rest >= 0x80 {
            self.byte(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.byte(rest as u8);
    }
    pub(super) fn signed(&mut self, number: i64) {
        self.number(((number << 1) ^ (number >> 63)) as u64);
    }
    pub(super) fn count(&mut self, count: usize) {
        self.number(count as u64);
    }
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.out.extend_from_slice(bytes);
    }
    pub(super) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }
    pub(super) fn option<T>(&mut self, thing: Option<T>, write: impl FnOnce(&mut Writer, T)) {
        self.flag(thing.is_some());
        if let Some(thing) = thing {
            write(self, thing);
        }
    }
    pub(super) fn list<T>(&mut self, things: &[T], mut write: impl FnMut(&mut Writer, &T)) {
        self.count(things.len());
        things.iter().for_each(|thing| write(self, thing));
    }

    /// A text that is likely to repeat.
    pub(super) fn name(&mut self, name: &EcoString) {
        if let Some(number) = self.names.get(name) {
            return self.number(number);
        }
        self.number(0);
        self.text(name);
        self.names.add(name);
    }
    pub(super) fn marks(&mut self, marks: &Marks) {
        if let Some(number) = self.marks.get(marks) {
            return self.number(number);
        }
        self.number(0);
        self.count(marks.iter().count());
        for mark in marks.iter() {
            match mark {
                Mark::Sensitive => self.byte(0),
                Mark::Ephemeral => self.byte(1),
                Mark::TypeText => self.byte(2),
                Mark::Deprecated(deprecation) => {
                    self.byte(3);
                    self.name(&deprecation.source);
                    self.name(&deprecation.module);
                    self.name(&deprecation.message);
                    self.flag(deprecation.remote);
                    self.flag(deprecation.unread);
                }
            }
        }
        self.marks.add(marks);
    }
    pub(super) fn key(&mut self, key: Option<&InstanceKey>) {
        match key {
            None => self.byte(0),
            Some(InstanceKey::Int(number)) => {
                self.byte(1);
                self.signed(*number);
            }
            Some(InstanceKey::String(text)) => {
                self.byte(2);
                self.text(text);
            }
        }
    }
    pub(super) fn module(&mut self, module: &ModuleInstance) {
        if let Some(number) = self.modules.get(module) {
            return self.number(number);
        }
        self.number(0);
        self.list(module.steps(), |writer, step| {
            writer.name(&step.name);
            writer.key(step.key.as_ref());
        });
        self.modules.add(module);
    }
    pub(super) fn provider(&mut self, provider: &AbsProviderConfig) {
        if let Some(number) = self.providers.get(provider) {
            return self.number(number);
        }
        self.number(0);
        self.text(&provider.to_string());
        self.providers.add(provider);
    }
    fn resource(&mut self, resource: &Resource) {
        self.byte(match resource.mode {
            ResourceMode::Managed => 0,
            ResourceMode::Data => 1,
            ResourceMode::Ephemeral => 2,
        });
        self.name(&resource.kind);
        self.name(&resource.name);
    }
    pub(super) fn abs_resource(&mut self, addr: &AbsResource) {
        self.module(&addr.module);
        self.resource(&addr.resource);
    }
    pub(super) fn instance(&mut self, addr: &AbsResourceInstance) {
        self.module(&addr.module);
        self.resource(&addr.resource);
        self.key(addr.key.as_ref());
    }
}
