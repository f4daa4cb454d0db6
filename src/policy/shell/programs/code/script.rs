//! A script that may call tools: what it does besides computing and calling them. Stricter than code on a command line:
//! it runs on this machine wherever commands do, so that reading a file is a thing of its own.

use super::lex::{self, Token};
use super::python::{self, Found, Kind, Reading};
use super::{Direct, Lang, MAX_CODE, SHAPES};
use crate::policy::Why;
use std::ops::Range;

/// How the second language is called.
pub const JAVASCRIPT: &str = "javascript";

/// The class of what is not followed to its end. No answer to it lasts: nobody knows what the next text does.
const UNREAD: &str = "code that is not fully read";

/// Whether a class of what a script does is asked about each time, whatever was allowed before.
pub fn asks_each_time(effect: &str) -> bool {
    let named = |shapes: &super::Shapes| shapes.direct.iter().any(|direct| direct.once && direct.effect == effect);
    effect == UNREAD || SHAPES.as_ref().is_ok_and(named)
}

/// What a script does by itself, each class once; nothing when its text can only compute and call tools.
pub fn script(language: &str, text: &str) -> Vec<Why> {
    let unread = |what: &str, span| Why { effect: UNREAD.into(), text: what.to_owned(), span };
    let Ok(shapes) = SHAPES.as_ref() else { return vec![unread("the tables can't be read", 0..0)] };
    if text.len() > MAX_CODE {
        return vec![unread("it is too long", 0..0)];
    }
    if language == JAVASCRIPT {
        let mut all = named(&shapes.direct, Lang::Js, text);
        all.push(unread("JavaScript is not followed", 0..0));
        return all;
    }
    match python::read(text, &shapes.script, Reading::Script) {
        Some(found) => reasons(&shapes.direct, found),
        None => {
            let mut all = named(&shapes.direct, Lang::Python, text);
            all.push(unread("a part of it could not be read", 0..0));
            all
        }
    }
}

/// What was found, by the classes that it belongs to. What belongs to none is not followed.
fn reasons(all: &[Direct], found: Vec<Found>) -> Vec<Why> {
    let mut reasons: Vec<Why> = Vec::new();
    let mut add = |effect: &str, what: String, span| {
        if reasons.iter().all(|why| why.effect != effect) {
            reasons.push(Why { effect: effect.to_owned(), text: what, span });
        }
    };
    let of = |one: &Found| Some(&one.what).filter(|_| one.kind == Kind::Name).and_then(|what| class(all, what));
    let there: Vec<&Direct> = found.iter().filter_map(of).collect();
    for one in found {
        let known = one.kind == Kind::Member && there.iter().any(|direct| direct.members.contains(&one.what));
        match of(&one) {
            Some(direct) => add(&direct.effect, one.what, one.span),
            None if known => {}
            None => add(UNREAD, one.what, one.span),
        }
    }
    // What is known says more than that something else is not.
    reasons.sort_by_key(|why| why.effect == UNREAD);
    reasons
}

/// What of a text that is not followed is known by its names, each class once: functions, and modules that are asked for.
fn named(all: &[Direct], lang: Lang, text: &str) -> Vec<Why> {
    let (tokens, _) = lex::tokens(text, lang);
    let mut reasons: Vec<Why> = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        let name = match token {
            Token::Name { text, member } if lang == Lang::Python && !member => path(text, &tokens[i + 1..]),
            Token::Name { text, .. } => text.clone(),
            Token::Text(text) if lang == Lang::Js => text.trim_start_matches("node:").to_owned(),
            _ => continue,
        };
        if let Some(direct) = class(all, &name)
            && reasons.iter().all(|why| why.effect != direct.effect)
        {
            reasons.push(Why { effect: direct.effect.clone(), span: place(text, &name), text: name });
        }
    }
    reasons
}

/// A name with the members behind it.
fn path(root: &str, rest: &[Token]) -> String {
    let member = |token: &Token| match token {
        Token::Name { text, member: true } => Some(text.clone()),
        _ => None,
    };
    std::iter::once(root.to_owned()).chain(rest.iter().map_while(member)).collect::<Vec<_>>().join(".")
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

/// Where a name stands first.
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
