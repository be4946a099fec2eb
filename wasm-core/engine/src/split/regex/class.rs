//! `[...]`

use super::parse::Parser;
use super::set::CodeSet;
use crate::error::Result;

impl Parser<'_> {
    /// Behind the opening bracket.
    pub(super) fn class(&mut self) -> Result<CodeSet> {
        self.enter()?;
        let start = self.at - 1;
        let is_negative = self.eat("^");
        if self.rest().starts_with(']') {
            // Oniguruma takes it for a plain bracket if there is another one somewhere behind.
            return Err(if self.rest().matches(']').count() == 1 {
                self.invalid(start, "empty char-class")
            } else {
                self.unsupported(start, "BracketFirstInClass")
            });
        }
        let mut set = self.class_items(start)?;
        while self.eat("&&") {
            set = set.intersection(&self.class_items(start)?);
        }
        if !self.eat("]") {
            return Err(self.invalid(start, "premature end of char-class"));
        }
        if self.any_case {
            if !set.is_ascii() {
                return Err(self.unsupported(start, "CaseInsensitiveNonAscii"));
            }
            set = set.any_case_of_ascii();
        }
        self.leave();
        Ok(if is_negative { set.complement() } else { set })
    }

    /// The union of what stands up to `&&` or to the closing bracket.
    fn class_items(&mut self, class: usize) -> Result<CodeSet> {
        let mut ranges = Vec::new();
        let mut is_first = true;
        loop {
            let start = self.at;
            if self.rest().starts_with("&&") {
                break;
            }
            match self.peek() {
                None => return Err(self.invalid(class, "premature end of char-class")),
                Some(']') => break,
                Some('[') => {
                    self.next();
                    if self.eat(":") {
                        ranges.extend_from_slice(self.posix_bracket(start)?.ranges());
                        is_first = false;
                        continue;
                    }
                    if self.any_case {
                        return Err(self.unsupported(start, "CaseInsensitiveNestedClass"));
                    }
                    ranges.extend_from_slice(self.class()?.ranges());
                }
                Some('-') => {
                    self.next();
                    let is_last = self.rest().starts_with(']');
                    if !(is_first || is_last) || (is_first && self.rest().starts_with('-')) {
                        return Err(self.unsupported(start, "DashInClass"));
                    }
                    ranges.push((0x2D, 0x2D));
                    if !is_last && self.rest().starts_with('-') {
                        return Err(self.unsupported(start, "DashInClass"));
                    }
                }
                Some(_) => {
                    let Some(first) = self.class_char(&mut ranges)? else {
                        if self.starts_range() {
                            return Err(
                                self.invalid(start, "unmatched range specifier in char-class")
                            );
                        }
                        is_first = false;
                        continue;
                    };
                    let last = if self.starts_range() {
                        self.next();
                        self.range_end(start)?
                    } else {
                        first
                    };
                    if last < first {
                        return Err(self.invalid(start, "empty range in char class"));
                    }
                    ranges.push((first.into(), last.into()));
                }
            }
            is_first = false;
        }
        if is_first {
            // `[&&a]`, `[a&&]`, `[^]`
            return Err(self.unsupported(class, "EmptyClass"));
        }
        Ok(CodeSet::of(ranges))
    }

    /// `alpha:]` and its like, behind `[:`.
    fn posix_bracket(&mut self, start: usize) -> Result<CodeSet> {
        let is_negative = self.eat("^");
        let name = self.rest().split_once(":]").map(|(name, _)| name);
        let set = match name {
            Some(
                name @ ("alnum" | "alpha" | "blank" | "cntrl" | "digit" | "graph" | "lower"
                | "print" | "space" | "upper" | "xdigit"),
            ) => self.named(name),
            Some("ascii") => Some(CodeSet::of([(0, 0x7F)])),
            // What these two mean depends on the brackets.
            Some("punct") => self.named("bracket_punct"),
            Some("word") => self.named("bracket_word"),
            _ => None,
        };
        let (Some(name), Some(set)) = (name, set) else {
            return Err(self.unsupported(start, "PosixBracket"));
        };
        self.at += name.len() + 2;
        Ok(if is_negative { set.complement() } else { set })
    }

    /// A dash comes next, and something that can end a range behind it.
    fn starts_range(&self) -> bool {
        let rest = self.rest();
        rest.starts_with('-') && !rest.starts_with("-]") && !rest.starts_with("-&&")
    }

    /// `None`: it was a class, and is now in `ranges`.
    fn class_char(&mut self, ranges: &mut Vec<(u32, u32)>) -> Result<Option<char>> {
        let start = self.at;
        match self.next() {
            Some('\\') => {
                if let Some(set) = self.class_escape(true)? {
                    ranges.extend_from_slice(set.ranges());
                    return Ok(None);
                }
                if self.eat("b") {
                    return Ok(Some('\u{08}'));
                }
                self.char_escape(start).map(Some)
            }
            Some(c) => Ok(Some(c)),
            None => Err(self.invalid(start, "premature end of char-class")),
        }
    }

    fn range_end(&mut self, start: usize) -> Result<char> {
        if self.rest().starts_with(['-', '[']) {
            return Err(self.unsupported(start, "DashInClass"));
        }
        let mut ranges = Vec::new();
        match self.class_char(&mut ranges)? {
            Some(c) => Ok(c),
            None => Err(self.invalid(start, "char-class value at end of range")),
        }
    }
}
