//! A regular expression engine with the meaning that Oniguruma gives to a pattern, which is what
//! the reference compiles patterns with.
//!
//! Only what is certain to mean the same is accepted; the rest is `Unsupported`, by name. Classes
//! come from tables measured from the reference, so no Unicode version but that one has a say.
//! Matching backtracks under a budget of steps.

mod ast;
mod borders;
mod class;
mod escape;
mod machine;
mod parse;
mod program;
mod set;
#[cfg(test)]
mod tests;

pub use borders::Borders;
pub use machine::Machine;
pub use parse::{parse, shown};
pub use program::{compile, Program};
