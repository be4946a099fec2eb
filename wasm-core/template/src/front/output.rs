//! `{{ … }}`: texts of the template are data, and what is joined to be printed is printed part by
//! part. The crate takes much longer to make a text of two than to print both.

use super::ast::{Binary, Expr, Node};
use super::emit::{level, Emitter};
use super::operators::is_computed;
use super::Dialect;
use crate::carriers;
use crate::error::Result;

/// What has to be true of a part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Whatever it is, its `str` is printed.
    Any,
    /// It stands in a sum of texts.
    Text,
}

impl<'s> Emitter<'_, 's> {
    pub fn output(&mut self, value: &Expr<'s>, at: usize) -> Result<()> {
        self.computed = is_computed(value);
        let written = self.whole(value, at);
        self.computed = false;
        written
    }

    fn whole(&mut self, value: &Expr<'s>, at: usize) -> Result<()> {
        if self.dialect == Dialect::Sandbox {
            return self.parts(value, Part::Any, at);
        }
        self.printed(value, Part::Any, at)
    }

    fn parts(&mut self, value: &Expr<'s>, part: Part, at: usize) -> Result<()> {
        match &value.node {
            // The crate's own newlines are those of the source, which has no carriage return.
            Node::Text(text) if !text.contains('\r') => {
                self.text(text);
                Ok(())
            }
            Node::Binary(Binary::Add, left, right) if self.is_plain_sum(left, right) => self
                .nested(1, value.at, |emitter| {
                    emitter.parts(left, Part::Text, at)?;
                    emitter.parts(right, Part::Text, at)
                }),
            // A safe text among them would make all of them safe.
            Node::Concat(operands) if !self.safe_strings => self.nested(1, value.at, |emitter| {
                operands.iter().try_for_each(|operand| emitter.parts(operand, Part::Any, at))
            }),
            _ => self.printed(value, part, at),
        }
    }

    fn printed(&mut self, value: &Expr<'s>, part: Part, at: usize) -> Result<()> {
        self.write("{{ ");
        self.sync(at);
        self.nested(1, at, |emitter| {
            if part == Part::Text && !is_text(value) {
                return emitter.carried(value, carriers::TEXT, &[]);
            }
            emitter.expression(value, level::ANY)
        })?;
        self.write(" }}");
        Ok(())
    }

    /// Text of an expression, as data.
    fn text(&mut self, text: &str) {
        let before = self.line();
        self.data(text);
        self.not_of_the_source(self.line() - before);
    }
}

/// Whether it is a plain text whatever it is made of.
fn is_text(value: &Expr<'_>) -> bool {
    match &value.node {
        Node::Text(_) => true,
        Node::Filter(Some(_), name, _) => matches!(&**name, "trim" | "tojson"),
        _ => false,
    }
}
