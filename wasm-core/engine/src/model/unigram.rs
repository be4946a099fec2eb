//! The most probable sequence of pieces, as HuggingFace computes it.
//!
//! Scores are added up from left to right in double precision. Of two ways that are equally good
//! the one stays that was found first: that whose last piece begins further left. A character
//! without a piece of its own may be unknown, at ten less than the lowest score of all; unknown
//! neighbours become one token, and what they spell together is looked up once more.

use super::token::Token;
use super::trie::Trie;
use crate::definition::Unigram as Definition;
use crate::error::{Error, ErrorKind, Result};
use crate::vocab::Vocab;
use std::ops::Range;

/// How much worse than the worst piece an unknown character is.
pub const UNKNOWN_PENALTY: f64 = 10.0;

const NOWHERE: u32 = u32::MAX;

#[derive(Debug)]
pub struct Unigram {
    pub vocab: Vocab,
    trie: Trie,
    /// By id.
    scores: Vec<f64>,
    unk: Option<u32>,
    unk_score: f64,
    /// Ids of `<0x00>` to `<0xFF>`, where unknown text is spelled in bytes.
    bytes: Option<Box<[Option<u32>; 256]>>,
}

/// The best way to a place in the piece: its score, its last token, and where that begins.
#[derive(Debug, Clone, Copy)]
struct Step {
    score: f64,
    id: u32,
    start: u32,
}

const UNREACHED: Step = Step { score: 0.0, id: 0, start: NOWHERE };

/// What encoding writes to, kept from call to call.
#[derive(Debug, Default)]
pub struct UnigramScratch {
    /// One for each byte, and one for the end.
    steps: Vec<Step>,
    tokens: Vec<Token>,
}

/// More steps than this are given back after the piece that asked for them.
const KEPT_STEPS: usize = 1 << 16;

impl Unigram {
    pub fn new(definition: Definition) -> Self {
        let Definition { vocab, scores, unk, byte_fallback } = definition;
        let trie = Trie::new(vocab.iter().map(|(text, id)| (text.as_bytes(), id)));
        let lowest = scores.iter().copied().fold(f64::INFINITY, f64::min);
        let bytes = byte_fallback.then(|| {
            let mut ids = Box::new([None; 256]);
            for (byte, id) in ids.iter_mut().enumerate() {
                *id = vocab.id(&format!("<0x{byte:02X}>"));
            }
            ids
        });
        Self { vocab, trie, scores, unk, unk_score: lowest - UNKNOWN_PENALTY, bytes }
    }

    /// As many as the file lists, equal ones counted too.
    pub fn size(&self) -> usize {
        self.scores.len()
    }

    pub fn ids(&self, scratch: &mut UnigramScratch, piece: &str, out: &mut Vec<u32>) -> Result<()> {
        let mut tokens = std::mem::take(&mut scratch.tokens);
        tokens.clear();
        let outcome = self.tokens(scratch, piece, &mut tokens);
        out.extend(tokens.iter().map(|token| token.id));
        scratch.tokens = tokens;
        outcome
    }

    pub fn tokens(
        &self,
        scratch: &mut UnigramScratch,
        piece: &str,
        out: &mut Vec<Token>,
    ) -> Result<()> {
        self.permitted_tokens(scratch, piece, |_, _| true, out)
    }

    /// The same as if the vocabulary had a piece only where `permits` says so: with its id and the
    /// bytes of the text that it would cover. Characters may be unknown everywhere.
    pub fn permitted_tokens(
        &self,
        scratch: &mut UnigramScratch,
        piece: &str,
        permits: impl Fn(u32, Range<usize>) -> bool,
        out: &mut Vec<Token>,
    ) -> Result<()> {
        self.find_best(&mut scratch.steps, piece, &permits)?;
        let first = out.len();
        self.walk_back(&scratch.steps, piece, &permits, out)?;
        if let Some(new) = out.get_mut(first..) {
            new.reverse();
        }
        if scratch.steps.capacity() > KEPT_STEPS {
            scratch.steps = Vec::new();
        }
        Ok(())
    }

    /// The text of a token of `piece`: an unknown one keeps what it stands for.
    pub fn text<'a>(&'a self, token: Token, piece: &'a str) -> &'a str {
        if Some(token.id) == self.unk {
            return piece.get(token.start as usize..token.end as usize).unwrap_or_default();
        }
        self.vocab.text(token.id).unwrap_or_default()
    }

    #[inline]
    fn find_best(
        &self,
        steps: &mut Vec<Step>,
        piece: &str,
        permits: &impl Fn(u32, Range<usize>) -> bool,
    ) -> Result<()> {
        steps.clear();
        let places = piece.len() + 1;
        steps.try_reserve(places).map_err(|_| {
            Error::new(
                ErrorKind::OutOfMemory,
                format!("no memory for a piece of {} bytes", piece.len()),
            )
        })?;
        steps.resize(places, UNREACHED);
        for (start, c) in piece.char_indices() {
            let score_here = steps.get(start).map_or(0.0, |step| step.score);
            let rest = piece.as_bytes().get(start..).unwrap_or_default();
            let mut has_single = false;
            self.trie.prefixes(rest, |length, id| {
                if !permits(id, start..start + length) {
                    return;
                }
                let score = self.scores.get(id as usize).copied().unwrap_or_default() + score_here;
                if let Some(step) = steps.get_mut(start + length) {
                    if step.start == NOWHERE || score > step.score {
                        *step = Step { score, id, start: start as u32 };
                    }
                }
                has_single |= length == c.len_utf8();
            });
            if has_single {
                continue;
            }
            let score = self.unk_score + score_here;
            if let Some(step) = steps.get_mut(start + c.len_utf8()) {
                if step.start == NOWHERE || score > step.score {
                    *step =
                        Step { score, id: self.unk.ok_or_else(no_unknown)?, start: start as u32 };
                }
            }
        }
        Ok(())
    }

    /// Appends the tokens of the best way, last one first.
    fn walk_back(
        &self,
        steps: &[Step],
        piece: &str,
        permits: &impl Fn(u32, Range<usize>) -> bool,
        out: &mut Vec<Token>,
    ) -> Result<()> {
        let mut end = piece.len();
        // Where the unknown characters end that have been passed last.
        let mut unknown_end = None;
        while end > 0 {
            let step = steps.get(end).copied().unwrap_or(UNREACHED);
            let start = step.start as usize;
            if start >= end {
                return Err(Error::internal("the best way through a piece has a gap"));
            }
            if Some(step.id) == self.unk {
                unknown_end.get_or_insert(end);
            } else {
                if let Some(unknown_end) = unknown_end.take() {
                    self.push_unknown(piece, end..unknown_end, permits, out)?;
                }
                out.push(Token { id: step.id, start: step.start, end: end as u32 });
            }
            end = start;
        }
        if let Some(unknown_end) = unknown_end {
            self.push_unknown(piece, 0..unknown_end, permits, out)?;
        }
        Ok(())
    }

    /// What stands in for unknown text: a token that it happens to be, its bytes, or the unknown
    /// token. Each byte covers all of the text.
    fn push_unknown(
        &self,
        piece: &str,
        range: Range<usize>,
        permits: &impl Fn(u32, Range<usize>) -> bool,
        out: &mut Vec<Token>,
    ) -> Result<()> {
        let text = piece.get(range.clone()).unwrap_or_default();
        let (start, end) = (range.start as u32, range.end as u32);
        if let Some(id) = self.vocab.id(text).filter(|&id| permits(id, range)) {
            out.push(Token { id, start, end });
            return Ok(());
        }
        if let Some(bytes) = &self.bytes {
            let id = |byte: u8| bytes.get(usize::from(byte)).copied().flatten();
            if text.bytes().all(|byte| id(byte).is_some()) {
                let ids = text.bytes().rev().filter_map(id);
                out.extend(ids.map(|id| Token { id, start, end }));
                return Ok(());
            }
        }
        out.push(Token { id: self.unk.ok_or_else(no_unknown)?, start, end });
        Ok(())
    }
}

fn no_unknown() -> Error {
    Error::unsupported(
        "model:unk_id",
        "the text has an unknown character, and the file has no unk_id for it",
    )
    .at_path("$.model.unk_id")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::random::Random;
    use crate::oracle::unigram::unigram_slowly;

    fn definition(pieces: &[(String, f64)], unk: Option<u32>, byte_fallback: bool) -> Definition {
        let mut vocab = Vocab::new();
        for (id, (text, _)) in (0..).zip(pieces) {
            vocab.insert(text, id).unwrap();
        }
        let scores = pieces.iter().map(|piece| piece.1).collect();
        Definition { vocab, scores, unk, byte_fallback }
    }

    #[test]
    fn a_piece_that_is_not_permitted_is_as_if_it_were_not_listed() {
        const LETTERS: [&str; 4] = ["a", "b", "é", "x"];
        let mut random = Random::new(13);
        for round in 0..400 {
            let mut pieces = vec![("<unk>".to_owned(), 0.0)];
            for _ in 0..random.below(20) {
                let text: String = (0..=random.below(4)).map(|_| *random.pick(&LETTERS)).collect();
                if pieces.iter().all(|piece| piece.0 != text) {
                    pieces.push((text, *random.pick(&[-1.0, -2.0, -0.5])));
                }
            }
            // The worst score, which the unknown's comes from, stays in the list.
            pieces.push(("zz".to_owned(), -3.0));
            let refused: Vec<u32> =
                (1..pieces.len() as u32 - 1).filter(|_| random.below(3) == 0).collect();
            let model = Unigram::new(definition(&pieces, Some(0), false));
            // An entry that no text has stands where a refused one was.
            let mut without = pieces.clone();
            for &id in &refused {
                without[id as usize].0 = format!("Z{id}");
            }
            let without = Unigram::new(definition(&without, Some(0), false));
            for _ in 0..25 {
                let text: String = (0..random.below(9)).map(|_| *random.pick(&LETTERS)).collect();
                let (mut got, mut expected) = (Vec::new(), Vec::new());
                let mut scratch = UnigramScratch::default();
                let permits = |id, _| !refused.contains(&id);
                model.permitted_tokens(&mut scratch, &text, permits, &mut got).unwrap();
                without.tokens(&mut scratch, &text, &mut expected).unwrap();
                assert_eq!(got, expected, "{round}: {text:?} {pieces:?} without {refused:?}");
            }
        }
    }

    fn texts(pieces: &[(&str, f64)], unk: Option<u32>, text: &str) -> Vec<String> {
        let pieces: Vec<_> =
            pieces.iter().map(|(text, score)| (text.to_string(), *score)).collect();
        let model = Unigram::new(definition(&pieces, unk, false));
        let mut tokens = Vec::new();
        model.tokens(&mut UnigramScratch::default(), text, &mut tokens).unwrap();
        tokens.iter().map(|token| model.text(*token, text).to_owned()).collect()
    }

    #[test]
    fn the_best_way_wins_and_unknown_characters_fuse() {
        let pieces = [
            ("<unk>", 0.0),
            ("a", 0.0),
            ("b", 0.0),
            ("c", 0.0),
            ("d", 0.0),
            ("cd", 1.0),
            ("ab", 2.0),
            ("abc", 5.0),
            ("abcd", 10.0),
        ];
        assert_eq!(texts(&pieces, Some(0), "abcdacdxx"), ["abcd", "a", "cd", "xx"]);
        assert_eq!(texts(&pieces, Some(0), "x<unk>y"), ["x<unk>y"]);
        assert_eq!(texts(&pieces, Some(0), ""), Vec::<String>::new());
    }

    #[test]
    fn of_equal_ways_the_one_with_the_longer_last_piece_stays() {
        let pieces = [("a", -1.0), ("aa", -2.0), ("<unk>", 0.0)];
        assert_eq!(texts(&pieces, Some(2), "aaa"), ["a", "aa"]);
    }

    #[test]
    fn a_missing_unknown_token_fails_only_where_it_is_needed() {
        let pieces = [("a".to_owned(), -1.0)];
        let model = Unigram::new(definition(&pieces, None, false));
        let mut scratch = UnigramScratch::default();
        let mut ids = Vec::new();
        model.ids(&mut scratch, "aa", &mut ids).unwrap();
        assert_eq!(ids, [0, 0]);
        let error = model.ids(&mut scratch, "ab", &mut ids).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unsupported);
    }

    #[test]
    fn finds_what_trying_every_way_finds() {
        const LETTERS: [&str; 5] = ["a", "b", "é", "中", "x"];
        let mut random = Random::new(7);
        for round in 0..600 {
            let mut pieces = vec![("<unk>".to_owned(), 0.0)];
            // Few scores: ties are what this is about. Positive ones make unknown text tempting.
            let scores = *random.pick(&[
                [-1.0, -2.0, -3.0, -0.5],
                [50.0, 51.0, 0.1, 0.2],
                [-0.1, -0.2, -0.3, -0.4],
            ]);
            for _ in 0..random.below(25) {
                let text = (0..=random.below(4)).map(|_| *random.pick(&LETTERS)).collect();
                pieces.push((text, *random.pick(&scores)));
            }
            if random.below(3) == 0 {
                pieces.extend((0..255).map(|byte| (format!("<0x{byte:02X}>"), -9.0)));
            }
            let definition = || definition(&pieces, Some(0), round % 2 == 0);
            let (model, slow) = (Unigram::new(definition()), definition());
            let mut scratch = UnigramScratch::default();
            for _ in 0..25 {
                let text: String = (0..random.below(9)).map(|_| *random.pick(&LETTERS)).collect();
                let mut tokens = Vec::new();
                model.tokens(&mut scratch, &text, &mut tokens).unwrap();
                assert_eq!(tokens, unigram_slowly(&slow, &text), "{round}: {text:?} {pieces:?}");
                let mut ids = Vec::new();
                model.ids(&mut scratch, &text, &mut ids).unwrap();
                assert!(ids.iter().eq(tokens.iter().map(|token| &token.id)));
            }
        }
    }
}
