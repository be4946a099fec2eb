//! The parser's place among the tokens, and its bounds.

use super::ast::{Expr, Node};
use super::lexer::Lexed;
use super::source::Source;
use super::token::{Kind, Operator, Token};
use crate::error::{Error, Result};
use crate::limits::Limits;

pub struct Parser<'a, 's> {
    pub source: &'a Source<'s>,
    pub limits: &'a Limits,
    pub unsupported: Vec<Error>,
    tokens: Vec<Token<'s>>,
    position: usize,
    failure: Option<Error>,
    depth: usize,
    /// What would end each open block, and the blocks' names: for the words of an error.
    pub expected: Vec<&'static [&'static str]>,
    pub tags: Vec<&'s str>,
}

impl<'a, 's> Parser<'a, 's> {
    pub fn new(source: &'a Source<'s>, limits: &'a Limits, lexed: Lexed<'s>) -> Self {
        Self {
            source,
            limits,
            unsupported: lexed.unsupported,
            tokens: lexed.tokens,
            position: 0,
            failure: lexed.failure,
            depth: 0,
            expected: Vec::new(),
            tags: Vec::new(),
        }
    }

    /// A lexer's failure is met by the parser that would read the token it hit.
    pub fn check_failure(&mut self) -> Result<()> {
        if matches!(self.current(), Kind::Eof) {
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
        }
        Ok(())
    }

    fn token(&self, ahead: usize) -> Option<&Token<'s>> {
        self.tokens.get(self.position + ahead)
    }

    pub fn current(&self) -> &Kind<'s> {
        self.token(0).map_or(&Kind::Eof, |token| &token.kind)
    }

    pub fn look(&self) -> &Kind<'s> {
        self.token(1).map_or(&Kind::Eof, |token| &token.kind)
    }

    pub fn at(&self) -> usize {
        self.token(0).map_or(self.source.text.len(), |token| token.at)
    }

    pub fn advance(&mut self) -> Result<Kind<'s>> {
        let Some(token) = self.tokens.get_mut(self.position) else { return Ok(Kind::Eof) };
        if token.kind == Kind::Eof {
            return Ok(Kind::Eof);
        }
        let kind = std::mem::replace(&mut token.kind, Kind::Eof);
        self.position += 1;
        self.check_failure()?;
        Ok(kind)
    }

    pub fn is_name(&self, name: &str) -> bool {
        matches!(self.current(), Kind::Name(current) if *current == name)
    }

    pub fn looks_name(&self, name: &str) -> bool {
        matches!(self.look(), Kind::Name(next) if *next == name)
    }

    pub fn is(&self, operator: Operator) -> bool {
        matches!(self.current(), Kind::Operator(current) if *current == operator)
    }

    pub fn skip_name(&mut self, name: &str) -> Result<bool> {
        let found = self.is_name(name);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub fn skip(&mut self, operator: Operator) -> Result<bool> {
        let found = self.is(operator);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn unexpected<T>(&self, expected: &str) -> Result<T> {
        let message = match self.current() {
            Kind::Eof => format!("unexpected end of template, expected '{expected}'."),
            other => format!("expected token '{expected}', got '{}'", other.describe()),
        };
        Err(self.source.syntax(message, self.at()))
    }

    pub fn expect(&mut self, operator: Operator) -> Result<()> {
        if !self.is(operator) {
            return self.unexpected(operator.text());
        }
        self.advance().map(drop)
    }

    /// Delimiters, which carry nothing.
    pub fn expect_kind(&mut self, kind: &Kind<'_>) -> Result<()> {
        if self.current() != kind {
            return self.unexpected(&kind.describe());
        }
        self.advance().map(drop)
    }

    pub fn expect_word(&mut self, word: &str) -> Result<()> {
        if !self.is_name(word) {
            return self.unexpected(word);
        }
        self.advance().map(drop)
    }

    pub fn expect_name(&mut self) -> Result<&'s str> {
        match *self.current() {
            Kind::Name(name) => {
                self.advance()?;
                Ok(name)
            }
            _ => self.unexpected("name"),
        }
    }

    pub fn fail<T>(&self, message: impl Into<String>, at: usize) -> Result<T> {
        Err(self.source.syntax(message, at))
    }

    pub fn refuse(&mut self, feature: impl Into<String>, at: usize) {
        let error = self.source.unsupported(feature, at);
        self.unsupported.push(error);
    }

    /// One level of blocks or brackets deeper.
    pub fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= self.limits.nesting {
            return Err(self.source.limit("nesting", self.limits.nesting, self.at()));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// A node above `below`, if the chain is not too long.
    pub fn node(&self, node: Node<'s>, at: usize, below: usize) -> Result<Expr<'s>> {
        let height = below + 1;
        if height > self.limits.chain {
            return Err(self.source.limit("chain", self.limits.chain, at));
        }
        Ok(Expr { node, at, height })
    }
}

/// The greatest height among expressions.
pub fn highest<'e, 's: 'e>(expressions: impl IntoIterator<Item = &'e Expr<'s>>) -> usize {
    expressions.into_iter().map(|expression| expression.height).max().unwrap_or(0)
}
