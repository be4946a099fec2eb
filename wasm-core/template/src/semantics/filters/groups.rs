//! `groupby`: tuples of a value and the items that have it, whose parts have names, too.

use crate::semantics::kinds::Type;
use crate::value::{Enumerator, Error, Object, Value};
use std::fmt;

use super::attributes::{ignore_case, Path};
use super::order::{sortable, truth};
use super::sorting::sort;
use crate::semantics::call::Call;
use crate::semantics::iterate;
use crate::semantics::operators::compare::{equal, less};

/// Prints as a tuple.
pub struct Group {
    grouper: Value,
    list: Value,
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({:?}, {:?})", self.grouper, self.list)
    }
}

impl Object for Group {
    fn class(&self) -> Type {
        Type::Tuple
    }

    fn get_value(&self, key: &Value) -> Option<Value> {
        match (key.as_usize(), key.as_str()) {
            (Some(0), _) | (_, Some("grouper")) => Some(self.grouper.clone()),
            (Some(1), _) | (_, Some("list")) => Some(self.list.clone()),
            _ => None,
        }
    }

    fn enumerate(&self) -> Enumerator {
        Enumerator::Seq(2)
    }
}

pub fn groupby(call: &mut Call<'_>) -> Result<Value, Error> {
    let [attribute, default, case_sensitive] =
        call.bind("do_groupby", 1, ["attribute", "default", "case_sensitive"])?;
    let case_sensitive = truth(case_sensitive.as_ref());
    let default = default.filter(|default| !default.is_none());
    let path = Path::of(attribute.as_ref())?;
    let mut keyed = Vec::new();
    for item in iterate::items(call.subject)? {
        let value = path.get_or(&item, default.as_ref())?;
        keyed.push((sortable(ignore_case(value.clone(), case_sensitive))?, value, item));
    }
    let mut groups: Vec<(Value, Value, Vec<Value>)> = Vec::new();
    for (key, value, item) in sort(keyed, &mut |a, b| less(&a.0, &b.0))? {
        match groups.last_mut() {
            Some(group) if equal(&group.0, &key)? => group.2.push(item),
            _ => groups.push((key, value, vec![item])),
        }
    }
    let groups = groups
        .into_iter()
        .map(|(_, grouper, items)| Value::from_object(Group { grouper, list: Value::from(items) }));
    Ok(Value::from(groups.collect::<Vec<_>>()))
}
