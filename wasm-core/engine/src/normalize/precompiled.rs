//! A [`Charsmap`] as HuggingFace applies it: to grapheme clusters of fewer than six bytes as a
//! whole, else to their characters one by one.
//!
//! A cluster is replaced by what the *shortest* key that it begins with leads to, and what follows
//! that key in the cluster is lost. SentencePiece does neither; see `docs/rationale/engine.md`.

use unicode_segmentation::UnicodeSegmentation;

use super::charsmap::Charsmap;
use super::Plain;
use crate::error::Result;
use crate::text::AlignedText;

/// Longer clusters are not looked up as a whole.
const WHOLE: usize = 6;

#[derive(Debug)]
pub struct Precompiled {
    map: Charsmap,
    /// Whether a cluster that begins with this byte may be replaced; for ASCII.
    active: [bool; 128],
}

impl Precompiled {
    pub fn new(blob: &[u8]) -> Result<Self> {
        let map = Charsmap::parse(blob)?;
        let mut active = [false; 128];
        for (byte, active) in (0u8..).zip(&mut active) {
            *active = replacement(&map, &[byte]).is_some();
        }
        // The one cluster of two ASCII characters.
        active[usize::from(b'\r')] |= replacement(&map, b"\r\n").is_some();
        Ok(Self { map, active })
    }

    pub fn plain(&self, text: &str) -> Plain {
        let mut new = String::new();
        let mut copied = 0;
        self.each_part(text, |start, part, replacement| {
            let Some(replacement) = replacement.filter(|new| *new != part) else { return };
            if new.capacity() == 0 {
                new.reserve(text.len());
            }
            new.push_str(text.get(copied..start).unwrap_or_default());
            new.push_str(replacement);
            copied = start + part.len();
        });
        if copied == 0 {
            return Plain::Same;
        }
        new.push_str(text.get(copied..).unwrap_or_default());
        Plain::Changed(new)
    }

    pub fn aligned(&self, text: &mut AlignedText) -> Result<()> {
        let before = text.as_str().to_owned();
        let mut edits: Vec<(char, isize)> = Vec::with_capacity(before.len());
        let mut kept = 0;
        let mut changed = false;
        // The reference's count of changes goes wrong where the first part vanishes; what is
        // untrusted has to be right.
        let mut untrusted = Vec::new();
        self.each_part(&before, |start, part, replacement| {
            let Some(replacement) = replacement else { return };
            edits.extend(before.get(kept..start).unwrap_or_default().chars().map(|c| (c, 0)));
            push_replaced(&mut edits, part, replacement);
            if text.tracks_untrusted() {
                untrusted.extend((kept..start).map(|at| text.is_untrusted(at..at + 1)));
                let flag = text.is_untrusted(start..start + part.len());
                untrusted.extend(std::iter::repeat_n(flag, replacement.len()));
            }
            kept = start + part.len();
            changed = true;
        });
        if !changed {
            return Ok(());
        }
        edits.extend(before.get(kept..).unwrap_or_default().chars().map(|c| (c, 0)));
        if !text.tracks_untrusted() {
            return text.transform(edits, 0);
        }
        untrusted.extend((kept..before.len()).map(|at| text.is_untrusted(at..at + 1)));
        text.transform(edits, 0)?;
        text.set_untrusted(untrusted)
    }

    /// Calls `each` with the start of each part that may be replaced, the part, and what replaces
    /// it. What lies between the parts stays.
    fn each_part(&self, text: &str, mut each: impl FnMut(usize, &str, Option<&str>)) {
        for_each_cluster(text, &self.active, |start, cluster| {
            if cluster.len() < WHOLE {
                if let Some(new) = replacement(&self.map, cluster.as_bytes()) {
                    each(start, cluster, Some(new));
                    return;
                }
            }
            for (at, c) in cluster.char_indices() {
                let part = cluster.get(at..at + c.len_utf8()).unwrap_or_default();
                each(start + at, part, replacement(&self.map, part.as_bytes()));
            }
        });
    }
}

/// What the shortest key that `text` begins with leads to. No key goes beyond a zero byte.
fn replacement<'a>(map: &'a Charsmap, text: &'a [u8]) -> Option<&'a str> {
    let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
    map.prefixes(text).next().map(|(_, replacement)| replacement)
}

/// As the reference counts: what a replacement is longer by is new, what it is shorter by vanishes
/// behind the character before. Where there is none, the count is lost, in the reference too.
fn push_replaced(edits: &mut Vec<(char, isize)>, old: &str, new: &str) {
    edits.extend(new.chars().map(|c| (c, 0)));
    let (old, new) = (old.chars().count(), new.chars().count());
    if let Some(more) = new.checked_sub(old) {
        edits.iter_mut().rev().take(more).for_each(|edit| edit.1 = 1);
    } else if let Some(last) = edits.last_mut() {
        last.1 -= (old - new) as isize;
    }
}

/// Calls `each` for the grapheme clusters of `text`. Those of one ASCII character that is not in
/// `active` are passed over.
fn for_each_cluster(text: &str, active: &[bool; 128], mut each: impl FnMut(usize, &str)) {
    let bytes = text.as_bytes();
    let mut start = 0;
    while start < bytes.len() {
        let rest = bytes.get(start..).unwrap_or_default();
        let ascii = rest.iter().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
        let mut end = start + ascii;
        if ascii < rest.len() {
            // An ASCII character may be the base of a cluster: the last one goes with what follows.
            let ascii = rest.get(..ascii).unwrap_or_default();
            end -= if ascii.ends_with(b"\r\n") { 2 } else { ascii.len().min(1) };
        }
        ascii_clusters(text, start, end, active, &mut each);
        start = end;
        end = mixed_end(bytes, start);
        let mixed = text.get(start..end).unwrap_or_default();
        for (at, cluster) in mixed.grapheme_indices(true) {
            each(start + at, cluster);
        }
        start = end;
    }
}

/// Where the next two ASCII characters meet that do not belong together. No cluster reaches across.
fn mixed_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(&[before, after]) = bytes.get(at..at + 2) {
        at += 1;
        if before.is_ascii() && after.is_ascii() && (before, after) != (b'\r', b'\n') {
            return at;
        }
    }
    bytes.len()
}

fn ascii_clusters(
    text: &str,
    start: usize,
    end: usize,
    active: &[bool; 128],
    each: &mut impl FnMut(usize, &str),
) {
    let bytes = text.as_bytes().get(..end).unwrap_or_default();
    let mut at = start;
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied();
        let length = if (byte, next) == (b'\r', Some(b'\n')) { 2 } else { 1 };
        if length == 2 || active.get(usize::from(byte)).is_some_and(|&active| active) {
            each(at, text.get(at..at + length).unwrap_or_default());
        }
        at += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::random::Random;

    #[test]
    fn clusters_are_those_of_the_whole_text() {
        const PIECES: [&str; 16] = [
            "a",
            "b",
            " ",
            "\r",
            "\n",
            "\r\n",
            "é",
            "\u{301}",
            "\u{600}",
            "🇩",
            "🇪",
            "👨",
            "\u{200D}",
            "👩",
            "\u{915}\u{94D}",
            "각",
        ];
        let mut random = Random::new(3);
        for _ in 0..4000 {
            let text: String = (0..random.below(14)).map(|_| *random.pick(&PIECES)).collect();
            let mut found = Vec::new();
            for_each_cluster(&text, &[true; 128], |at, cluster| {
                found.push((at, cluster.to_owned()))
            });
            let whole: Vec<_> =
                text.grapheme_indices(true).map(|(at, c)| (at, c.to_owned())).collect();
            assert_eq!(found, whole, "{text:?}");
        }
    }

    #[test]
    fn what_is_longer_is_new_and_what_is_shorter_vanishes_behind() {
        let mut edits = Vec::new();
        push_replaced(&mut edits, "\u{1}", "");
        assert_eq!(edits, []);
        push_replaced(&mut edits, "™", "TM");
        push_replaced(&mut edits, "\u{1E}", "");
        push_replaced(&mut edits, "e\u{301}", "é");
        assert_eq!(edits, [('T', 0), ('M', 0), ('é', -1)]);
    }
}
