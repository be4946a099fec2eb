//! What a pattern does at the border between two characters, whatever stands around them.
//!
//! Every `Set` of a pattern is a place. One place follows another if some match may read a character
//! by the one and the next character by the other (Glushkov's construction; repetition counts are
//! forgotten, which only adds followers). If no place that reads `left` is followed by one that reads
//! `right`, no match holds both, so none crosses the border. An assertion looks beyond the character
//! that was read last, so it is a place as well: `left` must not be followed by one, or the end of
//! the first half would show. What looks behind is not analysed at all: the second half has nothing
//! behind its start.
//!
//! Then, of a text that is cut there, the matches are those of the two halves: an attempt that begins
//! in the first half reads nothing of the second that could change its outcome, and one that begins
//! in the second looks forward only.

use super::ast::{Assertion, Node};
use super::set::CodeSet;

/// Larger patterns are not analysed.
const MOST_PLACES: usize = 1024;

#[derive(Debug)]
pub struct Borders {
    /// `None`: an assertion.
    places: Vec<Option<usize>>,
    sets: Vec<CodeSet>,
    follows: Vec<Vec<usize>>,
    has_atomic: bool,
}

/// What is known of a border that no match crosses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Border {
    /// No match ever holds the character before it.
    pub left_never: bool,
    pub right_never: bool,
    /// An attempt at the character behind it may be judged by that character alone.
    pub right_alone: bool,
}

/// A part of a pattern.
struct Part {
    nullable: bool,
    first: Vec<usize>,
    last: Vec<usize>,
}

impl Part {
    fn empty() -> Self {
        Self { nullable: true, first: Vec::new(), last: Vec::new() }
    }
}

impl Borders {
    /// `None`: the pattern looks behind, may match nothing, or is too large.
    pub fn of(node: &Node) -> Option<Self> {
        if node.is_nullable() {
            return None;
        }
        let mut borders =
            Self { places: Vec::new(), sets: Vec::new(), follows: Vec::new(), has_atomic: false };
        borders.part(node)?;
        Some(borders)
    }

    /// `None`: a match may cross the border, or may see it.
    pub fn between(&self, left: char, right: char) -> Option<Border> {
        let lefts = self.reading(left);
        let rights = self.reading(right);
        let is_assertion = |place: &usize| self.places.get(*place).is_none_or(Option::is_none);
        let follows = |place: &usize| self.follows.get(*place).map_or(&[][..], Vec::as_slice);
        for place in &lefts {
            if follows(place).iter().any(|next| is_assertion(next) || rights.contains(next)) {
                return None;
            }
        }
        let right_looks = rights.iter().any(|place| follows(place).iter().any(is_assertion));
        Some(Border {
            left_never: lefts.is_empty(),
            right_never: rights.is_empty(),
            right_alone: !right_looks && !self.has_atomic,
        })
    }

    fn reading(&self, c: char) -> Vec<usize> {
        let c = u32::from(c);
        let reads: Vec<bool> = self.sets.iter().map(|set| set.contains(c)).collect();
        let places = self.places.iter().enumerate();
        places
            .filter(|(_, set)| set.is_some_and(|set| reads.get(set).copied().unwrap_or(true)))
            .map(|(place, _)| place)
            .collect()
    }

    fn place(&mut self, set: Option<&CodeSet>) -> Option<Part> {
        let place = self.places.len();
        if place == MOST_PLACES {
            return None;
        }
        let set = set.map(|set| match self.sets.iter().position(|known| known == set) {
            Some(known) => known,
            None => {
                self.sets.push(set.clone());
                self.sets.len() - 1
            }
        });
        self.places.push(set);
        self.follows.push(Vec::new());
        Some(Part { nullable: set.is_none(), first: vec![place], last: vec![place] })
    }

    fn part(&mut self, node: &Node) -> Option<Part> {
        match node {
            Node::Empty => Some(Part::empty()),
            Node::Set(set) => self.place(Some(set)),
            Node::Concat(nodes) => nodes.iter().try_fold(Part::empty(), |before, node| {
                let part = self.part(node)?;
                Some(self.joined(before, part))
            }),
            Node::Alternate(nodes) => {
                let mut all = Part { nullable: false, ..Part::empty() };
                for node in nodes {
                    let part = self.part(node)?;
                    all.nullable |= part.nullable;
                    all.first.extend(part.first);
                    all.last.extend(part.last);
                }
                Some(all)
            }
            Node::Repeat { max: Some(0), .. } => Some(Part::empty()),
            Node::Repeat { node, min, max, .. } => {
                let mut part = self.part(node)?;
                if *max != Some(1) {
                    self.follow(&part.last, &part.first);
                }
                part.nullable |= *min == 0;
                Some(part)
            }
            Node::Atomic(node) => {
                self.has_atomic = true;
                self.part(node)
            }
            // It reads one character, the next one.
            Node::Look { behind: false, node, .. } if reads_one(node) => self.place(None),
            Node::Assert(Assertion::End | Assertion::LineEnd) => self.place(None),
            Node::Look { .. } | Node::Assert(_) => None,
        }
    }

    fn joined(&mut self, mut before: Part, part: Part) -> Part {
        self.follow(&before.last, &part.first);
        if before.nullable {
            before.first.extend(&part.first);
        }
        let mut last = part.last;
        if part.nullable {
            last.extend(before.last);
        }
        Part { nullable: before.nullable && part.nullable, first: before.first, last }
    }

    fn follow(&mut self, lasts: &[usize], firsts: &[usize]) {
        for last in lasts {
            if let Some(follows) = self.follows.get_mut(*last) {
                follows.extend(firsts);
                follows.sort_unstable();
                follows.dedup();
            }
        }
    }
}

/// Whether it is a set in disguise.
fn reads_one(node: &Node) -> bool {
    match node {
        Node::Set(_) => true,
        Node::Concat(nodes) => matches!(nodes.as_slice(), [node] if reads_one(node)),
        Node::Alternate(nodes) => nodes.iter().all(reads_one),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn between(pattern: &str, left: char, right: char) -> Option<Border> {
        Borders::of(&parse(pattern).unwrap()).unwrap().between(left, right)
    }

    #[test]
    fn no_match_holds_both() {
        let words = r" ?\p{L}+| ?\p{N}+|\s+(?!\S)|\s+";
        assert!(between(words, 'a', ' ').is_some());
        assert!(between(words, 'a', '1').is_some());
        assert_eq!(between(words, 'a', 'b'), None);
        assert_eq!(between(words, ' ', 'b'), None);
        // The end of the first half would be seen.
        assert_eq!(between(words, ' ', '\n'), None);
        assert_eq!(between(words, '\n', '.'), None);
        let never = between(words, '.', ',').unwrap();
        assert!(never.left_never && never.right_never);
    }

    #[test]
    fn counts_and_options_add_followers() {
        assert_eq!(between("[0-9]{1,3}", '1', '2'), None);
        assert_eq!(between("ab?c", 'a', 'c'), None);
        assert!(between("ab?c", 'b', 'b').is_some());
        assert_eq!(between("(?:ab)+", 'b', 'a'), None);
        assert!(between("(?:ab){1}", 'b', 'a').is_some());
    }

    #[test]
    fn what_looks_behind_or_matches_nothing_is_not_analysed() {
        for pattern in ["(?<=a)b", r"\bword", "^a", "a*", "a(?=bc)"] {
            assert!(Borders::of(&parse(pattern).unwrap()).is_none(), "{pattern}");
        }
    }
}
