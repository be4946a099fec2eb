//! From jinja2's source to its tree.
//!
//! ```text
//! source ──▶ lexer        text and tokens; the white space that tags take     (source, token, literal, number)
//!        ──▶ parser       jinja2's tree, and its syntax errors                (stream, expression, postfix, statement)
//!        ──▶ check        what its compiler refuses; what cannot be exact     (walk, names, operators)
//! ```

pub mod ast;
mod check;
mod expression;
mod lexer;
mod literal;
pub mod names;
mod number;
pub mod operators;
mod postfix;
pub mod source;
mod statement;
mod stream;
#[cfg(test)]
mod tests;
mod token;
pub mod walk;

use crate::error::{Error, Kind, Result};
use crate::limits::Limits;

/// What is known of a template beside its tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notes {
    /// Whether there are generation blocks.
    pub generation: bool,
    /// What cannot be rendered exactly; the first of them is the error of a strict compile.
    pub unsupported: Vec<Error>,
}

/// The one way in; `make` is shown the tree.
pub fn parse<T>(
    source: &str,
    limits: &Limits,
    make: impl for<'s> FnOnce(&source::Source<'s>, &ast::Body<'s>) -> T,
) -> Result<(T, Notes)> {
    if source.len() > limits.source {
        let message = format!(
            "the template has {} bytes, more than the limit of {}",
            source.len(),
            limits.source
        );
        return Err(Error::new(Kind::Limit, message).named("source"));
    }
    let text = source::normalize(source);
    let source = source::Source::new(&text);
    let mut parser = stream::Parser::new(&source, limits, lexer::lex(&source));
    let body = parser.template()?;
    let mut unsupported = parser.unsupported;
    unsupported.extend(check::check(&source, &body)?);
    unsupported.sort_by_key(|error| (error.line, error.column));
    let is_generation =
        |statement: &ast::Statement<'_>| matches!(statement.kind, ast::Statements::Generation(_));
    let generation = walk::any_statement(&body, &mut |statement| is_generation(statement));
    Ok((make(&source, &body), Notes { generation, unsupported }))
}
