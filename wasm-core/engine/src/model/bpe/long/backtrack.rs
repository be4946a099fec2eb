//! Long pieces, by the longest tokens that fit.
//!
//! Merging keeps several lists as long as the piece and visits them out of order, which is slow where
//! a piece is larger than a cache. But what merging gives can be found from left to right. Tokens in a
//! row are the answer if each two neighbours, merged on their own, stay what they are. So the longest
//! token is taken that may follow the last one; where none may, the last one becomes shorter. One
//! row at most leads to a place, so a place that led nowhere is never tried again: the time grows
//! with the length. Therefore it does not matter either which tokens are tried first, and where they
//! are short, those are that merging a part gives (see [`super::premerge`]).
//!
//! That holds where every token is made by one merge, and merging the text of a token gives the
//! token: as training leaves a list of merges, once what never happens is left out (see
//! [`crate::model::bpe::learn`]). Other lists have no [`Longest`].

use super::longest_token::Longest;
use super::premerge::Premerge;
use crate::model::bpe::cache::vocabulary::Known;
use crate::model::bpe::merge::byte_units::ByteUnits;
use crate::model::bpe::merge::merger::{Merger, SHORT};
use crate::model::bpe::merge::pairs::{PairTable, NONE};
use crate::model::bpe::merge::symbols::Units;
use crate::vocab::Vocab;

/// Rows of which more is asked for each byte (a pair to be judged is one, a byte to be merged for that
/// another) are no quick way any more. Real ones need two or three.
const MOST_WORK: usize = 64;

/// Pairs that had to be merged to be judged: so many are remembered.
const JUDGED: usize = 1 << 10;

/// Tokens from this length on are tried once more behind themselves.
const REPEATED: usize = 4;

/// Working memory. Belongs to one model.
#[derive(Debug, Default)]
pub struct Backtrack {
    /// Tokens, and where they start.
    tokens: Vec<(u32, u32)>,
    /// A bit for each place that leads nowhere.
    dead: Vec<u64>,
    /// Tokens to take apart.
    parts: Vec<u32>,
    /// Two tokens, and whether they stay apart, in a place that the two say.
    judged: Vec<(u32, u32, bool)>,
    premerge: Premerge,
}

/// Working memory of pieces of any length.
#[derive(Debug, Default)]
pub struct PieceMerger {
    pub merger: Merger,
    backtrack: Backtrack,
}

/// What a piece is merged with.
#[derive(Clone, Copy)]
pub struct Tables<'a> {
    pub pairs: &'a PairTable,
    pub bytes: &'a ByteUnits,
    pub known: &'a Known,
    pub longest: Option<&'a Longest>,
    /// Where a piece has characters of several bytes that are one symbol each.
    pub chars: Option<(&'a Units, &'a Vocab)>,
}

impl Tables<'_> {
    /// Appends the ids of a piece of any length.
    #[inline]
    pub fn merge(self, merger: &mut PieceMerger, piece: &[u8], out: &mut Vec<u32>) {
        if piece.len() <= SHORT || !self.by_longest(merger, piece, out) {
            self.bytes.merge(self.pairs, &mut merger.merger, piece, out);
        }
    }

    /// Says whether it could.
    pub fn by_longest(self, merger: &mut PieceMerger, piece: &[u8], out: &mut Vec<u32>) -> bool {
        let Some(longest) = self.longest else { return false };
        let PieceMerger { merger, backtrack } = merger;
        let done = backtrack.fill(self, longest, merger, piece, MOST_WORK);
        if done {
            out.extend(backtrack.tokens.iter().map(|token| token.0));
        }
        done
    }
}

impl Backtrack {
    /// Says whether it could.
    fn fill(
        &mut self,
        tables: Tables<'_>,
        longest: &Longest,
        merger: &mut Merger,
        piece: &[u8],
        most_work: usize,
    ) -> bool {
        let Self { tokens, dead, parts, judged, premerge } = self;
        judged.resize(JUDGED, (NONE, NONE, false));
        tokens.clear();
        dead.clear();
        dead.resize(piece.len() / 64 + 1, 0);
        premerge.clear();
        let (mut at, mut below, mut work, mut last_dead) = (0, usize::MAX, 0, 0);
        while at < piece.len() && work <= most_work.saturating_mul(piece.len()) {
            let rest = piece.get(at..).unwrap_or_default();
            let last = tokens.last().map(|token| token.0);
            let mut may_follow = |id: u32, length: usize| {
                if is_dead(dead, at + length) {
                    return false;
                }
                work += 1;
                let Some(last) = last else { return true };
                longest.apart(tables.pairs, last, id).unwrap_or_else(|| {
                    let place = place_of(last, id);
                    if let Some(&(one, other, apart)) = judged.get(place) {
                        if (one, other) == (last, id) {
                            return apart;
                        }
                    }
                    let (apart, merged) = longest.merged(tables.pairs, merger, parts, last, id);
                    work += merged;
                    if let Some(place) = judged.get_mut(place) {
                        *place = (last, id, apart);
                    }
                    apart
                })
            };
            if below == usize::MAX {
                if let Some(&(id, start)) = tokens.last() {
                    let length = at - start as usize;
                    if repeats(piece, start as usize, at) && may_follow(id, length) {
                        tokens.push((id, at as u32));
                        at += length;
                        continue;
                    }
                }
                premerge.look_ahead(tables, piece, at, tokens.len());
                if let Some((id, end)) = premerge.token(at).filter(|token| token.1 > last_dead) {
                    if may_follow(id, end - at) {
                        let push = |id, start| tokens.push((id, start as u32));
                        at = premerge.tokens(at, push).unwrap_or(at);
                        continue;
                    }
                }
            }
            match longest.following(tables, rest, below, may_follow) {
                Some((id, length)) => {
                    tokens.push((id, at as u32));
                    at += length;
                    below = usize::MAX;
                }
                None => {
                    if let Some(word) = dead.get_mut(at / 64) {
                        *word |= 1 << (at % 64);
                    }
                    last_dead = last_dead.max(at);
                    let Some((id, start)) = tokens.pop() else { return false };
                    let length = at - start as usize;
                    // Of tokens that parts had, or the one before, longer ones were not tried.
                    let again = length >= REPEATED && tokens.last().is_some_and(|t| t.0 == id);
                    below = if again || premerge.are_used() { usize::MAX } else { length };
                    at = start as usize;
                }
            }
        }
        at == piece.len()
    }
}

/// Whether what begins at `start` is a long token that comes again at `at`. Where a run of blanks
/// becomes tokens of sixteen, longer ones are tried in vain at every place before them.
#[inline(always)]
fn repeats(piece: &[u8], start: usize, at: usize) -> bool {
    let end = at + (at - start);
    end - at >= REPEATED
        && piece.get(at) == piece.get(start)
        && piece.get(at..end).is_some_and(|next| piece.get(start..at) == Some(next))
}

#[inline(always)]
fn place_of(left: u32, right: u32) -> usize {
    let mixed = (left.rotate_left(16) ^ right).wrapping_mul(0x9E37_79B1);
    (mixed >> (u32::BITS - JUDGED.trailing_zeros())) as usize
}

#[inline(always)]
fn is_dead(dead: &[u64], at: usize) -> bool {
    dead.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{Bpe as Definition, Merge};
    use crate::model::bpe::{Bpe, Reading};
    use crate::oracle::bpe::{byte_level_with, bytes_alone, merge_slowly};
    use crate::oracle::random::Random;

    /// A list of merges of texts of `letters` kinds; `trained` keeps each behind those of its parts.
    fn bpe(random: &mut Random, letters: usize, trained: bool, shuffled_ids: bool) -> Bpe {
        let mut vocab = bytes_alone();
        let mut merges: Vec<Merge> = Vec::new();
        let mut known: Vec<u32> = (97..97 + letters as u32).collect();
        let count = 1 + random.below(60);
        let mut free: Vec<u32> = (256..256 + 2 * count as u32).collect();
        for _ in 0..2 * count {
            let (left, right) = (*random.pick(&known), *random.pick(&known));
            let text = format!("{}{}", vocab.text(left).unwrap(), vocab.text(right).unwrap());
            if vocab.id(&text).is_some() || text.len() > 40 || merges.len() == count {
                continue;
            }
            let at = if shuffled_ids { random.below(free.len()) } else { 0 };
            let product = free.remove(at);
            vocab.insert(&text, product).unwrap();
            known.push(product);
            merges.push(Merge { left, right, product });
        }
        if !trained {
            for n in (1..merges.len()).rev() {
                merges.swap(n, random.below(n + 1));
            }
        }
        let ignore_merges = random.below(2) == 0;
        Bpe::new(Definition { ignore_merges, ..byte_level_with(vocab, merges) }, Reading::Bytes)
    }

    /// Dense vocabularies over few letters, where most rows lead nowhere, against merging.
    #[test]
    fn taking_the_longest_is_merging() {
        let mut random = Random::new(41);
        let (mut served, mut out_of_order, mut back, mut ahead) = (0, 0, 0, 0);
        for round in 0..3000 {
            let letters = 1 + random.below(4);
            let bpe = bpe(&mut random, letters, round % 4 != 0, round % 3 == 0);
            let Some(tables) = bpe.tables().filter(|tables| tables.longest.is_some()) else {
                continue;
            };
            let mut merger = PieceMerger::default();
            served += 1;
            let longest = tables.longest.unwrap();
            out_of_order += usize::from(!longest.all_in_order());
            for _ in 0..8 {
                let length = random.below(if round % 20 == 0 { 5000 } else { 90 });
                let piece: Vec<u8> =
                    (0..length).map(|_| b'a' + random.below(letters) as u8).collect();
                let (mut expected, mut got) = (Vec::new(), vec![7]);
                tables.bytes.merge(tables.pairs, &mut merger.merger, &piece, &mut expected);
                assert!(tables.by_longest(&mut merger, &piece, &mut got));
                assert_eq!(got[1..], expected, "{:?}", String::from_utf8_lossy(&piece));
                ahead += usize::from(merger.backtrack.premerge.are_used());
                back += merger.backtrack.dead.iter().map(|word| word.count_ones()).sum::<u32>();
            }
        }
        assert!(served > 1500 && out_of_order > 100 && back > 10_000 && ahead > 100, "{ahead}");
    }

    /// The oracle of the oracle: one merge after the other, as the definition reads.
    #[test]
    fn taking_the_longest_is_merging_one_by_one() {
        let mut random = Random::new(42);
        let mut merger = PieceMerger::default();
        let mut vocab = bytes_alone();
        // Runs, as real vocabularies have them: also longer than a key.
        let (mut merges, mut known) = (Vec::new(), vec![u32::from(b'a')]);
        for n in 1..40usize {
            let text = "a".repeat(n + 1);
            let product = vocab.id_bound();
            vocab.insert(&text, product).unwrap();
            merges.push(Merge { left: known[n / 2], right: known[n - 1 - n / 2], product });
            known.push(product);
        }
        let bpe = Bpe::new(byte_level_with(vocab, merges.clone()), Reading::Bytes);
        let tables = bpe.tables().unwrap();
        assert!(tables.longest.is_some());
        for length in 0..400 {
            let mut piece = vec![b'a'; length];
            for _ in 0..random.below(3) {
                if length > 0 {
                    piece[random.below(length)] = b'b';
                }
            }
            let symbols: Vec<u32> = piece.iter().map(|&byte| byte.into()).collect();
            let expected: Vec<u32> =
                merge_slowly(&symbols, &merges).into_iter().map(|token| token.0).collect();
            let mut got = Vec::new();
            assert!(tables.by_longest(&mut merger, &piece, &mut got));
            assert_eq!(got, expected, "{length}");
        }
    }

    /// The bound of real rows is far away: no list is known that needs it.
    #[test]
    fn a_row_that_costs_too_much_is_given_up() {
        let mut random = Random::new(44);
        let mut merger = Merger::default();
        let (mut given_up, mut done) = (0, 0);
        for _ in 0..300 {
            let bpe = bpe(&mut random, 2, false, false);
            let Some(tables) = bpe.tables().filter(|tables| tables.longest.is_some()) else {
                continue;
            };
            let piece: Vec<u8> = (0..300).map(|_| b'a' + random.below(2) as u8).collect();
            let mut row = Backtrack::default();
            let longest = tables.longest.unwrap();
            assert!(!row.fill(tables, longest, &mut merger, &piece, 0));
            match row.fill(tables, longest, &mut merger, &piece, 1) {
                true => done += 1,
                false => given_up += 1,
            }
            assert!(row.fill(tables, longest, &mut merger, &piece, MOST_WORK));
        }
        assert!(given_up > 20 && done > 20, "{given_up} {done}");
    }

    /// Two merges make the same, or one makes what it is made of.
    #[test]
    fn lists_that_it_cannot_serve_have_none() {
        let mut random = Random::new(43);
        let bpe = bpe(&mut random, 3, true, false);
        let Tables { pairs, bytes, known, .. } = bpe.tables().unwrap();
        let symbols: Vec<_> = bytes.symbols().collect();
        let known_merge = Merge { left: 97, right: 97, product: 256 };
        for merges in [
            vec![],
            vec![known_merge, Merge { left: 97, right: 98, product: 256 }],
            vec![Merge { left: 256, right: 97, product: 256 }],
            vec![Merge { left: 97, right: 97, product: 1 << 20 }],
        ] {
            let longest = Longest::new(&merges, pairs, symbols.iter().copied(), known);
            assert!(longest.is_none(), "{merges:?}");
        }
    }
}
