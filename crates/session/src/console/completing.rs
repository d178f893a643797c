//! Completion in the console: names, attributes and keys at the cursor.
//!
//! The text before the cursor ends with a partial name. The expression before its last dot or bracket is evaluated like any other input,
//! and its members are the candidates, so completion knows the same as evaluation. Members of sensitive values are not offered.

use std::collections::BTreeSet;

use yuba_addrs::ResourceMode;
use yuba_config::resource::{Repetition, ResourceKey};
use yuba_eval::{FunctionTable, schema_of};
use yuba_provider::Providers as _;
use yuba_syntax::parser::parse_expression;
use yuba_syntax::{SourceFile, Sources};
use yuba_value::{Value, View, quote};

use super::{ConsoleSession, Names};

/// Names that follow `path` and `terraform`.
const FIXED: [(&str, &[&str]); 2] = [("path", &["cwd", "module", "root"]), ("terraform", &["applying", "workspace"])];

impl ConsoleSession {
    /// The start of the partial name at the end of a text, and what it can become, sorted.
    pub fn complete(&self, before: &str) -> (usize, Vec<String>) {
        let path = &before[start_of_path(before)..];
        let Some((base, partial)) = split(path) else {
            // Without a beginning, the list would be the whole table of functions.
            let names = if path.is_empty() { BTreeSet::new() } else { self.first_names(path) };
            return (before.len() - path.len(), matching(names, path));
        };
        let names = match partial.strip_prefix('[') {
            Some(_) => self.keys(base),
            None => self.members(base),
        };
        (before.len() - partial.len(), matching(names, partial))
    }

    /// Names that an expression can begin with.
    fn first_names(&self, partial: &str) -> BTreeSet<String> {
        let plain = partial.strip_prefix("core::").unwrap_or(partial);
        let namespace = &partial[..partial.len() - plain.len()];
        let functions = FunctionTable::console().all().into_iter().map(|function| &function.signature().name);
        let mut names: BTreeSet<String> = functions.map(|name| format!("{namespace}{name}(")).collect();
        names.extend(FIXED.iter().map(|(root, _)| format!("{root}.")));
        let Some(Names { loaded, .. }) = &self.names else { return names };
        let root = &loaded.tree.root().module;
        let kinds = [
            ("var.", root.variables.is_empty()),
            ("local.", root.locals.is_empty()),
            ("module.", root.calls.is_empty()),
        ];
        names.extend(kinds.iter().filter(|(_, is_empty)| !is_empty).map(|(name, _)| (*name).to_owned()));
        names.extend(root.resources.keys().map(|key| match key.mode {
            ResourceMode::Managed => format!("{}.", key.kind),
            ResourceMode::Data => "data.".to_owned(),
            ResourceMode::Ephemeral => "ephemeral.".to_owned(),
        }));
        names
    }

    /// Names that can follow an expression and a dot.
    fn members(&self, base: &str) -> BTreeSet<String> {
        if let Some((_, names)) = FIXED.iter().find(|(root, _)| *root == base) {
            return names.iter().map(|name| (*name).to_owned()).collect();
        }
        let declared = self.declared(base);
        if !declared.is_empty() {
            return declared;
        }
        match self.value_of(base).map(|value| attributes(&value)) {
            Some(attributes) if !attributes.is_empty() => attributes,
            // Before the first apply the value of a resource is unknown as a whole.
            _ => self.attributes_of_resource(base).unwrap_or_default(),
        }
    }

    /// The attributes of a declared resource or of one of its instances, by the schema of its provider.
    fn attributes_of_resource(&self, base: &str) -> Option<BTreeSet<String>> {
        let Names { loaded, .. } = self.names.as_ref()?;
        let root = &loaded.tree.root().module;
        let address = base.split_once('[').map_or(base, |(address, _)| address);
        let (mode, address) = match (address.strip_prefix("data."), address.strip_prefix("ephemeral.")) {
            (Some(rest), _) => (ResourceMode::Data, rest),
            (_, Some(rest)) => (ResourceMode::Ephemeral, rest),
            _ => (ResourceMode::Managed, address),
        };
        let (kind, name) = address.split_once('.')?;
        let key = ResourceKey { mode, kind: kind.into(), name: name.into() };
        let resource = root.resources.get(&key)?;
        let repeats = matches!(resource.repetition, Repetition::Count(_) | Repetition::ForEach(_));
        if repeats != base.contains('[') {
            return None;
        }
        let schema = self.project.providers().schema(&root.provider_of(resource)?)?;
        let block = schema_of(&schema, &key)?;
        Some(block.implied_type().attrs()?.iter().map(|attribute| attribute.name.to_string()).collect())
    }

    /// Declarations that a keyword or a resource type leads to.
    fn declared(&self, base: &str) -> BTreeSet<String> {
        let Some(Names { loaded, .. }) = &self.names else { return BTreeSet::new() };
        let root = &loaded.tree.root().module;
        let resources = |mode: ResourceMode, kind: &str| {
            let keys = root.resources.keys().filter(|key| key.mode == mode && key.kind == kind);
            keys.map(|key| key.name.to_string()).collect()
        };
        let types = |mode: ResourceMode| {
            root.resources.keys().filter(|key| key.mode == mode).map(|key| format!("{}.", key.kind)).collect()
        };
        match base.split_once('.') {
            None => match base {
                "var" => root.variables.keys().map(ToString::to_string).collect(),
                "local" => root.locals.keys().map(ToString::to_string).collect(),
                "module" => root.calls.keys().map(ToString::to_string).collect(),
                "data" => types(ResourceMode::Data),
                "ephemeral" => types(ResourceMode::Ephemeral),
                kind => resources(ResourceMode::Managed, kind),
            },
            Some(("data", kind)) => resources(ResourceMode::Data, kind),
            Some(("ephemeral", kind)) => resources(ResourceMode::Ephemeral, kind),
            Some(_) => BTreeSet::new(),
        }
    }

    /// Indexes of an expression, with their brackets.
    fn keys(&self, base: &str) -> BTreeSet<String> {
        let Some(value) = self.value_of(base) else { return BTreeSet::new() };
        match value.view_ignoring_marks() {
            View::List(items) | View::Tuple(items) => (0..items.len()).map(|index| format!("[{index}]")).collect(),
            View::Map(_) | View::Object(_) => names_in(&value).map(|name| format!("[{}]", quote(name))).collect(),
            _ => BTreeSet::new(),
        }
    }

    /// The value of an expression without errors, unless it is sensitive.
    fn value_of(&self, text: &str) -> Option<Value> {
        let file = Sources::new().add(SourceFile::new("", text.as_bytes()));
        let (expr, problems) = parse_expression(file, text.as_bytes());
        if problems.has_errors() {
            return None;
        }
        let (value, problems) = self.value(&expr);
        (!problems.has_errors() && !value.marks().has_sensitive()).then_some(value)
    }
}

/// The attributes of an object and the keys of a map that can follow a dot.
fn attributes(value: &Value) -> BTreeSet<String> {
    let is_word = |name: &&str| {
        let first = name.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
        first && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
    };
    names_in(value).filter(is_word).map(str::to_owned).collect()
}

/// The attributes of an object, which its type has even if the value is unknown, or the keys of a map.
fn names_in(value: &Value) -> impl Iterator<Item = &str> {
    let keys = match value.view_ignoring_marks() {
        View::Map(items) => items.iter().map(|(key, _)| key.as_str()).collect(),
        _ => Vec::new(),
    };
    let attributes = value.ty().attrs().unwrap_or_default().iter().map(|attr| attr.name.as_str());
    attributes.chain(keys)
}

fn matching(names: BTreeSet<String>, partial: &str) -> Vec<String> {
    names.into_iter().filter(|name| name.starts_with(partial)).collect()
}

/// The start of the path at the end of a text: names, dots, colons and indexes, without calls and operators.
fn start_of_path(text: &str) -> usize {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let mut start = open_index(text).unwrap_or(text.len());
    while let Some(last) = text[..start].chars().next_back() {
        match last {
            // A closed index is a part of the path.
            ']' => match text[..start].rfind('[') {
                Some(open) => start = open,
                None => break,
            },
            c if is_name(c) => start -= c.len_utf8(),
            _ => break,
        }
    }
    // An operator or a number before the path: `1-var.x`.
    let rest = text[start..].trim_start_matches(|c: char| !c.is_alphabetic() && c != '_');
    text.len() - rest.len()
}

/// The start of an index at the end of a text that is not closed: `["ab`, `[0`, `[`. Another bracket begins a tuple.
fn open_index(text: &str) -> Option<usize> {
    let open = text.rfind('[')?;
    let inside = &text[open + 1..];
    let is_partial =
        inside.chars().all(|c| c.is_ascii_digit()) || inside.strip_prefix('"').is_some_and(|key| !key.contains('"'));
    let follows_name = text[..open].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ']'));
    (is_partial && follows_name).then_some(open)
}

/// A path as the part to evaluate and the partial name after its last dot, or from its last open bracket.
fn split(path: &str) -> Option<(&str, &str)> {
    if let Some(open) = open_index(path) {
        return Some((&path[..open], &path[open..]));
    }
    let dot = path.rfind('.')?;
    // A dot in a key is not one.
    let is_outside = path[dot..].chars().all(|c| c != ']' && c != '"');
    is_outside.then(|| (&path[..dot], &path[dot + 1..]))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use yuba_syntax::files::MemoryFiles;

    use super::*;
    use crate::backend::StateFlags;
    use crate::project::{Project, ProjectSettings};

    const CONFIGURATION: &str = r#"
variable "region" { default = "eu" }
variable "replicas" { default = 2 }
locals {
  tags   = { env = "prod", "a b" = "x" }
  list   = [{ port = 1 }]
  secret = sensitive({ password = "x" })
}
resource "terraform_data" "web" {
  count = 2
  input = "x"
}
data "terraform_remote_state" "net" {
  backend = "local"
}
module "vpc" {
  source = "./vpc"
}
"#;

    fn session() -> ConsoleSession {
        let mut files = MemoryFiles::default();
        files.write("main.tf", CONFIGURATION.as_bytes());
        files.write("vpc/main.tf", b"output \"subnets\" {\n  value = { a = 1 }\n}\n".as_slice());
        let sandbox = yuba_testkit::Sandbox::new("", "");
        let project = Project::new(ProjectSettings::bare(sandbox.dir())).with_files(Arc::new(files));
        let mut session = ConsoleSession::new(project);
        session.read(&StateFlags::default()).expect("the configuration is valid");
        session
    }

    #[test]
    fn names_attributes_keys_and_functions() {
        let session = session();
        for (before, expected) in [
            ("", ""),
            ("1 + uppe", "4 upper("),
            ("core::uppe", "0 core::upper("),
            ("va", "0 values( var."),
            ("terraform_", "0 terraform_data."),
            ("var.", "4 region replicas"),
            ("upper(var.reg", "10 region"),
            ("local.ta", "6 tags"),
            ("local.tags.", "11 env"),
            ("local.tags[", "10 [\"a b\"] [\"env\"]"),
            ("local.tags[\"e", "10 [\"env\"]"),
            ("local.list[", "10 [0]"),
            ("local.list[0].", "14 port"),
            ("local.secret.", "13 "),
            ("terraform_data.", "15 web"),
            ("terraform_data.web[0].i", "22 id input"),
            ("terraform_data.web.i", "19 "),
            ("data.terraform_remote_state.net.o", "32 outputs"),
            ("data.", "5 terraform_remote_state."),
            ("data.terraform_remote_state.", "28 net"),
            ("module.", "7 vpc"),
            ("module.vpc.", "11 subnets"),
            ("module.vpc.subnets.", "19 a"),
            ("path.", "5 cwd module root"),
            ("[var.rep", "5 replicas"),
            ("1-var.rep", "6 replicas"),
            ("[", "1 "),
            ("nothing.", "8 "),
            ("local.tags.env.", "15 "),
        ] {
            let (start, names) = session.complete(before);
            assert_eq!(
                format!("{start} {}", names.join(" ")),
                if expected.is_empty() { "0 " } else { expected },
                "{before}"
            );
        }
    }

    #[test]
    fn without_configuration_there_are_functions_and_fixed_names() {
        let session = ConsoleSession::new(Project::new(ProjectSettings::bare("")));
        assert_eq!(session.complete("pat"), (0, vec!["path.".to_owned(), "pathexpand(".to_owned()]));
        assert_eq!(session.complete("var."), (4, Vec::new()));
    }
}
