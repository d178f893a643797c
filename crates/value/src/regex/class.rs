//! Named character classes: `\d`, `[:alpha:]`, `\p{Greek}`.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// The class of a list of ranges.
pub(super) fn of_ranges(ranges: &[(u32, u32)]) -> ClassUnicode {
    let mut class = ClassUnicode::empty();
    for (low, high) in ranges {
        push_range(&mut class, *low, *high);
    }
    class
}

/// Adds a range of code points. Surrogates are left out: no text has them.
pub(super) fn push_range(class: &mut ClassUnicode, low: u32, high: u32) {
    let low = if (0xd800..=0xdfff).contains(&low) { 0xe000 } else { low };
    let high = if (0xd800..=0xdfff).contains(&high) { 0xd7ff } else { high };
    if low <= high
        && let (Some(low), Some(high)) = (char::from_u32(low), char::from_u32(high))
    {
        class.push(ClassUnicodeRange::new(low, high));
    }
}

/// Adds everything that differs from a member by case only.
pub(super) fn fold(class: &mut ClassUnicode) {
    // It fails only where case tables are not compiled in.
    let _ = class.try_case_fold_simple();
}

/// The class of a letter after a backslash: its ranges, and whether it is negated.
pub(super) fn perl(letter: char) -> Option<(ClassUnicode, bool)> {
    let ranges: &[(char, char)] = match letter.to_ascii_lowercase() {
        'd' => &[('0', '9')],
        's' => &[('\t', '\n'), ('\x0c', '\r'), (' ', ' ')],
        'w' => &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')],
        _ => return None,
    };
    Some((of_chars(ranges), letter.is_ascii_uppercase()))
}

/// The class of a name as in `[:name:]`.
pub(super) fn posix(name: &str) -> Option<ClassUnicode> {
    let ranges: &[(char, char)] = match name {
        "alnum" => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
        "alpha" => &[('A', 'Z'), ('a', 'z')],
        "ascii" => &[('\0', '\x7f')],
        "blank" => &[('\t', '\t'), (' ', ' ')],
        "cntrl" => &[('\0', '\x1f'), ('\x7f', '\x7f')],
        "digit" => &[('0', '9')],
        "graph" => &[('!', '~')],
        "lower" => &[('a', 'z')],
        "print" => &[(' ', '~')],
        "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "space" => &[('\t', '\r'), (' ', ' ')],
        "upper" => &[('A', 'Z')],
        "word" => &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')],
        "xdigit" => &[('0', '9'), ('A', 'F'), ('a', 'f')],
        _ => return None,
    };
    Some(of_chars(ranges))
}

fn of_chars(ranges: &[(char, char)]) -> ClassUnicode {
    ClassUnicode::new(ranges.iter().map(|(low, high)| ClassUnicodeRange::new(*low, *high)))
}

/// The class of a general category (short or long name) or a script, by a name in which case, spaces, hyphens and
/// underscores do not matter.
pub(super) fn unicode(name: &str) -> Option<ClassUnicode> {
    let name: String = name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).map(|c| c.to_ascii_lowercase()).collect();
    match name.as_str() {
        "any" => return Some(of_ranges(&[(0, 0x10ffff)])),
        "ascii" => return Some(of_ranges(&[(0, 0x7f)])),
        "assigned" => {
            let mut class = table("gc=Cn")?;
            class.negate();
            return Some(class);
        }
        // Surrogates only.
        "cs" | "surrogate" => return Some(ClassUnicode::empty()),
        _ => {}
    }
    if CATEGORIES.split_whitespace().any(|c| c == name) {
        return table(&format!("gc={name}"));
    }
    if SCRIPTS.split_whitespace().any(|s| s == name) {
        return table(&format!("sc={name}"));
    }
    None
}

/// A class from the tables of `regex-syntax`.
fn table(query: &str) -> Option<ClassUnicode> {
    let hir = regex_syntax::Parser::new().parse(&format!("\\p{{{query}}}")).ok()?;
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(class)) => Some(class),
        _ => None,
    }
}

const CATEGORIES: &str = "
    c cc cf cn co l lc ll lm lo lt lu m mc me mn n nd nl no p pc pd pe pf pi po ps s sc sk sm so z zl zp zs
    casedletter closepunctuation combiningmark connectorpunctuation control currencysymbol dashpunctuation
    decimalnumber enclosingmark finalpunctuation format initialpunctuation letter letternumber lineseparator
    lowercaseletter mark mathsymbol modifierletter modifiersymbol nonspacingmark number openpunctuation other
    otherletter othernumber otherpunctuation othersymbol paragraphseparator privateuse punctuation separator
    spaceseparator spacingmark symbol titlecaseletter unassigned uppercaseletter cntrl digit punct";

const SCRIPTS: &str = "
    adlam ahom anatolianhieroglyphs arabic armenian avestan balinese bamum bassavah batak bengali bhaiksuki bopomofo
    brahmi braille buginese buhid canadianaboriginal carian caucasianalbanian chakma cham cherokee chorasmian common
    coptic cuneiform cypriot cyprominoan cyrillic deseret devanagari divesakuru dogra duployan egyptianhieroglyphs
    elbasan elymaic ethiopic georgian glagolitic gothic grantha greek gujarati gunjalagondi gurmukhi han hangul
    hanifirohingya hanunoo hatran hebrew hiragana imperialaramaic inherited inscriptionalpahlavi
    inscriptionalparthian javanese kaithi kannada katakana kawi kayahli kharoshthi khitansmallscript khmer khojki
    khudawadi lao latin lepcha limbu lineara linearb lisu lycian lydian mahajani makasar malayalam mandaic manichaean
    marchen masaramgondi medefaidrin meeteimayek mendekikakui meroiticcursive meroitichieroglyphs miao modi mongolian
    mro multani myanmar nabataean nagmundari nandinagari newtailue newa nko nushu nyiakengpuachuehmong ogham olchiki
    oldhungarian olditalic oldnortharabian oldpermic oldpersian oldsogdian oldsoutharabian oldturkic olduyghur oriya
    osage osmanya pahawhhmong palmyrene paucinhau phagspa phoenician psalterpahlavi rejang runic samaritan saurashtra
    sharada shavian siddham signwriting sinhala sogdian sorasompeng soyombo sundanese sylotinagri syriac tagalog
    tagbanwa taile taitham taiviet takri tamil tangsa tangut telugu thaana thai tibetan tifinagh tirhuta toto ugaritic
    vai vithkuqi wancho warangciti yezidi yi zanabazarsquare";
