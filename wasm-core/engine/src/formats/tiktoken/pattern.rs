//! Patterns as the library of rank files reads them, in the words of the engine.
//!
//! That library compiles patterns with Rust's syntax, the engine and HuggingFace's library with
//! Oniguruma's. Most of a pattern means the same in both; what is only written otherwise is
//! rewritten here, and what is not known to mean the same is refused.

use crate::error::{Error, Result};
use crate::formats::ranks::Cut;
use crate::split::{Regex, Scanner};
use crate::vocab::Vocab;

/// Other ways of writing a pattern that has a scanner, as released files have them. The pieces are
/// the same for every text.
const SAME_PIECES: &[(Scanner, &str)] = &[
    (
        Scanner::Gpt2,
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    ),
    (Scanner::Gpt2, r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
    (
        Scanner::Cl100k,
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
    ),
];

/// White space at the end of the text is one piece here, while the scanner cuts it behind its last
/// line break.
const SAME_IDS: (Scanner, &str) = (
    Scanner::Cl100k,
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
);

/// How a pattern cuts text, for the vocabulary it is used with.
pub fn cut(pattern: &str, vocab: &Vocab, made: impl Fn(&str) -> bool) -> Result<Cut> {
    let known = SAME_PIECES.iter().find(|(_, text)| *text == pattern).map(|(scanner, _)| *scanner);
    let known = known.or_else(|| {
        let (scanner, text) = SAME_IDS;
        (text == pattern && line_breaks_end_tokens(vocab, made)).then_some(scanner)
    });
    let scanner = known.or_else(|| Scanner::recognise(pattern).filter(|s| covers(*s)));
    if let Some(pattern) = scanner.and_then(Scanner::pattern) {
        return Ok(Cut { pattern: pattern.to_owned(), covers: true });
    }
    let pattern = translate(pattern)?;
    Regex::compile(&pattern)?;
    Ok(Cut { pattern, covers: false })
}

/// Whether a scanner's pattern matches every character.
fn covers(scanner: Scanner) -> bool {
    matches!(
        scanner,
        Scanner::Gpt2
            | Scanner::Cl100k
            | Scanner::Qwen2
            | Scanner::Qwen35
            | Scanner::O200k
            | Scanner::Tekken
    )
}

/// Whether it changes no id where the white space at the end of a text is cut behind its last line
/// break. It does not if no token holds a line break with other white space behind it and no line
/// break after that, for then nothing is ever joined across that place; and if each token of white
/// space is what its own bytes are joined to (`made`), for then it does not matter whether a piece
/// is looked up as a whole.
fn line_breaks_end_tokens(vocab: &Vocab, made: impl Fn(&str) -> bool) -> bool {
    vocab.iter().all(|(text, _)| {
        let behind = text.rsplit(['Ċ', 'č']).next().unwrap_or_default();
        let crosses =
            behind.len() < text.len() && behind.chars().next().is_some_and(may_begin_space);
        let is_space = text.chars().count() > 1 && text.chars().all(may_be_in_space);
        !crosses && (!is_space || made(text))
    })
}

/// Spelled bytes that white space other than line breaks begins with.
fn may_begin_space(c: char) -> bool {
    // 09 0B 0C 20, and the first bytes of U+0085, U+1680, U+2000 and U+3000.
    matches!(c, 'ĉ' | 'ċ' | 'Č' | 'Ġ' | 'Â' | 'á' | 'â' | 'ã')
}

/// These, line breaks, and the bytes behind the first of a character.
fn may_be_in_space(c: char) -> bool {
    let continues = crate::split::byte_level::byte_of_char(c).is_some_and(|b| b & 0xC0 == 0x80);
    may_begin_space(c) || continues || matches!(c, 'Ċ' | 'č')
}

/// Rewrites a pattern for Oniguruma.
pub fn translate(pattern: &str) -> Result<String> {
    let mut rewriter = Rewriter { pattern, at: 0, out: String::new() };
    rewriter.run()?;
    Ok(rewriter.out)
}

struct Rewriter<'a> {
    pattern: &'a str,
    at: usize,
    out: String,
}

impl Rewriter<'_> {
    fn rest(&self) -> &str {
        self.pattern.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn copy(&mut self, length: usize) {
        let end = self.at + length;
        self.out.push_str(self.pattern.get(self.at..end).unwrap_or_default());
        self.at = end;
    }

    fn refuse(&self, feature: &str) -> Error {
        Error::unsupported(
            format!("pattern:{feature}"),
            format!(
                "the pattern {} has at byte {} a construct whose meaning is not served exactly \
                 ({feature})",
                crate::split::pattern::shown(self.pattern),
                self.at
            ),
        )
    }

    fn run(&mut self) -> Result<()> {
        // Where the last thing that can be repeated begins in `out`, and the groups around it.
        let mut atom = None;
        let mut groups = Vec::new();
        while let Some(c) = self.peek() {
            let start = self.out.len();
            match c {
                '(' => {
                    groups.push(start);
                    self.group()?;
                    atom = None;
                }
                ')' => {
                    self.copy(1);
                    atom = groups.pop();
                }
                '|' => {
                    self.copy(1);
                    atom = None;
                }
                '*' | '+' | '?' | '{' => {
                    let begin = atom.take().ok_or_else(|| self.refuse("Repeat"))?;
                    self.repeat(begin)?;
                }
                // The ends of the text, and nothing else.
                '^' | '$' => {
                    self.at += 1;
                    self.out.push_str(if c == '^' { r"\A" } else { r"\z" });
                    atom = None;
                }
                '[' => {
                    self.class()?;
                    atom = Some(start);
                }
                '\\' => {
                    self.escape()?;
                    atom = Some(start);
                }
                c => {
                    self.copy(c.len_utf8());
                    atom = Some(start);
                }
            }
        }
        Ok(())
    }

    fn group(&mut self) -> Result<()> {
        const SAME: [&str; 8] = ["(?:", "(?i:", "(?-i:", "(?=", "(?!", "(?<=", "(?<!", "(?>"];
        if let Some(opening) = SAME.iter().find(|opening| self.rest().starts_with(**opening)) {
            self.copy(opening.len());
            return Ok(());
        }
        // Behind something else, the two disagree about how far it reaches over alternatives.
        if self.at == 0 && self.rest().starts_with("(?i)") {
            self.copy(3);
            return Ok(());
        }
        if self.rest().starts_with("(?") {
            return Err(self.refuse("Group"));
        }
        self.copy(1);
        Ok(())
    }

    /// What is repeated begins at `begin` of `out`.
    fn repeat(&mut self, begin: usize) -> Result<()> {
        if self.peek() != Some('{') {
            self.copy(1);
            if matches!(self.peek(), Some('?' | '+')) {
                self.copy(1);
            }
            return Ok(());
        }
        let Some(length) = self.rest().find('}') else { return Err(self.refuse("Repeat")) };
        let inside = self.rest().get(1..length).unwrap_or_default();
        let is_number = |digits: &str| {
            !digits.is_empty() && digits.len() < 6 && digits.bytes().all(|b| b.is_ascii_digit())
        };
        let (low, high) = inside.split_once(',').unwrap_or((inside, inside));
        if !is_number(low) || !(is_number(high) || high.is_empty()) {
            return Err(self.refuse("Repeat"));
        }
        let is_fixed = low == high;
        self.copy(length + 1);
        match self.peek() {
            // There, a plus behind an interval repeats it once more.
            Some('+') => {
                self.at += 1;
                self.out.insert_str(begin, "(?>");
                self.out.push(')');
            }
            // And a question mark makes a fixed one optional.
            Some('?') if is_fixed => self.at += 1,
            Some('?') => self.copy(1),
            _ => {}
        }
        Ok(())
    }

    fn escape(&mut self) -> Result<()> {
        let begin = self.at;
        self.at += 1;
        let same = match self.next() {
            Some('p' | 'P') => return self.property(begin),
            Some('s' | 'S' | 'd' | 'D' | 'n' | 'r' | 't' | 'f' | 'v' | 'a' | 'A' | 'z') => true,
            Some('x') => self.hexadecimal()?,
            Some('u') => !self.rest().starts_with('{'),
            Some(c) => !c.is_alphanumeric(),
            None => false,
        };
        if !same {
            self.at = begin;
            return Err(self.refuse("Escape"));
        }
        self.out.push_str(self.pattern.get(begin..self.at).unwrap_or_default());
        Ok(())
    }

    /// Behind `\x`: two digits or braces.
    fn hexadecimal(&mut self) -> Result<bool> {
        let digits = self.rest().bytes().take(2).take_while(u8::is_ascii_hexdigit).count();
        if self.rest().starts_with('{') {
            return Ok(true);
        }
        self.at += digits;
        Ok(digits == 2)
    }

    /// Behind `\p`: one letter may stand without braces.
    fn property(&mut self, begin: usize) -> Result<()> {
        let kind = self.pattern.get(begin..self.at).unwrap_or_default();
        self.out.push_str(kind);
        match self.peek() {
            Some('{') => {
                let Some(length) = self.rest().find('}') else {
                    return Err(self.refuse("Escape"));
                };
                self.copy(length + 1);
            }
            Some(letter) if letter.is_ascii_alphabetic() => {
                self.at += 1;
                self.out.extend(['{', letter, '}']);
            }
            _ => return Err(self.refuse("Escape")),
        }
        Ok(())
    }

    fn class(&mut self) -> Result<()> {
        let mut depth = 0;
        loop {
            match self.peek() {
                None => return Err(self.refuse("Class")),
                Some('[') => {
                    depth += 1;
                    self.copy(1);
                    if self.peek() == Some('^') {
                        self.copy(1);
                    }
                    if matches!(self.peek(), Some(']' | ':')) {
                        return Err(self.refuse("Class"));
                    }
                }
                Some(']') => {
                    depth -= 1;
                    self.copy(1);
                    if depth == 0 {
                        return Ok(());
                    }
                }
                Some('\\') => self.escape()?,
                Some('-') if self.rest().starts_with("--") => return Err(self.refuse("Class")),
                Some('~') if self.rest().starts_with("~~") => return Err(self.refuse("Class")),
                Some(c) => self.copy(c.len_utf8()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle;
    use crate::split::testing::Random;
    use crate::split::PieceScan;

    fn translated(pattern: &str) -> Regex {
        Regex::compile_general(&translate(pattern).unwrap()).unwrap()
    }

    fn scanned(scanner: Scanner, text: &str) -> Vec<std::ops::Range<usize>> {
        let (mut pieces, mut at) = (Vec::new(), 0);
        while at < text.len() {
            let end = scanner.piece_end(text.as_bytes(), at);
            pieces.push(at..end);
            at = end;
        }
        pieces
    }

    /// What differs where white space ends a text: the pieces of the last run of it are joined.
    fn joined_at_the_end(
        mut pieces: Vec<std::ops::Range<usize>>,
        text: &str,
    ) -> Vec<std::ops::Range<usize>> {
        while let [.., before, last] = pieces.as_slice() {
            let joined = before.start..last.end;
            if !text[joined.clone()].chars().all(char::is_whitespace) {
                break;
            }
            pieces.truncate(pieces.len() - 2);
            pieces.push(joined);
        }
        pieces
    }

    #[test]
    fn other_ways_of_writing_cut_alike() {
        let mut random = Random::new(77);
        let all = SAME_PIECES.iter().map(|pair| (pair, false)).chain([(&SAME_IDS, true)]);
        for ((scanner, pattern), joined) in all {
            let regex = translated(pattern);
            for _ in 0..20_000 {
                let text = random.text(12);
                let expected = oracle::split::pieces(std::slice::from_ref(&regex), &text).unwrap();
                let mut found = scanned(*scanner, &text);
                if joined {
                    found = joined_at_the_end(found, &text);
                }
                assert_eq!(found, expected, "{pattern} on {text:?}");
            }
        }
    }

    #[test]
    fn what_is_written_otherwise_is_rewritten() {
        let cases = [
            (r"\p{N}{1,3}+|x", r"(?>\p{N}{1,3})|x"),
            (r"(?:ab|[c\]])(x){2}+", r"(?:ab|[c\]])(?>(x){2})"),
            (r"^\s++$", r"\A\s++\z"),
            (r"a{3}?b{1,2}?", r"a{3}b{1,2}?"),
            (r"\pL+\PN", r"\p{L}+\P{N}"),
            (r"[\p{Lu}&&[^\p{Han}]]*", r"[\p{Lu}&&[^\p{Han}]]*"),
            (r"(?i)a|b", r"(?i)a|b"),
        ];
        for (from, to) in cases {
            assert_eq!(translate(from).unwrap(), to);
        }
    }

    #[test]
    fn what_may_mean_something_else_is_refused() {
        let refused = [
            r"\w+",
            r"\bx",
            r"(?s:.)",
            r"a(?i)b|c",
            "(?P<n>a)",
            "[[:alpha:]]",
            "[a--b]",
            "[]a]",
            "a{,3}",
            "a{x}",
            "+",
            "[a",
            r"\",
            r"\Z",
            r"\1",
            r"\h",
            "a+*",
        ];
        for pattern in refused {
            let error = translate(pattern).unwrap_err();
            assert_eq!(error.kind, crate::error::ErrorKind::Unsupported, "{pattern}");
        }
    }
}
