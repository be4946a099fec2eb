//! A regular expression as it was read.

use super::set::CodeSet;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    Empty,
    /// One character out of a set.
    Set(CodeSet),
    Concat(Vec<Node>),
    /// In order of preference.
    Alternate(Vec<Node>),
    Repeat {
        node: Box<Node>,
        min: u32,
        /// `None`: no bound.
        max: Option<u32>,
        greed: Greed,
    },
    /// What matched first is not tried otherwise.
    Atomic(Box<Node>),
    Look {
        behind: bool,
        negative: bool,
        node: Box<Node>,
    },
    Assert(Assertion),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Greed {
    Greedy,
    Lazy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assertion {
    /// `\A`
    Start,
    /// `\z`
    End,
    /// `\Z`: the end, or before a newline that ends the text.
    EndOrNewline,
    /// `^`: the start, or behind a newline that does not end the text.
    LineStart,
    /// `$`: the end, or before a newline.
    LineEnd,
    /// `\b`
    WordBorder,
    /// `\B`
    NoWordBorder,
}

impl Node {
    pub fn is_nullable(&self) -> bool {
        match self {
            Self::Empty | Self::Look { .. } | Self::Assert(_) => true,
            Self::Set(_) => false,
            Self::Concat(nodes) => nodes.iter().all(Self::is_nullable),
            Self::Alternate(nodes) => nodes.iter().any(Self::is_nullable),
            Self::Repeat { node, min, .. } => *min == 0 || node.is_nullable(),
            Self::Atomic(node) => node.is_nullable(),
        }
    }

    /// How many characters any match has; `None`: not always as many.
    pub fn length(&self) -> Option<u32> {
        match self {
            Self::Empty | Self::Look { .. } | Self::Assert(_) => Some(0),
            Self::Set(_) => Some(1),
            Self::Concat(nodes) => nodes.iter().try_fold(0, |sum: u32, node| {
                node.length().and_then(|length| sum.checked_add(length))
            }),
            Self::Alternate(nodes) => {
                let mut lengths = nodes.iter().map(Self::length);
                let first = lengths.next()??;
                lengths.all(|length| length == Some(first)).then_some(first)
            }
            Self::Repeat { node, min, max, .. } if *max == Some(*min) => {
                node.length()?.checked_mul(*min)
            }
            Self::Repeat { .. } => None,
            Self::Atomic(node) => node.length(),
        }
    }
}
