//! Which slot a name is in each scope: jinja2's `idtracking`.

use std::collections::{BTreeMap, BTreeSet};

use super::code::{Frame, Place, Slot};
use crate::front::ast::{Body, Expr, Node, Statement, Statements};

/// A slot, and how deep the function is that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    pub depth: usize,
    pub slot: Slot,
}

#[derive(Debug, Clone)]
enum Load<'s> {
    Parameter,
    Resolve(&'s str),
    Alias(Target),
    Undefined,
}

#[derive(Debug, Clone, Default)]
pub struct Symbols<'s> {
    level: usize,
    /// Conditions of loops have names of their own.
    variant: usize,
    depth: usize,
    refs: BTreeMap<&'s str, Target>,
    loads: BTreeMap<Slot, Load<'s>>,
    stores: BTreeSet<&'s str>,
}

/// The slots of a function, by level, variant and name: scopes beside each other share them.
#[derive(Debug, Default)]
pub struct Slots<'s>(BTreeMap<(usize, usize, &'s str), Slot>);

impl Slots<'_> {
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// The scopes around what is looked at, and the functions.
#[derive(Debug, Default)]
pub struct Scopes<'s> {
    pub frames: Vec<Symbols<'s>>,
    pub functions: Vec<Slots<'s>>,
}

impl<'s> Scopes<'s> {
    pub fn find(&self, name: &str) -> Option<Target> {
        self.frames.iter().rev().find_map(|frame| frame.refs.get(name).copied())
    }

    pub fn depth(&self) -> usize {
        self.functions.len().saturating_sub(1)
    }

    pub fn place(&self, target: Target) -> Place {
        Place { up: self.depth().saturating_sub(target.depth), slot: target.slot }
    }

    /// A new scope, of what `look` visits.
    pub fn analyze(
        &mut self,
        variant: usize,
        look: impl FnOnce(&mut Visitor<'_, 's>),
    ) -> Symbols<'s> {
        let level = self.frames.last().map_or(0, |frame| frame.level + 1);
        let symbols = Symbols { level, variant, depth: self.depth(), ..Symbols::default() };
        let mut visitor = Visitor { scopes: self, symbols };
        look(&mut visitor);
        visitor.symbols
    }

    /// What happens where the innermost scope begins and ends.
    pub fn frame(&self, resolve: &mut dyn FnMut(&'s str) -> usize) -> Frame {
        let mut frame = Frame::default();
        let Some(symbols) = self.frames.last() else { return frame };
        for (slot, load) in &symbols.loads {
            match load {
                Load::Parameter => frame.parameters.push(*slot),
                _ => frame.left.push(*slot),
            }
            match load {
                Load::Parameter => {}
                Load::Resolve(name) => frame.resolved.push((*slot, resolve(name))),
                Load::Alias(target) => frame.aliases.push((*slot, self.place(*target))),
                Load::Undefined => frame.undefined.push(*slot),
            }
        }
        frame
    }
}

/// Finds the names of one scope.
pub struct Visitor<'a, 's> {
    scopes: &'a mut Scopes<'s>,
    symbols: Symbols<'s>,
}

impl<'s> Visitor<'_, 's> {
    fn define(&mut self, name: &'s str, load: Load<'s>) -> Slot {
        let key = (self.symbols.level, self.symbols.variant, name);
        let slot = match self.scopes.functions.last_mut() {
            Some(Slots(slots)) => {
                let next = slots.len();
                *slots.entry(key).or_insert(next)
            }
            None => 0,
        };
        self.symbols.refs.insert(name, Target { depth: self.symbols.depth, slot });
        self.symbols.loads.insert(slot, load);
        slot
    }

    pub fn parameter(&mut self, name: &'s str) -> Slot {
        self.symbols.stores.insert(name);
        self.define(name, Load::Parameter)
    }

    fn store(&mut self, name: &'s str) {
        self.symbols.stores.insert(name);
        if self.symbols.refs.contains_key(name) {
            return;
        }
        let load = self.scopes.find(name).map_or(Load::Undefined, Load::Alias);
        self.define(name, load);
    }

    fn load(&mut self, name: &'s str) {
        if !self.symbols.refs.contains_key(name) && self.scopes.find(name).is_none() {
            self.define(name, Load::Resolve(name));
        }
    }

    pub fn reads(&mut self, value: &Expr<'s>) {
        value.any(&mut |part| {
            if let Node::Name(name) = part.node {
                self.load(name);
            }
            false
        });
    }

    pub fn target(&mut self, target: &Expr<'s>, parameter: bool) {
        match &target.node {
            Node::Name(name) if parameter => drop(self.parameter(name)),
            Node::Name(name) => self.store(name),
            Node::NamespaceAttribute(name, _) => self.load(name),
            Node::Tuple(items) => items.iter().for_each(|item| self.target(item, parameter)),
            _ => {}
        }
    }

    pub fn body(&mut self, body: &Body<'s>) {
        body.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Statement<'s>) {
        match &statement.kind {
            Statements::Output(value) => self.reads(value),
            Statements::For(each) => self.reads(&each.iterable),
            Statements::If { branches, otherwise } => self.branches(branches, otherwise),
            Statements::With { assignments, .. } => {
                assignments.iter().for_each(|(_, value)| self.reads(value));
            }
            Statements::Set { target, value } => {
                self.reads(value);
                self.target(target, false);
            }
            Statements::SetBlock { target, .. } => self.target(target, false),
            Statements::FilterBlock { filter, .. } => self.reads(filter),
            Statements::Macro { name, .. } => self.store(name),
            Statements::CallBlock { call, .. } => self.reads(call),
            _ => {}
        }
    }

    fn branches(&mut self, branches: &[(Expr<'s>, Body<'s>)], otherwise: &Body<'s>) {
        let Some(((test, body), others)) = branches.split_first() else { return };
        self.reads(test);
        let body = self.branch(|visitor| visitor.body(body));
        let others = self.branch(|visitor| {
            for other in others {
                visitor.branches(std::slice::from_ref(other), &Vec::new());
            }
        });
        let otherwise = self.branch(|visitor| visitor.body(otherwise));
        let branches = [body, others, otherwise];
        let given: BTreeSet<&'s str> = branches.iter().flat_map(|of| of.stores.clone()).collect();
        let given: Vec<&'s str> = given.difference(&self.symbols.stores).copied().collect();
        for branch in branches {
            self.symbols.refs.extend(branch.refs);
            self.symbols.loads.extend(branch.loads);
            self.symbols.stores.extend(branch.stores);
        }
        for name in given {
            let Some(target) = self.symbols.refs.get(name) else { continue };
            let load = self.scopes.find(name).map_or(Load::Resolve(name), Load::Alias);
            self.symbols.loads.insert(target.slot, load);
        }
    }

    fn branch(&mut self, look: impl FnOnce(&mut Self)) -> Symbols<'s> {
        let before = self.symbols.clone();
        look(self);
        std::mem::replace(&mut self.symbols, before)
    }
}
