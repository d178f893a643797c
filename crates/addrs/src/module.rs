//! Addresses of modules: the path of calls that leads to a module, and to one instance of it.

use std::cmp::Ordering;
use std::fmt;

use ecow::{EcoString, EcoVec};
use yuba_syntax::{Diagnostics, FileId, Traversal};

use crate::diagnostics;
use crate::instance::InstanceKey;
use crate::parts::{Part, Parts, parse_text};

/// A module, with all instances of it: the names of the calls from the root module to it. Shorter paths come first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ModulePath(EcoVec<EcoString>);

/// One instance of a module. Shorter paths come first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ModuleInstance(EcoVec<ModuleStep>);

/// One call on the way to a module instance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleStep {
    /// The name of the call.
    pub name: EcoString,
    /// Key of its instance, if it has several.
    pub key: Option<InstanceKey>,
}

impl ModulePath {
    /// The root module.
    pub const ROOT: ModulePath = ModulePath(EcoVec::new());

    /// The names of the calls.
    pub fn steps(&self) -> &[EcoString] {
        &self.0
    }
    /// Whether it is the root module.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }
    /// The module that a call in this one leads to.
    #[must_use]
    pub fn child(&self, name: impl Into<EcoString>) -> ModulePath {
        let mut steps = self.0.clone();
        steps.push(name.into());
        ModulePath(steps)
    }
    /// The calling module, and the name of the call; none for the root module.
    pub fn call(&self) -> Option<(ModulePath, &EcoString)> {
        let (name, parent) = self.0.split_last()?;
        Some((ModulePath(parent.into()), name))
    }
    /// Whether a module is this one or called from it, however far down.
    pub fn contains(&self, other: &ModulePath) -> bool {
        other.0.starts_with(&self.0)
    }
    /// The instance of it where no call on the way has a key.
    pub fn unkeyed(&self) -> ModuleInstance {
        self.0.iter().map(|name| ModuleStep { name: name.clone(), key: None }).collect()
    }

    /// Reads `module.a.module.b`, without keys.
    pub fn parse(traversal: &Traversal) -> Result<ModulePath, Diagnostics> {
        let mut parts = Parts::new(traversal);
        let module = ModulePath::parse_prefix(&mut parts)?;
        match parts.peek(0) {
            None => Ok(module),
            Some((_, span)) => Err(diagnostics::module_expected(span)),
        }
    }
    /// Reads a text.
    pub fn parse_text(file: FileId, text: &str) -> Result<ModulePath, Diagnostics> {
        parse_text(file, text, ModulePath::parse)
    }
    /// Reads the calls at the start of an address.
    pub(crate) fn parse_prefix(parts: &mut Parts<'_>) -> Result<ModulePath, Diagnostics> {
        let mut steps = EcoVec::new();
        while let Some(name) = module_name(parts)? {
            if let Some((Part::Index(_), span)) = parts.peek(0) {
                return Err(diagnostics::module_with_key(span));
            }
            steps.push(name.clone());
        }
        Ok(ModulePath(steps))
    }
}

impl ModuleInstance {
    /// The root module, of which there is one instance.
    pub const ROOT: ModuleInstance = ModuleInstance(EcoVec::new());

    /// The calls.
    pub fn steps(&self) -> &[ModuleStep] {
        &self.0
    }
    /// Whether it is the root module.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }
    /// The module it is an instance of.
    pub fn module(&self) -> ModulePath {
        self.0.iter().map(|step| step.name.clone()).collect()
    }
    /// An instance of the module that a call in this one leads to.
    #[must_use]
    pub fn child(&self, name: impl Into<EcoString>, key: Option<InstanceKey>) -> ModuleInstance {
        let mut steps = self.0.clone();
        steps.push(ModuleStep { name: name.into(), key });
        ModuleInstance(steps)
    }
    /// The calling instance, and the call; none for the root module.
    pub fn call(&self) -> Option<(ModuleInstance, &ModuleStep)> {
        let (step, parent) = self.0.split_last()?;
        Some((ModuleInstance(parent.into()), step))
    }
    /// Whether targeting it targets another one: itself, those called from it, and where its last call has no key, all
    /// instances of that call.
    pub fn contains(&self, other: &ModuleInstance) -> bool {
        let Some((last, before)) = self.0.split_last() else { return true };
        other.0.starts_with(before)
            && other
                .0
                .get(before.len())
                .is_some_and(|step| step.name == last.name && (last.key.is_none() || last.key == step.key))
    }

    /// Reads `module.a["k"].module.b[0]`.
    pub fn parse(traversal: &Traversal) -> Result<ModuleInstance, Diagnostics> {
        let mut parts = Parts::new(traversal);
        let module = ModuleInstance::parse_prefix(&mut parts)?;
        if parts.len() == 0 {
            return Ok(module);
        }
        Err(match module.is_root() {
            true => diagnostics::module_instance_expected(parts.span()),
            false => diagnostics::extra_after_module_instance(parts.span()),
        })
    }
    /// Reads a text.
    pub fn parse_text(file: FileId, text: &str) -> Result<ModuleInstance, Diagnostics> {
        parse_text(file, text, ModuleInstance::parse)
    }
    /// Reads the calls at the start of an address.
    pub(crate) fn parse_prefix(parts: &mut Parts<'_>) -> Result<ModuleInstance, Diagnostics> {
        let mut steps = EcoVec::new();
        let mut problems = Diagnostics::new();
        loop {
            let name = match module_name(parts) {
                Ok(Some(name)) => name,
                Ok(None) => break,
                Err(problem) => {
                    problems.extend(problem);
                    break;
                }
            };
            let mut key = None;
            if let Some((Part::Index(literal), span)) = parts.peek(0) {
                parts.skip(1);
                match InstanceKey::from_literal(literal) {
                    Ok(found) => key = Some(found),
                    Err(reason) => {
                        problems.extend(diagnostics::module_key(reason, span));
                        break;
                    }
                }
            }
            steps.push(ModuleStep { name: name.clone(), key });
        }
        if problems.is_empty() { Ok(ModuleInstance(steps)) } else { Err(problems) }
    }
}

/// Reads `module.name` if that is what comes next.
fn module_name<'t>(parts: &mut Parts<'t>) -> Result<Option<&'t EcoString>, Diagnostics> {
    let keyword = match parts.peek(0) {
        None => return Ok(None),
        Some((Part::Index(_), span)) => return Err(diagnostics::index_without_name(span)),
        Some((Part::Name(name), _)) if name != "module" => return Ok(None),
        Some((Part::Name(_), span)) => span,
    };
    match parts.peek(1) {
        Some((Part::Name(name), _)) => {
            parts.skip(2);
            Ok(Some(name))
        }
        Some((Part::Index(_), span)) => Err(diagnostics::module_without_name(span)),
        None => Err(diagnostics::module_without_name(keyword)),
    }
}

impl FromIterator<EcoString> for ModulePath {
    fn from_iter<I: IntoIterator<Item = EcoString>>(steps: I) -> ModulePath {
        ModulePath(steps.into_iter().collect())
    }
}

impl FromIterator<ModuleStep> for ModuleInstance {
    fn from_iter<I: IntoIterator<Item = ModuleStep>>(steps: I) -> ModuleInstance {
        ModuleInstance(steps.into_iter().collect())
    }
}

impl Ord for ModulePath {
    fn cmp(&self, other: &ModulePath) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for ModulePath {
    fn partial_cmp(&self, other: &ModulePath) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ModuleInstance {
    fn cmp(&self, other: &ModuleInstance) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for ModuleInstance {
    fn partial_cmp(&self, other: &ModuleInstance) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// `module.a.module.b`; nothing for the root module.
impl fmt::Display for ModulePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.0.iter().enumerate() {
            write!(f, "{}module.{name}", if at > 0 { "." } else { "" })?;
        }
        Ok(())
    }
}

/// `module.a["k"].module.b`; nothing for the root module.
impl fmt::Display for ModuleInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            write!(f, "{}module.{step}", if at > 0 { "." } else { "" })?;
        }
        Ok(())
    }
}

/// `a["k"]`
impl fmt::Display for ModuleStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
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
    fn module_instances_are_read_and_printed() {
        check(
            ModuleInstance::parse_text,
            &[
                "module.a",
                "module.a[0].module.b[\"k\"]",
                "module.a.module.module",
                "module",
                "module[0]",
                "module.a[0][1]",
                "module.a[true]",
                "module.a[1.5].module",
                "module.a.b.c",
                "a.b",
            ],
            &expect![[r#"
                module.a -> module.a
                module.a[0].module.b["k"] -> module.a[0].module.b["k"]
                module.a.module.module -> module.a.module.module
                module ! Invalid address operator at "module"
                module[0] ! Invalid address operator at "[0]"
                module.a[0][1] ! Invalid address operator at "[1]"
                module.a[true] ! Index value required at "true"
                module.a[1.5].module ! Invalid address operator at "[1.5]"
                module.a.b.c ! Invalid module instance address at ".b.c"
                a.b ! Invalid module instance address at "a.b"
            "#]],
        );
    }

    #[test]
    fn module_paths_have_no_keys() {
        check(
            ModulePath::parse_text,
            &["module.a.module.b", "module.a[0]", "module.a.b", "x"],
            &expect![[r#"
                module.a.module.b -> module.a.module.b
                module.a[0] ! Module instance address with keys is not allowed at "[0]"
                module.a.b ! Module address expected at ".b"
                x ! Module address expected at "x"
            "#]],
        );
    }

    #[test]
    fn shorter_paths_come_first() {
        let parse = |text| ModuleInstance::parse_text(FileId(0), text).expect("because it is well-formed");
        let mut all = ["module.a.module.b", "module.b", "module.a[\"x\"]", "module.a[1]", "module.a"].map(parse);
        all.sort();
        assert_eq!(
            all.map(|m| m.to_string()).join(" "),
            "module.a module.a[1] module.a[\"x\"] module.b module.a.module.b"
        );
    }

    #[test]
    fn a_module_without_key_contains_all_its_instances() {
        let parse = |text| ModuleInstance::parse_text(FileId(0), text).expect("because it is well-formed");
        for (outer, inner, expect) in [
            ("module.a", "module.a[0].module.b", true),
            ("module.a[0]", "module.a[0].module.b", true),
            ("module.a[0]", "module.a[1]", false),
            ("module.a[0]", "module.a", false),
            ("module.a.module.b", "module.a[0].module.b", false),
            ("module.a.module.b", "module.a", false),
        ] {
            assert_eq!(parse(outer).contains(&parse(inner)), expect, "{outer} {inner}");
        }
        assert!(ModuleInstance::ROOT.contains(&parse("module.a")));
    }
}
