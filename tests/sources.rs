//! The sources of the program as the tests read them: without comments, contents of strings and test modules.

use regex::{Captures, Regex};
use std::path::{Path, PathBuf};

/// One file of `src`.
pub struct Source {
    /// Below `src`.
    pub path: PathBuf,
    /// The first folder, or the file's name at the top.
    pub room: String,
    /// Without comments, contents of strings and test modules; empty for a file of tests.
    pub code: String,
    pub raw: String,
}

/// A string literal, or the line of a doc comment, and the line on which it begins.
pub struct Literal {
    pub line: usize,
    pub text: String,
}

/// The folder of the crate.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file of `src`, by path.
pub fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let raw = std::fs::read_to_string(&path).unwrap();
                let inside = path.strip_prefix(root().join("src")).unwrap().to_path_buf();
                let first = inside.components().next().unwrap().as_os_str().to_str().unwrap();
                let room = first.trim_end_matches(".rs").to_owned();
                let code = if holds_tests(&inside) { String::new() } else { without_tests(&strip(&raw)) };
                found.push(Source { path: inside, room, code, raw });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.len() > 50, "the sources were not found");
    found
}

fn holds_tests(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
    stem == "tests"
        || stem == "testing"
        || stem.ends_with("_tests")
        || path.components().any(|part| part.as_os_str() == "tests")
}

/// Rust text without comments and without the contents of strings; lines stay.
fn strip(text: &str) -> String {
    replace(text, |hit, _| if hit.starts_with('/') { String::new() } else { "\"\"".to_owned() })
}

/// Each comment, string and character of `text` replaced; its line breaks stay.
fn replace(text: &str, mut with: impl FnMut(&str, usize) -> String) -> String {
    let token = Regex::new(
        r##"(?s)//[^\n]*|/\*.*?\*/|\br"(?:[^"])*"|\br#".*?"#|b?"(?:[^"\\]|\\.)*"|'(?:\\(?:u\{[^}]*\}|x..|.)|[^\\'\n])'"##,
    )
    .unwrap();
    token
        .replace_all(text, |found: &Captures| {
            let whole = found.get(0).unwrap();
            format!("{}{}", with(whole.as_str(), whole.start()), "\n".repeat(whole.as_str().matches('\n').count()))
        })
        .into_owned()
}

/// The string literals of a file outside test modules, in order, with `///` lines if `docs` (clap prints them).
pub fn literals(source: &Source, docs: bool) -> Vec<Literal> {
    if holds_tests(&source.path) {
        return Vec::new();
    }
    let mut all = Vec::new();
    let mut note = |line: usize, text: String| {
        all.push(Literal { line, text });
        format!("\"{}\"", all.len() - 1)
    };
    let (mut line, mut seen) = (1, 0);
    let marked = replace(&source.raw, |hit, start| {
        line += source.raw[seen..start].matches('\n').count();
        seen = start;
        match (hit.strip_prefix("///"), hit.find('"'), hit.rfind('"')) {
            (Some(text), ..) if docs => note(line, text.trim().to_owned()),
            (None, Some(first), Some(last)) if !hit.starts_with(['/', '\'']) => {
                note(line, unfold(&hit[first + 1..last]))
            }
            _ => String::new(),
        }
    });
    let kept = without_tests(&marked);
    let index = Regex::new(r#""(\d+)""#).unwrap();
    let numbers: Vec<usize> = index.captures_iter(&kept).filter_map(|found| found[1].parse().ok()).collect();
    all.into_iter().enumerate().filter(|(at, _)| numbers.contains(at)).map(|(_, literal)| literal).collect()
}

/// What a literal that goes on after `\` at the end of a line says.
fn unfold(text: &str) -> String {
    Regex::new(r"\\\n\s*").unwrap().replace_all(text, "").into_owned()
}

/// Without the trailing inline test modules.
fn without_tests(code: &str) -> String {
    let mut text = code.to_owned();
    let head = Regex::new(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+\w+\s*\{").unwrap();
    while let Some(found) = head.find(&text) {
        let mut depth = 1;
        let mut end = found.end();
        for (offset, c) in text[found.end()..].char_indices() {
            depth += match c {
                '{' => 1,
                '}' => -1,
                _ => 0,
            };
            if depth == 0 {
                end = found.end() + offset + 1;
                break;
            }
        }
        let range = found.range();
        text.replace_range(range.start..end, "");
    }
    text
}

/// Fails with one line a fault.
pub fn fail_on(what: &str, faults: Vec<String>) {
    assert!(faults.is_empty(), "{what}:\n  {}", faults.join("\n  "));
}
