//! Templates on stdin, each ended by a NUL byte; on stdout, for each, what `translate` makes of it
//! for the dialect of the first argument: `+source` or `-kind line column message`.

use std::io::{Read, Write};

use minijinja::syntax::SyntaxConfig;
use minijinja::Environment;
use pywasmtok_template::front::{translate, Dialect};
use pywasmtok_template::limits::Limits;

fn answer(template: &str, dialect: Dialect) -> String {
    let translated = match translate(template, dialect, &Limits::default()) {
        Ok(translated) => translated,
        Err(error) => {
            let (line, column) = (error.line.unwrap_or(0), error.column.unwrap_or(0));
            return format!("-{:?} {line} {column} {}", error.kind, error.message);
        }
    };
    if let Some(error) = translated.unsupported.first() {
        let (line, column) = (error.line.unwrap_or(0), error.column.unwrap_or(0));
        return format!("-{:?} {line} {column} {}", error.kind, error.message);
    }
    let mut environment = Environment::empty();
    environment.set_syntax(
        SyntaxConfig::builder().keep_trailing_newline(true).build().unwrap_or_default(),
    );
    if let Err(error) = environment.add_template("chat", &translated.source) {
        return format!("!{error}\n{}", translated.source);
    }
    format!("+{}", translated.source)
}

fn main() -> std::io::Result<()> {
    let dialect = match std::env::args().nth(1).as_deref() {
        Some("traced") => Dialect::Traced,
        _ => Dialect::Sandbox,
    };
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input)?;
    let mut out = std::io::stdout().lock();
    for template in input.split_terminator('\0') {
        out.write_all(answer(template, dialect).replace('\0', "\\0").as_bytes())?;
        out.write_all(&[0])?;
    }
    Ok(())
}
