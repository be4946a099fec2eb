//! Where a text may be cut without changing its ids.
//!
//! A merge that crosses the border between two characters makes a token whose text has these two
//! side by side. So where no text of the vocabulary has them side by side, no merge ever crosses,
//! and both halves can be merged (and remembered) apart. In a SentencePiece-like vocabulary, whose
//! pieces would otherwise be whole texts, this cuts in front of nearly every `▁`.

use crate::definition::Bpe as Definition;
use std::collections::HashSet;

/// A one-hash filter: it may say "joined" of a pair that is not, which only costs a cut.
const BITS: u32 = 20;

#[derive(Debug)]
pub struct Joins {
    filter: Vec<u64>,
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
        let byte_ids: HashSet<u32> = match definition.byte_fallback {
            true => {
                (0..=255u8).map(|b| vocab.id(&format!("<0x{b:02X}>"))).collect::<Option<_>>()?
            }
            false => HashSet::new(),
        };
        let spelled_merges = definition
            .merges
            .iter()
            .any(|merge| byte_ids.contains(&merge.left) || byte_ids.contains(&merge.right));
        // With all byte tokens there, no character is unknown.
        let unknown_matters = !definition.byte_fallback
            && match definition.unk {
                None => true,
                Some(_) if definition.fuse_unk => true,
                Some(unk) => {
                    definition.merges.iter().any(|merge| merge.left == unk || merge.right == unk)
                }
            };
        let mut ids = HashSet::new();
        let shared_ids = vocab.iter().any(|(_, id)| !ids.insert(id));
        if definition.ignore_merges || decorated || spelled_merges || unknown_matters || shared_ids
        {
            return None;
        }
        Some(Self::of_texts(vocab.iter().map(|(text, _)| text)))
    }

    /// Joined is what stands side by side in one of `texts`.
    pub fn of_texts<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut joins = Self { filter: vec![0; 1 << (BITS - 6)] };
        for text in texts {
            for (left, right) in text.chars().zip(text.chars().skip(1)) {
                let (word, bit) = place(left, right);
                if let Some(word) = joins.filter.get_mut(word) {
                    *word |= bit;
                }
            }
        }
        joins
    }

    #[inline]
    pub fn joined(&self, left: char, right: char) -> bool {
        let (word, bit) = place(left, right);
        self.filter.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Calls `each(start, end)` for the parts of `piece` that no token connects.
    #[inline]
    pub fn parts(&self, piece: &str, mut each: impl FnMut(usize, usize)) {
        let mut chars = piece.char_indices();
        let Some((_, mut left)) = chars.next() else { return };
        let mut start = 0;
        for (at, right) in chars {
            if !self.joined(left, right) {
                each(start, at);
                start = at;
            }
            left = right;
        }
        each(start, piece.len());
    }
}

#[inline]
fn place(left: char, right: char) -> (usize, u64) {
    let pair = u64::from(u32::from(left)) << 32 | u64::from(u32::from(right));
    let mixed =
        pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ pair.wrapping_mul(0xC2B2_AE3D).rotate_left(17);
    let bit = mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BITS);
    ((bit >> 6) as usize, 1 << (bit & 63))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Merge;
    use crate::model::bpe::Bpe;
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
            let bpe = Bpe::new(definition, false);
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
