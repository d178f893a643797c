//! Tokens: the lexer's output. Concatenated, their bytes are the file.

/// One token. Every byte of the file belongs to exactly one token, whitespace and comments included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// Spaces and tabs.
    Whitespace,
    /// `\n` or `\r\n` where it is significant or not: the parser decides.
    Newline,
    /// `# ...`, `// ...` (with the line end, as the language has it) or `/* ... */`.
    Comment,
    /// The byte order mark at the start of a file.
    Bom,
    /// A name.
    Ident,
    /// Digits with optional fraction and exponent.
    Number,
    /// `"` that opens a quoted template.
    OpenQuote,
    /// `"` that closes a quoted template.
    CloseQuote,
    /// Literal text in a quoted template, escapes included.
    QuotedText,
    /// `<<NAME` or `<<-NAME` with its line end.
    OpenHeredoc,
    /// The closing name of a heredoc with leading whitespace.
    CloseHeredoc,
    /// Literal text in a heredoc or bare template.
    TemplateText,
    /// `${` or `${~`
    InterpolationStart,
    /// `%{` or `%{~`
    DirectiveStart,
    /// `}` or `~}` that ends an interpolation or directive.
    TemplateSequenceEnd,
    /// `{`
    OpenBrace,
    /// `}`
    CloseBrace,
    /// `[`
    OpenBracket,
    /// `]`
    CloseBracket,
    /// `(`
    OpenParen,
    /// `)`
    CloseParen,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Star,
    /// `/`
    Slash,
    /// `%`
    Percent,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `!`
    Not,
    /// `=`
    Equal,
    /// `==`
    EqualEqual,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `=>`
    FatArrow,
    /// `?`
    Question,
    /// `:`
    Colon,
    /// `::`
    DoubleColon,
    /// `,`
    Comma,
    /// `.`
    Dot,
    /// `...`
    Ellipsis,
    /// `&`, `|`, `^`, `~`: operators of other languages.
    Bitwise,
    /// `**`: an operator of other languages.
    StarStar,
    /// `'`: strings of other languages.
    Apostrophe,
    /// `` ` ``: strings of other languages.
    Backtick,
    /// `;`: a separator of other languages.
    Semicolon,
    /// A tab where the language does not allow one.
    Tab,
    /// A character that starts nothing.
    Invalid,
    /// Bytes that are not UTF-8.
    BadUtf8,
    /// A quoted template that never ends on its line.
    QuotedNewline,
    /// The end of the file, empty.
    Eof,
}
