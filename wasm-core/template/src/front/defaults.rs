//! Parameters with defaults: jinja2 tells an argument that is undefined from one that was left out,
//! and lets a default read the parameters before it. The crate does neither.

use std::collections::{BTreeMap, BTreeSet};

use super::ast::{Arguments, Body, Expr, Node, Signature, Statements};
use super::emit::{level, Emitter};
use super::walk::any_statement;
use crate::error::Result;

/// Stands for an argument that was given, and is undefined: a code point that no text has.
const GIVEN_UNDEFINED: &str = "\"\u{10fffe}undefined\"";

/// The parameters with defaults, their places and names, of each macro of a template.
pub type Defaults<'s> = BTreeMap<&'s str, Vec<(usize, &'s str)>>;

pub fn defaults<'s>(template: &Body<'s>) -> Defaults<'s> {
    let mut found: Defaults<'s> = BTreeMap::new();
    any_statement(template, &mut |statement| {
        let (name, signature) = match &statement.kind {
            Statements::Macro { name, signature, .. } => (*name, signature),
            Statements::CallBlock { signature, .. } => ("caller", signature),
            _ => return false,
        };
        found.entry(name).or_default().extend(places(signature));
        false
    });
    found
}

/// Macros' names that stand for different things: for macros with other defaults, or for a variable.
pub fn ambiguous<'s>(template: &Body<'s>) -> BTreeSet<&'s str> {
    let mut found = BTreeSet::new();
    let mut known: Defaults<'s> = BTreeMap::new();
    let mut given: BTreeSet<&'s str> = BTreeSet::new();
    any_statement(template, &mut |statement| {
        for target in statement.targets() {
            target.any(&mut |part| {
                if let Node::Name(name) = part.node {
                    given.insert(name);
                }
                false
            });
        }
        let (name, signature) = match &statement.kind {
            Statements::Macro { name, signature, .. } => (*name, signature),
            Statements::CallBlock { signature, .. } => ("caller", signature),
            _ => return false,
        };
        given.extend(signature.names.iter().map(|(name, _)| *name));
        let places = places(signature);
        if known.get(name).is_some_and(|before| *before != places) {
            found.insert(name);
        }
        known.insert(name, places);
        false
    });
    found.extend(known.keys().filter(|name| given.contains(*name)));
    found
}

/// The parameters with defaults.
fn places<'s>(signature: &Signature<'s>) -> Vec<(usize, &'s str)> {
    let first = signature.names.len().saturating_sub(signature.defaults.len());
    signature.names.iter().enumerate().skip(first).map(|(at, (name, _))| (at, *name)).collect()
}

impl<'s> Emitter<'_, 's> {
    /// Whether an argument of a call of `macro_name` could be taken for one that was left out.
    fn may_seem_absent(
        &self,
        macro_name: &str,
        place: Option<usize>,
        name: Option<&str>,
        value: &Expr<'s>,
    ) -> bool {
        let has_default = self.defaults.get(macro_name).is_some_and(|parameters| {
            parameters.iter().any(|(at, parameter)| Some(*at) == place || Some(*parameter) == name)
        });
        has_default && may_be_undefined(value)
    }

    pub fn macro_arguments(
        &mut self,
        macro_name: &str,
        arguments: &Arguments<'s>,
        at: usize,
    ) -> Result<()> {
        self.write("(");
        self.nested(1, at, |emitter| {
            let mut first = true;
            for (place, value) in arguments.positional.iter().enumerate() {
                let absent = emitter.may_seem_absent(macro_name, Some(place), None, value);
                emitter.macro_argument(&mut first, "", value, absent)?;
            }
            if let Some(rest) = &arguments.rest {
                emitter.argument(&mut first, "*", rest)?;
            }
            for (name, value) in &arguments.named {
                if emitter.may_seem_absent(macro_name, None, Some(name), value) {
                    emitter.macro_argument(&mut first, &format!("{name}="), value, true)?;
                } else {
                    emitter.named_argument(&mut first, name, value)?;
                }
            }
            if let Some(rest) = &arguments.named_rest {
                emitter.argument(&mut first, "**", rest)?;
            }
            Ok(())
        })?;
        self.write(")");
        Ok(())
    }

    fn macro_argument(
        &mut self,
        first: &mut bool,
        prefix: &str,
        value: &Expr<'s>,
        absent: bool,
    ) -> Result<()> {
        if !absent {
            return self.argument(first, prefix, value);
        }
        if !std::mem::take(first) {
            self.write(", ");
        }
        self.write(prefix);
        self.given(value)
    }

    fn given(&mut self, value: &Expr<'s>) -> Result<()> {
        self.expression(value, level::PRIMARY)?;
        self.write("|default(");
        self.write(GIVEN_UNDEFINED);
        self.write(")");
        Ok(())
    }

    /// At the start of a macro: its defaults, in their order.
    pub fn take_defaults(&mut self, signature: &Signature<'s>) -> Result<()> {
        let first = signature.names.len().saturating_sub(signature.defaults.len());
        for ((name, _), default) in signature.names.iter().skip(first).zip(&signature.defaults) {
            self.write("{% if ");
            self.name(name);
            self.write(" is undefined() %}{% set ");
            self.name(name);
            self.write(" = ");
            self.expression(default, level::ANY)?;
            self.write(" %}{% elif ");
            self.name(name);
            self.write(" == ");
            self.write(GIVEN_UNDEFINED);
            self.write(" %}{% set ");
            self.name(name);
            self.write(" = __undefined_argument %}{% endif %}");
        }
        Ok(())
    }
}

pub fn may_be_undefined(value: &Expr<'_>) -> bool {
    !matches!(
        value.node,
        Node::Text(_)
            | Node::Integer(_)
            | Node::Float(_)
            | Node::Bool(_)
            | Node::None
            | Node::List(_)
            | Node::Dict(_)
            | Node::Tuple(_)
            | Node::Concat(_)
            | Node::Compare(..)
            | Node::Unary(..)
            | Node::Test(..)
    )
}
