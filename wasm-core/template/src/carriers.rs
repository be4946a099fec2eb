//! What `front` writes where jinja2 and the crate differ, and `semantics` answers.
//!
//! Filters, because they chain, are found once a render, and take every kind of value, undefined
//! included. What is no single word stands in parentheses before them.

/// `for … in (X)|__iterable`: TypeError for none and numbers, characters of a string.
pub const ITERABLE: &str = "__iterable";
/// `a ~ b ~ c` is `a|__concat(b, c)`.
pub const CONCAT: &str = "__concat";
/// `a % b` is `a|__mod(b)`: a remainder, or Python's formatting.
pub const MOD: &str = "__mod";
/// `a + b` is `a|__add(b)`, but where one of them is a plain string for certain.
pub const ADD: &str = "__add";
/// `{{ "a" + x + "b" }}` is `a{{ x|__text }}b`: the sum need not be made to be printed.
pub const TEXT: &str = "__text";
pub const SUB: &str = "__sub";
pub const MUL: &str = "__mul";
pub const DIV: &str = "__div";
pub const FLOOR_DIV: &str = "__floordiv";
pub const POW: &str = "__pow";
/// `-a` is `a|__neg()`, literals excepted.
pub const NEGATIVE: &str = "__neg";
pub const POSITIVE: &str = "__pos";
/// `a < b` is `a|__lt(b)`.
pub const LESS: &str = "__lt";
pub const LESS_OR_EQUAL: &str = "__le";
pub const GREATER: &str = "__gt";
pub const GREATER_OR_EQUAL: &str = "__ge";
/// `a in b` is `a|__in(b)`; `a not in b` is `not a|__in(b)`.
pub const IN: &str = "__in";
/// `a == b` is `a|__eq(b)`, in traced templates only (marks are no part of a text).
pub const EQUAL: &str = "__eq";
/// `x[a:b:c]` is `x|__slice(a, b, c)`, `none` for what is left out.
pub const SLICE: &str = "__slice";
/// `x[k]` is `x|__item(k)` where `k` may name a method, and in traced templates.
pub const ITEM: &str = "__item";
/// `x.items` without a call is `x|__attribute("items")`, and so is every name that begins with
/// two underscores, called or not.
pub const ATTRIBUTE: &str = "__attribute";
/// `{key: value}` is `__dict([(key, value)])` where a key may be one that no key can be, or equal
/// another one.
pub const DICT: &str = "__dict";
/// `x|nosuch` is `x|__missing("No filter named 'nosuch' found.")`: an error once it is executed.
pub const MISSING: &str = "__missing";
/// `{{ __generation(true) }}` opens a generation block, `{{ __generation(false) }}` closes it.
pub const GENERATION: &str = "__generation";
/// `a < f() < b` is `a|__lt(f()|__keep(1)) and __kept(1)|__lt(b)`.
pub const KEEP: &str = "__keep";
pub const KEPT: &str = "__kept";
/// `{% filter f %}` is `{% filter f|__filtered() %}`: TypeError for what is no text.
pub const FILTERED: &str = "__filtered";
/// `loop|__loop_context(function, depth)` is `loop` where it is more than asked for an attribute; of a
/// loop that is not recursive without the two.
pub const LOOP: &str = "__loop_context";
/// `macro|__catching(name, varargs, kwargs, caller, parameters...)` takes more arguments than it names.
pub const CATCHING: &str = "__catching";
