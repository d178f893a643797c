//! Regular expressions: RE2 syntax as Go's `regexp` package reads it, matched in linear time.
//!
//! The syntax is our own reading ([`parse`]); matching is done by `regex-automata`, whose leftmost-first rule is the
//! same as Go's. Compiled expressions are cached in a small table, because functions see the same pattern many times.
//!
//! Not here: back-references and look-around, which the language does not have.

mod class;
mod parse;
mod template;

use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use ecow::EcoString;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use regex_automata::util::captures::Captures;
use regex_automata::{Anchored, Input, meta};

/// Memory that the compiled form of one expression may take.
const SIZE_LIMIT: usize = 64 << 20;
/// Maximum number of cached expressions.
const CACHE_SIZE: usize = 256;
/// Maximum memory of compiled expressions.
const CACHE_MEMORY: usize = 2 * SIZE_LIMIT;

/// A compiled regular expression. Cloning is a reference count.
#[derive(Clone)]
pub struct Regex(Arc<Compiled>);

struct Compiled {
    engine: meta::Regex,
    /// Names of the capture groups, the whole match first.
    names: Vec<Option<EcoString>>,
}

/// Compiled expressions by pattern. When it is full it is emptied.
#[derive(Default)]
struct Cache {
    entries: HashMap<EcoString, Regex, FixedState>,
    memory: usize,
}

impl Cache {
    fn insert(&mut self, pattern: &str, regex: &Regex) {
        let memory = regex.0.engine.memory_usage();
        if self.entries.len() >= CACHE_SIZE || self.memory + memory > CACHE_MEMORY {
            *self = Cache::default();
        }
        self.memory += memory;
        self.entries.insert(pattern.into(), regex.clone());
    }
}

/// Error in a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegexErrorKind {
    /// `[z-a]`, `\p{Unheard}`, `[[:unheard:]]`
    InvalidClassRange,
    /// `\y`
    InvalidEscape,
    /// `(?P<a-b>x)`
    InvalidGroupName,
    /// `(?=x)`
    UnsupportedGroup,
    /// `a**`
    NestedRepetition,
    /// `a{1001}`, `a{2,1}`
    InvalidRepeatCount,
    /// `[a`
    MissingBracket,
    /// `(a`
    MissingParen,
    /// `a)`
    UnexpectedParen,
    /// `*`
    MissingRepeatArgument,
    /// `\`
    TrailingBackslash,
    /// More than 1000 levels.
    TooDeep,
    /// More than the size limit.
    TooLarge,
}

/// A pattern that is not a regular expression, and which part of it is to blame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegexError {
    /// The error.
    pub kind: RegexErrorKind,
    /// The part of the pattern that is to blame.
    pub fragment: EcoString,
}

impl fmt::Display for RegexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use RegexErrorKind::*;
        let fragment = &self.fragment;
        match self.kind {
            InvalidClassRange => write!(f, "invalid character class range {fragment}"),
            InvalidEscape => write!(f, "invalid escape sequence {fragment}"),
            InvalidGroupName => write!(f, "invalid capture group name in {fragment}"),
            UnsupportedGroup => write!(f, "{fragment} starts a kind of group that is not supported"),
            NestedRepetition => write!(f, "a repetition directly after another one: {fragment}"),
            InvalidRepeatCount => {
                write!(f, "invalid repeat count {fragment} (at most 1000, and the smaller number first)")
            }
            MissingBracket => write!(f, "the closing ] is missing in {fragment}"),
            MissingParen => write!(f, "a closing ) is missing in {fragment}"),
            UnexpectedParen => write!(f, "a closing ) has no opening one in {fragment}"),
            MissingRepeatArgument => write!(f, "there is nothing to repeat before {fragment}"),
            TrailingBackslash => write!(f, "it ends with a backslash that escapes nothing"),
            TooDeep => write!(f, "groups are nested too deeply"),
            TooLarge => write!(f, "it is too large"),
        }
    }
}
impl std::error::Error for RegexError {}

/// One match: the spans of the capture groups, the whole match first; `None` for a group that took no part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    spans: Vec<Option<(usize, usize)>>,
}

impl Match {
    /// The bytes that a group matched; group 0 is the whole match.
    pub fn span(&self, group: usize) -> Option<(usize, usize)> {
        self.spans.get(group).copied().flatten()
    }
    /// The text that a group matched.
    pub fn text<'t>(&self, group: usize, haystack: &'t str) -> Option<&'t str> {
        let (start, end) = self.span(group)?;
        haystack.get(start..end)
    }
    fn from_captures(captures: &Captures) -> Match {
        let spans = (0..captures.group_len()).map(|i| captures.get_group(i).map(|s| (s.start, s.end))).collect();
        Match { spans }
    }
}

impl Regex {
    /// Compiles a pattern, or takes it from the table of those compiled before.
    pub fn compile(pattern: &str) -> Result<Regex, RegexError> {
        static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Mutex::default);
        let lock = || CACHE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(regex) = lock().entries.get(pattern) {
            return Ok(regex.clone());
        }
        let regex = Regex::compile_within(pattern, SIZE_LIMIT)?;
        lock().insert(pattern, &regex);
        Ok(regex)
    }
    fn compile_within(pattern: &str, limit: usize) -> Result<Regex, RegexError> {
        let parse::Parsed { hir, names } = parse::parse(pattern)?;
        let engine = meta::Builder::new()
            .configure(meta::Config::new().nfa_size_limit(Some(limit)))
            .build_from_hir(&hir)
            .map_err(|_| RegexError { kind: RegexErrorKind::TooLarge, fragment: pattern.into() })?;
        Ok(Regex(Arc::new(Compiled { engine, names })))
    }

    /// Names of the capture groups in order, without the whole match; `None` for groups without a name.
    pub fn group_names(&self) -> &[Option<EcoString>] {
        self.0.names.get(1..).unwrap_or_default()
    }
    /// Whether it matches somewhere.
    pub fn is_match(&self, haystack: &str) -> bool {
        self.0.engine.is_match(haystack)
    }
    /// The span of the first match.
    pub fn find(&self, haystack: &str) -> Option<(usize, usize)> {
        self.0.engine.find(haystack).map(|m| (m.start(), m.end()))
    }
    /// The first match with its groups.
    pub fn captures(&self, haystack: &str) -> Option<Match> {
        let mut captures = self.0.engine.create_captures();
        self.0.engine.search_captures(&Input::new(haystack).anchored(Anchored::No), &mut captures);
        captures.is_match().then(|| Match::from_captures(&captures))
    }
    /// All matches that do not overlap; an empty one right after another match is skipped.
    pub fn captures_all(&self, haystack: &str) -> impl Iterator<Item = Match> {
        self.0.engine.captures_iter(haystack).map(|captures| Match::from_captures(&captures))
    }
    /// The text with every match replaced by the template, in which `$1`, `$name` and `${name}` stand for groups and
    /// `$$` for a dollar sign; `None` if that is longer than `max` bytes.
    pub fn replace_all(&self, haystack: &str, template: &str, max: usize) -> Option<String> {
        let mut out = String::with_capacity(haystack.len());
        let mut rest = 0;
        for found in self.captures_all(haystack) {
            let Some((start, end)) = found.span(0) else { continue };
            out.push_str(&haystack[rest..start]);
            template::expand(template, &self.0.names, &found, haystack, &mut out);
            rest = end;
            if out.len() > max {
                return None;
            }
        }
        out.push_str(&haystack[rest..]);
        (out.len() <= max).then_some(out)
    }
}

impl fmt::Debug for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Regex({:?})", self.0.names)
    }
}

#[cfg(test)]
mod tests;
