//! Tokens: the lexer's output. Concatenated, their bytes are the file.

/// One token. Every byte of the file belongs to exactly one token, whitespace and comments included.
/// The last token is always [`TokenKind::Eof`], which is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Token {
    /// Its bytes, given the bytes of the file.
    pub fn bytes<'s>(&self, source: &'s [u8]) -> &'s [u8] {
        source.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
    /// Whether the parser never sees it: whitespace and the byte order mark. Comments and line ends matter to it.
    pub fn is_space(&self) -> bool {
        matches!(self.kind, TokenKind::Whitespace | TokenKind::Bom)
    }
}

/// Kinds of tokens.
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
    /// `}` or `~}` that ends an interpolation or directive; any other `~}` too.
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
    /// `'`: strings of other languages.
    Apostrophe,
    /// `` ` ``: strings of other languages.
    Backtick,
    /// `;`: a separator of other languages.
    Semicolon,
    /// A character that starts nothing.
    Invalid,
    /// Bytes that are not UTF-8.
    BadUtf8,
    /// Line ends inside a quoted template, which may not have any.
    QuotedNewline,
    /// The end of the file, empty.
    Eof,
}
