//! What the parser has to say: titles as OpenTofu's, details in our words.

use crate::Diagnostic;
use crate::source::Span;
use crate::suggestion::closest;
use crate::token::{TokenKind, TokenKind as K};

use super::Parser;

/// A diagnostic with a place.
fn error(summary: &str, detail: impl Into<ecow::EcoString>, at: Span) -> Diagnostic {
    Diagnostic::error(summary, detail).at(at)
}

impl Parser<'_> {
    /// Reports tokens that are never right, without repeating itself too much.
    pub(super) fn check_tokens(&mut self) {
        let mut bitwise = 0;
        let mut backticks = 0;
        let mut apostrophes = 0;
        let mut semicolons = 0;
        let mut bad_utf8 = 0;
        for at in 0..self.tokens.len() {
            if self.mistakes > super::MAX_MISTAKES {
                return;
            }
            let token = self.tokens[at];
            let diagnostic: Option<(&str, String)> = match token.kind {
                K::Bitwise if bitwise < 4 => {
                    bitwise += 1;
                    let hint = match token.bytes(self.source) {
                        b"&" => " Did you mean \"&&\", the logical and?",
                        b"|" => " Did you mean \"||\", the logical or?",
                        b"~" => " Did you mean \"!\", the logical not?",
                        _ => "",
                    };
                    Some(("Unsupported operator", format!("There are no bitwise operators.{hint}")))
                }
                K::Backtick => {
                    let detail = "Strings cannot be written in backticks. For a text of several lines use a heredoc, \
                        which starts with a marker like <<EOT.";
                    let tell = backticks % 2 == 0;
                    backticks += usize::from(backticks <= 2);
                    tell.then(|| ("Invalid character", detail.to_owned()))
                }
                K::Apostrophe => {
                    let detail = "Strings cannot be written in single quotes. Use double quotes (\") instead.";
                    let tell = apostrophes % 2 == 0;
                    apostrophes += usize::from(apostrophes <= 2);
                    tell.then(|| ("Invalid character", detail.to_owned()))
                }
                K::Semicolon if semicolons < 1 => {
                    semicolons += 1;
                    let detail = "Semicolons separate nothing here. Put each argument and block on its own line, and \
                        commas between the items of a collection.";
                    Some(("Invalid character", detail.to_owned()))
                }
                K::BadUtf8 if bad_utf8 < 1 => {
                    bad_utf8 += 1;
                    let detail = "This is not UTF-8. Configuration has to be UTF-8: check the encoding that your \
                        editor saves files in.";
                    Some(("Invalid character encoding", detail.to_owned()))
                }
                K::QuotedNewline => {
                    let detail = "A quoted string ends on the line it starts on. For a text of several lines write \
                        line ends as \\n, or use a heredoc, which starts with a marker like <<EOT.";
                    Some(("Invalid multi-line string", detail.to_owned()))
                }
                K::Invalid => {
                    let curly = matches!(token.bytes(self.source), b"\xe2\x80\x9c" | b"\xe2\x80\x9d");
                    let detail = if curly {
                        "Curly quotes do not quote anything here. Word processors and web pages like to put them \
                            in place of straight quotes (\"): change them back."
                    } else {
                        "The language does not use this character."
                    };
                    Some(("Invalid character", detail.to_owned()))
                }
                _ => None,
            };
            if let Some((summary, detail)) = diagnostic {
                let span = self.token_span(at);
                self.report(error(summary, detail, span));
            }
        }
    }
}

pub(super) fn too_many(at: Span) -> Diagnostic {
    let detail = format!("This text has {} mistakes up to here; further ones are not shown.", super::MAX_MISTAKES);
    error("Too many mistakes", detail, at)
}

pub(super) fn too_deep(at: Span) -> Diagnostic {
    error(
        "Expression nested too deeply",
        format!(
            "There are more than {} expressions inside each other here. Give parts of it names, for example with \
             local values.",
            super::MAX_DEPTH
        ),
        at,
    )
}

pub(super) fn too_long(at: Span) -> Diagnostic {
    error(
        "Expression too long",
        format!(
            "More than {} operations follow each other here. Give parts of it names, for example with local values, or \
             use a function that takes a list.",
            super::MAX_CHAIN
        ),
        at,
    )
}

pub(super) fn blocks_too_deep(at: Span) -> Diagnostic {
    error("Blocks nested too deeply", format!("There are more than {} blocks inside each other.", super::MAX_DEPTH), at)
}

pub(super) fn extra_after_expression(at: Span) -> Diagnostic {
    error("Extra characters after expression", "The expression is complete, but something follows it.", at)
}

// Bodies.

pub(super) fn quoted_argument_name(at: Span) -> Diagnostic {
    error("Invalid argument name", "Names of arguments are written without quotes.", at)
}

pub(super) fn unclosed_block(at: Span) -> Diagnostic {
    error(
        "Unclosed configuration block",
        "The file ends before this block is closed. Either its closing brace is missing, or braces do not match \
         somewhere else in the file.",
        at,
    )
}

pub(super) fn item_expected(at: Span) -> Diagnostic {
    error("Argument or block definition required", "Only an argument or a block can stand here.", at)
}

pub(super) fn equals_expected(at: Span) -> Diagnostic {
    error(
        "Argument or block definition required",
        "Only an argument or a block can stand here. An argument gets its value with an equals sign: name = value.",
        at,
    )
}

pub(super) fn argument_expected(at: Span, name: &str) -> Diagnostic {
    error(
        "Argument definition required",
        format!(
            "A block on a single line can have one argument and nothing else. To set the argument \"{name}\", put an \
             equals sign after its name. A block inside this one has to start on its own line."
        ),
        at,
    )
}

pub(super) fn attribute_redefined(at: Span, name: &str, first: Span) -> Diagnostic {
    error("Attribute redefined", format!("The argument \"{name}\" is already set in this block. Set it once."), at)
        .after(first)
}

pub(super) fn newline_after_argument(at: Span, context: Span, comma: bool) -> Diagnostic {
    let (summary, detail) = if comma {
        (
            "Unexpected comma after argument",
            "No commas stand between arguments: each is on its own line, and the line ends with it.",
        )
    } else {
        ("Missing newline after argument", "The line has to end after the value of an argument.")
    };
    error(summary, detail, at).within(context)
}

pub(super) fn newline_after_block(at: Span, context: Span) -> Diagnostic {
    error("Missing newline after block definition", "The line has to end after the closing brace of a block.", at)
        .within(context)
}

pub(super) fn bad_block(found: TokenKind, at: Span, context: Span) -> Diagnostic {
    let detail = match found {
        K::Equal => "An equals sign belongs to an argument. A block has none: its content follows in braces.",
        K::Newline => {
            "The content of a block starts with \"{\" on the line of its type and labels, and ends with \"}\"."
        }
        _ => "Either a label in quotes or the opening brace \"{\" of the block has to come here.",
    };
    error("Invalid block definition", detail, at).within(context)
}

pub(super) fn bad_single_line_block(found: TokenKind, at: Span) -> Diagnostic {
    let detail = match found {
        K::Comma => {
            "A block on a single line can have only one argument. For more than one put each on a line of its own, \
             between the braces."
        }
        K::Newline => {
            "An argument on the line of the opening brace makes this a block on a single line, so it has to be closed \
             on that line. Put the closing brace right after the argument, or the argument on its own line."
        }
        _ => "The closing brace has to come right after the one argument of a block on a single line.",
    };
    error("Invalid single-argument block definition", detail, at)
}

// Expressions.

pub(super) fn missing_false_expression(at: Span, context: Span) -> Diagnostic {
    error(
        "Missing false expression in conditional",
        "A conditional has three parts, \"condition ? result : otherwise\": a colon and the result for a false \
         condition are missing here.",
        at,
    )
    .within(context)
}

pub(super) fn expression_expected(at: Span, found: TokenKind) -> Diagnostic {
    match found {
        K::Eof => error("Missing expression", "An expression has to come here, but the text ends.", at),
        _ => error("Invalid expression", "An expression has to start here, but this cannot start one.", at),
    }
}

pub(super) fn attribute_name_expected(at: Span) -> Diagnostic {
    error("Invalid attribute name", "The name of an attribute has to follow the dot.", at)
}

pub(super) fn chained_legacy_index(at: Span, what: &str, first: &str, second: &str) -> Diagnostic {
    error(
        "Invalid legacy index syntax",
        format!("Two indexes cannot follow each other in {what}. Write them in brackets: [{first}][{second}]."),
        at,
    )
}

pub(super) fn nested_splat(at: Span) -> Diagnostic {
    error("Nested splat expression not allowed", "A splat with \".*\" cannot contain another. Use \"[*]\" instead.", at)
}

pub(super) fn unclosed_splat(at: Span) -> Diagnostic {
    error("Missing close bracket on splat index", "A closing bracket has to follow the star: \"[*]\".", at)
}

pub(super) fn unclosed_index(at: Span) -> Diagnostic {
    error("Missing close bracket on index", "An index ends with a closing bracket (\"]\"), which is missing here.", at)
}

pub(super) fn bad_number(at: Span) -> Diagnostic {
    error("Invalid number literal", "This is not a number, or one too large or too small to work with.", at)
}

// Brackets.

pub(super) fn unbalanced_parens(at: Span, context: Span) -> Diagnostic {
    error("Unbalanced parentheses", "A closing parenthesis has to come here.", at).within(context)
}

pub(super) fn missing_function_name(at: Span, context: Span) -> Diagnostic {
    error("Missing function name", "After \"::\" the name of a function has to follow.", at).within(context)
}

pub(super) fn missing_open_paren(at: Span, context: Span) -> Diagnostic {
    error("Missing open parenthesis", "After the name of a function its arguments follow in parentheses.", at)
        .within(context)
}

pub(super) fn missing_close_paren(at: Span, context: Span) -> Diagnostic {
    error(
        "Missing closing parenthesis",
        "Only the last argument can be expanded with \"...\": the closing parenthesis has to follow.",
        at,
    )
    .within(context)
}

pub(super) fn unterminated_call(at: Span) -> Diagnostic {
    error(
        "Unterminated function call",
        "The text ends before the arguments of this call do. Either the closing parenthesis is missing, or parentheses \
         do not match somewhere inside.",
        at,
    )
}

pub(super) fn missing_argument_separator(at: Span, context: Span) -> Diagnostic {
    error("Missing argument separator", "Arguments of a function are separated by commas; one is missing here.", at)
        .within(context)
}

pub(super) fn unterminated_tuple(at: Span) -> Diagnostic {
    error(
        "Unterminated tuple constructor expression",
        "The text ends before this bracket is closed. Either \"]\" is missing, or brackets do not match somewhere inside.",
        at,
    )
}

pub(super) fn missing_item_separator(at: Span, context: Span) -> Diagnostic {
    error("Missing item separator", "Items are separated by commas; one is missing here.", at).within(context)
}

pub(super) fn unterminated_object(at: Span) -> Diagnostic {
    error(
        "Unterminated object constructor expression",
        "The text ends before this brace is closed. Either \"}\" is missing, or braces do not match somewhere inside.",
        at,
    )
}

pub(super) fn missing_object_value(found: TokenKind, at: Span, open: Span) -> Diagnostic {
    let (summary, detail) = match found {
        K::Eof => return unterminated_object(open),
        K::Newline | K::Comma => {
            ("Missing attribute value", "After the key an equals sign (\"=\") and a value have to follow.")
        }
        K::Ident => (
            "Missing key/value separator",
            "An equals sign (\"=\") has to stand between key and value. If this is still the key, with spaces or dots in \
             it, put the whole key in quotes.",
        ),
        _ => ("Missing key/value separator", "An equals sign (\"=\") has to stand between key and value."),
    };
    error(summary, detail, at).within(open.to(at))
}

pub(super) fn missing_attribute_separator(at: Span, context: Span) -> Diagnostic {
    error(
        "Missing attribute separator",
        "The items of an object are separated by line ends or commas; one is missing here.",
        at,
    )
    .within(context)
}

pub(super) fn bad_for_expression(at: Span, context: Span, problem: &str) -> Diagnostic {
    error("Invalid 'for' expression", format!("A \"for\" expression {problem}."), at).within(context)
}

// Templates.

pub(super) fn unclosed_interpolation(at: Span, of: &str) -> Diagnostic {
    error(
        "Unclosed template interpolation sequence",
        format!(
            "The {of} ends before the closing brace of this interpolation. Either \"}}\" is missing, or brackets do not \
             match inside of it."
        ),
        at,
    )
}

const ESCAPE_HINT: &str = "If \"${\" is meant for another language, such as a shell script, write it as \"$${\".";

pub(super) fn colon_in_interpolation(at: Span, context: Span) -> Diagnostic {
    let detail = format!("No colon can stand here in an interpolation. {ESCAPE_HINT}");
    error("Extra characters after interpolation expression", detail, at).within(context)
}

pub(super) fn extra_in_interpolation(at: Span, context: Span) -> Diagnostic {
    let detail = format!(
        "The closing brace of the interpolation has to come after its expression, but something else does.\n\n\
         {ESCAPE_HINT}"
    );
    error("Extra characters after interpolation expression", detail, at).within(context)
}

pub(super) fn directive_keyword_expected(at: Span, context: Span) -> Diagnostic {
    error("Invalid template directive", "After \"%{\" a keyword like \"if\" or \"for\" has to follow.", at)
        .within(context)
}

pub(super) fn unknown_directive(at: Span, context: Span, given: &str) -> Diagnostic {
    let hint = match closest(given, ["if", "for", "else", "endif", "endfor"]) {
        Some(name) => format!(" Did you mean \"{name}\"?"),
        None => String::new(),
    };
    error("Invalid template control keyword", format!("There is no template directive \"{given}\".{hint}"), at)
        .within(context)
}

pub(super) fn bad_for_directive(at: Span, problem: &str) -> Diagnostic {
    error("Invalid 'for' directive", format!("A \"for\" directive {problem}."), at)
}

pub(super) fn extra_in_directive(at: Span, context: Span, keyword: &str) -> Diagnostic {
    error(
        &format!("Extra characters in {keyword} marker"),
        "The closing brace of the directive has to come here, but something else does.",
        at,
    )
    .within(context)
}

pub(super) fn unterminated_template(at: Span, context: Span) -> Diagnostic {
    error("Unterminated template string", "The end of this text was not found.", at).within(context)
}

pub(super) fn unexpected_end_of_template(at: Span, open: &str, close: &str) -> Diagnostic {
    error(
        "Unexpected end of template",
        format!("The template ends before its directive \"{open}\" is closed with \"{close}\"."),
        at,
    )
}

pub(super) fn unexpected_directive(at: Span, word: &str, problem: &str) -> Diagnostic {
    error(&format!("Unexpected {word} directive"), format!("\"{word}\" cannot stand here: {problem}."), at)
}

// Literal text.

pub(super) fn template_in_literal(at: Span, context: Span, which: char) -> Diagnostic {
    error(
        "Invalid string literal",
        format!(
            "No template sequences are possible in this text. If you mean \"{which}{{\" itself, write \"{which}{which}{{\"."
        ),
        at,
    )
    .within(context)
}

pub(super) fn unterminated_literal(at: Span, context: Span) -> Diagnostic {
    error("Unterminated string literal", "The text ends before the closing quote.", at).within(context)
}

pub(super) fn invalid_in_literal(at: Span, context: Span) -> Diagnostic {
    error("Invalid string literal", "This cannot stand in a quoted text.", at).within(context)
}

pub(super) fn short_unicode_escape(at: Span, selector: char, digits: &str) -> Diagnostic {
    let detail = format!("After \\{selector} exactly {digits} hexadecimal digits have to follow.");
    error("Invalid escape sequence", detail, at)
}

pub(super) fn no_such_character(at: Span, code: u32) -> Diagnostic {
    error("Invalid escape sequence", format!("There is no character U+{code:04X}."), at)
}

pub(super) fn unknown_escape(at: Span, selector: &str) -> Diagnostic {
    let detail = format!(
        "\"\\{selector}\" means nothing. The escapes are \\n, \\r, \\t, \\\", \\\\, \\uNNNN and \\UNNNNNNNN; a backslash \
         itself is written \\\\."
    );
    error("Invalid escape sequence", detail, at)
}

// References.

pub(super) fn variable_name_expected(at: Span) -> Diagnostic {
    error("Variable name required", "A reference starts with a name.", at)
}

pub(super) fn step_name_expected(at: Span, context: Span, star: bool) -> Diagnostic {
    let detail = if star { "No splat (\".*\") is possible here." } else { "A name has to follow the dot." };
    error("Attribute name required", detail, at).within(context)
}

pub(super) fn step_key_expected(at: Span, context: Span, star: bool) -> Diagnostic {
    if star {
        return error("Attribute name required", "No splat (\"[*]\") is possible here.", at).within(context);
    }
    error("Index value required", "The brackets have to contain a number or a quoted text.", at).within(context)
}

pub(super) fn unclosed_step(at: Span, context: Span) -> Diagnostic {
    error("Unclosed index brackets", "A closing bracket has to follow the key.", at).within(context)
}

pub(super) fn step_expected(at: Span, context: Span) -> Diagnostic {
    // In the title of messages about state files, so OpenTofu's words.
    error("Invalid character", "Expected an attribute access or an index operator.", at).within(context)
}
