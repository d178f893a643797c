//! The address of a `removed` block.

use std::fmt;

use yuba_syntax::{Diagnostics, FileId, Span, Traversal};

use crate::diagnostics;
use crate::module::ModulePath;
use crate::parts::{Parts, parse_text};
use crate::resource::{ConfigResource, ResourceMode};

/// The removed object, relative to the module of the `removed` block.
#[derive(Clone, Debug)]
pub struct RemoveEndpoint {
    /// The removed object.
    pub subject: RemoveSubject,
    /// Its location.
    pub span: Span,
}

/// Objects that can be removed: with all instances.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RemoveSubject {
    /// A module.
    Module(ModulePath),
    /// A managed resource.
    Resource(ConfigResource),
}

impl RemoveEndpoint {
    /// Reads an address of a module or managed resource, without keys.
    pub fn parse(traversal: &Traversal) -> Result<RemoveEndpoint, Diagnostics> {
        let mut parts = Parts::new(traversal);
        let module = ModulePath::parse_prefix(&mut parts)?;
        let subject = if parts.len() == 0 {
            RemoveSubject::Module(module)
        } else {
            let resource = ConfigResource::parse_in(module, parts)?;
            match resource.resource.mode {
                ResourceMode::Managed => RemoveSubject::Resource(resource),
                ResourceMode::Data => return Err(diagnostics::removed_data_source(traversal.span)),
                ResourceMode::Ephemeral => return Err(diagnostics::removed_ephemeral_resource(traversal.span)),
            }
        };
        Ok(RemoveEndpoint { subject, span: traversal.span })
    }
    /// Reads a text.
    pub fn parse_text(file: FileId, text: &str) -> Result<RemoveEndpoint, Diagnostics> {
        parse_text(file, text, RemoveEndpoint::parse)
    }
}

impl fmt::Display for RemoveEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.subject {
            RemoveSubject::Module(module) => write!(f, "{module}"),
            RemoveSubject::Resource(resource) => write!(f, "{resource}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::target::tests::check;

    #[test]
    fn modules_and_managed_resources_without_keys() {
        check(
            RemoveEndpoint::parse_text,
            &[
                "a.b",
                "resource.a.b",
                "module.m",
                "module.m.module.n.a.b",
                "data.a.b",
                "module.m.ephemeral.a.b",
                "a.b[0]",
                "module.m[0]",
                "module.m[0].a.b",
                "a.b[0].c",
                "a",
            ],
            &expect![[r#"
                a.b -> a.b
                resource.a.b -> a.b
                module.m -> module.m
                module.m.module.n.a.b -> module.m.module.n.a.b
                data.a.b ! Data source address is not allowed at "data.a.b"
                module.m.ephemeral.a.b ! Ephemeral resource address is not allowed at "module.m.ephemeral.a.b"
                a.b[0] ! Resource instance address with keys is not allowed at "[0]"
                module.m[0] ! Module instance address with keys is not allowed at "[0]"
                module.m[0].a.b ! Module instance address with keys is not allowed at "[0]"
                a.b[0].c ! Invalid address at ".c"
                a ! Invalid address at "a"
            "#]],
        );
    }
}
