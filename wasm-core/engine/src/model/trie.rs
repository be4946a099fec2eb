//! A trie over bytes: all keys that a text begins with.
//!
//! Built once from sorted keys, then only read. A node's children are neighbours in one array,
//! sorted by their byte, so a step is a search among few; the root has a table of its own, because
//! every walk begins there and it has the most children.

const NONE: u32 = u32::MAX;

/// A key and its value.
type Pair<'a> = (&'a [u8], u32);

/// While building: a node, the keys that go through it, and its depth.
type Open<'k, 'a> = (usize, &'k [Pair<'a>], usize);

#[derive(Debug, Clone, Copy)]
struct Node {
    byte: u8,
    /// The value of the key that ends here, or [`NONE`].
    value: u32,
    /// The children: `first..first + count`.
    first: u32,
    count: u16,
}

#[derive(Debug)]
pub struct Trie {
    nodes: Vec<Node>,
    /// The node of each first byte, or [`NONE`].
    roots: [u32; 256],
    longest: usize,
}

impl Default for Trie {
    fn default() -> Self {
        Self { nodes: Vec::new(), roots: [NONE; 256], longest: 0 }
    }
}

impl Trie {
    /// Keys with their values, in any order. Of equal keys the last one counts; an empty key is
    /// never found.
    pub fn new<'a>(keys: impl IntoIterator<Item = (&'a [u8], u32)>) -> Self {
        let mut sorted: Vec<Pair> = keys.into_iter().filter(|k| !k.0.is_empty()).collect();
        // Stable: equal keys stay in their order.
        sorted.sort_by(|a, b| a.0.cmp(b.0));
        let mut trie = Self {
            longest: sorted.iter().map(|key| key.0.len()).max().unwrap_or(0),
            ..Self::default()
        };
        let roots = trie.children(&sorted, 0);
        for (place, node) in (0u32..).zip(&trie.nodes).take(roots) {
            if let Some(root) = trie.roots.get_mut(usize::from(node.byte)) {
                *root = place;
            }
        }
        // Breadth first, so that siblings lie together: each entry of the queue is a node and the
        // keys that go through it.
        let mut queue: Vec<Open> = Vec::new();
        trie.enqueue(0, &sorted, 0, &mut queue);
        let mut next = 0;
        while let Some(&(node, keys, depth)) = queue.get(next) {
            next += 1;
            let (done, going_on) = keys.split_at(keys.partition_point(|k| k.0.len() == depth));
            let first = trie.nodes.len();
            let count = trie.children(going_on, depth);
            trie.enqueue(first, going_on, depth, &mut queue);
            if let Some(node) = trie.nodes.get_mut(node) {
                node.value = done.last().map_or(NONE, |key| key.1);
                node.first = first as u32;
                node.count = count as u16;
            }
        }
        trie
    }

    /// Appends a node for each byte that the keys have at `depth`; answers how many.
    fn children(&mut self, keys: &[Pair], depth: usize) -> usize {
        let groups = keys.chunk_by(|a, b| a.0.get(depth) == b.0.get(depth));
        let before = self.nodes.len();
        self.nodes.extend(groups.filter_map(|group| {
            let byte = *group.first()?.0.get(depth)?;
            Some(Node { byte, value: NONE, first: 0, count: 0 })
        }));
        self.nodes.len() - before
    }

    fn enqueue<'k, 'a>(
        &self,
        first: usize,
        keys: &'k [Pair<'a>],
        depth: usize,
        queue: &mut Vec<Open<'k, 'a>>,
    ) {
        let groups = keys.chunk_by(|a, b| a.0.get(depth) == b.0.get(depth));
        queue.extend((first..).zip(groups).map(|(node, group)| (node, group, depth + 1)));
    }

    /// The length of the longest key.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Calls `each(length, value)` for every key that `text` begins with, shortest first, and
    /// answers how many bytes of `text` some key begins with.
    #[inline]
    pub fn prefixes(&self, text: &[u8], mut each: impl FnMut(usize, u32)) -> usize {
        let Some((&first, rest)) = text.split_first() else { return 0 };
        let root = self.roots.get(usize::from(first)).copied().unwrap_or(NONE);
        let Some(mut node) = self.nodes.get(root as usize) else { return 0 };
        if node.value != NONE {
            each(1, node.value);
        }
        for (length, &byte) in (2..).zip(rest) {
            let start = node.first as usize;
            let children = self.nodes.get(start..start + usize::from(node.count));
            let children = children.unwrap_or_default();
            let found = match children {
                [only] if only.byte == byte => Some(only),
                [_] | [] => None,
                _ => children
                    .binary_search_by_key(&byte, |c| c.byte)
                    .ok()
                    .and_then(|at| children.get(at)),
            };
            let Some(found) = found else { return length - 1 };
            node = found;
            if node.value != NONE {
                each(length, node.value);
            }
        }
        text.len()
    }

    /// The longest key that `text` begins with: its length and value.
    #[inline]
    pub fn longest_prefix(&self, text: &[u8]) -> Option<(usize, u32)> {
        let mut last = None;
        self.prefixes(text, |length, value| last = Some((length, value)));
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::random::Random;

    #[test]
    fn finds_what_a_linear_search_finds() {
        let mut random = Random::new(5);
        for round in 0..300 {
            let word = |random: &mut Random| -> Vec<u8> {
                (0..random.below(6)).map(|_| b'a' + random.below(3) as u8 * 60).collect()
            };
            let keys: Vec<Vec<u8>> = (0..random.below(60)).map(|_| word(&mut random)).collect();
            let trie = Trie::new(keys.iter().map(Vec::as_slice).zip(0..));
            for _ in 0..50 {
                let text: Vec<u8> = (0..8).map(|_| b'a' + random.below(3) as u8 * 60).collect();
                let mut expected = Vec::new();
                for length in 1..=text.len() {
                    if let Some(at) = keys.iter().rposition(|key| *key == text[..length]) {
                        expected.push((length, at as u32));
                    }
                }
                let mut found = Vec::new();
                let depth = trie.prefixes(&text, |length, value| found.push((length, value)));
                assert_eq!(found, expected, "round {round}");
                let begins = |length: &usize| keys.iter().any(|k| k.starts_with(&text[..*length]));
                assert_eq!(depth, (1..=text.len()).rev().find(begins).unwrap_or(0));
                assert_eq!(trie.longest_prefix(&text), expected.last().copied());
            }
        }
    }

    #[test]
    fn nothing_in_nothing() {
        assert_eq!(Trie::default().longest_prefix(b"abc"), None);
        assert_eq!(Trie::new([(&b""[..], 1)]).longest_prefix(b"abc"), None);
        assert_eq!(Trie::new([(&b"ab"[..], 1)]).longest(), 2);
    }
}
