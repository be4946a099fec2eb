//! Where an added token may begin, for sets of tokens that the automaton has no quick way to pass
//! over text for: those that begin with more than three different bytes.

use crate::split::scan::lanes::{Block, WIDTH};
use aho_corasick::{AhoCorasick, Anchored, Input, Match};

/// How many different first bytes are looked for together.
const MOST: usize = 8;
/// With so few of them the automaton itself passes over text quickly.
const FEWEST: usize = 4;

#[derive(Debug)]
pub struct Starts {
    firsts: Vec<u8>,
    /// The first two bytes, one bit each: most places where a token could begin end here.
    pairs: Box<[u64; 1024]>,
}

impl Starts {
    /// `None`: leave it to the automaton.
    pub fn new<'a>(tokens: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut starts = Self { firsts: Vec::new(), pairs: Box::new([0; 1024]) };
        for token in tokens {
            let (&first, rest) = token.as_bytes().split_first()?;
            if !starts.firsts.contains(&first) {
                starts.firsts.push(first);
            }
            match rest.first() {
                Some(&second) => starts.insert(first, second),
                None => (0..=255).for_each(|second| starts.insert(first, second)),
            }
        }
        (FEWEST..=MOST).contains(&starts.firsts.len()).then_some(starts)
    }

    fn insert(&mut self, first: u8, second: u8) {
        let (word, bit) = place(first, second);
        self.pairs[word & 1023] |= bit;
    }

    #[inline(always)]
    fn may_begin(&self, text: &[u8], at: usize) -> bool {
        let Some(&first) = text.get(at) else { return false };
        // The end of the text stands for any byte: the automaton decides there.
        let Some(&second) = text.get(at + 1) else { return true };
        let (word, bit) = place(first, second);
        self.pairs[word & 1023] & bit != 0
    }

    /// The first place from `from` on where a token may begin.
    fn next(&self, text: &[u8], from: usize) -> Option<usize> {
        let mut at = from;
        while let Some(window) = text.get(at..).and_then(<[u8]>::first_chunk::<WIDTH>) {
            let block = Block::load(window);
            let mut found = self.firsts.iter().fold(0, |mask, &first| mask | block.equal(first));
            while found != 0 {
                let place = at + found.trailing_zeros() as usize;
                if self.may_begin(text, place) {
                    return Some(place);
                }
                found &= found - 1;
            }
            at += WIDTH;
        }
        (at..text.len()).find(|&at| self.may_begin(text, at))
    }

    /// What the automaton, which takes the longest of the leftmost, finds in `text`.
    pub fn find<'a>(
        &'a self,
        automaton: &'a AhoCorasick,
        text: &'a str,
    ) -> impl Iterator<Item = Match> + 'a {
        let mut from = 0;
        std::iter::from_fn(move || {
            while let Some(place) = self.next(text.as_bytes(), from) {
                let input = Input::new(text).span(place..text.len()).anchored(Anchored::Yes);
                if let Some(found) = automaton.find(input) {
                    from = found.end();
                    return Some(found);
                }
                from = place + 1;
            }
            None
        })
    }
}

#[inline(always)]
fn place(first: u8, second: u8) -> (usize, u64) {
    let pair = usize::from(first) << 8 | usize::from(second);
    (pair >> 6, 1 << (pair & 63))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::random::Random;
    use aho_corasick::{MatchKind, StartKind};

    #[test]
    fn finds_what_the_automaton_finds() {
        let mut random = Random::new(91);
        let alphabet = ["<", "<u", "\n", "\t", "▁", "[", "a", " ", "é", "x>", "▂"];
        let text = |random: &mut Random, length: usize| -> String {
            (0..length).map(|_| *random.pick(&alphabet)).collect()
        };
        let (mut matches, mut used) = (0, 0);
        for _ in 0..400 {
            let tokens: Vec<String> = (0..1 + random.below(12))
                .map(|_| {
                    let length = 1 + random.below(3);
                    text(&mut random, length)
                })
                .collect();
            let Some(starts) = Starts::new(tokens.iter().map(String::as_str)) else { continue };
            used += 1;
            let automaton = AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .start_kind(StartKind::Both)
                .build(&tokens)
                .unwrap();
            for _ in 0..40 {
                let length = random.below(200);
                let text = text(&mut random, length);
                let expected: Vec<_> = automaton.find_iter(&text).collect();
                let got: Vec<_> = starts.find(&automaton, &text).collect();
                assert_eq!(got, expected, "{tokens:?} {text:?}");
                matches += got.len();
            }
        }
        assert!(used > 100 && matches > 10_000, "{used} {matches}");
    }

    #[test]
    fn few_or_many_first_bytes_are_left_to_the_automaton() {
        assert!(Starts::new(["<a", "<b", "[c"].into_iter()).is_none());
        assert!(Starts::new(["a", "b", "c", "d", "e", "f", "g", "h", "i"].into_iter()).is_none());
        assert!(Starts::new(["a", "b", "", "d", "e"].into_iter()).is_none());
    }
}
