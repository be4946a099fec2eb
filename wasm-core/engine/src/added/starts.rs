//! Where an added token may begin, for sets of tokens that the automaton has no quick way to pass
//! over text for: those that begin with more than three different bytes.

use crate::simd::block::{Block, WIDTH};
use aho_corasick::{AhoCorasick, Anchored, Input, Match, PatternID};

/// How many different first bytes are looked for together.
const MOST: usize = 8;
/// With so few of them the automaton itself passes over text quickly.
const FEWEST: usize = 4;

#[derive(Debug)]
pub struct Starts {
    firsts: Vec<u8>,
    /// The first two bytes, one bit each: most places where a token could begin end here.
    pairs: Box<[u64; 1024]>,
    runs: Vec<(u8, Vec<PatternID>)>,
}

impl Starts {
    /// `None`: leave it to the automaton.
    pub fn new(tokens: &[&str]) -> Option<Self> {
        let mut starts =
            Self { firsts: Vec::new(), pairs: Box::new([0; 1024]), runs: runs(tokens) };
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

    /// The first place from `window.from` on where a token may begin.
    #[inline(always)]
    fn next(&self, text: &[u8], window: &mut Window) -> Option<usize> {
        loop {
            while window.found != 0 {
                let place = window.base + window.found.trailing_zeros() as usize;
                window.found &= window.found - 1;
                if place >= window.from && self.may_begin(text, place) {
                    return Some(place);
                }
            }
            window.base = window.ahead.max(window.from);
            window.ahead = window.base;
            let Some(bytes) = text.get(window.base..).and_then(<[u8]>::first_chunk::<WIDTH>) else {
                return (window.base..text.len()).find(|&at| self.may_begin(text, at));
            };
            window.ahead += WIDTH;
            let block = Block::load(bytes);
            window.found = self.firsts.iter().fold(0, |mask, &first| mask | block.equal(first));
        }
    }

    /// What the automaton, which takes the longest of the leftmost, finds in `text`.
    pub fn find<'a>(
        &'a self,
        automaton: &'a AhoCorasick,
        text: &'a str,
    ) -> impl Iterator<Item = Match> + 'a {
        let mut window = Window::default();
        std::iter::from_fn(move || {
            while let Some(place) = self.next(text.as_bytes(), &mut window) {
                let found = match self.run(text.as_bytes(), place) {
                    Some(run) => Some(run),
                    None => {
                        let input = Input::new(text).span(place..text.len());
                        automaton.find(input.anchored(Anchored::Yes))
                    }
                };
                window.from = found.map_or(place + 1, |found| found.end());
                if found.is_some() {
                    return found;
                }
            }
            None
        })
    }

    /// The token at this place, if tokens with its first byte are nothing but rows of that.
    #[inline(always)]
    fn run(&self, text: &[u8], place: usize) -> Option<Match> {
        let first = *text.get(place)?;
        let (_, tokens) = self.runs.iter().find(|(byte, _)| *byte == first)?;
        let rest = text.get(place..)?.iter().take(tokens.len());
        let length = rest.take_while(|byte| **byte == first).count();
        let token = *tokens.get(length.checked_sub(1)?)?;
        Some(Match::new(token, place..place + length))
    }
}

/// How far a search has come.
#[derive(Default)]
struct Window {
    /// Nothing before this is wanted.
    from: usize,
    /// Where the bytes begin that were looked at together last.
    base: usize,
    /// Where they end.
    ahead: usize,
    /// Which of them may begin a token and were not looked at since.
    found: u64,
}

/// First bytes that begin nothing but rows of themselves, of each length up to some: with the tokens
/// by length. Line breaks are such, and where they are tokens they are most of what is found.
fn runs(tokens: &[&str]) -> Vec<(u8, Vec<PatternID>)> {
    let mut runs: Vec<(u8, Vec<PatternID>)> = Vec::new();
    for first in [b'\n', b'\t'] {
        let mut lengths: Vec<(usize, PatternID)> = Vec::new();
        let mut own =
            tokens.iter().enumerate().filter(|(_, token)| token.as_bytes().first() == Some(&first));
        let all = own.all(|(number, token)| {
            let id =
                PatternID::new(number).ok().filter(|_| token.bytes().all(|byte| byte == first));
            lengths.extend(id.map(|id| (token.len(), id)));
            id.is_some()
        });
        lengths.sort_unstable();
        if all
            && !lengths.is_empty()
            && lengths.iter().zip(1..).all(|((length, _), n)| *length == n)
        {
            runs.push((first, lengths.into_iter().map(|(_, id)| id).collect()));
        }
    }
    runs
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
        let (mut matches, mut used, mut rows) = (0, 0, 0);
        for _ in 0..400 {
            let mut tokens: Vec<String> = (0..1 + random.below(12))
                .map(|_| {
                    let length = 1 + random.below(3);
                    text(&mut random, length)
                })
                .collect();
            // Rows of each length, beside which other tokens may begin with the same.
            if random.below(2) == 0 {
                tokens.retain(|token| !token.starts_with('\n') || random.below(9) == 0);
                tokens.extend((1..2 + random.below(4)).map(|length| "\n".repeat(length)));
                let at = random.below(tokens.len());
                tokens.rotate_left(at);
            }
            let names: Vec<&str> = tokens.iter().map(String::as_str).collect();
            let Some(starts) = Starts::new(&names) else { continue };
            used += 1;
            rows += starts.runs.len();
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
        assert!(used > 100 && rows > 50 && matches > 10_000, "{used} {rows} {matches}");
    }

    #[test]
    fn few_or_many_first_bytes_are_left_to_the_automaton() {
        assert!(Starts::new(&["<a", "<b", "[c"]).is_none());
        assert!(Starts::new(&["a", "b", "c", "d", "e", "f", "g", "h", "i"]).is_none());
        assert!(Starts::new(&["a", "b", "", "d", "e"]).is_none());
    }
}
