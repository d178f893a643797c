//! Reader of encoded plans, the counterpart of the writer. It never requests more memory than the input is long.

use std::sync::Arc;

use ecow::EcoString;
use yuba_addrs::{
    AbsProviderConfig, AbsResource, AbsResourceInstance, InstanceKey, ModuleInstance, ModuleStep, Resource,
    ResourceMode,
};
use yuba_syntax::FileId;
use yuba_value::{Deprecation, Mark, Marks, Type};

use super::{Malformed, Read};

pub(super) struct Reader<'b> {
    rest: &'b [u8],
    names: Vec<EcoString>,
    pub(super) types: Vec<Type>,
    marks: Vec<Marks>,
    modules: Vec<ModuleInstance>,
    providers: Vec<AbsProviderConfig>,
}

/// Something that was read before, by its number.
pub(super) fn known<T: Clone>(table: &[T], number: u64) -> Read<T> {
    let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1)).ok_or(Malformed)?;
    table.get(at).cloned().ok_or(Malformed)
}

impl<'b> Reader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Reader<'b> {
        Reader {
            rest: bytes,
            names: Vec::new(),
            types: Vec::new(),
            marks: Vec::new(),
            modules: Vec::new(),
            providers: Vec::new(),
        }
    }
    /// Nothing must be left.
    pub(super) fn end(&self) -> Read<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(Malformed) }
    }
    pub(super) fn byte(&mut self) -> Read<u8> {
        let (byte, rest) = self.rest.split_first().ok_or(Malformed)?;
        self.rest = rest;
        Ok(*byte)
    }
    pub(super) fn flag(&mut self) -> Read<bool> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed),
        }
    }
    pub(super) fn number(&mut self) -> Read<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Malformed)
    }
    pub(super) fn small(&mut self) -> Read<u32> {
        u32::try_from(self.number()?).map_err(|_| Malformed)
    }
    pub(super) fn signed(&mut self) -> Read<i64> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }
    /// Number of items that follow, each at least one byte long.
    pub(super) fn count(&mut self) -> Read<usize> {
        let count = usize::try_from(self.number()?).map_err(|_| Malformed)?;
        if count <= self.rest.len() { Ok(count) } else { Err(Malformed) }
    }
    pub(super) fn bytes(&mut self) -> Read<&'b [u8]> {
        let count = self.count()?;
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or(Malformed)?;
        self.rest = rest;
        Ok(bytes)
    }
    pub(super) fn text(&mut self) -> Read<EcoString> {
        std::str::from_utf8(self.bytes()?).map(EcoString::from).map_err(|_| Malformed)
    }
    pub(super) fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<Option<T>> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }
    pub(super) fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let count = self.count()?;
        (0..count).map(|_| read(self)).collect()
    }

    pub(super) fn name(&mut self) -> Read<EcoString> {
        match self.number()? {
            0 => {
                let name = self.text()?;
                self.names.push(name.clone());
                Ok(name)
            }
            number => known(&self.names, number),
        }
    }
    pub(super) fn marks(&mut self) -> Read<Marks> {
        match self.number()? {
            0 => {
                let marks = self.list(|reader| {
                    Ok(match reader.byte()? {
                        0 => Mark::Sensitive,
                        1 => Mark::Ephemeral,
                        2 => Mark::TypeText,
                        3 => Mark::Deprecated(Arc::new(Deprecation {
                            source: reader.name()?,
                            module: reader.name()?,
                            message: reader.name()?,
                            remote: reader.flag()?,
                            unread: reader.flag()?,
                        })),
                        _ => return Err(Malformed),
                    })
                })?;
                let marks: Marks = marks.into_iter().collect();
                self.marks.push(marks.clone());
                Ok(marks)
            }
            number => known(&self.marks, number),
        }
    }
    pub(super) fn key(&mut self) -> Read<Option<InstanceKey>> {
        match self.byte()? {
            0 => Ok(None),
            1 => Ok(Some(InstanceKey::Int(self.signed()?))),
            2 => Ok(Some(InstanceKey::String(self.text()?))),
            _ => Err(Malformed),
        }
    }
    pub(super) fn module(&mut self) -> Read<ModuleInstance> {
        match self.number()? {
            0 => {
                let steps = self.list(|reader| Ok(ModuleStep { name: reader.name()?, key: reader.key()? }))?;
                let module: ModuleInstance = steps.into_iter().collect();
                self.modules.push(module.clone());
                Ok(module)
            }
            number => known(&self.modules, number),
        }
    }
    pub(super) fn provider(&mut self) -> Read<AbsProviderConfig> {
        match self.number()? {
            0 => {
                let text = self.text()?;
                let provider = AbsProviderConfig::parse_text(FileId(0), &text).map_err(|_| Malformed)?;
                self.providers.push(provider.clone());
                Ok(provider)
            }
            number => known(&self.providers, number),
        }
    }
    fn resource(&mut self) -> Read<Resource> {
        let mode = match self.byte()? {
            0 => ResourceMode::Managed,
            1 => ResourceMode::Data,
            2 => ResourceMode::Ephemeral,
            _ => return Err(Malformed),
        };
        Ok(Resource { mode, kind: self.name()?, name: self.name()? })
    }
    pub(super) fn abs_resource(&mut self) -> Read<AbsResource> {
        Ok(AbsResource { module: self.module()?, resource: self.resource()? })
    }
    pub(super) fn instance(&mut self) -> Read<AbsResourceInstance> {
        Ok(AbsResourceInstance { module: self.module()?, resource: self.resource()?, key: self.key()? })
    }
}
