//! What jinja2 refuses after it has parsed, and what cannot be rendered exactly.

use std::collections::BTreeSet;

use super::ast::{Binary, Body, Expr, For, Node, Signature, Statement, Statements};
use super::defaults::{ambiguous, defaults, may_be_undefined, Defaults};
use super::names::{has, ATTRIBUTES, FILTERS, GLOBALS, TESTS};
use super::operators::{is_computed, is_folded, is_literal_number};
use super::source::Source;
use super::walk::{any_expression, any_statement, hands_on, hands_on_name, reads, stores};
use super::write::{is_changed, watches};
use crate::error::{Error, Result};

/// Python's own bound on loops inside each other.
const LOOPS: usize = 20;

pub struct Check<'a, 's> {
    source: &'a Source<'s>,
    defaults: Defaults<'s>,
    ambiguous: BTreeSet<&'s str>,
    /// Whether a macro with defaults may be what another name stands for.
    macros_have_other_names: bool,
    /// Names that are handed on as values, where a namespace takes such a value.
    kept: BTreeSet<&'s str>,
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
    /// In a block whose names jinja2 empties at its end.
    emptied: bool,
}

impl Place {
    /// A new scope, in which a missing name is an error again.
    fn inner(self) -> Self {
        Self { soft: false, emptied: true, ..self }
    }

    /// The body of a function: no loop around it can be left from inside.
    fn function(self) -> Self {
        Self { in_loop: false, loops: 0, emptied: false, ..self.inner() }
    }
}

/// Errors of jinja2's compiler, else the constructs that cannot be rendered exactly.
pub fn check<'s>(source: &Source<'s>, body: &Body<'s>) -> Result<Vec<Error>> {
    let defaults = defaults(body);
    let ambiguous = ambiguous(body);
    let has_defaults = |name: &str| defaults.get(name).is_some_and(|places| !places.is_empty());
    let macros_have_other_names = defaults.keys().any(|name| has_defaults(name))
        && (!ambiguous.is_empty() || hands_on(body, &mut |name| has_defaults(name)));
    let unsupported = Vec::new();
    let kept = kept(body);
    let mut check =
        Check { source, defaults, ambiguous, macros_have_other_names, kept, unsupported };
    let place = Place { soft: false, in_loop: false, loops: 0, folds: Folds::No, emptied: false };
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
            Statements::SetBlock { target, filter, body } => {
                self.unsafe_attribute(target);
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
                self.outlives(name, at, place);
                self.function(signature, body, at, place.function())
            }
            Statements::CallBlock { signature, call, body } => {
                let unpacks = matches!(&call.node, Node::Call(_, arguments) if arguments.named_rest.is_some());
                if unpacks && (reads(body, "varargs") || reads(body, "kwargs")) {
                    self.refuse(
                        "unpacked arguments of a call block with `varargs` or `kwargs`",
                        at,
                    );
                }
                self.outlives("caller", at, place);
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
            if test.mentions("loop") {
                self.refuse("`loop` in the condition of a loop", test.at);
            }
        }
        if let Some(test) =
            each.test.as_ref().filter(|test| is_changed(test, &each.body) && watches(each))
        {
            self.refuse("a loop's condition that its body changes", test.at);
        }
        let several = each.test.is_some() && matches!(each.target.node, Node::Tuple(_));
        if several && neighbours(&each.body) {
            self.refuse(
                "a neighbour of the items of a loop that unpacks and selects",
                statement.at,
            );
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
            if default.mentions("caller") {
                self.refuse("`caller` in the default of a parameter", default.at);
            }
            self.expression(default, place)?;
        }
        self.body(body, place)
    }

    /// When a block ends, jinja2 takes its names away from macros that were made in it, too.
    fn outlives(&mut self, name: &str, at: usize, place: Place) {
        if place.emptied && self.kept.contains(name) {
            self.refuse("a macro of a block, kept in a namespace", at);
        }
    }

    fn target(&mut self, target: &Expr<'s>) {
        match &target.node {
            Node::Name(name) => self.named_well(name, target.at),
            Node::Tuple(items) => items.iter().for_each(|item| {
                self.unsafe_attribute(item);
                self.target(item);
            }),
            Node::NamespaceAttribute("loop", _) => {
                self.refuse("an attribute of `loop` as a target", target.at)
            }
            Node::NamespaceAttribute(name, _) => self.named_well(name, target.at),
            _ => {}
        }
    }

    /// The error of a plain `set` comes when it is executed; here it could not come in its turn.
    fn unsafe_attribute(&mut self, target: &Expr<'s>) {
        if matches!(target.node, Node::NamespaceAttribute(_, name) if name.starts_with('_')) {
            self.refuse("an attribute with an underscore of a namespace", target.at);
        }
    }

    fn named_well(&mut self, name: &str, at: usize) {
        if name.starts_with("__") {
            self.refuse("a name that begins with two underscores", at);
        } else if is_word(name) {
            self.refuse(format!("a variable named `{name}`"), at);
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
            Node::Call(target, arguments)
                if self.macros_have_other_names && self.may_be_such_a_macro(target) =>
            {
                let unpacks = arguments.rest.is_some() || arguments.named_rest.is_some();
                if unpacks || arguments.all().any(may_be_undefined) {
                    self.refuse(
                        "an argument that may be undefined, of a macro with defaults under \
                         another name",
                        expression.at,
                    );
                }
            }
            Node::Call(target, arguments)
                if arguments.rest.is_some() || arguments.named_rest.is_some() =>
            {
                let has_defaults =
                    |name: &str| self.defaults.get(name).is_some_and(|names| !names.is_empty());
                if matches!(target.node, Node::Name(name) if has_defaults(name)) {
                    self.refuse("unpacked arguments of a macro with defaults", expression.at);
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

    fn may_be_such_a_macro(&self, target: &Expr<'s>) -> bool {
        match &target.node {
            Node::Name(name) if self.ambiguous.contains(name) => true,
            Node::Name(name) => {
                !self.defaults.contains_key(name)
                    && !matches!(*name, "loop" | "caller")
                    && !has(GLOBALS, name)
            }
            Node::Attribute(_, name) => {
                !has(ATTRIBUTES, name) && !matches!(*name, "changed" | "cycle" | "next")
            }
            _ => true,
        }
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

/// The names that are handed on as values, in a template in which a namespace is given one of them.
fn kept<'s>(body: &Body<'s>) -> BTreeSet<&'s str> {
    let keeps = any_statement(body, &mut |statement| match &statement.kind {
        Statements::Set { target, value } => {
            matches!(target.node, Node::NamespaceAttribute(..))
                && hands_on_name(value, &mut |_| true)
        }
        _ => false,
    });
    let mut found = BTreeSet::new();
    if keeps {
        hands_on(body, &mut |name| {
            found.insert(name);
            false
        });
    }
    found
}

/// Words that the crate takes for operators, and `self`, which it keeps.
fn is_word(name: &str) -> bool {
    matches!(name, "not" | "and" | "or" | "in" | "is" | "if" | "else" | "self")
}

/// A variable named `loop`, in a template that has loops.
pub fn loop_variable(source: &Source<'_>, body: &Body<'_>) -> Option<Error> {
    let mut found = None;
    any_statement(body, &mut |statement| {
        if stores(statement, "loop") {
            found = Some(source.unsupported("a variable named `loop` beside loops", statement.at));
        }
        found.is_some()
    });
    found
}

/// jinja2 makes tuples of what a loop with a condition has unpacked.
fn neighbours(body: &Body<'_>) -> bool {
    any_expression(body, &mut |part| match &part.node {
        Node::Attribute(_, name) => matches!(*name, "previtem" | "nextitem"),
        _ => false,
    })
}

/// Filters that neither remember nor use up what they are given.
const REPEATABLE: [&str; 10] =
    ["abs", "count", "d", "default", "float", "int", "length", "lower", "trim", "upper"];

/// Whether it can be evaluated twice without a difference.
pub fn is_repeatable(expression: &Expr<'_>) -> bool {
    !expression.any(&mut |part| match &part.node {
        Node::Call(target, _) => !is_plain_method(target),
        Node::Filter(_, name, _) => !REPEATABLE.contains(&name.as_ref()),
        _ => false,
    })
}

/// Methods of plain values change nothing.
pub fn is_plain_method(target: &Expr<'_>) -> bool {
    matches!(target.node, Node::Attribute(_, name) if !matches!(name, "next" | "changed" | "cycle"))
}
