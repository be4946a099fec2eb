//! What the reference believes about each code point.
//!
//! It mixes several Unicode versions, so the tables are measured, not taken from a database (see
//! `tools/build/make_unicode_tables.py`). Code points that the reference treats alike in every respect
//! share a [`Class`]; a lookup is two loads, and everything else is asked of the class.

mod find;
mod lowercase;
mod rows;
#[rustfmt::skip]
mod script_tables;
mod scripts;
mod sets;
#[rustfmt::skip]
mod tables;

pub use find::find;
pub use lowercase::{lowercase, Lowercase};
pub use rows::{row_of, Row};
pub use scripts::{script_of, Script};
pub use sets::ranges;
pub use tables::{
    ACCENT, ALPHABETIC, BERT_ACCENT, BERT_CJK, BERT_CONTROL, BRACKET_WORD, DELIMITER, LETTER,
    LOWERED, LOWER_RUN, MARK, NFC_ACTIVE, NFD_ACTIVE, NFKC_ACTIVE, NFKD_ACTIVE, NMT_CONTROL,
    NMT_SPACE, NUMBER, NUMERIC, PUNCTUATION, RUST_WORD, SPACE, SYMBOL, UPPER_RUN, WORD,
};

const PAGE: usize = 256;

static PAGES: [[u8; PAGE]; tables::PAGE_COUNT] = unpack();

/// As long as any `u8`, so that looking a class up needs no check.
static FLAGS: [u32; 256] = {
    let mut flags = [0; 256];
    let mut class = 0;
    while class < tables::CLASS_COUNT {
        flags[class] = tables::FLAGS_OF_CLASS[class];
        class += 1;
    }
    flags
};

/// A set of code points that the reference does not tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Class(u8);

impl Class {
    /// Classes are numbered from 0 to `COUNT - 1`; a table of a scanner's own may be indexed by
    /// [`Class::number`].
    pub const COUNT: usize = tables::CLASS_COUNT;

    pub fn all() -> impl Iterator<Item = Self> {
        (0..=u8::MAX).take(Self::COUNT).map(Self)
    }

    #[inline]
    pub fn number(self) -> u8 {
        self.0
    }

    /// The sets that this class belongs to, as the flags of this module.
    #[inline]
    pub fn flags(self) -> u32 {
        FLAGS[self.0 as usize]
    }

    /// Whether this class belongs to any of the sets in `flags`.
    #[inline]
    pub fn is(self, flags: u32) -> bool {
        self.flags() & flags != 0
    }

    /// `\p{L}`
    #[inline]
    pub fn is_letter(self) -> bool {
        self.is(LETTER)
    }

    /// `\p{M}`
    #[inline]
    pub fn is_mark(self) -> bool {
        self.is(MARK)
    }

    /// `\p{N}`
    #[inline]
    pub fn is_number(self) -> bool {
        self.is(NUMBER)
    }

    /// `\p{P}`
    #[inline]
    pub fn is_punctuation(self) -> bool {
        self.is(PUNCTUATION)
    }

    /// `\p{S}`
    #[inline]
    pub fn is_symbol(self) -> bool {
        self.is(SYMBOL)
    }

    /// `\s`
    #[inline]
    pub fn is_space(self) -> bool {
        self.is(SPACE)
    }

    /// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
    #[inline]
    pub fn is_upper_run(self) -> bool {
        self.is(UPPER_RUN)
    }

    /// `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
    #[inline]
    pub fn is_lower_run(self) -> bool {
        self.is(LOWER_RUN)
    }

    /// Two letters, such as `Lu`.
    pub fn category(self) -> &'static str {
        let number = tables::CATEGORY_OF_CLASS.get(self.0 as usize);
        number.and_then(|&number| tables::CATEGORIES.get(number as usize)).copied().unwrap_or("Cn")
    }
}

#[inline]
pub fn class_of(c: char) -> Class {
    class_of_u32(c as u32)
}

/// The class of any number: surrogates are `Cs`, what is above U+10FFFF is unassigned.
#[inline]
pub fn class_of_u32(c: u32) -> Class {
    let c = c.min(char::MAX as u32);
    let page = tables::PAGE_OF.get((c >> 8) as usize).copied().unwrap_or_default();
    Class(PAGES.get(page as usize).map_or(0, |page| page[(c & 0xFF) as usize]))
}

/// What the steps `Strip` and `WhitespaceSplit` and the edges of added tokens call white space.
#[inline]
pub fn is_whitespace(c: char) -> bool {
    class_of(c).is(SPACE)
}

/// What the step `Digits` calls a digit.
#[inline]
pub fn is_numeric(c: char) -> bool {
    class_of(c).is(NUMERIC)
}

/// What the steps `Punctuation` and `Bert` call punctuation.
#[inline]
pub fn is_delimiter(c: char) -> bool {
    class_of(c).is(DELIMITER)
}

/// What the step `Whitespace` and whole-word added tokens call part of a word.
#[inline]
pub fn is_rust_word(c: char) -> bool {
    class_of(c).is(RUST_WORD)
}

/// The classes of all code points, a page at a time.
fn pages() -> impl Iterator<Item = &'static [u8; PAGE]> {
    tables::PAGE_OF.iter().filter_map(|&page| PAGES.get(page as usize))
}

const fn unpack() -> [[u8; PAGE]; tables::PAGE_COUNT] {
    let mut pages = [[0; PAGE]; tables::PAGE_COUNT];
    let mut at = 0;
    let mut run = 0;
    while run < tables::RUNS.len() {
        let (more, class) = tables::RUNS[run];
        let mut left = more as usize + 1;
        while left > 0 {
            pages[at / PAGE][at % PAGE] = class;
            at += 1;
            left -= 1;
        }
        run += 1;
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_categories() {
        let expected = [
            ('A', "Lu"),
            ('z', "Ll"),
            ('ǅ', "Lt"),
            ('5', "Nd"),
            ('½', "No"),
            ('_', "Pc"),
            ('字', "Lo"),
            ('\u{301}', "Mn"),
            ('€', "Sc"),
            (' ', "Zs"),
            ('\n', "Cc"),
            ('\u{E000}', "Co"),
            ('\u{10FFFF}', "Cn"),
        ];
        for (c, category) in expected {
            assert_eq!(class_of(c).category(), category, "{c:?}");
        }
        assert_eq!(class_of_u32(0xD800).category(), "Cs");
        assert_eq!(class_of_u32(u32::MAX).category(), "Cn");
    }

    #[test]
    fn keeps_apart_what_the_reference_keeps_apart() {
        // Oniguruma: \w alone has superscripts, [\w] does not; the Rust regex has joiners.
        assert!(class_of('²').is(WORD) && !class_of('²').is(BRACKET_WORD | RUST_WORD));
        assert!(is_rust_word('\u{200D}') && !class_of('\u{200D}').is(WORD));
        // Unicode 8 punctuation, which later became something else.
        assert!(is_delimiter('\u{166D}') && !class_of('\u{166D}').is_punctuation());
        // A mark newer than the decomposition tables is no accent.
        assert!(class_of('\u{1AC0}').is_mark() && !class_of('\u{1AC0}').is(ACCENT));
        assert!(is_whitespace('\u{85}') && !is_whitespace('\u{200B}'));
        assert!(class_of('字').is_upper_run() && class_of('字').is_lower_run());
    }

    #[test]
    fn every_code_point_has_a_class_within_bounds() {
        let used: std::collections::BTreeSet<_> = (0..=0x10_FFFF).map(class_of_u32).collect();
        assert!(used.into_iter().eq(Class::all()));
    }
}
