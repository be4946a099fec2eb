//! What text may not become: control tokens, where a caller does not trust the text.

use std::ops::Range;

/// A set of ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdSet {
    words: Vec<u64>,
}

impl IdSet {
    pub fn insert(&mut self, id: u32) {
        let (word, bit) = place(id);
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        if let Some(word) = self.words.get_mut(word) {
            *word |= bit;
        }
    }

    pub fn remove(&mut self, id: u32) {
        let (word, bit) = place(id);
        if let Some(word) = self.words.get_mut(word) {
            *word &= !bit;
        }
    }

    #[inline]
    pub fn contains(&self, id: u32) -> bool {
        let (word, bit) = place(id);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }
}

fn place(id: u32) -> (usize, u64) {
    (id as usize / 64, 1 << (id % 64))
}

impl FromIterator<u32> for IdSet {
    fn from_iter<T: IntoIterator<Item = u32>>(ids: T) -> Self {
        let mut set = Self::default();
        ids.into_iter().for_each(|id| set.insert(id));
        set
    }
}

/// Which bytes of a text a guard stands before.
#[derive(Debug, Clone, Copy)]
pub enum Untrusted<'a> {
    All,
    /// Ascending, none of them empty, none touching the next.
    Ranges(&'a [Range<usize>]),
}

impl Untrusted<'_> {
    /// Whether any byte of `range` is untrusted.
    pub fn touches(self, range: Range<usize>) -> bool {
        match self {
            Self::All => !range.is_empty(),
            Self::Ranges(ranges) => {
                let first = ranges.partition_point(|untrusted| untrusted.end <= range.start);
                let reaches = |untrusted: &Range<usize>| untrusted.start < range.end;
                !range.is_empty() && ranges.get(first).is_some_and(reaches)
            }
        }
    }

    /// One flag for each byte of `range`.
    pub fn flags(self, range: Range<usize>) -> Vec<bool> {
        let Self::Ranges(ranges) = self else { return vec![true; range.len()] };
        let mut flags = vec![false; range.len()];
        let first = ranges.partition_point(|untrusted| untrusted.end <= range.start);
        for untrusted in ranges.iter().skip(first).take_while(|one| one.start < range.end) {
            let start = untrusted.start.max(range.start) - range.start;
            let end = untrusted.end.min(range.end) - range.start;
            flags.get_mut(start..end).unwrap_or_default().fill(true);
        }
        flags
    }
}

/// Keeps untrusted bytes from becoming, or being part of, any of the forbidden ids.
#[derive(Debug, Clone, Copy)]
pub struct Guard<'a> {
    pub forbidden: &'a IdSet,
    pub untrusted: Untrusted<'a>,
    /// A special token that is found is passed over with all that begins inside it, as the
    /// reference does where the names of special tokens are text. Otherwise it is as if it were
    /// not listed: what it would have hidden is found.
    pub passes_over: bool,
}

impl Guard<'_> {
    /// Whether `id` may come from these bytes of the text.
    pub fn permits(&self, id: u32, range: Range<usize>) -> bool {
        !self.forbidden.contains(id) || !self.untrusted.touches(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_kept_apart() {
        let mut set: IdSet = [0, 63, 64, 200_000].into_iter().collect();
        assert!([0, 63, 64, 200_000].iter().all(|&id| set.contains(id)));
        assert!([1, 62, 65, 128, 199_999, u32::MAX].iter().all(|&id| !set.contains(id)));
        set.remove(64);
        set.remove(u32::MAX);
        assert!(set.contains(63) && !set.contains(64));
    }

    #[test]
    fn ranges_touch_as_their_flags_say() {
        let ranges = [2..4, 7..8];
        let some = Untrusted::Ranges(&ranges);
        let flags = some.flags(0..10);
        for start in 0..10 {
            for end in start..=10 {
                let expected = flags[start..end].contains(&true);
                assert_eq!(some.touches(start..end), expected, "{start}..{end}");
                assert_eq!(some.flags(start..end), flags[start..end]);
                assert_eq!(Untrusted::All.touches(start..end), start < end);
            }
        }
        assert!(!Untrusted::Ranges(&[]).touches(0..100));
    }
}
