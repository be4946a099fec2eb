//! Trimming of white space at the edges of byte-level tokens' offsets.

use crate::encoding::Encoding;

/// What a space looks like in the byte-level alphabet.
const SPACE: char = 'Ġ';

/// Moves offsets inwards over the white space that their tokens begin and end with. The one space
/// that `add_prefix_space` put before a text is not in the text, so it is not skipped there.
pub fn trim(encoding: &mut Encoding, add_prefix_space: bool) {
    for (index, (token, offsets)) in encoding.tokens.iter().zip(&mut encoding.offsets).enumerate() {
        let (start, end) = *offsets;
        let mut leading = count(token.chars().take_while(is_space));
        let trailing = count(token.chars().rev().take_while(is_space));
        if leading == 1 && add_prefix_space && (index == 0 || start == 0) {
            leading = 0;
        }
        if leading > 0 {
            offsets.0 = start.saturating_add(leading).min(end);
        }
        if trailing > 0 && end >= trailing {
            offsets.1 = (end - trailing).max(offsets.0);
        }
    }
}

fn is_space(c: &char) -> bool {
    *c == SPACE || c.is_whitespace()
}

fn count(chars: impl Iterator<Item = char>) -> u32 {
    u32::try_from(chars.count()).unwrap_or(u32::MAX)
}
