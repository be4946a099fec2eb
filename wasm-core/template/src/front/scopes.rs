//! Scopes: which names they give, what macros see of them, and how a loop is left from inside.
//!
//! The crate leaves a loop by a jump, which forgets the scopes in between. So a block that has a scope
//! of its own, and that the loop around it is left from, is written as a loop of one pass: that one is
//! left instead, and what follows it leaves the loop around it.

use std::collections::{BTreeMap, BTreeSet};

use super::ast::{Body, Expr, Node, Statement, Statements};
use super::emit::Emitter;
use super::walk::{any_statement, is_left_early};
use crate::error::Result;

/// A recursive loop: a function of its items, and the variable that holds its depth.
#[derive(Debug, Clone)]
pub struct Loop {
    pub function: String,
    pub depth: String,
}

/// The namespace that holds how the block was left.
#[derive(Debug, Clone)]
pub struct Leaving {
    flag: String,
}

/// What jinja2 makes of a name in a scope, by what comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// It is read, or given a value in a branch: before that it is what it is outside.
    Outer,
    /// It is given a value: before that it is undefined, unless a scope around names it.
    Given,
}

/// The names that a scope mentions itself, macros' and blocks' bodies excepted.
#[derive(Debug, Default)]
pub struct Names<'s> {
    first: BTreeMap<&'s str, First>,
    given: BTreeSet<&'s str>,
}

impl<'s> Names<'s> {
    fn of(parameters: &[&'s str], body: &Body<'s>) -> Self {
        let mut names = Self::default();
        for name in parameters {
            names.first.insert(name, First::Outer);
        }
        names.body(body, false);
        names
    }

    fn body(&mut self, body: &Body<'s>, branch: bool) {
        body.iter().for_each(|statement| self.statement(statement, branch));
    }

    fn statement(&mut self, statement: &Statement<'s>, branch: bool) {
        match &statement.kind {
            Statements::For(each) => self.reads(&each.iterable),
            Statements::If { branches, otherwise } => {
                for (test, body) in branches {
                    self.reads(test);
                    self.body(body, true);
                }
                self.body(otherwise, true);
            }
            Statements::Macro { name, .. } => self.gives(name, branch),
            Statements::CallBlock { call, .. } => self.reads(call),
            Statements::Set { target, value } => {
                self.reads(value);
                self.targets(target, branch);
            }
            Statements::SetBlock { target, .. } => self.targets(target, branch),
            _ => statement.each_expression(&mut |value| self.reads(value)),
        }
    }

    fn reads(&mut self, value: &Expr<'s>) {
        value.any(&mut |part| {
            if let Node::Name(name) = part.node {
                self.first.entry(name).or_insert(First::Outer);
            }
            false
        });
    }

    fn targets(&mut self, target: &Expr<'s>, branch: bool) {
        target.any(&mut |part| {
            match part.node {
                Node::Name(name) => self.gives(name, branch),
                Node::NamespaceAttribute(name, _) => {
                    self.first.entry(name).or_insert(First::Outer);
                }
                _ => {}
            }
            false
        });
    }

    fn gives(&mut self, name: &'s str, branch: bool) {
        self.first.entry(name).or_insert(if branch { First::Outer } else { First::Given });
        self.given.insert(name);
    }
}

/// The names of a target.
pub fn names<'s>(target: &Expr<'s>) -> Vec<&'s str> {
    let mut found = Vec::new();
    target.any(&mut |part| {
        if let Node::Name(name) = part.node {
            found.push(name);
        }
        false
    });
    found
}

/// Every name that the statement and what is inside of it reads.
fn reads_of<'s>(statement: &Statement<'s>, found: &mut BTreeSet<&'s str>) {
    statement.each_expression(&mut |value| {
        value.any(&mut |part| {
            if let Node::Name(name) = part.node {
                found.insert(name);
            }
            false
        });
    });
    for target in statement.targets() {
        target.any(&mut |part| {
            if let Node::NamespaceAttribute(name, _) = part.node {
                found.insert(name);
            }
            false
        });
    }
    for inner in statement.bodies() {
        inner.iter().for_each(|inner| reads_of(inner, found));
    }
}

/// The names that inner scopes read before `body` gives them a value.
fn read_inside_before_given<'s>(body: &Body<'s>) -> BTreeSet<&'s str> {
    let (mut given, mut found) = (BTreeSet::new(), BTreeSet::new());
    for statement in body.iter() {
        let mut read = BTreeSet::new();
        for inner in statement.bodies() {
            inner.iter().for_each(|inner| reads_of(inner, &mut read));
        }
        found.extend(read.difference(&given).copied());
        let mut names = Names::default();
        names.statement(statement, false);
        given.extend(names.given);
    }
    found
}

/// The names that macros, call blocks and recursive loops in `body` read, and may see from it.
fn seen_by_functions<'s>(body: &Body<'s>) -> BTreeSet<&'s str> {
    let mut found = BTreeSet::new();
    any_statement(body, &mut |statement| {
        let is_function = match &statement.kind {
            Statements::Macro { .. } | Statements::CallBlock { .. } => true,
            Statements::For(each) => each.recursive,
            _ => false,
        };
        if is_function {
            reads_of(statement, &mut found);
        }
        false
    });
    found
}

impl<'s> Emitter<'_, 's> {
    /// A scope. What macros see of it is made anew each time it begins: the crate would keep for them
    /// what the pass before has left.
    pub fn frame(&mut self, parameters: &[&'s str], body: &Body<'s>) -> Result<()> {
        let seen = seen_by_functions(body);
        let early = read_inside_before_given(body);
        let names = Names::of(parameters, body);
        for name in &names.given {
            if parameters.contains(name) || *name == "loop" {
                continue;
            }
            let outside = self.scopes.iter().any(|scope| scope.first.contains_key(name));
            let given = names.first.get(name) == Some(&First::Given);
            let undefined = given && !outside;
            if !(seen.contains(name) || undefined && early.contains(name)) {
                continue;
            }
            self.write("{% set ");
            self.name(name);
            self.write(" = ");
            self.name(if undefined { "__undefined_argument" } else { name });
            self.write(" %}");
        }
        self.scopes.push(names);
        self.body(body)?;
        self.scopes.pop();
        Ok(())
    }

    /// At the start of a function. The crate hands it the names that it reads before it gives them a
    /// value, as the source has them: not a namespace that it assigns to only, nor a name that is
    /// given a value in a branch, nor the `caller` that a function inside of it reads.
    pub fn keep(&mut self, parameters: &[&'s str], body: &Body<'s>) {
        let mut found = BTreeSet::new();
        if seen_by_functions(body).contains("caller") {
            found.insert("caller");
        }
        any_statement(body, &mut |statement| {
            let sets =
                matches!(statement.kind, Statements::Set { .. } | Statements::SetBlock { .. });
            if let Statements::Macro { name, .. } = statement.kind {
                found.insert(name);
            }
            for target in statement.targets() {
                target.any(&mut |part| {
                    match part.node {
                        Node::NamespaceAttribute(name, _) => found.insert(name),
                        Node::Name(name) => sets && found.insert(name),
                        _ => false,
                    };
                    false
                });
            }
            false
        });
        for name in found {
            if parameters.contains(&name) || name == "loop" {
                continue;
            }
            self.write("{% if false and ");
            self.name(name);
            self.write(" %}{% endif %}");
        }
    }

    /// In front of a block with a scope of its own, from which the loop around it may be left.
    pub fn leave_begins(&mut self, body: &Body<'s>) -> Option<Leaving> {
        if !is_left_early(body) {
            return None;
        }
        let flag = self.temporary();
        self.write(&format!("{{% set {flag} = namespace(left=0) %}}"));
        Some(Leaving { flag })
    }

    pub fn leavable(&mut self, leave: &Option<Leaving>, body: &Body<'s>) -> Result<()> {
        let Some(leave) = leave else { return self.frame(&[], body) };
        let name = self.temporary();
        self.write(&format!("{{% for {name} in ["));
        self.name("loop");
        self.write("] %}");
        let before = (self.leaving.replace(leave.clone()), self.loop_name.replace(name));
        self.nested(1, 0, |emitter| emitter.frame(&[], body))?;
        (self.leaving, self.loop_name) = before;
        self.write("{% endfor %}");
        Ok(())
    }

    pub fn leave_ends(&mut self, leave: Option<Leaving>) {
        let Some(Leaving { flag }) = leave else { return };
        self.write(&format!("{{% if {flag}.left == 1 %}}"));
        self.leave("break", 0);
        self.write(&format!("{{% elif {flag}.left == 2 %}}"));
        self.leave("continue", 0);
        self.write("{% endif %}");
    }

    /// `break` or `continue`
    pub fn leave(&mut self, word: &str, at: usize) {
        let mut word = word;
        if let Some(Leaving { flag }) = &self.leaving {
            let left = if word == "break" { 1 } else { 2 };
            let left = format!("{{% set {flag}.left = {left} %}}");
            self.write(&left);
            word = "break";
        }
        self.write("{% ");
        self.sync(at);
        self.write(word);
        self.write(" %}");
    }
}
