//! Statements and expressions, evaluated.

use std::rc::Rc;

use super::code::{
    Arguments, Body, Entry, Expr, For, Lookup, Node, Place, Routine, Statement, Target,
};
use super::functions::Macro;
use super::loops::{Loop, Recursion};
use super::state::{Scope, State};
use crate::context::{self, list, tuple};
use crate::front::ast::Compare;
use crate::semantics::call::{self, split, Call, Kind};
use crate::semantics::compare::{contains, equal, hashable, order};
use crate::semantics::errors::{type_error, value_error};
use crate::semantics::globals::Namespace;
use crate::semantics::iterate::{items, items_then, not_iterable};
use crate::semantics::kinds::{type_name, Type};
use crate::semantics::{access, methods, operators};
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

    fn statement(&mut self, statement: &Statement) -> Result<Flow, Error> {
        self.burn()?;
        match statement {
            Statement::Text(text) => self.write(text)?,
            Statement::Output(value) => self.output(value)?,
            Statement::Set(target, value) => {
                self.check(target)?;
                let value = self.expression(value)?;
                self.assign(target, value)?;
            }
            Statement::If(branches, otherwise) => {
                for (test, body) in branches {
                    if self.expression(test)?.is_true() {
                        return self.body(body);
                    }
                }
                return self.body(otherwise);
            }
            Statement::For(iterable, each) => return self.for_statement(iterable, each),
            Statement::With(frame, assignments, body) => {
                self.enter(frame);
                for (target, value) in assignments {
                    let value = self.expression(value)?;
                    self.assign(target, value)?;
                }
                let flow = self.body(body)?;
                if flow == Flow::Next {
                    self.leave(frame);
                }
                return Ok(flow);
            }
            Statement::Capture { frame, body, filter, target } => {
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
            }
            Statement::Macro(slot, routine) => {
                let made = self.routine(routine);
                self.scope.set(*slot, made);
            }
            Statement::CallBlock(routine, call) => {
                self.captured = self.routine(routine);
                self.output(call)?;
            }
            Statement::Generation(routine) => {
                let scope = Scope::new(routine.slots, Some(self.closure()));
                self.mark(true)?;
                self.call(scope, |state| {
                    state.enter(&routine.frame);
                    state.body(&routine.body)
                })?;
                self.mark(false)?;
            }
            Statement::Break => return Ok(Flow::Break),
            Statement::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::Next)
    }

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

    pub(super) fn expression(&mut self, expression: &Expr) -> Result<Value, Error> {
        match &expression.node {
            Node::Constant(value) => Ok(value.clone()),
            Node::Name(place) => self.get(*place).map_err(|error| error.on(expression.line)),
            node => {
                self.burn()?;
                self.node(node).map_err(|error| error.on(expression.line))
            }
        }
    }

    fn expressions(&mut self, expressions: &[Expr]) -> Result<Vec<Value>, Error> {
        expressions.iter().map(|expression| self.expression(expression)).collect()
    }

    fn node(&mut self, node: &Node) -> Result<Value, Error> {
        match node {
            Node::Constant(value) => Ok(value.clone()),
            Node::Name(place) => self.get(*place),
            Node::Captured => Ok(std::mem::take(&mut self.captured)),
            Node::Tuple(items) => self.expressions(items).map(tuple),
            Node::List(items) => self.expressions(items).map(list),
            Node::Dict(entries) => self.dict(entries),
            Node::Or(left, right) => {
                let value = self.expression(left)?;
                if value.is_true() {
                    return Ok(value);
                }
                self.expression(right)
            }
            Node::And(left, right) => {
                let value = self.expression(left)?;
                if !value.is_true() {
                    return Ok(value);
                }
                self.expression(right)
            }
            Node::Not(operand) => Ok(Value::from(!self.expression(operand)?.is_true())),
            Node::Compare(first, others) => self.comparison(first, others),
            Node::Conditional(both, otherwise) => {
                let [test, value] = &**both;
                if self.expression(test)?.is_true() {
                    return self.expression(value);
                }
                match otherwise {
                    Some(otherwise) => self.expression(otherwise),
                    None => Ok(Value::UNDEFINED),
                }
            }
            Node::Operator(entry, operands) => {
                let values = self.expressions(operands)?;
                let (subject, args) = values.split_first().unwrap_or((&Value::UNDEFINED, &[]));
                self.operator(*entry, subject, args)
            }
            Node::Attribute(subject, name, lookup) => {
                let subject = self.expression(subject)?;
                let found = match lookup {
                    Lookup::Key => subject.get_attr(name)?,
                    Lookup::Type => access::attribute(&subject, name)?,
                };
                found.invalid().map_or(Ok(()), |error| Err(error.clone()))?;
                Ok(found)
            }
            Node::Item(subject, key) => self.item(subject, key),
            Node::Call(target, arguments) => {
                let caller = self.caller(arguments);
                let target = self.expression(target)?;
                let args = self.arguments(arguments, caller)?;
                target.call(self, &args)
            }
            Node::Method(subject, name, arguments) => {
                let caller = self.caller(arguments);
                let subject = self.expression(subject)?;
                let args = self.arguments(arguments, caller)?;
                self.call_method(&subject, name, &args)
            }
            Node::Filter(entry, subject, arguments) => {
                self.piped_node(Kind::Filter, *entry, subject, arguments)
            }
            Node::Test(entry, subject, arguments) => self
                .piped_node(Kind::Test, *entry, subject, arguments)
                .map(|passed| Value::from(passed.is_true())),
            Node::Missing(subject, message) => {
                self.expression(subject)?;
                Err(Error::new(message.as_str()))
            }
        }
    }

    fn piped_node(
        &mut self,
        kind: Kind,
        entry: Entry,
        subject: &Expr,
        arguments: &Arguments,
    ) -> Result<Value, Error> {
        let subject = &self.expression(subject)?;
        let args = self.arguments(arguments, None)?;
        let (args, kwargs) = split(&args);
        call::run(kind, entry, &mut Call { state: self, subject, args, kwargs })
    }

    fn operator(&mut self, entry: Entry, subject: &Value, args: &[Value]) -> Result<Value, Error> {
        let (args, kwargs) = (args, call::Keywords::default());
        call::run(Kind::Operator, entry, &mut Call { state: self, subject, args, kwargs })
    }

    fn dict(&mut self, entries: &[(Expr, Expr)]) -> Result<Value, Error> {
        let mut made = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let key = self.expression(key)?;
            let value = self.expression(value)?;
            hashable(&key)?;
            made.push((key, value));
        }
        Ok(context::dict(made))
    }

    fn comparison(&mut self, first: &Expr, others: &[(Compare, Expr)]) -> Result<Value, Error> {
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

    fn item(&mut self, subject: &Expr, key: &Expr) -> Result<Value, Error> {
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
        found.invalid().map_or(Ok(()), |error| Err(error.clone()))?;
        Ok(found)
    }

    /// The macro of a call block, which its call hands over.
    fn caller(&mut self, arguments: &Arguments) -> Option<Value> {
        arguments.caller.then(|| std::mem::take(&mut self.captured))
    }

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
