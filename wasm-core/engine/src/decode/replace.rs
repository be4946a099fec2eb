//! `Replace`: every match in each token becomes the same text.

use super::stage::{append, append_replaced, Sink, Stage};
use super::CompileRegex;
use crate::definition::Pattern;
use crate::error::Result;
use crate::text::FindMatches;

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
}
