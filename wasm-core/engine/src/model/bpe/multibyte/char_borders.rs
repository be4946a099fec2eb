//! What stands on either side of a merge that meets a border between two characters.
//!
//! The tokens of a byte-level vocabulary are bytes, and some begin or end inside a character. Where
//! a merge joins two symbols at a border between characters, each side is a whole character or the
//! part of one that the symbol has.

use crate::split::byte_level::byte_of_char;
use crate::vocab::Vocab;

/// A whole character, by its code point, or some bytes of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Side(u32);

const PART: u32 = 1 << 31;

impl Side {
    pub fn whole(c: char) -> Self {
        Self(c.into())
    }

    /// Up to three bytes, of which the last ones or the first ones are missing.
    pub fn part(bytes: &[u8]) -> Self {
        let packed = bytes.iter().take(3).fold(0, |packed, &byte| packed << 8 | u32::from(byte));
        Self(PART | (bytes.len().min(3) as u32) << 24 | packed)
    }

    pub fn is_part(self) -> bool {
        self.0 & PART != 0
    }

    /// Another one for each side; of a whole character, its code point.
    pub fn number(self) -> u32 {
        self.0
    }

    /// What `symbol` ends with. `None`: no border between characters is behind it.
    pub fn tail(symbol: &[u8]) -> Option<Self> {
        let lead = symbol.iter().rposition(|&byte| !is_continuation(byte));
        let Some(lead) = lead else {
            return (1..=3).contains(&symbol.len()).then(|| Self::part(symbol));
        };
        let last = symbol.get(lead..)?;
        std::str::from_utf8(last).ok()?.chars().next().map(Self::whole)
    }

    /// What `symbol` begins with. `None`: no border between characters is in front of it.
    pub fn head(symbol: &[u8]) -> Option<Self> {
        let width = width(*symbol.first()?)?;
        match symbol.get(..width) {
            Some(first) => std::str::from_utf8(first).ok()?.chars().next().map(Self::whole),
            None => Some(Self::part(symbol)),
        }
    }
}

fn is_continuation(byte: u8) -> bool {
    matches!(byte, 0x80..0xC0)
}

/// The length of the character that begins with `byte`.
fn width(byte: u8) -> Option<usize> {
    match byte {
        0..0x80 => Some(1),
        0xC2..0xE0 => Some(2),
        0xE0..0xF0 => Some(3),
        0xF0..0xF5 => Some(4),
        _ => None,
    }
}

/// The sides that a character is on the left of a border, where not all of it is one symbol.
pub fn suffixes(c: char) -> impl Iterator<Item = Side> {
    let mut buffer = [0; 4];
    let width = c.encode_utf8(&mut buffer).len();
    (1..width).map(move |at| Side::part(buffer.get(at..width).unwrap_or_default()))
}

/// The sides that a character is on the right of a border, where not all of it is one symbol.
pub fn prefixes(c: char) -> impl Iterator<Item = Side> {
    let mut buffer = [0; 4];
    let width = c.encode_utf8(&mut buffer).len();
    (1..width).map(move |len| Side::part(buffer.get(..len).unwrap_or_default()))
}

/// Both sides of every token, by id.
pub struct Sides {
    tails: Vec<Option<Side>>,
    heads: Vec<Option<Side>>,
    /// The tokens that are one character.
    pub chars: Vec<(char, u32)>,
}

impl Sides {
    /// `None` where two texts share an id, so that an id does not say what it stands for.
    pub fn new(vocab: &Vocab) -> Option<Self> {
        let bound = vocab.id_bound() as usize;
        let mut seen = vec![false; bound];
        let mut sides =
            Self { tails: vec![None; bound], heads: vec![None; bound], chars: Vec::new() };
        let mut bytes = Vec::new();
        for (text, id) in vocab.iter() {
            let at = id as usize;
            if std::mem::replace(seen.get_mut(at)?, true) {
                return None;
            }
            bytes.clear();
            let mut rest = text.chars();
            bytes.extend(rest.by_ref().map_while(byte_of_char));
            if rest.next().is_some() || bytes.len() != text.chars().count() {
                continue;
            }
            *sides.tails.get_mut(at)? = Side::tail(&bytes);
            *sides.heads.get_mut(at)? = Side::head(&bytes);
            if bytes.len() <= 4 {
                let mut chars = std::str::from_utf8(&bytes).unwrap_or_default().chars();
                if let (Some(c), None) = (chars.next(), chars.next()) {
                    sides.chars.push((c, id));
                }
            }
        }
        Some(sides)
    }

    /// One more than the largest id.
    pub fn bound(&self) -> usize {
        self.tails.len()
    }

    pub fn tail(&self, id: u32) -> Option<Side> {
        self.tails.get(id as usize).copied().flatten()
    }

    pub fn head(&self, id: u32) -> Option<Side> {
        self.heads.get(id as usize).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_characters_or_parts_of_them() {
        let whole = |c: char| Some(Side::whole(c));
        assert_eq!(Side::tail("a你".as_bytes()), whole('你'));
        assert_eq!(Side::head("a你".as_bytes()), whole('a'));
        assert_eq!(Side::tail(&[0xBD, 0xA0]), Some(Side::part(&[0xBD, 0xA0])));
        assert_eq!(Side::tail(&[0xBD, 0xA0, b'a']), whole('a'));
        assert_eq!(Side::tail(&[b'a', 0xE4, 0xBD]), None);
        assert_eq!(Side::head(&[b'a', 0xE4, 0xBD]), whole('a'));
        assert_eq!(Side::head(&[0xE4, 0xBD]), Some(Side::part(&[0xE4, 0xBD])));
        assert_eq!(Side::head(&[0xBD, 0xA0]), None);
        assert_eq!(Side::tail(&[0xBD; 4]), None);
        assert_eq!((Side::head(&[]), Side::tail(&[])), (None, None));
    }

    #[test]
    fn parts_of_a_character_are_its_beginnings_and_ends() {
        let suffixes: Vec<Side> = suffixes('你').collect();
        assert_eq!(suffixes, [Side::part(&[0xBD, 0xA0]), Side::part(&[0xA0])]);
        let prefixes: Vec<Side> = prefixes('你').collect();
        assert_eq!(prefixes, [Side::part(&[0xE4]), Side::part(&[0xE4, 0xBD])]);
        assert_eq!(super::prefixes('a').count() + super::suffixes('a').count(), 0);
    }
}
