//! The classes of 64 code points that differ only in the last byte of their characters.

use super::{tables, FLAGS, LETTER, LOWER_RUN, MARK, NUMBER, PAGE, PAGES};
use super::{PUNCTUATION, SPACE, SYMBOL, UPPER_RUN};

const ROW: usize = 64;
const ROWS_OF_PAGE: usize = PAGE / ROW;

/// Which of the 64 belong to a set: bit n stands for the code point whose last six bits are n.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    pub letters: u64,
    pub marks: u64,
    pub upper_run: u64,
    pub lower_run: u64,
    pub numbers_and_spaces: u64,
    pub punctuation_and_symbols: u64,
}

static ROWS: [[Row; ROWS_OF_PAGE]; tables::PAGE_COUNT] = rows();

/// The row that a code point is in.
#[inline(always)]
pub fn row_of(code: u32) -> &'static Row {
    let code = code.min(char::MAX as u32) as usize;
    let page = tables::PAGE_OF.get(code / PAGE).copied().unwrap_or_default();
    let rows = ROWS.get(usize::from(page)).unwrap_or(&ROWS[0]);
    &rows[code / ROW % ROWS_OF_PAGE]
}

const fn rows() -> [[Row; ROWS_OF_PAGE]; tables::PAGE_COUNT] {
    let mut rows = [[row(&PAGES[0], 0); ROWS_OF_PAGE]; tables::PAGE_COUNT];
    let mut at = 0;
    while at < tables::PAGE_COUNT * ROWS_OF_PAGE {
        rows[at / ROWS_OF_PAGE][at % ROWS_OF_PAGE] =
            row(&PAGES[at / ROWS_OF_PAGE], at % ROWS_OF_PAGE * ROW);
        at += 1;
    }
    rows
}

const fn row(page: &[u8; PAGE], first: usize) -> Row {
    Row {
        letters: members(page, first, LETTER),
        marks: members(page, first, MARK),
        upper_run: members(page, first, UPPER_RUN),
        lower_run: members(page, first, LOWER_RUN),
        numbers_and_spaces: members(page, first, NUMBER | SPACE),
        punctuation_and_symbols: members(page, first, PUNCTUATION | SYMBOL),
    }
}

const fn members(page: &[u8; PAGE], first: usize, flags: u32) -> u64 {
    let (mut members, mut n) = (0, 0);
    while n < ROW {
        if FLAGS[page[first + n] as usize] & flags != 0 {
            members |= 1 << n;
        }
        n += 1;
    }
    members
}

#[cfg(test)]
mod tests {
    use super::super::class_of_u32;
    use super::*;

    #[test]
    fn rows_have_what_classes_have() {
        for code in (0..=0x10_FFFF).chain([u32::MAX]) {
            let row = row_of(code);
            let code = code.min(0x10_FFFF);
            for (set, flags) in [
                (row.letters, LETTER),
                (row.marks, MARK),
                (row.upper_run, UPPER_RUN),
                (row.lower_run, LOWER_RUN),
                (row.numbers_and_spaces, NUMBER | SPACE),
                (row.punctuation_and_symbols, PUNCTUATION | SYMBOL),
            ] {
                assert_eq!(set >> (code % 64) & 1 == 1, class_of_u32(code).is(flags), "{code:X}");
            }
        }
    }
}
