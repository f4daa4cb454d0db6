//! What fills the window, part by part, and what the person decides about it.

use super::Runner;
use crate::agent::compaction;
use crate::protocol::{AgentEvent, Body, ContextOrder, ContextPart, Item, ItemId, Keep, Sent};
use crate::text::tokens;
use std::collections::BTreeMap;

/// The name of the session's fact.
const KEPT: &str = "kept";

impl Runner {
    /// Lists the parts of the next request, after a change if there is one.
    pub(super) async fn context_order(&mut self, order: ContextOrder) {
        if let ContextOrder::Keep(item, keep) = order {
            let mut kept = self.session.context.kept().clone();
            match keep {
                Some(keep) => kept.insert(item, keep),
                None => kept.remove(&item),
            };
            let stored: BTreeMap<String, Keep> = kept.iter().map(|(id, keep)| (id.0.to_string(), *keep)).collect();
            self.session.choose(kept);
            if let Ok(value) = serde_json::to_value(stored) {
                self.keep(KEPT, value).await;
            }
            let meter = self.session.meter();
            self.out.send(AgentEvent::UsageChanged(meter)).await;
        }
        self.out.send(AgentEvent::ContextParts(self.parts())).await;
    }

    /// Takes over what was decided before the session was left.
    pub(super) fn restore_kept(&mut self, values: &mut BTreeMap<String, serde_json::Value>) {
        let stored = values.remove(KEPT).and_then(|value| serde_json::from_value::<BTreeMap<String, Keep>>(value).ok());
        let id = |text: String| text.parse().ok().map(ItemId);
        let kept = stored.unwrap_or_default().into_iter().filter_map(|(text, keep)| Some((id(text)?, keep)));
        self.session.context.keep(kept.collect());
    }

    /// The parts of the next request, largest first.
    fn parts(&self) -> Vec<ContextPart> {
        let (context, session) = (&self.session.context, &self.session);
        let fixed = |what: String, tokens| ContextPart { item: None, what, tokens, sent: Sent::Whole };
        let summary = context.summary().map(|(_, summary)| summary);
        let tools = crate::text::format::plural(session.tools.len() as u64, "tool", "tools");
        let prompt = tokens::of(session.prompt.len());
        let mut parts = vec![fixed("system prompt".into(), prompt), fixed(tools, session.fixed() - prompt)];
        if let Some(summary) = summary {
            let entries = crate::text::format::plural(summary.entries, "entry", "entries");
            parts.push(fixed(format!("summary of {entries}"), tokens::of(compaction::message(summary).len())));
        }
        let is_sent = |item: &&Item| {
            !summary.is_some_and(|summary| summary.covers(item.id))
                || context.kept().get(&item.id) == Some(&Keep::Pinned)
        };
        for item in context.items().iter().filter(is_sent) {
            let Some(what) = what(item) else { continue };
            let (tokens, sent) = (context.tokens_of(item), context.sent(item));
            parts.push(ContextPart { item: Some(item.id), what, tokens, sent });
        }
        parts.sort_by_key(|part| std::cmp::Reverse(part.tokens));
        parts
    }
}

/// An entry in words; `None` for one that is never sent.
fn what(item: &Item) -> Option<String> {
    match &item.body {
        Body::Assistant(body) if body.text.trim().is_empty() => {
            let calls = body.calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>().join(", ");
            Some(format!("calls {calls}"))
        }
        _ => crate::agent::rewind::in_a_line(item),
    }
}
