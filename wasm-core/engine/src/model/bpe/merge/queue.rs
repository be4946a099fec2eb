//! The order of merges in a long piece: smallest rank first, leftmost first within a rank.
//!
//! A binary heap over all positions would cost n log n scattered memory accesses. Here each rank
//! has a list of positions and only the *distinct* ranks stand in a heap: in a megabyte of one
//! letter that is twenty of them. Positions reach a list almost always in ascending order, because
//! they are found from left to right; the few lists that are not are sorted when their turn comes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NIL: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct List {
    head: u32,
    tail: u32,
}

const NO_LIST: List = List { head: NIL, tail: NIL };

#[derive(Debug, Default)]
pub struct MergeQueue {
    /// By rank. As long as the list of merges, so it is made at the first long piece only.
    lists: Vec<List>,
    /// (position, next node)
    nodes: Vec<(u32, u32)>,
    ranks: BinaryHeap<Reverse<u32>>,
}

impl MergeQueue {
    /// Empties the queue and prepares it for `ranks` different ranks.
    pub fn reset(&mut self, ranks: usize) {
        while let Some(Reverse(rank)) = self.ranks.pop() {
            if let Some(list) = self.lists.get_mut(rank as usize) {
                *list = NO_LIST;
            }
        }
        self.nodes.clear();
        if self.lists.len() < ranks {
            self.lists.resize(ranks, NO_LIST);
        }
    }

    pub fn push(&mut self, rank: u32, position: u32) {
        let Some(list) = self.lists.get_mut(rank as usize) else { return };
        let node = self.nodes.len() as u32;
        self.nodes.push((position, NIL));
        if list.head == NIL {
            list.head = node;
            self.ranks.push(Reverse(rank));
        } else if let Some(tail) = self.nodes.get_mut(list.tail as usize) {
            tail.1 = node;
        }
        list.tail = node;
    }

    /// How many positions were queued since the last reset.
    #[cfg(test)]
    pub fn pushed(&self) -> usize {
        self.nodes.len()
    }

    /// Takes the smallest rank and all its positions, ascending, into `positions`.
    pub fn pop(&mut self, positions: &mut Vec<u32>) -> Option<u32> {
        let Reverse(rank) = self.ranks.pop()?;
        positions.clear();
        let mut node = match self.lists.get_mut(rank as usize) {
            Some(list) => std::mem::replace(list, NO_LIST).head,
            None => NIL,
        };
        let mut ascending = true;
        while let Some(&(position, next)) = self.nodes.get(node as usize) {
            ascending &= positions.last().is_none_or(|&last| last <= position);
            positions.push(position);
            node = next;
        }
        if !ascending {
            positions.sort_unstable();
        }
        Some(rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pops_by_rank_then_by_position() {
        let mut queue = MergeQueue::default();
        let mut positions = Vec::new();
        for _ in 0..2 {
            queue.reset(10);
            for (rank, position) in [(5, 4), (2, 9), (5, 1), (2, 10), (9, 0)] {
                queue.push(rank, position);
            }
            assert_eq!(queue.pop(&mut positions), Some(2));
            assert_eq!(positions, [9, 10]);
            queue.push(5, 0);
            assert_eq!(queue.pop(&mut positions), Some(5));
            assert_eq!(positions, [0, 1, 4]);
            // What is left over must not leak into the next use.
        }
        queue.reset(10);
        assert_eq!(queue.pop(&mut positions), None);
    }
}
