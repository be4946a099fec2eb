//! `sort`, `dictsort`, `min`, `max`, `unique`.

use crate::value::{Error, Tuple, Value};
use std::cmp::Ordering;

use super::attributes::{ignore_case, Path};
use super::choose::lazily;
use super::sorting::sort_reversed;
use crate::semantics::call::Call;
use crate::semantics::errors::{attribute_error, filter_error, unsupported};
use crate::semantics::iterate;
use crate::semantics::kinds::{type_name, Type};
use crate::semantics::methods::arguments::flag;
use crate::semantics::numbers;
use crate::semantics::operators::compare::{equal, hashable, less, order};

pub fn truth(value: Option<&Value>) -> bool {
    value.is_some_and(Value::is_true)
}

/// Where NaN ends up depends on how Python's sort walks.
pub fn sortable(key: Value) -> Result<Value, Error> {
    if numbers::float(&key).is_some_and(f64::is_nan) {
        return Err(unsupported("sorting NaN", "a list with NaN cannot be sorted exactly"));
    }
    Ok(key)
}

/// Lists of keys: the first that are not equal decide.
fn less_by_keys(a: &[Value], b: &[Value]) -> Result<bool, Error> {
    for (a, b) in a.iter().zip(b) {
        if !equal(a, b)? {
            return less(a, b);
        }
    }
    Ok(false)
}

pub fn sort(call: &mut Call<'_>) -> Result<Value, Error> {
    let [reverse, case_sensitive, attribute] =
        call.bind("do_sort", 0, ["reverse", "case_sensitive", "attribute"])?;
    let case_sensitive = truth(case_sensitive.as_ref());
    let paths = Path::several(attribute.as_ref())?;
    let mut keyed = Vec::new();
    for item in iterate::items(call.subject)? {
        let keys = paths.iter().map(|path| sortable(ignore_case(path.get(&item)?, case_sensitive)));
        keyed.push((keys.collect::<Result<Vec<_>, Error>>()?, item));
    }
    let sorted =
        sort_reversed(keyed, flag(reverse.as_ref())?, &mut |a, b| less_by_keys(&a.0, &b.0))?;
    Ok(Value::from(sorted.into_iter().map(|(_, item)| item).collect::<Vec<_>>()))
}

pub fn dictsort(call: &mut Call<'_>) -> Result<Value, Error> {
    let [case_sensitive, by, reverse] =
        call.bind("do_dictsort", 0, ["case_sensitive", "by", "reverse"])?;
    let by_value = match by.as_ref().map(|by| by.as_str()) {
        None | Some(Some("key")) => false,
        Some(Some("value")) => true,
        Some(_) => return Err(filter_error("You can only sort by either \"key\" or \"value\"")),
    };
    if Type::of(call.subject) != Type::Dict {
        return Err(attribute_error(format!(
            "'{}' object has no attribute 'items'",
            type_name(call.subject)
        )));
    }
    let case_sensitive = truth(case_sensitive.as_ref());
    let mut keyed = Vec::new();
    for (key, value) in iterate::pairs(call.subject) {
        let by = if by_value { &value } else { &key };
        keyed.push((sortable(ignore_case(by.clone(), case_sensitive))?, key, value));
    }
    let sorted = sort_reversed(keyed, flag(reverse.as_ref())?, &mut |a, b| less(&a.0, &b.0))?;
    let pairs = sorted.into_iter().map(|(_, key, value)| Value::from(Tuple::from([key, value])));
    Ok(Value::from(pairs.collect::<Vec<_>>()))
}

pub fn min(call: &mut Call<'_>) -> Result<Value, Error> {
    extreme(call, "do_min", "<", Ordering::Less)
}

pub fn max(call: &mut Call<'_>) -> Result<Value, Error> {
    extreme(call, "do_max", ">", Ordering::Greater)
}

/// The first item whose key is beyond those of all others.
fn extreme(call: &mut Call<'_>, name: &str, sign: &str, beyond: Ordering) -> Result<Value, Error> {
    let [case_sensitive, attribute] = call.bind(name, 0, ["case_sensitive", "attribute"])?;
    let case_sensitive = truth(case_sensitive.as_ref());
    let path = Path::of(attribute.as_ref())?;
    let mut best: Option<(Value, Value)> = None;
    for item in iterate::items(call.subject)? {
        let key = ignore_case(path.get(&item)?, case_sensitive);
        let better = match &best {
            None => true,
            Some((best, _)) => order(&key, best, sign)? == Some(beyond),
        };
        if better {
            best = Some((key, item));
        }
    }
    Ok(best.map_or(Value::UNDEFINED, |(_, item)| item))
}

pub fn unique(call: &mut Call<'_>) -> Result<Value, Error> {
    let [case_sensitive, attribute] = call.bind("do_unique", 0, ["case_sensitive", "attribute"])?;
    let case_sensitive = truth(case_sensitive.as_ref());
    let path = Path::of(attribute.as_ref())?;
    let mut texts = std::collections::HashSet::new();
    let mut others = std::collections::BTreeSet::new();
    Ok(lazily("sync_do_unique", call.subject, |item| {
        let key = ignore_case(path.get(&item)?, case_sensitive);
        hashable(&key)?;
        if let Some(text) = key.as_str() {
            return Ok(texts.insert(text.to_owned()).then_some(item));
        }
        // NaN equals nothing.
        let is_new = numbers::float(&key).is_some_and(f64::is_nan) || others.insert(key);
        Ok(is_new.then_some(item))
    }))
}
