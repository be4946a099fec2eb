//! One run: load a file, use what was loaded, and see whether anything goes wrong.

use crate::random::Random;
use pywasmtok_engine::formats::{self, Options};
use pywasmtok_engine::tokenizer::{Scratch, Tokenizer, Wanted};
use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, AssertUnwindSafe};

pub enum Outcome {
    /// With a typed error.
    Refused,
    Loaded,
    Wrong(String),
}

thread_local! {
    static RUN: Cell<u64> = const { Cell::new(0) };
    static FILE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Notes what a panic would have to be blamed on.
pub fn remember(run: u64, file: &[u8]) {
    RUN.set(run);
    FILE.with_borrow_mut(|kept| {
        kept.clear();
        kept.extend_from_slice(file);
    });
}

/// Prints one line and the beginning of the file for a panic. It runs where panics abort, too.
pub fn quiet_panics() {
    std::panic::set_hook(Box::new(|info| {
        eprintln!("run {}: {info}", RUN.get());
        FILE.with_borrow(|file| {
            let start: String =
                file.iter().take(512).flat_map(|b| b.escape_ascii()).map(char::from).collect();
            eprintln!("  {} bytes: {start}", file.len());
        });
    }));
}

const TEXTS: [&str; 7] = [
    "",
    "Hello, world! It's 12345.",
    "a b  c\n\n  d\t\r\n e",
    "naïve 日本語 한글 🇩🇪👨‍👩‍👧 ½²",
    "<s> </s> <unk> <|endoftext|> ▁a ##b Ġ",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "abcabc ab abc \u{301}\u{0}\u{10FFFF}",
];

/// Reads the file; one time in `use_every` it is made a tokenizer and used, which takes far longer.
pub fn run(file: &[u8], options: &Options, random: &mut Random, use_every: usize) -> Outcome {
    let used = catch_unwind(AssertUnwindSafe(|| {
        let Ok(definition) = formats::read(file, options) else { return Outcome::Refused };
        if random.below(use_every) != 0 {
            return Outcome::Loaded;
        }
        let Ok(tokenizer) = Tokenizer::build(definition) else { return Outcome::Refused };
        match use_it(&tokenizer, random) {
            Ok(()) => Outcome::Loaded,
            Err(what) => Outcome::Wrong(what),
        }
    }));
    used.unwrap_or_else(|_| Outcome::Wrong("panicked".to_owned()))
}

/// Errors are allowed, differences are not.
fn use_it(tokenizer: &Tokenizer, random: &mut Random) -> Result<(), String> {
    let mut scratch = Scratch::new();
    let mut text_again = String::new();
    for text in TEXTS {
        let wanted =
            Wanted { add_special: random.below(2) == 0, parse_special: random.below(2) == 0 };
        let mut ids = Vec::new();
        let fast = tokenizer.encode_ids(&mut scratch, text, wanted, &mut ids);
        let full = tokenizer.encode_full(&mut scratch, text, None, wanted);
        match (fast, full) {
            (Ok(()), Ok(full)) if full.ids != ids => {
                return Err(format!("{text:?} is {ids:?} the fast way and {:?} traced", full.ids));
            }
            (Ok(()), Err(error)) | (Err(error), Ok(_)) => {
                return Err(format!("{text:?} is an error in one way: {error}"));
            }
            _ => {}
        }
        text_again.clear();
        // What cannot be decoded is an error, and that is all.
        let _ = tokenizer.decode(&ids, random.below(2) == 0, &mut text_again);
    }
    let ids: Vec<u32> = (0..12).map(|_| random.below(400) as u32).collect();
    let _ = tokenizer.decode(&ids, false, &mut text_again);
    tokenizer.info_json();
    Ok(())
}
