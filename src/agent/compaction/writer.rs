//! The model that writes a summary: piece by piece where all does not fit its window, in bounded time.

use crate::llm::message::Message;
use crate::llm::{Effort, ErrorKind, Provider, ProviderError, Request};
use crate::protocol::Usage;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The longest wait for a summary. A model of this computer reads slowly.
const PATIENCE: Duration = Duration::from_secs(600);

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
    let mut text = order.known.clone();
    let mut usage: Option<Usage> = None;
    for piece in &order.pieces {
        let request = Request {
            system: include_str!("../../../assets/prompts/summary.md").trim().into(),
            tools: Vec::new().into(),
            messages: vec![Message::User { text: asked(piece, &text, &order), images: Vec::new() }],
            effort: Effort::None,
            max_output: Some(order.budget),
            grammar: None,
            cache_key: "summary".into(),
        };
        let stop = cancel.child_token();
        let _ended = stop.clone().drop_guard();
        // Nobody reads the pieces of the stream.
        let (sink, _) = mpsc::channel(1);
        let answer = tokio::select! {
            answer = tokio::time::timeout(PATIENCE, provider.stream(&request, sink, stop)) => answer,
            () = cancel.cancelled() => return Err(Unwritten::Stopped),
        };
        let reply = match answer {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => return Err(unwritten(error)),
            Err(_) => return Err(Unwritten::Failed(format!("no summary within {} s", PATIENCE.as_secs()))),
        };
        if let Some(more) = reply.usage {
            usage = Some(usage.map_or(more, |sum| sum.plus(&more)));
        }
        let said = reply.text.trim();
        if said.is_empty() {
            return Err(Unwritten::Failed("the model wrote no summary".into()));
        }
        text = said.to_owned();
    }
    let model = provider.model();
    Ok(Written { text, by: format!("{}:{}", model.provider, model.id), usage })
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
        for (step, expected) in
            [("{ text: '' }", "the model wrote no summary"), ("{ error: { kind: overloaded } }", "")]
        {
            let (result, _) = written(&format!("  - {step}\n"), &["x"]).await;
            let Err(Unwritten::Failed(why)) = result else { panic!("{step}: {result:?}") };
            assert!(why.contains(expected), "{why}");
        }
        let (result, _) = written("  - { error: { kind: auth } }\n", &["x"]).await;
        assert!(matches!(result, Err(Unwritten::Unreachable(_))), "{result:?}");
    }
}
