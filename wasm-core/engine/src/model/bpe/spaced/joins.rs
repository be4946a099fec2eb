//! Where a text may be cut without changing its ids.
//!
//! A merge that crosses the border between two characters makes a token whose text has these two
//! side by side. So where no text of the vocabulary has them side by side, no merge ever crosses,
//! and both halves can be merged (and remembered) apart. In a SentencePiece-like vocabulary, whose
//! pieces would otherwise be whole texts, this cuts in front of nearly every `▁`.

use crate::definition::Bpe as Definition;
use crate::model::bpe::cache::batch::VIEW;
use crate::model::bpe::multibyte::segments::{decode, decode_four};
use crate::simd::block::{Block, WIDTH};
use std::ops::Range;

/// A one-hash filter: it may say "joined" of a pair that is not, which only costs a cut. So many
/// bits a pair, and at least and at most so many as a power of two: with few pairs it is small
/// enough for the nearest cache.
const BITS_OF_ONE: u32 = 32;
const FEWEST_BITS: u32 = 12;
const MOST_BITS: u32 = 20;

/// What SentencePiece writes for a space, and its place in the near table, behind ASCII.
pub const BLANK: char = '▁';
const BLANK_CODE: u32 = BLANK as u32;
const SPACE: u32 = b' ' as u32;
const NEAR_BLANK: u8 = 0x80;
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
    before_blanks: Option<[u8; 2]>,
    /// Whether a blank is joined with one behind it.
    blanks_run: bool,
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
                let id = vocab.id(&format!("<0x{byte:02X}>"))?;
                *spells_byte.get_mut(id as usize)? = true;
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
    fn are_joined(&self, left: u32, right: u32) -> bool {
        let (at, near_right) = (near(left), near(right));
        if at != FAR && near_right != FAR {
            return self.near_joined(at, near_right);
        }
        let (word, bit) = place(left, right, self.filter_shift);
        self.filter.get(word).is_some_and(|word| word & bit != 0)
    }

    #[inline(always)]
    fn near_joined(&self, left: u8, right: u8) -> bool {
        self.near[usize::from(left)][usize::from(right >> 6)] >> (right & 63) & 1 != 0
    }

    /// Calls `each(start, end)` for the parts of `piece` that no token connects.
    #[inline(always)]
    pub fn parts(&self, piece: &str, mut each: impl FnMut(usize, usize)) {
        let text = piece.as_bytes();
        let (mut start, mut at, mut left) = (0, 0, None);
        while at < text.len() {
            let (right, width) = decode(text, at);
            if left.is_some_and(|left| !self.are_joined(left, right)) {
                each(start, at);
                start = at;
            }
            left = Some(right);
            at += width;
        }
        if start < text.len() {
            each(start, text.len());
        }
    }

    /// The same where a space is read as the blank that a normalizer would write for it, up to a
    /// part that begins with ASCII; answers where that is.
    #[inline(always)]
    pub fn spaced_parts(
        &self,
        text: &[u8],
        range: Range<usize>,
        mut each: impl FnMut(usize, usize),
    ) -> usize {
        let (mut start, mut at, mut left) = (range.start, range.start, None);
        while let Some(&byte) = text.get(at).filter(|_| at < range.end) {
            let (right, width) = spaced(text, at, byte);
            if left.is_some_and(|left| !self.are_joined(left, right)) {
                each(start, at);
                start = at;
                if byte < 0x80 {
                    return start;
                }
            }
            left = Some(right);
            at += width;
        }
        each(start, range.end);
        range.end
    }

    /// Where the first part of a text may end in which spaces stand for blanks.
    pub fn first_spaced_part(&self, piece: &str) -> usize {
        let (text, mut at, mut left) = (piece.as_bytes(), 0, None);
        while let Some(&byte) = text.get(at) {
            let (right, width) = spaced(text, at, byte);
            if left.is_some_and(|left| !self.are_joined(left, right)) {
                return at;
            }
            left = Some(right);
            at += width;
        }
        text.len()
    }

    /// Where the window at the start of `view` may be cut, one bit each. It begins at a cut, and so
    /// many bytes behind that is another. Of the cuts between letters of ASCII none is used, so that
    /// most of them need not be asked for.
    #[inline(always)]
    pub fn cuts(&self, view: &[u8; VIEW], length: usize) -> u64 {
        let Some(window) = view.first_chunk::<WIDTH>() else { return 0 };
        let block = Block::load(window);
        let inside = match length < WIDTH {
            true => !(u64::MAX << length),
            false => u64::MAX,
        };
        let high = block.high() & inside;
        let letters = block.in_range(0x20, b'a', b'z');
        let blanks = block.in_range(0, b' ', b' ');
        // Nearly all blanks begin a part, and none does behind another blank.
        let (first, others) = (blanks & !(blanks << 1), blanks & blanks << 1);
        let sure = match self.before_blanks {
            Some([b' ', b' ']) => first & !(high << 1),
            Some([one, other]) => first & !((block.either(one, other) | high) << 1),
            None => 0,
        };
        let sure = sure & inside & !1;
        let never = letters & (letters | blanks) << 1 | if self.blanks_run { others } else { 0 };
        let asked = inside & !1 & !sure & !never;
        let apart = match high == 0 {
            true => self.apart_in_ascii(window, asked),
            false => self.apart_anywhere(view, asked, !block.continuing()),
        };
        // No bit where the whole window is inside.
        sure | apart | inside.wrapping_add(1)
    }

    /// The places among `asked` where characters meet that are not joined, in a window of ASCII.
    #[inline(always)]
    fn apart_in_ascii(&self, window: &[u8; WIDTH], mut asked: u64) -> u64 {
        let code = |at: usize| match window[at & (WIDTH - 1)] {
            b' ' => NEAR_BLANK,
            // Not a bit of what is behind the part of the window that is asked for.
            byte => byte & 0x7F,
        };
        let mut cuts = 0;
        while asked != 0 {
            let at = asked.trailing_zeros() as usize;
            asked &= asked - 1;
            let apart = !self.near_joined(code(at.wrapping_sub(1)), code(at));
            cuts |= u64::from(apart) << (at & (WIDTH - 1));
        }
        cuts
    }

    /// The same in any window, of which `starts` are the bytes that begin a character.
    #[inline(never)]
    fn apart_anywhere(&self, view: &[u8; VIEW], asked: u64, starts: u64) -> u64 {
        let code = |at: usize| {
            let bytes = view.get(at & (WIDTH - 1)..).and_then(<[u8]>::first_chunk);
            match decode_four(bytes.copied().unwrap_or_default()).0 {
                SPACE => BLANK_CODE,
                code => code,
            }
        };
        let (mut asked, mut cuts) = (asked & starts, 0);
        let (mut last, mut left) = (WIDTH, 0);
        while asked != 0 {
            let at = asked.trailing_zeros() as usize;
            asked &= asked - 1;
            let before = WIDTH - 1 - (starts & !(u64::MAX << at)).leading_zeros() as usize % WIDTH;
            if before != last {
                left = code(before);
            }
            let right = code(at);
            cuts |= u64::from(!self.are_joined(left, right)) << at;
            (last, left) = (at, right);
        }
        cuts
    }
}

/// The character that is read at `at`, and its length.
#[inline(always)]
fn spaced(text: &[u8], at: usize, byte: u8) -> (u32, usize) {
    match byte {
        b' ' => (BLANK_CODE, 1),
        _ => decode(text, at),
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
