//! The alphabet that stands for bytes: printable ones for themselves, the others for what follows
//! U+00FF.

use crate::error::Result;
use crate::text::AlignedText;

/// How many code points from U+0000 on the alphabet is taken from.
const REACH: usize = 0x144;

pub const CHAR_OF_BYTE: [char; 256] = {
    let mut chars = ['\0'; 256];
    let mut byte = 0;
    let mut next = 0x100;
    while byte < 256 {
        let code = if is_itself(byte as u8) {
            byte as u32
        } else {
            next += 1;
            next - 1
        };
        if let Some(c) = char::from_u32(code) {
            chars[byte] = c;
        }
        byte += 1;
    }
    chars
};

static BYTE_OF_CHAR: [Option<u8>; REACH] = {
    let mut bytes = [None; REACH];
    let mut byte = 0;
    while byte < 256 {
        bytes[CHAR_OF_BYTE[byte] as usize] = Some(byte as u8);
        byte += 1;
    }
    bytes
};

const fn is_itself(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF)
}

#[inline]
pub fn byte_of_char(c: char) -> Option<u8> {
    BYTE_OF_CHAR.get(c as usize).copied().flatten()
}

/// Puts the alphabet of bytes in the place of the bytes.
pub fn spell_bytes(piece: &mut AlignedText) -> Result<()> {
    piece.rewrite(|c, editor| {
        let mut buffer = [0; 4];
        let bytes = c.encode_utf8(&mut buffer).bytes();
        let mut changes = std::iter::once(0).chain(std::iter::repeat(1));
        bytes
            .zip(&mut changes)
            .try_for_each(|(byte, change)| editor.push(CHAR_OF_BYTE[usize::from(byte)], change))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_char() {
        for byte in 0..=255u8 {
            assert_eq!(byte_of_char(CHAR_OF_BYTE[usize::from(byte)]), Some(byte));
        }
        let found = ('\0'..='\u{FFFF}').filter(|c| byte_of_char(*c).is_some()).count();
        assert_eq!(found, 256);
    }

    #[test]
    fn known_places() {
        let chars = [b' ', b'\n', b'A', 0x7F, 0xA0, 0xAD, 0xFF].map(|b| CHAR_OF_BYTE[b as usize]);
        assert_eq!(chars, ['Ġ', 'Ċ', 'A', 'ġ', 'ł', 'Ń', 'ÿ']);
    }
}
