//! The clean-up of spaces that llama.cpp does to decoded text, byte by byte.
//!
//! Three passes, each over what the one before it gives: a space goes before `?`, `!`, `.` and `,`;
//! both spaces go around a lone quote; a space goes before `'s`, `'m`, `'re` and `'ve`. A pass holds
//! a space, and what behind it decides about the space: six bytes in all. `oracle::clean_spaces` has
//! the passes over whole texts.

use crate::error::Result;
use crate::saved::{damaged, Reader};

/// A byte, and whether it belongs to the context of a stream: such a byte is not given out.
type Item = (u8, bool);

#[derive(Debug, Clone, Copy)]
enum Rule {
    Closing,
    LoneQuote,
    Contraction,
}

const RULES: [Rule; 3] = [Rule::Closing, Rule::LoneQuote, Rule::Contraction];

#[derive(Debug)]
struct Pass {
    rule: Rule,
    /// A space, and what may be the rest of a match behind it.
    held: Vec<Item>,
}

impl Pass {
    fn new(rule: Rule) -> Self {
        Self { rule, held: Vec::new() }
    }

    fn push(&mut self, item: Item, out: &mut dyn FnMut(Item)) {
        let (byte, _) = item;
        let held = self.held.iter().map(|(byte, _)| *byte);
        let goes_on = |begin: &[u8]| held.clone().eq(begin.iter().copied());
        match (self.rule, byte) {
            (Rule::Closing, b'?' | b'!' | b'.' | b',') if goes_on(b" ") => {
                self.held.clear();
                out(item);
            }
            (Rule::LoneQuote | Rule::Contraction, b'\'') if goes_on(b" ") => self.held.push(item),
            (Rule::LoneQuote, b' ') if goes_on(b" '") => {
                self.held.drain(..).skip(1).for_each(out);
            }
            (Rule::Contraction, b'r' | b'v') if goes_on(b" '") => self.held.push(item),
            (Rule::Contraction, b's' | b'm') if goes_on(b" '") => self.close(item, out),
            (Rule::Contraction, b'e') if goes_on(b" 'r") || goes_on(b" 'v") => {
                self.close(item, out);
            }
            _ => {
                self.release(out);
                match byte {
                    b' ' => self.held.push(item),
                    _ => out(item),
                }
            }
        }
    }

    /// The item completes a match: all but the space goes out.
    fn close(&mut self, item: Item, out: &mut dyn FnMut(Item)) {
        self.held.drain(..).skip(1).for_each(&mut *out);
        out(item);
    }

    /// What is held is no part of a match.
    fn release(&mut self, out: &mut dyn FnMut(Item)) {
        self.held.drain(..).for_each(out);
    }

    fn may_hold(&self) -> bool {
        let held: Vec<u8> = self.held.iter().map(|(byte, _)| *byte).collect();
        matches!(
            (self.rule, held.as_slice()),
            (_, b"" | b" ")
                | (Rule::LoneQuote | Rule::Contraction, b" '")
                | (Rule::Contraction, b" 'r" | b" 'v")
        )
    }
}

/// The three passes, one behind the other.
#[derive(Debug)]
pub struct CleanSpaces([Pass; 3]);

impl CleanSpaces {
    pub fn new() -> Self {
        Self(RULES.map(Pass::new))
    }

    /// Appends what is certain now.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        bytes.iter().for_each(|&byte| push_through(&mut self.0, (byte, false), out));
    }

    /// No more bytes, at least for now.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        let mut rest = self.0.as_mut_slice();
        while let Some((pass, behind)) = rest.split_first_mut() {
            pass.release(&mut |item| push_through(behind, item, out));
            rest = behind;
        }
    }

    /// What is held belongs to the context: it may still go, but it is not given out. Whether
    /// anything is held.
    pub fn settle_context(&mut self) -> bool {
        let held = self.0.iter_mut().flat_map(|pass| &mut pass.held);
        held.map(|(_, context)| *context = true).count() > 0
    }

    pub fn save(&self, out: &mut Vec<u8>) {
        for pass in &self.0 {
            out.push(pass.held.len() as u8);
            out.extend(pass.held.iter().flat_map(|&(byte, context)| [byte, context.into()]));
        }
    }

    pub fn load(&mut self, from: &mut Reader<'_>) -> Result<()> {
        for pass in &mut self.0 {
            pass.held.clear();
            for _ in 0..from.byte()?.min(4) {
                pass.held.push((from.byte()?, from.flag()?));
            }
            if !pass.may_hold() {
                return Err(damaged());
            }
        }
        Ok(())
    }
}

fn push_through(passes: &mut [Pass], item: Item, out: &mut Vec<u8>) {
    match passes.split_first_mut() {
        Some((pass, behind)) => pass.push(item, &mut |item| push_through(behind, item, out)),
        None if item.1 => {}
        None => out.push(item.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::clean_spaces::cleaned;
    use crate::oracle::random::Random;

    #[test]
    fn any_cut_gives_what_the_whole_gives() {
        let mut random = Random::new(0xC1EA);
        for _ in 0..50_000 {
            let text: Vec<u8> =
                (0..random.below(16)).map(|_| *random.pick(b"    ''.,?smrvea")).collect();
            let (before, behind) = text.split_at(random.below(text.len() + 1));
            let (mut clean, mut out) = (CleanSpaces::new(), Vec::new());
            for part in [before, behind] {
                clean.push(part, &mut out);
                let mut state = Vec::new();
                clean.save(&mut state);
                clean = CleanSpaces::new();
                let mut from = Reader::new(&state);
                clean.load(&mut from).unwrap();
                from.end().unwrap();
            }
            assert!(clean.0.iter().map(|pass| pass.held.len()).sum::<usize>() <= 6);
            clean.flush(&mut out);
            assert_eq!(out, cleaned(text.clone()), "{:?}", String::from_utf8_lossy(&text));
        }
    }

    /// What follows a context is the rest of the whole text, unless the context itself shrinks:
    /// then nothing is lost and nothing is repeated.
    #[test]
    fn a_context_is_not_given_out_again() {
        let mut random = Random::new(0xC0DE);
        for _ in 0..50_000 {
            let text: Vec<u8> =
                (0..random.below(12)).map(|_| *random.pick(b"   '.smrvea")).collect();
            let (context, behind) = text.split_at(random.below(text.len() + 1));
            let (mut clean, mut out) = (CleanSpaces::new(), Vec::new());
            clean.push(context, &mut out);
            out.clear();
            clean.settle_context();
            clean.push(behind, &mut out);
            clean.flush(&mut out);
            let (whole, shown) = (cleaned(text.clone()), cleaned(context.to_vec()));
            assert!(whole.ends_with(&out), "{text:?}");
            let removed = context.len() + behind.len() - whole.len();
            assert!(out.len() + removed >= behind.len());
            if let Some(rest) = whole.strip_prefix(shown.as_slice()) {
                assert_eq!(out, rest, "{:?} {:?}", String::from_utf8_lossy(context), behind);
            }
        }
    }

    #[test]
    fn a_state_that_no_pass_leaves_is_refused() {
        for state in
            [&[1, b'x', 0, 0, 0][..], &[2, b' ', 0, b'\'', 0, 0, 0], &[1, b' ', 2, 0, 0], &[9]]
        {
            let mut clean = CleanSpaces::new();
            assert!(clean.load(&mut Reader::new(state)).is_err());
        }
    }
}
