//! Any bytes lex, in every mode, and the tokens are the input.
#![no_main]

use libfuzzer_sys::fuzz_target;
use yuba_syntax::lexer::{Mode, lex};

fuzz_target!(|bytes: &[u8]| {
    for mode in [Mode::Config, Mode::Expression, Mode::Template] {
        let mut at = 0;
        for token in lex(bytes, mode) {
            assert_eq!(token.start as usize, at, "no gap and no overlap");
            assert!(token.end >= token.start);
            at = token.end as usize;
        }
        assert_eq!(at, bytes.len(), "tokens reach the end");
    }
});
