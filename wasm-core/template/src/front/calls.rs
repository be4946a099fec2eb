//! What follows a value: attributes, subscripts, calls, filters and tests.

use super::ast::{Arguments, Expr, Node, Unary};
use super::emit::{level, Emitter};
use super::literal::quoted;
use super::names::{has, ATTRIBUTES, FILTERS, OPERANDS, TESTS};
use super::scopes::Loop;
use super::Dialect;
use crate::carriers;
use crate::error::Result;

/// Of a macro a tuple, in the crate a list.
const ARGUMENTS: &str = "arguments";

impl<'s> Emitter<'_, 's> {
    /// A key that can stay in brackets. Traced, a number may choose a character of a text that
    /// carries marks.
    pub fn is_plain_key(&self, key: &Expr<'_>) -> bool {
        let is_word = matches!(key.node, Node::Text(_));
        let of_macro =
            self.macro_values && matches!(&key.node, Node::Text(text) if text == ARGUMENTS);
        is_plain_key(key) && !of_macro && (is_word || self.dialect != Dialect::Traced)
    }

    /// An attribute that may be a method, or belongs to Python's insides.
    pub fn is_carried_name(&self, subject: &Expr<'s>, name: &str) -> bool {
        let of_loop = matches!(subject.node, Node::Name("loop")) && !self.plain_loop;
        // A macro has some of its own.
        let of_macro = matches!(subject.node, Node::Name(name) if self.defaults.contains_key(name))
            || self.macro_values && name == ARGUMENTS;
        name.starts_with("__") || of_macro || (has(ATTRIBUTES, name) && !of_loop)
    }

    /// The depth of a recursive loop, which the crate does not know.
    fn depth(&mut self, subject: &Expr<'s>, name: &str) -> bool {
        let Some(Some(Loop { depth, .. })) = self.loops.last() else { return false };
        if !matches!(subject.node, Node::Name("loop")) || !matches!(name, "depth" | "depth0") {
            return false;
        }
        let first = if name == "depth" { 1 } else { 0 };
        self.out.push_str(&format!("({depth} + {first})"));
        true
    }

    pub fn attribute(&mut self, subject: &Expr<'s>, name: &str) -> Result<()> {
        if self.depth(subject, name) {
            return Ok(());
        }
        if self.is_carried_name(subject, name) {
            return self.carried_text(subject, carriers::ATTRIBUTE, name);
        }
        self.expression(subject, level::PRIMARY)?;
        self.write(".");
        self.write(name);
        Ok(())
    }

    /// In front of `carrier(`.
    pub fn carrier_subject(&mut self, subject: &Expr<'s>) -> Result<()> {
        self.piped(subject)?;
        self.write("|");
        Ok(())
    }

    /// `subject|carrier("text")`
    pub fn carried_text(&mut self, subject: &Expr<'s>, carrier: &str, text: &str) -> Result<()> {
        self.carrier_subject(subject)?;
        self.write(&format!("{carrier}({})", quoted(text)));
        Ok(())
    }

    pub fn item(&mut self, subject: &Expr<'s>, key: &Expr<'s>) -> Result<()> {
        if let Node::Slice(bounds) = &key.node {
            self.carrier_subject(subject)?;
            self.write(carriers::SLICE);
            self.write("(");
            self.nested(1, key.at, |emitter| emitter.slice(bounds))?;
            self.write(if self.computed { ", true)" } else { ")" });
            return Ok(());
        }
        if matches!(&key.node, Node::Text(name) if self.depth(subject, name)) {
            return Ok(());
        }
        if !self.is_plain_key(key) {
            return self.carried(subject, carriers::ITEM, &[key]);
        }
        self.expression(subject, level::PRIMARY)?;
        if let (Dialect::Sandbox, Some(name)) = (self.dialect, word(key)) {
            // One instruction of the crate instead of two, and the same answer.
            self.write(".");
            self.write(name);
            return Ok(());
        }
        self.brackets(key)
    }

    fn brackets(&mut self, key: &Expr<'s>) -> Result<()> {
        self.write("[");
        self.nested(1, key.at, |emitter| emitter.expression(key, level::ANY))?;
        self.write("]");
        Ok(())
    }

    pub fn slice(&mut self, bounds: &[Option<Box<Expr<'s>>>]) -> Result<()> {
        for (at, bound) in bounds.iter().enumerate() {
            if at > 0 {
                self.write(", ");
            }
            match bound {
                Some(bound) => self.expression(bound, level::ANY)?,
                None => self.write("none"),
            }
        }
        Ok(())
    }

    pub fn call(&mut self, target: &Expr<'s>, arguments: &Arguments<'s>, at: usize) -> Result<()> {
        if matches!(target.node, Node::Name("loop")) && !self.plain_loop {
            if let ([children], true) =
                (arguments.positional.as_slice(), arguments.all().count() == 1)
            {
                self.sync(at);
                let Some(Some(Loop { function, depth })) = self.loops.last().cloned() else {
                    self.name("loop");
                    self.write("(");
                    self.nested(1, at, |emitter| emitter.iterable(children))?;
                    self.write(")");
                    return Ok(());
                };
                self.write(&format!("{function}("));
                self.nested(1, at, |emitter| emitter.iterable(children))?;
                self.write(&format!(", {depth} + 1)"));
                return Ok(());
            }
        }
        match &target.node {
            Node::Attribute(subject, name) if !name.starts_with("__") => {
                self.expression(subject, level::PRIMARY)?;
                self.sync(at);
                self.write(".");
                self.write(name);
            }
            Node::Name(name) if self.defaults.contains_key(name) => {
                self.sync(at);
                self.name(name);
                return self.macro_arguments(name, arguments, at);
            }
            Node::Item(subject, key) if word(key).is_some() && self.is_plain_key(key) => {
                // With a dot it would be the call of a method.
                self.expression(subject, level::PRIMARY)?;
                self.brackets(key)?;
            }
            _ => self.expression(target, level::PRIMARY)?,
        }
        self.arguments(arguments, at)
    }

    pub fn arguments(&mut self, arguments: &Arguments<'s>, at: usize) -> Result<()> {
        self.write("(");
        self.nested(1, at, |emitter| emitter.argument_list(arguments))?;
        self.write(")");
        Ok(())
    }

    fn argument_list(&mut self, arguments: &Arguments<'s>) -> Result<()> {
        let mut first = true;
        for value in &arguments.positional {
            self.argument(&mut first, "", value)?;
        }
        if let Some(rest) = &arguments.rest {
            self.argument(&mut first, "*", rest)?;
        }
        for (name, value) in &arguments.named {
            self.named_argument(&mut first, name, value)?;
        }
        if let Some(rest) = &arguments.named_rest {
            self.argument(&mut first, "**", rest)?;
        }
        Ok(())
    }

    /// `name=value`, unless the crate reads the name as a value.
    pub fn named_argument(&mut self, first: &mut bool, name: &str, value: &Expr<'s>) -> Result<()> {
        if !has(OPERANDS, name) {
            return self.argument(first, &format!("{name}="), value);
        }
        self.nested(2, value.at, |emitter| {
            emitter.argument(first, &format!("**{{{}: ", quoted(name)), value)?;
            emitter.write(" }");
            Ok(())
        })
    }

    pub fn argument(&mut self, first: &mut bool, prefix: &str, value: &Expr<'s>) -> Result<()> {
        if !std::mem::take(first) {
            self.write(", ");
        }
        self.write(prefix);
        self.expression(value, level::ANY)
    }

    /// `X|__iterable`, which raises for what cannot be iterated.
    pub fn iterable(&mut self, value: &Expr<'s>) -> Result<()> {
        self.carrier_subject(value)?;
        self.write(carriers::ITERABLE);
        Ok(())
    }

    pub fn filter(
        &mut self,
        subject: Option<&Expr<'s>>,
        name: &str,
        arguments: &Arguments<'s>,
        at: usize,
    ) -> Result<()> {
        let known = has(FILTERS, name);
        if let Some(subject) = subject {
            if !known {
                return self.carried_text(
                    subject,
                    carriers::MISSING,
                    &format!("No filter named '{name}' found."),
                );
            }
            self.carrier_subject(subject)?;
        }
        self.sync(at);
        // In a block an unknown name is the crate's own error, when it is executed.
        self.write(if known { name } else { "__no_filter" });
        if arguments.all().next().is_some() {
            self.arguments(arguments, at)?;
        }
        Ok(())
    }

    pub fn test(
        &mut self,
        subject: &Expr<'s>,
        name: &str,
        arguments: &Arguments<'s>,
        at: usize,
    ) -> Result<()> {
        if !has(TESTS, name) {
            return self.carried_text(
                subject,
                carriers::MISSING,
                &format!("No test named '{name}' found."),
            );
        }
        self.expression(subject, level::PRIMARY)?;
        self.sync(at);
        self.write(" is ");
        self.write(name);
        // Without them the crate would read a following word as an argument.
        self.arguments(arguments, at)
    }
}

/// A key that can be written as a name.
fn word<'a>(key: &'a Expr<'_>) -> Option<&'a str> {
    let Node::Text(text) = &key.node else { return None };
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_word = begins && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_word.then_some(&**text)
}

/// A key that can name no method, and carries no marks.
fn is_plain_key(key: &Expr<'_>) -> bool {
    match &key.node {
        Node::Text(text) => !has(ATTRIBUTES, text) && !text.starts_with("__"),
        Node::Integer(_) => true,
        Node::Unary(Unary::Negative, operand) => matches!(operand.node, Node::Integer(_)),
        Node::Attribute(subject, name) => {
            matches!(subject.node, Node::Name("loop")) && matches!(*name, "index" | "index0")
        }
        _ => false,
    }
}
