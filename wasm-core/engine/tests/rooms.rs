//! The rooms of the engine: a folder uses what lies below it, and nothing that uses the folder.
//!
//! The sources are read for their paths. In each folder, the files and the folders in it are what
//! may use each other. A circle of files alone is allowed, one with a folder in it is not. Test code
//! is exempt.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};

/// By module, as the names that lead to it from the crate: the code of its file.
type Sources = BTreeMap<Vec<String>, String>;

/// By what uses and what is used: a path that shows it.
type Edges = BTreeMap<String, BTreeMap<String, String>>;

#[test]
fn no_folder_uses_what_uses_it() -> io::Result<()> {
    let mut sources = Sources::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &[], &mut sources)?;
    let circles = circles(&sources);
    assert!(circles.is_empty(), "these uses close a circle:\n{}", circles.join("\n"));
    Ok(())
}

#[test]
fn circles_are_found() {
    let found = |files: &[(&str, &str)]| {
        let module = |path: &str| path.split_terminator('/').map(String::from).collect();
        circles(&files.iter().map(|(path, code)| (module(path), (*code).into())).collect())
    };
    let upper = ("upper", "mod inner; use crate::{lower::Low, other::{self, b::C}};");
    let inner = ("upper/inner", "pub struct High;");
    let low = |code| found(&[("", "mod upper; mod lower;"), upper, inner, ("lower", code)]);
    assert_eq!(low("pub struct Low;"), [""; 0]);
    let circle = low("fn low() -> super::upper::inner::High { High }");
    let (back, there) = ("lower -> upper: lower has super::upper::inner::High", "upper -> lower");
    assert_eq!((circle[0].as_str(), &circle[1][..there.len()], circle.len()), (back, there, 2));
    // Test code, comments, texts and what is below a module of the file are no uses.
    assert_eq!(low("#[cfg(test)] mod tests { use crate::upper::inner::High; }"), [""; 0]);
    assert_eq!(low("#[cfg(test)] fn high(_: [u8; 4]) -> crate::upper::X { X }"), [""; 0]);
    assert_eq!(low("// crate::upper\n/* crate::upper */ const A: (char, &str);"), [""; 0]);
    assert_eq!(low(r#"const A: &str = "\"crate::upper::X"; const B: char = '"';"#), [""; 0]);
    assert_eq!(low("mod words { use super::WIDTH; } fn a<'a>(_: &'a u8) {}"), [""; 0]);
    assert_eq!(low("mod words { use super::super::upper::X; }").len(), 2);
    // Files beside each other may use each other, but not in a circle that has a folder in it.
    let beside = [("", ""), ("a", "use crate::b::B;"), ("b", "use crate::a::A;")];
    assert_eq!(found(&beside), [""; 0]);
    let from_folder = [("", ""), ("a", "use crate::b::B;"), ("b", ""), ("b/c", "use crate::a::A;")];
    assert_eq!(found(&from_folder).len(), 2);
    // A module that exists for tests only is exempt with all that is in it.
    let (a, p) = (("a", "use crate::o::O;"), ("o/p", "use crate::a::A;"));
    assert_eq!(found(&[("", "#[cfg(test)] mod o;"), a, ("o", ""), p]), [""; 0]);
    assert_eq!(found(&[("", "mod o;"), a, ("o", ""), p]).len(), 2);
}

fn read(folder: &Path, module: &[String], sources: &mut Sources) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
        let below = module.iter().cloned().chain(name.clone()).collect::<Vec<_>>();
        if path.is_dir() {
            read(&path, &below, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let is_folder = name.is_some_and(|name| ["lib", "mod"].contains(&name.as_str()));
            let module = if is_folder { module.to_vec() } else { below };
            sources.insert(module, fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

/// The uses that are part of a circle with a folder in it.
fn circles(sources: &Sources) -> Vec<String> {
    let mut uses = Vec::new();
    let mut exempt = BTreeSet::new();
    for (module, code) in sources {
        let (paths, for_tests) = paths(&tokens(code));
        exempt.extend(for_tests.into_iter().map(|name| [module.as_slice(), &[name]].concat()));
        for (path, depth) in paths {
            if let Some(target) = resolve(sources, module, &path, depth) {
                uses.push((module, target, path.join("::")));
            }
        }
    }
    let is_exempt = |module: &[String]| exempt.iter().any(|exempt| module.starts_with(exempt));
    uses.retain(|(from, to, _)| !is_exempt(from) && !is_exempt(to));

    let folders: BTreeSet<&[String]> =
        sources.keys().flat_map(|module| (0..module.len()).map(|n| &module[..n])).collect();
    let mut found = Vec::new();
    for folder in &folders {
        // A file of the folder, a folder in it, or its own `mod.rs`, which has no name.
        let node = |module: &[String]| {
            let below = module.strip_prefix(*folder)?;
            Some(below.first().cloned().unwrap_or_default())
        };
        let mut edges = Edges::new();
        for (from, to, path) in &uses {
            if let (Some(one), Some(other)) = (node(from), node(to)) {
                // The root of the crate declares all and is used by none.
                if one != other && !(folder.is_empty() && (one.is_empty() || other.is_empty())) {
                    let place = || format!("{} has {path}", from.join("::"));
                    edges.entry(one).or_default().entry(other).or_insert_with(place);
                }
            }
        }
        let is_folder =
            |node: &str| folders.contains([folder, &[node.to_owned()][..]].concat().as_slice());
        for (one, others) in &edges {
            let circle: BTreeSet<_> = reached(&edges, one)
                .into_iter()
                .filter(|node| reached(&edges, node).contains(one))
                .collect();
            if circle.iter().any(|node| is_folder(node)) {
                for (other, place) in others.iter().filter(|(other, _)| circle.contains(other)) {
                    // The `mod.rs` of a folder goes by the name of the folder.
                    let name = |node: &str| {
                        [folder.join("::").as_str(), node].join("::").trim_matches(':').to_owned()
                    };
                    found.push(format!("{} -> {}: {place}", name(one), name(other)));
                }
            }
        }
    }
    found
}

fn reached<'e>(edges: &'e Edges, from: &'e str) -> BTreeSet<&'e String> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(next) = open.pop() {
        let used = edges.get(next).into_iter().flat_map(BTreeMap::keys);
        open.extend(used.filter(|node| reached.insert(*node)).map(String::as_str));
    }
    reached
}

/// The module that a path leads into, out of a module of the file or of one written in it.
fn resolve(
    sources: &Sources,
    module: &[String],
    path: &[String],
    mut depth: usize,
) -> Option<Vec<String>> {
    let mut at = module.to_vec();
    let mut names = path.iter().peekable();
    match path.first()?.as_str() {
        "crate" => {
            at.clear();
            names.next();
        }
        "self" | "super" => {
            while let Some(name) = names.next_if(|name| ["self", "super"].contains(&name.as_str()))
            {
                if name == "super" && depth > 0 {
                    depth -= 1;
                } else if name == "super" {
                    at.pop()?;
                }
            }
        }
        child if !sources.contains_key(&[module, &[child.to_owned()]].concat()) => return None,
        _ => {}
    }
    for name in names {
        let below = [at.as_slice(), std::slice::from_ref(name)].concat();
        if !sources.contains_key(&below) {
            break;
        }
        at = below;
    }
    Some(at)
}

/// Names and signs, without comments, texts and characters.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let length = match first {
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            _ if rest.starts_with("r#\"") => rest.find("\"#").map_or(rest.len(), |at| at + 2),
            '"' => text_length(rest),
            '\'' if rest.starts_with("'\\") => rest[3..].find('\'').map_or(rest.len(), |at| at + 4),
            '\'' => match rest.char_indices().nth(2) {
                Some((at, '\'')) => at + 1,
                _ => 1,
            },
            _ if is_name(first) => {
                let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
                tokens.push(&rest[..length]);
                length
            }
            _ => {
                let length = if rest.starts_with("::") { 2 } else { first.len_utf8() };
                tokens.push(rest[..length].trim());
                length
            }
        };
        rest = &rest[length..];
    }
    tokens.retain(|token| !token.is_empty());
    tokens
}

fn text_length(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    rest.len()
}

/// The paths of a file, each with how many modules are written around it, and the modules that it
/// declares for tests.
fn paths(tokens: &[&str]) -> (Vec<(Vec<String>, usize)>, Vec<String>) {
    let (mut paths, mut for_tests) = (Vec::new(), Vec::new());
    // Of the modules written here: how many braces were open where each began.
    let (mut at, mut braces, mut inside) = (0, 0, Vec::new());
    while at < tokens.len() {
        let rest = &tokens[at..];
        if rest.starts_with(&["#", "[", "cfg", "(", "test", ")", "]"]) {
            let item = &rest[7..];
            let name = item.windows(3).find(|three| three[0] == "mod" || three[2] == "{");
            if let Some(["mod", name, ";"]) = name {
                for_tests.push((*name).to_owned());
            }
            at += 7 + item_length(item);
            continue;
        }
        match rest {
            ["mod", _, "{", ..] => {
                inside.push(braces);
                braces += 1;
                at += 3;
            }
            ["{", ..] => {
                braces += 1;
                at += 1;
            }
            ["}", ..] => {
                braces -= 1;
                inside.retain(|open| *open < braces);
                at += 1;
            }
            [_, "::", ..] if at == 0 || tokens[at - 1] != "::" => {
                let mut found = Vec::new();
                at += tree(rest, &[], &mut found).max(1);
                paths.extend(found.into_iter().map(|path| (path, inside.len())));
            }
            _ => at += 1,
        }
    }
    (paths, for_tests)
}

/// How many tokens an item has: up to a semicolon, or the brace that closes it.
fn item_length(tokens: &[&str]) -> usize {
    let mut open = 0;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" | "{" => open += 1,
            ")" | "]" => open -= 1,
            "}" => {
                open -= 1;
                if open == 0 {
                    return at + 1;
                }
            }
            ";" if open == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// Reads a path, or one that branches; answers how many tokens it has.
fn tree(tokens: &[&str], before: &[String], found: &mut Vec<Vec<String>>) -> usize {
    let mut path = before.to_vec();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if *token == "{" {
            at += 1;
            while tokens.get(at).is_some_and(|token| *token != "}") {
                at += match tokens[at] {
                    "as" => 2,
                    "," => 1,
                    _ => tree(&tokens[at..], &path, found).max(1),
                };
            }
            return at + 1;
        }
        if !token.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            break;
        }
        path.push((*token).to_owned());
        at += 1;
        if tokens.get(at) != Some(&"::") {
            break;
        }
        at += 1;
    }
    found.push(path);
    at
}
