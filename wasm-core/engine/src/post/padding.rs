//! The padding that a file asks for.

use crate::definition::Padding;
use crate::encoding::Encoding;
use crate::error::{Error, Result};

/// A file may ask for padding up to here. It is far above any model's context and far below what
/// would exhaust an instance's memory.
const MAX_PADDED_LENGTH: usize = 1 << 20;

/// Pads all of a batch to one length: the stated one, or that of the longest.
pub fn apply(padding: &Padding, batch: &mut [Encoding]) -> Result<()> {
    let longest = batch.iter().map(Encoding::len).max().unwrap_or(0);
    let length = rounded_up(padding.length.unwrap_or(longest), padding.pad_to_multiple_of);
    match length {
        Some(length) if length <= longest.max(MAX_PADDED_LENGTH) => {
            for encoding in batch {
                encoding.pad(length, padding);
            }
            Ok(())
        }
        _ => Err(Error::limit(format!(
            "the file asks for padding to more than {MAX_PADDED_LENGTH} ids; correct its padding \
             section or set it to null"
        ))
        .at_path("$.padding")),
    }
}

fn rounded_up(length: usize, multiple: Option<usize>) -> Option<usize> {
    match multiple {
        Some(multiple) if multiple > 0 => length.checked_next_multiple_of(multiple),
        _ => Some(length),
    }
}
