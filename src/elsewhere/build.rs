//! Records of another agent put together as entries of ours: steps, calls with their results, summaries.
//!
//! The one place where text of theirs enters, so the one where secrets are masked. Every call that stays a call has a
//! result in the end; calls that have no match here become text of the answer.

use super::calls::{self, Match};
use super::clean::{self, bounded};
use super::{Conversation, Found};
use crate::policy::redact::Secrets;
use crate::protocol::{
    AssistantBody, Body, Image, Item, ItemId, Origin, Outcome, StopReason, SummaryBody, SummaryBy, ToolBody, ToolCall,
    ToolView,
};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Bytes of arguments and of a result that stand as text.
const TEXT_ARGS: usize = 1_000;
const TEXT_RESULT: usize = 4_000;
/// Bytes of a picture, in base64.
const PICTURE: usize = 5 << 20;

/// A call of the other agent.
pub(super) struct Call<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub args: Value,
}

/// What came of a call.
#[derive(Default)]
pub(super) struct Answer {
    pub text: String,
    pub failed: bool,
    pub exit_code: Option<i32>,
    pub images: Vec<Image>,
    /// Output as a person reads it where the text is JSON for the model.
    pub output: String,
}

/// Where the result of a call belongs.
enum Open {
    /// A call of ours, by its name; its target for the line.
    Call { name: String, target: String },
    /// Text of the entry at this place, with the line that stands for the call.
    Text { at: usize, name: String },
}

/// The conversation so far.
pub(super) struct Builder<'s> {
    secrets: &'s Secrets,
    items: Vec<Item>,
    turn: u32,
    at: i64,
    /// Calls without a result, by their number: the id here, and what awaits the result.
    open: BTreeMap<u64, (String, Open)>,
    /// Their numbers by the agent's id.
    waiting: HashMap<String, Vec<u64>>,
    /// All ids that were given, and the last number that told one apart.
    used: HashSet<String>,
    told_apart: usize,
    /// The entry that the agent's message of this id became.
    steps: HashMap<String, usize>,
    left_out: BTreeMap<String, u64>,
    as_text: u64,
}

impl<'s> Builder<'s> {
    pub fn new(secrets: &'s Secrets, started_at: i64) -> Self {
        Self {
            secrets,
            items: Vec::new(),
            turn: 0,
            at: started_at,
            open: BTreeMap::new(),
            waiting: HashMap::new(),
            used: HashSet::new(),
            told_apart: 0,
            steps: HashMap::new(),
            left_out: BTreeMap::new(),
            as_text: 0,
        }
    }

    /// A record of this kind was left out.
    pub fn leave_out(&mut self, kind: &str) {
        self.leave_out_many(kind, 1);
    }

    pub fn leave_out_many(&mut self, kind: &str, count: u64) {
        if count > 0 {
            let kind: String = kind.chars().filter(|c| !c.is_control()).take(60).collect();
            *self.left_out.entry(kind).or_default() += count;
        }
    }

    fn clean(&self, text: &str) -> String {
        clean::text(text, self.secrets)
    }

    fn push(&mut self, at: Option<i64>, body: Body) -> usize {
        // A clock that went back does not put entries out of their order.
        self.at = at.unwrap_or(self.at).max(self.at);
        let id = ItemId(i64::try_from(self.items.len()).unwrap_or(i64::MAX).saturating_add(1));
        self.items.push(Item { id, at: self.at, turn: self.turn.max(1), body });
        self.items.len() - 1
    }

    /// A prompt.
    pub fn user(&mut self, at: Option<i64>, text: &str, images: Vec<Image>) {
        if text.trim().is_empty() && images.is_empty() {
            return;
        }
        self.close();
        self.turn += 1;
        let text = self.clean(text);
        let body = Body::User { text, images, context: String::new(), origin: Origin::Person, gist: String::new() };
        self.push(at, body);
    }

    /// The entry of the model's answer `key`; records of one answer may come apart.
    fn step(&mut self, at: Option<i64>, key: Option<&str>, model: &str) -> usize {
        if let Some(known) = key.and_then(|key| self.steps.get(key)) {
            return *known;
        }
        // Without a key, what follows an answer that has no results yet is the same answer.
        if key.is_none()
            && let Some(Item { body: Body::Assistant(_), .. }) = self.items.last()
        {
            return self.items.len() - 1;
        }
        let body = AssistantBody { model: self.clean(model), ..AssistantBody::default() };
        let at = self.push(at, Body::Assistant(body));
        if let Some(key) = key {
            self.steps.insert(key.to_owned(), at);
        }
        at
    }

    fn assistant(&mut self, at: usize) -> Option<&mut AssistantBody> {
        match self.items.get_mut(at).map(|item| &mut item.body) {
            Some(Body::Assistant(body)) => Some(body),
            _ => None,
        }
    }

    /// Text of an answer.
    pub fn text(&mut self, at: Option<i64>, key: Option<&str>, model: &str, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let (text, step) = (self.clean(text), self.step(at, key, model));
        if let Some(body) = self.assistant(step) {
            join(&mut body.text, &text);
        }
    }

    /// Reasoning of an answer.
    pub fn reasoning(&mut self, at: Option<i64>, key: Option<&str>, model: &str, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let (text, step) = (self.clean(text), self.step(at, key, model));
        if let Some(body) = self.assistant(step) {
            join(&mut body.reasoning, &text);
        }
    }

    /// A call of an answer: one of ours where the tool is the same, else text.
    pub fn call(&mut self, at: Option<i64>, key: Option<&str>, model: &str, call: &Call<'_>) {
        // The same call twice is one; an id that had its result is given anew: ids are told apart in the whole session.
        if !call.id.is_empty() && self.waiting.contains_key(call.id) {
            return self.leave_out("a call that was repeated");
        }
        let mut id = call.id.to_owned();
        while id.is_empty() || self.used.contains(&id) {
            // It never goes back: a transcript that took the next names itself is passed once.
            self.told_apart = self.told_apart.max(self.used.len()) + 1;
            id = format!("{}_{}", call.id, self.told_apart);
        }
        let step = self.step(at, key, model);
        let open = match calls::ours(call.name, &call.args) {
            Some(Match { name, args, target }) => {
                let args = self.clean(&args.to_string());
                if let Some(body) = self.assistant(step) {
                    body.calls.push(ToolCall { id: id.clone(), name: name.to_owned(), args, ..ToolCall::default() });
                    body.stop = StopReason::ToolCalls;
                }
                Open::Call { name: name.to_owned(), target: self.clean(&target) }
            }
            None => {
                self.as_text += 1;
                let args = match &call.args {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                let name = self.clean(call.name);
                let line = format!("Used the tool {name}: {}", self.clean(&bounded(&args, TEXT_ARGS)));
                if let Some(body) = self.assistant(step) {
                    join(&mut body.text, &line);
                }
                Open::Text { at: step, name }
            }
        };
        // As many ids as calls.
        let number = self.used.len() as u64;
        self.used.insert(id.clone());
        self.open.insert(number, (id, open));
        self.waiting.entry(call.id.to_owned()).or_default().push(number);
    }

    /// The result of a call.
    pub fn result(&mut self, at: Option<i64>, id: &str, answer: Answer) {
        let Some(mut numbers) = self.waiting.remove(id) else { return self.leave_out("a result without a call") };
        let call = numbers.pop().and_then(|number| self.open.remove(&number));
        if !numbers.is_empty() {
            self.waiting.insert(id.to_owned(), numbers);
        }
        let text = clean::result(&answer.text, self.secrets);
        match call {
            Some((known, Open::Call { name, target })) => {
                let failed = answer.failed || answer.exit_code.is_some_and(|code| code != 0);
                let summary = answer.exit_code.filter(|code| *code != 0).map(|code| format!("exit {code}"));
                let view = ToolView {
                    target,
                    summary: summary.unwrap_or_default(),
                    exit_code: answer.exit_code,
                    output: clean::result(&answer.output, self.secrets),
                    ..ToolView::default()
                };
                let outcome = if failed { Outcome::Failed } else { Outcome::Ok };
                let (call_id, content, images) = (known, text, answer.images);
                let body = ToolBody { call_id, name, content, outcome, images, view, ..ToolBody::default() };
                self.push(at, Body::Tool(body));
            }
            Some((_, Open::Text { at: step, name })) => {
                let word = if answer.failed { "failed" } else { "returned" };
                let line = format!("{name} {word}:\n{}", bounded(text.trim_end(), TEXT_RESULT));
                if let Some(body) = self.assistant(step) {
                    join(&mut body.text, &line);
                }
            }
            None => {}
        }
    }

    /// Calls that will get no result any more say so.
    fn close(&mut self) {
        self.waiting.clear();
        for (id, open) in std::mem::take(&mut self.open).into_values() {
            let Open::Call { name, target } = open else { continue };
            let view = ToolView { target, ..ToolView::default() };
            let content = crate::store::INTERRUPTED_RESULT.to_owned();
            let body =
                ToolBody { call_id: id, name, content, outcome: Outcome::Interrupted, view, ..ToolBody::default() };
            self.push(None, Body::Tool(body));
        }
    }

    /// How many entries there are: the place that the next one takes.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// The agent compacted: from here on a summary stands for the first `count` entries.
    pub fn compacted(&mut self, at: Option<i64>, text: &str, count: usize, model: &str) {
        self.close();
        let count = count.min(self.items.len());
        let Some(last) = count.checked_sub(1).and_then(|last| self.items.get(last)) else { return };
        if text.trim().is_empty() {
            return;
        }
        let summary = SummaryBody {
            text: self.clean(text),
            from: ItemId(1),
            to: last.id,
            entries: count as u64,
            by: SummaryBy::Model(self.clean(model)),
            ..SummaryBody::default()
        };
        self.push(at, Body::Summary(Box::new(summary)));
    }

    /// The person went back: what came from this turn on is gone.
    pub fn back_to_turn(&mut self, turn: u32) {
        let before = self.items.len();
        self.items.retain(|item| item.turn < turn.max(1));
        self.leave_out_many("entries that were rewound", (before - self.items.len()) as u64);
        self.turn = turn.max(1) - 1;
        self.open.clear();
        self.waiting.clear();
        self.steps.clear();
    }

    /// The turn that runs, counted from 1.
    pub fn turn(&self) -> u32 {
        self.turn
    }

    /// All of it; an error when nothing was said.
    pub fn finish(mut self, about: &Found) -> Result<Conversation, String> {
        self.close();
        if !self.items.iter().any(|item| matches!(item.body, Body::User { .. } | Body::Assistant(_))) {
            return Err(format!("{} holds no conversation", about.place.path().display()));
        }
        let about = Found {
            title: about.title.as_deref().map(|title| self.clean(title)),
            prompt: self.clean(&about.prompt),
            model: self.clean(&about.model),
            ..about.clone()
        };
        Ok(Conversation {
            about,
            items: self.items,
            left_out: self.left_out,
            as_text: self.as_text,
            marks: BTreeMap::new(),
        })
    }
}

fn join(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}

/// A picture in base64 of a kind that models take.
pub(super) fn image(media_type: &str, data: &str) -> Option<Image> {
    let image = Image { media_type: media_type.to_owned(), data: data.to_owned() };
    is_picture(&image).then_some(image)
}

/// Whether it is of a kind that models take, in base64, and not endless.
pub fn is_picture(image: &Image) -> bool {
    let known = matches!(image.media_type.as_str(), "image/png" | "image/jpeg" | "image/gif" | "image/webp");
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    known && image.data.len() <= PICTURE && image.data.bytes().all(plain)
}

/// A picture given as `data:image/png;base64,…`.
pub fn image_of_url(url: &str) -> Option<Image> {
    let (kind, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    image(kind, data)
}
