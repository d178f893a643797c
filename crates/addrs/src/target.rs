//! Targets: what `-target`, `-exclude` and `-replace` can be about.

use std::fmt;

use yuba_syntax::{Diagnostics, FileId, Span, Traversal};

use crate::module::ModuleInstance;
use crate::parts::{Parts, parse_text};
use crate::resource::{AbsResource, AbsResourceInstance};

/// A target and where it was named.
#[derive(Clone, Debug)]
pub struct Target {
    /// The target.
    pub subject: TargetSubject,
    /// Its location.
    pub span: Span,
}

/// Kinds of targets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TargetSubject {
    /// A module instance; without a key at the end all instances of that call.
    Module(ModuleInstance),
    /// A resource with all its instances.
    Resource(AbsResource),
    /// One instance of a resource.
    Instance(AbsResourceInstance),
}

impl Target {
    /// Reads an address of a module, resource, or resource instance. `resource.a.b` is `a.b`.
    pub fn parse(traversal: &Traversal) -> Result<Target, Diagnostics> {
        let mut parts = Parts::new(traversal);
        let module = ModuleInstance::parse_prefix(&mut parts)?;
        let subject = if parts.len() == 0 {
            TargetSubject::Module(module)
        } else {
            let instance = AbsResourceInstance::parse_in(module, parts)?;
            match instance.key {
                None => TargetSubject::Resource(instance.containing()),
                Some(_) => TargetSubject::Instance(instance),
            }
        };
        Ok(Target { subject, span: traversal.span })
    }
    /// Reads a text.
    pub fn parse_text(file: FileId, text: &str) -> Result<Target, Diagnostics> {
        parse_text(file, text, Target::parse)
    }
}

impl TargetSubject {
    /// Whether targeting this targets a resource instance.
    pub fn contains(&self, instance: &AbsResourceInstance) -> bool {
        match self {
            TargetSubject::Module(module) => module.contains(&instance.module),
            TargetSubject::Resource(resource) => {
                resource.module == instance.module && resource.resource == instance.resource
            }
            TargetSubject::Instance(target) => target == instance,
        }
    }
}

impl fmt::Display for TargetSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetSubject::Module(module) => write!(f, "{module}"),
            TargetSubject::Resource(resource) => write!(f, "{resource}"),
            TargetSubject::Instance(instance) => write!(f, "{instance}"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.subject)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fmt::Write as _;

    use expect_test::{Expect, expect};

    use super::*;

    /// Reads each string and prints what it is, or titles and locations of errors.
    pub(crate) fn check<T: fmt::Display>(
        parse: impl Fn(FileId, &str) -> Result<T, Diagnostics>,
        texts: &[&str],
        expect: &Expect,
    ) {
        let mut out = String::new();
        for text in texts {
            out += text;
            match parse(FileId(0), text) {
                Ok(found) => write!(out, " -> {found}").expect("because writing to a string works"),
                Err(problems) => {
                    for problem in problems.iter() {
                        let at =
                            problem.subject.map_or("nowhere", |span| &text[span.start as usize..span.end as usize]);
                        write!(out, " ! {} at {at:?}", problem.summary).expect("because writing to a string works");
                    }
                }
            }
            out.push('\n');
        }
        expect.assert_eq(&out);
    }

    #[test]
    fn targets_are_read_and_printed() {
        check(
            |file, text| Target::parse_text(file, text).map(|target| format!("{:?}", target.to_string())),
            &[
                "module.a",
                "module.a[0]",
                "aws_x.y",
                "aws_x.y[0]",
                "aws_x.y[\"a.b\"]",
                "data.aws_x.y",
                "ephemeral.aws_x.y",
                "module.a.module.b[\"k\"].data.aws_x.y[1]",
                "resource.aws_x.y",
                "module.a.resource.aws_x.y[0]",
                "resource.data.y",
                "resource.x",
                "resource.x[0]",
            ],
            &expect![[r#"
                module.a -> "module.a"
                module.a[0] -> "module.a[0]"
                aws_x.y -> "aws_x.y"
                aws_x.y[0] -> "aws_x.y[0]"
                aws_x.y["a.b"] -> "aws_x.y[\"a.b\"]"
                data.aws_x.y -> "data.aws_x.y"
                ephemeral.aws_x.y -> "ephemeral.aws_x.y"
                module.a.module.b["k"].data.aws_x.y[1] -> "module.a.module.b[\"k\"].data.aws_x.y[1]"
                resource.aws_x.y -> "aws_x.y"
                module.a.resource.aws_x.y[0] -> "module.a.aws_x.y[0]"
                resource.data.y -> "data.y"
                resource.x -> "resource.x"
                resource.x[0] -> "resource.x[0]"
            "#]],
        );
    }

    #[test]
    fn errors_in_targets() {
        check(
            Target::parse_text,
            &[
                "aws_x",
                "data",
                "data.x",
                "data[0].x",
                "module.a.data.b",
                "aws_x[0].y",
                "aws_x.y.z",
                "aws_x.y[0].z",
                "aws_x.y[1.5]",
                "aws_x.y[",
                "module.a[0].",
                "resource.x[0].z",
            ],
            &expect![[r#"
                aws_x ! Invalid address at "aws_x"
                data ! Invalid address at "data"
                data.x ! Invalid address at ".x"
                data[0].x ! Invalid address at "[0]"
                module.a.data.b ! Invalid address at ".b"
                aws_x[0].y ! Invalid address at "[0]"
                aws_x.y.z ! Invalid address at ".z"
                aws_x.y[0].z ! Invalid address at ".z"
                aws_x.y[1.5] ! Invalid address at "[1.5]"
                aws_x.y[ ! Index value required at ""
                module.a[0]. ! Attribute name required at ""
                resource.x[0].z ! Invalid address at ".z"
            "#]],
        );
    }

    #[test]
    fn a_target_contains_its_descendants() {
        let target = |text| Target::parse_text(FileId(0), text).expect("because it is well-formed").subject;
        let instance = |text| AbsResourceInstance::parse_text(FileId(0), text).expect("because it is well-formed");
        for (outer, inner, expect) in [
            ("module.a", "module.a[0].x.y", true),
            ("x.y", "x.y[0]", true),
            ("x.y", "module.a.x.y", false),
            ("x.y[0]", "x.y[0]", true),
            ("x.y[0]", "x.y[1]", false),
            ("data.x.y", "x.y", false),
        ] {
            assert_eq!(target(outer).contains(&instance(inner)), expect, "{outer} {inner}");
        }
    }
}
