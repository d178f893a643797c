//! Large files in two halves, which do not depend on each other.
//!
//! Invariant: the result is that of the whole file. The halves count only if both are free of errors: the first one then ends outside
//! of every block, string and comment, so its tokens and those of the second one are the tokens of the whole file.

use std::sync::Arc;

use super::Parser;
use crate::Diagnostics;
use crate::body::{Body, NativeBody, ParsedFile};
use crate::lexer::LexMode;
use crate::source::FileId;
use crate::token::TokenKind as K;

/// Size from which a file is parsed in halves, in bytes.
pub const LARGE_FILE: usize = 1 << 20;

/// Runs two computations, at the same time where the caller has threads.
pub type Both<'b> = &'b dyn Fn(&mut (dyn FnMut() + Send), &mut (dyn FnMut() + Send));

/// Parses a configuration file without its lossless tree, a large one in halves.
pub fn parse_config_body(file: FileId, bytes: &[u8], both: Both<'_>) -> ParsedFile {
    let middle = if bytes.len() < LARGE_FILE { None } else { between_blocks(bytes) };
    let in_halves = middle.and_then(|middle| {
        let (head, tail) = bytes.split_at(middle);
        let (mut first, mut second) = (None, None);
        both(&mut || first = Some(part(file, 0, head)), &mut || second = Some(part(file, middle as u32, tail)));
        first.zip(second)
    });
    let (body, diagnostics) =
        in_halves.and_then(|(first, second)| joined(first, second)).unwrap_or_else(|| part(file, 0, bytes));
    ParsedFile { body: Body::Native(Arc::new(body)), diagnostics }
}

/// An offset near the middle where a line begins after what looks like the end of a block, and a name follows.
fn between_blocks(bytes: &[u8]) -> Option<usize> {
    const END: &[u8] = b"\n}\n";
    let mut from = bytes.len() / 2;
    loop {
        let end = from + bytes[from..].windows(END.len()).position(|window| window == END)? + END.len();
        let next = bytes[end..].iter().find(|byte| **byte != b'\n')?;
        if next.is_ascii_alphabetic() {
            return Some(end);
        }
        from = end;
    }
}

fn part(file: FileId, offset: u32, bytes: &[u8]) -> (NativeBody, Diagnostics) {
    let mut parser = Parser::new(file, offset, bytes, LexMode::Config);
    let body = parser.body(K::Eof);
    (body, parser.diags)
}

/// The body of both; none if there are errors or arguments, whose names must be unique in the file.
fn joined(first: (NativeBody, Diagnostics), second: (NativeBody, Diagnostics)) -> Option<(NativeBody, Diagnostics)> {
    let ((mut body, problems), (rest, more)) = (first, second);
    let is_clean = problems.is_empty() && more.is_empty();
    if !is_clean || !body.attributes.is_empty() || !rest.attributes.is_empty() {
        return None;
    }
    body.blocks.extend(rest.blocks);
    body.span = body.span.to(rest.span);
    body.end_span = rest.end_span;
    Some((body, problems))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::parse_config;

    /// Both ways of reading a file give the same, and whether the halves counted.
    fn check(text: &str, in_halves: bool) {
        let file = FileId(0);
        let (_, whole) = parse_config(file, text.as_bytes());
        let runs = std::cell::Cell::new(0);
        let parsed = parse_config_body(file, text.as_bytes(), &|first, second| {
            runs.set(runs.get() + 1);
            // The order must not matter.
            second();
            first();
        });
        assert_eq!(format!("{:?}", parsed.body), format!("{:?}", whole.body));
        assert_eq!(format!("{:?}", parsed.diagnostics), format!("{:?}", whole.diagnostics));
        if in_halves {
            assert_eq!(runs.get(), 1);
        }
    }

    fn blocks(end: &str) -> String {
        let mut text = String::new();
        let mut count = 0;
        while text.len() < LARGE_FILE {
            count += 1;
            text +=
                &format!("resource \"terraform_data\" \"r{count}\" {{\n  input = \"${{{count}}}\" # {{\n}}\n\n{end}");
        }
        text
    }

    #[test]
    fn halves_give_the_whole_file() {
        check(&blocks(""), true);
        check(&blocks("# comment\n"), false);
        // A line that looks like the end of a block is part of a heredoc, a comment or a list of arguments.
        check(&format!("locals {{\n  a = <<EOT\n{}EOT\n}}\n", blocks("")), true);
        check(&format!("/*\n{}*/\n", blocks("")), true);
        check(&format!("a = 1\n{}b = 2\na = 3\n", blocks("")), true);
        // Errors in either half.
        check(&format!("oops oops\n{}", blocks("")), true);
        check(&format!("{}resource {{{{\n", blocks("")), true);
        check("resource \"a\" \"b\" {\n}\n", false);
    }
}
