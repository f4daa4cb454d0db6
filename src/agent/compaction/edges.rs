//! Which part of a conversation a summary stands for: all between a protected head and a protected tail.

use crate::agent::context::Context;
use crate::protocol::{Body, Item, ItemId, Origin};

/// Messages at the beginning that the first compaction leaves (as Python Hermes has it).
const HEAD: usize = 3;
/// Messages at the end that stay though they weigh more than the budget (as Python Hermes has it), unless they weigh so
/// many tokens: in a small window four pasted files are all there is.
const HEAVY_TAIL: u64 = 3_000;
const TAIL: usize = 8;
/// Tokens that a message is counted with apart from its text (as Python Hermes has it).
const MESSAGE: u64 = 10;
/// Tokens that a head may always have. One that has more than the tail is not protected: it may be a pasted file.
const LIGHT_HEAD: u64 = 1_000;

/// The entries that a summary would stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Middle {
    pub from: ItemId,
    pub to: ItemId,
    /// The prompt of the running turn, when all that the turn left is too long to stay: it is sent word for word.
    pub prompt: Option<ItemId>,
}

/// The part to summarize so that about `tail` tokens stay at the end, calls with their results in one piece. `summarized`: the
/// end of what a summary stands for already; the next one takes that in. `None`: too little lies between head and tail.
pub fn middle(context: &Context, tail: u64, summarized: Option<ItemId>) -> Option<Middle> {
    // The one estimate of what an entry takes as it is sent, with its frame.
    let weight = |item: &Item| context.tokens_of(item) + MESSAGE;
    let items = context.items();
    let said: Vec<&Item> =
        items.iter().filter(|item| !matches!(item.body, Body::Summary(_) | Body::Note { .. })).collect();
    let head = if summarized.is_some() { 0 } else { HEAD };
    let weighs: u64 = said.iter().take(head).map(|item| weight(item)).sum();
    let head = if weighs > tail.max(LIGHT_HEAD) { 0 } else { head };
    // Results whose call stays stay with it.
    let start = (head..said.len()).find(|at| !matches!(said[*at].body, Body::Tool(_)))?;
    let end = begin_of_tail(&said, tail, weight);
    let fresh = summarized.map_or(0, |to| said.partition_point(|item| item.id <= to));
    let (first, last) = (said.get(start)?, said.get(end.checked_sub(1)?)?);
    let prompt = said.get(start..end)?.iter().rfind(|item| is_prompt(item) && weight(item) <= tail.max(LIGHT_HEAD));
    let later = said.get(end..)?.iter().any(|item| is_prompt(item));
    let prompt = prompt.filter(|_| !later).map(|item| item.id);
    (end > start + 1 && end > fresh).then_some(Middle { from: first.id, to: last.id, prompt })
}

fn is_prompt(item: &Item) -> bool {
    matches!(item.body, Body::User { origin: Origin::Person, .. })
}

fn begin_of_tail(said: &[&Item], budget: u64, weight: impl Fn(&Item) -> u64) -> usize {
    let most = budget + budget / 2;
    let least = said.len().saturating_sub(TAIL);
    let heavy = (most * 2).max(HEAVY_TAIL);
    let mut weighs = 0;
    let mut at = said.len();
    while at > 0 {
        weighs += weight(said[at - 1]);
        if weighs > most && (at <= least || weighs > heavy) {
            break;
        }
        at -= 1;
    }
    while at > 0 && at < said.len() && matches!(said[at].body, Body::Tool(_)) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{AssistantBody, ToolBody, ToolCall};

    /// The recipe does not say what the arguments are; they weigh like this.
    const ARGS: &str = r#"{"path": "src/some/file_of_it.rs"}"#;

    fn middle(items: &[Item], tail: u64, summarized: Option<ItemId>) -> Option<Middle> {
        super::middle(&Context::new(items.to_vec()), tail, summarized)
    }

    fn items(turns: usize, size: usize, tools: bool) -> Vec<Item> {
        let mut bodies = Vec::new();
        for n in 0..turns {
            let text = |mark: &str| format!("{mark}{n} {}", "x".repeat(size));
            bodies.push(Body::User {
                text: text("u"),
                images: Vec::new(),
                context: String::new(),
                origin: Origin::Person,
                gist: String::new(),
            });
            if tools {
                let call = |id: String| ToolCall { id, name: "t".into(), args: ARGS.into(), ..ToolCall::default() };
                let calls = vec![call(format!("{n}a")), call(format!("{n}b"))];
                bodies.push(Body::Assistant(AssistantBody { calls, ..AssistantBody::default() }));
                for id in ["a", "b"] {
                    let content = "t".repeat(size);
                    bodies.push(Body::Tool(ToolBody { call_id: format!("{n}{id}"), content, ..ToolBody::default() }));
                }
            }
            bodies.push(Body::Assistant(AssistantBody { text: text("a"), ..AssistantBody::default() }));
        }
        bodies.into_iter().zip(1..).map(|(body, id)| Item { id: ItemId(id), at: 0, turn: 1, body }).collect()
    }

    /// The cases count messages from 0, a system message among them.
    #[test]
    fn head_and_tail_are_those_of_the_cases() {
        for line in include_str!("../../../tests/cases/compress-boundaries.jsonl").lines() {
            let case: serde_json::Value = serde_json::from_str(line).unwrap();
            let number = |name: &str| case[name].as_u64().unwrap() as usize;
            let system = i64::from(case["system"].as_bool().unwrap());
            let items = items(number("turns"), number("size"), case["tools"].as_bool().unwrap());
            let found = middle(&items, case["tail_budget"].as_u64().unwrap(), None).unwrap();
            let expected = (number("compress_start") as i64 - system, number("compress_end") as i64 - system);
            assert_eq!((found.from.0 - 1, found.to.0), expected, "{line}");
        }
    }

    #[test]
    fn nothing_is_between_head_and_tail_of_a_short_conversation() {
        assert_eq!(middle(&items(4, 10, false), 1000, None), None);
        assert_eq!(middle(&[], 1000, None), None);
    }

    #[test]
    fn the_next_summary_takes_in_the_one_before_and_needs_something_new() {
        let items = items(40, 1000, true);
        let first = middle(&items, 5_000, None).unwrap();
        let next = middle(&items, 2_000, Some(first.to)).unwrap();
        assert_eq!((next.from, next.to > first.to), (ItemId(1), true));
        assert_eq!(middle(&items, 5_000, Some(first.to)), None, "nothing new");
    }

    #[test]
    fn a_long_turn_is_cut_between_two_steps_and_its_prompt_stays() {
        let mut items = items(1, 10, false);
        items.truncate(1);
        for n in 0..60 {
            let call = ToolCall { id: n.to_string(), name: "t".into(), args: ARGS.into(), ..ToolCall::default() };
            let calls = Body::Assistant(AssistantBody { calls: vec![call], ..AssistantBody::default() });
            let result =
                Body::Tool(ToolBody { call_id: n.to_string(), content: "x".repeat(2_000), ..ToolBody::default() });
            for body in [calls, result] {
                let id = ItemId(items.len() as i64 + 1);
                items.push(Item { id, at: 0, turn: 1, body });
            }
        }
        let first = middle(&items, 2_000, None).unwrap();
        assert_eq!((first.from, first.prompt), (ItemId(4), None), "the head has the prompt");
        assert!(first.to.0 % 2 == 1 && first.to > ItemId(90), "a step ends with its result: {first:?}");
        let next = middle(&items, 1_000, Some(ItemId(60))).unwrap();
        assert_eq!((next.from, next.prompt), (ItemId(1), Some(ItemId(1))));
    }

    #[test]
    fn a_few_heavy_messages_are_no_tail_that_nothing_can_move() {
        let items = items(4, 11_000, false);
        let found = middle(&items, 2_400, None).unwrap();
        assert!(found.to >= ItemId(5), "{found:?}");
    }

    #[test]
    fn a_heavy_beginning_is_not_kept() {
        let mut items = items(30, 200, false);
        if let Body::User { text, .. } = &mut items[0].body {
            *text = "x".repeat(100_000);
        }
        assert_eq!(middle(&items, 1_000, None).unwrap().from, ItemId(1));
    }
}
