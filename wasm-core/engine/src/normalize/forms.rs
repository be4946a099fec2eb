//! The Unicode normal forms, by the tables that the reference uses (Unicode 9).
//!
//! Most text is in its form already. A character is *inert* in a form if it stays itself and never
//! joins or passes what is before it, so that any text may be cut before one: whatever is not
//! inert is normalized together with the inert character before it, and nothing else is touched.

use unicode_normalization_alignments::{
    is_nfc_quick, is_nfd_quick, is_nfkc_quick, is_nfkd_quick, IsNormalized, UnicodeNormalization,
};

use super::Plain;
use crate::error::Result;
use crate::text::AlignedText;
use crate::unicode::{class_of, find, NFC_ACTIVE, NFD_ACTIVE, NFKC_ACTIVE, NFKD_ACTIVE};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

impl Form {
    pub fn plain(self, text: &str) -> Plain {
        let mut new = String::new();
        let mut copied = 0;
        let mut searched = 0;
        while let Some((start, end)) = self.active_part(text, searched) {
            searched = end;
            let part = text.get(start..end).unwrap_or_default();
            if self.is_normal(part) {
                continue;
            }
            if new.capacity() == 0 {
                new.reserve(text.len());
            }
            new.push_str(text.get(copied..start).unwrap_or_default());
            self.push_normal(part, &mut new);
            copied = end;
        }
        if copied == 0 {
            return Plain::Same;
        }
        new.push_str(text.get(copied..).unwrap_or_default());
        // What is not certain to be normal may be so all the same.
        if new == text {
            Plain::Same
        } else {
            Plain::Changed(new)
        }
    }

    pub fn aligned(self, text: &mut AlignedText) -> Result<()> {
        let before = text.as_str().to_owned();
        if text.is_anchored() && self.active_part(&before, 0).is_none() {
            return Ok(());
        }
        match self {
            Self::Nfc => text.transform(before.nfc(), 0),
            Self::Nfd => text.transform(before.nfd(), 0),
            Self::Nfkc => text.transform(before.nfkc(), 0),
            Self::Nfkd => text.transform(before.nfkd(), 0),
        }
    }

    /// The next run of characters that are not inert, from the inert one before it on.
    fn active_part(self, text: &str, from: usize) -> Option<(usize, usize)> {
        let at = find(text, from, self.active())?;
        let inert = text.get(from..at)?.chars().next_back().map_or(0, char::len_utf8);
        let run = text.get(at..)?.chars().take_while(|&c| class_of(c).is(self.active()));
        Some((at - inert, at + run.map(char::len_utf8).sum::<usize>()))
    }

    /// See the module text.
    pub fn is_inert(self, c: char) -> bool {
        !class_of(c).is(self.active())
    }

    fn active(self) -> u32 {
        match self {
            Self::Nfc => NFC_ACTIVE,
            Self::Nfd => NFD_ACTIVE,
            Self::Nfkc => NFKC_ACTIVE,
            Self::Nfkd => NFKD_ACTIVE,
        }
    }

    /// Whether the text is certain to be in its normal form.
    fn is_normal(self, text: &str) -> bool {
        let answer = match self {
            Self::Nfc => is_nfc_quick(text.chars()),
            Self::Nfd => is_nfd_quick(text.chars()),
            Self::Nfkc => is_nfkc_quick(text.chars()),
            Self::Nfkd => is_nfkd_quick(text.chars()),
        };
        answer == IsNormalized::Yes
    }

    fn push_normal(self, text: &str, new: &mut String) {
        match self {
            Self::Nfc => new.extend(text.nfc().map(|(c, _)| c)),
            Self::Nfd => new.extend(text.nfd().map(|(c, _)| c)),
            Self::Nfkc => new.extend(text.nfkc().map(|(c, _)| c)),
            Self::Nfkd => new.extend(text.nfkd().map(|(c, _)| c)),
        }
    }
}
