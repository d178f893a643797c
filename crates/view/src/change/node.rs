//! Values without their types: lists, sets and tuples are sequences, maps and objects have members. Texts that hold JSON
//! become the same kind of tree.

use ecow::EcoString;
use yuba_provider::schema::AttributeType;
use yuba_provider::{Attribute, BlockSchema, NestedAttribute, Nesting};
use yuba_value::{Value, View};

/// A value, and whether it must not be shown.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) data: Data,
    pub(crate) sensitive: bool,
}

/// Kind of a value.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    Null,
    Unknown,
    Bool(bool),
    Number(EcoString),
    Text(EcoString),
    Sequence(Vec<Node>),
    /// In order of names.
    Members(Vec<(EcoString, Node)>),
}

/// The kind of a value without a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    Number,
    Text,
    Sequence,
    Members,
}

impl From<Data> for Node {
    fn from(data: Data) -> Node {
        Node { data, sensitive: false }
    }
}

impl Node {
    /// Of a value; what is marked must not be shown.
    pub(crate) fn of(value: &Value) -> Node {
        Node::with(value, &|_, item| Node::of(item))
    }

    /// The node of an object with a schema. Attributes that the schema declares sensitive are hidden.
    pub(crate) fn of_block(value: &Value, schema: &BlockSchema) -> Node {
        Node::with(value, &|name, item| {
            if let Some(attribute) = schema.attributes().get(name) {
                return Node::of_attribute(item, attribute);
            }
            match schema.blocks().get(name) {
                Some(nested) => Node::nested(item, nested.nesting, &|item| Node::of_block(item, &nested.block)),
                None => Node::of(item),
            }
        })
    }

    fn of_attribute(value: &Value, schema: &Attribute) -> Node {
        let mut node = match &schema.ty {
            AttributeType::Plain(_) => Node::of(value),
            AttributeType::Nested(nested) => {
                Node::nested(value, nested.nesting, &|item| Node::of_nested_attribute(item, nested))
            }
        };
        node.sensitive |= schema.sensitive;
        node
    }

    fn of_nested_attribute(value: &Value, schema: &NestedAttribute) -> Node {
        Node::with(value, &|name, item| match schema.attributes.get(name) {
            Some(attribute) => Node::of_attribute(item, attribute),
            None => Node::of(item),
        })
    }

    fn nested(value: &Value, nesting: Nesting, object: &dyn Fn(&Value) -> Node) -> Node {
        match nesting {
            Nesting::Single | Nesting::Group => object(value),
            Nesting::List | Nesting::Set | Nesting::Map => Node::with(value, &|_, item| object(item)),
        }
    }

    fn with(value: &Value, child: &dyn Fn(&str, &Value) -> Node) -> Node {
        let data = match value.view_ignoring_marks() {
            View::Null => Data::Null,
            View::Unknown(_) => Data::Unknown,
            View::Bool(value) => Data::Bool(value),
            View::Number(number) => Data::Number(ecow::eco_format!("{number}")),
            View::String(text) => Data::Text(text.clone()),
            View::List(items) | View::Set(items) | View::Tuple(items) => {
                Data::Sequence(items.iter().map(|item| child("", item)).collect())
            }
            View::Map(items) => {
                Data::Members(items.iter().map(|(key, item)| (key.clone(), child(key, item))).collect())
            }
            View::Object(items) => {
                let names = value.ty().attrs().unwrap_or_default().iter().map(|attr| attr.name.clone());
                Data::Members(names.zip(items).map(|(name, item)| (name.clone(), child(&name, item))).collect())
            }
        };
        let marks = value.marks();
        Node { data, sensitive: marks.has_sensitive() || marks.has_ephemeral() }
    }

    /// It has no parts to show: null, or unknown.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self.data, Data::Null | Data::Unknown)
    }
    pub(crate) fn is_unknown(&self) -> bool {
        matches!(self.data, Data::Unknown)
    }
    pub(crate) fn as_text(&self) -> Option<&EcoString> {
        match &self.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }
    pub(crate) fn as_sequence(&self) -> Option<&[Node]> {
        match &self.data {
            Data::Sequence(items) => Some(items),
            _ => None,
        }
    }
    pub(crate) fn as_members(&self) -> Option<&[(EcoString, Node)]> {
        match &self.data {
            Data::Members(items) => Some(items),
            _ => None,
        }
    }
    /// A member by name.
    pub(crate) fn member(&self, name: &str) -> Option<&Node> {
        let members = self.as_members()?;
        members.binary_search_by(|(key, _)| key.as_str().cmp(name)).ok().map(|at| &members[at].1)
    }
    pub(crate) fn kind(&self) -> Kind {
        match &self.data {
            Data::Null | Data::Unknown => Kind::Null,
            Data::Bool(_) => Kind::Bool,
            Data::Number(_) => Kind::Number,
            Data::Text(_) => Kind::Text,
            Data::Sequence(_) => Kind::Sequence,
            Data::Members(_) => Kind::Members,
        }
    }

    /// Whether two values are the same as far as they are known: an unknown value is null in a sequence and is missing
    /// among members.
    pub(crate) fn same(&self, other: &Node) -> bool {
        match (&self.data, &other.data) {
            (Data::Bool(a), Data::Bool(b)) => a == b,
            (Data::Number(a), Data::Number(b)) | (Data::Text(a), Data::Text(b)) => a == b,
            (Data::Sequence(a), Data::Sequence(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
            (Data::Members(a), Data::Members(b)) => known(a).eq_by_name(known(b)),
            (a, b) => matches!((a, b), (Data::Null | Data::Unknown, Data::Null | Data::Unknown)),
        }
    }

    /// A text that two values have in common exactly if they are the same.
    pub(crate) fn fingerprint(&self, out: &mut String) {
        let text = |out: &mut String, tag: char, text: &str| {
            out.push(tag);
            out.push_str(&text.len().to_string());
            out.push(':');
            out.push_str(text);
        };
        match &self.data {
            Data::Null | Data::Unknown => out.push('n'),
            Data::Bool(value) => out.push(if *value { 't' } else { 'f' }),
            Data::Number(number) => text(out, '#', number),
            Data::Text(content) => text(out, '"', content),
            Data::Sequence(items) => {
                out.push('[');
                items.iter().for_each(|item| item.fingerprint(out));
                out.push(']');
            }
            Data::Members(members) => {
                out.push('{');
                for (name, item) in members.iter().filter(|(_, item)| !item.is_unknown()) {
                    text(out, '=', name);
                    item.fingerprint(out);
                }
                out.push('}');
            }
        }
    }
}

struct Known<I>(I);

fn known(members: &[(EcoString, Node)]) -> Known<impl Iterator<Item = &(EcoString, Node)>> {
    Known(members.iter().filter(|(_, item)| !item.is_unknown()))
}

impl<'a, I: Iterator<Item = &'a (EcoString, Node)>> Known<I> {
    fn eq_by_name(mut self, mut other: Known<impl Iterator<Item = &'a (EcoString, Node)>>) -> bool {
        loop {
            match (self.0.next(), other.0.next()) {
                (None, None) => return true,
                (Some((a, x)), Some((b, y))) if a == b && x.same(y) => {}
                _ => return false,
            }
        }
    }
}
