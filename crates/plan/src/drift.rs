//! Drift: how real objects differ from the state, attribute by attribute, without the parts that rules ignore.

use ecow::{EcoString, eco_format};
use yuba_addrs::{AbsProviderConfig, AbsResourceInstance};
use yuba_state::DeposedKey;
use yuba_value::{Value, View};

use crate::change::{Action, ResourceChange};

/// Differences between the state and the real objects.
#[derive(Clone, Debug, Default)]
pub struct Drift {
    /// Objects that changed, in order of addresses.
    pub changed: Vec<ChangedObject>,
    /// Objects that no longer exist, in order of addresses.
    pub deleted: Vec<DriftedObject>,
    /// Number of differences that rules ignore.
    pub ignored: Ignored,
    /// Rules that match neither an object nor a difference, in their order.
    pub unmatched: Vec<EcoString>,
}

/// Numbers of ignored differences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    /// Objects that differ in ignored attributes only, or that are ignored as a whole.
    pub objects: usize,
    /// Ignored attributes of reported objects.
    pub attributes: usize,
}

/// An object that differs.
#[derive(Clone, Debug)]
pub struct DriftedObject {
    /// The address of its instance.
    pub addr: AbsResourceInstance,
    /// The key of a deposed object.
    pub deposed: Option<DeposedKey>,
    /// Its provider configuration.
    pub provider: AbsProviderConfig,
}

/// An object with other attributes.
#[derive(Clone, Debug)]
pub struct ChangedObject {
    /// The object.
    pub object: DriftedObject,
    /// Attributes that differ, in order.
    pub attributes: Vec<ChangedAttribute>,
}

/// An attribute that differs.
#[derive(Clone, Debug)]
pub struct ChangedAttribute {
    /// The path: `tags.env`, `ingress[0].port`.
    pub path: EcoString,
    /// The value in the state, with marks; none if the attribute was added.
    pub before: Option<Value>,
    /// The real value, with marks; none if the attribute was removed.
    pub after: Option<Value>,
}

impl Drift {
    /// The differences that a plan has found, without those that rules ignore. `objects` are the address and the type of all objects
    /// that were compared.
    pub fn of(changes: &[ResourceChange], rules: &[IgnoreRule], objects: &[(String, EcoString)]) -> Drift {
        let mut drift = Drift::default();
        let has_object = |rule: &IgnoreRule| objects.iter().any(|(address, kind)| rule.matches_object(address, kind));
        let mut unmatched: Vec<&IgnoreRule> = rules.iter().filter(|rule| !has_object(rule)).collect();
        for change in changes {
            // A move alone is not a difference.
            if change.action == Action::NoOp {
                continue;
            }
            let address = change.addr.to_string();
            let kind = change.addr.resource.kind.as_str();
            let is_for = |rule: &&IgnoreRule| rule.matches_object(&address, kind) || rule.is_word();
            let rules: Vec<&IgnoreRule> = rules.iter().filter(is_for).collect();
            let object = DriftedObject {
                addr: change.addr.clone(),
                deposed: change.deposed.clone(),
                provider: change.provider.clone(),
            };
            if rules.iter().any(|rule| rule.attribute.is_none() && rule.matches_object(&address, kind)) {
                drift.ignored.objects += 1;
                continue;
            }
            if change.after.is_null() {
                drift.deleted.push(object);
                continue;
            }
            let mut attributes = Vec::new();
            compare(&mut EcoString::new(), Some(&change.before), Some(&change.after), &mut attributes);
            let before = attributes.len();
            unmatched.retain(|rule| !attributes.iter().any(|one| rule.is_word() && rule.matches_attribute(&one.path)));
            attributes.retain(|attribute| !rules.iter().any(|rule| rule.matches_attribute(&attribute.path)));
            let ignored = before - attributes.len();
            if attributes.is_empty() {
                // Marks alone are not a difference between the state and the object.
                drift.ignored.objects += usize::from(ignored > 0);
            } else {
                drift.ignored.attributes += ignored;
                drift.changed.push(ChangedObject { object, attributes });
            }
        }
        drift.unmatched = unmatched.into_iter().map(|rule| rule.text.clone()).collect();
        drift
    }

    /// Whether anything differs.
    pub fn is_any(&self) -> bool {
        !self.changed.is_empty() || !self.deleted.is_empty()
    }
}

/// Collects the innermost attributes that differ. A sensitive value is compared as a whole, so that not even its shape shows.
fn compare(path: &mut EcoString, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<ChangedAttribute>) {
    if let (Some(before), Some(after)) = (before, after) {
        if before.unmark_deep().0.raw_equals(&after.unmark_deep().0) {
            return;
        }
        let is_sensitive = before.marks().has_sensitive() || after.marks().has_sensitive();
        if !is_sensitive && compare_inside(path, before, after, found) {
            return;
        }
    }
    found.push(ChangedAttribute { path: path.clone(), before: before.cloned(), after: after.cloned() });
}

/// Compares the members of both values, if they can be paired. Returns whether they can.
fn compare_inside(path: &mut EcoString, before: &Value, after: &Value, found: &mut Vec<ChangedAttribute>) -> bool {
    let length = path.len();
    match (before.view_ignoring_marks(), after.view_ignoring_marks()) {
        (View::Object(_) | View::Map(_), View::Object(_) | View::Map(_)) => {
            let (before, after) = (members(before), members(after));
            let mut names: Vec<&EcoString> = before.iter().chain(&after).map(|(name, _)| *name).collect();
            names.sort_unstable();
            names.dedup();
            for name in names {
                let of = |all: &[(&EcoString, &Value)]| -> Option<Value> {
                    all.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).clone())
                };
                step(path, name);
                compare(path, of(&before).as_ref(), of(&after).as_ref(), found);
                path.truncate(length);
            }
            true
        }
        (View::List(one), View::List(two)) | (View::Tuple(one), View::Tuple(two)) if one.len() == two.len() => {
            for (index, (before, after)) in one.iter().zip(two).enumerate() {
                path.push_str(&eco_format!("[{index}]"));
                compare(path, Some(before), Some(after), found);
                path.truncate(length);
            }
            true
        }
        _ => false,
    }
}

fn members(value: &Value) -> Vec<(&EcoString, &Value)> {
    match value.view_ignoring_marks() {
        View::Map(items) => items.iter().map(|(name, item)| (name, item)).collect(),
        View::Object(items) => {
            let attrs = value.ty().attrs().unwrap_or_default();
            attrs.iter().map(|attr| &attr.name).zip(items).collect()
        }
        _ => Vec::new(),
    }
}

fn step(path: &mut EcoString, name: &str) {
    let is_word = |name: &str| {
        let first = name.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
        first && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
    };
    match is_word(name) {
        true if path.is_empty() => path.push_str(name),
        true => path.push_str(&eco_format!(".{name}")),
        false => path.push_str(&eco_format!("[{}]", yuba_value::quote(name))),
    }
}

/// A rule for differences that are expected: `TYPE`, `ATTRIBUTE`, `ADDRESS`, `TYPE:ATTRIBUTE` or `ADDRESS:ATTRIBUTE`. `*` stands for any
/// characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoreRule {
    /// The rule as it was given.
    text: EcoString,
    object: EcoString,
    /// None ignores the object as a whole.
    attribute: Option<EcoString>,
}

impl IgnoreRule {
    /// Reads a rule. The error is the end of a sentence.
    pub fn parse(text: &str) -> Result<IgnoreRule, EcoString> {
        let text = text.trim();
        let (object, attribute) = match split(text) {
            Some((object, attribute)) => (object.trim(), Some(attribute.trim())),
            None => (text, None),
        };
        if object.is_empty() {
            return Err("the type or address before the colon is empty".into());
        }
        if attribute == Some("") {
            return Err("the attribute after the colon is empty".into());
        }
        match text.chars().find(|c| c.is_whitespace()) {
            Some(_) if !text.contains('"') => Err("it contains a space".into()),
            _ => {
                let attribute = attribute.map(EcoString::from);
                Ok(IgnoreRule { text: text.into(), object: object.into(), attribute })
            }
        }
    }

    /// The rules of a file: one on each line, `#` starts a comment. An error has the number of the line.
    pub fn parse_file(text: &str) -> Result<Vec<IgnoreRule>, (usize, EcoString)> {
        let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
        let rules = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        rules.map(|(number, line)| IgnoreRule::parse(line).map_err(|reason| (number, reason))).collect()
    }

    /// Whether it is a single word: a resource type, or an attribute of any object.
    fn is_word(&self) -> bool {
        self.attribute.is_none() && !self.object.contains(['.', '['])
    }

    fn matches_object(&self, address: &str, kind: &str) -> bool {
        match self.object.contains(['.', '[']) {
            true => is_at_or_inside(&self.object, address),
            false => glob(&self.object, kind),
        }
    }

    fn matches_attribute(&self, path: &str) -> bool {
        match &self.attribute {
            Some(attribute) => is_at_or_inside(attribute, path),
            None => !self.is_word() || is_at_or_inside(&self.object, path),
        }
    }
}

/// The parts of a rule before and after the colon that is not in a quoted key.
fn split(text: &str) -> Option<(&str, &str)> {
    let mut is_quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            ':' if !is_quoted => return Some((&text[..at], &text[at + 1..])),
            _ => {}
        }
    }
    None
}

/// Whether a pattern matches a path or something around it.
fn is_at_or_inside(pattern: &str, path: &str) -> bool {
    let ends = path.char_indices().filter(|(at, c)| *at > 0 && matches!(c, '.' | '[')).map(|(at, _)| at);
    ends.chain([path.len()]).any(|end| glob(pattern, &path[..end]))
}

/// Whether a pattern with `*` for any characters matches a text.
fn glob(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match text.find(part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use yuba_value::{Mark, Type};

    use super::*;

    fn paths(before: &Value, after: &Value) -> Vec<String> {
        let mut found = Vec::new();
        compare(&mut EcoString::new(), Some(before), Some(after), &mut found);
        found.iter().map(|one| one.path.to_string()).collect()
    }

    fn object(attributes: &[(&str, Value)]) -> Value {
        Value::object(attributes.iter().map(|(name, value)| ((*name).into(), value.clone())).collect())
    }

    #[test]
    fn the_innermost_attributes_that_differ() {
        let list = |items: &[i64]| Value::list(Type::number(), items.iter().map(|one| Value::int(*one)).collect());
        let map = |key: &str, value: &str| Value::map(Type::string(), vec![(key.into(), Value::string(value))]);
        let set = |item: &str| Value::set(Type::string(), vec![Value::string(item)]);
        let check = |before: &[(&str, Value)], after: &[(&str, Value)], expected: &[&str]| {
            assert_eq!(paths(&object(before), &object(after)), expected);
        };
        check(&[("a", list(&[1, 2]))], &[("a", list(&[1, 3]))], &["a[1]"]);
        check(&[("a", list(&[1]))], &[("a", list(&[1, 3]))], &["a"]);
        check(&[("a", map("k", "x"))], &[("a", map("k", "y"))], &["a.k"]);
        check(&[("a", map("k x", "x"))], &[("a", map("l", "y"))], &["a[\"k x\"]", "a.l"]);
        check(&[("a", set("x"))], &[("a", set("y"))], &["a"]);
        check(&[("a", Value::int(1))], &[("a", Value::int(1).mark(Mark::Sensitive))], &[]);
        let secret = |value: &str| map("k", value).mark(Mark::Sensitive);
        check(&[("a", secret("x"))], &[("a", secret("y"))], &["a"]);
    }

    #[test]
    fn rules_match_types_addresses_and_attributes() {
        for (rule, address, attribute, expected) in [
            ("aws_x:*", "aws_x.a", "tags", true),
            ("aws_*:*", "module.m.aws_x.a[0]", "tags", true),
            ("aws_x", "aws_xy.a", "tags", false),
            ("aws_x:tags", "aws_x.a", "tags", true),
            ("aws_x:tags", "aws_x.a", "tags.env", true),
            ("aws_x:tags", "aws_x.a", "tags_all.env", false),
            ("aws_x:tags.env", "aws_x.a", "tags", false),
            ("*:tags.*", "aws_x.a", "tags.env", true),
            ("*:disk[*].size", "aws_x.a", "disk[3].size", true),
            ("*:disk[*].size", "aws_x.a", "disk[3].type", false),
            ("aws_x.a", "aws_x.a[\"k\"]", "tags", true),
            ("aws_x.a[\"k:1\"]:tags", "aws_x.a[\"k:1\"]", "tags", true),
            ("aws_x.a[0]", "aws_x.a[1]", "tags", false),
            ("aws_x.a", "aws_x.ab", "tags", false),
            ("module.m", "module.m.aws_x.a", "tags", true),
            ("module.m", "module.m[0].module.n.aws_x.a", "tags", true),
            ("module.*.aws_x.a:id", "module.m.aws_x.a", "id", true),
        ] {
            let parsed = IgnoreRule::parse(rule).expect("the rule is valid");
            let kind = if address.contains("aws_xy") { "aws_xy" } else { "aws_x" };
            let matches = parsed.matches_object(address, kind) && parsed.matches_attribute(attribute);
            assert_eq!(matches, expected, "{rule} {address} {attribute}");
        }
    }

    #[test]
    fn files_have_rules_and_comments() {
        let rules = IgnoreRule::parse_file("# expected\n\naws_x:tags\n  module.m  \n").expect("the rules are valid");
        assert_eq!(rules.len(), 2);
        let refused = |text| IgnoreRule::parse_file(text).map_err(|(line, reason)| format!("{line}: {reason}"));
        assert_eq!(refused("aws_x\n:tags"), Err("2: the type or address before the colon is empty".to_owned()));
        assert_eq!(refused("aws_x:"), Err("1: the attribute after the colon is empty".to_owned()));
        assert_eq!(refused("aws_x tags"), Err("1: it contains a space".to_owned()));
    }

    #[test]
    fn a_word_is_a_type_or_an_attribute_and_unmatched_rules_are_named() {
        let differ = |address: &str, name: &str| {
            let file = yuba_syntax::FileId(0);
            let value = |text: &str| object(&[(name, Value::string(text)), ("size", Value::string(text))]);
            ResourceChange {
                addr: AbsResourceInstance::parse_text(file, address).expect("the address is valid"),
                moved_from: None,
                deposed: None,
                provider: AbsProviderConfig {
                    module: yuba_addrs::ModulePath::ROOT,
                    provider: yuba_addrs::ProviderSource::builtin("terraform"),
                    alias: None,
                },
                provider_key: None,
                action: Action::Update,
                reason: crate::change::ActionReason::None,
                before: value("old"),
                after: value("new"),
                private: [].into(),
                identity: None,
                required_replace: Vec::new(),
                importing: None,
                generated_config: None,
            }
        };
        let changes = [differ("aws_x.a", "tags"), differ("aws_y.b", "tags"), differ("aws_z.c", "name")];
        let objects: Vec<(String, EcoString)> =
            [("aws_x.a", "aws_x"), ("aws_y.b", "aws_y"), ("aws_z.c", "aws_z"), ("aws_q.d", "aws_q")]
                .map(|(address, kind)| (address.to_owned(), kind.into()))
                .to_vec();
        let rules: Vec<IgnoreRule> = ["tags", "aws_y", "aws_q", "aws_q.d:size", "tag", "module.none", "aws_r:size"]
            .map(|rule| IgnoreRule::parse(rule).expect("the rule is valid"))
            .to_vec();
        let drift = Drift::of(&changes, &rules, &objects);
        let left: Vec<Vec<&str>> =
            drift.changed.iter().map(|one| one.attributes.iter().map(|one| one.path.as_str()).collect()).collect();
        assert_eq!(left, [vec!["size"], vec!["name", "size"]]);
        assert_eq!(drift.ignored, Ignored { objects: 1, attributes: 1 });
        assert_eq!(drift.unmatched, ["tag", "module.none", "aws_r:size"]);
    }
}
