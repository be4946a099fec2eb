//! How each function is asked about texts with marks.

use crate::semantics::call::Kind;
use crate::value::{Value, ValueKind};

/// What the observer does. `Whole` is right for every function; the others keep more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// Sees plain values; what it answers is all of one origin.
    Whole,
    /// Sees plain texts, and answers no text: containers are shown as they are.
    Judges,
    /// Hands on what it is given without looking at a text.
    HandsOn,
    /// Hands on the elements of its subject: characters of a text, keys of a dictionary.
    Elements,
    /// Pairs of a dictionary, in the order of plain keys or values.
    SortsPairs,
    /// Looks its (plain) first argument up in the subject.
    LooksUp,
    /// Chooses characters of a text by number, or hands on the elements of a list.
    Chooses,
    /// Copies the texts it is given into one that it answers, some letters written otherwise. It
    /// is asked twice, with marks and without, and believed where the answers agree.
    Copies,
    Aligns(Aligned),
    Replaces,
    /// Texts stand side by side in the answer.
    Concatenates,
}

/// Where the answer of a function on a text stands in that text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aligned {
    Stripped,
    Beginning,
    Ending,
    CharacterByCharacter,
    Indented,
    /// A list of pieces, which are in order.
    Pieces,
    /// The same, between which the first argument stands where it is a text.
    Split,
}

#[must_use]
pub fn plan(kind: Kind, name: &str, subject: &Value) -> Plan {
    match kind {
        Kind::Filter => filter(name, subject),
        Kind::Test => test(name),
        Kind::Operator => operator(name, subject),
        Kind::Global => global(name),
        Kind::Method => match subject.kind() {
            ValueKind::String => method_of_text(name),
            ValueKind::Map => method_of_dictionary(name),
            ValueKind::Seq => Plan::Whole,
            _ => Plan::HandsOn,
        },
    }
}

fn filter(name: &str, subject: &Value) -> Plan {
    let is_text = subject.kind() == ValueKind::String;
    match name {
        "default" | "d" | "attr" => Plan::HandsOn,
        "string" if is_text => Plan::HandsOn,
        "reverse" if is_text => Plan::Chooses,
        "first" | "last" | "list" | "reverse" | "batch" | "slice" | "select" | "reject"
        | "selectattr" | "rejectattr" | "map" | "items" | "random" | "groupby" => Plan::Elements,
        "dictsort" => Plan::SortsPairs,
        "length" | "count" => Plan::Judges,
        "join" | "tojson" | "format" | "escape" | "e" | "forceescape" | "safe" => Plan::Copies,
        "trim" => Plan::Aligns(Aligned::Stripped),
        "upper" | "lower" | "title" | "capitalize" => Plan::Aligns(Aligned::CharacterByCharacter),
        "indent" => Plan::Aligns(Aligned::Indented),
        "replace" => Plan::Replaces,
        _ => Plan::Whole,
    }
}

fn test(name: &str) -> Plan {
    match name {
        "defined" | "undefined" | "none" | "boolean" | "true" | "false" | "string" | "mapping"
        | "iterable" | "sequence" | "number" | "integer" | "float" | "callable" | "escaped" => {
            Plan::HandsOn
        }
        _ => Plan::Judges,
    }
}

fn operator(name: &str, subject: &Value) -> Plan {
    let is_text = subject.kind() == ValueKind::String;
    match name {
        "__iterable" => Plan::Elements,
        "__concat" => Plan::Concatenates,
        "__mod" if is_text => Plan::Copies,
        "__add" | "__mod" => Plan::HandsOn,
        "__lt" | "__le" | "__gt" | "__ge" | "__in" | "__eq" => Plan::Judges,
        "__slice" => Plan::Chooses,
        "__item" if is_text => Plan::Chooses,
        "__item" => Plan::LooksUp,
        "__filtered" => Plan::HandsOn,
        _ => Plan::Whole,
    }
}

fn global(name: &str) -> Plan {
    match name {
        "namespace" | "dict" | "cycler" | "joiner" => Plan::HandsOn,
        _ => Plan::Whole,
    }
}

fn method_of_text(name: &str) -> Plan {
    match name {
        "strip" => Plan::Aligns(Aligned::Stripped),
        "lstrip" | "removeprefix" => Plan::Aligns(Aligned::Ending),
        "rstrip" | "removesuffix" => Plan::Aligns(Aligned::Beginning),
        "upper" | "lower" | "title" | "capitalize" | "swapcase" | "casefold" => {
            Plan::Aligns(Aligned::CharacterByCharacter)
        }
        "split" | "rsplit" => Plan::Aligns(Aligned::Split),
        "splitlines" | "partition" | "rpartition" => Plan::Aligns(Aligned::Pieces),
        "replace" => Plan::Replaces,
        "format" | "join" => Plan::Copies,
        "startswith" | "endswith" | "find" | "rfind" | "index" | "rindex" | "count" => Plan::Judges,
        _ => Plan::Whole,
    }
}

fn method_of_dictionary(name: &str) -> Plan {
    match name {
        "get" => Plan::LooksUp,
        "items" | "keys" => Plan::Elements,
        "values" | "copy" => Plan::HandsOn,
        _ => Plan::Whole,
    }
}
