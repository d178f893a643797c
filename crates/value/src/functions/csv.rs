//! `csvdecode`: comma separated values as RFC 4180 describes them, first record as header.

use ecow::{EcoString, eco_format};

use crate::function::{Function, FunctionError, Param, Result};
use crate::{Type, Value};

/// This family's rows of the table.
pub(crate) fn functions() -> Vec<Function> {
    vec![
        Function::new(
            "csvdecode",
            "Reads a table in CSV format into a list of objects, whose attribute names are in the first line.",
            [Param::new("str", Type::string(), "The table in CSV format.")],
            Type::dynamic(),
            decode,
        )
        .typed(result_type),
    ]
}

fn source(args: &[Value]) -> &str {
    args.first().and_then(Value::as_str).map_or("", EcoString::as_str)
}

fn result_type(args: &[Value]) -> Result<Type> {
    if !args.first().is_some_and(Value::is_known) {
        return Ok(Type::dynamic());
    }
    let Some(header) = Reader::new(source(args)).record()? else {
        return Err(FunctionError::new("missing header line"));
    };
    let mut names: Vec<&EcoString> = header.iter().collect();
    names.sort();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(FunctionError::new(eco_format!("duplicate column name {:?}", pair[0])));
    }
    Ok(Type::list(Type::object(header.into_iter().map(|name| (name, Type::string())))))
}

fn decode(args: &[Value], ty: &Type) -> Result {
    let mut reader = Reader::new(source(args));
    let header = reader.record()?.unwrap_or_default();
    let Some(row_type) = ty.element() else {
        return Err(FunctionError::new("missing header line"));
    };
    let columns: Vec<usize> = header.iter().filter_map(|name| row_type.attr_index(name)).collect();
    let mut rows = Vec::new();
    while let Some(record) = reader.record()? {
        if record.len() != header.len() {
            return Err(reader.error(eco_format!(
                "there are {} fields in this record and {} in the header",
                record.len(),
                header.len()
            )));
        }
        let mut row = vec![Value::string(""); header.len()];
        for (field, column) in record.into_iter().zip(&columns) {
            row[*column] = Value::string(field);
        }
        rows.push(Value::structure(row_type.clone(), row));
    }
    Ok(Value::list(row_type.clone(), rows))
}

/// Splits a string into records. Empty lines and a carriage return before a line feed are ignored.
struct Reader<'a> {
    rest: &'a str,
    /// Lines read so far.
    line: usize,
    /// The line where the current record began.
    start: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Reader<'a> {
        Reader { rest: text, line: 0, start: 0 }
    }

    /// The next line without its end, and whether it had one.
    fn next_line(&mut self) -> Option<(&'a str, bool)> {
        if self.rest.is_empty() {
            return None;
        }
        self.line += 1;
        let (line, ended) = match self.rest.split_once('\n') {
            Some((line, rest)) => {
                self.rest = rest;
                (line, true)
            }
            None => (std::mem::take(&mut self.rest), false),
        };
        Some((line.strip_suffix('\r').unwrap_or(line), ended))
    }

    fn error(&self, message: impl AsRef<str>) -> FunctionError {
        FunctionError::new(eco_format!("CSV parse error on line {}: {}", self.line, message.as_ref()))
    }

    fn record(&mut self) -> Result<Option<Vec<EcoString>>> {
        let (mut line, mut ended) = loop {
            match self.next_line() {
                // A lone carriage return before the end of the text is an empty line too.
                Some(("", _)) => {}
                Some(found) => break found,
                None => return Ok(None),
            }
        };
        self.start = self.line;
        let mut fields = Vec::new();
        loop {
            let Some(quoted) = line.strip_prefix('"') else {
                let (field, rest) = match line.split_once(',') {
                    Some((field, rest)) => (field, Some(rest)),
                    None => (line, None),
                };
                if field.contains('"') {
                    return Err(self.error("a quote (\") in a field that does not start with one"));
                }
                fields.push(EcoString::from(field));
                match rest {
                    Some(rest) => line = rest,
                    None => return Ok(Some(fields)),
                }
                continue;
            };
            let mut field = EcoString::new();
            line = quoted;
            loop {
                let Some((part, rest)) = line.split_once('"') else {
                    field.push_str(line);
                    if ended {
                        field.push('\n');
                    }
                    (line, ended) = self.next_line().ok_or_else(|| {
                        let start = self.start;
                        self.error(eco_format!("a quoted field of the record on line {start} has no closing quote"))
                    })?;
                    continue;
                };
                field.push_str(part);
                if let Some(rest) = rest.strip_prefix('"') {
                    field.push('"');
                    line = rest;
                } else if let Some(rest) = rest.strip_prefix(',') {
                    fields.push(field);
                    line = rest;
                    break;
                } else if rest.is_empty() {
                    fields.push(field);
                    return Ok(Some(fields));
                } else {
                    return Err(self.error("text after the closing quote of a field"));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expect: &str) {
        let mut reader = Reader::new(source);
        let mut out = String::new();
        loop {
            match reader.record() {
                Ok(Some(record)) => out.push_str(&format!("{record:?};")),
                Ok(None) => break,
                Err(error) => {
                    out.push_str(error.message());
                    break;
                }
            }
        }
        assert_eq!(out, expect, "{source:?}");
    }

    #[test]
    fn records() {
        check("a,b\n1,2\n", r#"["a", "b"];["1", "2"];"#);
        check("a,b\r\n\r\n\n1,2\r", r#"["a", "b"];["1", "2"];"#);
        check("\"a\r\nb\",\"\"\"\"", r#"["a\nb", "\""];"#);
        check("a,,\n", r#"["a", "", ""];"#);
        check("\"a\n\nb\"\n", "[\"a\\n\\nb\"];");
        check("a\"b", "CSV parse error on line 1: a quote (\") in a field that does not start with one");
        check("\"a\"b", "CSV parse error on line 1: text after the closing quote of a field");
        check(
            "x\n\"a\n",
            "[\"x\"];CSV parse error on line 2: a quoted field of the record on line 2 has no closing quote",
        );
    }
}
