//! Characters of several bytes in a window: which bytes are of which class.

use super::window::SIZE;
use crate::simd::block::Block;
use crate::unicode;

/// Each mask has all bytes of the characters of its class. Symbols have no mask of their own: their
/// bytes are only in [`Self::tails`], all but the first one.
#[derive(Debug, Clone, Copy, Default)]
pub struct WideMasks {
    pub letters: u64,
    /// Letters that are in `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]` and not in `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`.
    pub upper: u64,
    /// Letters in both.
    pub caseless: u64,
    /// Bytes that are left to the scanner for single pieces.
    pub unknown: u64,
    /// All bytes but the first one of each character.
    pub tails: u64,
    marks: u64,
}

/// How a pattern sees characters that are not ASCII.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// `\p{L}`, `\p{N}`, `\s` and the rest.
    Plain,
    /// The same with `[\p{L}\p{M}]`.
    Marks,
    /// o200k's, by case. Marks behind letters are letters of both cases.
    Cased,
    /// DeepSeek's: `[\p{L}\p{M}]`, of which kana and Han are a class of their own ([caseless]),
    /// and `[\p{P}\p{S}]`.
    ///
    /// [caseless]: WideMasks::caseless
    Parts,
}

/// `block`: the same bytes as `window`.
#[inline(always)]
pub fn masks(window: &[u8; SIZE], block: Block, family: Family) -> WideMasks {
    let high = block.high();
    if high == 0 {
        return WideMasks::default();
    }
    let found = match high.count_ones() {
        0..MANY => Found::default(),
        _ => Found::in_block(block),
    };
    match family {
        Family::Plain => some_masks::<{ Family::Plain as u8 }>(window, high, found),
        Family::Marks => some_masks::<{ Family::Marks as u8 }>(window, high, found),
        Family::Cased => some_masks::<{ Family::Cased as u8 }>(window, high, found),
        Family::Parts => some_masks::<{ Family::Parts as u8 }>(window, high, found),
    }
}

/// Ranges of letters are looked for in windows with so many bytes that are not ASCII, or more.
const MANY: u32 = 16;

/// If fewer of these bytes are in no range, their characters are looked up one by one.
const MANY_LEFT: u32 = 24;

/// The bytes of letters that are found by ranges, which are most letters of frequent scripts. Only
/// those that begin at least four bytes before the end of the window.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    /// The first bytes of all of them.
    firsts: u64,
    capitals: u64,
    small: u64,
    /// Without case.
    caseless: u64,
    /// Without case, and a class of their own in [`Family::Parts`].
    han_and_kana: u64,
}

impl Found {
    #[inline(always)]
    fn in_block(block: Block) -> Self {
        let mut found = Self::default();
        let leads = |lead, first, last| block.equal(lead) & block.high_in_range(first, last) >> 1;
        if block.high_in_range(0xCE, 0xD9) != 0 {
            // Cyrillic: U+0400 to U+042F, U+0430 to U+045F.
            if block.high_in_range(0xD0, 0xD1) != 0 {
                let small = leads(0xD0, 0xB0, 0xBF) | leads(0xD1, 0x80, 0x9F);
                found.capitals = found.of_two(leads(0xD0, 0x80, 0xAF));
                found.small = found.of_two(small);
            }
            // Greek: U+03AC to U+03CE.
            if block.high_in_range(0xCE, 0xCF) != 0 {
                let small = leads(0xCE, 0xAC, 0xBF) | leads(0xCF, 0x80, 0x8E);
                found.small |= found.of_two(small);
            }
            // Hebrew: U+05D0 to U+05EA. Arabic: U+0620 to U+064A.
            if block.high_in_range(0xD7, 0xD9) != 0 {
                let arabic = leads(0xD8, 0xA0, 0xBF) | leads(0xD9, 0x80, 0x8A);
                found.caseless = found.of_two(leads(0xD7, 0x90, 0xAA) | arabic);
            }
        }
        // Hangul: U+AC00 to U+D77F.
        if block.high_in_range(0xEA, 0xED) != 0 {
            let ends = leads(0xEA, 0xB0, 0xBF) | leads(0xED, 0x80, 0x9D);
            found.caseless |= found.of_three(block.high_in_range(0xEB, 0xEC) | ends);
        }
        if block.high_in_range(0xE3, 0xE9) != 0 {
            found.han_and_kana = found.of_three(han_and_kana(block));
        }
        found
    }

    /// The bytes of characters of two bytes.
    #[inline(always)]
    fn of_two(&mut self, firsts: u64) -> u64 {
        let firsts = firsts & SEEN;
        self.firsts |= firsts;
        firsts | firsts << 1
    }

    /// The bytes of characters of three bytes.
    #[inline(always)]
    fn of_three(&mut self, firsts: u64) -> u64 {
        self.of_two(firsts) | (firsts & SEEN) << 2
    }
}

/// The bytes that have three others behind them in the window.
const SEEN: u64 = u64::MAX >> 3;

/// The first bytes of most Han characters and most kana.
#[inline(always)]
fn han_and_kana(block: Block) -> u64 {
    // U+4E00 to U+9F7F.
    let mut found = block.high_in_range(0xE5, 0xE8)
        | block.equal(0xE4) & block.high_in_range(0xB8, 0xBF) >> 1
        | block.equal(0xE9) & block.high_in_range(0x80, 0xBD) >> 1;
    let kana = block.equal(0xE3);
    if kana != 0 {
        let [second_81, second_82, second_83] = [0x81, 0x82, 0x83].map(|b| block.equal(b) >> 1);
        // U+3041 to U+307F, U+3080 to U+3096 and U+30A1 to U+30BF, U+30C0 to U+30FF but U+30FB.
        let third_of_82 = block.high_in_range(0x80, 0x96) | block.high_in_range(0xA1, 0xBF);
        found |= kana & second_81 & !(block.equal(0x80) >> 2)
            | kana & second_82 & third_of_82 >> 2
            | kana & second_83 & !(block.equal(0xBB) >> 2);
    }
    found
}

#[inline(never)]
fn some_masks<const FAMILY: u8>(window: &[u8; SIZE], high: u64, found: Found) -> WideMasks {
    let is = |family: Family| FAMILY == family as u8;
    let Found { firsts, capitals, small, caseless, han_and_kana } = found;
    let others = capitals | small | caseless;
    let mut wide = WideMasks { letters: others, tails: high & !firsts, ..WideMasks::default() };
    if is(Family::Parts) {
        wide.caseless = han_and_kana;
    } else {
        wide.letters |= han_and_kana;
    }
    if is(Family::Cased) {
        (wide.upper, wide.caseless) = (capitals, caseless | han_and_kana);
    }
    let mut rest = high & !(others | han_and_kana);
    if rest.count_ones() >= MANY_LEFT {
        (wide, rest) = wide.with_rows::<FAMILY>(window, rest);
    }
    wide.add_each::<FAMILY>(window, rest);
    if is(Family::Cased) {
        // Behind a letter it is a letter; anywhere else it is also a symbol.
        wide.unknown |= wide.marks & !attached(window, wide.letters, wide.marks);
    }
    if is(Family::Cased) || is(Family::Marks) {
        wide.letters |= wide.marks;
    }
    wide
}

impl WideMasks {
    /// Adds the characters whose bytes are in `rest`, one by one.
    #[inline(always)]
    fn add_each<const FAMILY: u8>(&mut self, window: &[u8; SIZE], mut rest: u64) {
        while rest != 0 {
            let at = rest.trailing_zeros();
            let Some((_, code, width)) = character(window, at) else {
                self.unknown |= 1 << at;
                break;
            };
            let own = (u64::MAX >> (64 - width)) << at;
            self.tails &= !(1 << at);
            rest &= !own;
            let if_in = |set: u64| own & (set >> (code & 63) & 1).wrapping_neg();
            self.add::<FAMILY>(code, own, if_in);
        }
    }

    /// Adds the characters whose bytes are in `rest`: those together that differ only in their last
    /// byte. Answers the bytes that are left.
    #[inline(never)]
    fn with_rows<const FAMILY: u8>(mut self, window: &[u8; SIZE], mut rest: u64) -> (Self, u64) {
        let block = Block::load(window);
        while rest != 0 {
            let Some(([first, second, third, _], code, width)) =
                character(window, rest.trailing_zeros())
            else {
                break;
            };
            let mut firsts = block.equal(first) & SEEN;
            if width > 2 {
                firsts &= block.equal(second) >> 1;
            }
            if width > 3 {
                firsts &= block.equal(third) >> 2;
            }
            let whole = |firsts: u64| {
                let two = firsts | firsts << 1;
                match width {
                    2 => two,
                    3 => two | two << 1,
                    _ => two | two << 2,
                }
            };
            let own = whole(firsts);
            self.tails &= !firsts;
            rest &= !own;
            let if_in = |set: u64| match set {
                0 => 0,
                u64::MAX => own,
                _ => whole(block.in_set(set) >> (width - 1) & firsts),
            };
            self.add::<FAMILY>(code, own, if_in);
        }
        (self, rest)
    }

    /// Adds the bytes `own` of characters that are in one row with `code`. `if_in`: the bytes of those
    /// whose last six bits are in a set.
    #[inline(always)]
    fn add<const FAMILY: u8>(&mut self, code: u32, own: u64, if_in: impl Fn(u64) -> u64) {
        let is = |family: Family| FAMILY == family as u8;
        let row = unicode::row_of(code);
        if is(Family::Parts) {
            let kana_han = match code {
                0x3040..=0x30FF | 0x4E00..=0x9F7F => own,
                // Up to U+9FA5.
                0x9F80..=0x9FBF => if_in(u64::MAX >> (0xBF - 0xA5)),
                _ => 0,
            };
            let letters = if_in(row.letters | row.marks);
            self.letters |= letters & !kana_han;
            self.caseless |= letters & kana_han;
            self.unknown |= own & !letters & !if_in(row.punctuation_and_symbols);
            self.unknown |= kana_han & !letters;
            return;
        }
        self.letters |= if_in(row.letters);
        self.unknown |= if_in(row.numbers_and_spaces);
        if is(Family::Cased) || is(Family::Marks) {
            self.marks |= if_in(row.marks);
        }
        if is(Family::Cased) {
            let (upper, lower) = (if_in(row.upper_run), if_in(row.lower_run));
            self.upper |= upper & !lower;
            self.caseless |= upper & lower;
        }
    }
}

/// The character that begins at a byte of a window: its bytes and what is behind them, its code
/// point, and its length. `None`: too near the end to be seen whole, or behind the end of the text.
#[inline(always)]
fn character(window: &[u8; SIZE], at: u32) -> Option<([u8; 4], u32, u32)> {
    let bytes = window.get(at as usize..).and_then(<[u8]>::first_chunk::<4>);
    let bytes = *bytes.filter(|bytes| bytes[0] < 0xF8)?;
    let (code, width) = decode(u32::from_le_bytes(bytes));
    Some((bytes, code, width))
}

/// `marks` without the runs that are not right behind letters.
#[inline(always)]
fn attached(window: &[u8; SIZE], letters: u64, marks: u64) -> u64 {
    let mut first = marks & !(marks << 1);
    let mut attached = marks;
    while first != 0 {
        let start = first & first.wrapping_neg();
        first ^= start;
        let before = (start.trailing_zeros() as usize).wrapping_sub(1);
        let behind_ascii = window.get(before).is_some_and(u8::is_ascii_alphabetic);
        if !behind_ascii && letters << 1 & start == 0 {
            attached &= !start;
        }
    }
    attached
}

/// The character at the start of some bytes, and its length.
#[inline(always)]
fn decode(bytes: u32) -> (u32, u32) {
    let tail = |n: u32| bytes >> (8 * n) & 0x3F;
    match bytes as u8 {
        0..0xE0 => ((bytes & 0x1F) << 6 | tail(1), 2),
        0xE0..0xF0 => ((bytes & 0x0F) << 12 | tail(1) << 6 | tail(2), 3),
        _ => ((bytes & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), 4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::random::Random;

    /// The same, one character after the other, from their classes.
    fn one_by_one(window: &[u8; SIZE], family: Family) -> WideMasks {
        let mut wide = WideMasks::default();
        let (mut at, mut follows_letter) = (0, false);
        while at < SIZE {
            if window[at].is_ascii() {
                follows_letter = window[at].is_ascii_alphabetic();
                at += 1;
                continue;
            }
            let Some((_, code, width)) = character(window, at as u32) else {
                wide.unknown |= 1 << at;
                break;
            };
            let class = unicode::class_of_u32(code);
            let own = (u64::MAX >> (64 - width)) << at;
            wide.tails |= own & !(1 << at);
            let (letter, mark) = (class.is_letter(), class.is_mark());
            match family {
                Family::Plain if letter => wide.letters |= own,
                Family::Marks if letter || mark => wide.letters |= own,
                Family::Parts => {
                    let kana_han = matches!(code, 0x3040..=0x30FF | 0x4E00..=0x9FA5);
                    let known = class.is_punctuation() || class.is_symbol();
                    match (letter || mark, kana_han) {
                        (true, true) => wide.caseless |= own,
                        (true, false) => wide.letters |= own,
                        (false, _) if kana_han || !known => wide.unknown |= own,
                        _ => {}
                    }
                }
                Family::Cased => {
                    wide.letters |= if letter || mark { own } else { 0 };
                    wide.unknown |= if mark && !follows_letter { own } else { 0 };
                    match (class.is_upper_run(), class.is_lower_run()) {
                        (true, false) => wide.upper |= own,
                        (true, true) => wide.caseless |= own,
                        _ => {}
                    }
                    follows_letter = letter || mark && follows_letter;
                }
                _ => {}
            }
            if family != Family::Parts && (class.is_number() || class.is_space()) {
                wide.unknown |= own;
            }
            at += width as usize;
        }
        wide
    }

    /// Characters of all scripts, alone and among their neighbours.
    #[test]
    fn characters_together_are_as_one_by_one() {
        let mut random = Random::new(12);
        let others = ['a', ' ', 'é', '\u{3000}', '。', '・', '\u{3099}', '㐀', '🌶', '\u{FFFD}'];
        let codes = (0x80..0x3410).chain(0x4DB0..0xFFFE).chain(0x1F2F0..0x1F700);
        for c in codes.filter_map(char::from_u32) {
            for alone in [true, false] {
                let mut text: String = if alone { c.into() } else { String::new() };
                let spread = *random.pick(&[64, 128]);
                while !alone && text.len() < SIZE {
                    let near = u32::from(c) ^ random.below(spread) as u32;
                    let near = char::from_u32(near).unwrap_or(c);
                    text.push(if random.below(6) == 0 { *random.pick(&others) } else { near });
                }
                let mut window = [0xFF; SIZE];
                window.iter_mut().zip(text.bytes()).for_each(|(place, byte)| *place = byte);
                for family in [Family::Plain, Family::Marks, Family::Cased, Family::Parts] {
                    let quick = masks(&window, Block::load(&window), family);
                    let slow = one_by_one(&window, family);
                    // Nothing is settled behind what is unknown.
                    let valid = slow.unknown.wrapping_sub(1) & !slow.unknown;
                    assert_eq!(quick.unknown & (valid << 1 | 1), slow.unknown & (valid << 1 | 1));
                    for (quick, slow) in [
                        (quick.letters, slow.letters),
                        (quick.upper, slow.upper),
                        (quick.caseless, slow.caseless),
                        (quick.tails, slow.tails),
                    ] {
                        assert_eq!(quick & valid, slow & valid, "{family:?} {text:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn letters_of_frequent_scripts_are_found_by_ranges() {
        for text in ["Жя", "рё", "άώ", "ρς", "את", "عي", "가흿", "一齿", "ぁんァヴ"]
        {
            let mut window = [b' '; SIZE];
            window.iter_mut().zip(text.bytes()).for_each(|(place, byte)| *place = byte);
            let found = Found::in_block(Block::load(&window));
            let expected = text.char_indices().fold(0, |firsts, (at, _)| firsts | 1 << at);
            assert_eq!(found.firsts, expected, "{text}");
        }
    }
}
