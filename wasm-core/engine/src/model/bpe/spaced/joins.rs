//! Where a text may be cut without changing its ids.
//!
//! A merge that crosses the border between two characters makes a token whose text has these two
//! side by side. So where no text of the vocabulary has them side by side, no merge ever crosses,
//! and both halves can be merged (and remembered) apart. In a SentencePiece-like vocabulary, whose
//! pieces would otherwise be whole texts, this cuts in front of nearly every `▁`.

use crate::definition::Bpe as Definition;
use crate::model::bpe::merge::symbols::BLANK;

/// A one-hash filter: it may say "joined" of a pair that is not, which only costs a cut. So many
/// bits a pair, and at least and at most so many as a power of two: with few pairs it is small
/// enough for the nearest cache.
const BITS_OF_ONE: u32 = 32;
const FEWEST_BITS: u32 = 12;
const MOST_BITS: u32 = 20;

/// The blank, and its place in the near table, behind ASCII.
pub(super) const BLANK_CODE: u32 = BLANK as u32;
pub(super) const SPACE: u32 = b' ' as u32;
pub(super) const NEAR_BLANK: u8 = 0x80;
const FAR: u8 = 0xFF;

#[derive(Debug)]
pub struct Joins {
    filter: Vec<u64>,
    filter_shift: u32,
    /// The same of ASCII and the blank, one row of bits for each left one: text is mostly this, and
    /// the filter is too large for the nearest cache.
    near: Box<[[u64; 4]; 256]>,
    /// The ASCII that is joined with a blank behind it, or blanks in its place. `None`: it is more
    /// than two.
    pub(super) before_blanks: Option<[u8; 2]>,
    /// Whether a blank is joined with one behind it.
    pub(super) blanks_run: bool,
}

impl Joins {
    /// `None` where a cut could be seen: whole pieces are looked up, characters are spelled by
    /// their position in the piece, unknown ones wait for others, drop out from between others or
    /// take part in merges under a text that is not theirs, or two texts share an id.
    pub fn new(definition: &Definition) -> Option<Self> {
        let vocab = &definition.vocab;
        let decorated =
            definition.continuing_subword_prefix.as_ref().is_some_and(|p| !p.is_empty())
                || definition.end_of_word_suffix.as_ref().is_some_and(|s| !s.is_empty());
        let mut spells_byte = vec![false; vocab.id_bound() as usize];
        if definition.byte_fallback {
            for byte in 0..=255u8 {
                match vocab.id(&format!("<0x{byte:02X}>")) {
                    Some(id) => *spells_byte.get_mut(id as usize)? = true,
                    // No other character has this byte.
                    None if byte.is_ascii() => {
                        vocab.id(char::from(byte).encode_utf8(&mut [0; 4]))?;
                    }
                    None => return None,
                }
            }
        }
        let is_spelled = |id: u32| spells_byte.get(id as usize) == Some(&true);
        let spelled_merges =
            definition.merges.iter().any(|merge| is_spelled(merge.left) || is_spelled(merge.right));
        // With all byte tokens there, no character is unknown.
        let unknown_matters = !definition.byte_fallback
            && match definition.unk {
                None => true,
                Some(_) if definition.fuse_unk => true,
                Some(unk) => {
                    definition.merges.iter().any(|merge| merge.left == unk || merge.right == unk)
                }
            };
        if definition.ignore_merges
            || decorated
            || spelled_merges
            || unknown_matters
            || vocab.shares_ids()
        {
            return None;
        }
        Some(Self::of_texts(vocab.iter().map(|(text, _)| text)))
    }

    /// Joined is what stands side by side in one of `texts`.
    pub fn of_texts<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut joins = Self {
            filter: vec![0; 1 << (MOST_BITS - 6)],
            filter_shift: u64::BITS - MOST_BITS,
            near: Box::new([[0; 4]; 256]),
            before_blanks: None,
            blanks_run: false,
        };
        for text in texts {
            for (left, right) in text.chars().zip(text.chars().skip(1)) {
                let (left, right) = (u32::from(left), u32::from(right));
                let (word, bit) = place(left, right, joins.filter_shift);
                if let Some(word) = joins.filter.get_mut(word) {
                    *word |= bit;
                }
                let (left, right) = (near(left), near(right));
                if left != FAR && right != FAR {
                    joins.near[usize::from(left)][usize::from(right >> 6)] |= 1 << (right & 63);
                }
            }
        }
        joins.fold_filter();
        let before: Vec<u8> =
            (0..NEAR_BLANK).filter(|left| joins.near_joined(*left, NEAR_BLANK)).collect();
        joins.before_blanks = match *before.as_slice() {
            [] => Some([b' ', b' ']),
            [one] => Some([one, one]),
            [one, other] => Some([one, other]),
            _ => None,
        };
        joins.blanks_run = joins.near_joined(NEAR_BLANK, NEAR_BLANK);
        joins
    }

    /// Halves the filter as often as it has room to spare: a place in half of it is half the place.
    fn fold_filter(&mut self) {
        let pairs: u32 = self.filter.iter().map(|word| word.count_ones()).sum();
        let wanted = (pairs * BITS_OF_ONE).next_power_of_two().trailing_zeros();
        let bits = wanted.clamp(FEWEST_BITS, MOST_BITS);
        let mut filter = vec![0u64; 1 << (bits - 6)];
        for (word, bits_of_word) in self.filter.iter().enumerate() {
            for bit in (0..64).filter(|bit| bits_of_word >> bit & 1 != 0) {
                let at = (word << 6 | bit) >> (MOST_BITS - bits);
                if let Some(word) = filter.get_mut(at >> 6) {
                    *word |= 1 << (at & 63);
                }
            }
        }
        (self.filter, self.filter_shift) = (filter, u64::BITS - bits);
    }

    #[inline]
    pub fn joined(&self, left: char, right: char) -> bool {
        self.are_joined(u32::from(left), u32::from(right))
    }

    #[inline(always)]
    pub(super) fn are_joined(&self, left: u32, right: u32) -> bool {
        let (at, near_right) = (near(left), near(right));
        if at != FAR && near_right != FAR {
            return self.near_joined(at, near_right);
        }
        let (word, bit) = place(left, right, self.filter_shift);
        self.filter.get(word).is_some_and(|word| word & bit != 0)
    }

    #[inline(always)]
    pub(super) fn near_joined(&self, left: u8, right: u8) -> bool {
        self.near[usize::from(left)][usize::from(right >> 6)] >> (right & 63) & 1 != 0
    }
}

/// The place of a character in the near table.
#[inline(always)]
fn near(code: u32) -> u8 {
    match code {
        0..0x80 => code as u8,
        BLANK_CODE => NEAR_BLANK,
        _ => FAR,
    }
}

#[inline(always)]
fn place(left: u32, right: u32, shift: u32) -> (usize, u64) {
    let pair = u64::from(left) << 32 | u64::from(right);
    let bit = pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift;
    ((bit >> 6) as usize, 1 << (bit & 63))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Merge;
    use crate::model::bpe::{Bpe, Reading};
    use crate::oracle::random::Random;
    use crate::vocab::Vocab;

    /// A SentencePiece-like model over a few characters, with random merges.
    fn definition(random: &mut Random, byte_fallback: bool) -> Definition {
        let mut vocab = Vocab::new();
        let mut texts: Vec<String> = ["<unk>", "▁", "a", "b", "é", "你"].map(String::from).into();
        if byte_fallback {
            texts.extend((0..=255u8).map(|b| format!("<0x{b:02X}>")));
        }
        for (id, text) in (0..).zip(&texts) {
            vocab.insert(text, id).unwrap();
        }
        let mut known: Vec<u32> = (1..6).collect();
        let mut merges = Vec::new();
        for _ in 0..random.below(12) {
            let (left, right) = (*random.pick(&known), *random.pick(&known));
            let text = format!("{}{}", vocab.text(left).unwrap(), vocab.text(right).unwrap());
            if vocab.id(&text).is_none() {
                let product = vocab.id_bound();
                vocab.insert(&text, product).unwrap();
                known.push(product);
                merges.push(Merge { left, right, product });
            }
        }
        Definition {
            vocab,
            merges,
            unk: Some(0),
            fuse_unk: byte_fallback,
            byte_fallback,
            ignore_merges: false,
            continuing_subword_prefix: None,
            end_of_word_suffix: None,
        }
    }

    #[test]
    fn cutting_changes_no_id() {
        let mut random = Random::new(5);
        let alphabet = ['▁', 'a', 'b', 'é', '你', 'z', '🌶'];
        let mut cuts = 0;
        for round in 0..600 {
            let definition = definition(&mut random, round % 2 == 0);
            let joins = Joins::new(&definition).unwrap();
            let bpe = Bpe::new(definition, Reading::Characters);
            let mut scratch = bpe.scratch();
            for _ in 0..20 {
                let text: String = (0..random.below(60)).map(|_| *random.pick(&alphabet)).collect();
                let mut tokens = Vec::new();
                bpe.tokens(&mut scratch, &text, &mut tokens);
                let mut ids = Vec::new();
                bpe.ids(&mut scratch, &text, &mut ids);
                assert_eq!(ids, tokens.iter().map(|t| t.id).collect::<Vec<_>>(), "{text:?}");
                joins.parts(&text, |_, _| cuts += 1);
            }
        }
        assert!(cuts > 50_000, "{cuts}");
    }

    #[test]
    fn an_unknown_character_merges_as_the_unknown_token() {
        let mut random = Random::new(7);
        let definition = definition(&mut random, false);
        let merge = Merge { left: 0, right: 2, product: 3 };
        assert!(Joins::new(&Definition { merges: vec![merge], ..definition }).is_none());
    }

    #[test]
    fn no_cuts_where_they_could_be_seen() {
        let mut random = Random::new(6);
        let mut base = || definition(&mut random, false);
        assert!(Joins::new(&Definition { fuse_unk: true, ..base() }).is_none());
        assert!(Joins::new(&Definition { ignore_merges: true, ..base() }).is_none());
        // Without an unknown token unknown characters vanish, and their neighbours meet.
        assert!(Joins::new(&Definition { unk: None, ..base() }).is_none());
        assert!(
            Joins::new(&Definition { end_of_word_suffix: Some("$".into()), ..base() }).is_none()
        );
        // Byte fallback with bytes missing: unknown characters are possible again.
        assert!(Joins::new(&Definition { byte_fallback: true, ..base() }).is_none());
    }
}
