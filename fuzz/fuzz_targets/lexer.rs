//! Any bytes lex, in every mode, and the tokens are the input.
#![no_main]

use libfuzzer_sys::fuzz_target;
use yuba_syntax::lexer::{LexMode, lex};

fuzz_target!(|bytes: &[u8]| {
    for mode in [LexMode::Config, LexMode::Expression, LexMode::Template] {
        let mut at = 0;
        for token in lex(bytes, mode) {
            assert_eq!(token.start as usize, at, "no gap and no overlap");
            assert!(token.end >= token.start);
            at = token.end as usize;
        }
        assert_eq!(at, bytes.len(), "tokens reach the end");
    }
});
