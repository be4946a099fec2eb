//! `precompiled_charsmap`: the rules of a SentencePiece normalizer, as the files carry them.
//!
//! Four bytes of size, a double array (the layout of the darts-clone library) from which keys are
//! read byte by byte, then the replacements, each closed by a zero byte. What a key leads to is a
//! place among the replacements.
//!
//! The blob comes from strangers. All that a key can lead to is checked once, when it is read; where
//! a walk goes is checked at each step.

use crate::error::{Error, Result};

/// See the module text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charsmap {
    units: Vec<Unit>,
    replacements: String,
}

/// One cell of the double array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unit(u32);

impl Unit {
    /// A cell that holds a value and no label.
    fn is_value(self) -> bool {
        self.0 >> 31 == 1
    }

    fn value(self) -> usize {
        (self.0 & 0x7FFF_FFFF) as usize
    }

    /// Whether a key ends here.
    fn has_value(self) -> bool {
        (self.0 >> 8) & 1 == 1
    }

    /// Not a byte at all for a cell that holds a value, so that no byte of a text fits it.
    fn label(self) -> u32 {
        self.0 & 0x8000_00FF
    }

    fn offset(self) -> usize {
        ((self.0 >> 10) << ((self.0 & 0x200) >> 6)) as usize
    }
}

impl Charsmap {
    /// Reads and checks a blob. Offsets of errors count from its first byte.
    pub fn parse(blob: &[u8]) -> Result<Self> {
        let Some((size, rest)) = blob.split_first_chunk::<4>() else {
            return Err(broken("it has no room for its size", 0));
        };
        let size = u32::from_le_bytes(*size) as usize;
        if size == 0 || !size.is_multiple_of(4) {
            return Err(broken("the size of its double array is not that of whole cells", 0));
        }
        let Some((cells, replacements)) = rest.split_at_checked(size) else {
            return Err(broken("its double array is longer than the blob", 0));
        };
        let units: Vec<Unit> = cells
            .chunks_exact(4)
            .map(|cell| Unit(cell.iter().rev().fold(0, |unit, &b| unit << 8 | u32::from(b))))
            .collect();
        let replacements = std::str::from_utf8(replacements).map_err(|error| {
            broken("its replacements are not UTF-8", 4 + size + error.valid_up_to())
        })?;
        for (place, unit) in units.iter().enumerate() {
            // The first cell is where keys begin, and no key is empty.
            if unit.is_value() || !unit.has_value() || place == 0 {
                continue;
            }
            let value = units.get(place ^ unit.offset()).filter(|unit| unit.is_value());
            let text = value.and_then(|unit| replacements.get(unit.value()..));
            if text.is_none() {
                return Err(broken("a key leads to no replacement", 4 + place * 4));
            }
        }
        Ok(Self { units, replacements: replacements.to_owned() })
    }

    /// Every key that `text` begins with: its length in bytes and what replaces it, shortest first.
    pub fn prefixes<'a>(&'a self, text: &'a [u8]) -> Prefixes<'a> {
        let node = self.units.first().map_or(0, |unit| unit.offset());
        Prefixes { map: self, text, length: 0, node }
    }

    /// The longest of them.
    #[inline]
    pub fn longest_prefix<'a>(&'a self, text: &'a [u8]) -> Option<(usize, &'a str)> {
        self.prefixes(text).last()
    }

    fn replacement(&self, cell: Unit) -> &str {
        let text = self.replacements.get(cell.value()..).unwrap_or_default();
        // What lacks a zero byte ends with the blob.
        text.split('\0').next().unwrap_or_default()
    }
}

/// See [`Charsmap::prefixes`].
#[derive(Debug)]
pub struct Prefixes<'a> {
    map: &'a Charsmap,
    text: &'a [u8],
    length: usize,
    node: usize,
}

impl<'a> Iterator for Prefixes<'a> {
    type Item = (usize, &'a str);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let byte = *self.text.get(self.length)?;
            let place = self.node ^ usize::from(byte);
            let unit = self.map.units.get(place).filter(|u| u.label() == u32::from(byte));
            let Some(unit) = unit else {
                self.text = &[];
                return None;
            };
            self.length += 1;
            self.node = place ^ unit.offset();
            if unit.has_value() {
                let cell = self.map.units.get(self.node).copied();
                return cell.map(|cell| (self.length, self.map.replacement(cell)));
            }
        }
    }
}

fn broken(why: &str, offset: usize) -> Error {
    Error::invalid(format!(
        "the precompiled_charsmap of the normalizer is broken: {why}; export the tokenizer again"
    ))
    .at_offset(offset as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::random::Random;

    /// A blob of two keys: "a" becomes "xy", "ab" becomes nothing.
    fn blob() -> Vec<u8> {
        let mut units = vec![0u32; 1024];
        let key = |label: u8, offset: usize| u32::from(label) | 1 << 8 | (offset as u32) << 10;
        let (a, b) = (256 ^ 0x61, 512 ^ 0x62);
        units[0] = 256 << 10;
        units[a] = key(b'a', a ^ 512);
        units[512] = 1 << 31;
        units[b] = key(b'b', b ^ 768);
        units[768] = 1 << 31 | 3;
        let mut blob = (units.len() as u32 * 4).to_le_bytes().to_vec();
        blob.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        blob.extend(b"xy\0\0");
        blob
    }

    #[test]
    fn keys_are_found_shortest_first() {
        let map = Charsmap::parse(&blob()).unwrap();
        assert_eq!(map.prefixes(b"abc").collect::<Vec<_>>(), [(1, "xy"), (2, "")]);
        assert_eq!(map.longest_prefix(b"abc"), Some((2, "")));
        assert_eq!(map.longest_prefix(b"a"), Some((1, "xy")));
        assert_eq!(map.longest_prefix(b"a\0"), Some((1, "xy")));
        assert_eq!(map.longest_prefix(b"ba"), None);
        assert_eq!(map.longest_prefix(b""), None);
    }

    #[test]
    fn the_end_of_the_blob_closes_the_last_replacement() {
        let mut blob = blob();
        blob.truncate(blob.len() - 2);
        assert!(Charsmap::parse(&blob).is_err(), "\"ab\" leads behind the end");
        blob.extend(b"\0z");
        assert_eq!(Charsmap::parse(&blob).unwrap().longest_prefix(b"ab"), Some((2, "z")));
    }

    #[test]
    fn broken_blobs_are_refused_with_a_place() {
        let offset = |blob: &[u8]| {
            let error = Charsmap::parse(blob).unwrap_err();
            assert_eq!(error.kind, crate::error::ErrorKind::InvalidFile);
            error.offset.unwrap()
        };
        assert_eq!(offset(b""), 0);
        assert_eq!(offset(b"\x04\0\0\0abc"), 0);
        assert_eq!(offset(b"\0\0\0\0abc"), 0);
        assert_eq!(offset(b"\xFF\xFF\xFF\xFFabc"), 0);
        let mut bytes = blob();
        let end = bytes.len();
        bytes[end - 3] = 0xFF;
        assert_eq!(offset(&bytes), end as u64 - 3);
        let mut bytes = blob();
        bytes[4 + 768 * 4] = 9;
        assert_eq!(offset(&bytes), 4 + (512 ^ 0x62) * 4);
    }

    #[test]
    fn no_blob_makes_a_walk_fail() {
        let mut random = Random::new(9);
        let good = blob();
        for _ in 0..3000 {
            let mut bytes = good.clone();
            for _ in 0..random.below(12) {
                let at = random.below(bytes.len());
                bytes[at] = random.next() as u8;
            }
            if let Ok(map) = Charsmap::parse(&bytes) {
                for _ in 0..20 {
                    let text: Vec<u8> = (0..6).map(|_| b'a' + random.below(3) as u8).collect();
                    assert!(map.prefixes(&text).all(|(length, _)| length <= text.len()));
                }
            }
        }
    }
}
