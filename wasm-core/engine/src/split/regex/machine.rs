//! Runs a [`Program`], trying alternatives in their order.

use super::ast::Assertion;
use super::program::{CharSet, Op, Pc, Program};
use crate::split::scan::decode;

/// How deep groups that are matched on their own may lie in each other; the parser refuses
/// deeper patterns.
const MAX_NESTING: u32 = 128;

/// Where to go on when what was tried has failed.
#[derive(Clone, Copy)]
struct Branch {
    pc: Pc,
    at: usize,
    kind: BranchKind,
}

#[derive(Clone, Copy)]
enum BranchKind {
    Plain,
    /// A run may give back its last character as long as it ends behind this place.
    Shrink(usize),
    /// A run of this set may take one more character, and so many in all.
    Grow(usize, usize),
}

/// Half a gigabyte of them; a text of many megabytes may come to it.
const MAX_BRANCHES: usize = 1 << 24;

/// The budget of steps, or the memory, is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exhausted;

pub struct Machine<'a> {
    program: &'a Program,
    text: &'a [u8],
    branches: Vec<Branch>,
    budget: u64,
}

impl<'a> Machine<'a> {
    /// `budget`: how many steps all searches together may take, about one a character and
    /// attempt.
    pub fn new(program: &'a Program, text: &'a str, budget: u64) -> Self {
        Self { program, text: text.as_bytes(), branches: Vec::new(), budget }
    }

    /// The first match that starts at `from` or behind it.
    pub fn find(&mut self, from: usize) -> Result<Option<(usize, usize)>, Exhausted> {
        let mut start = from;
        loop {
            let rest = self.text.get(start..).unwrap_or_default();
            let guard = &self.program.start;
            let is_start = |byte: &u8| guard.admits(Some(byte)) && !is_tail(*byte);
            match rest.iter().position(is_start) {
                Some(distance) => start += distance,
                None if guard.admits_nothing() => start = self.text.len(),
                None => return Ok(None),
            }
            if let Some(end) = self.run(0, start, 0)? {
                return Ok(Some((start, end)));
            }
            if start >= self.text.len() {
                return Ok(None);
            }
            start += self.width(start);
        }
    }

    /// The end of the match of the instructions at `pc` that starts at `at`.
    fn run(&mut self, pc: Pc, at: usize, nesting: u32) -> Result<Option<usize>, Exhausted> {
        if nesting > MAX_NESTING {
            return Err(Exhausted);
        }
        let base = self.branches.len();
        let end = self.attempt(pc, at, base, nesting);
        self.branches.truncate(base);
        end
    }

    fn attempt(
        &mut self,
        mut pc: Pc,
        mut at: usize,
        base: usize,
        nesting: u32,
    ) -> Result<Option<usize>, Exhausted> {
        let program = self.program;
        loop {
            self.spend(1)?;
            let next = match program.ops.get(pc) {
                Some(Op::Match) => return Ok(Some(at)),
                Some(Op::Set(set)) => {
                    let width = self.width_in(*set, at);
                    (width > 0).then_some((pc + 1, at + width))
                }
                Some(Op::Run { set, min, max }) => match self.span(*set, at, *min, *max)? {
                    Some((least, end)) => {
                        if end > least {
                            self.push(pc + 1, end, BranchKind::Shrink(least))?;
                        }
                        Some((pc + 1, end))
                    }
                    None => None,
                },
                Some(Op::RunAll { set, min, max }) => {
                    self.span(*set, at, *min, *max)?.map(|(_, end)| (pc + 1, end))
                }
                Some(Op::RunFew { set, min, max }) => match self.span(*set, at, *min, *min)? {
                    Some((least, _)) => {
                        if max > min {
                            self.push(pc + 1, least, BranchKind::Grow(*set, max - min))?;
                        }
                        Some((pc + 1, least))
                    }
                    None => None,
                },
                Some(Op::Jump(to)) => Some((*to, at)),
                Some(Op::Try { guard, otherwise }) => {
                    let may_match =
                        program.guards.get(*guard).is_none_or(|g| g.admits(self.text.get(at)));
                    if may_match {
                        self.push(*otherwise, at, BranchKind::Plain)?;
                        Some((pc + 1, at))
                    } else {
                        Some((*otherwise, at))
                    }
                }
                Some(Op::TryLater { skip_to }) => {
                    self.push(pc + 1, at, BranchKind::Plain)?;
                    Some((*skip_to, at))
                }
                Some(Op::Atomic { next }) => {
                    self.run(pc + 1, at, nesting + 1)?.map(|end| (*next, end))
                }
                Some(Op::LookAhead { negative, next }) => {
                    let found = self.run(pc + 1, at, nesting + 1)?.is_some();
                    (found != *negative).then_some((*next, at))
                }
                Some(Op::LookBehind { negative, alternatives, next }) => {
                    let found = self.ends_here(alternatives, at, nesting + 1)?;
                    (found != *negative).then_some((*next, at))
                }
                Some(Op::Assert(assertion)) => self.holds(*assertion, at).then_some((pc + 1, at)),
                Some(Op::Fail) | None => None,
            };
            let next = match next {
                Some(_) => next,
                None => self.retreat(base)?,
            };
            match next {
                Some(place) => (pc, at) = place,
                None => return Ok(None),
            }
        }
    }

    fn spend(&mut self, steps: u64) -> Result<(), Exhausted> {
        self.budget = self.budget.checked_sub(steps).ok_or(Exhausted)?;
        Ok(())
    }

    fn push(&mut self, pc: Pc, at: usize, kind: BranchKind) -> Result<(), Exhausted> {
        if self.branches.len() == self.branches.capacity() {
            if self.branches.len() >= MAX_BRANCHES {
                return Err(Exhausted);
            }
            self.branches.try_reserve(1).map_err(|_| Exhausted)?;
        }
        self.branches.push(Branch { pc, at, kind });
        Ok(())
    }

    /// The latest branch above `base`.
    fn retreat(&mut self, base: usize) -> Result<Option<(Pc, usize)>, Exhausted> {
        while self.branches.len() > base {
            let Some(branch) = self.branches.last_mut() else { break };
            match branch.kind {
                BranchKind::Plain => {
                    let Branch { pc, at, .. } = *branch;
                    self.branches.pop();
                    return Ok(Some((pc, at)));
                }
                BranchKind::Shrink(least) => {
                    let before = self.text.get(..branch.at).unwrap_or_default();
                    let shorter = before.iter().rposition(|byte| !is_tail(*byte)).unwrap_or(0);
                    branch.at = shorter;
                    let pc = branch.pc;
                    if shorter <= least {
                        self.branches.pop();
                    }
                    return Ok(Some((pc, shorter)));
                }
                BranchKind::Grow(set, left) => {
                    let Branch { pc, at, .. } = *branch;
                    let width = self.width_in(set, at);
                    self.branches.pop();
                    if width > 0 {
                        if left > 1 {
                            self.push(pc, at + width, BranchKind::Grow(set, left - 1))?;
                        }
                        return Ok(Some((pc, at + width)));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Where the shortest and the longest run of `set` from `at` end; `None`: it is too short.
    fn span(
        &mut self,
        set: usize,
        at: usize,
        min: usize,
        max: usize,
    ) -> Result<Option<(usize, usize)>, Exhausted> {
        let mut end = at;
        let mut least = at;
        let mut count = 0;
        while count < max {
            let width = self.width_in(set, end);
            if width == 0 {
                break;
            }
            end += width;
            count += 1;
            if count == min {
                least = end;
            }
        }
        self.spend(count as u64)?;
        Ok((count >= min).then_some((least, end)))
    }

    fn ends_here(
        &mut self,
        alternatives: &[(u32, Pc)],
        at: usize,
        nesting: u32,
    ) -> Result<bool, Exhausted> {
        for (length, pc) in alternatives {
            if let Some(start) = self.back(at, *length) {
                if self.run(*pc, start, nesting)?.is_some() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// So many characters before `at`.
    fn back(&self, mut at: usize, characters: u32) -> Option<usize> {
        for _ in 0..characters {
            at = self.text.get(..at)?.iter().rposition(|byte| !is_tail(*byte))?;
        }
        Some(at)
    }

    fn holds(&self, assertion: Assertion, at: usize) -> bool {
        let end = self.text.len();
        let before = at.checked_sub(1).and_then(|at| self.text.get(at));
        let is_word = |at: usize| self.width_of(&self.program.word, at) > 0;
        let at_border = || is_word(at) != self.back(at, 1).is_some_and(is_word);
        match assertion {
            Assertion::Start => at == 0,
            Assertion::End => at == end,
            Assertion::EndOrNewline => matches!(self.text.get(at..), Some([] | [b'\n'])),
            Assertion::LineStart => at == 0 || (at != end && before == Some(&b'\n')),
            Assertion::LineEnd => matches!(self.text.get(at), None | Some(b'\n')),
            Assertion::WordBorder => at_border(),
            Assertion::NoWordBorder => !at_border(),
        }
    }

    /// The width of the character at `at` if it is in `set`, else 0.
    #[inline]
    fn width_in(&self, set: usize, at: usize) -> usize {
        self.program.sets.get(set).map_or(0, |set| self.width_of(set, at))
    }

    #[inline]
    fn width_of(&self, set: &CharSet, at: usize) -> usize {
        match self.text.get(at) {
            Some(byte @ 0..0x80) => usize::from(set.has_ascii(*byte)),
            Some(_) => {
                let (c, width) = decode(self.text, at);
                if set.has_other(c) {
                    width
                } else {
                    0
                }
            }
            None => 0,
        }
    }

    fn width(&self, at: usize) -> usize {
        match self.text.get(at) {
            None | Some(0..0x80) => 1,
            Some(_) => decode(self.text, at).1,
        }
    }
}

/// The byte continues a character.
fn is_tail(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}
