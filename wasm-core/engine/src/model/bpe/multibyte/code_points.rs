//! Code points of UTF-8 that is known to be well formed.

/// The character at some place, as its code point and its length.
#[inline(always)]
pub fn decode(text: &[u8], at: usize) -> (u32, usize) {
    decode_four(match text.get(at..).and_then(<[u8]>::first_chunk::<4>) {
        Some(bytes) => *bytes,
        None => near_the_end(text, at).to_le_bytes(),
    })
}

/// The character that four bytes begin with.
#[inline(always)]
pub fn decode_four(bytes: [u8; 4]) -> (u32, usize) {
    let bytes = u32::from_le_bytes(bytes);
    let tail = |n: u32| bytes >> (8 * n) & 0x3F;
    match bytes as u8 {
        0..0x80 => (bytes & 0x7F, 1),
        0x80..0xE0 => ((bytes & 0x1F) << 6 | tail(1), 2),
        0xE0..0xF0 => ((bytes & 0x0F) << 12 | tail(1) << 6 | tail(2), 3),
        _ => ((bytes & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), 4),
    }
}

#[cold]
fn near_the_end(text: &[u8], at: usize) -> u32 {
    let rest = text.get(at..).unwrap_or_default();
    rest.iter().take(4).rev().fold(0, |bytes, &byte| bytes << 8 | u32::from(byte))
}
