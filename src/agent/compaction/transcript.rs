//! Entries as the model that summarizes reads them: numbered, each with its start and its end, in pieces that fit it.

use crate::agent::rewind::left_out;
use crate::protocol::{Body, Item, ItemId, LeftOut, ToolCall, Who};
use std::collections::HashMap;

/// Characters that stay of what the person said, of an answer, of arguments, of a result.
const PROMPT: usize = 4_000;
const ANSWER: usize = 3_000;
const ARGS: usize = 600;
const RESULT: usize = 1_600;
/// Of an entry in the extract that stands in when no model writes (as Python Hermes has it), and of the whole extract.
const EXTRACT_ENTRY: usize = 700;
const EXTRACT: usize = 8_000;

/// The entries from one to another, in pieces of at most `room` characters.
pub fn pieces(items: &[Item], from: ItemId, to: ItemId, room: usize) -> Vec<String> {
    let names = names(items);
    let mut pieces: Vec<String> = Vec::new();
    for item in items.iter().filter(|item| from <= item.id && item.id <= to) {
        let text = entry(item, &names, room);
        match pieces.last_mut() {
            Some(last) if last.len() + text.len() <= room => last.push_str(&text),
            Some(_) | None if text.is_empty() => {}
            Some(_) | None => pieces.push(text),
        }
    }
    pieces
}

/// An entry on one line, as [`left_out`] has it; one without words says what it calls, or that it has none. Notes and
/// summaries are no entries.
pub fn line(item: &Item) -> Option<LeftOut> {
    let (who, text) = match &item.body {
        Body::Summary(_) | Body::Note { .. } => return None,
        Body::Assistant(body) if !body.calls.is_empty() => {
            let calls: Vec<&str> = body.calls.iter().map(|call| call.name.as_str()).collect();
            (Who::Model, format!("calls {}", calls.join(", ")))
        }
        Body::Assistant(_) => (Who::Model, "no words".to_owned()),
        Body::User { .. } => (Who::Person, "no words".to_owned()),
        Body::Tool(body) => (Who::Tool, body.name.clone()),
    };
    left_out(item).or_else(|| Some(LeftOut { who, text: format!("#{} {text}", item.id.0) }))
}

/// The tools by the ids of their calls.
fn names(items: &[Item]) -> HashMap<&str, &ToolCall> {
    let calls = items.iter().filter_map(|item| match &item.body {
        Body::Assistant(body) => Some(&body.calls),
        Body::User { .. } | Body::Tool(_) | Body::Summary(_) | Body::Note { .. } => None,
    });
    calls.flatten().map(|call| (call.id.as_str(), call)).collect()
}

fn entry(item: &Item, names: &HashMap<&str, &ToolCall>, room: usize) -> String {
    let id = item.id.0;
    let cut = |text: &str, most: usize| head_and_tail(text.trim(), most.min(room / 2));
    match &item.body {
        Body::User { text, images, .. } => {
            let images = if images.is_empty() { String::new() } else { format!(" [{} images]", images.len()) };
            format!("#{id} user: {}{images}\n", cut(text, PROMPT))
        }
        Body::Assistant(body) => {
            let mut out = String::new();
            if !body.text.trim().is_empty() {
                out.push_str(&format!("#{id} agent: {}\n", cut(&body.text, ANSWER)));
            }
            for call in &body.calls {
                out.push_str(&format!("#{id} calls {} {}\n", call.name, cut(&call.args, ARGS)));
            }
            out
        }
        Body::Tool(body) => {
            let name = names.get(body.call_id.as_str()).map_or(body.name.as_str(), |call| call.name.as_str());
            format!("#{id} result of {name} ({}): {}\n", body.outcome.word(), cut(&body.content, RESULT))
        }
        Body::Summary(_) | Body::Note { .. } => String::new(),
    }
}

/// A text with its middle left out, so that about `most` bytes stay.
fn head_and_tail(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(most * 2 / 3);
    let tail = text.ceil_char_boundary(text.len() - most / 3);
    format!("{} […{} bytes left out…] {}", &text[..head], tail - head, &text[tail..])
}

/// What stands in when no model can write: the start of each entry, results as their one line. The newest stay.
pub fn extract(items: &[Item], from: ItemId, to: ItemId, before: &str) -> String {
    let names = names(items);
    let mut lines: Vec<String> = Vec::new();
    for item in items.iter().filter(|item| from <= item.id && item.id <= to) {
        let id = item.id.0;
        let cut = |text: &str| head_and_tail(text.trim(), EXTRACT_ENTRY);
        match &item.body {
            Body::User { text, .. } => lines.push(format!("- #{id} **user:** {}", cut(text))),
            Body::Assistant(body) if !body.text.trim().is_empty() => {
                lines.push(format!("- #{id} **agent:** {}", cut(&body.text)));
            }
            Body::Tool(body) => {
                let (name, args) = names
                    .get(body.call_id.as_str())
                    .map_or((body.name.as_str(), "{}"), |call| (call.name.as_str(), call.args.as_str()));
                lines.push(format!("- #{id} {}", super::lines::line(name, args, &body.content)));
            }
            Body::Assistant(_) | Body::Summary(_) | Body::Note { .. } => {}
        }
    }
    let mut room = EXTRACT.saturating_sub(before.len().min(EXTRACT / 2));
    let kept: Vec<&String> = lines
        .iter()
        .rev()
        .take_while(|line| {
            let fits = line.len() < room;
            room = room.saturating_sub(line.len() + 1);
            fits
        })
        .collect();
    let left_out = lines.len() - kept.len();
    let mut out = String::new();
    if !before.is_empty() {
        out.push_str(&format!("{}\n\n", head_and_tail(before, EXTRACT / 2)));
    }
    out.push_str("## Entries\nNo model could summarize them: this is the start of each.\n");
    if left_out > 0 {
        out.push_str(&format!("- {left_out} earlier entries are not listed\n"));
    }
    out.extend(kept.into_iter().rev().flat_map(|line| [line.as_str(), "\n"]));
    out.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{AssistantBody, Origin, ToolBody};

    fn items() -> Vec<Item> {
        let said = |text: &str| Body::User {
            text: text.into(),
            images: Vec::new(),
            context: "cwd".into(),
            origin: Origin::Person,
            gist: String::new(),
        };
        let call = ToolCall { id: "c".into(), name: "t".into(), args: r#"{"a":1}"#.into(), ..ToolCall::default() };
        let bodies = [
            said("do it"),
            Body::Assistant(AssistantBody { text: "on it".into(), calls: vec![call], ..AssistantBody::default() }),
            Body::Tool(ToolBody {
                call_id: "c".into(),
                name: "t".into(),
                content: "é".repeat(5_000),
                ..ToolBody::default()
            }),
            said("more"),
        ];
        bodies.into_iter().zip(1..).map(|(body, id)| Item { id: ItemId(id), at: 0, turn: 1, body }).collect()
    }

    #[test]
    fn entries_are_numbered_and_bounded() {
        let whole = pieces(&items(), ItemId(1), ItemId(3), 100_000);
        let [text] = whole.as_slice() else { panic!("one piece: {whole:?}") };
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(&lines[..3], ["#1 user: do it", "#2 agent: on it", r#"#2 calls t {"a":1}"#]);
        assert!(lines[3].starts_with("#3 result of t (ok): é") && lines[3].contains("bytes left out"), "{}", lines[3]);
        assert!(text.len() < 2_000, "{}", text.len());
    }

    #[test]
    fn each_entry_has_a_line() {
        let call = |name: &str| ToolCall { name: name.into(), ..ToolCall::default() };
        let calls = vec![call("read_file"), call("patch")];
        let wordless = [
            Body::Assistant(AssistantBody { calls, ..AssistantBody::default() }),
            Body::Assistant(AssistantBody::default()),
        ];
        let wordless = wordless.into_iter().zip(5..).map(|(body, id)| Item { id: ItemId(id), at: 0, turn: 1, body });
        let all: Vec<Item> = items().into_iter().chain(wordless).collect();
        let lines: Vec<String> = all.iter().filter_map(line).map(|line| line.text).collect();
        assert_eq!(lines.len(), all.len());
        assert_eq!(lines[4..], ["#5 calls read_file, patch", "#6 no words"]);
    }

    #[test]
    fn a_small_room_makes_more_pieces_that_all_fit() {
        let several = pieces(&items(), ItemId(1), ItemId(4), 200);
        assert!(
            several.len() > 1 && several.iter().all(|piece| piece.len() <= 200 && !piece.is_empty()),
            "{several:?}"
        );
    }

    #[test]
    fn the_extract_keeps_the_newest_and_what_was_known() {
        let long: Vec<Item> =
            (0..200).flat_map(|n| items().into_iter().map(move |i| Item { id: ItemId(n * 4 + i.id.0), ..i })).collect();
        let text = extract(&long, ItemId(1), ItemId(800), "known before");
        assert!(text.starts_with("known before") && text.len() <= 9_000, "{}", text.len());
        assert!(text.contains("#800 **user:** more") && text.contains("earlier entries are not listed"));
    }
}
