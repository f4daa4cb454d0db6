//! What the model reads of the conversation: the one place where its size is bounded.
//!
//! Items only grow at the end, so each request extends the one before byte for byte. When the window runs out the
//! oldest tool results shrink to one line each, in one sweep, so that the prefix changes rarely.

use crate::llm::message::{Body, Item, ItemId, Message, Origin, Outcome, ToolCall};
use std::collections::{HashMap, HashSet};

/// Characters a token stands for when nothing better is known (facts §5).
const CHARS_PER_TOKEN: usize = 4;
/// Tokens an image is counted as (facts §5).
const IMAGE_TOKENS: usize = 1600;
/// The newest tool results that pruning never touches.
const KEEP_RESULTS: usize = 6;
/// Results shorter than this are not worth pruning (facts §5, phase 1).
const PRUNE_FROM: usize = 200;
/// After a sweep the context fills at most this share of the limit, so that the next sweep is far away.
const TARGET: f64 = 0.6;

/// The conversation as sent, with what was left out.
#[derive(Clone, Debug, Default)]
pub struct Context {
    items: Vec<Item>,
    /// Tool results up to this item are reduced to one line.
    pruned_to: Option<ItemId>,
}

impl Context {
    /// A context over past items, in order.
    pub fn new(items: Vec<Item>) -> Self {
        Self { items, pruned_to: None }
    }

    /// Adds the newest item.
    pub fn push(&mut self, item: Item) {
        self.items.push(item);
    }

    /// The items, oldest first.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The messages of the next request.
    pub fn messages(&self) -> Vec<Message> {
        let mut out: Vec<Message> = Vec::with_capacity(self.items.len());
        let results = self.results();
        let mut at = 0;
        while at < self.items.len() {
            let item = &self.items[at];
            at += 1;
            match &item.body {
                Body::User { text, images, context, origin } => {
                    out.push(Message::User { text: framed(text, context, *origin), images: images.clone() });
                }
                Body::Assistant(body) => {
                    out.push(Message::Assistant {
                        text: body.text.clone(),
                        reasoning: body.reasoning.clone(),
                        calls: body.calls.clone(),
                        opaque: body.opaque.clone(),
                    });
                    // Results follow in call order, whatever order they finished in; every call has one.
                    for call in &body.calls {
                        out.push(self.result(item.id, call, &results));
                    }
                }
                // Taken with their calls above; one without a call is an orphan that providers refuse.
                Body::Tool(_) | Body::Note { .. } => {}
            }
        }
        out
    }

    /// Results by the item of their call and the call's id.
    fn results(&self) -> HashMap<(ItemId, &str), (ItemId, &str, Outcome)> {
        let mut owner: HashMap<&str, ItemId> = HashMap::new();
        let mut found = HashMap::new();
        for item in &self.items {
            match &item.body {
                Body::Assistant(body) => {
                    for call in &body.calls {
                        owner.insert(&call.id, item.id);
                    }
                }
                Body::Tool(tool) => {
                    if let Some(step) = owner.get(tool.call_id.as_str()) {
                        found.entry((*step, tool.call_id.as_str())).or_insert((
                            item.id,
                            tool.content.as_str(),
                            tool.outcome,
                        ));
                    }
                }
                Body::User { .. } | Body::Note { .. } => {}
            }
        }
        found
    }

    fn result(
        &self,
        step: ItemId,
        call: &ToolCall,
        results: &HashMap<(ItemId, &str), (ItemId, &str, Outcome)>,
    ) -> Message {
        let (content, failed) = match results.get(&(step, call.id.as_str())) {
            Some((id, content, outcome)) => {
                let pruned = self.pruned_to.is_some_and(|to| *id <= to) && content.len() > PRUNE_FROM;
                let text = if pruned { one_line(call, content, *outcome) } else { (*content).to_owned() };
                (text, *outcome != Outcome::Ok)
            }
            None => (r#"{"error":"interrupted: no result was recorded"}"#.to_owned(), true),
        };
        Message::Tool { call_id: call.id.clone(), name: call.name.clone(), content, failed }
    }

    /// Tokens of the items, estimated.
    pub fn estimate(&self) -> u64 {
        self.items.iter().map(|item| self.item_tokens(item)).sum()
    }

    /// Tokens of the items after this one, estimated.
    pub fn estimate_after(&self, id: ItemId) -> u64 {
        self.items.iter().rev().take_while(|item| item.id > id).map(|item| self.item_tokens(item)).sum()
    }

    fn item_tokens(&self, item: &Item) -> u64 {
        let chars = match &item.body {
            Body::User { text, images, context, .. } => {
                text.len() + context.len() + images.len() * IMAGE_TOKENS * CHARS_PER_TOKEN
            }
            Body::Assistant(body) => {
                body.text.len() + body.calls.iter().map(|c| c.name.len() + c.args.len()).sum::<usize>()
            }
            Body::Tool(body) if self.pruned_to.is_some_and(|to| item.id <= to) => body.content.len().min(PRUNE_FROM),
            Body::Tool(body) => body.content.len(),
            Body::Note { .. } => 0,
        };
        chars.div_ceil(CHARS_PER_TOKEN) as u64
    }

    /// Shrinks old tool results until the context fits `limit` tokens with room to grow. `false`: nothing was left to
    /// shrink.
    pub fn prune(&mut self, limit: u64) -> bool {
        let target = (limit as f64 * TARGET) as u64;
        let results: Vec<ItemId> =
            self.items.iter().filter(|i| matches!(i.body, Body::Tool(_))).map(|i| i.id).collect();
        let before = self.pruned_to;
        let candidates = results.len().saturating_sub(KEEP_RESULTS);
        for id in &results[..candidates] {
            if before.is_some_and(|to| *id <= to) {
                continue;
            }
            self.pruned_to = Some(*id);
            if self.estimate() <= target {
                break;
            }
        }
        self.pruned_to != before
    }
}

fn framed(text: &str, context: &str, origin: Origin) -> String {
    let text = match origin {
        Origin::Person | Origin::Program => text.to_owned(),
        Origin::Steer => format!("[The user says, while you work:]\n{text}"),
    };
    if context.is_empty() { text } else { format!("{text}\n\n<situation>\n{context}\n</situation>") }
}

/// What is left of a pruned result.
fn one_line(call: &ToolCall, content: &str, outcome: Outcome) -> String {
    let target: String = call.args.chars().take(120).collect();
    let how = if outcome == Outcome::Ok { "ok" } else { "failed" };
    format!(
        "[old result left out to save room: {} {target} → {how}, {} characters; call again if needed]",
        call.name,
        content.len()
    )
}

/// Ids of calls that have no result yet, in order: the dangling ones of a session that was cut off.
pub fn dangling(items: &[Item]) -> Vec<ToolCall> {
    let answered: HashSet<&str> = items
        .iter()
        .filter_map(|item| match &item.body {
            Body::Tool(tool) => Some(tool.call_id.as_str()),
            Body::User { .. } | Body::Assistant(_) | Body::Note { .. } => None,
        })
        .collect();
    items
        .iter()
        .filter_map(|item| match &item.body {
            Body::Assistant(body) => Some(&body.calls),
            Body::User { .. } | Body::Tool(_) | Body::Note { .. } => None,
        })
        .flatten()
        .filter(|call| !answered.contains(call.id.as_str()))
        .cloned()
        .collect()
}
