//! Added tokens: found in the text before the model sees it.
//!
//! Two automata look for them: one in the text as it came, one in each stretch in between after
//! normalisation. The reference's rules for what surrounds a match (`lstrip`, `rstrip`,
//! `single_word`) are followed to the letter, also where they make two matches overlap.

mod control;
pub mod guard;
mod partition;
mod starts;

use crate::added::partition::Partition;
use crate::cuts::edges::Edges;
use crate::definition::AddedToken;
use crate::error::{Error, Result};
use crate::unicode::is_rust_word;
use crate::vocab::Vocab;
use aho_corasick::{AhoCorasick, AhoCorasickKind, Match, MatchKind, StartKind};
use starts::Starts;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::OnceLock;

/// Longer tokens than this, in bytes, are of no real file.
const LONG: usize = 1024;

/// A stretch of text, or a token found in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    pub start: usize,
    pub end: usize,
    pub id: Option<u32>,
}

#[derive(Debug)]
struct Known {
    token: AddedToken,
    id: u32,
    /// The content after normalisation, of the last token with this id that normalisation changes:
    /// what is matched if this one is normalized, and what decoding starts from.
    normalized: Option<String>,
}

impl Known {
    fn text(&self) -> &str {
        self.normalized.as_deref().unwrap_or(&self.token.content)
    }

    fn matched(&self) -> &str {
        if self.token.normalized {
            self.text()
        } else {
            &self.token.content
        }
    }
}

fn content(known: &Known) -> (&AddedToken, &str) {
    (&known.token, &known.token.content)
}

#[derive(Debug, Default)]
struct FirstBytes([u64; 4]);

impl FirstBytes {
    fn insert(&mut self, text: &str) {
        let first = text.bytes().next().unwrap_or_default();
        if let Some(word) = self.0.get_mut(usize::from(first >> 6)) {
            *word |= 1 << (first & 63);
        }
    }

    fn may_have(&self, text: &str) -> bool {
        let first = text.bytes().next().unwrap_or_default();
        self.0.get(usize::from(first >> 6)).is_some_and(|word| word >> (first & 63) & 1 == 1)
    }
}

#[derive(Debug, Default)]
pub struct AddedTokens {
    known: Vec<Known>,
    ids_as_stated: bool,
    by_content: HashMap<String, u32>,
    by_id: HashMap<u32, usize>,
    special: HashSet<String>,
    /// First bytes of all contents: nearly every token of a vocabulary begins with another one.
    first_bytes: FirstBytes,
    raw: Option<Matcher>,
    normalized: Option<Matcher>,
    raw_edges: Edges,
    normalized_edges: Edges,
    /// Instead of the two, where the longest token is cut out first.
    partition: Option<Partition>,
}

impl AddedTokens {
    /// `first_free`: the id from which on tokens are numbered that neither the file nor the
    /// vocabulary gives one.
    pub fn new(
        definitions: &[AddedToken],
        ids_as_stated: bool,
        vocab: &Vocab,
        first_free: usize,
        normalize: impl Fn(&str) -> Result<String>,
    ) -> Result<Self> {
        let mut added = Self { ids_as_stated, ..Self::default() };
        // A token that the model does not know is numbered behind the model's, in the order of the
        // file; the id that the file states is not asked, as in the reference.
        let too_many = || Error::limit("more tokens than ids");
        let mut next_id = u32::try_from(first_free).map_err(|_| too_many())?;
        for definition in definitions {
            if definition.content.is_empty() {
                continue;
            }
            let known = match ids_as_stated {
                true => Some(definition.id),
                false => added.by_content.get(&definition.content).copied(),
            };
            let id = match known.or_else(|| vocab.id(&definition.content)) {
                Some(id) => id,
                None => {
                    let id = next_id;
                    next_id = next_id.checked_add(1).ok_or_else(too_many)?;
                    id
                }
            };
            let normalized = match definition.normalized {
                true => {
                    Some(normalize(&definition.content)?).filter(|text| *text != definition.content)
                }
                false => None,
            };
            added.by_content.insert(definition.content.clone(), id);
            added.first_bytes.insert(&definition.content);
            if definition.special {
                added.special.insert(definition.content.clone());
            }
            let mut entry = Known { token: definition.clone(), id, normalized };
            let before = added.by_id.get(&id).and_then(|&at| added.known.get_mut(at));
            match before {
                // Where ids are stated, one id may have two names, of which it decodes to the last.
                Some(place) if !ids_as_stated || place.token.content == entry.token.content => {
                    entry.normalized = entry.normalized.or(place.normalized.take());
                    *place = entry;
                }
                _ => {
                    added.by_id.insert(id, added.known.len());
                    added.known.push(entry);
                }
            }
        }
        added.raw = Matcher::new(&added.known, false)?;
        added.normalized = Matcher::new(&added.known, true)?;
        added.raw_edges = added.edges(false);
        added.normalized_edges = added.edges(true);
        Ok(added)
    }

    /// The same tokens, but cut out of a text in llama.cpp's order.
    pub fn longest_first(self) -> Result<Self> {
        let partition = Partition::new(self.iter())?;
        // All of them are cut out of the text as it came.
        let edges = Edges::new(self.known.iter().filter(|known| known.token.in_text).map(content));
        let (raw_edges, normalized_edges) = (edges, Edges::default());
        Ok(Self { raw: None, normalized: None, partition, raw_edges, normalized_edges, ..self })
    }

    /// What is found in the text as it came, at its ends and inside.
    pub fn raw_edges(&self) -> &Edges {
        &self.raw_edges
    }

    /// The same for what is found in normalised text.
    pub fn normalized_edges(&self) -> &Edges {
        &self.normalized_edges
    }

    fn edges(&self, normalized: bool) -> Edges {
        let known = self.known.iter();
        let found = known.filter(|one| one.token.in_text && one.token.normalized == normalized);
        Edges::new(found.map(|one| (&one.token, one.matched())))
    }

    pub fn matches_raw(&self) -> bool {
        self.raw.is_some() || self.partition.is_some()
    }

    pub fn matches_normalized(&self) -> bool {
        self.normalized.is_some()
    }

    /// Cuts the text as it came. Without `special`, special tokens are text like any other.
    pub fn find_raw(&self, text: &str, special: bool, out: &mut Vec<Segment>) {
        match &self.partition {
            Some(partition) => partition.cut(text, special, out),
            None => self.find(self.raw.as_ref(), text, special, out),
        }
    }

    /// Cuts a stretch of normalised text.
    pub fn find_normalized(&self, text: &str, special: bool, out: &mut Vec<Segment>) {
        self.find(self.normalized.as_ref(), text, special, out);
    }

    /// Cuts the text as it came, as if a token were there only where `permits` says so: with its id
    /// and the bytes that are its content.
    pub fn find_raw_permitted(
        &self,
        text: &str,
        permits: impl Fn(u32, Range<usize>) -> bool,
        out: &mut Vec<Segment>,
    ) -> Result<()> {
        match &self.partition {
            Some(partition) => {
                partition.cut_permitted(text, permits, out);
                Ok(())
            }
            None => self.find_permitted(self.raw.as_ref(), text, permits, out),
        }
    }

    /// The same for a stretch of normalised text.
    pub fn find_normalized_permitted(
        &self,
        text: &str,
        permits: impl Fn(u32, Range<usize>) -> bool,
        out: &mut Vec<Segment>,
    ) -> Result<()> {
        self.find_permitted(self.normalized.as_ref(), text, permits, out)
    }

    pub fn id(&self, content: &str) -> Option<u32> {
        self.first_bytes.may_have(content).then(|| self.by_content.get(content).copied())?
    }

    /// What decoding starts from, for an added token.
    pub fn text(&self, id: u32) -> Option<&str> {
        self.known(id).map(Known::text)
    }

    /// The token as it is listed.
    pub fn content(&self, id: u32) -> Option<&str> {
        Some(&self.known(id)?.token.content)
    }

    /// Of a token with this id and text. In a tokenizer.json the text decides, as in the reference;
    /// where ids are stated, the id.
    pub fn is_special(&self, id: u32, text: &str) -> bool {
        self.first_bytes.may_have(text)
            && match self.ids_as_stated {
                true => self.known(id).is_some_and(|known| known.token.special),
                false => self.special.contains(text),
            }
    }

    fn known(&self, id: u32) -> Option<&Known> {
        self.known.get(*self.by_id.get(&id)?)
    }

    /// All of them with their effective ids.
    pub fn iter(&self) -> impl Iterator<Item = (&AddedToken, u32)> {
        self.known.iter().map(|known| (&known.token, known.id))
    }

    /// Every content that has an id, including contents whose id another one has taken over.
    pub fn contents(&self) -> impl Iterator<Item = (&str, u32)> {
        self.by_content.iter().map(|(content, &id)| (content.as_str(), id))
    }

    fn find(&self, matcher: Option<&Matcher>, text: &str, special: bool, out: &mut Vec<Segment>) {
        let Some(matcher) = matcher else { return lay_out(text, std::iter::empty(), out) };
        let wanted = |found: Match| {
            let known = self.known.get(*matcher.owners.get(found.pattern().as_usize())?)?;
            // The reference passes over them too: what begins inside one is not found.
            let is_text = !special && self.special.contains(&known.token.content);
            (!is_text).then_some((found.range(), known))
        };
        let automaton = &matcher.automaton;
        match &matcher.starts {
            Some(starts) => lay_out(text, starts.find(automaton, text).filter_map(wanted), out),
            None => lay_out(text, automaton.find_iter(text).filter_map(wanted), out),
        }
    }

    fn find_permitted(
        &self,
        matcher: Option<&Matcher>,
        text: &str,
        permits: impl Fn(u32, Range<usize>) -> bool,
        out: &mut Vec<Segment>,
    ) -> Result<()> {
        let mut permitted: Vec<(Range<usize>, &Known)> = Vec::new();
        if let Some(matcher) = matcher {
            for found in matcher.everywhere(&self.known)?.find_overlapping_iter(text) {
                let owner = matcher.owners.get(found.pattern().as_usize());
                let Some(known) = owner.and_then(|&at| self.known.get(at)) else { continue };
                if permits(known.id, found.range()) {
                    permitted.push((found.range(), known));
                }
            }
        }
        permitted.sort_by_key(|(range, _)| (range.start, Reverse(range.end)));
        let mut end = 0;
        // The leftmost, of those the longest, and then what begins behind it.
        permitted.retain(|(range, _)| {
            let stays = range.start >= end;
            if stays {
                end = range.end;
            }
            stays
        });
        lay_out(text, permitted.into_iter(), out);
        Ok(())
    }
}

/// Cuts `text` at what was found, by the reference's rules for what surrounds a match.
#[inline]
fn lay_out<'a>(
    text: &str,
    found: impl Iterator<Item = (Range<usize>, &'a Known)>,
    out: &mut Vec<Segment>,
) {
    out.clear();
    let mut done = 0;
    for (range, known) in found {
        let Range { mut start, mut end } = range;
        let before = text.get(..start).unwrap_or_default();
        let after = text.get(end..).unwrap_or_default();
        if known.token.single_word
            && (before.chars().next_back().is_some_and(is_rust_word)
                || after.chars().next().is_some_and(is_rust_word))
        {
            continue;
        }
        if known.token.lstrip {
            // Not into what the previous match has taken.
            start = before.trim_end().len().max(done);
        }
        if known.token.rstrip {
            end += after.len() - after.trim_start().len();
        }
        if done < start {
            out.push(Segment { start: done, end: start, id: None });
        }
        out.push(Segment { start, end, id: Some(known.id) });
        done = end;
    }
    if done != text.len() {
        out.push(Segment { start: done, end: text.len(), id: None });
    }
}

#[derive(Debug)]
struct Matcher {
    automaton: AhoCorasick,
    starts: Option<Starts>,
    /// Which token each pattern belongs to.
    owners: Vec<usize>,
    /// Finds what overlaps too. Made when a match is refused for the first time.
    everywhere: OnceLock<AhoCorasick>,
}

impl Matcher {
    fn new(known: &[Known], normalized: bool) -> Result<Option<Self>> {
        let (owners, patterns): (Vec<usize>, Vec<&str>) = known
            .iter()
            .enumerate()
            .filter(|(_, known)| known.token.in_text && known.token.normalized == normalized)
            .map(|(at, known)| (at, known.matched()))
            .unzip();
        if patterns.is_empty() {
            return Ok(None);
        }
        let mut seen = HashSet::new();
        for pattern in &patterns {
            if pattern.is_empty() {
                return Err(Error::unsupported(
                    "added_tokens:empty",
                    "an added token is empty after normalisation",
                )
                .at_path("$.added_tokens"));
            }
            if !seen.insert(pattern) {
                return Err(Error::unsupported(
                    "added_tokens:duplicate",
                    format!("two added tokens are both {pattern:?} after normalisation"),
                )
                .at_path("$.added_tokens"));
            }
        }
        let starts = Starts::new(&patterns);
        let anchored = if starts.is_some() { StartKind::Both } else { StartKind::Unanchored };
        let automaton = automaton(MatchKind::LeftmostLongest, anchored, &patterns)?;
        Ok(Some(Self { automaton, starts, owners, everywhere: OnceLock::new() }))
    }

    fn everywhere(&self, known: &[Known]) -> Result<&AhoCorasick> {
        if let Some(made) = self.everywhere.get() {
            return Ok(made);
        }
        let text = |&at: &usize| known.get(at).map_or("", Known::matched);
        let patterns: Vec<&str> = self.owners.iter().map(text).collect();
        let made = automaton(MatchKind::Standard, StartKind::Unanchored, &patterns)?;
        Ok(self.everywhere.get_or_init(|| made))
    }
}

fn automaton(kind: MatchKind, starts: StartKind, patterns: &[&str]) -> Result<AhoCorasick> {
    // To make a DFA takes the square of the length for a token of one letter repeated.
    let long = patterns.iter().any(|pattern| pattern.len() > LONG);
    AhoCorasick::builder()
        .match_kind(kind)
        .start_kind(starts)
        .kind(long.then_some(AhoCorasickKind::ContiguousNFA))
        .build(patterns)
        .map_err(|error| Error::limit(format!("too many added tokens: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(content: &str) -> AddedToken {
        AddedToken {
            id: 0,
            content: content.into(),
            single_word: false,
            lstrip: false,
            rstrip: false,
            normalized: false,
            special: true,
            in_text: true,
        }
    }

    fn find(tokens: &[AddedToken], text: &str) -> Vec<(usize, usize, Option<u32>)> {
        let added =
            AddedTokens::new(tokens, false, &Vocab::new(), 0, |text| Ok(text.to_lowercase()))
                .unwrap();
        let mut out = Vec::new();
        if added.matches_raw() {
            added.find_raw(text, true, &mut out);
        } else {
            added.find_normalized(text, true, &mut out);
        }
        out.iter().map(|s| (s.start, s.end, s.id)).collect()
    }

    #[test]
    fn the_longest_of_the_leftmost_wins() {
        let tokens = [token("<a>"), token("<a><b>"), token("<b>")];
        assert_eq!(
            find(&tokens, "x<a><b>y<b>"),
            [(0, 1, None), (1, 7, Some(1)), (7, 8, None), (8, 11, Some(2))]
        );
        assert_eq!(find(&tokens, ""), []);
    }

    #[test]
    fn strips_take_white_space_from_their_neighbours() {
        let tokens =
            [AddedToken { lstrip: true, ..token("L") }, AddedToken { rstrip: true, ..token("R") }];
        assert_eq!(find(&tokens, "a \u{3000}L b"), [(0, 1, None), (1, 6, Some(0)), (6, 8, None)]);
        assert_eq!(find(&tokens, "a R  b"), [(0, 2, None), (2, 5, Some(1)), (5, 6, None)]);
        // R has taken the spaces already: L must not take them again.
        assert_eq!(find(&tokens, "R  L"), [(0, 3, Some(1)), (3, 4, Some(0))]);
    }

    #[test]
    fn a_match_inside_stripped_space_overlaps_as_in_the_reference() {
        let tokens = [AddedToken { rstrip: true, ..token("R") }, token(" B")];
        assert_eq!(find(&tokens, "R  B"), [(0, 3, Some(0)), (2, 4, Some(1))]);
    }

    #[test]
    fn a_single_word_has_no_word_characters_beside_it() {
        let tokens = [AddedToken { single_word: true, ..token("END") }];
        assert_eq!(find(&tokens, "xEND"), [(0, 4, None)]);
        assert_eq!(find(&tokens, "END_"), [(0, 4, None)]);
        assert_eq!(find(&tokens, "-END!"), [(0, 1, None), (1, 4, Some(0)), (4, 5, None)]);
    }

    #[test]
    fn normalised_tokens_match_their_normalised_form() {
        let tokens = [AddedToken { normalized: true, ..token("<TAG>") }];
        assert_eq!(find(&tokens, "<tag>"), [(0, 5, Some(0))]);
        assert_eq!(find(&tokens, "<TAG>"), [(0, 5, None)]);
    }

    #[test]
    fn ids_follow_the_vocabulary_then_the_order() {
        let mut vocab = Vocab::new();
        vocab.insert("a", 0).unwrap();
        vocab.insert("b", 9).unwrap();
        let added = AddedTokens::new(
            &[token("x"), token("b"), token(""), token("y"), token("x")],
            false,
            &vocab,
            vocab.len(),
            |t| Ok(t.to_owned()),
        )
        .unwrap();
        assert_eq!([added.id("x"), added.id("b"), added.id("y")], [Some(2), Some(9), Some(3)]);
        assert_eq!(added.text(9), Some("b"));
        assert!(added.is_special(3, "x"));
    }

    #[test]
    fn of_one_id_the_first_normalized_content_is_kept() {
        let normalized = |content| AddedToken { normalized: true, ..token(content) };
        let made = |tokens: &[AddedToken], vocab: &Vocab, first_free| {
            AddedTokens::new(tokens, false, vocab, first_free, |text| Ok(text.to_lowercase()))
                .unwrap()
        };
        let twice = made(&[normalized("Hello"), token("Hello")], &Vocab::new(), 0);
        assert_eq!(twice.text(0), Some("hello"));
        let mut out = Vec::new();
        twice.find_raw("Hello", true, &mut out);
        assert_eq!(out, [Segment { start: 0, end: 5, id: Some(0) }]);
        // The id is taken over by `q`, which is then found where `x` is.
        let mut vocab = Vocab::new();
        vocab.insert("X", 3).unwrap();
        let taken = made(&[normalized("X"), normalized("q")], &vocab, 3);
        taken.find_normalized("qx", true, &mut out);
        assert_eq!(out.iter().map(|found| found.id).collect::<Vec<_>>(), [None, Some(3)]);
        assert_eq!(taken.text(3), Some("x"));
    }

    #[test]
    fn where_ids_are_stated_they_decide_what_is_special() {
        let made = |as_stated| {
            let tokens = [AddedToken { id: 7, ..token("<") }];
            AddedTokens::new(&tokens, as_stated, &Vocab::new(), 7, |t| Ok(t.to_owned())).unwrap()
        };
        assert_eq!([60, 7].map(|id| made(true).is_special(id, "<")), [false, true]);
        assert_eq!([60, 7].map(|id| made(false).is_special(id, "<")), [true, true]);
    }

    #[test]
    fn very_long_tokens_are_found() {
        let long = "a".repeat(60_000);
        let found = find(&[token(&long), token("<s>")], &format!("b<s>{long}a"));
        assert_eq!(
            found,
            [(0, 1, None), (1, 4, Some(1)), (4, 60_004, Some(0)), (60_004, 60_005, None)]
        );
    }

    #[test]
    fn two_tokens_that_normalise_alike_are_refused() {
        let tokens = [
            AddedToken { normalized: true, ..token("A") },
            AddedToken { normalized: true, ..token("a") },
        ];
        let made = AddedTokens::new(&tokens, false, &Vocab::new(), 0, |t| Ok(t.to_lowercase()));
        assert!(made.is_err());
    }

    #[test]
    fn stated_ids_are_kept_where_the_format_means_them() {
        let tokens = [AddedToken { id: 700, ..token("x") }];
        let added =
            AddedTokens::new(&tokens, true, &Vocab::new(), 0, |t| Ok(t.to_owned())).unwrap();
        assert_eq!((added.id("x"), added.text(700)), (Some(700), Some("x")));
    }

    #[test]
    fn one_id_may_have_two_names_where_ids_are_stated() {
        let tokens = [AddedToken { id: 7, ..token("<a>") }, AddedToken { id: 7, ..token("<b>") }];
        let added =
            AddedTokens::new(&tokens, true, &Vocab::new(), 0, |t| Ok(t.to_owned())).unwrap();
        let mut out = Vec::new();
        added.find_raw("<a><b>", true, &mut out);
        assert_eq!(out.iter().map(|s| s.id).collect::<Vec<_>>(), [Some(7), Some(7)]);
        assert_eq!((added.id("<a>"), added.text(7)), (Some(7), Some("<b>")));
    }

    #[test]
    fn special_tokens_are_text_where_the_caller_says_so() {
        let tokens = [token("<s>"), AddedToken { special: false, ..token("<t>") }];
        let added =
            AddedTokens::new(&tokens, false, &Vocab::new(), 0, |t| Ok(t.to_owned())).unwrap();
        let mut out = Vec::new();
        added.find_raw("<s><t>", false, &mut out);
        let found: Vec<_> = out.iter().map(|s| (s.start, s.end, s.id)).collect();
        assert_eq!(found, [(0, 3, None), (3, 6, Some(1))]);
    }

    #[test]
    fn tokens_that_text_never_yields_are_known_all_the_same() {
        let tokens = [AddedToken { in_text: false, ..token("<s>") }];
        assert_eq!(find(&tokens, "<s>"), [(0, 3, None)]);
        let added =
            AddedTokens::new(&tokens, false, &Vocab::new(), 0, |t| Ok(t.to_owned())).unwrap();
        assert_eq!((added.id("<s>"), added.is_special(0, "<s>")), (Some(0), true));
    }
}
