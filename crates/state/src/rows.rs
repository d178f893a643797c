//! Parts of a state as rows of a table: one for each object, for stores that write only what has changed.
//!
//! A row has the addresses of its object and, as JSON, what the state file has about it. Reading goes the same way as reading
//! a file, so rows that were edited by hand are checked as a file is.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use ecow::EcoString;
use yuba_addrs::{AbsProviderConfig, AbsResource, AbsResourceInstance, InstanceKey};
use yuba_syntax::Diagnostics;
use yuba_value::json as values;

use crate::check::CheckResult;
use crate::diagnostics;
use crate::edit::Edit;
use crate::json::{Reader, Result};
use crate::model::{DeposedKey, Instance, Output, Resource, State};
use crate::object::{Object, RawJson, Status};
use crate::v4::{Instances, Loader, RawKey, RawOutput, RawResource, read_check_results};
use crate::v4_object::{RawObject, write_object};
use crate::v4_write::{write_check_result, write_key};
use crate::writer::Writer;

/// A resource as a row says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceRow<'r> {
    /// Address of the module instance; empty for the root module.
    pub module: Cow<'r, str>,
    /// `managed` or `data`.
    pub mode: Cow<'r, str>,
    /// Its type.
    pub kind: Cow<'r, str>,
    /// Its name.
    pub name: Cow<'r, str>,
    /// Address of the provider configuration.
    pub provider: Cow<'r, str>,
}

/// An object of an instance as a row says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectRow<'r> {
    /// Its resource.
    pub resource: ResourceRow<'r>,
    /// The key of the instance as JSON; none for an instance without key.
    pub key: Option<Cow<'r, str>>,
    /// The key of a deposed object; empty for the current one.
    pub deposed: Cow<'r, str>,
    /// The instance of the provider configuration as JSON, if that has several.
    pub provider_key: Option<Cow<'r, str>>,
    /// `ready` or `tainted`.
    pub status: Cow<'r, str>,
    /// Addresses of the resources that it depends on, as a JSON array.
    pub dependencies: Cow<'r, str>,
    /// Everything else, as in the state file.
    pub object: Cow<'r, str>,
}

/// An output value as a row says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputRow<'r> {
    /// Its name.
    pub name: Cow<'r, str>,
    /// The value as JSON.
    pub value: Cow<'r, str>,
    /// The type as JSON.
    pub ty: Cow<'r, str>,
    /// Whether it must not be shown.
    pub sensitive: bool,
    /// The message of its author where it is deprecated, else empty.
    pub deprecated: Cow<'r, str>,
}

/// Identity of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowKey {
    /// An object: the current one of an instance, or a deposed one.
    Object(AbsResourceInstance, Option<DeposedKey>),
    /// A resource without instances.
    Resource(AbsResource),
    /// An output value.
    Output(EcoString),
    /// The results of the checks of an object of the configuration, by its address.
    Check(EcoString),
}

/// A state that is read row by row.
#[derive(Default)]
pub struct RowReader {
    loader: Loader,
    open: Option<(ResourceRow<'static>, Instances)>,
}

impl RowReader {
    /// Adds an object. Rows of one resource are best read one after the other. An error is a value that is not of the form of a state
    /// file.
    pub fn object(&mut self, row: &ObjectRow<'_>) -> std::result::Result<(), Diagnostics> {
        self.begin(&row.resource);
        let Some((resource, mut instances)) = self.open.take() else { return Ok(()) };
        let read = self.read_object(row, &mut instances);
        self.open = Some((resource, instances));
        read.map_err(|fault| diagnostics::not_the_format(&fault).into())
    }

    fn read_object(&mut self, row: &ObjectRow<'_>, instances: &mut Instances) -> Result<()> {
        let mut raw = RawObject::read(&mut Reader::new(&row.object))?;
        if let Some(key) = &row.key {
            raw.index_key = RawKey::read(&mut Reader::new(key))?;
        }
        raw.status = Cow::Borrowed(if row.status == "ready" { "" } else { &row.status });
        raw.deposed = Cow::Borrowed(&row.deposed);
        raw.dependencies = Some(&row.dependencies);
        let resource = &row.resource;
        if let Some(key) = &row.provider_key {
            let mut text = Vec::new();
            if let RawKey::Key(key) = RawKey::read(&mut Reader::new(key))? {
                text.extend_from_slice(key.to_string().as_bytes());
            }
            raw.provider = Cow::Owned(format!("{}{}", resource.provider, String::from_utf8_lossy(&text)));
        }
        // As in a file: the provider stands with the resource or with each instance.
        let provider = if raw.provider.is_empty() { Cow::Borrowed(&*resource.provider) } else { Cow::Borrowed("") };
        let resource = RawResource {
            module: Cow::Borrowed(&resource.module),
            mode: Cow::Borrowed(&resource.mode),
            kind: Cow::Borrowed(&resource.kind),
            name: Cow::Borrowed(&resource.name),
            provider,
        };
        self.loader.object(&resource, instances, raw)
    }

    /// Adds a resource without instances.
    pub fn resource(&mut self, row: &ResourceRow<'_>) {
        self.begin(row);
    }

    /// The resource of the next rows.
    fn begin(&mut self, row: &ResourceRow<'_>) {
        if self.open.as_ref().is_some_and(|(open, _)| open == row) {
            return;
        }
        self.end();
        let raw = RawResource {
            module: Cow::Borrowed(&row.module),
            mode: Cow::Borrowed(&row.mode),
            kind: Cow::Borrowed(&row.kind),
            name: Cow::Borrowed(&row.name),
            provider: Cow::Borrowed(&row.provider),
        };
        let owned = |text: &Cow<'_, str>| Cow::Owned(text.clone().into_owned());
        let known = ResourceRow {
            module: owned(&row.module),
            mode: owned(&row.mode),
            kind: owned(&row.kind),
            name: owned(&row.name),
            provider: owned(&row.provider),
        };
        let begun = self.loader.begin(&raw);
        if let Some(instances) = &begun
            && let Some(other) = instances.other_provider(&row.provider)
        {
            self.loader.problems.push(diagnostics::rows_of_two_providers(instances.addr(), &other, &row.provider));
        }
        self.open = begun.map(|instances| (known, instances));
    }

    fn end(&mut self) {
        if let Some((_, instances)) = self.open.take() {
            self.loader.end(instances);
        }
    }

    /// Adds an output value.
    pub fn output(&mut self, row: &OutputRow<'_>) {
        match values::decode_type(row.ty.as_bytes()) {
            Ok(ty) => {
                let (sensitive, deprecated) = (row.sensitive, (&*row.deprecated).into());
                let raw = RawOutput { value: &row.value, sensitive, deprecated };
                self.loader.set_output(&row.name, raw, &ty);
            }
            Err(problem) => self.loader.problems.push(diagnostics::output_type(&row.name, problem.message)),
        }
    }

    /// Adds the results of checks of one object of the configuration, as JSON.
    pub fn check(&mut self, result: &str) -> std::result::Result<(), Diagnostics> {
        let array = format!("[{result}]");
        let read = read_check_results(&mut Reader::new(&array));
        let (results, problems) = read.map_err(|fault| Diagnostics::from(diagnostics::not_the_format(&fault)))?;
        self.loader.problems.extend(problems);
        self.loader.state.check_results.get_or_insert_default().extend(results);
        Ok(())
    }

    /// The state, with warnings; or the errors in its rows.
    pub fn finish(mut self, lineage: &str, serial: u64) -> std::result::Result<(State, Diagnostics), Diagnostics> {
        self.end();
        let (mut state, problems) = self.loader.finish();
        if problems.has_errors() {
            return Err(problems);
        }
        state.lineage = lineage.into();
        state.serial = serial;
        state.terraform_version = crate::WRITER_VERSION.into();
        Ok((state, problems))
    }
}

fn text(write: impl FnOnce(&mut Writer<'_>)) -> String {
    let mut out = Vec::new();
    write(&mut Writer::compact(&mut out));
    String::from_utf8(out).unwrap_or_default()
}

fn key_text(key: &InstanceKey) -> String {
    text(|writer| write_key(writer, key))
}

impl ResourceRow<'static> {
    /// The row of a resource.
    pub fn of(resource: &Resource) -> ResourceRow<'static> {
        ResourceRow::at(&resource.addr, &resource.provider)
    }

    fn at(addr: &AbsResource, provider: &AbsProviderConfig) -> ResourceRow<'static> {
        ResourceRow {
            module: addr.module.to_string().into(),
            mode: addr.resource.mode.as_str().into(),
            kind: addr.resource.kind.to_string().into(),
            name: addr.resource.name.to_string().into(),
            provider: provider.to_string().into(),
        }
    }
}

impl ObjectRow<'static> {
    /// The row of an object of a state.
    pub fn of(
        addr: &AbsResourceInstance,
        resource: &Resource,
        instance: &Instance,
        deposed: Option<&DeposedKey>,
        object: &Object,
    ) -> ObjectRow<'static> {
        let dependencies = text(|writer| {
            writer.array(|writer| {
                for dependency in &object.dependencies {
                    writer.item();
                    writer.shown(dependency);
                }
            });
        });
        let alone = Object { dependencies: Default::default(), ..object.clone() };
        // A key without alias cannot be read again, as in a file.
        let provider_key = instance.provider_key.as_ref().filter(|_| resource.provider.alias.is_some());
        ObjectRow {
            resource: ResourceRow::of(resource),
            key: addr.key.as_ref().map(|key| key_text(key).into()),
            deposed: deposed.map_or(Cow::Borrowed(""), |key| key.to_string().into()),
            provider_key: provider_key.map(|key| key_text(key).into()),
            status: if object.status == Status::Tainted { "tainted".into() } else { "ready".into() },
            dependencies: dependencies.into(),
            object: text(|writer| writer.object(|writer| write_object(writer, &alone))).into(),
        }
    }
}

impl OutputRow<'static> {
    /// The row of an output value.
    pub fn of(name: &str, output: &Output) -> OutputRow<'static> {
        let value = values::encode_plain(&output.value).unwrap_or_else(|_| "null".into());
        let ty = values::encode_type(output.value.ty());
        OutputRow {
            name: name.to_owned().into(),
            value: text(|writer| writer.raw(&RawJson::trusted(value))).into(),
            ty: text(|writer| writer.raw(&RawJson::trusted(ty))).into(),
            sensitive: output.sensitive,
            deprecated: output.deprecated.to_string().into(),
        }
    }
}

/// The row of results of checks: the address and JSON.
pub fn check_row(result: &CheckResult) -> String {
    text(|writer| writer.object(|writer| write_check_result(writer, result)))
}

impl State {
    /// Adds the keys of the rows that an edit changes in this state, which does not have the edit yet.
    pub fn rows_of_edit(&self, edit: &Edit, keys: &mut BTreeSet<RowKey>) {
        match edit {
            Edit::SetObject { addr, deposed, provider, provider_key, object } => {
                keys.insert(RowKey::Object(addr.clone(), deposed.clone()));
                let Some(resource) = self.get(&addr.containing()) else { return };
                if resource.instances.is_empty() {
                    keys.insert(RowKey::Resource(resource.addr.clone()));
                }
                // The last object that goes takes its resource along.
                if object.is_none() {
                    return;
                }
                if resource.provider != *provider {
                    rows_of_resource(resource, keys);
                } else if let Some(instance) = resource.instances.get(&addr.key)
                    && instance.provider_key != *provider_key
                {
                    rows_of_instance(addr, instance, keys);
                }
            }
            Edit::Depose { addr, key } | Edit::Restore { addr, key } => {
                keys.insert(RowKey::Object(addr.clone(), None));
                keys.insert(RowKey::Object(addr.clone(), Some(key.clone())));
            }
            Edit::Move { from, to } => {
                for addr in [from, to] {
                    if let Some(instance) = self.instance(addr) {
                        rows_of_instance(addr, instance, keys);
                        // The same objects at the other address.
                        let other = if addr == from { to } else { from };
                        rows_of_instance(other, instance, keys);
                    }
                }
                if self.get(&to.containing()).is_some_and(|resource| resource.instances.is_empty()) {
                    keys.insert(RowKey::Resource(to.containing()));
                }
            }
            Edit::SetProvider { resource, .. } => {
                if let Some(resource) = self.get(resource) {
                    rows_of_resource(resource, keys);
                }
            }
            Edit::SetOutput { name, .. } => {
                keys.insert(RowKey::Output(name.clone()));
            }
            Edit::SetCheckResults(results) => {
                let old = self.check_results.iter().flatten();
                keys.extend(
                    old.chain(results.iter().flatten()).map(|result| RowKey::Check(result.config_addr.clone())),
                );
            }
        }
    }

    /// Rows in which this state and a later one differ.
    pub fn rows_that_differ(&self, later: &State) -> BTreeSet<RowKey> {
        let mut keys = BTreeSet::new();
        for (addr, old) in &*self.resources {
            match later.resources.get(addr) {
                Some(new) if Arc::ptr_eq(old, new) => {}
                Some(new) => differing(old, new, &mut keys),
                None => rows_of_resource(old, &mut keys),
            }
        }
        for (addr, new) in &*later.resources {
            if !self.resources.contains_key(addr) {
                rows_of_resource(new, &mut keys);
            }
        }
        for (name, output) in &self.outputs {
            if later.outputs.get(name) != Some(output) {
                keys.insert(RowKey::Output(name.clone()));
            }
        }
        keys.extend(later.outputs.keys().filter(|name| !self.outputs.contains_key(*name)).cloned().map(RowKey::Output));
        let results = |state: &State| state.check_results.clone().unwrap_or_default();
        let (old, new) = (results(self), results(later));
        for (results, others) in [(&old, &new), (&new, &old)] {
            let others: std::collections::BTreeMap<&str, &CheckResult> =
                others.iter().map(|result| (result.config_addr.as_str(), result)).collect();
            let changed = results.iter().filter(|one| others.get(one.config_addr.as_str()) != Some(one));
            keys.extend(changed.map(|result| RowKey::Check(result.config_addr.clone())));
        }
        keys
    }

    /// Whether a row exists for this.
    pub fn has_row(&self, key: &RowKey) -> bool {
        match key {
            RowKey::Object(addr, deposed) => {
                self.instance(addr).is_some_and(|instance| instance.object(deposed.as_ref()).is_some())
            }
            RowKey::Resource(addr) => self.get(addr).is_some_and(|resource| resource.instances.is_empty()),
            RowKey::Output(name) => self.outputs.contains_key(name),
            RowKey::Check(addr) => self.check_results.iter().flatten().any(|result| result.config_addr == *addr),
        }
    }

    /// The row of an object; none if the object does not exist.
    pub fn object_row(&self, addr: &AbsResourceInstance, deposed: Option<&DeposedKey>) -> Option<ObjectRow<'static>> {
        let resource = self.get(&addr.containing())?;
        let instance = resource.instances.get(&addr.key)?;
        Some(ObjectRow::of(addr, resource, instance, deposed, instance.object(deposed)?))
    }

    /// This state with these rows as another one has them. Results of checks stay.
    #[must_use]
    pub fn with_rows_of(&self, other: &State, keys: &BTreeSet<RowKey>) -> State {
        let mut state = self.clone();
        for key in keys {
            match key {
                RowKey::Object(addr, deposed) => {
                    let resource = other.get(&addr.containing());
                    let instance = resource.and_then(|resource| resource.instances.get(&addr.key));
                    let known = resource.or_else(|| self.get(&addr.containing()));
                    let Some(provider) = known.map(|resource| resource.provider.clone()) else { continue };
                    let object = instance.and_then(|instance| instance.object(deposed.as_ref())).cloned();
                    let provider_key = instance.and_then(|instance| instance.provider_key.clone());
                    let (addr, deposed) = (addr.clone(), deposed.clone());
                    state.apply(Edit::SetObject { addr, deposed, provider, provider_key, object });
                }
                RowKey::Output(name) => {
                    let output = other.outputs.get(name).cloned();
                    state.apply(Edit::SetOutput { name: name.clone(), output });
                }
                RowKey::Resource(_) | RowKey::Check(_) => {}
            }
        }
        state
    }

    /// All rows of this state.
    pub fn row_keys(&self) -> BTreeSet<RowKey> {
        State::default().rows_that_differ(self)
    }
}

fn rows_of_instance(addr: &AbsResourceInstance, instance: &Instance, keys: &mut BTreeSet<RowKey>) {
    keys.extend(instance.objects().map(|(deposed, _)| RowKey::Object(addr.clone(), deposed.cloned())));
}

fn rows_of_resource(resource: &Resource, keys: &mut BTreeSet<RowKey>) {
    if resource.instances.is_empty() {
        keys.insert(RowKey::Resource(resource.addr.clone()));
    }
    for (key, instance) in &resource.instances {
        rows_of_instance(&resource.addr.clone().instance(key.clone()), instance, keys);
    }
}

fn differing(old: &Resource, new: &Resource, keys: &mut BTreeSet<RowKey>) {
    if old.provider != new.provider || old.instances.is_empty() != new.instances.is_empty() {
        rows_of_resource(old, keys);
        rows_of_resource(new, keys);
        return;
    }
    let addr = |key: &Option<InstanceKey>| old.addr.clone().instance(key.clone());
    for (key, was) in &old.instances {
        match new.instances.get(key) {
            None => rows_of_instance(&addr(key), was, keys),
            Some(is) if was.provider_key != is.provider_key => {
                rows_of_instance(&addr(key), was, keys);
                rows_of_instance(&addr(key), is, keys);
            }
            Some(is) => {
                for (one, other) in [(was, is), (is, was)] {
                    for (deposed, object) in one.objects() {
                        let same = other.object(deposed).is_some_and(|o| Arc::ptr_eq(o, object) || o == object);
                        if !same {
                            keys.insert(RowKey::Object(addr(key), deposed.cloned()));
                        }
                    }
                }
            }
        }
    }
    for (key, is) in &new.instances {
        if !old.instances.contains_key(key) {
            rows_of_instance(&addr(key), is, keys);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{"version":4,"terraform_version":"1.12.6","serial":3,"lineage":"x","outputs":{"a":{"value":{"n":1e400,"s":"<\u0000>"},"type":["object",{"n":"number","s":"string"}],"sensitive":true}},"resources":[
        {"mode":"managed","type":"t","name":"none","provider":"provider[\"registry.opentofu.org/hashicorp/t\"]","instances":[]},
        {"mode":"managed","type":"t","name":"many","provider":"provider[\"registry.opentofu.org/hashicorp/t\"]","instances":[
            {"index_key":0,"schema_version":1,"attributes":{"big":12345678901234567890123456789.10,"e":1E+2,"nul":"\u0000","html":"\u003c"},"sensitive_attributes":[[{"type":"get_attr","value":"big"}]],"private":"aGk=","dependencies":["module.m.t.x"],"create_before_destroy":true},
            {"index_key":0,"deposed":"0123abcd","status":"tainted","schema_version":0,"attributes_flat":{"a.#":"1"},"sensitive_attributes":[]},
            {"index_key":"k\"","schema_version":0,"attributes":{},"sensitive_attributes":[],"identity":{"id":"1"},"identity_schema_version":2}]},
        {"module":"module.m[\"a\"]","mode":"data","type":"t","name":"keyed","instances":[
            {"provider":"module.m.provider[\"registry.opentofu.org/hashicorp/t\"].x[\"eu\"]","schema_version":0,"attributes":{"id":"1"},"sensitive_attributes":[]}]}],
        "check_results":[{"object_kind":"check","config_addr":"check.c","status":"pass","objects":[{"object_addr":"check.c","status":"pass"}]}]}"#;

    fn through_rows(state: &State) -> State {
        let mut reader = RowReader::default();
        for key in state.row_keys() {
            match &key {
                RowKey::Object(addr, deposed) => {
                    let row = state.object_row(addr, deposed.as_ref()).expect("the key is one of the state");
                    reader.object(&row).expect("it is well-formed");
                }
                RowKey::Resource(addr) => {
                    reader.resource(&ResourceRow::of(state.get(addr).expect("the key is one of the state")));
                }
                RowKey::Output(name) => reader.output(&OutputRow::of(name, &state.outputs[name])),
                RowKey::Check(addr) => {
                    let results = state.check_results.iter().flatten();
                    for result in results.filter(|result| result.config_addr == *addr) {
                        reader.check(&check_row(result)).expect("it is well-formed");
                    }
                }
            }
        }
        reader.finish(&state.lineage, state.serial).expect("the rows are in order").0
    }

    fn written(state: &State) -> String {
        let mut out = Vec::new();
        crate::write(state, &mut out);
        String::from_utf8(out).expect("JSON is UTF-8")
    }

    #[test]
    fn rows_give_the_same_file_byte_for_byte() {
        let (state, _) = crate::read(FILE.as_bytes()).expect("it is well-formed");
        let again = through_rows(&state);
        assert!(again.same_content(&state));
        assert_eq!(written(&again), written(&state));
    }

    #[test]
    fn differences_are_the_rows_that_changed() {
        let (old, _) = crate::read(FILE.as_bytes()).expect("it is well-formed");
        let mut new = old.clone();
        assert_eq!(old.rows_that_differ(&new), BTreeSet::new());
        let line = r#"{"edit":"depose","addr":"t.many[\"k\\\"\"]","key":"11111111"}"#;
        let edit = Edit::from_json_line(line).expect("it is well-formed");
        let mut foreseen = BTreeSet::new();
        old.rows_of_edit(&edit, &mut foreseen);
        new.apply(edit);
        let differ = old.rows_that_differ(&new);
        assert_eq!((differ.len(), &differ), (2, &foreseen));
        assert!(old.with_rows_of(&new, &differ).same_content(&new));
        new.outputs.clear();
        new.check_results = None;
        assert_eq!(old.rows_that_differ(&new).len(), 4);
    }
}
