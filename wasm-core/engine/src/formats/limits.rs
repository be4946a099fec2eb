//! Bounds on what a file may ask for, checked before anything is allocated for it.

use crate::error::{Error, Result};
use serde::Deserialize;

/// The defaults are far above every real file and far below what a hostile one would like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of the metadata of a GGUF file.
    pub metadata: u64,
    /// Key and value pairs of a GGUF file.
    pub pairs: u64,
    /// Bytes of one key.
    pub key: u64,
    /// Items of one array, and tokens of a vocabulary.
    pub items: u64,
    /// Bytes of one string.
    pub string: u64,
    /// Bytes of one token.
    pub token: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            metadata: 256 << 20,
            pairs: 4096,
            key: 64 << 10,
            items: 1 << 22,
            string: 16 << 20,
            token: 64 << 10,
        }
    }
}

impl Limits {
    /// Refuses `value` where it passes `bound`; `what` is plural: "bytes of a key".
    pub fn check(value: u64, bound: u64, what: &str) -> Result<()> {
        if value > bound {
            return Err(Error::limit(format!("{value} {what}; at most {bound} are read")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_itself_is_allowed() {
        assert!(Limits::check(7, 7, "things").is_ok());
        let error = Limits::check(8, 7, "things").unwrap_err();
        assert_eq!(error.message, "8 things; at most 7 are read");
    }
}
