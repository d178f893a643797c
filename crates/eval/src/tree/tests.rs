//! Trees from texts: `--- path` starts a file.

use std::collections::BTreeMap;
use std::sync::Arc;

use ecow::EcoString;
use expect_test::{Expect, expect};
use yuba_config::symbols::decode_library;
use yuba_config::{Decoding, Module, ParsedConfigFile, decode_module, decode_test_file, select_files};
use yuba_syntax::{Diagnostics, SourceFile, Sources, json, parser};

use super::{ConfigTree, Installed, Link, Manifest, ModuleFiles, Purpose, link};
use crate::inputs::{Inputs, VarFlag};
use crate::symbols::{LibraryFiles, UnreadableLibrary};
use crate::world::MemoryWorld;

/// Files in memory.
#[derive(Default)]
pub(crate) struct Memory {
    dirs: BTreeMap<String, BTreeMap<String, String>>,
    links: BTreeMap<String, String>,
    pub(crate) sources: Sources,
    pub(crate) reads: usize,
}

impl Memory {
    pub(crate) fn new(fixture: &str) -> Memory {
        let mut memory = Memory::default();
        let mut file: Option<(String, String)> = None;
        for line in fixture.lines() {
            if let Some(path) = line.trim_start().strip_prefix("--- ") {
                let (dir, name) = path.rsplit_once('/').unwrap_or((".", path));
                file = Some((dir.to_owned(), name.to_owned()));
            } else if let Some((dir, name)) = &file {
                let text = memory.dirs.entry(dir.clone()).or_default().entry(name.clone()).or_default();
                text.push_str(line);
                text.push('\n');
            }
        }
        memory
    }
}

impl ModuleFiles for Memory {
    fn module(&mut self, dir: &str) -> Option<(Arc<Module>, Diagnostics)> {
        self.reads += 1;
        let dir = self.identity(dir);
        let entries = self.dirs.get(dir.as_str())?;
        let selection = select_files(entries.keys().map(String::as_str));
        let mut files = Vec::new();
        for (names, is_override) in [(&selection.primary, false), (&selection.overrides, true)] {
            for name in names {
                let text = &entries[name.as_str()];
                let shown = if dir == "." { name.to_string() } else { format!("{dir}/{name}") };
                let file = self.sources.add(SourceFile::new(shown, text.as_bytes()));
                let parsed = match name.ends_with(".json") {
                    true => json::parse_config(file, text.as_bytes()),
                    false => parser::parse_config(file, text.as_bytes()).1,
                };
                let (body, diagnostics) = (parsed.body, parsed.diagnostics);
                files.push(ParsedConfigFile { name: name.clone(), file, body, diagnostics, is_override });
            }
        }
        let decoding = Decoding::new(&crate::constant, &self.sources);
        let (mut module, mut problems) = decode_module(dir, &files, &decoding);
        for name in &selection.tests {
            let text = &entries[name.as_str()];
            let file = self.sources.add(SourceFile::new(name.as_str(), text.as_bytes()));
            let parsed = parser::parse_config(file, text.as_bytes()).1;
            let (body, diagnostics) = (parsed.body, parsed.diagnostics);
            let parsed = ParsedConfigFile { name: name.clone(), file, body, diagnostics, is_override: false };
            let symbols = module.features.contains(yuba_addrs::Feature::SymbolLibraries);
            let decoding = Decoding { symbols, ..Decoding::new(&crate::constant, &self.sources) };
            let (test, found) = decode_test_file(&parsed, &decoding);
            problems.extend(found);
            module.tests.insert(name.clone(), test);
        }
        Some((Arc::new(module), problems))
    }
    fn library(&mut self, path: &str) -> Result<LibraryFiles, UnreadableLibrary> {
        self.reads += 1;
        let (dir, name) = path.rsplit_once('/').unwrap_or((".", path));
        let one = self.dirs.get(dir).and_then(|files| files.get(name)).map(|text| (path.to_owned(), text));
        let is_dir = one.is_none();
        let files: Vec<(String, &String)> = match one {
            Some(one) => vec![one],
            None => {
                let all = self.dirs.get(path).into_iter().flatten().filter(|(name, _)| name.ends_with(".sym.hcl"));
                all.map(|(name, text)| (format!("{path}/{name}"), text)).collect()
            }
        };
        if files.is_empty() {
            return Err(UnreadableLibrary { is_missing: true, reason: "there is nothing".into() });
        }
        let mut bodies = Vec::new();
        let mut problems = Diagnostics::new();
        for (name, text) in files {
            let file = self.sources.add(SourceFile::new(name, text.as_bytes()));
            let parsed = parser::parse_config(file, text.as_bytes()).1;
            problems.extend(parsed.diagnostics);
            bodies.push(parsed.body);
        }
        let decoding = Decoding::new(&crate::constant, &self.sources);
        let (declared, found) = decode_library(&bodies, &decoding);
        problems.extend(found);
        Ok(LibraryFiles { declared, problems, is_dir })
    }
    fn identity(&mut self, dir: &str) -> EcoString {
        let mut dir = dir.to_owned();
        for (from, to) in &self.links {
            while let Some(rest) = dir.strip_prefix(from.as_str()) {
                dir = format!("{to}{rest}").trim_start_matches("./").trim_start_matches('/').to_owned();
            }
        }
        if dir.is_empty() { ".".into() } else { dir.into() }
    }
    fn sources(&self) -> Option<&Sources> {
        Some(&self.sources)
    }
}

/// One line per diagnostic: severity, location, title, and the first line of the detail.
pub(crate) fn shown(problems: &Diagnostics, sources: &Sources) -> String {
    let mut out = String::new();
    for problem in problems.iter() {
        let location = problem.subject.and_then(|span| {
            let file = sources.get(span.file)?;
            let at = file.position(span.start as usize);
            Some(format!("{}:{},{}", file.name, at.line, at.column))
        });
        let severity = if problem.is_error() { "error" } else { "warning" };
        let explanation = problem.explanation();
        let detail = explanation.lines().next().unwrap_or_default();
        out += &format!("{severity} {} {}: {detail}\n", location.as_deref().unwrap_or("-"), problem.summary);
    }
    out
}

pub(crate) fn run(memory: &mut Memory, vars: &[&str], manifest: &Manifest, purpose: Purpose) -> (ConfigTree, String) {
    let world = MemoryWorld::new();
    let flags: Vec<VarFlag<'_>> = vars.iter().map(|var| VarFlag::Var(var)).collect();
    let (inputs, problems) = Inputs::collect(&mut memory.sources, [], &[], &flags);
    assert!(problems.is_empty());
    let options = Link {
        root_dir: ".",
        world: &world,
        workspace: "default",
        original_dir: None,
        inputs: &inputs,
        manifest,
        purpose,
    };
    let (tree, problems) = link(memory, &options);
    let text = shown(&problems.into_all(), &memory.sources);
    (tree, text)
}

/// The modules of the tree, then the errors.
pub(crate) fn check(fixture: &str, vars: &[&str], expect: &Expect) {
    let mut memory = Memory::new(fixture);
    let (tree, problems) = run(&mut memory, vars, &Manifest::default(), Purpose::Use);
    let modules = tree.iter().filter(|(_, node)| node.parent.is_some());
    let modules: String = modules.map(|(_, node)| format!("{} {}\n", node.path, node.dir)).collect();
    expect.assert_eq(&format!("{modules}{problems}"));
}

#[test]
fn local_modules_are_found_relative_to_their_caller() {
    check(
        r#"
        --- main.tf
        module "a" { source = "./a" }
        module "b" { source = "./a/b" }
        --- a/main.tf
        module "b" { source = "./b" }
        --- a/b/main.tf
        terraform { 
          backend "local" {} 
        }
        "#,
        &[],
        &expect![[r#"
            module.a a
            module.a.module.b a/b
            module.b a/b
            warning a/b/main.tf:2,11 Backend configuration ignored: Only the root module configures the backend. This block in module.a.module.b has no effect. It is allowed so that a configuration can call a root module, for example to test it.
            warning a/b/main.tf:2,11 Backend configuration ignored: Only the root module configures the backend. This block in module.b has no effect. It is allowed so that a configuration can call a root module, for example to test it.
        "#]],
    );
}

#[test]
fn a_directory_is_read_once() {
    let calls: String = (0..50).map(|i| format!("module \"m{i}\" {{ source = \"./m\" }}\n")).collect();
    let mut memory = Memory::new(&format!("--- main.tf\n{calls}\n--- m/main.tf\nlocals {{}}\n"));
    let (tree, problems) = run(&mut memory, &[], &Manifest::default(), Purpose::Use);
    assert_eq!((tree.len(), problems.as_str(), memory.reads), (51, "", 2));
    let path = tree.iter().last().expect("there are modules").1.path.clone();
    assert_eq!(tree.node(tree.find(&path).expect("it is in the tree")).path, path);
}

#[test]
fn endless_calls_are_errors() {
    check(
        r#"
        --- main.tf
        module "a" { source = "./a" }
        --- a/main.tf
        module "b" { source = "../b" }
        --- b/main.tf
        module "c" { source = "../a" }
        "#,
        &[],
        &expect![[r#"
            module.a a
            module.a.module.b b
            error b/main.tf:1,9 Module calls itself: module.a.module.b.module.c has the directory a of module.a, which contains this call.
        "#]],
    );
    // A source that depends on the call can end the recursion.
    check(
        r#"
        --- main.tf
        variable "n" { default = 2 }
        module "a" { 
          source = var.n > 0 ? "./." : "./leaf" 
          n      = var.n - 1
        }
        --- leaf/main.tf
        variable "n" {}
        "#,
        &[],
        &expect![[r#"
            module.a .
            module.a.module.a .
            module.a.module.a.module.a leaf
        "#]],
    );
}

#[test]
fn links_that_lead_back_are_found() {
    let mut memory = Memory::new(
        "--- main.tf\nmodule \"a\" { source = \"./a/self\" }\n--- a/main.tf\nmodule \"s\" { source = \"./self\" }\n",
    );
    memory.links.insert("a/self".into(), "a".into());
    let (_, problems) = run(&mut memory, &[], &Manifest::default(), Purpose::Use);
    assert!(problems.contains("Module calls itself"), "{problems}");
}

#[test]
fn deep_chains_end_with_a_message() {
    let mut fixture = String::new();
    for i in 0..1_200 {
        let dir = if i == 0 { String::new() } else { format!("m{i}/") };
        let up = if i == 0 { "./" } else { "../" };
        fixture += &format!("--- {dir}main.tf\nmodule \"m\" {{ source = \"{up}m{}\" }}\n", i + 1);
    }
    let (tree, problems) = run(&mut Memory::new(&fixture), &[], &Manifest::default(), Purpose::Use);
    assert_eq!(tree.len(), 1_001);
    assert!(problems.starts_with("error m1000/main.tf:1,1 Module calls nested too deeply"), "{problems}");
}

#[test]
fn missing_modules_have_to_be_installed() {
    let fixture = r#"
        --- main.tf
        module "gone" { source = "./gone" }
        module "reg" { 
          source = "acme/bar/random" 
          version = "~> 1.0"
        }
        --- cache/main.tf
        module "sub" { source = "./sub" }
        --- cache/sub/main.tf
        locals {}
        "#;
    check(
        fixture,
        &[],
        &expect![[r#"
            error main.tf:1,9 Module not installed: Failed to read the directory gone of module.gone. A local source is relative to the directory of the module that contains the call.
            error main.tf:2,9 Module not installed: The module module.reg from acme/bar/random is not installed. Run "yuba init" to install all modules of this configuration.
        "#]],
    );
    let (_, problems) = run(&mut Memory::new(fixture), &[], &Manifest::default(), Purpose::Install);
    assert_eq!(problems.matches("error main.tf:1,9 Unreadable module directory").count(), 1, "{problems}");
    for (source, version, problem) in [
        ("registry.opentofu.org/acme/bar/random", "1.2.0", None),
        (
            "registry.opentofu.org/acme/bar/random",
            "2.0.0",
            Some("error main.tf:3,20 Module version requirements have changed"),
        ),
        ("registry.opentofu.org/acme/baz/random", "1.2.0", Some("error main.tf:3,20 Module source has changed")),
    ] {
        let version = yuba_addrs::Version::parse(version).ok();
        let installed = Installed { source: source.into(), version, dir: "cache".into() };
        let manifest = Manifest { modules: [("reg".into(), installed)].into() };
        let (tree, problems) = run(&mut Memory::new(fixture), &[], &manifest, Purpose::Use);
        assert_eq!(problems.lines().count(), 1 + usize::from(problem.is_some()), "{problems}");
        assert!(problems.contains(problem.unwrap_or_default()), "{problems}");
        assert_eq!(tree.iter().last().map(|(_, node)| node.dir.as_str()), Some("cache/sub"));
    }
}

#[test]
fn sources_are_static() {
    check(
        r#"
        --- main.tf
        variable "src" { type = string }
        variable "dir" { 
          type = object({ name = optional(string, "a") })
          default = {} 
        }
        locals { 
          there = "./${var.dir.name}"
          loop1 = local.loop2
          loop2 = local.loop1
        }
        module "a" { source = local.there }
        module "b" { source = var.src }
        module "c" { source = local.loop1 }
        module "d" { source = terraform_data.x.id }
        module "e" { source = module.a.out }
        module "f" { source = "./${uuid()}" }
        module "g" { source = sensitive("./a") }
        module "h" { source = var.nope }
        module "i" { source = [] }
        module "j" { source = "a" }
        --- a/main.tf
        locals {}
        "#,
        &[],
        &expect![[r#"
            error main.tf:1,9 Failed to request input from user for variable var.src: The variable "src" is required before planning, but it has no default, it is not set, and input is disabled. Set it with -var, -var-file, a .tfvars file or the environment variable TF_VAR_src.
            error main.tf:12,31 Unable to compute static value: module.b.source depends on var.src which is not available
            error main.tf:8,11 Circular reference: local.loop1 is self referential: it depends on local.loop2, which depends on local.loop1.
            error main.tf:8,11 Unable to compute static value: local.loop1 depends on local.loop2 which is not available
            error main.tf:13,31 Unable to compute static value: module.c.source depends on local.loop1 which is not available
            error main.tf:14,31 Dynamic value in static context: module.d.source is evaluated before planning, so it cannot use terraform_data.x. It can use input variables, static local values, path and terraform.workspace.
            error main.tf:15,31 Module output not supported in static context: module.e.source is evaluated before planning, so it cannot use module.a.out. It can use input variables, static local values, path and terraform.workspace.
            error main.tf:16,36 Unpredictable function in static context: Every command evaluates module.f.source again, but the result of the function "uuid" differs between calls. Use a fixed value or an input variable.
            error main.tf:17,31 Sensitive value not allowed: Sensitive values, or values derived from them, cannot be used as module.g.source: it is displayed and stored in plain text.
            error main.tf:18,31 Undefined variable: This module does not declare the variable var.nope.
            error main.tf:19,31 Unsuitable value type: Unsuitable value for module.i.source: string required, but this is tuple.
            error main.tf:20,31 Invalid module source address: "a" is not a supported module source. If this is a path relative to the calling module, write "./a".
        "#]],
    );
}

#[test]
fn providers_are_linked() {
    check(
        r#"
--- main.tf
terraform {
  required_providers {
    terraform = { source = "terraform.io/builtin/terraform" }
    other = { source = "terraform.io/builtin/terraform" }
  }
}
locals { keys = { a = 1, b = 2 } }
provider "terraform" {
  alias    = "by"
  for_each = local.keys
}
provider "terraform" {
  alias = "one"
}
resource "terraform_data" "r" {
  for_each = local.keys
  provider = terraform.by[each.key]
}
resource "terraform_data" "s" {
  provider = terraform.by
}
resource "terraform_data" "t" {
  provider = terraform.one["a"]
}
resource "terraform_data" "u" {
  provider = terraform.by["zz"]
}
resource "terraform_data" "v" {
  provider = terraform.nope["zz"]
}
module "m" {
  source   = "./m"
  for_each = (local.keys)
  providers = {
    terraform   = terraform.by[each.key]
    terraform.x = terraform.by["a"]
    foo.z = foo
  }
}
module "n" {
  source   = "./n"
  count    = 1
  providers = {
    terraform   = terraform
    foo         = terraform.one
  }
}
--- m/main.tf
terraform {
  required_providers {
    terraform = { 
      source = "terraform.io/builtin/terraform" 
      configuration_aliases = [terraform.x, terraform.y]
    }
  }
}
provider "foo" {
  alias = "z"
}
--- n/main.tf
provider "terraform" {
  region = "x"
}
module "m" {
  source = "../m"
  providers = {
    terraform.x = terraform
    terraform.y = foo
  }
}
"#,
        &[],
        &expect![[r#"
            module.m m
            module.n n
            module.n.module.m m
            warning main.tf:3,17 Duplicate required provider: The provider terraform.io/builtin/terraform with the local name "terraform" is also required as "other". A module can require a provider only once.
            warning main.tf:16,14 Provider configuration for_each matches resource: The provider configuration has the same for_each as this resource. Removing an element removes the provider instance together with the objects it manages, but destroying these objects requires their provider instance.
            error main.tf:20,14 Invalid resource provider configuration: This provider configuration has for_each, so a reference to it requires the key of an instance, in square brackets. A module call cannot pass all instances to a child module at once.
            error main.tf:23,14 Invalid resource provider configuration: An instance key requires a provider block with for_each in the same module, but this module has no provider "terraform" block with alias = "one".
            error main.tf:26,14 Provider instance not declared: The provider configuration terraform.by has no instance "zz". It has the instances "a", "b".
            error main.tf:29,14 Invalid resource provider configuration: An instance key requires a provider block with for_each in the same module, but this module has no provider "terraform" block with alias = "nope".
            warning main.tf:33,14 Provider configuration for_each matches module: The provider configuration has the same for_each as this module. Removing an element removes the provider instance together with the objects it manages, but destroying these objects requires their provider instance.
            warning main.tf:37,13 Reference to undefined provider: The required_providers of the root module have no entry "foo". Yuba uses the provider hashicorp/foo. Add an entry "foo" with source = "hashicorp/foo", or another source, to its required_providers.
            error main.tf:31,1 Missing required provider configuration: module.m requires a configuration of the provider terraform.io/builtin/terraform with the local name "terraform.y". Add an entry for terraform.y to the "providers" argument of this module block.
            warning m/main.tf:9,1 Redundant empty provider block: Empty provider blocks in called modules are deprecated. required_providers declares the provider configurations that a module expects from its caller:
            warning n/main.tf:8,19 Reference to undefined provider: The required_providers of module.n have no entry "foo". Yuba uses the provider hashicorp/foo. Add an entry "foo" with source = "hashicorp/foo", or another source, to its required_providers.
            error main.tf:42,14 Module is incompatible with count, for_each, enabled and depends_on: The module module.n contains provider blocks, so calls that lead to it cannot use count, for_each, enabled or depends_on. Replace the provider blocks of the module "./n" by provider configurations that its callers pass.
            error main.tf:44,5 Cannot override provider configuration: module.n has its own configuration of the provider terraform, so it cannot use the one that the root module passes to it.
            warning main.tf:45,5 Reference to undefined provider: The required_providers of module.n have no entry "foo". Yuba uses the provider hashicorp/foo. Add an entry "foo" with source = "hashicorp/foo" to the required_providers of the module.
            error main.tf:45,19 Provider type mismatch: "terraform.one" in the root module is the provider terraform.io/builtin/terraform, but "foo" in module.n is hashicorp/foo. A configuration of one provider cannot be passed for another. If they are the same provider, set the same source in the required_providers of both modules.
            warning main.tf:44,5 Reference to undefined provider: The required_providers of module.n have no entry "terraform". Yuba uses the provider hashicorp/terraform. Add an entry "terraform" with source = "hashicorp/terraform" to the required_providers of the module.
            error main.tf:44,19 Provider type mismatch: "terraform" in the root module is the provider terraform.io/builtin/terraform, but "terraform" in module.n is hashicorp/terraform. A configuration of one provider cannot be passed for another. If they are the same provider, set the same source in the required_providers of both modules.
            error n/main.tf:7,19 Provider type mismatch: "terraform" in module.n is the provider hashicorp/terraform, but "terraform.x" in module.n.module.m is terraform.io/builtin/terraform. A configuration of one provider cannot be passed for another. If they are the same provider, set the same source in the required_providers of both modules.
            error n/main.tf:8,19 Provider type mismatch: "foo" in module.n is the provider hashicorp/foo, but "terraform.y" in module.n.module.m is terraform.io/builtin/terraform. A configuration of one provider cannot be passed for another. If they are the same provider, set the same source in the required_providers of both modules.
            warning m/main.tf:9,1 Redundant empty provider block: Empty provider blocks in called modules are deprecated. required_providers declares the provider configurations that a module expects from its caller:
        "#]],
    );
}

#[test]
fn empty_blocks_are_redundant_in_called_modules_and_provider_for_each_counts_as_content() {
    check(
        r#"
--- main.tf
module "a" {
  source   = "./a"
  for_each = toset(["x"])
}
module "b" { source = "./b" }
--- a/main.tf
provider "terraform" {
  alias    = "by"
  for_each = toset(["k"])
}
--- b/main.tf
provider "terraform" {}
"#,
        &[],
        &expect![[r#"
            module.a a
            module.b b
            error main.tf:3,14 Module is incompatible with count, for_each, enabled and depends_on: The module module.a contains provider blocks, so calls that lead to it cannot use count, for_each, enabled or depends_on. Replace the provider blocks of the module "./a" by provider configurations that its callers pass.
            warning b/main.tf:1,1 Redundant empty provider block: Empty provider blocks in called modules are deprecated. required_providers declares the provider configurations that a module expects from its caller:
        "#]],
    );
}

#[test]
fn for_each_of_providers_is_static() {
    check(
        r#"
--- main.tf
variable "regions" { default = ["a"] }
variable "secret" {
  default   = { a = 1 }
  sensitive = true
}
resource "terraform_data" "a" {}
provider "terraform" {
  alias    = "list"
  for_each = var.regions
}
provider "terraform" {
  alias    = "secret"
  for_each = var.secret
}
provider "terraform" {
  alias    = "dynamic"
  for_each = toset([terraform_data.a.id])
}
provider "terraform" {
  alias    = "numbers"
  for_each = toset([1])
}
provider "terraform" {
  alias    = "nothing"
  for_each = null
}
provider "terraform" {
  alias    = "values"
  for_each = { a = sensitive(1) }
}
"#,
        &[],
        &expect![[r#"
            error main.tf:17,21 Dynamic value in static context: provider.terraform.dynamic.for_each is evaluated before planning, so it cannot use terraform_data.a. It can use input variables, static local values, path and terraform.workspace.
            error main.tf:9,14 Invalid for_each argument: The value of "for_each" must be a map or a set of strings, but this is tuple. Convert it to a set with toset(...).
            error main.tf:25,14 Invalid for_each argument: The value of "for_each" is null. Use an empty map or set for no instances.
            error main.tf:21,14 Invalid for_each argument: A set for "for_each" must be a set of strings, but this is a set of number.
            error main.tf:13,14 Invalid for_each argument: Sensitive values, or values derived from them, cannot be used for "for_each": addresses contain the instance keys.
        "#]],
    );
}

#[test]
fn variables_of_called_modules_are_static_where_their_arguments_are() {
    check(
        r#"
--- main.tf
variable "n" { type = number }
variable "k" { const = true }
resource "terraform_data" "x" {}
module "good" {
  source = "./c"
  name   = "leaf${var.n}"
}
module "bad" {
  source = "./c"
  name   = "wrong"
}
module "dynamic" {
  source = "./c"
  name   = terraform_data.x.id
}
module "none" { source = "./c" }
--- c/main.tf
variable "name" {
  type = string
  validation {
    condition     = startswith(var.name, "leaf")
    error_message = "The name ${var.name} does not start with leaf."
  }
}
variable "off" {
  default = "x"
  const   = false
}
module "leaf" { source = "./${var.name}" }
--- c/leaf1/main.tf
output "path" { value = path.module }
"#,
        &["n=1", "k=2"],
        &expect![[r#"
            module.bad c
            module.dynamic c
            module.good c
            module.good.module.leaf c/leaf1
            module.none c
            error main.tf:10,12 Invalid value for variable: The name wrong does not start with leaf.
            error c/main.tf:12,26 Unable to compute static value: module.bad:module.leaf.source depends on module.bad:var.name which is not available
            error main.tf:14,12 Dynamic value in static context: module.dynamic:var.name is evaluated before planning, so it cannot use terraform_data.x. It can use input variables, static local values, path and terraform.workspace.
            error c/main.tf:12,26 Unable to compute static value: module.dynamic:module.leaf.source depends on module.dynamic:var.name which is not available
            error main.tf:16,17 Missing required variable in module call: The call of module.none does not set the variable "name", which has no default.
            error c/main.tf:12,26 Unable to compute static value: module.none:module.leaf.source depends on module.none:var.name which is not available
        "#]],
    );
}

#[test]
fn modules_of_test_runs_are_trees_of_their_own() {
    let fixture = r#"
--- main.tf
variable "which" { default = "sub" }
--- main.tftest.hcl
run "setup" {
  variables {
    dir  = var.which
    late = run.other.x
  }
  module { source = "./setup" }
}
run "gone" {
  module { source = "./gone" }
}
run "main" {}
--- setup/main.tf
variable "dir" {}
variable "late" {}
module "inner" { source = "./${var.dir}" }
--- setup/sub/main.tf
locals {}
"#;
    let (tree, problems) = run(&mut Memory::new(fixture), &[], &Manifest::default(), Purpose::Use);
    let runs: Vec<String> =
        tree.runs.iter().map(|((file, run), tree)| format!("{file} {run} {}", tree.len())).collect();
    assert_eq!(runs, ["main.tftest.hcl setup 2"]);
    assert!(problems.starts_with("error main.tftest.hcl:9,3 Module not installed"), "{problems}");
    let keys: Vec<String> = tree.manifest().modules.keys().map(ToString::to_string).collect();
    assert_eq!(keys, ["", "test.main.setup", "test.main.setup.inner"]);
}

#[test]
fn imports_agree_with_the_resource_about_the_provider() {
    check(
        r#"
--- main.tf
resource "terraform_data" "a" {}
resource "terraform_data" "b" { provider = terraform.x }
provider "terraform" { alias = "x" }
import {
  to       = terraform_data.a
  id       = "a"
  provider = terraform.x
}
import {
  to       = terraform_data.b
  id       = "b"
  provider = terraform.x
}
import {
  to       = terraform_data.c
  id       = "c"
  provider = terraform.x
}
"#,
        &[],
        &expect![[r#"
            error main.tf:7,3 Invalid import provider argument: The provider argument of this import block does not match the block of terraform_data.a, which has no provider argument. Remove the provider argument of the import block, or change that of the resource.
        "#]],
    );
}

#[test]
fn runs_agree_about_the_providers_of_a_test_file() {
    check(
        r#"
--- main.tf
terraform {
  required_providers {
    foo = { source = "acme/foo" }
  }
}
--- main.tftest.hcl
provider "foo" {}
provider "bar" {}
run "setup" {
  module { source = "./setup" }
}
run "main" {}
run "passed" {
  providers = { foo = bar }
}
--- setup/main.tf
terraform {
  required_providers {
    foo = { source = "other/foo" }
  }
}
"#,
        &[],
        &expect![[r#"
            error main.tftest.hcl:1,1 Provider type mismatch: "foo" in main.tftest.hcl is the provider other/foo, but "foo" in the root module is acme/foo. The first run that uses a provider block of a test file determines its provider, and other runs use this name for another provider.
        "#]],
    );
}

#[test]
fn every_way_not_to_be_static() {
    check(
        r#"
--- main.tf
variable "m" {
  type = list(string)
  default = ["a"]
}
variable "n" { 
 type = number
 nullable = false
}
module "x" { 
  source = "./${var.n}" 
  version = null
}
module "z" { 
  source = "hashicorp/consul/aws" 
  version = var.m
}
module "w" { 
  source = null
}
module "v" { 
  source = "./${terraform.applying}"
}
module "u" { 
  source = "./${path.nope}${terraform.nope}"
}
module "t" { 
  source = provider::terraform::encode_expr(1)
}
module "s" { 
  source = each.key
}
module "r" { 
  source = "./${local.nope}"
}
module "q" { 
  source = "./${var.m[4]}"
}
"#,
        &[],
        &expect![[r#"
            error main.tf:36,22 Invalid index: The index does not select an element: the collection has 1 element, at index 0.
            error main.tf:33,17 Undefined local: No locals block of this module defines local.nope.
            error main.tf:30,12 Dynamic value in static context: module.s.source is evaluated before planning, so it cannot use each.key. It can use input variables, static local values, path and terraform.workspace.
            error main.tf:27,12 Provider function in static context: module.t.source is evaluated before planning, so it cannot use provider::terraform::encode_expr. It can use input variables, static local values, path and terraform.workspace.
            error main.tf:24,17 Invalid "path" attribute: The "path" object has no attribute "nope". Its attributes are path.cwd, path.module and path.root.
            error main.tf:24,29 Invalid "terraform" attribute: The "terraform" object has no attribute "nope". terraform.workspace is the name of the workspace.
            error main.tf:21,17 Invalid attribute in static context: This value is evaluated before planning, so it cannot depend on whether a plan is being applied.
            error main.tf:18,12 Unsuitable value type: Unsuitable value for module.w.source: it must not be null.
            error main.tf:5,1 Failed to request input from user for variable var.n: The variable "n" is required before planning, but it has no default, it is not set, and input is disabled. Set it with -var, -var-file, a .tfvars file or the environment variable TF_VAR_n.
            error main.tf:10,12 Unable to compute static value: module.x.source depends on var.n which is not available
            error main.tf:15,13 Invalid version constraint: This value cannot be a version constraint: it must be a string.
        "#]],
    );
}

#[test]
fn a_provider_for_each_may_be_dynamic_by_experiment() {
    check(
        r#"
--- main.tf
language { experiments = [dynamic_provider_for_each] }
resource "terraform_data" "a" {}
provider "terraform" {
  alias    = "later"
  for_each = toset([terraform_data.a.id])
}
provider "terraform" {
  alias    = "never"
  for_each = toset([uuid()])
}
resource "terraform_data" "b" { provider = terraform.later["any"] }
"#,
        &[],
        &expect![[r#"
            warning main.tf:1,27 Experimental feature is active: This module uses features that any later version may change or remove:
            error main.tf:9,21 Unpredictable function in static context: Every command evaluates provider.terraform.never.for_each again, but the result of the function "uuid" differs between calls. Use a fixed value or an input variable.
        "#]],
    );
}

#[test]
fn long_and_branching_chains_of_locals_are_bounded() {
    let chain = |length: usize, last: &str, step: &dyn Fn(usize) -> String| {
        let locals: String = (1..length).map(|i| format!("l{i} = {}\n", step(i - 1))).collect();
        format!(
            "--- main.tf\nlocals {{\nl0 = {last}\n{locals}}}\nmodule \"a\" {{ source = local.l{} }}\n--- a/main.tf\n\n",
            length - 1
        )
    };
    let one = |i: usize| format!("local.l{i}");
    let two = |i: usize| format!("join(\"\", [local.l{i}, local.l{i}])");
    let link = |fixture: &str| run(&mut Memory::new(fixture), &[], &Manifest::default(), Purpose::Use);
    let (tree, problems) = link(&chain(4_000, "\"./a\"", &one));
    assert_eq!((tree.len(), problems.as_str()), (2, ""));
    let (_, problems) = link(&chain(20_000, "\"./a\"", &one));
    assert!(
        problems.contains("depends on other values over more than 5000 levels."),
        "{}",
        &problems[..200.min(problems.len())]
    );
    let (_, problems) = link(&chain(60, "var.nope", &two));
    assert!(problems.lines().count() < 1_000, "{}", problems.lines().count());
}
