//! The one place that every call of a traced template goes through.

use super::plans::{plan, Aligned, Plan};
use super::text::Text;
use super::tracing::Tracing;
use super::values::{is_container, is_opaque, like, torn, Seen};
use crate::context::{dict, list};
use crate::marks::{Origin, TEMPLATE};
use crate::semantics::call::{joined, split, Call, Function, Kind};
use crate::semantics::repr;
use crate::value::{Error, Tuple, Value, ValueKind};

/// Shows plain texts to a function and marks its answer.
pub fn call(
    tracing: &Tracing,
    kind: Kind,
    name: &'static str,
    function: Function,
    call: &mut Call<'_>,
) -> Result<Value, Error> {
    if looks_inside(kind, name, call) {
        return whole(tracing, function, call);
    }
    match plan(kind, name, call.subject) {
        Plan::HandsOn => function(call),
        Plan::Whole => whole(tracing, function, call),
        Plan::Judges => judged(tracing, function, call),
        Plan::Elements => elements(tracing, function, call),
        Plan::SortsPairs => sorted_pairs(tracing, function, call),
        Plan::LooksUp => looked_up(tracing, function, call),
        Plan::Chooses => chosen(tracing, function, call),
        Plan::Copies => copied(tracing, function, call),
        Plan::Aligns(how) => aligned(tracing, how, function, call),
        Plan::Replaces => replaced(tracing, function, call),
        Plan::Concatenates => concatenated(tracing, function, call),
    }
}

/// Lists and dictionaries are printed by a function that sees plain texts; texts keep theirs.
pub fn printed(tracing: &Tracing, value: &Value) -> Result<Value, Error> {
    let is_object = value.kind() == ValueKind::Plain && is_opaque(value);
    // A generator prints as what it is, and must not be used up.
    if value.kind() == ValueKind::Iterable || !(is_container(value) || is_object) {
        return Ok(value.clone());
    }
    let mut seen = Seen::default();
    let plain = tracing.plain(value, &mut seen)?;
    let text = Value::from(repr::text(&plain)?);
    if seen.opaque {
        tracing.meet(&mut seen, super::paths::REQUEST);
    }
    tracing.marked(text, seen.origin)
}

/// Whether a function chooses characters of a text by itself: `map(attribute=0)`, `'{0[1]}'`.
fn looks_inside(kind: Kind, name: &str, call: &Call<'_>) -> bool {
    let place = match name {
        "format" if kind == Kind::Method => {
            let format = call.subject.as_str().unwrap_or_default();
            let mut fields = format.split('{').skip(1).filter_map(|rest| rest.split('}').next());
            return fields.any(|field| field.contains('['));
        }
        "selectattr" | "rejectattr" | "groupby" | "sum" => 0,
        "join" => 1,
        "map" => usize::MAX,
        _ => return false,
    };
    let attribute = call.args.get(place).cloned().or_else(|| call.kwargs.get("attribute"));
    attribute.is_some_and(|attribute| match attribute.as_str() {
        Some(path) => path.split('.').any(|step| step.bytes().all(|byte| byte.is_ascii_digit())),
        None => attribute.is_number(),
    })
}

/// All that a call is given, without marks.
struct Plain {
    subject: Value,
    /// With the keywords as their last.
    args: Vec<Value>,
    of_subject: Seen,
    of_args: Seen,
}

impl Plain {
    fn of(tracing: &Tracing, call: &Call<'_>) -> Result<Self, Error> {
        let (mut of_subject, mut of_args) = (Seen::default(), Seen::default());
        let subject = tracing.plain(call.subject, &mut of_subject)?;
        let args = mapped(call, |value| tracing.plain(value, &mut of_args))?;
        Ok(Self { subject, args, of_subject, of_args })
    }

    fn ask(&self, function: Function, call: &mut Call<'_>) -> Result<Value, Error> {
        ask(function, call, &self.subject, &self.args)
    }

    fn origin(&self, tracing: &Tracing) -> Origin {
        let mut all = self.of_subject;
        tracing.meet(&mut all, self.of_args.origin);
        if self.of_subject.opaque || self.of_args.opaque {
            tracing.meet(&mut all, super::paths::REQUEST);
        }
        all.origin
    }
}

/// The arguments and keywords, each through `change`.
fn mapped(
    call: &Call<'_>,
    mut change: impl FnMut(&Value) -> Result<Value, Error>,
) -> Result<Vec<Value>, Error> {
    let args = call.args.iter().map(&mut change).collect::<Result<Vec<_>, _>>()?;
    let mut kwargs = Vec::new();
    for (name, value) in call.kwargs.pairs() {
        kwargs.push((name, change(&value)?));
    }
    Ok(joined(&args, kwargs))
}

fn ask(
    function: Function,
    call: &mut Call<'_>,
    subject: &Value,
    args: &[Value],
) -> Result<Value, Error> {
    let (args, kwargs) = split(args);
    function(&mut Call { state: call.state, subject, args, kwargs })
}

fn whole(tracing: &Tracing, function: Function, call: &mut Call<'_>) -> Result<Value, Error> {
    let plain = Plain::of(tracing, call)?;
    let answer = plain.ask(function, call)?;
    tracing.marked(answer, plain.origin(tracing))
}

/// Containers are compared with containers only, so that most are not walked through.
fn judged(tracing: &Tracing, function: Function, call: &mut Call<'_>) -> Result<Value, Error> {
    let mut seen = Seen::default();
    let is_seq = |value: &Value| matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable);
    let has_lists = is_seq(call.subject) || call.args.iter().any(is_seq);
    let both = is_container(call.subject) && call.args.iter().any(is_container);
    let is_asked_alone = call.args.is_empty() && call.kwargs.is_empty();
    let mut change = |value: &Value| {
        if is_container(value) && !both && (is_asked_alone || !has_lists) {
            return Ok(value.clone());
        }
        tracing.plain(value, &mut seen)
    };
    let subject = change(call.subject)?;
    let args = mapped(call, change)?;
    ask(function, call, &subject, &args)
}

fn elements(tracing: &Tracing, function: Function, call: &mut Call<'_>) -> Result<Value, Error> {
    let subject = match call.subject.kind() {
        ValueKind::Map => tracing.with_marked_keys(call.subject)?,
        ValueKind::String => match tracing.text(call.subject)? {
            Some(text) if text.origins().any(|origin| origin != TEMPLATE) => {
                let one = |(character, origin): (char, Origin)| {
                    Value::from(tracing.marks.marked(&character.to_string(), origin))
                };
                list(text.characters().map(one).collect())
            }
            _ => return function(call),
        },
        _ => return function(call),
    };
    let args = mapped(call, |value| Ok(value.clone()))?;
    ask(function, call, &subject, &args)
}

fn sorted_pairs(
    tracing: &Tracing,
    function: Function,
    call: &mut Call<'_>,
) -> Result<Value, Error> {
    if call.subject.kind() != ValueKind::Map {
        return whole(tracing, function, call);
    }
    let plain = Plain::of(tracing, call)?;
    let sorted = plain.ask(function, call)?;
    let marked = tracing.with_marked_keys(call.subject)?;
    let mut by_key = Vec::new();
    for key in marked.try_iter()? {
        let value = marked.get_item(&key)?;
        let plain = tracing.plain(&key, &mut Seen::default())?;
        by_key.push((plain, Value::from(Tuple::from([key, value]))));
    }
    let by_key = dict(by_key);
    let pairs = sorted.try_iter()?.map(|pair| by_key.get_item(&pair.get_item_by_index(0)?));
    Ok(list(pairs.collect::<Result<_, _>>()?))
}

fn looked_up(tracing: &Tracing, function: Function, call: &mut Call<'_>) -> Result<Value, Error> {
    let mut args = mapped(call, |value| Ok(value.clone()))?;
    if let Some(key) = args.first_mut() {
        *key = tracing.plain(key, &mut Seen::default())?;
    }
    let subject = call.subject.clone();
    ask(function, call, &subject, &args)
}

/// A list of the numbers of the characters goes through the same function as the text.
fn chosen(tracing: &Tracing, function: Function, call: &mut Call<'_>) -> Result<Value, Error> {
    let Some(text) = tracing.text(call.subject)? else { return function(call) };
    let plain = Plain::of(tracing, call)?;
    let answer = plain.ask(function, call)?;
    if text.origins().all(|origin| origin == plain.of_subject.origin) {
        return tracing.marked(answer, plain.of_subject.origin);
    }
    let numbers = list((0..text.plain().chars().count()).map(Value::from).collect());
    let places = ask(function, call, &numbers, &plain.args)?;
    let places: Option<Vec<usize>> = match places.as_usize() {
        Some(place) => Some(vec![place]),
        None => places.try_iter()?.map(|place| place.as_usize()).collect(),
    };
    let traced = places.and_then(|places| text.chosen(places.into_iter()));
    believed(tracing, answer, traced, plain.origin(tracing))
}

/// The traced text, if it is the answer; else the answer, all of one origin.
fn believed(
    tracing: &Tracing,
    answer: Value,
    traced: Option<Text>,
    origin: Origin,
) -> Result<Value, Error> {
    match traced {
        Some(text) if answer.as_str() == Some(text.plain()) => {
            Ok(like(&answer, &text.write(tracing.marks)))
        }
        _ => tracing.marked(answer, origin),
    }
}

fn copied(tracing: &Tracing, function: Function, call: &mut Call<'_>) -> Result<Value, Error> {
    // What can be walked once only is walked here, for both.
    let kept = |value: &Value| match value.kind() {
        ValueKind::Iterable => Ok(list(value.try_iter()?.collect())),
        _ => Ok(value.clone()),
    };
    let subject = kept(call.subject)?;
    let args = mapped(call, kept)?;
    let (rest, kwargs) = split(&args);
    let call = &mut Call { state: call.state, subject: &subject, args: rest, kwargs };
    let plain = Plain::of(tracing, call)?;
    let origin = plain.origin(tracing);
    let answer = plain.ask(function, call)?;
    if origin == TEMPLATE || plain.of_subject.opaque || plain.of_args.opaque {
        return tracing.marked(answer, origin);
    }
    let subject = tracing.with_all_keys_marked(call.subject, 0)?;
    let args = mapped(call, |value| tracing.with_all_keys_marked(value, 0))?;
    let marked = ask(function, call, &subject, &args).ok();
    let traced = marked.and_then(|marked| tracing.text(&marked).ok().flatten());
    believed(tracing, answer, traced, origin)
}

fn aligned(
    tracing: &Tracing,
    how: Aligned,
    function: Function,
    call: &mut Call<'_>,
) -> Result<Value, Error> {
    let Some(text) = tracing.text(call.subject)? else { return whole(tracing, function, call) };
    let plain = Plain::of(tracing, call)?;
    let answer = plain.ask(function, call)?;
    let origin = plain.origin(tracing);
    if let Some(words) = answer.as_str() {
        let traced = match how {
            Aligned::Stripped => text.stripped(words),
            Aligned::Beginning => text.beginning(words),
            Aligned::Ending => text.ending(words),
            Aligned::CharacterByCharacter => text.character_by_character(words),
            // The indentation itself may be of a sender.
            Aligned::Indented if plain.of_args.origin == TEMPLATE => text.indented(words),
            _ => None,
        };
        return believed(tracing, answer, traced, origin);
    }
    if !matches!(how, Aligned::Pieces | Aligned::Split) {
        return tracing.marked(answer, origin);
    }
    let pieces: Vec<Value> = answer.try_iter()?.collect();
    let words: Option<Vec<&str>> = pieces.iter().map(Value::as_str).collect();
    let separator = match how {
        Aligned::Split => split(&plain.args).0.first().and_then(Value::as_str),
        _ => None,
    };
    let traced = words.and_then(|words| text.pieces(&words, separator)).ok_or_else(torn)?;
    let traced = traced.iter().map(|piece| Value::from(piece.write(tracing.marks)));
    Ok(if answer.is_tuple() {
        Value::from(Tuple::from(traced.collect::<Vec<_>>()))
    } else {
        list(traced.collect())
    })
}

fn replaced(tracing: &Tracing, function: Function, call: &mut Call<'_>) -> Result<Value, Error> {
    let plain = Plain::of(tracing, call)?;
    let answer = plain.ask(function, call)?;
    let origin = plain.origin(tracing);
    let [old, new, count] = call.bind("replace", 0, ["old", "new", "count"])?;
    let (text, new) = (tracing.text(call.subject)?, new.map(|new| tracing.text(&new)));
    let (Some(text), Some(Some(new)), Some(old)) = (text, new.transpose()?, old) else {
        return tracing.marked(answer, origin);
    };
    let old = tracing.plain(&old, &mut Seen::default())?;
    let count = count.and_then(|count| count.as_usize()).unwrap_or(usize::MAX);
    let words = answer.as_str().unwrap_or_default();
    let traced = text.replaced(old.as_str().unwrap_or_default(), &new, count, words);
    believed(tracing, answer, traced, origin)
}

fn concatenated(
    tracing: &Tracing,
    function: Function,
    call: &mut Call<'_>,
) -> Result<Value, Error> {
    let subject = printed(tracing, call.subject)?;
    let mut args = Vec::with_capacity(call.args.len());
    for value in call.args {
        args.push(printed(tracing, value)?);
    }
    ask(function, call, &subject, &args)
}
