//! Chat templates, rendered as transformers renders them.
//!
//! The folders are in the order in which a render walks:
//!
//! ```text
//! source  ──▶ front      jinja2's tree, and its syntax errors
//! context ──▶ context    JSON into values; None dropped, reasoning aliases, continued messages
//!             semantics  what filters, tests, methods and operators answer in the reference
//!         ──▶ eval       the tree, evaluated
//!         ──▶ render     text out, with the places of generation blocks and of untrusted text
//! ```

pub mod abi;
pub mod context;
pub mod error;
mod eval;
pub mod front;
pub mod limits;
pub mod marks;
pub mod prepare;
pub mod python;
pub mod render;
pub mod semantics;
pub mod trace;
pub mod value;
