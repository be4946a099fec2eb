//! The Unicode normal forms, by the tables that the reference uses (Unicode 9).
//!
//! Most text is in its form already. A character is *inert* in a form if it stays itself and never
//! joins or passes what is before it, so that any text may be cut before one: whatever is not
//! inert is normalized together with the inert character before it, and nothing else is touched.

use unicode_normalization_alignments::char::canonical_combining_class;
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
            Self::Nfc => rewrite(text, &before, before.nfc()),
            Self::Nfd => rewrite(text, &before, before.nfd()),
            Self::Nfkc => rewrite(text, &before, before.nfkc()),
            Self::Nfkd => rewrite(text, &before, before.nfkd()),
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

    /// Whether two characters may become one.
    pub fn composes(self) -> bool {
        matches!(self, Self::Nfc | Self::Nfkc)
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

fn rewrite(
    text: &mut AlignedText,
    before: &str,
    edits: impl Iterator<Item = (char, isize)>,
) -> Result<()> {
    if !text.tracks_untrusted() {
        return text.transform(edits, 0);
    }
    let edits: Vec<_> = edits.collect();
    let flags = untrusted(text, before, &edits);
    text.transform(edits, 0)?;
    text.set_untrusted(flags)
}

/// The flags of what the edits make. Marks change places, which the edits do not tell: in a
/// character with its marks only the character itself is certain to be where it was, and not even
/// that where it was composed with one of them.
fn untrusted(text: &AlignedText, before: &str, edits: &[(char, isize)]) -> Vec<bool> {
    let mut flags = Vec::with_capacity(before.len());
    let mut old =
        before.char_indices().map(|(at, c)| (is_mark(c), text.is_untrusted(at..at + c.len_utf8())));
    let mut previous = false;
    let mut rest = edits;
    while let Some((&(first, change), behind)) = rest.split_first() {
        let marks = behind.iter().take_while(|(c, _)| is_mark(*c)).count();
        let (cluster, behind) = rest.split_at(marks + 1);
        let stands_for = |change: isize| if change > 0 { 0 } else { 1 + change.unsigned_abs() };
        let count: usize = cluster.iter().map(|edit| stands_for(edit.1)).sum();
        let own: Vec<(bool, bool)> = old.by_ref().take(count).collect();
        // Else it is the last part of a character that was taken apart, perhaps composed since.
        let has_own_base = change <= 0 && own.first().is_some_and(|(is_mark, _)| !is_mark);
        let any = own.iter().any(|(_, flag)| *flag) || (!has_own_base && previous);
        let head = match change {
            0 if has_own_base => own.first().is_some_and(|(_, flag)| *flag),
            1.. if !is_mark(first) => previous,
            _ => any,
        };
        for (n, (c, _)) in cluster.iter().enumerate() {
            flags.extend(std::iter::repeat_n(if n == 0 { head } else { any }, c.len_utf8()));
        }
        previous = own.last().map_or(previous, |(_, flag)| *flag);
        rest = behind;
    }
    flags
}

fn is_mark(c: char) -> bool {
    canonical_combining_class(c) != 0
}
