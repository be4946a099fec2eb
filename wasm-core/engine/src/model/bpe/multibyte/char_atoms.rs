//! Text of many bytes a character: which characters can be merged from whole, and where no merge
//! ever crosses.
//!
//! Merging starts from bytes, by definition. Four facts make most of that work needless:
//!
//! 1. Every merge that meets a border between two characters has two sides there ([`Side`]): a
//!    whole character or a part of one. What is found on the sides of any merge of the file says
//!    which pairs of characters can be joined at all. Where neither the two characters nor parts
//!    of them are such sides, nothing ever crosses: a *cut*.
//! 2. A merge with a part on a side (a *fragment*) can only happen while that character is not
//!    whole. A character that is left alone becomes whole by merges of known ranks. As long as it
//!    is not whole, one of these can be applied, so nothing of a higher rank is. A fragment is
//!    *harmless* for a pair if its rank is above all of these of one of the characters that it has
//!    a part of, else it is *harmful*.
//! 3. That argument needs the character to be left alone, so a pair is only judged by it if both
//!    characters are *sound*: they become whole, and neither is beside a harmful pair. For all
//!    others any fragment that fits is harmful, whatever its rank; and what is beside it is not
//!    sound either, and so on. Then at no other pair anything happens before both are whole: take
//!    the first merge that would; its sides show a harmful fragment, or a rank that was not yet
//!    due.
//! 4. Of a part of the text between two cuts, without a harmful pair and with sound characters
//!    only, merging from whole characters (*atoms*) gives what merging from bytes gives. Both ways
//!    apply the same merges between characters in the same order: if the next one by rank and place
//!    has a character that is not whole yet in the way of bytes, then merges of lower rank are
//!    pending there, since an atom takes part in no merge whose rank is not above all those that
//!    form it (that is checked, and what fails is no atom). So these come first, and change nothing
//!    between characters.
//!
//! What is not so is merged from bytes, part by part.

use super::char_borders::{prefixes, suffixes, Side, Sides};
use crate::definition::Merge;
use crate::model::bpe::merge::byte_units::ByteUnits;
use crate::model::bpe::merge::pairs::{PairTable, NONE};
use crate::vocab::Vocab;
use std::collections::{HashMap, HashSet};

/// A character as the tables know it: the id of its token below, flags above.
#[derive(Debug, Clone, Copy, Default)]
pub struct Atom(u32);

impl Atom {
    const ID: u32 = (1 << 24) - 1;
    /// Not sound: to be spelled in bytes.
    const NONE: Self = Self(1 << 31);
    /// Some end of it is on the left of a fragment that has parts on both sides.
    const RISKY_LEFT: u32 = 1 << 30;
    /// The same on the right.
    const RISKY_RIGHT: u32 = 1 << 29;

    #[inline(always)]
    pub fn id(self) -> u32 {
        self.0 & Self::ID
    }

    /// 1 if it has to be spelled in bytes.
    #[inline(always)]
    pub fn is_none(self) -> u64 {
        u64::from(self.0 >> 31)
    }

    /// 1 if a common fragment may be harmful between the two.
    #[inline(always)]
    pub fn risks(self, right: Self) -> u64 {
        u64::from(self.0 >> 30 & right.0 >> 29 & 1)
    }
}

/// A fragment with parts on both sides fits the product of two sets of characters. Up to this many
/// pairs are listed, else the characters of both sets are marked.
const LISTED: usize = 1 << 12;

/// A file with more harmful pairs than this was made to have them.
const MOST_HARMFUL: usize = 1 << 17;
const MOST_FRAGMENTS: usize = 1 << 13;

#[derive(Debug)]
pub struct CharAtoms {
    /// By code point; the basic plane, which most text is in.
    plane: Vec<Atom>,
    astral: HashMap<u32, Atom>,
    pairs: PairFilter,
    /// The sides of all fragments.
    fragments: PairFilter,
    lefts: SideFilter,
}

impl CharAtoms {
    /// `None` where ids do not tell texts apart, or nothing would be gained.
    pub fn new(
        vocab: &Vocab,
        merges: &[Merge],
        pairs: &PairTable,
        bytes: &ByteUnits,
    ) -> Option<Self> {
        let sides = Sides::new(vocab)?;
        let mut formed = formed_chars(&sides, pairs, bytes);
        remove_early_users(&mut formed, merges, pairs, &sides);
        let mut atoms = Self {
            plane: vec![Atom::NONE; 1 << 16],
            astral: HashMap::new(),
            pairs: PairFilter::default(),
            fragments: PairFilter::default(),
            lefts: SideFilter::default(),
        };
        for (code, &id) in (0..).zip(bytes.ascii()) {
            atoms.insert(code, id);
        }
        for (c, formed) in &formed {
            atoms.insert((*c).into(), formed.id);
        }

        let mut joined = HashSet::new();
        let mut fragments: HashMap<(Side, Side), u32> = HashMap::new();
        for merge in merges {
            let (Some(left), Some(right)) = (sides.tail(merge.left), sides.head(merge.right))
            else {
                continue;
            };
            if left.is_part() || right.is_part() {
                // Of several merges with these sides the first one does the harm.
                let rank = pairs.rank(merge.left, merge.right);
                let lowest = fragments.entry((left, right)).or_insert(rank);
                *lowest = rank.min(*lowest);
            } else {
                joined.insert((left.number(), right.number()));
            }
        }
        if fragments.len() > MOST_FRAGMENTS {
            return None;
        }
        let harmful = atoms.harmful_pairs(&formed, &fragments)?;
        atoms.pairs = PairFilter::new(&joined, &harmful);
        let sides = fragments.keys().map(|(left, right)| (left.number(), right.number()));
        atoms.fragments = PairFilter::new(&HashSet::new(), &sides.collect());
        atoms.lefts = SideFilter::new(fragments.keys().map(|(left, _)| *left));
        Some(atoms)
    }

    fn insert(&mut self, code: u32, id: u32) {
        if id > Atom::ID {
            return;
        }
        match self.plane.get_mut(code as usize) {
            Some(place) => *place = Atom(id),
            None => {
                self.astral.insert(code, Atom(id));
            }
        }
    }

    /// The pairs of atoms between which some fragment is harmful, or marks on both.
    fn harmful_pairs(
        &mut self,
        formed: &HashMap<char, Formed>,
        fragments: &HashMap<(Side, Side), u32>,
    ) -> Option<HashSet<(u32, u32)>> {
        let (mut by_suffix, mut by_prefix) = (HashMap::new(), HashMap::new());
        for (&c, formed) in formed {
            let entry = (u32::from(c), formed.rank);
            suffixes(c).for_each(|side| by_suffix.entry(side).or_insert_with(Vec::new).push(entry));
            prefixes(c).for_each(|side| by_prefix.entry(side).or_insert_with(Vec::new).push(entry));
        }
        let fitting = |side: Side, parts: &HashMap<Side, Vec<(u32, u32)>>, rank: u32| {
            if !side.is_part() {
                return vec![side.number()];
            }
            let chars = parts.get(&side).map(Vec::as_slice).unwrap_or_default();
            chars.iter().filter(|c| rank < c.1).map(|c| c.0).collect()
        };
        let mut harmful = HashSet::new();
        for (&(left, right), &rank) in fragments {
            let lefts = fitting(left, &by_suffix, rank);
            let rights = fitting(right, &by_prefix, rank);
            if left.is_part() && right.is_part() && lefts.len() * rights.len() > LISTED {
                lefts.iter().for_each(|&code| self.mark(code, Atom::RISKY_LEFT));
                rights.iter().for_each(|&code| self.mark(code, Atom::RISKY_RIGHT));
                continue;
            }
            for &left in &lefts {
                harmful.extend(rights.iter().map(|&right| (left, right)));
            }
            if harmful.len() > MOST_HARMFUL {
                return None;
            }
        }
        Some(harmful)
    }

    fn mark(&mut self, code: u32, flag: u32) {
        let place = match self.plane.get_mut(code as usize) {
            Some(place) => Some(place),
            None => self.astral.get_mut(&code),
        };
        if let Some(atom) = place {
            atom.0 |= flag;
        }
    }

    #[inline(always)]
    pub fn atom(&self, code: u32) -> Atom {
        match self.plane.get(code as usize) {
            Some(&atom) => atom,
            None => self.astral_atom(code),
        }
    }

    #[cold]
    #[inline(never)]
    fn astral_atom(&self, code: u32) -> Atom {
        self.astral.get(&code).copied().unwrap_or(Atom::NONE)
    }

    #[inline(always)]
    pub fn pair(&self, left: u32, right: u32) -> Pair {
        self.pairs.ask(left, right)
    }

    /// Whether any fragment fits between two characters.
    pub fn has_fragment(&self, left: u32, right: u32) -> bool {
        let (Some(left), Some(right)) = (char::from_u32(left), char::from_u32(right)) else {
            return true;
        };
        // There are few left sides, most of one byte, and a character has several.
        let lefts = || {
            let sides = std::iter::once(Side::whole(left)).chain(suffixes(left));
            sides.filter(|&side| self.lefts.may_hold(side))
        };
        let rights = || std::iter::once(Side::whole(right)).chain(prefixes(right));
        let fits = |left: Side, right: Side| {
            self.fragments.ask(left.number(), right.number()).harms() != 0
        };
        lefts().any(|left| rights().any(|right| fits(left, right)))
    }
}

/// A character that its bytes merge to.
struct Formed {
    id: u32,
    /// The highest rank of the merges that form it.
    rank: u32,
}

fn formed_chars(sides: &Sides, pairs: &PairTable, bytes: &ByteUnits) -> HashMap<char, Formed> {
    let mut formed = HashMap::new();
    for &(c, id) in sides.chars.iter().filter(|(c, _)| !c.is_ascii()) {
        let mut buffer = [0; 4];
        let mut symbols: Vec<u32> =
            c.encode_utf8(&mut buffer).bytes().map(|byte| bytes.id(byte)).collect();
        let mut highest = 0;
        let next = |symbols: &[u32]| {
            let ranks = symbols.windows(2).enumerate().filter_map(|(at, pair)| match pair {
                [left, right] => Some((pairs.rank(*left, *right), at)),
                _ => None,
            });
            ranks.min().filter(|next| next.0 != NONE)
        };
        while let Some((rank, at)) = next(&symbols) {
            highest = highest.max(rank);
            if let Some(symbol) = symbols.get_mut(at) {
                *symbol = pairs.product(rank);
            }
            symbols.remove(at + 1);
        }
        if symbols == [id] {
            formed.insert(c, Formed { id, rank: highest });
        }
    }
    formed
}

/// Leaves out the characters that take part in a merge which could come before they are formed.
fn remove_early_users(
    formed: &mut HashMap<char, Formed>,
    merges: &[Merge],
    pairs: &PairTable,
    sides: &Sides,
) {
    let mut ranks = vec![NONE; sides.bound()];
    for formed in formed.values() {
        if let Some(rank) = ranks.get_mut(formed.id as usize) {
            *rank = formed.rank;
        }
    }
    let rank_of = |id: u32| ranks.get(id as usize).copied().filter(|&rank| rank != NONE);
    let mut early = HashSet::new();
    for merge in merges {
        for id in [merge.left, merge.right] {
            if rank_of(id).is_some_and(|rank| pairs.rank(merge.left, merge.right) < rank) {
                early.insert(id);
            }
        }
    }
    formed.retain(|_, formed| !early.contains(&formed.id));
}

/// What is known of two neighbours. It may say more of a pair than is true, which costs time only.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    word: u64,
    places: u64,
}

impl Pair {
    /// 1 if some merge may join the two.
    #[inline(always)]
    pub fn joins(self) -> u64 {
        let mask = 1 << (self.places & 63) | 1 << (self.places >> 6 & 63);
        u64::from(self.word & mask == mask)
    }

    /// 1 if a fragment may be harmful between the two. Only asked of pairs that join.
    #[inline(always)]
    pub fn harms(self) -> u64 {
        let mask = 1 << (self.places >> 12 & 63) | 1 << (self.places >> 18 & 63);
        u64::from(self.word & mask == mask)
    }
}

/// A set of pairs of characters, two or four bits each in one word.
#[derive(Debug)]
struct PairFilter {
    words: Vec<u64>,
    shift: u32,
}

impl Default for PairFilter {
    fn default() -> Self {
        Self::new(&HashSet::new(), &HashSet::new())
    }
}

impl PairFilter {
    /// A harmful pair is joined, too.
    fn new(joined: &HashSet<(u32, u32)>, harmful: &HashSet<(u32, u32)>) -> Self {
        let bits = 6 * (2 * joined.len() + 4 * harmful.len());
        let words = (bits / 64).next_power_of_two().max(2);
        let mut filter = Self { words: vec![0; words], shift: 64 - words.trailing_zeros() };
        for (pairs, depth) in [(joined, 2), (harmful, 4)] {
            for &(left, right) in pairs {
                let hash = hash(left, right);
                if let Some(word) = filter.words.get_mut((hash >> filter.shift) as usize) {
                    for n in 0..depth {
                        *word |= 1 << (hash >> (6 * n) & 63);
                    }
                }
            }
        }
        filter
    }

    #[inline(always)]
    fn ask(&self, left: u32, right: u32) -> Pair {
        let hash = hash(left, right);
        let word = self.words.get((hash >> self.shift) as usize).copied().unwrap_or(u64::MAX);
        Pair { word, places: hash }
    }
}

/// A set of sides. It may hold more than was put into it.
#[derive(Debug, Default)]
struct SideFilter([u64; 32]);

impl SideFilter {
    fn new(sides: impl Iterator<Item = Side>) -> Self {
        let mut filter = Self::default();
        for side in sides {
            let (word, bit) = Self::place(side);
            filter.0[word] |= bit;
        }
        filter
    }

    #[inline(always)]
    fn may_hold(&self, side: Side) -> bool {
        let (word, bit) = Self::place(side);
        self.0[word] & bit != 0
    }

    #[inline(always)]
    fn place(side: Side) -> (usize, u64) {
        let hash = side.number().wrapping_mul(0x9E37_79B1);
        ((hash >> 27) as usize & 31, 1 << (hash >> 21 & 63))
    }
}

#[inline(always)]
fn hash(left: u32, right: u32) -> u64 {
    let hash = (u64::from(left) << 32 | u64::from(right)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    // The lower bits of a product know little of the upper ones of what was multiplied.
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_of_sides_holds_all_that_was_put_into_it() {
        let chars = ['a', 'é', '你', 'の', '😀'];
        let sides: Vec<Side> = chars
            .into_iter()
            .flat_map(|c| std::iter::once(Side::whole(c)).chain(suffixes(c)))
            .collect();
        for count in 0..=sides.len() {
            let filter = SideFilter::new(sides.iter().take(count).copied());
            assert!(sides.iter().take(count).all(|&side| filter.may_hold(side)));
        }
        assert!(!sides.iter().any(|&side| SideFilter::default().may_hold(side)));
    }
}
