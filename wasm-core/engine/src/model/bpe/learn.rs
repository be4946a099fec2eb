//! What a vocabulary says about itself, learned once by encoding every token's text.
//!
//! **Which merges can happen.** Files of the newer kind list every pair that makes a token, several
//! for each. Only one of them is ever applied: when two neighbours merge into a token, nothing has
//! crossed the borders of its text before, so its inside was merged exactly as that text would be
//! on its own, and encoding a text on its own ends in one way. So a merge that is not the last one
//! of its product's text, encoded alone, can be left out, and the table becomes half as large,
//! which is half as many cache misses in the innermost loop.
//!
//! **What the cache starts from.** The ids of the tokens' texts: not always the token itself, as
//! not every token can be reached.

use crate::definition::Merge;
use crate::model::bpe::cache::key::{Key, MAX_KEY};
use crate::model::bpe::cache::pieces::PieceCache;
use crate::model::bpe::merge::byte_units::ByteUnits;
use crate::model::bpe::merge::merger::{merge_symbols, Merger};
use crate::model::bpe::merge::pairs::{have_ties, PairTable, NONE};
use crate::model::bpe::merge::symbols::Units;
use crate::model::bpe::merge::symbols::BLANK;
use crate::split::byte_level::byte_of_char;
use crate::vocab::Vocab;
use std::collections::HashMap;

/// Tokens beyond this many would only push more frequent ones out of the cache.
const SEEDED: u32 = 1 << 16;

/// What [`learn`] finds beside the merges.
#[derive(Debug, Default)]
pub struct Learned {
    pub seed: PieceCache,
    /// Tokens that merging their text does not lead to: a model that looks whole pieces up first
    /// finds them all the same.
    pub unreachable: HashMap<Vec<u8>, u32>,
    /// Short texts that are encoded as one token.
    pub known: Vec<(Key, u32)>,
    /// Whether every merge that is left can happen.
    pub all_happen: bool,
}

/// Of a byte-level vocabulary. Leaves only the merges that can happen in `merges` and `pairs`, whose
/// ranks are still places in `merges`.
pub fn learn(
    vocab: &Vocab,
    merges: &mut Vec<Merge>,
    pairs: &mut PairTable,
    bytes: &mut ByteUnits,
    ignore_merges: bool,
) -> Learned {
    let mut merger = Merger::default();
    let encode = |text: &str, piece: &mut Vec<u8>, ids: &mut Vec<u32>| {
        let mut chars = text.chars();
        piece.extend(chars.by_ref().map_while(byte_of_char));
        if chars.next().is_some() || piece.len() != text.chars().count() || !bytes.spell(piece) {
            return None;
        }
        Some(bytes.merge(pairs, &mut merger, piece, ids))
    };
    let (mut learned, happens) = learn_texts(vocab, merges.len(), ignore_merges, encode);
    if leave_out(vocab, merges, &mut Vec::new(), pairs, &happens) {
        bytes.rank_first_round(pairs);
        learned.all_happen = true;
    }
    learned
}

/// The same of a vocabulary of characters, each of which has symbols of its own, whatever its
/// neighbours are. `classes`: of the merges, or none. Pieces are learned as they are read: where they
/// are `spaced`, with spaces for blanks.
pub fn learn_chars(
    vocab: &Vocab,
    merges: &mut Vec<Merge>,
    classes: &mut Vec<u32>,
    pairs: &mut PairTable,
    units: &Units,
    spaced: bool,
) -> Learned {
    let (mut merger, mut symbols) = (Merger::default(), Vec::new());
    let encode = |text: &str, piece: &mut Vec<u8>, ids: &mut Vec<u32>| {
        match spaced {
            true if text.contains(' ') => return None,
            true => piece.extend_from_slice(text.replace(BLANK, " ").as_bytes()),
            false => piece.extend_from_slice(text.as_bytes()),
        }
        units.symbols(vocab, text, false, &mut symbols);
        Some(merge_symbols(pairs, &mut merger, &symbols, ids))
    };
    let (mut learned, happens) = learn_texts(vocab, merges.len(), false, encode);
    learned.all_happen = leave_out(vocab, merges, classes, pairs, &happens);
    learned
}

/// `encode(text, piece, ids)`: the text of a token as a piece, its ids, and the place of the merge
/// that came last. `None`: no piece is this text. Answers also which merges happen.
fn learn_texts(
    vocab: &Vocab,
    merges: usize,
    ignore_merges: bool,
    mut encode: impl FnMut(&str, &mut Vec<u8>, &mut Vec<u32>) -> Option<u32>,
) -> (Learned, Vec<bool>) {
    let mut learned = Learned::default();
    let mut happens = vec![false; merges];
    let (mut ids, mut piece) = (Vec::new(), Vec::new());
    let mut entries: Vec<(&str, u32)> = vocab.iter().collect();
    // Small ids are the frequent tokens: they come last and win a conflict in the cache.
    entries.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.1));
    for (text, id) in entries {
        piece.clear();
        ids.clear();
        let Some(last) = encode(text, &mut piece, &mut ids).filter(|_| !piece.is_empty()) else {
            continue;
        };
        if ids.len() == 1 && last != NONE {
            if let Some(place) = happens.get_mut(last as usize) {
                *place = true;
            }
        }
        if ignore_merges && ids != [id] {
            learned.unreachable.insert(piece.clone(), id);
        }
        let key = Key::new(&piece, 0, piece.len());
        if piece.len() <= MAX_KEY && (ignore_merges || ids == [id]) {
            learned.known.push((key, id));
        }
        if id < SEEDED && piece.len() <= MAX_KEY {
            let whole = [id];
            let ids = if ignore_merges { &whole[..] } else { &ids[..] };
            learned.seed.seed(key, ids);
        }
    }
    (learned, happens)
}

/// Leaves out what never happens, unless that cannot be known; says whether it did.
fn leave_out(
    vocab: &Vocab,
    merges: &mut Vec<Merge>,
    classes: &mut Vec<u32>,
    pairs: &mut PairTable,
    happens: &[bool],
) -> bool {
    // Merges know their parts by id, so the argument above needs one text for each.
    let knows = !vocab.shares_ids();
    if knows {
        let mut all = happens.iter().copied();
        merges.retain(|_| all.next().unwrap_or(true));
        let mut all = happens.iter().copied();
        classes.retain(|_| all.next().unwrap_or(true));
        *pairs = match have_ties(classes) {
            true => PairTable::classed(merges, classes),
            false => PairTable::new(merges),
        };
    }
    knows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::bpe::bytes_alone;
    use crate::oracle::random::Random;

    #[test]
    fn merges_that_are_left_out_never_happen() {
        let mut random = Random::new(21);
        let mut left_out = 0;
        for _ in 0..150 {
            let mut vocab = bytes_alone();
            // Several pairs for one product, in any order.
            let mut known: Vec<u32> = b"abc".iter().map(|&b| u32::from(b)).collect();
            let mut merges = Vec::new();
            for _ in 0..random.below(60) {
                let (left, right) = (*random.pick(&known), *random.pick(&known));
                let text = format!("{}{}", vocab.text(left).unwrap(), vocab.text(right).unwrap());
                if text.len() > 12 {
                    continue;
                }
                let product = vocab.id(&text).unwrap_or(vocab.id_bound());
                vocab.insert(&text, product).unwrap();
                known.push(product);
                merges.push(Merge { left, right, product });
            }
            for at in (1..merges.len()).rev() {
                merges.swap(at, random.below(at + 1));
            }
            let full = PairTable::ranked(&merges);
            let mut pairs = PairTable::ranked(&merges);
            let full_bytes = ByteUnits::new(&vocab, &full, false).unwrap();
            let mut bytes = ByteUnits::new(&vocab, &pairs, false).unwrap();
            let before = merges.len();
            learn(&vocab, &mut merges, &mut pairs, &mut bytes, false);
            left_out += before - merges.len();
            let mut merger = Merger::default();
            for _ in 0..60 {
                let text: Vec<u8> =
                    (0..random.below(70)).map(|_| b'a' + random.below(3) as u8).collect();
                let (mut expected, mut got) = (Vec::new(), Vec::new());
                full_bytes.merge(&full, &mut merger, &text, &mut expected);
                bytes.merge(&pairs, &mut merger, &text, &mut got);
                assert_eq!(got, expected);
            }
        }
        assert!(left_out > 500, "{left_out}");
    }
}
