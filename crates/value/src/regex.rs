//! Go regular expression syntax (RE2) over the `regex-automata` engine.
