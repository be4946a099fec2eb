//! The most probable sequence of pieces, as SentencePiece computes it.
//!
//! For each place in the text the best way to get there; each piece that begins at a place may make
//! a better one to where it ends. Scores are added in 32 bits: nearly equal ways come out as they do
//! in the reference only so. A way that is as good as one that was found before does not replace it.

use super::Part;
use crate::definition::{PieceKind, SentencePiece as Definition};
use crate::model::trie::Trie;

/// How much worse than the worst piece an unknown character is.
const UNK_PENALTY: f32 = 10.0;
/// Scores beyond this are brought back.
const FAR: f32 = 100_000.0;

#[derive(Debug)]
pub struct Unigram {
    trie: Trie,
    scores: Vec<Score>,
    unk: u32,
    unk_score: f32,
}

#[derive(Debug, Clone, Copy)]
enum Score {
    Of(f32),
    /// By its length, whatever the file says: see [`user_defined_score`].
    UserDefined,
}

/// The best way to a place: the score of the whole way, and the last piece of it.
#[derive(Debug, Clone, Copy)]
pub struct Best {
    score: f32,
    start: u32,
    id: u32,
}

const UNREACHED: u32 = u32::MAX;
const NOWHERE: Best = Best { score: 0.0, start: UNREACHED, id: 0 };

impl Unigram {
    pub fn new(definition: &Definition) -> Self {
        let kinds = || (0u32..).zip(&definition.kinds);
        let normal = kinds().filter(|(_, kind)| **kind == PieceKind::Normal);
        let normal = normal.filter_map(|(id, _)| definition.scores.get(id as usize).copied());
        let worst = normal.fold(f32::MAX, f32::min);
        let scores = kinds().map(|(id, kind)| match kind {
            PieceKind::UserDefined => Score::UserDefined,
            _ => Score::Of(definition.scores.get(id as usize).copied().unwrap_or_default()),
        });
        let found = kinds()
            .filter(|(_, kind)| matches!(kind, PieceKind::Normal | PieceKind::UserDefined))
            .filter_map(|(id, _)| Some((definition.vocab.text(id)?.as_bytes(), id)));
        Self {
            trie: Trie::new(found),
            scores: scores.collect(),
            unk: definition.unk,
            unk_score: worst - UNK_PENALTY,
        }
    }

    pub fn parts(&self, text: &str, best: &mut Vec<Best>, out: &mut Vec<Part>) {
        best.clear();
        best.resize(text.len() + 1, NOWHERE);
        for (start, c) in text.char_indices() {
            let here = self.start_again(best, start);
            let mut has_single = false;
            let rest = text.as_bytes().get(start..).unwrap_or_default();
            self.trie.prefixes(rest, |length, id| {
                let score = match self.scores.get(id as usize) {
                    Some(Score::UserDefined) => user_defined_score(length),
                    Some(Score::Of(score)) => *score,
                    None => return,
                };
                improve(best, start, length, score + here, id);
                has_single |= length == c.len_utf8();
            });
            if !has_single {
                improve(best, start, c.len_utf8(), self.unk_score + here, self.unk);
            }
        }
        let first = out.len();
        let mut end = text.len();
        while let Some(last) = best.get(end).filter(|best| best.start != UNREACHED) {
            let start = last.start as usize;
            out.push(Part { start: last.start, end: end as u32, id: last.id });
            end = start;
        }
        out.get_mut(first..).unwrap_or_default().reverse();
    }
}

impl Unigram {
    /// The score of the way to `start`. A large one has no room left for small differences, so the
    /// reference counts from nothing again: this place and all that were reached beyond it.
    fn start_again(&self, best: &mut [Best], start: usize) -> f32 {
        let here = best.get(start).map_or(0.0, |best| best.score);
        if here.abs() <= FAR {
            return here;
        }
        let reach = self.trie.longest().max(char::MAX.len_utf8());
        let beyond = best.get_mut(start..).unwrap_or_default().iter_mut().take(reach + 1);
        for place in beyond.filter(|place| place.start != UNREACHED) {
            place.score -= here;
        }
        0.0
    }
}

/// A tenth for each byte but the first: better than what it could be cut into, and the longer the
/// better. Measured on sentencepiece 0.2.3; older versions had another rule.
fn user_defined_score(length: usize) -> f32 {
    (length.saturating_sub(1) as f64 * 0.1) as f32
}

#[inline]
fn improve(best: &mut [Best], start: usize, length: usize, score: f32, id: u32) {
    let Some(best) = best.get_mut(start + length) else { return };
    if best.start == UNREACHED || score > best.score {
        *best = Best { score, start: start as u32, id };
    }
}
