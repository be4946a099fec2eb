//! The three languages of formatting: `str.format`, its specifications, and `%`.

pub mod fields;
pub mod percent;
pub mod spec;
