//! SentencePiece's byte-pair encoding over numbers: the same merges in the same order, without a
//! look at the text of a pair.
//!
//! What two neighbours merge to depends on their text alone, so every way to cut a piece into two
//! symbols is listed once, when the file is loaded. Several merges may be of one score, and the
//! leftmost goes first, whatever it makes: so a merge is ordered by the class of its score and then
//! by its place. [`super::agenda`] is the slow version.

use super::{Part, Pieces};
use crate::definition::PieceKind;
use crate::definition::{Bpe as Listed, Merge};
use crate::model::bpe::merge::pairs::{PairTable, NONE};
use crate::model::bpe::spaced::joins::Joins;
use crate::model::bpe::{Bpe, Reading};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Texts of up to this many symbols are searched for their best pair again and again.
const SHORT: usize = 32;
/// Files whose pieces would take more steps than this to list the merges of are served slowly.
const MOST_STEPS: usize = 1 << 26;
const ABSENT: usize = usize::MAX;

#[derive(Debug)]
pub struct Merges {
    pairs: PairTable,
    /// By rank in `pairs`: which scores come first. Equal scores are of one class.
    classes: Vec<u32>,
    /// Symbols of the characters of the basic plane, then of the others.
    plane: Vec<u32>,
    astral: HashMap<char, u32>,
    /// Symbols from here on are characters that are no pieces of their own.
    bound: u32,
    pub joins: Joins,
    /// The same merges as listed ones, where all that can be seen is ids. `None`: see [`listed`].
    pub bpe: Option<Box<Bpe>>,
}

/// Working memory, kept from text to text.
#[derive(Debug, Default)]
pub struct Merger {
    ids: Vec<u32>,
    starts: Vec<u32>,
    /// The rank at which each symbol merges with the next, and its class.
    ranks: Vec<u32>,
    classes: Vec<u32>,
    next: Vec<usize>,
    previous: Vec<usize>,
    /// Class, place and rank.
    queue: BinaryHeap<Reverse<(u32, u32, u32)>>,
}

impl Merges {
    /// `None` where only the slow way is right or quick to prepare.
    pub fn new(pieces: &Pieces) -> Option<Self> {
        let steps = pieces.ids().map(|(_, text, _)| text.len().saturating_mul(text.len()));
        if pieces.has_unused() || steps.fold(0, usize::saturating_add) > MOST_STEPS {
            return None;
        }
        let found = |kind| matches!(kind, PieceKind::Normal | PieceKind::UserDefined);
        let bound = pieces.vocab.id_bound();
        let mut chars: HashMap<char, u32> = HashMap::new();
        let mut next = bound;
        for (_, text, _) in pieces.ids().filter(|(_, _, kind)| found(*kind)) {
            let mut buffer = [0; 4];
            for c in text.chars() {
                chars.entry(c).or_insert_with(|| {
                    pieces.possible(c.encode_utf8(&mut buffer)).unwrap_or_else(|| {
                        next += 1;
                        next - 1
                    })
                });
            }
        }
        // A user-defined symbol is frozen wherever it stands, so nothing merges with it or to it.
        let symbol = |text: &str| -> Option<u32> {
            let mut all = text.chars();
            match pieces.possible(text) {
                Some(id) => Some(id).filter(|&id| pieces.kind(id) == PieceKind::Normal),
                None => match (all.next(), all.next()) {
                    (Some(c), None) => chars.get(&c).copied(),
                    _ => None,
                },
            }
        };
        let mut scored: Vec<(f32, Merge)> = Vec::new();
        for (product, text, _) in pieces.ids().filter(|(_, _, kind)| *kind == PieceKind::Normal) {
            let score = pieces.scores.get(product as usize).copied().unwrap_or_default();
            for (at, _) in text.char_indices().skip(1) {
                let (left, right) = text.split_at_checked(at)?;
                if let (Some(left), Some(right)) = (symbol(left), symbol(right)) {
                    // The sum makes one zero of two.
                    scored.push((score + 0.0, Merge { left, right, product }));
                }
            }
        }
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut classes = Vec::with_capacity(scored.len());
        for class in (0u32..).zip(scored.chunk_by(|a, b| a.0 == b.0)) {
            classes.extend(class.1.iter().map(|_| class.0));
        }
        let merges: Vec<Merge> = scored.into_iter().map(|(_, merge)| merge).collect();
        let bpe = if next == bound { listed(pieces, &merges, &classes) } else { None };
        let mut plane = vec![pieces.unk; 0x1_0000];
        for (&c, &id) in &chars {
            if let Some(place) = plane.get_mut(c as usize) {
                *place = id;
            }
        }
        chars.retain(|&c, _| c as usize >= plane.len());
        let texts = pieces.ids().filter(|(_, _, kind)| found(*kind)).map(|(_, text, _)| text);
        Some(Self {
            pairs: PairTable::ranked(&merges),
            classes,
            plane,
            astral: chars,
            bound,
            joins: Joins::of_texts(texts),
            bpe: bpe.map(Box::new),
        })
    }

    pub fn parts(&self, pieces: &Pieces, text: &str, merger: &mut Merger, out: &mut Vec<Part>) {
        merger.ids.clear();
        merger.starts.clear();
        let mut start = 0;
        while let Some((length, user_defined)) = pieces.symbol(text, start) {
            let symbol = text.get(start..start + length).unwrap_or_default();
            let id = match user_defined {
                true => pieces.possible(symbol),
                false => symbol.chars().next().map(|c| self.symbol_of(c, pieces.unk)),
            };
            merger.ids.push(id.unwrap_or(pieces.unk));
            merger.starts.push(start as u32);
            start += length;
        }
        merger.run(self);
        let ends = merger.starts.iter().skip(1).copied().chain([text.len() as u32]);
        for ((&id, &start), end) in merger.ids.iter().zip(&merger.starts).zip(ends) {
            let id = if id < self.bound { id } else { pieces.unk };
            out.push(Part { start, end, id });
        }
    }

    /// The symbol of a character; that of unknown ones merges with nothing.
    #[inline]
    fn symbol_of(&self, c: char, unk: u32) -> u32 {
        match self.plane.get(c as usize) {
            Some(&id) => id,
            None => self.astral.get(&c).copied().unwrap_or(unk),
        }
    }

    /// The rank at which two symbols merge, and its class.
    #[inline]
    fn rank(&self, left: u32, right: u32) -> (u32, u32) {
        let rank = self.pairs.rank(left, right);
        (rank, self.classes.get(rank as usize).copied().unwrap_or(NONE))
    }
}

/// The merges as a list, with ties. `None` where a character is a piece that text never is.
fn listed(pieces: &Pieces, merges: &[Merge], classes: &[u32]) -> Option<Bpe> {
    let is_text = |id: u32| matches!(pieces.kind(id), PieceKind::Normal | PieceKind::UserDefined);
    let mut entries = pieces.vocab.iter();
    if !entries.all(|(text, id)| text.chars().nth(1).is_some() || is_text(id)) {
        return None;
    }
    let definition = Listed {
        vocab: pieces.vocab.clone(),
        merges: merges.to_vec(),
        unk: Some(pieces.unk),
        fuse_unk: false,
        byte_fallback: pieces.bytes.is_some(),
        ignore_merges: false,
        continuing_subword_prefix: None,
        end_of_word_suffix: None,
    };
    let bpe = Bpe::with_ties(definition, Reading::Characters, classes.to_vec());
    Some(bpe).filter(Bpe::has_parts)
}

impl Merger {
    fn run(&mut self, merges: &Merges) {
        self.ranks.clear();
        self.classes.clear();
        for pair in self.ids.windows(2) {
            let [left, right] = pair else { continue };
            let (rank, class) = merges.rank(*left, *right);
            self.ranks.push(rank);
            self.classes.push(class);
        }
        if self.ids.len() <= SHORT {
            self.run_short(merges);
        } else {
            self.run_long(merges);
        }
    }

    fn run_short(&mut self, merges: &Merges) {
        loop {
            let best = self.classes.iter().copied().enumerate().min_by_key(|&(_, class)| class);
            let Some((at, _)) = best.filter(|best| best.1 != NONE) else { return };
            let product = self.ranks.get(at).map_or(NONE, |&rank| merges.pairs.product(rank));
            self.ids.remove(at + 1);
            self.starts.remove(at + 1);
            self.ranks.remove(at);
            self.classes.remove(at);
            set(&mut self.ids, at, product);
            self.rank_at(merges, at);
            if let Some(before) = at.checked_sub(1) {
                self.rank_at(merges, before);
            }
        }
    }

    /// Ranks the neighbours at `at` and `at + 1` again.
    fn rank_at(&mut self, merges: &Merges, at: usize) {
        if let (Some(&left), Some(&right)) = (self.ids.get(at), self.ids.get(at + 1)) {
            let (rank, class) = merges.rank(left, right);
            set(&mut self.ranks, at, rank);
            set(&mut self.classes, at, class);
        }
    }

    fn run_long(&mut self, merges: &Merges) {
        let count = self.ids.len();
        self.ranks.push(NONE);
        self.classes.push(NONE);
        self.next.clear();
        self.next.extend((1..count).chain([ABSENT]));
        self.previous.clear();
        self.previous.extend([ABSENT].into_iter().chain(0..count - 1));
        let first = (0u32..).zip(self.classes.iter().zip(&self.ranks));
        let first = first.filter(|(_, (class, _))| **class != NONE);
        let first: Vec<_> = first.map(|(at, (&class, &rank))| Reverse((class, at, rank))).collect();
        self.queue = BinaryHeap::from(first);
        while let Some(Reverse((_, at, rank))) = self.queue.pop() {
            let at = at as usize;
            if self.ranks.get(at) != Some(&rank) {
                continue;
            }
            let right = self.next.get(at).copied().unwrap_or(ABSENT);
            let after = self.next.get(right).copied().unwrap_or(ABSENT);
            set(&mut self.ids, at, merges.pairs.product(rank));
            set(&mut self.ranks, right, NONE);
            set(&mut self.next, at, after);
            set(&mut self.previous, after, at);
            self.link(merges, at, after);
            let before = self.previous.get(at).copied().unwrap_or(ABSENT);
            self.link(merges, before, at);
        }
        let mut kept = 0;
        let mut at = 0;
        while let (Some(&id), Some(&start)) = (self.ids.get(at), self.starts.get(at)) {
            set(&mut self.ids, kept, id);
            set(&mut self.starts, kept, start);
            kept += 1;
            at = self.next.get(at).copied().unwrap_or(ABSENT);
        }
        self.ids.truncate(kept);
        self.starts.truncate(kept);
    }

    /// Ranks two symbols that have become neighbours.
    fn link(&mut self, merges: &Merges, left: usize, right: usize) {
        let (Some(&first), second) = (self.ids.get(left), self.ids.get(right)) else { return };
        let (rank, class) = second.map_or((NONE, NONE), |&second| merges.rank(first, second));
        set(&mut self.ranks, left, rank);
        if rank != NONE {
            self.queue.push(Reverse((class, left as u32, rank)));
        }
    }
}

#[inline]
fn set<T>(values: &mut [T], at: usize, value: T) {
    if let Some(place) = values.get_mut(at) {
        *place = value;
    }
}
