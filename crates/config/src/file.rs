//! One file: its blocks, decoded, nothing merged yet; and which files belong to a module.

use std::sync::LazyLock;

use ecow::EcoString;
use foldhash::HashSet;
use yuba_addrs::{Feature, ResourceMode};
use yuba_syntax::{Block, Body, BodySchema, Diagnostics, FileId, Span};

use crate::check::{self, Check};
use crate::constant::Decoding;
use crate::diagnostics;
use crate::import::{self, Import};
use crate::language::{self, Language};
use crate::module_call::{self, ModuleCall};
use crate::moved::{self, Moved};
use crate::output::{self, Output};
use crate::provider::{self, ProviderConfig};
use crate::removed::{self, Removed};
use crate::resource::{self, BlockContext, Resource};
use crate::schema::schema;
use crate::symbols::{self, SymbolsCall};
use crate::terraform::{self, CoreVersion, Settings};
use crate::variable::{self, Local, Variable};

/// A parsed file of a module's directory.
#[derive(Clone, Debug)]
pub struct ParsedConfigFile {
    /// Its name in the directory; of a test file its path from there.
    pub name: EcoString,
    /// Its source.
    pub file: FileId,
    /// Its content.
    pub body: Body,
    /// Its syntax errors.
    pub diagnostics: Diagnostics,
    /// Whether it overrides what other files declare; see [`ModuleFileNames`].
    pub is_override: bool,
}

/// The files of a directory that make up a module, by name, in the order they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleFileNames {
    /// Ordinary files.
    pub primary: Vec<EcoString>,
    /// Files that override what ordinary ones declare.
    pub overrides: Vec<EcoString>,
    /// Test files.
    pub tests: Vec<EcoString>,
}

/// Extensions and those of the files they give way to.
const EXTENSIONS: [(&str, &str, bool); 4] = [
    (".tf", ".tofu", false),
    (".tf.json", ".tofu.json", false),
    (".tftest.hcl", ".tofutest.hcl", true),
    (".tftest.json", ".tofutest.json", true),
];

/// Files in a directory that belong to the module: a .tofu file replaces the .tf file of its name; hidden files and
/// backups of editors are ignored.
pub fn select_files<'n>(names: impl IntoIterator<Item = &'n str>) -> ModuleFileNames {
    let names: Vec<&str> = names.into_iter().filter(|name| !is_ignored(name)).collect();
    let all: HashSet<&str> = names.iter().copied().collect();
    let mut selection = ModuleFileNames::default();
    for name in names {
        let tf = EXTENSIONS.iter().find_map(|(tf, tofu, test)| Some((name.strip_suffix(tf)?, Some(tofu), *test)));
        let tofu = || EXTENSIONS.iter().find_map(|(_, tofu, test)| Some((name.strip_suffix(tofu)?, None, *test)));
        let Some((base, replaced_by, is_test)) = tf.or_else(tofu) else { continue };
        if replaced_by.is_some_and(|extension| all.contains(format!("{base}{extension}").as_str())) {
            continue;
        }
        let group = if is_test {
            &mut selection.tests
        } else if base == "override" || base.ends_with("_override") {
            &mut selection.overrides
        } else {
            &mut selection.primary
        };
        group.push(name.into());
    }
    selection
}

/// Hidden files, and what vim and emacs leave behind.
fn is_ignored(name: &str) -> bool {
    name.starts_with('.') || name.ends_with('~') || (name.starts_with('#') && name.ends_with('#'))
}

/// Whether a file is for OpenTofu only, so that `required_version` in it is about this language.
pub(crate) fn is_tofu_only(name: &str) -> bool {
    EXTENSIONS.iter().any(|(_, tofu, _)| name.ends_with(tofu))
}

/// Whether a file is a test file, by its name.
pub(crate) fn is_test(name: &str) -> bool {
    EXTENSIONS.iter().any(|(tf, tofu, is_test)| *is_test && (name.ends_with(tf) || name.ends_with(tofu)))
}

/// The role of a file in its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Primary,
    /// Its blocks change those of primary files.
    Override,
}

/// Declarations of a file, in source order.
#[derive(Default)]
pub(crate) struct File {
    pub(crate) is_override: bool,
    pub(crate) versions: Vec<CoreVersion>,
    /// The file is not for this version of the language; then nothing else about the module is worth saying.
    pub(crate) incompatible: Diagnostics,
    pub(crate) languages: Vec<Language>,
    pub(crate) settings: Settings,
    pub(crate) providers: Vec<ProviderConfig>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) locals: Vec<Local>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) calls: Vec<ModuleCall>,
    pub(crate) symbols: Vec<SymbolsCall>,
    #[allow(clippy::vec_box, reason = "they are large, and become part of the module without being moved")]
    pub(crate) resources: Vec<Box<Resource>>,
    pub(crate) checks: Vec<(Check, Option<Resource>)>,
    pub(crate) moved: Vec<Moved>,
    pub(crate) imports: Vec<Import>,
    pub(crate) removed: Vec<Removed>,
    /// Blocks that opt in to a feature.
    pub(crate) opted_in: Vec<(Feature, Span)>,
}

/// `required_providers` does not belong here, but a message can say where it does.
static SCHEMA: LazyLock<BodySchema> = LazyLock::new(|| {
    schema(
        &[],
        &[],
        &[
            ("language", &[]),
            ("required_providers", &[]),
            ("provider", &["name"]),
            ("variable", &["name"]),
            ("locals", &[]),
            ("output", &["name"]),
            ("module", &["name"]),
            ("resource", &["type", "name"]),
            ("data", &["type", "name"]),
            ("ephemeral", &["type", "name"]),
            ("moved", &[]),
            ("import", &[]),
            ("check", &["name"]),
            ("removed", &[]),
            ("terraform", &[]),
            ("symbols", &["name"]),
        ],
    )
});

static SNIFF: LazyLock<BodySchema> = LazyLock::new(|| schema(&[], &[], &[("symbols", &["name"])]));

/// Whether a file opts in to symbol libraries.
pub(crate) fn has_symbols(body: &Body) -> bool {
    !body.known_content(&SNIFF).0.blocks.is_empty()
}

/// Decodes the blocks of a file.
pub(crate) fn decode(parsed: &ParsedConfigFile, decoding: &Decoding<'_>) -> (File, Diagnostics) {
    let mut diagnostics = parsed.diagnostics.clone();
    let check = language::check_versions(parsed, decoding, &mut diagnostics);
    let (content, problems) = parsed.body.content(&SCHEMA);
    diagnostics.extend(problems);
    let mut file = File {
        is_override: parsed.is_override,
        versions: check.versions,
        incompatible: check.incompatible,
        ..File::default()
    };
    for block in &content.blocks {
        if let Some(feature) = Feature::from_block_type(&block.kind) {
            file.opted_in.push((feature, block.header_span));
        }
        let problems = file.decode_block(block, decoding);
        diagnostics.extend(problems);
    }
    (file, diagnostics)
}

impl File {
    fn decode_block(&mut self, block: &Block, decoding: &Decoding<'_>) -> Diagnostics {
        let kind = if self.is_override { FileKind::Override } else { FileKind::Primary };
        match block.kind.as_str() {
            "language" => keep(&mut self.languages, language::decode(block, kind, decoding)),
            "terraform" => {
                let problems = terraform::decode(block, decoding, &mut self.settings);
                self.opted_in.append(&mut self.settings.experiments);
                problems
            }
            "required_providers" => diagnostics::misplaced_required_providers(block.kind_span).into(),
            "provider" => keep_some(&mut self.providers, provider::decode(block, decoding)),
            "variable" => keep(&mut self.variables, variable::decode(block, kind, decoding)),
            "locals" => {
                let (locals, problems) = variable::decode_locals(block);
                self.locals.extend(locals);
                problems
            }
            "output" => keep(&mut self.outputs, output::decode(block, kind, decoding)),
            "module" => keep_some(&mut self.calls, module_call::decode(block, kind, decoding)),
            "resource" => self.decode_resource(block, ResourceMode::Managed, decoding),
            "data" => self.decode_resource(block, ResourceMode::Data, decoding),
            "ephemeral" => self.decode_resource(block, ResourceMode::Ephemeral, decoding),
            "moved" => keep_some(&mut self.moved, moved::decode(block)),
            "import" => keep_some(&mut self.imports, import::decode(block)),
            "check" => {
                let (check, data, problems) = check::decode(block, kind, decoding);
                self.checks.extend(check.map(|check| (check, data)));
                problems
            }
            "removed" => keep_some(&mut self.removed, removed::decode(block, decoding)),
            "symbols" => keep_some(&mut self.symbols, symbols::decode(block, kind, decoding)),
            _ => Diagnostics::new(),
        }
    }

    fn decode_resource(&mut self, block: &Block, mode: ResourceMode, decoding: &Decoding<'_>) -> Diagnostics {
        let context = if self.is_override { BlockContext::Override } else { BlockContext::Top };
        let (resource, problems) = resource::decode(block, mode, context, decoding);
        self.resources.extend(resource.map(Box::new));
        problems
    }
}

fn keep<T>(into: &mut Vec<T>, (found, problems): (T, Diagnostics)) -> Diagnostics {
    into.push(found);
    problems
}

fn keep_some<T>(into: &mut Vec<T>, (found, problems): (Option<T>, Diagnostics)) -> Diagnostics {
    into.extend(found);
    problems
}

#[cfg(test)]
mod tests {
    use crate::testing::check_all;

    #[test]
    fn files_of_a_module_are_known_by_their_names() {
        let selection = super::select_files([
            "a.tf",
            "a.tofu",
            "b.tf.json",
            "b.tofu",
            "c.tf",
            "c.tofu.json",
            "c_override.tf",
            "override.tofu",
            ".d.tf",
            "#e.tf#",
            "f.tf~",
            "g.txt",
            "h.tftest.hcl",
            "i.tofutest.json",
            "i.tftest.json",
            "override.tf",
            "j.tfvars",
        ]);
        assert_eq!(selection.primary, ["a.tofu", "b.tf.json", "b.tofu", "c.tf", "c.tofu.json"]);
        assert_eq!(selection.overrides, ["c_override.tf", "override.tofu"]);
        assert_eq!(selection.tests, ["h.tftest.hcl", "i.tofutest.json"]);
    }

    #[test]
    fn blocks_of_a_file() {
        check_all(
            "main.tf",
            &[
                ("foo {}", "1:1 Unsupported block type"),
                ("foo = 1", "1:1 Unsupported argument"),
                (r#"variabel "a" {}"#, "1:1 Unsupported block type"),
                ("variable {}", "1:10 Missing name for variable"),
                (r#"variable "a" "b" {}"#, "1:14 Extraneous label for variable"),
                (r#"resource "a" {}"#, "1:14 Missing name for resource"),
                (
                    r#"locals {}
locals {}"#,
                    "",
                ),
                ("required_providers {}", "1:1 Invalid required_providers block"),
                (r#"terraform "x" {}"#, "1:11 Extraneous label for terraform; 1:11 Extraneous label for terraform"),
                (r#"language "x" {}"#, "1:10 Extraneous label for language; 1:10 Extraneous label for language"),
                (r#"moved "x" {}"#, "1:7 Extraneous label for moved"),
                ("variable a {}", ""),
                (r#"variable "a${b}" {}"#, "1:12 Invalid string literal; 1:10 Invalid variable name"),
                ("provider {}", "1:10 Missing name for provider"),
                (r#"import "x" {}"#, "1:8 Extraneous label for import"),
                ("check {}", "1:7 Missing name for check"),
                ("removed {} ", "1:9 Missing required argument"),
                ("output {}", "1:8 Missing name for output"),
                (r#"module "a" "b" "c" {}"#, "1:12 Extraneous label for module"),
                ("variable = 1", "1:1 Unsupported argument"),
                ("terraform = 1", "1:1 Unsupported argument"),
                (r#"data "x" {}"#, "1:10 Missing name for data"),
                ("ephemeral {}", "1:11 Missing type for ephemeral"),
                ("atlas {}", "1:1 Unsupported block type"),
            ],
        );
    }

    #[test]
    fn blocks_of_a_json_file() {
        check_all(
            "main.tf.json",
            &[
                (r#"{"foo":1}"#, "1:2 Extraneous JSON object property"),
                (r#"{"variable":1}"#, "1:13 Incorrect JSON value type; 1:13 Missing block label"),
                (r#"{"variable":{"a":1}}"#, "1:18 Incorrect JSON value type"),
                (r#"{"variable":[]}"#, "1:13 Missing block label"),
                (r#"{"variable":{"a":[{},{}]}}"#, "1:18 Duplicate variable declaration"),
                ("[]", ""),
                ("1", "1:1 Root value must be object"),
                (r#"{"terraform":{"x":1}}"#, "1:15 Extraneous JSON object property"),
                (r#"{"//":1}"#, ""),
                (r#"{"locals":1}"#, "1:11 Incorrect JSON value type"),
                (r#"{"locals":{"//":1}}"#, ""),
                (r#"{"variable":{"a":null}}"#, ""),
                (r#"{"variable":{"a":{},"a":{}}}"#, "1:25 Duplicate variable declaration"),
            ],
        );
    }
}
