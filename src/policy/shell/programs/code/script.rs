//! A script that may call tools: what it does besides computing and calling them. Stricter than code on a command line:
//! it runs on this machine wherever commands do, so that reading a file is a thing of its own.

use super::harmless::{self, Names};
use super::lex::{self, Token};
use super::{Direct, Harmless, Lang, MAX_CODE, SHAPES};
use crate::policy::Why;
use std::ops::Range;

/// How the second language is called.
pub const JAVASCRIPT: &str = "javascript";

/// The class of what is not followed to its end.
const UNREAD: &str = "code that is not fully read";
/// Reasons of one script.
const MOST: usize = 6;

/// What a script does by itself, each class once; nothing when its text can only compute and call tools.
pub fn script(language: &str, text: &str) -> Vec<Why> {
    let unread = |what: &str, span| vec![Why { effect: UNREAD.into(), text: what.to_owned(), span }];
    let Ok(shapes) = SHAPES.as_ref() else { return unread("the tables can't be read", 0..0) };
    let lang = if language == JAVASCRIPT { Lang::Js } else { Lang::Python };
    if text.len() > MAX_CODE {
        return unread("it is too long", 0..0);
    }
    let (tokens, whole) = lex::tokens(text, lang);
    let mut found: Vec<Why> = Vec::new();
    let names = if lang == Lang::Js { named(&shapes.direct, &tokens) } else { suspects(&shapes.script, lang, &tokens) };
    for name in names {
        let span = place(text, &name);
        let effect = class(&shapes.direct, &name).map_or(UNREAD, |direct| &direct.effect).to_owned();
        if found.len() < MOST && found.iter().all(|why| why.effect != effect) {
            found.push(Why { effect, text: name, span });
        }
    }
    // What is known says more than that something else is not.
    if found.len() > 1 {
        found.retain(|why| why.effect != UNREAD);
    }
    match (lang, found.is_empty()) {
        (_, false) => found,
        (Lang::Python, true) if whole => {
            if harmless::only_knows(&shapes.script, lang, &tokens) {
                Vec::new()
            } else {
                unread("what it calls is computed", 0..0)
            }
        }
        (Lang::Python, true) => unread("a part of it could not be read", 0..0),
        (_, true) => unread("JavaScript is not followed", 0..0),
    }
}

/// What of a text that is not followed is known by its name: functions, and modules that are asked for.
fn named(all: &[Direct], tokens: &[Token]) -> Vec<String> {
    let word = |token: &Token| match token {
        Token::Name { text, .. } => Some(text.clone()),
        Token::Text(text) => Some(text.trim_start_matches("node:").to_owned()),
        _ => None,
    };
    tokens.iter().filter_map(word).filter(|name| class(all, name).is_some()).collect()
}

/// Names that are none of its own and not in the list, as they stand for what was imported.
fn suspects(known: &Harmless, lang: Lang, tokens: &[Token]) -> Vec<String> {
    let Some(names) = Names::read(lang, tokens) else { return vec!["import *".into()] };
    let mut found: Vec<String> = Vec::new();
    let mut add = |name: String| {
        if !name.is_empty() && !found.contains(&name) {
            found.push(name);
        }
    };
    // An import alone runs what stands in the module.
    names.modules().filter(|module| !harmless::has_module(known, module)).for_each(|module| add(module.to_owned()));
    for (i, token) in tokens.iter().enumerate() {
        match token {
            Token::Name { member: false, .. } if !names.allows(known, lang, tokens, i) => add(names.path(tokens, i)),
            Token::Name { text, member: true } if !names.allows(known, lang, tokens, i) => add(text.clone()),
            Token::Shell(_) => add("`".into()),
            _ => {}
        }
    }
    found
}

/// The class that a name belongs to: by itself, or by what it belongs to.
fn class<'a>(all: &'a [Direct], name: &str) -> Option<&'a Direct> {
    let mut path = name;
    loop {
        if let Some(direct) = all.iter().find(|direct| direct.names.iter().any(|one| one == path)) {
            return Some(direct);
        }
        path = &path[..path.rfind('.')?];
    }
}

/// Where a name stands first; nowhere when it was imported under another one.
fn place(text: &str, name: &str) -> Range<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let hit = text
        .match_indices(name)
        .find(|(at, _)| !text[..*at].ends_with(is_word) && !text[at + name.len()..].starts_with(is_word));
    hit.map_or(0..0, |(at, _)| at..at + name.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_only_compute_and_call_tools_are_told_from_others() {
        let cases = include_str!("../../../../../tests/cases/scripts.jsonl");
        for line in cases.lines().filter(|line| !line.trim().is_empty()) {
            let case: serde_json::Value = serde_json::from_str(line).unwrap();
            let text = case["code"].as_str().unwrap();
            let language = case["language"].as_str().unwrap_or("python");
            let want: Vec<&str> = case["does"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
            let got = script(language, text);
            let told = |why: &Why| format!("{}: {}", why.effect.trim_start_matches("code that "), why.text);
            let got: Vec<String> = got.iter().map(told).collect();
            assert_eq!(got, want, "{text}");
        }
    }

    #[test]
    fn a_reason_points_at_its_name() {
        let text = "x = 1\nimport subprocess as s\ns.run(['ls'])";
        let found = script("python", text);
        assert_eq!(found[0].effect, "code that runs programs");
        assert_eq!(&text[found[0].span.clone()], "subprocess");
    }
}
