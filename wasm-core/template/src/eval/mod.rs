//! The tree, evaluated as jinja2's generated code runs.
//!
//! ```text
//! tree of front ──▶ lower, scopes   names become slots, as jinja2's symbols do
//!               ──▶ code            what is run
//! code, context ──▶ run, state      text out
//! ```

mod code;
mod functions;
mod loops;
mod lower;
mod run;
mod scopes;
mod state;

pub use code::Program;

pub use lower::lower;
pub use state::State;
