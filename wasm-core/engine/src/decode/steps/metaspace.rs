//! `Metaspace`: a mark stands for a space. In the first token it stands for the space that encoding
//! put before the text, so there every mark is dropped, inner ones too.

use crate::decode::output::stage::append_char_replaced;
use crate::decode::output::stage::Parts;
use crate::definition::PrependScheme;
use crate::error::Result;
use crate::saved::Reader;

#[derive(Debug)]
pub struct MetaspaceMachine {
    mark: char,
    /// This token is the first, and encoding may have put a space before it.
    drop_marks: bool,
    scratch: String,
}

impl MetaspaceMachine {
    pub fn new(mark: char, prepend: PrependScheme) -> Self {
        Self { mark, drop_marks: prepend != PrependScheme::Never, scratch: String::new() }
    }

    pub fn push(&mut self, part: &str, ends: bool, out: &mut Parts<'_>) -> Result<()> {
        let space = if self.drop_marks { "" } else { " " };
        self.scratch.clear();
        append_char_replaced(&mut self.scratch, part, self.mark, space)?;
        self.drop_marks &= !ends;
        out(&self.scratch, ends)
    }

    pub fn save(&self, out: &mut Vec<u8>) {
        out.push(self.drop_marks.into());
    }

    pub fn load(&mut self, from: &mut Reader<'_>) -> Result<()> {
        self.drop_marks = from.flag()?;
        Ok(())
    }
}
