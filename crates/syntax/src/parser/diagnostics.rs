//! The diagnostics of the parser: titles as OpenTofu's, details in our words.

use ecow::eco_format;

use super::{MAX_CHAIN, MAX_DEPTH, MAX_MISTAKES};
use crate::Diagnostic;
use crate::source::Span;
use crate::suggestion::suggest;
use crate::token::{TokenKind, TokenKind as K};

crate::catalogue! {
    /// An expression contains a bitwise operator such as `&` or `|`.
    BITWISE_OPERATOR = error "bitwise-operator", "Unsupported operator";
    /// A string is written in backticks.
    STRING_IN_BACKTICKS = error "string-in-backticks", "Invalid character";
    /// A string is written in single quotes.
    STRING_IN_SINGLE_QUOTES = error "string-in-single-quotes", "Invalid character";
    /// A file contains a semicolon outside of strings and comments.
    SEMICOLON = error "semicolon", "Invalid character";
    /// A file contains typographic quotes instead of straight ones.
    CURLY_QUOTES = error "curly-quotes", "Invalid character";
    /// A file contains a character that the language does not use.
    INVALID_CHARACTER = error "invalid-character", "Invalid character";
    /// A file contains bytes that are not valid UTF-8.
    INVALID_ENCODING = error "invalid-encoding", "Invalid character encoding";
    /// A quoted string contains a line break.
    LINE_BREAK_IN_STRING = error "line-break-in-string", "Invalid multi-line string";
    /// A file contains more syntax errors than are reported.
    TOO_MANY_SYNTAX_ERRORS = error "too-many-syntax-errors", "Too many syntax errors";
    /// Expressions are nested deeper than the limit.
    EXPRESSION_TOO_DEEP = error "expression-too-deep", "Expression nested too deeply";
    /// More operators or indexes follow each other than the limit allows.
    EXPRESSION_TOO_LONG = error "expression-too-long", "Expression too long";
    /// Blocks are nested deeper than the limit.
    BLOCKS_TOO_DEEP = error "blocks-too-deep", "Blocks nested too deeply";
    /// Characters follow an expression that is already complete.
    EXTRA_AFTER_EXPRESSION = error "extra-after-expression", "Extra characters after expression";

    /// The name of an argument is in quotes.
    QUOTED_ARGUMENT_NAME = error "quoted-argument-name", "Invalid argument name";
    /// A block has no closing brace.
    UNCLOSED_BLOCK = error "unclosed-block", "Unclosed configuration block";
    /// A body contains something other than an argument or a block.
    ARGUMENT_OR_BLOCK_EXPECTED = error "argument-or-block-expected", "Argument or block definition required";
    /// A block is nested in a block that is written on a single line.
    BLOCK_IN_SINGLE_LINE_BLOCK = error "block-in-single-line-block", "Argument definition required";
    /// A block sets the same argument twice.
    ARGUMENT_REDEFINED = error "argument-redefined", "Attribute redefined";
    /// A comma follows an argument.
    COMMA_AFTER_ARGUMENT = error "comma-after-argument", "Unexpected comma after argument";
    /// The line continues after the value of an argument.
    NEWLINE_AFTER_ARGUMENT_MISSING = error "newline-after-argument-missing", "Missing newline after argument";
    /// The line continues after the closing brace of a block.
    NEWLINE_AFTER_BLOCK_MISSING = error "newline-after-block-missing", "Missing newline after block definition";
    /// The labels of a block are followed by something other than a label or an opening brace.
    INVALID_BLOCK_HEADER = error "invalid-block-header", "Invalid block definition";
    /// A block on a single line contains more than one argument, or is not closed on that line.
    INVALID_SINGLE_LINE_BLOCK = error "invalid-single-line-block", "Invalid single-argument block definition";

    /// A conditional expression has no result for a false condition.
    FALSE_RESULT_MISSING = error "false-result-missing", "Missing false expression in conditional";
    /// A file or string ends where an expression is required.
    EXPRESSION_MISSING = error "expression-missing", "Missing expression";
    /// A token stands where an expression is required, but cannot start one.
    INVALID_EXPRESSION_START = error "invalid-expression-start", "Invalid expression";
    /// A dot is not followed by the name of an attribute.
    ATTRIBUTE_NAME_EXPECTED = error "attribute-name-expected", "Invalid attribute name";
    /// Two indexes follow each other in the legacy form `.0.1`.
    CHAINED_LEGACY_INDEX = error "chained-legacy-index", "Invalid legacy index syntax";
    /// A splat written as `.*` contains another splat.
    NESTED_SPLAT = error "nested-splat", "Nested splat expression not allowed";
    /// A splat `[*` has no closing bracket.
    UNCLOSED_SPLAT = error "unclosed-splat", "Missing close bracket on splat index";
    /// An index has no closing bracket.
    UNCLOSED_INDEX = error "unclosed-index", "Missing close bracket on index";
    /// A number is malformed or out of range.
    INVALID_NUMBER = error "invalid-number", "Invalid number literal";

    /// An opening parenthesis has no matching closing one.
    UNBALANCED_PARENTHESES = error "unbalanced-parentheses", "Unbalanced parentheses";
    /// A namespace prefix `::` is not followed by the name of a function.
    FUNCTION_NAME_MISSING = error "function-name-missing", "Missing function name";
    /// A namespaced function name is not followed by arguments in parentheses.
    OPEN_PARENTHESIS_MISSING = error "open-parenthesis-missing", "Missing open parenthesis";
    /// An expanded argument (`...`) of a function call is not the last one.
    CLOSE_PARENTHESIS_MISSING = error "close-parenthesis-missing", "Missing closing parenthesis";
    /// A function call has no closing parenthesis.
    UNCLOSED_FUNCTION_CALL = error "unclosed-function-call", "Unterminated function call";
    /// Two arguments of a function call are not separated by a comma.
    ARGUMENT_SEPARATOR_MISSING = error "argument-separator-missing", "Missing argument separator";
    /// A tuple has no closing bracket.
    UNCLOSED_TUPLE = error "unclosed-tuple", "Unterminated tuple constructor expression";
    /// Two items of a tuple are not separated by a comma.
    ITEM_SEPARATOR_MISSING = error "item-separator-missing", "Missing item separator";
    /// An object has no closing brace.
    UNCLOSED_OBJECT = error "unclosed-object", "Unterminated object constructor expression";
    /// A key of an object has no value.
    OBJECT_VALUE_MISSING = error "object-value-missing", "Missing attribute value";
    /// A key and a value of an object are not separated by an equals sign.
    KEY_VALUE_SEPARATOR_MISSING = error "key-value-separator-missing", "Missing key/value separator";
    /// Two items of an object are not separated by a newline or a comma.
    OBJECT_ITEM_SEPARATOR_MISSING = error "object-item-separator-missing", "Missing attribute separator";
    /// A `for` expression does not follow its grammar.
    INVALID_FOR_EXPRESSION = error "invalid-for-expression", "Invalid 'for' expression";

    /// An interpolation `${` has no closing brace.
    UNCLOSED_INTERPOLATION = error "unclosed-interpolation", "Unclosed template interpolation sequence";
    /// An interpolation contains more than one expression.
    EXTRA_IN_INTERPOLATION = error "extra-in-interpolation", "Extra characters after interpolation expression";
    /// A template directive `%{` has no keyword.
    DIRECTIVE_KEYWORD_MISSING = error "directive-keyword-missing", "Invalid template directive";
    /// A template directive has an unknown keyword.
    DIRECTIVE_KEYWORD_UNKNOWN = error "directive-keyword-unknown", "Invalid template control keyword";
    /// A `for` directive of a template does not follow its grammar.
    INVALID_FOR_DIRECTIVE = error "invalid-for-directive", "Invalid 'for' directive";
    /// A template directive is complete, but not closed.
    EXTRA_IN_DIRECTIVE = error "extra-in-directive", "Extra characters in {keyword} marker";
    /// A quoted or heredoc template has no end.
    UNCLOSED_TEMPLATE = error "unclosed-template", "Unterminated template string";
    /// A template ends inside an `if` or `for` directive.
    UNCLOSED_DIRECTIVE = error "unclosed-directive", "Unexpected end of template";
    /// A directive such as `endif` or `else` has no matching open directive.
    UNMATCHED_DIRECTIVE = error "unmatched-directive", "Unexpected {keyword} directive";

    /// A string that must be constant contains an interpolation or a directive.
    TEMPLATE_IN_CONSTANT_STRING = error "template-in-constant-string", "Invalid string literal";
    /// A string that must be constant has no closing quote.
    UNCLOSED_CONSTANT_STRING = error "unclosed-constant-string", "Unterminated string literal";
    /// A string that must be constant contains an invalid token.
    INVALID_CONSTANT_STRING = error "invalid-constant-string", "Invalid string literal";
    /// A string contains an unknown or malformed escape sequence.
    INVALID_ESCAPE = error "invalid-escape", "Invalid escape sequence";

    /// A reference does not start with a name.
    REFERENCE_NAME_EXPECTED = error "reference-name-expected", "Variable name required";
    /// A dot in a reference is not followed by a name.
    REFERENCE_ATTRIBUTE_EXPECTED = error "reference-attribute-expected", "Attribute name required";
    /// A reference contains a splat where single elements are required.
    SPLAT_IN_REFERENCE = error "splat-in-reference", "Attribute name required";
    /// The brackets in a reference contain something other than a number or a quoted string.
    REFERENCE_KEY_EXPECTED = error "reference-key-expected", "Index value required";
    /// The brackets in a reference are not closed.
    UNCLOSED_REFERENCE_KEY = error "unclosed-reference-key", "Unclosed index brackets";
    /// A reference contains a character other than an attribute access or an index.
    REFERENCE_STEP_EXPECTED = error "reference-step-expected", "Invalid character";
}

// Tokens and limits.

pub(super) fn bitwise_operator(at: Span, operator: &[u8]) -> Diagnostic {
    let hint = match operator {
        b"&" => "Did you mean \"&&\", the logical and?",
        b"|" => "Did you mean \"||\", the logical or?",
        b"~" => "Did you mean \"!\", the logical not?",
        _ => "",
    };
    Diagnostic::new(&BITWISE_OPERATOR, "The language does not support bitwise operators.").hint(hint).at(at)
}

pub(super) fn string_in_backticks(at: Span) -> Diagnostic {
    Diagnostic::new(&STRING_IN_BACKTICKS, "Backticks do not delimit strings.")
        .hint("Use double quotes, or a heredoc such as <<EOT for a string of several lines.")
        .at(at)
}

pub(super) fn string_in_single_quotes(at: Span) -> Diagnostic {
    Diagnostic::new(&STRING_IN_SINGLE_QUOTES, "Single quotes do not delimit strings.")
        .hint("Use double quotes (\").")
        .at(at)
}

pub(super) fn semicolon(at: Span) -> Diagnostic {
    Diagnostic::new(&SEMICOLON, "Semicolons are not separators.")
        .hint("Put each argument and block on its own line, and separate the items of a collection with commas.")
        .at(at)
}

pub(super) fn curly_quotes(at: Span) -> Diagnostic {
    Diagnostic::new(&CURLY_QUOTES, "Curly quotes do not delimit strings. Word processors and web pages insert them.")
        .hint("Replace them with straight quotes (\").")
        .at(at)
}

pub(super) fn invalid_character(at: Span) -> Diagnostic {
    Diagnostic::new(&INVALID_CHARACTER, "The language does not use this character.").at(at)
}

pub(super) fn invalid_encoding(at: Span) -> Diagnostic {
    Diagnostic::new(&INVALID_ENCODING, "Configuration files must be UTF-8, and this byte sequence is not.")
        .hint("Check which encoding your editor saves files in.")
        .at(at)
}

pub(super) fn line_break_in_string(at: Span) -> Diagnostic {
    Diagnostic::new(&LINE_BREAK_IN_STRING, "A quoted string must end on the line it starts on.")
        .hint("Write line breaks as \\n, or use a heredoc such as <<EOT.")
        .at(at)
}

pub(super) fn too_many_syntax_errors(at: Span) -> Diagnostic {
    let detail = eco_format!("The parser found {MAX_MISTAKES} syntax errors up to here and reports no further ones.");
    Diagnostic::new(&TOO_MANY_SYNTAX_ERRORS, detail).at(at)
}

pub(super) fn too_deep(at: Span) -> Diagnostic {
    let detail = eco_format!("More than {MAX_DEPTH} expressions are nested here.");
    Diagnostic::new(&EXPRESSION_TOO_DEEP, detail).hint("Move parts of the expression to local values.").at(at)
}

pub(super) fn too_long(at: Span) -> Diagnostic {
    let detail = eco_format!("More than {MAX_CHAIN} operations follow each other here.");
    Diagnostic::new(&EXPRESSION_TOO_LONG, detail)
        .hint("Move parts of the expression to local values, or use a function that takes a list.")
        .at(at)
}

pub(super) fn blocks_too_deep(at: Span) -> Diagnostic {
    Diagnostic::new(&BLOCKS_TOO_DEEP, eco_format!("More than {MAX_DEPTH} blocks are nested here.")).at(at)
}

pub(super) fn extra_after_expression(at: Span) -> Diagnostic {
    Diagnostic::new(&EXTRA_AFTER_EXPRESSION, "The expression is complete, but further characters follow it.").at(at)
}

// Bodies.

pub(super) fn quoted_argument_name(at: Span) -> Diagnostic {
    Diagnostic::new(&QUOTED_ARGUMENT_NAME, "Argument names are written without quotes.")
        .hint("Remove the quotes.")
        .at(at)
}

pub(super) fn unclosed_block(at: Span) -> Diagnostic {
    let detail = "The file ends before this block is closed. Its closing brace is missing, or braces elsewhere in the \
        file do not match.";
    Diagnostic::new(&UNCLOSED_BLOCK, detail).at(at)
}

pub(super) fn item_expected(at: Span) -> Diagnostic {
    Diagnostic::new(&ARGUMENT_OR_BLOCK_EXPECTED, "An argument or a block is required here.").at(at)
}

pub(super) fn equals_expected(at: Span) -> Diagnostic {
    item_expected(at).hint("To set an argument, use an equals sign: name = value.")
}

pub(super) fn argument_expected(at: Span, name: &str) -> Diagnostic {
    let hint = eco_format!(
        "To set the argument \"{name}\", put an equals sign after its name; to nest a block, start it on its own line."
    );
    Diagnostic::new(&BLOCK_IN_SINGLE_LINE_BLOCK, "A block on a single line can contain only one argument.")
        .hint(hint)
        .at(at)
}

pub(super) fn argument_redefined(at: Span, name: &str, first: Span) -> Diagnostic {
    let detail = eco_format!("The argument \"{name}\" is already set in this block.");
    Diagnostic::new(&ARGUMENT_REDEFINED, detail).hint("Set each argument once.").at(at).after(first)
}

pub(super) fn comma_after_argument(at: Span, context: Span) -> Diagnostic {
    Diagnostic::new(&COMMA_AFTER_ARGUMENT, "Arguments are separated by newlines, not by commas.")
        .hint("Remove the comma and put each argument on its own line.")
        .at(at)
        .within(context)
}

pub(super) fn newline_after_argument(at: Span, context: Span) -> Diagnostic {
    let detail = "A newline is required after the value of an argument.";
    Diagnostic::new(&NEWLINE_AFTER_ARGUMENT_MISSING, detail).at(at).within(context)
}

pub(super) fn newline_after_block(at: Span, context: Span) -> Diagnostic {
    let detail = "A newline is required after the closing brace of a block.";
    Diagnostic::new(&NEWLINE_AFTER_BLOCK_MISSING, detail).at(at).within(context)
}

pub(super) fn invalid_block_header(found: TokenKind, at: Span, context: Span) -> Diagnostic {
    let (detail, hint) = match found {
        K::Equal => (
            "An equals sign sets an argument, but this is a block.",
            "Remove the equals sign before the opening brace.",
        ),
        K::Newline => (
            "The opening brace \"{\" of a block must be on the line of its type and labels.",
            "Move the opening brace to this line.",
        ),
        _ => ("A label in quotes or the opening brace \"{\" of the block is required here.", ""),
    };
    Diagnostic::new(&INVALID_BLOCK_HEADER, detail).hint(hint).at(at).within(context)
}

pub(super) fn invalid_single_line_block(found: TokenKind, at: Span) -> Diagnostic {
    let (detail, hint) = match found {
        K::Comma => (
            "A block on a single line can contain only one argument.",
            "Put each argument on its own line between the braces.",
        ),
        K::Newline => (
            "A block with an argument on the line of its opening brace must be closed on that line.",
            "Put the closing brace right after the argument, or move the argument to its own line.",
        ),
        _ => ("The closing brace must follow the only argument of a block on a single line.", ""),
    };
    Diagnostic::new(&INVALID_SINGLE_LINE_BLOCK, detail).hint(hint).at(at)
}

// Expressions.

pub(super) fn missing_false_expression(at: Span, context: Span) -> Diagnostic {
    Diagnostic::new(&FALSE_RESULT_MISSING, "This conditional has no result for a false condition.")
        .hint("Add a colon and a second result: condition ? result : otherwise.")
        .at(at)
        .within(context)
}

pub(super) fn expression_expected(at: Span, found: TokenKind) -> Diagnostic {
    match found {
        K::Eof => Diagnostic::new(&EXPRESSION_MISSING, "The input ends where an expression is required."),
        _ => Diagnostic::new(&INVALID_EXPRESSION_START, "An expression is required here, but this cannot start one."),
    }
    .at(at)
}

pub(super) fn attribute_name_expected(at: Span) -> Diagnostic {
    Diagnostic::new(&ATTRIBUTE_NAME_EXPECTED, "An attribute name is required after the dot.").at(at)
}

pub(super) fn chained_legacy_index(at: Span, syntax: &str, first: &str, second: &str) -> Diagnostic {
    let detail = eco_format!("Two indexes cannot follow each other in {syntax}.");
    let hint = eco_format!("Write them in brackets: [{first}][{second}].");
    Diagnostic::new(&CHAINED_LEGACY_INDEX, detail).hint(hint).at(at)
}

pub(super) fn nested_splat(at: Span) -> Diagnostic {
    Diagnostic::new(&NESTED_SPLAT, "A \".*\" splat cannot contain another splat.").hint("Use \"[*]\" instead.").at(at)
}

pub(super) fn unclosed_splat(at: Span) -> Diagnostic {
    Diagnostic::new(&UNCLOSED_SPLAT, "A closing bracket is required after the star: \"[*]\".").at(at)
}

pub(super) fn unclosed_index(at: Span) -> Diagnostic {
    Diagnostic::new(&UNCLOSED_INDEX, "The closing bracket (\"]\") of this index is missing.").at(at)
}

pub(super) fn invalid_number(at: Span) -> Diagnostic {
    Diagnostic::new(&INVALID_NUMBER, "This is not a valid number, or it is outside of the supported range.").at(at)
}

// Brackets.

pub(super) fn unbalanced_parens(at: Span, context: Span) -> Diagnostic {
    Diagnostic::new(&UNBALANCED_PARENTHESES, "A closing parenthesis is required here.").at(at).within(context)
}

pub(super) fn missing_function_name(at: Span, context: Span) -> Diagnostic {
    Diagnostic::new(&FUNCTION_NAME_MISSING, "A function name is required after \"::\".").at(at).within(context)
}

pub(super) fn missing_open_paren(at: Span, context: Span) -> Diagnostic {
    let detail = "Arguments in parentheses are required after the function name.";
    Diagnostic::new(&OPEN_PARENTHESIS_MISSING, detail).at(at).within(context)
}

pub(super) fn missing_close_paren(at: Span, context: Span) -> Diagnostic {
    let detail = "Only the last argument can be expanded with \"...\". The closing parenthesis is required after it.";
    Diagnostic::new(&CLOSE_PARENTHESIS_MISSING, detail).at(at).within(context)
}

pub(super) fn unterminated_call(at: Span) -> Diagnostic {
    let detail = "The input ends before this function call is closed. Its closing parenthesis is missing, or \
        parentheses inside of it do not match.";
    Diagnostic::new(&UNCLOSED_FUNCTION_CALL, detail).at(at)
}

pub(super) fn missing_argument_separator(at: Span, context: Span) -> Diagnostic {
    let detail = "A comma is required between the arguments of a function call.";
    Diagnostic::new(&ARGUMENT_SEPARATOR_MISSING, detail).at(at).within(context)
}

pub(super) fn unterminated_tuple(at: Span) -> Diagnostic {
    let detail = "The input ends before this tuple is closed. Its closing bracket (\"]\") is missing, or brackets \
        inside of it do not match.";
    Diagnostic::new(&UNCLOSED_TUPLE, detail).at(at)
}

pub(super) fn missing_item_separator(at: Span, context: Span) -> Diagnostic {
    Diagnostic::new(&ITEM_SEPARATOR_MISSING, "A comma is required between the items of a tuple.").at(at).within(context)
}

pub(super) fn unterminated_object(at: Span) -> Diagnostic {
    let detail = "The input ends before this object is closed. Its closing brace (\"}\") is missing, or braces inside \
        of it do not match.";
    Diagnostic::new(&UNCLOSED_OBJECT, detail).at(at)
}

pub(super) fn missing_object_value(found: TokenKind, at: Span, open: Span) -> Diagnostic {
    let separator = "An equals sign (\"=\") is required between key and value.";
    let problem = match found {
        K::Eof => return unterminated_object(open),
        K::Newline | K::Comma => {
            Diagnostic::new(&OBJECT_VALUE_MISSING, "An equals sign (\"=\") and a value are required after the key.")
        }
        K::Ident => Diagnostic::new(&KEY_VALUE_SEPARATOR_MISSING, separator)
            .hint("If the key contains spaces or dots, put the whole key in quotes."),
        _ => Diagnostic::new(&KEY_VALUE_SEPARATOR_MISSING, separator),
    };
    problem.at(at).within(open.to(at))
}

pub(super) fn missing_attribute_separator(at: Span, context: Span) -> Diagnostic {
    let detail = "A newline or a comma is required between the items of an object.";
    Diagnostic::new(&OBJECT_ITEM_SEPARATOR_MISSING, detail).at(at).within(context)
}

/// A violation of the grammar of `for` expressions and directives.
#[derive(Clone, Copy)]
pub(super) enum ForProblem {
    ElementName,
    ValueName,
    In,
    Colon,
    ExtraAtEnd,
    KeyInTuple,
    NoKeyInObject,
    GroupInTuple,
}

impl ForProblem {
    fn sentence(self) -> &'static str {
        match self {
            ForProblem::ElementName => "A name for the element is required after \"for\".",
            ForProblem::ValueName => "A name for the value is required after the comma.",
            ForProblem::In => "The keyword \"in\" is required after the names of a \"for\".",
            ForProblem::Colon => "A colon is required after the collection of a \"for\" expression.",
            ForProblem::ExtraAtEnd => "Further characters follow the end of this \"for\" expression.",
            ForProblem::KeyInTuple => "A \"for\" expression that builds a tuple cannot have keys.",
            ForProblem::NoKeyInObject => {
                "A \"for\" expression that builds an object requires a key, as in \"key => value\"."
            }
            ForProblem::GroupInTuple => {
                "A \"for\" expression that builds a tuple cannot group its values with \"...\"."
            }
        }
    }
}

pub(super) fn invalid_for_expression(at: Span, context: Span, problem: ForProblem) -> Diagnostic {
    Diagnostic::new(&INVALID_FOR_EXPRESSION, problem.sentence()).at(at).within(context)
}

// Templates.

pub(super) fn unclosed_interpolation(at: Span, container: &str) -> Diagnostic {
    let detail = eco_format!(
        "The {container} ends before this interpolation is closed. Its closing brace (\"}}\") is missing, or brackets \
         inside of it do not match."
    );
    Diagnostic::new(&UNCLOSED_INTERPOLATION, detail).at(at)
}

pub(super) fn colon_in_interpolation(at: Span, context: Span) -> Diagnostic {
    extra_characters(at, context, "A colon cannot follow the expression of an interpolation.")
}

pub(super) fn extra_in_interpolation(at: Span, context: Span) -> Diagnostic {
    extra_characters(at, context, "The closing brace of the interpolation is required after its expression.")
}

fn extra_characters(at: Span, context: Span, detail: &str) -> Diagnostic {
    Diagnostic::new(&EXTRA_IN_INTERPOLATION, detail)
        .hint("If \"${\" belongs to another language, such as a shell script, write it as \"$${\".")
        .at(at)
        .within(context)
}

pub(super) fn directive_keyword_expected(at: Span, context: Span) -> Diagnostic {
    let detail = "A keyword such as \"if\" or \"for\" is required after \"%{\".";
    Diagnostic::new(&DIRECTIVE_KEYWORD_MISSING, detail).at(at).within(context)
}

pub(super) fn unknown_directive(at: Span, context: Span, given: &str) -> Diagnostic {
    let keywords = ["if", "for", "else", "endif", "endfor"];
    Diagnostic::new(&DIRECTIVE_KEYWORD_UNKNOWN, eco_format!("\"{given}\" is not a template directive."))
        .hint(suggest(given, keywords))
        .at(at)
        .within(context)
}

pub(super) fn invalid_for_directive(at: Span, problem: ForProblem) -> Diagnostic {
    Diagnostic::new(&INVALID_FOR_DIRECTIVE, problem.sentence()).at(at)
}

pub(super) fn extra_in_directive(at: Span, context: Span, keyword: &str) -> Diagnostic {
    Diagnostic::new(&EXTRA_IN_DIRECTIVE, "The closing brace of the directive is required here.")
        .titled(eco_format!("Extra characters in {keyword} marker"))
        .naming(keyword)
        .at(at)
        .within(context)
}

pub(super) fn unterminated_template(at: Span, context: Span) -> Diagnostic {
    Diagnostic::new(&UNCLOSED_TEMPLATE, "The closing delimiter of this template is missing.").at(at).within(context)
}

pub(super) fn unexpected_end_of_template(at: Span, open: &str, close: &str) -> Diagnostic {
    let detail = eco_format!("The template ends before its directive \"{open}\" is closed with \"{close}\".");
    Diagnostic::new(&UNCLOSED_DIRECTIVE, detail).at(at)
}

/// Reason why a directive is misplaced.
#[derive(Clone, Copy)]
pub(super) enum DirectiveProblem {
    NothingOpen,
    SecondElse,
    IfOpen,
    ElseInFor,
    ForOpen,
}

pub(super) fn unmatched_directive(at: Span, keyword: &str, problem: DirectiveProblem) -> Diagnostic {
    let reason = match problem {
        DirectiveProblem::NothingOpen => "no directive is open here",
        DirectiveProblem::SecondElse => "its \"if\" already has an \"else\"",
        DirectiveProblem::IfOpen => "the open \"if\" requires an \"endif\" first",
        DirectiveProblem::ElseInFor => "a \"for\" cannot have an \"else\"",
        DirectiveProblem::ForOpen => "the open \"for\" requires an \"endfor\" first",
    };
    Diagnostic::new(&UNMATCHED_DIRECTIVE, eco_format!("\"{keyword}\" is not allowed here: {reason}."))
        .titled(eco_format!("Unexpected {keyword} directive"))
        .naming(keyword)
        .at(at)
}

// Constant strings.

pub(super) fn template_in_literal(at: Span, context: Span, which: char) -> Diagnostic {
    let hint = eco_format!("To write \"{which}{{\" itself, use \"{which}{which}{{\".");
    Diagnostic::new(&TEMPLATE_IN_CONSTANT_STRING, "Template sequences are not allowed in this string.")
        .hint(hint)
        .at(at)
        .within(context)
}

pub(super) fn unterminated_literal(at: Span, context: Span) -> Diagnostic {
    Diagnostic::new(&UNCLOSED_CONSTANT_STRING, "The input ends before the closing quote.").at(at).within(context)
}

pub(super) fn invalid_in_literal(at: Span, context: Span) -> Diagnostic {
    Diagnostic::new(&INVALID_CONSTANT_STRING, "This is not allowed in a quoted string.").at(at).within(context)
}

pub(super) fn short_unicode_escape(at: Span, selector: char, digits: &str) -> Diagnostic {
    let detail = eco_format!("Exactly {digits} hexadecimal digits are required after \\{selector}.");
    Diagnostic::new(&INVALID_ESCAPE, detail).at(at)
}

pub(super) fn no_such_character(at: Span, code: u32) -> Diagnostic {
    Diagnostic::new(&INVALID_ESCAPE, eco_format!("U+{code:04X} is not a Unicode character.")).at(at)
}

pub(super) fn unknown_escape(at: Span, selector: &str) -> Diagnostic {
    let detail = eco_format!(
        "\"\\{selector}\" is not an escape sequence. The escape sequences are \\n, \\r, \\t, \\\", \\\\, \\uNNNN and \
         \\UNNNNNNNN."
    );
    Diagnostic::new(&INVALID_ESCAPE, detail).hint("To write a backslash, use \\\\.").at(at)
}

// References.

pub(super) fn variable_name_expected(at: Span) -> Diagnostic {
    Diagnostic::new(&REFERENCE_NAME_EXPECTED, "A reference must start with a name.").at(at)
}

pub(super) fn step_name_expected(at: Span, context: Span) -> Diagnostic {
    Diagnostic::new(&REFERENCE_ATTRIBUTE_EXPECTED, "A name is required after the dot.").at(at).within(context)
}

pub(super) fn splat_in_reference(at: Span, context: Span, splat: &str) -> Diagnostic {
    let detail = eco_format!("A splat (\"{splat}\") is not allowed here.");
    Diagnostic::new(&SPLAT_IN_REFERENCE, detail).at(at).within(context)
}

pub(super) fn step_key_expected(at: Span, context: Span) -> Diagnostic {
    let detail = "The brackets must contain a number or a quoted string.";
    Diagnostic::new(&REFERENCE_KEY_EXPECTED, detail).at(at).within(context)
}

pub(super) fn unclosed_step(at: Span, context: Span) -> Diagnostic {
    Diagnostic::new(&UNCLOSED_REFERENCE_KEY, "A closing bracket is required after the key.").at(at).within(context)
}

pub(super) fn step_expected(at: Span, context: Span) -> Diagnostic {
    // In the title of messages about state files, so OpenTofu's words.
    Diagnostic::new(&REFERENCE_STEP_EXPECTED, "Expected an attribute access or an index operator.")
        .at(at)
        .within(context)
}
