//! No decoder at all: the tokens are joined with one space.

use crate::decode::output::stage::Parts;
use crate::error::Result;
use crate::saved::Reader;

#[derive(Debug, Default)]
pub struct JoinMachine {
    /// A token was there before the next one.
    behind_another: bool,
}

impl JoinMachine {
    pub fn push(&mut self, part: &str, ends: bool, out: &mut Parts<'_>) -> Result<()> {
        if std::mem::replace(&mut self.behind_another, true) {
            out(" ", false)?;
        }
        out(part, ends)
    }

    pub fn save(&self, out: &mut Vec<u8>) {
        out.push(self.behind_another.into());
    }

    pub fn load(&mut self, from: &mut Reader<'_>) -> Result<()> {
        self.behind_another = from.flag()?;
        Ok(())
    }
}
