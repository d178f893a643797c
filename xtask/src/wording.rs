//! Idioms that texts for people must not contain: in comments and strings of the sources, in the suite and in the documentation.
//!
//! A phrase is found word by word, across line ends. Fenced code is not prose, and neither are up to three words between backticks or
//! quotes. In files without a syntax of their own here, such as workflows and scripts, every line is prose. Raw strings of tests are
//! configurations and expected output.

/// Phrases, and what to write instead. Words are separated by spaces, `a|b` is either word, `!a|b` is neither of them and may
/// be absent, `{}` is a number or a placeholder, and `.` is the start or the end of a sentence.
const PHRASES: &[(&str, &str)] = &[
    ("nobody|somebody|someone|anybody|anyone|everybody|whoever|whomever", "the component, user or process"),
    ("no one", "the component, user or process"),
    ("those who", "the component, user or process"),
    ("mend|mends|mended|mending", "correct, repair"),
    ("tell|tells|told|telling", "report, show, return, determine"),
    ("hear|hears|heard", "receive"),
    ("bring|brings|brought|bringing", "install, download, convert, move"),
    ("comes|came|come|coming to !be", "reach, visit, get, end"),
    ("be had", "load, install, be available"),
    ("to an end", "end, finish"),
    ("to its|their|a own|good end", "end, finish"),
    ("is|are|was|were|be|been kept !in|open|until|going|up|out|apart|free|alive", "store, save, cache"),
    ("is|are|was|were|be|been kept in|until", "store, save, cache"),
    ("thing|things", "object, value, item"),
    ("mistake|mistakes", "error"),
    ("places", "locations"),
    ("a|the|this|that|each|every|another|same|no|which|its|whose place !of", "location, position, path"),
    ("in the place of", "instead of, replaces"),
    ("!there is|are|was|were|be no !longer|more|later|sooner|older|newer|greater|less|fewer", "is not a"),
    ("is|are|was|were|be|has|have|had none", "is empty, does not have"),
    ("what there is|are|was|were", "the noun"),
    ("what is|was there", "the noun"),
    ("is|are|was|were|be|not there !is|are|was|were|any", "exist, be installed, be missing"),
    ("how many there", "number of"),
    ("goes|go|went|gone|going wrong", "fail"),
    ("under way", "in progress"),
    ("is|was over", "ended"),
    ("!in out of the way", "removed"),
    ("do|does|did|not|would count !as|the|to", "is ignored, applies"),
    ("long ago", "in version N"),
    ("one day", "in a future version"),
    ("nowadays", "now"),
    ("any more", "no longer"),
    ("nothing knows", "is unknown to"),
    ("!one|level one more", "another, a further"),
    ("{} more .", "the noun after the number"),
    ("left a name", "unknown process"),
    ("what is|was wrong", "error, reason"),
    ("is|are|was|be said !to", "report, set"),
    ("whom", "the component, user or process"),
    ("at hand", "available, present"),
    ("anew", "again"),
    ("as good as", "equivalent to"),
];

/// Phrases that only the sources of tests may use.
const STRICT_PHRASES: &[(&str, &str)] = &[
    ("program|programs", "process, tool, executable"),
    ("answer|answers|answered|answering|unanswered", "response, input, result"),
    (
        "condition|conditions|check|checks|rule|rules|precondition|preconditions|postcondition|postconditions hold|holds|held",
        "pass",
    ),
    ("not hold|held !the|a|an|its|any|all|by|with", "fail, not pass"),
    (". what", "a noun as the subject"),
    (". whatever", "a noun as the subject"),
    ("has|have|had|having to !be|do|an", "must"),
    ("has|have|had to be|do", "must"),
    ("others", "the noun"),
    ("a way out", "a solution"),
];

/// A comment of one such word says nothing.
const LONE_WORDS: [&str; 7] = ["what", "why", "how", "who", "where", "when", "which"];

/// Largest number of hits that stay, apart from those in this list.
const MOST_HITS: usize = 20;

/// Hits that stay: start of the path, the words or a part of the line, and the reason.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("xtask/src/wording.rs", "", "The list itself, and texts that the tests of the scanner find."),
    (
        "crates/view/src/diagnostic.rs",
        "(and one more similar {noun} elsewhere)",
        "A line of OpenTofu that scripts match.",
    ),
    ("crates/view/src/diagnostic.rs", "(and {count} more)", "A line of OpenTofu that scripts match."),
    ("crates/view/src/diagnostic.rs", "on a.tf line 1 (and 2 more)", "A line of OpenTofu that scripts match."),
    ("crates/provider/src/fake", "thing", "The name of the objects of the fake provider."),
    ("crates/plugin/src/schema.rs", "thing", "A resource type in a schema of a test."),
    ("docs/ARCHITECTURE.md", "regular expression programs", "The term of the field for compiled expressions."),
    ("docs/backends.md", "answer \"no\"", "The word that the prompt asks for."),
    ("docs/compatibility.md", "the user answers \"no\"", "The word that the prompt asks for."),
];

/// A word, or the end of a sentence, with its line.
struct Token {
    word: String,
    line: usize,
}

/// Checks all texts, given by path and content. An exception without a hit is a breach too.
pub(crate) fn check(files: &[(String, String)], breaches: &mut Vec<String>) {
    let mut used = [0_usize; ALLOWED.len()];
    for (path, text) in files {
        let lines: Vec<&str> = text.lines().collect();
        for (line, phrase, instead) in hits(path, text) {
            let shown = lines.get(line - 1).copied().unwrap_or_default().trim();
            let is_allowed = |(start, part, _): &(&str, &str, &str)| {
                path.starts_with(start)
                    && (part.is_empty() || phrase == *part || (part.contains(' ') && shown.contains(part)))
            };
            match ALLOWED.iter().position(is_allowed) {
                Some(exception) => used[exception] += 1,
                None => breaches.push(format!("{path}:{line}: \"{phrase}\" in `{shown}`; write: {instead}")),
            }
        }
    }
    for ((path, part, _), _) in ALLOWED.iter().zip(used).filter(|(_, used)| *used == 0) {
        breaches.push(format!("xtask/src/wording.rs: the exception for `{part}` in {path} has no hit; remove it"));
    }
    // The first exception is this list.
    let hits: usize = used.iter().skip(1).sum();
    if hits > MOST_HITS {
        breaches.push(format!("xtask/src/wording.rs: the exceptions have {hits} hits, and {MOST_HITS} are allowed"));
    }
}

/// Hits of a file: line, words, and what to write instead.
fn hits(path: &str, text: &str) -> Vec<(usize, String, &'static str)> {
    let tokens = match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "md" => prose_of_markdown(text),
        "rs" | "js" => prose_of_rust(path, text),
        _ => prose_of_lines(text),
    };
    let mut hits = Vec::new();
    for start in 0..tokens.len() {
        // A phrase at the start of a sentence begins with the end of the previous one.
        let first = tokens.len().saturating_sub(1).min(start + usize::from(tokens[start].word == "."));
        let shown = STRICT_PHRASES.iter().filter(|_| !is_test(path));
        for (phrase, instead) in PHRASES.iter().chain(shown) {
            if let Some(words) = matched(&tokens, start, phrase) {
                hits.push((tokens[first].line, words, *instead));
            }
        }
        let is_alone = start == 0 || tokens[start - 1].word == ".";
        let is_comment = path.ends_with(".rs") && text.lines().nth(tokens[start].line - 1).is_some_and(is_lone_comment);
        if is_alone && is_comment && LONE_WORDS.contains(&tokens[start].word.as_str()) {
            hits.push((tokens[start].line, tokens[start].word.clone(), "a noun, or nothing"));
        }
    }
    hits
}

/// Whether users never see the texts of a file.
fn is_test(path: &str) -> bool {
    let is_crate = |name: &str| path.starts_with(&format!("crates/{name}/"));
    path.contains("/tests")
        || path.ends_with("tests.rs")
        || path.starts_with("fuzz/")
        || ["testkit", "testprovider"].into_iter().any(is_crate)
}

/// Whether a line is a comment of one word.
fn is_lone_comment(line: &str) -> bool {
    line.trim_start().strip_prefix("//").is_some_and(|rest| {
        let rest = rest.trim_start_matches(['/', '!']).trim();
        rest.ends_with('.') && !rest.contains(' ')
    })
}

/// The words of a phrase, if it begins at this token.
fn matched(tokens: &[Token], start: usize, phrase: &str) -> Option<String> {
    let mut at = start;
    let mut words = Vec::new();
    for (index, part) in phrase.split(' ').enumerate() {
        if let Some(excluded) = part.strip_prefix('!') {
            let neighbour =
                if index == 0 { start.checked_sub(1).and_then(|before| tokens.get(before)) } else { tokens.get(at) };
            if neighbour.is_some_and(|token| excluded.split('|').any(|word| word == token.word)) {
                return None;
            }
            continue;
        }
        let token = tokens.get(at)?;
        let is_end = part == "." && index > 0 && token.word == ":";
        if !is_end && !part.split('|').any(|word| word == token.word) {
            return None;
        }
        words.push(token.word.as_str());
        at += 1;
    }
    words.retain(|word| ![".", ":"].contains(word));
    Some(words.join(" "))
}

/// Adds the words of a line. Text between backticks is code, and so is a part of a path.
fn add_words(line: &str, number: usize, in_code: &mut bool, tokens: &mut Vec<Token>) {
    let mut push = |word: String| tokens.push(Token { word, line: number });
    let mut word = String::new();
    let mut braces = 0_u32;
    let mut is_path = false;
    for (at, character) in line.char_indices().chain([(line.len(), ' ')]) {
        let follows_slash = is_path;
        is_path = character == '/' || (is_path && !character.is_whitespace());
        match character {
            '`' if !*in_code && is_sentence(&line[at + 1..]) => {}
            '`' => *in_code = !*in_code,
            _ if *in_code => {}
            '{' => braces += 1,
            '}' => {
                braces = braces.saturating_sub(1);
                push("{}".to_owned());
            }
            _ if braces > 0 => {}
            '/' => word.clear(),
            _ if follows_slash && !character.is_whitespace() => {}
            _ if character.is_alphanumeric() || character == '_' || character == '-' || character == '\'' => {
                word.extend(character.to_lowercase())
            }
            _ => {
                if !word.is_empty() {
                    let is_number = word.chars().all(|digit| digit.is_ascii_digit());
                    push(if is_number { "{}".to_owned() } else { std::mem::take(&mut word) });
                    word.clear();
                }
                // The end of a sentence, or of a part of one.
                match character {
                    '.' | '?' | '!' => push(".".to_owned()),
                    ';' | ':' | '|' | ')' | '"' => push(":".to_owned()),
                    _ => {}
                }
            }
        }
    }
}

/// Whether the words up to the next backtick are more than a name or a command.
fn is_sentence(rest: &str) -> bool {
    let quoted = rest.split_once('`').map_or("", |(quoted, _)| quoted);
    let is_word =
        |word: &&str| word.len() > 1 && word.chars().all(|letter| letter.is_alphabetic() || ",.:'".contains(letter));
    quoted.split(' ').filter(is_word).count() > 3
}

/// The prose of a file of which every line is prose. Comments continue on the next line.
fn prose_of_lines(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut in_code = false;
    let mut follows_comment = false;
    for (index, line) in text.lines().enumerate() {
        let is_comment = line.trim_start().starts_with('#');
        if !(is_comment && follows_comment) {
            in_code = false;
            tokens.push(Token { word: ".".to_owned(), line: index + 1 });
        }
        follows_comment = is_comment;
        add_words(line, index + 1, &mut in_code, &mut tokens);
    }
    tokens
}

/// The prose of a Markdown file: without fenced code, and without code in lines.
fn prose_of_markdown(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut is_fenced = false;
    let mut in_code = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
            continue;
        }
        if is_fenced {
            continue;
        }
        if line.trim().is_empty() || line.starts_with(['#', '|', '-']) {
            in_code = false;
            // The title of a section is not a sentence.
            let word = if line.starts_with('#') { "#" } else { "." };
            tokens.push(Token { word: word.to_owned(), line: index + 1 });
        }
        add_words(line, index + 1, &mut in_code, &mut tokens);
    }
    tokens
}

/// The prose of a Rust file: comments, and strings with a space in them.
fn prose_of_rust(path: &str, text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut in_code = false;
    let mut is_fenced = false;
    let mut last_comment = 0;
    for piece in pieces(text) {
        let (line, content) = match piece {
            Piece::Comment(line, content) => {
                if line > last_comment + 1 {
                    (in_code, is_fenced) = (false, false);
                }
                last_comment = line;
                let content = content.trim_start_matches(['/', '!']);
                if content.trim_start().starts_with("```") {
                    is_fenced = !is_fenced;
                    continue;
                }
                if is_fenced {
                    continue;
                }
                (line, content)
            }
            Piece::String(line, content) if content.trim().contains(' ') => {
                in_code = false;
                (line, content)
            }
            // Configurations and expected output.
            Piece::Raw(line, content) if !is_test(path) => (line, content),
            Piece::String(..) | Piece::Raw(..) => continue,
        };
        let continues =
            matches!(piece, Piece::Comment(..)) && tokens.last().is_some_and(|token| token.line + 1 == line);
        if !continues {
            tokens.push(Token { word: ".".to_owned(), line });
        }
        for (index, part) in content.split('\n').enumerate() {
            let part = part.replace("\\\"", "`").replace("\\n", ". ");
            add_words(&part, line + index, &mut in_code, &mut tokens);
        }
        if matches!(piece, Piece::String(..)) {
            tokens.push(Token { word: ".".to_owned(), line });
        }
    }
    tokens
}

/// A part of a Rust file that can be prose, with its first line.
#[derive(Clone, Copy)]
enum Piece<'a> {
    /// One line, with its slashes.
    Comment(usize, &'a str),
    /// The source between the quotes.
    String(usize, &'a str),
    /// The content of a raw string.
    Raw(usize, &'a str),
}

/// Comments and strings of a Rust file, in order.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let bytes = text.as_bytes();
    let mut pieces = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() {
        let rest = &text[at..];
        let length = if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            pieces.push(Piece::Comment(line, &rest[..length]));
            length
        } else if let Some(length) = raw_string(text, at) {
            pieces.push(Piece::Raw(line, text[at..at + length].trim_matches(['r', 'b', '#', '"'])));
            length
        } else if rest.starts_with('"') {
            let length = string_length(rest);
            pieces.push(Piece::String(line, &rest[1..length.saturating_sub(1).max(1)]));
            length
        } else if rest.starts_with("'\"'") {
            3
        } else if rest.starts_with("'\\") {
            4
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        let end = text.len().min(at + length);
        line += text[at..end].matches('\n').count();
        at = end;
    }
    pieces
}

/// The length of a string with its quotes.
fn string_length(rest: &str) -> usize {
    let mut is_escaped = false;
    for (index, character) in rest.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return index + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of a raw string that begins here.
fn raw_string(text: &str, at: usize) -> Option<usize> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if at > 0 && is_word(text.as_bytes()[at - 1]) && text.as_bytes()[at - 1] != b'b' {
        return None;
    }
    let rest = text[at..].strip_prefix('r')?;
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let content = rest[hashes..].strip_prefix('"')?;
    let closing = format!("\"{}", "#".repeat(hashes));
    let length = content.find(&closing)?;
    Some(1 + hashes + 1 + length + closing.len())
}

#[cfg(test)]
mod tests {
    use super::hits;

    fn found(path: &str, text: &str) -> Vec<String> {
        hits(path, text).into_iter().map(|(line, words, _)| format!("{line} {words}")).collect()
    }

    #[test]
    fn comments_and_strings_are_prose() {
        let text = "/// Nobody reads it.\nfn nobody() { say(\"it is told to us\", \"nobody\"); } // a thing\n";
        assert_eq!(found("a.rs", text), ["1 nobody", "2 told", "2 thing"]);
    }

    #[test]
    fn a_phrase_continues_on_the_next_line_of_a_comment() {
        assert_eq!(found("a.rs", "// It comes\n// to us.\nlet a = 1;\n// It comes\n\n// to us.\n"), ["1 comes to"]);
    }

    #[test]
    fn code_is_not_prose() {
        let text = "/// Returns `thing`, as in\n/// ```\n/// let thing = 1;\n/// ```\n\nlet b = '\"'; // fine\n";
        assert_eq!(found("a.rs", text), Vec::<String>::new());
        assert_eq!(found("a.rs", "say(\"the block \\\"thing\\\" in /a/thing/b, a thing\");"), ["1 thing"]);
        assert_eq!(found("a.md", "`thing`\n```\na thing\n```\n- a thing\n"), ["5 thing"]);
    }

    #[test]
    fn quoted_sentences_are_prose() {
        assert_eq!(found("a.rs", "say(\"see \\\"bring it to the end\\\"\");"), ["1 bring"]);
        assert_eq!(found("a.md", "Shows `nobody is in this place`.\n"), ["1 nobody"]);
        assert_eq!(found("a.rs", "let help = r\"Tell us.\";"), ["1 tell"]);
        assert_eq!(found("crates/a/tests/b.rs", "let config = r#\"output \"told\" {}\"#;"), Vec::<String>::new());
    }

    #[test]
    fn lines_of_other_files_are_prose() {
        assert_eq!(
            found("deny.toml", "# One\n# day it comes\n# to us.\na = 1 # nobody\n"),
            ["1 one day", "2 comes to", "4 nobody"]
        );
    }

    #[test]
    fn sources_of_tests_have_fewer_rules() {
        let text = "/// The answer.\nfn a() { say(\"The answer has to be yes.\"); }\n";
        assert_eq!(found("crates/a/src/a.rs", text), ["1 answer", "2 answer", "2 has to be"]);
        assert_eq!(found("crates/a/src/tests.rs", text), Vec::<String>::new());
        assert_eq!(found("a.md", "## What is missing\n\nWhat is missing is listed: what to do.\n"), ["3 what"]);
        assert_eq!(
            found("a.md", "The condition does not hold. Checks hold. It does not hold a lock.\n"),
            ["1 not hold", "1 checks hold"]
        );
    }

    #[test]
    fn exceptions_are_used() {
        let mut breaches = Vec::new();
        super::check(&[("a.md".to_owned(), "Nobody.\n".to_owned())], &mut breaches);
        assert!(breaches[0].starts_with("a.md:1: \"nobody\" in `Nobody.`"), "{breaches:?}");
        assert_eq!(breaches.len(), 1 + super::ALLOWED.len());
    }

    #[test]
    fn words_around_a_phrase_can_exclude_it() {
        assert_eq!(found("a.md", "There is no file. It is no longer used. It is no file.\n"), ["1 is no"]);
        assert_eq!(found("a.md", "The file is there. There is there is no file.\n"), ["1 is there"]);
    }

    #[test]
    fn a_lone_question_word_says_nothing() {
        assert_eq!(found("crates/a/tests/a.rs", "/// What.\nstruct A;\n\n/// What it is.\nstruct B;\n"), ["1 what"]);
    }

    #[test]
    fn a_count_needs_its_noun() {
        assert_eq!(
            found("a.rs", "say(\"and {rest} more\"); say(\"and {rest} more files\"); say(\"and 2 more.\");"),
            ["1 {} more", "1 {} more"]
        );
    }
}
