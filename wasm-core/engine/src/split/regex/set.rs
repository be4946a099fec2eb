//! Sets of characters, as ranges of code points.

use crate::unicode;

const LAST: u32 = char::MAX as u32;
const SURROGATES: (u32, u32) = (0xD800, 0xDFFF);

/// Ascending ranges, both ends included, that neither touch nor hold a surrogate.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct CodeSet(Vec<(u32, u32)>);

impl CodeSet {
    pub fn of(ranges: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut sorted: Vec<(u32, u32)> = ranges.into_iter().flat_map(without_surrogates).collect();
        sorted.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::with_capacity(sorted.len());
        for (first, last) in sorted {
            match joined.last_mut() {
                Some(previous) if first <= previous.1 + 1 => previous.1 = previous.1.max(last),
                _ => joined.push((first, last)),
            }
        }
        Self(joined)
    }

    pub fn of_char(c: char) -> Self {
        Self::of([(u32::from(c), u32::from(c))])
    }

    /// What the reference means by the name of a property; `None`: that is not known.
    pub fn named(name: &str) -> Option<Self> {
        unicode::ranges(name).map(Self::of)
    }

    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.0
    }

    pub fn is_ascii(&self) -> bool {
        self.0.last().is_none_or(|(_, last)| *last < 0x80)
    }

    pub fn contains(&self, c: u32) -> bool {
        let behind = self.0.partition_point(|(first, _)| *first <= c);
        behind.checked_sub(1).and_then(|at| self.0.get(at)).is_some_and(|(_, last)| c <= *last)
    }

    #[must_use]
    pub fn union(self, other: &Self) -> Self {
        Self::of(self.0.into_iter().chain(other.0.iter().copied()))
    }

    #[must_use]
    pub fn complement(&self) -> Self {
        let mut outside = Vec::with_capacity(self.0.len() + 1);
        let mut next = 0;
        for (first, last) in &self.0 {
            if next < *first {
                outside.push((next, first - 1));
            }
            next = last + 1;
        }
        if next <= LAST {
            outside.push((next, LAST));
        }
        Self::of(outside)
    }

    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.complement().union(&other.complement()).complement()
    }

    /// With every ASCII letter the characters that equal it in any case. U+017F (ſ) equals `s`,
    /// U+212A (the Kelvin sign) equals `k`.
    #[must_use]
    pub fn any_case_of_ascii(&self) -> Self {
        let letters = (b'a'..=b'z').map(char::from);
        let equal = letters.filter_map(|lower| {
            let class = Self::of_char(lower).union(&Self::of_char(lower.to_ascii_uppercase()));
            let class = match lower {
                's' => class.union(&Self::of_char('\u{17F}')),
                'k' => class.union(&Self::of_char('\u{212A}')),
                _ => class,
            };
            let touched = class.ranges().iter().any(|(c, _)| self.contains(*c));
            touched.then_some(class)
        });
        equal.fold(self.clone(), |all, class| all.union(&class))
    }
}

fn without_surrogates((first, last): (u32, u32)) -> impl Iterator<Item = (u32, u32)> {
    let (low, high) = SURROGATES;
    let below = (first, last.min(low - 1));
    let above = (first.max(high + 1), last.min(LAST));
    let whole = last < low || first > high;
    let parts = if whole { [(first, last.min(LAST)), (1, 0)] } else { [below, above] };
    parts.into_iter().filter(|(first, last)| first <= last)
}
