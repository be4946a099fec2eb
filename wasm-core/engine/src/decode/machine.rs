//! A decoder chain as a chain of machines: parts of tokens in, parts of tokens out, each part as
//! soon as nothing that comes later can change it.
//!
//! Feeding all tokens and flushing gives what the reference gives for the whole list, however the
//! list is cut into calls; a list decoded at once goes through the same machines. Behind a step
//! that joins everything (`Fuse`, `ByteLevel`) there is one token that never ends.

use crate::decode::output::stage::{Parts, Text};
use crate::decode::steps::bpe::BpeMachine;
use crate::decode::steps::byte_fallback::ByteFallbackMachine;
use crate::decode::steps::byte_level::ByteLevelMachine;
use crate::decode::steps::join::JoinMachine;
use crate::decode::steps::metaspace::MetaspaceMachine;
use crate::decode::steps::replace::LiteralMachine;
use crate::decode::steps::strip::StripMachine;
use crate::decode::steps::whole::Whole;
use crate::error::Result;
use crate::saved::Reader;

#[derive(Debug)]
pub enum Machine<'a> {
    Join(JoinMachine),
    ByteLevel(ByteLevelMachine),
    ByteFallback(ByteFallbackMachine),
    Fuse,
    Strip(StripMachine),
    Literal(LiteralMachine<'a>),
    Metaspace(MetaspaceMachine),
    Bpe(BpeMachine<'a>),
    Whole(Whole<'a>),
}

impl Machine<'_> {
    fn push(&mut self, part: &str, ends: bool, out: &mut Parts<'_>) -> Result<()> {
        match self {
            Self::Join(machine) => machine.push(part, ends, out),
            Self::ByteLevel(machine) => machine.push(part, ends, out),
            Self::ByteFallback(machine) => machine.push(part, ends, out),
            Self::Fuse if part.is_empty() => Ok(()),
            Self::Fuse => out(part, false),
            Self::Strip(machine) => machine.push(part, ends, out),
            Self::Literal(machine) => machine.push(part, ends, out),
            Self::Metaspace(machine) => machine.push(part, ends, out),
            Self::Bpe(machine) => machine.push(part, ends, out),
            Self::Whole(machine) => machine.push(part, ends, out),
        }
    }

    /// The list ends here, at least for now: hands on what was held back. What comes behind is not
    /// the first token of anything.
    fn flush(&mut self, out: &mut Parts<'_>) -> Result<()> {
        match self {
            Self::ByteLevel(machine) => machine.flush(out),
            Self::ByteFallback(machine) => machine.flush(out),
            Self::Strip(machine) => {
                machine.flush();
                Ok(())
            }
            Self::Literal(machine) => machine.flush(out),
            Self::Bpe(machine) => machine.flush(out),
            Self::Whole(machine) => machine.flush(out),
            Self::Join(_) | Self::Fuse | Self::Metaspace(_) => Ok(()),
        }
    }

    fn save(&self, out: &mut Vec<u8>) {
        match self {
            Self::Join(machine) => machine.save(out),
            Self::ByteLevel(machine) => machine.save(out),
            Self::ByteFallback(machine) => machine.save(out),
            Self::Fuse => {}
            Self::Strip(machine) => machine.save(out),
            Self::Literal(machine) => machine.save(out),
            Self::Metaspace(machine) => machine.save(out),
            Self::Bpe(machine) => machine.save(out),
            Self::Whole(machine) => machine.save(out),
        }
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<()> {
        match self {
            Self::Join(machine) => machine.load(from),
            Self::ByteLevel(machine) => machine.load(from),
            Self::ByteFallback(machine) => machine.load(from),
            Self::Fuse => Ok(()),
            Self::Strip(machine) => machine.load(from),
            Self::Literal(machine) => machine.load(from),
            Self::Metaspace(machine) => machine.load(from),
            Self::Bpe(machine) => machine.load(from),
            Self::Whole(machine) => machine.load(from),
        }
    }
}

/// A chain at work on one list of tokens.
#[derive(Debug)]
pub struct Machines<'a>(pub Vec<Machine<'a>>);

impl Machines<'_> {
    pub fn push(&mut self, token: &str, text: &mut Text<'_>) -> Result<()> {
        push_through(&mut self.0, token, true, text)
    }

    pub fn flush(&mut self, text: &mut Text<'_>) -> Result<()> {
        let mut rest = self.0.as_mut_slice();
        while let Some((machine, behind)) = rest.split_first_mut() {
            machine.flush(&mut |part, ends| push_through(behind, part, ends, text))?;
            rest = behind;
        }
        Ok(())
    }

    /// What was pushed so far is the context of what comes: the characters that are complete in an
    /// open run of bytes belong to it.
    pub fn settle_context(&mut self, text: &mut Text<'_>) -> Result<()> {
        let mut rest = self.0.as_mut_slice();
        while let Some((machine, behind)) = rest.split_first_mut() {
            if let Machine::ByteFallback(machine) = machine {
                machine
                    .release_complete(&mut |part, ends| push_through(behind, part, ends, text))?;
            }
            rest = behind;
        }
        Ok(())
    }

    pub fn save(&self, out: &mut Vec<u8>) {
        self.0.iter().for_each(|machine| machine.save(out));
    }

    pub fn load(&mut self, from: &mut Reader<'_>) -> Result<()> {
        self.0.iter_mut().try_for_each(|machine| machine.load(from))
    }
}

fn push_through(
    machines: &mut [Machine<'_>],
    part: &str,
    ends: bool,
    text: &mut Text<'_>,
) -> Result<()> {
    match machines.split_first_mut() {
        Some((machine, behind)) => {
            machine.push(part, ends, &mut |part, ends| push_through(behind, part, ends, text))
        }
        None if part.is_empty() => Ok(()),
        None => text(part),
    }
}
