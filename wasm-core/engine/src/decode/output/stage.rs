//! What all steps of a decoder chain have in common.

use crate::error::{Error, Result};
use crate::saved::Reader;

/// No token and no text grows beyond this. Only a chain made to grow gets here: a replacement by
/// something longer, and again, and again.
const MAX_TEXT: usize = 1 << 28;

/// Where a machine hands parts on to; the flag says that the token ends with the part.
pub type Parts<'a> = dyn FnMut(&str, bool) -> Result<()> + 'a;

/// Where the text goes that a chain gives.
pub type Text<'a> = dyn FnMut(&str) -> Result<()> + 'a;

/// Where a step hands its tokens on to.
pub type Sink<'a> = dyn FnMut(&str) -> Result<()> + 'a;

/// One step of a decoder chain that wants to see whole tokens: tokens in, tokens out, in order.
/// Feeding it the tokens one by one and then finishing it gives what the reference gives for the
/// whole list. A step that can do with parts of a token is a machine of its own
/// ([`crate::decode::machine`]); this trait is what it takes to add one that can not.
pub trait Stage {
    fn push(&mut self, token: &str, out: &mut Sink<'_>) -> Result<()>;

    /// The list has ended: hands on what was held back for it, and forgets it.
    fn finish(&mut self, _out: &mut Sink<'_>) -> Result<()> {
        Ok(())
    }

    /// Writes all that it remembers from one token to the next.
    fn save(&self, out: &mut Vec<u8>);

    /// Takes up what `save` wrote.
    fn load(&mut self, from: &mut Reader<'_>) -> Result<()>;
}

/// Appends within the limit.
pub fn append(text: &mut String, more: &str) -> Result<()> {
    if text.len().saturating_add(more.len()) > MAX_TEXT {
        return Err(
            Error::limit(format!("the decoded text exceeds {MAX_TEXT} bytes")).at_path("$.decoder")
        );
    }
    text.push_str(more);
    Ok(())
}

/// Appends `token` with every `from` replaced by `to`. An empty `from` stands before each
/// character and at the end.
pub fn append_replaced(text: &mut String, token: &str, from: &str, to: &str) -> Result<()> {
    let mut chars = from.chars();
    if let (Some(only), None) = (chars.next(), chars.next()) {
        return append_char_replaced(text, token, only, to);
    }
    let mut rest = 0;
    for (at, found) in token.match_indices(from) {
        append(text, token.get(rest..at).unwrap_or_default())?;
        append(text, to)?;
        rest = at + found.len();
    }
    append(text, token.get(rest..).unwrap_or_default())
}

/// The usual case; a search for one character needs no preparation.
pub fn append_char_replaced(text: &mut String, token: &str, from: char, to: &str) -> Result<()> {
    for (index, part) in token.split(from).enumerate() {
        if index > 0 {
            append(text, to)?;
        }
        append(text, part)?;
    }
    Ok(())
}
