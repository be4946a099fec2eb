//! The symbols that merging starts from: characters, with what happens to unknown ones.
//!
//! This follows the reference to the letter, oddities included: an unknown character waits to be
//! fused with a following one, and byte tokens that come in between overtake it.

use crate::definition::Bpe as BpeDefinition;
use crate::vocab::Vocab;

const NONE: u32 = u32::MAX;

/// The blank: what SentencePiece writes for a space.
pub const BLANK: char = '▁';
pub const BLANK_TEXT: &str = "▁";

#[derive(Debug)]
pub struct Units {
    /// Ids of the characters of the basic plane; astral ones are looked up.
    plane: Vec<u32>,
    /// Ids of `<0x00>` to `<0xFF>`, where the model falls back to bytes.
    bytes: Option<Vec<u32>>,
    unk: Option<u32>,
    fuse_unk: bool,
    prefix: String,
    suffix: String,
}

/// One symbol: its id and how many bytes of the piece it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol {
    pub id: u32,
    pub len: u32,
}

impl Units {
    pub fn new(bpe: &BpeDefinition) -> Self {
        let mut plane = vec![NONE; 0x1_0000];
        for (text, id) in bpe.vocab.iter() {
            let mut chars = text.chars();
            if let (Some(c), None) = (chars.next(), chars.next()) {
                if let Some(place) = plane.get_mut(c as usize) {
                    *place = id;
                }
            }
        }
        let bytes = bpe.byte_fallback.then(|| {
            (0..=255u8).map(|b| bpe.vocab.id(&format!("<0x{b:02X}>")).unwrap_or(NONE)).collect()
        });
        Self {
            plane,
            bytes,
            unk: bpe.unk,
            fuse_unk: bpe.fuse_unk,
            prefix: bpe.continuing_subword_prefix.clone().unwrap_or_default(),
            suffix: bpe.end_of_word_suffix.clone().unwrap_or_default(),
        }
    }

    /// Cuts a piece into symbols. `spaced`: a space stands for the blank.
    pub fn symbols(&self, vocab: &Vocab, piece: &str, spaced: bool, out: &mut Vec<Symbol>) {
        out.clear();
        let mut waiting: Option<Symbol> = None;
        let plain = self.prefix.is_empty() && self.suffix.is_empty();
        let mut decorated = String::new();
        let mut buffer = [0; 4];
        for (at, c) in piece.char_indices() {
            let len = c.len_utf8() as u32;
            let is_last = at + c.len_utf8() == piece.len();
            let c = if spaced && c == ' ' { BLANK } else { c };
            let (id, text) = if plain {
                let id = match self.plane.get(c as usize) {
                    Some(&id) => id,
                    None => vocab.id(c.encode_utf8(&mut buffer)).unwrap_or(NONE),
                };
                (id, &*c.encode_utf8(&mut buffer))
            } else {
                decorated.clear();
                if at > 0 {
                    decorated.push_str(&self.prefix);
                }
                decorated.push(c);
                if is_last {
                    decorated.push_str(&self.suffix);
                }
                (vocab.id(&decorated).unwrap_or(NONE), decorated.as_str())
            };
            if id != NONE {
                out.extend(waiting.take());
                out.push(Symbol { id, len });
            } else if !self.push_bytes(text, out) {
                if let Some(unk) = self.unk {
                    waiting = Some(match waiting {
                        Some(unknown) if self.fuse_unk => {
                            Symbol { id: unknown.id, len: unknown.len + len }
                        }
                        previous => {
                            out.extend(previous);
                            Symbol { id: unk, len }
                        }
                    });
                }
            }
        }
        out.extend(waiting);
    }

    /// The first symbol of a text, and how many bytes it stands for: where characters are spelled by
    /// themselves. Of one that is spelled in bytes, any of its bytes may be the first.
    pub fn first(&self, vocab: &Vocab, text: &[u8]) -> Option<(u32, usize)> {
        let byte = usize::from(*text.first()?);
        let c = text.get(..text.len().min(4))?.utf8_chunks().next()?.valid().chars().next();
        let known = c.and_then(|c| {
            let id = match self.plane.get(c as usize) {
                Some(&id) => id,
                None => vocab.id(c.encode_utf8(&mut [0; 4])).unwrap_or(NONE),
            };
            (id != NONE).then_some((id, c.len_utf8()))
        });
        match &self.bytes {
            Some(bytes) => known.or_else(|| Some((*bytes.get(byte)?, 1))),
            None => known.or_else(|| Some((self.unk?, c?.len_utf8()))),
        }
    }

    /// The texts and ids of all symbols, `blank` in place of the blank; byte tokens and the unknown one,
    /// which nothing merges with, under a text that no piece has.
    pub fn all<'a>(
        &'a self,
        vocab: &'a Vocab,
        blank: &'a str,
    ) -> impl Iterator<Item = (&'a [u8], u32)> {
        let single = vocab.iter().filter_map(move |(text, id)| {
            let mut chars = text.chars();
            let text = if chars.next()? == BLANK { blank } else { text };
            chars.next().is_none().then_some((text.as_bytes(), id))
        });
        let others = self.bytes.iter().flatten().copied().chain(self.unk);
        single.chain(others.map(|id| (&[0xFF][..], id)))
    }

    /// Spells `text` in byte tokens, if all of them exist.
    fn push_bytes(&self, text: &str, out: &mut Vec<Symbol>) -> bool {
        let Some(bytes) = &self.bytes else { return false };
        let id = |b: u8| bytes.get(usize::from(b)).copied().unwrap_or(NONE);
        if text.bytes().any(|b| id(b) == NONE) {
            return false;
        }
        out.extend(text.bytes().map(|b| Symbol { id: id(b), len: 1 }));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bpe(vocab: &[&str]) -> BpeDefinition {
        let mut texts = Vocab::new();
        for (id, text) in (0..).zip(vocab) {
            texts.insert(text, id).unwrap();
        }
        BpeDefinition {
            vocab: texts,
            merges: Vec::new(),
            unk: Some(0),
            fuse_unk: false,
            byte_fallback: false,
            ignore_merges: false,
            continuing_subword_prefix: None,
            end_of_word_suffix: None,
        }
    }

    fn symbols(bpe: &BpeDefinition, piece: &str) -> Vec<(u32, u32)> {
        let mut out = Vec::new();
        Units::new(bpe).symbols(&bpe.vocab, piece, false, &mut out);
        out.iter().map(|s| (s.id, s.len)).collect()
    }

    #[test]
    fn unknown_characters_stand_alone_or_fuse() {
        let mut bpe = bpe(&["<unk>", "a"]);
        assert_eq!(symbols(&bpe, "aéza"), [(1, 1), (0, 2), (0, 1), (1, 1)]);
        bpe.fuse_unk = true;
        assert_eq!(symbols(&bpe, "aéza"), [(1, 1), (0, 3), (1, 1)]);
        bpe.unk = None;
        assert_eq!(symbols(&bpe, "aéza"), [(1, 1), (1, 1)]);
    }

    #[test]
    fn byte_tokens_overtake_a_waiting_unknown() {
        let mut bpe = bpe(&["<unk>", "a", "<0xC3>", "<0xA9>"]);
        bpe.byte_fallback = true;
        bpe.fuse_unk = true;
        // z has no byte token: it waits, while the bytes of é pass it.
        assert_eq!(symbols(&bpe, "zéa"), [(2, 1), (3, 1), (0, 1), (1, 1)]);
    }

    #[test]
    fn prefix_and_suffix_decorate_by_position() {
        let mut bpe = bpe(&["<unk>", "a", "#a", "#a$", "a$", "𝄞$"]);
        bpe.continuing_subword_prefix = Some("#".into());
        bpe.end_of_word_suffix = Some("$".into());
        assert_eq!(symbols(&bpe, "aaa"), [(1, 1), (2, 1), (3, 1)]);
        assert_eq!(symbols(&bpe, "a"), [(4, 1)]);
        assert_eq!(symbols(&bpe, "𝄞"), [(5, 4)]);
    }
}
