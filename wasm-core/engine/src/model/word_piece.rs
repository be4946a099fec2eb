//! The longest token first, then the longest that continues it, to the end of the word. If no token
//! continues some rest, the whole word is unknown.

use super::trie::Trie;
use super::{token::Token, unknown_token};
use crate::definition::WordPiece as Definition;
use crate::error::Result;
use crate::vocab::Vocab;
use std::ops::Range;

#[derive(Debug)]
pub struct WordPiece {
    pub vocab: Vocab,
    /// What a word begins with: any token, also one that is written to continue.
    first: Trie,
    /// What continues a word, without the prefix that says so.
    later: Trie,
    unk_token: String,
    /// The reference loads a file without it and fails at the first unknown word.
    unk: Option<u32>,
    longest_word: usize,
}

impl WordPiece {
    pub fn new(definition: Definition) -> Self {
        let Definition { vocab, unk_token, continuing_subword_prefix: prefix, .. } = definition;
        let first = Trie::new(vocab.iter().map(|(text, id)| (text.as_bytes(), id)));
        let later = Trie::new(vocab.iter().filter_map(|(text, id)| {
            text.strip_prefix(prefix.as_str()).map(|rest| (rest.as_bytes(), id))
        }));
        let unk = vocab.id(&unk_token);
        let longest_word = definition.max_input_chars_per_word;
        Self { vocab, first, later, unk_token, unk, longest_word }
    }

    pub fn tokens(&self, word: &str, out: &mut Vec<Token>) -> Result<()> {
        self.permitted_tokens(word, |_, _| true, out)
    }

    /// The same as if the vocabulary had a token only where `permits` says so: with its id and the
    /// bytes of the word that it would cover. A word may be unknown everywhere.
    pub fn permitted_tokens(
        &self,
        word: &str,
        permits: impl Fn(u32, Range<usize>) -> bool,
        out: &mut Vec<Token>,
    ) -> Result<()> {
        let before = out.len();
        let longest = |trie: &Trie, rest: &[u8], start: usize| {
            let mut found = None;
            trie.prefixes(rest, |length, id| {
                if permits(id, start..start + length) {
                    found = Some((length, id));
                }
            });
            found
        };
        let known = self.cut(word, longest, |id, start, end| {
            out.push(Token { id, start: start as u32, end: end as u32 });
        });
        if !known {
            out.truncate(before);
            out.push(Token { id: self.unknown()?, start: 0, end: word.len() as u32 });
        }
        Ok(())
    }

    pub fn ids(&self, word: &str, out: &mut Vec<u32>) -> Result<()> {
        let before = out.len();
        let longest = |trie: &Trie, rest: &[u8], _| trie.longest_prefix(rest);
        if !self.cut(word, longest, |id, _, _| out.push(id)) {
            out.truncate(before);
            out.push(self.unknown()?);
        }
        Ok(())
    }

    /// Calls `each` for every token that `longest` finds, with its range. False: the word is unknown.
    #[inline]
    fn cut(
        &self,
        word: &str,
        longest: impl Fn(&Trie, &[u8], usize) -> Option<(usize, u32)>,
        mut each: impl FnMut(u32, usize, usize),
    ) -> bool {
        // A word of so many bytes has no more characters.
        if word.len() > self.longest_word && word.chars().count() > self.longest_word {
            return false;
        }
        let mut trie = &self.first;
        let mut start = 0;
        while start < word.len() {
            let rest = word.as_bytes().get(start..).unwrap_or_default();
            let Some((length, id)) = longest(trie, rest, start) else { return false };
            each(id, start, start + length);
            start += length;
            trie = &self.later;
        }
        true
    }

    fn unknown(&self) -> Result<u32> {
        self.unk.ok_or_else(|| unknown_token(&self.unk_token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::oracle::random::Random;
    use crate::oracle::word_piece::word_piece_slowly;

    fn definition(texts: &[String], prefix: &str, longest: usize) -> Definition {
        let mut vocab = Vocab::new();
        for (id, text) in (0..).zip(texts) {
            vocab.insert(text, id).unwrap();
        }
        Definition {
            vocab,
            unk_token: "?".to_owned(),
            continuing_subword_prefix: prefix.to_owned(),
            max_input_chars_per_word: longest,
        }
    }

    #[test]
    fn cuts_as_the_slow_one_does() {
        const LETTERS: [&str; 5] = ["a", "b", "é", "#", "中"];
        let mut random = Random::new(11);
        for round in 0..400 {
            let prefix = *random.pick(&["##", "#", "", "é"]);
            let mut texts = vec!["?".to_owned()];
            for _ in 0..random.below(30) {
                let mut text = (*random.pick(&["", prefix])).to_owned();
                for _ in 0..=random.below(3) {
                    text += *random.pick(&LETTERS);
                }
                texts.push(text);
            }
            let longest = 1 + random.below(10);
            let definition = || definition(&texts, prefix, longest);
            let (model, slow) = (WordPiece::new(definition()), definition());
            for _ in 0..40 {
                let word: String = (0..random.below(12)).map(|_| *random.pick(&LETTERS)).collect();
                let mut tokens = Vec::new();
                model.tokens(&word, &mut tokens).unwrap();
                let expected = word_piece_slowly(&slow, &word);
                assert_eq!(tokens, expected, "round {round}: {word:?} {texts:?}");
                let mut ids = Vec::new();
                model.ids(&word, &mut ids).unwrap();
                assert!(ids.iter().eq(expected.iter().map(|token| &token.id)));
            }
        }
    }

    #[test]
    fn a_token_that_is_not_permitted_is_as_if_it_were_not_listed() {
        let texts = ["?", "ab", "a", "##b", "abc", "##c"].map(str::to_owned);
        let model = WordPiece::new(definition(&texts, "##", 100));
        let ids = |word: &str, refused: &[(u32, usize)]| {
            let mut out = Vec::new();
            let permits = |id, range: Range<usize>| !refused.contains(&(id, range.start));
            model.permitted_tokens(word, permits, &mut out).unwrap();
            out.iter().map(|token| token.id).collect::<Vec<_>>()
        };
        assert_eq!(ids("abc", &[]), [4]);
        assert_eq!(ids("abc", &[(4, 0)]), [1, 5]);
        assert_eq!(ids("abc", &[(4, 0), (1, 0)]), [2, 3, 5]);
        assert_eq!(ids("abc", &[(4, 0), (5, 2)]), [0]);
        assert_eq!(ids("abc", &[(0, 0), (5, 1)]), [4]);
    }

    #[test]
    fn without_an_unknown_token_only_unknown_words_fail() {
        let model = WordPiece::new(definition(&["a".to_owned()], "##", 100));
        let mut out = Vec::new();
        model.ids("a", &mut out).unwrap();
        assert_eq!(model.ids("aa", &mut out).unwrap_err().kind, ErrorKind::Unsupported);
        assert_eq!(out, [0]);
    }
}
