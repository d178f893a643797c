//! Addresses of resources: in their module, in the configuration, in a module instance, and of one instance.

use std::fmt;

use ecow::EcoString;
use yuba_syntax::{Diagnostics, FileId, Traversal};

use crate::diagnostics;
use crate::instance::InstanceKey;
use crate::module::{ModuleInstance, ModulePath};
use crate::parts::{Part, Parts, parse_text};
use crate::target::{Target, TargetSubject};

/// Managed, data or ephemeral; in the order in which they are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceMode {
    /// An `ephemeral` block.
    Ephemeral,
    /// A `data` block.
    Data,
    /// A `resource` block.
    Managed,
}

impl ResourceMode {
    /// The adjective in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            ResourceMode::Managed => "managed",
            ResourceMode::Data => "data",
            ResourceMode::Ephemeral => "ephemeral",
        }
    }
    /// The type of the block that declares it.
    pub fn block_type(self) -> &'static str {
        match self {
            ResourceMode::Managed => "resource",
            ResourceMode::Data => "data",
            ResourceMode::Ephemeral => "ephemeral",
        }
    }
}

/// A resource in its module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    /// Managed, data or ephemeral.
    pub mode: ResourceMode,
    /// The resource type.
    pub kind: EcoString,
    /// The name in the module.
    pub name: EcoString,
}

/// A resource block of the configuration: in its module, whatever the instances of the module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigResource {
    /// The module.
    pub module: ModulePath,
    /// The resource in it.
    pub resource: Resource,
}

/// A resource in one instance of its module, with all instances of it there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AbsResource {
    /// The module instance.
    pub module: ModuleInstance,
    /// The resource in it.
    pub resource: Resource,
}

/// One instance of a resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AbsResourceInstance {
    /// The module instance.
    pub module: ModuleInstance,
    /// The resource in it.
    pub resource: Resource,
    /// Key of its instance, if it has several.
    pub key: Option<InstanceKey>,
}

impl Resource {
    /// The local name of the provider that its type implies: what comes before the first underscore.
    pub fn implied_provider(&self) -> &str {
        self.kind.split_once('_').map_or(&*self.kind, |(provider, _)| provider)
    }
    /// The resource in a module.
    pub fn in_module(self, module: ModulePath) -> ConfigResource {
        ConfigResource { module, resource: self }
    }
    /// The resource in a module instance.
    pub fn absolute(self, module: ModuleInstance) -> AbsResource {
        AbsResource { module, resource: self }
    }
    /// Reads what follows the module in an address: `type.name` with `data.`, `ephemeral.` or `resource.` before it.
    pub(crate) fn parse(parts: &mut Parts<'_>) -> Result<Resource, Diagnostics> {
        let mode = match parts.name(0).map(EcoString::as_str) {
            Some("data") => ResourceMode::Data,
            Some("ephemeral") => ResourceMode::Ephemeral,
            _ => ResourceMode::Managed,
        };
        // `resource.a.b` is `a.b`. Two names alone stay a resource type that is called "resource".
        let has_prefix = parts.name(0).is_some_and(|name| name == "resource") && parts.name(2).is_some();
        if mode != ResourceMode::Managed || has_prefix {
            parts.skip(1);
        }
        let (Some((kind, kind_span)), Some((name, name_span))) = (parts.peek(0), parts.peek(1)) else {
            return Err(diagnostics::resource_incomplete(parts.span()));
        };
        let Part::Name(kind) = kind else { return Err(diagnostics::resource_type_missing(mode, kind_span)) };
        let Part::Name(name) = name else { return Err(diagnostics::resource_name_missing(name_span)) };
        parts.skip(2);
        Ok(Resource { mode, kind: kind.clone(), name: name.clone() })
    }
}

impl ConfigResource {
    /// Reads `module.a.type.name`, without keys.
    pub fn parse(traversal: &Traversal) -> Result<ConfigResource, Diagnostics> {
        let mut parts = Parts::new(traversal);
        let module = ModulePath::parse_prefix(&mut parts)?;
        if parts.len() == 0 {
            return Err(diagnostics::resource_in_module_expected(traversal.span));
        }
        ConfigResource::parse_in(module, parts)
    }
    /// Reads a text.
    pub fn parse_text(file: FileId, text: &str) -> Result<ConfigResource, Diagnostics> {
        parse_text(file, text, ConfigResource::parse)
    }
    pub(crate) fn parse_in(module: ModulePath, mut parts: Parts<'_>) -> Result<ConfigResource, Diagnostics> {
        let resource = Resource::parse(&mut parts)?;
        match (parts.peek(0), parts.peek(1)) {
            (None, _) => Ok(ConfigResource { module, resource }),
            (Some((_, span)), None) => Err(diagnostics::resource_with_key(span)),
            (_, Some((_, span))) => Err(diagnostics::too_long(span)),
        }
    }
}

impl AbsResource {
    /// One of its instances.
    pub fn instance(self, key: Option<InstanceKey>) -> AbsResourceInstance {
        AbsResourceInstance { module: self.module, resource: self.resource, key }
    }
    /// The block it comes from.
    pub fn config(&self) -> ConfigResource {
        ConfigResource { module: self.module.module(), resource: self.resource.clone() }
    }
    /// Reads `module.a["k"].type.name`.
    pub fn parse(traversal: &Traversal) -> Result<AbsResource, Diagnostics> {
        match Target::parse(traversal)?.subject {
            TargetSubject::Resource(resource) => Ok(resource),
            TargetSubject::Instance(_) => {
                let span = traversal.steps.last().map_or(traversal.span, |step| step.span());
                Err(diagnostics::resource_expected_not_instance(span))
            }
            TargetSubject::Module(_) => Err(diagnostics::resource_expected_not_module(traversal.span)),
        }
    }
    /// Reads a text.
    pub fn parse_text(file: FileId, text: &str) -> Result<AbsResource, Diagnostics> {
        parse_text(file, text, AbsResource::parse)
    }
}

impl AbsResourceInstance {
    /// The resource it is an instance of.
    pub fn containing(&self) -> AbsResource {
        AbsResource { module: self.module.clone(), resource: self.resource.clone() }
    }
    /// The block it comes from.
    pub fn config(&self) -> ConfigResource {
        ConfigResource { module: self.module.module(), resource: self.resource.clone() }
    }
    /// Reads `module.a["k"].type.name[0]`.
    pub fn parse(traversal: &Traversal) -> Result<AbsResourceInstance, Diagnostics> {
        match Target::parse(traversal)?.subject {
            TargetSubject::Resource(resource) => Ok(resource.instance(None)),
            TargetSubject::Instance(instance) => Ok(instance),
            TargetSubject::Module(_) => Err(diagnostics::resource_expected_not_module(traversal.span)),
        }
    }
    /// Reads a text.
    pub fn parse_text(file: FileId, text: &str) -> Result<AbsResourceInstance, Diagnostics> {
        parse_text(file, text, AbsResourceInstance::parse)
    }
    /// Reads what follows the module in an address.
    pub(crate) fn parse_in(module: ModuleInstance, mut parts: Parts<'_>) -> Result<AbsResourceInstance, Diagnostics> {
        let resource = Resource::parse(&mut parts)?;
        let key = match (parts.peek(0), parts.peek(1)) {
            (None, _) => None,
            (_, Some((_, span))) => return Err(diagnostics::too_long(span)),
            (Some((Part::Name(_), span)), None) => return Err(diagnostics::resource_key_not_in_brackets(span)),
            (Some((Part::Index(key), span)), None) => {
                Some(InstanceKey::from_literal(key).map_err(|reason| diagnostics::resource_key(reason, span))?)
            }
        };
        Ok(AbsResourceInstance { module, resource, key })
    }
}

/// `type.name`, with `data.` or `ephemeral.` before it.
impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mode {
            ResourceMode::Managed => {}
            ResourceMode::Data => f.write_str("data.")?,
            ResourceMode::Ephemeral => f.write_str("ephemeral.")?,
        }
        write!(f, "{}.{}", self.kind, self.name)
    }
}

impl fmt::Display for ConfigResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.module.is_root() { "" } else { "." };
        write!(f, "{}{dot}{}", self.module, self.resource)
    }
}

impl fmt::Display for AbsResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.module.is_root() { "" } else { "." };
        write!(f, "{}{dot}{}", self.module, self.resource)
    }
}

impl fmt::Display for AbsResourceInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.module.is_root() { "" } else { "." };
        write!(f, "{}{dot}{}", self.module, self.resource)?;
        match &self.key {
            Some(key) => write!(f, "{key}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::target::tests::check;

    #[test]
    fn resources_and_their_instances() {
        check(
            AbsResource::parse_text,
            &["a.b", "module.m[0].data.a.b", "a.b[0]", "module.m"],
            &expect![[r#"
                a.b -> a.b
                module.m[0].data.a.b -> module.m[0].data.a.b
                a.b[0] ! Invalid address at "[0]"
                module.m ! Invalid address at "module.m"
            "#]],
        );
        check(
            AbsResourceInstance::parse_text,
            &["a.b", "module.m[\"x\"].ephemeral.a.b[\"k\"]", "module.m"],
            &expect![[r#"
                a.b -> a.b
                module.m["x"].ephemeral.a.b["k"] -> module.m["x"].ephemeral.a.b["k"]
                module.m ! Invalid address at "module.m"
            "#]],
        );
        check(
            ConfigResource::parse_text,
            &["module.m.a.b", "resource.a.b", "module.m", "module.m[0].a.b", "a.b[0]", "a.b.c", "a.b[0].c"],
            &expect![[r#"
                module.m.a.b -> module.m.a.b
                resource.a.b -> a.b
                module.m ! Module address is not allowed at "module.m"
                module.m[0].a.b ! Module instance address with keys is not allowed at "[0]"
                a.b[0] ! Resource instance address with keys is not allowed at "[0]"
                a.b.c ! Resource instance address with keys is not allowed at ".c"
                a.b[0].c ! Invalid address at ".c"
            "#]],
        );
    }

    #[test]
    fn ephemeral_before_data_before_managed() {
        let parse = |text| AbsResourceInstance::parse_text(FileId(0), text).expect("because it is well-formed");
        let mut all =
            ["module.m.a.a", "a.b", "a.a[\"x\"]", "a.a[2]", "a.a[10]", "data.z.z", "ephemeral.z.z"].map(parse);
        all.sort();
        assert_eq!(
            all.map(|a| a.to_string()).join(" "),
            "ephemeral.z.z data.z.z a.a[2] a.a[10] a.a[\"x\"] a.b module.m.a.a"
        );
    }

    #[test]
    fn the_type_implies_a_provider() {
        let implied = |kind: &str| {
            let resource = Resource { mode: ResourceMode::Managed, kind: kind.into(), name: "x".into() };
            resource.implied_provider().to_owned()
        };
        assert_eq!(["aws_s3_bucket", "terraform_data", "x", "_y"].map(implied), ["aws", "terraform", "x", ""]);
    }
}
