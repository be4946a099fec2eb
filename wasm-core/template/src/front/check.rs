//! What jinja2 refuses after it has parsed, and what cannot be rendered exactly.

use super::ast::{Binary, Body, Expr, For, Node, Signature, Statement, Statements};
use super::names::{has, FILTERS, TESTS};
use super::operators::{is_computed, is_folded, is_literal_number};
use super::source::Source;
use super::walk::{any_statement, reads, stores};
use crate::error::{Error, Result};

/// Python's own bound on loops inside each other.
const LOOPS: usize = 20;

pub struct Check<'a, 's> {
    source: &'a Source<'s>,
    unsupported: Vec<Error>,
}

/// What jinja2 makes, when it compiles, of what an expression is a part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Folds {
    No,
    /// A part of constants, which it tries to compute.
    Part,
    /// A part of what is printed, all of it constants.
    Printed,
}

/// Where a statement stands.
#[derive(Clone, Copy)]
struct Place {
    /// Inside of a condition jinja2 forgives names that do not exist, until they are used.
    soft: bool,
    in_loop: bool,
    loops: usize,
    folds: Folds,
}

impl Place {
    /// A new scope, in which a missing name is an error again.
    fn inner(self) -> Self {
        Self { soft: false, ..self }
    }

    /// The body of a function: no loop around it can be left from inside.
    fn function(self) -> Self {
        Self { in_loop: false, loops: 0, ..self.inner() }
    }
}

/// Errors of jinja2's compiler, else the constructs that cannot be rendered exactly.
pub fn check<'s>(source: &Source<'s>, body: &Body<'s>) -> Result<Vec<Error>> {
    let mut check = Check { source, unsupported: Vec::new() };
    let place = Place { soft: false, in_loop: false, loops: 0, folds: Folds::No };
    check.body(body, place)?;
    Ok(check.unsupported)
}

impl<'s> Check<'_, 's> {
    fn refuse(&mut self, feature: impl Into<String>, at: usize) {
        let error = self.source.unsupported(feature, at);
        self.unsupported.push(error);
    }

    fn body(&mut self, body: &Body<'s>, place: Place) -> Result<()> {
        body.iter().try_for_each(|statement| self.statement(statement, place))
    }

    fn statement(&mut self, statement: &Statement<'s>, place: Place) -> Result<()> {
        let at = statement.at;
        for target in statement.targets() {
            self.target(target);
        }
        match &statement.kind {
            Statements::Data(_) => Ok(()),
            Statements::Output(value) => {
                let folds = if is_computed(value) { Folds::Printed } else { Folds::No };
                self.expression(value, Place { folds, ..place })
            }
            Statements::Set { value, .. } => self.expression(value, place),
            Statements::For(each) => self.for_loop(each, statement, place),
            Statements::If { branches, otherwise } => {
                let place = Place { soft: true, ..place };
                for (test, body) in branches {
                    self.expression(test, place)?;
                    self.body(body, place)?;
                }
                self.body(otherwise, place)
            }
            Statements::With { assignments, body } => {
                for (_, value) in assignments {
                    self.expression(value, place)?;
                }
                self.body(body, place.inner())
            }
            Statements::SetBlock { filter, body, .. } => {
                let place = place.inner();
                filter.iter().try_for_each(|filter| self.expression(filter, place))?;
                self.body(body, place)
            }
            Statements::FilterBlock { filter, body } => {
                let place = place.inner();
                self.expression(filter, place)?;
                self.body(body, place)
            }
            Statements::Macro { name, signature, body } => {
                self.named_well(name, at);
                self.function(signature, body, at, place.function())
            }
            Statements::CallBlock { signature, call, body } => {
                self.function(signature, body, at, place.function())?;
                self.expression(call, place)
            }
            Statements::Generation(body) => {
                for name in ["caller", "varargs", "kwargs"] {
                    if reads(body, name) {
                        self.refuse(format!("`{name}` in a generation block"), at);
                    }
                }
                self.body(body, place.function())
            }
            Statements::Autoescape { enabled, body } => {
                if !matches!(enabled.node, Node::Bool(false)) {
                    self.refuse("the tag `autoescape`", at);
                }
                let place = place.inner();
                self.expression(enabled, place)?;
                self.body(body, place)
            }
            Statements::Break => self.leaves("break", at, place),
            Statements::Continue => self.leaves("continue", at, place),
            Statements::Refused(body) => self.body(body, place.function()),
        }
    }

    fn leaves(&mut self, word: &str, at: usize, place: Place) -> Result<()> {
        if !place.in_loop {
            return Err(self.source.syntax(format!("'{word}' outside loop"), at));
        }
        Ok(())
    }

    fn for_loop(&mut self, each: &For<'s>, statement: &Statement<'s>, place: Place) -> Result<()> {
        self.expression(&each.iterable, place)?;
        if let Some(test) = &each.test {
            self.expression(test, place.inner())?;
        }
        if let Some(test) =
            each.test.as_ref().filter(|test| is_changed(test, &each.body) && watches(each))
        {
            self.refuse("a loop's condition that its body changes", test.at);
        }
        let writes = |inner: &Statement<'s>| stores(inner, "loop");
        if writes(statement)
            || [&each.body, &each.otherwise]
                .into_iter()
                .any(|body| any_statement(body, &mut |inner| writes(inner)))
        {
            let message = "Can't assign to special loop variable in for-loop target";
            return Err(self.source.syntax(message, statement.at));
        }
        let outer = if each.recursive { place.function() } else { place.inner() };
        let loops = outer.loops + 1;
        if loops > LOOPS {
            return Err(self.source.syntax("too many statically nested blocks", statement.at));
        }
        self.body(&each.body, Place { in_loop: true, loops, ..outer })?;
        self.body(&each.otherwise, outer)
    }

    fn function(
        &mut self,
        signature: &Signature<'s>,
        body: &Body<'s>,
        at: usize,
        place: Place,
    ) -> Result<()> {
        for name in ["caller", "varargs", "kwargs"] {
            let given = any_statement(body, &mut |inner| stores(inner, name));
            if given && reads(body, name) {
                self.refuse(format!("a variable named `{name}` in a macro"), at);
            }
        }
        for (name, at) in &signature.names {
            match *name {
                "caller" | "loop" | "self" => {
                    self.refuse(format!("a parameter named `{name}`"), *at)
                }
                _ => self.named_well(name, *at),
            }
        }
        for default in &signature.defaults {
            self.expression(default, place)?;
        }
        self.body(body, place)
    }

    fn target(&mut self, target: &Expr<'s>) {
        match &target.node {
            Node::Name(name) | Node::NamespaceAttribute(name, _) => {
                self.named_well(name, target.at)
            }
            Node::Tuple(items) => items.iter().for_each(|item| self.target(item)),
            _ => {}
        }
    }

    fn named_well(&mut self, name: &str, at: usize) {
        if name == "self" {
            self.refuse("a variable named `self`", at);
        }
    }

    fn expression(&mut self, expression: &Expr<'s>, place: Place) -> Result<()> {
        let mut place = place;
        match &expression.node {
            Node::Name(name) => self.named_well(name, expression.at),
            Node::Conditional { .. } => place.soft = true,
            Node::Filter(_, name, _) => {
                self.named("filter", FILTERS, name, expression.at, place)?
            }
            Node::Test(_, name, _) => self.named("test", TESTS, name, expression.at, place)?,
            Node::Item(subject, key) => {
                if let Node::Slice(bounds) = &key.node {
                    self.slice(subject, bounds, expression.at, place);
                }
            }
            Node::Binary(Binary::Pow, base, power)
                if is_folded(base) && !is_folded(power) && !is_literal_number(base) =>
            {
                self.refuse("the power of a folded constant", base.at);
            }
            Node::Binary(Binary::Or | Binary::And, left, right) if is_folded(left) => {
                // What the left side decides, jinja2 knows when it compiles: the right one is gone.
                self.expression(left, place)?;
                return self.expression(right, Place { soft: true, ..place });
            }
            _ => {}
        }
        if place.folds == Folds::No && is_folded(expression) {
            place.folds = Folds::Part;
        }
        let mut outcome = Ok(());
        expression.each_child(&mut |child| {
            if outcome.is_ok() {
                outcome = self.expression(child, place);
            }
        });
        outcome
    }

    fn named(&self, kind: &str, known: &[&str], name: &str, at: usize, place: Place) -> Result<()> {
        if has(known, name) || place.soft {
            return Ok(());
        }
        Err(self.source.syntax(format!("No {kind} named '{name}'."), at))
    }

    /// jinja2 folds a slice of constants that cannot be into an undefined value, or not, as the
    /// constants' surroundings allow.
    fn slice(
        &mut self,
        subject: &Expr<'s>,
        bounds: &[Option<Box<Expr<'s>>>],
        at: usize,
        place: Place,
    ) {
        let folded = is_folded(subject) && bounds.iter().flatten().all(|bound| is_folded(bound));
        let has_slices = matches!(
            subject.node,
            Node::Text(_) | Node::List(_) | Node::Tuple(_) | Node::Concat(_) | Node::Filter(..)
        );
        let whole = |bound: &Expr<'s>| match &bound.node {
            Node::Integer(_) | Node::Bool(_) | Node::None => true,
            Node::Unary(_, operand) => matches!(operand.node, Node::Integer(_)),
            _ => false,
        };
        if place.folds == Folds::Part
            && folded
            && !(has_slices && bounds.iter().flatten().all(|bound| whole(bound)))
        {
            self.refuse("a slice of constants", at);
        }
    }
}

/// Whether `body` changes what `test` reads, or `test` itself does something.
fn is_changed<'s>(test: &Expr<'s>, body: &Body<'s>) -> bool {
    let acts = test.any(&mut |part| match &part.node {
        Node::Call(target, _) => !is_plain_method(target),
        _ => false,
    });
    acts || any_statement(body, &mut |statement| {
        statement.targets().into_iter().any(|target| {
            target.any(&mut |part| match part.node {
                Node::NamespaceAttribute(name, _) => test.mentions(name),
                _ => false,
            })
        })
    })
}

/// Whether the items that the condition drops can be told by something else than the body.
fn watches(each: &For<'_>) -> bool {
    each.recursive || !each.otherwise.is_empty() || reads(&each.body, "loop")
}

/// Methods of plain values change nothing.
fn is_plain_method(target: &Expr<'_>) -> bool {
    matches!(target.node, Node::Attribute(_, name) if !matches!(name, "next" | "changed" | "cycle"))
}
