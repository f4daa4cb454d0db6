//! What is sent of a conversation.

use super::*;
use crate::protocol::{Image, Large};

/// A step with three results: the largest gives way, whenever it came, and says where the rest is.
#[test]
fn the_largest_results_of_a_step_are_cut_first() {
    let (ids, sizes) = (["a", "b", "c"], [15_000, 900, 9_000]);
    let call = |id: &str| ToolCall { id: id.into(), name: "t".into(), args: "{}".into(), ..ToolCall::default() };
    let asked = AssistantBody { calls: ids.map(call).to_vec(), ..AssistantBody::default() };
    let mut items = vec![Item { id: ItemId(1), at: 0, turn: 1, body: Body::Assistant(asked) }];
    for (n, (id, size)) in ids.into_iter().zip(sizes).enumerate() {
        let large =
            (size > 5_000).then(|| Box::new(Large { whole: format!("the full text is in {id}.txt"), room: 16_000 }));
        let body = ToolBody { call_id: id.into(), content: "x".repeat(size), large, ..ToolBody::default() };
        items.push(Item { id: ItemId(2 + n as i64), at: 0, turn: 1, body: Body::Tool(body) });
    }
    let messages = Context::new(items).messages();
    let sent: Vec<&str> = messages
        .iter()
        .filter_map(|message| match message {
            Message::Tool { content, .. } => Some(content.as_str()),
            Message::User { .. } | Message::Assistant { .. } => None,
        })
        .collect();
    assert_eq!((sent[1].len(), sent[0].len() < 8_000, sent[2].len() < 8_000), (900, true, true));
    assert!(sent[0].contains("7450 of 15000 characters left out; the full text is in a.txt"), "{}", sent[0]);
    assert!(sent[2].contains("the full text is in c.txt"));
}

fn result(id: i64, content: String) -> [Item; 2] {
    let call = ToolCall {
        id: format!("c{id}"),
        name: "read_file".into(),
        args: "{}".into(),
        repaired: false,
        via: String::new(),
    };
    let asked = Body::Assistant(AssistantBody { calls: vec![call], ..AssistantBody::default() });
    let body = ToolBody { call_id: format!("c{id}"), name: "read_file".into(), content, ..ToolBody::default() };
    [
        Item { id: ItemId(id * 2), at: 0, turn: 1, body: asked },
        Item { id: ItemId(id * 2 + 1), at: 0, turn: 1, body: Body::Tool(body) },
    ]
}

#[test]
fn old_results_shrink_first_and_the_newest_only_when_nothing_else_is_left() {
    let items: Vec<Item> = (0..10).flat_map(|n| result(n, "é".repeat(20_000))).collect();
    let mut context = Context::new(items);
    let whole = context.estimate();
    assert!(context.prune(whole / 2, false));
    assert!(context.estimate() < whole);
    let Message::Tool { content, .. } = &context.messages()[19] else { unreachable!("calls and results alternate") };
    assert_eq!(content.chars().count(), 20_000, "the newest stay whole");
    assert!(!context.prune(8_000, false), "they are spared as long as something else can be done");
    // A window that six large results do not fit: they lose their middle, at character boundaries.
    assert!(context.prune(8_000, true));
    assert!(context.estimate() <= 8_000, "{}", context.estimate());
    assert!(!context.prune(8_000, true), "nothing is left to drop");
}

#[test]
fn every_call_has_one_result_in_call_order() {
    let call =
        |id: &str| ToolCall { id: id.into(), name: "x".into(), args: "{}".into(), repaired: false, via: String::new() };
    let asked =
        Body::Assistant(AssistantBody { calls: vec![call("a"), call("b"), call("c")], ..AssistantBody::default() });
    let tool = |id: &str| Body::Tool(ToolBody { call_id: id.into(), content: id.into(), ..ToolBody::default() });
    let bodies = [asked, tool("b"), tool("orphan"), tool("a"), tool("a")];
    let items = bodies.into_iter().zip(1..).map(|(body, id)| Item { id: ItemId(id), at: 0, turn: 1, body }).collect();
    let messages = Context::new(items).messages();
    let ids: Vec<&str> = messages
        .iter()
        .filter_map(|m| if let Message::Tool { call_id, .. } = m { Some(call_id.as_str()) } else { None })
        .collect();
    assert_eq!(ids, ["a", "b", "c"]);
}

/// Messages as Python Hermes writes them.
fn items_of(messages: &serde_json::Value) -> Vec<Item> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let body = |message: &serde_json::Value| match message["role"].as_str() {
        Some("user") => Body::User {
            text: text(&message["content"]),
            images: Vec::new(),
            context: String::new(),
            origin: Origin::Person,
            gist: String::new(),
        },
        Some("tool") => Body::Tool(ToolBody {
            call_id: text(&message["tool_call_id"]),
            content: text(&message["content"]),
            ..ToolBody::default()
        }),
        _ => {
            let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
            let call = |call: &serde_json::Value| ToolCall {
                id: text(&call["id"]),
                name: text(&call["function"]["name"]),
                args: text(&call["function"]["arguments"]),
                ..ToolCall::default()
            };
            let calls = calls.iter().map(call).collect();
            Body::Assistant(AssistantBody { text: text(&message["content"]), calls, ..AssistantBody::default() })
        }
    };
    let all = messages.as_array().unwrap().iter().zip(1..);
    all.map(|(message, id)| Item { id: ItemId(id), at: 0, turn: 1, body: body(message) }).collect()
}

/// Role, text, and arguments of calls.
fn said(message: &Message) -> (&'static str, String, Vec<serde_json::Value>) {
    let json = |args: &str| serde_json::from_str(args).unwrap_or_default();
    match message {
        Message::User { text, .. } => ("user", text.clone(), Vec::new()),
        Message::Assistant { text, calls, .. } => {
            ("assistant", text.clone(), calls.iter().map(|call| json(&call.args)).collect())
        }
        Message::Tool { content, .. } => ("tool", content.clone(), Vec::new()),
    }
}

#[test]
fn tool_pairs_and_swept_results_are_those_of_the_cases() {
    let all =
        |messages: &serde_json::Value| Context::new(items_of(messages)).messages().iter().map(said).collect::<Vec<_>>();
    for line in include_str!("../../../tests/cases/compress-tool-pairs.jsonl").lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(all(&case["messages"]), all(&case["result"]), "{line}");
    }
    for line in include_str!("../../../tests/cases/compress-prune.jsonl").lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let mut context = Context::new(items_of(&case["messages"]));
        let count = context.items.len();
        let kept = case["protect_tail_count"].as_u64().unwrap() as usize;
        context.pruned_to = count.checked_sub(kept).and_then(|at| context.items.get(at.checked_sub(1)?)).map(|i| i.id);
        context.swept_to = context.items.last().map(|item| item.id);
        let sent: Vec<_> = context.messages().iter().map(said).collect();
        assert_eq!(sent, all(&case["result"]));
    }
}

#[test]
fn pictures_follow_the_results_of_their_step() {
    let [asked, mut answer] = result(1, "a picture".into());
    if let Body::Tool(tool) = &mut answer.body {
        tool.images = vec![Image { media_type: "image/png".into(), data: "AA==".into() }];
    }
    let mut items = vec![asked, answer];
    items.extend((2..10).flat_map(|n| result(n, "x".repeat(20_000))));
    let mut context = Context::new(items);
    let shown = |context: &Context| {
        context.messages().iter().filter(|m| matches!(m, Message::User { images, .. } if images.len() == 1)).count()
    };
    assert!(matches!(&context.messages()[2], Message::User { text, .. } if text.contains("read_file")));
    assert_eq!(shown(&context), 1);
    assert!(context.prune(2_000, false));
    assert_eq!(shown(&context), 0, "an old picture goes with its result");
}

#[test]
fn results_of_the_running_turn_are_spared_and_those_that_are_cut_are_marked() {
    let mut items: Vec<Item> = (0..4).flat_map(|n| result(n, "x".repeat(12_000))).collect();
    for item in &mut items[6..] {
        item.turn = 2;
    }
    let mut context = Context::new(items.clone());
    assert!(context.prune(8_000, false));
    assert!(context.estimate() <= 8_000, "{}", context.estimate());
    let sent: Vec<Sent> = [1, 3, 5, 7].map(|at| context.sent(&items[at])).to_vec();
    assert_eq!(sent, [Sent::Shortened, Sent::Shortened, Sent::Shortened, Sent::Whole]);
    assert_eq!(context.shortened(), 3);
    let Message::Tool { content, .. } = &context.messages()[7] else { unreachable!("calls and results alternate") };
    assert_eq!(content.len(), 12_000);
}

#[test]
fn one_line_of_an_entry_is_never_more_than_the_entry() {
    let mut context = Context::new(result(1, "short\nresult".into()).to_vec());
    let whole = context.estimate();
    context.keep([(ItemId(2), Keep::Line), (ItemId(3), Keep::Line)].into());
    assert!(context.estimate() <= whole);
    assert!(matches!(&context.messages()[1], Message::Tool { content, .. } if content == "short\nresult"));
}
