//! The two ends of a `moved` block.

use std::fmt;

use yuba_syntax::{Diagnostics, FileId, Span, Traversal};

use crate::module::{ModuleInstance, ModulePath};
use crate::parts::{Parts, parse_text};
use crate::resource::{AbsResourceInstance, ConfigResource, ResourceMode};

/// One end of a move, relative to the module of the `moved` block.
#[derive(Clone, Debug)]
pub struct MoveEndpoint {
    /// The endpoint.
    pub subject: MoveSubject,
    /// Its location.
    pub span: Span,
}

/// Objects that can move. Without a key at the end it is the whole module or resource, where both ends are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MoveSubject {
    /// A module or one instance of it.
    Module(ModuleInstance),
    /// A resource or one instance of it.
    Resource(AbsResourceInstance),
}

impl MoveEndpoint {
    /// Reads an address of a module, module instance, resource or resource instance.
    ///
    /// Addresses are not references: the name of an opted-in feature is a resource type here like any other.
    pub fn parse(traversal: &Traversal) -> Result<MoveEndpoint, Diagnostics> {
        let mut parts = Parts::new(traversal);
        let module = ModuleInstance::parse_prefix(&mut parts)?;
        let subject = if parts.len() == 0 {
            MoveSubject::Module(module)
        } else {
            MoveSubject::Resource(AbsResourceInstance::parse_in(module, parts)?)
        };
        Ok(MoveEndpoint { subject, span: traversal.span })
    }
    /// Reads a text.
    pub fn parse_text(file: FileId, text: &str) -> Result<MoveEndpoint, Diagnostics> {
        parse_text(file, text, MoveEndpoint::parse)
    }
    /// Whether objects of this kind can move: ephemeral resources cannot.
    pub fn is_movable(&self) -> bool {
        match &self.subject {
            MoveSubject::Module(_) => true,
            MoveSubject::Resource(resource) => resource.resource.mode != ResourceMode::Ephemeral,
        }
    }
    /// Whether a move from this to that is possible at all: both must be modules or both resources.
    pub fn might_unify_with(&self, other: &MoveEndpoint) -> bool {
        std::mem::discriminant(&self.subject) == std::mem::discriminant(&other.subject)
    }
}

impl MoveSubject {
    /// The module called or containing the resource, without keys, relative to the module of the block.
    pub fn module(&self) -> ModulePath {
        match self {
            MoveSubject::Module(module) => module.module(),
            MoveSubject::Resource(resource) => resource.module.module(),
        }
    }
    /// The block of a resource, without keys, relative to the module of the `moved` block.
    pub fn config_resource(&self) -> Option<ConfigResource> {
        match self {
            MoveSubject::Module(_) => None,
            MoveSubject::Resource(resource) => Some(resource.config()),
        }
    }
}

impl fmt::Display for MoveEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.subject {
            MoveSubject::Module(module) => write!(f, "{module}"),
            MoveSubject::Resource(resource) => write!(f, "{resource}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::target::tests::check;

    #[test]
    fn endpoints_are_modules_or_resources() {
        check(
            MoveEndpoint::parse_text,
            &["a.b", "a.b[0]", "resource.a.b", "module.m", "module.m[\"k\"].a.b", "symbols.old", "local.a.b", "a"],
            &expect![[r#"
                a.b -> a.b
                a.b[0] -> a.b[0]
                resource.a.b -> a.b
                module.m -> module.m
                module.m["k"].a.b -> module.m["k"].a.b
                symbols.old -> symbols.old
                local.a.b ! Invalid address at ".b"
                a ! Invalid address at "a"
            "#]],
        );
    }

    #[test]
    fn both_ends_are_of_one_kind() {
        let parse = |text| MoveEndpoint::parse_text(FileId(0), text).expect("because it is well-formed");
        assert!(parse("a.b").might_unify_with(&parse("module.m.c.d[0]")));
        assert!(parse("module.a").might_unify_with(&parse("module.m[0].module.n")));
        assert!(!parse("a.b").might_unify_with(&parse("module.m")));
        assert!(parse("data.a.b").is_movable() && !parse("ephemeral.a.b").is_movable());
    }
}
