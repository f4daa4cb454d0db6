//! Why a provider's cache no longer holds the beginning of a request: the first part that differs from the one before.

use crate::llm::Request;
use crate::llm::message::Message;
use crate::protocol::{PrefixBreak, Usage};
use std::hash::{DefaultHasher, Hash, Hasher as _};

/// The name of the session's fact that holds its breaks.
pub const PREFIX_BREAKS: &str = "prefix_breaks";
/// Breaks that are kept of a session.
const KEPT: usize = 8;
/// A reply whose cached tokens are fewer than this percent of the request before it was not served from the cache.
const HELD: u64 = 50;

/// What a request was made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefix {
    model: String,
    system: u64,
    tools: u64,
    messages: Vec<u64>,
}

/// The request before, what its provider counted, and why the next one may differ.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PrefixWatch {
    before: Option<(Prefix, Usage)>,
    sent: Option<Prefix>,
    /// What happened since the request before: `old results were shortened`.
    cause: Option<&'static str>,
    pub breaks: Vec<PrefixBreak>,
}

impl Prefix {
    /// Of a request to a model.
    pub fn of(request: &Request, model: String) -> Self {
        let tools = request.tools.iter().map(|tool| (&tool.name, &tool.description, tool.parameters.to_string()));
        Self {
            model,
            system: hashed(&request.system),
            tools: hashed(&tools.collect::<Vec<_>>()),
            messages: request.messages.iter().map(message).collect(),
        }
    }

    /// The first part that is not as it was, in words; `None`: the other one goes on from this one.
    fn differs(&self, other: &Self) -> Option<String> {
        if self.model != other.model {
            return Some(format!("the model ({} → {})", self.model, other.model));
        }
        if self.tools != other.tools {
            return Some("the list of tools".into());
        }
        if self.system != other.system {
            return Some("the system prompt".into());
        }
        let same = self.messages.iter().zip(&other.messages).take_while(|(a, b)| a == b).count();
        (same < self.messages.len()).then(|| format!("message {} of {}", same + 1, self.messages.len()))
    }
}

fn hashed(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn message(message: &Message) -> u64 {
    let mut hasher = DefaultHasher::new();
    match message {
        Message::User { text, images } => {
            (0, text).hash(&mut hasher);
            images.iter().for_each(|image| image.data.hash(&mut hasher));
        }
        Message::Assistant { text, calls, .. } => {
            (1, text).hash(&mut hasher);
            calls.iter().for_each(|call| (&call.id, &call.name, &call.args).hash(&mut hasher));
        }
        Message::Tool { call_id, content, .. } => (2, call_id, content).hash(&mut hasher),
    }
    hasher.finish()
}

impl PrefixWatch {
    /// Something changed what is sent.
    pub fn changed(&mut self, cause: &'static str) {
        self.cause.get_or_insert(cause);
    }

    /// A request goes out.
    pub fn sends(&mut self, prefix: Prefix) {
        self.sent = Some(prefix);
    }

    /// Its reply came, at this time (milliseconds since the epoch); whether the cache no longer held what it should have.
    pub fn answered(&mut self, usage: Usage, at: i64) -> bool {
        let Some(sent) = self.sent.take() else { return false };
        let cause = self.cause.take();
        let before = self.before.replace((sent.clone(), usage));
        let Some((prefix, counted)) = before.filter(|(_, counted)| counted.cached + counted.cache_write > 0) else {
            return false;
        };
        if usage.cached * 100 >= counted.input * HELD {
            return false;
        }
        let what = prefix.differs(&sent);
        let cause = match (&what, cause) {
            (Some(_), Some(cause)) => cause.to_owned(),
            (Some(_), None) => String::new(),
            (None, _) => "the request goes on from the one before: the provider's cache no longer had it".to_owned(),
        };
        let part = what.unwrap_or_default();
        self.breaks.push(PrefixBreak { at, part, cause, cached: usage.cached, input: usage.input });
        let more = self.breaks.len().saturating_sub(KEPT);
        self.breaks.drain(..more);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::{Effort, ToolSchema};
    use std::sync::Arc;

    fn request(system: &str, tools: &[&str], said: &[&str]) -> Request {
        let tool = |name: &&str| ToolSchema {
            name: (*name).to_owned(),
            description: String::new(),
            parameters: Arc::new(serde_json::json!({})),
        };
        let message = |text: &&str| Message::User { text: (*text).to_owned(), images: Vec::new() };
        Request {
            system: system.into(),
            tools: tools.iter().map(tool).collect::<Vec<_>>().into(),
            messages: said.iter().map(message).collect(),
            effort: Effort::default(),
            max_output: None,
            grammar: None,
            cache_key: String::new(),
        }
    }

    fn usage(input: u64, cached: u64) -> Usage {
        Usage { input, cached, cache_write: 1, ..Usage::default() }
    }

    #[test]
    fn the_first_part_that_differs_is_named_with_what_happened() {
        let first = request("s", &["a"], &["one", "two"]);
        let held = request("s", &["a"], &["one", "two", "three"]);
        for (next, cached, cause, told) in [
            (&held, 900, None, None),
            (&held, 0, None, Some(("", "the request goes on"))),
            (
                &request("s", &["a"], &["one", "2", "three"]),
                0,
                Some("old results were shortened"),
                Some(("message 2 of 2", "old results")),
            ),
            (&request("s", &["a", "b"], &["one", "two", "three"]), 0, None, Some(("the list of tools", ""))),
            (&request("t", &["a"], &["one", "two", "three"]), 0, None, Some(("the system prompt", ""))),
        ] {
            let mut watch = PrefixWatch::default();
            watch.sends(Prefix::of(&first, "m".into()));
            assert!(!watch.answered(usage(1_000, 0), 1), "there is nothing before the first");
            cause.into_iter().for_each(|cause| watch.changed(cause));
            watch.sends(Prefix::of(next, "m".into()));
            assert_eq!(watch.answered(usage(1_100, cached), 2), told.is_some(), "{told:?}");
            let broken = watch.breaks.last().map(|broken| (broken.part.as_str(), broken.cause.as_str()));
            match (broken, told) {
                (None, None) => {}
                (Some((part, cause)), Some((expected, because))) => {
                    assert_eq!(part, expected);
                    assert!(cause.starts_with(because), "{cause}");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_provider_that_caches_nothing_breaks_nothing() {
        let mut watch = PrefixWatch::default();
        for said in ["one", "two"] {
            watch.sends(Prefix::of(&request("s", &[], &[said]), "m".into()));
            assert!(!watch.answered(Usage { input: 1_000, ..Usage::default() }, 1));
        }
    }
}
