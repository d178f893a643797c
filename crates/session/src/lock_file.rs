//! The lock file `.terraform.lock.hcl`: which version of which provider is used, and how its packages are recognized.
//!
//! The file belongs to the program, so everything in it has to be written in its one normal form.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use ecow::EcoString;
use yuba_addrs::{ProviderConstraints, ProviderSource, ProviderVersion};
use yuba_eval::constant;
use yuba_syntax::body::{AttributeSchema, BlockSchema};
use yuba_syntax::{Attribute, Block, Body, BodySchema, Diagnostics, Expr, ExprKind, SourceFile, Sources, Span, parser};
use yuba_value::{Type, convert};

use crate::diagnostics;

/// The name of the lock file, in the working directory.
pub const LOCK_FILE: &str = ".terraform.lock.hcl";

/// The providers that were selected.
#[derive(Clone, Debug, Default)]
pub struct LockFile {
    /// By source.
    pub providers: BTreeMap<ProviderSource, ProviderLock>,
}

/// What was selected of a provider.
#[derive(Clone, Debug)]
pub struct ProviderLock {
    /// The version.
    pub version: ProviderVersion,
    /// What the configuration demanded of the version when it was selected.
    pub constraints: ProviderConstraints,
    /// By which packages of this version are recognized: `h1:...`, `zh:...`; sorted, each once.
    pub hashes: Vec<EcoString>,
}

/// Reads a lock file. Where there is none nothing was selected.
pub fn read(path: &Path, sources: &mut Sources) -> (LockFile, Diagnostics) {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return (LockFile::default(), Diagnostics::new()),
        Err(error) => {
            let problem = diagnostics::unreadable_file(&path.to_string_lossy(), &error);
            return (LockFile::default(), problem.into());
        }
    };
    let file = sources.add(SourceFile::new(path.to_string_lossy(), &bytes[..]));
    let (_, parsed) = parser::parse_config(file, &bytes);
    let (locks, problems) = decode(&parsed.body);
    let mut all = parsed.diagnostics;
    all.extend(problems);
    (locks, all)
}

/// The content of a lock file. What is wrong is not in it.
fn decode(body: &Body) -> (LockFile, Diagnostics) {
    let block = |kind: &str, label: &str| BlockSchema { kind: kind.into(), labels: vec![label.into()] };
    let schema =
        BodySchema { attributes: Vec::new(), blocks: vec![block("provider", "source_addr"), block("module", "path")] };
    let (content, mut problems) = body.content(&schema);
    let mut locks = LockFile::default();
    let mut places: BTreeMap<ProviderSource, Span> = BTreeMap::new();
    let mut has_modules = false;
    for block in &content.blocks {
        if block.kind == "module" {
            if !has_modules {
                problems.push(diagnostics::locked_module(block.kind_span));
            }
            has_modules = true;
            continue;
        }
        let Some(provider) = source(block, &mut problems) else { continue };
        let lock = provider_lock(block, &provider, &mut problems);
        if places.contains_key(&provider) {
            problems.push(diagnostics::locked_twice(&provider, block.kind_span));
            continue;
        }
        places.insert(provider.clone(), block.header_span);
        if let Some(lock) = lock {
            locks.providers.insert(provider, lock);
        }
    }
    (locks, problems)
}

/// The provider that a block is about.
fn source(block: &Block, problems: &mut Diagnostics) -> Option<ProviderSource> {
    let (text, span) = block.labels.first()?;
    let Ok(provider) = ProviderSource::parse(text) else {
        problems.push(diagnostics::not_lockable("it is not of the form \"hostname/namespace/type\"", *span));
        return None;
    };
    if provider.is_builtin() {
        problems
            .push(diagnostics::not_lockable("a built-in provider is part of the program and has no version", *span));
        return None;
    }
    if provider.is_legacy() {
        problems.push(diagnostics::not_lockable("nobody is named as its publisher", *span));
        return None;
    }
    let normal = provider.to_string();
    if normal != text.as_str() {
        problems.push(diagnostics::not_normal("Non-normalized provider source address", text, &normal, *span));
        return None;
    }
    Some(provider)
}

fn provider_lock(block: &Block, provider: &ProviderSource, problems: &mut Diagnostics) -> Option<ProviderLock> {
    let attribute = |name: &str| AttributeSchema { name: name.into(), required: name == "version" };
    let schema = BodySchema {
        attributes: vec![attribute("version"), attribute("constraints"), attribute("hashes")],
        blocks: Vec::new(),
    };
    let (content, found) = block.body.content(&schema);
    problems.extend(found);
    let get = |name: &str| content.attributes.iter().find(|attribute| attribute.name == name);
    let version = get("version").and_then(|attribute| version(attribute, provider, problems));
    let constraints = match get("constraints") {
        Some(attribute) => constraints(attribute, provider, problems),
        None => ProviderConstraints::parse("").ok(),
    };
    let hashes = get("hashes").map(|attribute| hashes(&attribute.expr, problems)).unwrap_or_default();
    Some(ProviderLock { version: version?, constraints: constraints?, hashes })
}

fn version(attribute: &Attribute, provider: &ProviderSource, problems: &mut Diagnostics) -> Option<ProviderVersion> {
    const SUMMARY: &str = "Invalid provider version number";
    let span = attribute.expr.span;
    let text = text(&attribute.expr, problems)?;
    match ProviderVersion::parse(&text) {
        Ok(version) if version.to_string() == text.as_str() => return Some(version),
        Ok(version) => problems.push(diagnostics::not_normal(SUMMARY, &text, &version.to_string(), span)),
        Err(_) => problems.push(diagnostics::no_locked_version(SUMMARY, provider, "a version", &text, span)),
    }
    None
}

fn constraints(
    attribute: &Attribute,
    provider: &ProviderSource,
    problems: &mut Diagnostics,
) -> Option<ProviderConstraints> {
    const SUMMARY: &str = "Invalid provider version constraints";
    let span = attribute.expr.span;
    let text = text(&attribute.expr, problems)?;
    match ProviderConstraints::parse(&text) {
        Ok(constraints) if constraints.to_string() == text.as_str() => return Some(constraints),
        Ok(constraints) => problems.push(diagnostics::not_normal(SUMMARY, &text, &constraints.to_string(), span)),
        Err(_) => problems.push(diagnostics::no_locked_version(SUMMARY, provider, "a constraint", &text, span)),
    }
    None
}

fn hashes(expr: &Expr, problems: &mut Diagnostics) -> Vec<EcoString> {
    let items = match &expr.kind {
        ExprKind::Tuple(items) if !items.is_empty() => items,
        _ => {
            problems.push(diagnostics::no_hashes(expr.span));
            return Vec::new();
        }
    };
    let mut found = Vec::with_capacity(items.len());
    for item in items.iter() {
        let Some(hash) = text(item, problems) else { continue };
        match hash.split_once(':') {
            Some((scheme, _)) if !scheme.is_empty() => found.push(hash),
            _ => problems.push(diagnostics::no_hash(&hash, item.span)),
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The text that a constant expression is.
fn text(expr: &Expr, problems: &mut Diagnostics) -> Option<EcoString> {
    let (value, found) = constant(expr);
    let failed = found.has_errors();
    problems.extend(found);
    if failed {
        return None;
    }
    let text = convert::convert(&value, &Type::string()).ok().and_then(|text| text.as_str().cloned());
    if text.is_none() {
        problems.push(diagnostics::no_text(expr.span));
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use yuba_syntax::FileId;

    use super::*;

    fn check(text: &str, expected: &Expect) {
        let (_, parsed) = parser::parse_config(FileId(0), text.as_bytes());
        assert!(!parsed.diagnostics.has_errors(), "{text}");
        let (locks, problems) = decode(&parsed.body);
        let selected = locks.providers.iter().map(|(provider, lock)| {
            format!("{provider} {} ({}) {}\n", lock.version, lock.constraints, lock.hashes.join(" "))
        });
        let problems = problems.iter().map(|problem| format!("! {}\n", problem.summary));
        expected.assert_eq(&selected.chain(problems).collect::<String>());
    }

    #[test]
    fn selections_are_read() {
        check(
            r#"
            # Comment.
            provider "registry.opentofu.org/hashicorp/null" {
              version     = "3.2.3"
              constraints = "~> 3.2"
              hashes = [
                "zh:b",
                "h1:a",
                "zh:b",
              ]
            }
            provider "example.com/x/y" {
              version = "0.1.0-beta1"
            }
            "#,
            &expect![[r"
                example.com/x/y 0.1.0-beta1 () 
                registry.opentofu.org/hashicorp/null 3.2.3 (~> 3.2) h1:a zh:b
            "]],
        );
        check("", &expect![[""]]);
    }

    #[test]
    fn everything_has_one_form() {
        check(
            r#"
            provider "hashicorp/null" { version = "1.0.0" }
            provider "terraform.io/builtin/terraform" { version = "1.0.0" }
            provider "a b" { version = "1.0.0" }
            provider "example.com/x/version" { version = "v1" }
            provider "example.com/x/short" { version = "1.0" }
            provider "example.com/x/null" { version = null }
            provider "example.com/x/none" {}
            provider "example.com/x/constraints" {
              version     = "1.0.0"
              constraints = ">=1"
            }
            provider "example.com/x/hashes" {
              version = "1.0.0"
              hashes  = []
            }
            provider "example.com/x/hash" {
              version = "1.0.0"
              hashes  = ["x", "h1:${a}"]
            }
            provider "example.com/x/hash" { version = "1.0.0" }
            module "a" {}
            module "b" {}
            other {}
            "#,
            &expect![[r#"
                example.com/x/hash 1.0.0 () 
                example.com/x/hashes 1.0.0 () 
                ! Unsupported block type
                ! Non-normalized provider source address
                ! Invalid provider source address
                ! Invalid provider source address
                ! Invalid provider version number
                ! Invalid provider version number
                ! Unsuitable value type
                ! Missing required argument
                ! Invalid provider version constraints
                ! Invalid provider hash set
                ! Invalid provider hash string
                ! Variables not allowed
                ! Duplicate provider lock
                ! Dependency locks for modules are not yet supported
            "#]],
        );
    }
}
