//! Operators: the crate's own where it agrees with jinja2, carriers elsewhere.

use super::ast::{Binary, Compare, Expr, Node, Unary};
use super::check::is_repeatable;
use super::emit::{level, Emitter};
use super::Dialect;
use crate::carriers;
use crate::error::Result;

impl<'s> Emitter<'_, 's> {
    /// `==` of a plain literal is the crate's own; of others it is not Python's.
    fn is_native_equality(&self, left: &Expr<'s>, comparison: Compare, right: &Expr<'s>) -> bool {
        let native = match self.dialect {
            Dialect::Sandbox => is_scalar(left) || is_scalar(right),
            Dialect::Traced => false,
        };
        native && matches!(comparison, Compare::Equal | Compare::NotEqual)
    }

    pub fn comparison_level(&self, left: &Expr<'s>, comparison: Compare, right: &Expr<'s>) -> u8 {
        match comparison {
            _ if self.is_native_equality(left, comparison, right) => level::COMPARE,
            Compare::NotIn | Compare::NotEqual => level::NOT,
            _ => level::FILTER,
        }
    }

    /// `+` of which one side is a string for certain, and no safe one: the crate's own will do.
    pub fn is_plain_sum(&self, left: &Expr<'s>, right: &Expr<'s>) -> bool {
        let plain = self.is_plain_string(left) || self.is_plain_string(right);
        plain && !self.safe_strings
    }

    pub fn is_plain_string(&self, expression: &Expr<'s>) -> bool {
        match &expression.node {
            Node::Text(_) | Node::Concat(_) => true,
            Node::Binary(Binary::Add, left, right) => self.is_plain_sum(left, right),
            _ => false,
        }
    }

    pub fn native(
        &mut self,
        left: &Expr<'s>,
        operator: &str,
        right: &Expr<'s>,
        level: u8,
    ) -> Result<()> {
        self.expression(left, level)?;
        self.write(" ");
        self.write(operator);
        self.write(" ");
        self.expression(right, level + 1)
    }

    pub fn binary(&mut self, operator: Binary, left: &Expr<'s>, right: &Expr<'s>) -> Result<()> {
        let carrier = match operator {
            Binary::Or => return self.native(left, "or", right, level::OR),
            Binary::And => return self.native(left, "and", right, level::AND),
            Binary::Add if self.is_plain_sum(left, right) => {
                return self.native(left, "+", right, level::SUM)
            }
            Binary::Add => carriers::ADD,
            Binary::Sub => carriers::SUB,
            Binary::Mul => carriers::MUL,
            Binary::Div => carriers::DIV,
            Binary::FloorDiv => carriers::FLOOR_DIV,
            Binary::Mod => carriers::MOD,
            Binary::Pow => carriers::POW,
        };
        if operator == Binary::Pow && is_negative(left) && !is_folded(right) {
            // jinja2 writes the folded number without parentheses, and Python's sign binds less.
            let Node::Unary(_, magnitude) = &left.node else { return Ok(()) };
            self.carried(magnitude, carrier, &[right])?;
            self.write("|");
            self.write(carriers::NEGATIVE);
            return Ok(());
        }
        self.carried(left, carrier, &[right])
    }

    pub fn concat(&mut self, operands: &[Expr<'s>]) -> Result<()> {
        let Some((first, others)) = operands.split_first() else { return Ok(()) };
        self.carried(first, carriers::CONCAT, &others.iter().collect::<Vec<_>>())
    }

    /// `a < b < c` is `a < b and b < c`; what may not be read twice is kept in between.
    pub fn comparisons(&mut self, first: &Expr<'s>, others: &[(Compare, Expr<'s>)]) -> Result<()> {
        let mut left = first;
        let mut kept: Option<usize> = None;
        for (at, (comparison, right)) in others.iter().enumerate() {
            if at > 0 {
                self.write(" and ");
            }
            let keep = at + 1 < others.len() && !is_repeatable(right);
            if !keep && kept.is_none() {
                self.comparison(left, *comparison, right)?;
                left = right;
                continue;
            }
            if matches!(comparison, Compare::NotEqual | Compare::NotIn) {
                self.write("not ");
            }
            match kept.take() {
                Some(slot) => self.write(&format!("{}({slot})", carriers::KEPT)),
                None => self.piped(left)?,
            }
            self.write(&format!("|{}(", carrier(*comparison)));
            if keep {
                self.keeps += 1;
                kept = Some(self.keeps);
                let slot = self.keeps;
                self.nested(2, right.at, |emitter| {
                    emitter.piped(right)?;
                    emitter.write(&format!("|{}({slot})", carriers::KEEP));
                    Ok(())
                })?;
            } else {
                self.nested(1, right.at, |emitter| emitter.expression(right, level::ANY))?;
            }
            self.write(")");
            left = right;
        }
        Ok(())
    }

    pub fn comparison(
        &mut self,
        left: &Expr<'s>,
        comparison: Compare,
        right: &Expr<'s>,
    ) -> Result<()> {
        if self.is_native_equality(left, comparison, right) {
            let symbol = if comparison == Compare::Equal { "==" } else { "!=" };
            return self.native(left, symbol, right, level::SUM);
        }
        if matches!(comparison, Compare::NotEqual | Compare::NotIn) {
            self.write("not ");
        }
        self.carried(left, carrier(comparison), &[right])
    }

    pub fn unary(&mut self, whole: &Expr<'s>, operator: Unary, operand: &Expr<'s>) -> Result<()> {
        let (sign, carrier) = match operator {
            Unary::Not => {
                self.write("not ");
                return self.expression(operand, level::NOT);
            }
            Unary::Negative => ("-", carriers::NEGATIVE),
            Unary::Positive => ("", carriers::POSITIVE),
        };
        if is_literal_number(whole) {
            self.write(sign);
            return self.expression(operand, level::FILTER);
        }
        self.carried(operand, carrier, &[])
    }
}

fn carrier(comparison: Compare) -> &'static str {
    match comparison {
        Compare::Equal | Compare::NotEqual => carriers::EQUAL,
        Compare::Less => carriers::LESS,
        Compare::LessOrEqual => carriers::LESS_OR_EQUAL,
        Compare::Greater => carriers::GREATER,
        Compare::GreaterOrEqual => carriers::GREATER_OR_EQUAL,
        Compare::In | Compare::NotIn => carriers::IN,
    }
}

pub fn is_literal_number(expression: &Expr<'_>) -> bool {
    match &expression.node {
        Node::Integer(_) | Node::Float(_) => true,
        Node::Unary(Unary::Negative | Unary::Positive, operand) => is_literal_number(operand),
        _ => false,
    }
}

/// A literal that equals nothing but its like.
fn is_scalar(expression: &Expr<'_>) -> bool {
    matches!(expression.node, Node::Text(_) | Node::Bool(_) | Node::None)
        || is_literal_number(expression)
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
