//! Lines of a session for the preview of the browser, with the words of a search marked.

use crate::app::input::paste;
use crate::protocol::{Body, Item, ItemId, NoteKind, Origin};
use crate::store::SessionRow;
use crate::text::{Ground, Line, Role, Span};

/// Lines of one item.
const LINES: usize = 40;
/// Lines of a result before and after the one that was hit.
const AROUND: usize = 4;

/// The lines of these items, and the number of the first one that was hit.
pub fn of(items: &[Item], hit: Option<ItemId>, query: &str) -> (Vec<Line>, Option<usize>) {
    let words = words(query);
    let (mut lines, mut at) = (Vec::new(), None);
    // A summary that comes back, edited and undone, stands there once.
    let mut summaries: Vec<&str> = Vec::new();
    for item in items {
        let is_hit = hit == Some(item.id);
        if let Body::Summary(summary) = &item.body {
            lines.push(Line {
                spans: vec![Span::new(format!("⇣ {}", summary.line()), Role::Accent)],
                ground: Ground::Base,
            });
            if summaries.contains(&summary.text.as_str()) {
                continue;
            }
            summaries.push(&summary.text);
        }
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

/// Puts where and when the session was held, and what it says in short, before its lines.
pub fn with_summary(row: &SessionRow, lines: &mut Vec<Line>, hit: &mut Option<usize>) {
    let mut head: Vec<Line> = Vec::new();
    let line = |text: String, role| Line { spans: vec![Span::new(text, role)], ground: Ground::Base };
    if !row.tags.is_empty() {
        head.push(line(row.tags.iter().map(|tag| format!("#{tag}")).collect::<Vec<_>>().join(" "), Role::Accent));
    }
    if let Some(summary) = &row.summary {
        head.extend(paste::harmless(summary).replace("**", "").lines().map(|text| line(text.to_owned(), Role::Strong)));
    }
    let items = if row.items > 0 { crate::text::format::plural(row.items, "item", "items") } else { String::new() };
    let facts = [row.cwd.as_str(), row.model.as_str(), items.as_str()];
    let facts: Vec<&str> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    if !row.cwd.is_empty() {
        head.insert(0, line(paste::harmless(&facts.join(" · ")).into_owned(), Role::Dim));
    }
    if head.is_empty() {
        return;
    }
    head.push(Line::default());
    *hit = hit.map(|at| at + head.len());
    lines.splice(0..0, head);
}

/// The words of a query, in small letters, without what joins or excludes them.
fn words(query: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut excluded = false;
    for word in query.split_whitespace() {
        let joins = matches!(word, "AND" | "OR" | "NOT");
        let plain = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        if !joins && !excluded && !plain.is_empty() {
            words.push(plain);
        }
        excluded = word == "NOT";
    }
    words
}

fn item_lines(item: &Item, is_hit: bool, words: &[String]) -> Vec<Line> {
    let (mark, text, role, ground) = match &item.body {
        // What the program told the model is no prompt.
        Body::User { text, origin: Origin::Program, .. } => ("· ", text, Role::Dim, Ground::Base),
        Body::User { text, .. } => ("❯ ", text, Role::Strong, Ground::Raised),
        Body::Assistant(answer) => ("", &answer.text, Role::Text, Ground::Base),
        Body::Tool(result) => ("· ", &result.view.target, Role::Dim, Ground::Base),
        Body::Summary(summary) => ("", &summary.text, Role::Dim, Ground::Base),
        Body::Note { kind: NoteKind::TurnEnd, .. } => return Vec::new(),
        Body::Note { text, .. } => ("", text, Role::Dim, Ground::Base),
    };
    let line = |text: &str, role| Line { spans: vec![Span::new(text.replace('\t', "    "), role)], ground };
    let clean = paste::harmless(text);
    let all: Vec<&str> = clean.lines().collect();
    // A hit far below the start is shown with what stands around it.
    let hit = all.iter().position(|line| is_hit && has(line, words)).unwrap_or_default();
    let from = if hit < LINES { 0 } else { hit - AROUND };
    let shown = all.iter().enumerate().skip(from).take(LINES);
    let mut lines: Vec<Line> =
        shown.map(|(at, text)| line(&format!("{}{text}", if at == 0 { mark } else { "" }), role)).collect();
    match &item.body {
        Body::Assistant(answer) if is_hit => {
            let calls = answer.calls.iter().map(|call| format!("· {} {}", call.name, call.args));
            lines.extend(calls.filter(|call| has(call, words)).map(|call| line(&paste::harmless(&call), Role::Dim)));
        }
        Body::Tool(result) if is_hit => {
            let diffs = result.view.diffs.iter().map(|diff| &diff.unified);
            let mut texts = diffs.chain([&result.view.output, &result.content]);
            if let Some(text) = texts.find(|text| has(text, words)) {
                let clean = paste::harmless(text);
                let all: Vec<&str> = clean.lines().collect();
                let hit = all.iter().position(|line| has(line, words)).unwrap_or_default();
                let around = all.iter().skip(hit.saturating_sub(AROUND)).take(2 * AROUND + 1);
                lines.extend(around.map(|text| line(&format!("  {text}"), role)));
            }
        }
        Body::Assistant(_) | Body::Tool(_) | Body::User { .. } | Body::Summary(_) | Body::Note { .. } => {}
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
        assert_eq!(marked("for the cart or not", "cart OR basket NOT for"), ["cart"]);
        assert_eq!(marked("nothing here", "cart"), Vec::<String>::new());
        assert_eq!(marked("nothing here", ""), Vec::<String>::new());
    }

    #[test]
    fn a_summary_has_a_name_and_stands_once() {
        use crate::protocol::{SummaryBody, SummaryBy};
        let summary = |by| SummaryBody { text: "## Goal\nthe cart".into(), entries: 4, by, ..SummaryBody::default() };
        let items: Vec<Item> = [SummaryBy::Extract, SummaryBy::Person, SummaryBy::Undo]
            .into_iter()
            .zip(1..)
            .map(|(by, id)| Item { id: ItemId(id), at: 0, turn: 1, body: Body::Summary(Box::new(summary(by))) })
            .collect();
        let lines: Vec<String> = of(&items, None, "").0.iter().map(Line::text).collect();
        let named = ["⇣ compacted 4 entries · 0 → 0 tokens · an extract", "## Goal", "the cart"];
        let later = ["⇣ edited the summary of 4 entries", "⇣ undid the last change of the summary · 0 → 0 tokens"];
        assert_eq!(lines, [&named[..], &later].concat());
    }

    #[test]
    fn a_hit_is_shown_wherever_it_stands_in_its_item() {
        use crate::protocol::{AssistantBody, ToolBody, ToolCall};
        let long: String =
            (0..100).map(|n| if n == 90 { "the cart\n".into() } else { format!("line {n}\n") }).collect();
        let call = ToolCall { name: "terminal".into(), args: r#"{"command":"ls cart"}"#.into(), ..ToolCall::default() };
        let far = Body::Assistant(AssistantBody { text: long, ..AssistantBody::default() });
        let in_call = Body::Assistant(AssistantBody { calls: vec![call], ..AssistantBody::default() });
        let in_content = Body::Tool(ToolBody { content: "a cart".into(), ..ToolBody::default() });
        for body in [far, in_call, in_content] {
            let item = Item { id: ItemId(1), at: 0, turn: 1, body };
            let (lines, hit) = of(std::slice::from_ref(&item), Some(ItemId(1)), "cart");
            let text = hit.map(|hit| lines[hit].spans.iter().map(|span| span.text.as_str()).collect::<String>());
            assert!(text.as_ref().is_some_and(|text| text.contains("cart")), "{text:?} of {item:?}");
        }
    }
}
