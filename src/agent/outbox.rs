//! The way out: deltas may be merged when the reader is slow, everything else must arrive and in order.

use crate::protocol::AgentEvent;
use tokio::sync::mpsc::{self, error::TrySendError};

/// A bounded sender that merges deltas.
pub struct Outbox {
    tx: mpsc::Sender<AgentEvent>,
    text: String,
    reasoning: String,
}

impl Outbox {
    /// Over a bounded channel.
    pub fn new(tx: mpsc::Sender<AgentEvent>) -> Self {
        Self { tx, text: String::new(), reasoning: String::new() }
    }

    /// Text of the model; kept back and merged while the channel is full.
    pub fn text(&mut self, delta: &str) {
        if !self.reasoning.is_empty() {
            self.try_flush();
        }
        self.text.push_str(delta);
        self.try_flush();
    }

    /// Reasoning of the model, likewise.
    pub fn reasoning(&mut self, delta: &str) {
        if !self.text.is_empty() {
            self.try_flush();
        }
        self.reasoning.push_str(delta);
        self.try_flush();
    }

    /// Whether something waits for room.
    pub fn is_behind(&self) -> bool {
        !self.text.is_empty() || !self.reasoning.is_empty()
    }

    /// Sends what waits, if there is room. Reasoning came first.
    pub fn try_flush(&mut self) {
        if !self.reasoning.is_empty() {
            match self.tx.try_send(AgentEvent::ReasoningDelta(std::mem::take(&mut self.reasoning))) {
                Ok(()) | Err(TrySendError::Closed(_)) => {}
                Err(TrySendError::Full(AgentEvent::ReasoningDelta(back))) => {
                    self.reasoning = back;
                    return;
                }
                Err(TrySendError::Full(_)) => return,
            }
        }
        if !self.text.is_empty() {
            match self.tx.try_send(AgentEvent::TextDelta(std::mem::take(&mut self.text))) {
                Ok(()) | Err(TrySendError::Closed(_)) => {}
                Err(TrySendError::Full(AgentEvent::TextDelta(back))) => self.text = back,
                Err(TrySendError::Full(_)) => {}
            }
        }
    }

    /// An event that must arrive, after everything that was sent before it. Waits for room.
    pub async fn send(&mut self, event: AgentEvent) {
        // A closed receiver means that the screen is gone; the agent ends with its commands.
        if !self.reasoning.is_empty() {
            let _ = self.tx.send(AgentEvent::ReasoningDelta(std::mem::take(&mut self.reasoning))).await;
        }
        if !self.text.is_empty() {
            let _ = self.tx.send(AgentEvent::TextDelta(std::mem::take(&mut self.text))).await;
        }
        let _ = self.tx.send(event).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_slow_reader_gets_merged_deltas_in_order() {
        let (tx, mut rx) = mpsc::channel(1);
        let mut out = Outbox::new(tx);
        for piece in ["a", "b", "c"] {
            out.text(piece);
        }
        assert!(out.is_behind());
        assert_eq!(rx.recv().await, Some(AgentEvent::TextDelta("a".into())));
        let reader = tokio::spawn(async move {
            let mut all = Vec::new();
            while let Some(event) = rx.recv().await {
                all.push(event);
            }
            all
        });
        out.send(AgentEvent::StreamReset).await;
        drop(out);
        let all = reader.await.unwrap();
        assert_eq!(all, vec![AgentEvent::TextDelta("bc".into()), AgentEvent::StreamReset]);
    }
}
