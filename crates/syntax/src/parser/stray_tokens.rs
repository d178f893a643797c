//! Tokens that no grammar rule accepts, such as backticks and bitwise operators.

use super::{MAX_MISTAKES, Parser, diagnostics};
use crate::token::TokenKind as K;

impl Parser<'_> {
    /// Reports tokens that are never valid. Of each kind only the first ones are reported.
    pub(super) fn check_tokens(&mut self) {
        let (mut bitwise, mut backticks, mut apostrophes, mut semicolons, mut bad_utf8) = (0, 0, 0, 0, 0);
        for index in 0..self.tokens.len() {
            if self.mistakes > MAX_MISTAKES {
                return;
            }
            let token = self.tokens[index];
            let at = self.token_span(index);
            let diagnostic = match token.kind {
                K::Bitwise if bitwise < 4 => {
                    bitwise += 1;
                    diagnostics::bitwise_operator(at, token.bytes(self.source))
                }
                K::Backtick if opens(&mut backticks) => diagnostics::string_in_backticks(at),
                K::Apostrophe if opens(&mut apostrophes) => diagnostics::string_in_single_quotes(at),
                K::Semicolon if semicolons < 1 => {
                    semicolons += 1;
                    diagnostics::semicolon(at)
                }
                K::BadUtf8 if bad_utf8 < 1 => {
                    bad_utf8 += 1;
                    diagnostics::invalid_encoding(at)
                }
                K::QuotedNewline => diagnostics::line_break_in_string(at),
                K::Invalid if matches!(token.bytes(self.source), b"\xe2\x80\x9c" | b"\xe2\x80\x9d") => {
                    diagnostics::curly_quotes(at)
                }
                K::Invalid => diagnostics::invalid_character(at),
                _ => continue,
            };
            self.report(diagnostic);
        }
    }
}

/// Counts a quote, and says whether it is reported: the first and the third of a file.
// Quirk: OpenTofu stops counting after the third, so later ones are not reported.
fn opens(count: &mut usize) -> bool {
    let opens = count.is_multiple_of(2);
    *count += usize::from(*count <= 2);
    opens
}
