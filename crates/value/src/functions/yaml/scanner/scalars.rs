//! The texts of scalars: blocks, quoted and plain ones, with their line breaks folded.

use ecow::eco_format;

use super::{END, Result, Scanner, is_blank, is_blank_or_end, is_line_end};
use crate::functions::yaml::is_break;

/// Where the first line break after a line of a quoted scalar is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FirstBreak {
    Ahead,
    /// It was read: a backslash before it removes it from the value.
    Escaped,
}

impl Scanner {
    pub(super) fn block_scalar(&mut self, indicator: char) -> Result<String> {
        let literal = indicator == '|';
        self.skip(1);
        let (mut keep, mut strip, mut increment) = (false, false, None);
        for _ in 0..2 {
            match self.at(0) {
                '+' if !keep && !strip => keep = true,
                '-' if !keep && !strip => strip = true,
                '0' if increment.is_none() => return Err(self.error("an indentation of 0 is not allowed")),
                c @ '1'..='9' if increment.is_none() => increment = c.to_digit(10),
                _ => break,
            }
            self.skip(1);
        }
        self.skip_blanks();
        self.skip_comment();
        if !is_line_end(self.at(0)) {
            return Err(self.error("nothing but a comment can follow the start of a block text"));
        }
        self.take_break();
        let mut indent = increment.map_or(0, |increment| self.indent.max(0) + increment as isize);
        let mut text = String::new();
        let mut first_break: Option<char> = None;
        let mut breaks = self.block_breaks(&mut indent)?;
        let mut after_blank = false;
        while self.column == indent && self.at(0) != END {
            let blank = is_blank(self.at(0));
            if !literal && first_break == Some('\n') && !after_blank && !blank {
                if breaks.is_empty() {
                    text.push(' ');
                }
            } else {
                text.extend(first_break);
            }
            text.push_str(&breaks);
            after_blank = blank;
            while !is_line_end(self.at(0)) {
                text.push(self.take());
            }
            first_break = self.take_break();
            breaks = self.block_breaks(&mut indent)?;
        }
        if !strip {
            text.extend(first_break);
        }
        if keep {
            text.push_str(&breaks);
        }
        Ok(text)
    }
    /// Empty lines and the indentation after them. An indent of 0 is not known yet, and found here.
    fn block_breaks(&mut self, indent: &mut isize) -> Result<String> {
        let mut breaks = String::new();
        let mut deepest = 0;
        loop {
            while (*indent == 0 || self.column < *indent) && self.at(0) == ' ' {
                self.skip(1);
            }
            deepest = deepest.max(self.column);
            if (*indent == 0 || self.column < *indent) && self.at(0) == '\t' {
                return Err(self.error("a tab cannot be indentation"));
            }
            match self.take_break() {
                Some(c) => breaks.push(c),
                None => break,
            }
        }
        if *indent == 0 {
            *indent = deepest.max(self.indent + 1).max(1);
        }
        Ok(breaks)
    }

    pub(super) fn quoted_scalar(&mut self, quote: char) -> Result<String> {
        self.skip(1);
        let single = quote == '\'';
        let mut text = String::new();
        loop {
            if self.at_document_mark() {
                return Err(self.error("the document ends within a quoted text"));
            }
            if self.at(0) == END {
                return Err(self.error("the closing quote is missing"));
            }
            let mut first = FirstBreak::Ahead;
            while !is_blank_or_end(self.at(0)) {
                match (self.at(0), self.at(1)) {
                    ('\'', '\'') if single => {
                        text.push('\'');
                        self.skip(2);
                    }
                    (c, _) if c == quote => break,
                    ('\\', next) if !single && is_break(next) => {
                        self.skip(1);
                        self.take_break();
                        first = FirstBreak::Escaped;
                        break;
                    }
                    ('\\', _) if !single => text.push(self.escape()?),
                    _ => text.push(self.take()),
                }
            }
            if self.at(0) == quote {
                self.skip(1);
                return Ok(text);
            }
            self.fold(&mut text, first);
        }
    }
    /// Spaces and line breaks within a text: the first line break becomes a space, or nothing if more follow.
    fn fold(&mut self, text: &mut String, first_break: FirstBreak) {
        let (spaces, first, more) = self.blanks(first_break);
        match first {
            None if first_break == FirstBreak::Ahead => text.push_str(&spaces),
            Some('\n') if more.is_empty() => text.push(' '),
            Some('\n') => text.push_str(&more),
            first => {
                text.extend(first);
                text.push_str(&more);
            }
        }
    }
    /// Spaces before the first line break, that line break, and the ones after it.
    fn blanks(&mut self, first_break: FirstBreak) -> (String, Option<char>, String) {
        let (mut spaces, mut first, mut more) = (String::new(), None, String::new());
        loop {
            if is_blank(self.at(0)) {
                let c = self.take();
                if first.is_none() && first_break == FirstBreak::Ahead {
                    spaces.push(c);
                }
            } else if let Some(c) = self.take_break() {
                if first.is_none() && first_break == FirstBreak::Ahead {
                    first = Some(c);
                } else {
                    more.push(c);
                }
            } else {
                return (spaces, first, more);
            }
        }
    }
    fn escape(&mut self) -> Result<char> {
        let c = match self.at(1) {
            '0' => '\0',
            'a' => '\u{7}',
            'b' => '\u{8}',
            't' | '\t' => '\t',
            'n' => '\n',
            'v' => '\u{b}',
            'f' => '\u{c}',
            'r' => '\r',
            'e' => '\u{1b}',
            c @ (' ' | '"' | '\'' | '\\') => c,
            'N' => '\u{85}',
            '_' => '\u{a0}',
            'L' => '\u{2028}',
            'P' => '\u{2029}',
            kind @ ('x' | 'u' | 'U') => {
                self.skip(2);
                let count = match kind {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                let mut code = 0u32;
                for offset in 0..count {
                    let Some(digit) = self.at(offset).to_digit(16) else {
                        return Err(self.error(eco_format!("{count} hexadecimal digits are expected after \\{kind}")));
                    };
                    code = code << 4 | digit;
                }
                let c = char::from_u32(code).ok_or_else(|| self.error("there is no such Unicode character"))?;
                self.skip(count);
                return Ok(c);
            }
            other => return Err(self.error(eco_format!("\\{other} is not a valid escape"))),
        };
        self.skip(2);
        Ok(c)
    }

    pub(super) fn plain_scalar(&mut self) -> Result<String> {
        let least = self.indent + 1;
        let flow = self.in_flow();
        let mut text = String::new();
        let mut pending: Option<(String, Option<char>, String)> = None;
        loop {
            if self.at_document_mark() || self.at(0) == '#' {
                break;
            }
            while !is_blank_or_end(self.at(0)) {
                let c = self.at(0);
                if (c == ':' && is_blank_or_end(self.at(1))) || (flow && matches!(c, ',' | '?' | '[' | ']' | '{' | '}'))
                {
                    break;
                }
                match pending.take() {
                    None => {}
                    Some((spaces, None, _)) => text.push_str(&spaces),
                    Some((_, Some('\n'), more)) if more.is_empty() => text.push(' '),
                    Some((_, Some('\n'), more)) => text.push_str(&more),
                    Some((_, first, more)) => {
                        text.extend(first);
                        text.push_str(&more);
                    }
                }
                text.push(self.take());
            }
            if !(is_blank(self.at(0)) || is_break(self.at(0))) {
                break;
            }
            let found = self.plain_blanks(pending.take(), least)?;
            pending = Some(found);
            if !flow && self.column < least {
                break;
            }
        }
        if matches!(pending, Some((_, Some(_), _))) {
            self.simple_key_allowed = true;
        }
        Ok(text)
    }
    fn plain_blanks(
        &mut self,
        before: Option<(String, Option<char>, String)>,
        least: isize,
    ) -> Result<(String, Option<char>, String)> {
        let (mut spaces, mut first, mut more) = before.unwrap_or_default();
        loop {
            if is_blank(self.at(0)) {
                if first.is_some() && self.column < least && self.at(0) == '\t' {
                    return Err(self.error("a tab cannot be indentation"));
                }
                let c = self.take();
                if first.is_none() {
                    spaces.push(c);
                }
            } else if let Some(c) = self.take_break() {
                match first {
                    None => first = Some(c),
                    Some(_) => more.push(c),
                }
            } else {
                return Ok((spaces, first, more));
            }
        }
    }
}
