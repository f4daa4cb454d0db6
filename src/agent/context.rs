//! What the model reads of the conversation: the one place where its size is bounded.
//!
//! Items only grow at the end, so each request extends the one before byte for byte. When the window runs out the
//! oldest tool results shrink to one line each, in one sweep, so that the prefix changes rarely.

use super::compaction::{self, lines};
use crate::llm::message::Message;
use crate::protocol::{
    AssistantBody, Body, Item, ItemId, Keep, Origin, Outcome, Sent, SummaryBody, ToolBody, ToolCall,
};
use crate::text::tokens;
use crate::tools::builtin::tool_call::NAME as TOOL_CALL;
use crate::tools::output::bound;
use crate::tools::output::budget::level;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The newest tool results that pruning never touches.
const KEEP_RESULTS: usize = 6;
/// Results shorter than this are not worth pruning (as Python Hermes has it).
const PRUNE_FROM: usize = 200;
/// Bytes that are sent of a text of which the person wants one line.
const LINE: usize = 200;
/// What stands for an entry that the person left out.
const DROPPED: &str = "[the user left this out of the conversation]";
/// What stands for a result that is sent again further down.
const REPEATED: &str = "[Duplicate tool output — same content as a more recent call]";
/// After a sweep the context fills at most this share of the limit, so that the next sweep is far away.
const TARGET: f64 = 0.6;

/// Results by the item of their call and the call's id, with their own item.
type Results<'a> = HashMap<(ItemId, &'a str), (ItemId, &'a ToolBody)>;

/// The conversation as sent, with what was left out.
#[derive(Clone, Debug, Default)]
pub struct Context {
    items: Vec<Item>,
    /// Tool results up to this item are reduced to one line.
    pruned_to: Option<ItemId>,
    /// The newest entry at the last sweep: results up to it that a later one repeats are not sent twice.
    swept_to: Option<ItemId>,
    /// What the person decided about entries.
    kept: BTreeMap<ItemId, Keep>,
    /// Bytes that results up to an entry may have at most; set when even newer ones do not fit.
    cap: Option<(usize, ItemId)>,
}

impl Context {
    /// A context over past items, in order.
    pub fn new(items: Vec<Item>) -> Self {
        Self { items, ..Self::default() }
    }

    /// Other items of the same session; what was shrunk stays shrunk, so that the prefix of a request is the same.
    pub fn replace(&mut self, items: Vec<Item>) {
        self.items = items;
    }

    /// Adds the newest item.
    pub fn push(&mut self, item: Item) {
        self.items.push(item);
    }

    /// The items, oldest first.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The summary that counts, with its entry; `None`: the model reads every entry.
    pub fn summary(&self) -> Option<(ItemId, &SummaryBody)> {
        let last = self.items.iter().rev().find_map(|item| match &item.body {
            Body::Summary(summary) => Some((item.id, summary.as_ref())),
            Body::User { .. } | Body::Assistant(_) | Body::Tool(_) | Body::Note { .. } => None,
        });
        last.filter(|(_, summary)| !summary.text.is_empty())
    }

    /// Takes what the person decided about entries.
    pub fn keep(&mut self, kept: BTreeMap<ItemId, Keep>) {
        self.kept = kept;
    }

    /// What the person decided about entries.
    pub fn kept(&self) -> &BTreeMap<ItemId, Keep> {
        &self.kept
    }

    fn is(&self, id: ItemId, keep: Keep) -> bool {
        self.kept.get(&id) == Some(&keep)
    }

    /// How an entry is sent.
    pub fn sent(&self, item: &Item) -> Sent {
        match self.kept.get(&item.id) {
            Some(keep) => Sent::Kept(*keep),
            None if self.is_shortened(item) => Sent::Shortened,
            None => Sent::Whole,
        }
    }

    /// Whether less of a result is sent than there is, because the window was full.
    fn is_shortened(&self, item: &Item) -> bool {
        let Body::Tool(body) = &item.body else { return false };
        let size = body.content.len();
        self.is_pruned(item.id) && size > PRUNE_FROM || self.cap_of(item.id).is_some_and(|cap| size > cap)
    }

    /// Results of which less is sent than there is.
    pub fn shortened(&self) -> usize {
        self.items.iter().filter(|item| self.is_shortened(item)).count()
    }

    /// Bytes of a result that may be sent.
    fn cap_of(&self, id: ItemId) -> Option<usize> {
        self.cap.filter(|(_, to)| id <= *to && !self.is(id, Keep::Pinned)).map(|(cap, _)| cap)
    }

    /// Whether a step or one of its results is pinned.
    fn is_pinned(&self, id: ItemId, body: &Body, results: &Results<'_>) -> bool {
        if self.kept.is_empty() {
            return false;
        }
        let pinned = |id: ItemId| self.is(id, Keep::Pinned);
        let of_step = |call: &ToolCall| results.get(&(id, call.id.as_str())).is_some_and(|(id, _)| pinned(*id));
        pinned(id) || matches!(body, Body::Assistant(step) if step.calls.iter().any(of_step))
    }

    /// The messages of the next request.
    pub fn messages(&self) -> Vec<Message> {
        let mut out: Vec<Message> = Vec::with_capacity(self.items.len());
        let results = self.results();
        let repeated = self.repeated();
        let summary = self.summary().map(|(_, summary)| summary);
        let mut unsaid = summary;
        for item in &self.items {
            if let Some(summary) = unsaid.take_if(|summary| item.id >= summary.from) {
                out.push(Message::User { text: compaction::message(summary), images: Vec::new() });
            }
            let covers = summary.is_some_and(|summary| summary.covers(item.id));
            if covers && !self.is_pinned(item.id, &item.body, &results) {
                continue;
            }
            match &item.body {
                Body::User { text, .. } if self.is_less(item.id) => {
                    out.push(Message::User { text: self.less(item.id, text), images: Vec::new() });
                }
                Body::User { text, images, context, origin, gist: _ } => {
                    out.push(Message::User { text: framed(text, context, *origin), images: images.clone() });
                }
                Body::Assistant(body) => {
                    let is_less = self.is_less(item.id) && !body.text.is_empty();
                    out.push(Message::Assistant {
                        text: if is_less { self.less(item.id, &body.text) } else { body.text.clone() },
                        reasoning: if is_less { String::new() } else { body.reasoning.clone() },
                        calls: body.calls.iter().map(|call| self.called(item.id, call, &results)).collect(),
                        // Signed thoughts belong to the text that they led to.
                        opaque: if is_less { Vec::new() } else { body.opaque.clone() },
                    });
                    let level = level_of(item.id, body, &results);
                    // Results follow in call order, whatever order they finished in; every call has one.
                    for call in &body.calls {
                        out.push(self.result(item.id, call, &results, &repeated, level));
                    }
                    out.extend(self.pictures(item.id, body, &results));
                }
                // Taken with their calls above; one without a call is an orphan that providers refuse.
                Body::Tool(_) | Body::Summary(_) | Body::Note { .. } => {}
            }
        }
        out
    }

    /// The pictures of a step's results, in a message of their own: not every server takes them inside a result.
    fn pictures(&self, step: ItemId, body: &AssistantBody, results: &Results<'_>) -> Option<Message> {
        let mut images = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        for call in &body.calls {
            let Some((id, result)) = results.get(&(step, call.id.as_str())) else { continue };
            if !result.images.is_empty() && !self.is_pruned(*id) && !self.is_less(*id) {
                images.extend(result.images.iter().cloned());
                names.push(&result.name);
            }
        }
        let text = format!("[images that belong to the result of {}]", names.join(", "));
        (!images.is_empty()).then_some(Message::User { text, images })
    }

    /// Results by the item of their call and the call's id.
    fn results(&self) -> Results<'_> {
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
                        found.entry((*step, tool.call_id.as_str())).or_insert((item.id, tool));
                    }
                }
                Body::User { .. } | Body::Summary(_) | Body::Note { .. } => {}
            }
        }
        found
    }

    /// A call as the model wrote it; the arguments of an old one keep the head of each text.
    fn called(&self, step: ItemId, call: &ToolCall, results: &Results<'_>) -> ToolCall {
        let mut call = wrapped(call);
        let is_old = results.get(&(step, call.id.as_str())).is_some_and(|(id, _)| self.is_pruned(*id));
        if is_old && let Some(short) = lines::short_args(&call.args) {
            call.args = short;
        }
        call
    }

    /// Whether the person wants less of an entry than there is.
    fn is_less(&self, id: ItemId) -> bool {
        self.is(id, Keep::Line) || self.is(id, Keep::Out)
    }

    /// What is sent of a text that the person wants less of.
    fn less(&self, id: ItemId, text: &str) -> String {
        if self.is(id, Keep::Out) {
            return DROPPED.to_owned();
        }
        let mut line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if line.len() > LINE {
            line.truncate(line.floor_char_boundary(LINE));
            line.push('…');
        }
        line
    }

    fn is_pruned(&self, id: ItemId) -> bool {
        self.pruned_to.is_some_and(|to| id <= to) && !self.is(id, Keep::Pinned)
    }

    /// Results that a later one repeats word for word.
    fn repeated(&self) -> BTreeSet<ItemId> {
        let Some(to) = self.swept_to else { return BTreeSet::new() };
        let mut seen: HashMap<&str, ItemId> = HashMap::new();
        let swept = self.items.iter().rev().skip_while(|item| item.id > to);
        let mut repeated = BTreeSet::new();
        for item in swept {
            let Body::Tool(body) = &item.body else { continue };
            let repeats = body.content.len() >= PRUNE_FROM && seen.insert(&body.content, item.id).is_some();
            if repeats && !self.is(item.id, Keep::Pinned) {
                repeated.insert(item.id);
            }
        }
        repeated
    }

    fn result(
        &self,
        step: ItemId,
        call: &ToolCall,
        results: &Results<'_>,
        repeated: &BTreeSet<ItemId>,
        level: usize,
    ) -> Message {
        let (content, failed) = match results.get(&(step, call.id.as_str())) {
            Some((id, ToolBody { content, outcome, large, .. })) => {
                let pruned = self.is(*id, Keep::Line) || self.is_pruned(*id) && content.len() > PRUNE_FROM;
                let content = match large {
                    Some(large) if content.len() > level => {
                        &bound::shorten(content, level, content.chars().count(), &large.whole)
                    }
                    Some(_) | None => content,
                };
                let text = match self.cap_of(*id) {
                    _ if self.is(*id, Keep::Out) => DROPPED.to_owned(),
                    _ if repeated.contains(id) => REPEATED.to_owned(),
                    _ if pruned => {
                        let line = lines::line(&call.name, &call.args, content);
                        // One line of a short result is the result.
                        if line.len() < content.len() { line } else { content.clone() }
                    }
                    Some(cap) if content.len() > cap => head_and_tail(content, cap),
                    Some(_) | None => content.clone(),
                };
                (text, *outcome != Outcome::Ok)
            }
            None => (r#"{"error":"interrupted: no result was recorded"}"#.to_owned(), true),
        };
        Message::Tool { call_id: call.id.clone(), name: wrapped(call).name, content, failed }
    }

    /// Tokens of the items, estimated.
    pub fn estimate(&self) -> u64 {
        let summary = self.summary().map(|(_, summary)| summary);
        let results = if summary.is_some() { self.results() } else { Results::new() };
        let said = summary.map_or(0, |summary| tokens::of(compaction::message(summary).len()));
        let mut covered = false;
        let mut sum = said;
        for item in &self.items {
            // The results of a step are sent with it.
            if !matches!(item.body, Body::Tool(_)) {
                let covers = summary.is_some_and(|summary| summary.covers(item.id));
                covered = covers && !self.is_pinned(item.id, &item.body, &results);
            }
            if !covered {
                sum += self.tokens_of(item);
            }
        }
        sum
    }

    /// Tokens of the items after this one, estimated.
    pub fn estimate_after(&self, id: ItemId) -> u64 {
        self.items.iter().rev().take_while(|item| item.id > id).map(|item| self.tokens_of(item)).sum()
    }

    /// Tokens of an entry as it is sent, estimated; what a summary stands for is not left out.
    pub fn tokens_of(&self, item: &Item) -> u64 {
        let chars = match &item.body {
            _ if self.is(item.id, Keep::Out) => DROPPED.len(),
            Body::User { text, .. } if self.is(item.id, Keep::Line) => text.len().min(LINE),
            Body::Assistant(body) if self.is(item.id, Keep::Line) => {
                body.text.len().min(LINE) + body.calls.iter().map(|c| c.name.len() + c.args.len()).sum::<usize>()
            }
            Body::Tool(body) if self.is(item.id, Keep::Line) => body.content.len().min(LINE),
            Body::User { text, images, context, .. } => {
                text.len() + context.len() + images.len() * tokens::IMAGE * tokens::BYTES
            }
            Body::Assistant(body) => {
                body.text.len() + body.calls.iter().map(|c| c.name.len() + c.args.len()).sum::<usize>()
            }
            Body::Tool(body) if !body.images.is_empty() && !self.is_pruned(item.id) => {
                body.content.len() + body.images.len() * tokens::IMAGE * tokens::BYTES
            }
            Body::Tool(body) if self.is_pruned(item.id) => body.content.len().min(PRUNE_FROM),
            Body::Tool(body) => body.content.len().min(self.cap_of(item.id).unwrap_or(usize::MAX)),
            Body::Summary(_) | Body::Note { .. } => 0,
        };
        tokens::of(chars)
    }

    /// Shrinks tool results until the context fits `limit` tokens with room to grow: those of earlier turns first, then old
    /// ones of the turn that runs. Its newest ones stay whole, except as the `last_resort`. `false`: nothing was left to
    /// shrink.
    pub fn prune(&mut self, limit: u64, last_resort: bool) -> bool {
        let before = (self.pruned_to, self.cap);
        let turn = self.items.last().map_or(0, |item| item.turn);
        let newest = self.items.last().map_or(ItemId(0), |item| item.id);
        let earlier = self.items.iter().rev().find(|item| item.turn < turn).map_or(ItemId(0), |item| item.id);
        self.shorten(limit, earlier);
        if self.estimate() > limit {
            self.cut(limit, earlier);
        }
        if self.estimate() > limit {
            self.shorten(limit, newest);
        }
        // A small window is never a dead end.
        if last_resort && self.estimate() > limit {
            self.cut(limit, newest);
        }
        if self.pruned_to != before.0 {
            self.swept_to = Some(newest);
        }
        (self.pruned_to, self.cap) != before
    }

    /// Old results up to an entry become one line each, the oldest first.
    fn shorten(&mut self, limit: u64, to: ItemId) {
        let target = (limit as f64 * TARGET) as u64;
        let summarized = self.summary().map(|(_, summary)| summary.to);
        let is_result = |item: &&Item| matches!(item.body, Body::Tool(_)) && summarized.is_none_or(|to| item.id > to);
        let results = self.items.iter().enumerate().filter(|(_, item)| is_result(item)).map(|(at, _)| at);
        let results: Vec<usize> = results.collect();
        let before = self.pruned_to;
        let candidates = results.len().saturating_sub(KEEP_RESULTS);
        // Counted once, with the first that shrinks, then less by what each of the others saves.
        let mut sum = None;
        for at in &results[..candidates] {
            let id = self.items[*at].id;
            if id > to || before.is_some_and(|to| id <= to) {
                continue;
            }
            let whole = self.tokens_of(&self.items[*at]);
            self.pruned_to = Some(id);
            let saved = whole.saturating_sub(self.tokens_of(&self.items[*at]));
            let now = sum.map_or_else(|| self.estimate(), |sum: u64| sum.saturating_sub(saved));
            sum = Some(now);
            // A result that a summary covers saves nothing: what is believed is looked at.
            if now <= target && self.estimate() <= target {
                break;
            }
        }
    }

    /// Results up to an entry keep only head and tail.
    fn cut(&mut self, limit: u64, to: ItemId) {
        let tight = usize::try_from(limit).unwrap_or(usize::MAX) * tokens::BYTES / (KEEP_RESULTS * 2);
        let cap = self.cap.map_or(tight, |(cap, _)| cap.min(tight)).max(PRUNE_FROM * 2);
        let is_longer = |item: &Item| match &item.body {
            Body::Tool(tool) => item.id <= to && tool.content.len() > cap && !self.is_pruned(item.id),
            Body::User { .. } | Body::Assistant(_) | Body::Summary(_) | Body::Note { .. } => false,
        };
        if self.items.iter().any(is_longer) {
            self.cap = Some((cap, self.cap.map_or(to, |(_, before)| before.max(to))));
        }
    }
}

/// Tokens that a prompt adds, estimated.
pub fn tokens_of_prompt(text: &str, context: &str, images: usize) -> u64 {
    tokens::of(text.len() + context.len() + images * tokens::IMAGE * tokens::BYTES)
}

/// Bytes that each result of a step may keep: known from what was stored with them, so that the same step reads the same
/// in every request.
fn level_of(step: ItemId, body: &AssistantBody, results: &Results<'_>) -> usize {
    let of_step =
        || body.calls.iter().filter_map(|call| results.get(&(step, call.id.as_str())).map(|(_, result)| result));
    let room = of_step().find_map(|result| result.large.as_ref().map(|large| large.room));
    room.map_or(usize::MAX, |room| level(&of_step().map(|result| result.content.len()).collect::<Vec<_>>(), room))
}

fn framed(text: &str, context: &str, origin: Origin) -> String {
    let text = match origin {
        Origin::Person | Origin::Program => text.to_owned(),
        Origin::Steer => format!("[The user says, while you work:]\n{text}"),
    };
    if context.is_empty() { text } else { format!("{text}\n\n<situation>\n{context}\n</situation>") }
}

/// A call as the model wrote it.
fn wrapped(call: &ToolCall) -> ToolCall {
    let mut call = call.clone();
    if !call.via.is_empty() {
        call.name = TOOL_CALL.to_owned();
        call.args = std::mem::take(&mut call.via);
    }
    call
}

/// A result with its middle left out.
fn head_and_tail(content: &str, cap: usize) -> String {
    let head = content.floor_char_boundary(cap * 2 / 5);
    let tail = content.ceil_char_boundary(content.len() - cap / 2);
    let (start, end) = (&content[..head], &content[tail..]);
    format!("{start}\n[{} bytes left out: they do not fit the model's window]\n{end}", tail - head)
}

#[cfg(test)]
mod tests;
