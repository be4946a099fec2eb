//! Contractions in a window (see [`super::window`]), where an apostrophe is a symbol like any other
//! unless `'s`, `'re` and so on begin with it.
//!
//! Where contractions are pieces, `'s` starts and ends like the word with a sign in front of it that
//! it would be otherwise; only letters behind it would tell. Where they end a word, what starts
//! inside of them does not. Letters right behind a contraction are so rare that they are left to
//! the scanner for single pieces.

use super::chars::contraction_of_ascii_case;
use super::window::{below_lowest, Kind, SIZE};

/// What stays of the starts that were found with apostrophes as symbols.
pub struct Judged {
    /// Bits of what starts.
    pub starts: u64,
    /// Bits of what is settled.
    pub settled: u64,
}

/// `open`: the apostrophes that may begin a contraction.
#[inline(never)]
pub fn judge<K: Kind>(window: &[u8; SIZE], open: u64, letters: u64) -> Judged {
    let mut judged = Judged { starts: u64::MAX, settled: u64::MAX };
    let (mut rest, mut done) = (open, 0);
    while rest != 0 {
        let quote = rest & rest.wrapping_neg();
        rest ^= quote;
        let at = quote.trailing_zeros() as usize;
        let length = contraction(window, at);
        if length == Some(0) {
            continue;
        }
        let behind = length.and_then(|length| quote.checked_shl(length)).unwrap_or_default();
        let follows_another = K::CASED && quote & done != 0;
        if length.is_none() || behind & letters != 0 || follows_another {
            // A piece that is a contraction starts there in any case.
            let doubtful = if K::CASED { quote } else { quote << 1 };
            judged.settled = below_lowest(doubtful);
            break;
        }
        if K::CASED {
            judged.starts &= !behind.wrapping_sub(quote);
            done = behind;
        }
    }
    judged
}

/// The length of the contraction at `at`, or 0; `None` where that cannot be seen.
#[inline(always)]
fn contraction(window: &[u8; SIZE], at: usize) -> Option<u32> {
    let seen = window.get(at..).unwrap_or_default();
    match seen {
        // ſ is an s for some patterns.
        [_] | [_, 0xC5, ..] | [_, b'l' | b'L' | b'r' | b'R' | b'v' | b'V'] => None,
        _ => Some(contraction_of_ascii_case(seen, 0) as u32),
    }
}
