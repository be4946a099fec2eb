//! `Metaspace`: a mark stands for a space. In the first token it stands for the space that encoding
//! put before the text, so there every mark is dropped, inner ones too.

use super::stage::{append_char_replaced, Sink, Stage};
use crate::definition::PrependScheme;
use crate::error::Result;

#[derive(Debug)]
pub struct MetaspaceStage {
    mark: char,
    /// The next token is the first, and encoding may have put a space before it.
    drop_marks: bool,
    scratch: String,
}

impl MetaspaceStage {
    pub fn new(mark: char, prepend: PrependScheme) -> Self {
        Self { mark, drop_marks: prepend != PrependScheme::Never, scratch: String::new() }
    }
}

impl Stage for MetaspaceStage {
    fn push(&mut self, token: &str, out: &mut Sink<'_>) -> Result<()> {
        let space = if std::mem::take(&mut self.drop_marks) { "" } else { " " };
        self.scratch.clear();
        append_char_replaced(&mut self.scratch, token, self.mark, space)?;
        out(&self.scratch)
    }
}
