//! The words of the program: every string that a person or a model reads, and how long paragraphs of the docs are.
//!
//! `STRINGS=PATH cargo nextest run -E 'test(strings)'` writes all of them into one list, to read it through.

use crate::sources::{fail_on, literals, root, sources};
use regex::Regex;
use std::path::{Path, PathBuf};

/// The longest paragraph, list item or cell of the docs, in characters.
const PARAGRAPH: usize = 400;
/// The most entries of one version in the changelog, and the longest of them.
const ENTRIES: usize = 40;
const ENTRY: usize = 200;

/// Phrases of a translation, or in the place of the field's word.
const BANNED: &[&str] = &[
    r"\banew\b",
    r"\bmended\b",
    r"\btold\b",
    r"\bof (its|their|your|our) own\b",
    r"\bbeside\b",
    r"\bleaves? it to you\b",
    r"\bby itself\b",
    r"\bis none of\b",
    r"\bthe person\b",
    r"\bsomebody\b",
];

/// A string and its place.
struct Shown {
    place: String,
    text: String,
}

fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn named(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string()
}

/// Strings that may be shown: words with a blank between them, and what clap prints as help.
fn shown() -> Vec<Shown> {
    let words = Regex::new(r"[A-Za-z]{2}").unwrap();
    let mut all = Vec::new();
    for source in sources() {
        let help = source.room == "cli" && source.raw.contains("clap");
        for literal in literals(&source, help) {
            if words.is_match(&literal.text) && literal.text.trim().contains(' ') {
                let place = format!("src/{}:{}", source.path.display(), literal.line);
                all.push(Shown { place, text: literal.text.replace('\n', "\\n") });
            }
        }
    }
    for path in [files("assets", "md"), files("assets", "yaml")].concat() {
        let text = std::fs::read_to_string(&path).unwrap();
        let yaml = path.extension().is_some_and(|e| e == "yaml");
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            let comment = yaml && line.starts_with('#');
            if !line.is_empty() && !comment {
                all.push(Shown { place: format!("{}:{}", named(&path), number + 1), text: line.to_owned() });
            }
        }
    }
    all
}

#[test]
fn strings_are_plain() {
    let all = shown();
    assert!(all.len() > 1_000, "the strings were not found");
    if let Some(path) = std::env::var_os("STRINGS") {
        let list: String = all.iter().map(|s| format!("{}\t{}\n", s.place, s.text)).collect();
        std::fs::write(path, list).unwrap();
    }
    let banned = Regex::new(&format!("(?i){}", BANNED.join("|"))).unwrap();
    let filled_in = Regex::new(r"\{\w*\}").unwrap();
    let faults = all
        .iter()
        .filter_map(|s| {
            let text = filled_in.replace_all(&s.text, "…");
            banned.find(&text).map(|found| format!("{}: “{}” in {text:?}", s.place, found.as_str()))
        })
        .collect();
    fail_on("words that no one uses", faults);
}

/// The paragraphs, list items and table cells of a page outside code, with the line on which each begins.
fn blocks(text: &str) -> Vec<(usize, String)> {
    let item = Regex::new(r"^\s*(?:[-*]|\d+\.)\s").unwrap();
    let mut all: Vec<(usize, String)> = Vec::new();
    let (mut code, mut open) = (false, false);
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            (code, open) = (!code, false);
        } else if code || line.trim().is_empty() || line.starts_with('#') || line.starts_with("<!--") {
            open = false;
        } else if line.starts_with('|') {
            let cells = line.replace(r"\|", "/");
            all.extend(cells.split('|').map(|cell| (number + 1, cell.trim().to_owned())));
            open = false;
        } else if let (true, false, Some((_, last))) = (open, item.is_match(line), all.last_mut()) {
            last.push(' ');
            last.push_str(line.trim());
        } else {
            all.push((number + 1, line.trim().to_owned()));
            open = true;
        }
    }
    all
}

#[test]
fn strings_of_the_docs_are_short_paragraphs() {
    let mut faults = Vec::new();
    for path in files("docs", "md").into_iter().chain([root().join("README.md")]) {
        for (line, block) in blocks(&std::fs::read_to_string(&path).unwrap()) {
            let count = block.chars().count();
            if count > PARAGRAPH {
                let start: String = block.chars().take(50).collect();
                faults.push(format!("{}:{line}: {count} characters: {start}…", named(&path)));
            }
        }
    }
    fail_on("paragraphs that want to be split", faults);
}

#[test]
fn strings_of_the_docs_are_plain() {
    let banned = Regex::new(&format!("(?i){}", BANNED.join("|"))).unwrap();
    let pages = files("docs", "md").into_iter().chain(["README.md", "CHANGELOG.md"].map(|page| root().join(page)));
    let code = Regex::new("`[^`]*`").unwrap();
    let mut faults = Vec::new();
    for path in pages {
        for (number, line) in std::fs::read_to_string(&path).unwrap().lines().enumerate() {
            if let Some(found) = banned.find(&code.replace_all(line, "…")) {
                faults.push(format!("{}:{}: “{}”", named(&path), number + 1, found.as_str()));
            }
        }
    }
    fail_on("words that no one uses", faults);
}

#[test]
fn strings_of_the_changelog_keep_its_form() {
    const HEADINGS: &[&str] = &["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];
    let text = std::fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let mut faults = Vec::new();
    let (mut version, mut heading, mut entries) = ("", "", 0);
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        if let Some(name) = line.strip_prefix("## ") {
            (version, heading, entries) = (name, "", 0);
            if !name.starts_with('[') {
                faults.push(format!("{number}: a version is `## [NAME]`"));
            }
        } else if let Some(name) = line.strip_prefix("### ") {
            heading = name;
            if !HEADINGS.contains(&name) {
                faults.push(format!("{number}: {name} is not a heading of Keep a Changelog"));
            }
        } else if let Some(entry) = line.strip_prefix("- ") {
            entries += 1;
            if version.is_empty() || heading.is_empty() {
                faults.push(format!("{number}: an entry without a heading"));
            }
            if entries == ENTRIES + 1 {
                faults.push(format!("{number}: {version} has more than {ENTRIES} entries"));
            }
            if entry.chars().count() > ENTRY {
                faults.push(format!("{number}: an entry of more than {ENTRY} characters"));
            }
        }
    }
    if version.is_empty() {
        faults.push("no version".to_owned());
    }
    fail_on("CHANGELOG.md against Keep a Changelog", faults);
}
