//! Stopping as one would do it with all the time in the world: decode, look at every end of the
//! text for every stop, compare.

use crate::tokenizer::stream::{Stream, StreamOptions};
use crate::tokenizer::Tokenizer;

#[derive(Debug, Clone, Default)]
pub struct Stops {
    pub hidden_tokens: Vec<u32>,
    pub visible_tokens: Vec<u32>,
    pub hidden: Vec<String>,
    pub visible: Vec<String>,
    pub min_tokens: u64,
}

/// Whether it is a sequence, id or index, visible, token index, bytes, characters.
pub type Found = (bool, u32, bool, Option<u64>, (u64, u64), (u64, u64));

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// All text that is out after each token, and after the end if nothing stopped it.
    pub released: Vec<String>,
    pub matched: Option<Found>,
}

pub fn run(
    tokenizer: &Tokenizer,
    options: StreamOptions,
    context: &[u32],
    ids: &[u32],
    stops: &Stops,
) -> Expected {
    let mut stream = Stream::new(tokenizer, options, context).unwrap();
    let mut expected = Expected::default();
    let mut text = String::new();
    for (&id, index) in ids.iter().zip(0..) {
        let late = index >= stops.min_tokens;
        let hidden = stops.hidden_tokens.contains(&id);
        let before = text.len();
        if late && (hidden || stops.visible_tokens.contains(&id)) {
            stream.flush(&mut text).unwrap();
            if !expected.stop_at_sequence(&text, before, stops, Some(index)) {
                let start = text.len();
                if !hidden {
                    stream.push_shown(id, &mut text).unwrap();
                    stream.flush(&mut text).unwrap();
                }
                let (bytes, chars) = (span(start, text.len()), chars(&text, start));
                expected.matched = Some((false, id, !hidden, Some(index), bytes, chars));
                expected.released.push(text);
            }
            return expected;
        }
        stream.push(id, &mut text).unwrap();
        if late && expected.stop_at_sequence(&text, before, stops, Some(index)) {
            return expected;
        }
        let held = longest_beginning(&text, stops);
        expected.released.push(text[..text.len() - held].to_owned());
    }
    let before = text.len();
    stream.flush(&mut text).unwrap();
    let late = ids.len() as u64 > stops.min_tokens || stops.min_tokens == 0;
    let last = (ids.len() as u64).checked_sub(1);
    if !(late && expected.stop_at_sequence(&text, before, stops, last)) {
        expected.released.push(text);
    }
    expected
}

impl Expected {
    fn stop_at_sequence(
        &mut self,
        text: &str,
        before: usize,
        stops: &Stops,
        index: Option<u64>,
    ) -> bool {
        for end in before + 1..=text.len() {
            if !text.is_char_boundary(end) {
                continue;
            }
            let mut best: Option<(usize, bool, usize)> = None;
            for (visible, list) in [(false, &stops.hidden), (true, &stops.visible)] {
                for (index, stop) in list.iter().enumerate() {
                    let longer = best.is_none_or(|(len, ..)| stop.len() > len);
                    if text[..end].ends_with(stop.as_str()) && longer {
                        best = Some((stop.len(), visible, index));
                    }
                }
            }
            let Some((len, visible, number)) = best else { continue };
            let start = end - len;
            let bytes = span(start, end);
            let chars = chars(&text[..end], start);
            self.matched = Some((true, number as u32, visible, index, bytes, chars));
            self.released.push(text[..if visible { end } else { start }].to_owned());
            return true;
        }
        false
    }
}

fn span(start: usize, end: usize) -> (u64, u64) {
    (start as u64, end as u64)
}

fn chars(text: &str, start: usize) -> (u64, u64) {
    (text[..start].chars().count() as u64, text.chars().count() as u64)
}

/// Bytes of the longest end of the text that is a proper beginning of a stop.
fn longest_beginning(text: &str, stops: &Stops) -> usize {
    (0..text.len())
        .filter(|&at| text.is_char_boundary(at))
        .map(|at| &text[at..])
        .find(|end| {
            let mut all = stops.hidden.iter().chain(&stops.visible);
            all.any(|stop| stop.len() > end.len() && stop.starts_with(end))
        })
        .map_or(0, str::len)
}
