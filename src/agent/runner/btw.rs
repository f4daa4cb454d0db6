//! A question beside the turn: answered from what the conversation holds, without tools, and forgotten.

use super::Runner;
use super::rest::Aside;
use crate::llm::message::Message;
use crate::llm::{Effort, Request};
use crate::protocol::{AgentEvent, Level};
use crate::store::Spent;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Time for an answer.
const PATIENCE: Duration = Duration::from_secs(120);
/// Tokens of an answer.
const ANSWER: u32 = 2_000;
/// Characters of a question.
const QUESTION: usize = 8_000;

/// The conversation with the question at its end: what it begins with is what the provider has in its cache.
fn with_question(mut messages: Vec<Message>, question: &str) -> Vec<Message> {
    let text = format!(
        "[A question while the task runs. Answer it shortly from what you know, without tools; then the task goes on.]\n{question}"
    );
    match messages.last_mut() {
        Some(Message::User { text: before, .. }) => *before = format!("{before}\n\n{text}"),
        Some(Message::Assistant { .. } | Message::Tool { .. }) | None => {
            messages.push(Message::User { text, images: Vec::new() });
        }
    }
    messages
}

impl Runner {
    /// Asks the model; the answer comes as an event.
    pub(super) async fn by_the_way(&mut self, question: String) {
        let question = self.masked(question.trim());
        if question.chars().count() > QUESTION {
            return self.notice(Level::Warning, format!("the question is longer than {QUESTION} characters")).await;
        }
        if !self.turn.is_running() && self.session.prompt.is_empty() {
            self.prepare_prompt().await;
        }
        let provider = match self.session.provider(&self.deps.models, 0) {
            Ok(provider) => provider,
            Err(error) => return self.notice(Level::Error, error.to_string()).await,
        };
        if let Err(why) = self.purse.may_call(provider.model(), self.session.filling()).await {
            return self.notice(Level::Error, why.text).await;
        }
        let request = Request {
            system: std::sync::Arc::clone(&self.session.prompt),
            tools: std::sync::Arc::clone(&self.session.tools),
            messages: with_question(self.session.context.messages(), &question),
            effort: Effort::None,
            max_output: Some(ANSWER),
            grammar: None,
            cache_key: self.session.id.0.clone(),
        };
        let (aside, model) = (self.aside.tx.clone(), format!("{}:{}", provider.model().provider, provider.model().id));
        tokio::spawn(async move {
            // Nobody reads the pieces; the answer is short.
            let (sink, _) = mpsc::channel(1);
            let cancel = CancellationToken::new();
            // It ends with its session.
            let _ends = cancel.clone().drop_guard();
            let asked = tokio::time::timeout(PATIENCE, provider.stream(&request, sink, cancel));
            let asked = tokio::select! {
                () = aside.closed() => return,
                asked = asked => asked,
            };
            let (answer, usage) = match asked {
                Ok(Ok(reply)) if reply.text.trim().is_empty() => {
                    ("It gave no answer: it wanted to use tools. Ask it in the conversation.".to_owned(), reply.usage)
                }
                Ok(Ok(reply)) => (reply.text, reply.usage),
                Ok(Err(error)) => (format!("No answer: {}", error.message), None),
                Err(_) => (format!("No answer within {} s.", PATIENCE.as_secs()), None),
            };
            let spent = usage.map(|usage| Spent { at: crate::agent::now(), item: None, model, role: "btw", usage });
            // The session may be over.
            let _ = aside.send(Aside::Answered { question, answer, spent }).await;
        });
    }

    /// The answer came.
    pub(super) async fn answered_aside(&mut self, question: String, answer: String, spent: Option<Spent>) {
        self.paid_aside(spent).await;
        let answer = self.masked(&answer);
        self.out.send(AgentEvent::Answered { question, answer }).await;
    }

    /// Counts a call that becomes no entry.
    pub(super) async fn paid_aside(&mut self, spent: Option<Spent>) {
        let Some(spent) = spent else { return };
        self.session.pay(spent.usage);
        self.create_once().await;
        if let Err(error) = self.deps.store.spent(&self.session.id, spent).await {
            tracing::debug!("what a call used was not saved: {error}");
        }
        let meter = self.session.meter();
        self.out.send(AgentEvent::UsageChanged(meter)).await;
        self.show_budget().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ToolCall;

    #[test]
    fn the_question_stands_at_the_end_and_changes_nothing_before() {
        let user = |text: &str| Message::User { text: text.into(), images: Vec::new() };
        let says = |calls| Message::Assistant { text: "a".into(), reasoning: String::new(), calls, opaque: Vec::new() };
        let done = with_question(vec![user("hi"), says(Vec::new())], "why?");
        assert_eq!(done.len(), 3);
        assert_eq!(done[..2], [user("hi"), says(Vec::new())]);
        assert!(matches!(&done[2], Message::User { text, .. } if text.ends_with("\nwhy?")));
        // Behind the results of calls, whether they are there yet or not.
        let result = Message::Tool { call_id: "c".into(), name: "t".into(), content: "r".into(), failed: false };
        let done = with_question(vec![user("hi"), says(vec![ToolCall::default()]), result], "why?");
        assert_eq!(done.len(), 4);
        assert!(matches!(done.last(), Some(Message::User { text, .. }) if text.starts_with("[A question")));
    }
}
