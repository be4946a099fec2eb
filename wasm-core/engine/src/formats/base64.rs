//! Base64 with the usual alphabet, in the two ways in which the references read it.

use crate::error::{Error, Result};
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::Engine as _;

/// As rank files have it: padded, and bits behind the last byte may be set.
const OF_RANKS: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// As HuggingFace's library reads it inside JSON: bits that no byte needs are 0, and padding is
/// right where it is there.
const OF_JSON: GeneralPurpose = GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new());

/// The same where padding is missing.
const BARE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// Appends what a token of a rank file stands for to `out`.
pub fn decode_token(text: &[u8], out: &mut Vec<u8>) -> Result<()> {
    OF_RANKS.decode_vec(text, out).map_err(refused)
}

/// What a string inside JSON stands for.
pub fn decode(text: &str) -> Result<Vec<u8>> {
    let engine = if text.ends_with('=') { OF_JSON } else { BARE };
    engine.decode(text).map_err(refused)
}

pub fn encode(bytes: &[u8]) -> String {
    OF_JSON.encode(bytes)
}

fn refused(error: base64::DecodeError) -> Error {
    Error::invalid(format!("bad base64: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        decode_token(text, &mut out).ok().map(|()| out)
    }

    #[test]
    fn tokens_are_padded_and_set_bits_are_not_minded() {
        assert_eq!(token(b"IQ=="), Some(vec![0x21]));
        assert_eq!(token(b"IR=="), Some(vec![0x21]));
        assert_eq!(token(b""), Some(vec![]));
        for bad in [&b"IQ"[..], b"IQ=", b"=", b"I Q==", b"IQ-_"] {
            assert_eq!(token(bad), None);
        }
    }

    #[test]
    fn both_ways() {
        let cases: [(&[u8], &str); 5] =
            [(b"", ""), (b"f", "Zg=="), (b"fo", "Zm8="), (b"foo", "Zm9v"), (b"foob", "Zm9vYg==")];
        for (bytes, text) in cases {
            assert_eq!(encode(bytes), text);
            assert_eq!(decode(text).unwrap(), bytes);
            assert_eq!(decode(text.trim_end_matches('=')).unwrap(), bytes);
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&all)).unwrap(), all);
    }

    #[test]
    fn what_is_none() {
        for text in ["Z", "Zg=", "Z g=", "Zh==", "Zm9=", "Zg==Zg==", "====", "Zm9v\n", "é"] {
            assert!(decode(text).is_err(), "{text:?}");
        }
    }
}
