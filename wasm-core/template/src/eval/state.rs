//! One render as it runs: its slots, its output, its bounds.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use super::code::{Frame, Place, Program, Slot};
use crate::semantics::call::{self, split, Call};
use crate::semantics::functions::Function;
use crate::semantics::globals::Namespace;
use crate::semantics::session::Session;
use crate::semantics::{errors, filters, globals, tests};
use crate::value::{Error, Value};
use crate::{context, error};

/// Functions that call each other, so deep.
const RECURSION: usize = 125;

/// The slots of one call of a function.
#[derive(Debug)]
pub struct Scope {
    slots: RefCell<Vec<Value>>,
    parent: Option<Rc<Scope>>,
}

impl Scope {
    pub fn new(slots: usize, parent: Option<Rc<Self>>) -> Rc<Self> {
        Rc::new(Self { slots: RefCell::new(vec![Value::UNDEFINED; slots]), parent })
    }

    pub fn set(&self, slot: Slot, value: Value) {
        let before = match self.slots.borrow_mut().get_mut(slot) {
            Some(place) => std::mem::replace(place, value),
            None => return,
        };
        drop(before);
    }

    pub fn get(&self, place: Place) -> Value {
        let mut scope = self;
        for _ in 0..place.up {
            match &scope.parent {
                Some(parent) => scope = parent,
                None => return Value::UNDEFINED,
            }
        }
        scope.slots.borrow().get(place.slot).cloned().unwrap_or_default()
    }
}

pub struct State {
    pub session: Rc<Session>,
    pub(super) scope: Rc<Scope>,
    /// What a filtered block has written.
    pub(super) captured: Value,
    variables: Value,
    names: Rc<[Rc<str>]>,
    /// What names were found to be; variables never change.
    resolved: Vec<Option<Value>>,
    out: String,
    fuel: u64,
    depth: usize,
    /// Scopes that functions kept hold of: emptied at the end, since they may hold the functions.
    kept: Vec<Rc<Scope>>,
    namespaces: Vec<Weak<Namespace>>,
}

impl State {
    #[must_use]
    pub fn new(session: Session, variables: Value, program: &Program, room: usize) -> Self {
        Self {
            scope: Scope::new(program.slots, None),
            captured: Value::UNDEFINED,
            variables,
            names: Rc::clone(&program.names),
            resolved: vec![None; program.names.len()],
            out: String::with_capacity(room),
            fuel: session.limits.fuel,
            depth: 0,
            kept: Vec::new(),
            namespaces: Vec::new(),
            session: Rc::new(session),
        }
    }

    /// The text that `program` writes.
    pub fn render(mut self, program: &Program) -> error::Result<String> {
        self.enter(&program.frame);
        let done = self.body(&program.body);
        for scope in std::mem::take(&mut self.kept) {
            let values = std::mem::take(&mut *scope.slots.borrow_mut());
            drop(values);
        }
        for namespace in std::mem::take(&mut self.namespaces) {
            if let Some(namespace) = namespace.upgrade() {
                namespace.empty();
            }
        }
        done.map_err(Error::into_inner)?;
        Ok(self.out)
    }

    pub(super) fn burn(&mut self) -> Result<(), Error> {
        match self.fuel.checked_sub(1) {
            Some(left) => {
                self.fuel = left;
                Ok(())
            }
            None => Err(errors::limit_error(
                "fuel",
                format!("the template ran for more than {} instructions", self.session.limits.fuel),
            )),
        }
    }

    pub(super) fn get(&self, place: Place) -> Result<Value, Error> {
        let value = self.scope.get(place);
        if value.is_gone() {
            let feature = "a macro of a block that reads its names behind it";
            return Err(errors::unsupported(
                feature,
                format!("{feature} cannot be rendered exactly"),
            ));
        }
        Ok(value)
    }

    pub(super) fn enter(&mut self, frame: &Frame) {
        for (slot, name) in &frame.resolved {
            let value = self.resolve(*name);
            self.scope.set(*slot, value);
        }
        for (slot, place) in &frame.aliases {
            self.scope.set(*slot, self.scope.get(*place));
        }
        for slot in &frame.undefined {
            self.scope.set(*slot, Value::UNDEFINED);
        }
    }

    pub(super) fn leave(&mut self, frame: &Frame) {
        for slot in &frame.left {
            self.scope.set(*slot, Value::UNDEFINED);
        }
        for slot in &frame.parameters {
            self.scope.set(*slot, Value::GONE);
        }
    }

    fn resolve(&mut self, at: usize) -> Value {
        if let Some(Some(known)) = self.resolved.get(at) {
            return known.clone();
        }
        let Some(name) = self.names.get(at) else { return Value::UNDEFINED };
        let variables = self.variables.downcast_object_ref::<context::Dict>();
        let found = variables.and_then(|variables| variables.find(name)).cloned();
        let found = found.or_else(|| globals::TABLE.find(name).map(Function::value));
        let found = found.unwrap_or_default();
        if let Some(slot) = self.resolved.get_mut(at) {
            *slot = Some(found.clone());
        }
        found
    }

    /// A call of a function with slots of its own.
    pub(super) fn call<T>(
        &mut self,
        scope: Rc<Scope>,
        work: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.depth >= RECURSION {
            return Err(errors::limit_error(
                "recursion",
                "macros or loops call themselves too often",
            ));
        }
        self.depth += 1;
        let before = std::mem::replace(&mut self.scope, scope);
        let done = work(self);
        self.scope = before;
        self.depth -= 1;
        done
    }

    /// The scope that a function is made in.
    pub(super) fn closure(&mut self) -> Rc<Scope> {
        if !self.kept.last().is_some_and(|last| Rc::ptr_eq(last, &self.scope)) {
            self.kept.push(Rc::clone(&self.scope));
        }
        Rc::clone(&self.scope)
    }

    /// A namespace of this render.
    pub fn remember(&mut self, namespace: &Rc<Namespace>) {
        self.namespaces.push(Rc::downgrade(namespace));
    }

    /// What `work` writes.
    pub(super) fn capture<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<(T, String), Error> {
        let before = std::mem::take(&mut self.out);
        let done = work(self)?;
        Ok((done, std::mem::replace(&mut self.out, before)))
    }

    pub(super) fn write(&mut self, text: &str) -> Result<(), Error> {
        let cap = self.session.limits.output;
        if text.len() > cap.saturating_sub(self.out.len()) {
            return Err(errors::limit_error(
                "output",
                format!("the output is longer than {cap} bytes"),
            ));
        }
        self.out.push_str(text);
        Ok(())
    }

    /// Prints a value as `{{ value }}` does.
    pub(super) fn print(&mut self, value: &Value) -> Result<(), Error> {
        if let Some(tracing) = self.session.tracing.clone() {
            return self.print_plain(&crate::trace::observer::printed(&tracing, value)?);
        }
        self.print_plain(value)
    }

    fn print_plain(&mut self, value: &Value) -> Result<(), Error> {
        match value.as_str() {
            Some(text) => self.write(text),
            None => self.write(&crate::semantics::repr::text(value)?),
        }
    }

    /// A filter by its name; the first of the values is its subject.
    pub fn apply_filter(&mut self, name: &str, values: &[Value]) -> Result<Value, Error> {
        let Some(entry) = filters::TABLE.find(name) else {
            return Err(Error::new(format!("No filter named '{name}' found.")));
        };
        self.piped(call::Kind::Filter, entry, values)
    }

    pub fn perform_test(&mut self, name: &str, values: &[Value]) -> Result<bool, Error> {
        let Some(entry) = tests::TABLE.find(name) else {
            return Err(Error::new(format!("No test named '{name}' found.")));
        };
        Ok(self.piped(call::Kind::Test, entry, values)?.is_true())
    }

    fn piped(
        &mut self,
        kind: call::Kind,
        entry: super::code::Entry,
        values: &[Value],
    ) -> Result<Value, Error> {
        self.burn()?;
        let (args, kwargs) = split(values);
        let (subject, args) = args.split_first().unwrap_or((&Value::UNDEFINED, &[]));
        call::run(kind, entry, &mut Call { state: self, subject, args, kwargs })
    }
}
