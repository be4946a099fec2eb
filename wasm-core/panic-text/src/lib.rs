//! What the first panic said, for the host to read after the trap that follows it. Of all modules.

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU8, Ordering};
use std::sync::Once;

/// Bytes of text that are kept; each table of an ABI names it, and a test there compares.
pub const MAX_PANIC_TEXT: usize = 2048;

/// Bytes are atomic so that a second panicking thread needs no lock; it writes nothing.
struct PanicText {
    bytes: [AtomicU8; MAX_PANIC_TEXT],
    len: AtomicU32,
    taken: AtomicBool,
}

impl PanicText {
    const fn new() -> Self {
        Self {
            bytes: [const { AtomicU8::new(0) }; MAX_PANIC_TEXT],
            len: AtomicU32::new(0),
            taken: AtomicBool::new(false),
        }
    }

    fn keep(&self, text: impl fmt::Display) {
        if !self.taken.swap(true, Ordering::Relaxed) {
            // Cannot fail: the writer drops what does not fit.
            let _ = write!(Writer(self), "{text}");
        }
    }
}

/// Writes whole characters while they fit, without allocating.
struct Writer<'a>(&'a PanicText);

impl Write for Writer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            let start = self.0.len.load(Ordering::Relaxed) as usize;
            let end = start + character.len_utf8();
            let Some(room) = self.0.bytes.get(start..end) else { break };
            for (place, byte) in room.iter().zip(character.encode_utf8(&mut [0; 4]).bytes()) {
                place.store(byte, Ordering::Relaxed);
            }
            self.0.len.store(end as u32, Ordering::Relaxed);
        }
        Ok(())
    }
}

static TEXT: PanicText = PanicText::new();

/// Makes panics leave their text here. Natively, where the abi is only tested, they print it.
pub fn install() {
    static ONCE: Once = Once::new();
    if cfg!(target_family = "wasm") {
        ONCE.call_once(|| std::panic::set_hook(Box::new(|info| TEXT.keep(info))));
    }
}

#[must_use]
pub fn address() -> u32 {
    TEXT.bytes.as_ptr() as usize as u32
}

#[must_use]
pub fn len() -> u32 {
    TEXT.len.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &PanicText) -> String {
        let len = text.len.load(Ordering::Relaxed) as usize;
        let bytes = text.bytes[..len].iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn keeps_the_first_text() {
        let text = PanicText::new();
        text.keep(format_args!("at {}:{}", "decode.rs", 7));
        text.keep("a second one");
        assert_eq!(kept(&text), "at decode.rs:7");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let text = PanicText::new();
        text.keep("x".to_owned() + &"é".repeat(MAX_PANIC_TEXT));
        assert_eq!(kept(&text), "x".to_owned() + &"é".repeat(MAX_PANIC_TEXT / 2 - 1));
    }
}
