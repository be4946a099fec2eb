//! Characters as the patterns see them: by class.

use super::runs;
use crate::unicode;

/// Classes, as flags.
pub const LETTER: u32 = unicode::LETTER;
pub const MARK: u32 = unicode::MARK;
pub const NUMBER: u32 = unicode::NUMBER;
pub const SPACE: u32 = unicode::SPACE;
/// `[\p{P}\p{S}]`
pub const SYMBOL: u32 = unicode::PUNCTUATION | unicode::SYMBOL;
/// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
pub const UPPER: u32 = unicode::UPPER_RUN;
/// `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
pub const LOWER: u32 = unicode::LOWER_RUN;
/// CR and LF; no flag of the tables.
pub const NEWLINE: u32 = 1 << 31;

/// The character at some place: its classes, and its length in bytes, which is 0 at the end of
/// the text and nowhere else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Char {
    pub class: u32,
    pub width: usize,
}

impl Char {
    #[inline(always)]
    pub fn is(self, class: u32) -> bool {
        self.class & class != 0
    }

    /// There is a character, and it is none of `class`.
    #[inline(always)]
    pub fn is_other_than(self, class: u32) -> bool {
        self.width != 0 && self.class & class == 0
    }

    #[inline(always)]
    pub fn is_end(self) -> bool {
        self.width == 0
    }
}

const ASCII: [u32; 256] = ascii_classes();

const fn ascii_classes() -> [u32; 256] {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 0x80 {
        classes[byte] = match byte as u8 {
            b'A'..=b'Z' => LETTER | UPPER,
            b'a'..=b'z' => LETTER | LOWER,
            b'0'..=b'9' => NUMBER,
            b'\r' | b'\n' => SPACE | NEWLINE,
            b'\t' | 0x0B | 0x0C | b' ' => SPACE,
            0x21..=0x7E => SYMBOL,
            _ => 0,
        };
        byte += 1;
    }
    classes
}

#[inline(always)]
pub fn char_at(text: &[u8], at: usize) -> Char {
    match text.get(at) {
        Some(&byte) if byte < 0x80 => Char { class: ASCII[byte as usize], width: 1 },
        Some(_) => {
            let (c, width) = decode(text, at);
            Char { class: unicode::class_of_u32(c).flags(), width }
        }
        None => Char { class: 0, width: 0 },
    }
}

/// The code point of the character of two bytes or more that starts at `at`.
#[inline]
pub fn decode(text: &[u8], at: usize) -> (u32, usize) {
    let byte = |offset: usize| u32::from(text.get(at + offset).copied().unwrap_or(0));
    let tail = |offset: usize| byte(offset) & 0x3F;
    match byte(0) {
        first @ 0..0xE0 => ((first & 0x1F) << 6 | tail(1), 2),
        first @ 0xE0..0xF0 => ((first & 0x0F) << 12 | tail(1) << 6 | tail(2), 3),
        first => ((first & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), 4),
    }
}

/// The end of the run of characters of `class` that `at` may stand in.
#[inline(always)]
pub fn run(text: &[u8], mut at: usize, class: u32) -> usize {
    loop {
        let c = char_at(text, at);
        if !c.is(class) {
            return at;
        }
        at += c.width;
    }
}

/// The end of the run of characters that are none of `class`.
#[inline(always)]
pub fn run_of_others(text: &[u8], mut at: usize, class: u32) -> usize {
    loop {
        let c = char_at(text, at);
        if !c.is_other_than(class) {
            return at;
        }
        at += c.width;
    }
}

/// A [`run`] of a `class` that has all ASCII letters and nothing else of ASCII.
#[inline(always)]
pub fn run_of_letters(text: &[u8], at: usize, class: u32) -> usize {
    wide_run(text, at, class, runs::ascii_letters)
}

/// A [`run`] of a `class` that has `a-z` and nothing else of ASCII.
#[inline(always)]
pub fn run_of_lowercase(text: &[u8], at: usize, class: u32) -> usize {
    wide_run(text, at, class, runs::ascii_lowercase)
}

#[inline(always)]
fn wide_run(text: &[u8], at: usize, class: u32, ascii: fn(&[u8], usize) -> usize) -> usize {
    let at = ascii(text, at);
    match text.get(at) {
        Some(0x80..) => run(text, at, class),
        _ => at,
    }
}

/// The end of at most `limit` numbers.
#[inline(always)]
pub fn run_of_numbers(text: &[u8], mut at: usize, limit: usize) -> usize {
    for _ in 0..limit {
        let c = char_at(text, at);
        if !c.is(NUMBER) {
            break;
        }
        at += c.width;
    }
    at
}

/// `[\r\n]*`, and slashes too where the pattern says `[\r\n/]*`.
#[inline(always)]
pub fn run_of_newlines(text: &[u8], mut at: usize, slashes: bool) -> usize {
    while let Some(&byte) = text.get(at) {
        if !(matches!(byte, b'\r' | b'\n') || slashes && byte == b'/') {
            break;
        }
        at += 1;
    }
    at
}

/// `\s*[\r\n]+|\s+(?!\S)|\s+` where white space starts; without `newlines` the last two of these.
/// `is_end` says whether the text ends at the character behind the run.
#[inline]
pub fn run_of_spaces(
    text: &[u8],
    start: usize,
    newlines: bool,
    is_end: impl Fn(usize, Char) -> bool,
) -> usize {
    let mut at = start;
    let mut last = start;
    let mut behind_newline = None;
    loop {
        let c = char_at(text, at);
        if !c.is(SPACE) {
            return match behind_newline {
                Some(end) if newlines => end,
                _ if is_end(at, c) || last == start => at,
                _ => last,
            };
        }
        last = at;
        at += c.width;
        if c.is(NEWLINE) {
            at = runs::line_feeds(text, at);
            last = at - 1;
            behind_newline = Some(at);
        }
        let behind_spaces = runs::spaces(text, at);
        if behind_spaces > at {
            last = behind_spaces - 1;
            at = behind_spaces;
        }
    }
}

/// [`run_of_spaces`] in a text that ends where its bytes do.
pub fn at_end_of_text(_: usize, behind: Char) -> bool {
    behind.is_end()
}

/// The length of `'s|'t|'re|'ve|'m|'ll|'d` at an apostrophe, 0 if there is none.
#[inline]
pub fn contraction(text: &[u8], at: usize) -> usize {
    match text.get(at..).unwrap_or_default() {
        [b'\'', b's' | b't' | b'm' | b'd', ..] => 2,
        [b'\'', b'r' | b'v', b'e', ..] | [b'\'', b'l', b'l', ..] => 3,
        _ => 0,
    }
}

/// The same under `(?i:`, where U+017F (ſ) is an `s` too.
#[inline]
pub fn contraction_of_any_case(text: &[u8], at: usize) -> usize {
    match text.get(at..).unwrap_or_default() {
        [b'\'', 0xC5, 0xBF, ..] => 3,
        _ => contraction_of_ascii_case(text, at),
    }
}

/// The same, spelled `'[sS]|'[tT]` and so on.
#[inline]
pub fn contraction_of_ascii_case(text: &[u8], at: usize) -> usize {
    match text.get(at..).unwrap_or_default() {
        [b'\'', b's' | b'S' | b't' | b'T' | b'm' | b'M' | b'd' | b'D', ..] => 2,
        [b'\'', b'r' | b'R' | b'v' | b'V', b'e' | b'E', ..]
        | [b'\'', b'l' | b'L', b'l' | b'L', ..] => 3,
        _ => 0,
    }
}
