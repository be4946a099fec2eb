//! What filters, tests, methods, operators and printing answer in the reference.

pub mod call;
pub mod errors;
pub mod filters;
pub mod functions;
pub mod generators;
pub mod globals;
pub mod iterate;
pub mod json_out;
pub mod kinds;
pub mod methods;
pub mod numbers;
pub mod operators;
pub mod repr;
pub mod session;
pub mod tests;
