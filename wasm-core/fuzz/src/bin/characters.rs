//! Merging from whole characters against merging from bytes, on real vocabularies.
//!
//! Every token, every token beside others, and text of many scripts, each as one piece. Tokens that
//! begin or end inside a character get the rest of one that the vocabulary knows.

#[path = "../random.rs"]
mod random;

use pywasmtok_engine::definition::Model;
use pywasmtok_engine::formats::{self, Options};
use pywasmtok_engine::model::bpe::{Bpe, BpeScratch, Reading};
use pywasmtok_engine::split::byte_level::byte_of_char;
use random::Random;
use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: pywasmtok-fuzz-characters FILE... [--megabytes N] [--seed S]\n";

/// First and last characters of some scripts.
const SCRIPTS: [(u32, u32); 16] = [
    (0x20, 0x7E),
    (0xC0, 0x17F),
    (0x370, 0x3FF),
    (0x410, 0x44F),
    (0x5D0, 0x5EA),
    (0x621, 0x64A),
    (0x901, 0x963),
    (0xE01, 0xE4E),
    (0x3041, 0x3096),
    (0x30A1, 0x30FC),
    (0x4E00, 0x5E00),
    (0x4E00, 0x9FA5),
    (0xAC00, 0xD7A3),
    (0xFF01, 0xFF5E),
    (0x1F300, 0x1F6FF),
    (0x80, 0x10_FFFF),
];

/// What texts are made of.
struct Material {
    tokens: Vec<Vec<u8>>,
    /// The characters that are tokens, all of them and by the bytes they begin or end with.
    chars: Vec<char>,
    by_prefix: HashMap<Vec<u8>, Vec<char>>,
    by_suffix: HashMap<Vec<u8>, Vec<char>>,
}

impl Material {
    fn new(texts: impl Iterator<Item = String>) -> Self {
        let mut material = Self {
            tokens: Vec::new(),
            chars: Vec::new(),
            by_prefix: HashMap::new(),
            by_suffix: HashMap::new(),
        };
        for text in texts {
            let Some(token) = text.chars().map(byte_of_char).collect::<Option<Vec<u8>>>() else {
                continue;
            };
            if let Ok(text) = std::str::from_utf8(&token) {
                let mut chars = text.chars();
                if let (Some(c), None) = (chars.next(), chars.next()) {
                    material.chars.push(c);
                    for at in 1..token.len() {
                        let (prefix, suffix) = token.split_at(at);
                        material.by_prefix.entry(prefix.to_vec()).or_default().push(c);
                        material.by_suffix.entry(suffix.to_vec()).or_default().push(c);
                    }
                }
            }
            material.tokens.push(token);
        }
        material
    }

    /// `bytes` as text: what is missing of a character is added.
    fn mended(&self, random: &mut Random, mut bytes: &[u8], out: &mut String) {
        while !bytes.is_empty() {
            let valid = match std::str::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => {
                    std::str::from_utf8(bytes.get(..error.valid_up_to()).unwrap_or_default())
                        .unwrap_or_default()
                }
            };
            out.push_str(valid);
            bytes = bytes.get(valid.len()..).unwrap_or_default();
            let Some(first) = bytes.first() else { return };
            let tail = bytes.iter().skip(1).take_while(|byte| (0x80..0xC0).contains(*byte)).count();
            let part = bytes.get(..(1 + tail).min(3)).unwrap_or_default();
            let known = match (0x80..0xC0).contains(first) {
                true => &self.by_suffix,
                false => &self.by_prefix,
            };
            if let Some(chars) = known.get(part).filter(|_| random.below(8) != 0) {
                out.push(*random.pick(chars));
            } else {
                out.push(some_char(random));
            }
            bytes = bytes.get(part.len()..).unwrap_or_default();
        }
    }

    fn push_token(&self, random: &mut Random, out: &mut String) {
        let token = random.pick(&self.tokens);
        self.mended(random, token, out);
    }

    /// A piece of one of several kinds.
    fn text(&self, random: &mut Random) -> String {
        let mut text = String::new();
        match random.below(4) {
            0 => (0..2).for_each(|_| self.push_token(random, &mut text)),
            1 => (0..random.below(12)).for_each(|_| self.push_token(random, &mut text)),
            2 => {
                let (first, last) = *random.pick(&SCRIPTS);
                let most = if random.below(20) == 0 { 400 } else { 30 };
                let length = random.below(most);
                let span = (last - first + 1) as usize;
                let code = |random: &mut Random| first + random.below(span) as u32;
                text.extend((0..length).filter_map(|_| char::from_u32(code(random))));
            }
            _ => {
                let most = if random.below(20) == 0 { 200 } else { 24 };
                let length = random.below(most);
                for _ in 0..length {
                    let at = random.below(self.chars.len().max(1));
                    text.push(self.chars.get(at).copied().unwrap_or('?'));
                }
            }
        }
        text
    }
}

fn some_char(random: &mut Random) -> char {
    let (first, last) = *random.pick(&SCRIPTS);
    char::from_u32(first + random.below((last - first + 1) as usize) as u32).unwrap_or('字')
}

/// What is compared, and how much of it there was.
struct Compared<'a> {
    bpe: &'a Bpe,
    scratch: BpeScratch,
    bytes: u64,
    pieces: u64,
    differences: u64,
}

impl Compared<'_> {
    fn piece(&mut self, text: &str) {
        let Ok(end) = u32::try_from(text.len()) else { return };
        let (mut got, mut expected) = (Vec::new(), Vec::new());
        self.bpe.encode_ranges(&mut self.scratch, text.as_bytes(), &[(0, end)], &mut got);
        self.bpe.merge_bytes(text.as_bytes(), &mut expected);
        self.bytes += u64::from(end);
        self.pieces += 1;
        if got != expected {
            self.differences += 1;
            if self.differences <= 10 {
                eprintln!("{text:?} is {expected:?} from bytes and {got:?} from characters");
            }
        }
    }
}

/// Answers whether there was a difference; `None`: not a file of the kind.
fn check(path: &PathBuf, most: u64, seed: u64) -> Option<bool> {
    let file = std::fs::read(path).ok()?;
    let definition = formats::read(&file, &Options::default()).ok()?;
    let Model::Bpe(model) = definition.model else { return None };
    let material = Material::new(model.vocab.iter().map(|(text, _)| text.to_owned()));
    let bpe = Bpe::new(model, Reading::Bytes);
    if !bpe.serves_bytes() || material.tokens.is_empty() {
        return None;
    }
    let mut random = Random::new(seed);
    let mut compared =
        Compared { bpe: &bpe, scratch: bpe.scratch(), bytes: 0, pieces: 0, differences: 0 };
    for token in &material.tokens {
        let mut text = String::new();
        material.mended(&mut random, token, &mut text);
        compared.piece(&text);
    }
    while compared.bytes < most {
        compared.piece(&material.text(&mut random));
    }
    let Compared { bytes, pieces, differences, .. } = compared;
    println!(
        "{}: {pieces} pieces, {} MB, {} characters are tokens, from characters: {}, {differences} \
         differences",
        path.display(),
        bytes / 1_000_000,
        material.chars.len(),
        bpe.serves_chars(),
    );
    Some(differences > 0)
}

fn main() -> ExitCode {
    let (mut files, mut megabytes, mut seed) = (Vec::new(), 10, 1);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let number = |word: Option<String>| word.and_then(|word| word.parse().ok());
        match word.as_str() {
            "--megabytes" => megabytes = number(words.next()).unwrap_or(megabytes),
            "--seed" => seed = number(words.next()).unwrap_or(seed),
            file => files.push(PathBuf::from(file)),
        }
    }
    if files.is_empty() {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    }
    let mut wrong = false;
    for path in &files {
        match check(path, megabytes * 1_000_000, seed) {
            Some(differs) => wrong |= differs,
            None => println!("{}: no byte-level byte-pair encoding", path.display()),
        }
    }
    ExitCode::from(u8::from(wrong))
}
