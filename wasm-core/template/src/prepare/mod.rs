//! From a request to the variables of a template, as transformers makes them.
//!
//! ```text
//! request.rs       the parts of a request, and the variables that are made of them
//! packed.rs        a request in the bytes of Python's marshal; `context` reads JSON
//! messages.rs      None dropped, names of the reasoning, what is no message
//! continuation.rs  the message that is to be continued: its mark, and the cut after the render
//! ```

mod continuation;
mod messages;
mod packed;
mod request;
#[cfg(test)]
mod tests;

pub use continuation::cut;
pub use packed::parse_packed;
pub use request::{prepare, sequence, Habits, Prepared, Profile};
