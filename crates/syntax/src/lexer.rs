//! The lexer: bytes to tokens, with a stack of modes for templates.
