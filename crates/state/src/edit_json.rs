//! Edits as lines of JSON: `{"edit":"set_object","addr":"a.b[0]",...}`, objects as the state file has them.

use std::borrow::Cow;

use ecow::{EcoString, EcoVec, eco_format};
use yuba_addrs::{AbsProviderConfig, AbsResourceInstance, InstanceKey, ModuleInstance, Resource, ResourceMode};
use yuba_syntax::{Diagnostics, FileId};
use yuba_value::json as values;

use crate::address::Addresses;
use crate::check::CheckResult;
use crate::edit::{Edit, EditError};
use crate::json::{Fault, Reader};
use crate::model::{DeposedKey, Output};
use crate::object::{Object, Status};
use crate::v4::{RawKey, read_check_results};
use crate::v4_object::{RawObject, write_object};
use crate::v4_write::{write_check_results, write_key, write_output};
use crate::writer::Writer;

type Result<T> = std::result::Result<T, EditError>;

impl Edit {
    /// One line of JSON, without the line break.
    pub fn to_json_line(&self) -> String {
        let mut out = Vec::new();
        Writer::compact(&mut out).object(|writer| self.write(writer));
        String::from_utf8(out).unwrap_or_default()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.key("edit");
        match self {
            Edit::SetObject { addr, deposed, provider, provider_key, object } => {
                writer.text("set_object");
                address(writer, "addr", addr);
                writer.optional_text("deposed", deposed.as_ref().map_or("", DeposedKey::as_str));
                shown(writer, "provider", provider);
                if let Some(key) = provider_key {
                    writer.key("provider_key");
                    write_key(writer, key);
                }
                if let Some(object) = object {
                    writer.key("object");
                    writer.object(|writer| {
                        if object.status == Status::Tainted {
                            writer.key("status");
                            writer.text("tainted");
                        }
                        write_object(writer, object);
                    });
                }
            }
            Edit::Depose { addr, key } => {
                writer.text("depose");
                address(writer, "addr", addr);
                shown(writer, "key", key);
            }
            Edit::Restore { addr, key } => {
                writer.text("restore");
                address(writer, "addr", addr);
                shown(writer, "key", key);
            }
            Edit::Move { from, to } => {
                writer.text("move");
                address(writer, "from", from);
                address(writer, "to", to);
            }
            Edit::SetProvider { resource, provider } => {
                writer.text("set_provider");
                address(writer, "resource", &resource.clone().instance(None));
                shown(writer, "provider", provider);
            }
            Edit::SetOutput { name, output } => {
                writer.text("set_output");
                writer.key("name");
                writer.text(name);
                if let Some(output) = output {
                    writer.key("output");
                    writer.object(|writer| write_output(writer, output));
                }
            }
            Edit::SetCheckResults(results) => {
                writer.text("set_check_results");
                if let Some(results) = results {
                    writer.key("results");
                    write_check_results(writer, results);
                }
            }
        }
    }

    /// Reads a line.
    pub fn from_json_line(line: &str) -> Result<Edit> {
        let mut whole = Reader::new(line);
        whole.skip().and_then(|()| whole.end()).map_err(broken)?;
        let mut fields = Fields::default();
        Reader::new(line)
            .object("", |reader, key| {
                match key {
                    "edit" => fields.edit = reader.string("edit")?,
                    "addr" => fields.addr = reader.raw()?,
                    "from" => fields.from = reader.raw()?,
                    "to" => fields.to = reader.raw()?,
                    "resource" => fields.resource = reader.raw()?,
                    "key" => fields.key = reader.string("key")?,
                    "deposed" => fields.deposed = reader.string("deposed")?,
                    "provider" => fields.provider = reader.string("provider")?,
                    "provider_key" => fields.provider_key = RawKey::read(reader)?,
                    "name" => fields.name = reader.string("name")?,
                    "object" => fields.object = Some(reader.raw()?),
                    "output" => fields.output = Some(reader.raw()?),
                    "results" => fields.results = Some(reader.raw()?),
                    _ => reader.skip()?,
                }
                Ok(())
            })
            .map_err(broken)?;
        fields.edit()
    }
}

fn shown(writer: &mut Writer<'_>, key: &str, value: impl std::fmt::Display) {
    writer.key(key);
    writer.shown(value);
}

fn broken(fault: Fault) -> EditError {
    EditError(match fault {
        Fault::Syntax(at) => eco_format!("it is not JSON from byte {at} on"),
        Fault::Type { field, found } => eco_format!("its {field:?} is of the wrong JSON type ({found})"),
        Fault::Content { field, problem } => eco_format!("its {field:?} is wrong: {problem}"),
    })
}

#[expect(clippy::needless_pass_by_value, reason = "because it is for map_err")]
fn edit_error(problems: Diagnostics) -> EditError {
    let all: Vec<EcoString> = problems.iter().map(yuba_syntax::Diagnostic::explanation).collect();
    EditError(all.join(" ").into())
}

/// Fields of a line, whatever edit it is.
#[derive(Default)]
struct Fields<'t> {
    edit: Cow<'t, str>,
    addr: &'t str,
    from: &'t str,
    to: &'t str,
    resource: &'t str,
    key: Cow<'t, str>,
    deposed: Cow<'t, str>,
    provider: Cow<'t, str>,
    provider_key: RawKey,
    name: Cow<'t, str>,
    object: Option<&'t str>,
    output: Option<&'t str>,
    results: Option<&'t str>,
}

impl Fields<'_> {
    fn edit(self) -> Result<Edit> {
        Ok(match &*self.edit {
            "set_object" => Edit::SetObject {
                addr: instance(self.addr)?,
                deposed: if self.deposed.is_empty() { None } else { Some(deposed(&self.deposed)?) },
                provider: provider(&self.provider)?,
                provider_key: instance_key(&self.provider_key)?,
                object: self.object.map(object).transpose()?.map(Into::into),
            },
            "depose" => Edit::Depose { addr: instance(self.addr)?, key: deposed(&self.key)? },
            "restore" => Edit::Restore { addr: instance(self.addr)?, key: deposed(&self.key)? },
            "move" => Edit::Move { from: instance(self.from)?, to: instance(self.to)? },
            "set_provider" => Edit::SetProvider {
                resource: instance(self.resource)?.containing(),
                provider: provider(&self.provider)?,
            },
            "set_output" => {
                Edit::SetOutput { name: EcoString::from(&*self.name), output: self.output.map(output).transpose()? }
            }
            "set_check_results" => Edit::SetCheckResults(self.results.map(results).transpose()?),
            word => return Err(EditError(eco_format!("there is no edit {word:?}"))),
        })
    }
}

/// An address is a text that can be read again. Old states have names, and edited ones keys, that cannot be part of such
/// a text; then it is an object with its parts, as the state file has them.
fn address(writer: &mut Writer<'_>, key: &str, addr: &AbsResourceInstance) {
    writer.key(key);
    let text = addr.to_string();
    if Addresses::instance(&text).is_ok_and(|read| read == *addr) {
        return writer.text(&text);
    }
    writer.object(|writer| {
        if !addr.module.is_root() {
            shown(writer, "module", &addr.module);
        }
        writer.key("mode");
        writer.text(addr.resource.mode.as_str());
        writer.key("type");
        writer.text(&addr.resource.kind);
        writer.key("name");
        writer.text(&addr.resource.name);
        if let Some(key) = &addr.key {
            writer.key("index_key");
            write_key(writer, key);
        }
    });
}

fn instance(raw: &str) -> Result<AbsResourceInstance> {
    let mut reader = Reader::new(raw);
    if reader.peek() != Some(b'{') {
        return Addresses::instance(&reader.string("addr").map_err(broken)?).map_err(edit_error);
    }
    let (mut module, mut mode, mut key) = (Cow::Borrowed(""), ResourceMode::Managed, RawKey::None);
    let (mut kind, mut name) = (EcoString::new(), EcoString::new());
    let read = reader.object("addr", |reader, field| {
        match field {
            "module" => module = reader.string("module")?,
            "mode" if reader.string("mode")? == "data" => mode = ResourceMode::Data,
            "mode" => {}
            "type" => kind = reader.string("type")?.into(),
            "name" => name = reader.string("name")?.into(),
            "index_key" => key = RawKey::read(reader)?,
            _ => reader.skip()?,
        }
        Ok(())
    });
    read.map_err(broken)?;
    let module = match &*module {
        "" => ModuleInstance::ROOT,
        text => ModuleInstance::parse_text(FileId(0), text).map_err(edit_error)?,
    };
    Ok(AbsResourceInstance { module, resource: Resource { mode, kind, name }, key: instance_key(&key)? })
}

fn provider(text: &str) -> Result<AbsProviderConfig> {
    AbsProviderConfig::parse_text(FileId(0), text).map_err(edit_error)
}

fn deposed(text: &str) -> Result<DeposedKey> {
    DeposedKey::parse(text).ok_or_else(|| EditError(eco_format!("{text:?} is not a key of a deposed object")))
}

fn instance_key(key: &RawKey) -> Result<Option<InstanceKey>> {
    match key {
        RawKey::None => Ok(None),
        RawKey::Key(key) => Ok(Some(key.clone())),
        RawKey::Other(found) => Err(EditError(eco_format!("{found} is not an instance key"))),
    }
}

fn object(raw: &str) -> Result<Object> {
    let raw = RawObject::read(&mut Reader::new(raw)).map_err(broken)?;
    let mut dependencies = EcoVec::new();
    if let Some(list) = raw.dependencies {
        let mut addresses = Addresses::default();
        let mut problem = None;
        let read = Reader::new(list).array("dependencies", |reader| {
            match addresses.dependency(&reader.string("dependencies")?) {
                Ok(dependency) => dependencies.push(dependency),
                Err(found) => problem = Some(found),
            }
            Ok(())
        });
        read.map_err(broken)?;
        problem.map_or(Ok(()), |problem| Err(edit_error(problem)))?;
    }
    let mut problems = Diagnostics::new();
    let object = raw.into_object(dependencies, "of the edit", &mut problems);
    object.filter(|_| !problems.has_errors()).ok_or_else(|| edit_error(problems))
}

fn output(raw: &str) -> Result<Output> {
    let (mut value, mut ty, mut sensitive, mut deprecated) = ("", "", false, EcoString::new());
    let read = Reader::new(raw).object("output", |reader, key| {
        match key {
            "value" => value = reader.raw()?,
            "type" => ty = reader.raw()?,
            "sensitive" => sensitive = reader.bool("sensitive")?,
            "deprecated" => deprecated = reader.string("deprecated")?.into(),
            _ => reader.skip()?,
        }
        Ok(())
    });
    read.map_err(broken)?;
    let ty = values::decode_type(ty.as_bytes()).map_err(|e| EditError(e.message))?;
    let value = values::decode(value.as_bytes(), &ty).map_err(|e| EditError(e.message))?;
    Ok(Output { value, sensitive, deprecated })
}

fn results(raw: &str) -> Result<Vec<CheckResult>> {
    let (results, problems) = read_check_results(&mut Reader::new(raw)).map_err(broken)?;
    if problems.is_empty() { Ok(results) } else { Err(edit_error(problems)) }
}
