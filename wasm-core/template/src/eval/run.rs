//! Statements and expressions, evaluated.

use std::rc::Rc;

use super::code::{
    Arguments, Body, Entry, Expr, For, Frame, Lookup, Node, Place, Routine, Statement, Target,
};
use super::functions::Macro;
use super::loops::{Loop, Recursion};
use super::state::{Scope, State};
use crate::context::{self, list, tuple};
use crate::front::ast::Compare;
use crate::semantics::call::{self, split, Call, Kind};
use crate::semantics::errors::{type_error, value_error};
use crate::semantics::globals::Namespace;
use crate::semantics::iterate::{items, items_then, not_iterable};
use crate::semantics::kinds::{type_name, Type};
use crate::semantics::operators::access;
use crate::semantics::operators::compare::{contains, equal, hashable, order};
use crate::semantics::{methods, operators};
use crate::value::{Error, Kwargs, Value};

/// How a statement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Next,
    Break,
    Continue,
}

impl State {
    pub(super) fn body(&mut self, body: &Body) -> Result<Flow, Error> {
        for statement in body {
            let flow = self.statement(statement)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    #[inline(never)]
    fn statement(&mut self, statement: &Statement) -> Result<Flow, Error> {
        self.burn()?;
        match statement {
            Statement::Text(text) => self.write(text)?,
            Statement::Output(value) => self.output(value)?,
            Statement::Set(target, value) => self.set(target, value)?,
            Statement::If(branches, otherwise) => return self.branch(branches, otherwise),
            Statement::For(iterable, each) => return self.for_statement(iterable, each),
            Statement::With(frame, assignments, body) => {
                return self.with(frame, assignments, body);
            }
            Statement::Capture { frame, body, filter, target } => {
                return self.captured(frame, body, filter.as_ref(), target.as_ref());
            }
            Statement::Macro(slot, routine) => {
                let made = self.routine(routine);
                self.scope.set(*slot, made);
            }
            Statement::CallBlock(routine, call) => {
                self.captured = self.routine(routine);
                self.output(call)?;
            }
            Statement::Generation(routine) => self.generation(routine)?,
            Statement::Break => return Ok(Flow::Break),
            Statement::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::Next)
    }

    #[inline(never)]
    fn set(&mut self, target: &Target, value: &Expr) -> Result<(), Error> {
        self.check(target)?;
        let value = self.expression(value)?;
        self.assign(target, value)
    }

    #[inline(never)]
    fn branch(&mut self, branches: &[(Expr, Body)], otherwise: &Body) -> Result<Flow, Error> {
        for (test, body) in branches {
            if self.expression(test)?.is_true() {
                return self.body(body);
            }
        }
        self.body(otherwise)
    }

    #[inline(never)]
    fn with(
        &mut self,
        frame: &Frame,
        assignments: &[(Target, Expr)],
        body: &Body,
    ) -> Result<Flow, Error> {
        self.enter(frame);
        for (target, value) in assignments {
            let value = self.expression(value)?;
            self.assign(target, value)?;
        }
        let flow = self.body(body)?;
        if flow == Flow::Next {
            self.leave(frame);
        }
        Ok(flow)
    }

    #[inline(never)]
    fn captured(
        &mut self,
        frame: &Frame,
        body: &Body,
        filter: Option<&Expr>,
        target: Option<&Target>,
    ) -> Result<Flow, Error> {
        self.enter(frame);
        let (flow, text) = self.capture(|state| state.body(body))?;
        if flow != Flow::Next {
            return Ok(flow);
        }
        let mut value = Value::from(text);
        if let Some(filter) = filter {
            self.captured = value;
            value = self.expression(filter)?;
        }
        match target {
            Some(target) => {
                self.check(target)?;
                self.assign(target, value)?;
            }
            None => self.print(&value)?,
        }
        self.leave(frame);
        Ok(Flow::Next)
    }

    #[inline(never)]
    fn generation(&mut self, routine: &Rc<Routine>) -> Result<(), Error> {
        let scope = Scope::new(routine.slots, Some(self.closure()));
        self.mark(true)?;
        self.call(scope, |state| {
            state.enter(&routine.frame);
            state.body(&routine.body)
        })?;
        self.mark(false)
    }

    #[inline(never)]
    fn output(&mut self, value: &Expr) -> Result<(), Error> {
        let printed = self.expression(value)?;
        self.print(&printed).map_err(|error| error.on(value.line))
    }

    fn mark(&mut self, opens: bool) -> Result<(), Error> {
        let Some(tracing) = self.session.tracing.clone() else { return Ok(()) };
        self.write(&tracing.marks.generation(opens))
    }

    fn routine(&mut self, routine: &Rc<Routine>) -> Value {
        let closure = self.closure();
        Value::from_object(Macro { routine: Rc::clone(routine), closure })
    }

    /// An attribute is given to namespaces only, which is asked before the value is made.
    #[inline(never)]
    fn check(&mut self, target: &Target) -> Result<(), Error> {
        match target {
            Target::Slot(_) => Ok(()),
            Target::Tuple(targets) => targets.iter().try_for_each(|target| self.check(target)),
            Target::Attribute(place, _, line) => {
                if self.get(*place)?.class() == Type::Namespace {
                    return Ok(());
                }
                Err(Error::new("cannot assign attribute on non-namespace object").on(*line))
            }
        }
    }

    #[inline(never)]
    fn assign(&mut self, target: &Target, value: Value) -> Result<(), Error> {
        match target {
            Target::Slot(slot) => {
                self.scope.set(*slot, value);
                Ok(())
            }
            Target::Tuple(targets) => {
                let values = items(&value)?;
                if values.len() != targets.len() {
                    let wanted = targets.len();
                    return Err(value_error(if values.len() > wanted {
                        format!("too many values to unpack (expected {wanted})")
                    } else {
                        let got = values.len();
                        format!("not enough values to unpack (expected {wanted}, got {got})")
                    }));
                }
                for (target, value) in targets.iter().zip(values) {
                    self.assign(target, value)?;
                }
                Ok(())
            }
            Target::Attribute(place, name, line) => {
                let subject = self.get(*place)?;
                match subject.downcast_object_ref::<Namespace>() {
                    Some(namespace) => namespace.set(name, value),
                    None => Err(type_error("cannot assign attribute on non-namespace object")),
                }
                .map_err(|error| error.on(*line))
            }
        }
    }

    /// What a target holds, as one value.
    fn packed(&self, target: &Target) -> Value {
        match target {
            Target::Slot(slot) => self.scope.get(Place { up: 0, slot: *slot }),
            Target::Tuple(targets) => {
                tuple(targets.iter().map(|target| self.packed(target)).collect())
            }
            Target::Attribute(..) => Value::UNDEFINED,
        }
    }

    #[inline(never)]
    fn for_statement(&mut self, iterable: &Expr, each: &Rc<For>) -> Result<Flow, Error> {
        let value = self.expression(iterable)?;
        let on = |error: Error| error.on(iterable.line);
        if each.recursive.is_none() {
            return self.for_loop(each, &value, None, 0).map_err(on);
        }
        let recursion = Recursion { code: Rc::clone(each), closure: self.closure() };
        let text = self.recurse(&recursion, &value, 0).map_err(on)?;
        self.print(&text)?;
        Ok(Flow::Next)
    }

    /// A recursive loop is a function of its items.
    pub(super) fn recurse(
        &mut self,
        recursion: &Recursion,
        value: &Value,
        depth: usize,
    ) -> Result<Value, Error> {
        let slots = recursion.code.recursive.unwrap_or(0);
        let scope = Scope::new(slots, Some(Rc::clone(&recursion.closure)));
        let code = Rc::clone(&recursion.code);
        let ((), text) = self.call(scope, |state| {
            state.capture(|state| state.for_loop(&code, value, Some(recursion), depth).map(drop))
        })?;
        Ok(Value::from(text))
    }

    #[inline(never)]
    fn for_loop(
        &mut self,
        each: &For,
        value: &Value,
        recursion: Option<&Recursion>,
        depth: usize,
    ) -> Result<Flow, Error> {
        let value = match self.session.tracing.is_some() {
            true => self.operator(operators::ITERABLE, value, &[])?,
            false => value.clone(),
        };
        if value.class() == Type::Loop {
            return Err(not_iterable(&value));
        }
        let (mut taken, mut end) = items_then(&value)?;
        let test = each.test.as_ref();
        if let (Some(test), Some(_)) = (test, each.slot) {
            // `loop` knows its neighbours and its length: they are chosen before.
            self.enter(&test.frame);
            let mut chosen = Vec::with_capacity(taken.len());
            for item in taken {
                self.burn()?;
                let passed =
                    self.assign(&test.target, item).and_then(|()| self.expression(&test.test));
                match passed {
                    Ok(passed) if passed.is_true() => chosen.push(self.packed(&test.target)),
                    Ok(_) => {}
                    Err(error) => {
                        end = Some(error);
                        break;
                    }
                }
            }
            taken = chosen;
        }
        let lazily = test.filter(|_| each.slot.is_none());
        if let Some(test) = lazily {
            self.enter(&test.frame);
        }
        let mut completed = false;
        let state = each.slot.map(|slot| {
            let made = Rc::new(Loop::new(taken.clone(), end.clone(), recursion.cloned(), depth));
            (slot, made)
        });
        let mut ended = true;
        for item in taken {
            self.burn()?;
            let item = match lazily {
                Some(test) => {
                    self.assign(&test.target, item)?;
                    if !self.expression(&test.test)?.is_true() {
                        continue;
                    }
                    self.packed(&test.target)
                }
                None => item,
            };
            if let Some((slot, made)) = &state {
                made.next();
                self.scope.set(*slot, Value::from_rc(Rc::clone(made) as _));
            }
            self.assign(&each.target, item)?;
            self.enter(&each.frame);
            match self.body(&each.body)? {
                Flow::Break => {
                    ended = false;
                    break;
                }
                Flow::Continue => {}
                Flow::Next => completed = true,
            }
        }
        if let Some(error) = end.filter(|_| ended) {
            return Err(error);
        }
        // A function that ends leaves its names to the functions in it.
        if recursion.is_none() || each.otherwise.is_some() {
            self.leave(&each.frame);
        }
        if let (false, Some((frame, body))) = (completed, &each.otherwise) {
            self.enter(frame);
            let flow = self.body(body)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
            self.leave(frame);
        }
        Ok(Flow::Next)
    }

    /// What calls itself through this is a function of its own each time: deep trees need the stack
    /// of one kind of node, not of all.
    #[inline(never)]
    pub(super) fn expression(&mut self, expression: &Expr) -> Result<Value, Error> {
        let done = match &expression.node {
            Node::Constant(value) => return Ok(value.clone()),
            Node::Name(place) => self.get(*place),
            Node::Captured => return Ok(std::mem::take(&mut self.captured)),
            Node::Tuple(items) => self.sequence(items, tuple),
            Node::List(items) => self.sequence(items, list),
            Node::Dict(entries) => self.dict(entries),
            Node::Or(left, right) => self.either(true, left, right),
            Node::And(left, right) => self.either(false, left, right),
            Node::Not(operand) => self.negation(operand),
            Node::Compare(first, others) => self.comparison(first, others),
            Node::Conditional(..) => self.conditional(expression),
            Node::Operator(entry, operands) => self.operation(*entry, operands),
            Node::Attribute(subject, name, lookup) => self.attribute(subject, name, *lookup),
            Node::Item(subject, key) => self.item(subject, key),
            Node::Call(target, arguments) => self.function_call(target, arguments),
            Node::Method(subject, name, arguments) => self.method_call(subject, name, arguments),
            Node::Filter(entry, subject, arguments) => self.filter(*entry, subject, arguments),
            Node::Test(entry, subject, arguments) => self.test(*entry, subject, arguments),
            Node::Missing(subject, message) => self.missing(subject, message),
        };
        match done {
            Ok(value) => Ok(value),
            Err(error) => Err(error.on(expression.line)),
        }
    }

    fn expressions(&mut self, expressions: &[Expr]) -> Result<Vec<Value>, Error> {
        let mut values = Vec::with_capacity(expressions.len());
        for expression in expressions {
            values.push(self.expression(expression)?);
        }
        Ok(values)
    }

    #[inline(never)]
    fn sequence(&mut self, items: &[Expr], make: fn(Vec<Value>) -> Value) -> Result<Value, Error> {
        self.burn()?;
        Ok(make(self.expressions(items)?))
    }

    #[inline(never)]
    fn either(&mut self, wanted: bool, left: &Expr, right: &Expr) -> Result<Value, Error> {
        self.burn()?;
        let value = self.expression(left)?;
        if value.is_true() == wanted {
            return Ok(value);
        }
        self.expression(right)
    }

    #[inline(never)]
    fn negation(&mut self, operand: &Expr) -> Result<Value, Error> {
        self.burn()?;
        Ok(Value::from(!self.expression(operand)?.is_true()))
    }

    #[inline(never)]
    fn conditional(&mut self, mut expression: &Expr) -> Result<Value, Error> {
        while let Node::Conditional(both, otherwise) = &expression.node {
            self.burn()?;
            let [test, value] = &**both;
            if self.expression(test)?.is_true() {
                return self.expression(value);
            }
            let Some(otherwise) = otherwise else { return Ok(Value::UNDEFINED) };
            expression = otherwise;
        }
        self.expression(expression)
    }

    #[inline(never)]
    fn operation(&mut self, entry: Entry, operands: &[Expr]) -> Result<Value, Error> {
        self.burn()?;
        let values = self.expressions(operands)?;
        let (subject, args) = values.split_first().unwrap_or((&Value::UNDEFINED, &[]));
        self.operator(entry, subject, args)
    }

    #[inline(never)]
    fn attribute(&mut self, subject: &Expr, name: &str, lookup: Lookup) -> Result<Value, Error> {
        self.burn()?;
        let subject = self.expression(subject)?;
        valid(match lookup {
            Lookup::Key => subject.get_attr(name)?,
            Lookup::Type => access::attribute(&subject, name)?,
        })
    }

    #[inline(never)]
    fn function_call(&mut self, target: &Expr, arguments: &Arguments) -> Result<Value, Error> {
        self.burn()?;
        let caller = self.caller(arguments);
        let target = self.expression(target)?;
        let args = self.arguments(arguments, caller)?;
        target.call(self, &args)
    }

    #[inline(never)]
    fn method_call(
        &mut self,
        subject: &Expr,
        name: &str,
        arguments: &Arguments,
    ) -> Result<Value, Error> {
        self.burn()?;
        let caller = self.caller(arguments);
        let subject = self.expression(subject)?;
        let args = self.arguments(arguments, caller)?;
        self.call_method(&subject, name, &args)
    }

    #[inline(never)]
    fn filter(
        &mut self,
        entry: Entry,
        subject: &Expr,
        arguments: &Arguments,
    ) -> Result<Value, Error> {
        self.burn()?;
        let subject = self.expression(subject)?;
        self.piped_node(Kind::Filter, entry, &subject, arguments)
    }

    #[inline(never)]
    fn test(
        &mut self,
        entry: Entry,
        subject: &Expr,
        arguments: &Arguments,
    ) -> Result<Value, Error> {
        self.burn()?;
        let subject = self.expression(subject)?;
        let passed = self.piped_node(Kind::Test, entry, &subject, arguments)?;
        Ok(Value::from(passed.is_true()))
    }

    #[inline(never)]
    fn missing(&mut self, subject: &Expr, message: &str) -> Result<Value, Error> {
        self.expression(subject)?;
        Err(Error::new(message))
    }

    #[inline(never)]
    fn piped_node(
        &mut self,
        kind: Kind,
        entry: Entry,
        subject: &Value,
        arguments: &Arguments,
    ) -> Result<Value, Error> {
        let args = self.arguments(arguments, None)?;
        let (args, kwargs) = split(&args);
        call::run(kind, entry, &mut Call { state: self, subject, args, kwargs })
    }

    #[inline(never)]
    fn operator(&mut self, entry: Entry, subject: &Value, args: &[Value]) -> Result<Value, Error> {
        let (args, kwargs) = (args, call::Keywords::default());
        call::run(Kind::Operator, entry, &mut Call { state: self, subject, args, kwargs })
    }

    #[inline(never)]
    fn dict(&mut self, entries: &[(Expr, Expr)]) -> Result<Value, Error> {
        self.burn()?;
        let mut made = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let key = self.expression(key)?;
            let value = self.expression(value)?;
            hashable(&key)?;
            made.push((key, value));
        }
        Ok(context::dict(made))
    }

    #[inline(never)]
    fn comparison(&mut self, first: &Expr, others: &[(Compare, Expr)]) -> Result<Value, Error> {
        self.burn()?;
        let mut left = self.expression(first)?;
        for (comparison, right) in others {
            let right = self.expression(right)?;
            if !self.compared(*comparison, &left, &right)? {
                return Ok(Value::from(false));
            }
            left = right;
        }
        Ok(Value::from(true))
    }

    #[inline(never)]
    fn compared(&mut self, how: Compare, left: &Value, right: &Value) -> Result<bool, Error> {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let not = matches!(how, Compare::NotEqual | Compare::NotIn);
        if self.session.tracing.is_some() {
            let entry = match how {
                Compare::Equal | Compare::NotEqual => operators::EQUAL,
                Compare::Less => operators::LESS,
                Compare::LessOrEqual => operators::LESS_OR_EQUAL,
                Compare::Greater => operators::GREATER,
                Compare::GreaterOrEqual => operators::GREATER_OR_EQUAL,
                Compare::In | Compare::NotIn => operators::IN,
            };
            return Ok(self.operator(entry, left, std::slice::from_ref(right))?.is_true() != not);
        }
        let ordered = |sign: &str, wanted: &[std::cmp::Ordering]| {
            let order = order(left, right, sign)?;
            Ok(order.is_some_and(|order| wanted.contains(&order)))
        };
        match how {
            Compare::Equal | Compare::NotEqual => Ok(equal(left, right)? != not),
            Compare::In | Compare::NotIn => Ok(contains(right, left)? != not),
            Compare::Less => ordered("<", &[Less]),
            Compare::LessOrEqual => ordered("<=", &[Less, Equal]),
            Compare::Greater => ordered(">", &[Greater]),
            Compare::GreaterOrEqual => ordered(">=", &[Greater, Equal]),
        }
    }

    #[inline(never)]
    fn item(&mut self, subject: &Expr, key: &Expr) -> Result<Value, Error> {
        self.burn()?;
        let value = self.expression(subject)?;
        let found = match &key.node {
            Node::Constant(key) if key.as_str().is_some() => access::item(&value, key)?,
            _ => {
                let key = self.expression(key)?;
                match self.session.tracing.is_some() {
                    true => self.operator(operators::ITEM, &value, &[key])?,
                    false => access::item(&value, &key)?,
                }
            }
        };
        valid(found)
    }

    /// The macro of a call block, which its call hands over.
    fn caller(&mut self, arguments: &Arguments) -> Option<Value> {
        arguments.caller.then(|| std::mem::take(&mut self.captured))
    }

    #[inline(never)]
    fn arguments(
        &mut self,
        arguments: &Arguments,
        caller: Option<Value>,
    ) -> Result<Vec<Value>, Error> {
        let mut values = self.expressions(&arguments.positional)?;
        if let Some(rest) = &arguments.rest {
            let rest = self.expression(rest)?;
            values.extend(items(&rest)?);
        }
        let mut named = Vec::with_capacity(arguments.named.len());
        for (name, value) in &arguments.named {
            let value = self.expression(value)?;
            give(&mut named, name, value, arguments.merged)?;
        }
        if let Some(caller) = caller {
            give(&mut named, "caller", caller, arguments.merged)?;
        }
        if let Some(rest) = &arguments.named_rest {
            let rest = self.expression(rest)?;
            if !matches!(rest.class(), Type::Dict) {
                return Err(type_error(format!(
                    "argument after ** must be a mapping, not {}",
                    type_name(&rest)
                )));
            }
            for (name, value) in crate::semantics::iterate::pairs(&rest) {
                let Some(name) = name.as_str() else {
                    return Err(type_error("keywords must be strings"));
                };
                give(&mut named, name, value, arguments.merged)?;
            }
        }
        if !named.is_empty() {
            values.push(Value::from(Kwargs(named)));
        }
        Ok(values)
    }

    /// `subject.name(args)`
    pub fn call_method(
        &mut self,
        subject: &Value,
        name: &str,
        args: &[Value],
    ) -> Result<Value, Error> {
        if let Some(entry) = methods::of(subject).and_then(|table| table.find(name)) {
            let (args, kwargs) = split(args);
            return call::run(
                Kind::Method,
                entry,
                &mut Call { state: self, subject, args, kwargs },
            );
        }
        if let Some(object) = subject.as_object() {
            if let Some(answer) = object.call_method(self, name, args) {
                return answer;
            }
        }
        let found = access::attribute(subject, name)?;
        if found.is_undefined() {
            return Err(methods::refusal(subject, name));
        }
        found.call(self, args)
    }
}

/// An error that waited is one now.
fn valid(value: Value) -> Result<Value, Error> {
    match value.invalid() {
        Some(error) => Err(error.clone()),
        None => Ok(value),
    }
}

/// One more argument by name.
fn give(
    named: &mut Vec<(String, Value)>,
    name: &str,
    value: Value,
    merged: bool,
) -> Result<(), Error> {
    match named.iter_mut().find(|(known, _)| known == name) {
        Some(entry) if merged => entry.1 = value,
        Some(_) => {
            return Err(type_error(format!("got multiple values for keyword argument '{name}'")));
        }
        None => named.push((name.to_owned(), value)),
    }
    Ok(())
}
