//! What may follow a value: attributes, subscripts, calls, filters and tests.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::ast::{Arguments, Expr, Node, Unary};
use super::names::{has, PYTHON_WORDS};
use super::stream::{highest, Parser};
use super::token::{Kind, Operator as O};
use crate::error::Result;

impl<'s> Parser<'_, 's> {
    pub fn postfix(&mut self, mut value: Expr<'s>) -> Result<Expr<'s>> {
        loop {
            value = match self.current() {
                Kind::Operator(O::Dot) => self.attribute(value)?,
                Kind::Operator(O::LeftBracket) => self.subscript(value)?,
                Kind::Operator(O::LeftParen) => self.call(value)?,
                _ => return Ok(value),
            };
        }
    }

    pub fn filters(&mut self, mut value: Expr<'s>) -> Result<Expr<'s>> {
        loop {
            value = match self.current() {
                Kind::Operator(O::Pipe) => {
                    self.advance()?;
                    self.filter(Some(value))?
                }
                Kind::Name("is") => self.test(value)?,
                Kind::Operator(O::LeftParen) => self.call(value)?,
                _ => return Ok(value),
            };
        }
    }

    fn attribute(&mut self, value: Expr<'s>) -> Result<Expr<'s>> {
        self.advance()?;
        let (at, below) = (self.at(), value.height);
        let node = match *self.current() {
            Kind::Name(name) => Node::Attribute(Box::new(value), name),
            Kind::Integer(index) => {
                let index = self.node(Node::Integer(index.unwrap_or(0)), at, 0)?;
                Node::Item(Box::new(value), Box::new(index))
            }
            _ => return self.fail("expected name or number", at),
        };
        self.advance()?;
        self.node(node, at, below)
    }

    fn subscript(&mut self, value: Expr<'s>) -> Result<Expr<'s>> {
        let at = self.at();
        self.expect(O::LeftBracket)?;
        let mut keys = Vec::new();
        while !self.is(O::RightBracket) {
            if !keys.is_empty() {
                self.expect(O::Comma)?;
            }
            keys.push(self.nested(Self::subscribed)?);
        }
        self.expect(O::RightBracket)?;
        let only = if keys.len() == 1 { keys.pop() } else { None };
        let key = match only {
            Some(key) => key,
            None => {
                if let Some(slice) = keys.iter().find(|key| matches!(key.node, Node::Slice(_))) {
                    let at = slice.at;
                    self.refuse("a slice in a tuple of subscripts", at);
                }
                let below = highest(&keys);
                self.node(Node::Tuple(keys), at, below)?
            }
        };
        let below = value.height.max(key.height);
        self.node(Node::Item(Box::new(value), Box::new(key)), at, below)
    }

    fn subscribed(&mut self) -> Result<Expr<'s>> {
        let at = self.at();
        let mut bounds = [None, None, None];
        if !self.is(O::Colon) {
            let first = self.expression()?;
            if !self.is(O::Colon) {
                return Ok(first);
            }
            bounds[0] = Some(first);
        }
        self.advance()?;
        bounds[1] = self.bound()?;
        if self.skip(O::Colon)? {
            bounds[2] = self.bound()?;
        }
        let below = highest(bounds.iter().flatten());
        self.node(Node::Slice(bounds.map(|bound| bound.map(Box::new))), at, below)
    }

    fn bound(&mut self) -> Result<Option<Expr<'s>>> {
        if self.is(O::Colon) || self.is(O::RightBracket) || self.is(O::Comma) {
            return Ok(None);
        }
        self.expression().map(Some)
    }

    fn call(&mut self, value: Expr<'s>) -> Result<Expr<'s>> {
        let at = self.at();
        let arguments = self.arguments()?;
        let below = value.height.max(arguments.height());
        if let Some(twice) = repeated(&arguments) {
            return self.fail(format!("keyword argument repeated: {twice}"), at);
        }
        self.node(Node::Call(Box::new(value), arguments), at, below)
    }

    pub fn arguments(&mut self) -> Result<Arguments<'s>> {
        let open = self.at();
        let invalid = "invalid syntax for function call expression";
        self.expect(O::LeftParen)?;
        let mut read = Arguments::default();
        let mut first = true;
        while !self.is(O::RightParen) {
            if !first {
                self.expect(O::Comma)?;
                if self.is(O::RightParen) {
                    break;
                }
            }
            first = false;
            if self.is(O::Mul) {
                if read.rest.is_some() || read.named_rest.is_some() {
                    return self.fail(invalid, open);
                }
                self.advance()?;
                read.rest = Some(Box::new(self.expression()?));
            } else if self.is(O::Pow) {
                if read.named_rest.is_some() {
                    return self.fail(invalid, open);
                }
                self.advance()?;
                read.named_rest = Some(Box::new(self.expression()?));
            } else if let (Kind::Name(name), Kind::Operator(O::Assign)) =
                (self.current(), self.look())
            {
                let name = *name;
                if read.named_rest.is_some() {
                    return self.fail(invalid, open);
                }
                self.advance()?;
                self.advance()?;
                read.named.push((name, self.expression()?));
            } else {
                if read.rest.is_some() || read.named_rest.is_some() || !read.named.is_empty() {
                    return self.fail(invalid, open);
                }
                read.positional.push(self.expression()?);
            }
        }
        self.expect(O::RightParen)?;
        Ok(read)
    }

    fn dotted_name(&mut self) -> Result<Cow<'s, str>> {
        let mut name = Cow::Borrowed(self.expect_name()?);
        while self.skip(O::Dot)? {
            let next = self.expect_name()?;
            let whole = name.to_mut();
            whole.push('.');
            whole.push_str(next);
        }
        Ok(name)
    }

    /// From the name of a filter on.
    pub fn filter(&mut self, value: Option<Expr<'s>>) -> Result<Expr<'s>> {
        let at = self.at();
        let name = self.dotted_name()?;
        let arguments =
            if self.is(O::LeftParen) { self.arguments()? } else { Arguments::default() };
        if let Some(twice) = repeated(&arguments) {
            return self.fail(format!("keyword argument repeated: {twice}"), at);
        }
        let below = highest(&value).max(arguments.height());
        self.node(Node::Filter(value.map(Box::new), name, arguments), at, below)
    }

    fn test(&mut self, value: Expr<'s>) -> Result<Expr<'s>> {
        let at = self.at();
        self.advance()?;
        let negated = self.skip_name("not")?;
        let name = self.dotted_name()?;
        let mut arguments = Arguments::default();
        match self.current() {
            Kind::Operator(O::LeftParen) => arguments = self.arguments()?,
            Kind::Name("else" | "or" | "and") => {}
            Kind::Name("is") => {
                return self.fail("You cannot chain multiple tests with is", self.at())
            }
            Kind::Name(_)
            | Kind::Text(_)
            | Kind::Integer(_)
            | Kind::Float(_)
            | Kind::Operator(O::LeftBracket | O::LeftBrace) => {
                let argument = self.primary()?;
                arguments.positional.push(self.postfix(argument)?);
            }
            _ => {}
        }
        if let Some(twice) = repeated(&arguments) {
            return self.fail(format!("keyword argument repeated: {twice}"), at);
        }
        let below = value.height.max(arguments.height());
        let tested = self.node(Node::Test(Box::new(value), name, arguments), at, below)?;
        if !negated {
            return Ok(tested);
        }
        let below = tested.height;
        self.node(Node::Unary(Unary::Not, Box::new(tested)), at, below)
    }
}

impl<'s> Arguments<'s> {
    pub fn all(&self) -> impl Iterator<Item = &Expr<'s>> {
        let named = self.named.iter().map(|(_, value)| value);
        self.positional
            .iter()
            .chain(named)
            .chain(self.rest.as_deref())
            .chain(self.named_rest.as_deref())
    }

    fn height(&self) -> usize {
        highest(self.all())
    }
}

/// Python refuses the code that jinja2 makes of it, unless a word of Python is among the names.
fn repeated<'s>(arguments: &Arguments<'s>) -> Option<&'s str> {
    if arguments.named.iter().any(|(name, _)| has(PYTHON_WORDS, name)) {
        return None;
    }
    let mut seen = BTreeSet::new();
    arguments.named.iter().map(|(name, _)| *name).find(|name| !seen.insert(*name))
}
