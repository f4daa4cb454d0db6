//! Lines of a session for the preview of the browser, with the words of a search marked.

use crate::app::paste;
use crate::llm::message::{Body, Item, ItemId, NoteKind};
use crate::text::{Ground, Line, Role, Span};

/// Lines of one item.
const LINES: usize = 40;
/// Lines of a result before and after the one that was hit.
const AROUND: usize = 4;

/// The lines of these items, and the number of the first one that was hit.
pub fn of(items: &[Item], hit: Option<ItemId>, query: &str) -> (Vec<Line>, Option<usize>) {
    let words = words(query);
    let (mut lines, mut at) = (Vec::new(), None);
    for item in items {
        let is_hit = hit == Some(item.id);
        for line in item_lines(item, is_hit, &words) {
            let (line, marked) = mark(line, &words);
            if is_hit && marked && at.is_none() {
                at = Some(lines.len());
            }
            lines.push(line);
        }
    }
    (lines, at)
}

/// The words of a query, in small letters.
fn words(query: &str) -> Vec<String> {
    let plain = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    query.split_whitespace().map(plain).filter(|word| !word.is_empty()).collect()
}

fn item_lines(item: &Item, is_hit: bool, words: &[String]) -> Vec<Line> {
    let (mark, text, role, ground) = match &item.body {
        Body::User { text, .. } => ("❯ ", text, Role::Strong, Ground::Raised),
        Body::Assistant(answer) => ("", &answer.text, Role::Text, Ground::Base),
        Body::Tool(result) => ("· ", &result.view.target, Role::Dim, Ground::Base),
        Body::Note { kind: NoteKind::TurnEnd, .. } => return Vec::new(),
        Body::Note { text, .. } => ("", text, Role::Dim, Ground::Base),
    };
    let mut lines = Vec::new();
    let clean = paste::harmless(text);
    for (at, text) in clean.lines().take(LINES).enumerate() {
        let mark = if at == 0 { mark } else { "" };
        lines.push(Line { spans: vec![Span::new(format!("{mark}{}", text.replace('\t', "    ")), role)], ground });
    }
    if let (true, Body::Tool(result)) = (is_hit, &item.body) {
        let output = paste::harmless(&result.view.output);
        let all: Vec<&str> = output.lines().collect();
        let at = all.iter().position(|line| has(line, words));
        let shown = at.map_or(&all[..0], |at| &all[at.saturating_sub(AROUND)..all.len().min(at + AROUND + 1)]);
        let line =
            |text: &&str| Line { spans: vec![Span::new(format!("  {}", text.replace('\t', "    ")), role)], ground };
        lines.extend(shown.iter().map(line));
    }
    lines
}

fn has(line: &str, words: &[String]) -> bool {
    let line = line.to_lowercase();
    words.iter().any(|word| line.contains(word))
}

/// Sets off the words in a line of one span; whether there is one.
fn mark(line: Line, words: &[String]) -> (Line, bool) {
    let [span] = line.spans.as_slice() else { return (line, false) };
    let lower = span.text.to_lowercase();
    // Letters that change their length in small letters are rare: then nothing is marked.
    if words.is_empty() || lower.len() != span.text.len() {
        return (line, false);
    }
    let mut spans = Vec::new();
    let (mut from, mut marked) = (0, false);
    while let Some((at, word)) =
        words.iter().filter_map(|word| lower[from..].find(word.as_str()).map(|at| (from + at, word))).min()
    {
        let end = at + word.len();
        let (Some(before), Some(hit)) = (span.text.get(from..at), span.text.get(at..end)) else { break };
        if !before.is_empty() {
            spans.push(Span::new(before, span.role));
        }
        spans.push(Span::new(hit, Role::Accent));
        (from, marked) = (end, true);
    }
    if !marked {
        return (line, false);
    }
    if let Some(rest) = span.text.get(from..).filter(|rest| !rest.is_empty()) {
        spans.push(Span::new(rest, span.role));
    }
    (Line { spans, ..line }, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_marked_wherever_they_stand() {
        let line = |text: &str| Line { spans: vec![Span::new(text, Role::Text)], ground: Ground::Base };
        let marked = |text: &str, query: &str| -> Vec<String> {
            let (line, _) = mark(line(text), &words(query));
            line.spans.iter().filter(|span| span.role == Role::Accent).map(|span| span.text.to_string()).collect()
        };
        assert_eq!(marked("The Cart and the cartridge", "cart"), ["Cart", "cart"]);
        assert_eq!(marked("fix the größe of it", "\"größe\" IT"), ["größe", "it"]);
        assert_eq!(marked("nothing here", "cart"), Vec::<String>::new());
        assert_eq!(marked("nothing here", ""), Vec::<String>::new());
    }
}
