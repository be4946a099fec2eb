//! Named sets as ranges, for the translation of regular expressions.

use super::tables::{
    ALPHABETIC, BRACKET_WORD, CATEGORIES, HAN, HANGUL, HIRAGANA, KATAKANA, LETTER, LOWERCASE, MARK,
    NUMBER, PUNCTUATION, SPACE, SYMBOL, UPPERCASE, WORD,
};
use super::{pages, Class, PAGE};

/// The inclusive ranges of code points that Oniguruma means by `name`, ascending and apart;
/// `None` if the set was not measured. Surrogates are in no set.
///
/// Known are the general categories in their short and long forms (`L`, `Letter`, `Lu`, ...), the
/// scripts `Han`, `Hiragana`, `Katakana` and `Hangul`, the properties `Alphabetic`, `Uppercase`,
/// `Lowercase`, `White_Space` and `Any`, and the POSIX names. As in Oniguruma, case, spaces, `_`
/// and `-` in a name do not count. Two names are our own, because a set depends on where it is
/// written: `bracket_word` is `\w` inside brackets and `[[:word:]]` (`word` is `\w` and
/// `\p{Word}` outside of them), `bracket_punct` is `[[:punct:]]` (`punct` is `\p{Punct}`).
pub fn ranges(name: &str) -> Option<Vec<(u32, u32)>> {
    let belongs = selector(&name.chars().filter(|c| !" _-".contains(*c)).collect::<String>())?;
    let mut chosen = [false; 256];
    for class in Class::all() {
        if let Some(place) = chosen.get_mut(class.number() as usize) {
            *place = class.category() != "Cs" && belongs.has(class);
        }
    }
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    let mut extend = |first: u32, last: u32| match ranges.last_mut() {
        Some((_, end)) if *end + 1 == first => *end = last,
        _ => ranges.push((first, last)),
    };
    for (first, page) in (0..).step_by(PAGE).zip(pages()) {
        // Most pages hold one class only.
        if page.iter().all(|&class| class == page[0]) {
            if chosen[page[0] as usize] {
                extend(first, first + PAGE as u32 - 1);
            }
            continue;
        }
        for (c, &class) in (first..).zip(page) {
            if chosen[class as usize] || belongs.has_code(c) {
                extend(c, c);
            }
        }
    }
    Some(ranges)
}

enum Selector {
    Flag(u32),
    /// Categories that start with one of these.
    Categories(&'static [&'static str]),
    /// These categories, and single code points of others.
    With(&'static [&'static str], &'static [u32]),
    FlagOrCategory(u32, &'static str),
    Not(&'static [&'static str]),
    Ascii(fn(&u8) -> bool),
}

impl Selector {
    fn has(&self, class: Class) -> bool {
        let category = class.category();
        let starts = |names: &[&str]| names.iter().any(|name| category.starts_with(name));
        match self {
            Self::Flag(flag) => class.is(*flag),
            Self::Categories(names) | Self::With(names, _) => starts(names),
            Self::FlagOrCategory(flag, name) => class.is(*flag) || category == *name,
            Self::Not(names) => !starts(names),
            Self::Ascii(_) => false,
        }
    }

    fn has_code(&self, c: u32) -> bool {
        match self {
            Self::With(_, codes) => codes.contains(&c),
            Self::Ascii(test) => u8::try_from(c).is_ok_and(|byte| test(&byte)),
            _ => false,
        }
    }
}

fn selector(name: &str) -> Option<Selector> {
    use Selector::{Ascii, Categories, Flag, FlagOrCategory, Not, With};
    let name = name.to_ascii_lowercase();
    if let Some(at) = CATEGORIES.iter().position(|category| category.eq_ignore_ascii_case(&name)) {
        return CATEGORIES.get(at..=at).map(Categories);
    }
    Some(match name.as_str() {
        "l" | "letter" => Flag(LETTER),
        "m" | "mark" | "combiningmark" => Flag(MARK),
        "n" | "number" => Flag(NUMBER),
        "p" | "punct" | "punctuation" => Flag(PUNCTUATION),
        "s" | "symbol" => Flag(SYMBOL),
        "z" | "separator" => Categories(&["Z"]),
        "c" | "other" => Categories(&["C"]),
        "uppercaseletter" => Categories(&["Lu"]),
        "lowercaseletter" => Categories(&["Ll"]),
        "titlecaseletter" => Categories(&["Lt"]),
        "modifierletter" => Categories(&["Lm"]),
        "otherletter" => Categories(&["Lo"]),
        "nonspacingmark" => Categories(&["Mn"]),
        "spacingmark" => Categories(&["Mc"]),
        "enclosingmark" => Categories(&["Me"]),
        "decimalnumber" | "digit" => Categories(&["Nd"]),
        "letternumber" => Categories(&["Nl"]),
        "othernumber" => Categories(&["No"]),
        "control" | "cntrl" => Categories(&["Cc"]),
        "format" => Categories(&["Cf"]),
        "han" | "hani" => Flag(HAN),
        "hiragana" | "hira" => Flag(HIRAGANA),
        "katakana" | "kana" => Flag(KATAKANA),
        "hangul" | "hang" => Flag(HANGUL),
        "alphabetic" | "alpha" => Flag(ALPHABETIC),
        "uppercase" | "upper" => Flag(UPPERCASE),
        "lowercase" | "lower" => Flag(LOWERCASE),
        "space" | "whitespace" => Flag(SPACE),
        "word" => Flag(WORD),
        "bracketword" => Flag(BRACKET_WORD),
        "bracketpunct" => Flag(PUNCTUATION | SYMBOL),
        "alnum" => FlagOrCategory(ALPHABETIC, "Nd"),
        "blank" => With(&["Zs"], &[0x09]),
        "graph" => Not(&["Z", "Cc", "Cn", "Cs"]),
        "print" => Not(&["Zl", "Zp", "Cc", "Cn", "Cs"]),
        "xdigit" | "asciihexdigit" => Ascii(u8::is_ascii_hexdigit),
        "any" => Not(&["Cs"]),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(name: &str) -> u32 {
        ranges(name).unwrap().iter().map(|(first, last)| last - first + 1).sum()
    }

    #[test]
    fn sets_are_as_large_as_the_reference_says() {
        let expected = [
            ("L", 141_028),
            ("Lu", 1_858),
            ("Mn", 2_020),
            ("N", 1_911),
            ("P", 855),
            ("punct", 855),
            ("bracket_punct", 9_369),
            ("word", 144_671),
            ("bracket_word", 144_665),
            ("White_Space", 25),
            ("Z", 19),
            ("C", 957_236),
            ("Cn", 819_533),
            ("alnum", 143_519),
            ("graph", 292_447),
            ("print", 292_464),
            ("blank", 18),
            ("xdigit", 22),
            ("Han", 99_030),
            ("Any", 1_112_064),
        ];
        for (name, count) in expected {
            assert_eq!(size(name), count, "{name}");
        }
    }

    #[test]
    fn names_are_loose() {
        assert_eq!(ranges("uppercase letter"), ranges("Lu"));
        assert_eq!(ranges("HAN"), ranges("Han"));
        assert_eq!(ranges("Klingon"), None);
    }

    #[test]
    fn ranges_are_maximal() {
        assert_eq!(ranges("Nd").unwrap().first(), Some(&(0x30, 0x39)));
        assert_eq!(ranges("cntrl").unwrap(), [(0, 0x1F), (0x7F, 0x9F)]);
    }
}
