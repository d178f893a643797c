//! The lock file `.terraform.lock.hcl`: which version of which provider is used, and how its packages are recognized.
//!
//! The tool owns the file, so every value in it must be written in its one normal form.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use ecow::EcoString;
use yuba_addrs::{ProviderConstraints, ProviderSource, ProviderVersion};
use yuba_eval::constant;
use yuba_syntax::body::{AttributeSchema, BlockSchema};
use yuba_syntax::files::Files;
use yuba_syntax::{
    Attribute, Block, Body, BodySchema, Diagnostic, Diagnostics, Expr, ExprKind, SourceFile, Sources, Span, parser,
};
use yuba_value::{Type, convert};

mod diagnostics;
mod text;

/// The name of the lock file, in the working directory.
pub const LOCK_FILE: &str = ".terraform.lock.hcl";

/// The registry whose `hashicorp` providers the default registry has too.
const PREDECESSOR_REGISTRY: &str = "registry.terraform.io";
const PREDECESSOR_NAMESPACE: &str = "hashicorp";

/// The providers that were selected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockFile {
    /// By source.
    pub providers: BTreeMap<ProviderSource, ProviderLock>,
}

/// Selected version of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderLock {
    /// The version.
    pub version: ProviderVersion,
    /// Version constraints at the time of the selection.
    pub constraints: ProviderConstraints,
    /// By which packages of this version are recognized: `h1:...`, `zh:...`; sorted, each once.
    pub hashes: Vec<EcoString>,
}

impl LockFile {
    /// Whether the same packages are selected. Constraints are ignored: they only give the reason.
    pub fn selects_same(&self, other: &LockFile) -> bool {
        self.providers.len() == other.providers.len()
            && self.providers.iter().all(|(provider, lock)| {
                let other = other.providers.get(provider);
                other.is_some_and(|other| lock.version == other.version && lock.hashes == other.hashes)
            })
    }
    /// Adds an entry of the default registry for each entry of a `hashicorp` provider in the registry of OpenTofu's predecessor:
    /// the same version, without hashes, because its packages are rebuilt. An entry that exists stays. Gives back the pairs
    /// of old and new. Old entries stay too: installing drops those that nothing needs.
    pub fn adopt_predecessors(&mut self) -> Vec<(ProviderSource, ProviderSource)> {
        let is_old = |provider: &&ProviderSource| {
            provider.host.as_str() == PREDECESSOR_REGISTRY && provider.namespace == PREDECESSOR_NAMESPACE
        };
        let mut adopted = Vec::new();
        for old in self.providers.keys().filter(is_old) {
            let name = format!("{PREDECESSOR_NAMESPACE}/{}", old.kind);
            let Ok(new) = ProviderSource::parse(&name) else { continue };
            if !self.providers.contains_key(&new) {
                adopted.push((old.clone(), new));
            }
        }
        for (old, new) in &adopted {
            let lock = self.providers.get(old).map(|lock| ProviderLock { hashes: Vec::new(), ..lock.clone() });
            self.providers.extend(lock.map(|lock| (new.clone(), lock)));
        }
        adopted
    }
    /// Whether the same providers are selected, in whichever versions.
    pub fn names_same(&self, other: &LockFile) -> bool {
        self.providers.keys().eq(other.providers.keys())
    }
}

impl ProviderLock {
    /// A selection with its hashes in order.
    pub fn new(version: ProviderVersion, constraints: ProviderConstraints, mut hashes: Vec<EcoString>) -> ProviderLock {
        hashes.sort();
        hashes.dedup();
        ProviderLock { version, constraints, hashes }
    }
    /// The hashes that this version of the tool can verify.
    pub fn checkable(&self) -> impl Iterator<Item = &EcoString> {
        self.hashes.iter().filter(|hash| hash.starts_with("h1:") || hash.starts_with("zh:"))
    }
}

/// Reads a lock file. A missing file selects nothing.
pub fn read(files: &dyn Files, path: &str, sources: &mut Sources) -> (LockFile, Diagnostics) {
    let bytes = match files.read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return (LockFile::default(), Diagnostics::new()),
        Err(error) => {
            return (LockFile::default(), diagnostics::unreadable(Path::new(path), &error).into());
        }
    };
    parse(path, &bytes, sources)
}

/// Reads the content of a lock file.
pub fn parse(name: &str, bytes: &[u8], sources: &mut Sources) -> (LockFile, Diagnostics) {
    let file = sources.add(SourceFile::new(name, bytes));
    if let Some((start, end)) = conflict_mark(bytes) {
        let problem = diagnostics::merge_conflict(Span { file, start, end });
        return (LockFile::default(), problem.into());
    }
    let (_, parsed) = parser::parse_config(file, bytes);
    let (locks, problems) = decode(&parsed.body);
    let mut all = parsed.diagnostics;
    all.extend(problems);
    (locks, all)
}

/// Reads a lock file for installing: entries of the predecessor's registry select versions in the default registry too.
pub fn read_adopting(files: &dyn Files, path: &str, sources: &mut Sources) -> (LockFile, Diagnostics) {
    let (mut locks, mut problems) = read(files, path, sources);
    let adopted = locks.adopt_predecessors();
    if !adopted.is_empty() {
        problems.push(diagnostics::adopted(&adopted));
    }
    (locks, problems)
}

/// Writes a lock file of a directory. A reader sees the old or the new content, never a part of it.
pub fn write(root: &Path, shown: &str, locks: &LockFile) -> Result<(), Diagnostic> {
    let path = &root.join(shown);
    let _span = tracing::debug_span!("write file", path = %path.display()).entered();
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let new = path.with_file_name(name);
    // A file that is a link stays one.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let written = fs::write(&new, text::text(locks)).and_then(|()| match fs::rename(&new, &target) {
        // The link may lead to another file system.
        Err(error) if error.kind() == ErrorKind::CrossesDevices => {
            fs::copy(&new, &target).and_then(|_| fs::remove_file(&new))
        }
        renamed => renamed,
    });
    written.map_err(|error| {
        // A leftover file does no harm.
        let _ = fs::remove_file(&new);
        diagnostics::unwritable(Path::new(shown), &error)
    })
}

/// The first line that marks where a merge has left two versions: from its first to its last byte.
fn conflict_mark(text: &[u8]) -> Option<(u32, u32)> {
    let mut start = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let content = line.trim_ascii_end();
        if [&b"<<<<<<< "[..], b">>>>>>> ", b"||||||| "].iter().any(|mark| content.starts_with(mark))
            || [&b"<<<<<<<"[..], b">>>>>>>", b"|||||||", b"======="].contains(&content)
        {
            return Some((u32::try_from(start).ok()?, u32::try_from(start + content.len()).ok()?));
        }
        start += line.len();
    }
    None
}

/// The content of a lock file, without invalid entries.
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
        problems.push(diagnostics::not_lockable("a built-in provider is part of Yuba and has no version", *span));
        return None;
    }
    if provider.is_legacy() {
        problems.push(diagnostics::not_lockable("it does not name a publisher", *span));
        return None;
    }
    let normal = provider.to_string();
    if normal != text.as_str() {
        problems.push(diagnostics::not_normal(&diagnostics::LOCKED_PROVIDER_NOT_NORMALIZED, text, &normal, *span));
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
    let code = &diagnostics::LOCKED_VERSION_INVALID;
    let span = attribute.expr.span;
    if yuba_eval::constant(&attribute.expr).0.is_null() {
        problems.push(diagnostics::no_version(span));
        return None;
    }
    let text = text(&attribute.expr, problems)?;
    match ProviderVersion::parse(&text) {
        Ok(version) if version.to_string() == text.as_str() => return Some(version),
        Ok(version) => problems.push(diagnostics::not_normal(code, &text, &version.to_string(), span)),
        Err(_) => problems.push(diagnostics::no_locked_version(code, provider, "a version", &text, span)),
    }
    None
}

fn constraints(
    attribute: &Attribute,
    provider: &ProviderSource,
    problems: &mut Diagnostics,
) -> Option<ProviderConstraints> {
    let code = &diagnostics::LOCKED_CONSTRAINTS_INVALID;
    let span = attribute.expr.span;
    let text = text(&attribute.expr, problems)?;
    match ProviderConstraints::parse(&text) {
        Ok(constraints) if constraints.to_string() == text.as_str() => return Some(constraints),
        Ok(constraints) => problems.push(diagnostics::not_normal(code, &text, &constraints.to_string(), span)),
        Err(_) => problems.push(diagnostics::no_locked_version(code, provider, "a constraint", &text, span)),
    }
    None
}

fn hashes(expr: &Expr, problems: &mut Diagnostics) -> Vec<EcoString> {
    let items = match &expr.kind {
        ExprKind::Tuple(items) if !items.is_empty() => items,
        ExprKind::Tuple(_) => {
            problems.push(diagnostics::no_hashes(expr.span));
            return Vec::new();
        }
        _ => {
            problems.push(diagnostics::no_list(expr.span));
            return Vec::new();
        }
    };
    let mut found = Vec::with_capacity(items.len());
    for item in items.iter() {
        let Some(hash) = text(item, problems) else { continue };
        match hash.split_once(':') {
            Some((scheme, _)) if !scheme.is_empty() => found.push(hash),
            _ => problems.push(diagnostics::no_hash(&hash, expr.span)),
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
                ! Missing required argument
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

    #[test]
    fn the_file_has_the_form_that_opentofu_gives_it() {
        let text = r#"# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "example.com/x/y" {
  version = "0.1.0-beta1"
}

provider "registry.opentofu.org/hashicorp/null" {
  version     = "3.2.3"
  constraints = ">= 3.0.0, ~> 3.2"
  hashes = [
    "h1:a",
    "x:\u0010$${y}",
    "zh:b",
  ]
}
"#;
        let sandbox = yuba_testkit::Sandbox::new("", "");
        let path = sandbox.dir().join(LOCK_FILE);
        fs::write(&path, text).expect("it can be written");
        let (locks, problems) = parse("lock", &fs::read(&path).expect("it exists"), &mut Sources::new());
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(text::text(&locks), text);
        write(&sandbox.dir(), LOCK_FILE, &LockFile::default()).expect("it can be written");
        assert_eq!(fs::read_to_string(&path).expect("it exists"), text[..text.find("\nprovider").expect("one")]);
        assert_eq!(fs::read_dir(sandbox.dir()).expect("it exists").count(), 1);
    }

    #[test]
    fn marks_of_a_merge_are_named() {
        for (text, expect) in [
            ("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\n", Some((2, 14))),
            ("=======\r\n", Some((0, 7))),
            ("x = <<<<<<< HEAD", None),
            ("========\n", None),
        ] {
            assert_eq!(conflict_mark(text.as_bytes()), expect, "{text:?}");
        }
    }
}
