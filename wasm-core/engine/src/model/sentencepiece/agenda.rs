//! SentencePiece's byte-pair encoding, step by step as the reference does it.
//!
//! It serves the files with unused pieces, whose re-splitting depends on which pairs were looked at
//! last anywhere in the text; and it is what the quick way is held against.

use super::{Part, Pieces};
use crate::definition::PieceKind;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

const NONE: usize = usize::MAX;

#[derive(Debug, Clone, Copy)]
struct Symbol {
    start: usize,
    /// Equal to `start` once the symbol was merged into the one before it.
    end: usize,
    previous: usize,
    next: usize,
    frozen: bool,
}

/// Two neighbours that make a piece.
#[derive(Debug, Clone, Copy)]
struct Pair {
    score: f32,
    left: usize,
    right: usize,
    /// The bytes of both, by which a pair is seen to be no longer what it was.
    size: usize,
}

impl Ord for Pair {
    /// The best score first, the leftmost of equals.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.score.partial_cmp(&other.score).unwrap_or(Ordering::Equal);
        by_score.then(other.left.cmp(&self.left))
    }
}

impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Pair {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Pair {}

/// The state of one text.
struct Agenda<'a> {
    pieces: &'a Pieces,
    text: &'a str,
    symbols: Vec<Symbol>,
    pairs: BinaryHeap<Pair>,
    /// How long the left half was when an unused piece was last seen to be possible.
    halves: HashMap<&'a str, usize>,
}

pub fn parts(pieces: &Pieces, text: &str, out: &mut Vec<Part>) {
    let symbols = symbols(pieces, text);
    let count = symbols.len();
    let pairs = BinaryHeap::new();
    let mut agenda = Agenda { pieces, text, symbols, pairs, halves: HashMap::new() };
    for right in 1..count {
        agenda.consider(right - 1, right);
    }
    while let Some(pair) = agenda.pairs.pop() {
        agenda.merge(pair);
    }
    let mut at = 0;
    while let Some(&symbol) = agenda.symbols.get(at) {
        agenda.split(symbol.start, symbol.end, out);
        at = symbol.next;
    }
}

fn symbols(pieces: &Pieces, text: &str) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    let mut start = 0;
    while let Some((length, frozen)) = pieces.symbol(text, start) {
        let end = start + length;
        let place = symbols.len();
        let next = if end < text.len() { place + 1 } else { NONE };
        let previous = place.checked_sub(1).unwrap_or(NONE);
        symbols.push(Symbol { start, end, previous, next, frozen });
        start = end;
    }
    symbols
}

impl<'a> Agenda<'a> {
    fn consider(&mut self, left: usize, right: usize) {
        let (Some(first), Some(second)) = (self.symbols.get(left), self.symbols.get(right)) else {
            return;
        };
        if first.frozen || second.frozen {
            return;
        }
        let text = self.text.get(first.start..second.end).unwrap_or_default();
        let Some(id) = self.pieces.possible(text) else { return };
        let score = self.pieces.scores.get(id as usize).copied().unwrap_or_default();
        self.pairs.push(Pair { score, left, right, size: text.len() });
        if self.pieces.kind(id) == PieceKind::Unused {
            self.halves.insert(text, first.end - first.start);
        }
    }

    fn merge(&mut self, pair: Pair) {
        let (Some(&first), Some(&second)) =
            (self.symbols.get(pair.left), self.symbols.get(pair.right))
        else {
            return;
        };
        let (left, right) = (first.end - first.start, second.end - second.start);
        if left == 0 || right == 0 || left + right != pair.size {
            return;
        }
        if let Some(symbol) = self.symbols.get_mut(pair.left) {
            symbol.end = second.end;
            symbol.next = second.next;
        }
        if let Some(symbol) = self.symbols.get_mut(pair.right) {
            symbol.end = symbol.start;
        }
        if let Some(symbol) = self.symbols.get_mut(second.next) {
            symbol.previous = pair.left;
        }
        self.consider(first.previous, pair.left);
        self.consider(pair.left, second.next);
    }

    /// Hands out a symbol; an unused piece as what it was made of.
    fn split(&self, start: usize, end: usize, out: &mut Vec<Part>) {
        let mut open = vec![(start, end)];
        while let Some((start, end)) = open.pop() {
            let text = self.text.get(start..end).unwrap_or_default();
            let known = self.pieces.possible(text);
            if known.is_some_and(|id| self.pieces.kind(id) == PieceKind::Unused) {
                if let Some(left) = self.halves.get(text) {
                    open.extend([(start + left, end), (start, start + left)]);
                    continue;
                }
            }
            out.push(Part { start: start as u32, end: end as u32, id: self.pieces.result(text) });
        }
    }
}
