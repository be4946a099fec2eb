//! `strftime_now`: Python's `strftime` over glibc's, in the C locale.

use crate::semantics::call::Call;
use crate::semantics::errors::{limit_error, type_error, unsupported, value_error};
use crate::semantics::kinds::{type_name, Type};
use crate::semantics::session::Clock;
use crate::value::{Error, Value};

const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub fn strftime_now(call: &mut Call<'_>) -> Result<Value, Error> {
    let [format] = call.bind("strftime_now", 1, ["format"])?;
    let format = format.unwrap_or_default();
    let Some(text) = format.as_str().filter(|_| Type::of(&format).is_text()) else {
        return Err(type_error(format!(
            "strftime() argument 1 must be str, not {}",
            type_name(&format)
        )));
    };
    let session = call.session();
    let Some(clock) = &session.clock else {
        return Err(unsupported("clock", "strftime_now() needs a clock, and none was given"));
    };
    strftime(clock, text, session.limits.output).map(Value::from)
}

/// `datetime.strftime(format)`, at most `cap` bytes.
pub fn strftime(clock: &Clock, format: &str, cap: usize) -> Result<String, Error> {
    if format.contains('\0') {
        return Err(value_error("embedded null character"));
    }
    library(clock, &filled(clock, format), cap)
}

/// What Python fills in by itself, before the library of the system sees the rest.
fn filled(clock: &Clock, format: &str) -> String {
    let mut out = String::new();
    let mut rest = format;
    while let Some((plain, after)) = rest.split_once('%') {
        out.push_str(plain);
        let mut characters = after.chars();
        match characters.next() {
            None => out.push('%'),
            Some('f') => out.push_str(&format!("{:06}", clock.microsecond)),
            Some('z') => out.push_str(&clock.offset()),
            Some('Z') => out.push_str(&clock.zone_name().replace('%', "%%")),
            Some(other) => out.extend(['%', other]),
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    out
}

/// glibc's `strftime` in the C locale.
fn library(clock: &Clock, format: &str, cap: usize) -> Result<String, Error> {
    let mut out = String::new();
    let mut rest = format;
    while let Some((plain, after)) = rest.split_once('%') {
        out.push_str(plain);
        let (directive, after) = Directive::read(after);
        out.push_str(&directive.write(clock, cap)?);
        if out.len() > cap {
            return Err(too_long(cap));
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

fn too_long(cap: usize) -> Error {
    limit_error("output", format!("a date longer than {cap} bytes"))
}

/// `%[flags][width][E or O]letter`.
struct Directive<'a> {
    /// `_`, `-` or `0`; the last one counts.
    padding: Option<char>,
    upper: bool,
    swapped: bool,
    width: usize,
    modifier: Option<char>,
    /// None: the text ends before the letter does come.
    letter: Option<char>,
    /// As it stands, without the percent sign.
    written: &'a str,
}

/// How a part is written.
enum Part {
    /// A number, its least digits, and what fills them.
    Number(i64, usize, char),
    Text(String),
}

impl<'a> Directive<'a> {
    /// Reads what stands behind a percent sign; answers what follows, too.
    fn read(text: &'a str) -> (Self, &'a str) {
        let mut characters = text.chars();
        let mut next = characters.next();
        let (mut padding, mut upper, mut swapped) = (None, false, false);
        loop {
            match next {
                Some('_' | '-' | '0') => padding = next,
                Some('^') => upper = true,
                Some('#') => swapped = true,
                _ => break,
            }
            next = characters.next();
        }
        let mut width = 0_usize;
        while let Some(digit) = next.and_then(|next| next.to_digit(10)) {
            width = width.saturating_mul(10).saturating_add(digit as usize);
            next = characters.next();
        }
        let mut modifier = None;
        if matches!(next, Some('E' | 'O')) {
            modifier = next;
            next = characters.next();
        }
        let after = characters.as_str();
        let written = text.strip_suffix(after).unwrap_or(text);
        (Self { padding, upper, swapped, width, modifier, letter: next, written }, after)
    }

    fn write(&self, clock: &Clock, cap: usize) -> Result<String, Error> {
        if self.width > cap {
            return Err(too_long(cap));
        }
        let part = match self.letter {
            // A time without a zone has none to pad.
            Some('z') if clock.zone.is_none() && self.is_known('z') => return Ok(String::new()),
            Some(letter) if self.is_known(letter) => self.part(letter, clock, cap)?,
            // A sign of its own.
            Some('%') => Part::Text("%".to_owned()),
            _ => Part::Text(format!("%{}", self.written)),
        };
        Ok(match part {
            Part::Text(text) => self.padded_text(text),
            Part::Number(value, digits, fill) => self.padded_number(value, digits, fill),
        })
    }

    /// Whether there is such a directive with this modifier; what is none is written as it stands.
    fn is_known(&self, letter: char) -> bool {
        let allowed = match self.modifier {
            None => "aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYzZ%",
            Some('E') => "cCnpPrRstTuxXyYzZ",
            Some(_) => "bBCdeghGHIjklmMnpPrRsStTuUVwWyzZ",
        };
        allowed.contains(letter)
    }

    fn part(&self, letter: char, clock: &Clock, cap: usize) -> Result<Part, Error> {
        let number = |value: i64, digits: usize| Part::Number(value, digits, '0');
        let spaced = |value: i64, digits: usize| Part::Number(value, digits, ' ');
        let composed = |format: &str| library(clock, format, cap).map(Part::Text);
        let year = i64::from(clock.year);
        let hour = i64::from(clock.hour);
        let (weekday, day_of_year) = (clock.weekday(), clock.day_of_year());
        let name = |names: &[&str], at: i64, short: bool| {
            let name = usize::try_from(at).ok().and_then(|at| names.get(at)).copied();
            let name = name.unwrap_or("?");
            Part::Text(if short { name.get(..3).unwrap_or(name) } else { name }.to_owned())
        };
        let month = i64::from(clock.month) - 1;
        Ok(match letter {
            'a' => name(&DAYS, weekday, true),
            'A' => name(&DAYS, weekday, false),
            'b' | 'h' => name(&MONTHS, month, true),
            'B' => name(&MONTHS, month, false),
            'c' => composed("%a %b %e %H:%M:%S %Y")?,
            'C' => number(year.div_euclid(100), 1),
            'd' => number(i64::from(clock.day), 2),
            'D' | 'x' => composed("%m/%d/%y")?,
            'e' => spaced(i64::from(clock.day), 2),
            'F' => composed("%Y-%m-%d")?,
            'g' => number(clock.iso_week().0.rem_euclid(100), 2),
            'G' => number(clock.iso_week().0, 1),
            'H' => number(hour, 2),
            'I' => number((hour + 11) % 12 + 1, 2),
            'j' => number(day_of_year, 3),
            'k' => spaced(hour, 2),
            'l' => spaced((hour + 11) % 12 + 1, 2),
            'm' => number(month + 1, 2),
            'M' => number(i64::from(clock.minute), 2),
            'n' => Part::Text("\n".to_owned()),
            'p' | 'P' => Part::Text(if hour < 12 { "AM" } else { "PM" }.to_owned()),
            'r' => composed("%I:%M:%S %p")?,
            'R' => composed("%H:%M")?,
            's' => spaced(clock.seconds_since_1970(), 1),
            'S' => number(i64::from(clock.second), 2),
            't' => Part::Text("\t".to_owned()),
            'T' | 'X' => composed("%H:%M:%S")?,
            'u' => number((weekday + 6) % 7 + 1, 1),
            'U' => number((day_of_year + 6 - weekday) / 7, 2),
            'V' => number(clock.iso_week().1, 2),
            'w' => number(weekday, 1),
            'W' => number((day_of_year + 6 - (weekday + 6) % 7) / 7, 2),
            'y' => number(year.rem_euclid(100), 2),
            'Y' => number(year, 1),
            'z' => Part::Text(clock.offset()),
            'Z' => Part::Text(clock.zone_name()),
            _ => Part::Text("%".to_owned()),
        })
    }

    fn padded_text(&self, text: String) -> String {
        let lower = match self.letter {
            Some('P') => true,
            Some('p' | 'Z') => self.swapped,
            _ => false,
        };
        let names = self.letter.is_some_and(|letter| "aAbBh".contains(letter));
        let text = if lower {
            text.to_lowercase()
        } else if self.upper || (self.swapped && names) {
            text.to_uppercase()
        } else {
            text
        };
        let missing = self.width.saturating_sub(text.chars().count());
        let fill = if self.padding == Some('0') { '0' } else { ' ' };
        let mut out: String = std::iter::repeat_n(fill, missing).collect();
        out.push_str(&text);
        out
    }

    fn padded_number(&self, value: i64, digits: usize, fill: char) -> String {
        let fill = match self.padding {
            Some('_') => ' ',
            Some('0') => '0',
            _ => fill,
        };
        let text = value.unsigned_abs().to_string();
        let sign = if value < 0 { "-" } else { "" };
        let fill = if self.padding == Some('-') { ' ' } else { fill };
        let least = if self.padding == Some('-') { self.width } else { digits.max(self.width) };
        let missing = least.saturating_sub(text.len() + sign.len());
        let padding: String = std::iter::repeat_n(fill, missing).collect();
        if fill == ' ' {
            format!("{padding}{sign}{text}")
        } else {
            format!("{sign}{padding}{text}")
        }
    }
}

impl Clock {
    /// Days since the first of January 1970.
    fn days(&self) -> i64 {
        let (year, month) = (i64::from(self.year), i64::from(self.month));
        let year = if month <= 2 { year - 1 } else { year };
        let era = year.div_euclid(400);
        let of_era = year.rem_euclid(400);
        let of_year = (153 * ((month + 9) % 12) + 2) / 5 + i64::from(self.day) - 1;
        era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
    }

    /// From 0 for Sunday.
    fn weekday(&self) -> i64 {
        (self.days() + 4).rem_euclid(7)
    }

    /// From 1.
    fn day_of_year(&self) -> i64 {
        let first = Self { month: 1, day: 1, ..self.clone() };
        self.days() - first.days() + 1
    }

    /// Year and week of ISO 8601.
    fn iso_week(&self) -> (i64, i64) {
        // The week belongs to the year that has its Thursday.
        let thursday = self.days() - (self.weekday() + 6) % 7 + 3;
        let start_of = |year: i32| Self { year, month: 1, day: 1, ..self.clone() }.days();
        let year = (self.year.saturating_sub(1)..=self.year.saturating_add(1))
            .rev()
            .find(|year| start_of(*year) <= thursday)
            .unwrap_or(self.year);
        (i64::from(year), (thursday - start_of(year)) / 7 + 1)
    }

    fn seconds_since_1970(&self) -> i64 {
        let of_day =
            i64::from(self.hour) * 3600 + i64::from(self.minute) * 60 + i64::from(self.second);
        let east = self.zone.as_ref().map_or(0, |(east, _)| i64::from(*east));
        self.days() * 86_400 + of_day - east
    }

    /// `+HHMM`, with seconds if there are any; nothing without a zone.
    fn offset(&self) -> String {
        let Some((east, _)) = &self.zone else { return String::new() };
        let sign = if *east < 0 { '-' } else { '+' };
        let east = east.unsigned_abs();
        let mut out = format!("{sign}{:02}{:02}", east / 3600, east / 60 % 60);
        if east % 60 != 0 {
            out.push_str(&format!("{:02}", east % 60));
        }
        out
    }

    fn zone_name(&self) -> String {
        self.zone.as_ref().map(|(_, name)| name.clone()).unwrap_or_default()
    }
}
