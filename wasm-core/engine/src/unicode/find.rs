//! Finding the next character of some sets without decoding those before it.

use super::{class_of, tables, FLAGS, PAGE, PAGES};
use crate::simd::block::{Block, WIDTH};

/// For each byte the sets that any character starting with it belongs to; none for those that
/// start no character.
static FLAGS_OF_LEAD: [u32; 256] = flags_of_leads();

/// For each flag the bytes that start a character of its set and are not ASCII: bit n for 0xC0 + n.
static LEADS_OF_FLAG: [u64; 32] = {
    let mut leads = [0; 32];
    let mut at = 0;
    while at < 32 * 64 {
        leads[at / 64] |= (FLAGS_OF_LEAD[0xC0 + at % 64] as u64 >> (at / 64) & 1) << (at % 64);
        at += 1;
    }
    leads
};

const ASCII_FLAGS: u32 = {
    let mut flags = 0;
    let mut byte = 0;
    while byte < 0x80 {
        flags |= FLAGS_OF_LEAD[byte];
        byte += 1;
    }
    flags
};

/// Where the next character from `from` on is that belongs to any of the sets in `flags`.
pub fn find(text: &str, from: usize, flags: u32) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    if ASCII_FLAGS & flags == 0 {
        let leads = leads_of(flags);
        for window in bytes.get(from..)?.as_chunks().0 {
            let mut candidates = candidates(window, leads);
            while candidates != 0 {
                let place = at + candidates.trailing_zeros() as usize;
                if is_at(text, place, flags) {
                    return Some(place);
                }
                candidates &= candidates - 1;
            }
            at += WIDTH;
        }
    }
    // Perhaps inside a character: its other bytes announce none.
    while let Some(&lead) = bytes.get(at) {
        if FLAGS_OF_LEAD[usize::from(lead)] & flags != 0 && is_at(text, at, flags) {
            return Some(at);
        }
        at += 1;
    }
    None
}

fn leads_of(mut flags: u32) -> u64 {
    let mut leads = 0;
    while flags != 0 {
        leads |= LEADS_OF_FLAG[flags.trailing_zeros() as usize];
        flags &= flags - 1;
    }
    leads
}

/// The bytes of a window that are among `leads`.
#[inline(always)]
fn candidates(window: &[u8; WIDTH], leads: u64) -> u64 {
    let block = Block::load(window);
    if block.is_ascii() {
        return 0;
    }
    block.high() & !block.continuing() & block.in_set(leads)
}

fn is_at(text: &str, at: usize, flags: u32) -> bool {
    text.get(at..).and_then(|rest| rest.chars().next()).is_some_and(|c| class_of(c).is(flags))
}

const fn flags_of_leads() -> [u32; 256] {
    let mut flags = [0; 256];
    let mut code = 0;
    while code < 0x800 {
        let page = &PAGES[tables::PAGE_OF[code / PAGE] as usize];
        let lead = if code < 0x80 { code } else { 0xC0 | code >> 6 };
        flags[lead] |= FLAGS[page[code % PAGE] as usize];
        code += 1;
    }
    let mut flags_of_page = [0; tables::PAGE_COUNT];
    let mut number = 0;
    while number < tables::PAGE_COUNT {
        let mut at = 0;
        while at < PAGE {
            flags_of_page[number] |= FLAGS[PAGES[number][at] as usize];
            at += 1;
        }
        number += 1;
    }
    // Longer characters with the same lead fill whole pages.
    let mut page = 0x800 / PAGE;
    while page < tables::PAGE_OF.len() {
        let code = page * PAGE;
        let lead = if code < 0x10000 { 0xE0 | code >> 12 } else { 0xF0 | code >> 18 };
        flags[lead] |= flags_of_page[tables::PAGE_OF[page] as usize];
        page += 1;
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unicode::{BERT_CJK, LOWERED, NFC_ACTIVE, SPACE};

    #[test]
    fn finds_what_a_plain_search_finds() {
        let texts = ["", "plain", "Ünï 字e\u{301} x", "가\u{11A8}\u{10FFFF}𐐀 z\u{85}"];
        let windows = format!("{}é{}e\u{301}", "a".repeat(WIDTH + 3), "b".repeat(3 * WIDTH));
        for text in texts.map(|text| text.repeat(20)).into_iter().chain([windows]) {
            for flags in [SPACE, LOWERED, NFC_ACTIVE, BERT_CJK] {
                for (from, _) in text.char_indices() {
                    let mut rest = text[from..].char_indices();
                    let plain = rest.find(|(_, c)| class_of(*c).is(flags));
                    assert_eq!(find(&text, from, flags), plain.map(|(at, _)| from + at));
                }
            }
        }
    }

    #[test]
    fn every_character_is_announced_by_its_first_byte() {
        for c in '\0'..=char::MAX {
            let lead = c.encode_utf8(&mut [0; 4]).as_bytes()[0];
            let flags = class_of(c).flags();
            assert_eq!(FLAGS_OF_LEAD[lead as usize] & flags, flags, "{c:?}");
        }
    }
}
