//! Visits of a tree, for questions that concern all of it.

use super::ast::{Body, Expr, Node, Statement, Statements};

impl<'s> Expr<'s> {
    /// The expressions directly below.
    pub fn each_child<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr<'s>)) {
        match &self.node {
            Node::Name(_)
            | Node::Text(_)
            | Node::Integer(_)
            | Node::Float(_)
            | Node::Bool(_)
            | Node::None
            | Node::NamespaceAttribute(..) => {}
            Node::Tuple(items) | Node::List(items) | Node::Concat(items) => {
                items.iter().for_each(visit)
            }
            Node::Dict(items) => {
                for (key, value) in items {
                    visit(key);
                    visit(value);
                }
            }
            Node::Binary(_, left, right) | Node::Item(left, right) => {
                visit(left);
                visit(right);
            }
            Node::Compare(first, others) => {
                visit(first);
                others.iter().for_each(|(_, other)| visit(other));
            }
            Node::Unary(_, operand) | Node::Attribute(operand, _) => visit(operand),
            Node::Conditional { test, value, otherwise } => {
                visit(test);
                visit(value);
                otherwise.iter().for_each(|otherwise| visit(otherwise));
            }
            Node::Slice(bounds) => bounds.iter().flatten().for_each(|bound| visit(bound)),
            Node::Call(subject, arguments) | Node::Test(subject, _, arguments) => {
                visit(subject);
                arguments.all().for_each(visit);
            }
            Node::Filter(subject, _, arguments) => {
                subject.iter().for_each(|subject| visit(subject));
                arguments.all().for_each(visit);
            }
        }
    }

    /// This and everything below it.
    pub fn any(&self, found: &mut dyn FnMut(&Expr<'s>) -> bool) -> bool {
        if found(self) {
            return true;
        }
        let mut any = false;
        self.each_child(&mut |child| any = any || child.any(found));
        any
    }

    pub fn mentions(&self, name: &str) -> bool {
        self.any(&mut |expression| matches!(expression.node, Node::Name(found) if found == name))
    }
}

impl<'s> Statement<'s> {
    /// The expressions of this statement itself, targets excepted.
    pub fn each_expression<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr<'s>)) {
        match &self.kind {
            Statements::Output(value) | Statements::Set { value, .. } => visit(value),
            Statements::For(each) => {
                visit(&each.iterable);
                each.test.iter().for_each(visit);
            }
            Statements::If { branches, .. } => branches.iter().for_each(|(test, _)| visit(test)),
            Statements::With { assignments, .. } => {
                assignments.iter().for_each(|(_, value)| visit(value))
            }
            Statements::SetBlock { filter, .. } => filter.iter().for_each(visit),
            Statements::FilterBlock { filter, .. } => visit(filter),
            Statements::Macro { signature, .. } => signature.defaults.iter().for_each(visit),
            Statements::CallBlock { signature, call, .. } => {
                signature.defaults.iter().for_each(&mut *visit);
                visit(call);
            }
            Statements::Autoescape { enabled, .. } => visit(enabled),
            Statements::Data(_)
            | Statements::Generation(_)
            | Statements::Break
            | Statements::Continue
            | Statements::Refused(..) => {}
        }
    }

    pub fn bodies(&self) -> Vec<&Body<'s>> {
        match &self.kind {
            Statements::For(each) => vec![&each.body, &each.otherwise],
            Statements::If { branches, otherwise } => {
                branches.iter().map(|(_, body)| body).chain(Some(otherwise)).collect()
            }
            Statements::With { body, .. }
            | Statements::SetBlock { body, .. }
            | Statements::FilterBlock { body, .. }
            | Statements::Macro { body, .. }
            | Statements::CallBlock { body, .. }
            | Statements::Generation(body)
            | Statements::Autoescape { body, .. }
            | Statements::Refused(body) => vec![body],
            _ => Vec::new(),
        }
    }

    /// The targets of an assignment.
    pub fn targets(&self) -> Vec<&Expr<'s>> {
        match &self.kind {
            Statements::Set { target, .. } | Statements::SetBlock { target, .. } => vec![target],
            Statements::For(each) => vec![&each.target],
            Statements::With { assignments, .. } => {
                assignments.iter().map(|(target, _)| target).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Whether any statement of `body`, however deep, is `found`.
pub fn any_statement<'s>(body: &Body<'s>, found: &mut dyn FnMut(&Statement<'s>) -> bool) -> bool {
    body.iter().any(|statement| {
        found(statement)
            || statement.bodies().into_iter().any(|inner| any_statement(inner, &mut *found))
    })
}

/// Whether any expression of `body`, however deep, is `found`.
pub fn any_expression<'s>(body: &Body<'s>, found: &mut dyn FnMut(&Expr<'s>) -> bool) -> bool {
    any_statement(body, &mut |statement| {
        let mut any = false;
        statement.each_expression(&mut |expression| any = any || expression.any(&mut *found));
        any
    })
}

/// Whether `name` is read anywhere in `body`.
pub fn reads(body: &Body<'_>, name: &str) -> bool {
    any_expression(
        body,
        &mut |expression| matches!(expression.node, Node::Name(found) if found == name),
    )
}

/// Whether `statement` gives `name` a value.
pub fn stores(statement: &Statement<'_>, name: &str) -> bool {
    let named = |target: &Expr<'_>| target.mentions(name);
    statement.targets().into_iter().any(named)
        || matches!(statement.kind, Statements::Macro { name: found, .. } if found == name)
}
