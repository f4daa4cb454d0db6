//! The reply as it grows: what the wire parsers fill in, what the sink is told, and what comes out at the end.

use super::think::Scrub;
use super::{Delta, Reply, ToolSchema, inner, text_calls};
use crate::protocol::{StopReason, ToolCall, Usage};
use serde_json::Value;

/// A call that is still arriving.
#[derive(Debug, Default)]
struct Open {
    id: String,
    name: String,
    args: String,
    announced: bool,
    /// What the call holds was announced too.
    unwrapped: bool,
    /// Bytes of arguments the sink knows of.
    told: usize,
}

/// How far the stream has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    #[default]
    Open,
    /// The model has stopped; usage may still come.
    Stopped,
    /// Nothing more will come.
    Closed,
}

/// Collects a reply.
#[derive(Debug, Default)]
pub(super) struct Gather {
    pub text: String,
    pub reasoning: String,
    pub usage: Option<Usage>,
    pub stop: Option<StopReason>,
    pub opaque: Vec<Value>,
    pub model: String,
    pub end: End,
    calls: Vec<Open>,
    /// Only where models write their reasoning into the text.
    scrub: Option<Scrub>,
    text_sent: usize,
    reasoning_sent: usize,
}

/// What finishing needs to know of the request.
pub(super) struct Finishing<'a> {
    pub tools: &'a [ToolSchema],
    /// Messages of the request: makes invented ids differ between steps.
    pub messages: usize,
    pub text_calls: bool,
    pub short_ids: bool,
}

impl Gather {
    /// A new reply; `scrub` moves `<think>` blocks out of the text.
    pub fn new(scrub: bool) -> Self {
        Self { scrub: scrub.then(Scrub::default), ..Self::default() }
    }

    pub fn push_text(&mut self, piece: &str) {
        match &mut self.scrub {
            Some(scrub) => scrub.push(piece, &mut self.text, &mut self.reasoning),
            None => self.text.push_str(piece),
        }
    }

    pub fn push_reasoning(&mut self, piece: &str) {
        self.reasoning.push_str(piece);
    }

    /// Begins a call and gives its place.
    pub fn open_call(&mut self, id: &str, name: &str) -> usize {
        self.calls.push(Open { id: id.to_owned(), name: name.to_owned(), ..Open::default() });
        self.calls.len() - 1
    }

    /// Fills in what the first fragment did not have.
    pub fn name_call(&mut self, at: usize, id: &str, name: &str) {
        if let Some(call) = self.calls.get_mut(at) {
            if call.id.is_empty() {
                call.id.push_str(id);
            }
            if call.name.is_empty() {
                call.name.push_str(name);
            }
        }
    }

    pub fn push_args(&mut self, at: usize, piece: &str) {
        if let Some(call) = self.calls.get_mut(at) {
            call.args.push_str(piece);
        }
    }

    /// Sets the arguments where the server repeats them whole.
    pub fn set_args(&mut self, at: usize, whole: &str) {
        if let Some(call) = self.calls.get_mut(at)
            && !whole.is_empty()
        {
            whole.clone_into(&mut call.args);
        }
    }

    pub fn call_count(&self) -> usize {
        self.calls.len()
    }

    pub fn call_id(&self, at: usize) -> &str {
        self.calls.get(at).map_or("", |call| &call.id)
    }

    pub fn call_with_id(&self, id: &str) -> Option<usize> {
        self.calls.iter().position(|call| call.id == id)
    }

    /// Whether the arguments so far are whole.
    pub fn args_complete(&self, at: usize) -> bool {
        self.calls.get(at).is_some_and(|call| is_object(&call.args))
    }

    /// What is new since the last time, merged to one delta a kind.
    pub fn drain(&mut self, out: &mut Vec<Delta>) {
        if let Some(new) = self.reasoning.get(self.reasoning_sent..).filter(|new| !new.is_empty()) {
            out.push(Delta::Reasoning(new.to_owned()));
            self.reasoning_sent = self.reasoning.len();
        }
        if let Some(new) = self.text.get(self.text_sent..).filter(|new| !new.is_empty()) {
            out.push(Delta::Text(new.to_owned()));
            self.text_sent = self.text.len();
        }
        for (index, call) in self.calls.iter_mut().enumerate() {
            if !call.announced && !call.name.is_empty() {
                call.announced = true;
                out.push(Delta::CallStarted { index, name: call.name.clone() });
            }
            if call.announced && call.told < call.args.len() {
                call.told = call.args.len();
                if !call.unwrapped
                    && let Some(name) = inner::of(&call.name, &call.args)
                {
                    call.unwrapped = true;
                    out.push(Delta::CallStarted { index, name });
                }
                out.push(Delta::CallProgress { index, bytes: call.told });
            }
        }
    }

    /// Lets go of what was held back as a possible tag.
    pub fn flush(&mut self) {
        if let Some(scrub) = &mut self.scrub {
            scrub.finish(&mut self.text, &mut self.reasoning);
        }
    }

    /// What there is when the stream failed. Its calls are for showing only.
    pub fn partial(mut self) -> Reply {
        self.flush();
        let calls = self.calls.into_iter().map(|call| ToolCall {
            id: call.id,
            name: call.name,
            args: call.args,
            repaired: false,
            via: String::new(),
        });
        Reply {
            text: self.text,
            reasoning: self.reasoning,
            calls: calls.filter(|call| !call.name.is_empty()).collect(),
            usage: self.usage,
            stop: self.stop.unwrap_or(StopReason::Other("interrupted".into())),
            opaque: Vec::new(),
            model: self.model,
            cut_call: None,
        }
    }

    /// The whole reply.
    pub fn finish(mut self, finishing: &Finishing<'_>) -> Reply {
        self.flush();
        let mut stop = self.stop.unwrap_or_default();
        let mut cut_call = None;
        let mut calls = Vec::with_capacity(self.calls.len());
        for (index, call) in self.calls.into_iter().enumerate() {
            if stop == StopReason::Length && !is_object(&call.args) {
                cut_call = Some(call.name);
                continue;
            }
            let args = if call.args.trim().is_empty() { "{}".to_owned() } else { call.args };
            let id = if call.id.is_empty() { invented_id(finishing, index, &call.name, &args) } else { call.id };
            calls.push(ToolCall { id, name: call.name, args, repaired: false, via: String::new() });
        }
        let may_be_text = calls.is_empty() && finishing.text_calls && stop != StopReason::Length;
        if let Some(found) = may_be_text.then(|| text_calls::find(&self.text, finishing.tools)).flatten() {
            self.text.truncate(found.head);
            for (index, (name, args)) in found.calls.into_iter().enumerate() {
                let args = args.to_string();
                calls.push(ToolCall {
                    id: invented_id(finishing, index, &name, &args),
                    name,
                    args,
                    repaired: true,
                    via: String::new(),
                });
            }
        }
        match stop {
            // Some servers say `stop` when they mean calls, and the other way round.
            StopReason::EndTurn | StopReason::Other(_) if !calls.is_empty() => stop = StopReason::ToolCalls,
            StopReason::ToolCalls if calls.is_empty() => stop = StopReason::EndTurn,
            _ => {}
        }
        Reply {
            text: self.text,
            reasoning: self.reasoning,
            calls,
            usage: self.usage,
            stop,
            opaque: self.opaque,
            model: self.model,
            cut_call,
        }
    }
}

/// Whether a text is one whole JSON object.
pub(super) fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// The same reply to the same request gets the same ids; another step gets others.
fn invented_id(finishing: &Finishing<'_>, index: usize, name: &str, args: &str) -> String {
    let hash = fnv(&[&finishing.messages.to_le_bytes(), &index.to_le_bytes(), name.as_bytes(), args.as_bytes()]);
    if finishing.short_ids { short_id(hash) } else { format!("call_{hash:016x}") }
}

/// FNV-1a, 64 bits: stable across versions and machines, which `std`'s hasher does not promise.
pub(super) fn fnv(parts: &[&[u8]]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in parts.iter().flat_map(|part| part.iter().chain(&[0xff])) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

/// Nine letters or digits.
pub(super) fn short_id(mut hash: u64) -> String {
    const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let letter = |_| {
        let letter = LETTERS.get((hash % 36) as usize).copied().unwrap_or(b'0');
        hash /= 36;
        char::from(letter)
    };
    (0..9).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finishing(tools: &[ToolSchema]) -> Finishing<'_> {
        Finishing { tools, messages: 3, text_calls: true, short_ids: false }
    }

    #[test]
    fn new_parts_are_told_once_and_merged() {
        let mut gather = Gather::new(true);
        for piece in ["<think>", "a", "</think>", "b", "c"] {
            gather.push_text(piece);
        }
        let call = gather.open_call("1", "todo");
        gather.push_args(call, "{\"a\"");
        gather.push_args(call, ":1}");
        let mut out = Vec::new();
        gather.drain(&mut out);
        gather.drain(&mut out);
        let expected = [
            Delta::Reasoning("a".into()),
            Delta::Text("bc".into()),
            Delta::CallStarted { index: 0, name: "todo".into() },
            Delta::CallProgress { index: 0, bytes: 7 },
        ];
        assert_eq!(out, expected);
    }

    #[test]
    fn a_wrapped_call_is_told_by_the_name_of_what_it_holds() {
        let mut gather = Gather::new(false);
        let call = gather.open_call("1", "tool_call");
        let mut told = Vec::new();
        for piece in ["{\"name\":\"mcp__gh", "__find\"", ",\"arguments\":{\"name\":\"x\"}}"] {
            gather.push_args(call, piece);
            gather.drain(&mut told);
        }
        let names: Vec<&str> = told
            .iter()
            .filter_map(|delta| match delta {
                Delta::CallStarted { name, .. } => Some(name.as_str()),
                Delta::Waiting(_) | Delta::Text(_) | Delta::Reasoning(_) | Delta::CallProgress { .. } => None,
            })
            .collect();
        assert_eq!(names, ["tool_call", "mcp__gh__find"]);
    }

    #[test]
    fn a_truncated_call_is_dropped_and_named() {
        for (args, kept) in [("{\"a\": 1}", true), ("{\"a\": ", false), ("", false)] {
            let mut gather = Gather::new(false);
            let first = gather.open_call("0", "first");
            gather.push_args(first, "{}");
            let call = gather.open_call("1", "write_file");
            gather.push_args(call, args);
            gather.stop = Some(StopReason::Length);
            let reply = gather.finish(&finishing(&[]));
            assert_eq!(reply.calls.len(), if kept { 2 } else { 1 }, "{args}");
            assert_eq!(reply.cut_call.is_none(), kept);
            assert_eq!(reply.stop, StopReason::Length);
        }
    }

    #[test]
    fn invented_ids_are_stable_and_differ() {
        let reply = |messages: usize, short_ids: bool| {
            let mut gather = Gather::new(false);
            gather.open_call("", "todo");
            gather.open_call("", "todo");
            gather.finish(&Finishing { messages, short_ids, ..finishing(&[]) })
        };
        let ids: Vec<String> = reply(3, false).calls.into_iter().map(|call| call.id).collect();
        assert_eq!(ids, reply(3, false).calls.into_iter().map(|call| call.id).collect::<Vec<_>>());
        assert_ne!(ids[0], ids[1]);
        assert_ne!(ids[0], reply(4, false).calls[0].id);
        let short = &reply(3, true).calls[0].id;
        assert!(short.len() == 9 && short.chars().all(|c| c.is_ascii_alphanumeric()), "{short}");
        assert_eq!(reply(3, false).stop, StopReason::ToolCalls);
        assert_eq!(reply(3, false).calls[0].args, "{}");
    }
}
