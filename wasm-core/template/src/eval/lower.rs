//! From jinja2's tree to what is run.

use std::rc::Rc;

use super::code::{
    Arguments, Body, Entry, Expr, For, Lookup, Node, Place, Program, Routine, Statement, Target,
    Test,
};
use super::scopes::Scopes;
use crate::front::ast::{self, Binary, Signature, Statements, Unary};
use crate::front::names::{has, ATTRIBUTES, PYTHON_WORDS};
use crate::front::operators::{is_computed, is_folded, is_literal_number, is_negative};
use crate::front::source::Source;
use crate::front::walk::reads;
use crate::semantics::operators::arithmetic;
use crate::semantics::{filters, operators, tests};
use crate::value::Value;

struct Lower<'a, 's> {
    source: &'a Source<'s>,
    scopes: Scopes<'s>,
    names: Vec<Rc<str>>,
    tests: usize,
    /// Whether jinja2 computes the whole of what is printed: a slice that cannot be is undefined.
    computed: bool,
}

pub fn lower<'s>(source: &Source<'s>, body: &ast::Body<'s>) -> Program {
    let scopes = Scopes::default();
    let mut lower = Lower { source, scopes, names: Vec::new(), tests: 0, computed: false };
    lower.scopes.functions.push(Default::default());
    let symbols = lower.scopes.analyze(0, |visitor| visitor.body(body));
    lower.scopes.frames.push(symbols);
    let body = lower.body(body);
    let frame = lower.frame();
    let slots = lower.scopes.functions.first().map_or(0, |slots| slots.len());
    Program { frame, body, slots, names: lower.names.into() }
}

fn boxed(expression: Expr) -> Box<Expr> {
    Box::new(expression)
}

impl<'s> Lower<'_, 's> {
    fn frame(&mut self) -> super::code::Frame {
        let names = &mut self.names;
        self.scopes.frame(&mut |name| match names.iter().position(|known| **known == *name) {
            Some(at) => at,
            None => {
                names.push(name.into());
                names.len() - 1
            }
        })
    }

    fn place(&self, name: &str) -> Place {
        match self.scopes.find(name) {
            Some(target) => self.scopes.place(target),
            None => Place { up: 0, slot: usize::MAX },
        }
    }

    fn slot(&self, name: &str) -> usize {
        self.place(name).slot
    }

    fn body(&mut self, body: &ast::Body<'s>) -> Body {
        let mut out = Vec::with_capacity(body.len());
        for statement in body {
            self.statement(statement, &mut out);
        }
        out
    }

    /// A scope of its own around a body.
    #[inline(never)]
    fn scoped(&mut self, body: &ast::Body<'s>) -> (super::code::Frame, Body) {
        let symbols = self.scopes.analyze(0, |visitor| visitor.body(body));
        self.scopes.frames.push(symbols);
        let body = self.body(body);
        let frame = self.frame();
        self.scopes.frames.pop();
        (frame, body)
    }

    fn statement(&mut self, statement: &ast::Statement<'s>, out: &mut Body) {
        out.push(match &statement.kind {
            Statements::Data(data) => Statement::Text((*data).to_owned()),
            Statements::Output(value) => {
                self.computed = is_computed(value);
                let printed = self.expression(value);
                self.computed = false;
                match printed.node {
                    Node::Constant(value) if value.as_str().is_some() && !value.is_safe() => {
                        Statement::Text(value.as_str().unwrap_or_default().to_owned())
                    }
                    _ => Statement::Output(printed),
                }
            }
            Statements::Set { target, value } => {
                Statement::Set(self.target(target), self.expression(value))
            }
            Statements::If { branches, otherwise } => {
                let each = |(test, body): &(ast::Expr<'s>, ast::Body<'s>)| {
                    (self.expression(test), self.body(body))
                };
                let branches = branches.iter().map(each).collect();
                Statement::If(branches, self.body(otherwise))
            }
            Statements::For(each) => self.for_loop(each),
            Statements::With { assignments, body } => {
                let values: Vec<Expr> =
                    assignments.iter().map(|(_, value)| self.expression(value)).collect();
                let symbols = self.scopes.analyze(0, |visitor| {
                    assignments.iter().for_each(|(target, _)| visitor.target(target, false));
                    visitor.body(body);
                });
                self.scopes.frames.push(symbols);
                let targets = assignments.iter().map(|(target, _)| self.target(target));
                let assignments = targets.collect::<Vec<_>>().into_iter().zip(values).collect();
                let body = self.body(body);
                let frame = self.frame();
                self.scopes.frames.pop();
                Statement::With(frame, assignments, body)
            }
            Statements::SetBlock { target, filter, body } => {
                let symbols = self.scopes.analyze(0, |visitor| visitor.body(body));
                let target = self.target(target);
                self.scopes.frames.push(symbols);
                let body = self.body(body);
                let filter = filter.as_ref().map(|filter| self.expression(filter));
                let frame = self.frame();
                self.scopes.frames.pop();
                Statement::Capture { frame, body, filter, target: Some(target) }
            }
            Statements::FilterBlock { filter, body } => {
                let symbols = self.scopes.analyze(0, |visitor| {
                    visitor.body(body);
                    visitor.reads(filter);
                });
                self.scopes.frames.push(symbols);
                let body = self.body(body);
                let filter = self.expression(filter);
                let line = filter.line;
                let node = Node::Operator(operators::FILTERED, vec![filter]);
                let filter = Some(Expr { node, line });
                let frame = self.frame();
                self.scopes.frames.pop();
                Statement::Capture { frame, body, filter, target: None }
            }
            Statements::Macro { name, signature, body } => {
                let routine = self.routine(Some(name), signature, body);
                Statement::Macro(self.slot(name), Rc::new(routine))
            }
            Statements::CallBlock { signature, call, body } => {
                let routine = self.routine(None, signature, body);
                let mut call = self.expression(call);
                if let Node::Call(_, arguments) | Node::Method(_, _, arguments) = &mut call.node {
                    arguments.caller = true;
                }
                Statement::CallBlock(Rc::new(routine), call)
            }
            Statements::Generation(body) => {
                Statement::Generation(Rc::new(self.routine(None, &Signature::default(), body)))
            }
            Statements::Autoescape { body, .. } | Statements::Refused(body) => {
                let (frame, body) = self.scoped(body);
                Statement::With(frame, Vec::new(), body)
            }
            Statements::Break => Statement::Break,
            Statements::Continue => Statement::Continue,
        });
    }

    #[inline(never)]
    fn target(&mut self, target: &ast::Expr<'s>) -> Target {
        match &target.node {
            ast::Node::Name(name) => Target::Slot(self.slot(name)),
            ast::Node::Tuple(items) => {
                Target::Tuple(items.iter().map(|item| self.target(item)).collect())
            }
            ast::Node::NamespaceAttribute(name, attribute) => Target::Attribute(
                self.place(name),
                (*attribute).into(),
                self.source.line(target.at),
            ),
            _ => Target::Tuple(Vec::new()),
        }
    }

    #[inline(never)]
    fn for_loop(&mut self, each: &ast::For<'s>) -> Statement {
        let iterable = self.expression(&each.iterable);
        if each.recursive {
            self.scopes.functions.push(Default::default());
        }
        let extended = each.recursive || reads(&each.body, "loop");
        let symbols = self.scopes.analyze(0, |visitor| {
            if extended {
                visitor.parameter("loop");
            }
            visitor.target(&each.target, true);
            visitor.body(&each.body);
        });
        let test = each.test.as_ref().map(|test| {
            self.tests += 1;
            let symbols = self.scopes.analyze(self.tests, |visitor| {
                visitor.target(&each.target, true);
                visitor.reads(test);
            });
            self.scopes.frames.push(symbols);
            let (target, test) = (self.target(&each.target), self.expression(test));
            let frame = self.frame();
            self.scopes.frames.pop();
            Test { frame, target, test }
        });
        self.scopes.frames.push(symbols);
        let target = self.target(&each.target);
        let slot = extended.then(|| self.slot("loop"));
        let body = self.body(&each.body);
        let frame = self.frame();
        self.scopes.frames.pop();
        let otherwise = (!each.otherwise.is_empty()).then(|| self.scoped(&each.otherwise));
        let recursive = if each.recursive {
            self.scopes.functions.pop().map(|slots| slots.len())
        } else {
            None
        };
        let code = For { target, test, frame, slot, body, otherwise, recursive };
        Statement::For(iterable, Rc::new(code))
    }

    #[inline(never)]
    fn routine(
        &mut self,
        name: Option<&str>,
        signature: &Signature<'s>,
        body: &ast::Body<'s>,
    ) -> Routine {
        self.scopes.functions.push(Default::default());
        let given = |name: &str| signature.names.iter().any(|(known, _)| *known == name);
        let (mut parameters, mut special) = (Vec::new(), [None; 3]);
        let symbols = self.scopes.analyze(0, |visitor| {
            for (slot, name) in special.iter_mut().zip(["caller", "kwargs", "varargs"]) {
                if !given(name) && reads(body, name) {
                    *slot = Some(visitor.parameter(name));
                }
            }
            parameters.extend(signature.names.iter().map(|(name, _)| visitor.parameter(name)));
            signature.defaults.iter().for_each(|default| visitor.reads(default));
            visitor.body(body);
        });
        self.scopes.frames.push(symbols);
        let defaults = signature.defaults.iter().map(|value| self.expression(value)).collect();
        let body = self.body(body);
        let frame = self.frame();
        self.scopes.frames.pop();
        let slots = self.scopes.functions.pop().map_or(0, |slots| slots.len());
        let [caller, kwargs, varargs] = special;
        Routine {
            name: name.map(Into::into),
            names: signature.names.iter().map(|(name, _)| Rc::from(*name)).collect(),
            parameters,
            defaults,
            caller,
            kwargs,
            varargs,
            frame,
            body,
            slots,
        }
    }

    #[inline(never)]
    fn expressions(&mut self, expressions: &[ast::Expr<'s>]) -> Vec<Expr> {
        expressions.iter().map(|expression| self.expression(expression)).collect()
    }

    fn expression(&mut self, expression: &ast::Expr<'s>) -> Expr {
        let line = self.source.line(expression.at);
        Expr { node: self.node(expression), line }
    }

    #[inline(never)]
    fn operands(&mut self, entry: Entry, operands: &[&ast::Expr<'s>]) -> Node {
        let operands = operands.iter().map(|operand| self.expression(operand)).collect();
        Node::Operator(entry, operands)
    }

    fn node(&mut self, expression: &ast::Expr<'s>) -> Node {
        match &expression.node {
            ast::Node::Name(name) => Node::Name(self.place(name)),
            ast::Node::Text(text) => Node::Constant(Value::from(text.as_str())),
            ast::Node::Integer(value) => {
                Node::Constant(i128::try_from(*value).map_or(Value::UNDEFINED, Value::from))
            }
            ast::Node::Float(value) => Node::Constant(Value::from(*value)),
            ast::Node::Bool(value) => Node::Constant(Value::from(*value)),
            ast::Node::None => Node::Constant(Value::from(())),
            ast::Node::Tuple(items) => Node::Tuple(self.expressions(items)),
            ast::Node::List(items) => Node::List(self.expressions(items)),
            ast::Node::Dict(items) => self.dict(items),
            ast::Node::Binary(operator, left, right) => self.binary(*operator, left, right),
            ast::Node::Concat(items) => Node::Operator(operators::CONCAT, self.expressions(items)),
            ast::Node::Compare(first, others) => self.comparison(first, others),
            ast::Node::Unary(Unary::Not, operand) => Node::Not(boxed(self.expression(operand))),
            ast::Node::Unary(sign, operand) => self.unary(*sign, operand),
            ast::Node::Conditional { test, value, otherwise } => {
                self.conditional(test, value, otherwise.as_deref())
            }
            ast::Node::Attribute(subject, name) => {
                let lookup = lookup(name);
                Node::Attribute(boxed(self.expression(subject)), (*name).into(), lookup)
            }
            ast::Node::Item(subject, key) => self.item(subject, key),
            ast::Node::Slice(_) => Node::Constant(Value::UNDEFINED),
            ast::Node::Call(target, arguments) => self.call(target, arguments),
            ast::Node::Filter(subject, name, arguments) => {
                self.filter(subject.as_deref(), name, arguments, expression.at)
            }
            ast::Node::Test(subject, name, arguments) => self.test(subject, name, arguments),
            ast::Node::NamespaceAttribute(name, attribute) => {
                let subject = Expr { node: Node::Name(self.place(name)), line: 0 };
                Node::Attribute(boxed(subject), (*attribute).into(), lookup(attribute))
            }
        }
    }

    #[inline(never)]
    fn dict(&mut self, items: &[(ast::Expr<'s>, ast::Expr<'s>)]) -> Node {
        let each = |(key, value): &(ast::Expr<'s>, ast::Expr<'s>)| {
            (self.expression(key), self.expression(value))
        };
        Node::Dict(items.iter().map(each).collect())
    }

    #[inline(never)]
    fn comparison(
        &mut self,
        first: &ast::Expr<'s>,
        others: &[(ast::Compare, ast::Expr<'s>)],
    ) -> Node {
        let first = boxed(self.expression(first));
        let each = |(comparison, right): &(ast::Compare, ast::Expr<'s>)| {
            (*comparison, self.expression(right))
        };
        Node::Compare(first, others.iter().map(each).collect())
    }

    #[inline(never)]
    fn unary(&mut self, sign: Unary, operand: &ast::Expr<'s>) -> Node {
        let lowered = self.expression(operand);
        let negative = sign == Unary::Negative;
        if let (true, Node::Constant(value)) = (is_literal_number(operand), &lowered.node) {
            let signed = if negative { arithmetic::negate(value) } else { Ok(value.clone()) };
            if let Ok(signed) = signed {
                return Node::Constant(signed);
            }
        }
        let entry = if negative { operators::NEGATIVE } else { operators::POSITIVE };
        Node::Operator(entry, vec![lowered])
    }

    #[inline(never)]
    fn conditional(
        &mut self,
        test: &ast::Expr<'s>,
        value: &ast::Expr<'s>,
        otherwise: Option<&ast::Expr<'s>>,
    ) -> Node {
        let both = Box::new([self.expression(test), self.expression(value)]);
        Node::Conditional(both, otherwise.map(|value| boxed(self.expression(value))))
    }

    #[inline(never)]
    fn call(&mut self, target: &ast::Expr<'s>, arguments: &ast::Arguments<'s>) -> Node {
        match &target.node {
            ast::Node::Attribute(subject, name) => {
                let subject = boxed(self.expression(subject));
                Node::Method(subject, (*name).into(), self.arguments(arguments))
            }
            _ => Node::Call(boxed(self.expression(target)), self.arguments(arguments)),
        }
    }

    #[inline(never)]
    fn filter(
        &mut self,
        subject: Option<&ast::Expr<'s>>,
        name: &str,
        arguments: &ast::Arguments<'s>,
        at: usize,
    ) -> Node {
        let subject = boxed(match subject {
            Some(subject) => self.expression(subject),
            None => Expr { node: Node::Captured, line: self.source.line(at) },
        });
        match filters::TABLE.find(name) {
            Some(entry) => Node::Filter(entry, subject, self.arguments(arguments)),
            None => Node::Missing(subject, format!("No filter named '{name}' found.")),
        }
    }

    #[inline(never)]
    fn test(
        &mut self,
        subject: &ast::Expr<'s>,
        name: &str,
        arguments: &ast::Arguments<'s>,
    ) -> Node {
        let subject = boxed(self.expression(subject));
        match tests::TABLE.find(name) {
            Some(entry) => Node::Test(entry, subject, self.arguments(arguments)),
            None => Node::Missing(subject, format!("No test named '{name}' found.")),
        }
    }

    #[inline(never)]
    fn binary(&mut self, sign: Binary, left: &ast::Expr<'s>, right: &ast::Expr<'s>) -> Node {
        let entry = match sign {
            Binary::Or => {
                return Node::Or(boxed(self.expression(left)), boxed(self.expression(right)));
            }
            Binary::And => {
                return Node::And(boxed(self.expression(left)), boxed(self.expression(right)));
            }
            Binary::Add => operators::ADD,
            Binary::Sub => operators::SUB,
            Binary::Mul => operators::MUL,
            Binary::Div => operators::DIV,
            Binary::FloorDiv => operators::FLOOR_DIV,
            Binary::Mod => operators::MOD,
            Binary::Pow => operators::POW,
        };
        if let (Binary::Pow, ast::Node::Unary(_, magnitude)) = (sign, &left.node) {
            if is_negative(left) && !is_folded(right) {
                // jinja2 writes the folded number without parentheses, and Python's sign binds less.
                let line = self.source.line(left.at);
                let power = Expr { node: self.operands(entry, &[magnitude, right]), line };
                return Node::Operator(operators::NEGATIVE, vec![power]);
            }
        }
        self.operands(entry, &[left, right])
    }

    #[inline(never)]
    fn item(&mut self, subject: &ast::Expr<'s>, key: &ast::Expr<'s>) -> Node {
        let ast::Node::Slice(bounds) = &key.node else {
            return Node::Item(boxed(self.expression(subject)), boxed(self.expression(key)));
        };
        let line = self.source.line(key.at);
        let constant = |value: Value| Expr { node: Node::Constant(value), line };
        let mut operands = vec![self.expression(subject)];
        for bound in bounds {
            operands.push(match bound {
                Some(bound) => self.expression(bound),
                None => constant(Value::from(())),
            });
        }
        if self.computed {
            operands.push(constant(Value::from(true)));
        }
        Node::Operator(operators::SLICE, operands)
    }

    #[inline(never)]
    fn arguments(&mut self, arguments: &ast::Arguments<'s>) -> Arguments {
        let named = arguments.named.iter();
        Arguments {
            positional: self.expressions(&arguments.positional),
            named: named
                .map(|(name, value)| ((*name).to_owned(), self.expression(value)))
                .collect(),
            rest: arguments.rest.as_ref().map(|rest| boxed(self.expression(rest))),
            named_rest: arguments.named_rest.as_ref().map(|rest| boxed(self.expression(rest))),
            merged: arguments.named.iter().any(|(name, _)| has(PYTHON_WORDS, name)),
            caller: false,
        }
    }
}

fn lookup(name: &str) -> Lookup {
    if name.starts_with("__") || has(ATTRIBUTES, name) {
        Lookup::Type
    } else {
        Lookup::Key
    }
}
