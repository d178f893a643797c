//! The functions that put values into a text by the verbs of a format string.

use unicode_segmentation::UnicodeSegmentation;

use super::arguments::{MAX_TEXT, text};
use crate::function::{Function, FunctionError, Param, Result};
use crate::{EcoString, Number, Type, TypeKind, Value, convert, eco_format, json};

/// The largest width or precision of a verb.
const MAX_FIELD: usize = 1_000_000;

/// This family's rows of the table.
pub(crate) fn functions() -> Vec<Function> {
    let format_param = || Param::new("format", Type::string(), "The format string with verbs such as %s and %d.");
    let args = |description| Param::new("args", Type::dynamic(), description).null().unknown().dynamic();
    vec![
        Function::new(
            "format",
            "Formats values with the verbs of a format string, like printf in C.",
            [format_param()],
            Type::string(),
            format,
        )
        .variadic(args("The values for the verbs.")),
        Function::new(
            "formatlist",
            "Returns a list of strings, one for every element of the given lists.",
            [format_param()],
            Type::list(Type::string()),
            formatlist,
        )
        .variadic(args("The values for the verbs; lists, sets and tuples provide one element for each string.")),
    ]
}

fn format(args: &[Value], _: &Type) -> Result {
    let (pattern, values) = (text(args, 0)?, &args[1..]);
    if values.iter().all(Value::is_wholly_known) {
        return Ok(Value::string(render(pattern, values)?));
    }
    let unknown = Value::unknown(Type::string());
    match pattern.split_once('%') {
        Some((literal, _)) if !literal.is_empty() => Ok(unknown.refine().prefix(literal).done()),
        _ => Ok(unknown),
    }
}

fn formatlist(args: &[Value], ty: &Type) -> Result {
    let (pattern, values) = (text(args, 0)?, &args[1..]);
    let Some(count) = iterations(values)? else { return Ok(Value::unknown(ty.clone())) };
    let mut results = Vec::new();
    for i in 0..count {
        let element = |value: &Value| match value.as_seq() {
            Some(items) => items.get(i).cloned().unwrap_or_else(Value::null_dynamic),
            None => value.clone(),
        };
        let row: Vec<Value> = values.iter().map(element).collect();
        if !row.iter().all(Value::is_wholly_known) {
            results.push(Value::unknown(Type::string()).refine_not_null());
            continue;
        }
        let text = render(pattern, &row)
            .map_err(|error| FunctionError::new(eco_format!("for element {i}: {}", error.message())))?;
        results.push(Value::string(text));
    }
    Ok(Value::list(Type::string(), results))
}

/// Number of applications of the format; `None` if it is unknown yet.
fn iterations(values: &[Value]) -> Result<Option<usize>> {
    let mut chosen: Option<(usize, usize)> = None;
    let mut known = true;
    for (index, value) in values.iter().enumerate() {
        let length = match value.ty().kind() {
            TypeKind::Dynamic if !value.is_known() => None,
            _ if value.is_null() => continue,
            TypeKind::Tuple(elements) => Some(elements.len()),
            // Unknown elements of a set may turn out to be the same.
            TypeKind::Set(_) if !value.is_wholly_known() => value.as_seq().map(<[Value]>::len).filter(|len| *len < 2),
            TypeKind::List(_) | TypeKind::Set(_) => value.as_seq().map(<[Value]>::len),
            _ => continue,
        };
        known &= length.is_some() && value.is_known();
        match (length, chosen) {
            (Some(length), Some((first, wanted))) if length != wanted => {
                let message = eco_format!(
                    "all lists must have the same length, but argument {} has {length} elements and argument {} has \
                     {wanted}",
                    index + 1,
                    first + 1
                );
                return Err(FunctionError::arg(index + 1, message));
            }
            (Some(length), None) => chosen = Some((index, length)),
            _ => {}
        }
    }
    Ok(known.then(|| chosen.map_or(1, |(_, length)| length)))
}

/// One `%` sequence.
#[derive(Default)]
struct Verb<'p> {
    /// As it is written.
    raw: &'p str,
    offset: usize,
    letter: char,
    /// One-based.
    argument: usize,
    zero: bool,
    sharp: bool,
    plus: bool,
    minus: bool,
    space: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

impl<'p> Verb<'p> {
    /// Reads what follows the `%` at `offset`. `next` is the argument to take unless another one is named.
    fn parse(pattern: &'p str, offset: usize, next: usize) -> Result<Verb<'p>> {
        let bytes = pattern.as_bytes();
        let mut verb = Verb { offset, argument: next, ..Verb::default() };
        let mut at = offset + 1;
        while let Some(flag) = bytes.get(at) {
            match flag {
                b'0' => verb.zero = true,
                b'#' => verb.sharp = true,
                b'+' => verb.plus = true,
                b'-' => verb.minus = true,
                b' ' => verb.space = true,
                _ => break,
            }
            at += 1;
        }
        if matches!(bytes.get(at), Some(b'1'..=b'9')) {
            verb.width = Some(digits(bytes, &mut at));
        }
        if bytes.get(at) == Some(&b'.') {
            at += 1;
            verb.precision = Some(digits(bytes, &mut at));
        }
        if bytes.get(at) == Some(&b'[') {
            at += 1;
            if !matches!(bytes.get(at), Some(b'1'..=b'9')) {
                return Err(unexpected(pattern, at));
            }
            verb.argument = digits(bytes, &mut at);
            if bytes.get(at) != Some(&b']') {
                return Err(unexpected(pattern, at));
            }
            at += 1;
        }
        match bytes.get(at) {
            Some(letter) if letter.is_ascii_alphabetic() => verb.letter = char::from(*letter),
            _ => return Err(unexpected(pattern, at)),
        }
        verb.raw = &pattern[offset..=at];
        if verb.width.max(verb.precision).is_some_and(|n| n > MAX_FIELD) {
            let message = eco_format!("the width or precision of {:?} is larger than {MAX_FIELD}", verb.raw);
            return Err(FunctionError::new(message));
        }
        Ok(verb)
    }

    fn unsupported(&self, why: &str) -> FunctionError {
        FunctionError::new(eco_format!("unsupported value for {:?} at offset {}: {why}", self.raw, self.offset))
    }

    fn append(&self, out: &mut String, values: &[Value]) -> Result<()> {
        let Some(value) = self.argument.checked_sub(1).and_then(|i| values.get(i)) else {
            return Err(FunctionError::new(eco_format!(
                "not enough arguments: {:?} at offset {} takes argument {}, but there are only {}",
                self.raw,
                self.offset,
                self.argument,
                values.len()
            )));
        };
        if self.letter != 'v' && value.is_null() {
            return Err(self.unsupported("null has no text"));
        }
        let formatted = match self.letter {
            'v' => self.pad(&self.default_text(value)?),
            't' => String::from(if self.converted(value, &Type::bool())?.as_bool() == Some(true) {
                "true"
            } else {
                "false"
            }),
            'b' | 'd' | 'o' | 'x' | 'X' => self.integer(value)?,
            'e' | 'E' | 'f' | 'g' | 'G' => self.float(value)?,
            's' => self.pad(&self.shortened(value)?),
            'q' => self.pad(&json::quote(&self.shortened(value)?)),
            letter => {
                let message = eco_format!("unsupported verb {letter:?} in {:?} at offset {}", self.raw, self.offset);
                return Err(FunctionError::new(message));
            }
        };
        if out.len() + formatted.len() > MAX_TEXT {
            return Err(FunctionError::new("the result becomes too long"));
        }
        out.push_str(&formatted);
        Ok(())
    }

    fn converted(&self, value: &Value, ty: &Type) -> Result<Value> {
        convert::convert(value, ty).map_err(|error| self.unsupported(&error.message))
    }
    fn number(&self, value: &Value) -> Result<Number> {
        let number = self.converted(value, &Type::number())?;
        number.as_number().cloned().ok_or_else(|| self.unsupported("a number is required"))
    }

    fn default_text(&self, value: &Value) -> Result<String> {
        if !self.sharp {
            if let Some(text) = value.as_str() {
                return Ok(text.to_string());
            }
            if let Some(number) = value.as_number() {
                return Ok(number.format(b'g', None));
            }
        }
        json::encode_plain(value).map_err(|error| self.unsupported(error.message))
    }

    /// The text, at most as many grapheme clusters as the precision says.
    // Quirk: a precision of zero is ignored.
    fn shortened(&self, value: &Value) -> Result<EcoString> {
        let value = self.converted(value, &Type::string())?;
        let text = value.as_str().cloned().unwrap_or_default();
        let end = match self.precision {
            None | Some(0) => None,
            Some(count) => text.grapheme_indices(true).nth(count).map(|(at, _)| at),
        };
        Ok(end.map_or_else(|| text.clone(), |end| EcoString::from(&text[..end])))
    }

    /// Filled up to the width, counted in grapheme clusters.
    // Quirk: zeros are put before a sign too, and behind the text as well.
    fn pad(&self, text: &str) -> String {
        let have = text.graphemes(true).count();
        let filling = if self.zero { "0" } else { " " }.repeat(self.width.unwrap_or(0).saturating_sub(have));
        if self.minus { format!("{text}{filling}") } else { format!("{filling}{text}") }
    }

    /// The sign of a number that is not negative.
    fn plus_sign(&self) -> &'static str {
        match (self.plus, self.space) {
            (true, _) => "+",
            (false, true) => " ",
            (false, false) => "",
        }
    }

    fn integer(&self, value: &Value) -> Result<String> {
        let number = self.number(value)?;
        if !number.is_integer() {
            return Err(self.unsupported("a whole number is required"));
        }
        let (radix, prefix) = match self.letter {
            'b' => (2, "0b"),
            'o' => (8, "0"),
            'x' => (16, "0x"),
            'X' => (16, "0X"),
            _ => (10, ""),
        };
        let prefix = if self.sharp { prefix } else { "" };
        let mut digits = number.abs().to_int_text(radix).unwrap_or_default();
        if self.letter == 'X' {
            digits.make_ascii_uppercase();
        }
        if self.precision == Some(0) && digits == "0" {
            return Ok(String::new());
        }
        let sign = if number.sign() < 0 { "-" } else { self.plus_sign() };
        let mut zeros = self.precision.unwrap_or(0).saturating_sub(digits.len());
        let have = sign.len() + prefix.len() + zeros + digits.len();
        let missing = self.width.unwrap_or(0).saturating_sub(have);
        let (mut left, mut right) = (0, 0);
        if self.minus {
            right = missing;
        } else if self.zero && self.precision.is_none() {
            zeros = missing;
        } else {
            left = missing;
        }
        Ok(format!("{}{sign}{prefix}{}{digits}{}", " ".repeat(left), "0".repeat(zeros), " ".repeat(right)))
    }

    fn float(&self, value: &Value) -> Result<String> {
        let number = self.number(value)?;
        let precision = match self.letter {
            'g' | 'G' => self.precision,
            _ => Some(self.precision.unwrap_or(6)),
        };
        let text = number.format(self.letter as u8, precision);
        let (sign, body) = match text.strip_prefix('-') {
            Some(body) => ("-", body),
            // Infinity always has a sign.
            None => match text.strip_prefix('+') {
                Some(body) => (if self.space { " " } else { "+" }, body),
                None => (self.plus_sign(), text.as_str()),
            },
        };
        let missing = self.width.unwrap_or(0).saturating_sub(sign.len() + body.len());
        // Quirk: other than with whole numbers, zeros win over padding on the right.
        Ok(if self.zero && !number.is_infinite() {
            format!("{sign}{}{body}", "0".repeat(missing))
        } else if self.minus {
            format!("{sign}{body}{}", " ".repeat(missing))
        } else {
            format!("{}{sign}{body}", " ".repeat(missing))
        })
    }
}

/// A decimal number; a very large one stays a very large one.
fn digits(bytes: &[u8], at: &mut usize) -> usize {
    let mut number = 0usize;
    while let Some(digit) = bytes.get(*at).filter(|b| b.is_ascii_digit()) {
        number = number.saturating_mul(10).saturating_add(usize::from(digit - b'0'));
        *at += 1;
    }
    number
}

fn unexpected(pattern: &str, at: usize) -> FunctionError {
    FunctionError::new(match pattern.get(at..).and_then(|rest| rest.chars().next()) {
        Some(c) => eco_format!("unexpected {c:?} in the verb at offset {at} of the format string"),
        None => eco_format!("the format string ends in the middle of a verb, at offset {at}"),
    })
}

/// The format string with its verbs replaced by the values.
fn render(pattern: &str, values: &[Value]) -> Result<String> {
    let mut out = String::with_capacity(pattern.len());
    let mut offset = 0;
    let mut next = 1;
    let mut highest = 0;
    while let Some(run) = pattern[offset..].find('%') {
        out.push_str(&pattern[offset..offset + run]);
        offset += run;
        if pattern[offset..].starts_with("%%") {
            out.push('%');
            offset += 2;
            continue;
        }
        let verb = Verb::parse(pattern, offset, next)?;
        verb.append(&mut out, values)?;
        highest = highest.max(verb.argument);
        next = verb.argument + 1;
        offset += verb.raw.len();
    }
    out.push_str(&pattern[offset..]);
    if highest < values.len() {
        return Err(FunctionError::arg(
            highest + 1,
            match highest {
                0 => eco_format!("too many arguments: the format string has no verbs"),
                n => eco_format!("too many arguments: the format string uses only {n}"),
            },
        ));
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
