//! `Replace`: every match in each token becomes the same text.

use super::bpe::begun;
use crate::decode::output::stage::Parts;
use crate::decode::output::stage::{append, append_replaced, Sink, Stage};
use crate::definition::Pattern;
use crate::error::Result;
use crate::saved::{put_bytes, Reader};
use crate::text::FindMatches;

/// Makes a finder of a regular expression.
pub type CompileRegex<'a> = dyn Fn(&str) -> Result<Box<dyn FindMatches>> + 'a;

#[derive(Debug)]
pub struct Replace {
    finder: Finder,
    content: String,
}

#[derive(Debug)]
enum Finder {
    Literal(String),
    Regex(Box<dyn FindMatches>),
}

impl Replace {
    pub fn new(pattern: &Pattern, content: &str, compile_regex: &CompileRegex<'_>) -> Result<Self> {
        let finder = match pattern {
            Pattern::Literal(literal) => Finder::Literal(literal.clone()),
            Pattern::Regex(regex) => Finder::Regex(compile_regex(regex)?),
        };
        Ok(Self { finder, content: content.to_owned() })
    }

    /// A machine for parts of tokens, where there can be one. The matches of a regular expression
    /// may depend on all of the token, and so do those of an empty pattern: an empty token has none.
    pub fn literal(&self) -> Option<LiteralMachine<'_>> {
        match &self.finder {
            Finder::Literal(from) if !from.is_empty() => Some(LiteralMachine {
                from,
                to: &self.content,
                held: String::new(),
                scratch: String::new(),
            }),
            _ => None,
        }
    }

    /// Appends what the token becomes. An empty token has no matches, not even empty ones.
    pub fn apply(&self, token: &str, text: &mut String) -> Result<()> {
        if token.is_empty() {
            return Ok(());
        }
        let regex = match &self.finder {
            Finder::Literal(from) => return append_replaced(text, token, from, &self.content),
            Finder::Regex(regex) => regex,
        };
        let mut rest = 0;
        for found in regex.find_all(token)? {
            append(text, token.get(rest..found.start).unwrap_or_default())?;
            append(text, &self.content)?;
            rest = found.end;
        }
        append(text, token.get(rest..).unwrap_or_default())
    }
}

/// Replaces in whole tokens: for patterns whose matches show only there.
#[derive(Debug)]
pub struct ReplaceStage<'a> {
    replace: &'a Replace,
    scratch: String,
}

impl<'a> ReplaceStage<'a> {
    pub fn new(replace: &'a Replace) -> Self {
        Self { replace, scratch: String::new() }
    }
}

impl Stage for ReplaceStage<'_> {
    fn push(&mut self, token: &str, out: &mut Sink<'_>) -> Result<()> {
        self.scratch.clear();
        self.replace.apply(token, &mut self.scratch)?;
        out(&self.scratch)
    }

    fn save(&self, _: &mut Vec<u8>) {}

    fn load(&mut self, _: &mut Reader<'_>) -> Result<()> {
        Ok(())
    }
}

/// Replaces a literal in parts of tokens: what may be the beginning of one is held back.
#[derive(Debug)]
pub struct LiteralMachine<'a> {
    from: &'a str,
    to: &'a str,
    held: String,
    scratch: String,
}

impl LiteralMachine<'_> {
    pub fn push(&mut self, part: &str, ends: bool, out: &mut Parts<'_>) -> Result<()> {
        self.scratch.clear();
        if self.held.is_empty() && ends {
            append_replaced(&mut self.scratch, part, self.from, self.to)?;
            return out(&self.scratch, true);
        }
        append(&mut self.held, part)?;
        let certain = match ends {
            true => self.held.len(),
            false => {
                // Matches are taken from the left and do not overlap.
                let matched = self.held.match_indices(self.from).last();
                let open = matched.map_or(0, |(at, found)| at + found.len());
                self.held.len() - begun(self.held.get(open..).unwrap_or_default(), self.from)
            }
        };
        let settled = self.held.get(..certain).unwrap_or_default();
        append_replaced(&mut self.scratch, settled, self.from, self.to)?;
        self.held.drain(..certain);
        out(&self.scratch, ends)
    }

    pub fn flush(&mut self, out: &mut Parts<'_>) -> Result<()> {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            return Ok(());
        }
        out(&held, false)
    }

    pub fn save(&self, out: &mut Vec<u8>) {
        put_bytes(out, self.held.as_bytes());
    }

    pub fn load(&mut self, from: &mut Reader<'_>) -> Result<()> {
        self.held = from.text()?.to_owned();
        Ok(())
    }
}
