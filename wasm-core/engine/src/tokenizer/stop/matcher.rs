//! Finds the stop sequence that ends first, and among those the longest.
//!
//! An automaton over bytes (Aho and Corasick's): its state is the longest end of the text that
//! begins some sequence. That is the only rule that can be followed without waiting and that does
//! not depend on how tokens cut the text. It also says what has to be held back: exactly that end,
//! unless it is a whole sequence that begins no longer one.
//!
//! Sequences and text are UTF-8, and text comes in whole characters: what is held begins where a
//! character begins and ends where one ends.

use crate::error::{Error, ErrorKind, Result};

/// Together the sequences have no more bytes than this.
pub const MAX_BYTES: usize = 1 << 16;

const ROOT: u32 = 0;
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    pub text: String,
    pub visible: bool,
    /// Its place in the list that it comes from, the visible one or the other.
    pub index: u32,
}

#[derive(Debug)]
struct Node {
    /// By byte, sorted.
    next: Vec<(u8, u32)>,
    /// The node of the longest proper end of this one's text.
    shorter: u32,
    depth: u32,
    /// A sequence that begins with this node's text.
    begins: u32,
    /// The longest sequence that ends here.
    found: u32,
    /// The node of the longest end that begins a sequence and is none itself.
    held: u32,
}

/// Where the search stands. Equal for equal sequences in every process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place(pub u32);

#[derive(Debug)]
pub struct Matcher {
    sequences: Vec<Sequence>,
    nodes: Vec<Node>,
}

impl Matcher {
    /// Where a text is listed twice the first one counts.
    pub fn new(sequences: Vec<Sequence>) -> Result<Self> {
        let total: usize = sequences.iter().map(|sequence| sequence.text.len()).sum();
        if total > MAX_BYTES {
            return Err(Error::limit(format!(
                "the stop sequences have {total} bytes together, more than {MAX_BYTES}"
            )));
        }
        let mut matcher = Self { sequences: Vec::new(), nodes: vec![Node::new(0, NONE)] };
        for (number, sequence) in (0u32..).zip(&sequences) {
            if sequence.text.is_empty() {
                return Err(Error::new(
                    ErrorKind::BadArgument,
                    "a stop sequence is empty: it would stop before the first character",
                ));
            }
            matcher.insert(number, &sequence.text);
        }
        matcher.sequences = sequences;
        matcher.link();
        Ok(matcher)
    }

    /// Walks on over `text`. Answers the sequence that ends first, and where in the text, if one
    /// ends in it and `accept` is set; then the place is that of its end.
    pub fn walk(&self, place: &mut Place, text: &str, accept: bool) -> Option<(&Sequence, usize)> {
        for (at, byte) in text.bytes().enumerate() {
            place.0 = self.step(place.0, byte);
            if !accept {
                continue;
            }
            let found = self.nodes.get(place.0 as usize).map_or(NONE, |node| node.found);
            if let Some(sequence) = self.sequences.get(found as usize) {
                return Some((sequence, at + 1));
            }
        }
        None
    }

    /// The end of the text so far that may still become a sequence.
    pub fn held(&self, place: Place) -> &str {
        let node =
            self.nodes.get(place.0 as usize).and_then(|node| self.nodes.get(node.held as usize));
        let Some(node) = node else { return "" };
        let sequence = self.sequences.get(node.begins as usize);
        sequence.and_then(|sequence| sequence.text.get(..node.depth as usize)).unwrap_or_default()
    }

    pub fn knows(&self, place: Place) -> bool {
        (place.0 as usize) < self.nodes.len()
    }

    fn insert(&mut self, number: u32, text: &str) {
        let mut at = ROOT;
        for byte in text.bytes() {
            at = match self.child(at, byte) {
                Some(child) => child,
                None => {
                    let new = self.nodes.len() as u32;
                    let depth = self.nodes.get(at as usize).map_or(0, |node| node.depth + 1);
                    self.nodes.push(Node::new(depth, number));
                    if let Some(node) = self.nodes.get_mut(at as usize) {
                        let place = node.next.partition_point(|edge| edge.0 < byte);
                        node.next.insert(place, (byte, new));
                    }
                    new
                }
            };
        }
        if let Some(node) = self.nodes.get_mut(at as usize).filter(|node| node.found == NONE) {
            node.found = number;
        }
    }

    /// Breadth first: what is shorter is complete before what is longer asks for it.
    fn link(&mut self) {
        let mut queue = std::collections::VecDeque::from([ROOT]);
        while let Some(at) = queue.pop_front() {
            let Some(node) = self.nodes.get(at as usize) else { continue };
            let (edges, shorter) = (node.next.clone(), node.shorter);
            for (byte, child) in edges {
                let behind = match at {
                    ROOT => ROOT,
                    _ => self.step(shorter, byte),
                };
                let of = self.nodes.get(behind as usize).map(|node| (node.found, node.held));
                let (found, held) = of.unwrap_or((NONE, ROOT));
                if let Some(node) = self.nodes.get_mut(child as usize) {
                    node.shorter = behind;
                    node.held = if node.next.is_empty() { held } else { child };
                    if node.found == NONE {
                        node.found = found;
                    }
                }
                queue.push_back(child);
            }
        }
    }

    fn step(&self, mut at: u32, byte: u8) -> u32 {
        loop {
            match (self.child(at, byte), at) {
                (Some(child), _) => return child,
                (None, ROOT) => return ROOT,
                (None, _) => at = self.nodes.get(at as usize).map_or(ROOT, |node| node.shorter),
            }
        }
    }

    fn child(&self, at: u32, byte: u8) -> Option<u32> {
        let edges = &self.nodes.get(at as usize)?.next;
        let place = edges.binary_search_by_key(&byte, |edge| edge.0).ok()?;
        edges.get(place).map(|edge| edge.1)
    }
}

impl Node {
    fn new(depth: u32, begins: u32) -> Self {
        Self { next: Vec::new(), shorter: ROOT, depth, begins, found: NONE, held: ROOT }
    }
}
