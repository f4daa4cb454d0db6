//! What only files of this program carry: what the session is, and what an item is beyond the text of its line. Anybody may
//! have written it, so it is believed only as far as it can do no harm.

use crate::elsewhere::{clean_text, is_picture};
use crate::policy::redact::Secrets;
use crate::protocol::{Body, Image, Item, ItemId, ToolCall, Usage};
use crate::store::{Carried, tags_of};
use serde_json::Value;

/// How much further than the item before it the number of an item, or of its turn, may be.
const FURTHEST: i64 = 1 << 20;
/// Tokens of one call that are believed.
const MOST_TOKENS: u64 = 1 << 40;
/// Characters of a name: a model, a source.
const NAME: usize = 200;

/// What the first line says of the session.
pub(super) fn session(row: &Value, secrets: &Secrets) -> Option<Carried> {
    let mut carried: Carried = serde_json::from_value(row["session"].clone()).ok()?;
    let mask = |text: &mut String| *text = clean_text(text, secrets);
    let name = |text: &mut String| *text = text.chars().filter(|c| !c.is_control()).take(NAME).collect();
    [&mut carried.model, &mut carried.source].into_iter().for_each(name);
    carried.title.iter_mut().chain(&mut carried.branch).for_each(mask);
    carried.tags = tags_of(&carried.tags.join(","));
    if let Some(summary) = &mut carried.summary {
        std::iter::once(&mut summary.text).chain(&mut summary.keywords).for_each(mask);
    }
    for charge in &mut carried.usage {
        name(&mut charge.model);
        bound(&mut charge.usage);
    }
    Some(carried)
}

/// The body that a line and its `entry` make together; `text`, `images` and `calls` are those of the line. `None`: the line
/// has no entry, or one that is not understood.
pub(super) fn body(row: &Value, text: &str, images: Vec<Image>, calls: &[ToolCall]) -> Option<Body> {
    let mut body = row["entry"].as_object()?.clone();
    let role = row["role"].as_str()?;
    body.insert("role".to_owned(), role.into());
    let field = if role == "tool" { "content" } else { "text" };
    body.insert(field.to_owned(), text.into());
    match role {
        "user" => drop(body.insert("images".to_owned(), serde_json::to_value(images).ok()?)),
        "assistant" if !body.contains_key("calls") => {
            body.insert("calls".to_owned(), serde_json::to_value(calls).ok()?);
        }
        "tool" => drop(body.insert("name".to_owned(), row["tool_name"].clone())),
        _ => {}
    }
    let mut body: Body = serde_json::from_value(body.into()).ok()?;
    match &mut body {
        Body::Assistant(body) => {
            body.opaque.clear();
            body.usage.iter_mut().for_each(bound);
        }
        Body::Tool(body) => body.images.retain(is_picture),
        Body::Summary(body) => body.usage.iter_mut().for_each(bound),
        Body::User { .. } | Body::Note { .. } => {}
    }
    Some(body)
}

fn bound(usage: &mut Usage) {
    let Usage { input, cached, cache_write, output, reasoning, cost } = usage;
    for tokens in [input, cached, cache_write, output, reasoning] {
        *tokens = (*tokens).min(MOST_TOKENS);
    }
    *cost = cost.filter(|cost| cost.is_finite());
}

/// The numbers of an item and of its turn after `before`: those of its line, where they go on from there.
pub(super) fn numbers(row: &Value, before: Option<&Item>) -> (Option<ItemId>, Option<u32>) {
    let (id, turn) = before.map_or((0, 0), |item| (item.id.0, i64::from(item.turn)));
    let fits = |name: &str, least: i64, last: i64| {
        row["entry"][name].as_i64().filter(|number| (least..=last + FURTHEST).contains(number))
    };
    let turn = fits("turn", turn.max(1), turn).and_then(|turn| u32::try_from(turn).ok());
    (fits("id", id + 1, id).map(ItemId), turn)
}
