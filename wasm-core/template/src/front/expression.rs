//! jinja2's expressions, by precedence: one loop instead of its ladder of functions, so that a
//! level of brackets costs little of a small stack.

use super::ast::{Binary, Compare, Expr, Node, Unary};
use super::stream::{highest, Parser};
use super::token::{Kind, Operator as O};
use crate::error::Result;

/// How tightly an operator binds.
mod level {
    pub const OR: u8 = 1;
    pub const AND: u8 = 2;
    pub const NOT: u8 = 3;
    pub const COMPARE: u8 = 4;
    pub const SUM: u8 = 5;
    pub const CONCAT: u8 = 6;
    pub const PRODUCT: u8 = 7;
    pub const POWER: u8 = 8;
}

enum Infix {
    Binary(Binary, u8),
    Compare,
    Concat,
}

impl<'s> Parser<'_, 's> {
    pub fn expression(&mut self) -> Result<Expr<'s>> {
        self.nested(Self::conditional)
    }

    pub fn expression_without_condition(&mut self) -> Result<Expr<'s>> {
        self.nested(|parser| parser.binary(level::OR))
    }

    /// `a if b else c if d else e` is read from left to right, and built from the right.
    fn conditional(&mut self) -> Result<Expr<'s>> {
        let mut pending = Vec::new();
        let mut last = self.binary(level::OR)?;
        while self.skip_name("if")? {
            let test = self.binary(level::OR)?;
            if self.skip_name("else")? {
                pending.push((test, last));
                last = self.binary(level::OR)?;
            } else {
                last = self.condition(test, last, None)?;
            }
        }
        while let Some((test, value)) = pending.pop() {
            last = self.condition(test, value, Some(last))?;
        }
        Ok(last)
    }

    fn condition(
        &self,
        test: Expr<'s>,
        value: Expr<'s>,
        otherwise: Option<Expr<'s>>,
    ) -> Result<Expr<'s>> {
        let below = highest([&test, &value]).max(highest(&otherwise));
        let at = value.at;
        let node = Node::Conditional {
            test: Box::new(test),
            value: Box::new(value),
            otherwise: otherwise.map(Box::new),
        };
        self.node(node, at, below)
    }

    fn infix(&self) -> Option<(Infix, u8)> {
        let (binary, level) = match self.current() {
            Kind::Operator(operator) => match operator {
                O::Add => (Binary::Add, level::SUM),
                O::Sub => (Binary::Sub, level::SUM),
                O::Mul => (Binary::Mul, level::PRODUCT),
                O::Div => (Binary::Div, level::PRODUCT),
                O::FloorDiv => (Binary::FloorDiv, level::PRODUCT),
                O::Mod => (Binary::Mod, level::PRODUCT),
                O::Pow => (Binary::Pow, level::POWER),
                O::Tilde => return Some((Infix::Concat, level::CONCAT)),
                O::Equal
                | O::NotEqual
                | O::Less
                | O::LessOrEqual
                | O::Greater
                | O::GreaterOrEqual => {
                    return Some((Infix::Compare, level::COMPARE));
                }
                _ => return None,
            },
            Kind::Name("or") => (Binary::Or, level::OR),
            Kind::Name("and") => (Binary::And, level::AND),
            Kind::Name("in") => return Some((Infix::Compare, level::COMPARE)),
            Kind::Name("not") if self.looks_name("in") => {
                return Some((Infix::Compare, level::COMPARE))
            }
            _ => return None,
        };
        Some((Infix::Binary(binary, level), level))
    }

    fn binary(&mut self, least: u8) -> Result<Expr<'s>> {
        let mut left =
            if least <= level::NOT && self.is_name("not") { self.not()? } else { self.unary()? };
        while let Some((infix, level)) = self.infix() {
            if level < least {
                break;
            }
            left = match infix {
                Infix::Compare => self.compare(left)?,
                Infix::Concat => self.concat(left)?,
                Infix::Binary(operator, level) => {
                    self.advance()?;
                    let right = self.binary(level + 1)?;
                    let (at, below) = (left.at, highest([&left, &right]));
                    self.node(Node::Binary(operator, Box::new(left), Box::new(right)), at, below)?
                }
            };
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Expr<'s>> {
        let mut places = Vec::new();
        while self.is_name("not") {
            places.push(self.at());
            self.advance()?;
        }
        let mut operand = self.binary(level::COMPARE)?;
        while let Some(at) = places.pop() {
            let below = operand.height;
            operand = self.node(Node::Unary(Unary::Not, Box::new(operand)), at, below)?;
        }
        Ok(operand)
    }

    fn comparison(&mut self) -> Result<Option<Compare>> {
        let comparison = match self.current() {
            Kind::Operator(O::Equal) => Compare::Equal,
            Kind::Operator(O::NotEqual) => Compare::NotEqual,
            Kind::Operator(O::Less) => Compare::Less,
            Kind::Operator(O::LessOrEqual) => Compare::LessOrEqual,
            Kind::Operator(O::Greater) => Compare::Greater,
            Kind::Operator(O::GreaterOrEqual) => Compare::GreaterOrEqual,
            Kind::Name("in") => Compare::In,
            Kind::Name("not") if self.looks_name("in") => {
                self.advance()?;
                Compare::NotIn
            }
            _ => return Ok(None),
        };
        self.advance()?;
        Ok(Some(comparison))
    }

    fn compare(&mut self, first: Expr<'s>) -> Result<Expr<'s>> {
        let at = first.at;
        let mut operands = Vec::new();
        let mut below = first.height;
        while let Some(comparison) = self.comparison()? {
            let operand = self.binary(level::SUM)?;
            below = below.max(operand.height);
            operands.push((comparison, operand));
            self.chained(operands.len(), at)?;
        }
        self.node(Node::Compare(Box::new(first), operands), at, below)
    }

    fn concat(&mut self, first: Expr<'s>) -> Result<Expr<'s>> {
        let at = first.at;
        let mut operands = vec![first];
        while self.skip(O::Tilde)? {
            operands.push(self.binary(level::PRODUCT)?);
            self.chained(operands.len(), at)?;
        }
        let below = highest(&operands);
        self.node(Node::Concat(operands), at, below)
    }

    fn chained(&self, length: usize, at: usize) -> Result<()> {
        if length > self.limits.chain {
            return Err(self.source.limit("chain", self.limits.chain, at));
        }
        Ok(())
    }

    /// Signs, a primary with what follows it, then filters and tests of the signed value.
    fn unary(&mut self) -> Result<Expr<'s>> {
        let mut signs = Vec::new();
        loop {
            let sign = match self.current() {
                Kind::Operator(O::Sub) => Unary::Negative,
                Kind::Operator(O::Add) => Unary::Positive,
                _ => break,
            };
            signs.push((sign, self.at()));
            self.advance()?;
        }
        let operand = self.primary()?;
        let mut operand = self.postfix(operand)?;
        while let Some((sign, at)) = signs.pop() {
            let below = operand.height;
            operand = self.node(Node::Unary(sign, Box::new(operand)), at, below)?;
        }
        self.filters(operand)
    }

    pub fn primary(&mut self) -> Result<Expr<'s>> {
        let at = self.at();
        let node = match self.current() {
            Kind::Operator(O::LeftParen) => {
                self.advance()?;
                let inside = self.tuple(Tuple { parenthesized: true, ..Tuple::FULL })?;
                self.expect(O::RightParen)?;
                return Ok(inside);
            }
            Kind::Operator(O::LeftBracket) => return self.list(),
            Kind::Operator(O::LeftBrace) => return self.dict(),
            Kind::Name(_) | Kind::Text(_) | Kind::Integer(_) | Kind::Float(_) => {
                match self.advance()? {
                    Kind::Name("true" | "True") => Node::Bool(true),
                    Kind::Name("false" | "False") => Node::Bool(false),
                    Kind::Name("none" | "None") => Node::None,
                    Kind::Name(name) => Node::Name(name),
                    Kind::Integer(value) => Node::Integer(value.unwrap_or(0)),
                    Kind::Float(value) => Node::Float(value),
                    Kind::Text(text) => Node::Text(self.joined(text)?),
                    other => return self.fail(format!("unexpected '{}'", other.describe()), at),
                }
            }
            other => return self.fail(format!("unexpected '{}'", other.describe()), at),
        };
        self.node(node, at, 0)
    }

    /// Literals side by side are one.
    fn joined(&mut self, mut text: String) -> Result<String> {
        while matches!(self.current(), Kind::Text(_)) {
            if let Kind::Text(next) = self.advance()? {
                text.push_str(&next);
            }
        }
        Ok(text)
    }

    fn list(&mut self) -> Result<Expr<'s>> {
        let at = self.at();
        self.expect(O::LeftBracket)?;
        let mut items = Vec::new();
        while !self.is(O::RightBracket) {
            if !items.is_empty() {
                self.expect(O::Comma)?;
            }
            if self.is(O::RightBracket) {
                break;
            }
            items.push(self.expression()?);
        }
        self.expect(O::RightBracket)?;
        let below = highest(&items);
        self.node(Node::List(items), at, below)
    }

    fn dict(&mut self) -> Result<Expr<'s>> {
        let at = self.at();
        self.expect(O::LeftBrace)?;
        let mut items = Vec::new();
        while !self.is(O::RightBrace) {
            if !items.is_empty() {
                self.expect(O::Comma)?;
            }
            if self.is(O::RightBrace) {
                break;
            }
            let key = self.expression()?;
            self.expect(O::Colon)?;
            items.push((key, self.expression()?));
        }
        self.expect(O::RightBrace)?;
        let below =
            items.iter().map(|(key, value)| key.height.max(value.height)).max().unwrap_or(0);
        self.node(Node::Dict(items), at, below)
    }

    /// No word ends a tuple: jinja2 looks for `in` and `recursive`, but in a way that finds none.
    fn tuple_ends(&self) -> bool {
        matches!(self.current(), Kind::VariableEnd | Kind::BlockEnd | Kind::Operator(O::RightParen))
    }

    /// An expression, or a tuple of them: a comma makes the difference.
    pub fn tuple(&mut self, how: Tuple) -> Result<Expr<'s>> {
        let at = self.at();
        let mut items = Vec::new();
        let mut is_tuple = false;
        loop {
            if !items.is_empty() {
                self.expect(O::Comma)?;
            }
            if self.tuple_ends() {
                break;
            }
            items.push(match how.items {
                Items::Conditional => self.expression()?,
                Items::Plain => self.expression_without_condition()?,
                Items::Targets { namespaces } => self.target_item(namespaces)?,
            });
            if !self.is(O::Comma) {
                break;
            }
            is_tuple = true;
        }
        if !is_tuple {
            if let Some(only) = items.pop() {
                return Ok(only);
            }
            if !how.parenthesized {
                let message =
                    format!("Expected an expression, got '{}'", self.current().describe());
                return self.fail(message, self.at());
            }
        }
        let below = highest(&items);
        self.node(Node::Tuple(items), at, below)
    }

    fn target_item(&mut self, namespaces: bool) -> Result<Expr<'s>> {
        let at = self.at();
        if let (true, Kind::Name(name), Kind::Operator(O::Dot)) =
            (namespaces, self.current(), self.look())
        {
            let name = *name;
            if !matches!(name, "true" | "false" | "none" | "True" | "False" | "None") {
                self.advance()?;
                self.advance()?;
                let attribute = self.expect_name()?;
                return self.node(Node::NamespaceAttribute(name, attribute), at, 0);
            }
        }
        self.primary()
    }
}

/// How a tuple without brackets is read.
#[derive(Clone, Copy)]
pub struct Tuple {
    pub items: Items,
    /// Then it may be empty.
    pub parenthesized: bool,
}

#[derive(Clone, Copy)]
pub enum Items {
    Conditional,
    Plain,
    Targets { namespaces: bool },
}

impl Tuple {
    pub const FULL: Self = Self { items: Items::Conditional, parenthesized: false };
}
