//! Every filter of jinja2, with its answers and errors.

mod attributes;
mod choose;
mod groups;
mod html;
mod numbers;
mod order;
mod sequences;
mod sorting;
mod text;
mod values;

use crate::value::Error;
pub use groups::Group;

use super::call::Table;
use super::errors::unsupported;
use super::json_out;

pub static TABLE: Table = Table(&[
    ("abs", numbers::abs),
    ("attr", values::attr),
    ("batch", sequences::batch),
    ("capitalize", text::capitalize),
    ("center", text::center),
    ("count", sequences::length),
    ("d", values::default),
    ("default", values::default),
    ("dictsort", order::dictsort),
    ("e", html::escape),
    ("escape", html::escape),
    ("filesizeformat", numbers::filesizeformat),
    ("first", sequences::first),
    ("float", numbers::float),
    ("forceescape", html::forceescape),
    ("format", text::format),
    ("groupby", groups::groupby),
    ("indent", text::indent),
    ("int", numbers::int),
    ("items", sequences::items),
    ("join", sequences::join),
    ("last", sequences::last),
    ("length", sequences::length),
    ("list", sequences::list),
    ("lower", text::lower),
    ("map", choose::map),
    ("max", order::max),
    ("min", order::min),
    ("pprint", values::pprint),
    ("random", |_| Err(refused("random"))),
    ("reject", |call| choose::choose(call, false, false)),
    ("rejectattr", |call| choose::choose(call, false, true)),
    ("replace", text::replace),
    ("reverse", sequences::reverse),
    ("round", numbers::round),
    ("safe", html::safe),
    ("select", |call| choose::choose(call, true, false)),
    ("selectattr", |call| choose::choose(call, true, true)),
    ("slice", sequences::slice),
    ("sort", order::sort),
    ("string", values::string),
    ("striptags", html::striptags),
    ("sum", sequences::sum),
    ("title", text::title),
    ("tojson", json_out::tojson),
    ("trim", text::trim),
    ("truncate", text::truncate),
    ("unique", order::unique),
    ("upper", text::upper),
    ("urlencode", html::urlencode),
    ("urlize", |_| Err(refused("urlize"))),
    ("wordcount", text::wordcount),
    ("wordwrap", text::wordwrap),
    ("xmlattr", html::xmlattr),
]);

/// Filters that are there and do nothing else but say that they are not supported.
pub const REFUSED: [&str; 2] = ["random", "urlize"];

fn refused(name: &str) -> Error {
    unsupported(format!("filter {name}"), format!("the filter {name} is not supported"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(TABLE.is_sorted());
    }
}
