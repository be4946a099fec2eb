//! Reads a pattern.

use std::collections::HashMap;

use super::ast::{Assertion, Greed, Node};
use super::set::CodeSet;
use crate::error::{Error, Result};

/// Deeper patterns are refused: everything that walks a pattern recurses.
const MAX_DEPTH: u32 = 64;
/// In bytes. A property of three characters is a set of kilobytes.
const MAX_LENGTH: usize = 1 << 14;
/// Oniguruma's own bound.
const MAX_REPEAT: u32 = 100_000;

pub fn parse(pattern: &str) -> Result<Node> {
    let mut parser = Parser {
        pattern,
        at: 0,
        depth: 0,
        any_case: false,
        look_behind: false,
        folded: None,
        named: HashMap::new(),
    };
    if pattern.len() > MAX_LENGTH {
        return Err(parser.unsupported(MAX_LENGTH, "Length"));
    }
    let node = parser.alternatives()?;
    match parser.peek() {
        None => Ok(node),
        Some(_) => Err(parser.invalid(parser.at, "unmatched close parenthesis")),
    }
}

/// The pattern, or the beginning of a long one, in quotes.
pub fn shown(pattern: &str) -> String {
    const MOST: usize = 200;
    match pattern.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}...", pattern.get(..end).unwrap_or_default()),
        None => format!("{pattern:?}"),
    }
}

pub(super) struct Parser<'a> {
    pub pattern: &'a str,
    /// The byte that comes next.
    pub at: usize,
    depth: u32,
    /// Under `(?i)`.
    pub any_case: bool,
    look_behind: bool,
    /// The letter under `(?i)` that was read last, if nothing else was read since.
    folded: Option<char>,
    /// Sets that were asked for by name; a table is long to walk.
    named: HashMap<String, Option<CodeSet>>,
}

#[derive(Clone, Copy)]
struct Quantifier {
    min: u32,
    max: Option<u32>,
    /// Written `{...}`, where a `+` behind it does not mean possessive.
    is_interval: bool,
}

impl<'a> Parser<'a> {
    pub fn invalid(&self, at: usize, what: &str) -> Error {
        Error::invalid(format!(
            "the regular expression {} is not valid at byte {at}: {what}",
            shown(self.pattern)
        ))
    }

    /// `feature` goes into logs: it may quote the pattern only as far as that is harmless.
    pub fn unsupported(&self, at: usize, feature: &str) -> Error {
        Error::unsupported(
            format!("regex:{feature}"),
            format!(
                "the regular expression {} uses a construct at byte {at} that is not served \
                 exactly ({feature})",
                shown(self.pattern)
            ),
        )
    }

    /// What the reference means by the name of a property, if that is known.
    pub fn named(&mut self, name: &str) -> Option<CodeSet> {
        if let Some(known) = self.named.get(name) {
            return known.clone();
        }
        let set = CodeSet::named(name);
        self.named.insert(name.to_owned(), set.clone());
        set
    }

    pub fn rest(&self) -> &'a str {
        self.pattern.get(self.at..).unwrap_or_default()
    }

    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Steps over `expected` if it comes next.
    pub fn eat(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    pub fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.unsupported(self.at, "Depth"));
        }
        Ok(())
    }

    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Up to the end of the pattern or to a closing parenthesis, which stays.
    fn alternatives(&mut self) -> Result<Node> {
        self.enter()?;
        let mut alternatives = vec![self.sequence()?];
        while self.eat("|") {
            self.folded = None;
            alternatives.push(self.sequence()?);
        }
        self.leave();
        Ok(match alternatives.len() {
            1 => alternatives.swap_remove(0),
            _ => Node::Alternate(alternatives),
        })
    }

    fn sequence(&mut self) -> Result<Node> {
        let mut nodes = Vec::new();
        loop {
            let start = self.at;
            match self.peek() {
                None | Some('|' | ')') => break,
                Some('*' | '+' | '?') => {
                    return Err(self.invalid(start, "target of repeat operator is not specified"));
                }
                Some('{') if self.interval()?.is_some() => {
                    return Err(self.invalid(start, "target of repeat operator is not specified"));
                }
                Some(_) => {
                    let item = self.item()?;
                    nodes.push(self.quantified(item, start)?);
                }
            }
        }
        Ok(match nodes.len() {
            0 => Node::Empty,
            1 => nodes.swap_remove(0),
            _ => Node::Concat(nodes),
        })
    }

    fn item(&mut self) -> Result<Node> {
        let start = self.at;
        let folded = self.folded.take();
        match self.next() {
            Some('(') => {
                self.folded = folded;
                self.group(start)
            }
            Some('[') => Ok(Node::Set(self.class()?)),
            Some('.') => Ok(Node::Set(CodeSet::of_char('\n').complement())),
            Some('^') => Ok(Node::Assert(Assertion::LineStart)),
            Some('$') => Ok(Node::Assert(Assertion::LineEnd)),
            Some('\\') => {
                if let Some(assertion) = self.assertion() {
                    if self.look_behind
                        && matches!(assertion, Assertion::End | Assertion::EndOrNewline)
                    {
                        return Err(self.unsupported(start, "EndInLookBehind"));
                    }
                    return Ok(Node::Assert(assertion));
                }
                if let Some(set) = self.class_escape(false)? {
                    return Ok(Node::Set(set));
                }
                let c = self.char_escape(start)?;
                Ok(Node::Set(self.literal(c, start, folded)?))
            }
            Some(c) => Ok(Node::Set(self.literal(c, start, folded)?)),
            None => Ok(Node::Empty),
        }
    }

    fn assertion(&mut self) -> Option<Assertion> {
        let assertion = match self.peek()? {
            'A' => Assertion::Start,
            'z' => Assertion::End,
            'Z' => Assertion::EndOrNewline,
            'b' => Assertion::WordBorder,
            'B' => Assertion::NoWordBorder,
            _ => return None,
        };
        self.next();
        Some(assertion)
    }

    /// Under `(?i)` some sequences of letters equal one character (`ss`: ß), which is not served.
    fn literal(&mut self, c: char, start: usize, folded: Option<char>) -> Result<CodeSet> {
        let set = CodeSet::of_char(c);
        if !self.any_case {
            return Ok(set);
        }
        if !c.is_ascii() {
            // Punctuation has no case in any version of Unicode.
            let caseless = self.named("P").is_some_and(|marks| marks.contains(c.into()));
            return if caseless {
                Ok(set)
            } else {
                Err(self.unsupported(start, "CaseInsensitiveNonAscii"))
            };
        }
        if c.is_ascii_alphabetic() {
            let lower = c.to_ascii_lowercase();
            if matches!((folded, lower), (Some('f'), 'f' | 'i' | 'l') | (Some('s'), 's' | 't')) {
                return Err(self.unsupported(start, "CaseInsensitiveLigature"));
            }
            self.folded = Some(lower);
        }
        Ok(set.any_case_of_ascii())
    }

    fn group(&mut self, start: usize) -> Result<Node> {
        if self.rest().starts_with('*') {
            return Err(self.unsupported(start, "Callout"));
        }
        if !self.eat("?") {
            if self.look_behind {
                return Err(self.unsupported(start, "CaptureInLookBehind"));
            }
            return self.close(start);
        }
        if self.rest().is_empty() {
            return Err(self.invalid(start, "end pattern in group"));
        }
        if self.eat(":") {
            return self.close(start);
        }
        if self.eat(">") {
            return Ok(Node::Atomic(Box::new(self.close(start)?)));
        }
        for (opening, behind, negative) in
            [("=", false, false), ("!", false, true), ("<=", true, false), ("<!", true, true)]
        {
            if self.eat(opening) {
                if self.look_behind {
                    return Err(self.unsupported(start, "LookInLookBehind"));
                }
                self.folded = None;
                self.look_behind = behind;
                let node = self.close(start);
                self.look_behind = false;
                self.folded = None;
                let node = node?;
                let fixed = |node: &Node| node.length().is_some();
                let served = !behind
                    || match &node {
                        Node::Alternate(alternatives) => alternatives.iter().all(fixed),
                        node => fixed(node),
                    };
                return if served {
                    Ok(Node::Look { behind, negative, node: Box::new(node) })
                } else {
                    Err(self.unsupported(start, "VariableLookBehind"))
                };
            }
        }
        if self.eat("#") {
            return self.comment(start);
        }
        self.options(start)
    }

    /// A comment has no escapes but for its end.
    fn comment(&mut self, start: usize) -> Result<Node> {
        let Some(end) = self.rest().find([')', '\\']) else {
            return Err(self.invalid(start, "end pattern in group"));
        };
        self.at += end;
        // An escape or a quantifier behind a comment is not written in practice.
        if !self.eat(")") || matches!(self.peek(), Some('*' | '+' | '?' | '{')) {
            return Err(self.unsupported(start, "Comment"));
        }
        Ok(Node::Empty)
    }

    /// `(?i)`, `(?i:...)`, `(?-i:...)`: no other option is served.
    fn options(&mut self, start: usize) -> Result<Node> {
        let any_case = if self.eat("i") {
            true
        } else if self.eat("-i") {
            false
        } else {
            return Err(self.unsupported(start, "Group"));
        };
        let outside = std::mem::replace(&mut self.any_case, any_case);
        let node = if self.eat(":") {
            self.close(start)
        } else if self.eat(")") {
            // It holds up to the end of the group that it stands in, alternatives included.
            self.alternatives()
        } else {
            Err(self.unsupported(start, "Group"))
        };
        self.any_case = outside;
        node
    }

    fn close(&mut self, start: usize) -> Result<Node> {
        let any_case = self.any_case;
        let node = self.alternatives()?;
        self.any_case = any_case;
        if self.eat(")") {
            Ok(node)
        } else {
            Err(self.invalid(start, "end pattern with unmatched parenthesis"))
        }
    }

    fn quantified(&mut self, mut node: Node, start: usize) -> Result<Node> {
        loop {
            let at = self.at;
            let Some(quantifier) = self.quantifier()? else { return Ok(node) };
            // The reference refuses most of these and accepts some.
            if matches!(node, Node::Assert(_) | Node::Look { .. }) {
                return Err(self.unsupported(start, "RepeatedAnchor"));
            }
            node = self.repeat(node, quantifier, at)?;
        }
    }

    fn quantifier(&mut self) -> Result<Option<Quantifier>> {
        let simple = |min, max| Some(Quantifier { min, max, is_interval: false });
        let quantifier = match self.peek() {
            Some('*') => simple(0, None),
            Some('+') => simple(1, None),
            Some('?') => simple(0, Some(1)),
            Some('{') => return self.interval(),
            _ => None,
        };
        if quantifier.is_some() {
            self.next();
        }
        Ok(quantifier)
    }

    /// `{n}`, `{n,}`, `{,m}` or `{n,m}`; anything else makes the brace a plain character.
    fn interval(&mut self) -> Result<Option<Quantifier>> {
        let start = self.at;
        let Some((inside, _)) = self.rest().strip_prefix('{').and_then(|rest| rest.split_once('}'))
        else {
            return Ok(None);
        };
        let (low, high) = inside.split_once(',').unwrap_or((inside, inside));
        let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(low) || !is_number(high) || (low.is_empty() && high.is_empty()) {
            return Ok(None);
        }
        let number = |digits: &str| match digits.parse::<u32>() {
            Ok(number) if number <= MAX_REPEAT => Ok(number),
            _ => Err(self.invalid(start, "too big number for repeat range")),
        };
        let min = if low.is_empty() { 0 } else { number(low)? };
        let max = if high.is_empty() { None } else { Some(number(high)?) };
        if max.is_some_and(|max| max < min) {
            return Err(self.unsupported(start, "PossessiveInterval"));
        }
        self.at += inside.len() + 2;
        Ok(Some(Quantifier { min, max, is_interval: true }))
    }

    fn repeat(&mut self, node: Node, quantifier: Quantifier, at: usize) -> Result<Node> {
        let Quantifier { min, max, is_interval } = quantifier;
        let is_fixed = max == Some(min);
        let is_lazy = !(is_interval && is_fixed) && self.eat("?");
        let is_possessive = !is_interval && !is_lazy && self.eat("+");
        let greed = if is_lazy { Greed::Lazy } else { Greed::Greedy };
        // Oniguruma rewrites a repetition of a repetition; of two greedy ones it keeps the meaning.
        let inner = match &node {
            Node::Repeat { greed, .. } => Some(*greed),
            _ => None,
        };
        if inner.is_some_and(|inner| inner == Greed::Lazy || is_lazy) {
            return Err(self.unsupported(at, "NestedRepeat"));
        }
        // What an endless loop does after a pass over nothing is the engine's own affair.
        if max.is_none() && node.is_nullable() {
            return Err(self.unsupported(at, "EmptyLoop"));
        }
        let repeat = Node::Repeat { node: Box::new(node), min, max, greed };
        Ok(if is_possessive { Node::Atomic(Box::new(repeat)) } else { repeat })
    }
}
