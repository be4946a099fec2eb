//! A dictionary that keeps its order and finds its keys exactly.

use crate::semantics::kinds::Type;
use crate::value::{Enumerator, Object, Value};
use std::cmp::Ordering;

/// Up to here a walk over the entries is faster than a search.
const WALK: usize = 8;
/// Where no equal keys have to be found either, sorting is worth it later.
const WALK_UNIQUE: usize = 16;

#[derive(Debug)]
pub struct Dict {
    entries: Vec<(Value, Value)>,
    /// Positions in the order of the keys; empty for few entries.
    sorted: Vec<u32>,
}

impl Dict {
    #[must_use]
    pub fn new(entries: Vec<(Value, Value)>) -> Self {
        let mut kept: Vec<(Value, Value)> = Vec::with_capacity(entries.len());
        if entries.len() <= WALK {
            for (key, value) in entries {
                match kept.iter_mut().find(|(known, _)| same_key(known, &key)) {
                    Some(entry) => entry.1 = value,
                    None => kept.push((key, value)),
                }
            }
            return Self { entries: kept, sorted: Vec::new() };
        }
        // Positions by key, equal keys in their order: the first one stays, with the last value.
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by(|&a, &b| match (entries.get(a), entries.get(b)) {
            (Some((a, _)), Some((b, _))) => compare_keys(a, b),
            _ => Ordering::Equal,
        });
        let mut stands_for: Vec<usize> = (0..entries.len()).collect();
        let mut first = None::<usize>;
        for &at in &order {
            let equal = first.and_then(|first| entries.get(first)).zip(entries.get(at));
            match (equal, first) {
                (Some(((a, _), (b, _))), Some(first)) if same_key(a, b) => {
                    if let Some(slot) = stands_for.get_mut(at) {
                        *slot = first;
                    }
                }
                _ => first = Some(at),
            }
        }
        let mut places = vec![usize::MAX; entries.len()];
        for (at, (key, value)) in entries.into_iter().enumerate() {
            let stands = stands_for.get(at).copied().unwrap_or(at);
            if stands == at {
                if let Some(place) = places.get_mut(at) {
                    *place = kept.len();
                }
                kept.push((key, value));
            } else if let Some(entry) = places.get(stands).and_then(|at| kept.get_mut(*at)) {
                entry.1 = value;
            }
        }
        let sorted = order
            .into_iter()
            .filter_map(|at| places.get(at).copied().filter(|place| *place != usize::MAX))
            .filter_map(|place| u32::try_from(place).ok())
            .collect();
        Self { entries: kept, sorted }
    }

    /// Of keys that are known to differ.
    #[must_use]
    pub fn unique(entries: Vec<(Value, Value)>) -> Self {
        if entries.len() > WALK_UNIQUE {
            return Self::new(entries);
        }
        Self { entries, sorted: Vec::new() }
    }

    #[must_use]
    pub fn entries(&self) -> &[(Value, Value)] {
        &self.entries
    }

    #[must_use]
    pub fn find(&self, wanted: &str) -> Option<&Value> {
        if self.sorted.is_empty() {
            let found = self.entries.iter().find(|(key, _)| key.as_str() == Some(wanted));
            return found.map(|(_, value)| value);
        }
        self.search(|key| key.as_str().map_or(Ordering::Greater, |key| key.cmp(wanted)))
    }

    /// The value of a key in `sorted`; `order` is that of a key and the wanted one.
    fn search(&self, order: impl Fn(&Value) -> Ordering) -> Option<&Value> {
        let entry = |place: &u32| self.entries.get(*place as usize);
        let compare = |place: &u32| entry(place).map_or(Ordering::Greater, |(key, _)| order(key));
        let at = self.sorted.binary_search_by(compare).ok()?;
        self.sorted.get(at).and_then(entry).map(|(_, value)| value)
    }
}

/// As Python compares keys: `1`, `1.0` and `True` are one.
fn same_key(a: &Value, b: &Value) -> bool {
    match (a.as_str(), b.as_str()) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a == b,
        _ => false,
    }
}

/// Any order that puts equal keys together.
fn compare_keys(a: &Value, b: &Value) -> Ordering {
    match (a.as_str(), b.as_str()) {
        (Some(a), Some(b)) => a.cmp(b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

impl Object for Dict {
    fn class(&self) -> Type {
        Type::Dict
    }

    fn get_value(&self, key: &Value) -> Option<Value> {
        if let Some(key) = key.as_str() {
            return self.find(key).cloned();
        }
        if self.sorted.is_empty() || !same_key(key, key) {
            let found = self.entries.iter().find(|(known, _)| same_key(known, key));
            return found.map(|(_, value)| value.clone());
        }
        self.search(|known| compare_keys(known, key)).cloned()
    }

    fn get_value_by_str(&self, key: &str) -> Option<Value> {
        self.find(key).cloned()
    }

    fn enumerate(&self) -> Enumerator {
        Enumerator::Values(self.entries.iter().map(|(key, _)| key.clone()).collect())
    }

    fn enumerator_len(&self) -> Option<usize> {
        Some(self.entries.len())
    }

    fn is_true(&self) -> bool {
        !self.entries.is_empty()
    }
}
