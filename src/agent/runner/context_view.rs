//! What fills the window, part by part, and what the person decides about it.

use super::Runner;
use crate::agent::compaction;
use crate::context::layers::Budget;
use crate::protocol::{
    AgentEvent, Body, ContextLayer, ContextOrder, ContextPart, ContextView, Item, ItemId, Keep, Layer, Sent,
};
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
        self.out.send(AgentEvent::ContextParts(Box::new(self.parts()))).await;
    }

    /// Takes over what was decided before the session was left.
    pub(super) fn restore_kept(&mut self, values: &mut BTreeMap<String, serde_json::Value>) {
        let stored = values.remove(KEPT).and_then(|value| serde_json::from_value::<BTreeMap<String, Keep>>(value).ok());
        let id = |text: String| text.parse().ok().map(ItemId);
        let kept = stored.unwrap_or_default().into_iter().filter_map(|(text, keep)| Some((id(text)?, keep)));
        self.session.context.keep(kept.collect());
    }

    /// What the next request is made of: layers and their parts, largest first.
    fn parts(&self) -> ContextView {
        let (context, session) = (&self.session.context, &self.session);
        let budget = Budget::of(&self.deps.loaded.config.context, session.window);
        let fixed = |layer, what: String, tokens| ContextPart { layer, item: None, what, tokens, sent: Sent::Whole };
        let summary = context.summary().map(|(_, summary)| summary);
        let tools = crate::text::format::plural(session.offered().len() as u64, "tool", "tools");
        let prompt = tokens::of(session.prompt.len());
        let of_tools = session.fixed() - prompt;
        // A session of an older program does not know what its prompt is made of.
        let whole = ContextLayer { layer: Layer::Identity, tokens: prompt, most: None, whole: prompt };
        let mut layers = if session.layers.is_empty() { vec![whole] } else { session.layers.clone() };
        let mut parts: Vec<ContextPart> =
            layers.iter().map(|layer| fixed(layer.layer, prompt_part(layer), layer.tokens)).collect();
        parts.push(fixed(Layer::Tools, tools, of_tools));
        layers.push(ContextLayer { layer: Layer::Tools, tokens: of_tools, most: None, whole: of_tools });
        let mut said = 0;
        if let Some(summary) = summary {
            let entries = crate::text::format::plural(summary.entries, "entry", "entries");
            let tokens = tokens::of(compaction::message(summary).len());
            said += tokens;
            parts.push(fixed(Layer::Session, format!("summary of {entries}"), tokens));
        }
        let is_sent = |item: &&Item| {
            !summary.is_some_and(|summary| summary.covers(item.id))
                || context.kept().get(&item.id) == Some(&Keep::Pinned)
        };
        let newest = context.items().iter().rev().find_map(situation);
        for item in context.items().iter().filter(is_sent) {
            let Some(what) = what(item) else { continue };
            let (tokens, sent) = (context.tokens_of(item), context.sent(item));
            // Of what is sent as a line, or not at all, no situation is sent.
            let is_whole = !matches!(sent, Sent::Kept(Keep::Line | Keep::Out));
            let runtime = newest.filter(|(id, _)| is_whole && *id == item.id);
            let runtime = runtime.map_or(0, |(_, runtime)| runtime.min(tokens));
            said += tokens - runtime;
            parts.push(ContextPart {
                layer: Layer::Session,
                item: Some(item.id),
                what,
                tokens: tokens - runtime,
                sent,
            });
            if runtime > 0 {
                parts.push(fixed(Layer::Runtime, "folder, git, processes, plan".into(), runtime));
                layers.push(ContextLayer {
                    layer: Layer::Runtime,
                    tokens: runtime,
                    most: budget.most(Layer::Runtime),
                    whole: runtime,
                });
            }
        }
        let most = self.limit().map(|limit| limit.saturating_sub(session.fixed()));
        layers.push(ContextLayer { layer: Layer::Session, tokens: said, most, whole: said });
        layers.sort_by_key(|layer| std::cmp::Reverse(layer.tokens));
        parts.sort_by_key(|part| std::cmp::Reverse(part.tokens));
        ContextView { layers, parts }
    }
}

/// The item with a situation, and its tokens.
fn situation(item: &Item) -> Option<(ItemId, u64)> {
    match &item.body {
        Body::User { context, .. } if !context.is_empty() => Some((item.id, tokens::of(context.len()))),
        Body::User { .. } | Body::Assistant(_) | Body::Tool(_) | Body::Summary(_) | Body::Note { .. } => None,
    }
}

/// A layer of the prompt as a part of it.
fn prompt_part(layer: &ContextLayer) -> String {
    let name = match layer.layer {
        Layer::Identity => "system prompt",
        other => other.word(),
    };
    if layer.is_cut() {
        format!("{name}, cut: {} tokens left out", crate::text::format::count(layer.whole - layer.tokens))
    } else {
        name.to_owned()
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
