//! Tokens to values.

use std::collections::HashMap;

use ecow::{EcoString, eco_format};

use super::scalar::{self, Style, TAG_PREFIX};
use super::scanner::{MAX_DEPTH, Scanner, Token};
use crate::{Type, Value, convert};

type Result<T> = std::result::Result<T, EcoString>;

/// Aliases may repeat this many values in all: a short text can stand for astronomically many.
const MAX_REPEATED: usize = 1_000_000;

/// Reads the only document of a text.
pub(super) fn decode(text: &str) -> Result<Value> {
    let mut parser =
        Parser { tokens: Scanner::new(text)?, tags: Vec::new(), anchors: HashMap::new(), repeated: 0, depth: 0 };
    let value = parser.document()?;
    while *parser.tokens.peek()? == Token::DocumentEnd {
        parser.tokens.next()?;
    }
    match parser.tokens.peek()? {
        Token::StreamEnd => Ok(value),
        Token::DocumentStart | Token::Version(..) | Token::TagDirective { .. } => {
            Err(parser.tokens.error_at_token("only a single document is allowed"))
        }
        _ => Err(parser.tokens.error_at_token("there is something after the end of the document")),
    }
}

/// A value and how many values are in it.
#[derive(Clone)]
struct Node {
    value: Value,
    size: usize,
}

/// Value of an anchor.
enum Anchored {
    /// Its definition has begun so many times and not ended.
    Pending(usize),
    Done(Node),
}

struct Parser {
    tokens: Scanner,
    /// Handles of tags and what they stand for.
    tags: Vec<(String, String)>,
    anchors: HashMap<String, Anchored>,
    repeated: usize,
    depth: usize,
}

/// The beginning of a node: all there is to an alias or scalar.
struct Head {
    anchor: Option<String>,
    tag: String,
    content: Content,
}

enum Content {
    Alias(String),
    Scalar { text: String, style: Style },
    Indentless,
    BlockSequence,
    BlockMapping,
    FlowSequence,
    FlowMapping,
}

impl Content {
    fn empty() -> Content {
        Content::Scalar { text: String::new(), style: Style::Plain }
    }
}

impl Head {
    fn empty() -> Head {
        Head { anchor: None, tag: String::new(), content: Content::empty() }
    }
}

/// Possible nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Allowed {
    Flow,
    Block,
    /// Also a sequence whose dashes stand below the key.
    BlockOrIndentless,
}

impl Parser {
    fn document(&mut self) -> Result<Value> {
        let explicit = match self.tokens.peek()? {
            Token::StreamEnd => return Err("the string contains no YAML document".into()),
            Token::Version(..) | Token::TagDirective { .. } | Token::DocumentStart => true,
            _ => false,
        };
        self.directives()?;
        if explicit {
            if self.tokens.next()? != Token::DocumentStart {
                return Err(self.tokens.error_at_token("'---' is expected after directives"));
            }
            if matches!(
                self.tokens.peek()?,
                Token::Version(..)
                    | Token::TagDirective { .. }
                    | Token::DocumentStart
                    | Token::DocumentEnd
                    | Token::StreamEnd
            ) {
                return Ok(self.node(Head::empty())?.value);
            }
        }
        let head = self.head(Allowed::Block)?;
        Ok(self.node(head)?.value)
    }

    fn directives(&mut self) -> Result<()> {
        let mut versioned = false;
        loop {
            match self.tokens.peek()? {
                Token::Version(major, minor) => {
                    if versioned || (*major, *minor) != (1, 1) {
                        return Err(self.tokens.error_at_token("a %YAML directive can only say 1.1, and only once"));
                    }
                    versioned = true;
                    self.tokens.next()?;
                }
                Token::TagDirective { .. } => {
                    if let Token::TagDirective { handle, prefix } = self.tokens.next()? {
                        if self.tags.iter().any(|(other, _)| *other == handle) {
                            return Err(self
                                .tokens
                                .error_at_token(eco_format!("the tag handle {handle} is declared twice")));
                        }
                        self.tags.push((handle, prefix));
                    }
                }
                _ => break,
            }
        }
        for (handle, prefix) in [("!", "!"), ("!!", TAG_PREFIX)] {
            if !self.tags.iter().any(|(other, _)| other == handle) {
                self.tags.push((handle.to_owned(), prefix.to_owned()));
            }
        }
        Ok(())
    }

    fn head(&mut self, allowed: Allowed) -> Result<Head> {
        let mut head = Head::empty();
        let mut tagged = false;
        if matches!(self.tokens.peek()?, Token::Alias(_)) {
            if let Token::Alias(name) = self.tokens.next()? {
                head.content = Content::Alias(name);
            }
            return Ok(head);
        }
        loop {
            match self.tokens.peek()? {
                Token::Anchor(_) if head.anchor.is_none() => {
                    if let Token::Anchor(name) = self.tokens.next()? {
                        head.anchor = Some(name);
                    }
                }
                Token::Tag { .. } if !tagged => {
                    tagged = true;
                    if let Token::Tag { handle, suffix } = self.tokens.next()? {
                        head.tag = self.resolve_tag(&handle, &suffix)?;
                    }
                }
                _ => break,
            }
        }
        let block = allowed != Allowed::Flow;
        head.content = match self.tokens.peek()? {
            Token::BlockEntry if allowed == Allowed::BlockOrIndentless => Content::Indentless,
            Token::Scalar { .. } => match self.tokens.next()? {
                Token::Scalar { text, style } => Content::Scalar { text, style },
                _ => Content::empty(),
            },
            Token::FlowSequenceStart => Content::FlowSequence,
            Token::FlowMappingStart => Content::FlowMapping,
            Token::BlockSequenceStart if block => Content::BlockSequence,
            Token::BlockMappingStart if block => Content::BlockMapping,
            _ if head.anchor.is_some() || tagged => Content::empty(),
            _ => return Err(self.tokens.error_at_token("a value is expected")),
        };
        Ok(head)
    }

    fn resolve_tag(&self, handle: &str, suffix: &str) -> Result<String> {
        if handle.is_empty() {
            return Ok(suffix.to_owned());
        }
        let prefix = self.tags.iter().find(|(other, _)| other == handle).map(|(_, prefix)| prefix);
        match prefix {
            Some(prefix) => Ok(format!("{prefix}{suffix}")),
            None => Err(self.tokens.error_at_token(eco_format!("the tag handle {handle} is not declared"))),
        }
    }

    /// The node that begins with this head, whose first token is still to be taken if it is a collection.
    fn node(&mut self, head: Head) -> Result<Node> {
        if let Content::Alias(name) = &head.content {
            return self.alias(name);
        }
        if let Some(name) = &head.anchor {
            match self.anchors.get_mut(name) {
                Some(Anchored::Pending(count)) => *count += 1,
                _ => drop(self.anchors.insert(name.clone(), Anchored::Pending(1))),
            }
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.tokens.error_at_token("values are nested too deeply"));
        }
        let node = match head.content {
            Content::Scalar { text, style } => {
                let value = self.scalar(&head.tag, &text, style)?;
                Node { value, size: 1 }
            }
            Content::BlockMapping | Content::FlowMapping => {
                self.check_tag(&head.tag, "map", "a mapping")?;
                let flow = matches!(head.content, Content::FlowMapping);
                if flow { self.flow_mapping()? } else { self.block_mapping()? }
            }
            content => {
                self.check_tag(&head.tag, "seq", "a sequence")?;
                match content {
                    Content::BlockSequence => self.block_sequence()?,
                    Content::FlowSequence => self.flow_sequence()?,
                    _ => self.indentless_sequence()?,
                }
            }
        };
        self.depth -= 1;
        if let Some(name) = head.anchor {
            match self.anchors.get_mut(&name) {
                // An outer anchor of the same name is still being defined.
                Some(Anchored::Pending(count)) if *count > 1 => *count -= 1,
                _ => drop(self.anchors.insert(name, Anchored::Done(node.clone()))),
            }
        }
        Ok(node)
    }

    fn check_tag(&self, tag: &str, wanted: &str, what: &str) -> Result<()> {
        match tag.is_empty() || tag.strip_prefix(TAG_PREFIX) == Some(wanted) {
            true => Ok(()),
            false => Err(self.tokens.error_at_token(eco_format!("{what} cannot be read as {tag}"))),
        }
    }

    fn alias(&mut self, name: &str) -> Result<Node> {
        let node = match self.anchors.get(name) {
            Some(Anchored::Done(node)) => node.clone(),
            Some(Anchored::Pending(_)) => {
                return Err(self.tokens.error_at_token(eco_format!("the anchor {name:?} refers to itself")));
            }
            None => return Err(self.tokens.error_at_token(eco_format!("there is no anchor {name:?}"))),
        };
        self.repeated = self.repeated.saturating_add(node.size);
        if self.repeated > MAX_REPEATED {
            return Err(self.tokens.error_at_token("aliases repeat too many values"));
        }
        Ok(node)
    }

    fn scalar(&self, tag: &str, text: &str, style: Style) -> Result<Value> {
        let value = scalar::resolve(tag, text, style).map_err(|problem| self.tokens.error_at_token(problem))?;
        if tag.is_empty() && style == Style::Block {
            // Quirk: a block text that looks like a number, truth value or null is read as such and then made a text.
            return convert::convert(&value, &Type::string())
                .map_err(|problem| self.tokens.error_at_token(problem.message));
        }
        Ok(value)
    }

    // ---- sequences --------------------------------------------------------------------------------------------------

    fn block_sequence(&mut self) -> Result<Node> {
        self.tokens.next()?;
        let mut items = Vec::new();
        loop {
            match self.tokens.next()? {
                Token::BlockEntry => {
                    let empty = matches!(self.tokens.peek()?, Token::BlockEntry | Token::BlockEnd);
                    items.push(self.optional((!empty).then_some(Allowed::Block))?);
                }
                Token::BlockEnd => return Ok(sequence(items)),
                _ => return Err(self.tokens.error_at_token("'-' is expected before each item of a list")),
            }
        }
    }

    fn indentless_sequence(&mut self) -> Result<Node> {
        let mut items = Vec::new();
        while *self.tokens.peek()? == Token::BlockEntry {
            self.tokens.next()?;
            let empty = matches!(self.tokens.peek()?, Token::BlockEntry | Token::Key | Token::Value | Token::BlockEnd);
            items.push(self.optional((!empty).then_some(Allowed::Block))?);
        }
        Ok(sequence(items))
    }

    fn flow_sequence(&mut self) -> Result<Node> {
        self.tokens.next()?;
        let mut items = Vec::new();
        loop {
            if *self.tokens.peek()? != Token::FlowSequenceEnd && !items.is_empty() {
                if *self.tokens.peek()? != Token::FlowEntry {
                    return Err(self.tokens.error_at_token("',' or ']' is expected"));
                }
                self.tokens.next()?;
            }
            match self.tokens.peek()? {
                Token::FlowSequenceEnd => {
                    self.tokens.next()?;
                    return Ok(sequence(items));
                }
                Token::Key => {
                    self.tokens.next()?;
                    items.push(self.pair()?);
                }
                _ => {
                    let head = self.head(Allowed::Flow)?;
                    items.push(self.node(head)?);
                }
            }
        }
    }

    /// `key: value` as an item of a sequence in brackets, after its key token: a mapping of one entry.
    fn pair(&mut self) -> Result<Node> {
        let mut entries = Entries::default();
        let no_key = matches!(self.tokens.peek()?, Token::Value | Token::FlowEntry | Token::FlowSequenceEnd);
        let head = if no_key {
            // Quirk: the token that shows the lack of a key is lost.
            self.tokens.next()?;
            Head::empty()
        } else {
            self.head(Allowed::Flow)?
        };
        let key = self.key(head)?;
        let mut empty = true;
        if *self.tokens.peek()? == Token::Value {
            self.tokens.next()?;
            empty = matches!(self.tokens.peek()?, Token::FlowEntry | Token::FlowSequenceEnd);
        }
        let value = self.optional((!empty).then_some(Allowed::Flow))?;
        self.insert(&mut entries, key, value)?;
        Ok(entries.finish())
    }

    /// The next node; an empty one where none is allowed.
    fn optional(&mut self, allowed: Option<Allowed>) -> Result<Node> {
        let head = allowed.map_or_else(|| Ok(Head::empty()), |allowed| self.head(allowed))?;
        self.node(head)
    }

    // ---- mappings ---------------------------------------------------------------------------------------------------

    fn block_mapping(&mut self) -> Result<Node> {
        self.tokens.next()?;
        let mut entries = Entries::default();
        loop {
            match self.tokens.next()? {
                Token::Key => {}
                Token::BlockEnd => return Ok(entries.finish()),
                _ => return Err(self.tokens.error_at_token("a key is expected")),
            }
            let empty = matches!(self.tokens.peek()?, Token::Key | Token::Value | Token::BlockEnd);
            let head = if empty { Head::empty() } else { self.head(Allowed::BlockOrIndentless)? };
            let key = self.key(head)?;
            let mut empty = true;
            if *self.tokens.peek()? == Token::Value {
                self.tokens.next()?;
                empty = matches!(self.tokens.peek()?, Token::Key | Token::Value | Token::BlockEnd);
            }
            let value = self.optional((!empty).then_some(Allowed::BlockOrIndentless))?;
            self.insert(&mut entries, key, value)?;
        }
    }

    fn flow_mapping(&mut self) -> Result<Node> {
        self.tokens.next()?;
        let mut entries = Entries::default();
        let mut first = true;
        loop {
            if *self.tokens.peek()? != Token::FlowMappingEnd && !first {
                if *self.tokens.peek()? != Token::FlowEntry {
                    return Err(self.tokens.error_at_token("',' or '}' is expected"));
                }
                self.tokens.next()?;
            }
            first = false;
            let mut explicit = false;
            let head = match self.tokens.peek()? {
                Token::FlowMappingEnd => {
                    self.tokens.next()?;
                    return Ok(entries.finish());
                }
                Token::Key => {
                    explicit = true;
                    self.tokens.next()?;
                    let empty = matches!(self.tokens.peek()?, Token::Value | Token::FlowEntry | Token::FlowMappingEnd);
                    if empty { Head::empty() } else { self.head(Allowed::Flow)? }
                }
                _ => self.head(Allowed::Flow)?,
            };
            let key = self.key(head)?;
            let mut empty = true;
            if explicit && *self.tokens.peek()? == Token::Value {
                self.tokens.next()?;
                empty = matches!(self.tokens.peek()?, Token::FlowEntry | Token::FlowMappingEnd);
            }
            let value = self.optional((!empty).then_some(Allowed::Flow))?;
            self.insert(&mut entries, key, value)?;
        }
    }

    /// The key of an entry; `None` for the one that merges other mappings.
    fn key(&mut self, head: Head) -> Result<Option<EcoString>> {
        let Content::Scalar { text, style } = head.content else {
            return Err(self.tokens.error_at_token("only strings are allowed as mapping keys"));
        };
        if (head.tag.is_empty() && text == "<<") || head.tag.strip_prefix(TAG_PREFIX) == Some("merge") {
            return Ok(None);
        }
        // Quirk: an anchor on a key is ignored.
        let value = scalar::resolve(&head.tag, &text, style).map_err(|problem| self.tokens.error_at_token(problem))?;
        let key =
            convert::convert(&value, &Type::string()).map_err(|problem| self.tokens.error_at_token(problem.message))?;
        match key.as_str() {
            Some(key) => Ok(Some(key.clone())),
            None => Err(self.tokens.error_at_token("a mapping key cannot be null")),
        }
    }

    fn insert(&mut self, entries: &mut Entries, key: Option<EcoString>, node: Node) -> Result<()> {
        entries.size = entries.size.saturating_add(node.size);
        if let Some(key) = key {
            entries.entries.push((key, node.value));
            return Ok(());
        }
        // Quirk: what is merged wins over what stands before it.
        let values = if node.value.ty().is_tuple() {
            node.value.as_seq().unwrap_or_default()
        } else {
            std::slice::from_ref(&node.value)
        };
        for value in values {
            match value.entries() {
                Some(merged) => entries.entries.extend(merged),
                None => return Err(self.tokens.error_at_token("only mappings can be merged into a mapping")),
            }
        }
        Ok(())
    }
}

#[derive(Default)]
struct Entries {
    entries: Vec<(EcoString, Value)>,
    size: usize,
}

impl Entries {
    /// Of equal keys the last one counts.
    fn finish(self) -> Node {
        Node { value: Value::object(self.entries), size: self.size.saturating_add(1) }
    }
}

fn sequence(items: Vec<Node>) -> Node {
    let size = items.iter().fold(1usize, |size, item| size.saturating_add(item.size));
    Node { value: Value::tuple(items.into_iter().map(|item| item.value).collect()), size }
}
