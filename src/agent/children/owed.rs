//! What children did that the conversation of their parent does not hold yet. It is written down before it is told, so that a
//! session that is resumed tells it: once, whatever ended the program.

use super::{Family, Kin, outcome};
use crate::agent::handle::AgentRequest;
use crate::lock::lock;
use crate::protocol::{Body, ChildState, Item};
use crate::tools::children::{Batch, ChildResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::atomic::Ordering;

/// The name of the fact of the session.
pub const OWED: &str = "children";
/// What a result holds, and a list of children does not.
const RESULT: &str = "\"summary\"";

/// A batch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Owed {
    call_id: String,
    /// The call has its result; the end comes by a message.
    pub background: bool,
    children: Vec<Of>,
}

/// One child of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Of {
    number: u64,
    ended: bool,
    /// As far as it is known.
    result: ChildResult,
}

impl Of {
    /// Whether a text for the model holds its result.
    fn is_told(&self, text: &str) -> bool {
        let row = &self.result.row;
        let names = match &row.session {
            Some(session) => text.contains(&session.0),
            None => text.contains(&format!("\"agent\":\"{}\"", row.name)),
        };
        names && text.contains(RESULT)
    }
}

impl Owed {
    /// The same, as far as an item does not tell it; `None`: it tells all.
    fn beyond(mut self, item: &Item) -> Option<Self> {
        let texts: [&str; 2] = match &item.body {
            Body::User { text, context, .. } => [text, context],
            Body::Tool(tool) => [&tool.content, ""],
            Body::Assistant(_) | Body::Summary(_) | Body::Note { .. } => return Some(self),
        };
        self.children.retain(|child| !texts.iter().any(|text| child.is_told(text)));
        (!self.children.is_empty()).then_some(self)
    }
}

/// What a program that is gone left untold, as the session kept it: a message and its gist, and whose text is in it.
/// `items`: the conversation.
pub fn message(kept: Value, items: &[Item]) -> Option<((String, String), Vec<String>)> {
    let kept: Vec<Owed> = serde_json::from_value(kept).ok()?;
    let untold = kept.into_iter().filter_map(|owed| items.iter().try_fold(owed, Owed::beyond));
    let results: Vec<ChildResult> = untold
        .flat_map(|owed| owed.children)
        .map(|child| {
            let mut result = child.result;
            if !child.ended {
                result.row.state = ChildState::Stopped;
                result.error = match &result.row.session {
                    Some(session) => format!("Hermes ended while it worked; what it did stands in session {session}"),
                    None => "Hermes ended before it began".into(),
                };
            }
            result
        })
        .collect();
    (!results.is_empty()).then(|| (outcome::message(&results), outcome::strangers(&results)))
}

impl Family {
    /// A batch begins.
    pub(super) async fn owe(&self, batch: &Batch, numbers: &[u64], background: bool) {
        let results = self.results(numbers).into_iter();
        let of = |(number, result): (&u64, ChildResult)| Of { number: *number, ended: false, result };
        let children = numbers.iter().zip(results).map(of).collect();
        lock(&self.owed).push(Owed { call_id: batch.call_id.clone(), background, children });
        self.owes().await;
    }

    /// More is known of a child.
    pub(super) async fn owe_more(&self, number: u64) {
        let Some(result) = self.results(&[number]).pop() else { return };
        let known = {
            let mut owed = lock(&self.owed);
            let child = owed.iter_mut().flat_map(|owed| &mut owed.children).find(|child| child.number == number);
            child.map(|child| (child.ended, child.result) = (result.row.state.is_over(), result)).is_some()
        };
        if known {
            self.owes().await;
        }
    }

    /// Nobody waits for these children any more: a message tells their end.
    pub(super) async fn owe_by_message(&self, numbers: &[u64]) {
        for owed in lock(&self.owed).iter_mut() {
            owed.background |= owed.children.iter().any(|child| numbers.contains(&child.number));
        }
        self.owes().await;
    }

    async fn owes(&self) {
        if !self.unkept.swap(true, Ordering::AcqRel) {
            self.parent.handle.tell_surely(AgentRequest::Owed).await;
        }
    }

    /// All that is owed, to be kept with the session.
    pub fn owed(&self) -> Value {
        self.unkept.store(false, Ordering::Release);
        let owed = lock(&self.owed);
        if owed.is_empty() { Value::Null } else { serde_json::to_value(&*owed).unwrap_or_default() }
    }

    /// The conversation has one more item: whether it tells something that was owed.
    pub fn heard(&self, item: &Item) -> bool {
        let mut owed = lock(&self.owed);
        let before = owed.iter().map(|owed| owed.children.len()).sum::<usize>();
        let answered = match &item.body {
            Body::Tool(tool) => tool.call_id.as_str(),
            Body::User { .. } | Body::Assistant(_) | Body::Summary(_) | Body::Note { .. } => "",
        };
        // A call that waited has its result, whatever that says.
        owed.retain(|owed| owed.background || owed.call_id != answered);
        *owed = std::mem::take(&mut *owed).into_iter().filter_map(|owed| owed.beyond(item)).collect();
        owed.iter().map(|owed| owed.children.len()).sum::<usize>() < before
    }

    /// Whether a message that no step took tells something that is owed.
    pub fn owes_message(&self, text: &str) -> bool {
        lock(&self.owed).iter().flat_map(|owed| &owed.children).any(|child| child.is_told(text))
    }

    /// The results of children for a message, once: not of those whose result a call told, or waits for.
    pub(super) fn untold(&self, numbers: &[u64]) -> Vec<ChildResult> {
        let free: Vec<u64> = {
            let mut kin = lock(&self.kin);
            let of = kin.iter_mut().filter(|child| numbers.contains(&child.number));
            let mut untold: Vec<&mut Kin> = of.filter(|child| child.awaited == 0 && !child.told).collect();
            untold.iter_mut().for_each(|child| child.told = true);
            untold.iter().map(|child| child.number).collect()
        };
        self.results(&free)
    }
}
