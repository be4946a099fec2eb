//! Chat templates, rendered as transformers renders them, by the `minijinja` crate.
//!
//! The folders are in the order in which a render walks:
//!
//! ```text
//! source  ──▶ front      jinja2's white space, literals and operators, in words the crate has
//! context ──▶ context    JSON into values; None dropped, reasoning aliases, continued messages
//!             semantics  what filters, tests, methods and operators answer in the reference
//!         ──▶ render     text out, with the places of generation blocks and of untrusted text
//! ```
//!
//! `front` and `semantics` meet in the *carriers*: names that begin with two underscores, which
//! `front` writes into a template and `semantics` answers. They are listed in `carriers.rs`.

pub mod abi;
pub mod carriers;
pub mod context;
pub mod error;
pub mod front;
pub mod limits;
pub mod marks;
pub mod prepare;
pub mod python;
pub mod render;
pub mod semantics;
pub mod trace;
