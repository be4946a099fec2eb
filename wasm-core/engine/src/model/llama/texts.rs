//! Merging decided by text, step by step as llama.cpp does it.
//!
//! A symbol is a stretch of the piece, whether a token or not. This serves the files in which that
//! makes a difference, and it is what the fast way by ids is held against.

use crate::definition::llama::{Ranking, TextMerges, Unknown, Whole};
use crate::error::{Error, Result};
use crate::model::token::Token;
use crate::vocab::Vocab;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub struct Texts {
    definition: TextMerges,
    bytes: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Symbol {
    start: u32,
    end: u32,
    previous: u32,
    next: u32,
}

/// Rank, the left symbol, and where the pair ended when it was found.
type Candidate = Reverse<(u32, u32, u32)>;

impl Texts {
    pub fn new(definition: TextMerges) -> Self {
        let id = |byte: u8| {
            let named = definition.vocab.id(&format!("<0x{byte:02X}>"));
            let plain = || {
                char::from(byte)
                    .is_ascii()
                    .then(|| definition.vocab.id(&char::from(byte).to_string()))
            };
            match definition.unknown {
                Unknown::EveryByte => named.or_else(|| plain().flatten()),
                Unknown::SomeBytes => named,
                Unknown::Ascii => plain().flatten(),
            }
        };
        let bytes = (0..=255).map(|byte| id(byte).unwrap_or(NONE)).collect();
        Self { definition, bytes }
    }

    pub fn vocab(&self) -> &Vocab {
        &self.definition.vocab
    }

    pub fn into_definition(self) -> TextMerges {
        self.definition
    }

    pub fn tokens(&self, piece: &str, out: &mut Vec<Token>) -> Result<()> {
        let whole = match self.definition.whole {
            Whole::None => false,
            Whole::All => true,
            Whole::LineFeeds => piece.bytes().all(|byte| byte == b'\n'),
        };
        if whole {
            if let Some(id) = self.vocab().id(piece) {
                out.push(Token { id, start: 0, end: piece.len() as u32 });
                return Ok(());
            }
        }
        let symbols = self.merged(piece);
        for symbol in symbols.iter().filter(|symbol| symbol.start < symbol.end) {
            let Symbol { start, end, .. } = *symbol;
            let text = piece.get(start as usize..end as usize).unwrap_or_default();
            match self.vocab().id(text) {
                Some(id) => out.push(Token { id, start, end }),
                None => self.spell(text, start, out)?,
            }
        }
        Ok(())
    }

    /// The tokens of a symbol that is none.
    fn spell(&self, text: &str, start: u32, out: &mut Vec<Token>) -> Result<()> {
        for (at, byte) in (start..).zip(text.bytes()) {
            match self.bytes.get(usize::from(byte)).copied().filter(|&id| id != NONE) {
                Some(id) => out.push(Token { id, start: at, end: at + 1 }),
                None if self.definition.unknown == Unknown::EveryByte => {
                    return Err(Error::unsupported(
                        "gguf:missing_byte",
                        format!(
                            "the vocabulary has neither {text:?} nor the byte token <0x{byte:02X}>; \
                             llama.cpp fails on such a text"
                        ),
                    ));
                }
                None => {}
            }
        }
        Ok(())
    }

    /// The symbols after merging; those that went into others are empty.
    fn merged(&self, piece: &str) -> Vec<Symbol> {
        let mut symbols: Vec<Symbol> = Vec::new();
        for (n, (at, c)) in (0u32..).zip(piece.char_indices()) {
            let (start, end) = (at as u32, (at + c.len_utf8()) as u32);
            let next = if end as usize == piece.len() { NONE } else { n + 1 };
            symbols.push(Symbol { start, end, previous: n.wrapping_sub(1), next });
        }
        let mut queue: BinaryHeap<Candidate> = BinaryHeap::new();
        let mut pair = String::new();
        for left in 0..symbols.len() as u32 {
            self.push(piece, &symbols, left, &mut pair, &mut queue);
        }
        while let Some(Reverse((_, left, end))) = queue.pop() {
            let Some(&first) = symbols.get(left as usize) else { continue };
            let Some(&second) = symbols.get(first.next as usize) else { continue };
            if first.start == first.end || second.end != end {
                continue;
            }
            if let Some(gone) = symbols.get_mut(first.next as usize) {
                gone.end = gone.start;
            }
            if let Some(after) = symbols.get_mut(second.next as usize) {
                after.previous = left;
            }
            if let Some(grown) = symbols.get_mut(left as usize) {
                grown.end = end;
                grown.next = second.next;
            }
            self.push(piece, &symbols, first.previous, &mut pair, &mut queue);
            self.push(piece, &symbols, left, &mut pair, &mut queue);
        }
        symbols
    }

    /// Queues the pair that begins with the symbol `left`, if it merges.
    fn push(
        &self,
        piece: &str,
        symbols: &[Symbol],
        left: u32,
        pair: &mut String,
        queue: &mut BinaryHeap<Candidate>,
    ) {
        let Some(first) = symbols.get(left as usize) else { return };
        let Some(second) = symbols.get(first.next as usize) else { return };
        let text = |start: u32, end: u32| piece.get(start as usize..end as usize);
        let rank = match &self.definition.ranking {
            Ranking::Scores(ranks) => text(first.start, second.end)
                .and_then(|made| self.vocab().id(made))
                .and_then(|id| ranks.get(id as usize).copied()),
            Ranking::Merges(merges) => {
                pair.clear();
                pair.push_str(text(first.start, first.end).unwrap_or_default());
                pair.push(' ');
                pair.push_str(text(second.start, second.end).unwrap_or_default());
                merges.id(pair)
            }
        };
        queue.extend(rank.map(|rank| Reverse((rank, left, second.end))));
    }
}
