//! The syntax of CLI configuration files: the first version of HCL, where keys may be quoted and a block is just an
//! object, and its form in JSON. Both become the same tree.

use serde_json::Value as Json;

/// Maximum nesting of objects and lists.
const DEEPEST: usize = 64;

/// Location: line and column, counted from one. None in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LineColumn {
    pub(super) line: u32,
    pub(super) column: u32,
}

impl std::fmt::Display for LineColumn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Text(String),
    Number(f64),
    Bool(bool),
    Null,
    List(Vec<Node>),
    Object(Vec<Item>),
}

/// `key = value`, or `key "label" { ... }`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    pub(super) keys: Vec<String>,
    /// With an equals sign, which a block does not have. Unknown in JSON.
    pub(super) is_assigned: bool,
    pub(super) value: Node,
    pub(super) position: LineColumn,
}

impl Node {
    /// Its name.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Node::Text(_) => "a string",
            Node::Number(_) => "a number",
            Node::Bool(_) => "a boolean",
            Node::Null => "null",
            Node::List(_) => "a list",
            Node::Object(_) => "an object",
        }
    }

    /// As JSON, for what is passed on.
    pub(super) fn to_json(&self) -> Json {
        match self {
            Node::Text(text) => Json::String(text.clone()),
            Node::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => Json::from(*number as i64),
            Node::Number(number) => Json::from(*number),
            Node::Bool(value) => Json::Bool(*value),
            Node::Null => Json::Null,
            Node::List(nodes) => Json::Array(nodes.iter().map(Node::to_json).collect()),
            Node::Object(items) => {
                let mut object = serde_json::Map::new();
                for item in items {
                    let (first, rest) = match item.keys.split_first() {
                        Some(split) => split,
                        None => continue,
                    };
                    let value = rest.iter().rev().fold(item.value.to_json(), |value, key| {
                        Json::Object([(key.clone(), value)].into_iter().collect())
                    });
                    object.insert(first.clone(), value);
                }
                Json::Object(object)
            }
        }
    }
}

/// Error in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Malformed {
    pub(super) position: LineColumn,
    pub(super) reason: String,
}

/// Reads a file. One that begins with a brace is JSON.
pub(super) fn parse(text: &str) -> Result<Vec<Item>, Malformed> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with('{') {
        return parse_json(text);
    }
    let text = text.replace("\r\n", "\n");
    let mut parser = Parser { text: &text, at: 0, line: 1, line_start: 0, depth: 0 };
    parser.items(None)
}

fn parse_json(text: &str) -> Result<Vec<Item>, Malformed> {
    let parsed: Json = serde_json::from_str(text).map_err(|error| Malformed {
        position: LineColumn { line: error.line() as u32, column: error.column() as u32 },
        reason: format!("this is not valid JSON: {error}"),
    })?;
    match from_json(&parsed) {
        Node::Object(items) => Ok(items),
        _ => Err(Malformed { position: LineColumn::default(), reason: "a JSON object is needed".to_owned() }),
    }
}

fn from_json(json: &Json) -> Node {
    match json {
        Json::Null => Node::Null,
        Json::Bool(value) => Node::Bool(*value),
        Json::Number(number) => Node::Number(number.as_f64().unwrap_or_default()),
        Json::String(text) => Node::Text(text.clone()),
        Json::Array(list) => Node::List(list.iter().map(from_json).collect()),
        Json::Object(object) => {
            let item = |(key, value): (&String, &Json)| Item {
                keys: vec![key.clone()],
                is_assigned: false,
                value: from_json(value),
                position: LineColumn::default(),
            };
            Node::Object(object.iter().map(item).collect())
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    line_start: usize,
    depth: usize,
}

type Parsed<T> = Result<T, Malformed>;

impl<'a> Parser<'a> {
    fn position(&self) -> LineColumn {
        let column = self.text[self.line_start..self.at].chars().count() as u32 + 1;
        LineColumn { line: self.line, column }
    }

    fn wrong<T>(&self, reason: impl Into<String>) -> Parsed<T> {
        Err(Malformed { position: self.position(), reason: reason.into() })
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn take(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        if next == '\n' {
            self.line += 1;
            self.line_start = self.at;
        }
        Some(next)
    }

    fn skip(&mut self, bytes: usize) {
        let end = self.at + bytes;
        while self.at < end && self.take().is_some() {}
    }

    /// Passes white space and comments.
    fn space(&mut self) -> Parsed<()> {
        loop {
            match self.peek() {
                Some(next) if next.is_whitespace() => drop(self.take()),
                Some('#') => self.skip(self.rest().find('\n').unwrap_or(self.rest().len())),
                Some('/') if self.rest().starts_with("//") => {
                    self.skip(self.rest().find('\n').unwrap_or(self.rest().len()));
                }
                Some('/') if self.rest().starts_with("/*") => match self.rest().find("*/") {
                    Some(end) => self.skip(end + 2),
                    None => return self.wrong("this comment has no end"),
                },
                _ => return Ok(()),
            }
        }
    }

    /// Items up to the end of the file, or up to a brace.
    fn items(&mut self, open: Option<LineColumn>) -> Parsed<Vec<Item>> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.wrong("blocks are nested too deeply");
        }
        let mut items = Vec::new();
        loop {
            self.space()?;
            match (self.peek(), open) {
                (None, None) => break,
                (None, Some(position)) => {
                    return Err(Malformed { position, reason: "this brace is never closed".to_owned() });
                }
                (Some('}'), Some(_)) => {
                    self.take();
                    break;
                }
                (Some(','), _) if !items.is_empty() => drop(self.take()),
                _ => items.push(self.item()?),
            }
        }
        self.depth -= 1;
        Ok(items)
    }

    fn item(&mut self) -> Parsed<Item> {
        let position = self.position();
        let mut keys = Vec::new();
        loop {
            self.space()?;
            match self.peek() {
                Some('=') if keys.len() == 1 => {
                    self.take();
                    self.space()?;
                    let value = self.value()?;
                    return Ok(Item { keys, is_assigned: true, value, position });
                }
                Some('=') if !keys.is_empty() => {
                    return self.wrong("a block with labels must not have an equals sign; a brace is expected here");
                }
                Some('{') if !keys.is_empty() => {
                    let open = self.position();
                    self.take();
                    let value = Node::Object(self.items(Some(open))?);
                    return Ok(Item { keys, is_assigned: false, value, position });
                }
                Some('"') => keys.push(self.text()?),
                Some(next) if next.is_alphabetic() || next == '_' => keys.push(self.word().to_owned()),
                Some(next) if keys.is_empty() => {
                    return self
                        .wrong(format!("{next:?} is unexpected; the name of a setting or of a block is expected"));
                }
                _ => return self.wrong(format!("an equals sign or a brace is expected after {:?}", keys.join(" "))),
            }
        }
    }

    fn word(&mut self) -> &'a str {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let length = self.rest().find(|c| !is_part(c)).unwrap_or(self.rest().len());
        let word = &self.rest()[..length];
        self.at += length;
        word
    }

    fn value(&mut self) -> Parsed<Node> {
        match self.peek() {
            Some('"') => self.text().map(Node::Text),
            Some('[') => self.list(),
            Some('{') => {
                let open = self.position();
                self.take();
                Ok(Node::Object(self.items(Some(open))?))
            }
            Some('<') if self.rest().starts_with("<<") => self.heredoc().map(Node::Text),
            Some(next) if next.is_ascii_digit() || next == '-' => {
                let length = self.rest().find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)));
                let text = &self.rest()[..length.unwrap_or(self.rest().len())];
                match text.parse::<f64>() {
                    Ok(number) if number.is_finite() => {
                        self.skip(text.len());
                        Ok(Node::Number(number))
                    }
                    _ => self.wrong(format!("{text:?} is not a number")),
                }
            }
            Some(next) if next.is_alphabetic() => {
                let start = self.at;
                match self.word() {
                    "true" => Ok(Node::Bool(true)),
                    "false" => Ok(Node::Bool(false)),
                    word => {
                        self.at = start;
                        self.wrong(format!("{word:?} is not a value; write strings in quotes"))
                    }
                }
            }
            _ => self.wrong("a value is expected here"),
        }
    }

    fn list(&mut self) -> Parsed<Node> {
        let open = self.position();
        self.take();
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.wrong("lists are nested too deeply");
        }
        let mut nodes = Vec::new();
        let mut needs_comma = false;
        loop {
            self.space()?;
            match self.peek() {
                None => return Err(Malformed { position: open, reason: "this list has no end".to_owned() }),
                Some(']') => {
                    self.take();
                    break;
                }
                Some(',') if needs_comma => {
                    self.take();
                    needs_comma = false;
                }
                Some(_) if needs_comma => return self.wrong("a comma or the end of the list is expected here"),
                Some(_) => {
                    nodes.push(self.value()?);
                    needs_comma = true;
                }
            }
        }
        self.depth -= 1;
        Ok(Node::List(nodes))
    }

    /// A string in quotes. The content of `${ }` is literal.
    fn text(&mut self) -> Parsed<String> {
        let open = self.position();
        self.take();
        let mut text = String::new();
        let mut braces = 0u32;
        loop {
            match self.take() {
                None => return Err(Malformed { position: open, reason: "this string has no end".to_owned() }),
                Some('\n') if braces == 0 => {
                    return Err(Malformed { position: open, reason: "this string has no end on its line".to_owned() });
                }
                Some('"') if braces == 0 => return Ok(text),
                Some('$') if self.peek() == Some('{') => {
                    text.push_str("${");
                    self.take();
                    braces += 1;
                }
                Some('{') if braces > 0 => {
                    braces += 1;
                    text.push('{');
                }
                Some('}') if braces > 0 => {
                    braces -= 1;
                    text.push('}');
                }
                Some('\\') if braces == 0 => text.push(self.escape()?),
                Some(other) => text.push(other),
            }
        }
    }

    fn escape(&mut self) -> Parsed<char> {
        Ok(match self.take() {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('"') => '"',
            Some('\\') => '\\',
            Some(kind @ ('u' | 'U' | 'x')) => {
                let digits = match kind {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                let text = self.rest().get(..digits).unwrap_or_default();
                match u32::from_str_radix(text, 16).ok().and_then(char::from_u32) {
                    Some(found) => {
                        self.skip(digits);
                        found
                    }
                    None => return self.wrong(format!("\\{kind} needs {digits} hexadecimal digits of a character")),
                }
            }
            other => {
                let other = other.map(String::from).unwrap_or_default();
                return self.wrong(format!("\"\\{other}\" means nothing; write \"\\\\\" for a backslash"));
            }
        })
    }

    fn heredoc(&mut self) -> Parsed<String> {
        let open = self.position();
        self.skip(2);
        let is_indented = self.peek() == Some('-');
        if is_indented {
            self.take();
        }
        let line = self.rest().lines().next().unwrap_or_default();
        let marker = line.trim();
        if marker.is_empty() {
            return self.wrong("a heredoc marker is expected here");
        }
        self.skip(line.len() + 1);
        let mut lines = Vec::new();
        loop {
            if self.rest().is_empty() {
                return Err(Malformed {
                    position: open,
                    reason: format!("the line {marker} that ends this heredoc is missing"),
                });
            }
            let line = self.rest().lines().next().unwrap_or_default();
            // The line break that ends the marker's line also ends the item.
            self.skip(line.len());
            if line.trim() == marker {
                break;
            }
            self.take();
            lines.push(line);
        }
        let common = if is_indented {
            let widths = lines.iter().filter(|line| !line.trim().is_empty());
            widths.map(|line| line.len() - line.trim_start_matches([' ', '\t']).len()).min().unwrap_or(0)
        } else {
            0
        };
        let shortened = lines.iter().map(|line| line.get(common..).unwrap_or_default());
        Ok(shortened.fold(String::new(), |text, line| text + line + "\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, expect: &Expect) {
        let actual = match parse(text) {
            Ok(items) => format!("{}", Node::Object(items).to_json()),
            Err(error) => format!("{}: {}", error.position, error.reason),
        };
        expect.assert_eq(&actual);
    }

    #[test]
    fn blocks_settings_and_quoted_keys() {
        check(
            "plugin_cache_dir = \"$HOME/x\" # where\ncredentials \"a.example\" {\n  token = \"t\\\"\"\n}\n/* no */\nhost \"b\" { services = { \"modules.v1\" = \"https://b/\", n = -1.5, l = [1, \"${x\\\"}\",] } }\n",
            &expect![[
                r#"{"credentials":{"a.example":{"token":"t\""}},"host":{"b":{"services":{"l":[1,"${x\\\"}"],"modules.v1":"https://b/","n":-1.5}}},"plugin_cache_dir":"$HOME/x"}"#
            ]],
        );
        check("a = <<-E\n    x\n      y\n  E\nb = true", &expect![[r#"{"a":"x\n  y\n","b":true}"#]]);
        check("a = <<E\r\nx\r\nE\r\nb = 1\r\n", &expect![[r#"{"a":"x\n","b":1}"#]]);
        check(r#"{"a": {"b": [null, 2]}}"#, &expect![[r#"{"a":{"b":[null,2]}}"#]]);
    }

    #[test]
    fn nothing_that_breaks_off_does_harm() {
        let text = "a \"b\" {\n c = [<<-E\n  x\n E\n, \"\\u00e9${y}\", 1e3, { \"k\" = true }]\n} /* é */ # x\n";
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            let _ = parse(&text[..end]);
            let _ = parse(&text[end..]);
        }
        assert!(parse(text).is_ok(), "{:?}", parse(text));
    }

    #[test]
    fn errors_have_a_location() {
        check("a {\n  b = 1\n", &expect!["1:3: this brace is never closed"]);
        check("a = yes", &expect![[r#"1:5: "yes" is not a value; write strings in quotes"#]]);
        check(
            "a \"b\" = 1",
            &expect!["1:7: a block with labels must not have an equals sign; a brace is expected here"],
        );
        check("a = \"x\ny\"", &expect!["1:5: this string has no end on its line"]);
        check("= 1", &expect!["1:1: '=' is unexpected; the name of a setting or of a block is expected"]);
        check("a = [1 2]", &expect!["1:8: a comma or the end of the list is expected here"]);
        check(&format!("a = {}", "[".repeat(100)), &expect!["1:69: lists are nested too deeply"]);
        check("{\"a\": }", &expect!["1:7: this is not valid JSON: expected value at line 1 column 7"]);
    }
}
