//! From jinja2's source to the crate's.
//!
//! ```text
//! source ──▶ lexer        text and tokens; the white space that tags take     (source, token, literal, number)
//!        ──▶ parser       jinja2's tree, and its syntax errors                (stream, expression, postfix, statement)
//!        ──▶ check        what its compiler refuses; what cannot be exact     (walk, names)
//!        ──▶ emit         the same in the crate's words and carriers          (write, operators, calls)
//! ```

mod ast;
mod calls;
mod check;
mod defaults;
mod emit;
mod expression;
mod lexer;
mod lines;
mod literal;
mod names;
mod number;
mod operators;
mod output;
mod postfix;
mod scopes;
mod source;
mod statement;
mod stream;
#[cfg(test)]
mod tests;
mod token;
mod walk;
mod write;

use crate::error::{Error, Kind, Result};
use crate::limits::Limits;

pub use lines::Lines;

/// How a template is written anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The crate, with every carrier.
    Sandbox,
    /// The same, with what tells untrusted text apart (`__eq`, `__item`).
    Traced,
}

/// A template that the crate reads as jinja2 reads the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Translated {
    /// A tag stands on the line on which it stands in the original.
    pub source: String,
    /// Where it has lines that the original does not have.
    pub lines: Lines,
    /// Whether there are generation blocks.
    pub generation: bool,
    /// What cannot be rendered exactly; the first of them is the error of a strict compile.
    pub unsupported: Vec<Error>,
}

/// The one way in.
pub fn translate(source: &str, dialect: Dialect, limits: &Limits) -> Result<Translated> {
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
    let mut emitter = emit::Emitter::new(&source, dialect);
    emitter.safe_strings = walk::any_expression(&body, &mut |part| match &part.node {
        ast::Node::Filter(_, name, _) => names::has(names::SAFE, name),
        ast::Node::Text(name) => names::has(names::SAFE, name),
        _ => false,
    });
    let is_loop =
        |statement: &ast::Statement<'_>| matches!(statement.kind, ast::Statements::For(_));
    let has_loops = walk::any_statement(&body, &mut |statement| is_loop(statement));
    let stores_loop = walk::any_statement(&body, &mut |statement| walk::stores(statement, "loop"));
    emitter.plain_loop = stores_loop && !has_loops;
    if has_loops {
        unsupported.extend(check::loop_variable(&source, &body));
    }
    unsupported.sort_by_key(|error| (error.line, error.column));
    emitter.defaults = defaults::defaults(&body);
    emitter.macro_values = walk::hands_on(&body, &mut |name| emitter.defaults.contains_key(name));
    emitter.frame(&[], &body)?;
    let is_generation =
        |statement: &ast::Statement<'_>| matches!(statement.kind, ast::Statements::Generation(_));
    let generation = walk::any_statement(&body, &mut |statement| is_generation(statement));
    Ok(Translated { source: emitter.out, lines: emitter.lines, generation, unsupported })
}
