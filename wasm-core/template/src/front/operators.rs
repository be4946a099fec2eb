//! What jinja2 makes of constants when it compiles.

use super::ast::{Expr, Node, Unary};

pub fn is_literal_number(expression: &Expr<'_>) -> bool {
    match &expression.node {
        Node::Integer(_) | Node::Float(_) => true,
        Node::Unary(Unary::Negative | Unary::Positive, operand) => is_literal_number(operand),
        _ => false,
    }
}

/// `-1`: jinja2 folds it into a number that begins with a sign.
pub fn is_negative(expression: &Expr<'_>) -> bool {
    match &expression.node {
        Node::Unary(Unary::Negative, operand) => match operand.node {
            Node::Integer(value) => value != 0,
            Node::Float(_) => true,
            _ => false,
        },
        _ => false,
    }
}

/// Whether jinja2 can compute it when it compiles.
pub fn is_folded(expression: &Expr<'_>) -> bool {
    !expression.any(&mut |part| matches!(part.node, Node::Name(_) | Node::Call(..)))
}

/// Filters that jinja2 runs in the context of a render only.
const IN_CONTEXT: [&str; 6] = ["map", "random", "reject", "rejectattr", "select", "selectattr"];

/// Whether jinja2 computes the whole of it when it compiles, unless that fails.
pub fn is_computed(expression: &Expr<'_>) -> bool {
    is_folded(expression)
        && !expression.any(&mut |part| match &part.node {
            Node::Filter(_, name, _) => IN_CONTEXT.contains(&name.as_ref()),
            _ => false,
        })
}
