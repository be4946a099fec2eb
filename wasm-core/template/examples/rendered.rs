//! Templates on stdin, each ended by a NUL byte; on stdout, for each, `+text` or `-kind line message`.
//! The first argument is a context as JSON.

use pywasmtok_template::value::Value;
use std::error::Error;
use std::io::{Read, Write};

use pywasmtok_template::context::parse_json;
use pywasmtok_template::limits::Limits;
use pywasmtok_template::render::{Options, Template};

fn answer(source: &str, context: &Value) -> String {
    let rendered = Template::compile(source, true, &Limits::default())
        .and_then(|template| template.render(context.clone(), &Options::default()));
    match rendered {
        Ok(rendered) => format!("+{}", rendered.text),
        Err(error) => {
            let line = error.line.unwrap_or(0);
            format!("-{:?} {line} {}", error.kind, error.message)
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let context = std::env::args().nth(1).unwrap_or_else(|| "{}".to_owned());
    let context = parse_json(context.as_bytes(), 128)?;
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input)?;
    let mut out = std::io::stdout().lock();
    for template in input.split_terminator('\0') {
        out.write_all(answer(template, &context).replace('\0', "\\0").as_bytes())?;
        out.write_all(&[0])?;
    }
    Ok(())
}
