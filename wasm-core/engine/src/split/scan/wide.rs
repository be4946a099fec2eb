//! Characters of several bytes in a window: which bytes are of which class.

use super::window::SIZE;
use crate::simd::block::Block;
use crate::unicode;

/// All bytes of the characters of a class. The bytes of symbols are in no mask but [`Self::tails`].
#[derive(Debug, Clone, Copy, Default)]
pub struct WideMasks {
    pub letters: u64,
    /// Letters that are only in `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`.
    pub upper: u64,
    /// Letters that are also in `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`.
    pub caseless: u64,
    /// The first bytes of what is left to the scanner for single pieces.
    pub unknown: u64,
    /// All bytes but the first one of each character.
    pub tails: u64,
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

/// A window with fewer bytes that are not ASCII is not asked for letters of many kinds.
const MANY: u32 = 16;

/// The bytes of letters that are found together, without a look at each: most letters of frequent
/// scripts, where four bytes of the window are behind the place at which they begin.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    /// The first ones of all of them.
    firsts: u64,
    capitals: u64,
    small: u64,
    /// Without case, but for those of the next set.
    caseless: u64,
    /// Without case, too many in their scripts to look at one by one.
    han_and_kana: u64,
}

impl Found {
    #[inline(always)]
    fn in_block(block: Block) -> Self {
        let mut found = Self::default();
        let seconds = |lead, first, last| block.equal(lead) & block.high_in_range(first, last) >> 1;
        if block.high_in_range(0xCE, 0xD9) != 0 {
            // Cyrillic: U+0400 to U+042F, U+0430 to U+045F.
            if block.high_in_range(0xD0, 0xD1) != 0 {
                let small = seconds(0xD0, 0xB0, 0xBF) | seconds(0xD1, 0x80, 0x9F);
                found.capitals = found.of_two(seconds(0xD0, 0x80, 0xAF));
                found.small = found.of_two(small);
            }
            // Greek: U+03AC to U+03CE.
            if block.high_in_range(0xCE, 0xCF) != 0 {
                let small = seconds(0xCE, 0xAC, 0xBF) | seconds(0xCF, 0x80, 0x8E);
                found.small |= found.of_two(small);
            }
            // Hebrew: U+05D0 to U+05EA. Arabic: U+0620 to U+064A.
            if block.high_in_range(0xD7, 0xD9) != 0 {
                let arabic = seconds(0xD8, 0xA0, 0xBF) | seconds(0xD9, 0x80, 0x8A);
                found.caseless = found.of_two(seconds(0xD7, 0x90, 0xAA) | arabic);
            }
        }
        // Hangul: U+AC00 to U+D77F.
        if block.high_in_range(0xEA, 0xED) != 0 {
            let ends = seconds(0xEA, 0xB0, 0xBF) | seconds(0xED, 0x80, 0x9D);
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

/// The places of a window at which four bytes begin.
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
    let Found { firsts: mut leads, capitals, small, caseless, han_and_kana } = found;
    let others = capitals | small | caseless;
    let mut wide = WideMasks { letters: others, ..WideMasks::default() };
    let mut marks = 0;
    if is(Family::Parts) {
        wide.caseless = han_and_kana;
    } else {
        wide.letters |= han_and_kana;
    }
    if is(Family::Cased) {
        (wide.upper, wide.caseless) = (capitals, caseless | han_and_kana);
    }
    let mut rest = high & !(others | han_and_kana);
    while rest != 0 {
        let at = rest.trailing_zeros();
        // Too near the end to be seen whole, or behind the end of the text.
        let bytes = window.get(at as usize..).and_then(<[u8]>::first_chunk::<4>);
        let Some(bytes) = bytes.filter(|bytes| bytes[0] < 0xF8) else {
            wide.unknown |= 1 << at;
            break;
        };
        let (code, width) = decode(u32::from_le_bytes(*bytes));
        let class = unicode::class_of_u32(code).flags();
        let own = (u64::MAX >> (64 - width)) << at;
        let when = |condition: bool| own & u64::from(condition).wrapping_neg();
        let if_in = |set: u32| when(class & set != 0);
        leads |= 1 << at;
        rest &= !own;
        if is(Family::Parts) {
            const KNOWN: u32 =
                unicode::LETTER | unicode::MARK | unicode::PUNCTUATION | unicode::SYMBOL;
            let kana_han = when(matches!(code, 0x3040..=0x30FF | 0x4E00..=0x9FA5));
            let letters = if_in(unicode::LETTER | unicode::MARK);
            wide.letters |= letters & !kana_han;
            wide.caseless |= letters & kana_han;
            wide.unknown |= own & !if_in(KNOWN) | kana_han & !letters;
            continue;
        }
        wide.letters |= if_in(unicode::LETTER);
        marks |= if_in(unicode::MARK);
        wide.unknown |= if_in(unicode::NUMBER | unicode::SPACE);
        if is(Family::Cased) {
            let (upper, lower) = (if_in(unicode::UPPER_RUN), if_in(unicode::LOWER_RUN));
            wide.upper |= upper & !lower;
            wide.caseless |= upper & lower;
        }
    }
    wide.tails = high & !leads;
    if is(Family::Cased) {
        // Behind a letter it is a letter; anywhere else it is also a symbol.
        wide.unknown |= marks & !attached(window, wide.letters, marks);
        wide.letters |= marks;
    } else if is(Family::Marks) {
        wide.letters |= marks;
    }
    wide
}

/// The marks right behind letters, and the marks behind those.
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

    fn compare<const FAMILY: u8>(window: &[u8; SIZE]) {
        let block = Block::load(window);
        let quick = some_masks::<FAMILY>(window, block.high(), Found::in_block(block));
        let slow = some_masks::<FAMILY>(window, block.high(), Found::default());
        // Nothing is settled behind what is unknown.
        let valid = slow.unknown.wrapping_sub(1) & !slow.unknown;
        assert_eq!(quick.unknown & (valid << 1 | 1), slow.unknown & (valid << 1 | 1));
        for (quick, slow) in [
            (quick.letters, slow.letters),
            (quick.upper, slow.upper),
            (quick.caseless, slow.caseless),
            (quick.tails, slow.tails),
        ] {
            assert_eq!(quick & valid, slow & valid, "{FAMILY} {window:02X?}");
        }
    }

    /// All characters around those that are found together, alone and among others.
    #[test]
    fn characters_found_together_are_as_found_one_by_one() {
        let mut random = Random::new(12);
        let mut found = [0; 4];
        let others = ['a', ' ', 'é', '\u{3000}', '。', '・', '\u{3099}', '㐀', '🌶', '\u{FFFD}'];
        let codes = (0x370..0x700)
            .chain(0x2FF0..0x3410)
            .chain(0x4DB0..0xA010)
            .chain(0xABF0..0xD800)
            .filter_map(char::from_u32);
        for c in codes {
            for alone in [true, false] {
                let mut text: String = if alone { c.into() } else { String::new() };
                while !alone && text.len() < SIZE {
                    let near = char::from_u32(u32::from(c) ^ random.below(64) as u32).unwrap_or(c);
                    text.push(if random.below(4) == 0 { *random.pick(&others) } else { near });
                }
                let mut window = [0xFF; SIZE];
                window.iter_mut().zip(text.bytes()).for_each(|(place, byte)| *place = byte);
                let Found { capitals, small, caseless, han_and_kana, .. } =
                    Found::in_block(Block::load(&window));
                let kinds = [capitals, small, caseless, han_and_kana];
                found.iter_mut().zip(kinds).for_each(|(sum, kind)| *sum += kind.count_ones());
                compare::<{ Family::Plain as u8 }>(&window);
                compare::<{ Family::Marks as u8 }>(&window);
                compare::<{ Family::Cased as u8 }>(&window);
                compare::<{ Family::Parts as u8 }>(&window);
            }
        }
        let least = [1000, 2000, 200_000, 500_000];
        assert!(found.into_iter().zip(least).all(|(found, least)| found > least), "{found:?}");
    }
}
