//! The Python package `minijinja`: carriers and methods are filters there, since it has no callback
//! for methods, and undefined operands are named, since Python would see `none` in their place.

use super::ast::{Arguments, Body, Expr, Node, Statements};
use super::emit::{level, Emitter};
use super::literal::quoted;
use super::source::Source;
use super::walk::{any_expression, any_statement};
use crate::error::{Error, Result};

/// Stands for an undefined operand.
pub const UNDEFINED: &str = "|default(__undefined)";
const METHOD: &str = "__method";
/// `default`, for whom `UNDEFINED` is undefined.
pub const DEFAULT: &str = "__default";
const FLOAT: &str = "__float";

impl<'s> Emitter<'_, 's> {
    /// A value that Python is to see, in front of `|` or `is`.
    pub fn package_operand(&mut self, value: &Expr<'s>) -> Result<()> {
        let least =
            if matches!(value.node, Node::Filter(..)) { level::FILTER } else { level::PRIMARY };
        self.expression(value, least)?;
        if !is_literal(value) {
            self.write(UNDEFINED);
        }
        Ok(())
    }

    pub fn package_carried(
        &mut self,
        subject: &Expr<'s>,
        carrier: &str,
        operands: &[&Expr<'s>],
    ) -> Result<()> {
        self.package_operand(subject)?;
        self.write("|");
        self.write(carrier);
        self.write("(");
        self.nested(1, subject.at, |emitter| {
            for (at, operand) in operands.iter().enumerate() {
                if at > 0 {
                    emitter.write(", ");
                }
                emitter.package_operand(operand)?;
            }
            Ok(())
        })?;
        self.write(")");
        Ok(())
    }

    /// Whether `subject.name(...)` is an object of the engine's own, which has its methods.
    pub fn is_engines_own(&self, subject: &Expr<'s>) -> bool {
        match subject.node {
            Node::Name(name) => {
                matches!(name, "loop" | "self" | "caller") || self.cycles.contains(&name)
            }
            _ => false,
        }
    }

    pub fn package_method(
        &mut self,
        subject: &Expr<'s>,
        name: &str,
        arguments: &Arguments<'s>,
        at: usize,
    ) -> Result<()> {
        self.package_operand(subject)?;
        self.sync(at);
        self.write("|");
        self.write(METHOD);
        self.write("(");
        self.write(&quoted(name));
        self.nested(1, at, |emitter| emitter.argument_list(arguments, false))?;
        self.write(")");
        Ok(())
    }

    pub fn package_float(&mut self, value: f64) {
        self.write(&format!("{FLOAT}(\"{value:?}\")"));
    }
}

fn is_literal(value: &Expr<'_>) -> bool {
    matches!(
        value.node,
        Node::Text(_)
            | Node::Integer(_)
            | Node::Float(_)
            | Node::Bool(_)
            | Node::None
            | Node::List(_)
            | Node::Dict(_)
            | Node::Tuple(_)
            | Node::Slice(_)
    )
}

/// Variables that hold a cycler or a joiner.
pub fn cycles<'s>(template: &Body<'s>) -> Vec<&'s str> {
    let mut names = Vec::new();
    any_statement(template, &mut |statement| {
        if let Statements::Set { target, value } = &statement.kind {
            if let (Node::Name(name), Node::Call(function, _)) = (&target.node, &value.node) {
                if matches!(function.node, Node::Name("cycler" | "joiner")) {
                    names.push(*name);
                }
            }
        }
        false
    });
    names
}

/// `1`, `1.0` and `True` are one key of a dictionary in Python, and lists are none.
pub fn keys<'s>(source: &Source<'s>, template: &Body<'s>) -> Vec<Error> {
    let mut refused = Vec::new();
    any_expression(template, &mut |part| {
        if let Node::Dict(items) = &part.node {
            refused.extend(unequal(source, items));
        }
        false
    });
    refused
}

fn unequal(source: &Source<'_>, items: &[(Expr<'_>, Expr<'_>)]) -> Option<Error> {
    let number = |key: &Expr<'_>| match key.node {
        Node::Integer(value @ (0 | 1)) => Some((value == 1, 0)),
        Node::Bool(value) => Some((value, 1)),
        Node::Float(value) => {
            Some((value == 1.0, if value == 0.0 || value == 1.0 { 2 } else { 3 }))
        }
        _ => None,
    };
    let mut kinds: Vec<(bool, u8)> = Vec::new();
    for (key, _) in items {
        if matches!(key.node, Node::List(_) | Node::Dict(_)) {
            return Some(source.unsupported("a list or a dictionary as a key", key.at));
        }
        let Some((value, kind)) = number(key) else { continue };
        if kinds.iter().any(|&(other, of)| (other == value && of != kind) || of == 3 || kind == 3) {
            return Some(source.unsupported("keys that are equal but not of one type", key.at));
        }
        kinds.push((value, kind));
    }
    None
}
