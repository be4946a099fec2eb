//! `WordPiece`: a space before each token that does not continue a word, then a few spaces taken
//! out again. The clean-up sees one token at a time, so that `don ' t` stays as it is.

use std::borrow::Cow;

use crate::decode::output::stage::{append, Sink, Stage};
use crate::error::Result;
use crate::saved::Reader;

/// In the order in which they are applied.
const CLEANUP: [(&str, &str); 11] = [
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
];

#[derive(Debug)]
pub struct WordPieceStage<'a> {
    prefix: &'a str,
    cleanup: bool,
    first: bool,
    scratch: String,
}

impl<'a> WordPieceStage<'a> {
    pub fn new(prefix: &'a str, cleanup: bool) -> Self {
        Self { prefix, cleanup, first: true, scratch: String::new() }
    }
}

impl Stage for WordPieceStage<'_> {
    fn push(&mut self, token: &str, out: &mut Sink<'_>) -> Result<()> {
        self.scratch.clear();
        let continued = match std::mem::take(&mut self.first) {
            true => Some(token),
            false => token.strip_prefix(self.prefix),
        };
        if continued.is_none() {
            append(&mut self.scratch, " ")?;
        }
        append(&mut self.scratch, continued.unwrap_or(token))?;
        if self.cleanup {
            out(&cleaned(&self.scratch))
        } else {
            out(&self.scratch)
        }
    }

    fn save(&self, out: &mut Vec<u8>) {
        out.push(self.first.into());
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<()> {
        self.first = from.flag()?;
        Ok(())
    }
}

/// Without the spaces before punctuation and in short forms.
pub fn cleaned(token: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(token);
    // All but one of the patterns have one of these in them, and most tokens have none.
    if !token.contains(['.', '?', '!', ',', '\'']) && !token.contains(" do not") {
        return text;
    }
    for (from, to) in CLEANUP {
        if text.contains(from) {
            text = Cow::Owned(text.replace(from, to));
        }
    }
    text
}
