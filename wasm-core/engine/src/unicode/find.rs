//! Finding the next character of some sets without decoding those before it.

use super::{class_of, tables, FLAGS, PAGE, PAGES};
use crate::simd::block::{Block, WIDTH};

/// For each byte the sets that any character starting with it belongs to; none for those that
/// start no character.
static FLAGS_OF_LEAD: [u32; 256] = flags_of_leads();

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
    let skips_ascii = ASCII_FLAGS & flags == 0;
    let bytes = text.as_bytes();
    let mut at = from;
    while at < bytes.len() {
        if skips_ascii {
            at = behind_ascii(bytes, at);
        }
        // Character by character, to where another window of ASCII may begin.
        let end = (at + WIDTH).min(bytes.len());
        while at < end {
            let lead = *bytes.get(at)?;
            if FLAGS_OF_LEAD[usize::from(lead)] & flags != 0 {
                let c = text.get(at..)?.chars().next()?;
                if class_of(c).is(flags) {
                    return Some(at);
                }
            }
            at += width(lead);
        }
    }
    None
}

/// How many bytes a character has that starts with this one.
#[inline(always)]
fn width(lead: u8) -> usize {
    (lead.leading_ones() as usize).max(1)
}

/// Behind as many whole windows of ASCII as follow `at`.
#[inline(always)]
fn behind_ascii(bytes: &[u8], mut at: usize) -> usize {
    let windows = bytes.get(at..).unwrap_or_default().as_chunks::<WIDTH>().0;
    for window in windows {
        if !Block::load(window).is_ascii() {
            break;
        }
        at += WIDTH;
    }
    at
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
