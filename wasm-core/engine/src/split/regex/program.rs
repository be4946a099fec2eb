//! A pattern as instructions for the [`Machine`](super::Machine).

use std::collections::HashMap;

use super::ast::{Assertion, Greed, Node};
use super::set::CodeSet;
use crate::error::{Error, Result};

/// Counted repetitions are written out; this bounds what a pattern may become.
const MAX_OPS: usize = 1 << 16;

/// An index into [`Program::ops`].
pub type Pc = usize;

#[derive(Debug, Clone)]
pub enum Op {
    Match,
    Fail,
    /// One character of a set.
    Set(usize),
    /// As many characters of a set as there are; fewer if what follows asks for it.
    Run {
        set: usize,
        min: usize,
        max: usize,
    },
    /// The same, but fewer are never tried.
    RunAll {
        set: usize,
        min: usize,
        max: usize,
    },
    /// As few characters of a set as will do.
    RunFew {
        set: usize,
        min: usize,
        max: usize,
    },
    Jump(Pc),
    /// What follows, and if that fails `otherwise`. The guard tells early that it would fail.
    Try {
        guard: usize,
        otherwise: Pc,
    },
    /// `skip_to`, and if that fails what follows.
    TryLater {
        skip_to: Pc,
    },
    /// What follows up to `Match` is matched on its own, then `next` goes on from there.
    Atomic {
        next: Pc,
    },
    /// What follows up to `Match` must, or must not, match here.
    LookAhead {
        negative: bool,
        next: Pc,
    },
    /// One of the alternatives, each of so many characters, must, or must not, end here.
    LookBehind {
        negative: bool,
        alternatives: Box<[(u32, Pc)]>,
        next: Pc,
    },
    Assert(Assertion),
}

/// A set of characters for quick tests.
#[derive(Debug)]
pub struct CharSet {
    /// The ASCII characters, a bit each.
    ascii: u128,
    others: Box<[(u32, u32)]>,
}

impl CharSet {
    fn new(set: &CodeSet) -> Self {
        let ascii = (0..128).filter(|c| set.contains(*c)).fold(0, |bits, c| bits | 1u128 << c);
        let others = set.ranges().iter().filter(|(_, last)| *last >= 0x80).copied().collect();
        Self { ascii, others }
    }

    #[inline]
    pub fn has_ascii(&self, byte: u8) -> bool {
        self.ascii >> (byte & 0x7F) & 1 == 1
    }

    #[inline]
    pub fn has_other(&self, c: u32) -> bool {
        let behind = self.others.partition_point(|(first, _)| *first <= c);
        behind.checked_sub(1).and_then(|at| self.others.get(at)).is_some_and(|(_, last)| c <= *last)
    }
}

/// The bytes that a match can start with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Guard {
    bytes: [u64; 4],
    /// It can match nothing, and so at any byte and at the end of the text.
    nullable: bool,
}

impl Guard {
    const NONE: Self = Self { bytes: [0; 4], nullable: false };
    const NULLABLE: Self = Self { bytes: [0; 4], nullable: true };

    #[inline]
    pub fn admits(&self, byte: Option<&u8>) -> bool {
        let has = |byte: &u8| self.bytes[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1;
        self.nullable || byte.is_some_and(has)
    }

    pub fn admits_nothing(&self) -> bool {
        self.nullable
    }

    fn or(mut self, other: &Self) -> Self {
        for (bytes, also) in self.bytes.iter_mut().zip(other.bytes) {
            *bytes |= also;
        }
        self.nullable |= other.nullable;
        self
    }

    fn then(self, next: impl FnOnce() -> Self) -> Self {
        if !self.nullable {
            return self;
        }
        let next = next();
        Self { nullable: next.nullable, ..self.or(&next) }
    }

    fn of_set(set: &CodeSet) -> Self {
        let mut guard = Self::NONE;
        let lead = |c: u32| match c {
            0..0x80 => c as u8,
            0x80..0x800 => 0xC0 | (c >> 6) as u8,
            0x800..0x1_0000 => 0xE0 | (c >> 12) as u8,
            _ => 0xF0 | (c >> 18) as u8,
        };
        for (first, last) in set.ranges() {
            for byte in lead(*first)..=lead(*last) {
                guard.bytes[usize::from(byte >> 6)] |= 1 << (byte & 63);
            }
        }
        guard
    }

    fn of(node: &Node) -> Self {
        match node {
            Node::Empty | Node::Look { .. } | Node::Assert(_) => Self::NULLABLE,
            Node::Set(set) => Self::of_set(set),
            Node::Concat(nodes) => Self::of_all(nodes),
            Node::Alternate(nodes) => {
                nodes.iter().fold(Self::NONE, |guard, node| guard.or(&Self::of(node)))
            }
            Node::Repeat { max: Some(0), .. } => Self::NULLABLE,
            Node::Repeat { node, min: 0, .. } => Self::of(node).or(&Self::NULLABLE),
            Node::Repeat { node, .. } | Node::Atomic(node) => Self::of(node),
        }
    }

    fn of_all(nodes: &[Node]) -> Self {
        match nodes.split_first() {
            Some((first, rest)) => Self::of(first).then(|| Self::of_all(rest)),
            None => Self::NULLABLE,
        }
    }
}

#[derive(Debug)]
pub struct Program {
    pub ops: Vec<Op>,
    pub sets: Vec<CharSet>,
    pub guards: Vec<Guard>,
    /// What any match starts with.
    pub start: Guard,
    /// `\w`, for the word borders.
    pub word: CharSet,
}

pub fn compile(node: &Node) -> Result<Program> {
    let mut compiler = Compiler::default();
    compiler.node(node)?;
    compiler.emit(Op::Match)?;
    let Compiler { ops, sets, guards, .. } = compiler;
    let word = CharSet::new(&CodeSet::named("word").unwrap_or_default());
    Ok(Program { ops, sets, guards, start: Guard::of(node), word })
}

#[derive(Default)]
struct Compiler {
    ops: Vec<Op>,
    sets: Vec<CharSet>,
    known_sets: HashMap<CodeSet, usize>,
    guards: Vec<Guard>,
    known_guards: HashMap<Guard, usize>,
    /// How many nodes were compiled; an empty one, repeated, leaves no other trace.
    nodes: usize,
}

impl Compiler {
    fn emit(&mut self, op: Op) -> Result<Pc> {
        if self.ops.len() >= MAX_OPS {
            return Err(too_large());
        }
        self.ops.push(op);
        Ok(self.ops.len() - 1)
    }

    fn set(&mut self, set: &CodeSet) -> usize {
        if let Some(known) = self.known_sets.get(set) {
            return *known;
        }
        self.sets.push(CharSet::new(set));
        self.known_sets.insert(set.clone(), self.sets.len() - 1);
        self.sets.len() - 1
    }

    fn guard(&mut self, guard: Guard) -> usize {
        let guards = &mut self.guards;
        *self.known_guards.entry(guard).or_insert_with(|| {
            guards.push(guard);
            guards.len() - 1
        })
    }

    /// Points the branch at `from` to what is emitted next.
    fn land(&mut self, from: Pc) {
        let here = self.ops.len();
        match self.ops.get_mut(from) {
            Some(Op::Jump(to) | Op::Try { otherwise: to, .. } | Op::TryLater { skip_to: to }) => {
                *to = here;
            }
            Some(
                Op::Atomic { next } | Op::LookAhead { next, .. } | Op::LookBehind { next, .. },
            ) => *next = here,
            _ => {}
        }
    }

    fn node(&mut self, node: &Node) -> Result<()> {
        self.nodes += 1;
        if self.nodes > MAX_OPS {
            return Err(too_large());
        }
        match node {
            Node::Empty => {}
            Node::Set(set) => {
                let set = self.set(set);
                self.emit(Op::Set(set))?;
            }
            Node::Concat(nodes) => nodes.iter().try_for_each(|node| self.node(node))?,
            Node::Alternate(nodes) => self.alternatives(nodes)?,
            Node::Repeat { node, min, max, greed } => self.repeat(node, *min, *max, *greed)?,
            Node::Atomic(node) => match &**node {
                Node::Repeat { node: inner, min, max, greed: Greed::Greedy }
                    if matches!(**inner, Node::Set(_)) =>
                {
                    self.run(inner, *min, *max, |set, min, max| Op::RunAll { set, min, max })?;
                }
                node => {
                    let atomic = self.emit(Op::Atomic { next: 0 })?;
                    self.node(node)?;
                    self.emit(Op::Match)?;
                    self.land(atomic);
                }
            },
            Node::Look { behind: false, negative, node } => {
                let look = self.emit(Op::LookAhead { negative: *negative, next: 0 })?;
                self.node(node)?;
                self.emit(Op::Match)?;
                self.land(look);
            }
            Node::Look { behind: true, negative, node } => self.look_behind(*negative, node)?,
            Node::Assert(assertion) => {
                self.emit(Op::Assert(*assertion))?;
            }
        }
        Ok(())
    }

    fn alternatives(&mut self, nodes: &[Node]) -> Result<()> {
        let Some((last, rest)) = nodes.split_last() else { return Ok(()) };
        let mut ends = Vec::with_capacity(rest.len());
        for node in rest {
            let guard = self.guard(Guard::of(node));
            let branch = self.emit(Op::Try { guard, otherwise: 0 })?;
            self.node(node)?;
            ends.push(self.emit(Op::Jump(0))?);
            self.land(branch);
        }
        self.node(last)?;
        ends.into_iter().for_each(|end| self.land(end));
        Ok(())
    }

    fn run(
        &mut self,
        node: &Node,
        min: u32,
        max: Option<u32>,
        op: impl FnOnce(usize, usize, usize) -> Op,
    ) -> Result<()> {
        if let Node::Set(set) = node {
            let set = self.set(set);
            self.emit(op(set, min as usize, max.map_or(usize::MAX, |max| max as usize)))?;
        }
        Ok(())
    }

    fn repeat(&mut self, node: &Node, min: u32, max: Option<u32>, greed: Greed) -> Result<()> {
        if matches!(node, Node::Set(_)) {
            return self.run(node, min, max, |set, min, max| match greed {
                Greed::Greedy => Op::Run { set, min, max },
                Greed::Lazy => Op::RunFew { set, min, max },
            });
        }
        for _ in 0..min {
            self.node(node)?;
        }
        let guard = self.guard(Guard::of(node));
        let branch = |compiler: &mut Self| match greed {
            Greed::Greedy => compiler.emit(Op::Try { guard, otherwise: 0 }),
            Greed::Lazy => compiler.emit(Op::TryLater { skip_to: 0 }),
        };
        let Some(max) = max else {
            let start = branch(self)?;
            self.node(node)?;
            self.emit(Op::Jump(start))?;
            self.land(start);
            return Ok(());
        };
        let mut branches = Vec::new();
        for _ in min..max {
            branches.push(branch(self)?);
            self.node(node)?;
        }
        branches.into_iter().for_each(|branch| self.land(branch));
        Ok(())
    }

    fn look_behind(&mut self, negative: bool, node: &Node) -> Result<()> {
        let look = self.emit(Op::Fail)?;
        let nodes = match node {
            Node::Alternate(nodes) => nodes.as_slice(),
            node => std::slice::from_ref(node),
        };
        let mut alternatives = Vec::with_capacity(nodes.len());
        for node in nodes {
            let length = node
                .length()
                .ok_or_else(|| Error::internal("a look-behind of no fixed length was let in"))?;
            alternatives.push((length, self.ops.len()));
            self.node(node)?;
            self.emit(Op::Match)?;
        }
        let next = self.ops.len();
        if let Some(op) = self.ops.get_mut(look) {
            *op = Op::LookBehind { negative, alternatives: alternatives.into(), next };
        }
        Ok(())
    }
}

fn too_large() -> Error {
    Error::unsupported(
        "regex:Size",
        "a regular expression with its repetitions written out is too large",
    )
}
