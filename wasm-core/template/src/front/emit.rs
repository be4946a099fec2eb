//! Expressions, in words that the crate reads as jinja2 reads the original.

use super::ast::{Binary, Expr, Node, Unary};
use super::defaults::Defaults;
use super::lines::Lines;
use super::literal::quoted;
use super::operators::is_literal_number;
use super::scopes::{Leaving, Loop, Names};
use super::source::Source;
use super::Dialect;
use crate::carriers;
use crate::error::Result;

/// How deep the crate's parser goes, with a margin for what is not counted here.
const CRATE_DEPTH: usize = 144;

/// The crate's levels of precedence, which are jinja2's.
pub mod level {
    pub const ANY: u8 = 0;
    pub const OR: u8 = 1;
    pub const AND: u8 = 2;
    pub const NOT: u8 = 3;
    pub const COMPARE: u8 = 4;
    pub const SUM: u8 = 5;
    pub const FILTER: u8 = 9;
    pub const PRIMARY: u8 = 10;
}

pub struct Emitter<'a, 's> {
    pub source: &'a Source<'s>,
    pub dialect: Dialect,
    /// Whether `+` may meet a safe string anywhere.
    pub safe_strings: bool,
    /// Whether `loop` is an ordinary variable.
    pub plain_loop: bool,
    pub defaults: Defaults<'s>,
    /// Whether a macro may be what any name stands for.
    pub macro_values: bool,
    /// The loops around, from the last function on; of a recursive one its function.
    pub loops: Vec<Option<Loop>>,
    /// How the loop is left from inside of a block that is a loop of its own.
    pub leaving: Option<Leaving>,
    /// Under which name `loop` is found there.
    pub loop_name: Option<String>,
    /// And the `caller` of the macro around, in a recursive loop.
    pub caller_name: Option<String>,
    /// The names of the scopes around.
    pub scopes: Vec<Names<'s>>,
    /// Whether jinja2 computes the whole of what is printed: a slice that cannot be is undefined.
    pub computed: bool,
    pub out: String,
    /// Where the output has lines of its own.
    pub lines: Lines,
    /// Of the output, from 1: but for those the original's, where tags allow it.
    line: u32,
    depth: usize,
    temporaries: usize,
    /// Values that chained comparisons have kept.
    pub keeps: usize,
}

impl<'a, 's> Emitter<'a, 's> {
    pub fn new(source: &'a Source<'s>, dialect: Dialect) -> Self {
        Self {
            source,
            dialect,
            safe_strings: false,
            plain_loop: false,
            defaults: Defaults::new(),
            macro_values: false,
            loops: Vec::new(),
            leaving: None,
            loop_name: None,
            caller_name: None,
            scopes: Vec::new(),
            computed: false,
            out: String::with_capacity(source.text.len() + source.text.len() / 4),
            lines: Lines::default(),
            line: 1,
            depth: 0,
            temporaries: 0,
            keeps: 0,
        }
    }

    /// Text that has no newline.
    pub fn write(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Text that may have some.
    pub fn write_lines(&mut self, text: &str) {
        self.out.push_str(text);
        let lines = text.bytes().filter(|&byte| byte == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
    }

    pub fn line(&self) -> u32 {
        self.line
    }

    /// So many of the lines that were just written have none in the original.
    pub fn not_of_the_source(&mut self, lines: u32) {
        self.lines.add(self.line, lines);
    }

    /// Inside of a tag: newlines until the line is the original's, so that the crate's errors name it.
    pub fn sync(&mut self, at: usize) {
        let line = self.source.line(at).saturating_add(self.lines.shift());
        while self.line < line {
            self.out.push('\n');
            self.line += 1;
        }
    }

    /// A name that no template can have.
    pub fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("__value{}", self.temporaries)
    }

    pub fn nested(
        &mut self,
        levels: usize,
        at: usize,
        emit: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.depth += levels;
        if self.depth > CRATE_DEPTH {
            return Err(self.source.limit("nesting", CRATE_DEPTH / 2, at));
        }
        emit(self)?;
        self.depth -= levels;
        Ok(())
    }

    /// `least`: how tightly the expression must hold together where it is written.
    pub fn expression(&mut self, expression: &Expr<'s>, least: u8) -> Result<()> {
        if self.level(expression) >= least {
            return self.bare(expression);
        }
        self.nested(2, expression.at, |emitter| {
            emitter.write("(");
            emitter.bare(expression)?;
            emitter.write(")");
            Ok(())
        })
    }

    /// In front of `|`: filters chain, everything else is in parentheses if it is no single word.
    pub fn piped(&mut self, subject: &Expr<'s>) -> Result<()> {
        let chains = match &subject.node {
            Node::Filter(..) => true,
            Node::Integer(_) | Node::Float(_) | Node::Test(..) => false,
            Node::Unary(..) if is_literal_number(subject) => false,
            _ => self.level(subject) == level::FILTER,
        };
        self.expression(subject, if chains { level::FILTER } else { level::PRIMARY })
    }

    fn level(&self, expression: &Expr<'s>) -> u8 {
        let carried = level::FILTER;
        match &expression.node {
            Node::Conditional { .. } => level::ANY,
            Node::Binary(operator, left, right) => match operator {
                Binary::Or => level::OR,
                Binary::And => level::AND,
                Binary::Add if self.is_plain_sum(left, right) => level::SUM,
                _ => carried,
            },
            Node::Concat(_) => carried,
            Node::Compare(first, others) => match others.as_slice() {
                [(comparison, right)] => self.comparison_level(first, *comparison, right),
                _ => level::AND,
            },
            Node::Unary(Unary::Not, _) => level::NOT,
            Node::Unary(..) if is_literal_number(expression) => level::FILTER,
            Node::Unary(..) => carried,
            Node::Attribute(subject, name) if self.is_carried_name(subject, name) => carried,
            Node::Item(_, key) if !self.is_plain_key(key) => carried,
            Node::Integer(_) | Node::Float(_) | Node::Filter(..) | Node::Test(..) => level::FILTER,
            _ => level::PRIMARY,
        }
    }

    fn bare(&mut self, expression: &Expr<'s>) -> Result<()> {
        let at = expression.at;
        match &expression.node {
            Node::Name(name) => {
                self.sync(at);
                self.name(name);
                Ok(())
            }
            Node::Text(text) => {
                self.sync(at);
                self.write(&quoted(text));
                Ok(())
            }
            Node::Integer(value) => {
                self.write(&value.to_string());
                Ok(())
            }
            Node::Float(value) => {
                self.write(&if value.is_infinite() {
                    "1e999".to_owned()
                } else {
                    format!("{value:?}")
                });
                Ok(())
            }
            Node::Bool(value) => {
                self.write(if *value { "true" } else { "false" });
                Ok(())
            }
            Node::None => {
                self.write("none");
                Ok(())
            }
            Node::Tuple(items) => self.tuple(items, at),
            Node::List(items) => self.nested(2, at, |emitter| {
                emitter.write("[");
                emitter.separated(items)?;
                emitter.write("]");
                Ok(())
            }),
            Node::Dict(items) => self.nested(2, at, |emitter| emitter.dict(items)),
            Node::Binary(operator, left, right) => self.binary(*operator, left, right),
            Node::Concat(operands) => self.concat(operands),
            Node::Compare(first, others) => self.comparisons(first, others),
            Node::Unary(operator, operand) => self.unary(expression, *operator, operand),
            Node::Conditional { test, value, otherwise } => {
                self.expression(value, level::OR)?;
                self.write(" if ");
                self.expression(test, level::OR)?;
                if let Some(otherwise) = otherwise {
                    self.write(" else ");
                    self.expression(otherwise, level::ANY)?;
                }
                Ok(())
            }
            Node::Attribute(subject, name) => self.attribute(subject, name),
            Node::Item(subject, key) => self.item(subject, key),
            Node::Slice(bounds) => self.slice(bounds),
            Node::Call(target, arguments) => self.call(target, arguments, at),
            Node::Filter(subject, name, arguments) => {
                self.filter(subject.as_deref(), name, arguments, at)
            }
            Node::Test(subject, name, arguments) => self.test(subject, name, arguments, at),
            Node::NamespaceAttribute(name, attribute) => {
                self.sync(at);
                self.name(name);
                self.write(".");
                self.write(attribute);
                Ok(())
            }
        }
    }

    pub fn name(&mut self, name: &str) {
        let other = match name {
            "loop" if self.plain_loop => Some("__loop"),
            "loop" => self.loop_name.as_deref(),
            "caller" => self.caller_name.as_deref(),
            _ => None,
        };
        self.out.push_str(other.unwrap_or(name));
    }

    fn tuple(&mut self, items: &[Expr<'s>], at: usize) -> Result<()> {
        self.nested(2, at, |emitter| {
            emitter.write("(");
            emitter.separated(items)?;
            emitter.write(if items.len() == 1 { ",)" } else { ")" });
            Ok(())
        })
    }

    fn separated(&mut self, items: &[Expr<'s>]) -> Result<()> {
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.write(", ");
            }
            self.expression(item, level::ANY)?;
        }
        Ok(())
    }

    fn dict(&mut self, items: &[(Expr<'s>, Expr<'s>)]) -> Result<()> {
        if !has_plain_keys(items) {
            return self.checked_dict(items);
        }
        self.write("{");
        for (at, (key, value)) in items.iter().enumerate() {
            if at > 0 {
                self.write(", ");
            }
            self.expression(key, level::ANY)?;
            self.write(": ");
            self.expression(value, level::ANY)?;
        }
        // Or the end of the tag could begin here.
        self.write(" }");
        Ok(())
    }

    /// Whose keys are looked at when it is made.
    fn checked_dict(&mut self, items: &[(Expr<'s>, Expr<'s>)]) -> Result<()> {
        self.write(carriers::DICT);
        self.write("([");
        for (at, (key, value)) in items.iter().enumerate() {
            self.write(if at > 0 { ", (" } else { "(" });
            self.nested(2, key.at, |emitter| {
                emitter.expression(key, level::ANY)?;
                emitter.write(", ");
                emitter.expression(value, level::ANY)
            })?;
            self.write(")");
        }
        self.write("])");
        Ok(())
    }

    /// `subject|carrier(operands)`
    pub fn carried(
        &mut self,
        subject: &Expr<'s>,
        carrier: &str,
        operands: &[&Expr<'s>],
    ) -> Result<()> {
        self.carrier_subject(subject)?;
        self.write(carrier);
        if operands.is_empty() {
            return Ok(());
        }
        self.write("(");
        self.nested(1, subject.at, |emitter| {
            for (at, operand) in operands.iter().enumerate() {
                if at > 0 {
                    emitter.write(", ");
                }
                emitter.expression(operand, level::ANY)?;
            }
            Ok(())
        })?;
        self.write(")");
        Ok(())
    }
}

/// Texts, or integers: each is a key, and equals its like only.
fn has_plain_keys(items: &[(Expr<'_>, Expr<'_>)]) -> bool {
    let all = |like: fn(&Node<'_>) -> bool| items.iter().all(|(key, _)| like(&key.node));
    all(|key| matches!(key, Node::Text(_))) || all(|key| matches!(key, Node::Integer(_)))
}
