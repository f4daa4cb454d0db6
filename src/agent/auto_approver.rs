//! The auxiliary model of auto mode: one short question, a time limit, one of three words.

use crate::llm::message::Message;
use crate::llm::{Effort, Provider, Request};
use crate::policy::smart::opinion;
use crate::tools::gate::Review;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Tokens of an answer. One word takes a few; models that think first need some room.
const ANSWER: u32 = 512;

/// The model that is asked.
#[derive(Clone)]
pub struct AutoApprover {
    pub provider: Arc<dyn Provider>,
    pub limit: Duration,
}

impl AutoApprover {
    /// `PROVIDER:MODEL`.
    pub fn label(&self) -> String {
        let model = self.provider.model();
        format!("{}:{}", model.provider, model.id)
    }

    /// Puts the question. Whatever goes wrong is no answer.
    pub async fn review(&self, question: String, cancel: CancellationToken) -> Review {
        let request = Request {
            system: include_str!("../../assets/prompts/approval.md").trim().into(),
            tools: Vec::new().into(),
            messages: vec![Message::User { text: question, images: Vec::new() }],
            effort: Effort::None,
            max_output: Some(ANSWER),
            grammar: None,
            cache_key: "approval".into(),
        };
        let stop = cancel.child_token();
        let _ended = stop.clone().drop_guard();
        // Nobody reads the pieces.
        let (sink, _) = mpsc::channel(1);
        let asked = tokio::time::timeout(self.limit, self.provider.stream(&request, sink, stop)).await;
        let opinion = match asked {
            // A call is no answer, whatever stands beside it.
            Ok(Ok(reply)) if !reply.calls.is_empty() => Err("answered with a tool call".into()),
            Ok(Ok(reply)) => Ok(opinion(&reply.text)),
            Ok(Err(error)) => Err(format!("failed: {}", error.message)),
            Err(_) => Err(format!("did not answer within {} s", self.limit.as_secs_f64())),
        };
        Review { model: self.label(), opinion }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::scripted::{Script, Scripted};
    use crate::policy::smart::Opinion;

    async fn said(step: &str, limit: Duration) -> Result<Opinion, String> {
        let script = Script::parse("test", &format!("steps:\n  - {step}\n")).unwrap();
        let approver = AutoApprover { provider: Arc::new(Scripted::new(script)), limit };
        let review = approver.review("q".into(), CancellationToken::new()).await;
        assert_eq!(review.model, "scripted:scripted");
        review.opinion
    }

    #[tokio::test]
    async fn only_a_whole_word_in_time_counts() {
        let long = Duration::from_secs(8);
        assert_eq!(said("{ text: APPROVE }", long).await, Ok(Opinion::Approve));
        assert_eq!(said("{ text: DENY }", long).await, Ok(Opinion::Deny));
        for garbage in ["{ text: ESCALATE }", "{ text: 'APPROVE it' }", "{ text: '' }"] {
            assert_eq!(said(garbage, long).await, Ok(Opinion::Escalate), "{garbage}");
        }
        for none in [
            "{ text: APPROVE, calls: [{ name: terminal, args: {} }] }",
            "{ text: APPROVE, cut: true }",
            "{ error: { kind: overloaded } }",
        ] {
            assert!(said(none, long).await.is_err(), "{none}");
        }
        let late = said("{ text: APPROVE, delay_ms: 600000 }", Duration::from_millis(100)).await;
        assert_eq!(late, Err("did not answer within 0.1 s".into()));
    }
}
