//! Marks inside a text: which value of the caller's its parts came from, and generation blocks.
//!
//! A mark is made of code points that occur nowhere else in a render, so that a text can carry its
//! origins through everything that copies it: `⟨` digits `⟩`-free text `⟩`. What stands outside of
//! such brackets is the template's.

use std::fmt::Write as _;

/// Code points of one alphabet; a block starts at a multiple of it.
const BLOCK: u32 = 32;
const DIGITS: u32 = 16;
const OPEN: u32 = 16;
const CLOSE: u32 = 17;
const GENERATION_OPENS: u32 = 18;
const GENERATION_CLOSES: u32 = 19;
const USED: u32 = 20;

/// Private use first: planes 15 and 16. Then planes that have no characters yet.
const HOMES: [(u32, u32); 2] = [(0xF_0000, 0x11_0000), (0x4_0000, 0xE_0000)];
const FIRST: u32 = 0x4_0000;

/// The number of a value in the table of origins; `TEMPLATE` for text of no message.
pub type Origin = u32;
pub const TEMPLATE: Origin = 0;

/// Which blocks of code points the inputs of a render use.
#[derive(Debug, Default)]
pub struct Taken(std::collections::HashSet<u32>);

impl Taken {
    pub fn text(&mut self, text: &str) {
        // Only sequences of four bytes are of interest, and few texts have any.
        if text.bytes().any(|byte| byte >= 0xF1) {
            text.chars().for_each(|character| self.point(character.into()));
        }
    }

    /// A source counts with what its escapes stand for, wherever they are.
    pub fn source(&mut self, source: &str) {
        self.text(source);
        for (at, _) in source.match_indices("\\U") {
            let digits = source.get(at.saturating_add(2)..at.saturating_add(10));
            if let Some(point) = digits.and_then(|hex| u32::from_str_radix(hex, 16).ok()) {
                self.point(point);
            }
        }
        // What `front` writes into a literal.
        for (at, _) in source.match_indices("\\u{") {
            let rest = source.get(at.saturating_add(3)..).unwrap_or_default();
            let hex = rest.split('}').next().unwrap_or_default();
            if let Ok(point) = u32::from_str_radix(hex, 16) {
                self.point(point);
            }
        }
        // Half of a pair may stand for a thousand characters.
        for (at, _) in source.match_indices("\\u") {
            let digits = source.get(at.saturating_add(2)..at.saturating_add(6));
            match digits.and_then(|hex| u32::from_str_radix(hex, 16).ok()) {
                Some(high @ 0xD800..=0xDBFF) => {
                    let first = 0x1_0000_u32.saturating_add((high & 0x3FF) << 10);
                    (first..first.saturating_add(0x400)).for_each(|point| self.point(point));
                }
                _ => continue,
            }
        }
    }

    fn point(&mut self, point: u32) {
        if point >= FIRST {
            self.0.insert(point / BLOCK);
        }
    }
}

/// The marks of one render.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    base: u32,
}

/// What a text with marks consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    Text(&'a str, Origin),
    Generation { opens: bool },
}

/// Marks that do not pair: a text that had them was taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Torn;

impl Marks {
    /// An alphabet that nothing uses; None if the inputs use all there is.
    #[must_use]
    pub fn choose(taken: &Taken) -> Option<Self> {
        let mut blocks = HOMES.iter().flat_map(|(from, to)| from / BLOCK..to / BLOCK);
        let free = blocks.find(|block| !taken.0.contains(block) && is_whole(*block))?;
        Some(Self { base: free.checked_mul(BLOCK)? })
    }

    fn character(self, offset: u32) -> char {
        self.base.checked_add(offset).and_then(char::from_u32).unwrap_or('\u{F0000}')
    }

    fn offset(self, character: char) -> Option<u32> {
        u32::from(character).checked_sub(self.base).filter(|offset| *offset < USED)
    }

    #[must_use]
    pub fn are_in(self, text: &str) -> bool {
        text.bytes().any(|byte| byte >= 0xF1)
            && text.chars().any(|character| self.offset(character).is_some())
    }

    /// Writes a text that came from `origin`. An empty text has no marks: it stays false.
    pub fn write(self, text: &str, origin: Origin, into: &mut String) {
        if text.is_empty() || origin == TEMPLATE {
            into.push_str(text);
            return;
        }
        into.push(self.character(OPEN));
        let mut rest = origin;
        while rest > 0 {
            into.push(self.character(rest % DIGITS));
            rest /= DIGITS;
        }
        into.push_str(text);
        into.push(self.character(CLOSE));
    }

    #[must_use]
    pub fn marked(self, text: &str, origin: Origin) -> String {
        let mut made = String::with_capacity(text.len().saturating_add(20));
        self.write(text, origin, &mut made);
        made
    }

    #[must_use]
    pub fn generation(self, opens: bool) -> String {
        let mut made = String::new();
        let offset = if opens { GENERATION_OPENS } else { GENERATION_CLOSES };
        // Writing into a String cannot fail.
        let _ = made.write_char(self.character(offset));
        made
    }

    /// The parts of a text, in order. Neighbours may be of the same origin.
    pub fn parts(self, marked: &str) -> Result<Vec<Part<'_>>, Torn> {
        let mut parts = Vec::new();
        let mut rest = marked;
        while !rest.is_empty() {
            let Some((at, offset)) = self.next(rest) else {
                parts.push(Part::Text(rest, TEMPLATE));
                break;
            };
            let (before, after) = self.cut(rest, at)?;
            if !before.is_empty() {
                parts.push(Part::Text(before, TEMPLATE));
            }
            rest = after;
            match offset {
                GENERATION_OPENS => parts.push(Part::Generation { opens: true }),
                GENERATION_CLOSES => parts.push(Part::Generation { opens: false }),
                OPEN => {
                    let (origin, inside) = self.number(rest)?;
                    let (end, offset) = self.next(inside).ok_or(Torn)?;
                    if offset != CLOSE || origin == TEMPLATE {
                        return Err(Torn);
                    }
                    let (text, after) = self.cut(inside, end)?;
                    parts.push(Part::Text(text, origin));
                    rest = after;
                }
                _ => return Err(Torn),
            }
        }
        Ok(parts)
    }

    fn next(self, text: &str) -> Option<(usize, u32)> {
        text.char_indices().find_map(|(at, character)| Some((at, self.offset(character)?)))
    }

    /// What stands before and behind the mark at `at`. Every mark is four bytes.
    fn cut(self, text: &str, at: usize) -> Result<(&str, &str), Torn> {
        let before = text.get(..at).ok_or(Torn)?;
        let after = text.get(at.checked_add(4).ok_or(Torn)?..).ok_or(Torn)?;
        Ok((before, after))
    }

    fn number(self, text: &str) -> Result<(Origin, &str), Torn> {
        let (mut origin, mut scale, mut rest) = (0_u32, Some(1_u32), text);
        while let Some(character) = rest.chars().next() {
            let Some(digit) = self.offset(character).filter(|offset| *offset < DIGITS) else {
                break;
            };
            let value = digit.checked_mul(scale.ok_or(Torn)?).ok_or(Torn)?;
            origin = origin.checked_add(value).ok_or(Torn)?;
            scale = scale.and_then(|scale| scale.checked_mul(DIGITS));
            rest = rest.get(4..).ok_or(Torn)?;
        }
        Ok((origin, rest))
    }

    /// The text without its marks, however they stand.
    #[must_use]
    pub fn without(self, marked: &str) -> String {
        marked.chars().filter(|character| self.offset(*character).is_none()).collect()
    }
}

/// The last two code points of each plane are no characters; a block must not have them.
fn is_whole(block: u32) -> bool {
    !block.wrapping_add(1).is_multiple_of(0x1_0000 / BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks() -> Marks {
        Marks::choose(&Taken::default()).unwrap()
    }

    #[test]
    fn a_text_comes_back_with_its_origins() {
        let marks = marks();
        let mut text = String::from("a");
        for origin in [1, 15, 16, 17, 255, 256, 70_000, u32::MAX] {
            marks.write(&format!("x{origin}"), origin, &mut text);
            text.push('-');
        }
        text.push_str(&marks.generation(true));
        let parts = marks.parts(&text).unwrap();
        let mut origins = vec![];
        for part in &parts {
            if let Part::Text(text, origin) = part {
                if *origin == TEMPLATE {
                    assert!(["a", "-"].contains(text));
                } else {
                    assert_eq!(*text, format!("x{origin}"));
                    origins.push(*origin);
                }
            }
        }
        assert_eq!(origins, [1, 15, 16, 17, 255, 256, 70_000, u32::MAX]);
        assert_eq!(parts.last(), Some(&Part::Generation { opens: true }));
    }

    #[test]
    fn what_is_empty_or_the_templates_has_no_marks() {
        assert_eq!(marks().marked("", 7), "");
        assert_eq!(marks().marked("x", TEMPLATE), "x");
    }

    #[test]
    fn marks_that_were_taken_apart_are_noticed() {
        let whole = marks().marked("ab", 300);
        let characters: Vec<char> = whole.chars().collect();
        for from in 0..characters.len() {
            for to in from..=characters.len() {
                let part: String = characters[from..to].iter().collect();
                let is_fine = part.is_empty() || part == whole || part == "a" || part == "b";
                let is_fine = is_fine || part == "ab";
                assert_eq!(marks().parts(&part).is_ok(), is_fine, "{from}..{to}");
            }
        }
        let backwards: String = characters.iter().rev().collect();
        assert_eq!(marks().parts(&backwards), Err(Torn));
    }

    #[test]
    fn an_alphabet_is_one_that_nothing_uses() {
        let mut taken = Taken::default();
        for point in 0xF_0000..0x10_0000_u32 {
            taken.text(&char::from_u32(point).map(String::from).unwrap_or_default());
        }
        taken.source(r"\U00100000 \u{100020} \uDBC0\uDC40");
        let marks = Marks::choose(&taken).unwrap();
        assert!(marks.base >= 0x10_0400, "{:x}", marks.base);
        for point in (FIRST..0x11_0000).filter_map(char::from_u32) {
            taken.text(&point.to_string());
        }
        assert_eq!(Marks::choose(&taken), None);
    }
}
