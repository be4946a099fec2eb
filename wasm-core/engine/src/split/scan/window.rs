//! Where pieces start, for 64 bytes at a time, in the algebra of bits.
//!
//! A window begins where a piece does, so nothing before it matters and nothing is carried from one
//! window to the next. All bytes of a character have its class, so that neighbours are neighbours in
//! any script (see [`super::wide`]). The window is cut at the first byte that the algebra does not
//! know (some classes of what is not ASCII). The piece of the last start may go on behind the window:
//! only the pieces between two starts are settled. What happens too seldom to be worth any algebra,
//! as a contraction that letters follow, ends the window early, and the scanner for single pieces
//! takes over there.
//!
//! The patterns served are those of cl100k's kind:
//! `[^\r\n\p{L}\p{N}]?\p{L}+ | \p{N}{1,D} | ` ?`[^\s\p{L}\p{N}]+[\r\n]* | \s*[\r\n]+ | \s+(?!\S) | \s+`,
//! and of o200k's, where a capital behind a small letter starts a word, and slashes follow newlines.

use super::quotes;
use super::wide::{self, Family, WideMasks};
use crate::simd::block::{Block, WIDTH};

/// Bytes of a window.
pub const SIZE: usize = WIDTH;

/// What sets the patterns of a kind apart.
pub trait Kind {
    /// How many digits stand together.
    const DIGITS: usize;
    /// Whether this is o200k's kind.
    const CASED: bool;
    /// Whether marks are letters.
    const MARKS: bool;
    /// Whether the pattern knows contractions: in o200k's kind they end a word, in the other they
    /// are pieces.
    const CONTRACTIONS: bool;
}

/// Bit n: a piece starts at byte n. Bit 0 is set; if it is the only one, nothing is settled.
#[inline(always)]
pub fn starts<K: Kind>(window: &[u8; SIZE]) -> u64 {
    let block = Block::load(window);
    if block.is_ascii() {
        settle::<K>(window, ascii(block), WideMasks::default())
    } else {
        with_wide::<K>(window)
    }
}

#[inline(never)]
fn with_wide<K: Kind>(window: &[u8; SIZE]) -> u64 {
    let family = match (K::CASED, K::MARKS) {
        (true, _) => Family::Cased,
        (_, true) => Family::Marks,
        _ => Family::Plain,
    };
    let block = Block::load(window);
    settle::<K>(window, ascii(block), wide::masks(window, block, family))
}

/// The bytes of each class.
struct Masks {
    letters: u64,
    capitals: u64,
    digits: u64,
    blanks: u64,
    newlines: u64,
    spaces: u64,
    slashes: u64,
    quotes: u64,
}

#[inline(always)]
fn ascii(block: Block) -> Masks {
    let blanks = block.equal(b' ');
    Masks {
        letters: block.in_range(0x20, b'a', b'z'),
        capitals: block.in_range(0, b'A', b'Z'),
        digits: block.in_range(0, b'0', b'9'),
        blanks,
        newlines: block.either(b'\n', b'\r'),
        spaces: block.in_range(0, b'\t', b'\r') | blanks,
        slashes: block.equal(b'/'),
        quotes: block.equal(b'\''),
    }
}

#[inline(always)]
fn settle<K: Kind>(window: &[u8; SIZE], ascii: Masks, wide: WideMasks) -> u64 {
    let WideMasks { tails, .. } = wide;
    let valid = below_lowest(wide.unknown);
    let letters = (ascii.letters | wide.letters) & valid;
    let digits = ascii.digits & valid;
    let blanks = ascii.blanks & valid;
    let all_newlines = ascii.newlines & valid;
    let all_spaces = ascii.spaces & valid;
    let others = valid & !(letters | digits | all_spaces);

    // `[^\s\p{L}\p{N}]+[\r\n]*`: newlines right behind others belong to them, and the white space
    // that is left begins anew.
    let taken = run_of(all_newlines, others << 1 & all_newlines);
    let spaces = all_spaces & !taken;
    let newlines = all_newlines & !taken;
    let gaps = spaces & !newlines;

    // The last one of white space stands alone or goes with what follows; a newline there goes
    // with the ones before it.
    let last_gaps = gaps & !(spaces >> 1);
    // White space behind the last newline of its run starts a piece. If another newline follows it,
    // it was not the last one: that is seldom, and settles nothing from there on.
    let behind_newlines = gaps & newlines << 1;
    let ends = gaps.wrapping_add(behind_newlines) & !gaps;
    let misjudged = if ends & newlines == 0 { 0 } else { behind_newlines };

    let symbols = others & !(others << 1) & !(blanks << 1);
    // Right behind the first character of such a run: letters there go with it.
    let behind_first = tails.wrapping_add(symbols << 1) & !tails;
    let mut words = letters & !(letters << 1) & !(gaps << 1) & !behind_first;
    let mut settled = valid;
    if K::CASED {
        words |= words_by_case(letters, ascii.capitals & valid, &wide, valid);
        settled &= below_lowest(ascii.slashes & taken << 1);
    }
    let mut starts = words
        | grouped(digits, K::DIGITS)
        | symbols
        | spaces & !(spaces << 1)
        | behind_newlines
        | last_gaps;

    if K::CONTRACTIONS {
        let before = if K::CASED { letters << 1 } else { symbols };
        // A letter follows, or something unknown.
        let open = ascii.quotes & valid & before & !((valid & !letters) >> 1);
        if open != 0 {
            let judged = quotes::judge::<K>(window, open, letters);
            starts &= judged.starts;
            settled &= judged.settled;
        }
    }
    settled &= below_lowest(misjudged);
    starts & known_spaces(spaces, valid) & settled | 1
}

/// Of white space that touches the end of the window only the beginning is known.
#[inline(always)]
pub fn known_spaces(spaces: u64, valid: u64) -> u64 {
    let trailing = trailing_run(spaces, valid);
    !trailing | trailing & !(trailing << 1)
}

/// Where a word starts inside a run of letters, by case. Letters that have none are on both sides.
#[inline(always)]
fn words_by_case(letters: u64, capitals: u64, wide: &WideMasks, valid: u64) -> u64 {
    let both = wide.caseless & valid;
    let upper = capitals | wide.upper & valid;
    let lower = letters & !(upper | both);
    // `W+` has begun, and goes on with letters of both sides.
    let begun = lower | run_of(both, lower << 1 & both);
    let mut words = upper & begun << 1;
    // `U*` has taken everything; where no `W` follows, it gives back down to a letter of both sides.
    let mut given_back = upper & both << 1 & !words;
    while given_back != 0 {
        let start = given_back & given_back.wrapping_neg();
        given_back ^= start;
        let behind = upper.wrapping_add(start) & !upper & (start.wrapping_neg());
        let behind = behind & behind.wrapping_neg();
        if behind & valid & !letters != 0 {
            words |= start;
        }
    }
    words
}

/// All bits below the lowest one of `mask`; all, if there is none.
#[inline(always)]
pub fn below_lowest(mask: u64) -> u64 {
    (mask & mask.wrapping_neg()).wrapping_sub(1)
}

/// The runs of `within` that begin with one of `starts`, which are beginnings of runs.
#[inline(always)]
pub fn run_of(within: u64, starts: u64) -> u64 {
    within & !within.wrapping_add(starts & !(within << 1))
}

/// The run of `mask` at the end of `valid`, which is all bits below some place.
#[inline(always)]
fn trailing_run(mask: u64, valid: u64) -> u64 {
    let gap = valid & !mask;
    // Everything in `valid` above the highest bit that is not in `mask`.
    match 64 - gap.leading_zeros() {
        64 => 0,
        above => valid & (u64::MAX << above),
    }
}

/// The first of each group of up to `most` digits.
#[inline(always)]
pub fn grouped(digits: u64, most: usize) -> u64 {
    if most == 1 {
        return digits;
    }
    let whole = (1..most).fold(digits, |whole, n| whole & digits << n);
    let mut starts = digits & !(digits << 1);
    let mut new = starts;
    while new != 0 {
        // A group of `most` ends right before here, and digits go on.
        new = new << most & digits & whole << 1;
        starts |= new;
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::super::{Cl100k, DeepSeek, Gpt2, O200k, PieceScan, ScanVisitor, Scanner};
    use super::*;
    use crate::oracle::random::Random;

    struct Compare<'a>(&'a [u8], u64);

    impl ScanVisitor for Compare<'_> {
        type Output = ();

        /// Every settled piece is one that the scanner for single pieces finds.
        fn visit<S: PieceScan>(self, scan: &S) {
            let Self(text, starts) = self;
            assert_eq!(starts & 1, 1);
            let mut at = 0;
            while at < SIZE {
                let above = starts & (u64::MAX << at) & !(1 << at);
                if above == 0 {
                    break;
                }
                let end = above.trailing_zeros() as usize;
                assert_eq!(
                    scan.piece_end(text, at),
                    end,
                    "{:?} at {at}, starts {starts:064b}",
                    String::from_utf8_lossy(text)
                );
                at = end;
            }
        }
    }

    fn check(text: &[u8]) -> u32 {
        let window: &[u8; SIZE] = text.first_chunk().unwrap();
        let mut found = 0;
        for (scanner, starts) in [
            (Scanner::Cl100k, starts::<Cl100k<3, false, true>>(window)),
            (Scanner::Qwen2, starts::<Cl100k<1, false, true>>(window)),
            (Scanner::Qwen35, starts::<Cl100k<1, true, true>>(window)),
            (Scanner::Qwen2Ascii, starts::<Cl100k<1, false, false>>(window)),
            (Scanner::O200k, starts::<O200k<3, true>>(window)),
            (Scanner::Tekken, starts::<O200k<1, false>>(window)),
            (Scanner::Gpt2, Gpt2.starts(window)),
            (Scanner::DeepSeek3, DeepSeek::<true>.starts(window)),
        ] {
            found += starts.count_ones();
            scanner.visit(Compare(text, starts));
        }
        found
    }

    #[test]
    fn settled_pieces_are_those_of_the_single_scanner() {
        let atoms = [
            "a",
            "B",
            "word",
            "Word",
            "HTTPServer",
            "x",
            " ",
            "  ",
            "   ",
            "\n",
            "\r\n",
            "\n\n",
            "\t",
            "\t\t",
            "\u{b}",
            "1",
            "12",
            "123",
            "12345678",
            ".",
            "(",
            "!=",
            "//",
            "/",
            "*/\n/",
            ");\n",
            "_",
            "\0",
            "\u{7f}",
            "'",
            "'s",
            "'S",
            "'re",
            "'LL",
            "'ſ",
            "n't",
            "s",
            "é",
            "你",
            "\u{a0}",
            "\u{85}",
            " (",
            "\n  ",
            " \n \n ",
            "，",
            "。\n",
            "字",
            "ア",
            "使用API",
            "Ж",
            "жизнь",
            "ǅ",
            "ʰ",
            "\u{301}",
            "\u{93F}",
            "हिन्दी",
            "٣",
            "½",
            "🌶",
            "𝔸",
            "\u{3000}",
            "\u{200d}",
            "«",
            "É",
            "ー",
            "・",
            "(é",
            "(aé",
            "龦",
        ];
        let mut random = Random::new(17);
        let mut found = 0;
        for round in 0..60_000 {
            let kinds = 2 + random.below(if round % 2 == 0 { 6 } else { atoms.len() - 2 });
            let first = random.below(atoms.len());
            let mut text = String::new();
            while text.len() < SIZE + 20 {
                text.push_str(atoms[(first + random.below(kinds) * 7) % atoms.len()]);
            }
            if text.is_char_boundary(SIZE) || round % 5 == 0 {
                found += check(text.as_bytes());
            }
        }
        assert!(found > 1_000_000, "{found}");
    }

    #[test]
    fn every_short_arrangement_of_the_classes() {
        every_arrangement(*b"aA1 \n\t./");
        every_arrangement(*b"asRe\' \n.");
    }

    fn every_arrangement(bytes: [u8; 8]) {
        let mut number = 0usize;
        // All strings of six of these, packed ten to a window with a letter between.
        while number < bytes.len().pow(6) {
            let mut text = Vec::new();
            while text.len() < SIZE + 8 {
                let mut rest = number;
                for _ in 0..6 {
                    text.push(bytes[rest % bytes.len()]);
                    rest /= bytes.len();
                }
                number += 1;
                text.push(b'b');
            }
            check(&text);
        }
    }
}
