//! The model that writes a summary: piece by piece where all does not fit its window, in bounded time.

use crate::llm::message::Message;
use crate::llm::{Effort, ErrorKind, Provider, ProviderError, Reply, Request};
use crate::protocol::{StopReason, Usage};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Tries of a piece when the provider is busy, and the pause before the first one more; each is twice the one before.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_secs(2);

/// What is to be summarized.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Order {
    pub pieces: Vec<String>,
    /// The summary so far; empty for the first one.
    pub known: String,
    /// What the person wants to be kept in view.
    pub focus: String,
    /// Tokens that the summary may have.
    pub budget: u32,
    /// The longest time that all of it may take.
    pub patience: Duration,
}

/// A summary that was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    pub text: String,
    /// `PROVIDER:MODEL`.
    pub by: String,
    pub usage: Option<Usage>,
}

/// Why there is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unwritten {
    #[error("stopped")]
    Stopped,
    /// The model can't be reached or does not let us in: it will not answer the conversation either.
    #[error("{0}")]
    Unreachable(String),
    /// There is none to ask, or it is left alone for a while.
    #[error("no model to ask")]
    NoModel,
    #[error("{0}")]
    Failed(String),
}

/// Writes a summary.
pub async fn write(provider: Arc<dyn Provider>, order: Order, cancel: CancellationToken) -> Result<Written, Unwritten> {
    let patience = order.patience;
    tokio::select! {
        written = tokio::time::timeout(patience, all(&*provider, &order, &cancel)) => {
            written.unwrap_or_else(|_| Err(Unwritten::Failed(format!("no summary within {} s", patience.as_secs()))))
        }
        () = cancel.cancelled() => Err(Unwritten::Stopped),
    }
}

async fn all(provider: &dyn Provider, order: &Order, cancel: &CancellationToken) -> Result<Written, Unwritten> {
    let mut text = order.known.clone();
    let mut usage: Option<Usage> = None;
    for piece in &order.pieces {
        let reply = one(provider, asked(piece, &text, order), order.budget, cancel).await?;
        if let Some(more) = reply.usage {
            usage = Some(usage.map_or(more, |sum| sum.plus(&more)));
        }
        let said = reply.text.trim();
        if said.is_empty() {
            return Err(Unwritten::Failed("the model wrote no summary".into()));
        }
        if reply.stop == StopReason::Length {
            return Err(Unwritten::Failed("the model did not come to the end of its summary".into()));
        }
        text = said.to_owned();
    }
    let model = provider.model();
    Ok(Written { text, by: format!("{}:{}", model.provider, model.id), usage })
}

/// One piece; asked again when the provider is busy.
async fn one(
    provider: &dyn Provider,
    text: String,
    budget: u32,
    cancel: &CancellationToken,
) -> Result<Reply, Unwritten> {
    let request = Request {
        system: include_str!("../../../assets/prompts/summary.md").trim().into(),
        tools: Vec::new().into(),
        messages: vec![Message::User { text, images: Vec::new() }],
        effort: Effort::None,
        // Some think first, and not every language is as short as English.
        max_output: Some(budget.saturating_mul(2)),
        grammar: None,
        cache_key: "summary".into(),
    };
    let mut pause = PAUSE;
    for attempt in 1.. {
        let stop = cancel.child_token();
        let _ended = stop.clone().drop_guard();
        // Nobody reads the pieces of the stream.
        let (sink, _) = mpsc::channel(1);
        match provider.stream(&request, sink, stop).await {
            Ok(reply) => return Ok(reply),
            Err(error) if is_busy(error.kind) && attempt < TRIES => {
                tokio::time::sleep(error.retry_after.unwrap_or(pause)).await;
                pause *= 2;
            }
            Err(error) => return Err(unwritten(error)),
        }
    }
    Err(Unwritten::NoModel)
}

fn is_busy(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::RateLimit | ErrorKind::Overloaded | ErrorKind::Stalled)
}

fn unwritten(error: ProviderError) -> Unwritten {
    match error.kind {
        ErrorKind::Cancelled => Unwritten::Stopped,
        ErrorKind::Auth | ErrorKind::Network => Unwritten::Unreachable(error.message),
        _ => Unwritten::Failed(error.message),
    }
}

fn asked(piece: &str, known: &str, order: &Order) -> String {
    let mut out = String::new();
    if !known.is_empty() {
        out.push_str(&format!("<summary>\n{known}\n</summary>\n\n"));
    }
    out.push_str(&format!("<entries>\n{piece}</entries>\n\n"));
    if !order.focus.is_empty() {
        out.push_str(&format!("The user asks to keep this in view, with every detail: {}\n", order.focus));
    }
    let words = order.budget / 4 * 3;
    out.push_str(&format!("Write the summary now, in at most {words} words."));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::scripted::{Script, Scripted};

    async fn written(steps: &str, pieces: &[&str]) -> (Result<Written, Unwritten>, Vec<String>) {
        let model = Arc::new(Scripted::recording(Script::parse("test", &format!("steps:\n{steps}")).unwrap()));
        let order = Order {
            pieces: pieces.iter().map(|piece| (*piece).to_owned()).collect(),
            known: "old".into(),
            focus: "the parser".into(),
            budget: 400,
            patience: Duration::from_secs(60),
        };
        let result = write(model.clone(), order, CancellationToken::new()).await;
        let requests = model.requests();
        let texts = requests.iter().map(|request| match &request.messages[0] {
            Message::User { text, .. } => text.clone(),
            Message::Assistant { .. } | Message::Tool { .. } => String::new(),
        });
        (result, texts.collect())
    }

    #[tokio::test]
    async fn each_piece_changes_the_summary_so_far() {
        let (result, asked) =
            written("  - { text: first }\n  - { text: second }\n", &["#1 user: a\n", "#2 user: b\n"]).await;
        let summary = result.unwrap();
        assert_eq!((summary.text.as_str(), summary.by.as_str()), ("second", "scripted:scripted"));
        assert!(asked[0].contains("<summary>\nold\n") && asked[0].contains("#1 user: a"), "{}", asked[0]);
        assert!(asked[1].contains("<summary>\nfirst\n") && asked[1].contains("the parser"), "{}", asked[1]);
    }

    #[tokio::test]
    async fn what_went_wrong_is_told_apart() {
        for (step, expected) in [
            ("{ text: '' }", "the model wrote no summary"),
            ("{ text: half, stop: length }", "did not come to the end"),
            ("{ error: { kind: bad_request } }", ""),
        ] {
            let (result, _) = written(&format!("  - {step}\n"), &["x"]).await;
            let Err(Unwritten::Failed(why)) = result else { panic!("{step}: {result:?}") };
            assert!(why.contains(expected), "{why}");
        }
        let busy = "  - { error: { kind: overloaded, retry_after: 0 } }\n  - { text: then }\n";
        let (result, asked) = written(busy, &["x"]).await;
        assert_eq!((result.unwrap().text.as_str(), asked.len()), ("then", 2), "a busy provider is asked again");
        let (result, _) = written("  - { error: { kind: auth } }\n", &["x"]).await;
        assert!(matches!(result, Err(Unwritten::Unreachable(_))), "{result:?}");
    }
}
