//! Cutting tokens out of a text in llama.cpp's order: the longest token everywhere first, then the
//! next longest in what is left.
//!
//! One pass of an automaton says which tokens occur at all; usually those are few, and only they
//! are looked for one after the other.

use crate::added::Segment;
use crate::definition::AddedToken;
use crate::error::{Error, Result};
use aho_corasick::{AhoCorasick, MatchKind};
use memchr::memmem;
use std::ops::Range;

#[derive(Debug)]
pub struct Partition {
    automaton: AhoCorasick,
    /// The longest first; of equal length the smaller id.
    tokens: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    content: String,
    id: u32,
    special: bool,
    lstrip: bool,
    rstrip: bool,
}

impl Partition {
    /// `None`: there is nothing to cut out.
    pub fn new<'a>(tokens: impl Iterator<Item = (&'a AddedToken, u32)>) -> Result<Option<Self>> {
        let mut tokens: Vec<Part> = tokens
            .filter(|(token, _)| token.in_text && !token.content.is_empty())
            .map(|(token, id)| Part {
                content: token.content.clone(),
                id,
                special: token.special,
                lstrip: token.lstrip,
                rstrip: token.rstrip,
            })
            .collect();
        tokens.sort_by_key(|token| (std::cmp::Reverse(token.content.len()), token.id));
        if tokens.is_empty() {
            return Ok(None);
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .build(tokens.iter().map(|token| &token.content))
            .map_err(|error| Error::limit(format!("too many special tokens: {error}")))?;
        Ok(Some(Self { automaton, tokens }))
    }

    /// Cuts `text`. Without `special`, special tokens are text like any other.
    pub fn cut(&self, text: &str, special: bool, out: &mut Vec<Segment>) {
        self.cut_where(text, |token| special || !token.special, |_, _| true, out);
    }

    /// Cuts `text`, as if a token were there only where `permits` says so: with its id and the bytes
    /// that are its content.
    pub fn cut_permitted(
        &self,
        text: &str,
        permits: impl Fn(u32, Range<usize>) -> bool,
        out: &mut Vec<Segment>,
    ) {
        self.cut_where(text, |_| true, permits, out);
    }

    fn cut_where(
        &self,
        text: &str,
        wanted: impl Fn(&Part) -> bool,
        permits: impl Fn(u32, Range<usize>) -> bool,
        out: &mut Vec<Segment>,
    ) {
        out.clear();
        if text.is_empty() {
            return;
        }
        out.push(Segment { start: 0, end: text.len(), id: None });
        if !self.automaton.is_match(text) {
            return;
        }
        let mut occurs = vec![false; self.tokens.len()];
        for found in self.automaton.find_overlapping_iter(text) {
            if let Some(place) = occurs.get_mut(found.pattern().as_usize()) {
                *place = true;
            }
        }
        let occurring = self.tokens.iter().zip(occurs).filter(|(_, occurs)| *occurs);
        for (token, _) in occurring.filter(|(token, _)| wanted(token)) {
            let finder = memmem::Finder::new(&token.content);
            let mut cut = Vec::with_capacity(out.len());
            for segment in out.drain(..) {
                match segment.id {
                    Some(_) => cut.push(segment),
                    None => token.cut(&finder, text, segment, &permits, &mut cut),
                }
            }
            *out = cut;
        }
    }
}

impl Part {
    /// Cuts this token out of one stretch of text.
    fn cut(
        &self,
        finder: &memmem::Finder,
        text: &str,
        stretch: Segment,
        permits: &impl Fn(u32, Range<usize>) -> bool,
        out: &mut Vec<Segment>,
    ) {
        let mut done = stretch.start;
        let mut searched = done;
        let bytes = text.as_bytes();
        let part = |start, end| bytes.get(start..end).unwrap_or_default();
        while let Some(at) = finder.find(part(searched, stretch.end)) {
            let (mut start, mut end) = (searched + at, searched + at + self.content.len());
            if !permits(self.id, start..end) {
                searched = start + 1;
                continue;
            }
            if self.lstrip {
                start = done + trim_end(part(done, start));
            }
            if self.rstrip {
                end += part(end, stretch.end).iter().take_while(|&&b| is_space(b)).count();
            }
            if done < start {
                out.push(Segment { start: done, end: start, id: None });
            }
            out.push(Segment { start, end, id: Some(self.id) });
            (done, searched) = (end, end);
        }
        if done < stretch.end {
            out.push(Segment { start: done, end: stretch.end, id: None });
        }
    }
}

fn trim_end(bytes: &[u8]) -> usize {
    bytes.len() - bytes.iter().rev().take_while(|&&b| is_space(b)).count()
}

/// `isspace` of C.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0B | 0x0C | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(content: &str, special: bool) -> AddedToken {
        AddedToken {
            id: 0,
            content: content.into(),
            single_word: false,
            lstrip: false,
            rstrip: false,
            normalized: false,
            special,
            in_text: true,
        }
    }

    fn cut(tokens: &[AddedToken], text: &str, special: bool) -> Vec<(usize, usize, Option<u32>)> {
        let partition = Partition::new(tokens.iter().zip(0..)).unwrap().unwrap();
        let mut out = Vec::new();
        partition.cut(text, special, &mut out);
        out.iter().map(|s| (s.start, s.end, s.id)).collect()
    }

    #[test]
    fn the_longest_wins_wherever_it_stands() {
        let tokens = [token("ab", true), token("bcd", true)];
        assert_eq!(cut(&tokens, "abcd", true), [(0, 1, None), (1, 4, Some(1))]);
        assert_eq!(cut(&tokens, "abab", true), [(0, 2, Some(0)), (2, 4, Some(0))]);
        assert_eq!(cut(&tokens, "", true), []);
    }

    #[test]
    fn user_defined_tokens_are_found_in_any_case() {
        let tokens = [token("<s>", true), token("<t>", false)];
        assert_eq!(cut(&tokens, "<s><t>", false), [(0, 3, None), (3, 6, Some(1))]);
        assert_eq!(cut(&tokens, "<s><t>", true), [(0, 3, Some(0)), (3, 6, Some(1))]);
    }

    #[test]
    fn only_the_white_space_of_ascii_is_taken_along() {
        let tokens = [
            AddedToken { rstrip: true, ..token("R", true) },
            AddedToken { lstrip: true, ..token("LL", true) },
        ];
        assert_eq!(cut(&tokens, "R \n\u{3000}a", true), [(0, 3, Some(0)), (3, 7, None)]);
        assert_eq!(
            cut(&tokens, "a  LL R", true),
            [(0, 1, None), (1, 5, Some(1)), (5, 6, None), (6, 7, Some(0))]
        );
        assert_eq!(cut(&tokens, "R  ", true), [(0, 3, Some(0))]);
    }
}
