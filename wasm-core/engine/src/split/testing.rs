//! Texts that are likely to break a splitter.

pub use crate::oracle::random::Random;

/// What random texts are made of: every kind of white space, contractions, digits of several
/// scripts, letters of every category, marks, symbols, and characters that are none of these.
const PARTS: &[&str] = &[
    " ",
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "\u{B}",
    "\u{C}",
    "\u{85}",
    "\u{A0}",
    "\u{1680}",
    "\u{2028}",
    "\u{2029}",
    "\u{3000}",
    "\u{180E}",
    "\u{200B}",
    "\u{FEFF}",
    "'",
    "'s",
    "'S",
    "'ſ",
    "'re",
    "'RE",
    "'lL",
    "'d",
    "'M",
    "’s",
    "’",
    "a",
    "b",
    "z",
    "A",
    "Z",
    "hello",
    "World",
    "HTTPServer",
    "é",
    "ß",
    "ſ",
    "\u{212A}",
    "ı",
    "İ",
    "ǅ",
    "ʰ",
    "ª",
    "λ",
    "Σ",
    "Ж",
    "ж",
    "א",
    "ع",
    "字",
    "一",
    "龥",
    "龦",
    "々",
    "〇",
    "あ",
    "ア",
    "ー",
    "゛",
    "゠",
    "・",
    "가",
    "ᄀ",
    "𝔸",
    "𠀀",
    "0",
    "12",
    "9",
    "٣",
    "²",
    "½",
    "Ⅷ",
    "፩",
    "๓",
    "!",
    "?",
    ".",
    ",",
    "-",
    "_",
    "/",
    "\\",
    "\"",
    "#",
    "$",
    "€",
    "+",
    "<",
    "|",
    "«",
    "´",
    "^",
    "`",
    "~",
    "\u{301}",
    "\u{3099}",
    "\u{93E}",
    "\u{20DD}",
    "\u{200D}",
    "\0",
    "\u{1F}",
    "\u{7F}",
    "\u{AD}",
    "\u{E000}",
    "\u{378}",
    "\u{E0001}",
    "👨\u{200D}👩",
    "🇩🇪",
    "😀",
    "\u{166D}",
    "<|endoftext|>",
    "<|startoftext|>",
];

impl Random {
    pub fn text(&mut self, most_parts: usize) -> String {
        (0..self.below(most_parts + 1)).map(|_| *self.pick(PARTS)).collect()
    }
}

/// All strings of at most `length` of these characters, the empty one excepted.
pub fn all_strings(alphabet: &[char], length: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut from = 0;
    for _ in 0..length {
        let until = all.len();
        for at in from..until {
            for c in alphabet {
                let longer = format!("{}{c}", all[at]);
                all.push(longer);
            }
        }
        from = until;
    }
    all.split_off(1)
}
