//! Cuts random texts wherever a tokenizer says that it can, and compares the ids of the parts with
//! those of the whole.
//!
//! usage: cuts FILE... [--texts N] [--seed S]

use pywasmtok_engine::tokenizer::{Scratch, Tokenizer, Wanted};
use std::process::ExitCode;

#[path = "../random.rs"]
mod random;

use random::Random;

/// White space, punctuation, letters, marks and digits of every sort, and what patterns and
/// normalizers treat in a way of their own.
const PARTS: &[&str] = &[
    " ",
    " ",
    " ",
    "  ",
    "   ",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\t",
    "\u{b}",
    "\u{85}",
    "\u{a0}",
    "\u{2028}",
    "\u{3000}",
    "\u{200b}",
    "\u{feff}",
    "\u{ad}",
    "\0",
    "a",
    "b",
    "s",
    "t",
    "re",
    "ll",
    "A",
    "Z",
    "The",
    "ing",
    "hello",
    "World",
    "HTTPServer",
    "x1",
    "1",
    "12",
    "123",
    "2024",
    "½",
    "²",
    "٣",
    "Ⅷ",
    "é",
    "e\u{301}",
    "\u{301}",
    "\u{300}\u{323}",
    "ſ",
    "ß",
    "İ",
    "ı",
    "ǅ",
    "\u{212a}",
    "ﬁ",
    "Å",
    "\u{1100}",
    "\u{1161}",
    "\u{11a8}",
    "가",
    "각",
    "漢",
    "字",
    "中文",
    "。",
    "，",
    "・",
    "゠",
    "ー",
    "か\u{3099}",
    "カ",
    "ﾞ",
    "ไทย",
    "ก\u{e34}",
    "हि",
    "न्द",
    "\u{94d}",
    "ع",
    "א",
    "Ж",
    "ж",
    "\u{600}",
    "\u{200d}",
    "👨\u{200d}👩\u{200d}👧",
    "🇩🇪",
    "🌶",
    "\u{fe0f}",
    "\u{10ffff}",
    "𝔸",
    "𠀀",
    "'",
    "'s",
    "'S",
    "'ll",
    "'t",
    "’",
    ".",
    ",",
    "...",
    "!",
    "?",
    "-",
    "--",
    "_",
    "__",
    "/",
    "//",
    "\\",
    "\"",
    "``",
    "''",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "|",
    "<|",
    "|>",
    "#",
    "##",
    "@",
    "$",
    "€",
    "+",
    "=",
    "*",
    "~",
    "^",
    "%",
    "&",
    ";",
    ":",
    "▁",
    "▁▁",
    "Ġ",
    "Ċ",
    "1,000",
    "a.b",
    "the ",
    " the",
    "of the",
    "don't",
    "x = y\n",
    "\n    ",
    "});\n",
    "end.\n\nThe",
    "http://a.b/c?d=e",
];

struct Maker {
    /// Names of added tokens, halves of them, and texts of the vocabulary.
    parts: Vec<String>,
}

impl Maker {
    fn new(tokenizer: &Tokenizer, random: &mut Random) -> Self {
        let mut parts: Vec<String> = Vec::new();
        let vocab: Vec<(&str, u32)> = tokenizer.vocab(true).collect();
        let model: Vec<(&str, u32)> = tokenizer.vocab(false).collect();
        let mut added: Vec<&str> = vocab.iter().map(|(text, _)| *text).collect();
        added.retain(|text| {
            text.contains(['<', '[', '|']) || text.trim().is_empty() || text.len() > 24
        });
        for _ in 0..400.min(added.len()) {
            let text = *random.pick::<&str>(&added);
            parts.push(text.to_owned());
            let at = (0..=random.below(text.len() + 1)).rev().find(|&at| text.is_char_boundary(at));
            let (before, behind) = text.split_at(at.unwrap_or(0));
            parts.extend([
                before.to_owned(),
                behind.to_owned(),
                format!("{text} "),
                format!(" {text}"),
            ]);
        }
        for _ in 0..3000.min(model.len()) {
            let (text, _) = *random.pick::<(&str, u32)>(&model);
            parts.push(text.replace(['Ġ', '▁'], " ").replace('Ċ', "\n"));
            parts.push(text.to_owned());
        }
        Self { parts }
    }

    fn text(&self, random: &mut Random) -> String {
        let mut text = String::new();
        let special = random.below(4);
        for _ in 0..1 + random.below(16) {
            match random.below(4) {
                0 if special == 0 && !self.parts.is_empty() => {
                    text.push_str(random.pick::<String>(&self.parts));
                }
                1 if special == 1 => {
                    let code = random.below(0x3100) as u32;
                    text.extend(char::from_u32(code));
                }
                _ => text.push_str(random.pick::<&str>(PARTS)),
            }
        }
        text
    }
}

fn main() -> ExitCode {
    let (mut files, mut texts, mut seed) = (Vec::new(), 100_000u64, 1);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|n| n.parse().ok());
        match word.as_str() {
            "--texts" => texts = number().unwrap_or(texts),
            "--seed" => seed = number().unwrap_or(seed),
            _ => files.push(word),
        }
    }
    let mut wrong = 0;
    for file in &files {
        wrong += fuzz(file, texts, seed).unwrap_or_else(|error| {
            println!("{file}: {error}");
            0
        });
    }
    if wrong == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn fuzz(file: &str, texts: u64, seed: u64) -> Result<u64, String> {
    let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    let tokenizer = Tokenizer::load(&bytes).map_err(|error| error.to_string())?;
    if let Some(obstacle) = tokenizer.why_no_cuts() {
        println!("{file}: no cuts: {obstacle}");
        return Ok(0);
    }
    let mut random = Random::new(seed);
    let maker = Maker::new(&tokenizer, &mut random);
    let mut scratch = Scratch::new();
    let (mut cuts, mut chars, mut wrong) = (0u64, 0u64, 0u64);
    let encode = |scratch: &mut Scratch, text: &str, wanted, continues: bool| {
        let mut ids = Vec::new();
        match continues {
            true => tokenizer.continue_ids(scratch, text, wanted, &mut ids),
            false => tokenizer.encode_ids(scratch, text, wanted, &mut ids),
        }
        .map(|()| ids)
        .map_err(|error| error.to_string())
    };
    for _ in 0..texts {
        let text = maker.text(&mut random);
        let mut wanted = Wanted::new(false);
        wanted.parse_special = random.below(3) > 0;
        let Ok(whole) = encode(&mut scratch, &text, wanted, false) else { continue };
        let places: Vec<usize> = text
            .char_indices()
            .map(|(at, _)| at)
            .filter(|&at| tokenizer.is_cut(&text, at))
            .collect();
        chars += text.chars().count() as u64;
        let mut in_parts = Vec::new();
        let mut before = 0;
        for &at in places.iter().chain([&text.len()]) {
            in_parts.extend(encode(&mut scratch, &text[before..at], wanted, before > 0)?);
            before = at;
        }
        if in_parts != whole {
            wrong += 1;
            println!("{file}: {text:?} at all of {places:?}: {whole:?} became {in_parts:?}");
        }
        for at in places {
            cuts += 1;
            let (a, b) = text.split_at(at);
            let mut ids = encode(&mut scratch, a, wanted, false)?;
            ids.extend(encode(&mut scratch, b, wanted, true)?);
            if ids != whole {
                wrong += 1;
                println!("{file}: {a:?} + {b:?}: {whole:?} became {ids:?}");
            }
            if wrong > 5 {
                return Ok(wrong);
            }
        }
    }
    println!("{file}: {cuts} cuts in {texts} texts of {chars} characters, {wrong} wrong");
    Ok(wrong)
}
